"""What the distributed trainer hands to RLlib: a masked RLModule, who sits where, the settings of PPO.

Letters: B batch, A actions.
"""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import ray
import torch
from ray.rllib.algorithms.ppo import PPO, PPOConfig
from ray.rllib.core import COMPONENT_LEARNER, COMPONENT_RL_MODULE, DEFAULT_MODULE_ID
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.apis.value_function_api import ValueFunctionAPI
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.core.rl_module.torch.torch_rl_module import TorchRLModule

from pyramid_envs.agents.networks import build, initialise, mask_logits
from pyramid_envs.envs.rllib import RLlibEnv
from pyramid_envs.game import Game
from training.cli import SettingsError
from training.rllib_runner import MASK, OBSERVATION, BatchRunner, ChunksToBatch, Games

if TYPE_CHECKING:
    from training.train_rllib import Settings

ROOT = Path(__file__).parent.parent
POLICY = {"batch": DEFAULT_MODULE_ID, "aec": "policy"}  # the one that learns; RLlib calls it so where all is one agent
OBJECT_STORE = 2**30  # bytes of a cluster of our own, for the samples of an update on their way
PREFIX = "network."  # of the network's weights among those of the module


class MaskedModule(TorchRLModule, ValueFunctionAPI):
    """A network of `pyramid_envs.agents.networks`, fed with the observation alone; the mask goes over its logits.

    ``model_config`` holds ``network``, the network's description as `build` takes it, and ``seed``, that of its first weights.
    """

    def setup(self) -> None:
        """Build the network."""
        shape = self.observation_space[OBSERVATION].shape
        self.network = build(self.model_config["network"], shape, int(self.action_space.n))
        initialise(self.network, torch.Generator().manual_seed(self.model_config["seed"]))

    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, torch.Tensor]:
        return {Columns.ACTION_DIST_INPUTS: self._answer(batch)[0]}

    def _forward_train(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, torch.Tensor]:
        logits, values = self._answer(batch)
        # What stands here is handed to `compute_values`, which need not compute the network once more.
        return {Columns.ACTION_DIST_INPUTS: logits, Columns.EMBEDDINGS: values}

    def _answer(self, batch: dict[str, Any]) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits, float[B, A], of illegal actions so low that they are never drawn, and values, float[B]."""
        seen = batch[Columns.OBS]
        logits, values = self.network(seen[OBSERVATION])
        return mask_logits(logits, seen[MASK] != 0), values

    def compute_values(self, batch: dict[str, Any], embeddings: torch.Tensor | None = None) -> torch.Tensor:
        """float[B]: what the seats may expect."""
        if embeddings is not None:
            return embeddings
        values: torch.Tensor = self.network(batch[Columns.OBS][OBSERVATION])[1]
        return values


def network_weights(state: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    """The weights of a module's network, as the network itself loads them.

    Args:
        state: of a `MaskedModule`.
    """
    return {name.removeprefix(PREFIX): torch.tensor(np.array(array)) for name, array in state.items()}


def make_config(settings: Settings, game: Game, network_config: dict[str, Any]) -> PPOConfig:
    """RLlib's settings.

    Args:
        settings: ours.
        game: what is played.
        network_config: the network's description.
    """
    games = Games({"game": game.name, "options": game.options})
    spec = RLModuleSpec(
        module_class=MaskedModule,
        observation_space=games.single_observation_space,
        action_space=games.single_action_space,
        model_config={"network": network_config, "seed": settings.seed},
    )
    steps = settings.steps_per_update
    config = (
        PPOConfig()
        .framework("torch")
        .resources(num_cpus_for_main_process=1)
        .env_runners(
            num_env_runners=settings.num_env_runners,
            num_cpus_per_env_runner=settings.cpus_per_env_runner,
            num_envs_per_env_runner=(settings.num_games or 0) // max(1, settings.num_env_runners),
            rollout_fragment_length=settings.plies,
            batch_mode="truncate_episodes",
        )
        .learners(num_learners=0)
        .training(
            train_batch_size_per_learner=steps,
            minibatch_size=settings.minibatch,
            num_epochs=settings.epochs,
            shuffle_batch_per_epoch=True,
            lr=_line(settings.learning_rate, settings.final_learning_rate, settings.total_steps),
            entropy_coeff=_line(settings.entropy, settings.final_entropy, settings.total_steps),
            gamma=1.0,
            lambda_=settings.gae_lambda,
            clip_param=settings.clip,
            vf_loss_coeff=settings.value_weight / 2,
            vf_clip_param=float("inf"),
            use_kl_loss=False,
            grad_clip=settings.max_gradient,
            grad_clip_by="global_norm",
        )
        .fault_tolerance(
            restart_failed_env_runners=True,
            delay_between_env_runner_restarts_s=1.0,
            num_consecutive_env_runner_failures_tolerance=100,
        )
        .debugging(seed=settings.seed, log_level="ERROR")
    )
    if settings.route == "batch":
        config.environment(Games, env_config={"game": game.name, "options": game.options})
        config.env_runners(env_runner_cls=BatchRunner)
        config.learners(
            learner_connector=partial(ChunksToBatch, gae_lambda=settings.gae_lambda),
            add_default_connectors_to_learner_pipeline=False,
        )
        return config.rl_module(rl_module_spec=spec)
    snapshots = [f"snapshot_{number}" for number in range(settings.snapshots)]
    config.environment(RLlibEnv, env_config={"game": game.name, **game.options})
    learner = POLICY["aec"]
    config.multi_agent(
        policies={learner, *snapshots},
        policy_mapping_fn=Seating(game.agents, learner, snapshots, settings.snapshot_share),
        policies_to_train=[learner],
    )
    return config.rl_module(rl_module_spec=MultiRLModuleSpec(rl_module_specs=dict.fromkeys((learner, *snapshots), spec)))


class Seating:
    """RLlib's policy mapping: who plays a seat in a game. Drawn by the game's id, so that it stays as it is.

    Args:
        agents: of the game.
        learner: the module of the policy that learns.
        snapshots: those of former policies.
        share: of the games in which one seat learns, against one of those each.
    """

    def __init__(self, agents: Sequence[str], learner: str, snapshots: Sequence[str], share: float) -> None:
        self.agents, self.learner, self.snapshots, self.share = tuple(agents), learner, tuple(snapshots), share

    def __call__(self, agent_id: str, episode: Any, **kwargs: Any) -> str:
        """The module that plays for this agent."""
        if not self.snapshots:
            return self.learner
        draws = np.random.default_rng(int(episode.id_, 16))
        seat = draws.integers(len(self.agents))
        others = draws.integers(len(self.snapshots), size=len(self.agents))
        if draws.random() >= self.share or self.agents[seat] == agent_id:
            return self.learner
        return self.snapshots[others[self.agents.index(agent_id)]]


def join(address: str | None, num_env_runners: int, cpus_per_env_runner: int) -> None:
    """Connect to a cluster of ray, or start one on this machine.

    Raises:
        SettingsError: if there is no cluster at this address.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    found_by = {"PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))}  # where workers find us
    if address is None:
        os.environ.update(found_by)
        ray.init(
            address="local",
            num_cpus=1 + num_env_runners * cpus_per_env_runner,
            include_dashboard=False,
            object_store_memory=OBJECT_STORE,
            logging_level="error",
            log_to_driver=False,
        )
        return
    try:
        host, separator, port = address.rpartition(":")
        if separator and port.isdecimal() and "/" not in host:  # ray itself tries for minutes
            socket.create_connection((host, int(port)), timeout=10).close()
        ray.init(address=address, runtime_env={"env_vars": found_by}, logging_level="error", log_to_driver=False)
    except (OSError, ValueError, RuntimeError) as error:
        raise SettingsError(f"there is no ray cluster at {address}, or none that can be used: {error}") from None


@contextmanager
def running(settings: Settings, game: Game, network_config: dict[str, Any]) -> Iterator[PPO]:
    """The algorithm on its cluster; at the end both are stopped, but a cluster that was there before.

    Args:
        settings: ours.
        game: what is played.
        network_config: the network's description.
    """
    join(settings.address, settings.num_env_runners, settings.cpus_per_env_runner)
    try:
        algorithm: PPO = make_config(settings, game, network_config).build_algo()
        try:
            yield algorithm
        finally:
            algorithm.stop()
            shutil.rmtree(algorithm.logdir, ignore_errors=True)  # RLlib makes this folder, and writes nothing to it
    finally:
        ray.shutdown()


def policy_weights(algorithm: PPO) -> dict[str, torch.Tensor]:
    """The weights of the policy that learns, as our network loads them."""
    return network_weights(_module_state(algorithm))


def _module_state(algorithm: PPO) -> dict[str, Any]:
    """That of the policy that learns."""
    name = POLICY["aec" if algorithm.config.is_multi_agent else "batch"]
    state: dict[str, Any] = algorithm.learner_group.get_weights([name])[name]
    return state


def renew_snapshot(algorithm: PPO, number: int) -> None:
    """From now on this snapshot plays as the policy does at present."""
    name = f"snapshot_{number}"
    state = {COMPONENT_LEARNER: {COMPONENT_RL_MODULE: {name: _module_state(algorithm)}}}
    algorithm.learner_group.set_state(state)
    algorithm.env_runner_group.sync_weights(from_worker_or_learner_group=algorithm.learner_group, inference_only=True)


def told_by(result: dict[str, Any]) -> dict[str, float]:
    """What TensorBoard shows of RLlib's result."""
    runners = result["env_runners"]
    learner = next(result["learners"][name] for name in POLICY.values() if name in result["learners"])
    payoffs = runners.get("agent_episode_returns_mean") or runners.get("agent_episode_return_mean") or {}
    found = {
        "games/plies": runners.get("plies", runners.get("episode_len_mean")),
        "games/truncated": runners.get("truncated"),
        "games/seat_0_payoff": runners.get("seat_0_payoff", payoffs.get("player_0")),
        "learn/policy_loss": learner.get("policy_loss"),
        "learn/value_loss": learner.get("vf_loss"),
        "learn/explained_variance": learner.get("vf_explained_var"),
        "learn/entropy": learner.get("entropy"),
        "learn/gradient_norm": learner.get("gradients_default_optimizer_global_norm"),
        "schedule/learning_rate": learner.get("default_optimizer_learning_rate"),
        "schedule/entropy": learner.get("curr_entropy_coeff"),
        "workers/healthy": result["fault_tolerance"]["num_healthy_workers"],
        "workers/restarts": result["fault_tolerance"]["num_remote_worker_restarts"],
    }
    return {name: float(number) for name, number in found.items() if number is not None}


def _line(first: float, last: float, steps: int) -> list[list[float]]:
    """A schedule of RLlib's."""
    return [[0, first], [steps, last]]
