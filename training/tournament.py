"""A round robin of checkpoints and fixed agents, and their ratings.

::

    python -m training.tournament greedy mcts:100 runs/treehouse-2p-20250101-120000 --game treehouse --out tournament
    python -m training.tournament mcts:100@runs/mine --out tournament        # one agent more; the games played before are kept
    python -m training.tournament greedy mcts:100 --game trellis --num-players 4 --games 240 --out trellis4

Every *group* of agents meets: in a game of P seats each set of P agents, or, where there are fewer agents than seats, all of them
with some in several seats. A group plays in all orders of seats, on the same seeds in every order; ``--games`` is for a group,
over all its orders. ``random`` always plays along, for it is the zero of the scale. Checkpoints draw their actions with their
probabilities; the folder of a run means its latest checkpoint.

The ratings are on the scale of Elo: 400 points more, and an agent is first ten times as often as the other
(`pyramid_envs.evaluation.rating`). Games that max_plies cut count as drawn. The intervals, of 95 %, take games of one seed
together.

Ctrl-C stops; the same command goes on. In the folder:

tournament.json  the game, its options, and the agents
games.jsonl      the games, one a line: seats, agents, seeds, payoffs, plies, and whether max_plies cut it
results.json     ratings and what each agent made of each other
results.md       the same as tables
ratings.png      the ratings as a picture
"""

from __future__ import annotations

import itertools
import json
import math
import os
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import jsonargparse
import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.markdown import Markdown
from tqdm import tqdm

import pyramid_envs as pe
from pyramid_envs.agents import checkpoint, checkpoint_in
from pyramid_envs.evaluation import play_games
from pyramid_envs.evaluation.arena import clustered_share
from pyramid_envs.evaluation.rating import Contests, Ratings
from training.cli import Interrupts, SettingsError, game_for, resolve, run_command

COMMAND = "python -m training.tournament"
ANCHOR = "random"
SETTINGS, GAMES, RESULTS, TABLE, PLOT = "tournament.json", "games.jsonl", "results.json", "results.md", "ratings.png"
AT_ONCE_SECONDS = 10.0  # about how long games are played before they are written

Lineup = tuple[str, ...]  # agents by seat


@dataclass
class Played:
    """Games of one lineup, in the order of their seeds from the first one on."""

    payoffs: list[list[float]]  # [G][P]
    plies: list[int]
    truncated: list[bool]


# ------------------------------------------------------------------------------------------------------------- who plays


def groups(agents: Sequence[str], num_seats: int) -> list[Lineup]:
    """The groups that meet: as many different agents as can sit at once, in every choice; where seats are left, every way to fill
    them.
    """
    different = min(len(agents), num_seats)
    found = itertools.combinations_with_replacement(agents, num_seats)
    return [group for group in found if len(set(group)) == different]


def orders(group: Lineup) -> list[Lineup]:
    """All orders of seats of a group, each once."""
    return sorted(set(itertools.permutations(group)))


def identity(name: str) -> str | None:
    """What must stay the same for games of an agent's name to stay its own: the digest of a checkpoint's weights."""
    folder = checkpoint_in(name)
    return None if folder is None else str(checkpoint.read_config(Path(folder))["weights_sha256"])


# ------------------------------------------------------------------------------------------------------------ the folder


