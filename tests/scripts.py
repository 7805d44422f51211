"""Whole games recorded move by move, to be played again through every interface."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import pyramid_envs as pe
from pyramid_envs import rng


@dataclass
class Script:
    """A game from the start: what was seen and done at each ply, and how it ended."""

    seed: int
    episode: int
    rows: list[bytes]
    seats: list[int]
    actions: list[int]
    observations: list[np.ndarray]
    masks: list[np.ndarray]
    payoffs: np.ndarray
    truncated: bool


def record(game: pe.Game, seed: int, episodes: int = 1, agent: str = "random") -> list[Script]:
    """The first games of a stream, played by one agent in all seats through `Batch`."""
    batch, player = pe.Batch(game, 1, seed=seed), pe.make_agent(agent, game)
    scripts = []
    for episode in range(episodes):
        script = Script(seed, episode, [], [], [], [], [], np.zeros(game.num_players), False)
        while True:
            keys = batch.keys(rng.MOVE)
            action = player.act(batch.rows, batch.observations, batch.masks, batch.seats, keys)
            script.rows.append(batch.rows.tobytes())
            script.seats.append(int(batch.seats[0]))
            script.actions.append(int(action[0]))
            script.observations.append(batch.observations[0].copy())
            script.masks.append(batch.masks[0].copy())
            step = batch.step(action)
            if step.terminated[0] or step.truncated[0]:
                script.payoffs, script.truncated = step.rewards[0].copy(), bool(step.truncated[0])
                scripts.append(script)
                break
    return scripts


class Scripted:
    """An agent that plays what scripts say for the rows that it meets."""

    name = "scripted"

    def __init__(self, scripts: list[Script]) -> None:
        self.moves = {row: action for script in scripts for row, action in zip(script.rows, script.actions, strict=True)}

    def act(self, rows: Any, observations: Any, masks: Any, seats: Any, seeds: Any) -> np.ndarray:
        """See `pyramid_envs.agents.Agent`."""
        return np.array([self.moves[row.tobytes()] for row in rows], np.int64)


def decided(game: pe.Game, seed: int = 0) -> Script:
    """A game that somebody wins within the first few hundred plies (greedy play, where random play is slow to end)."""
    for agent in ("random", "greedy"):
        for s in range(seed, seed + 20):
            script = record(game, s, agent=agent)[0]
            if script.payoffs.any() and len(set(script.rows)) == len(script.rows):
                return script
    raise AssertionError(f"no decided game of {game.name} found")
