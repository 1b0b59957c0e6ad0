r"""Mixing: who is believed, from how well each member predicted lately (docs/prophecy.md).

Member i predicts the next error to be Cauchy distributed around 0 with scale √vᵢ, vᵢ its discounted mean squared error.
Weights follow Bayes' rule with a fixed share, as if a different member took over with probability `SHARE` at each step:

    wᵢ ∝ wᵢ √vᵢ/(vᵢ + eᵢ²),  then  wᵢ ← (1 - SHARE) wᵢ + SHARE · priorᵢ

Whatever the data are, after T steps the log-loss of this mixture exceeds that of member i by at most

    log(1/priorᵢ) + (T - 1) log(1/(1 - SHARE))

and each change from one member to another, j, along the way adds at most log(1/(SHARE · priorⱼ)). Squared errors span
thirty decades; the Cauchy density only asks for ratios, and an outlier costs everyone about the same.

The point forecast weights members by wᵢ/vᵢ, as precision asks: the mean of the mixture where scales agree, its mode
where they do not, so that a share of 1e-4 in a member 1e10 times worse costs nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prophecy.adaptive.state import Rhythm, Rows

Array = NDArray[np.float64]

DISCOUNT = 0.985
SHARE = 0.01
SETTLE = 8
"""Scales start at the copy's first error, counted as this many samples."""

BLOCK = 8
CEILING = 9.0
"""Every BLOCK samples a scale above CEILING times the largest squared error of the last one to two blocks comes down to
that: the scale of a jump is forgotten in 16 samples instead of the 2000 that discounting takes from 1 to 1e-30."""

ROUNDING = 1e-17
SMALLEST = 1e-200


class Mixture:
    """Weights and scales of the members for a number of series: (series, members)."""

    STATE = ("weights", "scales", "peak", "last_peak", "count")

    def __init__(self, series: int, prior: Array) -> None:
        self.prior = prior
        self.weights = np.tile(prior, (series, 1))
        self.scales = np.zeros((series, len(prior)))
        self.peak = np.zeros((series, len(prior)))
        self.last_peak = np.zeros((series, len(prior)))
        self.count = np.zeros(series, dtype=np.int64)
        self._rhythm = Rhythm(BLOCK)
        self._young = True
        self._share = SHARE * prior
        self._work = np.empty((series, len(prior)))

    def learn(self, errors: Array, values: Array) -> None:
        """errors (series, members) of the predictions of these values (series,)."""
        squared = np.square(errors, out=errors)
        least = np.square(ROUNDING * values) + SMALLEST
        rate: float | Array = 1.0 - DISCOUNT
        if self._young:
            rate = self._begin(squared, least)
        scales, weights, work = self.scales, self.weights, self._work
        np.add(scales, squared, out=work)
        np.divide(np.sqrt(scales), work, out=work)
        weights *= work
        weights *= (1.0 - SHARE) / weights.sum(axis=1, keepdims=True)
        weights += self._share
        np.subtract(squared, scales, out=work)
        work *= rate
        scales += work
        np.maximum(scales, least[:, None], out=scales)
        np.maximum(self.peak, squared, out=self.peak)
        self.count += 1
        rows = self._rhythm.due(self.count)
        if rows is not None:
            self._come_down(rows, least)

    def combine(self, ahead: Array) -> Array:
        """The point forecast (series,) from the members' predictions (series, members)."""
        shares = self.shares()
        return np.asarray(np.einsum("sm,sm->s", shares, ahead), dtype=np.float64)

    def shares(self) -> Array:
        """How much each member counts in the point forecast: (series, members), rows add up to 1."""
        if self._young:
            shares = self.weights / np.where(self.scales > 0.0, self.scales, 1.0)
        else:
            shares = np.divide(self.weights, self.scales, out=self._work)
        return np.asarray(shares / shares.sum(axis=1, keepdims=True), dtype=np.float64)

    def densities(self, errors: Array) -> Array:
        """Each member's predictive density at these errors: (series, members)."""
        return np.asarray(np.sqrt(self.scales) / (self.scales + errors**2) / np.pi, dtype=np.float64)

    def wake(self) -> None:
        """Look again at who has seen how much; after the state was set from outside."""
        self._young = True
        self._rhythm.look(self.count)

    def _begin(self, squared: Array, least: Array) -> Array:
        new = self.count == 0
        if new.any():
            self.scales[new] = np.maximum(squared[new, :1], least[new, None])
        self._young = bool((self.count < 1.0 / (1.0 - DISCOUNT)).any())
        return np.maximum(1.0 - DISCOUNT, 1.0 / (self.count[:, None] + 1 + SETTLE))

    def _come_down(self, rows: Rows, least: Array) -> None:
        highest = CEILING * np.maximum(np.maximum(self.peak[rows], self.last_peak[rows]), least[rows, None])
        self.scales[rows] = np.minimum(self.scales[rows], highest)
        self.last_peak[rows] = self.peak[rows]
        self.peak[rows] = 0.0
