"""One training by several processes, as torchrun starts them: each plays a share of the games, and gradients are added up.

Everything is arranged so that any number of processes learn what one process would: games, actions and minibatches are those of
one process, and each computes its games' part of every sum. What is saved is the state of one process, so that a run may be
resumed by another number of them. Without torchrun all this does nothing.

Letters: R rows of a rollout, N games of all processes.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, TypeVar

import torch
from torch import distributed

from training.cli import SettingsError

T = TypeVar("T")


class Processes:
    """The processes that train together.

    Attributes:
        rank: the number of this one.
        size: how many there are.
        is_writer: whether this one writes files and tells of progress.
        on_this_machine: how many of them share its cores.
    """

    def __init__(self, device: torch.device) -> None:
        self.size = int(os.environ.get("WORLD_SIZE", "1"))
        self.rank = int(os.environ.get("RANK", "0"))
        self.is_writer = self.rank == 0
        self.on_this_machine = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
        self._device = device
        if self.size > 1 and not distributed.is_initialized():
            # Optimizers load this module at their first step, and its functions then keep the group that there is as a default:
            # the group would outlive `part`, and its threads, still running as Python ends, would now and then abort the process.
            import torch.distributed.nn  # noqa: F401

            distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")

    def part(self) -> None:
        """Leave the others."""
        if self.size > 1:
            distributed.destroy_process_group()

    def share(self, num_games: int) -> slice:
        """Which of N games are those of this process."""
        if num_games % self.size:
            raise SettingsError(f"num_games must be a multiple of the number of processes, {self.size}, not {num_games}")
        own = num_games // self.size
        return slice(self.rank * own, (self.rank + 1) * own)

    def own(self, decisions: torch.Tensor, share: slice, num_games: int) -> torch.Tensor:
        """Which of these decisions belong to this process: numbers in [R, N] games become numbers in its own [R, N / size]."""
        if self.size == 1:
            return decisions
        rows, columns = decisions // num_games, decisions % num_games
        here = (columns >= share.start) & (columns < share.stop)
        return rows[here] * (share.stop - share.start) + columns[here] - share.start

    def add(self, tensors: Sequence[torch.Tensor]) -> None:
        """Replace float tensors by their sums over all processes."""
        if self.size == 1:
            return
        flat = torch.cat([tensor.flatten() for tensor in tensors])
        distributed.all_reduce(flat)
        for tensor, total in zip(tensors, torch.split(flat, [tensor.numel() for tensor in tensors]), strict=True):
            tensor.copy_(total.view_as(tensor))

    def any(self, wish: bool) -> bool:
        """Whether any process wishes it."""
        flag = torch.tensor(float(wish), device=self._device)
        self.add([flag])
        return bool(flag > 0)

    def join(self, tensor: torch.Tensor, axis: int) -> torch.Tensor:
        """The tensors of all processes, of one shape, one after the other along an axis, in every process."""
        if self.size == 1:
            return tensor
        here = tensor.contiguous().to(self._device)
        parts = [torch.empty_like(here) for _ in range(self.size)]
        distributed.all_gather([part.view(torch.uint8) for part in parts], here.view(torch.uint8))
        return torch.cat(parts, axis).to(tensor.device)

    def tell(self, value: T | None) -> T:
        """What the writer has as this value, in every process; the others may say None."""
        told: list[Any] = [value]
        if self.size > 1:
            distributed.broadcast_object_list(told, device=self._device)
        return told[0]
