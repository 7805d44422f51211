"""Pyramids in my pocket in words and letters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from pyramid_envs import validate
from pyramid_envs.games.pocket import rules
from pyramid_envs.games.pocket.rules import ASK, DISCIPLE, DRAW, DROP, GIVE, HIDE, MASTER, NOTHING, OVER
from pyramid_envs.games.pocket.tables import (
    DROPS,
    FORMS,
    KINDS,
    NO_REQUEST,
    ORIENTATIONS,
    REQUESTS,
    as_pieces,
    matches,
    pockets,
)
from pyramid_envs.jit import plain

# Kernels, for single positions.
_apply = plain(rules.apply)
_reset = plain(rules.reset)

PHASES = ("hide", "ask", "give", "drop", "over")  # by number; DRAW is written as HIDE, for it is the same moment
KEYS = ("pocket", "bag", "tube", "refused", "asked", "in_hand", "phase", "to_move", "announced", "winner")
ROLES = ("the Disciple", "the Master")


# -------------------------------------------------------------------------------------------------------------- names


@cache
def _names(num_colors: int, copies: int, hidden: int) -> tuple[str, ...]:
    found = [" ".join(KINDS[kind] for kind in pocket) for pocket in pockets(num_colors, copies, hidden)]
    return (
        *(f"hide {pocket}" for pocket in found),
        *(f"ask {request}" for request in REQUESTS[: 3 + num_colors]),
        *(f"give {kind}" for kind in KINDS[: 3 * num_colors]),
        *(f"drop {orientation}" for orientation in ORIENTATIONS),
        *(f"announce {pocket}" for pocket in found),
    )


def action_name(tables: np.record, row: np.record, action: int) -> str:
    return _names(int(tables.num_colors), int(tables.copies), int(tables.hidden))[action]


def seen_name(tables: np.record, row: np.record, action: int) -> str:
    return "hide ?" if action < tables.ask else action_name(tables, row, action)


def outcome_name(tables: np.record, row: np.record, outcome: int) -> str:
    return action_name(tables, row, outcome)


# ---------------------------------------------------------------------------------------------------- position, written


def position(tables: np.record, row: np.record) -> dict[str, Any]:
    return {
        "pocket": _pocket(tables, row.pocket),
        "bag": [KINDS[kind] for kind in as_pieces(int(row.bag))],
        "tube": [
            [KINDS[kind], ORIENTATIONS[orientation], _request(request)]
            for kind, orientation, request in map(DROPS.__getitem__, row.drops[: row.count])
        ],
        "refused": _refusals(row),
        "asked": _request(row.asked),
        "in_hand": None if row.in_hand == NOTHING else KINDS[row.in_hand],
        "phase": PHASES[HIDE if row.phase == DRAW else row.phase],
        "to_move": int(row.seat),
        "announced": None if row.announced == NOTHING else _pocket(tables, row.announced),
        "winner": None if row.winner == NOTHING else int(row.winner),
    }


def _pocket(tables: np.record, number: int) -> list[str]:
    return [] if number == NOTHING else [KINDS[kind] for kind in as_pieces(int(tables.pockets[number]))]


def _request(number: int) -> str | None:
    return None if number == NO_REQUEST else REQUESTS[number]


def _refusals(row: np.record) -> list[list[Any]]:
    """[request, pieces in the tube], in the order of the refusals."""
    found = sorted((int(number), r) for r, number in enumerate(row.refused) if number)
    return [[REQUESTS[r], int(row.refused_at[r])] for _, r in found]


# ------------------------------------------------------------------------------------------------------ position, read


def from_position(tables: np.record, position: Any, row: np.record) -> None:
    """The history is played again by the rules, which finds whatever could not have happened."""
    found = validate.keys(position, KEYS)
    phase = PHASES.index(validate.named("phase", validate.member, found["phase"], PHASES))
    seat = validate.named("to_move", validate.integer, found["to_move"], DISCIPLE, MASTER)
    winner = validate.named("winner", validate.member, found["winner"], (None, DISCIPLE, MASTER))
    pocket = _read_pieces(tables, found, "pocket", 0 if phase == HIDE else int(tables.hidden))
    bag = _read_pieces(tables, found, "bag")
    tube = _read_tube(tables, found["tube"])
    refused = _read_refusals(tables, found["refused"], len(tube))
    asked = _read_request(tables, "asked", found["asked"])
    in_hand = None if found["in_hand"] is None else _read_kind(tables, "in_hand", found["in_hand"])
    announced = None if found["announced"] is None else _read_pieces(tables, found, "announced", int(tables.hidden))
    _check_places(phase, found)
    _check_set(tables, [*pocket, *bag, *(kind for kind, _, _ in tube), *([] if in_hand is None else [in_hand])])

    _reset(tables, row)
    if phase != HIDE:
        _apply(tables, row, _number(tables, pocket))
        for at in range(len(tube) + 1):
            for name, request, when in refused:
                if when == at:
                    _play_refusal(tables, row, name, request)
            if at < len(tube):
                kind, orientation, request = tube[at]
                _play_gift(tables, row, f"tube[{at}]", kind, request)
                _apply(tables, row, int(tables.drop) + orientation)
        if in_hand is not None:
            _play_gift(tables, row, "in_hand", in_hand, asked)
        elif asked != NO_REQUEST:
            _play_request(tables, row, "asked", asked)
        elif announced is not None:
            _play_announcement(tables, row, announced)
    _check_outcome(row, phase, seat, winner)


def _read_kind(tables: np.record, name: str, value: Any) -> int:
    kinds = KINDS[: 3 * tables.num_colors]
    return kinds.index(validate.named(name, validate.member, value, kinds))


def _read_pieces(tables: np.record, found: Mapping[str, Any], name: str, length: int | None = None) -> list[int]:
    """Kinds, rising."""
    pieces = validate.named(name, validate.sequence, found[name], length)
    kinds = [_read_kind(tables, f"{name}[{at}]", piece) for at, piece in enumerate(pieces)]
    if kinds != sorted(kinds):
        raise validate.Fault(f"{name} must be in the order {' '.join(KINDS[: 3 * tables.num_colors])}, not {' '.join(pieces)}")
    return kinds


def _read_request(tables: np.record, name: str, value: Any) -> int:
    requests = REQUESTS[: 3 + tables.num_colors]
    return NO_REQUEST if value is None else requests.index(validate.named(name, validate.member, value, requests))


def _read_tube(tables: np.record, value: Any) -> list[tuple[int, int, int]]:
    """(kind, orientation, request) of each drop."""
    tube = []
    for at, entry in enumerate(validate.named("tube", validate.sequence, value)):
        piece, orientation, request = validate.named(f"tube[{at}]", validate.sequence, entry, 3)
        name = f"tube[{at}]"
        tube.append(
            (
                _read_kind(tables, f"{name}[0]", piece),
                ORIENTATIONS.index(validate.named(f"{name}[1]", validate.member, orientation, ORIENTATIONS)),
                _read_request(tables, f"{name}[2]", request),
            )
        )
    return tube


def _read_refusals(tables: np.record, value: Any, in_tube: int) -> list[tuple[str, int, int]]:
    """(its place in the position, request, pieces in the tube) of each refusal."""
    refused: list[tuple[str, int, int]] = []
    for at, entry in enumerate(validate.named("refused", validate.sequence, value)):
        name = f"refused[{at}]"
        request, when = validate.named(name, validate.sequence, entry, 2)
        if request is None:
            raise validate.Fault(f"{name} must begin with a request, not None")
        number = _read_request(tables, f"{name}[0]", request)
        when = validate.named(f"{name}[1]", validate.integer, when, 0, in_tube)
        if number in (r for _, r, _ in refused):
            raise validate.Fault(f"{name} refuses {request} again; what has been refused cannot be asked again")
        if refused and when < refused[-1][2]:
            raise validate.Fault(
                f"{name} with {when} pieces in the tube comes after one with {refused[-1][2]}; they stand in order"
            )
        refused.append((name, number, when))
    return refused


def _check_places(phase: int, found: Mapping[str, Any]) -> None:
    """Whether each entry is there in the phases that have it, and only there."""
    name = PHASES[phase]
    if phase == HIDE:
        for key in ("tube", "refused"):
            if found[key]:
                raise validate.Fault(f"at {name} nothing has happened yet, but {key} is {found[key]!r}")
    for key, phases in (("asked", (GIVE, DROP)), ("in_hand", (DROP,)), ("announced", (OVER,)), ("winner", (OVER,))):
        if found[key] is not None and phase not in phases:
            raise validate.Fault(f"at {name} {key} must be None, not {found[key]!r}")
    if phase == DROP and found["in_hand"] is None:
        raise validate.Fault("at drop in_hand must be a piece, not None")
    if phase == OVER and found["winner"] is None:
        raise validate.Fault("at over winner must be 0 or 1, not None")


def _check_set(tables: np.record, pieces: list[int]) -> None:
    counts = Counter(pieces)
    for kind in range(3 * tables.num_colors):
        if counts[kind] != tables.copies:
            found = f"{KINDS[kind]} {counts[kind]} times"
            raise validate.Fault(f"pocket, bag, tube and in_hand together hold {found}; there are {tables.copies}")


def _number(tables: np.record, pocket: Sequence[int]) -> int:
    """The number of a pocket whose pieces are all in the set."""
    return pockets(int(tables.num_colors), int(tables.copies), int(tables.hidden)).index(tuple(pocket))


def _expect(row: np.record, name: str, phase: int) -> None:
    """A fault unless the replayed position is at this phase: ASK, or GIVE on the Master's own turn."""
    if row.phase == OVER:
        raise validate.Fault(f"tube[{row.count - 1}] stands above the rim, so the game was over before {name}")
    if row.phase != phase:
        whose = "the Master's turn to give" if row.phase == GIVE else "the Disciple's turn to ask"
        raise validate.Fault(f"{name} does not fit: with {row.count} pieces in the tube it was {whose}")


