"""The command `python -m pyramid_envs.solve`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np

from pyramid_envs.card import Option
from pyramid_envs.errors import PyramidError
from pyramid_envs.game import Game
from pyramid_envs.registry import card, make_game
from pyramid_envs.solve import treehouse


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m pyramid_envs.solve", description="Solve a game exactly, keep the solution, and print what it says."
    )
    games = parser.add_subparsers(dest="game", required=True, metavar="GAME", help="treehouse or pocket")
    treehouse_parser = games.add_parser(
        "treehouse",
        help="Treehouse for 2 seats, by value iteration over all positions",
        description="Solve Treehouse for 2 seats by value iteration over all 8.5 million positions, on all cores. The "
        "solution is kept in $PYRAMID_ENVS_CACHE, by default ~/.cache/pyramid_envs, where the agent optimal finds it. Printed "
        "are the value of the start, the best openings, and the exact results of the agents optimal, greedy and random against "
        "each other, all without a limit of plies.",
    )
    treehouse_parser.add_argument("--dig-away", action="store_true", help="with the game's option dig_away")
    treehouse_parser.add_argument(
        "--tolerance",
        type=_positive,
        default=treehouse.TOLERANCE,
        help="no value may differ by more from what the best moves make of the others (default %(default)s)",
    )
    treehouse_parser.add_argument("--anew", action="store_true", help="solve even if a solution is kept already")
    pocket_parser = games.add_parser(
        "pocket",
        help="a small variant of Pyramids in my pocket, by CFR+ on its whole tree",
        description="Solve a small variant of Pyramids in my pocket with OpenSpiel's CFR+, on all that can happen in it, up to a "
        "million histories. Printed are how often the Disciple wins under perfect play, how each role begins, and what perfect "
        "play loses when it stops to bluff. Variants to begin with: --num-colors 1 --hidden 2 --tube-height 1.8 and "
        "--num-colors 2 --copies 1 --hidden 2 --tube-height 1.8.",
    )
    rules = {name: option for name, option in card("pocket").options.items() if name not in ("num_players", "max_plies")}
    for name, option in rules.items():
        _add_option(pocket_parser, name, option)
    pocket_parser.add_argument(
        "--tolerance", type=_positive, default=1e-3, help="the nash_conv at which to stop (default %(default)s)"
    )
    given = parser.parse_args(arguments)
    try:
        if given.game == "treehouse":
            report(make_game("treehouse", num_players=2, dig_away=given.dig_away), given.tolerance, given.anew)
        else:
            report_pocket(make_game("pocket", **{name: getattr(given, name) for name in rules}), given.tolerance)
    except PyramidError as error:
        parser.error(str(error))
    return 0


def _add_option(parser: argparse.ArgumentParser, name: str, option: Option) -> None:
    """A game's option as one of the command line."""
    flag, help_ = f"--{name.replace('_', '-')}", f"{option.doc} (default {option.default})"
    kind: dict[str, Any] = {"action": "store_true"} if option.default is False else {"type": type(option.default)}
    parser.add_argument(flag, default=option.default, help=help_.replace("%", "%%"), **kind)


def _positive(text: str) -> float:
    number = float(text)
    if not 0 < number < 1:
        raise argparse.ArgumentTypeError(f"must lie between 0 and 1, not {text}")
    return number


def report(game: Game, tolerance: float, anew: bool) -> None:
    """Print all that the solution says of the game."""
    solution = treehouse.solution(game, tolerance, anew)
    start = game.initial()
    print(f"Treehouse for 2 seats, dig_away={game.options['dig_away']}")
    print(f"solved in {solution.sweeps} sweeps, to a residual of {solution.residual:.1e}")
    value = float(solution.values[treehouse.index(start)])
    print(f"\nunder perfect play the first seat wins {_percent(value)} of all games (its payoff: {value:+.5f})")
    print("\nthe best opening by face of the die, and how often the first seat wins after it")
    for face in game.chance_outcomes(start)[0].tolist():
        row = start.copy()
        game.apply(row, face)
        actions, worth = treehouse.best_actions(game, solution.values, row, game.legal_mask(row)[None].view(np.uint8))
        name = game.action_name(row, int(actions[0]))
        print(f"  {game.outcome_name(start, face):<4}  {name:<20}  {_percent(worth[0])}", flush=True)
    positions = treehouse.Positions(game)
    likings = {
        "optimal": treehouse.like_best(game, solution.values),
        "greedy": treehouse.like_greedy(game),
        "random": treehouse.like_all,
    }
    policies = {name: treehouse.policy(positions, how, f"asking {name} in every position") for name, how in likings.items()}
    print(f"\n{'exact share of games won':<26}  {'in the first seat':>17}  {'in the second seat':>18}  {'on average':>10}")
    for own, other in (("optimal", "random"), ("optimal", "greedy"), ("greedy", "random")):
        title = f"{own} against {other}"
        payoffs = treehouse.expected(positions, policies[own], policies[other], title)
        average = (payoffs.first + payoffs.second) / 2
        print(f"{title:<26}  {_percent(payoffs.first):>17}  {_percent(payoffs.second):>18}  {_percent(average):>10}", flush=True)


def report_pocket(game: Game, tolerance: float) -> None:
    """Solve a small variant and print what is known of it."""
    from pyramid_envs.solve.trees import Tree  # which needs OpenSpiel

    tree = Tree(game)
    disciple, master = (int((tree.seats == seat).sum()) for seat in range(2))
    changed = ", ".join(f"{name}={value}" for name, value in game.options.items() if value != game.card.options[name].default)
    print(f"{game.title} with {changed or 'all pieces'}")
    print(f"{tree.histories:,} histories; information sets: the Disciple {disciple:,}, the Master {master:,}")
    found = tree.solve(tolerance)
    print(f"solved in {found.iterations} iterations of CFR+, to a nash_conv of {found.answers.nash_conv:.1e}", flush=True)
    print(f"\nunder perfect play the Disciple wins {_percent(found.answers.value)} of all games")
    for seat, who in ((1, "the Master begins"), (0, "the Disciple begins")):
        first = int(np.flatnonzero(tree.seats == seat)[0])
        if seat == 0 or game.to_move(game.initial()) == seat:
            print(f"\n{who}")
            for action in np.flatnonzero(found.policy[first] >= 0.0005).tolist():
                name = game.action_name(tree.rows[first : first + 1], action)
                print(f"  {name:<20}  {100 * found.policy[first, action]:5.1f} %")
    print("\nnash_conv, what both roles together gain by answering as well as possible")
    policies = {
        "perfect play": found.policy,
        "its likeliest actions": tree.likeliest(found.policy),
        "random": tree.like_all(),
        "greedy": tree.like_greedy(),
    }
    for name, policy in policies.items():
        print(f"  {name:<22}  {tree.answers(policy).nash_conv:.4f}")


def _percent(payoff: float) -> str:
    """The share of games won by a seat that may expect this payoff; nothing is drawn."""
    return f"{50 * (1 + payoff):.3f} %"


if __name__ == "__main__":
    raise SystemExit(main())
