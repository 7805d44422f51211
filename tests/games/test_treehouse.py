"""Treehouse, ruling by ruling, with positions made by hand."""

from __future__ import annotations

import json
from collections import defaultdict
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

import pyramid_envs as pe
from tests.oracles import treehouse as oracle
from tests.playing import act

FACES = ("AIM", "TIP", "HOP", "SWAP", "DIG", "WILD")
TREE, HOUSE = "LMS", "L< S M>"


@cache
def make(num_players: int = 2, dig_away: bool = False) -> pe.Game:
    return pe.make_game("treehouse", num_players=num_players, dig_away=dig_away)


def put(trios: list[str], house: str = HOUSE, roll: str | None = None, to_move: int = 0, dig_away: bool = False) -> Any:
    """The game and the row of a position."""
    game = make(len(trios), dig_away)
    return game, game.from_position({"trios": trios, "house": house, "roll": roll, "to_move": to_move})


def legal(trios: list[str], house: str, roll: str, dig_away: bool = False) -> set[str]:
    """The names of what seat 0 may do."""
    game, row = put(trios, house, roll, dig_away=dig_away)
    return {game.action_name(row, action) for action in game.legal_actions(row).tolist()}


@cache
def moves(trio: str, kind: str, dig_away: bool = False) -> dict[str, str]:
    """What a kind of action makes of the own trio, by the action's name without its first two words."""
    game, row = put([trio, TREE], "SML" if trio != "SML" else "SLM", "WILD", dig_away=dig_away)
    found = {}
    for action in game.legal_actions(row).tolist():
        whose, named, where = game.action_name(row, action).split(" ", 2)
        if (whose, named) == ("own", kind):
            after = row.copy()
            game.apply(after, action)
            found[where] = game.position(after)["trios"][0]
    return found


def play(trios: list[str], house: str, roll: str, action: str, to_move: int = 0) -> tuple[dict[str, Any], Any]:
    """The position after an action, and the payoffs as fractions (None before the end)."""
    game, row = put(trios, house, roll, to_move)
    game.apply(row, game.parse_action(row, action))
    payoffs = [Fraction(payoff).limit_denominator(100) for payoff in game.returns(row).tolist()]
    return game.position(row), payoffs if game.to_move(row) == pe.TERMINAL else None


# ------------------------------------------------------------------------------------------------------ known counts


def test_there_are_204_arrangements() -> None:
    texts = oracle.arrangements()
    assert len(set(texts)) == 204
    assert [sum(len(text.split()) == columns for text in texts) for columns in (3, 2, 1)] == [162, 36, 6]
    rows = {put([text, "SML"], "SLM")[1].tobytes() for text in texts}
    assert len(rows) == 204


@pytest.mark.parametrize(
    ("kind", "numbered", "distinct", "without"),
    [
        ("AIM", 1044, 1044, 6),
        ("TIP", 432, 432, 48),
        ("HOP", 912, 864, 48),
        ("SWAP", 612, 612, 0),
        ("DIG", 900, 900, 54),
    ],
)
def test_every_kind_of_action_makes_a_known_number_of_changes(kind: str, numbered: int, distinct: int, without: int) -> None:
    found = {trio: moves(trio, kind) for trio in oracle.arrangements()}
    assert sum(len(results) for results in found.values()) == numbered
    assert len({(trio, result) for trio, results in found.items() for result in results.values()}) == distinct
    assert sum(not results for results in found.values()) == without
    assert all(result != trio for trio, results in found.items() for result in results.values())


def test_digging_away_makes_a_known_number_of_changes() -> None:
    found = {trio: moves(trio, "DIG", dig_away=True) for trio in oracle.arrangements()}
    assert len({(trio, result) for trio, results in found.items() for result in results.values()}) == 1020
    assert sum(not results for results in found.values()) == 24


