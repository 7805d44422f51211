"""What Pyramids in my pocket looks up: the pieces, the pockets, the shapes of the pyramids and what is known of the pocket.

A *kind* is a colour and a size, 0..8 for RS RM RL GS GM GL BS BM BL; a *form* is a size and an orientation, 0..5 for S up,
S down, M up, M down, L up, L down. A *set* of pieces is an int: bit k is the first copy of kind k, bit 9 + k the second, which is
there only beside a first; so "no more of any kind than" is one bitwise operation. All shapes are those of the full game; a
small variant uses the front of each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, pairwise, product
from math import comb, log2, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyramid_envs.card import pack
from pyramid_envs.errors import OptionError

COLORS = ("red", "green", "blue")
SIZES = ("small", "medium", "large")
REQUESTS = SIZES + COLORS
KINDS = tuple(color[0].upper() + size[0].upper() for color in COLORS for size in SIZES)
ORIENTATIONS = ("up", "down")
FORMS = tuple(f"{size[0].upper()} {orientation}" for size in SIZES for orientation in ORIENTATIONS)

NUM_KINDS = 9
NUM_FORMS = 6
NUM_REQUESTS = 6
NO_REQUEST = 6  # the Master's own gift, where a request would stand
MAX_HIDDEN = 3
MAX_POCKETS = 156
MAX_DROPS = 17  # 18 pieces, one of them hidden
MAX_DRAWS = comb(18, MAX_HIDDEN)
MAX_ACTIONS = 329
NO_SET = 1 << 2 * NUM_KINDS  # within no set

Pocket = tuple[int, ...]  # kinds, rising

# (kind, orientation, request) of every drop code, 1 + 14 kind + 7 orientation + request; code 0 is no drop.
DROPS = ((-1, -1, -1), *product(range(NUM_KINDS), range(2), range(NUM_REQUESTS + 1)))
DROP_FEATURES = 3 + 3 + 2 + 7  # what an observation tells of a drop, one-hot: size, colour, orientation, request or own gift


# ------------------------------------------------------------------------------------------------------------- pieces


@cache
def pockets(num_colors: int, copies: int, hidden: int) -> tuple[Pocket, ...]:
    """All pockets of so many pieces, in lexicographic order.

    Raises:
        OptionError: if as many pieces would be hidden as there are.
    """
    kinds = range(3 * num_colors)
    if hidden >= copies * len(kinds):
        raise OptionError(f"option hidden of pocket must be less than the number of pieces, {copies * len(kinds)}, not {hidden}")
    return tuple(p for p in combinations_with_replacement(kinds, hidden) if max(Counter(p).values()) <= copies)


def num_pockets(options: Mapping[str, Any]) -> int:
    """H, how many pockets are possible."""
    return len(pockets(options["num_colors"], options["copies"], options["hidden"]))


def num_actions(options: Mapping[str, Any]) -> int:
    """2 H + 4 C + 5: pockets to hide, requests, gifts, drops, pockets to announce."""
    return 2 * num_pockets(options) + 4 * options["num_colors"] + 5


def as_set(pieces: Iterable[int]) -> int:
    """The set of these kinds, which may repeat."""
    return sum(1 << kind + NUM_KINDS * copy for kind, count in Counter(pieces).items() for copy in range(count))


def as_pieces(number: int) -> list[int]:
    """The kinds in a set, rising, each as often as it is there."""
    return [kind for kind in range(NUM_KINDS) for copy in range(2) if number >> kind + NUM_KINDS * copy & 1]


def matches(kind: int, request: int) -> bool:
    """Whether a piece answers a request; NO_REQUEST is answered by any."""
    return request in (NO_REQUEST, kind % 3, 3 + kind // 3)


# ----------------------------------------------------------------------------------------------------------- geometry
# Half a cut through a piece. Both sides of it are lines of straight parts; r runs from the axis to a, half the base width.
# The wall w is measured along the base. Inner slopes equal outer ones, k = height / a.
#
#     up     | \                              down   |      ______  height
#            |  \                                    |     /     /
#            |\  \   upper side                      |    /     /
#            | \  \                     upper side   |   /     /
#            |  \  \                                 |  /     /
#  underside |   \  \                                | /     /
#            |    \  \                               |/     /   underside
#            |     \  \                              |     /
#          0 |______\__\                             |____/_________  0
#            0    a-w   a    r                       0      a-w   a    r

BASES = (Fraction(9, 16), Fraction(25, 32), Fraction(1))  # widths in inches, S M L
HEIGHTS = (Fraction(1), Fraction(11, 8), Fraction(7, 4))

Side = tuple[tuple[Fraction, Fraction], ...]  # corners (r, height above the piece's lowest point), r rising from 0


def exact(number: float) -> Fraction:
    """The decimal fraction that a float prints as."""
    return Fraction(str(number))


def sides(form: int, wall: Fraction) -> tuple[Side, Side]:
    """The upper side and the underside of a form."""
    a, height = BASES[form // 2] / 2, HEIGHTS[form // 2]
    inner, hollow, nil = a - wall, height / a * (a - wall), Fraction(0)
    if form % 2 == 0:
        return ((nil, height), (a, nil)), ((nil, hollow), (inner, nil), (a, nil))
    return ((nil, height - hollow), (inner, height), (a, height)), ((nil, nil), (a, height))


def height_at(side: Side, r: Fraction) -> Fraction:
    """The height of a side at distance r from the axis, 0 <= r <= a."""
    for (r0, h0), (r1, h1) in pairwise(side):
        if r <= r1:
            return h0 + (h1 - h0) * (r - r0) / (r1 - r0)
    raise ValueError(f"the piece is narrower than {r}")


def offset(lower: int, new: int, wall: Fraction) -> int:
    """How much higher than `lower` the form `new` rests on it, lowest point above lowest point, in thousandths of an inch.

    The two sides are straight between corners, so they touch at a corner of either or at the end of the common width. Rounded to
    the nearest whole number, halves to even; negative where a wide piece slips over a narrow one.
    """
    upper, under = sides(lower, wall)[0], sides(new, wall)[1]
    common = min(upper[-1][0], under[-1][0])
    places = {r for r, _ in (*upper, *under) if r <= common}
    return round(1000 * max(height_at(upper, r) - height_at(under, r) for r in places))


# -------------------------------------------------------------------------------------------------------------- belief
# What the Disciple knows of the pocket can be told kind by kind. A refusal shows that all copies of some kinds that were not yet
# dropped are in the pocket: these kinds are settled. Of any other kind 0, 1 or 2 copies are open, each in the bag or in the
# pocket. So all that counts is how many kinds have one open copy, how many have two, and how many pieces of the pocket are still
# unknown. The tables below are indexed by these: [one, two, unknown].


@cache
def _counted(copies: int) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Of the unknown pieces: how many sets they may be, in how many ways these can be drawn, and the likeliest of them."""
    left, ways, best = (np.zeros((NUM_KINDS + 1, NUM_KINDS + 1, MAX_HIDDEN + 1), np.int32) for _ in range(3))
    draws = [comb(copies, count) for count in range(3)]
    left[0, 0, 0] = ways[0, 0, 0] = best[0, 0, 0] = 1
    for one, two in product(range(NUM_KINDS + 1), repeat=2):
        if 0 < one + two <= NUM_KINDS:
            fewer, most = ((one - 1, two), 1) if one else ((0, two - 1), 2)  # all kinds but one, and the copies of that one
            for unknown in range(MAX_HIDDEN + 1):
                counts = range(min(most, unknown) + 1)
                left[one, two, unknown] = sum(left[fewer][unknown - count] for count in counts)
                ways[one, two, unknown] = sum(ways[fewer][unknown - count] * draws[count] for count in counts)
                best[one, two, unknown] = max(best[fewer][unknown - count] * draws[count] for count in counts)
    return left, ways, best


