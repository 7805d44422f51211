"""The golden playthroughs: games that go as they went when they were written down and read."""

from __future__ import annotations

import pytest

from tests.conftest import SETUPS
from tests.golden.playthrough import path, playthrough


@pytest.mark.parametrize(("name", "num_players"), SETUPS)
def test_the_golden_game_goes_as_it_went(name: str, num_players: int) -> None:
    golden = path(name, num_players)
    again = f"python -m tests.golden {name}"
    assert golden.exists(), f"there is no {golden.name} yet: make it by `{again}` and read it"
    assert playthrough(name, num_players) == golden.read_text(encoding="utf-8"), (
        f"if {name} was changed on purpose, write its golden games again by `{again}`, and read the difference"
    )


def test_there_are_no_golden_games_of_what_does_not_exist() -> None:
    files = {golden.name for golden in path("any", 2).parent.glob("*.txt")}
    assert files <= {path(name, num_players).name for name, num_players in SETUPS}
