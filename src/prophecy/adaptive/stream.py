"""Streams in time: records, the clock of their timestamps if there are any, and the context kept for `forecast`."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prophecy.adaptive import step
from prophecy.adaptive.clock import LONGEST_GAP, Clock, whole_multiples
from prophecy.adaptive.context import Context
from prophecy.adaptive.members import FIXED, between, table
from prophecy.adaptive.record import Records, fresh
from prophecy.adaptive.settings import Settings
from prophecy.adaptive.timed import TimedBank

Array = NDArray[np.float64]

WORTH_THREADS = 20_000
"""Values from which on several series are run in threads: some 40 ms of work, against 0.1 ms to start them."""

REPLAYED = 256
RECHECKS = (16, 64, 256)
"""After this many values at irregular times the typical interval is looked at again, and the memories made anew if it
was misjudged."""

_NOWHERE, _NOTHING = between(0.9), np.zeros((0, 0, 0))


class Ahead(NamedTuple):
    """A forecast of each series: its mean, how many times wider than one step ahead its interval is, and what is added
    to half its width."""

    mean: Array
    wider: Array
    more: Array


class Stream:
    """A number of series whose values come together; everything is checked before it comes here."""

    def __init__(self, series: int, dt: float | None, hold: bool, context: int, settings: Settings) -> None:
        self.series, self.hold, self.settings = series, hold, settings
        self.table = table(settings)
        self.records: Records = fresh(series, self.table, hold)
        self.timed: TimedBank | None = None
        self.clock = Clock(dt)
        self.context = Context(series, context)
        self.count = 0
        self._one = np.empty((1, 1))
        self._two = np.empty((2, series))

    def take_number(self, value: float) -> bool:
        """The short way for one number without a time into a single series; False if the long way is needed."""
        if self.clock.last is not None:
            return False
        self._one[0, 0] = value
        step.run(self.records, self.table, self._one, _NOWHERE, _NOTHING, 0, 1)
        self.context.append(value, 0.0)
        self.count += 1
        return True

    def run(self, moments: Array, times: Array | None, level: float | None = None) -> Array:
        """Take in moments (time, series); with a level, mean, half width and score as they were: (3, time, series)."""
        out = np.full((3, *moments.shape), np.nan) if level is not None else _NOTHING
        where = between(0.9 if level is None else level)
        if times is None:
            feed(self.records, self.table, moments, where, out)
            self.context.extend(moments.T)
            self.count += len(moments)
            return out
        k = 0
        while k < len(moments):
            if self.timed is None:
                k = self._run_grid(moments, times, k, where, out)
            if k < len(moments):
                self._run_timed(moments[k], float(times[k]), level, out[:, k] if len(out) else None)
                k += 1
        return out

    def _run_grid(self, moments: Array, times: Array, k: int, where: tuple[int, bool, float], out: Array) -> int:
        """Moments from the k-th on for as long as their times fit a grid, with gaps for the steps between them."""
        while k < len(moments):
            missing: list[int] = []
            for time in times[k:].tolist():
                between_them = self.clock.missing(time, self.count + len(missing))
                if between_them is None:
                    break
                missing.append(min(between_them, LONGEST_GAP))
                self.clock.last = time
            stop = k + len(missing)
            self._take_grid(moments[k:stop], times[k:stop], missing, where, out[:, k:stop])
            k = stop
            if k < len(moments):
                finer = self._finer_steps(float(times[k]))
                if finer is None:
                    self._make_timed(float(times[k]))
                    return k
                self.clock.last = float(times[k])
                self._take_grid(moments[k : k + 1], times[k : k + 1], [finer], where, out[:, k : k + 1])
                k += 1
        return k

    def _take_grid(
        self, moments: Array, times: Array, missing: list[int], where: tuple[int, bool, float], out: Array
    ) -> None:
        rows = np.arange(len(moments)) + np.cumsum(np.array(missing, dtype=np.int64))
        filled = np.full((int(rows[-1]) + 1 if len(rows) else 0, self.series), np.nan)
        filled[rows] = moments
        noted = np.empty((3, *filled.shape)) if len(out) else _NOTHING
        feed(self.records, self.table, filled, where, noted)
        if len(out):
            out[:] = noted[:, rows]
        self.context.extend(moments.T, times)
        self.count += len(moments)

    def _run_timed(self, moment: Array, time: float, level: float | None, out: Array | None) -> None:
        bank = self.timed
        assert bank is not None
        if out is not None and level is not None:
            out[0], out[1] = self.mean_and_half(level, time)
            out[2] = self.surprise(moment, time)
        after = 0.0 if self.clock.last is None else time - self.clock.last
        bank.observe(moment, after, ~np.isnan(moment), self.hold)
        self.context.append(moment, time)
        self.clock.last = time
        self.count += 1
        if self.count in RECHECKS:
            intervals = np.diff(self.context.times())
            if len(intervals) >= 4 and not 0.8 < np.median(intervals) / bank.typical < 1.25:
                self._make_timed(time + float(np.median(intervals)))

    def ahead(self, time: float | None) -> Ahead:
        """The forecast for this time, one step ahead by default."""
        clock = self.clock
        if time is not None and clock.last is None:
            raise ValueError(f"time {time} means nothing to a model without timestamps; give them to observe first")
        if time is not None and not time > (clock.last or -np.inf):
            raise ValueError(f"time must lie after the last value's, {clock.last}, got {time}")
        after = None if time is None or clock.last is None else time - clock.last
        if self.timed is not None:
            return Ahead(*self.timed.forecast(after), np.zeros(self.series))
        steps = 1.0 if after is None else after / clock.step
        if abs(steps - 1.0) > clock.jitter:
            return self._beyond(steps)
        step.look(self.records, self.table, _NOWHERE, self._two)
        return Ahead(self._two[0].copy(), self.records["gap"] + 1.0, np.zeros(self.series))

    def _beyond(self, steps: float) -> Ahead:
        """Any number of steps ahead: as across a gap, and between two steps along the cubic through four.

        How far that is from the straight line says how much the interval does not know about what lies between.
        """
        count = min(int(np.ceil(steps - self.clock.jitter)), LONGEST_GAP)
        records, gap = self.records.copy(), np.full((1, self.series), np.nan)
        path = [records["last"] + records["feature"][:, 1], records["last"].copy()]
        wider = np.ones(self.series)
        for k in range(count + 1):
            step.look(records, self.table, _NOWHERE, self._two)
            path.append(self._two[0].copy())
            wider = records["gap"] + 1.0 if k < count else wider
            feed(records, self.table, gap)
        part = min(steps - (count - 1), 1.0)
        if part > 1.0 - self.clock.jitter:
            return Ahead(path[count + 1], wider, np.zeros(self.series))
        before, left, right, after = path[count - 1 : count + 3]
        line = left + (right - left) * part
        bend = (before - 2.0 * left + right) * (2.0 - part) + (left - 2.0 * right + after) * (1.0 + part)
        curve = line - bend * part * (1.0 - part) / 6.0
        return Ahead(curve, wider, np.abs(curve - line))

    def mean_and_half(self, level: float, time: float | None) -> tuple[Array, Array]:
        """The forecast and half the width of its interval, both (series,)."""
        if time is None and self.timed is None:
            step.look(self.records, self.table, between(level), self._two)
            return self._two[0].copy(), self._two[1].copy()
        mean, wider, more = self.ahead(time)
        half = self._one_step_half(level) * wider + more
        # No interval is narrower than the numbers themselves.
        return mean, np.maximum(half, np.spacing(np.abs(mean)))

    def only_mean_and_half(self, level: float) -> tuple[float, float]:
        """`mean_and_half` one step ahead of a single series."""
        if self.timed is None:
            return step.look(self.records, self.table, between(level), self._two)
        mean, half = self.mean_and_half(level, None)
        return float(mean[0]), float(half[0])

    def _one_step_half(self, level: float) -> Array:
        if self.timed is not None:
            return self.timed.half_width(level)
        step.look(self.records, self.table, between(level), self._two)
        return np.asarray(self._two[1] / (self.records["gap"] + 1.0), dtype=np.float64)

    def surprise(self, moment: Array, time: float | None) -> Array:
        """The score of a moment (series,) if it came next."""
        mean, wider, more = self.ahead(time)
        errors, scores = np.maximum(np.abs(moment - mean) - more, 0.0) / wider, np.empty(self.series)
        if self.timed is not None:
            return self.timed.score(errors)
        step.judge(self.records, self.table, errors, scores)
        return np.where(np.isnan(moment), np.nan, scores)

    def slope(self) -> tuple[Array, Array]:
        """The derivative at the newest value, per second, (series,), and what each readout counts for in it."""
        if self.timed is not None:
            return self.timed.slope(), np.zeros((self.series, 0))
        out, shares = np.empty(self.series), np.empty((self.series, FIXED))
        step.slopes(self.records, self.table, out, shares)
        return out / self.clock.step, shares

    def shares(self) -> Array:
        """How much each member counts in the forecast: (series, members), rows add up to 1."""
        records = self.records if self.timed is None else self.timed.records
        shares = records["weight"] / np.where(records["scale"] > 0.0, records["scale"], 1.0)
        return np.asarray(shares / shares.sum(axis=1, keepdims=True), dtype=np.float64)

    def regular_context(self) -> Array:
        """The values kept, (series, time), brought to the typical interval by straight lines where it is irregular."""
        values = self.context.values()
        if self.timed is None:
            return values
        times = self.context.times()
        grid = np.arange(times[-1], times[0], -self.timed.typical)[::-1]
        return np.stack([np.interp(grid, times[~np.isnan(row)], row[~np.isnan(row)]) for row in values])

    def _finer_steps(self, time: float) -> int | None:
        """Start over on a finer grid, where the first interval turns out to have been several steps.

        Returns how many steps are missing before `time`; None where there is no such grid or it is too late for one.
        """
        if self.clock.given is not None or self.count > min(REPLAYED, self.context.length):
            return None
        values, times = self.context.values().T, self.context.times()
        grid = whole_multiples(np.diff(np.append(times, time)))
        if grid is None:
            return None
        self.clock.dt, steps = grid
        self.records = fresh(self.series, self.table, self.hold)
        rows = np.concatenate([[0], np.cumsum(steps[: len(values) - 1])]).astype(np.int64)
        filled = np.full((int(rows[-1]) + 1, self.series), np.nan)
        filled[rows] = values
        feed(self.records, self.table, filled)
        return steps[-1] - 1

    def _make_timed(self, time: float) -> None:
        """Start over from the last values with memories for true intervals, the next of which ends at `time`."""
        times, values = self.context.times()[-REPLAYED:], self.context.values()[:, -REPLAYED:]
        intervals = np.diff(np.append(times, time))
        self.timed = TimedBank(self.series, float(np.median(intervals)), self.settings)
        for k, moment in enumerate(values.T):
            after = float(intervals[k - 1]) if k else 0.0
            self.timed.observe(moment, after, ~np.isnan(moment), self.hold)


def feed(
    records: Records,
    table: NDArray[np.void],
    values: Array,
    where: tuple[int, bool, float] = _NOWHERE,
    out: Array = _NOTHING,
) -> None:
    """`step.run` over all records, in threads where there is enough to do; the numbers do not depend on that."""
    values, count = np.ascontiguousarray(values), len(records)
    workers = min(_cores(), count) if values.size >= WORTH_THREADS else 1
    if workers == 1:
        step.run(records, table, values, where, out, 0, count)
        return
    edges = [count * i // workers for i in range(workers + 1)]
    with ThreadPoolExecutor(workers) as pool:  # made anew each time: threads do not survive a fork
        jobs = [pool.submit(step.run, records, table, values, where, out, a, b) for a, b in pairwise(edges)]
        for job in jobs:
            job.result()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
