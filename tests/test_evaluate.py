"""Matches: one game a seed and seat, counted right, with intervals that hold."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import pyramid_envs as pe
from pyramid_envs import rng
from pyramid_envs.evaluation import play_games, play_match, wilson
from pyramid_envs.evaluation.arena import clustered_mean, clustered_share


def play_alone(game: pe.Game, lineup: list[pe.Agent], seed: int) -> tuple[np.ndarray, bool, int]:
    """The first game of a seed, by itself."""
    batch = pe.Batch(game, 1, seed)
    while True:
        agent = lineup[int(batch.seats[0])]
        plies = int(batch.plies[0]) + 1
        step = batch.step(agent.act(batch.rows, batch.observations, batch.masks, batch.seats, batch.keys(rng.MOVE)))
        if step.terminated[0] or step.truncated[0]:
            return step.rewards[0], bool(step.truncated[0]), plies


def test_every_seed_gives_its_first_game_and_nothing_else(game):
    """No slot is played twice, however early its game ends, and long games are not lost."""
    game = pe.make_game(game.name, **{**game.options, "max_plies": 60})
    lineup = [pe.make_agent("greedy" if seat == 0 else "random", game) for seat in range(game.num_players)]
    games = play_games(game, lineup, 12, seed=100)
    for k in range(12):
        returns, truncated, plies = play_alone(game, lineup, 100 + k)
        np.testing.assert_array_equal(games.returns[k], returns)
        assert (games.truncated[k], games.plies[k]) == (truncated, plies)


def test_more_games_than_slots_are_the_same_games(monkeypatch):
    game = pe.make_game("treehouse", max_plies=80)
    lineup = [pe.make_agent(name, game) for name in ("greedy", "random")]
    whole = play_games(game, lineup, 50, seed=3)
    monkeypatch.setattr("pyramid_envs.evaluation.arena._SLOTS", 7)
    for one, other in zip(whole, play_games(game, lineup, 50, seed=3), strict=True):
        np.testing.assert_array_equal(one, other)


class Scripted:
    """Plays the legal action with the lowest number, and notes what it was asked."""

    name = "scripted"

    def __init__(self) -> None:
        self.calls: list[int] = []
        self.seats: set[int] = set()

    def act(self, rows, observations, masks, seats, seeds):
        assert len(rows) == len(observations) == len(masks) == len(seats) == len(seeds)
        self.calls.append(len(rows))
        self.seats |= set(seats.tolist())
        return masks.argmax(1)


def test_the_candidate_sits_in_each_seat_and_the_opponent_in_all_others():
    game = pe.make_game("treehouse", num_players=3, max_plies=30)
    for seat in range(3):
        candidate, opponent = Scripted(), Scripted()
        play_games(game, [candidate if s == seat else opponent for s in range(3)], 20)
        assert candidate.seats == {seat}
        assert opponent.seats == {0, 1, 2} - {seat}
        assert max(candidate.calls) == 20  # asked for all games in one call
    candidate, opponent = Scripted(), Scripted()
    match = play_match(game, candidate, opponent, 20)
    assert candidate.seats == opponent.seats == {0, 1, 2}
    assert (match.games, [seat.games for seat in match.seats]) == (21, [7, 7, 7])  # rounded up, balanced
    with pytest.raises(ValueError, match="3 seats"):
        play_games(game, [candidate, opponent], 5)


def test_outcomes_are_counted_whole(game):
    game = pe.make_game(game.name, **{**game.options, "max_plies": 40})
    match = play_match(game, pe.make_agent("greedy", game), pe.make_agent("random", game), 30 * game.num_players, seed=4)
    for own, seat in enumerate(match.seats):
        lineup = [pe.make_agent("greedy" if s == own else "random", game) for s in range(game.num_players)]
        games = play_games(game, lineup, 30, seed=4)
        payoffs = games.returns[:, own]
        assert seat.wins == (payoffs > 0).sum()
        assert seat.losses == (payoffs < 0).sum()
        assert seat.truncated == games.truncated.sum()
        assert seat.wins + seat.losses + seat.draws + seat.truncated == seat.games == 30
        assert seat.mean_payoff == pytest.approx(payoffs.mean())
        assert seat.win_rate == wilson(seat.wins / 30, 30)
    assert match.win_rate.value == pytest.approx(sum(seat.wins for seat in match.seats) / match.games)
    assert match.mean_payoff.value == pytest.approx(np.mean([seat.mean_payoff for seat in match.seats]))
    assert json.loads(json.dumps(match.to_json()))["games"] == match.games


def test_equal_agents_on_common_seeds_come_out_exactly_even():
    """In both orders the same game is played, so luck cancels: the candidate has each seed's winning seat once."""
    game = pe.make_game("treehouse")
    match = play_match(game, pe.make_agent("greedy", game), pe.make_agent("greedy", game), 400)
    assert match.win_rate.value == 0.5
    assert match.mean_payoff.value == 0
    assert match.seats[0].wins + match.seats[1].wins == 200
    assert 0 < match.seats[0].wins < 200
    assert match.win_rate.high - match.win_rate.low < 0.02


