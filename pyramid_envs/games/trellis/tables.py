"""What Trellis looks up: the tiles, how each lies when turned, and the geometry of the board.

Colours are 0..5 in the order P O G B K Y. A tile's text is its colours at edges 0..5; a *face* is a tile as it lies,
6 * tile + turn. The start tile is tile 60. Cells are axial, (q, r); the edges of a cell, and the way each faces::

          4   5            0 (1, 0)    1 (0, 1)     2 (-1, 1)
        3  q,r  0          3 (-1, 0)   4 (0, -1)    5 (1, -1)         q grows to the right, r downwards to the right
          2   1
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyramid_envs import validate
from pyramid_envs.card import pack

COLOURS = "POGBKY"
START_TILE = "POGBKY"  # six vines with one end each
START = 60  # its number; the others are 0..59
DIRECTIONS = ((1, 0), (0, 1), (-1, 1), (-1, 0), (0, -1), (1, -1))
NO_EDGE = 6  # where the vines of the start tile have their other end

# Which vine ends at each edge, for the four wirings: the ends are 1 1 1, 3 1 1, 1 2 2, 3 2 2 edges apart (of a, b, c in turn).
WIRINGS = ("aabbcc", "abbacc", "aabcbc", "babcac")

# The board is kept in a square of cells, row by row, with the start tile in the middle and a margin so that every cell has six
# neighbours. There are two sizes of square, because each is compiled for itself: for a radius up to 9, and up to 30.
WIDTHS = {9: 21, 30: 63}
HAND = 3  # tiles that a seat holds
DECK = 64  # places for the 60 tiles of the deck, in whole vectors


# -------------------------------------------------------------------------------------------------------------- tiles


@cache
def balanced() -> tuple[str, ...]:
    """The default set: 15 tiles of each wiring, each with three colours of its own; every colour on 30 tiles, no two tiles alike.

    Every one of the 20 triples of colours is left out by just one wiring, five by each. A colour is in 10 triples, so it is on
    4 * 10 - 10 = 30 tiles. Two tiles of one wiring differ in their colours, two of different wirings in their shape, so neither a
    turn nor a mirror makes one of the other.
    """
    found: list[str] = []
    for wiring, pattern in enumerate(WIRINGS):
        was_a = dict.fromkeys(COLOURS, 0)
        for number, triple in enumerate(reversed(list(combinations(COLOURS, 3)))):
            if (number + wiring) % 4:
                a = min(triple, key=was_a.__getitem__)  # the colours take turns at the vine a
                was_a[a] += 1
                b, c = (colour for colour in triple if colour != a)
                if len(found) % 2:  # and the others at left and right
                    b, c = c, b
                found.append(pattern.translate(str.maketrans("abc", a + b + c)))
    return tuple(found)


def turned(text: str, k: int) -> str:
    """A tile turned by k: its edge e comes to lie at edge e + k."""
    return text[-k % 6 :] + text[: -k % 6]


def tiles(tileset: str) -> tuple[str, ...]:
    """The texts of the 60 tiles: of the balanced set, or of a file.

    Raises:
        validate.Fault: if the file is none, or not a set of tiles.
    """
    if tileset == "balanced":
        return balanced()
    path = Path(tileset)
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        what = "must be 'balanced' or the path of a JSON file with a list of 60 tiles"
        raise validate.Fault(f"{what}; {tileset!r} cannot be read: {error}") from None
    return validate.named(f"{tileset!r}", _tile_list, found)


def _tile_list(found: Any) -> tuple[str, ...]:
    lies_as: dict[str, int] = {}
    for number, text in enumerate(validate.sequence(found)):
        name = f"entry {number}"
        validate.named(name, _tile, text)
        if text in lies_as:
            raise validate.Fault(f"{name}, {text!r}, is entry {lies_as[text]}, {found[lies_as[text]]!r}, turned")
        lies_as |= {turned(text, k): number for k in range(6)}
    validate.sequence(found, 60)
    return tuple(found)


def _tile(text: Any) -> None:
    if not isinstance(text, str) or sorted(Counter(text).values()) != [2, 2, 2] or not set(text) <= set(COLOURS):
        raise validate.Fault(f"must be six letters, three of {COLOURS} twice each, not {text!r}")


# ------------------------------------------------------------------------------------------------------------- tables


def width(board_radius: int) -> int:
    """The width of the square of cells that holds boards of this radius and a margin."""
    return next(width for largest, width in WIDTHS.items() if board_radius <= largest)


def distance(q: int, r: int) -> int:
    """How many steps a cell is from the centre."""
    return max(abs(q), abs(r), abs(q + r))


# 366 faces, W the width of the square. Action and observation number a cell of the axial square (r + R) (2R + 1) + q + R.
#
#   num_players  int
#   side         int               2R + 1
#   rotations    int               the action that turns a tile by 0; the tiles of the hand and the cells come before
#   owners       int               the action that names the active seat
#   claims       int               the action that claims the first colour
#   edges        uint8[366, 6]     the colour at each edge of a face
#   facing       uint8[366, 6]     the colour that it shows to a neighbour's edge e: the one at its edge e + 3
#   onward       uint8[366, 6]     the other end of the vine there, or NO_EDGE
#   ends         uint8[366, 6, 2]  the edges where its vine of a colour ends, or NO_EDGE
#   pair         uint8[6, 6]       a number of two edges, 0..14
#   vines        uint8[366, 3]     15 * colour + the pair of its ends, of each vine of a face; the start tile: 0
#   face         uint16[60, 6]     the face of a tile turned by k; equal faces have one number
#   colours      uint8[60, 3]      the colours of a tile's vines, in order
#   step         int64[7]          how far the neighbour over an edge is in the square of cells; NO_EDGE: 0
#   inside       uint8[W * W]      1 for the cells within the radius
#   number       uint16[W * W]     the number of a cell; 0 beyond the axial square
#   y, x         uint8[W * W]      its row and column
#   cell         uint16[W * W]     the cell of a number


def build(options: Mapping[str, Any]) -> NDArray[Any]:
    """The tables for these options."""
    return _build(options["num_players"], options["board_radius"], tiles(options["tileset"]))


@cache
def _build(num_players: int, board_radius: int, texts: tuple[str, ...]) -> NDArray[Any]:
    lying = [[turned(text, k) for k in range(6)] for text in (*texts, START_TILE)]
    edges = np.array([[COLOURS.index(colour) for colour in text] for turns in lying for text in turns], np.uint8)
    ends = np.full((len(edges), 6, 2), NO_EDGE, np.uint8)
    other = np.full(edges.shape, NO_EDGE, np.uint8)
    for face, colours in enumerate(edges):
        for colour in set(colours):
            found = np.flatnonzero(colours == colour)
            ends[face, colour, : len(found)] = found
            if len(found) == 2:
                other[face, found] = found[::-1]
    pair = np.zeros((6, 6), np.uint8)
    for k, (e, f) in enumerate(combinations(range(6), 2)):
        pair[e, f] = pair[f, e] = k
    vines = np.zeros((len(edges), 3), np.uint8)
    vines[: 6 * START] = [
        [15 * c + pair[tuple(found[c])] for c in range(6) if found[c, 0] != NO_EDGE] for found in ends[: 6 * START].astype(int)
    ]
    square, side = width(board_radius), 2 * board_radius + 1
    r, q = (axis.ravel() - square // 2 for axis in np.indices((square, square)))
    within = np.maximum(abs(q), abs(r)) <= board_radius
    y, x = np.where(within, r + board_radius, 0), np.where(within, q + board_radius, 0)
    number = y * side + x
    cell = np.zeros(square * square, np.uint16)
    cell[number[within]] = np.flatnonzero(within)
    return pack(
        num_players=num_players,
        side=side,
        rotations=HAND + side**2,
        owners=HAND + side**2 + 6,
        claims=HAND + side**2 + 6 + 4,
        edges=edges,
        facing=np.roll(edges, -3, axis=1),
        onward=np.roll(other, -3, axis=1),
        ends=ends,
        pair=pair,
        vines=vines,
        face=np.array([[6 * t + turns.index(text) for text in turns] for t, turns in enumerate(lying[:START])], np.uint16),
        colours=np.array([[colour for colour in range(6) if COLOURS[colour] in text] for text in texts], np.uint8),
        step=np.array([*(dr * square + dq for dq, dr in DIRECTIONS), 0]),
        inside=within & (abs(q + r) <= board_radius),
        number=number.astype(np.uint16),
        y=y.astype(np.uint8),
        x=x.astype(np.uint8),
        cell=cell,
    )
