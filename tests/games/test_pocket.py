"""Pyramids in my pocket, ruling by ruling, with positions made by hand."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import product
from math import comb, log2
from typing import Any

import numpy as np
import pytest

import pyramid_envs as pe
from pyramid_envs.games.pocket import tables
from tests.oracles import pocket as oracle
from tests.playing import act

DISCIPLE, MASTER = 0, 1
KINDS = ["RS", "RM", "RL", "GS", "GM", "GL", "BS", "BM", "BL"]
REQUESTS = ["small", "medium", "large", "red", "green", "blue"]
FORMS = [(size, orientation) for size in "SML" for orientation in ("up", "down")]
VARIANTS = [
    {"num_colors": colors, "copies": copies, "hidden": hidden}
    for colors, copies, hidden in product((1, 2, 3), (1, 2), (1, 2, 3))
    if hidden < 3 * colors * copies
]


@cache
def make(**options: Any) -> pe.Game:
    return pe.make_game("pocket", **options)


def position(
    pocket: str = "RS RM BL",
    tube: str = "",
    refused: str = "",
    asked: str | None = None,
    in_hand: str | None = None,
    phase: str = "ask",
    to_move: int | None = None,
    announced: str | None = None,
    winner: int | None = None,
    **options: Any,
) -> dict[str, Any]:
    """A position: the tube as "GM up small, RL down", refusals as "small 4, red 4"; whatever is nowhere else is in the bag."""
    dropped = [(*entry.split(), None)[:3] for entry in tube.split(",") if entry]
    given = [piece for piece, _, _ in dropped] + ([in_hand] if in_hand else [])
    kinds = KINDS[: 3 * options.get("num_colors", 3)]
    bag = Counter({kind: options.get("copies", 2) for kind in kinds}) - Counter(pocket.split() + given)
    if to_move is None:
        to_move = MASTER if phase in ("hide", "give") else DISCIPLE
    return {
        "pocket": pocket.split(),
        "bag": sorted(bag.elements(), key=KINDS.index),
        "tube": [list(entry) for entry in dropped],
        "refused": [[entry.split()[0], int(entry.split()[1])] for entry in refused.split(",") if entry],
        "asked": asked,
        "in_hand": in_hand,
        "phase": phase,
        "to_move": to_move,
        "announced": None if announced is None else announced.split(),
        "winner": winner,
    }


def put(options: dict[str, Any] | None = None, **entries: Any) -> tuple[pe.Game, Any]:
    """The game and the row of a position."""
    options = options or {}
    game = make(**options)
    small = {name: options[name] for name in ("num_colors", "copies") if name in options}
    return game, game.from_position(position(**entries, **small))


def legal(game: pe.Game, row: Any) -> list[str]:
    return [game.action_name(row, action) for action in game.legal_actions(row).tolist()]


def beginning(game: pe.Game, row: Any, verb: str) -> list[str]:
    """What the legal actions of this sort name."""
    return [name.removeprefix(f"{verb} ") for name in legal(game, row) if name.startswith(verb)]


def play(game: pe.Game, row: Any, *names: str) -> dict[str, Any]:
    """The position after these actions, played on a copy."""
    row = row.copy()
    for name in names:
        game.apply(row, game.parse_action(row, name))
    return game.position(row)


def observed(game: pe.Game, row: Any, seat: int) -> dict[str, list[int]]:
    view = game.observe(row, seat)
    return {name: view[part].tolist() for name, (part, _) in game.observation_fields.items()}


def games(number: int, seed: int, **options: Any) -> Iterator[tuple[pe.Game, Any, oracle.Oracle]]:
    """Every position of some random games in which an announcement is seldom made, and the oracle's; both change in place."""
    game = make(**options)
    dice = np.random.default_rng(seed)
    for _ in range(number):
        row, referee = game.initial(), oracle.Oracle(**options)
        while True:
            yield game, row, referee
            if game.to_move(row) == pe.TERMINAL:
                break
            choices = referee.chance() or referee.legal()
            asks = [number for number in referee.legal() if referee.names[number].startswith("ask")]
            choice = int(dice.choice(asks if asks and dice.random() < 0.93 else list(choices)))
            game.apply(row, choice)
            referee.apply(choice)


# ----------------------------------------------------------------------------------------------------------- the tube


@pytest.mark.parametrize(
    ("lower", "new", "thousandths"),
    [
        ("S up", "S up", 314),
        ("M up", "M up", 311),
        ("L up", "L up", 309),
        ("S down", "S down", 314),
        ("M down", "M down", 311),
        ("L down", "L down", 309),
        ("L up", "M up", 692),
        ("M up", "S up", 696),
        ("S up", "L up", -441),
        ("L down", "S down", 309),
        ("L up", "L down", 1750),
    ],
)
def test_a_piece_rests_on_another_at_its_offset(lower: str, new: str, thousandths: int) -> None:
    assert tables.offset(tables.FORMS.index(lower), tables.FORMS.index(new), Fraction("0.0884")) == thousandths


@pytest.mark.parametrize("wall", [0.0884, 0.001, 0.05, 0.2, 0.28124, 1e-05])
def test_all_offsets_are_those_of_the_oracle(wall: float) -> None:
    table = make(wall=wall).tables[0].offset
    for (i, lower), (j, new) in product(enumerate(FORMS), repeat=2):
        assert int(table[i, j]) == 1000 * oracle.offset(lower, new, wall), (lower, new)