class Folder:
    """The folder of a tournament, opened: what was said of it before must agree with what is said now.

    Args:
        path: of the folder, made where there is none.
        game: what is played.
        seed: of the first game of every lineup.

    Attributes:
        agents: name -> `identity`.
        played: the games of each lineup.
    """

    def __init__(self, path: Path, game: pe.Game, seed: int) -> None:
        self.path, self.game, self.seed = path, game, seed
        self.agents: dict[str, str | None] = {}
        self.played: dict[Lineup, Played] = defaultdict(lambda: Played([], [], []))
        try:
            path.mkdir(parents=True, exist_ok=True)
            if (path / SETTINGS).exists():
                self._compare(read_settings(path))
                self._read_games()
            elif any(path.iterdir()):
                raise SettingsError(f"{path} is no folder of a tournament, and not empty: name another with --out")
        except OSError as error:
            raise SettingsError(f"{path} cannot be used: {error}") from None

    def enter(self, names: Sequence[str]) -> None:
        """Enter agents, those that are there already too; refuse a name that now stands for other weights."""
        for name in names:
            now = identity(name)
            if self.agents.setdefault(name, now) != now:
                raise SettingsError(
                    f"{name} has other weights than when its games in {self.path} were played: it is another agent. "
                    "Give its folder another name, or the tournament another folder"
                )
        settings = {**self._settings(), "agents": self.agents}
        checkpoint.replace_text(self.path / SETTINGS, json.dumps(settings, indent=2, ensure_ascii=False) + "\n")

    def add(self, lineup: Lineup, new: Played, file: TextIO) -> None:
        """Write games that follow those of this lineup, all of them or, if the process is killed, the first few."""
        old = self.played[lineup]
        first = self.seed + len(old.plies)
        games = zip(new.payoffs, new.plies, new.truncated, strict=True)
        for k, (payoffs, plies, truncated) in enumerate(games):
            game = {"agents": lineup, "seed": first + k, "payoffs": payoffs, "plies": plies, "truncated": truncated}
            file.write(json.dumps(game, ensure_ascii=False) + "\n")
        file.flush()
        os.fsync(file.fileno())
        old.payoffs += new.payoffs
        old.plies += new.plies
        old.truncated += new.truncated

    def _settings(self) -> dict[str, Any]:
        game = self.game
        return {"game": game.name, "version": game.version, "options": checkpoint.plain(game.options), "seed": self.seed}

    def _compare(self, before: Mapping[str, Any]) -> None:
        now = self._settings()
        for name in ("game", "version", "seed"):
            if before[name] != now[name]:
                raise SettingsError(f"the tournament in {self.path} has {name} {before[name]}, not {now[name]}")
        for name in sorted({*before["options"], *now["options"]}):
            one, other = before["options"].get(name), now["options"].get(name)
            if one != other:
                raise SettingsError(f"the tournament in {self.path} is {now['game']} with {name}={one!r}, not {name}={other!r}")
        self.agents = dict(before["agents"])

    def _read_games(self) -> None:
        """Read the games; a last line that a killed process left unfinished is cut off."""
        file = self.path / GAMES
        if not file.exists():
            return
        data = file.read_bytes()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            with file.open("r+b") as stream:
                stream.truncate(whole)
        for number, line in enumerate(data[:whole].splitlines(), 1):
            try:
                game = json.loads(line)
                lineup = tuple(game["agents"])
                played = self.played[lineup]
                if game["seed"] != self.seed + len(played.plies):
                    raise ValueError(f"the seed must be {self.seed + len(played.plies)} there")
                if not len(lineup) == len(game["payoffs"]) == self.game.num_players or not self.agents.keys() >= {*lineup}:
                    raise ValueError("it has other seats or agents")
                played.payoffs.append([float(payoff) for payoff in game["payoffs"]])
                played.plies.append(int(game["plies"]))
                played.truncated.append(bool(game["truncated"]))
            except (ValueError, KeyError, TypeError) as error:
                raise SettingsError(f"{file}, line {number}, is no game of this tournament: {error}") from None


def read_settings(path: Path) -> dict[str, Any]:
    """What tournament.json says.

    Raises:
        SettingsError: if it is damaged.
    """
    try:
        found = json.loads((path / SETTINGS).read_text(encoding="utf-8"))
        if not (
            isinstance(found["agents"], dict) and isinstance(found["options"], dict) and {"game", "version", "seed"} <= {*found}
        ):
            raise ValueError("entries are missing")
    except (ValueError, KeyError, TypeError) as error:
        raise SettingsError(f"{path / SETTINGS} is damaged: {error}") from None
    return dict(found)


# ----------------------------------------------------------------------------------------------------------------- playing


