"""A slow and plain referee for Pyramids in my pocket.

It is written to be read and to be right, not to be fast.  Nothing is kept that can be worked out again: the heights in
the tube, for instance, are computed anew, in exact fractions, after every drop.

Seat 0 is the Disciple, seat 1 the Master.  A piece is two letters, colour and size: ``RS`` is the small red one.
"""

from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement
from math import comb, prod

DISCIPLE, MASTER = 0, 1

COLOURS = "RGB"
SIZES = "SML"
SIZE_REQUESTS = ["small", "medium", "large"]
COLOUR_REQUESTS = ["red", "green", "blue"]
ORIENTATIONS = ["up", "down"]

# Base width and height of the published pyramids, in inches.
BASE = {"S": Fraction(9, 16), "M": Fraction(25, 32), "L": Fraction(1)}
HEIGHT = {"S": Fraction(1), "M": Fraction(11, 8), "L": Fraction(7, 4)}
DEFAULT_WALL = 0.0884
DEFAULT_TUBE_HEIGHT = 5.6


# ---------------------------------------------------------------------------------------------------------------------
# The tube.  Pieces are rigid hollow pyramids on one axis.  A form is (size, orientation), such as ("M", "up").
# All heights of a form are measured from its own lowest point; r is the distance from the axis.


def as_decimal(number) -> Fraction:
    """The decimal that a number prints as: 0.1 is exactly one tenth."""
    return Fraction(str(number))


def half_base(size: str) -> Fraction:
    return BASE[size] / 2


def slope(size: str) -> Fraction:
    return HEIGHT[size] / half_base(size)


def upper_surface(form: tuple[str, str], wall: Fraction, r: Fraction) -> Fraction:
    """How high the top side of a piece is at r: what the next piece may come to rest on."""
    size, orientation = form
    a, k, height = half_base(size), slope(size), HEIGHT[size]
    if orientation == "up":
        return k * (a - r)  # the outside of the pyramid
    if r <= a - wall:
        return height - k * (a - wall - r)  # the hollow of the cup
    return height  # the rim of the cup


def underside(form: tuple[str, str], wall: Fraction, r: Fraction) -> Fraction:
    """How high the lower side of a piece is at r: what may touch the pieces below."""
    size, orientation = form
    a, k = half_base(size), slope(size)
    if orientation == "down":
        return k * r  # the outside of the pyramid, on its point
    if r <= a - wall:
        return k * (a - wall - r)  # the hollow of the hat
    return Fraction(0)  # the rim of the hat


@cache
def _offset(lower: tuple[str, str], new: tuple[str, str], wall: Fraction) -> Fraction:
    # Both surfaces are made of straight lines.  So the narrowest gap is at an end of the common part or at a bend.
    common = min(half_base(lower[0]), half_base(new[0]))
    bends = [half_base(size) - wall for size in (lower[0], new[0])]
    places = [Fraction(0), common] + [r for r in bends if 0 <= r <= common]
    exact = max(upper_surface(lower, wall, r) - underside(new, wall, r) for r in places)
    # To a thousandth of an inch.  Python rounds an exact half to the even neighbour.
    return Fraction(round(exact * 1000), 1000)


def offset(lower, new, wall) -> Fraction:
    """How far above the lowest point of `lower` the lowest point of `new` is when they touch.  It may be negative."""
    return _offset(tuple(lower), tuple(new), as_decimal(wall))


def settle(tube, wall) -> list[Fraction]:
    """The height of the lowest point of each piece, in the order in which they were dropped.

    An entry begins with a size or a piece, then comes the orientation: ("S", "up") or ["RS", "up", "small"].
    """
    forms = [(entry[0][-1], entry[1]) for entry in tube]
    heights: list[Fraction] = []
    for number, new in enumerate(forms):
        # A piece sinks until it touches the floor or any of the pieces before it.
        touches = [heights[j] + offset(forms[j], new, wall) for j in range(number)]
        heights.append(max([Fraction(0), *touches]))
    return heights


def tops(tube, wall) -> list[Fraction]:
    """The height of the highest point of each piece."""
    return [z + HEIGHT[entry[0][-1]] for z, entry in zip(settle(tube, wall), tube, strict=False)]


# ---------------------------------------------------------------------------------------------------------------------
# The game.


def matches(piece: str, request: str | None) -> bool:
    """Does the piece answer the request?  With no request any piece will do."""
    if request is None:
        return True
    # The six requests begin with the six letters of the sizes and colours.
    return request[0].upper() in piece


