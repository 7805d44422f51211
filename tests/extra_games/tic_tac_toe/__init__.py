"""Tic-tac-toe, for 2 seats: be the first with three marks in a line.

Turn
    Seat 0 marks with X and begins. A turn is one mark in an empty cell of a board of 3 by 3.

End
    Three own marks in a row, a column or a diagonal win. A full board without a line is a draw.

Options
    num_players  2
    max_plies    None: no limit

Actions (9)
    The cells, row by row from the top left. Names: ``a3`` is the top left cell, ``c1`` the bottom right one.

Observation, int8[27]
    own, other, empty (9 each)  1 for every cell that this seat has marked, the other has, nobody has: the whole position

Position
    ``{"board": ["X..", ".O.", "..."]}``, from the top.

Rewards
    At the end, 0 before: 1 for the winner, -1 for the loser; after a draw 0 for both.

Versions
    0  first.
"""

from pyramid_envs import validate
from pyramid_envs.card import Card, Field, Option, max_plies
from pyramid_envs.games.tic_tac_toe import notation, rules, tables

card = Card(
    name="tic_tac_toe",
    title="Tic-tac-toe",
    version=0,
    options={"num_players": Option(2, validate.choice(2), "seats"), "max_plies": max_plies(None)},
    rules=rules,
    notation=notation,
    row=lambda options: rules.ROW,
    tables=tables.build,
    num_actions=lambda options: 9,
    num_outcomes=lambda options: 0,
    observation=lambda options: {
        name: Field(9, f"1 for every cell that {who} marked")
        for name, who in {"own": "this seat has", "other": "the other seat has", "empty": "nobody has"}.items()
    },
)
