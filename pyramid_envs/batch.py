"""`Batch`: many games at once.

Letters: N games, A actions, P seats, G games addressed by a call.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyramid_envs import rng
from pyramid_envs.drivers import CLOCK
from pyramid_envs.errors import IllegalActionError
from pyramid_envs.game import Game
from pyramid_envs.threads import split


class Step(NamedTuple):
    """What a step of a batch brought; new arrays, game by game."""

    rewards: NDArray[np.float32]  # [N, P]: every seat's payoff where the game ended, 0 elsewhere
    terminated: NDArray[np.bool_]  # [N]: the rules ended the game
    truncated: NDArray[np.bool_]  # [N]: `max_plies` ended it


class Batch:
    """N games of the same rules side by side; chance is resolved inside, and a game that ends is dealt anew in the same step.

    Game i plays exactly as a single game seeded ``seed + i``, whatever N is.

    Args:
        game: from `make_game`.
        num_games: N.
        seed: any int; None draws one from the operating system.

    Attributes:
        observations: int8[N, *observation_shape] of the seats to move.
        masks: bool[N, A], their legal actions.
        seats: int64[N], the seats to move.
        rows: record[N], the positions.
        final_rows: record[N], the last position of the last game that ended in each place.
        streams: uint64[N], the seeds of the streams that the games are dealt from.
        episodes: int64[N], how many games were dealt before the present one in each place.
        plies: int64[N], actions played in the present games.

    These are views: valid until the next step, and then overwritten. Copy what you keep; do not write.
    """

    def __init__(self, game: Game, num_games: int, seed: int | None = 0) -> None:
        if num_games < 1:
            raise ValueError(f"a batch holds at least 1 game, not {num_games}")
        self.game = game
        self.num_games = num_games
        self.rows = np.zeros(num_games, game.row_dtype)
        self.final_rows = np.zeros(num_games, game.row_dtype)
        self.observations = np.zeros((num_games, *game.observation_shape), np.int8)
        self._masks = np.zeros((num_games, game.num_actions), np.uint8)
        self.masks = self._masks.view(np.bool_)
        self.seats = np.zeros(num_games, np.int64)
        self._clocks = np.zeros(num_games, CLOCK)
        self.streams = self._clocks["seed"]
        self.episodes = self._clocks["episode"]
        self.plies = self._clocks["ply"]
        self._initial = np.zeros(1, game.row_dtype)
        self._initial[0] = game.initial()
        self._all = np.arange(num_games)
        self.reset(seed)

    def reset(self, seed: int | Sequence[int] | None = None) -> None:
        """Deal every game anew: game i the first of the stream ``seed + i``, or of ``seed[i]``; None: the system draws a seed."""
        if seed is None:
            seed = int.from_bytes(os.urandom(8), "little")
        if isinstance(seed, Sequence):
            if len(seed) != self.num_games:
                raise ValueError(f"seed must be one number, or one for each of the {self.num_games} games, not {len(seed)}")
            self._clocks["seed"] = [rng.seed_key(one) for one in seed]
        else:
            self._clocks["seed"] = rng.seed_key(seed) + np.arange(self.num_games, dtype=np.uint64)
        self._clocks["episode"] = 0
        self._deal(self._all)

    def restart(self, games: NDArray[np.int64]) -> None:
        """Abandon the games at these places; each is followed by the next of its stream."""
        games = self._places(games)
        self.episodes[games] += 1
        self._deal(games)

    def step(self, actions: ArrayLike, games: NDArray[np.int64] | None = None) -> Step:
        """Play one action in every game, or in those at the places `games` (int64[G], each once; the results then have G rows).

        Raises:
            IllegalActionError: names the first game whose action is illegal; nothing has changed then.
        """
        games = self._places(games)
        chosen = np.asarray(actions)
        if chosen.shape != games.shape or chosen.dtype.kind not in "iu":
            raise IllegalActionError(
                f"actions must be {len(games)} whole numbers, one a game; these are {chosen.dtype} of shape {chosen.shape}"
            )
        chosen = chosen.astype(np.int64, copy=False)
        drivers = self.game.drivers
        bad = drivers.first_illegal(self._masks, chosen, games)
        if bad >= 0:
            place = int(games[bad])
            legal = ", ".join(map(str, np.flatnonzero(self.masks[place])))
            raise IllegalActionError(f"action {chosen[bad]} is illegal in game {place}; legal are {legal}")
        step = Step(
            np.empty((len(games), self.game.num_players), np.float32),
            np.empty(len(games), np.bool_),
            np.empty(len(games), np.bool_),
        )

        def run(part: slice) -> None:
            drivers.step_all(
                self.game.tables,
                self.rows,
                self._clocks,
                self._initial,
                games[part],
                chosen[part],
                self.game.max_plies or 0,
                self._masks,
                self.observations,
                self.seats,
                step.rewards[part],
                step.terminated[part],
                step.truncated[part],
                self.final_rows,
            )

        split(run, len(games))
        return step

    def keys(self, purpose: int, games: NDArray[np.int64] | None = None, by_ply: bool = True) -> NDArray[np.uint64]:
        """uint64[G]: the random keys of these games for a purpose of `pyramid_envs.rng`, for this ply or for the whole game."""
        games = self._places(games)
        keys = np.empty(len(games), np.uint64)
        drivers = self.game.drivers
        split(lambda part: drivers.stream_keys(self._clocks, games[part], purpose, by_ply, keys[part]), len(games))
        return keys

    def observe(self, seats: NDArray[np.int64], games: NDArray[np.int64] | None = None, final: bool = False) -> NDArray[np.int8]:
        """int8[G, *observation_shape], a new array: what seats[g] sees in game games[g], now or (final) when the last one
        ended.
        """
        games = self._places(games)
        out = np.empty((len(games), *self.game.observation_shape), np.int8)
        self.game.drivers.observe_all(self.game.tables, self.final_rows if final else self.rows, games, seats, out)
        return out

    def _places(self, games: NDArray[np.int64] | None) -> NDArray[np.int64]:
        """The places that a call is about, None: all; checked, for compiled code would read and write wherever they point."""
        if games is None:
            return self._all
        if len(games) and not 0 <= games.min() <= games.max() < self.num_games:
            raise IndexError(f"this batch has the games 0 to {self.num_games - 1}, not {games.min()} to {games.max()}")
        return games

    def _deal(self, games: NDArray[np.int64]) -> None:
        self.game.drivers.deal_all(
            self.game.tables, self.rows, self._clocks, self._initial, games, self._masks, self.observations, self.seats
        )

    # ------------------------------------------------------------------------------------------------- saving and copying

    def __getstate__(self) -> dict[str, Any]:
        """The game, and every position with its place in its stream; everything else follows from them."""
        return {"game": self.game, "rows": self.rows, "final_rows": self.final_rows, "clocks": self._clocks}

    def __setstate__(self, state: dict[str, Any]) -> None:
        Batch.__init__(self, state["game"], len(state["rows"]))
        self.rows[:], self.final_rows[:], self._clocks[:] = state["rows"], state["final_rows"], state["clocks"]
        self.game.drivers.view_all(self.game.tables, self.rows, self._masks, self.observations, self.seats)
