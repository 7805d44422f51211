"""The command `python -m pyramid_envs.solve`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np

from pyramid_envs.game import Game
from pyramid_envs.registry import make_game
from pyramid_envs.solve import treehouse


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m pyramid_envs.solve", description="Solve a game exactly, keep the solution, and print what it says."
    )
    games = parser.add_subparsers(dest="game", required=True, metavar="GAME", help="treehouse: the only game small enough")
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
    given = parser.parse_args(arguments)
    report(make_game("treehouse", num_players=2, dig_away=given.dig_away), given.tolerance, given.anew)
    return 0


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


def _percent(payoff: float) -> str:
    """The share of games won by a seat that may expect this payoff; nothing is drawn."""
    return f"{50 * (1 + payoff):.3f} %"


if __name__ == "__main__":
    raise SystemExit(main())
