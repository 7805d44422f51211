"""Treehouse, played slowly and plainly, straight from its rules.

Every seat has a trio of pyramids, one Small, one Medium and one Large. One more trio, the House,
lies in the middle. Who makes the own trio look like the House wins.

A trio is a line of columns, from left to right. A column is a lone piece, which stands or lies
and points left or right, or a stack, whose pieces all stand. In the text of a trio a column is
its letters from bottom to top, with "<" or ">" after a lying piece: "L< S M>" or "LM S>".
"""

from fractions import Fraction
from itertools import permutations, product
from typing import NamedTuple

SIZES = "SML"
LEFT, UP, RIGHT = "<", "^", ">"
DIRECTIONS = {"left": LEFT, "up": UP, "right": RIGHT}

ACTIONS = ("AIM", "TIP", "HOP", "SWAP", "DIG")
WILD = "WILD"
FACES = (*ACTIONS, WILD)

# Where a moving piece can go, along the columns that remain when it is lifted.
SLOTS = ("gap 0", "column 0", "gap 1", "column 1", "gap 2")

SEAT_START = "LMS"
HOUSE_START = "L< S M>"

# The sets of options with which the game is to be compared.
VARIANTS = [{"dig_away": False}, {"dig_away": True}]


# ------------------------------------------------------------------ trios


class Column(NamedTuple):
    """One column of a trio."""

    pieces: str  # from bottom to top
    way: str  # LEFT, UP or RIGHT; a stack is always UP


Line = list[Column]  # from left to right


def read(text: str) -> Line:
    """The trio with this text; ValueError if there is no such trio."""
    if not isinstance(text, str):
        raise ValueError(f"a trio is a text, not {text!r}")
    line = []
    for word in text.split(" "):
        lies = word.endswith((LEFT, RIGHT))
        column = Column(word[:-1], word[-1]) if lies else Column(word, UP)
        if not column.pieces:
            raise ValueError(f"a column without a piece in {text!r}")
        if lies and len(column.pieces) > 1:
            raise ValueError(f"a stack cannot lie, as in {text!r}")
        line.append(column)
    if sorted("".join(column.pieces for column in line)) != sorted(SIZES):
        raise ValueError(f"not one Small, one Medium and one Large: {text!r}")
    return line


def write(line: Line) -> str:
    """The text of a trio."""
    return " ".join(column.pieces if column.way == UP else column.pieces + column.way for column in line)


def find(line: Line, piece: str) -> int:
    """Which column of the line, counted from the left, holds the piece."""
    for place, column in enumerate(line):
        if piece in column.pieces:
            return place
    raise AssertionError("every trio has all three pieces")


def arrangements() -> list[str]:
    """The texts of all the trios that there are."""
    texts = []
    for a, b, c in permutations(SIZES):
        for heap in ([a, b, c], [a + b, c], [a, b + c], [a + b + c]):
            # A lone piece can point three ways, a stack only up.
            ways = [(LEFT, UP, RIGHT) if len(pieces) == 1 else (UP,) for pieces in heap]
            for choice in product(*ways):
                texts.append(write([Column(*column) for column in zip(heap, choice, strict=False)]))
    return texts


# ------------------------------------------------------------------ the five actions
#
# Each function gives the trio after the action, or None if the piece cannot do it.
# Whether the trio has changed at all is looked at later, for all the actions alike.


def aim(line: Line, piece: str, direction: str) -> Line | None:
    place = find(line, piece)
    # Only a piece that is alone in its column can be pointed elsewhere.
    if line[place].pieces != piece:
        return None
    return [*line[:place], Column(piece, DIRECTIONS[direction]), *line[place + 1 :]]


def tip(line: Line, piece: str, direction: str) -> Line | None:
    place = find(line, piece)
    column = line[place]
    # A whole upright column falls, never part of it: the column is named by its bottom piece.
    if column.way != UP or column.pieces[0] != piece:
        return None
    # The pieces lie in the column's place and point the way they fell, the top piece farthest.
    way = DIRECTIONS[direction]
    order = column.pieces if way == RIGHT else column.pieces[::-1]
    return line[:place] + [Column(fallen, way) for fallen in order] + line[place + 1 :]


def put(remaining: Line, slot: str, segment: str, underneath: bool) -> Line | None:
    """Put upright pieces into a gap of the remaining columns, or onto or under one of them."""
    kind, number = slot.split()
    index = int(number)
    if kind == "gap":
        # Far left, between two remaining columns, or far right.
        if index > len(remaining):
            return None
        return [*remaining[:index], Column(segment, UP), *remaining[index:]]
    if index >= len(remaining):
        return None
    # A lying column stands up when it becomes part of a stack.
    there = remaining[index].pieces
    stack = Column(segment + there if underneath else there + segment, UP)
    return [*remaining[:index], stack, *remaining[index + 1 :]]


