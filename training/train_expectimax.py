"""Self-play training by looking one turn ahead, for games in which nothing is hidden: no luck of the dice disturbs it.

::

    python -m training.train_expectimax --game treehouse
    python -m training.train_expectimax --config configs/expectimax/treehouse.yaml --options.num_players 3
    python -m training.train_expectimax --resume runs/treehouse-2p-20250101-120000

Two networks learn. One values positions just after an action, for every seat; it learns from what it says itself one turn
later, averaged exactly over chance, the best action being chosen each time (`training.expectimax`; fitted value iteration). The
other is the policy, the agent in the end: after some outcomes of every position it learns what the first says of every action.
It is drawn to probabilities that fall by a factor of e for each `temperature` that an action is worth less than the best, and
rather misses a good action than plays a bad one (it minimises the divergence of the policy from them, not theirs from it). The
policy plays, with a share of random actions. What looks ahead, what is saved and what is evaluated are exponential averages of
the weights (EMA). Ctrl-C saves and stops; ``--resume`` continues with the same numbers as if nothing had happened.

What TensorBoard shows (``tensorboard --logdir runs``); the horizontal axis counts decisions:

speed/decisions_per_second  over the last update, learning included, evaluation and saving left out
games/plies                 mean length in actions of the games that ended in the last rollout
games/truncated             share of them that max_plies cut
games/seat_0_payoff         mean payoff of seat 0 in them
learn/worth_loss            mean squared difference between what positions are valued at and what looking ahead says of them
learn/policy_loss           Kullback-Leibler divergence of the policy from what it is to come to, in nats
learn/regret                what the policy, drawing its actions, is paid less than the best action, as looking ahead values both
learn/value_loss            mean squared error of the policy network's own value, which only search and pictures look at
learn/entropy               of the policy over legal actions, in nats
learn/policy_gradient_norm, learn/worth_gradient_norm  before clipping
schedule/learning_rate, schedule/temperature  what the schedules say
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
from numpy.typing import NDArray
from torch.utils.tensorboard import SummaryWriter
from tqdm import tqdm

import pyramid_envs as pe
from pyramid_envs.agents import checkpoint
from pyramid_envs.agents.learned import LearnedAgent
from pyramid_envs.agents.networks import build, initialise, mask_logits
from pyramid_envs.evaluation import Match, play_match
from pyramid_envs.threads import cores
from training import report
from training.cli import Interrupts, SettingsError, check_range, new_run, read_settings, run_command, use_device
from training.expectimax import Expectimax
from training.train import EVALUATION_SEED, batch_state, draw, line, restore, seed_for

COMMAND = "python -m training.train_expectimax"
# When a run is resumed:
CHANGEABLE = frozenset({"total_steps", "minutes", "device", "threads", "opponents"})
CHANGEABLE |= {"eval_every", "eval_games", "final_games", "save_every", "keep"}


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
    """Where the networks live: cpu, cuda, cuda:1."""
    threads: int | None = None
    """Threads of the networks on the CPU; by default one for each core."""

    total_steps: int = 4_000_000
    """Decisions to learn from; the schedules end with them."""
    minutes: float | None = None
    """Stop after so many minutes, even if total_steps is not reached."""
    num_games: int = 1024
    """Games side by side."""
    plies: int = 8
    """Actions played in each of them between two updates."""
    explore: float = 0.1
    """Share of actions that are drawn from all legal ones alike."""

    hidden: list[int] = field(default_factory=lambda: [256, 256])
    """Layers of the policy, an mlp."""
    worth_hidden: list[int] = field(default_factory=lambda: [256, 256])
    """Layers of the network that values positions, an mlp; it is not part of the agent."""
    activation: str = "gated"
    """Of the layers of both: relu, tanh, or gated."""
    bfloat16: bool = False
    """Whether the networks compute in bfloat16 where that is sound; faster on processors that have instructions for it."""

    learning_rate: float = 1.5e-3
    """Adam's step size at the start; it falls to 0 along a line."""
    temperature: float = 0.1
    """How much less than the best an action must be worth to be played e times less often, at the start."""
    final_temperature: float = 0.005
    """And at the end; its logarithm moves along a line."""
    outcomes: int = 2
    """Outcomes of chance, drawn by their probabilities, after which the policy learns from a position in one pass."""
    epochs: int = 2
    """Passes over each rollout."""
    minibatch: int = 1024
    """Positions of one gradient step."""
    value_weight: float = 0.1
    """Weight of the loss of the policy network's own value."""
    max_gradient: float = 0.5
    """Gradients of a network longer than this are shortened."""
    ema: float = 0.998
    """Decay of the averaged weights, each gradient step."""

    opponents: list[str] = field(default_factory=lambda: ["random", "greedy"])
    """Fixed agents to be measured against."""
    eval_every: int = 50
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
        check_range(self, ["explore", "ema"], 0, 1)
        check_range(self, ["temperature", "final_temperature"], 1e-6)
        check_range(self, ["learning_rate", "value_weight", "max_gradient", "minutes", "final_games"], 0)
        counts = ["total_steps", "num_games", "plies", "outcomes", "epochs", "minibatch", "threads"]
        check_range(self, [*counts, "eval_every", "eval_games", "save_every", "keep"], 1)
        if min([*self.hidden, *self.worth_hidden], default=1) < 1:
            raise SettingsError(f"layers must have at least 1 unit, not {self.hidden} and {self.worth_hidden}")
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
    device = use_device(settings.device)
    torch.set_num_threads(settings.threads or cores())
    num_games, num_seats = settings.num_games, game.num_players
    steps_per_update = num_games * settings.plies
    num_updates = settings.total_steps // steps_per_update

    network_config = {"kind": "mlp", "hidden": settings.hidden, "activation": settings.activation}
    try:
        expectimax = Expectimax(game)
        network = build(network_config, game.observation_shape, game.num_actions)
        # Its logits are what each seat will be paid, the viewer first; its value is not used.
        worth_network = build({**network_config, "hidden": settings.worth_hidden}, game.observation_shape, num_seats)
    except ValueError as error:
        raise SettingsError(str(error)) from None
    # Weights and the order of learning come from one generator, on the CPU; actions from another, where the network is.
    generator = torch.Generator().manual_seed(seed_for(settings.seed, 0))
    action_generator = torch.Generator(device).manual_seed(seed_for(settings.seed, 1))
    initialise(network, generator)
    initialise(worth_network, generator)
    network.to(device)
    worth_network.to(device)
    average, worth_average = copy.deepcopy(network), copy.deepcopy(worth_network)
    optimizer = torch.optim.Adam([*network.parameters(), *worth_network.parameters()], lr=settings.learning_rate, eps=1e-5)
    batch = pe.Batch(game, num_games, seed_for(settings.seed, 2))
    nodes = np.repeat(game.initial(), num_games)  # the games before the chance event that led to where they are
    viewers = (batch.seats - 1) % num_seats

    update, gradient_steps, seconds = 0, 0, 0.0
    matches: list[dict[str, Any]] = []
    if resume is None:
        run = new_run(settings, settings.run, game)
    else:
        folder = checkpoint.find(resume)
        run = folder.parent
        state = checkpoint.load_training_state(folder)
        update, gradient_steps, seconds = state["update"], state["gradient_steps"], state["seconds"]
        network.load_state_dict(state["network"])
        worth_network.load_state_dict(state["worth_network"])
        average.load_state_dict(checkpoint.load_network(folder, game).state_dict())
        worth_average.load_state_dict(state["worth_average"])
        optimizer.load_state_dict(state["optimizer"])
        generator.set_state(state["generator"])
        action_generator.set_state(state["action_generator"])
        restore(batch, state["batch"])
        nodes = state["nodes"].numpy().view(game.row_dtype).reshape(num_games)
        viewers = state["viewers"].numpy()

    def save() -> Path:
        """Write a checkpoint."""
        config = checkpoint.describe(
            game,
            network_config,
            update * steps_per_update,
            trainer=COMMAND,
            settings=asdict(settings),
            minutes=seconds / 60,
            hardware=f"{settings.device}, {torch.get_num_threads()} threads",
            packages=report.versions(),
        )
        results = report.results_of(game, matches)
        state = {
            "update": update,
            "gradient_steps": gradient_steps,
            "seconds": seconds,
            "network": network.state_dict(),
            "worth_network": worth_network.state_dict(),
            "worth_average": worth_average.state_dict(),
            "optimizer": optimizer.state_dict(),
            "generator": generator.get_state(),
            "action_generator": action_generator.get_state(),
            "batch": batch_state(batch),
            "nodes": torch.from_numpy(nodes.view(np.uint8).copy()),
            "viewers": torch.from_numpy(viewers.copy()),
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

    def evaluate(seen: NDArray[np.int8]) -> NDArray[np.float32]:
        """float32[R, P]: what each seat will be paid, the viewer first."""
        values: NDArray[np.float32] = compute(worth_average, torch.from_numpy(seen).to(device))[0].cpu().numpy()
        return values

    def evaluate_briefly() -> list[Match]:
        agent = LearnedAgent(average, game, "self-play", device=settings.device)
        return [play_match(game, agent, opponent, settings.eval_games, EVALUATION_SEED) for opponent in opponents]

    print(f"{game!r}\nmlp with {sum(p.numel() for p in network.parameters()):,} weights; writing to {run}")
    writer = SummaryWriter(str(run), purge_step=update * steps_per_update)
    progress = tqdm(
        total=num_updates * steps_per_update,
        initial=update * steps_per_update,
        unit=" steps",
        unit_scale=True,
        disable=None,
    )
    saved_at = update

    with Interrupts() as interrupts:
        while update < num_updates:
            if interrupts.wanted or (settings.minutes is not None and seconds > settings.minutes * 60):
                break
            update_began = time.monotonic()
            done_share = update / num_updates
            learning_rate = line(settings.learning_rate, 0.0, done_share)
            temperature = settings.temperature * (settings.final_temperature / settings.temperature) ** done_share
            for group in optimizer.param_groups:
                group["lr"] = learning_rate

            # --------------------------------------------------------------------------------------- look ahead, and play
            looks = []
            lengths: list[NDArray[np.int64]] = []
            num_ends = num_cut = 0
            payoff = 0.0
            with torch.inference_mode():
                for _ in range(settings.plies):
                    looks.append(expectimax.look_ahead(nodes, viewers, evaluate))
                    masks = torch.from_numpy(batch.masks).to(device)
                    logits, _ = compute(network, torch.from_numpy(batch.observations).to(device))
                    policy = torch.softmax(mask_logits(logits, masks), 1)
                    policy = torch.lerp(policy, masks / masks.sum(1, keepdim=True), settings.explore)
                    numbers = torch.rand((num_games, 1), generator=action_generator, device=device)
                    actions = draw(policy, masks, numbers).cpu().numpy()
                    nodes, viewers, plies = expectimax.play(batch.rows, actions), batch.seats.copy(), batch.plies + 1
                    step = batch.step(actions)
                    ends = step.terminated | step.truncated
                    nodes[ends] = game.initial()
                    viewers[ends] = (batch.seats[ends] - 1) % num_seats
                    lengths.append(plies[ends])
                    num_ends, num_cut = num_ends + int(ends.sum()), num_cut + int(step.truncated.sum())
                    payoff += float(step.rewards[:, 0].sum())

            # ------------------------------------------------------------------------------------------------ learn
            columns = [torch.from_numpy(np.concatenate(column)).to(device) for column in zip(*looks, strict=True)]
            seen, targets, probs, observations, all_masks, worths = columns
            sums: dict[str, torch.Tensor] = {}
            num_minibatches = 0
            for _ in range(settings.epochs):
                order = torch.randperm(steps_per_update, generator=generator)
                for minibatch in order.tensor_split(max(1, round(steps_per_update / settings.minibatch))):
                    worth, _ = compute(worth_network, seen[minibatch])
                    worth_loss = (worth - targets[minibatch]).square().mean()

                    outcomes = torch.multinomial(
                        probs[minibatch].cpu().float(), settings.outcomes, replacement=True, generator=generator
                    ).to(device)
                    places = minibatch.to(device)[:, None].expand_as(outcomes)
                    masks = all_masks[places, outcomes].flatten(0, 1)
                    worth_of = worths[places, outcomes].flatten(0, 1)
                    best = worth_of.masked_fill(~masks, -torch.inf).max(1).values
                    log_target = torch.log_softmax(mask_logits(worth_of / temperature, masks), 1)
                    logits, value = compute(network, observations[places, outcomes].flatten(0, 1))
                    logits = mask_logits(logits, masks)
                    policy, log_policy = torch.softmax(logits, 1), torch.log_softmax(logits, 1)
                    policy_loss = (policy * (log_policy - log_target)).sum(1).mean()
                    value_loss = (value - best).square().mean()

                    optimizer.zero_grad(set_to_none=True)
                    (worth_loss + policy_loss + settings.value_weight * value_loss).backward()  # type: ignore[no-untyped-call]
                    norms = [
                        torch.nn.utils.clip_grad_norm_(module.parameters(), settings.max_gradient)
                        for module in (network, worth_network)
                    ]
                    optimizer.step()
                    gradient_steps += 1
                    num_minibatches += 1
                    with torch.no_grad():
                        # The first weights are forgotten sooner than the decay would forget them.
                        decay = min(settings.ema, gradient_steps / (gradient_steps + 10))
                        for averaged, current in ((average, network), (worth_average, worth_network)):
                            torch._foreach_lerp_(list(averaged.parameters()), list(current.parameters()), 1 - decay)
                        for name, number in {
                            "worth_loss": worth_loss,
                            "policy_loss": policy_loss,
                            "regret": (best - (policy * worth_of).sum(1)).mean(),
                            "value_loss": value_loss,
                            "entropy": -(policy * log_policy).sum(1).mean(),
                            "policy_gradient_norm": norms[0],
                            "worth_gradient_norm": norms[1],
                        }.items():
                            sums[name] = sums.get(name, 0) + number.detach()

            # ------------------------------------------------------------------------------------------------- tell
            update += 1
            steps = update * steps_per_update
            update_seconds = time.monotonic() - update_began
            writer.add_scalar("speed/decisions_per_second", steps_per_update / update_seconds, steps)
            if num_ends:
                writer.add_scalar("games/plies", np.concatenate(lengths).mean(), steps)
                writer.add_scalar("games/truncated", num_cut / num_ends, steps)
                writer.add_scalar("games/seat_0_payoff", payoff / num_ends, steps)
            for name, total in sums.items():
                writer.add_scalar(f"learn/{name}", float(total) / num_minibatches, steps)
            writer.add_scalar("schedule/learning_rate", learning_rate, steps)
            writer.add_scalar("schedule/temperature", temperature, steps)
            progress.update(steps_per_update)

            # --------------------------------------------------------------------------------------- evaluate and save
            if update % settings.eval_every == 0 or update == num_updates:
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
    writer.close()
    if interrupts.wanted:
        print(f"Stopped after {update * steps_per_update:,} steps and saved {folder}\nContinue with: {COMMAND} --resume {run}")
        raise KeyboardInterrupt
    if settings.final_games:
        print(f"Trained for {seconds / 60:.1f} minutes; measuring the averaged weights …", flush=True)
        report.measure_checkpoint(folder, average, game, opponents, settings.final_games, EVALUATION_SEED, settings.device)
    print(f"The agent is in {folder}")
    return folder


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    settings, resume = read_settings(Settings, COMMAND, CHANGEABLE, arguments)
    train(settings, resume)
    return 0


if __name__ == "__main__":
    run_command(main)
