"""A canvas as an image. pygame (the extra ``[render]``) is loaded on the first use, and no display is needed.

The picture is drawn several times as large as asked for and then made smaller, which smooths all edges.
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterable, Sequence
from functools import lru_cache
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pyramid_envs.errors import MissingExtraError
from pyramid_envs.render.canvas import Canvas, Circle, Curve, Group, Item, Line, Place, Point, Polygon, Rect, Symbol, Text
from pyramid_envs.render.svg import MONO_ADVANCE

if TYPE_CHECKING:
    import pygame

SMOOTHING = 2  # how many times as large it is drawn


@lru_cache(1)
def load_pygame() -> ModuleType:
    """Pygame.

    Raises:
        MissingExtraError: if it is not installed.
    """
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    try:
        import pygame
    except ImportError as error:
        raise MissingExtraError(f'images and windows need pygame: pip install "pyramid-envs[render]" ({error})') from error
    pygame.font.init()
    return pygame


def to_image(canvas: Canvas, size: int) -> NDArray[np.uint8]:
    """uint8[H, W, 3], a new array: the picture, its larger side `size` pixels."""
    surface = to_surface(canvas, size)
    pixels = load_pygame().image.tobytes(surface, "RGB")
    return np.frombuffer(bytearray(pixels), np.uint8).reshape(surface.get_height(), surface.get_width(), 3)


def to_surface(canvas: Canvas, size: int) -> pygame.Surface:
    """The picture as pygame has it."""
    module = load_pygame()
    share = size / max(canvas.width, canvas.height)
    width, height = max(1, round(canvas.width * share)), max(1, round(canvas.height * share))
    large = module.Surface((width * SMOOTHING, height * SMOOTHING), 0, 32)
    large.fill(canvas.theme.table)
    _paint(large, canvas.items, share * SMOOTHING, (0.0, 0.0))
    small: pygame.Surface = module.transform.smoothscale(large, (width, height))
    return small


# ---------------------------------------------------------------------------------------------------------------- shapes


def _paint(surface: pygame.Surface, items: Iterable[Item], scale: float, origin: Point) -> None:
    ox, oy = origin
    draw = load_pygame().draw
    for item in items:
        kind = type(item)
        if kind is Place:
            sprite, left, top = _sprite(item.symbol, scale)  # type: ignore[union-attr]
            surface.blit(sprite, (round(item.x * scale + ox) + left, round(item.y * scale + oy) + top))  # type: ignore[union-attr]
        elif kind is Polygon:
            points, fill, stroke, width, dash = item  # type: ignore[misc]
            points = [(x * scale + ox, y * scale + oy) for x, y in points]
            if fill:
                draw.polygon(surface, fill, points)
            if stroke:
                _polyline(surface, [*points, points[0]], stroke, width * scale, dash * scale)
        elif kind is Group:
            _paint(surface, item.items, scale, origin)  # type: ignore[union-attr]
        elif kind is Text:
            _text(surface, item, scale, origin)  # type: ignore[arg-type]
        elif kind is Line:
            points, stroke, width, dash = item  # type: ignore[misc]
            _polyline(surface, [(x * scale + ox, y * scale + oy) for x, y in points], stroke, width * scale, dash * scale)
        elif kind is Circle:
            x, y, r, fill, stroke, width = item  # type: ignore[misc]
            centre = (x * scale + ox, y * scale + oy)
            if fill:
                draw.circle(surface, fill, centre, r * scale)
            if stroke:
                draw.circle(surface, stroke, centre, (r + width / 2) * scale, max(1, round(width * scale)))
        elif kind is Rect:
            _rect(surface, item, scale, origin)  # type: ignore[arg-type]
        elif kind is Curve:
            points, stroke, width, dash = item  # type: ignore[misc]
            points = _along([(x * scale + ox, y * scale + oy) for x, y in points])
            _polyline(surface, points, stroke, width * scale, dash * scale)


@lru_cache(4096)
def _sprite(symbol: Symbol, scale: float) -> tuple[pygame.Surface, int, int]:
    """The image of a symbol, and where its top left corner is, seen from the symbol's origin."""
    module = load_pygame()
    left, top, right, bottom = _bounds(symbol.items)
    x, y = math.floor(left * scale) - 2, math.floor(top * scale) - 2
    size = (math.ceil(right * scale) - x + 2, math.ceil(bottom * scale) - y + 2)
    surface = module.Surface(size, module.SRCALPHA, 32)
    _paint(surface, symbol.items, scale, (-x, -y))
    return surface, x, y


