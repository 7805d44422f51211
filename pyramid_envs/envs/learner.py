"""Games in which one seat is a learner's and agents play the others: what the Gymnasium and stable-baselines3 environments share.

N games, A actions, P seats, G games addressed by a call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyramid_envs import rng
from pyramid_envs.agents import Agent, make_agent
from pyramid_envs.batch import Batch
from pyramid_envs.errors import AgentError, IllegalActionError
from pyramid_envs.game import Game, Row

Opponents = str | Agent | Sequence[str | Agent]


@dataclass
class Outcome:
    """What a step of the learners brought; new arrays."""

    rewards: NDArray[np.float32]  # [N]: the learner's payoff where its game ended, else 0
    terminated: NDArray[np.bool_]  # [N]
    truncated: NDArray[np.bool_]  # [N]
    illegal: NDArray[np.bool_]  # [N]: the game ended because the learner's action was illegal
    final_observations: dict[int, NDArray[np.int8]]  # place -> what the learner saw of the game that ended there

    @property
    def ended(self) -> NDArray[np.bool_]:
        """bool[N]."""
        return self.terminated | self.truncated


class LearnerGames:
    """N games side by side, each waiting for its learner.

    Opponents' moves are chosen in one call for all games that wait for the same agent. The learner's seat and, of several
    opponents, the one that takes all the other seats are drawn per game from the game's own stream. A game that ends before the
    learner's first decision is followed by the next of its stream, and counted.

    Args:
        game: from `make_game`.
        num_games: N.
        opponents: an agent or an agent's name, or a list of them, of which each game draws one.
        seat: the learner's, or None to draw it per game.

    Attributes:
        batch: the games.
        seats: int64[N], the learners' seats.
        skipped: int64[N], games that ended before the learner's first decision, ahead of the present one.
    """

    def __init__(self, game: Game, num_games: int, opponents: Opponents, seat: int | None) -> None:
        self.game = game
        if seat is not None and seat not in range(game.num_players):
            raise AgentError(f"seat must be None or 0 to {game.num_players - 1} in this game, not {seat!r}")
        self.seat = seat
        self.set_opponents(opponents)
        self.batch = Batch(game, num_games, seed=None)
        self.seats = np.zeros(num_games, np.int64)
        self.skipped = np.zeros(num_games, np.int64)
        self._opponent = np.zeros(num_games, np.int64)  # index into self.opponents
        self._all = np.arange(num_games)
        self._last: list[tuple[bytes, int] | None] | None = None

    def set_opponents(self, opponents: Opponents) -> None:
        """Who sits in the other seats of games that begin from now on; at once in all games, if there were more before."""
        listed = [opponents] if isinstance(opponents, str) or hasattr(opponents, "act") else list(opponents)
        if not listed:
            raise AgentError("opponents is empty: name at least one agent")
        for agent in listed:
            if not isinstance(agent, str) and not hasattr(agent, "act"):
                raise AgentError(f"an opponent is an agent's name or an object with a method act, not {agent!r}")
        self.opponents = [make_agent(agent, self.game) if isinstance(agent, str) else agent for agent in listed]
        if hasattr(self, "_opponent"):
            self._opponent %= len(self.opponents)

    # ------------------------------------------------------------------------------------------------------- for pictures

    def watch(self) -> None:
        """From now on, note the last action of every game."""
        self._last = [None] * len(self._all)

    def last(self, game: int) -> tuple[Row, int] | None:
        """The row before the last action of a game, and that action; None before the first, and if nobody watches."""
        noted = None if self._last is None else self._last[game]
        return None if noted is None else (np.frombuffer(noted[0], self.game.row_dtype), noted[1])

    def seen(self, game: int) -> tuple[Row, int, tuple[Row, int] | None]:
        """The position of a game, its learner's seat, and the last action with the row before it."""
        return self.batch.rows[game : game + 1], int(self.seats[game]), self.last(game)

    def _note(self, games: NDArray[np.int64], actions: NDArray[np.int64]) -> None:
        if self._last is not None:
            for game, action in zip(games.tolist(), actions.tolist(), strict=True):
                self._last[game] = self.batch.rows[game : game + 1].tobytes(), action

    # ----------------------------------------------------------------------------------------------------------- play

    @property
    def observations(self) -> NDArray[np.int8]:
        """int8[N, *observation_shape], a new array: what the learners see."""
        return self.batch.observations.copy()

    @property
    def masks(self) -> NDArray[np.bool_]:
        """bool[N, A], a new array: what they may do."""
        return self.batch.masks.copy()

    def reset(self, seed: int | Sequence[int] | None) -> None:
        """Deal the first games of the streams ``seed + i`` and play up to the learners' first decisions."""
        self.batch.reset(seed)
        self.begin(self._all)

    def abandon(self, games: NDArray[np.int64]) -> None:
        """Go on to the next games of these streams and play up to the learners' first decisions."""
        self.batch.restart(games)
        self.begin(games)

    def begin(self, games: NDArray[np.int64]) -> None:
        """Seat learners and opponents in games just dealt, and play up to the learners' first decisions."""
        self.skipped[games] = 0
        while len(games):
            self._draw(games)
            outcome = self._no_outcome()
            self._play_opponents(games, outcome)
            games = games[outcome.ended[games]]
            self.skipped[games] += 1

    def step(self, actions: NDArray[np.int64], autoreset: bool) -> Outcome:
        """Play the learners' actions, then the opponents up to the learners' next decisions.

        A game that ends is dealt anew; with `autoreset` it is also played up to the learner's first decision, without it that
        is left to `begin`. An illegal action ends its game with -1 for the learner.
        """
        batch, outcome = self.batch, self._no_outcome()
        legal = (actions >= 0) & (actions < self.game.num_actions)
        legal[legal] = batch.masks[np.flatnonzero(legal), actions[legal]]
        going, offending = np.flatnonzero(legal), np.flatnonzero(~legal)
        if len(going):
            self._note(going, actions[going])
            self._record(going, batch.step(actions[going], going), outcome)
        self._play_opponents(going[~outcome.ended[going]], outcome)
        if len(offending):
            outcome.rewards[offending] = -1.0
            outcome.terminated[offending] = outcome.illegal[offending] = True
            outcome.final_observations.update(zip(offending.tolist(), batch.observations[offending], strict=True))
            batch.final_rows[offending] = batch.rows[offending]
            batch.restart(offending)
        if autoreset:
            self.begin(np.flatnonzero(outcome.ended))
        return outcome

    def _no_outcome(self) -> Outcome:
        count = len(self._all)
        flags = np.zeros((3, count), np.bool_)
        return Outcome(np.zeros(count, np.float32), flags[0], flags[1], flags[2], {})

    def _draw(self, games: NDArray[np.int64]) -> None:
        if self._last is not None:
            for game in games.tolist():
                self._last[game] = None
        if self.seat is None:
            self.seats[games] = self._below(rng.SEAT, games, self.game.num_players)
        else:
            self.seats[games] = self.seat
        self._opponent[games] = self._below(rng.OPPONENT, games, len(self.opponents))

    def _below(self, purpose: int, games: NDArray[np.int64], n: int) -> NDArray[np.int64]:
        """An int in 0..n-1 for each game, from its stream."""
        keys = self.batch.keys(purpose, games, by_ply=False)
        return ((keys >> np.uint64(11)).astype(np.float64) * 2.0**-53 * n).astype(np.int64)

    def _play_opponents(self, games: NDArray[np.int64], outcome: Outcome) -> None:
        """Play in these games until they wait for their learners or have ended."""
        batch = self.batch
        games = games[batch.seats[games] != self.seats[games]]
        while len(games):
            actions = np.empty(len(games), np.int64)
            keys = batch.keys(rng.MOVE, games)
            for index, agent in enumerate(self.opponents):
                of = np.flatnonzero(self._opponent[games] == index)
                if len(of):
                    at = games[of]
                    actions[of] = agent.act(batch.rows[at], batch.observations[at], batch.masks[at], batch.seats[at], keys[of])
            self._note(games, actions)
            try:
                step = batch.step(actions, games)
            except IllegalActionError as error:
                names = ", ".join(str(getattr(agent, "name", agent)) for agent in self.opponents)
                raise IllegalActionError(f"an opponent ({names}) chose an illegal action: {error}") from None
            self._record(games, step, outcome)
            games = games[~outcome.ended[games] & (batch.seats[games] != self.seats[games])]

    def players(self, game: int) -> list[str]:
        """Who plays each seat of a game: "learner", or an opponent by name."""
        opponent = self.opponents[self._opponent[game]]
        name = str(getattr(opponent, "name", opponent))
        return ["learner" if seat == self.seats[game] else name for seat in range(self.game.num_players)]

    def _record(self, games: NDArray[np.int64], step: Any, outcome: Outcome) -> None:
        """Note which of these games ended, and what that brought the learner and showed it."""
        over = step.terminated | step.truncated
        if not over.any():
            return
        ended = games[over]
        outcome.terminated[ended] = step.terminated[over]
        outcome.truncated[ended] = step.truncated[over]
        outcome.rewards[ended] = step.rewards[over, self.seats[ended]]
        seen = self.batch.observe(self.seats[ended], ended, final=True)
        outcome.final_observations.update(zip(ended.tolist(), seen, strict=True))
