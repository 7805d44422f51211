"""How fast training is: decisions a second, and the time until a stated strength, of the trainers and of what a user would write.

    python -m benchmarks.training
    python -m benchmarks.training --total_steps 8000000 --markdown training.md --json_file training.json --plot training.png

The runs follow one another, each a command of its own, with the same network (policy and value with layers of their own) and the
same settings of PPO, each on all cores unless its name says otherwise:

training.train         self-play: every seat of every game learns
training.train_sb3     MaskablePPO on `SB3VecEnv`, against random play and its own snapshots
plain DummyVecEnv      benchmarks/plain_sb3.py: MaskablePPO on Gymnasium environments stepped one after the other, against random
1 process             training.train with one thread
2 processes           the same under torchrun, one thread each

A decision is an action that is learned from; where one seat learns, the opponents' are played besides. Decisions a second are
told by the log of each run, from the first update to the last, evaluations included, which are alike for all. Strength is the
share of games won against random play, over all seats, actions drawn; the time until it is reached counts from the start of the
command. It depends on the learning rate's schedule, hence on `total_steps`, which is the same for all.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from jsonargparse import auto_cli
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from benchmarks.sheet import Sheet, machine, write_markdown

PACKAGES = ("numpy", "numba", "torch", "gymnasium", "stable_baselines3", "sb3_contrib")
ROOT = Path(__file__).resolve().parents[1]
# What SB3's log calls the end of an update, and what ours does.
UPDATES = ("time/fps", "speed/decisions_per_second")
TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "--"]


@dataclass
class Outcome:
    """What a run's log says; times are seconds since the start of the command."""

    steps_per_second: float
    seconds: float
    wins: list[tuple[int, float, float]] = field(default_factory=list)  # decisions, seconds, share of games won

    def reached(self, strength: float) -> tuple[int, float] | None:
        """After how many decisions and seconds this share was won."""
        return next(((steps, seconds) for steps, seconds, share in self.wins if share >= strength), None)


def commands(game: str, total_steps: int, num_games: int, eval_games: int, hidden: list[int]) -> dict[str, list[str]]:
    """The arguments of Python for each run; the folder is to be added."""
    plies, evaluations = 16, 40
    every = max(1, total_steps // (num_games * plies) // evaluations)
    shared: dict[str, Any] = {"game": game, "total_steps": total_steps, "hidden": hidden, "learning_rate": 3e-3}
    shared |= {"gae_lambda": 0.9, "eval_every": every, "eval_games": eval_games, "seed": 0}
    sb3 = shared | {"num_envs": num_games, "n_steps": plies, "batch_size": 2 * num_games, "n_epochs": 3}
    sb3 |= {"clip_range": 0.2, "ent_coef": 0.005}
    own = shared | {"num_games": num_games, "plies": plies, "minibatch": 2 * num_games, "epochs": 3, "clip": 0.2}
    own |= {"entropy": 0.005, "final_entropy": 0.005, "separate_value": True, "opponents": ["random"], "final_games": 0}
    ours = ["training.train", *_flags(own)]
    theirs = _flags(sb3 | {"opponents": ["random"], "final_games": 0, "progress_bar": False, "activation": "relu"})
    return {
        "training.train": ["-m", *ours],
        "training.train_sb3": ["-m", "training.train_sb3", *theirs],
        "plain DummyVecEnv": ["-m", "benchmarks.plain_sb3", *_flags(sb3)],
        "1 process": ["-m", *ours, "--threads=1"],
        "2 processes": [*TORCHRUN, *ours, "--threads=1"],
    }


def _flags(settings: dict[str, Any]) -> list[str]:
    return [f"--{name}={json.dumps(value) if isinstance(value, (list, bool)) else value}" for name, value in settings.items()]


def measure(arguments: list[str], folder: Path) -> Outcome:
    """Run a command that logs to `folder`, and read its log."""
    began, clock = time.time(), time.perf_counter()
    done = subprocess.run([sys.executable, *arguments, f"--run={folder}"], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)} failed:\n{done.stderr[-3000:]}")
    seconds = time.perf_counter() - clock
    log = EventAccumulator(str(folder), size_guidance={"scalars": 0})
    log.Reload()
    told = log.Tags()["scalars"]
    updates = log.Scalars(next(tag for tag in UPDATES if tag in told))
    first, last = updates[0], updates[-1]
    if last.step > first.step:
        rate = (last.step - first.step) / (last.wall_time - first.wall_time)
    else:  # a trial with one entry in its log
        rate = last.step / (last.wall_time - began)
    wins = log.Scalars("wins/random") if "wins/random" in told else []
    return Outcome(rate, seconds, [(event.step, event.wall_time - began, event.value) for event in wins])


