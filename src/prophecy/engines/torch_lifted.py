r"""Lifted blocks in torch (see `lifting`), for many systems at once, with gradients of any order to everything.

Time is cut into blocks of L samples. What each block adds to its state is one product over all blocks of all series,
the states between blocks are a `scan`, all outputs are two more products. Matrices are formed in float64 and rounded
once; no product uses TF32. To `torch.compile` and `torch.export` this is one operator, `prophecy::lifted`.

Causal in floating point: K is lower triangular, so a later finite value of a block enters an output as 0 · value, which
changes no bit, and a later block not at all. A NaN or an infinity at sample k reaches back to the start of its block,
L ⌊k/L⌋, and no further.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from prophecy.engines.torch_scan import cut_time, scan, transformed


class Blocks(NamedTuple):
    """Block matrices of `channels` systems with R readouts each; reach and power may be shared (first axis 1).

    kernel (channels, R, L), observe (channels, R, L, N), reach (channels, N, L), power = A^L (channels, N, N).
    """

    kernel: Tensor
    observe: Tensor
    reach: Tensor
    power: Tensor

    def to(self, dtype: torch.dtype) -> Blocks:
        """Rounded, but for the power: states are carried from block to block in its precision (see `scan`)."""
        return Blocks(self.kernel.to(dtype), self.observe.to(dtype), self.reach.to(dtype), self.power)


def block_length(order: int) -> int:
    """Samples of a block, a power of two near L = N, where the operations per sample 2 L + 4 N + 2 N²/L are fewest.

    Never below 32, where overhead would rule; 64 up to order 128, so that the fused kernel's matrices fit a GPU's
    shared memory.
    """
    return 32 if order <= 48 else 64 if order <= 128 else 128


def lift(A: Tensor, B: Tensor, C: Tensor, D: Tensor, length: int, *, before: bool = False) -> Blocks:
    """Powers by doubling: A (1 or channels, N, N), B (1 or channels, N), C (channels, R, N), D (channels, R).

    before: C reads the state before the sample arrives, y[k] = C @ x + D * u[k]; x = A @ x + B * u[k].
    """
    reach, observe, power, done = B.unsqueeze(-1), (C if before else C @ A).unsqueeze(-2), A, 1
    while done < length:
        take = min(done, length - done)
        reach = torch.cat([reach, power @ reach[..., :take]], dim=-1)
        observe = torch.cat([observe, observe[..., :take, :] @ power.unsqueeze(-3)], dim=-2)
        power, done = (power @ power if done * 2 <= length else power), done + take
    kernel = C @ reach
    first = (D if before else kernel[..., 0] + D).unsqueeze(-1)
    kernel = torch.cat([first, kernel[..., :-1] if before else kernel[..., 1:]], dim=-1)
    return Blocks(kernel, observe, reach.flip(-1), torch.linalg.matrix_power(A, length))


def impulse_responses(A: Tensor, B: Tensor, length: int) -> Tensor:
    """A^j B for j = 0 … length - 1: A (…, N, N), B (…, N) to (…, N, length)."""
    C = A.new_zeros(*A.shape[:-2], 0, A.shape[-1])
    return lift(A, B, C, C[..., 0], length).reach.flip(-1)


def run(blocks: Blocks, u: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    """Outputs (channels, series, time, R) and the state before each block, (channels, series, ⌊time/L⌋ + 2, N).

    u (channels, series, time), x (channels, series, N), all of one dtype. The last but one of the states stands before
    the samples that do not fill a block, and `finish` takes it through them; the last is a placeholder that keeps the
    axis longer than 1 at every length, which captured graphs would otherwise check. Inside a transform of `torch.func`
    (grad, vmap, jacrev …) the products are torch's own: transforms see through those, but not through our operator.
    """
    if transformed():
        with exact_products():
            return forward(u, x, *blocks)
    made: tuple[Tensor, Tensor] = _operator(u, x, *blocks)
    return made


def finish(blocks: Blocks, less: Tensor, u: Tensor, before: Tensor, seen: Tensor | None = None) -> Tensor:
    """The state (channels, series, N) after all samples, or after the first `seen` (series,) of each series.

    u (channels, series, time) and `before` as `run` gave them; less = A - I, rounded: x + (A - I) x loses less. The
    samples of a block that is not full stand at its end, where R takes them in; the state before them advances by A to
    the power of their number, one binary digit at a time.
    """
    length, digits = blocks.kernel.shape[-1], (blocks.kernel.shape[-1] - 1).bit_length()
    seen = torch.full(u.shape[1:2], u.shape[2], device=u.device) if seen is None else seen
    cut, whole, rest = cut_time(u, length, -1), seen // length, seen % length
    x, tail = (
        part.gather(2, where[None, :, None, None].expand(len(u), -1, 1, part.shape[3])).squeeze(2)
        for part, where in ((before, whole), (cut, whole.clamp_max(cut.shape[2] - 1)))
    )
    place = torch.arange(length, device=u.device) - (length - rest)[:, None]
    tail = torch.where(place >= 0, tail.gather(2, place.clamp_min(0).expand_as(tail)), 0.0)
    for digit in range(digits):
        x = torch.where((rest >> digit & 1).bool()[:, None], x + x @ less.mT, x)
        less = 2 * less + less @ less
    return x + tail @ blocks.reach.mT


def advance(A: Tensor, B: Tensor, x: Tensor, u: Tensor) -> Tensor:
    """One step, A given as A - I: x (channels, series, N), u (channels, series)."""
    return x + (x @ A.mT + u.unsqueeze(-1) * B.unsqueeze(-2))


@torch.library.custom_op("prophecy::lifted", mutates_args=())
def _operator(
    u: Tensor, x: Tensor, kernel: Tensor, observe: Tensor, reach: Tensor, power: Tensor
) -> tuple[Tensor, Tensor]:
    kernels = _fused(u, observe)
    with exact_products():
        return (forward if kernels is None else kernels.forward)(u, x, kernel, observe, reach, power)


@_operator.register_fake
def _(u: Tensor, x: Tensor, kernel: Tensor, observe: Tensor, reach: Tensor, power: Tensor) -> tuple[Tensor, Tensor]:
    (channels, readouts, length), order = kernel.shape, x.shape[-1]
    y = u.new_empty(u.shape[1], u.shape[2], channels, readouts).permute(2, 0, 1, 3)
    return y, u.new_empty(channels, u.shape[1], u.shape[2] // length + 2, order)


@torch.library.custom_op("prophecy::lifted_gradients", mutates_args=())
def _gradients_operator(
    to_y: Tensor, to_before: Tensor | None, u: Tensor, before: Tensor, kernel: Tensor, observe: Tensor, reach: Tensor,
    power: Tensor, of_readout: bool, of_memory: bool,
) -> list[Tensor]:  # fmt: skip
    to_u, *made = _all_gradients(
        to_y, to_before, u, before, Blocks(kernel, observe, reach, power), of_readout, of_memory
    )
    assert to_u is not None
    if not to_u.permute(1, 2, 0).is_contiguous():
        to_u = _ordered(u).copy_(to_u)
    return [to_u, *(torch.clone(p, memory_format=torch.contiguous_format) for p in made if p is not None)]


@_gradients_operator.register_fake
def _(
    to_y: Tensor, to_before: Tensor | None, u: Tensor, before: Tensor, kernel: Tensor, observe: Tensor, reach: Tensor,
    power: Tensor, of_readout: bool, of_memory: bool,
) -> list[Tensor]:  # fmt: skip
    solid = [kernel, observe] * of_readout + [reach, power] * of_memory
    matrices = [torch.empty_like(part, memory_format=torch.contiguous_format) for part in solid]
    return [_ordered(u), u.new_empty(u.shape[0], u.shape[1], before.shape[3]), *matrices]


def _ordered(u: Tensor) -> Tensor:
    """Like u (channels, series, time), with nothing in it, stored as a layer's data are: (series, time, channels)."""
    return u.new_empty(u.shape[1], u.shape[2], u.shape[0]).permute(2, 0, 1)


