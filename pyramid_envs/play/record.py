"""Games on paper: a game is written as one line of JSON, read again, and replayed exactly.

::

    {"format": 1, "game": "treehouse", "version": 0, "options": {"num_players": 2, "max_plies": 1000, "dig_away": false},
     "seed": 7, "episode": 0, "agents": ["greedy", "random"], "actions": ["own HOP S gap 1", ...], "payoffs": [1.0, -1.0],
     "truncated": false}

Chance is not written down, for it follows from the seed: the game is the ``episode``-th that is dealt from it, as everywhere in
this package. ``agents`` (who played each seat, or null) is for people and has no part in the replay; ``payoffs`` is null for a
game that was not finished. A file holds any number of games, a line each.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyramid_envs import rng
from pyramid_envs.errors import IllegalActionError, PyramidError, RecordError
from pyramid_envs.game import Game, Row
from pyramid_envs.kernels import TERMINAL
from pyramid_envs.registry import make_game

FORMAT = 1  # rises when the entries change their meaning


class Course:
    """A game in course, with all that has happened in it: chance comes from its seed, as everywhere.

    Args:
        game: the rules.
        seed: any int.
        episode: how many games were dealt from the seed before this one.

    Attributes:
        rows: the position before each action, and the present one; chance is resolved in all of them. Not to be written.
        actions: those played; ``rows[k]`` is where ``actions[k]`` was chosen.
    """

    def __init__(self, game: Game, seed: int, episode: int = 0) -> None:
        self.game, self.seed, self.episode = game, int(rng.seed_key(seed)), episode
        self.rows: list[Row] = [self._settled(game.initial(), 0)]
        self.actions: list[int] = []

    def _settled(self, row: Row, ply: int) -> Row:
        self.game.drivers.settle_one(self.game.tables, row, np.uint64(self.seed), self.episode, ply)
        return row

    @property
    def ply(self) -> int:
        """How many actions have been played."""
        return len(self.actions)

    @property
    def row(self) -> Row:
        """The present position."""
        return self.rows[-1]

    @property
    def over(self) -> bool:
        """Whether the rules or max_plies have ended the game."""
        return self.truncated or self.game.to_move(self.row) == TERMINAL

    @property
    def truncated(self) -> bool:
        """Whether max_plies has cut the game short."""
        limit = self.game.max_plies
        return limit is not None and self.ply >= limit and self.game.to_move(self.row) != TERMINAL

    @property
    def seat(self) -> int:
        """The seat to move, TERMINAL if the game is over."""
        return TERMINAL if self.over else self.game.to_move(self.row)

    @property
    def payoffs(self) -> NDArray[np.float64]:
        """float64[P]: as `Game.returns`."""
        return self.game.returns(self.row)

    def play(self, action: int) -> None:
        """Play an action of the seat to move, and the chance events after it.

        Raises:
            IllegalActionError: if it is not legal; nothing has changed.
        """
        if self.over:
            raise IllegalActionError(f"the game of {self.game.name} is over")
        row = self.row.copy()
        self.game.apply(row, action)
        self.actions.append(int(action))
        self.rows.append(self._settled(row, self.ply))

    def back_to(self, ply: int) -> None:
        """Take back all but the first `ply` actions."""
        del self.actions[ply:], self.rows[ply + 1 :]

    def key(self, purpose: int, ply: int | None = None) -> np.uint64:
        """The random key of this game for a purpose of `pyramid_envs.rng` at a ply, by default the present one."""
        key = np.uint64(self.seed)
        for n in (self.episode, purpose, self.ply if ply is None else ply):
            key = np.uint64(rng.fold(key, n))
        return key

    def names(self, seat: int | None = None) -> list[str]:
        """The names of the actions played; with a seat, what it has learnt of them."""
        return [self.game.action_name(row, action, seat) for row, action in zip(self.rows, self.actions, strict=False)]

    def record(self, agents: Sequence[str] | None = None) -> Record:
        """The game on paper."""
        return Record(
            game=self.game.name,
            version=self.game.version,
            options=self.game.options,
            seed=self.seed,
            episode=self.episode,
            agents=None if agents is None else tuple(agents),
            actions=tuple(self.names()),
            payoffs=tuple(self.payoffs.tolist()) if self.over else None,
            truncated=self.truncated,
        )


@dataclass(frozen=True)
class Record:
    """A game on paper; see the module."""

    game: str
    version: int
    options: dict[str, Any]
    seed: int
    episode: int
    agents: tuple[str, ...] | None
    actions: tuple[str, ...]
    payoffs: tuple[float, ...] | None
    truncated: bool

    def to_line(self) -> str:
        """One line of JSON, without its end."""
        return json.dumps({"format": FORMAT, **asdict(self)}, ensure_ascii=False)

    @classmethod
    def from_line(cls, line: str) -> Record:
        """The record of a line.

        Raises:
            RecordError: if it holds none, with the reason.
        """
        try:
            entries = json.loads(line.strip("\ufeff\r\n"))
        except (ValueError, RecursionError) as error:
            raise RecordError(f"is damaged or cut off: {error}") from None
        if not isinstance(entries, dict) or "format" not in entries:
            raise RecordError("holds no recorded game")
        if entries.pop("format") != FORMAT:
            raise RecordError(f"has another format than {FORMAT}, which this version of pyramid_envs reads")
        for name, kinds in _ENTRIES.items():
            if name not in entries:
                raise RecordError(f"lacks the entry {name!r}")
            if not _is(entries[name], kinds):
                raise RecordError(f"has the entry {name!r} of {entries[name]!r}, which it cannot be")
        if not 0 <= entries["episode"] < 2**63:
            raise RecordError(f"has the episode {entries['episode']}, which no game can have")
        if not all(text.isprintable() for text in (*(entries["agents"] or ()), *entries["actions"])):
            raise RecordError("has characters in its texts that cannot be shown")
        unknown = entries.keys() - _ENTRIES.keys()
        if unknown:
            raise RecordError(f"has unknown entries: {', '.join(sorted(unknown))}")
        values: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in entries.items()}
        return cls(**values)

    def make_game(self) -> Game:
        """The game that was played.

        Raises:
            RecordError: if there is no such game, or not in this version.
        """
        try:
            game = make_game(self.game, **self.options)
        except (PyramidError, TypeError) as error:
            raise RecordError(f"cannot be replayed: {error}") from None
        if game.version != self.version:
            raise RecordError(
                f"is a game of {self.game} version {self.version}, and this is version {game.version}: "
                "it cannot be replayed; use a version of pyramid_envs with those rules"
            )
        return game

    def replay(self, game: Game | None = None) -> Course:
        """The game played again, and compared with what is written.

        Args:
            game: as `make_game` of this record returns it, where that is at hand.

        Raises:
            RecordError: if it cannot be played again, or comes out differently.
        """
        course = Course(game or self.make_game(), self.seed, self.episode)
        if self.agents is not None and len(self.agents) != course.game.num_players:
            raise RecordError(f"names {len(self.agents)} agents, and the game has {course.game.num_players} seats")
        for ply, name in enumerate(self.actions):
            if course.over:
                raise RecordError(f"goes on with {name!r} after {ply} actions, where the game was over")
            try:
                course.play(_meant(course, name))
            except PyramidError as error:
                raise RecordError(f"cannot be replayed beyond {ply} actions: {error}") from None
        if self.payoffs is None:
            if course.over:
                raise RecordError("has no payoffs, but its actions end the game")
        elif not course.over:
            raise RecordError(f"has payoffs, but its {course.ply} actions do not end the game")
        elif tuple(course.payoffs.tolist()) != self.payoffs:
            told, found = list(self.payoffs), course.payoffs.tolist()
            raise RecordError(f"says that the payoffs were {told}, but its actions lead to {found}")
        if self.truncated != course.truncated:
            raise RecordError(f"says truncated: {self.truncated}, but its actions say {course.truncated}")
        return course


def _meant(course: Course, name: str) -> int:
    """The action of a name: first looked for among the few legal ones."""
    game, row = course.game, course.row
    for action in game.legal_actions(row).tolist():
        if game.action_name(row, action) == name:
            return int(action)
    return game.parse_action(row, name)


def _is(value: Any, kinds: tuple[Any, ...]) -> bool:
    """Whether a value from JSON is None, of one of the types, or a list of one of them."""
    for kind in kinds:
        if kind is None and value is None:
            return True
        if isinstance(kind, list) and isinstance(value, list) and all(type(entry) in kind for entry in value):
            return True
        if type(value) is kind:
            return True
    return False


_ENTRIES: dict[str, tuple[Any, ...]] = {  # what each may be
    "game": (str,),
    "version": (int,),
    "options": (dict,),
    "seed": (int,),
    "episode": (int,),
    "agents": (None, [str]),
    "actions": ([str],),
    "payoffs": (None, [float, int]),
    "truncated": (bool,),
}


# --------------------------------------------------------------------------------------------------------------- files


def read(path: str | Path) -> Iterator[Record]:
    """The games of a file, one after the other.

    Raises:
        RecordError: naming the line, at the first one that holds no whole game; or if the file cannot be read.
    """
    for number, line in _lines(path):
        yield _parsed(path, number, line)


def nth(path: str | Path, number: int) -> Record:
    """The game of a line of a file, counted from 1; other lines may be damaged.

    Raises:
        RecordError: if there is none, or the line is damaged.
    """
    count = 0
    for count, line in _lines(path):
        if count == number:
            return _parsed(path, number, line)
    raise RecordError(f"{path} has the games 1 to {count}, not {number}")


def _lines(path: str | Path) -> Iterator[tuple[int, str]]:
    number = 0
    try:
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                yield number, line
    except OSError as error:
        raise RecordError(f"{path} cannot be read: {error}") from None
    except UnicodeDecodeError as error:
        raise RecordError(f"{path}, after line {number}, is no text: {error}") from None
    if number == 0:
        raise RecordError(f"{path} holds no games")


def _parsed(path: str | Path, number: int, line: str) -> Record:
    try:
        return Record.from_line(line)
    except RecordError as error:
        raise RecordError(f"{path}, line {number}, {error}") from None


def append(path: str | Path, record: Record) -> None:
    """Write a game at the end of a file: in one piece, so that whatever happens, the games before it stay whole.

    Raises:
        RecordError: if that cannot be done.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            os.write(descriptor, f"{record.to_line()}\n".encode())
        finally:
            os.close(descriptor)
    except OSError as error:
        raise RecordError(f"{path} cannot be written to: {error}") from None


def open_to_append(path: str | Path) -> None:
    """Make sure that games can be appended to a file, before any is played.

    Raises:
        RecordError: if it cannot be written to, or ends with half a line.
    """
    try:
        with open(path, "ab+") as file:
            with contextlib.suppress(OSError):  # an empty file has no last byte
                file.seek(-1, os.SEEK_END)
            last = file.read(1)
    except OSError as error:
        raise RecordError(f"{path} cannot be written to: {error}") from None
    if last not in (b"", b"\n"):
        raise RecordError(f"{path} ends with a line that was cut off: remove that line, or name another file")
