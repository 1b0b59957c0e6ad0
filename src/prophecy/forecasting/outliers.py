"""Values that nothing around them confirms: set aside like missing ones, for every candidate.

An autoregression, solved from values clipped to their usual range, expects each value from those before it. A value is
wild where it misses that, and the median of what is around it, by more than `outlier_deviations` robust deviations of
the others and by more than a spread of the series, and most of the next few values are closer to what was expected
without it than to it. Spikes of all sizes, with no gap between usual and wild, are how the series is, and so is a peak
that builds up or fades over several values. The newest value has nothing after it: it is believed if earlier jumps of
its size stayed more often than they went. Of positive series wild values are wild among the logarithms too. What
regressors explain is no outlier: effects are taken out, solved from all values, then without those that are wild.
"""

import numpy as np

from prophecy._arrays import Array, Mask
from prophecy.forecasting.known import explained
from prophecy.forecasting.settings import Settings

_CLIPPED = 4.0  # spreads from the median: beyond it values are clipped before anything is solved from them
_TRIMMED = 3.0  # robust deviations: farther ones are left out when the autoregression is solved again
_NEXT = 3  # values that confirm or deny a jump


def outliers(raw: Array, settings: Settings, known: Array | None = None) -> Mask:
    """Which values of (time, variables), NaN where missing, are set aside. known: (time, regressors)."""
    if known is not None:
        wild = outliers(raw - explained(raw, known, settings), settings)
        raw = raw - explained(np.where(wild, np.nan, raw), known, settings)
    found = np.zeros(raw.shape, dtype=np.bool_)
    for variable, column in enumerate(raw.T):
        place = np.nonzero(~np.isnan(column))[0]
        if len(place) < 2 * settings.autoregression_most:  # what is usual is hardly known
            continue
        left = place
        while (wild := _wild_of_both(column[left], settings)).any():  # what was set aside confirms nothing
            left = left[~wild]
        if len(place) - len(left) <= settings.outlier_share * len(place):
            found[np.setdiff1d(place, left), variable] = True
    return found


def _wild_of_both(x: Array, settings: Settings) -> Mask:
    wild = _wild(x, settings)
    if wild.any() and (x[~wild] > 0).all():
        positive = x > 0
        wild[positive] &= _wild(np.log(x[positive]), settings)
    return wild


def _wild(x: Array, settings: Settings) -> Mask:
    wild = np.zeros(len(x), dtype=np.bool_)
    low, middle, high = np.quantile(x, [0.25, 0.5, 0.75])
    spread, lags = (high - low) / 1.349, min(settings.autoregression_most, len(x) // 5)
    if not spread > 0:  # a single value that differs from most others, which are all the same, is like nothing before
        wild[x != middle] = np.sum(x != middle) == 1
    if not spread > 0 or lags < 1:
        return wild
    z = (x - middle) / spread
    phi, expected, usual = _autoregression(np.clip(z, -_CLIPPED, _CLIPPED), lags)
    far = max(settings.outlier_deviations * usual, 1.0)
    past, stayed, off, built = z.copy(), 0, np.abs(z - expected), np.zeros(len(z), dtype=np.bool_)
    for t in np.nonzero(off > far)[0]:
        if wild.sum() > settings.outlier_share * len(x):
            break
        path = _path(phi, past, int(t), expected[t])
        around = np.median(z[max(t - lags, 0) : t + lags + 1])
        if min(abs(z[t] - path[0]), abs(z[t] - around)) <= far:
            continue
        following = z[t + 1 : t + 1 + _NEXT]
        if len(following):
            back = np.abs(following - path[1 : 1 + len(following)]) < np.abs(following - z[t])
            wild[t] = 2 * back.sum() > len(back)
            stayed += not wild[t]
            near = np.concatenate([z[max(t - 2, 0) : t], z[t + 1 : t + 3]])
            built[t] = np.sum(np.abs((near - around) / (z[t] - around) - 0.55) < 0.3) > 1
        else:
            wild[t] = stayed <= wild.sum()
        if wild[t]:
            past[t], off[t] = path[0], abs(z[t] - path[0])
    marked = wild | built
    run = np.cumsum(marked & ~np.append(False, marked[:-1]))  # which stretch of them
    wild &= ~np.isin(run, run[built])
    usual = off[off <= far].max(initial=0.0)
    for t in sorted(np.nonzero(wild)[0], key=lambda t: off[t]):
        if off[t] > settings.outlier_gap * usual:
            break
        wild[t], usual = False, off[t]
    return wild


def _autoregression(z: Array, lags: int) -> tuple[Array, Array, float]:
    """Intercept and coefficients, what they expect of each value (of the first ones their median), and how far off that
    usually is."""
    rows = np.column_stack([np.ones(len(z) - lags), *(z[lags - 1 - k : len(z) - 1 - k] for k in range(lags))])
    target, used = z[lags:], np.ones(len(z) - lags, dtype=np.bool_)
    for _ in range(3):
        gram = rows[used].T @ rows[used]
        phi = np.linalg.solve(gram + 1e-6 * len(z) * np.eye(lags + 1), rows[used].T @ target[used])
        left = np.abs(target - rows @ phi)
        usual = 1.4826 * float(np.median(left))
        used = left <= _TRIMMED * usual + 1e-300
    return np.asarray(phi), np.append(np.full(lags, np.median(z[: 2 * lags])), rows @ phi), usual


def _path(phi: Array, past: Array, t: int, first: float) -> Array:
    """What is expected at t and the next few times from the values before t alone."""
    lags = len(phi) - 1
    if t < lags:
        return np.full(1 + _NEXT, first)
    known = list(past[t - lags : t])
    for _ in range(1 + _NEXT):
        known.append(float(phi[0] + phi[1:] @ np.array(known[: -lags - 1 : -1])))
    return np.array(known[lags:])
