"""Self-play training: whose reward is whose, exact continuation, clear errors, and that it learns."""

# ruff: noqa: E402 - without torch the whole file is skipped before anything that needs it is imported
from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import pyramid_envs as pe
from pyramid_envs.agents import checkpoint
from pyramid_envs.agents.learned import LearnedAgent
from pyramid_envs.agents.networks import build, mask_logits
from pyramid_envs.evaluation import play_match
from training import train as train_module
from training.cli import SettingsError, dump_settings
from training.streams import credit
from training.train import CHANGEABLE, Settings, main, train

ROOT = Path(__file__).parent.parent
SMALL: dict[str, Any] = {
    "num_games": 32,
    "plies": 16,
    "minibatch": 128,
    "hidden": [16],
    "threads": 1,
    "opponents": ["random"],
    "eval_every": 1000,
    "eval_games": 2,
    "final_games": 0,
    "save_every": 1,
    "keep": 100,
}
UPDATE = SMALL["num_games"] * SMALL["plies"]


# ------------------------------------------------------------------------------------------------ whose reward is whose


def slow_credit(seats, values, present, rewards, terminated, truncated, gae_lambda):
    """The same, game by game and seat by seat, from the definitions."""
    num_rows, num_games = seats.shape
    num_seats = rewards.shape[2]
    advantages = np.zeros((num_rows, num_games))
    closed = np.zeros((num_rows, num_games), bool)
    open_rows = np.full((num_games, num_seats), -1)
    for game in range(num_games):
        episodes = [[]]  # the rows of each game that was played in this place
        for t in range(num_rows):
            episodes[-1].append(t)
            if terminated[t, game] or truncated[t, game]:
                episodes.append([])
        for rows in episodes:
            for seat in range(num_seats):
                own = [t for t in rows if present[t, game] and seats[t, game] == seat]
                for k, t in enumerate(own):
                    # The lambda-return: sum over decisions from here on of lambda**j times the one-step surprise.
                    surprises = []
                    for j in range(k, len(own)):
                        until = own[j + 1] if j + 1 < len(own) else rows[-1] + 1
                        paid = sum(rewards[r, game, seat] for r in range(own[j], until))
                        if j + 1 < len(own):
                            surprises.append(paid + values[own[j + 1], game] - values[own[j], game])
                        elif terminated[rows[-1], game]:
                            surprises.append(paid - values[own[j], game])
                    if surprises:
                        closed[t, game] = True
                        advantages[t, game] = sum(gae_lambda**j * surprise for j, surprise in enumerate(surprises))
                    elif not truncated[rows[-1], game]:
                        open_rows[game, seat] = t
    return advantages, closed, open_rows


@pytest.mark.parametrize("num_seats", [2, 3, 4])
@pytest.mark.parametrize("seed", range(5))
def test_advantages_agree_with_a_plain_reference(num_seats, seed):
    random = np.random.default_rng(seed)
    shape = (num_seats + 25, 12)
    seats = random.integers(num_seats, size=shape)
    seats[:num_seats] = np.arange(num_seats)[:, None]
    present = np.ones(shape, bool)
    present[:num_seats] = random.random((num_seats, 12)) < 0.5
    values = random.normal(size=shape).astype(np.float32)
    ends = random.random(shape) < 0.12
    ends[:num_seats] = False
    cut = ends & (random.random(shape) < 0.4)
    terminated = ends & ~cut
    rewards = np.where(cut[..., None], 0, random.normal(size=(*shape, num_seats))).astype(np.float32)
    rewards[:num_seats] = 0
    found = credit(seats, values, present, rewards, terminated, cut, 0.9)
    advantages, closed, open_rows = slow_credit(seats, values, present, rewards, terminated, cut, 0.9)
    np.testing.assert_array_equal(found.closed, closed)
    np.testing.assert_array_equal(found.open_rows, open_rows)
    np.testing.assert_allclose(found.advantages, advantages, atol=1e-5)
    # Each decision is learned from, waits, or was cut: nothing is lost or counted twice.
    assert closed.any()
    assert (open_rows >= 0).any()
    assert (present & ~closed).sum() > (open_rows >= 0).sum()