def test_known_distances_in_free_actions() -> None:
    texts = oracle.arrangements()
    following = {trio: {result for kind in FACES[:5] for result in moves(trio, kind).values()} for trio in texts}

    def distances(start: str) -> dict[str, int]:
        reached, border = {start: 0}, [start]
        while border:
            border = [result for trio in border for result in sorted(following[trio]) if result not in reached]
            steps = max(reached.values()) + 1
            reached.update(dict.fromkeys(border, steps))
        return reached

    found = {start: distances(start) for start in texts}
    assert found[TREE][HOUSE] == 4
    assert found[HOUSE][TREE] == 2
    assert all(len(reached) == 204 for reached in found.values())
    assert max(max(reached.values()) for reached in found.values()) == 5


@cache
def leaves(game: pe.Game, bytes_of_row: bytes, depth: int) -> int:
    row = np.frombuffer(bytes_of_row, game.row_dtype).copy()
    if depth == 0:
        return 1
    total = 0
    for choice in [*game.legal_actions(row).tolist(), *game.chance_outcomes(row)[0].tolist()]:
        after = row.copy()
        game.apply(after, choice)
        total += leaves(game, after.tobytes(), depth - 1)
    return total


def leaves_of_oracle(game: Any, depth: int) -> int:
    if depth == 0:
        return 1
    total = 0
    for choice in [*game.legal(), *game.chance()]:
        after = game.copy()
        after.apply(choice)
        total += leaves_of_oracle(after, depth - 1)
    return total


# The number of sequences of 1, 2, .. events, rolls and actions counted alike. The oracle has counted the same.
LEAVES = {2: [5, 40, 215, 1711, 9516, 81598], 3: [5, 40, 215, 1711, 9464, 76282], 4: [5, 40, 215, 1711, 9464, 76282]}


@pytest.mark.parametrize("num_players", [2, 3, 4])
def test_known_sizes_of_the_tree_from_the_start(num_players: int) -> None:
    game = make(num_players)
    counts = [leaves(game, game.initial().tobytes(), depth) for depth in range(1, len(LEAVES[num_players]) + 1)]
    assert counts == LEAVES[num_players]
    assert leaves_of_oracle(oracle.Oracle(num_players), 3) == counts[2]


# ------------------------------------------------------------------------------------------------ start, names, numbers


@pytest.mark.parametrize("num_players", [2, 3, 4])
def test_the_start(num_players: int) -> None:
    game = make(num_players)
    row = game.initial()
    assert game.position(row) == {"trios": [TREE] * num_players, "house": HOUSE, "roll": None, "to_move": 0}
    assert game.to_move(row) == pe.CHANCE


def test_actions_and_outcomes_are_numbered_as_the_manual_says() -> None:
    game, row = put([TREE, TREE], roll="WILD")
    on_trio = [f"AIM {piece} {direction}" for piece in "SML" for direction in ("left", "up", "right")]
    on_trio += [f"TIP {piece} {side}" for piece in "SML" for side in ("left", "right")]
    slots = ("gap 0", "column 0", "gap 1", "column 1", "gap 2")
    on_trio += [f"HOP {piece} {slot}" for piece in "SML" for slot in slots]
    on_trio += ["SWAP S M", "SWAP S L", "SWAP M L"]
    on_trio += [f"DIG {piece} {slot}" for piece in "SML" for slot in slots]
    names = [f"own {name}" for name in on_trio] + [f"house {name}" for name in on_trio] + ["pass"]
    assert game.num_actions == len(names) == 97
    assert [game.action_name(row, action) for action in range(97)] == names
    _, row = put(["S> M L", TREE])
    assert [game.outcome_name(row, face) for face in range(6)] == list(FACES)


# ------------------------------------------------------------------------------------------------------- the actions


