"""Trellis, ruling by ruling, with positions made by hand.

Most of them have a ring of five tiles around the cell 1,0, which closes with the start tile, whose vine P faces that cell: a tile
planted there meets six others. A tile is told as it lies, `GGPPBB` having G at its edges 0 and 1.
"""

from __future__ import annotations

import copy
import hashlib
import json
import pickle
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyramid_envs as pe
from pyramid_envs.agents.fixed import Adviser
from pyramid_envs.evaluation import play_match
from pyramid_envs.games import trellis
from pyramid_envs.games.trellis import rules, tables
from pyramid_envs.kernels import GRADES
from tests.oracles import trellis as oracle
from tests.playing import act, play, sample

TILES = tables.balanced()
LYING = {oracle.turned(text, k): (text, k) for text in TILES for k in range(6)}
START = {"cell": [0, 0], "edges": "POGBKY"}
PHASES = ("draw", "tile", "cell", "rotation", "owner", "colour", "board cell", "board colour", "over")
PLANTING = PHASES[1:4]

Entry = tuple[tuple[int, int], str, Any]  # cell, edges as the tile lies, the owners of its vines: by colour, or one of all


@cache
def make(num_players: int = 2, board_radius: int | None = None) -> pe.Game:
    return pe.make_game("trellis", num_players=num_players, board_radius=board_radius or 5 + num_players)


def position(
    entries: list[Entry],
    start: Any = None,
    hand: tuple[str, ...] = (),
    phase: str = "tile",
    to_move: int = 0,
    num_players: int = 2,
    chosen: dict[str, Any] | None = None,
    gifts: int = 0,
) -> dict[str, Any]:
    """A position with these tiles beside the start tile; hands are filled up from the set, flowers counted."""
    board = []
    for cell, edges, owners in [((0, 0), "POGBKY", start or {}), *entries]:
        flowers = dict.fromkeys(sorted(set(edges)), owners) if isinstance(owners, int) else dict(owners)
        board.append({"cell": list(cell), "edges": edges, "flowers": flowers})
    mine = [LYING[text][0] for text in hand]
    gone = {LYING[edges][0] for _, edges, _ in entries} | set(mine)
    rest = iter(text for text in TILES if text not in gone)
    hands = []
    for seat in range(num_players):
        held = mine if seat == to_move else []
        size = 3 if seat != to_move or phase in PLANTING else 2
        hands.append([*held, *(next(rest) for _ in range(size - len(held)))])
    count = Counter(owner for entry in board for owner in entry["flowers"].values())
    return {
        "board": board,
        "hands": hands,
        "flowers_left": [max(0, 15 - count[seat]) for seat in range(num_players)],
        "phase": phase,
        "chosen": chosen or {},
        "gifts": gifts,
        "to_move": to_move,
    }


def put(*arguments: Any, **keywords: Any) -> tuple[pe.Game, Any]:
    """The game and the row of a position."""
    game = make(keywords.get("num_players", 2))
    return game, game.from_position(position(*arguments, **keywords))


def do(game: pe.Game, row: Any, *names: str) -> None:
    """Play actions by name."""
    for name in names:
        game.apply(row, game.parse_action(row, name))


def plant(game: pe.Game, row: Any, edges: str, cell: str = "1,0") -> None:
    """Plant a tile of the hand so that it lies with these edges."""
    text, k = LYING[edges]
    do(game, row, f"tile {text}", f"cell {cell}", f"rotation {k}")


def legal(game: pe.Game, row: Any) -> set[str]:
    return {game.action_name(row, action) for action in game.legal_actions(row).tolist()}


def now(game: pe.Game, row: Any) -> tuple[str, int, list[int]]:
    """Phase, gifts and flowers left."""
    found = game.position(row)
    return found["phase"], found["gifts"], found["flowers_left"]


def flowers(game: pe.Game, row: Any, cell: tuple[int, int] = (1, 0)) -> dict[str, int]:
    return next(entry["flowers"] for entry in game.position(row)["board"] if entry["cell"] == list(cell))


def payoffs(game: pe.Game, row: Any) -> list[Fraction]:
    assert game.to_move(row) == pe.TERMINAL
    return [Fraction(payoff).limit_denominator(100) for payoff in game.returns(row).tolist()]


def ring(p: Any, g: tuple[Any, Any], b: tuple[Any, Any]) -> list[Entry]:
    """Five tiles around 1,0, in full flower, with their owners; GGPPBB on 1,0 meets the start tile's P and p, both g, both b."""
    return [
        ((0, 1), "PYYKKP", p),
        ((1, 1), "OOYYGG", g[0]),
        ((2, 0), "BBGGOO", g[1]),
        ((2, -1), "GGBBKK", b[0]),
        ((1, -1), "OBBKKO", b[1]),
    ]


# A vine P at 1,0 with both ends at edges 0 and 3 meets the start tile's P and, to the right, two more of them in a row.
ROW: list[Entry] = [
    ((1, -1), "GGKKYY", {}),
    ((2, -1), "BBYYGG", {}),
    ((2, 0), "PYYPOO", {}),
    ((3, 0), "PBBPKK", {}),
]

# Three vines P in a triangle, the last at 1,1.
TRIANGLE: list[Entry] = [((1, 0), "PPYYKK", {}), ((2, 0), "YYPPBB", {}), ((1, 1), "BBGGPP", {})]


# ------------------------------------------------------------------------------------------------------------ the tiles


def test_the_balanced_set_has_all_that_is_known_of_it() -> None:
    oracle.check_tileset(TILES)


def test_the_balanced_set_never_changes() -> None:
    assert hashlib.sha256(" ".join(TILES).encode()).hexdigest() == (
        "2e2744c536967bdc749532aacf7c36a8761da037338644048d8a916b33bdd7af"
    )


def test_the_balanced_set_is_printed_on_the_manual_page() -> None:
    for kind in range(4):
        assert " ".join(TILES[15 * kind : 15 * kind + 15]) in (trellis.__doc__ or "")


def write(path: Path, content: Any) -> str:
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return str(path)


def test_a_set_can_be_read_from_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    turned = [oracle.turned(text, 2) for text in reversed(TILES)]
    path = write(tmp_path / "set.json", turned)
    game = pe.make_game("trellis", tileset=path)
    outcomes, probabilities = game.chance_outcomes(game.initial())
    assert [game.outcome_name(game.initial(), outcome) for outcome in outcomes] == turned
    assert probabilities.tolist() == [1 / 60] * 60
    assert pe.make_game("trellis", tileset=Path(path)) == game
    # A path that was relative is still right where the process, or another one, has gone.
    monkeypatch.chdir(tmp_path)
    game = pe.make_game("trellis", tileset="set.json")
    monkeypatch.chdir("/")
    assert pickle.loads(pickle.dumps(game)).chance_outcomes(game.initial())[0].tolist() == outcomes.tolist()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("no JSON", "cannot be read"),
        ({"tiles": list(TILES)}, "must be a list"),
        ([*TILES[:-1]], "must have 60 entries, not 59"),
        ([*TILES, "POGPOG"], "must have 60 entries, not 61"),
        ([*TILES[:7], 7, *TILES[8:]], "entry 7 must be six letters, .* not 7"),
        ([*TILES[:7], "PPOOG", *TILES[8:]], "entry 7 must be six letters, .* not 'PPOOG'"),
        ([*TILES[:7], "PPOOGY", *TILES[8:]], "entry 7 must be six letters, .* not 'PPOOGY'"),
        ([*TILES[:7], "PPPPOO", *TILES[8:]], "entry 7 must be six letters, .* not 'PPPPOO'"),
        ([*TILES[:7], "ppoogg", *TILES[8:]], "entry 7 must be six letters, .* not 'ppoogg'"),
        ([*TILES[:7], "XXOOGG", *TILES[8:]], "entry 7 must be six letters, .* not 'XXOOGG'"),
        ([*TILES[:7], TILES[3], *TILES[8:]], f"entry 7, '{TILES[3]}', is entry 3, '{TILES[3]}', turned"),
        ([*TILES[:7], oracle.turned(TILES[3], 4), *TILES[8:]], rf"entry 7, .* is entry 3, '{TILES[3]}', turned"),
    ],
)
def test_a_file_that_is_no_set_is_refused_with_the_entry_at_fault(tmp_path: Path, content: Any, message: str) -> None:
    path = write(tmp_path / "set.json", content)
    with pytest.raises(pe.OptionError, match=rf"(?s)tileset.*set\.json.*{message}"):
        pe.make_game("trellis", tileset=path)


