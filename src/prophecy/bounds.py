r"""The paper's error bounds with their constants (Theorem 1, Corollary 1, Lemma 1).

All three need a signal with period `window`. Lemma 1 integrates the Fourier coefficient by parts k times and drops the
boundary terms u^(j)(t) - u^(j)(t - window), which vanish only then; without periodicity the coefficients fall like 1/n
however smooth the signal is, and the error of Prop. 2 does not fall with the order at all.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import zeta

from prophecy import _checks


def coefficient_bound(frequency: int, smoothness: int, lipschitz: float, window: float) -> float:
    r"""Lemma 1: |x_n| ≤ (2√2/π) L (θ/2πn)^k for |u^(k)| ≤ L, u with period θ = `window`.

    The mean of |√2 sin| over a period is 2√2/π = 0.90; the paper rounds it up to 1.

    >>> round(coefficient_bound(1, 3, 1.0, 2 * np.pi), 4)
    0.9003
    """
    frequency, smoothness = _checks.order("frequency", frequency), _checks.order("smoothness", smoothness)
    lipschitz, window = _bound("lipschitz", lipschitz), _checks.positive("window", window)
    return 2 * math.sqrt(2) / math.pi * lipschitz * (window / (2 * np.pi * frequency)) ** smoothness


def derivative_bound(order: int, smoothness: int, lipschitz: float, window: float) -> float:
    r"""Theorem 1: |u'(t) - u'_N(t)| ≤ (8 L/θ) (θ/2π)^k ζ(k-1, M+1), with M = (N-1)/2 frequencies kept.

    The tail Σ_{n>M} 2√2 π n/θ |x_n^s| with Lemma 1 put in; the Hurwitz zeta function ζ(s, a) = Σ_{j≥0} (a+j)^-s sums it
    exactly, and falls like M^(2-k)/(k-2), the paper's O(L/N^(k-2)). k = `smoothness` ≥ 3.

    >>> derivative_bound(order=65, smoothness=4, lipschitz=1.0, window=1.0) < derivative_bound(33, 4, 1.0, 1.0)
    True
    """
    order, smoothness = _checks.order("order", order), _checks.order("smoothness", smoothness)
    lipschitz, window = _bound("lipschitz", lipschitz), _checks.positive("window", window)
    if order % 2 == 0:
        raise ValueError(f"order must be odd for FouT, got {order}; use {order + 1}")
    if smoothness < 3:
        raise ValueError(f"smoothness must be at least 3 for the series to converge (Theorem 1), got {smoothness}")
    tail = float(zeta(smoothness - 1, order // 2 + 1))
    return 8 * lipschitz / window * (window / (2 * np.pi)) ** smoothness * tail


def value_bound(time: float, order: int, smoothness: int, lipschitz: float, window: float) -> float:
    r"""Corollary 1: |u(t) - u(0) - ∫₀ᵗ u'_N| ≤ t times the bound of Theorem 1.

    The paper leaves out u(0), which need not be small: u = cos 2πt, N = 9, k = 5, t = 1/4 differs by 1, not by 0.0071.
    """
    return _bound("time", time) * derivative_bound(order, smoothness, lipschitz, window)


def _bound(name: str, value: float) -> float:
    is_zero = isinstance(value, int | float) and not isinstance(value, bool) and value == 0
    return 0.0 if is_zero else _checks.positive(name, value)
