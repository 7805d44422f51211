"""The command `python -m pyramid_envs.play`."""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
import webbrowser
from collections.abc import Sequence
from typing import Any

from pyramid_envs.agents import make_agent
from pyramid_envs.errors import PlayError, PyramidError, RecordError
from pyramid_envs.play import pictures, terminal
from pyramid_envs.play.players import FIXED, Players, labels, lineup, plays
from pyramid_envs.play.record import nth, open_to_append
from pyramid_envs.play.session import HUMAN, Session
from pyramid_envs.registry import card, game_names, make_game

PROGRAM = "python -m pyramid_envs.play"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if given[:1] == ["replay"]:
            replay(_replay_parser().parse_args(given[1:]))
        else:
            play(_play_parser().parse_args(given))
    except PyramidError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        return 130
    return 0


# ---------------------------------------------------------------------------------------------------------------- parsers


def _play_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=PROGRAM,
        description="Play with people and agents, in the terminal or, with --web, in the browser.",
        epilog=f"{PROGRAM} replay FILE looks at recorded games: see {PROGRAM} replay --help",
    )
    parser.add_argument("game", nargs="?", metavar="GAME", help=f"{', '.join(game_names())}; with --web it can be chosen there")
    parser.add_argument(
        "--seats",
        nargs="+",
        metavar="PLAYER",
        help="who plays each seat: human, random, greedy, mcts:N, optimal, pretrained, the folder of a checkpoint, "
        "mcts:N@FOLDER or rollouts:N@FOLDER (default: human, and greedy in all other seats)",
    )
    parser.add_argument(
        "--option", action="append", default=[], metavar="NAME=VALUE", help="an option of the game; may be given several times"
    )
    parser.add_argument("--seed", type=int, help="of the game (default: drawn)")
    parser.add_argument("--hint", metavar="AGENT", help="who gives hints (default: the first agent that plays, else greedy)")
    parser.add_argument("--record", metavar="FILE", help="a file that the game is added to when it is over (terminal only)")
    parser.add_argument(
        "--agents", nargs="+", default=[], metavar="AGENT", help="further agents to choose from or to ask: folders of checkpoints"
    )
    _add_web(parser)
    return parser


def _replay_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"{PROGRAM} replay",
        description="Look at a recorded game step by step, in the terminal or the browser, or make pictures of it. The game is "
        "played again and compared with what is written; if it comes out differently, that is told.",
    )
    parser.add_argument("file", metavar="FILE", help="of recorded games, one a line")
    parser.add_argument("--game", type=int, default=1, metavar="N", help="which line of the file (default 1)")
    parser.add_argument("--seat", type=int, help="show only what this seat may know (default: everything)")
    parser.add_argument("--svg", metavar="FOLDER", help="write an SVG file for every position")
    parser.add_argument("--film", metavar="FILE", help="write a film, FILE.gif or FILE.mp4")
    parser.add_argument("--theme", choices=["light", "dark"], default="light", help="of the pictures")
    parser.add_argument("--size", type=int, default=720, help="of a film's longer side, in pixels (default %(default)s)")
    parser.add_argument("--seconds", type=float, default=1.0, help="for each position of a film (default %(default)s)")
    _add_web(parser)
    return parser


def _add_web(parser: argparse.ArgumentParser) -> None:
    web = parser.add_argument_group("in the browser")
    web.add_argument("--web", action="store_true", help="open a page in the browser")
    web.add_argument(
        "--host", default="127.0.0.1", help="the address to listen at (default %(default)s: this computer alone; 0.0.0.0: all)"
    )
    web.add_argument("--port", type=int, default=8000, help="0: any free one (default %(default)s)")
    web.add_argument("--no-browser", action="store_true", help="only tell the address")


# ------------------------------------------------------------------------------------------------------------------ play


