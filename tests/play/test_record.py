"""Games on paper: they are replayed exactly, or refused with the reason."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import pyramid_envs as pe
from pyramid_envs.envs.aec import GameEnv, IllegalActionLoses
from pyramid_envs.evaluation import play_match
from pyramid_envs.play.record import Course, Record, append, nth, open_to_append, read
from pyramid_envs.play.recorder import RecordedBatch, Recorder, SeatRecorder
from tests.play.courses import played
from tests.playing import act
from tests.scripts import record as scripted


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "games.jsonl"


@pytest.fixture(scope="module")
def record() -> Record:
    return played(pe.make_game("treehouse"), seed=1).record(["greedy", "greedy"])


# ---------------------------------------------------------------------------------------------------------------- replays


def test_a_course_is_the_game_of_a_batch(game: pe.Game) -> None:
    for script in scripted(game, seed=5, episodes=2, agent="greedy"):
        course = Course(game, script.seed, script.episode)
        for row, action in zip(script.rows, script.actions, strict=True):
            assert not course.over
            assert course.row.tobytes() == row
            course.play(action)
        assert course.over
        assert course.truncated == script.truncated
        assert course.payoffs.tolist() == pytest.approx(script.payoffs.tolist())
        assert course.rows[0].tobytes() == script.rows[0], "a later action changed an earlier position"


def test_a_record_is_replayed_exactly(game: pe.Game) -> None:
    course = played(game, seed=3)
    again = Record.from_line(course.record().to_line()).replay()
    assert again.game == game
    assert again.actions == course.actions
    assert [row.tobytes() for row in again.rows] == [row.tobytes() for row in course.rows]


def test_a_game_that_was_cut_short_or_left_is_replayed_too(game: pe.Game) -> None:
    cut = played(pe.make_game(game.name, num_players=game.num_players, max_plies=2))
    assert cut.truncated
    assert cut.record().replay().truncated
    left = played(game, plies=2)
    assert left.record().payoffs is None
    assert left.record().replay().row.tobytes() == left.row.tobytes()


def test_a_game_that_is_over_takes_no_more_actions() -> None:
    course = played(pe.make_game("treehouse"))
    with pytest.raises(pe.IllegalActionError, match="over"):
        course.play(0)


# ---------------------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"version": 7}, "treehouse version 7, and this is version 0"),
        ({"game": "chess"}, "no game is called 'chess'"),
        ({"options": {"num_players": 9}}, "option num_players"),
        ({"options": {"colour": 1}}, "no option 'colour'"),
        ({"seed": 2}, "beyond .* actions|payoffs"),
        ({"episode": 1}, "beyond .* actions|payoffs"),
        ({"actions": ("own HOP X gap 1",)}, "beyond 0 actions: treehouse has no action called 'own HOP X gap 1'"),
        ({"payoffs": (0.0, 0.0)}, r"payoffs were \[0.0, 0.0\], but its actions lead to"),
        ({"payoffs": None}, "no payoffs, but its actions end the game"),
        ({"truncated": True}, "truncated: True"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_what_does_not_come_out_as_written_is_refused_with_the_reason(
    record: Record, change: dict[str, Any], reason: str
) -> None:
    with pytest.raises(pe.RecordError, match=reason):
        dataclasses.replace(record, **change).replay()


def test_more_or_fewer_actions_than_the_game_had_are_refused(record: Record) -> None:
    with pytest.raises(pe.RecordError, match="the game was over"):
        dataclasses.replace(record, actions=(*record.actions, "pass")).replay()
    with pytest.raises(pe.RecordError, match="do not end the game"):
        dataclasses.replace(record, actions=record.actions[:-1]).replay()


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda line: line[: len(line) // 2], "damaged or cut off"),
        (lambda line: "[1, 2]", "no recorded game"),
        (lambda line: "", "damaged or cut off"),
        (lambda line: line.replace('"format": 1', '"format": 9'), "another format"),
        (lambda line: line.replace('"seed"', '"sed"'), "lacks the entry 'seed'"),
        (lambda line: re.sub(r'"seed": \d+', '"seed": "x"', line), "the entry 'seed' of 'x'"),
        (lambda line: line.replace('"seed"', '"more": 1, "seed"'), "unknown entries: more"),
        (lambda line: line.replace('"actions": [', '"actions": [3, '), "the entry 'actions'"),
    ],
    ids=["cut", "list", "empty", "format", "missing", "type", "unknown", "actions"],
)
def test_a_damaged_line_is_named(record: Record, file: Path, damage: Callable[[str], str], reason: str) -> None:
    line = record.to_line()
    file.write_text(f"{line}\n{damage(line)}\n{line}\n", encoding="utf-8")
    games = read(file)
    assert next(games) == record
    with pytest.raises(pe.RecordError, match=f"line 2, .*{reason}"):
        next(games)
    assert nth(file, 1) == record


def test_a_file_that_is_missing_empty_or_no_text_is_told(tmp_path: Path) -> None:
    with pytest.raises(pe.RecordError, match="cannot be read"):
        nth(tmp_path / "nothing", 1)
    (tmp_path / "empty").touch()
    with pytest.raises(pe.RecordError, match="holds no games"):
        nth(tmp_path / "empty", 1)
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(pe.RecordError, match="no text"):
        nth(tmp_path / "binary", 1)


def test_a_game_that_is_not_in_the_file_is_told(record: Record, file: Path) -> None:
    append(file, record)
    with pytest.raises(pe.RecordError, match="the games 1 to 1, not 4"):
        nth(file, 4)


def test_nothing_is_added_behind_half_a_line(record: Record, file: Path) -> None:
    append(file, record)
    open_to_append(file)
    file.write_text(file.read_text()[:-20])
    with pytest.raises(pe.RecordError, match="cut off"):
        open_to_append(file)
    with pytest.raises(pe.RecordError, match="cannot be written"):
        open_to_append(file.parent)


# --------------------------------------------------------------------------------------------------------------- recorders


def test_the_games_of_pettingzoo_are_recorded(game: pe.Game, file: Path) -> None:
    env = Recorder(pe.aec_env(game.name, num_players=game.num_players), file, agents=game.agents)
    scripts = scripted(game, seed=4, episodes=2, agent="greedy")
    for script in scripts:
        env.reset(seed=4) if script.episode == 0 else env.reset()
        for agent in env.agent_iter():
            at = len(env.unwrapped.game.legal_actions(env.unwrapped.row))
            over = env.terminations[agent] or env.truncations[agent]
            env.step(None if over or not at else script.actions[env.unwrapped._ply])
    records = list(read(file))
    assert [record.replay().actions for record in records] == [script.actions for script in scripts]
    assert [record.truncated for record in records] == [script.truncated for script in scripts]
    assert all(record.agents == game.agents for record in records)


def test_a_game_that_an_illegal_action_ended_or_that_was_left_is_not_recorded(file: Path) -> None:
    game = pe.make_game("treehouse")
    env = Recorder(IllegalActionLoses(GameEnv(game)), file)
    env.reset(seed=1)
    env.step(int(np.flatnonzero(~game.legal_mask(env.unwrapped.row))[0]))
    assert all(env.terminations.values())
    env.reset()
    env.step(int(game.legal_actions(env.unwrapped.row)[0]))
    env.reset()
    assert file.read_text() == ""


def test_the_games_of_gymnasium_are_recorded_with_the_opponents_actions(game: pe.Game, file: Path) -> None:
    name = f"pyramid_envs/{game.card.env_id}-v{game.version}"
    options = {"num_players": game.num_players, "max_plies": 24}
    env = SeatRecorder(gymnasium.make(name, opponents="greedy", **options), file)
    env.reset(seed=8)
    rewards = []
    for _ in range(2):
        over = False
        while not over:
            action = int(np.flatnonzero(env.get_wrapper_attr("action_masks")())[0])
            _, reward, terminated, truncated, info = env.step(action)
            over = terminated or truncated
        rewards.append((info["seat"], float(reward)))
        env.reset()
    records = [record for record in read(file) if "learner" in (record.agents or ())]
    for record, (seat, reward) in zip(records, rewards, strict=False):
        assert record.replay().over
        if record.agents is not None and record.agents.index("learner") == seat:
            assert record.payoffs is not None
            assert record.payoffs[seat] == pytest.approx(reward)
    assert len(records) >= 2


def test_another_environment_is_not_recorded(file: Path) -> None:
    class Other(gymnasium.Env[Any, Any]):
        observation_space = action_space = gymnasium.spaces.Discrete(2)

    with pytest.raises(pe.RecordError, match="only games of pyramid_envs"):
        SeatRecorder(Other(), file)


def test_a_recorded_batch_plays_as_any_other_and_leaves_out_what_it_did_not_see_begin(game: pe.Game, file: Path) -> None:
    plain, inner = pe.Batch(game, 3, seed=2), pe.Batch(game, 3, seed=2)
    greedy = pe.make_agent("greedy", game)
    for batch in (plain, inner):
        batch.step(act(greedy, batch))
    recorded = RecordedBatch(inner, file)
    for duplicate in (copy.deepcopy, lambda batch: pickle.loads(pickle.dumps(batch))):
        recorded = duplicate(recorded)
        for _ in range(40):
            plain.step(act(greedy, plain))
            recorded.step(act(greedy, recorded))
    assert recorded.rows.tobytes() == plain.rows.tobytes()
    assert recorded.episodes.tolist() == plain.episodes.tolist()
    if file.read_text():
        records = list(read(file))
        assert all(record.episode > 0 and record.replay().over for record in records)
    assert file.read_text().count("\n") == sum(max(0, episode - 1) for episode in recorded.episodes.tolist())


def test_the_games_of_a_match_are_recorded(game: pe.Game, file: Path) -> None:
    greedy, random = pe.make_agent("greedy", game), pe.make_agent("random", game)
    told = play_match(game, greedy, random, game.num_players, seed=6, record=file)
    assert told == play_match(game, greedy, random, game.num_players, seed=6)
    records = list(read(file))
    assert len(records) == told.games
    for record in records:
        assert record.replay().over
        assert record.agents is not None
        assert sorted(record.agents) == ["greedy", *["random"] * (game.num_players - 1)]
        assert record.seed == 6
        assert record.payoffs is not None
    wins = [record.payoffs[record.agents.index("greedy")] > 0 for record in records if record.payoffs and record.agents]
    assert np.mean(wins) == pytest.approx(told.win_rate.value)


def test_an_interrupted_match_leaves_whole_games(file: Path) -> None:
    game = pe.make_game("treehouse")

    class Impatient:
        name = "impatient"
        left = 40
        inner = pe.make_agent("greedy", game)

        def act(self, *asked: Any) -> np.ndarray:
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
            return self.inner.act(*asked)

    with pytest.raises(KeyboardInterrupt):
        play_match(game, Impatient(), pe.make_agent("random", game), 200, record=file)
    records = list(read(file))
    assert records
    for record in records[:5]:
        record.replay()


def test_a_record_is_json_for_everybody(record: Record) -> None:
    entries = json.loads(record.to_line())
    assert entries["game"] == "treehouse"
    assert entries["options"] == {"num_players": 2, "max_plies": 1000, "dig_away": False}
    assert all(isinstance(name, str) for name in entries["actions"])


def test_the_evaluation_records_its_games(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch", reason="the extra [train] is not installed")
    from training.evaluate import SettingsError, main

    command = ["greedy", "--game", "treehouse", "--games", "4", "--opponents", "random", "--record", str(file)]
    assert main(command) == 0
    assert [record.replay().over for record in read(file)] == [True] * 4
    with pytest.raises(SettingsError, match="plays no games"):
        main([*command, "--exact"])


# ------------------------------------------------------------------------------------------------------- damaged by hand


def damaged(line: str, **entries: Any) -> str:
    return json.dumps({**json.loads(line), **entries})


@pytest.mark.parametrize(
    ("entries", "reason"),
    [
        ({"agents": ["x"]}, "names 1 agents, and the game has 2 seats"),
        ({"agents": ["\u001b[31mred", "y"]}, "characters in its texts that cannot be shown"),
        ({"episode": 10**30}, "which no game can have"),
        ({"episode": -1}, "which no game can have"),
    ],
)
def test_entries_that_no_game_can_have_are_refused_with_the_reason(entries: dict[str, Any], reason: str) -> None:
    line = Course(pe.make_game("treehouse"), 0).record(["a", "b"]).to_line()
    with pytest.raises(pe.RecordError, match=reason):
        Record.from_line(damaged(line, **entries)).replay()


def test_a_damaged_line_does_not_hide_the_others(tmp_path: Path) -> None:
    whole = Course(pe.make_game("treehouse"), 0).record().to_line()
    file = tmp_path / "games.jsonl"
    file.write_text(f"{whole}\n{whole[:50]}\n[[[[\n{whole}\n", encoding="utf-8")
    assert nth(file, 4).game == "treehouse"
    with pytest.raises(pe.RecordError, match="line 2, is damaged or cut off"):
        nth(file, 2)
    with pytest.raises(pe.RecordError, match="damaged or cut off"):
        Record.from_line("[" * 100_000)
