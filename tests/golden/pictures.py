"""The golden pictures: every phase of a game once, seen by the seat to move, and some as others see them, as SVG text."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

import pyramid_envs as pe
from tests.playing import choose

POSITIONS = 1500  # of random games, in which a phase is looked for

# Positions that hardly ever arise in random games: (game, seats) -> positions.
BY_HAND: dict[tuple[str, int], list[dict[str, Any]]] = {
    ("trellis", 3): [
        {
            "board": [
                {"cell": [0, 0], "edges": "POGBKY", "flowers": {"O": 1, "B": 0}},
                {"cell": [-1, 0], "edges": "BBGOGO", "flowers": {"B": 0}},
                {"cell": [0, 1], "edges": "BGGBOO", "flowers": {"O": 1, "B": 2}},
                {"cell": [1, 1], "edges": "GPPBGB", "flowers": {"B": 2}},
                {"cell": [-1, 1], "edges": "BKKGBG", "flowers": {}},
            ],
            "hands": [["GGPPOO", "GGPOPO"], ["PPYYKK", "PYYPOO", "YYOBOB"], ["PPBYBY", "YBYKBK", "OOPYPY"]],
            "flowers_left": [13, 13, 13],
            "phase": "owner",
            "chosen": {},
            "gifts": 0,
            "to_move": 0,
        },
    ],
    ("trellis", 4): [
        {
            "board": [
                {"cell": [0, 0], "edges": "POGBKY", "flowers": {"P": 0}},
                {"cell": [1, -1], "edges": "YPGPGY", "flowers": {"P": 0}},
                {"cell": [1, 0], "edges": "KKOPPO", "flowers": {"P": 0, "O": 1, "K": 1}},
            ],
            "hands": [
                ["KKGGBB", "GKKGYY", "KPPKGG"],
                ["GGPOPO", "BGBYGY"],
                ["KOKYOY", "KOKBOB", "OOPYPY"],
                ["PYYPOO", "KKOPOP", "GKKGOO"],
            ],
            "flowers_left": [12, 13, 15, 15],
            "phase": phase,
            "chosen": chosen,
            "gifts": 0,
            "to_move": 1,
        }
        for phase, chosen in (("board cell", {}), ("board colour", {"cell": [1, -1]}))
    ],
}


def folder() -> Path:
    return Path(__file__).parent


def files(name: str, num_players: int) -> set[Path]:
    """The pictures that there are of a game with so many seats."""
    return set(folder().glob(f"{name}-{num_players}-*.svg"))


def phase(game: pe.Game, row: Any) -> str:
    """What the position itself calls the phase, or else what the die shows; at the end "over"."""
    position = game.position(row)
    named = position.get("phase", position.get("roll"))
    return "over" if game.to_move(row) == pe.TERMINAL else str(named or "start").replace(" ", "-").lower()


def filmed(game: pe.Game, seed: int) -> list[tuple[Any, tuple[Any, int] | None]]:
    """The positions of a random game, each with the last action and the row before it."""
    dice = np.random.default_rng(seed)
    row, last = game.initial(), None
    found: list[tuple[Any, tuple[Any, int] | None]] = [(row, last)]
    while game.to_move(row) != pe.TERMINAL:
        event = choose(game, row, seed, len(found) - 1, dice)
        after = row.copy()
        game.apply(after, event)
        if game.to_move(row) >= 0:
            last = row, event
        row = after
        found.append((row, last))
    return found


def pictures(name: str, num_players: int, fewest: int) -> dict[str, str]:
    """File name -> SVG text. With the fewest seats every phase is shown, with more a middle and an end."""
    game = pe.make_game(name, num_players=num_players)
    made: dict[str, str] = {}
    for position in BY_HAND.get((name, num_players), ()):
        row = game.from_position(position)
        seat = game.to_move(row)
        made[f"{name}-{num_players}-{phase(game, row)}-player_{seat}-light.svg"] = game.svg(row, seat)
    if num_players > fewest:
        film = filmed(game, 1)
        middle = next(shot for shot in film[len(film) // 2 :] if game.to_move(shot[0]) >= 0)
        seat = game.to_move(middle[0])
        return made | {
            f"{name}-{num_players}-middle-player_{seat}-dark.svg": game.svg(middle[0], seat, middle[1], "dark"),
            f"{name}-{num_players}-over-all-light.svg": game.svg(film[-1][0], None, film[-1][1], "light"),
        }
    shots: dict[str, tuple[Any, tuple[Any, int] | None]] = {}
    longest: dict[str, int] = {}  # of each phase the shot is taken in the longest game that has it
    looked = 0
    for seed in count(1, 2):  # the games of odd seeds are kept going
        if looked > POSITIONS:
            break
        of_phase: dict[str, list[Any]] = {}
        film = filmed(game, seed)
        looked += len(film)
        for row, last in film:
            of_phase.setdefault(phase(game, row), []).append((row, last))
        for called, seen in of_phase.items():
            if len(film) > longest.get(called, 0):
                longest[called], shots[called] = len(film), seen[len(seen) * 4 // 5]
    for number, (called, (row, last)) in enumerate(sorted(shots.items())):
        mover = game.to_move(row)
        seat = mover if mover >= 0 else 0
        theme = ("light", "dark")[number % 2]
        made[f"{name}-{num_players}-{called}-player_{seat}-{theme}.svg"] = game.svg(row, seat, last, theme)
        if number % 3 == 0:
            other, theme = (seat + 1) % num_players, ("dark", "light")[number % 2]
            made[f"{name}-{num_players}-{called}-player_{other}-{theme}.svg"] = game.svg(row, other, last, theme)
    row, last = shots["over"]
    made[f"{name}-{num_players}-over-all-dark.svg"] = game.svg(row, None, last, "dark")
    return made
