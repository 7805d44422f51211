"""OpenSpiel: every game as one of OpenSpiel's, with chance events as nodes of their own. Needs the extra ``[openspiel]``.

`register` makes the games known to ``pyspiel.load_game``. Letters: P seats, E events of a game so far.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyramid_envs.card import Card
from pyramid_envs.errors import MissingExtraError, OptionError
from pyramid_envs.game import Game, Row
from pyramid_envs.kernels import CHANCE, TERMINAL
from pyramid_envs.registry import card, game_names, make_game
from pyramid_envs.validate import Whole

try:
    import pyspiel
except ImportError as error:
    raise MissingExtraError('the bridge to OpenSpiel needs OpenSpiel: pip install "pyramid-envs[openspiel]"') from error

__all__ = ["PREFIX", "Observer", "OpenSpielGame", "OpenSpielState", "pyspiel", "register"]

PREFIX = "pyramid_"
_SEATS = range(1, 17)  # numbers of seats that a game is asked about


def register() -> tuple[str, ...]:
    """Make every game known to OpenSpiel as ``pyramid_NAME``; every process does so for itself, and may do so again.

    ``pyspiel.load_game("pyramid_pocket(num_colors=1,copies=1)")`` takes a game's own options. Lengths are written with a point
    (``tube_height=5.0``). An option that is None, or that by default depends on others, is written 0: ``max_plies=0`` is no
    limit, ``board_radius=0`` the default for the number of seats.

    Returns:
        The names.
    """
    for name in game_names():
        found = card(name)
        default = make_game(name)
        # OpenSpiel lets go of what makes a game when Python is no more: that must be a class, which does not end by itself.
        maker = type(f"OpenSpiel{found.env_id}", (OpenSpielGame,), {"name": name})
        pyspiel.register_game(_game_type(default, _parameters(found, default)), maker)
    return tuple(PREFIX + name for name in game_names())


class OpenSpielGame(pyspiel.Game):
    """A game as OpenSpiel's; `register` lets ``pyspiel.load_game`` make it.

    A game that is cut by max_plies is over and pays 0, as OpenSpiel knows no truncation.

    Attributes:
        name: of the game, as `make_game` takes it.
        rules: the game.
        limit: max_plies, or 0.
    """

    name: str

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        own = card(self.name)
        self.rules: Game = make_game(self.name, **_given(own, parameters))
        self.limit = self.rules.max_plies or 0
        longest = _longest(self.rules)
        if longest is None:
            raise OptionError(f"OpenSpiel must know how long a game of {self.name} can be: set max_plies")
        seats = self.rules.num_players
        about = pyspiel.GameInfo(
            num_distinct_actions=self.rules.num_actions,
            max_chance_outcomes=own.num_outcomes(self.rules.options),
            num_players=seats,
            min_utility=-1 / (seats - 1),
            max_utility=1.0,
            utility_sum=0.0,
            max_game_length=longest,
        )
        resolved = _written(own, self.rules.options)
        super().__init__(_game_type(self.rules, _parameters(own, make_game(self.name))), about, resolved)

    def new_initial_state(self) -> OpenSpielState:
        """The start, before its first chance event."""
        return OpenSpielState(self)

    def make_py_observer(
        self, kind: pyspiel.IIGObservationType | None = None, parameters: Mapping[str, Any] | None = None
    ) -> Observer | None:
        """What a seat sees, with or without all that it has seen before; None for anything else, which games cannot tell."""
        if parameters:
            raise ValueError(f"observations take no parameters, not {parameters}")
        kind = kind or pyspiel.IIGObservationType(perfect_recall=False)
        if not kind.public_info or kind.private_info != pyspiel.PrivateInfoType.SINGLE_PLAYER:
            return None
        return Observer(self.rules, kind.perfect_recall)


class OpenSpielState(pyspiel.State):
    """A game that goes on, as OpenSpiel's.

    What stands in ``__dict__`` is the state: OpenSpiel copies and pickles that, and makes the rest anew from the game.
    """

    __slots__ = ("__dict__", "_limit", "_rules")

    def __init__(self, game: OpenSpielGame) -> None:
        super().__init__(game)
        self._rules, self._limit = game.rules, game.limit  # not in __dict__
        self.row: Row = self._rules.initial()
        self.plies = 0
        self.memories = tuple(self._rules.agents)  # by seat: what it has seen and done since the start; see `_apply_action`

    def __getattr__(self, name: str) -> Any:
        """What unpickling leaves out."""
        if name not in ("_rules", "_limit"):
            raise AttributeError(name)
        game = self.get_game()
        self._rules, self._limit = game.rules, game.limit
        return getattr(self, name)

    def current_player(self) -> int:
        """The seat to move, or OpenSpiel's number for chance and for the end."""
        seat = self._rules.to_move(self.row)
        if seat == TERMINAL or (self._limit and self.plies >= self._limit):
            return int(pyspiel.PlayerId.TERMINAL)
        return int(pyspiel.PlayerId.CHANCE) if seat == CHANCE else seat

    def is_terminal(self) -> bool:
        """Whether the game is over, or cut."""
        return self.current_player() == pyspiel.PlayerId.TERMINAL

    def _legal_actions(self, player: int) -> list[int]:
        return self._rules.legal_actions(self.row).tolist()

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """Every outcome that is possible, with its probability."""
        outcomes, probabilities = self._rules.chance_outcomes(self.row)
        return list(zip(outcomes.tolist(), probabilities.tolist(), strict=True))

    def _apply_action(self, action: int) -> None:
        """Play an action or an outcome, and write it to the seats' memories.

        Each event adds to every memory what has changed in that seat's observation, as places and new values, and before it the
        action if it was the seat's own. All seats notice every event, as people around a table do.
        """
        rules, row = self._rules, self.row
        mover = rules.to_move(row)
        before = [rules.observe(row, seat).reshape(-1) for seat in range(rules.num_players)]
        rules.apply(row, action)
        if mover != CHANCE:
            self.plies += 1
        memories = []
        for seat, memory in enumerate(self.memories):
            after = rules.observe(row, seat).reshape(-1)
            changed = np.flatnonzero(before[seat] != after)
            told = ",".join(f"{at}={value}" for at, value in zip(changed.tolist(), after[changed].tolist(), strict=True))
            memories.append(f"{memory}|{f'#{action} ' if seat == mover else ''}{told}")
        self.memories = tuple(memories)

    def _action_to_string(self, player: int, action: int) -> str:
        if player == pyspiel.PlayerId.CHANCE:
            return self._rules.outcome_name(self.row, action)
        return self._rules.action_name(self.row, action)

    def returns(self) -> list[float]:
        """Every seat's payoff; 0 before the end and where max_plies has cut the game."""
        return self._rules.returns(self.row).tolist()

    def __str__(self) -> str:
        return self._rules.text(self.row)


