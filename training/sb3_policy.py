"""From a policy of stable-baselines3 to a network of this project's, weight by weight."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from pyramid_envs.agents.networks import ACTIVATIONS, build
from pyramid_envs.errors import CheckpointError
from pyramid_envs.game import Game

# Where SB3's ActorCriticPolicy keeps what our MLP keeps elsewhere.
_NAMES = {
    r"mlp_extractor\.policy_net\.": "trunk.",
    r"mlp_extractor\.value_net\.": "value_trunk.",
    r"action_net\.": "policy_head.",
    r"value_net\.": "value_head.",
}


def convert(weights: Mapping[str, torch.Tensor], activation: str, game: Game) -> tuple[dict[str, Any], nn.Module]:
    """The network that gives the same logits and values, with its description.

    Args:
        weights: the state_dict of an ActorCriticPolicy with separate fully connected layers for policy and value ("MlpPolicy").
        activation: of its layers, relu or tanh.
        game: what it plays.

    Raises:
        CheckpointError: if it has another form, or does not fit the game.
    """
    ours: dict[str, torch.Tensor] = {}
    for name, tensor in weights.items():
        for pattern, replacement in _NAMES.items():
            if re.match(pattern, name):
                ours[re.sub(pattern, replacement, name, count=1)] = tensor
                break
        else:
            raise CheckpointError(f"the policy holds {name!r}: only those of SB3's MlpPolicy can be read")
    hidden = _layer_sizes(ours, "trunk")
    if hidden != _layer_sizes(ours, "value_trunk"):
        raise CheckpointError("the layers of the policy and of the value must have the same sizes")
    config = {"kind": "mlp", "hidden": hidden, "activation": activation, "separate_value": True}
    network = build(config, game.observation_shape, game.num_actions)
    try:
        network.load_state_dict(ours)
    except RuntimeError as error:
        raise CheckpointError(f"the policy does not fit {game!r}: {error}") from None
    return config, network.eval()


def read_zip(path: Path, game: Game) -> nn.Module:
    """The network of a .zip that ``MaskablePPO.save`` or ``PPO.save`` wrote; only its tensors and its plain text are read.

    Raises:
        CheckpointError: if it is damaged, of another form, or does not fit the game.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            weights = torch.load(io.BytesIO(archive.read("policy.pth")), map_location="cpu", weights_only=True)
            told = json.loads(archive.read("data"))
    except Exception as error:
        raise CheckpointError(f"{path} cannot be read: {error}") from None
    # Beside the pickle of such an entry SB3 writes it as text, which is enough to know the activation.
    text = str((told.get("policy_kwargs") or {}).get("activation_fn", "Tanh")).lower()
    activation = next((name for name in ACTIVATIONS if name in text), None)
    if activation is None:
        raise CheckpointError(f"{path}: activation {text} is none of {', '.join(ACTIVATIONS)}")
    return convert(weights, activation, game)[1]


def _layer_sizes(weights: Mapping[str, torch.Tensor], trunk: str) -> list[int]:
    layers = [int(name.split(".")[1]) for name in weights if re.fullmatch(rf"{trunk}\.\d+\.weight", name)]
    return [len(weights[f"{trunk}.{layer}.weight"]) for layer in sorted(layers)]