def test_aim_turns_a_piece_that_is_alone_in_its_column() -> None:
    assert moves("L< S M>", "AIM") == {
        "L up": "L S M>",
        "L right": "L> S M>",
        "S left": "L< S< M>",
        "S right": "L< S> M>",
        "M left": "L< S M<",
        "M up": "L< S M",
    }
    assert moves("LM S", "AIM") == {"S left": "LM S<", "S right": "LM S>"}
    assert moves("LMS", "AIM") == {}


def test_tip_fells_a_whole_standing_column_with_the_top_piece_farthest() -> None:
    assert moves("LMS", "TIP") == {"L right": "L> M> S>", "L left": "S< M< L<"}
    assert moves("SL M>", "TIP") == {"S left": "L< S< M>", "S right": "S> L> M>"}
    assert moves("L< S M>", "TIP") == {"S left": "L< S< M>", "S right": "L< S> M>"}
    assert moves("L< S> M>", "TIP") == {}


def test_hop_takes_along_what_stands_on_the_piece() -> None:
    assert moves("LMS", "HOP") == {"S gap 0": "S LM", "S gap 1": "LM S", "M gap 0": "MS L", "M gap 1": "L MS"}


def test_a_lying_piece_that_is_hopped_on_stands_up() -> None:
    assert moves("L< S M>", "HOP") == {
        "S gap 0": "S L< M>",
        "S column 0": "LS M>",
        "S column 1": "L< MS",
        "S gap 2": "L< M> S",
    }


def test_hop_moves_a_whole_column_among_the_others() -> None:
    assert moves("LM S<", "HOP") == {
        "L column 0": "SLM",
        "L gap 1": "S< LM",
        "M gap 0": "M L S<",
        "M gap 1": "L M S<",
        "M column 1": "L SM",
        "M gap 2": "L S< M",
    }


def test_swapped_pieces_keep_their_directions() -> None:
    assert moves("L< S M>", "SWAP") == {"S M": "L< M> S", "S L": "S L< M>", "M L": "M> S L<"}


def test_a_piece_that_is_swapped_into_a_stack_stands_up_and_one_that_leaves_it_stays_upright() -> None:
    assert moves("LM S>", "SWAP") == {"S M": "LS M", "S L": "SM L", "M L": "ML S>"}
    assert moves("LMS", "SWAP") == {"S M": "LSM", "S L": "SML", "M L": "MLS"}


def test_three_swaps_are_always_possible() -> None:
    assert all(len(moves(trio, "SWAP")) == 3 for trio in oracle.arrangements())


def test_dig_comes_up_standing_on_the_side_to_which_the_piece_points() -> None:
    assert moves("S M L<", "DIG") == {
        "L gap 2": "S M L",
        "L column 1": "S LM",
        "L gap 1": "S L M",
        "L column 0": "LS M",
        "L gap 0": "L S M",
    }
    assert moves("S M> L", "DIG") == {"M gap 1": "S M L", "M column 1": "S ML", "M gap 2": "S L M"}
    assert moves("S M< L", "DIG") == {"M gap 1": "S M L", "M column 0": "MS L", "M gap 0": "M S L"}


def test_a_stack_rides_on_the_piece_that_digs_under_it_and_a_lying_piece_stands_up() -> None:
    assert moves("S> LM", "DIG") == {"S gap 0": "S LM", "S column 0": "SLM", "S gap 1": "LM S"}
    assert moves("S> L< M", "DIG")["S column 0"] == "SL M"


def test_a_piece_that_points_away_from_all_others_digs_only_by_agreement() -> None:
    assert moves("S< M L", "DIG") == {}
    assert moves("S< M L", "DIG", dig_away=True) == {"S gap 0": "S M L"}
    assert moves("SM L>", "DIG") == {}
    assert moves("SM L>", "DIG", dig_away=True) == {"L gap 1": "SM L"}


def test_a_standing_piece_does_not_dig() -> None:
    assert moves("S M L", "DIG", dig_away=True) == {}


# ---------------------------------------------------------------------------------------------- what a roll allows


