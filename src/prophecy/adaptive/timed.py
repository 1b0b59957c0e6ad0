r"""Irregular times: memories that advance by the true interval, with readouts that stay exact (docs/prophecy.md).

A LegT memory over an interval δ, the new value held, moves its relative state by z = Φ (z - x₁ du), Φ = exp(A δ).
Beside the data the memory carries its own response to the powers of time, and the covariance it gives to white noise:

    mᵢ = Φ (Σ_l (i over l) (-δ)^(i-l) m_l + x₁ (-δ)^i),     P = Φ P Φᵀ + Γ Γᵀ,  Γ = (I - Φ) x₁

so the readout that is exact for polynomials at these very times, with the least noise, is solved anew at every value.
Nothing else changes: members are windows and degrees, and the mixture and its calibration are those of the bank.
"""

from __future__ import annotations

from math import comb

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm

from prophecy.adaptive.calibration import Calibration
from prophecy.adaptive.mixing import Mixture
from prophecy.adaptive.state import Kept
from prophecy.bases import legt

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

ORDER = 8
STEPS = (4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0)
DEGREES = (0, 1, 2, 3, 4, 5)
LONGEST = 64.0
"""Intervals beyond this many windows leave a memory empty either way, and polynomials are not read further out."""

RIDGE = 1e-13
SOFT = 1e-16


