"""The page in the browser: a server for many games at once, which tells every seat what that seat may know and no more.

A page is reached by a secret in its address, a *token*, which stands for the seats that are played on that device. All else is
asked of the server by these requests, which answer with JSON; errors have the entry ``error``::

    GET  /api/games                             the games with their options, and the agents
    POST /api/new                               game, options, seats, seed: a new game, and its tokens
    GET  /api/TOKEN/status                      what everybody may know: whose turn it is, and how far the game is
    GET  /api/TOKEN/state?seat=&ply=&theme=     the same, and what a seat sees, now or after so many plies; without a seat
                                                everything, once it may be seen
    POST /api/TOKEN/act                         seat, action: a person's action
    POST /api/TOKEN/advance                     the next action of an agent
    POST /api/TOKEN/undo                        seat: back to its last decision
    POST /api/TOKEN/hint                        seat, agent: what an agent would do in that seat
    POST /api/TOKEN/reveal                      everything may be seen, once the game is over
    GET  /api/TOKEN/thoughts?ply=               what the agent that played thought, once everything may be seen
    GET  /api/TOKEN/record                      the game on paper, once everything may be seen

A request that changes a game carries the number ``change`` of the state that it answers; if the game has gone on since, it is
refused. The seed is as good as all that is hidden, and is not told before everything may be seen.
"""

from __future__ import annotations

import ipaddress
import secrets
import socket
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyramid_envs.agents import Agent
from pyramid_envs.card import Card
from pyramid_envs.errors import IllegalActionError, MissingExtraError, PlayError, PyramidError
from pyramid_envs.game import Game
from pyramid_envs.play.pictures import last_of
from pyramid_envs.play.players import FIXED, Players, labels, lineup, plays
from pyramid_envs.play.session import HUMAN, Session
from pyramid_envs.registry import card, game_names, make_game
from pyramid_envs.validate import Choice, Whole

try:
    import flask
    from waitress.server import create_server
    from werkzeug.exceptions import HTTPException
except ImportError as error:
    raise MissingExtraError(f'the page needs flask and waitress: pip install "pyramid-envs[play]" ({error})') from error

KEPT = 200  # games; then those that nobody has looked at for longest are forgotten
_THREADS = 8
_THEMES = ("light", "dark")


