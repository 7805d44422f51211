"""Checkpoints: folders that hold a trained network and all that must be known to play it.

::

    RUN/                        what a training writes
      settings.yaml             its settings, resolved
      latest                    the name of the newest checkpoint, in text
      step_000004194304/        a checkpoint
        model.safetensors       the weights
        config.json             game, version, options, observation shape, network, settings, steps, versions of packages
        results.json            what it was measured to win
        README.md               the same for people
        training_state.pt       what only the continuation of the training needs

A checkpoint is written under a hidden name, flushed to the disk and then renamed, and only then does ``latest`` name it, so that
whenever a process is killed, ``latest`` names a whole checkpoint. Nothing is unpickled to play one or to evaluate it.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pyramid_envs.agents.networks import build
from pyramid_envs.agents.torch_extra import SafetensorError, nn, safetensors, torch
from pyramid_envs.errors import CheckpointError
from pyramid_envs.game import Game

MODEL, CONFIG, RESULTS, CARD, STATE = "model.safetensors", "config.json", "results.json", "README.md", "training_state.pt"
LATEST = "latest"
FORMAT = 1  # rises when this layout changes

# What config.json must hold, and of which type.
_ENTRIES: dict[str, type] = {
    "format": int,
    "game": str,
    "version": int,
    "options": dict,
    "observation_shape": list,
    "num_actions": int,
    "network": dict,
    "steps": int,
    "weights_sha256": str,
}

# ------------------------------------------------------------------------------------------------------------- reading


def find(folder: str | Path) -> Path:
    """The checkpoint that is meant by a checkpoint's folder, or by the folder of a run: its latest.

    Raises:
        CheckpointError: if it is neither.
    """
    folder = Path(folder)
    if (folder / CONFIG).is_file():
        return folder
    if (folder / LATEST).is_file():
        name = (folder / LATEST).read_text().strip()
        if name and Path(name).name == name and (folder / name / CONFIG).is_file():
            return folder / name
        raise CheckpointError(f"{folder / LATEST} names {name!r}, and there is no such checkpoint beside it")
    if folder.is_dir():
        raise CheckpointError(f"{folder} is no checkpoint (it has no {CONFIG}) and no run with one (it has no file {LATEST!r})")
    raise CheckpointError(f"there is no folder {folder}")


def read_config(folder: Path) -> dict[str, Any]:
    """The config of a checkpoint's folder, complete.

    Raises:
        CheckpointError: if it is damaged or of a later layout.
    """
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{folder / CONFIG} is damaged: {error}") from None
    if not isinstance(config, dict):
        raise CheckpointError(f"{folder / CONFIG} is damaged: it holds no object")
    for name, kind in _ENTRIES.items():
        if type(config.get(name)) is not kind:
            raise CheckpointError(f"{folder / CONFIG} is damaged: its entry {name!r} is missing or no {kind.__name__}")
    if config["format"] != FORMAT:
        raise CheckpointError(f"{folder} has the layout {config['format']}; this version of pyramid_envs reads layout {FORMAT}")
    return config


def check(config: Mapping[str, Any], game: Game, folder: Path) -> None:
    """Refuse a checkpoint that was made for something else than `game`.

    The option max_plies may differ: neither rules nor observations know of it.

    Raises:
        CheckpointError: naming what differs, with both values.
    """

    def refuse(what: str, theirs: object, ours: object) -> None:
        raise CheckpointError(f"{folder} was trained for {what} {theirs}, and this is {what} {ours}")

    if config["game"] != game.name:
        refuse("the game", config["game"], game.name)
    if config["version"] != game.version:
        refuse(f"{game.name} version", config["version"], game.version)
    ours = plain(game.options)
    for name in sorted({*config["options"], *ours} - {"max_plies"}):
        theirs_value, ours_value = config["options"].get(name), ours.get(name)
        if theirs_value != ours_value:
            refuse(f"{game.name} with", f"{name}={theirs_value!r}", f"{name}={ours_value!r}")
    if config["observation_shape"] != list(game.observation_shape):
        refuse("observations of shape", tuple(config["observation_shape"]), game.observation_shape)
    if config["num_actions"] != game.num_actions:
        refuse("a number of actions of", config["num_actions"], game.num_actions)


def load_network(folder: Path, game: Game) -> nn.Module:
    """The network of a checkpoint's folder, ready to play `game`.

    Raises:
        CheckpointError: if it is damaged, or was made for something else.
    """
    config = read_config(folder)
    check(config, game, folder)
    try:
        data = (folder / MODEL).read_bytes()
    except OSError as error:
        raise CheckpointError(f"{folder / MODEL} cannot be read: {error}") from None
    if hashlib.sha256(data).hexdigest() != config["weights_sha256"]:
        raise CheckpointError(f"{folder / MODEL} is damaged: it is not the file that {CONFIG} was written for")
    try:
        network = build(config["network"], game.observation_shape, game.num_actions)
        network.load_state_dict(safetensors.load(data))
    except (ValueError, RuntimeError, SafetensorError) as error:
        raise CheckpointError(f"{folder}: the weights do not fit the network that {CONFIG} describes: {error}") from None
    return network.eval()


def load_training_state(folder: Path) -> dict[str, Any]:
    """What the continuation of a training needs: tensors and plain values, read without unpickling anything else.

    Raises:
        CheckpointError: if it is missing or damaged.
    """
    if not (folder / STATE).is_file():
        raise CheckpointError(f"{folder} has no {STATE}: it can be played, but its training cannot be continued")
    try:
        state: dict[str, Any] = torch.load(folder / STATE, map_location="cpu", weights_only=True)
    except Exception as error:
        raise CheckpointError(f"{folder / STATE} is damaged: {error}") from None
    return state


def plain(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options as they come back from JSON."""
    found: dict[str, Any] = json.loads(json.dumps(options))
    return found


