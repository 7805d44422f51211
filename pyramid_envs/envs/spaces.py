"""The spaces that every environment of a game shares. A actions."""

from __future__ import annotations

import numpy as np
from gymnasium import spaces

from pyramid_envs.game import Game


def observation_space(game: Game) -> spaces.Box:
    """Box of int8[observation_shape]."""
    return spaces.Box(-128, 127, game.observation_shape, np.int8)


def action_space(game: Game) -> spaces.Discrete:
    """Discrete(A)."""
    return spaces.Discrete(game.num_actions)


def mask_space(game: Game) -> spaces.Box:
    """Box of int8[A], 0 or 1."""
    return spaces.Box(0, 1, (game.num_actions,), np.int8)
