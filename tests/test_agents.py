"""What every agent promises, and what the fixed ones play."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pyramid_envs as pe
from pyramid_envs.registry import card
from tests.oracles import treehouse as oracle
from tests.playing import act, decisions

NAMES = ["random", "greedy", "mcts:8"]


def ask(agent: pe.Agent, game: pe.Game, rows: list[Any], seeds: np.ndarray) -> np.ndarray:
    """What the agent plays in these rows, all in one call."""
    seats = np.array([game.to_move(row) for row in rows])
    observations = np.stack([game.observe(row, seat) for row, seat in zip(rows, seats, strict=True)])
    masks = np.stack([game.legal_mask(row) for row in rows])
    return agent.act(np.concatenate(rows), observations, masks, seats, seeds)


def seeds(count: int, start: int = 0) -> np.ndarray:
    return np.random.default_rng(start).integers(0, 2**64, count, np.uint64)


# --------------------------------------------------------------------------------------------------------- every agent


@pytest.mark.parametrize("name", NAMES)
def test_an_agent_plays_legal_actions(game: pe.Game, name: str) -> None:
    agent = pe.make_agent(name, game)
    assert agent.name == name
    batch = pe.Batch(game, 50, seed=0)
    for _ in range(30):
        actions = act(agent, batch)
        assert actions.shape == (50,)
        assert actions.dtype == np.int64
        assert batch.masks[np.arange(50), actions].all()
        batch.step(actions)


@pytest.mark.parametrize("name", NAMES)
def test_an_agents_answer_depends_on_the_row_and_its_seed_alone(
    game: pe.Game, rows: list[Any], name: str, request: pytest.FixtureRequest
) -> None:
    agent = pe.make_agent(name, game)
    asked = decisions(game, rows)
    count = len(asked)
    keys = seeds(count)
    answers = ask(agent, game, asked, keys)
    assert answers.tolist() == ask(agent, game, asked, keys).tolist()
    assert answers.tolist() == ask(pe.make_agent(name, game), game, asked, keys).tolist()
    order = np.random.default_rng(0).permutation(count)
    assert ask(agent, game, [asked[i] for i in order], keys[order]).tolist() == answers[order].tolist()
    part = order[: count // 3]
    assert ask(agent, game, [asked[i] for i in part], keys[part]).tolist() == answers[part].tolist()
    for i in order[:10].tolist():
        assert ask(agent, game, [asked[i]], keys[i : i + 1]) == answers[i]
    parts = request.getfixturevalue("threaded")
    assert answers.tolist() == ask(agent, game, asked, keys).tolist()
    assert set(parts) == {min(3, count // 8)}


@pytest.mark.parametrize("name", NAMES)
def test_an_agent_writes_to_nothing_that_it_is_given(game: pe.Game, rows: list[Any], name: str) -> None:
    agent = pe.make_agent(name, game)
    asked = np.concatenate(decisions(game, rows))
    seats = np.array([game.to_move(asked[i : i + 1]) for i in range(len(asked))])
    observations = np.stack([game.observe(asked[i : i + 1], seat) for i, seat in enumerate(seats)])
    masks = np.stack([game.legal_mask(asked[i : i + 1]) for i in range(len(asked))])
    given = (asked, observations, masks, seats, seeds(len(asked)))
    before = [array.tobytes() for array in given]
    agent.act(*given)
    assert [array.tobytes() for array in given] == before


@pytest.mark.parametrize("name", NAMES)
def test_an_agent_does_not_know_what_its_seat_cannot_know(game: pe.Game, rows: list[Any], name: str) -> None:
    agent = pe.make_agent(name, game)
    asked = decisions(game, rows)
    keys = seeds(len(asked))
    answers = ask(agent, game, asked, keys)
    for seed in range(6):
        dealt = [game.redeal(row, game.to_move(row), seed) for row in asked]
        assert ask(agent, game, dealt, keys).tolist() == answers.tolist()


@pytest.mark.parametrize("name", ["nobody", "Random", " random", "greedy:2", "no/such/folder", "pyproject.toml"])
def test_an_unknown_agent_is_named_and_the_known_are_told(game: pe.Game, name: str) -> None:
    with pytest.raises(pe.AgentError) as caught:
        pe.make_agent(name, game)
    assert repr(name) in str(caught.value)
    assert "random" in str(caught.value)
    assert "greedy" in str(caught.value)


# -------------------------------------------------------------------------------------------------------------- random


def test_random_plays_every_legal_action_equally_often(game: pe.Game, rows: list[Any]) -> None:
    agent = pe.make_agent("random", game)
    by_count = {int(game.legal_mask(row).sum()): row for row in decisions(game, rows)}
    for count in sorted(by_count)[:: max(1, len(by_count) // 4)]:
        row = by_count[count]
        asked = 200 * count
        mask = np.repeat(game.legal_mask(row)[None], asked, axis=0)
        views = np.repeat(game.observe(row, game.to_move(row))[None], asked, axis=0)
        answers = agent.act(np.repeat(row, asked), views, mask, np.full(asked, game.to_move(row)), seeds(asked, start=count))
        numbers, counts = np.unique(answers, return_counts=True)
        assert numbers.tolist() == game.legal_actions(row).tolist()
        freedom = count - 1
        assert ((counts - 200) ** 2 / 200).sum() <= freedom + 5 * np.sqrt(2 * freedom)  # chi-square


def test_random_leaves_no_gap_at_any_place_of_a_mask() -> None:
    """Masks of every length about a multiple of the block by which it skips, with one or two legal actions anywhere."""
    game = pe.make_game("treehouse")
    agent = pe.make_agent("random", game)
    for size in (1, 15, 16, 17, 31, 32, 33, 97):
        masks = np.eye(size, dtype=np.bool_)
        answers = agent.act(None, None, masks, None, seeds(size))  # type: ignore[arg-type]
        assert answers.tolist() == list(range(size))
        masks[:, -1] = True
        both = {(i, int(a)) for k in range(40) for i, a in enumerate(agent.act(None, None, masks, None, seeds(size, k)))}  # type: ignore[arg-type]
        assert both == {(i, i) for i in range(size)} | {(i, size - 1) for i in range(size)}


def test_random_answers_minus_one_where_nothing_is_legal(game: pe.Game) -> None:
    agent = pe.make_agent("random", game)
    masks = np.zeros((3, game.num_actions), np.bool_)
    masks[1, 0] = True
    assert agent.act(None, None, masks, None, seeds(3)).tolist() == [-1, 0, -1]  # type: ignore[arg-type]


# -------------------------------------------------------------------------------------------------------------- greedy


def test_greedy_draws_among_what_it_likes_equally(game: pe.Game, rows: list[Any]) -> None:
    agent = pe.make_agent("greedy", game)
    varied = 0
    for row in decisions(game, rows)[::4]:
        varied += len(set(ask(agent, game, [row] * 60, seeds(60)).tolist())) > 1
    assert varied


def test_greedy_beats_random(game: pe.Game) -> None:
    if not hasattr(card(game.name).rules, "greedy"):
        pytest.skip("this game has no yardstick, so its greedy agent is the random one")  # a fifth game may come without
    greedy, random = pe.make_agent("greedy", game), pe.make_agent("random", game)
    paid, won = [], game.num_players * 40
    batch = pe.Batch(game, won, seed=0)
    # In game i greedy has seat i modulo the number of seats; every game is played once.
    own = np.arange(won) % game.num_players
    running = np.ones(won, np.bool_)
    for _ in range(3000):
        actions = np.where(batch.seats == own, act(greedy, batch), act(random, batch))
        step = batch.step(actions)
        ended = running & (step.terminated | step.truncated)
        paid += step.rewards[np.arange(won), own][ended].tolist()
        running &= ~ended
        if not running.any():
            break
    assert len(paid) == won
    assert np.mean(paid) > 3 * np.std(paid) / np.sqrt(won)


def treehouse_positions(num_players: int) -> tuple[pe.Game, list[Any]]:
    """Positions of Treehouse in which somebody is often about to win."""
    game = pe.make_game("treehouse", num_players=num_players)
    dice = np.random.default_rng(num_players)
    texts = oracle.arrangements()
    found = []
    while len(found) < 300:
        pool = [str(text) for text in dice.choice(texts, 3)]
        house = str(dice.choice(list(oracle.moves(pool[0], "SWAP").values()) + list(oracle.moves(pool[0], "AIM").values())))
        position = {
            "trios": dice.choice(pool, num_players).tolist(),
            "house": house,
            "roll": str(dice.choice(["AIM", "TIP", "HOP", "SWAP", "DIG", "WILD", "WILD"])),
            "to_move": int(dice.integers(num_players)),
        }
        try:
            found.append(game.from_position(position))
        except pe.PositionError:
            continue  # somebody has won, or the roll allows nothing
    return game, found


@pytest.mark.parametrize("num_players", [2, 3, 4])
def test_greedy_wins_treehouse_when_it_can_and_gives_no_game_away_that_it_can_keep(num_players: int) -> None:
    game, rows = treehouse_positions(num_players)
    answers = ask(pe.make_agent("greedy", game), game, rows, seeds(len(rows)))
    wins = saves = 0
    for row, answer in zip(rows, answers.tolist(), strict=True):
        seat = game.to_move(row)
        results = {}
        for action in game.legal_actions(row).tolist():
            after = row.copy()
            game.apply(after, action)
            results[action] = float(game.returns(after)[seat])
        assert results[answer] == max(results.values())
        best, worst = max(results.values()), min(results.values())
        wins += best > 0 and worst < best
        saves += best == 0 and worst < 0
    assert wins > 20
    assert saves > 10


def test_greedy_comes_nearest_to_the_house_in_treehouse() -> None:
    game = pe.make_game("treehouse")
    row = game.from_position({"trios": ["L< S M", "S L M"], "house": "L< S< M<", "roll": "AIM", "to_move": 0})
    nearest = {"own AIM S left", "own AIM M left"}
    agent = pe.make_agent("greedy", game)
    answers = ask(agent, game, [row] * 50, seeds(50))
    assert {game.action_name(row, answer) for answer in answers.tolist()} == nearest