@pytest.mark.parametrize(("wall", "thousandths"), [(0.001, 4), (0.003, 10), (0.005, 18), (0.002, 7)])
def test_an_offset_of_half_a_thousandth_is_rounded_to_even(wall: float, thousandths: int) -> None:
    assert make(wall=wall).tables[0].offset[4, 4] == thousandths  # L on L is 3.5 times the wall


def test_a_wide_piece_slips_over_a_narrow_one_down_to_the_floor() -> None:
    _, row = put(pocket="GS GM GL", tube="RS up small, RL up")
    assert row[0].lows[:2].tolist() == [0, 0]


def test_a_piece_sinks_until_it_touches_any_piece_not_just_the_last() -> None:
    _, row = put(pocket="GS GM GL", tube="RL up large, RM up, RS up small, BL up")
    on_large, on_medium, on_small = 309, 692 - 66, 692 + 696 - 441  # the last L, were there just one piece to touch
    assert row[0].lows[:4].tolist() == [0, 692, 692 + 696, max(on_large, on_medium, on_small)]
    _, row = put(pocket="GS GM GL", tube="RL up large, RL up, RS up small, BL up")
    assert row[0].lows[3] == max(309, 309 + 309, 309 + 1075 - 441)


def test_pieces_lie_where_the_oracle_puts_them() -> None:
    for wall in (0.0884, 0.15):
        for game, row, referee in games(6, 3, wall=wall, tube_height=12):
            lows = oracle.settle(referee.tube, wall)
            assert row[0].lows[: len(lows)].tolist() == [1000 * low for low in lows]
            for form, (size, orientation) in enumerate(FORMS):
                rest = oracle.settle([*referee.tube, [size, orientation]], wall)[-1]
                assert row[0].rest[form] == 1000 * rest
            assert game.position(row) == referee.position()


@pytest.mark.parametrize(("rim", "over"), [(2.059, False), (2.0591, False), (2.0589, True), (2, True)])
def test_a_top_exactly_at_the_rim_is_fine_and_above_it_is_not(rim: float, over: bool) -> None:
    game, row = put({"tube_height": rim}, tube="RL up large", in_hand="GL", phase="drop")
    after = play(game, row, "drop up")  # an L in an L: 0.309 + 1.75
    assert (after["phase"], after["winner"]) == (("over", MASTER) if over else ("ask", None))


def test_a_rim_is_read_as_the_decimal_that_it_prints_as() -> None:
    for thousandths in range(1000, 7000, 61):
        assert make(tube_height=thousandths / 1000).tables[0].rim == thousandths
    assert make(tube_height=float(np.nextafter(5.6, 0))).tables[0].rim == 5599


# -------------------------------------------------------------------------------------------------------- the actions


@pytest.mark.parametrize("options", VARIANTS, ids=str)
def test_actions_are_numbered_as_the_manual_page_says(options: dict[str, int]) -> None:
    game, referee = make(**options), oracle.Oracle(**options)
    colors, pockets = options["num_colors"], len(referee.pockets)
    assert game.num_actions == 2 * pockets + 4 * colors + 5
    row = game.initial()
    assert [game.action_name(row, action) for action in range(game.num_actions)] == referee.names
    for number, name in {
        pockets: "ask small",
        pockets + 2 + colors: f"ask {REQUESTS[2 + colors]}",
        pockets + 3 + colors: "give RS",
        pockets + 3 + 4 * colors: "drop up",
        pockets + 5 + 4 * colors: "announce " + " ".join(referee.pockets[0]),
    }.items():
        assert game.action_name(row, number) == name


def test_the_full_game_has_156_pockets_and_329_actions() -> None:
    game = make()
    row = game.initial()
    assert game.num_actions == 329
    assert len(beginning(game, row, "hide")) == len(legal(game, row)) == 156
    assert legal(game, row)[0] == "hide RS RS RM"
    assert legal(game, row)[-1] == "hide BM BL BL"


# ------------------------------------------------------------------------------------------------- course of the game


def test_the_master_hides_what_he_likes_and_the_rest_is_the_bag() -> None:
    game = make()
    row = game.initial()
    assert game.to_move(row) == MASTER
    assert game.position(row) == position(pocket="", phase="hide")
    after = play(game, row, "hide RS RS BL")
    assert after == position(pocket="RS RS BL")
    assert after["bag"] == ["RM", "RM", "RL", "RL", "GS", "GS", "GM", "GM", "GL", "GL", "BS", "BS", "BM", "BM", "BL"]


def test_a_random_pocket_is_drawn_like_three_pieces_at_once() -> None:
    game = make(pocket="random")
    row = game.initial()
    assert game.to_move(row) == pe.CHANCE
    assert not game.legal_mask(row).any()
    assert game.position(row) == position(pocket="", phase="hide")
    outcomes, probabilities = game.chance_outcomes(row)
    chances = {game.outcome_name(row, int(o)): p for o, p in zip(outcomes, probabilities, strict=True)}
    assert len(chances) == 156
    assert chances["hide RS RS RM"] == pytest.approx(2 / comb(18, 3))
    assert chances["hide RS RM BL"] == pytest.approx(8 / comb(18, 3))
    assert sum(chances.values()) == pytest.approx(1)
    game.apply(row, 0)
    assert game.position(row) == position(pocket="RS RS RM")


@pytest.mark.parametrize("options", VARIANTS, ids=str)
def test_a_draw_follows_the_probabilities(options: dict[str, int]) -> None:
    game = make(pocket="random", **options)
    row = game.initial()
    ways = comb(3 * options["num_colors"] * options["copies"], options["hidden"])
    drawn = Counter(game.drivers.sample(game.tables, row, (n + 0.5) / ways) for n in range(ways))
    outcomes, probabilities = game.chance_outcomes(row)
    assert [drawn[o] / ways for o in outcomes.tolist()] == pytest.approx(probabilities.tolist())
    assert game.drivers.sample(game.tables, row, 1 - 2.0**-53) == outcomes[-1]


