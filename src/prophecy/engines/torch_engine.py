r"""The torch engine: lifted blocks (see `torch_lifted`) on any device, with gradients to everything.

    # x has seen u[k] when y[k] is read; y[k] predicts u[k + 1].
    x = A @ x + B * u[k]
    y[k] = C @ x + D * u[k]

Matrices of a `System` are lifted in float64 by `lifting` and cached there; no product uses TF32, whatever the global
setting, because its 10 bits would be the accuracy of the result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from prophecy.engines import torch_lifted
from prophecy.engines.lifting import lift
from prophecy.engines.torch_lifted import Blocks, exact_products
from prophecy.system import System

Array = NDArray[Any]

WORK = {"cpu": 1 << 22, "cuda": 1 << 28}  # samples a product takes at a time; bounds the memory beyond u and y


def run(system: System, u: Array, x: Array, y: Array) -> None:
    """Predictions into y and final states into x, in place, on the GPU if there is one."""
    in_groups(predict, torch.device("cuda" if torch.cuda.is_available() else "cpu"), system, u, x, y)


def in_groups(
    predict: Callable[[System, Tensor, Tensor], tuple[Tensor, Tensor]],
    device: torch.device,
    system: System,
    u: Array,
    x: Array,
    y: Array,
) -> None:
    """As many series at a time as the memory of the device is asked for."""
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
    length = min(length or torch_lifted.block_length(system.order), u.shape[1])
    with exact_products():
        rows = max(1, WORK.get(u.device.type, WORK["cuda"]) // u.shape[1])
        parts = [_run(system, part, x[i * rows : (i + 1) * rows], length)
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
    length = min(length or torch_lifted.block_length(order), u.shape[1])
    with exact_products():
        blocks = torch_lifted.lift(A[None], B[None], C[None, None], D[None, None], length)
        y, before = torch_lifted.run(blocks, u[None], x[None])
        still = A[None] - torch.eye(order, dtype=A.dtype, device=A.device)
        final = torch_lifted.finish(still, B[None], u[None], before, length)
    return y[0, ..., 0], final[0]


def _run(system: System, u: Tensor, x: Tensor, length: int) -> tuple[Tensor, Tensor]:
    """Whole blocks, then the samples after them as one block of their own."""
    whole = u.shape[1] // length * length
    y = torch.empty(u.shape, dtype=u.dtype, device=u.device)
    for part, size in ((slice(0, whole), length), (slice(whole, None), u.shape[1] - whole)):
        if u[:, part].shape[1]:
            out, before = torch_lifted.run(_constant(system, size, u.device), u[None, :, part], x[None])
            y[:, part], x = out[0, ..., 0], before[0, :, -2]
    return y, x


def _constant(system: System, length: int, device: torch.device) -> Blocks:
    """`lifting.lift`, made in float64 and cached there, on the device."""
    kernel, observe, reach, power = (torch.from_numpy(np.array(part)).to(device) for part in lift(system, length))
    return Blocks(kernel[None, None], observe[None, None], reach[None], power[None])


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
