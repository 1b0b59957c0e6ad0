"""What is usual in a stretch of rows, and what differs from it: sizes, medians, runs, steps and splits."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from prophecy.streams.settings import DEFAULT

Array: TypeAlias = NDArray[np.float64]

APART = DEFAULT.alarms.window
"""Rows between flagged ones that still belong to one event: the 20 that the alarm averages level and noise over."""

AROUND = 200
"""Rows before an event that are taken as usual: a standard deviation of so many is known to 5 %, and they are
recent."""

RISING = 0.95
"""Share of all changes over 20 rows that have one sign where values rise or fall throughout, as counters do; of
values that do not, half have."""

SIDE = 5
"""Rows before and after an event whose medians are compared to find a step of the level: the fewest of which two may
be outliers."""

JUMP = 4.0
"""Standard deviations (from the median absolute one) between medians that make a shift. Medians of five normal rows
differ by 0.76 of them, so that this comes by chance once in ten million."""

CHANGED = 1.8
"""Ratio of the sizes of errors that is a change of noise: medians of 20 normal errors differ by that in 2 % of
cases."""


def step_of(before: Array, own: Array, long: int, period: int) -> float:
    """By how much more the medians of `SIDE` rows right before and after an event differ than they did a season
    earlier; 0 where such differences are usual. Seasons that differ, as days in a week do, hide a shift less here."""
    values = np.concatenate([before, own[: long + SIDE]])
    if len(own) < long + SIDE or len(values) < period + AROUND + long + 2 * SIDE:
        return 0.0
    medians = np.nanmedian(np.lib.stride_tricks.sliding_window_view(values[-period - AROUND :], SIDE), axis=1)
    rises = medians[SIDE + long :] - medians[: -SIDE - long]
    changes = rises[period:] - rises[:-period]
    known = changes[:-1][np.isfinite(changes[:-1])]
    step = float(changes[-1])
    return step if len(known) > SIDE and abs(step) > JUMP * robust_deviation(known) else 0.0


def change_of_size(errors: Array, usual: Array) -> float:
    """How many times as large as usual at least 20 errors are, by their medians, which the traces of a spike do not
    move; 1 for fewer."""
    return median(np.abs(errors)) / max(median(np.abs(usual)), 1e-300) if len(errors) >= APART else 1.0


def other_noise(errors: Array, usual: Array) -> bool:
    """Whether at least 20 errors are of another size than usual."""
    return not 1.0 / CHANGED <= change_of_size(errors, usual) <= CHANGED


def split(errors: Array, among: int) -> int | None:
    """The place that parts errors[:among] best into two normal samples of different size, 20 or more in each; None
    where their sizes do not differ by `CHANGED`."""
    squares = np.nan_to_num(errors[:among]) ** 2
    places = np.arange(APART, among - APART)
    if not len(places):
        return None
    sums = np.cumsum(squares)
    left, right = sums[places - 1] / places, (sums[-1] - sums[places - 1]) / (among - places)
    tiny = 1e-300 + 1e-12 * sums[-1] / among
    cost = places * np.log(left + tiny) + (among - places) * np.log(right + tiny)
    best = int(np.argmin(cost))
    ratio = np.sqrt((right[best] + tiny) / (left[best] + tiny))
    return int(places[best]) if ratio > CHANGED or ratio < 1.0 / CHANGED else None


def step_at(values: Array) -> int:
    """The place that parts values best into two of different means, `SIDE` or more in each; 0 for fewer."""
    known = np.nan_to_num(values - median(values))
    places = np.arange(SIDE, len(known) - SIDE)
    if not len(places):
        return 0
    sums = np.cumsum(known)
    left, right = sums[places - 1], sums[-1] - sums[places - 1]
    return int(places[np.argmax(left * left / places + right * right / (len(known) - places))])


def means_of(values: Array, window: int) -> float:
    """The standard deviation of means of so many values in a row; infinite where there are none."""
    sums = np.cumsum(np.nan_to_num(values))
    return float(np.std((sums[window:] - sums[:-window]) / window)) if 0 < window < len(sums) - 1 else float("inf")


def rise_of(values: Array) -> float:
    """By how much values rise a row (fall where it is negative), where they do so throughout; 0 elsewhere."""
    known = values[~np.isnan(values)]
    if len(known) < 2 * APART:
        return 0.0
    changes = known[APART:] - known[:-APART]
    one_way = np.mean(changes > 0) >= RISING or np.mean(changes < 0) >= RISING
    return float(np.median(changes)) / APART if one_way else 0.0


def robust_deviation(values: Array) -> float:
    """A standard deviation that outliers do not move."""
    known = values[~np.isnan(values)]
    if len(known) < 2:
        return 0.0
    return 1.4826 * float(np.median(np.abs(known - np.median(known)))) or float(np.std(known))


def size(residuals: Array) -> float:
    """Mean absolute size of what is known; NaN for nothing."""
    known = np.abs(residuals[~np.isnan(residuals)])
    return float(np.mean(known)) if len(known) else np.nan


def held(values: Array) -> Array:
    """Values with each missing one replaced by the last known before it."""
    last = np.maximum.accumulate(np.where(np.isnan(values), 0, np.arange(len(values))))
    return np.asarray(values[last])


def longest_run(values: Array) -> int:
    """The most equal values in a row, missing ones between them among them."""
    if not len(values):
        return 0
    cuts = np.flatnonzero(np.diff(held(values)) != 0.0)
    edges = np.concatenate([[-1], cuts, [len(values) - 1]])
    return int(np.diff(edges).max())


def run_at_end(values: Array) -> int:
    """How many of the last values are the same, missing ones between them among them."""
    values = held(values)
    other = np.flatnonzero(values[::-1] != values[-1]) if len(values) else np.zeros(0)
    return int(other[0]) if len(other) else len(values)


def median(values: Array) -> float:
    """Median of what is known; 0 for nothing."""
    known = values[~np.isnan(values)]
    return float(np.median(known)) if len(known) else 0.0


def alike(values: Array) -> float:
    """How much neighbours resemble each other: their autocorrelation, 0 for noise."""
    known = values[~np.isnan(values)]
    power = float(np.sum(known * known))
    return float(np.sum(known[1:] * known[:-1])) / power if power > 0.0 else 0.0
