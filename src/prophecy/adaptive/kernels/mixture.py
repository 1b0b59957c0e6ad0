"""The bank's rule of mixing (docs/prophecy.md) for the two to six members of a further mixture: Cauchy densities around
each member's prediction, as wide as its recent errors, Bayes' rule, and a fixed share. `step.weigh` is the same rule
for the 119 members of the bank, with sums that vectorise."""

from __future__ import annotations

import math
from typing import Any

from prophecy._compiled import inner


@inner
def learn(
    weights: Any, scales: Any, peaks: Any, last_peaks: Any, ahead: Any, prior: Any, share: float, ceiling: float,
    count: int, t: Any, difference: float, part: float, value: float,
) -> None:  # fmt: skip
    """Weights and scales after errors (difference - ahead) * part, `count` of which were learned from before."""
    least = (t.rounding * value) * (t.rounding * value) + t.smallest
    rate = max(1.0 - t.discount, 1.0 / (count + 1 + t.settle))
    total = 0.0
    for i in range(len(weights)):
        error = (difference - ahead[i]) * part
        squared = error * error
        if scales[i] == 0.0:
            scales[i] = max(squared, least)
        weights[i] *= math.sqrt(scales[i]) / (scales[i] + squared)
        total += weights[i]
        scales[i] = max(scales[i] + (squared - scales[i]) * rate, least)
        peaks[i] = max(peaks[i], squared)
    for i in range(len(weights)):
        weights[i] = (1.0 - share) * weights[i] / total + share * prior[i]
    if (count + 1) % t.block == 0:
        for i in range(len(weights)):
            scales[i] = min(scales[i], ceiling * max(peaks[i], last_peaks[i], least))
            last_peaks[i] = peaks[i]
            peaks[i] = 0.0


@inner
def mixed(weights: Any, scales: Any, ahead: Any) -> float:
    """The point forecast: the mean of the members, each by its weight over its scale (a mean squared error)."""
    top, total = 0.0, 0.0
    for i in range(len(weights)):
        part = weights[i] / (scales[i] if scales[i] > 0.0 else 1.0)
        top += part * ahead[i]
        total += part
    return top / total
