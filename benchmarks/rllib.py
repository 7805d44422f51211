"""Decisions a second of the distributed trainer by both of its routes, in one run.

::

    python -m benchmarks.rllib
    python -m benchmarks.rllib --game trellis --num-env-runners 4

Both routes run with the trainer's defaults, one after the other, on a cluster that is started on this machine: first whole
updates, then playing alone, until the samples are with the process that learns. What is compiled and loaded at first is left out,
and the median of several counts. Needs the extra ``[distributed]``.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

import pyramid_envs as pe
from pyramid_envs.agents.networks import default_kind
from pyramid_envs.threads import cores
from training.train_rllib import ROUTES, Settings


def measure(settings: Settings, updates: int) -> tuple[float, float]:
    """Decisions a second: played and learned from, and played alone.

    Args:
        settings: of the training.
        updates: how many of each are timed.
    """
    from ray.rllib.execution.rollout_ops import synchronous_parallel_sample

    from training.rllib_algorithm import running

    game = pe.make_game(settings.game, **settings.options)
    torch.set_num_threads(settings.threads or cores())
    with running(settings, game, {"kind": default_kind(game.observation_shape)}) as algorithm:

        def play() -> None:
            synchronous_parallel_sample(
                worker_set=algorithm.env_runner_group,
                max_env_steps=settings.steps_per_update,
                _uses_new_env_runners=True,
                _return_metrics=True,
            )

        algorithm.train()
        learned, played = (settings.steps_per_update / _median(work, updates) for work in (algorithm.train, play))
        return learned, played


def _median(work: Callable[[], object], times: int) -> float:
    """Seconds."""
    taken = []
    for _ in range(times):
        began = time.monotonic()
        work()
        taken.append(time.monotonic() - began)
    return statistics.median(taken)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rllib", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--game", default="treehouse")
    parser.add_argument("--num-env-runners", type=int, default=2)
    parser.add_argument("--threads", type=int, help="of the network where it learns; by default one for each core")
    parser.add_argument("--updates", type=int, default=5)
    given = parser.parse_args()
    common: dict[str, Any] = {"game": given.game, "num_env_runners": given.num_env_runners, "threads": given.threads}
    found = {route: measure(Settings(route=route, **common), given.updates) for route in ROUTES}
    print(f"{'decisions/s':16}{'played, learned':>16}{'played':>10}")
    for route, speeds in found.items():
        print(f"{route:16}{speeds[0]:16,.0f}{speeds[1]:10,.0f}")
    ratios = [batch / aec for batch, aec in zip(found["batch"], found["aec"], strict=True)]
    print(f"{'batch : aec':16}{ratios[0]:16.1f}{ratios[1]:10.1f}")


if __name__ == "__main__":
    main()
