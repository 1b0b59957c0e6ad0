"""Lifted blocks on CUDA by the fused kernels of `_triton_blocks`: the same arguments and results as in `torch_lifted`.

Importing this needs triton; running it a GPU, or TRITON_INTERPRET=1 and tensors on the CPU.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from prophecy.engines import _triton_blocks, torch_lifted

LARGEST = 128  # orders beyond it do not fit the registers
SHARED = 200_000  # bytes of shared memory a block of order 64 takes at most (compiled for sm_90: 196 608)
SUMMED = (32, 3, 4)  # rows, loads ahead and warps of the gradients' sums
TILE = (64, 64, 8)  # moments, channels and warps of a tile that is turned
PARTS = 8  # of time that gradients of matrices are summed over apart
FEWEST = 256  # series (times channels) below which programs are too few to fill a GPU; torch's products take those


class Plan(NamedTuple):
    """How a kernel is built: how it multiplies, samples per block, series per program, warps, loads ahead.

    kind: a precision of Triton's, "double", or "hopper" (`_gluon_kernels`). Blocks of layers have lengths of their own.
    """

    kind: str
    length: int
    group: int
    warps: int
    stages: int


# By float64 or not and padded order. 16 and 64 in float32 are the fastest of ten on an H200
# (benchmarks/results/layers-gpu.json has those of the present code); the others were not searched.
PLANS: dict[tuple[bool, int], Plan] = {
    (False, 16): Plan("bf16x6", 32, 64, 4, 3),
    (False, 32): Plan("bf16x6", 32, 64, 4, 1),
    (False, 64): Plan("bf16x6", 64, 64, 4, 1),
    (False, 128): Plan("ieee", 64, 16, 8, 1),
    (True, 16): Plan("double", 32, 16, 4, 2),
    (True, 32): Plan("double", 32, 16, 4, 2),
    (True, 64): Plan("double", 64, 16, 4, 1),
    (True, 128): Plan("double", 64, 16, 4, 1),
}

PRECISIONS = ("bf16x6", "tf32x3", "bf16x3", "tf32", "ieee")
_fewest = FEWEST
_precision: str | None = None


def use_precision(name: str | None = None) -> None:
    """How float32 numbers are multiplied from now on in this process: one of PRECISIONS, None for the default.

    Relative errors of outputs and of the gradient of u on an H200, N = 64: bf16x6 (six products of three bfloat16
    parts, the default) 1e-7, tf32x3 1.3e-7, bf16x3 2.5e-6, tf32 1e-3. Each treats every sample by itself, so that a
    later value, however large, leaves the bits of earlier outputs alone; scaled float16 halves would not.
    """
    global _precision
    if name is not None and name not in PRECISIONS:
        raise ValueError(f"precision must be one of {', '.join(PRECISIONS)}, got {name!r}")
    _precision = name


def _plan(kind: torch.dtype, order: int, given: Plan | None = None) -> Plan:
    plan = given or PLANS[kind == torch.float64, order]
    return plan if _precision is None or kind == torch.float64 else plan._replace(kind=_precision)


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
    return int(getattr(torch.cuda.get_device_properties(device), "shared_memory_per_block_optin", 0))


def forward(
    u: Tensor, x: Tensor, kernel: Tensor, observe: Tensor, reach: Tensor, power: Tensor, plan: Plan | None = None
) -> tuple[Tensor, Tensor]:
    """`torch_lifted.run` for one readout: y (channels, series, time, 1), before (channels, series, blocks + 2, N)."""
    channels, series, time = u.shape
    length, order = kernel.shape[-1], x.shape[-1]
    padded, matrices = padded_order(order), _matrices(kernel, observe, reach, power, u.dtype)
    y = u.new_empty(series, time, channels).permute(2, 0, 1)
    before = u.new_empty(channels, series, time // length + 2, padded)
    before[:, :, -1] = 0.0
    now = _turned(u)
    made = _own(now, u)
    tensors = now, _wide(x, padded, -1).contiguous(), made, before
    sizes = series, time, 1, *now.stride()[:2], *made.stride()[:2]
    _launch(_triton_blocks.forward, tensors, matrices, sizes, length, padded, plan, {"READ": True, "KEEP": True})
    _turned(made, y)
    return y.unsqueeze(-1), before if padded == order else before[..., :order].contiguous()


def backward(
    to_y: Tensor, to_before: Tensor | None, u: Tensor, before: Tensor, kernel: Tensor, observe: Tensor, reach: Tensor,
    power: Tensor, wanted: tuple[bool, bool] = (True, True), plan: Plan | None = None,
) -> tuple[Tensor | None, ...]:  # fmt: skip
    """The adjoint of `forward`: gradients of u, x, kernel, observe, reach and power.

    wanted: whether those of kernel and observe, and those of reach and power, are; else they are None.
    Kernel and observe have a gradient for each channel, reach and power are summed where they are shared. That of the
    kernel comes as the matrix K's, (channels, 1, L, L).
    """
    channels, series, time = u.shape
    length, order = kernel.shape[-1], power.shape[-1]
    padded, blocks = padded_order(order), time // length
    matrices = [matrix.mT for matrix in _matrices(kernel, observe, reach, power, u.dtype)]
    to_x, starts, g = u.new_empty(channels, series, padded), _wide(before, padded, -1), _turned(to_y.squeeze(-1))
    of_readout: tuple[Tensor | None, ...] = (None, None)
    of_memory: tuple[Tensor | None, ...] = (None, None)
    if wanted[0]:
        to_K, to_O = _summed(g, _turned(u), length, length, plan), _summed(g, starts, length, padded, plan)
        of_readout = to_K.unsqueeze(1), to_O[..., :order].unsqueeze(1)
    back = _own(g, to_y)
    kept = u.new_empty(channels, series, blocks + 2, padded) if wanted[1] else to_x
    extra = g if to_before is None else _wide(to_before, padded, -1).contiguous()
    built = {"EXTRA": to_before is not None, "KEEP": wanted[1]}
    _launch(_triton_blocks.adjoint, (g, extra, back, kept), matrices, (series, time), length, padded, plan, built)
    to_u = _turned(back, u.new_empty(series, time, channels).permute(2, 0, 1))
    del g, back
    if wanted[1]:
        to_x, after = kept[:, :, 0], kept[:, :, 1:]
        to_R = _summed(after, _turned(u)[..., : blocks * length], padded, length, plan, blocks)
        to_P = _summed(after, starts, padded, padded, plan, blocks)[:, :order, :order].to(power.dtype)
        of_memory = to_R[:, :order].sum_to_size(reach.shape), to_P.sum_to_size(power.shape)
    return to_u, to_x[..., :order], *of_readout, *of_memory


def _summed(
    left: Tensor, right: Tensor, rows: int, columns: int, plan: Plan | None, blocks: int | None = None
) -> Tensor:
    """Σ leftᵀ right over all series and blocks, (channels, rows, columns).

    Either is (channels, series, time), cut into blocks of that many values, or (channels, series, blocks, values).
    """
    channels, series = left.shape[:2]
    if blocks is None:
        blocks = -(-left.shape[2] // rows)
    ways: list[int] = []
    for one, size in ((left, rows), (right, columns)):
        short = one.shape[2] - (blocks - 1) * size if one.ndim == 3 else size
        ways += [one.stride(1), size if one.ndim == 3 else one.stride(2), min(short, size)]
    parts = max(1, min(blocks, PARTS))
    out = left.new_empty(channels, parts, rows, columns)
    if blocks == 0 or series == 0:
        return left.new_zeros(channels, rows, columns)
    plan = _plan(left.dtype, 64, plan)
    _triton_blocks.gradients[(channels, parts)](
        left, right, out, series, *ways, blocks, left.stride(0), right.stride(0), ROWS=rows, COLUMNS=columns,
        GROUP=SUMMED[0], STAGES=SUMMED[1], PRECISION=plan.kind, num_warps=SUMMED[2],
    )  # fmt: skip
    return out.sum(1)


def _turned(source: Tensor, target: Tensor | None = None) -> Tensor:
    """(channels, series, time) as a layer's data are stored, in the order the kernels read, and back into `target`."""
    if target is None:
        if source.is_contiguous():
            return source
        target = source.new_empty(source.shape)
    channels, series, time = source.shape
    moments, wide, warps = TILE
    grid = (-(-channels // wide), -(-time // moments), series)
    _triton_blocks.turn[grid](
        source, target, series, time, channels, *source.stride(), *target.stride(), MOMENTS=moments, CHANNELS=wide,
        num_warps=warps,
    )  # fmt: skip
    return target


def _own(made: Tensor, given: Tensor) -> Tensor:
    """Where the kernels write: over a copy they were given to read, block by block, or beside what is the caller's."""
    return made.new_empty(made.shape) if made.data_ptr() == given.data_ptr() else made


def _launch(
    kernel: Any, tensors: tuple[Tensor, ...], matrices: list[Tensor], sizes: tuple[int, ...], length: int, order: int,
    plan: Plan | None, built: dict[str, Any],
) -> None:  # fmt: skip
    channels, series = tensors[0].shape[:2]
    plan = _plan(tensors[0].dtype, order, plan)
    solid = [matrix.contiguous() for matrix in matrices]
    strides = [0 if len(matrix) == 1 else matrix.stride(0) for matrix in solid]
    kernel[(-(-series // plan.group), channels)](
        *tensors, *solid, *sizes, *strides, **built, ORDER=order, LENGTH=length, GROUP=plan.group,
        STAGES=plan.stages, PRECISION=plan.kind, num_warps=plan.warps,
    )  # fmt: skip


def _matrices(kernel: Tensor, observe: Tensor, reach: Tensor, power: Tensor, kind: torch.dtype) -> list[Tensor]:
    """Kᵀ, Oᵀ, Rᵀ and (A^L - I)ᵀ, by which rows are multiplied; the last is rounded after the difference."""
    padded = padded_order(power.shape[-1])
    less = (power - torch.eye(power.shape[-1], dtype=power.dtype, device=power.device)).to(kind)
    return [
        torch_lifted.toeplitz(kernel)[:, :, 0],
        _wide(observe[:, 0].mT, padded, -2),
        _wide(reach.mT, padded, -1),
        _wide(less.mT, padded, -1, -2),
    ]


def padded_order(order: int) -> int:
    if order > LARGEST:
        raise ValueError(f"the fused kernel takes orders up to {LARGEST}, got {order}; use the torch engine")
    return max(16, 1 << (order - 1).bit_length())


def _wide(tensor: Tensor, order: int, *axes: int) -> Tensor:
    """Zeros up to `order` states along these of the last two axes."""
    sizes = [0, 0, 0, 0]
    for axis in axes:
        sizes[1 if axis == -1 else 3] = order - tensor.shape[axis]
    return pad(tensor, sizes if -2 in axes else sizes[:2]) if any(sizes) else tensor