def hop(line: Line, piece: str, slot: str) -> Line | None:
    place = find(line, piece)
    column = line[place]
    # Only an upright piece hops.
    if column.way != UP:
        return None
    # It takes along everything on top of it, in the same order. What is below it stays behind.
    height = column.pieces.index(piece)
    below, segment = column.pieces[:height], column.pieces[height:]
    stays = [Column(below, UP)] if below else []
    remaining = line[:place] + stays + line[place + 1 :]
    # It lands in any gap or on top of any remaining column.
    return put(remaining, slot, segment, underneath=False)


def swap(line: Line, piece: str, other: str) -> Line | None:
    exchange = str.maketrans(piece + other, other + piece)
    after = []
    for column in line:
        pieces = column.pieces.translate(exchange)
        # A piece that arrives in a stack stands up. Elsewhere a piece keeps the orientation
        # that it had before; one that leaves a stack was upright and stays so.
        way = line[find(line, pieces)].way if len(pieces) == 1 else UP
        after.append(Column(pieces, way))
    return after


def dig(line: Line, piece: str, slot: str, dig_away: bool) -> Line | None:
    place = find(line, piece)
    way = line[place].way
    # Only a lying piece digs, and a lying piece is always alone.
    if way == UP:
        return None
    remaining = line[:place] + line[place + 1 :]
    # Its own place is the gap between the columns left and right of it: the nearest slot of all.
    own, target = SLOTS.index(f"gap {place}"), SLOTS.index(slot)
    # It comes up on the side to which it points.
    if (way == LEFT and target > own) or (way == RIGHT and target < own):
        return None
    # With no other column on that side it may not dig,
    # unless it is agreed that it may then stand up in its own place.
    others = line[:place] if way == LEFT else line[place + 1 :]
    if not others and not dig_away:
        return None
    # It comes up in a gap or as the new bottom of a column; a stack rides on top of it.
    return put(remaining, slot, piece, underneath=True)


# ------------------------------------------------------------------ the numbered actions
#
# All the actions on one trio, in the order of their numbers: action, piece, and where to.
NUMBERED = (
    [("AIM", piece, direction) for piece in SIZES for direction in ("left", "up", "right")]
    + [("TIP", piece, direction) for piece in SIZES for direction in ("left", "right")]
    + [("HOP", piece, slot) for piece in SIZES for slot in SLOTS]
    + [("SWAP", "S", "M"), ("SWAP", "S", "L"), ("SWAP", "M", "L")]
    + [("DIG", piece, slot) for piece in SIZES for slot in SLOTS]
)
HOUSE_FIRST = len(NUMBERED)  # the same actions again, on the House
PASS = 2 * len(NUMBERED)


def moves(text: str, action: str, dig_away: bool = False) -> dict[int, str]:
    """All that the action can do to the trio: the number on one trio, and the trio it leads to."""
    how = {"AIM": aim, "TIP": tip, "HOP": hop, "SWAP": swap, "DIG": dig}[action]
    agreed = (dig_away,) if action == "DIG" else ()
    line = read(text)
    found = {}
    for number, (kind, piece, where) in enumerate(NUMBERED):
        if kind == action:
            after = how(line, piece, where, *agreed)
            # An action must change the arrangement.
            if after is not None and after != line:
                found[number] = write(after)
    return found


# ------------------------------------------------------------------ the game


