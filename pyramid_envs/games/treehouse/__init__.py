"""Treehouse, for 2 to 4 seats: be the first to make your trio of pyramids look like the House.

RULING marks what the designer's company or the official online version has clarified, CHOICE what this project decided because
nothing public does.

Pieces
    Every seat has a trio: a Small, a Medium and a Large pyramid. One more trio, the House, lies in the middle. A trio is a line
    of columns from left to right; a column is one piece, standing or lying and pointing left or right, or a stack of standing
    pieces, any size on any size. There are 204 arrangements. In text: columns from left to right, a column's letters from bottom
    to top, < or > after a piece that lies: ``LMS`` is a tree with the small one on top, ``L< S M>`` the House at the start.
    Left and right are those of the table, the same for all; a mirror image is no match (RULING).

Turn
    The die is rolled: AIM, TIP, HOP, SWAP, DIG or WILD. Its action must be done with the own trio if that is possible at all; if
    not, it may be done with the House, or passed; if that is impossible too, the die is rolled again. So the roll is uniform over
    the faces that allow something. WILD: any one action, on the own trio or on the House, no pass (RULING). An action must change
    the arrangement (RULING).

    AIM   a piece alone in its column points in another direction: left, right or up.
    TIP   a whole standing column falls to the left or right. Its pieces lie in its place, all pointing the way they fell, the top
          one farthest: ``LMS`` tipped right is ``L> M> S>``.
    HOP   a standing piece goes, with all that stands on it, into any gap of the line, or on top of any other column. A lying
          target stands up.
    SWAP  two pieces trade places and keep their directions; in a stack everything stands.
    DIG   a lying piece tunnels in the direction in which it points and comes up standing (RULING): in a gap on that side, its own
          place being the nearest (RULING), or as the new bottom of a column there. With no column on that side it may not dig,
          unless ``dig_away``: then it may stand up in its own place.

End
    After every action: a mover whose trio matches the House wins alone; else all seats whose trios match win together (RULING). A
    change of the House can give the game away.

Options
    num_players  2, 3, 4
    dig_away     False, True
    max_plies    1000; None for no limit

Actions (97)
    0-47 on the own trio, 48-95 the same on the House, 96 pass. Pieces S M L; directions left, up, right; sides left, right; the
    five slots, gap 0, column 0, gap 1, column 1, gap 2, run along the columns that remain when the moving piece and what rides on
    it is lifted::

        0-8  AIM piece direction    9-14  TIP bottom-piece side    15-29  HOP piece slot    30-32  SWAP S M, S L, M L
        33-47  DIG piece slot

    Names: ``own AIM S left``, ``house TIP M right``, ``own HOP S gap 1``, ``own SWAP S M``, ``house DIG L column 1``, ``pass``.

Chance
    The face of the die, 0-5 in the order above.

Observation, int8[27 (P + 1) + 6 + P] for P seats
    own, next_1, .. (27 each)  the trios, own first, then those of the seats after it. For S, M and L in turn, one-hot: the column
                               from the left (3), the height in the column (3), the direction left, up, right (3)
    house (27)                 likewise
    roll (6)                   the face of the die, one-hot; zeros before the roll and at the end
    turn (P)                   whose turn it is, counted from this seat, one-hot; at the end: who moved last

    Nothing is hidden and nothing of the past matters, so this is the whole position.

Position
    ``{"trios": ["LMS", "LMS"], "house": "L< S M>", "roll": None or a face, "to_move": 0}``. With roll None the die is about to be
    rolled for ``to_move``, or, where a trio matches the House, the game is over and ``to_move`` made the last move. A position
    with a match and a roll is invalid, and so is a roll that allows nothing (CHOICE: it would have been rolled again).

Rewards
    At the end, 0 before: with w winners among n seats each winner gets (n - w) / (w (n - 1)), each loser -1 / (n - 1). A game of
    max_plies actions is truncated and pays nothing; random play all but never gets there.

Greedy agent
    Wins if it can; never gives the game away if it can help it; else comes as near to the House as it can, counted in free
    actions.

Optimal agent
    For 2 seats the game is solved: the agent ``optimal`` plays perfectly. With perfect play the first seat wins 51.39 % of games
    (``python -m pyramid_envs.solve treehouse``).

Versions
    0  first.
"""

from __future__ import annotations

from pyramid_envs import validate
from pyramid_envs.card import Card, Field, Option, max_plies
from pyramid_envs.games.treehouse import draw, notation, rules, tables


def _observation(options):  # type: ignore[no-untyped-def]
    n = options["num_players"]
    trio = "for S, M, L in turn: column from the left (3), height in it (3), direction left/up/right (3), one-hot"
    fields = {"own": Field(tables.TRIO_FEATURES, f"own trio; {trio}")}
    for k in range(1, n):
        fields[f"next_{k}"] = Field(tables.TRIO_FEATURES, f"the trio of the seat {k} after this one; likewise")
    fields["house"] = Field(tables.TRIO_FEATURES, "the House; likewise")
    fields["roll"] = Field(6, "the die, AIM TIP HOP SWAP DIG WILD, one-hot; zeros before the roll and at the end")
    fields["turn"] = Field(n, "whose turn it is, counted from this seat, one-hot; at the end who moved last")
    return fields


card = Card(
    name="treehouse",
    title="Treehouse",
    version=0,
    options={
        "num_players": Option(2, validate.choice(2, 3, 4), "seats"),
        "max_plies": max_plies(1000),
        "dig_away": Option(False, validate.boolean, "whether a piece that points away from all others may dig: it stands up"),
    },
    rules=rules,
    notation=notation,
    draw=draw,
    row=lambda options: rules.ROW,
    tables=tables.build,
    num_actions=lambda options: rules.NUM_ACTIONS,
    num_outcomes=lambda options: 6,
    observation=_observation,
    playout_turns=0,
)
