"""Timestamps: which interval is a regular step, which a gap of several, and which neither."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
from numpy.typing import ArrayLike, NDArray

from prophecy import _checks

Array = NDArray[np.float64]

JITTER = 0.01
"""An interval within this share of a step of a whole number of steps counts as that many."""

LONGEST_GAP = 256
SHORTEST, LONGEST = 1e-30, 1e30
REMEMBERED = 1000
"""Intervals the regular step is averaged over, where nobody said what it is."""


class Clock:
    """The time of the last value, if times are known, and the regular step."""

    jitter = JITTER

    def __init__(self, dt: float | None) -> None:
        self.given = dt
        self.dt = dt
        self.last: float | None = None

    @property
    def step(self) -> float:
        """The regular step in seconds; 1 where nobody said."""
        return 1.0 if self.dt is None else self.dt

    def checked(self, time: ArrayLike | None, moments: int, count: int) -> Array | None:
        """`time` as (moments,) increasing seconds after the last value's; None where there are no timestamps at all."""
        if time is None:
            if self.last is None:
                return None
            return np.asarray(self.last + self.step * np.arange(1, moments + 1), dtype=np.float64)
        times = np.atleast_1d(seconds(time))
        if times.shape != (moments,):
            raise ValueError(f"time must be one number per moment, {moments} of them, got shape {np.shape(time)}")
        if count and self.last is None:
            raise ValueError("time must be given from the first value on or not at all; call reset first")
        before = np.concatenate([[-np.inf if self.last is None else self.last], times])
        bad = ~(np.isfinite(times) & (np.diff(before) > 0.0))
        if bad.any():
            first = int(np.argmax(bad))
            raise ValueError(f"time must be finite and increase, got {times[first]} after {before[first]}")
        steps = np.diff(before)[0 if self.last is not None else 1 :]
        if steps.size and not (steps.min() >= SHORTEST and steps.max() <= LONGEST):
            worst = steps.min() if steps.min() < SHORTEST else steps.max()
            raise ValueError(
                f"time must advance by {SHORTEST:g} to {LONGEST:g}, got an interval of {worst:g}; rescale it"
            )
        return times

    def missing(self, time: float, count: int) -> int | None:
        """How many regular steps lie between the last of `count` values and this one, None if it falls on no step."""
        if self.last is None:
            return 0
        interval = time - self.last
        if self.dt is None:
            self.dt = interval
        steps = interval / self.dt
        whole = max(round(min(steps, 1e9)), 1)
        if abs(steps - whole) > JITTER:
            return None
        if self.given is None:
            self.dt += (interval / whole - self.dt) / min(count, REMEMBERED)
        return whole - 1


def seconds(time: ArrayLike) -> Array:
    """Times as seconds: numbers as they are, dates as seconds since 1970 (without a time zone: in UTC)."""
    array = np.asarray(time)
    if array.dtype.kind == "M":
        since = (array - np.datetime64(0, "s")).astype("timedelta64[ns]")
        return np.asarray(np.where(np.isnat(since), np.nan, since.astype(np.int64) / 1e9), dtype=np.float64)
    if array.dtype == object and array.size and all(isinstance(moment, datetime) for moment in array.flat):
        moments = [moment if moment.tzinfo else moment.replace(tzinfo=UTC) for moment in array.flat]
        return np.array([moment.timestamp() for moment in moments]).reshape(array.shape)
    return np.asarray(_checks.real_array("time", time), dtype=np.float64)


def whole_multiples(intervals: Array) -> tuple[float, list[int]] | None:
    """The shortest interval and how often it goes into each, None unless it does so a whole number of times."""
    step = float(intervals.min())
    ratios = intervals / step
    counts = np.round(ratios)
    if np.abs(ratios - counts).max() > JITTER or counts.max() > LONGEST_GAP:
        return None
    return float(intervals.sum() / counts.sum()), [int(count) for count in counts]
