"""The server of pages, at the wire: what it sends, to whom, and what it refuses."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

import pyramid_envs as pe
from pyramid_envs.play.record import Record
from pyramid_envs.play.session import Session
from tests.play.courses import disguised, played

pytest.importorskip("flask", reason="the extra [play] is not installed")
pytest.importorskip("waitress", reason="the extra [play] is not installed")

from pyramid_envs.play import web

HUMAN, LINK = {"player": "human"}, {"player": "human", "here": False}


class Device:
    """Somebody's browser."""

    def __init__(self, server: web.Server) -> None:
        self.server, self.http = server, server.app().test_client()

    def get(self, path: str, status: int = 200, **more: Any) -> Any:
        response = self.http.get(path, base_url="http://localhost", **more)
        response.get_data()
        response.close()
        assert response.status_code == status, response.text
        return response

    def post(self, path: str, body: Any, status: int = 200, **more: Any) -> Any:
        response = self.http.post(path, base_url="http://localhost", json=body, **more)
        assert response.status_code == status, response.text
        return response.get_json()

    def begin(self, game: str, seats: list[dict[str, Any]], **options: Any) -> tuple[str, list[str]]:
        """A new game: the token of this device, and those of the others."""
        made = self.post("/api/new", {"game": game, "options": options, "seats": seats, "seed": 11})
        return made["token"], [link["token"] for link in made["links"]]

    def state(self, token: str, status: int = 200, **query: Any) -> Any:
        return self.get(f"/api/{token}/state", status, query_string=query).get_json()

    def status(self, token: str) -> Any:
        return self.get(f"/api/{token}/status").get_json()

    def session(self, token: str) -> Session:
        return self.server.tables.find(token).session

    def change(self, token: str, what: str, status: int = 200, **body: Any) -> Any:
        body.setdefault("change", self.session(token).change)
        return self.post(f"/api/{token}/{what}", body, status)


@pytest.fixture(scope="module")
def server() -> web.Server:
    return web.Server()


@pytest.fixture
def device(server: web.Server) -> Device:
    return Device(server)


def finish(device: Device, token: str) -> None:
    """Put a finished game between greedy agents in the place of the one that goes on."""
    session = device.session(token)
    for action in played(session.game, session.course.seed).actions[session.course.ply :]:
        session.course.play(action)
    session.change += 1


# ------------------------------------------------------------------------------------------------------------------- play


def test_a_whole_game_is_played_over_the_wire(device: Device, game: pe.Game) -> None:
    token, _ = device.begin(game.name, [HUMAN, *[{"player": "greedy"}] * (game.num_players - 1)])
    course = played(game, seed=11)
    for ply in range(course.ply):
        if game.to_move(course.rows[ply]) == 0:
            state = device.state(token, seat=0)
            assert state["ply"] == state["shown"] == ply
            assert state["waiting_for"] == 0
            legal = {move["action"]: move["name"] for move in state["legal"]}
            assert list(legal) == game.legal_actions(course.rows[ply]).tolist()
            assert [move["name"] for move in state["moves"]] == course.names(0)[:ply]
            device.change(token, "act", seat=0, action=course.actions[ply])
        else:
            assert device.status(token)["playing"]
            device.change(token, "advance")
    state = device.state(token, seat=0)
    assert state["over"]
    assert state["payoffs"] == course.payoffs.tolist()
    assert state["legal"] == []
    assert state["result"]


def test_every_legal_action_has_its_own_way_to_be_clicked(device: Device, game: pe.Game) -> None:
    token, _ = device.begin(game.name, [HUMAN] * game.num_players)
    session = device.session(token)
    for action in played(game, seed=11).actions[:12]:
        seat = session.course.seat
        state = device.state(token, seat=seat)
        paths = [tuple(move["keys"]) for move in state["legal"]]
        assert len(set(paths)) == len(paths)
        assert all(paths)
        assert all(f'data-key="{path[0]}"'.replace(">", "&gt;") in state["svg"] for path in paths)
        device.change(token, "act", seat=seat, action=action)


def test_a_look_back_shows_what_was_seen_then(device: Device, game: pe.Game) -> None:
    token, _ = device.begin(game.name, [HUMAN] * game.num_players)
    shown = []
    for action in played(game, seed=11).actions[:6]:
        seat = device.session(token).course.seat
        shown.append((seat, device.state(token, seat=seat)["text"]))
        device.change(token, "act", seat=seat, action=action)
    for ply, (seat, text) in enumerate(shown):
        state = device.state(token, seat=seat, ply=ply)
        assert (state["shown"], state["text"], state["legal"]) == (ply, text, [])
    assert "not 99" in device.state(token, 409, seat=0, ply=99)["error"]


