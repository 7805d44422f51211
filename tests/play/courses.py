"""Games for tests of play and records."""

from __future__ import annotations

import numpy as np

import pyramid_envs as pe
from pyramid_envs.play.record import Course
from pyramid_envs.rng import MOVE


def played(game: pe.Game, seed: int = 0, plies: int | None = None, agent: str = "greedy") -> Course:
    """A game between agents of one kind, up to its end or for so many plies."""
    course, player = Course(game, seed), pe.make_agent(agent, game)
    while not course.over and (plies is None or course.ply < plies):
        row, seat = course.row, course.seat
        observation, mask = game.observe(row, seat)[None], game.legal_mask(row)[None]
        keys = np.array([course.key(MOVE)], np.uint64)
        course.play(int(player.act(row, observation, mask, np.array([seat]), keys)[0]))
    return course


def disguised(course: Course, seat: int, seed: int) -> Course:
    """A course that `seat` cannot tell from the given one: positions and others' actions are exchanged for others that look the
    same to it. Each of them is exchanged by itself, so that the whole need not be a game.
    """
    game, dice = course.game, np.random.default_rng(seed)
    other = Course(game, course.seed + 1, course.episode)
    other.rows = [row.copy() for row in course.rows]
    other.actions = list(course.actions)
    other.rows[-1] = game.redeal(course.row, seat, seed)
    for ply, action in enumerate(course.actions):
        row = course.rows[ply]
        for attempt in range(4):
            redealt = game.redeal(row, seat, 100 * seed + attempt)
            if game.to_move(row) == seat:
                other.rows[ply] = redealt
                break
            shown = after(game, row, action, seat)
            alike = [b for b in dice.permutation(game.legal_actions(redealt)).tolist() if after(game, redealt, b, seat) == shown]
            if alike:  # two names of one visible action are no secret: then it keeps its own
                other.rows[ply], other.actions[ply] = redealt, action if action in alike else alike[0]
                break
    return other


def after(game: pe.Game, row: np.ndarray, action: int, seat: int) -> bytes:
    """What a seat sees once an action has been played, before chance."""
    row = row.copy()
    game.apply(row, action)
    return game.observe(row, seat).tobytes()
