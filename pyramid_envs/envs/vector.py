"""Gymnasium's vector environment, native: thousands of games in one call. N games, A actions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from pyramid_envs.envs.learner import LearnerGames, Opponents
from pyramid_envs.envs.rendering import MANY_RENDER_MODES, RENDER_FPS, Renderer
from pyramid_envs.envs.spaces import action_space, observation_space
from pyramid_envs.game import Game
from pyramid_envs.registry import make_game


class SeatVectorEnv(VectorEnv[NDArray[np.int8], NDArray[np.int64], NDArray[Any]]):
    """N games for a learner; ``gymnasium.make_vec("pyramid_envs/Treehouse-v0", num_envs=N, opponents=..., seat=...)``.

    As `SeatEnv`, N times: game i of ``reset(seed=s)`` is the game of `SeatEnv` seeded ``s + i``. A game that ends is followed by
    the next one in the same step (``AutoresetMode.SAME_STEP``): the observation is then the new game's, and ``info["final_obs"]``
    and ``info["final_info"]`` hold the end of the old one, as in Gymnasium's own vector environments.

    Args:
        game: a game, or its name.
        num_envs: N.
        opponents: see `SeatEnv`.
        seat: see `SeatEnv`.
        render_mode: ``"ansi"``, ``"svg"``, ``"rgb_array"`` or None; see `Renderer`.
        options: the game's, if `game` is a name.
    """

    def __init__(
        self,
        game: Game | str,
        num_envs: int = 1,
        opponents: Opponents = "random",
        seat: int | None = None,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        self.game = make_game(game, **options) if isinstance(game, str) else game
        self._renderer = Renderer(self.game, render_mode, MANY_RENDER_MODES)
        self.render_mode = render_mode
        self.num_envs = num_envs
        self.metadata = {"render_modes": MANY_RENDER_MODES, "render_fps": RENDER_FPS, "autoreset_mode": AutoresetMode.SAME_STEP}
        self.single_observation_space = observation_space(self.game)
        self.single_action_space = action_space(self.game)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._games = LearnerGames(self.game, num_envs, opponents, seat)
        if render_mode is not None:
            self._games.watch()
        self._dealt = False

    def set_opponents(self, opponents: Opponents) -> None:
        """Who sits in the other seats of the games to come."""
        self._games.set_opponents(opponents)

    def action_masks(self) -> NDArray[np.bool_]:
        """bool[N, A], a new array: what the learners may do."""
        return self._games.masks

    def reset(
        self, *, seed: int | Sequence[int] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.int8], dict[str, Any]]:
        """Deal new games and play up to the learners' first decisions. ``options`` is not used.

        Args:
            seed: one seed (game i gets ``seed + i``), or one for each game, or None: the next games of the present streams.
            options: part of Gymnasium's interface.
        """
        super().reset(seed=seed if isinstance(seed, int) else None)
        if seed is not None or not self._dealt:
            self._games.reset(seed)
        else:
            self._games.abandon(np.arange(self.num_envs))
        self._dealt = True
        everywhere = np.ones(self.num_envs, np.bool_)
        return self._games.observations, self._info(games_skipped=self._games.skipped.copy(), _games_skipped=everywhere)

    def step(
        self, actions: NDArray[np.int64]
    ) -> tuple[NDArray[np.int8], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Play the learners' int[N] actions, then the opponents up to the learners' next decisions."""
        chosen = np.asarray(actions)
        if chosen.shape != (self.num_envs,) or chosen.dtype.kind not in "iu":
            raise ValueError(f"actions must be int[{self.num_envs}], not {chosen.dtype} of shape {chosen.shape}")
        seats = self._games.seats.copy()
        outcome = self._games.step(chosen.astype(np.int64, copy=False), autoreset=True)
        ended = outcome.ended
        info = self._info()
        if ended.any():
            info["games_skipped"], info["_games_skipped"] = np.where(ended, self._games.skipped, 0), ended.copy()
            final_observations = np.full(self.num_envs, None, object)
            for place, observation in outcome.final_observations.items():
                final_observations[place] = observation
            info["final_obs"], info["_final_obs"] = final_observations, ended.copy()
            final = {
                "action_mask": np.zeros((self.num_envs, self.game.num_actions), np.int8),
                "_action_mask": ended.copy(),
                "seat": np.where(ended, seats, 0),
                "_seat": ended.copy(),
            }
            if outcome.illegal.any():
                final["illegal_action"], final["_illegal_action"] = outcome.illegal, outcome.illegal.copy()
            info["final_info"], info["_final_info"] = final, ended.copy()
        return self._games.observations, outcome.rewards.astype(np.float64), outcome.terminated, outcome.truncated, info

    def _info(self, **more: Any) -> dict[str, Any]:
        everywhere = np.ones(self.num_envs, np.bool_)
        return {
            "action_mask": self.action_masks().view(np.int8),
            "_action_mask": everywhere,
            "seat": self._games.seats.copy(),
            "_seat": everywhere.copy(),
            **more,
        }

    def render(self) -> tuple[Any, ...] | None:
        """What each learner may see of its position, in the way of ``render_mode``."""
        if self.render_mode is None:
            return None
        return tuple(self._renderer.picture(*self._games.seen(i)) for i in range(self.num_envs))
