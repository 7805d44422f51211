"""What all tests are run over: every registered game, with every number of seats that it allows."""

from __future__ import annotations

import pytest

import pyramid_envs as pe
from pyramid_envs.registry import card


def player_counts(name: str) -> list[int]:
    """The numbers of seats that a game allows, found by asking it."""
    allowed = []
    for count in range(1, 9):
        try:
            card(name).resolve({"num_players": count})
        except pe.OptionError:
            continue
        allowed.append(count)
    return allowed


SETUPS = [(name, count) for name in pe.game_names() for count in player_counts(name)]


@pytest.fixture(params=SETUPS, ids=lambda setup: f"{setup[0]}-{setup[1]}", scope="session")
def game(request: pytest.FixtureRequest) -> pe.Game:
    """Every game with every number of seats."""
    name, count = request.param
    return pe.make_game(name, num_players=count)
