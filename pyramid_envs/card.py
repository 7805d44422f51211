"""The card of a game: everything that is known of it beside its kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from pyramid_envs import validate
from pyramid_envs.errors import OptionError


@dataclass(frozen=True)
class Option:
    """A constructor keyword of a game."""

    default: Any  # or a function of the options before it
    check: Callable[[Any], Any]  # returns the value to use, or raises validate.Fault
    doc: str


class Notation(Protocol):
    """A game's ``notation.py``: what a person reads and writes. `tables` is the record of the game's options."""

    def position(self, tables: np.record, row: np.record) -> dict[str, Any]:
        """The whole position, JSON-ready."""

    def from_position(self, tables: np.record, position: Any, row: np.record) -> None:
        """Fill the all-zero record; raise `validate.Fault` for what is no position or cannot arise."""

    def action_name(self, tables: np.record, row: np.record, action: int) -> str:
        """The name of an action for the seat to move; for an action that cannot be named here: "-"."""

    def outcome_name(self, tables: np.record, row: np.record, outcome: int) -> str:
        """The name of an outcome at a chance event."""

    def text(self, tables: np.record, row: np.record, seat: int | None) -> str:
        """The position for people, several lines; with a seat: without what the seat may not know."""


class Field(NamedTuple):
    """A run of entries along the first axis of an observation."""

    size: int
    meaning: str


@dataclass(frozen=True)
class Card:
    """A game. Functions of the options are called with the whole resolved mapping."""

    name: str
    title: str
    version: int  # rises when rules, action numbers, observation or rewards change
    options: Mapping[str, Option]  # num_players and max_plies among them
    rules: ModuleType  # the kernels
    notation: Notation  # the module
    row: Callable[[Mapping[str, Any]], np.dtype[Any]]  # the dtype of a row; np.record based
    tables: Callable[[Mapping[str, Any]], NDArray[Any]]  # made by `pack`
    num_actions: Callable[[Mapping[str, Any]], int]
    num_outcomes: Callable[[Mapping[str, Any]], int]  # of the largest chance event; 0: the game has none
    observation: Callable[[Mapping[str, Any]], Mapping[str, Field]]  # in the order in which they are written
    planes: Callable[[Mapping[str, Any]], tuple[int, ...]] = lambda options: ()  # (H, W) where fields are planes

    playout_plies: int = 40  # how far search plays on at random before it asks the kernel `evaluate`

    @property
    def env_id(self) -> str:
        """What the game is called among Gymnasium's and PettingZoo's environments: Treehouse, TwinWin."""
        return "".join(word.capitalize() for word in self.name.split("_"))

    def resolve(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """All options, defaults filled in.

        Raises:
            OptionError: for an unknown option or a value that is not allowed.
        """
        for name in given:
            if name not in self.options:
                raise OptionError(f"{self.name} has no option {name!r}; its options are {', '.join(self.options)}")
        resolved: dict[str, Any] = {}
        for name, option in self.options.items():
            default = option.default(resolved) if callable(option.default) else option.default
            try:
                resolved[name] = option.check(given.get(name, default))
            except validate.Fault as fault:
                raise OptionError(f"option {name} of {self.name} {fault}") from None
        return resolved


def pack(**entries: Any) -> NDArray[Any]:
    """A game's tables as kernels read them: a record array of one row, a field for each entry.

    A record costs the compiled code one pointer, however many tables it holds. Numbers become int64 or float64; arrays keep
    their dtype (bool: uint8, for a record cannot hold it) and shape, and become part of the dtype of the whole: keep shapes the
    same for all options, or every set of options is compiled anew.
    """
    arrays = {name: np.asarray(entry) for name, entry in entries.items()}
    arrays = {name: array.view(np.uint8) if array.dtype == np.bool_ else array for name, array in arrays.items()}
    tables = np.zeros(1, np.dtype((np.record, [(name, array.dtype, array.shape) for name, array in arrays.items()])))
    for name, array in arrays.items():
        tables[name] = array
    tables.flags.writeable = False
    return tables


def max_plies(default: int | None) -> Option:
    """The option that every game has: after how many actions a game is cut short."""
    return Option(default, validate.whole(1, 2**62, none=True), "actions after which a game is truncated; None: never")
