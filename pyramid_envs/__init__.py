"""Four tabletop games as reinforcement-learning environments."""

from pyramid_envs.agents import Agent, make_agent
from pyramid_envs.batch import Batch, Step
from pyramid_envs.errors import (
    ActionNameError,
    AgentError,
    CheckpointError,
    IllegalActionError,
    MissingExtraError,
    OptionError,
    PositionError,
    PyramidError,
    UnknownGameError,
)
from pyramid_envs.game import Game
from pyramid_envs.kernels import CHANCE, TERMINAL
from pyramid_envs.registry import game_names, make_game

__all__ = [
    "ActionNameError",
    "Agent",
    "AgentError",
    "Batch",
    "CHANCE",
    "CheckpointError",
    "Game",
    "IllegalActionError",
    "MissingExtraError",
    "OptionError",
    "PositionError",
    "PyramidError",
    "Step",
    "TERMINAL",
    "UnknownGameError",
    "game_names",
    "make_agent",
    "make_game",
]
