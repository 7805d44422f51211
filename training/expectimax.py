"""What a position is worth by looking one turn ahead: at all that chance may bring, and at every action then.

A *node* is a position just after an action, before chance. It is looked at by its *viewer*, the seat that acted, and valued by a
network of what the viewer sees: what each seat will be paid, the viewer first. Looking ahead, the seat that decides after each
outcome of chance picks the action whose own node the network promises it most for, or whose payoff is highest where it ends the
game; the mean over the outcomes, with their probabilities, is a better estimate of the node (expectimax; with more than two seats
max^n, Luckhardt and Irani 1986). It owes nothing to the luck of a die, and on the way every action after every outcome has been
judged.

Letters: G nodes, O outcomes of the game's largest chance event (1 if it has none), A actions, P seats, R positions that the
actions lead to.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import pyramid_envs as pe
from pyramid_envs.game import bind_drivers
from pyramid_envs.kernels import CHANCE, TERMINAL, apply, chance, legal, observe, returns, to_move

CHUNK = 64  # nodes looked at together: their observations then stay in the processor's cache

# ------------------------------------------------------------------------------------------- compiled: loops around kernels


def play_all(tables, rows, actions, nodes):
    """Write nodes[g]: what actions[g] makes of rows[g], before chance."""
    for g in range(rows.shape[0]):
        nodes[g] = rows[g]
        apply(tables[0], nodes[g], actions[g])


def same_bytes(bytes_of, a, b):
    """Whether the rows a and b of an array of bytes are equal."""
    k = 0
    while k < bytes_of.shape[1] and bytes_of[a, k] == bytes_of[b, k]:
        k += 1
    return k == bytes_of.shape[1]


def expand_all(
    tables, nodes, lab, probs, seats, masks, observations, links, results, bytes_of, actors, over, outcome, payoffs, views
):
    """List what may follow the nodes.

    Write probs[g, o], and where that is not 0, with k = g * O + o: seats[k], who decides then, masks[k], observations[k], and
    links[k, a], the number of the position that action a leads to, -1 where it is illegal. Equal positions of a node have one
    number r. Write results[r], actors[r], who acted, over[r], payoffs[r, p] of the seat p places after the actor, and views[r],
    what the actor sees. `lab` (a row) and `outcome`, [1, P], are scratch; `bytes_of` are the bytes of `results`.

    Returns:
        The number of positions; -1 if a seat does not decide after some outcome.
    """
    num_outcomes, num_seats = probs.shape[1], payoffs.shape[1]
    count = 0
    for g in range(nodes.shape[0]):
        by_chance = to_move(nodes[g]) == CHANCE
        for o in range(num_outcomes):
            probs[g, o] = 0.0
        if by_chance:
            chance(tables[0], nodes[g], probs[g])
        else:
            probs[g, 0] = 1.0
        first = count
        for o in range(num_outcomes):
            k = g * num_outcomes + o
            for a in range(links.shape[1]):
                links[k, a] = -1
            if probs[g, o] == 0.0:
                continue
            lab[0] = nodes[g]
            if by_chance:
                apply(tables[0], lab[0], o)
            seat = to_move(lab[0])
            if seat < 0:
                return -1
            seats[k] = seat
            legal(tables[0], lab[0], masks, k)
            observe(tables[0], lab[0], seat, observations, k)
            for a in range(links.shape[1]):
                if not masks[k, a]:
                    continue
                results[count] = lab[0]
                apply(tables[0], results[count], a)
                r = first
                while r < count and not (actors[r] == seat and same_bytes(bytes_of, r, count)):
                    r += 1
                links[k, a] = r
                if r == count:
                    actors[r] = seat
                    over[r] = to_move(results[r]) == TERMINAL
                    returns(tables[0], results[r], outcome, 0)
                    for p in range(num_seats):
                        payoffs[r, p] = outcome[0, (seat + p) % num_seats]
                    observe(tables[0], results[r], seat, views, r)
                    count += 1
    return count


def back_up_all(probs, seats, links, values, viewers, worth, targets):
    """Write worth[k, a], what the seat that decides will be paid after action a, 0 where that is illegal, and targets[g, p], what
    the seat p places after the viewer will, given values[r, p], what the seat p places after the actor will.
    """
    num_outcomes, num_seats = probs.shape[1], targets.shape[1]
    for g in range(probs.shape[0]):
        for p in range(num_seats):
            targets[g, p] = 0.0
        for o in range(num_outcomes):
            k = g * num_outcomes + o
            best = -1
            for a in range(links.shape[1]):
                r = links[k, a]
                worth[k, a] = values[r, 0] if r >= 0 else 0.0
                if r >= 0 and (best < 0 or values[r, 0] > values[best, 0]):
                    best = r
            if best >= 0:
                for p in range(num_seats):
                    targets[g, p] += probs[g, o] * values[best, (viewers[g] + p - seats[k]) % num_seats]


@cache
def _drivers(rules: ModuleType) -> SimpleNamespace:
    return bind_drivers(rules, (same_bytes,), (play_all, expand_all, back_up_all), [Path(__file__)])


# ------------------------------------------------------------------------------------------------------------------ Python


class Ahead(NamedTuple):
    """What looking ahead from nodes has shown; new arrays."""

    seen: NDArray[np.int8]  # [G, *observation_shape], the nodes as their viewers see them
    targets: NDArray[np.float32]  # [G, P], what each seat will be paid, the viewer first
    probs: NDArray[np.float64]  # [G, O], of the outcomes
    # Where the probability is not 0:
    observations: NDArray[np.int8]  # [G, O, *observation_shape], of the seat that decides after the outcome
    masks: NDArray[np.bool_]  # [G, O, A], what it may do
    worth: NDArray[np.float32]  # [G, O, A], what it will be paid after each action; 0 for illegal ones


class Expectimax:
    """Looks one turn ahead.

    Args:
        game: in which nothing is hidden, and a seat decides after every chance event.

    Raises:
        ValueError: if something is hidden.
    """

    def __init__(self, game: pe.Game) -> None:
        if hasattr(game.card.rules, "redeal"):
            raise ValueError(f"in {game.name} something is hidden from a seat, which cannot look ahead at all that may follow")
        self.game = game
        self._drivers = _drivers(game.card.rules)
        self.num_outcomes = max(1, game.card.num_outcomes(game.options))
        cases = CHUNK * self.num_outcomes
        size = cases * game.num_actions
        self._lab = np.zeros(1, game.row_dtype)
        self._seats = np.zeros(cases, np.int64)
        self._links = np.zeros((cases, game.num_actions), np.int64)
        self._results = np.zeros(size, game.row_dtype)
        self._bytes = self._results.view(np.uint8).reshape(size, -1)
        self._actors = np.zeros(size, np.int64)
        self._over = np.zeros(size, np.bool_)
        self._outcome = np.zeros((1, game.num_players))
        self._payoffs = np.zeros((size, game.num_players), np.float32)
        self._views = np.zeros((size, *game.observation_shape), np.int8)

    def play(self, rows: NDArray[Any], actions: NDArray[np.int64]) -> NDArray[Any]:
        """record[G]: the nodes to which legal actions lead."""
        nodes = np.zeros(len(rows), self.game.row_dtype)
        self._drivers.play_all(self.game.tables, rows, actions, nodes)
        return nodes

    def look_ahead(
        self,
        nodes: NDArray[Any],
        viewers: NDArray[np.int64],
        evaluate: Callable[[NDArray[np.int8]], NDArray[np.float32]],
    ) -> Ahead:
        """See `Ahead`.

        Args:
            nodes: record[G], of games that go on.
            viewers: int64[G].
            evaluate: float32[R, P], what each seat will be paid, of int8[R, *observation_shape], nodes as their viewers see them.

        Raises:
            ValueError: if a chance event follows another, or ends the game.
        """
        game, shape = self.game, (len(nodes), self.num_outcomes)
        ahead = Ahead(
            np.empty((len(nodes), *game.observation_shape), np.int8),
            np.empty((len(nodes), game.num_players), np.float32),
            np.empty(shape, np.float64),
            np.zeros((*shape, *game.observation_shape), np.int8),
            np.zeros((*shape, game.num_actions), np.bool_),
            np.empty((*shape, game.num_actions), np.float32),
        )
        game.drivers.observe_all(game.tables, nodes, np.arange(len(nodes)), viewers, ahead.seen)
        for begin in range(0, len(nodes), CHUNK):
            part = slice(begin, begin + CHUNK)
            probs = ahead.probs[part]
            count = self._drivers.expand_all(
                game.tables,
                nodes[part],
                self._lab,
                probs,
                self._seats,
                ahead.masks[part].reshape(-1, game.num_actions).view(np.uint8),
                ahead.observations[part].reshape(-1, *game.observation_shape),
                self._links,
                self._results,
                self._bytes,
                self._actors,
                self._over,
                self._outcome,
                self._payoffs,
                self._views,
            )
            if count < 0:
                raise ValueError(
                    f"in {game.name} a seat does not decide after every outcome of chance: what follows cannot be listed"
                )
            values = np.where(self._over[:count, None], self._payoffs[:count], evaluate(self._views[:count]))
            worth = ahead.worth[part].reshape(-1, game.num_actions)
            self._drivers.back_up_all(probs, self._seats, self._links, values, viewers[part], worth, ahead.targets[part])
        return ahead
