"""Pictures of Pyramids in my pocket: a cut through the tube in true proportion, the pieces that are left, requests and gifts."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

import numpy as np

from pyramid_envs.games.pocket import notation, rules
from pyramid_envs.games.pocket.rules import ASK, DISCIPLE, DROP, GIVE, HIDE, MASTER, NOTHING, OVER
from pyramid_envs.games.pocket.tables import (
    BASES,
    COLORS,
    DROPS,
    FORMS,
    HEIGHTS,
    KINDS,
    MAX_DROPS,
    NO_REQUEST,
    ORIENTATIONS,
    REQUESTS,
    SIZES,
    as_pieces,
)
from pyramid_envs.render.canvas import Canvas, Pen, Point, Symbol, Theme, ink_on, mix, symbol
from pyramid_envs.render.pyramids import UP, pyramid, silhouette

WIDTH, HEIGHT = 960, 720
FLOOR, AXIS = 650.0, 122.0  # of the tube
TALLEST = float(max(HEIGHTS))
LABELS = 200.0  # where the words on the tube begin
COLUMN = 470.0  # where the panels begin
PANEL = WIDTH - COLUMN - 14
UNIT = 36.0  # of the pieces on the panels
SLOTS = (32.0, 77.0, 131.0, 185.0, 249.0, 317.0)  # where the middles of S S M M L L are


def size(tables: np.record) -> tuple[float, float]:
    return WIDTH, HEIGHT


# ---------------------------------------------------------------------------------------------------------------- draw


def draw(canvas: Canvas, tables: np.record, row: np.record, seat: int | None, last: tuple[np.record, int] | None) -> None:
    """The Disciple is shown neither pocket nor bag, only what is in one of the two; not even at the end."""
    done, subject = _last(tables, row, last)
    _tube(canvas, tables, row, marked=done == "drop")
    _heading(canvas, row, seat)
    _pieces(canvas, tables, row, seat)
    _requests(canvas, tables, row, subject if done == "ask" else -1)
    _doing(canvas, tables, row, seat, done)
    if last is not None:
        before, action = last
        name = notation.action_name if seat in (None, int(before.seat)) else notation.seen_name
        words = f"last: player_{before.seat} {name(tables, before, action)}"
        if done == "ask" and row.refused[subject]:
            words += ": refused"
        canvas.text(20, HEIGHT - 24, words, 19, canvas.theme.accent, anchor="start", bold=True)


def _last(tables: np.record, row: np.record, last: tuple[np.record, int] | None) -> tuple[str, int]:
    """What sort of action the last one was, and its number within the sort."""
    if last is None:
        return "", -1
    action = last[1]
    starts = {"hide": 0, "ask": tables.ask, "give": tables.give, "drop": tables.drop, "announce": tables.announce}
    sort = max((name for name, start in starts.items() if start <= action), key=lambda name: int(starts[name]))
    return sort, action - int(starts[sort])


def _heading(canvas: Canvas, row: np.record, seat: int | None) -> None:
    for p, role in enumerate(("the Disciple", "the Master")):
        x, y, w = COLUMN + p * (PANEL + 10) / 2, 12.0, (PANEL - 10) / 2
        turn = bool(row.phase != OVER and row.seat == p)
        canvas.rect(x, y, w, 62, canvas.theme.panel, canvas.theme.turn if turn else None, 2.5, radius=12)
        canvas.text(x + 12, y + 20, f"player_{p}" + " (you)" * (p == seat), 17, anchor="start", bold=True)
        note = role
        if turn:
            note += {HIDE: " fills the pocket", ASK: " asks", GIVE: " gives", DROP: " drops"}.get(int(row.phase), "")
        elif row.winner == p:
            note += " wins"
        canvas.text(x + 12, y + 44, note, 16, canvas.theme.faint if not note.endswith("wins") else None, anchor="start")


# ---------------------------------------------------------------------------------------------------------------- tube


def _scale(tables: np.record) -> float:
    """Units for an inch: so that what stands on the rim is in the picture too."""
    return float((FLOOR - 16) / (max(float(tables.tube_height), 1.0) + TALLEST))


def _wall(tables: np.record) -> float:
    """The thickness of the pieces at the base: like pieces stand as far apart as their walls are high."""
    return float(tables.offset[0, 0]) / 1000 * float(BASES[0] / 2 / HEIGHTS[0])


def _tube(canvas: Canvas, tables: np.record, row: np.record, marked: bool) -> None:
    theme, scale = canvas.theme, _scale(tables)
    rim = FLOOR - scale * float(tables.tube_height)
    half, wall = 0.55 * scale, _wall(tables)
    canvas.rect(AXIS - half, rim, 2 * half, FLOOR - rim, theme.card)
    for inch in range(int(tables.tube_height) + 1):
        if inch % max(1, round(26 / scale)) == 0:
            y = FLOOR - inch * scale
            canvas.line([(AXIS - half - 12, y), (AXIS - half - 5, y)], theme.faint, 1.5)
            canvas.text(AXIS - half - 18, y, str(inch), 13, theme.faint, anchor="end")
    count = int(row.count)
    spread = _spread([FLOOR - scale * (int(row.lows[at]) / 1000 + 0.3) for at in range(count)])
    for at in range(count):
        kind, orientation, request = DROPS[row.drops[at]]
        low = FLOOR - scale * int(row.lows[at]) / 1000
        high = int(row.lows[at]) + int(tables.height[tables.form[kind, orientation]])
        latest = marked and at == count - 1
        canvas.place(_cut(theme, kind, orientation, scale, wall), AXIS, low)
        if latest:
            outline = _outline(kind % 3, orientation, scale)
            canvas.polygon([(AXIS + x, low + y) for x, y in outline], None, theme.accent, 3.5)
        _label(canvas, at, kind, orientation, request, low, spread[at], scale, high > tables.rim, latest)
    # The glass, open at the top, and its rim.
    canvas.line([(AXIS - half, rim), (AXIS - half, FLOOR), (AXIS + half, FLOOR), (AXIS + half, rim)], theme.edge, 4)
    canvas.line([(AXIS - half - 12, rim), (AXIS + half + 12, rim)], theme.ink, 2, dash=6)
    canvas.text(AXIS, FLOOR + 16, f"rim at {float(tables.tube_height):g} in", 14, theme.faint)


def _spread(wanted: list[float], least: float = 33.0) -> list[float]:
    """Heights near those that are wanted, rising, and far enough apart to write at."""
    least = min(least, (FLOOR - 30) / max(1, len(wanted)))
    found: list[float] = []
    for y in wanted:
        found.append(min(y, found[-1] - least) if found else min(y, FLOOR - 14))
    top = 26.0
    for at in range(len(found)):
        found[at] = max(found[at], top + least * (len(found) - 1 - at))
    return found


def _label(
    canvas: Canvas,
    at: int,
    kind: int,
    orientation: int,
    request: int,
    low: float,
    y: float,
    scale: float,
    over: bool,
    latest: bool,
) -> None:
    """A line from the base of a piece to words on it."""
    theme = canvas.theme
    ink = theme.accent if over or latest else theme.ink
    base = low - (scale * float(HEIGHTS[kind % 3]) if orientation else 0.0)
    edge = AXIS + scale * float(BASES[kind % 3]) / 2
    colour = theme.named[COLORS[kind // 3]]
    canvas.line([(edge, base), (AXIS + 0.55 * scale + 8, base), (LABELS - 4, y)], colour, 1.5)
    canvas.text(LABELS + 18, y, str(at + 1), 14, theme.faint, anchor="end")
    canvas.rect(LABELS + 26, y - 11, 82, 22, colour, radius=6)
    mark = ink_on(colour)
    canvas.text(LABELS + 41, y, KINDS[kind], 14, mark, bold=True)
    for pip in range(kind % 3 + 1):
        canvas.circle(LABELS + 62 + 8 * pip, y, 2.6, mark)
    tip = -5 if orientation == 0 else 5
    canvas.polygon([(LABELS + 90, y - tip), (LABELS + 102, y - tip), (LABELS + 96, y + tip)], mark)
    words = "the Master's gift" if request == NO_REQUEST else f"asked: {REQUESTS[request]}"
    canvas.text(LABELS + 116, y, "above the rim" if over else words, 14, ink, anchor="start", bold=over)


def _outline(number: int, orientation: int, scale: float) -> list[Point]:
    half, height = scale * float(BASES[number]) / 2, scale * float(HEIGHTS[number])
    return [(-half, 0), (0, -height), (half, 0)] if orientation == 0 else [(-half, -height), (0, 0), (half, -height)]


@lru_cache(256)
def _cut(theme: Theme, kind: int, orientation: int, scale: float, wall: float) -> Symbol:
    """A cut through a piece: its two walls, which meet in the point. The origin is its lowest point, on the axis."""
    colour = theme.named[COLORS[kind // 3]]

    def side(pen: Pen) -> None:
        half, height = scale * float(BASES[kind % 3]) / 2, scale * float(HEIGHTS[kind % 3])
        inner = half - scale * wall
        hollow = height * inner / half
        cut = [(-half, 0.0), (0.0, height), (half, 0.0), (inner, 0.0), (0.0, hollow), (-inner, 0.0)]
        points = [(x, -y) for x, y in cut] if orientation == 0 else [(x, y - height) for x, y in cut]
        pen.polygon(points, colour, mix(colour, theme.ink, 0.6), 1.2)

    return symbol(theme, side)


# -------------------------------------------------------------------------------------------------------------- panels


def _piece(canvas: Canvas, kind: int, x: float, y: float, unit: float = UNIT) -> None:
    colour = canvas.theme.named[COLORS[kind // 3]]
    canvas.place(pyramid(canvas.theme, kind % 3, UP, colour, KINDS[kind][0], unit), x, y)


@lru_cache(64)
def _ghost(theme: Theme, number: int, filled: bool) -> Symbol:
    """Where a piece was, or could be; filled: one that is not shown."""
    shade = mix(theme.panel, theme.edge, 0.5)

    def draw(pen: Pen) -> None:
        pen.polygon(silhouette(number, UP, UNIT), shade if filled else None, None if filled else shade, 1.2, dash=3)

    return symbol(theme, draw)


def _pieces(canvas: Canvas, tables: np.record, row: np.record, seat: int | None) -> None:
    """The bag, kind by kind, and the pocket; for the Disciple what is in either."""
    theme, y = canvas.theme, 84.0
    hidden = as_pieces(int(tables.pockets[row.pocket])) if row.pocket != NOTHING else []
    unseen = seat == DISCIPLE
    shown = Counter(as_pieces(int(row.free if unseen else row.bag)))
    canvas.rect(COLUMN, y, 352, 252, theme.panel, radius=12)
    canvas.text(COLUMN + 12, y + 18, "bag and pocket" if unseen else "bag", 17, anchor="start", bold=True)
    for kind in range(3 * int(tables.num_colors)):
        for copy in range(int(tables.copies)):
            place = COLUMN + SLOTS[2 * (kind % 3) + copy], y + 98 + 72 * (kind // 3)
            if copy < shown[kind]:
                with canvas.group(f"piece:{KINDS[kind]}-{copy + 1}"):
                    _piece(canvas, kind, *place)
            else:
                canvas.place(_ghost(theme, kind % 3, False), *place)
    x, w = COLUMN + 362, PANEL - 362
    canvas.rect(x, y, w, 252, mix(theme.panel, theme.edge, 0.25), radius=12)
    canvas.text(x + 12, y + 18, "pocket", 17, anchor="start", bold=True)
    met: Counter[int] = Counter()
    for number in range(int(tables.hidden)):
        at = x + w / 2, y + 98 + 72 * number
        if unseen or not hidden:
            canvas.place(_ghost(theme, 1, unseen), *at)
            if unseen:
                canvas.text(at[0], at[1] - 16, "?", 20, bold=True)
        else:
            kind = hidden[number]
            met[kind] += 1
            with canvas.group(f"piece:{KINDS[kind]}-{shown[kind] + met[kind]}"):
                _piece(canvas, kind, *at)


def _requests(canvas: Canvas, tables: np.record, row: np.record, marked: int) -> None:
    theme, y = canvas.theme, 346.0
    canvas.rect(COLUMN, y, PANEL, 152, theme.panel, radius=12)
    canvas.text(COLUMN + 12, y + 18, "requests", 17, anchor="start", bold=True)
    for request in range(3 + int(tables.num_colors)):
        left, top = COLUMN + 12 + 152 * (request % 3), y + 34 + 58 * (request // 3)
        refused = int(row.refused[request])
        with canvas.group(f"ask:{REQUESTS[request]}"):
            edge, width = (theme.accent, 3.5) if request == marked else (theme.edge, 1.5)
            if row.asked == request and request != marked:
                edge, width = theme.turn, 3.0
            canvas.rect(left, top, 144, 50, mix(theme.card, theme.panel, 0.8) if refused else theme.card, edge, width, radius=9)
            if request < 3:
                grey = mix(theme.card, theme.edge, 0.7)
                canvas.place(pyramid(theme, request, UP, grey, "", 24.0), left + 24, top + 43)
            else:
                colour = theme.named[COLORS[request - 3]]
                canvas.circle(left + 24, top + 25, 15, colour)
                canvas.text(left + 24, top + 25, COLORS[request - 3][0].upper(), 16, ink_on(colour), bold=True)
            name = REQUESTS[request]
            canvas.text(left + 48, top + (17 if refused else 25), name, 17, theme.faint if refused else None, "start", bold=True)
            if refused:
                canvas.text(left + 48, top + 36, f"refused at {int(row.refused_at[request])}", 13, theme.ink, anchor="start")
                canvas.line([(left + 8, top + 44), (left + 40, top + 6)], theme.ink, 2.5)


def _doing(canvas: Canvas, tables: np.record, row: np.record, seat: int | None, done: str) -> None:
    """What is in hand and how it may be dropped, the announcement, the outcome."""
    theme, y = canvas.theme, 508.0
    canvas.rect(COLUMN, y, PANEL, 146, theme.panel, radius=12)
    acting = seat in (None, int(row.seat))
    if row.phase == DROP:
        canvas.text(COLUMN + 12, y + 18, "in hand", 17, anchor="start", bold=True)
        kind = int(row.in_hand)
        at = COLUMN + 60, y + 124
        if done == "give":
            outline = [(px + at[0], py + at[1]) for px, py in silhouette(kind % 3, UP, 48.0)]
            canvas.polygon(outline, None, theme.accent, 7)
        _piece(canvas, kind, *at, unit=48.0)
        for orientation, name in enumerate(ORIENTATIONS):
            form = int(tables.form[kind, orientation])
            room = (int(tables.rim) - int(row.rest[form]) - int(tables.height[form])) / 1000
            left = COLUMN + 140 + 164 * orientation
            with canvas.group(f"drop:{name}" if acting else None):
                canvas.rect(left, y + 30, 154, 92, theme.card, theme.edge, 1.5, radius=9)
                canvas.place(_cut(theme, kind, orientation, 34.0, _wall(tables)), left + 32, y + 30 + 76)
                canvas.text(left + 60, y + 62, name, 17, anchor="start", bold=True)
                words = f"{room:.3f} in left" if room >= 0 else f"{-room:.3f} in over"
                canvas.text(left + 60, y + 88, words, 13, theme.faint if room >= 0 else theme.accent, anchor="start")
        return
    if row.phase == OVER:
        words = "a point is above the rim"
        if row.announced != NOTHING:
            words = "announced: " + ("right" if row.winner == DISCIPLE else "wrong")
        canvas.text(COLUMN + 12, y + 18, f"over: {words}", 17, anchor="start", bold=True)
        for place, kind in enumerate(as_pieces(int(tables.pockets[row.announced])) if row.announced != NOTHING else []):
            _piece(canvas, kind, COLUMN + 60 + 84 * place, y + 122, unit=44.0)
        return
    words = {
        HIDE: f"the Master chooses {int(tables.hidden)} for his pocket, left to right",
        ASK: "ask, or announce the pocket and name its pieces",
        GIVE: "the Master gives any piece of the bag",
    }.get(int(row.phase), "the pocket is about to be drawn")
    if row.phase == GIVE and row.asked != NO_REQUEST:
        words = f"the Master must give a {REQUESTS[row.asked]} piece"
    canvas.text(COLUMN + 12, y + 18, words, 16, theme.faint, anchor="start")
    if row.phase == ASK and acting:
        canvas.button("announce", COLUMN + 160, y + 56, 156, 48, "announce")


# --------------------------------------------------------------------------------------------------------------- clicks


def click_path(tables: np.record, row: np.record, action: int) -> tuple[str, ...]:
    """A request, a piece to give, a way to drop; pieces to hide one by one in the order of the kinds, as to announce."""
    if action >= tables.announce:
        return "announce", *_named(as_pieces(int(tables.pockets[action - tables.announce])))
    if action >= tables.drop:
        return (f"drop:{ORIENTATIONS[action - tables.drop]}",)
    if action >= tables.give:
        return (f"piece:{KINDS[action - tables.give]}-1",)
    if action >= tables.ask:
        return (f"ask:{REQUESTS[action - tables.ask]}",)
    return tuple(_named(as_pieces(int(tables.pockets[action]))))


def _named(kinds: list[int]) -> list[str]:
    """The first copy of a kind, then the second."""
    return [f"piece:{KINDS[kind]}-{kinds[:at].count(kind) + 1}" for at, kind in enumerate(kinds)]


assert len(FORMS) == 2 * len(SIZES)
assert MAX_DROPS < 20
assert MASTER == 1
assert rules.DISCIPLE == 0
