r"""The fused kernel for Hopper GPUs: `_triton_kernels.lifted` in mode "half", with the products issued asynchronously.

    # x has seen u[k] when y[k] is read; y[k] predicts u[k + 1].
    x = A @ x + B * u[k]
    y[k] = C @ x + D * u[k]

Same numbers, same arguments (its plain twin is what it is tested against). Triton waits after each of the twelve
products of a block; Gluon, Triton's lower level, lets them run back to back: one warpgroup per program issues the six
products of the state, then the six of the predictions, and scales the new state while the latter run. On an H200 that
is the difference between 0.49 and 0.54 of the copy's speed at N = 64, and between 0.61 and 0.83 at N = 16.
"""

# Types of a kernel's arguments are Triton's business: it compiles one version per combination.
# mypy: disable-error-code="no-untyped-def, untyped-decorator"

from __future__ import annotations

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
    exponent = (big.to(gl.int32, bitcast=True) >> 23) & 255
    shift = gl.minimum(gl.maximum(140 - exponent, -126), 126)
    shift = gl.where(exponent == 0, 0, shift)
    up = ((127 + shift) << 23).to(gl.float32, bitcast=True)
    down = ((127 - shift) << 23).to(gl.float32, bitcast=True)
    return up, down


@gluon.jit
def _shared_matrix(base, ROWS: gl.constexpr, COLUMNS: gl.constexpr):
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
    """u U + x X by six products of halves, not waited for."""
    total = warpgroup_mma(u_low, U, zero, is_async=True)
    total = warpgroup_mma(x_low, X, total, is_async=True)
    total = warpgroup_mma(u_high, U_low, total, is_async=True)
    total = warpgroup_mma(x_high, X_low, total, is_async=True)
    total = warpgroup_mma(x_high, X, total, is_async=True)
    return warpgroup_mma(u_high, U, total, is_async=True)


@gluon.jit
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
    STATES_ONLY: gl.constexpr,
    REVERSE: gl.constexpr,
    ORDER: gl.constexpr,
    LENGTH: gl.constexpr,
    GROUP: gl.constexpr,
    STAGES: gl.constexpr,
):
    warps: gl.constexpr = gl.num_warps()
    y_layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [warps, 1], [16, LENGTH, 16])
    x_layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [warps, 1], [16, ORDER, 16])
    left: gl.constexpr = gl.DotOperandLayout(0, y_layout, 2)
    left_x: gl.constexpr = gl.DotOperandLayout(0, x_layout, 2)
    y_rows: gl.constexpr = gl.SliceLayout(1, y_layout)
    x_rows: gl.constexpr = gl.SliceLayout(1, x_layout)
    copy: gl.constexpr = gl.BlockedLayout([1, 4], [32 // (LENGTH // 4), LENGTH // 4], [warps, 1], [1, 0])
    samples: gl.constexpr = gl.NVMMASharedLayout.get_default_for([GROUP, LENGTH], gl.float32)

    O_: gl.constexpr = LENGTH * LENGTH
    R_: gl.constexpr = O_ + ORDER * LENGTH
    P_: gl.constexpr = R_ + LENGTH * ORDER
    R = _shared_matrix(matrices + R_, LENGTH, ORDER)
    P = _shared_matrix(matrices + P_, ORDER, ORDER)
    R_low = _shared_matrix(lows + R_, LENGTH, ORDER)
    P_low = _shared_matrix(lows + P_, ORDER, ORDER)
    if not STATES_ONLY:
        K = _shared_matrix(matrices, LENGTH, LENGTH)
        O = _shared_matrix(matrices + O_, ORDER, LENGTH)
        K_low = _shared_matrix(lows, LENGTH, LENGTH)
        O_low = _shared_matrix(lows + O_, ORDER, LENGTH)
    fence_async_shared()

    first = gl.program_id(0) * GROUP
    row = first + gl.arange(0, GROUP, gl.SliceLayout(1, copy))
    column = gl.arange(0, LENGTH, gl.SliceLayout(0, copy))
    piece = (row % pieces).to(gl.int64)
    start = piece * blocks * LENGTH
    if REVERSE:
        start = ((pieces - piece) * blocks - 1) * LENGTH
    u_at = u + ((row // pieces).to(gl.int64) * u_series + start * u_time)[:, None] + (column * u_time)[None, :]
    u_in = (row < rows)[:, None]

    row_y = first + gl.arange(0, GROUP, y_rows)
    piece_y = (row_y % pieces).to(gl.int64)
    start_y = piece_y * blocks * LENGTH
    advance: gl.constexpr = -LENGTH if REVERSE else LENGTH
    if REVERSE:
        start_y = ((pieces - piece_y) * blocks - 1) * LENGTH
    column_y = gl.arange(0, LENGTH, gl.SliceLayout(0, y_layout))
    y_at = y + ((row_y // pieces).to(gl.int64) * y_series + start_y * y_time)[:, None] + (column_y * y_time)[None, :]
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
        u_at += advance * u_time
    zero_x = gl.zeros((GROUP, ORDER), gl.float32, x_layout)
    zero_y = gl.zeros((GROUP, LENGTH), gl.float32, y_layout)
    for block in range(blocks):
        async_copy.wait_group(STAGES - 2)
        now = buffer.index(block % STAGES).load(y_layout)
        later = block + STAGES - 1
        copy_ahead(buffer.index(later % STAGES), u_at, mask=u_in & (later < blocks))
        async_copy.commit_group()
        u_at += advance * u_time
        big = gl.maximum(gl.max(gl.abs(now), 1), gl.convert_layout(gl.max(gl.abs(state), 1), y_rows))
        up, down = _scales(big)
        now = now * up[:, None]
        now_high = now.to(gl.float16)
        now_low = (now - now_high.to(gl.float32)).to(gl.float16)
        state = state * gl.convert_layout(up, x_rows)[:, None]
        state_high = state.to(gl.float16)
        state_low = (state - state_high.to(gl.float32)).to(gl.float16)
        u_high, u_low = gl.convert_layout(now_high, left_x), gl.convert_layout(now_low, left_x)
        x_high, x_low = gl.convert_layout(state_high, left_x), gl.convert_layout(state_low, left_x)
        added = _six(u_high, u_low, x_high, x_low, R, R_low, P, P_low, zero_x)
        if STATES_ONLY:
            state = warpgroup_mma_wait(0, [added])
        else:
            uy_high, uy_low = gl.convert_layout(now_high, left), gl.convert_layout(now_low, left)
            xy_high, xy_low = gl.convert_layout(state_high, left), gl.convert_layout(state_low, left)
            out = _six(uy_high, uy_low, xy_high, xy_low, K, K_low, O, O_low, zero_y)
            state = warpgroup_mma_wait(6, [added])
        state = state * gl.convert_layout(down * x_down, x_rows)[:, None]
        if not STATES_ONLY:
            made = warpgroup_mma_wait(0, [out])
            gl.store(y_at, made * (down * y_down)[:, None], mask=y_in)
            y_at += advance * y_time
    async_copy.wait_group(0)
    gl.store(end + x_at, state, mask=x_in)
