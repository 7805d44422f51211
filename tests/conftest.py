"""What all tests are run over: every game, those of `extra_games` too, with every number of seats that it allows."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pyramid_envs as pe
from pyramid_envs import threads
from pyramid_envs.registry import card
from tests.playing import sample

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")  # windows of tests are not to be seen
pe.add_games_folder(Path(__file__).with_name("extra_games"))


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


@pytest.fixture(scope="session")
def rows(game: pe.Game) -> list[Any]:
    """Positions of random games of it, chance events and ends among them. Copy a row before changing it."""
    return sample(game)


@pytest.fixture
def threaded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Work is split among three threads, however little it is; the list grows by the number of parts of each piece of work."""
    parts: list[int] = []
    split = threads.split

    def split_finely(run: Callable[[slice], None], count: int, least: int = 0) -> None:
        done: list[slice] = []
        split(lambda part: (done.append(part), run(part))[1], count, 8)
        parts.append(len(done))

    monkeypatch.setattr(threads, "cores", lambda: 3)
    for module in list(sys.modules.values()):
        if module is not threads and getattr(module, "__dict__", {}).get("split") is split:
            monkeypatch.setattr(module, "split", split_finely)
    return parts
