"""Draws how strong trainings became, from their logs.

Run ``python -m docs.curves runs/treehouse-3p runs/trellis-2p --plot docs/images/learning.png``.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from matplotlib.figure import Figure
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

OPPONENTS = ("random", "greedy")


def curves(runs: list[Path], plot: Path) -> None:
    """Games won against fixed agents over decisions learned from."""
    figure = Figure(figsize=(11, 4.5), layout="constrained")
    axes = figure.subplots(1, len(OPPONENTS), sharey=True)
    for run in runs:
        log = EventAccumulator(str(run), size_guidance={"scalars": 0})
        log.Reload()
        for axis, opponent in zip(axes, OPPONENTS, strict=True):
            if f"wins/{opponent}" not in log.Tags()["scalars"]:  # it was not measured against that one
                continue
            events = log.Scalars(f"wins/{opponent}")
            axis.plot([event.step / 1e6 for event in events], [100 * event.value for event in events], label=run.name)
    for axis, opponent in zip(axes, OPPONENTS, strict=True):
        axis.set_title(f"against {opponent}")
        axis.set_xlabel("millions of decisions")
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("games won, %, actions drawn")
    axes[-1].legend()
    figure.savefig(plot, dpi=120)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Draw how strong trainings became.")
    parser.add_argument("runs", nargs="+", type=Path, help="folders of training.train; a curve is called as its folder")
    parser.add_argument("--plot", type=Path, required=True, help="the picture to write")
    arguments = parser.parse_args()
    curves(arguments.runs, arguments.plot)
