"""What Treehouse looks up: all arrangements of a trio, and what every action makes of each.

A trio is a tuple of columns from left to right; a column is a tuple of (piece, direction) from bottom to top. Pieces are
S, M, L = 0, 1, 2; directions LEFT, UP, RIGHT = 0, 1, 2. In a column of more than one piece all are UP.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from itertools import permutations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyramid_envs.card import pack

PIECES = "SML"
DIRECTIONS = ("left", "up", "right")
FACES = ("AIM", "TIP", "HOP", "SWAP", "DIG", "WILD")
LEFT, UP, RIGHT = range(3)
AIM, TIP, HOP, SWAP, DIG, WILD, NO_ROLL = range(7)

# The 48 actions on a trio begin at these numbers, face by face.
START = {AIM: 0, TIP: 9, HOP: 15, SWAP: 30, DIG: 33}
PER_TRIO = 48
SWAPS = ((0, 1), (0, 2), (1, 2))
SLOTS = ("gap 0", "column 0", "gap 1", "column 1", "gap 2")

# What an observation tells of a trio: for each piece its column, its height in it and its direction, one-hot.
TRIO_FEATURES = 3 * (3 + 3 + 3)

Column = tuple[tuple[int, int], ...]
Trio = tuple[Column, ...]


def text(trio: Trio) -> str:
    """Columns from left to right, one space between; a lying piece has < or > after it."""
    return " ".join("".join(PIECES[piece] + ("<", "", ">")[direction] for piece, direction in column) for column in trio)


@cache
def arrangements() -> tuple[Trio, ...]:
    """All 204 trios: 162 of three columns, 36 of two, 6 of one."""
    found: list[Trio] = []
    for order in permutations(range(3)):
        a, b, c = ((piece, UP) for piece in order)
        for turned in product(range(3), repeat=3):
            found.append(tuple(((piece, direction),) for piece, direction in zip(order, turned, strict=True)))
        for direction in range(3):
            found.append(((a, b), ((order[2], direction),)))
            found.append((((order[2], direction),), (a, b)))
        found.append(((a, b, c),))
    return tuple(found)


@cache
def numbers() -> dict[str, int]:
    """The number of each arrangement, by its text."""
    return {text(trio): number for number, trio in enumerate(arrangements())}


# ------------------------------------------------------------------------------------------------------------ actions
# Each function yields (number among the 48, resulting trio) of its action; results equal to the trio itself are no moves.


def aim(trio: Trio) -> Iterator[tuple[int, Trio]]:
    """A piece alone in its column points in another direction."""
    for at, column in enumerate(trio):
        if len(column) == 1:
            piece = column[0][0]
            for direction in range(3):
                yield START[AIM] + 3 * piece + direction, (*trio[:at], ((piece, direction),), *trio[at + 1 :])


def tip(trio: Trio) -> Iterator[tuple[int, Trio]]:
    """A whole upright column falls; its pieces lie in its place, the top one farthest."""
    for at, column in enumerate(trio):
        if column[0][1] == UP:
            for side, direction in enumerate((LEFT, RIGHT)):
                fallen = [((piece, direction),) for piece, _ in column]
                yield START[TIP] + 2 * column[0][0] + side, (*trio[:at], *fallen[:: 1 if side else -1], *trio[at + 1 :])


def hop(trio: Trio) -> Iterator[tuple[int, Trio]]:
    """An upright piece goes, with all that stands on it, into a gap or on top of a column."""
    for at, column in enumerate(trio):
        for height, (piece, direction) in enumerate(column):
            if direction == UP:
                left = (column[:height],) if height else ()
                rest = (*trio[:at], *left, *trio[at + 1 :])
                for slot, landed in enumerate(_land(rest, column[height:], on_top=True)):
                    yield START[HOP] + 5 * piece + slot, landed


def swap(trio: Trio) -> Iterator[tuple[int, Trio]]:
    """Two pieces trade places, each keeping its direction; in a stack everything stands."""
    for pair, (one, other) in enumerate(SWAPS):
        trade = {one: other, other: one}
        direction = {piece: pointing for column in trio for piece, pointing in column}
        traded: list[Column] = []
        for column in trio:
            pieces = [trade.get(piece, piece) for piece, _ in column]
            traded.append(tuple((piece, direction[piece] if len(pieces) == 1 else UP) for piece in pieces))
        yield START[SWAP] + pair, tuple(traded)


def dig(trio: Trio, dig_away: bool) -> Iterator[tuple[int, Trio]]:
    """A lying piece comes up, standing, in a gap on the side to which it points or as the bottom of a column there."""
    for at, column in enumerate(trio):
        piece, direction = column[0]
        rest = (*trio[:at], *trio[at + 1 :])
        if direction == LEFT:
            reach, others = range(2 * at + 1), at  # slots from the far left to its own place
        elif direction == RIGHT:
            reach, others = range(2 * at, 2 * len(rest) + 1), len(rest) - at
        else:
            continue
        if others or dig_away:
            for slot, landed in enumerate(_land(rest, ((piece, UP),), on_top=False)):
                if slot in reach:
                    yield START[DIG] + 5 * piece + slot, landed


def _land(rest: Trio, moving: Column, on_top: bool) -> Iterator[Trio]:
    """`moving` in every slot of the columns that remain: gap 0, column 0, gap 1, ..."""
    for at in range(len(rest) + 1):
        yield (*rest[:at], moving, *rest[at:])
        if at < len(rest):
            standing = tuple((piece, UP) for piece, _ in rest[at])
            yield (*rest[:at], standing + moving if on_top else moving + standing, *rest[at + 1 :])


# -------------------------------------------------------------------------------------------------------------- tables


# T = 204 arrangements; faces of the die as numbered above, NO_ROLL allowing nothing:
#
#   num_players    int
#   successor      uint8[T, 48]     the arrangement that an action makes (an illegal one: the same)
#   legal          uint8[7, T, 48]  1 for the actions that a face allows on an arrangement
#   possible       uint8[7, T]      1 where it allows any
#   distance       uint8[T, T]      the least number of free actions from one arrangement to the other
#   faces          uint8[T]         the faces that allow any, as bits
#   face_count     uint8[64]        how many bits are set
#   nth_face       uint8[64, 6]     the n-th of them
#   features       int8[T, 27]      what an observation tells of an arrangement
#   turn_features  int8[7, 4, 10]   and of the roll and the seat to move, counted from the observer; 6 + P used


def build(options: Mapping[str, Any]) -> NDArray[Any]:
    """The tables for these options."""
    return _build(options["num_players"], options["dig_away"])


@cache
def _build(num_players: int, dig_away: bool) -> NDArray[Any]:
    trios, number = arrangements(), numbers()
    count = len(trios)
    successor = np.repeat(np.arange(count, dtype=np.uint8)[:, None], PER_TRIO, axis=1)
    legal = np.zeros((7, count, PER_TRIO), np.uint8)
    features = np.zeros((count, TRIO_FEATURES), np.int8)
    for t, trio in enumerate(trios):
        moves = {AIM: aim(trio), TIP: tip(trio), HOP: hop(trio), SWAP: swap(trio), DIG: dig(trio, dig_away)}
        for face, found in moves.items():
            for action, result in found:
                if result != trio:
                    successor[t, action] = number[text(result)]
                    legal[face, t, action] = legal[WILD, t, action] = 1
        for at, column in enumerate(trio):
            for height, (piece, direction) in enumerate(column):
                features[t, 9 * piece + np.array([at, 3 + height, 6 + direction])] = 1
    possible = np.any(legal, axis=2)
    turn_features = np.zeros((7, 4, 10), np.int8)
    turn_features[range(6), :, range(6)] = 1
    turn_features[:, range(4), range(6, 10)] = 1
    bits = np.arange(64)[:, None] >> np.arange(6) & 1
    return pack(
        num_players=num_players,
        successor=successor,
        legal=legal,
        possible=possible,
        distance=_distances(successor),
        faces=np.packbits(possible[:6], axis=0, bitorder="little")[0],
        face_count=bits.sum(axis=1).astype(np.uint8),
        nth_face=np.argsort(1 - bits, axis=1, kind="stable").astype(np.uint8),
        features=features,
        turn_features=turn_features,
    )


def _distances(successor: NDArray[np.uint8]) -> NDArray[np.uint8]:
    count = len(successor)
    step = np.zeros((count, count), np.int64)
    step[np.arange(count)[:, None], successor] = 1
    reached = np.eye(count, dtype=np.bool_)
    distance = np.zeros((count, count), np.uint8)
    while not reached.all():
        distance[~reached] += 1
        reached |= (reached.astype(np.int64) @ step) > 0
    return distance