def test_a_roll_that_allows_something_on_the_own_trio_allows_nothing_else() -> None:
    assert legal([TREE, TREE], HOUSE, "TIP") == {"own TIP L left", "own TIP L right"}
    assert legal([TREE, TREE], HOUSE, "SWAP") == {"own SWAP S M", "own SWAP S L", "own SWAP M L"}


def test_a_roll_that_allows_nothing_on_the_own_trio_allows_the_house_or_a_pass() -> None:
    assert legal([TREE, TREE], HOUSE, "AIM") == {
        *("house AIM L up", "house AIM L right", "house AIM S left", "house AIM S right", "house AIM M left", "house AIM M up"),
        "pass",
    }


def test_a_pass_changes_nothing_but_the_turn() -> None:
    after, payoffs = play([TREE, TREE], HOUSE, "AIM", "pass")
    assert after == {"trios": [TREE, TREE], "house": HOUSE, "roll": None, "to_move": 1}
    assert payoffs is None


def test_wild_allows_every_action_on_both_trios_and_no_pass() -> None:
    for trio, house in ((TREE, HOUSE), ("S> M< L", "LM S<"), ("S< M< L<", "SML")):
        expected = {f"own {kind} {where}" for kind in FACES[:5] for where in moves(trio, kind)}
        expected |= {f"house {kind} {where}" for kind in FACES[:5] for where in moves(house, kind)}
        assert legal([trio, "SLM"], house, "WILD") == expected
    assert len(legal([TREE, TREE], HOUSE, "WILD")) == 24


def test_the_mask_is_right_for_every_own_trio_and_every_roll() -> None:
    game = make()
    own = {trio: {kind: set(moves(trio, kind)) for kind in FACES[:5]} for trio in oracle.arrangements()}
    for index, trio in enumerate(own):
        house = list(own)[(index * 7 + 31) % 204]
        for face in FACES[:5]:
            other = TREE if house != TREE else "SML"
            position = {"trios": [trio, other], "house": house, "roll": face, "to_move": 0}
            if own[trio][face]:
                expected = {f"own {face} {where}" for where in own[trio][face]}
            elif own[house][face]:
                expected = {"pass"} | {f"house {face} {where}" for where in own[house][face]}
            else:
                with pytest.raises(pe.PositionError, match="rolled again"):
                    game.from_position(position)
                continue
            row = game.from_position(position)
            assert {game.action_name(row, action) for action in game.legal_actions(row).tolist()} == expected


def test_a_decision_is_asked_even_if_only_one_answer_is_legal() -> None:
    game, row = put(["S< M L", TREE], roll="DIG", dig_away=True)
    assert game.to_move(row) == 0
    assert legal(["S< M L", TREE], HOUSE, "DIG", dig_away=True) == {"own DIG S gap 0"}


@pytest.mark.parametrize(
    ("trio", "house", "dig_away", "faces"),
    [
        (TREE, HOUSE, False, "AIM TIP HOP SWAP WILD"),  # neither can dig
        (TREE, HOUSE, True, "AIM TIP HOP SWAP DIG WILD"),
        (TREE, "SML", False, "TIP HOP SWAP WILD"),  # stacks cannot be aimed either
        ("S< M< L<", "L< M< S<", False, "AIM SWAP DIG WILD"),  # lying pieces neither tip nor hop
        ("S< M< L<", "SML", False, "AIM TIP HOP SWAP DIG WILD"),  # what one cannot the other can
    ],
)
def test_the_roll_is_uniform_over_the_faces_that_allow_something(trio: str, house: str, dig_away: bool, faces: str) -> None:
    game, row = put([trio, "S L M"], house, dig_away=dig_away)
    outcomes, probabilities = game.chance_outcomes(row)
    assert " ".join(game.outcome_name(row, outcome) for outcome in outcomes.tolist()) == faces
    assert probabilities.tolist() == [1 / len(outcomes)] * len(outcomes)


