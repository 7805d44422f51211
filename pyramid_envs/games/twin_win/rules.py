"""The rules of Twin Win.

Pieces: 5 * size + colour, sizes S M L = 0..2, colours red blue green yellow black = 0..4.
Cards: 2 * colour + shape, tree nest = 0, 1. Spaces: 0..7 along the ring from NW, clockwise; 8 the centre.

State (one row)
    cell          uint8[15]  of each piece 16 * space + height, the height counted from 0 at the bottom; 0 before the setup
    tall          uint8[9]   how many pieces stand on each space
    hands         uint16[3]  the cards of each seat, bit by bit; unused seats: 0
    given_up      uint16[3]  the cards that it has traded away and not drawn again, bit by bit
    put_aside     uint8      the card given up in a trade whose draw is still to come; NO_CARD = 10: none
    phase         uint8      SETUP, DEAL, ACT, DRAW, OVER = 0..4
    actions_left  uint8      of the turn, the one to be decided or completed included; at the end those that were left
    seat          uint8      whose turn it is; at DEAL the seat that is served, at the end the seat that acted last
The other cards lie unused.

Actions
     0.. 7   move along the ring, NW>N, N>NE, .. W>NW
     8..11   move N>C, E>C, S>C, W>C
    12..15   move C>N, C>E, C>S, C>W
    16, 17   trade the first, the second card of the hand
    18       pass

Chance: at SETUP one of 66,240 setups, at DEAL and DRAW a card.
"""

from __future__ import annotations

import numpy as np

from pyramid_envs.games.twin_win.tables import (
    COLOURS,
    HAND_FEATURES,
    JOINTS,
    LEVELS,
    MAX_SEATS,
    NUM_CARDS,
    NUM_PIECES,
    NUM_SPACES,
    PLANE,
    STAGES,
    WAYS,
    setups,
)
from pyramid_envs.jit import clear_row, copy_row, kernel
from pyramid_envs.kernels import CHANCE, TERMINAL
from pyramid_envs.payoffs import share
from pyramid_envs.rng import below, fold

ROW = np.dtype(
    (
        np.record,
        [
            ("cell", np.uint8, NUM_PIECES),
            ("tall", np.uint8, NUM_SPACES),
            ("hands", np.uint16, MAX_SEATS),
            ("given_up", np.uint16, MAX_SEATS),
            ("put_aside", np.uint8),
            ("phase", np.uint8),
            ("actions_left", np.uint8),
            ("seat", np.uint8),
        ],
    )
)
SETUP, DEAL, ACT, DRAW, OVER = range(5)
NO_CARD = NUM_CARDS
ALL_CARDS = (1 << NUM_CARDS) - 1
NUM_WAYS = len(WAYS)
TRADE = NUM_WAYS
PASS = TRADE + 2
NUM_ACTIONS = PASS + 1
NUM_SETUPS = len(setups())
assert NUM_SETUPS == 66240

# The greedy agent's scores; a card whose goal is n actions away is worth DISCOUNT**n.
WIN, GIFT, DISCOUNT = 2.0, -2.0, 0.65
# The advice's: a card's discount, the weight of the danger that another seat's next turn wins, how much rather one trades first
# than last (a hair: less than a grade), and what makes a grade.
PATIENCE, CAUTION, CURIOSITY, GRADE = 0.75, 1.5, 0.001, 0.016

# Where the parts of an observation begin (see the manual page).
ABOVE = LEVELS * PLANE
JOINED = ABOVE + NUM_PIECES
CARDS = JOINED + JOINTS * len(COLOURS)
GIVEN_UP = CARDS + HAND_FEATURES
ACTIONS_LEFT = GIVEN_UP + NUM_CARDS
STAGE = ACTIONS_LEFT + 2
TURN = STAGE + len(STAGES)


@kernel
def reset(tables, s):
    s.put_aside = NO_CARD
    s.actions_left = 2


@kernel
def to_move(s):
    if s.phase == ACT:
        return int(s.seat)
    return TERMINAL if s.phase == OVER else CHANCE


