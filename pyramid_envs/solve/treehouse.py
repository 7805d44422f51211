"""Treehouse for 2 seats, solved: what every position is worth under perfect play, and what given policies make of each other.

The rules come from the game's own kernels, by the loops of `pyramid_envs.solve.sweeps`, which also explains positions, results
and tables of values. A mirror turns left into right: the rules and the value do not change, only the start does, and so value
iteration looks at one of each pair of mirrored Houses.

The solution knows no `max_plies`: it is that of the game without a limit. Its error is at most about the residual times the
number of turns that a game still takes, and half a unit in float32's last place (3e-8).
"""

from __future__ import annotations

import hashlib
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from pyramid_envs.errors import SolutionError
from pyramid_envs.game import Game, Row, bind_drivers
from pyramid_envs.games.treehouse import rules
from pyramid_envs.games.treehouse.tables import Trio, arrangements, numbers, text
from pyramid_envs.solve import store, sweeps
from pyramid_envs.solve.progress import Progress
from pyramid_envs.solve.sweeps import FACES, T
from pyramid_envs.threads import split

TOLERANCE = 1e-7
_FORMAT = 1  # of the file of a solution; rises when its layout changes
_OWN_TRIOS = 8  # own trios whose positions are put to a policy in one call

drivers = bind_drivers(rules, sweeps.INNER, sweeps.OUTER, [Path(sweeps.__file__)])

# Writes likings, float32[B, A], for rows (record[B], seat 0 to move) and masks (uint8[B, A]): how likely each action is played,
# up to a factor for each row, and 0 where the mask is 0. It is called from several threads.
Likings = Callable[[NDArray[Any], NDArray[np.uint8], NDArray[np.float32]], None]

X = TypeVar("X")


def solvable(game: Game) -> bool:
    """Whether this module can solve the game: Treehouse with 2 seats, whatever its other options."""
    return game.card.rules is rules and game.num_players == 2


def mirror_images() -> NDArray[np.int64]:
    """int64[T]: the number of the arrangement that an arrangement looks like in a mirror."""

    def mirror(trio: Trio) -> Trio:
        return tuple(tuple((piece, 2 - direction) for piece, direction in column) for column in trio[::-1])

    return np.array([numbers()[text(mirror(trio))] for trio in arrangements()])


def index(row: Row) -> tuple[int, int, int]:
    """Where a row's position stands in a table of values: [House, waiting trio, own trio]."""
    seat = int(row[0].seat)
    return int(row[0].house), int(row[0].trios[(seat + 1) % 2]), int(row[0].trios[seat])


def _list_results(game: Game) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.int16]]:
    """The arrays first, odds and results of `sweeps.list_results`."""
    first, odds = np.zeros((T, T, FACES + 1), np.int32), np.zeros((T, T, FACES), np.float64)
    lab, masks, chances = np.zeros(2, game.row_dtype), np.zeros((1, game.num_actions), np.uint8), np.zeros(FACES)
    count = drivers.list_results(game.tables, lab, masks, chances, first, odds, np.zeros(0, np.int16))
    results = np.zeros(count, np.int16)
    drivers.list_results(game.tables, lab, masks, chances, first, odds, results)
    return first, odds, results


class Positions:
    """What the rules say of all positions, as the loops of `sweeps` read it; these document the arrays.

    Attributes:
        game: the game, with 2 seats.
        first, odds, results: what can be done where, int32[T, T, 7], float64[T, T, 6], int16[R].
        over: uint8[T, T, T], 1 where the game is over.
        ends: float32[T, T, T], the payoff there, 0 elsewhere.
    """

    def __init__(self, game: Game) -> None:
        if not solvable(game):
            raise ValueError(f"only treehouse with 2 seats can be solved, not {game!r}")
        self.game = game
        self.first, self.odds, self.results = _list_results(game)
        self.over, self.ends = np.zeros((T, T, T), np.uint8), np.zeros((T, T, T), np.float32)
        drivers.fill_ends(game.tables, np.zeros(1, game.row_dtype), np.zeros((1, 2)), self.over, self.ends)


class Solution(NamedTuple):
    """What positions are worth under perfect play."""

    values: NDArray[np.float32]  # [T, T, T], by House, waiting trio, own trio
    residual: float  # no value differs by more from what the best moves make of the others (before rounding to float32)
    sweeps: int  # of value iteration that it took


