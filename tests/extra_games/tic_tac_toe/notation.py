"""Tic-tac-toe in letters."""

from pyramid_envs import validate
from pyramid_envs.games.tic_tac_toe import rules

MARKS = ".XO"


def position(tables, row):
    cells = "".join(MARKS[mark] for mark in row.board)
    return {"board": [cells[0:3], cells[3:6], cells[6:9]]}


def from_position(tables, position, row):
    board = validate.named("board", validate.sequence, validate.keys(position, ["board"])["board"], 3)
    cells = [MARKS.index(mark) for number, line in enumerate(board) for mark in validate.named(f"board[{number}]", _line, line)]
    crosses, noughts = cells.count(1), cells.count(2)
    if crosses - noughts not in (0, 1):
        raise validate.Fault(f"cannot arise: X begins and the seats take turns, but board has {crosses} X and {noughts} O")
    row.board, row.marks = cells, crosses + noughts
    row.winners = sum(rules.has_line(tables, row, 1 + seat) << seat for seat in (0, 1))
    if row.winners >> row.marks % 2 & 1:  # the seat whose turn it would be
        raise validate.Fault("cannot arise: board has a mark made after the game was won")


def _line(value):
    if not isinstance(value, str) or len(value) != 3 or set(value) - set(MARKS):
        raise validate.Fault(f"must be three letters of '.', 'X' and 'O', not {value!r}")
    return value


def action_name(tables, row, action):
    return "abc"[action % 3] + "321"[action // 3]


def outcome_name(tables, row, outcome):
    raise AssertionError("nothing is left to chance")


def text(tables, row, seat):
    turn = rules.to_move(row)
    return "\n".join([*position(tables, row)["board"], "over" if turn < 0 else f"player_{turn} is to mark {MARKS[1 + turn]}"])