class TimedBank:
    """Everything known about a number of series whose values come at the same, irregular times.

    typical: the usual interval in seconds, which the windows are multiples of. The members' predictions are polynomials
    in the time ahead: `curve` (powers, series, members) of the time over the window. The first member is the copy, then
    come the degrees of each window.
    """

    STATE = ("states", "powers", "noise", "gamma", "last", "curve", "seen", "count", "gap")

    def __init__(self, series: int, typical: float) -> None:
        self.series, self.typical = series, typical
        self.windows = typical * np.array(STEPS)
        basis = legt(ORDER, 1.0)
        self._A = basis.A
        self._steady = -np.linalg.solve(basis.A, basis.B)
        self.states = np.zeros((len(STEPS), series, ORDER))
        self.powers = np.zeros((len(STEPS), ORDER, len(DEGREES) - 1))
        # The first value stands for all the past before it.
        self.noise = np.tile(np.outer(self._steady, self._steady), (len(STEPS), 1, 1))
        self.gamma = np.zeros((len(STEPS), ORDER))
        self.last = np.zeros(series)
        self.curve = np.zeros((len(DEGREES), series, 1 + len(STEPS) * len(DEGREES)))
        self._spans = np.concatenate([[typical], np.repeat(self.windows, len(DEGREES))])
        degrees = np.concatenate([[0], np.tile(DEGREES, len(STEPS))])
        self._sloped = degrees > 0
        self.seen = np.zeros(1, dtype=np.int64)
        self.count = np.zeros(series, dtype=np.int64)
        self.gap = np.zeros(series, dtype=np.int64)
        prior = 1.0 / (degrees + 1)
        self.mixture = Mixture(series, prior / prior.sum())
        self.calibration = Calibration(series)

    @property
    def learners(self) -> tuple[Mixture, Calibration]:
        return self.mixture, self.calibration

    def ahead(self, after: float) -> Array:
        """The members' predictions `after` seconds from the last value, relative to it: (series, members)."""
        time = np.minimum(after / self._spans, LONGEST)
        return np.asarray(sum(self.curve[i] * time**i for i in range(len(DEGREES))), dtype=np.float64)

    def step(self, after: float) -> Array:
        """The forecast `after` seconds from the last value, relative to it: (series,)."""
        return self.mixture.combine(self.ahead(after))

    def slope(self) -> Array:
        """The derivative at the last value, from the members in proportion to their share: (series,)."""
        slopes = self.curve[1] / self._spans
        shares = self.mixture.shares() * self._sloped
        total = shares.sum(axis=1)
        return np.where(total > 0.0, np.einsum("sm,sm->s", shares, slopes) / np.where(total > 0.0, total, 1.0), 0.0)

    def spread(self, after: float) -> float:
        """How much wider an interval is `after` seconds ahead than one typical interval ahead."""
        return max(1.0, after / self.typical)

    def observe(self, values: Array, after: float, known: Flags, hold: bool = False) -> None:
        """Take in values (series,) that came `after` seconds after the last; predictions stand in where not `known`."""
        began = self.count > 0
        ahead = self.ahead(after)
        fill = self.last + (0.0 if hold else self.mixture.combine(ahead))
        filled = np.where(known, values, np.where(began, fill, 0.0))
        learns = known & began & (self.gap == 0)
        if learns.any():
            kept = Kept(self.learners, ~learns)
            errors = (filled - self.last)[:, None] - ahead
            self.calibration.learn((filled - self.last - self.mixture.combine(ahead)) / self.spread(after))
            self.mixture.learn(errors / self.spread(after), filled)
            kept.put_back()
        self.last = np.where(began, self.last, filled)
        if self.seen[0]:
            self._advance(filled - self.last, after)
        self.seen += 1
        self.last = filled
        self.count += began | known
        self.gap = np.where(known, 0, self.gap + began)
        self._solve()

    def settle(self) -> None:
        """Make ready to go on after the state was set from outside: nothing is kept beside it."""

    def _advance(self, difference: Array, after: float) -> None:
        delta = np.minimum(after / self.windows, LONGEST)
        phi = expm(self._A * delta[:, None, None])
        gamma = self._steady - phi @ self._steady
        self.states = (self.states - difference[None, :, None] * self._steady) @ phi.transpose(0, 2, 1)
        moved = np.zeros_like(self.powers)
        for i in range(1, len(DEGREES)):
            for l in range(1, i + 1):
                moved[:, :, i - 1] += comb(i, l) * (-delta[:, None]) ** (i - l) * self.powers[:, :, l - 1]
            moved[:, :, i - 1] += (-delta[:, None]) ** i * self._steady
        self.powers = phi @ moved
        self.noise = phi @ self.noise @ phi.transpose(0, 2, 1) + gamma[:, :, None] * gamma[:, None, :]
        self.gamma = gamma

    def _solve(self) -> None:
        """Readouts C of least noise with C mᵢ = (time ahead)^i, as polynomials in the time ahead."""
        if self.seen[0] < 2:
            return
        lead = self.gamma - self._steady
        spread = self.noise - self._steady[:, None] * self.gamma[:, None, :]
        spread = spread - self.gamma[:, :, None] * self._steady + np.outer(self._steady, self._steady)
        spread += RIDGE * (1e-3 + np.trace(spread, axis1=1, axis2=2))[:, None, None] * np.eye(ORDER)
        self.curve[:] = 0.0
        best = min(int(self.seen[0]) - 1, DEGREES[-1])
        for degree in DEGREES:
            used = min(degree, best)
            size = ORDER + used
            system = np.zeros((len(STEPS), size, size))
            system[:, :ORDER, :ORDER] = spread
            system[:, :ORDER, ORDER:] = self.powers[:, :, :used]
            system[:, ORDER:, :ORDER] = system[:, :ORDER, ORDER:].transpose(0, 2, 1)
            # A memory much shorter than an interval holds one value: conditions it cannot meet are given up.
            system[:, range(ORDER, size), range(ORDER, size)] = -SOFT
            right = np.zeros((len(STEPS), size, 1 + used))
            right[:, :ORDER, 0] = -lead
            right[:, range(ORDER, size), range(1, 1 + used)] = 1.0
            readout = np.linalg.solve(system, right)[:, :ORDER]
            read = self.states @ readout
            for i in range(1 + used):
                self.curve[i][:, 1 + DEGREES.index(degree) :: len(DEGREES)] = read[:, :, i].T
