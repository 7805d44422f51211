"""Matches: many games between the same agents, in every seat.

Every seed gives one game for each order of seats: game slots are not refilled, so that short games do not count more often than
long ones, and the chance events of a seed are the same in all orders as long as play is the same (common random numbers).

A *win* is a game that pays the seat more than 0, a *loss* one that pays less; several seats may win one game together. A game
that ends and pays 0 is a draw. A *truncated* game was cut by max_plies: it is neither won nor lost, and counts among all games.
Letters: G games of one order, P seats.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyramid_envs import rng
from pyramid_envs.agents import Agent
from pyramid_envs.batch import Batch
from pyramid_envs.game import Game
from pyramid_envs.play.recorder import RecordedBatch

Z95 = 1.959964  # a normal variable lies within this many deviations with probability 0.95
_SLOTS = 4096  # games side by side: enough for full speed


class Games(NamedTuple):
    """Games of one lineup, in the order of their seeds."""

    returns: NDArray[np.float32]  # [G, P]
    truncated: NDArray[np.bool_]  # [G]
    plies: NDArray[np.int64]  # [G]


class Share(NamedTuple):
    """A share of games with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class SeatRecord:
    """The candidate's games in one seat, the opponent in all others."""

    games: int
    wins: int
    losses: int
    draws: int
    truncated: int
    win_rate: Share  # Wilson's interval
    mean_payoff: float


@dataclass(frozen=True)
class Match:
    """A candidate in each seat in turn, an opponent in all others."""

    candidate: str
    opponent: str
    seed: int
    games: int  # over all seats
    win_rate: Share  # the mean over the seats; games of a seed are taken together for the interval
    mean_payoff: Share
    mean_plies: float
    seats: tuple[SeatRecord, ...]

    @property
    def even_share(self) -> float:
        """The share of wins between equal agents, if no game were shared, drawn or cut."""
        return 1 / len(self.seats)

    def to_json(self) -> dict[str, Any]:
        """Plain values, intervals as [low, high]."""
        return {
            "candidate": self.candidate,
            "opponent": self.opponent,
            "seed": self.seed,
            "games": self.games,
            "win_rate": self.win_rate.value,
            "win_rate_95": [self.win_rate.low, self.win_rate.high],
            "mean_payoff": self.mean_payoff.value,
            "mean_payoff_95": [self.mean_payoff.low, self.mean_payoff.high],
            "mean_plies": self.mean_plies,
            "seats": [
                {
                    "games": seat.games,
                    "wins": seat.wins,
                    "losses": seat.losses,
                    "draws": seat.draws,
                    "truncated": seat.truncated,
                    "win_rate": seat.win_rate.value,
                    "win_rate_95": [seat.win_rate.low, seat.win_rate.high],
                    "mean_payoff": seat.mean_payoff,
                }
                for seat in self.seats
            ],
        }


