r"""The fused GPU kernel: a program carries the states of a group of series in registers through all blocks of samples.

    # x has seen u[k] when y[k] is read; y[k] predicts u[k + 1].
    x = A @ x + B * u[k]
    y[k] = C @ x + D * u[k]

Per block (see `lifting`): y = K u + O x and x' = R u + A^L x, on the tensor cores. Every sample is read once and every
prediction written once. Importing this file needs triton; compiling the kernel needs a GPU or TRITON_INTERPRET=1.

Three ways to multiply (`MODE`):

"half": float32 by three float16 products. A number v is hi + lo with hi = float16(v), lo = float16(v - hi): 22 bits and
    the sign of lo, as many as float32 keeps of a product. The matrices are split on the host. Samples and state of a
    series are first scaled by a power of two, so that the largest is near 2^14: float16 then resolves 2^-38 of it. This
    runs at twice the rate of the same three products in tf32.
"single": float32 by three tf32 products (`input_precision="tf32x3"`), no scaling.
"double": float64.
"""

# Types of a kernel's arguments are Triton's business: it compiles one version per combination.
# mypy: disable-error-code="no-untyped-def, untyped-decorator"

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def _exponent_scale(big):
    """Powers of two (up, 1/up) per series with up · big in [2^13, 2^14), and 1 where the series is all zero."""
    exponent = (big.to(tl.int32, bitcast=True) >> 23) & 255
    shift = tl.minimum(tl.maximum(140 - exponent, -126), 126)
    shift = tl.where(exponent == 0, 0, shift)
    up = ((127 + shift) << 23).to(tl.float32, bitcast=True)
    down = ((127 - shift) << 23).to(tl.float32, bitcast=True)
    return up, down


@triton.jit
def _halves(v):
    high = v.to(tl.float16)
    return high, (v - high.to(tl.float32)).to(tl.float16)


@triton.jit
def _product(u_high, u_low, x_high, x_low, U, U_low, X, X_low, total):
    """u U + x X by six products of halves. The tensor cores round towards zero after every 16 terms, which costs least
    while the sum is small: the products of low halves come first, the large ones last."""
    total = tl.dot(u_low, U, total)
    total = tl.dot(x_low, X, total)
    total = tl.dot(u_high, U_low, total)
    total = tl.dot(x_high, X_low, total)
    total = tl.dot(x_high, X, total)
    return tl.dot(u_high, U, total)


@triton.jit
def _matrix(base, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    return tl.load(base + tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :])


