"""Tic-tac-toe, played slowly and plainly, straight from its rules."""

from fractions import Fraction


class Oracle:
    """A game of tic-tac-toe. The cells are numbered row by row from the top left; seat 0 marks with X and begins."""

    def __init__(self, num_players: int = 2, *, max_plies=None):
        """The start of a game. The rules know no number of plies: `max_plies` has no effect."""
        self.cells = "........."

    @classmethod
    def from_position(cls, position: dict, num_players: int = 2, **options) -> "Oracle":
        game = cls()
        game.cells = "".join(position["board"])
        return game

    def copy(self) -> "Oracle":
        return Oracle.from_position(self.position())

    def winner(self) -> int | None:
        c = self.cells
        rows, columns, diagonals = [c[0:3], c[3:6], c[6:9]], [c[0::3], c[1::3], c[2::3]], [c[0::4], c[2:7:2]]
        for seat, letter in enumerate("XO"):
            if 3 * letter in rows + columns + diagonals:
                return seat
        return None

    def to_move(self) -> int | str:
        if self.winner() is not None or "." not in self.cells:
            return "over"
        return 0 if self.cells.count("X") == self.cells.count("O") else 1

    def legal(self) -> dict[int, str]:
        names = ["a3", "b3", "c3", "a2", "b2", "c2", "a1", "b1", "c1"]
        return {} if self.to_move() == "over" else {n: name for n, name in enumerate(names) if self.cells[n] == "."}

    def chance(self) -> dict[int, tuple[str, Fraction]]:
        return {}

    def apply(self, number: int) -> None:
        self.cells = self.cells[:number] + "XO"[self.to_move()] + self.cells[number + 1 :]

    def returns(self) -> list[Fraction]:
        return [Fraction(pay) for pay in {None: (0, 0), 0: (1, -1), 1: (-1, 1)}[self.winner()]]

    def position(self) -> dict:
        return {"board": [self.cells[0:3], self.cells[3:6], self.cells[6:9]]}
