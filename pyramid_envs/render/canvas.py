"""The canvas on which games draw: shapes in the order in which they are drawn, later ones on top.

Lengths are units of the canvas, x to the right and y downwards from the top left corner. Colours are ``#rrggbb``, taken from the
canvas's theme, so that one drawing serves light and dark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

Point = tuple[float, float]


# -------------------------------------------------------------------------------------------------------------- colours


def mix(one: str, other: str, share: float) -> str:
    """The colour that has this share of the other, 0 to 1, and the rest of the one."""
    pairs = [(int(one[at : at + 2], 16), int(other[at : at + 2], 16)) for at in (1, 3, 5)]
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)


def ink_on(colour: str) -> str:
    """Black or white, whichever is easier to read on a colour."""
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return "#000000" if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else "#ffffff"


@dataclass(frozen=True)
class Theme:
    """The colours of a picture. `named` are those of things in the games' worlds, told apart by colour-blind people too."""

    table: str  # the background
    panel: str  # areas on it
    card: str  # things that lie on those: cards, buttons, dice, tiles
    edge: str  # outlines
    ink: str  # text
    faint: str  # less important text and lines
    accent: str  # what the last action changed
    turn: str  # whose turn it is
    named: dict[str, str] = field(hash=False)
    seats: tuple[str, ...]


# After Okabe and Ito, "Color Universal Design": also told apart by people who do not see red and green as different.
_NAMED = {
    "red": "#d5502a",
    "green": "#009e73",
    "blue": "#0f72b5",
    "yellow": "#f0d83c",
    "black": "#33363d",
    "purple": "#7d4bb0",
    "orange": "#e8930c",
    "pink": "#e58fbd",
}
_SEATS = ("#0f72b5", "#e8930c", "#009e73", "#b5539c")

THEMES = {
    "light": Theme(
        table="#f4f1ea",
        panel="#e8e3d8",
        card="#fffdf8",
        edge="#8d8676",
        ink="#26241f",
        faint="#6d675a",
        accent="#c2185b",
        turn="#26241f",
        named=_NAMED,
        seats=_SEATS,
    ),
    "dark": Theme(
        table="#191b20",
        panel="#252830",
        card="#3d4250",
        edge="#868d9d",
        ink="#f1f0ec",
        faint="#a6adbb",
        accent="#ff6fa8",
        turn="#f1f0ec",
        named={**_NAMED, "black": "#555b69", "blue": "#3b92d3", "purple": "#9a6bd0", "red": "#e0603a"},
        seats=("#3b92d3", "#f0a32e", "#1fb78b", "#cf72b7"),
    ),
}


# --------------------------------------------------------------------------------------------------------------- shapes


class Polygon(NamedTuple):
    """A closed outline."""

    points: tuple[Point, ...]
    fill: str | None
    stroke: str | None
    width: float
    dash: float


class Rect(NamedTuple):
    """A rectangle with rounded corners."""

    x: float
    y: float
    w: float
    h: float
    radius: float
    fill: str | None
    stroke: str | None
    width: float
    dash: float


class Circle(NamedTuple):
    """A disc, a ring, or both."""

    x: float
    y: float
    r: float
    fill: str | None
    stroke: str | None
    width: float


class Line(NamedTuple):
    """Straight lines from point to point, with round ends and corners."""

    points: tuple[Point, ...]
    stroke: str
    width: float
    dash: float


class Curve(NamedTuple):
    """A cubic Bézier curve: start, two points that it leans to, end."""

    points: tuple[Point, Point, Point, Point]
    stroke: str
    width: float
    dash: float


class Text(NamedTuple):
    """A line of text; y is the middle of its capitals, `anchor` says where x is: start, middle or end."""

    x: float
    y: float
    text: str
    size: float
    fill: str
    anchor: str
    bold: bool
    mono: bool


class Group(NamedTuple):
    """Shapes that are one thing; a key names what a person may click."""

    key: str | None
    items: list[Item]


class Place(NamedTuple):
    """A symbol, its origin at this point."""

    symbol: Symbol
    x: float
    y: float


@dataclass(frozen=True, eq=False)
class Symbol:
    """Shapes that are drawn again and again at different places; make each once and keep it, for images of it are kept too."""

    items: tuple[Item, ...]


