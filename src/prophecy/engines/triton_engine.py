r"""The Triton engine: one fused GPU kernel per run (see `_triton_kernels`), for orders up to 128.

    # x has seen u[k] when y[k] is read; y[k] predicts u[k + 1].
    x = A @ x + B * u[k]
    y[k] = C @ x + D * u[k]

Many series: one pass, each program carries the states of a group of series through all of time. Few long series: time
is cut into pieces that run at once: a first pass gives each piece's final state from zero, `_carry` takes the states
from piece to piece, a second pass computes the predictions. The samples after the last whole
block are a small torch product.

The block matrix M = [[K, O], [R, A^L]] is all the kernel knows; gradients to u and to the first state run the same
kernel with Mᵀ, last block first (`differentiable`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.linalg import toeplitz
from torch import Tensor

from prophecy.engines import torch_engine, torch_lifted
from prophecy.engines.lifting import lift
from prophecy.system import System

Array = NDArray[Any]

HALVES = ("half", "hopper")  # the modes that multiply float32 by three float16 products
LARGEST = 128  # orders beyond it do not fit the registers; the torch engine takes them


@dataclass(frozen=True)
class Plan:
    """How the kernel is built: kind of products, samples per block, series per program, warps, loads ahead."""

    mode: str
    length: int
    group: int
    warps: int
    stages: int


# Measured fastest on an H200 (benchmarks/results/gpu.json); keyed by mode and padded order. "half" is for GPUs without
# warpgroup products, so its plans are the fastest among those that do not use them.
PLANS = {
    ("hopper", 16): Plan("hopper", 64, 64, 4, 4),
    ("hopper", 32): Plan("hopper", 64, 64, 4, 4),
    ("hopper", 64): Plan("hopper", 64, 64, 4, 3),
    ("hopper", 128): Plan("hopper", 64, 64, 4, 4),
    ("half", 16): Plan("half", 32, 32, 2, 3),
    ("half", 32): Plan("half", 64, 16, 4, 3),
    ("half", 64): Plan("half", 64, 32, 4, 3),
    ("half", 128): Plan("half", 32, 32, 4, 2),
    ("double", 16): Plan("double", 32, 16, 4, 2),
    ("double", 32): Plan("double", 32, 32, 4, 3),
    ("double", 64): Plan("double", 32, 32, 4, 3),
    ("double", 128): Plan("double", 16, 16, 4, 1),
}


class PackedMatrices(NamedTuple):
    """What the kernel multiplies by, packed; `lows` the low halves; the factors that undo the matrices' scaling."""

    packed: Tensor
    lows: Tensor
    y_down: float
    x_down: float


def run(system: System, u: Array, x: Array, y: Array) -> None:
    """Predictions into y and final states into x, in place, on the GPU."""
    device = _device()
    rows = max(1, torch_engine.WORK["cuda"] // max(1, u.shape[1]))
    for first in range(0, len(u), rows):
        some = slice(first, first + rows)
        data = torch.from_numpy(np.array(u[some], dtype=system.dtype, order="C")).to(device)
        out, final = predict(system, data, torch.from_numpy(x[some].copy()).to(device))
        y[some], x[some] = out.cpu().numpy(), final.cpu().numpy()


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
    return _run(system, u, state, plan, pieces, out, transposed=False)


def differentiable(
    system: System, u: Tensor, state: Tensor | None = None, *, plan: Plan | None = None
) -> tuple[Tensor, Tensor]:
    """`predict` with gradients to u and to the state, by the same kernel (`torch_engine.simulate`: to the matrices)."""
    torch_engine.check(system, u, state)
    x = u.new_zeros(len(u), system.order) if state is None else state
    result: tuple[Tensor, Tensor] = _Fused.apply(u, x, system, plan)  # type: ignore[no-untyped-call]
    return result


class _Fused(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, u: Tensor, x: Tensor, system: System, plan: Plan | None) -> tuple[Tensor, Tensor]:
        ctx.system, ctx.plan = system, plan
        return _run(system, u, x, plan, None, None, transposed=False)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, None, None]:
        y_grad, x_grad = grads
        u_grad, start_grad = _run(ctx.system, y_grad, x_grad, ctx.plan, None, None, transposed=True)
        return u_grad, start_grad, None, None


def _run(
    system: System,
    u: Tensor,
    state: Tensor | None,
    plan: Plan | None,
    pieces: int | None,
    out: Tensor | None,
    *,
    transposed: bool,
) -> tuple[Tensor, Tensor]:
    torch_engine.check(system, u, state)
    plan = plan or plan_for(system, u.device)
    y = torch.empty(u.shape, dtype=u.dtype, device=u.device) if out is None else out
    padded = padded_order(system.order)
    x = torch.zeros(len(u), padded, dtype=u.dtype, device=u.device)
    if state is not None:
        x[:, : system.order] = state
    if u.numel():
        whole = u.shape[1] // plan.length * plan.length
        parts = [slice(0, whole), slice(whole, u.shape[1])]
        for part in reversed(parts) if transposed else parts:
            if part.start == part.stop:
                continue
            if part.start == whole:
                x = _tail(system, u[:, part], x, y[:, part], transposed)
            else:
                x = _whole(system, u[:, part], x, y[:, part], plan, pieces, transposed)
    return y, x[:, : system.order].contiguous()


