"""The batched route: an EnvRunner that steps a whole `Batch` and hands RLlib the decisions of every seat as an episode.

Letters: N games of one runner, R rows of a rollout in time (see `training.train`), P seats, A actions, D decisions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from ray.rllib.connectors.connector_v2 import ConnectorV2
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.columns import Columns
from ray.rllib.env import INPUT_ENV_SINGLE_SPACES, INPUT_ENV_SPACES
from ray.rllib.env.single_agent_env_runner import SingleAgentEnvRunner
from ray.rllib.env.single_agent_episode import SingleAgentEpisode
from ray.rllib.env.utils.infinite_lookback_buffer import InfiniteLookbackBuffer
from ray.rllib.evaluation.postprocessing import Postprocessing

from pyramid_envs import rng
from pyramid_envs.batch import Batch, Step
from pyramid_envs.envs.spaces import action_space, mask_space, observation_space
from pyramid_envs.game import Game
from pyramid_envs.registry import make_game

OBSERVATION, MASK = "observation", "action_mask"  # what an observation of `RLlibEnv` consists of
_PART = 8192  # observations that go through the network at once: more only costs memory


class Games:
    """What RLlib takes for the environment of a `BatchRunner`: the spaces.

    Args:
        config: ``game`` and its ``options``.
    """

    def __init__(self, config: dict[str, Any]) -> None:
        self.game: Game = make_game(config["game"], **config["options"])
        self.single_observation_space = spaces.Dict({OBSERVATION: observation_space(self.game), MASK: mask_space(self.game)})
        self.single_action_space = action_space(self.game)
        self.observation_space, self.action_space = self.single_observation_space, self.single_action_space

    @property
    def unwrapped(self) -> Games:
        """These games; RLlib asks for what is under all wrappers."""
        return self

    def close(self) -> None:
        """Nothing is held open."""


class BatchRunner(SingleAgentEnvRunner):
    """Plays ``num_envs_per_env_runner`` games side by side, ``rollout_fragment_length`` actions in each of them a sample.

    Every seat of a game is an episode: its observations, its actions, and the payoff as the reward of its last one, whoever's
    move ended the game. A sample ends in the midst of games. The last decision of a seat, of which it is not known yet what it
    leads to, waits for the next sample: its observation ends the present chunk of the episode, for the value to lean on, and
    begins the next. Where ``max_plies`` cut a game, what the last decision led to is never known: its observation ends the
    episode, truncated, and its action is not learned from.
    """

    env: Games

    def make_env(self) -> None:
        """Set up the games; they are dealt with the first sample."""
        self.env = Games(self.config.env_config)
        self.num_envs = self.config.num_envs_per_env_runner
        self._batch: Batch | None = None

    def get_spaces(self) -> dict[str, Any]:
        """What the module sees and does."""
        if self.env is None:  # in the process that only learns
            return dict(self.spaces)
        one = self.env.single_observation_space, self.env.single_action_space
        return {INPUT_ENV_SPACES: one, INPUT_ENV_SINGLE_SPACES: one, DEFAULT_MODULE_ID: one}

    def _deal(self) -> Batch:
        """New games. Those of a runner that replaces a lost one are others than it has played."""
        game = self.env.game
        seed = rng.seed_key(self._seed or 0)
        for number in (self.worker_index or 0, self.num_env_steps_sampled_lifetime):
            seed = rng.fold(seed, number)
        batch = Batch(game, self.num_envs, int(seed))
        num_seats = game.num_players
        # What waits for the next sample, in one row for each seat.
        self._waiting = _Rows(num_seats, self.num_envs, game)
        self._waiting.seats[:] = np.arange(num_seats)[:, None]
        self._played = np.zeros((self.num_envs, num_seats), np.int64)  # decisions of each seat handed on in its present game
        self._batch, self._needs_initial_reset = batch, False
        return batch

    def _sample(
        self,
        *,
        num_timesteps: int | None = None,
        num_episodes: int | None = None,
        explore: bool,
        random_actions: bool = False,
        force_reset: bool = False,
    ) -> list[SingleAgentEpisode]:
        """Play, and hand on what is known of the decisions."""
        if num_timesteps is None or random_actions:
            raise ValueError("BatchRunner samples a number of steps, by its module: use batch_mode='truncate_episodes'")
        batch = self._deal() if self._batch is None or force_reset else self._batch
        game, num_seats = batch.game, batch.game.num_players
        torch.set_num_threads(max(1, int(self.config.num_cpus_per_env_runner)))

        plies = -(-num_timesteps // self.num_envs)
        rows = _Rows(num_seats + plies, self.num_envs, game)
        rows.begin_with(self._waiting)
        ends = _Ends(batch)
        games = np.zeros((num_seats + plies, self.num_envs), np.int64)  # which game of its place a decision belongs to
        lengths: list[NDArray[np.int64]] = []
        for t in range(num_seats, num_seats + plies):
            rows.observations[t], rows.masks[t], rows.seats[t] = batch.observations, batch.masks, batch.seats
            rows.present[t] = True
            games[t] = batch.episodes
            seen = {OBSERVATION: torch.from_numpy(rows.observations[t]), MASK: torch.from_numpy(rows.masks[t])}
            forward = self.module.forward_exploration if explore else self.module.forward_inference
            logits = forward({Columns.OBS: seen})[Columns.ACTION_DIST_INPUTS]
            distribution = self.module.get_exploration_action_dist_cls().from_logits(logits)
            actions = distribution.sample() if explore else logits.argmax(1)
            rows.actions[t], rows.logits[t] = actions.numpy(), logits.numpy()
            rows.log_probs[t] = distribution.logp(actions).numpy()
            played, before = batch.plies + 1, batch.episodes.copy()
            over = ends.note(before, batch.step(rows.actions[t]))
            lengths.append(played[over])
        games[:num_seats] = games[num_seats]  # those that wait belong to the games that went on
        ends.close()

        episodes = self._episodes(rows, games, ends)
        self._tell(plies * self.num_envs, np.concatenate(lengths), ends)
        return episodes

    def _episodes(self, rows: _Rows, games: NDArray[np.int64], ends: _Ends) -> Chunks:
        """The decisions of each seat in each game, in time, as chunks of episodes."""
        num_games = self.num_envs
        # Sorted by place, game, seat and time, a stream of decisions is a run of equal keys.
        at = np.flatnonzero(rows.present)
        place = at % num_games
        game, seat = games.reshape(-1)[at], rows.seats.reshape(-1)[at]
        order = np.lexsort((at, seat, game, place))
        at, place, game, seat = at[order], place[order], game[order], seat[order]
        begins = np.flatnonzero(np.r_[True, (np.diff(place) != 0) | (np.diff(game) != 0) | (np.diff(seat) != 0)])
        lengths = np.diff(np.r_[begins, len(at)])
        place, game, seat = place[begins], game[begins], seat[begins]
        end = ends.find(place, game)  # -1: the game goes on
        terminated = (end >= 0) & ~ends.truncated[end] if len(ends.truncated) else np.zeros(len(end), np.bool_)

        # Every stream gets a piece of arrays that hold all of them; one that the rules have ended has an observation more.
        pieces = np.r_[0, np.cumsum(lengths + terminated)]
        target = np.arange(len(at)) + np.repeat(pieces[:-1] - begins, lengths)
        observations = np.zeros((pieces[-1], *rows.observations.shape[2:]), np.int8)
        masks = np.zeros((pieces[-1], rows.masks.shape[2]), np.int8)
        observations[target] = rows.flat("observations")[at]
        masks[target] = rows.flat("masks")[at]
        last = pieces[1:][terminated] - 1
        observations[last] = ends.observations[end[terminated], seat[terminated]]
        rewards = np.zeros(pieces[-1], np.float32)
        rewards[last - 1] = ends.payoffs[end[terminated], seat[terminated]]
        actions = np.zeros(pieces[-1], np.int64)
        log_probs = np.zeros(pieces[-1], np.float32)
        logits = np.zeros((pieces[-1], rows.logits.shape[2]), np.float32)
        actions[target] = rows.flat("actions")[at]
        log_probs[target] = rows.flat("log_probs")[at]
        logits[target] = rows.flat("logits")[at]

        opened = end < 0
        self._waiting.present[:] = False
        self._waiting.take(seat[opened], place[opened], rows, at[begins + lengths - 1][opened])
        # Decisions handed on before, in games that have gone on since the last sample.
        started = np.where(game == games[0, place], self._played[place, seat], 0)
        self._played[:] = 0
        self._played[place[opened], seat[opened]] = started[opened] + lengths[opened] - 1

        columns = place, game, seat, pieces[:-1], pieces[1:] - 1, terminated, opened, started
        return Chunks(self.worker_index or 0, columns, (observations, masks, actions, rewards, log_probs, logits))

    def _tell(self, num_steps: int, lengths: NDArray[np.int64], ends: _Ends) -> None:
        """Log what was played; the return is that of seat 0, for those of all seats sum to 0."""
        self._log_env_steps(metric=self._metrics_num_env_steps_sampled, num_steps=num_steps)
        self._increase_sampled_metrics(num_steps, len(lengths))
        if len(lengths):
            self.metrics.log_value("plies", float(lengths.mean()), window=1)
            self.metrics.log_value("truncated", float(ends.truncated.mean()), window=1)
            self.metrics.log_value("seat_0_payoff", float(ends.payoffs[:, 0].mean()), window=1)


class Chunks(list[SingleAgentEpisode]):
    """Chunks of episodes that are pieces of a few large arrays, and travel as these: thousands of small ones take seconds.

    Args:
        worker: the number of the runner.
        columns: of each chunk its place, which game of it, the seat, where its piece begins and where its last observation is,
            whether the rules ended it, whether it goes on, and the seat's decisions before it.
        arrays: observations, masks, actions, rewards, log-probabilities and logits, with a row for each observation.
    """

    def __init__(self, worker: int, columns: tuple[NDArray[Any], ...], arrays: tuple[NDArray[Any], ...]) -> None:
        super().__init__()
        self._made_of = worker, columns, arrays
        observations, masks, actions, rewards, log_probs, logits = arrays
        for place, game, seat, low, high, terminated, is_open, started in zip(
            *(column.tolist() for column in columns), strict=True
        ):
            if low == high:  # a single decision, of which nothing is known yet
                continue
            episode = SingleAgentEpisode(
                id_=f"{worker}-{place}-{game}-{seat}",
                observations=InfiniteLookbackBuffer({OBSERVATION: observations[low : high + 1], MASK: masks[low : high + 1]}),
                infos=InfiniteLookbackBuffer([{}] * (high + 1 - low)),
                actions=InfiniteLookbackBuffer(actions[low:high]),
                rewards=InfiniteLookbackBuffer(rewards[low:high]),
                extra_model_outputs={
                    Columns.ACTION_DIST_INPUTS: InfiniteLookbackBuffer(logits[low:high]),
                    Columns.ACTION_LOGP: InfiniteLookbackBuffer(log_probs[low:high]),
                },
                terminated=terminated,
                truncated=not (terminated or is_open),
                t_started=started,
                len_lookback_buffer=0,
            )
            self.append(episode)

    def __reduce__(self) -> tuple[Any, ...]:
        return Chunks, self._made_of


class ChunksToBatch(ConnectorV2):
    """What RLlib's default learner pipeline makes of episodes, for all of them at once rather than one by one.

    Args:
        input_observation_space: RLlib's.
        input_action_space: RLlib's.
        gae_lambda: decay of generalised advantage estimation; there is no discount.
    """

    def __init__(self, input_observation_space: Any = None, input_action_space: Any = None, *, gae_lambda: float) -> None:
        super().__init__(input_observation_space, input_action_space)
        self.gae_lambda = gae_lambda

    def __call__(self, *, rl_module: Any, batch: dict[str, Any], episodes: list[SingleAgentEpisode], **kwargs: Any) -> Any:
        """The batch to learn from, by module."""
        module = rl_module[DEFAULT_MODULE_ID]
        device = next(module.parameters()).device

        def together(pieces: list[NDArray[Any]]) -> torch.Tensor:
            return torch.from_numpy(np.concatenate(pieces)).to(device)

        lengths = np.array([len(episode.actions.data) for episode in episodes])
        terminated = np.array([episode.is_terminated for episode in episodes])
        seen = {name: together([episode.observations.data[name] for episode in episodes]) for name in (OBSERVATION, MASK)}
        with torch.no_grad():
            parts = torch.split(seen[OBSERVATION], _PART)
            values = torch.cat([module.compute_values({Columns.OBS: {OBSERVATION: part}}) for part in parts])
        rewards = np.concatenate([episode.rewards.data for episode in episodes])
        advantages, decided = advantages_of(values.cpu().numpy(), rewards, lengths, terminated, self.gae_lambda)
        at = torch.from_numpy(decided).to(device)
        advantage = torch.from_numpy(advantages).to(device)
        batch[DEFAULT_MODULE_ID] = {
            Columns.OBS: {name: column[at] for name, column in seen.items()},
            Columns.ACTIONS: together([episode.actions.data for episode in episodes]),
            **{
                name: together([episode.extra_model_outputs[name].data for episode in episodes])
                for name in (Columns.ACTION_LOGP, Columns.ACTION_DIST_INPUTS)
            },
            Postprocessing.VALUE_TARGETS: values[at] + advantage,
            Postprocessing.ADVANTAGES: (advantage - advantage.mean()) / advantage.std().clamp(min=1e-4),
        }
        return batch


def advantages_of(
    values: NDArray[np.float32],
    rewards: NDArray[np.float32],
    lengths: NDArray[np.int64],
    terminated: NDArray[np.bool_],
    gae_lambda: float,
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Generalised advantage estimation along C chunks that stand one after the other; D decisions.

    Args:
        values: [D + C], of every observation, that at the end of each chunk among them.
        rewards: [D].
        lengths: [C], of the chunks in decisions.
        terminated: [C], whether nothing comes after a chunk.
        gae_lambda: the decay.

    Returns:
        [D], the advantages, and [D], where among the observations the decisions are.
    """
    ends = np.cumsum(lengths)
    decided = np.arange(len(rewards)) + np.repeat(np.arange(len(lengths)), lengths)
    following = values[decided + 1]
    following[ends[terminated] - 1] = 0
    deltas = rewards + following - values[decided]
    advantages = np.zeros_like(rewards)
    carried = np.zeros(len(lengths), np.float32)
    for back in range(1, int(lengths.max(initial=0)) + 1):
        here = lengths >= back
        at = ends[here] - back
        carried[here] = deltas[at] + np.float32(gae_lambda) * carried[here]
        advantages[at] = carried[here]
    return advantages, decided