def play(given: argparse.Namespace) -> None:
    """A game in the terminal, or a server of pages."""
    if given.game is not None and given.game not in game_names():
        raise PlayError(f"no game is called {given.game!r}; the games are {', '.join(game_names())}")
    if given.web:
        _play_web(given)
        return
    if given.game is None:
        raise PlayError(f"name a game, one of {', '.join(game_names())}, or add --web to choose it in the browser")
    game = make_game(given.game, **_options(given))
    seats = _seats(given, game.num_players)
    # By their whole names; what they are called in the terminal may be shorter.
    specs = {
        label: spec
        for label, spec in labels([*FIXED, *given.agents, *seats, *([given.hint] if given.hint else [])]).items()
        if label != HUMAN
    }
    called = {spec: label for label, spec in specs.items()} | {HUMAN: HUMAN}
    fitting = {label: spec for label, spec in specs.items() if spec not in FIXED or plays(spec, card(given.game))}
    advisors = Players(fitting, game)
    for spec in {*seats, *given.agents, given.hint or HUMAN} - {HUMAN}:
        make_agent(spec, game)  # tells why it cannot play here
    names = [called[spec] for spec in seats]
    adviser = given.hint or next((name for name in names if name != HUMAN), "greedy")
    adviser = called.get(adviser, adviser)
    if adviser not in advisors:
        raise PlayError(f"no agent is called {adviser!r} here; name it among --agents")
    if given.record is not None:
        open_to_append(given.record)
    session = Session(game, lineup(game, names, advisors), given.seed, names=names)
    print(f"{game.title}. At the prompt, help explains what can be typed.")
    terminal.play(session, advisors, adviser, given.record)


def _play_web(given: argparse.Namespace) -> None:
    from pyramid_envs.play import web

    if given.record is not None:
        raise PlayError("--record is for the terminal; the page has a button that saves a game")
    seats = given.seats or []
    server = web.Server([*given.agents, *(seat for seat in seats if seat != HUMAN and seat not in FIXED)], given.host)
    token = None
    if given.game is not None:
        game = make_game(given.game, **_options(given))
        called = {spec: label for label, spec in server.specs.items()} | {HUMAN: HUMAN}
        table = server.seat_everyone(game, [called[spec] for spec in _seats(given, game.num_players)], given.seed)
        token = table.open(*table.session.people)
        server.tables.add(table)
    elif seats or given.option or given.seed is not None:
        raise PlayError("--seats, --option and --seed belong to a game: name it")
    _serve(server, given, token)


def _options(given: argparse.Namespace) -> dict[str, Any]:
    """The options of the command line; as many seats as players are named."""
    found: dict[str, Any] = {}
    for text in given.option:
        name, equals, value = text.partition("=")
        if not equals:
            raise PlayError(f"an option is given as NAME=VALUE, not {text!r}")
        lowered = {"True": "true", "False": "false", "None": "null"}.get(value, value)
        try:
            found[name] = json.loads(lowered)
        except ValueError:
            found[name] = value
    if given.seats is not None:
        found.setdefault("num_players", len(given.seats))
    return found


def _seats(given: argparse.Namespace, count: int) -> list[str]:
    return list(given.seats or [HUMAN, *["greedy"] * (count - 1)])


# ---------------------------------------------------------------------------------------------------------------- replay


def replay(given: argparse.Namespace) -> None:
    """A recorded game in the terminal, in the browser, or in pictures."""
    if not 0.02 <= given.seconds <= 60 or not 16 <= given.size <= 4096:
        raise PlayError("a film shows each position for 0.02 to 60 seconds, and has 16 to 4096 pixels")
    record = nth(given.file, given.game)
    try:
        session = Session.of(record)
    except RecordError as error:
        raise RecordError(f"{given.file}, line {given.game}, {error}") from None
    course = session.course
    if given.seat is not None and given.seat not in range(course.game.num_players):
        raise PlayError(f"the game has the seats 0 to {course.game.num_players - 1}, not {given.seat}")
    if given.svg is not None:
        written = pictures.write_svgs(course, given.svg, given.seat, given.theme)
        print(f"{len(written)} pictures are in {given.svg}")
    if given.film is not None:
        pictures.write_film(course, given.film, given.seat, given.theme, given.size, given.seconds)
        print(f"the film is {given.film}")
    if given.web:
        from pyramid_envs.play import web

        if given.seat is not None:
            raise PlayError("--seat is for the terminal and for pictures; the page of a recorded game shows everything")
        server = web.Server((), given.host)
        _serve(server, given, server.show(session))
    elif given.svg is None and given.film is None:
        terminal.step_through(course, session.players, given.seat)


# ----------------------------------------------------------------------------------------------------------------- browser


def _serve(server: Any, given: argparse.Namespace, token: str | None) -> None:
    """Serve pages until Ctrl-C."""
    from pyramid_envs.play import web

    listening = web.listen(server, given.port)
    address = web.address(server, int(listening.effective_port), token)
    print(f"Play at {address} (Ctrl-C ends it)", flush=True)
    if not web.is_loopback(given.host):
        print("Everybody who can reach this computer can open games here.", flush=True)
    if not given.no_browser and _has_display():
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
    try:
        listening.run()
    finally:
        listening.close()


def _has_display() -> bool:
    return sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


if __name__ == "__main__":
    raise SystemExit(main())
