"""Twin Win, for 2 or 3 seats: stack three pieces of one colour as one of your two secret cards asks.

RULING marks what the designer's company or the official online version has clarified, CHOICE what this project decided because
nothing public does; the rest is in the published rules. Twin Win has no RULING.

Pieces
    Fifteen pyramids, Small, Medium and Large in red R, blue B, green G, yellow Y and black K, stand in stacks on nine spaces::

        NW > N  > NE        Sixteen ways: the ring of eight, clockwise only; N, E, S, W to C, and C to each of them.
        ^    |     v
        W  - C  -  E        A stack is written from bottom to top, a piece as colour and size: RL BM GS is a small green
        ^    |     v        piece on a medium blue one on a large red one.
        SW < S  < SE

Cards
    Ten goals, a tree and a nest of each colour. A tree is L, M, S of the colour directly on one another in this order from below,
    a nest S, M, L. What lies below or above does not matter, but nothing may lie between. Every seat holds two cards, which the
    others do not see; the rest lie unused, face down.

Setup
    Five trees, each of three different colours, on the centre and the four corners: one of the 66,240 ways to do so, all equally
    likely (CHOICE). Then two cards to each seat.

Turn
    Up to two actions, one after the other, in any mixture:

    move   the top piece of any stack goes along one way, onto whatever is there: any size on any size, any colour, any height.
    trade  one of the own two cards for an unused one, unseen. The new card is drawn before the old one joins the unused, so the
           old one cannot come straight back (CHOICE).
    pass   ends the turn early (CHOICE: "you get two actions" is read as "up to two"); not with ``allow_pass=False``.

End
    Whenever an action of anyone is complete and a seat holds a card whose goal is on the board, that seat wins at once, whoever's
    turn it is. So a trade can win, and a move can hand the game to another seat. Two seats never win together.

Options
    num_players  2, 3
    max_plies    1000; None for no limit
    allow_pass   True, False

Actions (19)
    ::

        0-7   NW>N  N>NE  NE>E  E>SE  SE>S  S>SW  SW>W  W>NW        16, 17  trade the first, the second card of the hand
        8-15  N>C  E>C  S>C  W>C    C>N  C>E  C>S  C>W              18      pass

    A hand is kept in card order: red tree, red nest, blue tree, blue nest, and so on through green, yellow and black. The names
    are those above; a trade names its card: ``trade red tree``. A trade counts as done when its card is drawn.

Chance
    setup  0-66239, named ``RL BM GS / ..``: the trees on NW, NE, C, SW, SE, numbered in lexicographic order of the Larges on
           these spaces, then the Mediums, then the Smalls, colours in the order R B G Y K
    deal   the card, 0-9 in card order; seat 0 is served two, then seat 1, and so on
    draw   the card that completes a trade, likewise; every unused one is equally likely

Observation, int8[472 + 2 P] for P seats
    Colours are counted in the seat's own order: those of its own cards first, in card order, then the others in the order above.
    No action depends on a colour's name, so a learner that has understood one colour has understood all. Pieces are listed by
    colour in this order, within a colour S, M, L; cards by colour in this order, tree before nest; spaces in the order NW N NE E
    SE S SW W C.

    top (135)         for each of the 15 pieces, one-hot over the 9 spaces: where it is the top of a stack
    second (135)      likewise: where one piece lies on it
    deeper (135)      likewise: where two or more lie on it
    above (15)        for each piece, how many lie on it; with the three blocks before, this is the whole board
    joined (20)       for each colour 4 bits: its M lies directly on its L, S on M, M on S, L on M
    cards (14)        the own first and second card, each its colour in the order R B G Y K (5) and tree, nest (2), one-hot;
                      zeros for a card that the seat does not have
    given_up (10)     for each card: 1 if this seat has traded it away and not drawn it again, 2 if it has just put it aside for
                      another that it is about to draw
    actions_left (2)  one-hot: one, two; zeros if the turn has none left, at the end
    stage (6)         one-hot: act, draw, over, setup, dealing a first card, dealing a second card
    turn (P)          whose turn it is, counted from this seat, one-hot; while cards are dealt, who is served; at the end, who
                      acted last
    winner (P)        who has won, counted from this seat, one-hot; zeros before the end

    Of the past it remembers the own trades alone.

Position
    ``{"board": [["RL", "BM", "GS"], [], ..], "hands": [["red tree", "blue nest"], ..], "unused": [..], "given_up":
    [["black tree"], []], "actions_left": 2, "phase": "act", "to_move": 0}``

    board         nine stacks row by row, NW N NE, W C E, SW S SE, each from bottom to top; empty at setup
    hands         by seat, in card order, as are all lists of cards; another order is an error, for it would suggest other
                  actions
    unused        the cards in no hand; at draw without the one put aside
    given_up      by seat, the cards that it has traded away and not drawn again, the one put aside included
    actions_left  of the turn: 2 or 1; at draw the trade still counts; at setup and deal 2; at the end what the last action left:
                  1 or 0
    phase         setup, deal, act, draw or over
    to_move       0 at setup; at deal the seat that is served; at draw the one that trades; at the end the one that acted last

    A position in which a seat holds a card whose goal is on the board is over, and no other is.

Hidden information
    A seat knows the board, its own cards, those that it has given up, whose turn it is, and that a card is drawn, not which.
    `Game.redeal` draws uniformly from the deals of all the cards that it does not hold, without those in which another seat would
    hold a goal that is on the board: that seat would have won. The card put aside in a trade is known to the seat that trades; to
    the others it is one more card from that hand. What another seat has given up is not known, and it may have drawn all of it
    again: its list is empty then, but for a card that is put aside. At the end nothing is dealt anew: nothing is left to guess
    (CHOICE).

Rewards
    At the end, 0 before: the winner gets 1, each of the n - 1 losers -1 / (n - 1). A game of max_plies actions is truncated and
    pays nothing. Uniformly random play rarely builds anything: about 60 % of its games with 2 seats and 50 % with 3 reach 1000
    actions, and the rest take some 470 on average. Two greedy agents need about 14.

Greedy agent
    Looks through its own turn. It wins if it can, completes no goal of a card that it does not hold, and else makes the most of
    its hand: a card n moves from its goal counts 0.65**n, a hand with two such numbers a and b 1 - (1 - a)(1 - b). The n is an
    estimate: whatever lies in the way steps aside, and the three pieces come by the shortest ways. A trade counts as the mean of
    what it may bring; a goal that is on the board and has not won is certainly among the unused. The agent does not guard against
    what the others may do next.

Advice
    What networks that are advised look at (`pyramid_envs.agents.networks.Advice`) is what greedy would play if it did guard:
    every end of its turn counts less by 1.5 times the chance that another seat then holds a goal that it could complete in one
    turn, two actions or fewer away by the same estimate, as far as the seat knows. A card n moves from its goal counts 0.75**n
    here, and a trade that comes first is worth what it is after the best move instead. Advice comes in 16 grades of 0.016; what
    is less than one grade worse than the best has the highest, too, and what is 16 worse none.

Versions
    0  first.
"""

