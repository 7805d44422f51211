"""Reading values that come from outside: options and positions. Each function returns the value or says what is wrong with it.

The functions raise `Fault`; whoever reads a whole (an option set, a position) turns it into its own typed error with the place
named.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


class Fault(Exception):
    """What is wrong with a value, in words that follow its name."""


def boolean(value: Any) -> bool:
    """True or False, nothing that merely counts as such."""
    if not isinstance(value, bool):
        raise Fault(f"must be True or False, not {value!r}")
    return value


def integer(value: Any, low: int, high: int | None = None) -> int:
    """A whole number from `low` to `high` (both included; None: no bound), NumPy's included; not a bool."""
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise Fault(f"must be a whole number, not {value!r}") from None
    if number < low or (high is not None and number > high):
        bounds = f"from {low} to {high}" if high is not None else f"of at least {low}"
        raise Fault(f"must be a whole number {bounds}, not {number}")
    return number


def member(value: Any, allowed: Iterable[Any]) -> Any:
    """One of the allowed values, of the same type."""
    allowed = list(allowed)
    for choice in allowed:
        if type(choice) is type(value) and choice == value:
            return choice
    raise Fault(f"must be one of {', '.join(map(repr, allowed))}, not {value!r}")


def keys(value: Any, names: Sequence[str]) -> Mapping[str, Any]:
    """A mapping with exactly these keys."""
    if not isinstance(value, Mapping):
        raise Fault(f"must be a dict with the keys {', '.join(names)}, not {value!r}")
    for name in names:
        if name not in value:
            raise Fault(f"has no key {name!r}")
    for name in value:
        if name not in names:
            raise Fault(f"has the unknown key {name!r}; its keys are {', '.join(names)}")
    return value


def sequence(value: Any, length: int | None = None) -> Sequence[Any]:
    """A list or tuple, of this length unless None."""
    if not isinstance(value, (list, tuple)):
        raise Fault(f"must be a list, not {value!r}")
    if length is not None and len(value) != length:
        raise Fault(f"must have {length} entries, not {len(value)}")
    return value


@dataclass(frozen=True)
class Choice:
    """The check of an option that takes one of the allowed values."""

    allowed: tuple[Any, ...]

    def __call__(self, value: Any) -> Any:
        """See `member`."""
        return member(_plain(value), self.allowed)


@dataclass(frozen=True)
class Whole:
    """The check of an option that takes a whole number within bounds, or None where allowed."""

    low: int
    high: int | None
    none: bool

    def __call__(self, value: Any) -> Any:
        """See `integer`."""
        return None if self.none and value is None else integer(value, self.low, self.high)


def choice(*allowed: Any) -> Choice:
    """The check of an option that takes one of these values."""
    return Choice(allowed)


def whole(low: int, high: int | None = None, none: bool = False) -> Whole:
    """The check of an option that takes a whole number, or None where allowed."""
    return Whole(low, high, none)


def _plain(value: Any) -> Any:
    """NumPy's whole numbers as Python's, anything else as it is."""
    try:
        return value if isinstance(value, int) else operator.index(value)
    except TypeError:
        return value


def named(name: str, check: Callable[..., Any], *arguments: Any) -> Any:
    """The result of a check; its fault, if any, told with the name of the place."""
    try:
        return check(*arguments)
    except Fault as fault:
        raise Fault(f"{name} {fault}") from None