@kernel
def legal(tables, s, masks, i):
    acts = s.phase == ACT
    for a in range(NUM_WAYS):
        masks[i, a] = acts and s.tall[tables.way_from[a]] != 0
    masks[i, TRADE] = acts
    masks[i, TRADE + 1] = acts
    masks[i, PASS] = acts and tables.allow_pass != 0


@kernel
def held(s):
    """The cards in all hands, bit by bit."""
    return int(s.hands[0]) | int(s.hands[1]) | int(s.hands[2])


@kernel
def unused(s):
    """The cards that a chance event may bring, bit by bit; one that has just been put aside cannot come back."""
    return ALL_CARDS & ~held(s) & ~(1 << int(s.put_aside))


@kernel
def chance(tables, s, probs):
    for outcome in range(probs.shape[0]):
        probs[outcome] = 0.0
    if s.phase == SETUP:
        for outcome in range(NUM_SETUPS):
            probs[outcome] = 1.0 / NUM_SETUPS
    else:
        cards = unused(s)
        for card in range(NUM_CARDS):
            probs[card] = (cards >> card & 1) / tables.card_count[cards]


@kernel
def sample_chance(tables, s, u):
    if s.phase == SETUP:
        return int(u * NUM_SETUPS)
    cards = unused(s)
    return int(tables.nth_card[cards, int(u * tables.card_count[cards])])


@kernel
def apply(tables, s, action):
    if s.phase == ACT:
        if action < NUM_WAYS:
            goal = move(tables, s, action)
            end_action(tables, s, goal != NO_CARD and held(s) >> goal & 1 != 0)
        elif action < PASS:
            trade(tables, s, action - TRADE)
        else:
            end_turn(tables, s)
    elif s.phase == DRAW:
        draw(tables, s, action)
    elif s.phase == DEAL:
        deal(tables, s, action)
    else:
        set_up(tables, s, action)


@kernel
def move(tables, s, way):
    """The top piece of a stack goes along a way; the goal that this completes, or NO_CARD."""
    start, end = int(tables.way_from[way]), int(tables.way_to[way])
    leaves = 16 * start + int(s.tall[start]) - 1
    arrives = 16 * end + int(s.tall[end])
    piece = 0
    for p in range(NUM_PIECES):
        if s.cell[p] == leaves:
            piece = p
    s.cell[piece] = arrives
    s.tall[start] -= 1
    s.tall[end] += 1
    # Only a small or a large piece on the other two of its colour completes a goal, and nothing that leaves a stack does.
    size = piece // 5
    colour = piece - 5 * size
    if size != 1 and s.cell[5 + colour] == arrives - 1 and s.cell[10 + colour - 5 * size] == arrives - 2:
        return 2 * colour + size // 2
    return NO_CARD


@kernel
def on_board(s, card):
    """Whether the goal of a card is on the board."""
    colour = card // 2
    bottom = int(s.cell[colour if card & 1 else 10 + colour])
    top = int(s.cell[10 + colour if card & 1 else colour])
    return s.cell[5 + colour] == bottom + 1 and top == bottom + 2


@kernel
def goals(s):
    """The goals that are on the board, bit by bit."""
    found = 0
    for card in range(NUM_CARDS):
        found |= int(on_board(s, card)) << card
    return found


@kernel
def trade(tables, s, k):
    """The k-th card of the hand is put aside, and another one is about to be drawn."""
    seat = int(s.seat)
    card = int(tables.nth_card[s.hands[seat], k])
    s.hands[seat] ^= 1 << card
    s.given_up[seat] |= 1 << card
    s.put_aside = card
    s.phase = DRAW


@kernel
def draw(tables, s, card):
    """The drawn card completes a trade; the one put aside joins the unused ones."""
    seat = int(s.seat)
    s.hands[seat] |= 1 << card
    s.given_up[seat] = int(s.given_up[seat]) & ~(1 << card)
    s.put_aside = NO_CARD
    s.phase = ACT
    end_action(tables, s, on_board(s, card))


@kernel
def end_action(tables, s, won):
    """An action is complete: a move, or a trade with its draw."""
    s.actions_left -= 1
    if won:
        s.phase = OVER
    elif s.actions_left == 0:
        end_turn(tables, s)