def _matching(tables: np.record, row: np.record, request: int) -> list[str]:
    return [KINDS[kind] for kind in as_pieces(int(row.bag)) if matches(kind, request)]


def _play_refusal(tables: np.record, row: np.record, name: str, request: int) -> None:
    _expect(row, name, ASK)
    if not row.bag:
        raise validate.Fault(f"{name} does not fit: the bag was empty, so nothing could be asked")
    if held := _matching(tables, row, request):
        raise validate.Fault(f"{name}: {REQUESTS[request]} cannot have been refused, for the bag held {' '.join(held)}")
    _apply(tables, row, int(tables.ask) + request)


def _play_request(tables: np.record, row: np.record, name: str, request: int) -> None:
    _expect(row, name, ASK)
    if not _matching(tables, row, request):
        raise validate.Fault(f"{name}: the bag has no match for {REQUESTS[request]}, so it would have been refused")
    _apply(tables, row, int(tables.ask) + request)


def _play_gift(tables: np.record, row: np.record, name: str, kind: int, request: int) -> None:
    if request == NO_REQUEST:
        _expect(row, f"{name}, a gift of the Master's own,", GIVE)
    else:
        if not matches(kind, request):
            raise validate.Fault(f"{name}: {KINDS[kind]} is no answer to {REQUESTS[request]}")
        _play_request(tables, row, name, request)
    _apply(tables, row, int(tables.give) + kind)