def test_a_file_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(pe.OptionError, match=r"tileset.*nowhere\.json"):
        pe.make_game("trellis", tileset=tmp_path / "nowhere.json")


def test_a_tile_that_looks_the_same_when_turned_by_three_makes_the_same_position(tmp_path: Path) -> None:
    game = pe.make_game("trellis", tileset=write(tmp_path / "set.json", ["POGPOG", *TILES[1:]]))
    start = game.initial()
    game.apply(start, 0)
    game.resolve_chance(start, np.random.default_rng(0))
    rows = [start.copy() for _ in range(6)]
    for k, row in enumerate(rows):
        do(game, row, "tile POGPOG", "cell 1,0", f"rotation {k}")
        assert game.from_position(game.position(row)).tobytes() == row.tobytes()
    assert [row.tobytes() for row in rows[:3]] == [row.tobytes() for row in rows[3:]]
    assert len({row.tobytes() for row in rows}) == 3


# ------------------------------------------------------------------------------------------------------ setup and planting


def test_hands_are_drawn_one_tile_after_the_other_seat_0_first() -> None:
    game = make(3)
    row = game.initial()
    for seat in range(3):
        for held in range(3):
            found = game.position(row)
            assert (found["phase"], found["to_move"], len(found["hands"][seat])) == ("draw", seat, held)
            game.apply(row, 20 - 3 * seat - held)
    found = game.position(row)
    assert (found["phase"], found["to_move"]) == ("tile", 0)
    assert found["hands"] == [[TILES[t] for t in hand] for hand in ((20, 19, 18), (17, 16, 15), (14, 13, 12))]
    assert found["flowers_left"] == [15, 15, 15]


def test_a_tile_may_be_planted_on_any_empty_cell_next_to_any_tile() -> None:
    game, row = put([], phase="cell", hand=("GGPPBB",), chosen={"tile": "BBGGPP"})
    assert legal(game, row) == {"cell 1,0", "cell 0,1", "cell -1,1", "cell -1,0", "cell 0,-1", "cell 1,-1"}
    game, row = put([((1, 0), "PYYKKP", {})], phase="cell", hand=("GGPPBB",), chosen={"tile": "BBGGPP"})
    others = {"cell 0,1", "cell -1,1", "cell -1,0", "cell 0,-1", "cell 1,-1"}
    assert legal(game, row) == others | {"cell 2,0", "cell 1,1", "cell 2,-1"}


def test_no_tile_may_be_planted_beyond_the_radius() -> None:
    line: list[Entry] = [((q, 0), edges, {}) for q, edges in enumerate(["PPYYKK", "PPBBYY", "PPYYGG", "KKPPGG"], start=1)]
    entries = position(line, hand=("GGPPBB",), phase="cell", chosen={"tile": "BBGGPP"})
    beyond = {"cell 5,0", "cell 5,-1", "cell 4,1"}
    game = make(board_radius=5)
    within = legal(game, game.from_position(entries))
    assert within > {"cell 5,0", "cell 5,-1", "cell 4,1", "cell 4,-1", "cell 3,1"}
    game = make(board_radius=4)
    assert legal(game, game.from_position(entries)) == within - beyond


def test_the_default_radius_is_five_and_the_number_of_seats() -> None:
    assert [make(n).options["board_radius"] for n in (2, 3, 4)] == [7, 8, 9]
    assert [pe.make_game("trellis", num_players=n).observation_shape[1:] for n in (2, 3, 4)] == [(15, 15), (17, 17), (19, 19)]


def test_a_tile_turned_by_k_has_the_colour_of_edge_e_at_edge_e_plus_k() -> None:
    game, row = put([], hand=("GGPPBB",))
    do(game, row, "tile BBGGPP", "cell 0,1", "rotation 1")
    assert game.position(row)["board"][-1] == {"cell": [0, 1], "edges": "PBBGGP", "flowers": {}}


def test_a_chosen_tile_stays_in_the_hand_until_planted_then_the_rest_close_up_and_the_drawn_one_goes_last() -> None:
    game, row = put([], hand=("PPYYKK", "PPBBYY", "PPYYGG"))
    hand = game.position(row)["hands"][0]
    do(game, row, f"tile {hand[1]}")
    assert (game.position(row)["hands"][0], game.position(row)["chosen"]) == (hand, {"tile": hand[1]})
    do(game, row, "cell 0,1")
    assert (game.position(row)["hands"][0], game.position(row)["chosen"]) == (hand, {"tile": hand[1], "cell": [0, 1]})
    do(game, row, "rotation 0", "colour P")
    assert (game.position(row)["hands"][0], game.position(row)["chosen"]) == ([hand[0], hand[2]], {})
    assert now(game, row) == ("draw", 0, [14, 15])
    game.apply(row, TILES.index("KOKYOY"))
    assert (game.position(row)["hands"][0], game.position(row)["to_move"]) == ([hand[0], hand[2], "KOKYOY"], 1)


# --------------------------------------------------------------------------------------------------------------- bloom


def test_colours_need_not_match_and_without_a_match_nothing_blooms() -> None:
    game, row = put([], start={"P": 1}, hand=("GGPPBB",))
    plant(game, row, "PBBGGP")
    assert (flowers(game, row), now(game, row)) == ({}, ("colour", 0, [15, 14]))


def test_an_empty_vine_connected_to_a_flower_gets_one_of_that_owner() -> None:
    game, row = put([], start={"P": 0}, hand=("GGPPBB",))
    plant(game, row, "GGPPBB")
    assert (flowers(game, row), now(game, row)) == ({"P": 0}, ("colour", 0, [13, 15]))
    assert legal(game, row) == {"colour G", "colour B"}


def test_a_bloom_goes_on_through_empty_connected_vines() -> None:
    game, row = put(ROW, start={"P": 0}, hand=("PYYPKK",))
    plant(game, row, "PYYPKK")
    assert [flowers(game, row, (q, 0)) for q in (1, 2, 3)] == [{"P": 0}] * 3
    assert now(game, row) == ("colour", 0, [11, 15])


def test_a_vine_with_the_same_owner_at_both_ends_gets_one_flower() -> None:
    game, row = put(ring(0, (1, 1), (1, 1))[:1], start={"P": 0}, hand=("GGPPBB",))
    plant(game, row, "GGPPBB")
    assert (flowers(game, row), now(game, row)) == ({"P": 0}, ("colour", 0, [10, 15]))


