"""Connect four, for 2 seats: be the first with four stones in a line.

Turn
    Seat 0 begins. A turn is one stone, dropped into a column of a board of 7 columns and 6 rows.

End
    Four own stones in a row, a column or a diagonal win. A full board without a line is a draw.

Options
    num_players  2
    max_plies    None: no limit

Actions (7)
    The columns from the left. Names: ``column 0``.

Observation, int8[2, 6, 7]
    own, other  1 where this seat, where the other seat has a stone; rows from the top: the whole position

Position
    ``{"board": [".......", ...]}``, rows from the top, X the stones of seat 0, O those of seat 1.

Rewards
    At the end, 0 before: 1 for the winner, -1 for the loser; after a draw 0 for both.

Versions
    0  first.
"""

from benchmarks.games.connect_four import notation, rules
from pyramid_envs import validate
from pyramid_envs.card import Card, Field, Option, max_plies, pack

card = Card(
    name="connect_four",
    title="Connect four",
    version=0,
    options={"num_players": Option(2, validate.choice(2), "seats"), "max_plies": max_plies(None)},
    rules=rules,
    notation=notation,
    row=lambda options: rules.ROW,
    tables=lambda options: pack(steps=rules.STEPS),
    num_actions=lambda options: rules.WIDTH,
    num_outcomes=lambda options: 0,
    observation=lambda options: {
        "own": Field(1, "1 where this seat has a stone"),
        "other": Field(1, "1 where the other seat has one"),
    },
    planes=lambda options: (rules.HEIGHT, rules.WIDTH),
    longest=lambda options: rules.HEIGHT * rules.WIDTH,
)
