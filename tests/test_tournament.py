"""Tournaments: everybody meets in every order of seats on the same seeds; games are kept, whatever happens to the process."""

from __future__ import annotations

import json
import math
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyramid_envs as pe
from pyramid_envs.evaluation import play_games

pytest.importorskip("torch")

from training import tournament as tournament_module
from training.cli import run_command
from training.tournament import groups, main, orders
from training.train import Settings, train


def tournament(arguments: list[Any], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    capsys.readouterr()
    with pytest.raises(SystemExit) as stop:
        run_command(lambda: main([str(argument) for argument in arguments]))
    told = capsys.readouterr()
    return int(stop.value.code or 0), told.out, told.err


def games_in(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "games.jsonl").read_text().splitlines()]


def results_in(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "results.json").read_text())


def sorted_lines(folder: Path) -> list[str]:
    return sorted((folder / "games.jsonl").read_text().splitlines())


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a very short training."""
    folder = tmp_path_factory.mktemp("tournament") / "run"
    settings = Settings(
        run=str(folder), total_steps=512, num_games=32, plies=16, hidden=[8], threads=1, opponents=[], final_games=0
    )
    return train(settings).parent


# ------------------------------------------------------------------------------------------------------------ who plays


@pytest.mark.parametrize(
    ("num_agents", "num_seats", "expected"),
    [(2, 2, 1), (5, 2, 10), (3, 3, 1), (5, 3, 10), (2, 3, 2), (2, 4, 3), (3, 4, 3), (6, 4, 15)],
)
def test_every_choice_of_agents_meets_once(num_agents: int, num_seats: int, expected: int) -> None:
    agents = list("abcdef"[:num_agents])
    found = groups(agents, num_seats)
    assert len(found) == len(set(found)) == expected
    for group in found:
        assert len(group) == num_seats
        assert len(set(group)) == min(num_agents, num_seats)
    assert {agent for group in found for agent in group} == set(agents)


def test_a_group_plays_in_every_order_of_seats_once() -> None:
    assert len(orders(("a", "b", "c", "d"))) == 24
    assert orders(("a", "b", "b")) == [("a", "b", "b"), ("b", "a", "b"), ("b", "b", "a")]


def test_the_command_runs_for_every_game_and_number_of_seats(game, tmp_path, capsys):
    count = math.factorial(game.num_players)
    arguments = ["greedy", "mcts:2", "--game", game.name, "--num-players", game.num_players, "--options.max_plies", 20]
    status, output, error = tournament([*arguments, "--games", count, "--out", tmp_path / "t", "--resamples", 20], capsys)
    assert status == 0, error
    assert game.title in output
    found = results_in(tmp_path / "t")
    assert found["options"]["num_players"] == game.num_players
    names = ["greedy", "mcts:2", "random"]
    own = groups(names, game.num_players)
    assert found["games"] == len(games_in(tmp_path / "t")) == sum(len(orders(g)) * -(-count // len(orders(g))) for g in own)
    assert sorted(agent["agent"] for agent in found["agents"]) == names
    assert next(agent for agent in found["agents"] if agent["agent"] == "random")["rating"] == 0
    for agent in found["agents"]:
        assert agent["rating_95"][0] <= agent["rating"] <= agent["rating_95"][1]
        assert len(agent["mean_payoff_by_seat"]) == game.num_players
    assert (tmp_path / "t" / "ratings.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "t" / "results.md").read_text().count("mcts:2") == 3


# ----------------------------------------------------------------------------------------------------------- the games


def test_games_are_those_of_their_seeds_the_same_seeds_in_every_order(tmp_path, capsys):
    tournament(["greedy", "mcts:3", "--game", "treehouse", "--games", 12, "--seed", 7, "--out", tmp_path], capsys)
    game = pe.make_game("treehouse")
    agents = {name: pe.make_agent(name, game) for name in ("greedy", "mcts:3", "random")}
    by_lineup: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for played in games_in(tmp_path):
        by_lineup.setdefault(tuple(played["agents"]), []).append(played)
    assert len(by_lineup) == 6
    for lineup, played in by_lineup.items():
        assert [one["seed"] for one in played] == list(range(7, 13))
        expected = play_games(game, [agents[name] for name in lineup], 6, seed=7)
        assert np.array_equal(np.array([one["payoffs"] for one in played], np.float32), expected.returns)
        assert [one["plies"] for one in played] == expected.plies.tolist()


def test_the_tables_say_what_the_games_say(tmp_path, capsys):
    tournament(["greedy", "--game", "treehouse", "--games", 100, "--out", tmp_path], capsys)
    played = games_in(tmp_path)
    found = results_in(tmp_path)
    greedy = found["agents"][0]
    assert greedy["agent"] == "greedy"
    payoffs = [one["payoffs"][one["agents"].index("greedy")] for one in played]
    assert greedy["games"] == 100
    assert greedy["wins"] == sum(payoff > 0 for payoff in payoffs)
    assert greedy["mean_payoff"] == pytest.approx(np.mean(payoffs))
    first = [one["payoffs"][0] for one in played if one["agents"][0] == "greedy"]
    assert greedy["mean_payoff_by_seat"][0] == pytest.approx(np.mean(first))
    pair = next(pair for pair in found["pairs"] if pair["agent"] == "greedy")
    assert pair["ahead"] == pytest.approx(np.mean(payoffs) / 2 + 0.5)
    assert pair["ahead_95"][0] < pair["ahead"] < pair["ahead_95"][1]
    # Two agents: the rating is the logarithm of the odds, one drawn game imagined.
    odds = (greedy["wins"] + 0.5) / (100 - greedy["wins"] + 0.5)
    assert greedy["rating"] == pytest.approx(400 * math.log10(odds), abs=0.01)
    assert greedy["rating_95"][0] > 200


def test_cut_games_are_drawn_and_counted(tmp_path, capsys):
    arguments = ["greedy", "--game", "treehouse", "--options.max_plies", 1, "--games", 40, "--out", tmp_path]
    tournament(arguments, capsys)
    found = results_in(tmp_path)
    assert found["truncated"] == sum(one["truncated"] for one in games_in(tmp_path)) > 30
    assert abs(found["agents"][0]["rating"]) < 60


# ---------------------------------------------------------------------------------------------------- going on later


def test_more_games_and_more_agents_keep_the_games_that_were_played(tmp_path, capsys):
    tournament(["greedy", "--game", "treehouse", "--games", 10, "--out", tmp_path], capsys)
    before = (tmp_path / "games.jsonl").read_text()
    tournament(["mcts:2", "--games", 10, "--out", tmp_path], capsys)  # the folder knows game and agents
    grown = (tmp_path / "games.jsonl").read_text()
    assert grown.startswith(before)
    assert len(games_in(tmp_path)) == 30
    status, _, _ = tournament(["--games", 20, "--out", tmp_path], capsys)
    assert status == 0
    assert (tmp_path / "games.jsonl").read_text().startswith(grown)
    assert len(games_in(tmp_path)) == 60
    tournament(["--games", 20, "--out", tmp_path], capsys)
    assert len(games_in(tmp_path)) == 60  # nothing was missing
    tournament(["greedy", "mcts:2", "--game", "treehouse", "--games", 20, "--out", tmp_path / "at_once"], capsys)
    assert sorted_lines(tmp_path) == sorted_lines(tmp_path / "at_once")
    assert results_in(tmp_path)["games"] == results_in(tmp_path / "at_once")["games"]


def test_a_line_that_a_killed_process_left_unfinished_is_played_again(tmp_path, capsys):
    tournament(["greedy", "--game", "treehouse", "--games", 10, "--out", tmp_path], capsys)
    file = tmp_path / "games.jsonl"
    before = file.read_text()
    file.write_text(before[:-20])
    status, _, _ = tournament(["--games", 10, "--out", tmp_path], capsys)
    assert status == 0
    assert file.read_text() == before


def test_after_ctrl_c_the_same_command_goes_on(tmp_path, capsys, monkeypatch):
    arguments = ["greedy", "mcts:2", "--game", "treehouse", "--games", 60]
    tournament([*arguments, "--out", tmp_path / "whole"], capsys)
    calls = []

    def interrupted(*args: Any) -> Any:
        calls.append(args)
        if len(calls) == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return play_games(*args)

    monkeypatch.setattr(tournament_module, "play_games", interrupted)
    status, output, _ = tournament([*arguments, "--out", tmp_path / "stopped"], capsys)
    assert status == 130
    assert "go on" in output
    assert len(calls) == 3
    assert 0 < len(games_in(tmp_path / "stopped")) < 180
    assert results_in(tmp_path / "stopped")["games"] == len(games_in(tmp_path / "stopped"))
    status, _, _ = tournament([*arguments, "--out", tmp_path / "stopped"], capsys)
    assert status == 0
    assert sorted_lines(tmp_path / "stopped") == sorted_lines(tmp_path / "whole")
    assert results_in(tmp_path / "stopped") == results_in(tmp_path / "whole")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--game", "trellis"], "game treehouse, not trellis"),
        (["--num-players", 3], "num_players=2"),
        (["--options.max_plies", 5], "max_plies=1000"),
        (["--seed", 1], "seed 0, not 1"),
        (["stockfish"], "stockfish"),
        (["--games", 0], "at least 1"),
    ],
)
def test_a_folder_of_something_else_and_wrong_words_are_refused(arguments, words, tmp_path, capsys):
    tournament(["greedy", "--game", "treehouse", "--games", 2, "--out", tmp_path], capsys)
    before = {file: file.read_bytes() for file in tmp_path.iterdir()}
    status, _, error = tournament([*arguments, "--out", tmp_path], capsys)
    assert status == 2
    assert words in error
    assert {file: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_what_is_no_tournament_is_refused(tmp_path, capsys):
    (tmp_path / "thesis.txt").write_text("precious")
    status, _, error = tournament(["greedy", "--game", "treehouse", "--out", tmp_path], capsys)
    assert status == 2
    assert "not empty" in error
    for arguments, words in (
        (["greedy", "--out", tmp_path / "a"], "--game"),
        (["random", "--game", "treehouse", "--out", tmp_path / "b"], "beside random"),
        ([tmp_path / "nothing", "--out", tmp_path / "c"], "no folder"),
        (["optimal", "--game", "trellis", "--out", tmp_path / "d"], "optimal"),
    ):
        status, _, error = tournament(arguments, capsys)
        assert status == 2
        assert words in error


@pytest.mark.parametrize("line", ["{}", "[]", "no json", '{"agents": ["greedy", "nobody"], "seed": 4, "payoffs": [1, -1]}'])
def test_a_damaged_line_is_told_by_its_number(line, tmp_path, capsys):
    tournament(["greedy", "--game", "treehouse", "--games", 8, "--out", tmp_path], capsys)
    with (tmp_path / "games.jsonl").open("a") as file:
        file.write(line + "\n")
    status, _, error = tournament(["--games", 8, "--out", tmp_path], capsys)
    assert status == 2
    assert "line 9" in error


# --------------------------------------------------------------------------------------------------------- checkpoints


def test_checkpoints_and_searches_that_they_guide_play_along(run, tmp_path, capsys):
    status, _, error = tournament([run, f"mcts:2@{run}", "--games", 4, "--out", tmp_path / "t"], capsys)  # the run knows the game
    assert status == 0, error
    checkpoint = next(run.glob("step_*"))
    assert {agent["agent"] for agent in results_in(tmp_path / "t")["agents"]} == {
        str(checkpoint),
        f"mcts:2@{checkpoint}",
        "random",
    }


def test_a_name_that_stands_for_other_weights_than_before_is_refused(run, tmp_path, capsys):
    import shutil

    copied = tmp_path / "net"
    shutil.copytree(next(run.glob("step_*")), copied)
    tournament([copied, "--games", 2, "--out", tmp_path / "t"], capsys)
    config = json.loads((copied / "config.json").read_text())
    from pyramid_envs.agents import checkpoint
    from pyramid_envs.agents.networks import build

    game = pe.make_game("treehouse")
    network = build(config["network"], game.observation_shape, game.num_actions)
    shutil.copytree(checkpoint.write(tmp_path / "other", network.state_dict(), config, {}, ""), copied, dirs_exist_ok=True)
    status, _, error = tournament([copied, "--games", 4, "--out", tmp_path / "t"], capsys)
    assert status == 2
    assert "other weights" in error