def test_a_claimed_vine_blooms_through_a_loop_and_every_vine_of_it_counts_once() -> None:
    game, row = put(TRIANGLE, phase="colour")
    assert legal(game, row) == {"colour P", "colour G", "colour B"}
    do(game, row, "colour P")
    assert [flowers(game, row, cell) for cell in ((1, 0), (2, 0), (1, 1))] == [{"P": 0}] * 3
    assert now(game, row) == ("draw", 0, [12, 15])


def test_a_loop_that_the_new_tile_closes_blooms_at_the_claim_not_before() -> None:
    game, row = put(TRIANGLE[:2], hand=("BBGGPP",))
    plant(game, row, "BBGGPP", "1,1")
    assert now(game, row) == ("colour", 0, [15, 15])
    do(game, row, "colour P")
    assert now(game, row) == ("draw", 0, [12, 15])


def test_a_claimed_vine_blooms_to_both_sides() -> None:
    # The start tile's P lies to the left of 1,0, two more to the right; a vine of the start tile has one end.
    game, row = put(ROW, hand=("PYYPKK",))
    plant(game, row, "PYYPKK")
    assert now(game, row) == ("colour", 0, [15, 15])
    do(game, row, "colour P")
    assert [flowers(game, row, (q, 0)) for q in range(4)] == [{"P": 0}] * 4
    assert now(game, row) == ("draw", 0, [11, 15])


# ------------------------------------------------------------------------------------------------------------ contested


def test_a_vine_between_two_owners_is_contested_and_the_active_seat_names_one_of_them() -> None:
    for owner, left in ((0, [13, 12]), (1, [14, 11])):
        game, row = put(ring(1, (0, 0), (0, 0))[:1], start={"P": 0}, hand=("GGPPBB",))
        plant(game, row, "GGPPBB")
        assert (flowers(game, row), now(game, row)) == ({}, ("owner", 0, [14, 12]))
        assert legal(game, row) == {"owner 0", "owner 1"}
        do(game, row, f"owner {owner}")
        assert (flowers(game, row), now(game, row)) == ({"P": owner}, ("colour", owner, left))


def test_owners_are_counted_from_the_active_seat() -> None:
    game, row = put(ring(1, (0, 0), (0, 0))[:1], start={"P": 0}, hand=("GGPPBB",), to_move=1)
    plant(game, row, "GGPPBB")
    do(game, row, "owner 0")
    assert flowers(game, row) == {"P": 1}


def test_of_a_vine_contested_between_two_others_the_active_seat_must_name_one_of_these() -> None:
    for seat in (2, 3):
        game, row = put(ring(1, (0, 0), (0, 0))[:1], start={"P": 0}, hand=("GGPPBB",), to_move=seat, num_players=4)
        plant(game, row, "GGPPBB")
        assert legal(game, row) == {f"owner {4 - seat}", f"owner {5 - seat}"}
    game, row = put(ring(1, (0, 0), (0, 0))[:1], start={"P": 0}, hand=("GGPPBB",), to_move=2, num_players=3)
    plant(game, row, "GGPPBB")
    assert legal(game, row) == {"owner 1", "owner 2"}
    do(game, row, "owner 2")
    assert (flowers(game, row), now(game, row)) == ({"P": 1}, ("colour", 1, [14, 11, 15]))


def test_several_contested_vines_are_decided_in_the_order_of_the_colours() -> None:
    game, row = put(ring(1, (0, 1), (0, 1)), start={"P": 0}, hand=("GGPPBB",))
    plant(game, row, "GGPPBB")
    assert (flowers(game, row), now(game, row)) == ({}, ("owner", 0, [8, 6]))
    do(game, row, "owner 1")
    assert (flowers(game, row), now(game, row)) == ({"P": 1}, ("owner", 1, [8, 5]))
    do(game, row, "owner 0")
    assert (flowers(game, row), now(game, row)) == ({"P": 1, "G": 0}, ("owner", 1, [7, 5]))
    do(game, row, "owner 1")
    assert (flowers(game, row), now(game, row)) == ({"P": 1, "G": 0, "B": 1}, ("board cell", 2, [7, 4]))


def test_all_that_is_not_contested_blooms_first() -> None:
    # P is contested, though the first of the colours; G and B are not.
    game, row = put(ring(1, (0, 0), (1, 1)), start={"P": 0}, hand=("GGPPBB",))
    plant(game, row, "GGPPBB")
    assert (flowers(game, row), now(game, row)) == ({"G": 0, "B": 1}, ("owner", 1, [7, 5]))


# ------------------------------------------------------------------------------------------------------ claims and gifts


def test_a_turn_brings_one_claim_on_the_new_tile_and_a_draw() -> None:
    game, row = put([], start={"K": 1}, hand=("GGPPBB",))
    plant(game, row, "GGPPBB")
    assert legal(game, row) == {"colour P", "colour G", "colour B"}
    do(game, row, "colour P")
    assert flowers(game, row, (0, 0)) == {"P": 0, "K": 1}  # it is connected to the start tile's
    assert (now(game, row), game.to_move(row)) == (("draw", 0, [13, 14]), pe.CHANCE)


def test_every_flower_that_bloomed_for_another_seat_earns_a_gift_each_vine_of_a_chain() -> None:
    game, row = put(ROW, start={"P": 1}, hand=("PYYPKK",))
    plant(game, row, "PYYPKK")
    assert now(game, row) == ("colour", 3, [15, 11])


def test_a_gift_must_be_taken_from_the_new_tile_while_it_has_an_empty_vine() -> None:
    game, row = put([], start={"P": 1}, hand=("GGPPBB",))
    plant(game, row, "GGPPBB")
    assert now(game, row) == ("colour", 1, [15, 13])
    do(game, row, "colour B")
    assert now(game, row) == ("colour", 0, [14, 13])
    assert legal(game, row) == {"colour G"}  # though the start tile has empty vines
    do(game, row, "colour G")
    assert now(game, row) == ("draw", 0, [13, 13])


def test_when_the_new_tile_is_full_the_claim_is_any_empty_vine_of_the_board() -> None:
    game, row = put(ring(0, (1, 1), (0, 0)), start={"P": 0}, hand=("GGPPBB",))
    plant(game, row, "GGPPBB")
    assert (flowers(game, row), now(game, row)) == ({"P": 0, "G": 1, "B": 0}, ("board cell", 1, [3, 8]))
    assert legal(game, row) == {"cell 0,0"}
    do(game, row, "cell 0,0")
    assert (now(game, row)[:2], game.position(row)["chosen"]) == (("board colour", 1), {"cell": [0, 0]})
    assert legal(game, row) == {f"colour {colour}" for colour in "OGBKY"}
    do(game, row, "colour O")
    assert now(game, row) == ("board cell", 0, [2, 8])
    do(game, row, "cell 0,0", "colour K")
    assert (now(game, row), game.position(row)["chosen"]) == (("draw", 0, [1, 8]), {})


def test_every_claim_and_gift_looks_at_the_new_tile_afresh() -> None:
    game, row = put(ROW, start={"P": 1}, hand=("PYYPKK",))
    plant(game, row, "PYYPKK")  # 3 gifts and the claim; the new tile has Y and K
    do(game, row, "colour Y", "colour K")
    assert now(game, row)[:2] == ("board cell", 1)
    do(game, row, "cell 2,0", "colour Y", "cell 3,0", "colour B")
    assert now(game, row) == ("draw", 0, [11, 11])


def test_gifts_that_cannot_be_claimed_are_lost() -> None:
    start = dict.fromkeys("PGBKY", 0)  # O alone is empty
    game, row = put(ring(0, (1, 1), (1, 1)), start=start, hand=("GGPPBB",))
    plant(game, row, "GGPPBB")
    assert now(game, row) == ("board cell", 2, [6, 1])
    do(game, row, "cell 0,0", "colour O")
    assert now(game, row) == ("draw", 0, [5, 1])