def test_the_disciple_may_ask_for_anything_or_announce_at_once() -> None:
    game, row = put()
    assert game.to_move(row) == DISCIPLE
    assert beginning(game, row, "ask") == REQUESTS
    assert len(beginning(game, row, "announce")) == 156
    assert len(legal(game, row)) == 162


def test_the_master_answers_with_a_match_of_his_choice() -> None:
    game, row = put(pocket="RS RS BL")
    game.apply(row, game.parse_action(row, "ask small"))
    assert game.position(row) == position(pocket="RS RS BL", asked="small", phase="give")
    assert legal(game, row) == ["give GS", "give BS"]
    assert play(game, row, "give BS") == position(pocket="RS RS BL", asked="small", in_hand="BS", phase="drop")


def test_the_disciple_drops_it_as_he_wishes_and_the_master_gives_next() -> None:
    game, row = put(asked="red", in_hand="RL", phase="drop")
    assert game.to_move(row) == DISCIPLE
    assert legal(game, row) == ["drop up", "drop down"]
    assert play(game, row, "drop up") == position(tube="RL up red", phase="give")
    assert play(game, row, "drop down") == position(tube="RL down red", phase="give")


def test_on_his_own_turn_the_master_gives_any_piece_of_the_bag_and_must() -> None:
    game, row = put(pocket="RS RS BL", tube="RL up red, GM up, RM down medium", phase="give")
    assert game.to_move(row) == MASTER
    assert legal(game, row) == [f"give {kind}" for kind in KINDS if kind != "RS"]
    game.apply(row, game.parse_action(row, "give BL"))
    assert game.position(row) == position("RS RS BL", "RL up red, GM up, RM down medium", in_hand="BL", phase="drop")
    assert play(game, row, "drop down") == position("RS RS BL", "RL up red, GM up, RM down medium, BL down")


def test_the_disciple_drops_the_masters_gifts_too_unless_the_master_orients() -> None:
    gift: dict[str, Any] = {"tube": "RL up red", "in_hand": "GM", "phase": "drop"}
    assert make().to_move(put(**gift)[1]) == DISCIPLE
    game, row = put({"master_orients": True}, **gift, to_move=MASTER)
    assert game.to_move(row) == MASTER
    assert play(game, row, "drop up")["to_move"] == DISCIPLE
    game, row = put({"master_orients": True}, asked="red", in_hand="RL", phase="drop")
    assert game.to_move(row) == DISCIPLE


def test_who_dropped_last_is_told_at_the_end() -> None:
    tube: dict[str, Any] = {"tube": "RL up red", "in_hand": "GM", "phase": "drop"}
    for master_orients, seat in ((False, DISCIPLE), (True, MASTER)):
        game, row = put({"tube_height": 2, "master_orients": master_orients}, **tube, to_move=seat)
        after = play(game, row, "drop down")
        assert after == position(tube="RL up red, GM down", phase="over", to_move=seat, winner=MASTER)


def test_a_refused_request_costs_nothing_and_is_not_offered_again() -> None:
    smalls = "RS up small, GM up, GS up small, GL up, BS up small, RM up"
    game, row = put(pocket="RS GS BS", tube=smalls)
    assert "small" in beginning(game, row, "ask")
    game.apply(row, game.parse_action(row, "ask small"))
    assert game.position(row) == position("RS GS BS", smalls, refused="small 6")
    assert game.to_move(row) == DISCIPLE
    assert beginning(game, row, "ask") == REQUESTS[1:]
    assert beginning(game, row, "announce")
    with pytest.raises(pe.IllegalActionError):
        game.parse_action(row, "ask small")
    assert play(game, row, "ask red")["phase"] == "give"


def test_refusals_stay_in_their_order() -> None:
    tube = "RL up large, GS up, RL up large, GS up, GM up medium, GM up, GL up large, GL up"
    game, row = put(pocket="RS RS RM", tube=tube)
    after = play(game, row, "ask green")
    assert after["refused"] == [["green", 8]]
    for name in ("ask green", "ask red", "give RM", "drop up", "give BS", "drop up", "ask red"):
        game.apply(row, game.parse_action(row, name))
    assert game.position(row)["refused"] == [["green", 8], ["red", 10]]
    other = game.from_position({**game.position(row), "refused": [["green", 10], ["red", 10]]})
    third = game.from_position({**game.position(row), "refused": [["red", 10], ["green", 10]]})
    assert len({r.tobytes() for r in (row, other, third)}) == 3
    assert len({game.observe(r, DISCIPLE).tobytes() for r in (row, other, third)}) == 3


def test_a_request_that_visibly_cannot_be_met_is_offered_until_it_is_refused() -> None:
    tube = "RS up small, RS up, GS up small, GS up, BS up small, BS up"
    game, row = put(pocket="RM RM RL", tube=tube)
    assert "small" in beginning(game, row, "ask")
    assert play(game, row, "ask small")["refused"] == [["small", 6]]


def test_a_right_announcement_wins_for_the_disciple() -> None:
    game, row = put(pocket="RS RM BL")
    game.apply(row, game.parse_action(row, "announce RS RM BL"))
    assert game.position(row) == position(phase="over", announced="RS RM BL", winner=DISCIPLE)
    assert game.returns(row).tolist() == [1, -1]
    assert game.to_move(row) == pe.TERMINAL
    assert not game.legal_mask(row).any()


