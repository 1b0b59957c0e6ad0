r"""The torch engine: lifted blocks (see `torch_lifted`) on any device. For gradients there are layers (`prophecy.nn`).

Matrices are lifted in float64; no product uses TF32, whatever the global setting, because its 10 bits would be the
accuracy of the result.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from prophecy._arrays import Reals
from prophecy.engines import torch_lifted
from prophecy.system import System

Predict = Callable[[System, Tensor, Tensor], tuple[Tensor, Tensor]]

WORK = {"cpu": 1 << 22, "cuda": 1 << 28}  # samples a product takes at a time; bounds the memory beyond u and y


def run(system: System, u: Reals, x: Reals, y: Reals) -> None:
    """Predictions into y and final states into x, in place, on the GPU if there is one."""
    in_groups(predict, torch.device("cuda" if torch.cuda.is_available() else "cpu"), system, u, x, y)


def in_groups(predict: Predict, device: torch.device, system: System, u: Reals, x: Reals, y: Reals) -> None:
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
    x = u.new_zeros(len(u), system.order) if state is None else state
    if u.numel() == 0:
        return u.clone(), x.clone()
    length = min(length or torch_lifted.block_length(system.order), u.shape[1])
    A, B, C, D = (torch.tensor(np.asarray(part, np.float64), device=u.device)[None] for part in system.at(1))
    less = A - torch.eye(system.order, dtype=A.dtype, device=u.device)
    with torch_lifted.exact_products():
        blocks = torch_lifted.lift(A, B, C[None], D[None], length).to(u.dtype)
        y, before = torch_lifted.run(blocks, u[None], x[None])
        final = torch_lifted.finish(blocks, less.to(u.dtype), u[None], before)
    return y[0, ..., 0], final[0]


def check(system: System, u: Tensor, state: Tensor | None) -> None:
    if not isinstance(u, Tensor) or u.ndim != 2:
        raise ValueError(f"u must be a tensor (series, time), got {tuple(getattr(u, 'shape', ())) or type(u).__name__}")
    dtype = torch.float32 if system.dtype == np.float32 else torch.float64
    if u.dtype != dtype:
        raise TypeError(f"u is {u.dtype} but the system is {dtype}; use u.to({dtype}) or system.astype")
    wanted = (len(u), system.order), dtype, u.device
    if state is not None and (tuple(state.shape), state.dtype, state.device) != wanted:
        raise ValueError(
            f"state must be {wanted[0]} {dtype} on {u.device}, got {tuple(state.shape)} {state.dtype} on {state.device}"
        )
