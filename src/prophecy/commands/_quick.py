r"""A small bank for very long files: every member a finite weighting of the last samples, all of them by one FFT.

`Prophecy` looks at each value in turn, which costs a good part of a millisecond. Here a piece of a file is predicted at
once: the members are least-squares polynomials over short and long windows (`exact` for a memory of the plain samples),
and at each row the one with the least discounted squared error so far is followed. What is given up: members solved in
context, mixing, intervals calibrated in context (these are Gaussian), and gaps (the last value is held).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import fft
from scipy.special import log_ndtr, ndtri

from prophecy.adaptive.members import least_squares

Array: TypeAlias = NDArray[np.float64]

MEMBERS = ((1, 0), (2, 1), (3, 2), (5, 3), (8, 1), (16, 2), (32, 3), (64, 2), (256, 3), (512, 5))
"""Window in samples and degree. The first two are the copy and the straight line."""

DISCOUNT = 0.98  # of past squared errors when members are compared
SPREAD = 0.99  # of past squared errors in the width of intervals
BLOCK = 16384  # samples per transform, and rows worked on at a time: some twenty arrays of them stay in the cache

TIES = 1 + 1e-6 * np.arange(len(MEMBERS))
"""Factors of losses: between equals the simpler member is followed, not the luckier rounding."""

FADING = DISCOUNT ** -np.arange(BLOCK, dtype=np.float64)
SPREADING = SPREAD ** -np.arange(BLOCK, dtype=np.float64)
"""Discounted sums as plain sums of growing terms: many times faster than a recursive filter. No term of a piece
overflows (0.98^-16384 = 1e144), and members are compared at the same row, where the factor is the same."""

SHORT = 512  # rows up to which plain products beat transforms: many small groups come in such pieces
OLD = 4000  # rows from which a discounted count is as large as it gets


class Answers(NamedTuple):
    """For each row, made before it was seen: the mean, its interval, and the spread of errors it comes from."""

    mean: Array
    lower: Array
    upper: Array
    spread: Array


class Quick:
    """Predictions `horizon` rows ahead for one series that arrives in pieces; where it is cut changes nothing."""

    def __init__(self, horizon: int = 1, level: float = 0.9) -> None:
        self._horizon, self._width = horizon, float(ndtri((1 + level) / 2))
        self._kernels, self._spectra, self._size = _weights(horizon)
        self._reach = self._kernels.shape[1] - 1
        self._rows = min(BLOCK, self._size - self._reach)
        self._past = np.empty(0)
        self._loss = np.zeros(len(MEMBERS))
        self._due = np.tile(np.arange(len(MEMBERS), dtype=np.float64)[:, None], horizon)  # at first, copy
        self._power = 0.0
        self._spreads = np.full(horizon, np.nan)
        self._seen = 0

    def advance(self, values: Array) -> Answers:
        """Take in the next rows of the series; NaN is a gap."""
        mean, spread = np.empty(len(values)), np.empty(len(values))
        for start in range(0, len(values), self._rows):
            rows = slice(start, start + self._rows)
            mean[rows], spread[rows] = self._piece(values[rows])
        half = self._width * spread
        return Answers(mean, mean - half, mean + half, spread)

    def _piece(self, values: Array) -> tuple[Array, Array]:
        u, known = self._filled(values)
        if not len(self._past):
            self._past = np.full(self._reach, u[0])
        gaps = None if known.all() else ~known
        offset = u[0]  # rounding is then relative to how far the piece moves; every member is exact for constants
        moved = u - offset
        members = self._members(np.concatenate([self._past - offset, moved]))
        best = np.full(len(u), np.inf)
        mean, error = np.empty(len(u)), np.empty(len(u))
        due = np.empty(self._horizon + len(u))
        loss = due[self._horizon :]
        for m, ahead in enumerate(members):
            miss = moved - ahead
            if gaps is not None:
                miss[gaps] = 0.0
            np.multiply(miss, miss, out=loss)
            loss *= FADING[: len(u)]
            loss[0] += DISCOUNT * self._loss[m] / TIES[m]
            np.cumsum(loss, out=loss)
            loss *= TIES[m]
            due[: self._horizon] = self._due[m]
            better = due[: len(u)] < best
            np.copyto(best, due[: len(u)], where=better)
            np.copyto(mean, ahead, where=better)
            np.copyto(error, miss, where=better)
            self._due[m], self._loss[m] = due[len(u) :], loss[-1] / FADING[len(u) - 1]
        mean += offset
        early = max(0, self._horizon - self._seen)
        mean[:early], error[:early] = np.nan, 0.0
        spread = self._spread(error)
        self._past = np.concatenate([self._past, u])[-self._reach :]
        self._seen += len(u)
        return mean, spread

    def _filled(self, values: Array) -> tuple[Array, NDArray[np.bool_]]:
        known = np.isfinite(values)
        if known.all():
            return values, known
        last = self._past[-1] if len(self._past) else 0.0
        where = np.maximum.accumulate(np.where(known, np.arange(len(values)), -1))
        return np.where(where >= 0, values[where], last), known

    def _members(self, joint: Array) -> Iterator[Array]:
        """What each member says of each row after the past, from rows at least `horizon` before it."""
        count = len(joint) - self._reach
        if count <= SHORT:
            yield from self._kernels @ np.lib.stride_tricks.sliding_window_view(joint, self._reach + 1)[:, ::-1].T
            return
        padded = np.zeros(self._size)
        padded[: len(joint)] = joint
        spectrum = fft.rfft(padded)
        for kernel in self._spectra:
            yield fft.irfft(spectrum * kernel, self._size, overwrite_x=True)[self._reach : self._reach + count]

    def _spread(self, error: Array) -> Array:
        """Discounted root mean square of the followed errors, as known when each prediction was made."""
        power = error * error
        power *= SPREADING[: len(error)]
        power[0] += SPREAD * self._power
        np.cumsum(power, out=power)
        power /= SPREADING[: len(error)]
        self._power = float(power[-1])
        if self._seen > OLD:
            fresh = np.sqrt(power * (1 - SPREAD))
        else:
            count = np.arange(self._seen + 1, self._seen + 1 + len(error), dtype=np.float64) - self._horizon
            with np.errstate(divide="ignore", invalid="ignore"):
                weight = -np.expm1(np.maximum(count, 0.0) * math.log(SPREAD)) / (1 - SPREAD)
                # One or two errors say little about the next: the widening is 5, 2, 1.4, … and soon nothing.
                fresh = np.sqrt(power / weight) * (1 + 4 * np.exp(-weight / 2))
        spreads = np.concatenate([self._spreads, fresh])
        self._spreads = spreads[-self._horizon :]
        return spreads[: len(error)]


@lru_cache(maxsize=8)
def _weights(horizon: int) -> tuple[Array, NDArray[np.complex128], int]:
    """Weights on the rows up to now, newest first, (members, reach + 1); their transforms, and the length of these."""
    longest = max(window for window, _ in MEMBERS)
    kernels = np.zeros((len(MEMBERS), horizon + longest))
    for kernel, (window, degree) in zip(kernels, MEMBERS, strict=True):
        kernel[horizon : horizon + window] = least_squares(window, degree, horizon)
    size = fft.next_fast_len(max(BLOCK, 4 * kernels.shape[1]), real=True)
    return kernels, np.asarray(fft.rfft(kernels, size)), size


def surprise(error: Array, spread: Array) -> Array:
    """-log10 of the probability of an error at least this large under a normal law with this spread."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(error == 0, 0.0, np.abs(error) / spread)
    return np.asarray(-(log_ndtr(-ratio) + math.log(2)) / math.log(10))
