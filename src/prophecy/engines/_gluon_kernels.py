r"""The fused kernel of one system over many series for Hopper GPUs: float32 by products of float16 halves.

Per block of samples (see `lifting`): y = K u + O x and x' = x + R u + (A^L - I) x, on the tensor cores. A program
carries the states of 64 series in registers; every sample is read once and every prediction written once. The state is
added to what changes it outside of the tensor cores: inside, their truncation would shrink it in every block.

Halves: a number v is hi + lo with hi = float16(v), lo = float16(v - hi), 22 bits and the sign of lo, as many as float32
keeps of a product. The matrices are split on the host. Samples and state of a series are first scaled by a power of
two, so that the largest is near 2^14: float16 then resolves 2^-38 of it. Triton waits after each of the twelve products
of a block; Gluon, its lower level, lets them run back to back.
"""

# Types of a kernel's arguments are Triton's business: it compiles one version per combination.
# mypy: disable-error-code="no-untyped-def, untyped-decorator"

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    async_copy,
    fence_async_shared,
    warpgroup_mma,
    warpgroup_mma_wait,
)

copy_ahead = (
    getattr(async_copy, "async_load", None) or async_copy.async_copy_global_to_shared
)  # renamed after Triton 3.6


@gluon.jit
def _scales(big):
    """Powers of two (up, 1/up) per series with up · big in [2^13, 2^14), and 1 where the series is all zero."""
    exponent = (big.to(gl.int32, bitcast=True) >> 23) & 255
    shift = gl.minimum(gl.maximum(140 - exponent, -126), 126)
    shift = gl.where(exponent == 0, 0, shift)
    up = ((127 + shift) << 23).to(gl.float32, bitcast=True)
    down = ((127 - shift) << 23).to(gl.float32, bitcast=True)
    return up, down


@gluon.jit
def _halves(v):
    high = v.to(gl.float16)
    return high, (v - high.to(gl.float32)).to(gl.float16)


