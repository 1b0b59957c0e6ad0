r"""Calibration: intervals and surprise, from the errors the forecast itself has made.

Errors are divided by their discounted root mean square, and the quantiles of what remains are tracked level by level:
a quantile too low is raised by a factor, one too high lowered, in the proportion that makes it right in the long run
whatever the distribution is. After T values the share of errors beyond the quantile of level p differs from 1 - p by at
most (log(largest/smallest) + RATE)/(RATE · T), where largest and smallest bound the normalised errors, for as long as
the quantile stays within 0.01 and 100. Errors of exactly 0, sixteen or more in a row, are not counted.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtri

from prophecy.adaptive.mixing import BLOCK, CEILING, DISCOUNT, SETTLE
from prophecy.adaptive.state import Rhythm

Array = NDArray[np.float64]

LEVELS = np.array([0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995])
NORMAL = ndtri((1.0 + LEVELS) / 2.0)
RATE = 0.03
FEW = 2.0
TINY = 1e-200
LOWEST, HIGHEST = 0.01, 100.0
"""Bounds of the quantiles, in units of the root mean square: a sensor that sticks must not take them along."""


class Calibration:
    """Scale and quantiles of the forecast's errors for a number of series."""

    STATE = ("scale", "quantiles", "peak", "last_peak", "count")

    def __init__(self, series: int) -> None:
        self.scale = np.zeros(series)
        self.quantiles = np.tile(NORMAL, (series, 1))
        self.peak = np.zeros(series)
        self.last_peak = np.zeros(series)
        self.count = np.zeros(series, dtype=np.int64)
        self._rhythm = Rhythm(BLOCK)
        self._young = True
        self.raise_by, self.lower_by = np.exp(RATE * LEVELS), np.exp(RATE * (LEVELS - 1.0))

    def learn(self, errors: Array) -> None:
        """Take in the errors (series,) of the last forecast."""
        squared = errors * errors
        rate: float | Array = 1.0 - DISCOUNT
        if self._young:
            rate = self._begin(squared)
        beyond = squared[:, None] > np.square(self.quantiles) * self.scale[:, None]
        moved = np.clip(self.quantiles * np.where(beyond, self.raise_by, self.lower_by), LOWEST, HIGHEST)
        # Where nothing has happened for a while there is nothing to learn about how errors are spread.
        np.copyto(self.quantiles, moved, where=((squared > TINY) | (self.scale > TINY))[:, None])
        self.scale += (squared - self.scale) * rate
        np.maximum(self.scale, TINY, out=self.scale)
        np.maximum(self.peak, squared, out=self.peak)
        self.count += 1
        rows = self._rhythm.due(self.count)
        if rows is not None:
            highest = CEILING * np.maximum(np.maximum(self.peak[rows], self.last_peak[rows]), TINY)
            self.scale[rows] = np.minimum(self.scale[rows], highest)
            self.last_peak[rows] = self.peak[rows]
            self.peak[rows] = 0.0

    def half_width(self, level: float) -> Array:
        """Half the width of the interval of this level, (series,); infinite until a first error is known."""
        width = normalised_width(level, self.quantiles)
        return np.where(self.count > 0, width * (np.sqrt(self.scale) * self._wider()), np.inf)

    def only_half_width(self, level: float) -> float:
        """`half_width` of a single series, without arrays."""
        if not self.count.item(0):
            return math.inf
        above, inside, part = _between(level)
        row = self.quantiles[0].tolist()
        upper, lower = max(row[: above + 1]), max(row[:above]) if inside else 0.0
        count = float(self.count.item(0))
        usual = math.sqrt(self.scale.item(0)) * (1.0 + FEW / (count * count))
        return float((lower + (upper - lower) * part) * usual)

    def score(self, errors: Array) -> Array:
        """-log10 of the probability of an error at least this large, (series,); 0 until a first error is known."""
        size = np.abs(errors) / (np.sqrt(np.maximum(self.scale, TINY)) * self._wider())
        return np.where(self.count > 0, surprise(size, self.quantiles), 0.0)

    def _wider(self) -> Array:
        """A scale known from one error, or from two, may well be too small: 3 times, 1.5 times, 1.2 times wider, ..."""
        return np.asarray(1.0 + FEW / np.square(np.maximum(self.count, 1.0)), dtype=np.float64)

    def wake(self) -> None:
        """Look again at who has seen how much; after the state was set from outside."""
        self._young = True
        self._rhythm.look(self.count)

    def _begin(self, squared: Array) -> Array:
        new = self.count == 0
        self.scale[new] = np.maximum(squared[new], TINY)
        self._young = bool((self.count < 1.0 / (1.0 - DISCOUNT)).any())
        return np.maximum(1.0 - DISCOUNT, 1.0 / (self.count + 1 + SETTLE))


class _Between(NamedTuple):
    """A level between tracked ones: the knot above it, whether one lies below, and how far it is from there."""

    above: int
    inside: bool
    part: float


@lru_cache(maxsize=64)
def _between(level: float) -> _Between:
    """Straight lines over the normal quantiles; below the first knot and beyond the last one, in proportion."""
    normal = float(ndtri((1.0 + level) / 2.0))
    above = min(int(np.searchsorted(NORMAL, normal)), len(NORMAL) - 1)
    inside = above > 0 and normal <= NORMAL[above]
    start = float(NORMAL[above - 1]) if inside else 0.0
    return _Between(above, inside, (normal - start) / (float(NORMAL[above]) - start))


def normalised_width(level: float, quantiles: Array) -> Array:
    """The quantile of this level among tracked ones (..., levels)."""
    above, inside, part = _between(level)
    knots = np.maximum.accumulate(quantiles, axis=-1)
    upper = knots[..., above]
    lower = knots[..., above - 1] if inside else np.zeros_like(upper)
    return np.asarray(lower + (upper - lower) * part, dtype=np.float64)


def surprise(size: Array, quantiles: Array) -> Array:
    """-log10 of the probability of normalised errors (n,) at least as large, by tracked quantiles (n, levels)."""
    knots = np.maximum.accumulate(quantiles, axis=-1)
    above = np.minimum((size[:, None] > knots).sum(axis=1), len(LEVELS) - 1)
    rows = np.arange(len(size))
    inside = (above > 0) & (size <= knots[:, -1])
    lower = np.where(inside, knots[rows, above - 1], 0.0)
    start = np.where(inside, NORMAL[above - 1], 0.0)
    step = np.maximum(knots[rows, above] - lower, TINY)
    normal = start + (NORMAL[above] - start) * (size - lower) / step
    return np.asarray(np.maximum(-(log_ndtr(-normal) + np.log(2.0)) / np.log(10.0), 0.0), dtype=np.float64)
