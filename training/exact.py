"""What agents are worth by calculation, not by playing: ``python -m training.evaluate … --exact``. docs/exact.md defines all.

In Treehouse for 2 seats an agent is held against perfect play; in a small game of 2 seats, such as a variant of Pocket, against
the best answers to it. A network is asked about every position, or every information set, there is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from rich import box
from rich.console import Console
from rich.table import Table
from torch import nn

from pyramid_envs.agents.learned import LearnedAgent
from pyramid_envs.game import Game
from pyramid_envs.solve import regret, treehouse
from pyramid_envs.solve.treehouse import Likings, Policy, Positions
from training import report
from training.cli import SettingsError

FIXED = ("random", "greedy", "optimal")


def check(game: Game, name: str, fixed: bool) -> None:
    """Refuse what cannot be calculated.

    Raises:
        SettingsError: for a game that is too large, or an agent whose probabilities are not known.
    """
    if fixed and name not in FIXED:
        raise SettingsError(f"--exact measures checkpoints, random, greedy and, in treehouse, optimal: not {name}")
    if not treehouse.solvable(game):
        if name == "optimal" and fixed:
            raise SettingsError(f"the agent optimal plays only treehouse with 2 seats, not {game.name}")
        tree_of(game)


def evaluate(name: str, game: Game, network: nn.Module | None, device: str) -> list[dict[str, Any]]:
    """Measure an agent in each of its ways to play, print what was found, and return it, JSON-ready.

    Args:
        name: of the agent.
        game: for which `check` has passed.
        network: of a checkpoint, on the device; None: the fixed agent of this name.
        device: where it is.
    """
    agent = None if network is None else LearnedAgent(network, game, name, device=device)
    return _treehouse(name, game, agent) if treehouse.solvable(game) else _tree(name, game, agent)


def _softmax(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    """Probabilities; the exponentials of illegal actions' logits, -1e9, are 0."""
    likings = np.exp(logits.astype(np.float64) - logits.max(1, keepdims=True))
    return likings / likings.sum(1, keepdims=True)


