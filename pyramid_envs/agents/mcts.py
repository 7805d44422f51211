"""Tree search: `mcts:N` decides by N simulated games from the present position.

Every simulation starts from a fresh `redeal` of what the deciding seat cannot know, so the tree is one of information sets: a
node stands for what the seat that decides there sees, and its averages run over all that it cannot see, chance included
(information-set search, Cowling, Powley and Whitehouse 2012). Within the tree actions are chosen by PUCT with equal priors
(Silver et al. 2017); below it by chance, until the game ends or, after as many plies as the game's card says, its own estimate
(its kernel `evaluate`) stands for the outcome. Outcomes are kept for the seat that decides at a node, so turns of several actions
and games of three or four seats need nothing special. The answer is the action tried most often.

Letters: B rows, A actions, P seats, M nodes of a tree, D plies of a simulation within the tree.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyramid_envs.drivers import settle
from pyramid_envs.errors import AgentError
from pyramid_envs.game import Game, bind_drivers
from pyramid_envs.kernels import TERMINAL, apply, evaluate, legal, observe, redeal, returns, to_move
from pyramid_envs.rng import below, fold
from pyramid_envs.threads import split

EXPLORATION = 1.5  # weight of what was seldom tried
TREE_PLIES = 64

# What is known of a node, beside its actions' counts: its information set, who decides, visits, and what they brought that seat.
NODE = np.dtype((np.record, [("key", np.uint64), ("seat", np.int64), ("visits", np.int64), ("total", np.float64)]))


def information_set(observations, seat):
    """A 64-bit number for what `seat` sees, observations[0]."""
    key = fold(np.uint64(0), seat)
    word, filled = np.uint64(0), 0
    for value in observations[0].flat:
        word = (word << np.uint64(8)) | np.uint64(value & 0xFF)
        filled += 1
        if filled == 8:
            key = fold(key ^ word, 0)
            word, filled = np.uint64(0), 0
    return fold(key ^ word, filled)


def find(nodes, index, count, key, seat, tries, totals):
    """The number of the node of this key; `count` if there was none and one has been made."""
    slots = np.uint64(index.shape[0] - 1)
    slot = key & slots
    while index[slot] >= 0:
        if nodes[index[slot]].key == key:
            return index[slot]
        slot = (slot + np.uint64(1)) & slots
    index[slot] = count
    nodes[count].key = key
    nodes[count].seat = seat
    nodes[count].visits = 0
    nodes[count].total = 0.0
    for a in range(tries.shape[1]):
        tries[count, a] = 0
        totals[count, a] = 0.0
    return count


def choose(node, at, tries, totals, masks, key):
    """The legal action of the highest upper bound; one never tried counts as good as its node; ties are drawn."""
    count = 0
    for a in range(masks.shape[1]):
        count += masks[0, a]
    spread = EXPLORATION * np.sqrt(float(node.visits + 1)) / count
    average = node.total / node.visits if node.visits > 0 else 0.0
    best, ties, found = 0.0, 0, 0
    for a in range(masks.shape[1]):
        if masks[0, a]:
            mean = totals[at, a] / tries[at, a] if tries[at, a] > 0 else average
            bound = mean + spread / (1 + tries[at, a])
            if ties == 0 or bound > best:
                best, ties, found = bound, 1, a
            elif bound == best:
                ties += 1
                if below(fold(key, ties), ties) == 0:
                    found = a
    return found


def play_out(tables, s, plies, masks, outcome, key):
    """Play at random from s, and write outcome[0]: the payoffs, or after many plies what the game's estimate makes of them."""
    for ply in range(plies):
        if to_move(s) == TERMINAL:
            break
        legal(tables, s, masks, 0)
        count = 0
        for a in range(masks.shape[1]):
            count += masks[0, a]
        pick = below(fold(key, ply), count)
        action = 0
        while pick >= masks[0, action]:
            pick -= masks[0, action]
            action += 1
        apply(tables, s, action)
        settle(tables, s, key, 1, ply)
    if to_move(s) == TERMINAL:
        returns(tables, s, outcome, 0)
        return
    evaluate(tables, s, outcome, 0)
    seats = outcome.shape[1]
    weight = 0.0
    for p in range(seats):
        weight += outcome[0, p]
    for p in range(seats):  # a share of the wins, as a payoff
        outcome[0, p] = (seats * outcome[0, p] / weight - 1.0) / (seats - 1)