@cache
def _believed(copies: int) -> NDArray[np.int8]:
    """The table `belief`."""
    left, ways, best = _counted(copies)
    told = np.zeros((*left.shape, 5), np.int8)
    for one, two, unknown in np.argwhere(ways):
        # In how many ways a kind of one open copy is drawn, one of two is drawn once, and one of two is drawn twice.
        single = copies * ways[one - 1, two, unknown - 1] if one and unknown else 0
        once = copies * ways[one, two - 1, unknown - 1] if two and unknown else 0
        twice = ways[one, two - 1, unknown - 2] if two and unknown > 1 else 0
        found = np.array([best[one, two, unknown], single, once + twice, twice])
        told[one, two, unknown, 0] = round(16 * log2(left[one, two, unknown]))
        told[one, two, unknown, 1:] = np.rint(127 * found / ways[one, two, unknown])
    return told


# -------------------------------------------------------------------------------------------------------------- tables

# H pockets of this variant, of 156 rows; requests 0..5 and NO_REQUEST; distances in thousandths of an inch:
#
#   num_colors, copies, hidden, num_pockets    int
#   random_pocket, master_orients                           int, 0 or 1
#   rim             int           the highest allowed top
#   tube_height     float         the same in inches, as given
#   ask, give, drop, announce     int  the first action number of each sort; hide begins at 0
#   full            int           the set of all pieces
#   pockets         int32[156]    each pocket as a set
#   named           int32[329]    by action: the set that an announcement names; NO_SET for other actions
#   weights         uint8[156]    in how many ways it can be drawn
#   draws           uint8[816]    the pocket of every way to draw one, C(pieces, hidden) used
#   matching        int32[7]      the set of what a request allows
#   form            uint8[9, 2]   the form of a kind, up and down
#   height          int16[6]      of a form
#   offset          int16[6, 6]   [lower, new]: how much higher the new piece rests
#   ones            uint8[512]    how many bits are set
#   left            int32[10, 10, 4]    [one, two, unknown], see above: how many pockets are possible
#   ways            int32[10, 10, 4]    in how many ways the open pieces of them can be drawn
#   belief          int8[10, 10, 4, 5]  16 log2(left); and times 127 the chance of the likeliest pocket, that a kind with one
#                                       open copy is hidden, that one with two is, and that both its copies are
#   drop_features   int8[127, 15]       what an observation tells of a drop code