# ------------------------------------------------------------------------------------------------------------- writing


def describe(game: Game, network: Mapping[str, Any], steps: int, **further: Any) -> dict[str, Any]:
    """The config of a new checkpoint; `write` adds the digest of the weights."""
    return {
        "format": FORMAT,
        "game": game.name,
        "version": game.version,
        "options": plain(game.options),
        "observation_shape": list(game.observation_shape),
        "num_actions": game.num_actions,
        "network": dict(network),
        "steps": steps,
        **further,
    }


def write(
    run: Path,
    weights: Mapping[str, torch.Tensor],
    config: Mapping[str, Any],
    results: Mapping[str, Any],
    card: str,
    write_more: Callable[[Path], object] = lambda folder: None,
    keep: int = 3,
) -> Path:
    """Write a checkpoint into the folder of a run and make it the latest; its name comes from config["steps"].

    Args:
        run: the folder of the run.
        weights: of the network, as its state_dict.
        config: as `describe` makes it.
        results: what it was measured to win.
        card: the model card, Markdown.
        write_more: writes into the folder it is given what a trainer needs to resume.
        keep: how many checkpoints to leave, this one among them; older ones are removed.

    Returns:
        The checkpoint's folder. If the latest checkpoint has these steps already, it is left as it is.
    """
    name = f"step_{config['steps']:012d}"
    folder = run / name
    if (run / LATEST).is_file() and (run / LATEST).read_text().strip() == name and folder.is_dir():
        return folder

    for rubbish in run.glob(".*ing-step_*"):  # of a process that was killed
        shutil.rmtree(rubbish, ignore_errors=True)
    unfinished = run / f".writing-{name}"
    _fill(unfinished, weights, config, results, card)
    write_more(unfinished)
    for path in (*unfinished.iterdir(), unfinished):
        _flush(path)

    _discard(folder)
    os.rename(unfinished, folder)
    _flush(run)
    replace_text(run / LATEST, name + "\n")
    for old in sorted(run.glob("step_*"))[:-keep]:
        if old != folder:
            _discard(old)
    return folder


def publish(
    folder: Path, weights: Mapping[str, torch.Tensor], config: Mapping[str, Any], results: Mapping[str, Any], card: str
) -> None:
    """Write a checkpoint that is only to be played to this folder; one that is there is replaced. Arguments as for `write`."""
    unfinished = folder.with_name(f".writing-{folder.name}")
    shutil.rmtree(unfinished, ignore_errors=True)
    _fill(unfinished, weights, config, results, card)
    _discard(folder)
    os.rename(unfinished, folder)


def _fill(
    folder: Path, weights: Mapping[str, torch.Tensor], config: Mapping[str, Any], results: Mapping[str, Any], card: str
) -> None:
    """Make the folder, and write what every checkpoint holds."""
    model = safetensors.save({key: tensor.detach().cpu().contiguous() for key, tensor in weights.items()})
    folder.mkdir(parents=True)
    (folder / MODEL).write_bytes(model)
    (folder / CONFIG).write_text(_json({**config, "weights_sha256": hashlib.sha256(model).hexdigest()}), encoding="utf-8")
    (folder / RESULTS).write_text(_json(results), encoding="utf-8")
    (folder / CARD).write_text(card, encoding="utf-8")


def write_results(folder: Path, results: Mapping[str, Any], card: str) -> None:
    """Replace the results and the model card of a checkpoint."""
    replace_text(folder / RESULTS, _json(results))
    replace_text(folder / CARD, card)


def replace_text(path: Path, text: str) -> None:
    """Write a file so that at every moment it is there whole, the old or the new."""
    unfinished = path.with_name(f".writing-{path.name}")
    unfinished.write_text(text, encoding="utf-8")
    _flush(unfinished)
    os.replace(unfinished, path)
    _flush(path.parent)


def _discard(folder: Path) -> None:
    """Remove a checkpoint; whatever happens meanwhile, half a checkpoint never bears a checkpoint's name."""
    if folder.exists():
        rubbish = folder.with_name(f".removing-{folder.name}")
        os.rename(folder, rubbish)
        shutil.rmtree(rubbish, ignore_errors=True)


def _flush(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    if path.is_dir() and os.name == "nt":  # Windows opens no folders
        return
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
