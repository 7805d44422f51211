"""Pictures of Treehouse: the House and the die, below them the trios, all seen from the same side of the table."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np

from pyramid_envs.games.treehouse import notation, rules
from pyramid_envs.games.treehouse.tables import (
    AIM,
    DIG,
    FACES,
    HOP,
    LEFT,
    NO_ROLL,
    PER_TRIO,
    RIGHT,
    START,
    SWAP,
    SWAPS,
    TIP,
    WILD,
    Trio,
    arrangements,
)
from pyramid_envs.games.treehouse.tables import PIECES as LETTERS
from pyramid_envs.render.canvas import Canvas, Theme, mix
from pyramid_envs.render.pyramids import pyramid, reach, rise, silhouette

WIDTH, HEIGHT = 960, 720
GAP = 0.34  # between columns, in inches
HOUSE = {"light": "#b98f5a", "dark": "#c79d68"}
ARROWS = ("left", "up", "right")
HINTS = (  # by the face of the die
    "a piece alone in its column points elsewhere",
    "a standing column falls over",
    "a standing piece moves, with all that is on it",
    "two pieces trade places",
    "a lying piece tunnels the way it points",
    "any one of the five",
    "about to be rolled",
)


def size(tables: np.record) -> tuple[float, float]:
    return WIDTH, HEIGHT


# ---------------------------------------------------------------------------------------------------------------- draw


def draw(canvas: Canvas, tables: np.record, row: np.record, seat: int | None, last: tuple[np.record, int] | None) -> None:
    """Nothing is hidden. Gaps, arrows and buttons are drawn where the seat to move can use them."""
    n = int(tables.num_players)
    lines = 1 + (n + 1) // 2
    height = (HEIGHT - 52) / lines
    unit = 68.0 if lines == 2 else 53.0
    over, mover = bool(row.winners), int(row.seat)
    acting = not over and row.roll != NO_ROLL and seat in (None, mover)
    marked, mark_where = _marks(last)
    areas = [("house", int(row.house), 12.0, 12.0)]
    areas += [(f"player_{p}", int(row.trios[p]), 12.0 + 474 * (p % 2), 12 + height * (1 + p // 2)) for p in range(n)]
    for place, (where, trio, x, y) in enumerate(areas):
        p = place - 1
        canvas.rect(x, y, 462, height - 12, canvas.theme.panel, radius=14)
        turn = p == mover and not over
        if turn:
            canvas.rect(x, y, 462, height - 12, None, canvas.theme.turn, 2.5, radius=14)
        name = (
            "House"
            if p < 0
            else where + " (you)" * (p == seat) + " to move" * turn + " wins" * bool(over and row.winners >> p & 1)
        )
        canvas.text(x + 16, y + 22, name, 18, anchor="start", bold=True)
        targets = _targets(tables, row, where, trio) if acting else set()
        colour = _house_colour(canvas.theme) if p < 0 else canvas.theme.seats[p]
        _trio(canvas, where, arrangements()[trio], colour, x + 231, y + height - 62, unit, targets)
        if where == mark_where:
            _halo(canvas, arrangements()[trio], marked, x + 231, y + height - 62, unit)
    _die(canvas, tables, row, 486, 12, height - 12, acting)
    if last is not None:
        text = f"last: player_{last[0].seat} {notation.action_name(tables, last[0], last[1])}"
        canvas.text(16, HEIGHT - 26, text, 19, canvas.theme.accent, anchor="start", bold=True)


def _house_colour(theme: Theme) -> str:
    return HOUSE["dark" if theme.table < "#8" else "light"]


def _columns(trio: Trio) -> tuple[list[float], list[float]]:
    """Where the columns stand, and where the gaps before, between and after them are, in inches from the middle."""
    reaches = [[reach(piece, direction) for piece, direction in column] for column in trio]
    lefts = [max(left for left, _ in column) for column in reaches]
    rights = [max(right for _, right in column) for column in reaches]
    x = -(sum(lefts) + sum(rights) + GAP * (len(trio) - 1)) / 2
    places, gaps = [], [x - GAP / 2]
    for left, right in zip(lefts, rights, strict=True):
        places.append(x + left)
        x += left + right + GAP
        gaps.append(x - GAP / 2)
    return places, gaps


def _pieces(trio: Trio, x: float, ground: float, unit: float) -> Iterator[tuple[int, int, float, float]]:
    """Piece, direction and place of all, from left to right and from bottom to top."""
    for column, place in zip(trio, _columns(trio)[0], strict=True):
        y = ground
        for height, (piece, direction) in enumerate(column):
            if height:
                y -= rise(column[height - 1][0], piece) * unit
            yield piece, direction, x + place * unit, y


def _trio(canvas: Canvas, where: str, trio: Trio, colour: str, x: float, ground: float, unit: float, targets: set[str]) -> None:
    canvas.line([(x - 215, ground + 4), (x + 215, ground + 4)], mix(canvas.theme.panel, canvas.theme.edge, 0.5), 2)
    for piece, direction, at, foot in _pieces(trio, x, ground, unit):
        with canvas.group(f"{where}:{LETTERS[piece]}"):
            canvas.place(pyramid(canvas.theme, piece, direction, colour, LETTERS[piece], unit), at, foot)
    for number, gap in enumerate(_columns(trio)[1]):
        if f"gap-{number}" in targets:
            at = x + gap * unit
            with canvas.group(f"{where}:gap-{number}"):
                canvas.circle(at, ground + 4, 9, canvas.theme.card, canvas.theme.ink, 2)
                canvas.polygon([(at - 4, ground + 1.5), (at + 4, ground + 1.5), (at, ground + 8.5)], canvas.theme.ink)
    for direction, arrow in enumerate(ARROWS):
        if arrow in targets:
            _arrow(canvas, f"{where}:{arrow}", direction, x + 60 * (direction - 1), ground + 31)


def _arrow(canvas: Canvas, key: str, direction: int, x: float, y: float) -> None:
    with canvas.group(key):
        canvas.rect(x - 25, y - 13, 50, 26, canvas.theme.card, canvas.theme.edge, 1.5, radius=9)
        dx, dy = ((-13, 0), (0, -8), (13, 0))[direction]
        canvas.arrow((x - dx, y - dy), (x + dx, y + dy), canvas.theme.ink, 3, 10)


def _halo(canvas: Canvas, trio: Trio, marked: set[int], x: float, ground: float, unit: float) -> None:
    """Outline the pieces that the last action moved."""
    for piece, direction, at, foot in _pieces(trio, x, ground, unit):
        if piece in marked:
            canvas.polygon([(px + at, py + foot) for px, py in silhouette(piece, direction, unit)], None, canvas.theme.accent, 4)


def _die(canvas: Canvas, tables: np.record, row: np.record, x: float, y: float, height: float, acting: bool) -> None:
    """The die, and the buttons for what is not on the table: which action a WILD stands for, and to pass."""
    theme = canvas.theme
    canvas.rect(x, y, 462, height, theme.panel, radius=14)
    canvas.text(x + 16, y + 22, "Die", 18, anchor="start", bold=True)
    roll = NO_ROLL if row.winners else int(row.roll)
    side = 104.0
    left, top = x + 231 - side / 2, y + (height - side) / 2 - 22
    over = bool(row.winners)
    canvas.rect(left + 5, top + 6, side, side, mix(theme.panel, "#000000", 0.22), radius=18)
    canvas.rect(left, top, side, side, theme.card, theme.edge, 2, radius=18)
    canvas.text(left + side / 2, top + side / 2, "" if over else "?" if roll == NO_ROLL else FACES[roll], 27, bold=True)
    canvas.text(x + 231, top + side + 24, "the game is over" if over else HINTS[roll], 17, theme.faint)
    if acting and roll == WILD:
        for number, name in enumerate(FACES[:WILD]):
            canvas.button(f"face:{name}", x + 16 + 87 * number, y + height - 48, 80, 36, name)
    if acting and roll != WILD and rules.acts_on_house(tables, row):
        canvas.button("pass", x + 181, y + height - 48, 100, 36, "pass")


def _targets(tables: np.record, row: np.record, where: str, trio: int) -> set[str]:
    """The arrows and gaps that the legal actions on a trio need."""
    own = where == f"player_{row.seat}"
    if not own and (where != "house" or not rules.acts_on_house(tables, row)):
        return set()
    legal = np.flatnonzero(tables.legal[row.roll, trio]).tolist()
    return {key.partition(":")[2] for action in legal for key in _path(where, trio, action)[1:]}


# --------------------------------------------------------------------------------------------------------------- clicks


def click_path(tables: np.record, row: np.record, action: int) -> tuple[str, ...]:
    """Which action, if a WILD allows any; then the piece, then where it goes: an arrow, a gap, or another piece.

    In a column a piece is clicked that it lands on: the top one to HOP onto it, the bottom one to DIG under it.
    """
    if action == rules.PASS:
        return ("pass",)
    if action < PER_TRIO:
        path = _path(f"player_{row.seat}", int(row.trios[row.seat]), action)
    else:
        path = _path("house", int(row.house), action - PER_TRIO)
    return (f"face:{FACES[_face(action % PER_TRIO)]}", *path) if row.roll == WILD else path


def _face(action: int) -> int:
    return max(face for face, start in START.items() if start <= action)


@cache
def _path(where: str, trio: int, action: int) -> tuple[str, ...]:
    face = _face(action)
    number = action - START[face]
    if face == SWAP:
        one, other = SWAPS[number]
        return f"{where}:{LETTERS[one]}", f"{where}:{LETTERS[other]}"
    if face == AIM:
        return f"{where}:{LETTERS[number // 3]}", f"{where}:{ARROWS[number % 3]}"
    if face == TIP:
        return f"{where}:{LETTERS[number // 2]}", f"{where}:{ARROWS[(LEFT, RIGHT)[number % 2]]}"
    piece, slot = divmod(number, 5)
    columns = arrangements()[trio]
    at, height = _find(columns, piece)
    # Slots run along the columns that remain; the piece's own column is one of them only if something stays of it.
    gone = height == 0
    if slot % 2 == 0:
        gap = slot // 2 + (gone and slot // 2 > at)
        return f"{where}:{LETTERS[piece]}", f"{where}:gap-{gap}"
    column = columns[slot // 2 + (gone and slot // 2 >= at)] if slot // 2 < len(columns) - gone else columns[-1]
    target = column[-1 if face == HOP else 0][0]
    return f"{where}:{LETTERS[piece]}", f"{where}:{LETTERS[target]}"


def _find(columns: Trio, piece: int) -> tuple[int, int]:
    """The column of a piece, and how many are below it."""
    return next((at, k) for at, column in enumerate(columns) for k, (found, _) in enumerate(column) if found == piece)


# ----------------------------------------------------------------------------------------------------------- last action


def _marks(last: tuple[np.record, int] | None) -> tuple[set[int], str | None]:
    """The pieces that the last action moved, and in which trio."""
    if last is None or last[1] == rules.PASS:
        return set(), None
    before, action = last
    own = action < PER_TRIO
    where = f"player_{before.seat}" if own else "house"
    columns = arrangements()[before.trios[before.seat] if own else before.house]
    face = _face(action % PER_TRIO)
    number = action % PER_TRIO - START[face]
    if face == SWAP:
        return set(SWAPS[number]), where
    piece = number // {AIM: 3, TIP: 2, HOP: 5, DIG: 5}[face]
    at, height = _find(columns, piece)
    moved = columns[at][height:] if face in (TIP, HOP) else columns[at][height : height + 1]
    return {found for found, _ in moved}, where
