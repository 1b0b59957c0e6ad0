"""A context that was made ready (`prophecy.forecasting.context`): what laws are searched in."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import comb

import numpy as np

from prophecy import _checks
from prophecy._arrays import Array, Indices, Mask


@dataclass(frozen=True)
class Units:
    """Where the scaled variables came from: raw = scale * x + centre, per variable."""

    centre: Array
    scale: Array


def monomial_count(variables: int, degree: int) -> int:
    """How many monomials of so many variables there are up to a degree."""
    return comb(variables + degree, degree)


@dataclass(frozen=True, eq=False)
class Rows:
    """Transitions from k to k + 1 that models are solved from. index: k; history: samples up to k without a gap."""

    index: Indices
    history: Indices

    @classmethod
    def of(cls, known: Mask, most: int = 1024) -> Rows:
        """All between observed samples; of more than `most` the latest half, and as many spread over all before."""
        times = np.arange(len(known))
        history = times - np.maximum.accumulate(np.where(known, -1, times))
        index = np.nonzero(known[:-1] & known[1:])[0]
        if len(index) < min(_checks.SHORTEST, len(known) // 2):
            index = times[:-1]
        half = most // 2
        if len(index) > 2 * half:
            older = index[:-half]
            sparse = older[np.linspace(0, len(older) - 1, half).astype(np.intp)]
            index = np.concatenate([np.unique(sparse), index[-half:]])
        return cls(index, history[index])

    def __len__(self) -> int:
        return len(self.index)

    def before(self, end: int) -> Rows:
        """Those within the first `end` samples."""
        inside = self.index < end - 1
        return Rows(self.index[inside], self.history[inside])

    def remembering(self, length: int) -> Indices:
        """The k whose last `length` samples were all observed; if those are few, all that have so many at all."""
        possible = self.index >= length - 1
        complete = possible & (self.history >= length)
        return self.index[complete if 3 * complete.sum() > possible.sum() else possible]


@dataclass(frozen=True, eq=False)
class Context:
    """values: (time, varying variables) in standard deviations around the mean, every `stride`-th up to the last.

    known: which of them were fully observed. rows: the fully observed transitions to solve from.
    pace: samples of `values` that the fastest period can do without between two.
    overdue: samples since the last fully observed one; they are forecast too.
    full: the filled context in its own units. seen: (time, variables) like `full`, thinned like `values`, observed or
    not.
    """

    values: Array
    known: Mask
    rows: Rows
    units: Units
    stride: int
    pace: int
    overdue: int
    varying: Mask
    full: Array
    seen: Mask
    notes: tuple[str, ...]

    @property
    def observed(self) -> Mask:
        """(time, variables) like `values`: which of them were observed. Partners of sinusoids are functions of time."""
        seen = self.seen[:, self.varying]
        return np.column_stack([seen, np.ones((len(seen), self.values.shape[1] - seen.shape[1]), dtype=np.bool_)])

    def only(self, kept: Mask) -> Context:
        """The same with some of its variables alone; `kept`: one for each that varies."""
        varying, columns = self.varying.copy(), np.nonzero(kept)[0]
        varying[np.nonzero(varying)[0][~kept]] = False
        units = Units(self.units.centre[columns], self.units.scale[columns])
        return replace(self, values=np.ascontiguousarray(self.values[:, columns]), units=units, varying=varying)


def fastest_period(scaled: Array, quiet: float = 1e-4, latest: int = 16384) -> float:
    """Samples of the period above which all but a share `quiet` of the variance of every variable lies; `latest` bounds
    the cost."""
    recent = scaled[-latest:]
    if not recent.shape[1]:
        return 1.0
    times = np.linspace(-1, 1, len(recent))[:, None]
    flat = recent - recent.mean(axis=0) - times * (recent * times).mean(axis=0) / np.mean(times**2)
    power = np.abs(np.fft.rfft(flat * np.hanning(len(flat))[:, None], axis=0)) ** 2
    tail = 1 - np.cumsum(power, axis=0) / np.maximum(power.sum(axis=0), 1e-300)
    fastest = int(np.max(np.argmax(tail < quiet, axis=0)))
    return len(flat) / max(fastest, 1)
