"""Twin Win, ruling by ruling, with positions made by hand."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from functools import cache
from typing import Any

import numpy as np
import pytest

import pyramid_envs as pe
from pyramid_envs.agents.fixed import Adviser
from pyramid_envs.games.twin_win import rules, tables
from pyramid_envs.jit import COMPILED
from pyramid_envs.kernels import GRADES
from tests.oracles.twin_win import Oracle, setups
from tests.playing import act

SPACES = ("NW", "N", "NE", "W", "C", "E", "SW", "S", "SE")
RING = ("NW", "N", "NE", "E", "SE", "S", "SW", "W")
COLOURS = ("red", "blue", "green", "yellow", "black")
LETTERS = "RBGYK"
CARDS = tuple(f"{colour} {shape}" for colour in COLOURS for shape in ("tree", "nest"))
PIECES = tuple(letter + size for size in "SML" for letter in LETTERS)
SETUP = {"NW": "RL BM GS", "NE": "BL GM YS", "C": "GL YM KS", "SW": "YL KM RS", "SE": "KL RM BS"}


@cache
def make(num_players: int = 2, allow_pass: bool = True) -> pe.Game:
    return pe.make_game("twin_win", num_players=num_players, allow_pass=allow_pass)


def position(
    stacks: dict[str, str],
    hands: str = "yellow tree, yellow nest / black tree, black nest",
    given_up: str | None = None,
    actions_left: int = 2,
    phase: str = "act",
    to_move: int = 0,
    rest: str = "SW",
    put_aside: str = "",
) -> dict[str, Any]:
    """A position: stacks by space, hands by seat; pieces that are not named are heaped on `rest`, where they make no goal."""
    board = {space: stacks.get(space, "").split() for space in SPACES}
    placed = [piece for stack in board.values() for piece in stack]
    board[rest] += [piece for piece in PIECES if piece not in placed]
    held = [listed(hand) for hand in hands.split("/")]
    gone = [listed(cards) for cards in given_up.split("/")] if given_up else [[] for _ in held]
    seen = [put_aside, *(card for hand in held for card in hand)]
    return {
        "board": [board[space] for space in SPACES],
        "hands": held,
        "unused": [card for card in CARDS if card not in seen],
        "given_up": gone,
        "actions_left": actions_left,
        "phase": phase,
        "to_move": to_move,
    }


def listed(cards: str) -> list[str]:
    return [card.strip() for card in cards.split(",") if card.strip()]


def put(
    stacks: dict[str, str], hands: str = "yellow tree, yellow nest / black tree, black nest", **rest: Any
) -> tuple[pe.Game, Any]:
    """The game and the row of a position."""
    game = make(len(hands.split("/")))
    return game, game.from_position(position(stacks, hands, **rest))


def legal(game: pe.Game, row: Any) -> set[str]:
    return {game.action_name(row, action) for action in game.legal_actions(row).tolist()}


def play(game: pe.Game, row: Any, *names: str) -> dict[str, Any]:
    """The position after these actions and drawn cards."""
    for name in names:
        if game.to_move(row) == pe.CHANCE:
            outcomes = {game.outcome_name(row, outcome): outcome for outcome in game.chance_outcomes(row)[0].tolist()}
            game.apply(row, outcomes[name])
        else:
            game.apply(row, game.parse_action(row, name))
    return game.position(row)


def stack(found: dict[str, Any], space: str) -> str:
    return " ".join(found["board"][SPACES.index(space)])


# --------------------------------------------------------------------------------------------------- setup and deal


def test_there_are_66240_setups_of_five_trees_of_three_colours() -> None:
    game = make()
    row = game.initial()
    outcomes, probabilities = game.chance_outcomes(row)
    assert outcomes.tolist() == list(range(66240))
    assert set(probabilities.tolist()) == {1 / 66240}
    assert game.outcome_name(row, 0) == "RL BM GS / BL RM YS / GL YM KS / YL KM RS / KL GM BS"
    assert game.outcome_name(row, 66239) == "KL YM GS / YL KM BS / GL BM RS / BL RM KS / RL GM YS"
    for outcome in range(0, 66240, 997):
        trees = [tree.split() for tree in game.outcome_name(row, outcome).split(" / ")]
        for tree in trees:
            assert [piece[1] for piece in tree] == list("LMS")
            assert len({piece[0] for piece in tree}) == 3
        assert sorted(piece for tree in trees for piece in tree) == sorted(PIECES)


def test_the_trees_of_a_setup_stand_on_the_corners_and_the_centre() -> None:
    game = make()
    row = game.initial()
    game.apply(row, setups().index("RL BM GS / BL GM YS / GL YM KS / YL KM RS / KL RM BS"))
    found = game.position(row)
    assert {space: stack(found, space) for space in SPACES if stack(found, space)} == SETUP
    assert (found["phase"], found["to_move"], found["actions_left"]) == ("deal", 0, 2)


def test_two_cards_are_dealt_to_each_seat_in_turn_and_then_seat_0_begins() -> None:
    game = make(3)
    row = game.initial()
    game.apply(row, 5)
    served = []
    for card in ("red nest", "red tree", "black nest", "blue tree", "green nest", "yellow tree"):
        assert game.chance_outcomes(row)[1].tolist() == pytest.approx([1 / (10 - len(served))] * (10 - len(served)))
        served.append(game.position(row)["to_move"])
        play(game, row, card)
    assert served == [0, 0, 1, 1, 2, 2]
    found = game.position(row)
    assert found["hands"] == [["red tree", "red nest"], ["blue tree", "black nest"], ["green nest", "yellow tree"]]
    assert found["unused"] == ["blue nest", "green tree", "yellow nest", "black tree"]
    assert (found["phase"], found["to_move"], found["actions_left"]) == ("act", 0, 2)


# ------------------------------------------------------------------------------------------------------------ moves


@pytest.mark.parametrize("space", SPACES)
def test_the_ring_leads_clockwise_only_and_the_spokes_both_ways(space: str) -> None:
    game, row = put({}, rest=space)  # every piece stands here, so every move begins here
    ends = {name.split(">")[1] for name in legal(game, row) if ">" in name}
    if space == "C":
        assert ends == {"N", "E", "S", "W"}
    else:
        clockwise = RING[(RING.index(space) + 1) % 8]
        assert ends == {clockwise, "C"} if space in ("N", "E", "S", "W") else ends == {clockwise}


@pytest.mark.parametrize("way", ["NW>N", "W>NW", "S>C", "C>S"])
def test_the_top_piece_moves_onto_whatever_is_there(way: str) -> None:
    start, end = way.split(">")
    game, row = put({start: "KL RM GL", end: "BL YS"})
    found = play(game, row, way)
    assert stack(found, start) == "KL RM"
    assert stack(found, end) == "BL YS GL"


def test_a_stack_may_hold_all_fifteen_pieces() -> None:
    game, row = put({"N": "KL"}, rest="C")
    found = play(game, row, "N>C")
    assert len(stack(found, "C").split()) == 15
    assert game.from_position(found).tobytes() == row.tobytes()
    for seat in range(2):
        assert int(field(game, game.observe(row, seat), "above").max()) == 14


def test_nothing_moves_from_an_empty_space() -> None:
    game, row = put({"N": "KL"}, rest="C")
    assert not {name for name in legal(game, row) if name.startswith(("NW>", "NE>", "E>"))}


# ------------------------------------------------------------------------------------------------------------- goals


def test_a_tree_is_large_medium_small_from_below() -> None:
    game, row = put({"N": "RS", "NE": "RL RM"}, "red tree, blue nest / black tree, black nest")
    found = play(game, row, "N>NE")
    assert (found["phase"], found["to_move"], found["actions_left"]) == ("over", 0, 1)
    assert game.returns(row).tolist() == [1, -1]
    assert game.to_move(row) == pe.TERMINAL


def test_a_nest_is_small_medium_large_from_below() -> None:
    game, row = put({"N": "BL", "NE": "BS BM"}, "red tree, blue nest / black tree, black nest", actions_left=1)
    found = play(game, row, "N>NE")
    assert (found["phase"], found["to_move"], found["actions_left"]) == ("over", 0, 0)
    assert game.returns(row).tolist() == [1, -1]


@pytest.mark.parametrize(
    ("pile", "piece", "cards"),
    [
        ("RL RM", "RS", "red nest, blue tree"),  # a tree is no nest
        ("RS RM", "RL", "red tree, blue tree"),
        ("RL RS", "RM", "red tree, red nest"),  # another order
        ("RM RL", "RS", "red tree, red nest"),
        ("RL BM", "RS", "red tree, red nest"),  # another colour
        ("RL RM KS", "RS", "red tree, red nest"),  # a piece between
        ("RL KS RM", "RS", "red tree, red nest"),
    ],
)
def test_nothing_else_is_a_goal(pile: str, piece: str, cards: str) -> None:
    game, row = put({"N": piece, "NE": pile}, f"{cards} / black tree, black nest")
    assert play(game, row, "N>NE")["phase"] == "act"


def test_pieces_below_a_goal_do_not_matter() -> None:
    game, row = put({"N": "RS", "NE": "KL GS RL RM", "W": "YM"}, "red tree, blue nest / black tree, black nest")
    assert play(game, row, "N>NE")["phase"] == "over"


def test_pieces_above_a_goal_do_not_matter() -> None:
    game, row = put({"NE": "GS RL RM RS KL"}, "blue tree, blue nest / black tree, black nest")
    found = play(game, row, "trade blue nest", "red tree")
    assert (found["phase"], found["to_move"], found["actions_left"]) == ("over", 0, 1)
    assert found["hands"][0] == ["red tree", "blue tree"]
    assert game.returns(row).tolist() == [1, -1]


def test_the_pieces_of_a_goal_lie_directly_on_one_another_for_a_trade_too() -> None:
    game, row = put({"NE": "RL RM KL RS"}, "blue tree, blue nest / black tree, black nest")
    assert play(game, row, "trade blue nest", "red tree")["phase"] == "act"


def test_digging_a_goal_out_changes_nothing_and_breaking_it_does() -> None:
    game, row = put({"NE": "RL RM RS KL"}, "blue tree, blue nest / black tree, black nest")
    play(game, row, "NE>E", "NE>E")
    play(game, row, "trade black tree", "red tree")
    assert game.position(row)["phase"] == "act"


def test_a_goal_that_nobody_holds_wins_for_nobody_until_it_is_drawn() -> None:
    game, row = put({"N": "RS", "NE": "RL RM"})
    assert play(game, row, "N>NE")["phase"] == "act"
    assert play(game, row, "pass", "trade black tree", "red tree")["phase"] == "over"
    assert game.returns(row).tolist() == [-1, 1]


def test_a_seat_wins_on_anothers_turn_when_its_goal_is_completed() -> None:
    hands = "yellow tree, yellow nest / red tree, blue nest / black tree, black nest"
    game, row = put({"N": "RS", "NE": "RL RM"}, hands)
    found = play(game, row, "N>NE")
    assert (found["phase"], found["to_move"], found["actions_left"]) == ("over", 0, 1)
    assert game.returns(row).tolist() == [-0.5, 1, -0.5]


def test_nobody_may_act_when_the_game_is_over() -> None:
    game, row = put({"N": "RS", "NE": "RL RM"}, "red tree, blue nest / black tree, black nest")
    play(game, row, "N>NE")
    assert not game.legal_mask(row).any()
    with pytest.raises(pe.IllegalActionError, match="over"):
        game.apply(row, 18)


# ------------------------------------------------------------------------------------------------------------ trades


def test_a_traded_card_cannot_come_straight_back() -> None:
    game, row = put(SETUP)
    unused = game.position(row)["unused"]
    found = play(game, row, "trade yellow nest")
    assert found["phase"] == "draw"
    assert found["unused"] == unused
    outcomes, probabilities = game.chance_outcomes(row)
    assert [game.outcome_name(row, outcome) for outcome in outcomes.tolist()] == unused
    assert probabilities.tolist() == pytest.approx([1 / 6] * 6)


def test_a_traded_card_can_come_back_in_the_next_trade() -> None:
    game, row = put(SETUP)
    play(game, row, "trade yellow nest", "red tree")
    found = play(game, row, "trade red tree", "yellow nest")
    assert found["hands"][0] == ["yellow tree", "yellow nest"]


def test_a_trade_is_one_action_and_is_done_when_the_card_is_drawn() -> None:
    game, row = put(SETUP)
    found = play(game, row, "trade yellow tree")
    assert (found["phase"], found["to_move"], found["actions_left"]) == ("draw", 0, 2)
    found = play(game, row, "blue nest")
    assert (found["phase"], found["to_move"], found["actions_left"]) == ("act", 0, 1)
    found = play(game, row, "trade yellow nest", "blue tree")
    assert (found["phase"], found["to_move"], found["actions_left"]) == ("act", 1, 2)


def test_a_hand_is_kept_in_card_order_and_a_trade_is_numbered_by_it() -> None:
    game, row = put(SETUP)
    found = play(game, row, "trade yellow tree", "red nest")
    assert found["hands"][0] == ["red nest", "yellow nest"]
    assert [game.action_name(row, action) for action in (16, 17)] == ["trade red nest", "trade yellow nest"]


def test_given_up_lists_what_a_seat_has_traded_away_and_not_drawn_again() -> None:
    game, row = put(SETUP)
    assert play(game, row, "trade yellow nest")["given_up"] == [["yellow nest"], []]
    assert play(game, row, "red tree", "trade yellow tree")["given_up"] == [["yellow tree", "yellow nest"], []]
    assert play(game, row, "blue tree")["given_up"] == [["yellow tree", "yellow nest"], []]
    # Who has drawn it since, the seat cannot know.
    assert play(game, row, "trade black tree", "yellow nest")["given_up"] == [["yellow tree", "yellow nest"], ["black tree"]]
    assert play(game, row, "pass", "trade red tree", "yellow tree")["given_up"] == [["red tree", "yellow nest"], ["black tree"]]


def test_there_is_always_a_card_to_draw() -> None:
    game = make(3)
    row = game.from_position(position(SETUP, "red tree, red nest / blue tree, blue nest / green tree, green nest"))
    for _ in range(6):
        play(game, row, game.action_name(row, 16))
        assert len(game.chance_outcomes(row)[0]) == 4
        game.apply(row, int(game.chance_outcomes(row)[0][0]))


# -------------------------------------------------------------------------------------------------------------- turns


def test_a_turn_is_up_to_two_actions() -> None:
    game, row = put(SETUP)
    found = play(game, row, "NW>N")
    assert (found["to_move"], found["actions_left"]) == (0, 1)
    found = play(game, row, "N>C")
    assert (found["to_move"], found["actions_left"]) == (1, 2)
    found = play(game, row, "pass")
    assert (found["to_move"], found["actions_left"]) == (0, 2)
    found = play(game, row, "NE>E", "pass")
    assert (found["to_move"], found["actions_left"]) == (1, 2)


def test_a_turn_may_not_be_ended_early_without_allow_pass() -> None:
    game = make(allow_pass=False)
    row = game.from_position(position(SETUP))
    assert "pass" not in legal(game, row)
    with pytest.raises(pe.IllegalActionError):
        game.parse_action(row, "pass")
    assert "pass" in legal(make(), make().from_position(position(SETUP)))


def test_the_seats_take_turns() -> None:
    game = make(3)
    row = game.from_position(position(SETUP, "red tree, red nest / blue tree, blue nest / green tree, green nest"))
    movers = []
    for _ in range(4):
        movers.append(game.to_move(row))
        play(game, row, "pass")
    assert movers == [0, 1, 2, 0]


# ---------------------------------------------------------------------------------------------------------- positions

HANDS = "yellow tree, yellow nest / black tree, black nest"
RED = {"NE": "RL RM RS"}  # a red tree on the board


def broken(**changes: Any) -> dict[str, Any]:
    return {**position(SETUP), **changes}


def board(stacks: dict[str, str], rest: str = "SW") -> list[list[str]]:
    found: list[list[str]] = position(stacks, rest=rest)["board"]
    return found


FAULTS = {
    "a piece twice": (
        broken(board=[["RL", "RL"], *board(SETUP)[1:]]),
        "RL is on the board twice, on NW and on NW",
    ),
    "a piece is missing": (broken(board=[["RL", "GS"], *board(SETUP)[1:]]), "lacks BM"),
    "no piece": (broken(board=[["RX"], *board(SETUP)[1:]]), "NW holds 'RX', which is no piece"),
    "too few spaces": (broken(board=board(SETUP)[1:]), "board must have 9 entries"),
    "a stack is no list": (broken(board=["RL BM GS", *board(SETUP)[1:]]), "the stack on NW must be a list"),
    "too many hands": (broken(hands=[["red tree", "red nest"]] * 3), "hands must have 2 entries"),
    "a card twice in a hand": (broken(hands=[["red tree", "red tree"], ["black tree", "black nest"]]), "red tree twice"),
    "a card in two hands": (
        broken(hands=[["yellow tree", "yellow nest"], ["yellow tree", "black nest"]]),
        r"hands\[1\] holds yellow tree, which another seat holds",
    ),
    "a hand out of order": (
        broken(hands=[["yellow nest", "yellow tree"], ["black tree", "black nest"]]),
        r"hands\[0\] must be in card order: yellow tree, yellow nest",
    ),
    "no card": (broken(hands=[["white tree"], []]), "'white tree', which is no card"),
    "a hand of one": (position(SETUP, "red tree / black tree, black nest"), r"hands\[0\] must hold 2 cards at act, .*not 1"),
    "a hand of three": (
        position(SETUP, "red tree, red nest, blue tree / black tree, black nest"),
        r"hands\[0\] must hold 2 .*not 3",
    ),
    "unused and in a hand": (broken(unused=["red tree", "yellow tree"]), "yellow tree is in a hand and among the unused"),
    "a card is nowhere": (broken(unused=["red tree"]), "unused lacks red nest, .*, which nobody holds"),
    "nothing put aside": (
        position(SETUP, "yellow tree / black tree, black nest", "yellow nest /", phase="draw"),
        "exactly one card, the one put aside, .* none",
    ),
    "two put aside": (
        {**position(SETUP, "yellow tree / black tree, black nest", "yellow nest /", phase="draw"), "unused": ["red tree"]},
        "exactly one card, the one put aside",
    ),
    "put aside, not given up": (
        position(SETUP, "yellow tree / black tree, black nest", phase="draw", put_aside="yellow nest"),
        r"given_up\[0\] lacks yellow nest",
    ),
    "put aside a goal on the board": (
        position(RED, "yellow tree / black tree, black nest", "red tree /", phase="draw", put_aside="red tree"),
        "red tree is on the board, so the seat that put it aside would have won",
    ),
    "the drawing seat holds two": (
        position(SETUP, HANDS, "red tree /", phase="draw", put_aside="red tree"),
        r"hands\[0\] must hold 1 card at draw",
    ),
    "given up and in the hand": (
        position(SETUP, given_up="yellow tree /"),
        r"given_up\[0\] holds yellow tree, .* in that seat's",
    ),
    "given up while dealing": (
        position(SETUP, "red tree /", "blue tree /", phase="deal"),
        r"given_up\[0\] must be empty at deal",
    ),
    "three actions left": (broken(actions_left=3), "actions_left must be a whole number from 1 to 2, not 3 at act"),
    "no action left": (broken(actions_left=0), "actions_left must be a whole number from 1 to 2, not 0 at act"),
    "one action left while dealing": (position(SETUP, "red tree /", phase="deal", actions_left=1), "from 2 to 2, not 1 at deal"),
    "two actions left at the end": (
        position(RED, "red tree, blue nest / black tree, black nest", phase="over"),
        "from 0 to 1, not 2 at over",
    ),
    "no phase": (broken(phase="play"), "phase must be one of 'setup'"),
    "no seat": (broken(to_move=2), "to_move must be a whole number from 0 to 1"),
    "pieces before the setup": (position(SETUP, "/", phase="setup"), "at setup the board must be empty"),
    "seat 1 before the setup": ({**position({}, "/", phase="setup", to_move=1), "board": [[]] * 9}, "to_move must be 0"),
    "no setup while dealing": (position({}, "red tree /", phase="deal"), "must be a setup"),
    "a tree of two colours while dealing": (
        position({**SETUP, "NW": "RL BM RS", "SW": "YL KM GS"}, "red tree /", phase="deal"),
        "must be a setup",
    ),
    "trees on the sides while dealing": (
        position({"N": "RL BM GS", "E": "BL GM YS", "C": "GL YM KS", "SW": "YL KM RS", "SE": "KL RM BS"}, "/", phase="deal"),
        "must be a setup",
    ),
    "seat 1 served before seat 0": (
        position(SETUP, "/ red tree", phase="deal"),
        r"hands\[1\] must hold 0 cards at deal, to_move 0",
    ),
    "seat 0 not served yet": (
        position(SETUP, "red tree /", phase="deal", to_move=1),
        r"hands\[0\] must hold 2 cards at deal, to_move 1",
    ),
    "both cards served": (
        position(SETUP, "red tree, red nest /", phase="deal"),
        r"hands\[0\] must hold 0 or 1 cards at deal",
    ),
    "a held goal on the board": (
        position(RED, "blue tree, blue nest / red tree, black nest"),
        "seat 1 holds red tree, which is on the board, so the game is over, not at act",
    ),
    "a held goal on the board at a draw": (
        position(RED, "blue tree / red tree, black nest", "green tree /", phase="draw", put_aside="green tree"),
        "seat 1 holds red tree, .* not at draw",
    ),
    "over without a winner": (position(RED, phase="over", actions_left=1), "no seat holds a card whose goal"),
    "two winners": (
        position({**RED, "N": "BL BM BS"}, "red tree, green nest / blue tree, black nest", phase="over", actions_left=1),
        "red tree and blue tree are both on the board and held",
    ),
    "won twice": (
        position({**RED, "N": "BL BM BS"}, "red tree, blue tree / black tree, black nest", phase="over", actions_left=1),
        "red tree and blue tree are both on the board and held",
    ),
    "won long ago": (
        position({"NE": "RL RM RS KL"}, "red tree, blue tree / black tree, black nest", phase="over", actions_left=1),
        "a piece lies on top of it, and no trade",
    ),
    "won by another's trade": (
        position(
            {"NE": "RL RM RS KL"}, "blue tree, green tree / red tree, black nest", "black tree /", phase="over", actions_left=1
        ),
        "a piece lies on top of it, and no trade",
    ),
    "an unknown key": (broken(turn=3), "unknown key 'turn'"),
    "a missing key": ({key: value for key, value in position(SETUP).items() if key != "unused"}, "no key 'unused'"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_position_that_cannot_be_is_refused_with_the_reason(fault: str) -> None:
    found, message = FAULTS[fault]
    with pytest.raises(pe.PositionError, match=message):
        make().from_position(found)


@pytest.mark.parametrize(
    "found",
    [
        position(SETUP),
        position(SETUP, "/", phase="deal"),
        position(SETUP, "red tree, red nest / blue tree", phase="deal", to_move=1),
        position(SETUP, "yellow tree / black tree, black nest", "yellow nest /", phase="draw", put_aside="yellow nest"),
        position(RED, "red tree, blue nest / black tree, black nest", phase="over", actions_left=0, to_move=1),
        position(
            {"NE": "RL RM RS KL"}, "red tree, blue nest / black tree, black nest", "black nest /", phase="over", actions_left=1
        )
        | {"given_up": [["blue tree"], []]},
    ],
)
def test_hand_made_positions_of_every_phase_are_read_and_written(found: dict[str, Any]) -> None:
    assert make().position(make().from_position(found)) == found


# ------------------------------------------------------------------------------------------------- what a seat can see


def field(game: pe.Game, observation: np.ndarray, name: str) -> np.ndarray:
    return observation[game.observation_fields[name][0]]


def only(flags: np.ndarray) -> int | None:
    """The place of the single 1, or None."""
    places = np.flatnonzero(flags).tolist()
    assert len(places) <= 1
    return places[0] if places else None


def read(game: pe.Game, observation: np.ndarray) -> dict[str, Any]:
    """What an observation tells, in the words of a position."""
    cards = [(only(slot[:5]), only(slot[5:])) for slot in field(game, observation, "cards").reshape(2, 7)]
    hand = [2 * colour + shape for colour, shape in cards if colour is not None and shape is not None]
    order = list(dict.fromkeys([card // 2 for card in hand] + list(range(5))))
    piece_names = [LETTERS[colour] + size for colour in order for size in "SML"]
    card_names = [f"{COLOURS[colour]} {shape}" for colour in order for shape in ("tree", "nest")]

    levels = np.stack([field(game, observation, name).reshape(15, 9) for name in ("top", "second", "deeper")])
    above = field(game, observation, "above").tolist()
    stacks: dict[str, dict[int, str]] = {space: {} for space in SPACES}
    for k, piece in enumerate(piece_names):
        if levels[:, k].any():
            level, space = divmod(int(np.flatnonzero(levels[:, k])[0]), 9)
            assert levels[:, k].sum() == 1
            assert level == min(above[k], 2)
            stacks[(*RING, "C")[space]][above[k]] = piece
    given_up = field(game, observation, "given_up").tolist()
    stage = ("act", "draw", "over", "setup", "first card", "second card")[only(field(game, observation, "stage"))]  # type: ignore[index]
    left = only(field(game, observation, "actions_left"))
    return {
        "board": [[stacks[space][depth] for depth in sorted(stacks[space], reverse=True)] for space in SPACES],
        "hand": [CARDS[card] for card in hand],
        "given_up": sorted((name for name, flag in zip(card_names, given_up, strict=True) if flag), key=CARDS.index),
        "put aside": [name for name, flag in zip(card_names, given_up, strict=True) if flag == 2],
        "actions_left": 0 if left is None else left + 1,
        "stage": stage,
        "turn": only(field(game, observation, "turn")),
        "winner": only(field(game, observation, "winner")),
    }


def visible(game: pe.Game, row: Any, seat: int) -> dict[str, Any]:
    """What the rules let a seat know of a position."""
    found = game.position(row)
    n, turn = game.num_players, found["to_move"]
    seen = {*found["unused"], *(card for hand in found["hands"] for card in hand)}
    winner = None
    if found["phase"] == "over":
        winner = (int(game.returns(row).argmax()) - seat) % n
    stage = found["phase"]
    if stage == "deal":
        stage = ("first card", "second card")[len(found["hands"][turn])]
    return {
        "board": found["board"],
        "hand": found["hands"][seat],
        "given_up": found["given_up"][seat],
        "put aside": [card for card in CARDS if card not in seen and turn == seat],
        "actions_left": found["actions_left"],
        "stage": stage,
        "turn": (turn - seat) % n,
        "winner": winner,
    }


@cache
def positions(num_players: int) -> list[Any]:
    """Positions of random games, chance events among them, and the ends of greedy ones."""
    game = make(num_players)
    dice = np.random.default_rng(0)
    rows = [game.initial()]
    for setup in range(0, 66240, 9000):
        row = game.initial()
        game.apply(row, setup)
        for _ in range(60):
            rows.append(row.copy())
            if game.to_move(row) == pe.TERMINAL:
                break
            choices = game.legal_actions(row) if game.to_move(row) >= 0 else game.chance_outcomes(row)[0]
            game.apply(row, dice.choice(choices))
    batch = pe.Batch(game, 8, seed=1)
    greedy = pe.make_agent("greedy", game)
    for _ in range(40):
        over = batch.step(act(greedy, batch)).terminated
        rows += [batch.final_rows[i : i + 1].copy() for i in np.flatnonzero(over)]
    return rows


@pytest.mark.parametrize("num_players", [2, 3])
def test_an_observation_tells_all_that_a_seat_may_know(num_players: int) -> None:
    game = make(num_players)
    stages = set()
    for row in positions(num_players):
        for seat in range(num_players):
            told = read(game, game.observe(row, seat))
            assert told == visible(game, row, seat)
            stages.add(told["stage"])
    assert stages == {"act", "draw", "over", "setup", "first card", "second card"}


def test_what_is_joined_is_told_colour_by_colour() -> None:
    game, row = put(
        {"N": "KS KM", "E": "YL YM", "C": "RM RL", "W": "BM BS BL", "S": "GL"}, "black tree, black nest / green tree, green nest"
    )
    joined = field(game, game.observe(row, 0), "joined").reshape(5, 4)
    # Black comes first for this seat. In order: M on L, S on M, M on S, L on M.
    assert joined.tolist() == [[0, 0, 1, 0], [0, 0, 0, 1], [0, 1, 0, 0], [0, 0, 0, 0], [1, 0, 0, 0]]


def test_colours_are_counted_from_the_own_cards_so_that_all_colours_look_alike() -> None:
    change = str.maketrans("RBGYK", "GYRBK")
    names = {"red": "green", "blue": "yellow", "green": "red", "yellow": "blue", "black": "black"}
    game, row = put(SETUP, "red tree, blue nest / black tree, black nest")
    recoloured = {space: pile.translate(change) for space, pile in SETUP.items()}
    other = game.from_position(position(recoloured, f"{names['red']} tree, {names['blue']} nest / black tree, black nest"))
    one, two = game.observe(row, 0), game.observe(other, 0)
    differs = np.flatnonzero(one != two)
    cards = game.observation_fields["cards"][0]
    assert len(differs) == 4
    assert all(cards.start <= place < cards.stop for place in differs)


def test_a_seat_reads_only_its_own_cards() -> None:
    game, row = put(
        SETUP, "yellow tree / black tree, black nest", given_up="yellow nest / blue tree", phase="draw", put_aside="yellow nest"
    )
    mine, theirs, everything = game.text(row, 0), game.text(row, 1), game.text(row)
    assert "yellow tree" in mine
    assert "yellow nest" in mine
    assert "blue tree" not in mine
    assert "black" not in mine
    assert "black tree, black nest" in theirs
    assert "blue tree" in theirs
    assert "yellow" not in theirs
    assert "green nest" in everything


# ------------------------------------------------------------------------------------------------------------- redeal


def deal(game: pe.Game, row: Any) -> tuple[Any, ...]:
    found = game.position(row)
    return tuple(map(tuple, found["hands"])), tuple(found["unused"])


REDEALS = {
    "a decision": position(RED, "yellow tree, yellow nest / black tree, black nest"),
    "a decision with a goal of the own colour on the board": position(
        {"NE": "YL YM YS"}, "red tree, yellow nest / blue tree, black nest"
    ),
    "a first card served": position(SETUP, "red tree, red nest / blue tree", phase="deal", to_move=1),
    "a draw of seat 0": position(RED, "yellow tree / black tree, black nest", "blue nest /", phase="draw", put_aside="blue nest"),
    "three seats": position(RED, "yellow tree, yellow nest / black tree, black nest / blue tree, blue nest", "/ green tree /"),
    "three seats, a draw of seat 1": position(
        RED,
        "yellow tree, yellow nest / black nest / blue tree, blue nest",
        "/ black tree /",
        phase="draw",
        put_aside="black tree",
        to_move=1,
    ),
}


@pytest.mark.parametrize("name", REDEALS)
def test_a_redeal_draws_uniformly_from_the_deals_that_a_seat_takes_for_possible(name: str) -> None:
    start = REDEALS[name]
    game = make(len(start["hands"]))
    row = game.from_position(start)
    for seat in range(game.num_players):
        possible = Oracle.from_position(start, game.num_players).possible_deals(seat)
        draws = 40 * len(possible)
        rows = Counter(game.redeal(row, seat, seed).tobytes() for seed in range(min(draws, 8000)))
        found: Counter[tuple[Any, ...]] = Counter()
        for drawn, times in rows.items():
            found[deal(game, np.frombuffer(drawn, game.row_dtype))] += times
        assert set(found) <= possible
        expected = min(draws, 8000) / len(possible)
        surprise = sum((found[one] - expected) ** 2 / expected for one in possible)
        freedom = len(possible) - 1
        assert abs(surprise - freedom) < 5 * np.sqrt(2 * freedom) + 1e-9


@pytest.mark.parametrize("num_players", [2, 3])
def test_a_redeal_keeps_everything_that_a_seat_knows_and_makes_a_position(num_players: int) -> None:
    game = make(num_players)
    for row in positions(num_players):
        for seat in range(num_players):
            other = game.redeal(row, seat, 11)
            assert game.from_position(game.position(other)).tobytes() == other.tobytes()
            assert visible(game, other, seat) == visible(game, row, seat)
            assert game.text(other, seat) == game.text(row, seat)
            assert game.observe(other, seat).tobytes() == game.observe(row, seat).tobytes()


def test_the_card_put_aside_is_known_to_the_seat_that_trades_and_to_no_other() -> None:
    game, row = put(
        RED, "yellow tree / black tree, black nest", given_up="blue nest, green nest /", phase="draw", put_aside="blue nest"
    )
    aside = [set(), set()]
    for seat in range(2):
        for seed in range(300):
            found = game.position(game.redeal(row, seat, seed))
            (card,) = set(CARDS) - {*found["unused"], *found["hands"][0], *found["hands"][1]}
            aside[seat].add(card)
            assert card in found["given_up"][0]
    assert aside[0] == {"blue nest"}
    # Not the own cards of seat 1, and not the red tree, which is on the board.
    assert aside[1] == set(CARDS) - {"black tree", "black nest", "red tree"}


def test_what_others_have_given_up_is_not_known() -> None:
    game, row = put(SETUP, given_up="red tree, blue tree / green tree, green nest")
    for seed in range(20):
        assert game.position(game.redeal(row, 0, seed))["given_up"] == [["red tree", "blue tree"], []]
        assert game.position(game.redeal(row, 1, seed))["given_up"] == [[], ["green tree", "green nest"]]


def test_at_the_end_nothing_is_dealt_anew() -> None:
    game, row = put({"N": "RS", "NE": "RL RM"}, "red tree, blue nest / black tree, black nest")
    play(game, row, "N>NE")
    assert all(game.redeal(row, seat, 3).tobytes() == row.tobytes() for seat in range(2))


# ------------------------------------------------------------------------------------------------------------- greedy


def greedy_choices(game: pe.Game, row: Any, seeds: int = 20) -> set[str]:
    """The names of what the greedy agent plays here, over some seeds."""
    rows = np.repeat(row, seeds)
    seat = game.to_move(row)
    observations = np.repeat(game.observe(row, seat)[None], seeds, axis=0)
    masks = np.repeat(game.legal_mask(row)[None], seeds, axis=0)
    actions = pe.make_agent("greedy", game).act(
        rows, observations, masks, np.full(seeds, seat), np.arange(seeds, dtype=np.uint64) << 50
    )
    return {game.action_name(row, action) for action in actions.tolist()}


def test_the_greedy_agent_wins_at_once_if_it_can() -> None:
    game, row = put({"N": "RS", "NE": "RL RM"}, "red tree, blue nest / black tree, black nest", actions_left=1)
    assert greedy_choices(game, row) == {"N>NE"}


def test_the_greedy_agent_wins_in_two_actions_if_it_can() -> None:
    game, row = put({"N": "RS GL", "NE": "RL RM"}, "red tree, blue nest / black tree, black nest")
    first = greedy_choices(game, row)
    assert first == {"N>C"}
    assert greedy_choices(game, _after(game, row, "N>C")) == {"N>NE"}


def _after(game: pe.Game, row: Any, *names: str) -> Any:
    later = row.copy()
    play(game, later, *names)
    return later


def test_the_greedy_agent_completes_no_goal_that_it_does_not_hold() -> None:
    for seed in range(5):
        game, row = put(
            {"N": "RS", "NE": "RL RM", "S": "BL", "SW": "BS BM"}, "green tree, green nest / red tree, blue nest", rest="E"
        )
        row = game.redeal(row, 0, seed)
        assert not greedy_choices(game, row) & {"N>NE", "S>SW"}


def test_the_greedy_agent_trades_for_a_goal_that_lies_on_the_board_unclaimed() -> None:
    game, row = put({"NE": "RL RM RS", "C": "BM BL BS", "E": "GM GL GS"}, "blue tree, green tree / black tree, black nest")
    assert greedy_choices(game, row) <= {"trade blue tree", "trade green tree"}


@pytest.mark.parametrize("num_players", [2, 3])
def test_the_greedy_agent_does_not_look_at_what_its_seat_cannot_see(num_players: int) -> None:
    game = make(num_players)
    rows = [row for row in positions(num_players) if game.to_move(row) >= 0]
    for seed, row in enumerate(rows):
        scores = [score(game, one) for one in (row, game.redeal(row, game.to_move(row), seed))]
        assert np.array_equal(*scores, equal_nan=True)


def score(game: pe.Game, row: Any) -> np.ndarray:
    """The greedy agent's scores of all actions; NaN where it gives none."""
    scores = np.full((1, game.num_actions), np.nan)
    lab, mask = np.zeros(8, game.row_dtype), game.legal_mask(row).view(np.uint8)[None]
    game.drivers.greedy_all(game.tables, row, mask, np.zeros(1, np.uint64), lab, scores, np.zeros(1, np.int64))
    assert not np.isnan(scores[0, game.legal_actions(row)]).any()
    return scores