def simulate(tables, lab, playout_plies, masks, observations, nodes, index, count, tries, totals, path, outcome, key):
    """Play one game from lab[0] through the tree, add what it brought to the nodes it came through; the new number of nodes."""
    depth = 0
    fresh = False
    while True:
        s = lab[0]
        seat = to_move(s)
        if seat == TERMINAL:
            returns(tables, s, outcome, 0)
            break
        if fresh or depth == path.shape[0]:
            play_out(tables, s, playout_plies, masks, outcome, fold(key, 1))
            break
        observe(tables, s, seat, observations, 0)
        at = find(nodes, index, count, information_set(observations, seat), seat, tries, totals)
        if at == count:
            count += 1
            fresh = depth > 0
        legal(tables, s, masks, 0)
        action = choose(nodes[at], at, tries, totals, masks, fold(key, 3 + depth))
        path[depth, 0] = at
        path[depth, 1] = action
        depth += 1
        apply(tables, s, action)
        settle(tables, s, fold(key, 2), 0, depth)
    for k in range(depth):
        at, action = path[k, 0], path[k, 1]
        value = outcome[0, nodes[at].seat]
        nodes[at].visits += 1
        nodes[at].total += value
        tries[at, action] += 1
        totals[at, action] += value
    return count


def search(
    tables, rows, seeds, simulations, playout_plies, lab, masks, observations, nodes, index, tries, totals, path, outcome, actions
):
    """Write actions[b]: what the search from rows[b] tried most often, and best on average among those.

    The rest is scratch: lab, record[1]; masks, uint8[1, A]; observations, int8[1, ...]; nodes, NODE[M], M > simulations; index,
    int64[power of two above M], a hash table of nodes; tries, int64[M, A], and totals, float64[M, A]; path, int64[D, 2]; outcome,
    float64[1, P].
    """
    for b in range(rows.shape[0]):
        for slot in range(index.shape[0]):
            index[slot] = -1
        count = 0
        root_seat = to_move(rows[b])
        for n in range(simulations):
            key = fold(seeds[b], n)
            lab[0] = rows[b]
            redeal(tables[0], lab[0], root_seat, fold(key, 0))
            count = simulate(
                tables[0], lab, playout_plies, masks, observations, nodes, index, count, tries, totals, path, outcome, key
            )
        best = -1
        for a in range(tries.shape[1]):
            if tries[0, a] > 0 and (
                best < 0 or tries[0, a] > tries[0, best] or (tries[0, a] == tries[0, best] and totals[0, a] > totals[0, best])
            ):
                best = a
        actions[b] = best


class MCTSAgent:
    """Searches from each row by itself.

    Args:
        game: the game it plays.
        simulations: N, at least 1.
    """

    def __init__(self, game: Game, simulations: int) -> None:
        if simulations < 1:
            raise AgentError(f"mcts needs at least 1 simulation, not {simulations}")
        self.game = game
        self.simulations = simulations
        self.name = f"mcts:{simulations}"

    def act(
        self,
        rows: NDArray[Any],
        observations: NDArray[np.int8],
        masks: NDArray[np.bool_],
        seats: NDArray[np.int64],
        seeds: NDArray[np.uint64],
    ) -> NDArray[np.int64]:
        """See `pyramid_envs.agents.Agent`."""
        game, size = self.game, self.simulations + 1
        driver = _search(game)
        actions = np.empty(len(rows), np.int64)

        def run(part: slice) -> None:
            driver(
                game.tables,
                rows[part],
                seeds[part],
                self.simulations,
                game.card.playout_plies,
                np.zeros(1, game.row_dtype),
                np.empty((1, game.num_actions), np.uint8),
                np.empty((1, *game.observation_shape), np.int8),
                np.empty(size, NODE),
                np.empty(1 << (2 * size - 1).bit_length(), np.int64),
                np.empty((size, game.num_actions), np.int64),
                np.empty((size, game.num_actions), np.float64),
                np.empty((TREE_PLIES, 2), np.int64),
                np.empty((1, game.num_players), np.float64),
                actions[part],
            )

        split(run, len(rows), least=1)
        return actions


def _search(game: Game) -> Any:
    return _bound(game.card.rules).search


@cache
def _bound(rules: Any) -> Any:
    return bind_drivers(rules, (information_set, find, choose, play_out, simulate), (search,), [Path(__file__)])
