"""The rules of Treehouse.

State (one row)
    trios    uint8[4]  the arrangement of each seat's trio, 0..203; unused seats: 0
    house    uint8     the arrangement of the House
    roll     uint8     the face of the die, AIM TIP HOP SWAP DIG WILD = 0..5; NO_ROLL = 6: about to be rolled, or over
    seat     uint8     whose turn it is; at the end: who moved last
    winners  uint8     bit p: seat p has won; 0 while the game goes on

Actions, 48 on the own trio and the same 48 on the House
     0.. 8   AIM   3 * piece + direction     piece S M L, direction left up right
     9..14   TIP   2 * piece + side          the column's bottom piece; side left right
    15..29   HOP   5 * piece + slot          slots gap 0, column 0, gap 1, column 1, gap 2
    30..32   SWAP  S-M, S-L, M-L
    33..47   DIG   5 * piece + slot
    48..95   on the House
    96       pass

Chance: the six faces, uniform over those that allow something (a reroll is the same event again).
"""

from __future__ import annotations

import numpy as np

from pyramid_envs.games.treehouse.tables import NO_ROLL, PER_TRIO, TRIO_FEATURES, WILD, arrangements, numbers
from pyramid_envs.jit import copy_row, kernel
from pyramid_envs.kernels import CHANCE, TERMINAL
from pyramid_envs.payoffs import share

ROW = np.dtype(
    (
        np.record,
        [("trios", np.uint8, 4), ("house", np.uint8), ("roll", np.uint8), ("seat", np.uint8), ("winners", np.uint8)],
    )
)
PASS = 2 * PER_TRIO
NUM_ACTIONS = PASS + 1
TREE = numbers()["LMS"]
START_HOUSE = numbers()["L< S M>"]
assert len(arrangements()) == 204


@kernel
def reset(tables, s):
    for p in range(tables.num_players):
        s.trios[p] = TREE
    s.house = START_HOUSE
    s.roll = NO_ROLL


@kernel
def to_move(s):
    if s.winners != 0:
        return TERMINAL
    if s.roll == NO_ROLL:
        return CHANCE
    return int(s.seat)


@kernel
def acts_on_house(tables, s):
    """Whether the roll lets the seat act on the House: always when WILD, else only if it can do nothing with its own trio."""
    return s.roll == WILD or not tables.possible[s.roll, s.trios[s.seat]]


@kernel
def legal(tables, s, masks, i):
    roll = NO_ROLL if s.winners != 0 else int(s.roll)
    on_house = NO_ROLL
    if roll != NO_ROLL and acts_on_house(tables, s):
        on_house = roll
    own, house = int(s.trios[s.seat]), int(s.house)
    copy_row(masks, i, 0, tables.legal[roll, own], PER_TRIO)
    copy_row(masks, i, PER_TRIO, tables.legal[on_house, house], PER_TRIO)
    masks[i, PASS] = on_house != NO_ROLL and roll != WILD


@kernel
def faces(tables, s):
    """The faces of the die that allow the seat to move something, as bits."""
    return tables.faces[s.trios[s.seat]] | tables.faces[s.house]


@kernel
def chance(tables, s, probs):
    allowed = faces(tables, s)
    for face in range(6):
        probs[face] = (allowed >> face & 1) / tables.face_count[allowed]


@kernel
def sample_chance(tables, s, u):
    allowed = faces(tables, s)
    return int(tables.nth_face[allowed, int(u * tables.face_count[allowed])])


@kernel
def apply(tables, s, action):
    if s.roll == NO_ROLL:
        s.roll = action
        return
    seat = int(s.seat)
    if action < PER_TRIO:
        s.trios[seat] = tables.successor[s.trios[seat], action]
    elif action < PASS:
        s.house = tables.successor[s.house, action - PER_TRIO]
    s.roll = NO_ROLL
    s.winners = matching(tables, s, seat)
    if s.winners == 0:
        s.seat = seat + 1 if seat + 1 < tables.num_players else 0


@kernel
def matching(tables, s, mover):
    """The winners, bit by bit: the mover alone if it matches the House, else all who do."""
    if s.trios[mover] == s.house:
        return 1 << mover
    winners = 0
    for p in range(tables.num_players):
        if s.trios[p] == s.house:
            winners |= 1 << p
    return winners


@kernel
def returns(tables, s, out, i):
    share(int(s.winners), tables.num_players, out, i)


@kernel
def observe(tables, s, seat, obs, i):
    n = tables.num_players
    for k in range(n + 1):
        p = seat + k if seat + k < n else seat + k - n
        trio = int(s.trios[p]) if k < n else int(s.house)
        copy_row(obs, i, k * TRIO_FEATURES, tables.features[trio], TRIO_FEATURES)
    roll = NO_ROLL if s.winners != 0 else int(s.roll)
    turn = int(s.seat) - seat if s.seat >= seat else int(s.seat) - seat + n
    copy_row(obs, i, (n + 1) * TRIO_FEATURES, tables.turn_features[roll, turn], 6 + n)


@kernel
def evaluate(tables, s, out, i):
    """Nearer to the House, likelier to win: a free action farther counts a third."""
    for p in range(tables.num_players):
        out[i, p] = 3.0 ** -float(tables.distance[s.trios[p], s.house])


@kernel
def greedy(tables, s, lab, scores, i):
    """Nearest to the House after the move, counted in free actions; a win first, and never a win for others if it can be
    helped.
    """
    seat = int(s.seat)
    for a in range(NUM_ACTIONS):
        scores[i, a] = 0.0
        lab[0] = s
        apply(tables, lab[0], a)
        if lab[0].winners == 0:
            scores[i, a] = -float(tables.distance[lab[0].trios[seat], lab[0].house])
        elif lab[0].trios[seat] == lab[0].house:
            scores[i, a] = 1.0
        else:
            scores[i, a] = -1000.0
