"""Tree search: `mcts:N` decides by N simulated games from the present position.

Every simulation starts from a fresh `redeal` of what the deciding seat cannot know, so the tree is one of information sets: a
node stands for what the seat that decides there sees, and its averages run over all that it cannot see, chance included
(information-set search, Cowling, Powley and Whitehouse 2012). Within the tree actions are chosen by PUCT (Silver et al. 2017); of
the priors, one half goes to what the greedy agent would play there and one half to all actions alike. Below the tree greedy plays
on for as many turns as the game's card says, or to the end; where the game then goes on, its own estimate (its kernel `evaluate`)
stands for the outcome. Outcomes are kept for the seat that decides at a node, so turns of several actions and games of three or
four seats need nothing special. The answer is the action tried most often.

Letters: B rows, A actions, P seats, M nodes of a tree, D plies of a simulation within the tree.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyramid_envs.agents import Thought
from pyramid_envs.drivers import settle
from pyramid_envs.errors import AgentError
from pyramid_envs.game import Game, bind_drivers
from pyramid_envs.kernels import TERMINAL, apply, evaluate, greedy, legal, observe, redeal, returns, to_move
from pyramid_envs.rng import below, fold
from pyramid_envs.threads import split

EXPLORATION = 1.5  # weight of what was seldom tried, for payoffs from -1 to 1
GREEDY_SHARE = 0.5  # of the priors
TREE_PLIES = 64
PLAYOUT_PLIES = 200

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


def payoff_range(seats):
    """The difference between the highest and the lowest payoff."""
    return 1.0 + 1.0 / (seats - 1)


def choose(node, at, tries, totals, priors, exploration, untried, key):
    """The action of the highest upper bound; ties are drawn.

    An action never tried counts as good as its node, less `untried`. Illegal actions have priors below 0.
    """
    spread = exploration * np.sqrt(float(node.visits + 1))
    average = node.total / node.visits - untried if node.visits > 0 else 0.0
    best, ties, found = 0.0, 0, 0
    for a in range(priors.shape[1]):
        if priors[at, a] >= 0.0:
            mean = totals[at, a] / tries[at, a] if tries[at, a] > 0 else average
            bound = mean + spread * priors[at, a] / (1 + tries[at, a])
            if ties == 0 or bound > best:
                best, ties, found = bound, 1, a
            elif bound == best:
                ties += 1
                if below(fold(key, ties), ties) == 0:
                    found = a
    return found


def most_tried(tries, totals):
    """The action tried most often at the root, the best on average among several."""
    best = -1
    for a in range(tries.shape[1]):
        if tries[0, a] > 0 and (
            best < 0 or tries[0, a] > tries[0, best] or (tries[0, a] == tries[0, best] and totals[0, a] > totals[0, best])
        ):
            best = a
    return best


def greedy_choices(tables, s, masks, lab, scores):
    """Write masks[0], and the greedy agent's scores[0]; the highest of a legal action, and how many legal actions share it."""
    legal(tables, s, masks, 0)
    greedy(tables, s, lab, scores, 0)
    best, ties = 0.0, 0
    for a in range(masks.shape[1]):
        if masks[0, a]:
            if ties == 0 or scores[0, a] > best:
                best, ties = scores[0, a], 1
            elif scores[0, a] == best:
                ties += 1
    return best, ties


def expand(tables, s, at, masks, lab, scores, priors):
    """Write priors[at] for the position `s` of a new node."""
    best, ties = greedy_choices(tables, s, masks, lab, scores)
    count = 0
    for a in range(masks.shape[1]):
        count += int(masks[0, a])
    for a in range(masks.shape[1]):
        if not masks[0, a]:
            priors[at, a] = -1.0
        elif scores[0, a] == best:
            priors[at, a] = (1.0 - GREEDY_SHARE) / count + GREEDY_SHARE / ties
        else:
            priors[at, a] = (1.0 - GREEDY_SHARE) / count


def play_out(tables, s, turns, masks, lab, scores, outcome, key):
    """Let greedy play on from s, and write outcome[0]: the payoffs, or after so many turns what the game's estimate says."""
    mover = to_move(s)
    for ply in range(PLAYOUT_PLIES):
        seat = to_move(s)
        if seat != mover:
            turns -= 1
            mover = seat
        if turns <= 0 or seat == TERMINAL:
            break
        best, ties = greedy_choices(tables, s, masks, lab, scores)
        pick = below(fold(key, ply), ties)
        action = 0
        while not masks[0, action] or scores[0, action] != best or pick > 0:
            pick -= int(masks[0, action] and scores[0, action] == best)
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


