"""A game of people and agents: whose turn it is, what each may do and see, taking back, advice. Terminal and page share it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pyramid_envs.agents import Agent, Thought
from pyramid_envs.errors import IllegalActionError, PlayError
from pyramid_envs.game import Game, Row
from pyramid_envs.kernels import TERMINAL
from pyramid_envs.play.record import Course, Record
from pyramid_envs.rng import MOVE

HUMAN = "human"


class Advice(NamedTuple):
    """A `Thought` in words: the actions that it says something of, the best first."""

    agent: str
    action: int
    name: str
    value: float | None  # the payoff that the seat may expect
    actions: list[dict[str, Any]]  # each with action, name, and where known share and worth


class Session:
    """One game of people and agents.

    Args:
        game: the rules.
        lineup: who plays each seat: an agent, or None for a person.
        seed: of the game; None: the system draws one.
        episode: how many games were dealt from the seed before this one.
        names: what the players are called; None: as they call themselves.

    Attributes:
        players: who plays each seat, by name.
        course: the game so far.
        change: rises with everything that happens: it tells whether two looks at the game saw the same.
        revealed: whether everything may be seen; only once the game is over, and nothing can be taken back then.
    """

    def __init__(
        self,
        game: Game,
        lineup: Sequence[Agent | None],
        seed: int | None = None,
        episode: int = 0,
        names: Sequence[str] | None = None,
    ) -> None:
        if len(lineup) != game.num_players:
            raise PlayError(f"{game.title} has {game.num_players} seats here; {len(lineup)} players were named")
        self.game, self.lineup = game, tuple(lineup)
        self.players = tuple(HUMAN if agent is None else agent.name for agent in lineup) if names is None else tuple(names)
        # 53 bits: a whole number that every reader of JSON keeps.
        self.course = Course(game, int.from_bytes(os.urandom(7), "little") >> 3 if seed is None else seed, episode)
        self.change = 0
        self.revealed = not self.people

    @classmethod
    def of(cls, record: Record) -> Session:
        """A recorded game as a session that nobody plays any more: everything may be seen.

        Raises:
            RecordError: if it cannot be replayed.
        """
        course = record.replay()
        seats = course.game.num_players
        session = cls(course.game, [None] * seats, record.seed, record.episode, record.agents or [HUMAN] * seats)
        session.course, session.revealed = course, True
        return session

    @property
    def people(self) -> tuple[int, ...]:
        """The seats that people play."""
        return tuple(seat for seat, agent in enumerate(self.lineup) if agent is None)

    @property
    def waiting_for(self) -> int | None:
        """The person's seat that the game waits for; None while it is an agent's turn, and at the end."""
        seat = self.course.seat
        return seat if seat != TERMINAL and self.lineup[seat] is None else None

    @property
    def playing(self) -> bool:
        """Whether the game goes on by itself: an agent is to move."""
        return not self.course.over and self.waiting_for is None

    # ----------------------------------------------------------------------------------------------------------- play

    def act(self, seat: int, action: int) -> None:
        """Play a person's action.

        Raises:
            PlayError: if it is not this seat's turn.
            IllegalActionError: if the action is illegal; nothing has changed.
        """
        if self.course.over:
            raise PlayError("the game is over")
        if self.waiting_for != seat:
            raise PlayError(f"it is player_{self.course.seat}'s turn, not player_{seat}'s")
        self.course.play(action)
        self.change += 1

    def advance(self) -> bool:
        """Let an agent play one action, if it is an agent's turn; whether it was."""
        seat = self.course.seat
        agent = None if seat == TERMINAL else self.lineup[seat]
        if agent is None:
            return False
        action = int(agent.act(*self._asked(self.course.ply))[0])
        try:
            self.course.play(action)
        except IllegalActionError as error:
            raise IllegalActionError(f"{agent.name} chose an illegal action: {error}") from None
        self.change += 1
        return True

    def _asked(self, ply: int) -> tuple[Any, ...]:
        """The arguments of `Agent.act` for the decision after so many plies; the same as in a match."""
        row, game = self.course.rows[ply].copy(), self.game
        seat = game.to_move(row)
        return (
            row,
            game.observe(row, seat)[None],
            game.legal_mask(row)[None],
            np.array([seat]),
            np.array([self.course.key(MOVE, ply)], np.uint64),
        )

    def undo_ply(self, seat: int) -> int:
        """To which ply `undo` would go back for this seat.

        Raises:
            PlayError: if it cannot, with the reason.
        """
        if self.revealed:
            raise PlayError("nothing can be taken back: all has been seen")
        for ply in reversed(range(self.course.ply)):
            mover = self.game.to_move(self.course.rows[ply])
            if mover == seat:
                return ply
            if self.lineup[mover] is None:
                raise PlayError(f"player_{mover} has decided something since then; only the last decision can be taken back")
        raise PlayError(f"player_{seat} has decided nothing yet")

    def undo(self, seat: int) -> None:
        """Go back to the last decision of a person's seat; only the person who decided last may.

        Raises:
            PlayError: if that is not possible, with the reason.
        """
        self.course.back_to(self.undo_ply(seat))
        self.change += 1

    def reveal(self) -> None:
        """Show everything, now that the game is over.

        Raises:
            PlayError: if it is not over.
        """
        if not self.course.over:
            raise PlayError("what is hidden is shown when the game is over, not before")
        self.revealed = True
        self.change += 1

    def advice(self, agent: Agent, ply: int | None = None) -> Advice:
        """What an agent would do in the seat to move, now or after so many plies, from what that seat knows.

        Raises:
            PlayError: if nobody is to move there.
        """
        at = self.course.ply if ply is None else ply
        if (at == self.course.ply and self.course.over) or not 0 <= at <= self.course.ply:
            raise PlayError("nobody is to move there")
        row, asked = self.course.rows[at], self._asked(at)
        think = getattr(agent, "think", None)
        thought = think(*asked) if think is not None else Thought(int(agent.act(*asked)[0]))
        action = thought.action
        if ply is None and thought.policy is not None and thought.policy[action] < thought.policy.max():
            action = int(thought.policy.argmax())  # an agent that draws its actions advises the likeliest
        return Advice(agent.name, action, self.game.action_name(row, action), thought.value, self._told(row, thought))

    def _told(self, row: Row, thought: Thought) -> list[dict[str, Any]]:
        found = []
        for action in self.game.legal_actions(row).tolist():
            entry: dict[str, Any] = {"action": action, "name": self.game.action_name(row, action)}
            if thought.policy is not None:
                entry["share"] = float(thought.policy[action])
            if thought.worth is not None and not np.isnan(thought.worth[action]):
                entry["worth"] = float(thought.worth[action])
            if len(entry) > 2:
                found.append(entry)
        order = "worth" if thought.policy is None else "share"
        return sorted(found, key=lambda entry: (-entry[order], entry["action"]))

    # ------------------------------------------------------------------------------------------------------- for people

    def result(self) -> str:
        """How the game ended, in a sentence; empty while it goes on."""
        if not self.course.over:
            return ""
        if self.course.truncated:
            return f"Cut short after {self.course.ply} actions: nobody wins."
        winners = [f"player_{seat}" for seat, pay in enumerate(self.course.payoffs) if pay > 0]
        if not winners:
            return "A draw."
        return f"{winners[0]} wins." if len(winners) == 1 else f"{' and '.join(winners)} win together."

    def record(self) -> Record:
        """The game on paper."""
        return self.course.record(self.players)
