"""The promise that a game is one folder: below pyramid_envs/games, or in a folder of one's own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import gymnasium
import pytest

import pyramid_envs as pe
from pyramid_envs import games

PACKAGE = Path(pe.__file__).parent
EXTRA_GAMES = Path(__file__).with_name("extra_games")


def test_a_folder_below_games_is_all_there_is_to_add(tmp_path: Path) -> None:
    shutil.copytree(PACKAGE, tmp_path / "pyramid_envs", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(EXTRA_GAMES / "tic_tac_toe", tmp_path / "pyramid_envs" / "games" / "tic_tac_toe")
    code = """if True:
        import gymnasium
        import numpy as np
        import pettingzoo
        import pyramid_envs as pe
        from pyramid_envs import tic_tac_toe_v0
        assert "tic_tac_toe" in pe.game_names()
        game = pe.make_game("tic_tac_toe")
        step = pe.Batch(game, 4).step([0, 1, 2, 3])
        assert game.card.rules.__file__.startswith(PLACE)
        made = [tic_tac_toe_v0.env()]
        if hasattr(pettingzoo, "make"):  # before PettingZoo 1.27 it had no registry
            made.append(pettingzoo.make("aec", "pyramid_envs/TicTacToe-v0"))
        for env in made:
            env.reset(seed=0)
            env.step(4)
        for env in (gymnasium.make("pyramid_envs/TicTacToe-v0"), gymnasium.make_vec("pyramid_envs/TicTacToe-v0", num_envs=3)):
            env.reset(seed=0)
    """
    done = subprocess.run(
        [sys.executable, "-c", code.replace("PLACE", repr(str(tmp_path)))],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path), "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr


def test_adding_a_folder_again_changes_nothing() -> None:
    before, registered = list(games.__path__), len(gymnasium.registry)
    assert pe.add_games_folder(EXTRA_GAMES) == ("tic_tac_toe",)
    assert pe.add_games_folder(str(EXTRA_GAMES)) == ("tic_tac_toe",)
    assert (list(games.__path__), len(gymnasium.registry)) == (before, registered)


def test_a_folder_without_a_game_is_refused(tmp_path: Path) -> None:
    before = list(games.__path__)
    for folder in (tmp_path, tmp_path / "missing"):
        with pytest.raises(pe.UnknownGameError, match=f"{folder} holds no game"):
            pe.add_games_folder(folder)
    assert list(games.__path__) == before


def test_a_game_of_a_name_that_is_taken_is_refused(tmp_path: Path) -> None:
    before = list(games.__path__)
    shutil.copytree(EXTRA_GAMES / "tic_tac_toe", tmp_path / "tic_tac_toe")
    with pytest.raises(pe.UnknownGameError, match="'tic_tac_toe'"):
        pe.add_games_folder(tmp_path)
    assert list(games.__path__) == before
