"""Agents that play what a trained network says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyramid_envs.agents import Thought, checkpoint
from pyramid_envs.agents.fixed import Adviser
from pyramid_envs.agents.networks import inputs, mask_logits
from pyramid_envs.agents.torch_extra import nn, torch
from pyramid_envs.game import Game

_CHUNK = 8192  # rows that go through the network at once: more only costs memory


class LearnedAgent:
    """Plays by a network, from observations and masks, and the advice of the game if the network looks at that too.

    Args:
        network: observations to logits and values, of `pyramid_envs.agents.networks`; it is used, not copied.
        game: the game it plays.
        name: how it is called in tables.
        deterministic: True plays the action that the network likes best; False draws one with the network's probabilities.
        device: where the network is.
    """

    def __init__(
        self, network: nn.Module, game: Game, name: str = "learned", deterministic: bool = False, device: str = "cpu"
    ) -> None:
        self.network = network
        self.game = game
        self.name = name
        self._adviser = Adviser(game)
        self.deterministic = deterministic
        self.device = torch.device(device)

    @classmethod
    def load(cls, folder: str | Path, game: Game, deterministic: bool = False, device: str = "cpu") -> LearnedAgent:
        """The agent of a checkpoint, or of the latest checkpoint of a training run. Nothing in the folder is unpickled.

        Raises:
            CheckpointError: if the folder holds none, a damaged one, or one for something else than `game`.
        """
        found = checkpoint.find(folder)
        network = checkpoint.load_network(found, game).to(device)
        return cls(network, game, str(folder), deterministic, device)

    def act(
        self,
        rows: NDArray[Any],
        observations: NDArray[np.int8],
        masks: NDArray[np.bool_],
        seats: NDArray[np.int64],
        seeds: NDArray[np.uint64],
    ) -> NDArray[np.int64]:
        """See `pyramid_envs.agents.Agent`."""
        logits = self.logits(self.inputs(rows, observations, masks), masks)
        if self.deterministic:
            return logits.argmax(1)
        # One uniform number for each row, from its seed, picks along the row's cumulated probabilities.
        logits = logits.astype(np.float64)
        cumulated = np.exp(logits - logits.max(1, keepdims=True)).cumsum(1)
        thresholds = (seeds >> np.uint64(11)) * 2.0**-53 * cumulated[:, -1]
        return np.asarray((cumulated > thresholds[:, None]).argmax(1))

    def think(
        self,
        rows: NDArray[Any],
        observations: NDArray[np.int8],
        masks: NDArray[np.bool_],
        seats: NDArray[np.int64],
        seeds: NDArray[np.uint64],
    ) -> Thought:
        """The policy is the network's probabilities, the value what it expects."""
        seen = self.inputs(rows, observations, masks)
        logits = self.logits(seen, masks)[0].astype(np.float64)
        shares = np.exp(logits - logits.max())
        with torch.inference_mode():
            value = float(self.network(torch.tensor(seen, device=self.device))[1][0].clamp(-1, 1))
        return Thought(int(self.act(rows, observations, masks, seats, seeds)[0]), shares / shares.sum(), value)

    def inputs(self, rows: NDArray[Any], observations: NDArray[np.int8], masks: NDArray[np.bool_]) -> NDArray[np.int8]:
        """What the network looks at; see `pyramid_envs.agents.networks.inputs`."""
        return inputs(self.network, self._adviser, rows, observations, masks)

    def logits(self, seen: NDArray[np.int8], masks: NDArray[np.bool_]) -> NDArray[np.float32]:
        """float32[B, A]: the logits of a network that looks at `seen`, -1e9 for illegal actions."""
        out = np.empty(masks.shape, np.float32)
        with torch.inference_mode():
            for low in range(0, len(masks), _CHUNK):
                part = slice(low, low + _CHUNK)
                logits, _ = self.network(torch.tensor(seen[part], device=self.device))
                out[part] = mask_logits(logits, torch.tensor(masks[part], device=self.device)).cpu().numpy()
        return out