_READ = ("num_colors", "copies", "hidden", "pocket", "master_orients", "wall", "tube_height")


def build(options: Mapping[str, Any]) -> NDArray[Any]:
    """The tables for these options."""
    return _build(*(options[name] for name in _READ))


@cache
def _build(
    num_colors: int, copies: int, hidden: int, pocket: str, master_orients: bool, wall: float, tube_height: float
) -> NDArray[Any]:
    found = pockets(num_colors, copies, hidden)
    ask = len(found)
    give = ask + 3 + num_colors
    drop = give + 3 * num_colors
    weights = [prod(comb(copies, count) for count in Counter(p).values()) for p in found]
    left, ways, _ = _counted(copies)
    return pack(
        num_colors=num_colors,
        copies=copies,
        hidden=hidden,
        num_pockets=len(found),
        random_pocket=int(pocket == "random"),
        master_orients=int(master_orients),
        rim=min(int(1000 * exact(tube_height)), 32_767),  # tops are whole numbers: what lies between two does not matter
        tube_height=tube_height,
        ask=ask,
        give=give,
        drop=drop,
        announce=drop + 2,
        full=as_set([*range(3 * num_colors)] * copies),
        pockets=_padded([as_set(p) for p in found], MAX_POCKETS, np.int32),
        named=_padded([NO_SET] * (drop + 2) + [as_set(p) for p in found], MAX_ACTIONS, np.int32),
        weights=_padded(weights, MAX_POCKETS, np.uint8),
        draws=_padded(np.repeat(np.arange(len(found)), weights), MAX_DRAWS, np.uint8),
        matching=np.array(
            [as_set([k for k in range(NUM_KINDS) if matches(k, r)] * 2) for r in range(NUM_REQUESTS + 1)], np.int32
        ),
        form=np.array([[2 * (kind % 3) + orientation for orientation in range(2)] for kind in range(NUM_KINDS)], np.uint8),
        height=np.array([1000 * HEIGHTS[form // 2] for form in range(NUM_FORMS)], np.int16),
        offset=np.array([[offset(lower, new, exact(wall)) for new in range(NUM_FORMS)] for lower in range(NUM_FORMS)], np.int16),
        ones=np.array([n.bit_count() for n in range(1 << NUM_KINDS)], np.uint8),
        left=left,
        ways=ways,
        belief=_believed(copies),
        drop_features=_drop_features(),
    )


def _padded(values: Iterable[int], length: int, dtype: type[np.generic]) -> NDArray[Any]:
    values = list(values)
    return np.array(values + [0] * (length - len(values)), dtype)


@cache
def _drop_features() -> NDArray[np.int8]:
    features = np.zeros((len(DROPS), DROP_FEATURES), np.int8)
    for code, (kind, orientation, request) in enumerate(DROPS[1:], 1):
        features[code, [kind % 3, 3 + kind // 3, 6 + orientation, 8 + request]] = 1
    return features