def test_the_faces_are_those_of_the_seat_that_rolls() -> None:
    for to_move, count in ((0, 4), (1, 6)):  # the other seat's trio can be aimed and can dig
        game, row = put([TREE, "S> M L"], "SML", to_move=to_move)
        assert len(game.chance_outcomes(row)[0]) == count


@pytest.mark.parametrize("num_players", [2, 3, 4])
def test_the_seats_take_turns(num_players: int) -> None:
    for seat in range(num_players):
        after, _ = play([TREE] * num_players, HOUSE, "TIP", "own TIP L left", to_move=seat)
        assert after["to_move"] == (seat + 1) % num_players
        assert after["trios"] == ["S< M< L<" if other == seat else TREE for other in range(num_players)]


# ------------------------------------------------------------------------------------------------------------ the end


def test_the_mover_wins_by_matching_the_house() -> None:
    after, payoffs = play(["L< S M", TREE], HOUSE, "AIM", "own AIM M right")
    assert after == {"trios": [HOUSE, TREE], "house": HOUSE, "roll": None, "to_move": 0}
    assert payoffs == [1, -1]


def test_the_mover_wins_by_changing_the_house() -> None:
    after, payoffs = play(["LM S", TREE], "LM S>", "WILD", "house AIM S up")
    assert after == {"trios": ["LM S", TREE], "house": "LM S", "roll": None, "to_move": 0}
    assert payoffs == [1, -1]


def test_a_change_of_the_house_can_hand_the_game_to_another_seat() -> None:
    after, payoffs = play([TREE, "LM S"], "LM S>", "AIM", "house AIM S up")
    assert after == {"trios": [TREE, "LM S"], "house": "LM S", "roll": None, "to_move": 0}
    assert payoffs == [-1, 1]
    _, payoffs = play([TREE, TREE, "LM S"], "LM S>", "AIM", "house AIM S up", to_move=1)
    assert payoffs == [Fraction(-1, 2), Fraction(-1, 2), 1]


def test_a_mover_that_matches_wins_alone() -> None:
    _, payoffs = play(["LM S", "LM S", TREE], "LM S>", "WILD", "house AIM S up")
    assert payoffs == [1, Fraction(-1, 2), Fraction(-1, 2)]
    _, payoffs = play(["LM S", "LM S", "LM S", "LM S"], "LM S>", "WILD", "house AIM S up", to_move=2)
    third = Fraction(1, 3)
    assert payoffs == [-third, -third, 1, -third]


def test_otherwise_all_seats_that_match_win_together() -> None:
    _, payoffs = play([TREE, "LM S", "LM S"], "LM S>", "AIM", "house AIM S up")
    assert payoffs == [Fraction(-1, 2), Fraction(1, 4), Fraction(1, 4)]
    third, ninth = Fraction(1, 3), Fraction(1, 9)
    _, payoffs = play(["LM S", TREE, "LMS", "LM S"], "LM S>", "AIM", "house AIM S up", to_move=1)
    assert payoffs == [third, -third, -third, third]
    _, payoffs = play(["LM S", "LM S", TREE, "LM S"], "LM S>", "AIM", "house AIM S up", to_move=2)
    assert payoffs == [ninth, ninth, -third, ninth]


def test_neither_a_mirror_image_nor_other_directions_match() -> None:
    for trio, action, made in (("M< S L", "own AIM L right", "M< S L>"), ("L S M>", "own AIM L right", "L> S M>")):
        after, payoffs = play([trio, TREE], HOUSE, "AIM", action)
        assert after["trios"][0] == made
        assert payoffs is None


def test_at_the_end_nothing_is_legal_and_nothing_is_rolled() -> None:
    game, row = put([HOUSE, TREE])
    assert game.to_move(row) == pe.TERMINAL
    assert not game.legal_mask(row).any()
    assert game.chance_outcomes(row)[0].size == 0