def test_when_nothing_is_empty_claim_and_gifts_are_skipped() -> None:
    game, row = put(ring(0, (1, 1), (1, 1)), start=dict.fromkeys("POGBKY", 0), hand=("GGPPBB",))
    plant(game, row, "GGPPBB")
    assert now(game, row) == ("draw", 0, [5, 1])
    # Likewise after a contested vine.
    game, row = put(ring(1, (1, 1), (0, 1)), start=dict.fromkeys("POGBKY", 0), hand=("GGPPBB",))
    plant(game, row, "GGPPBB")
    do(game, row, "owner 0", "owner 0")
    assert now(game, row) == ("draw", 0, [4, 2])


def test_gifts_earn_no_gifts() -> None:
    # The claimed G runs on to nobody else's profit: only vines that bloom while planting count.
    game, row = put(TRIANGLE, phase="colour", start={"K": 1}, gifts=1)
    do(game, row, "colour P")
    assert now(game, row)[:2] == ("colour", 0)


# ------------------------------------------------------------------------------------------------------------- the end

# 14 flowers of seat 1 and 4 of seat 0; the vines B and K of the start tile meet nothing.
NEARLY: Any = {"entries": ring(0, (1, 1), (1, 1)), "start": {"P": 0, "B": 1, "K": 1}}


def test_the_game_ends_at_once_when_a_seat_has_placed_its_15th_flower_whoever_is_to_move() -> None:
    game, row = put(**NEARLY, hand=("GGPPBB",))
    assert now(game, row) == ("tile", 0, [11, 1])
    plant(game, row, "GGPPBB")
    assert flowers(game, row) == {"P": 0, "G": 1, "B": 1}  # all that is due blooms, 16 flowers of seat 1
    found = game.position(row)
    assert (now(game, row), found["to_move"], found["chosen"]) == (("over", 0, [10, 0]), 0, {})
    assert len(found["hands"][0]) == 2
    assert payoffs(game, row) == [-1, 1]
    assert game.from_position(found).tobytes() == row.tobytes()


def test_a_contested_vine_is_not_asked_for_when_the_game_has_ended_before() -> None:
    start = {"P": 0, "B": 1, "K": 1}
    game, row = put([((0, 1), "PYYKKP", 1), *ring(0, (1, 1), (1, 0))[1:4]], start=start, hand=("GGPPBB",))
    assert now(game, row) == ("tile", 0, [14, 1])
    plant(game, row, "GGPPBB")
    assert (flowers(game, row), now(game, row)) == ({"G": 1, "B": 1}, ("over", 0, [14, 0]))
    assert payoffs(game, row) == [-1, 1]
    assert game.from_position(game.position(row)).tobytes() == row.tobytes()


def test_a_contested_vine_given_away_can_be_a_last_flower() -> None:
    for owner, phase in ((1, "over"), (0, "colour")):
        start = {"P": 0, "B": 1, "K": 1}
        game, row = put([((0, 1), "PYYKKP", 1), *ring(0, (1, 1), (1, 0))[1:4]], start=start, hand=("GGKKYY", "PPOOKK"))
        plant(game, row, "KKPPOO")  # its K and O meet no flower of their colour
        assert now(game, row) == ("owner", 0, [14, 1])
        do(game, row, f"owner {owner}")
        assert now(game, row) == (phase, 0, [14 - (owner == 0), int(owner == 0)])


def test_a_claim_can_be_the_last_flower_and_ends_the_game_before_the_gifts() -> None:
    game, row = put(**{**NEARLY, "to_move": 1}, hand=("PPOOKK",))
    plant(game, row, "KKPPOO")
    assert (flowers(game, row), now(game, row)) == ({"P": 0}, ("colour", 1, [10, 1]))
    do(game, row, "colour K")
    assert (now(game, row), game.position(row)["to_move"]) == (("over", 0, [10, 0]), 1)
    assert payoffs(game, row) == [-1, 1]


def test_all_seats_that_have_placed_15_by_then_win_together() -> None:
    # Seats 1 and 2 have 14 flowers each; the new tile's G blooms for one and its B for the other.
    garden: list[Entry] = [((-1, 0), "GGKKYY", 2), ((-1, 1), "BBYYGG", 2), ((0, -1), "OOYYBB", 1), ((-1, -1), "PPBBYY", 1)]
    entries = [*ring(1, (1, 1), (2, 2)), *garden]
    start = {"P": 0, "B": 2, "G": 2}
    game, row = put([(c, e, {"P": 0, "Y": 1, "K": 1} if c == (0, 1) else o) for c, e, o in entries], start=start,
                    hand=("GGPPBB",), num_players=3)  # fmt: skip
    assert now(game, row) == ("tile", 0, [13, 1, 1])
    plant(game, row, "GGPPBB")
    assert (flowers(game, row), now(game, row)) == ({"P": 0, "G": 1, "B": 2}, ("over", 0, [12, 0, 0]))
    assert payoffs(game, row) == [Fraction(-1, 2), Fraction(1, 4), Fraction(1, 4)]


def test_a_game_lasts_at_most_14_n_plus_1_turns() -> None:
    for n in (2, 3, 4):
        game = make(n)
        for seed in range(4):
            (*_, row) = play(game, seed)
            assert game.to_move(row) == pe.TERMINAL
            assert len(game.position(row)["board"]) - 1 <= 14 * n + 1


def test_without_a_tile_to_draw_the_next_seat_is_to_plant_one_that_it_holds() -> None:
    game = make(4)
    batch, agent, seen = pe.Batch(game, 64, seed=0), pe.make_agent("random", game), 0
    while seen < 20:
        batch.step(act(agent, batch))
        for i in np.flatnonzero((batch.rows["tiles"] > 49) & (batch.rows["phase"] == 1)):
            found = game.position(batch.rows[i : i + 1])
            assert found["hands"][found["to_move"]]
            assert sum(map(len, found["hands"])) == 61 - len(found["board"])
            assert game.from_position(found).tobytes() == batch.rows[i].tobytes()
            seen += 1


# ----------------------------------------------------------------------------------------------- against the oracle


def seek(game: pe.Game, row: Any, contests: bool, dice: np.random.Generator) -> list[int]:
    """Of some ways to plant one that makes a vine contested, or else the one with the most gifts; none that ends the game."""
    best: tuple[float, list[int]] = (-1.0, [])
    for _ in range(50):
        trial, actions = row.copy(), []
        for _ in range(3):
            actions.append(int(dice.choice(game.legal_actions(trial))))
            game.apply(trial, actions[-1])
        phase = int(trial["phase"][0])
        worth = float(phase == rules.OWNER) if contests else float(trial["gifts"][0])
        worth = 0.0 if phase == rules.OVER else 1.0 + worth
        best = max(best, (worth + dice.random(), actions))
    return best[1]


def test_games_with_much_contact_go_as_the_oracle_says() -> None:
    phases: Counter[str] = Counter()
    for seed, (num_players, board_radius) in enumerate([(2, 7), (3, 8), (4, 9), (4, 4)] * 3):
        game = make(num_players, board_radius)
        dice = np.random.default_rng(seed)
        row, other, planned = game.initial(), oracle.make(game), []
        while True:
            found = game.position(row)
            phases[found["phase"]] += 1
            assert found == other.position()
            assert game.legal_actions(row).tolist() == sorted(other.legal())
            if found["phase"] == "over":
                assert game.returns(row).tolist() == [float(payoff) for payoff in other.returns()]
                break
            if found["phase"] == "tile":
                planned = seek(game, row, seed % 3 > 0, dice)
            if found["phase"] in PLANTING:
                choice = planned.pop(0)
            elif found["phase"] == "draw":
                assert game.chance_outcomes(row)[0].tolist() == sorted(other.chance())
                choice = int(dice.choice(game.chance_outcomes(row)[0]))
            else:
                choice = int(dice.choice(game.legal_actions(row)))
            game.apply(row, choice)
            other.apply(choice)
    assert set(phases) == set(PHASES)
    assert phases["owner"] > 3


