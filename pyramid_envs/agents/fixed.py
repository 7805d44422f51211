"""Agents that do not learn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyramid_envs.agents import Thought
from pyramid_envs.game import Game
from pyramid_envs.kernels import GRADES
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

    def favourites(self, rows: NDArray[Any], masks: NDArray[np.bool_]) -> NDArray[np.int8]:
        """int8[B, A]: 1 for every action that it might play, else 0."""
        return _weigh(self.game, self.game.drivers.favour_all, rows, masks)


class Adviser:
    """Tells what a game advises: by its kernel `advise`, or without one what greedy might play."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self._thinks = hasattr(game.card.rules, "advise")

    def advise(self, rows: NDArray[Any], masks: NDArray[np.bool_]) -> NDArray[np.int8]:
        """int8[B, A]: GRADES for what is best or less than a grade worse, less for what is less good, 0 for what is not advised.

        Args:
            rows: [B], the positions; what is hidden from the seats to move does not matter.
            masks: bool[B, A], what those may do.
        """
        if self._thinks:
            return _weigh(self.game, self.game.drivers.advise_all, rows, masks)
        return _weigh(self.game, self.game.drivers.favour_all, rows, masks) * np.int8(GRADES)


def _weigh(game: Game, driver: Callable[..., None], rows: NDArray[Any], masks: NDArray[np.bool_]) -> NDArray[np.int8]:
    weighed = np.empty(masks.shape, np.int8)
    bits = masks.view(np.uint8)

    def run(part: slice) -> None:
        lab = np.zeros(8, game.row_dtype)
        driver(game.tables, rows[part], bits[part], lab, np.empty((1, game.num_actions)), weighed[part])

    split(run, len(masks))
    return weighed