def _bounds(items: Iterable[Item]) -> tuple[float, float, float, float]:
    """The left, top, right and bottom of shapes."""
    boxes = [(0.0, 0.0, 0.0, 0.0)]
    for item in items:
        match item:
            case Polygon(points, _, stroke, width, _) | Line(points, stroke, width, _) | Curve(points, stroke, width, _):
                edge = width if stroke else 0.0
                xs, ys = zip(*points, strict=True)
                boxes.append((min(xs) - edge, min(ys) - edge, max(xs) + edge, max(ys) + edge))
            case Rect(x, y, w, h, _, _, _, width, _):
                boxes.append((x - width, y - width, x + w + width, y + h + width))
            case Circle(x, y, r, _, _, width):
                boxes.append((x - r - width, y - r - width, x + r + width, y + r + width))
            case Text(x, y, text, size, _, _, _, _):
                boxes.append((x - len(text) * size, y - size, x + len(text) * size, y + size))
            case Group(_, inner):
                boxes.append(_bounds(inner))
            case Place(symbol, x, y):
                left, top, right, bottom = _bounds(symbol.items)
                boxes.append((left + x, top + y, right + x, bottom + y))
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)


def _polyline(surface: pygame.Surface, points: Sequence[Point], colour: str, width: float, dash: float) -> None:
    draw = load_pygame().draw
    if dash:
        for part in _dashes(points, dash):
            _polyline(surface, part, colour, width, 0)
        return
    half = max(width, 1) / 2
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        length = math.hypot(x1 - x0, y1 - y0)
        if length:
            nx, ny = (y0 - y1) / length * half, (x1 - x0) / length * half
            draw.polygon(surface, colour, [(x0 + nx, y0 + ny), (x1 + nx, y1 + ny), (x1 - nx, y1 - ny), (x0 - nx, y0 - ny)])
    if half > 1:
        for point in points:
            draw.circle(surface, colour, point, half)


def _dashes(points: Sequence[Point], dash: float) -> list[list[Point]]:
    """The dashes of a dashed line, as long as the gaps between them."""
    parts: list[list[Point]] = [[points[0]]]
    drawing, left = True, dash
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        length, at = math.hypot(x1 - x0, y1 - y0), 0.0
        while length - at > left:
            at += left
            here = (x0 + (x1 - x0) * at / length, y0 + (y1 - y0) * at / length)
            if drawing:
                parts[-1].append(here)
            else:
                parts.append([here])
            drawing, left = not drawing, dash
        left -= length - at
        if drawing:
            parts[-1].append((x1, y1))
    return [part for part in parts if len(part) > 1]


def _along(points: Sequence[Point], steps: int = 14) -> list[Point]:
    """Points of a cubic Bézier curve."""
    (ax, ay), (bx, by), (cx, cy), (dx, dy) = points
    found = []
    for step in range(steps + 1):
        t = step / steps
        u = 1 - t
        a, b, c, d = u * u * u, 3 * u * u * t, 3 * u * t * t, t * t * t
        found.append((a * ax + b * bx + c * cx + d * dx, a * ay + b * by + c * cy + d * dy))
    return found


def _rect(surface: pygame.Surface, item: Rect, scale: float, origin: Point) -> None:
    module = load_pygame()
    x, y, w, h, radius, fill, stroke, width, dash = item
    edge = width / 2 if stroke and not dash else 0.0

    def grown(by: float) -> tuple[Any, int]:
        left, top = round((x - by) * scale + origin[0]), round((y - by) * scale + origin[1])
        right, bottom = round((x + w + by) * scale + origin[0]), round((y + h + by) * scale + origin[1])
        return module.Rect(left, top, right - left, bottom - top), max(0, round((radius + by) * scale)) if radius else 0

    if stroke and not dash:
        outside, corner = grown(edge)
        thickness = 0 if fill else max(1, round(width * scale))
        module.draw.rect(surface, stroke, outside, thickness, border_radius=corner)
    if fill:
        inside, corner = grown(-edge)
        module.draw.rect(surface, fill, inside, 0, border_radius=corner)
    if stroke and dash:
        corners = [(x, y), (x + w, y), (x + w, y + h), (x, y + h), (x, y)]
        points = [(px * scale + origin[0], py * scale + origin[1]) for px, py in corners]
        _polyline(surface, points, stroke, width * scale, dash * scale)


# ------------------------------------------------------------------------------------------------------------------ text


@lru_cache(64)
def _font(size: int) -> pygame.font.Font:
    font: pygame.font.Font = load_pygame().font.Font(None, size)
    return font


@lru_cache(4096)
def _written(text: str, size: float, colour: str) -> tuple[pygame.Surface, float]:
    """An image of a text, and how far down in it the middle of the capitals is."""
    # pygame's own font is bold throughout, and has capitals of half the size that it is asked for; most fonts have them at 0.72.
    font = _font(max(4, round(1.42 * size)))
    return font.render(text, True, colour), font.get_ascent() - 0.36 * size


def _text(surface: pygame.Surface, item: Text, scale: float, origin: Point) -> None:
    x, y = item.x * scale + origin[0], item.y * scale + origin[1]
    size = item.size * scale
    if item.mono:
        for at, letter in enumerate(item.text):
            if letter != " ":
                image, middle = _written(letter, size, item.fill)
                place = x + MONO_ADVANCE * size * (at + 0.5) - image.get_width() / 2
                surface.blit(image, (round(place), round(y - middle)))
        return
    image, middle = _written(item.text, size, item.fill)
    shift = {"start": 0.0, "middle": 0.5, "end": 1.0}[item.anchor] * image.get_width()
    surface.blit(image, (round(x - shift), round(y - middle)))
