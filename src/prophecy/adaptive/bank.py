"""The bank at work: memories, members, their mixture and its calibration, for a number of series at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from prophecy.adaptive import native
from prophecy.adaptive.calibration import Calibration
from prophecy.adaptive.members import ALTERNATING, FEATURES, LAGS, MEMORY, ORDER, WINDOWS, Table, table
from prophecy.adaptive.mixing import Mixture
from prophecy.adaptive.slope import SlopeChoice
from prophecy.adaptive.solved import SolvedReadouts
from prophecy.adaptive.state import Kept

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

SLOWEST_MEAN = 1e-3
HIDDEN = ORDER * len(WINDOWS)


class Bank:
    """Everything known about a number of series sampled in regular steps. Arrays start with the series axis.

    `last` (series,) are the newest values and `step` (series,) the differences predicted to come next.
    """

    STATE = ("lags", "last", "features", "ahead", "step", "level", "alternation", "count", "gap", "ring")

    def __init__(self, series: int) -> None:
        self.table: Table = table()
        self.series = series
        self.lags = np.zeros((series, 2 * LAGS))
        self.ring = np.zeros(series, dtype=np.int64)
        self.last = np.zeros(series)
        self.features = np.zeros((series, FEATURES))
        self.ahead = np.zeros((series, len(self.table.members)))
        self.step = np.zeros(series)
        self.level = np.zeros(series)
        self.alternation = np.zeros((series, len(ALTERNATING)))
        self.count = np.zeros(series, dtype=np.int64)
        self.gap = np.zeros(series, dtype=np.int64)
        self.solved = SolvedReadouts(series)
        self.mixture = Mixture(series, self.table.prior)
        self.calibration = Calibration(series)
        self.slopes = SlopeChoice(series)
        self._plain = False
        self._native: native.Native | None = None
        self._in_native = False

    def __getstate__(self) -> dict[str, Any]:
        """Copies and pickles leave the compiled step behind: it points into this bank's own arrays."""
        return self.__dict__ | {"_native": None}

    @property
    def learners(self) -> tuple[SolvedReadouts, Mixture, Calibration, SlopeChoice]:
        return self.solved, self.mixture, self.calibration, self.slopes

    def observe(self, values: Array, known: Flags | None = None, hold: bool = False) -> None:
        """Take in the next values (series,).

        Where `known` is False there is none: its own prediction (or the last value, with `hold`) goes into the memory,
        and nothing is learned from it.
        """
        if known is None and self._plain:
            self.feed(values[:, None])
            return
        self._leave_native()
        known = np.ones(self.series, dtype=bool) if known is None else known
        fill = self.last if hold else self.last + self.step
        self._observe_with_gaps(np.where(known, values, fill), known)

    def feed(self, values: Array, *out: Array | None) -> bool:
        """Take in values (series, time) without gaps, and fill `out` as `Native.feed` does; False if it cannot."""
        if not self._plain:
            return False
        if self._native is None:
            self._native = native.bind(self)
        if self._native is not None:
            self._native.feed(values, *(out or (None,) * 4))
            self._in_native = True
            return True
        if out:
            return False
        for moment in values.T:
            self._learn(moment)
            self._advance(moment)
        return True

    def take(self, value: float) -> bool:
        """Take in one value of a single series, if that can be done at once."""
        if self._native is None or not self._plain:
            return False
        self._native.take(value)
        self._in_native = True
        return True

    def _leave_native(self) -> None:
        if self._in_native:
            for part in self.learners:
                part.wake()
            self.solved.look(self.features)
            self._in_native = False

    def _observe_with_gaps(self, values: Array, known: Flags) -> None:
        began = self.count > 0
        fresh = known & ~began
        self.lags[fresh] = values[fresh, None]
        self.last[fresh] = self.level[fresh] = values[fresh]
        # The first value after a gap is predicted from predictions: its error says nothing about one step.
        learns = known & began & (self.gap == 0)
        if learns.all():
            self._learn(values)
        elif learns.any():
            kept = Kept(self.learners, ~learns)
            self._learn(values)
            kept.put_back()
        self._advance(values)
        self.count[~(began | known)] = 0
        self.gap[:] = np.where(known, 0, self.gap + began)
        self._plain = bool((self.count > 0).all() and not self.gap.any())

    def _learn(self, values: Array) -> None:
        difference = values - self.last
        self.calibration.learn(difference - self.step)
        self.solved.learn(difference, self.mixture.scales[:, len(self.table.gain) :])
        errors = difference[:, None] - self.ahead
        self.slopes.learn(errors)
        self.mixture.learn(errors, values)

    def _advance(self, values: Array) -> None:
        difference = values - self.last
        features = self.features
        place = int(self.ring[0] - 1) % LAGS
        self.ring[:] = place
        self.lags[:, place] = values
        self.lags[:, place + LAGS] = values
        np.subtract(self.lags[:, place : place + LAGS], values[:, None], out=features[:, :LAGS])
        features[:, LAGS:MEMORY] -= difference[:, None] * self.table.steady
        product = features[:, :MEMORY] @ self.table.advance
        features[:, LAGS:MEMORY] = product[:, :HIDDEN]
        self.alternation *= -ALTERNATING
        self.alternation += difference[:, None]
        features[:, MEMORY : MEMORY + 2] = self.alternation * (1.0 - ALTERNATING)
        self.count += 1
        self.level += (values - self.level) * np.maximum(SLOWEST_MEAN, 1.0 / self.count)
        features[:, MEMORY + 2] = self.level - values
        self.ahead[:] = product[:, HIDDEN:]
        self.ahead[:, len(self.table.gain) :] = self.solved.predict(features)
        self.last[:] = values
        self.step[:] = self.mixture.combine(self.ahead)

    def settle(self) -> None:
        """Make ready to go on after the state was set from outside."""
        self.solved.look(self.features)
        self._plain = bool((self.count > 0).all() and not self.gap.any())