class Observer:
    """What a seat sees, as OpenSpiel asks for it.

    Args:
        rules: the game.
        perfect_recall: whether all that the seat has seen and done is told, rather than what it sees now.

    Attributes:
        tensor: float32, flat; None where an observation does not tell all of a past that is asked for.
        dict: the same with its shape, under the name ``observation``.
    """

    def __init__(self, rules: Game, perfect_recall: bool) -> None:
        self.rules, self.perfect_recall = rules, perfect_recall
        self.tensor: NDArray[np.float32] | None = None
        self.dict: dict[str, NDArray[np.float32]] = {}
        if rules.card.information_state or not perfect_recall:
            self.tensor = np.zeros(int(np.prod(rules.observation_shape)), np.float32)
            self.dict["observation"] = self.tensor.reshape(rules.observation_shape)

    def set_from(self, state: OpenSpielState, player: int) -> None:
        """Write the tensor."""
        if self.tensor is not None:
            self.tensor[:] = self.rules.observe(state.row, player).reshape(-1)

    def string_from(self, state: OpenSpielState, player: int) -> str:
        """The seat's memory, or the position in words as the seat may see it."""
        return state.memories[player] if self.perfect_recall else self.rules.text(state.row, player)


# ---------------------------------------------------------------------------------------------------------- descriptions


def _longest(rules: Game) -> int | None:
    bounds = [bound for bound in (rules.max_plies, rules.card.longest(rules.options)) if bound is not None]
    return min(bounds, default=None)


def _game_type(rules: Game, parameters: dict[str, Any]) -> pyspiel.GameType:
    kind = pyspiel.GameType
    own = rules.card
    seats = [count for count in _SEATS if _allows(own, count)]
    return kind(
        short_name=PREFIX + own.name,
        long_name=own.title,
        dynamics=kind.Dynamics.SEQUENTIAL,
        chance_mode=kind.ChanceMode.EXPLICIT_STOCHASTIC if own.num_outcomes(rules.options) else kind.ChanceMode.DETERMINISTIC,
        information=kind.Information.IMPERFECT_INFORMATION
        if hasattr(own.rules, "redeal")
        else kind.Information.PERFECT_INFORMATION,
        utility=kind.Utility.ZERO_SUM,
        reward_model=kind.RewardModel.TERMINAL,
        max_num_players=max(seats),
        min_num_players=min(seats),
        provides_information_state_string=True,
        provides_information_state_tensor=own.information_state,
        provides_observation_string=True,
        provides_observation_tensor=True,
        parameter_specification=parameters,
        default_loadable=_longest(rules) is not None,
    )


def _allows(own: Card, seats: int) -> bool:
    try:
        own.resolve({"num_players": seats})
    except OptionError:
        return False
    return True


def _parameters(own: Card, default: Game) -> dict[str, Any]:
    """Every option with the value that OpenSpiel takes for its default."""
    written = _written(own, default.options)
    return {name: type(written[name])() if callable(option.default) else written[name] for name, option in own.options.items()}


def _written(own: Card, options: Mapping[str, Any]) -> dict[str, Any]:
    """Options as parameters of OpenSpiel, which has no None."""
    return {name: 0 if options[name] is None else options[name] for name in own.options}


def _given(own: Card, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The options that parameters of OpenSpiel stand for."""

    def by_default(name: str, value: Any) -> bool:
        return callable(own.options[name].default) and not value

    def is_none(name: str, value: Any) -> bool:
        check = own.options[name].check
        return isinstance(check, Whole) and check.none and value == 0

    found = {name: value for name, value in parameters.items() if not by_default(name, value)}
    return {name: None if is_none(name, value) else value for name, value in found.items()}
