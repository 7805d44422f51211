"""Exact yardsticks: small games solved and policies measured by their trees; what a policy gives away in Treehouse."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyramid_envs as pe
from pyramid_envs.evaluation import play_games
from pyramid_envs.solve import regret, treehouse
from pyramid_envs.solve.__main__ import main as solve
from pyramid_envs.solve.treehouse import Positions, T

TINY = {"num_colors": 1, "copies": 1, "hidden": 1, "tube_height": 1.4}
SMALL = {"num_colors": 1, "hidden": 2, "tube_height": 1.8}  # of docs/exact.md


@cache
def tree(**options: Any) -> Any:
    pytest.importorskip("pyspiel", reason="OpenSpiel is not installed (extra [openspiel])")
    from pyramid_envs.solve.trees import Tree

    return Tree(pe.make_game("pocket", **options))


# ---------------------------------------------------------------------------------------------------------------- trees


def test_a_tree_holds_every_history_and_every_information_set() -> None:
    found = tree(**SMALL)
    histories = 0
    sets: set[tuple[int, bytes]] = set()
    waiting = [found.game.initial()]
    while waiting:
        row = waiting.pop()
        histories += 1
        seat = found.game.to_move(row)
        if seat >= 0:
            sets.add((seat, found.game.observe(row, seat).tobytes()))
        for action in found.game.legal_actions(row).tolist():
            waiting.append(row.copy())
            found.game.apply(waiting[-1], action)
    assert found.histories == histories == 6408
    told = [(int(seat), seen.tobytes()) for seat, seen in zip(found.seats, found.observations, strict=True)]
    assert len(told) == len(set(told))
    assert set(told) == sets
    for row, mask in zip(found.rows, found.masks, strict=True):
        assert np.array_equal(found.game.legal_mask(row[None]), mask)


def test_policies_are_measured_as_openspiel_does_it_on_the_bridge_itself() -> None:
    from open_spiel.python import policy as openspiel_policy
    from open_spiel.python.algorithms import expected_game_score, exploitability

    found = tree(**TINY)
    spiel = found.bridge
    for seed in range(2):
        likings = np.random.default_rng(seed).random(found.masks.shape) ** 4 * found.masks
        answers = found.answers(likings)
        by_observation = {seen.tobytes(): liked for seen, liked in zip(found.observations, likings, strict=True)}

        def play(state: Any, table: dict[bytes, Any] = by_observation) -> dict[int, float]:
            liked = table[found.game.observe(state.row, state.current_player()).tobytes()]
            legal = state.legal_actions()
            return {action: float(liked[action] / liked[legal].sum()) for action in legal}

        same = openspiel_policy.tabular_policy_from_callable(spiel, play)
        measured = exploitability.nash_conv(spiel, same, return_only_nash_conv=False)
        assert answers.nash_conv == pytest.approx(measured.nash_conv)
        value = expected_game_score.policy_value(spiel.new_initial_state(), [same, same])
        assert answers.value == pytest.approx(value[0])
        best = np.array(value) + measured.player_improvements
        assert answers.worst == pytest.approx((-best[1], -best[0]))


def test_a_tiny_game_is_solved() -> None:
    found = tree(**TINY)
    solved = found.solve(1e-3)
    assert 0 <= solved.answers.nash_conv <= 1e-3
    assert solved.answers == found.answers(solved.policy)
    assert solved.policy.sum(1) == pytest.approx(np.ones(len(found.seats)))
    assert not solved.policy[~found.masks].any()
    assert solved.answers.value == pytest.approx(0.0, abs=1e-3)  # every other game is won by the Disciple
    assert found.answers(found.likeliest(solved.policy)).nash_conv > 0.5


def test_a_documented_variant_is_solved_and_must_be_bluffed() -> None:
    found = tree(**SMALL)
    solved = found.solve(0.05)
    assert solved.answers.value == pytest.approx(-1 / 3, abs=0.05)
    hides = solved.policy[0][solved.policy[0] > 0]
    assert len(hides) == 6  # the Master hides any pocket
    assert hides.max() < 0.4
    assert found.answers(found.likeliest(solved.policy)).nash_conv > 1.5


def test_chance_and_limits_of_plies_are_part_of_a_tree() -> None:
    drawn = tree(**TINY, pocket="random")
    assert (drawn.seats == 0).sum() == (tree(**TINY).seats == 0).sum()
    assert drawn.answers(drawn.like_all()).value == pytest.approx(tree(**TINY).answers(tree(**TINY).like_all()).value)
    cut = tree(**TINY, max_plies=1)
    assert cut.histories == 4
    assert cut.answers(cut.like_all()) == (0.0, (0.0, 0.0))


def test_greedy_is_measured_as_it_plays() -> None:
    found = tree(**SMALL)
    policy = found.like_greedy()
    agent = pe.make_agent("greedy", found.game)
    some = np.random.default_rng(0).permutation(len(found.seats))[:100]
    for number in some.tolist():
        asked = 200
        rows, masks = np.repeat(found.rows[number : number + 1], asked), np.repeat(found.masks[number][None], asked, 0)
        keys = np.random.default_rng(number).integers(0, 2**64, asked, np.uint64)
        played = agent.act(rows, np.zeros((asked, 1), np.int8), masks, np.zeros(asked, np.int64), keys)
        assert set(played.tolist()) == set(np.flatnonzero(policy[number]).tolist())


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [("pocket", {}, "histories"), ("trellis", {}, "histories"), ("treehouse", {"num_players": 3}, "2 seats")],
)
def test_what_is_too_large_is_refused_at_once(name: str, options: dict[str, Any], words: str) -> None:
    pytest.importorskip("pyspiel")
    from pyramid_envs.solve.trees import TooLargeError, Tree

    with pytest.raises(TooLargeError, match=words):
        Tree(pe.make_game(name, **options))


def test_a_walk_stops_at_its_bound() -> None:
    pytest.importorskip("pyspiel")
    from pyramid_envs.solve.trees import TooLargeError, Tree, estimate

    game = pe.make_game("pocket", **SMALL)
    assert 3000 < estimate(game) < 13_000
    with pytest.raises(TooLargeError, match="more than 1,000 histories"):
        Tree(game, most=1000)


def test_the_command_solves_a_variant(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyspiel")
    arguments = "pocket --num-colors 1 --copies 1 --hidden 1 --tube-height 1.4 --tolerance 0.01"
    assert solve(arguments.split()) == 0
    told = capsys.readouterr().out
    for words in ("219 histories", "the Disciple wins", "hide RS", "announce", "perfect play", "greedy"):
        assert words in told


@pytest.mark.parametrize(
    ("arguments", "words"), [(["pocket"], "histories"), (["pocket", "--copies", "3", "--hidden", "1"], "option copies")]
)
def test_the_command_says_what_it_cannot_solve(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyspiel")
    with pytest.raises(SystemExit) as stop:
        solve(arguments)
    assert stop.value.code == 2
    assert words in capsys.readouterr().err


# ------------------------------------------------------------------------------------------------------------ Treehouse


@cache
def all_positions() -> Positions:
    return Positions(pe.make_game("treehouse"))


def positions(max_plies: int = 1000) -> Positions:
    """Of the game with this limit, which makes no difference but to `visits`."""
    found = copy.copy(all_positions())
    found.game = pe.make_game("treehouse", max_plies=max_plies)
    return found


LOGITS = np.random.default_rng(3).normal(size=(61, 97)).astype(np.float32)


def some_logits(rows: Any, masks: np.ndarray, out: np.ndarray) -> None:
    """Those of a network that looks at everything."""
    seen = rows["trios"][:, 0] * 7 + rows["trios"][:, 1] * 3 + rows["house"] * 5 + rows["roll"].astype(np.int64)
    out[:] = np.where(masks, LOGITS[seen % 61], -1e9)


def as_best(rows: Any, masks: np.ndarray, out: np.ndarray) -> None:
    some_logits(rows, masks, out)
    out[:] = np.eye(97)[out.argmax(1)]


def as_sampled(rows: Any, masks: np.ndarray, out: np.ndarray) -> None:
    some_logits(rows, masks, out)
    out[:] = np.exp(out - out.max(1, keepdims=True))


HOUSE = treehouse.index(pe.make_game("treehouse").initial())[0]


@cache
def network() -> tuple[Any, Any]:
    return treehouse.network_moves(positions(), some_logits, HOUSE)


def test_a_network_plays_what_its_logits_say() -> None:
    p = positions()
    values = np.where(p.over, p.ends, np.random.default_rng(0).uniform(-1, 1, (T, T, T)))
    best, sampled = network()
    for found, likings in ((best, as_best), (sampled, as_sampled)):
        new, expected = p.ends.astype(np.float64), p.ends.astype(np.float64)
        change = found.expect(HOUSE, p.over, values, new)
        assert treehouse.moves(p, likings, HOUSE).expect(HOUSE, p.over, values, expected) == pytest.approx(change)
        np.testing.assert_allclose(new[HOUSE], expected[HOUSE], atol=2e-6)


@pytest.mark.parametrize("way", ["best", "sampled", "random"])
def test_going_forward_is_the_mirror_of_looking_ahead(way: str) -> None:
    """Positions weighted by how often they come, valued one ply ahead: the same by `spread` as by `expect`."""
    p = positions()
    random = np.random.default_rng(1)
    values = np.where(p.over, p.ends, random.uniform(-1, 1, (T, T, T)))
    now, ahead, then = np.zeros((T, T, T)), np.zeros((T, T, T)), np.zeros((T, T, T))
    now[HOUSE] = random.random((T, T)) * (random.random((T, T)) < 0.5)
    moving = {"best": 0, "sampled": 1}
    found = network()[moving[way]] if way in moving else treehouse.moves(p, treehouse.like_all, HOUSE)
    found.expect(HOUSE, p.over, values, ahead)
    found.spread(HOUSE, p.over, now, then)
    goes_on = p.over == 0
    assert then.sum() == pytest.approx(now[goes_on].sum(), rel=1e-6)
    assert -(then * values).sum() == pytest.approx((now * ahead)[goes_on].sum(), rel=1e-5)


class Asked(Sequence[Any]):
    """A policy that is asked about a House when it is reached."""

    def __init__(self, ask: Callable[[int], Any]) -> None:
        self._ask = cache(ask)

    def __getitem__(self, h: Any) -> Any:
        return self._ask(h)

    def __len__(self) -> int:
        return T


def test_visits_are_those_of_all_ways_that_a_game_can_go() -> None:
    p = positions(2)
    game = p.game
    expected = [np.zeros((T, T, T)), np.zeros((T, T, T))]
    waiting = [(game.initial(), 1.0, 0)]
    while waiting:
        row, share, ply = waiting.pop()
        if game.to_move(row) == pe.TERMINAL or ply == 2:
            continue
        expected[ply][treehouse.index(row)] += share
        for face, odds in zip(*game.chance_outcomes(row), strict=True):
            rolled = row.copy()
            game.apply(rolled, int(face))
            legal = game.legal_actions(rolled)
            for action in legal.tolist():
                after = rolled.copy()
                game.apply(after, action)
                waiting.append((after, share * float(odds) / len(legal), ply + 1))
    random = Asked(lambda h: treehouse.moves(p, treehouse.like_all, h))
    found = regret.visits(p, random, random, "visits")
    for seat in range(2):
        np.testing.assert_allclose(found[seat], expected[seat], atol=1e-7)


def test_the_regret_of_first_moves_is_what_the_best_would_bring_more() -> None:
    """With a table of values of anything, in games of one ply."""
    p = positions(1)
    game = p.game
    values = np.where(p.over, p.ends, np.random.default_rng(2).uniform(-1, 1, (T, T, T))).astype(np.float32)
    start = game.initial()
    for _ in range(40):  # the value of the start becomes that of the best moves, as a solution's is; some lead back to it
        total, gains = 0.0, []
        for face, odds in zip(*game.chance_outcomes(start), strict=True):
            rolled = start.copy()
            game.apply(rolled, int(face))
            worth = []
            for action in game.legal_actions(rolled).tolist():
                after = rolled.copy()
                game.apply(after, action)
                worth.append(-float(values[treehouse.index(after)]))
            gains.append(float(odds) * (max(worth) - float(np.mean(worth))))
            total += float(odds) * max(worth)
        values[treehouse.index(start)] = total
    random = Asked(lambda h: treehouse.moves(p, treehouse.like_all, h))
    # Only the first House is looked at: elsewhere nothing is visited, and `expect` would ask for all Houses.
    random_here = Asked(lambda h: random[h] if h == HOUSE else treehouse.Moves(*empty()))
    found = regret.measure(p, values, random_here, treehouse.like_all, "regret", count=3)
    assert found.decisions == 1
    assert found.mean == pytest.approx(sum(gains), abs=1e-6)
    assert [d.visits * d.regret for d in found.worst] == pytest.approx(sorted(gains, reverse=True)[:3], abs=1e-6)
    for decision in found.worst:
        assert decision.played.sum() == pytest.approx(1)
        assert game.legal_mask(decision.row)[decision.best]


def empty() -> tuple[np.ndarray, ...]:
    return np.zeros((T, T), np.int32), np.zeros((T, T), np.int16), np.zeros(0, np.int16), np.zeros(0, np.float32)


# --------------------------------------------------------------------------------------------------------- the command


def evaluate(arguments: list[Any], capsys: pytest.CaptureFixture[str]) -> tuple[Any, str, str]:
    from training.cli import run_command
    from training.evaluate import main

    capsys.readouterr()
    with pytest.raises(SystemExit) as stop:
        run_command(lambda: main([str(argument) for argument in arguments]))
    told = capsys.readouterr()
    return stop.value.code, told.out, told.err


def trained(game: str, options: dict[str, Any], run: Path) -> Path:
    pytest.importorskip("torch")
    from training.train import Settings, train

    settings = Settings(
        game=game, options=options, run=str(run), total_steps=512, num_games=32, plies=16, hidden=[8], threads=1, opponents=[]
    )
    settings.final_games = 0
    return train(settings)


def test_a_checkpoint_of_a_small_variant_is_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyspiel")
    folder = trained("pocket", TINY, tmp_path / "run")
    file = tmp_path / "exact.json"
    status, output, _ = evaluate([folder, "--exact", "--json", file], capsys)
    assert status == 0
    assert "219 histories" in output
    (found,) = json.loads(file.read_text())
    best, sampled = found["exact"]
    assert (best["play"], sampled["play"]) == ("best", "sampled")
    for one in (best, sampled):
        assert 0 < one["nash_conv"] <= 2
        assert one["nash_conv"] == pytest.approx(-sum(one["worst_payoffs"]))
        assert one["worst_payoffs"][0] <= one["value"] <= -one["worst_payoffs"][1]

    # What is calculated is what is played.
    game = pe.make_game("pocket", **TINY)
    agent = pe.make_agent(str(folder), game)
    games = play_games(game, [agent, agent], 20_000)
    assert abs(games.returns[:, 0].mean() - sampled["value"]) < 4 / np.sqrt(20_000)


def test_fixed_agents_of_a_small_variant_are_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyspiel")
    file = tmp_path / "exact.json"
    options = [f"--options.{name}={value}" for name, value in SMALL.items()]
    status, _, _ = evaluate(["random", "greedy", "--game", "pocket", *options, "--exact", "--json", file], capsys)
    assert status == 0
    found = [one["exact"][0]["nash_conv"] for one in json.loads(file.read_text())]
    assert found == pytest.approx([0.6190, 0.7778], abs=1e-4)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["random", "--game", "trellis"], "2 seats that can be walked whole"),
        (["random", "--game", "treehouse", "--options.num_players", "3"], "treehouse with 2 seats"),
        (["greedy", "--game", "pocket"], "docs/exact.md"),
        (["mcts:10", "--game", "treehouse"], "mcts:10"),
        (["optimal", "--game", "pocket", "--options.num_colors", "1"], "optimal plays only treehouse"),
    ],
)
def test_what_cannot_be_calculated_is_told_in_a_line(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("pyspiel")
    status, _, error = evaluate([*arguments, "--exact"], capsys)
    assert status == 2
    assert words in error


# ------------------------------------------------------------------------------------------------------------ at length


@pytest.fixture(scope="module")
def values() -> np.ndarray:
    return treehouse.solve(pe.make_game("treehouse")).values


@pytest.mark.slow
def test_what_is_lost_against_perfect_play_is_the_sum_of_the_regrets(values: np.ndarray) -> None:
    p = positions()
    perfect = treehouse.policy(p, treehouse.like_best(p.game, values), "optimal")
    greedy = treehouse.policy(p, treehouse.like_greedy(p.game), "greedy")
    payoffs = treehouse.expected(p, greedy, perfect, "greedy against optimal")
    visited = [
        regret.visits(p, greedy, perfect, "first seat")[0],
        regret.visits(p, perfect, greedy, "second seat")[1],
    ]
    table, ahead = values.astype(np.float64), p.ends.astype(np.float64)
    for h in range(T):
        greedy[h].expect(h, p.over, table, ahead)
    given_away = np.where(p.over, 0.0, table - ahead)
    start = float(values[treehouse.index(p.game.initial())])
    assert (given_away * visited[0]).sum() == pytest.approx(start - payoffs.first, abs=1e-5)
    assert (given_away * visited[1]).sum() == pytest.approx(-start - payoffs.second, abs=1e-5)
    perfect_regret = regret.measure(p, values, perfect, treehouse.like_best(p.game, values), "optimal")
    assert perfect_regret.mean < 1e-6


@pytest.mark.slow
def test_a_checkpoint_of_treehouse_is_measured_as_it_plays(
    values: np.ndarray, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    solution = treehouse.Solution(values, 0.0, 0)
    monkeypatch.setattr(treehouse, "known_solution", lambda game: solution)
    folder = trained("treehouse", {}, tmp_path / "run")
    file = tmp_path / "exact.json"
    status, output, _ = evaluate([folder, "random", "--game", "treehouse", "--exact", "--json", file], capsys)
    assert status == 0
    assert output.count("best is") == 30
    network, random = json.loads(file.read_text())
    assert random["exact"][0]["win_rate"]["mean"] == pytest.approx(1 - 0.99016, abs=1e-4)
    game = pe.make_game("treehouse")
    optimal = pe.make_agent("optimal", game)
    for one in network["exact"]:
        from pyramid_envs.agents.learned import LearnedAgent

        agent = LearnedAgent.load(folder, game, deterministic=one["play"] == "best")
        for seat, share in enumerate(one["win_rate"]["seats"]):
            lineup = [agent, optimal] if seat == 0 else [optimal, agent]
            games = play_games(game, lineup, 20_000)
            assert abs((games.returns[:, seat] > 0).mean() - share) < 4 * np.sqrt(share * (1 - share) / 20_000) + 1e-6
        own_play = play_games(game, [agent, agent], 20_000)
        deviation = own_play.plies.std() / np.sqrt(20_000)
        assert abs(own_play.plies.mean() - one["decisions"]) < 4 * deviation + 1e-6
        assert len(one["worst"]) == 10
        costs = [decision["visits"] * decision["regret"] for decision in one["worst"]]
        assert costs == sorted(costs, reverse=True)
        assert sum(costs) <= one["regret"] * one["decisions"] + 1e-9
