"""Rows that were not expected, grouped to events: when each began and ended, of which kind it was, and a sentence.

A row is flagged as it comes, from the rows before it alone. Flagged rows at most `APART` rows from each other are one
event. Its kind is decided when it is over, from the `AROUND` rows before it, its own, and the `APART` rows after it:

    flat line        a stretch of one value where there was none before
    shift            the median after it lies away from the median before it by more than rows usually do
    spike            a few rows, and then things are as before
    lost season      the stretch differs from one season before by more than three times what is usual
    change of noise  errors of more than twice or less than half their usual size; and whatever is none of the others
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
    """An event that is not over yet."""

    number: int
    first: int
    last: int
    worst: Row
    before: Array
    rows: list[Row] = field(default_factory=list)


class Events:
    """The events of one series, from rows and flags as they come, in pieces of any size."""

    def __init__(self) -> None:
        self.found: list[Event] = []
        self._past = np.zeros((0, 2))
        self._open: Open | None = None
        self._count = 0

    def add(self, columns: Array, first: int, flags: NDArray[np.bool_], seasons: tuple[float, ...]) -> Array:
        """Take in rows from number `first` on: columns (rows, 6) are value, residual, lower, upper, surprise and alarm.
        Returns the number of the event each belongs to as known when it came, 0 for none."""
        numbers = np.zeros(len(columns))
        for k in self._worth_a_look(flags):
            row = Row(first + k, *columns[k].tolist())
            event = self._open
            if event is not None and row.row - event.last > APART:
                self._close(seasons)
                event = None
            if flags[k]:
                if event is None:
                    self._count += 1
                    before = np.concatenate([self._past, columns[:k, :2]])[-LONGEST:]
                    event = self._open = Open(self._count, row.row, row.row, row, before)
                event.last = row.row
                event.worst = max(event.worst, row, key=lambda r: (r.surprise, r.alarm))
                numbers[k] = event.number
            if event is not None and len(event.rows) < LONGEST:
                event.rows.append(row)
        self._past = np.concatenate([self._past, columns[:, :2]])[-LONGEST:]
        return numbers

    def _worth_a_look(self, flags: NDArray[np.bool_]) -> list[int]:
        """Flagged rows and those after them, up to one beyond the end of their event."""
        near = np.flatnonzero(flags)[:, None] + np.arange(APART + 2)
        if self._open is not None:
            near = np.append(near, np.arange(APART + 2))
        return [int(k) for k in np.unique(near) if k < len(flags)]

    def finish(self, seasons: tuple[float, ...]) -> list[Event]:
        """All events, the last one too if it is still going on."""
        if self._open is not None:
            self._close(seasons)
        return self.found

    def _close(self, seasons: tuple[float, ...]) -> None:
        event = self._open
        assert event is not None
        kind, sentence = judged(event, seasons)
        worst = event.worst
        numbers = (worst.value, worst.lower, worst.upper, worst.surprise, worst.alarm)
        self.found.append(Event(event.number, event.first, event.last, worst.row, *numbers, kind, sentence))
        self._open = None


def judged(event: Open, seasons: tuple[float, ...]) -> tuple[str, str]:
    """The kind of an event that is over, and a sentence about it."""
    own = np.array([(row.value, row.residual) for row in event.rows])
    long = event.last - event.first + 1
    before = event.before
    still = _run_at_end(before[:, 0])
    if still >= FLAT:
        return "flat line", f"{still} rows were exactly {before[-1, 0]:.6g}, until row {event.first}."
    flat = _longest_run(own[:, 0])
    if flat >= FLAT and _longest_run(before[-AROUND:, 0]) < FLAT:
        return "flat line", f"{flat} rows are exactly {_common(own[:, 0]):.6g}, after rows that moved."
    moved = np.concatenate([before[:, 0], own[:, 0]])
    period = round(seasons[0]) if seasons and len(before) >= 2 * round(seasons[0]) else 0
    if period:
        moved = moved[period:] - moved[:-period]
    usual, now = moved[: len(moved) - len(own)][-AROUND:], moved[len(moved) - len(own) :]
    spread, jump = _spread(usual), _median(now[min(long, len(now) - 1) :]) - _median(usual)
    if abs(jump) > FAR * spread:
        level = _median(own[min(long, len(own) - 1) :, 0])
        return "shift", f"The level moves by {jump:.4g}, to {level:.6g}, and is there when the event ends."
    if long <= BRIEF:
        return "spike", _expected(event.worst)
    ratio = _size(now) / max(_size(usual), 1e-300)
    if period and ratio > 2.0 and _alike(now) > 0.5:
        return "lost season", f"The rows differ from one season ({period} rows) before by {ratio:.3g} times as usual."
    noise = _size(own[:, 1]) / max(_size(before[-AROUND:, 1]), 1e-300)
    size = f"{noise:.3g} times their usual size" if noise < 1e6 else "far above their usual size"
    return "change of noise", f"Errors are {size} over {long} rows."


def _expected(row: Row) -> str:
    return f"{row.value:.6g}, where {row.lower:.6g} to {row.upper:.6g} was expected."


def _spread(values: Array) -> float:
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


def _common(values: Array) -> float:
    found, counts = np.unique(values, return_counts=True)
    return float(found[np.argmax(counts)])


def _run_at_end(values: Array) -> int:
    """How many of the last values are the same."""
    other = np.flatnonzero(values[-AROUND:][::-1] != values[-1]) if len(values) else np.zeros(0)
    return int(other[0]) if len(other) else 0


def _median(values: Array) -> float:
    known = values[~np.isnan(values)]
    return float(np.median(known)) if len(known) else 0.0


def _alike(values: Array) -> float:
    """How much neighbours resemble each other: their autocorrelation, 0 for noise."""
    known = values[~np.isnan(values)]
    power = float(np.sum(known * known))
    return float(np.sum(known[1:] * known[:-1])) / power if power > 0.0 else 0.0


def table_of(events: list[tuple[str, Event]], when: dict[tuple[str, int], Any], most: int = 20) -> list[list[str]]:
    """The most unusual events of all series, header first."""
    lines = [["series", "rows", "begins", "kind", "what happened"]]
    ranked = sorted(events, key=lambda pair: (-pair[1].surprise, -pair[1].alarm))[:most]
    for title, event in ranked:
        rows = f"{event.first}" if event.first == event.last else f"{event.first} to {event.last}"
        lines.append([title, rows, f"{when.get((title, event.first), event.first)}", event.kind, event.sentence])
    return lines
