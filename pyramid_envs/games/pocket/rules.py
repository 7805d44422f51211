"""The rules of Pyramids in my pocket. Seat 0 is the Disciple, seat 1 the Master.

State (one row); sets, kinds, forms and codes as in ``tables.py``, distances in thousandths of an inch
    bag         int32      the set of pieces in the bag
    free        int32      the set of pieces neither dropped nor in hand: in the bag or in the pocket
    must        int32      the set of pieces that the refusals show to be in the pocket
    lows        int16[17]  the lowest point of each dropped piece
    rest        int16[6]   where that of one more piece would come to rest, for each form
    drops       uint8[17]  kind, orientation and request of each drop, in order: a drop code; 0 beyond
    refused     uint8[6]   which refusal this request met, 1, 2, ...; 0: none
    refused_at  uint8[6]   how many pieces were in the tube then; 0 where there was none
    count       uint8      how many pieces are in the tube
    pocket      uint8      the pocket's number, or NOTHING
    asked       uint8      the request that is being answered, or NO_REQUEST
    in_hand     uint8      the kind about to be dropped, or NOTHING
    announced   uint8      the pocket that was announced, or NOTHING
    phase       uint8      HIDE, ASK, GIVE, DROP, OVER, or DRAW: the pocket is about to be drawn by chance
    seat        uint8      whose turn it is; at the end: who acted last
    winner      uint8      the seat that has won, or NOTHING

Actions, with C colours and H possible pockets
    0 ..        hide a pocket       H
    tables.ask  ask for a size or colour   3 + C
    .give       give a kind         3 C
    .drop       drop up, drop down  2
    .announce   announce a pocket   H

Chance: at DRAW the pocket, as the Master's action would be numbered.
"""

from __future__ import annotations

from itertools import accumulate

import numpy as np

from pyramid_envs.card import Field
from pyramid_envs.games.pocket.tables import (
    DROP_FEATURES,
    MAX_DROPS,
    NO_REQUEST,
    NUM_FORMS,
    NUM_KINDS,
    NUM_REQUESTS,
)
from pyramid_envs.jit import clear_row, copy_row, kernel
from pyramid_envs.kernels import CHANCE, TERMINAL
from pyramid_envs.payoffs import share
from pyramid_envs.rng import below, fold

DISCIPLE, MASTER = 0, 1
HIDE, ASK, GIVE, DROP, OVER, DRAW = range(6)
NOTHING = 255

ROW = np.dtype(
    (
        np.record,
        [
            ("bag", np.int32),
            ("free", np.int32),
            ("must", np.int32),
            ("lows", np.int16, MAX_DROPS),
            ("rest", np.int16, NUM_FORMS),
            ("drops", np.uint8, MAX_DROPS),
            ("refused", np.uint8, NUM_REQUESTS),
            ("refused_at", np.uint8, NUM_REQUESTS),
            ("count", np.uint8),
            ("pocket", np.uint8),
            ("asked", np.uint8),
            ("in_hand", np.uint8),
            ("announced", np.uint8),
            ("phase", np.uint8),
            ("seat", np.uint8),
            ("winner", np.uint8),
        ],
    )
)

COPY = (1 << NUM_KINDS) - 1  # the set of the first copies of all kinds


@kernel
def reset(tables, s):
    s.bag = tables.full
    s.free = tables.full
    s.pocket = NOTHING
    s.asked = NO_REQUEST
    s.in_hand = NOTHING
    s.announced = NOTHING
    s.phase = DRAW if tables.random_pocket else HIDE
    s.seat = MASTER
    s.winner = NOTHING


@kernel
def to_move(s):
    if s.phase == OVER:
        return TERMINAL
    if s.phase == DRAW:
        return CHANCE
    return int(s.seat)


@kernel
def without(pieces, fewer):
    """The set that remains when the pieces of a set within it are taken away, kind by kind."""
    second, fewer_second = pieces >> NUM_KINDS, fewer >> NUM_KINDS
    return ((pieces & ~fewer | second & ~fewer_second) & COPY) | (second & ~fewer) << NUM_KINDS


@kernel
def take(pieces, kind):
    """The set with a copy less of a kind that is in it."""
    return without(pieces, 1 << kind)