def test_the_loser_of_a_game_that_ends_on_another_move_learns_of_its_loss():
    # Seat 0 plays, seat 1 plays and wins.
    seats = np.array([[0], [1]])
    values = np.array([[0.25], [0.5]], np.float32)
    rewards = np.array([[[0, 0]], [[-1, 1]]], np.float32)
    ended = np.array([[False], [True]])
    found = credit(seats, values, np.ones((2, 1), bool), rewards, ended, np.zeros((2, 1), bool), 0.95)
    assert found.closed.all()
    np.testing.assert_allclose(found.advantages + values, [[-1], [1]])


def test_a_decision_is_learned_from_once_whatever_the_length_of_rollouts(tmp_path, monkeypatch):
    """With rollouts that end in mid-game, what has been learned from and what waits are together all that was played."""
    counts = []

    def counting(*arguments):
        found = credit(*arguments)
        counts.append((arguments[2].sum(), found.closed.sum(), (found.open_rows >= 0).sum()))
        return found

    monkeypatch.setattr(train_module, "credit", counting)
    train(Settings(run=str(tmp_path / "run"), total_steps=5 * UPDATE, **SMALL))
    waited = 0
    for present, closed, waits in counts:
        assert present == waited + UPDATE
        assert closed + waits == present  # no game was cut here
        waited = waits
    assert waited > 0


@pytest.mark.parametrize("cut_payoff", [None, -0.5])
def test_a_game_that_is_cut_teaches_nothing_or_counts_as_is_said(tmp_path, monkeypatch, cut_payoff):
    seen = []

    def noting(*arguments):
        seen.append(arguments)
        return credit(*arguments)

    monkeypatch.setattr(train_module, "credit", noting)
    options = {"max_plies": 9}
    train(Settings(run=str(tmp_path / "run"), options=options, total_steps=4 * UPDATE, cut_payoff=cut_payoff, **SMALL))
    rewards = np.concatenate([arguments[3] for arguments in seen])
    terminated = np.concatenate([arguments[4] for arguments in seen])
    truncated = np.concatenate([arguments[5] for arguments in seen])
    assert not (terminated & truncated).any()
    paid = rewards[terminated]
    if cut_payoff is None:
        assert truncated.sum() > 50  # few games of beginners end in nine actions
        assert (rewards[truncated] == 0).all()
        assert (paid.sum(1) == 0).all()
    else:
        assert not truncated.any()
        assert (paid[paid.sum(1) != 0] == cut_payoff).all()
        assert (paid == cut_payoff).all(1).sum() > 50
        assert (paid.sum(1) == 0).any()  # games that were won pay what they pay


@pytest.mark.parametrize("against", [None, "random"])
def test_a_card_tells_against_whom_an_agent_has_learned(tmp_path, against):
    folder = train(Settings(run=str(tmp_path / "run"), total_steps=UPDATE, against=against, **SMALL))
    card = (folder / checkpoint.CARD).read_text()
    assert ("It has learned against `random` in all other seats" in card) == (against is not None)
    assert ("It has met itself" in card) == (against is None)


def test_the_advice_weighs_at_first_what_is_said(tmp_path):
    settings = Settings(
        run=str(tmp_path / "run"), total_steps=UPDATE, advised=True, advice_weight=7.0, learning_rate=0.0, **SMALL
    )
    assert checkpoint.load_network(train(settings), pe.make_game("treehouse")).advice.weight == 7.0


# --------------------------------------------------------------------------------------------------------- resuming


