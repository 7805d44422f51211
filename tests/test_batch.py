"""`Batch` plays what `Game` plays, in every game, for every number of seats, games and threads."""

from __future__ import annotations

import copy
import pickle
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import pyramid_envs as pe
from pyramid_envs import rng, threads
from tests.playing import act, assert_same, key, record

STEPS = 250
SHORT = 30  # the cap on actions that makes sure of many ends


@pytest.fixture(params=["as it is", "cut short"], scope="module")
def capped(request: pytest.FixtureRequest, game: pe.Game) -> pe.Game:
    """Every game, as it is and cut short."""
    if request.param == "as it is":
        return game
    return pe.make_game(game.name, num_players=game.num_players, max_plies=SHORT)


@pytest.fixture(scope="module")
def shown(capped: pe.Game) -> list[dict[str, np.ndarray]]:
    """Five games side by side, of the seeds 100 to 104."""
    return record(pe.Batch(capped, 5, seed=100), STEPS)


def by_hand(game: pe.Game, seed: int) -> Iterator[tuple[Any, int, int]]:
    """The row, episode and ply of one game and the next and the next, stepped through `Game`: yields them, takes an action."""
    episode, stream = 0, rng.seed_key(seed)
    while True:
        row, ply = game.initial(), 0
        game.drivers.settle_one(game.tables, row, stream, episode, ply)
        while game.to_move(row) != pe.TERMINAL and ply != game.max_plies:
            action = yield row, episode, ply
            game.apply(row, action)
            ply += 1
            game.drivers.settle_one(game.tables, row, stream, episode, ply)
        episode += 1


def snapshot(batch: pe.Batch) -> list[bytes]:
    names = ("observations", "masks", "seats", "rows", "final_rows", "episodes", "plies")
    return [getattr(batch, name).tobytes() for name in names]


# ------------------------------------------------------------------------------------------------- the same as one game