def draw_plot(file: Path, outcomes: dict[str, Outcome], strength: float) -> None:
    """Strength over time."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 5), layout="constrained")
    axis = figure.subplots()
    for name, outcome in outcomes.items():
        axis.plot([s / 60 for _, s, _ in outcome.wins], [share for *_, share in outcome.wins], marker=".", label=name)
    axis.axhline(strength, color="grey", linewidth=0.8)
    axis.set_xlabel("minutes since the start of the command")
    axis.set_ylabel("games won against random play")
    axis.grid(alpha=0.3)
    axis.legend()
    figure.savefig(file, dpi=120)


def benchmark(
    runs: list[str] | None = None,
    game: str = "treehouse",
    strength: float = 0.97,
    total_steps: int = 4_000_000,
    num_games: int = 512,
    hidden: list[int] = [128, 128],  # noqa: B006  (read only, shown by --help)
    eval_games: int = 1000,
    json_file: Path | None = None,
    markdown: Path | None = None,
    plot: Path | None = None,
) -> None:
    """Train in every way and compare.

    Args:
        runs: which, by their names; all by default.
        game: the game, 2 seats.
        strength: the share of games to be won against random play.
        total_steps: decisions of each run.
        num_games: games side by side, in each run.
        hidden: layers of the policy, and again of the value.
        eval_games: games of an evaluation, of which each run has about forty.
        json_file: where to write what the logs say.
        markdown: where to write the table for a page.
        plot: where to draw strength over time.
    """
    known = commands(game, total_steps, num_games, eval_games, hidden)
    for name in runs or ():
        if name not in known:
            raise SystemExit(f"no run is called {name!r}; the runs are {', '.join(known)}")
    outcomes: dict[str, Outcome] = {}
    with tempfile.TemporaryDirectory() as folder:
        for number, name in enumerate(runs or known):
            print(f"{name}: python {' '.join(known[name])}", file=sys.stderr)
            outcomes[name] = measure(known[name], Path(folder) / str(number))
    fastest = max(outcome.steps_per_second for outcome in outcomes.values())
    rows = []
    for name, outcome in outcomes.items():
        reached = outcome.reached(strength)
        until = ("never", "never") if reached is None else (f"{reached[0] / 1e6:.2f} million", f"{reached[1] / 60:.1f}")
        last = f"{outcome.wins[-1][2]:.1%}" if outcome.wins else "not measured"
        rate = outcome.steps_per_second
        rows.append([name, f"{rate:,.0f}", f"{fastest / rate:.1f}", *until, last, f"{outcome.seconds / 60:.1f}"])
    columns = ["run", "decisions/s", "slower by", f"decisions to {strength:.0%}", f"minutes to {strength:.0%}"]
    title = f"Training {game}: speed, and what it takes to win {strength:.0%} of games against random play"
    sheet = Sheet(title, [*columns, "at the end", "minutes in all"], rows)
    sheet.show()
    note = (
        f"Measured on {machine(PACKAGES)}: {total_steps:,} decisions, {num_games} games side by side, layers {hidden}, "
        f"{eval_games} games an evaluation; `python -m benchmarks.training`."
    )
    print(note)
    if json_file is not None:
        logs = {name: asdict(outcome) for name, outcome in outcomes.items()}
        told = {"machine": machine(PACKAGES), "arguments_of_python": known, "runs": logs}
        json_file.write_text(json.dumps(told, indent=2), encoding="utf-8")
    if markdown is not None:
        write_markdown(markdown, [sheet], note)
    if plot is not None:
        draw_plot(plot, outcomes, strength)


if __name__ == "__main__":
    auto_cli(benchmark, as_positional=False)
