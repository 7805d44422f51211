"""Treehouse in words and letters."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyramid_envs import validate
from pyramid_envs.games.treehouse import rules
from pyramid_envs.games.treehouse.tables import (
    AIM,
    DIG,
    DIRECTIONS,
    FACES,
    HOP,
    NO_ROLL,
    PER_TRIO,
    PIECES,
    SLOTS,
    START,
    SWAP,
    SWAPS,
    TIP,
    arrangements,
    numbers,
)
from pyramid_envs.games.treehouse.tables import (
    text as trio_text,
)
from pyramid_envs.jit import plain

# Kernels, for single positions.
_faces = plain(rules.faces)
_matching = plain(rules.matching)

_TEXTS = tuple(trio_text(trio) for trio in arrangements())


def _action_names() -> tuple[str, ...]:
    on_trio = [""] * PER_TRIO
    for p, piece in enumerate(PIECES):
        for d, direction in enumerate(DIRECTIONS):
            on_trio[START[AIM] + 3 * p + d] = f"AIM {piece} {direction}"
        for side, direction in enumerate(("left", "right")):
            on_trio[START[TIP] + 2 * p + side] = f"TIP {piece} {direction}"
        for k, slot in enumerate(SLOTS):
            on_trio[START[HOP] + 5 * p + k] = f"HOP {piece} {slot}"
            on_trio[START[DIG] + 5 * p + k] = f"DIG {piece} {slot}"
    for pair, (one, other) in enumerate(SWAPS):
        on_trio[START[SWAP] + pair] = f"SWAP {PIECES[one]} {PIECES[other]}"
    return (*(f"own {name}" for name in on_trio), *(f"house {name}" for name in on_trio), "pass")


_NAMES = _action_names()


def position(tables: np.record, row: np.record) -> dict[str, Any]:
    return {
        "trios": [_TEXTS[t] for t in row.trios[: tables.num_players]],
        "house": _TEXTS[row.house],
        "roll": None if row.roll == NO_ROLL else FACES[row.roll],
        "to_move": int(row.seat),
    }


def from_position(tables: np.record, position: Any, row: np.record) -> None:
    found = validate.keys(position, ("trios", "house", "roll", "to_move"))
    trios = validate.named("trios", validate.sequence, found["trios"], tables.num_players)
    for seat, trio in enumerate(trios):
        row.trios[seat] = validate.named(f"trios[{seat}]", _arrangement, trio)
    row.house = validate.named("house", _arrangement, found["house"])
    row.seat = validate.named("to_move", validate.integer, found["to_move"], 0, tables.num_players - 1)
    roll = validate.named("roll", validate.member, found["roll"], [None, *FACES])
    row.roll = NO_ROLL if roll is None else FACES.index(roll)
    row.winners = _matching(tables, row, row.seat)
    if roll is not None and row.winners:
        raise validate.Fault(f"a trio matches the House {found['house']!r}, so the game is over, but roll is {roll!r}")
    if roll is not None and not _faces(tables, row) >> row.roll & 1:
        raise validate.Fault(f"{roll} allows nothing here, so it would have been rolled again")


def _arrangement(value: Any) -> int:
    if not isinstance(value, str) or value not in numbers():
        raise validate.Fault(
            f"must be the text of a trio, each of S, M, L once, such as 'LMS', 'S< M L>' or 'LM S', not {value!r}"
        )
    return numbers()[value]


def action_name(tables: np.record, row: np.record, action: int) -> str:
    return _NAMES[action]


def outcome_name(tables: np.record, row: np.record, outcome: int) -> str:
    return FACES[outcome]


def text(tables: np.record, row: np.record, seat: int | None) -> str:
    """Nothing is hidden, so every seat sees the same but for the word that marks its own trio."""
    lines = []
    for p in range(tables.num_players):
        mark = ">" if p == row.seat and not row.winners else " "
        notes = ["you"] * (p == seat) + ["wins"] * bool(row.winners >> p & 1)
        lines.append(f"{mark} player_{p}  {_TEXTS[row.trios[p]]:<9} {', '.join(notes)}".rstrip())
    lines.append(f"  House     {_TEXTS[row.house]}")
    if not row.winners:
        lines.append(f"  die       {'about to be rolled' if row.roll == NO_ROLL else FACES[row.roll]}")
    return "\n".join(lines)