@pytest.mark.skipif(not COMPILED, reason="takes minutes without the compiler")
@pytest.mark.parametrize("num_players", [2, 3])
def test_the_greedy_agent_beats_random_play(num_players: int) -> None:
    game = make(num_players)
    batch = pe.Batch(game, 60, seed=3)
    random, greedy = pe.make_agent("random", game), pe.make_agent("greedy", game)
    greedy_seats = np.arange(60) % num_players
    decided = won = 0
    for _ in range(150):
        mine = batch.seats == greedy_seats
        step = batch.step(np.where(mine, act(greedy, batch), act(random, batch)))
        decided += step.terminated.sum()
        won += (step.rewards[np.arange(60), greedy_seats] > 0).sum()
    assert decided > 100
    assert won > 0.95 * decided


# ------------------------------------------------------------------------------------------------------------- advice


def grades(game: pe.Game, row: Any) -> np.ndarray:
    """How much each action is advised here."""
    return Adviser(game).advise(row, game.legal_mask(row)[None])[0]


def advice(game: pe.Game, row: Any) -> set[str]:
    """The names of what is advised most here."""
    return {game.action_name(row, action) for action in np.flatnonzero(grades(game, row) == GRADES).tolist()}


def test_the_advice_is_to_win_if_one_can() -> None:
    hands = "red tree, blue nest / black tree, black nest"
    assert advice(*put({"N": "RS", "NE": "RL RM"}, hands, actions_left=1)) == {"N>NE"}
    game, row = put({"N": "RS GL", "NE": "RL RM"}, hands)
    assert advice(game, row) == {"N>C"}
    assert advice(game, _after(game, row, "N>C")) == {"N>NE"}


