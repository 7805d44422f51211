"""Pictures: what is drawn, what can be clicked, what stays hidden; as SVG, as an image, in a window, in every environment."""

from __future__ import annotations

import copy
import pickle
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from pettingzoo.test import render_test

import pyramid_envs as pe
from pyramid_envs.envs.aec import GameEnv
from pyramid_envs.envs.sb3 import SB3VecEnv
from pyramid_envs.envs.single import SeatEnv
from pyramid_envs.envs.vector import SeatVectorEnv
from pyramid_envs.render import raster
from pyramid_envs.render.canvas import THEMES, Canvas, Group, Place, Symbol, Text, symbol
from pyramid_envs.render.raster import to_image
from pyramid_envs.render.svg import to_svg
from tests.conftest import SETUPS, player_counts
from tests.golden.pictures import files, filmed, folder, pictures
from tests.playing import decisions

Shot = tuple[Any, tuple[Any, int] | None]
SPACE = "{http://www.w3.org/2000/svg}"


@pytest.fixture(autouse=True)
def without_a_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)


@pytest.fixture(scope="module")
def shots(game: pe.Game) -> list[Shot]:
    """Positions of random games, each with the last action and the row before it."""
    found: list[Shot] = []
    for seed in range(3):
        film = filmed(game, seed)
        found += [*film[:12], *film[12 : -1 : max(1, len(film) // 25)], film[-1]]
    return found


def keys(svg: str) -> list[str]:
    """The keys in a picture."""
    return re.findall(r'data-key="([^"]*)"', svg)


def without_text(items: Iterable[Any]) -> list[Any]:
    """All shapes but texts, how wide these are depends on the font."""
    kept: list[Any] = []
    for item in items:
        if isinstance(item, Group):
            kept += without_text(item.items)
        elif isinstance(item, Place):
            kept.append(Place(Symbol(tuple(without_text(item.symbol.items))), item.x, item.y))
        elif not isinstance(item, Text):
            kept.append(item)
    return kept


# ------------------------------------------------------------------------------------------------------- golden pictures


@pytest.mark.parametrize(("name", "num_players"), SETUPS)
def test_the_golden_pictures_look_as_they_looked(name: str, num_players: int) -> None:
    again = f"python -m tests.golden {name}"
    made = pictures(name, num_players, min(player_counts(name)))
    assert files(name, num_players), f"there are no golden pictures of {name} yet: make them by `{again}` and look at them"
    assert {file.name for file in files(name, num_players)} == set(made)
    for file, text in made.items():
        assert (folder() / file).read_text(encoding="utf-8") == text, (
            f"{file} differs: if {name} was changed on purpose, write its pictures again by `{again}`, and look at them"
        )


def test_there_are_no_golden_pictures_of_what_does_not_exist() -> None:
    known = {file for name, num_players in SETUPS for file in files(name, num_players)}
    assert set(folder().glob("*.svg")) <= known


# ------------------------------------------------------------------------------------------------------------------ SVG


def test_every_position_has_a_picture_of_one_size_for_everyone_in_both_themes(game: pe.Game, shots: list[Shot]) -> None:
    sizes = set()
    for row, last in shots[::4]:
        for seat in (None, *range(game.num_players)):
            text = game.svg(row, seat, last, "dark" if seat else "light")
            root = ElementTree.fromstring(text)
            assert root.tag == f"{SPACE}svg"
            assert root.findtext(f"{SPACE}title") == game.title
            assert len(keys(text)) == len(set(keys(text))), "a key stands twice"
            sizes.add(root.get("viewBox"))
            assert not re.search(r"nan|inf(?!\w)|np\.|numpy", text)
    assert len(sizes) == 1


def test_nothing_is_drawn_outside_the_picture(game: pe.Game, shots: list[Shot]) -> None:
    for row, last in shots[::3]:
        canvas = game.canvas(row, None, last)
        left, top, right, bottom = raster._bounds(without_text(canvas.items))
        assert left >= -1
        assert top >= -1
        assert right <= canvas.width + 1
        assert bottom <= canvas.height + 1


def test_a_picture_is_shown_by_notebooks(game: pe.Game, rows: list[Any]) -> None:
    picture = game.svg(rows[-1])
    assert isinstance(picture, str)
    assert picture._repr_svg_() == picture
    for env in (pe.aec_env(game.name, **game.options), GameEnv(game), SeatEnv(game)):
        env.reset(seed=0)
        assert env._repr_svg_().startswith("<svg")


def test_the_last_action_is_marked(game: pe.Game, shots: list[Shot]) -> None:
    for theme, colours in THEMES.items():
        for row, last in shots[::4]:
            assert last is None or f'"{colours.accent}"' in game.svg(row, None, last, theme)


def test_names_are_escaped() -> None:
    canvas = Canvas(10, 10, THEMES["light"])
    with canvas.group('a"b<c'):
        canvas.text(1, 1, "x < y & z", 3)
    root = ElementTree.fromstring(to_svg(canvas, "<>&"))
    assert root.findtext(f"{SPACE}title") == "<>&"
    assert root.find(f"{SPACE}g").get("data-key") == 'a"b<c'  # type: ignore[union-attr]


def test_a_wrong_theme_seat_and_size_are_refused(game: pe.Game, rows: list[Any]) -> None:
    with pytest.raises(ValueError, match="light, dark"):
        game.svg(rows[0], theme="sepia")
    with pytest.raises(IndexError, match=f"0 to {game.num_players - 1}"):
        game.svg(rows[0], game.num_players)
    with pytest.raises(ValueError, match="at least 1"):
        game.image(rows[0], size=0)


# --------------------------------------------------------------------------------------------------------------- clicks


def test_every_legal_action_can_be_clicked_and_no_click_is_ambiguous(game: pe.Game, rows: list[Any], shots: list[Shot]) -> None:
    tried = 0
    for row in [*decisions(game, rows)[::2], *decisions(game, [row for row, _ in shots])[::2]]:
        drawn = set(keys(game.svg(row, game.to_move(row))))
        paths = [game.click_path(row, action) for action in game.legal_actions(row).tolist()]
        assert all(paths)
        assert len(set(paths)) == len(paths)
        begun = {path[:length] for path in paths for length in range(1, len(path))}
        assert not begun & set(paths), "a path is the beginning of another"
        missing = {key for path in paths for key in path} - drawn
        assert not missing, f"not drawn: {missing}"
        tried += len(paths)
    assert tried > 50


def test_there_is_nothing_to_click_for_an_illegal_action(game: pe.Game, rows: list[Any]) -> None:
    for row in rows[::5]:
        illegal = np.flatnonzero(~game.legal_mask(row))
        for action in (-1, game.num_actions, *illegal[:2].tolist()):
            with pytest.raises(pe.IllegalActionError, match=str(action)):
                game.click_path(row, action)


# ------------------------------------------------------------------------------------------------- hidden information


def test_a_picture_reveals_nothing_hidden(game: pe.Game, rows: list[Any]) -> None:
    for row in rows[::3]:
        for seat in range(game.num_players):
            other = game.redeal(row, seat, 0)
            if other.tobytes() != row.tobytes():
                assert game.svg(other, seat) == game.svg(row, seat)
                if row is rows[-1] or game.to_move(row) == seat:
                    assert game.image(other, seat, size=64).tobytes() == game.image(row, seat, size=64).tobytes()


def test_the_mark_of_the_last_action_reveals_nothing_hidden(game: pe.Game, shots: list[Shot]) -> None:
    compared = 0
    for row, last in shots[::2]:
        if last is None:
            continue
        before, action = last
        done = before.copy()
        game.apply(done, action)
        if done.tobytes() != row.tobytes():
            continue  # chance came after it
        for seat in range(game.num_players):
            if seat == game.to_move(before):
                continue
            unlike = game.redeal(before, seat, 1)
            for other in game.legal_actions(unlike)[:4].tolist():
                after = unlike.copy()
                game.apply(after, other)
                same = game.action_name(unlike, other, seat) == game.action_name(before, action, seat)
                if same and game.observe(after, seat).tobytes() == game.observe(row, seat).tobytes():
                    assert game.svg(after, seat, (unlike, other)) == game.svg(row, seat, last)
                    compared += (after.tobytes(), other) != (row.tobytes(), action)
    assert compared or not hasattr(game.card.rules, "redeal")


# --------------------------------------------------------------------------------------------------------------- images


def test_an_image_has_the_size_that_is_asked_for_and_is_the_callers_own(game: pe.Game, rows: list[Any]) -> None:
    for size in (640, 101, 1):
        image = game.image(rows[0], size=size)
        assert image.dtype == np.uint8
        assert image.ndim == 3
        assert image.shape[2] == 3
        assert max(image.shape[:2]) == size
        image[...] = 0
        assert size < 100 or game.image(rows[0], size=size).any()


def test_positions_look_different_in_images(game: pe.Game, rows: list[Any]) -> None:
    different = {game.svg(row): game.image(row, size=320).tobytes() for row in rows[:14]}
    assert len(set(different.values())) == len(different)


@pytest.mark.parametrize("theme", THEMES)
def test_every_shape_is_in_the_image_where_the_canvas_has_it(theme: str) -> None:
    red, blue = "#ff0000", "#0000ff"

    def draw(pen: Any) -> None:
        pen.polygon([(0, 0), (20, 0), (20, 20), (0, 20)], red)
        pen.circle(40, 10, 9, blue, red, 4)
        pen.line([(60, 10), (80, 10)], red, 6)
        pen.curve((90, 10), (95, 10), (105, 10), (110, 10), blue, 6)
        pen.rect(120, 0, 20, 20, blue, red, 2, radius=3)
        pen.line([(150, 10), (190, 10)], red, 6, dash=10)
        pen.text(210, 10, "H", 20, blue)

    def image(fill: Any) -> np.ndarray[Any, Any]:
        canvas = Canvas(240, 40, THEMES[theme])
        fill(canvas)
        return to_image(canvas, 480)

    def colour(pixels: np.ndarray[Any, Any], x: int, y: int) -> str:
        return "#" + bytes(pixels[2 * y, 2 * x].tolist()).hex()

    direct = image(lambda canvas: [draw(canvas)])
    placed = image(lambda canvas: canvas.place(symbol(canvas.theme, draw), 0, 0))
    for pixels in (direct, placed):
        assert colour(pixels, 10, 10) == red
        assert [colour(pixels, 40, y) for y in (10, 1)] == [blue, red]
        assert [colour(pixels, x, 10) for x in (70, 100, 130, 155, 175)] == [red, blue, blue, red, red]
        assert colour(pixels, 120, 10) == red
        assert [colour(pixels, x, y) for x, y in ((165, 10), (70, 20), (230, 30))] == [THEMES[theme].table] * 3
        assert (pixels[4:38, 400:440] == [0, 0, 255]).all(axis=2).any()
    assert np.abs(direct.astype(int) - placed).mean() < 2


def test_without_pygame_an_error_names_the_extra() -> None:
    code = """if True:
        import sys
        sys.modules["pygame"] = None
        import pyramid_envs as pe
        game = pe.make_game("treehouse")
        assert game.svg(game.initial()).startswith("<svg")
        try:
            game.image(game.initial())
        except pe.MissingExtraError as error:
            assert "pyramid-envs[render]" in str(error), error
        else:
            raise SystemExit("no error")
    """
    root = Path(pe.__file__).parent.parent
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_pictures_of_text_alone_load_no_pygame() -> None:
    code = """if True:
        import sys
        import pyramid_envs as pe
        game = pe.make_game("trellis")
        game.svg(game.initial())
        assert "pygame" not in sys.modules
    """
    root = Path(pe.__file__).parent.parent
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


# --------------------------------------------------------------------------------------------------------- environments


def test_pettingzoo_approves_of_every_render_mode(game: pe.Game, monkeypatch: pytest.MonkeyPatch) -> None:
    def make(render_mode: str) -> Any:
        env = pe.aec_env(game.name, render_mode, **game.options)
        env.unwrapped.metadata["render_fps"] = 10_000
        return env

    render_test(make, {"svg": lambda picture: picture.startswith("<svg")})


def test_gymnasium_approves_of_every_render_mode(game: pe.Game, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SeatEnv.metadata, "render_fps", 10_000)
    env_id = f"pyramid_envs/{game.card.env_id}-v{game.version}"
    for mode in SeatEnv.metadata["render_modes"]:
        env = gymnasium.make(env_id, num_players=game.num_players, render_mode=mode)
        env.reset(seed=0)
        check_env(env.unwrapped)
        env.close()


def test_render_shows_the_position_with_the_last_action(game: pe.Game) -> None:
    env = GameEnv(game, "svg")
    env.reset(seed=3)
    assert env.render() == game.svg(env.row)
    for _ in range(6):
        if any(env.terminations.values()):
            break
        before, action = env.row.copy(), int(env.last()[0]["action_mask"].argmax())
        env.step(action)
        assert env.render() == game.svg(env.row, None, (before, action))
    env.reset()
    assert env.render() == game.svg(env.row)


def test_the_learner_is_shown_what_its_seat_sees(game: pe.Game) -> None:
    for seat in range(game.num_players):
        env = SeatEnv(game, "random", seat, "svg")
        text = SeatEnv(game, "random", seat, "ansi")
        env.reset(seed=1)
        text.reset(seed=1)
        over = False
        while not over:
            row, _, last = env._seen()
            assert env.render() == game.svg(row, seat, last)
            assert text.render() == game.text(row, seat)
            action = int(env.action_masks().nonzero()[0][-1])
            _, _, terminated, truncated, _ = env.step(action)
            text.step(action)
            over = terminated or truncated or env._games.batch.plies[0] > 30


def test_after_an_illegal_action_the_position_is_shown_in_which_it_was_played(game: pe.Game) -> None:
    env = SeatEnv(game, "random", 0, "ansi")
    env.reset(seed=0)
    before = env.render()
    env.step(-1)
    assert env.render() == before


def test_environments_of_many_games_show_each(game: pe.Game) -> None:
    vector, sb3 = SeatVectorEnv(game, 3, render_mode="rgb_array"), SB3VecEnv(game, 3, seed=0, render_mode="rgb_array")
    vector.reset(seed=0)
    sb3.reset()
    images = vector.render()
    assert images is not None
    assert len(images) == 3
    for image, other, third in zip(images, sb3.get_images(), sb3.env_method("render"), strict=True):
        assert np.array_equal(image, other)
        assert np.array_equal(other, third)
    tiled = sb3.render()
    assert tiled is not None
    assert tiled.shape[2] == 3
    for make in (SeatVectorEnv, SB3VecEnv):
        with pytest.raises(ValueError, match="ansi, rgb_array, svg"):
            make(game, 2, render_mode="human")


def test_a_window_opens_follows_the_game_and_closes(game: pe.Game) -> None:
    pygame = raster.load_pygame()
    for env in (pe.aec_env(game.name, "human", **game.options), SeatEnv(game, render_mode="human")):
        env.unwrapped.metadata["render_fps"] = 10_000  # type: ignore[index]
        env.reset(seed=0)
        assert pygame.display.get_init()
        before = pygame.image.tobytes(pygame.display.get_surface(), "RGB")
        if isinstance(env, SeatEnv):
            env.step(int(env.action_masks().argmax()))
        else:
            env.step(int(env.last()[0]["action_mask"].argmax()))
        assert pygame.image.tobytes(pygame.display.get_surface(), "RGB") != before
        assert env.render() is None
        twin = pickle.loads(pickle.dumps(copy.deepcopy(env)))
        twin.close()
        assert pygame.display.get_init(), "closing a copy closed the window"
        env.close()
        env.close()
        assert not pygame.display.get_init()
    SeatEnv.metadata["render_fps"] = 2


def test_a_window_that_a_person_closes_stays_closed_until_the_environment_is() -> None:
    pygame = raster.load_pygame()
    env = SeatEnv("treehouse", render_mode="human")
    env.metadata = {**env.metadata, "render_fps": 10_000}
    env.reset(seed=0)
    pygame.event.post(pygame.event.Event(pygame.QUIT))
    env.render()
    assert not pygame.display.get_init()
    env.reset()
    assert not pygame.display.get_init()
    env.close()
    env.reset()
    assert pygame.display.get_init()
    env.close()


def test_gymnasium_records_videos(game: pe.Game, tmp_path: Path) -> None:
    env_id = f"pyramid_envs/{game.card.env_id}-v{game.version}"
    env = gymnasium.make(env_id, num_players=game.num_players, max_plies=8, render_mode="rgb_array")
    video = gymnasium.wrappers.RecordVideo(env, str(tmp_path / "videos"))
    _, info = video.reset(seed=0)
    over = False
    while not over:
        _, _, terminated, truncated, info = video.step(int(info["action_mask"].argmax()))
        over = terminated or truncated
    video.close()
    (film,) = (tmp_path / "videos").glob("*.mp4")
    assert film.stat().st_size > 1000
