"""Pyramids in my pocket, for 2 seats: find out which pieces the Master hides before the tube overflows.

CHOICE marks what this project decided because nothing public does. There are no published rulings; all else is the rulebook's.

Roles
    Seat 0, player_0, is the Disciple; seat 1, player_1, is the Master.

Pieces
    Pyramids of 3 sizes and 3 colours, 2 copies of each: 18. A piece is written as colour and size: ``RS`` is a small red one. The
    nine kinds stand in the order RS RM RL GS GM GL BS BM BL.

Course of the game
    1. The Master hides 3 pieces in his pocket, unseen; the other 15 are in the bag. He knows and chooses them (CHOICE; option
       ``pocket``).
    2. The Disciple *asks* for a size or a colour, or *announces*. If the bag has a match, the Master must give one of his choice,
       and the Disciple drops it into the tube, point up or point down. If not, the request is refused: both know it, it costs
       nothing, and the Disciple asks again or announces. What has been refused is not asked again, since bags only shrink; any
       other request may be made, even one that visibly cannot be met (CHOICE).
    3. The Master gives any piece of the bag, and he must (CHOICE: the rulebook says "can"). The Disciple drops it, and decides
       which way up (CHOICE: the rulebook's "he" can be read both ways; option ``master_orients``). Then he asks again.
    4. To announce is to name the pocket: right, and the Disciple wins; wrong, and the Master wins. That is possible wherever he
       could ask, the first time included, never with a piece in hand (CHOICE). When the bag is empty the Master's turn is
       skipped (CHOICE), nothing can be asked, and the Disciple must announce; by then the pocket is known.
    5. A drop that leaves any point above the rim ends the game at once: the Master wins, even if it was the last piece. A point
       exactly at the rim is fine.

The tube (CHOICE: no physics of the drop are published)
    The pieces are rigid, hollow, square pyramids on one axis. Base and height in inches: S 9/16, 1; M 25/32, 1 3/8; L 1, 1 3/4.
    The wall is ``wall`` thick, measured along the base. With a = base / 2, k = height / a, r the distance from the axis::

        point up     upper side  k (a - r)
                     underside   k (a - wall - r), beyond a - wall 0
        point down   upper side  height - k (a - wall - r), beyond a - wall height
                     underside   k r

    A piece sinks until it touches: its lowest point comes to rest at max(0, z + offset) over all pieces in the tube, z being the
    lowest point of such a piece and offset the greatest difference of its upper side and the new piece's underside. Offsets are
    computed exactly, then rounded to 0.001 inch, halves to even. They can be negative: a wide piece slips over a narrow one. With
    the default wall they are, in inches (row: the piece below)::

                   S up  S down    M up  M down    L up  L down
        S up      0.314   1.000  -0.064   1.000  -0.441   1.000
        S down    1.000   0.314   0.926   0.321   0.544   0.325
        M up      0.696   1.375   0.311   1.375  -0.066   1.375
        M down    1.301   0.311   1.375   0.311   1.302   0.317
        L up      1.075   1.750   0.692   1.750   0.309   1.750
        L down    1.294   0.309   1.677   0.309   1.750   0.309

    The rim is at ``tube_height``. At the default, good drops always fit 14 pieces, and the 15th if the order was kind.

Options
    num_players     2
    max_plies       None: no limit; the rules end every game
    num_colors      3; 1 and 2 are small variants, with the first colours only, to ask for and to give
    copies          2, 1: of each size and colour
    hidden          3, 2, 1: pieces in the pocket; fewer than there are
    pocket          "chosen" by the Master; "random": drawn by chance, all pieces alike
    master_orients  False; True: the Master drops the pieces that he gives on his own turn
    wall            0.0884; above 0 and below 9/32
    tube_height     5.6; above 0. Both lengths are in inches and taken for the decimals as which they print.

Actions (2 H + 4 C + 5, with C colours and H possible pockets; 329 in the full game, where C = 3 and H = 156)
    Pockets are multisets of kinds in lexicographic order::

        0 ..                H      hide a pocket       ``hide RS RM BL``
        H ..                3 + C  ask                 ``ask small``, medium, large, red, green, blue
        H + C + 3 ..        3 C    give a kind         ``give GM``
        H + 4 C + 3 ..      2      drop                ``drop up``, ``drop down``
        H + 4 C + 5 ..      H      announce a pocket   ``announce RS RM BL``

    An announcement is offered if it names no kind more often than copies of it are outside the tube.

Chance
    With ``pocket="random"`` alone: the pocket, numbered and named as the Master's action, with the probability of drawing it from
    all pieces at once. The actions keep their numbers.

Observation, int8[445] in every variant
    An information state: all that a seat has seen of the game so far. A set (18) is the first copies of the nine kinds, then the
    second copies, 1 for each piece that is in it; what a variant lacks is 0.

    role (2)          this seat is the Disciple, the Master, one-hot
    phase (5)         hide, ask, give, drop, over, one-hot
    turn (2)          this seat acts, the other acts, one-hot; at the end: who acted last
    won (2)           this seat has won, the other has
    in_hand (9)       the kind about to be dropped, one-hot
    asked (6)         the request being answered, small medium large red green blue, one-hot
    free (18)         the set of pieces neither dropped nor in hand: of these the pocket consists
    must (18)         the set of pieces that refusals have shown to be in the pocket
    announced (18)    the set that was announced
    pocket (18)       the set in the pocket; for the Master alone
    bag (18)          the set in the bag; for the Master alone
    refused (6)       1 for each request that was refused
    refusal (6)       which refusal that was, from 1
    refused_at (6)    how many pieces were in the tube then
    belief (2)        of the pockets that have all of ``must`` and nothing outside ``free``: 16 log2 of their number; 127 times
                      the chance of the likeliest, weighted as under Hidden information
    chances (18)      127 times the chance that the pocket, one of these, has each piece of a set
    rest (6)          where the lowest point of one more piece would come to rest, in 0.05 inch, at most 127; S up, S down, M up,
                      M down, L up, L down
    room (6)          what would be left up to the rim then, in 0.01 inch, -127 to 127
    fits (6)          1 where that is not negative
    count (1)         pieces in the tube
    drops (17 x 16)   for each piece in the tube, in order: size (3), colour (3), up, down (2), the request that it answered or,
                      the seventh, the Master's own gift (7), all one-hot, and its lowest point in 0.05 inch, at most 127 (1)

Position
    ``{"pocket": ["RS", "RM", "BL"], "bag": [15 pieces], "tube": [["GM", "up", "small"], ["RL", "down", None], ...],
    "refused": [["small", 4], ...], "asked": None or "small", "in_hand": None or "GM", "phase": "hide", "ask", "give", "drop" or
    "over", "to_move": 0 or 1, "announced": None or ["RS", ...], "winner": None, 0 or 1}``

    An entry of the tube is a piece, its orientation and the request that it answered, None for the Master's own gift; a refusal
    is the request and how many pieces were in the tube. ``asked`` and ``in_hand`` stand until the piece is dropped. At "hide" the
    pocket is empty, the bag holds all, and ``to_move`` is 1, even if chance draws. At the end ``to_move`` is who acted last. A
    position is read by playing its history again, and one that could not have happened is refused with the reason.

Hidden information
    Pocket and bag are hidden from the Disciple, even at the end. He takes for possible the pockets that fit all drops and
    refusals, a request that the Master is about to answer, and what became of an announcement, each weighted by the number of
    ways to draw it from all the pieces. The Master knows all.

Rewards
    At the end, 0 before: 1 for the winner, -1 for the other.

Greedy agent
    The Disciple announces the pocket if it is the only one left, and the likeliest one if any request might bring a piece that
    does not fit. Else he asks for what leaves the fewest pockets to be expected after the gift. He drops a piece so that the next
    one, whatever its size, stands as low as can be. The Master gives what must overflow; else what leaves the most pockets
    possible; among these what makes the next piece stand highest. He hides any pocket, all alike.

Versions
    0  first.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from pyramid_envs import validate
from pyramid_envs.card import Card, Option, max_plies
from pyramid_envs.games.pocket import draw, notation, rules, tables


def _inches(below: Fraction | None) -> Any:
    """The check of a length: a positive number below a bound, as the float that prints the same."""

    def check(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
            raise validate.Fault(f"must be a number of inches, not {value!r}")
        number = float(str(value))
        if not 0 < number < float("inf") or (below is not None and tables.exact(number) >= below):
            raise validate.Fault(f"must be above 0{f' and below {below}' if below else ''}, not {value!r}")
        return number

    return check


def _longest(options):  # type: ignore[no-untyped-def]
    """A piece of the bag is asked for at most once, given and dropped; each request is refused at most once."""
    in_bag = 3 * options["num_colors"] * options["copies"] - options["hidden"]
    hide, announce, refused = 1, 1, 3 + options["num_colors"]
    return hide + 3 * in_bag + refused + announce


card = Card(
    name="pocket",
    title="Pyramids in my pocket",
    version=0,
    options={
        "num_players": Option(2, validate.choice(2), "seats: the Disciple and the Master"),
        "max_plies": max_plies(None),
        "num_colors": Option(3, validate.whole(1, 3), "colours: red, green, blue"),
        "copies": Option(2, validate.whole(1, 2), "pieces of each size and colour"),
        "hidden": Option(3, validate.whole(1, 3), "pieces in the pocket; fewer than there are"),
        "pocket": Option("chosen", validate.choice("chosen", "random"), "whether the Master chooses it or chance draws it"),
        "master_orients": Option(False, validate.boolean, "whether the Master drops the pieces that he gives on his own turn"),
        "wall": Option(0.0884, _inches(below=min(tables.BASES) / 2), "thickness of a pyramid at its base, in inches"),
        "tube_height": Option(5.6, _inches(below=None), "height of the rim, in inches"),
    },
    rules=rules,
    notation=notation,
    draw=draw,
    row=lambda options: rules.ROW,
    tables=tables.build,
    num_actions=tables.num_actions,
    num_outcomes=lambda options: tables.num_pockets(options) if options["pocket"] == "random" else 0,
    observation=lambda options: rules.FIELDS,
    playout_turns=100,
    longest=_longest,
    information_state=True,
)
