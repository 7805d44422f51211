"""Twin Win, written slowly and plainly.

This is a second, independent statement of the rules, for comparing with the fast game.
Nothing here is clever: every question is answered by looking at the whole board and at
all the cards again.
"""

from fractions import Fraction
from functools import cache
from itertools import combinations, permutations

# Fifteen pieces: five colours, three sizes. A piece is written colour then size, "RL".
COLOURS = {"R": "red", "B": "blue", "G": "green", "Y": "yellow", "K": "black"}

# Nine spaces, row by row. A stack is a list of pieces, from bottom to top.
SPACES = ["NW", "N", "NE", "W", "C", "E", "SW", "S", "SE"]

# Ten goal cards: a tree and a nest of each colour. Their order here is the card order.
CARDS = [f"{colour} {shape}" for colour in COLOURS.values() for shape in ("tree", "nest")]

# A tree is large, medium, small from below; a nest is small, medium, large from below.
SHAPES = {"LMS": "tree", "SML": "nest"}

# Sixteen ways. The ring goes clockwise only; the four sides lead into the centre, and the
# centre leads out to the four sides.
RING = ["NW", "N", "NE", "E", "SE", "S", "SW", "W"]
SIDES = ["N", "E", "S", "W"]
WAYS = [(RING[i], RING[(i + 1) % 8]) for i in range(8)] + [(side, "C") for side in SIDES] + [("C", side) for side in SIDES]

# The action numbers: the ways, then a trade of the first or the second card, then pass.
TRADES = [len(WAYS), len(WAYS) + 1]
PASS = len(WAYS) + 2

# The first trees stand on the centre and the four corners; setups name them in this order.
START_SPACES = ["NW", "NE", "C", "SW", "SE"]

HAND_SIZE = 2
ACTIONS_PER_TURN = 2

# The sets of options with which the game is to be compared.
VARIANTS = [{"allow_pass": True}, {"allow_pass": False}]


@cache
def setups():
    """All the ways to set the board up, in order, as text.

    The five larges are spread over the five spaces, then the five mediums on them, then
    the five smalls, so that every tree shows three different colours. The order is that of
    the larges, then of the mediums, then of the smalls.
    """
    texts = []
    for larges in permutations(COLOURS):
        for mediums in permutations(COLOURS):
            if any(medium == large for large, medium in zip(larges, mediums, strict=False)):
                continue
            for smalls in permutations(COLOURS):
                trees = list(zip(larges, mediums, smalls, strict=False))
                if all(small not in (large, medium) for large, medium, small in trees):
                    texts.append(" / ".join(f"{a}L {b}M {c}S" for a, b, c in trees))
    return texts


@cache
def setup_chances():
    """Setup number -> (its name, its probability). All are equally likely."""
    texts = setups()
    return {number: (text, Fraction(1, len(texts))) for number, text in enumerate(texts)}


def patterns_on(board):
    """The names of all the goals that are on the board.

    Three pieces of one colour directly on one another make a goal when their sizes come in
    the right order. What lies below or above them does not matter.
    """
    found = set()
    for stack in board:
        for bottom in range(len(stack) - 2):
            three = stack[bottom : bottom + 3]
            colours = {piece[0] for piece in three}
            sizes = "".join(piece[1] for piece in three)
            if len(colours) == 1 and sizes in SHAPES:
                found.add(f"{COLOURS[three[0][0]]} {SHAPES[sizes]}")
    return found


def in_card_order(cards):
    return sorted(cards, key=CARDS.index)