def test_the_play_that_is_compared_goes_through_ends(capped: pe.Game, shown: list[dict[str, np.ndarray]]) -> None:
    ends = sum(now["terminated"] | now["truncated"] for now in shown)
    assert ends.min() >= (STEPS // SHORT if capped.max_plies == SHORT else 0)


@pytest.mark.parametrize("i", [0, 1, 4])
def test_game_i_is_a_batch_of_one_seeded_i_more(capped: pe.Game, shown: list[dict[str, np.ndarray]], i: int) -> None:
    assert_same(record(pe.Batch(capped, 1, seed=100 + i), STEPS), shown, slice(i, i + 1))


def test_the_number_of_games_does_not_matter(capped: pe.Game, shown: list[dict[str, np.ndarray]]) -> None:
    assert_same(record(pe.Batch(capped, 3, seed=101), STEPS), shown, slice(1, 4))


@pytest.mark.parametrize("i", [0, 3])
def test_game_i_is_a_game_stepped_by_hand(capped: pe.Game, shown: list[dict[str, np.ndarray]], i: int) -> None:
    single = by_hand(capped, 100 + i)
    row, episode, ply = next(single)
    for now in shown:
        assert (episode, ply) == (now["episodes"][i], now["plies"][i])
        assert row.tobytes() == now["rows"][i : i + 1].tobytes()
        assert capped.to_move(row) == now["seats"][i]
        assert capped.legal_mask(row).tobytes() == now["masks"][i].tobytes()
        assert capped.observe(row, now["seats"][i]).tobytes() == now["observations"][i].tobytes()
        row, episode, ply = single.send(now["actions"][i])


def test_an_end_is_told_with_its_payoffs_and_its_last_position(capped: pe.Game) -> None:
    batch = pe.Batch(capped, 20, seed=3)
    agent = pe.make_agent("random", capped)
    ends = 0
    for _ in range(STEPS):
        last = batch.final_rows.copy()
        plies, episodes = batch.plies.copy(), batch.episodes.copy()
        step = batch.step(act(agent, batch))
        assert step.rewards.dtype == np.float32
        assert step.rewards.shape == (20, capped.num_players)
        assert not (step.terminated & step.truncated).any()
        for i in range(20):
            final = batch.final_rows[i : i + 1]
            if step.terminated[i]:
                assert capped.to_move(final) == pe.TERMINAL
                assert step.rewards[i].tolist() == capped.returns(final).astype(np.float32).tolist()
            else:
                assert not step.rewards[i].any()
            if step.truncated[i]:
                assert plies[i] + 1 == capped.max_plies
                assert capped.to_move(final) >= 0
            if step.terminated[i] or step.truncated[i]:
                ends += 1
                assert (batch.episodes[i], batch.plies[i]) == (episodes[i] + 1, 0)
            else:
                assert (batch.episodes[i], batch.plies[i]) == (episodes[i], plies[i] + 1)
                assert final.tobytes() == last[i : i + 1].tobytes()
    assert ends > 20 or capped.max_plies != SHORT


def test_what_is_shown_is_what_game_says_of_the_rows(game: pe.Game) -> None:
    batch = pe.Batch(game, 30, seed=8)
    agent = pe.make_agent("random", game)
    assert (batch.observations.dtype, batch.masks.dtype) == (np.int8, np.bool_)
    assert batch.observations.shape == (30, *game.observation_shape)
    assert batch.masks.shape == (30, game.num_actions)
    for _ in range(40):
        batch.step(act(agent, batch))
    for i in range(30):
        row = batch.rows[i : i + 1]
        assert batch.seats[i] == game.to_move(row) >= 0
        assert batch.masks[i].tobytes() == game.legal_mask(row).tobytes()
        assert batch.observations[i].tobytes() == game.observe(row, batch.seats[i]).tobytes()


def test_any_seat_can_look_at_any_game_now_or_at_its_last_end(game: pe.Game) -> None:
    short = pe.make_game(game.name, num_players=game.num_players, max_plies=5)
    batch = pe.Batch(short, 6, seed=8)
    agent = pe.make_agent("random", short)
    for _ in range(7):
        batch.step(act(agent, batch))
    games, seats = np.array([4, 0, 4]), np.array([0, 1, 1])
    now, final = batch.observe(seats, games), batch.observe(seats, games, final=True)
    for g in range(3):
        place = slice(games[g], games[g] + 1)
        assert now[g].tobytes() == short.observe(batch.rows[place], seats[g]).tobytes()
        assert final[g].tobytes() == short.observe(batch.final_rows[place], seats[g]).tobytes()
    assert batch.observe(batch.seats).tobytes() == batch.observations.tobytes()


# ------------------------------------------------------------------------------------------------------ parts of a batch


def test_stepping_some_games_at_a_time_plays_the_same(capped: pe.Game, shown: list[dict[str, np.ndarray]]) -> None:
    batch = pe.Batch(capped, 5, seed=100)
    for now in shown[:60]:
        for name in ("rows", "observations", "masks", "seats", "final_rows", "episodes", "plies"):
            assert getattr(batch, name).tobytes() == now[name].tobytes()
        for games in (np.array([3, 0]), np.array([1]), np.array([], np.int64), np.array([4, 2])):
            others = np.setdiff1d(np.arange(5), games)
            before = batch.rows[others].tobytes(), batch.observations[others].tobytes(), batch.masks[others].tobytes()
            step = batch.step(now["actions"][games], games)
            assert before == (batch.rows[others].tobytes(), batch.observations[others].tobytes(), batch.masks[others].tobytes())
            assert step.rewards.tobytes() == now["rewards"][games].tobytes()
            assert step.terminated.tobytes() == now["terminated"][games].tobytes()
            assert step.truncated.tobytes() == now["truncated"][games].tobytes()


def test_a_restarted_game_is_the_next_of_its_stream(game: pe.Game) -> None:
    batch, untouched = pe.Batch(game, 4, seed=5), pe.Batch(game, 4, seed=5)
    agent = pe.make_agent("random", game)
    for _ in range(4):
        actions = act(agent, batch)
        batch.step(actions), untouched.step(actions)
    batch.restart(np.array([2, 0]))
    for i in (0, 2):
        assert (batch.episodes[i], batch.plies[i]) == (untouched.episodes[i] + 1, 0)
        row = game.initial()
        game.drivers.settle_one(game.tables, row, rng.seed_key(5 + i), batch.episodes[i], 0)
        assert batch.rows[i : i + 1].tobytes() == row.tobytes()
        assert batch.masks[i].tobytes() == game.legal_mask(row).tobytes()
    for i in (1, 3):
        assert (batch.episodes[i], batch.plies[i]) == (untouched.episodes[i], untouched.plies[i])
        assert batch.rows[i : i + 1].tobytes() == untouched.rows[i : i + 1].tobytes()
        assert batch.observations[i].tobytes() == untouched.observations[i].tobytes()


def test_a_reset_batch_is_a_new_one(game: pe.Game) -> None:
    batch = pe.Batch(game, 4, seed=5)
    record(batch, 10)
    batch.reset(9)
    shown = record(batch, 10)
    for now in shown:
        del now["final_rows"]  # those of before remain
    assert_same(shown, record(pe.Batch(game, 4, seed=9), 10))


# ------------------------------------------------------------------------------------------------------------- errors


def wrong_steps(batch: pe.Batch) -> list[tuple[Any, str]]:
    """Actions that cannot be played, and what the error tells."""
    good = batch.masks.argmax(axis=1)
    illegal = int(batch.masks[2].argmin())
    return [
        (np.where(np.arange(4) == 2, illegal, good), f"action {illegal} is illegal in game 2"),
        (np.where(np.arange(4) == 1, -1, good), "action -1 is illegal in game 1"),
        (np.where(np.arange(4) == 3, batch.game.num_actions, good), f"action {batch.game.num_actions} is illegal in game 3"),
        (np.where(np.arange(4) == 0, 2**62, good), f"action {2**62} is illegal in game 0"),
        (np.where(np.arange(4) == 0, -(2**63), good), f"action {-(2**63)} is illegal in game 0"),
        (good.astype(float), "whole numbers"),
        (good.astype(bool), "whole numbers"),
        (good[:3], "must be 4 whole numbers"),
        (good[None], "must be 4 whole numbers"),
        (np.append(good, 0), "must be 4 whole numbers"),
        (0, "must be 4 whole numbers"),
        (None, "whole numbers"),
        ([None] * 4, "whole numbers"),
        (["0"] * 4, "whole numbers"),
    ]


def test_an_illegal_action_is_refused_with_its_game_and_nothing_has_changed(game: pe.Game) -> None:
    batch = pe.Batch(game, 4, seed=2)
    record(batch, 3)
    before = snapshot(batch)
    for actions, told in wrong_steps(batch):
        with pytest.raises(pe.IllegalActionError, match=told):
            batch.step(actions)
        assert snapshot(batch) == before
    with pytest.raises(pe.IllegalActionError, match="in game 3"):
        batch.step([batch.masks[1].argmax(), -1], np.array([1, 3]))
    assert snapshot(batch) == before
    batch.step(batch.masks.argmax(axis=1).tolist())  # a list of legal actions will do


def test_there_are_no_other_games_in_a_batch(game: pe.Game) -> None:
    batch = pe.Batch(game, 4, seed=2)
    before = snapshot(batch)
    for games in (np.array([4]), np.array([-1]), np.array([0, 10**9])):
        for ask in (
            lambda games: batch.step(np.zeros(len(games), np.int64), games),
            batch.restart,
            lambda games: batch.keys(rng.MOVE, games),
            lambda games: batch.observe(np.zeros(len(games), np.int64), games),
        ):
            with pytest.raises(IndexError, match="0 to 3"):
                ask(games)
    assert snapshot(batch) == before
    with pytest.raises(ValueError, match="at least 1 game"):
        pe.Batch(game, 0)


# ------------------------------------------------------------------------------------------------------- max_plies


def test_the_cap_truncates_and_the_rules_terminate(game: pe.Game) -> None:
    """Of a game that ends after `length` actions: with that cap it ends by the rules, with a smaller one it is cut short."""
    batch = pe.Batch(game, 64, seed=0)
    shown = record(batch, 400)
    ends = np.array([now["terminated"] for now in shown])
    lengths = np.where(ends.any(axis=0), ends.argmax(axis=0) + 1, 10**9)
    i = int(lengths.argmin())
    length = int(lengths[i])
    assert length < 10**9
    for cap, over, cut in ((length, True, False), (length - 1, False, True), (length + 1, True, False), (1, False, True)):
        single = pe.Batch(pe.make_game(game.name, num_players=game.num_players, max_plies=cap), 1, seed=i)
        for now in shown[: min(cap, length)]:
            step = single.step(now["actions"][i : i + 1])
            ended = step.terminated[0] or step.truncated[0]
            assert ended == (now is shown[min(cap, length) - 1])
        assert (step.terminated[0], step.truncated[0]) == (over, cut)
        assert step.rewards.any() == over
        assert single.plies[0] == 0


def test_without_a_cap_nothing_is_truncated(game: pe.Game) -> None:
    endless = pe.make_game(game.name, num_players=game.num_players, max_plies=None)
    batch = pe.Batch(endless, 8, seed=0)
    agent = pe.make_agent("random", endless)
    for _ in range(1500):
        assert not batch.step(act(agent, batch)).truncated.any()


# ------------------------------------------------------------------------------------------------- copies and threads


@pytest.mark.parametrize("how", [copy.deepcopy, lambda batch: pickle.loads(pickle.dumps(batch))], ids=["deepcopy", "pickle"])
def test_a_copy_goes_on_exactly_and_by_itself(capped: pe.Game, how: Any) -> None:
    batch = pe.Batch(capped, 4, seed=6)
    record(batch, 37)
    again = how(batch)
    before = snapshot(batch)
    assert snapshot(again) == before
    ahead = record(again, 50)
    assert snapshot(batch) == before
    assert_same(record(batch, 50), ahead)


@pytest.mark.parametrize("agent", ["random", "greedy"])
def test_several_threads_play_as_one(capped: pe.Game, request: pytest.FixtureRequest, agent: str) -> None:
    steps = 60 if agent == "random" else 10
    alone = record(pe.Batch(capped, 41, seed=6), steps, agent)
    parts = request.getfixturevalue("threaded")
    assert_same(record(pe.Batch(capped, 41, seed=6), steps, agent), alone)
    assert {3} == set(parts)


@pytest.mark.parametrize(("count", "cores"), [(1, 4), (7, 4), (8, 1), (15, 4), (16, 4), (41, 3), (100, 4), (0, 4)])
def test_work_is_split_into_parts_that_cover_everything_once(monkeypatch: pytest.MonkeyPatch, count: int, cores: int) -> None:
    monkeypatch.setattr(threads, "cores", lambda: cores)
    done: list[int] = []
    threads.split(lambda part: done.extend(range(part.start, part.stop)), count, 8)
    assert sorted(done) == list(range(count))


def test_an_error_in_a_thread_reaches_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "cores", lambda: 2)

    def run(part: slice) -> None:
        if part.start:
            raise KeyError("the second part")

    with pytest.raises(KeyError, match="the second part"):
        threads.split(run, 100, 8)


