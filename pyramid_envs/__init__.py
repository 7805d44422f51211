"""Four tabletop games as reinforcement-learning environments."""

from pyramid_envs.agents import Agent, make_agent
from pyramid_envs.batch import Batch, Step
from pyramid_envs.envs.aec import aec_env
from pyramid_envs.envs.registration import add_games_folder
from pyramid_envs.envs.registration import register as _register
from pyramid_envs.errors import (
    ActionNameError,
    AgentError,
    CheckpointError,
    IllegalActionError,
    MissingExtraError,
    OptionError,
    PlayError,
    PositionError,
    PyramidError,
    RecordError,
    SolutionError,
    UnknownGameError,
)
from pyramid_envs.game import Game
from pyramid_envs.kernels import CHANCE, TERMINAL
from pyramid_envs.registry import card as _card
from pyramid_envs.registry import game_names, make_game

__all__ = [
    "CHANCE",
    "TERMINAL",
    "ActionNameError",
    "Agent",
    "AgentError",
    "Batch",
    "CheckpointError",
    "Game",
    "IllegalActionError",
    "MissingExtraError",
    "OptionError",
    "PlayError",
    "PositionError",
    "PyramidError",
    "RecordError",
    "SolutionError",
    "Step",
    "UnknownGameError",
    "add_games_folder",
    "aec_env",
    "game_names",
    "make_agent",
    "make_game",
]

for _name in game_names():
    _register(_card(_name), __name__)
