"""Running a compiled loop over many games on all cores.

Drivers release the interpreter's lock, so plain threads will do: they neither forbid a fork nor another caller's threads, as the
parallel runtimes of compilers do. The threads wait at a queue rather than in an executor of the standard library: a step of a few
thousand games takes a quarter of a millisecond, of which an executor's bookkeeping would take a quarter (measured).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from itertools import pairwise
from queue import SimpleQueue
from typing import Any

# Below about this many games a second thread costs more than it brings.
_WORTH_A_THREAD = 1024

# What is to be done: a function, its slice of the work, and where to say that it is done (None) or has failed (the exception).
_tasks: SimpleQueue[tuple[Callable[[slice], None], slice, SimpleQueue[BaseException | None]]] | None = None


def cores() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def split(run: Callable[[slice], None], count: int, least: int = _WORTH_A_THREAD) -> None:
    """Call ``run`` on slices that together are 0..count-1, side by side where each gets at least about `least`."""
    parts = min(cores(), count // least) if count // least > 1 else 1  # `cores` is slow beside a step of one game
    if parts == 1:
        run(slice(0, count))
        return
    tasks = _started()
    finished: SimpleQueue[BaseException | None] = SimpleQueue()
    bounds = [count * part // parts for part in range(parts + 1)]
    for low, high in pairwise(bounds[1:]):
        tasks.put((run, slice(low, high), finished))
    try:
        run(slice(0, bounds[1]))
    finally:  # nothing may go on behind the caller's back
        failures = [finished.get() for _ in range(parts - 1)]
    for failure in failures:
        if failure is not None:
            raise failure


def _started() -> SimpleQueue[Any]:
    """The queue, with a thread for every core but the caller's waiting at it."""
    global _tasks
    if _tasks is None:
        _tasks = SimpleQueue()
        for _ in range(max(1, cores() - 1)):
            threading.Thread(target=_work, args=(_tasks,), name="pyramid_envs", daemon=True).start()
    return _tasks


def _work(tasks: SimpleQueue[Any]) -> None:
    while True:
        run, part, finished = tasks.get()
        try:
            run(part)
        except BaseException as failure:
            finished.put(failure)
        else:
            finished.put(None)
        del run, finished  # not to be kept alive until the next task


def _forget_threads() -> None:
    global _tasks
    _tasks = None


if hasattr(os, "register_at_fork"):  # a child of fork has none of its parent's threads
    os.register_at_fork(after_in_child=_forget_threads)
