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
from pyramid_envs.render.canvas import Canvas


@dataclass(frozen=True)
class Option:
    """A constructor keyword of a game."""

    default: Any  # or a function of the options before it
    check: Callable[[Any], Any]  # returns the value to use, or raises validate.Fault
    doc: str


class Notation(Protocol):
    """A game's ``notation.py``: what a person reads and writes. `tables` is the record of the game's options.

    A game with hidden actions also has ``seen_name``, with the parameters of `action_name`: what the seats that are not to move
    learn of an action, "?" standing for the rest.
    """

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


class Drawing(Protocol):
    """A game's ``draw.py``: its pictures. `tables` is the record of the game's options."""

    def size(self, tables: np.record) -> tuple[float, float]:
        """Width and height of the canvas, the same for all positions, so that pictures can follow each other in a video."""

    def draw(
        self, canvas: Canvas, tables: np.record, row: np.record, seat: int | None, last: tuple[np.record, int] | None
    ) -> None:
        """Put a position on the canvas; with a seat, nothing that the seat may not know, neither seen nor in a key.

        `last` is the row before the last action, and that action, which is to be marked. What can be clicked is drawn as a group
        with a key.
        """

    def click_path(self, tables: np.record, row: np.record, action: int) -> tuple[str, ...]:
        """The keys of what the seat to move clicks, one after the other, to choose a legal action.

        They are drawn in that seat's picture. Different legal actions have different paths, none the beginning of another.
        """


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
    draw: Drawing | None = None  # the module; None: pictures show the text

    playout_turns: int = 40  # for how many turns greedy plays on below a search tree, before the kernel `evaluate` is asked
    # The most actions that the rules allow a game, whatever `max_plies` says; None: they allow any number.
    longest: Callable[[Mapping[str, Any]], int | None] = lambda options: None
    information_state: bool = False  # whether an observation holds all that its seat has seen of the game so far

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
