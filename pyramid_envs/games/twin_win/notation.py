"""Twin Win in words and letters."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyramid_envs import validate
from pyramid_envs.games.twin_win import rules
from pyramid_envs.games.twin_win.rules import ACT, ALL_CARDS, DEAL, DRAW, NO_CARD, OVER, PASS, SETUP, TRADE
from pyramid_envs.games.twin_win.tables import (
    CARDS,
    LETTERS,
    NUM_PIECES,
    NUM_SPACES,
    SETUP_SPACES,
    SIZES,
    SPACES,
    WAYS,
    cards_in,
    setups,
)
from pyramid_envs.jit import plain

# Kernels, for single positions.
_goals = plain(rules.goals)
_held = plain(rules.held)
_unused = plain(rules.unused)
_winner = plain(rules.winner)

PHASES = ("setup", "deal", "act", "draw", "over")  # by their numbers
_PIECES = tuple(letter + size for size in SIZES for letter in LETTERS)
_WAY_NAMES = tuple(f"{SPACES[start]}>{SPACES[end]}" for start, end in WAYS)
_READING_ORDER = (0, 1, 2, 7, 8, 3, 6, 5, 4)  # spaces row by row: NW N NE, W C E, SW S SE


# ------------------------------------------------------------------------------------------------------------ position


def position(tables: np.record, row: np.record) -> dict[str, Any]:
    n = tables.num_players
    return {
        "board": [_stack(row, space) for space in _READING_ORDER],
        "hands": [_names(row.hands[p]) for p in range(n)],
        "unused": _names(_unused(row)),
        "given_up": [_names(row.given_up[p]) for p in range(n)],
        "actions_left": int(row.actions_left),
        "phase": PHASES[row.phase],
        "to_move": int(row.seat),
    }


def _stack(row: np.record, space: int) -> list[str]:
    """The pieces on a space, from bottom to top."""
    cells = [16 * space + height for height in range(row.tall[space])]
    return [_PIECES[row.cell.tolist().index(cell)] for cell in cells]


def _names(cards: int) -> list[str]:
    return [CARDS[card] for card in cards_in(int(cards))]


def from_position(tables: np.record, position: Any, row: np.record) -> None:
    n = int(tables.num_players)
    found = validate.keys(position, ("board", "hands", "unused", "given_up", "actions_left", "phase", "to_move"))
    phase = PHASES.index(validate.named("phase", validate.member, found["phase"], PHASES))
    seat = validate.named("to_move", validate.integer, found["to_move"], 0, n - 1)
    hands = validate.named("hands", validate.sequence, found["hands"], n)
    given_up = validate.named("given_up", validate.sequence, found["given_up"], n)
    row.phase, row.seat, row.put_aside = phase, seat, NO_CARD
    for p in range(n):
        row.hands[p] = validate.named(f"hands[{p}]", _cards, hands[p])
        row.given_up[p] = validate.named(f"given_up[{p}]", _cards, given_up[p])
    _read_board(found["board"], row)
    _check_hands(n, row)
    _check_unused(validate.named("unused", _cards, found["unused"]), n, row)
    _check_given_up(n, row)
    row.actions_left = validate.named("actions_left", _actions_left, found["actions_left"], phase)
    _check_goals(n, row)


def _cards(value: Any) -> int:
    """A list of cards in card order, as bits."""
    bits = 0
    for entry in validate.sequence(value):
        if entry not in CARDS:
            raise validate.Fault(f"holds {entry!r}, which is no card: cards are {', '.join(CARDS)}")
        card = CARDS.index(entry)
        if bits >> card & 1:
            raise validate.Fault(f"holds {entry} twice")
        bits |= 1 << card
    if list(value) != _names(bits):
        raise validate.Fault(f"must be in card order: {', '.join(_names(bits))}")
    return bits


def _read_board(value: Any, row: np.record) -> None:
    stacks = validate.named("board", validate.sequence, value, NUM_SPACES)
    placed: dict[str, str] = {}
    for space, stack in zip(_READING_ORDER, stacks, strict=True):
        name = f"the stack on {SPACES[space]}"
        for height, entry in enumerate(validate.named(name, validate.sequence, stack)):
            if not isinstance(entry, str) or entry not in _PIECES:
                raise validate.Fault(f"{name} holds {entry!r}, which is no piece: a piece is one of {LETTERS} and one of {SIZES}")
            if entry in placed:
                raise validate.Fault(f"the piece {entry} is on the board twice, on {placed[entry]} and on {SPACES[space]}")
            placed[entry] = SPACES[space]
            row.cell[_PIECES.index(entry)] = 16 * space + height
            row.tall[space] += 1
    if row.phase == SETUP:
        if placed:
            raise validate.Fault("at setup the board must be empty")
        return
    missing = [piece for piece in _PIECES if piece not in placed]
    if missing:
        raise validate.Fault(f"the board lacks {', '.join(missing)}")
    if row.phase == DEAL and not _is_setup(row):
        raise validate.Fault(
            "at deal the board must be a setup: a tree (L, M on it, S on top) of three colours on each of NW, NE, C, SW and SE"
        )


def _is_setup(row: np.record) -> bool:
    cells = row.cell.reshape(3, 5)
    if any(row.tall[space] != 3 for space in SETUP_SPACES):
        return False
    if any(set(cells[2 - height]) != {16 * space + height for space in SETUP_SPACES} for height in range(3)):
        return False
    return all(len(set(cells[:, colour] >> 4)) == 3 for colour in range(5))


def _check_hands(n: int, row: np.record) -> None:
    """Nobody holds another's card, and everyone has as many as the phase says."""
    seen = 0
    for p in range(n):
        twice = _names(seen & int(row.hands[p]))
        if twice:
            raise validate.Fault(f"hands[{p}] holds {twice[0]}, which another seat holds")
        seen |= int(row.hands[p])
    sizes = [len(cards_in(int(row.hands[p]))) for p in range(n)]
    seat, phase = int(row.seat), int(row.phase)
    if phase == SETUP and seat != 0:
        raise validate.Fault(f"at setup to_move must be 0, not {seat}")
    for p in range(n):
        allowed = [2]
        if phase == SETUP or (phase == DEAL and p > seat):
            allowed = [0]
        elif phase == DEAL and p == seat:
            allowed = [0, 1]
        elif phase == DRAW and p == seat:
            allowed = [1]
        if sizes[p] not in allowed:
            count = " or ".join(map(str, allowed))
            raise validate.Fault(
                f"hands[{p}] must hold {count} card{'s' * (allowed != [1])} at {PHASES[phase]}, to_move {seat}, not {sizes[p]}"
            )


