r"""The paper's error bounds with their constants (Theorem 1, Corollary 1, Lemma 1).

All three need a signal with period `window`. Lemma 1 integrates the Fourier coefficient by parts k times and drops the
boundary terms u^(j)(t) - u^(j)(t - window), which vanish only then; without periodicity the coefficients fall like 1/n
however smooth the signal is, and the error of Prop. 2 grows like the order.

Theorem 1 is argued for ideal Fourier coefficients; the states of the SSM are these below the band's end ω_M only. The
gap closes: above it the SSM errs by no more than leaving the frequency out would (`high_frequency_response`), so every
term of the tail keeps its bound.
"""

import math

import numpy as np
from scipy.special import zeta

from prophecy import _checks
from prophecy.bases import fout_order


def coefficient_bound(frequency: int, smoothness: int, lipschitz: float, window: float) -> float:
    r"""Lemma 1: |x_n| ≤ (2√2/π) L (θ/2πn)^k for |u^(k)| ≤ L, u with period θ = `window`.

    The mean of |√2 sin| over a period is 2√2/π = 0.90; the paper rounds it up to 1.
    """
    frequency, smoothness = _checks.whole("frequency", frequency), _checks.whole("smoothness", smoothness)
    lipschitz, window = _bound("lipschitz", lipschitz), _checks.positive("window", window)
    return 2 * math.sqrt(2) / math.pi * lipschitz * (window / (2 * np.pi * frequency)) ** smoothness


def derivative_bound(order: int, smoothness: int, lipschitz: float, window: float) -> float:
    r"""Theorem 1: |u'(t) - u'_N(t)| ≤ (8 L/θ) (θ/2π)^k ζ(k-1, M+1), with M = (N-1)/2 frequencies kept.

    The tail Σ_{n>M} 2√2 π n/θ |x_n^s| with Lemma 1 put in; the Hurwitz zeta function ζ(s, a) = Σ_{j≥0} (a+j)^-s sums it
    exactly, and falls like M^(2-k)/(k-2), the paper's O(L/N^(k-2)). k = `smoothness` ≥ 3.
    """
    order, smoothness = fout_order(order), _checks.whole("smoothness", smoothness)
    lipschitz, window = _bound("lipschitz", lipschitz), _checks.positive("window", window)
    if smoothness < 3:
        raise ValueError(f"smoothness must be at least 3 for the series to converge (Theorem 1), got {smoothness}")
    tail = float(zeta(smoothness - 1, order // 2 + 1))
    return 8 * lipschitz / window * (window / (2 * np.pi)) ** smoothness * tail


def value_bound(time: float, order: int, smoothness: int, lipschitz: float, window: float, start: float = 0.0) -> float:
    r"""Corollary 1: |u(t) - ∫₀ᵗ u'_N| ≤ |u(0)| + t times the bound of Theorem 1; `start` is u(0).
    Left at 0 it bounds |u(t) - u(0) - ∫₀ᵗ u'_N|.

    The paper leaves u(0) out: an integral of a derivative leaves its start open. For u = cos 2πt, window 1,
    N = 9, k = 5 and t = 1/4 the difference is 1 and the printed bound 0.0071.

    >>> round(value_bound(0.25, 9, 5, (2 * np.pi) ** 5, 1.0), 4)
    0.0071
    """
    if not math.isfinite(start):
        raise ValueError(f"start must be u(0), a finite number, got {start}")
    return abs(start) + _bound("time", time) * derivative_bound(order, smoothness, lipschitz, window)


def high_frequency_response(omega: float, order: int, window: float) -> complex:
    r"""What Prop. 2's system answers to exp(iωt), per exp(iωt), above its band, ω > ω_M = 2πM/θ:

    H = K/(1 - i g), K = (4/θ) Σ_m ω_m²/(ω² - ω_m²), ω g = (2/θ) (1 + Σ_m 2ω²/(ω² - ω_m²)) ≥ K.

    Hence |iω - H|² = ω² - K (2 ω g - K)/(1 + g²) ≤ ω²: the error is at most that of an answer of 0, which is what the
    proof of Theorem 1 counts for every frequency left out.
    """
    order, window = fout_order(order), _checks.positive("window", window)
    known = 2 * np.pi * np.arange(1, order // 2 + 1) / window
    if len(known) and not omega > known[-1]:
        raise ValueError(f"omega must lie above the band, 2π(N - 1)/2/window, got omega = {omega}")
    K = 4 / window * np.sum(known**2 / (omega**2 - known**2))
    g = 2 / window * (1 + np.sum(2 * omega**2 / (omega**2 - known**2))) / omega
    return complex(K / (1 - 1j * g))


def _bound(name: str, value: float) -> float:
    is_zero = isinstance(value, int | float) and not isinstance(value, bool) and value == 0
    return 0.0 if is_zero else _checks.positive(name, value)
