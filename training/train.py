"""Self-play training by PPO: every seat of thousands of games learns in one shared network.

::

    python -m training.train --game treehouse
    python -m training.train --config configs/treehouse.yaml --options.dig_away true
    python -m training.train --resume runs/treehouse-2p-20250101-120000
    torchrun --nproc-per-node 2 -m training.train --config configs/treehouse.yaml

Many games are stepped side by side (`pyramid_envs.Batch`). Each seat of each game is a stream of decisions of its own
(`training.streams`), learned from by proximal policy optimisation (Schulman et al. 2017) with undiscounted rewards. Illegal
actions are masked in the logits. What is saved and evaluated is an exponential average of the weights (EMA). The entropy bonus
keeps play varied; the pull towards a *magnet*, a copy of the policy renewed now and then, is for games with hidden information,
where plain self-play runs in circles (Sokota et al. 2023). Games that chance alone seldom brings to an end, or to a win for one
side, may begin by imitating a fixed agent (`imitate`). With `against` one seat of each game learns, against an agent that stays
as it is. Ctrl-C saves and stops; ``--resume`` continues with the same numbers as if nothing had happened. Under torchrun several
processes train together, and learn what one would (`training.processes`).

What TensorBoard shows (``tensorboard --logdir runs``); the horizontal axis counts decisions:

speed/decisions_per_second  over the last update, learning included, evaluation and saving left out
games/plies                 mean length in actions of the games that ended in the last rollout
games/truncated             share of them that max_plies cut
games/seat_0_payoff         mean payoff of seat 0 in them: how much the first seat is worth
learn/policy_loss           the clipped objective, whose size means little; while imitating, minus the mean log-likelihood
learn/value_loss            half the mean squared error of the value
learn/explained_variance    1: the value foresees the returns perfectly; 0: no better than their mean
learn/entropy               of the policy over legal actions, in nats; falls as play gets decided
learn/magnet_kl             divergence of the policy from the magnet, in nats (0 without a magnet)
learn/policy_kl             how far an update moves the policy, in nats; beyond about 0.05 learning is too fast
learn/clipped               share of decisions whose ratio was clipped; 0.05 to 0.3 is usual
learn/gradient_norm         before clipping
learn/waiting               share of decisions that wait for the next rollout, because it is not known yet what they led to
schedule/learning_rate, schedule/entropy  what the schedules say
wins/AGENT                  share of games that the EMA policy, drawing its actions, wins against a fixed agent, over all seats
payoff/AGENT                its mean payoff in them
"""

from __future__ import annotations

import copy
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.tensorboard import SummaryWriter
from tqdm import tqdm

import pyramid_envs as pe
from pyramid_envs import rng
from pyramid_envs.agents import checkpoint
from pyramid_envs.agents.fixed import Adviser
from pyramid_envs.agents.learned import LearnedAgent
from pyramid_envs.agents.networks import build, default_kind, initialise, inputs, mask_logits
from pyramid_envs.evaluation import Match, play_match
from pyramid_envs.threads import cores
from training import report
from training.cli import Interrupts, SettingsError, check_range, new_run, read_settings, run_command, use_device
from training.processes import Processes
from training.streams import credit

