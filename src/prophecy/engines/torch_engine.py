r"""The torch engine: lifted blocks (see `lifting`) as torch products, on any device, with gradients to everything.

    # x has seen u[k] when y[k] is read; y[k] predicts u[k + 1].
    x = A @ x + B * u[k]
    y[k] = C @ x + D * u[k]

Time is cut into blocks of L samples. What each block adds to its state is one product over all blocks of all series;
the states between blocks follow in O(log blocks) products (`starts`); all predictions are two more. No product uses
TF32, whatever the global setting, because its 10 bits would be the accuracy of the result.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from prophecy.engines.lifting import lift
from prophecy.system import System

Array = NDArray[Any]

RADIX = 16  # blocks (or groups of blocks) that are walked one after another in `starts`
WORK = {"cpu": 1 << 22, "cuda": 1 << 28}  # samples a product takes at a time; bounds the memory beyond u and y


class Blocks(NamedTuple):
    """kernel (L,), observe = O (L, N), reach = R (N, L), power = A^L (N, N), as in `lifting.Lifted`."""

    kernel: Tensor
    observe: Tensor
    reach: Tensor
    power: Tensor


def run(system: System, u: Array, x: Array, y: Array) -> None:
    """Predictions into y and final states into x, in place, on the GPU if there is one."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    rows = max(1, WORK[device.type] // max(1, u.shape[1]))
    for first in range(0, len(u), rows):
        some = slice(first, first + rows)
        data = torch.from_numpy(np.array(u[some], dtype=system.dtype, order="C")).to(device)
        out, final = predict(system, data, torch.from_numpy(x[some].copy()).to(device))
        y[some], x[some] = out.cpu().numpy(), final.cpu().numpy()


