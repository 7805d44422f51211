"""The rules of tic-tac-toe.

State (one row)
    board    uint8[9]  0 an empty cell, 1 + seat a marked one
    marks    uint8     how many cells are marked
    winners  uint8     bit p: seat p has won; 0 while the game goes on and after a draw

Actions
    0..8     mark this cell
"""

import numpy as np

from pyramid_envs.jit import kernel
from pyramid_envs.kernels import TERMINAL
from pyramid_envs.payoffs import share

ROW = np.dtype((np.record, [("board", np.uint8, 9), ("marks", np.uint8), ("winners", np.uint8)]))


@kernel
def reset(tables, s):
    pass  # a row of zeros is the start


@kernel
def to_move(s):
    return TERMINAL if s.winners != 0 or s.marks == 9 else int(s.marks) % 2


@kernel
def legal(tables, s, masks, i):
    going_on = s.winners == 0
    for cell in range(9):
        masks[i, cell] = going_on & (s.board[cell] == 0)


@kernel
def apply(tables, s, action):
    seat = int(s.marks) % 2
    s.board[action] = 1 + seat
    s.marks += 1
    if has_line(tables, s, 1 + seat):
        s.winners = 1 << seat


@kernel
def has_line(tables, s, mark):
    found = False
    for k in range(8):
        a, b, c = tables.lines[k]
        found |= (s.board[a] == mark) & (s.board[b] == mark) & (s.board[c] == mark)
    return found


@kernel
def returns(tables, s, out, i):
    share(int(s.winners), 2, out, i)


@kernel
def observe(tables, s, seat, obs, i):
    for cell in range(9):
        mark = int(s.board[cell])
        obs[i, cell] = mark == 1 + seat
        obs[i, 9 + cell] = mark == 2 - seat
        obs[i, 18 + cell] = mark == 0


@kernel
def greedy(tables, s, lab, scores, i):
    """A win first, then a cell in which the other seat would win."""
    for cell in range(9):
        lab[0] = lab[1] = s
        lab[1].marks += 1  # as if it were the other's turn
        apply(tables, lab[0], cell)
        apply(tables, lab[1], cell)
        scores[i, cell] = 2.0 * (lab[0].winners != 0) + (lab[1].winners != 0)
