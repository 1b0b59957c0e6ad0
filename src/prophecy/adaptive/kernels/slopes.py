r"""The causal derivative: which readout to take it from, by its estimated error (docs/prophecy.md).

With white noise of variance σ² a derivative readout of noise gain G has the mean squared error σ² G + ρ² b²: b is the
bias of the same member's *prediction*, ρ a known ratio (`slope_bias`). One-step errors show b only when it rivals σ,
far too late for a derivative; but bias persists while noise does not, so b² is read from errors averaged over an eighth
of the window, less the noise that averaging leaves. Readouts are combined with weights (estimated error)⁻².

One more candidate is half the way from the value before the newest to the forecast of the next, for signals that turn
within a few samples: constructed readouts need degrees there that magnify the noise, while solved members predict
the next value well.
"""

from __future__ import annotations

import math
from typing import Any

from prophecy._compiled import inner
from prophecy.adaptive.members import FIXED, LAGS, LONGS, ORDER, SHORT, SHORTS, WINDOWS

_PARABOLA = SHORT.index((3, 2))
"""The member whose error is the third difference of the values."""


@inner
def note_bias(r: Any, t: Any, difference: float, part: float) -> None:
    newest = 1.0 / (r.learned + 1)
    for i in range(FIXED):
        bias = r.bias[i] + ((difference - r.prediction[i]) * part - r.bias[i]) * t.averaging[i]
        r.bias[i] = bias
        r.squared_bias[i] += (bias * bias - r.squared_bias[i]) * max(t.bias_rate[i], newest)


@inner
def _slopes(r: Any, t: Any, error: Any) -> float:
    """Estimated mean squared errors of the derivative readouts, into `error`; the least of them."""
    noise = math.inf
    for i in range(FIXED):
        noise = min(noise, r.scale[i] / (1.0 + t.gain[i]))
    least = math.inf
    moves = max(r.scale[0] - t.plain * noise * (1.0 + t.gain[0]), 0.0)
    for i in range(FIXED):
        whole, explained = r.scale[i], noise * (1.0 + t.gain[i])
        # A bias cannot exceed the one-step error, whose scale forgets a jump sooner than the averages do.
        bias = min(r.squared_bias[i] - noise * t.slope_left[i], whole)
        bias = max(max(bias, whole - t.plain * explained), t.unsure * noise * t.slope_left[i])
        # The ratio `slope_bias` is that of the leading error, which is no guide once the signal turns within the
        # window: the error of a slope grows with that of the same member's prediction.
        distrust = max(whole / max(explained, 1e-300), 1.0)
        error[i] = (noise * t.slope_gain[i] + t.slope_bias[i] * t.slope_bias[i] * bias) * distrust
        # A member that misses most of the signal's own changes (the copy's error less noise) has no better slope.
        if whole - t.plain * explained > 0.5 * r.scale[0]:
            error[i] = max(error[i], moves)
        if t.sloped[i]:
            least = min(least, error[i])
    return least


@inner
def _path_error(r: Any) -> float:
    """Estimated mean squared error of the slope of the path: a quarter of both its ends' and a sixth of the third
    difference, squared. The latter holds noise too, so it is careful."""
    return 0.5 * r.error_scale + r.scale[_PARABOLA] / 36.0  # type: ignore[no-any-return]


@inner
def slope_shares(r: Any, t: Any, shares: Any) -> float:
    """Shares of the derivative readouts, by (estimated error)⁻², into `shares`; returns that of the path. All add up to
    1."""
    path = _path_error(r)
    least = min(_slopes(r, t, shares), path)
    for i in range(FIXED):
        ratio = least / max(shares[i], 1e-300)
        shares[i] = (ratio * ratio if shares[i] > 0.0 else 1.0) * t.sloped[i]
    along = (least / path) ** 2 if path > 0.0 else 0.0
    total = along
    for i in range(FIXED):
        total += shares[i]
    for i in range(FIXED):
        shares[i] /= total
    return along / total


@inner
def slope(r: Any, t: Any, shares: Any) -> float:
    """The derivative per sample at the newest value; NaN before the first."""
    if r.count == 0:
        shares[:] = 0.0
        return math.nan
    total = 0.5 * (r.change - r.feature[1]) * slope_shares(r, t, shares)
    for i in range(SHORTS):
        read_out = 0.0
        for j in range(1, LAGS):
            read_out += r.feature[j] * t.short_slope[j, i]
        total += shares[i] * read_out
    for w in range(len(WINDOWS)):
        for i in range(LONGS):
            read_out = 0.0
            for k in range(ORDER):
                read_out += r.feature[LAGS + w * ORDER + k] * t.long_slope[w, k, i]
            total += shares[SHORTS + w * LONGS + i] * read_out
    return total  # type: ignore[no-any-return]