def _best(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    return np.eye(logits.shape[1])[logits.argmax(1)]


_WAYS: Mapping[str, Callable[[NDArray[np.float32]], NDArray[np.float64]]] = {report.BEST: _best, report.SAMPLED: _softmax}

# ------------------------------------------------------------------------------------------------------------ Treehouse


@cache
def _perfect(game: Game) -> tuple[Positions, NDArray[np.float32], Policy]:
    """All positions, their values, and perfect play."""
    values = treehouse.known_solution(game).values
    positions = Positions(game)
    return positions, values, treehouse.policy(positions, treehouse.like_best(game, values), "asking optimal in every position")


def _treehouse(name: str, game: Game, agent: LearnedAgent | None) -> list[dict[str, Any]]:
    positions, values, perfect = _perfect(game)
    found = []
    for play, (policy, likings) in _policies(name, positions, values, agent).items():
        title = f"{name}, {play}" if agent else name
        payoffs = treehouse.expected(positions, policy, perfect, f"{title} against perfect play")
        given_away = regret.measure(positions, values, policy, likings, f"{title} against itself")
        found.append(
            {
                "play": play,
                "win_rate": {"seats": [(1 + payoff) / 2 for payoff in payoffs], "mean": (1 + sum(payoffs) / 2) / 2},
                "regret": given_away.mean / 2,
                "decisions": given_away.decisions,
                "worst": [_told(game, decision) for decision in given_away.worst],
            }
        )
    print_treehouse(name, game, found)
    return found


def _policies(
    name: str, positions: Positions, values: NDArray[np.float32], agent: LearnedAgent | None
) -> dict[str, tuple[Policy, Likings]]:
    game = positions.game
    if agent is None:
        likings = {
            "random": treehouse.like_all,
            "greedy": treehouse.like_greedy(game),
            "optimal": treehouse.like_best(game, values),
        }[name]
        return {"fixed": (treehouse.policy(positions, likings, f"asking {name} in every position"), likings)}

    def logits(rows: NDArray[Any], masks: NDArray[np.uint8], out: NDArray[np.float32]) -> None:
        observations = np.empty((len(rows), *game.observation_shape), np.int8)
        everyone, first_seats = np.arange(len(rows)), np.zeros(len(rows), np.int64)
        game.drivers.observe_all(game.tables, rows, everyone, first_seats, observations)
        legal = masks.view(np.bool_)
        out[:] = agent.logits(agent.inputs(rows, observations, legal), legal)

    def liking(way: Callable[[NDArray[np.float32]], NDArray[np.float64]]) -> Likings:
        def likings(rows: NDArray[Any], masks: NDArray[np.uint8], out: NDArray[np.float32]) -> None:
            logits(rows, masks, out)
            out[:] = way(out)

        return likings

    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # the network is asked on all cores side by side already
    try:
        policies = treehouse.network_policies(positions, logits, f"asking {name} in every position")
    finally:
        torch.set_num_threads(threads)
    return {play: (policy, liking(way)) for (play, way), policy in zip(_WAYS.items(), policies, strict=True)}


def _told(game: Game, decision: regret.Decision) -> dict[str, Any]:
    order = np.argsort(-decision.played, kind="stable")
    return {
        "position": game.position(decision.row),
        "visits": decision.visits,
        "regret": decision.regret / 2,
        "played": {game.action_name(decision.row, a): decision.played[a] for a in order.tolist() if decision.played[a] > 0},
        "best": game.action_name(decision.row, decision.best),
    }


def print_treehouse(name: str, game: Game, found: list[dict[str, Any]]) -> None:
    """Tell what `evaluate` found to people."""
    console = Console()
    console.print(f"\n{name}: {game.title}, {game.num_players} seats, calculated; all in % of games", highlight=False)
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("plays")
    for column in ("wins against perfect play", "in the first, second seat", "regret of a decision", "decisions of a game"):
        table.add_column(column, justify="right")
    for one in found:
        wins = " ".join(f"{100 * share:.3f}" for share in one["win_rate"]["seats"])
        mean, given_away = 100 * one["win_rate"]["mean"], 100 * one["regret"]
        table.add_row(one["play"], f"{mean:.3f}", wins, f"{given_away:.4f}", f"{one['decisions']:.2f}")
    console.print(table)
    for one in found:
        print(f"The {len(one['worst'])} decisions that cost {name} ({one['play']}) most, a game of its own play:")
        for decision in one["worst"]:
            position = decision["position"]
            print(
                f"  {100 * decision['visits'] * decision['regret']:.4f} %: {100 * decision['regret']:.2f} % in each of "
                f"{100 * decision['visits']:.3g} in 100 games\n"
                f"    own {position['trios'][0]}, other {position['trios'][1]}, House {position['house']}, {position['roll']}"
            )
            likely = list(decision["played"].items())
            played = ", ".join(f"{action} {100 * share:.0f} %" for action, share in likely[:3])
            print(f"    plays {played}{', …' * (len(likely) > 3)}; best is {decision['best']}")
        print()


# ----------------------------------------------------------------------------------------------------------- small games


@cache
def tree_of(game: Game) -> Any:
    """The tree of a game that is small enough.

    Raises:
        SettingsError: if it is not.
        MissingExtraError: without OpenSpiel.
    """
    from pyramid_envs.solve.trees import TooLargeError, Tree  # which needs OpenSpiel

    try:
        return Tree(game)
    except TooLargeError as error:
        raise SettingsError(
            f"--exact is for treehouse with 2 seats and for games of 2 seats that can be walked whole, such as the small "
            f"variants of pocket in docs/exact.md: {error}"
        ) from None


def _tree(name: str, game: Game, agent: LearnedAgent | None) -> list[dict[str, Any]]:
    tree = tree_of(game)
    if agent is None:
        policies = {"fixed": tree.like_all() if name == "random" else tree.like_greedy()}
    else:
        logits = agent.logits(agent.inputs(tree.rows, tree.observations, tree.masks), tree.masks)
        policies = {play: way(logits) for play, way in _WAYS.items()}
    found = []
    for play, policy in policies.items():
        answers = tree.answers(policy)
        found.append({"play": play, "nash_conv": answers.nash_conv, "value": answers.value, "worst_payoffs": list(answers.worst)})
    console = Console()
    console.print(f"\n{name}: {game.title}, {tree.histories:,} histories, calculated", highlight=False)
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("plays")
    for column in ("nash_conv", "seat 0 wins % against itself", "seat 0, 1 win % against the best answer"):
        table.add_column(column, justify="right")
    for one in found:
        worst = " ".join(f"{50 * (1 + payoff):.2f}" for payoff in one["worst_payoffs"])
        table.add_row(one["play"], f"{one['nash_conv']:.4f}", f"{50 * (1 + one['value']):.2f}", worst)
    console.print(table)
    return found
