"""Loops around kernels, written once for every game (see `pyramid_envs.jit.bind`).

The kernels that are imported here only lend their names and signatures: each game's own are bound in their place.
Letters: N games of a batch, G of them addressed by `games`, A actions, P seats.
"""

from __future__ import annotations

import numpy as np

from pyramid_envs.kernels import (
    CHANCE,
    GRADES,
    TERMINAL,
    advise,
    apply,
    chance,
    greedy,
    legal,
    observe,
    redeal,
    reset,
    returns,
    sample_chance,
    to_move,
)
from pyramid_envs.rng import CHANCE as CHANCE_STREAM
from pyramid_envs.rng import below, fold, uniform

# One game's place in its stream: the seed, how many games were dealt from it before this one, actions played in this one.
CLOCK = np.dtype((np.record, [("seed", np.uint64), ("episode", np.int64), ("ply", np.int64)]))

# ------------------------------------------------------------------------------------------------------------ inner


def settle(tables, s, seed, episode, ply):
    """Play chance events until a seat decides or the game is over."""
    if to_move(s) == CHANCE:
        key = fold(fold(fold(seed, episode), CHANCE_STREAM), ply)
        k = 0
        while to_move(s) == CHANCE:
            apply(tables, s, sample_chance(tables, s, uniform(fold(key, k))))
            k += 1


def write_views(tables, s, masks, observations, seats, i):
    """Mask, observation and seat of the seat to move."""
    seat = to_move(s)
    seats[i] = seat
    legal(tables, s, masks, i)
    observe(tables, s, seat, observations, i)


def deal(tables, rows, clocks, initial, i):
    """A new game in rows[i], at its first decision; initial[0] is the start before chance."""
    rows[i] = initial[0]
    clocks[i].ply = 0
    settle(tables, rows[i], clocks[i].seed, clocks[i].episode, 0)


def best_legal(masks, b, scores):
    """The highest of scores[0] of an action that masks[b] allows."""
    best = -np.inf
    for a in range(masks.shape[1]):
        if masks[b, a]:
            best = max(best, scores[0, a])
    return best


INNER = (settle, write_views, deal, best_legal)

# ---------------------------------------------------------------------------------------------- outer: one game at a time
# `tables` and `row` are record arrays of one row: as arguments from Python these are much cheaper than records.


def start(tables, row):
    """Set the all-zero record to the start."""
    reset(tables[0], row[0])


def seat_to_move(row):
    """The seat to move, CHANCE or TERMINAL."""
    return to_move(row[0])


def mask_of(tables, row, masks):
    """Write masks[0]."""
    legal(tables[0], row[0], masks, 0)


def play(tables, row, action, masks):
    """Apply an action if it is legal, using masks[0] as scratch; whether it was."""
    if to_move(row[0]) < 0:
        return False
    legal(tables[0], row[0], masks, 0)
    if action < 0 or action >= masks.shape[1] or not masks[0, action]:
        return False
    apply(tables[0], row[0], action)
    return True


def chance_of(tables, row, probs):
    """Write the probabilities of all outcomes."""
    chance(tables[0], row[0], probs)


def sample(tables, row, u):
    """The outcome that u draws."""
    return sample_chance(tables[0], row[0], u)


def play_chance(tables, row, outcome):
    """Apply an outcome, unchecked."""
    apply(tables[0], row[0], outcome)


def settle_one(tables, row, seed, episode, ply):
    """Play chance from the stream of a game's seed."""
    settle(tables[0], row[0], seed, episode, ply)


def payoffs(tables, row, out):
    """Write out[0]."""
    returns(tables[0], row[0], out, 0)


def view_of(tables, row, seat, observations):
    """Write observations[0] for any seat."""
    observe(tables[0], row[0], seat, observations, 0)


def redeal_one(tables, row, seat, key):
    """Redraw what the seat cannot know."""
    redeal(tables[0], row[0], seat, key)


# ------------------------------------------------------------------------------------------------- outer: many games


def first_illegal(masks, actions, games):
    """The first position g in `games` whose action is illegal, or -1."""
    for g in range(games.shape[0]):
        a = actions[g]
        if a < 0 or a >= masks.shape[1] or not masks[games[g], a]:
            return g
    return -1


def deal_all(tables, rows, clocks, initial, games, masks, observations, seats):
    """New games in these rows."""
    for g in range(games.shape[0]):
        i = games[g]
        deal(tables[0], rows, clocks, initial, i)
        write_views(tables[0], rows[i], masks, observations, seats, i)


