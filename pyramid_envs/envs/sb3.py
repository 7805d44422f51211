"""stable-baselines3: thousands of games as one VecEnv. N games, A actions. Needs the extra ``[train]``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyramid_envs.envs.learner import LearnerGames, Opponents
from pyramid_envs.envs.rendering import MANY_RENDER_MODES, RENDER_FPS, Picture, Renderer
from pyramid_envs.envs.spaces import action_space, observation_space
from pyramid_envs.errors import MissingExtraError
from pyramid_envs.game import Game
from pyramid_envs.registry import make_game

try:
    from stable_baselines3.common.vec_env import VecEnv
except ImportError as error:
    raise MissingExtraError('SB3VecEnv needs stable-baselines3: pip install "pyramid-envs[train]"') from error


class SB3VecEnv(VecEnv):
    """N games for a learner, as stable-baselines3 steps them; `SeatVectorEnv` says what a game is.

    sb3-contrib finds the masks by ``env_method("action_masks")``. ``infos[i]["action_mask"]`` (int8[A]) and
    ``infos[i]["seat"]`` belong to the observation that stands beside them; where a game ended there are ``terminal_observation``
    and ``TimeLimit.truncated`` besides, ``games_skipped`` and, if an illegal action ended it, ``illegal_action``.

    Args:
        game: a game, or its name.
        num_envs: N.
        opponents: see `SeatEnv`.
        seat: see `SeatEnv`.
        seed: of the first `reset`; None: drawn by the system. Later `seed(s)` does the same for the next `reset`.
        render_mode: ``"ansi"``, ``"svg"``, ``"rgb_array"`` or None; see `Renderer`. ``env_method("render")`` returns what each
            learner may see, and with ``"rgb_array"`` ``render()`` one image of all games.
        options: the game's, if `game` is a name.
    """

    def __init__(
        self,
        game: Game | str,
        num_envs: int,
        opponents: Opponents = "random",
        seat: int | None = None,
        seed: int | None = None,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        self.game = make_game(game, **options) if isinstance(game, str) else game
        self._renderer = Renderer(self.game, render_mode, MANY_RENDER_MODES)
        self.render_mode = render_mode
        self._games = LearnerGames(self.game, num_envs, opponents, seat)
        if render_mode is not None:
            self._games.watch()
        self._dealt = False
        self._actions = np.zeros(num_envs, np.int64)
        super().__init__(num_envs, observation_space(self.game), action_space(self.game))
        self.metadata = {**self.metadata, "render_fps": RENDER_FPS}  # type: ignore[dict-item]
        if seed is not None:
            self.seed(seed)

    def set_opponents(self, opponents: Opponents) -> None:
        """Who sits in the other seats of the games to come."""
        self._games.set_opponents(opponents)

    def action_masks(self) -> NDArray[np.bool_]:
        """bool[N, A], a new array: what the learners may do."""
        return self._games.masks

    def reset(self) -> NDArray[np.int8]:
        """Deal new games and play up to the learners' first decisions: int8[N, *observation_shape], a new array."""
        if self._seeds[0] is not None or not self._dealt:
            self._games.reset(None if self._seeds[0] is None else [seed for seed in self._seeds if seed is not None])
        else:
            self._games.abandon(np.arange(self.num_envs))
        self._dealt = True
        self._reset_seeds()
        self._reset_options()
        self.reset_infos = self._infos()
        for info, skipped in zip(self.reset_infos, self._games.skipped.tolist(), strict=True):
            info["games_skipped"] = skipped
        return self._games.observations

    def step_async(self, actions: NDArray[np.int64]) -> None:
        """Take the learners' int[N] actions."""
        chosen = np.asarray(actions)
        if chosen.size != self.num_envs or chosen.dtype.kind not in "iu":
            raise ValueError(f"actions must be int[{self.num_envs}], not {chosen.dtype} of shape {chosen.shape}")
        self._actions = chosen.astype(np.int64).reshape(self.num_envs)

    def step_wait(self) -> tuple[NDArray[np.int8], NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """Play them, then the opponents up to the learners' next decisions; new arrays."""
        outcome = self._games.step(self._actions, autoreset=True)
        infos = self._infos()
        for place in np.flatnonzero(outcome.ended).tolist():
            infos[place]["terminal_observation"] = outcome.final_observations[place]
            infos[place]["TimeLimit.truncated"] = bool(outcome.truncated[place])
            infos[place]["games_skipped"] = int(self._games.skipped[place])
            if outcome.illegal[place]:
                infos[place]["illegal_action"] = True
        return self._games.observations, outcome.rewards, outcome.ended, infos

    def _infos(self) -> list[dict[str, Any]]:
        masks = self._games.masks.view(np.int8)
        return [{"action_mask": mask, "seat": seat} for mask, seat in zip(masks, self._games.seats.tolist(), strict=True)]

    def close(self) -> None:
        """Nothing is held open; may be called at any time, repeatedly."""

    # --------------------------------------------------------------- what stable-baselines3 asks of single environments

    def _render_one(self, place: int) -> Picture | None:
        return self._renderer.picture(*self._games.seen(place))

    def get_images(self) -> Sequence[NDArray[np.uint8] | None]:
        """An image of what each learner may see."""
        if self.render_mode != "rgb_array":
            return [None] * self.num_envs
        return [self.game.image(*self._games.seen(place)) for place in range(self.num_envs)]

    def has_attr(self, attr_name: str) -> bool:
        """Whether the environments have an attribute or a method."""
        return attr_name == "action_masks" or hasattr(self, attr_name)

    def get_attr(self, attr_name: str, indices: int | Iterable[int] | None = None) -> list[Any]:
        """An attribute, once for each place; ``action_masks`` as a function."""
        places = list(self._get_indices(indices))
        if attr_name == "action_masks":
            return [lambda place=place: self._games.masks[place] for place in places]
        return [getattr(self, attr_name) for _ in places]

    def set_attr(self, attr_name: str, value: Any, indices: int | Iterable[int] | None = None) -> None:
        """Set an attribute, which all the games share."""
        setattr(self, attr_name, value)

    def env_method(
        self, method_name: str, *method_args: Any, indices: int | Iterable[int] | None = None, **method_kwargs: Any
    ) -> list[Any]:
        """Call ``action_masks`` or ``render`` for each place, or any other method once for all of them."""
        places: Sequence[int] = list(self._get_indices(indices))
        if method_name == "action_masks":
            masks = self._games.masks
            return [masks[place] for place in places]
        if method_name == "render":
            return [self._render_one(place) for place in places]
        return [getattr(self, method_name)(*method_args, **method_kwargs)] * len(places)

    def env_is_wrapped(self, wrapper_class: type[Any], indices: int | Iterable[int] | None = None) -> list[bool]:
        """Never: the games are not wrapped one by one."""
        return [False for _ in self._get_indices(indices)]