Item = Polygon | Rect | Circle | Line | Curve | Text | Group | Place


class Pen:
    """Collects shapes."""

    def __init__(self, theme: Theme) -> None:
        self.theme = theme
        self.items: list[Item] = []

    def polygon(
        self, points: Sequence[Point], fill: str | None = None, stroke: str | None = None, width: float = 1, dash: float = 0
    ) -> None:
        """A closed outline, filled, stroked, or both; `dash` is the length of dashes and gaps, 0 for none."""
        self.items.append(Polygon(tuple(points), fill, stroke, width, dash))

    def rect(
        self,
        x: float,
        y: float,
        w: float,
        h: float,
        fill: str | None = None,
        stroke: str | None = None,
        width: float = 1,
        radius: float = 0,
        dash: float = 0,
    ) -> None:
        """A rectangle by its top left corner, width and height."""
        self.items.append(Rect(x, y, w, h, radius, fill, stroke, width, dash))

    def circle(self, x: float, y: float, r: float, fill: str | None = None, stroke: str | None = None, width: float = 1) -> None:
        """A disc, a ring, or both."""
        self.items.append(Circle(x, y, r, fill, stroke, width))

    def line(self, points: Sequence[Point], stroke: str, width: float = 1, dash: float = 0) -> None:
        """Straight lines from point to point."""
        self.items.append(Line(tuple(points), stroke, width, dash))

    def curve(self, start: Point, one: Point, other: Point, end: Point, stroke: str, width: float = 1, dash: float = 0) -> None:
        """A cubic Bézier curve."""
        self.items.append(Curve((start, one, other, end), stroke, width, dash))

    def text(
        self,
        x: float,
        y: float,
        text: str,
        size: float,
        fill: str | None = None,
        anchor: str = "middle",
        bold: bool = False,
        mono: bool = False,
    ) -> None:
        """A line of text, vertically centred on y."""
        self.items.append(Text(x, y, text, size, fill or self.theme.ink, anchor, bold, mono))

    def place(self, symbol: Symbol, x: float, y: float) -> None:
        """A symbol, its origin at (x, y)."""
        self.items.append(Place(symbol, x, y))

    @contextmanager
    def group(self, key: str | None = None) -> Iterator[None]:
        """What is drawn inside is one thing; with a key, one that can be clicked."""
        outer, self.items = self.items, []
        try:
            yield
        finally:
            outer.append(Group(key, self.items))
            self.items = outer

    def arrow(self, start: Point, end: Point, stroke: str, width: float, head: float) -> None:
        """A straight arrow."""
        (x0, y0), (x1, y1) = start, end
        length = ((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5
        dx, dy = (x1 - x0) / length, (y1 - y0) / length
        neck = (x1 - dx * head, y1 - dy * head)
        self.line([start, neck], stroke, width)
        side = 0.55 * head
        self.polygon([end, (neck[0] - dy * side, neck[1] + dx * side), (neck[0] + dy * side, neck[1] - dx * side)], stroke)

    def button(self, key: str, x: float, y: float, w: float, h: float, text: str, size: float = 17) -> None:
        """A labelled thing to click."""
        with self.group(key):
            self.rect(x, y, w, h, self.theme.card, self.theme.edge, 1.5, radius=min(h / 2, 10))
            self.text(x + w / 2, y + h / 2, text, size, self.theme.ink, bold=True)


class Canvas(Pen):
    """A picture of this width and height, filled with the theme's background."""

    def __init__(self, width: float, height: float, theme: Theme) -> None:
        super().__init__(theme)
        self.width, self.height = width, height


def symbol(theme: Theme, draw: Callable[[Pen], None]) -> Symbol:
    """What `draw` draws, around the origin, as a symbol."""
    pen = Pen(theme)
    draw(pen)
    return Symbol(tuple(pen.items))


def theme_named(name: str) -> Theme:
    """The theme of this name.

    Raises:
        ValueError: if there is none.
    """
    if name not in THEMES:
        raise ValueError(f"theme is one of {', '.join(THEMES)}, not {name!r}")
    return THEMES[name]