def _play_announcement(tables: np.record, row: np.record, pieces: list[int]) -> None:
    _expect(row, "announced", ASK)
    free = Counter(as_pieces(int(row.free)))
    for kind, count in Counter(pieces).items():
        if count > free[kind]:
            raise validate.Fault(f"announced names {KINDS[kind]} {count} times; {free[kind]} of them are not in the tube")
    _apply(tables, row, int(tables.announce) + _number(tables, pieces))


def _check_outcome(row: np.record, phase: int, seat: int, winner: int | None) -> None:
    """Whether the replay ended in this phase, with this seat and this winner."""
    reached = HIDE if row.phase == DRAW else int(row.phase)
    if reached != phase:
        if reached == OVER:
            raise validate.Fault(f"tube[{row.count - 1}] stands above the rim, so phase must be 'over', not {PHASES[phase]!r}")
        if phase == OVER:
            raise validate.Fault("phase is 'over', but nothing was announced and nothing stands above the rim")
        raise validate.Fault(f"phase must be {PHASES[reached]!r} here, with {ROLES[row.seat]} to move, not {PHASES[phase]!r}")
    if seat != row.seat:
        raise validate.Fault(f"to_move must be {row.seat}, {ROLES[row.seat]}, at this {PHASES[phase]!r}, not {seat}")
    if phase == OVER and winner != row.winner:
        raise validate.Fault(f"winner must be {row.winner}, {ROLES[row.winner]}, not {winner}")


