"""How strong checkpoints and fixed agents are, against fixed agents or other checkpoints, in every seat.

::

    python -m training.evaluate runs/treehouse-2p-20250101-120000 --opponents random greedy --games 2000
    python -m training.evaluate RUN_A RUN_B --opponents RUN_A --json strength.json
    python -m training.evaluate maskable_ppo.zip --game treehouse --options.num_players 3
    python -m training.evaluate greedy mcts:100 --game trellis --opponents random
    python -m training.evaluate greedy --game pocket --games 20 --record games.jsonl
    python -m training.evaluate RUN_A random greedy --game treehouse --exact

Every checkpoint plays each opponent in two ways: *best*, the action that the network likes best, and *sampled*, an action drawn
with the network's probabilities. A fixed agent plays as it does. It sits in each seat equally often with the opponent in all
others, on the same seeds in each (`pyramid_envs.evaluation`). A ``.zip`` of stable-baselines3 is read through its weights alone
and is never unpickled. Neither it nor a fixed agent says what it plays, so ``--game`` and ``--options`` must.

With ``--exact`` nothing is played: strength is calculated, in Treehouse for 2 seats against perfect play, in small games of 2
seats against the best answer (`training.exact`, docs/exact.md).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jsonargparse
from torch import nn

import pyramid_envs as pe
from pyramid_envs.agents import checkpoint, is_fixed
from pyramid_envs.play.record import open_to_append
from training import exact, report
from training.cli import SettingsError, game_for, run_command
from training.sb3_policy import read_zip

COMMAND = "python -m training.evaluate"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = jsonargparse.ArgumentParser(prog=COMMAND, allow_abbrev=False, description="How strong agents are.")
    parser.add_argument(
        "agents", nargs="+", metavar="AGENT", help="Folders of runs or checkpoints, SB3 .zip files, or fixed agents' names."
    )
    parser.add_argument("--opponents", nargs="+", default=["random", "greedy"], help="Fixed agents or checkpoints' folders.")
    parser.add_argument("--games", type=int, default=2000, help="Games against each opponent, over all seats.")
    parser.add_argument("--seed", type=int, default=0, help="Seed of the first game.")
    parser.add_argument("--json", type=str | None, help="A file to write the results to.")
    parser.add_argument("--record", type=str | None, help="A file that every game is added to, for `pyramid_envs.play replay`.")
    parser.add_argument("--device", type=str, default="cpu", help="Where the networks live.")
    parser.add_argument("--game", type=str | None, help="The game; a checkpoint's folder knows it.")
    parser.add_argument("--options", type=dict[str, Any] | None, help="Its options; a checkpoint's folder knows them.")
    parser.add_argument("--exact", action="store_true", help="Calculate instead of playing games; see docs/exact.md.")
    given = parser.parse_args(arguments)
    if given.games < 1:
        raise SettingsError(f"games must be at least 1, not {given.games}")
    if given.record is not None:
        if given.exact:
            raise SettingsError("--exact calculates and plays no games: --record has nothing to write")
        open_to_append(given.record)

    evaluations = []
    for name in given.agents:
        if is_fixed(name):
            game = game_for([name], given.game, given.options)
            ways: dict[str, pe.Agent] = {"fixed": pe.make_agent(name, game)}
        else:
            game, network = load(Path(name), given.game, given.options)
            ways = report.ways_to_play(network.to(given.device), game, name, given.device)
        if given.exact:
            exact.check(game, name, is_fixed(name))
            found = exact.evaluate(name, game, None if is_fixed(name) else network, given.device)
            evaluations.append({"agent": name, **report.results_of(game, []), "exact": found})
            continue
        opponents = [pe.make_agent(opponent, game) for opponent in given.opponents]
        matches = report.measure(ways, game, opponents, given.games, given.seed, given.record)
        report.print_table(name, game, matches)
        evaluations.append({"agent": name, **report.results_of(game, matches)})
    if given.json is not None:
        Path(given.json).write_text(json.dumps(evaluations, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


def load(path: Path, game_name: str | None, options: dict[str, Any] | None) -> tuple[pe.Game, nn.Module]:
    """A checkpoint's network, and the game that it plays; game and options, where given, must agree with the checkpoint's."""
    if path.suffix == ".zip":
        game = pe.make_game(needed(game_name, path), **(options or {}))
        return game, read_zip(path, game)
    folder = checkpoint.find(path)
    config = checkpoint.read_config(folder)
    game = pe.make_game(game_name or config["game"], **(config["options"] if options is None else options))
    return game, checkpoint.load_network(folder, game)


def needed(game_name: str | None, agent: str | Path) -> str:
    """The game's name, which an agent that does not say what it plays needs."""
    if game_name is None:
        raise SettingsError(f"{agent} does not say what it plays: add --game, and --options where they are not the defaults")
    return game_name


if __name__ == "__main__":
    run_command(main)
