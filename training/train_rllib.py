"""The distributed route: RLlib's PPO, new API stack, on one machine or a cluster of ray.

::

    python -m training.train_rllib --game treehouse
    python -m training.train_rllib --config configs/rllib/treehouse.yaml --num_env_runners 2
    python -m training.train_rllib --address 10.0.0.1:6379 --num_env_runners 64
    python -m training.train_rllib --route aec --snapshots 4
    python -m training.train_rllib --resume runs/treehouse-2p-20250101-120000

All seats learn in one policy, `training.rllib_algorithm.MaskedModule`, by two routes:

batch  every env runner steps a whole `pyramid_envs.Batch` (`training.rllib_runner.BatchRunner`);
aec    every env runner steps single games of `pyramid_envs.envs.rllib.RLlibEnv`, as RLlib does with any multi-agent environment.
       Much slower, but all that RLlib offers for those can be added. With `snapshots`, all seats but one of some games are played
       by former policies, by RLlib's policy mapping.

Without ``--address`` a small cluster is started on this machine, and stopped at the end. On a cluster that is running, this
folder must lie at the same place on all its machines, with the same packages. An env runner that is lost is replaced, and
training goes on. Checkpoints are those of `training.train` and are played and evaluated alike; RLlib's own stands in each as
``rllib``, which `Algorithm.from_checkpoint` reads and ``--resume`` continues from, in new games.

What TensorBoard shows (``tensorboard --logdir runs``); the horizontal axis counts decisions:

speed/decisions_per_second  over the last update, learning included, evaluation and saving left out
games/plies, games/truncated, games/seat_0_payoff  as `training.train` has them
learn/policy_loss, learn/value_loss, learn/explained_variance, learn/entropy, learn/gradient_norm  RLlib's: the value's loss is
                            not halved
schedule/learning_rate, schedule/entropy  what the schedules say
workers/healthy             env runners that work
workers/restarts            env runners that were replaced since the start
wins/AGENT, payoff/AGENT    as `training.train` has them
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch.utils.tensorboard import SummaryWriter
from tqdm import tqdm

import pyramid_envs as pe
from pyramid_envs.agents import checkpoint
from pyramid_envs.agents.learned import LearnedAgent
from pyramid_envs.agents.networks import build, default_kind
from pyramid_envs.evaluation import play_match
from pyramid_envs.threads import cores
from training import report
from training.cli import Interrupts, SettingsError, new_run, read_settings, run_command

COMMAND = "python -m training.train_rllib"
# When a run is resumed:
CHANGEABLE = frozenset({"total_steps", "minutes", "threads", "address", "num_env_runners", "cpus_per_env_runner", "opponents"})
CHANGEABLE |= {"eval_every", "eval_games", "final_games", "save_every", "keep"}
EVALUATION_SEED = 1_000_000_000  # far from those of training
RLLIB = "rllib"
ROUTES = {"batch": (512, 64), "aec": (32, 64)}  # the default num_games and plies of each


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
    threads: int | None = None
    """Threads of the network where it learns; by default one for each core."""

    address: str | None = None
    """The ray cluster to use, as HOST:PORT, or auto for the one running here; by default a new one on this machine."""
    num_env_runners: int = 2
    """Processes that play; 0: the one that learns plays too."""
    cpus_per_env_runner: int = 1
    """Cores that each of them asks ray for."""
    route: str = "batch"
    """batch or aec; see above."""

    total_steps: int = 5_000_000
    """Decisions to learn from; the schedules end with them."""
    minutes: float | None = None
    """Stop after so many minutes, even if total_steps is not reached."""
    num_games: int | None = None
    """Games side by side, in all env runners together; by default 512, or 32 on the route aec."""
    plies: int | None = None
    """Actions played in each of them between two updates; by default 64."""
    snapshots: int = 0
    """How many former policies play too (route aec)."""
    snapshot_every: int = 20
    """Updates between two of them."""
    snapshot_share: float = 0.5
    """Share of the games in which one seat learns, against them; in the others all seats do."""

    network: str = "auto"
    """mlp; sparse, an mlp for large observations that are mostly 0; conv; or auto: what fits the game's observation."""
    hidden: list[int] = field(default_factory=lambda: [256, 256])
    """Layers of an mlp, sparse or not."""
    separate_value: bool = False
    """Whether the value of an mlp has layers of its own."""
    channels: int = 64
    """Planes of every layer of a conv."""
    blocks: int = 4
    """Residual blocks of a conv."""

    learning_rate: float = 3e-3
    """Adam's step size at the start."""
    final_learning_rate: float = 0.0
    """And at the end; it moves along a line."""
    entropy: float = 0.005
    """Weight of the entropy bonus at the start."""
    final_entropy: float = 0.0
    """And at the end; it moves along a line."""
    gae_lambda: float = 0.9
    """Decay of generalised advantage estimation."""
    clip: float = 0.2
    """How far from 1 the ratio of new to old probability may push."""
    epochs: int = 2
    """Passes over each rollout."""
    minibatch: int = 2048
    """Decisions of one gradient step."""
    value_weight: float = 0.5
    """Weight of the value's loss, half the mean squared error."""
    max_gradient: float = 0.5
    """Gradients longer than this are shortened."""

    opponents: list[str] = field(default_factory=lambda: ["random", "greedy"])
    """Fixed agents to be measured against."""
    eval_every: int = 25
    """Updates between two brief evaluations."""
    eval_games: int = 400
    """Games of a brief evaluation against each opponent."""
    final_games: int = 10_000
    """Games of the evaluation at the end against each opponent; 0: none."""
    save_every: int = 50
    """Updates between two checkpoints."""
    keep: int = 3
    """Checkpoints that are kept, the newest."""

    def __post_init__(self) -> None:
        if self.route not in ROUTES:
            raise SettingsError(f"route must be {' or '.join(ROUTES)}, not {self.route!r}")
        num_games, plies = ROUTES[self.route]
        self.num_games = num_games if self.num_games is None else self.num_games
        self.plies = plies if self.plies is None else self.plies
        counts = {"total_steps", "num_games", "plies", "epochs", "minibatch", "snapshot_every", "cpus_per_env_runner"}
        for name in sorted(counts | {"eval_every", "eval_games", "save_every", "keep"}):
            if getattr(self, name) < 1:
                raise SettingsError(f"{name} must be at least 1, not {getattr(self, name)}")
        for name in ("num_env_runners", "snapshots"):
            if getattr(self, name) < 0:
                raise SettingsError(f"{name} must be at least 0, not {getattr(self, name)}")
        if self.num_games % max(1, self.num_env_runners):
            raise SettingsError(f"num_games must be a multiple of num_env_runners, {self.num_env_runners}, not {self.num_games}")
        if not 0 < self.snapshot_share <= 1:
            raise SettingsError(f"snapshot_share must be more than 0 and at most 1, not {self.snapshot_share}")
        if self.snapshots and self.route != "aec":
            raise SettingsError("snapshots play on the route aec only: add --route aec, or leave them out")
        if self.total_steps < self.num_games * self.plies:
            raise SettingsError(
                f"total_steps {self.total_steps:,} is less than one update, num_games × plies = {self.num_games * self.plies:,}"
            )
        if self.minibatch > self.num_games * self.plies:
            raise SettingsError(f"minibatch must be at most num_games × plies = {self.num_games * self.plies:,}")

    @property
    def steps_per_update(self) -> int:
        """Decisions between two updates."""
        return (self.num_games or 0) * (self.plies or 0)


