"""The route through stable-baselines3: it runs, resumes, learns, and its policy is the one in our checkpoint."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sb3_contrib")

import torch
from sb3_contrib import MaskablePPO

import pyramid_envs as pe
from pyramid_envs import rng
from pyramid_envs.agents import checkpoint
from pyramid_envs.agents.learned import LearnedAgent
from pyramid_envs.envs.sb3 import SB3VecEnv
from pyramid_envs.evaluation import play_match
from training import train_sb3 as train_sb3_module
from training.sb3_policy import read_zip
from training.train_sb3 import CHANGEABLE, ZIP, Settings, main, train

SMALL: dict[str, Any] = {
    "num_envs": 16,
    "n_steps": 16,
    "batch_size": 64,
    "n_epochs": 2,
    "hidden": [24, 16],
    "threads": 1,
    "save_every": 2,
    "final_games": 0,
    "eval_games": 4,
    "progress_bar": False,
}
UPDATE = SMALL["num_envs"] * SMALL["n_steps"]


def positions(game: pe.Game) -> pe.Batch:
    batch = pe.Batch(game, 50, seed=5)
    random = pe.make_agent("random", game)
    for _ in range(8):
        batch.step(random.act(batch.rows, batch.observations, batch.masks, batch.seats, batch.keys(rng.MOVE)))
    return batch


def sb3_answers(model: MaskablePPO, batch: pe.Batch) -> tuple[torch.Tensor, torch.Tensor]:
    """The probabilities and values of stable-baselines3's own policy."""
    observations = torch.from_numpy(batch.observations)
    with torch.no_grad():
        distribution = model.policy.get_distribution(observations, action_masks=batch.masks)
        return distribution.distribution.probs, model.policy.predict_values(observations).squeeze(1)


@pytest.mark.parametrize("num_players", [2, 3, 4])
@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_the_checkpoint_holds_the_policy_of_the_zip(tmp_path, num_players, activation, monkeypatch):
    settings = Settings(
        run=str(tmp_path / "run"),
        options={"num_players": num_players},
        total_steps=3 * UPDATE,
        activation=activation,
        learning_rate=1e-2,
        **SMALL,
    )
    folder = train(settings)
    game = pe.make_game("treehouse", num_players=num_players)
    batch = positions(game)
    expected_policy, expected_values = sb3_answers(MaskablePPO.load(folder / ZIP), batch)
    assert expected_policy.max() > 0.2

    def refuse(*arguments: Any, **keywords: Any) -> None:
        raise AssertionError("unpickled")

    for name in ("load", "loads", "Unpickler"):
        monkeypatch.setattr(pickle, name, refuse)
    for network in (checkpoint.load_network(folder, game), read_zip(folder / ZIP, game)):
        agent = LearnedAgent(network, game)
        policy = torch.softmax(torch.from_numpy(agent.logits(batch.observations, batch.masks)), 1)
        torch.testing.assert_close(policy, expected_policy, atol=1e-5, rtol=1e-4)
        with torch.no_grad():
            values = network(torch.from_numpy(batch.observations))[1]
        torch.testing.assert_close(values, expected_values, atol=1e-5, rtol=1e-4)


def test_a_zip_of_a_users_own_is_evaluated(tmp_path, capsys):
    """Made without our trainer, with stable-baselines3's default layers."""
    from training.evaluate import main as evaluate

    venv = SB3VecEnv("treehouse", 8, seed=0)
    model = MaskablePPO("MlpPolicy", venv, n_steps=8, batch_size=32, n_epochs=1)
    model.learn(64)
    model.save(tmp_path / "mine.zip")
    game = pe.make_game("treehouse")
    batch = positions(game)
    policy = LearnedAgent(read_zip(tmp_path / "mine.zip", game), game).logits(batch.observations, batch.masks)
    torch.testing.assert_close(torch.softmax(torch.from_numpy(policy), 1), sb3_answers(model, batch)[0], atol=1e-5, rtol=1e-4)
    arguments = [str(tmp_path / "mine.zip"), "--game", "treehouse", "--games", "10", "--json", str(tmp_path / "out.json")]
    assert evaluate(arguments) == 0
    assert len(json.loads((tmp_path / "out.json").read_text())[0]["matches"]) == 4
    with pytest.raises(pe.CheckpointError, match="does not fit"):
        read_zip(tmp_path / "mine.zip", pe.make_game("treehouse", num_players=3))