# --------------------------------------------------------------------------------------------------------- for people


def text(tables: np.record, row: np.record, seat: int | None) -> str:
    """The Disciple is not shown the pocket and the bag, not even at the end."""
    if seat == DISCIPLE:
        unknown = " ".join(KINDS[kind] for kind in as_pieces(int(row.free)))
        lines = [f"  bag and pocket  {unknown}"]
    else:
        bag = " ".join(KINDS[kind] for kind in as_pieces(int(row.bag)))
        lines = [f"  pocket  {' '.join(_pocket(tables, row.pocket)) or 'not yet filled'}", f"  bag     {bag or 'empty'}"]
    lines.append(f"  tube    rim at {tables.tube_height:g} inches; piece, lowest and highest point, why it was given")
    for at, code in enumerate(row.drops[: row.count]):
        kind, orientation, request = DROPS[code]
        low, high = int(row.lows[at]), int(row.lows[at]) + int(tables.height[tables.form[kind, orientation]])
        why = "the Master's gift" if request == NO_REQUEST else f"asked: {REQUESTS[request]}"
        lines.append(f"    {at + 1:>2}  {KINDS[kind]} {ORIENTATIONS[orientation]:<4}  {_inches(low)} {_inches(high)}  {why}")
    if row.phase != OVER:
        room = [f"{name} {_inches(tables.rim - row.rest[f] - tables.height[f]).strip()}" for f, name in enumerate(FORMS)]
        lines.append(f"  room left above one more piece: {', '.join(room)}")
    if refusals := _refusals(row):
        lines.append(f"  refused {', '.join(f'{request} (with {when} in the tube)' for request, when in refusals)}")
    if row.announced != NOTHING:
        lines.append(f"  the Disciple announced {' '.join(_pocket(tables, row.announced))}")
    return "\n".join([*lines, _now(row)])


def _inches(thousandths: int) -> str:
    return f"{int(thousandths) / 1000:6.3f}"


def _now(row: np.record) -> str:
    if row.phase == OVER:
        return f"  player_{row.winner}, {ROLES[row.winner]}, has won"
    if row.phase == DRAW:
        return "  the pocket is about to be drawn"
    asked = "" if row.asked == NO_REQUEST else f", asked for {REQUESTS[row.asked]}"
    does = {
        HIDE: "fills the pocket",
        ASK: "asks or announces",
        GIVE: f"gives a piece{asked}",
        DROP: f"drops {'' if row.in_hand == NOTHING else KINDS[row.in_hand]}",
    }
    return f"> player_{row.seat}, {ROLES[row.seat]}, {does[row.phase]}"
