r"""A differentiable scan in torch: all states of x[k] = A[k] x[k - 1] + b[k], A dense or diagonal, constant or not.

Time is cut into chunks. Within a chunk the states are walked one after another from zero, all chunks at once; the
chunks' last states obey the same recurrence over chunks, which is solved in the same way (T/chunk, T/chunk², …
values); then every state gets its chunk's start, carried to it. That is O(T) work and chunk · log T / log chunk steps.

Causal in floating point: a state is made from what came before it alone, so a later value, be it 1e300 or NaN, changes
no bit of it. Products of A over whole chunks are formed: where they overflow, states are inf or NaN. The gradient is
the same scan backwards in time, so only A and the states are kept for it. To `torch.compile` and `torch.export` the
scan is one operator, `prophecy::scan`; inside the transforms of `torch.func` the states are walked one after another.
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

PIECE = 4096  # values taken at a time where A is wider than b: bounds the memory of the wide copies
CHUNK = 16  # values walked one after another: long enough that levels are few, short enough that the walk is


def scan(A: Tensor, b: Tensor, state: Tensor | None = None, *, diagonal: bool = False, chunk: int = CHUNK) -> Tensor:
    r"""The states x[k] = A[k] x[k - 1] + b[k] of whole sequences, with gradients (of any order) to everything.

    b: (..., time, N), real or complex.
    A: if diagonal, broadcastable to b: (N,) for a constant, (time, N) or (..., time, N) for one that changes. Else
        broadcastable to (..., time, N, N), a time axis of size 1, or none, for a constant.
        A may be wider than b (float64 with float32): the recurrence then runs in A's precision, and only the states
        are rounded to b's. Rounding 0.9999 to float32 would move its memory of 10⁴ steps by 6 in 10⁴.
    state: (..., N), the state before the first value; zero if not given.
    chunk: values walked one after another. It changes rounding only.

    Returns (..., time, N); the last of them is the state to go on from.

    >>> decay, b = torch.tensor([0.5]), torch.tensor([[1.0], [0.0], [4.0]])
    >>> scan(decay, b, diagonal=True)[:, 0].tolist()
    [1.0, 0.5, 4.25]
    """
    check_tensors(A=A, b=b, state=state)
    if b.ndim < 2:
        raise ValueError(f"b must have shape (..., time, N), got {tuple(b.shape)}")
    if chunk < 2:
        raise ValueError(f"chunk must be at least 2, got {chunk}")
    order, axes = b.shape[-1], 1 if diagonal else 2
    if A.ndim < axes or tuple(A.shape[-axes:]) != (order,) * axes:
        wanted = "(..., N)" if diagonal else "(..., N, N)"
        raise ValueError(f"A must end in {wanted} with N = {order} as in b, got {tuple(A.shape)}")
    if A.ndim > axes and A.shape[-1 - axes] not in (1, b.shape[-2]):
        raise ValueError(
            f"A must have one value of time or as many as b, {b.shape[-2]}, got {tuple(A.shape)}; "
            "put a time axis of size 1 where A differs between series but not in time"
        )
    if state is not None and state.shape[-1] != order:
        raise ValueError(f"state must end in N = {order} as b does, got {tuple(state.shape)}")
    A = A if A.ndim > axes else A.unsqueeze(0)  # an axis of time, of size 1 where it is constant
    x = b.new_zeros(*b.shape[:-2], b.shape[-1]) if state is None else state
    kind = b.dtype if b.is_floating_point() or b.is_complex() else A.dtype
    kind = kind.to_complex() if A.is_complex() else kind
    wide = torch.promote_types(A.dtype, kind)
    leading = torch.broadcast_shapes(x.shape[:-1], b.shape[:-2])  # type: ignore[no-untyped-call]
    x, b = x.to(kind).expand(*leading, b.shape[-1]), b.to(kind).expand(*leading, *b.shape[-2:])
    if transformed():  # one chunk: operations that every transform of torch knows
        return _chunked(A.to(wide), b.to(wide), x.to(wide), diagonal, max(1, b.shape[-2])).to(kind)
    made: Tensor = _operator(A.to(wide), b, x, diagonal, chunk)
    return made


def transformed() -> bool:
    """Whether a transform of `torch.func` is under way, which does not see through operators of our own."""
    return not torch.compiler.is_compiling() and bool(torch._C._are_functorch_transforms_active())


@torch.library.custom_op("prophecy::scan", mutates_args=())
def _operator(A: Tensor, b: Tensor, x: Tensor, diagonal: bool, chunk: int) -> Tensor:
    states = torch.empty_like(b, memory_format=torch.contiguous_format)
    if b.numel() == 0:
        return states
    varies, piece, carry = _varies(A, diagonal), b.shape[-2] if A.dtype == b.dtype else PIECE, x.to(A.dtype)
    for first in range(0, b.shape[-2], piece):
        part = b[..., first : first + piece, :].to(A.dtype)
        steps = A.narrow(-2 if diagonal else -3, first, part.shape[-2]) if varies else A
        made = _chunked(steps, part, carry, diagonal, chunk)
        states[..., first : first + piece, :], carry = made, made[..., -1, :]
    return states


@_operator.register_fake
def _(A: Tensor, b: Tensor, x: Tensor, diagonal: bool, chunk: int) -> Tensor:
    return torch.empty_like(b, memory_format=torch.contiguous_format)


def _remember(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    A, _, x, ctx.diagonal, ctx.chunk = inputs
    ctx.save_for_backward(A, x, output)


def _gradients(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor, Tensor, None, None]:
    """With g the gradient of the states, r[k] = g[k] + A[k + 1]ᴴ r[k + 1] is that of b, r[k] x[k - 1]ᴴ that of A."""
    A, x, states = ctx.saved_tensors
    if grad.numel() == 0:
        return torch.zeros_like(A), grad, torch.zeros_like(x), None, None
    diagonal: bool = ctx.diagonal
    turned = A.conj() if diagonal else A.mH
    axis = -2 if diagonal else -3
    later = turned
    if _varies(A, diagonal):
        zero = torch.zeros_like(turned.narrow(axis, 0, 1))
        later = torch.cat([turned.narrow(axis, 1, turned.shape[axis] - 1), zero], dim=axis).flip(axis)
    to_b = _operator(later, grad.flip(-2), torch.zeros_like(x), diagonal, ctx.chunk).flip(-2)
    first, back = turned.select(axis, 0).to(to_b.dtype), to_b[..., 0, :]
    to_x = first * back if diagonal else (first @ back.unsqueeze(-1)).squeeze(-1)
    to_A = None
    if ctx.needs_input_grad[0]:
        before = torch.cat([x.unsqueeze(-2), states[..., :-1, :]], dim=-2).conj()
        if diagonal:
            to_A = (to_b * before).sum_to_size(A.shape)
        elif _varies(A, diagonal):
            to_A = (to_b.unsqueeze(-1) * before.unsqueeze(-2)).sum_to_size(A.shape)
        else:
            to_A = (to_b.mT @ before).unsqueeze(axis).sum_to_size(A.shape)
        to_A = to_A.to(A.dtype)
    return to_A, to_b, to_x, None, None


torch.library.register_autograd("prophecy::scan", _gradients, setup_context=_remember)


def _varies(A: Tensor, diagonal: bool) -> bool:
    return A.shape[-2 if diagonal else -3] != 1


def _chunked(A: Tensor, b: Tensor, x: Tensor, diagonal: bool, chunk: int) -> Tensor:
    """All states (..., time, N): every chunk from zero, the chunks' ends by the same recurrence, and what each chunk's
    start adds, carried on by the products of its A; a single chunk begins with x itself."""
    time, axis, varies = b.shape[-2], -2 if diagonal else -3, _varies(A, diagonal)
    alone = time <= chunk
    size = max(1, time) if alone else chunk
    steps = cut_time(A, size, axis).unbind(axis) if varies else [A.squeeze(axis)] * size

    def apply(step: Tensor, rows: Tensor) -> Tensor:
        """To rows (..., chunks, N)."""
        if diagonal:
            return (step if varies else step.unsqueeze(-2)) * rows
        return (step @ rows.unsqueeze(-1)).squeeze(-1) if varies else rows @ step.mT

    states: list[Tensor] = []
    for step, now in zip(steps, cut_time(b, size).unbind(-2), strict=True):
        before = states[-1] if states else x.unsqueeze(-2) if alone else None
        states.append(now if before is None else apply(step, before) + now)
    local = torch.stack(states, dim=-2)
    if not alone:
        products = [steps[0]]
        for step in steps[1:]:
            products.append(step * products[-1] if diagonal else step @ products[-1])
        whole = products[-1] if varies else products[-1].unsqueeze(axis)
        ends = _chunked(whole, local[..., -1, :], x, diagonal, chunk)
        begin = torch.cat([x.unsqueeze(-2), ends[..., :-1, :]], dim=-2)
        for i, product in enumerate(products):
            local[..., i, :] += apply(product, begin)
    return local.flatten(-3, -2)[..., :time, :]


def cut_time(values: Tensor, chunk: int, axis: int = -2) -> Tensor:
    """The axis of time cut into (chunks, chunk). Zeros fill up the last: what they make is never read."""
    time = values.shape[axis]
    chunks = max(1, -(-time // chunk))
    filled = pad(values, (0, 0) * (-1 - axis) + (0, chunks * chunk - time))
    cut: Tensor = torch.unflatten(filled, axis, (chunks, chunk))
    return cut


def check_tensors(**given: object) -> None:
    """None is left alone."""
    for name, value in given.items():
        if value is not None and not isinstance(value, Tensor):
            raise TypeError(f"{name} must be a torch.Tensor, got {type(value).__name__}; use torch.as_tensor({name})")