def test_an_action_is_taken_back_and_a_stale_request_refused(device: Device) -> None:
    token, _ = device.begin("treehouse", [HUMAN, {"player": "greedy"}])
    first = device.state(token, seat=0)
    assert first["undo"] == []
    device.change(token, "act", seat=0, action=first["legal"][0]["action"])
    device.change(token, "advance")
    assert device.status(token)["undo"] == [0]
    stale = device.change(token, "act", 409, seat=0, action=first["legal"][0]["action"], change=first["change"])
    assert "gone on" in stale["error"]
    device.change(token, "undo", seat=0)
    again = device.state(token, seat=0)
    assert again["change"] > first["change"]
    assert {**again, "change": 0} == {**first, "change": 0}
    assert "decided nothing" in device.change(token, "undo", 409, seat=0)["error"]


def test_a_hint_tells_action_policy_and_value(device: Device, game: pe.Game) -> None:
    token, _ = device.begin(game.name, [HUMAN] * game.num_players)
    seat = device.status(token)["waiting_for"]
    found = device.change(token, "hint", seat=seat, agent="mcts:50")
    legal = {move["action"]: move for move in device.state(token, seat=seat)["legal"]}
    assert found["name"] == legal[found["action"]]["name"]
    assert found["keys"] == legal[found["action"]]["keys"]
    assert -1 <= found["value"] <= 1
    assert sum(entry.get("share", 0) for entry in found["actions"]) == pytest.approx(1)
    assert "No agent" in device.change(token, "hint", 400, seat=seat, agent="kasparov")["error"]


def test_agents_among_themselves_are_watched(device: Device) -> None:
    token, _ = device.begin("trellis", [{"player": "greedy"}, {"player": "random"}])
    assert device.state(token)["revealed"]
    device.change(token, "advance")
    assert len(device.state(token)["moves"]) == 1
    assert device.get(f"/api/{token}/thoughts?ply=0").get_json()["agent"] == "greedy"


def test_a_recorded_game_is_shown(device: Device) -> None:
    record = played(pe.make_game("twin_win"), seed=4).record(["mcts:50", "somebody"])
    token = device.server.show(Session.of(record))
    state = device.state(token)
    assert state["over"]
    assert state["seed"] == 4
    assert [player["player"] for player in state["players"]] == ["mcts:50", "somebody"]
    assert [move["name"] for move in state["moves"]] == list(record.actions)
    assert Record.from_line(device.get(f"/api/{token}/record").text) == record


def test_many_games_are_kept_and_the_longest_unseen_is_forgotten() -> None:
    device = Device(web.Server(kept=3))
    tokens = [device.begin("treehouse", [HUMAN, LINK]) for _ in range(3)]
    device.status(tokens[0][1][0])
    tokens.append(device.begin("treehouse", [HUMAN, HUMAN]))
    assert "begin a new one" in device.get(f"/api/{tokens[1][0]}/status", 404).get_json()["error"]
    assert "begin a new one" in device.get(f"/api/{tokens[1][1][0]}/status", 404).get_json()["error"]
    for kept in (0, 2, 3):
        device.status(tokens[kept][0])
    assert len(device.server.tables._first) == 5