def assert_same(one: Any, other: Any, where: str = "") -> None:
    assert type(one) is type(other), where
    if isinstance(one, dict):
        assert one.keys() == other.keys(), where
        for key in one:
            assert_same(one[key], other[key], f"{where}/{key}")
    elif isinstance(one, list):
        for k, (left, right) in enumerate(zip(one, other, strict=True)):
            assert_same(left, right, f"{where}/{k}")
    elif isinstance(one, torch.Tensor):
        assert torch.equal(one, other), where
    elif not where.endswith("/seconds"):
        assert one == other, where


@pytest.mark.parametrize(
    "further",
    [
        {},
        {"magnet": 0.1, "magnet_every": 3},
        {"magnet": 0.1, "magnet_every": 0, "imitate": "greedy", "imitate_steps": UPDATE},
        {"options": {"num_players": 3, "max_plies": 20}},
        {"critic": "all", "options": {"num_players": 3}},
        {"against": "greedy", "seat": 1},
        {"imitate": "greedy", "imitate_steps": 3 * UPDATE},
        {"network": "sparse", "hidden": [16, 8], "bfloat16": True},
        {"advised": True, "critic": "all", "magnet": 0.1},
        {"activation": "gated"},
        {"cut_payoff": -0.5, "options": {"max_plies": 20}},
    ],
    ids=[
        "plain",
        "magnet",
        "magnet_stays",
        "three_seats",
        "critic",
        "against",
        "imitate",
        "sparse_bfloat16",
        "advised",
        "gated",
        "cut",
    ],
)
def test_a_resumed_training_gives_the_same_numbers_as_an_uninterrupted_one(tmp_path, further):
    whole = train(Settings(run=str(tmp_path / "whole"), total_steps=4 * UPDATE, **{**SMALL, **further}))
    half = tmp_path / "whole" / f"step_{2 * UPDATE:012d}"
    shutil.copytree(half, tmp_path / "resumed" / half.name)
    settings = Settings(**checkpoint.read_config(half)["settings"])
    resumed = train(settings, tmp_path / "resumed" / half.name)
    assert resumed.parent == tmp_path / "resumed"
    assert resumed.name == whole.name != half.name
    assert_same(checkpoint.load_training_state(whole), checkpoint.load_training_state(resumed))
    assert (whole / checkpoint.MODEL).read_bytes() == (resumed / checkpoint.MODEL).read_bytes()
    before = checkpoint.load_training_state(half)["network"]
    after = checkpoint.load_training_state(whole)["network"]
    assert not torch.equal(before["policy_head.weight"], after["policy_head.weight"])


def test_another_seed_gives_other_numbers(tmp_path):
    seeds = {"a": 0, "b": 1, "c": 0}
    folders = [train(Settings(run=str(tmp_path / run), total_steps=UPDATE, seed=seed, **SMALL)) for run, seed in seeds.items()]
    weights = [(folder / checkpoint.MODEL).read_bytes() for folder in folders]
    assert weights[0] == weights[2] != weights[1]


def test_ctrl_c_saves_and_says_how_to_continue(tmp_path):
    run = tmp_path / "run"
    arguments = [f"--{name}={value}" for name, value in {**SMALL, "save_every": 1000}.items()]
    command = [sys.executable, "-m", "training.train", "--run", str(run), "--total_steps", str(10**8), *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 120
    while not list(run.glob("events*")) and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.1)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    assert f"--resume {run}" in output
    steps = checkpoint.read_config(checkpoint.find(run))["steps"]
    assert 0 < steps < 10**8
    resumed = checkpoint.read_config(checkpoint.find(run))["settings"]
    folder = train(Settings(**{**resumed, "total_steps": steps + UPDATE}), run)
    assert checkpoint.read_config(folder)["steps"] == steps + UPDATE


def test_a_time_budget_ends_a_training_early_and_saves(tmp_path):
    folder = train(Settings(run=str(tmp_path / "run"), total_steps=10**8, minutes=0.001, **SMALL))
    assert 0 < checkpoint.read_config(folder)["steps"] < 10**8


