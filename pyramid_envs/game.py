"""`Game`: one set of rules with its options, and everything that can be asked of a single position.

Letters: A actions, P seats, F first axis of an observation.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyramid_envs import drivers, jit, kernels, payoffs, rng, validate
from pyramid_envs.card import Card
from pyramid_envs.errors import ActionNameError, IllegalActionError, PositionError
from pyramid_envs.kernels import CHANCE, TERMINAL
from pyramid_envs.render import words
from pyramid_envs.render.canvas import Canvas, theme_named
from pyramid_envs.render.raster import to_image
from pyramid_envs.render.svg import Svg, to_svg

Row = NDArray[Any]  # a record array of one row

_KERNELS = (
    "reset",
    "to_move",
    "legal",
    "apply",
    "returns",
    "observe",
    "chance",
    "sample_chance",
    "redeal",
    "greedy",
    "evaluate",
)
_NO_KERNELS = ("__init__", "notation", "draw")  # files of a game's folder that nothing compiled comes from
_CORE = [Path(module.__file__ or "") for module in (drivers, jit, kernels, payoffs, rng)]


def bind_drivers(
    rules: ModuleType, inner: Iterable[Callable[..., Any]], outer: Iterable[Callable[..., Any]], sources: Iterable[Path]
) -> SimpleNamespace:
    """Driver templates (see `pyramid_envs.jit.bind`) bound to a game's kernels; `sources` are the files that hold the
    templates.
    """
    found = {name: getattr(rules, name, getattr(kernels, name)) for name in _KERNELS}
    found["advise"] = getattr(rules, "advise", found["greedy"])
    folder = Path(rules.__file__ or "").parent
    own = [path for path in sorted(folder.rglob("*.py")) if path.stem not in _NO_KERNELS]
    return jit.bind(found, (*drivers.INNER, *inner), outer, jit.digest([*own, *_CORE, *sources]))


@cache
def _drivers(rules: ModuleType) -> SimpleNamespace:
    return bind_drivers(rules, (), drivers.OUTER, ())


class Game:
    """The rules of a game with its options; holds no position. Made by `pyramid_envs.make_game`.

    A position is a *row*: a NumPy record array of one row, as `initial` and `from_position` return it and as
    ``batch.rows[i:i+1]`` is one. `apply` changes it in place; ``row.copy()`` copies it; its bytes are its identity.

    Attributes:
        name: as `make_game` takes it.
        title: as people write it.
        version: rises when rules, action numbers, observation or rewards change.
        options: every option with its value; the same options make the same game.
        num_players: P.
        num_actions: A.
        max_plies: after how many actions environments and batches cut a game short, or None. Rows do not count.
        agents: the agents' names by seat, ``("player_0", ...)``.
        observation_shape: of one observation, ``(F,)`` or ``(C, H, W)``.
        observation_fields: name -> (slice of the observation's first axis, meaning).
        row_dtype: the dtype of rows.
    """

    def __init__(self, card: Card, options: Mapping[str, Any]) -> None:
        self.card = card
        self.name, self.title, self.version = card.name, card.title, card.version
        self.options: dict[str, Any] = card.resolve(options)
        self.num_players: int = self.options["num_players"]
        self.max_plies: int | None = self.options["max_plies"]
        self.agents: tuple[str, ...] = tuple(f"player_{seat}" for seat in range(self.num_players))
        self.num_actions: int = card.num_actions(self.options)
        self.observation_fields: dict[str, tuple[slice, str]] = {}
        size = 0
        for name, field in card.observation(self.options).items():
            self.observation_fields[name] = (slice(size, size + field.size), field.meaning)
            size += field.size
        self.observation_shape: tuple[int, ...] = (size, *card.planes(self.options))
        self.row_dtype: np.dtype[Any] = card.row(self.options)
        self.tables = card.tables(self.options)
        self.drivers = _drivers(card.rules)
        self._seen_name = getattr(card.notation, "seen_name", card.notation.action_name)

    def __repr__(self) -> str:
        changed = "".join(f", {name}={value!r}" for name, value in self.options.items())
        return f"make_game({self.name!r}{changed})"

    def __eq__(self, other: object) -> bool:
        """Games of the same card with the same options are the same game."""
        return isinstance(other, Game) and self.card is other.card and self.options == other.options

    def __hash__(self) -> int:
        return hash((self.name, repr(self.options)))

    def __reduce__(self) -> tuple[Any, ...]:
        return _remake, (self.name, self.options)

    # ------------------------------------------------------------------------------------------------------- positions

    def initial(self) -> Row:
        """A new row at the start, before the first chance event."""
        row = np.zeros(1, self.row_dtype)
        self.drivers.start(self.tables, row)
        return row

    def position(self, row: Row) -> dict[str, Any]:
        """The whole position as a JSON-ready dict; `from_position` is its inverse. The game's manual page explains the keys."""
        return self.card.notation.position(self.tables[0], row[0])

    def from_position(self, position: Mapping[str, Any]) -> Row:
        """A new row from a dict as `position` gives it.

        Raises:
            PositionError: if it is no position of this game, with what is wrong.
        """
        row = np.zeros(1, self.row_dtype)
        try:
            self.card.notation.from_position(self.tables[0], position, row[0])
        except validate.Fault as fault:
            raise PositionError(f"no {self.title} position: {fault}") from None
        return row

    def text(self, row: Row, seat: int | None = None) -> str:
        """The position in words and letters, several lines. With a seat, only what that seat may see."""
        return self.card.notation.text(self.tables[0], row[0], None if seat is None else self._seat(seat))

    # --------------------------------------------------------------------------------------------------------- pictures

    def canvas(self, row: Row, seat: int | None = None, last: tuple[Row, int] | None = None, theme: str = "light") -> Canvas:
        """The picture that `svg` and `image` show, as shapes."""
        colours = theme_named(theme)
        seat = None if seat is None else self._seat(seat)
        drawing, tables = self.card.draw, self.tables[0]
        if drawing is None:
            canvas = Canvas(*words.SIZE, colours)
            mover = self.to_move(row)
            legal = self.legal_actions(row).tolist() if seat in (None, mover) else []
            buttons = [(self.click_path(row, action)[0], self.action_name(row, action)) for action in legal]
            done = None if last is None else f"last: {self.agents[self.to_move(last[0])]} {self.action_name(*last, seat)}"
            words.draw_words(canvas, self.text(row, seat).splitlines(), buttons, done)
            return canvas
        canvas = Canvas(*drawing.size(tables), colours)
        drawing.draw(canvas, tables, row[0], seat, None if last is None else (last[0][0], int(last[1])))
        return canvas

    def svg(self, row: Row, seat: int | None = None, last: tuple[Row, int] | None = None, theme: str = "light") -> Svg:
        """The position as a picture: the text of an SVG document, which a notebook shows as the picture.

        Args:
            row: the position.
            seat: whose point of view it is: what the rules hide from it is face down. None: everything is shown.
            last: a copy of the row before the last action, and that action: what it changed is marked.
            theme: ``light`` or ``dark``.

        What can be clicked to choose an action is a group with an attribute ``data-key``; see `click_path`.
        """
        return to_svg(self.canvas(row, seat, last, theme), self.title)

    def image(
        self,
        row: Row,
        seat: int | None = None,
        last: tuple[Row, int] | None = None,
        theme: str = "light",
        size: int = 640,
    ) -> NDArray[np.uint8]:
        """uint8[H, W, 3], a new array: the picture of `svg`, its larger side `size` pixels. Needs the extra ``[render]``.

        Raises:
            MissingExtraError: if pygame is not installed.
        """
        if operator.index(size) < 1:
            raise ValueError(f"size is a number of pixels, at least 1, not {size}")
        return to_image(self.canvas(row, seat, last, theme), operator.index(size))

    def click_path(self, row: Row, action: int) -> tuple[str, ...]:
        """The keys of the things in the picture that a person clicks, one after the other, to choose a legal action.

        The keys stand in the picture of the seat to move. No path is the beginning of another.

        Raises:
            IllegalActionError: if the action is not legal.
        """
        number = operator.index(action)
        if not 0 <= number < self.num_actions or not self.legal_mask(row)[number]:
            raise IllegalActionError(f"action {number} is not legal here, so there is nothing to click for it")
        if self.card.draw is None:
            return (f"action:{number}",)
        return self.card.draw.click_path(self.tables[0], row[0], number)

    # ----------------------------------------------------------------------------------------------------------- play

    def to_move(self, row: Row) -> int:
        """The seat that decides, or `pyramid_envs.CHANCE`, or `pyramid_envs.TERMINAL`."""
        return int(self.drivers.seat_to_move(row))

    def legal_mask(self, row: Row) -> NDArray[np.bool_]:
        """bool[A], a new array: what the seat to move may do; all False at a chance event and at the end."""
        mask = np.empty((1, self.num_actions), np.uint8)
        self.drivers.mask_of(self.tables, row, mask)
        return mask[0].view(np.bool_)

    def legal_actions(self, row: Row) -> NDArray[np.int64]:
        """The numbers of the legal actions, rising; empty at a chance event and at the end."""
        return self.legal_mask(row).nonzero()[0]

    def chance_outcomes(self, row: Row) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The outcomes that are possible at a chance event, rising, and their probabilities; empty at other times."""
        probabilities = np.zeros(self.card.num_outcomes(self.options), np.float64)
        if self.to_move(row) == CHANCE:
            self.drivers.chance_of(self.tables, row, probabilities)
        outcomes = np.flatnonzero(probabilities)
        return outcomes, probabilities[outcomes]

    def apply(self, row: Row, action: int) -> None:
        """Play an action of the seat to move, or at a chance event an outcome; changes `row` in place.

        Raises:
            IllegalActionError: if it is not legal or not possible; the row is untouched.
        """
        try:
            number = operator.index(action)
        except TypeError:
            raise IllegalActionError(f"an action is a whole number, not {action!r}") from None
        scratch = np.empty((1, self.num_actions), np.uint8)
        # One compiled call in the common case; whatever it declines is a chance event or an error.
        if -1 < number < self.num_actions and self.drivers.play(self.tables, row, number, scratch):
            return
        if self.to_move(row) == CHANCE:
            if number not in self.chance_outcomes(row)[0]:
                raise IllegalActionError(f"outcome {number} is not possible at this chance event of {self.name}")
            self.drivers.play_chance(self.tables, row, number)
        elif self.to_move(row) == TERMINAL:
            raise IllegalActionError(f"action {number} is illegal: the game of {self.name} is over")
        elif not -1 < number < self.num_actions:
            raise IllegalActionError(f"action {number} is illegal: {self.name} has the actions 0 to {self.num_actions - 1}")
        else:
            legal = ", ".join(map(str, self.legal_actions(row)))
            raise IllegalActionError(f"action {number} ({self.action_name(row, number)}) is illegal here; legal are {legal}")

    def resolve_chance(self, row: Row, rng: np.random.Generator) -> None:
        """Play chance events, drawn from `rng`, until a seat decides or the game is over; changes `row` in place."""
        while self.to_move(row) == CHANCE:
            self.drivers.play_chance(self.tables, row, self.drivers.sample(self.tables, row, rng.random()))

    def returns(self, row: Row) -> NDArray[np.float64]:
        """float64[P]: every seat's payoff; they sum to 0, and are all 0 before the end."""
        out = np.zeros((1, self.num_players), np.float64)
        if self.to_move(row) == TERMINAL:
            self.drivers.payoffs(self.tables, row, out)
        return out[0]

    def observe(self, row: Row, seat: int) -> NDArray[np.int8]:
        """int8[observation_shape], a new array: what `seat` sees, itself first; at any time, the end included."""
        out = np.empty((1, *self.observation_shape), np.int8)
        self.drivers.view_of(self.tables, row, self._seat(seat), out)
        return out[0]

    def redeal(self, row: Row, seat: int, seed: int) -> Row:
        """A random position that `seat` cannot tell from `row`: what it does not know is drawn anew, with the right weights."""
        other = row.copy()
        self.drivers.redeal_one(self.tables, other, self._seat(seat), rng.seed_key(seed))
        return other

    # ---------------------------------------------------------------------------------------------------------- names

    def action_name(self, row: Row, action: int, seat: int | None = None) -> str:
        """The name of an action, 0 to A-1, of the seat to move; "-" for one that has no name in this position.

        With a seat, what that seat learns when the action is played, with a "?" for what it does not learn.
        """
        if not 0 <= operator.index(action) < self.num_actions:
            raise ActionNameError(f"{self.name} has the actions 0 to {self.num_actions - 1}, not {action}")
        notation = self.card.notation
        name = notation.action_name if seat is None or self._seat(seat) == self.to_move(row) else self._seen_name
        return name(self.tables[0], row[0], operator.index(action))

    def parse_action(self, row: Row, text: str) -> int:
        """The legal action of this name; capitals and the number of spaces do not matter.

        Raises:
            IllegalActionError: if the action exists but is not legal here.
            ActionNameError: if no action has this name.
        """
        wanted = " ".join(str(text).split()).casefold()
        legal = self.legal_mask(row)
        named = [a for a in range(self.num_actions) if self.action_name(row, a).casefold() == wanted and wanted != "-"]
        for action in named:
            if legal[action]:
                return action
        known = ", ".join(self.action_name(row, int(a)) for a in np.flatnonzero(legal)) or "none"
        if named:
            raise IllegalActionError(f"{text!r} is not legal here; legal are: {known}")
        raise ActionNameError(f"{self.name} has no action called {text!r} here; legal are: {known}")

    def outcome_name(self, row: Row, outcome: int) -> str:
        """The name of an outcome, one of `chance_outcomes`, at a chance event."""
        if self.to_move(row) != CHANCE or not 0 <= operator.index(outcome) < self.card.num_outcomes(self.options):
            raise ActionNameError(f"outcome {outcome} is not possible in this position of {self.name}")
        return self.card.notation.outcome_name(self.tables[0], row[0], operator.index(outcome))

    def _seat(self, seat: int) -> int:
        if not 0 <= operator.index(seat) < self.num_players:
            raise IndexError(f"{self.name} has the seats 0 to {self.num_players - 1} here, not {seat}")
        return operator.index(seat)


def _remake(name: str, options: Mapping[str, Any]) -> Game:
    from pyramid_envs.registry import make_game  # the registry imports this module

    return make_game(name, **options)
