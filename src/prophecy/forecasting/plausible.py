"""Past what can be predicted: one plausible path of a deterministic system, not the mean of all of them.

Far ahead the forecast with the least error is a mean of candidates that cancel: a flat line, which no system follows.
Where a series of several variables is deterministic, and rolling forecasts show from which step on nothing is known
about it, the point goes on as the series itself once did: what followed the stretch most like the latest one. The
distribution stays that of the mixture.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prophecy.forecasting.repeats import Repetition

Array = NDArray[np.float64]

_SKILLED, _LOST = 0.7, 0.95  # standard deviations of rolling errors: a path that is known, and one that is not


def continued(path: Array, errors: Array, values: Array) -> Array | None:
    """The path (steps, variables) of a forecast whose rolling errors (origins, steps, variables) are known, all in
    standard deviations, with what is plausible from where it knows nothing; None where nothing is to be changed.

    values: the deterministic series.
    """
    known = _known(errors, len(path))
    far = known < 0.5
    if not far.any() or far[0] or float(path[far].std(axis=0).mean()) > _SKILLED:
        return None
    other = Repetition(30).rollout(values, np.array([len(values)]), len(path))[0]
    return np.asarray(known[:, None] * path + (1 - known[:, None]) * other)


def _known(errors: Array, steps: int) -> Array:
    """1 while rolling forecasts are closer than `_SKILLED`, 0 from where they are lost; the last step that was rolled
    counts for all further ones."""
    there = np.asarray(np.isfinite(errors).all(axis=2))
    squares = np.where(there, np.mean(np.where(there[..., None], errors, 0.0) ** 2, axis=2), 0.0)
    total, count = (np.concatenate([[0.0], np.cumsum(each.sum(axis=0))]) for each in (squares, there))
    k = np.arange(errors.shape[1])
    low, high = k - k // 4, np.minimum(k + k // 4 + 1, len(k))
    size = np.sqrt((total[high] - total[low]) / np.maximum(count[high] - count[low], 1))
    share = np.minimum.accumulate(np.clip((_LOST - size) / (_LOST - _SKILLED), 0.0, 1.0))
    return np.concatenate([share, np.full(max(steps - len(share), 0), share[-1])])[:steps]
