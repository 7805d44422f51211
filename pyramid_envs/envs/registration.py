"""Making the games known to Gymnasium and PettingZoo, as far as this version of each has a registry."""

from __future__ import annotations

import pkgutil
from pathlib import Path

import gymnasium

from pyramid_envs import games
from pyramid_envs.card import Card
from pyramid_envs.envs.aec import add_module
from pyramid_envs.errors import UnknownGameError
from pyramid_envs.registry import card, game_names


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


def add_games_folder(folder: str | Path) -> tuple[str, ...]:
    """Add the games below a folder of one's own, as if they lay in ``pyramid_envs/games``; adding it again changes nothing.

    Every process does this for itself, workers that are spawned included.

    Returns:
        The names of the games in the folder.

    Raises:
        UnknownGameError: if there is no game in the folder, or one whose name another has; nothing has been added then.
    """
    path = str(Path(folder).resolve())
    found = tuple(sorted(module.name for module in pkgutil.iter_modules([path]) if module.ispkg))
    if not found:
        raise UnknownGameError(f"{path} holds no game: a game is a folder in it with an __init__.py that defines `card`")
    if path not in games.__path__:
        for name in found:
            if name in game_names():
                raise UnknownGameError(f"{path} holds {name!r}, but another game is called so: rename the folder")
        games.__path__.append(path)
    for name in found:
        register(card(name), "pyramid_envs")
    return found
