r"""Shrinkage: how much of the change that the members forecast is kept in the forecast.

Readouts solved from few values, and members chosen because they happened to be right, forecast more change than comes.
Of the forecast changes c and the actual ones d, λ = Σ d c/s / Σ c²/s, limited to 0 … 1 and averaged over some hundred
values, is the share of a forecast change that has come on average (s: the mean squared error at the time, so that a
loud stretch does not outweigh the quiet ones). The forecast is a mixture of c and λ c by the bank's own rule; where
changes come as forecast, λ is 1 and nothing is lost.
"""

from __future__ import annotations

from typing import Any

from prophecy._compiled import inner
from prophecy.adaptive import mixture


@inner
def learn(r: Any, t: Any, value: float, difference: float, part: float) -> None:
    """Learn from the actual change `difference`, over 1/part steps, where `shrink_ahead` was forecast."""
    mixture.learn(
        r.shrink_weight, r.shrink_scale, r.shrink_peak, r.shrink_last_peak, r.shrink_ahead,
        t.shrink_prior, t.share, t.ceiling, r.learned, t, difference, part, value,
    )  # fmt: skip
    actual, forecast = difference * part, r.shrink_ahead[0] * part
    # A change beyond 1e17 times the usual error would count for more than float64 can add to.
    weight = 1.0 / (r.shrink_scale[0] + t.rounding * t.rounding * (actual * actual + forecast * forecast))
    if forecast * forecast * weight > t.smallest:  # nothing is forgotten while nothing is learned
        r.shrink_sums[0] = t.shrink_discount * r.shrink_sums[0] + actual * forecast * weight
        r.shrink_sums[1] = t.shrink_discount * r.shrink_sums[1] + forecast * forecast * weight


@inner
def shrunk(r: Any, t: Any, change: float, filled: bool) -> float:
    """The forecast change where the members together forecast `change`. Across a gap (filled) nothing is taken away:
    a share of a share of it, step after step, would soon be nothing."""
    share = 1.0
    if r.learned >= t.settle and r.shrink_sums[1] > 0.0:
        share = min(max(r.shrink_sums[0] / r.shrink_sums[1], 0.0), 1.0)
    r.shrink_ahead[0] = change
    r.shrink_ahead[1] = share * change
    if filled:
        return change
    return mixture.mixed(r.shrink_weight, r.shrink_scale, r.shrink_ahead)