class Refused(PyramidError):
    """A request that is not granted, with the HTTP status that says why."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


# -------------------------------------------------------------------------------------------------------------- tables


@dataclass
class Table:
    """A game on the server, with the tokens that open it."""

    session: Session
    agents: Mapping[str, Agent]  # that may advise, by the names that the page knows
    tokens: dict[str, tuple[int, ...]] = field(default_factory=dict)  # the seats that are played through each
    lock: threading.Lock = field(default_factory=threading.Lock)

    def open(self, *seats: int) -> str:
        """A new token for these seats."""
        token = secrets.token_urlsafe(16)
        self.tokens[token] = seats
        return token


class Tables:
    """All the games, the one looked at last at the end."""

    def __init__(self, kept: int) -> None:
        self.kept = kept
        self._of: OrderedDict[str, Table] = OrderedDict()  # by the first of its tokens
        self._first: dict[str, str] = {}  # token -> the first of the same table
        self._lock = threading.Lock()

    def add(self, table: Table) -> None:
        """Keep a game, if need be instead of another."""
        first = next(iter(table.tokens))
        with self._lock:
            self._of[first] = table
            self._first.update(dict.fromkeys(table.tokens, first))
            while len(self._of) > self.kept:
                _, forgotten = self._of.popitem(last=False)
                for token in forgotten.tokens:
                    del self._first[token]

    def find(self, token: str) -> Table:
        """The game of a token."""
        with self._lock:
            if token not in self._first:
                raise Refused(404, "This game is not kept here (any more): begin a new one.")
            self._of.move_to_end(self._first[token])
            return self._of[self._first[token]]


def described(game_card: Card, agents: Sequence[str]) -> dict[str, Any]:
    """What the form for a new game needs to know."""
    options = []
    for name, option in game_card.options.items():
        default = None if callable(option.default) else option.default
        entry: dict[str, Any] = {"name": name, "doc": option.doc, "default": default}
        if isinstance(option.check, Choice):
            entry |= {"kind": "choice", "choices": list(option.check.allowed)}
        elif isinstance(option.check, Whole):
            entry |= {"kind": "whole", "low": option.check.low, "high": option.check.high, "none": option.check.none}
        elif isinstance(default, bool):
            entry["kind"] = "bool"
        elif isinstance(default, float):
            entry["kind"] = "number"
        else:  # a text may name a file of the server's: only its command line may do that
            continue
        options.append(entry)
    return {
        "name": game_card.name,
        "title": game_card.title,
        "hidden": hides(game_card),
        "options": options,
        "agents": list(agents),
    }


def hides(game_card: Card) -> bool:
    """Whether seats of a game know different things."""
    return hasattr(game_card.rules, "redeal")


# ----------------------------------------------------------------------------------------------------------- the state


def alone(session: Session, seats: tuple[int, ...]) -> bool:
    """Whether all people of a game play on one device: others must not be surprised by what is taken back, or peeked at by it."""
    return set(session.people) <= set(seats)


def status(table: Table, seats: tuple[int, ...]) -> dict[str, Any]:
    """What everybody may know, told to a device that plays `seats`."""
    session = table.session
    course, game = session.course, session.game
    shown = {option["name"]: game.options[option["name"]] for option in described(game.card, ())["options"]}
    undo = []
    for seat in seats if alone(session, seats) else ():
        try:
            session.undo_ply(seat)
        except PlayError:
            continue
        undo.append(seat)
    return {
        "change": session.change,
        "game": {"name": game.name, "title": game.title, "hidden": hides(game.card), "options": shown},
        "players": [
            {"name": name, "player": player, "here": seat in seats}
            for seat, (name, player) in enumerate(zip(game.agents, session.players, strict=True))
        ],
        "seats": seats,
        "ply": course.ply,
        "to_move": None if course.over else course.seat,
        "waiting_for": session.waiting_for,
        "playing": session.playing,
        "over": course.over,
        "result": session.result(),
        "payoffs": course.payoffs.tolist() if course.over else None,
        "revealed": session.revealed,
        "undo": undo,
        "advisors": list(table.agents),
    }


def state(table: Table, seats: tuple[int, ...], seat: int | None, ply: int | None, theme: str) -> dict[str, Any]:
    """What is told to a device that plays `seats` and looks at the game from `seat` (None: at everything)."""
    session = table.session
    course, game = session.course, session.game
    if seat is None and not session.revealed:
        raise Refused(403, "Everything is shown when the game is over; until then name a seat.")
    if seat is not None and seat not in seats:
        raise Refused(403, f"player_{seat} is not played on this device.")
    shown = course.ply if ply is None else ply
    if not 0 <= shown <= course.ply:
        raise Refused(409, f"The game has the positions 0 to {course.ply}, not {shown}.")
    row = course.rows[shown]
    legal: list[dict[str, Any]] = []
    if shown == course.ply and seat is not None and seat == session.waiting_for:
        legal = [
            {"action": action, "name": game.action_name(row, action), "keys": game.click_path(row, action)}
            for action in game.legal_actions(row).tolist()
        ]
    told = {
        **status(table, seats),
        "seat": seat,
        "shown": shown,
        "moves": [
            {"seat": game.to_move(before), "name": name} for before, name in zip(course.rows, course.names(seat), strict=False)
        ],
        "svg": game.svg(row, seat, last_of(course, shown), theme),
        "text": game.text(row, seat),
        "legal": legal,
    }
    if session.revealed:
        told["seed"] = course.seed
    return told


# --------------------------------------------------------------------------------------------------------------- the app


class Server:
    """The games, and what may be asked of them.

    Args:
        agents: further agents to play with, by name as `make_agent` takes it: folders of checkpoints above all.
        host: the address that it will be bound to.
        kept: how many games are kept.
    """

    def __init__(self, agents: Sequence[str] = (), host: str = "127.0.0.1", kept: int = KEPT) -> None:
        self.specs = labels([*FIXED, *agents])
        self.host = host
        self.tables = Tables(kept)
        self.fitting = {
            name: {label: spec for label, spec in self.specs.items() if plays(spec, card(name))} for name in game_names()
        }

    def seat_everyone(self, game: Game, players: Sequence[str], seed: int | None = None) -> Table:
        """A new game between people (``human``) and agents, not kept yet."""
        advisors = Players(self.fitting[game.name], game)
        return Table(Session(game, lineup(game, players, advisors), seed, names=players), advisors)

    def new(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """A new game as a page asks for it."""
        _keys(asked, {"game": str, "options": dict, "seats": list}, {"seed": (int, type(None))})
        name = asked["game"]
        if name not in self.fitting:
            raise Refused(400, f"No game is called {name!r}.")
        offered = {option["name"] for option in described(card(name), ())["options"]}
        for option in asked["options"]:
            if option not in offered:
                raise Refused(400, f"The option {option} of {name} cannot be set from the page.")
        for entry in asked["seats"]:
            _keys(entry, {"player": str}, {"here": bool})
        for entry in asked["seats"]:
            if entry["player"] != HUMAN and entry["player"] not in self.fitting[name]:
                raise Refused(400, f"Nobody is called {entry['player']!r} here; there are {', '.join(self.fitting[name])}.")
        people = [entry.get("here", True) for entry in asked["seats"] if entry["player"] == HUMAN]
        if people and not any(people):
            raise Refused(400, "Somebody must play on this device.")
        game = make_game(name, **{**asked["options"], "num_players": len(asked["seats"])})
        table = self.seat_everyone(game, [entry["player"] for entry in asked["seats"]], asked.get("seed"))
        here = [seat for seat in table.session.people if asked["seats"][seat].get("here", True)]
        token = table.open(*here)
        links = {seat: table.open(seat) for seat in table.session.people if seat not in here}
        self.tables.add(table)
        return {"token": token, "links": [{"seat": seat, "token": link} for seat, link in links.items()]}

    def show(self, session: Session) -> str:
        """Keep a game that has been played elsewhere; its token."""
        table = Table(session, Players(self.fitting[session.game.name], session.game))
        token = table.open()
        self.tables.add(table)
        return token

    def change(self, token: str, asked: Mapping[str, Any], what: str) -> dict[str, Any]:
        """A request that may change a game; the answer."""
        table = self.tables.find(token)
        seats, session = table.tokens[token], table.session
        fields: dict[str, dict[str, Any]] = {
            "act": {"seat": int, "action": int},
            "advance": {},
            "undo": {"seat": int},
            "hint": {"seat": int, "agent": str},
            "reveal": {},
        }
        _keys(asked, {"change": int, **fields[what]}, {})
        seat = asked.get("seat", -1)
        if "seat" in asked and seat not in seats:
            raise Refused(403, f"player_{seat} is not played on this device.")
        with table.lock:
            if asked["change"] != session.change:
                raise Refused(409, "The game has gone on since then: look at it again.")
            if what == "act":
                session.act(seat, asked["action"])
            elif what == "undo":
                if not alone(session, seats):
                    raise Refused(409, "Nothing can be taken back while people play on other devices.")
                session.undo(seat)
            elif what == "reveal":
                session.reveal()
            elif what == "advance":
                if not session.advance():
                    raise Refused(409, "No agent is to move.")
            else:
                return self._hint(table, seat, asked["agent"])
            return {"change": session.change}

    def _hint(self, table: Table, seat: int, name: str) -> dict[str, Any]:
        session = table.session
        if session.waiting_for != seat:
            raise Refused(409, f"A hint is for the seat to move, and that is not player_{seat}.")
        if name not in table.agents:
            raise Refused(400, f"No agent is called {name!r}.")
        found = session.advice(table.agents[name])
        keys = session.game.click_path(session.course.row, found.action)
        return {**found._asdict(), "agent": name, "keys": keys}

    def look(self, token: str, asked: Mapping[str, str]) -> dict[str, Any]:
        """The state as it is asked for."""
        table = self.tables.find(token)
        seats = table.tokens[token]
        theme = asked.get("theme", "light")
        if theme not in _THEMES:
            raise Refused(400, f"A theme is {' or '.join(_THEMES)}, not {theme!r}.")
        with table.lock:
            return state(table, seats, _number(asked, "seat"), _number(asked, "ply"), theme)

    def glance(self, token: str) -> dict[str, Any]:
        """What everybody may know."""
        table = self.tables.find(token)
        with table.lock:
            return status(table, table.tokens[token])

    def thoughts(self, token: str, asked: Mapping[str, str]) -> dict[str, Any]:
        """What an agent thought that has played, once that gives nothing away."""
        table = self.tables.find(token)
        session = table.session
        ply = _number(asked, "ply")
        with table.lock:
            if not session.revealed:
                raise Refused(403, "What an agent thinks is told when the game is over.")
            if ply is None or not 0 <= ply < session.course.ply:
                raise Refused(400, "Nothing was decided there.")
            agent = session.lineup[session.game.to_move(session.course.rows[ply])]
            if agent is None:
                return {}
            seat = session.game.to_move(session.course.rows[ply])
            return {**session.advice(agent, ply)._asdict(), "agent": session.players[seat]}

    def paper(self, token: str) -> str:
        """The line of a finished game's record."""
        table = self.tables.find(token)
        with table.lock:
            if not table.session.revealed:
                raise Refused(403, "The game on paper says everything: look at everything first, when it is over.")
            return table.session.record().to_line()

    # ------------------------------------------------------------------------------------------------------ over HTTP

    def app(self) -> flask.Flask:
        """The WSGI application."""
        app = flask.Flask(__name__, static_folder="static", static_url_path="/static")
        app.config["MAX_CONTENT_LENGTH"] = 1 << 16
        app.json.sort_keys = False  # type: ignore[attr-defined]
        games = [described(card(name), list(fitting)) for name, fitting in self.fitting.items()]

        @app.before_request
        def check() -> None:
            self._check_host(flask.request.host)
            if flask.request.method == "POST":
                self._check_post()

        @app.after_request
        def protect(response: flask.Response) -> flask.Response:
            response.headers["Content-Security-Policy"] = (
                "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
                "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
            )
            response.headers["X-Content-Type-Options"] = "nosniff"
            response.headers["Referrer-Policy"] = "no-referrer"
            response.headers["Cache-Control"] = "no-store"
            return response

        @app.errorhandler(Exception)
        def fail(error: Exception) -> tuple[flask.Response, int]:
            if isinstance(error, Refused):
                return flask.jsonify(error=str(error)), error.status
            if isinstance(error, HTTPException):
                return flask.jsonify(error=error.description), error.code or 500
            if isinstance(error, PyramidError):
                status = 409 if isinstance(error, (PlayError, IllegalActionError)) else 400
                return flask.jsonify(error=str(error)), status
            app.logger.exception("a request has failed")
            return flask.jsonify(error="This is a mistake in the server, which has been logged."), 500

        @app.get("/")
        @app.get("/play/<token>")
        def page(token: str = "") -> flask.Response:
            return app.send_static_file("page.html")

        @app.get("/api/games")
        def list_games() -> flask.Response:
            return flask.jsonify(games=games)

        @app.post("/api/new")
        def new() -> flask.Response:
            return flask.jsonify(self.new(_body()))

        @app.get("/api/<token>/status")
        def glance(token: str) -> flask.Response:
            return flask.jsonify(self.glance(token))

        @app.get("/api/<token>/state")
        def look(token: str) -> flask.Response:
            return flask.jsonify(self.look(token, flask.request.args))

        @app.get("/api/<token>/thoughts")
        def thoughts(token: str) -> flask.Response:
            return flask.jsonify(self.thoughts(token, flask.request.args))

        @app.get("/api/<token>/record")
        def paper(token: str) -> flask.Response:
            text = self.paper(token) + "\n"
            headers = {"Content-Disposition": 'attachment; filename="game.jsonl"'}
            return flask.Response(text, mimetype="application/x-ndjson", headers=headers)

        def changing(what: str) -> Callable[[str], flask.Response]:
            return lambda token: flask.jsonify(self.change(token, _body(), what))

        for what in ("act", "advance", "undo", "hint", "reveal"):
            app.add_url_rule(f"/api/<token>/{what}", what, changing(what), methods=["POST"])
        return app

    def _check_host(self, host: str) -> None:
        """Refuse a name that is not this server's own: a page elsewhere may have had its name point here (DNS rebinding)."""
        name = host.rpartition(":")[0] if not host.endswith("]") and ":" in host else host
        name = name.strip("[]")
        local = is_loopback(self.host)
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            known = name == "localhost" or (not local and name in (self.host, socket.gethostname()))
        else:
            known = address.is_loopback or not local  # an address is no name, and cannot be made to point elsewhere
        if not known:
            raise Refused(421, f"This server is not called {name!r}.")

    def _check_post(self) -> None:
        """Refuse what a form on another site could send."""
        if not flask.request.is_json:
            raise Refused(415, "Send JSON, as application/json.")
        origin = flask.request.headers.get("Origin")
        if origin is not None and origin.partition("://")[2] != flask.request.host:
            raise Refused(403, "Only the server's own page may change games.")


