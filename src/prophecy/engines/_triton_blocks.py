r"""The fused kernels of blocks: one system per channel, forward and its adjoint (see `torch_lifted`).

A program carries the states of a group of series of one channel through all blocks. Float32 products are six of
bfloat16 parts ("bf16x6"), which treat every sample by itself: unlike the scaled float16 products of `_gluon_kernels`,
a later value of a block, however large, leaves the bits of earlier outputs alone. Float64 products are float64.

Forward, block b, P = A^L - I: before[b] = x; y = u Kᵀ + x Oᵀ; x = x + u Rᵀ + x Pᵀ. Adjoint, last block first, r the
gradient of the state after a block: ū = ȳ K + r R; r = r + ȳ O + r P + what reaches the state from elsewhere. A state
is added to what changes it outside of the tensor cores, whose sums are cut off, not rounded: inside, it would shrink in
every block (at N = 64 the gradient of C was off by 1.6e-6, now by 7e-7). Samples after the last whole block are read
and written under a mask; they change no state. The gradients of the matrices are sums of products over all blocks
(`gradients`).
"""

# Types of a kernel's arguments are Triton's business: it compiles one version per combination.
# mypy: disable-error-code="no-untyped-def, untyped-decorator"

import triton
import triton.language as tl


@triton.jit
def _product(left, right, total, PRECISION: tl.constexpr):
    if PRECISION == "double":
        total = tl.dot(left, right, total, out_dtype=tl.float64)
    else:
        total = tl.dot(left, right, total, input_precision=PRECISION)
    return total


@triton.jit
def _matrix(base, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    return tl.load(base + tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :])


@triton.jit
def turn(
    source, target, series, time, channels, s_channel, s_series, s_time, t_channel, t_series, t_time,
    MOMENTS: tl.constexpr, CHANNELS: tl.constexpr,
):  # fmt: skip
    """target = source, both (channels, series, time) by their strides; whichever of channel and time is next to each
    other in memory, a tile of both is read and written in its order."""
    c = tl.program_id(0) * CHANNELS + tl.arange(0, CHANNELS)
    t = tl.program_id(1) * MOMENTS + tl.arange(0, MOMENTS)
    row = tl.program_id(2).to(tl.int64)
    inside = (t < time)[:, None] & (c < channels)[None, :]
    c, t = c.to(tl.int64), t.to(tl.int64)
    tile = tl.load(source + row * s_series + t[:, None] * s_time + c[None, :] * s_channel, mask=inside)
    tl.store(target + row * t_series + t[:, None] * t_time + c[None, :] * t_channel, tile, mask=inside)


