"""What Twin Win looks up: the setups, the ways, sets of cards, distances on the board.

A piece is ``5 * size + colour``, a card ``2 * colour + shape``; colours red, blue, green, yellow, black = 0..4, sizes S, M, L =
0..2, shapes tree, nest = 0, 1. Spaces are numbered along the ring, then the centre::

    NW N  NE      0 1 2
    W  C  E       7 8 3
    SW S  SE      6 5 4
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyramid_envs.card import pack

COLOURS = ("red", "blue", "green", "yellow", "black")
LETTERS = "RBGYK"
SIZES = "SML"
SHAPES = ("tree", "nest")
CARDS = tuple(f"{colour} {shape}" for colour in COLOURS for shape in SHAPES)
NUM_CARDS = len(CARDS)
NUM_PIECES = len(COLOURS) * len(SIZES)
MAX_SEATS = 3

SPACES = ("NW", "N", "NE", "E", "SE", "S", "SW", "W", "C")
NUM_SPACES = len(SPACES)
CENTRE = 8
SIDES = (1, 3, 5, 7)  # N E S W
SETUP_SPACES = (0, 2, 8, 6, 4)  # NW NE C SW SE, as setups are named
WAYS = (
    *((space, (space + 1) % 8) for space in range(8)),  # the ring, clockwise
    *((side, CENTRE) for side in SIDES),
    *((CENTRE, side) for side in SIDES),
)

# An observation tells of every piece its space, on one of three levels: top of its stack, second, deeper.
LEVELS = 3
PLANE = NUM_PIECES * NUM_SPACES
JOINTS = 4  # medium on large, small on medium, medium on small, large on medium
HAND_FEATURES = 2 * (len(COLOURS) + len(SHAPES))
STAGES = ("act", "draw", "over", "setup", "first card", "second card")


@cache
def setups() -> NDArray[np.uint8]:
    """uint8[66240, 3, 5]: the colours of the five Larges, Mediums and Smalls on `SETUP_SPACES`, in lexicographic order."""
    orders = np.array(list(permutations(range(5))), np.uint8)
    differs = (orders[:, None] != orders).all(axis=2)
    larges, mediums = np.nonzero(differs)
    pairs, smalls = np.nonzero(differs[larges] & differs[mediums])
    return np.stack([orders[larges[pairs]], orders[mediums[pairs]], orders[smalls]], axis=1)


def cards_in(bits: int) -> list[int]:
    """The cards of a set that is given as bits, in card order."""
    return [card for card in range(NUM_CARDS) if bits >> card & 1]


def colour_order(hand: int) -> list[int]:
    """The colours as the holder of these cards counts them: those of its cards first, in card order, then the others."""
    return list(dict.fromkeys([card // 2 for card in cards_in(hand)] + list(range(len(COLOURS)))))


def distances() -> NDArray[np.uint8]:
    """uint8[9, 9]: the fewest moves that bring a piece from one space to another; to its own: out and back."""
    far = np.full((NUM_SPACES, NUM_SPACES), 99, np.int64)
    for start, end in WAYS:
        far[start, end] = 1
    for via in range(NUM_SPACES):
        far = np.minimum(far, far[:, via, None] + far[via])
    return far.astype(np.uint8)


# -------------------------------------------------------------------------------------------------------------- tables


# Sets of cards are bits, 0..1023.
#
#   num_players    int
#   allow_pass     int
#   way_from       uint8[16]              where a way begins
#   way_to         uint8[16]              and where it ends
#   setups         uint8[66240, 3, 5]     see `setups`
#   setup_spaces   uint8[5]
#   card_count     uint8[1024]            how many cards a set has
#   nth_card       uint8[1024, 10]        the n-th of them
#   colour_order   uint8[1024, 5]         see `colour_order`
#   piece_entry    uint8[1024, 15]        where the entries of a piece begin among the 135 of a level of an observation
#   card_entry     uint8[1024, 10]        where a card stands among the 10 in the holder's order of colours
#   hand_features  int8[1024, 14]         what an observation tells of its seat's hand
#   distance       uint8[9, 9]            see `distances`
#   gathering      uint8[9, 9, 9]         the fewest moves that stack three bare pieces from these spaces in this order


def build(options: Mapping[str, Any]) -> NDArray[Any]:
    """The tables for these options."""
    return _build(options["num_players"], options["allow_pass"])


@cache
def _build(num_players: int, allow_pass: bool) -> NDArray[Any]:
    sets = 1 << NUM_CARDS
    bits = np.arange(sets)[:, None] >> np.arange(NUM_CARDS) & 1
    order = np.array([colour_order(hand) for hand in range(sets)])
    rank = np.argsort(order, axis=1)
    hand_features = np.zeros((sets, HAND_FEATURES), np.int8)
    for hand in range(sets):
        for k, card in enumerate(cards_in(hand)[:2]):
            hand_features[hand, 7 * k + np.array([card // 2, 5 + card % 2])] = 1
    distance = distances().astype(np.int64)
    bottom = distance - np.diag(np.diag(distance))  # the bottom piece may stay where it is; the others must come to lie on it
    gathering = (bottom[:, None, None] + distance[None, :, None] + distance[None, None]).min(axis=3)
    return pack(
        num_players=num_players,
        allow_pass=int(allow_pass),
        way_from=np.array([start for start, _ in WAYS], np.uint8),
        way_to=np.array([end for _, end in WAYS], np.uint8),
        setups=setups(),
        setup_spaces=np.array(SETUP_SPACES, np.uint8),
        card_count=bits.sum(axis=1).astype(np.uint8),
        nth_card=np.argsort(1 - bits, axis=1, kind="stable").astype(np.uint8),
        colour_order=order.astype(np.uint8),
        piece_entry=(NUM_SPACES * (3 * np.tile(rank, 3) + np.repeat(range(3), 5))).astype(np.uint8),
        card_entry=(2 * np.repeat(rank, 2, axis=1) + np.tile(range(2), 5)).astype(np.uint8),
        hand_features=hand_features,
        distance=distance.astype(np.uint8),
        gathering=gathering.astype(np.uint8),
    )
