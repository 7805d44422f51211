"""What `Game` promises, for every game and every number of seats."""

from __future__ import annotations

import contextlib
import copy
import json
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pyramid_envs as pe
from pyramid_envs.registry import card
from tests.playing import decisions, play

NO_NUMBERS = [1.5, 1.0, "a", "0", None, float("nan"), [0], (0,), {}, b"\x00", np.array([0]), np.array(0.0), 1j, Ellipsis]
NO_ACTIONS = [-1, -(2**31), -(2**63), -(2**70), 2**31, 2**63, 2**64, 2**70]


def other_games(game: pe.Game) -> list[dict[str, Any]]:
    return [{"num_players": game.num_players, "max_plies": 17}, {"num_players": game.num_players, "max_plies": None}]


# ------------------------------------------------------------------------------------------------------------ the card


def test_a_game_declares_what_it_is(game: pe.Game) -> None:
    assert game.name in pe.game_names()
    assert game.title
    assert isinstance(game.version, int)
    assert game.options["num_players"] == game.num_players
    assert game.options["max_plies"] == game.max_plies
    assert game.agents == tuple(f"player_{seat}" for seat in range(game.num_players))
    assert game.num_actions > 0
    assert (pe.CHANCE, pe.TERMINAL) == (-1, -2)


def test_a_games_manual_page_names_its_options_and_its_version(game: pe.Game) -> None:
    page = __import__(f"pyramid_envs.games.{game.name}", fromlist=["card"]).__doc__
    for option in game.options:
        assert option in page
    assert f"\n    {game.version} " in page.split("Versions")[1]


def test_the_observation_fields_tile_the_first_axis(game: pe.Game) -> None:
    at = 0
    for name, (part, meaning) in game.observation_fields.items():
        assert name.isidentifier()
        assert meaning
        assert (part.start, part.step) == (at, None)
        assert part.stop > at
        at = part.stop
    assert game.observation_shape[0] == at


def test_every_field_of_the_observation_is_used(game: pe.Game) -> None:
    seen = set()
    for seed in range(20):
        for row in play(game, seed):
            for seat in range(game.num_players):
                view = game.observe(row, seat)
                seen |= {name for name, (part, _) in game.observation_fields.items() if name not in seen and view[part].any()}
            if len(seen) == len(game.observation_fields):
                return
    assert seen == set(game.observation_fields)


def test_games_with_the_same_options_are_the_same_game(game: pe.Game) -> None:
    again = pe.make_game(game.name, **game.options)
    assert again == game
    assert hash(again) == hash(game)
    assert eval(repr(game), {"make_game": pe.make_game}) == game
    for options in other_games(game):
        if options["max_plies"] != game.max_plies:
            assert pe.make_game(game.name, **options) != game
    assert game != game.name


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, lambda game: pickle.loads(pickle.dumps(game))])
def test_a_game_can_be_copied_and_pickled(game: pe.Game, rows: list[Any], how: Any) -> None:
    again = how(game)
    assert again == game
    for row in decisions(game, rows)[:3]:
        assert again.observe(row, 0).tobytes() == game.observe(row, 0).tobytes()
        assert again.legal_actions(row).tolist() == game.legal_actions(row).tolist()


# --------------------------------------------------------------------------------------------------------------- rows


def test_rows_are_independent_of_each_other(game: pe.Game) -> None:
    one, other = game.initial(), game.initial()
    assert one.shape == (1,)
    assert one.dtype == game.row_dtype
    assert one.flags.owndata
    assert one.tobytes() == other.tobytes()
    before = other.tobytes()
    game.resolve_chance(one, np.random.default_rng(0))
    game.apply(one, game.legal_actions(one)[0])
    assert one.tobytes() != before
    assert other.tobytes() == before == game.initial().tobytes()


def test_rows_can_be_copied_and_pickled(game: pe.Game, rows: list[Any]) -> None:
    for row in rows:
        for again in (row.copy(), copy.deepcopy(row), pickle.loads(pickle.dumps(row))):
            assert again.tobytes() == row.tobytes()
            assert game.to_move(again) == game.to_move(row)
            assert game.position(again) == game.position(row)


