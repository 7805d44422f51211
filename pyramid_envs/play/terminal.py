"""Games in the terminal."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from pyramid_envs.agents import Agent
from pyramid_envs.errors import PlayError, PyramidError
from pyramid_envs.game import Game
from pyramid_envs.play.record import Course, append
from pyramid_envs.play.session import Advice, Session

HELP = """\
a number or a name  plays that move      list TEXT  the legal moves (with TEXT in their names)
hint, hint AGENT    what an agent would play in your seat
undo                takes back your last move
moves               what has been played   board  the position again
quit                ends the program"""
REPLAY_HELP = "Enter: one on   b: one back   a number: that position   end: the last   quit"
_LISTED = 60  # legal moves that are shown unasked


class Quit(Exception):
    """The person wants to stop."""


Ask = Callable[[str], str]


def ask(prompt: str) -> str:
    """A line from the person; the end of the input means that they want to stop."""
    try:
        return input(prompt).strip()
    except EOFError:
        print()
        raise Quit from None


def play(session: Session, advisors: Mapping[str, Agent], adviser: str, record: str | Path | None = None) -> None:
    """Play a game to its end, or until the person wants to stop.

    Args:
        session: the game.
        advisors: who may be asked for a hint, by name.
        adviser: who is asked if no name is given.
        record: a file that the game is added to when it is over.
    """
    people, hidden = session.people, hasattr(session.game.card.rules, "redeal")
    looking: int | None = people[0] if len(people) == 1 else None
    seen = 0
    try:
        while not session.course.over:
            seat = session.waiting_for
            if seat is None:
                session.advance()
                continue
            if len(people) > 1 and hidden and looking != seat:
                _hand_over(seat)
                seen = max(0, session.course.ply - session.game.num_players * 4)
            looking = seat
            seen = _show(session, seat, seen)
            seen = _decide(session, seat, seen, advisors, adviser)
    except Quit:
        print("The game is left unfinished.")
        return
    _show(session, None if len(people) != 1 else looking, seen)
    print(f"\n{session.result()}")
    print(
        "payoffs: "
        + "  ".join(f"{name} {pay:+.2f}" for name, pay in zip(session.game.agents, session.course.payoffs, strict=True))
    )
    if hidden and looking is not None:
        print(f"\nAll that was hidden:\n{session.game.text(session.course.row)}")
    print(f"\nThe seed was {session.course.seed}.")
    if record is not None:
        append(record, session.record())
        print(f"The game is in {record}.")


def _hand_over(seat: int) -> None:
    """Hide the view of one person before another one looks."""
    if sys.stdout.isatty():
        print("\033[2J\033[3J\033[H", end="")
    ask(f"player_{seat}, it is your turn: press Enter when nobody else looks. ")


def _show(session: Session, seat: int | None, seen: int) -> int:
    """The moves since `seen`, and the position; how many moves there are now."""
    names = session.course.names(seat)
    print()
    for ply in range(min(seen, len(names)), len(names)):
        mover = session.game.to_move(session.course.rows[ply])
        print(f"{ply + 1:>4}. player_{mover} ({session.players[mover]}): {names[ply]}")
    print(session.game.text(session.course.row, seat))
    return len(names)


def _decide(session: Session, seat: int, seen: int, advisors: Mapping[str, Agent], adviser: str) -> int:
    """Ask a person until something has happened in the game; how many of its moves they have seen."""
    legal = session.game.legal_actions(session.course.row).tolist()
    names = [session.game.action_name(session.course.row, action) for action in legal]
    _list(names, "", _LISTED)
    while True:
        word, _, rest = ask(f"player_{seat}> ").partition(" ")
        try:
            match word.lower():
                case "":
                    print(HELP)
                case "quit" | "exit" | "q":
                    raise Quit
                case "help" | "?":
                    print(HELP)
                case "board":
                    print(session.game.text(session.course.row, seat))
                case "list":
                    _list(names, rest.strip(), len(names))
                case "moves":
                    _show(session, seat, 0)
                case "undo":
                    session.undo(seat if seat in _undoable(session) else _last_person(session, seat))
                    print("Taken back.")
                    return min(seen, session.course.ply)
                case "hint":
                    name = rest.strip() or adviser
                    print(advice(session.advice(_advisor(advisors, name))._replace(agent=name)))
                case _:
                    session.act(seat, _meant(session, legal, f"{word} {rest}".strip()))
                    return seen
        except PyramidError as error:
            print(error)


def _undoable(session: Session) -> list[int]:
    found = []
    for seat in session.people:
        try:
            session.undo_ply(seat)
        except PlayError:
            continue
        found.append(seat)
    return found


def _last_person(session: Session, seat: int) -> int:
    """Who has decided last, if anybody: at one keyboard anybody may take that back."""
    return next(iter(_undoable(session)), seat)


def _meant(session: Session, legal: list[int], typed: str) -> int:
    """The action of a number in the list or of a name."""
    if typed.isdecimal():
        if not 1 <= int(typed) <= len(legal):
            raise PlayError(f"the legal moves have the numbers 1 to {len(legal)}, not {typed}; help explains more")
        return legal[int(typed) - 1]
    return session.game.parse_action(session.course.row, typed)


def _advisor(advisors: Mapping[str, Agent], name: str) -> Agent:
    if name not in advisors:
        raise PlayError(f"no agent is called {name!r} here; there are {', '.join(advisors)}")
    return advisors[name]


def _list(names: list[str], part: str, most: int) -> None:
    """Numbered names in columns, those that have `part` in them."""
    entries = [f"{at:>4} {name}" for at, name in enumerate(names, 1) if part.lower() in name.lower()]
    shown = entries[:most]
    if not shown:
        print(f"No legal move has {part!r} in its name.")
        return
    width = max(map(len, shown)) + 2
    columns = max(1, min(4, shutil.get_terminal_size().columns // width, -(-len(shown) // 8)))
    height = -(-len(shown) // columns)
    for line in range(height):
        print("".join(f"{entry:<{width}}" for entry in shown[line::height]).rstrip())
    if len(entries) > most:
        print(f"     … {len(entries)} legal moves; list shows all, list TEXT those with TEXT in their names")


def advice(found: Advice) -> str:
    """What an agent advises, in a few lines."""
    lines = [f"{found.agent} would play {found.name}"]
    if found.value is not None:
        lines[0] += f", and expects a payoff of {found.value:+.2f}"
    for entry in found.actions[:8]:
        share = f"{100 * entry['share']:5.1f} %" if "share" in entry else ""
        worth = f"payoff {entry['worth']:+.2f}" if "worth" in entry else ""
        bar = "#" * round(20 * entry["share"]) if "share" in entry else ""
        lines.append(f"  {entry['name']:<28} {share:<8} {worth:<14} {bar}".rstrip())
    return "\n".join(lines)


def step_through(course: Course, players: tuple[str, ...], seat: int | None = None) -> None:
    """Look at a game position by position."""
    game: Game = course.game
    names, at = course.names(seat), 0
    print(REPLAY_HELP)
    try:
        while True:
            print(f"\nPosition {at} of {course.ply}")
            if at:
                mover = game.to_move(course.rows[at - 1])
                print(f"player_{mover} ({players[mover]}): {names[at - 1]}")
            print(game.text(course.rows[at], seat))
            if at == course.ply and course.over:
                print(
                    "payoffs: " + "  ".join(f"{agent} {pay:+.2f}" for agent, pay in zip(game.agents, course.payoffs, strict=True))
                )
            at = _go(at, course.ply)
    except Quit:
        return


def _go(at: int, last: int) -> int:
    """Where the person wants to look next."""
    while True:
        typed = ask("> ").lower()
        if typed in ("quit", "exit", "q"):
            raise Quit
        if typed == "end":
            return last
        if typed.isdecimal() and int(typed) <= last:
            return int(typed)
        if typed == "b" and at > 0:
            return at - 1
        if typed == "" and at < last:
            return at + 1
        print("This is the end." if typed == "" else "This is the start." if typed == "b" else REPLAY_HELP)
