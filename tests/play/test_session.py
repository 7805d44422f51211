"""Games of people and agents."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pyramid_envs as pe
from pyramid_envs.play.players import FIXED, Players, labels, lineup
from pyramid_envs.play.session import HUMAN, Session
from tests.play.courses import after, disguised, played
from tests.playing import decisions
from tests.scripts import record


def session(game: pe.Game, players: list[str], seed: int = 0) -> Session:
    return Session(game, lineup(game, players, Players(labels(FIXED), game)), seed)


def advance(table: Session) -> None:
    while table.advance():
        pass


def random_action(table: Session) -> int:
    return int(np.random.default_rng(table.course.ply).choice(table.game.legal_actions(table.course.row)))


# ------------------------------------------------------------------------------------------------------------------ play


def test_agents_play_the_game_that_they_play_in_a_match(game: pe.Game) -> None:
    (script,) = record(game, seed=9, agent="greedy")
    table = session(game, ["greedy"] * game.num_players, seed=9)
    advance(table)
    assert table.course.actions == script.actions
    assert table.result()


def test_people_play_their_own_seats_in_their_turn(game: pe.Game) -> None:
    table = session(game, [HUMAN] + ["greedy"] * (game.num_players - 1))
    assert table.people == (0,)
    for _ in range(4):
        advance(table)
        if table.course.over:
            break
        assert table.waiting_for == 0
        with pytest.raises(pe.PlayError, match="turn"):
            table.act(1, random_action(table))
        before = table.change
        table.act(0, random_action(table))
        assert table.change > before


def test_an_illegal_action_changes_nothing(game: pe.Game) -> None:
    table = session(game, [HUMAN] * game.num_players)
    illegal = int(np.flatnonzero(~game.legal_mask(table.course.row))[0]) if not game.legal_mask(table.course.row).all() else -1
    row, change = table.course.row.tobytes(), table.change
    with pytest.raises(pe.IllegalActionError):
        table.act(table.course.seat, illegal)
    assert (table.course.row.tobytes(), table.change) == (row, change)


def test_nobody_plays_when_the_game_is_over(game: pe.Game) -> None:
    table = session(game, ["greedy"] * game.num_players)
    advance(table)
    with pytest.raises(pe.PlayError, match="over"):
        table.act(0, 0)
    assert not table.advance()


def test_wrong_players_are_told(game: pe.Game) -> None:
    with pytest.raises(pe.PlayError, match="nobody is called 'kasparov'"):
        session(game, ["kasparov"] * game.num_players)
    with pytest.raises(pe.PlayError, match="seats here"):
        session(game, [HUMAN])


# ------------------------------------------------------------------------------------------------------------ taking back


def test_taking_back_leads_to_the_last_decision_and_the_same_game_follows_the_same_action(game: pe.Game) -> None:
    table = session(game, [HUMAN] + ["greedy"] * (game.num_players - 1))
    for _ in range(3):
        advance(table)
        before, ply = table.course.row.tobytes(), table.course.ply
        action = random_action(table)
        table.act(0, action)
        advance(table)
        if table.course.over:
            break
        after_it = table.course.row.tobytes()
        table.undo(0)
        assert (table.course.ply, table.course.row.tobytes()) == (ply, before)
        table.act(0, action)
        advance(table)
        assert table.course.row.tobytes() == after_it


def test_only_the_last_decision_of_people_can_be_taken_back() -> None:
    game = pe.make_game("treehouse")
    table = session(game, [HUMAN, HUMAN])
    with pytest.raises(pe.PlayError, match="decided nothing yet"):
        table.undo(0)
    table.act(0, random_action(table))
    table.act(1, random_action(table))
    with pytest.raises(pe.PlayError, match="player_1 has decided something since"):
        table.undo(0)
    table.undo(1)
    table.undo(0)
    assert table.course.ply == 0


def test_nothing_is_taken_back_once_all_has_been_seen(game: pe.Game) -> None:
    table = session(game, [HUMAN] * game.num_players)
    with pytest.raises(pe.PlayError, match="when the game is over"):
        table.reveal()
    for action in played(game, seed=0).actions:
        table.act(table.course.seat, action)
    mover = game.to_move(table.course.rows[-2])
    table.undo(mover)
    table.act(mover, played(game, seed=0).actions[-1])
    table.reveal()
    with pytest.raises(pe.PlayError, match="all has been seen"):
        table.undo(mover)


# ----------------------------------------------------------------------------------------------------------------- advice


@pytest.mark.parametrize("name", ["random", "greedy", "mcts:20"])
def test_advice_is_what_the_agent_plays_and_names_legal_actions_best_first(game: pe.Game, name: str) -> None:
    table = session(game, [HUMAN] * game.num_players)
    found = table.advice(pe.make_agent(name, game))
    assert found.agent == name
    assert game.parse_action(table.course.row, found.name) == found.action
    shares = [entry["share"] for entry in found.actions if "share" in entry]
    assert shares == sorted(shares, reverse=True)
    if name != "greedy":
        assert sum(shares) == pytest.approx(1)
    (script,) = record(game, seed=0, agent=name)
    assert found.action == script.actions[0]


def test_perfect_advice_is_worth_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    from pyramid_envs.solve import treehouse

    game = pe.make_game("treehouse")
    values = np.random.default_rng(0).uniform(-1, 1, (204, 204, 204)).astype(np.float32)
    monkeypatch.setattr(treehouse, "known_solution", lambda game: treehouse.Solution(values, 0.0, 0))
    table = session(game, [HUMAN, HUMAN])
    found = table.advice(pe.make_agent("optimal", game))
    worths = [entry["worth"] for entry in found.actions]
    assert len(worths) == game.legal_mask(table.course.row).sum()
    assert worths == sorted(worths, reverse=True)
    assert found.value == worths[0]
    assert found.actions[0]["action"] == found.action


@pytest.mark.parametrize("name", ["greedy", "mcts:10"])
def test_advice_knows_nothing_that_its_seat_does_not_know(game: pe.Game, name: str) -> None:
    agent = pe.make_agent(name, game)
    course = played(game, seed=2, plies=5)
    table = session(game, [HUMAN] * game.num_players)
    table.course = course
    if course.over:
        table.course.back_to(2)
    told = table.advice(agent)
    for seed in range(3):
        table.course.rows[-1] = game.redeal(table.course.row, table.course.seat, seed)
        assert table.advice(agent) == told


def test_there_is_no_advice_at_the_end(game: pe.Game) -> None:
    table = session(game, ["greedy"] * game.num_players)
    advance(table)
    with pytest.raises(pe.PlayError, match="nobody is to move"):
        table.advice(pe.make_agent("random", game))
    assert table.advice(pe.make_agent("greedy", game), 0).action == table.course.actions[0]


# ------------------------------------------------------------------------------------------------------- hidden information


def test_an_action_seen_tells_a_seat_no_more_than_it_observes(game: pe.Game, rows: list[Any]) -> None:
    for row in decisions(game, rows)[::4]:
        mover = game.to_move(row)
        for seat in set(range(game.num_players)) - {mover}:
            told: dict[bytes, set[str]] = {}  # what is seen -> the names that are told of it
            for alike in [row, *(game.redeal(row, seat, seed) for seed in range(4))]:
                names: dict[bytes, set[str]] = {}
                for action in game.legal_actions(alike).tolist():
                    names.setdefault(after(game, alike, action, seat), set()).add(game.action_name(alike, action, seat))
                for seen, found in names.items():
                    assert told.setdefault(seen, found) == found
        assert all(game.action_name(row, a, mover) == game.action_name(row, a) for a in game.legal_actions(row).tolist())


def test_names_of_actions_hide_what_is_hidden() -> None:
    game = pe.make_game("pocket")
    assert game.action_name(game.initial(), 5, 0) == "hide ?"
    assert game.action_name(game.initial(), 5, 1) == "hide RS RS BS"
    game = pe.make_game("trellis")
    course = played(game, plies=1)
    assert course.names(1) == ["tile ?"]
    assert course.names(0) == course.names()
    game = pe.make_game("twin_win")
    row = played(game, plies=0).row
    assert game.action_name(row, 16, 1) == "trade ?"


def test_a_disguised_course_differs_where_something_is_hidden(game: pe.Game) -> None:
    course = played(game, seed=1, plies=12)
    other = disguised(course, 0, seed=1)
    hidden = hasattr(game.card.rules, "redeal")
    changed = any(row.tobytes() != before.tobytes() for row, before in zip(other.rows, course.rows, strict=True))
    assert changed == hidden