def _check_unused(unused: int, n: int, row: np.record) -> None:
    """Unused is every card that nobody holds; at draw one is missing, the one put aside."""
    held = _held(row)
    both = _names(unused & held)
    if both:
        raise validate.Fault(f"{both[0]} is in a hand and among the unused")
    missing = ALL_CARDS & ~held & ~unused
    if row.phase != DRAW:
        if missing:
            raise validate.Fault(f"unused lacks {', '.join(_names(missing))}, which nobody holds")
        return
    if len(cards_in(missing)) != 1:
        raise validate.Fault(
            "at draw exactly one card, the one put aside, is in nobody's hand and not among the unused; "
            f"here these are {', '.join(_names(missing)) or 'none'}"
        )
    row.put_aside = cards_in(missing)[0]
    if not int(row.given_up[row.seat]) & missing:
        raise validate.Fault(f"given_up[{row.seat}] lacks {CARDS[row.put_aside]}, which that seat has just put aside")


def _check_given_up(n: int, row: np.record) -> None:
    for p in range(n):
        if row.given_up[p] and row.phase in (SETUP, DEAL):
            raise validate.Fault(f"given_up[{p}] must be empty at {PHASES[row.phase]}")
        back = _names(int(row.given_up[p]) & int(row.hands[p]))
        if back:
            raise validate.Fault(f"given_up[{p}] holds {back[0]}, which is in that seat's hand")


def _actions_left(value: Any, phase: int) -> int:
    low, high = {ACT: (1, 2), DRAW: (1, 2), OVER: (0, 1)}.get(phase, (2, 2))
    try:
        return validate.integer(value, low, high)
    except validate.Fault as fault:
        raise validate.Fault(f"{fault} at {PHASES[phase]}") from None


