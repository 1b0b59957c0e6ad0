"""Padded batches: samples that count are moved to the front, run, and put back where they came from."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor


def packed(
    u: Tensor, lengths: Tensor | Sequence[Any] | None, mask: Tensor | Sequence[Any] | None
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """u (batch, time, channels) with the samples that count first, how many they are, and where each came from.

    The order of the samples stays, so causality does too; a sample that does not count takes no time.
    """
    if lengths is None and mask is None:
        return u, None, None
    batch, time = u.shape[:2]
    if lengths is not None:
        if mask is not None:
            raise ValueError("give lengths or mask, not both: a mask says everything lengths say")
        lengths = torch.as_tensor(lengths, device=u.device)
        if tuple(lengths.shape) != (batch,) or lengths.dtype == torch.bool or lengths.is_floating_point():
            raise ValueError(f"lengths must be whole numbers ({batch},), got {lengths.dtype} {tuple(lengths.shape)}")
        if not torch.compiler.is_compiling() and batch and not (0 <= int(lengths.min()) <= int(lengths.max()) <= time):
            raise ValueError(f"lengths must lie between 0 and {time}, got {lengths.tolist()}")
        mask = counted(lengths, time)
    mask = torch.as_tensor(mask, device=u.device)
    if tuple(mask.shape) != (batch, time) or mask.dtype != torch.bool:
        raise ValueError(f"mask must be bool of shape {(batch, time)}, got {mask.dtype} {tuple(mask.shape)}")
    where, seen = torch.argsort(~mask, dim=1, stable=True), mask.sum(1)
    now = u.gather(1, where[..., None].expand_as(u))
    return torch.where(counted(seen, time)[..., None], now, 0.0), seen, where


def unpacked(y: Tensor, seen: Tensor | None, where: Tensor | None) -> Tensor:
    """Outputs (batch, time, ...) back where their samples were; 0 where no sample counts."""
    if seen is None or where is None:
        return y
    inside, index = (part.reshape(*y.shape[:2], *[1] * (y.ndim - 2)) for part in (counted(seen, y.shape[1]), where))
    return torch.zeros_like(y).scatter(1, index.expand_as(y), torch.where(inside, y, 0.0))


def counted(lengths: Tensor, time: int) -> Tensor:
    """(batch, time): True for the first `lengths` samples of each row."""
    return torch.arange(time, device=lengths.device) < lengths[:, None]
