"""Measured strength as tables, JSON and model cards."""

from __future__ import annotations

import importlib.metadata
import json
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from torch import nn

from pyramid_envs.agents import Agent, checkpoint
from pyramid_envs.agents.learned import LearnedAgent
from pyramid_envs.evaluation import Match, play_match
from pyramid_envs.game import Game

SAMPLED, BEST = "sampled", "best"  # how a network plays: by its probabilities, or always what it likes best


def ways_to_play(network: nn.Module, game: Game, name: str, device: str = "cpu") -> dict[str, Agent]:
    """The agents that a network makes."""
    return {play: LearnedAgent(network, game, name, deterministic=play == BEST, device=device) for play in (BEST, SAMPLED)}


def measure(
    ways: Mapping[str, Agent],
    game: Game,
    opponents: Sequence[Agent],
    num_games: int,
    seed: int,
    record: str | Path | None = None,
) -> list[dict[str, Any]]:
    """Matches of one agent, in each of its ways to play, against each opponent; JSON-ready, in the order in which they are
    told. Their games are added to the file `record`, if one is named.
    """
    return [
        {"play": play, **play_match(game, agent, opponent, num_games, seed, record).to_json()}
        for play, agent in ways.items()
        for opponent in opponents
    ]


def measure_checkpoint(
    folder: Path, network: nn.Module, game: Game, opponents: Sequence[Agent], num_games: int, seed: int, device: str = "cpu"
) -> None:
    """At the end of a training: play its network's matches, write them into the checkpoint, card and all, and tell them."""
    matches = measure(ways_to_play(network, game, folder.name, device), game, opponents, num_games, seed)
    results = results_of(game, matches)
    checkpoint.write_results(folder, results, model_card(game, checkpoint.read_config(folder), results))
    print_table(str(folder), game, matches)


def results_of(game: Game, matches: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What results.json holds."""
    return {"game": game.name, "version": game.version, "options": game.options, "matches": list(matches)}


def print_table(name: str, game: Game, matches: Sequence[Mapping[str, Any]]) -> None:
    """Tell an agent's matches to people."""
    console = Console()
    console.print(f"\n{name}: {game.title}, {game.num_players} seats; an even share of wins is {100 / game.num_players:.1f} %")
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("plays", no_wrap=True)
    table.add_column("against", overflow="fold")
    for column in ("games", "wins % [95 %]", "by seat %", "payoff", "cut"):
        table.add_column(column, justify="right", no_wrap=True)
    for match in matches:
        table.add_row(*_cells(match))
    console.print(table)


def _cells(match: Mapping[str, Any]) -> list[str]:
    low, high = match["win_rate_95"]
    return [
        str(match["play"]),
        str(match["opponent"]),
        f"{match['games']:,}",
        f"{100 * match['win_rate']:.1f} [{100 * low:.1f}, {100 * high:.1f}]",
        " ".join(f"{100 * seat['win_rate']:.1f}" for seat in match["seats"]),
        f"{match['mean_payoff']:+.3f}",
        f"{sum(seat['truncated'] for seat in match['seats']):,}",
    ]


def brief(match: Match) -> str:
    """A match in a few characters, for a progress bar."""
    return f"{100 * match.win_rate.value:.1f}%"


def versions() -> dict[str, str]:
    """The packages that a checkpoint was made with."""
    found = {"python": platform.python_version()}
    for package in ("pyramid-envs", "numpy", "numba", "torch", "safetensors", "stable-baselines3", "sb3-contrib", "ray"):
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            if package == "pyramid-envs":
                found[package] = "source tree"
    return found


def model_card(game: Game, config: Mapping[str, Any], results: Mapping[str, Any]) -> str:
    """The README of a checkpoint."""
    changed = {name: value for name, value in game.options.items() if value != game.card.resolve({})[name]}
    literals = {name: json.dumps(value) if isinstance(value, str) else repr(value) for name, value in changed.items()}
    advised = bool(config["network"].get("advised"))
    against, start = config["settings"].get("against"), config["settings"].get("start")
    limits = (
        "It has met itself and the agents named above, and no people. Its value is an estimate for positions in which it is to\n"
        "move, between agents of its own kind."
    )
    if against is not None:
        limits = (
            f"It has learned against `{against}` in all other seats, and has met no people. Its value is an estimate for\n"
            "positions in which it is to move, against that opponent."
        )
    if start is not None:
        limits += f"\nIt began with the network of `{start}`."
    call = ", ".join([f'"{game.name}"', *(f"{name}={literal}" for name, literal in literals.items())])
    lines = [
        "---",
        "library_name: pyramid-envs",
        "tags: [reinforcement-learning, self-play, board-game]",
        "---",
        "",
        f"# {game.title}, {game.num_players} seats: an agent trained by `{config['trainer']}`",
        "",
        f"It plays `pyramid_envs.make_game({call})`, version {game.version} of the game, and nothing else:",
        "other options, versions or numbers of seats are refused. It has learned from "
        + f"{config['steps']:,} decisions in {config['minutes']:.1f} minutes on {config['hardware']}.",
        "",
        "## Play it",
        "```python",
        "import pyramid_envs as pe",
        "",
        f"game = pe.make_game({call})",
        'agent = pe.make_agent("this/folder", game)  # draws its actions with the probabilities that it has learned',
        "```",
        "",
        "## Strength",
    ]
    if results.get("matches"):
        lines += [
            "Wins in per cent with 95 % intervals, sitting in every seat equally often, the opponent in all others; *cut*: games",
            "that max_plies truncated. It plays the *best* action, or one *sampled* with the probabilities it has learned.",
            "",
            "| plays | against | games | wins % [95 %] | by seat % | payoff | cut |",
            "|---|---|---|---|---|---|---|",
            *("| " + " | ".join(_cells(match)) + " |" for match in results["matches"]),
        ]
    else:
        lines.append("Not measured.")
    lines += [
        "",
        "Measure it again with `python -m training.evaluate this/folder --opponents random greedy`.",
        "",
        "## Training",
        "Settings that `--config` takes:",
        "```json",
        json.dumps(config["settings"], indent=2, ensure_ascii=False),
        "```",
        "",
        "## Limits",
        limits,
        *(["Its network is advised: it also looks at what its game advises. What that is says docs/agents.md."] * advised),
        "",
    ]
    return "\n".join(lines)