# --------------------------------------------------------------------------------------------------- the command line


def error_of(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """What the command says, and that it says so without a traceback."""
    from training.cli import run_command

    with pytest.raises(SystemExit) as stop:
        run_command(lambda: main(arguments))
    assert stop.value.code == 2
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--game", "chess"], ["no game is called 'chess'", "treehouse"]),
        (["--options.players", "3"], ["no option 'players'", "num_players"]),
        (["--options.num_players", "7"], ["num_players", "7"]),
        (["--learning_rat", "1"], ["learning_rat"]),
        (["--learning_rate", "fast"], ["learning_rate", "fast"]),
        (["--opponents", "[stockfish]"], ["no agent is called 'stockfish'"]),
        (["--device", "abacus"], ["device 'abacus'"]),
        (["--total_steps", "100"], ["total_steps 100"]),
        (["--num_games", "0"], ["num_games", "at least 1"]),
        (["--threads", "-1"], ["threads", "at least 1"]),
        (["--learning_rate", ".nan"], ["learning_rate", "nan"]),
        (["--gae_lambda", "1.5"], ["gae_lambda", "from 0 to 1"]),
        (["--cut_payoff", "-2"], ["cut_payoff", "from -1 to 1"]),
        (["--advice_weight", "-1"], ["advice_weight", "at least 0"]),
        (["--hidden", "[0]"], ["layers must have at least 1"]),
        (["--magnet_every", "-1"], ["magnet_every", "at least 0"]),
        (["--network", "transformer"], ["'transformer'", "mlp"]),
        (["--network", "conv"], ["conv"]),
        (["--activation", "sigmoid"], ["'sigmoid'", "relu", "tanh", "gated"]),
        (["--game", "trellis", "--advised", "true"], ["only an mlp", "can be advised"]),
        (["--plies", "2"], ["plies"]),
        (["--critic", "both"], ["critic must be own or all"]),
        (["--seat", "1"], ["set against too"]),
        (["--against", "greedy", "--seat", "2"], ["seats 0 to 1, not 2"]),
        (["--start", "no/such/run"], ["no folder no/such/run"]),
        (["--resume", "no/such/run"], ["no folder no/such/run"]),
        (["--config", "no/such.yaml"], ["no/such.yaml"]),
        (["--hidden", "[a]"], ["hidden"]),
    ],
)
def test_what_is_wrong_is_told_in_a_line(arguments, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    error = error_of(arguments, capsys)
    for words in said:
        assert words in error
    assert not list(tmp_path.iterdir())  # nothing was begun


def test_a_config_file_holds_differences_and_the_command_line_overrides_it(tmp_path, monkeypatch, capsys):
    seen = []
    monkeypatch.setattr(train_module, "train", lambda settings, resume: seen.append(settings))
    (tmp_path / "a.yaml").write_text("options: {num_players: 3}\nhidden: [8]\n")
    main(["--config", str(tmp_path / "a.yaml"), "--options.dig_away", "true", "--hidden", "[4, 4]", "--learning_rate", "1e-4"])
    assert seen == [Settings(options={"num_players": 3, "dig_away": True}, hidden=[4, 4], learning_rate=1e-4)]
    (tmp_path / "b.yaml").write_text("hiden: [8]\n")
    assert "hiden" in error_of(["--config", str(tmp_path / "b.yaml")], capsys)
    (tmp_path / "c.yaml").write_text(dump_settings(seen[0]))
    main(["--config", str(tmp_path / "c.yaml")])
    assert seen[1] == seen[0]


@pytest.mark.parametrize("path", sorted(ROOT.glob("configs/*.yaml")), ids=lambda path: path.name)
def test_every_config_in_the_repository_is_one(path, monkeypatch):
    seen = []
    monkeypatch.setattr(train_module, "train", lambda settings, resume: seen.append(settings))
    main(["--config", str(path)])
    pe.make_game(seen[0].game, **seen[0].options)


def test_an_existing_run_is_not_overwritten_and_keeps_its_settings(tmp_path, capsys):
    run = tmp_path / "run"
    train(Settings(run=str(run), total_steps=UPDATE, **SMALL))
    assert "--resume" in error_of(["--run", str(run)], capsys)
    assert "seed" in error_of(["--resume", str(run), "--seed", "5"], capsys)
    # What does not touch the numbers may be changed.
    assert main(["--resume", str(run), "--total_steps", str(2 * UPDATE), "--keep", "1"]) == 0
    assert checkpoint.read_config(checkpoint.find(run))["steps"] == 2 * UPDATE
    assert len(list(run.glob("step_*"))) == 1


def test_a_folder_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError, match="cannot be written"):
        train(Settings(run=str(tmp_path / "file" / "run"), total_steps=UPDATE, **SMALL))


