"""Making the games known to Gymnasium and PettingZoo, as far as this version of each has a registry."""

from __future__ import annotations

import gymnasium

from pyramid_envs.card import Card
from pyramid_envs.envs.aec import add_module


def register(card: Card, package: str) -> None:
    """Make a game available to ``gymnasium.make`` and ``make_vec``, to ``pettingzoo.make``, and as ``PACKAGE.NAME_vN``."""
    env_id = f"{package}/{card.env_id}-v{card.version}"
    if env_id in gymnasium.registry:
        return
    gymnasium.register(
        env_id,
        entry_point="pyramid_envs.envs.single:SeatEnv",
        vector_entry_point="pyramid_envs.envs.vector:SeatVectorEnv",
        kwargs={"game": card.name},
    )
    add_module(card, package)
    try:
        from pettingzoo.env_registry.registration import register as register_aec
    except ImportError:  # PettingZoo before 1.27
        return
    register_aec("aec", env_id, entry_point="pyramid_envs.envs.aec:aec_env", kwargs={"name": card.name})