class Oracle:
    def __init__(
        self,
        num_players=2,
        *,
        num_colors=3,
        copies=2,
        hidden=3,
        pocket="chosen",
        master_orients=False,
        wall=DEFAULT_WALL,
        tube_height=DEFAULT_TUBE_HEIGHT,
        max_plies=None,  # A cap on the length of a game is not the referee's affair.
    ):
        if num_players != 2:
            raise ValueError("this is a game for two")
        if not (1 <= num_colors <= 3 and 1 <= copies <= 2 and 1 <= hidden <= 3 and hidden < 3 * num_colors * copies):
            raise ValueError("there is no such set of pieces")
        if pocket not in ("chosen", "random"):
            raise ValueError("the pocket is chosen or random")
        self.copies = copies
        self.random_pocket = pocket == "random"
        self.master_orients = master_orients
        self.wall = as_decimal(wall)
        self.rim = as_decimal(tube_height)
        if not 0 < self.wall < Fraction(9, 32):
            raise ValueError("the wall must be thinner than half the smallest base")

        # A small variant has only the first one or two colours.
        self.kinds = [colour + size for colour in COLOURS[:num_colors] for size in SIZES]
        self.requests = SIZE_REQUESTS + COLOUR_REQUESTS[:num_colors]
        self.all_pieces = Counter(dict.fromkeys(self.kinds, copies))
        # The pockets, in lexicographic order: so many pieces, and of no kind more than there are.
        self.pockets = [
            pieces for pieces in combinations_with_replacement(self.kinds, hidden) if Counter(pieces) <= self.all_pieces
        ]
        # The names of all actions; the place in this list is the number.
        self.names = (
            ["hide " + " ".join(pieces) for pieces in self.pockets]
            + ["ask " + request for request in self.requests]
            + ["give " + kind for kind in self.kinds]
            + ["drop " + orientation for orientation in ORIENTATIONS]
            + ["announce " + " ".join(pieces) for pieces in self.pockets]
        )

        # Everything that changes in the course of a game.
        self.pocket: list[str] = []
        self.bag = self._in_order(self.all_pieces)
        self.tube: list[list] = []  # [piece, orientation, the request that it answered or None]
        self.refused: list[list] = []  # [request, pieces in the tube at that time]
        self.asked: str | None = None
        self.in_hand: str | None = None
        self.phase = "hide"
        self.seat = MASTER  # whose turn it is; at the end, who acted last
        self.announced: list[str] | None = None
        self.winner: int | None = None

    @classmethod
    def from_position(cls, position: dict, num_players=2, **options) -> "Oracle":
        game = cls(num_players, **options)
        game.pocket = game._in_order(position["pocket"])
        game.bag = game._in_order(position["bag"])
        game.tube = [list(entry) for entry in position["tube"]]
        game.refused = [list(entry) for entry in position["refused"]]
        game.asked = position["asked"]
        game.in_hand = position["in_hand"]
        game.phase = position["phase"]
        game.seat = position["to_move"]
        game.announced = None if position["announced"] is None else game._in_order(position["announced"])
        game.winner = position["winner"]
        if Counter(game.pocket) + Counter(game.bag) + game._given() != game.all_pieces:
            raise ValueError("pocket, bag, tube and hand together must be all the pieces")
        return game

    def copy(self) -> "Oracle":
        twin = Oracle.__new__(Oracle)
        twin.__dict__.update(self.__dict__)
        twin.pocket = list(self.pocket)
        twin.bag = list(self.bag)
        twin.tube = [list(entry) for entry in self.tube]
        twin.refused = [list(entry) for entry in self.refused]
        return twin

    # -- small helpers ------------------------------------------------------------------------------------------------

    def _in_order(self, pieces) -> list[str]:
        """The pieces, all copies, in the order of the kinds."""
        counted = Counter(pieces)
        if not set(counted) <= set(self.kinds):
            raise ValueError("a piece that is not in the set")
        return [kind for kind in self.kinds for _ in range(counted[kind])]

    def _dropped(self, first: int | None = None) -> Counter:
        """The pieces in the tube, or only the first so many of them."""
        return Counter(piece for piece, _, _ in self.tube[:first])

    def _given(self) -> Counter:
        """The pieces that have openly left the bag: those in the tube and the one in hand."""
        return self._dropped() + Counter([self.in_hand] if self.in_hand else [])

    def _ways(self, pieces: tuple) -> int:
        """In how many ways all the pieces can yield this pocket, every copy being a piece of its own."""
        return prod(comb(self.copies, count) for count in Counter(pieces).values())

    # -- whose turn, and what is allowed ------------------------------------------------------------------------------

    def to_move(self) -> int | str:
        if self.phase == "over":
            return "over"
        if self.phase == "hide" and self.random_pocket:
            return "chance"
        return self.seat

    def legal(self) -> dict[int, str]:
        if self.to_move() in ("over", "chance"):
            return {}
        undropped = self.all_pieces - self._dropped()
        return {number: name for number, name in enumerate(self.names) if self._allowed(name, undropped)}

    def _allowed(self, name: str, undropped: Counter) -> bool:
        verb, *words = name.split()

        if self.phase == "hide":
            # The Master may pocket whatever he likes.
            return verb == "hide"

        if self.phase == "ask":
            # The Disciple may ask for a thing that he has not been refused before, match or no match.
            # Once the bag is empty there is nothing left to ask for: he must announce.
            if verb == "ask":
                return bool(self.bag) and words[0] not in [request for request, _ in self.refused]
            # He may announce instead, after a refusal too.  He cannot name a piece that lies in the tube.
            if verb == "announce":
                return all(words.count(kind) <= undropped[kind] for kind in words)
            return False

        if self.phase == "give":
            # The Master gives a piece of the bag: one that matches, or on his own turn any piece.
            return verb == "give" and words[0] in self.bag and matches(words[0], self.asked)

        # The piece in hand is dropped, either way round.
        return verb == "drop"

    def chance(self) -> dict[int, tuple[str, Fraction]]:
        if self.to_move() != "chance":
            return {}
        # The only chance event: a pocket drawn uniformly from all the pieces.
        draws = comb(self.all_pieces.total(), len(self.pockets[0]))
        return {number: (self.names[number], Fraction(self._ways(pieces), draws)) for number, pieces in enumerate(self.pockets)}

    # -- what happens -------------------------------------------------------------------------------------------------

    def apply(self, number) -> None:
        if number not in self.legal() and number not in self.chance():
            raise ValueError(f"{number} is not possible here")
        verb, *words = self.names[number].split()
        if verb == "hide":
            self._hide(words)
        elif verb == "ask":
            self._ask(words[0])
        elif verb == "give":
            self._give(words[0])
        elif verb == "drop":
            self._drop(words[0])
        else:
            self._announce(words)

    def _hide(self, pieces: list[str]) -> None:
        self.pocket = list(pieces)
        self.bag = self._in_order(self.all_pieces - Counter(pieces))
        self._turn_of_disciple()

    def _ask(self, request: str) -> None:
        if any(matches(piece, request) for piece in self.bag):
            # The Master must answer.  The request stands until the piece is dropped.
            self.asked = request
            self.phase, self.seat = "give", MASTER
        else:
            # A refusal costs nothing.  The Disciple asks for something else, or announces.
            self.refused.append([request, len(self.tube)])

    def _give(self, piece: str) -> None:
        self.bag.remove(piece)
        self.in_hand = piece
        # The Disciple drops all pieces.  The variant lets the Master drop the pieces that nobody asked for.
        own_gift = self.asked is None
        self.phase = "drop"
        self.seat = MASTER if self.master_orients and own_gift else DISCIPLE

    def _drop(self, orientation: str) -> None:
        request = self.asked
        self.tube.append([self.in_hand, orientation, request])
        self.in_hand = self.asked = None
        if max(tops(self.tube, self.wall)) > self.rim:
            # Something stands out of the tube.  That loses, even if it was the last piece.
            self._end(MASTER)
        elif request is not None and self.bag:
            self._turn_of_master()
        else:
            # The Master has had his turn, or the bag is empty and his turn is skipped.
            self._turn_of_disciple()

    def _announce(self, pieces: list[str]) -> None:
        self.announced = list(pieces)
        self._end(DISCIPLE if pieces == self.pocket else MASTER)

    def _turn_of_disciple(self) -> None:
        self.phase, self.seat = "ask", DISCIPLE

    def _turn_of_master(self) -> None:
        self.phase, self.seat = "give", MASTER

    def _end(self, winner: int) -> None:
        # The seat stays that of the last to act.
        self.phase, self.winner = "over", winner

    # -- what can be seen ---------------------------------------------------------------------------------------------

    def returns(self) -> list[Fraction]:
        if self.winner is None:
            return [Fraction(0), Fraction(0)]
        return [Fraction(1) if seat == self.winner else Fraction(-1) for seat in (DISCIPLE, MASTER)]

    def position(self) -> dict:
        return {
            "pocket": list(self.pocket),
            "bag": list(self.bag),
            "tube": [list(entry) for entry in self.tube],
            "refused": [list(entry) for entry in self.refused],
            "asked": self.asked,
            "in_hand": self.in_hand,
            "phase": self.phase,
            "to_move": self.seat,
            "announced": None if self.announced is None else list(self.announced),
            "winner": self.winner,
        }

    def possible_pockets(self) -> dict[tuple, int]:
        """The pockets with which all that the Disciple has seen could have happened, each with the ways to draw it."""
        return {pieces: self._ways(pieces) for pieces in self.pockets if self._fits(pieces)}

    def _fits(self, pieces: tuple) -> bool:
        # What has been given cannot be in the pocket.
        outside = self.all_pieces - Counter(pieces)
        if not self._given() <= outside:
            return False
        # When a request was refused the bag had no match.  It held all but the pocket and the tube of then.
        for request, in_tube in self.refused:
            if any(matches(piece, request) for piece in outside - self._dropped(in_tube)):
                return False
        # A request that the Master is about to answer was not refused, so the bag has a match.
        if self.phase == "give" and not any(matches(piece, self.asked) for piece in outside - self._dropped()):
            return False
        # After an announcement he knows whether it was right.
        if self.announced is None:
            return True
        return (list(pieces) == self.announced) == (self.winner == DISCIPLE)
