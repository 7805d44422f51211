"""Running a compiled loop over many games on all cores.

Drivers release the interpreter's lock, so plain threads will do: they neither forbid a fork nor another caller's threads, as the
parallel runtimes of compilers do. A step of a few thousand games takes a tenth of a millisecond, and so does the waking up of a
thread (measured). So threads look out for the next call for a moment before they sleep, and the caller for their answers, in
compiled code, without the lock. Where calls are far apart, as in a training, they sleep at once and leave the cores to others.
"""

from __future__ import annotations

import functools
import os
import threading
import time
from collections.abc import Callable
from itertools import pairwise
from queue import SimpleQueue
from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from pyramid_envs.jit import COMPILED, cached

# Below about this many games a second thread costs more than it brings.
_WORTH_A_THREAD = 1024

# How long a thread looks out before it sleeps, in seconds.
_LOOK_OUT = 150e-6
# So long after giving the others their parts, a caller is in its own, and has left the interpreter's lock. Threads wait for that,
# since to ask for the lock while another has it means to sleep.
_HEAD_START = 7e-6

# Places in the cells that a thread and its caller share, in different cache lines: calls given, calls done.
_GIVEN, _DONE, _CELLS = 0, 16, 32


# ------------------------------------------------------------------------------------------- compiled: looking at a cell

if COMPILED:

    def _pointer(context: Any, builder: Any, array_type: Any, array: Any, place: Any) -> Any:
        return builder.gep(context.make_array(array_type)(context, builder, array).data, [place])

    @intrinsic
    def _read(typing: Any, cells: Any, place: Any) -> Any:
        """cells[place] as another thread may have written it just now; a compiler would read it once and for all."""

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            return builder.load_atomic(_pointer(context, builder, cells, values[0], values[1]), "acquire", 8)

        return types.int64(cells, types.intp), generate

    @intrinsic
    def _write(typing: Any, cells: Any, place: Any, value: Any) -> Any:
        """Set cells[place], after all that was written before."""

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            builder.store_atomic(values[2], _pointer(context, builder, cells, values[0], values[1]), "release", 8)
            return context.get_dummy_value()

        return types.void(cells, types.intp, types.int64), generate

else:

    def _read(cells: Any, place: int) -> Any:  # type: ignore[misc]
        return cells[place]

    def _write(cells: Any, place: int, value: int) -> None:  # type: ignore[misc]
        cells[place] = value


@cached
def _look(cells, place, known, turns):  # type: ignore[no-untyped-def]
    """Look at a cell until it is not what is known, at most so many times; whether it changed."""
    while turns > 0 and _read(cells, place) == known:  # type: ignore[call-arg]
        turns -= 1
    return turns > 0


@cached
def _look_out(cells, done, turns, head_start):  # type: ignore[no-untyped-def]
    """Say how many calls are done, and look for another; whether there is one, `head_start` looks after it came."""
    _write(cells, _DONE, done)  # type: ignore[call-arg]
    found = _look(cells, _GIVEN, done, turns)
    if found:
        _look(cells, _GIVEN, done + 1, head_start)
    return found


@functools.cache
def _turns(seconds: float) -> int:
    """How many looks take about so long."""
    if not COMPILED:
        return 0
    cells = np.zeros(1, np.int64)
    for _ in range(2):  # the first time compiles
        began = time.perf_counter()
        _look(cells, 0, 0, 10_000)
        took = time.perf_counter() - began
    return int(seconds / took * 10_000)


# ---------------------------------------------------------------------------------------------------------------- threads


class _Worker:
    """A thread that does its part of the calls that it is given, one at a time."""

    def __init__(self) -> None:
        self._cells = np.zeros(_CELLS, np.int64)
        self._task: tuple[Callable[[slice], None], slice] | None = None
        self._failure: BaseException | None = None
        self._asleep, self._bell, self._rung = False, SimpleQueue[None](), 0.0  # the bell rings for the thread,
        self._awaited, self._answer = False, SimpleQueue[None]()  # the answer for its caller
        self._turns, self._head_start = _turns(_LOOK_OUT), _turns(_HEAD_START)
        threading.Thread(target=self._work, name="pyramid_envs", daemon=True).start()

    def give(self, run: Callable[[slice], None], part: slice) -> None:
        """Have it call ``run(part)``."""
        self._task = run, part
        self._cells[_GIVEN] += 1
        if self._asleep:
            self._rung = time.perf_counter()
            self._bell.put(None)

    def wait(self) -> BaseException | None:
        """Until it has done so; the exception if that failed."""
        given = self._cells[_GIVEN]
        _look(self._cells, _DONE, given - 1, self._turns)
        if self._cells[_DONE] != given:
            self._awaited = True
            while self._cells[_DONE] != given:
                self._answer.get()
            self._awaited = False
        failure, self._failure = self._failure, None
        return failure

    def _work(self) -> None:
        done, turns = 0, self._turns
        while True:
            began = time.perf_counter()
            found = _look_out(self._cells, done, 0 if self._awaited else turns, self._head_start)
            if self._awaited:
                self._answer.put(None)
            if not found:
                self._asleep = True
                while self._cells[_GIVEN] == done:
                    self._bell.get()
                self._asleep = False
                turns = self._turns if self._rung - began < _LOOK_OUT else 0
            assert self._task is not None
            done, (run, part) = int(self._cells[_GIVEN]), self._task
            self._task = None  # not to be kept alive until the next
            try:
                run(part)
            except BaseException as failure:
                self._failure = failure
            del run


_workers: list[_Worker] = []
_busy = threading.Lock()


def cores() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def split(run: Callable[[slice], None], count: int, least: int = _WORTH_A_THREAD) -> None:
    """Call ``run`` on slices that together are 0..count-1, side by side where each gets at least about `least`.

    Of several callers at a time one gets the other threads; the rest do their work alone.
    """
    parts = min(cores(), count // least) if count // least > 1 else 1  # `cores` is slow beside a step of one game
    if parts == 1 or not _busy.acquire(blocking=False):
        run(slice(0, count))
        return
    try:
        bounds = [count * part // parts for part in range(parts + 1)]
        while len(_workers) < parts - 1:
            _workers.append(_Worker())
        helping = _workers[: parts - 1]
        for worker, (low, high) in zip(helping, pairwise(bounds[1:]), strict=True):
            worker.give(run, slice(low, high))
        try:
            run(slice(0, bounds[1]))
        finally:  # nothing may go on behind the caller's back
            failures = [worker.wait() for worker in helping]
    finally:
        _busy.release()
    for failure in failures:
        if failure is not None:
            raise failure


def _forget_threads() -> None:
    global _workers, _busy
    _workers, _busy = [], threading.Lock()


if hasattr(os, "register_at_fork"):  # a child of fork has none of its parent's threads
    os.register_at_fork(after_in_child=_forget_threads)
