"""The page in a real browser. Set PYRAMID_ENVS_SCREENSHOTS to a folder to get the pictures of the documentation."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import pyramid_envs as pe
from pyramid_envs.play.session import Session
from tests.play.courses import played

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytest.importorskip("flask", reason="the extra [play] is not installed")

from pyramid_envs.play import web  # noqa: E402

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
if CHROMIUM is None:
    pytest.skip("no Chromium is installed (Debian: apt-get install chromium)", allow_module_level=True)

SCREENSHOTS = os.environ.get("PYRAMID_ENVS_SCREENSHOTS")
GAMES = pe.game_names()
DRAWN = [name for name in GAMES if name != "tic_tac_toe"]
SECONDS = 1000  # in Playwright's milliseconds

# Where a key can be clicked on: a point of the screen at which something of it lies on top.
POINT = """(key) => {
    for (const part of document.querySelectorAll('#board .can')) {
        if (part.dataset.key !== key) continue;
        part.scrollIntoView({block: 'nearest', inline: 'nearest'});
        const box = part.getBoundingClientRect();
        for (const down of [0.5, 0.3, 0.7, 0.15, 0.85, 0.05, 0.95])
            for (const right of [0.5, 0.3, 0.7, 0.15, 0.85, 0.05, 0.95]) {
                const [x, y] = [box.left + right * box.width, box.top + down * box.height];
                if (document.elementFromPoint(x, y)?.closest('[data-key]') === part) return [x, y];
            }
    }
    return null;
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


class Site:
    """A server that runs, and its games."""

    def __init__(self) -> None:
        self.server = web.Server()
        self.listening = web.listen(self.server, 0)
        self.address = web.address(self.server, int(self.listening.effective_port))
        self.thread = threading.Thread(target=self.listening.run, daemon=True)
        self.thread.start()

    def begin(self, name: str, *players: str, seed: int = 1, **options: Any) -> tuple[str, Session]:
        """The address of a new game, and the game."""
        game = pe.make_game(name, num_players=len(players), **options)
        table = self.server.seat_everyone(game, players, seed)
        token = table.open(*table.session.people)
        self.server.tables.add(table)
        return f"{self.address}play/{token}?pause=0", table.session


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    site = Site()
    yield site
    site.listening.close()
    site.listening.task_dispatcher.shutdown()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """A page on which nothing may go wrong but what the test expects (``page.expected``)."""
    context = browser.new_context(viewport={"width": 1280, "height": 860}, color_scheme="light")
    page = context.new_page()
    page.set_default_timeout(20 * SECONDS)
    page.expected, wrong = [], []
    page.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    yield page
    context.close()
    assert [text for text in wrong if not any(part in text for part in page.expected)] == []


def settle(page: Any, session: Session) -> None:
    """Wait until the agents have played and the page shows it."""
    until = time.monotonic() + 20
    while session.playing and time.monotonic() < until:
        page.wait_for_timeout(5)
    page.wait_for_function(
        "change => document.body.dataset.change === String(change) && !document.body.hasAttribute('aria-busy')",
        arg=session.change,
    )


def answered(page: Any, session: Session, before: int) -> None:
    """Wait until what was done in the page has changed the game, the agents have answered, and the page shows it."""
    until = time.monotonic() + 20
    while session.change == before and time.monotonic() < until:
        page.wait_for_timeout(5)
    assert session.change > before, "nothing has happened in the game"
    settle(page, session)


def click(page: Any, key: str) -> None:
    """Click on something in the picture with the mouse."""
    point = page.evaluate(POINT, key)
    assert point is not None, f"{key!r} cannot be clicked on"
    page.mouse.click(*point)


def click_action(page: Any, session: Session, action: int) -> None:
    """Choose an action by clicking on the board."""
    for key in session.game.click_path(session.course.row, action):
        click(page, key)


def greedy_action(session: Session) -> int:
    return session.advice(pe.make_agent("greedy", session.game)).action


# ------------------------------------------------------------------------------------------------------------ whole games


@pytest.mark.parametrize("name", GAMES)
def test_a_whole_game_is_played_by_clicking_on_the_board(page: Any, site: Site, name: str) -> None:
    seats = ["greedy", "human"] if name == "pocket" else ["human", "greedy"]
    address, session = site.begin(name, *seats, seed=3)
    page.goto(address)
    settle(page, session)
    while not session.course.over:
        before = session.change
        click_action(page, session, greedy_action(session))
        answered(page, session, before)
    assert session.course.actions == played(session.game, 3).actions
    assert session.result() in page.inner_text("#status")
    assert page.locator("#choices").is_hidden()
    assert page.inner_text("#players li >> nth=0").strip()

    page.click("#reveal")
    page.wait_for_selector("#record:visible")
    page.keyboard.press("Home")
    page.wait_for_function("() => document.getElementById('at').textContent.startsWith('0 /')")
    page.click("#forward")
    page.wait_for_function("() => document.getElementById('at').textContent.startsWith('1 /')")
    assert session.course.names()[0] in page.inner_text("#status")
    with page.expect_download() as download:
        page.click("#record")
    assert session.record().to_line() in Path(download.value.path()).read_text(encoding="utf-8")


def test_a_whole_game_is_played_from_the_list(page: Any, site: Site) -> None:
    address, session = site.begin("treehouse", "human", "greedy", seed=5)
    page.goto(address)
    settle(page, session)
    while not session.course.over:
        before = session.change
        page.click(f'#legal button[data-action="{greedy_action(session)}"]')
        answered(page, session, before)
    assert session.course.actions == played(session.game, 5).actions


def test_a_game_is_begun_from_the_form(page: Any, site: Site) -> None:
    page.goto(site.address)
    page.check("input[value=treehouse]")
    page.select_option("#count", "3")
    page.select_option("#seat-1", "random")
    page.select_option("#seat-2", "human:link")
    page.click("summary:has-text('Options')")
    page.check("#option-dig_away")
    page.fill("#option-max_plies", "50")
    page.click("text=Begin")
    link = page.get_attribute("#link-list a", "href")
    page.click("#links-done")
    page.wait_for_selector("#legal button")
    session = site.server.tables.find(page.url.rpartition("/")[2]).session
    assert session.players == ("human", "random", "human")
    assert session.game.options == {"num_players": 3, "dig_away": True, "max_plies": 50}
    assert site.server.tables.find(link.rpartition("/")[2]).session is session


def test_what_the_server_refuses_is_told_on_the_form(page: Any, site: Site) -> None:
    page.expected = ["400 (BAD REQUEST)"]
    page.goto(site.address)
    page.check("input[value=treehouse]")
    page.select_option("#count", "3")
    page.select_option("#seat-1", "optimal")
    page.click("text=Begin")
    page.wait_for_selector("#notice:visible")
    assert "optimal plays only" in page.inner_text("#notice")


# ------------------------------------------------------------------------------------------------------------ at the board


@pytest.mark.parametrize("name", GAMES)
def test_a_hint_is_shown_with_policy_and_value(page: Any, site: Site, name: str) -> None:
    address, session = site.begin(name, "human", "human", seed=2)
    advised = session.advice(pe.make_agent("mcts:50", session.game))
    page.goto(address)
    if web.hides(session.game.card):
        page.click("#hand-over-done")
    settle(page, session)
    page.select_option("#advisor", "mcts:50")
    page.click("#hint")
    page.wait_for_selector("#advice .best")
    assert page.inner_text("#advice .best") == advised.name
    assert page.locator("#advice .bar.value").count() == 1
    assert page.locator("#advice .bar").count() == 1 + min(8, len(advised.actions))
    assert advised.name in page.inner_text("#legal .hinted")
    assert page.locator("#board .hinted").count() >= 1


def test_a_reload_resumes(page: Any, site: Site) -> None:
    address, session = site.begin("trellis", "human", "greedy", seed=4)
    page.goto(address)
    settle(page, session)
    for _ in range(3):
        before = session.change
        click_action(page, session, greedy_action(session))
        answered(page, session, before)
    shown = page.inner_html("#moves"), page.inner_text("#legal"), page.inner_text("#status")
    page.reload()
    settle(page, session)
    assert (page.inner_html("#moves"), page.inner_text("#legal"), page.inner_text("#status")) == shown


def test_a_stale_click_is_refused_with_a_message_and_the_page_catches_up(page: Any, site: Site) -> None:
    page.expected = ["409 (CONFLICT)"]
    address, session = site.begin("treehouse", "human", "human", seed=4)
    page.goto(address)
    settle(page, session)
    session.act(0, int(session.game.legal_actions(session.course.row)[0]))  # on another device
    page.click("#legal button >> nth=0")
    page.wait_for_selector("#notice:visible")
    assert "gone on" in page.inner_text("#notice")
    settle(page, session)
    assert session.course.ply == 1
    assert page.locator("#moves li").count() == 1


def test_a_game_that_is_not_kept_is_told(page: Any, site: Site) -> None:
    page.expected = ["404 (NOT FOUND)"]
    page.goto(f"{site.address}play/nothing")
    page.wait_for_selector("#notice:visible")
    assert "begin a new one" in page.inner_text("#notice")
    assert page.locator("#new-game").is_visible()


def test_a_move_is_taken_back(page: Any, site: Site) -> None:
    address, session = site.begin("twin_win", "human", "greedy", seed=4)
    page.goto(address)
    settle(page, session)
    shown = page.inner_text("#legal")
    assert page.locator("#undo").is_disabled()
    page.click("#legal button >> nth=0")
    answered(page, session, 0)
    page.click("#undo")
    answered(page, session, 1)
    assert session.course.ply == 0
    assert page.inner_text("#legal") == shown


def test_a_choice_begun_is_narrowed_and_begun_again(page: Any, site: Site) -> None:
    address, session = site.begin("twin_win", "human", "greedy", seed=4)
    page.goto(address)
    settle(page, session)
    game, row = session.game, session.course.row
    paths = [game.click_path(row, action) for action in game.legal_actions(row).tolist()]
    first = next(path[0] for path in paths if len(path) > 1)
    fitting = sum(path[0] == first for path in paths)
    everything = page.locator("#legal button").count()
    for leave in ("Escape", "elsewhere", "button"):
        click(page, first)
        assert page.locator("#legal button").count() == fitting < everything
        assert page.locator("#board .picked").count() == 1
        if leave == "Escape":
            page.keyboard.press("Escape")
        elif leave == "button":
            page.click("#path button")
        else:
            page.mouse.click(
                *page.evaluate("(() => { const b = board.getBoundingClientRect(); return [b.left + 4, b.bottom - 4]; })()")
            )
        assert page.locator("#legal button").count() == everything
        assert page.locator("#board .picked").count() == 0
    assert session.course.ply == 0


def test_the_keyboard_is_enough(page: Any, site: Site) -> None:
    page.goto(site.address)
    page.keyboard.press("Tab")
    page.focus("input[value=twin_win]")
    page.keyboard.press("Space")
    page.focus("text=Begin")
    page.keyboard.press("Enter")
    page.wait_for_selector("#legal button")
    session = site.server.tables.find(page.url.rpartition("/")[2]).session
    first, second = session.game.legal_actions(session.course.row)[:2].tolist()
    page.keyboard.type("2")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.body.dataset.change === '1'")
    assert session.course.actions == [second]
    page.keyboard.press("ArrowLeft")
    page.wait_for_function("() => document.getElementById('at').textContent === '0 / 1'")
    page.keyboard.press("End")
    page.wait_for_function("() => document.getElementById('at').textContent === '1 / 1'")
    page.keyboard.press("u")
    page.wait_for_function("() => document.body.dataset.change === '2'")
    page.keyboard.press("h")
    page.wait_for_selector("#advice .best")
    for key in session.game.click_path(session.course.row, first):
        page.eval_on_selector_all("#board .can", "(parts, key) => parts.find((part) => part.dataset.key === key).focus()", key)
        page.keyboard.press("Enter")
    page.wait_for_function("() => document.body.dataset.change === '3'")
    assert session.course.actions == [first]
    page.fill("#filter", "no such move")
    page.keyboard.press("Enter")
    assert "No move fits" in page.inner_text("#notice")


# ------------------------------------------------------------------------------------------------------------ several people


def test_a_device_that_is_handed_on_shows_nothing_of_the_other_seat(page: Any, site: Site) -> None:
    address, session = site.begin("twin_win", "human", "human", seed=4)
    received = []
    page.on("response", lambda response: received.append(response.url) if "/state" in response.url else None)
    page.goto(address)
    page.wait_for_selector("#hand-over-done")
    assert "player_0" in page.inner_text("#hand-over-title")
    assert received == []
    page.click("#hand-over-done")
    settle(page, session)
    for _ in range(2):
        before = session.change
        page.click("#legal button >> nth=0")
        answered(page, session, before)
    assert all("seat=0" in url for url in received)
    page.click("#pass-on")
    assert "player_1" in page.inner_text("#hand-over-title")
    assert page.inner_html("#board") + page.inner_html("#moves") + page.inner_text("#text") == ""
    assert all("seat=0" in url for url in received)
    page.click("#hand-over-done")
    settle(page, session)
    assert page.inner_text("#status").startswith("player_1, your move")
    assert "player_1" in page.inner_text("#players li:has-text('you')")


def test_people_on_two_devices_see_each_others_moves(page: Any, site: Site) -> None:
    game = pe.make_game("twin_win")
    table = site.server.seat_everyone(game, ["human", "human"], 3)
    addresses = [f"{site.address}play/{table.open(seat)}" for seat in range(2)]
    site.server.tables.add(table)
    other = page.context.new_page()
    page.goto(addresses[0])
    other.goto(addresses[1])
    other.wait_for_function("() => document.getElementById('status').textContent === 'Waiting for player_0'")
    for _ in range(2):
        before = table.session.change
        page.click("#legal button >> nth=0")
        answered(page, table.session, before)
    other.wait_for_function("() => document.getElementById('status').textContent === 'Your move'")
    assert other.locator("#moves li").count() == 2
    other.click("#legal button >> nth=0")
    page.wait_for_function("() => document.querySelectorAll('#moves li').length === 3")


def test_agents_among_themselves_are_watched_and_paused(page: Any, site: Site) -> None:
    address, session = site.begin("trellis", "greedy", "greedy", seed=3)
    page.goto(address.replace("pause=0", "pause=40"))
    page.wait_for_function("() => document.querySelectorAll('#moves li').length > 1")
    page.click("#run")
    page.wait_for_timeout(300)
    assert page.inner_text("#run") == "Go on"
    change = session.change
    page.wait_for_timeout(300)
    assert session.change == change
    page.click("#run")
    page.wait_for_function("() => document.body.dataset.change > " + str(change))


def test_a_recorded_game_is_looked_at_with_the_agents_thoughts(page: Any, site: Site) -> None:
    course = played(pe.make_game("trellis"), seed=6)
    page.goto(f"{site.address}play/{site.server.show(Session.of(course.record(['greedy', 'greedy'])))}")
    page.wait_for_function("() => document.getElementById('status').textContent.includes('win')")
    page.evaluate("slider.value = 3; slider.dispatchEvent(new Event('input'))")
    page.wait_for_function("() => document.getElementById('at').textContent.startsWith('3 /')")
    assert course.names()[2] in page.inner_text("#status")
    assert page.locator("#undo").is_hidden()
    address, session = site.begin("treehouse", "mcts:50", "random", seed=3)
    while session.advance():
        pass
    page.goto(address)
    page.wait_for_selector("#moves li")
    page.keyboard.press("Home")
    page.wait_for_selector("#advice .bar.value")
    assert f"mcts:50 played {session.course.names()[0]}" in page.inner_text("#advice")


# -------------------------------------------------------------------------------------------------------------- appearance


@pytest.mark.parametrize(("name", "width"), [*((name, 360) for name in GAMES), ("trellis", 768)])
def test_a_narrow_screen_is_enough(page: Any, site: Site, name: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 740})
    page.goto(site.address)
    page.wait_for_selector("#form button")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    address, session = site.begin(name, "human", "greedy", seed=3)
    page.goto(address)
    settle(page, session)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    before = session.change
    click_action(page, session, greedy_action(session))
    answered(page, session, before)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_page_is_dark_where_the_system_is(page: Any, site: Site) -> None:
    address, session = site.begin("treehouse", "human", "greedy")
    page.emulate_media(color_scheme="dark")
    page.goto(address)
    settle(page, session)
    paint = (
        "getComputedStyle(document.documentElement).backgroundColor + document.querySelector('#board rect').getAttribute('fill')"
    )
    dark = page.evaluate(paint)
    page.emulate_media(color_scheme="light")
    page.wait_for_function(f"() => ({paint}) !== {dark!r}")


@pytest.mark.parametrize("name", DRAWN)
def test_the_pictures_of_the_documentation_are_taken(page: Any, site: Site, name: str, tmp_path: Path) -> None:
    plies = {"pocket": 20, "treehouse": 6, "trellis": 30, "twin_win": 12}.get(name, 4)
    address, session = site.begin(name, "human", "mcts:50", seed=7)
    course = played(session.game, 7, plies + 20)
    for action in course.actions[:plies]:
        session.course.play(action)
    while session.course.seat != 0:
        session.course.play(course.actions[session.course.ply])
    page.goto(address)
    settle(page, session)
    page.select_option("#advisor", "mcts:200")
    page.click("#hint")
    page.wait_for_selector("#advice .best")
    page.evaluate("document.activeElement.blur()")
    folder = Path(SCREENSHOTS or tmp_path)
    folder.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=folder / f"play_{name}.png")
    assert (folder / f"play_{name}.png").stat().st_size > 20_000
    if name == "treehouse":
        page.set_viewport_size({"width": 390, "height": 844})
        page.emulate_media(color_scheme="dark")
        page.wait_for_timeout(400)
        page.screenshot(path=folder / "play_narrow.png")
