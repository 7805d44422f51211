"""Agents: whatever chooses actions. `make_agent` makes one by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pyramid_envs.errors import AgentError
from pyramid_envs.game import Game


class Agent(Protocol):
    """Chooses actions in many games in one call.

    The answer for a row depends on that row and its seed alone, never on its neighbours (networks: up to rounding). An agent may
    look at rows only to look ahead, and must hide from itself, by `Game.redeal`, what the seat to move cannot know; learned
    agents read observations and masks alone. B rows, A actions.
    """

    name: str

    def act(
        self,
        rows: NDArray[Any],  # record[B], not to be written
        observations: NDArray[np.int8],  # [B, *observation_shape] of the seats to move
        masks: NDArray[np.bool_],  # [B, A]
        seats: NDArray[np.int64],  # [B]
        seeds: NDArray[np.uint64],  # [B]: all the randomness an agent may use
    ) -> NDArray[np.int64]:  # [B]
        """One legal action for each row."""


def is_fixed(spec: str) -> bool:
    """Whether a name is that of an agent that does not learn."""
    return spec in ("random", "greedy", "optimal") or (spec.startswith("mcts:") and spec[5:].isdecimal())


def make_agent(spec: str, game: Game) -> Agent:
    """An agent by name.

    Args:
        spec: ``random``, ``greedy``, ``mcts:N`` (search by N simulations), ``optimal`` (Treehouse for 2 seats), or the folder of
            a checkpoint or of a training run (its latest checkpoint).
        game: the game it will play.

    Raises:
        AgentError: if there is no such agent, or it cannot play this game.
        CheckpointError: if the folder is no checkpoint, or one for something else.
    """
    from pyramid_envs.agents.fixed import GreedyAgent, RandomAgent

    if spec == "random":
        return RandomAgent(game)
    if spec == "greedy":
        return GreedyAgent(game)
    if spec.startswith("mcts:") and spec[5:].isdecimal():
        from pyramid_envs.agents.mcts import MCTSAgent

        return MCTSAgent(game, int(spec[5:]))
    if spec == "optimal":
        from pyramid_envs.agents.optimal import OptimalAgent

        return OptimalAgent(game)
    if Path(spec).is_dir():
        from pyramid_envs.agents.learned import LearnedAgent

        return LearnedAgent.load(spec, game)
    raise AgentError(
        f"no agent is called {spec!r}, and there is no such folder; "
        "agents are random, greedy, mcts:N, optimal and checkpoint folders"
    )
