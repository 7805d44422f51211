"""Games of two seats that are small enough to be walked whole: solved, and policies measured against their best answers.

The tree is walked once, through `pyramid_envs.envs.openspiel`. OpenSpiel's algorithms in Python, and its compiled ones on games
written in Python, come back to every position again and again, at a tenth of a millisecond each; so the tree is handed over as
text, in Gambit's format for extensive games, and OpenSpiel's compiled algorithms do the rest: CFR+ (Tammelin 2014) solves the
game, a best response to each seat measures a policy. Needs the extra ``[openspiel]``.

A *history* is a node of the tree: a position with all that led to it. An *information set* holds the histories that the seat to
move cannot tell apart. *nash_conv* is what both seats together could gain by answering a policy as well as possible: 0 for an
equilibrium, 4 at most. Letters: I information sets, A actions.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyramid_envs.agents.fixed import GreedyAgent
from pyramid_envs.envs.openspiel import PREFIX, OpenSpielState, pyspiel, register
from pyramid_envs.errors import PyramidError
from pyramid_envs.game import Game
from pyramid_envs.kernels import CHANCE, TERMINAL
from pyramid_envs.solve.progress import Progress

MOST_HISTORIES = 1_000_000
TOLERANCE = 1e-3
MOST_ITERATIONS = 100_000
_PROBES = 200  # random games by which the size of a tree is estimated


class TooLargeError(PyramidError, ValueError):
    """A game whose tree cannot be walked whole."""


class Answers(NamedTuple):
    """A policy that plays in both seats, against itself and against the best answers to it."""

    value: float  # what seat 0 may expect when both seats play the policy
    worst: tuple[float, float]  # what each seat may expect of the policy against the best answer

    @property
    def nash_conv(self) -> float:
        """What both seats together could gain by answering as well as possible."""
        return -sum(self.worst)


class Equilibrium(NamedTuple):
    """A solved game."""

    policy: NDArray[np.float64]  # [I, A]
    answers: Answers
    iterations: int


class Tree:
    """The whole tree of a game of two seats.

    Args:
        game: the game; its max_plies ends histories, with nothing paid.
        most: how many histories are walked at most.

    Raises:
        TooLargeError: if there are more histories, or another number of seats.

    Attributes:
        game: the game.
        bridge: the same, as OpenSpiel plays it.
        histories: how many nodes the tree has, ends among them.
        rows: record[I], a position of each information set.
        seats: int64[I], whose it is.
        observations: int8[I, *observation_shape], what this seat sees there.
        masks: bool[I, A], what it may do.
    """

    def __init__(self, game: Game, most: int = MOST_HISTORIES) -> None:
        if game.num_players != 2:
            raise TooLargeError(f"only games of 2 seats can be solved by their trees, not {game!r}")
        if estimate(game, 10 * most) > 10 * most:
            raise TooLargeError(f"{game!r} has far more than {most:,} histories")
        register()
        options = {name: 0 if value is None else value for name, value in game.options.items()}
        self.game = game
        self.bridge = pyspiel.load_game(PREFIX + game.name, options)
        self._numbers: dict[str, int] = {}  # of information sets, by their strings
        self._lines = ['EFG 2 R "" { "0" "1" }']
        self._most = most
        self._rows: list[NDArray[Any]] = []
        self._seats: list[int] = []
        self._own: list[int] = []  # the number of each information set among those of its seat, from 1
        self._outcomes = self._ends = 0
        self._sets = [0, 0]  # how many each seat has
        with Progress("walking the tree") as self._progress:
            self._walk(self.bridge.new_initial_state(), 0.0, 1.0)
        self.histories = len(self._lines) - 1
        self.rows = np.concatenate(self._rows)
        self.seats = np.array(self._seats)
        self.observations = np.stack([game.observe(row, seat) for row, seat in zip(self._rows, self._seats, strict=True)])
        self.masks = np.stack([game.legal_mask(row) for row in self._rows])
        self._efg = pyspiel.load_efg_game("\n".join(self._lines) + "\n")
        self._root = self._efg.new_initial_state()
        # How OpenSpiel calls the information sets of such a game.
        self._names = [f"{seat}-{seat}-{own}-" for seat, own in zip(self._seats, self._own, strict=True)]
        self._by_name = {name: number for number, name in enumerate(self._names)}
        del self._lines, self._numbers, self._rows, self._seats, self._own

    def _walk(self, state: OpenSpielState, low: float, high: float) -> None:
        """Write the lines of a node and of all below it; its share of the whole work is from `low` to `high`."""
        if len(self._lines) > self._most:
            raise TooLargeError(f"{self.game!r} has more than {self._most:,} histories")
        seat = state.current_player()
        if seat == pyspiel.PlayerId.TERMINAL:
            self._ends += 1
            self._lines.append(f't "" {self._ends} "" {{ {" ".join(map(repr, state.returns()))} }}')
            self._progress.reach(high, f"{len(self._lines):,} histories")
            return
        # Actions are called 0, 1, 2, .. anew at every node: OpenSpiel numbers names as they first appear, and sorts the numbers.
        if seat == pyspiel.PlayerId.CHANCE:
            self._outcomes += 1
            branches, chances = zip(*state.chance_outcomes(), strict=True)
            named = " ".join(f'"{k}" {chance!r}' for k, chance in enumerate(chances))
            self._lines.append(f'c "" {self._outcomes} "" {{ {named} }} 0')
        else:
            branches = state.legal_actions()
            number = self._numbers.setdefault(state.information_state_string(seat), len(self._numbers))
            if number == len(self._rows):
                self._rows.append(state.row.copy())
                self._sets[seat] += 1
                self._own.append(self._sets[seat])
                self._seats.append(seat)
            named = " ".join(f'"{k}"' for k in range(len(branches)))
            self._lines.append(f'p "" {seat + 1} {self._own[number]} "" {{ {named} }} 0')
        step = (high - low) / len(branches)
        for k, branch in enumerate(branches):
            self._walk(state.child(branch), low + k * step, low + (k + 1) * step)

    def answers(self, policy: NDArray[np.float64]) -> Answers:
        """Measure a policy, float64[I, A]: probabilities, or whatever is in proportion to them."""
        chosen = self._tabular(policy)
        value = pyspiel.expected_returns(self._root, chosen, -1, True)[0]
        best = [pyspiel.TabularBestResponse(self._efg, seat, chosen).value_from_state(self._root) for seat in range(2)]
        return Answers(value, (-best[1], -best[0]))

    def _tabular(self, policy: NDArray[np.float64]) -> Any:
        table = {}
        for name, mask, likings in zip(self._names, self.masks, policy, strict=True):
            liked = likings[mask]
            table[name] = list(enumerate((liked / liked.sum()).tolist()))
        return pyspiel.TabularPolicy(table)

    def solve(self, tolerance: float = TOLERANCE) -> Equilibrium:
        """CFR+ until nash_conv is at most `tolerance`."""
        solver = pyspiel.CFRPlusSolver(self._efg)
        done, goal = 0, 10
        with Progress(f"solving {self.game.title}") as progress:
            while True:
                while done < goal:
                    solver.evaluate_and_update_policy()
                    done += 1
                policy = self._policy(solver.tabular_average_policy())
                found = self.answers(policy)
                share = math.log(max(found.nash_conv, tolerance) / 4) / math.log(tolerance / 4)
                progress.reach(share, f"iteration {done}, nash_conv {found.nash_conv:.1e}")
                if found.nash_conv <= tolerance or done >= MOST_ITERATIONS:
                    return Equilibrium(policy, found, done)
                goal = min(MOST_ITERATIONS, done + max(10, done // 4))

    def _policy(self, tabular: Any) -> NDArray[np.float64]:
        policy = np.zeros(self.masks.shape)
        for name, chosen in tabular.policy_table().items():
            number = self._by_name[name]
            policy[number, np.flatnonzero(self.masks[number])] = [probability for _, probability in chosen]
        return policy

    # -------------------------------------------------------------------------------------------- policies of fixed agents

    def like_all(self) -> NDArray[np.float64]:
        """The policy of the agent random."""
        return self.masks.astype(np.float64)

    def like_greedy(self) -> NDArray[np.float64]:
        """The policy of the agent greedy: all the actions that score highest, alike."""
        return GreedyAgent(self.game).favourites(self.rows, self.masks).astype(np.float64)

    def likeliest(self, policy: NDArray[np.float64]) -> NDArray[np.float64]:
        """The policy that always plays what another one likes best, the first of several."""
        best = np.where(self.masks, policy, -1.0).argmax(1)
        return np.eye(self.masks.shape[1])[best]


def estimate(game: Game, enough: float = math.inf, seed: int = 0) -> float:
    """About how many histories a game has, by the branches along random games (Knuth 1975), or a number above `enough`.

    Actions that end the game are counted and not played, so that games in which most do so are seen whole.
    """
    random = np.random.default_rng(seed)
    total = 0.0
    for _ in range(_PROBES):
        row, histories, plies = game.initial(), 1.0, 0
        while True:
            total += histories
            if total > enough * _PROBES:
                return total / _PROBES
            seat = game.to_move(row)
            if seat == TERMINAL or plies == game.max_plies:
                break
            if seat == CHANCE:
                branches = game.chance_outcomes(row)[0]
                histories *= len(branches)
                game.apply(row, int(random.choice(branches)))
                continue
            plies += 1
            after = [row.copy() for _ in game.legal_actions(row)]
            for one, action in zip(after, game.legal_actions(row).tolist(), strict=True):
                game.apply(one, action)
            going_on = [one for one in after if game.to_move(one) != TERMINAL]
            total += histories * (len(after) - len(going_on))
            if not going_on:
                break
            histories *= len(going_on)
            row = going_on[int(random.integers(len(going_on)))]
    return total / _PROBES