@triton.jit
def lifted(
    u,
    y,
    x,
    end,
    matrices,
    lows,
    rows,
    blocks,
    pieces,
    u_series,
    u_time,
    y_series,
    y_time,
    y_down,
    x_down,
    MODE: tl.constexpr,
    STATES_ONLY: tl.constexpr,
    REVERSE: tl.constexpr,
    ORDER: tl.constexpr,
    LENGTH: tl.constexpr,
    GROUP: tl.constexpr,
    STAGES: tl.constexpr,
):
    """x (rows, ORDER) are the states before, end those after, `blocks` blocks of LENGTH samples of each row.

    A row is one piece of one series: row r is piece r % pieces of series r // pieces, `blocks` · LENGTH samples each;
    with REVERSE pieces and blocks count from the end of time.
    matrices, lows: Kᵀ (L, L), Oᵀ (N, L), Rᵀ (L, N), (A^L)ᵀ (N, N), one after another; `lows` their low halves ("half").
    """
    row = tl.program_id(0) * GROUP + tl.arange(0, GROUP)
    inside = row < rows
    series = (row // pieces).to(tl.int64)
    piece = (row % pieces).to(tl.int64)
    if REVERSE:
        first = ((pieces - piece) * blocks - 1) * LENGTH
        advance = -LENGTH
    else:
        first = piece * blocks * LENGTH
        advance = LENGTH
    moment = tl.arange(0, LENGTH)
    order = tl.arange(0, ORDER)
    u_at = u + (series * u_series + first * u_time)[:, None] + moment[None, :].to(tl.int64) * u_time
    y_at = y + (series * y_series + first * y_time)[:, None] + moment[None, :].to(tl.int64) * y_time
    x_at = row.to(tl.int64)[:, None] * ORDER + order[None, :]
    state = tl.load(x + x_at, mask=inside[:, None], other=0.0)

    O_: tl.constexpr = LENGTH * LENGTH
    R_: tl.constexpr = O_ + ORDER * LENGTH
    P_: tl.constexpr = R_ + LENGTH * ORDER
    R = _matrix(matrices + R_, LENGTH, ORDER)
    P = _matrix(matrices + P_, ORDER, ORDER)
    if not STATES_ONLY:
        K = _matrix(matrices, LENGTH, LENGTH)
        O = _matrix(matrices + O_, ORDER, LENGTH)
    if MODE == "half":
        R_low = _matrix(lows + R_, LENGTH, ORDER)
        P_low = _matrix(lows + P_, ORDER, ORDER)
        if not STATES_ONLY:
            K_low = _matrix(lows, LENGTH, LENGTH)
            O_low = _matrix(lows + O_, ORDER, LENGTH)

    for _ in tl.range(0, blocks, num_stages=STAGES):
        now = tl.load(u_at, mask=inside[:, None], other=0.0)
        if MODE == "half":
            big = tl.maximum(tl.max(tl.abs(now), 1), tl.max(tl.abs(state), 1))
            up, down = _exponent_scale(big)
            now_high, now_low = _halves(now * up[:, None])
            state_high, state_low = _halves(state * up[:, None])
            if not STATES_ONLY:
                nothing = tl.zeros((GROUP, LENGTH), tl.float32)
                out = _product(now_high, now_low, state_high, state_low, K, K_low, O, O_low, nothing)
                tl.store(y_at, out * (down * y_down)[:, None], mask=inside[:, None])
            zero = tl.zeros((GROUP, ORDER), tl.float32)
            state = _product(now_high, now_low, state_high, state_low, R, R_low, P, P_low, zero)
            state = state * (down * x_down)[:, None]
        elif MODE == "single":
            if not STATES_ONLY:
                out = tl.dot(now, K, input_precision="tf32x3")
                out = tl.dot(state, O, out, input_precision="tf32x3")
                tl.store(y_at, out, mask=inside[:, None])
            added = tl.dot(now, R, input_precision="tf32x3")
            state = tl.dot(state, P, added, input_precision="tf32x3")
        else:
            if not STATES_ONLY:
                out = tl.dot(now, K, out_dtype=tl.float64)
                out = tl.dot(state, O, out, out_dtype=tl.float64)
                tl.store(y_at, out, mask=inside[:, None])
            added = tl.dot(now, R, out_dtype=tl.float64)
            state = tl.dot(state, P, added, out_dtype=tl.float64)
        u_at += advance * u_time
        y_at += advance * y_time
    tl.store(end + x_at, state, mask=inside[:, None])


@triton.jit
def walk(
    added,
    x,
    power,
    before,
    end,
    rows,
    steps,
    groups,
    pieces,
    KEEP: tl.constexpr,
    ORDER: tl.constexpr,
    GROUP: tl.constexpr,
):
    """States from piece to piece: x = power x + added. Row r is group r % groups of series r // groups, `steps` pieces.

    added and before (series, pieces, ORDER); x and end (rows, ORDER); power is multiplied from the right. With KEEP the
    state before each piece is written to `before`, without it the last one to `end`.
    """
    row = tl.program_id(0) * GROUP + tl.arange(0, GROUP)
    inside = row < rows
    order = tl.arange(0, ORDER)
    P = _matrix(power, ORDER, ORDER)
    state = tl.load(x + row[:, None] * ORDER + order[None, :], mask=inside[:, None], other=0.0)
    first = (row % groups) * steps
    start = ((row // groups) * pieces + first).to(tl.int64)
    at = start[:, None] * ORDER + order[None, :]
    for s in tl.range(0, steps, num_stages=3):
        there = (inside & (first + s < pieces))[:, None]
        if KEEP:
            tl.store(before + at, state, mask=there)
        now = tl.load(added + at, mask=there, other=0.0)
        if power.dtype.element_ty == tl.float64:
            state = tl.dot(state, P, now, out_dtype=tl.float64)
        else:
            state = tl.dot(state, P, now, input_precision="tf32x3")
        at += ORDER
    if not KEEP:
        tl.store(end + row[:, None] * ORDER + order[None, :], state, mask=inside[:, None])