def simulate(
    tables, games, turns, masks, observations, lab, scores, nodes, index, count, tries, totals, priors, path, outcome, key
):
    """Play one game from games[0] through the tree, add what it brought to the nodes it came through; the new number of nodes."""
    exploration = EXPLORATION * payoff_range(outcome.shape[1]) / 2
    depth = 0
    fresh = False
    while True:
        s = games[0]
        seat = to_move(s)
        if seat == TERMINAL:
            returns(tables, s, outcome, 0)
            break
        if fresh or depth == path.shape[0]:
            play_out(tables, s, turns, masks, lab, scores, outcome, fold(key, 1))
            break
        observe(tables, s, seat, observations, 0)
        at = find(nodes, index, count, information_set(observations, seat), seat, tries, totals)
        if at == count:
            count += 1
            fresh = depth > 0
            expand(tables, s, at, masks, lab, scores, priors)
        action = choose(nodes[at], at, tries, totals, priors, exploration, 0.0, fold(key, 3 + depth))
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
    tables,
    rows,
    seeds,
    simulations,
    turns,
    games,
    masks,
    observations,
    lab,
    scores,
    nodes,
    index,
    tries,
    totals,
    priors,
    path,
    outcome,
    actions,
):
    """Write actions[b]: what the search from rows[b] tried most often, and best on average among those.

    The rest is scratch: games, record[1]; masks, uint8[1, A]; observations, int8[1, ...]; lab, record[8]; scores, float64[1, A];
    nodes, NODE[M], M > simulations; index, int64[power of two above M], a hash table of nodes; tries, int32[M, A], totals,
    float64[M, A], and priors, float32[M, A]; path, int64[D, 2]; outcome, float64[1, P].
    """
    for b in range(rows.shape[0]):
        for slot in range(index.shape[0]):
            index[slot] = -1
        count = 0
        root_seat = to_move(rows[b])
        for n in range(simulations):
            key = fold(seeds[b], n)
            games[0] = rows[b]
            redeal(tables[0], games[0], root_seat, fold(key, 0))
            count = simulate(
                tables[0],
                games,
                turns,
                masks,
                observations,
                lab,
                scores,
                nodes,
                index,
                count,
                tries,
                totals,
                priors,
                path,
                outcome,
                key,
            )
        actions[b] = most_tried(tries, totals)


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
        actions = np.empty(len(rows), np.int64)

        def run(part: slice) -> None:
            self._run(rows[part], seeds[part], actions[part])

        split(run, len(rows), least=1)
        return actions

    def think(
        self,
        rows: NDArray[Any],
        observations: NDArray[np.int8],
        masks: NDArray[np.bool_],
        seats: NDArray[np.int64],
        seeds: NDArray[np.uint64],
    ) -> Thought:
        """The policy is the share of the simulations that began with an action, value and worth what they brought on average."""
        action = np.empty(1, np.int64)
        tries, totals = self._run(rows, seeds, action)
        worth = np.full(len(tries), np.nan)
        worth[tries > 0] = totals[tries > 0] / tries[tries > 0]
        return Thought(int(action[0]), tries / tries.sum(), float(totals.sum() / tries.sum()), worth)

    def _run(
        self, rows: NDArray[Any], seeds: NDArray[np.uint64], actions: NDArray[np.int64]
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Write actions[B]; int32[A], float64[A]: how often the last row's search tried every action, and what that brought."""
        game, size = self.game, self.simulations + 1
        tries, totals = np.empty((size, game.num_actions), np.int32), np.empty((size, game.num_actions), np.float64)
        _search(game)(
            game.tables,
            rows,
            seeds,
            self.simulations,
            game.card.playout_turns,
            np.zeros(1, game.row_dtype),
            np.empty((1, game.num_actions), np.uint8),
            np.empty((1, *game.observation_shape), np.int8),
            np.zeros(8, game.row_dtype),
            np.empty((1, game.num_actions), np.float64),
            np.empty(size, NODE),
            np.empty(1 << (2 * size - 1).bit_length(), np.int64),
            tries,
            totals,
            np.empty((size, game.num_actions), np.float32),
            np.empty((TREE_PLIES, 2), np.int64),
            np.empty((1, game.num_players), np.float64),
            actions,
        )
        return tries[0], totals[0]


INNER = (information_set, find, payoff_range, choose, most_tried, greedy_choices, expand, play_out, simulate)


def _search(game: Game) -> Any:
    return _bound(game.card.rules).search


@cache
def _bound(rules: Any) -> Any:
    return bind_drivers(rules, INNER, (search,), [Path(__file__)])