def play(folder: Folder, num_games: int, interrupts: Interrupts) -> None:
    """Play what is missing, evenly, until all is there or the user wants to stop."""
    game = folder.game
    wanted: dict[Lineup, int] = {}
    for group in groups(list(folder.agents), game.num_players):
        own = orders(group)
        wanted.update({lineup: -(-num_games // len(own)) for lineup in own})
    missing = sum(max(0, count - len(folder.played[lineup].plies)) for lineup, count in wanted.items())
    agents = {name: pe.make_agent(name, game) for name in folder.agents}
    sizes: dict[Lineup, int] = defaultdict(lambda: 8)  # games at once, of each lineup
    with (folder.path / GAMES).open("a", encoding="utf-8") as file, tqdm(total=missing, unit=" games", disable=None) as progress:
        while not interrupts.wanted:
            # The lineup whose share of its games is the smallest comes next.
            behind = min(wanted, key=lambda lineup: len(folder.played[lineup].plies) / wanted[lineup], default=None)
            if behind is None or (have := len(folder.played[behind].plies)) >= wanted[behind]:
                break
            count = min(sizes[behind], wanted[behind] - have)
            began = time.monotonic()
            games = play_games(game, [agents[name] for name in behind], count, folder.seed + have)
            seconds = time.monotonic() - began
            sizes[behind] = max(1, round(count * min(8.0, AT_ONCE_SECONDS / max(seconds, 1e-9))))
            folder.add(behind, Played(games.returns.tolist(), games.plies.tolist(), games.truncated.tolist()), file)
            progress.update(count)


# ---------------------------------------------------------------------------------------------------------------- results


def rate(folder: Folder, resamples: int) -> Ratings:
    """The ratings of the agents, in their order, from all games in the folder."""
    numbers = {name: k for k, name in enumerate(folder.agents)}
    num_seeds = max((len(played.plies) for played in folder.played.values()), default=0)
    contests = Contests(len(numbers), max(1, num_seeds))
    for lineup, played in folder.played.items():
        if played.plies:
            contests.add([numbers[name] for name in lineup], np.array(played.payoffs), np.arange(len(played.plies)))
    return contests.rate(numbers[ANCHOR], resamples)


def results(folder: Folder, ratings: Ratings) -> dict[str, Any]:
    """What results.json holds; agents by rating."""
    names = list(folder.agents)
    order = sorted(range(len(names)), key=lambda k: -np.nan_to_num(ratings.values[k], nan=-math.inf))
    agents: list[dict[str, Any]] = []
    for k in order:
        seats = [_seat(folder, names[k], seat) for seat in range(folder.game.num_players)]
        payoffs = np.concatenate(seats) if seats else np.zeros(0)
        agents.append(
            {
                "agent": names[k],
                "rating": _number(ratings.values[k]),
                "rating_95": [_number(ratings.lows[k]), _number(ratings.highs[k])],
                "games": len(payoffs),
                "wins": int((payoffs > 0).sum()),
                "mean_payoff": _number(payoffs.mean()) if len(payoffs) else None,
                "mean_payoff_by_seat": [_number(own.mean()) if len(own) else None for own in seats],
            }
        )
    ranked: list[str] = [agent["agent"] for agent in agents]
    pairs = []
    for one, other in itertools.permutations(ranked, 2):
        ahead = _ahead(folder, one, other)
        if len(ahead):
            share = clustered_share(ahead)
            pairs.append(
                {
                    "agent": one,
                    "other": other,
                    "comparisons": ahead.size,
                    "ahead": share.value,
                    "ahead_95": [share.low, share.high],
                }
            )
    games = [played for played in folder.played.values() if played.plies]
    return {
        **folder._settings(),
        "games": sum(len(played.plies) for played in games),
        "truncated": sum(sum(played.truncated) for played in games),
        "agents": agents,
        "pairs": pairs,
    }


def _seat(folder: Folder, name: str, seat: int) -> NDArray[np.float64]:
    """The payoffs of an agent in a seat."""
    games = [played.payoffs for lineup, played in folder.played.items() if lineup[seat] == name and played.plies]
    return np.concatenate([np.array(payoffs)[:, seat] for payoffs in games]) if games else np.zeros(0)


def _ahead(folder: Folder, one: str, other: str) -> NDArray[np.float64]:
    """float[S, C]: in the games of each seed in which both sit, 1 where `one` was paid more than `other`, 0 where less, else 0.5.

    Each seat of the one is compared with each seat of the other; only seeds whose games have all been played count.
    """
    columns = []
    for lineup, played in folder.played.items():
        payoffs = np.array(played.payoffs)
        for seat, rival in itertools.permutations(range(len(lineup)), 2):
            if lineup[seat] == one and lineup[rival] == other and played.plies:
                columns.append((np.sign(payoffs[:, seat] - payoffs[:, rival]) + 1) / 2)
    if not columns:
        return np.zeros((0, 0))
    shortest = min(map(len, columns))
    return np.stack([column[:shortest] for column in columns], 1)


def _number(value: float) -> float | None:
    """For JSON, which has no NaN."""
    return None if math.isnan(value) else float(value)


def tables(found: Mapping[str, Any], title: str, num_seats: int) -> str:
    """The results for people, Markdown."""
    cut = f", {found['truncated']:,} of them cut by max_plies" if found["truncated"] else ""
    lines = [f"# {title}, {num_seats} seats: {found['games']:,} games{cut}", ""]
    lines += ["| agent | rating [95 %] | games | wins % | mean payoff | by seat |", "|---|--:|--:|--:|--:|--:|"]
    for agent in found["agents"]:
        low, high = agent["rating_95"]
        rating = "–" if agent["rating"] is None else f"{agent['rating']:+.0f} [{low:+.0f}, {high:+.0f}]"
        seats = " ".join("–" if payoff is None else f"{payoff:+.2f}" for payoff in agent["mean_payoff_by_seat"])
        mean = "–" if agent["mean_payoff"] is None else f"{agent['mean_payoff']:+.3f}"
        wins = "–" if not agent["games"] else f"{100 * agent['wins'] / agent['games']:.1f}"
        lines.append(f"| {agent['agent']} | {rating} | {agent['games']:,} | {wins} | {mean} | {seats} |")
    names = [agent["agent"] for agent in found["agents"]]
    cells = {(pair["agent"], pair["other"]): pair for pair in found["pairs"]}
    lines += [
        "",
        "How often the agent of the row was paid more than that of the column where both sat, in per cent; paid alike: half.",
        "",
    ]
    lines += ["| ahead % [95 %] | " + " | ".join(names) + " |", "|---|" + "--:|" * len(names)]
    for one in names:
        row = []
        for other in names:
            pair = cells.get((one, other))
            low, high = pair["ahead_95"] if pair else (0.0, 0.0)
            row.append(f"{100 * pair['ahead']:.1f} [{100 * low:.1f}, {100 * high:.1f}]" if pair else "–")
        lines.append(f"| {one} | " + " | ".join(row) + " |")
    return "\n".join(lines) + "\n"


def draw(found: Mapping[str, Any], title: str, path: Path) -> None:
    """The ratings as a picture."""
    from matplotlib.figure import Figure  # not pyplot: no windows, no global state

    agents = [agent for agent in reversed(found["agents"]) if agent["rating"] is not None]
    figure = Figure(figsize=(8, 1.2 + 0.4 * len(agents)), layout="constrained")
    axes = figure.subplots()
    values = np.array([agent["rating"] for agent in agents])
    intervals = np.array([agent["rating_95"] for agent in agents], float)
    errors = np.abs(intervals.T - values)
    axes.errorbar(values, range(len(agents)), xerr=errors, fmt="o", capsize=4, color="black")
    axes.set_yticks(range(len(agents)), [agent["agent"] for agent in agents])
    axes.set_ylim(-0.5, len(agents) - 0.5)
    axes.set_xlabel(f"rating, points of Elo above {ANCHOR}, with 95 % intervals")
    axes.set_title(title)
    axes.grid(axis="x", alpha=0.3)
    unfinished = path.with_name(f".writing-{path.name}")
    figure.savefig(unfinished, format="png", dpi=150)
    os.replace(unfinished, path)


def write(folder: Folder, resamples: int) -> str:
    """Write results.json, results.md and ratings.png; the tables."""
    found = results(folder, rate(folder, resamples))
    title = folder.game.title
    text = tables(found, title, folder.game.num_players)
    checkpoint.replace_text(folder.path / RESULTS, json.dumps(found, indent=2, ensure_ascii=False) + "\n")
    checkpoint.replace_text(folder.path / TABLE, text)
    draw(found, f"{title}, {folder.game.num_players} seats, {found['games']:,} games", folder.path / PLOT)
    return text


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = jsonargparse.ArgumentParser(prog=COMMAND, allow_abbrev=False, description="A round robin with ratings.")
    parser.add_argument("agents", nargs="*", metavar="AGENT", help="Fixed agents' names, and folders of runs or checkpoints.")
    parser.add_argument("--out", type=str, required=True, help="The folder of the tournament; agents already in it stay in.")
    parser.add_argument("--games", type=int, default=1000, help="Games of each group of agents, over all orders of seats.")
    parser.add_argument("--game", type=str | None, help="The game; a checkpoint and the folder of a tournament know it.")
    parser.add_argument("--num-players", type=int | None, help="The number of seats.")
    parser.add_argument("--options", type=dict[str, Any] | None, help="Other options of the game.")
    parser.add_argument("--seed", type=int | None, help="Seed of the first game of every order of seats; 0 by default.")
    parser.add_argument("--resamples", type=int, default=1000, help="Resamples of the bootstrap that intervals come from.")
    given = parser.parse_args(arguments)
    if given.games < 1 or given.resamples < 1:
        raise SettingsError(f"games and resamples must be at least 1, not {given.games} and {given.resamples}")

    path = Path(given.out)
    before = read_settings(path) if (path / SETTINGS).exists() else None
    options = dict(given.options or {})
    if given.num_players is not None:
        options["num_players"] = given.num_players
    if before is not None and given.game in (None, before["game"]):
        game = pe.make_game(before["game"], **{**before["options"], **options})
    else:
        game = game_for(given.agents, given.game, options)
    folder = Folder(path, game, given.seed if given.seed is not None else before["seed"] if before is not None else 0)
    names = list(dict.fromkeys([*folder.agents, *(resolve(name, game) for name in given.agents), ANCHOR]))
    if len(names) < 2:
        raise SettingsError(f"name at least one agent beside {ANCHOR}")
    for name in names:
        pe.make_agent(name, game)  # before anything is written
    folder.enter(names)
    with Interrupts("these games") as interrupts:
        play(folder, given.games, interrupts)
    text = write(folder, given.resamples)
    Console().print(Markdown(text.partition("\nHow often")[0]))
    print(f"What each made of each other, and a picture, is in {path}: {TABLE}, {RESULTS}, {PLOT}")
    if interrupts.wanted:
        print(
            f"Stopped before all games were played; go on with the same command, or: {COMMAND} --out {path} --games {given.games}"
        )
        raise KeyboardInterrupt
    return 0


if __name__ == "__main__":
    run_command(main)