@torch.no_grad()
def predict(system: System, u: Tensor, state: Tensor | None = None, length: int | None = None) -> tuple[Tensor, Tensor]:
    """Predictions like u and final states (series, N), without gradients; u (series, time) in the system's dtype."""
    check(system, u, state)
    x = torch.zeros(len(u), system.order, dtype=u.dtype, device=u.device) if state is None else state
    if u.numel() == 0:
        return torch.empty_like(u), x.clone()
    length = length or block_length(system.order, u.shape[1])
    with exact_products():
        rows = max(1, WORK.get(u.device.type, WORK["cuda"]) // u.shape[1])
        parts = [_run(_constant(system, length, u.device), part, x[i * rows : (i + 1) * rows], system)
                 for i, part in enumerate(torch.split(u, rows))]  # fmt: skip
    return torch.cat([part[0] for part in parts]), torch.cat([part[1] for part in parts])


def simulate(
    u: Tensor, A: Tensor, B: Tensor, C: Tensor, D: Tensor, state: Tensor | None = None, length: int | None = None
) -> tuple[Tensor, Tensor]:
    """Predictions and final states with gradients to u, A, B, C, D and the state, all of one dtype and device.

    u (series, time); A (N, N); B and C (N,); D (); state (series, N), zero if not given.
    """
    _same(u, A=A, B=B, C=C, D=D)
    order = len(B)
    x = u.new_zeros(len(u), order) if state is None else state
    if u.numel() == 0:
        return u.clone(), x
    length = length or block_length(order, u.shape[1])
    whole = u.shape[1] // length * length
    outs: list[Tensor] = []
    with exact_products():
        for piece in (u[:, :whole], u[:, whole:]):
            if piece.shape[1]:
                out, x = _blocks(lift_tensors(A, B, C, D, min(length, piece.shape[1])), piece, x)
                outs.append(out)
    return torch.cat(outs, dim=1), x


def lift_tensors(A: Tensor, B: Tensor, C: Tensor, D: Tensor, length: int) -> Blocks:
    """`lifting.lift` in differentiable torch: powers by doubling."""
    reach, observe, power, done = B[:, None], (C @ A)[None, :], A, 1
    while done < length:
        take = min(done, length - done)
        reach = torch.cat([reach, power @ reach[:, :take]], dim=1)
        observe = torch.cat([observe, observe[:take] @ power], dim=0)
        power, done = (power @ power if done * 2 <= length else power), done + take
    kernel = C @ reach
    kernel = torch.cat([(kernel[0] + D)[None], kernel[1:]])
    return Blocks(kernel, observe, reach.flip(1), torch.linalg.matrix_power(A, length))


def starts(added: Tensor, x: Tensor, power: Tensor, radix: int = RADIX) -> tuple[Tensor, Tensor]:
    """States before each block and after the last, from what each adds: x[b + 1] = power x[b] + added[b].

    added (series, blocks, N), x (series, N) before the first. Groups of `radix` blocks are walked from zero, all groups
    at once; the groups' starts are the same problem with power^radix; then each block gets its group's start, carried
    to it.
    """
    series, blocks, order = added.shape
    if blocks <= radix:
        return _walk(added, x, power.T)
    groups = -(-blocks // radix)
    padded = torch.nn.functional.pad(added, (0, 0, 0, groups * radix - blocks)).reshape(series * groups, radix, order)
    local, ends = _walk(padded, torch.zeros_like(padded[:, 0]), power.T)
    carried = [torch.eye(order, dtype=power.dtype, device=power.device)]
    for _ in range(radix):
        carried.append(power @ carried[-1])
    group_starts, _ = starts(ends.reshape(series, groups, order), x, carried[-1], radix)
    spread = group_starts.reshape(-1, order) @ torch.cat([matrix.T for matrix in carried[:-1]], dim=1)
    states = (local + spread.reshape(series * groups, radix, order)).reshape(series, groups * radix, order)[:, :blocks]
    return states, states[:, -1] @ power.T + added[:, -1]


def _walk(added: Tensor, x: Tensor, power: Tensor) -> tuple[Tensor, Tensor]:
    before = []
    for block in added.unbind(1):
        before.append(x)
        x = torch.addmm(block, x, power)
    return torch.stack(before, dim=1), x


def _blocks(matrices: Blocks, u: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    """Whole blocks only: u (series, blocks · L)."""
    kernel, observe, reach, power = matrices
    series, length = len(u), len(kernel)
    cut = u.reshape(-1, length)
    before, final = starts((cut @ reach.T).reshape(series, -1, len(power)), x, power)
    y = torch.addmm(cut @ _toeplitz(kernel).T, before.reshape(-1, len(power)), observe.T)
    return y.reshape(series, -1), final


def _run(matrices: Blocks, u: Tensor, x: Tensor, system: System) -> tuple[Tensor, Tensor]:
    length = len(matrices.kernel)
    whole = u.shape[1] // length * length
    y = torch.empty(u.shape, dtype=u.dtype, device=u.device)
    if whole:
        y[:, :whole], x = _blocks(matrices, u[:, :whole], x)
    if whole < u.shape[1]:
        y[:, whole:], x = _blocks(_constant(system, u.shape[1] - whole, u.device), u[:, whole:], x)
    return y, x


def _constant(system: System, length: int, device: torch.device) -> Blocks:
    """`lifting.lift`, made in float64 and cached there, on the device."""
    return Blocks(*(torch.from_numpy(np.array(part)).to(device) for part in lift(system, length)))


def _toeplitz(kernel: Tensor) -> Tensor:
    """The lower-triangular K with this first column, as a view of a padded copy."""
    length = len(kernel)
    padded = torch.cat([kernel.flip(0), kernel.new_zeros(length - 1)])
    return padded.unfold(0, length, 1).flip(0)


def block_length(order: int, time: int) -> int:
    """Near L = N, where the operations per sample 2 L + 4 N + 2 N²/L are fewest; never so short that overhead rules."""
    return max(1, min(int(np.clip(16 * round(order / 16), 32, 256)), time))


@contextmanager
def exact_products() -> Iterator[None]:
    """Full float32 products inside, the caller's setting back afterwards."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def check(system: System, u: Tensor, state: Tensor | None) -> None:
    dtype = torch.float32 if system.dtype == np.float32 else torch.float64
    if not isinstance(u, Tensor) or u.ndim != 2:
        raise ValueError(f"u must be a tensor (series, time), got {tuple(getattr(u, 'shape', ())) or type(u).__name__}")
    if u.dtype != dtype:
        raise TypeError(f"u is {u.dtype} but the system is {dtype}; use u.to({dtype}) or system.astype")
    if state is not None and (
        state.shape != (len(u), system.order) or state.dtype != dtype or state.device != u.device
    ):
        raise ValueError(
            f"state must be ({len(u)}, {system.order}) {dtype} on {u.device}, "
            f"got {tuple(state.shape)} {state.dtype} on {state.device}"
        )


def _same(u: Tensor, **tensors: Tensor) -> None:
    if not isinstance(u, Tensor) or u.ndim != 2:
        raise ValueError(f"u must be a tensor (series, time), got {tuple(getattr(u, 'shape', ())) or type(u).__name__}")
    for name, tensor in tensors.items():
        if not isinstance(tensor, Tensor) or tensor.dtype != u.dtype or tensor.device != u.device:
            raise TypeError(f"{name} must be a tensor of {u.dtype} on {u.device} like u, got {tensor!r}")