def test_a_wrong_announcement_wins_for_the_master() -> None:
    game, row = put(pocket="RS RM BL")
    game.apply(row, game.parse_action(row, "announce RS RM RM"))
    assert game.position(row) == position(phase="over", announced="RS RM RM", winner=MASTER)
    assert game.returns(row).tolist() == [-1, 1]


def test_an_announcement_names_no_kind_more_often_than_it_is_outside_the_tube() -> None:
    game, row = put(pocket="RS RM BL", tube="GM up medium, GM up")
    offered = [Counter(name.split()) for name in beginning(game, row, "announce")]
    assert not any(pieces["GM"] for pieces in offered)
    assert any(pieces["GS"] == 2 for pieces in offered)
    game, row = put(pocket="RS RM BL", tube="GM up medium, RS up")
    offered = [Counter(name.split()) for name in beginning(game, row, "announce")]
    assert {pieces["GM"] for pieces in offered} == {pieces["RS"] for pieces in offered} == {0, 1}
    assert len(offered) == len({tuple(sorted(pieces.elements())) for pieces in offered})


def test_an_announcement_against_a_refusal_is_foolish_but_allowed() -> None:
    smalls = "RS up small, GM up, GS up small, GL up, BS up small, RM up"
    game, row = put(pocket="RS GS BS", tube=smalls, refused="small 6")
    assert "RM RL RL" in beginning(game, row, "announce")
    assert play(game, row, "announce RM RL RL")["winner"] == MASTER


def test_nothing_is_announced_with_a_piece_in_hand_or_on_the_masters_turn() -> None:
    for entries in (
        {"asked": "red", "in_hand": "RL", "phase": "drop"},
        {"asked": "red", "phase": "give"},
        {"tube": "RL up red", "phase": "give"},
        {"tube": "RL up red", "in_hand": "GM", "phase": "drop"},
    ):
        assert not beginning(*put(**entries), "announce")


TINY = {"num_colors": 1, "copies": 1, "hidden": 1}


def test_with_an_empty_bag_the_masters_turn_is_skipped_and_the_disciple_must_announce() -> None:
    options = {"num_colors": 1, "copies": 1, "hidden": 2}
    game, row = put(options, pocket="RS RM", asked="large", in_hand="RL", phase="drop")
    game.apply(row, game.parse_action(row, "drop up"))
    assert game.position(row) == position("RS RM", "RL up large", **{k: options[k] for k in ("num_colors", "copies")})
    assert game.to_move(row) == DISCIPLE
    assert legal(game, row) == ["announce RS RM"]
    assert play(game, row, "announce RS RM")["winner"] == DISCIPLE


def test_once_the_bag_is_empty_the_pocket_is_known() -> None:
    reached = 0
    for options in VARIANTS:
        for game, row, referee in games(2, 5, tube_height=30, **options):
            if referee.phase == "ask" and not referee.bag:
                assert legal(game, row) == ["announce " + " ".join(referee.pocket)]
                reached += 1
    assert reached > 10


def test_a_drop_above_the_rim_loses_even_if_it_was_the_last_piece() -> None:
    game, row = put({**TINY, "tube_height": 1.2}, pocket="RL", tube="RS up small", in_hand="RM", phase="drop")
    game.apply(row, game.parse_action(row, "drop up"))
    end = game.position(row)
    assert (end["phase"], end["winner"], end["bag"], end["in_hand"], end["asked"]) == ("over", MASTER, [], None, None)
    assert game.returns(row).tolist() == [-1, 1]


def test_a_small_variant_has_its_own_colours_only() -> None:
    game, row = put({"num_colors": 2}, pocket="RS RM GL")
    assert beginning(game, row, "ask") == ["small", "medium", "large", "red", "green"]
    game.apply(row, game.parse_action(row, "ask large"))
    assert beginning(game, row, "give") == ["RL", "GL"]
    assert game.position(row)["bag"] == ["RS", "RM", "RL", "RL", "GS", "GS", "GM", "GM", "GL"]


@pytest.mark.parametrize("options", [*VARIANTS, {"pocket": "random"}, {"master_orients": True, "tube_height": 4.25}], ids=str)
def test_the_game_goes_as_the_oracle_says(options: dict[str, Any]) -> None:
    for game, row, referee in games(3, 11, **options):
        assert game.position(row) == referee.position()
        assert game.from_position(json.loads(json.dumps(game.position(row)))).tobytes() == row.tobytes()
        assert dict(zip(game.legal_actions(row).tolist(), legal(game, row), strict=True)) == referee.legal()
        assert game.returns(row).tolist() == [float(payoff) for payoff in referee.returns()]


# ------------------------------------------------------------------------------------------------------------ options


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_players": 3}, "num_players"),
        ({"num_colors": 4}, "num_colors"),
        ({"copies": 3}, "copies"),
        ({"hidden": 0}, "hidden"),
        ({"num_colors": 1, "copies": 1, "hidden": 3}, "hidden .* less than the number of pieces, 3"),
        ({"pocket": "seen"}, "pocket"),
        ({"master_orients": 1}, "master_orients"),
        ({"wall": 0}, "wall .* above 0 and below 9/32"),
        ({"wall": 0.28125}, "wall .* above 0 and below 9/32"),
        ({"wall": float("nan")}, "wall"),
        ({"wall": "0.1"}, "wall .* number of inches"),
        ({"tube_height": 0}, "tube_height .* above 0"),
        ({"tube_height": -1}, "tube_height"),
        ({"tube_height": float("inf")}, "tube_height"),
        ({"tube_height": True}, "tube_height .* number of inches"),
    ],
)
def test_options_that_the_rules_do_not_allow_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(pe.OptionError, match=message):
        pe.make_game("pocket", **options)


