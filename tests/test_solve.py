"""Treehouse for 2 seats solved: the loops against plain evaluation by the oracle, the file, the command, the agent."""

from __future__ import annotations

import copy
import json
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyramid_envs as pe
from pyramid_envs.evaluation import play_games
from pyramid_envs.solve import progress, store, treehouse
from pyramid_envs.solve.__main__ import main
from pyramid_envs.solve.treehouse import Positions, Solution, T
from tests.oracles import treehouse as oracle
from tests.playing import act

TEXTS = [treehouse.text(trio) for trio in treehouse.arrangements()]
NUMBERS = {text: number for number, text in enumerate(TEXTS)}
ROOT = Path(__file__).parent.parent
ROUGHLY = 0.05  # solved to this tolerance in a moment, and already playing well


@cache
def _positions(dig_away: bool) -> Positions:
    return Positions(pe.make_game("treehouse", dig_away=dig_away))


@cache
def _rough_solution(dig_away: bool) -> Solution:
    return treehouse.solve(pe.make_game("treehouse", dig_away=dig_away), ROUGHLY)


def positions(dig_away: bool = False) -> Positions:
    return _positions(dig_away)


def rough_solution(dig_away: bool = False) -> Solution:
    return _rough_solution(dig_away)


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder where solutions are kept during the test; nothing is remembered from before it."""
    monkeypatch.setenv("PYRAMID_ENVS_CACHE", str(tmp_path / "kept"))
    monkeypatch.setattr(treehouse, "_known", {})
    return tmp_path / "kept"


@pytest.fixture
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let it take no time to solve the game roughly."""
    found = rough_solution()
    monkeypatch.setattr(treehouse, "solve", lambda game, tolerance: found)


def some_positions(count: int, seed: int = 0) -> list[tuple[int, int, int]]:
    """House, waiting trio, own trio of positions in which the game goes on."""
    drawn = np.random.default_rng(seed).integers(0, T, (2 * count, 3)).tolist()
    return [(h, w, m) for h, w, m in drawn if h not in (w, m)][:count]


def put(h: int, w: int, m: int, dig_away: bool = False, seat: int = 0) -> oracle.Oracle:
    """The oracle in a position before the roll."""
    trios = [TEXTS[m], TEXTS[w]] if seat == 0 else [TEXTS[w], TEXTS[m]]
    position = {"trios": trios, "house": TEXTS[h], "roll": None, "to_move": seat}
    return oracle.Oracle.from_position(position, 2, dig_away=dig_away)


def worth_after(game: oracle.Oracle, action: int, values: np.ndarray) -> float:
    """What the seat to move may expect when it plays the action, by the payoff or by a table of values."""
    after, seat = game.copy(), game.seat
    after.apply(action)
    if after.to_move() == "over":
        return float(after.returns()[seat])
    own, other = (NUMBERS[after.trios[p]] for p in (after.seat, 1 - after.seat))
    return -float(values[NUMBERS[after.house], other, own])


def evaluate(game: oracle.Oracle, values: np.ndarray, over_actions: Callable[[dict[int, float], oracle.Oracle], float]) -> float:
    """What the seat that is about to roll may expect; `over_actions` makes one number of those of its actions."""
    total = 0.0
    for face, (_, probability) in game.chance().items():
        rolled = game.copy()
        rolled.apply(face)
        total += float(probability) * over_actions({a: worth_after(rolled, a, values) for a in rolled.legal()}, rolled)
    return total


def best(worth: dict[int, float], game: oracle.Oracle) -> float:
    return max(worth.values())


# ----------------------------------------------------------------------------------------------------------- the rules


def test_mirror_images_are_those_of_the_texts() -> None:
    turned = str.maketrans("<>", "><")
    expected = [NUMBERS[" ".join(reversed(text.translate(turned).split()))] for text in TEXTS]
    assert treehouse.mirror_images().tolist() == expected


