"""The calendar of a table: how far apart its rows are, which are missing, and when the next ones are due.

Everything is counted in grid positions: position 0 is the first row, 1 the next time there should be a row, whatever
that is: half an hour later, the next business day, the end of the next month.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prophecy._arrays import Counts
from prophecy.frames.times import Moments, Times

DAY = 86400  # seconds
JITTER = 0.25  # of the step: times closer to an even grid than this are taken as on it; half would be ambiguous
SPARSE = 0.3  # share of grid times with a row below which a finer grid is not taken: two of three rows would be missing
UNITS: tuple[tuple[float, str, str], ...] = (
    (7 * DAY, "week", "weeks"), (DAY, "day", "days"), (3600, "hour", "h"), (60, "minute", "min"), (1, "second", "s"),
    (1e-3, "ms", "ms"), (1e-6, "µs", "µs"), (1e-9, "ns", "ns"),
)  # fmt: skip
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
BUSINESS = (True,) * 5 + (False,) * 2  # Monday to Friday


@dataclass(frozen=True)
class Even:
    """Equal steps. step: ticks of the moments' unit, or a number; seconds: the same in seconds, None for numbers."""

    step: float
    seconds: float | None
    jitter: float = 0.0  # largest distance from the grid, as a share of the step

    def positions(self, moments: Moments) -> Counts:
        ticks = Times(moments).ticks
        return np.asarray(np.rint((ticks - ticks[0]) / self.step), dtype=np.int64)

    def after(self, last: Any, count: int) -> Moments:
        step = int(self.step) if float(self.step).is_integer() else self.step  # whole numbers stay exact
        ahead = np.arange(1, count + 1) * step
        if not isinstance(last, np.datetime64):
            return np.asarray(last + ahead, dtype=np.float64)
        return np.asarray(last + np.round(ahead).astype(f"m8[{np.datetime_data(last.dtype)[0]}]"))

    def words(self) -> str:
        if self.seconds is None:
            return f"in steps of {self.step:.6g}"
        for size, one, unit in UNITS[:5]:
            if self.seconds >= size and self.seconds % size == 0:
                return f"every {one}" if self.seconds == size else f"every {int(self.seconds // size)} {unit}"
        size, _, unit = next((each for each in UNITS[1:] if self.seconds >= each[0] and each[1] != "minute"), UNITS[-1])
        return f"every {self.seconds / size:.4g} {unit}"

    def seasons(self) -> tuple[int, ...]:
        if self.seconds is None or self.seconds <= 0:
            return ()
        cycles = (364,) if self.seconds >= 7 * DAY else (7, 365) if self.seconds >= DAY else (1, 7)  # days
        return tuple(period for days in cycles for period in _whole(days * DAY / self.seconds))


