"""The route through RLlib: what its runners hand on is what was played, it learns on a cluster, survives a loss, and exports."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ray.rllib", reason="RLlib has a virtual environment of its own, for it pins gymnasium: make test-rllib")

import ray
import torch
from ray.rllib.core.columns import Columns
from ray.rllib.env.multi_agent_env_runner import MultiAgentEnvRunner

import pyramid_envs as pe
from pyramid_envs.agents import checkpoint
from pyramid_envs.agents.learned import LearnedAgent
from pyramid_envs.envs.rllib import RLlibEnv
from pyramid_envs.evaluation import play_match
from tests.scripts import record
from training import train_rllib as train_rllib_module
from training.evaluate import main as evaluate
from training.rllib_algorithm import (
    MaskedModule,
    Seating,
    make_config,
    network_weights,
    policy_weights,
    renew_snapshot,
    running,
)
from training.rllib_runner import BatchRunner
from training.train_rllib import CHANGEABLE, RLLIB, Settings, main, train

# RLlib's own ways: it calls what other packages have deprecated, and leaves sockets and files to the garbage collector.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112, the name is ray's, whose 15 starves its workers where anything else runs
ROOT = Path(__file__).parent.parent
NETWORK = {"kind": "mlp", "hidden": [16]}
SMALL: dict[str, Any] = {
    "num_env_runners": 0,
    "num_games": 8,
    "plies": 16,
    "minibatch": 64,
    "hidden": [16],
    "network": "mlp",
    "threads": 1,
    "opponents": [],
    "eval_games": 4,
    "final_games": 0,
}
UPDATE = SMALL["num_games"] * SMALL["plies"]


def settings_for(game: pe.Game, route: str, **changes: Any) -> Settings:
    return Settings(game=game.name, options=game.options, **{"route": route, **SMALL, **changes})


# ------------------------------------------------------------------------------------------------------- the environment


def test_a_game_is_the_same_through_the_multi_agent_environment(game: pe.Game) -> None:
    env = RLlibEnv({"game": game.name, **game.options})
    for script in record(game, 3, episodes=2):
        seen, infos = env.reset(seed=3) if script.episode == 0 else env.reset()
        paid: dict[str, float] = defaultdict(float)
        for seat, action, observation, mask in zip(script.seats, script.actions, script.observations, script.masks, strict=True):
            agent = f"player_{seat}"
            assert set(seen) == set(infos) == {agent}
            assert env.observation_spaces[agent].contains(seen[agent])
            assert np.array_equal(seen[agent]["observation"], observation)
            assert np.array_equal(seen[agent]["action_mask"], mask)
            seen, rewards, terminateds, truncateds, infos = env.step({agent: action})
            for name, reward in rewards.items():
                paid[name] += reward
        assert [paid[name] for name in game.agents] == pytest.approx(script.payoffs.tolist())  # the loser's loss, too
        assert terminateds == dict.fromkeys(("__all__", *game.agents), not script.truncated)
        assert truncateds == dict.fromkeys(("__all__", *game.agents), script.truncated)
        assert set(seen) == set(game.agents)
        assert not any(each["action_mask"].any() for each in seen.values())
    env.close()
    env.close()


def test_an_illegal_action_loses_and_a_wrong_agent_is_told() -> None:
    env = RLlibEnv({"game": "treehouse", "num_players": 3})
    seen, _ = env.reset(seed=0)
    (agent,) = seen
    other = next(name for name in env.possible_agents if name != agent)
    with pytest.raises(ValueError, match=f"{agent} is to move"):
        env.step({other: 0})
    illegal = int(np.flatnonzero(seen[agent]["action_mask"] == 0)[0])
    _, rewards, terminateds, truncateds, infos = env.step({agent: illegal})
    assert terminateds["__all__"]
    assert not truncateds["__all__"]
    assert rewards == {name: -1.0 if name == agent else 0.5 for name in env.possible_agents}
    assert all(info["illegal_action"] for info in infos.values())
    with pytest.raises(pe.OptionError, match="what to play"):
        RLlibEnv({})
    with pytest.raises(pe.OptionError, match="colour"):
        RLlibEnv({"game": "treehouse", "colour": "green"})


# ------------------------------------------------------------------------------------------------------------ the module


def test_the_module_is_our_network_with_illegal_actions_masked_and_the_mask_not_fed(game: pe.Game) -> None:
    config = make_config(settings_for(game, "batch"), game, NETWORK)
    module = config.rl_module_spec.build()
    assert isinstance(module, MaskedModule)
    batch = pe.Batch(game, 20, seed=1)
    seen = {"observation": torch.tensor(batch.observations), "action_mask": torch.tensor(batch.masks).to(torch.int8)}
    out = module.forward_train({Columns.OBS: seen})
    logits, values = out[Columns.ACTION_DIST_INPUTS], module.compute_values({Columns.OBS: seen})
    assert torch.equal(module.compute_values({}, out[Columns.EMBEDDINGS]), values)

    from pyramid_envs.agents.networks import build

    network = build(NETWORK, game.observation_shape, game.num_actions)
    network.load_state_dict(network_weights(module.get_state()))
    agent = LearnedAgent(network, game)
    assert np.allclose(agent.logits(batch.observations, batch.masks), logits.detach().numpy(), atol=1e-5)
    full = {**seen, "action_mask": torch.ones_like(seen["action_mask"])}
    unmasked = module.forward_inference({Columns.OBS: full})[Columns.ACTION_DIST_INPUTS]
    legal = torch.tensor(batch.masks)
    assert torch.equal(unmasked[legal], logits[legal])
    assert (logits[~legal] == -1e9).all()
    assert torch.equal(module.compute_values({Columns.OBS: full}), values)


# ------------------------------------------------------------------------------------------------------------ the runners


def chunks_of(episodes: list[Any]) -> dict[str, list[Any]]:
    """Chunks by episode, in time; each begins where the one before it stopped, with what that ended with."""
    streams: dict[str, list[Any]] = defaultdict(list)
    for episode in episodes:
        streams[episode.id_].append(episode)
    for chunks in streams.values():
        assert chunks[0].t_started == 0
        for before, after in pairwise(chunks):
            assert not before.is_done
            assert after.t_started == before.t
            for name in ("observation", "action_mask"):
                assert np.array_equal(before.get_observations(-1)[name], after.get_observations(0)[name])
    return streams


@pytest.mark.parametrize("max_plies", [None, 5])
def test_the_batch_runner_hands_on_every_decision_once_with_what_it_was_paid(game: pe.Game, max_plies: int | None) -> None:
    game = game if max_plies is None else pe.make_game(game.name, **{**game.options, "max_plies": max_plies})
    config = make_config(settings_for(game, "batch", num_games=6, plies=7, minibatch=8), game, NETWORK)
    runner = BatchRunner(config=config)
    episodes = [episode for _ in range(12) for episode in runner.sample()]
    assert sum(map(len, episodes)) > (0 if max_plies else 12 * 6 * 7 / 2)
    streams = chunks_of(episodes)
    batch = runner._batch
    assert batch is not None
    ended = 0
    for place in range(6):
        single = pe.Batch(game, 1, seed=int(batch.streams[place]))
        left = {
            key: [
                (observation, mask, action, logp, logits, reward)
                for chunk in chunks
                for observation, mask, action, logp, logits, reward in zip(
                    chunk.get_observations(slice(0, len(chunk)))["observation"],
                    chunk.get_observations(slice(0, len(chunk)))["action_mask"],
                    chunk.get_actions(),
                    chunk.get_extra_model_outputs(Columns.ACTION_LOGP),
                    chunk.get_extra_model_outputs(Columns.ACTION_DIST_INPUTS),
                    chunk.get_rewards(),
                    strict=True,
                )
            ]
            for key, chunks in streams.items()
        }
        while single.episodes[0] <= batch.episodes[place]:
            number, seat = int(single.episodes[0]), int(single.seats[0])
            key = f"0-{place}-{number}-{seat}"
            if not left.get(key):
                break  # a decision that waits, or that led to nothing known
            observation, mask, action, logp, logits, reward = left[key].pop(0)
            assert np.array_equal(observation, single.observations[0])
            assert np.array_equal(mask, single.masks[0])
            log_policy = torch.log_softmax(torch.tensor(logits), 0)
            assert float(log_policy[action]) == pytest.approx(float(logp), abs=1e-5)
            assert (logits[mask == 0] == -1e9).all()
            is_last_of_seat = not left[key]
            step = single.step(np.array([action]))
            if not is_last_of_seat:
                assert reward == 0
            if step.terminated[0]:
                ended += 1
                for each in range(game.num_players):
                    chunks = streams.get(f"0-{place}-{number}-{each}")
                    if chunks is None:
                        continue  # has not decided at all
                    assert not left[f"0-{place}-{number}-{each}"]
                    assert chunks[-1].is_terminated
                    assert not chunks[-1].is_truncated
                    assert chunks[-1].get_rewards(-1) == step.rewards[0, each]  # the loser's, though it was not to move
                    final = single.observe(np.array([each]), np.array([0]), final=True)[0]
                    assert np.array_equal(chunks[-1].get_observations(-1)["observation"], final)
    if max_plies is None:
        assert ended == batch.episodes.sum()
    else:
        assert any(chunks[-1].is_truncated for chunks in streams.values())
    assert not any(chunk.is_truncated and chunk.get_rewards().any() for chunks in streams.values() for chunk in chunks)
    runner.stop()


def test_what_is_learned_from_is_what_rllib_makes_of_the_same_episodes() -> None:
    game = pe.make_game("treehouse", max_plies=40)
    config = make_config(settings_for(game, "batch", num_games=20, plies=30), game, NETWORK)
    plain = make_config(settings_for(game, "batch", num_games=20, plies=30), game, NETWORK)
    plain.learners(learner_connector=None, add_default_connectors_to_learner_pipeline=True)
    runner = BatchRunner(config=config)
    runner.sample()
    chunks = runner.sample()
    assert any(chunk.is_terminated for chunk in chunks)
    assert any(chunk.is_truncated for chunk in chunks)
    assert not all(chunk.is_done for chunk in chunks)
    count = sum(map(len, chunks))
    sent = pickle.loads(pickle.dumps(chunks))
    batches = []
    for own, episodes in ((config, chunks), (plain, sent)):
        learner = own.build_learner(env=runner.env)
        found = learner._learner_connector(rl_module=learner.module, batch={}, episodes=episodes, shared_data={})
        batches.append(found["default_policy"])
    ours, theirs = batches
    real = theirs.pop("loss_mask")  # RLlib adds a step to every episode, and masks it
    assert len(ours["actions"]) == int(real.sum()) == count
    for name in ("observation", "action_mask"):
        assert torch.equal(ours["obs"][name], theirs["obs"][name][real])
    for name in ("actions", "action_logp", "action_dist_inputs", "value_targets"):
        torch.testing.assert_close(ours[name], theirs[name][real], atol=1e-5, rtol=1e-5)
    # Advantages are centred and scaled on either side, with RLlib over the steps added too.
    correlation = np.corrcoef(ours["advantages"].numpy(), theirs["advantages"][real].numpy())[0, 1]
    assert correlation == pytest.approx(1, abs=1e-5)
    assert float(ours["advantages"].mean()) == pytest.approx(0, abs=1e-5)
    assert float(ours["advantages"].std()) == pytest.approx(1, abs=1e-5)


def test_a_lost_runner_is_replaced_by_one_that_plays_other_games() -> None:
    game = pe.make_game("treehouse")
    config = make_config(settings_for(game, "batch"), game, NETWORK)
    first, second = BatchRunner(config=config, worker_index=1), BatchRunner(config=config, worker_index=1)
    second.set_state({"num_env_steps_sampled_lifetime": 1000})
    first.sample()
    second.sample()
    assert not set(first._batch.streams) & set(second._batch.streams)


def test_the_multi_agent_route_hands_the_loser_its_loss() -> None:
    game = pe.make_game("treehouse", num_players=3)
    config = make_config(settings_for(game, "aec", num_games=4, plies=9, minibatch=8), game, NETWORK)
    runner = MultiAgentEnvRunner(config=config)
    streams: dict[tuple[str, str], list[Any]] = defaultdict(list)
    over = []
    for _ in range(12):
        for episode in runner.sample():
            for agent, chunk in episode.agent_episodes.items():
                streams[episode.id_, agent].append(chunk)
            if episode.is_done:
                over.append(episode)
    assert over
    for episode in over:
        paid = []
        for agent in game.agents:
            chunks = streams.get((episode.id_, agent), [])
            assert [chunk.t_started for chunk in chunks] == np.cumsum([0, *map(len, chunks)]).tolist()[: len(chunks)]
            assert all(chunk.is_terminated == (chunk is chunks[-1]) for chunk in chunks)
            rewards = np.concatenate([chunk.get_rewards() for chunk in chunks]) if chunks else np.zeros(1)
            assert not rewards[:-1].any()
            paid.append(float(rewards[-1]))
        if all(streams.get((episode.id_, agent)) for agent in game.agents):
            assert sum(paid) == pytest.approx(0)
            assert max(paid) > 0 > min(paid)
    runner.stop()


def test_snapshots_sit_in_their_share_of_the_games_and_stay_seated() -> None:
    class Episode:
        def __init__(self, number: int) -> None:
            self.id_ = f"{number:032x}"

    agents, snapshots = ("player_0", "player_1", "player_2"), ["snapshot_0", "snapshot_1"]
    seating = Seating(agents, "policy", snapshots, 0.25)
    tables = [tuple(seating(agent, Episode(number)) for agent in agents) for number in range(2000)]
    assert tables == [tuple(seating(agent, Episode(number)) for agent in agents) for number in range(2000)]
    mixed = [table for table in tables if table != ("policy",) * 3]
    assert 0.2 < len(mixed) / len(tables) < 0.3
    assert all(table.count("policy") == 1 for table in mixed)
    for seat in range(3):
        assert 0.25 < sum(table[seat] == "policy" for table in mixed) / len(mixed) < 0.42
    assert {name for table in mixed for name in table} == {"policy", *snapshots}
    assert Seating(agents, "policy", [], 0.25)("player_0", Episode(1)) == "policy"


# ------------------------------------------------------------------------------------------------------------- settings


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"route": "train"}, "route"),
        ({"num_games": 0}, "num_games"),
        ({"num_env_runners": 3}, "multiple of num_env_runners"),
        ({"num_env_runners": -1}, "num_env_runners"),
        ({"snapshots": 2}, "--route aec"),
        ({"snapshot_share": 0.0}, "snapshot_share"),
        ({"minibatch": 10**6}, "minibatch"),
        ({"total_steps": 10}, "total_steps"),
        ({"network": "transformer"}, "transformer"),
        ({"opponents": ["stockfish"]}, "stockfish"),
        ({"game": "chess"}, "chess"),
        ({"options": {"num_players": 9}}, "num_players"),
    ],
)
def test_wrong_settings_are_told(tmp_path: Path, wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(pe.PyramidError, match=said):
        train(Settings(**{"run": str(tmp_path / "run"), **SMALL, **wrong}))
    assert not (tmp_path / "run").exists()
    assert not ray.is_initialized()


CONFIGS = sorted((ROOT / "configs" / "rllib").glob("*.yaml"))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.name)
def test_every_config_in_the_repository_is_one(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr(train_rllib_module, "train", lambda settings, resume: seen.append(settings))
    main(["--config", str(path)])
    pe.make_game(seen[0].game, **seen[0].options)
    assert set(Settings.__dataclass_fields__) > CHANGEABLE


# --------------------------------------------------------------------------------------------------------- on a cluster

SHORT: dict[str, Any] = {
    "batch": {"num_games": 256, "plies": 16, "total_steps": 120_000, "minibatch": 512, "epochs": 4, "learning_rate": 5e-3},
    "aec": {"num_games": 16, "plies": 32, "total_steps": 50_000, "minibatch": 128, "epochs": 6},
}


@pytest.fixture
def two_machines() -> Iterator[str]:
    """A cluster of two machines (on this one); its address."""
    from ray.cluster_utils import Cluster

    machine = {"num_cpus": 1, "object_store_memory": 2**28}
    cluster = Cluster(initialize_head=True, head_node_args={**machine, "include_dashboard": False})
    cluster.add_node(**machine)
    yield cluster.address
    cluster.shutdown()


@pytest.mark.slow
@pytest.mark.parametrize("route", ["batch", "aec"])
def test_two_workers_learn_to_beat_random_and_the_policy_is_evaluated_as_any_other(
    tmp_path: Path, two_machines: str, route: str
) -> None:
    settings = Settings(
        run=str(tmp_path / "run"),
        address=two_machines,
        route=route,
        num_env_runners=2,
        hidden=[64, 64],
        opponents=["random"],
        final_games=0,
        threads=1,
        **SHORT[route],
    )
    folder = train(settings)
    assert not ray.is_initialized()
    game = pe.make_game("treehouse")
    match = play_match(game, LearnedAgent.load(folder, game), pe.make_agent("random", game), 1000, seed=7)
    for seat in match.seats:
        assert seat.win_rate.low >= match.even_share + 0.1
    found = tmp_path / "found.json"
    assert evaluate([str(tmp_path / "run"), "--opponents", "random", "--games", "20", "--json", str(found)]) == 0
    assert len(json.loads(found.read_text())[0]["matches"]) == 2


@pytest.fixture
def algorithm(request: pytest.FixtureRequest) -> Iterator[Any]:
    """An algorithm with the settings of the test."""
    settings = Settings(**{**SMALL, **request.param})
    with running(settings, pe.make_game("treehouse"), NETWORK) as algorithm:
        yield algorithm


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", [{"num_env_runners": 2}], indirect=True)
def test_a_killed_worker_is_replaced_and_training_goes_on(algorithm: Any) -> None:
    def workers() -> set[int]:
        return set(algorithm.env_runner_group.foreach_env_runner(lambda runner: os.getpid(), local_env_runner=False))

    algorithm.train()
    before = workers()
    assert len(before) == 2
    os.kill(min(before), signal.SIGKILL)
    deadline = time.monotonic() + 300
    steps = [UPDATE]
    while time.monotonic() < deadline:
        result = algorithm.train()
        steps.append(int(result["num_env_steps_sampled_lifetime"]))
        if len(workers()) == 2 and min(before) not in workers():
            break
        time.sleep(0.5)
    assert len(workers() - before) == 1
    assert algorithm.train()["num_env_steps_sampled_lifetime"] >= steps[-1] + UPDATE
    assert all(after >= earlier for earlier, after in pairwise(steps))
    weights = policy_weights(algorithm)
    for state in algorithm.env_runner_group.foreach_env_runner(lambda runner: runner.module.get_state(), local_env_runner=False):
        for name, tensor in network_weights(state).items():
            torch.testing.assert_close(tensor, weights[name])


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", [{"num_env_runners": 1, "route": "aec", "snapshots": 2}], indirect=True)
def test_a_snapshot_plays_on_as_the_policy_was(algorithm: Any) -> None:
    def modules() -> dict[str, dict[str, torch.Tensor]]:
        (found,) = algorithm.env_runner_group.foreach_env_runner(
            lambda runner: {name: module.get_state() for name, module in runner.module.items()}, local_env_runner=False
        )
        return {name: network_weights(state) for name, state in found.items()}

    def same(first: dict[str, torch.Tensor], second: dict[str, torch.Tensor]) -> bool:
        return all(torch.equal(first[name], second[name]) for name in first)

    algorithm.train()
    kept = policy_weights(algorithm)
    renew_snapshot(algorithm, 0)
    algorithm.train()
    playing = modules()
    assert same(playing["snapshot_0"], kept)
    assert same(playing["policy"], policy_weights(algorithm))
    assert not same(playing["policy"], kept)
    assert not same(playing["snapshot_1"], kept)


@pytest.mark.slow
def test_a_run_stops_saves_and_goes_on_where_it_stopped(tmp_path: Path) -> None:
    run = tmp_path / "run"
    flags = [f"--{name}={value}" for name, value in {**SMALL, "run": run, "num_env_runners": 1, "total_steps": 10**7}.items()]
    command = [sys.executable, "-m", "training.train_rllib", *flags]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 300
    while not list(run.glob("events*")) and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.2)
    time.sleep(5)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=300)
    assert process.returncode == 130, errors
    assert f"--resume {run}" in output
    stopped = checkpoint.read_config(checkpoint.find(run))["steps"]
    assert stopped >= UPDATE
    before = LearnedAgent.load(run, pe.make_game("treehouse")).network.state_dict()

    assert main(["--resume", str(run), "--total_steps", str(stopped + 2 * UPDATE)]) == 0
    folder = checkpoint.find(run)
    assert checkpoint.read_config(folder)["steps"] == stopped + 2 * UPDATE
    assert (folder / RLLIB).is_dir()
    after = LearnedAgent.load(run, pe.make_game("treehouse")).network.state_dict()
    change = max(float((after[name] - before[name]).abs().max()) for name in before)
    assert 0 < change < 0.1  # of two updates, not another beginning
    with pytest.raises(pe.PyramidError, match="hidden"):
        main(["--resume", str(run), "--hidden", "[8]"])
    from training.train import main as train_main

    with pytest.raises(pe.CheckpointError, match="train_rllib"):
        train_main(["--resume", str(run)])


@pytest.mark.slow
def test_a_cluster_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(pe.PyramidError, match="no ray cluster"):
        train(Settings(**{**SMALL, "run": str(tmp_path / "run"), "address": "127.0.0.1:1"}))
