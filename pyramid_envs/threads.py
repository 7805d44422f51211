"""Running a compiled loop over many games on all cores.

Drivers release the interpreter's lock, so plain threads will do: they neither forbid a fork nor another caller's threads, as the
parallel runtimes of compilers do.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

# Below about this many games a second thread costs more than it brings.
_WORTH_A_THREAD = 1024

_pool: ThreadPoolExecutor | None = None


def cores() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def split(run: Callable[[slice], None], count: int, least: int = _WORTH_A_THREAD) -> None:
    """Call ``run`` on slices that together are 0..count-1, side by side where each gets at least about `least`."""
    global _pool
    parts = min(cores(), max(1, count // least))
    if parts == 1:
        run(slice(0, count))
        return
    if _pool is None:
        _pool = ThreadPoolExecutor(cores(), "pyramid_envs")
    bounds = [count * part // parts for part in range(parts + 1)]
    others = [_pool.submit(run, slice(low, high)) for low, high in itertools.pairwise(bounds[1:])]
    run(slice(0, bounds[1]))
    for other in others:
        other.result()


def _forget_pool() -> None:
    global _pool
    _pool = None


if hasattr(os, "register_at_fork"):  # a child of fork has none of its parent's threads
    os.register_at_fork(after_in_child=_forget_pool)