@kernel
def end_turn(tables, s):
    """The next seat has two actions."""
    s.seat = s.seat + 1 if s.seat + 1 < tables.num_players else 0
    s.actions_left = 2


@kernel
def deal(tables, s, card):
    """A seat is served; nobody can hold a finished goal, for no tree of the setup has one colour."""
    seat = int(s.seat)
    s.hands[seat] |= 1 << card
    if tables.card_count[s.hands[seat]] == 2:
        if seat + 1 < tables.num_players:
            s.seat = seat + 1
        else:
            s.seat = 0
            s.phase = ACT


@kernel
def set_up(tables, s, number):
    """Five trees on the corners and the centre."""
    for k in range(5):
        space = int(tables.setup_spaces[k])
        s.tall[space] = 3
        for height in range(3):
            s.cell[5 * (2 - height) + int(tables.setups[number, height, k])] = 16 * space + height
    s.phase = DEAL


@kernel
def winner(tables, s):
    """The seat that has won a game that is over: the only one that holds a card whose goal is on the board."""
    finished = goals(s)
    for p in range(tables.num_players):
        if s.hands[p] & finished:
            return p
    return 0


@kernel
def returns(tables, s, out, i):
    share(1 << winner(tables, s) if s.phase == OVER else 0, tables.num_players, out, i)


