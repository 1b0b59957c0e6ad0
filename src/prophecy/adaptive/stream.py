"""Streams in time: records and rings, the clock of their timestamps if there are any, and the context for
`forecast`."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prophecy import _machine
from prophecy.adaptive import clock as clocks
from prophecy.adaptive import step
from prophecy.adaptive.context import Context
from prophecy.adaptive.irregular import CARRIED, HOLE, Irregular
from prophecy.adaptive.members import FIXED, between, table
from prophecy.adaptive.record import Records, fresh, rings
from prophecy.adaptive.seasonal import due, look_for_seasons, until_due
from prophecy.adaptive.settings import Settings

Array = NDArray[np.float64]

WORTH_THREADS = 20_000
"""Values from which on several series are run in threads: some 40 ms of work, against 0.1 ms to start them."""

REPLAYED = 256
"""Past values a new grid is started from."""

LONGEST_REPLAYED = 1024
"""Steps of the longest hole among them; what lies before it is left out."""

FARTHEST = 4096
"""Steps the forecast is walked ahead; beyond them its mean stays and only the interval goes on widening."""

_NOWHERE, _NOTHING, _NONE, _SINGLE = between(0.9), np.zeros((0, 0, 0)), np.zeros(0), np.zeros(0, dtype=np.int64)


class Ahead(NamedTuple):
    """A forecast of each series: its mean, and how many times wider than one step ahead its interval is, plus
    `more`."""

    mean: Array
    wider: Array
    more: Array


class Stream:
    """A number of series whose values come together; everything is checked before it comes here."""

    def __init__(self, series: int, dt: float | None, hold: bool, context: int, settings: Settings) -> None:
        self.series, self.hold, self.settings = series, hold, settings
        self.table = table(settings)
        self.records: Records = fresh(series, self.table, hold)
        self.rings = rings(series)
        self.clock = clocks.fresh_clock(dt)
        self.irregular = Irregular(series)
        self.context = Context(series, context)
        self.count = 0
        self._left = 0  # values until seasons may have to be looked for; 0 where that is not known
        self._one = np.empty((1, 1))
        self._two = np.empty((2, series))

    @property
    def stamped(self) -> bool:
        """Whether values come with timestamps."""
        return bool(self.clock["count"][0])

    @property
    def dt(self) -> float:
        """The step of the grid in seconds; 1 where nobody said."""
        return float(self.clock["dt"][0]) or 1.0

    @property
    def is_irregular(self) -> bool:
        return bool(self.clock["irregular"][0])

    def take_number(self, value: float) -> bool:
        """The short way for one number without a time into a single series; False if the long way is needed."""
        if self.stamped:
            return False
        self._one[0, 0] = value
        step.run(self.records, self.rings, self.table, self._one, _SINGLE, _NONE, _NOWHERE, _NOTHING, 0, 1)
        self._left -= 1
        if self._left <= 0:
            if due(self.records):
                look_for_seasons(self.records, self.rings)
            self._left = int(self.records["season_check"][0] - self.records["count"][0])
        self.context.append(value, 0.0)
        self.count += 1
        return True

    def run(self, moments: Array, times: Array | None, level: float | None = None) -> Array:
        """Take in moments (time, series); mean, half width, score and alarm, (4, time, series), if a level is asked
        for."""
        self._left = 0
        out = np.full((len(moments), 4, self.series), np.nan) if level is not None else _NOTHING
        where = between(0.9 if level is None else level)
        if times is None and not self.stamped:
            feed(self.records, self.rings, self.table, moments, where=where, out=out)
            self.context.extend(moments.T)
            self.count += len(moments)
            return np.moveaxis(out, 1, 0)
        if times is None:
            times = self._next_times(len(moments))
        k = 0
        while k < len(moments):
            if self.is_irregular:
                self._take_irregular(moments[k], float(times[k]), level, out[k] if len(out) else None)
                k += 1
            else:
                k += self._take_grid(moments[k:], times[k:], where, out[k:])
            if self.clock["odd"][0] and clocks.look_due(int(self.clock["count"][0])):
                self._look_at_grid()
        return np.moveaxis(out, 1, 0)

    def _next_times(self, count: int) -> Array:
        """The times of moments that came without any: one step after the other, a float64 apart at least."""
        start = float(self.clock["grid"][0] if not self.is_irregular else self.clock["last"][0])
        times: Array = np.asarray(start + self.dt * np.arange(1, count + 1), dtype=np.float64)
        if not times[0] > self.clock["last"][0] or not (np.diff(times) > 0.0).all():
            # A step below the resolution of the stamps: the clock is moved where its steps can be told apart.
            self._set_clock(0.0)
            times = np.asarray(self.dt * np.arange(1, count + 1), dtype=np.float64)
        return times

    def _take_grid(self, moments: Array, times: Array, where: tuple[int, bool, float], out: Array) -> int:
        """Moments for as long as nothing is odd about the grid; returns how many."""
        steps, offsets = np.empty(len(times), dtype=np.int64), np.empty(len(times))
        taken = clocks.place(self.clock, times, steps, offsets)
        set_at = np.flatnonzero(steps[:taken] < 0)
        start = 0
        for stop in [*set_at.tolist(), taken]:
            piece = slice(start, stop)
            self._feed_grid(moments[piece], times[piece], steps[piece], offsets[piece], where, out[piece])
            start = stop
            if stop < taken:
                self._shift_context(float(times[stop]), int(-steps[stop]))
                steps[stop] = -steps[stop]
        return taken

    def _feed_grid(
        self,
        moments: Array,
        times: Array,
        steps: NDArray[np.int64],
        offsets: Array,
        where: tuple[int, bool, float],
        out: Array,
    ) -> None:
        on_time = steps > 0
        if not on_time.all():
            moments, times, steps, offsets = moments[on_time], times[on_time], steps[on_time], offsets[on_time]
        if not len(steps):
            return
        noted = np.empty((len(moments), 4, self.series)) if len(out) else _NOTHING
        feed(
            self.records,
            self.rings,
            self.table,
            moments,
            _SINGLE if (steps == 1).all() else steps,
            offsets if offsets.any() else _NONE,
            where,
            noted,
        )
        if len(out):
            out[on_time] = noted
        self.context.extend(moments.T, times)
        self.count += len(moments)

    def _take_irregular(self, moment: Array, time: float, level: float | None, out: Array | None) -> None:
        clock = self.clock[0]
        if not time > clock["last"]:
            clock["late"] += 1
            if clock["late"] < clocks.LATE:
                return
            self._shift_context(time, clocks.LATE)
        elif time - clock["last"] > clocks.LONGEST_HOLE * clock["dt"]:
            self._shift_context(time, 2)
        errors, inside = self._judge_irregular(moment, time)
        if out is not None and level is not None:
            out[0], out[1] = self.mean_and_half(level, time)
            out[2] = self.surprise(moment, time)
        self.irregular.learn(errors, inside)
        places = math.floor((time - clock["grid"]) / clock["dt"] + 1e-9)
        self._fill(moment, time, places)
        if out is not None:
            out[3] = np.where(np.isnan(moment), np.nan, self.records["alarm"] if places else 0.0)
        clock["grid"] += clock["dt"] * places
        self.irregular.add(time, moment)
        self.context.append(moment, time)
        clock["recent"][clock["count"] % clocks.RECENT] = time
        clock["count"] += 1
        clock["late"], clock["last"] = 0, time
        self.count += 1

    def _fill(self, moment: Array, time: float, places: int) -> None:
        """The next `places` of the grid, from the newest sample to this one."""
        clock = self.clock[0]
        holes = max(places - 16, 0)
        if holes:
            self._gap(self.records, self.rings, holes)
        grid = clock["grid"] + clock["dt"] * np.arange(holes + 1, places + 1)
        if len(grid):
            feed(self.records, self.rings, self.table, self.irregular.between(time, moment, grid, self.dt))

    def _gap(self, records: Records, ring: Array, steps: int) -> None:
        """Nothing known for so many steps."""
        if steps > 0:
            feed(records, ring, self.table, np.full((1, self.series), np.nan), np.array([steps], dtype=np.int64))

    def _judge_irregular(self, moment: Array, time: float) -> tuple[Array, NDArray[np.bool_]]:
        """The errors of the path's forecast for `time` with each part carried, and whether 90 % intervals hold
        `moment`."""
        path, off = self._path(time)
        errors = np.stack([moment - path - part * off for part in CARRIED])
        mean, half = self.mean_and_half(0.9, time)
        return errors, np.abs(moment - mean) <= half

    def _path(self, time: float) -> tuple[Array, Array]:
        """The bank's forecast path at `time`, and how far the newest sample lies from the path."""
        clock = self.clock[0]
        newest = (float(clock["last"]) - float(clock["grid"])) / self.dt
        ahead = (time - float(clock["grid"])) / self.dt
        values = self.irregular.samples["value"][:, -1]
        off = values - self._walk(newest)[0] if newest > 1e-9 else np.zeros(self.series)
        return self._walk(ahead)[0], np.where(np.isfinite(off), off, 0.0)

    def _look_at_grid(self) -> None:
        """Whether the stamps still fit the grid; if not, go irregular, come back, or start a new grid."""
        clock = self.clock[0]
        times = clocks.recent_times(self.clock)
        if len(times) < 3 or not (np.diff(times) > 0.0).all():
            return
        young = int(clock["count"]) <= clocks.FIRST_LOOKS
        fine = clock["off"] <= clocks.IRREGULAR and clock["coarse"] < clocks.EVERY
        if not clock["irregular"] and fine and not (young and not clock["given"]):
            clock["odd"] = clock["coarse"] > 0 or clock["off"] > 0.0
            return
        dt, off = clocks.fit(times)
        regular = off <= clocks.REGULAR
        same = abs(math.log(dt / float(clock["dt"]))) < (0.02 if regular else 0.25 if young else 0.5)
        if regular and same:
            if clock["irregular"]:
                clock["irregular"], clock["off"] = 0, 0.0
                clock["dt"], clock["grid"] = dt, clock["last"]
            return
        if not regular and len(times) < 16:
            return
        if not regular and clock["irregular"] and same:
            return
        self._start_over(dt, regular, times)

    def _start_over(self, dt: float, regular: bool, times: Array) -> None:
        """Continue from the values kept on another grid, or interpolated to it. What was learned per step is void."""
        clock = self.clock[0]
        known, values = self.context.times(), self.context.values()
        young = int(clock["count"]) <= clocks.FIRST_LOOKS
        after = -np.inf if young else times[0]
        recent = np.flatnonzero(known >= after)[-REPLAYED:]
        known, values = known[recent], values[:, recent]
        if abs(dt / float(clock["dt"]) - 1.0) >= 0.02:
            self.records, self.rings = fresh(self.series, self.table, self.hold), rings(self.series)
        clock["dt"], clock["irregular"] = dt, not regular
        clock["off"], clock["coarse"] = 0.0, 0
        clock["grid"] = clock["last"]
        self.irregular = Irregular(self.series)
        if not len(known):
            return
        if not regular:
            self.irregular.begin(known, values)
        if self.records["count"].any():
            return
        holes = np.flatnonzero(np.diff(known) > LONGEST_REPLAYED * dt)
        after_holes = int(holes[-1]) + 1 if len(holes) else 0
        known, values = known[after_holes:], values[:, after_holes:]
        if regular:
            places = np.round((known - known[-1]) / dt).astype(np.int64)
            keep = np.append(np.diff(places) > 0, True)
            steps = np.diff(places[keep], prepend=places[keep][0] - 1)
            feed(self.records, self.rings, self.table, values[:, keep].T, steps)
        else:
            count = min(int((known[-1] - known[0]) / dt), REPLAYED)
            grid = np.arange(-count, 1) * dt + known[-1]
            feed(self.records, self.rings, self.table, interpolated(grid, known, values, dt).T)

    def _shift_context(self, time: float, steps: int) -> None:
        """The clock was set: move the stamps kept so that the newest lies `steps` steps before `time`."""
        delta = time - steps * self.dt - self.context.newest()
        self.context.shift(delta)
        self.irregular.times += delta
        if self.is_irregular:
            for name in ("grid", "last", "recent"):
                self.clock[name] += delta

    def _set_clock(self, time: float) -> None:
        """Let the newest value have come at `time`."""
        delta = time - float(self.clock["last"][0])
        self.context.shift(delta)
        self.irregular.times += delta
        clock = self.clock[0]
        clock["last"] = clock["grid"] = time
        clock["recent"] += delta

    def ahead(self, time: float | None) -> Ahead:
        """The forecast for this time, one step ahead by default; NaN before the first value, whatever the time."""
        if not self.count:
            time = None
        if time is not None and not self.stamped:
            raise ValueError(f"time {time} means nothing to a model without timestamps; give them to observe first")
        last = float(self.clock["last"][0])
        if time is not None and not (last < time < np.inf):
            raise ValueError(f"time must be finite and lie after the last value's, {last}, got {time}")
        if self.is_irregular:
            path, off = self._path(last + self.dt if time is None else time)
            since = max(1.0, ((last + self.dt if time is None else time) - last) / self.dt)
            wider = since * self.irregular.samples["growth"]
            return Ahead(path + self.irregular.carried() * off, wider, np.zeros(self.series))
        steps = 1.0 if time is None else (time - float(self.clock["grid"][0])) / self.dt
        return Ahead(*self._walk(steps))

    def _walk(self, steps: float) -> tuple[Array, Array, Array]:
        """Any number of steps ahead: as across a gap, and between two steps along the cubic through four.

        How far that is from the straight line says how much the interval does not know about what lies between.
        """
        nothing = np.zeros(self.series)
        if abs(steps - 1.0) < clocks.OFF and not self.is_irregular:
            return self._next(self.records), self._across(self.records), nothing
        count = min(max(math.ceil(steps - 1e-9), 1), FARTHEST)
        records, ring = self.records.copy(), self.rings.copy()
        self._gap(records, ring, count - 2)
        path = [records["last"] + records["feature"][:, 1], records["last"].copy()]
        wider = self._across(records)
        for k in range(max(count - 2, 0), count + 1):
            path.append(self._next(records))
            wider = self._across(records) if k < count else wider
            self._gap(records, ring, 1)
        wider = wider * max(steps / FARTHEST, 1.0)
        part = min(max(steps - (count - 1), 0.0), 1.0)
        if part > 1.0 - 1e-9:
            return path[-2], wider, nothing
        before, left, right, after = path[-4:]
        line = left + (right - left) * part
        bend = (before - 2.0 * left + right) * (2.0 - part) + (left - 2.0 * right + after) * (1.0 + part)
        curve = line - bend * part * (1.0 - part) / 6.0
        return curve, wider, np.abs(curve - line)

    def _next(self, records: Records) -> Array:
        step.look(records, self.table, _NOWHERE, self._two)
        return np.array(self._two[0], dtype=np.float64)

    def _across(self, records: Records) -> Array:
        out = np.empty(self.series)
        step.widths(records, self.table, out)
        return out

    def mean_and_half(self, level: float, time: float | None) -> tuple[Array, Array]:
        """The forecast and half the width of its interval, both (series,)."""
        if time is None and not self.is_irregular:
            step.look(self.records, self.table, between(level), self._two)
            return self._two[0].copy(), self._two[1].copy()
        mean, wider, more = self.ahead(time)
        step.look(self.records, self.table, between(level), self._two)
        half = self._two[1] / self._across(self.records) * wider + more
        # No interval is narrower than the numbers themselves.
        return mean, np.maximum(half, np.spacing(np.abs(mean)))

    def only_mean_and_half(self, level: float) -> tuple[float, float]:
        """`mean_and_half` one step ahead of a single series."""
        if not self.is_irregular:
            return step.look(self.records, self.table, between(level), self._two)
        mean, half = self.mean_and_half(level, None)
        return float(mean[0]), float(half[0])

    def surprise(self, moment: Array, time: float | None) -> Array:
        """The score of a moment (series,) if it came next."""
        mean, wider, more = self.ahead(time)
        wider = wider / self._across(self.records)
        missed, scores = moment - mean, np.empty(self.series)
        errors = np.copysign(np.maximum(np.abs(missed) - more, 0.0) / wider, missed)
        step.judge(self.records, self.table, errors, scores)
        return np.where(np.isnan(moment), np.nan, scores)

    def slope(self) -> tuple[Array, Array]:
        """The derivative at the newest value, per second, (series,), and what each readout counts for in it."""
        out, shares = np.empty(self.series), np.empty((self.series, FIXED))
        step.slopes(self.records, self.table, out, shares)
        if self.is_irregular:
            # The newest sample lies between two places of the grid, and so does its slope.
            records, ring, after = self.records.copy(), self.rings.copy(), np.empty(self.series)
            self._gap(records, ring, 1)
            step.slopes(records, self.table, after, np.empty_like(shares))
            out += (after - out) * float((self.clock["last"][0] - self.clock["grid"][0]) / self.dt)
        return out / self.dt, shares

    def shares(self) -> Array:
        """How much each member of the bank counts in its forecast: (series, members), rows add up to 1."""
        shares = self.records["weight"] / np.where(self.records["scale"] > 0.0, self.records["scale"], 1.0)
        return np.asarray(shares / shares.sum(axis=1, keepdims=True), dtype=np.float64)

    def regular_context(self) -> Array:
        """The values kept, (series, time), one for each step of the grid: NaN in holes, interpolated between irregular
        times; no longer than the context."""
        values, times = self.context.values(), self.context.times()
        if not self.stamped or len(times) < 2:
            return values
        if self.is_irregular:
            places = min(int((times[-1] - times[0]) / self.dt), self.context.length - 1)
            return interpolated(times[-1] + self.dt * np.arange(-places, 1), times, values, self.dt)
        places = np.round((times - times[-1]) / self.dt)
        kept = (places > -self.context.length) & np.append(np.diff(places) > 0, True)
        rows = (places[kept] - places[kept][0]).astype(np.int64)
        filled = np.full((self.series, int(rows[-1]) + 1), np.nan)
        filled[:, rows] = values[:, kept]
        return filled