COMMAND = "python -m training.train"
# When a run is resumed:
CHANGEABLE = frozenset({"total_steps", "minutes", "device", "threads", "opponents"})
CHANGEABLE |= {"eval_every", "eval_games", "final_games", "save_every", "keep"}
EVALUATION_SEED = 1_000_000_000  # far from those of training


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
    """Threads of the network on the CPU; by default one for each core, shared between the processes."""

    total_steps: int = 12_000_000
    """Decisions to learn from; the schedules end with them."""
    minutes: float | None = None
    """Stop after so many minutes, even if total_steps is not reached."""
    num_games: int = 2048
    """Games side by side, in all processes together."""
    plies: int = 16
    """Actions played in each of them between two updates."""

    against: str | None = None
    """An agent, fixed or a checkpoint's folder, that plays all other seats and does not learn; by default all seats learn."""
    seat: int | None = None
    """The seat that learns against it; by default game i has seat i modulo their number learn."""
    start: str | None = None
    """A checkpoint's folder whose network to begin with; by default a new one."""
    imitate: str | None = None
    """An agent that plays at first, and is imitated."""
    imitate_steps: int = 1_000_000
    """For so many decisions."""

    network: str = "auto"
    """mlp; sparse, an mlp for large observations that are mostly 0; conv; or auto: what fits the game's observation."""
    hidden: list[int] = field(default_factory=lambda: [256, 256])
    """Layers of an mlp, sparse or not."""
    activation: str = "relu"
    """Of an mlp's layers: relu, tanh, or gated, which multiplies two sums and so has twice the weights."""
    separate_value: bool = False
    """Whether the value of an mlp has layers of its own."""
    advised: bool = False
    """Whether an mlp, sparse or not, also looks at what its game advises (what greedy would play, or better), and begins by
    playing much like that."""
    advice_weight: float = 4.0
    """How much the logits of actions that are advised most are raised at first, in a new advised network. 4 suits a game that
    advises what greedy would play; one that advises in grades, as Trellis and Twin Win do, wants more, 12 there."""
    channels: int = 64
    """Planes of every layer of a conv."""
    blocks: int = 4
    """Residual blocks of a conv."""
    critic: str = "own"
    """What the value that advantages are taken from looks at: own (the network's value of what the seat sees), or all (a network
    for training only, that sees what all seats see)."""
    bfloat16: bool = False
    """Whether the network computes in bfloat16 where that is sound; faster on processors that have instructions for it."""

    learning_rate: float = 3e-3
    """Adam's step size at the start."""
    final_learning_rate: float = 0.0
    """And at the end; it moves along a line."""
    entropy: float = 0.005
    """Weight of the entropy bonus at the start."""
    final_entropy: float = 0.0
    """And at the end; it moves along a line."""
    magnet: float = 0.0
    """Weight of the divergence from the magnet; 0: no magnet."""
    magnet_every: int = 20
    """Updates between two renewals of the magnet; 0: it stays what the network is when self-play begins."""
    cut_payoff: float | None = None
    """What each seat is to think that it is paid for a game that max_plies cuts: below 0 lest games go round in circles. By
    default nothing is known of how such a game would have ended."""
    gae_lambda: float = 0.9
    """Decay of generalised advantage estimation."""
    clip: float = 0.2
    """How far from 1 the ratio of new to old probability may push."""
    epochs: int = 2
    """Passes over each rollout."""
    minibatch: int = 2048
    """Decisions of one gradient step."""
    value_weight: float = 0.5
    """Weight of the value's loss."""
    max_gradient: float = 0.5
    """Gradients longer than this are shortened."""
    ema: float = 0.998
    """Decay of the averaged weights, each gradient step."""

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
        if self.critic not in ("own", "all"):
            raise SettingsError(f"critic must be own or all, not {self.critic}")
        if self.seat is not None and self.against is None:
            raise SettingsError("seat says which seat learns against an agent: set against too")
        if self.magnet_every < 0:
            raise SettingsError(f"magnet_every must be at least 0, not {self.magnet_every}")
        counts = ["total_steps", "num_games", "plies", "epochs", "minibatch", "threads"]
        check_range(self, [*counts, "eval_every", "eval_games", "save_every", "keep"], 1)
        check_range(self, ["gae_lambda", "ema"], 0, 1)
        weights = ["advice_weight", "learning_rate", "final_learning_rate", "entropy", "final_entropy", "magnet", "value_weight"]
        check_range(self, [*weights, "clip", "max_gradient", "minutes", "final_games"], 0)
        check_range(self, ["cut_payoff"], -1, 1)
        if min(self.hidden, default=1) < 1:
            raise SettingsError(f"layers must have at least 1 unit, not {self.hidden}")
        if self.total_steps < self.num_games * self.plies:
            raise SettingsError(
                f"total_steps {self.total_steps:,} is less than one update, num_games × plies = {self.num_games * self.plies:,}"
            )


