"""Trellis in words and letters."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from pyramid_envs import validate
from pyramid_envs.games.trellis import rules
from pyramid_envs.games.trellis.rules import (
    BOARD_CELL,
    BOARD_COLOUR,
    CELL,
    COLOUR,
    DRAW,
    EMPTY,
    FLOWER,
    FLOWERS,
    NO_TILE,
    OVER,
    OWNER,
    ROTATION,
    SLOT,
    TILE,
)
from pyramid_envs.games.trellis.tables import COLOURS, HAND, NO_EDGE, START, START_TILE, distance
from pyramid_envs.jit import plain

# Kernels, for single positions.
_flower_over = plain(rules.flower_over)
_lay = plain(rules.lay)
_reset = plain(rules.reset)

PHASES = ("draw", "tile", "cell", "rotation", "owner", "colour", "board cell", "board colour", "over")
PLANTING = (TILE, CELL, ROTATION)  # the phases before the tile of the turn is on the board
CLAIMING = (COLOUR, BOARD_CELL, BOARD_COLOUR)
CHOSEN = {CELL: ("tile",), ROTATION: ("tile", "cell"), BOARD_COLOUR: ("cell",)}


# ------------------------------------------------------------------------------------------------------- rows to words


def _text(tables: np.record, face: int) -> str:
    return "".join(COLOURS[colour] for colour in tables.edges[face])


def _tile(tables: np.record, tile: int) -> str:
    return _text(tables, 6 * tile)


@cache
def _faces(edges: bytes) -> dict[str, int]:
    """The number of each face by its text, those of the start tile left out."""
    faces = np.frombuffer(edges, np.uint8).reshape(-1, 6)[: 6 * START]
    return {"".join(COLOURS[colour] for colour in colours): face for face, colours in reversed(list(enumerate(faces)))}


def _place(tables: np.record, cell: int) -> tuple[int, int]:
    """The q and r of a cell."""
    radius = int(tables.side) // 2
    return int(tables.x[cell]) - radius, int(tables.y[cell]) - radius


def _hand(tables: np.record, row: np.record, seat: int) -> list[str]:
    return [_tile(tables, int(tile)) for tile in row.hands[seat] if tile != NO_TILE]


def _flowers(row: np.record, k: int) -> dict[str, int]:
    return {COLOURS[c]: int(vine) - FLOWER for c, vine in enumerate(row.vines[k]) if vine >= FLOWER}


def _chosen(tables: np.record, row: np.record) -> dict[str, Any]:
    chosen: dict[str, Any] = {}
    if row.pick:
        chosen["tile"] = _hand(tables, row, row.seat)[row.pick - 1]
    if row.target:
        chosen["cell"] = list(_place(tables, row.target))
    return chosen


def position(tables: np.record, row: np.record) -> dict[str, Any]:
    return {
        "board": [
            {"cell": list(_place(tables, row.cell[k])), "edges": _text(tables, row.face[k]), "flowers": _flowers(row, k)}
            for k in range(row.tiles)
        ],
        "hands": [_hand(tables, row, seat) for seat in range(tables.num_players)],
        "flowers_left": [int(left) for left in row.left[: tables.num_players]],
        "phase": PHASES[row.phase],
        "chosen": _chosen(tables, row),
        "gifts": int(row.gifts),
        "to_move": int(row.seat),
    }


def action_name(tables: np.record, row: np.record, action: int) -> str:
    if action < HAND:
        hand = _hand(tables, row, row.seat)
        return f"tile {hand[action]}" if action < len(hand) else "-"
    action -= HAND
    if action < tables.side**2:
        radius = tables.side // 2
        return f"cell {action % tables.side - radius},{action // tables.side - radius}"
    action -= tables.side**2
    names = (*(f"rotation {k}" for k in range(6)), *(f"owner {k}" for k in range(4)), *(f"colour {c}" for c in COLOURS))
    return names[action]


def seen_name(tables: np.record, row: np.record, action: int) -> str:
    return "tile ?" if action < HAND else action_name(tables, row, action)


def outcome_name(tables: np.record, row: np.record, outcome: int) -> str:
    return _tile(tables, outcome)


# ------------------------------------------------------------------------------------------------------- words to rows


def from_position(tables: np.record, position: Any, row: np.record) -> None:
    found = validate.keys(position, ("board", "hands", "flowers_left", "phase", "chosen", "gifts", "to_move"))
    _reset(tables, row)
    row.phase = PHASES.index(validate.named("phase", validate.member, found["phase"], PHASES))
    row.seat = validate.named("to_move", validate.integer, found["to_move"], 0, tables.num_players - 1)
    placed: dict[int, str] = {}  # where each tile is
    _read_board(tables, row, found["board"], placed)
    _read_hands(tables, row, found["hands"], placed)
    _read_flowers_left(tables, row, found["flowers_left"])
    _check_hands(tables, row)
    _check_vines(tables, row)
    _read_gifts(tables, row, found["gifts"])
    _read_chosen(tables, row, found["chosen"])


def _read_board(tables: np.record, row: np.record, value: Any, placed: dict[int, str]) -> None:
    if value == []:
        raise validate.Fault("board is empty, without the start tile")
    board = [
        validate.named(f"board[{k}]", validate.keys, entry, ("cell", "edges", "flowers"))
        for k, entry in enumerate(validate.named("board", _list, value))
    ]
    for k, entry in enumerate(board):
        cell = validate.named(f"board[{k}].cell", _cell, tables, entry["cell"])
        if k == 0:
            if cell != row.cell[0] or entry["edges"] != START_TILE:
                raise validate.Fault(f"board[0] must be the start tile, {START_TILE!r} on cell [0, 0]")
        else:
            face = validate.named(f"board[{k}].edges", _face, tables, entry["edges"])
            _take(tables, row, face // 6, f"board[{k}]", placed)
            if row.grid[cell] < SLOT:
                why = "where there is a tile already" if row.grid[cell] else "which is next to no tile planted before"
                raise validate.Fault(f"board[{k}].cell is {entry['cell']}, {why}")
            _lay(tables, row, cell, face)
        validate.named(f"board[{k}].flowers", _read_flowers, tables, row, k, entry["flowers"])


def _list(value: Any, length: int | None = None) -> list[Any]:
    if not isinstance(value, list):
        raise validate.Fault(f"must be a list, not {value!r}")
    validate.sequence(value, length)
    return value


def _face(tables: np.record, value: Any) -> int:
    faces = _faces(tables.edges.tobytes())
    if not isinstance(value, str) or value not in faces:
        raise validate.Fault(f"must be the six letters of a tile of the set as it lies, not {value!r}")
    return faces[value]


def _take(tables: np.record, row: np.record, tile: int, place: str, placed: dict[int, str]) -> None:
    """A tile is where it is, and no longer in the deck."""
    if tile in placed:
        raise validate.Fault(f"{place} is the tile {_tile(tables, tile)}, which is {placed[tile]} already")
    placed[tile] = place
    row.deck[tile] = 0


def _cell(tables: np.record, value: Any) -> int:
    """The place in the square of cells of a [q, r]."""
    radius = tables.side // 2
    q, r = (validate.integer(number, -30, 30) for number in _list(value, 2))
    if distance(q, r) > radius:
        raise validate.Fault(f"is {[q, r]}, beyond the board's radius of {radius}")
    return int(tables.cell[(r + radius) * tables.side + q + radius])


def _read_flowers(tables: np.record, row: np.record, k: int, value: Any) -> None:
    if not isinstance(value, dict):
        raise validate.Fault(f"must be a dict from colours to owners, not {value!r}")
    for colour, owner in value.items():
        if colour not in list(_text(tables, row.face[k])):
            raise validate.Fault(f"has a flower on {colour!r}, but the tile has no such vine")
        owner = validate.named(f"of {colour}", validate.integer, owner, 0, tables.num_players - 1)
        row.vines[k, COLOURS.index(colour)] = FLOWER + owner


def _read_hands(tables: np.record, row: np.record, value: Any, placed: dict[int, str]) -> None:
    for seat, hand in enumerate(validate.named("hands", _list, value, tables.num_players)):
        texts = validate.named(f"hands[{seat}]", _list, hand)
        if len(texts) > HAND:
            raise validate.Fault(f"hands[{seat}] has {len(texts)} tiles, but a hand holds {HAND} at most")
        for j, text in enumerate(texts):
            face = validate.named(f"hands[{seat}][{j}]", _face, tables, text)
            if face % 6:
                raise validate.Fault(f"hands[{seat}][{j}] must be the tile unturned, {_tile(tables, face // 6)!r}, not {text!r}")
            _take(tables, row, face // 6, f"hands[{seat}][{j}]", placed)
            row.hands[seat, j] = face // 6


def _read_flowers_left(tables: np.record, row: np.record, value: Any) -> None:
    for seat, left in enumerate(validate.named("flowers_left", _list, value, tables.num_players)):
        on_board = _count_flowers(row, seat)
        expected = max(0, FLOWERS - on_board)
        if validate.named(f"flowers_left[{seat}]", validate.integer, left, 0, FLOWERS) != expected:
            raise validate.Fault(f"flowers_left[{seat}] must be {expected}, not {left}: {on_board} of them are on the board")
        row.left[seat] = expected
    spent = [seat for seat in range(tables.num_players) if row.left[seat] == 0]
    if spent and row.phase != OVER:
        raise validate.Fault(f"seat {spent[0]} has no flower left, so the phase must be 'over', not {PHASES[row.phase]!r}")
    if not spent and row.phase == OVER:
        raise validate.Fault("phase is 'over', but every seat has flowers left")


def _count_flowers(row: np.record, seat: int) -> int:
    return int((row.vines[: row.tiles] == FLOWER + seat).sum())


def _check_hands(tables: np.record, row: np.record) -> None:
    """How many tiles each seat holds follows from the phase, until the deck is empty."""
    phase, mover = int(row.phase), int(row.seat)
    planted = row.tiles - 1
    if planted == 0 and phase not in (DRAW, *PLANTING):
        raise validate.Fault(f"phase {PHASES[phase]!r} needs a tile planted this turn, but only the start tile is on the board")
    deck = int(row.deck.sum())
    if phase == DRAW and deck == 0:
        raise validate.Fault("phase is 'draw', but no tile is left to draw")
    for seat in range(tables.num_players):
        held = len(_hand(tables, row, seat))
        most = HAND if seat != mover or phase in PLANTING else HAND - 1
        least = most if deck else int(seat == mover and phase in PLANTING)
        if planted == 0 and phase == DRAW:  # the hands are dealt one after the other
            most = HAND if seat < mover else HAND - 1 if seat == mover else 0
            least = HAND if seat < mover else 0
        if not least <= held <= most:
            allowed = f"{most}" if least == most else f"{least} to {most}"
            raise validate.Fault(f"hands[{seat}] must have {allowed} tiles here, not {held}")
    # A turn that does not end the game brings a flower at least, so that only so many can follow.
    flowers = sum(_count_flowers(row, seat) for seat in range(tables.num_players))
    turns = (FLOWERS - 1) * tables.num_players - flowers + (phase in (DRAW, *PLANTING))
    if phase != OVER and START - planted < turns:
        raise validate.Fault(f"{START - planted} tiles are not on the board, too few for the {turns} turns that may follow")


def _owners_met(tables: np.record, row: np.record, k: int, colour: int) -> list[int]:
    """The owners of the flowers that the ends of a vine meet."""
    ends = [int(e) for e in tables.ends[row.face[k], colour] if e != NO_EDGE]
    met = [_flower_over(tables, row, int(row.cell[k]), e, colour) for e in ends]
    return [flower - FLOWER for flower in met if flower]


def _contested(tables: np.record, row: np.record) -> list[int]:
    """The colours of the empty vines of the new tile between two owners."""
    k = row.tiles - 1
    return [c for c in range(6) if row.vines[k, c] == EMPTY and len(set(_owners_met(tables, row, k, c))) == 2]


def _check_vines(tables: np.record, row: np.record) -> None:
    """Whatever is connected to a flower has bloomed, but for what waits to be decided; and there is a vine for what is asked."""
    newest = row.tiles - 1
    waiting = _contested(tables, row) if row.phase in (OWNER, OVER) else []
    for k in range(row.tiles):
        for colour in np.flatnonzero(row.vines[k] == EMPTY):
            met = _owners_met(tables, row, k, int(colour))
            if met and not (k == newest and colour in waiting):
                raise validate.Fault(
                    f"the empty vine {COLOURS[colour]} of board[{k}] meets a flower of seat {met[0]}, so it would have bloomed"
                )
    if row.phase == OWNER and not waiting:
        raise validate.Fault("phase is 'owner', but no vine of the newest tile is contested")
    newest_is_full = not (row.vines[newest] == EMPTY).any()
    if row.phase == COLOUR and newest_is_full:
        raise validate.Fault("phase is 'colour', but the newest tile has no empty vine")
    if row.phase in (BOARD_CELL, BOARD_COLOUR):
        if not newest_is_full:
            raise validate.Fault(f"phase is {PHASES[row.phase]!r}, but the newest tile has an empty vine, to be claimed first")
        if not (row.vines == EMPTY).any():
            raise validate.Fault(f"phase is {PHASES[row.phase]!r}, but no vine of the board is empty")


def _read_gifts(tables: np.record, row: np.record, value: Any) -> None:
    others = sum(_count_flowers(row, seat) for seat in range(tables.num_players) if seat != row.seat)
    most = others if row.phase in (OWNER, *CLAIMING) else 0
    gifts = validate.named("gifts", validate.integer, value, 0)
    if gifts > most:
        why = f"only {most} flowers of others are on the board" if most else f"there are none at phase {PHASES[row.phase]!r} here"
        raise validate.Fault(f"gifts is {gifts}, but {why}")
    row.gifts = gifts


def _read_chosen(tables: np.record, row: np.record, value: Any) -> None:
    chosen = validate.named(f"chosen, at phase {PHASES[row.phase]!r},", validate.keys, value, CHOSEN.get(int(row.phase), ()))
    if "tile" in chosen:
        hand = _hand(tables, row, row.seat)
        tile = validate.named(f"chosen.tile, of the hand of seat {row.seat},", validate.member, chosen["tile"], hand)
        row.pick = hand.index(tile) + 1
    if "cell" in chosen:
        row.target = cell = validate.named("chosen.cell", _cell, tables, chosen["cell"])
        if row.phase == ROTATION and row.grid[cell] < SLOT:
            raise validate.Fault(f"chosen.cell is {chosen['cell']}, where no tile can be planted")
        k = int(row.grid[cell]) - 1
        if row.phase == BOARD_COLOUR and not (0 <= k < row.tiles and (row.vines[k] == EMPTY).any()):
            raise validate.Fault(f"chosen.cell is {chosen['cell']}, where no vine is empty")


# ---------------------------------------------------------------------------------------------------------- for people


def text(tables: np.record, row: np.record, seat: int | None) -> str:
    """A map of the board, then what each seat has.

    A tile shows its cell q,r and around it at each edge the colour, with the owner of the flower or a point if there is none; a
    cell where a tile may be planted shows q,r alone. With a seat, the hands and the chosen tile of the others are left out.
    """
    lines = _map(tables, row)
    for p in range(tables.num_players):
        active = p == row.seat and row.phase != OVER
        hand = _hand(tables, row, p)
        shown = f"{len(hand)} tiles" if seat is not None and p != seat else " ".join(hand) or "no tile"
        notes = ["you"] * (p == seat) + ["wins"] * bool(row.left[p] == 0)
        lines.append(f"{'>' if active else ' '} player_{p}  {row.left[p]:>2} flowers left, {shown}  {', '.join(notes)}".rstrip())
    lines.append(f"  {_asked(tables, row, seat)}")
    return "\n".join(lines)


def _map(tables: np.record, row: np.record) -> list[str]:
    middle = 6 if tables.side < 40 else 8  # letters for q,r; "-10,-10" needs a far board
    half = middle // 2 + 3  # from a tile to the next at its edge 1
    at_edge = ((1, middle + 2), (2, middle), (2, 2), (1, 0), (0, 2), (0, middle))  # where in a tile's three lines an edge is told
    pictures: dict[tuple[int, int], list[tuple[int, int, str]]] = {}
    for cell in row.frontier[: row.room]:
        pictures[_place(tables, cell)] = []
    for k in range(row.tiles):
        labels = []
        for e, (down, right) in enumerate(at_edge):
            colour = tables.edges[row.face[k], e]
            vine = int(row.vines[k, colour])
            labels.append((down, right, COLOURS[colour] + ("." if vine == EMPTY else str(vine - FLOWER))))
        pictures[_place(tables, row.cell[k])] = labels
    left, right = min(2 * q + r for q, r in pictures), max(2 * q + r for q, r in pictures)
    top, bottom = min(r for _, r in pictures), max(r for _, r in pictures)
    canvas = np.full((3 * (bottom - top + 1), half * (right - left) + middle + 4), " ")
    for (q, r), labels in pictures.items():
        for y, x, label in ((1, 2, f"{q},{r}".center(middle)), *labels):
            y, x = y + 3 * (r - top), x + half * (2 * q + r - left)
            canvas[y, x : x + len(label)] = list(label)
    return "\n".join("".join(line).rstrip() for line in canvas).strip("\n").split("\n")


def _asked(tables: np.record, row: np.record, seat: int | None) -> str:
    newest = "{},{}".format(*_place(tables, row.cell[row.tiles - 1]))
    chosen = _chosen(tables, row)
    if seat is not None and seat != row.seat:
        chosen.pop("tile", None)
    tile = chosen.get("tile", "a tile")
    place = "{},{}".format(*chosen["cell"]) if "cell" in chosen else ""
    gifts = f" (then {row.gifts} more)" if row.gifts else ""
    asked = {
        DRAW: "draws a tile",
        TILE: "chooses a tile",
        CELL: f"chooses a cell for {tile}",
        ROTATION: f"turns {tile} on {place}",
        OWNER: f"names the owner of vine {''.join(COLOURS[c] for c in _contested(tables, row)[:1])} on {newest}",
        COLOUR: f"claims a vine on {newest}{gifts}",
        BOARD_CELL: f"chooses a tile on the board to claim a vine{gifts}",
        BOARD_COLOUR: f"claims a vine on {place}{gifts}",
        OVER: "made the last move",
    }
    return f"player_{row.seat} {asked[int(row.phase)]}; {int(row.deck.sum())} tiles to draw"