def _fused(u: Tensor, observe: Tensor) -> Any:
    """The Triton kernels where they take it, else None (second derivatives are those of torch's products)."""
    if not u.is_cuda or importlib.util.find_spec("triton") is None:
        return None
    from prophecy.engines import triton_blocks

    return triton_blocks if triton_blocks.takes(u, *observe.shape[1:]) else None


def forward(
    u: Tensor, x: Tensor, kernel: Tensor, observe: Tensor, reach: Tensor, power: Tensor
) -> tuple[Tensor, Tensor]:
    series, time = u.shape[1:]
    readouts, length = kernel.shape[1:]
    cut, whole = cut_time(u, length, -1), time // length
    added = cut[:, :, :whole] @ reach.mT.unsqueeze(1)
    after = scan(power[:, None, None], added, x)
    before = torch.cat([x.unsqueeze(2), after, torch.zeros_like(x).unsqueeze(2)], dim=2)
    rows = cut.flatten(1, 2)
    y = rows @ toeplitz(kernel).flatten(2)
    y = y + before[:, :, : cut.shape[2]].flatten(1, 2) @ observe.flatten(1, 2).mT
    y = torch.unflatten(torch.unflatten(y, -1, (readouts, length)), 1, (series, cut.shape[2]))
    y = y.transpose(3, 4).flatten(2, 3)
    return y[:, :, :time].permute(1, 2, 0, 3).contiguous().permute(2, 0, 1, 3), before