class _Rows:
    """Decisions in rows of N; see `training.train`."""

    def __init__(self, num_rows: int, num_games: int, game: Game) -> None:
        shape = num_rows, num_games
        self.observations = np.zeros((*shape, *game.observation_shape), np.int8)
        self.masks = np.zeros((*shape, game.num_actions), np.bool_)
        self.logits = np.zeros((*shape, game.num_actions), np.float32)
        self.log_probs = np.zeros(shape, np.float32)
        self.actions = np.zeros(shape, np.int64)
        self.seats = np.zeros(shape, np.int64)
        self.present = np.zeros(shape, np.bool_)

    def flat(self, name: str) -> NDArray[Any]:
        """A column with rows and games as one axis."""
        column: NDArray[Any] = getattr(self, name)
        return column.reshape(-1, *column.shape[2:])

    def begin_with(self, first: _Rows) -> None:
        """Copy rows to the first ones of these."""
        for name, column in vars(first).items():
            getattr(self, name)[: len(column)] = column

    def take(self, seats: NDArray[np.int64], games: NDArray[np.int64], source: _Rows, at: NDArray[np.int64]) -> None:
        """Put decisions of other rows, counted flat, where their seats' decisions wait."""
        for name in ("observations", "masks", "logits", "log_probs", "actions", "present"):
            getattr(self, name)[seats, games] = source.flat(name)[at]


