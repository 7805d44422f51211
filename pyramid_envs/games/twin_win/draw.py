"""Pictures of Twin Win: the nine spaces with their stacks and ways, the cards of the seats, the unused cards."""

from __future__ import annotations

import itertools

import numpy as np

from pyramid_envs.games.twin_win import notation, rules
from pyramid_envs.games.twin_win.rules import ACT, DRAW, NUM_WAYS, OVER, PASS, SETUP, TRADE
from pyramid_envs.games.twin_win.tables import CARDS, COLOURS, LETTERS, NUM_PIECES, SIZES, SPACES, WAYS, cards_in
from pyramid_envs.jit import plain
from pyramid_envs.render.canvas import Canvas, Point, ink_on, mix
from pyramid_envs.render.pyramids import HEIGHTS, UP, pyramid, rise, silhouette

# Kernels, for single positions.
_unused = plain(rules.unused)
_winner = plain(rules.winner)

WIDTH, HEIGHT = 960, 720
CELL_W, CELL_H, BETWEEN = 174, 188, 36
UNIT = 58.0  # of pieces, where a stack is no higher than a goal
COLUMN = 642  # where the cards begin
_AT = {  # column and row of each space
    name: (column, line)
    for line, names in enumerate(("NW N NE", "W C E", "SW S SE"))
    for column, name in enumerate(names.split())
}


def size(tables: np.record) -> tuple[float, float]:
    return WIDTH, HEIGHT


# ---------------------------------------------------------------------------------------------------------------- draw


def draw(canvas: Canvas, tables: np.record, row: np.record, seat: int | None, last: tuple[np.record, int] | None) -> None:
    """With a seat, the cards of the others lie face down."""
    way = last[1] if last is not None and last[1] < NUM_WAYS else None
    for number in range(NUM_WAYS):
        _way(canvas, number, number == way)
    stacks = _stacks(row)
    for space in range(len(SPACES)):
        _space(canvas, space, stacks[space], WAYS[way] if way is not None else ())
    traded = last is not None and TRADE <= last[1] < PASS
    for p in range(int(tables.num_players)):
        _hand(canvas, tables, row, p, seat, traded and last is not None and p == last[0].seat)
    _rest(canvas, tables, row, seat)
    if last is not None:
        before, action = last
        name = notation.action_name if seat in (None, int(before.seat)) else notation.seen_name
        words = f"last: player_{before.seat} {name(tables, before, action)}"
        canvas.text(20, HEIGHT - 24, words, 19, canvas.theme.accent, anchor="start", bold=True)


def _stacks(row: np.record) -> list[list[int]]:
    """The pieces on each space, from bottom to top."""
    found: list[list[int]] = [[] for _ in SPACES]
    if row.phase != SETUP:
        cells = row.cell.tolist()
        for piece in sorted(range(NUM_PIECES), key=cells.__getitem__):
            found[cells[piece] >> 4].append(piece)
    return found


def _corner(space: int) -> Point:
    column, line = _AT[SPACES[space]]
    return 20 + column * (CELL_W + BETWEEN), 18 + line * (CELL_H + BETWEEN)


def _way(canvas: Canvas, number: int, marked: bool) -> None:
    """An arrow in the space between two cells; of two ways, each on its side."""
    start, end = (_corner(space) for space in WAYS[number])
    dx, dy = np.sign(end[0] - start[0]), np.sign(end[1] - start[1])
    x = (start[0] + end[0] + CELL_W) / 2
    y = (start[1] + end[1] + CELL_H) / 2
    if number >= 8:  # to and from the centre
        x, y = x - 17 * dy, y + 17 * dx
    colour = canvas.theme.accent if marked else mix(canvas.theme.table, canvas.theme.edge, 0.85)
    reach = BETWEEN / 2 - 3
    canvas.arrow((x - dx * reach, y - dy * reach), (x + dx * reach, y + dy * reach), colour, 7, 17)


def _space(canvas: Canvas, space: int, stack: list[int], moved: tuple[int, ...]) -> None:
    theme = canvas.theme
    x, y = _corner(space)
    with canvas.group(f"space:{SPACES[space]}"):
        canvas.rect(x, y, CELL_W, CELL_H, theme.panel, mix(theme.panel, theme.edge, 0.6), 1.5, radius=12)
        if space in moved:
            canvas.rect(x, y, CELL_W, CELL_H, None, theme.accent, 3.5, radius=12, dash=9 if space == moved[0] else 0)
        canvas.text(x + 10, y + 16, SPACES[space], 14, theme.faint, anchor="start")
        if stack:
            _stack(canvas, stack, x + CELL_W / 2, y + CELL_H - 20, CELL_H - 34, marked=space in moved[1:])


