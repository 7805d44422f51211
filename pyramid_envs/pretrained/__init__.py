"""Trained agents that come with the package: ``pyramid_envs.make_agent("pretrained", game)``.

Each is a checkpoint's folder (see `pyramid_envs.agents.checkpoint`) with its model card in README.md: how it was made, on what,
and what it was measured to win.
"""

from __future__ import annotations

from pathlib import Path

from pyramid_envs.errors import AgentError
from pyramid_envs.game import Game

FOLDER = Path(__file__).parent


def name(game: Game) -> str:
    """What the folder of the agent for a game and its number of seats is called: treehouse-2p."""
    return f"{game.name}-{game.num_players}p"


def folder(game: Game) -> Path:
    """The folder of the agent that comes with the package for this game and its number of seats.

    Raises:
        AgentError: if there is none.
    """
    found = FOLDER / name(game)
    if found.is_dir():
        return found
    there = ", ".join(sorted(path.parent.name for path in FOLDER.glob("*/config.json"))) or "none"
    raise AgentError(f"no trained agent for {name(game)} comes with this package; there are: {there}")