def _whole(system: System, u: Tensor, x: Tensor, y: Tensor, plan: Plan, pieces: int | None, transposed: bool) -> Tensor:
    """Whole blocks: cut into pieces of equal length, and the few blocks the cut leaves over."""
    blocks = u.shape[1] // plan.length
    pieces = pieces_for(len(u), blocks, plan.group, _programs(u.device)) if pieces is None else min(pieces, blocks)
    each = blocks // pieces
    edge = pieces * each * plan.length
    matrices = _matrices(system, plan, transposed, u.device)
    spans = [(slice(0, edge), pieces), (slice(edge, None), 1)]
    if transposed:
        edge = u.shape[1] - edge
        spans = [(slice(edge, None), pieces), (slice(0, edge), 1)]
    for span, count in spans:
        if u[:, span].shape[1]:
            x = _launch(system, matrices, u[:, span], x, y[:, span], plan, count, transposed)
    return x


def _launch(
    system: System, matrices: PackedMatrices, u: Tensor, x: Tensor, y: Tensor, plan: Plan, pieces: int, transposed: bool
) -> Tensor:
    if pieces == 1:
        return _kernel(matrices, u, x, y, plan, 1, transposed, states_only=False)
    series, order = x.shape
    zero = x.new_zeros(series * pieces, order)
    ends = _kernel(matrices, u, zero, y, plan, pieces, transposed, states_only=True)
    first = _carry(system, ends.reshape(series, pieces, order), x, u.shape[1] // pieces, transposed)
    after = _kernel(matrices, u, first.reshape(zero.shape), y, plan, pieces, transposed, states_only=False)
    return after.reshape(series, pieces, order)[:, -1].contiguous()


def _kernel(
    matrices: PackedMatrices,
    u: Tensor,
    x: Tensor,
    y: Tensor,
    plan: Plan,
    pieces: int,
    transposed: bool,
    states_only: bool,
) -> Tensor:
    rows, order = x.shape
    end = torch.empty_like(x)
    grid = (-(-rows // plan.group),)
    arguments = (
        u, y, x, end, matrices.packed, matrices.lows, rows, u.shape[1] // pieces // plan.length, pieces,
        u.stride(0), u.stride(1), y.stride(0), y.stride(1), matrices.y_down, matrices.x_down,
    )  # fmt: skip
    built = {
        "STATES_ONLY": states_only,
        "REVERSE": transposed,
        "ORDER": order,
        "LENGTH": plan.length,
        "GROUP": plan.group,
        "STAGES": plan.stages,
        "num_warps": plan.warps,
    }
    if plan.mode == "hopper":
        from prophecy.engines import _gluon_kernels

        _gluon_kernels.lifted[grid](*arguments, **built)
    else:
        from prophecy.engines import _triton_kernels

        _triton_kernels.lifted[grid](*arguments, MODE=plan.mode, **built)
    return end


def _tail(system: System, u: Tensor, x: Tensor, y: Tensor, transposed: bool) -> Tensor:
    """The samples after the last whole block, as one product with the block matrix of their number."""
    length, order = u.shape[1], x.shape[1]
    M = torch.from_numpy(_block(system, length, order)).to(u.device, u.dtype)
    with torch_lifted.exact_products():
        both = torch.cat([u, x], dim=1) @ (M if transposed else M.T)
    y.copy_(both[:, :length])
    return both[:, length:].contiguous()


def _block(system: System, length: int, order: int) -> Array:
    """M = [[K, O], [R, A^L]] in float64, zero-padded to `order` states."""
    lifted = lift(system, length)
    M = np.zeros((length + order, length + order))
    inner = slice(length, length + system.order)
    M[:length, :length] = toeplitz(lifted.kernel, np.zeros(length))
    M[:length, inner], M[inner, :length], M[inner, inner] = lifted.observe, lifted.reach, lifted.power
    return M


@lru_cache(maxsize=32)
def _matrices(system: System, plan: Plan, transposed: bool, device: torch.device) -> PackedMatrices:
    L = plan.length
    M = _block(system, L, padded_order(system.order))
    right = M if transposed else M.T  # rows of samples and states are multiplied from the right
    to_y, to_x = right[:, :L], right[:, L:]
    y_scale, x_scale = (_scale(part) for part in (to_y, to_x)) if plan.mode in HALVES else (1.0, 1.0)
    to_y, to_x = to_y * y_scale, to_x * x_scale
    flat = np.concatenate([part.ravel() for part in (to_y[:L], to_y[L:], to_x[:L], to_x[L:])])
    if plan.mode in HALVES:
        high = flat.astype(np.float16)
        low = (flat - high.astype(np.float64)).astype(np.float16)
    else:
        high = low = flat.astype(system.dtype)
    packed, lows = torch.from_numpy(high).to(device), torch.from_numpy(low).to(device)
    return PackedMatrices(packed, lows, 1 / y_scale, 1 / x_scale)


def _scale(matrix: Array) -> float:
    """A power of two that brings the largest entry near 2^8: float16 then resolves the low halves of small ones too."""
    largest = float(np.abs(matrix).max())
    return 2.0 ** (8 - np.frexp(largest)[1]) if largest > 0 else 1.0


def _carry(system: System, added: Tensor, x: Tensor, samples: int, transposed: bool) -> Tensor:
    """States before each piece of so many samples, (series, pieces, N), from what each adds to the state before it.

    Many pieces are walked in √pieces groups at once, from zero; then the groups, from the first state; then the groups
    again, each from its own start.
    """
    series, pieces, order = added.shape
    steps = pieces if pieces <= 32 else int(np.ceil(np.sqrt(pieces)))
    groups = -(-pieces // steps)
    power = _power(system, samples, order, transposed, x.device)
    if groups > 1:
        far = _power(system, samples * steps, order, transposed, x.device)
        ends = _walk(added, x.new_zeros(series * groups, order), power, steps, groups, keep=False)
        x = _walk(ends.reshape(series, groups, order), x, far, groups, 1, keep=True).reshape(-1, order)
    return _walk(added, x, power, steps, groups, keep=True)


def _walk(added: Tensor, x: Tensor, power: Tensor, steps: int, groups: int, keep: bool) -> Tensor:
    from prophecy.engines import _triton_kernels

    rows, order = x.shape
    out = torch.empty_like(added if keep else x)
    _triton_kernels.walk[(-(-rows // 16),)](
        added, x, power, out, out, rows, steps, groups, added.shape[1], KEEP=keep, ORDER=order, GROUP=16, num_warps=4
    )
    return out


@lru_cache(maxsize=64)
def _power(system: System, samples: int, order: int, transposed: bool, device: torch.device) -> Tensor:
    """A^samples, made in float64, to be multiplied from the right."""
    power = np.linalg.matrix_power(system.A.astype(np.float64), samples)
    padded = np.zeros((order, order), system.dtype)
    padded[: system.order, : system.order] = power if transposed else power.T
    return torch.from_numpy(padded).to(device)


def plan_for(system: System, device: torch.device) -> Plan:
    """The plan measured fastest for this order and dtype on this kind of device."""
    mode = "double" if system.dtype == np.float64 else "hopper" if _is_hopper(device) else "half"
    return PLANS[mode, padded_order(system.order)]


@lru_cache(maxsize=8)
def _is_hopper(device: torch.device) -> bool:
    """Whether warpgroup products exist there (compute capability 9) and this Triton issues them as we ask.

    Gluon is young and its names move between releases, so a small run decides; without it mode "half" takes over.
    """
    if device.type != "cuda" or torch.cuda.get_device_capability(device)[0] != 9:
        return False
    system = System(np.array([[0.5]]), np.ones(1), np.ones(1), 0.0, dtype=np.dtype(np.float32))
    u = torch.ones(2, 64, device=device)
    try:
        y, _ = _run(system, u, None, Plan("hopper", 32, 64, 4, 2), 1, None, transposed=False)
    except Exception:  # whatever an unknown release raises, the other kernel does not need it
        return False
    return bool(abs(float(y[1, -1]) - 2.0) < 1e-5)


def padded_order(order: int) -> int:
    if order > LARGEST:
        raise ValueError(f"the fused kernel takes orders up to {LARGEST}, got {order}; use the torch engine")
    return max(16, 1 << (order - 1).bit_length())


# Blocks a program gets through in the time that cutting costs (the launches, the carrying between them), measured.
CUTTING = 150


@lru_cache(maxsize=256)
def pieces_for(series: int, blocks: int, group: int, programs: int) -> int:
    """Into how many pieces to cut the time: 1 unless that pays, else as many as fill the chip.

    One pass takes `blocks` steps however few the series; cut, the chip is full but does the states twice. Of the counts
    that nearly fill it the one that leaves the fewest blocks over is taken.
    """
    rows = programs * group
    if blocks * (1.0 - 1.6 * series / rows) < CUTTING:
        return 1
    most = min(max(1, rows // series), max(1, blocks // 4))
    return min(range(max(1, most * 3 // 4), most + 1), key=lambda p: (blocks % p, -p))


def _programs(device: torch.device) -> int:
    """How many programs the device runs at once, one for each multiprocessor."""
    return torch.cuda.get_device_properties(device).multi_processor_count if device.type == "cuda" else 4


def _device() -> torch.device:
    if not torch.cuda.is_available():
        raise RuntimeError("engine 'triton' needs a CUDA device and torch sees none; use engine='torch' or 'lifted'")
    return torch.device("cuda")
