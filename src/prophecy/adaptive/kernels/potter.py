r"""Recursive least squares in square-root form, for the solved readouts of the bank and of the seasons.

w minimises Σ λ^age (y - w · φ)² plus a prior. The covariance is kept as a factor, P = S Sᵀ (Potter's form):

    g = Sᵀ φ,  β = λ + g · g,  w += S g (y - w · φ)/β,  S ← (S - S g gᵀ/(β + √(λ β)))/√λ

S Sᵀ cannot lose its sign, and its condition number is the square root of P's. S is `growth` times the rows of
`factor` that start at `place`, `stride` numbers apart; the growth by 1/√λ goes into `growth` and is applied by `grow`
once in a while. A value whose noise has another variance than others counts by a λ multiplied by it.
"""

from __future__ import annotations

import math
from typing import Any

from prophecy._compiled import inner
from prophecy.adaptive.lanes import EIGHT, ZERO, dot, product, subtract


@inner
def update(
    factor: Any,
    place: Any,
    used: Any,
    stride: Any,
    growth: float,
    forgetting: float,
    error: float,
    phi: Any,
    g: Any,
    weights: Any,
) -> None:
    """Learn from one value: weights (used,) and the factor change. error: y - w · φ; phi (used,); g (stride,) is
    scratch; `stride` is a multiple of eight, and numbers beyond `used` in a row are 0."""
    for j in range(ZERO, stride, EIGHT):
        product(phi, used, factor, place + j, stride, g, j)
    for j in range(stride):
        g[j] *= growth
    beta = forgetting + dot(g, ZERO, g, stride)
    missed = error / beta
    shrink = 1.0 / ((beta + math.sqrt(forgetting * beta)) * growth)
    for i in range(used):
        gain = dot(factor, place + i * stride, g, stride) * growth
        weights[i] += gain * missed
        subtract(factor, place + i * stride, gain * shrink, g, stride)


@inner
def grow(factor: Any, place: Any, count: Any, growth: float) -> float:
    """Apply the growth to `count` numbers of a factor; returns the sum of their squares."""
    size = 0.0
    for k in range(place, place + count):
        factor[k] *= growth
        size += factor[k] * factor[k]
    return size
