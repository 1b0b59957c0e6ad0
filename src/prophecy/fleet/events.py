"""Events of a fleet's file: rows that were unusual, numbered, with the disturbance each belongs to."""

from __future__ import annotations

import sqlite3

import numpy as np
from numpy.typing import NDArray

from prophecy.fleet.answers import Event

KINDS = ("error", "change", "value", "level", "noise")
"""What was rarest about a row that raised an event, in the order of a record's `alarm_tail`."""

TOGETHER = 60
"""Rows between events of one disturbance at most: it raises several, at its beginning, while it lasts and at its end,
and the windows by which a stretch is judged hold it for as long."""


class Events:
    """The table `events` of an open database (its columns: `store.SCHEMA`)."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._db = database

    def note(self, rows: NDArray[np.void], places: list[int], kinds: list[str]) -> list[int]:
        """Events for these rows; their numbers. places: rows of its stream before each."""
        numbers = []
        for row, place, kind in zip(rows, places, kinds, strict=True):
            time = None if np.isnan(row["time"]) else float(row["time"])
            value, score = float(row["value"]), float(row["score"])
            # An alarm is 1 - a probability; a score is -log10 of such a probability, of one value alone.
            alarm = max(float(row["alarm"]), 1.0 - 10.0**-score)
            stream = int(row["stream"])
            made = self._db.execute(
                "INSERT INTO events (stream, place, time, value, score, alarm, kind, dated, fault) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (stream, place, time, value, score, alarm, kind, int(row["dated"]), self._fault(stream, place)),
            )
            numbers.append(int(made.lastrowid or 0))
        return numbers

    def _fault(self, stream: int, place: int) -> int | None:
        """The number of the event with which the disturbance at this row began; None where it begins here."""
        found = self._db.execute(
            "SELECT coalesce(fault, number), place FROM events WHERE stream = ? ORDER BY number DESC LIMIT 1", (stream,)
        ).fetchone()
        return None if found is None or place - found[1] > TOGETHER else int(found[0])

    def last(self) -> int:
        """The number of the newest event, 0 where there is none."""
        return int(self._db.execute("SELECT coalesce(max(number), 0) FROM events").fetchone()[0])

    def last_of(self, stream: int) -> tuple[int, float]:
        """Number and time of a stream's newest event; 0 and NaN without one."""
        found = self._db.execute(
            "SELECT number, time FROM events WHERE stream = ? ORDER BY number DESC LIMIT 1", (stream,)
        ).fetchone()
        return (0, np.nan) if found is None else (int(found[0]), np.nan if found[1] is None else float(found[1]))

    def places_of(self, stream: int, first: int, end: int) -> list[tuple[int, int]]:
        """Place and number of the events of a stream's rows from `first` to before `end`, which count from 0."""
        found = self._db.execute(
            "SELECT place, number FROM (SELECT place, number FROM events WHERE stream = ? ORDER BY number DESC "
            "LIMIT ?) WHERE place >= ? AND place < ?",
            (stream, end - first, first, end),
        )
        return [(int(place), int(number)) for place, number in found]

    def after(self, since: int, limit: int, stream: int | None, first: bool) -> list[Event]:
        """Events numbered after `since`, oldest first; first: of every disturbance only the one that began it."""
        return [
            Event(number, key, np.nan if time is None else time, value, score, alarm, kind, bool(dated), place, fault)
            for number, key, time, value, score, alarm, kind, dated, place, fault in self._db.execute(
                "SELECT number, coalesce((SELECT key FROM streams WHERE id = stream), "
                "(SELECT key FROM aside WHERE id = stream AND typeof(key) = 'text'), ''), "
                "time, value, score, alarm, kind, dated, place, coalesce(fault, number) FROM events "
                "WHERE number > ?1 AND (?2 IS NULL OR stream = ?2) AND (NOT ?4 OR fault IS NULL) "
                "ORDER BY number LIMIT ?3",
                (since, stream, limit, first),
            )
        ]
