"""Rows that were not expected, grouped to events: when each began and ended, of which kind it was, and a sentence.

A row is flagged as it comes, from the rows before it alone. Flagged rows at most `APART` rows from each other are one
event. Its kind is decided from the rows before it, its own, and those after it: `APART` of them, or a whole season, and
for as long as the value stands still.

    flat line        a stretch of one value where there was none as long before; it begins and ends where the value does
    lost season      the season after it differs from the one before it by more than twice what is usual, smoothly
    shift            the median after it lies away from the median before it by more than rows usually do
    spike            a few rows outside their intervals, or more that lie apart together; then things are as before
    change of noise  errors of another size than usual; and whatever is none of the others
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]

APART = 20
"""Rows between flagged ones that still belong to one event: the window the alarm averages level and noise over."""

AROUND = 200
"""Rows before an event that say what was usual."""

LONGEST = 4096
"""Rows of an event that are looked at; a season before it must lie within as many."""

FLAT = 16
"""Equal rows in a row that make a flat line, as for the model itself."""

BRIEF = 3
"""Rows of a spike at most."""

LATELY, CHANGED = 60, 1.8
"""Rows before the first flagged one that a change of noise is judged by, and the ratio that is one: by then most of the
80 rows that the alarm averages errors over are new ones."""

MOST = 20
"""Events listed."""

FAR = 4.0
"""Standard deviations (from the median absolute one) between medians that make a shift."""


class Event(NamedTuple):
    """Rows first … last of a series, the strangest of them, and what it was."""

    number: int
    first: int
    last: int
    row: int
    value: float
    lower: float
    upper: float
    surprise: float
    alarm: float
    kind: str
    sentence: str


class Row(NamedTuple):
    """A row with what was said of it."""

    row: int
    value: float
    residual: float
    lower: float
    upper: float
    surprise: float
    alarm: float


@dataclass
class Open:
    """An event whose kind is not known yet. rows: its own and those after it; same: how many of the newest are equal,
    those before the event among them; over: no more rows came."""

    number: int
    first: int
    last: int
    worst: Row
    before: Array
    same: int
    rows: list[Row] = field(default_factory=list)
    over: bool = False

    @property
    def newest(self) -> Row:
        return self.rows[-1]

    def flat(self) -> bool:
        """Whether the newest rows stand still, as they never did for half as long before."""
        moving = self.before[: max(len(self.before) + len(self.rows) - self.same, 0), 0]
        return self.same >= FLAT and _longest_run(moving) < max(self.same / 2, FLAT)


class Events:
    """The events of one series, from rows and flags as they come, in pieces of any size."""

    def __init__(self) -> None:
        self.found: list[Event] = []
        self._past = np.zeros((0, 2))
        self._open: Open | None = None
        self._waiting: list[Open] = []
        self._count = 0

    def add(self, columns: Array, first: int, flags: NDArray[np.bool_], seasons: tuple[float, ...]) -> Array:
        """Take in rows from number `first` on: columns (rows, 6) are value, residual, lower, upper, surprise and alarm.
        Returns the number of the event each belongs to as known when it came, 0 for none."""
        numbers, flagged, k = np.zeros(len(columns)), np.flatnonzero(flags), 0
        while k < len(columns):
            if self._open is None and not self._waiting:
                place = int(np.searchsorted(flagged, k))
                if place == len(flagged):
                    break
                k = int(flagged[place])
            row = Row(first + k, *columns[k].tolist())
            if self._open is not None and row.row - self._open.last > APART:
                self._waiting.append(self._open)
                self._open = None
            if flags[k] and self._open is None:
                self._reopen()
            self._judge_waiting(row, seasons)
            if flags[k]:
                if self._open is None:
                    self._begin(row, np.concatenate([self._past, columns[:k, :2]])[-LONGEST:])
                event = self._open
                assert event is not None
                event.last = row.row
                event.worst = max(event.worst, row, key=lambda r: (r.surprise, r.alarm))
                numbers[k] = event.number
            if self._open is not None:
                _append(self._open, row)
            k += 1
        self._past = np.concatenate([self._past, columns[:, :2]])[-LONGEST:]
        return numbers

    def _begin(self, row: Row, before: Array) -> None:
        self._count += 1
        self._open = Open(self._count, row.row, row.row, row, before, _run_at_end(before[:, 0]))

    def _reopen(self) -> None:
        """A flagged row that ends a flat line belongs to it."""
        for event in self._waiting:
            if event.flat():
                self._waiting.remove(event)
                self._open = event
                return

    def _judge_waiting(self, row: Row, seasons: tuple[float, ...]) -> None:
        """Give `row` to the events that wait for rows after them, and close those that have seen enough."""
        wanted = max(APART, round(seasons[0]) if seasons else 0)
        for event in list(self._waiting):
            still = event.flat() and row.value == event.newest.value
            if still or row.row - event.last <= wanted:
                _append(event, row)
            else:
                self._waiting.remove(event)
                self._close(event, seasons)

    def finish(self, seasons: tuple[float, ...]) -> list[Event]:
        """All events, those too that are still going on."""
        for event in [*self._waiting, *([self._open] if self._open is not None else [])]:
            event.over = True
            self._close(event, seasons)
        self._open, self._waiting = None, []
        self.found.sort(key=lambda event: event.number)
        return self.found

    def _close(self, event: Open, seasons: tuple[float, ...]) -> None:
        kind, sentence, first, last = judged(event, seasons)
        worst = event.worst
        numbers = (worst.value, worst.lower, worst.upper, worst.surprise, worst.alarm)
        self.found.append(Event(event.number, first, last, worst.row, *numbers, kind, sentence))


def _append(event: Open, row: Row) -> None:
    before = event.newest.value if event.rows else event.before[-1, 0] if len(event.before) else np.nan
    event.same = event.same + 1 if row.value == before else 1
    if len(event.rows) >= LONGEST:
        event.rows.pop(len(event.rows) // 2)  # a long flat line: its beginning and its end are kept
    event.rows.append(row)


def judged(event: Open, seasons: tuple[float, ...]) -> tuple[str, str, int, int]:
    """The kind of an event, a sentence about it, and its first and last row."""
    own = np.array([(row.value, row.residual) for row in event.rows])
    long = event.last - event.first + 1
    before, here = event.before, (event.first, event.last)
    flat = _flat_line(event, own[:, 0])
    if flat is not None:
        return flat
    period = round(seasons[0]) if seasons and len(before) >= 2 * round(seasons[0]) else 0
    usual, now = before[-AROUND:, 0], own[:, 0]
    if period:
        usual = (before[period:, 0] - before[:-period, 0])[-AROUND:]
        offset = np.arange(len(own))
        now = own[:, 0] - before[len(before) + offset % period - period, 0]
    deviation, after = _robust_deviation(usual), now[min(long, len(now) - 1) :]
    ratio = _size(after) / max(_size(usual), 1e-300)
    jump = _median(after) - _median(usual)
    if (
        period
        and len(after) >= min(period, APART)
        and ratio > 2.0
        and _alike(after) > 0.5
        and abs(jump) < 2.0 * deviation
    ):
        sentence = f"The rows after it differ from one season ({period} rows) before by {ratio:.3g} times as usual."
        return "lost season", sentence, *here
    if abs(jump) > FAR * deviation:
        level = _median(own[min(long, len(own) - 1) :, 0])
        return "shift", f"The level moves by {jump:.4g}, to {level:.6g}, and stays there.", *here
    apart = _median(now[:long]) - _median(usual)
    if long > BRIEF and abs(apart) > FAR * deviation:
        return "spike", f"{long} rows lie {apart:.4g} away from what is usual; then all is as before.", *here
    inside = event.worst.lower <= event.worst.value <= event.worst.upper
    if long <= BRIEF and not inside:
        return "spike", _expected(event.worst), *here
    return "change of noise", _about_noise(before[:, 1], own[:, 1], long), *here


def _flat_line(event: Open, own: Array) -> tuple[str, str, int, int] | None:
    """A flat line that goes on, or one that the event's first rows end; None where there is none."""
    before = event.before[:, 0]
    if event.flat():
        end = event.newest.row
        start = end - event.same + 1
        until = "and still at the end" if event.over else f"to {end}"
        sentence = f"{event.same} rows are exactly {event.newest.value:.6g}, from row {start} {until}."
        return "flat line", sentence, min(start, event.first), end
    still = _run_at_end(before)
    moved = np.flatnonzero(own != before[-1]) if still else np.zeros(1)
    lead = int(moved[0]) if len(moved) else 0
    start, end = event.first - still, event.rows[lead - 1].row if lead else event.first - 1
    run = end - start + 1
    if run < FLAT or _longest_run(before[: len(before) - still]) >= max(run / 2, FLAT):
        return None
    sentence = f"{run} rows were exactly {before[-1]:.6g}, from row {start} to {end}."
    return "flat line", sentence, start, max(event.last, end)


