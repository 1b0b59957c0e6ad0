"""Values at irregular times, brought to the grid of the typical interval so that every member of the bank takes part.

A place on the grid between two samples gets its value from the polynomial through the last samples. Its degree is odd,
1 to 13: the one that predicted each sample best from its neighbours lately, so that noise is joined by straight lines
and smooth signals come to the grid with next to all their digits. Where the bank's forecasts for samples have smaller
errors than that, the place gets the forecast plus what the two samples around it say the forecast is off by.
Holes of more than three typical intervals are gaps.
What is predicted for a moment between places lies on the path of the bank's forecasts, plus the part of the newest
sample's distance from that path that has turned out to persist: none, half or all of it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prophecy._compiled import inner
from prophecy.adaptive.clock import JITTER, RECENT
from prophecy.adaptive.fields import REAL, WHOLE, Field, record_type, within
from prophecy.adaptive.limits import LARGEST, MOST, SQUARED

DEGREES = np.array([1, 3, 5, 7, 9, 11, 13])
NODES = int(DEGREES[-1]) + 1
"""Degrees of the polynomials, and the samples the longest goes through. Odd ones: a place lies between two samples."""

CARRIED = np.array([0.0, 0.5, 1.0])
"""Parts of the newest sample's distance from the forecast path that may persist."""

FIELDS = (
    Field(
        "value", REAL, (RECENT,), -LARGEST, LARGEST, "signal", "the last values as they came, beside their stamps", True
    ),
    Field("newest", REAL, (), -1e37, 1e37, "s", "when the last known value came", True),
    Field("known", REAL, (), -LARGEST, LARGEST, "signal", "that value"),
    Field("seen", WHOLE, (), 0, MOST, "samples", "samples that `fit` was judged by"),
    Field(
        "fit",
        REAL,
        (len(DEGREES),),
        0,
        SQUARED,
        "signal²",
        "errors of samples predicted from their neighbours, by degree",
    ),
    Field("carry", REAL, (len(CARRIED),), 0, SQUARED, "signal²", "errors of forecasts with each of `CARRIED`"),
    Field("alarm", REAL, (), 0, 1, "1 - probability", "the alarm with the newest value", True),
)
"""All mean squared errors."""

SAMPLES = record_type(FIELDS)


def fresh_samples(count: int) -> NDArray[np.void]:
    """Samples of `count` streams that have seen nothing."""
    samples = np.zeros(count, dtype=SAMPLES)
    samples["newest"] = np.nan
    return samples


@inner
def hole(c: Any, t: Any) -> float:
    """Steps beyond which nothing is interpolated."""
    return t.irregular.hole_in_grid if c.irregular == JITTER else t.irregular.hole  # type: ignore[no-any-return]


@inner
def neville(x: Any, y: Any, count: int, at: float, room: Any, found: Any) -> None:
    """found[i]: the polynomial through the first i + 1 of `count` points, at `at` (Neville's scheme)."""
    for i in range(count):
        room[i] = y[i]
        for j in range(i - 1, -1, -1):
            room[j] = room[j + 1] + (room[j] - room[j + 1]) * ((at - x[i]) / (x[j] - x[i]))
        found[i] = room[0]


@inner
def nodes(c: Any, s: Any, t: Any, count: int, x: Any, y: Any) -> int:
    """Append to the point in x[0] (its time) and y[0] the known samples before it, newest first, out of the first
    `count`; returns how many points there are then. x becomes steps after the first point.

    Samples closer than `apart` to the one after them are passed over, and none is taken from beyond a hole.
    """
    time, found = x[0], 1
    x[0] = 0.0
    for ago in range(1, min(count, RECENT) + 1):
        place = (count - ago) % RECENT
        at = (c.recent[place] - time) / c.dt
        if x[found - 1] - at > t.irregular.hole:
            break
        if math.isnan(s.value[place]) or x[found - 1] - at < t.irregular.apart:
            continue
        x[found], y[found] = at, s.value[place]
        found += 1
        if found == NODES + 1:
            break
    return found


@inner
def judge(s: Any, t: Any, x: Any, y: Any, count: int, room: Any) -> None:
    """How well the sample before the newest is predicted from its neighbours by each degree."""
    if count < 3:
        return
    others_x, others_y, found = room[0], room[1], room[2]
    others_x[0], others_y[0] = x[0], y[0]
    for i in range(2, count):
        others_x[i - 1], others_y[i - 1] = x[i], y[i]
    neville(others_x, others_y, count - 1, x[1], room[3], found)
    s.seen += 1
    rate = 1.0 / min(s.seen, t.irregular.over)
    for k in range(len(DEGREES)):
        # What cannot be tried for lack of samples is as bad as the straight line.
        error = found[DEGREES[k] if DEGREES[k] < count - 1 else 1] - y[1]
        s.fit[k] += (min(error * error, SQUARED) - s.fit[k]) * rate


@inner
def best_fit(s: Any, t: Any) -> int:
    """Which of `DEGREES` has done best lately; a higher one only where it is clearly better."""
    best = 0
    if s.seen >= t.irregular.settled:
        for k in range(1, len(DEGREES)):
            if s.fit[k] < t.irregular.smoother * s.fit[best]:
                best = k
    return best


@inner
def degree(s: Any, t: Any) -> int:
    """The degree in use."""
    return DEGREES[best_fit(s, t)]  # type: ignore[no-any-return]


@inner
def by_forecast(s: Any, t: Any, error: float) -> bool:
    """Whether forecasts with this mean squared error bring samples to the grid better than polynomials do."""
    return s.seen >= t.irregular.over and error < s.fit[best_fit(s, t)]  # type: ignore[no-any-return]


@inner
def on_place(x: Any, y: Any, count: int, at: float, power: int, room: Any) -> float:
    """The polynomial of degree `power` (or as many as the points allow) at `at`, no farther from the two newest
    samples than the samples differ."""
    used = min(count, power + 1)
    neville(x, y, used, at, room[0], room[1])
    lowest, highest = y[0], y[0]
    for i in range(used):
        lowest, highest = min(lowest, y[i]), max(highest, y[i])
    before = y[1] if count > 1 else y[0]
    width = highest - lowest
    return min(max(room[1, used - 1], min(y[0], before) - width), max(y[0], before) + width)  # type: ignore[no-any-return]


@inner
def carried(s: Any, t: Any) -> float:
    """The part of the newest sample's distance from the path that persists."""
    best = 0
    for k in range(1, len(CARRIED)):
        if t.irregular.preferred * s.carry[k] < s.carry[best] * (t.irregular.preferred if best else 1.0):
            best = k
    return CARRIED[best]  # type: ignore[no-any-return]


@inner
def learn_carried(s: Any, t: Any, error: float, off: float) -> None:
    """Take in that the path erred by `error` where the newest sample was `off` from it."""
    rate = 1.0 / min(max(s.seen, 1), t.irregular.over)
    for k in range(len(CARRIED)):
        left = error - CARRIED[k] * off
        s.carry[k] += (min(left * left, SQUARED) - s.carry[k]) * rate


def check_samples(samples: NDArray[np.void], series: int) -> None:
    """Refuse samples no stream could have; ValueError."""
    if samples.dtype != SAMPLES or samples.shape != (series,):
        raise ValueError(f"samples must be {series} records of {SAMPLES.itemsize} bytes, got shape {samples.shape}")
    within(samples, FIELDS)