def test_a_length_may_be_any_number_and_is_kept_as_a_float() -> None:
    assert make(tube_height=6) == make(tube_height=6.0)
    assert pe.make_game("pocket", wall=np.float32(0.0884)) == make()
    assert pe.make_game("pocket", wall=0.28124).options["wall"] == 0.28124
    assert pe.make_game("pocket", tube_height=1e300).tables[0].rim == 32_767


def test_rows_and_tables_have_one_shape_for_all_variants() -> None:
    assert len({(game.row_dtype, game.tables.dtype, game.observation_shape) for game in (make(**v) for v in VARIANTS)}) == 1


# ---------------------------------------------------------------------------------------------- positions that cannot be


def replaced(position: dict[str, Any], **entries: Any) -> dict[str, Any]:
    return {**position, **entries}


SIX_SMALL = "RS up small, RS up, GS up small, GS up, BS up small, BS up"
START = position(pocket="", phase="hide")
ASKED = position(asked="red", phase="give")
DROPPING = position(asked="red", in_hand="RL", phase="drop")
LATER = position(pocket="RM RM RL", tube=SIX_SMALL, refused="small 6")
OVER = position(phase="over", announced="RS RM RM", winner=MASTER)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (replaced(ASKED, phase="asking"), "phase must be one of"),
        (replaced(ASKED, phase=1), "phase must be one of"),
        (replaced(ASKED, to_move=2), "to_move must be a whole number from 0 to 1"),
        (replaced(OVER, winner=2), "winner must be one of"),
        (replaced(ASKED, pocket=["RS", "RM"]), "pocket must have 3 entries, not 2"),
        (replaced(ASKED, pocket="RS RM BL"), "pocket must be a list"),
        (replaced(ASKED, pocket=["RS", "RM", "XL"]), r"pocket\[2\] must be one of 'RS'"),
        (replaced(ASKED, pocket=["RM", "RS", "BL"]), "pocket must be in the order RS RM RL"),
        (replaced(ASKED, bag=ASKED["bag"][::-1]), "bag must be in the order"),
        (replaced(ASKED, bag=[*ASKED["bag"][:-1], "bl"]), r"bag\[14\] must be one of"),
        (replaced(ASKED, bag=ASKED["bag"][1:]), "together hold RS 1 times; there are 2"),
        (replaced(ASKED, bag=[*ASKED["bag"], "BL"]), "together hold BL 3 times; there are 2"),
        (replaced(ASKED, pocket=["RS", "RM", "BM"]), "together hold BM 3 times"),
        (replaced(LATER, tube=["RS up"]), r"tube\[0\] must be a list"),
        (replaced(LATER, tube=[["RS", "up"]]), r"tube\[0\] must have 3 entries, not 2"),
        (replaced(LATER, tube=[["R", "up", "small"]]), r"tube\[0\]\[0\] must be one of 'RS'"),
        (replaced(LATER, tube=[["RS", "left", "small"]]), r"tube\[0\]\[1\] must be one of 'up', 'down'"),
        (replaced(LATER, tube=[["RS", "up", "pink"]]), r"tube\[0\]\[2\] must be one of 'small'"),
        (replaced(LATER, refused=[["small"]]), r"refused\[0\] must have 2 entries, not 1"),
        (replaced(LATER, refused=[[None, 6]]), r"refused\[0\] must begin with a request"),
        (replaced(LATER, refused=[["pink", 6]]), r"refused\[0\]\[0\] must be one of 'small'"),
        (replaced(LATER, refused=[["small", 7]]), r"refused\[0\]\[1\] must be a whole number from 0 to 6, not 7"),
        (replaced(LATER, refused=[["small", 6], ["small", 6]]), r"refused\[1\] refuses small again"),
        (replaced(LATER, refused=[["small", 6], ["red", 4]]), r"refused\[1\] with 4 pieces in the tube comes after one with 6"),
        (replaced(ASKED, asked="pink"), "asked must be one of 'small'"),
        (replaced(DROPPING, in_hand="XX"), "in_hand must be one of 'RS'"),
        (replaced(OVER, announced=["RS"]), "announced must have 3 entries, not 1"),
        # entries of other phases
        (replaced(START, pocket=["RS", "RM", "BL"]), "pocket must have 0 entries"),
        (replaced(START, bag=START["bag"][1:]), "together hold RS 1 times"),
        (replaced(START, refused=[["small", 0]]), "at hide nothing has happened yet, but refused is"),
        (replaced(position("", "RL up red", phase="hide")), "at hide nothing has happened yet, but tube is"),
        (replaced(START, asked="red"), "at hide asked must be None"),
        (replaced(ASKED, in_hand="RL"), "at give in_hand must be None"),
        (replaced(LATER, asked="red"), "at ask asked must be None"),
        (replaced(LATER, announced=["RM", "RM", "RL"]), "at ask announced must be None"),
        (replaced(LATER, winner=0), "at ask winner must be None"),
        (position(phase="drop"), "at drop in_hand must be a piece"),
        (replaced(OVER, winner=None), "at over winner must be 0 or 1"),
        # a history that cannot have been
        (position(tube="RL up"), r"tube\[0\], a gift of the Master's own, does not fit: with 0 pieces .* Disciple's turn to ask"),
        (position(tube="RL up red, GM up medium"), r"tube\[1\] does not fit: with 1 pieces in the tube it was the Master's turn"),
        (position(tube="RL up red, GM up, BM up"), r"tube\[2\], a gift of the Master's own, does not fit"),
        (position(tube="RL up green", phase="give"), r"tube\[0\]: RL is no answer to green"),
        (replaced(DROPPING, asked="green"), "in_hand: RL is no answer to green"),
        (replaced(DROPPING, asked=None), "in_hand, a gift of the Master's own, does not fit"),
        (position(tube="RL up red", asked="red", in_hand="GM", phase="drop"), "in_hand: GM is no answer to red"),
        (position(tube="RL up red", asked="red", in_hand="RL", phase="drop"), "in_hand does not fit"),
        (position(tube="RL up red", asked="red", phase="give"), "asked does not fit"),
        (position(refused="small 0"), r"refused\[0\]: small cannot have been refused, for the bag held RS GS GS BS BS"),
        (replaced(LATER, refused=[["small", 4]]), r"refused\[0\]: small cannot have been refused, for the bag held BS BS"),
        (
            replaced(LATER, refused=[["small", 5]]),
            r"refused\[0\] does not fit: with 5 pieces in the tube it was the Master's turn",
        ),
        (position("RM RM RL", SIX_SMALL, asked="small", phase="give"), "asked: the bag has no match for small"),
        (position("RS RM", "RL up large", "red 1", num_colors=1, copies=1), "the bag was empty, so nothing could be asked"),
        (position(tube="RL up red, GM up", phase="give"), "phase must be 'ask' here, with the Disciple to move, not 'give'"),
        (position(tube="RL up red"), "phase must be 'give' here, with the Master to move, not 'ask'"),
        (replaced(LATER, to_move=1), "to_move must be 0, the Disciple, at this 'ask', not 1"),
        (replaced(ASKED, to_move=0), "to_move must be 1, the Master, at this 'give', not 0"),
        (replaced(DROPPING, to_move=1), "to_move must be 0, the Disciple, at this 'drop', not 1"),
        (replaced(START, to_move=0), "to_move must be 1, the Master, at this 'hide', not 0"),
        # a wrong end
        (replaced(OVER, winner=0), "winner must be 1, the Master, not 0"),
        (replaced(OVER, announced=["RS", "RM", "BL"]), "winner must be 0, the Disciple, not 1"),
        (replaced(OVER, to_move=1), "to_move must be 0, the Disciple, at this 'over', not 1"),
        (replaced(OVER, announced=None), "phase is 'over', but nothing was announced and nothing stands above the rim"),
        (position(tube="RL up red", phase="over", announced="RS RM BL", winner=0), "announced does not fit"),
        (
            position(tube="RL up red, GM up", phase="over", announced="RS GM GM", winner=1),
            "announced names GM 2 times; 1 of them are not in the tube",
        ),
    ],
)
def test_a_position_that_cannot_be_is_refused_with_the_reason(wrong: dict[str, Any], message: str) -> None:
    small = len(wrong["pocket"]) == 2 and "GS" not in wrong["bag"]
    game = make(num_colors=1, copies=1, hidden=2) if small else make()
    with pytest.raises(pe.PositionError, match=message):
        game.from_position(wrong)


