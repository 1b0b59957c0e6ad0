"""How errors hang together from step to step and between variables, and quantiles of what was drawn."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from prophecy._forecast import PROBABILITIES
from prophecy.forecasting.scorer import nearby
from prophecy.forecasting.settings import DEFAULT, Settings

Array = NDArray[np.float64]

_UPPER = PROBABILITIES[len(PROBABILITIES) // 2 + 1 :]
_LEVELS = 2 * _UPPER - 1


def dependence(errors: Array, steps: int, settings: Settings = DEFAULT) -> Array:
    """(steps - 1,): the correlation of consecutive errors of rolling forecasts, each step with those around it; the
    last one that was rolled counts for all further ones."""
    scale = nearby(errors, squares=True)
    scores = errors / np.where(scale > 0, scale, 1.0)
    products = scores[:, 1:] * scores[:, :-1]
    there = np.isfinite(products)
    if not there.any():
        return np.full(steps - 1, settings.dependence)
    total = np.where(there, products, 0.0).sum(axis=0)
    squares = np.where(there, (scores[:, 1:] ** 2 + scores[:, :-1] ** 2) / 2, 0.0).sum(axis=0)
    pooled = float(total.sum()) / max(float(squares.sum()), 1e-300)
    share = there.sum(axis=0) / (there.sum(axis=0) + settings.dependence_pairs)
    found = np.clip(share * total / np.maximum(squares, 1e-300) + (1 - share) * pooled, -0.99, 0.999)
    return np.concatenate([found, np.repeat(found[-1:], steps)])[: steps - 1]


def between(errors: Array, settings: Settings = DEFAULT) -> Array:
    """The correlation of the variables' errors, (variables, forecasts), drawn towards none where these are few."""
    variables = len(errors)
    errors = errors[:, np.isfinite(errors).all(axis=0)]
    count = errors.shape[1]
    if variables == 1 or count < 3:
        return np.eye(variables)
    shrunk = np.nan_to_num(np.corrcoef(errors), nan=0.0) * count / (count + variables + settings.dependence_pairs / 2)
    np.fill_diagonal(shrunk, 1.0)
    return np.asarray(shrunk)


def upper_quantiles(sample: Array, independent: float) -> Array:
    """At each level the quantile that `independent` draws need so that a new one stays below it so often.

    Beyond the largest error the widths go on in proportion to those of a normal distribution.
    """
    shares = _LEVELS * (1 + 1 / independent)
    found = np.quantile(sample, np.minimum(shares, 1.0), axis=0, method="higher")
    inside = max(int(np.sum(shares <= 1.0)), 1)
    beyond = ndtri(_UPPER[inside - 1 :]) / ndtri(_UPPER[inside - 1])
    beyond = beyond.reshape(-1, *[1] * (found.ndim - 1))
    found[inside - 1 :] = np.maximum(found[inside - 1 :], found[inside - 1] * beyond)
    return np.asarray(found)
