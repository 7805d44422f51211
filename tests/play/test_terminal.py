"""The command: games and replays in the terminal, and what it refuses."""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path

import pytest

import pyramid_envs as pe
from pyramid_envs.play.__main__ import main
from pyramid_envs.play.record import append, nth, read
from tests.play.courses import played

Run = Callable[..., str]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command while somebody types these lines; what it prints. The input ends after them."""

    def run_command(command: list[str], *typed: str, status: int = 0) -> str:
        lines = iter(typed)

        def line(prompt: str = "") -> str:
            print(prompt, end="")
            try:
                return next(lines)
            except StopIteration:
                raise EOFError from None

        monkeypatch.setattr("builtins.input", line)
        assert main(command) == status
        captured = capsys.readouterr()
        return captured.out + captured.err

    return run_command


@pytest.fixture
def recorded(tmp_path: Path) -> str:
    """A file of two games of Twin Win."""
    for seed in (3, 4):
        append(tmp_path / "games.jsonl", played(pe.make_game("twin_win"), seed).record(["greedy", "greedy"]))
    return str(tmp_path / "games.jsonl")


# ------------------------------------------------------------------------------------------------------------------- play


def test_a_whole_game_is_played_and_recorded(game: pe.Game, run: Run, tmp_path: Path) -> None:
    course = played(game, seed=5)
    names = [name for row, name in zip(course.rows, course.names(), strict=False) if game.to_move(row) == 0]
    seats = ["human", *["greedy"] * (game.num_players - 1)]
    file = str(tmp_path / "games.jsonl")
    told = run([game.name, "--seats", *seats, "--seed", "5", "--record", file], *names)
    assert "wins." in told or "win together" in told or "draw" in told
    assert "payoffs: player_0" in told
    assert f"The game is in {file}." in told
    record = nth(file, 1)
    assert record.replay().actions == course.actions
    assert record.agents == tuple(seats)


def test_moves_are_chosen_by_number_too(run: Run) -> None:
    game = pe.make_game("treehouse")
    course = played(game, seed=5)
    numbers = [
        str(1 + game.legal_actions(row).tolist().index(action))
        for row, action in zip(course.rows, course.actions, strict=False)
        if game.to_move(row) == 0
    ]
    assert "wins." in run(["treehouse", "--seed", "5"], *numbers)


def test_what_is_typed_wrongly_is_told_and_asked_again(run: Run) -> None:
    told = run(["treehouse", "--seed", "1"], "99", "own JUMP", "hint nobody", "undo", "list xyz", "", "1", "undo", "1", "quit")
    assert "the legal moves have the numbers 1 to" in told
    assert "treehouse has no action called 'own JUMP'" in told
    assert "no agent is called 'nobody'" in told
    assert "player_0 has decided nothing yet" in told
    assert "No legal move has 'xyz' in its name" in told
    assert "takes back your last move" in told
    assert "Taken back." in told
    assert "left unfinished" in told


def test_a_hint_tells_what_an_agent_would_play_and_thinks(run: Run) -> None:
    told = run(["trellis", "--seed", "1", "--hint", "mcts:50"], "hint", "hint greedy", "hint random")
    assert "mcts:50 would play tile " in told
    assert "expects a payoff of" in told
    assert "greedy would play tile " in told
    assert "33.3 %" in told


@pytest.mark.parametrize("name", [name for name in pe.game_names() if name != "tic_tac_toe"])
def test_the_screen_shows_a_seat_what_it_may_know(run: Run, name: str) -> None:
    game = pe.make_game(name)
    course = played(game, seed=2)
    own = [course.names()[ply] for ply in range(course.ply) if game.to_move(course.rows[ply]) == 0][:-1]
    told = run([name, "--seed", "2"], *own)
    for ply in range(course.ply):
        if game.to_move(course.rows[ply]) != 0 and course.names()[ply] != course.names(0)[ply]:
            assert course.names()[ply] not in told
            assert course.names(0)[ply] in told


def test_people_at_one_keyboard_hand_over_between_views(run: Run) -> None:
    told = run(["twin_win", "--seats", "human", "human", "--seed", "1"], "", "NW>N", "pass", "", "board", "undo", "", "quit")
    assert told.count("it is your turn: press Enter when nobody else looks") == 3
    assert "press Enter" not in run(["treehouse", "--seats", "human", "human", "--seed", "1"], "1", "1")


def test_agents_play_among_themselves(run: Run) -> None:
    assert "wins." in run(["treehouse", "--seats", "greedy", "random", "--seed", "1"])


def test_options_are_taken(run: Run) -> None:
    told = run(["treehouse", "--option", "max_plies=2", "--seats", "random", "random", "random", "--seed", "1"])
    assert "Cut short after 2 actions" in told
    assert "player_2" in told
    assert "hide RS" in run(["pocket", "--option", "num_colors=1", "--seats", "greedy", "human"])


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (["chess"], "no game is called 'chess'"),
        ([], "name a game"),
        (["treehouse", "--seats", "human"], "option num_players of treehouse must be one of 2, 3, 4"),
        (["treehouse", "--seats", "human", "kasparov"], "no agent is called 'kasparov'"),
        (["trellis", "--seats", "human", "optimal"], "plays only treehouse"),
        (["treehouse", "--option", "dig_away"], "NAME=VALUE"),
        (["treehouse", "--option", "dig_away=maybe"], "must be True or False"),
        (["treehouse", "--option", "num_players=3", "--seats", "human", "greedy"], "3 seats here; 2 players were named"),
        (["treehouse", "--hint", "kasparov"], "no agent is called 'kasparov'"),
        (["treehouse", "--record", "/no/such/folder/x"], "cannot be written"),
        (["--web", "--seats", "human"], "belong to a game"),
        (["treehouse", "--web", "--record", "x"], "--record is for the terminal"),
    ],
    ids=lambda value: " ".join(value) or "nothing" if isinstance(value, list) else "",
)
def test_wrong_commands_are_refused_with_the_reason(run: Run, command: list[str], reason: str) -> None:
    assert reason in run(command, status=2)


def test_ctrl_c_stops_without_a_traceback(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupt(prompt: str) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("builtins.input", interrupt)
    assert main(["treehouse"]) == 130
    assert "stopped" in capsys.readouterr().err


# ---------------------------------------------------------------------------------------------------------------- replays


def test_a_replay_is_stepped_through(run: Run, recorded: str) -> None:
    course = nth(recorded, 1).replay()
    told = run(["replay", recorded], "", "b", "b", "end", "", "3", "999", "quit")
    assert f"Position 3 of {course.ply}" in told
    assert course.names()[0] in told
    assert "payoffs: player_0" in told
    assert "This is the start." in told
    assert "This is the end." in told
    assert "unused" in told, "everything is shown"
    assert "unused" not in run(["replay", recorded, "--seat", "0"], "", "")


def test_pictures_are_written(run: Run, recorded: str, tmp_path: Path) -> None:
    course = nth(recorded, 2).replay()
    told = run(["replay", recorded, "--game", "2", "--svg", str(tmp_path / "svg"), "--theme", "dark"])
    assert f"{course.ply + 1} pictures" in told
    written = sorted((tmp_path / "svg").iterdir())
    assert len(written) == course.ply + 1
    assert written[0].read_text(encoding="utf-8") == course.game.svg(course.rows[0], theme="dark")


@pytest.mark.parametrize("ending", ["gif", "mp4"])
def test_films_are_written(run: Run, tmp_path: Path, ending: str) -> None:
    ffmpeg = pytest.importorskip("imageio_ffmpeg", reason="the extra [play] is not installed")
    pytest.importorskip("pygame", reason="the extra [play] is not installed")
    course = played(pe.make_game("treehouse"), seed=1)
    append(tmp_path / "games.jsonl", course.record())
    film = tmp_path / f"film.{ending}"
    run(["replay", str(tmp_path / "games.jsonl"), "--film", str(film), "--size", "160", "--seconds", "0.2"])
    frames, seconds = ffmpeg.count_frames_and_secs(str(film))
    assert frames == (course.ply + 1) * (2 if ending == "mp4" else 1)
    assert seconds == pytest.approx(0.2 * (course.ply + 1), abs=0.1)
    gc.collect()  # nothing is left open


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (["--game", "9"], "has the games 1 to 2, not 9"),
        (["--seat", "7"], "the seats 0 to 1, not 7"),
        (["--film", "x.avi"], "ends in .gif or .mp4"),
        (["--seconds", "0"], "0.02 to 60 seconds"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_wrong_replays_are_refused_with_the_reason(run: Run, recorded: str, more: list[str], reason: str) -> None:
    assert reason in run(["replay", recorded, *more], status=2)


def test_a_game_of_other_rules_is_refused(run: Run, recorded: str) -> None:
    line = Path(recorded).read_text(encoding="utf-8").replace('"version": 0', '"version": 3')
    Path(recorded).write_text(line, encoding="utf-8")
    assert "version 3, and this is version 0" in run(["replay", recorded], status=2)
    assert len(list(read(recorded))) == 2