def _about_noise(before: Array, own: Array, long: int) -> str:
    """How the errors changed: over the event, or where it is brief over the rows around its first."""
    if long > BRIEF:
        noise = _size(own[:long]) / max(_size(before[-AROUND:]), 1e-300)
        size = f"{noise:.3g} times their usual size" if noise < 1e6 else "far above their usual size"
        return f"Errors are {size} over {long} rows."
    lately = np.concatenate([before[-LATELY:], own])
    noise = _size(lately) / max(_size(before[:-LATELY][-2 * AROUND :]), 1e-300)
    for word, changed in (("less", noise < 1.0 / CHANGED), ("more", CHANGED < noise < 1e6)):
        if changed:
            return f"Noise, {word}: the errors of these {len(lately)} rows are {noise:.2g} times their usual size."
    return f"Inside its interval, but level and noise of the last {APART} rows are rare."


def _expected(row: Row) -> str:
    return f"{row.value:.6g}, where {row.lower:.6g} to {row.upper:.6g} was expected."


def _robust_deviation(values: Array) -> float:
    """A standard deviation that outliers do not move."""
    known = values[~np.isnan(values)]
    if len(known) < 2:
        return 0.0
    return 1.4826 * float(np.median(np.abs(known - np.median(known)))) or float(np.std(known))