def test_the_advice_is_to_complete_no_goal_that_one_does_not_hold() -> None:
    game, row = put(
        {"N": "RS", "NE": "RL RM", "S": "BL", "SW": "BS BM"}, "green tree, green nest / red tree, blue nest", rest="E"
    )
    assert not advice(game, row) & {"N>NE", "S>SW"}


def test_the_advice_is_to_break_what_another_seat_could_complete_in_a_turn() -> None:
    game, row = put({"N": "RS", "NE": "RL RM"}, "green tree, black nest / red tree, blue nest", actions_left=1)
    left_alone = _after(game, row, "pass")
    assert wins_in_a_turn(game, left_alone)
    for name in advice(game, row):
        assert name.startswith("trade") or not wins_in_a_turn(game, _after(game, row, name)), name
    assert any(not name.startswith("trade") for name in advice(game, row))


def wins_in_a_turn(game: pe.Game, row: Any) -> bool:
    """Whether the seat to move could win by moves in this turn."""
    seat = game.to_move(row)
    return any(
        game.to_move(later) == pe.TERMINAL or (game.to_move(later) == seat and wins_in_a_turn(game, later))
        for later in (_after(game, row, name) for name in legal(game, row) if ">" in name)
    )


@pytest.mark.parametrize("allow_pass", [True, False])
@pytest.mark.parametrize("num_players", [2, 3])
def test_the_advice_weighs_every_way_to_end_the_turn(num_players: int, allow_pass: bool) -> None:
    """By enumeration: what the hand promises at the end, less 1.5 times the danger; 0.016 are a grade."""
    game = make(num_players, allow_pass)
    rows = [row for row in positions(num_players) if game.to_move(row) >= 0]
    for row in rows[:: 1 + len(rows) // 30]:
        seat = game.to_move(row)
        worth = np.full(game.num_actions, -np.inf)
        for action in game.legal_actions(row).tolist():
            later, goal = row.copy(), None
            if action < rules.TRADE:
                goal = moved(game, later, action, seat)
            worth[action] = endings(game, later, seat, action, goal, int(row["actions_left"][0]))
        if row["actions_left"][0] == 2:  # a trade may come first
            for action in game.legal_actions(row).tolist():
                later = row.copy()
                if action < rules.TRADE and moved(game, later, action, seat) is None:
                    for trade in (rules.TRADE, rules.TRADE + 1):
                        worth[trade] = max(worth[trade], ending(game, later, seat, trade) + 0.001)
        legal = game.legal_actions(row)
        above = np.maximum(0, GRADES - (worth.max() - worth[legal]) / 0.016)
        given = grades(game, row)[legal]
        assert (given >= np.ceil(above - 1e-6)).all()  # rounded up, in either way where the sums are not exact
        assert (given <= np.ceil(above + 1e-6)).all()


@pytest.mark.parametrize("num_players", [2, 3])
def test_the_danger_is_that_another_seat_holds_what_is_two_moves_away(num_players: int) -> None:
    """Five colours lie ready: the share of all deals of two cards to each other seat in which one of the near goals is held."""
    game, row = put(
        {"N": "RS", "NE": "RL RM", "S": "BS", "SW": "BL BM"},
        ["green tree, black nest / red tree, blue nest", "green tree, black nest / red tree, blue nest / red nest, blue tree"][
            num_players - 2
        ],
    )
    hand = int(row["hands"][0, 0])
    away = [rules.actions_to(game.tables[0], row[0], card) for card in range(10)]
    others = [card for card in range(10) if not hand >> card & 1]
    near = {card for card in others if away[card] <= 2}
    assert near
    deals = list(itertools.combinations(others, 2 * (num_players - 1)))
    assert rules.danger(game.tables[0], row[0], hand) == pytest.approx(np.mean([not near.isdisjoint(deal) for deal in deals]))


def moved(game: pe.Game, row: Any, action: int, seat: int) -> float | None:
    """Move, and keep the turn; what the goal that this completes is worth, if there is one."""
    before = rules.goals(row[0])
    cards = int(row["hands"][0, seat])
    start, end = tables.WAYS[action]
    piece = next(p for p in range(15) if row["cell"][0, p] == 16 * start + row["tall"][0, start] - 1)
    row["cell"][0, piece] = 16 * end + row["tall"][0, end]
    row["tall"][0, start] -= 1
    row["tall"][0, end] += 1
    made = rules.goals(row[0]) & ~before
    return None if not made else rules.WIN if made & cards else rules.GIFT


def endings(game: pe.Game, row: Any, seat: int, action: int, goal: float | None, actions_left: int) -> float:
    """The best end of a turn that goes on with this action, already played on the board `row` if it is a move."""
    if goal is not None:
        return goal
    if action >= rules.TRADE:
        return ending(game, row, seat, action)
    if actions_left == 1:
        return ending(game, row, seat, rules.PASS)
    passes = (rules.PASS,) if game.options["allow_pass"] else ()
    best = max(ending(game, row, seat, last) for last in (rules.TRADE, rules.TRADE + 1, *passes))
    for last in range(rules.TRADE):
        if row["tall"][0, tables.WAYS[last][0]]:
            later = row.copy()
            made = moved(game, later, last, seat)
            best = max(best, ending(game, later, seat, rules.PASS) if made is None else made)
    return best


def ending(game: pe.Game, row: Any, seat: int, action: int) -> float:
    """What a turn is worth that ends here with a trade or a pass."""
    away = [rules.actions_to(game.tables[0], row[0], card) for card in range(10)]
    hand = tables.cards_in(int(row["hands"][0, seat]))
    others = [card for card in range(10) if card not in hand and away[card]]
    near = sum(away[card] <= 2 for card in others)
    held = 2 * (game.num_players - 1)
    danger = 1 - math.comb(len(others) - near, held) / math.comb(len(others), held)
    if action == rules.PASS:
        return hope([away[card] for card in hand]) - 1.5 * danger
    kept = hand[1 - (action - rules.TRADE)]
    wins = sum(card not in hand and not away[card] for card in range(10)) / (10 - 2 * game.num_players)
    return 2 * wins + (1 - wins) * np.mean([hope([away[kept], away[card]]) for card in others]) - 1.5 * danger


def hope(away: list[int]) -> float:
    return 1 - math.prod(1 - 0.75**n for n in away)
