"""Lifted blocks on CUDA by the fused kernels of `_triton_blocks`: the same arguments and results as in `torch_lifted`.

    # x has seen u[k] when y[k] is read; y[k] predicts u[k + 1].
    x = A @ x + B * u[k]
    y[k] = C @ x + D * u[k]

Importing this needs triton; running it a GPU, or TRITON_INTERPRET=1 and tensors on the CPU.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from prophecy.engines import _triton_blocks

LARGEST = 128  # orders beyond it do not fit the registers
SHARED = 200_000  # bytes of shared memory a block of order 64 takes at most (compiled for sm_90: 196 608)
FEWEST = 256  # series (times channels) below which programs are too few to fill a GPU; torch's products take those


class BlockPlan(NamedTuple):
    """Series per program, warps, loads ahead, and how numbers are multiplied: as Triton names it, or "double"."""

    group: int
    warps: int
    stages: int
    precision: str


# By float64 or not and padded order. 16 and 64 in float32 are the fastest of four on an H200
# (benchmarks/results/layers-gpu.json); the others were not searched.
PLANS: dict[tuple[bool, int], BlockPlan] = {
    (False, 16): BlockPlan(64, 4, 1, "tf32x3"),
    (False, 32): BlockPlan(64, 4, 1, "tf32x3"),
    (False, 64): BlockPlan(64, 4, 1, "tf32x3"),
    (False, 128): BlockPlan(16, 8, 1, "ieee"),  # tf32x3 keeps both halves of the matrices: 311 KB of shared memory
    (True, 16): BlockPlan(16, 4, 2, "double"),
    (True, 32): BlockPlan(16, 4, 2, "double"),
    (True, 64): BlockPlan(16, 4, 1, "double"),
    (True, 128): BlockPlan(16, 4, 1, "double"),
}


_fewest = FEWEST


def use_from(series: int = FEWEST) -> None:
    """From now on in this process the kernels run from so many series on: comparisons need them switched off."""
    global _fewest
    _fewest = series


def takes(u: Tensor, readouts: int, length: int, order: int) -> bool:
    """Whether the kernels are for this: many series, one readout, an order and a block that fit."""
    enough = u.shape[0] * u.shape[1] >= _fewest and u.shape[2] >= 2 * length
    fits = order <= LARGEST and (length & (length - 1)) == 0 and 16 <= length <= 64
    fits = fits and not (u.dtype == torch.float64 and order > 64)
    return enough and readouts == 1 and fits and (order <= 32 or _shared(u.device) >= SHARED)


@lru_cache(maxsize=8)
def _shared(device: torch.device) -> int:
    """Bytes of shared memory a program may have on this device."""
    found = getattr(torch.cuda.get_device_properties(device), "shared_memory_per_block_optin", 0)
    return int(found)


def forward(
    u: Tensor, x: Tensor, kernel: Tensor, observe: Tensor, reach: Tensor, power: Tensor, plan: BlockPlan | None = None
) -> tuple[Tensor, Tensor]:
    """`torch_lifted.run` for one readout: y (channels, series, time, 1), before (channels, series, blocks + 2, N)."""
    channels, series, time = u.shape
    length, order = kernel.shape[-1], x.shape[-1]
    padded, power = padded_order(order), power.to(u.dtype)
    K = _square(kernel[:, 0]).mT
    matrices = [K, _wide(observe[:, 0].mT, padded, -2), _wide(reach.mT, padded, -1), _wide(power.mT, padded, -1, -2)]
    y = torch.empty(channels, series, time, dtype=u.dtype, device=u.device)
    before = torch.empty(channels, series, time // length + 2, padded, dtype=u.dtype, device=u.device)
    before[:, :, -1] = 0.0
    first = _wide(x, padded, -1).contiguous()
    _launch(_triton_blocks.forward, (u.contiguous(), first, y, before), matrices, u.shape, length, padded, plan, {})
    return y.unsqueeze(-1), before if padded == order else before[..., :order].contiguous()


def backward(
    to_y: Tensor,
    to_before: Tensor | None,
    kernel: Tensor,
    observe: Tensor,
    reach: Tensor,
    power: Tensor,
    plan: BlockPlan | None = None,
) -> tuple[Tensor, Tensor]:
    """Gradients of u, and of the states before each block through everything after them."""
    channels, series, time = to_y.shape[:3]
    length, order = kernel.shape[-1], power.shape[-1]
    padded, power = padded_order(order), power.to(to_y.dtype)
    matrices = [
        _square(kernel[:, 0]),
        _wide(observe[:, 0], padded, -1),
        _wide(reach, padded, -2),
        _wide(power, padded, -1, -2),
    ]
    g = to_y.squeeze(-1).contiguous()
    to_u = torch.empty_like(g)
    reached = torch.empty(channels, series, time // length + 2, padded, dtype=g.dtype, device=g.device)
    extra = g if to_before is None else _wide(to_before, padded, -1).contiguous()
    built = {"EXTRA": to_before is not None}
    _launch(_triton_blocks.adjoint, (g, extra, to_u, reached), matrices, g.shape, length, padded, plan, built)
    return to_u, reached[:, :, :-1, :order]


def _launch(
    kernel: Any,
    tensors: tuple[Tensor, ...],
    matrices: list[Tensor],
    shape: torch.Size,
    length: int,
    order: int,
    plan: BlockPlan | None,
    built: dict[str, Any],
) -> None:
    channels, series, time = shape
    plan = plan or PLANS[tensors[0].dtype == torch.float64, order]
    solid = [matrix.contiguous() for matrix in matrices]
    strides = [0 if len(matrix) == 1 else matrix.stride(0) for matrix in solid]
    kernel[(-(-series // plan.group), channels)](
        *tensors, *solid, series, time, *strides, **built, ORDER=order, LENGTH=length, GROUP=plan.group,
        STAGES=plan.stages, PRECISION=plan.precision, num_warps=plan.warps,
    )  # fmt: skip


def _square(kernel: Tensor) -> Tensor:
    """K (channels, L, L): [i, j] = kernel[i - j] for i ≥ j, else 0."""
    length = kernel.shape[-1]
    padded = torch.cat([kernel.flip(-1), kernel.new_zeros(len(kernel), length - 1)], dim=-1)
    return padded.unfold(-1, length, 1).flip(-2)


def padded_order(order: int) -> int:
    return max(16, 1 << (order - 1).bit_length())


def _wide(tensor: Tensor, order: int, *axes: int) -> Tensor:
    """Zeros up to `order` states along these of the last two axes."""
    sizes = [0, 0, 0, 0]
    for axis in axes:
        sizes[1 if axis == -1 else 3] = order - tensor.shape[axis]
    return pad(tensor, sizes if -2 in axes else sizes[:2])