@kernel
def legal(tables, s, masks, i):
    gone = ~int(s.free) if s.phase == ASK else -1
    for a in range(masks.shape[1]):
        masks[i, a] = tables.named[a] & gone == 0
    if s.phase == ASK:
        if s.bag != 0:
            for r in range(3 + tables.num_colors):
                masks[i, tables.ask + r] = s.refused[r] == 0
    elif s.phase == GIVE:
        allowed = int(s.bag) & int(tables.matching[s.asked])
        for kind in range(3 * tables.num_colors):
            masks[i, tables.give + kind] = allowed >> kind & 1
    elif s.phase == DROP:
        masks[i, tables.drop] = 1
        masks[i, tables.drop + 1] = 1
    elif s.phase == HIDE:
        for h in range(tables.num_pockets):
            masks[i, h] = 1


@kernel
def chance(tables, s, probs):
    ways = 0
    for h in range(tables.num_pockets):
        ways += int(tables.weights[h])
    for h in range(tables.num_pockets):
        probs[h] = int(tables.weights[h]) / ways


@kernel
def sample_chance(tables, s, u):
    ways = 0
    for h in range(tables.num_pockets):
        ways += int(tables.weights[h])
    return int(tables.draws[int(u * ways)])


@kernel
def apply(tables, s, action):
    if s.phase == ASK:
        if action >= tables.announce:
            s.announced = action - tables.announce
            end(s, DISCIPLE if s.announced == s.pocket else MASTER)
        else:
            ask(tables, s, action - tables.ask)
    elif s.phase == GIVE:
        kind = action - tables.give
        s.bag = take(int(s.bag), kind)
        s.free = take(int(s.free), kind)
        s.in_hand = kind
        s.phase = DROP
        s.seat = MASTER if s.asked == NO_REQUEST and tables.master_orients else DISCIPLE
    elif s.phase == DROP:
        drop(tables, s, action - tables.drop)
    else:
        s.pocket = action
        s.bag = without(tables.full, int(tables.pockets[action]))
        s.phase = ASK
        s.seat = DISCIPLE


@kernel
def ask(tables, s, request):
    """A request: the Master must answer it if the bag has a match."""
    if int(s.bag) & int(tables.matching[request]):
        s.asked = request
        s.phase = GIVE
        s.seat = MASTER
        return
    latest = 0
    for r in range(NUM_REQUESTS):
        latest = max(latest, int(s.refused[r]))
    s.refused[request] = latest + 1
    s.refused_at[request] = s.count
    s.must = int(s.must) | int(s.free) & int(tables.matching[request])


@kernel
def drop(tables, s, orientation):
    """The piece in hand sinks until it touches; what stands above the rim ends the game."""
    kind, request, count = int(s.in_hand), int(s.asked), int(s.count)
    form = int(tables.form[kind, orientation])
    low = int(s.rest[form])
    for new in range(NUM_FORMS):
        s.rest[new] = max(int(s.rest[new]), low + int(tables.offset[form, new]))
    s.lows[count] = low
    s.drops[count] = 1 + (2 * kind + orientation) * (NUM_REQUESTS + 1) + request
    s.count = count + 1
    s.in_hand = NOTHING
    s.asked = NO_REQUEST
    if low + int(tables.height[form]) > tables.rim:
        end(s, MASTER)
    elif request != NO_REQUEST and s.bag != 0:
        s.phase = GIVE
        s.seat = MASTER
    else:
        s.phase = ASK
        s.seat = DISCIPLE


@kernel
def end(s, winner):
    s.winner = winner
    s.phase = OVER


@kernel
def returns(tables, s, out, i):
    share(0 if s.winner == NOTHING else 1 << int(s.winner), 2, out, i)


# ------------------------------------------------------------------------------------------------------- observation