def _check_goals(n: int, row: np.record) -> None:
    """Whoever holds a card whose goal is on the board has won, by the last action."""
    if row.phase in (SETUP, DEAL):
        return
    finished = _goals(row)
    won = [(p, card) for p in range(n) for card in cards_in(finished & int(row.hands[p]))]
    if row.phase != OVER:
        if won:
            p, card = won[0]
            raise validate.Fault(
                f"seat {p} holds {CARDS[card]}, which is on the board, so the game is over, not at {PHASES[row.phase]}"
            )
        # Nor did the seat that draws, before it put a card aside.
        if row.phase == DRAW and finished >> int(row.put_aside) & 1:
            raise validate.Fault(f"{CARDS[row.put_aside]} is on the board, so the seat that put it aside would have won before")
        return
    if not won:
        raise validate.Fault("the game is over, but no seat holds a card whose goal is on the board")
    if len(won) > 1:
        raise validate.Fault(
            f"the goals {CARDS[won[0][1]]} and {CARDS[won[1][1]]} are both on the board and held; one came first and won"
        )
    p, card = won[0]
    # The last action either put the top piece of the goal there or was a trade, with its draw, by the winner.
    space, height = divmod(int(row.cell[card // 2 if card % 2 == 0 else 10 + card // 2]), 16)
    moved = height == row.tall[space] - 1
    traded = p == row.seat and row.given_up[p] != 0
    if not moved and not traded:
        raise validate.Fault(
            f"seat {p} cannot have won with {CARDS[card]} by the last action of seat {row.seat}: "
            "a piece lies on top of it, and no trade brought the card"
        )


# --------------------------------------------------------------------------------------------------------------- names


def action_name(tables: np.record, row: np.record, action: int) -> str:
    if action == PASS:
        return "pass"
    if action < TRADE:
        return _WAY_NAMES[action]
    if row.phase != ACT:
        return "-"
    return f"trade {_names(row.hands[row.seat])[action - TRADE]}"


def seen_name(tables: np.record, row: np.record, action: int) -> str:
    return "trade ?" if TRADE <= action < PASS else action_name(tables, row, action)


def outcome_name(tables: np.record, row: np.record, outcome: int) -> str:
    if row.phase != SETUP:
        return CARDS[outcome]
    trees = zip(*setups()[outcome].tolist(), strict=True)
    return " / ".join(" ".join(LETTERS[colour] + size for colour, size in zip(tree, "LMS", strict=True)) for tree in trees)


# ---------------------------------------------------------------------------------------------------------------- text


def text(tables: np.record, row: np.record, seat: int | None) -> str:
    """The nine stacks, from bottom to top, as they lie on the table, then the seats."""
    stacks = {space: " ".join(_stack(row, space)) or "-" for space in _READING_ORDER}
    lines = []
    for at in range(0, NUM_SPACES, 3):
        cells = []
        for column, space in enumerate(_READING_ORDER[at : at + 3]):
            width = max(len(stacks[below]) for below in _READING_ORDER[column::3])
            cells.append(f"{SPACES[space]:<2} {stacks[space]:<{width}}")
        lines.append("   ".join(cells).rstrip())
    over = bool(row.phase == OVER)
    for p in range(tables.num_players):
        mark = ">" if p == row.seat and row.phase != SETUP and not over else " "
        notes = ["you"] * (p == seat) + ["wins"] * (over and p == _winner(tables, row))
        lines.append(f"{mark} player_{p}  {_seat_text(row, p, seat is None or seat == p)}")
        if notes:
            lines[-1] += f"  ({', '.join(notes)})"
    if seat is None:
        lines.append(f"  unused    {', '.join(_names(_unused(row)))}")
    lines.append(f"  {_phase_text(row)}")
    return "\n".join(lines)


def _seat_text(row: np.record, p: int, known: bool) -> str:
    """A seat's cards and what it has given up, or only how many cards where that is all that is known."""
    cards = cards_in(int(row.hands[p]))
    if not known:
        return f"{len(cards)} card{'s' * (len(cards) != 1)}"
    parts = [", ".join(CARDS[card] for card in cards) or "no cards"]
    if row.phase == DRAW and p == row.seat:
        parts.append(f"has put {CARDS[row.put_aside]} aside")
    if row.given_up[p]:
        parts.append(f"gave up {', '.join(_names(row.given_up[p]))}")
    return "; ".join(parts)


def _phase_text(row: np.record) -> str:
    if row.phase == SETUP:
        return "the trees are about to be set up"
    if row.phase == OVER:
        return f"over after an action of player_{row.seat}"
    if row.phase == DEAL:
        return f"player_{row.seat} is dealt a card"
    left = "1 action left" if row.actions_left == 1 else f"{row.actions_left} actions left"
    return f"player_{row.seat} draws a card; {left}, this one included" if row.phase == DRAW else f"player_{row.seat}: {left}"


assert len(_PIECES) == NUM_PIECES
