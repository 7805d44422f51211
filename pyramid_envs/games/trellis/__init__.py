r"""Trellis, for 2 to 4 seats: plant tiles, let your flowers bloom along the vines, and be the first to place all 15.

RULING marks what the designer's company or the official online version has clarified, CHOICE what this project decided because
nothing public does.

Pieces
    A start tile and 60 more, all hexagons, with vines of six colours: purple P, orange O, green G, blue B, pink K, yellow Y. On
    each of the 60, three vines of three different colours join the six edges in pairs (RULING). A tile's text is its colours at
    the edges 0 to 5; equal letters are one vine. The start tile is ``POGBKY``: six vines with one end each. Every seat has 15
    flowers and a hand of three tiles, drawn one by one, seat 0's hand first, and hidden from the others.

    The two ends of a vine are 1, 2 or 3 edges apart. Of the 60 tiles 15 each have vines of 1 1 1, 1 1 3, 1 2 2 and 2 2 3; the 15
    have different triples of colours; every colour is on 30 tiles, and every triple of colours on some; no two tiles are equal,
    turned or mirrored (RULING). These facts leave room; the default set takes one of the ways (CHOICE), a row for each kind::

        GGKKYY BBYYGG KKGGBB OOYYBB OOBBKK YYGGOO GGOOBB PPYYKK PPBBYY YYGGPP KKPPGG BBGGPP PPOOKK OOBBPP GGPPOO
        BYYBKK GKKGYY YBBYGG OKKOYY OYYOBB KOOKBB GKKGOO BOOBGG PYYPKK PBBPKK YGGYPP KPPKGG PYYPOO OPPOKK BOOBPP
        BBKYKY GGYKYK KKGBGB OOYKYK YYOBOB OOYGYG GGOKOK BBGOGO PPBYBY PPKBKB YYPGPG PPBGBG OOPYPY KKOPOP GGPOPO
        YBYKBK BGBYGY BKBGKG KOKYOY KOKBOB OYOGYG KGKOGO KPKYPY YPYBPB PBPKBK GKGPKP GPGBPB OYOPYP POPBOB OGOPGP

Board
    Cells are axial, q,r. The left picture names the neighbours of 0,0, the right one the edges by which it meets them. Edge e
    of a cell meets edge e + 3 (modulo 6) of the next::

               0,-1   1,-1                4   5
                  \   /                    \ /
          -1,0 --- 0,0 --- 1,0          3 --+-- 0
                  /   \                    / \
               -1,1   0,1                 2   1

    A tile turned by k has the colour of its edge e at edge e + k. The start tile lies on 0,0, unturned. The table is endless;
    here max(|q|, |r|, |q + r|) is at most ``board_radius``, and cells beyond are not offered (CHOICE). The default holds 97 %
    of random games.

Turn
    1.  Plant a tile of the hand on an empty cell next to any tile, turned at will; colours need not match. Two vines are
        connected if they have the same colour and meet at an edge. An empty vine of the new tile that is connected to a vine
        with a flower blooms: it gets a flower of that owner, so do the empty vines connected to it, and on until nothing
        changes. If its two ends are connected to flowers of two owners it is contested: when all else has bloomed, the active
        seat must name one of these two as the owner. Several contested vines are decided one after the other, in the order
        P O G B K Y.
    2.  Claim an empty vine of the new tile; if it has none, any empty vine of the board (RULING); if the board has none, nothing.
        A claimed vine gets a flower, and the empty vines connected to it bloom at once.
    3.  Gifts: one more claim for every flower that bloomed for another seat in step 1, contested vines given away included. They
        must be taken (RULING): from the new tile while it has an empty vine, then from the board. Each blooms before the next is
        claimed (CHOICE). Gifts earn no gifts. What cannot be claimed is lost.
    4.  Draw a tile, if one is left.

End
    At once when a seat has placed its 15th flower, whoever's turn it is. This is looked at when all that is not contested has
    bloomed, after each contested vine, and after each claim with its bloom. Every vine due blooms, though a seat stops at 15; all
    seats that have placed 15 by then win together (CHOICE). A game of n seats has at most 14 n + 1 turns.

Options
    num_players   2, 3, 4
    max_plies     None: no limit; or a number of actions
    board_radius  5 + num_players; 4 to 30. Rows for a radius up to 9 have one shape, those for larger ones another
    tileset       "balanced"; or the path of a JSON file: a list of 60 texts, of three colours twice, no two equal when turned

Actions (19 + (2 R + 1)^2 for a board of radius R)
    A turn is several decisions, each an action, and asked for even if there is one answer only. They are numbered in this order::

        3             which tile of the hand
        (2 R + 1)^2   which cell, row by row, (r + R) (2 R + 1) + q + R: to plant on, or of the tile to claim a vine of
        6             by how much the tile is turned
        4             whose the contested vine is, counted from the active seat
        6             which colour to claim, P O G B K Y

    Names: ``tile KOKYOY``, ``cell 1,-2``, ``rotation 3``, ``owner 0``, ``colour P``.

Chance
    The tile drawn, 0 to 59 in the order of the set; uniform over the deck. Its name is its text.

Observation, int8[40 + 6 P, 2 R + 1, 2 R + 1] for P seats; a plane has the cell q,r at [r + R, q + R]
    edges (36)         plane 6 * colour + e: 1 where edge e of a tile has the colour. So are shown the tiles on the board; the own
                       hand, unturned, at [0, 0], [0, 1] and [0, 2], which are beyond the radius; and the tile that this seat has
                       chosen, unturned, on every cell where it may still go (there ``frontier`` is 1)
    own, next_1, .. (6 each)  plane by colour: 1 where the vine has a flower of this seat, of the seat after it, ..
    newest (1)         1 at the tile planted last
    frontier (1)       1 where a tile may be planted
    chosen (1)         1 at the cell that is chosen, and at the tile of the own hand that is chosen
    facts (1)          what belongs to no cell, from column 0 on. Row 0: the phase, one-hot, in the order told under Position.
                       Row 1: whose turn it is, counted from this seat, one-hot; at the end who acted last. Row 2: the flowers
                       left to each seat, this one first. Row 3: the tiles in each hand, likewise. Row 4: ``gifts``. Row 5: the
                       colour of the contested vine that is being decided, one-hot

    The order of planting is not remembered, but for the newest tile: nothing else of the past matters.

Hidden
    The hands, the draws, and which tile is chosen, until it is planted; that one is chosen, and the cell, is public. Whatever a
    seat cannot see is taken to be spread over the other hands and the deck, all ways equally likely.

Position
    ``{"board": [{"cell": [0, 0], "edges": "POGBKY", "flowers": {"P": 1}}, ..], "hands": [["KOKYOY", ..], ..], "flowers_left":
    [15, 14], "phase": "cell", "chosen": {"tile": "KOKYOY"}, "gifts": 0, "to_move": 0}``

    board         in the order of planting; the edges as the tile lies; the flowers' owners by colour
    hands         as the actions number them: a chosen tile stays until planted, then the rest close up; a drawn one goes last
    flowers_left  0 for a seat with 15 or more on the board
    phase         draw, tile, cell, rotation, owner, colour, board cell, board colour, over
    chosen        what is chosen and not yet used: the tile at "cell", tile and cell at "rotation", the cell at "board colour"
    gifts         at "colour", "board cell" and "board colour" the claims to come after this one; at "owner" the flowers that have
                  bloomed for others; else 0
    to_move       the active seat, at "draw" the one that draws, at "over" the one that acted last

    What the rules exclude is refused, with one exception: how many turns each seat has had is not checked.

Rewards
    At the end, 0 before: with w winners among n seats each winner gets (n - w) / (w (n - 1)), each loser -1 / (n - 1). Random
    games of 2, 3 and 4 seats take 95, 132 and 168 actions, and seat 0 wins 64, 46 and 35 % of them.

Greedy agent
    Looks ahead to the end of its own turn: the most own flowers less those that bloom for others; a win first, and no win for
    others if that can be helped. A contested vine it keeps, or gives to the seat with more flowers left; of the vines to claim it
    takes the one that blooms farthest.

Advice
    What networks that are advised look at (`pyramid_envs.agents.networks.Advice`) goes a turn further than greedy does. Of the 32
    placements that greedy likes best each is planted and its turn played to the end; what counts is the chance to win then, by
    a formula. Its heart is the lead, in flowers: those that the others have left, on the mean, less the own; and 0.6 times what
    the best turn with the tiles in the hand would bring if the board stayed as it is; and 0.066 for each open end of the own
    flowers, as much less for each of others; less 1.1 times what the next seat's best turn brings it. If that wins it the chance
    is 0; if it does not, and the own next turn would win with one tile or two, 0.52 or 0.89 and the rest by the lead. The chance
    is the mean over all hands of three unseen tiles that the next seat may hold. A turn counts 8 flowers at most, by greedy's own
    count. Of the vines to claim each open end counts 0.3 of a flower.
    A grade is 0.05 of the logarithm of the odds, of a flower where a vine is claimed; what is less than one grade worse than the
    best has the highest, too, and what is 16 worse none. The formula's figures were fitted to how many of 32 games each greedy
    agents won from 236,000 ends of turns with two seats; they serve for three and four as well.

Versions
    0  first.
"""

