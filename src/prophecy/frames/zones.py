"""Local times of a zone with summer time: which moments they are, the hour that autumn has twice included.

A clock that is put back in autumn shows one hour twice, so a table of local times has rows that look like duplicates.
Which of the two a row belongs to follows from its place: rows are in the order of time, or in its reverse.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import tzinfo
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prophecy.frames.times import Moments, Times, offsets, shifted, written

_CHANGES = (3, 4, 9, 10, 11)  # months in which some country puts its clocks back
_BACK = (0, 4)  # hours of the day between which the doubled hour lies, in every zone in use


class Local:
    """Times as a zone's clocks showed them, read piece by piece into moments.

    zone: whose clocks. column: what messages call them. utc: the times count from 1970 and are moments already.
    What of a doubled hour has been read stays known between pieces, for each series.
    """

    def __init__(self, zone: tzinfo, column: str = "time", utc: bool = False) -> None:
        self._zone, self._column, self._utc = zone, column, utc
        self._before: dict[str, Moments] = {}

    def read(self, times: Times, series: Iterable[tuple[str, Any]]) -> Times:
        """The moments of some rows. series: each key and its rows, in the order of the table.

        Times that are moments already (written with an offset, or counted since 1970) are shown in the zone.
        """
        if not times.dates:
            raise ValueError(
                f"column {self._column!r} holds numbers, which have no time zone; leave the time zone out, or name a "
                "column of dates"
            )
        if self._utc or times.zone is not None:
            return Times(times.values, self._zone)
        early, late = (offsets(times.values, self._zone, fold) for fold in (0, 1))
        self._refuse_skipped(times, early, late)
        second = np.zeros(len(times), dtype=bool)
        length = np.maximum(early - late, 0)
        if length.any() or self._before:
            for key, rows in series:
                second[rows] = self._second(key, times.values[rows], length[rows])
        return Times(shifted(times.values, -np.where(second, late, early)), self._zone)

    def _refuse_skipped(self, times: Times, early: NDArray[np.int64], late: NDArray[np.int64]) -> None:
        skipped = np.flatnonzero((early < late) & ~times.missing)
        if len(skipped):
            shown = written(times.values[skipped[0]])
            raise ValueError(
                f"column {self._column!r}: {shown} does not exist in {self._zone}, whose clocks skip it when summer "
                "time begins; if the times are of another zone, or of winter time all year, name that one, such as "
                "UTC or +01:00"
            )

    def _second(self, key: str, wall: Moments, length: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which rows of a series are of the second of two hours that look the same. length: seconds shown twice."""
        second = np.zeros(len(wall), dtype=bool)
        places = np.flatnonzero(length > 0)
        before = self._before.pop(key, wall[:0])
        if not len(places):
            return second
        turn = slice(None, None, -1 if _downwards(wall) else 1)
        days = wall[places].astype("datetime64[D]")
        for day in np.unique(days):
            mine = places[days == day]
            known = before[before.astype("datetime64[D]") == day]
            rows = np.concatenate([known, wall[mine]])
            found = _passes(rows[turn])
            if found is None:
                raise ValueError(
                    f"column {self._column!r}: in the hour after {written(rows.min())}, which {self._zone} has twice "
                    f"when summer time ends, {written(_most_frequent(rows))} comes more than twice or rows are in no "
                    "order; tell series apart by a key, or sort the table by time first"
                )
            if not found.any() and not len(known):
                found[:] = _late(wall[turn], len(wall) - 1 - mine[-1] if turn.step < 0 else mine[0], length[mine[0]])
            second[mine] = found[turn][len(known) :]
            if mine[-1] == len(wall) - 1:  # the hour may go on in the next piece
                self._before[key] = rows
        return second


def summer_time_ends(times: Times, doubled: NDArray[np.intp]) -> bool:
    """Whether times that come twice look like the hour that clocks put back show twice: no zone is known, and all of
    them lie in the small hours of a Sunday of one of the months in which clocks are put back."""
    if times.zone is not None or not times.dates:
        return False
    wall = times.values[doubled]
    days = wall.astype("datetime64[D]")
    months = wall.astype("datetime64[M]").astype(np.int64) % 12 + 1
    hours = (wall - days).astype("timedelta64[h]").astype(np.int64)
    sunday = (days.astype(np.int64) + 3) % 7 == 6  # 1970-01-01 was a Thursday
    whole_days = bool((times.values == times.values.astype("datetime64[D]")).all())
    fits = sunday & np.isin(months, _CHANGES) & (hours >= _BACK[0]) & (hours < _BACK[1])
    return bool(fits.all()) and not whole_days


def _passes(rows: Moments) -> NDArray[np.bool_] | None:
    """Which rows (in the order of time) are of the second pass through an hour; None where order does not decide."""
    back = np.flatnonzero(rows[1:] <= rows[:-1])
    if len(back) < 2:
        return np.arange(len(rows)) > (back[0] if len(back) else len(rows))
    # Sorted by what the clock showed: the two rows of a time stand together, the earlier one first.
    if np.unique(rows, return_counts=True)[1].max() > 2 or bool((rows[1:] < rows[:-1]).any()):
        return None
    return np.concatenate([[False], rows[1:] == rows[:-1]])


def _late(wall: Moments, place: int, length: int) -> bool:
    """Whether rows passing through a doubled hour once, from `place` on, do so the second time: where only then they
    are as far from the row before as rows usually are. (Rows two hours apart; clocks that are changed by half an hour.)
    """
    if place == 0:
        return False
    steps = np.abs(np.diff(wall)) / np.timedelta64(1, "s")
    usual, here = float(np.median(steps)), float(steps[place - 1])
    return bool(here != usual and here + length == usual)


def _downwards(wall: Moments) -> bool:
    steps = np.diff(wall[~np.isnat(wall)]).astype(np.int64)
    return int((steps < 0).sum()) > int((steps > 0).sum())


def _most_frequent(rows: Moments) -> Any:
    found, counts = np.unique(rows, return_counts=True)
    return found[int(np.argmax(counts))]
