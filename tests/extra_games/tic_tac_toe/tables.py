"""What tic-tac-toe looks up: the eight lines of a board whose cells are numbered 0 1 2 / 3 4 5 / 6 7 8."""

import numpy as np

from pyramid_envs.card import pack

LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))


def build(options):
    """The tables for these options: lines, uint8[8, 3]."""
    return pack(lines=np.array(LINES, np.uint8))
