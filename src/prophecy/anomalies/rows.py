"""What is usual in a stretch of rows, and where it changes: medians, deviations, runs and steps."""

from __future__ import annotations

import numpy as np

from prophecy._arrays import Array
from prophecy.streams.limits import WINDOW

APART = WINDOW  # rows between flagged ones of one event at most: the 20 that the alarm averages level and noise over
AROUND = 200  # rows before an event that are taken as usual: they are recent, and their deviation is known to 5 %
SIDE = 5  # rows whose median is a level: the fewest of which two may be outliers

LENGTHS = (1, SIDE, APART, AROUND)  # rows a level is averaged over: one in a random walk, many in white noise
CUT = 4.0  # deviations at which a row is cut before it is averaged, so that no single one makes a change

RISING = 0.95  # share of the changes over 20 rows that have one sign where values rise or fall throughout, as counters


def change_of_mean(values: Array, start: int, end: int) -> tuple[float, float]:
    """By how much the mean of values[end:] differs from that of values[:start], in usual deviations and as it is.

    Usual are the differences between as many rows, as far apart, before `start`. Of the lengths to average over, those
    are taken by which they are smallest. Whether there is a change is asked of rows cut at what was usual before; how
    large it is, of those before and after as they are.
    """
    centre, deviation = median(values[:start][-5 * AROUND :]), robust_deviation(values[:start][-5 * AROUND :])
    known = np.where(np.isnan(values), centre, values)
    known = np.clip(known, centre - CUT * deviation, centre + CUT * deviation) if deviation > 0.0 else known
    sums, gap, there = np.concatenate([[0.0], np.cumsum(known)]), end - start, len(values) - end
    least, found, rows = np.inf, 0.0, (0, 0)
    for after in sorted({*LENGTHS[:-1], there}):
        for before in LENGTHS:
            at = np.arange(before, start - gap - after + 1)
            if not 0 < after <= there or before > start // 3 or len(at) < max(after, APART):
                continue
            at = np.append(at, start)
            changes = (sums[at + gap + after] - sums[at + gap]) / after - (sums[at] - sums[at - before]) / before
            most = CUT * robust_deviation(changes[:-1])
            usual = float(np.sqrt(np.mean(np.clip(changes[:-1], -most, most) ** 2)))
            if usual < least:
                least, found, rows = usual, float(changes[-1]), (before, after)
    if not found:
        return 0.0, 0.0
    amount = mean(values[end : end + rows[1]]) - mean(values[start - rows[0] : start])
    return (found / least if least else np.copysign(np.inf, found)), amount


def step_at(values: Array) -> int:
    """The place that parts values best into two of different means, `SIDE` or more in each; 0 for fewer."""
    known = np.nan_to_num(values - median(values))
    places = np.arange(SIDE, len(known) - SIDE)
    if not len(places):
        return 0
    sums = np.cumsum(known)
    left, right = sums[places - 1], sums[-1] - sums[places - 1]
    return int(places[np.argmax(left * left / places + right * right / (len(known) - places))])


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


def mean(values: Array) -> float:
    """Mean of what is known, with rows far from the others cut; 0 for nothing."""
    known = values[~np.isnan(values)]
    if not len(known):
        return 0.0
    reach = CUT * robust_deviation(known)
    return float(np.mean(np.clip(known, np.median(known) - reach, np.median(known) + reach)))


def size(errors: Array) -> float:
    """Mean absolute size of what is known; NaN for nothing."""
    known = np.abs(errors[~np.isnan(errors)])
    return float(np.mean(known)) if len(known) else np.nan


def median(values: Array) -> float:
    """Median of what is known; 0 for nothing."""
    known = values[~np.isnan(values)]
    return float(np.median(known)) if len(known) else 0.0


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