def _stack(canvas: Canvas, stack: list[int], x: float, ground: float, room: float, marked: bool) -> None:
    """The pieces, made smaller as far as the stack needs."""
    sizes = [piece // 5 for piece in stack]
    compact = False
    unit = room / _height(sizes, compact)
    if unit < UNIT:
        compact = True
        unit = room / _height(sizes, compact)
    unit = min(UNIT, unit)
    y = ground
    for height, (piece, number) in enumerate(zip(stack, sizes, strict=True)):
        if height:
            y -= rise(sizes[height - 1], number, compact) * unit
        colour = canvas.theme.named[COLOURS[piece % 5]]
        canvas.place(pyramid(canvas.theme, number, UP, colour, LETTERS[piece % 5], unit, compact), x, y)
    if marked:
        outline = [(px + x, py + y) for px, py in silhouette(sizes[-1], UP, unit)]
        canvas.polygon(outline, None, canvas.theme.accent, 3.5)


def _height(sizes: list[int], compact: bool) -> float:
    steps = sum(rise(lower, upper, compact) for lower, upper in itertools.pairwise(sizes))
    return max(steps + HEIGHTS[sizes[-1]], *(HEIGHTS[number] for number in sizes))


# ---------------------------------------------------------------------------------------------------------------- cards


def _hand(canvas: Canvas, tables: np.record, row: np.record, p: int, seat: int | None, marked: bool) -> None:
    theme = canvas.theme
    known = seat is None or seat == p
    turn = bool(p == row.seat and row.phase not in (SETUP, OVER))
    x, y, w, h = COLUMN, 18 + 158 * p, WIDTH - COLUMN - 14, 146
    canvas.rect(x, y, w, h, theme.panel, radius=12)
    if turn or marked:
        canvas.rect(x, y, w, h, None, theme.accent if marked else theme.turn, 3 if marked else 2.5, radius=12)
    canvas.text(x + 12, y + 18, f"player_{p}" + " (you)" * (p == seat), 17, anchor="start", bold=True)
    note = ""
    if turn:
        left = int(row.actions_left)
        note = f"{left} action{'s' * (left != 1)} left" if row.phase in (ACT, DRAW) else "is dealt a card"
    elif row.phase == OVER and p == _winner(tables, row):
        note = "wins"
    canvas.text(x + w - 12, y + 18, note, 16, anchor="end", bold=True)
    for k, card in enumerate(cards_in(int(row.hands[p]))):
        with canvas.group(f"player_{p}:card-{k}" if known else None):
            _card(canvas, card if known else None, x + 12 + 90 * k, y + 34)
    if known:
        for k, card in enumerate(cards_in(int(row.given_up[p]))):
            if k == 0:
                canvas.text(x + 196, y + 42, "gave up", 14, theme.faint, anchor="start")
            _chip(canvas, card, x + 196 + 52 * (k % 2), y + 54 + 22 * (k // 2))


def _card(canvas: Canvas, card: int | None, x: float, y: float) -> None:
    """A goal: how the three pieces are to stand, and its name; None: its back."""
    theme = canvas.theme
    if card is None:
        back = mix(theme.card, theme.edge, 0.55)
        canvas.rect(x, y, 82, 102, back, theme.edge, 1.5, radius=9)
        canvas.rect(x + 7, y + 7, 68, 88, None, mix(back, theme.card, 0.6), 2, radius=5)
        canvas.polygon([(x + 41, y + 26), (x + 62, y + 76), (x + 20, y + 76)], mix(back, theme.card, 0.45))
        return
    colour = theme.named[COLOURS[card // 2]]
    canvas.rect(x, y, 82, 102, theme.card, colour, 3.5, radius=9)
    sizes = (0, 1, 2) if card % 2 else (2, 1, 0)
    unit, foot = 25.5, y + 77.0
    for height, number in enumerate(sizes):
        if height:
            foot -= rise(sizes[height - 1], number) * unit
        canvas.place(pyramid(theme, number, UP, colour, "", unit), x + 41, foot)
    canvas.text(x + 41, y + 91, CARDS[card], 12, bold=True)


def _chip(canvas: Canvas, card: int, x: float, y: float) -> None:
    colour = canvas.theme.named[COLOURS[card // 2]]
    canvas.rect(x, y, 48, 19, colour, radius=5)
    canvas.text(x + 24, y + 9.5, f"{LETTERS[card // 2]} {CARDS[card].split()[1]}", 12, ink_on(colour), bold=True)


def _rest(canvas: Canvas, tables: np.record, row: np.record, seat: int | None) -> None:
    """The cards in nobody's hand, the button to pass, and what the sizes and letters are."""
    theme = canvas.theme
    x, y = COLUMN, 18 + 158 * int(tables.num_players)
    unused = cards_in(int(_unused(row)))
    canvas.text(x + 12, y + 12, f"{len(unused)} cards unused", 16, anchor="start", bold=True)
    if seat is None:
        for k, card in enumerate(unused):
            _chip(canvas, card, x + 12 + 52 * (k % 5), y + 28 + 23 * (k // 5))
    else:
        back = mix(theme.card, theme.edge, 0.55)
        for k in range(len(unused)):
            canvas.rect(x + 12 + 18 * k, y + 28, 30, 38, back, mix(theme.edge, theme.ink, 0.3), 1.5, radius=4)
    if row.phase == ACT and tables.allow_pass and seat in (None, int(row.seat)):
        canvas.button("pass", x + 184, y + 80, 108, 36, "pass")
    if row.phase == SETUP:
        canvas.text(x + 12, y + 100, "the trees are about to be set up", 15, theme.faint, anchor="start")
    names = " ".join(f"{letter} {colour}" for letter, colour in zip(LETTERS, COLOURS, strict=True))
    canvas.text(WIDTH - 14, HEIGHT - 24, f"{names}, pips: size", 14, theme.faint, anchor="end")


# --------------------------------------------------------------------------------------------------------------- clicks


def click_path(tables: np.record, row: np.record, action: int) -> tuple[str, ...]:
    """From which space, to which; or a card; or to pass."""
    if action == PASS:
        return ("pass",)
    if action >= TRADE:
        return (f"player_{row.seat}:card-{action - TRADE}",)
    start, end = WAYS[action]
    return f"space:{SPACES[start]}", f"space:{SPACES[end]}"


assert len(SIZES) == len(HEIGHTS)
