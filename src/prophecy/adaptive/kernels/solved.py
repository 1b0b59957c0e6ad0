r"""Readouts solved in context: recursive least squares in square-root form (docs/prophecy.md).

Each member predicts the next change as w · φ from its features φ, and w minimises Σ λ^age (du - w · φ)² plus a prior
around a constructed readout (`potter.py`). The growth of its factor by 1/√λ is kept in a number beside it (`growth`),
applied every `tidy` steps, when the factor is also bounded.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from prophecy._compiled import inner
from prophecy.adaptive.limits import SQUARED
from prophecy.adaptive.members import FIXED, SOLVED
from prophecy.adaptive.potter import grow, update

_SOLVED, _ONE = len(SOLVED), np.uint64(1)


@inner
def learn_solved(r: Any, t: Any, difference: float, part: float, room: Any) -> None:
    phi, g = room[1], room[2]
    for s in range(_SOLVED):
        error, power = difference * part, 0.0
        for i in range(t.used[s]):
            phi[i] = r.feature[t.index[s, i]] * part
            error -= r.readout[s, i] * phi[i]
            power += phi[i] * phi[i]
        if not _trusts(r, t, s, min(error * error, SQUARED)) or r.learned < t.longest[s]:
            power = 0.0
        if power > t.smallest:
            if r.begun[s] == 0:
                _set_prior(r, t, s, power)
            update(
                r.factor, t.place[s], t.used[s], t.stride[s], r.growth[s], t.forgetting[s], error, phi, g, r.readout[s]
            )
            # Nothing is forgotten while nothing is learned, as on a constant stretch.
            r.growth[s] /= math.sqrt(t.forgetting[s])
        r.power[s] += (power - r.power[s]) / t.tidy
        if (r.learned + 1) % t.tidy == 0:
            _tidy(r, t, s)


@inner
def _trusts(r: Any, t: Any, s: int, squared: float) -> bool:
    """Whether solved member s learns from this value: not while an outlier is among its features."""
    if r.pause[s] > 0:
        r.pause[s] -= 1
    scale = r.scale[FIXED + s]
    if r.learned < t.needed[s]:
        r.usual[s] = scale
    else:
        highest = t.surprising * t.surprising * max(r.usual[s], scale)
        if r.pause[s] == 0 and squared > highest:
            r.pause[s] = t.traces[s]
        r.usual[s] += (min(squared, highest) - r.usual[s]) / t.usual_over
    return r.pause[s] == 0  # type: ignore[no-any-return]


@inner
def _set_prior(r: Any, t: Any, s: int, power: float) -> None:
    root = math.sqrt(t.prior_power / power)
    for k in range(t.used[s] * t.stride[s]):
        r.factor[t.place[s] + k] = 0.0
    for i in range(t.used[s]):
        r.factor[t.place[s] + i * (t.stride[s] + _ONE)] = root
    r.growth[s] = 1.0
    r.power[s] = power
    r.begun[s] = 1


@inner
def _tidy(r: Any, t: Any, s: int) -> None:
    """Apply the growth of a factor, and bound it: directions the signal never excites would grow without end."""
    size, total = grow(r.factor, t.place[s], t.used[s] * t.stride[s], r.growth[s]), 0.0
    for i in range(t.used[s]):
        total += r.readout[s, i]
    r.growth[s] = 1.0
    size *= r.power[s]
    if not (math.isfinite(size) and abs(total) < 1e100):
        for k in range(t.place[s], t.place[s] + t.used[s] * t.stride[s]):
            r.factor[k] = 0.0
        for i in range(t.used[s]):
            r.readout[s, i] = t.start[s, i]
        r.begun[s] = 0
    elif size > t.bound:
        _bound(r, t, s, math.sqrt(0.5 * t.bound / r.power[s] / t.used[s]))


@inner
def _bound(r: Any, t: Any, s: int, highest: float) -> None:
    """Bring down the directions that have grown, and those alone.

    Rotating columns of S leaves S Sᵀ as it is. Rotations until all columns are orthogonal (Jacobi's method) make their
    lengths the singular values, each of which is then at most `highest`.
    """
    used, stride = np.int64(t.used[s]), np.int64(t.stride[s])
    first = np.int64(t.place[s])
    factor = r.factor[first : first + used * stride].reshape((used, stride))
    for _ in range(30):
        rotated = False
        for p in range(used - 1):
            for q in range(p + 1, used):
                a, b, c = 0.0, 0.0, 0.0
                for i in range(used):
                    a += factor[i, p] * factor[i, p]
                    b += factor[i, q] * factor[i, q]
                    c += factor[i, p] * factor[i, q]
                if abs(c) <= 1e-15 * math.sqrt(a * b):
                    continue
                rotated = True
                zeta = (b - a) / (2.0 * c)
                tangent = math.copysign(1.0, zeta) / (abs(zeta) + math.sqrt(1.0 + zeta * zeta))
                cosine = 1.0 / math.sqrt(1.0 + tangent * tangent)
                for i in range(used):
                    x, y = factor[i, p], factor[i, q]
                    factor[i, p] = cosine * (x - tangent * y)
                    factor[i, q] = cosine * (y + tangent * x)
        if not rotated:
            break
    for p in range(used):
        length = 0.0
        for i in range(used):
            length += factor[i, p] * factor[i, p]
        if length > highest * highest:
            for i in range(used):
                factor[i, p] *= highest / math.sqrt(length)


@inner
def predict_solved(r: Any, t: Any) -> None:
    for s in range(_SOLVED):
        power, ahead, start = 0.0, 0.0, 0.0
        for i in range(t.used[s]):
            phi = r.feature[t.index[s, i]]
            power += phi * phi
            ahead += r.readout[s, i] * phi
            start += t.start[s, i] * phi
        # Weights in directions the signal has hardly excited are hardly determined: no change goes far beyond the past.
        farthest = t.farthest * math.sqrt(power)
        ahead = min(max(ahead, -farthest), farthest)
        r.prediction[FIXED + s] = start if r.learned < t.needed[s] else ahead
