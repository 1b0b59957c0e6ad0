r"""The selective scan with its readout: A of each channel, a step, B and C of every moment (Mamba's recurrence).

    x[k] = exp(dt[k] A) x[k - 1] + dt[k] B[k] u[k]
    y[k] = C[k] · x[k]

On CUDA, in float32, it is one kernel each way that keeps no states but those between tiles (`_triton_selective`);
elsewhere, inside `torch.func` and for second derivatives a `scan` over all states.
"""

import importlib.util
import os
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from prophecy.engines.torch_scan import check_tensors, scan, transformed

STEPS, CHANNELS, WARPS = 16, 16, 4  # of a tile: the fastest of seven on an H200
LARGEST = 64  # states of a channel that fit the registers


def selective_scan(
    u: Tensor, dt: Tensor, A: Tensor, B: Tensor, C: Tensor, state: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Outputs (batch, time, width) and the state after the last value (batch, width, N), differentiable in everything.

    u, dt: (batch, time, width), dt > 0. A: (width, N), negative. B, C: (batch, time, N). state: (batch, width, N), zero
    if not given. All are computed in float32 (float64 where u is), whatever autocast says; outputs have u's dtype.

    >>> u, dt, A = torch.ones(1, 3, 1), torch.ones(1, 3, 1), torch.tensor([[-0.6931472]])
    >>> selective_scan(u, dt, A, torch.ones(1, 3, 1), torch.ones(1, 3, 1))[0].flatten().tolist()
    [1.0, 1.5, 1.75]
    """
    check_tensors(u=u, dt=dt, A=A, B=B, C=C)
    if u.ndim != 3 or tuple(dt.shape) != tuple(u.shape):
        raise ValueError(f"u and dt must be (batch, time, width), got {tuple(u.shape)} and {tuple(dt.shape)}")
    batch, time, width = u.shape
    if A.ndim != 2 or A.shape[0] != width or A.is_complex():
        raise ValueError(f"A must be real (width={width}, N), got {A.dtype} {tuple(A.shape)}")
    order = A.shape[1]
    for name, part in (("B", B), ("C", C)):
        if tuple(part.shape) != (batch, time, order):
            raise ValueError(f"{name} must be (batch, time, N) = {(batch, time, order)}, got {tuple(part.shape)}")
    kind = torch.float64 if u.dtype == torch.float64 else torch.float32
    x = u.new_zeros(batch, width, order, dtype=kind) if state is None else state.to(kind)
    if tuple(x.shape) != (batch, width, order):
        raise ValueError(f"state must be (batch, width, N) = {(batch, width, order)}, got {tuple(x.shape)}")
    with torch.autocast(u.device.type, enabled=False):
        given = [*(part.to(kind) for part in (u, dt, A, B, C)), x]
        if _fused(u.to(kind), A) and not transformed():
            y, end, _ = _operator(*given)
        else:
            y, end = _products(*given)
    return y.to(u.dtype), end


def _products(u: Tensor, dt: Tensor, A: Tensor, B: Tensor, C: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    """All states by a scan, then the readout."""
    decay = torch.exp(dt.unsqueeze(-1) * A)
    added = (dt * u).unsqueeze(-1) * B.unsqueeze(2)
    states = scan(decay.flatten(2), added.flatten(2), x.flatten(1), diagonal=True).reshape(added.shape)
    end = states[:, -1] if u.shape[1] else x
    return (states * C.unsqueeze(2)).sum(-1), end


@torch.library.custom_op("prophecy::selective", mutates_args=())
def _operator(u: Tensor, dt: Tensor, A: Tensor, B: Tensor, C: Tensor, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Outputs, the last state, and the states before each tile, which only the kernels need."""
    from prophecy.engines import _triton_selective

    given, (A, B, C, x), order = (u.contiguous(), dt.contiguous()), _wide(A, B, C, x), A.shape[1]
    y, end, before = torch.empty_like(given[0]), torch.empty_like(x), u.new_empty(u.shape[0], _tiles(u), *A.shape)
    _triton_selective.forward[_grid(u)](
        *given, A, B, C, x, y, before, end, *u.shape[1:], STEPS=STEPS, CHANNELS=CHANNELS, ORDER=A.shape[1],
        num_warps=WARPS,
    )  # fmt: skip
    return y, end[..., :order].contiguous(), before


@_operator.register_fake
def _(u: Tensor, dt: Tensor, A: Tensor, B: Tensor, C: Tensor, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    kept = u.new_empty(u.shape[0], _tiles(u), A.shape[0], _padded(A.shape[1]))
    return torch.empty_like(u, memory_format=torch.contiguous_format), torch.empty_like(x), kept


@torch.library.custom_op("prophecy::selective_gradients", mutates_args=())
def _gradients_operator(
    g: Tensor, to_end: Tensor, u: Tensor, dt: Tensor, A: Tensor, B: Tensor, C: Tensor, before: Tensor
) -> list[Tensor]:
    from prophecy.engines import _triton_selective

    (batch, time, width), order = u.shape, A.shape[1]
    given, (A, B, C, to_end) = (u.contiguous(), dt.contiguous()), _wide(A, B, C, to_end)
    padded, programs = A.shape[1], _grid(u)[0]
    to_u, to_dt = torch.empty_like(given[0]), torch.empty_like(given[0])
    to_A, to_x = u.new_empty(batch, width, padded), u.new_empty(batch, width, padded)
    to_B, to_C = (u.new_empty(programs, batch, time, padded) for _ in range(2))
    _triton_selective.backward[_grid(u)](
        *given, A, B, C, before, g.contiguous(), to_end, to_u, to_dt, to_A, to_B, to_C, to_x, time, width, batch,
        STEPS=STEPS, CHANNELS=CHANNELS, ORDER=padded, num_warps=WARPS,
    )  # fmt: skip
    return [to_u, to_dt, *(part[..., :order].contiguous() for part in (to_A.sum(0), to_B.sum(0), to_C.sum(0), to_x))]


@_gradients_operator.register_fake
def _(
    g: Tensor, to_end: Tensor, u: Tensor, dt: Tensor, A: Tensor, B: Tensor, C: Tensor, before: Tensor
) -> list[Tensor]:
    return [torch.empty_like(part, memory_format=torch.contiguous_format) for part in (u, dt, A, B, C, to_end)]


def _remember(ctx: Any, inputs: tuple[Tensor, ...], output: tuple[Tensor, ...]) -> None:
    ctx.save_for_backward(*inputs, output[2])


def _gradients(ctx: Any, g: Tensor, to_end: Tensor, to_before: Tensor) -> tuple[Tensor | None, ...]:
    *inputs, before = ctx.saved_tensors
    if not torch.is_grad_enabled():
        return tuple(_gradients_operator(g, to_end, *inputs[:5], before))
    learn = [one for one in inputs if one.requires_grad]  # a second derivative is wanted: operations that have one
    made = iter(torch.autograd.grad(_products(*inputs), learn, (g, to_end), create_graph=True))
    return tuple(next(made) if one.requires_grad else None for one in inputs)


torch.library.register_autograd("prophecy::selective", _gradients, setup_context=_remember)


def _fused(u: Tensor, A: Tensor) -> bool:
    """Whether the kernels run: on a GPU, and where Triton's interpreter is asked for."""
    there = (u.is_cuda or os.environ.get("TRITON_INTERPRET") == "1") and importlib.util.find_spec("triton") is not None
    return there and u.dtype == torch.float32 and A.shape[1] <= LARGEST


def _tiles(u: Tensor) -> int:
    return -(-u.shape[1] // STEPS)


def _grid(u: Tensor) -> tuple[int, int]:
    return -(-u.shape[2] // CHANNELS), u.shape[0]


def _padded(order: int) -> int:
    return max(2, 1 << (order - 1).bit_length())


def _wide(*parts: Tensor) -> list[Tensor]:
    """Zeros up to a power of two of states: they add nothing and are read by nothing."""
    return [pad(part, (0, _padded(part.shape[-1]) - part.shape[-1])).contiguous() for part in parts]