@pytest.mark.parametrize(("to_move", "payoffs"), [(0, [1, -0.5, -0.5]), (1, [-0.5, 1, -0.5]), (2, [0.25, 0.25, -0.5])])
def test_in_a_position_of_the_end_the_last_mover_decides_who_has_won(to_move: int, payoffs: list[float]) -> None:
    game, row = put([HOUSE, HOUSE, TREE], to_move=to_move)
    assert game.returns(row).tolist() == payoffs
    assert game.position(row) == {"trios": [HOUSE, HOUSE, TREE], "house": HOUSE, "roll": None, "to_move": to_move}


def test_random_play_hardly_ever_needs_the_cap() -> None:
    for num_players in (2, 3, 4):
        game = make(num_players)
        assert game.max_plies == 1000
        batch = pe.Batch(game, 500, seed=1)
        agent = pe.make_agent("random", game)
        ended = cut = 0
        for _ in range(1000):
            step = batch.step(act(agent, batch))
            ended += step.terminated.sum()
            cut += step.truncated.sum()
        assert ended > 2000
        assert cut <= 3


@pytest.mark.parametrize("num_players", [2, 3, 4])
def test_the_oracle_agrees_on_positions_where_many_are_about_to_win(num_players: int) -> None:
    game = make(num_players)
    dice = np.random.default_rng(num_players)
    texts = oracle.arrangements()
    near = defaultdict(list)  # for each trio those that become it in one action
    for trio in texts:
        for kind in FACES[:5]:
            for result in moves(trio, kind).values():
                near[result].append(trio)
    several = 0
    for _ in range(80):
        target = str(dice.choice(texts))
        to_move = int(dice.integers(num_players))
        trios = dice.choice([target, target, target, near[target][0]], num_players).tolist()
        trios[to_move] = str(dice.choice([target, *texts[::9]]))
        position = {
            "trios": trios,
            "house": str(dice.choice(near[target])),
            "roll": str(dice.choice([*FACES, "WILD", "WILD", "WILD", "WILD"])),
            "to_move": to_move,
        }
        try:
            slow = oracle.Oracle.from_position(position, num_players)
        except ValueError:
            with pytest.raises(pe.PositionError):
                game.from_position(position)
            continue
        row = game.from_position(position)
        assert game.legal_actions(row).tolist() == sorted(slow.legal())
        for action in slow.legal():
            after, slow_after = row.copy(), slow.copy()
            game.apply(after, action)
            slow_after.apply(action)
            assert game.position(after) == slow_after.position()
            assert game.returns(after).tolist() == pytest.approx([float(payoff) for payoff in slow_after.returns()])
            several += len(slow_after.winners()) > 1
    assert several > 20 or num_players == 2


