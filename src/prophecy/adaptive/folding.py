"""Folding a series on a period: how much of its power a mean profile explains, and which period explains it best.

Autocorrelations show whether a series repeats (`seasons.py`); its shortest period is found here.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from prophecy._compiled import inner

LONGEST = 2048
"""Longest season in samples: half of what is kept, since a season must have been seen twice."""

SHORTEST = 4
"""Shortest season in samples. Shorter ones are alternations, which the solved members of the bank know."""


@inner
def profile(z: Any, known: Any, period: float, fine: float, total: Any, count: Any) -> int:
    """Sums and numbers of what is known at each phase of `period`; returns how many phases there are: one a sample or,
    where the period is no whole number, up to `fine` if there are eight values to each."""
    bins = max(round(period), 1)
    if abs(period - bins) > 1e-3:
        bins = max(bins, min(int(fine * period), len(z) // 8))
    total[:bins], count[:bins] = 0.0, 0.0
    at, step = 0.0, bins / period
    for i in range(len(z)):
        total[int(at)] += z[i]
        count[int(at)] += known[i]
        at = at + step if at + step < bins else max(at + step - bins, 0.0)
    return bins


@inner
def explained(z: Any, known: Any, period: float, fine: float = 1.25) -> float:
    """The power of z that a mean profile over `period`, of up to `fine` phases a sample, explains, less what it would
    explain of noise."""
    total, count = np.empty(len(z)), np.empty(len(z))
    bins, between, filled = profile(z, known, period, fine, total, count), 0.0, 0.0
    for phase in range(bins):
        if count[phase] > 0.0:
            between += total[phase] * total[phase] / count[phase]
            filled += 1.0
    left = max((z * z).sum() - between, 0.0)
    return between - left * filled / max(known.sum() - filled, 1.0)  # type: ignore[no-any-return]


@inner
def unfold(z: Any, known: Any, period: float) -> float:
    """Subtract the mean profile over `period` from what is known; returns the power left."""
    total, count = np.empty(len(z)), np.empty(len(z))
    bins = profile(z, known, period, 4.0, total, count)
    at, step = 0.0, bins / period
    for i in range(len(z)):
        z[i] -= known[i] * total[int(at)] / max(count[int(at)], 1.0)
        at = at + step if at + step < bins else max(at + step - bins, 0.0)
    return (z * z).sum()  # type: ignore[no-any-return]


@inner
def tone(z: Any, frequency: float) -> float:
    """Squared size of the Fourier coefficient of z at a frequency in cycles a sample."""
    turn, twist = math.cos(2.0 * math.pi * frequency), math.sin(2.0 * math.pi * frequency)
    c, s, x, y = 1.0, 0.0, 0.0, 0.0
    for i in range(len(z)):
        x += z[i] * c
        y += z[i] * s
        c, s = c * turn - s * twist, s * turn + c * twist
    return x * x + y * y


@inner
def shorter(t: Any, z: Any, known: Any, period: float) -> float:
    """The shortest part of a period that explains nearly all that it does: a day, not two of them; 12.5, not 25.

    A sharp shape of no whole number of samples needs fine phases; but where a part has as many phases as the period has
    samples (9.6 and 48), it explains whatever the period does. So there are 2.5 samples to a phase, of two parts 1.6.
    """
    whole = explained(z, known, period)
    for parts in range(t.seasons.most_parts, 1, -1):
        part, fine = period / parts, min(max(parts / 2.5, 1.25), 2.5)
        if part >= SHORTEST and explained(z, known, part, fine) >= 0.5 * t.seasons.same * whole:
            part = sharpened(z, known, part)
            if (
                explained(z, known, part, fine) >= t.seasons.same * whole
                and _beside(z, period, parts) <= (1.0 - t.seasons.same) * whole
            ):
                return part
    return period


@inner
def _beside(z: Any, period: float, parts: int) -> float:
    """The power of the slow tones that a period has and its `parts` have not: a sine of 96 is none of 19.2, however
    well 38 phases of that happen to hold its 96 values."""
    total = 0.0
    for turns in range(1, parts):
        total += 2.0 * tone(z, turns / period) / len(z)
    return total


@inner
def sharpened(z: Any, known: Any, period: float) -> float:
    """The period that explains most, within the resolution of z (period²/length); a whole number where none explains
    much more."""
    wide, best = period * period / len(z), period
    most = explained(z, known, period)
    for i in range(-8, 9):
        near = period + 0.125 * i * wide
        power = explained(z, known, near)
        if near >= SHORTEST - 0.5 and power > most:
            best, most = near, power
    whole = float(round(best))
    if abs(best - whole) < min(0.25 * wide, 0.5) and explained(z, known, whole) >= 0.98 * most:
        return whole
    return best


@inner
def evenness(t: Any, z: Any) -> float:
    """The share of the values of z that carry its power, 1 up to a kurtosis of 10: a few events among many rests repeat
    at some distance by chance, and so does noise that grows with what it is the noise of."""
    square = z * z
    stretches = t.seasons.stretches
    total, fourth, long = square.sum(), (square * square).sum(), len(z) // stretches
    if not fourth > 0.0:
        return 1.0
    uneven = 0.0
    for i in range(stretches):
        uneven += square[i * long : (i + 1) * long].sum() ** 2
    return min(10.0 * total**2 / (fourth * len(z)), 2.0 * total**2 / (uneven * stretches), 1.0)  # type: ignore[no-any-return]