def train(settings: Settings, resume: Path | None = None) -> Path:
    """Train, and return the folder of the last checkpoint.

    Args:
        settings: of the training; when resuming, those it was begun with, but for CHANGEABLE.
        resume: the folder of a run or of one of its checkpoints. Weights, optimizer, schedules and snapshots go on where they
            were, in new games.
    """
    import pyramid_envs.envs.rllib  # noqa: F401  first, for it says what to install where ray is missing
    from training import rllib_algorithm as rllib

    game = pe.make_game(settings.game, **settings.options)
    opponents = [pe.make_agent(name, game) for name in settings.opponents]
    torch.set_num_threads(settings.threads or cores())
    kind = default_kind(game.observation_shape) if settings.network == "auto" else settings.network
    sizes = {"mlp": ("hidden", "separate_value"), "sparse": ("hidden",), "conv": ("channels", "blocks")}.get(kind, ())
    network_config = {"kind": kind, **{name: getattr(settings, name) for name in sizes}}
    try:
        network = build(network_config, game.observation_shape, game.num_actions).eval()
    except ValueError as error:
        raise SettingsError(str(error)) from None

    with rllib.running(settings, game, network_config) as algorithm:
        update, steps, seconds = 0, 0, 0.0
        matches: list[dict[str, Any]] = []
        if resume is None:
            run = new_run(settings, settings.run, game)
        else:
            folder = checkpoint.find(resume)
            run = folder.parent
            config = checkpoint.read_config(folder)
            checkpoint.check(config, game, folder)
            if not (folder / RLLIB).is_dir():
                raise pe.CheckpointError(f"{folder} has no {RLLIB}: it can be played, but its training cannot be continued")
            algorithm.restore_from_path(str((folder / RLLIB).absolute()))
            update, steps, seconds = algorithm.iteration, config["steps"], config["minutes"] * 60

        def save() -> Path:
            """Write a checkpoint."""
            network.load_state_dict(rllib.policy_weights(algorithm))
            config = checkpoint.describe(
                game,
                network_config,
                steps,
                trainer=COMMAND,
                settings=asdict(settings),
                minutes=seconds / 60,
                hardware=f"{settings.num_env_runners} env runners, {torch.get_num_threads()} threads",
                packages=report.versions(),
            )
            results = report.results_of(game, matches)
            return checkpoint.write(
                run,
                network.state_dict(),
                config,
                results,
                report.model_card(game, config, results),
                lambda folder: algorithm.save_to_path(str((folder / RLLIB).absolute())),
                settings.keep,
            )

        weights = sum(parameter.numel() for parameter in network.parameters())
        print(f"{game!r}\n{network_config['kind']} with {weights:,} weights, route {settings.route}; writing to {run}")
        writer = SummaryWriter(str(run), purge_step=steps)
        progress = tqdm(total=settings.total_steps, initial=steps, unit=" steps", unit_scale=True, disable=None)
        saved_at, stopped = -1, False
        with Interrupts() as interrupts:
            while steps < settings.total_steps:
                stopped = interrupts.wanted
                if stopped or (settings.minutes is not None and seconds > settings.minutes * 60):
                    break
                update_began = time.monotonic()
                result = algorithm.train()
                update_seconds = time.monotonic() - update_began
                before, steps = steps, int(result["num_env_steps_sampled_lifetime"])
                if steps == before:  # every env runner was lost; they are being replaced
                    continue
                update += 1

                # ---------------------------------------------------------------------------------------------- snapshots
                if settings.snapshots and update % settings.snapshot_every == 0:
                    rllib.renew_snapshot(algorithm, (update // settings.snapshot_every - 1) % settings.snapshots)

                # --------------------------------------------------------------------------------------------------- tell
                speed = (steps - before) / update_seconds
                writer.add_scalar("speed/decisions_per_second", speed, steps)
                for name, number in rllib.told_by(result).items():
                    writer.add_scalar(name, number, steps)
                progress.update(steps - before)

                # --------------------------------------------------------------------------------------- evaluate and save
                is_last = steps >= settings.total_steps
                if update % settings.eval_every == 0 or is_last:
                    network.load_state_dict(rllib.policy_weights(algorithm))
                    agent = LearnedAgent(network, game, "self-play")
                    played = [play_match(game, agent, opponent, settings.eval_games, EVALUATION_SEED) for opponent in opponents]
                    matches = [{"play": report.SAMPLED, **match.to_json()} for match in played]
                    for match in played:
                        writer.add_scalar(f"wins/{match.opponent}", match.win_rate.value, steps)
                        writer.add_scalar(f"payoff/{match.opponent}", match.mean_payoff.value, steps)
                    told = ", ".join(f"{report.brief(match)} of games against {match.opponent}" for match in played)
                    progress.set_postfix_str(", ".join(f"{match.opponent} {report.brief(match)}" for match in played))
                    if progress.disable:
                        print(f"{steps:,} of {settings.total_steps:,} steps, {speed:,.0f} steps/s; wins {told}", flush=True)
                seconds += time.monotonic() - update_began
                if update % settings.save_every == 0 or is_last:
                    save()
                    saved_at = update
        progress.close()
        writer.close()

        folder = save() if saved_at != update else checkpoint.find(run)
        if stopped:
            print(f"Stopped after {steps:,} steps and saved {folder}\nContinue with: {COMMAND} --resume {run}")
            raise KeyboardInterrupt
        if settings.final_games:
            print(f"Trained for {seconds / 60:.1f} minutes; measuring …", flush=True)
            network.load_state_dict(rllib.policy_weights(algorithm))
            report.measure_checkpoint(folder, network, game, opponents, settings.final_games, EVALUATION_SEED)
        print(f"The agent is in {folder}, RLlib's own checkpoint in {folder / RLLIB}")
        return folder


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    settings, resume = read_settings(Settings, COMMAND, CHANGEABLE, arguments)
    train(settings, resume)
    return 0


if __name__ == "__main__":
    run_command(main)
