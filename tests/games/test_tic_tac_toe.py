"""Tic-tac-toe: what others have counted, every rule with positions made by hand, and draws, which no other game here has."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import combinations, product
from typing import Any

import gymnasium
import numpy as np
import pytest

import pyramid_envs as pe
from pyramid_envs.envs.sb3 import SB3VecEnv
from pyramid_envs.evaluation import play_match
from tests.playing import act
from tests.scripts import Script, Scripted, record

LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]


@cache
def make() -> pe.Game:
    return pe.make_game("tic_tac_toe")


def put(*lines: str) -> Any:
    return make().from_position({"board": list(lines)})


def after(row: Any) -> Iterator[Any]:
    for action in make().legal_actions(row):
        following = row.copy()
        make().apply(following, action)
        yield following


def reachable() -> dict[bytes, Any]:
    """Every position that play can lead to."""
    found, new = {}, [make().initial()]
    while new:
        row = new.pop()
        if row.tobytes() not in found:
            found[row.tobytes()] = row
            new += after(row)
    return found


def drawn() -> Script:
    """A game that ends in a draw."""
    return next(script for seed in range(100) if not (script := record(make(), seed)[0]).payoffs.any())


# -------------------------------------------------------------------------------------------------------------- counts


def test_there_are_5478_positions_and_no_others_are_accepted() -> None:
    found = reachable()
    assert len(found) == 5478
    accepted = set()
    for cells in product(".XO", repeat=9):
        try:
            accepted.add(put(*("".join(cells[k : k + 3]) for k in (0, 3, 6))).tobytes())
        except pe.PositionError:
            continue
    assert accepted == found.keys()


def test_there_are_255168_games_of_which_half_are_won_by_the_first_seat() -> None:
    known: dict[bytes, np.ndarray] = {}

    def ways(row: Any) -> np.ndarray:
        """How many ways lead on to a win of seat 0, a win of seat 1, a draw."""
        if row.tobytes() not in known:
            if make().to_move(row) == pe.TERMINAL:
                known[row.tobytes()] = np.array([make().returns(row)[0] == value for value in (1, -1, 0)], int)
            else:
                known[row.tobytes()] = np.sum([ways(following) for following in after(row)], axis=0)
        return known[row.tobytes()]

    assert ways(make().initial()).tolist() == [131_184, 77_904, 46_080]


def test_best_play_is_a_draw() -> None:
    @cache
    def value(row_bytes: bytes) -> float:
        row = np.frombuffer(row_bytes, make().row_dtype)
        seat = make().to_move(row)
        if seat == pe.TERMINAL:
            return float(make().returns(row)[0])
        values = [value(following.tobytes()) for following in after(row)]
        return max(values) if seat == 0 else min(values)

    assert value(make().initial().tobytes()) == 0


# --------------------------------------------------------------------------------------------------------------- rules


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("seat", [0, 1])
def test_three_in_a_line_win(line: tuple[int, ...], seat: int) -> None:
    rest = [cell for cell in range(9) if cell not in line]
    others = next(cells for cells in combinations(rest, 2 + seat) if cells not in LINES)
    cells = "".join("XO"[seat] if cell in line[:2] else "OX"[seat] if cell in others else "." for cell in range(9))
    row = put(cells[0:3], cells[3:6], cells[6:9])
    assert make().to_move(row) == seat
    make().apply(row, line[2])
    assert make().to_move(row) == pe.TERMINAL
    assert make().returns(row).tolist() == ([1, -1] if seat == 0 else [-1, 1])


def test_a_line_that_fills_the_board_wins_and_is_no_draw() -> None:
    row = put("XXO", "OOX", "XO.")
    make().apply(row, 8)
    assert make().returns(row).tolist() == [0, 0]
    row = put("XOX", "OXO", "OX.")
    make().apply(row, make().parse_action(row, "c1"))
    assert make().returns(row).tolist() == [1, -1]


def test_one_mark_can_make_two_lines() -> None:
    row = put("XXX", "XOO", "XOO")
    assert make().to_move(row) == pe.TERMINAL
    assert make().returns(row).tolist() == [1, -1]


@pytest.mark.parametrize(
    ("board", "fault"),
    [
        (["XX.", "...", "..."], "2 X and 0 O"),
        (["O..", "...", "..."], "0 X and 1 O"),
        (["XXX", "OOO", "..."], "after the game was won"),
        (["XXX", "OO.", "O.."], "after the game was won"),
        (["OOO", "XX.", "XX."], "after the game was won"),
        (["XO", "...", "..."], r"board\[0\]"),
        (["...", "...", "..x"], r"board\[2\]"),
        (["...", "..."], "board must have 3 entries"),
    ],
)
def test_positions_that_cannot_arise_are_refused(board: list[str], fault: str) -> None:
    with pytest.raises(pe.PositionError, match=fault):
        make().from_position({"board": board})


def test_greedy_wins_if_it_can_and_else_prevents_a_win() -> None:
    agent, batch = pe.make_agent("greedy", make()), pe.Batch(make(), 1)
    for lines, cell in ((("XX.", "OO.", "..."), "c3"), (("OO.", "XX.", "X.."), "c3"), (("X.O", ".O.", "..X"), "a1")):
        batch.rows[:] = put(*lines)
        batch.masks[:] = make().legal_mask(batch.rows)
        assert make().action_name(batch.rows, int(act(agent, batch)[0])) == cell


# --------------------------------------------------------------------------------------------------------------- draws


def test_a_draw_is_an_end_that_pays_nothing_through_every_interface() -> None:
    game, script = make(), drawn()
    assert not script.truncated
    assert len(script.actions) == 9

    batch = pe.Batch(game, 1, seed=script.seed)
    for action in script.actions:
        step = batch.step([action])
    assert (step.terminated.tolist(), step.truncated.tolist(), step.rewards.tolist()) == ([True], [False], [[0, 0]])

    env = pe.aec_env("tic_tac_toe")
    env.reset(seed=script.seed)
    for action in script.actions:
        env.step(action)
    for _ in env.agent_iter():
        _, reward, terminated, truncated, _ = env.last()
        assert (reward, terminated, truncated) == (0, True, False)
        env.step(None)

    for seat in (0, 1):
        own = script.actions[seat::2]
        options = {"opponents": Scripted([script]), "seat": seat}
        single = gymnasium.make("pyramid_envs/TicTacToe-v0", **options)
        single.reset(seed=script.seed)
        for action in own:
            ending = single.step(action)[1:4]
        assert ending == (0.0, True, False)

        # A vector goes on to the next game in the same step, which the script does not know: the opponent draws there.
        options["opponents"] = Improvising([script])
        vector = gymnasium.make_vec("pyramid_envs/TicTacToe-v0", num_envs=1, **options)
        vector.reset(seed=script.seed)
        stable = SB3VecEnv("tic_tac_toe", 1, seed=script.seed, **options)
        stable.reset()
        for action in own:
            rewards, terminated, truncated = vector.step(np.array([action]))[1:4]
            paid, ended, infos = stable.step(np.array([action]))[1:]
        assert (rewards.tolist(), terminated.tolist(), truncated.tolist()) == ([0], [True], [False])
        assert (paid.tolist(), ended.tolist(), infos[0]["TimeLimit.truncated"]) == ([0], [True], False)


class Improvising(Scripted):
    """Plays the script, and anything where the script says nothing."""

    def act(self, rows: Any, observations: Any, masks: Any, seats: Any, seeds: Any) -> np.ndarray:
        return np.array([self.moves.get(row.tobytes(), mask.argmax()) for row, mask in zip(rows, masks, strict=True)], np.int64)


def test_matches_count_draws() -> None:
    greedy, random = (pe.make_agent(name, make()) for name in ("greedy", "random"))
    match = play_match(make(), greedy, random, num_games=400)
    assert match.win_rate.low > 0.75
    for seat in match.seats:
        assert seat.draws > 0
        assert (seat.wins + seat.losses + seat.draws, seat.truncated) == (seat.games, 0)
