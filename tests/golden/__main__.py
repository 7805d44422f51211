"""Write the golden playthroughs and pictures again: ``python -m tests.golden [game ...]``, by default of every game.

Do so when the rules, names, texts, pictures, observations, dice or payoffs of a game change on purpose, and read the difference;
look at the pictures.
"""

from __future__ import annotations

import argparse

from tests.conftest import SETUPS, player_counts
from tests.golden.pictures import files, folder, pictures
from tests.golden.playthrough import path, playthrough


def main(names: list[str]) -> None:
    """Write the files of the games of these names, or of all."""
    for name, num_players in SETUPS:
        if not names or name in names:
            path(name, num_players).write_text(playthrough(name, num_players), encoding="utf-8")
            print(path(name, num_players))
            for old in files(name, num_players):
                old.unlink()
            for file, text in pictures(name, num_players, min(player_counts(name))).items():
                (folder() / file).write_text(text, encoding="utf-8")
                print(folder() / file)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=__doc__)
    parser.add_argument("games", nargs="*", metavar="game", help="a game's name")
    main(parser.parse_args().games)
