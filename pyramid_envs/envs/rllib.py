"""RLlib: every seat of a game as an agent of a `MultiAgentEnv`. A actions, P seats. Needs the extra ``[distributed]``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyramid_envs.envs.aec import GameEnv, aec_env
from pyramid_envs.envs.rendering import Picture
from pyramid_envs.errors import MissingExtraError, OptionError

try:
    from ray.rllib.env.multi_agent_env import MultiAgentEnv
except ImportError as error:
    raise MissingExtraError(
        f'RLlibEnv needs ray with RLlib and torch: pip install "pyramid-envs[distributed,train]" ({error})'
    ) from error

Observation = dict[str, NDArray[np.int8]]


class RLlibEnv(MultiAgentEnv):
    """A game of `pyramid_envs.aec_env` for RLlib's new API stack.

    ``PPOConfig().environment(RLlibEnv, env_config={"game": "treehouse", "num_players": 3})``

    Only the agent to move has an observation: a dict of ``observation``, int8[observation_shape], and ``action_mask``, int8[A].
    With the last step of a game every agent gets its last observation, the mask all zero, and its payoff: RLlib adds that to the
    agent's last action, be it long ago. ``reset(seed=s)`` deals the first game of the stream s, every further ``reset()`` the
    next one. An illegal action ends the game: the offender gets -1, every other agent 1/(P-1), and ``infos[agent]`` holds
    ``illegal_action``. A game that ends before anybody decides is followed at once by the next of its stream.

    Args:
        config: ``game``, a name as `make_game` takes it; ``render_mode``, see `GameEnv`; and the game's options.
    """

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        options = dict(config or {})
        if "game" not in options:
            raise OptionError('RLlibEnv must be told what to play: env_config={"game": "treehouse"}')
        self.env = aec_env(options.pop("game"), **options)
        self.game = self._aec.game
        self.metadata = self._aec.metadata
        self.render_mode = self._aec.render_mode
        self.possible_agents = list(self._aec.possible_agents)
        self.agents = list(self.possible_agents)
        self.observation_spaces = dict(self._aec.observation_spaces)
        self.action_spaces = dict(self._aec.action_spaces)
        super().__init__()

    @property
    def _aec(self) -> GameEnv:
        found: GameEnv = self.env.unwrapped
        return found

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Observation], dict[str, dict[str, Any]]]:
        """Deal a game; what the first agent to move sees, and nothing about it."""
        self.env.reset(seed=seed)
        while self._is_over():
            self.env.reset()
        agent = self._aec.agent_selection
        return {agent: self._aec.observe(agent)}, {agent: {}}

    def step(
        self, action_dict: Mapping[str, int]
    ) -> tuple[dict[str, Observation], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        """Play the action of the agent to move.

        Returns:
            Observations, rewards, whether the rules have ended the game, whether ``max_plies`` has, and infos; by agent.
        """
        agent = self._aec.agent_selection
        if set(action_dict) != {agent}:
            raise ValueError(f"{agent} is to move, alone; these are actions of {', '.join(action_dict) or 'nobody'}")
        self.env.step(int(action_dict[agent]))
        over = self._is_over()
        seen = self.possible_agents if over else [self._aec.agent_selection]
        illegal = over and "illegal_action" in self._aec.infos[agent]
        terminated, truncated = self._aec.terminations[agent], self._aec.truncations[agent]
        return (
            {name: self._aec.observe(name) for name in seen},
            {name: self._aec.rewards[name] for name in seen},
            {"__all__": terminated, **(dict.fromkeys(seen, terminated) if over else {})},
            {"__all__": truncated, **(dict.fromkeys(seen, truncated) if over else {})},
            {name: {"illegal_action": True} if illegal else {} for name in seen},
        )

    def _is_over(self) -> bool:
        agent = self._aec.agent_selection
        return bool(self._aec.terminations[agent] or self._aec.truncations[agent])

    def render(self) -> Picture | None:
        """The whole position in the way of ``render_mode``."""
        return self._aec.render()

    def close(self) -> None:
        """Close the window, if there is one; may be called repeatedly."""
        self.env.close()
