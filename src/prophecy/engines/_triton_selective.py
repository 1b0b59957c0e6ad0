r"""The fused kernels of the selective scan: states stay in registers, and the backward pass makes them again.

    x[k] = exp(dt[k] A) x[k - 1] + dt[k] B[k] u[k]
    y[k] = C[k] · x[k]

A program carries the states of some channels of one series through tiles of STEPS samples; within a tile all states
come from one associative scan. Only the states before each tile are kept. Backward, last tile first, with r[k] the
gradient of x[k]: r[k] = C[k] ȳ[k] + exp(dt[k + 1] A) r[k + 1], by the same scan in reverse; all else are products with
r, and x[k] - dt B u stands for what came from the state before.
"""

# Types of a kernel's arguments are Triton's business: it compiles one version per combination.
# mypy: disable-error-code="no-untyped-def, untyped-decorator"

import triton
import triton.language as tl


@triton.jit
def _join(a, x, later_a, later_x):
    return a * later_a, later_a * x + later_x


@triton.jit
def _tile(u, dt, B, C, rate, state, row, k, time, channel, width, STEPS: tl.constexpr, ORDER: tl.constexpr):
    """Samples k of a tile, their steps, B and C; decays and inputs of the states, and the states themselves."""
    n = tl.arange(0, ORDER)
    at, mask = (row + k)[:, None] * width + channel[None, :], (k < time)[:, None] & (channel < width)[None, :]
    now, span = tl.load(u + at, mask=mask, other=0.0), tl.load(dt + at, mask=mask, other=0.0)
    at_n = (row + k)[:, None] * ORDER + n[None, :]
    into = tl.load(B + at_n, mask=(k < time)[:, None], other=0.0)
    out = tl.load(C + at_n, mask=(k < time)[:, None], other=0.0)
    added = (span * now)[:, :, None] * into[:, None, :]
    carried, x = tl.associative_scan((tl.exp(span[:, :, None] * rate[None, :, :]), added), 0, _join)
    return at, mask, now, span, into, out, added, x + carried * state[None, :, :]


@triton.jit
def forward(
    u, dt, A, B, C, start, y, before, end, time, width,
    STEPS: tl.constexpr, CHANNELS: tl.constexpr, ORDER: tl.constexpr,
):  # fmt: skip
    """u, dt, y (batch, time, width); A (width, ORDER); B, C (batch, time, ORDER); start, end (batch, width, ORDER);
    before (batch, tiles, width, ORDER)."""
    batch, n, step = tl.program_id(1).to(tl.int64), tl.arange(0, ORDER), tl.arange(0, STEPS)
    channel = tl.program_id(0) * CHANNELS + tl.arange(0, CHANNELS)
    there = channel < width
    rate = tl.load(A + channel[:, None] * ORDER + n[None, :], mask=there[:, None], other=0.0)
    own = channel[:, None] * ORDER + n[None, :]
    state = tl.load(start + batch * width * ORDER + own, mask=there[:, None], other=0.0)
    tiles = (time + STEPS - 1) // STEPS
    for tile in range(tiles):
        tl.store(before + (batch * tiles + tile) * width * ORDER + own, state, mask=there[:, None])
        at, mask, _, _, _, out, _, x = _tile(
            u, dt, B, C, rate, state, batch * time, tile * STEPS + step, time, channel, width, STEPS, ORDER
        )
        tl.store(y + at, tl.sum(x * out[:, None, :], 2), mask=mask)
        state = tl.sum(tl.where((step == STEPS - 1)[:, None, None], x, 0.0), 0)
    tl.store(end + batch * width * ORDER + own, state, mask=there[:, None])


@triton.jit
def backward(
    u, dt, A, B, C, before, g, to_end, to_u, to_dt, to_A, to_B, to_C, to_start, time, width, batches,
    STEPS: tl.constexpr, CHANNELS: tl.constexpr, ORDER: tl.constexpr,
):  # fmt: skip
    """g like y; to_end, to_start (batch, width, ORDER); to_A (batch, width, ORDER); to_B and to_C of each program's
    channels, (programs, batch, time, ORDER)."""
    batch, n, step = tl.program_id(1).to(tl.int64), tl.arange(0, ORDER), tl.arange(0, STEPS)
    channel = tl.program_id(0) * CHANNELS + tl.arange(0, CHANNELS)
    there = channel < width
    own = channel[:, None] * ORDER + n[None, :]
    rate = tl.load(A + own, mask=there[:, None], other=0.0)
    later = tl.load(to_end + batch * width * ORDER + own, mask=there[:, None], other=0.0)
    rates = tl.zeros((CHANNELS, ORDER), tl.float32)
    tiles = (time + STEPS - 1) // STEPS
    part = (tl.program_id(0).to(tl.int64) * batches + batch) * time
    for back in range(tiles):
        tile = tiles - 1 - back
        state = tl.load(before + (batch * tiles + tile) * width * ORDER + own, mask=there[:, None], other=0.0)
        k = tile * STEPS + step
        inside = k < time
        at, mask, now, span, into, out, added, x = _tile(
            u, dt, B, C, rate, state, batch * time, k, time, channel, width, STEPS, ORDER
        )
        grad = tl.load(g + at, mask=mask, other=0.0)
        following = tl.load(dt + at + width, mask=(k + 1 < time)[:, None] & there[None, :], other=0.0)
        tl.store(to_C + (part + k)[:, None] * ORDER + n[None, :], tl.sum(x * grad[:, :, None], 1), mask=inside[:, None])
        x -= added  # what came from the state before
        onward = tl.exp(following[:, :, None] * rate[None, :, :])
        carried, r = tl.associative_scan((onward, grad[:, :, None] * out[:, None, :]), 0, _join, reverse=True)
        r += carried * later[None, :, :]
        later = tl.sum(tl.where((step == 0)[:, None, None], r, 0.0), 0)
        read = tl.sum(r * into[:, None, :], 2)
        tl.store(to_u + at, read * span, mask=mask)
        tl.store(to_dt + at, read * now + tl.sum(r * x * rate[None, :, :], 2), mask=mask)
        rates += tl.sum(r * x * span[:, :, None], 0)
        into_b = tl.sum(r * (span * now)[:, :, None], 1)
        tl.store(to_B + (part + k)[:, None] * ORDER + n[None, :], into_b, mask=inside[:, None])
    tl.store(to_A + batch * width * ORDER + own, rates, mask=there[:, None])
    span = tl.load(dt + batch * time * width + channel, mask=there, other=0.0)
    later *= tl.exp(span[:, None] * rate)
    tl.store(to_start + batch * width * ORDER + own, later, mask=there[:, None])
