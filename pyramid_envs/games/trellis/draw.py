"""Pictures of Trellis: the board of hexagons with their vines and flowers, and what every seat has."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from pyramid_envs.games.trellis import notation, rules
from pyramid_envs.games.trellis.rules import (
    BOARD_CELL,
    BOARD_COLOUR,
    CELL,
    COLOUR,
    DRAW,
    EMPTY,
    FLOWER,
    NO_TILE,
    OVER,
    OWNER,
    ROTATION,
    TILE,
)
from pyramid_envs.games.trellis.tables import COLOURS, HAND, START
from pyramid_envs.jit import plain
from pyramid_envs.render.canvas import Canvas, Pen, Point, Symbol, Theme, ink_on, mix, symbol

# Kernels, for single positions.
_claimed_tile = plain(rules.claimed_tile)
_contested = plain(rules.contested)
_legal = plain(rules.legal)

WIDTH, HEIGHT = 960, 720
BOARD = (10.0, 10.0, 670.0, 654.0)  # left, top, width, height
COLUMN = 692.0  # where the panels begin
PANEL = WIDTH - COLUMN - 12
LARGEST = 58.0  # side of a hexagon
NAMES = ("purple", "orange", "green", "blue", "pink", "yellow")
# Flowers have colours that no vine has, and as many petals and the number of the seat besides.
PETALS = (("#c8161d", 5), ("#ffffff", 4), ("#17171c", 6), ("#19b5c9", 3))
_ROOT3 = math.sqrt(3)
_CORNERS = [(math.cos(math.radians(60 * k - 30)), math.sin(math.radians(60 * k - 30))) for k in range(6)]
_EDGES = [(_ROOT3 / 2 * math.cos(math.radians(60 * e)), _ROOT3 / 2 * math.sin(math.radians(60 * e))) for e in range(6)]
_LEAN = (0.0, 0.42, 0.30, 0.30)  # how near to the middle a vine bends, by how many edges its ends are apart
_END_AT, _FLOWER_AT, _LETTER_AT = 0.9, 0.64, 0.66  # of the way from the middle to an edge
_START_FLOWER_AT, _START_LETTER_AT = 0.84, 0.46  # on the start tile, whose vines have one end


def size(tables: np.record) -> tuple[float, float]:
    return WIDTH, HEIGHT


# ---------------------------------------------------------------------------------------------------------------- draw


def draw(canvas: Canvas, tables: np.record, row: np.record, seat: int | None, last: tuple[np.record, int] | None) -> None:
    """With a seat, the tiles of the others lie face down, and the one that another has chosen is not shown."""
    acting = seat in (None, int(row.seat))
    _board(canvas, tables, row, acting, last)
    for p in range(int(tables.num_players)):
        _hand(canvas, tables, row, p, seat, acting)
    _asked(canvas, tables, row, acting)
    if last is not None:
        before, action = last
        name = notation.action_name if seat in (None, int(before.seat)) else notation.seen_name
        words = f"last: player_{before.seat} {name(tables, before, action)}"
        canvas.text(16, HEIGHT - 26, words, 19, canvas.theme.accent, anchor="start", bold=True)
    names = " ".join(f"{letter} {name}" for letter, name in zip(COLOURS, NAMES, strict=True))
    canvas.text(WIDTH - 14, HEIGHT - 26, names, 13, canvas.theme.faint, anchor="end")


def _board(canvas: Canvas, tables: np.record, row: np.record, acting: bool, last: tuple[np.record, int] | None) -> None:
    theme, count, phase = canvas.theme, int(row.tiles), int(row.phase)
    left, top, width, height = BOARD
    canvas.rect(left, top, width, height, theme.panel, radius=14)
    cells = row.cell[:count].tolist()
    free = row.frontier[: row.room].tolist()
    xs, ys = tables.x.tolist(), tables.y.tolist()
    middles = {cell: (_ROOT3 * (xs[cell] + ys[cell] / 2), 1.5 * ys[cell]) for cell in (*cells, *free)}
    across, down = [x for x, _ in middles.values()], [y for _, y in middles.values()]
    s = min(width / (max(across) - min(across) + 2), height / (max(down) - min(down) + 2.4), LARGEST)
    s = max(4.0, s - s % 2)
    x0 = left + width / 2 - s * (max(across) + min(across)) / 2
    y0 = top + height / 2 - s * (max(down) + min(down)) / 2
    places = {cell: (x0 + s * x, y0 + s * y) for cell, (x, y) in middles.items()}

    target = int(row.target)
    if phase in (TILE, CELL, ROTATION):
        for cell in free:
            chosen = cell == target
            with canvas.group(_cell_key(tables, cell) if phase == CELL and acting else None):
                fill = mix(theme.panel, theme.card, 0.3) if phase == CELL or chosen else None
                edge = theme.turn if chosen else mix(theme.panel, theme.edge, 0.75)
                canvas.polygon(_hexagon(places[cell], 0.92 * s), fill, edge, 3 if chosen else 1.2, dash=0 if chosen else 0.12 * s)
    claimed = int(_claimed_tile(row)) if phase in (COLOUR, BOARD_COLOUR) and acting else -1
    vines = row.vines[:count].tolist()
    faces = row.face[:count].tolist()
    for k, cell in enumerate(cells):
        at = places[cell]
        if k == claimed:
            _claimable(canvas, tables, faces[k], vines[k], _cell_key(tables, cell)[5:], at, s)
        elif phase == BOARD_CELL and acting and EMPTY in vines[k]:
            with canvas.group(_cell_key(tables, cell)):
                canvas.place(_tile(theme, tuple(tables.edges[faces[k]].tolist()), s, True), *at)
        else:
            canvas.place(_tile(theme, tuple(tables.edges[faces[k]].tolist()), s, False), *at)
    if phase == OWNER:
        colour = int(_contested(tables, row))
        x, y = places[cells[-1]]
        for e in tables.ends[faces[-1], colour].tolist():
            canvas.circle(x + s * _EDGES[e][0], y + s * _EDGES[e][1], 0.28 * s, None, theme.turn, 3)
    was = last[0].vines.tolist() if last is not None else None
    for k, cell in enumerate(cells):
        x, y = places[cell]
        for colour, vine in enumerate(vines[k]):
            if vine >= FLOWER:
                ex, ey = _EDGES[int(tables.ends[faces[k], colour, 0])]
                share = _FLOWER_AT if faces[k] < 6 * START else _START_FLOWER_AT
                at = x + s * share * ex, y + s * share * ey
                canvas.place(_flower(theme, vine - FLOWER, s), *at)
                if was is not None and was[k][colour] < FLOWER:
                    canvas.circle(*at, 0.33 * s, None, theme.accent, max(2.0, 0.07 * s))
    if last is not None:
        planted = last[0].phase == ROTATION
        marked = places.get(cells[-1] if planted else target if last[0].phase in (CELL, BOARD_CELL) else -1)
        if marked is not None:
            canvas.polygon(_hexagon(marked, s), None, theme.accent, 3.5)


def _cell_key(tables: np.record, cell: int) -> str:
    radius = int(tables.side) // 2
    return f"cell:{int(tables.x[cell]) - radius},{int(tables.y[cell]) - radius}"


def _hexagon(at: Point, s: float) -> list[Point]:
    return [(at[0] + s * x, at[1] + s * y) for x, y in _CORNERS]


# --------------------------------------------------------------------------------------------------------------- tiles


@lru_cache(2048)
def _tile(theme: Theme, edges: tuple[int, ...], s: float, marked: bool) -> Symbol:
    """A tile as it lies, by the colours at its edges."""

    def draw(pen: Pen) -> None:
        _ground(pen, s, marked)
        for colour in dict.fromkeys(edges):
            _vine(pen, edges, colour, s, (0.0, 0.0), False)
            _letters(pen, edges, colour, s, (0.0, 0.0))

    return symbol(theme, draw)


def _ground(pen: Pen, s: float, marked: bool, at: Point = (0.0, 0.0)) -> None:
    theme = pen.theme
    pen.polygon(_hexagon(at, 0.985 * s), theme.card, theme.turn if marked else theme.edge, 2.5 if marked else 1.2)


def _claimable(canvas: Canvas, tables: np.record, face: int, vines: list[int], cell: str, at: Point, s: float) -> None:
    """A tile whose empty vines can be clicked."""
    edges = tuple(tables.edges[face].tolist())
    _ground(canvas, s, False, at)
    for colour in dict.fromkeys(edges):
        free = vines[colour] == EMPTY
        with canvas.group(f"vine:{cell}:{COLOURS[colour]}" if free else None):
            _vine(canvas, edges, colour, s, at, free)
            _letters(canvas, edges, colour, s, at)


def _vine(pen: Pen, edges: tuple[int, ...], colour: int, s: float, at: Point, glowing: bool) -> None:
    """The curve of a colour from edge to edge; on the start tile from the edge inwards."""
    ends = [e for e in range(6) if edges[e] == colour]
    apart = min((ends[-1] - ends[0]) % 6, (ends[0] - ends[-1]) % 6)
    lean = _LEAN[apart] if apart else 0.6
    first, last = _EDGES[ends[0]], _EDGES[ends[-1]]
    if not apart:
        last = (0.2 * first[0], 0.2 * first[1])
    x, y = at
    points = [
        (x + s * f * px, y + s * f * py)
        for (px, py), f in ((first, _END_AT), (first, lean), (last, lean if apart else 2.0), (last, _END_AT if apart else 1.0))
    ]
    hue = pen.theme.named[NAMES[colour]]
    if glowing:
        pen.curve(points[0], points[1], points[2], points[3], pen.theme.turn, 0.40 * s)
    pen.curve(points[0], points[1], points[2], points[3], mix(hue, "#000000", 0.5), 0.27 * s)
    pen.curve(points[0], points[1], points[2], points[3], hue, 0.20 * s)


def _letters(pen: Pen, edges: tuple[int, ...], colour: int, s: float, at: Point) -> None:
    """The letter of a colour at both ends of its vine; a flower may come to lie on the first."""
    hue = pen.theme.named[NAMES[colour]]
    ends = [e for e in range(6) if edges[e] == colour]
    for e in ends:
        share = _LETTER_AT if len(ends) > 1 else _START_LETTER_AT
        x, y = at[0] + s * share * _EDGES[e][0], at[1] + s * share * _EDGES[e][1]
        pen.circle(x, y, 0.135 * s, hue)
        pen.text(x, y, COLOURS[colour], 0.25 * s, ink_on(hue), bold=True)


@lru_cache(256)
def _flower(theme: Theme, seat: int, s: float) -> Symbol:
    colour, petals = PETALS[seat]
    ground = ink_on(colour)

    def draw(pen: Pen) -> None:
        pen.circle(0, 0, 0.29 * s, ground)
        for petal in range(petals):
            angle = 2 * math.pi * petal / petals - math.pi / 2
            pen.circle(0.155 * s * math.cos(angle), 0.155 * s * math.sin(angle), (0.115 if petals < 6 else 0.095) * s, colour)
        pen.circle(0, 0, 0.13 * s, ground if petals > 4 else mix(colour, ground, 0.08))
        pen.text(0, 0, str(seat), 0.25 * s, colour if petals > 4 else ground, bold=True)

    return symbol(theme, draw)


@lru_cache(64)
def _back(theme: Theme, s: float) -> Symbol:
    """A tile face down."""

    def draw(pen: Pen) -> None:
        back = mix(theme.card, theme.edge, 0.55)
        pen.polygon(_hexagon((0, 0), 0.985 * s), back, theme.edge, 1.2)
        pen.polygon(_hexagon((0, 0), 0.6 * s), None, mix(back, theme.card, 0.6), 2)

    return symbol(theme, draw)


# -------------------------------------------------------------------------------------------------------------- panels


def _hand(canvas: Canvas, tables: np.record, row: np.record, p: int, seat: int | None, acting: bool) -> None:
    theme, s = canvas.theme, 34.0
    x, y = COLUMN, 10.0 + 116 * p
    known = seat is None or seat == p
    turn = bool(p == row.seat and row.phase != OVER)
    canvas.rect(x, y, PANEL, 108, theme.panel, theme.turn if turn else None, 2.5, radius=12)
    canvas.place(_flower(theme, p, 44.0), x + 22, y + 20)
    canvas.text(x + 42, y + 20, f"player_{p}" + " (you)" * (p == seat), 17, anchor="start", bold=True)
    won = row.phase == OVER and row.left[p] == 0
    canvas.text(x + PANEL - 12, y + 20, "wins" if won else f"{row.left[p]} left", 16, anchor="end", bold=True)
    for j, tile in enumerate(row.hands[p].tolist()):
        if tile == NO_TILE:
            continue
        at = x + 48 + 78 * j, y + 71
        chosen = known and turn and row.pick == j + 1
        key = f"player_{p}:tile-{j}" if turn and acting and row.phase == TILE else None
        with canvas.group(key):
            canvas.place(_tile(theme, tuple(tables.edges[6 * tile].tolist()), s, chosen) if known else _back(theme, s), *at)


def _asked(canvas: Canvas, tables: np.record, row: np.record, acting: bool) -> None:
    """What is to be decided, and the choices that do not lie on the table."""
    theme, phase = canvas.theme, int(row.phase)
    x, y = COLUMN, 14.0 + 116 * int(tables.num_players)
    words = {
        DRAW: "draws a tile",
        TILE: "chooses a tile",
        CELL: "chooses a cell",
        ROTATION: "turns the tile",
        OWNER: "names the owner",
        COLOUR: "claims a vine",
        BOARD_CELL: "chooses a tile",
        BOARD_COLOUR: "claims a vine",
        OVER: "made the last move",
    }
    claiming = phase in (COLOUR, BOARD_CELL, BOARD_COLOUR)
    note = f"and {row.gifts} more after this one" if row.gifts and claiming else f"{int(row.deck.sum())} tiles to draw"
    canvas.text(x + 8, y + 12, f"player_{row.seat} {words[phase]}", 15, anchor="start", bold=True)
    canvas.text(x + 8, y + 34, note, 14, theme.faint, anchor="start")
    if phase == ROTATION and acting:
        tile = int(row.hands[row.seat, row.pick - 1])
        for turn in range(6):
            edges = np.roll(tables.edges[6 * tile], turn)
            with canvas.group(f"rotation:{turn}"):
                canvas.place(
                    _tile(theme, tuple(edges.tolist()), 34.0, False), x + 48 + 78 * (turn % 3), y + 84 + 76 * (turn // 3)
                )
    if phase == OWNER and acting:
        masks = np.zeros((1, int(tables.claims) + 6), np.uint8)
        _legal(tables, row, masks, 0)
        owners = np.flatnonzero(masks[0, tables.owners : tables.claims])
        for place, after in enumerate(owners.tolist()):
            p = (int(row.seat) + after) % int(tables.num_players)
            with canvas.group(f"owner:player_{p}"):
                canvas.rect(x + 8, y + 54 + 58 * place, PANEL - 16, 50, theme.card, theme.edge, 1.5, radius=10)
                canvas.place(_flower(theme, p, 60.0), x + 40, y + 79 + 58 * place)
                canvas.text(x + 68, y + 79 + 58 * place, f"player_{p}", 17, anchor="start", bold=True)


# --------------------------------------------------------------------------------------------------------------- clicks


def click_path(tables: np.record, row: np.record, action: int) -> tuple[str, ...]:
    """The thing itself: a tile of the hand, a cell, the tile as turned, a seat's flower, a vine."""
    if action < HAND:
        return (f"player_{row.seat}:tile-{action}",)
    if action < tables.rotations:
        return (_cell_key(tables, int(tables.cell[action - HAND])),)
    if action < tables.owners:
        return (f"rotation:{action - int(tables.rotations)}",)
    if action < tables.claims:
        return (f"owner:player_{(int(row.seat) + action - int(tables.owners)) % int(tables.num_players)}",)
    cell = _cell_key(tables, int(row.cell[_claimed_tile(row)]))[5:]
    return (f"vine:{cell}:{COLOURS[action - tables.claims]}",)
