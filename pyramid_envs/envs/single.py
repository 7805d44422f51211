"""Gymnasium: one seat is the learner's, agents play the others inside `step`. A actions."""

from __future__ import annotations

import operator
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from pyramid_envs.envs.learner import LearnerGames, Opponents
from pyramid_envs.envs.rendering import RENDER_FPS, RENDER_MODES, Picture, Renderer
from pyramid_envs.envs.spaces import action_space, observation_space
from pyramid_envs.game import Game, Row
from pyramid_envs.registry import make_game


class SeatEnv(gymnasium.Env[NDArray[np.int8], int]):
    """A game for one learner; ``gymnasium.make("pyramid_envs/Treehouse-v0", opponents=..., seat=...)``.

    Observations are int8[observation_shape], without the mask; that is in ``info["action_mask"]``, int8[A], and `action_masks`
    returns it as sb3-contrib wants it. Further info: ``seat``, the learner's; ``games_skipped``, how many games ended before its
    first decision and were dealt again; ``illegal_action`` (True) where an illegal action ended the game, with -1.

    ``reset(seed=s)`` deals the first game of the stream s, every further ``reset()`` the next.

    Args:
        game: a game, or its name.
        opponents: an agent's name (see `make_agent`), an agent, or a list of them, of which each game draws one for all the other
            seats.
        seat: the learner's; None: drawn for each game.
        render_mode: ``"ansi"``, ``"svg"``, ``"rgb_array"``, ``"human"`` or None; see `Renderer`. All modes show what the learner
            may see.
        options: the game's, if `game` is a name.
    """

    metadata = {"render_modes": RENDER_MODES, "render_fps": RENDER_FPS}  # noqa: RUF012  (Gymnasium's own way)

    def __init__(
        self,
        game: Game | str,
        opponents: Opponents = "random",
        seat: int | None = None,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        self.game = make_game(game, **options) if isinstance(game, str) else game
        self._renderer = Renderer(self.game, render_mode)
        self.render_mode = render_mode
        self.observation_space = observation_space(self.game)  # type: ignore[assignment]
        self.action_space = action_space(self.game)  # type: ignore[assignment]
        self._games = LearnerGames(self.game, 1, opponents, seat)
        self._games.watch()
        self._place = np.zeros(1, np.int64)
        self._dealt = self._over = False

    def set_opponents(self, opponents: Opponents) -> None:
        """Who sits in the other seats of the games to come."""
        self._games.set_opponents(opponents)

    def action_masks(self) -> NDArray[np.bool_]:
        """bool[A], a new array: what the learner may do; all False once the game is over."""
        return self._games.masks[0] if not self._over else np.zeros(self.game.num_actions, np.bool_)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[NDArray[np.int8], dict[str, Any]]:
        """Deal a game and play up to the learner's first decision; see the class. ``options`` is not used."""
        super().reset(seed=seed)
        if seed is not None or not self._dealt:
            self._games.reset(seed)
        elif self._over:
            self._games.begin(self._place)
        else:
            self._games.abandon(self._place)
        self._dealt, self._over = True, False
        self._show()
        return self._games.observations[0], self._info(games_skipped=int(self._games.skipped[0]))

    def step(self, action: int) -> tuple[NDArray[np.int8], float, bool, bool, dict[str, Any]]:
        """Play the learner's action, then the opponents' up to the learner's next decision or the end."""
        if not self._dealt or self._over:
            raise gymnasium.error.ResetNeeded("no game is going on: call reset() first")
        outcome = self._games.step(np.array([operator.index(action)]), autoreset=False)
        self._over = bool(outcome.ended[0])
        info = self._info()
        if outcome.illegal[0]:
            info["illegal_action"] = True
        self._show()
        observation = outcome.final_observations[0] if self._over else self._games.observations[0]
        return observation, float(outcome.rewards[0]), bool(outcome.terminated[0]), bool(outcome.truncated[0]), info

    def _info(self, **more: Any) -> dict[str, Any]:
        return {"action_mask": self.action_masks().view(np.int8), "seat": int(self._games.seats[0]), **more}

    def _show(self) -> None:
        if self.render_mode == "human":
            self._renderer.picture(*self._seen(), self.metadata["render_fps"])

    def _seen(self) -> tuple[Row, int, tuple[Row, int] | None]:
        """The position, the learner's seat, and the last action with the row before it."""
        batch = self._games.batch
        return (batch.final_rows if self._over else batch.rows)[:1], int(self._games.seats[0]), self._games.last(0)

    def render(self) -> Picture | None:
        """What the learner may see, in the way of ``render_mode``; in a window it is shown by `reset` and `step` already."""
        return self._renderer.picture(*self._seen())

    def _repr_svg_(self) -> str:
        return str(self.game.svg(*self._seen()))

    def close(self) -> None:
        """Close the window, if there is one; may be called at any time, repeatedly."""
        self._renderer.close()