class _Ends:
    """The games that ended in a rollout of N games. E ends."""

    def __init__(self, batch: Batch) -> None:
        self._batch = batch
        self._seats = np.arange(batch.game.num_players)
        self._keys, self._order = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self.payoffs = np.zeros((0, batch.game.num_players), np.float32)  # [E, P]
        self.truncated = np.zeros(0, np.bool_)  # [E]
        self.observations = np.zeros((0, batch.game.num_players, *batch.game.observation_shape), np.int8)  # [E, P, ...], the last
        self._noted: list[tuple[NDArray[Any], ...]] = []

    def note(self, before: NDArray[np.int64], step: Step) -> NDArray[np.int64]:
        """Take in the ends of a step of the batch; their places.

        Args:
            before: [N], which game of its place was played.
            step: what came of it.
        """
        places = np.flatnonzero(step.terminated | step.truncated)
        each = np.repeat(places, len(self._seats))
        seen = self._batch.observe(np.tile(self._seats, len(places)), each, final=True)
        seen = seen.reshape(len(places), len(self._seats), *seen.shape[1:])
        self._noted.append((self._key(places, before[places]), step.rewards[places], step.truncated[places], seen))
        return places

    def close(self) -> None:
        """All ends are noted."""
        keys, self.payoffs, self.truncated, self.observations = (
            np.concatenate(column) for column in zip(*self._noted, strict=True)
        )
        self._order = np.argsort(keys)
        self._keys = keys[self._order]

    def find(self, places: NDArray[np.int64], games: NDArray[np.int64]) -> NDArray[np.int64]:
        """[D]: the number of the end of each of these games, -1 where it goes on."""
        wanted = self._key(places, games)
        if not len(self._keys):
            return np.full(len(wanted), -1)
        found = np.minimum(np.searchsorted(self._keys, wanted), len(self._keys) - 1)
        return np.where(self._keys[found] == wanted, self._order[found], -1)

    def _key(self, places: NDArray[np.int64], games: NDArray[np.int64]) -> NDArray[np.int64]:
        return games * self._batch.num_games + places
