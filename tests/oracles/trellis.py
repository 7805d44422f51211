"""A slow, plain Trellis, written to be compared with a fast one.

Nothing here is clever.  The board is a dictionary from cells to tiles, in the
order of planting.  A tile is its six letters as it lies, and the owners of its
vines by colour.  A vine is a pair (cell, colour).
"""

import importlib
from collections import Counter
from fractions import Fraction
from itertools import combinations

COLOURS = "POGBKY"  # purple, orange, green, blue, pink, yellow
START_TILE = "POGBKY"  # six vines with one end each
DIRECTIONS = [(1, 0), (0, 1), (-1, 1), (-1, 0), (0, -1), (1, -1)]
FLOWERS_PER_SEAT = 15
HAND_SIZE = 3
TILE_NUMBERS = 3
ROTATION_NUMBERS = 6
OWNER_NUMBERS = 4

# The sets of options with which the game is to be compared. 4 is the smallest board, and from 10 on rows have another shape.
VARIANTS = [{}, {"board_radius": 4}, {"board_radius": 12}]


def turned(text, k):
    """The tile turned by k: the colour of edge e goes to edge e + k."""
    edges = [""] * 6
    for e in range(6):
        edges[(e + k) % 6] = text[e]
    return "".join(edges)


def rotations(text):
    """The six ways in which a tile can lie."""
    return {turned(text, k) for k in range(6)}


def reflected(text):
    """The tile in a mirror: the same edges, read the other way round."""
    return text[::-1]


def wiring(text):
    """How many edges apart the two ends of each vine are, smallest first."""
    apart = []
    for colour in sorted(set(text)):
        first, second = [e for e in range(6) if text[e] == colour]
        apart.append(min(second - first, 6 - (second - first)))
    return tuple(sorted(apart))


def check_tileset(tiles):
    """Assert everything that is promised of the balanced set of 60 tiles."""
    tiles = list(tiles)
    assert len(tiles) == 60, "a set has 60 tiles"

    # On each tile three vines of three different colours join the six edges.
    for text in tiles:
        assert len(text) == 6, text
        assert set(text) <= set(COLOURS), text
        assert sorted(Counter(text).values()) == [2, 2, 2], text

    # Four kinds of wiring, 15 tiles of each, with 15 different triples.
    of_kind = {(1, 1, 1): [], (1, 1, 3): [], (1, 2, 2): [], (2, 2, 3): []}
    for text in tiles:
        assert wiring(text) in of_kind, (text, wiring(text))
        of_kind[wiring(text)].append(text)
    for kind, members in of_kind.items():
        assert len(members) == 15, kind
        assert len({frozenset(text) for text in members}) == 15, kind

    # Every colour is on exactly 30 tiles.
    for colour in COLOURS:
        assert sum(colour in text for text in tiles) == 30, colour

    # All 20 triples occur in the set.
    all_triples = {frozenset(triple) for triple in combinations(COLOURS, 3)}
    assert len(all_triples) == 20
    assert {frozenset(text) for text in tiles} == all_triples

    # No two tiles are equal, rotated or reflected.
    for first, second in combinations(tiles, 2):
        same = rotations(first) | rotations(reflected(first))
        assert second not in same, (first, second)


def neighbour(cell, edge):
    """The cell that this edge of the cell faces."""
    q, r = cell
    dq, dr = DIRECTIONS[edge]
    return (q + dq, r + dr)


def distance(cell):
    """How many steps the cell is from the centre."""
    q, r = cell
    return max(abs(q), abs(r), abs(q + r))


