"""The compiler, in one place: how kernels are marked and how drivers are bound to them.

A game's kernels are plain functions under ``@kernel``. A driver is a loop around kernels (a batch step, a random playout); it is
written once, in `pyramid_envs.drivers`, as a template that calls kernels by name, and `bind` makes one compiled copy of
it for each game. Bound drivers are the only functions that are cached on disk: numba watches the file of the cached function
alone, so a cached kernel would be answered from a stale copy after an edit of a function that it calls. A bound driver carries a
digest of all the sources that went into it in its qualified name, hence in the name of its cache file.

With ``NUMBA_DISABLE_JIT=1`` everything here returns the plain Python function, so that a debugger and coverage can follow the
rules.
"""

from __future__ import annotations

import hashlib
import types
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numba
import numpy as np

COMPILED: bool = not getattr(numba.config, "DISABLE_JIT")  # noqa: B009  (set at run time, unknown to type checkers)

kernel = numba.njit


def hash_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """As `kernel`, for functions whose 64-bit arithmetic wraps on purpose (uncompiled, NumPy would warn of it)."""
    return kernel(function) if COMPILED else np.errstate(over="ignore")(function)


def digest(folders: Iterable[Path]) -> str:
    """12 hex digits that change with any Python source below these folders (a file stands for itself)."""
    state = hashlib.sha256()
    for folder in folders:
        for path in [folder] if folder.is_file() else sorted(folder.rglob("*.py")):
            state.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return state.hexdigest()[:12]


def bind(
    kernels: Mapping[str, Any],
    inner: Iterable[Callable[..., Any]],
    outer: Iterable[Callable[..., Any]],
    sources: str,
) -> types.SimpleNamespace:
    """Drivers that call `kernels` wherever their templates name them.

    Args:
        kernels: the game's kernels by name, for the names that the templates use.
        inner: templates that other templates call; compiled with their callers, not cached by themselves.
        outer: templates that Python calls; compiled on first call, cached on disk, run without the interpreter's lock.
        sources: the `digest` of everything that went into `kernels`.

    Returns:
        The outer drivers, by name.
    """
    scope: dict[str, Any] = {}
    drivers = types.SimpleNamespace()
    for template in (*inner, *outer):
        scope.update(template.__globals__)
    scope.update(kernels)

    def bound(template: Callable[..., Any]) -> types.FunctionType:
        return types.FunctionType(template.__code__, scope, template.__name__)

    for template in inner:
        scope[template.__name__] = kernel(bound(template))
    for template in outer:
        function = bound(template)
        function.__module__ = template.__module__
        function.__qualname__ = f"{template.__qualname__}-{sources}"
        setattr(drivers, template.__name__, _cached(function))
    return drivers


def _cached(function: types.FunctionType) -> Callable[..., Any]:
    try:
        return numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:  # no folder to write the cache to: a read-only installation without a home
        return numba.njit(nogil=True)(function)
