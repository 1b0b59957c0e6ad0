"""How large the forecast's own errors are, and what follows: intervals and scores.

Errors over their discounted root mean square have tracked quantiles; beyond the largest one a power law, whose exponent
is learned from the stream's own outer errors. The outer quantiles of a young stream are still where a normal law has
them; if the inner ones are farther apart than a normal law's, so are those.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from prophecy._compiled import inner
from prophecy.adaptive.gaps import usual_error
from prophecy.adaptive.members import LEVELS

_LEVELS = len(LEVELS)
_OUTER = int(np.searchsorted(LEVELS, 0.98))
_RARE = 1.0 - LEVELS
_OFTEN, _RAREST = float(_RARE[_OUTER]), float(_RARE[-1])


@inner
def calibrate(r: Any, t: Any, error: float, events: bool) -> None:
    """Scale and quantiles of the forecast's errors. events: the stream rests half of the time, or is too young
    to show; then quantiles keep the slow step."""
    squared = error * error
    if r.learned == 0:
        r.error_scale = max(squared, t.smallest)
    # Errors of exactly 0, a sensor that sticks, are no sample of how errors are distributed.
    if squared > t.smallest or r.error_scale > t.smallest:
        _note_tail(r, t, squared)
        first = 0.0 if events else t.first_rate * t.first_errors / (r.learned + 1)
        for l in range(_LEVELS):
            q, step_size = r.quantile[l], first / _RARE[l]
            beyond = squared > q * q * r.error_scale
            if step_size > t.rate:
                q *= math.exp(min(step_size, t.first_rate) * ((1.0 if beyond else 0.0) - _RARE[l]))
            else:
                q *= t.raise_by[l] if beyond else t.lower_by[l]
            r.quantile[l] = min(max(q, t.lowest), t.highest)
    rate = max(1.0 - t.discount, 1.0 / (r.learned + 1 + t.settle))
    r.error_scale = max(r.error_scale + (squared - r.error_scale) * rate, t.smallest)
    r.error_peak = max(r.error_peak, squared)
    if (r.learned + 1) % t.block == 0:
        highest = t.ceiling * max(max(r.error_peak, r.last_error_peak), t.smallest)
        r.error_scale = min(r.error_scale, highest)
        r.last_error_peak = r.error_peak
        r.error_peak = 0.0


@inner
def _note_tail(r: Any, t: Any, squared: float) -> None:
    """How heavy the tail is: the mean logarithm by which errors beyond an outer quantile pass it (Hill's estimate)."""
    bar = r.quantile[_OUTER] * r.quantile[_OUTER] * r.error_scale
    if squared > bar > 0.0:
        heavier = min(0.5 * math.log(squared / bar) - t.tail, 4.0)
        r.tail += (heavier - r.tail) * max(1.0 / t.tail_over, 1.0 / (t.settle + _OFTEN * (r.learned + 1)))


@inner
def heaviness(r: Any, t: Any) -> float:
    """The reciprocal exponent of the power law beyond the largest quantile."""
    return max(t.tail + r.tail, t.steepest)  # type: ignore[no-any-return]


@inner
def _excess(r: Any, t: Any) -> tuple[int, float]:
    """The outermost level beyond which enough errors were to be expected so far, and by which power of their rarity the
    quantiles up to it lie farther apart than a normal law's, less an allowance for chance; 0 if all are known."""
    known = _LEVELS - 1
    while known > 0 and r.learned * _RARE[known] < t.seen_beyond:
        known -= 1
    if known == 0 or known == _LEVELS - 1:
        return known, 0.0
    wider = math.log(r.quantile[known] / r.quantile[0] * (t.normal[0] / t.normal[known]))
    wider -= t.excess_allowed / math.sqrt(r.learned * _RARE[known])
    return known, min(max(wider / math.log(_RARE[0] / _RARE[known]), 0.0), 1.0)


@inner
def _knot(r: Any, t: Any, l: int, known: int, excess: float) -> float:
    """The quantile of level l, of a young stream no less than the inner ones let expect."""
    q: float = r.quantile[l]
    if excess > 0.0 and l > known:
        farther = t.normal[l] / t.normal[known] * (_RARE[known] / _RARE[l]) ** excess
        q = max(q, min(r.quantile[known] * farther, t.highest))
    return q


@inner
def half_width(r: Any, t: Any, above: int, inside: bool, part: float) -> float:
    """Half the width of an interval one step ahead: straight lines between the tracked quantiles, beyond the last one
    the power law of the tail."""
    if r.learned == 0:
        return math.inf
    upper, lower = 0.0, 0.0
    known, excess = _excess(r, t)
    for l in range(above + 1):
        lower = upper
        upper = max(upper, _knot(r, t, l, known, excess))
    if not inside and part > 1.0:
        rare = math.erfc(part * t.normal[above] / math.sqrt(2.0))
        return upper * (_RAREST / max(rare, 1e-300)) ** max(heaviness(r, t), excess) * usual_error(r, t)  # type: ignore[no-any-return]
    lower = lower if inside else 0.0
    return (lower + (upper - lower) * part) * usual_error(r, t)


@inner
def surprise(r: Any, t: Any, error: float) -> float:
    """-log10 of the probability of an error at least this large, 0 before any error is known, at most `surest`."""
    if math.isnan(error):
        return math.nan
    if r.learned == 0:
        return 0.0
    size = abs(error) / usual_error(r, t)
    knot, before, above = 0.0, 0.0, 0
    known, excess = _excess(r, t)
    for l in range(_LEVELS):
        before, knot, above = knot, max(knot, _knot(r, t, l, known, excess)), l
        if size <= knot:
            break
    if size > knot:
        score = math.log10(size / knot) / max(heaviness(r, t), excess) - math.log10(_RAREST)
    else:
        start = t.normal[above - 1] if above > 0 else 0.0
        normal = start + (t.normal[above] - start) * ((size - before) / max(knot - before, t.smallest))
        score = -math.log10(math.erfc(normal / math.sqrt(2.0)))
    score = min(score, most(r, t))
    return score if score > 0.0 else 0.0  # not -0.0


@inner
def most(r: Any, t: Any) -> float:
    """The largest score that the errors known allow."""
    known = math.log10(1.0 + r.learned)
    if math.sqrt(r.error_scale) > t.error_rounding * abs(r.last) + math.sqrt(t.smallest):
        known = max(known, r.learned / t.decade)
    return min(known, t.surest)  # type: ignore[no-any-return]
