"""A bar of progress on a terminal where tqdm is installed, else now and then a line; on standard error."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

_LINES_APART = 5.0  # seconds

try:
    from tqdm import tqdm as _bar
except ImportError:
    _bar = None  # type: ignore[assignment, misc]


class Progress:
    """To be used in a with statement, and told by `reach` how far the work is."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._told = time.monotonic()
        self._bar: Any = None
        if _bar is not None and sys.stderr.isatty():
            self._bar = _bar(total=100, desc=title, bar_format="{desc}: {percentage:3.0f}% |{bar}| {elapsed}{postfix}")

    def reach(self, share: float, note: str = "") -> None:
        """The work is done to this share, from 0 to 1."""
        percent = round(100 * min(max(share, 0.0), 1.0))
        if self._bar is not None:
            self._bar.set_postfix_str(note, refresh=False)
            self._bar.update(max(percent - self._bar.n, 0))
        elif time.monotonic() - self._told > _LINES_APART:
            self._told = time.monotonic()
            print(f"{self._title}: {percent} %{', ' * bool(note)}{note}", file=sys.stderr, flush=True)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.close()
