"""The contract of the environments with one learner: Gymnasium single and vector, stable-baselines3."""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

import pyramid_envs as pe
from pyramid_envs import rng
from pyramid_envs.envs.sb3 import SB3VecEnv
from pyramid_envs.envs.single import SeatEnv
from pyramid_envs.envs.vector import SeatVectorEnv
from tests.scripts import Scripted, decided, record

N = 7


def short(game: pe.Game, plies: int = 60) -> pe.Game:
    """The game cut short, so that many games pass in a test."""
    return pe.make_game(game.name, **{**game.options, "max_plies": plies})


def choose(masks: np.ndarray, key: int) -> np.ndarray:
    """A legal action for each mask, the same for the same mask and key; where there is none: 0."""
    picks = [np.flatnonzero(mask) for mask in np.atleast_2d(masks)]
    return np.array([legal[(key * 7919 + len(legal) // 2) % len(legal)] if len(legal) else 0 for legal in picks])


def env_id(game: pe.Game) -> str:
    return f"pyramid_envs/{game.card.env_id}-v{game.version}"


# ------------------------------------------------------------------------------------------------------------ checkers


def test_gymnasium_approves(game: pe.Game) -> None:
    env = gymnasium.make(env_id(game), num_players=game.num_players)
    assert env.unwrapped.game == game
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(SeatEnv(game), skip_render_check=True)


def test_stable_baselines3_approves(game: pe.Game) -> None:
    from stable_baselines3.common.env_checker import check_env as check_sb3

    with warnings.catch_warnings():
        # A 3-D int8 Box is taken for an image, which is warned of in several ways.
        for guess in (
            "It seems that your observation .* is an image",
            "Treating image space as",
            "The minimal resolution for an image",
        ):
            warnings.filterwarnings("ignore", guess)
        check_sb3(SeatEnv(game))


@pytest.mark.parametrize("kind", ["native", "plain"])
def test_maskable_ppo_learns_on_both_kinds_of_environment(game: pe.Game, kind: str) -> None:
    from sb3_contrib import MaskablePPO
    from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported

    env: Any = SB3VecEnv(game, 4, seed=0) if kind == "native" else SeatEnv(game)
    assert is_masking_supported(env)
    model = MaskablePPO("MlpPolicy", env, n_steps=16, batch_size=16, n_epochs=1, device="cpu", policy_kwargs={"net_arch": [8]})
    model.learn(64)
    model.env.reset()
    masks = get_action_masks(model.env)
    assert masks.dtype == np.bool_
    assert masks.any(axis=-1).all()


# ---------------------------------------------------------------------------------------------------- observations, infos


def test_the_observation_is_the_plain_box_and_the_mask_stands_in_info(game: pe.Game) -> None:
    env = SeatEnv(game, seat=1)
    observation, info = env.reset(seed=0)
    for ply in range(20):
        assert observation in env.observation_space
        assert info["action_mask"].dtype == np.int8
        assert env.action_masks().dtype == np.bool_
        assert np.array_equal(info["action_mask"], env.action_masks())
        assert info["action_mask"].any()
        assert info["seat"] == 1
        observation, _, terminated, truncated, info = env.step(int(choose(info["action_mask"], ply)[0]))
        if terminated or truncated:
            assert not info["action_mask"].any()
            assert observation.any()
            with pytest.raises(gymnasium.error.ResetNeeded):
                env.step(0)
            observation, info = env.reset()


def test_wrappers_pass_the_masks_on(game: pe.Game) -> None:
    env = gymnasium.make(env_id(game), num_players=game.num_players)
    env.reset(seed=0)
    assert env.get_wrapper_attr("action_masks")().any()


def test_what_is_handed_out_is_never_written_again(game: pe.Game) -> None:
    game = short(game)
    single, vector, sb3 = SeatEnv(game), SeatVectorEnv(game, N), SB3VecEnv(game, N, seed=0)
    kept: list[np.ndarray] = [single.reset(seed=0)[0], vector.reset(seed=0)[0], sb3.reset()]
    copies = [array.copy() for array in kept]
    for ply in range(60):
        observation, _, terminated, truncated, info = single.step(int(choose(single.action_masks(), ply)[0]))
        if terminated or truncated:
            single.reset()
        found = [observation, info["action_mask"]]
        observation, rewards, terminated, truncated, info = vector.step(choose(vector.action_masks(), ply))
        found += [observation, rewards, terminated, truncated, info["action_mask"], info["seat"]]
        if "final_obs" in info:
            found += [final for final in info["final_obs"] if final is not None]
        observation, rewards, ended, infos = sb3.step(choose(sb3.action_masks(), ply))
        found += [observation, rewards, ended, *(i["action_mask"] for i in infos)]
        found += [i["terminal_observation"] for i in infos if "terminal_observation" in i]
        kept += found
        copies += [array.copy() for array in found]
    assert all(np.array_equal(one, other) for one, other in zip(kept, copies, strict=True))


# -------------------------------------------------------------------------------------------- the same games everywhere


def test_single_vector_and_sb3_play_the_same_games(game: pe.Game) -> None:
    game = short(game)
    opponents = ["random", "greedy"]
    singles = [SeatEnv(game, opponents) for _ in range(N)]
    vector, sb3 = SeatVectorEnv(game, N, opponents), SB3VecEnv(game, N, opponents, seed=11)
    seen = [env.reset(seed=11 + i) for i, env in enumerate(singles)]
    observations, info = vector.reset(seed=11)
    assert np.array_equal(sb3.reset(), observations)
    endings = 0
    for ply in range(90):
        masks = vector.action_masks()
        assert np.array_equal(observations, [one[0] for one in seen])
        assert np.array_equal(info["action_mask"], [one[1]["action_mask"] for one in seen])
        assert np.array_equal(info["seat"], [one[1]["seat"] for one in seen])
        assert np.array_equal(masks, sb3.action_masks())
        actions = choose(masks, ply)
        observations, rewards, terminated, truncated, info = vector.step(actions)
        sb3_observations, sb3_rewards, ended, infos = sb3.step(actions)
        assert np.array_equal(sb3_observations, observations)
        assert np.array_equal(sb3_rewards, rewards)
        assert np.array_equal(ended, terminated | truncated)
        for i, env in enumerate(singles):
            observation, reward, over, cut, one = env.step(int(actions[i]))
            assert (reward, over, cut) == (rewards[i], terminated[i], truncated[i])
            if over or cut:
                endings += 1
                assert np.array_equal(info["final_obs"][i], observation)
                assert np.array_equal(infos[i]["terminal_observation"], observation)
                assert infos[i]["TimeLimit.truncated"] == (cut and not over)
                assert info["final_info"]["seat"][i] == one["seat"]
                observation, one = env.reset()
                assert info["games_skipped"][i] == one["games_skipped"] == infos[i]["games_skipped"]
            seen[i] = (observation, one)
    assert endings > N


def test_the_native_vector_tells_the_same_as_gymnasiums_own(game: pe.Game) -> None:
    game = short(game)
    native = gymnasium.make_vec(env_id(game), num_envs=N, **game.options)
    assert native.metadata["autoreset_mode"] == AutoresetMode.SAME_STEP
    loop = SyncVectorEnv([lambda: SeatEnv(game)] * N, autoreset_mode=AutoresetMode.SAME_STEP)
    outputs = [list(env.reset(seed=3)) for env in (native, loop)]
    for ply in range(90):
        assert_same(outputs[0], outputs[1])
        actions = choose(native.unwrapped.action_masks(), ply)
        if ply % 17 == 16:
            actions[ply % N] = game.num_actions - 1 - actions[ply % N]  # now and then an illegal one
        outputs = [list(env.step(actions)) for env in (native, loop)]


def assert_same(one: Any, other: Any) -> None:
    if isinstance(one, dict):
        assert set(one) == set(other)
        for key in one:
            assert_same(one[key], other[key])
    elif isinstance(one, (list, tuple)) or (isinstance(one, np.ndarray) and one.dtype == object):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            assert_same(a, b)
    else:
        assert np.array_equal(one, other), (one, other)


def test_the_number_of_games_side_by_side_does_not_matter(game: pe.Game) -> None:
    game = short(game)
    many, few = SeatVectorEnv(game, N), SeatVectorEnv(game, 3)
    a, b = many.reset(seed=0)[0], few.reset(seed=0)[0]
    for ply in range(60):
        assert np.array_equal(a[:3], b)
        a, b = many.step(choose(many.action_masks(), ply))[0], few.step(choose(few.action_masks(), ply))[0]


def test_one_seed_for_each_game(game: pe.Game) -> None:
    one, other = SeatVectorEnv(game, 3), SeatVectorEnv(game, 3)
    assert np.array_equal(one.reset(seed=[5, 6, 7])[0], other.reset(seed=5)[0])
    with pytest.raises(ValueError, match="3 games"):
        one.reset(seed=[1, 2])


# ---------------------------------------------------------------------------------------------------- wins, losses, ends


def test_a_scripted_game_pays_every_seat_through_every_interface(game: pe.Game) -> None:
    script = decided(game)
    for seat in range(game.num_players):
        opponents = Scripted([script])
        single, vector = SeatEnv(game, opponents, seat=seat), SeatVectorEnv(game, 1, opponents, seat=seat)
        sb3 = SB3VecEnv(game, 1, opponents, seat=seat, seed=script.seed)
        single.reset(seed=script.seed)
        vector.reset(seed=script.seed)
        sb3.reset()
        own = [action for action, mover in zip(script.actions, script.seats, strict=True) if mover == seat]
        assert own, "this seat never moves in the script"
        # The next game of the stream is not in the script: let anything be answered there.
        opponents.moves = Anything(opponents.moves, game, script)
        for last, action in zip([False] * (len(own) - 1) + [True], own, strict=True):
            results = [single.step(action)[1:3], [x[0] for x in vector.step(np.array([action]))[1:3]]]
            rewards, ended = sb3.step(np.array([action]))[1:3]
            results.append((rewards[0], ended[0]))
            for reward, over in results:
                assert bool(over) is last
                assert reward == pytest.approx(script.payoffs[seat] if last else 0.0)


class Anything(dict):  # type: ignore[type-arg]
    """Moves by row, and the first legal one for rows that no script knows."""

    def __init__(self, moves: dict[bytes, int], game: pe.Game, script: Any) -> None:
        super().__init__(moves)
        self.game = game

    def __missing__(self, row: bytes) -> int:
        return int(self.game.legal_actions(np.frombuffer(bytearray(row), self.game.row_dtype))[0])


def test_an_illegal_action_ends_the_learners_game(game: pe.Game) -> None:
    single, vector, sb3 = SeatEnv(game), SeatVectorEnv(game, 2), SB3VecEnv(game, 2, seed=0)
    before, info = single.reset(seed=0)
    vector.reset(seed=0)
    sb3.reset()
    illegal = int(info["action_mask"].argmin())
    observation, reward, terminated, truncated, info = single.step(illegal)
    assert (reward, terminated, truncated, info["illegal_action"]) == (-1.0, True, False, True)
    assert np.array_equal(observation, before)
    actions = np.array([illegal, vector.action_masks()[1].argmax()])
    _, rewards, terminated, _, info = vector.step(actions)
    assert rewards[0] == -1.0
    assert terminated[0]
    assert info["final_info"]["illegal_action"].tolist() == [True, False]
    assert np.array_equal(info["final_obs"][0], before)
    _, rewards, ended, infos = sb3.step(actions)
    assert rewards[0] == -1.0
    assert ended[0]
    assert infos[0]["illegal_action"] is True
    assert "illegal_action" not in infos[1]
    for outside in (-1, game.num_actions, 10**9):
        single.reset()
        assert single.step(outside)[1:3] == (-1.0, True)
    # The next game goes on as if nothing had been.
    observation, info = single.reset()
    assert info["action_mask"].any()


def test_truncation_is_told_apart_from_the_end(game: pe.Game) -> None:
    cut = short(game, 3)
    sb3 = SB3VecEnv(cut, 16, seed=0)
    sb3.reset()
    found = 0
    for ply in range(6):
        rewards, ended, infos = sb3.step(choose(sb3.action_masks(), ply))[1:]
        for i in np.flatnonzero(ended):
            if infos[i]["TimeLimit.truncated"]:
                found += 1
                assert rewards[i] == 0
                assert infos[i]["terminal_observation"].any()
    assert found


def test_games_that_end_before_the_learner_decides_are_dealt_again_and_counted(game: pe.Game) -> None:
    # Cut at one ply, every game ends before any seat but that of the first decision can move.
    first = int(pe.Batch(game, 1).seats[0])
    seat = (first + 1) % game.num_players
    once = pe.make_game(game.name, **{**game.options, "max_plies": 1})

    class Sometimes(SeatEnv):
        """Every third game of the stream is cut at one ply."""

    env = Sometimes(game, seat=seat)
    batch = env._games.batch
    batch.game = once
    step = batch.step

    def stepping(actions: Any, games: Any = None) -> Any:
        batch.game = once if batch.episodes[0] % 3 else game
        return step(actions, games)

    batch.step = stepping  # type: ignore[method-assign]
    _, info = env.reset(seed=0)
    assert info["games_skipped"] == 0
    for _ in range(4):
        before = int(batch.episodes[0])
        _, info = env.reset()
        assert info["games_skipped"] == 2
        assert batch.episodes[0] == before + 3


def test_the_learners_seat_is_drawn_evenly_or_fixed(game: pe.Game) -> None:
    drawn = SeatVectorEnv(game, 600)
    seats = drawn.reset(seed=0)[1]["seat"]
    counts = np.bincount(seats, minlength=game.num_players)
    assert (abs(counts - 600 / game.num_players) < 5 * np.sqrt(600)).all()
    for seat in range(game.num_players):
        assert (SeatVectorEnv(game, 5, seat=seat).reset(seed=0)[1]["seat"] == seat).all()
    with pytest.raises(pe.AgentError, match="seat"):
        SeatEnv(game, seat=game.num_players)


# ------------------------------------------------------------------------------------------------------------ opponents


class Recorder:
    """Plays the first legal action and remembers how it was asked."""

    name = "recorder"

    def __init__(self) -> None:
        self.calls: list[int] = []

    def act(self, rows: Any, observations: Any, masks: Any, seats: Any, seeds: Any) -> np.ndarray:
        self.calls.append(len(rows))
        assert len(rows) == len(observations) == len(masks) == len(seats) == len(seeds)
        assert masks.any(axis=1).all()
        assert len(np.unique(seeds)) == len(seeds)
        return masks.argmax(axis=1)


def test_opponents_answer_all_games_in_one_call(game: pe.Game) -> None:
    recorder = Recorder()
    env = SeatVectorEnv(game, 64, recorder, seat=int(pe.Batch(game, 1).seats[0]))
    env.reset(seed=0)
    recorder.calls.clear()
    asked = 0
    for ply in range(8):
        env.step(choose(env.action_masks(), ply))
        asked += 64
    assert max(recorder.calls) > 32
    assert len(recorder.calls) < asked


def test_one_of_several_opponents_is_drawn_for_each_game(game: pe.Game) -> None:
    first, second = Recorder(), Recorder()
    env = SeatVectorEnv(game, 64, [first, second])
    env.reset(seed=0)
    for ply in range(6):
        env.step(choose(env.action_masks(), ply))
    assert first.calls
    assert second.calls
    assert len(set(env._games._opponent.tolist())) == 2
    env.set_opponents("random")
    env.step(choose(env.action_masks(), 0))


@pytest.mark.parametrize(("opponents", "fault"), [("nobody", "nobody"), ([], "empty"), (["random", 3], "3"), ([None], "None")])
def test_wrong_opponents_are_named(game: pe.Game, opponents: Any, fault: str) -> None:
    with pytest.raises(pe.AgentError, match=fault):
        SeatEnv(game, opponents)


def test_an_opponent_that_cheats_is_found_out(game: pe.Game) -> None:
    class Cheat(Recorder):
        def act(self, rows: Any, observations: Any, masks: Any, seats: Any, seeds: Any) -> np.ndarray:
            return masks.argmin(axis=1)

    env = SeatEnv(game, Cheat(), seat=int(pe.Batch(game, 1).seats[0]))

    def play_until_an_opponent_has_to_move() -> None:
        _, info = env.reset(seed=0)
        for ply in range(50):
            info = env.step(int(choose(info["action_mask"], ply)[0]))[-1]

    with pytest.raises(pe.IllegalActionError, match="opponent"):
        play_until_an_opponent_has_to_move()


def test_opponents_draw_from_streams_of_their_own(game: pe.Game) -> None:
    """What the learner is dealt does not depend on how many opponents there are to draw from."""
    one, two = SeatVectorEnv(game, 32, ["random"]), SeatVectorEnv(game, 32, ["random", "random"])
    assert np.array_equal(one.reset(seed=0)[0], two.reset(seed=0)[0])
    batch = pe.Batch(game, 32)
    keys = {purpose: batch.keys(purpose).tolist() for purpose in (rng.CHANCE, rng.SEAT, rng.OPPONENT, rng.MOVE)}
    assert len({key for stream in keys.values() for key in stream}) == 4 * 32


# ------------------------------------------------------------------------------------------------------- copies, workers


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_copies_continue_exactly(game: pe.Game, duplicate: Any) -> None:
    game = short(game)
    for env in (SeatEnv(game), SeatVectorEnv(game, N)):
        env.reset(seed=2)
        for ply in range(9):
            chosen = choose(env.action_masks(), ply)
            result = env.step(int(chosen[0]) if isinstance(env, SeatEnv) else chosen)
            if isinstance(env, SeatEnv) and (result[2] or result[3]):
                env.reset()
        twin = duplicate(env)
        for ply in range(40):
            chosen = choose(env.action_masks(), ply)
            action = int(chosen[0]) if isinstance(env, SeatEnv) else chosen
            one, other = env.step(action), twin.step(action)
            assert_same(list(one), list(other))
            if isinstance(env, SeatEnv) and (one[2] or one[3]):
                assert_same(list(env.reset()), list(twin.reset()))


def make_worker() -> gymnasium.Env[Any, Any]:
    return SeatEnv("treehouse")


def test_spawned_workers_play_the_same_games() -> None:
    workers = AsyncVectorEnv([make_worker] * 2, context="spawn", autoreset_mode=AutoresetMode.SAME_STEP)
    try:
        here = SeatVectorEnv("treehouse", 2)
        a, b = workers.reset(seed=0), here.reset(seed=0)
        for ply in range(5):
            assert np.array_equal(a[0], b[0])
            actions = choose(here.action_masks(), ply)
            a, b = workers.step(actions), here.step(actions)
    finally:
        workers.close()


def test_closing_twice_and_rendering(game: pe.Game, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    single, vector = SeatEnv(game, render_mode="ansi"), SeatVectorEnv(game, 2, render_mode="ansi")
    sb3 = SB3VecEnv(game, 2, seed=0, render_mode="ansi")
    single.reset(seed=0)
    vector.reset(seed=0)
    sb3.reset()
    texts = [single.render(), vector.render()[0], sb3.env_method("render")[0]]
    assert all(text == texts[0] and isinstance(text, str) for text in texts)
    for env in (single, vector, sb3):
        env.close()
        env.close()


def test_the_vector_refuses_actions_of_a_wrong_shape(game: pe.Game) -> None:
    env = SeatVectorEnv(game, 3)
    env.reset(seed=0)
    for actions in (np.zeros(2, np.int64), np.zeros((3, 1), np.int64), np.zeros(3), 0):
        with pytest.raises(ValueError, match="actions must be"):
            env.step(actions)  # type: ignore[arg-type]


def test_recorded_games_are_those_of_the_batch(game: pe.Game) -> None:
    """The learner that plays what a random batch played meets the same positions."""
    game = short(game)
    scripts = (record(game, seed)[0] for seed in range(4, 24))
    script = next(script for script in scripts if len(set(script.rows)) == len(script.rows))  # no position comes twice
    seat = script.seats[0]
    env = SeatEnv(game, Scripted([script]), seat=seat)
    observation, _ = env.reset(seed=script.seed)
    own = [i for i, mover in enumerate(script.seats) if mover == seat]
    for i in own[: len(own) // 2]:
        assert np.array_equal(observation, script.observations[i])
        observation = env.step(script.actions[i])[0]
