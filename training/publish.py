"""Put a trained agent into the package, where `pyramid_envs.make_agent("pretrained", game)` finds it.

::

    python -m training.publish runs/treehouse-2p-20250101-120000

The weights are rounded to 16 bits, and what is then measured is what is shipped. The folder is called after the game and the
number of seats; an agent that was there before is replaced.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import jsonargparse
import torch

import pyramid_envs as pe
from pyramid_envs import pretrained
from pyramid_envs.agents import checkpoint
from training import report
from training.cli import SettingsError, run_command

COMMAND = "python -m training.publish"
MAX_BYTES = 2_000_000  # of an agent's weights: everybody who installs the package pays for them


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = jsonargparse.ArgumentParser(prog=COMMAND, allow_abbrev=False, description="Put a trained agent into the package.")
    parser.add_argument("run", type=str, help="The folder of a run (its latest checkpoint) or of a checkpoint.")
    parser.add_argument("--opponents", nargs="+", default=["random", "greedy"], help="Agents to be measured against.")
    parser.add_argument("--games", type=int, default=10_000, help="Games against each, over all seats.")
    parser.add_argument("--seed", type=int, default=2_000_000_000, help="Seed of the first game.")
    parser.add_argument("--into", type=str, default=str(pretrained.FOLDER), help="The folder of all trained agents.")
    given = parser.parse_args(arguments)
    if given.games < 1:
        raise SettingsError(f"games must be at least 1, not {given.games}")

    source = checkpoint.find(given.run)
    config = checkpoint.read_config(source)
    config = {**config, "settings": {**config["settings"], "run": None}}  # a place on the machine that trained it
    # Games are cut where the game's own default cuts them, however early the training did.
    game = pe.make_game(config["game"], **{name: value for name, value in config["options"].items() if name != "max_plies"})
    opponents = [pe.make_agent(name, game) for name in given.opponents]
    network = checkpoint.load_network(source, game).half()
    size = sum(tensor.numel() * tensor.element_size() for tensor in network.state_dict().values())
    if size > MAX_BYTES:
        raise SettingsError(f"{source} has {size:,} bytes of weights in 16 bits, more than {MAX_BYTES:,}")
    weights = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    ways = report.ways_to_play(network.to(torch.float32), game, pretrained.name(game))
    results = report.results_of(game, report.measure(ways, game, opponents, given.games, given.seed))
    folder = Path(given.into) / pretrained.name(game)
    checkpoint.publish(folder, weights, config, results, report.model_card(game, config, results))
    report.print_table(str(folder), game, results["matches"])
    return 0


if __name__ == "__main__":
    run_command(main)