class Oracle:
    def __init__(self, num_players=2, tiles=None, board_radius=None, max_plies=None, tileset=None):
        # max_plies and tileset are accepted and ignored.
        if num_players not in (2, 3, 4):
            raise ValueError("Trellis has 2, 3 or 4 seats")
        if tiles is None:
            raise ValueError("the tiles must be given")
        if board_radius is None:
            board_radius = 5 + num_players
        if not 4 <= board_radius <= 30:
            raise ValueError("board_radius must be from 4 to 30")
        self.num_players = num_players
        self.tiles = list(tiles)
        self.board_radius = board_radius

        # Only the start tile lies on the table; seat 0 draws the first tile.
        self.board = {(0, 0): {"edges": START_TILE, "flowers": {}}}
        self.hands = [[] for _ in range(num_players)]
        self.flowers_left = [FLOWERS_PER_SEAT] * num_players
        self.phase = "draw"
        self.chosen = {}
        self.gifts = 0
        self.seat = 0  # the active seat; at the end, the one that acted last

    @classmethod
    def from_position(cls, position, num_players, tiles, **options):
        game = cls(num_players, tiles, **options)
        game.board = {}
        for entry in position["board"]:
            game.board[tuple(entry["cell"])] = {"edges": entry["edges"], "flowers": dict(entry["flowers"])}
        game.hands = [list(hand) for hand in position["hands"]]
        game.flowers_left = list(position["flowers_left"])
        game.phase = position["phase"]
        game.chosen = dict(position["chosen"])
        if "cell" in game.chosen:
            game.chosen["cell"] = tuple(game.chosen["cell"])
        game.gifts = position["gifts"]
        game.seat = position["to_move"]
        return game

    def copy(self):
        return Oracle.from_position(self.position(), self.num_players, self.tiles, board_radius=self.board_radius)

    def position(self):
        chosen = dict(self.chosen)
        if "cell" in chosen:
            chosen["cell"] = list(chosen["cell"])
        board = []
        for cell, tile in self.board.items():
            flowers = {colour: tile["flowers"][colour] for colour in COLOURS if colour in tile["flowers"]}
            board.append({"cell": list(cell), "edges": tile["edges"], "flowers": flowers})
        return {
            "board": board,
            "hands": [list(hand) for hand in self.hands],
            "flowers_left": list(self.flowers_left),
            "phase": self.phase,
            "chosen": chosen,
            "gifts": self.gifts,
            "to_move": self.seat,
        }

    def to_move(self):
        if self.phase == "over":
            return "over"
        if self.phase == "draw":
            return "chance"
        return self.seat

    def winners(self):
        """All the seats that have placed their 15 flowers."""
        return [seat for seat in range(self.num_players) if self.flowers_left[seat] == 0]

    def returns(self):
        n = self.num_players
        if self.phase != "over":
            return [Fraction(0)] * n
        winners = self.winners()
        w = len(winners)
        return [Fraction(n - w, w * (n - 1)) if seat in winners else Fraction(-1, n - 1) for seat in range(n)]

    # The numbers run: 3 tiles, the cells of the whole axial square row by
    # row, 6 rotations, 4 owners, 6 colours.

    def cell_number(self, cell):
        q, r = cell
        side = 2 * self.board_radius + 1
        row, column = r + self.board_radius, q + self.board_radius
        return TILE_NUMBERS + row * side + column

    def rotation_number(self, k):
        side = 2 * self.board_radius + 1
        return TILE_NUMBERS + side * side + k

    def owner_number(self, seats_after):
        return self.rotation_number(ROTATION_NUMBERS) + seats_after

    def colour_number(self, colour):
        return self.owner_number(OWNER_NUMBERS) + COLOURS.index(colour)

    def new_cell(self):
        """The cell of the tile planted last."""
        return list(self.board)[-1]

    def connected(self, vine):
        """The vines of the same colour that meet this vine at an edge."""
        cell, colour = vine
        found = []
        for e in range(6):
            if self.board[cell]["edges"][e] != colour:
                continue
            other = neighbour(cell, e)
            if other not in self.board:
                continue
            if self.board[other]["edges"][(e + 3) % 6] == colour:
                found.append((other, colour))
        return found

    def owner(self, vine):
        """The seat with a flower on the vine, or None if it is empty."""
        cell, colour = vine
        return self.board[cell]["flowers"].get(colour)

    def empty_colours(self, cell):
        """The colours of the empty vines of the tile on this cell."""
        tile = self.board[cell]
        return [colour for colour in COLOURS if colour in tile["edges"] and colour not in tile["flowers"]]

    def cells_with_empty_vines(self):
        return [cell for cell in self.board if self.empty_colours(cell)]

    def owners_at_ends(self, vine):
        """The different owners of the flowers that the vine's ends reach."""
        return {self.owner(other) for other in self.connected(vine) if self.owner(other) is not None}

    def contested_vines(self):
        """Empty vines of the new tile between two owners, in colour order."""
        cell = self.new_cell()
        return [(cell, colour) for colour in self.empty_colours(cell) if len(self.owners_at_ends((cell, colour))) == 2]

    def put_flower(self, vine, seat):
        """Every vine due blooms, but a supply stops at its last flower."""
        cell, colour = vine
        self.board[cell]["flowers"][colour] = seat
        self.flowers_left[seat] = max(0, self.flowers_left[seat] - 1)

    def bloom(self, vine, seat):
        """Flower an empty vine and all that it reaches through empty ones.

        Returns how many flowers bloomed.
        """
        self.put_flower(vine, seat)
        count = 1
        to_visit = [vine]
        while to_visit:
            here = to_visit.pop()
            for other in self.connected(here):
                if self.owner(other) is None:
                    self.put_flower(other, seat)
                    count += 1
                    to_visit.append(other)
        return count

    def bloom_of_others(self, vine, seat):
        """Bloom while planting: flowers for another seat earn gifts."""
        count = self.bloom(vine, seat)
        if seat != self.seat:
            self.gifts += count

    def legal(self):
        if self.phase == "tile":
            hand = self.hands[self.seat]
            return {i: f"tile {text}" for i, text in enumerate(hand)}
        if self.phase == "cell":
            # An empty cell next to any tile, not too far from the centre.
            beside = {neighbour(cell, e) for cell in self.board for e in range(6)}
            return self._cell_names([cell for cell in beside if cell not in self.board and distance(cell) <= self.board_radius])
        if self.phase == "rotation":
            # The tile is turned at will: colours need not match.
            return {self.rotation_number(k): f"rotation {k}" for k in range(ROTATION_NUMBERS)}
        if self.phase == "owner":
            # The first contested vine goes to one of the two at its ends,
            # named by how many seats after the active one they sit.
            first = self.contested_vines()[0]
            answers = {}
            for seat in sorted(self.owners_at_ends(first)):
                after = (seat - self.seat) % self.num_players
                answers[self.owner_number(after)] = f"owner {after}"
            return answers
        if self.phase == "colour":
            return self._colour_names(self.empty_colours(self.new_cell()))
        if self.phase == "board cell":
            return self._cell_names(self.cells_with_empty_vines())
        if self.phase == "board colour":
            return self._colour_names(self.empty_colours(self.chosen["cell"]))
        return {}  # "draw" and "over"

    def _cell_names(self, cells):
        names = {self.cell_number((q, r)): f"cell {q},{r}" for q, r in cells}
        return dict(sorted(names.items()))

    def _colour_names(self, colours):
        return {self.colour_number(colour): f"colour {colour}" for colour in colours}

    def deck(self):
        """The numbers of the tiles in nobody's hand and not on the board."""
        gone = {text for hand in self.hands for text in hand}
        for tile in self.board.values():
            gone |= rotations(tile["edges"])
        return [number for number, text in enumerate(self.tiles) if text not in gone]

    def chance(self):
        if self.phase != "draw":
            return {}
        deck = self.deck()
        return {number: (self.tiles[number], Fraction(1, len(deck))) for number in deck}

    def apply(self, number):
        if self.phase == "draw":
            if number not in self.chance():
                raise ValueError(f"{number} cannot be drawn")
            self._drawn(self.tiles[number])
            return

        legal = self.legal()
        if number not in legal:
            raise ValueError(f"{number} is not legal")
        answer = legal[number].split(" ")[1]

        if self.phase == "tile":
            # The tile stays in the hand until it is planted.
            self.chosen = {"tile": answer}
            self.phase = "cell"
        elif self.phase == "cell":
            q, r = answer.split(",")
            self.chosen["cell"] = (int(q), int(r))
            self.phase = "rotation"
        elif self.phase == "rotation":
            self._plant(int(answer))
        elif self.phase == "owner":
            seat = (self.seat + int(answer)) % self.num_players
            self.bloom_of_others(self.contested_vines()[0], seat)
            if not self._ended():
                self._contested_or_claim()
        elif self.phase == "colour":
            self._claim((self.new_cell(), answer))
        elif self.phase == "board cell":
            q, r = answer.split(",")
            self.chosen = {"cell": (int(q), int(r))}
            self.phase = "board colour"
        elif self.phase == "board colour":
            cell = self.chosen["cell"]
            self.chosen = {}
            self._claim((cell, answer))

    def _plant(self, k):
        """The chosen tile goes, turned by k, from the hand to the cell."""
        text = self.chosen["tile"]
        cell = self.chosen["cell"]
        self.chosen = {}
        self.hands[self.seat].remove(text)
        self.board[cell] = {"edges": turned(text, k), "flowers": {}}

        # All uncontested blooms come first.  The vines of the new tile have
        # different colours, so none of them can change what another meets.
        for colour in self.empty_colours(cell):
            owners = self.owners_at_ends((cell, colour))
            if len(owners) == 1:
                self.bloom_of_others((cell, colour), owners.pop())
        if not self._ended():
            self._contested_or_claim()

    def _contested_or_claim(self):
        """Contested vines are asked for one by one; then comes the claim."""
        if self.contested_vines():
            self.phase = "owner"
        else:
            self._ask_for_claim()

    def _ask_for_claim(self):
        """The same for the claim of the turn and for each gift."""
        if self.empty_colours(self.new_cell()):
            self.phase = "colour"
        elif self.cells_with_empty_vines():
            self.phase = "board cell"
        else:
            # Nothing is empty: what cannot be claimed is lost.
            self.gifts = 0
            self._draw()

    def _claim(self, vine):
        """The active seat claims a vine, which blooms at once."""
        self.bloom(vine, self.seat)
        if self._ended():
            return
        if self.gifts > 0:
            self.gifts -= 1
            self._ask_for_claim()
        else:
            self._draw()

    def _draw(self):
        """The seat draws one tile, if any is left."""
        if self.deck():
            self.phase = "draw"
        else:
            self._next_turn()

    def _drawn(self, text):
        """The drawn tile goes last in the hand."""
        self.hands[self.seat].append(text)
        setup = len(self.board) == 1
        if not setup:
            self._next_turn()
        elif len(self.hands[self.seat]) < HAND_SIZE:
            pass  # the same seat draws again
        elif self.seat < self.num_players - 1:
            self.seat += 1  # the next hand is drawn
        else:
            self.seat = 0  # all hands are full: the first turn
            self.phase = "tile"

    def _next_turn(self):
        """The next seat in order; a seat without a tile skips its turn."""
        for _ in range(self.num_players):
            self.seat = (self.seat + 1) % self.num_players
            if self.hands[self.seat]:
                self.phase = "tile"
                return
        raise AssertionError("all tiles are planted and nobody has won")

    def _ended(self):
        """The game ends at once when a seat has placed its last flower."""
        if not self.winners():
            return False
        self.phase = "over"
        self.chosen = {}
        self.gifts = 0
        return True


def make(game):
    """The oracle of a game: with its tiles, which the rules do not give one by one."""
    tables = importlib.import_module("pyramid_envs.games.trellis.tables")
    return Oracle(game.num_players, tables.tiles(game.options["tileset"]), game.options["board_radius"])
