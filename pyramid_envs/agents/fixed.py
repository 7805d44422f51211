"""Agents that do not learn."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyramid_envs.agents import Thought
from pyramid_envs.game import Game
from pyramid_envs.threads import split


class RandomAgent:
    """Plays every legal action equally often."""

    name = "random"

    def __init__(self, game: Game) -> None:
        self.game = game

    def act(
        self,
        rows: NDArray[Any],
        observations: NDArray[np.int8],
        masks: NDArray[np.bool_],
        seats: NDArray[np.int64],
        seeds: NDArray[np.uint64],
    ) -> NDArray[np.int64]:
        """See `pyramid_envs.agents.Agent`."""
        actions = np.empty(len(masks), np.int64)
        bits = masks.view(np.uint8)
        split(lambda part: self.game.drivers.random_all(bits[part], seeds[part], actions[part]), len(masks))
        return actions

    def think(
        self,
        rows: NDArray[Any],
        observations: NDArray[np.int8],
        masks: NDArray[np.bool_],
        seats: NDArray[np.int64],
        seeds: NDArray[np.uint64],
    ) -> Thought:
        """The policy is the probability of every action."""
        return Thought(int(self.act(rows, observations, masks, seats, seeds)[0]), masks[0] / masks[0].sum())


class GreedyAgent:
    """Looks one turn ahead and plays what the game's own yardstick likes best; ties are drawn."""

    name = "greedy"

    def __init__(self, game: Game) -> None:
        self.game = game

    def act(
        self,
        rows: NDArray[Any],
        observations: NDArray[np.int8],
        masks: NDArray[np.bool_],
        seats: NDArray[np.int64],
        seeds: NDArray[np.uint64],
    ) -> NDArray[np.int64]:
        """See `pyramid_envs.agents.Agent`."""
        actions = np.empty(len(masks), np.int64)
        bits = masks.view(np.uint8)

        def run(part: slice) -> None:
            lab = np.zeros(8, self.game.row_dtype)
            scores = np.empty((1, self.game.num_actions))
            self.game.drivers.greedy_all(self.game.tables, rows[part], bits[part], seeds[part], lab, scores, actions[part])

        split(run, len(masks))
        return actions

    def advise(self, rows: NDArray[Any], masks: NDArray[np.bool_]) -> NDArray[np.int8]:
        """int8[B, A]: 1 for every action that it might play, else 0."""
        advice = np.empty(masks.shape, np.int8)
        bits = masks.view(np.uint8)

        def run(part: slice) -> None:
            lab = np.zeros(8, self.game.row_dtype)
            scores = np.empty((1, self.game.num_actions))
            self.game.drivers.advise_all(self.game.tables, rows[part], bits[part], lab, scores, advice[part])

        split(run, len(masks))
        return advice