def test_calls_close_together_far_apart_and_from_several_threads_are_all_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads that look out for the next call, that have gone to sleep, or that somebody else uses."""
    monkeypatch.setattr(threads, "cores", lambda: 3)

    def many(pauses: Sequence[float]) -> None:
        for pause in pauses:
            done = np.zeros(30, np.int64)

            def run(part: slice, done: Any = done, pause: float = pause) -> None:
                if part.start == 20:
                    time.sleep(pause)
                done[part] += 1

            threads.split(run, 30, 8)
            assert (done == 1).all()
            time.sleep(pause)

    with ThreadPoolExecutor(3) as pool:
        callers = [pool.submit(many, ([0] * 100 + [0.0001] * 10 + [0.002] * 3) * 5) for _ in range(3)]
        for caller in callers:
            caller.result(timeout=60)


# ---------------------------------------------------------------------------------------------------- seeds and streams


@pytest.mark.parametrize(
    ("seed", "same"),
    [(-1, 2**64 - 1), (2**64 + 5, 5), (-(2**80) + 3, 3), (np.int64(7), 7), (np.int64(-7), -7), (np.uint64(2**63), 2**63)],
    ids=repr,
)
def test_any_whole_number_is_a_seed_by_its_lowest_64_bits(game: pe.Game, seed: int, same: int) -> None:
    assert_same(record(pe.Batch(game, 2, seed), 12), record(pe.Batch(game, 2, same), 12))


def test_seeds_run_on_past_the_largest_and_past_minus_one(game: pe.Game) -> None:
    assert_same(record(pe.Batch(game, 1, 0), 12), record(pe.Batch(game, 2, -1), 12), slice(1, 2))
    assert_same(record(pe.Batch(game, 1, 2**64 - 1), 12), record(pe.Batch(game, 2, -1), 12), slice(0, 1))


def test_every_game_can_be_given_its_own_seed(game: pe.Game) -> None:
    batch = pe.Batch(game, 3)
    batch.reset([9, 2, 9])
    shown = record(batch, 12)
    assert_same(record(pe.Batch(game, 1, 2), 12), shown, slice(1, 2))
    assert_same(record(pe.Batch(game, 1, 9), 12), shown, slice(2, 3))
    with pytest.raises(ValueError, match="each of the 3 games"):
        batch.reset([1, 2])


@pytest.mark.parametrize("wrong", [1.5, "12", [1.5, 2.5]])
def test_what_is_no_whole_number_is_no_seed(game: pe.Game, wrong: Any) -> None:
    with pytest.raises(TypeError):
        pe.Batch(game, 2, wrong)


def test_neighbouring_seeds_and_episodes_give_different_games(game: pe.Game) -> None:
    def story(seed: int, episode: int = 0) -> bytes:
        batch = pe.Batch(game, 1, seed)
        for _ in range(episode):
            batch.restart(np.array([0]))
        return b"".join(now["rows"].tobytes() for now in record(batch, 12))

    stories = [story(seed) for seed in range(8)] + [story(0, episode) for episode in range(1, 8)]
    assert len(set(stories)) == len(stories)


def test_without_a_seed_the_games_differ_each_time(game: pe.Game) -> None:
    def story() -> bytes:
        return b"".join(now["rows"].tobytes() for now in record(pe.Batch(game, 2, seed=None), 20))

    assert story() != story()


def test_nothing_draws_from_the_global_random_state(game: pe.Game) -> None:
    np.random.seed(1)
    first = record(pe.Batch(game, 2, seed=3), 12)
    np.random.seed(2)
    before = np.random.get_state()[1].tobytes()  # type: ignore[index, union-attr]
    assert_same(record(pe.Batch(game, 2, seed=3), 12), first)
    assert np.random.get_state()[1].tobytes() == before  # type: ignore[index, union-attr]


def test_keys_are_splitmix64() -> None:
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821]
    assert [int(rng.fold(np.uint64(1234567), n)) for n in range(5)] == expected


def test_the_keys_of_a_batch_are_those_of_the_streams(game: pe.Game) -> None:
    batch = pe.Batch(game, 3, seed=-2)
    record(batch, 5)
    batch.restart(np.array([1]))
    for purpose in (rng.CHANCE, rng.SEAT, rng.OPPONENT, rng.MOVE):
        whole, by_ply = batch.keys(purpose, by_ply=False), batch.keys(purpose)
        for i in range(3):
            assert whole[i] == key(-2 + i, batch.episodes[i], purpose)
            assert by_ply[i] == key(-2 + i, batch.episodes[i], purpose, batch.plies[i])
        assert batch.keys(purpose, np.array([2, 0])).tolist() == by_ply[[2, 0]].tolist()


def test_keys_never_meet_and_neighbours_have_nothing_in_common(game: pe.Game) -> None:
    batch = pe.Batch(game, 500, seed=0)
    keys = []
    for _ in range(3):
        for purpose in (rng.CHANCE, rng.SEAT, rng.OPPONENT, rng.MOVE):
            keys.append(batch.keys(purpose))
        record(batch, 1)
    drawn = np.stack(keys)
    assert len(np.unique(drawn)) == drawn.size
    changed = drawn[:, 1:] ^ drawn[:, :-1]  # between seeds s and s + 1
    differing = np.unpackbits(changed[..., None].view(np.uint8), axis=-1).sum(-1)
    assert 31.5 < differing.mean() < 32.5
    assert differing.min() > 5
    floats = np.array([rng.uniform(key) for key in drawn[-1]])
    assert 0 <= floats.min() < 0.05
    assert 0.95 < floats.max() < 1
    assert abs(np.corrcoef(floats[1:], floats[:-1])[0, 1]) < 0.15


def test_chance_in_neighbouring_games_is_independent() -> None:
    """The first die of Treehouse, in games s and s + 1: all 25 pairs of its five faces are equally frequent."""
    batch = pe.Batch(pe.make_game("treehouse"), 10_001, seed=0)
    faces = np.unique(batch.rows["roll"], return_inverse=True)[1]
    pairs = np.bincount(faces[1:] * 5 + faces[:-1], minlength=25)
    assert ((pairs - 400) ** 2 / 400).sum() < 60  # chi-square with 24 degrees of freedom