STACK = "RL up large, RL down, GL up large"  # 1.75 on 1.75 on 1.75


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"phase": "give"}, r"tube\[1\] stands above the rim, so the game was over before tube\[2\]"),
        ({"tube": "RL up large, RL down"}, r"tube\[1\] stands above the rim, so phase must be 'over', not 'ask'"),
        ({"tube": "RL up large, RL down", "asked": "red", "phase": "give"}, "so the game was over before asked"),
        ({"tube": "RL up large, RL down", "asked": "red", "in_hand": "RM", "phase": "drop"}, "over before in_hand"),
        (
            {"tube": "RL up large, RL down", "announced": "RS RM BL", "phase": "over", "winner": 0},
            "over before announced",
        ),
        ({"tube": "RL up large, RL down", "phase": "over", "winner": 0}, "winner must be 1, the Master"),
        ({"tube": "RL up large, RL down", "refused": "red 2", "phase": "over", "winner": 1}, r"over before refused\[0\]"),
    ],
)
def test_nothing_can_have_followed_an_overflow(entries: dict[str, Any], message: str) -> None:
    game = make(tube_height=3)
    with pytest.raises(pe.PositionError, match=message):
        game.from_position(position(**{"tube": STACK, **entries}))


def test_a_position_of_another_variant_is_refused() -> None:
    with pytest.raises(pe.PositionError, match=r"bag\[.\] must be one of 'RS', 'RM', 'RL'"):
        make(num_colors=1, hidden=2).from_position(position(pocket="RS RM"))
    game = make(num_colors=1, hidden=2)
    with pytest.raises(pe.PositionError, match="asked must be one of 'small', 'medium', 'large', 'red'"):
        game.from_position(position("RS RM", asked="blue", phase="give", num_colors=1))


# ------------------------------------------------------------------------------------------------ what a seat may know


