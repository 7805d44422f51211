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
import types as python_types
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

COMPILED: bool = not getattr(numba.config, "DISABLE_JIT")  # noqa: B009  (set at run time, unknown to type checkers)

kernel = numba.njit


def hash_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """As `kernel`, for functions whose 64-bit arithmetic wraps on purpose (uncompiled, NumPy would warn of it)."""
    return kernel(function) if COMPILED else np.errstate(over="ignore")(function)


if COMPILED:

    def _row_pointer(context: Any, builder: Any, array_type: Any, array: Any, row: Any, offset: Any) -> Any:
        """A byte pointer to `offset` bytes behind the beginning of a row of a C-contiguous array."""
        parts = context.make_array(array_type)(context, builder, array)
        start = builder.mul(row, builder.extract_value(parts.strides, 0))
        return builder.gep(builder.bitcast(parts.data, ir.IntType(8).as_pointer()), [builder.add(start, offset)])

    @intrinsic
    def copy_row(typing: Any, out: Any, i: Any, at: Any, source: Any, count: Any) -> Any:
        """Copy the first `count` bytes of `source` (a byte array: a row of a table) to out[i], from its byte `at` on.

        One instruction for the processor's block copy. A loop does the same, but the compiler cannot know that `out` and `source`
        do not overlap, and copies byte by byte (measured: 22 ns against 3 for 96 bytes).
        """

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            zero = ir.Constant(ir.IntType(64), 0)
            to = _row_pointer(context, builder, out, values[0], values[1], values[2])
            origin = _row_pointer(context, builder, source, values[3], zero, zero)
            memcpy = builder.module.declare_intrinsic("llvm.memcpy", [to.type, origin.type, ir.IntType(64)])
            builder.call(memcpy, [to, origin, values[4], ir.Constant(ir.IntType(1), 0)])
            return context.get_dummy_value()

        return types.void(out, types.intp, types.intp, source, types.intp), generate

    @intrinsic
    def clear_row(typing: Any, out: Any, i: Any) -> Any:
        """Set all bytes of out[i] to 0."""

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            parts = context.make_array(out)(context, builder, values[0])
            to = _row_pointer(context, builder, out, values[0], values[1], ir.Constant(ir.IntType(64), 0))
            memset = builder.module.declare_intrinsic("llvm.memset", [to.type, ir.IntType(64)])
            size = builder.extract_value(parts.strides, 0)
            builder.call(memset, [to, ir.Constant(ir.IntType(8), 0), size, ir.Constant(ir.IntType(1), 0)])
            return context.get_dummy_value()

        return types.void(out, types.intp), generate

else:

    def copy_row(out: Any, i: int, at: int, source: Any, count: int) -> None:  # type: ignore[misc]
        """Copy the first `count` bytes of `source` to out[i], from its byte `at` on."""
        out[i].reshape(-1)[at : at + count] = source[:count]

    def clear_row(out: Any, i: int) -> None:  # type: ignore[misc]
        """Set all bytes of out[i] to 0."""
        out[i] = 0


def plain(function: Any) -> Any:
    """A kernel as plain Python, with all the kernels that it calls: for single positions, where compiling would take longer."""
    return _plain(function, {})


def _plain(function: Any, scopes: dict[int, dict[str, Any]]) -> Any:
    written = getattr(function, "py_func", function)
    if written is function or not COMPILED:
        return function
    if id(written.__globals__) not in scopes:  # one scope for each module, in which the names of kernels mean plain functions
        scopes[id(written.__globals__)] = scope = dict(written.__globals__)
        scope.update({name: _plain(value, scopes) for name, value in scope.items() if hasattr(value, "py_func")})
    return python_types.FunctionType(written.__code__, scopes[id(written.__globals__)], written.__name__)


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
) -> python_types.SimpleNamespace:
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
    drivers = python_types.SimpleNamespace()
    for template in (*inner, *outer):
        scope.update(template.__globals__)
    scope.update(kernels)

    def bound(template: Callable[..., Any]) -> python_types.FunctionType:
        return python_types.FunctionType(template.__code__, scope, template.__name__)

    for template in inner:
        scope[template.__name__] = kernel(bound(template))
    for template in outer:
        function = bound(template)
        function.__module__ = template.__module__
        function.__qualname__ = f"{template.__qualname__}-{sources}"
        setattr(drivers, template.__name__, cached(function))
    return drivers


def cached(function: Callable[..., Any]) -> Callable[..., Any]:
    """A loop that Python calls: compiled on first call, cached on disk, run without the interpreter's lock."""
    try:
        return numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:  # no folder to write the cache to: a read-only installation without a home
        return numba.njit(nogil=True)(function)