@pytest.mark.parametrize("dig_away", [False, True])
def test_the_rules_are_the_same_in_a_mirror(dig_away: bool) -> None:
    p, mirror = positions(dig_away), treehouse.mirror_images()
    both = np.concatenate([mirror, T + mirror])
    assert np.array_equal(p.odds, p.odds[mirror][:, mirror])
    assert np.array_equal(p.ends, p.ends[mirror][:, mirror][:, :, mirror])
    assert np.array_equal(p.over, p.over[mirror][:, mirror][:, :, mirror])

    def possible(h: int) -> np.ndarray:
        """bool[T, 6, 2T]: own trio, face, result."""
        found = np.zeros((T, 6, 2 * T), np.bool_)
        first = p.first[h].astype(np.int64)
        group = np.repeat(np.arange(T * 6), np.diff(first, axis=1).reshape(-1))
        found.reshape(T * 6, 2 * T)[group, p.results[first[0, 0] : first[-1, -1]]] = True
        return found

    for h in range(T):
        assert np.array_equal(possible(h), possible(mirror[h])[mirror][:, :, both])


@pytest.mark.parametrize("dig_away", [False, True])
def test_results_and_odds_are_those_of_the_game_whatever_the_waiting_trio(dig_away: bool) -> None:
    p = positions(dig_away)
    for h, w, m in some_positions(60):
        for seat in (0, 1):
            game = put(h, w, m, dig_away, seat)
            row = p.game.from_position(game.position())
            outcomes, probabilities = p.game.chance_outcomes(row)
            assert p.odds[h, m][outcomes].tolist() == probabilities.tolist()
            assert p.odds[h, m].sum() == pytest.approx(1)
            for face in range(6):
                listed = p.results[p.first[h, m, face] : p.first[h, m, face + 1]].tolist()
                found = set()
                if face in outcomes:
                    rolled = row.copy()
                    p.game.apply(rolled, face)
                    for action in p.game.legal_actions(rolled).tolist():
                        after = rolled.copy()
                        p.game.apply(after, action)
                        house, own = int(after[0].house), int(after[0].trios[seat])
                        assert own == m or house == h
                        assert int(after[0].trios[1 - seat]) == w
                        found.add(own if house == h else T + house)
                assert len(listed) == len(set(listed))
                assert set(listed) == found


def test_the_ends_and_payoffs_are_those_of_the_game() -> None:
    p = positions()
    rng = np.random.default_rng(0)
    places = [(h, w, m) for h, w, m in rng.integers(0, T, (100, 3)).tolist()]
    places += [(h, h, m) for h, _, m in places] + [(h, w, h) for h, w, _ in places] + [(h, h, h) for h, _, _ in places]
    for h, w, m in places:
        # At the end `to_move` is the seat that moved last: the one that would wait now.
        position = {"trios": [TEXTS[m], TEXTS[w]], "house": TEXTS[h], "roll": None, "to_move": 1}
        row = p.game.from_position(position)
        payoff = oracle.Oracle.from_position(position, 2).returns()[0]
        assert p.over[h, w, m] == (p.game.to_move(row) == pe.TERMINAL) == (h in (w, m))
        assert p.ends[h, w, m] == p.game.returns(row)[0] == payoff


# ----------------------------------------------------------------------------------------------------------- the loops


def random_values(p: Positions, seed: int) -> np.ndarray:
    """A table with the ends in their places and anything elsewhere, the same in a mirror."""
    mirror = treehouse.mirror_images()
    values = np.random.default_rng(seed).uniform(-1, 1, (T, T, T))
    values += values[mirror][:, mirror][:, :, mirror]
    return np.where(p.over, p.ends, values / 2)


@pytest.mark.parametrize("dig_away", [False, True])
def test_a_sweep_of_value_iteration_agrees_with_plain_evaluation(dig_away: bool) -> None:
    p, mirror = positions(dig_away), treehouse.mirror_images()
    values = random_values(p, 1)
    new = p.ends.astype(np.float64)
    houses = np.flatnonzero(np.arange(T) <= mirror)
    change = treehouse.drivers.improve(p.first, p.results, p.odds, p.over, mirror, houses, values, new)
    assert change == np.abs(new - values).max()
    assert np.array_equal(new[p.over > 0], p.ends[p.over > 0])
    for place in some_positions(50):
        assert new[place] == pytest.approx(evaluate(put(*place, dig_away), values, best), abs=1e-12)