def solve(game: Game, tolerance: float = TOLERANCE) -> Solution:
    """Value iteration until the residual is below `tolerance`, on all cores."""
    positions = Positions(game)
    mirror = mirror_images()
    houses = np.flatnonzero(np.arange(T) <= mirror)
    values, new = positions.ends.astype(np.float64), positions.ends.astype(np.float64)
    residual, count = math.inf, 0
    with Progress(f"solving {game.title}") as progress:
        while residual >= tolerance:
            changes: list[float] = []

            def run(part: slice, old: NDArray[Any] = values, new: NDArray[Any] = new, changes: list[float] = changes) -> None:
                table = (positions.first, positions.results, positions.odds, positions.over)
                changes.append(drivers.improve(*table, mirror, houses[part], old, new))

            split(run, len(houses), least=1)
            values, new = new, values
            residual, count = max(changes), count + 1
            progress.reach(_share(residual, tolerance), f"sweep {count}, residual {residual:.1e}")
    return Solution(values.astype(np.float32), residual, count)


def _share(change: float, tolerance: float) -> float:
    """How far an iteration is whose last change was this: changes fall from about 1, by a factor each time."""
    return 1.0 if change < tolerance else math.log(change) / math.log(tolerance)


# ------------------------------------------------------------------------------------------------------------- on disk


def path_of(game: Game) -> Path:
    """Where the solution of the game is kept."""
    options = "".join(f"_{name}={value}" for name, value in _rule_options(game).items())
    return store.folder() / f"{game.name}_v{game.version}{options}.values"


def save(game: Game, solution: Solution) -> Path:
    """Keep a solution, for one of each pair of mirrored Houses.

    Raises:
        SolutionError: if it cannot be written.
    """
    houses = np.arange(T) <= mirror_images()
    about = {**_about(game), "residual": solution.residual, "sweeps": solution.sweeps}
    store.save(path_of(game), about, solution.values[houses])
    return path_of(game)


def load(game: Game, tolerance: float = TOLERANCE) -> Solution:
    """A solution that was kept.

    Raises:
        FileNotFoundError: if there is none.
        SolutionError: if it is damaged, made by other rules, or not within the tolerance.
    """
    about, halves = store.load(path_of(game), _about(game))
    if not about["residual"] < tolerance:
        raise SolutionError(f"{path_of(game)} is known to {about['residual']:.1e} only, not to {tolerance:.1e}")
    mirror = mirror_images()
    houses = np.flatnonzero(np.arange(T) <= mirror)
    values = np.empty((T, T, T), np.float32)
    values[mirror[houses]] = halves[:, mirror][:, :, mirror]
    values[houses] = halves
    return Solution(values, about["residual"], about["sweeps"])


def _rule_options(game: Game) -> dict[str, Any]:
    return {name: value for name, value in game.options.items() if name != "max_plies"}


def _about(game: Game) -> dict[str, Any]:
    allowed = hashlib.sha256(b"".join(part.tobytes() for part in _list_results(game))).hexdigest()
    options = _rule_options(game)
    return {"format": _FORMAT, "game": game.name, "version": game.version, "options": options, "allowed_sha256": allowed}


def solution(game: Game, tolerance: float = TOLERANCE, anew: bool = False) -> Solution:
    """The solution as it was kept, or else (or if `anew`) solved now and kept; what happens is told on standard error."""
    try:
        if not anew:
            return load(game, tolerance)
    except FileNotFoundError:
        _tell(f"{game.title} has not been solved here yet; this is done once")
    except SolutionError as error:
        _tell(f"{error}; {game.title} is solved anew")
    found = solve(game, tolerance)
    try:
        _tell(f"saved in {save(game, found)}")
    except SolutionError as error:
        _tell(f"not saved: {error}")
    return found


