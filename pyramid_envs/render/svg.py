"""A canvas as SVG text; needs nothing but the standard library."""

from __future__ import annotations

from collections.abc import Iterable
from xml.sax.saxutils import escape, quoteattr

from pyramid_envs.render.canvas import Canvas, Circle, Curve, Group, Item, Line, Place, Point, Polygon, Rect, Text

FONT = "Helvetica, Arial, 'Liberation Sans', sans-serif"
MONO = "'DejaVu Sans Mono', Menlo, Consolas, monospace"
MONO_ADVANCE = 0.6  # of a character, in font sizes


class Svg(str):
    """SVG text, which a notebook shows as the picture that it is."""

    __slots__ = ()

    def _repr_svg_(self) -> str:
        return str(self)


def to_svg(canvas: Canvas, title: str) -> Svg:
    """The text of an SVG document; groups with a key have it as ``data-key``."""
    width, height = _number(canvas.width), _number(canvas.height)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" font-family="{FONT}" stroke-linejoin="round" stroke-linecap="round">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{width}" height="{height}" fill="{canvas.theme.table}"/>',
    ]
    _write(canvas.items, lines)
    return Svg("\n".join([*lines, "</svg>"]) + "\n")


def _write(items: Iterable[Item], lines: list[str]) -> None:
    for item in items:
        match item:
            case Polygon(points, fill, stroke, width, dash):
                lines.append(f'<polygon points="{_points(points)}"{_paint(fill, stroke, width, dash)}/>')
            case Rect(x, y, w, h, radius, fill, stroke, width, dash):
                corner = f' rx="{_number(radius)}"' if radius else ""
                place = f'x="{_number(x)}" y="{_number(y)}" width="{_number(w)}" height="{_number(h)}"'
                lines.append(f"<rect {place}{corner}{_paint(fill, stroke, width, dash)}/>")
            case Circle(x, y, r, fill, stroke, width):
                place = f'cx="{_number(x)}" cy="{_number(y)}" r="{_number(r)}"'
                lines.append(f"<circle {place}{_paint(fill, stroke, width, 0)}/>")
            case Line(points, stroke, width, dash):
                lines.append(f'<polyline points="{_points(points)}"{_paint(None, stroke, width, dash)}/>')
            case Curve((start, *rest), stroke, width, dash):
                path = f"M{_points([start])} C{_points(rest)}"
                lines.append(f'<path d="{path}"{_paint(None, stroke, width, dash)}/>')
            case Text():
                lines.append(_text(item))
            case Group(key, inner):
                lines.append("<g>" if key is None else f"<g data-key={quoteattr(key)}>")
                _write(inner, lines)
                lines.append("</g>")
            case Place(symbol, x, y):
                lines.append(f'<g transform="translate({_number(x)} {_number(y)})">')
                _write(symbol.items, lines)
                lines.append("</g>")


def _text(item: Text) -> str:
    anchor = "" if item.anchor == "start" else f' text-anchor="{item.anchor}"'
    weight = ' font-weight="bold"' if item.bold else ""
    x = _number(item.x)
    if item.mono:
        # Every character has its own place, so that columns stay columns in whatever font there is.
        advance = MONO_ADVANCE * item.size
        x = " ".join(_number(item.x + advance * at) for at in range(len(item.text)))
        weight += f' font-family="{MONO}" xml:space="preserve"'
    y = _number(item.y + 0.36 * item.size)
    return f'<text x="{x}" y="{y}" font-size="{_number(item.size)}" fill="{item.fill}"{anchor}{weight}>{escape(item.text)}</text>'


def _paint(fill: str | None, stroke: str | None, width: float, dash: float) -> str:
    parts = [f' fill="{fill or "none"}"']
    if stroke:
        parts.append(f' stroke="{stroke}" stroke-width="{_number(width)}"')
        if dash:
            parts.append(f' stroke-dasharray="{_number(dash)}"')
    return "".join(parts)


def _points(points: Iterable[Point]) -> str:
    return " ".join(f"{_number(x)},{_number(y)}" for x, y in points)


def _number(value: float) -> str:
    """Two decimals at most."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text
