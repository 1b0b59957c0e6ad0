r"""The triton engine: one fused kernel over all blocks of many series (see `lifting`), on a GPU.

On a Hopper GPU float32 runs in `_gluon_kernels`, everything else in `_triton_blocks`. Many series: one pass, each
program carries the states of a group of series through all of time. Few long series: time is cut into pieces that run
at once: a first pass gives each piece's final state from zero, `_carry` takes the states from piece to piece, a second
pass computes the predictions. The samples after the last whole block are a small torch product.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from prophecy._arrays import Reals
from prophecy.engines import torch_engine, torch_lifted, triton_blocks
from prophecy.engines.lifting import block_matrix
from prophecy.engines.triton_blocks import Plan, padded_order
from prophecy.system import System

RADIX = 16  # pieces walked one after another


# By kind and padded order, the fastest measured on an H200 (benchmarks/results/gpu.json).
PLANS = {
    ("hopper", 16): Plan("hopper", 64, 64, 4, 4),
    ("hopper", 32): Plan("hopper", 64, 64, 4, 4),
    ("hopper", 64): Plan("hopper", 64, 64, 4, 3),
    ("hopper", 128): Plan("hopper", 64, 64, 8, 3),
    ("double", 16): Plan("double", 32, 16, 4, 2),
    ("double", 32): Plan("double", 32, 32, 4, 3),
    ("double", 64): Plan("double", 32, 16, 4, 3),
    ("double", 128): Plan("double", 16, 16, 4, 1),
}


class Matrices(NamedTuple):
    """Kᵀ (L, L), Oᵀ (N, L), Rᵀ (L, N), (A^L - I)ᵀ (N, N), one after another; `lows` their low halves, and the factors
    that undo their scaling, for the Hopper kernel."""

    packed: Tensor
    lows: Tensor
    y_down: float
    x_down: float


def run(system: System, u: Reals, x: Reals, y: Reals) -> None:
    """Predictions into y and final states into x, in place, on the GPU."""
    if not torch.cuda.is_available():
        raise RuntimeError("engine 'triton' needs a CUDA device and torch sees none; use engine='torch' or 'lifted'")
    torch_engine.in_groups(predict, torch.device("cuda"), system, u, x, y)


@torch.no_grad()
def predict(
    system: System,
    u: Tensor,
    state: Tensor | None = None,
    *,
    plan: Plan | None = None,
    pieces: int | None = None,
    out: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Predictions like u and final states (series, N); u (series, time) on a GPU, any strides, in the system's dtype.

    plan: how the kernel is built; the one measured fastest for this order if not given.
    pieces: into how many pieces the time is cut; chosen by how many series there are if not given.
    """
    torch_engine.check(system, u, state)
    plan = plan or plan_for(system, u.device)
    u = u if u.stride(1) == 1 else u.contiguous()
    y = out if out is not None and out.stride(1) == 1 else u.new_empty(u.shape)
    x = u.new_zeros(len(u), padded_order(system.order))
    if state is not None:
        x[:, : system.order] = state
    whole = u.shape[1] // plan.length * plan.length
    if len(u) and whole:
        x = _whole(system, u[:, :whole], x, y[:, :whole], plan, pieces)
    if len(u) and whole < u.shape[1]:
        x = _tail(system, u[:, whole:], x, y[:, whole:])
    if out is not None and y is not out:
        out.copy_(y)
    return y if out is None else out, x[:, : system.order].contiguous()