def train(settings: Settings, resume: Path | None = None) -> Path:
    """Train, and return the folder of the last checkpoint.

    Args:
        settings: of the training; when resuming, those it was begun with, but for CHANGEABLE.
        resume: the folder of a run or of one of its checkpoints.
    """
    # ------------------------------------------------------------------------------------------------------------ set-up
    game = pe.make_game(settings.game, **settings.options)
    opponents = [pe.make_agent(name, game) for name in settings.opponents]
    against = None if settings.against is None else pe.make_agent(settings.against, game)
    teacher = None if settings.imitate is None else pe.make_agent(settings.imitate, game)
    device = use_device(settings.device)
    processes = Processes(device)
    torch.set_num_threads(settings.threads or max(1, cores() // processes.on_this_machine))
    share = processes.share(settings.num_games)
    num_games, num_seats = share.stop - share.start, game.num_players  # what has num_games below is this process's own
    if settings.plies <= num_seats:
        raise SettingsError(f"plies must be more than the number of seats, {num_seats}, so that some seat decides twice in them")
    if settings.seat is not None and not 0 <= settings.seat < num_seats:
        raise SettingsError(f"seat must be one of the seats 0 to {num_seats - 1}, not {settings.seat}")
    places = np.arange(share.start, share.stop)
    learners = places % num_seats if settings.seat is None else np.full(num_games, settings.seat)
    steps_per_update = settings.num_games * settings.plies
    num_updates = settings.total_steps // steps_per_update
    imitation_ends = 0 if teacher is None else -(-settings.imitate_steps // steps_per_update)

    kind = default_kind(game.observation_shape) if settings.network == "auto" else settings.network
    shapes = {"mlp": ("hidden", "activation", "separate_value"), "sparse": ("hidden",), "conv": ("channels", "blocks")}
    if settings.advised and kind == "conv":
        raise SettingsError("only an mlp, sparse or not, can be advised: set network to mlp or sparse")
    critic_config = {"kind": kind, **{name: getattr(settings, name) for name in shapes.get(kind, ())}}
    network_config = {**critic_config, "advised": True} if settings.advised else critic_config
    num_views = num_seats if settings.critic == "all" else 0
    views_shape = (num_views * game.observation_shape[0], *game.observation_shape[1:])
    try:
        network = build(network_config, game.observation_shape, game.num_actions)
        critic = build(critic_config, views_shape, 1) if num_views else None
    except ValueError as error:
        raise SettingsError(str(error)) from None
    # Weights and the order of learning come from one generator, on the CPU; actions from another, where the network is.
    generator = torch.Generator().manual_seed(seed_for(settings.seed, 0))
    action_generator = torch.Generator(device).manual_seed(seed_for(settings.seed, 1))
    initialise(network, generator)
    if settings.advised:
        network.advice.weight.data.fill_(settings.advice_weight)  # type: ignore[union-attr, operator]
    if settings.start is not None:
        begun = checkpoint.find(settings.start)
        network, network_config = checkpoint.load_network(begun, game), checkpoint.read_config(begun)["network"]
    network.to(device)
    parameters = list(network.parameters())
    if critic is not None:
        initialise(critic, generator)
        parameters += critic.to(device).parameters()
    average = copy.deepcopy(network)
    magnet = copy.deepcopy(network)
    optimizer = torch.optim.Adam(parameters, lr=settings.learning_rate, eps=1e-5)
    batch = pe.Batch(game, num_games, seed_for(settings.seed, 2) + share.start)

    # A rollout. The first rows, one for each seat, hold the decisions that wait from the rollout before (see training.streams).
    rows = num_seats + settings.plies
    adviser = Adviser(game)
    inputs_shape = inputs(network, adviser, batch.rows[:1], batch.observations[:1], batch.masks[:1]).shape[1:]
    observations = torch.zeros((rows, num_games, *inputs_shape), dtype=torch.int8, device=device)
    masks = torch.zeros((rows, num_games, game.num_actions), dtype=torch.bool, device=device)
    actions = torch.zeros((rows, num_games), dtype=torch.int64, device=device)
    log_probs = torch.zeros((rows, num_games), device=device)
    values = torch.zeros((rows, num_games), device=device)
    views = torch.zeros((rows, num_games, *views_shape), dtype=torch.int8, device=device)  # what all seats see, for the critic
    seats = np.zeros((rows, num_games), np.int64)
    seats[:num_seats] = np.arange(num_seats)[:, None]
    present = np.ones((rows, num_games), np.bool_)
    present[:num_seats] = False
    rewards = np.zeros((rows, num_games, num_seats), np.float32)
    terminated = np.zeros((rows, num_games), np.bool_)
    truncated = np.zeros((rows, num_games), np.bool_)
    waiting = {"observations": observations, "masks": masks, "actions": actions, "log_probs": log_probs, "values": values}
    waiting["views"] = views

    update, gradient_steps, seconds = 0, 0, 0.0
    matches: list[dict[str, Any]] = []
    if resume is None:
        run = processes.tell(new_run(settings, settings.run, game) if processes.is_writer else None)
    else:
        folder = checkpoint.find(resume)
        run = folder.parent
        state = checkpoint.load_training_state(folder)
        update, gradient_steps, seconds = state["update"], state["gradient_steps"], state["seconds"]
        network.load_state_dict(state["network"])
        average.load_state_dict(checkpoint.load_network(folder, game).state_dict())
        magnet.load_state_dict(state["magnet"])
        if critic is not None:
            critic.load_state_dict(state["critic"])
        optimizer.load_state_dict(state["optimizer"])
        generator.set_state(state["generator"])
        action_generator.set_state(state["action_generator"])
        restore(batch, state["batch"], share)
        for name, tensor in waiting.items():
            tensor[:num_seats] = state["waiting"][name][:, share].to(device)
        present[:num_seats] = state["waiting"]["present"][:, share].numpy()

    def save() -> Path:
        """Write a checkpoint; the processes put their games together first."""
        games = {name: processes.join(column, 0) for name, column in batch_state(batch).items()}
        open_decisions = {name: tensor[:num_seats] for name, tensor in waiting.items()}
        open_decisions["present"] = torch.from_numpy(present[:num_seats].copy())
        open_decisions = {name: processes.join(tensor.clone(), 1) for name, tensor in open_decisions.items()}
        return processes.tell(write(games, open_decisions) if processes.is_writer else None)

    def write(games: dict[str, torch.Tensor], open_decisions: dict[str, torch.Tensor]) -> Path:
        config = checkpoint.describe(
            game,
            network_config,
            update * steps_per_update,
            trainer=COMMAND,
            settings=asdict(settings),
            minutes=seconds / 60,
            hardware=f"{settings.device}, {processes.size} × {torch.get_num_threads()} threads",
            packages=report.versions(),
        )
        results = report.results_of(game, matches)
        state = {
            "update": update,
            "gradient_steps": gradient_steps,
            "seconds": seconds,
            "network": network.state_dict(),
            "magnet": magnet.state_dict(),
            "critic": critic.state_dict() if critic is not None else None,
            "optimizer": optimizer.state_dict(),
            "generator": generator.get_state(),
            "action_generator": action_generator.get_state(),
            "batch": games,
            "waiting": open_decisions,
        }
        return checkpoint.write(
            run,
            average.state_dict(),
            config,
            results,
            report.model_card(game, config, results),
            lambda folder: torch.save(state, folder / checkpoint.STATE),
            settings.keep,
        )

    def compute(module: torch.nn.Module, inputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits and values."""
        with torch.autocast(device.type, torch.bfloat16, enabled=settings.bfloat16):
            logits, value = module(inputs)
        return logits.float(), value.float()

    def evaluate_briefly() -> list[Match]:
        agent = LearnedAgent(average, game, "self-play", device=settings.device)
        return [play_match(game, agent, opponent, settings.eval_games, EVALUATION_SEED) for opponent in opponents]

    if processes.is_writer:
        print(f"{game!r}\n{kind} with {sum(p.numel() for p in network.parameters()):,} weights; writing to {run}")
    writer = SummaryWriter(str(run), purge_step=update * steps_per_update) if processes.is_writer else None
    progress = tqdm(
        total=num_updates * steps_per_update,
        initial=update * steps_per_update,
        unit=" steps",
        unit_scale=True,
        disable=None if processes.is_writer else True,
    )
    saved_at, stopped = update, False

    with Interrupts() as interrupts:
        while update < num_updates:
            stopped = processes.any(interrupts.wanted)
            if stopped or processes.any(settings.minutes is not None and seconds > settings.minutes * 60):
                break
            update_began = time.monotonic()
            done_share = update / num_updates
            learning_rate = line(settings.learning_rate, settings.final_learning_rate, done_share)
            entropy_weight = line(settings.entropy, settings.final_entropy, done_share)
            for group in optimizer.param_groups:
                group["lr"] = learning_rate
            imitating = update < imitation_ends
            renewing = update == imitation_ends if settings.magnet_every == 0 else update % settings.magnet_every == 0
            if settings.magnet and renewing:
                magnet.load_state_dict(network.state_dict())

            # ------------------------------------------------------------------------------------------------- play
            lengths: list[np.ndarray[Any, Any]] = []
            with torch.inference_mode():
                for t in range(num_seats, rows):
                    seen = inputs(network, adviser, batch.rows, batch.observations, batch.masks)
                    observations[t].copy_(torch.from_numpy(seen))
                    masks[t].copy_(torch.from_numpy(batch.masks))
                    seats[t] = batch.seats
                    logits, values[t] = compute(network, observations[t])
                    if critic is not None:
                        all_seen = [batch.observe((batch.seats + k) % num_seats) for k in range(num_seats)]
                        views[t].copy_(torch.from_numpy(np.concatenate(all_seen, 1)))
                        values[t] = compute(critic, views[t])[1]
                    logits = mask_logits(logits, masks[t])
                    log_policy = torch.log_softmax(logits, 1)
                    if imitating:
                        assert teacher is not None
                        actions[t] = torch.from_numpy(_answers(teacher, batch, np.arange(num_games)))
                    else:
                        numbers = torch.rand((settings.num_games, 1), generator=action_generator, device=device)[share]
                        actions[t] = draw(torch.softmax(logits, 1), masks[t], numbers)
                    if against is not None:
                        present[t] = batch.seats == learners
                        others = np.flatnonzero(~present[t])
                        actions[t, others] = torch.from_numpy(_answers(against, batch, others)).to(device)
                    log_probs[t] = log_policy.gather(1, actions[t, :, None]).squeeze(1)
                    plies = batch.plies + 1
                    step = batch.step(actions[t].cpu().numpy())
                    rewards[t], terminated[t], truncated[t] = step
                    lengths.append(plies[step.terminated | step.truncated])

            # ----------------------------------------------------------------------------------- what is to be learned
            paid, ended, cut_short = rewards, terminated, truncated
            if settings.cut_payoff is not None:
                paid = np.where(truncated[..., None], np.float32(settings.cut_payoff), rewards)
                ended, cut_short = terminated | truncated, np.zeros_like(truncated)
            advantages_np, closed, open_rows = credit(
                seats, values.cpu().numpy(), present, paid, ended, cut_short, settings.gae_lambda
            )
            # Decisions are numbered through all processes, so that minibatches do not depend on how many there are.
            all_closed = processes.join(torch.from_numpy(closed), 1)
            chosen = all_closed.flatten().nonzero().squeeze(1).to(device)
            own = torch.from_numpy(np.flatnonzero(closed)).to(device)
            flat_observations = observations.flatten(0, 1)
            flat_masks, flat_views = masks.flatten(0, 1), views.flatten(0, 1)
            flat_actions, flat_log_probs, flat_values = actions.flatten(), log_probs.flatten(), values.flatten()
            flat_advantages = torch.from_numpy(advantages_np).to(device).flatten()
            flat_returns = flat_values + flat_advantages
            moments = torch.stack([moment.sum() for x in (flat_advantages[own], flat_returns[own]) for moment in (x, x.square())])
            processes.add([moments])
            mean, square, mean_return, square_return = moments / max(1, len(chosen))
            deviation = (square - mean**2).clamp(min=0).sqrt() + 1e-8
            explained = 1 - (square - mean**2) / (square_return - mean_return**2 + 1e-8)

            # ------------------------------------------------------------------------------------------------ learn
            sums: dict[str, torch.Tensor] = {}
            num_minibatches = 0
            for _ in range(settings.epochs):
                order = chosen[torch.randperm(len(chosen), generator=generator).to(device)]
                for minibatch in order.tensor_split(max(1, round(len(order) / settings.minibatch))) if len(order) else ():
                    part = processes.own(minibatch, share, settings.num_games)
                    size = len(minibatch)  # sums over this process's part are divided by it, and gradients added up
                    part_masks = flat_masks[part]
                    logits, value = compute(network, flat_observations[part])
                    logits = mask_logits(logits, part_masks)
                    # Not log_policy.exp(): where that underflows it takes the processor twenty times as long.
                    policy, log_policy = torch.softmax(logits, 1), torch.log_softmax(logits, 1)
                    log_prob = log_policy.gather(1, flat_actions[part, None]).squeeze(1)
                    entropy = -(policy * log_policy).sum() / size

                    log_ratio = log_prob - flat_log_probs[part]
                    ratio = log_ratio.exp()
                    advantage = (flat_advantages[part] - mean) / deviation
                    clipped_ratio = ratio.clamp(1 - settings.clip, 1 + settings.clip)
                    if imitating:
                        policy_loss = -log_prob.sum() / size
                    else:
                        policy_loss = -torch.minimum(advantage * ratio, advantage * clipped_ratio).sum() / size
                    value_loss = 0.5 * (value - flat_returns[part]).square().sum() / size
                    loss = policy_loss + settings.value_weight * value_loss
                    if critic is not None:
                        _, critic_value = compute(critic, flat_views[part])
                        loss = loss + settings.value_weight * 0.5 * (critic_value - flat_returns[part]).square().sum() / size
                    if not imitating:
                        loss = loss - entropy_weight * entropy
                    magnet_kl = torch.zeros((), device=device)
                    if settings.magnet and not imitating:
                        with torch.no_grad():
                            magnet_logits, _ = compute(magnet, flat_observations[part])
                            log_magnet = torch.log_softmax(mask_logits(magnet_logits, part_masks), 1)
                        magnet_kl = (policy * (log_policy - log_magnet)).sum() / size
                        loss = loss + settings.magnet * magnet_kl

                    optimizer.zero_grad(set_to_none=True)
                    loss.backward()  # type: ignore[no-untyped-call]
                    processes.add([parameter.grad for parameter in parameters if parameter.grad is not None])
                    gradient_norm = torch.nn.utils.clip_grad_norm_(parameters, settings.max_gradient)
                    optimizer.step()
                    gradient_steps += 1
                    num_minibatches += 1
                    with torch.no_grad():
                        # The first weights are forgotten sooner than the decay would forget them.
                        decay = min(settings.ema, gradient_steps / (gradient_steps + 10))
                        for averaged, current in zip(average.parameters(), network.parameters(), strict=True):
                            averaged.lerp_(current, 1 - decay)
                        for name, number in {
                            "policy_loss": policy_loss,
                            "value_loss": value_loss,
                            "entropy": entropy,
                            "magnet_kl": magnet_kl,
                            "policy_kl": (ratio - 1 - log_ratio).sum() / size,
                            "clipped": ((ratio - 1).abs() > settings.clip).sum() / size,
                            "gradient_norm": gradient_norm / processes.size,
                        }.items():
                            sums[name] = sums.get(name, 0) + number.detach()

            # ---------------------------------------------------- decisions that wait go to the first rows of the next rollout
            open_at = torch.from_numpy(np.maximum(open_rows.T, 0)).to(device)  # [P, N]
            columns = torch.arange(num_games, device=device)
            for tensor in waiting.values():
                tensor[:num_seats] = tensor[open_at, columns]
            present[:num_seats] = open_rows.T >= 0

            # ------------------------------------------------------------------------------------------------- tell
            update += 1
            steps = update * steps_per_update
            update_seconds = time.monotonic() - update_began
            over = terminated | truncated
            counts = [np.concatenate(lengths).sum(), over.sum(), truncated.sum(), rewards[..., 0][over].sum()]
            counted = torch.tensor([*counts, present[:num_seats].sum()], dtype=torch.float64, device=device)
            processes.add([counted, *sums.values()])
            plies_played, ends, cut, payoff, num_waiting = counted.tolist()
            if writer is not None:
                writer.add_scalar("speed/decisions_per_second", steps_per_update / update_seconds, steps)
                if ends:
                    writer.add_scalar("games/plies", plies_played / ends, steps)
                    writer.add_scalar("games/truncated", cut / ends, steps)
                    writer.add_scalar("games/seat_0_payoff", payoff / ends, steps)
                for name, total in sums.items():
                    writer.add_scalar(f"learn/{name}", float(total) / num_minibatches, steps)
                writer.add_scalar("learn/explained_variance", float(explained), steps)
                writer.add_scalar("learn/waiting", num_waiting / steps_per_update, steps)
                writer.add_scalar("schedule/learning_rate", learning_rate, steps)
                writer.add_scalar("schedule/entropy", entropy_weight, steps)
            progress.update(steps_per_update)

            # --------------------------------------------------------------------------------------- evaluate and save
            if writer is not None and (update % settings.eval_every == 0 or update == num_updates):
                played = evaluate_briefly()
                matches = [{"play": report.SAMPLED, **match.to_json()} for match in played]
                for match in played:
                    writer.add_scalar(f"wins/{match.opponent}", match.win_rate.value, steps)
                    writer.add_scalar(f"payoff/{match.opponent}", match.mean_payoff.value, steps)
                told = ", ".join(f"{report.brief(match)} of games against {match.opponent}" for match in played)
                speed = steps_per_update / update_seconds
                progress.set_postfix_str(", ".join(f"{match.opponent} {report.brief(match)}" for match in played))
                if progress.disable:
                    print(f"{steps:,} of {num_updates * steps_per_update:,} steps, {speed:,.0f} steps/s; wins {told}", flush=True)
            seconds += time.monotonic() - update_began
            if update % settings.save_every == 0 or update == num_updates:
                save()
                saved_at = update
    progress.close()

    # ------------------------------------------------------------------------------------------------------------- end
    folder = save() if saved_at != update or update == 0 else checkpoint.find(run)
    processes.part()
    if writer is None:
        return folder
    writer.close()
    if stopped:
        print(f"Stopped after {update * steps_per_update:,} steps and saved {folder}\nContinue with: {COMMAND} --resume {run}")
        raise KeyboardInterrupt
    if settings.final_games:
        print(f"Trained for {seconds / 60:.1f} minutes; measuring the averaged weights …", flush=True)
        report.measure_checkpoint(folder, average, game, opponents, settings.final_games, EVALUATION_SEED, settings.device)
    print(f"The agent is in {folder}")
    return folder


def draw(policy: torch.Tensor, masks: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
    """int64[B]: actions drawn with their probabilities, by one uniform number each, numbers[B, 1]."""
    cumulated = policy.cumsum(1)
    drawn = torch.searchsorted(cumulated, numbers * cumulated[:, -1:], right=True).clamp_(max=masks.shape[1] - 1)
    # Sums that are not rounded alike in all places may, once in millions of draws, lead to an illegal neighbour.
    return torch.where(masks.gather(1, drawn), drawn, policy.argmax(1, keepdim=True)).squeeze(1)


def _answers(agent: pe.Agent, batch: pe.Batch, games: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """int64[G]: what an agent plays in these games of the batch."""
    if not len(games):
        return np.zeros(0, np.int64)
    views = batch.rows[games], batch.observations[games], batch.masks[games], batch.seats[games]
    return agent.act(*views, batch.keys(rng.MOVE, games))


def line(first: float, last: float, share: float) -> float:
    """What lies that share of the way from the first to the last."""
    return first + (last - first) * share


def seed_for(seed: int, purpose: int) -> int:
    """Seeds for different purposes that have nothing in common."""
    return int(rng.fold(rng.seed_key(seed), purpose))


def batch_state(batch: pe.Batch) -> dict[str, torch.Tensor]:
    """What the batch pickles, as bytes."""
    return {
        name: torch.from_numpy(np.ascontiguousarray(array).view(np.uint8).copy())
        for name, array in batch.__getstate__().items()
        if name != "game"
    }


def restore(batch: pe.Batch, state: dict[str, torch.Tensor], share: slice = slice(None)) -> None:
    """Put the games of `share` into the batch."""
    here = batch.__getstate__()
    arrays = {name: state[name].numpy().view(array.dtype)[share] for name, array in here.items() if name != "game"}
    batch.__setstate__({"game": batch.game, **arrays})


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    settings, resume = read_settings(Settings, COMMAND, CHANGEABLE, arguments)
    train(settings, resume)
    return 0


if __name__ == "__main__":
    run_command(main)
