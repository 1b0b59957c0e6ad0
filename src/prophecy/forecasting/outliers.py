"""Values that nothing around them confirms: set aside like missing ones, for every candidate.

An autoregression, solved from values clipped to their usual range, expects each value from those before it. A value is
wild where it misses that by more than `outlier_deviations` robust deviations of the others and by more than
`outlier_spreads` spreads of the series, and the value after it is closer to what is expected without it than with it.
The newest value has nothing after it: it is believed if earlier jumps of its size stayed more often than they went.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prophecy.forecasting.settings import Settings

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

_TRIMMED = 3.0  # robust deviations: farther ones are left out when the autoregression is solved again
_USUAL = 4.0  # spreads from the median: beyond it values are clipped before anything is solved from them


def outliers(raw: Array, settings: Settings) -> Mask:
    """Which values of (time, variables), NaN where missing, are set aside."""
    found = np.zeros(raw.shape, dtype=np.bool_)
    for variable, column in enumerate(raw.T):
        place = np.nonzero(~np.isnan(column))[0]
        if len(place) < settings.outlier_least:
            continue
        x = column[place]
        wild = _wild(x, settings)
        if wild.any() and (x[~wild] > 0).all():
            some = x > 0
            again = ~some
            again[some] = _wild(np.log(x[some]), settings)
            wild &= again
        if 0 < wild.sum() <= settings.outlier_share * len(x):
            found[place[wild], variable] = True
    return found


def _wild(x: Array, settings: Settings) -> Mask:
    low, middle, high = np.quantile(x, [0.25, 0.5, 0.75])
    spread = (high - low) / 1.349
    wild = np.zeros(len(x), dtype=np.bool_)
    if not spread > 0:
        return wild
    z = (x - middle) / spread
    clipped = np.clip(z, -_USUAL, _USUAL)
    lags = min(settings.outlier_lags, len(x) // 5)
    rows = np.column_stack([np.ones(len(z) - lags), *(clipped[lags - 1 - k : len(z) - 1 - k] for k in range(lags))])
    target, used = clipped[lags:], np.ones(len(rows), dtype=np.bool_)
    for _ in range(3):  # what is far from the others does not decide what is expected
        gram = rows[used].T @ rows[used]
        phi = np.linalg.solve(gram + 1e-6 * len(z) * np.eye(len(gram)), rows[used].T @ target[used])
        left = np.abs(target - rows @ phi)
        usual = 1.4826 * float(np.median(left))
        used = left <= _TRIMMED * usual
    far = max(settings.outlier_deviations * usual, settings.outlier_spreads)

    def expected(t: int, past: Array) -> float:
        return float(phi[0] + phi[1:] @ past[t - 1 : t - 1 - lags if t > lags else None : -1])

    suspects = np.nonzero(np.abs(z - np.append(np.full(lags, np.median(z[:lags])), rows @ phi)) > far)[0]
    past, stayed = z.copy(), 0
    for t in suspects:
        if wild.sum() > settings.outlier_share * len(x):
            break
        if t < lags:
            wild[t] = abs(z[t] - np.median(z[: 2 * lags])) > far
            past[t] = np.median(z[: 2 * lags]) if wild[t] else z[t]
            continue
        ahead = expected(t, past)
        if abs(z[t] - ahead) <= far:
            continue
        without = past.copy() if t + 1 == len(z) else past[: t + 2].copy()
        without[t] = ahead
        if t + 1 < len(z):
            wild[t] = abs(z[t + 1] - expected(t + 1, without)) < abs(z[t + 1] - expected(t + 1, past))
            stayed += not wild[t]
        else:
            wild[t] = stayed <= wild.sum()
        if wild[t]:
            past[t] = ahead
    return wild
