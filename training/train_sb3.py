"""The familiar route: MaskablePPO of sb3-contrib on `SB3VecEnv`, against snapshots of itself and fixed agents.

::

    python -m training.train_sb3 --game treehouse
    python -m training.train_sb3 --config configs/sb3/treehouse.yaml --options.num_players 3
    python -m training.train_sb3 --resume runs/treehouse-2p-20250101-120000

One seat of each game learns, a seat drawn anew for each game; all other seats belong to an opponent drawn for that game among the
fixed agents and the latest snapshots of the learner, equally often. Everything else is stable-baselines3's own: logger, progress
bar, and ``maskable_ppo.zip``, which ``MaskablePPO.load`` reads, in every checkpoint. The checkpoint's folder is otherwise that of
`training.train` and is played and evaluated alike; its network holds the policy's own weights.

What TensorBoard shows beside stable-baselines3's own, which its documentation explains (``rollout/ep_rew_mean`` is the
learner's payoff against its mixture of opponents, ``rollout/ep_len_mean`` counts its decisions):

wins/AGENT    share of games that the policy, drawing its actions, wins against a fixed agent, over all seats
payoff/AGENT  its mean payoff in them
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import configure
from stable_baselines3.common.utils import LinearSchedule
from stable_baselines3.common.vec_env import VecMonitor
from torch import nn

import pyramid_envs as pe
from pyramid_envs.agents import Agent, checkpoint
from pyramid_envs.agents.learned import LearnedAgent
from pyramid_envs.agents.networks import ACTIVATIONS
from pyramid_envs.envs.sb3 import SB3VecEnv
from pyramid_envs.evaluation import play_match
from pyramid_envs.threads import cores
from training import report
from training.cli import Interrupts, SettingsError, new_run, read_settings, run_command, use_device
from training.sb3_policy import convert

COMMAND = "python -m training.train_sb3"
# When a run is resumed:
CHANGEABLE = frozenset({"total_steps", "minutes", "device", "threads", "opponents", "snapshots"})
CHANGEABLE |= {"eval_every", "eval_games", "final_games", "save_every", "progress_bar"}
EVALUATION_SEED = 1_000_000_000  # far from those of training
ZIP = "maskable_ppo.zip"


@dataclass
class Settings:
    """Settings of a training."""

    game: str = "treehouse"
    """The game."""
    options: dict[str, Any] = field(default_factory=dict)
    """Options of the game that differ from its defaults; single ones as --options.num_players 3."""
    run: str | None = None
    """The folder to write to; by default runs/GAME-SEATSp-DATE-TIME."""
    seed: int = 0
    """Seed of everything random."""
    device: str = "cpu"
    """Where the network lives: cpu, cuda, cuda:1."""
    threads: int | None = None
    """Threads of the network on the CPU; by default one for each core."""

    total_steps: int = 5_000_000
    """Decisions of the learner; the schedule of the learning rate ends with them."""
    minutes: float | None = None
    """Stop after so many minutes, even if total_steps is not reached."""
    num_envs: int = 512
    """Games side by side."""
    n_steps: int = 16
    """Decisions in each of them between two updates."""
    hidden: list[int] = field(default_factory=lambda: [128, 128])
    """Layers of the policy, and again of the value."""
    activation: str = "relu"
    """relu or tanh."""

    learning_rate: float = 3e-3
    """Adam's step size at the start; it falls to 0 along a line."""
    batch_size: int = 1024
    """Decisions of one gradient step."""
    n_epochs: int = 3
    """Passes over each rollout."""
    gae_lambda: float = 0.9
    """Decay of generalised advantage estimation."""
    clip_range: float = 0.2
    """How far from 1 the ratio of new to old probability may push."""
    ent_coef: float = 0.005
    """Weight of the entropy bonus."""

    opponents: list[str] = field(default_factory=lambda: ["random", "greedy"])
    """Fixed agents to learn from and to be measured against."""
    snapshots: int = 4
    """How many of the latest checkpoints are opponents too; these are kept."""
    save_every: int = 20
    """Updates between two checkpoints."""
    eval_every: int = 50
    """Updates between two brief evaluations."""
    eval_games: int = 400
    """Games of a brief evaluation against each fixed agent."""
    final_games: int = 10_000
    """Games of the evaluation at the end against each fixed agent; 0: none."""
    progress_bar: bool = True
    """Whether stable-baselines3 shows its progress bar; else it prints its log."""

    def __post_init__(self) -> None:
        for name in ["total_steps", "num_envs", "n_steps", "n_epochs", "save_every", "eval_every", "eval_games", "snapshots"]:
            if getattr(self, name) < 1:
                raise SettingsError(f"{name} must be at least 1, not {getattr(self, name)}")
        if not 2 <= self.batch_size <= self.num_envs * self.n_steps:
            raise SettingsError(f"batch_size must be 2 to num_envs × n_steps = {self.num_envs * self.n_steps}")
        if self.activation not in ACTIVATIONS:
            raise SettingsError(f"activation must be one of {', '.join(ACTIVATIONS)}, not {self.activation!r}")


