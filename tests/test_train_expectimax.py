"""Training by looking one turn ahead: what is seen there, exact continuation, clear errors, and that it learns."""

# ruff: noqa: E402 - without torch the whole file is skipped before anything that needs it is imported
from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import pyramid_envs as pe
from pyramid_envs.agents import checkpoint
from pyramid_envs.agents.learned import LearnedAgent
from pyramid_envs.evaluation import play_match
from pyramid_envs.registry import card
from tests.conftest import SETUPS
from tests.test_training import assert_same
from training import train_expectimax as train_module
from training.cli import run_command
from training.expectimax import Expectimax
from training.train_expectimax import CHANGEABLE, Settings, main, train

ROOT = Path(__file__).parent.parent
SMALL: dict[str, Any] = {
    "num_games": 32,
    "plies": 4,
    "minibatch": 64,
    "hidden": [16],
    "worth_hidden": [16],
    "threads": 1,
    "opponents": ["random"],
    "eval_every": 1000,
    "eval_games": 2,
    "final_games": 0,
    "save_every": 1,
    "keep": 100,
}
UPDATE = SMALL["num_games"] * SMALL["plies"]


# ------------------------------------------------------------------------------------------------------- looking ahead


def promise(seen: np.ndarray, num_seats: int) -> np.ndarray:
    """What a made-up network promises each seat: any numbers that differ from position to position."""
    weights = np.random.default_rng(0).normal(size=(seen[0].size, num_seats))
    return np.sin(seen.reshape(len(seen), -1) @ weights).astype(np.float32)


def slow_look(game: pe.Game, node: np.ndarray, viewer: int) -> tuple[np.ndarray, dict[int, dict[int, float]]]:
    """What each seat will be paid, seat 0 first, and what each action is worth after each outcome; from the definitions."""
    outcomes = [(0, 1.0)]
    by_chance = game.to_move(node) == pe.CHANCE
    if by_chance:
        outcomes = list(zip(*game.chance_outcomes(node), strict=True))
    mean, worth = np.zeros(game.num_players), {}
    for outcome, prob in outcomes:
        row = node.copy()
        if by_chance:
            game.apply(row, outcome)
        seat = game.to_move(row)
        paid = {}
        for action in game.legal_actions(row):
            after = row.copy()
            game.apply(after, action)
            if game.to_move(after) == pe.TERMINAL:
                paid[action] = game.returns(after)
            else:
                relative = promise(game.observe(after, seat)[None], game.num_players)[0]
                paid[action] = np.roll(relative, seat)
        worth[outcome] = {action: each[seat] for action, each in paid.items()}
        mean += prob * paid[max(paid, key=lambda action: paid[action][seat])]
    return mean, worth


OPEN = [(name, count) for name, count in SETUPS if not hasattr(card(name).rules, "redeal")]


@pytest.mark.parametrize(("name", "num_players"), OPEN)
def test_looking_ahead_agrees_with_a_plain_reference(name, num_players):
    game = pe.make_game(name, num_players=num_players)
    batch, expectimax = pe.Batch(game, 80, seed=3), Expectimax(game)
    random = np.random.default_rng(1)
    for _ in range(4):
        movers, rows = batch.seats.copy(), batch.rows.copy()
        actions = (random.random(batch.masks.shape) * batch.masks).argmax(1)
        nodes = expectimax.play(rows, actions)
        batch.step(actions)
    going_on = np.array([game.to_move(nodes[i : i + 1]) != pe.TERMINAL for i in range(len(nodes))])
    nodes, viewers = nodes[going_on], movers[going_on]
    ahead = expectimax.look_ahead(nodes, viewers, lambda seen: promise(seen, num_players))
    assert len(nodes) > 64  # more than are looked at together
    for g in range(len(nodes)):
        node, viewer = nodes[g : g + 1], int(viewers[g])
        paid, worth = slow_look(game, node, viewer)
        np.testing.assert_array_equal(ahead.seen[g], game.observe(node, viewer))
        np.testing.assert_allclose(ahead.targets[g], np.roll(paid, -viewer), atol=1e-5)
        assert set(ahead.probs[g].nonzero()[0]) == set(worth)
        assert ahead.probs[g].sum() == pytest.approx(1)
        for outcome, of_actions in worth.items():
            assert set(ahead.masks[g, outcome].nonzero()[0]) == set(of_actions)
            for action, value in of_actions.items():
                assert ahead.worth[g, outcome, action] == pytest.approx(value, abs=1e-5)
            row = node.copy()
            if game.to_move(row) == pe.CHANCE:
                game.apply(row, outcome)
            np.testing.assert_array_equal(ahead.observations[g, outcome], game.observe(row, game.to_move(row)))