SET = 2 * NUM_KINDS
DROP_SIZE = DROP_FEATURES + 1
_SET = "first copies of RS RM RL GS GM GL BS BM BL, then second copies, 1 each"
_FORMS = "for S up, S down, M up, M down, L up, L down"
FIELDS = {
    "role": Field(2, "this seat is the Disciple, the Master; one-hot"),
    "phase": Field(5, "hide, ask, give, drop, over; one-hot"),
    "turn": Field(2, "this seat acts, the other acts; at the end: who acted last"),
    "won": Field(2, "this seat has won, the other has"),
    "in_hand": Field(NUM_KINDS, "the piece about to be dropped, RS RM RL GS GM GL BS BM BL, one-hot"),
    "asked": Field(NUM_REQUESTS, "the request being answered, small medium large red green blue, one-hot"),
    "free": Field(SET, f"pieces neither dropped nor in hand: {_SET}; at ask a pocket within them may be announced"),
    "must": Field(SET, "pieces that the refusals show to be in the pocket; likewise"),
    "announced": Field(SET, "the pocket that was announced; likewise"),
    "pocket": Field(SET, "the pocket, for the Master alone; likewise"),
    "bag": Field(SET, "the bag, for the Master alone; likewise"),
    "refused": Field(NUM_REQUESTS, "1 for each request that was refused"),
    "refusal": Field(NUM_REQUESTS, "which refusal it was, 1 for the first"),
    "refused_at": Field(NUM_REQUESTS, "how many pieces were in the tube then"),
    "belief": Field(2, "16 log2(number of possible pockets); 127 times the chance of the likeliest"),
    "chances": Field(SET, "127 times the chance that the pocket holds a first copy of each kind, then a second"),
    "rest": Field(NUM_FORMS, f"where one more piece would rest, in 0.05 inch, at most 127; {_FORMS}"),
    "room": Field(NUM_FORMS, "what would be left up to the rim then, in 0.01 inch, -127 to 127; likewise"),
    "fits": Field(NUM_FORMS, "1 where that is not negative; likewise"),
    "count": Field(1, "pieces in the tube"),
    "drops": Field(
        MAX_DROPS * DROP_SIZE,
        "for each piece in the tube, in order: size (3), colour (3), up, down (2), the request that it answered or the Master's "
        "own gift (7), all one-hot, and where its lowest point lies, in 0.05 inch, at most 127 (1)",
    ),
}
_STARTS = dict(zip(FIELDS, accumulate((field.size for field in FIELDS.values()), initial=0), strict=False))
AT_ROLE, AT_PHASE, AT_TURN, AT_WON, AT_IN_HAND = (_STARTS[name] for name in ("role", "phase", "turn", "won", "in_hand"))
AT_ASKED, AT_FREE, AT_MUST, AT_ANNOUNCED = (_STARTS[name] for name in ("asked", "free", "must", "announced"))
AT_POCKET, AT_BAG, AT_REFUSED, AT_REFUSAL = (_STARTS[name] for name in ("pocket", "bag", "refused", "refusal"))
AT_REFUSED_AT, AT_BELIEF, AT_CHANCES, AT_REST = (_STARTS[name] for name in ("refused_at", "belief", "chances", "rest"))
AT_ROOM, AT_FITS, AT_COUNT, AT_DROPS = (_STARTS[name] for name in ("room", "fits", "count", "drops"))


