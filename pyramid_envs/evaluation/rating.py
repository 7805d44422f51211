"""Ratings: one number an agent that explains who beat whom, on the scale of Elo.

An agent's strength is λ = 10^(rating/400), and of the agents in a game each is first with a probability in proportion to its
strength (Bradley and Terry 1952 for two seats; Luce 1959 and Plackett 1975 for more). Of the payoffs only the order counts. The
agents paid best share the first place: a tie of two is half a first place for each. If they are one alone, and those behind are
not all paid alike, the best of these are first among the rest, and so on; the order of agents who are last together is not known
and says nothing. Ratings are those of the highest likelihood.

An agent that has won or lost every game would be rated infinitely high or low. So one drawn game between each two agents that
have met is imagined beside those played.

Games that belong to the same seed share their dice and cards. Intervals come from drawing seeds, not games, again and again with
replacement (the bootstrap; Efron 1979), and from rating anew each time: 95 % of the ratings lie within.

Letters: N agents, S seeds, G games, P seats, K kinds of contest, D agents of a contest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SCALE = 400 / math.log(10)  # points of rating for a factor e of strength
IMAGINED = 1.0  # drawn games between each two agents that have met


@dataclass(frozen=True)
class Ratings:
    """Ratings and their 95 % intervals; NaN where nothing is known, as of agents that never met the one at zero, even in turn."""

    values: NDArray[np.float64]  # [N]
    lows: NDArray[np.float64]  # [N]
    highs: NDArray[np.float64]  # [N]


class Contests:
    """What games say of who is stronger, seed by seed.

    Args:
        num_agents: N.
        num_seeds: S.
    """

    def __init__(self, num_agents: int, num_seeds: int) -> None:
        self.num_agents, self.num_seeds = num_agents, num_seeds
        # The agents in a contest for first place, how many seats each has, and their shares of first places, float64[S, D].
        self._places: dict[tuple[tuple[int, int], ...], NDArray[np.float64]] = {}

    def add(self, lineup: Sequence[int], payoffs: NDArray[np.floating], seeds: NDArray[np.integer]) -> None:
        """Add G games of one lineup.

        Args:
            lineup: the agents' numbers by seat.
            payoffs: float[G, P].
            seeds: int[G], the numbers 0 to S-1 of the games' seeds.
        """
        patterns, which = np.unique(np.asarray(payoffs, np.float64), axis=0, return_inverse=True)
        for k, pattern in enumerate(patterns):
            for kind, shares in _contests(lineup, pattern):
                places = self._places.setdefault(kind, np.zeros((self.num_seeds, len(kind))))
                np.add.at(places, seeds[which.reshape(-1) == k], shares)

    def rate(self, anchor: int, resamples: int = 1000, seed: int = 0) -> Ratings:
        """Rate all agents.

        Args:
            anchor: the number of the agent whose rating is 0.
            resamples: of the bootstrap.
            seed: of the bootstrap.
        """
        reached = self._reached(anchor)
        kinds = [kind for kind in self._places if kind[0][0] in reached]
        met = sorted({(one, other) for kind in kinds for one, _ in kind for other, _ in kind if one < other})
        widest = max((len(kind) for kind in kinds), default=2)
        agents = np.zeros((len(kinds) + len(met), widest), np.int64)
        seats = np.zeros((len(kinds) + len(met), widest))  # 0 where a contest has fewer agents
        places = np.zeros((self.num_seeds, len(kinds) + len(met), widest))
        for k, kind in enumerate(kinds):
            agents[k, : len(kind)], seats[k, : len(kind)] = np.transpose(kind)
            places[:, k, : len(kind)] = self._places[kind]
        for k, pair in enumerate(met, len(kinds)):
            agents[k, :2], seats[k, :2] = pair, 1.0
        imagined = np.zeros(places.shape[1:])
        imagined[len(kinds) :, :2] = IMAGINED / 2

        free = np.array(sorted(reached - {anchor}), np.int64)
        values = maximise(agents, seats, places.sum(0) + imagined, np.zeros(self.num_agents), free)
        random = np.random.default_rng(seed)
        drawn = np.empty((resamples, self.num_agents))
        for k in range(resamples):
            weights = np.bincount(random.integers(self.num_seeds, size=self.num_seeds), minlength=self.num_seeds)
            drawn[k] = maximise(agents, seats, np.tensordot(weights.astype(np.float64), places, 1) + imagined, values, free)
        lows, highs = np.quantile(drawn, [0.025, 0.975], axis=0) if resamples else np.full((2, self.num_agents), np.nan)
        unknown = np.array([agent not in reached for agent in range(self.num_agents)])
        return Ratings(*(np.where(unknown, np.nan, SCALE * found) for found in (values, lows, highs)))

    def _reached(self, anchor: int) -> set[int]:
        """The agents that have met the anchor, those that have met these, and so on."""
        reached, before = {anchor}, 0
        while len(reached) > before:
            before = len(reached)
            for kind in self._places:
                members = {agent for agent, _ in kind}
                if members & reached:
                    reached |= members
        return reached


def _contests(
    lineup: Sequence[int], payoffs: NDArray[np.float64]
) -> list[tuple[tuple[tuple[int, int], ...], NDArray[np.float64]]]:
    """The contests for first place that a game consists of: who takes part, as (agent, seats), and their shares of the place."""
    found: list[tuple[tuple[tuple[int, int], ...], NDArray[np.float64]]] = []
    rest = list(range(len(lineup)))
    while True:
        best = max(payoffs[seat] for seat in rest)
        first = [seat for seat in rest if payoffs[seat] == best]
        if len(first) == len(rest) < len(lineup):
            return found  # last together
        members = sorted({lineup[seat] for seat in rest})
        if len(members) > 1:
            kind = tuple((agent, sum(lineup[seat] == agent for seat in rest)) for agent in members)
            shares = np.array([sum(lineup[seat] == agent for seat in first) / len(first) for agent in members])
            found.append((kind, shares))
        if len(first) > 1:
            return found
        rest.remove(first[0])


def log_likelihood(
    agents: NDArray[np.int64], seats: NDArray[np.float64], places: NDArray[np.float64], strengths: NDArray[np.float64]
) -> float:
    """Of shares of first places.

    Args:
        agents: [K, D], the agents of each contest.
        seats: [K, D], how many seats each has, 0: none.
        places: [K, D], first places.
        strengths: [N], logarithms.
    """
    with np.errstate(divide="ignore"):
        logits = np.where(seats > 0, strengths[agents] + np.log(seats), -np.inf)
    highest = logits.max(1, keepdims=True)
    chances = logits - highest - np.log(np.exp(logits - highest).sum(1, keepdims=True))
    return float((places * np.where(seats > 0, chances, 0.0)).sum())


def maximise(
    agents: NDArray[np.int64],
    seats: NDArray[np.float64],
    places: NDArray[np.float64],
    start: NDArray[np.float64],
    free: NDArray[np.int64],
) -> NDArray[np.float64]:
    """The logarithms of strength, float64[N], of the highest likelihood: Newton's method on a concave function.

    Args:
        agents: [K, D], the agents of each contest.
        seats: [K, D], how many seats each has, 0: none.
        places: [K, D], first places.
        start: [N], where to begin.
        free: the agents whose strength may change.
    """
    strengths = start.copy()
    now = log_likelihood(agents, seats, places, strengths)
    contests = places.sum(1)
    taking_part = seats > 0
    for _ in range(100):
        powers = np.where(taking_part, seats * np.exp(np.minimum(strengths[agents], 500.0)), 0.0)
        chances = powers / powers.sum(1, keepdims=True)
        gradient = np.zeros(len(strengths))
        np.add.at(gradient, agents, places - contests[:, None] * chances)
        curvature = np.zeros((len(strengths), len(strengths)))
        np.add.at(curvature, (agents, agents), contests[:, None] * chances)
        np.add.at(
            curvature,
            (agents[:, :, None], agents[:, None, :]),
            -contests[:, None, None] * chances[:, :, None] * chances[:, None, :],
        )
        if not len(free) or np.abs(gradient[free]).max() < 1e-9 * (1 + contests.sum()):
            break
        step = np.zeros(len(strengths))
        step[free] = np.linalg.solve(curvature[np.ix_(free, free)], gradient[free])
        step *= min(1.0, 5.0 / np.abs(step).max())
        while (then := log_likelihood(agents, seats, places, strengths + step)) < now and np.abs(step).max() > 1e-12:
            step /= 2
        if then <= now:
            break
        strengths, now = strengths + step, then
    return strengths