@gluon.jit
def _matrix(base, ROWS: gl.constexpr, COLUMNS: gl.constexpr):
    """A constant matrix, copied to shared memory once, in the layout the tensor cores read."""
    layout: gl.constexpr = gl.BlockedLayout([1, 8], [32 // (COLUMNS // 8), COLUMNS // 8], [gl.num_warps(), 1], [1, 0])
    shared: gl.constexpr = gl.NVMMASharedLayout.get_default_for([ROWS, COLUMNS], gl.float16)
    row = gl.arange(0, ROWS, gl.SliceLayout(1, layout))
    column = gl.arange(0, COLUMNS, gl.SliceLayout(0, layout))
    return gl.allocate_shared_memory(
        gl.float16, [ROWS, COLUMNS], shared, gl.load(base + row[:, None] * COLUMNS + column[None, :])
    )


@gluon.jit
def _six(u_high, u_low, x_high, x_low, U, U_low, X, X_low, zero):
    """u U + x X by six products of halves, not waited for. The tensor cores round towards zero after every 16 terms,
    which costs least while the sum is small: the products of low halves come first, the large ones last."""
    total = warpgroup_mma(u_low, U, zero, is_async=True)
    total = warpgroup_mma(x_low, X, total, is_async=True)
    total = warpgroup_mma(u_high, U_low, total, is_async=True)
    total = warpgroup_mma(x_high, X_low, total, is_async=True)
    total = warpgroup_mma(x_high, X, total, is_async=True)
    return warpgroup_mma(u_high, U, total, is_async=True)


@gluon.jit
def lifted(
    u, y, x, end, matrices, lows, rows, blocks, pieces, u_series, y_series, y_down, x_down,
    READ: gl.constexpr, ORDER: gl.constexpr, LENGTH: gl.constexpr, STAGES: gl.constexpr,
):  # fmt: skip
    """x (rows, ORDER) are the states before, end those after, `blocks` blocks of LENGTH samples of each row.

    A row is one piece of one series: row r is piece r % pieces of series r // pieces, `blocks` · LENGTH samples each.
    matrices, lows: Kᵀ (L, L), Oᵀ (N, L), Rᵀ (L, N), (A^L - I)ᵀ (N, N), one after another, and their low halves; y_down
    and x_down undo their scaling. Without READ nothing is written to y. Eight warps share the columns of a product,
    four have them all.
    """
    GROUP: gl.constexpr = 64
    WIDE: gl.constexpr = gl.num_warps() // 4
    y_layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, WIDE], [16, LENGTH // WIDE, 16])
    x_layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, WIDE], [16, ORDER // WIDE, 16])
    left: gl.constexpr = gl.DotOperandLayout(0, y_layout, 2)
    left_x: gl.constexpr = gl.DotOperandLayout(0, x_layout, 2)
    y_rows: gl.constexpr = gl.SliceLayout(1, y_layout)
    x_rows: gl.constexpr = gl.SliceLayout(1, x_layout)
    copy: gl.constexpr = gl.BlockedLayout([1, 4], [32 // (LENGTH // 4), LENGTH // 4], [gl.num_warps(), 1], [1, 0])
    samples: gl.constexpr = gl.NVMMASharedLayout.get_default_for([GROUP, LENGTH], gl.float32)

    O_: gl.constexpr = LENGTH * LENGTH
    R_: gl.constexpr = O_ + ORDER * LENGTH
    P_: gl.constexpr = R_ + LENGTH * ORDER
    R, R_low = _matrix(matrices + R_, LENGTH, ORDER), _matrix(lows + R_, LENGTH, ORDER)
    P, P_low = _matrix(matrices + P_, ORDER, ORDER), _matrix(lows + P_, ORDER, ORDER)
    if READ:
        K, K_low = _matrix(matrices, LENGTH, LENGTH), _matrix(lows, LENGTH, LENGTH)
        O, O_low = _matrix(matrices + O_, ORDER, LENGTH), _matrix(lows + O_, ORDER, LENGTH)
    fence_async_shared()

    first = gl.program_id(0) * GROUP
    row = first + gl.arange(0, GROUP, gl.SliceLayout(1, copy))
    column = gl.arange(0, LENGTH, gl.SliceLayout(0, copy))
    start = (row // pieces).to(gl.int64) * u_series + (row % pieces).to(gl.int64) * blocks * LENGTH
    u_at = u + start[:, None] + column[None, :]
    u_in = (row < rows)[:, None]

    row_y = first + gl.arange(0, GROUP, y_rows)
    column_y = gl.arange(0, LENGTH, gl.SliceLayout(0, y_layout))
    start_y = (row_y // pieces).to(gl.int64) * y_series + (row_y % pieces).to(gl.int64) * blocks * LENGTH
    y_at = y + start_y[:, None] + column_y[None, :]
    y_in = (row_y < rows)[:, None]

    row_x = first + gl.arange(0, GROUP, x_rows)
    order = gl.arange(0, ORDER, gl.SliceLayout(0, x_layout))
    x_at = row_x.to(gl.int64)[:, None] * ORDER + order[None, :]
    x_in = (row_x < rows)[:, None]
    state = gl.load(x + x_at, mask=x_in, other=0.0)

    buffer = gl.allocate_shared_memory(gl.float32, [STAGES, GROUP, LENGTH], samples)
    for ahead in gl.static_range(STAGES - 1):
        copy_ahead(buffer.index(ahead), u_at, mask=u_in & (ahead < blocks))
        async_copy.commit_group()
        u_at += LENGTH
    zero_x = gl.zeros((GROUP, ORDER), gl.float32, x_layout)
    zero_y = gl.zeros((GROUP, LENGTH), gl.float32, y_layout)
    for block in range(blocks):
        async_copy.wait_group(STAGES - 2)
        now = buffer.index(block % STAGES).load(left)
        later = block + STAGES - 1
        copy_ahead(buffer.index(later % STAGES), u_at, mask=u_in & (later < blocks))
        async_copy.commit_group()
        u_at += LENGTH
        big = gl.maximum(gl.convert_layout(gl.max(gl.abs(now), 1), x_rows), gl.max(gl.abs(state), 1))
        up, down = _scales(big)
        u_high, u_low = _halves(now * gl.convert_layout(up, gl.SliceLayout(1, left))[:, None])
        state_high, state_low = _halves(state * up[:, None])
        x_high, x_low = gl.convert_layout(state_high, left_x), gl.convert_layout(state_low, left_x)
        ux_high, ux_low = gl.convert_layout(u_high, left_x), gl.convert_layout(u_low, left_x)
        change = _six(ux_high, ux_low, x_high, x_low, R, R_low, P, P_low, zero_x)
        if READ:
            xy_high, xy_low = gl.convert_layout(x_high, left), gl.convert_layout(x_low, left)
            out = _six(u_high, u_low, xy_high, xy_low, K, K_low, O, O_low, zero_y)
            change = warpgroup_mma_wait(6, [change])
        else:
            change = warpgroup_mma_wait(0, [change])
        state = state + change * (down * x_down)[:, None]
        if READ:
            made = warpgroup_mma_wait(0, [out])
            gl.store(y_at, made * gl.convert_layout(down * y_down, y_rows)[:, None], mask=y_in)
            y_at += LENGTH
    async_copy.wait_group(0)
    gl.store(end + x_at, state, mask=x_in)
