"""The same measurement for other libraries: random legal play, with mask and observation computed at every step.

    pip install "pyramid-envs[train,bench]"
    python -m benchmarks.compare
    python -m benchmarks.compare --seconds 3 --rounds 7 --markdown compare.md --json_file compare.json --plot compare.png

A step is one action of one seat; chance is resolved inside, and a game that ends is begun anew. Every system draws its random
legal actions in the way that is fast for it, inside the measured time:

pyramid_envs  ``Batch``: the `random` agent and `step`, on all cores. ``Game``: one position through `legal_mask`, `apply`,
              `resolve_chance` and `observe`. ``AEC``: PettingZoo's cycle.
pgx           JAX on the CPU: `step` with `auto_reset` under vmap, actions by a masked categorical, all of it in one jitted
              function whose arguments are donated; called in a loop (``jit``), and a `lax.scan` over many steps (``scan``).
OpenSpiel     driven from Python: the games one after the other; the observation goes to NumPy by `Observation.set_from`, which is
              faster than a state's own `observation_tensor`.
PettingZoo    the classic games, the very loop of our ``AEC``; environments without wrappers on both sides.

Two games are the same everywhere: tic-tac-toe (the game that docs/adding_a_game.md builds) and connect four (benchmarks/games).
The other games differ, so each row says how large an observation is and how many actions there are; observations written a
second, in bytes, are a measure that does not depend on the game's size. OpenSpiel's are float32, others mostly one byte a number.

Compilation and the first calls are left out. All configurations run in turn, several rounds; shown are medians, and for ratios
the median of the rounds' ratios, so that a busy machine slows all alike. The ceiling is how fast the same masks and observations
are copied, on all cores, if nothing is computed. A system that is not installed is left out, and that is said.
"""

from __future__ import annotations

import importlib
import json
import os
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jsonargparse import auto_cli

import pyramid_envs as pe
from benchmarks.games import connect_four
from benchmarks.sheet import Sheet, machine, write_markdown
from benchmarks.throughput import Run, aec_run, batch_run, ceiling_run
from pyramid_envs.envs.aec import GameEnv
from pyramid_envs.game import Game
from pyramid_envs.kernels import TERMINAL

OURS, PGX, OPEN_SPIEL, PETTINGZOO = "pyramid_envs", "pgx", "OpenSpiel", "PettingZoo"
SAME = ("tic_tac_toe", "connect_four")
PACKAGES = ("numpy", "numba", "pgx", "jax", "open_spiel", "pettingzoo", "rlcard")
# What a system calls the games, and where they are.
GAMES = {
    PGX: {name: name for name in ("tic_tac_toe", "connect_four", "leduc_holdem", "backgammon")},
    OPEN_SPIEL: {name: name for name in ("tic_tac_toe", "connect_four", "leduc_poker", "backgammon")},
    PETTINGZOO: {"tic_tac_toe": "tictactoe_v3", "connect_four": "connect_four_v3", "leduc_holdem": "leduc_holdem_v4"},
}
# The sizes at which ratios are told, and what the project aims at.
GOALS = {PGX: 5, OPEN_SPIEL: 20, PETTINGZOO: 3}
MICROSECONDS = 5.0


@dataclass(frozen=True)
class Entry:
    """Something that is measured."""

    system: str
    way: str
    game: str
    size: int  # games side by side
    observation: np.ndarray[Any, Any]  # of one game
    actions: int
    run: Run

    @property
    def name(self) -> str:
        """For JSON and progress."""
        return f"{self.system} {self.way}, {self.game}, {self.size}"


def our_games() -> dict[str, pe.Game]:
    """The package's own with 2 seats, and the two that others have too."""
    own = {name: pe.make_game(name, num_players=2) for name in pe.game_names()}
    if SAME[0] not in own:
        pe.add_games_folder(Path(__file__).parents[1] / "tests" / "extra_games")
    return {**own, SAME[0]: pe.make_game(SAME[0]), SAME[1]: Game(connect_four.card, {})}


# --------------------------------------------------------------------------------------------------------- the systems


def ours(sizes: list[int]) -> Iterator[Entry]:
    """Ours, in the three ways."""
    for name, game in our_games().items():
        observation = game.observe(game.initial(), 0)

        def entry(way: str, size: int, run: Run, name: str = name, like: Any = observation, game: pe.Game = game) -> Entry:
            return Entry(OURS, way, name, size, like, game.num_actions, run)

        for size in sizes:
            yield entry("Batch", size, batch_run(game, size))
        yield entry("ceiling", max(sizes), ceiling_run(game, max(sizes)))
        yield entry("Game", 1, game_run(game))
        yield entry("AEC", 1, aec_run(GameEnv(game)))