def _size(residuals: Array) -> float:
    known = np.abs(residuals[~np.isnan(residuals)])
    return float(np.mean(known)) if len(known) else np.nan


def _longest_run(values: Array) -> int:
    if not len(values):
        return 0
    cuts = np.flatnonzero(np.diff(values) != 0.0)
    edges = np.concatenate([[-1], cuts, [len(values) - 1]])
    return int(np.diff(edges).max())


def _run_at_end(values: Array) -> int:
    """How many of the last values are the same."""
    other = np.flatnonzero(values[::-1] != values[-1]) if len(values) else np.zeros(0)
    return int(other[0]) if len(other) else len(values)


def _median(values: Array) -> float:
    known = values[~np.isnan(values)]
    return float(np.median(known)) if len(known) else 0.0


def _alike(values: Array) -> float:
    """How much neighbours resemble each other: their autocorrelation, 0 for noise."""
    known = values[~np.isnan(values)]
    power = float(np.sum(known * known))
    return float(np.sum(known[1:] * known[:-1])) / power if power > 0.0 else 0.0


def table_of(events: list[tuple[str, Event]], when: dict[tuple[str, int], Any], most: int = MOST) -> list[list[str]]:
    """The most unusual events of all series in the order of their rows, header first. `noticed`: the time of the first
    row that was flagged (a flat line may have begun before); rows count from 0, without the header."""
    lines = [["event", "series", "rows", "noticed", "kind", "what happened"]]
    ranked = sorted(events, key=lambda pair: (-pair[1].surprise, -pair[1].alarm))[:most]
    for title, event in sorted(ranked, key=lambda pair: (pair[1].first, pair[0])):
        rows = f"{event.first}" if event.first == event.last else f"{event.first} to {event.last}"
        noticed = f"{_noticed(title, event, when)}"
        lines.append([f"{event.number}", title, rows, noticed, event.kind, event.sentence])
    return lines


def _noticed(title: str, event: Event, when: dict[tuple[str, int], Any]) -> Any:
    for row in range(event.first, event.row + 1):
        if (title, row) in when:
            return when[title, row]
    return event.row