@triton.jit
def forward(
    u, x, y, before, K, O, R, P, rows, time, pieces, u_channel, u_series, y_channel, y_series,
    k_channel, o_channel, r_channel, p_channel,
    READ: tl.constexpr, KEEP: tl.constexpr, ORDER: tl.constexpr, LENGTH: tl.constexpr, GROUP: tl.constexpr,
    STAGES: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """u, y (channels, series, time · pieces), by the strides of a channel and a series; x (channels, rows, ORDER).

    Row r is piece r % pieces of series r // pieces, `time` samples long. before (channels, rows, blocks + 2, ORDER) has
    the states before each block and after the last; without KEEP only the last of them, (channels, rows, ORDER).
    Without READ nothing is written to y. K (LENGTH, LENGTH), O (ORDER, LENGTH), R (LENGTH, ORDER), P (ORDER, ORDER) of
    each channel, transposed for rows.
    """
    channel = tl.program_id(1).to(tl.int64)
    row = tl.program_id(0) * GROUP + tl.arange(0, GROUP)
    inside = (row < rows)[:, None]
    at = (channel * rows + row.to(tl.int64))[:, None]
    series, piece = (row // pieces).to(tl.int64), (row % pieces).to(tl.int64)
    moment, order = tl.arange(0, LENGTH), tl.arange(0, ORDER)
    blocks = time // LENGTH
    K_ = _matrix(K + channel * k_channel, LENGTH, LENGTH)
    O_ = _matrix(O + channel * o_channel, ORDER, LENGTH)
    R_ = _matrix(R + channel * r_channel, LENGTH, ORDER)
    P_ = _matrix(P + channel * p_channel, ORDER, ORDER)
    state = tl.load(x + at * ORDER + order[None, :], mask=inside, other=0.0)
    zero_y = tl.zeros((GROUP, LENGTH), u.dtype.element_ty)
    zero_x = tl.zeros((GROUP, ORDER), u.dtype.element_ty)
    # Places are made anew in every block: carried along, a tile of them would take half of the registers.
    of_u = (channel * u_channel + series * u_series + piece * time)[:, None]
    of_y = (channel * y_channel + series * y_series + piece * time)[:, None]
    of_states = at * (blocks + 2) * ORDER
    for block in tl.range(0, blocks, num_stages=STAGES):
        here = (block * LENGTH + moment)[None, :]
        now = tl.load(u + of_u + here, mask=inside, other=0.0)
        if KEEP:
            tl.store(before + of_states + (block * ORDER + order)[None, :], state, mask=inside)
        if READ:
            out = _product(state, O_, zero_y, PRECISION)
            tl.store(y + of_y + here, _product(now, K_, out, PRECISION), mask=inside)
        added = _product(now, R_, zero_x, PRECISION)
        state += _product(state, P_, added, PRECISION)
    last = of_states + (blocks * ORDER + order)[None, :] if KEEP else at * ORDER + order[None, :]
    tl.store(before + last, state, mask=inside)
    if READ and blocks * LENGTH < time:
        here = (blocks * LENGTH + moment)[None, :]
        there = inside & (here < time)
        now = tl.load(u + of_u + here, mask=there, other=0.0)
        out = _product(state, O_, zero_y, PRECISION)
        tl.store(y + of_y + here, _product(now, K_, out, PRECISION), mask=there)


@triton.jit
def adjoint(
    g, extra, to_u, reached, K, O, R, P, series, time, k_channel, o_channel, r_channel, p_channel,
    EXTRA: tl.constexpr, KEEP: tl.constexpr, ORDER: tl.constexpr, LENGTH: tl.constexpr, GROUP: tl.constexpr,
    STAGES: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """g and to_u (channels, series, time): gradients of y and u; reached, and extra where EXTRA: like `before`.

    Without KEEP only the first of what reaches the states is written, and `reached` is (channels, series, ORDER).

    K (LENGTH, LENGTH), O (LENGTH, ORDER), R (ORDER, LENGTH), P (ORDER, ORDER), for rows, as they are.
    """
    channel = tl.program_id(1).to(tl.int64)
    row = tl.program_id(0) * GROUP + tl.arange(0, GROUP)
    inside = (row < series)[:, None]
    at = channel * series + row.to(tl.int64)
    moment, order = tl.arange(0, LENGTH), tl.arange(0, ORDER)
    blocks = time // LENGTH
    K_ = _matrix(K + channel * k_channel, LENGTH, LENGTH)
    O_ = _matrix(O + channel * o_channel, LENGTH, ORDER)
    R_ = _matrix(R + channel * r_channel, ORDER, LENGTH)
    P_ = _matrix(P + channel * p_channel, ORDER, ORDER)
    zero_y = tl.zeros((GROUP, LENGTH), g.dtype.element_ty)
    state = tl.zeros((GROUP, ORDER), g.dtype.element_ty)
    of_samples, of_states = at[:, None] * time, at[:, None] * (blocks + 2) * ORDER
    kept = of_states + (blocks * ORDER + order)[None, :]
    if EXTRA:
        state = tl.load(extra + kept, mask=inside, other=0.0)
    if blocks * LENGTH < time:
        there = inside & (blocks * LENGTH + moment < time)[None, :]
        here = of_samples + (blocks * LENGTH + moment)[None, :]
        now = tl.load(g + here, mask=there, other=0.0)
        tl.store(to_u + here, _product(now, K_, zero_y, PRECISION), mask=there)
        state = _product(now, O_, state, PRECISION)
    if KEEP:
        tl.store(reached + kept, state, mask=inside)
    for done in tl.range(0, blocks, num_stages=STAGES):
        block = blocks - 1 - done
        here = of_samples + (block * LENGTH + moment)[None, :]
        kept = of_states + (block * ORDER + order)[None, :]
        now = tl.load(g + here, mask=inside, other=0.0)
        out = _product(state, R_, zero_y, PRECISION)
        tl.store(to_u + here, _product(now, K_, out, PRECISION), mask=inside)
        start = tl.zeros((GROUP, ORDER), g.dtype.element_ty)
        if EXTRA:
            start = tl.load(extra + kept, mask=inside, other=0.0)
        start = _product(now, O_, start, PRECISION)
        state += _product(state, P_, start, PRECISION)
        if KEEP:
            tl.store(reached + kept, state, mask=inside)
    if not KEEP:
        tl.store(reached + at[:, None] * ORDER + order[None, :], state, mask=inside)


@triton.jit
def gradients(
    left, right, out, series, left_row, left_block, left_last, right_row, right_block, right_last, blocks,
    left_channel, right_channel,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, GROUP: tl.constexpr, STAGES: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """out (channels, parts, ROWS, COLUMNS) = Σ leftᵀ right over series and blocks, part by part of the blocks.

    left and right (channels, series, blocks, ROWS or COLUMNS), by the strides of a series and a block; of the last
    block so many values are there (left_last, right_last), the others count as 0. Every product is added up by itself:
    the tensor cores' own sums are cut off, not rounded, which would add up over thousands of them.
    """
    channel, part, parts = tl.program_id(0).to(tl.int64), tl.program_id(1), tl.num_programs(1)
    i, j, k = tl.arange(0, ROWS), tl.arange(0, COLUMNS), tl.arange(0, GROUP)
    each = (blocks + parts - 1) // parts
    first, groups = part * each, (series + GROUP - 1) // GROUP
    count = tl.minimum(each, tl.maximum(blocks - first, 0))
    total = tl.zeros((ROWS, COLUMNS), left.dtype.element_ty)
    for step in tl.range(0, count * groups, num_stages=STAGES):
        block, row = first + step // groups, (step % groups) * GROUP + k
        inside, last = (row < series)[:, None], block == blocks - 1
        i_end, j_end = tl.where(last, left_last, ROWS), tl.where(last, right_last, COLUMNS)
        row, place = row.to(tl.int64)[:, None], block.to(tl.int64)
        a = tl.load(left + channel * left_channel + row * left_row + place * left_block + i[None, :],
                    mask=inside & (i < i_end)[None, :], other=0.0)  # fmt: skip
        b = tl.load(right + channel * right_channel + row * right_row + place * right_block + j[None, :],
                    mask=inside & (j < j_end)[None, :], other=0.0)  # fmt: skip
        total += _product(tl.trans(a), b, tl.zeros((ROWS, COLUMNS), left.dtype.element_ty), PRECISION)
    at = (channel * parts + part) * ROWS * COLUMNS
    tl.store(out + at + i[:, None] * COLUMNS + j[None, :], total)


@triton.jit
def walk(
    added, x, power, before, end, rows, steps, groups, pieces,
    KEEP: tl.constexpr, ORDER: tl.constexpr, GROUP: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
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
        state = _product(state, P, now, PRECISION)
        at += ORDER
    if not KEEP:
        tl.store(end + row[:, None] * ORDER + order[None, :], state, mask=inside[:, None])
