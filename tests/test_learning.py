"""Learning is tested by learning: a short training by a game's own config beats random in every role."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import pyramid_envs as pe
from pyramid_envs.agents.learned import LearnedAgent
from pyramid_envs.evaluation import play_match
from tests.conftest import SETUPS
from training.cli import read_settings
from training.train import COMMAND, Settings, train

ROOT = Path(__file__).parent.parent
# Decisions to learn from: no more than it takes, about a minute or two each on 2 cores.
SHORT = {"treehouse": 800_000, "trellis": 200_000, "pocket": 1_500_000, "twin_win": 1_500_000}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "num_players"), [setup for setup in SETUPS if setup[0] != "tic_tac_toe"])
def test_a_short_training_beats_random_in_every_role(name: str, num_players: int, tmp_path: Path) -> None:
    settings, _ = read_settings(Settings, COMMAND, (), ["--config", str(ROOT / "configs" / f"{name}.yaml")])
    changes: dict[str, Any] = {"total_steps": SHORT[name], "run": str(tmp_path / "run"), "opponents": [], "final_games": 0}
    settings = replace(settings, options={**settings.options, "num_players": num_players}, **changes)
    folder = train(settings)
    game = pe.make_game(name, num_players=num_players)
    agent, random = LearnedAgent.load(folder, game, deterministic=True), pe.make_agent("random", game)
    games = -(-1000 // num_players) * num_players
    match = play_match(game, agent, random, games, seed=1)
    for seat, found in enumerate(match.seats):
        if name == "pocket" and seat == 0:
            # A random Disciple hardly ever wins: a learned one is compared with him.
            chance = play_match(game, random, random, games, seed=1).seats[0].win_rate
            assert found.win_rate.low >= 3 * chance.value
        else:
            assert found.win_rate.low >= match.even_share + 0.1, f"seat {seat}"