def is_loopback(host: str) -> bool:
    """Whether an address is reached from this computer alone."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _body() -> Mapping[str, Any]:
    body = flask.request.get_json()
    if not isinstance(body, dict):
        raise Refused(400, "The request must be a JSON object.")
    return body


def _keys(asked: Any, needed: Mapping[str, Any], optional: Mapping[str, Any]) -> None:
    """Refuse what does not have these entries, of these types."""
    if not isinstance(asked, Mapping):
        raise Refused(400, f"An object with the entries {', '.join(needed)} is needed, not {asked!r}.")
    for name in needed:
        if name not in asked:
            raise Refused(400, f"The request lacks {name!r}.")
    for name, value in asked.items():
        if name not in needed and name not in optional:
            raise Refused(400, f"The request has the unknown entry {name!r}.")
        kind = needed.get(name, optional.get(name))
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise Refused(400, f"The request's {name} cannot be {value!r}.")


def _number(asked: Mapping[str, str], name: str) -> int | None:
    value = asked.get(name)
    if value is None or value == "":
        return None
    if not value.removeprefix("-").isdecimal() or len(value) > 18:
        raise Refused(400, f"The request's {name} must be a whole number, not {value!r}.")
    return int(value)


def listen(server: Server, port: int) -> Any:
    """A server bound to its address but not running yet: ``.run()`` serves until ``.close()``; it has ``.effective_port``.

    Raises:
        PlayError: if the address cannot be had.
    """
    if not 0 <= port <= 65535 or not server.host.isascii():
        raise PlayError(f"{server.host}:{port} is no address; a --port is 0 to 65535, a --host an address or a name")
    family = socket.AF_INET6 if ":" in server.host else socket.AF_INET
    try:
        bound = socket.create_server((server.host, port), family=family)
    except OSError as error:
        raise PlayError(f"{server.host}:{port} cannot be listened at: {error}; try another --port") from None
    return create_server(server.app(), sockets=[bound], threads=_THREADS, ident=None)


def address(server: Server, port: int, token: str | None = None) -> str:
    """Where a page is found."""
    host = f"[{server.host}]" if ":" in server.host else server.host
    return f"http://{host}:{port}/" + ("" if token is None else f"play/{token}")
