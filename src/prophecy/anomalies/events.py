"""Rows that were not expected, grouped to events: when each began and ended, of which kind it was, and a sentence.

A row is flagged from the rows before it alone. Flagged rows at most `APART` rows from each other are one event. Its
kind (`kinds.py`) waits for `APART` rows after it, or a whole season, and for as long as the value stands still.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from prophecy._arrays import Array, Mask
from prophecy._renamed import renamed
from prophecy.anomalies.kinds import KEPT, SLOWLY, FollowedRow, Kind, Open, change_of_noise, judged, season_is_back
from prophecy.anomalies.rows import APART, held, run_at_end

if TYPE_CHECKING:
    from prophecy.streams.track import Track

ECHO = SLOWLY  # rows after an event in which the alarm's slow means still hold it
REPEATED = 3  # spikes of exactly one value that make it look like a mark for missing values


class Anomaly(NamedTuple):
    """Rows first … last of a series, the strangest of them, and what it was."""

    number: int
    first: int
    last: int
    row: int
    value: float
    lower: float
    upper: float
    score: float
    alarm: float
    kind: Kind
    sentence: str

    @property
    def surprise(self) -> Any:
        """`score`, as it was called in version 0.2."""
        return renamed(self, "surprise", "score")


class Events:
    """The events of one series, from rows and flags as they come, in pieces of any size."""

    def __init__(self, seasons: tuple[float, ...] | None = None) -> None:
        self._seasons = seasons
        self.found: list[Anomaly] = []
        self._past = np.zeros((0, 2))
        self._open: Open | None = None
        self._waiting: list[Open] = []
        self._lost: Open | None = None
        self._searched: Open | None = None  # the event before which seasons were last looked for
        self._spikes: dict[float, int] = {}  # how many spikes had each value
        self._newest = (0, -ECHO)  # number and last flagged row of the newest event
        self._count = 0

    def add(self, columns: Array, first: int, flags: Mask) -> Array:
        """Take in rows from number `first` on: columns (rows, 6) are value, residual, lower, upper, score and alarm.
        Returns the number of the event each belongs to as known when it came, 0 for none."""
        numbers, flagged, k = np.zeros(len(columns)), np.flatnonzero(flags), 0
        while k < len(columns):
            if self._open is None and not self._waiting:
                place = int(np.searchsorted(flagged, k))
                if place == len(flagged):
                    break
                k = int(flagged[place])
            row = FollowedRow(first + k, *columns[k].tolist())
            if self._open is not None and row.row - self._open.last > APART:
                self._waiting.append(self._open)
                self._open = None
            flagged_now = bool(flags[k])
            if flagged_now and self._open is None:
                self._open = next((event for event in self._waiting if event.flat()), None)
                if self._open is not None:  # a flagged row that ends a flat line belongs to it
                    self._waiting.remove(self._open)
            self._judge_waiting(row)
            before = columns[k - 1, 0] if k else self._past[-1:, 0]
            if flagged_now and self._open is None and self._is_echo(row, before):
                numbers[k], flagged_now = self._newest[0], False
            if flagged_now:
                event = self._open or self._begin(row, np.concatenate([self._past, columns[:k, :2]])[-KEPT:])
                event.last = row.row
                event.worst = max(event.worst, row, key=lambda r: (r.score, r.alarm))
                numbers[k] = event.number
                self._newest = (event.number, row.row)
            if self._open is not None:
                self._open.append(row)
            k += 1
        self._past = np.concatenate([self._past, columns[:, :2]])[-KEPT:]
        return numbers

    def _is_echo(self, row: FollowedRow, before: Any) -> bool:
        """Whether a row that moves, inside its interval, is flagged for what came before it: level and noise of the
        alarm reach back 80 rows, and the event they still hold has been reported."""
        near = row.row - self._newest[1] <= ECHO
        return near and row.lower <= row.value <= row.upper and bool(np.all(row.value != before))

    def _begin(self, row: FollowedRow, before: Array) -> Open:
        self._count += 1
        standing = float(held(before[:, 0])[-1]) if len(before) else np.nan
        near = self._searched is not None and row.row - self._searched.first < KEPT // 4
        seasons = self._searched.seasons if self._searched is not None and near else self._seasons
        same = run_at_end(before[:, 0])
        self._open = Open(self._count, row.row, row.row, row, before, same, standing, seasons)
        self._searched = self._searched if near else self._open
        return self._open

    def _judge_waiting(self, row: FollowedRow) -> None:
        """Give `row` to the events that wait for rows after them, and close those that have seen enough."""
        for event in list(self._waiting):
            still = event.flat() and (row.value == event.standing or np.isnan(row.value))
            waits = still or row.row - event.last <= max(APART, event.period)
            if not waits and event.noise is None:
                event.noise = judged(event)[0] is Kind.NOISE and event.noisy()
            if waits or (event.noise and event.noisy()):
                event.append(row)
            else:
                self._waiting.remove(event)
                self._close(event)

    def finish(self) -> list[Anomaly]:
        """All events, those too that are still going on."""
        for event in filter(None, [*self._waiting, self._open]):
            event.over = True
            self._close(event)
        self._open, self._waiting = None, []
        self.found.sort(key=lambda event: event.number)
        return self.found

    def _close(self, event: Open) -> None:
        if self._lost is not None and season_is_back(self._lost, event):
            # `event` is where the lost season ends, and no event of its own.
            for k, found in enumerate(self.found):
                if found.number == self._lost.number:
                    sentence = f"{found.sentence[:-1]}; from row {event.first} on (event {event.number}) it is back."
                    self.found[k] = found._replace(last=event.first, sentence=sentence)
            self._lost = None
            return
        kind, sentence, first, last = change_of_noise(event) if event.noise else judged(event)
        if kind is Kind.LOST_SEASON:
            self._lost = event
        worst = event.worst
        if kind is Kind.SPIKE:
            self._spikes[worst.value] = times = self._spikes.get(worst.value, 0) + 1
            if times >= REPEATED:
                sentence += f" {times} events have been {worst.value:.6g}: it may stand for a missing value."
        numbers = (worst.value, worst.lower, worst.upper, worst.score, worst.alarm)
        self.found.append(Anomaly(event.number, first, last, worst.row, *numbers, kind, sentence))


def flagged(score: Array, alarm: Array, rate: float) -> Mask:
    """Which rows are flagged: score and alarm, (rows,) each, share `rate`, the share of ordinary rows that is."""
    return np.asarray((score > math.log10(2.0) - math.log10(rate)) | (alarm >= 1 - rate / 2))


def find_events(
    values: ArrayLike, track: Track, rate: float = 1e-3, seasons: tuple[float, ...] | None = None
) -> list[Anomaly]:
    """The events of one series: values (time,), and what `Prophecy.follow` returned for them.

    rate is the share of ordinary rows flagged by mistake. The track's level decides what lies outside its interval:
    1 - rate is what `prophecy anomalies` takes. Seasons, in rows, are looked for before each event unless given.

    >>> import numpy as np, prophecy
    >>> u = np.sin(np.arange(1000) / 9) + 0.01 * np.random.default_rng(0).standard_normal(1000)
    >>> u[700:] += 1.0
    >>> model = prophecy.Prophecy()
    >>> found = find_events(u, model.follow(u, level=0.9999), 1e-4)
    >>> [(str(event.kind), event.first) for event in found]
    [('shift', 700)]
    """
    rows = np.asarray(values, dtype=np.float64)
    if rows.ndim != 1:
        raise ValueError(f"values must be one series of shape (time,), got {rows.shape}; hand in columns one by one")
    if np.shape(track.point) != rows.shape:
        raise ValueError(
            f"track has the shape {np.shape(track.point)}, values {rows.shape}: both must be of one series"
        )
    if not 0.0 < rate < 1.0:
        raise ValueError(f"rate must lie between 0 and 1, got {rate!r}")
    score, alarm = np.nan_to_num(track.score), np.nan_to_num(track.alarm)
    events = Events(seasons)
    columns = np.column_stack([rows, rows - track.point, track.lower, track.upper, score, alarm])
    events.add(columns, 0, flagged(score, alarm, rate))
    return events.finish()