def test_requests_at_the_same_time_leave_a_whole_game(device: Device) -> None:
    token, _ = device.begin("treehouse", [{"player": "greedy"}, {"player": "greedy"}])
    app, codes = device.server.app(), []

    def push() -> None:
        http = app.test_client()
        for _ in range(30):
            change = http.get(f"/api/{token}/status", base_url="http://localhost").get_json()["change"]
            codes.append(http.post(f"/api/{token}/advance", base_url="http://localhost", json={"change": change}).status_code)

    threads = [threading.Thread(target=push) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(codes) <= {200, 409}
    course = device.session(token).course
    assert codes.count(200) == course.ply
    assert course.actions == played(course.game, course.seed).actions[: course.ply]


# ---------------------------------------------------------------------------------------------------- hidden information


def test_what_is_sent_to_a_seat_does_not_depend_on_what_it_may_not_know(device: Device, game: pe.Game) -> None:
    for seat in range(game.num_players):
        seats = [HUMAN if other == seat else {"player": "greedy"} for other in range(game.num_players)]
        token, _ = device.begin(game.name, seats)
        session = device.session(token)
        session.course = true = played(game, seed=30 + seat, plies=20)
        if true.over:
            true.back_to(true.ply - 1)
        other = disguised(true, seat, seed=1)
        for ply in range(true.ply + 1):
            answers = []
            for course in (true, other):
                session.course = course
                answers.append(device.get(f"/api/{token}/state", query_string={"seat": seat, "ply": ply, "theme": "dark"}).data)
            assert answers[0] == answers[1], f"seat {seat} can tell what is hidden from it at ply {ply}"
        session.course = other
        told = device.get(f"/api/{token}/status").data
        session.course = true
        assert device.get(f"/api/{token}/status").data == told


def test_the_seed_and_others_views_are_not_sent_before_the_end(device: Device, game: pe.Game) -> None:
    token, _ = device.begin(game.name, [HUMAN, *[{"player": "greedy"}] * (game.num_players - 1)])
    for status, query in ((403, {}), (403, {"seat": 1}), (403, {"seat": -1}), (400, {"seat": "x"})):
        assert "svg" not in device.state(token, status, **query)
    assert "seed" not in device.state(token, seat=0)
    assert "seed" not in device.status(token)
    device.get(f"/api/{token}/thoughts?ply=0", 403)
    device.get(f"/api/{token}/record", 403)
    device.change(token, "reveal", 409)
    for what in ("act", "hint", "undo"):
        more = {"act": {"action": 0}, "hint": {"agent": "greedy"}, "undo": {}}[what]
        assert "not played on this device" in device.change(token, what, 403, seat=1, **more)["error"]


def test_when_the_game_is_over_everything_may_be_seen_and_nothing_taken_back(device: Device, game: pe.Game) -> None:
    token, _ = device.begin(game.name, [HUMAN, *[{"player": "greedy"}] * (game.num_players - 1)])
    finish(device, token)
    hidden = device.state(token, seat=0)
    assert hidden["over"]
    assert "seed" not in hidden
    device.state(token, 403)
    device.get(f"/api/{token}/record", 403)
    device.change(token, "reveal")
    shown = device.state(token)
    session = device.session(token)
    assert shown["seed"] == 11
    assert shown["text"] == game.text(session.course.row)
    assert [move["name"] for move in shown["moves"]] == session.course.names()
    assert shown["undo"] == []
    device.change(token, "undo", 409, seat=0)
    for ply in range(min(session.course.ply, 4)):
        mover = game.to_move(session.course.rows[ply])
        thought = device.get(f"/api/{token}/thoughts?ply={ply}").get_json()
        assert thought.get("agent") == (None if mover == 0 else "greedy")
    assert Record.from_line(device.get(f"/api/{token}/record").text).replay().actions == session.course.actions


def test_each_person_has_a_link_that_opens_one_seat(device: Device) -> None:
    own, (link,) = device.begin("twin_win", [HUMAN, LINK])
    assert device.status(own)["seats"] == [0]
    assert device.status(link)["seats"] == [1]
    mine, theirs = device.state(own, seat=0), device.state(link, seat=1)
    assert mine["text"] != theirs["text"]
    assert mine["legal"]
    assert not theirs["legal"]
    device.state(link, 403, seat=0)
    device.change(link, "act", 409, seat=1, action=mine["legal"][0]["action"])
    device.change(own, "act", seat=0, action=mine["legal"][0]["action"])
    assert device.status(link)["change"] == 1


def test_a_device_of_several_people_gets_one_view_at_a_time(device: Device) -> None:
    token, _ = device.begin("twin_win", [HUMAN, HUMAN])
    assert "svg" not in device.status(token)
    assert "name a seat" in device.state(token, 403)["error"]
    assert device.state(token, seat=0)["text"] != device.state(token, seat=1)["text"]


# --------------------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"game": "treehouse", "options": {}}, "lacks 'seats'"),
        ({"game": "chess", "options": {}, "seats": [HUMAN, HUMAN]}, "No game is called 'chess'"),
        ({"game": "treehouse", "options": {"colour": 1}, "seats": [HUMAN, HUMAN]}, "option colour"),
        ({"game": "trellis", "options": {"tileset": "/etc/passwd"}, "seats": [HUMAN, HUMAN]}, "cannot be set from the page"),
        ({"game": "trellis", "options": {"board_radius": 99}, "seats": [HUMAN, HUMAN]}, "from 4 to 30"),
        ({"game": "treehouse", "options": {}, "seats": [HUMAN]}, "num_players"),
        ({"game": "treehouse", "options": {}, "seats": [HUMAN, {"player": "kasparov"}]}, "nobody is called 'kasparov'"),
        ({"game": "treehouse", "options": {}, "seats": [HUMAN, {"player": "/tmp"}]}, "nobody is called '/tmp'"),
        ({"game": "trellis", "options": {}, "seats": [HUMAN, {"player": "optimal"}]}, "nobody is called 'optimal'"),
        ({"game": "treehouse", "options": {}, "seats": [HUMAN, {"player": "optimal"}, HUMAN]}, "optimal plays only"),
        ({"game": "treehouse", "options": {}, "seats": [HUMAN, 3]}, "an object"),
        ({"game": "treehouse", "options": {}, "seats": [LINK, LINK]}, "Somebody must play on this device"),
        ({"game": "treehouse", "options": [], "seats": [HUMAN, HUMAN]}, "options cannot be"),
        ({"game": "treehouse", "options": {}, "seats": [HUMAN, HUMAN], "seed": True}, "seed cannot be"),
        ({"game": "treehouse", "options": {}, "seats": [HUMAN, HUMAN], "more": 1}, "unknown entry 'more'"),
        ([], "a JSON object"),
    ],
    ids=lambda value: value.replace("/", "") if isinstance(value, str) else "",
)
def test_a_bad_wish_for_a_game_is_refused_with_the_reason(device: Device, body: Any, reason: str) -> None:
    assert reason.casefold() in device.post("/api/new", body, 400)["error"].casefold()