# ------------------------------------------------------------------------------------------------------ fixed agents


def greedy_plays(game: pe.Game, row: Any, times: int = 10) -> set[str]:
    """What the greedy agent may play here."""
    rows = np.repeat(row, times)
    masks = np.repeat(game.legal_mask(row)[None], times, axis=0)
    seats = np.full(times, game.to_move(row))
    observations = np.repeat(game.observe(row, seats[0])[None], times, axis=0)
    seeds = np.random.default_rng(0).integers(0, 2**64, times, np.uint64)
    actions = pe.make_agent("greedy", game).act(rows, observations, masks, seats, seeds)
    return {game.action_name(row, action) for action in actions.tolist()}


def greedy_turn(game: pe.Game, row: Any) -> None:
    """The active seat's turn, played by the greedy agent."""
    seat = game.to_move(row)
    while game.to_move(row) == seat:
        do(game, row, sorted(greedy_plays(game, row, 1))[0])


def test_greedy_plants_for_the_most_own_flowers() -> None:
    # PYYPKK between the start tile's P and the two after it brings three flowers, and turned by 3 its
    # Y meets an empty one, so that the claim brings two more.
    game, row = put(ROW, start={"P": 0}, hand=("PYYPKK", "BBOOYY", "OOYYGG"))
    assert greedy_plays(game, row) == {"tile PYYPKK"}
    do(game, row, "tile PYYPKK")
    assert greedy_plays(game, row) == {"cell 1,0"}
    do(game, row, "cell 1,0")
    assert greedy_plays(game, row) == {"rotation 3"}


def test_greedy_claims_the_vine_that_blooms_farthest() -> None:
    game, row = put(TRIANGLE, phase="colour")
    assert greedy_plays(game, row) == {"colour P"}
    game, row = put([*ROW, ((1, 0), "PYYPKK", dict.fromkeys("YK", 1))], phase="colour")
    assert greedy_plays(game, row) == {"colour P"}
    game, row = put([*ROW, ((-1, 0), "OOYYGG", 1)], phase="board cell")
    assert greedy_plays(game, row) == {"cell 2,0", "cell 3,0"}
    do(game, row, "cell 3,0")
    assert greedy_plays(game, row) == {"colour P"}


def test_greedy_wins_when_it_can_and_lets_no_other_seat_win_when_it_can_help_it() -> None:
    game, row = put(**{**NEARLY, "to_move": 1}, hand=("GGPPBB", "PPOOKK", "PPYYGG"))
    greedy_turn(game, row)
    assert payoffs(game, row) == [-1, 1]
    game, row = put(**NEARLY, hand=("GGPPBB", "PPOOKK", "PPYYGG"))
    greedy_turn(game, row)
    assert game.to_move(row) == pe.CHANCE
    start = {"P": 0, "B": 1, "K": 1}
    entries = [((0, 1), "PYYKKP", 1), *ring(0, (1, 1), (1, 0))[1:4]]
    game, row = put(entries, start=start, hand=("GGKKYY", "PPOOKK"))
    plant(game, row, "KKPPOO")
    assert greedy_plays(game, row) == {"owner 0"}


def test_greedy_looks_at_nothing_that_its_seat_cannot_know() -> None:
    game = make(3)
    for row in sample(game):
        seat = game.to_move(row)
        if seat >= 0:
            assert greedy_plays(game, row, 3) == greedy_plays(game, game.redeal(row, seat, 9), 3)


@pytest.mark.parametrize("num_players", [2, 3, 4])
def test_greedy_beats_random(num_players: int) -> None:
    game = make(num_players)
    batch = pe.Batch(game, 60, seed=0)
    greedy, random = pe.make_agent("greedy", game), pe.make_agent("random", game)
    hero = np.arange(60) % num_players  # the seat of the greedy agent in each game
    won, first = np.zeros(60), np.ones(60, np.bool_)
    while first.any():
        mine = (batch.seats == hero)[:, None]
        actions = np.where(mine[:, 0], act(greedy, batch), act(random, batch))
        step = batch.step(actions)
        ended = step.terminated & first
        won[ended] = step.rewards[ended, hero[ended]]
        first &= ~ended
    assert (won > 0).mean() > 0.9  # measured: 100 % of 2048 games, with any number of seats


def test_in_random_games_of_two_seat_0_wins_64_percent() -> None:
    game = make(2)
    batch, agent = pe.Batch(game, 2048, seed=1), pe.make_agent("random", game)
    won, games = 0, 0
    first = np.ones(2048, np.bool_)
    while first.any():
        step = batch.step(act(agent, batch))
        ended = step.terminated & first
        won += int((step.rewards[ended, 0] > 0).sum())
        games += int(ended.sum())
        first &= ~ended
    assert games == 2048
    assert 0.60 < won / games < 0.68


# ------------------------------------------------------------------------------------------------------------- advice


def grades(game: pe.Game, rows: Any) -> np.ndarray:
    """How much each action is advised in each of these positions."""
    return Adviser(game).advise(rows, np.stack([game.legal_mask(rows[k : k + 1]) for k in range(len(rows))]))


def test_the_advice_is_to_win_if_one_can() -> None:
    game, row = put(**{**NEARLY, "to_move": 1}, hand=("GGPPBB", "PPOOKK", "PPYYGG"))
    while game.to_move(row) == 1:
        game.apply(row, int(grades(game, row)[0].argmax()))
    assert payoffs(game, row) == [-1, 1]


@pytest.mark.parametrize("num_players", [2, 3, 4])
def test_the_advice_beats_greedy(num_players: int) -> None:
    class Advised:
        name = "advised"

        def act(self, rows: Any, observations: Any, masks: Any, seats: Any, seeds: Any) -> Any:
            return np.where(masks, grades(game, rows), -1).argmax(1)

    game = make(num_players)
    match = play_match(game, Advised(), pe.make_agent("greedy", game), 240, seed=3)
    assert match.win_rate.low > 1 / num_players + 0.05  # measured: 76, 56 and 48 % of 1,200 games or more