def _remember(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    u, _, kernel, observe, reach, power = inputs
    ctx.save_for_backward(u, kernel, observe, reach, power, output[1])
    ctx.set_materialize_grads(False)


def _gradients(ctx: Any, to_y: Tensor | None, to_before: Tensor | None) -> tuple[Tensor | None, ...]:
    u, *blocks, before = ctx.saved_tensors
    to_y = u.new_zeros(*u.shape, blocks[0].shape[1]) if to_y is None else to_y
    if torch.is_grad_enabled():  # a second derivative is wanted: operations that have one
        return _all_gradients(to_y, to_before, u, before, Blocks(*blocks), True, True)
    needs = ctx.needs_input_grad
    readout, memory = needs[2] or needs[3], needs[4] or needs[5]
    made = iter(_gradients_operator(to_y, to_before, u, before, *blocks, readout, memory))
    return tuple(next(made) if one else None for one in (True, True, readout, readout, memory, memory))


def _all_gradients(
    to_y: Tensor, to_before: Tensor | None, u: Tensor, before: Tensor, blocks: Blocks, readout: bool, memory: bool
) -> tuple[Tensor | None, ...]:
    """The adjoint: the same blocks, transposed, last block first; r is the gradient of the state after each block.

    readout, memory: whether the gradients of kernel and observe, and those of reach and power, are wanted; else None.
    """
    (readouts, length), whole = blocks.kernel.shape[1:], u.shape[2] // blocks.kernel.shape[-1]
    to_kernel = to_observe = to_reach = to_power = None
    kernels = None if torch.is_grad_enabled() else _fused(u, blocks.observe)
    with exact_products():
        if kernels is not None:
            to_u, to_x, to_K, *rest = kernels.backward(to_y, to_before, u, before, *blocks, (readout, memory))
            return to_u, to_x, None if to_K is None else _diagonals(to_K), *rest
        cut, rows = cut_time(u, length, -1), _outputs(to_y, length).flatten(3).flatten(1, 2)
        size = cut.shape[1:3]
        read = torch.unflatten(rows @ blocks.observe.flatten(1, 2), 1, size)  # (channels, series, blocks, N)
        inject = pad(read, (0, 0, 0, whole + 1 - size[1]))
        inject = inject if to_before is None else inject + to_before[:, :, : whole + 1]
        q = scan(blocks.power.mT[:, None, None], inject.flip(2)).flip(2)  # of the states before each block, in all
        r = q[:, :, 1:]
        later = pad(r, (0, 0, 0, size[1] - whole))  # samples of an unfilled block add to no state
        to_u = torch.unflatten(rows @ toeplitz(blocks.kernel).flatten(2).mT, 1, size)
        to_u = (to_u + later @ blocks.reach.unsqueeze(1)).flatten(2)[..., : u.shape[2]]
        if readout:
            blocked = _outputs(to_y, length).flatten(3).flatten(1, 2).mT
            starts = before[:, :, : size[1]].flatten(1, 2)
            to_kernel = _diagonals(torch.unflatten(blocked @ cut.flatten(1, 2), 1, (readouts, length)))
            to_observe = torch.unflatten(blocked @ starts, 1, (readouts, length))
        if memory:
            last = r.flatten(1, 2).mT
            to_reach = (last @ cut[:, :, :whole].flatten(1, 2)).sum_to_size(blocks.reach.shape)
            to_power = (last @ before[:, :, :whole].flatten(1, 2)).sum_to_size(blocks.power.shape)
            to_power = to_power.to(blocks.power.dtype)
    return to_u, q[:, :, 0], to_kernel, to_observe, to_reach, to_power


torch.library.register_autograd("prophecy::lifted", _gradients, setup_context=_remember)


def _outputs(y: Tensor, length: int) -> Tensor:
    """(channels, series, time, R) as (channels, series, blocks, R, L)."""
    return cut_time(y.transpose(2, 3), length, -1).transpose(2, 3)


def toeplitz(kernel: Tensor) -> Tensor:
    """Kᵀ for rows of samples: (channels, L, R, L), [c, j, r, i] = kernel[c, r, i - j] for i ≥ j, else 0."""
    length = kernel.shape[-1]
    padded = torch.cat([kernel.new_zeros(*kernel.shape[:-1], length - 1), kernel], dim=-1)
    windows: Tensor = padded.unfold(-1, length, 1).flip(-2)  # (channels, R, j, i): start L - 1 - j
    return windows.transpose(1, 2)


def _diagonals(table: Tensor) -> Tensor:
    """(channels, R, i, j) summed over i - j = 0, …, L - 1: (channels, R, L), the transpose of `toeplitz`."""
    length = table.shape[-1]
    wide = pad(table.flip(-1), (0, length)).flatten(-2)[..., :-length]  # row i moves i places to the right
    moved: Tensor = torch.unflatten(wide, -1, (length, 2 * length - 1))
    return moved.sum(-2)[..., length - 1 :]


@contextmanager
def exact_products() -> Iterator[None]:
    """Full float32 products inside, the caller's setting back afterwards."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