def greedy_choice(worth: dict[int, float], game: oracle.Oracle) -> float:
    """The mean over what the agent greedy plays, found by asking it very often."""
    row = positions().game.from_position(game.position())
    mask = positions().game.legal_mask(row)[None]
    agent = pe.make_agent("greedy", positions().game)
    asked = 400
    rows, masks = np.repeat(row, asked), np.repeat(mask, asked, axis=0)
    keys = np.random.default_rng(0).integers(0, 2**64, asked, np.uint64)
    played = set(agent.act(rows, np.zeros((asked, 1), np.int8), masks, np.zeros(asked, np.int64), keys).tolist())
    return float(np.mean([worth[action] for action in played]))


def uneven(rows: Any, masks: np.ndarray, likings: np.ndarray) -> None:
    likings[:] = masks * (1.0 + np.arange(97) % 5 + rows["roll"][:, None] + rows["trios"][:, 1:2] % 2)


def uneven_choice(worth: dict[int, float], game: oracle.Oracle) -> float:
    liked = {a: 1 + a % 5 + oracle.FACES.index(game.roll) + NUMBERS[game.trios[1]] % 2 for a in worth}
    return sum(liked[a] * worth[a] for a in worth) / sum(liked.values())


POLICIES: dict[str, tuple[Any, Any]] = {
    "random": (lambda game: treehouse.like_all, lambda worth, game: float(np.mean(list(worth.values())))),
    "greedy": (treehouse.like_greedy, greedy_choice),
    "uneven": (lambda game: uneven, uneven_choice),
}


@pytest.mark.parametrize("name", POLICIES)
def test_a_sweep_of_policy_evaluation_agrees_with_plain_evaluation(name: str) -> None:
    likings, over_actions = POLICIES[name]
    p = positions()
    values = random_values(p, 2)
    house = NUMBERS[oracle.HOUSE_START]
    new = p.ends.astype(np.float64)
    moves = treehouse.moves(p, likings(p.game), house)
    change = treehouse.drivers.expect(house, *moves, p.over, values, new)
    assert change == np.abs(new - np.where(p.over, p.ends, 0.0)).max()
    assert np.array_equal(new[p.over > 0], p.ends[p.over > 0])
    places = [(house, w, m) for _, w, m in some_positions(25) if house not in (w, m)]
    # Waiting trios that the House could come to look like matter to greedy.
    near = p.results[p.first[house, 0, 0] : p.first[house, 0, 6]]
    places += [(house, int(r) - T, m) for r in near if r >= T for m in (0, 77) if house not in (int(r) - T, m)][:15]
    for place in places:
        assert new[place] == pytest.approx(evaluate(put(*place), values, over_actions), abs=1e-6)


def test_the_best_actions_are_those_of_plain_evaluation_and_the_first_of_several() -> None:
    p = positions()
    values = np.round(random_values(p, 3), 1).astype(np.float32)
    tied = 0
    for place in some_positions(40):
        for seat in (0, 1):
            game = put(*place, seat=seat)
            game.apply(max(game.chance()))  # the roll of most choice
            row = p.game.from_position(game.position())
            worth = {a: worth_after(game, a, values) for a in sorted(game.legal())}
            masks = p.game.legal_mask(row)[None].view(np.uint8)
            actions, found = treehouse.best_actions(p.game, values, row, masks)
            assert found[0] == pytest.approx(max(worth.values()))
            assert actions[0] == min(a for a in worth if worth[a] == max(worth.values()))
            tied += list(worth.values()).count(max(worth.values())) > 1
    assert tied > 10


def test_a_rough_solution_is_the_same_in_a_mirror_and_within_its_residual() -> None:
    solution, mirror = rough_solution(), treehouse.mirror_images()
    assert solution.residual < ROUGHLY
    assert np.array_equal(solution.values, solution.values[mirror][:, mirror][:, :, mirror])
    for place in some_positions(50):
        assert abs(solution.values[place] - evaluate(put(*place), solution.values, best)) < ROUGHLY + 1e-6


# ------------------------------------------------------------------------------------------------------------ the file


