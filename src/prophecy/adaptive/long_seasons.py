"""Seasons of 512 samples and more, which have been seen only a few times in the recent values.

They are looked for among means of 32 values, of which the last 512 are kept: eight times the longest season.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from prophecy._compiled import inner
from prophecy.adaptive.folding import LONGEST, unfold
from prophecy.adaptive.seasons import centred, refined, shortest_strong
from prophecy.adaptive.spectra import autocorrelations, of_known

MEAN_OF, MEANS = 32, 512
"""Values in a mean, and means kept: 16 384 values in 4 kB of the record."""


@inner
def find_long(t: Any, means: Any, values: Any, known: Any, period: float, strengths: Any) -> float:
    """A season of `first_long` samples or more that was seen four times at least, in samples, else 0.

    means (m,): of `MEAN_OF` values each, oldest first; values, known (n,): the recent ones, as for `find`; period: a
    shorter season found already, 0 for none. strengths[0] becomes its autocorrelation.
    """
    m = len(means)
    top = min(4 * LONGEST // MEAN_OF, m // 2) + 2
    first, last = max(t.seasons.first_long // MEAN_OF, int(2.5 * period / MEAN_OF)), min(LONGEST // MEAN_OF, m // 4) + 1
    if first >= last:
        return 0.0
    flat, there = straightened(means), np.ones(m)
    power = centred(t, flat, there)
    if not (power > 0.0 and np.isfinite(power)):
        return 0.0
    if period > 4.0 * MEAN_OF:
        unfold(flat, there, period / MEAN_OF)
    r, again, squares, pairs = np.zeros(top + 1), np.zeros(top + 1), np.zeros(top + 1), np.zeros(top + 1)
    autocorrelations(flat, flat, top, r, again)
    of_known(t, r, there, pairs)
    lag = shortest_strong(t, r, m, pairs, first, last, t.seasons.least_of_values, squares)
    if lag == 0:
        return 0.0
    found = refined(t, r, float(lag), False) * MEAN_OF
    if period > 0.0 and abs(found - round(found / period) * period) < MEAN_OF / 4:
        found = round(found / period) * period  # a week is seven days
    found = min(float(round(found)), float(LONGEST))
    strengths[0] = r[lag]
    return found if period == 0.0 or _left_without(values, known, period, int(found)) > t.seasons.least else 0.0


@inner
def straightened(values: Any) -> Any:
    """Values less their straight line."""
    n = len(values)
    place = np.arange(n) - 0.5 * (n - 1)
    flat = values - values.mean()
    return flat - (place * flat).sum() / (place * place).sum() * place


@inner
def _left_without(values: Any, known: Any, period: float, lag: int) -> float:
    """What repeats after `lag` once a season is taken out of the recent values, as a share of their power: means of 32
    values can make a long season of a short one that they do not resolve."""
    flat = straightened(values) * known
    power = (flat * flat).sum() / max(known.sum(), 1.0)
    unfold(flat, known, period)
    total, pairs = 0.0, 0.0
    for i in range(lag, len(values)):
        total += flat[i] * flat[i - lag]
        pairs += known[i] * known[i - lag]
    return total / (pairs * power) if pairs > 0.0 and power > 0.0 else 0.0