@pytest.mark.parametrize(
    "options",
    [
        {"num_colors": 1, "copies": 2, "hidden": 3},
        {"num_colors": 1, "copies": 2, "hidden": 2, "tube_height": 2.9, "pocket": "random"},
        {"num_colors": 2, "copies": 1, "hidden": 1, "tube_height": 1.6, "master_orients": True},
    ],
    ids=str,
)
def test_a_seat_sees_its_information_state_and_nothing_else(options: dict[str, Any]) -> None:
    """A whole variant is walked. What a seat has seen is told apart by its observation, and nothing else is."""
    game = make(**options)
    seen_as: list[dict[str, bytes]] = [{}, {}]
    known_from: list[dict[bytes, str]] = [{}, {}]
    disciples: dict[str, tuple[bytes, str]] = {}  # mask and text of what the Disciple has seen
    rows, count = [game.initial()], 0
    while rows:
        row = rows.pop()
        count += 1
        told = game.position(row)
        public = {name: value for name, value in told.items() if name not in ("pocket", "bag")}
        for seat, information in ((DISCIPLE, repr(public)), (MASTER, repr(told))):
            view = game.observe(row, seat).tobytes()
            assert seen_as[seat].setdefault(information, view) == view
            assert known_from[seat].setdefault(view, information) == information
        if count % 5 == 0:
            mask = game.legal_mask(row).tobytes() if game.to_move(row) == DISCIPLE else b""
            views = (mask, game.text(row, DISCIPLE))
            assert disciples.setdefault(repr(public), views) == views
        for choice in np.flatnonzero(game.legal_mask(row)) if game.to_move(row) >= 0 else game.chance_outcomes(row)[0]:
            after = row.copy()
            game.apply(after, choice)
            rows.append(after)
    assert len(seen_as[MASTER]) == count
    assert len(seen_as[DISCIPLE]) < count