@pytest.mark.parametrize(
    ("body", "status", "reason"),
    [
        ({"seat": 0, "action": 96}, 409, "illegal"),
        ({"seat": 0, "action": -1}, 409, "illegal"),
        ({"seat": 0, "action": 2**70}, 409, "illegal"),
        ({"seat": 0, "action": "3"}, 400, "action cannot be '3'"),
        ({"seat": 0}, 400, "lacks 'action'"),
        ({"seat": True, "action": 1}, 400, "seat cannot be True"),
        ({"seat": 0, "action": 0, "change": 5}, 409, "gone on"),
        ({"seat": 0, "action": 0, "change": None}, 400, "change cannot be None"),
    ],
)
def test_a_bad_action_is_refused_with_the_reason_and_changes_nothing(
    device: Device, body: dict[str, Any], status: int, reason: str
) -> None:
    token, _ = device.begin("treehouse", [HUMAN, {"player": "greedy"}])
    assert reason in device.change(token, "act", status, **body)["error"]
    assert device.session(token).course.ply == 0


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "192.168.1.5", "127.0.0.1.nip.io", "[::2]"])
def test_another_name_for_this_computer_is_refused(device: Device, host: str) -> None:
    response = device.http.get("/api/games", base_url=f"http://{host}:8000")
    assert response.status_code == 421
    assert "is not called" in response.get_json()["error"]


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8000", "[::1]:8000", "localhost:1234"])
def test_the_names_of_this_computer_are_accepted(device: Device, host: str) -> None:
    assert device.http.get("/api/games", base_url=f"http://{host}").status_code == 200


def test_a_server_for_the_house_goes_by_its_address_but_by_no_foreign_name() -> None:
    http = web.Server(host="0.0.0.0").app().test_client()
    assert http.get("/api/games", base_url="http://192.168.1.5:8000").status_code == 200
    assert http.get("/api/games", base_url="http://evil.example").status_code == 421


def test_what_another_site_could_send_is_refused(device: Device) -> None:
    body = json.dumps({"game": "treehouse", "options": {}, "seats": [HUMAN, HUMAN]})
    plain = device.http.post("/api/new", base_url="http://localhost", data=body, content_type="text/plain")
    assert plain.status_code == 415
    assert "application/json" in plain.get_json()["error"]
    for origin, status in (("http://evil.example", 403), ("null", 403), ("http://localhost", 200)):
        response = device.http.post(
            "/api/new", base_url="http://localhost", data=body, content_type="application/json", headers={"Origin": origin}
        )
        assert response.status_code == status
    broken = device.http.post("/api/new", base_url="http://localhost", data="{", content_type="application/json")
    assert broken.status_code == 400
    assert broken.get_json()["error"]
    assert device.http.post("/api/new", base_url="http://localhost", json={"x": "y" * 70000}).status_code == 413