def test_where_solutions_are_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("PYRAMID_ENVS_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert store.folder() == tmp_path / ".cache" / "pyramid_envs"
    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
    assert store.folder() == tmp_path / ".cache" / "pyramid_envs"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert store.folder() == tmp_path / "xdg" / "pyramid_envs"
    monkeypatch.setenv("PYRAMID_ENVS_CACHE", str(tmp_path / "own"))
    assert store.folder() == tmp_path / "own"
    game = pe.make_game("treehouse", dig_away=True, max_plies=7)
    assert treehouse.path_of(game) == tmp_path / "own" / f"treehouse_v{game.version}_num_players=2_dig_away=True.values"


def test_a_solution_is_read_as_it_was_saved(kept: Path) -> None:
    game = pe.make_game("treehouse")
    with pytest.raises(FileNotFoundError):
        treehouse.load(game, ROUGHLY)
    path = treehouse.save(game, rough_solution())
    assert os.listdir(kept) == [path.name]
    assert path.stat().st_size < 20e6
    loaded = treehouse.load(game, ROUGHLY)
    assert loaded.values.dtype == np.float32
    assert np.array_equal(loaded.values, rough_solution().values)
    assert loaded[1:] == rough_solution()[1:]
    assert treehouse.load(pe.make_game("treehouse", max_plies=None), ROUGHLY)[1:] == loaded[1:]


def damage_the_last_byte(content: bytes) -> bytes:
    return content[:-1] + bytes([content[-1] ^ 1])


DAMAGES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "a changed number": (damage_the_last_byte, "damaged"),
    "a changed description": (lambda content: content.replace(b'"sweeps"', b'"swepps"'), "damaged"),
    "half a file": (lambda content: content[: len(content) // 2], "damaged"),
    "an empty file": (lambda content: b"", "damaged"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_noticed(kept: Path, damage: str) -> None:
    change, message = DAMAGES[damage]
    game = pe.make_game("treehouse")
    path = treehouse.save(game, rough_solution())
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(pe.SolutionError, match=message):
        treehouse.load(game, ROUGHLY)


@pytest.mark.usefixtures("quickly")
def test_a_file_that_is_damaged_or_made_for_something_else_is_made_anew(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    game = pe.make_game("treehouse")
    assert np.array_equal(treehouse.solution(game, ROUGHLY).values, rough_solution().values)
    path = treehouse.path_of(game)
    told = capsys.readouterr().err
    assert "has not been solved here yet" in told
    assert f"saved in {path}" in told
    content = path.read_bytes()
    treehouse.solution(game, ROUGHLY)
    assert capsys.readouterr().err == ""

    path.write_bytes(content[:-1])
    treehouse.solution(game, ROUGHLY)
    assert f"{path} is damaged; Treehouse is solved anew" in capsys.readouterr().err
    assert path.read_bytes() == content

    about = {**treehouse._about(game), "residual": 0.0, "sweeps": 1}
    store.save(path, {**about, "version": -1}, rough_solution().values[:105])
    treehouse.solution(game, ROUGHLY)
    assert "was made for something else: version is -1" in capsys.readouterr().err
    assert path.read_bytes() == content

    store.save(path, {**about, "allowed_sha256": "of other rules"}, rough_solution().values[:105])
    treehouse.solution(game, ROUGHLY)
    assert "allowed_sha256" in capsys.readouterr().err
    treehouse.solution(game, ROUGHLY / 2)
    assert re.search(r"known to \S+ only, not to", capsys.readouterr().err)
    treehouse.solution(game, ROUGHLY)
    assert capsys.readouterr().err == ""
    treehouse.solution(game, ROUGHLY, anew=True)
    assert "saved in" in capsys.readouterr().err


@pytest.mark.usefixtures("quickly")
def test_a_folder_that_cannot_be_written_is_told_and_does_not_hinder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # A file where the folder would be keeps even an administrator from writing.
    (tmp_path / "file").touch()
    monkeypatch.setenv("PYRAMID_ENVS_CACHE", str(tmp_path / "file" / "folder"))
    game = pe.make_game("treehouse")
    with pytest.raises(pe.SolutionError, match=r"cannot be written .*PYRAMID_ENVS_CACHE"):
        treehouse.save(game, rough_solution())
    assert np.array_equal(treehouse.solution(game, ROUGHLY).values, rough_solution().values)
    assert "not saved" in capsys.readouterr().err


def test_a_file_that_cannot_be_finished_leaves_nothing(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    game = pe.make_game("treehouse")
    path = treehouse.save(game, rough_solution())
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(pe.SolutionError, match="No space left"):
        treehouse.save(game, rough_solution()._replace(sweeps=99))
    assert os.listdir(kept) == [path.name]
    assert treehouse.load(game, ROUGHLY).sweeps != 99


def test_progress_is_told_in_lines_where_there_is_no_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "_LINES_APART", -1.0)
    with progress.Progress("thinking") as told:
        told.reach(0.251, "still")
        told.reach(2.0)
    assert capsys.readouterr().err.splitlines() == ["thinking: 25 %, still", "thinking: 100 %"]


# ----------------------------------------------------------------------------------------------------------- the agent


@pytest.fixture
def rough_play(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the agent play by a rough solution."""
    monkeypatch.setattr(treehouse, "known_solution", lambda game: rough_solution(game.options["dig_away"]))


@pytest.mark.parametrize("name", pe.game_names())
def test_no_other_game_has_an_optimal_agent(name: str) -> None:
    game = pe.make_game(name, num_players=3) if name == "treehouse" else pe.make_game(name)
    with pytest.raises(pe.AgentError, match=f"only treehouse with 2 seats, not {name} with {game.num_players} seats"):
        pe.make_agent("optimal", game)


@pytest.mark.usefixtures("rough_play")
@pytest.mark.parametrize("options", [{}, {"dig_away": True, "max_plies": 9}])
def test_the_agent_plays_the_best_action_of_each_row_whatever_stands_beside_it(options: dict[str, Any]) -> None:
    game = pe.make_game("treehouse", **options)
    agent = pe.make_agent("optimal", game)
    assert agent.name == "optimal"
    assert agent.act(*(np.zeros((0, *array.shape[1:]), array.dtype) for array in views(pe.Batch(game, 1)))).shape == (0,)
    batch = pe.Batch(game, 3000, seed=5)
    for ply in range(8):
        actions = act(agent, batch)
        assert batch.masks[np.arange(len(actions)), actions].all()
        assert act(agent, batch).tolist() == actions.tolist()
        for i in range(0, 3000, 1000):
            alone = tuple(array[i : i + 1] for array in views(batch))
            assert agent.act(*alone)[0] == actions[i]
            position = oracle.Oracle.from_position(game.position(batch.rows[i : i + 1]), 2, dig_away=game.options["dig_away"])
            values = rough_solution(game.options["dig_away"]).values
            worth = {a: worth_after(position, a, values) for a in position.legal()}
            assert worth[int(actions[i])] == max(worth.values())
        batch.step(act(pe.make_agent("random", game), batch) if ply % 2 else actions)


def views(batch: pe.Batch) -> tuple[np.ndarray, ...]:
    return batch.rows, batch.observations, batch.masks, batch.seats, batch.keys(3)


@pytest.mark.usefixtures("rough_play")
def test_the_agent_beats_greedy_even_by_a_rough_solution() -> None:
    game = pe.make_game("treehouse")
    games = play_games(game, [pe.make_agent("optimal", game), pe.make_agent("greedy", game)], 2000)
    assert games.returns[:, 0].mean() > 0.25


def test_the_agent_solves_on_first_use_and_finds_it_solved_later(
    kept: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(treehouse.solution, "__defaults__", (ROUGHLY, False))
    game = pe.make_game("treehouse", max_plies=50)
    agent = pe.make_agent("optimal", game)
    assert capsys.readouterr().err == ""
    batch = pe.Batch(game, 4, seed=0)
    played = act(agent, batch)
    assert "saved in" in capsys.readouterr().err
    for other in (pe.make_agent("optimal", pe.make_game("treehouse")), copy.deepcopy(agent), pickle.loads(pickle.dumps(agent))):
        assert act(other, batch).tolist() == played.tolist()
    assert len(pickle.dumps(agent)) < 10_000
    monkeypatch.setattr(treehouse, "_known", {})  # as in a new process
    assert act(agent, batch).tolist() == played.tolist()
    assert capsys.readouterr().err == ""


# --------------------------------------------------------------------------------------------------------- the command


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        (["--help"], 0, ["treehouse"]),
        (["treehouse", "--help"], 0, ["--dig-away", "--tolerance", "--anew", "PYRAMID_ENVS_CACHE"]),
        (["pocket", "--help"], 0, ["--num-colors", "--tube-height", "--master-orients", "--tolerance"]),
        ([], 2, ["GAME"]),
        (["trellis"], 2, ["trellis", "treehouse"]),
        (["treehouse", "--tolerance", "0"], 2, ["must lie between 0 and 1"]),
        (["treehouse", "--tolerance", "x"], 2, ["x"]),
    ],
)
def test_the_command_explains_itself(
    arguments: list[str], status: int, told: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == status
    printed = capsys.readouterr()
    assert all(word in (printed.err if status else printed.out) for word in told)


# ------------------------------------------------------------------------------------------------------------- at length


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> dict[bool, Solution]:
    return {dig_away: treehouse.solve(pe.make_game("treehouse", dig_away=dig_away)) for dig_away in (False, True)}


@pytest.mark.slow
@pytest.mark.parametrize("dig_away", [False, True])
def test_the_solution_satisfies_bellmans_equation_by_plain_evaluation(full: dict[bool, Solution], dig_away: bool) -> None:
    solution = full[dig_away]
    assert solution.residual < 1e-6
    for place in some_positions(1000, seed=9):
        assert abs(solution.values[place] - evaluate(put(*place, dig_away), solution.values, best)) < 2e-6


@pytest.mark.slow
def test_the_value_of_the_start(full: dict[bool, Solution]) -> None:
    start = treehouse.index(pe.make_game("treehouse").initial())
    assert full[False].values[start] == pytest.approx(0.02776, abs=1e-5)


@pytest.mark.slow
def test_a_hundred_thousand_games_agree_with_the_exact_results(
    full: dict[bool, Solution], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(treehouse, "known_solution", lambda game: full[game.options["dig_away"]])
    game = pe.make_game("treehouse")
    values, p = full[False].values, positions()
    likings = {"optimal": treehouse.like_best(game, values), "greedy": treehouse.like_greedy(game), "random": treehouse.like_all}
    policies = {name: treehouse.policy(p, how, name) for name, how in likings.items()}
    agents = {name: pe.make_agent(name, game) for name in policies}
    for own, other in (("optimal", "optimal"), ("optimal", "random"), ("optimal", "greedy"), ("greedy", "random")):
        exact = treehouse.expected(p, policies[own], policies[other], "evaluating")
        if own == other:
            start = float(values[treehouse.index(game.initial())])
            assert exact == pytest.approx((start, -start), abs=1e-6)
        for seat, payoff in enumerate(exact):
            lineup = [agents[own], agents[other]] if seat == 0 else [agents[other], agents[own]]
            games = play_games(game, lineup, 100_000, seed=1000)
            assert not games.truncated.any()
            deviation = np.sqrt((1 - payoff**2) / 100_000)
            assert abs(games.returns[:, seat].mean() - payoff) < 4 * deviation


@pytest.mark.slow
@pytest.mark.parametrize("dig_away", [False, True])
def test_the_command_prints_what_is_known_of_the_game(tmp_path: Path, dig_away: bool) -> None:
    command = [sys.executable, "-W", "error", "-m", "pyramid_envs.solve", "treehouse", *["--dig-away"] * dig_away]
    environment = {**os.environ, "PYRAMID_ENVS_CACHE": str(tmp_path)}
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=1800, check=True)
    assert f"dig_away={dig_away}" in run.stdout
    openings = re.findall(r"^  (AIM|TIP|HOP|SWAP|DIG|WILD) +(?:own .*|house .*|pass) +[\d.]+ %$", run.stdout, re.MULTILINE)
    assert len(openings) == 5 + dig_away
    if not dig_away:
        assert "the first seat wins 51.388 %" in run.stdout
        assert re.search(r"^optimal against random +99.053 % +98.979 %", run.stdout, re.MULTILINE)
    assert json.loads(next(tmp_path.iterdir()).read_bytes().split(b"\n")[1])["options"]["dig_away"] is dig_away