def game_run(game: pe.Game) -> Run:
    """Random play of one position through `Game`."""
    draw, chance = random.Random(0), np.random.default_rng(0)

    def run(seconds: float) -> float:
        steps, began = 0, time.perf_counter()
        while (spent := time.perf_counter() - began) < seconds:
            row = game.initial()
            game.resolve_chance(row, chance)
            for _ in range(100):
                seat = game.to_move(row)
                if seat == TERMINAL:
                    break
                game.observe(row, seat)
                legal = game.legal_mask(row).nonzero()[0]
                game.apply(row, legal[int(draw.random() * len(legal))])
                game.resolve_chance(row, chance)
                steps += 1
        return steps / spent

    return run


def theirs_jax(sizes: list[int]) -> Iterator[Entry]:
    """The games of pgx, as a loop and as a scan."""
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    import jax
    import pgx
    from pgx.experimental.wrappers import auto_reset

    for name in GAMES[PGX]:
        env = pgx.make(name)
        init = jax.jit(jax.vmap(env.init))
        step = jax.vmap(auto_reset(env.step, env.init))

        def turn(carry: Any, _: Any = None, step: Any = step) -> Any:
            state, key = carry
            key, choosing, stepping = jax.random.split(key, 3)
            logits = jax.numpy.where(state.legal_action_mask, 0.0, -jax.numpy.inf)
            action = jax.random.categorical(choosing, logits, axis=-1)
            return (step(state, action, jax.random.split(stepping, action.shape[0])), key), None

        for size in sizes:

            def begin(init: Any = init, size: int = size) -> Any:
                return init(jax.random.split(jax.random.key(0), size)), jax.random.key(1)

            length = max(32, 1024 // size)
            loop = jax.jit(lambda carry, turn=turn: turn(carry)[0], donate_argnums=0)
            scan = jax.jit(lambda carry, turn=turn, n=length: jax.lax.scan(turn, carry, None, n)[0], donate_argnums=0)
            seen = np.asarray(begin()[0].observation[0])
            yield Entry(PGX, "jit", name, size, seen, env.num_actions, jax_run(begin, loop, size, max(8, 4096 // size)))
            yield Entry(PGX, "scan", name, size, seen, env.num_actions, jax_run(begin, scan, size * length, 1))


def jax_run(begin: Callable[[], Any], advance: Callable[[Any], Any], steps_a_call: int, calls: int) -> Run:
    """Call a compiled function again and again; its results are waited for after every so many calls."""
    import jax

    carry = begin()

    def run(seconds: float) -> float:
        nonlocal carry
        steps, began = 0, time.perf_counter()
        while (spent := time.perf_counter() - began) < seconds:
            for _ in range(calls):
                carry = advance(carry)
            jax.block_until_ready(carry)
            steps += steps_a_call * calls
        return steps / spent

    return run


def theirs_open_spiel(sizes: list[int]) -> Iterator[Entry]:
    """The games of OpenSpiel."""
    import pyspiel
    from open_spiel.python.observation import make_observation

    for name in GAMES[OPEN_SPIEL]:
        game = pyspiel.load_game(name)
        observation = make_observation(game)
        for size in sizes:
            run = open_spiel_run(game, observation, size)
            yield Entry(OPEN_SPIEL, "Python", name, size, observation.tensor, game.num_distinct_actions(), run)


def open_spiel_run(game: Any, observation: Any, size: int) -> Run:
    """Random play of `size` states, one after the other."""
    draw = random.Random(0)
    states = [game.new_initial_state() for _ in range(size)]

    def run(seconds: float) -> float:
        steps, began = 0, time.perf_counter()
        while True:
            for i in range(size):
                state = states[i]
                while True:
                    if state.is_terminal():
                        state.returns()
                        state = states[i] = game.new_initial_state()
                    elif state.is_chance_node():
                        outcomes, weights = zip(*state.chance_outcomes(), strict=True)
                        state.apply_action(draw.choices(outcomes, weights)[0])
                    else:
                        break
                observation.set_from(state, state.current_player())
                state.legal_actions_mask()
                legal = state.legal_actions()
                state.apply_action(legal[int(draw.random() * len(legal))])
                steps += 1
                if not steps % 16 and (spent := time.perf_counter() - began) >= seconds:
                    return steps / spent

    return run


def theirs_pettingzoo(sizes: list[int]) -> Iterator[Entry]:
    """PettingZoo's classic games."""
    for name, module in GAMES[PETTINGZOO].items():
        env = importlib.import_module(f"pettingzoo.classic.{module}").raw_env()
        env.reset(seed=0)
        seen = env.observe(env.agent_selection)["observation"]
        yield Entry(PETTINGZOO, "AEC", name, 1, seen, int(env.action_space(env.agents[0]).n), aec_run(env))


SYSTEMS: dict[str, Callable[[list[int]], Iterator[Entry]]] = {
    OURS: ours,
    PGX: theirs_jax,
    OPEN_SPIEL: theirs_open_spiel,
    PETTINGZOO: theirs_pettingzoo,
}


# -------------------------------------------------------------------------------------------------------- single calls


def single_calls(game: pe.Game, rounds: int, calls: int) -> list[float]:
    """Microseconds of one call of `apply`, `legal_mask` and `observe`: medians of the rounds, over positions of random play."""
    draw, chance = random.Random(0), np.random.default_rng(0)
    rows: list[Any] = []
    actions: list[int] = []
    row = game.initial()
    while len(rows) < calls:
        game.resolve_chance(row, chance)
        if game.to_move(row) == TERMINAL:
            row = game.initial()
            continue
        rows.append(row.copy())
        actions.append(draw.choice(game.legal_actions(row).tolist()))
        game.apply(row, actions[-1])
    found: dict[str, list[float]] = {"apply": [], "legal_mask": [], "observe": []}
    for _ in range(rounds):
        copies = [row.copy() for row in rows]
        began = time.perf_counter()
        for row, action in zip(copies, actions, strict=True):
            game.apply(row, action)
        found["apply"].append(time.perf_counter() - began)
        began = time.perf_counter()
        for row in rows:
            game.legal_mask(row)
        found["legal_mask"].append(time.perf_counter() - began)
        began = time.perf_counter()
        for row in rows:
            game.observe(row, 0)
        found["observe"].append(time.perf_counter() - began)
    return [statistics.median(times) / calls * 1e6 for times in found.values()]


# --------------------------------------------------------------------------------------------------------------- tell


def ratios(entries: list[Entry], rates: dict[str, list[float]], size: int) -> list[tuple[str, float, list[float]]]:
    """What, the goal, and ours divided by theirs, round by round: the same game, in their fastest way."""
    found = []
    for system, goal in GOALS.items():
        ours_way, at = ("AEC", 1) if system == PETTINGZOO else ("Batch", size)
        for game in SAME:
            them = [entry for entry in entries if (entry.system, entry.game, entry.size) == (system, game, at)]
            us = [entry for entry in entries if (entry.way, entry.game, entry.size) == (ours_way, game, at)]
            if us and them:
                best = max(them, key=lambda entry: statistics.median(rates[entry.name]))
                pairs = zip(rates[us[0].name], rates[best.name], strict=True)
                what = f"{game}, {'one game' if at == 1 else f'{at} games'}: {ours_way} / {system} {best.way}"
                found.append((what, float(goal), [ours / theirs for ours, theirs in pairs]))
    return found


def sheets(entries: list[Entry], rates: dict[str, list[float]], calls: dict[str, list[float]], size: int) -> list[Sheet]:
    """What is told."""
    rows = []
    for entry in entries:
        rate = statistics.median(rates[entry.name])
        seen = entry.observation
        kind = f"{seen.dtype}[{', '.join(map(str, seen.shape))}]"
        cells = [f"{entry.system} {entry.way}", entry.game, f"{entry.size:,}", f"{rate:,.0f}", kind, f"{seen.nbytes:,}"]
        rows.append([*cells, f"{entry.actions}", f"{rate * seen.nbytes / 1e6:,.1f}"])
    columns = ["system", "game", "games at once", "steps/s", "observation", "bytes", "actions", "observed MB/s"]
    told = [Sheet("Random legal play, mask and observation at every step", columns, rows)]
    compared = [
        [what, f"{statistics.median(each):.1f}", f"{min(each):.1f} to {max(each):.1f}", f"{goal:g}"]
        for what, goal, each in ratios(entries, rates, size)
    ]
    if compared:
        told.append(Sheet("The same game: steps/s, ours divided by theirs", ["what", "ratio", "rounds", "goal"], compared))
    single = [[name, *(f"{one:.2f}" for one in each), f"{sum(each):.2f}"] for name, each in calls.items()]
    title = f"One position through Game, microseconds a call (goal: a step at most {MICROSECONDS:g})"
    told.append(Sheet(title, ["game", "apply", "legal_mask", "observe", "together"], single))
    return told


def draw_plot(file: Path, entries: list[Entry], rates: dict[str, list[float]], size: int) -> None:
    """Two panels: steps a second of the same games, and observed bytes a second of all games."""
    from matplotlib.figure import Figure

    colours = dict(zip(SYSTEMS, ("#1f77b4", "#d62728", "#2ca02c", "#9467bd"), strict=True))
    figure = Figure(figsize=(13, 7), layout="constrained")
    same, every = figure.subplots(1, 2)
    for axis, title, among, weighed in (
        (same, "the same games: steps/s", SAME, False),
        (every, "all games: observed bytes/s", tuple({entry.game: None for entry in entries}), True),
    ):
        shown = [entry for entry in entries if entry.game in among and entry.size in (1, size) and entry.way != "ceiling"]
        # Of one game the batches only; what runs one game at a time in any case stands with its one.
        shown = [entry for entry in shown if entry.size == size or entry.way in ("AEC", "Game")]
        values = [statistics.median(rates[entry.name]) * (entry.observation.nbytes if weighed else 1) for entry in shown]
        order = sorted(range(len(shown)), key=lambda k: values[k])
        names = [f"{shown[k].game} · {shown[k].system} {shown[k].way} ({shown[k].size:,})" for k in order]
        axis.barh(names, [values[k] for k in order], color=[colours[shown[k].system] for k in order])
        axis.set_xscale("log")
        axis.set_title(title)
        axis.tick_params(axis="y", labelsize=7)
        axis.grid(axis="x", alpha=0.3)
    figure.savefig(file, dpi=120)


def built(systems: Iterable[str], sizes: list[int]) -> tuple[list[Entry], list[str]]:
    """Everything that can be measured, compiled; and what is left out, with the reason."""
    entries: list[Entry] = []
    missing: list[str] = []
    for system in systems:
        if system not in SYSTEMS:
            raise SystemExit(f"no system is called {system!r}; the systems are {', '.join(SYSTEMS)}")
        try:
            for entry in SYSTEMS[system](sizes):
                print(f"compiling {entry.name}", file=sys.stderr)
                entry.run(0.0)
                entry.run(0.05)
                entries.append(entry)
        except ImportError as error:
            missing.append(f'What is missing of {system} is left out: {error} (pip install "pyramid-envs[bench]").')
    return entries, missing


def compare(
    systems: list[str] = list(SYSTEMS),  # noqa: B006  (read only, shown by --help)
    batches: list[int] = [1, 256, 4096],  # noqa: B006
    seconds: float = 1.0,
    rounds: int = 5,
    json_file: Path | None = None,
    markdown: Path | None = None,
    plot: Path | None = None,
) -> None:
    """Measure steps a second of random play, ours and that of other libraries.

    Args:
        systems: which; by default all.
        batches: how many games at once.
        seconds: how long each configuration runs in each round.
        rounds: how often all of them are run in turn.
        json_file: where to write the figures of all rounds.
        markdown: where to write the tables for a page.
        plot: where to draw a picture of the medians.
    """
    sizes = sorted(set(batches))
    entries, notes = built(systems, sizes)
    rates: dict[str, list[float]] = {entry.name: [] for entry in entries}
    for number in range(rounds):
        print(f"round {number + 1} of {rounds}: {len(entries)} configurations", file=sys.stderr)
        for entry in entries:
            rates[entry.name].append(entry.run(seconds))
    counted = max(50, int(2000 * min(1.0, seconds)))
    calls = {name: single_calls(game, rounds, counted) for name, game in our_games().items()} if OURS in systems else {}
    told = sheets(entries, rates, calls, max(sizes))
    notes.append(f"Measured on {machine(PACKAGES)}; {rounds} rounds of {seconds:g} s, `python -m benchmarks.compare`.")
    for sheet in told:
        sheet.show()
    print("\n".join(notes))
    if json_file is not None:
        figures = {
            "machine": machine(PACKAGES),
            "steps_per_second": rates,
            "observation_bytes": {entry.name: entry.observation.nbytes for entry in entries},
            "num_actions": {entry.name: entry.actions for entry in entries},
            "ratios": {what: each for what, _, each in ratios(entries, rates, max(sizes))},
            "microseconds_of_apply_legal_mask_observe": calls,
        }
        json_file.write_text(json.dumps(figures, indent=2), encoding="utf-8")
    if markdown is not None:
        write_markdown(markdown, told, *notes)
    if plot is not None:
        draw_plot(plot, entries, rates, max(sizes))


if __name__ == "__main__":
    auto_cli(compare, as_positional=False)