def test_answers_forbid_foreign_scripts_frames_and_copies(device: Device) -> None:
    for path in ("/", "/play/anything", "/static/page.js", "/api/games"):
        headers = device.get(path).headers
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
        assert headers["Cache-Control"] == "no-store"
        assert headers["Referrer-Policy"] == "no-referrer"


def test_a_mistake_in_the_server_is_logged_and_not_told(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr(device.server.tables, "find", lambda token: fail())
    answer = device.get("/api/x/status", 500)
    assert "secret" not in answer.text
    assert "logged" in answer.get_json()["error"]


# ---------------------------------------------------------------------------------------------------------------- the rest


def test_the_form_offers_every_game_with_its_seats_options_and_agents(device: Device) -> None:
    games = {game["name"]: game for game in device.get("/api/games").get_json()["games"]}
    assert games.keys() == set(pe.game_names())
    trellis = {option["name"]: option for option in games["trellis"]["options"]}
    assert trellis["num_players"]["choices"] == [2, 3, 4]
    assert (trellis["board_radius"]["low"], trellis["board_radius"]["high"]) == (4, 30)
    assert "tileset" not in trellis
    assert "optimal" in games["treehouse"]["agents"]
    assert "optimal" not in games["trellis"]["agents"]
    assert games["twin_win"]["hidden"]
    assert not games["treehouse"]["hidden"]


def test_checkpoints_of_the_command_line_are_offered_by_a_short_name_for_their_game(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="the extra [train] is not installed")
    from pyramid_envs.agents import checkpoint, networks

    game = pe.make_game("treehouse")
    config = {"kind": "mlp", "hidden": [8]}
    network = networks.build(config, game.observation_shape, game.num_actions)
    run = tmp_path / "secret" / "my-run"
    run.mkdir(parents=True)
    folder = checkpoint.write(run, network.state_dict(), checkpoint.describe(game, config, 0), {}, "")
    device = Device(web.Server([str(folder), "mcts:7"]))
    games = {game["name"]: game["agents"] for game in device.get("/api/games").get_json()["games"]}
    label = next(name for name in games["treehouse"] if "my-run" in name)
    assert label not in games["trellis"]
    assert "mcts:7" in games["trellis"]
    token, _ = device.begin("treehouse", [HUMAN, {"player": label}])
    found = device.change(token, "hint", seat=0, agent=label)
    assert found["agent"] == label
    assert sum(entry["share"] for entry in found["actions"]) == pytest.approx(1)
    assert found["value"] is not None
    assert "secret" not in device.get(f"/api/{token}/state?seat=0").text


def test_a_server_listens_at_loopback_unless_told_otherwise_and_an_address_that_is_taken_is_told() -> None:
    server = web.Server()
    assert server.host == "127.0.0.1"
    first = web.listen(server, 0)
    try:
        assert first.effective_host == "127.0.0.1"
        port = int(first.effective_port)
        assert web.address(server, port, "x") == f"http://127.0.0.1:{port}/play/x"
        with pytest.raises(pe.PlayError, match="--port"):
            web.listen(server, port)
    finally:
        first.close()


def test_the_page_is_part_of_the_package() -> None:
    static = Path(web.__file__).with_name("static")
    assert {path.name for path in static.iterdir()} == {"page.html", "page.js", "style.css", "icon.svg"}


def test_nothing_is_taken_back_while_people_play_on_other_devices(device: Device, game: pe.Game) -> None:
    token, links = device.begin(game.name, [HUMAN, *[LINK] * (game.num_players - 1)])
    tokens = [token, *links]
    seat = device.session(token).course.seat
    device.change(tokens[seat], "act", seat=seat, action=played(game, seed=11).actions[0])
    assert device.status(tokens[seat])["undo"] == []
    assert "other devices" in device.change(tokens[seat], "undo", 409, seat=seat)["error"]


def test_a_port_that_is_none_is_refused(server: web.Server) -> None:
    with pytest.raises(pe.PlayError, match="a --port is 0 to 65535"):
        web.listen(server, 99_999)