@pytest.mark.parametrize("num_players", [2, 3, 4])
def test_the_advice_weighs_the_turns_that_greedy_likes_best(num_players: int) -> None:
    """By playing them: every turn to its end, and of the next seat all hands of three of the tiles that stand for the unseen."""
    game = make(num_players)
    rows = [row for row in sample(game) if game.position(row)["phase"] in PLANTING]
    for row in rows[:: 1 + len(rows) // 4]:
        worth = dict.fromkeys(game.legal_actions(row).tolist(), -40.0)
        for action, ended in turns(game, row):
            worth[action] = max(worth[action], odds(game, ended, game.to_move(row)))
        assert_advised(game, row, worth)


def test_the_advice_weighs_each_vine_to_claim() -> None:
    seen = set()
    positions = [(make(n), row) for n in (2, 3, 4) for row in sample(make(n))]
    game, row = put([*ROW, ((-1, 0), "OOYYGG", 1)], phase="board cell")  # on the tile that was planted nothing is left to claim
    positions += [(game, row.copy())]
    do(game, row, "cell 3,0")
    positions += [(game, row)]
    for game, row in positions:
        phase = game.position(row)["phase"]
        if phase == "board cell":  # it counts as the best claim there
            assert_advised(
                game, row, {a: max(claims(game, applied(game, row, a)).values()) for a in game.legal_actions(row).tolist()}
            )
        elif phase in ("colour", "board colour"):
            assert_advised(game, row, claims(game, row))
        seen.add(phase)
    assert seen >= {"colour", "board cell", "board colour"}


def assert_advised(game: pe.Game, row: Any, worth: dict[int, float]) -> None:
    """The grades are those of actions that are worth so much: 0.05 are a grade."""
    for action, value in worth.items():
        above = max(0.0, GRADES - (max(worth.values()) - value) / 0.05)
        assert np.ceil(above - 1e-6) <= grades(game, row)[0, action] <= np.ceil(above + 1e-6)  # where sums are not exact, either


def turns(game: pe.Game, row: Any) -> Iterator[tuple[int, Any]]:
    """The 32 placements that greedy likes best: the next action that leads there, and the position at the end of that turn."""
    seat, phase = game.to_move(row), game.position(row)["phase"]
    tiles = range(3) if phase == "tile" else [int(row["pick"][0]) - 1]
    cells = [int(row["target"][0])] if phase == "rotation" else row["frontier"][0, : row["room"][0]].tolist()
    ways = [(tile, cell, turn) for tile in tiles for cell in cells for turn in range(6)]
    longest = rules.longest_on_board(game.tables[0], row[0])
    ways.sort(key=lambda way: -turn_worth(game, row, longest, int(row["hands"][0, seat, way[0]]), *way[1:]))
    table = game.tables[0]
    for tile, cell, turn in ways[:32]:
        there = [tile, 3 + int(table.number[cell]), int(table.rotations) + turn][PLANTING.index(phase) :]
        later = row
        for action in there:
            later = applied(game, later, action)
        while game.to_move(later) == seat:
            later = applied(game, later, decided(game, later))
        yield there[0], later


def applied(game: pe.Game, row: Any, action: int) -> Any:
    later = row.copy()
    game.apply(later, action)
    return later


def turn_worth(game: pe.Game, row: Any, longest: int, tile: int, cell: int, turn: int) -> float:
    """What planting a tile so would be worth to the active seat, as greedy reckons; `longest`: the most that one claim brings."""
    return float(rules.prospect(game.tables[0], row[0], cell, int(game.tables[0].face[tile, turn]), longest))


def decided(game: pe.Game, row: Any) -> int:
    """How the advice takes a turn to go on when its tile is planted."""
    found, actions = game.position(row), game.legal_actions(row).tolist()
    if found["phase"] == "owner":
        after = {action: int(game.action_name(row, action).split()[1]) for action in actions}
        left = {a: found["flowers_left"][(found["to_move"] + after[a]) % game.num_players] for a in actions}
        return min(actions, key=lambda action: (after[action] > 0, -left[action]))
    if found["phase"] == "board cell":
        return max(actions, key=lambda action: max(claims(game, applied(game, row, action)).values()))
    worth = claims(game, row)
    return max(actions, key=lambda action: worth[action])


def claims(game: pe.Game, row: Any) -> dict[int, float]:
    """The flowers that each claim of a vine brings, and 0.3 for each open end of its own."""
    found = game.position(row)
    tile = found["board"][-1]
    if found["chosen"]:
        tile = next(entry for entry in found["board"] if entry["cell"] == found["chosen"]["cell"])
    worth = {}
    for action in game.legal_actions(row).tolist():
        colour = game.action_name(row, action)[-1]
        blooms = planted(game.position(applied(game, row, action))) - planted(found)
        worth[action] = blooms + 0.3 * sum(edge == colour for edge in open_ends(game, found, tile))
    return worth


def planted(found: dict[str, Any]) -> int:
    """How many flowers are on the board."""
    return sum(len(entry["flowers"]) for entry in found["board"])


def open_ends(game: pe.Game, found: dict[str, Any], tile: dict[str, Any]) -> list[str]:
    """The colours at those edges of a tile where another may be planted."""
    taken = {tuple(entry["cell"]) for entry in found["board"]}
    beside = [oracle.neighbour(tile["cell"], e) for e in range(6)]
    radius = game.options["board_radius"]
    return [tile["edges"][e] for e in range(6) if beside[e] not in taken and oracle.distance(beside[e]) <= radius]


def odds(game: pe.Game, row: Any, seat: int) -> float:
    """How a seat stands at the end of its turn: the logarithm of the odds that it wins."""
    found = game.position(row)
    left = found["flowers_left"]
    if found["phase"] == "over":
        return 20 if left[seat] == 0 else -20
    others = float(np.mean([left[p] for p in range(game.num_players) if p != seat]))
    flowers = [tile["flowers"][c] for tile in found["board"] for c in open_ends(game, found, tile) if c in tile["flowers"]]
    hidden = {text for p in range(game.num_players) if p != seat for text in found["hands"][p]}
    row = row.copy()
    row["seat"] = seat
    own = [best_turn(game, row, TILES.index(text)) for text in found["hands"][seat]]
    row["seat"] = (seat + 1) % game.num_players
    replies = [best_turn(game, row, tile) for tile in range(60) if row["deck"][0, tile] or TILES[tile] in hidden]
    sequel = max(0, *(min(worth, left[seat], 8) for worth in own))
    sure = (0, 0.52, 0.89)[own.count(1000)]
    chances = []
    for reply in (max(hand) for hand in combinations(replies, 3)):
        lead = others - left[seat] + 0.6 * sequel - 1.1 * max(-8, min(reply, 8))
        lead += 0.066 * sum(1 if owner == seat else -1 for owner in flowers)
        steepness = 1.66 * np.exp(0.041 * (18 - left[seat] - others))
        chances.append(0 if reply == 1000 else sure + (1 - sure) / (1 + np.exp(-0.16 - steepness * lead)))
    chance = float(np.mean(chances))
    return float(np.log((chance + 0.001) / (1.001 - chance)))


def best_turn(game: pe.Game, row: Any, tile: int) -> float:
    """What planting a tile is worth to the active seat, as greedy reckons."""
    longest = rules.longest_on_board(game.tables[0], row[0])
    cells = row["frontier"][0, : row["room"][0]].tolist()
    return max(turn_worth(game, row, longest, tile, cell, turn) for cell in cells for turn in range(6))


# -------------------------------------------------------------------------------------------------------- what is seen


def visible(game: pe.Game, found: dict[str, Any], seat: int) -> dict[str, Any]:
    """What a seat may see of a position, but for the order of planting."""
    seats = [(seat + after) % game.num_players for after in range(game.num_players)]
    board = {
        tuple(entry["cell"]): (entry["edges"], {colour: seats.index(owner) for colour, owner in entry["flowers"].items()})
        for entry in found["board"]
    }
    return {
        "board": board,
        "newest": tuple(found["board"][-1]["cell"]),
        "hand": found["hands"][seat],
        "sizes": [len(found["hands"][p]) for p in seats],
        "left": [found["flowers_left"][p] for p in seats],
        "phase": found["phase"],
        "cell": found["chosen"].get("cell"),
        "tile": found["chosen"].get("tile") if found["to_move"] == seat else None,
        "gifts": found["gifts"],
        "turn": seats.index(found["to_move"]),
    }


def decoded(game: pe.Game, view: np.ndarray) -> dict[str, Any]:
    """The same, read from an observation with nothing but the manual page."""
    n, radius = game.num_players, game.options["board_radius"]
    part = {name: view[where] for name, (where, _) in game.observation_fields.items()}
    edges = part["edges"].reshape(6, 6, *view.shape[1:])  # colour, edge, y, x
    text = {
        (x - radius, y - radius): "".join("POGBKY"[colour] for colour in edges[:, :, y, x].argmax(axis=0))
        for y, x in np.argwhere(edges.any(axis=(0, 1))).tolist()
    }
    assert edges.sum(axis=0).max() == 1
    frontier = {(x - radius, y - radius) for y, x in np.argwhere(part["frontier"][0]).tolist()}
    hand = [text.pop((j - radius, -radius)) for j in range(3) if (j - radius, -radius) in text]
    facts = part["facts"][0]
    (newest,) = np.argwhere(part["newest"][0]).tolist()
    chosen = [(x - radius, y - radius) for y, x in np.argwhere(part["chosen"][0]).tolist()]
    cells = [list(cell) for cell in chosen if oracle.distance(cell) <= radius]
    tiles = [hand[cell[0] + radius] for cell in chosen if oracle.distance(cell) > radius]
    board: dict[tuple[int, int], Any] = {cell: (edges, {}) for cell, edges in text.items() if cell not in frontier}
    for after, name in enumerate(["own", *(f"next_{k}" for k in range(1, n))]):
        for colour, y, x in np.argwhere(part[name]).tolist():
            board[x - radius, y - radius][1]["POGBKY"[colour]] = after
    # The chosen tile is shown wherever it may still go.
    shown = {text[cell] for cell in frontier if cell in text}
    assert shown == set(tiles)
    if tiles:
        assert {cell for cell in frontier if cell in text} == ({tuple(cells[0])} if cells else frontier)
    return {
        "board": board,
        "newest": (newest[1] - radius, newest[0] - radius),
        "hand": hand,
        "sizes": facts[3, :n].tolist(),
        "left": facts[2, :n].tolist(),
        "phase": PHASES[facts[0].argmax()],
        "cell": cells[0] if cells else None,
        "tile": tiles[0] if tiles else None,
        "gifts": facts[4, 0],
        "turn": facts[1, :n].argmax(),
    }


@pytest.mark.parametrize("num_players", [2, 3, 4])
def test_an_observation_tells_all_that_a_seat_may_see(num_players: int) -> None:
    game = make(num_players)
    for row in sample(game):
        for seat in range(num_players):
            view = game.observe(row, seat)
            assert decoded(game, view) == visible(game, game.position(row), seat)
            facts = view[game.observation_fields["facts"][0]][0]
            assert facts[0].sum() == facts[1].sum() == 1
            assert facts[5].sum() == (game.position(row)["phase"] == "owner")
            assert not facts[2:4, num_players:].any()
            assert not facts[4, 1:].any()
            assert not facts[6:].any()


def test_the_colour_of_the_contested_vine_is_seen() -> None:
    game, row = put(ring(1, (0, 1), (0, 1)), start={"P": 0}, hand=("GGPPBB",))
    plant(game, row, "GGPPBB")
    for colour in "PGB":
        for seat in range(2):
            assert game.observe(row, seat)[-1, 5, :6].tolist() == [int(c == colour) for c in "POGBKY"]
        assert f"names the owner of vine {colour} on 1,0" in game.text(row)
        do(game, row, "owner 0")


def test_which_tile_is_chosen_is_hidden_from_the_others_until_it_is_planted() -> None:
    hand = ("PPYYKK", "PPBBYY", "PPYYGG")
    for names in ([], ["cell 0,1"]):
        rows = []
        for edges in hand[:2]:
            game, row = put([], hand=hand, num_players=3)
            do(game, row, f"tile {LYING[edges][0]}", *names)
            rows.append(row)
        for seat, same in ((0, False), (1, True), (2, True)):
            assert (game.observe(rows[0], seat).tobytes() == game.observe(rows[1], seat).tobytes()) == same
            assert (game.text(rows[0], seat) == game.text(rows[1], seat)) == same


def test_the_text_shows_the_board_and_only_the_own_hand() -> None:
    game, row = put(ROW, start={"P": 1}, hand=("PYYPKK",), num_players=3)
    text = game.text(row, 1)
    assert "> player_0  15 flowers left, 3 tiles" in text
    assert f"  player_1  14 flowers left, {' '.join(game.position(row)['hands'][1])}  you" in text
    lines = text.splitlines()
    at = next(number for number, line in enumerate(lines) if " 0,0 " in line)
    assert "B. 0,0  P1" in lines[at]
    assert "K.  Y." in lines[at - 1]
    assert "G.  O." in lines[at + 1]


# -------------------------------------------------------------------------------------------------------------- redeal


def test_a_redeal_spreads_the_unseen_tiles_evenly_over_the_other_hands_and_the_deck() -> None:
    game, row = put(ROW, start={"P": 1}, hand=("PYYPKK",), num_players=3)
    do(game, row, "tile PYYPKK")
    own, *others = game.position(row)["hands"]
    on_board = {LYING[edges][0] for _, edges, _ in ROW}
    seat_0, seat_1 = Counter(), Counter()  # type: Counter[Any], Counter[Any]
    pairs: Counter[Any] = Counter()
    times = 2000
    for seed in range(times):
        hands = game.position(game.redeal(row, 0, seed))["hands"]
        assert hands[0] == own
        assert [len(hand) for hand in hands] == [3, 3, 3]
        seat_0.update(hands[1] + hands[2])
        pairs[hands[1][0] < hands[2][0]] += 1
        found = game.position(game.redeal(row, 1, seed))
        assert found["hands"][1] == others[0]
        seat_1[found["chosen"]["tile"]] += 1
    for drawn, known, slots in ((seat_0, set(own), 6), (seat_1, set(others[0]), 1)):
        unseen = set(TILES) - on_board - known
        assert set(drawn) == unseen
        expected = times * slots / len(unseen)
        counts = np.array([drawn[text] for text in unseen])
        # Chi-squared with 52 degrees of freedom is below 95 but once in 4000 times.
        assert ((counts - expected) ** 2 / expected).sum() < 95
    assert abs(pairs[True] - times / 2) < 4 * (times / 4) ** 0.5


def test_a_redeal_keeps_what_the_seat_sees_and_the_place_of_a_chosen_tile() -> None:
    for row in sample(make(3)):
        found = make(3).position(row)
        for seat in range(3):
            other = make(3).position(make(3).redeal(row, seat, 5))
            assert visible(make(3), other, seat) == visible(make(3), found, seat)
            assert other["board"] == found["board"]
            assert other["hands"][seat] == found["hands"][seat]
            if "tile" in found["chosen"]:
                mover = found["to_move"]
                place = found["hands"][mover].index(found["chosen"]["tile"])
                assert other["hands"][mover].index(other["chosen"]["tile"]) == place


# ----------------------------------------------------------------------------------------------------------- positions

BASE = position([*ring(1, (0, 1), (0, 0))[:3]], start={"P": 0}, hand=("GGPPBB",))
CELL = {**BASE, "phase": "cell", "chosen": {"tile": "BBGGPP"}}
CLAIM = position(TRIANGLE, phase="colour")
BOARD = position([*ring(1, (0, 0), (0, 0)), ((1, 0), "GGPPBB", 1)], start={"P": 1}, phase="board colour", chosen={"cell": [0, 0]})
FULL = position(
    [*ring(0, (1, 1), (1, 1)), ((1, 0), "GGPPBB", {"P": 0, "G": 1, "B": 1})], start=dict.fromkeys("POGBKY", 0), phase="draw"
)
OVER = position([*NEARLY["entries"], ((1, 0), "GGPPBB", {"P": 0, "G": 1, "B": 1})], start=NEARLY["start"], phase="over")


def changed(found: dict[str, Any], change: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
    found = copy.deepcopy(found)
    change(found)
    return found


def with_board(k: int, **entries: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda found: found["board"][k].update(entries)


@pytest.mark.parametrize("found", [BASE, CELL, CLAIM, BOARD, FULL, OVER])
def test_the_positions_that_are_damaged_below_are_sound(found: dict[str, Any]) -> None:
    game = make()
    assert game.position(game.from_position(found)) == found


@pytest.mark.parametrize(
    ("found", "change", "message"),
    [
        # the board
        (BASE, lambda p: p.update(board=[]), "board is empty, without the start tile"),
        (BASE, lambda p: p["board"].pop(0), r"board\[0\] must be the start tile"),
        (BASE, with_board(0, edges="OGBKYP"), r"board\[0\] must be the start tile"),
        (BASE, with_board(0, cell=[1, 0]), r"board\[0\] must be the start tile"),
        (BASE, with_board(1, edges="POGBKY"), r"board\[1\].edges must be .* a tile of the set"),
        (BASE, with_board(1, edges="PPOOGY"), r"board\[1\].edges must be .* a tile of the set"),
        (BASE, with_board(1, cell=[0, 0]), r"board\[1\].cell is \[0, 0\], where there is a tile already"),
        (BASE, with_board(2, cell=[0, 1]), r"board\[2\].cell is \[0, 1\], where there is a tile already"),
        (BASE, with_board(1, cell=[2, 2]), r"board\[1\].cell is \[2, 2\], which is next to no tile planted before"),
        (BASE, lambda p: p["board"].insert(1, p["board"].pop(2)), r"board\[1\].cell is \[1, 1\], which is next to no tile"),
        (BASE, with_board(1, cell=[8, 0]), r"board\[1\].cell is \[8, 0\], beyond the board's radius of 7"),
        (BASE, with_board(1, cell=[5, 5]), r"board\[1\].cell is \[5, 5\], beyond the board's radius of 7"),
        (BASE, with_board(1, cell=[0, 1, 0]), r"board\[1\].cell must have 2 entries, not 3"),
        (BASE, with_board(2, edges="PPYYKK"), r"board\[2\] is the tile PPYYKK, which is board\[1\] already"),
        (BASE, with_board(1, flowers={"O": 1}), r"board\[1\].flowers has a flower on 'O', but the tile has no such vine"),
        (BASE, with_board(1, flowers={"P": 2}), r"board\[1\].flowers of P must be a whole number from 0 to 1, not 2"),
        (BASE, with_board(1, flowers=["P"]), r"board\[1\].flowers must be a dict"),
        (BASE, with_board(1, flowers={"P": 1, "K": 1}), r"flowers_left\[1\] must be 10, not 9: 5 of them are on the board"),
        # hands
        (BASE, lambda p: p["hands"].pop(), "hands must have 2 entries, not 1"),
        (BASE, lambda p: p["hands"][0].append("KOKYOY"), r"hands\[0\] has 4 tiles, but a hand holds 3"),
        (BASE, lambda p: p["hands"][0].pop(), r"hands\[0\] must have 3 tiles here, not 2"),
        (BASE, lambda p: p["hands"][1].pop(), r"hands\[1\] must have 3 tiles here, not 2"),
        (CLAIM, lambda p: p["hands"][0].append("KOKYOY"), r"hands\[0\] must have 2 tiles here, not 3"),
        (BASE, lambda p: p["hands"][1].__setitem__(0, "PPYYKK"), r"hands\[1\]\[0\] is the tile PPYYKK, which is board\[1\]"),
        (BASE, lambda p: p["hands"][1].__setitem__(0, "BBGGPP"), r"hands\[1\]\[0\] is the tile BBGGPP, which is hands\[0\]\[0\]"),
        (BASE, lambda p: p["hands"][0].__setitem__(0, "GGPPBB"), r"hands\[0\]\[0\] must be the tile unturned, 'BBGGPP'"),
        # flowers
        (BASE, lambda p: p.update(flowers_left=[15, 9]), r"flowers_left\[0\] must be 11, not 15: 4 of them are on the board"),
        (BASE, lambda p: p.update(flowers_left=[11]), "flowers_left must have 2 entries, not 1"),
        (OVER, lambda p: p.update(phase="draw"), "seat 1 has no flower left, so the phase must be 'over', not 'draw'"),
        (CLAIM, lambda p: p.update(phase="over"), "phase is 'over', but every seat has flowers left"),
        (
            CLAIM,
            lambda p: (p["board"][1].update(flowers={"P": 1}), p.update(flowers_left=[15, 14])),
            r"the empty vine P of board\[2\] meets a flower of seat 1, so it would have bloomed",
        ),
        # phases
        (BASE, lambda p: p.update(phase="plant"), "phase must be one of 'draw', 'tile'"),
        (BASE, lambda p: p.update(to_move=2), "to_move must be a whole number from 0 to 1, not 2"),
        (CLAIM, lambda p: p.update(phase="owner"), "phase is 'owner', but no vine of the newest tile is contested"),
        (BOARD, lambda p: p.update(phase="colour", chosen={}), "phase is 'colour', but the newest tile has no empty vine"),
        (CLAIM, lambda p: p.update(phase="board cell"), "phase is 'board cell', but the newest tile has an empty vine"),
        (FULL, lambda p: p.update(phase="board cell"), "phase is 'board cell', but no vine of the board is empty"),
        (
            position([], phase="tile", hand=("GGPPBB",)),
            lambda p: (p.update(phase="colour"), p["hands"][0].pop()),
            "phase 'colour' needs a tile planted this turn, but only the start tile is on the board",
        ),
        # chosen and gifts
        (BASE, lambda p: p.update(chosen={"tile": "BBGGPP"}), "chosen, at phase 'tile', has the unknown key 'tile'"),
        (CELL, lambda p: p.update(chosen={}), "chosen, at phase 'cell', has no key 'tile'"),
        (CELL, lambda p: p.update(chosen={"tile": "PPYYKK"}), "chosen.tile, of the hand of seat 0, must be one of 'BBGGPP', "),
        (
            CELL,
            lambda p: p.update(phase="rotation", chosen={"tile": "BBGGPP", "cell": [0, 1]}),
            r"chosen.cell is \[0, 1\], where no tile can be planted",
        ),
        (
            CELL,
            lambda p: p.update(phase="rotation", chosen={"tile": "BBGGPP", "cell": [4, 0]}),
            r"chosen.cell is \[4, 0\], where no tile can be planted",
        ),
        (BOARD, lambda p: p.update(chosen={"cell": [1, 0]}), r"chosen.cell is \[1, 0\], where no vine is empty"),
        (BOARD, lambda p: p.update(chosen={"cell": [5, 0]}), r"chosen.cell is \[5, 0\], where no vine is empty"),
        (BASE, lambda p: p.update(gifts=1), "gifts is 1, but there are none at phase 'tile'"),
        (BOARD, lambda p: p.update(gifts=8), "gifts is 8, but only 7 flowers of others are on the board"),
        (BOARD, lambda p: p.update(gifts=-1), "gifts must be a whole number"),
    ],
)
def test_a_position_that_cannot_be_is_refused_with_the_reason(
    found: dict[str, Any], change: Callable[[dict[str, Any]], Any], message: str
) -> None:
    with pytest.raises(pe.PositionError, match=message):
        make().from_position(changed(found, change))