def test_greedy_is_better_than_random_in_every_seat():
    for num_players in (2, 3, 4):
        game = pe.make_game("treehouse", num_players=num_players)
        match = play_match(game, pe.make_agent("greedy", game), pe.make_agent("random", game), 300 * num_players)
        assert all(seat.win_rate.low > match.even_share + 0.1 for seat in match.seats)
        assert match.mean_payoff.low > 0


# ----------------------------------------------------------------------------------------------------------- intervals


@pytest.mark.parametrize(
    ("wins", "games", "low", "high"),
    [(0, 10, 0.0, 0.2775), (8, 10, 0.4902, 0.9433), (50, 100, 0.4038, 0.5962), (81, 263, 0.2553, 0.3662)],
)
def test_wilson_gives_the_published_values(wins, games, low, high):
    """The last from Newcombe, Statistics in Medicine 17 (1998), table I; the others by the formula, by hand."""
    found = wilson(wins / games, games)
    assert found.value == wins / games
    assert found.low == pytest.approx(low, abs=1e-4)
    assert found.high == pytest.approx(high, abs=1e-4)


def coverage(sample, truth: float, interval) -> tuple[float, float]:
    """How often the interval holds the truth, and its mean width."""
    random = np.random.default_rng(0)
    found = [interval(sample(random)) for _ in range(1000)]
    return float(np.mean([f.low <= truth <= f.high for f in found])), float(np.mean([f.high - f.low for f in found]))


def independent(random):
    return random.random((200, 2)) < 0.9


def lucky_seeds(random):
    """Both games of a seed end alike."""
    return np.repeat(random.random((200, 1)) < 0.9, 2, axis=1)


def unequal_roles(random):
    return np.stack([random.random(200) < 0.95, random.random(200) < 0.2], 1)


def opposite_seeds(random):
    """The seat that the seed favours mostly wins."""
    favoured = random.random(200) < 0.5
    upset = random.random((200, 2)) < 0.1
    return np.stack([favoured, ~favoured], 1) ^ upset


@pytest.mark.parametrize(
    ("sample", "truth"), [(independent, 0.9), (lucky_seeds, 0.9), (unequal_roles, 0.575), (opposite_seeds, 0.5)]
)
def test_intervals_hold_95_times_in_100_though_games_of_a_seed_are_alike(sample, truth):
    held, width = coverage(sample, truth, clustered_share)
    assert 0.93 <= held <= 0.985
    held_as_if_independent, width_as_if_independent = coverage(sample, truth, lambda wins: wilson(wins.mean(), wins.size))
    if sample is lucky_seeds:
        assert held_as_if_independent < 0.9
        assert width > 1.3 * width_as_if_independent
    if sample in (unequal_roles, opposite_seeds):
        assert width < 0.8 * width_as_if_independent
    payoffs_held, _ = coverage(lambda random: np.where(sample(random), 1.0, -1.0), 2 * truth - 1, clustered_mean)
    assert 0.9 <= payoffs_held <= 0.985


def test_intervals_of_few_and_of_certain_games():
    everything = clustered_share(np.ones((50, 2), bool))
    assert everything == wilson(1.0, 100)
    assert everything.low == pytest.approx(1 / (1 + 1.959964**2 / 100))
    one = clustered_share(np.array([[True, False]]))
    assert one.low < 0.2
    assert one.high > 0.8
    assert clustered_mean(np.array([[1.0, -1.0]]))[1:] == (-1.0, 1.0)
    assert all(math.isfinite(x) for x in clustered_mean(np.array([[1.0, -1.0]])))


