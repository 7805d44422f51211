"""The trained agents that come with the package."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gymnasium
import pytest

import pyramid_envs as pe
from pyramid_envs import pretrained
from pyramid_envs.agents import checkpoint
from pyramid_envs.envs.sb3 import SB3VecEnv
from pyramid_envs.evaluation import play_match
from training import publish, report
from training.train import Settings, train

FOLDERS = sorted(path.parent for path in pretrained.FOLDER.glob("*/config.json"))
shipped = pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)


def game_of(folder: Path) -> pe.Game:
    config = checkpoint.read_config(folder)
    return pe.make_game(config["game"], **{name: value for name, value in config["options"].items() if name != "max_plies"})


@shipped
def test_a_shipped_agent_is_small_and_holds_nothing_but_weights_and_text(folder: Path) -> None:
    assert {path.name for path in folder.iterdir()} == {"model.safetensors", "config.json", "results.json", "README.md"}
    assert sum(path.stat().st_size for path in folder.iterdir()) < 2 * 2**20
    assert folder.name == pretrained.name(game_of(folder))


@shipped
def test_a_shipped_agent_is_an_opponent_in_every_environment(folder: Path) -> None:
    game = game_of(folder)
    options = {"num_players": game.num_players}
    env = gymnasium.make(f"pyramid_envs/{game.card.env_id}-v0", opponents="pretrained", **options)
    _, info = env.reset(seed=0)
    env.step(int(info["action_mask"].argmax()))
    venv = SB3VecEnv(game.name, num_envs=2, opponents="pretrained", seed=0, **options)
    venv.reset()
    venv.step(venv.action_masks().argmax(1))
    assert pe.make_agent("mcts:2@pretrained", game).name == "mcts:2@pretrained"


@pytest.mark.slow
@shipped
def test_a_shipped_agent_is_as_strong_as_its_card_says(folder: Path) -> None:
    game, stated = game_of(folder), json.loads((folder / "results.json").read_text(encoding="utf-8"))
    ways = report.ways_to_play(checkpoint.load_network(folder, game), game, folder.name)
    for match in stated["matches"]:
        found = play_match(game, ways[match["play"]], pe.make_agent(match["opponent"], game), match["games"], seed=3)
        low, high = match["win_rate_95"]
        assert found.win_rate.low <= high
        assert found.win_rate.high >= low


def test_a_game_without_a_shipped_agent_says_which_there_are(game: pe.Game) -> None:
    if pretrained.name(game) in {folder.name for folder in FOLDERS}:
        assert pe.make_agent("pretrained", game).name == "pretrained"
    else:
        with pytest.raises(pe.AgentError, match=f"no trained agent for {pretrained.name(game)} comes with this package"):
            pe.make_agent("pretrained", game)


def small_run(folder: Path, **settings: Any) -> Path:
    sizes: dict[str, Any] = {"total_steps": 256, "num_games": 16, "plies": 8, "minibatch": 64, "hidden": [8], "threads": 1}
    run = str(folder / "run")
    return train(Settings(run=run, opponents=[], final_games=0, options={"max_plies": 40}, **{**sizes, **settings}))


def test_publishing_a_run_writes_what_was_measured_of_its_rounded_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = small_run(tmp_path)
    for _ in range(2):  # the second replaces the first
        assert publish.main([str(run), "--games", "40", "--opponents", "random", "--into", str(tmp_path / "shipped")]) == 0
    folder = tmp_path / "shipped" / "treehouse-2p"
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]
    matches = json.loads((folder / "results.json").read_text(encoding="utf-8"))["matches"]
    assert [match["games"] for match in matches] == [40, 40]
    assert (folder / "model.safetensors").stat().st_size < (run / "model.safetensors").stat().st_size
    monkeypatch.setattr(pretrained, "FOLDER", folder.parent)
    game = pe.make_game("treehouse")
    again = play_match(game, pe.make_agent("pretrained", game), pe.make_agent("random", game), 40, 2_000_000_000)
    assert again.win_rate.value == matches[1]["win_rate"]


def test_an_agent_too_large_for_the_package_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publish, "MAX_BYTES", 1000)
    with pytest.raises(pe.PyramidError, match="bytes of weights in 16 bits, more than 1,000"):
        publish.main([str(small_run(tmp_path)), "--into", str(tmp_path / "shipped")])
    assert not (tmp_path / "shipped").exists()
