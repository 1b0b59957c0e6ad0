"""Past what can be predicted: one plausible path of a deterministic system, not the mean of all of them.

Far ahead the forecast with the least error is a mixture of candidates that cancel, or a model that decays: a flat line,
which no system follows. Where a series of several variables is deterministic, and rolling forecasts show from which
step on nothing is known about it, the path goes on as the series itself once did: what followed the stretch most like
the latest one, which is as good there as any other path of the attractor.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prophecy.forecasting.choice import Rolling
from prophecy.forecasting.intervals import unrelated
from prophecy.forecasting.repeats import Repetition
from prophecy.laws.settings import Settings

Array = NDArray[np.float64]


class Continued(NamedTuple):
    """path: (steps, variables), in standard deviations. known: (steps,), the share of it that is the forecast's own, 1
    at first. widths: (upper probabilities, variables), half of the interval of what is not. name: what that is."""

    path: Array
    known: Array
    widths: Array
    name: str

    def offsets(self, own: Array) -> Array:
        """(upper probabilities, steps, variables): half of the interval around the path; own: that of the forecast."""
        return np.asarray(self.known[:, None] * own + (1 - self.known[:, None]) * self.widths[:, None])


def continued(path: Array, errors: Array, values: Array, rolling: Rolling, settings: Settings) -> Continued | None:
    """The path (steps, variables) of a forecast whose rolling errors (origins, steps, variables) are known, all in
    standard deviations, with what is plausible from where it knows nothing; None where nothing is to be changed.

    values: the deterministic series, of these variables and perhaps others. rolling: over all of it.
    """
    how, variables = settings.laboratory, path.shape[1]
    known = _known(errors, len(path), how.skilled, how.lost)
    far = known < 0.5
    if not far.any() or known[0] < 0.5 or float(path[far].std(axis=0).mean()) > how.lively:
        return None
    values = np.ascontiguousarray(values[:, :variables])
    repeated = _repeated(values, rolling, settings)
    if repeated is None:
        return None
    other, share = repeated.rollout(values, np.array([len(values)]), len(path))[0], known[:, None]
    name = f"repetition, {repeated.window} samples"
    return Continued(share * path + (1 - share) * other, known, unrelated(values, settings), name)


def completed(path: Array, values: Array, rolling: Rolling, settings: Settings) -> Continued | None:
    """A path (steps, variables) that is lost, NaN from some step on, continued from where it left the range of the
    series by what followed the most similar stretch of it; None where the past does not recur."""
    repeated = _repeated(values, rolling, settings)
    if repeated is None:
        return None
    low, high = values.min(axis=0), values.max(axis=0)
    margin = settings.laboratory.beyond * (high - low)
    inside = np.isfinite(path).all(axis=1) & ((path >= low - margin) & (path <= high + margin)).all(axis=1)
    there = int(np.argmin(inside))
    joined = np.concatenate([values, path[:there]])
    rest = repeated.rollout(joined, np.array([len(joined)]), len(path) - there)[0]
    known = (np.arange(len(path)) < there).astype(np.float64)
    name = f"repetition, {repeated.window} samples"
    return Continued(np.concatenate([path[:there], rest]), known, unrelated(values, settings), name)


def _repeated(values: Array, rolling: Rolling, settings: Settings) -> Repetition | None:
    """The repetition with the least rolling errors; None where all are far off: a trend, a decay."""
    how = settings.laboratory
    tried = [Repetition(window, how.repetition_searched) for window in how.repetition_windows]
    missed = [_size(rolling.errors(each, values)) for each in tried]
    best = int(np.argmin(missed))
    return tried[best] if missed[best] < how.repeats else None


def _known(errors: Array, steps: int, skilled: float, lost: float) -> Array:
    """1 while rolling forecasts are closer than `skilled` standard deviations, 0 from where they are `lost`; the last
    step that was rolled counts for all further ones."""
    squares = np.where(np.isfinite(errors), np.minimum(errors**2, 4.0), np.nan)
    size = np.array([_mean(squares[:, max(0, k - k // 4) : k + k // 4 + 1]) for k in range(errors.shape[1])])
    share = np.minimum.accumulate(np.clip((lost - np.sqrt(size)) / (lost - skilled), 0.0, 1.0))
    return np.concatenate([share, np.full(max(steps - len(share), 0), share[-1])])[:steps]


def _size(errors: Array) -> float:
    return float(np.sqrt(_mean(np.where(np.isfinite(errors), errors**2, np.nan))))


def _mean(squares: Array) -> float:
    return float(np.nanmean(squares)) if np.isfinite(squares).any() else 1.0