def test_two_faces_of_six_that_win_are_worth_a_third():
    game = pe.make_game("treehouse")
    # Seat 1 is about to roll; TIP and WILD let it win, and nothing else ends the game.
    node = game.from_position({"trios": ["L M S", "LMS"], "house": "L> M> S>", "roll": None, "to_move": 1})
    ahead = Expectimax(game).look_ahead(node, np.array([0]), lambda seen: np.zeros((len(seen), 2), np.float32))
    np.testing.assert_allclose(ahead.targets[0], [-1 / 3, 1 / 3], atol=1e-6)
    tip = game.parse_action(game.from_position({**game.position(node), "roll": "TIP"}), "own TIP L right")
    assert ahead.worth[0, 1, tip] == 1


# --------------------------------------------------------------------------------------------------- the training itself


@pytest.mark.parametrize(
    "further",
    [
        {},
        {"options": {"num_players": 3, "max_plies": 20}},
        {"activation": "relu", "bfloat16": True},
        {"game": "tic_tac_toe"},
    ],
    ids=["plain", "three_seats", "relu_bfloat16", "tic_tac_toe"],
)
def test_a_resumed_training_gives_the_same_numbers_as_an_uninterrupted_one(tmp_path, further):
    whole = train(Settings(run=str(tmp_path / "whole"), total_steps=6 * UPDATE, **{**SMALL, **further}))
    half = tmp_path / "whole" / f"step_{3 * UPDATE:012d}"
    shutil.copytree(half, tmp_path / "resumed" / half.name)
    settings = Settings(**checkpoint.read_config(half)["settings"])
    resumed = train(settings, tmp_path / "resumed" / half.name)
    assert resumed.name == whole.name != half.name
    assert_same(checkpoint.load_training_state(whole), checkpoint.load_training_state(resumed))
    assert (whole / checkpoint.MODEL).read_bytes() == (resumed / checkpoint.MODEL).read_bytes()


def test_another_seed_gives_other_numbers(tmp_path):
    seeds = {"a": 0, "b": 1, "c": 0}
    folders = [train(Settings(run=str(tmp_path / run), total_steps=UPDATE, seed=seed, **SMALL)) for run, seed in seeds.items()]
    weights = [(folder / checkpoint.MODEL).read_bytes() for folder in folders]
    assert weights[0] == weights[2] != weights[1]


def test_ctrl_c_saves_and_says_how_to_continue(tmp_path, monkeypatch, capsys):
    class Impatient(train_module.Interrupts):
        wanted = property(lambda self: True, lambda self, value: None)

    monkeypatch.setattr(train_module, "Interrupts", Impatient)
    run = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        train(Settings(run=str(run), total_steps=3 * UPDATE, **SMALL))
    assert f"--resume {run}" in capsys.readouterr().out
    monkeypatch.undo()
    assert main(["--resume", str(run), "--keep", "1"]) == 0
    assert checkpoint.read_config(checkpoint.find(run))["steps"] == 3 * UPDATE
    assert len(list(run.glob("step_*"))) == 1