# ------------------------------------------------------------------------------------------- positions, observation, text


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"trios": [TREE]}, "trios must have 2 entries, not 1"),
        ({"trios": [TREE] * 3}, "trios must have 2 entries, not 3"),
        ({"trios": TREE}, "trios must be a list"),
        ({"trios": [TREE, "LMX"]}, r"trios\[1\] must be the text of a trio"),
        ({"trios": ["LM", TREE]}, r"trios\[0\] must be the text of a trio"),
        ({"trios": ["LMSS", TREE]}, r"trios\[0\]"),
        ({"trios": ["LMM", TREE]}, r"trios\[0\]"),
        ({"trios": ["LM< S", TREE]}, r"trios\[0\]"),  # a stack lies
        ({"trios": ["L<  S M", TREE]}, r"trios\[0\]"),  # two spaces
        ({"trios": [" LMS", TREE]}, r"trios\[0\]"),
        ({"trios": ["<L S M", TREE]}, r"trios\[0\]"),
        ({"trios": ["lms", TREE]}, r"trios\[0\]"),
        ({"trios": ["", TREE]}, r"trios\[0\]"),
        ({"trios": [None, TREE]}, r"trios\[0\]"),
        ({"trios": [203, TREE]}, r"trios\[0\]"),
        ({"house": "S M"}, "house must be the text of a trio"),
        ({"house": ["LMS"]}, "house must be the text of a trio"),
        ({"roll": "aim"}, "roll must be one of None, 'AIM'"),
        ({"roll": 0}, "roll must be one of"),
        ({"roll": False}, "roll must be one of"),
        ({"to_move": 2}, "to_move must be a whole number from 0 to 1, not 2"),
        ({"to_move": -1}, "to_move must be a whole number"),
        ({"to_move": True}, "to_move must be a whole number"),
        ({"to_move": 0.0}, "to_move must be a whole number"),
        ({"to_move": None}, "to_move must be a whole number"),
        ({"trios": [TREE, HOUSE], "roll": "AIM"}, "the game is over, but roll is 'AIM'"),
        ({"roll": "DIG"}, "DIG allows nothing here, so it would have been rolled again"),
    ],
)
def test_a_position_that_cannot_be_is_refused_with_its_fault(change: dict[str, Any], fault: str) -> None:
    position = {"trios": [TREE, TREE], "house": HOUSE, "roll": None, "to_move": 0}
    make().from_position(position)
    with pytest.raises(pe.PositionError, match=fault):
        make().from_position({**position, **change})


def test_every_position_survives_the_way_through_text() -> None:
    game = make()
    for text in oracle.arrangements():
        for roll in (None, "WILD"):
            position = {"trios": [text, "S L M"], "house": "S LM", "roll": roll, "to_move": 1}
            if roll and text == "S LM":
                continue
            assert game.position(game.from_position(json.loads(json.dumps(position)))) == position


def test_an_observation_tells_the_trios_from_the_own_one_on_the_house_the_roll_and_the_turn() -> None:
    game, row = put(["LMS", "L< SM", "S> M L<"], "M S L", "WILD", to_move=1)

    def told(trio: str) -> list[int]:
        features = []
        for piece in "SML":
            column = next(i for i, text in enumerate(trio.split()) if piece in text)
            text = trio.split()[column]
            direction = 0 if "<" in text else 2 if ">" in text else 1
            for at in (column, text.strip("<>").index(piece), direction):
                features += [int(k == at) for k in range(3)]
        return features

    for seat, order in ((0, (0, 1, 2)), (1, (1, 2, 0)), (2, (2, 0, 1))):
        view = game.observe(row, seat)
        expected = {
            "own": told(game.position(row)["trios"][order[0]]),
            "next_1": told(game.position(row)["trios"][order[1]]),
            "next_2": told(game.position(row)["trios"][order[2]]),
            "house": told("M S L"),
            "roll": [0, 0, 0, 0, 0, 1],
            "turn": [int(other == 1) for other in order],
        }
        assert {name: view[part].tolist() for name, (part, _) in game.observation_fields.items()} == expected


def test_an_observation_shows_no_roll_before_the_roll_and_at_the_end() -> None:
    for trios in ([TREE, TREE], [HOUSE, TREE]):
        game, row = put(trios, to_move=1)
        for seat, turn in ((0, [0, 1]), (1, [1, 0])):
            view = game.observe(row, seat)
            assert view[game.observation_fields["roll"][0]].tolist() == [0] * 6
            assert view[game.observation_fields["turn"][0]].tolist() == turn


def test_the_text_shows_the_table_the_die_and_the_winner() -> None:
    game, row = put([TREE, "L S M>"], roll="TIP", to_move=1)
    assert game.text(row, 0).splitlines() == [
        "  player_0  LMS       you",
        "> player_1  L S M>",
        "  House     L< S M>",
        "  die       TIP",
    ]
    game, row = put([TREE, HOUSE], to_move=1)
    assert game.text(row).splitlines() == ["  player_0  LMS", "  player_1  L< S M>   wins", "  House     L< S M>"]