from __future__ import annotations

from pathlib import Path

from pyramid_envs import validate
from pyramid_envs.card import Card, Field, Option, max_plies
from pyramid_envs.games.trellis import draw, notation, rules, tables


def _tileset(value):  # type: ignore[no-untyped-def]
    if not isinstance(value, (str, Path)):
        raise validate.Fault(f"must be 'balanced' or the path of a JSON file, not {value!r}")
    if value != "balanced":
        value = str(Path(value).absolute())  # so that it is the same file for another process, wherever that runs
    tables.tiles(value)
    return value


def _observation(options):  # type: ignore[no-untyped-def]
    fields = {
        "edges": Field(
            rules.EDGE_PLANES,
            "plane 6 * colour + e: 1 where edge e of a tile has the colour; the own hand at [0, 0:3], and the tile that this "
            "seat has chosen on the cells where it may still go, unturned",
        ),
        "own": Field(rules.FLOWER_PLANES, "plane by colour: 1 where the vine of this colour has a flower of this seat"),
    }
    for k in range(1, options["num_players"]):
        fields[f"next_{k}"] = Field(rules.FLOWER_PLANES, f"likewise, of the seat {k} after this one")
    fields["newest"] = Field(1, "1 at the tile planted last")
    fields["frontier"] = Field(1, "1 where a tile may be planted")
    fields["chosen"] = Field(1, "1 at the chosen cell, and at the chosen tile of the own hand")
    fields["facts"] = Field(
        1,
        "row 0: phase, one-hot; row 1: whose turn, counted from this seat, one-hot; row 2: flowers left, this seat first; "
        "row 3: tiles in hand, likewise; row 4: gifts; row 5: colour of the contested vine, one-hot",
    )
    return fields


def _longest(options):  # type: ignore[no-untyped-def]
    """A turn plants a tile by three actions and decides at most three contested vines; a claim takes two at most."""
    turns = min(14 * options["num_players"] + 1, tables.START)
    return 6 * turns + 2 * 15 * options["num_players"]


card = Card(
    name="trellis",
    title="Trellis",
    version=0,
    options={
        "num_players": Option(2, validate.choice(2, 3, 4), "seats"),
        "max_plies": max_plies(None),
        "board_radius": Option(
            lambda options: 5 + options["num_players"], validate.whole(4, 30), "how far from the centre tiles may lie"
        ),
        "tileset": Option("balanced", _tileset, "'balanced', or the path of a JSON file with a list of 60 tiles"),
    },
    rules=rules,
    notation=notation,
    draw=draw,
    row=rules.row_dtype,
    tables=tables.build,
    num_actions=rules.num_actions,
    num_outcomes=lambda options: tables.START,
    observation=_observation,
    planes=lambda options: (2 * options["board_radius"] + 1,) * 2,
    playout_turns=1,
    longest=_longest,
)
