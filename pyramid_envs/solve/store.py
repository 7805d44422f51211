"""Solutions on disk, in the user's cache folder.

A file is a line with the SHA-256 of all that follows, a line of JSON that says what it holds, and the numbers themselves. It is
written under a hidden name, flushed to the disk and renamed, so that whoever looks finds it whole or not at all.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyramid_envs.errors import SolutionError

_KIND = np.dtype("<f4")


def folder() -> Path:
    """$PYRAMID_ENVS_CACHE, else pyramid_envs in $XDG_CACHE_HOME, else in ~/.cache."""
    if own := os.environ.get("PYRAMID_ENVS_CACHE"):
        return Path(own).expanduser()
    general = os.environ.get("XDG_CACHE_HOME", "")
    # A relative path there is to be ignored, says the standard.
    return (Path(general) if os.path.isabs(general) else Path("~/.cache").expanduser()) / "pyramid_envs"


def save(path: Path, about: Mapping[str, Any], numbers: NDArray[np.float32]) -> None:
    """Write a file, and its folder where there is none.

    Raises:
        SolutionError: if that cannot be done; no part of the file is left.
    """
    body = json.dumps({**about, "shape": numbers.shape}).encode() + b"\n" + numbers.astype(_KIND).tobytes()
    unfinished = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, unfinished = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
        with open(descriptor, "wb") as file:
            file.write(hashlib.sha256(body).hexdigest().encode() + b"\n" + body)
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    except OSError as error:
        if unfinished is not None:
            with contextlib.suppress(OSError):
                os.remove(unfinished)
        raise SolutionError(
            f"{path} cannot be written ({error.strerror}); set PYRAMID_ENVS_CACHE to a folder where it can"
        ) from None


def load(path: Path, about: Mapping[str, Any]) -> tuple[dict[str, Any], NDArray[np.float32]]:
    """What `save` was given, if it says at least what `about` says.

    Raises:
        FileNotFoundError: if there is no such file.
        SolutionError: if it is damaged, cannot be read, or is about something else.
    """
    try:
        checksum, _, body = path.read_bytes().partition(b"\n")
    except FileNotFoundError:
        raise
    except OSError as error:
        raise SolutionError(f"{path} cannot be read ({error.strerror})") from None
    if hashlib.sha256(body).hexdigest().encode() != checksum:
        raise SolutionError(f"{path} is damaged")
    line, _, numbers = body.partition(b"\n")
    found = json.loads(line)
    for name, value in about.items():
        if found.get(name) != value:
            raise SolutionError(f"{path} was made for something else: {name} is {found.get(name)!r} there, not {value!r}")
    return found, np.frombuffer(numbers, _KIND).reshape(found["shape"]).astype(np.float32)
