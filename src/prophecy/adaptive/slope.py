r"""The causal derivative: which window to read it from, by its estimated error.

Each member of degree 1 and more has an exact derivative readout with noise gain G. On a signal with white noise of
variance σ² its mean squared error is σ² G + ρ² b², where b is the bias of the same member's *prediction* and ρ a known
ratio (`members.Slopes.bias`). One-step errors show b only when it rivals σ, far too late for a derivative; but bias
persists while noise does not, so b² is read from errors averaged over an eighth of the window, less the noise that
averaging leaves. Readouts are then combined with weights (estimated error)⁻².
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prophecy.adaptive.members import MEMORY, averaging, table

Array = NDArray[np.float64]

PLAIN = 1.5
"""A one-step error beyond this multiple of what noise explains is bias, even one that turns too fast to be averaged."""

UNSURE = 0.15
"""Share of the averaged noise that an unseen bias may hide in: the spread of its estimate over one window."""


class SlopeChoice:
    """What is known about the bias of each derivative readout, for a number of series: (series, slopes)."""

    STATE = ("average", "square", "count")

    def __init__(self, series: int) -> None:
        self.bank = table()
        windows = [self.bank.members[i].window for i in self.bank.slopes.member]
        self.averaging = np.array([averaging(window) for window in windows])
        self.forgetting = np.minimum(0.015, 1.0 / np.array(windows))
        self.average = np.zeros((series, len(windows)))
        self.square = np.zeros((series, len(windows)))
        self.count = np.zeros(series, dtype=np.int64)
        self._young = True

    def learn(self, errors: Array) -> None:
        """errors (series, members) of all one-step predictions."""
        self.average += (errors[:, self.bank.slopes.member] - self.average) * self.averaging
        self.count += 1
        rate = np.maximum(self.forgetting, 1.0 / self.count[:, None]) if self._young else self.forgetting
        self._young = self._young and bool((self.count < 1.0 / self.forgetting.min()).any())
        self.square += (np.square(self.average) - self.square) * rate

    def errors(self, scales: Array) -> Array:
        """Estimated mean squared errors of the slopes per sample, from the members' scales: (series, slopes)."""
        slopes = self.bank.slopes
        gain = 1.0 + self.bank.gain
        noise = (scales[:, : len(gain)] / gain).min(axis=1, keepdims=True)
        whole = scales[:, slopes.member]
        # A bias cannot exceed the one-step error, whose scale forgets a jump sooner than the averages do.
        bias = np.minimum(self.square - noise * slopes.left, whole)
        bias = np.maximum(bias, whole - PLAIN * noise * gain[slopes.member])
        np.maximum(bias, UNSURE * noise * slopes.left, out=bias)
        error = noise * slopes.gain + slopes.bias**2 * bias
        # The ratio `slopes.bias` is that of the leading error, which says nothing once the signal turns within the
        # window: a slope is trusted no more than the prediction of the same member.
        floor = np.maximum(noise * gain[slopes.member], 1e-300)
        return np.asarray(error * np.maximum(whole / floor, 1.0), dtype=np.float64)

    def shares(self, scales: Array) -> Array:
        """How much each readout counts: (series, slopes), rows add up to 1."""
        error = self.errors(scales)
        weights = np.square(error.min(axis=1, keepdims=True) / np.maximum(error, 1e-300))
        weights[~(error > 0.0)] = 1.0
        return np.asarray(weights / weights.sum(axis=1, keepdims=True), dtype=np.float64)

    def slope(self, features: Array, scales: Array) -> Array:
        """The derivative per sample at the newest value: (series,)."""
        slopes = features[:, :MEMORY] @ self.bank.slopes.readout
        return np.asarray(np.einsum("sm,sm->s", self.shares(scales), slopes), dtype=np.float64)

    def wake(self) -> None:
        """Look again at who has seen how much; after the state was set from outside."""
        self._young = True
