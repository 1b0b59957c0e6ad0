r"""Readouts solved in context: recursive least squares in square-root form, several members and series at once.

Each member predicts the next difference as w · φ from its features φ, and w minimises Σ λ^age (du - w · φ)² plus a
prior around a constructed readout. The covariance is kept as a factor, P = S Sᵀ (Potter's form):

    g = Sᵀ φ,  β = λ + g · g,  w += S g (du - w · φ)/β,  S ← (S - S g gᵀ/(β + √(λ β)))/√λ

S Sᵀ cannot lose its sign, and its condition number is the square root of P's. The growth by 1/√λ is kept in a number
beside S (`stretch`), applied every `TIDY` steps, when S is also bounded: directions the signal never excites would
otherwise grow without end.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prophecy.adaptive.members import LAGS, NOTHING, SOLVED
from prophecy.adaptive.state import Rhythm, Rows

Array = NDArray[np.float64]

PRIOR = 1e12
"""Prior variance of the weights times the mean square of the first features: next to no opinion."""

BOUND = 1e16
"""Largest ‖S‖² times the mean square of the features: beyond it a direction is noise, whatever the noise is."""

FARTHEST = 4.0
"""Largest predicted step, in units of the length of the features."""

SURPRISING = 30.0
"""An error beyond this multiple of what is usual may be an outlier, whose traces in the features would outweigh all
that was learned before and be remembered for very long: nothing is learned until they have left."""

LONG = 1024
"""Samples over which it is averaged what is usual, beside the shorter memory of the mixture."""

TIDY = 64
TINY = 1e-200


class SolvedReadouts:
    """State of the members `SOLVED` for a number of series; arrays start with the series axis."""

    STATE = ("factor", "stretch", "weights", "power", "begun", "pause", "usual", "count")

    def __init__(self, series: int) -> None:
        width = max(len(member.features) for member in SOLVED)
        self.index = np.full((len(SOLVED), width), NOTHING)
        for row, member in zip(self.index, SOLVED, strict=True):
            row[: len(member.features)] = member.features
        self.used = (self.index != NOTHING).astype(np.float64)
        self.forgetting = np.array([member.forgetting for member in SOLVED])
        # Lags before the first value repeat it: equations with them are wrong and would be remembered for long.
        self.longest = ((self.index < LAGS) * self.index).max(axis=1)
        self.needed = self.longest + 1.5 * self.used.sum(axis=1)
        self.traces = np.array([member.traces for member in SOLVED])
        self.start = np.zeros((len(SOLVED), width))
        # Features are relative to the newest value: weight -1 on lag 1 is the straight line, no weight the copy.
        self.start[:, 0] = [-float(member.start) for member in SOLVED]
        self.factor = np.zeros((series, len(SOLVED), width, width))
        self.stretch = np.ones((series, len(SOLVED)))
        self.weights = np.tile(self.start, (series, 1, 1))
        self.power = np.zeros((series, len(SOLVED)))
        self.begun = np.zeros((series, len(SOLVED)), dtype=bool)
        self.pause = np.zeros((series, len(SOLVED)), dtype=np.int64)
        self.usual = np.zeros((series, len(SOLVED)))
        self.count = np.zeros(series, dtype=np.int64)
        self._rhythm = Rhythm(TIDY)
        self._young = self._waiting = True
        self._features = np.zeros((series, len(SOLVED), width))
        self._power = np.zeros((series, len(SOLVED)))

    def predict(self, features: Array) -> Array:
        """features (series, all) → predicted differences (series, members); remembers its own for `learn`."""
        self.look(features)
        ahead = np.einsum("srn,srn->sr", self.weights, self._features)
        # Weights in directions the signal has hardly shown are free to be wild: no step goes far beyond the past.
        farthest = FARTHEST * np.sqrt(self._power)
        np.clip(ahead, -farthest, farthest, out=ahead)
        if self._young:
            asleep = self.count[:, None] < self.needed
            ahead = np.where(asleep, np.einsum("rn,srn->sr", self.start, self._features), ahead)
            self._young = bool(asleep.any())
        return np.asarray(ahead, dtype=np.float64)

    def look(self, features: Array) -> None:
        """Pick the members' features: (series, all) → (series, members, width)."""
        self._features = features[:, self.index]
        self._power = np.einsum("srn,srn->sr", self._features, self._features)

    def learn(self, difference: Array, scales: Array) -> None:
        """Take in the difference (series,) that the last `predict` was about.

        scales (series, members): the members' usual squared errors, before this one.
        """
        phi, power = self._features, self._power
        missed = difference[:, None] - np.einsum("srn,srn->sr", self.weights, phi)
        self.pause -= self.pause > 0
        awake = self.count[:, None] >= self.needed
        highest = SURPRISING**2 * np.maximum(self.usual, scales)
        squared = np.square(missed)
        struck = awake & (self.pause == 0) & (squared > highest)
        self.usual += np.where(awake, (np.minimum(squared, highest) - self.usual) / LONG, scales - self.usual)
        self.pause[struck] = np.broadcast_to(self.traces, struck.shape)[struck]
        learns = self.pause == 0
        if not learns.all():
            phi, power = phi * learns[..., None], power * learns
        if self._young:
            begun = self.count[:, None] >= self.longest
            phi, power = phi * begun[..., None], power * begun
        if self._waiting:
            self._begin(power)
        g = np.matmul(phi[..., None, :], self.factor)[..., 0, :] * self.stretch[..., None]
        beta = self.forgetting + np.einsum("srn,srn->sr", g, g)
        gain = np.matmul(self.factor, g[..., None]) * self.stretch[..., None, None]
        missed = (difference[:, None] - np.einsum("srn,srn->sr", self.weights, phi)) / beta
        self.weights += gain[..., 0] * missed[..., None]
        shrink = 1.0 / ((beta + np.sqrt(self.forgetting * beta)) * self.stretch)
        self.factor -= (gain * shrink[..., None, None]) * g[..., None, :]
        # Nothing is forgotten while nothing is learned, as on a constant stretch.
        self.stretch /= np.where(power > TINY, np.sqrt(self.forgetting), 1.0)
        self.power += (power - self.power) / TIDY
        self.count += 1
        rows = self._rhythm.due(self.count)
        if rows is not None:
            self.tidy(rows)

    def wake(self) -> None:
        """Look again at who has seen how much; after the state was set from outside."""
        self._young = self._waiting = True
        self._rhythm.look(self.count)

    def _begin(self, power: Array) -> None:
        """Give members their prior when they see their first non-zero features."""
        new = ~self.begun & (power > TINY)
        if new.any():
            spread = np.sqrt(PRIOR / np.where(power > TINY, power, 1.0))
            prior = np.eye(self.factor.shape[-1]) * (spread[..., None] * self.used)[..., None]
            np.copyto(self.factor, prior, where=new[..., None, None])
            np.copyto(self.stretch, 1.0, where=new)
            np.copyto(self.power, power, where=new)
            self.begun |= new
        self._waiting = not self.begun.all()

    def tidy(self, rows: Rows) -> None:
        """Apply the stretch, and bring down what has grown beyond its bound, for some series."""
        factor, weights, power = self.factor[rows], self.weights[rows], self.power[rows]
        factor *= self.stretch[rows][..., None, None]
        size = np.einsum("srnm,srnm->sr", factor, factor) * power
        broken = ~(np.isfinite(size) & np.isfinite(weights).all(axis=-1))
        large = (size > BOUND) & ~broken
        if large.any():
            # Only the directions that have grown come down: the others have learned what they know.
            left, spread, right = np.linalg.svd(factor[large])
            highest = np.sqrt(0.5 * BOUND / power[large] / spread.shape[-1])
            factor[large] = left * np.minimum(spread, highest[:, None])[:, None, :] @ right
        if broken.any():
            factor[broken], weights[broken] = 0.0, self.start[np.nonzero(broken)[1]]
            self.begun[rows] &= ~broken
            self._waiting = True
        self.factor[rows], self.weights[rows], self.stretch[rows] = factor, weights, 1.0
