"""The benchmarks: the commands run, write what they promise, and say what they leave out."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.games import connect_four
from pyramid_envs.errors import PositionError
from pyramid_envs.game import Game
from pyramid_envs.kernels import TERMINAL

ROOT = Path(__file__).parent.parent


def run(module: str, folder: Path, *arguments: str) -> tuple[str, dict[str, Any], str]:
    """What a benchmark prints, its JSON and its Markdown; it draws its picture too."""
    files = [f"--json_file={folder / 'a.json'}", f"--markdown={folder / 'a.md'}", f"--plot={folder / 'a.png'}"]
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments, *files],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (folder / "a.png").read_bytes().startswith(b"\x89PNG")
    return done.stdout, json.loads((folder / "a.json").read_text("utf-8")), (folder / "a.md").read_text("utf-8")


def compare(folder: Path, *systems: str) -> tuple[str, dict[str, Any], str]:
    sizes = "--batches=[1,8]"
    return run("benchmarks.compare", folder, f"--systems={json.dumps(systems)}", sizes, "--seconds=0.01", "--rounds=2")


def test_ours_is_measured_in_every_way(tmp_path: Path) -> None:
    told, figures, page = compare(tmp_path, "pyramid_envs")
    rates = figures["steps_per_second"]
    for way, size in {"Batch": 1, "Batch, 8": 8, "ceiling": 8, "Game": 1, "AEC": 1}.items():
        name = f"pyramid_envs {way.split(',')[0]}, treehouse, {size}"
        assert len(rates[name]) == 2, name
        assert min(rates[name]) > 0, name
    assert len(figures["microseconds_of_apply_legal_mask_observe"]["tic_tac_toe"]) == 3
    assert "| pyramid_envs Batch | trellis | 8 |" in page
    assert "python -m benchmarks.compare" in told


@pytest.mark.parametrize(
    ("system", "modules", "entry"),
    [
        ("PettingZoo", ["pygame", "rlcard"], "PettingZoo AEC, leduc_holdem, 1"),
        ("OpenSpiel", ["pyspiel"], "OpenSpiel Python, backgammon, 8"),
        pytest.param("pgx", ["pgx"], "pgx scan, tic_tac_toe, 8", marks=pytest.mark.slow),
    ],
)
def test_others_are_measured_where_they_are_installed_and_said_to_be_left_out_elsewhere(
    system: str, modules: list[str], entry: str, tmp_path: Path
) -> None:
    told, figures, page = compare(tmp_path, system)
    installed = all(importlib.util.find_spec(module) for module in modules)
    assert (entry in figures["steps_per_second"]) == installed
    left_out = f"What is missing of {system} is left out"
    assert (left_out in told) == (left_out in page) == (not installed)


def test_a_system_that_does_not_exist_is_named() -> None:
    with pytest.raises(SystemExit, match="no system is called 'chess'; the systems are pyramid_envs, pgx"):
        importlib.import_module("benchmarks.compare").compare(["chess"])


def test_a_training_is_measured(tmp_path: Path) -> None:
    pytest.importorskip("stable_baselines3")
    settings = ["--total_steps=256", "--num_games=8", "--hidden=[8]", "--eval_games=4", "--strength=0.01"]
    _, figures, page = run("benchmarks.training", tmp_path, "--runs=[1 process]", *settings)
    outcome = figures["runs"]["1 process"]
    assert outcome["steps_per_second"] > 0
    assert [steps for steps, *_ in outcome["wins"]] == [128, 256]
    assert "| 1 process |" in page


@pytest.mark.slow
def test_all_trainings_are_measured(tmp_path: Path) -> None:
    pytest.importorskip("stable_baselines3")
    settings = ["--total_steps=5120", "--num_games=32", "--hidden=[8]", "--eval_games=4"]
    _, figures, _ = run("benchmarks.training", tmp_path, *settings)
    assert len(figures["runs"]) == 5
    for name, outcome in figures["runs"].items():
        assert outcome["steps_per_second"] > 0, name
        assert outcome["wins"], name


# -------------------------------------------------------------------------------------------------------- connect four


def wins(board: np.ndarray, mark: int) -> bool:
    """Whether four of these marks lie in a line, cell by cell."""
    return any(
        all(0 <= r + k * dr < 6 and 0 <= c + k * dc < 7 and board[r + k * dr, c + k * dc] == mark for k in range(4))
        for r in range(6)
        for c in range(7)
        for dr, dc in ((0, 1), (1, 0), (1, 1), (1, -1))
    )


def test_connect_four_is_connect_four() -> None:
    game, draw = Game(connect_four.card, {}), random.Random(0)
    ends = set()
    for _ in range(60):
        row, board, seat = game.initial(), np.zeros((6, 7), int), 0  # row 0 of the board is its top
        while True:
            over = wins(board, 1) or wins(board, 2) or bool(board.all())
            assert (game.to_move(row) == TERMINAL) == over
            assert game.legal_mask(row).tolist() == [not over and board[0, column] == 0 for column in range(7)]
            for viewer in (0, 1):
                own, other = game.observe(row, viewer)
                assert np.array_equal(own, board == 1 + viewer)
                assert np.array_equal(other, board == 2 - viewer)
            again = game.from_position(game.position(row))
            assert again.tobytes() == row.tobytes()
            if over:
                expected = [float(wins(board, 1)) - wins(board, 2), float(wins(board, 2)) - wins(board, 1)]
                assert game.returns(row).tolist() == expected
                ends.add(tuple(expected))
                break
            column = draw.choice(game.legal_actions(row).tolist())
            game.apply(row, column)
            board[np.flatnonzero(board[:, column] == 0)[-1], column] = 1 + seat
            seat = (seat + 1) % 2
    assert {(1.0, -1.0), (-1.0, 1.0)} <= ends


def test_a_full_board_of_connect_four_without_a_line_is_a_draw() -> None:
    lines = ["XXOOXXO", "OOXXOOX", "XXOOXXO", "OOXXOOX", "XXOOXXO", "OOXXOOX"]
    game = Game(connect_four.card, {})
    row = game.from_position({"board": lines})
    assert game.to_move(row) == TERMINAL
    assert game.returns(row).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("board", "fault"),
    [
        (["......."] * 5 + ["X..O..?"], "board\\[5\\] must be 7 letters"),
        (["......."] * 4 + ["X......", "......."], "lies on nothing"),
        (["......."] * 5 + ["XX....."], "2 X and 0 O"),
        (["......."] * 4 + ["OOO....", "XXXXO.."], "after the game was won"),
    ],
)
def test_positions_of_connect_four_that_cannot_be_are_refused(board: list[str], fault: str) -> None:
    with pytest.raises(PositionError, match=fault):
        Game(connect_four.card, {}).from_position({"board": board})
