"""The rules of Trellis.

State (one row; W the width of the square of cells that the board is kept in)
    cell      uint16[61]     where each tile on the board lies, in the order of planting; the start tile is the first
    face      uint16[61]     how it lies: 6 * tile + turn
    frontier  uint16[126]    the cells where a tile may be planted, in no particular order; the first `room` count
    target    uint16         the cell that is chosen; 0: none
    vines     uint8[61, 6]   of each tile and colour: 0 no vine, EMPTY, FLOWER + owner
    grid      uint8[W * W]   of each cell: 0 nothing, 1 + place in `cell`, SLOT + place in `frontier`
    deck      uint8[64]      1 for the tiles of the deck
    hands     uint8[4, 3]    the tiles in each hand, NO_TILE after the last
    left      uint8[4]       the flowers left to each seat; seats that do not exist: 0
    tiles     uint8          how many lie on the board
    room      uint8          how many cells are in `frontier`
    phase     uint8          DRAW TILE CELL ROTATION OWNER COLOUR BOARD_CELL BOARD_COLOUR OVER
    seat      uint8          whose turn it is; at the end: who acted last
    pick      uint8          1 + the place in the hand of the tile that is chosen; 0: none
    gifts     uint8          claims to come after this one; at OWNER: flowers bloomed for others

Actions, for a board of side 2R + 1
    0..2          TILE      which tile of the hand
    3..           CELL      row by row, 3 + (r + R) (2R + 1) + q + R; also BOARD_CELL
    then 6        ROTATION
    then 4        OWNER     seats after the active one
    then 6        COLOUR    P O G B K Y; also BOARD_COLOUR

Chance: the number of the tile that is drawn, uniform over the deck.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from pyramid_envs.games.trellis.tables import DECK, HAND, NO_EDGE, START, width
from pyramid_envs.jit import kernel
from pyramid_envs.kernels import CHANCE, TERMINAL
from pyramid_envs.payoffs import share
from pyramid_envs.rng import below, fold

FLOWERS = 15
MAX_TILES = 61
MAX_FRONTIER = 126  # six cells beside the start tile; every tile takes one and adds three at most
NO_TILE = 255
EMPTY, FLOWER = 1, 2  # in `vines`
SLOT = 1 + MAX_TILES  # in `grid`
DRAW, TILE, CELL, ROTATION, OWNER, COLOUR, BOARD_CELL, BOARD_COLOUR, OVER = range(9)

# The advice's. Those from TEMPO to FINISH were fitted (logistic regression) to how many of 32 games each greedy agents won from
# 236,000 ends of turns with two seats.
SHORTLIST = 32  # placements of a turn that are looked at
LEAD = 0.3  # flowers that an open end of a vine to claim is worth
GRADE = 0.05  # of the logarithm of the odds
TEMPO = 0.16  # that logarithm between equals, for the one who has just played
STEEPNESS, LATE = 1.66, 0.041  # what it rises by a flower with 18 left to both together, and how much more for each that is fewer
SEQUEL, REPLY, END = 0.6, 1.1, 0.066  # in flowers: those of the own next turn and of the next seat's; an open end
TURN = 8.0  # flowers: no turn counts more
FINISH = (0.0, 0.52, 0.89)  # the chance still to win with so many tiles in the hand by each of which it would be won now
WIN, LOSS = 1000.0, -1000.0  # by a turn
CERTAIN = 20.0
VINES = 90  # six colours between any two edges

# Planes of an observation; flowers of P seats between the edges and the rest.
EDGE_PLANES = 36
FLOWER_PLANES = 6  # for each seat
NEWEST, FRONTIER, CHOSEN, FACTS = range(4)  # after the flowers


def row_dtype(options: Mapping[str, Any]) -> np.dtype[Any]:
    return _row_dtype(width(options["board_radius"]))


@cache
def _row_dtype(square: int) -> np.dtype[Any]:
    words = [("cell", MAX_TILES), ("face", MAX_TILES), ("frontier", MAX_FRONTIER)]
    numbers = ["tiles", "room", "phase", "seat", "pick", "gifts"]
    return np.dtype(
        (
            np.record,
            [
                *((name, np.uint16, size) for name, size in words),
                ("target", np.uint16),
                ("vines", np.uint8, (MAX_TILES, 6)),
                ("grid", np.uint8, square * square),
                ("deck", np.uint8, DECK),
                ("hands", np.uint8, (4, HAND)),
                ("left", np.uint8, 4),
                *((name, np.uint8) for name in numbers),
            ],
        )
    )


def num_actions(options: Mapping[str, Any]) -> int:
    return HAND + (2 * options["board_radius"] + 1) ** 2 + 6 + 4 + 6


# -------------------------------------------------------------------------------------------------------------- start


@kernel
def reset(tables, s):
    lay(tables, s, int(tables.cell[tables.side * tables.side // 2]), 6 * START)
    for t in range(START):
        s.deck[t] = 1
    for p in range(4):
        for j in range(HAND):
            s.hands[p, j] = NO_TILE
    for p in range(tables.num_players):
        s.left[p] = FLOWERS


@kernel
def to_move(s):
    if s.phase == DRAW:
        return CHANCE
    if s.phase == OVER:
        return TERMINAL
    return int(s.seat)


# -------------------------------------------------------------------------------------------------------------- board


@kernel
def lay(tables, s, cell, face):
    """Put a tile on the board, all its vines empty; its cell leaves the frontier and the free cells beside it join."""
    if s.grid[cell] >= SLOT:
        slot = int(s.grid[cell]) - SLOT
        last = s.frontier[s.room - 1]
        s.frontier[slot] = last
        s.grid[last] = SLOT + slot
        s.room -= 1
    k = int(s.tiles)
    s.cell[k] = cell
    s.face[k] = face
    s.tiles = k + 1
    s.grid[cell] = k + 1
    for e in range(6):
        s.vines[k, tables.edges[face, e]] = EMPTY
        beside = cell + tables.step[e]
        if s.grid[beside] == 0 and tables.inside[beside]:
            s.grid[beside] = SLOT + s.room
            s.frontier[s.room] = beside
            s.room += 1


@kernel
def tile_at(s, cell):
    """The place in `cell` of the tile that lies there; -1: none does."""
    k = int(s.grid[cell])
    return k - 1 if k < SLOT else -1


@kernel
def flower_over(tables, s, cell, e, colour):
    """FLOWER + owner of the flower that a vine of this colour meets at edge e of a cell; 0: it meets none."""
    k = tile_at(s, cell + tables.step[e])
    if k < 0 or tables.facing[s.face[k], e] != colour or s.vines[k, colour] < FLOWER:
        return 0
    return int(s.vines[k, colour])


@kernel
def strand(tables, s, cell, e, back, colour, flower):
    """How many empty vines are connected, one after another, to a vine of a cell whose ends are e and `back`, over its end e.

    With a flower they all get it; with 0 they are only counted. If the strand comes round to the other end: minus their number.
    """
    count = 0
    here = cell
    while e != NO_EDGE:
        here += tables.step[e]
        if here == cell and tables.step[e] == -tables.step[back]:
            return -count
        k = tile_at(s, here)
        if k < 0 or tables.facing[s.face[k], e] != colour or s.vines[k, colour] != EMPTY:
            break
        if flower != 0:
            s.vines[k, colour] = flower
        count += 1
        e = int(tables.onward[s.face[k], e])
    return count


@kernel
def bloom(tables, s, cell, face, colour, flower):
    """How many vines bloom when that of this colour on a tile that lies so on a cell does: itself and the strands at its ends.

    With a flower the strands do bloom; with 0 nothing changes. The tile need not be on the board yet.
    """
    one, other = int(tables.ends[face, colour, 0]), int(tables.ends[face, colour, 1])
    count = strand(tables, s, cell, one, other, colour, flower)
    if count < 0:
        return 1 - count
    return 1 + count + strand(tables, s, cell, other, one, colour, flower)


@kernel
def give(tables, s, k, colour, seat):
    """A flower of `seat` on an empty vine of tile k, and all that blooms with it; how many flowers these are."""
    s.vines[k, colour] = FLOWER + seat
    count = bloom(tables, s, int(s.cell[k]), int(s.face[k]), colour, FLOWER + seat)
    s.left[seat] = max(0, int(s.left[seat]) - count)
    return count


@kernel
def has_empty(s, k):
    """Whether tile k has an empty vine."""
    found = False
    for colour in range(6):
        found |= s.vines[k, colour] == EMPTY
    return found


@kernel
def contested(tables, s):
    """The colour of the first empty vine of the new tile whose ends meet two owners; -1: there is none."""
    k = s.tiles - 1
    cell, face = int(s.cell[k]), int(s.face[k])
    for j in range(3):
        colour = int(tables.colours[face // 6, j])
        if s.vines[k, colour] == EMPTY:
            one = flower_over(tables, s, cell, int(tables.ends[face, colour, 0]), colour)
            other = flower_over(tables, s, cell, int(tables.ends[face, colour, 1]), colour)
            if one != 0 and other != 0:
                return colour
    return -1


# --------------------------------------------------------------------------------------------------------------- legal


@kernel
def legal(tables, s, masks, i):
    for a in range(masks.shape[1]):
        masks[i, a] = 0
    phase = int(s.phase)
    seat = int(s.seat)
    if phase == TILE:
        for j in range(HAND):
            masks[i, j] = s.hands[seat, j] != NO_TILE
    elif phase == CELL:
        for slot in range(s.room):
            masks[i, HAND + tables.number[s.frontier[slot]]] = 1
    elif phase == ROTATION:
        for turn in range(6):
            masks[i, tables.rotations + turn] = 1
    elif phase == OWNER:
        colour = contested(tables, s)
        k = s.tiles - 1
        for end in range(2):
            e = int(tables.ends[s.face[k], colour, end])
            after = flower_over(tables, s, int(s.cell[k]), e, colour) - FLOWER - seat
            masks[i, tables.owners + (after if after >= 0 else after + tables.num_players)] = 1
    elif phase in (COLOUR, BOARD_COLOUR):
        k = claimed_tile(s)
        for colour in range(6):
            masks[i, tables.claims + colour] = s.vines[k, colour] == EMPTY
    elif phase == BOARD_CELL:
        for k in range(s.tiles):
            if has_empty(s, k):
                masks[i, HAND + tables.number[s.cell[k]]] = 1


@kernel
def claimed_tile(s):
    """The tile on which a colour is asked for: the new one, or the one chosen on the board."""
    return tile_at(s, int(s.target)) if s.phase == BOARD_COLOUR else s.tiles - 1


# --------------------------------------------------------------------------------------------------------------- chance


@kernel
def deck_size(s):
    """How many tiles are left to draw."""
    count = 0
    for t in range(DECK):
        count += int(s.deck[t])
    return count


@kernel
def nth_of_deck(s, n):
    """The tile of the deck that has n smaller ones."""
    block = 16  # tiles are skipped by blocks, whose sums are vector instructions
    t = 0
    while True:
        count = 0
        for j in range(block):
            count += int(s.deck[t + j])
        if n < count:
            break
        n -= count
        t += block
    while n >= s.deck[t]:
        n -= int(s.deck[t])
        t += 1
    return t


@kernel
def chance(tables, s, probs):
    size = deck_size(s)
    for t in range(START):
        probs[t] = s.deck[t] / size


@kernel
def sample_chance(tables, s, u):
    return nth_of_deck(s, int(u * deck_size(s)))


# ---------------------------------------------------------------------------------------------------------------- play


@kernel
def apply(tables, s, action):
    phase = int(s.phase)
    seat = int(s.seat)
    if phase == DRAW:
        draw(tables, s, action)
    elif phase == TILE:
        s.pick = action + 1
        s.phase = CELL
    elif phase == CELL:
        s.target = tables.cell[action - HAND]
        s.phase = ROTATION
    elif phase == ROTATION:
        plant(tables, s, action - tables.rotations)
    elif phase == OWNER:
        owner = seat + action - tables.owners
        bloom_while_planting(tables, s, contested(tables, s), owner if owner < tables.num_players else owner - tables.num_players)
        if not ended(tables, s) and contested(tables, s) < 0:
            ask_for_claim(tables, s)
    elif phase == BOARD_CELL:
        s.target = tables.cell[action - HAND]
        s.phase = BOARD_COLOUR
    else:
        k = claimed_tile(s)
        s.target = 0
        give(tables, s, k, action - tables.claims, seat)
        if not ended(tables, s):
            if s.gifts == 0:
                end_turn(tables, s)
            else:
                s.gifts -= 1
                ask_for_claim(tables, s)


@kernel
def draw(tables, s, tile):
    """The drawn tile goes last in the hand; then comes the next draw of the setup, or the next turn."""
    seat = int(s.seat)
    s.deck[tile] = 0
    at = 0
    while s.hands[seat, at] != NO_TILE:
        at += 1
    s.hands[seat, at] = tile
    if s.tiles > 1:
        next_turn(tables, s)
    elif at == HAND - 1:
        s.seat = seat + 1 if seat + 1 < tables.num_players else 0
        if s.seat == 0:
            s.phase = TILE


@kernel
def plant(tables, s, turn):
    """The chosen tile goes from the hand to the chosen cell; what is not contested blooms."""
    seat = int(s.seat)
    at = s.pick - 1
    tile = int(s.hands[seat, at])
    for j in range(at, HAND - 1):
        s.hands[seat, j] = s.hands[seat, j + 1]
    s.hands[seat, HAND - 1] = NO_TILE
    cell, face = int(s.target), int(tables.face[tile, turn])
    s.pick = 0
    s.target = 0
    lay(tables, s, cell, face)
    waiting = False
    for j in range(3):
        colour = int(tables.colours[tile, j])
        one = flower_over(tables, s, cell, int(tables.ends[face, colour, 0]), colour)
        other = flower_over(tables, s, cell, int(tables.ends[face, colour, 1]), colour)
        if one != 0 and other != 0 and one != other:
            waiting = True
        elif one != 0 or other != 0:
            bloom_while_planting(tables, s, colour, max(one, other) - FLOWER)
    if not ended(tables, s):
        if waiting:
            s.phase = OWNER
        else:
            ask_for_claim(tables, s)


@kernel
def bloom_while_planting(tables, s, colour, owner):
    """A vine of the new tile blooms; every flower of another seat will be a gift to the active one."""
    count = give(tables, s, s.tiles - 1, colour, owner)
    if owner != s.seat:
        s.gifts += count


@kernel
def ask_for_claim(tables, s):
    """A claim or a gift comes next: on the new tile, or if that is full on the board; if all is full the rest is lost."""
    if has_empty(s, s.tiles - 1):
        s.phase = COLOUR
        return
    for k in range(s.tiles):
        if has_empty(s, k):
            s.phase = BOARD_CELL
            return
    s.gifts = 0
    end_turn(tables, s)


@kernel
def end_turn(tables, s):
    """The seat draws if a tile is left."""
    if deck_size(s) > 0:
        s.phase = DRAW
    else:
        next_turn(tables, s)


@kernel
def next_turn(tables, s):
    """The next seat that holds a tile is to plant one."""
    s.phase = TILE
    for _ in range(tables.num_players):
        s.seat = s.seat + 1 if s.seat + 1 < tables.num_players else 0
        if s.hands[s.seat, 0] != NO_TILE:
            break


@kernel
def ended(tables, s):
    """Whether a seat has placed its last flower; then the game is over."""
    if winners(tables, s) == 0:
        return False
    s.phase = OVER
    s.gifts = 0
    return True


@kernel
def winners(tables, s):
    """The seats without a flower left, as bits."""
    found = 0
    for p in range(tables.num_players):
        if s.left[p] == 0:
            found |= 1 << p
    return found


@kernel
def returns(tables, s, out, i):
    share(winners(tables, s), tables.num_players, out, i)


# ------------------------------------------------------------------------------------------------------------- what is seen


@kernel
def show_tile(tables, face, obs, i, y, x):
    """The colours of a tile at its edges."""
    for e in range(6):
        obs[i, 6 * int(tables.edges[face, e]) + e, y, x] = 1


@kernel
def observe(tables, s, seat, obs, i):
    for plane in range(obs.shape[1]):
        for y in range(obs.shape[2]):
            for x in range(obs.shape[3]):
                obs[i, plane, y, x] = 0
    n = tables.num_players
    own = seat == s.seat
    rest = EDGE_PLANES + FLOWER_PLANES * n
    for k in range(s.tiles):
        y, x = int(tables.y[s.cell[k]]), int(tables.x[s.cell[k]])
        show_tile(tables, int(s.face[k]), obs, i, y, x)
        for colour in range(6):
            owner = int(s.vines[k, colour]) - FLOWER
            if owner >= 0:
                after = owner - seat if owner >= seat else owner - seat + n
                obs[i, EDGE_PLANES + FLOWER_PLANES * after + colour, y, x] = 1
        if k == s.tiles - 1:
            obs[i, rest + NEWEST, y, x] = 1
    picked = -1
    for j in range(HAND):  # the hand lies in a corner of the square that is beyond the radius
        tile = int(s.hands[seat, j])
        if tile != NO_TILE:
            show_tile(tables, 6 * tile, obs, i, 0, j)
            if own and s.pick == j + 1:
                obs[i, rest + CHOSEN, 0, j] = 1
                picked = 6 * tile
    for slot in range(s.room):
        cell = int(s.frontier[slot])
        y, x = int(tables.y[cell]), int(tables.x[cell])
        obs[i, rest + FRONTIER, y, x] = 1
        if picked >= 0 and (s.phase == CELL or s.target == cell):  # where it may still go
            show_tile(tables, picked, obs, i, y, x)
    if s.target != 0:
        obs[i, rest + CHOSEN, tables.y[s.target], tables.x[s.target]] = 1
    # Facts that belong to no cell, each kind in a row of its own.
    facts = rest + FACTS
    obs[i, facts, 0, s.phase] = 1
    for after in range(n):
        p = seat + after if seat + after < n else seat + after - n
        obs[i, facts, 1, after] = s.seat == p
        obs[i, facts, 2, after] = s.left[p]
        for j in range(HAND):
            obs[i, facts, 3, after] += s.hands[p, j] != NO_TILE
    obs[i, facts, 4, 0] = s.gifts
    if s.phase == OWNER:
        obs[i, facts, 5, contested(tables, s)] = 1


@kernel
def redeal(tables, s, seat, key):
    for p in range(tables.num_players):
        if p != seat:
            for j in range(HAND):
                if s.hands[p, j] != NO_TILE:
                    s.deck[s.hands[p, j]] = 1
    size = deck_size(s)
    drawn = 0
    for p in range(tables.num_players):
        if p != seat:
            for j in range(HAND):
                if s.hands[p, j] != NO_TILE:
                    tile = nth_of_deck(s, below(fold(key, drawn), size - drawn))
                    s.deck[tile] = 0
                    s.hands[p, j] = tile
                    drawn += 1


# --------------------------------------------------------------------------------------------------------- fixed agents


@kernel
def evaluate(tables, s, out, i):
    """A flower fewer left makes a win four times as likely, and the active seat is about to place some.

    In games of greedy agents, and of random ones too, the odds are 4.6 to 4.9 times as good, and a turn brings 2.5 flowers.
    """
    due = 0
    if s.phase in (TILE, CELL, ROTATION):
        due = 2
    elif s.phase != DRAW:
        due = 1 + int(s.gifts)
    for p in range(tables.num_players):
        out[i, p] = 4.0 ** ((due if p == s.seat else 0) - int(s.left[p]))


@kernel
def greedy(tables, s, lab, scores, i):
    """Own flowers of the whole turn less those that bloom for others; a win first, and no win for others if it can be helped."""
    for a in range(scores.shape[1]):
        scores[i, a] = 0.0
    phase = int(s.phase)
    seat = int(s.seat)
    if phase in (TILE, CELL, ROTATION):
        longest = longest_on_board(tables, s)
        for j in range(HAND):
            tile = int(s.hands[seat, j])
            if tile == NO_TILE or (phase != TILE and j + 1 != s.pick):
                continue
            best = -np.inf
            for slot in range(s.room):
                cell = int(s.frontier[slot])
                if phase == ROTATION and cell != s.target:
                    continue
                best_here = -np.inf
                for turn in range(6):
                    value = prospect(tables, s, cell, int(tables.face[tile, turn]), longest)
                    if phase == ROTATION:
                        scores[i, tables.rotations + turn] = value
                    best_here = max(best_here, value)
                if phase == CELL:
                    scores[i, HAND + tables.number[cell]] = best_here
                best = max(best, best_here)
            if phase == TILE:
                scores[i, j] = best
    elif phase == OWNER:
        for after in range(tables.num_players):
            p = seat + after if seat + after < tables.num_players else seat + after - tables.num_players
            scores[i, tables.owners + after] = FLOWERS + 1 if after == 0 else s.left[p]
    elif phase in (COLOUR, BOARD_COLOUR):
        k = claimed_tile(s)
        for colour in range(6):
            if s.vines[k, colour] == EMPTY:
                scores[i, tables.claims + colour] = bloom(tables, s, int(s.cell[k]), int(s.face[k]), colour, 0)
    elif phase == BOARD_CELL:
        for k in range(s.tiles):
            scores[i, HAND + tables.number[s.cell[k]]] = longest_strand(tables, s, k)


@kernel
def longest_strand(tables, s, k):
    """The most vines that bloom by one claim on tile k; 0: it has no empty vine."""
    longest = 0
    for colour in range(6):
        if s.vines[k, colour] == EMPTY:
            longest = max(longest, bloom(tables, s, int(s.cell[k]), int(s.face[k]), colour, 0))
    return longest


@kernel
def longest_on_board(tables, s):
    """The most vines that bloom by one claim."""
    longest = 0
    for k in range(int(s.tiles)):
        longest = max(longest, longest_strand(tables, s, k))
    return longest


@kernel
def contest_winner(s, one, other):
    """Whom greedy gives a contested vine to: itself, else who has more flowers left."""
    if s.seat == one or s.seat == other:
        return int(s.seat)
    return one if s.left[one] > s.left[other] else other


@kernel
def prospect(tables, s, cell, face, longest):
    """What planting a tile so on a cell is worth to the active seat: see `turn_worth`."""
    tile = face // 6
    a, b, c = int(tables.colours[tile, 0]), int(tables.colours[tile, 1]), int(tables.colours[tile, 2])
    ends = tables.ends[face]
    return turn_worth(
        tables,
        s,
        vine_worth(tables, s, cell, a, int(ends[a, 0]), int(ends[a, 1])),
        vine_worth(tables, s, cell, b, int(ends[b, 0]), int(ends[b, 1])),
        vine_worth(tables, s, cell, c, int(ends[c, 0]), int(ends[c, 1])),
        longest,
    )


@kernel
def vine_worth(tables, s, cell, colour, e, f):
    """What happens if a vine of this colour between two edges is planted on a cell.

    How many vines bloom if it is claimed; or if it meets a flower how many bloom at once, from bit 8 + 12 * its owner on; or if
    two seats contest it -1 - (4 * one + other).
    """
    one = flower_over(tables, s, cell, e, colour) - FLOWER
    other = flower_over(tables, s, cell, f, colour) - FLOWER
    if one >= 0 and other >= 0 and one != other:
        return -1 - (4 * one + other)
    count = strand(tables, s, cell, e, f, colour, 0)
    count = 1 - count if count < 0 else 1 + count + strand(tables, s, cell, f, e, colour, 0)
    return count << (8 + 12 * max(one, other)) if max(one, other) >= 0 else count


@kernel
def turn_worth(tables, s, a, b, c, longest):
    """What planting a tile with vines of these worths brings the active seat, the turn's claims and gifts included.

    Claims beyond those on the new tile are guessed: one of `longest` vines, then single ones.
    """
    n = tables.num_players
    seat = int(s.seat)
    bloomed = 0  # of each seat, 12 bits
    named = 0  # likewise, of contested vines
    most, middle, least, free = 0, 0, 0, 0  # what the vines left to claim would bring
    for worth in (a, b, c):
        if worth < 0:
            named += 1 << (12 * contest_winner(s, (-1 - worth) // 4, (-1 - worth) % 4))
        elif worth > 255:
            bloomed += worth >> 8
        else:
            free += 1
            if worth > most:
                most, middle, least = worth, most, middle
            elif worth > middle:
                middle, least = worth, middle
            else:
                least = worth
    own = (bloomed >> (12 * seat)) & 4095
    if own >= s.left[seat]:
        return WIN
    others = 0
    for p in range(n):
        if p != seat:
            flowers = ((bloomed + named) >> (12 * p)) & 4095
            if flowers >= s.left[p]:
                return LOSS
            others += flowers
    own += (named >> (12 * seat)) & 4095
    claims = 1 + others
    own += most
    if claims >= 2:
        own += middle
    if claims >= 3:
        own += least
    if claims > free and longest > 0:
        own += longest + claims - free - 1
    return WIN if own >= s.left[seat] else float(own - others)


# -------------------------------------------------------------------------------------------------------------- advice


@kernel
def advise(tables, s, lab, scores, i):
    """The turns that greedy likes best, by how the seat stands after them: `odds`."""
    seat = int(s.seat)
    if s.phase in (TILE, CELL, ROTATION):
        for a in range(scores.shape[1]):
            scores[i, a] = -2 * CERTAIN
        worths = np.empty((MAX_FRONTIER, VINES), np.int64)
        codes = np.empty(SHORTLIST, np.int64)
        for k in range(shortlist(tables, s, codes, np.empty(SHORTLIST))):
            j, slot, turn = codes[k] // (6 * MAX_FRONTIER), codes[k] // 6 % MAX_FRONTIER, codes[k] % 6
            lab[0] = s
            lab[0].pick = j + 1
            lab[0].target = s.frontier[slot]
            plant(tables, lab[0], turn)
            finish_turn(tables, lab[0])
            action = j
            if s.phase == CELL:
                action = HAND + int(tables.number[s.frontier[slot]])
            elif s.phase == ROTATION:
                action = tables.rotations + turn
            scores[i, action] = max(scores[i, action], odds(tables, lab[0], seat, worths))
    elif s.phase == OWNER:
        greedy(tables, s, lab, scores, i)
    elif s.phase == BOARD_CELL:
        for k in range(int(s.tiles)):
            best = 0.0
            for colour in range(6):
                best = max(best, claim_worth(tables, s, k, colour))
            scores[i, HAND + tables.number[s.cell[k]]] = best
    else:
        k = int(claimed_tile(s))
        for colour in range(6):
            scores[i, tables.claims + colour] = claim_worth(tables, s, k, colour)
    for a in range(scores.shape[1]):
        scores[i, a] /= GRADE


@kernel
def shortlist(tables, s, codes, worths):
    """How many placements are written to `codes`: those that greedy likes best, best first.

    A code is (place in the hand * MAX_FRONTIER + slot) * 6 + turn.
    """
    seat = int(s.seat)
    longest = longest_on_board(tables, s)
    size = 0
    for j in range(HAND):
        tile = int(s.hands[seat, j])
        if tile == NO_TILE or (s.phase != TILE and j + 1 != s.pick):
            continue
        for slot in range(int(s.room)):
            cell = int(s.frontier[slot])
            if s.phase == ROTATION and cell != s.target:
                continue
            for turn in range(6):
                worth = prospect(tables, s, cell, int(tables.face[tile, turn]), longest)
                if size == SHORTLIST and worth <= worths[size - 1]:
                    continue
                size = min(size + 1, SHORTLIST)
                at = size - 1
                while at > 0 and worths[at - 1] < worth:
                    worths[at] = worths[at - 1]
                    codes[at] = codes[at - 1]
                    at -= 1
                worths[at] = worth
                codes[at] = (j * MAX_FRONTIER + slot) * 6 + turn
    return size


@kernel
def finish_turn(tables, s):
    """Play a turn on to its end after a tile was planted: own flowers first, then claims by their worth."""
    while s.phase in (OWNER, COLOUR, BOARD_CELL):
        if s.phase == OWNER:
            colour = contested(tables, s)
            cell, face = int(s.cell[s.tiles - 1]), int(s.face[s.tiles - 1])
            one = flower_over(tables, s, cell, int(tables.ends[face, colour, 0]), colour) - FLOWER
            other = flower_over(tables, s, cell, int(tables.ends[face, colour, 1]), colour) - FLOWER
            after = contest_winner(s, one, other) - int(s.seat)
            apply(tables, s, tables.owners + (after if after >= 0 else after + tables.num_players))
            continue
        first = int(s.tiles) - 1 if s.phase == COLOUR else 0
        best, tile, vine = 0.0, 0, 0
        for k in range(first, int(s.tiles)):
            for colour in range(6):
                worth = claim_worth(tables, s, k, colour)
                if worth > best:
                    best, tile, vine = worth, k, colour
        if s.phase == BOARD_CELL:
            apply(tables, s, HAND + int(tables.number[s.cell[tile]]))
        apply(tables, s, tables.claims + vine)


@kernel
def claim_worth(tables, s, k, colour):
    """The flowers that a claim of an empty vine brings, and a little for each of its own ends that is open; 0: not empty."""
    if s.vines[k, colour] != EMPTY:
        return 0.0
    cell, face = int(s.cell[k]), int(s.face[k])
    worth = float(bloom(tables, s, cell, face, colour, 0))
    for end in range(2):
        e = int(tables.ends[face, colour, end])
        if e != NO_EDGE and s.grid[cell + tables.step[e]] >= SLOT:
            worth += LEAD
    return worth


@kernel
def odds(tables, s, seat, worths):
    """How a seat stands at the end of its turn: the logarithm of the odds that it wins. The board's seat to move is changed.

    The next seat's turn is weighed for all hands that it may hold, each as likely; the own one after it as if the board stayed as
    it is. `worths` is scratch.
    """
    if s.phase == OVER:
        return CERTAIN if s.left[seat] == 0 else -CERTAIN
    n = int(tables.num_players)
    left, others = float(s.left[seat]), 0.0
    for p in range(n):
        if p != seat:
            others += float(s.left[p]) / (n - 1)
    survey(tables, s, worths)
    longest = longest_on_board(tables, s)
    s.seat = seat
    sequel, winning = 0.0, 0
    for j in range(HAND):
        if s.hands[seat, j] != NO_TILE:
            worth = best_turn(tables, s, int(s.hands[seat, j]), longest, worths)
            winning += worth == WIN
            sequel = max(sequel, min(worth, left, TURN))
    sure = FINISH[winning]
    lead = others - left + SEQUEL * sequel + END * open_ends(tables, s, seat)
    s.seat = seat + 1 if seat + 1 < n else 0
    replies = np.empty(START)
    size = 0
    for t in range(START):
        unseen = s.deck[t] == 1
        for p in range(n):
            for j in range(HAND):
                unseen |= p != seat and s.hands[p, j] == t
        if unseen:
            replies[size] = best_turn(tables, s, t, longest, worths)
            size += 1
    if size == 0:
        replies[0], size = 0.0, 1
    replies[:size].sort()
    steepness = STEEPNESS * np.exp(LATE * (18 - left - others))
    chance, hands = 0.0, 0
    for k in range(min(2, size - 1), size):
        pairs = max(1, k * (k - 1) // 2)  # with so many pairs of worse tiles a tile makes a hand of which it is the best
        hands += pairs
        if replies[k] != WIN:
            reply = max(-TURN, min(replies[k], TURN))
            chance += pairs * (sure + (1 - sure) / (1 + np.exp(-TEMPO - steepness * (lead - REPLY * reply))))
    chance /= hands
    return np.log((chance + 0.001) / (1.001 - chance))


@kernel
def survey(tables, s, worths):
    """Write to worths[slot, vine] what every vine that might be planted beside the board is worth: `vine_worth`."""
    for slot in range(int(s.room)):
        cell = int(s.frontier[slot])
        for vine in range(VINES):
            worths[slot, vine] = 1
        for e in range(6):
            k = tile_at(s, cell + tables.step[e])
            if k >= 0:
                colour = int(tables.facing[s.face[k], e])
                for f in range(6):
                    if f != e:
                        vine = 15 * colour + int(tables.pair[e, f])
                        worths[slot, vine] = vine_worth(tables, s, cell, colour, min(e, f), max(e, f))


@kernel
def open_ends(tables, s, seat):
    """How many more open ends the flowers of a seat have than those of all others."""
    count = 0
    for slot in range(int(s.room)):
        for e in range(6):
            k = tile_at(s, s.frontier[slot] + tables.step[e])
            if k >= 0:
                flower = int(s.vines[k, tables.facing[s.face[k], e]])
                if flower == FLOWER + seat:
                    count += 1
                elif flower >= FLOWER:
                    count -= 1
    return count


@kernel
def best_turn(tables, s, tile, longest, worths):
    """The best that planting a tile would bring the active seat, `worths` surveyed."""
    best = LOSS
    for turn in range(6):
        vines = tables.vines[tables.face[tile, turn]]
        a, b, c = int(vines[0]), int(vines[1]), int(vines[2])
        for slot in range(int(s.room)):
            best = max(best, turn_worth(tables, s, worths[slot, a], worths[slot, b], worths[slot, c], longest))
    return best