def test_missing_torch_is_told_with_the_extra_to_install(tmp_path):
    (tmp_path / "torch.py").write_text("raise ImportError('not installed')")
    program = (
        "import sys, importlib.util as util; find = util.find_spec\n"
        "util.find_spec = lambda name, *rest: None if name == 'torch' else find(name, *rest)\n"
        "import training"
    )
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.returncode != 0
    assert 'torch: pip install "pyramid-envs[train]"' in done.stderr
    assert "Traceback" not in done.stderr


def test_changeable_settings_exist():
    assert set(Settings.__dataclass_fields__) > CHANGEABLE


# ---------------------------------------------------------------------------------------------------------- learning


def test_drawn_actions_are_legal_and_have_their_probabilities():
    generator = torch.Generator().manual_seed(0)
    masks = torch.rand((3, 40), generator=generator) < 0.4
    logits = mask_logits(torch.randn((3, 40), generator=generator), masks)
    policy = torch.softmax(logits, 1)
    numbers = torch.rand((20_000, len(masks), 1), generator=generator)
    draws = torch.stack([train_module.draw(policy, masks, drawn) for drawn in numbers])
    for row in range(3):
        shares = torch.bincount(draws[:, row], minlength=40) / len(draws)
        assert (shares[~masks[row]] == 0).all()
        torch.testing.assert_close(shares, policy[row], atol=0.015, rtol=0)


def test_imitation_plays_like_its_teacher_and_a_training_can_start_from_a_checkpoint(tmp_path):
    settings = {**SMALL, "num_games": 256, "hidden": [64], "save_every": 1000}
    steps = 30 * 256 * SMALL["plies"]
    taught = train(Settings(run=str(tmp_path / "taught"), total_steps=steps, imitate="greedy", imitate_steps=steps, **settings))
    game = pe.make_game("treehouse")
    match = play_match(game, LearnedAgent.load(taught, game, deterministic=True), pe.make_agent("random", game), 400, seed=5)
    assert match.win_rate.low > 0.7
    begun = train(Settings(run=str(tmp_path / "begun"), start=str(taught), total_steps=UPDATE, learning_rate=0.0, **SMALL))
    for name, tensor in checkpoint.load_network(begun, game).state_dict().items():
        torch.testing.assert_close(tensor, checkpoint.load_network(taught, game).state_dict()[name])


def test_a_strong_magnet_holds_the_policy_and_entropy_keeps_it_varied(tmp_path):
    def entropy(name: str, **further: Any) -> float:
        settings = {**SMALL, "hidden": [64], "learning_rate": 1e-2, "final_learning_rate": 1e-2, "save_every": 1000}
        folder = train(Settings(run=str(tmp_path / name), total_steps=30 * UPDATE, **settings, **further))
        network = checkpoint.load_network(folder, game)
        with torch.no_grad():
            logits, _ = network(torch.from_numpy(batch.observations))
        policy = torch.softmax(mask_logits(logits, masks), 1)
        return float(-(policy * torch.log(policy + 1e-20)).sum(1).mean())

    game = pe.make_game("treehouse")
    batch = pe.Batch(game, 256, seed=1)
    masks = torch.from_numpy(batch.masks)
    uniform = float(torch.log(masks.sum(1).float()).mean())
    free = entropy("free", entropy=0.0)
    assert free < 0.9 * uniform
    assert entropy("magnet", entropy=0.0, magnet=10.0, magnet_every=1000) > free + 0.5 * (uniform - free)
    assert entropy("entropy", entropy=1.0, final_entropy=1.0) > free + 0.5 * (uniform - free)