def test_a_time_budget_ends_a_training_early_and_saves(tmp_path):
    folder = train(Settings(run=str(tmp_path / "run"), total_steps=10**8, minutes=0.001, **SMALL))
    assert 0 < checkpoint.read_config(folder)["steps"] < 10**8


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--game", "pocket"], ["in pocket something is hidden"]),
        (["--game", "trellis"], ["in trellis something is hidden"]),
        (["--game", "twin_win"], ["in twin_win something is hidden"]),
        (["--game", "chess"], ["no game is called 'chess'"]),
        (["--opponents", "[stockfish]"], ["no agent is called 'stockfish'"]),
        (["--device", "abacus"], ["device 'abacus'"]),
        (["--total_steps", "100"], ["total_steps 100"]),
        (["--outcomes", "0"], ["outcomes", "at least 1"]),
        (["--explore", "1.5"], ["explore", "from 0 to 1"]),
        (["--final_temperature", "0"], ["final_temperature", "at least"]),
        (["--temperature", ".nan"], ["temperature", "nan"]),
        (["--learning_rate", "-1"], ["learning_rate", "at least 0"]),
        (["--ema", "2"], ["ema", "from 0 to 1"]),
        (["--threads", "0"], ["threads", "at least 1"]),
        (["--worth_hidden", "[0]"], ["layers must have at least 1"]),
        (["--activation", "sigmoid"], ["'sigmoid'", "relu", "tanh", "gated"]),
        (["--resume", "no/such/run"], ["no folder no/such/run"]),
        (["--learning_rat", "1"], ["learning_rat"]),
    ],
)
def test_what_is_wrong_is_told_in_a_line(arguments, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stop:
        run_command(lambda: main(arguments))
    assert stop.value.code == 2
    error = capsys.readouterr().err
    for words in said:
        assert words in error
    assert not list(tmp_path.iterdir())  # nothing was begun


@pytest.mark.parametrize("path", sorted(ROOT.glob("configs/expectimax/*.yaml")), ids=lambda path: path.name)
def test_every_config_in_the_repository_is_one(path, monkeypatch):
    seen = []
    monkeypatch.setattr(train_module, "train", lambda settings, resume: seen.append(settings))
    main(["--config", str(path)])
    pe.make_game(seen[0].game, **seen[0].options)


def test_changeable_settings_exist():
    assert set(Settings.__dataclass_fields__) > CHANGEABLE


def test_a_short_training_beats_random_in_every_seat_and_tells_of_it(tmp_path):
    folder = train(
        Settings(
            run=str(tmp_path / "run"),
            total_steps=60_000,
            num_games=128,
            minibatch=256,
            hidden=[64, 64],
            worth_hidden=[64, 64],
            ema=0.99,
            threads=1,
            opponents=["random"],
            eval_every=10,
            eval_games=100,
            final_games=100,
        )
    )
    game = pe.make_game("treehouse")
    for deterministic in (True, False):
        match = play_match(game, LearnedAgent.load(folder, game, deterministic), pe.make_agent("random", game), 1000, seed=7)
        for seat in match.seats:
            assert seat.win_rate.low >= match.even_share + 0.1

    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    assert "Treehouse, 2 seats" in (folder / checkpoint.CARD).read_text()
    events = EventAccumulator(str(folder.parent)).Reload()
    for tag in events.Tags()["scalars"]:
        assert tag.replace("/random", "/AGENT") in (train_module.__doc__ or "")
    wins = [event.value for event in events.Scalars("wins/random")]
    assert wins[-1] > wins[0]


@pytest.mark.slow
@pytest.mark.parametrize(("num_players", "decisions"), [(2, 500_000), (3, 500_000), (4, 1_000_000)])
def test_some_minutes_beat_greedy(tmp_path, num_players, decisions):
    options = {"num_players": num_players}
    folder = train(Settings(run=str(tmp_path / "run"), options=options, total_steps=decisions, threads=1, final_games=0))
    game = pe.make_game("treehouse", num_players=num_players)
    match = play_match(game, LearnedAgent.load(folder, game, True), pe.make_agent("greedy", game), 2000 * num_players, seed=7)
    assert match.win_rate.low >= match.even_share + 0.02