def test_questions_leave_the_row_as_it_is(game: pe.Game, rows: list[Any]) -> None:
    for row in rows:
        before = row.tobytes()
        game.to_move(row), game.legal_mask(row), game.legal_actions(row), game.chance_outcomes(row), game.returns(row)
        game.position(row), game.text(row)
        for seat in range(game.num_players):
            game.observe(row, seat), game.text(row, seat), game.redeal(row, seat, 1)
        if game.to_move(row) >= 0:
            game.parse_action(row, game.action_name(row, game.legal_actions(row)[0]))
        assert row.tobytes() == before


def test_answers_are_written_whole_whatever_was_in_memory(game: pe.Game, rows: list[Any]) -> None:
    drivers, tables = game.drivers, game.tables
    for row in rows:
        for garbage in (0, 1, 77):
            mask = np.full((1, game.num_actions), garbage, np.uint8)
            drivers.mask_of(tables, row, mask)
            assert mask.tobytes() == game.legal_mask(row).tobytes()
            view = np.full((1, *game.observation_shape), garbage, np.int8)
            drivers.view_of(tables, row, 0, view)
            assert view.tobytes() == game.observe(row, 0).tobytes()
            if game.to_move(row) == pe.TERMINAL:
                payoffs = np.full((1, game.num_players), garbage, np.float64)
                drivers.payoffs(tables, row, payoffs)
                assert payoffs[0].tolist() == game.returns(row).tolist()


# --------------------------------------------------------------------------------------------------- whose turn, what is legal


def test_random_games_end_and_every_seat_gets_to_move(game: pe.Game, rows: list[Any]) -> None:
    turns = {game.to_move(row) for row in rows}
    assert pe.TERMINAL in turns
    assert turns >= set(range(game.num_players))
    assert turns <= {pe.CHANCE, pe.TERMINAL, *range(game.num_players)}


def test_the_mask_is_one_exactly_where_apply_works(game: pe.Game, rows: list[Any]) -> None:
    for row in rows[::2]:
        mask = game.legal_mask(row)
        assert mask.shape == (game.num_actions,)
        assert mask.dtype == np.bool_
        assert mask.any() == (game.to_move(row) >= 0)
        assert game.legal_actions(row).tolist() == [a for a in range(game.num_actions) if mask[a]]
        if game.to_move(row) == pe.CHANCE:
            continue
        for action in range(game.num_actions):
            trial = row.copy()
            if mask[action]:
                game.apply(trial, action)
                assert trial.tobytes() != row.tobytes()
            else:
                with pytest.raises(pe.IllegalActionError):
                    game.apply(trial, action)
                assert trial.tobytes() == row.tobytes()


def test_apply_takes_only_possible_outcomes_at_a_chance_event(game: pe.Game, rows: list[Any]) -> None:
    for row in rows:
        if game.to_move(row) == pe.CHANCE:
            possible = set(game.chance_outcomes(row)[0].tolist())
            for outcome in range(-1, min(max(possible) + 3, 200)):
                trial = row.copy()
                if outcome in possible:
                    game.apply(trial, outcome)
                    assert trial.tobytes() != row.tobytes()
                else:
                    with pytest.raises(pe.IllegalActionError, match=str(outcome)):
                        game.apply(trial, outcome)
                    assert trial.tobytes() == row.tobytes()
        else:
            assert [part.tolist() for part in game.chance_outcomes(row)] == [[], []]


@pytest.mark.parametrize("wrong", NO_NUMBERS + NO_ACTIONS, ids=repr)
def test_what_is_no_action_is_refused_with_the_row_untouched(game: pe.Game, rows: list[Any], wrong: Any) -> None:
    one_of_each = {game.to_move(row): row for row in rows}
    for row in one_of_each.values():
        before = row.tobytes()
        with pytest.raises(pe.IllegalActionError):
            game.apply(row, wrong)
        assert row.tobytes() == before


