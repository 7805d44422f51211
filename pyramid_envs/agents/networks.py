"""The networks that learned agents play with: observation in, logits of the actions and a value out.

Letters: B batch, A actions, F entries of an observation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyramid_envs.agents.fixed import Adviser
from pyramid_envs.agents.torch_extra import nn, torch
from pyramid_envs.kernels import GRADES

Tensor = torch.Tensor

ACTIVATIONS: dict[str, type[nn.Module]] = {"relu": nn.ReLU, "tanh": nn.Tanh}
GATED = "gated"


class GatedLayer(nn.Module):
    """A layer whose outputs are products of two sums of its inputs, relu(Ux)·Vx (Dauphin et al. 2017, Shazeer 2020).

    A sum adds up what each piece is worth where it stands; a product tells what two of them make together.

    Args:
        size_in: of its input.
        size_out: of its output.
    """

    def __init__(self, size_in: int, size_out: int) -> None:
        super().__init__()
        self.linear = nn.Linear(size_in, 2 * size_out)

    def forward(self, features: Tensor) -> Tensor:
        """float[B, size_out] of float[B, size_in]."""
        gate, factor = self.linear(features).chunk(2, 1)
        return torch.relu(gate) * factor


class Advice(nn.Module):
    """What a network makes of its game's advice.

    An advised network looks at [B, F + A] entries: the flattened observation, and behind it for each action how much
    `pyramid_envs.agents.fixed.Adviser` advises it, 0 to GRADES (`inputs` puts them together). Its layers see both, the advice as
    shares of GRADES, and the actions' logits are raised besides by these shares times a weight that is learned; so it begins by
    playing much as advised, and learns where not to.

    Args:
        num_actions: A.
    """

    def __init__(self, num_actions: int) -> None:
        super().__init__()
        self.num_actions = num_actions
        self.weight = nn.Parameter(torch.tensor(4.0))

    def shares(self, entries: Tensor) -> Tensor:
        """float[B, A]: the advice in entries [B, F + A], from 0 to 1."""
        return entries[:, -self.num_actions :] / GRADES

    def forward(self, logits: Tensor, entries: Tensor) -> Tensor:
        """The logits, float[B, A], raised where entries [B, F + A] advise it."""
        return logits + self.weight * self.shares(entries)


class MLP(nn.Module):
    """Fully connected layers over the flattened observation.

    Args:
        observation_shape: of one observation.
        num_actions: A.
        hidden: the sizes of the layers.
        activation: relu, tanh, or gated for `GatedLayer`s.
        separate_value: whether the value has layers of its own, of the same sizes.
        advised: see `Advice`.
    """

    def __init__(
        self,
        observation_shape: Sequence[int],
        num_actions: int,
        hidden: Sequence[int] = (256, 256),
        activation: str = "relu",
        separate_value: bool = False,
        advised: bool = False,
    ) -> None:
        super().__init__()
        self.advice = Advice(num_actions) if advised else None
        sizes = [int(torch.Size(observation_shape).numel()) + num_actions * advised, *hidden]
        self.trunk = _layers(sizes, activation)
        self.value_trunk = _layers(sizes, activation) if separate_value else None
        self.policy_head = nn.Linear(sizes[-1], num_actions)
        self.value_head = nn.Linear(sizes[-1], 1)

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """Logits, float[B, A], not masked, and values, float[B], of observations [B, *observation_shape] of any dtype."""
        entries = observations.flatten(1).to(self.policy_head.weight.dtype)
        features = entries
        if self.advice is not None:
            features = torch.cat([entries[:, : -self.advice.num_actions], self.advice.shares(entries)], 1)
        hidden = self.trunk(features)
        value_hidden = hidden if self.value_trunk is None else self.value_trunk(features)
        return _advised(self.advice, self.policy_head(hidden), entries), self.value_head(value_hidden).squeeze(1)


class SparseMLP(nn.Module):
    """An mlp whose first layer adds up the weights of the entries that are not 0: for large observations that are mostly 0.

    Args:
        observation_shape: of one observation.
        num_actions: A.
        hidden: the sizes of the layers.
        advised: see `Advice`.
    """

    def __init__(
        self, observation_shape: Sequence[int], num_actions: int, hidden: Sequence[int] = (64, 128), advised: bool = False
    ) -> None:
        super().__init__()
        self.advice = Advice(num_actions) if advised else None
        num_entries = int(torch.Size(observation_shape).numel()) + num_actions * advised
        self.first = nn.EmbeddingBag(num_entries, hidden[0], mode="sum")
        self.first_bias = nn.Parameter(torch.zeros(hidden[0]))
        self.trunk = _layers(hidden, "relu")
        self.policy_head = nn.Linear(hidden[-1], num_actions)
        self.value_head = nn.Linear(hidden[-1], 1)

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """Logits, float[B, A], not masked, and values, float[B], of observations [B, *observation_shape] of any dtype."""
        flat = observations.flatten(1)
        rows, entries = flat.nonzero(as_tuple=True)
        counts = torch.bincount(rows, minlength=len(flat))
        numbers = flat[rows, entries].to(self.first_bias.dtype)
        if self.advice is not None:
            numbers = torch.where(entries < flat.shape[1] - self.advice.num_actions, numbers, numbers / GRADES)
        features = self.first(entries, counts.cumsum(0) - counts, per_sample_weights=numbers) + self.first_bias
        hidden = self.trunk(torch.relu(features))
        return _advised(self.advice, self.policy_head(hidden), flat), self.value_head(hidden).squeeze(1)


class Conv(nn.Module):
    """Residual 3×3 convolutions over an observation of planes [C, H, W].

    Args:
        observation_shape: of one observation.
        num_actions: A.
        channels: planes of every layer.
        blocks: residual blocks, of two convolutions each.
    """

    def __init__(self, observation_shape: Sequence[int], num_actions: int, channels: int = 64, blocks: int = 4) -> None:
        super().__init__()
        planes, height, width = observation_shape
        self.stem = nn.Conv2d(planes, channels, 3, padding=1)
        self.blocks = nn.ModuleList(
            nn.Sequential(
                nn.ReLU(),
                nn.Conv2d(channels, channels, 3, padding=1),
                nn.ReLU(),
                nn.Conv2d(channels, channels, 3, padding=1),
            )
            for _ in range(blocks)
        )
        # Most actions of a game of planes are places, the others are not: the head sees a few planes whole, and averages of all.
        self.places = nn.Conv2d(channels, 4, 1)
        self.policy_head = nn.Linear(4 * height * width + channels, num_actions)
        self.value_head = nn.Linear(4 * height * width + channels, 1)

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """Logits, float[B, A], not masked, and values, float[B], of observations [B, C, H, W] of any dtype."""
        hidden = self.stem(observations.to(self.policy_head.weight.dtype))
        for block in self.blocks:
            hidden = hidden + block(hidden)
        hidden = torch.relu(hidden)
        features = torch.cat([torch.relu(self.places(hidden)).flatten(1), hidden.mean((2, 3))], 1)
        return self.policy_head(features), self.value_head(features).squeeze(1)


NETWORKS: dict[str, type[nn.Module]] = {"mlp": MLP, "sparse": SparseMLP, "conv": Conv}


def default_kind(observation_shape: Sequence[int]) -> str:
    """The kind of network that fits an observation: convolutions where it consists of planes."""
    return "conv" if len(observation_shape) == 3 else "mlp"


def build(config: Mapping[str, Any], observation_shape: Sequence[int], num_actions: int) -> nn.Module:
    """A network from its description: ``kind``, a name of `NETWORKS`, and that class's own keywords.

    Raises:
        ValueError: if the description is not one.
    """
    keywords = dict(config)
    kind = keywords.pop("kind", None)
    if kind not in NETWORKS:
        raise ValueError(f"no network is called {kind!r}; the networks are {', '.join(NETWORKS)}")
    try:
        return NETWORKS[kind](observation_shape, num_actions, **keywords)
    except (TypeError, KeyError, ValueError, RuntimeError) as error:
        raise ValueError(
            f"{keywords} with observations of shape {tuple(observation_shape)} describes no {kind}: {error}"
        ) from None


def inputs(
    network: nn.Module, adviser: Adviser, rows: NDArray[Any], observations: NDArray[np.int8], masks: NDArray[np.bool_]
) -> NDArray[np.int8]:
    """What a network looks at: int8[B, *observation_shape], or int8[B, F + A] if it is advised.

    Args:
        network: which looks.
        adviser: of the game.
        rows: [B], the positions.
        observations: int8[B, *observation_shape], of the seats to move.
        masks: bool[B, A], what those may do.
    """
    if getattr(network, "advice", None) is None:
        return observations
    return np.concatenate([observations.reshape(len(rows), -1), adviser.advise(rows, masks)], 1)


def mask_logits(logits: Tensor, masks: Tensor) -> Tensor:
    """Logits with those of illegal actions so low that their probability is 0, yet finite: times it they are 0, not NaN."""
    return logits.masked_fill(~masks, -1e9)


def initialise(network: nn.Module, generator: torch.Generator) -> None:
    """Draw orthogonal weights, small ones for the policy, so that play is uniform at first; biases are 0."""
    for name, module in network.named_modules():
        if isinstance(module, nn.Linear | nn.Conv2d):
            gain = {"policy_head": 0.01, "value_head": 1.0}.get(name, 2**0.5)
            nn.init.orthogonal_(module.weight, gain, generator=generator)
            nn.init.zeros_(module.bias)  # type: ignore[arg-type]
        elif isinstance(module, nn.EmbeddingBag):
            nn.init.normal_(module.weight, std=0.1, generator=generator)  # as if a hundred entries were not 0


def _advised(advice: Advice | None, logits: Tensor, entries: Tensor) -> Tensor:
    return logits if advice is None else advice(logits, entries)


def _layers(sizes: Sequence[int], activation: str) -> nn.Sequential:
    if activation not in (*ACTIVATIONS, GATED):
        raise ValueError(f"no activation is called {activation!r}; they are {', '.join((*ACTIVATIONS, GATED))}")
    layers: list[nn.Module] = []
    for before, after in pairwise(sizes):
        layers += [GatedLayer(before, after)] if activation == GATED else [nn.Linear(before, after), ACTIVATIONS[activation]()]
    return nn.Sequential(*layers)
