"""Timestamps: where a value lies on the stream's grid, how many steps are missing before it, and by how much it is off.

One rule for all streams. The grid (its step and its phase) follows the stamps as a phase-locked loop does: slowly, so
that noise in single stamps averages out. A stamp within `OFF` of a place on the grid belongs to it, and the places
passed over are gaps. Where one stamp in five belongs to no place, the times are irregular: then values are brought to
the grid by interpolation (`irregular.py`), and the grid is looked for again every 32 values. What clocks do besides:

- a stamp that is not after the newest one is late, and its value is not taken in; after `LATE` late ones in a row the
  clock was set back, and the stream goes on from there, with a step for each of them;
- a hole of more than `LONGEST_HOLE` steps means a clock that was set forward: the stream goes on after one missing
  value;
- another rate (32 intervals in a row of two steps or more, or stamps between the places) starts a new grid from the
  values kept.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from prophecy._compiled import inner, kernel
from prophecy.adaptive.times import LARGEST_TIME, seconds

Array = NDArray[np.float64]

OFF = 0.3
"""A stamp farther than this from every place on the grid, in steps, is off it: jitter of ± 25 % and the error of the
phase stay inside, random times are off in two cases of five."""

IRREGULAR, REGULAR = 0.2, 0.1
"""Share of stamps off the grid above which times are irregular, and below which a grid found anew is believed."""

EXACT = 1e-6
"""Offsets below this share of a step are rounding: the value is taken as lying on the grid."""

LATE = 4
LONGEST_HOLE = 2**17
"""Stamps in a row that must lie before the newest one for the clock to have been set back; steps of a hole beyond
which it was set forward: 36 hours at one value a second."""

RECENT = 64
"""Stamps kept to look for a grid anew."""

EVERY = 32
FIRST_LOOKS = 256
"""The grid is looked at after 3, 4, 6, 8, 12, 16, 24, … values up to 256, then every 32, if there was anything odd."""

STEADY = 400
"""Stamps over which phase and step of the grid are fitted: with fewer, by least squares over all of them; then with the
weights that has after this many, so that a drifting clock is followed. Jitter of 10 % moves the phase by 0.6 %."""

FORGET = 32.0

CLOCK = np.dtype(
    [
        ("count", np.int64),
        ("given", np.int64),
        ("irregular", np.int64),
        ("late", np.int64),
        ("coarse", np.int64),
        ("odd", np.int64),
        ("dt", np.float64),
        ("last", np.float64),
        ("grid", np.float64),
        ("off", np.float64),
        ("recent", np.float64, (RECENT,)),
    ]
)
"""count: stamps taken; given: 1 where the user said the step; irregular: 1 while times fit no grid; late: stamps in a
row before the newest; coarse: intervals in a row of two steps or more; odd: 1 if anything but single steps came since
the last look; dt: the step, 0 before it is known; last: the newest stamp; grid: the newest place on the grid; off:
share of stamps that were off it lately; recent: the last stamps, at count modulo their number. Seconds throughout."""


@inner
def look_due(count: int) -> bool:
    """Whether the grid is looked at after this many stamps."""
    if count > FIRST_LOOKS:
        return count % EVERY == 0
    power = 1
    while power * 2 <= count:
        power *= 2
    return count >= 3 and (count == power or 2 * count == 3 * power)


@kernel
def place(clocks: Any, times: Any, steps: Any, offsets: Any) -> int:
    """Go through times (n,) until one after which the grid has to be looked at; returns how many were taken.

    steps (n,): from the place before to this one's, 0 for a value that came too late, negative where the clock was set.
    offsets (n,): how far each lies after its place, in steps.
    """
    c = clocks[0]
    for k in range(len(times)):
        time = times[k]
        offsets[k], steps[k] = 0.0, 1
        if c.count > 0 and not time > c.last:
            c.late += 1
            steps[k] = 0
            if c.late < LATE:
                continue
            steps[k] = -LATE
        elif c.count > 0:
            if c.dt == 0.0:
                c.dt = time - c.last
            ahead = (time - c.grid) / c.dt
            if ahead > LONGEST_HOLE:
                steps[k] = -2
            else:
                whole = max(math.floor(ahead + 0.5), 1.0)
                _follow(c, ahead - whole, whole)
                steps[k] = int(whole)
                offsets[k] = ahead - whole if abs(ahead - whole) > EXACT else 0.0
        if steps[k] < 0:
            for i in range(RECENT):
                c.recent[i] += time + steps[k] * c.dt - c.last
        if c.count == 0 or steps[k] < 0:
            c.grid = time
        c.late = 0
        c.last = time
        c.recent[c.count % RECENT] = time
        c.count += 1
        if c.odd == 1 and look_due(c.count):
            return k + 1
    return len(times)


@inner
def _follow(c: Any, offset: float, whole: float) -> None:
    """Move grid and step towards a stamp `whole` steps on and `offset` beside."""
    c.coarse = c.coarse + 1 if whole > 1.0 else 0
    c.off += ((1.0 if abs(offset) > OFF else 0.0) - c.off) / min(FORGET, float(c.count))
    if whole > 1.0 or abs(offset) > 0.05:
        c.odd = 1
    seen = float(min(c.count, STEADY))
    c.grid += c.dt * (whole + min(2.0 * (2.0 * seen - 1.0) / (seen * (seen + 1.0)), 1.0) * offset)
    if c.given == 0:
        c.dt *= 1.0 + 6.0 / ((seen + 1.0) * (seen + 2.0)) * offset / whole


def fresh_clock(dt: float | None) -> NDArray[np.void]:
    """A clock that has seen nothing."""
    clock = np.zeros(1, dtype=CLOCK)
    clock["given"], clock["dt"] = dt is not None, dt or 0.0
    return clock


def recent_times(clock: NDArray[np.void]) -> Array:
    """The last stamps, oldest first."""
    count = int(clock["count"][0])
    ring = clock["recent"][0]
    if count <= RECENT:
        return np.array(ring[:count])
    return np.roll(ring, -(count % RECENT))


def fit(times: Array) -> tuple[float, float]:
    """The coarsest grid these increasing times fit: its step, and the share of them that are off it.

    Where none fits, the median interval and 1. Tried are the median interval and the shortest usual
    one, whole and in 2 to 6 parts.
    """
    intervals = np.diff(times)
    usual, short = float(np.median(intervals)), float(np.quantile(intervals, 0.1))
    for step in sorted({basis / parts for basis in (usual, short) for parts in range(1, 7)}, reverse=True):
        dt = step
        for _ in range(3):
            places = np.concatenate([[0.0], np.cumsum(np.maximum(np.round(intervals / dt), 1.0))])
            dt, start = (float(x) for x in np.polyfit(places, times - times[0], 1))
            if not dt > 0.0:
                break
        if not dt > 0.0:
            continue
        miss = np.abs((times - times[0] - start) / dt - places)
        off = float(np.mean(miss > OFF))
        # Any times are within half a step of a fine enough grid, 0.25 on average: much better than that is asked.
        if off <= REGULAR and float(np.mean(miss)) < 0.15:
            return dt, off
    return usual, 1.0


def checked(clock: NDArray[np.void], time: ArrayLike | None, moments: int, count: int) -> Array | None:
    """`time` as (moments,) finite seconds; None where none are given."""
    if time is None:
        return None
    times = np.atleast_1d(seconds(time))
    if times.shape != (moments,):
        raise ValueError(f"time must be one number per moment, {moments} of them, got shape {np.shape(time)}")
    if count and not clock["count"][0]:
        raise ValueError("time must be given from the first value on or not at all; call reset first")
    bad = ~(np.abs(times) <= LARGEST_TIME)
    if np.isnan(times).any():
        first = int(np.argmax(np.isnan(times)))
        raise ValueError(
            f"time must be finite, and is missing at moment {first} of {moments}; drop moments without one"
        )
    if bad.any():
        raise ValueError(
            f"time must be finite and at most {LARGEST_TIME:g} in size, got {times[int(np.argmax(bad))]}; rescale it"
        )
    return times


def check_clock(clock: NDArray[np.void]) -> None:
    """Refuse a clock no stream could have reached; ValueError."""
    if clock.dtype != CLOCK or clock.shape != (1,):
        raise ValueError(f"clock must be one record of {CLOCK.itemsize} bytes")
    c = clock[0]
    for name in ("given", "irregular", "odd"):
        if c[name] not in (0, 1):
            raise ValueError(f"{name} of the clock must be 0 or 1, got {c[name]}")
    for name in ("count", "late", "coarse"):
        if not 0 <= c[name] <= 2**53:
            raise ValueError(f"{name} of the clock must lie between 0 and 2^53, got {c[name]}")
    numbers = np.concatenate([[c["last"], c["grid"]], c["recent"]])
    if not (np.abs(numbers) <= 2 * LARGEST_TIME).all() or not 0.0 <= c["off"] <= 1.0:
        raise ValueError("times of the clock must be finite and off a share")
    if not 0.0 <= c["dt"] <= 2 * LARGEST_TIME or (c["count"] > 1 and not c["dt"] > 0.0):
        raise ValueError(f"dt of the clock must be positive, got {c['dt']}")
