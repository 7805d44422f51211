"""PettingZoo's agent-environment cycle: every seat of a game is an agent. A actions, P seats."""

from __future__ import annotations

import operator
import os
import sys
import types
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pettingzoo import AECEnv
from pettingzoo.utils.wrappers import BaseWrapper, OrderEnforcingWrapper

from pyramid_envs import rng
from pyramid_envs.card import Card
from pyramid_envs.envs.rendering import RENDER_FPS, RENDER_MODES, Picture, Renderer
from pyramid_envs.envs.spaces import action_space, mask_space, observation_space
from pyramid_envs.errors import IllegalActionError
from pyramid_envs.game import Game, Row
from pyramid_envs.kernels import CHANCE, TERMINAL
from pyramid_envs.registry import make_game


class GameEnv(AECEnv[str, dict[str, NDArray[np.int8]], int]):
    """A game for agents that each play a seat; chance is resolved inside.

    An observation is a dict of ``observation``, int8[observation_shape] from the agent's own point of view, and
    ``action_mask``, int8[A], all zero for agents that are not to move. The mask stands in ``infos[agent]["action_mask"]`` too.
    Rewards arrive at the end, for all seats at once. ``step`` with an illegal action raises `IllegalActionError` and changes
    nothing.

    ``reset(seed=s)`` deals the first game of the stream s, every further ``reset()`` the next one: the same games as
    ``Batch(game, 1, seed=s)`` plays.

    Args:
        game: from `make_game`.
        render_mode: ``"ansi"``, ``"svg"``, ``"rgb_array"``, ``"human"`` or None; see `Renderer`. All modes show the whole
            position, what is hidden from seats too, because the environment plays them all.
    """

    def __init__(self, game: Game, render_mode: str | None = None) -> None:
        super().__init__()
        self.game = game
        self.metadata = {
            "name": f"{game.name}_v{game.version}",
            "render_modes": RENDER_MODES,
            "render_fps": RENDER_FPS,
            "is_parallelizable": False,
        }
        self._renderer = Renderer(game, render_mode)
        self.render_mode = render_mode
        self.possible_agents = list(game.agents)
        self.agents: list[str] = []
        self.observation_spaces = {
            agent: spaces.Dict({"observation": observation_space(game), "action_mask": mask_space(game)})
            for agent in self.possible_agents
        }
        self.action_spaces = {agent: action_space(game) for agent in self.possible_agents}
        self.row = game.initial()
        self._last: tuple[bytes, int] | None = None  # the row before the last action, and that action
        self._seed: np.uint64 | None = None
        self._episode = self._ply = 0
        self._no_mask = np.zeros(game.num_actions, np.int8)
        self._mask = self._no_mask  # of the agent to move

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """What `observe` returns for this agent."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Discrete:
        """The actions' numbers."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Deal a game: with a seed the first of its stream, without one the next of the present stream.

        Without a seed ever given, the system draws one. ``options`` is part of PettingZoo's interface and not used.
        """
        if seed is not None:
            self._seed, self._episode = rng.seed_key(operator.index(seed)), 0
        elif self._seed is None:
            self._seed = rng.seed_key(int.from_bytes(os.urandom(8), "little"))
        else:
            self._episode += 1
        self._ply = 0
        self._skip_agent_selection = None
        self.row = self.game.initial()
        self._last = None
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self._settle()

    def step(self, action: int | None) -> None:
        """Play an action for ``agent_selection``; None for an agent whose game is over.

        Raises:
            IllegalActionError: if the action is not legal; nothing has changed.
        """
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        before = self.row.tobytes()
        self.game.apply(self.row, action)  # type: ignore[arg-type]
        self._last = before, operator.index(action)  # type: ignore[arg-type]
        self._ply += 1
        self._cumulative_rewards[agent] = 0.0
        self._settle()

    def _settle(self) -> None:
        """Play chance up to the next decision, and tell the agents what came of it."""
        game = self.game
        seat = game.to_move(self.row)
        if seat == CHANCE:
            game.drivers.settle_one(game.tables, self.row, self._seed, self._episode, self._ply)
            seat = game.to_move(self.row)
        self._mask = self._no_mask
        if seat == TERMINAL:
            self._end({name: float(pay) for name, pay in zip(self.agents, game.returns(self.row), strict=True)}, False)
        elif game.max_plies is not None and self._ply >= game.max_plies:
            self._end(dict.fromkeys(self.agents, 0.0), True)
        else:
            self._mask = game.legal_mask(self.row).view(np.int8)
            self.agent_selection = self.possible_agents[seat]
            self.infos = {agent: {"action_mask": self._mask_of(agent)} for agent in self.agents}
        if self.render_mode == "human":
            self._renderer.picture(self.row, None, self._last_action(), float(self.metadata["render_fps"]))  # type: ignore[arg-type]

    def _end(self, rewards: dict[str, float], truncated: bool, **info: Any) -> None:
        self.rewards = rewards
        self._accumulate_rewards()
        self.terminations = dict.fromkeys(self.agents, not truncated)
        self.truncations = dict.fromkeys(self.agents, truncated)
        self.infos = {agent: {"action_mask": self._no_mask.copy(), **info} for agent in self.agents}
        self.agent_selection = self.agents[0]

    def end_illegally(self) -> None:
        """End the game because ``agent_selection`` offers an illegal action: it gets -1, every other seat 1/(P-1)."""
        offender = self.agent_selection
        share = 1.0 / (self.game.num_players - 1)
        self._mask = self._no_mask
        self._cumulative_rewards[offender] = 0.0
        self._end({agent: -1.0 if agent == offender else share for agent in self.agents}, False, illegal_action=True)

    def _mask_of(self, agent: str) -> NDArray[np.int8]:
        return (self._mask if agent == self.agent_selection else self._no_mask).copy()

    def observe(self, agent: str) -> dict[str, NDArray[np.int8]]:
        """What an agent sees now, its own seat first; new arrays."""
        seat = self.possible_agents.index(agent)
        return {"observation": self.game.observe(self.row, seat), "action_mask": self._mask_of(agent)}

    def render(self) -> Picture | None:
        """The whole position in the way of ``render_mode``; in a window it is shown by `reset` and `step` already."""
        return self._renderer.picture(self.row, None, self._last_action())

    def _last_action(self) -> tuple[Row, int] | None:
        return None if self._last is None else (np.frombuffer(self._last[0], self.row.dtype), self._last[1])

    def _repr_svg_(self) -> str:
        return str(self.game.svg(self.row, None, self._last_action()))

    def close(self) -> None:
        """Close the window, if there is one; may be called at any time, repeatedly."""
        self._renderer.close()


class IllegalActionLoses(BaseWrapper[str, dict[str, NDArray[np.int8]], int]):
    """Ends the game when an agent plays an illegal action: the offender gets -1, every other seat 1/(P-1).

    ``infos[agent]["illegal_action"]`` is True then, for every agent. What is no whole number at all is a mistake in the program,
    and raises.
    """

    def step(self, action: int | None) -> None:
        """See `GameEnv.step`."""
        try:
            super().step(action)
        except IllegalActionError:
            operator.index(action)  # type: ignore[arg-type]
            self.unwrapped.end_illegally()


class InOrder(OrderEnforcingWrapper[str, dict[str, NDArray[np.int8]], int]):
    """Refuses calls in an order that makes no sense; in a notebook it shows the position."""

    def _repr_svg_(self) -> str:
        return str(self.unwrapped._repr_svg_())


def aec_env(name: str, render_mode: str | None = None, **options: Any) -> InOrder:
    """A game as a PettingZoo environment in which an illegal action loses the game.

    Args:
        name: as for `make_game`.
        render_mode: see `GameEnv`.
        options: the game's.
    """
    return InOrder(IllegalActionLoses(GameEnv(make_game(name, **options), render_mode)))


def add_module(card: Card, package: str) -> None:
    """Make ``pyramid_envs.treehouse_v0`` importable: a module of ``env`` and ``raw_env`` as PettingZoo's games have them."""
    module = types.ModuleType(f"{package}.{card.name}_v{card.version}", f"{card.title} for PettingZoo: `env` and `raw_env`.")

    def env(render_mode: str | None = None, **options: Any) -> InOrder:
        """The environment for agents; see `pyramid_envs.aec_env`."""
        return aec_env(card.name, render_mode, **options)

    def raw_env(render_mode: str | None = None, **options: Any) -> GameEnv:
        """The environment bare: an illegal action raises; see `GameEnv`."""
        return GameEnv(make_game(card.name, **options), render_mode)

    module.env, module.raw_env = env, raw_env  # type: ignore[attr-defined]
    sys.modules[module.__name__] = module
    setattr(sys.modules[package], module.__name__.rpartition(".")[2], module)
