"""Several processes under torchrun learn what one learns."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from pyramid_envs.agents import checkpoint
from training.cli import SettingsError
from training.processes import Processes
from training.train import Settings, train

ROOT = Path(__file__).parent.parent
UPDATE = 32 * 8
SMALL: dict[str, Any] = {
    "num_games": 32,
    "plies": 8,
    "hidden": [16],
    "minibatch": 64,
    "opponents": [],
    "final_games": 0,
    "threads": 1,
}


def two_processes(*arguments: str) -> list[str]:
    """The command line of torchrun with these arguments."""
    return [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", *arguments]


def torchrun(*arguments: str) -> list[str]:
    """The command line of two processes that train."""
    return two_processes("-m", "--", "training.train", *arguments)


def flags(run: Path, **settings: Any) -> list[str]:
    return [f"--{name}={value}" for name, value in {**SMALL, "run": run, **settings}.items()]


def weights(run: Path) -> dict[str, torch.Tensor]:
    folder = checkpoint.find(run)
    found: dict[str, torch.Tensor] = checkpoint.load_training_state(folder)["network"]
    return found


def test_two_processes_learn_what_one_learns_and_one_goes_on_from_there(tmp_path: Path) -> None:
    alone, both = tmp_path / "alone", tmp_path / "both"
    train(Settings(run=str(alone), total_steps=8 * UPDATE, **SMALL))
    finished = subprocess.run(torchrun(*flags(both, total_steps=8 * UPDATE)), cwd=ROOT, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.count("The agent is in") == 1  # one writer
    for name, tensor in weights(alone).items():
        torch.testing.assert_close(weights(both)[name], tensor, atol=1e-5, rtol=1e-4)
    for run in (alone, both):
        train(Settings(run=str(run), **{**SMALL, "total_steps": 10 * UPDATE}), run)
    for name, tensor in weights(alone).items():
        torch.testing.assert_close(weights(both)[name], tensor, atol=1e-5, rtol=1e-4)


def test_an_interrupt_saves_what_two_processes_have_learned(tmp_path: Path) -> None:
    run = tmp_path / "run"
    process = subprocess.Popen(
        torchrun(*flags(run, total_steps=10**8)), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 120
    while not list(run.glob("events*")) and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.1)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=120)
    assert process.returncode != 0
    assert f"--resume {run}" in output, errors
    assert checkpoint.read_config(checkpoint.find(run))["steps"] > 0


@pytest.mark.skipif(sys.platform != "linux", reason="looks at the threads of a process as Linux lists them")
def test_threads_of_the_group_end_with_the_training(tmp_path: Path) -> None:
    """One that still ran as Python ends would now and then abort the process."""
    script = tmp_path / "train_and_look.py"
    script.write_text(
        "import pathlib, sys\n"
        "from training.train import Settings, train\n"
        f"train(Settings(run=sys.argv[1], total_steps={UPDATE}, **{SMALL}))\n"
        "threads = [(task / 'comm').read_text().strip() for task in pathlib.Path('/proc/self/task').iterdir()]\n"
        "assert not [name for name in threads if 'gloo' in name], threads\n"
    )
    command = two_processes(str(script), str(tmp_path / "run"))
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    finished = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr


def test_games_that_cannot_be_shared_out_are_refused() -> None:
    processes = Processes(torch.device("cpu"))
    processes.size = 3
    with pytest.raises(SettingsError, match="multiple of the number of processes, 3, not 32"):
        processes.share(32)