@dataclass(frozen=True)
class Months:
    """Every `step` months, on a day of the month (31: its last), or (`business`) on its first or last working day."""

    step: int
    day: int
    business: bool = False

    def positions(self, moments: Moments) -> Counts:
        months = moments.astype("datetime64[M]").astype(np.int64)
        return np.asarray((months - months[0]) // self.step)

    def days(self, month: Moments) -> Moments:
        """The day of each month."""
        days = np.minimum(month.astype("datetime64[D]") + (self.day - 1), (month + 1).astype("datetime64[D]") - 1)
        roll: Any = "forward" if self.day == 1 else "backward"
        return np.asarray(np.busday_offset(days, 0, roll=roll) if self.business else days)

    def after(self, last: Any, count: int) -> Moments:
        month = last.astype("datetime64[M]") + np.arange(1, count + 1) * self.step
        return np.asarray(self.days(month).astype(last.dtype) + (last - last.astype("datetime64[D]")))

    def words(self) -> str:
        names = {1: "month", 3: "quarter", 12: "year"}
        day = {1: "first", 31: "last"}.get(self.day, "")
        which = f" ({day} business day)" if self.business else " (last day)" if day == "last" else ""
        return f"every {names.get(self.step, f'{self.step} months')}{which}"

    def seasons(self) -> tuple[int, ...]:
        return _whole(12 / self.step)


@dataclass(frozen=True)
class Weekdays:
    """Every day of some weekdays, Monday first: business days, or a shop that is closed on Sundays."""

    mask: tuple[bool, ...]

    def positions(self, moments: Moments) -> Counts:
        days = moments.astype("datetime64[D]")
        return np.asarray(np.busday_count(days[0], days, weekmask=self.mask), dtype=np.int64)

    def after(self, last: Any, count: int) -> Moments:
        day = last.astype("datetime64[D]")
        ahead = np.busday_offset(day, np.arange(1, count + 1), weekmask=self.mask)
        return np.asarray(ahead.astype(last.dtype) + (last - day))

    def words(self) -> str:
        if self.mask == BUSINESS:
            return "every business day"
        return "every " + ", ".join(name for name, open_ in zip(WEEKDAYS, self.mask, strict=True) if open_)

    def seasons(self) -> tuple[int, ...]:
        return _whole(float(sum(self.mask)))


Rule = Even | Months | Weekdays
"""A way to count time: positions of moments after the first of them, and moments at positions after one."""


@dataclass(frozen=True)
class Grid:
    """A rule, and whether it counts what clocks on the wall showed (days and longer) or time that passed (less)."""

    rule: Rule
    wall: bool

    def positions(self, times: Times) -> Counts:
        """Of each moment after the first, 0 for the first."""
        return self.rule.positions(times.wall() if self.wall else times.values)

    def after(self, times: Times, count: int) -> Times:
        """The `count` grid times after the last."""
        if not self.wall:
            return Times(self.rule.after(times.values[-1], count), times.zone)
        return Times(times.from_wall(self.rule.after(times[-1:].wall()[0], count)), times.zone)

    def words(self) -> str:
        """Such as "every 30 min"."""
        return self.rule.words()

    def seasons(self, rows: int) -> tuple[int, ...]:
        """Periods the calendar suggests, in rows, of which `rows` hold at least two."""
        return tuple(period for period in self.rule.seasons() if 2 * period <= rows)


def infer(times: Times) -> Grid | None:
    """The grid increasing times lie on; None where they lie on none, or where there are fewer than two."""
    if len(times) < 2:
        return None
    per_second = times.per_second if times.dates else None
    # A day of 23 hours, or less when a zone moves, is still a day.
    days = per_second is not None and int(np.diff(times.ticks).min()) / per_second >= DAY - 7200
    wall = times.wall() if days else times.values
    found = (_months(wall) or _weekdays(wall) if days else None) or _even(wall, per_second)
    return None if found is None else Grid(found, days)


def _months(wall: Moments) -> Months | None:
    """Rows on one day of the month, or on its last, at one time of day."""
    days = wall.astype("datetime64[D]")
    if np.ptp((wall - days).astype(np.int64)) or int(np.diff(days.astype(np.int64)).min()) < 25:
        return None
    month = days.astype("datetime64[M]")
    if bool((month[1:] == month[:-1]).any()):
        return None
    step = math.gcd(*np.diff(month.astype(np.int64)).tolist())
    if step == 0:
        return None
    last = bool(((days + 1).astype("datetime64[M]") > month).all())
    day = 31 if last else int((days - month.astype("datetime64[D]")).astype(np.int64).max()) + 1
    rules = (Months(step, day), *(Months(step, end, True) for end in (31, 1) if len(days) > 2))
    return next((rule for rule in rules if bool((days == rule.days(month)).all())), None)


def _weekdays(wall: Moments) -> Weekdays | None:
    """Daily rows that leave out some weekdays always."""
    days = wall.astype("datetime64[D]")
    numbers = days.astype(np.int64)
    if np.ptp((wall - days).astype(np.int64)) or int(np.diff(numbers).min()) != 1:
        return None
    weekday = (numbers + 3) % 7  # 1970-01-01 was a Thursday
    mask = tuple(bool(there) for there in np.bincount(weekday, minlength=7) > 0)
    if all(mask):
        return None
    passed = np.bincount((np.arange(numbers[0], numbers[-1] + 1) + 3) % 7, minlength=7)
    chances = min(int(passed[i]) for i in range(7) if not mask[i])
    # Five working days and a weekend off are taken at once, other weeks when they repeat.
    return Weekdays(mask) if chances >= (1 if mask == BUSINESS else 3) else None


def _even(moments: Moments, per_second: int | None) -> Even | None:
    ticks = Times(moments).ticks
    gaps = np.diff(ticks)
    sizes, counts = np.unique(gaps, return_counts=True)
    step = float(sizes[np.argmax(counts)])  # the most frequent, the shorter of two that are equally so
    exact = step if _multiples(gaps, step) else _divisor(gaps)
    if exact is not None:
        return Even(exact, None if per_second is None else exact / per_second)
    place = np.concatenate([[0], np.cumsum(np.maximum(np.rint(gaps / np.median(gaps)), 1))])
    slope = float(np.polyfit(place, (ticks - ticks[0]).astype(np.float64), 1)[0])
    if not slope > 0:
        return None
    off = (ticks - ticks[0]).astype(np.float64) / slope
    off -= np.rint(off) + np.median(off - np.rint(off))
    jitter = float(np.abs(off).max())
    positions = np.rint((ticks - ticks[0]) / slope)
    if jitter > JITTER or len(ticks) < 3 or bool((np.diff(positions) < 1).any()):
        return None
    nice = float(f"{slope / (per_second or 1):.3g}") * (per_second or 1)  # a step people choose
    drift = abs(nice - slope) * float(place[-1])
    slope = nice if drift < (JITTER - jitter) * slope else slope
    return Even(slope, None if per_second is None else slope / per_second, jitter)


def _multiples(gaps: NDArray[Any], step: float) -> bool:
    if gaps.dtype.kind == "i":
        return bool((gaps % int(step) == 0).all())
    times = gaps / step
    return bool((np.abs(times - np.rint(times)) <= 1e-6 * np.maximum(times, 1)).all() and (times > 0.5).all())


def _divisor(gaps: NDArray[Any]) -> float | None:
    """The greatest common divisor, where enough of the grid it makes has rows."""
    if gaps.dtype.kind != "i":
        if not (np.abs(gaps) < 2**53).all() or not (gaps == np.rint(gaps)).all():
            return None
        gaps = gaps.astype(np.int64)
    step = math.gcd(*gaps.tolist())
    return float(step) if len(gaps) >= SPARSE * gaps.sum() / step else None


def _whole(period: float) -> tuple[int, ...]:
    return (round(period),) if period >= 1.5 and abs(period - round(period)) < 1e-6 * period else ()
