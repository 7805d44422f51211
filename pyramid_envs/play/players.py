"""Who may play: people, and agents by the names that people know."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pyramid_envs.agents import Agent, checkpoint_in, make_agent
from pyramid_envs.card import Card
from pyramid_envs.errors import AgentError, PlayError
from pyramid_envs.game import Game
from pyramid_envs.play.session import HUMAN
from pyramid_envs.registry import make_game

FIXED = ("greedy", "random", "mcts:50", "mcts:200", "mcts:1000", "optimal")


class Players(Mapping[str, Agent]):
    """Agents for one game, by the names that the page knows, made when they are first asked for."""

    def __init__(self, specs: Mapping[str, str], game: Game) -> None:
        self._specs, self._game = specs, game
        self._made: dict[str, Agent] = {}

    def __getitem__(self, name: str) -> Agent:
        if name not in self._made:
            self._made[name] = make_agent(self._specs[name], self._game)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._specs)

    def __len__(self) -> int:
        return len(self._specs)


def labels(specs: Sequence[str]) -> dict[str, str]:
    """What the page calls the agents of the command line: by the last parts of their folders, never by whole paths."""
    found: dict[str, str] = {}
    for spec in dict.fromkeys(specs):
        folder = checkpoint_in(spec)
        if folder is None:
            found[spec] = spec
            continue
        parts = Path(folder).resolve().parts[-2:]
        name = spec.removesuffix(folder) + ("/".join(parts) if parts[-1].startswith("step_") else parts[-1])
        label, count = name, 1
        while label in found:
            count += 1
            label = f"{name} ({count})"
        found[label] = spec
    return found


def plays(spec: str, game_card: Card) -> bool:
    """Whether an agent plays a game, with some options at least."""
    folder = checkpoint_in(spec)
    if folder is not None:
        from pyramid_envs.agents import checkpoint

        return bool(checkpoint.read_config(checkpoint.find(folder))["game"] == game_card.name)
    try:
        make_agent(spec, make_game(game_card.name))
    except AgentError:
        return False
    return True


def lineup(game: Game, seats: Sequence[str], agents: Mapping[str, Agent]) -> list[Agent | None]:
    """The players of these names: "human" is None, the others are looked up.

    Raises:
        PlayError: if a name is not known.
    """
    for name in seats:
        if name != HUMAN and name not in agents:
            raise PlayError(f"nobody is called {name!r}; there are {', '.join([HUMAN, *agents])}")
    return [None if name == HUMAN else agents[name] for name in seats]
