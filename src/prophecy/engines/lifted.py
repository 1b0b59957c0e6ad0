"""The lifted engine: one matrix product per block of samples and group of series (see `lifting`).

    # x has seen u[k] when y[k] is read; y[k] predicts u[k + 1].
    x = A @ x + B * u[k]
    y[k] = C @ x + D * u[k]

For a group of series and a stretch of blocks: first what each block adds to its state (one product), then the states
from block to block (one small product per block), then all predictions from the samples and the states (one product).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from prophecy.engines import step
from prophecy.engines.lifting import block_matrix
from prophecy.system import System

Array = NDArray[Any]

# Bytes of one work buffer: small enough to stay in a core's caches beside the matrices.
WORK = 2 << 20


def run(system: System, u: Array, x: Array, y: Array, length: int | None = None, work: int = WORK) -> None:
    """Predictions into y and final states into x, in place."""
    series, time = u.shape
    length = min(block_length(system.order), time) if length is None else min(length, time)
    group, stretch = pieces(system, series, time, length, work)
    for first in range(0, series, group):
        rows = slice(first, min(series, first + group))
        for start in range(0, time, stretch):
            columns = slice(start, min(time, start + stretch))
            _piece(system, u[rows, columns], x[rows], y[rows, columns], length)


def block_length(order: int) -> int:
    """Near the least operations per sample, 2 L + 4 N + 2 N²/L at L = N; never so short that overhead rules."""
    return int(np.clip(16 * round(order / 16), 32, 256))


def pieces(system: System, series: int, time: int, length: int, work: int) -> tuple[int, int]:
    """How many series and samples one piece takes so that its buffer stays within `work` bytes."""
    block = (length + system.order) * system.dtype.itemsize
    group = max(1, min(series, work // block))
    stretch = max(1, work // (block * group))
    return group, length * min(stretch, max(1, time // length))


def _piece(system: System, u: Array, x: Array, y: Array, length: int) -> None:
    series, time = u.shape
    blocks, N = time // length, system.order
    whole = blocks * length
    if blocks:
        both, reach, power = block_matrix(system, length)
        joint = np.empty((series, blocks, length + N), system.dtype)
        joint[:, :, :length] = u[:, :whole].reshape(series, blocks, length)
        flat = joint.reshape(series * blocks, length + N)
        added = (flat[:, :length] @ reach).reshape(series, blocks, N)
        for b in range(blocks):
            joint[:, b, length:] = x
            x[:] = x @ power + added[:, b]
        y[:, :whole] = (flat @ both).reshape(series, whole)
    if whole < time:
        _tail(system, u[:, whole:], x, y[:, whole:], length)


def _tail(system: System, u: Array, x: Array, y: Array, length: int) -> None:
    """The last samples, fewer than a block: shorter blocks first, the last few by the plain step."""
    if u.shape[1] >= 16 and length > 16:
        _piece(system, u, x, y, max(16, length // 4))
    else:
        step.run(system, u, x, y)