def test_an_illegal_action_is_named_and_so_are_the_legal_ones(game: pe.Game, rows: list[Any]) -> None:
    for row in decisions(game, rows)[:5]:
        for action in np.flatnonzero(~game.legal_mask(row))[:3]:
            with pytest.raises(pe.IllegalActionError) as caught:
                game.apply(row, int(action))
            assert str(action) in str(caught.value)
            assert str(game.legal_actions(row)[0]) in str(caught.value)


@pytest.mark.parametrize("integer", [np.int64, np.uint8, np.int32, np.array])
def test_numpys_integers_are_actions_too(game: pe.Game, rows: list[Any], integer: Any) -> None:
    row = next(row for row in decisions(game, rows) if game.legal_actions(row)[0] < 256)
    action = int(game.legal_actions(row)[0])
    one, other = row.copy(), row.copy()
    game.apply(one, action)
    game.apply(other, integer(action))
    assert one.tobytes() == other.tobytes()


# ------------------------------------------------------------------------------------------------------------- chance


def test_probabilities_are_positive_and_sum_to_one(game: pe.Game, rows: list[Any]) -> None:
    for row in rows:
        if game.to_move(row) == pe.CHANCE:
            outcomes, probabilities = game.chance_outcomes(row)
            assert (np.diff(outcomes) > 0).all()
            assert (probabilities > 0).all()
            assert probabilities.sum() == pytest.approx(1, abs=1e-9)


def test_sampled_chance_has_the_stated_probabilities(game: pe.Game, rows: list[Any]) -> None:
    events = {tuple(part.tobytes() for part in game.chance_outcomes(row)): row for row in rows if game.to_move(row) == pe.CHANCE}
    for row in events.values():
        outcomes, probabilities = game.chance_outcomes(row)
        # On an even grid of numbers in [0, 1) an outcome's share is exact but for one point of the grid.
        points = len(outcomes) * (40 if len(outcomes) < 1000 else 3)
        drawn = [game.drivers.sample(game.tables, row, (k + 0.5) / points) for k in range(points)]
        drawn += [game.drivers.sample(game.tables, row, u) for u in (0.0, np.nextafter(1.0, 0.0))]
        numbers, counts = np.unique(drawn, return_counts=True)
        assert set(numbers) <= set(outcomes.tolist())
        shares = dict(zip(numbers.tolist(), counts.tolist(), strict=True))
        off = np.array([shares.get(outcome, 0) for outcome in outcomes.tolist()]) - probabilities * points
        assert np.abs(off).max() <= 2 + 1e-6  # with the two ends added
        assert np.abs(off).sum() <= len(outcomes) + 2 + 1e-6


def test_resolve_chance_plays_on_to_a_decision_or_the_end(game: pe.Game, rows: list[Any]) -> None:
    for row in rows:
        one, other = row.copy(), row.copy()
        game.resolve_chance(one, np.random.default_rng(5))
        game.resolve_chance(other, np.random.default_rng(5))
        assert one.tobytes() == other.tobytes()
        assert game.to_move(one) != pe.CHANCE
        if game.to_move(row) != pe.CHANCE:
            assert one.tobytes() == row.tobytes()


def test_outcomes_have_different_names(game: pe.Game, rows: list[Any]) -> None:
    for row in rows:
        outcomes = game.chance_outcomes(row)[0][:40].tolist()
        assert len({game.outcome_name(row, outcome) for outcome in outcomes}) == len(outcomes)
        with pytest.raises(pe.ActionNameError):
            game.outcome_name(row, -1)


# ------------------------------------------------------------------------------------------------------------ payoffs


def test_payoffs_are_shared_zero_sum_among_the_winners_at_the_end_only(game: pe.Game, rows: list[Any]) -> None:
    n = game.num_players
    for row in rows:
        payoffs = [Fraction(payoff).limit_denominator(100) for payoff in game.returns(row)]
        assert game.returns(row).dtype == np.float64
        if game.to_move(row) != pe.TERMINAL:
            assert payoffs == [0] * n
            continue
        assert sum(payoffs) == 0
        w = sum(payoff > 0 for payoff in payoffs) or n  # where all have won nobody pays
        assert sorted(payoffs) == [Fraction(-1, n - 1)] * (n - w) + [Fraction(n - w, w * (n - 1))] * w