def play_games(game: Game, lineup: Sequence[Agent], num_games: int, seed: int = 0, record: str | Path | None = None) -> Games:
    """Play one game for each of the seeds seed, seed + 1, …, with lineup[p] in seat p.

    Every game that ends is added to the file `record`, if one is named (see `pyramid_envs.play.record`).
    """
    if len(lineup) != game.num_players:
        raise ValueError(f"{game.name} has {game.num_players} seats here, and the lineup has {len(lineup)} agents")
    parts = [
        _play_side_by_side(game, lineup, min(_SLOTS, num_games - low), seed + low, record) for low in range(0, num_games, _SLOTS)
    ]
    return Games(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _play_side_by_side(game: Game, lineup: Sequence[Agent], num_games: int, seed: int, record: str | Path | None) -> Games:
    batch = Batch(game, num_games, seed)
    if record is not None:
        names = [agent.name for agent in lineup]
        batch = RecordedBatch(batch, record, lambda place: names)
    result = Games(
        np.zeros((num_games, game.num_players), np.float32), np.zeros(num_games, np.bool_), np.zeros(num_games, np.int64)
    )
    agents = list({id(agent): agent for agent in lineup}.values())
    agent_of_seat = np.array([next(k for k, agent in enumerate(agents) if agent is sitting) for sitting in lineup])
    running = np.arange(num_games)
    while len(running):
        keys = batch.keys(rng.MOVE, running)
        mover = agent_of_seat[batch.seats[running]]
        actions = np.empty(len(running), np.int64)
        for k, agent in enumerate(agents):
            own = np.flatnonzero(mover == k)
            if len(own):
                at = running[own]
                actions[own] = agent.act(batch.rows[at], batch.observations[at], batch.masks[at], batch.seats[at], keys[own])
        result.plies[running] += 1
        step = batch.step(actions, running)
        ended = step.terminated | step.truncated
        result.returns[running[ended]] = step.rewards[ended]
        result.truncated[running[ended]] = step.truncated[ended]
        running = running[~ended]
    return result


def play_match(
    game: Game, candidate: Agent, opponent: Agent, num_games: int, seed: int = 0, record: str | Path | None = None
) -> Match:
    """The candidate against the opponent: the same seeds with the candidate in each seat in turn.

    Args:
        game: what they play.
        candidate: sits in one seat.
        opponent: sits in all others.
        num_games: over all seats; rounded up to a multiple of their number.
        seed: of the first game.
        record: a file that the games are added to; see `pyramid_envs.play.record`.
    """
    seats = range(game.num_players)
    per_seat = -(-num_games // game.num_players)
    played = [
        play_games(game, [candidate if seat == own else opponent for seat in seats], per_seat, seed, record) for own in seats
    ]
    payoffs = np.stack([games.returns[:, own] for own, games in enumerate(played)], 1).astype(np.float64)  # [G, P]
    return Match(
        candidate=candidate.name,
        opponent=opponent.name,
        seed=seed,
        games=payoffs.size,
        win_rate=clustered_share(payoffs > 0),
        mean_payoff=clustered_mean(payoffs),
        mean_plies=float(np.mean([games.plies for games in played])),
        seats=tuple(_seat_record(payoffs[:, own], played[own].truncated) for own in seats),
    )


def _seat_record(payoffs: NDArray[np.float64], truncated: NDArray[np.bool_]) -> SeatRecord:
    wins, losses, cut = int((payoffs > 0).sum()), int((payoffs < 0).sum()), int(truncated.sum())
    return SeatRecord(
        games=len(payoffs),
        wins=wins,
        losses=losses,
        draws=len(payoffs) - wins - losses - cut,
        truncated=cut,
        win_rate=wilson(wins / len(payoffs), len(payoffs)),
        mean_payoff=float(payoffs.mean()),
    )


# ----------------------------------------------------------------------------------------------------------- intervals


def wilson(share: float, games: float) -> Share:
    """Wilson's 95 % interval of a share of so many independent games (a fraction is allowed: an effective number)."""
    spread = Z95**2 / games
    centre = (share + spread / 2) / (1 + spread)
    half = math.sqrt(share * (1 - share) * spread + spread**2 / 4) / (1 + spread)
    return Share(share, max(0.0, centre - half), min(1.0, centre + half))


def clustered_share(wins: NDArray[np.bool_] | NDArray[np.float64]) -> Share:
    """The share of wins in wins[G, P], half ones allowed, and an interval for which only the G rows, the seeds, are independent.

    This is Wilson's interval for the number of independent games that would leave the same variance. The variance between seeds
    is measured, with one more seed assumed that behaves as independent games would, so that a handful of seeds that happen to
    agree proves nothing.
    """
    seeds, seats = wins.shape
    by_seed = wins.mean(1)
    share = float(by_seed.mean())
    independent = share * (1 - share)
    if independent == 0:
        return wilson(share, seeds * seats)
    variance = (float(((by_seed - share) ** 2).sum()) + independent / seats) / seeds
    return wilson(share, independent * seeds / variance)


def clustered_mean(payoffs: NDArray[np.float64]) -> Share:
    """The mean of payoffs[G, P], and the normal 95 % interval for which only the G rows, the seeds, count as independent.

    Payoffs lie between -1 and 1, and one seed alone says no more than that.
    """
    by_seed = payoffs.mean(1)
    mean = float(by_seed.mean())
    half = Z95 * float(by_seed.std(ddof=1)) / math.sqrt(len(by_seed)) if len(by_seed) > 1 else 2.0
    return Share(mean, max(-1.0, mean - half), min(1.0, mean + half))
