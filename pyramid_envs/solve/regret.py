"""What a policy gives away in Treehouse for 2 seats, decision by decision, measured by the exact solution.

The *regret* of a decision is what the mover could expect with the best action, less what it may expect with the policy's, if all
play on perfectly afterwards; a payoff, of which half is a share of games won. It is averaged over the policy's own play: the
policy sits in both seats, from the start, and a game is cut after max_plies actions, if there is such a limit. How often a
position comes up is found by going forward from the start through all positions, ply by ply, not by playing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyramid_envs.game import Row
from pyramid_envs.kernels import CHANCE
from pyramid_envs.solve.progress import Progress
from pyramid_envs.solve.sweeps import T
from pyramid_envs.solve.treehouse import Likings, Policy, Positions, best_actions, index
from pyramid_envs.threads import split

ENDED = 1e-8  # a game that goes on with no greater probability is taken for over
_STEADY = 1e-7  # changes of the share of games that go on for two plies more, below which it is taken to stay as it is


class Decision(NamedTuple):
    """A position with a roll, and what a policy does there."""

    row: Row  # seat 0 is to move
    visits: float  # how often it comes up in a game of the policy's own play, on average
    regret: float
    played: NDArray[np.float64]  # [A], with which probabilities
    best: int  # the first of the best actions


class Regret(NamedTuple):
    """What a policy gives away in its own play."""

    mean: float  # of a decision
    decisions: float  # of a game, both seats together
    worst: list[Decision]  # those that cost most, in visits times regret


def visits(positions: Positions, first: Policy, second: Policy, title: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """How often each position comes up in a game, on average, for the policy of seat 0 to decide and for that of seat 1.

    Both are float64[T, T, T] as tables of values are, before the roll; each time a position comes up is one decision.
    """
    limit = positions.game.max_plies
    goes_on = positions.over == 0
    now = np.zeros((T, T, T))
    now[index(positions.game.initial())] = 1.0
    totals = (np.zeros((T, T, T)), np.zeros((T, T, T)))
    before = [np.zeros((T, T, T)), np.zeros((T, T, T))]  # now, as it was two plies ago, for either seat
    parts: dict[int, NDArray[np.float64]] = {}

    def steady(share: float, seat: int) -> bool:
        return bool(np.abs(now - share * before[seat]).sum() < 100 * _STEADY * now.sum())

    sums = [1.0]  # of now, at each ply
    with Progress(title) as progress:
        while sums[-1] > ENDED and (limit is None or len(sums) <= limit):
            ply, left = len(sums) - 1, sums[-1]
            seat = ply % 2
            totals[seat][:] += now
            share = left / sums[-3] if ply > 3 else 0.0
            # Looked at only where the share of games that go on is already steady.
            if 0 < share < 1 and abs(share - sums[-2] / sums[-4]) < _STEADY and steady(share, seat):
                _add_tail(now, _step(positions, (first, second)[seat], now, goes_on, parts), seat, share, ply, limit, totals)
                break
            before[seat][:] = now
            now = _step(positions, (first, second)[seat], now, goes_on, parts)
            left = float(now.sum())
            sums.append(left)
            ply += 1
            done = np.log(max(left, ENDED)) / np.log(ENDED)
            progress.reach(max(done, ply / limit if limit else 0.0), f"ply {ply}, {100 * left:.2g} % of games go on")
    return totals


def _add_tail(
    now: NDArray[np.float64],
    after: NDArray[np.float64],
    seat: int,
    share: float,
    ply: int,
    limit: int | None,
    totals: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> None:
    """Add all that comes after `now`, which has been counted and every two plies is `share` times what it was."""

    def times(first: int) -> float:
        """The sum of the powers of share, by two plies, of the plies first, first + 2, .. below the limit."""
        if limit is None:
            return 1 / (1 - share)
        count = max(0, (limit - first + 1) // 2)
        return (1 - share**count) / (1 - share)

    totals[seat][:] += now * (share * times(ply + 2))
    totals[1 - seat][:] += after * times(ply + 1)


def _step(
    positions: Positions,
    moving: Policy,
    now: NDArray[np.float64],
    goes_on: NDArray[np.bool_],
    parts: dict[int, NDArray[np.float64]],
) -> NDArray[np.float64]:
    """How often each position comes next; ends are left out. `parts` is memory to be used again."""
    used: list[NDArray[np.float64]] = []

    def run(part: slice) -> None:
        then = parts.setdefault(part.start, np.empty((T, T, T)))
        then[:] = 0.0
        for h in np.flatnonzero(reached)[part].tolist():
            moving[h].spread(h, positions.over, now, then)
        used.append(then)

    reached = now.any(axis=(1, 2))
    split(run, int(reached.sum()), least=1)
    after = used[0].copy()
    for then in used[1:]:
        after += then
    after *= goes_on
    return after


def measure(
    positions: Positions, values: NDArray[np.float32], own: Policy, likings: Likings, title: str, count: int = 10
) -> Regret:
    """What a policy gives away.

    Args:
        positions: of the game.
        values: under perfect play.
        own: the policy.
        likings: the same, to be asked about single decisions.
        title: for the bar of progress.
        count: of the worst decisions.
    """
    together = np.add(*visits(positions, own, own, title))
    perfect = values.astype(np.float64)
    given_away = positions.ends.astype(np.float64)

    def run(part: slice) -> None:
        for h in range(T)[part]:
            own[h].expect(h, positions.over, perfect, given_away)

    split(run, T, least=1)
    np.subtract(perfect, given_away, out=given_away)
    given_away[positions.over > 0] = 0.0
    # The solution is right to its residual only, and so the best action can seem to be missing a trifle.
    np.maximum(given_away, 0.0, out=given_away)
    given_away *= together
    decisions = float(together.sum())
    return Regret(float(given_away.sum()) / decisions, decisions, _worst(positions, values, together, given_away, likings, count))


def _worst(
    positions: Positions,
    values: NDArray[np.float32],
    often: NDArray[np.float64],
    costs: NDArray[np.float64],
    likings: Likings,
    count: int,
) -> list[Decision]:
    """The decisions that cost most. None costs more than its position over all rolls, so that few positions must be looked at."""
    found: list[Decision] = []
    candidates = min(20 * count, costs.size)
    order = np.argpartition(costs.reshape(-1), -candidates)[-candidates:]
    for place in order[np.argsort(-costs.reshape(-1)[order], kind="stable")]:
        found.sort(key=lambda decision: -decision.visits * decision.regret)
        if len(found) >= count and costs.reshape(-1)[place] <= found[count - 1].visits * found[count - 1].regret:
            break
        h, w, m = np.unravel_index(place, costs.shape)
        found += _decisions(positions, values, (int(h), int(w), int(m)), float(often[h, w, m]), likings)
    found.sort(key=lambda decision: -decision.visits * decision.regret)
    return found[:count]


def _decisions(
    positions: Positions, values: NDArray[np.float32], place: tuple[int, int, int], often: float, likings: Likings
) -> list[Decision]:
    """Every roll in a position that comes up so often."""
    game = positions.game
    row = game.initial()
    row[0].house, row[0].trios[1], row[0].trios[0] = place
    row[0].seat = 0
    assert game.to_move(row) == CHANCE
    found = []
    for face, odds in zip(*game.chance_outcomes(row), strict=True):
        rolled = row.copy()
        game.apply(rolled, int(face))
        masks = game.legal_mask(rolled)[None].view(np.uint8)
        liked = np.zeros(masks.shape, np.float32)
        likings(rolled, masks, liked)
        played = liked[0].astype(np.float64) / liked[0].sum(dtype=np.float64)
        best, worth = best_actions(game, values, rolled, masks)
        expected = 0.0
        for action in np.flatnonzero(played).tolist():
            after = np.zeros_like(masks)
            after[0, action] = 1
            expected += played[action] * float(best_actions(game, values, rolled, after)[1][0])
        found.append(Decision(rolled, often * float(odds), float(worth[0]) - expected, played, int(best[0])))
    return found
