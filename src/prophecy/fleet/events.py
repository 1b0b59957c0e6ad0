"""Events of a fleet's file: rows that were unusual, numbered, with the disturbance each belongs to."""

import sqlite3

import numpy as np
from numpy.typing import NDArray

from prophecy.fleet.answers import Event

KINDS = ("error", "change", "value", "level", "noise")  # what was rarest about a row, as in a record's `alarm_tail`
TOGETHER = 60  # rows between events of one disturbance at most: the windows that judge a stretch hold it for as long


class Events:
    """The table `events` of an open database (its columns: `store.SCHEMA`)."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._db = database

    def note(self, rows: NDArray[np.void], places: list[int], kinds: list[str]) -> list[int]:
        """Events for these rows; their numbers. places: rows of its stream before each."""
        numbers = []
        fields = ["stream", "time", "value", "score", "alarm", "dated"]
        insert = "INSERT INTO events VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        for row, place, kind in zip(rows[fields].tolist(), places, kinds, strict=True):
            stream, time, value, score, alarm, dated = row
            # An alarm is 1 - a probability; a score is -log10 of such a probability, of one value alone.
            alarm = max(alarm, 1.0 - 10.0**-score)
            made = (stream, place, time, value, score, alarm, kind, dated, self._fault(stream, place))  # NaN is NULL
            numbers.append(int(self._db.execute(insert, made).lastrowid or 0))
        return numbers

    def _fault(self, stream: int, place: int) -> int | None:
        """The number of the event with which the disturbance at this row began; None where it begins here."""
        asked = "SELECT coalesce(fault, number), place FROM events WHERE stream = ? ORDER BY number DESC LIMIT 1"
        found = self._db.execute(asked, (stream,)).fetchone()
        return None if found is None or place - found[1] > TOGETHER else int(found[0])

    def last(self) -> int:
        return int(self._db.execute("SELECT coalesce(max(number), 0) FROM events").fetchone()[0])

    def last_of(self, stream: int) -> tuple[int, float]:
        """Number and time of a stream's newest event; 0 and NaN without one."""
        asked = "SELECT number, time FROM events WHERE stream = ? ORDER BY number DESC LIMIT 1"
        number, time = self._db.execute(asked, (stream,)).fetchone() or (0, None)
        return int(number), np.nan if time is None else float(time)

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
        asked = (
            "SELECT number, coalesce((SELECT CAST(key AS BLOB) FROM streams WHERE id = stream), "
            "(SELECT CAST(key AS BLOB) FROM aside WHERE id = stream), x''), "
            "time, value, score, alarm, kind, dated, place, coalesce(fault, number) FROM events "
            "WHERE number > ?1 AND (?2 IS NULL OR stream = ?2) AND (NOT ?4 OR fault IS NULL) ORDER BY number LIMIT ?3"
        )
        found = self._db.execute(asked, (since, stream, limit, first))
        return [
            Event(number, readable(key), np.nan if time is None else time, value, score, alarm, kind, dated == 1, *rest)
            for number, key, time, value, score, alarm, kind, dated, *rest in found
        ]


def readable(key: bytes | None) -> str:
    """A key that may not be text: streams are set aside for that, and are still named."""
    return (key or b"").decode(errors="backslashreplace")
