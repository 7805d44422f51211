"""Random play, for tests that look at many positions."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np

import pyramid_envs as pe
from pyramid_envs.rng import MOVE, fold, seed_key

# Where random actions would end most games at once, as by a guess, games of odd seeds are kept going for so many events.
KEPT_GOING = 70


def choose(game: pe.Game, row: Any, seed: int, event: int, dice: np.random.Generator) -> int:
    """What happens next in the random game of this seed: an outcome, or a legal action; the row is not changed."""
    if game.to_move(row) == pe.CHANCE:
        outcomes, probabilities = game.chance_outcomes(row)
        return int(dice.choice(outcomes, p=probabilities))
    legal = dice.permutation(game.legal_actions(row)).tolist()
    if seed % 2 and event < KEPT_GOING and dice.random() < 0.95:
        for action in legal:
            after = row.copy()
            game.apply(after, action)
            if game.to_move(after) != pe.TERMINAL:
                return action
    return legal[0]


def play(game: pe.Game, seed: int, most: int = 5000) -> Iterator[Any]:
    """One random game: its row at the start and after every chance event and action. The row is changed in place: copy to keep.

    It stops at the end of the game, or after `most` events.
    """
    dice = np.random.default_rng(seed)
    row = game.initial()
    yield row
    for event in range(most):
        if game.to_move(row) == pe.TERMINAL:
            return
        game.apply(row, choose(game, row, seed, event, dice))
        yield row


def sample(game: pe.Game, games: int = 4, between: int = 15) -> list[Any]:
    """Positions of random games: of each the first 10, the last 4, and some between."""
    found = []
    for seed in range(games):
        nodes = [row.copy() for row in play(game, seed)]
        middle = nodes[10:-4]
        picked = np.random.default_rng(seed).permutation(len(middle))[:between]
        found += [*nodes[:10], *(middle[i] for i in sorted(picked)), *nodes[10:][-4:]]
    return found


def decisions(game: pe.Game, rows: list[Any]) -> list[Any]:
    """Those of the rows where a seat is to move."""
    return [row for row in rows if game.to_move(row) >= 0]


def key(seed: int, *path: int) -> np.uint64:
    """The random key that is reached from a seed by these numbers: episode, purpose, ply, .."""
    found = seed_key(seed)
    for n in path:
        found = np.uint64(fold(found, int(n)))
    return found


def act(agent: pe.Agent, batch: pe.Batch) -> np.ndarray:
    """What the agent plays in every game of the batch, seeded by the games' own streams."""
    return agent.act(batch.rows, batch.observations, batch.masks, batch.seats, batch.keys(MOVE))


def record(batch: pe.Batch, steps: int, agent: str = "random") -> list[dict[str, np.ndarray]]:
    """Everything that a batch shows, before each of these steps, with the actions then played and what they brought."""
    player = pe.make_agent(agent, batch.game)
    shown = []
    for _ in range(steps):
        now = {
            name: getattr(batch, name).copy()
            for name in ("observations", "masks", "seats", "rows", "final_rows", "episodes", "plies")
        }
        now["actions"] = act(player, batch)
        now.update(batch.step(now["actions"])._asdict())
        shown.append(now)
    return shown


def assert_same(shown: list[dict[str, np.ndarray]], expected: list[dict[str, np.ndarray]], games: Any = slice(None)) -> None:
    """The records are equal, step by step and name by name; `games` says which of the expected games were shown."""
    assert len(shown) == len(expected)
    for step, (now, then) in enumerate(zip(shown, expected, strict=True)):
        for name, value in now.items():
            assert value.tobytes() == then[name][games].tobytes(), f"{name} differs at step {step}"


def digest(name: str, num_players: int, steps: int) -> str:
    """A hash of everything that comes out of some play of a game: of rows, views, rewards, chance, agents and redeals."""
    game = pe.make_game(name, num_players=num_players, max_plies=12)
    state = hashlib.sha256()
    batch = pe.Batch(game, 2, seed=7)
    greedy = pe.make_agent("greedy", game)
    for _ in range(steps):
        state.update(act(greedy, batch).tobytes())
        (now,) = record(batch, 1)
        for value in now.values():
            state.update(value.tobytes())
        row = now["rows"][:1]
        state.update(b"".join(game.redeal(row, seat, 3).tobytes() for seat in range(num_players)))
        state.update(game.observe(row, num_players - 1).tobytes())
    row = game.initial()
    rng = np.random.default_rng(0)
    for _ in range(steps):
        if game.to_move(row) == pe.CHANCE:
            state.update(b"".join(part.tobytes() for part in game.chance_outcomes(row)))
            game.resolve_chance(row, rng)
        elif game.to_move(row) != pe.TERMINAL:
            game.apply(row, rng.choice(game.legal_actions(row)))
        state.update(row.tobytes() + game.returns(row).tobytes())
    return state.hexdigest()