def _whole(system: System, u: Tensor, x: Tensor, y: Tensor, plan: Plan, pieces: int | None) -> Tensor:
    """Whole blocks: cut into pieces of equal length, and the few blocks the cut leaves over."""
    blocks = u.shape[1] // plan.length
    if pieces is None:
        programs = torch.cuda.get_device_properties(u.device).multi_processor_count if u.is_cuda else 4
        pieces = pieces_for(len(u), blocks, plan.group, programs)
    pieces = min(pieces, blocks)
    edge = blocks // pieces * pieces * plan.length
    matrices = _matrices(system, plan, u.device)
    if pieces > 1:
        ends = _kernel(matrices, u[:, :edge], x.new_zeros(len(x) * pieces, x.shape[1]), None, plan, pieces)
        first = _carry(system, ends.reshape(len(x), pieces, -1), x, edge // pieces)
        ends = _kernel(matrices, u[:, :edge], first.reshape(ends.shape), y[:, :edge], plan, pieces)
        x = ends.reshape(len(x), pieces, -1)[:, -1].contiguous()
        u, y = u[:, edge:], y[:, edge:]
    return _kernel(matrices, u, x, y, plan, 1) if u.shape[1] else x


def _kernel(matrices: Matrices, u: Tensor, x: Tensor, y: Tensor | None, plan: Plan, pieces: int) -> Tensor:
    """The states (rows, N) after pieces of u that begin with x; predictions into y, if there is one."""
    rows, order = x.shape
    end, each, to = torch.empty_like(x), u.shape[1] // pieces, u if y is None else y
    built = {"ORDER": order, "LENGTH": plan.length, "STAGES": plan.stages, "num_warps": plan.warps}
    grid = (-(-rows // plan.group), 1)
    if plan.kind == "hopper":
        from prophecy.engines import _gluon_kernels

        _gluon_kernels.lifted[grid](
            u, to, x, end, *matrices[:2], rows, each // plan.length, pieces, u.stride(0), to.stride(0), *matrices[2:],
            READ=y is not None, **built,
        )  # fmt: skip
    else:
        from prophecy.engines import _triton_blocks

        sizes = np.cumsum([plan.length**2, order * plan.length, plan.length * order]).tolist()
        parts = torch.tensor_split(matrices.packed, sizes)
        _triton_blocks.forward[grid](
            u, x, to, end, *parts, rows, each, pieces, 0, u.stride(0), 0, to.stride(0), 0, 0, 0, 0,
            READ=y is not None, KEEP=False, GROUP=plan.group, PRECISION=plan.kind, **built,
        )  # fmt: skip
    return end


def _tail(system: System, u: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """The samples after the last whole block, as one product with the block matrix of their number."""
    length, order = u.shape[1], system.order
    M = torch.from_numpy(np.array(block_matrix(system, length))).to(u.device)
    with torch_lifted.exact_products():
        both = torch.cat([u, x[:, :order]], dim=1) @ M
    y.copy_(both[:, :length])
    x[:, :order] = both[:, length:]
    return x


@lru_cache(maxsize=32)
def _matrices(system: System, plan: Plan, device: torch.device) -> Matrices:
    L, N, padded = plan.length, system.order, padded_order(system.order)
    M = np.zeros((L + padded, L + padded))
    M[: L + N, : L + N] = block_matrix(system.astype(np.float64), L)
    states = np.arange(L, L + N)
    M[states, states] -= 1.0
    halves = plan.kind == "hopper"
    y_scale, x_scale = (_scale(part) for part in (M[:, :L], M[:, L:])) if halves else (1.0, 1.0)
    M *= np.concatenate([np.full(L, y_scale), np.full(padded, x_scale)])
    flat = np.concatenate([part.ravel() for part in (M[:L, :L], M[L:, :L], M[:L, L:], M[L:, L:])])
    high = flat.astype(np.float16 if halves else system.dtype)
    low = (flat - high.astype(np.float64)).astype(high.dtype)
    packed, lows = (torch.from_numpy(part).to(device) for part in (high, low))
    return Matrices(packed, lows, 1 / y_scale, 1 / x_scale)


def _scale(matrix: Reals) -> float:
    """A power of two that brings the largest entry near 2^8: float16 then resolves the low halves of small ones too."""
    largest = float(np.abs(matrix).max())
    return 2.0 ** (8 - np.frexp(largest)[1]) if largest > 0 else 1.0


def _carry(system: System, added: Tensor, x: Tensor, samples: int) -> Tensor:
    """States before each piece of so many samples, (series, pieces, N), from what each adds to the state before it.

    Many pieces are walked in groups of RADIX at once, from zero; what the groups add is carried likewise; then the
    groups are walked again, each from its own start.
    """
    series, pieces, order = added.shape
    power = _power(system, samples, order, x.device)
    if pieces <= 2 * RADIX:
        return _walk(added, x, power, pieces, 1, keep=True)
    groups = -(-pieces // RADIX)
    ends = _walk(added, x.new_zeros(series * groups, order), power, RADIX, groups, keep=False)
    starts = _carry(system, ends.reshape(series, groups, order), x, samples * RADIX)
    return _walk(added, starts.reshape(-1, order), power, RADIX, groups, keep=True)


def _walk(added: Tensor, x: Tensor, power: Tensor, steps: int, groups: int, keep: bool) -> Tensor:
    from prophecy.engines import _triton_blocks

    rows, order = x.shape
    out = torch.empty_like(added if keep else x)
    precision = "double" if x.dtype == torch.float64 else "tf32x3"
    _triton_blocks.walk[(-(-rows // 16),)](
        added, x, power, out, out, rows, steps, groups, added.shape[1], KEEP=keep, ORDER=order, GROUP=16,
        PRECISION=precision, num_warps=4,
    )  # fmt: skip
    return out


@lru_cache(maxsize=64)
def _power(system: System, samples: int, order: int, device: torch.device) -> Tensor:
    """A^samples, made in float64, to be multiplied from the right."""
    padded = np.zeros((order, order), system.dtype)
    power = np.linalg.matrix_power(system.A.astype(np.float64), samples)
    padded[: system.order, : system.order] = power.T
    return torch.from_numpy(padded).to(device)


def plan_for(system: System, device: torch.device) -> Plan:
    """The plan for this order and dtype on this kind of device."""
    order = padded_order(system.order)
    if system.dtype == np.float64 or _is_hopper(device):
        return PLANS["double" if system.dtype == np.float64 else "hopper", order]
    return triton_blocks.PLANS[False, order]


@lru_cache(maxsize=8)
def _is_hopper(device: torch.device) -> bool:
    """Whether warpgroup products exist there (compute capability 9) and this Triton issues them as we ask.

    Gluon is young and its names move between releases, so a small run decides; without it `_triton_blocks` takes over.
    """
    if device.type != "cuda" or torch.cuda.get_device_capability(device)[0] != 9:
        return False
    system = System(np.array([[0.5]]), np.ones(1), np.ones(1), 0.0, dtype=np.dtype(np.float32))
    try:
        y, _ = predict(system, torch.ones(2, 64, device=device), plan=Plan("hopper", 32, 64, 4, 2), pieces=1)
    except Exception:  # whatever an unknown release raises, the other kernel does not need it
        return False
    return bool(abs(float(y[1, -1]) - 2.0) < 1e-5)


# Blocks a program gets through in the time that cutting costs (the launches, the carrying between them), measured.
CUTTING = 150
RESIDENT = 2  # programs that a multiprocessor runs side by side, each filling the other's waits


@lru_cache(maxsize=256)
def pieces_for(series: int, blocks: int, group: int, programs: int) -> int:
    """Into how many pieces to cut the time: 1 unless that pays, else as many as fill the chip.

    programs: how many the chip runs at once, one for each multiprocessor. One pass takes `blocks` steps however few the
    series; cut, the chip is full but does the states twice. Of the counts that nearly fill it, the one that leaves the
    fewest blocks over is taken.
    """
    rows = programs * group
    if blocks * (1.0 - 1.6 * series / rows) < CUTTING:
        return 1
    most = min(max(1, RESIDENT * rows // series), max(1, blocks // 4))
    return min(range(max(1, most * 3 // 4), most + 1), key=lambda p: (blocks % p, -p))