class Oracle:
    def __init__(self, num_players=2, *, allow_pass=True, max_plies=None):
        # How long a game may last is not a matter of the rules: max_plies is ignored.
        if num_players not in (2, 3):
            raise ValueError("Twin Win has two or three seats")
        self.num_players = num_players
        self.allow_pass = allow_pass
        self.board = [[] for _ in SPACES]
        self.hands = [[] for _ in range(num_players)]
        self.unused = list(CARDS)
        # What each seat has traded away and not drawn again.
        self.given_up = [[] for _ in range(num_players)]
        # The first turn is still to come, so all of its actions are left.
        self.actions_left = ACTIONS_PER_TURN
        self.phase = "setup"
        self.seat = 0

    @classmethod
    def from_position(cls, position, num_players, **options):
        game = cls(num_players, **options)
        if len(position["hands"]) != num_players or len(position["given_up"]) != num_players:
            raise ValueError("the position is for another number of seats")
        if position["phase"] not in ("setup", "deal", "act", "draw", "over"):
            raise ValueError("no such phase")
        game.board = [list(stack) for stack in position["board"]]
        game.hands = [list(hand) for hand in position["hands"]]
        game.unused = list(position["unused"])
        game.given_up = [list(cards) for cards in position["given_up"]]
        game.actions_left = position["actions_left"]
        game.phase = position["phase"]
        game.seat = position["to_move"]
        return game

    def position(self):
        return {
            "board": [list(stack) for stack in self.board],
            "hands": [list(hand) for hand in self.hands],
            "unused": list(self.unused),
            "given_up": [list(cards) for cards in self.given_up],
            "actions_left": self.actions_left,
            "phase": self.phase,
            "to_move": self.seat,
        }

    def copy(self):
        return Oracle.from_position(self.position(), self.num_players, allow_pass=self.allow_pass)

    # ------------------------------------------------------------------ what can happen now

    def to_move(self):
        if self.phase == "over":
            return "over"
        if self.phase in ("setup", "deal", "draw"):
            return "chance"
        return self.seat

    def legal(self):
        """At a seat's decision: action number -> action name."""
        if self.phase != "act":
            return {}
        actions = {}
        # The top piece of any stack may go along a way, onto whatever is there.
        for number, (start, end) in enumerate(WAYS):
            if self.stack(start):
                actions[number] = f"{start}>{end}"
        # Either card may be traded for an unused one. There always are unused ones.
        if self.unused:
            for number, card in zip(TRADES, self.hands[self.seat], strict=False):
                actions[number] = f"trade {card}"
        # The turn may be ended early.
        if self.allow_pass:
            actions[PASS] = "pass"
        return actions

    def chance(self):
        """At a chance event: outcome number -> (outcome name, probability)."""
        if self.phase == "setup":
            return dict(setup_chances())
        if self.phase in ("deal", "draw"):
            # Every unused card is equally likely. At a draw the card just given up is not
            # among them, so it cannot come straight back.
            each = Fraction(1, len(self.unused))
            return {CARDS.index(card): (card, each) for card in in_card_order(self.unused)}
        return {}

    # ------------------------------------------------------------------------ what happens

    def apply(self, number):
        """Do an action, or let a chance event come out this way."""
        possible = setup_chances() if self.phase == "setup" else self.legal() or self.chance()
        if number not in possible:
            raise ValueError(f"{number} cannot happen at {self.phase!r}")
        if self.phase == "setup":
            self.set_up(setups()[number])
        elif self.phase == "deal":
            self.deal(CARDS[number])
        elif self.phase == "draw":
            self.draw(CARDS[number])
        elif number in TRADES:
            self.trade(self.hands[self.seat][TRADES.index(number)])
        elif number == PASS:
            self.next_turn()
        else:
            self.move(*WAYS[number])

    def set_up(self, text):
        for space, tree in zip(START_SPACES, text.split(" / "), strict=False):
            self.stack(space).extend(tree.split())
        self.phase = "deal"

    def deal(self, card):
        # One card at a time: both cards of seat 0, then both of seat 1, and so on. Nobody
        # can win yet, for no tree of the setup has a single colour.
        self.take(card)
        if len(self.hands[self.seat]) < HAND_SIZE:
            return
        if self.seat + 1 < self.num_players:
            self.seat += 1
        else:
            self.phase = "act"
            self.seat = 0

    def move(self, start, end):
        self.stack(end).append(self.stack(start).pop())
        self.action_done()

    def trade(self, card):
        # The card is put aside first. The trade is done only when another one is drawn.
        self.hands[self.seat].remove(card)
        self.given_up[self.seat] = in_card_order(self.given_up[self.seat] + [card])
        self.phase = "draw"

    def draw(self, card):
        # Only now does the card that was put aside join the unused ones.
        put_aside = self.put_aside()
        self.take(card)
        self.unused = in_card_order([*self.unused, put_aside])
        # A card that comes back to the seat that gave it up is no longer given up by it.
        # What the others have given up stays as it is: they do not see who draws it.
        if card in self.given_up[self.seat]:
            self.given_up[self.seat].remove(card)
        self.phase = "act"
        self.action_done()

    def take(self, card):
        """The seat whose turn it is takes an unused card into its hand, kept in card order."""
        self.unused.remove(card)
        self.hands[self.seat] = in_card_order(self.hands[self.seat] + [card])

    def action_done(self):
        """A move, or a trade with its draw, is complete."""
        self.actions_left -= 1
        # Whoever now holds a card whose goal is on the board wins at once. At the end the
        # position stays as the last action left it.
        if self.winners():
            self.phase = "over"
        elif self.actions_left == 0:
            self.next_turn()

    def next_turn(self):
        self.seat = (self.seat + 1) % self.num_players
        self.actions_left = ACTIONS_PER_TURN

    # ------------------------------------------------------------------- looking at the table

    def stack(self, space):
        return self.board[SPACES.index(space)]

    def put_aside(self):
        """At a draw: the card just given up, the only one that is nowhere else."""
        elsewhere = self.unused + [card for hand in self.hands for card in hand]
        (card,) = [card for card in CARDS if card not in elsewhere]
        return card

    def winners(self):
        """The seats that hold a card whose goal is on the board (never more than one)."""
        goals = patterns_on(self.board)
        return [seat for seat, hand in enumerate(self.hands) if goals & set(hand)]

    def returns(self):
        if self.phase != "over":
            return [Fraction(0)] * self.num_players
        # The winners share what each of the losers pays, all losers together paying
        # (number of losers) / (number of seats - 1).
        winners = self.winners()
        losers = self.num_players - len(winners)
        gain = Fraction(losers, len(winners) * (self.num_players - 1))
        loss = Fraction(-1, self.num_players - 1)
        return [gain if seat in winners else loss for seat in range(self.num_players)]

    # --------------------------------------------------------------- what a seat cannot see

    def possible_deals(self, seat):
        """What the seat may take for possible: a set of (hands, unused), all in card order.

        The hands are a tuple with one tuple of cards for each seat; the seat's own is as it
        is. At a draw the card put aside is the one that is missing from the deal.
        """
        as_it_is = (tuple(tuple(hand) for hand in self.hands), tuple(self.unused))
        if self.phase == "over":
            # Nothing is left to guess at.
            return {as_it_is}

        # Only the seat that puts a card aside knows which one it is.
        hidden = [card for card in CARDS if card not in self.hands[seat]]
        known_aside = self.phase == "draw" and seat == self.seat
        unknown_aside = self.phase == "draw" and seat != self.seat
        if known_aside:
            hidden.remove(self.put_aside())

        # Deal the hidden cards to the others, as many as each one holds. None of the others
        # holds a goal that is on the board, for then it would have won.
        goals = patterns_on(self.board)
        partial = [((), hidden)]
        for other, hand in enumerate(self.hands):
            longer = []
            for hands, rest in partial:
                if other == seat:
                    longer.append(((*hands, tuple(hand)), rest))
                    continue
                for cards in combinations(rest, len(hand)):
                    if not goals & set(cards):
                        left = [card for card in rest if card not in cards]
                        longer.append(((*hands, cards), left))
            partial = longer

        # What remains is unused, except a card put aside that the seat did not see. Its goal is
        # not on the board either, for it was in a hand until now.
        deals = set()
        for hands, rest in partial:
            if unknown_aside:
                for aside in rest:
                    if aside not in goals:
                        deals.add((hands, tuple(card for card in rest if card != aside)))
            else:
                deals.add((hands, tuple(rest)))
        return deals
