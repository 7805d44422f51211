"""The rules of connect four.

State (one row)
    stones   int64[2]  the stones of each seat, one bit a cell
    plies    uint8     how many there are
    winners  uint8     bit p: seat p has won; 0 while the game goes on and after a draw

The bits, rows from the bottom; the eighth of every row is never set, so that no line runs over the edge:

    40 41 42 43 44 45 46 (47)
    ..
     8  9 10 11 12 13 14 (15)
     0  1  2  3  4  5  6  (7)

Actions
    0..6     drop a stone into this column
"""

import numpy as np

from pyramid_envs.jit import kernel
from pyramid_envs.kernels import TERMINAL
from pyramid_envs.payoffs import share

WIDTH, HEIGHT = 7, 6
STEPS = np.array([1, 8, 7, 9])  # from a bit to the next one of a row, a column, and the two diagonals
ROW = np.dtype((np.record, [("stones", np.int64, 2), ("plies", np.uint8), ("winners", np.uint8)]))


@kernel
def reset(tables, s):
    pass  # a row of zeros is the start


@kernel
def to_move(s):
    return TERMINAL if s.winners != 0 or s.plies == WIDTH * HEIGHT else int(s.plies) % 2


@kernel
def legal(tables, s, masks, i):
    top = (int(s.stones[0]) | int(s.stones[1])) >> 8 * (HEIGHT - 1)
    going_on = int(s.winners == 0)
    for column in range(WIDTH):
        masks[i, column] = going_on & ~(top >> column)


@kernel
def apply(tables, s, action):
    seat = int(s.plies) % 2
    both = int(s.stones[0]) | int(s.stones[1])
    cell = action
    for row in range(HEIGHT - 1):
        cell += 8 * (both >> 8 * row + action & 1)
    own = int(s.stones[seat]) | 1 << cell
    s.stones[seat] = own
    s.plies += 1
    s.winners = int(has_line(tables, own)) << seat


@kernel
def has_line(tables, own):
    lines = 0
    for k in range(4):
        pairs = own & own >> tables.steps[k]
        lines |= pairs & pairs >> 2 * tables.steps[k]
    return lines != 0


@kernel
def returns(tables, s, out, i):
    share(int(s.winners), 2, out, i)


@kernel
def observe(tables, s, seat, obs, i):
    own, other = int(s.stones[seat % 2]), int(s.stones[(seat + 1) % 2])
    for row in range(HEIGHT):
        for column in range(WIDTH):
            obs[i, 0, HEIGHT - 1 - row, column] = own >> 8 * row + column & 1
            obs[i, 1, HEIGHT - 1 - row, column] = other >> 8 * row + column & 1
