"""The text of a golden playthrough: a game of fixed agents, as `Batch` deals and plays it from a seed."""

from __future__ import annotations

import hashlib
import textwrap
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import pyramid_envs as pe
from pyramid_envs import rng
from tests.playing import act, key

WIDTH = 120
MANY = 30  # of more choices than this only the first and the last are written out, with a hash of all
SHORTEST, LONGEST = 8, 30  # actions in a game worth reading
TALL = 12  # a text of more lines is shown only when the turn passes, and at the end


def path(name: str, num_players: int) -> Path:
    """The file of a game's playthrough."""
    return Path(__file__).with_name(f"{name}-{num_players}.txt")


def choose_game(game: pe.Game) -> tuple[str, int, list[int]]:
    """A game neither too short nor too long, of random agents, or of greedy ones where random play has none; else the shortest.

    Returns the agents' name, the seed and the actions played.
    """
    found = {}
    for name in ("random", "greedy"):
        seed, actions, readable = _choose_seed(game, name)
        found[name] = (name, seed, actions)
        if readable:
            return found[name]
    return found["random"]


def _choose_seed(game: pe.Game, name: str) -> tuple[int, list[int], bool]:
    batch = pe.Batch(game, 100, seed=0)
    agent = pe.make_agent(name, game)
    played: list[np.ndarray] = []
    lengths = np.zeros(batch.num_games, np.int64)
    while len(played) < LONGEST or not lengths.any():
        played.append(act(agent, batch))
        ended = batch.step(played[-1]).terminated
        lengths[ended & (lengths == 0)] = len(played)
    readable = (lengths >= SHORTEST) & (lengths <= LONGEST)
    seed = int(readable.argmax() if readable.any() else np.where(lengths, lengths, 10**9).argmin())
    return seed, [int(actions[seed]) for actions in played[: lengths[seed]]], bool(readable.any())


def short_hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:12]


def listed(names: list[str]) -> str:
    """Names, a comma between; of many only some."""
    if len(names) > MANY:
        names = [*names[:10], "...", *names[-3:], f"({len(names)}: {short_hash(', '.join(names).encode())})"]
    return ", ".join(names)


def chances(game: pe.Game, row: Any) -> str:
    """The outcomes of a chance event with their probabilities."""
    outcomes, probabilities = game.chance_outcomes(row)
    shares = [str(Fraction(p).limit_denominator(10**6)) for p in probabilities.tolist()]
    if len(set(shares)) == 1 and len(outcomes) > 1:
        return f"each {shares[0]}: {listed([game.outcome_name(row, o) for o in outcomes.tolist()])}"
    return listed([f"{game.outcome_name(row, o)} {share}" for o, share in zip(outcomes.tolist(), shares, strict=True)])


def paragraph(label: str, text: str) -> str:
    return textwrap.fill(text, WIDTH, initial_indent=f"{label:<10}", subsequent_indent=" " * 10, break_on_hyphens=False)


def playthrough(name: str, num_players: int) -> str:
    """The whole file of a game's playthrough."""
    game = pe.make_game(name, num_players=num_players)
    agents, seed, actions = choose_game(game)
    lines = [
        f"{game.title}, version {game.version}. Game 0 of seed {seed}, played by {agents} agents.",
        f"options: {', '.join(f'{option}={value!r}' for option, value in game.options.items())}",
        f"actions: {game.num_actions}; observation: {game.observation_shape}",
        "After every event come hashes of the row (r) and of every seat's observation (0, 1, ..).",
    ]

    turn_shown: int | None = None

    def show(row: Any) -> None:
        nonlocal turn_shown
        hashes = [short_hash(game.observe(row, seat).tobytes()) for seat in range(num_players)]
        text, turn = game.text(row).splitlines(), game.to_move(row)
        lines.append("")
        if len(text) <= TALL or turn != turn_shown:
            lines.extend(f"    {line}".rstrip() for line in text)
            turn_shown = turn
        seen = " ".join(f"{seat}={observed}" for seat, observed in enumerate(hashes))
        lines.append(paragraph("hashes", f"r={short_hash(row.tobytes())} {seen}"))

    row = game.initial()
    for ply in range(len(actions) + 1):
        k = 0
        while game.to_move(row) == pe.CHANCE:
            show(row)
            u = rng.uniform(key(seed, 0, rng.CHANCE, ply, k))
            outcome = int(game.drivers.sample(game.tables, row, u))
            lines.append(paragraph("chance", chances(game, row)))
            lines.append(paragraph("outcome", f"{outcome}  {game.outcome_name(row, outcome)}"))
            game.apply(row, outcome)
            k += 1
        show(row)
        if ply == len(actions):
            break
        lines.append(paragraph("to move", game.agents[game.to_move(row)]))
        lines.append(paragraph("legal", listed([game.action_name(row, a) for a in game.legal_actions(row).tolist()])))
        lines.append(paragraph("action", f"{actions[ply]}  {game.action_name(row, actions[ply])}"))
        game.apply(row, actions[ply])
    assert game.to_move(row) == pe.TERMINAL
    payoffs = [str(Fraction(payoff).limit_denominator(100)) for payoff in game.returns(row).tolist()]
    lines += [paragraph("returns", " ".join(payoffs)), f"{len(actions)} actions"]
    return "\n".join(lines) + "\n"
