"""Command lines of trainers: made from a dataclass of settings, with YAML files of differences and clear errors."""

from __future__ import annotations

import dataclasses
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

import jsonargparse
import torch
import yaml

from pyramid_envs import pretrained
from pyramid_envs.agents import PRETRAINED, checkpoint, checkpoint_in
from pyramid_envs.errors import CheckpointError, PyramidError
from pyramid_envs.game import Game
from pyramid_envs.registry import make_game

jsonargparse.set_parsing_settings(docstring_parse_attribute_docstrings=True)

S = TypeVar("S")


class SettingsError(PyramidError, ValueError):
    """Settings that cannot be used together, or for this run."""


def read_settings(
    kind: type[S],
    command: str,
    changeable: Collection[str],
    arguments: Sequence[str] | None = None,
) -> tuple[S, Path | None]:
    """Settings from the command line: ``--name value`` for every field, ``--config FILE`` and ``--resume RUN``.

    What is said later on the line goes over what was said earlier, in files too.

    Args:
        kind: a dataclass; the sentence below each field becomes its help.
        command: as the user typed it, for messages.
        changeable: fields that may be changed when a run is resumed.
        arguments: of the command line; None: of this process.

    Returns:
        The settings, and the folder to resume if there is one.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    resume = _parser(kind, command).parse_args(arguments).resume
    parser = _parser(kind, command)
    stored: dict[str, Any] = {}
    if resume is not None:
        stored = dict(_stored_settings(Path(resume), command))
        names = {field.name for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
        if stored.keys() != names:
            strange = ", ".join(sorted(stored.keys() ^ names))
            raise CheckpointError(f"{resume} was made by a version of the trainer with other settings: {strange}")
        parser.set_defaults(stored)
    given = parser.parse_args(arguments)
    settings = kind(**{field.name: given[field.name] for field in dataclasses.fields(kind)})  # type: ignore[arg-type]
    for name, value in stored.items():
        if getattr(settings, name) != value and name not in changeable:
            raise SettingsError(
                f"a resumed run keeps its setting {name}: {value!r}; only these can be changed: {', '.join(sorted(changeable))}"
            )
    return settings, None if resume is None else Path(resume)


def _parser(kind: type[Any], command: str) -> jsonargparse.ArgumentParser:
    parser = jsonargparse.ArgumentParser(prog=command, allow_abbrev=False)
    parser.add_argument("--config", action="config", help="A YAML file of settings that differ from the defaults.")
    parser.add_argument(
        "--resume",
        type=str | None,
        help="The folder of a run, or of one of its checkpoints, to continue exactly where it stopped.",
    )
    parser.add_class_arguments(kind)
    return parser


def _stored_settings(folder: Path, command: str) -> Mapping[str, Any]:
    config = checkpoint.read_config(checkpoint.find(folder))
    if config.get("trainer") != command or not isinstance(config.get("settings"), dict):
        raise CheckpointError(f"{folder} was made by {config.get('trainer')}, and cannot be resumed by {command}")
    found: dict[str, Any] = config["settings"]
    return found


def check_range(settings: Any, names: Sequence[str], low: float, high: float = math.inf) -> None:
    """Raise SettingsError unless each of these settings is None or a finite number from `low` to `high`."""
    for name in names:
        value = getattr(settings, name)
        if value is not None and not (low <= value <= high and math.isfinite(value)):
            limits = f"at least {low}" if high == math.inf else f"from {low} to {high}"
            raise SettingsError(f"{name} must be {limits}, not {value}")


def dump_settings(settings: Any) -> str:
    """All settings as YAML that ``--config`` reads."""
    text: str = yaml.safe_dump(dataclasses.asdict(settings), sort_keys=False, allow_unicode=True)
    return text


def new_run(settings: Any, name: str | None, game: Game) -> Path:
    """The folder of a new run, made, with the settings in it; without a name it is called after the game and the time."""
    run = Path(name or f"runs/{game.name}-{game.num_players}p-{time.strftime('%Y%m%d-%H%M%S')}")
    try:
        run.mkdir(parents=True, exist_ok=True)
        if any(run.iterdir()):
            raise SettingsError(f"{run} is there already; continue it with --resume {run}, or name another folder with --run")
        checkpoint.replace_text(run / "settings.yaml", dump_settings(settings))
    except OSError as error:
        raise SettingsError(f"{run} cannot be written to: {error}") from None
    return run


def use_device(name: str) -> torch.device:
    """The device of this name, after a try."""
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:  # the latter where torch was built without CUDA
        raise SettingsError(f"device {name!r} cannot be used here: {error}") from None
    return device


def game_for(agents: Sequence[str], name: str | None, options: Mapping[str, Any] | None) -> Game:
    """The game that these agents are to play: the one named, or the one that the first checkpoint among them was trained for.

    Args:
        agents: names as `make_agent` takes them.
        name: of the game, or None.
        options: those that differ from the checkpoint's if there is one, else from the game's defaults.

    Raises:
        SettingsError: if neither says what is played.
    """
    folders = [folder for agent in agents if (folder := checkpoint_in(agent)) is not None]
    if name is None and not folders:
        told = f"{', '.join(agents)} does not say what it plays" if agents else "no agent says what is played"
        raise SettingsError(f"{told}: add --game, and the options that are not the defaults")
    if name is None or (folders and Path(folders[0]).is_dir()):
        config = checkpoint.read_config(checkpoint.find(folders[0]))
        if name in (None, config["game"]):
            return make_game(config["game"], **{**config["options"], **(options or {})})
    return make_game(str(name), **(options or {}))


def resolve(agent: str, game: Game) -> str:
    """An agent's name that goes on to mean the same: for the folder of a run, the folder of its latest checkpoint, and for the
    agent that comes with the package its folder.
    """
    if agent == PRETRAINED or agent.endswith(f"@{PRETRAINED}"):
        return agent.removesuffix(PRETRAINED) + os.path.relpath(pretrained.folder(game))
    folder = checkpoint_in(agent)
    if folder is None or not Path(folder).is_dir():  # `make_agent` says what is wrong with a folder that is none
        return agent
    return agent.removesuffix(folder) + str(checkpoint.find(folder))


class Interrupts(AbstractContextManager["Interrupts"]):
    """Turns the first Ctrl-C (or SIGTERM) into the wish to stop when that is convenient; the second one stops at once.

    Args:
        after: what is finished first.
    """

    def __init__(self, after: str = "this update") -> None:
        self.after = after
        self.wanted = False

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._note) for number in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(self, *error: object) -> None:
        if threading.current_thread() is threading.main_thread():
            for number, handler in self._before.items():
                signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.wanted:
            raise KeyboardInterrupt
        self.wanted = True
        print(f"\nStopping after {self.after}, and saving (once more: at once, without saving) …", file=sys.stderr, flush=True)


def run_command(main: Callable[[], int]) -> None:
    """Run a command's main function as the process: errors made on purpose are told in a line, without a traceback."""
    try:
        status = main()
    except PyramidError as error:
        print(f"error: {error}", file=sys.stderr)
        status = 2
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        status = 130
    raise SystemExit(status)