class Oracle:
    """A game of Treehouse between two to four seats."""

    def __init__(self, num_players: int = 2, *, dig_away: bool = False, max_plies=None):
        """The start of a game. The rules know no number of plies: `max_plies` has no effect."""
        if num_players not in (2, 3, 4):
            raise ValueError(f"two to four seats, not {num_players!r}")
        self.num_players = num_players
        self.dig_away = dig_away
        self.trios = [SEAT_START] * num_players
        self.house = HOUSE_START
        self.seat = 0  # whose turn it is; at the end, who moved last
        self.roll = None  # the face of the die; None while it is about to be rolled

    @classmethod
    def from_position(cls, position: dict, num_players: int, **options) -> "Oracle":
        game = cls(num_players, **options)
        if set(position) != {"trios", "house", "roll", "to_move"}:
            raise ValueError(f"a position has trios, house, roll and to_move: {position!r}")
        game.trios = list(position["trios"])
        game.house = position["house"]
        game.seat = position["to_move"]
        game.roll = position["roll"]
        if len(game.trios) != num_players:
            raise ValueError(f"{len(game.trios)} trios for {num_players} seats")
        for text in (*game.trios, game.house):
            read(text)
        if type(game.seat) is not int or game.seat not in range(num_players):
            raise ValueError(f"no such seat: {game.seat!r}")
        if game.roll is not None:
            if game.roll not in FACES:
                raise ValueError(f"no such face of the die: {game.roll!r}")
            if game.matching():
                raise ValueError("a trio matches the House: nobody rolls any more")
            if not game.allowed(game.roll):
                raise ValueError(f"{game.roll} allows nothing: it would be rolled again")
        return game

    def copy(self) -> "Oracle":
        twin = Oracle(self.num_players, dig_away=self.dig_away)
        twin.trios = list(self.trios)
        twin.house = self.house
        twin.seat = self.seat
        twin.roll = self.roll
        return twin

    def matching(self) -> list[int]:
        """The seats whose trio is the same as the House; a mirror image is not the same."""
        return [seat for seat in range(self.num_players) if self.trios[seat] == self.house]

    def results(self, face: str) -> dict[int, tuple[str, str]]:
        """What the active seat can do with the face to the two trios: number, name, new trio."""
        found = {}

        def offer(whose: str, text: str, first: int, actions: tuple[str, ...]) -> None:
            for action in actions:
                for number, after in moves(text, action, self.dig_away).items():
                    found[first + number] = (" ".join((whose, *NUMBERED[number])), after)

        own = self.trios[self.seat]
        if face == WILD:
            # Any one of the five actions, on the own trio or on the House, as one likes.
            offer("own", own, 0, ACTIONS)
            offer("house", self.house, HOUSE_FIRST, ACTIONS)
        else:
            # The own trio comes first. The House is for those who can do nothing there.
            offer("own", own, 0, (face,))
            if not found:
                offer("house", self.house, HOUSE_FIRST, (face,))
        return found

    def allowed(self, face: str) -> dict[int, str]:
        """The numbers and names of all that the active seat may do with the face."""
        names = {number: name for number, (name, _) in self.results(face).items()}
        # Nobody has to touch the House, except that a wild roll must be used.
        if names and face != WILD and min(names) >= HOUSE_FIRST:
            names[PASS] = "pass"
        return names

    def to_move(self) -> int | str:
        # The game ends as soon as any trio matches the House.
        if self.matching():
            return "over"
        return "chance" if self.roll is None else self.seat

    def legal(self) -> dict[int, str]:
        if self.to_move() in ("chance", "over"):
            return {}
        return self.allowed(self.roll)

    def chance(self) -> dict[int, tuple[str, Fraction]]:
        if self.to_move() != "chance":
            return {}
        # A face that allows nothing at all is rolled again,
        # so that the faces that allow something are all equally likely.
        useful = [face for face in FACES if self.allowed(face)]
        return {FACES.index(face): (face, Fraction(1, len(useful))) for face in useful}

    def apply(self, number: int) -> None:
        if self.to_move() == "chance":
            if number not in self.chance():
                raise ValueError(f"the die cannot show {number!r}")
            self.roll = FACES[number]
            return
        if number not in self.legal():
            raise ValueError(f"not legal: {number!r}")
        if number != PASS:
            _, after = self.results(self.roll)[number]
            if number < HOUSE_FIRST:
                self.trios[self.seat] = after
            else:
                self.house = after
        # The turn is over. The next seat rolls, unless the game has ended.
        self.roll = None
        if not self.matching():
            self.seat = (self.seat + 1) % self.num_players

    def winners(self) -> list[int]:
        """If the one who moved last matches, that seat alone; otherwise all that match."""
        matching = self.matching()
        return [self.seat] if self.seat in matching else matching

    def returns(self) -> list[Fraction]:
        winners = self.winners()
        if not winners:
            return [Fraction(0)] * self.num_players
        # Each loser pays the same. The winners share all that is paid equally.
        losers = self.num_players - len(winners)
        gain = Fraction(losers, len(winners) * (self.num_players - 1))
        loss = Fraction(-1, self.num_players - 1)
        return [gain if seat in winners else loss for seat in range(self.num_players)]

    def position(self) -> dict:
        return {
            "trios": list(self.trios),
            "house": self.house,
            "roll": self.roll,
            "to_move": self.seat,
        }