def _tell(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


_known: dict[str, Solution] = {}


def known_solution(game: Game) -> Solution:
    """As `solution`, remembered for as long as the process lives."""
    key = repr(_rule_options(game))
    if key not in _known:
        _known[key] = solution(game)
    return _known[key]


# ------------------------------------------------------------------------------------------------------------ policies


class Moves(NamedTuple):
    """What a policy plays in the positions of one House, averaged over the rolls; see `sweeps.expect`."""

    first: NDArray[np.int32]  # [T, T], by own trio, waiting trio
    sizes: NDArray[np.int16]  # [T, T]
    results: NDArray[np.int16]  # [R]
    weights: NDArray[np.float32]  # [R]

    def expect(self, h: int, over: NDArray[np.uint8], values: NDArray[np.float64], new: NDArray[np.float64]) -> float:
        """See `sweeps.expect`."""
        return float(drivers.expect(h, *self, over, values, new))

    def spread(self, h: int, over: NDArray[np.uint8], now: NDArray[np.float64], then: NDArray[np.float64]) -> None:
        """See `sweeps.spread`."""
        drivers.spread(h, *self, over, now, then)


class Table(NamedTuple):
    """The same for a policy that mixes everywhere, as numbers side by side; see `sweeps.expect_table`."""

    starts: NDArray[np.int32]  # [T + 1], by own trio
    results: NDArray[np.int16]  # [R]
    weights: NDArray[np.float32]  # [R, T], by waiting trio

    def expect(self, h: int, over: NDArray[np.uint8], values: NDArray[np.float64], new: NDArray[np.float64]) -> float:
        """See `sweeps.expect_table`."""
        return float(drivers.expect_table(h, *self, over, values, new))

    def spread(self, h: int, over: NDArray[np.uint8], now: NDArray[np.float64], then: NDArray[np.float64]) -> None:
        """See `sweeps.spread_table`."""
        drivers.spread_table(h, *self, over, now, then)


Policy = Sequence[Moves | Table]  # by House


def _rolls(positions: Positions, h: int) -> Iterator[tuple[NDArray[Any], NDArray[np.float64], NDArray[np.uint8]]]:
    """All that can be rolled in the positions of the House h, in batches: rows, odds and masks of `sweeps.list_rows`."""
    game = positions.game
    most = _OWN_TRIOS * T * FACES
    rows, odds, chances = np.zeros(most, game.row_dtype), np.empty(most), np.zeros(FACES)
    masks = np.empty((most, game.num_actions), np.uint8)
    for low in range(0, T, _OWN_TRIOS):
        high = min(low + _OWN_TRIOS, T)
        n = drivers.list_rows(game.tables, positions.over, h, low, high, chances, rows, odds, masks)
        yield rows[:n], odds[:n], masks[:n]


def moves(positions: Positions, likings: Likings, h: int) -> Moves:
    """What is played in the positions of the House h, roll by roll, asked from `likings` in batches."""
    writing = _MovesWriter(positions, h)
    for rows, odds, masks in _rolls(positions, h):
        liked = np.empty(masks.shape, np.float32)
        likings(rows, masks, liked)
        writing.add(rows, odds, liked)
    return writing.moves()


class _MovesWriter:
    """Collects the moves of a policy in the positions of the House h."""

    def __init__(self, positions: Positions, h: int) -> None:
        self._tables, self._lab = positions.game.tables, np.zeros(1, positions.game.row_dtype)
        # All that is possible everywhere, were every list different: memory that is not written to costs nothing.
        room = T * int(positions.first[h, -1, FACES] - positions.first[h, 0, 0])
        self._results, self._weights = np.empty(room, np.int16), np.empty(room, np.float32)
        self._first, self._sizes = np.zeros((T, T), np.int32), np.zeros((T, T), np.int16)
        self._size = 0

    def add(self, rows: NDArray[Any], odds: NDArray[np.float64], likings: NDArray[np.float32]) -> None:
        """A batch of `_rolls`."""
        places = (self._first, self._sizes, self._results, self._weights)
        self._size = drivers.list_weights(self._tables, rows, odds, likings, self._lab, *places, self._size)

    def moves(self) -> Moves:
        """What has been collected."""
        return Moves(self._first, self._sizes, self._results[: self._size].copy(), self._weights[: self._size].copy())


def policy(positions: Positions, likings: Likings, title: str) -> Policy:
    """What is played in all positions."""
    return _by_house(lambda h: moves(positions, likings, h), title)


def network_moves(positions: Positions, logits: Likings, h: int) -> tuple[Moves, Table]:
    """What a network plays in the positions of the House h: always the action of its highest logit, and by its probabilities.

    `logits` writes the network's logits, very low for illegal actions. Rows of one legal action are not put to it.
    """
    game = positions.game
    best = _MovesWriter(positions, h)
    room = int(positions.first[h, -1, FACES] - positions.first[h, 0, 0])
    places, starts = np.empty((T, game.num_actions), np.int32), np.empty(T + 1, np.int32)
    results = np.empty(room, np.int16)
    lab, mask, chances = np.zeros(2, game.row_dtype), np.zeros((1, game.num_actions), np.uint8), np.zeros(FACES)
    size = drivers.list_places(game.tables, h, lab, mask, chances, places, starts, results)
    sampled = Table(starts, results[:size].copy(), np.zeros((size, T), np.float32))
    for rows, odds, masks in _rolls(positions, h):
        liked = masks.astype(np.float32)
        choice = np.flatnonzero(masks.sum(1, dtype=np.uint8) > 1)
        answers = np.empty((len(choice), game.num_actions), np.float32)
        logits(rows[choice], masks[choice], answers)
        liked[choice] = 0.0
        liked[choice, answers.argmax(1)] = 1.0
        best.add(rows, odds, liked)
        liked[choice] = np.exp(answers - answers.max(1, keepdims=True))
        drivers.fill_table(rows, odds, liked, places, sampled.weights)
    return best.moves(), sampled


def network_policies(positions: Positions, logits: Likings, title: str) -> tuple[Policy, Policy]:
    """What a network plays in all positions, in both ways; see `network_moves`."""
    both = _by_house(lambda h: network_moves(positions, logits, h), title)
    return [best for best, _ in both], [sampled for _, sampled in both]


def _by_house(ask: Callable[[int], X], title: str) -> list[X]:
    """What `ask` answers for each House, asked on all cores."""
    found: list[X | None] = [None] * T
    asked: list[int] = []

    def run(part: slice) -> None:
        for h in range(T)[part]:
            found[h] = ask(h)
            asked.append(h)
            progress.reach(len(asked) / T)

    with Progress(title) as progress:
        split(run, T, least=1)
    return [one for one in found if one is not None]


def like_all(rows: NDArray[Any], masks: NDArray[np.uint8], likings: NDArray[np.float32]) -> None:
    """`Likings` of the agent random."""
    likings[:] = masks


def like_greedy(game: Game) -> Likings:
    """`Likings` of the agent greedy."""

    def likings(rows: NDArray[Any], masks: NDArray[np.uint8], out: NDArray[np.float32]) -> None:
        drivers.like_greedy(game.tables, rows, masks, np.zeros(8, game.row_dtype), np.empty((1, game.num_actions)), out)

    return likings


def like_best(game: Game, values: NDArray[np.float32]) -> Likings:
    """`Likings` of the agent optimal."""

    def likings(rows: NDArray[Any], masks: NDArray[np.uint8], out: NDArray[np.float32]) -> None:
        out[:] = 0.0
        out[np.arange(len(rows)), best_actions(game, values, rows, masks)[0]] = 1.0

    return likings


def best_actions(
    game: Game, values: NDArray[np.float32], rows: NDArray[Any], masks: NDArray[np.uint8]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """For each row, with a roll, the first of the best actions, and what the mover may then expect."""
    actions, worth = np.empty(len(rows), np.int64), np.empty(len(rows), np.float64)
    drivers.best_actions(game.tables, rows, masks, np.zeros(1, game.row_dtype), values, actions, worth)
    return actions, worth


class Payoffs(NamedTuple):
    """What a policy may expect against another at the start of a game, without a limit of plies."""

    first: float  # in the first seat
    second: float


def expected(positions: Positions, own: Policy, other: Policy, title: str, tolerance: float = TOLERANCE) -> Payoffs:
    """What `own` may expect against `other`, to about the tolerance; by iteration over all positions, not by play."""
    mine, others = positions.ends.astype(np.float64), positions.ends.astype(np.float64)
    before = np.empty_like(mine)
    change, ratio, steady, left = 1.0, 1.0, 0.0, math.inf
    with Progress(title) as progress:
        while left >= tolerance:
            _sweep(positions, other, mine, others)
            np.copyto(before, mine)
            last_change, last_ratio, change = change, ratio, _sweep(positions, own, others, mine)
            ratio = change / last_change
            # In the long run every change is `ratio` times the one before it: what is still to come is a geometric series, which
            # can be added at once. The greatest ratio that was steady for a while tells how much may be left to come.
            slow = max(ratio, steady)
            left = change * slow / (1 - slow) if slow < 1 else math.inf
            if left >= tolerance and abs(ratio - last_ratio) < 0.02 * (1 - ratio):
                np.subtract(mine, before, out=before)
                before *= ratio / (1 - ratio)
                mine += before
                ratio, steady = 1.0, slow
            progress.reach(_share(left, tolerance))
    start = index(positions.game.initial())
    return Payoffs(float(mine[start]), -float(others[start]))


def _sweep(positions: Positions, playing: Policy, values: NDArray[np.float64], new: NDArray[np.float64]) -> float:
    """Write what `playing` may expect where the table of the other seat is `values`; the greatest change."""
    changes: list[float] = []

    def run(part: slice) -> None:
        changes.extend(playing[h].expect(h, positions.over, values, new) for h in range(T)[part])

    split(run, T, least=1)
    return max(changes)