# ------------------------------------------------------------------------------------------------------- observations


def test_every_seat_sees_something_at_all_times(game: pe.Game, rows: list[Any]) -> None:
    for row in rows:
        for seat in range(game.num_players):
            view = game.observe(row, seat)
            assert view.dtype == np.int8
            assert view.shape == game.observation_shape
            assert view.any()
            view[...] = 99  # it is the caller's own
            assert (game.observe(row, seat) != 99).any()


def test_every_seat_has_words_for_what_it_sees(game: pe.Game, rows: list[Any]) -> None:
    for row in rows:
        for text in [game.text(row), *(game.text(row, seat) for seat in range(game.num_players))]:
            assert len(text.splitlines()) > 1
            assert text == text.rstrip()


@pytest.mark.parametrize("seat", [-1, 9, 2**70])
def test_there_are_no_other_seats(game: pe.Game, rows: list[Any], seat: int) -> None:
    for ask in (game.observe, game.text, lambda row, seat: game.redeal(row, seat, 0)):
        with pytest.raises(IndexError, match=f"0 to {game.num_players - 1}"):
            ask(rows[0], seat)


# ------------------------------------------------------------------------------------------------- hidden information


def test_a_seat_cannot_tell_a_redealt_position_from_the_true_one(game: pe.Game, rows: list[Any]) -> None:
    for row in rows[::2]:
        for seat in range(game.num_players):
            for seed in range(2):
                other = game.redeal(row, seat, seed)
                assert other.tobytes() == game.redeal(row, seat, seed).tobytes()
                assert game.from_position(game.position(other)).tobytes() == other.tobytes()
                assert game.to_move(other) == game.to_move(row)
                assert game.observe(other, seat).tobytes() == game.observe(row, seat).tobytes()
                assert game.text(other, seat) == game.text(row, seat)
                assert game.returns(other).tolist() == game.returns(row).tolist()
                if game.to_move(row) == seat:
                    assert game.legal_mask(other).tobytes() == game.legal_mask(row).tobytes()
                    for action in game.legal_actions(row)[:5].tolist():
                        assert game.action_name(other, action) == game.action_name(row, action)


def test_a_redeal_changes_what_is_hidden_and_nothing_else(game: pe.Game, rows: list[Any]) -> None:
    changed = any(
        game.redeal(row, seat, seed).tobytes() != row.tobytes()
        for row in rows
        for seat in range(game.num_players)
        for seed in range(3)
    )
    assert changed == hasattr(card(game.name).rules, "redeal")


# -------------------------------------------------------------------------------------------------------------- names


