"""Agents: whatever chooses actions. `make_agent` makes one by name."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from pyramid_envs.errors import AgentError
from pyramid_envs.game import Game


class Thought(NamedTuple):
    """What an agent makes of a position, from what the seat to move knows. A actions."""

    action: int  # what it plays
    policy: NDArray[np.float64] | None = None  # [A]: shares that sum to 1; what they are shares of is the agent's to say
    value: float | None = None  # the payoff that the seat to move may expect
    worth: NDArray[np.float64] | None = None  # [A]: the payoff that it may expect after an action; NaN where that is not known


class Agent(Protocol):
    """Chooses actions in many games in one call.

    The answer for a row depends on that row and its seed alone, never on its neighbours (networks: up to rounding). An agent may
    look at rows only to look ahead, and must hide from itself, by `Game.redeal`, what the seat to move cannot know; learned
    agents read observations and masks alone. B rows, A actions.

    An agent that can tell more than its choice also has ``think``, with the same arguments for one row, B = 1, which returns a
    `Thought`: that of the answer that ``act`` gives.
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


PRETRAINED = "pretrained"


def is_fixed(spec: str) -> bool:
    """Whether a name is that of an agent that plays in one way only, searches guided by a checkpoint among them."""
    return spec in ("random", "greedy", "optimal", PRETRAINED) or _search(spec) is not None


def checkpoint_in(spec: str) -> str | None:
    """The folder that an agent's name names, whole (a checkpoint) or behind an @ (a search that it guides), if there is one."""
    search = _search(spec)
    if search is not None:
        return None if search[2] == PRETRAINED else search[2]
    return None if is_fixed(spec) else spec


def _search(spec: str) -> tuple[str, int, str | None] | None:
    """Kind, number of games and folder of ``mcts:N``, ``mcts:N@FOLDER`` or ``rollouts:N@FOLDER``; None for any other name."""
    found = re.fullmatch(r"(mcts|rollouts(?=:[0-9]+@)):([0-9]+)(?:@(.+))?", spec)
    return None if found is None else (found[1], int(found[2]), found[3])


def make_agent(spec: str, game: Game) -> Agent:
    """An agent by name.

    Args:
        spec: ``random``, ``greedy``, ``mcts:N`` (search by N simulations), ``optimal`` (Treehouse for 2 seats), the folder of a
            checkpoint or of a training run (its latest checkpoint), ``pretrained`` (the checkpoint that comes with the package),
            ``mcts:N@FOLDER`` (search guided by a checkpoint), ``rollouts:N@FOLDER`` (N games played out for what it proposes);
            behind the @ may stand ``pretrained``, too.
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
    search = _search(spec)
    if search is not None:
        kind, games, folder = search
        if folder is None:
            from pyramid_envs.agents.mcts import MCTSAgent

            return MCTSAgent(game, games)
        from pyramid_envs.agents.guided import GuidedAgent
        from pyramid_envs.agents.rollouts import RolloutAgent

        guided = (RolloutAgent if kind == "rollouts" else GuidedAgent).load(_folder(folder, game), game, games)
        guided.name = spec
        return guided
    if spec == "optimal":
        from pyramid_envs.agents.optimal import OptimalAgent

        return OptimalAgent(game)
    if spec == PRETRAINED or Path(spec).is_dir():
        from pyramid_envs.agents.learned import LearnedAgent

        learned = LearnedAgent.load(_folder(spec, game), game)
        learned.name = spec
        return learned
    raise AgentError(
        f"no agent is called {spec!r}, and there is no such folder; "
        "agents are random, greedy, mcts:N, optimal, pretrained, checkpoint folders, mcts:N@FOLDER and rollouts:N@FOLDER"
    )


def _folder(spec: str, game: Game) -> str | Path:
    from pyramid_envs import pretrained

    return pretrained.folder(game) if spec == PRETRAINED else spec
