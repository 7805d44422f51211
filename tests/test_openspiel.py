"""The bridge to OpenSpiel: its games are ours, its own checks pass, and information states tell all that a seat has seen."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import unittest
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyramid_envs as pe

pyspiel = pytest.importorskip("pyspiel", reason="OpenSpiel is not installed (extra [openspiel])")
from pyramid_envs.envs import openspiel  # noqa: E402

ROOT = Path(__file__).parent.parent
TINY = "pyramid_pocket(num_colors=1,copies=1,hidden=1,tube_height=2.2)"


@pytest.fixture(scope="module", autouse=True)
def _registered() -> None:
    openspiel.register()


def bridged(game: pe.Game, max_plies: int = 40) -> tuple[pe.Game, Any]:
    """The game, cut after so many actions, and the same as OpenSpiel has it."""
    short = pe.make_game(game.name, **{**game.options, "max_plies": max_plies})
    return short, load(short)


def load(game: pe.Game) -> Any:
    parameters = {name: 0 if value is None else value for name, value in game.options.items()}
    return pyspiel.load_game(f"pyramid_{game.name}", parameters)


def branches(state: Any) -> list[int]:
    return [outcome for outcome, _ in state.chance_outcomes()] if state.is_chance_node() else state.legal_actions()


def some_states(spiel: Any, seed: int, every: int = 4) -> list[Any]:
    """States along a random game that have several branches."""
    random, state, found = np.random.default_rng(seed), spiel.new_initial_state(), []
    while not state.is_terminal():
        if len(branches(state)) > 1 and random.random() < 1 / every:
            found.append(state.clone())
        state.apply_action(int(random.choice(branches(state))))
    return [*found, state]


def test_every_game_is_registered_and_may_be_registered_again() -> None:
    names = openspiel.register()
    assert names == tuple(f"pyramid_{name}" for name in pe.game_names())
    assert set(names) <= set(pyspiel.registered_names())


def test_a_game_is_the_same_through_openspiel(game: pe.Game) -> None:
    short, spiel = bridged(game)
    assert (spiel.num_players(), spiel.num_distinct_actions()) == (game.num_players, game.num_actions)
    for seed in range(2):
        random, row, state, plies = np.random.default_rng(seed), short.initial(), spiel.new_initial_state(), 0
        while not state.is_terminal():
            seat = short.to_move(row)
            if seat == pe.CHANCE:
                assert state.is_chance_node()
                outcomes, probabilities = short.chance_outcomes(row)
                assert state.chance_outcomes() == list(zip(outcomes.tolist(), probabilities.tolist(), strict=True))
                action = int(random.choice(outcomes))
                assert state.action_to_string(action) == short.outcome_name(row, action)
            else:
                assert state.current_player() == seat
                assert state.legal_actions() == short.legal_actions(row).tolist()
                assert all(state.legal_actions(p) == [] for p in range(game.num_players) if p != seat)
                action = int(random.choice(short.legal_actions(row)))
                assert state.action_to_string(action) == short.action_name(row, action)
                plies += 1
            assert state.returns() == [0.0] * game.num_players
            for p in range(game.num_players):
                assert state.observation_tensor(p) == short.observe(row, p).reshape(-1).tolist()
                if plies % 8 == 0:
                    assert state.observation_string(p) == short.text(row, p)
            short.apply(row, action)
            state.apply_action(action)
        assert short.to_move(row) == pe.TERMINAL or plies == 40
        assert state.returns() == short.returns(row).tolist()


def test_a_limit_of_plies_ends_a_game_and_pays_nothing(game: pe.Game) -> None:
    _, spiel = bridged(game, max_plies=2)
    state = spiel.new_initial_state()
    decisions = 0
    while not state.is_terminal():
        decisions += not state.is_chance_node()
        state.apply_action(branches(state)[0])
    assert decisions == 2
    assert spiel.max_game_length() == 2
    assert state.current_player() == pyspiel.PlayerId.TERMINAL
    assert state.legal_actions() == []
    assert state.returns() == [0.0] * game.num_players


def test_copies_go_on_alike_and_apart(game: pe.Game) -> None:
    _, spiel = bridged(game)
    state = some_states(spiel, 3, every=1)[-2]
    assert not state.is_terminal()
    _, read = pyspiel.deserialize_game_and_state(pyspiel.serialize_game_and_state(spiel, state))
    copies = [state.clone(), copy.deepcopy(state), pickle.loads(pickle.dumps(state)), read]
    before = str(state)
    action = branches(state)[-1]
    for other in copies:
        other.apply_action(action)
        assert str(state) == before
    state.apply_action(action)
    for other in copies:
        assert str(other) == str(state)
        assert other.history() == state.history()
        assert other.plies == state.plies
        assert [other.information_state_string(p) for p in range(game.num_players)] == [
            state.information_state_string(p) for p in range(game.num_players)
        ]


def test_openspiels_random_simulations_pass(game: pe.Game, capfd: pytest.CaptureFixture[str]) -> None:
    _, spiel = bridged(game)
    pyspiel.random_sim_test(spiel, num_sims=1, serialize=True, verbose=False)


@pytest.mark.parametrize("num_sims", [5])
@pytest.mark.slow
def test_openspiels_random_simulations_pass_for_whole_games(
    game: pe.Game, num_sims: int, capfd: pytest.CaptureFixture[str]
) -> None:
    spiel = load(pe.make_game(game.name, **{**game.options, "max_plies": game.max_plies or 400}))
    pyspiel.random_sim_test(spiel, num_sims=num_sims, serialize=True, verbose=False)


def test_openspiels_checks_of_the_api_pass(game: pe.Game, capfd: pytest.CaptureFixture[str]) -> None:
    from absl import flags
    from open_spiel.integration_tests import api_test

    if not flags.FLAGS.is_parsed():
        flags.FLAGS(["test"])
    _, spiel = bridged(game)
    checks = type("Checks", (api_test.EnforceAPIOnPartialTreeBase,), {"game": spiel, "game_name": str(spiel)})
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(checks).run(result)
    assert result.testsRun >= 5
    assert result.failures + result.errors == []


# ------------------------------------------------------------------------------------------------- information states


def test_strings_of_two_branches_differ_exactly_for_the_seats_that_can_tell_them_apart(game: pe.Game) -> None:
    _, spiel = bridged(game)
    random = np.random.default_rng(5)
    alike = 0
    for seed in range(4):
        for state in some_states(spiel, seed):
            if state.is_terminal():
                continue
            one, other = random.choice(branches(state), 2, replace=False).tolist()
            mover = state.current_player()
            children = [state.child(one), state.child(other)]
            for seat in range(game.num_players):
                seen = [child.observation_tensor(seat) for child in children]
                told = [child.information_state_string(seat) for child in children]
                assert all(text.startswith(state.information_state_string(seat) + "|") for text in told)
                assert (told[0] == told[1]) == (seen[0] == seen[1] and seat != mover)
                alike += told[0] == told[1]
    assert (alike > 0) == hasattr(game.card.rules, "redeal")


def test_a_seat_remembers_what_it_no_longer_sees() -> None:
    """Treehouse by two ways into one position: the observations are the same, the information states are not."""
    spiel = pyspiel.load_game("pyramid_treehouse")
    ends = []
    for first, second in (("own AIM S left", "own AIM S up"), ("own AIM S right", "own AIM S up")):
        state = spiel.new_initial_state()
        start = pe.make_game("treehouse").from_position(
            {"trios": ["L M S", "LMS"], "house": "L< S M>", "roll": "AIM", "to_move": 0}
        )
        state.row = start
        for name in (first, None, "pass", None, second):
            names = {state.action_to_string(action): action for action in branches(state)}
            wanted = name if name in names else "AIM" if "AIM" in names else next(iter(names))
            state.apply_action(names[wanted])
        ends.append(state)
    one, other = ends
    assert one.row.tobytes() == other.row.tobytes()
    assert one.observation_tensor(0) == other.observation_tensor(0)
    assert one.information_state_string(0) != other.information_state_string(0)


@pytest.mark.parametrize("options", ["pocket=random", "pocket=chosen", "pocket=chosen,master_orients=True"])
def test_a_small_tree_has_perfect_recall_and_observations_are_information_states(options: str) -> None:
    from open_spiel.integration_tests import api_test

    spiel = pyspiel.load_game(TINY.replace(")", f",{options})"))
    assert spiel.get_type().provides_information_state_tensor
    assert len(api_test._assert_is_perfect_recall(spiel)) > 50
    by_string: dict[tuple[int, str], set[Any]] = {}
    by_tensor: dict[tuple[int, Any], set[str]] = {}

    def walk(state: Any) -> None:
        if not state.is_chance_node():
            for seat in range(2):
                text, tensor = state.information_state_string(seat), tuple(state.information_state_tensor(seat))
                by_string.setdefault((seat, text), set()).add(tensor)
                by_tensor.setdefault((seat, tensor), set()).add(text)
        for branch in [] if state.is_terminal() else branches(state):
            walk(state.child(branch))

    walk(spiel.new_initial_state())
    assert {len(found) for found in by_string.values()} == {1}
    assert {len(found) for found in by_tensor.values()} == {1}


# ---------------------------------------------------------------------------------------------------------- parameters


def test_parameters_are_the_games_options() -> None:
    found = pyspiel.load_game("pyramid_pocket(num_colors=1,copies=1,hidden=2,tube_height=2.2,master_orients=True,max_plies=7)")
    assert found.rules == pe.make_game(
        "pocket", num_colors=1, copies=1, hidden=2, tube_height=2.2, master_orients=True, max_plies=7
    )
    assert found.get_parameters()["tube_height"] == 2.2
    assert pyspiel.load_game("pyramid_pocket").rules == pe.make_game("pocket")
    assert pyspiel.load_game("pyramid_trellis(num_players=3)").rules == pe.make_game("trellis", num_players=3)
    assert pyspiel.load_game("pyramid_trellis(board_radius=5,num_players=4)").rules.options["board_radius"] == 5
    assert pyspiel.load_game(str(found)).rules == found.rules


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("pyramid_treehouse(max_plies=0)", pe.OptionError, "set max_plies"),
        ("pyramid_treehouse(num_players=5)", pe.OptionError, "num_players"),
        ("pyramid_pocket(wall=3.5)", pe.OptionError, "9/32"),
        ("pyramid_pocket(tube_height=5)", pyspiel.SpielError, "kDouble"),
        ("pyramid_pocket(rim=5.0)", pyspiel.SpielError, "tube_height"),
    ],
)
def test_wrong_parameters_are_told(text: str, kind: type[Exception], message: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(kind, match=message):
        pyspiel.load_game(text)


def test_what_a_game_declares_is_true_of_it(game: pe.Game) -> None:
    _, spiel = bridged(game)
    kind = spiel.get_type()
    hidden = hasattr(game.card.rules, "redeal")
    assert (kind.information == pyspiel.GameType.Information.IMPERFECT_INFORMATION) == hidden
    outcomes = spiel.max_chance_outcomes()
    assert (kind.chance_mode == pyspiel.GameType.ChanceMode.DETERMINISTIC) == (outcomes == 0)
    assert (kind.min_num_players, kind.max_num_players) == {
        "treehouse": (2, 4),
        "trellis": (2, 4),
        "pocket": (2, 2),
        "twin_win": (2, 3),
        "tic_tac_toe": (2, 2),
    }[game.name]
    assert (spiel.min_utility(), spiel.max_utility(), spiel.utility_sum()) == (-1 / (game.num_players - 1), 1.0, 0.0)


@pytest.mark.parametrize("name", ["pocket", "trellis"])
def test_no_game_is_longer_than_its_rules_allow(name: str) -> None:
    seats = (2,) if name == "pocket" else (2, 4)
    for num_players in seats:
        game = pe.make_game(name, num_players=num_players)
        bound = load(game).max_game_length()
        batch = pe.Batch(game, 200, seed=0)
        agent = pe.make_agent("random", game)
        longest = 0
        for _ in range(bound + 1):
            plies = batch.plies + 1
            step = batch.step(agent.act(batch.rows, batch.observations, batch.masks, batch.seats, batch.keys(3)))
            longest = max([longest, *plies[step.terminated].tolist()])
            assert (batch.plies <= bound).all()
        assert 0 < longest <= bound


# ------------------------------------------------------------------------------------------------------------- company


def test_openspiels_python_bots_play_here() -> None:
    from open_spiel.python.algorithms import mcts

    spiel = pyspiel.load_game("pyramid_treehouse(max_plies=30)")
    evaluator = mcts.RandomRolloutEvaluator(1, np.random.RandomState(0))
    bot = mcts.MCTSBot(spiel, 2.0, 5, evaluator, random_state=np.random.RandomState(0))
    state = spiel.new_initial_state()
    while state.is_chance_node():
        state.apply_action(state.chance_outcomes()[0][0])
    assert bot.step(state) in state.legal_actions()


def python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120)


def test_a_process_that_used_the_bridge_ends_in_peace() -> None:
    code = "import pyspiel; from pyramid_envs.envs.openspiel import register; register(); pyspiel.load_game('pyramid_pocket')"
    run = python(code)
    assert (run.returncode, run.stderr) == (0, "")


def test_without_openspiel_the_extra_is_named() -> None:
    run = python("import sys; sys.modules['pyspiel'] = None; import pyramid_envs.envs.openspiel")
    assert "MissingExtraError" in run.stderr
    assert "pyramid-envs[openspiel]" in run.stderr
