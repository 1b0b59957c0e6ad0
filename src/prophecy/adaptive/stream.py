"""A bank in time: values with or without timestamps, gaps and all, one moment or many."""

from __future__ import annotations

import copy
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prophecy.adaptive.bank import Bank
from prophecy.adaptive.calibration import LEVELS, normalised_width, surprise
from prophecy.adaptive.clock import JITTER, LONGEST_GAP, Clock, whole_multiples
from prophecy.adaptive.context import Context
from prophecy.adaptive.timed import TimedBank

Array = NDArray[np.float64]

PIECE = 2**17
"""Values taken in at a time: what is noted beside each of them needs 150 bytes."""

REPLAYED = 256
RECHECKS = (16, 64, 256)
"""After this many values at irregular times the typical interval is looked at again, and the memories made anew if it
was misjudged."""


class Track(NamedTuple):
    """What `Prophecy.follow` saw, each of the shape of its input.

    mean, lower, upper: of the value *after* each one; score: how surprising each value was when it came.
    """

    mean: Array
    lower: Array
    upper: Array
    score: Array


class Stream:
    """A bank, the time of its last value, and the context kept; everything checked before it comes here."""

    def __init__(self, series: int, dt: float | None, hold: bool, context: int) -> None:
        self.series, self.hold = series, hold
        self.bank: Bank | TimedBank = Bank(series)
        self.clock = Clock(dt)
        self.context = Context(series, context)
        self.count = 0

    def take_number(self, value: float) -> bool:
        """The short way for one number into a stream that is well under way; False if the long way is needed."""
        bank = self.bank
        if self.clock.last is not None or not isinstance(bank, Bank) or not bank.take(value):
            return False
        self.context.append(value, 0.0)
        self.count += 1
        return True

    def take(self, moment: Array, time: float | None) -> None:
        """Take in one moment (series,); NaN is a gap."""
        known = ~np.isnan(moment)
        if time is not None and isinstance(self.bank, Bank):
            missing = self.clock.missing(time, self.count)
            if missing is None:
                missing = self._finer_steps(time)
            if missing is None:
                self._make_timed(time)
            for _ in range(min(missing or 0, LONGEST_GAP)):
                self.bank.observe(moment, np.zeros_like(known), self.hold)
        if isinstance(self.bank, TimedBank):
            last = self.clock.last
            self.bank.observe(moment, 0.0 if time is None or last is None else time - last, known, self.hold)
        elif known.all():
            self.bank.observe(moment)
        else:
            self.bank.observe(moment, known, self.hold)
        self.context.append(moment, 0.0 if time is None else time)
        self.clock.last = time
        self.count += 1
        if isinstance(self.bank, TimedBank) and self.count in RECHECKS and time is not None:
            self._recheck(time)

    def run(self, moments: Array, times: Array | None, level: float | None) -> Track:
        """Take in moments (time, series) and note what `follow` returns, (series, time); without `level` only means."""
        shape = moments.shape[::-1]
        mean, half, score = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        whole = np.asarray(~np.isnan(moments).any(axis=1))
        k, piece = 0, max(PIECE // self.series, 1)
        while k < len(moments):
            ahead = whole[k : k + piece]
            stop = k + (len(ahead) if ahead.all() else max(int(np.argmin(ahead)), 1))
            out = tuple(part[:, k:stop] for part in (mean, half, score))
            if times is None and whole[k] and self._run_piece(moments[k:stop], level, *out):
                k = stop
                continue
            when = None if times is None else float(times[k])
            if level is not None:
                score[:, k] = self.surprise(moments[k], when if self.count else None)
            self.take(moments[k], when)
            mean[:, k] = self.mean(None)[0]
            if level is not None:
                half[:, k] = self.mean_and_half(level, None)[1]
            k += 1
        return Track(mean, mean - half, mean + half, score)

    def _run_piece(self, moments: Array, level: float | None, mean: Array, half: Array, score: Array) -> bool:
        """A stretch without gaps, all at once; False if it has to be done moment by moment."""
        if not isinstance(self.bank, Bank) or self.clock.last is not None:
            return False
        values = np.ascontiguousarray(moments.T)
        expected, size, spread = (np.empty(values.shape) for _ in range(3))
        quantiles = np.empty((*values.shape, 2, len(LEVELS))) if level is not None else None
        noted = (None, None, None) if quantiles is None else (size, spread, quantiles)
        if not self.bank.feed(values, expected, *noted):
            return False
        mean[:] = expected
        if level is not None and quantiles is not None:
            usual = normalised_width(level, quantiles[:, :, 1]) * spread
            half[:] = np.maximum(usual, np.spacing(np.abs(expected)))
            known = surprise(np.maximum(size, 0.0).ravel(), quantiles[:, :, 0].reshape(-1, len(LEVELS)))
            score[:] = np.where(size < 0.0, 0.0, known.reshape(size.shape))
        self.context.extend(values)
        self.count += len(moments)
        return True

    def mean(self, time: float | None) -> tuple[Array, Array, Array]:
        """The forecast (series,) for this time, one step ahead by default, how many times wider its interval is, and
        what is added to half its width."""
        bank, clock = self.bank, self.clock
        if time is not None and clock.last is None:
            raise ValueError(f"time {time} means nothing to a model without timestamps; give them to observe first")
        if time is not None and not time > (clock.last or -np.inf):
            raise ValueError(f"time must lie after the last value's, {clock.last}, got {time}")
        more = np.zeros(self.series)
        if isinstance(bank, TimedBank):
            moves = np.where((bank.gap > 0) & self.hold, 0.0, 1.0)
            after = bank.typical if time is None or clock.last is None else time - clock.last
            wider = np.asarray(bank.spread(after) * (1.0 + bank.gap), np.float64)
            return bank.last + moves * bank.step(after), wider, more
        steps = 1.0 if time is None or clock.last is None else (time - clock.last) / clock.step
        if abs(steps - 1.0) > JITTER:
            return self._beyond(bank, steps)
        return self._next(bank), np.asarray(1.0 + bank.gap, np.float64), more

    def _next(self, bank: Bank) -> Array:
        return bank.last + np.where((bank.gap > 0) & self.hold, 0.0, bank.step)

    def _beyond(self, bank: Bank, steps: float) -> tuple[Array, Array, Array]:
        """`mean` any number of steps ahead: as across a gap, and between two steps along the cubic through four.

        How far that is from the straight line says how much the interval does not know about what lies between.
        """
        count = min(math.ceil(steps - JITTER), LONGEST_GAP)
        ahead: Bank = copy.deepcopy(bank)
        wider: Array = np.ones(self.series)
        path = [bank.last + bank.features[:, 1], bank.last.copy()]
        for k in range(count + 1):
            path.append(self._next(ahead))
            if k < count:
                wider = np.asarray(1.0 + ahead.gap, np.float64)
            ahead.observe(ahead.last, np.zeros(self.series, dtype=bool), self.hold)
        part = min(steps - (count - 1), 1.0)
        if part > 1.0 - JITTER:
            return path[count + 1], wider, np.zeros(self.series)
        before, left, right, after = path[count - 1 : count + 3]
        line = left + (right - left) * part
        bend = (before - 2.0 * left + right) * (2.0 - part) + (left - 2.0 * right + after) * (1.0 + part)
        curve = line - bend * part * (1.0 - part) / 6.0
        return curve, wider, np.abs(curve - line)

    def mean_and_half(self, level: float, time: float | None) -> tuple[Array, Array]:
        """The forecast and half the width of its interval."""
        mean, wider, more = self.mean(time)
        half = self.bank.calibration.half_width(level) * wider + more
        # No interval is narrower than the numbers themselves.
        return mean, np.maximum(half, np.spacing(np.abs(mean)))

    def only_mean_and_half(self, level: float) -> tuple[float, float] | None:
        """`mean_and_half` one step ahead of a single series without a gap; None where it takes the long way."""
        bank = self.bank
        if not isinstance(bank, Bank) or bank.gap.item(0):
            return None
        mean = bank.last.item(0) + bank.step.item(0)
        return mean, max(bank.calibration.only_half_width(level), math.ulp(mean))

    def surprise(self, moment: Array, time: float | None) -> Array:
        """The score of a moment (series,) if it came next."""
        mean, wider, more = self.mean(time)
        score = self.bank.calibration.score(np.maximum(np.abs(moment - mean) - more, 0.0) / wider)
        return np.where(np.isnan(moment), np.nan, score)

    def slope(self) -> Array:
        """The derivative at the newest value, per second: (series,)."""
        if isinstance(self.bank, TimedBank):
            return self.bank.slope()
        return self.bank.slopes.slope(self.bank.features, self.bank.mixture.scales) / self.clock.step

    def regular_context(self) -> Array:
        """The values kept, (series, time), brought to the typical interval by straight lines where it is irregular."""
        values = self.context.values()
        if isinstance(self.bank, Bank):
            return values
        times = self.context.times()
        grid = np.arange(times[-1], times[0], -self.bank.typical)[::-1]
        return np.stack([np.interp(grid, times[~np.isnan(row)], row[~np.isnan(row)]) for row in values])

    def _finer_steps(self, time: float) -> int | None:
        """Start over on a finer grid, where the first interval turns out to have been several steps.

        Returns how many steps are missing before `time`; None where there is no such grid or it is too late for one.
        """
        if self.clock.given is not None or self.count > min(REPLAYED, self.context.length):
            return None
        grid = whole_multiples(np.diff(np.append(self.context.times(), time)))
        if grid is None:
            return None
        self.clock.dt, steps = grid
        self.bank = Bank(self.series)
        nothing = np.zeros(self.series, dtype=bool)
        for k, moment in enumerate(self.context.values().T):
            for _ in range(steps[k - 1] - 1 if k else 0):
                self.bank.observe(moment, nothing, self.hold)
            self.bank.observe(moment, ~np.isnan(moment), self.hold)
        return steps[-1] - 1

    def _make_timed(self, time: float) -> None:
        """Start over from the last values with memories for true intervals, the next of which ends at `time`."""
        times, values = self.context.times()[-REPLAYED:], self.context.values()[:, -REPLAYED:]
        intervals = np.diff(np.append(times, time))
        self.bank = TimedBank(self.series, float(np.median(intervals)))
        for k, moment in enumerate(values.T):
            after = float(intervals[k - 1]) if k else 0.0
            self.bank.observe(moment, after, ~np.isnan(moment), self.hold)

    def _recheck(self, time: float) -> None:
        intervals = np.diff(self.context.times())
        if not isinstance(self.bank, TimedBank) or len(intervals) < 4:
            return
        if not 0.8 < np.median(intervals) / self.bank.typical < 1.25:
            self._make_timed(time + float(np.median(intervals)))