def step_all(
    tables,
    rows,
    clocks,
    initial,
    games,
    actions,
    max_plies,
    masks,
    observations,
    seats,
    rewards,
    terminated,
    truncated,
    final_rows,
):
    """Play actions[g] in game games[g]; a game that ends leaves its last position in final_rows and is dealt anew."""
    for g in range(games.shape[0]):
        i = games[g]
        s = rows[i]
        apply(tables[0], s, actions[g])
        clocks[i].ply += 1
        settle(tables[0], s, clocks[i].seed, clocks[i].episode, clocks[i].ply)
        over = to_move(s) == TERMINAL
        cut = not over and max_plies > 0 and clocks[i].ply >= max_plies
        terminated[g] = over
        truncated[g] = cut
        if over:
            returns(tables[0], s, rewards, g)
        else:
            for p in range(rewards.shape[1]):
                rewards[g, p] = 0.0
        if over or cut:
            final_rows[i] = s
            clocks[i].episode += 1
            deal(tables[0], rows, clocks, initial, i)
        write_views(tables[0], s, masks, observations, seats, i)


def view_all(tables, rows, masks, observations, seats):
    """Mask, observation and seat of every game, from its row."""
    for i in range(rows.shape[0]):
        write_views(tables[0], rows[i], masks, observations, seats, i)


def observe_all(tables, rows, games, seats, observations):
    """Write observations[g]: what seats[g] sees of rows[games[g]]."""
    for g in range(games.shape[0]):
        observe(tables[0], rows[games[g]], seats[g], observations, g)


def stream_keys(clocks, games, purpose, by_ply, keys):
    """Write keys[g]: the key of game games[g] for a purpose, of this ply or of the whole game."""
    for g in range(games.shape[0]):
        c = clocks[games[g]]
        key = fold(fold(c.seed, c.episode), purpose)
        keys[g] = fold(key, c.ply) if by_ply else key


def random_all(masks, seeds, actions):
    """Write actions[b]: a legal action drawn uniformly by the row's seed; -1 where none is legal."""
    size = masks.shape[1]
    block = 16  # actions are skipped by blocks, whose sums are vector instructions
    for b in range(masks.shape[0]):
        count = 0
        for a in range(size):
            count += masks[b, a]
        if count == 0:
            actions[b] = -1
            continue
        pick = below(seeds[b], count)
        at = 0
        while at + block <= size:
            legal_here = 0
            for a in range(block):
                legal_here += masks[b, at + a]
            if pick < legal_here:
                break
            pick -= legal_here
            at += block
        skipped, seen = 0, 0  # within the block, without a branch that no processor can foresee
        for a in range(at, min(at + block, size)):
            seen += masks[b, a]
            skipped += seen <= pick
        actions[b] = at + skipped


def greedy_all(tables, rows, masks, seeds, lab, scores, actions):
    """Write actions[b]: a legal action of the highest score, ties drawn by the row's seed; -1 where none is legal.

    `scores` is scratch, float64[1, A].
    """
    for b in range(rows.shape[0]):
        greedy(tables[0], rows[b], lab, scores, 0)
        best, ties = 0.0, 0
        for a in range(masks.shape[1]):
            if masks[b, a]:
                if ties == 0 or scores[0, a] > best:
                    best, ties = scores[0, a], 1
                elif scores[0, a] == best:
                    ties += 1
        pick = below(seeds[b], ties)
        actions[b] = -1
        for a in range(masks.shape[1]):
            if masks[b, a] and scores[0, a] == best:
                if pick == 0:
                    actions[b] = a
                    break
                pick -= 1


def favour_all(tables, rows, masks, lab, scores, favoured):
    """Write favoured[b, a]: 1 for the legal actions that `greedy_all` draws from, else 0; `scores` is scratch, float64[1, A]."""
    for b in range(rows.shape[0]):
        greedy(tables[0], rows[b], lab, scores, 0)
        best = best_legal(masks, b, scores)
        for a in range(masks.shape[1]):
            favoured[b, a] = masks[b, a] and scores[0, a] == best


def advise_all(tables, rows, masks, lab, scores, advice):
    """Write advice[b, a], 0 to GRADES: how many grades the score of a legal action is above not being advised, rounded up; 0 for
    illegal ones. `scores` is scratch, float64[1, A].
    """
    for b in range(rows.shape[0]):
        advise(tables[0], rows[b], lab, scores, 0)
        best = best_legal(masks, b, scores)
        for a in range(masks.shape[1]):
            advice[b, a] = np.ceil(max(0.0, GRADES - (best - scores[0, a]))) if masks[b, a] else 0


OUTER = (
    start,
    seat_to_move,
    mask_of,
    play,
    chance_of,
    sample,
    play_chance,
    settle_one,
    payoffs,
    view_of,
    redeal_one,
    first_illegal,
    deal_all,
    step_all,
    view_all,
    observe_all,
    stream_keys,
    random_all,
    greedy_all,
    favour_all,
    advise_all,
)
