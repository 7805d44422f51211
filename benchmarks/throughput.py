"""How many steps a second: uniformly random legal play, with mask and observation computed at every step.

    python -m benchmarks.throughput
    python -m benchmarks.throughput --games treehouse --seconds 5 --json throughput.json

A step is one action of one seat; chance is resolved inside and finished games are dealt anew. ``Batch`` rows step many games at
once (random actions are drawn by the `random` agent, inside the measured time). ``AEC`` rows step one game through PettingZoo's
cycle, with `last()` at every step and a random legal action drawn the same way for all; PettingZoo's own connect_four goes
through the very same loop in the same run. All configurations are run in turn, several rounds, and the median of the rounds is
shown, so that a busy machine slows all alike. The memory ceiling is how fast the same masks and observations could be written if
nothing had to be computed.
"""

from __future__ import annotations

import json
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from jsonargparse import auto_cli
from rich.console import Console
from rich.table import Table

import pyramid_envs as pe
from pyramid_envs import rng
from pyramid_envs.envs.aec import GameEnv
from pyramid_envs.threads import cores, split

Run = Callable[[float], float]  # seconds to spend -> steps a second


def batch_run(game: pe.Game, size: int) -> Run:
    """Random play of `size` games at once."""
    batch, agent = pe.Batch(game, size, seed=0), pe.make_agent("random", game)

    def run(seconds: float) -> float:
        steps, began = 0, time.perf_counter()
        while (spent := time.perf_counter() - began) < seconds:
            for _ in range(max(1, 4096 // size)):
                keys = batch.keys(rng.MOVE)
                batch.step(agent.act(batch.rows, batch.observations, batch.masks, batch.seats, keys))
                steps += size
        return steps / spent

    return run


def ceiling_run(game: pe.Game, size: int) -> Run:
    """Copying masks and observations of `size` games, and nothing else."""
    batch = pe.Batch(game, size, seed=0)
    sources = [array.copy() for array in (batch.observations, batch.masks)]

    def copy(part: slice) -> None:
        np.copyto(batch.observations[part], sources[0][part])
        np.copyto(batch.masks[part], sources[1][part])

    def run(seconds: float) -> float:
        steps, began = 0, time.perf_counter()
        while (spent := time.perf_counter() - began) < seconds:
            for _ in range(max(1, 4096 // size)):
                split(copy, size)
                steps += size
        return steps / spent

    return run


def aec_run(env: Any) -> Run:
    """Random play of one game through PettingZoo's cycle."""
    random = np.random.default_rng(0)

    def run(seconds: float) -> float:
        steps, began = 0, time.perf_counter()
        while time.perf_counter() - began < seconds:
            env.reset(seed=steps)
            for _ in env.agent_iter():
                observation, _, terminated, truncated, _ = env.last()
                if terminated or truncated:
                    env.step(None)
                    continue
                legal = np.flatnonzero(observation["action_mask"])
                env.step(int(legal[int(random.random() * len(legal))]))
                steps += 1
        return steps / (time.perf_counter() - began)

    return run


def configurations(games: list[str], sizes: list[int]) -> dict[str, tuple[Run, str]]:
    """Name -> (run, what the observation is)."""
    found: dict[str, tuple[Run, str]] = {}
    for name in games:
        game = pe.make_game(name)
        size = f"{int(np.prod(game.observation_shape))} + {game.num_actions}"
        for count in sizes:
            found[f"{name}, Batch of {count}"] = (batch_run(game, count), size)
        found[f"{name}, memory ceiling of {max(sizes)}"] = (ceiling_run(game, max(sizes)), size)
        found[f"{name}, AEC raw_env"] = (aec_run(GameEnv(game)), size)
    try:
        from pettingzoo.classic.connect_four import connect_four
    except ImportError as error:
        Console(stderr=True).print(f'PettingZoo\'s connect_four is left out: {error}; pip install "pyramid-envs[bench]"')
    else:
        found["PettingZoo's connect_four, AEC raw_env"] = (aec_run(connect_four.raw_env()), "84 + 7")
    return found


def throughput(
    games: list[str] | None = None,
    batches: list[int] = [1, 256, 4096],  # noqa: B006  (read only, shown by --help)
    seconds: float = 1.0,
    rounds: int = 5,
    json_file: Path | None = None,
) -> None:
    """Measure steps a second of random play.

    Args:
        games: which games, with 2 seats; all by default.
        batches: how many games at once.
        seconds: how long each configuration runs in each round.
        rounds: how often all of them are run in turn.
        json_file: where to write the figures besides.
    """
    runs = configurations(games or list(pe.game_names()), batches)
    for run, _ in runs.values():
        run(0.01)  # compile
    figures: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, (run, _) in runs.items():
            figures[name].append(run(seconds))
    table = Table("configuration", "observation + mask, bytes", "steps/s, median", "lowest", "highest", title="random legal play")
    for name, found in figures.items():
        table.add_row(name, runs[name][1], *(f"{x:,.0f}" for x in (statistics.median(found), min(found), max(found))))
    Console().print(table)
    machine = f"{platform.machine()}, {cores()} cores, Python {platform.python_version()}, NumPy {np.__version__}"
    Console().print(machine)
    if json_file is not None:
        json_file.write_text(json.dumps({"machine": machine, "steps_per_second": figures}, indent=2))


if __name__ == "__main__":
    auto_cli(throughput, as_positional=False)
