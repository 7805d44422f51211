"""How many steps a second: uniformly random legal play, with mask and observation computed at every step.

    python -m benchmarks.throughput
    python -m benchmarks.throughput --games treehouse --seconds 5 --json throughput.json

A step is one action of one seat; chance is resolved inside and finished games are dealt anew. ``Batch`` rows step many games at
once (random actions are drawn by the `random` agent, inside the measured time). ``AEC`` rows step one game through PettingZoo's
cycle, with `last()` at every step and a random legal action drawn the same way for all; PettingZoo's own connect_four goes
through the very same loop in the same run. All configurations are run in turn, several rounds, and the median of the rounds is
shown, so that a busy machine slows all alike. The memory ceiling is how fast the same masks and observations could be written if
nothing had to be computed. A second table shows how many images of 640 pixels one core makes a second (``rgb_array``), a third
how many decisions each agent makes a second in games that it plays with itself, 1024 of them side by side, for searches 16, the
games' own steps left out, and how many simulations that is. ``mcts:N@untrained`` is guided by a network of the trainer's default
size that has learned nothing.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterable
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


def frames_run(game: pe.Game) -> Run:
    """Pictures of random play as images of 640 pixels; only the time spent in `render` counts."""
    env, random = GameEnv(game, render_mode="rgb_array"), np.random.default_rng(0)
    env.reset(seed=0)

    def run(seconds: float) -> float:
        frames, spent = 0, 0.0
        while spent < seconds:
            if any(env.terminations.values()) or any(env.truncations.values()):
                env.reset()
            began = time.perf_counter()
            env.render()
            spent += time.perf_counter() - began
            frames += 1
            env.step(int(random.choice(np.flatnonzero(env.last()[0]["action_mask"]))))
        return frames / spent

    return run


def agent_run(agent: pe.Agent, game: pe.Game, size: int) -> Run:
    """Decisions of an agent that plays `size` games with itself."""
    batch = pe.Batch(game, size, seed=0)

    def run(seconds: float) -> float:
        decisions, spent = 0, 0.0
        while spent < seconds:
            keys = batch.keys(rng.MOVE)
            began = time.perf_counter()
            actions = agent.act(batch.rows, batch.observations, batch.masks, batch.seats, keys)
            spent += time.perf_counter() - began
            batch.step(actions)
            decisions += size
        return decisions / spent

    return run


def agent_runs(game: pe.Game, names: list[str]) -> dict[str, tuple[Run, int]]:
    """Name -> (run, simulations of a decision), of the agents that play this game."""
    found: dict[str, tuple[Run, int]] = {}
    for name in names:
        simulations = int(name.removeprefix("mcts:").removesuffix("@untrained")) if name.startswith("mcts:") else 0
        try:
            agent = untrained(game, simulations) if name.endswith("@untrained") else pe.make_agent(name, game)
        except pe.AgentError:
            continue  # it does not play this game
        found[f"{game.name}, {name}"] = (agent_run(agent, game, 16 if simulations else 1024), simulations)
    return found


def untrained(game: pe.Game, simulations: int) -> pe.Agent:
    """A search guided by a network that has learned nothing."""
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # threads of torch that wait shall not keep the games' threads from work
    from pyramid_envs.agents.guided import GuidedAgent
    from pyramid_envs.agents.networks import build, default_kind

    kind = default_kind(game.observation_shape)
    return GuidedAgent(build({"kind": kind}, game.observation_shape, game.num_actions), game, simulations)


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
    agents: list[str] = ["random", "greedy", "optimal", "mcts:100", "mcts:1000", "mcts:100@untrained"],  # noqa: B006
    json_file: Path | None = None,
) -> None:
    """Measure steps a second of random play.

    Args:
        games: which games, with 2 seats; all by default.
        batches: how many games at once.
        seconds: how long each configuration runs in each round.
        rounds: how often all of them are run in turn.
        agents: whose decisions to count.
        json_file: where to write the figures besides.
    """
    names = games or list(pe.game_names())
    runs = configurations(names, batches)
    films = {f"{name}, rgb_array, 640 pixels": frames_run(pe.make_game(name)) for name in names}
    players = {player: run for name in names for player, run in agent_runs(pe.make_game(name), agents).items()}
    every = {**{name: run for name, (run, _) in [*runs.items(), *players.items()]}, **films}
    for run in every.values():
        run(0.01)  # compile
    figures: dict[str, list[float]] = {name: [] for name in every}
    for _ in range(rounds):
        for name, run in every.items():
            figures[name].append(run(seconds))
    table = Table("configuration", "observation + mask, bytes", "steps/s, median", "lowest", "highest", title="random legal play")
    for name in runs:
        table.add_row(name, runs[name][1], *_told(figures[name]))
    pictures = Table("configuration", "frames/s, median", "lowest", "highest", title="pictures of random play, one core")
    for name in films:
        pictures.add_row(name, *_told(figures[name]))
    thinking = Table("agent", "decisions/s, median", "lowest", "highest", "simulations/s, median", title="agents, all cores")
    for name, (_, simulations) in players.items():
        thinking.add_row(
            name, *_told(figures[name]), f"{simulations * statistics.median(figures[name]):,.0f}" if simulations else ""
        )
    Console().print(table, pictures, thinking)
    machine = f"{platform.machine()}, {cores()} cores, Python {platform.python_version()}, NumPy {np.__version__}"
    Console().print(machine)
    if json_file is not None:
        told: dict[str, Iterable[str]] = {"steps_per_second": runs, "frames_per_second": films, "decisions_per_second": players}
        rates = {unit: {name: figures[name] for name in which} for unit, which in told.items()}
        json_file.write_text(json.dumps({"machine": machine, **rates}, indent=2))


def _told(rates: list[float]) -> list[str]:
    """Median, lowest and highest."""
    return [f"{rate:,.0f}" for rate in (statistics.median(rates), min(rates), max(rates))]


if __name__ == "__main__":
    auto_cli(throughput, as_positional=False)