def test_opponents_are_fixed_agents_and_the_latest_snapshots(tmp_path, monkeypatch):
    met: list[list[str]] = []
    original = SB3VecEnv.set_opponents

    def noting(self, opponents):
        met.append([getattr(agent, "name", agent) for agent in opponents])
        original(self, opponents)

    monkeypatch.setattr(SB3VecEnv, "set_opponents", noting)
    train(Settings(run=str(tmp_path / "run"), total_steps=9 * UPDATE, snapshots=2, **SMALL))
    steps = [f"step_{k * UPDATE:012d}" for k in range(10)]
    pools = [[], steps[0:1], steps[0:3:2], steps[2:5:2], steps[4:7:2], steps[6:9:2]]
    assert met == [["random", "greedy", *pool] for pool in pools]


def test_resuming_goes_on_where_it_stopped(tmp_path, capsys):
    run = tmp_path / "run"
    folder = train(Settings(run=str(run), total_steps=3 * UPDATE, **SMALL))
    before = MaskablePPO.load(folder / ZIP)
    assert main(["--resume", str(run), "--total_steps", str(5 * UPDATE)]) == 0
    resumed = checkpoint.find(run)
    after = MaskablePPO.load(resumed / ZIP)
    assert (before.num_timesteps, after.num_timesteps) == (3 * UPDATE, 5 * UPDATE)
    assert checkpoint.read_config(resumed)["steps"] == 5 * UPDATE

    # The optimizer went on, and the learning rate reaches 0 with the last step.
    def gradient_steps(model: MaskablePPO) -> float:
        return float(next(iter(model.policy.optimizer.state.values()))["step"])

    assert gradient_steps(before) == 3 * 2 * UPDATE / 64
    assert gradient_steps(after) == 5 * 2 * UPDATE / 64
    with pytest.raises(pe.PyramidError, match="hidden"):
        main(["--resume", str(run), "--hidden", "[8]"])
    assert set(Settings.__dataclass_fields__) > CHANGEABLE


def test_a_run_of_one_trainer_is_not_resumed_by_the_other(tmp_path):
    from training.train import main as train_main

    train(Settings(run=str(tmp_path / "run"), total_steps=UPDATE, **SMALL))
    with pytest.raises(pe.CheckpointError, match="train_sb3"):
        train_main(["--resume", str(tmp_path / "run")])


def test_stopping_saves(tmp_path, monkeypatch, capsys):
    class Impatient(train_sb3_module.Interrupts):
        def __enter__(self):
            self.wanted = True
            return super().__enter__()

    monkeypatch.setattr(train_sb3_module, "Interrupts", Impatient)
    with pytest.raises(KeyboardInterrupt):
        train(Settings(run=str(tmp_path / "run"), total_steps=100 * UPDATE, **SMALL))
    assert f"--resume {tmp_path / 'run'}" in capsys.readouterr().out
    assert checkpoint.read_config(checkpoint.find(tmp_path / "run"))["steps"] < UPDATE


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"batch_size": 10**6}, "batch_size"),
        ({"activation": "sigmoid"}, "sigmoid"),
        ({"num_envs": 0}, "num_envs"),
        ({"opponents": ["stockfish"]}, "stockfish"),
        ({"game": "chess"}, "chess"),
        ({"options": {"num_players": 9}}, "num_players"),
    ],
)
def test_wrong_settings_are_told(tmp_path, wrong, said):
    with pytest.raises(pe.PyramidError, match=said):
        train(Settings(**{"run": str(tmp_path / "run"), **SMALL, **wrong}))
    assert not (tmp_path / "run").exists()


CONFIGS = sorted((Path(__file__).parent.parent / "configs" / "sb3").glob("*.yaml"))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.name)
def test_every_config_in_the_repository_is_one(path, monkeypatch):
    seen = []
    monkeypatch.setattr(train_sb3_module, "train", lambda settings, resume: seen.append(settings))
    main(["--config", str(path)])
    pe.make_game(seen[0].game, **seen[0].options)


def test_a_short_training_beats_random_in_every_seat(tmp_path):
    settings = Settings(
        run=str(tmp_path / "run"),
        total_steps=120_000,
        num_envs=128,
        n_steps=16,
        batch_size=512,
        n_epochs=4,
        hidden=[64, 64],
        learning_rate=5e-3,
        opponents=["random"],
        final_games=0,
        threads=1,
        progress_bar=False,
    )
    folder = train(settings)
    game = pe.make_game("treehouse")
    match = play_match(game, LearnedAgent.load(folder, game), pe.make_agent("random", game), 1000, seed=7)
    assert match.games == 1000
    for seat in match.seats:
        assert seat.win_rate.low >= match.even_share + 0.1