# ------------------------------------------------------------------------------------------------------------- command


@pytest.fixture
def run(tmp_path):
    pytest.importorskip("torch")
    from training.train import Settings, train

    settings = Settings(
        run=str(tmp_path / "run"), total_steps=512, num_games=32, plies=16, hidden=[8], threads=1, opponents=[], final_games=0
    )
    return train(settings).parent


def evaluate(arguments, capsys):
    from training.cli import run_command
    from training.evaluate import main

    capsys.readouterr()
    with pytest.raises(SystemExit) as stop:
        run_command(lambda: main([str(argument) for argument in arguments]))
    told = capsys.readouterr()
    return stop.value.code, told.out, told.err


def test_the_command_tells_a_table_and_writes_json(run, tmp_path, capsys):
    checkpoint = next(run.glob("step_*"))
    file = tmp_path / "out.json"
    status, output, _ = evaluate(
        [run, checkpoint, "--opponents", "random", "greedy", "--games", 40, "--seed", 5, "--json", file], capsys
    )
    assert status == 0
    assert "Treehouse, 2 seats" in output
    first, second = json.loads(file.read_text())
    assert [(m["play"], m["opponent"]) for m in first["matches"]] == [
        ("best", "random"),
        ("best", "greedy"),
        ("sampled", "random"),
        ("sampled", "greedy"),
    ]
    for match in first["matches"]:
        assert match["games"] == 40
        assert match["win_rate_95"][0] <= match["win_rate"] <= match["win_rate_95"][1]
        for seat in match["seats"]:
            assert seat["wins"] + seat["losses"] + seat["draws"] + seat["truncated"] == seat["games"] == 20

    def without_names(evaluation):
        return [{key: value for key, value in match.items() if key != "candidate"} for match in evaluation["matches"]]

    assert without_names(first) == without_names(second)  # the run's latest checkpoint is that checkpoint

    game = pe.make_game("treehouse")
    agent = pe.make_agent(str(run), game)
    again = play_match(game, agent, pe.make_agent("random", game), 40, seed=5)
    assert again.to_json().items() >= {k: v for k, v in first["matches"][2].items() if k not in ("play", "candidate")}.items()


def test_a_checkpoint_can_be_the_opponent(run, tmp_path, capsys):
    file = tmp_path / "out.json"
    status, _, _ = evaluate([run, "--opponents", run, "--games", 20, "--json", file], capsys)
    assert status == 0
    assert json.loads(file.read_text())[0]["matches"][1]["win_rate"] == 0.5  # sampled against itself, on common seeds


def test_fixed_agents_are_measured_too(tmp_path, capsys):
    file = tmp_path / "out.json"
    arguments = ["greedy", "mcts:4", "--game", "treehouse", "--opponents", "random", "--games", 200, "--json", file]
    status, output, _ = evaluate(arguments, capsys)
    assert status == 0
    assert output.count("fixed") == 2
    greedy, search = json.loads(file.read_text())
    assert (greedy["agent"], search["agent"]) == ("greedy", "mcts:4")
    game = pe.make_game("treehouse")
    again = play_match(game, pe.make_agent("greedy", game), pe.make_agent("random", game), 200)
    assert greedy["matches"] == [{"play": "fixed", **again.to_json()}]


def test_wrong_commands_are_told_in_a_line(run, tmp_path, capsys):
    (tmp_path / "bad.zip").write_bytes(b"no zip")
    for arguments, words in (
        ([tmp_path / "nothing"], "no folder"),
        ([run, "--opponents", "stockfish"], "stockfish"),
        ([run, "--games", 0], "at least 1"),
        ([run, "--game", "treehouse", "--options.num_players", 3], "num_players=3"),
        ([tmp_path / "bad.zip"], "--game"),
        (["greedy"], "--game"),
        ([tmp_path / "bad.zip", "--game", "treehouse"], "cannot be read"),
    ):
        status, _, error = evaluate(arguments, capsys)
        assert status == 2
        assert words in error
