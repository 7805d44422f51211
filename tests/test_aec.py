"""The contract of the PettingZoo environments, for every game and number of seats."""

from __future__ import annotations

import copy
import importlib
import pickle
import random
import warnings
from typing import Any

import numpy as np
import pettingzoo
import pytest
from pettingzoo.test import api_test, seed_test

import pyramid_envs as pe
from pyramid_envs.envs.aec import GameEnv
from tests.scripts import Script, decided, record


def make(game: pe.Game, render_mode: str | None = None) -> Any:
    return pe.aec_env(game.name, render_mode=render_mode, **game.options)


def replay(env: Any, script: Script) -> dict[str, float]:
    """Play a script through the cycle; what each agent is paid in all."""
    paid = dict.fromkeys(env.possible_agents, 0.0)
    actions = iter(script.actions)
    for agent in env.agent_iter():
        _, reward, terminated, truncated, _ = env.last()
        paid[agent] += reward
        env.step(None if terminated or truncated else next(actions))
    return paid


def test_pettingzoo_approves(game: pe.Game, capsys: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings():
        # PettingZoo's own classic games have Dict observations too; third-party ones are warned for it.
        warnings.filterwarnings("ignore", "Observation space for each agent probably should be")
        warnings.filterwarnings("ignore", "Observation is not a NumPy array")
        api_test(make(game), num_cycles=100)
    seed_test(lambda: make(game), num_cycles=50)


def test_the_environment_is_found_by_module_and_by_registry(game: pe.Game) -> None:
    module = importlib.import_module(f"pyramid_envs.{game.name}_v{game.version}")
    assert getattr(pe, f"{game.name}_v{game.version}") is module
    options = {name: value for name, value in game.options.items() if name != "num_players"}
    made = [module.env(num_players=game.num_players, **options), module.raw_env(num_players=game.num_players)]
    if hasattr(pettingzoo, "make"):  # before PettingZoo 1.27 it had no registry
        env_id = f"pyramid_envs/{game.card.env_id}-v{game.version}"
        made.append(pettingzoo.make("aec", env_id, num_players=game.num_players))
    for env in made:
        assert env.unwrapped.game == game
        assert env.metadata["name"] == f"{game.name}_v{game.version}"
    with pytest.raises(pe.OptionError, match="colour_of_the_table"):
        module.env(colour_of_the_table="green")
    with pytest.raises(ValueError, match="render_mode"):
        module.env(render_mode="hologram")


def test_observation_and_mask_belong_to_the_same_moment_and_to_the_seat_to_move(game: pe.Game) -> None:
    script = record(game, 3)[0]
    env = make(game)
    env.reset(seed=3)
    for seat, action, observation, mask in zip(
        script.seats[:60], script.actions, script.observations, script.masks, strict=False
    ):
        assert env.agent_selection == f"player_{seat}"
        for agent in env.agents:
            seen = env.observe(agent)
            assert set(seen) == {"observation", "action_mask"}
            assert env.observation_space(agent).contains(seen)
            assert seen["observation"].any()
            assert np.array_equal(seen["action_mask"], mask if agent == env.agent_selection else np.zeros_like(mask))
            assert np.array_equal(env.infos[agent]["action_mask"], seen["action_mask"])
        assert np.array_equal(env.last()[0]["observation"], observation)
        env.step(action)


def test_the_loser_gets_its_loss_and_the_winner_its_win(game: pe.Game) -> None:
    script = decided(game)
    env = make(game)
    env.reset(seed=script.seed)
    paid = replay(env, script)
    assert list(paid.values()) == pytest.approx(script.payoffs.tolist())
    assert not env.agents


def test_all_agents_end_together_with_empty_masks(game: pe.Game) -> None:
    script = decided(game)
    env = make(game)
    env.reset(seed=script.seed)
    for action in script.actions:
        assert not any(env.terminations.values())
        env.step(action)
    assert all(env.terminations.values())
    assert not any(env.truncations.values())
    for agent in env.agents:
        assert not env.infos[agent]["action_mask"].any()
        assert not env.observe(agent)["action_mask"].any()
        assert env.observe(agent)["observation"].any()
    assert list(env.rewards.values()) == pytest.approx(script.payoffs.tolist())


def test_max_plies_truncates_all_agents_together_and_pays_nothing(game: pe.Game) -> None:
    short = pe.make_game(game.name, **{**game.options, "max_plies": 2})
    script = record(short, 0, agent="greedy")[0]  # greedy: at random, some games are over in two plies
    assert script.truncated
    assert len(script.actions) == 2
    env = make(short)
    env.reset(seed=0)
    for action in script.actions:
        assert not any(env.truncations.values())
        env.step(action)
    assert all(env.truncations.values())
    assert not any(env.terminations.values())
    assert not any(env.rewards.values())
    assert all(reward == 0 for reward in replay(env, script).values())


def test_an_illegal_action_loses(game: pe.Game) -> None:
    env = make(game)
    env.reset(seed=0)
    env.step(int(env.last()[0]["action_mask"].argmax()))
    offender = env.agent_selection
    before = env.observe(offender)["observation"]
    env.step(int(env.last()[0]["action_mask"].argmin()))
    assert all(env.terminations.values())
    assert np.array_equal(env.observe(offender)["observation"], before)
    others = 1 / (game.num_players - 1)
    assert env.rewards == {agent: -1.0 if agent == offender else pytest.approx(others) for agent in env.agents}
    assert all(env.infos[agent]["illegal_action"] is True for agent in env.agents)
    paid = {}
    for agent in env.agent_iter():
        paid[agent] = env.last()[1]
        env.step(None)
    assert paid == {agent: -1.0 if agent == offender else pytest.approx(others) for agent in env.possible_agents}


@pytest.mark.parametrize("action", [-1, 10**6])
def test_a_number_outside_the_action_space_is_an_illegal_action(game: pe.Game, action: int) -> None:
    env = make(game)
    env.reset(seed=0)
    offender = env.agent_selection
    env.step(action)
    assert env.rewards[offender] == -1.0


@pytest.mark.parametrize("action", [None, 0.5, "pass", [1]])
def test_what_is_no_number_is_a_mistake_in_the_program(game: pe.Game, action: Any) -> None:
    env = make(game)
    env.reset(seed=0)
    with pytest.raises((pe.IllegalActionError, TypeError)):
        env.step(action)
    assert not any(env.terminations.values())


def test_the_raw_environment_raises_and_changes_nothing(game: pe.Game) -> None:
    env = GameEnv(game)
    env.reset(seed=0)
    env.step(int(env.last()[0]["action_mask"].argmax()))  # at the start everything may be legal
    before = env.row.tobytes()
    mask = env.last()[0]["action_mask"]
    with pytest.raises(pe.IllegalActionError, match="illegal"):
        env.step(int(mask.argmin()))
    assert env.row.tobytes() == before
    assert not any(env.terminations.values())
    env.step(int(mask.argmax()))


def test_a_seed_gives_the_games_of_a_batch_through_resets(game: pe.Game) -> None:
    short = pe.make_game(game.name, **{**game.options, "max_plies": 40})
    env = make(short)
    for script in record(short, 0, episodes=3):
        env.reset(seed=0 if script.episode == 0 else None)
        for row, action in zip(script.rows, script.actions, strict=True):
            assert env.unwrapped.row.tobytes() == row
            env.step(action)


def test_without_a_seed_games_differ_and_global_random_state_is_left_alone(game: pe.Game) -> None:
    random.seed(1)
    np.random.seed(1)
    python, legacy = random.getstate(), np.random.get_state()[1].copy()
    env = make(game)
    seen = set()
    for _ in range(8):
        env.reset()
        for _ in range(12):
            if any(env.terminations.values()) or any(env.truncations.values()):
                break
            seen.add(env.unwrapped.row.tobytes())
            env.step(int(env.last()[0]["action_mask"].argmax()))
    assert random.getstate() == python
    assert np.array_equal(np.random.get_state()[1], legacy)
    if game.card.num_outcomes(game.options):
        assert len(seen) > 12, "eight games without a seed were all the same"


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_copies_continue_exactly_and_apart(game: pe.Game, duplicate: Any) -> None:
    script = record(game, 5)[0]
    half = len(script.actions) // 2
    env = make(game)
    env.reset(seed=5)
    for action in script.actions[:half]:
        env.step(action)
    twin = duplicate(env)
    assert twin.unwrapped.row.tobytes() == env.unwrapped.row.tobytes()
    for action in script.actions[half:]:
        twin.step(action)
    assert list(twin.rewards.values()) == pytest.approx(script.payoffs.tolist())
    assert not any(env.terminations.values()), "the copy moved the original"
    for action in script.actions[half:]:
        env.step(action)
    assert list(env.rewards.values()) == pytest.approx(script.payoffs.tolist())
    env.reset()
    twin.reset()
    assert twin.unwrapped.row.tobytes() == env.unwrapped.row.tobytes()


def test_arrays_handed_out_are_never_written_again(game: pe.Game) -> None:
    script = record(game, 1)[0]
    env = make(game)
    env.reset(seed=1)
    kept, copies = [], []
    for action in script.actions[:30]:
        observation, *_, info = env.last()
        for array in (observation["observation"], observation["action_mask"], info["action_mask"]):
            kept.append(array)
            copies.append(array.copy())
        env.step(action)
    assert all(np.array_equal(one, other) for one, other in zip(kept, copies, strict=True))


def test_closing_twice_and_rendering_without_a_display(game: pe.Game, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    env = make(game, render_mode="ansi")
    env.reset(seed=0)
    assert "player" in env.render()
    assert env.metadata["render_modes"] == ["ansi", "rgb_array", "svg", "human"]
    env.close()
    env.close()