@kernel
def observe(tables, s, seat, obs, i):
    clear_row(obs, i)
    free, must = int(s.free), int(s.must)
    pocket = 0 if seat == DISCIPLE or s.pocket == NOTHING else int(tables.pockets[s.pocket])
    bag = 0 if seat == DISCIPLE else int(s.bag)
    announced = 0 if s.announced == NOTHING else int(tables.pockets[s.announced])
    obs[i, AT_ROLE + seat] = 1
    obs[i, AT_PHASE + (HIDE if s.phase == DRAW else int(s.phase))] = 1
    obs[i, AT_TURN + (0 if s.seat == seat else 1)] = 1
    if s.winner != NOTHING:
        obs[i, AT_WON + (0 if s.winner == seat else 1)] = 1
    if s.in_hand != NOTHING:
        obs[i, AT_IN_HAND + int(s.in_hand)] = 1
    if s.asked != NO_REQUEST:
        obs[i, AT_ASKED + int(s.asked)] = 1
    for j in range(SET):
        obs[i, AT_FREE + j] = free >> j & 1
        obs[i, AT_MUST + j] = must >> j & 1
        obs[i, AT_ANNOUNCED + j] = announced >> j & 1
        obs[i, AT_POCKET + j] = pocket >> j & 1
        obs[i, AT_BAG + j] = bag >> j & 1
    for r in range(NUM_REQUESTS):
        obs[i, AT_REFUSED + r] = s.refused[r] != 0
        obs[i, AT_REFUSAL + r] = s.refused[r]
        obs[i, AT_REFUSED_AT + r] = s.refused_at[r]
    one, two, unknown = open_kinds(tables, free, must)
    obs[i, AT_BELIEF] = tables.belief[one, two, unknown, 0]
    obs[i, AT_BELIEF + 1] = tables.belief[one, two, unknown, 1]
    single = int(tables.belief[one, two, unknown, 2])
    first = int(tables.belief[one, two, unknown, 3])
    second = int(tables.belief[one, two, unknown, 4])
    open_first, open_second = free & ~must & COPY, (free & ~must) >> NUM_KINDS
    for k in range(NUM_KINDS):
        has_one, has_two = open_first >> k & 1, open_second >> k & 1
        obs[i, AT_CHANCES + k] = 127 * (must >> k & 1) + (has_one - has_two) * single + has_two * first
        obs[i, AT_CHANCES + NUM_KINDS + k] = 127 * (must >> (NUM_KINDS + k) & 1) + has_two * second
    for f in range(NUM_FORMS):
        room = tables.rim - int(s.rest[f]) - int(tables.height[f])
        obs[i, AT_REST + f] = min(int(s.rest[f]) // 50, 127)
        obs[i, AT_ROOM + f] = max(-127, min(room // 10, 127))
        obs[i, AT_FITS + f] = room >= 0
    obs[i, AT_COUNT] = s.count
    for d in range(int(s.count)):
        at = AT_DROPS + DROP_SIZE * d
        copy_row(obs, i, at, tables.drop_features[s.drops[d]], DROP_FEATURES)
        obs[i, at + DROP_FEATURES] = min(int(s.lows[d]) // 50, 127)


# -------------------------------------------------------------------------------------------- what the Disciple may think


@kernel
def open_kinds(tables, free, must):
    """(kinds with one open copy, kinds with two, hidden pieces still unknown): the index of tables of belief."""
    opened = free & ~must
    two = int(tables.ones[opened >> NUM_KINDS])
    one = int(tables.ones[opened & COPY]) - two
    return one, two, tables.hidden - int(tables.ones[must & COPY]) - int(tables.ones[must >> NUM_KINDS])


@kernel
def possible(tables, s, pocket):
    """Whether all that the Disciple has seen could have happened with this pocket."""
    pieces, free, must = int(tables.pockets[pocket]), int(s.free), int(s.must)
    if pieces & ~free or must & ~pieces:
        return False
    if s.phase == GIVE and s.asked != NO_REQUEST:  # the bag has a match
        match = free & int(tables.matching[s.asked])
        if match & ~pieces == 0:
            return False
    return s.announced == NOTHING or (s.announced == pocket) == (s.winner == DISCIPLE)


@kernel
def redeal(tables, s, seat, key):
    if seat == MASTER or s.pocket == NOTHING:
        return
    ways = 0
    for h in range(tables.num_pockets):
        if possible(tables, s, h):
            ways += int(tables.weights[h])
    pick = below(fold(key, 0), ways)
    for h in range(tables.num_pockets):
        if possible(tables, s, h):
            pick -= int(tables.weights[h])
            if pick < 0:
                s.pocket = h
                s.bag = without(int(s.free), int(tables.pockets[h]))
                return


# -------------------------------------------------------------------------------------------------- the greedy agent
# Both seats measure a drop by its *peak*: how high the next piece might reach if that is dropped well.

OVERFLOW = 1e6
CERTAIN, SAFE, RISKY, USELESS = 2.0, 1.0, -1.0, -2.0  # requests and announcements in this order; see `score_requests`


@kernel
def greedy(tables, s, lab, scores, i):
    for a in range(scores.shape[1]):
        scores[i, a] = 0.0
    if s.phase == ASK:
        score_requests(tables, s, scores, i)
        score_announcements(tables, s, scores, i)
    elif s.phase == GIVE:
        score_gifts(tables, s, scores, i)
    elif s.phase == DROP:
        for orientation in range(2):
            height = peak(tables, s, int(tables.form[s.in_hand, orientation]))
            scores[i, tables.drop + orientation] = height if s.seat == MASTER else -height


@kernel
def peak(tables, s, form):
    """After a drop of this form: the highest top that a piece of any size might have, in its better orientation."""
    low = int(s.rest[form])
    if low + int(tables.height[form]) > tables.rim:
        return OVERFLOW
    highest = 0
    for up in range(0, NUM_FORMS, 2):
        rest_up = max(int(s.rest[up]), low + int(tables.offset[form, up]))
        rest_down = max(int(s.rest[up + 1]), low + int(tables.offset[form, up + 1]))
        highest = max(highest, min(rest_up, rest_down) + int(tables.height[up]))
    return float(highest)


@kernel
def score_gifts(tables, s, scores, i):
    """What overflows first; then what leaves the most pockets possible; then the highest peak."""
    by_master = s.asked == NO_REQUEST and tables.master_orients
    for kind in range(3 * tables.num_colors):
        up, down = peak(tables, s, int(tables.form[kind, 0])), peak(tables, s, int(tables.form[kind, 1]))
        height = max(up, down) if by_master else min(up, down)
        left = pockets_left(tables, take(int(s.free), kind), int(s.must))
        scores[i, tables.give + kind] = height if height == OVERFLOW else left + 1e-5 * height


@kernel
def pockets_left(tables, free, must):
    one, two, unknown = open_kinds(tables, free, must)
    return int(tables.left[one, two, unknown])


@kernel
def score_requests(tables, s, scores, i):
    """The fewer pockets are to be expected after the answer and the gift, the better: SAFE to SAFE + 1.

    If some piece that might be given would overflow: RISKY to RISKY + 1, which is below every announcement that may be right. If
    a refusal is certain: USELESS.
    """
    free, must = int(s.free), int(s.must)
    opened = free & ~must
    one, two, unknown = open_kinds(tables, free, must)
    all_ways = int(tables.ways[one, two, unknown])
    # Of a kind with one or two open copies: how many of them are in the bag, on average.
    single = 1.0 - tables.belief[one, two, unknown, 2] / 127
    double = 2.0 - (int(tables.belief[one, two, unknown, 3]) + int(tables.belief[one, two, unknown, 4])) / 127
    for r in range(3 + tables.num_colors):
        match = opened & int(tables.matching[r])
        refusal, expected = 0.0, 0.0
        if int(tables.ones[match & COPY]) + int(tables.ones[match >> NUM_KINDS]) <= unknown:
            # It is refused if all that match are in the pocket. A kind of one open copy can be drawn in `copies` ways.
            ones, twos, rest = open_kinds(tables, free, must | match)
            refusal = tables.copies ** (one - ones) * int(tables.ways[ones, twos, rest]) / all_ways
            expected = refusal * int(tables.left[ones, twos, rest])
        pieces, left, fits = 0.0, 0.0, True
        for kind in range(NUM_KINDS):
            if match >> kind & 1:
                in_bag = double if match >> (NUM_KINDS + kind) & 1 else single
                pieces += in_bag
                left += in_bag * pockets_left(tables, take(free, kind), must)
                up, down = int(tables.form[kind, 0]), int(tables.form[kind, 1])
                fits = fits and min(int(s.rest[up]), int(s.rest[down])) + int(tables.height[up]) <= tables.rim
        if pieces > 0.0:
            expected += (1.0 - refusal) * left / pieces
        scores[i, tables.ask + r] = USELESS if refusal == 1.0 else (SAFE if fits else RISKY) + 1.0 / (1.0 + expected)


@kernel
def score_announcements(tables, s, scores, i):
    """The chance to be right, 0 to 1, or CERTAIN."""
    ways = 0
    for h in range(tables.num_pockets):
        if possible(tables, s, h):
            ways += int(tables.weights[h])
    for h in range(tables.num_pockets):
        right = int(tables.weights[h]) / ways if possible(tables, s, h) else 0.0
        scores[i, tables.announce + h] = CERTAIN if right == 1.0 else right