def test_an_observation_tells_field_by_field_what_the_manual_page_says() -> None:
    tube = "RS up small, GM up, GS up small, GL up, BS up small, RM down"
    game, row = put(pocket="RS GS BS", tube=tube, refused="small 6", asked="red", in_hand="RL", phase="drop")
    view = observed(game, row, DISCIPLE)
    assert view["role"] == [1, 0]
    assert view["phase"] == [0, 0, 0, 1, 0]
    assert view["turn"] == [1, 0]
    assert view["won"] == [0, 0]
    assert view["in_hand"] == [0, 0, 1, 0, 0, 0, 0, 0, 0]
    assert view["asked"] == [0, 0, 0, 1, 0, 0]
    assert view["free"] == [1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1]
    assert view["must"] == [1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    assert not any(view["pocket"] + view["bag"] + view["announced"])
    assert view["refused"] == [1, 0, 0, 0, 0, 0]
    assert view["refusal"] == [1, 0, 0, 0, 0, 0]
    assert view["refused_at"] == [6, 0, 0, 0, 0, 0]
    assert view["belief"] == [0, 127]
    assert view["chances"] == [127, 0, 0, 127, 0, 0, 127, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    assert view["count"] == [6]
    drops = np.reshape(view["drops"], (17, 16))
    assert drops[0].tolist() == [1, 0, 0, 1, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0]  # RS up, asked for small, on the floor
    assert drops[5].tolist() == [0, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, row[0].lows[5] // 50]  # RM down, a gift
    assert not drops[6:].any()
    for form, height in enumerate([1000, 1000, 1375, 1375, 1750, 1750]):
        low = int(row[0].rest[form])
        assert view["rest"][form] == low // 50
        assert view["room"][form] == max(-127, min((5600 - low - height) // 10, 127))
        assert view["fits"][form] == (low + height <= 5600)

    view = observed(game, row, MASTER)
    assert view["role"] == [0, 1]
    assert view["turn"] == [0, 1]
    assert view["pocket"] == [1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    assert view["bag"] == [0, 1, 1, 0, 1, 1, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1]

    game, row = put(phase="over", announced="RS RM RM", winner=MASTER)
    assert observed(game, row, MASTER)["won"] == [1, 0]
    view = observed(game, row, DISCIPLE)
    assert view["won"] == [0, 1]
    assert view["announced"] == [1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("options", [{}, {"copies": 1}, {"num_colors": 2, "hidden": 2}, {"num_colors": 1}], ids=str)
def test_the_disciples_belief_is_that_of_the_possible_pockets(options: dict[str, Any]) -> None:
    for game, row, referee in games(8, 2, tube_height=8, **options):
        if referee.to_move() == DISCIPLE:
            possible = referee.possible_pockets()
            ways = sum(possible.values())
            view = observed(game, row, DISCIPLE)
            assert view["belief"] == [round(16 * log2(len(possible))), round(127 * max(possible.values()) / ways)]
            shares = [
                127 * sum(w for pocket, w in possible.items() if pocket.count(kind) > copy) / ways
                for copy in range(2)
                for kind in KINDS
            ]
            assert view["chances"] == pytest.approx(shares, abs=0.501)


def test_the_text_shows_the_pocket_to_the_master_alone() -> None:
    game, row = put(pocket="RS RS BL", tube="GM up medium, RL down")
    assert "pocket  RS RS BL" in game.text(row) == game.text(row, MASTER)
    shown = game.text(row, DISCIPLE)
    assert "RS RS BL" not in shown
    assert "1  GM up     0.000  1.375  asked: medium" in shown
    assert "2  RL down   1.375  3.125  the Master's gift" in shown
    assert "the Disciple, asks or announces" in shown


# -------------------------------------------------------------------------------------------------------------- redeal


def test_a_redeal_keeps_all_that_the_disciple_has_seen_and_the_master_knows_all() -> None:
    for options in ({}, {"pocket": "random", "tube_height": 8}, {"num_colors": 2, "hidden": 2, "master_orients": True}):
        for game, row, referee in games(4, 7, **options):
            assert game.redeal(row, MASTER, 3).tobytes() == row.tobytes()
            for seed in range(3):
                other = game.redeal(row, DISCIPLE, seed)
                assert game.observe(other, DISCIPLE).tobytes() == game.observe(row, DISCIPLE).tobytes()
                assert game.text(other, DISCIPLE) == game.text(row, DISCIPLE)
                if game.to_move(row) == DISCIPLE:
                    assert game.legal_mask(other).tobytes() == game.legal_mask(row).tobytes()
                told = game.position(other)
                assert game.from_position(told).tobytes() == other.tobytes()
                if referee.pocket:
                    assert tuple(told["pocket"]) in referee.possible_pockets()


@pytest.mark.parametrize(
    "entries",
    [
        {},
        {"pocket": "RS RS BL", "tube": "RL up large, RL down, GM up medium, GS up, GM up medium, GL up"},
        {"pocket": "RM RM RL", "tube": SIX_SMALL, "asked": "red", "phase": "give"},
        {"pocket": "RS GS BS", "tube": "RS up small, GM up, GS up small, GL up, BS up small, RM up", "phase": "ask"},
        {
            "pocket": "RS RM GS",
            "tube": "RS up small, GM up, GS up small, GM up, BS up small, BS up, RL up red, RL up",
            "refused": "small 8",
        },
        {"tube": "GM up medium, GM up", "phase": "over", "announced": "RS RM RM", "winner": MASTER},
        {"pocket": "RS RM BL", "phase": "over", "announced": "RS RM BL", "winner": DISCIPLE},
    ],
    ids=str,
)
def test_a_redeal_draws_every_possible_pocket_by_its_ways(entries: dict[str, Any]) -> None:
    options = {"tube_height": 9}
    game, row = put(options, **entries)
    possible = oracle.Oracle.from_position(game.position(row), **options).possible_pockets()
    ways = sum(possible.values())
    draws = 4000
    drawn = Counter(tuple(game.position(game.redeal(row, DISCIPLE, seed))["pocket"]) for seed in range(draws))
    assert set(drawn) <= set(possible)
    square = sum((drawn[p] - draws * w / ways) ** 2 / (draws * w / ways) for p, w in possible.items())
    freedom = len(possible) - 1
    assert square <= freedom + 5 * (2 * freedom) ** 0.5  # chi-square, five deviations


def test_before_the_pocket_is_filled_there_is_nothing_to_redeal() -> None:
    for game in (make(), make(pocket="random")):
        row = game.initial()
        assert game.redeal(row, DISCIPLE, 1).tobytes() == row.tobytes()


# -------------------------------------------------------------------------------------------------------- greedy agent


def liked(game: pe.Game, row: Any) -> set[str]:
    """What the greedy agent may play here: it draws among the actions that it likes best."""
    draws = 2000
    seats = np.full(draws, game.to_move(row))
    masks = np.repeat(game.legal_mask(row)[None], draws, axis=0)
    views = np.repeat(game.observe(row, int(seats[0]))[None], draws, axis=0)
    seeds = np.arange(draws, dtype=np.uint64) * np.uint64(2**64 // draws)  # evenly spread
    actions = pe.make_agent("greedy", game).act(np.repeat(row, draws), views, masks, seats, seeds)
    return {game.action_name(row, action) for action in set(actions.tolist())}


def test_greedy_announces_the_only_pocket_left() -> None:
    tube = "RS up small, GM up, GS up small, GM up, BS up small, RM up"
    assert liked(*put(pocket="RS GS BS", tube=tube, refused="small 6")) == {"announce RS GS BS"}


def test_greedy_announces_a_likeliest_pocket_when_the_next_piece_might_not_fit() -> None:
    options = {"tube_height": 2.06}
    game, row = put(options, pocket="GS BL BL", tube="RL up large, RL up")  # one more L would reach 2.368, an M or S higher
    possible = oracle.Oracle.from_position(game.position(row), **options).possible_pockets()
    most = max(possible.values())
    assert liked(game, row) == {f"announce {' '.join(pocket)}" for pocket, ways in possible.items() if ways == most}


def test_greedy_asks_while_there_is_room_and_never_for_what_is_known_to_be_refused() -> None:
    for name in liked(*put()):
        assert name.startswith("ask")
    assert "ask small" not in liked(*put(pocket="RM RM RL", tube=SIX_SMALL))


def test_greedy_gives_what_must_overflow() -> None:
    game, row = put(
        {"tube_height": 2.065}, tube="RL up large", phase="give"
    )  # another L would reach 2.059, an M 2.067, an S 2.075
    assert liked(game, row) == {"give RS", "give RM", "give GS", "give GM", "give BS", "give BM"}


def test_greedy_does_not_look_at_what_its_seat_cannot_know() -> None:
    for game, row, _ in games(6, 9, tube_height=6):
        if game.to_move(row) == DISCIPLE:
            assert liked(game, row) == liked(game, game.redeal(row, DISCIPLE, 5))


def shares(disciple: str, master: str, number: int, **options: Any) -> float:
    """The Disciple's share of wins: one game in each place of a batch."""
    game = make(**options)
    batch = pe.Batch(game, number, seed=1)
    agents = [pe.make_agent(name, game) for name in (disciple, master)]
    won: dict[int, bool] = {}
    while len(won) < number:
        step = batch.step(np.where(batch.seats == DISCIPLE, *(act(agent, batch) for agent in agents)))
        for place in np.flatnonzero(step.terminated).tolist():
            won.setdefault(place, bool(step.rewards[place, DISCIPLE] > 0))
    return sum(won.values()) / number


def test_greedy_plays_better_than_random_in_both_seats() -> None:
    assert shares("random", "random", 1000) < 0.03
    assert shares("random", "greedy", 1000) < 0.03
    assert shares("greedy", "random", 1000) > 0.5
    assert 0.1 < shares("greedy", "greedy", 1000) < 0.35
