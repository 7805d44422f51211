"""Rollouts of what a trained network proposes: `rollouts:N@CHECKPOINT`.

Each of the actions that the network likes best begins a *plan*: that action, and then what the network likes best, to the end of
the seat's turn or to the next chance event. The plans are tried in N games together, each from a fresh `redeal` of what the seat
cannot know; after the plan greedy plays on for all seats, to the end (rollouts: Tesauro and Galperin 1996). All plans are tried
in the same redeals and with the same draws, so that luck cancels out as far as the games are alike. After every round the worse
half of the plans is given up, so that most games go to those that are hard to tell apart (sequential halving: Karnin, Koren and
Somekh 2013). The answer is the first action of the plan that is left; the next decision begins anew.

The network's values are not asked for. Where its policy is sure nothing is played out.

Letters: B rows, A actions, P seats, K plans of a row, L actions of a plan, at most, S plans of all rows.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyramid_envs.agents import Thought, mcts
from pyramid_envs.agents.learned import LearnedAgent
from pyramid_envs.agents.mcts import greedy_choices, play_out
from pyramid_envs.agents.torch_extra import nn
from pyramid_envs.drivers import settle
from pyramid_envs.errors import AgentError
from pyramid_envs.game import Game, bind_drivers
from pyramid_envs.kernels import apply, legal, redeal, to_move
from pyramid_envs.rng import fold
from pyramid_envs.threads import split

PLANS = 12  # K
LENGTH = 16  # L: the rest of a longer turn is greedy's
UNLIKELY = 0.0005  # an action begins no plan if the network gives it less than this times the probability of the likeliest
TO_THE_END = 1 << 30  # turns that greedy plays on
LOT = 512  # rows whose plans are made at once: more only costs memory


def imagine(tables, rows, seeds, worlds):
    """Write worlds[b]: rows[b] with what its seat to move cannot know drawn anew."""
    for b in range(rows.shape[0]):
        worlds[b] = rows[b]
        redeal(tables[0], worlds[b], to_move(rows[b]), fold(seeds[b], 0))


def advance(tables, worlds, actions, going):
    """Play actions[j] in worlds[j], and write going[j]: whether the same seat is to move again."""
    for j in range(worlds.shape[0]):
        seat = to_move(worlds[j])
        apply(tables[0], worlds[j], actions[j])
        going[j] = to_move(worlds[j]) == seat


def compare(tables, rows, seeds, rollouts, plans, games, masks, lab, scores, outcome, order, tries, totals):
    """Try the plans of each row: tries[b, k] games of plan k paid its seat totals[b, k] together; order[b, 0] is the best plan.

    plans, int64[B, K, L]: -1 where a plan is at its end, and behind the last plan of a row; the likeliest first. A plan that a
    redeal does not allow is played as far as it does. order, tries, int64[B, K]; totals, float64[B, K]. The rest is scratch:
    games, record[2]; masks, uint8[1, A]; lab, record[8]; scores, float64[1, A]; outcome, float64[1, P].
    """
    for b in range(rows.shape[0]):
        seat = to_move(rows[b])
        left = 0
        for k in range(plans.shape[1]):
            order[b, k] = k
            tries[b, k] = 0
            totals[b, k] = 0.0
            left += plans[b, k, 0] >= 0
        rounds = 0
        while 1 << rounds < left:
            rounds += 1
        n = 0
        for _round in range(rounds):
            for _game in range(max(1, rollouts // (rounds * left))):
                n += 1
                key = fold(seeds[b], n)
                games[0] = rows[b]
                redeal(tables[0], games[0], seat, fold(key, 0))
                for j in range(left):
                    k = order[b, j]
                    games[1] = games[0]
                    s = games[1]
                    for action in plans[b, k]:
                        if action < 0 or to_move(s) != seat:
                            break
                        legal(tables[0], s, masks, 0)
                        if not masks[0, action]:
                            break
                        apply(tables[0], s, action)
                    settle(tables[0], s, fold(key, 2), 0, 0)
                    play_out(tables[0], s, TO_THE_END, masks, lab, scores, outcome, fold(key, 1))
                    tries[b, k] += 1
                    totals[b, k] += outcome[0, seat]
            for j in range(1, left):  # the best first; equals stay as they are
                k, at = order[b, j], j
                while at > 0 and totals[b, order[b, at - 1]] < totals[b, k]:
                    order[b, at] = order[b, at - 1]
                    at -= 1
                order[b, at] = k
            left = (left + 1) // 2


class RolloutAgent:
    """Plays out what a network proposes that reads observations and masks alone.

    Args:
        network: observations to logits and values, of `pyramid_envs.agents.networks`; it is used, not copied.
        game: the game it plays.
        rollouts: N, at least 1: so many games about for a decision; each plan that is left gets one in every round at least.
        name: how it is called in tables.
        device: where the network is.
    """

    def __init__(self, network: nn.Module, game: Game, rollouts: int, name: str = "rollouts", device: str = "cpu") -> None:
        if rollouts < 1:
            raise AgentError(f"rollouts need at least 1 game, not {rollouts}")
        self.game = game
        self.rollouts = rollouts
        self.name = name
        self._proposer = LearnedAgent(network, game, deterministic=True, device=device)

    @classmethod
    def load(cls, folder: str | Path, game: Game, rollouts: int, device: str = "cpu") -> RolloutAgent:
        """Guided by a checkpoint, or by the latest checkpoint of a training run. Nothing in the folder is unpickled.

        Raises:
            CheckpointError: if the folder holds none, a damaged one, or one for something else than `game`.
        """
        network = LearnedAgent.load(folder, game, device=device).network
        return cls(network, game, rollouts, f"rollouts:{rollouts}@{folder}", device)

    def act(
        self,
        rows: NDArray[Any],
        observations: NDArray[np.int8],
        masks: NDArray[np.bool_],
        seats: NDArray[np.int64],
        seeds: NDArray[np.uint64],
    ) -> NDArray[np.int64]:
        """See `pyramid_envs.agents.Agent`."""
        actions = np.empty(len(rows), np.int64)
        for low in range(0, len(rows), LOT):
            part = slice(low, low + LOT)
            plans = self._plan(rows[part], observations[part], masks[part], seeds[part])
            best = self._compare(rows[part], seeds[part], plans)[0][:, 0]
            actions[part] = plans[np.arange(len(plans)), best, 0]
        return actions

    def think(
        self,
        rows: NDArray[Any],
        observations: NDArray[np.int8],
        masks: NDArray[np.bool_],
        seats: NDArray[np.int64],
        seeds: NDArray[np.uint64],
    ) -> Thought:
        """The policy is the share of the games that began with an action, value and worth what they brought on average; where
        the network is sure no game was played, so these are not known.
        """
        plans = self._plan(rows, observations, masks, seeds)
        order, tries, totals = (found[0] for found in self._compare(rows, seeds, plans))
        policy, worth = np.zeros(self.game.num_actions), np.full(self.game.num_actions, np.nan)
        first = plans[0, :, 0]
        best = first[order[0]]
        if not tries.any():
            policy[best] = 1.0
            return Thought(int(best), policy)
        tried = tries > 0
        policy[first[tried]] = tries[tried] / tries.sum()
        worth[first[tried]] = totals[tried] / tries[tried]
        return Thought(int(best), policy, float(worth[best]), worth)

    def _plan(
        self, rows: NDArray[Any], observations: NDArray[np.int8], masks: NDArray[np.bool_], seeds: NDArray[np.uint64]
    ) -> NDArray[np.int64]:
        """int64[B, K, L]: the plans of each row, as `compare` takes them."""
        game, drivers = self.game, _drivers(self.game)
        logits = self._proposer.logits(self._proposer.inputs(rows, observations, masks), masks)
        likeliest = np.argsort(-logits, 1, kind="stable")[:, :PLANS]
        heights = np.take_along_axis(logits, likeliest, 1)
        begun = heights >= heights[:, :1] + np.log(UNLIKELY)
        plans = np.full((len(rows), PLANS, LENGTH), -1, np.int64)
        plans[:, : begun.shape[1], 0] = np.where(begun, likeliest, -1)
        # The network looks on in positions that the seat takes for possible, lest a plan know more than the seat does.
        imagined = np.empty(len(rows), game.row_dtype)
        drivers.imagine(game.tables, rows, seeds, imagined)
        b, k = np.nonzero(begun & (begun.sum(1, keepdims=True) > 1))
        worlds, actions = imagined[b], plans[b, k, 0]
        for step in range(1, LENGTH):
            going = np.empty(len(worlds), np.bool_)
            drivers.advance(game.tables, worlds, actions, going)
            worlds, b, k = worlds[going], b[going], k[going]
            if len(worlds) == 0:
                break
            bits = np.empty((len(worlds), game.num_actions), np.uint8)
            seen = np.empty((len(worlds), *game.observation_shape), np.int8)
            seats = np.empty(len(worlds), np.int64)
            game.drivers.view_all(game.tables, worlds, bits, seen, seats)
            actions = self._proposer.act(worlds, seen, bits.view(np.bool_), seats, seeds[b])
            plans[b, k, step] = actions
        return plans

    def _compare(
        self, rows: NDArray[Any], seeds: NDArray[np.uint64], plans: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """order, tries and totals, as `compare` writes them."""
        game = self.game
        order, tries = np.empty(plans.shape[:2], np.int64), np.empty(plans.shape[:2], np.int64)
        totals = np.empty(plans.shape[:2], np.float64)

        def run(part: slice) -> None:
            _drivers(game).compare(
                game.tables,
                rows[part],
                seeds[part],
                self.rollouts,
                plans[part],
                np.zeros(2, game.row_dtype),
                np.empty((1, game.num_actions), np.uint8),
                np.zeros(8, game.row_dtype),
                np.empty((1, game.num_actions), np.float64),
                np.empty((1, game.num_players), np.float64),
                order[part],
                tries[part],
                totals[part],
            )

        split(run, len(rows), least=1)
        return order, tries, totals


def _drivers(game: Game) -> Any:
    return _bound(game.card.rules)


@cache
def _bound(rules: Any) -> Any:
    inner = (greedy_choices, play_out)
    return bind_drivers(rules, inner, (imagine, advance, compare), [Path(__file__), Path(mcts.__file__)])
