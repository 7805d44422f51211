"""Every game against its oracle: a second, slow and plain statement of the rules, asked the same questions at every ply."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

import numpy as np
import pytest

import pyramid_envs as pe
from tests.conftest import SETUPS
from tests.playing import choose

LONGEST = 400  # actions and outcomes of a game that is compared
ENOUGH = 500  # of all of them together
HUGE = 1000  # a chance event of more outcomes is compared at the start of the first game only


def oracles(name: str) -> Any:
    """The module of a game's oracle.

    It has a class ``Oracle``, made with the game's options as keywords, or by a function ``make(game)`` where that is not enough;
    and, for a game with more options, ``VARIANTS``: sets of options to compare.
    """
    return importlib.import_module(f"tests.oracles.{name}")


def variants(name: str) -> list[dict[str, Any]]:
    return getattr(oracles(name), "VARIANTS", [{}]) if importlib.util.find_spec(f"tests.oracles.{name}") else []


CASES = [
    pytest.param(name, {**options, "num_players": count}, id=f"{name}-{count}-{'-'.join(map(str, options.values()))}")
    for name, count in SETUPS
    for options in variants(name)
    if options.get("num_players", count) == count
]


@pytest.mark.parametrize("name", pe.game_names())
def test_every_game_has_an_oracle(name: str) -> None:
    assert importlib.util.find_spec(f"tests.oracles.{name}"), f"write tests/oracles/{name}.py: the rules again, plainly"
    assert variants(name)


def compare(game: pe.Game, row: Any, oracle: Any, dice: np.random.Generator, huge: bool) -> None:
    """Everything that both know of a position is the same."""
    position = oracle.position()
    assert game.position(row) == position
    assert game.from_position(position).tobytes() == row.tobytes()
    turn = oracle.to_move()
    assert game.to_move(row) == {"chance": pe.CHANCE, "over": pe.TERMINAL}.get(turn, turn)
    assert game.returns(row).tolist() == pytest.approx([float(payoff) for payoff in oracle.returns()], abs=1e-12)

    legal = oracle.legal()
    assert game.legal_actions(row).tolist() == sorted(legal)
    for action, action_name in legal.items():
        assert game.action_name(row, action) == action_name

    outcomes, probabilities = game.chance_outcomes(row)
    possible = {}
    if huge or len(outcomes) < HUGE:
        possible = oracle.chance()
        assert outcomes.tolist() == sorted(possible)
        assert probabilities.tolist() == pytest.approx([float(possible[o][1]) for o in outcomes.tolist()], rel=1e-9)
        for outcome in outcomes.tolist() if len(outcomes) < HUGE else dice.choice(outcomes, 100).tolist():
            assert game.outcome_name(row, outcome) == possible[outcome][0]

    allowed = possible or legal
    tried = [-1, game.num_actions, *dice.integers(0, game.num_actions, 4).tolist()]
    for number in tried if len(outcomes) < HUGE else [-1, len(outcomes)]:
        if number not in allowed:
            before = row.tobytes()
            with pytest.raises(pe.IllegalActionError):
                game.apply(row, number)
            assert row.tobytes() == before


def choices(game: pe.Game, seed: int) -> list[int]:
    """The actions and outcomes of a random game, to its end or to LONGEST of them."""
    dice = np.random.default_rng(seed)
    row = game.initial()
    chosen: list[int] = []
    while game.to_move(row) != pe.TERMINAL and len(chosen) < LONGEST:
        chosen.append(choose(game, row, seed, len(chosen), dice))
        game.apply(row, chosen[-1])
    return chosen


@pytest.mark.parametrize(("name", "options"), CASES)
def test_the_game_and_its_oracle_agree_at_every_ply(name: str, options: dict[str, Any]) -> None:
    game = pe.make_game(name, **options)
    module = oracles(name)
    dice = np.random.default_rng(1)
    # The longest of some games, then others as they come until there are enough, and the shortest, which reaches its end.
    shortest, *others, longest = sorted((choices(game, seed) for seed in range(30)), key=len)
    dice.shuffle(others)
    compared = 0
    for number, chosen in enumerate([longest, *others, shortest]):
        if compared > ENOUGH and chosen is not shortest:
            continue
        compared += len(chosen)
        row = game.initial()
        oracle = module.make(game) if hasattr(module, "make") else module.Oracle(**game.options)
        compare(game, row, oracle, dice, huge=number == 0)
        for choice in chosen:
            game.apply(row, choice)
            oracle.apply(choice)
            compare(game, row, oracle, dice, huge=False)
    assert game.to_move(row) == pe.TERMINAL