@kernel
def observe(tables, s, seat, obs, i):
    clear_row(obs, i)
    hand = int(s.hands[seat])
    if s.phase != SETUP:
        for p in range(NUM_PIECES):
            cell, entry = int(s.cell[p]), int(tables.piece_entry[hand, p])
            depth = above(s, cell)
            obs[i, PLANE * min(depth, LEVELS - 1) + entry + (cell >> 4)] = 1
            obs[i, ABOVE + entry // NUM_SPACES] = depth
        for k in range(5):
            colour = int(tables.colour_order[hand, k])
            small, medium, large = int(s.cell[colour]), int(s.cell[5 + colour]), int(s.cell[10 + colour])
            obs[i, JOINED + JOINTS * k] = medium == large + 1
            obs[i, JOINED + JOINTS * k + 1] = small == medium + 1
            obs[i, JOINED + JOINTS * k + 2] = medium == small + 1
            obs[i, JOINED + JOINTS * k + 3] = large == medium + 1
    copy_row(obs, i, CARDS, tables.hand_features[hand], HAND_FEATURES)
    given_up = int(s.given_up[seat])
    for card in range(NUM_CARDS):
        obs[i, GIVEN_UP + int(tables.card_entry[hand, card])] = given_up >> card & 1
    if s.actions_left != 0:
        obs[i, ACTIONS_LEFT + int(s.actions_left) - 1] = 1
    obs[i, TURN + seats_after(tables, seat, int(s.seat))] = 1
    if s.phase == ACT:
        obs[i, STAGE] = 1
    else:
        observe_pause(tables, s, seat, obs, i)


@kernel
def observe_pause(tables, s, seat, obs, i):
    """What an observation has to tell when no seat is to decide."""
    if s.phase == DRAW:
        obs[i, STAGE + 1] = 1
        if s.seat == seat:
            obs[i, GIVEN_UP + int(tables.card_entry[s.hands[seat], s.put_aside])] = 2
    elif s.phase == OVER:
        obs[i, STAGE + 2] = 1
        obs[i, TURN + tables.num_players + seats_after(tables, seat, winner(tables, s))] = 1
    elif s.phase == SETUP:
        obs[i, STAGE + 3] = 1
    else:
        obs[i, STAGE + 4 + int(tables.card_count[s.hands[s.seat]])] = 1


@kernel
def seats_after(tables, seat, other):
    """How many seats `other` sits after `seat`."""
    return other - seat if other >= seat else other - seat + int(tables.num_players)


# -------------------------------------------------------------------------------------------------- hidden information


@kernel
def redeal(tables, s, seat, key):
    """The cards that a seat does not know are dealt anew; at the end none are, for there is nothing left to guess."""
    if s.phase == OVER:
        return
    mover = int(s.seat)
    guesses_aside = s.phase == DRAW and mover != seat
    # Whoever held a goal that is on the board would have won: such a card lies unused.
    pool = ALL_CARDS & ~int(s.hands[seat])
    if s.phase != SETUP:
        pool &= ~goals(s)
    if not guesses_aside:
        pool &= ~(1 << int(s.put_aside))
    k = 0
    for p in range(tables.num_players):
        if p != seat:
            size = int(tables.card_count[s.hands[p]])
            s.hands[p] = 0
            for _ in range(size):
                card = draw_from(tables, pool, fold(key, k))
                pool ^= 1 << card
                s.hands[p] |= 1 << card
                k += 1
            s.given_up[p] = 0  # known to that seat alone; it may have drawn again whatever it gave up
    if guesses_aside:
        s.put_aside = draw_from(tables, pool, fold(key, k))
        s.given_up[mover] = 1 << int(s.put_aside)


@kernel
def draw_from(tables, cards, key):
    """One of these cards, drawn uniformly."""
    return int(tables.nth_card[cards, below(key, int(tables.card_count[cards]))])


# ----------------------------------------------------------------------------------------- the fixed agents' estimates


@kernel
def evaluate(tables, s, out, i):
    """The nearer a seat's cards are to their goals, the likelier it wins."""
    for p in range(tables.num_players):
        out[i, p] = promise(tables, s, int(s.hands[p]), 0, DISCOUNT)


@kernel
def greedy(tables, s, lab, scores, i):
    hand = int(s.hands[s.seat])
    last = s.actions_left == 1
    for a in range(NUM_WAYS):
        if s.tall[tables.way_from[a]] == 0:
            continue
        lab[0] = s
        goal = move(tables, lab[0], a)
        if goal != NO_CARD:
            scores[i, a] = WIN if hand >> goal & 1 else GIFT
        elif last:
            scores[i, a] = promise(tables, lab[0], hand, 0, DISCOUNT)
        else:
            scores[i, a] = best_second(tables, lab, hand)
    for k in range(2):
        scores[i, TRADE + k] = trade_promise(tables, s, hand, k, int(s.actions_left) - 1, DISCOUNT)
    scores[i, PASS] = promise(tables, s, hand, 0, DISCOUNT)


@kernel
def best_second(tables, lab, hand):
    """The best that a turn's second action can make of the board lab[0]; lab[1] is scratch."""
    best = GIFT
    for a in range(NUM_WAYS):
        if lab[0].tall[tables.way_from[a]] == 0:
            continue
        lab[1] = lab[0]
        goal = move(tables, lab[1], a)
        if goal == NO_CARD:
            best = max(best, promise(tables, lab[1], hand, 0, DISCOUNT))
        elif hand >> goal & 1:
            return WIN
    for k in range(2):
        best = max(best, trade_promise(tables, lab[0], hand, k, 0, DISCOUNT))
    if tables.allow_pass:
        best = max(best, promise(tables, lab[0], hand, 0, DISCOUNT))
    return best


@kernel
def advise(tables, s, lab, scores, i):
    """As `greedy`, but what the others may do in a turn counts against every end of one's own."""
    hand = int(s.hands[s.seat])
    last = s.actions_left == 1
    threat = CAUTION * danger(tables, s, hand)
    for k in range(2):
        scores[i, TRADE + k] = trade_promise(tables, s, hand, k, 0, PATIENCE) - threat
    scores[i, PASS] = promise(tables, s, hand, 0, PATIENCE) - threat
    for a in range(NUM_WAYS):
        if s.tall[tables.way_from[a]] == 0:
            scores[i, a] = GIFT
            continue
        lab[0] = s
        goal = move(tables, lab[0], a)
        if goal != NO_CARD:
            scores[i, a] = WIN if hand >> goal & 1 else GIFT
            continue
        threat = CAUTION * danger(tables, lab[0], hand)
        scores[i, a] = promise(tables, lab[0], hand, 0, PATIENCE) - threat if last or tables.allow_pass else GIFT
        if not last:
            for k in range(2):
                traded = trade_promise(tables, lab[0], hand, k, 0, PATIENCE) - threat
                scores[i, a] = max(scores[i, a], traded)
                # The other way round it comes to the same board, and the card is known before the move.
                scores[i, TRADE + k] = max(scores[i, TRADE + k], traded + CURIOSITY)
            scores[i, a] = max(scores[i, a], safest_move(tables, lab, hand))
    for a in range(NUM_ACTIONS):
        scores[i, a] /= GRADE


@kernel
def safest_move(tables, lab, hand):
    """The best that a move can make of the board lab[0] as a turn's second action, for `advise`; lab[1] is scratch."""
    best = GIFT
    for a in range(NUM_WAYS):
        if lab[0].tall[tables.way_from[a]] == 0:
            continue
        lab[1] = lab[0]
        goal = move(tables, lab[1], a)
        if goal == NO_CARD:
            best = max(best, promise(tables, lab[1], hand, 0, PATIENCE) - CAUTION * danger(tables, lab[1], hand))
        elif hand >> goal & 1:
            return WIN
    return best


@kernel
def danger(tables, s, hand):
    """How likely another seat holds a goal that it could complete in one turn, as far as the holder of this hand knows."""
    others = ALL_CARDS & ~hand & ~goals(s)
    near = 0
    for card in range(NUM_CARDS):
        if others >> card & 1 and actions_to(tables, s, card) <= 2:
            near += 1
    rest = int(tables.card_count[others])
    none = 1.0
    for k in range(2 * (int(tables.num_players) - 1)):
        none *= max(rest - near - k, 0) / (rest - k)
    return 1.0 - none


@kernel
def promise(tables, s, hand, free, discount):
    """What a hand is worth on a board, 0 to 1: each of its cards counts the less, the farther its goal is off.

    ``free`` is how many more actions the seat has before anybody else moves. A goal that is n away counts discount**n.
    """
    miss = 1.0
    for k in range(tables.card_count[hand]):
        away = max(actions_to(tables, s, int(tables.nth_card[hand, k])) - free, 0)
        miss *= 1.0 - discount**away
    return 1.0 - miss


@kernel
def trade_promise(tables, s, hand, k, free, discount):
    """The mean worth of the hand after a trade of its k-th card, over the cards that may come, as far as the seat knows."""
    keeps = hand & ~(1 << int(tables.nth_card[hand, k]))
    finished = goals(s)  # certainly unused, for their holders would have won: drawing one of them wins
    others = ALL_CARDS & ~hand & ~finished
    wins = int(tables.card_count[finished]) / (NUM_CARDS - 2 * int(tables.num_players))
    total = 0.0
    for card in range(NUM_CARDS):
        if others >> card & 1:
            total += promise(tables, s, keeps | 1 << card, free, discount)
    return wins * WIN + (1.0 - wins) * total / int(tables.card_count[others])


@kernel
def actions_to(tables, s, card):
    """About the fewest moves that complete a goal: what lies in the way steps aside, its pieces come by the shortest ways."""
    colour = card // 2
    bottom = int(s.cell[colour if card & 1 else 10 + colour])
    middle = int(s.cell[5 + colour])
    top = int(s.cell[10 + colour if card & 1 else colour])
    moves = (
        int(tables.gathering[bottom >> 4, middle >> 4, top >> 4])
        + in_the_way(s, bottom, middle, top)
        + in_the_way(s, middle, top, bottom)
        + in_the_way(s, top, bottom, middle)
    )
    if middle == bottom + 1:  # already joined: the top piece may come to them
        if top == middle + 1:
            return 0
        if top >> 4 != middle >> 4:
            moves = min(moves, above(s, middle) + above(s, top) + int(tables.distance[top >> 4, middle >> 4]))
        elif top > middle:
            moves = min(moves, above(s, middle) - 1 + int(tables.distance[top >> 4, middle >> 4]))
    return moves


@kernel
def above(s, cell):
    """How many pieces stand above a cell."""
    return int(s.tall[cell >> 4]) - 1 - (cell & 15)


@kernel
def in_the_way(s, cell, second, third):
    """How many pieces stand above a cell; or -1 if it is itself counted above another of the three, for it moves anyway."""
    on_second = second >> 4 == cell >> 4 and second < cell
    on_third = third >> 4 == cell >> 4 and third < cell
    return -1 if on_second or on_third else above(s, cell)