class SelfPlay(BaseCallback):
    """Between two updates: saves, renews the opponents, evaluates, and stops when that is wanted.

    Args:
        settings: of the training.
        game: the game.
        run: the folder of the run.
        venv: the games.
        interrupts: tells whether the user wants to stop.
        seconds: of training before this process.
    """

    def __init__(
        self, settings: Settings, game: pe.Game, run: Path, venv: SB3VecEnv, interrupts: Interrupts, seconds: float
    ) -> None:
        super().__init__()
        self.settings, self.game, self.run, self.venv, self.interrupts = settings, game, run, venv, interrupts
        self.fixed = [pe.make_agent(name, game) for name in settings.opponents]
        self.began = time.monotonic() - seconds
        self.updates = 0
        self.matches: list[dict[str, Any]] = []
        self.renew_opponents()

    def renew_opponents(self) -> None:
        """From now on games are against the fixed agents and the run's latest snapshots."""
        snapshots: list[Agent] = []
        for folder in sorted(self.run.glob("step_*"))[-self.settings.snapshots :]:
            network = checkpoint.load_network(folder, self.game).to(self.settings.device)
            snapshots.append(LearnedAgent(network, self.game, folder.name, device=self.settings.device))
        self.venv.set_opponents([*self.fixed, *snapshots] or "random")

    def network(self) -> tuple[dict[str, Any], nn.Module]:
        """A copy of the policy as a network of ours, with its description."""
        weights = {name: tensor.detach().cpu().clone() for name, tensor in self.model.policy.state_dict().items()}
        return convert(weights, self.settings.activation, self.game)

    def save(self) -> Path:
        """Write a checkpoint."""
        network_config, network = self.network()
        config = checkpoint.describe(
            self.game,
            network_config,
            self.model.num_timesteps,
            trainer=COMMAND,
            settings=asdict(self.settings),
            minutes=(time.monotonic() - self.began) / 60,
            hardware=f"{self.settings.device}, {self.settings.threads or cores()} threads",
            packages=report.versions(),
        )
        results = report.results_of(self.game, self.matches)
        return checkpoint.write(
            self.run,
            network.state_dict(),
            config,
            results,
            report.model_card(self.game, config, results),
            lambda folder: self.model.save(folder / ZIP),
            self.settings.snapshots,
        )

    def _on_rollout_start(self) -> None:
        """An update has ended (or none has begun yet)."""
        if self.updates and self.updates % self.settings.eval_every == 0:
            network = self.network()[1].to(self.settings.device)
            agent = LearnedAgent(network, self.game, "self-play", device=self.settings.device)
            played = [play_match(self.game, agent, fixed, self.settings.eval_games, EVALUATION_SEED) for fixed in self.fixed]
            self.matches = [{"play": report.SAMPLED, **match.to_json()} for match in played]
            for match in played:
                self.logger.record(f"wins/{match.opponent}", match.win_rate.value)
                self.logger.record(f"payoff/{match.opponent}", match.mean_payoff.value)
        if self.updates % self.settings.save_every == 0:
            self.save()
            self.renew_opponents()
        self.updates += 1

    def _on_step(self) -> bool:
        """Whether to go on."""
        minutes = (time.monotonic() - self.began) / 60
        return not self.interrupts.wanted and (self.settings.minutes is None or minutes < self.settings.minutes)


def train(settings: Settings, resume: Path | None = None) -> Path:
    """Train, and return the folder of the last checkpoint.

    Args:
        settings: of the training; when resuming, those it was begun with, but for CHANGEABLE.
        resume: the folder of a run or of one of its checkpoints. Weights, optimizer and schedule go on where they were, in new
            games.
    """
    game = pe.make_game(settings.game, **settings.options)
    for name in settings.opponents:
        pe.make_agent(name, game)  # before anything is written
    device = use_device(settings.device)
    torch.set_num_threads(settings.threads or cores())
    seconds, steps = 0.0, 0
    if resume is None:
        run = new_run(settings, settings.run, game)
    else:
        folder = checkpoint.find(resume)
        run = folder.parent
        config = checkpoint.read_config(folder)
        checkpoint.check(config, game, folder)
        seconds, steps = config["minutes"] * 60, config["steps"]

    venv = SB3VecEnv(game, settings.num_envs, settings.opponents or "random", seed=settings.seed + steps)
    if resume is None:
        model = MaskablePPO(
            "MlpPolicy",
            VecMonitor(venv),
            n_steps=settings.n_steps,
            batch_size=settings.batch_size,
            n_epochs=settings.n_epochs,
            gamma=1.0,
            gae_lambda=settings.gae_lambda,
            clip_range=settings.clip_range,
            ent_coef=settings.ent_coef,
            learning_rate=LinearSchedule(settings.learning_rate, 0.0, 1.0),
            policy_kwargs={"net_arch": settings.hidden, "activation_fn": ACTIVATIONS[settings.activation]},
            seed=settings.seed,
            device=device,
        )
    else:
        model = MaskablePPO.load(folder / ZIP, VecMonitor(venv), device=device)
    model.set_logger(configure(str(run), ["tensorboard"] if settings.progress_bar else ["tensorboard", "stdout"]))
    print(f"{game!r}\nwriting to {run}")
    with Interrupts() as interrupts:
        callback = SelfPlay(settings, game, run, venv, interrupts, seconds)
        model.learn(
            max(0, settings.total_steps - steps),
            callback=callback,
            log_interval=5,
            reset_num_timesteps=resume is None,
            progress_bar=settings.progress_bar,
        )
    folder = callback.save()
    if interrupts.wanted:
        print(f"Stopped after {model.num_timesteps:,} steps and saved {folder}\nContinue with: {COMMAND} --resume {run}")
        raise KeyboardInterrupt
    if settings.final_games:
        config = checkpoint.read_config(folder)
        print(f"Trained for {config['minutes']:.1f} minutes; measuring …", flush=True)
        network = callback.network()[1].to(device)
        report.measure_checkpoint(folder, network, game, callback.fixed, settings.final_games, EVALUATION_SEED, settings.device)
    print(f"The agent is in {folder}, stable-baselines3's own file in {folder / ZIP}")
    return folder


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    settings, resume = read_settings(Settings, COMMAND, CHANGEABLE, arguments)
    train(settings, resume)
    return 0


if __name__ == "__main__":
    run_command(main)
