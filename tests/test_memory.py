"""Memory stays flat however many games are played."""

from __future__ import annotations

import gc

import psutil

import pyramid_envs as pe
from tests.playing import act

EPISODES = 10_000
LEAK = 100  # bytes an episode, which would be a megabyte


def test_memory_stays_flat_over_ten_thousand_episodes(game: pe.Game) -> None:
    # Games are cut short, so that as many ends and new deals as possible are seen.
    game = pe.make_game(game.name, num_players=game.num_players, max_plies=25)
    batch = pe.Batch(game, 250, seed=0)
    agent = pe.make_agent("random", game)
    process = psutil.Process()

    def grown(episodes: int) -> int:
        """How many bytes the process has grown by while so many games ended."""
        gc.collect()
        before = process.memory_info().rss
        ended = 0
        while ended < episodes:
            step = batch.step(act(agent, batch))
            ended += int((step.terminated | step.truncated).sum())
        gc.collect()
        return process.memory_info().rss - before

    grown(EPISODES // 5)
    # A leak shows every time, a page that the system hands out for its own reasons does not.
    assert min(grown(EPISODES) for _ in range(3)) < LEAK * EPISODES
