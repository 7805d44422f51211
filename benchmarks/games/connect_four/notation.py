"""Connect four in letters."""

from benchmarks.games.connect_four import rules
from pyramid_envs import validate

STONES = ".XO"


def position(tables, row):
    return {"board": [_line(row, 8 * height) for height in reversed(range(rules.HEIGHT))]}


def _line(row, first):
    bits = [(int(row.stones[0]) >> first + k & 1) + 2 * (int(row.stones[1]) >> first + k & 1) for k in range(rules.WIDTH)]
    return "".join(STONES[bit] for bit in bits)


def from_position(tables, position, row):
    board = validate.named("board", validate.sequence, validate.keys(position, ["board"])["board"], rules.HEIGHT)
    for number, line in enumerate(board):
        if not isinstance(line, str) or len(line) != rules.WIDTH or set(line) - set(STONES):
            raise validate.Fault(f"board[{number}] must be {rules.WIDTH} letters of '.', 'X' and 'O', not {line!r}")
        for column, stone in enumerate(line):
            below = board[number + 1][column] if number + 1 < rules.HEIGHT else "X"
            if stone != "." and below == ".":
                raise validate.Fault(f"cannot arise: the stone in column {column} of board[{number}] lies on nothing")
            for seat in (0, 1):
                row.stones[seat] |= int(stone == STONES[1 + seat]) << 8 * (rules.HEIGHT - 1 - number) + column
    counts = [sum(line.count(stone) for line in board) for stone in STONES[1:]]
    if counts[0] - counts[1] not in (0, 1):
        raise validate.Fault(f"cannot arise: X begins and the seats take turns, but board has {counts[0]} X and {counts[1]} O")
    row.plies = sum(counts)
    row.winners = sum(int(rules.has_line(tables, int(row.stones[seat]))) << seat for seat in (0, 1))
    if row.winners >> row.plies % 2 & 1:  # the seat whose turn it would be
        raise validate.Fault("cannot arise: board has a stone dropped after the game was won")


def action_name(tables, row, action):
    return f"column {action}"


def outcome_name(tables, row, outcome):
    raise AssertionError("nothing is left to chance")


def text(tables, row, seat):
    turn = rules.to_move(row)
    return "\n".join([*position(tables, row)["board"], "over" if turn < 0 else f"player_{turn} is to drop {STONES[1 + turn]}"])
