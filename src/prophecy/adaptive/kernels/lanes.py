"""Eight numbers at a time: the sums and products of the step, in one order on every machine.

They are written out, so that eight loads, products or sums that lie side by side become one instruction. Indices are
unsigned, since Numba asks of every signed one whether it counts from the end.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from prophecy._compiled import inner

ZERO, _1, _2, _3, _4, _5, _6, _7, EIGHT = (np.uint64(i) for i in range(9))


@inner
def product(x: Any, count: Any, matrix: Any, place: Any, stride: Any, out: Any, at: Any) -> None:
    """out[at : at + 8] = Σ x[i] matrix[place + i stride : … + 8] over i < count, in the order of i."""
    a, b, c, d, e, f, g, h = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(count):
        v, k = x[i], place + i * stride
        a += v * matrix[k]
        b += v * matrix[k + _1]
        c += v * matrix[k + _2]
        d += v * matrix[k + _3]
        e += v * matrix[k + _4]
        f += v * matrix[k + _5]
        g += v * matrix[k + _6]
        h += v * matrix[k + _7]
    store(out, at, a, b, c, d, e, f, g, h)


@inner
def subtract(x: Any, place: Any, factor: float, y: Any, count: Any) -> None:
    """x[place : place + count] -= factor y[:count]; count is a multiple of eight."""
    for i in range(ZERO, count, EIGHT):
        k = place + i
        a, b = x[k] - factor * y[i], x[k + _1] - factor * y[i + _1]
        c, d = x[k + _2] - factor * y[i + _2], x[k + _3] - factor * y[i + _3]
        e, f = x[k + _4] - factor * y[i + _4], x[k + _5] - factor * y[i + _5]
        g, h = x[k + _6] - factor * y[i + _6], x[k + _7] - factor * y[i + _7]
        store(x, k, a, b, c, d, e, f, g, h)


@inner
def store(x: Any, k: Any, a: float, b: float, c: float, d: float, e: float, f: float, g: float, h: float) -> None:
    x[k], x[k + _1], x[k + _2], x[k + _3] = a, b, c, d
    x[k + _4], x[k + _5], x[k + _6], x[k + _7] = e, f, g, h


@inner
def dot(x: Any, place: Any, y: Any, count: Any) -> float:
    """Σ x[place + i] y[i] over i < count, in eight interleaved parts; count is a multiple of eight."""
    a, b, c, d, e, f, g, h = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(ZERO, count, EIGHT):
        k = place + i
        a += x[k] * y[i]
        b += x[k + _1] * y[i + _1]
        c += x[k + _2] * y[i + _2]
        d += x[k + _3] * y[i + _3]
        e += x[k + _4] * y[i + _4]
        f += x[k + _5] * y[i + _5]
        g += x[k + _6] * y[i + _6]
        h += x[k + _7] * y[i + _7]
    return ((a + e) + (b + f)) + ((c + g) + (d + h))


@inner
def total(x: Any, count: Any) -> float:
    """Σ x[i] over i < count, in eight interleaved parts; count is a multiple of eight."""
    a, b, c, d, e, f, g, h = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(ZERO, count, EIGHT):
        a += x[i]
        b += x[i + _1]
        c += x[i + _2]
        d += x[i + _3]
        e += x[i + _4]
        f += x[i + _5]
        g += x[i + _6]
        h += x[i + _7]
    return ((a + e) + (b + f)) + ((c + g) + (d + h))