def test_action_names_and_parse_action_are_inverse(game: pe.Game, rows: list[Any]) -> None:
    for row in decisions(game, rows)[::2]:
        legal = game.legal_actions(row).tolist()
        names = [game.action_name(row, action) for action in legal]
        assert len(set(names)) == len(names)
        assert all(name == " ".join(name.split()) and name != "-" for name in names)
        for action, name in list(zip(legal, names, strict=True))[:: max(1, len(legal) // 6)]:
            assert game.parse_action(row, name) == action
            assert game.parse_action(row, f"  {name.upper().replace(' ', '   ')}\n") == action


def test_the_name_of_an_illegal_action_is_refused_as_illegal(game: pe.Game, rows: list[Any]) -> None:
    tried = 0
    for row in rows[::3]:
        legal = {game.action_name(row, action).casefold() for action in game.legal_actions(row).tolist()}
        illegal = np.flatnonzero(~game.legal_mask(row))
        for action in illegal[:: max(1, len(illegal) // 8)].tolist():
            name = game.action_name(row, action)
            if name != "-" and name.casefold() not in legal:
                with pytest.raises(pe.IllegalActionError) as caught:
                    game.parse_action(row, name)
                assert name in str(caught.value)
                tried += 1
    assert tried > 5


@pytest.mark.parametrize("text", ["", "-", "nonsense", "0", "own", "🙂", None, 3, ["pass"]])
def test_a_text_that_names_no_action_is_refused_and_the_legal_names_are_told(game: pe.Game, rows: list[Any], text: Any) -> None:
    for row in decisions(game, rows)[:3]:
        with pytest.raises(pe.ActionNameError) as caught:
            game.parse_action(row, text)
        assert repr(text) in str(caught.value)
        assert game.action_name(row, game.legal_actions(row)[0]) in str(caught.value)


def test_there_are_no_other_action_numbers(game: pe.Game, rows: list[Any]) -> None:
    for action in (-1, game.num_actions, *NO_ACTIONS):
        with pytest.raises(pe.ActionNameError, match=f"0 to {game.num_actions - 1}"):
            game.action_name(rows[0], action)


# ---------------------------------------------------------------------------------------------------------- positions


def test_positions_and_rows_are_inverse(game: pe.Game, rows: list[Any]) -> None:
    for row in rows:
        position = game.position(row)
        assert json.loads(json.dumps(position)) == position
        before = json.dumps(position)
        again = game.from_position(position)
        assert json.dumps(position) == before
        assert again.flags.owndata
        assert again.dtype == row.dtype
        assert again.tobytes() == row.tobytes()


def test_play_goes_on_from_a_position_as_from_the_row(game: pe.Game, rows: list[Any]) -> None:
    for row in rows[::7]:
        again = game.from_position(json.loads(json.dumps(game.position(row))))
        one, other = row.copy(), again
        dice, same_dice = np.random.default_rng(1), np.random.default_rng(1)
        for _ in range(10):
            game.resolve_chance(one, dice)
            game.resolve_chance(other, same_dice)
            assert one.tobytes() == other.tobytes()
            if game.to_move(one) == pe.TERMINAL:
                break
            action = game.legal_actions(one)[-1]
            game.apply(one, action)
            game.apply(other, action)


@pytest.mark.parametrize("wrong", [None, 1, "x", [], {}, {"to_move": 0}, [1, 2], Ellipsis], ids=repr)
def test_what_is_no_position_at_all_is_refused(game: pe.Game, wrong: Any) -> None:
    with pytest.raises(pe.PositionError, match=game.title):
        game.from_position(wrong)


def test_a_missing_an_unknown_and_a_senseless_key_are_named(game: pe.Game, rows: list[Any]) -> None:
    position = game.position(rows[-1])
    for key in position:
        with pytest.raises(pe.PositionError, match=key):
            game.from_position({name: value for name, value in position.items() if name != key})
        for senseless in (Ellipsis, 1.5, {"x": 1}, "🙂", -7):
            with pytest.raises(pe.PositionError, match=key):
                game.from_position({**position, key: senseless})
    with pytest.raises(pe.PositionError, match="surplus"):
        game.from_position({**position, "surplus": None})


JUNK: list[Any] = [None, True, False, 0, 1, 2, 3, 7, 15, 255, 256, -1, 10**30, 0.5, 1.0, float("inf"), "", " ", "x", "🙂"]
JUNK += [[], {}, [[]], [None], {"a": 1}, (), (0, 0), b"x", "LMS", "R", "RS", 1j]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths to everything inside a position."""
    found = [path] if path else []
    if isinstance(value, dict):
        for key in value:
            found += places(value[key], (*path, key))
    elif isinstance(value, (list, tuple)):
        for index in range(len(value)):
            found += places(value[index], (*path, index))
    return found


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        value = value[step]
    return value


def damaged(data: st.DataObject, positions: list[dict[str, Any]]) -> dict[str, Any]:
    """A position with one to three things dropped, doubled, exchanged or replaced: by junk, or by what another has there."""
    position = copy.deepcopy(data.draw(st.sampled_from(positions)))
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(places(position) or [()]))
        if not path:
            break
        parent, key = at(position, path[:-1]), path[-1]
        if not isinstance(parent, (dict, list)):
            continue
        match data.draw(st.sampled_from(["junk", "other", "other", "drop", "exchange", "double", "rename", "nudge"])):
            case "junk":
                parent[key] = copy.deepcopy(data.draw(st.sampled_from(JUNK)))
            case "other":
                other = data.draw(st.sampled_from(positions))
                with contextlib.suppress(KeyError, IndexError, TypeError):  # it may have nothing there
                    parent[key] = copy.deepcopy(at(other, path))
            case "drop" if len(path) > 1:
                del parent[key]
            case "exchange":
                second = data.draw(st.sampled_from(list(parent) if isinstance(parent, dict) else range(len(parent))))
                parent[key], parent[second] = parent[second], parent[key]
            case "double" if isinstance(parent, list):
                parent.insert(key, copy.deepcopy(parent[key]))
            case "rename" if isinstance(parent, dict):
                parent[data.draw(st.sampled_from(["", "x", "phase", "P", 3]))] = parent.pop(key)
            case "nudge" if type(parent[key]) is int:
                parent[key] += data.draw(st.sampled_from([-1, 1]))
    return position


@pytest.fixture(scope="session")
def positions(game: pe.Game, rows: list[Any]) -> list[dict[str, Any]]:
    return [game.position(row) for row in rows[::5]]


@settings(
    max_examples=250,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(data=st.data())
def test_a_damaged_position_is_refused_or_is_a_sound_one(
    game: pe.Game, positions: list[dict[str, Any]], data: st.DataObject
) -> None:
    position = damaged(data, positions)
    try:
        row = game.from_position(position)
    except pe.PositionError:
        return
    assert game.position(row) == position
    dice = np.random.default_rng(0)
    for _ in range(6):
        turn = game.to_move(row)
        assert turn in {pe.CHANCE, pe.TERMINAL, *range(game.num_players)}
        assert game.legal_mask(row).any() == (turn >= 0)
        assert game.from_position(game.position(row)).tobytes() == row.tobytes()
        for seat in range(game.num_players):
            assert game.observe(row, seat).any()
            assert game.text(row, seat)
        if turn >= 0:
            game.apply(row, dice.choice(game.legal_actions(row)))
        else:
            game.resolve_chance(row, dice)


# ------------------------------------------------------------------------------------------- names of games and options


@pytest.mark.parametrize("name", ["", "chess", "Treehouse", "treehouse ", "__pycache__", None, 3])
def test_an_unknown_game_is_named_and_the_known_are_told(name: Any) -> None:
    with pytest.raises(pe.UnknownGameError) as caught:
        pe.make_game(name)
    assert repr(name) in str(caught.value)
    assert all(known in str(caught.value) for known in pe.game_names())


def test_an_unknown_option_is_named_and_the_known_are_told(game: pe.Game) -> None:
    with pytest.raises(pe.OptionError) as caught:
        pe.make_game(game.name, num_player=2)
    assert "num_player'" in str(caught.value)
    assert all(known in str(caught.value) for known in game.options)


WRONG_VALUES = [Ellipsis, "no such value", "", b"2", [], [2], {}, float("nan"), 1j, -1, -(2**70), np.array([2, 3])]


@pytest.mark.parametrize("value", WRONG_VALUES, ids=repr)
def test_a_wrong_value_of_an_option_is_refused_with_the_options_name(game: pe.Game, value: Any) -> None:
    for option in game.options:
        with pytest.raises(pe.OptionError, match=option):
            pe.make_game(game.name, **{option: value})


@pytest.mark.parametrize("value", [True, 2.0, "2", None, 0, 1, 9, 2**70])
def test_the_number_of_seats_is_a_number_that_the_game_allows(game: pe.Game, value: Any) -> None:
    with pytest.raises(pe.OptionError, match="num_players"):
        pe.make_game(game.name, num_players=value)


@pytest.mark.parametrize("value", [True, 2.0, "2", 0, 2**70])
def test_max_plies_is_a_number_of_actions_or_none(game: pe.Game, value: Any) -> None:
    with pytest.raises(pe.OptionError, match="max_plies"):
        pe.make_game(game.name, max_plies=value)
    assert pe.make_game(game.name, max_plies=np.int64(3)) == pe.make_game(game.name, max_plies=3)
    assert pe.make_game(game.name, max_plies=None).max_plies is None


def test_numpys_integers_are_numbers_of_seats_too(game: pe.Game) -> None:
    assert pe.make_game(game.name, num_players=np.int64(game.num_players)) == pe.make_game(
        game.name, num_players=game.num_players
    )