def test_a_magnet_that_stays_is_what_imitation_has_left(tmp_path):
    learning = {"imitate": "greedy", "imitate_steps": 2 * UPDATE, "magnet": 0.1, "magnet_every": 0}
    folder = train(
        Settings(run=str(tmp_path / "run"), total_steps=4 * UPDATE, **{**SMALL, "save_every": 2, "keep": 9}, **learning)
    )
    imitated = checkpoint.load_training_state(tmp_path / "run" / f"step_{2 * UPDATE:012d}")["network"]
    at_the_end = checkpoint.load_training_state(folder)
    for name, weights in imitated.items():
        assert torch.equal(at_the_end["magnet"][name], weights)
    assert not torch.equal(at_the_end["network"]["policy_head.weight"], imitated["policy_head.weight"])


def test_a_short_training_beats_random_in_every_seat(tmp_path):
    settings = Settings(
        run=str(tmp_path / "run"),
        total_steps=200_000,
        num_games=128,
        minibatch=512,
        hidden=[128, 128],
        learning_rate=3e-3,
        epochs=3,
        ema=0.99,
        threads=1,
        opponents=["random"],
        eval_every=10,
        eval_games=100,
        final_games=100,
    )
    folder = train(settings)
    game = pe.make_game("treehouse")
    random = pe.make_agent("random", game)
    for deterministic in (True, False):
        match = play_match(game, LearnedAgent.load(folder, game, deterministic), random, 1000, seed=7)
        assert match.games == 1000
        for seat in match.seats:
            assert seat.win_rate.low >= match.even_share + 0.1
    untrained = LearnedAgent(build({"kind": "mlp"}, game.observation_shape, game.num_actions), game)
    assert play_match(game, untrained, random, 200, seed=7).win_rate.low < match.even_share + 0.1

    # What is left behind tells of it.
    import json

    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    results = json.loads((folder / checkpoint.RESULTS).read_text())
    assert [(m["play"], m["opponent"], m["games"]) for m in results["matches"]] == [
        ("best", "random", 100),
        ("sampled", "random", 100),
    ]
    card = (folder / checkpoint.CARD).read_text()
    assert "Treehouse, 2 seats" in card
    assert f"{100 * results['matches'][0]['win_rate']:.1f} [" in card
    events = EventAccumulator(str(folder.parent)).Reload()
    explained = train_module.__doc__ or ""
    for tag in events.Tags()["scalars"]:
        assert tag.replace("/random", "/AGENT") in explained
    wins = [event.value for event in events.Scalars("wins/random")]
    assert wins[-1] > wins[0]


@pytest.mark.slow
@pytest.mark.parametrize("num_players", [3, 4])
def test_training_with_more_seats_beats_random_in_every_seat(tmp_path, num_players):
    folder = train(
        Settings(
            run=str(tmp_path / "run"),
            options={"num_players": num_players},
            total_steps=400_000,
            num_games=128,
            minibatch=512,
            hidden=[128, 128],
            learning_rate=3e-3,
            epochs=3,
            ema=0.99,
            threads=1,
            final_games=0,
        )
    )
    game = pe.make_game("treehouse", num_players=num_players)
    match = play_match(game, LearnedAgent.load(folder, game), pe.make_agent("random", game), 1000 * num_players, seed=7)
    for seat in match.seats:
        assert seat.win_rate.low >= match.even_share + 0.1