from __future__ import annotations

from pyramid_envs import validate
from pyramid_envs.card import Card, Field, Option, max_plies
from pyramid_envs.games.twin_win import draw, notation, rules, tables


def _observation(options):  # type: ignore[no-untyped-def]
    n = options["num_players"]
    by_colour = "by colour, counted in the seat's own order"
    where = f"for each piece, {by_colour}, within it S M L: its space, NW N NE E SE S SW W C, one-hot,"
    return {
        "top": Field(tables.PLANE, f"{where} where it is the top of a stack"),
        "second": Field(tables.PLANE, f"{where} where one piece lies on it"),
        "deeper": Field(tables.PLANE, f"{where} where two or more lie on it"),
        "above": Field(tables.NUM_PIECES, "for each piece, in the same order: how many lie on it"),
        "joined": Field(tables.JOINTS * len(tables.COLOURS), "for each colour: M lies directly on L, S on M, M on S, L on M"),
        "cards": Field(tables.HAND_FEATURES, "own first, second card: colour R B G Y K (5) and tree, nest (2), one-hot"),
        "given_up": Field(tables.NUM_CARDS, f"{by_colour}, tree, nest: 1 traded away and not drawn again, 2 just put aside"),
        "actions_left": Field(2, "of the turn, one-hot: one, two"),
        "stage": Field(len(tables.STAGES), f"one-hot: {', '.join(tables.STAGES)}"),
        "turn": Field(n, "whose turn it is, counted from this seat, one-hot; at the end who acted last"),
        "winner": Field(n, "who has won, counted from this seat, one-hot; zeros before the end"),
    }


card = Card(
    name="twin_win",
    title="Twin Win",
    version=0,
    options={
        "num_players": Option(2, validate.choice(2, 3), "seats"),
        "max_plies": max_plies(1000),
        "allow_pass": Option(True, validate.boolean, "whether a turn may be ended before its second action"),
    },
    rules=rules,
    notation=notation,
    draw=draw,
    row=lambda options: rules.ROW,
    tables=tables.build,
    num_actions=lambda options: rules.NUM_ACTIONS,
    num_outcomes=lambda options: rules.NUM_SETUPS,
    observation=_observation,
    playout_turns=1,
)