def interpolated(grid: Array, times: Array, values: Array, dt: float) -> Array:
    """values (series, n) at increasing times, on a grid, by straight lines; NaN in holes longer than `HOLE` steps."""
    out = np.full((len(values), len(grid)), np.nan)
    for row, series in zip(out, values, strict=True):
        known = ~np.isnan(series)
        if known.sum() < 1:
            continue
        at, what = times[known], series[known]
        row[:] = np.interp(grid, at, what, left=np.nan, right=np.nan)
        right = np.clip(np.searchsorted(at, grid), 1, len(at) - 1) if len(at) > 1 else np.zeros(len(grid), dtype=int)
        if len(at) > 1:
            row[(at[right] - at[right - 1] > HOLE * dt) & (np.abs(at[right] - grid) > 1e-6 * dt)] = np.nan
    return out


def feed(
    records: Records,
    ring: Array,
    table: NDArray[np.void],
    values: Array,
    steps: NDArray[np.int64] = _SINGLE,
    offsets: Array = _NONE,
    where: tuple[int, bool, float] = _NOWHERE,
    out: Array = _NOTHING,
) -> None:
    """`step.run` over all records, in threads where there is enough to do; the numbers do not depend on that."""
    values, count = np.ascontiguousarray(values), len(records)
    if len(ring) != count or values.shape[1] != count:
        raise ValueError(f"{count} records need as many rings and columns, got {ring.shape} and {values.shape}")
    workers = min(_machine.cores(), count) if values.size >= WORTH_THREADS else 1
    if workers == 1:
        _feed(records, ring, table, values, steps, offsets, where, out, 0, count)
        return
    edges = [count * i // workers for i in range(workers + 1)]
    with ThreadPoolExecutor(workers) as pool:  # made anew each time: threads do not survive a fork
        jobs = [
            pool.submit(_feed, records, ring, table, values, steps, offsets, where, out, a, b)
            for a, b in pairwise(edges)
        ]
        for job in jobs:
            job.result()


def _feed(
    records: Records,
    ring: Array,
    table: NDArray[np.void],
    values: Array,
    steps: NDArray[np.int64],
    offsets: Array,
    where: tuple[int, bool, float],
    out: Array,
    first: int,
    last: int,
) -> None:
    """Some of the series, in pieces that end where seasons are looked for."""
    start = 0
    while start < len(values):
        stop = start + until_due(records[first:last], values[start:, first:last], steps[start:])
        piece = slice(start, stop)
        step.run(records, ring, table, values[piece], steps[piece], offsets[piece], where, out[piece], first, last)
        if due(records[first:last]):
            look_for_seasons(records[first:last], ring[first:last])
        start = stop
