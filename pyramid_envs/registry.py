"""Which games there are: the folders below ``pyramid_envs.games`` that hold a `Card`. There is no list to edit."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import Any

from pyramid_envs import games
from pyramid_envs.card import Card
from pyramid_envs.errors import UnknownGameError
from pyramid_envs.game import Game


def game_names() -> tuple[str, ...]:
    """The names that `make_game` takes, sorted."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(games.__path__) if module.ispkg))


@cache
def card(name: str) -> Card:
    """The card of a game.

    Raises:
        UnknownGameError: if there is none of this name.
    """
    if name not in game_names():
        raise UnknownGameError(f"no game is called {name!r}; the games are {', '.join(game_names())}")
    found: Card = importlib.import_module(f"{games.__name__}.{name}").card
    return found


def make_game(name: str, **options: Any) -> Game:
    """A game by name.

    Args:
        name: one of `game_names()`.
        options: the game's own keywords; every game takes ``num_players`` and ``max_plies``. Its manual page,
            ``help(pyramid_envs.games.NAME)``, lists the rest.

    Raises:
        UnknownGameError: if no game has this name.
        OptionError: for an unknown option, or a value that the rules do not allow.
    """
    return Game(card(name), options)
