"""Recorders: environments and batches that write down every game that is finished in them.

A game that is abandoned, or that an illegal action has ended, is no whole game and is not written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import ArrayLike, NDArray
from pettingzoo.utils.wrappers import BaseWrapper

from pyramid_envs.batch import Batch, Step
from pyramid_envs.errors import RecordError
from pyramid_envs.play.record import Record, append, open_to_append


class Recorder(BaseWrapper[str, dict[str, NDArray[np.int8]], int]):
    """Writes the games of a PettingZoo environment of this package to a file of records; see `pyramid_envs.play.record`.

    Args:
        env: from `aec_env`, or a `GameEnv`.
        path: of the file; games are added at its end.
        agents: who plays each seat, for people to read; None: not told.

    Raises:
        RecordError: if the file cannot be written to.
    """

    def __init__(self, env: Any, path: str | Path, agents: Sequence[str] | None = None) -> None:
        super().__init__(env)
        open_to_append(path)
        self.path, self.players = path, None if agents is None else tuple(agents)
        self._names: list[str] = []

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """See `GameEnv.reset`."""
        super().reset(seed, options)
        self._names = []

    def step(self, action: int | None) -> None:
        """See `GameEnv.step`."""
        inner = self.unwrapped
        row, going = inner.row.copy(), bool(inner.agents) and not self._over()
        super().step(action)
        if not going or inner.infos[inner.agents[0]].get("illegal_action"):
            return
        self._names.append(inner.game.action_name(row, action))
        if self._over():
            append(
                self.path,
                Record(
                    game=inner.game.name,
                    version=inner.game.version,
                    options=inner.game.options,
                    seed=int(inner._seed),
                    episode=inner._episode,
                    agents=self.players,
                    actions=tuple(self._names),
                    payoffs=tuple(float(inner.rewards[agent]) for agent in inner.possible_agents),
                    truncated=any(inner.truncations.values()),
                ),
            )

    def _over(self) -> bool:
        inner = self.unwrapped
        return any(inner.terminations.values()) or any(inner.truncations.values())


class RecordedBatch(Batch):
    """A batch that writes its games to a file of records; games that had begun when it was made are left out.

    Args:
        batch: whose games it goes on with.
        path: of the file; games are added at its end.
        agents: who plays in the game at a place, seat by seat; None: not told.

    Raises:
        RecordError: if the file cannot be written to.
    """

    def __init__(self, batch: Batch, path: str | Path, agents: Callable[[int], Sequence[str]] | None = None) -> None:
        super().__setstate__(batch.__getstate__())
        open_to_append(path)
        self.path, self.agents = path, agents
        # The names of the actions of every game; None for one whose beginning was not seen.
        self._names: list[list[str] | None] = [[] if ply == 0 else None for ply in self.plies.tolist()]

    def reset(self, seed: int | Sequence[int] | None = None) -> None:
        """See `Batch.reset`."""
        super().reset(seed)
        self._names = [[] for _ in range(self.num_games)]

    def restart(self, games: NDArray[np.int64]) -> None:
        """See `Batch.restart`."""
        super().restart(games)
        for i in games.tolist():
            self._names[i] = []

    def step(self, actions: ArrayLike, games: NDArray[np.int64] | None = None) -> Step:
        """See `Batch.step`."""
        places = self._places(games)
        rows, episodes = self.rows[places], self.episodes[places]
        step = super().step(actions, games)
        for g, (i, action) in enumerate(zip(places.tolist(), np.asarray(actions).tolist(), strict=True)):
            names = self._names[i]
            if names is not None:
                names.append(self.game.action_name(rows[g : g + 1], action))
            if step.terminated[g] or step.truncated[g]:
                if names is not None:
                    self._write(i, int(episodes[g]), names, step.rewards[g], bool(step.truncated[g]))
                self._names[i] = []
        return step

    def _write(self, i: int, episode: int, names: list[str], rewards: NDArray[np.float32], truncated: bool) -> None:
        payoffs = np.zeros(self.game.num_players) if truncated else self.game.returns(self.final_rows[i : i + 1])
        append(
            self.path,
            Record(
                game=self.game.name,
                version=self.game.version,
                options=self.game.options,
                seed=int(self.streams[i]),
                episode=episode,
                agents=None if self.agents is None else tuple(self.agents(i)),
                actions=tuple(names),
                payoffs=tuple(payoffs.tolist()),
                truncated=truncated,
            ),
        )

    def __getstate__(self) -> dict[str, Any]:
        """See `Batch.__getstate__`."""
        return {**super().__getstate__(), "path": self.path, "agents": self.agents, "names": self._names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.path, self.agents = state["path"], state["agents"]
        self._names = [None if names is None else list(names) for names in state["names"]]


class SeatRecorder(gymnasium.Wrapper[NDArray[np.int8], int, NDArray[np.int8], int], gymnasium.utils.RecordConstructorArgs):
    """Writes the games of a Gymnasium environment of this package, the opponents' actions with them, to a file of records.

    Args:
        env: from ``gymnasium.make``.
        path: of the file; games are added at its end.

    Raises:
        RecordError: if the file cannot be written to, or `env` is no environment of this package.
    """

    def __init__(self, env: gymnasium.Env[NDArray[np.int8], int], path: str | Path) -> None:
        gymnasium.utils.RecordConstructorArgs.__init__(self, path=path)
        super().__init__(env)
        games = getattr(env.unwrapped, "_games", None)
        if games is None or not isinstance(games.batch, Batch):
            raise RecordError(f"only games of pyramid_envs can be recorded, not {env.unwrapped}")
        games.batch = RecordedBatch(games.batch, path, games.players)
