"""Perfect play, where it is known: Treehouse for 2 seats."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyramid_envs.agents import Thought
from pyramid_envs.errors import AgentError
from pyramid_envs.game import Game
from pyramid_envs.solve import treehouse
from pyramid_envs.threads import split


class OptimalAgent:
    """Plays the best action by the game's exact solution; of several equally good ones, the first.

    Only Treehouse for 2 seats is solved. When the first action is asked for, the solution is read from the user's cache folder,
    or found, which takes some seconds on all cores, and kept there (see `python -m pyramid_envs.solve treehouse --help`). It is
    that of the game without a limit: how near `max_plies` is plays no part.

    Args:
        game: the game it plays.

    Raises:
        AgentError: for any other game.
    """

    name = "optimal"

    def __init__(self, game: Game) -> None:
        if not treehouse.solvable(game):
            seats = f"{game.num_players} seats"
            raise AgentError(f"the agent optimal plays only treehouse with 2 seats, not {game.name} with {seats}")
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
        values = treehouse.known_solution(self.game).values
        actions = np.empty(len(masks), np.int64)
        bits = masks.view(np.uint8)

        def run(part: slice) -> None:
            actions[part] = treehouse.best_actions(self.game, values, rows[part], bits[part])[0]

        split(run, len(masks))
        return actions

    def think(
        self,
        rows: NDArray[Any],
        observations: NDArray[np.int8],
        masks: NDArray[np.bool_],
        seats: NDArray[np.int64],
        seeds: NDArray[np.uint64],
    ) -> Thought:
        """Value and worth are exact, for best play of both seats."""
        values = treehouse.known_solution(self.game).values
        legal = np.flatnonzero(masks[0])
        alone = np.zeros((len(legal), masks.shape[1]), np.uint8)
        alone[np.arange(len(legal)), legal] = 1
        worth = np.full(masks.shape[1], np.nan)
        worth[legal] = treehouse.best_actions(self.game, values, np.repeat(rows, len(legal)), alone)[1]
        action = int(self.act(rows, observations, masks, seats, seeds)[0])
        return Thought(action, value=float(worth[action]), worth=worth)
