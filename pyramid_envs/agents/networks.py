"""The networks that learned agents play with: observation in, logits of the actions and a value out.

Letters: B batch, A actions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from pyramid_envs.agents.torch_extra import nn, torch

Tensor = torch.Tensor

ACTIVATIONS: dict[str, type[nn.Module]] = {"relu": nn.ReLU, "tanh": nn.Tanh}


class MLP(nn.Module):
    """Fully connected layers over the flattened observation.

    Args:
        observation_shape: of one observation.
        num_actions: A.
        hidden: the sizes of the layers.
        activation: relu or tanh.
        separate_value: whether the value has layers of its own, of the same sizes.
    """

    def __init__(
        self,
        observation_shape: Sequence[int],
        num_actions: int,
        hidden: Sequence[int] = (256, 256),
        activation: str = "relu",
        separate_value: bool = False,
    ) -> None:
        super().__init__()
        sizes = [int(torch.Size(observation_shape).numel()), *hidden]
        self.trunk = _layers(sizes, ACTIVATIONS[activation])
        self.value_trunk = _layers(sizes, ACTIVATIONS[activation]) if separate_value else None
        self.policy_head = nn.Linear(sizes[-1], num_actions)
        self.value_head = nn.Linear(sizes[-1], 1)

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """Logits, float[B, A], not masked, and values, float[B], of observations [B, *observation_shape] of any dtype."""
        features = observations.flatten(1).to(self.policy_head.weight.dtype)
        hidden = self.trunk(features)
        value_hidden = hidden if self.value_trunk is None else self.value_trunk(features)
        return self.policy_head(hidden), self.value_head(value_hidden).squeeze(1)


class SparseMLP(nn.Module):
    """An mlp whose first layer adds up the weights of the entries that are not 0: for large observations that are mostly 0.

    Args:
        observation_shape: of one observation.
        num_actions: A.
        hidden: the sizes of the layers.
    """

    def __init__(self, observation_shape: Sequence[int], num_actions: int, hidden: Sequence[int] = (64, 128)) -> None:
        super().__init__()
        num_entries = int(torch.Size(observation_shape).numel())
        self.first = nn.EmbeddingBag(num_entries, hidden[0], mode="sum")
        self.first_bias = nn.Parameter(torch.zeros(hidden[0]))
        self.trunk = _layers(hidden, ACTIVATIONS["relu"])
        self.policy_head = nn.Linear(hidden[-1], num_actions)
        self.value_head = nn.Linear(hidden[-1], 1)

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """Logits, float[B, A], not masked, and values, float[B], of observations [B, *observation_shape] of any dtype."""
        flat = observations.flatten(1)
        rows, entries = flat.nonzero(as_tuple=True)
        counts = torch.bincount(rows, minlength=len(flat))
        numbers = flat[rows, entries].to(self.first_bias.dtype)
        features = self.first(entries, counts.cumsum(0) - counts, per_sample_weights=numbers) + self.first_bias
        hidden = self.trunk(torch.relu(features))
        return self.policy_head(hidden), self.value_head(hidden).squeeze(1)


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


def _layers(sizes: Sequence[int], activation: type[nn.Module]) -> nn.Sequential:
    layers: list[nn.Module] = []
    for before, after in pairwise(sizes):
        layers += [nn.Linear(before, after), activation()]
    return nn.Sequential(*layers)
