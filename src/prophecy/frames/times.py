"""Moments in time: dates with or without a time zone, or plain numbers, as one array.

A clock that is put back in autumn shows one hour twice, so a table of local times has rows that look like duplicates.
Which of the two a row belongs to follows from its place: rows are in the order of time, or in its reverse.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

import numpy as np
from numpy.typing import NDArray

from prophecy._arrays import Counts, Indices, Mask

Moments = NDArray[Any]  # datetime64 of some unit, or float64

_EPOCH = datetime(1970, 1, 1)
PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}  # of the units of dates, and of epochs
_QUARTER = 900  # seconds: every zone's clocks are changed at a full quarter of an hour


@dataclass(frozen=True, eq=False)
class Times:
    """When rows happened.

    values: datetime64 (in UTC where there is a zone, as written where there is none), or float64 numbers of any unit.
    zone: the time zone of the rows, in which days, weeks and months are counted; None without one. ahead: seconds ahead
    of UTC written in each row, where they differ: its clock showed them, and zone is that of the last.
    """

    values: Moments
    zone: tzinfo | None = None
    ahead: Counts | None = None

    def __post_init__(self) -> None:
        values = np.asarray(self.values)
        if values.dtype.kind == "M" and np.datetime_data(values.dtype) not in [(unit, 1) for unit in PER_SECOND]:
            values = values.astype("datetime64[s]")  # days, months and years as they are
        elif values.dtype.kind != "M":
            values = values.astype(np.float64)
        object.__setattr__(self, "values", values)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: Any) -> "Times":
        ahead = None if self.ahead is None else self.ahead[rows]
        zone = self.zone if ahead is None or not len(ahead) else timezone(timedelta(seconds=int(ahead[-1])))
        return Times(self.values[rows], zone, ahead)

    @property
    def dates(self) -> bool:
        """Whether these are dates rather than numbers."""
        return bool(self.values.dtype.kind == "M")

    @property
    def missing(self) -> Mask:
        return np.asarray(np.isnat(self.values) if self.dates else ~np.isfinite(self.values))

    @property
    def per_second(self) -> int:
        """Ticks of the underlying integers in a second (dates only)."""
        return PER_SECOND[np.datetime_data(self.values.dtype)[0]]

    @property
    def ticks(self) -> NDArray[Any]:
        """Whole numbers of the unit of dates since 1970, or the numbers themselves."""
        return self.values.astype(np.int64) if self.dates else self.values

    def wall(self) -> Moments:
        """What a clock on the wall showed: datetime64 in the zone's own time."""
        if self.zone is None or not self.dates:
            return self.values
        return shifted(self.values, offsets(self.values, self.zone) if self.ahead is None else self.ahead)

    def from_wall(self, wall: Moments) -> Moments:
        """The moments (UTC) at which the zone's clocks show `wall`; a time that is skipped in spring is an hour later,
        of two that are the same in autumn it is the first."""
        return wall if self.zone is None else shifted(wall, -offsets(wall, self.zone, fold=0))

    def text(self, place: int) -> str:
        """One moment for a message: a date without a time of day where it has none."""
        value = self.wall()[place]
        return written(value) if self.dates else f"{float(value):.15g}"

    def texts(self) -> list[str | None]:
        """Dates in one format, as precise as they need, with their offset where the zone is one; None where missing."""
        offset = offset_text(self.zone) if isinstance(self.zone, timezone) else ""
        wall = self.wall()
        unit = _unit(wall[~self.missing])
        texts = np.datetime_as_string(wall, "m" if unit == "D" and offset else unit).tolist()
        return [None if text == "NaT" else text.replace("T", " ") + offset for text in texts]


def joined(parts: Sequence[Times]) -> Times:
    """Times one after the other, in the finest unit of any of them and the zone of the last."""
    units = {np.datetime_data(part.values.dtype)[0] for part in parts if part.dates}
    finest = next((unit for unit in ("ns", "us", "ms", "s") if unit in units), None)
    values = [part.values if finest is None else part.values.astype(f"datetime64[{finest}]") for part in parts]
    return Times(np.concatenate(values), parts[-1].zone)


def shifted(moments: Moments, seconds: Counts) -> Moments:
    """Moments some seconds later."""
    return np.asarray(moments + seconds.astype("m8[s]").astype(f"m8[{np.datetime_data(moments.dtype)[0]}]"))


def offsets(moments: Moments, zone: tzinfo, fold: int | None = None) -> Counts:
    """Seconds by which a zone's clocks are ahead of UTC at some moments.

    fold: the moments are what the clocks show, at the first (0) or second (1) time; None: they are UTC.
    """
    seconds = np.where(np.isnat(moments), np.datetime64(0, "s"), moments.astype("datetime64[s]")).astype(np.int64)
    quarters, place = np.unique(seconds // _QUARTER, return_inverse=True)
    found = []
    for quarter in quarters.tolist():
        at = _EPOCH + timedelta(seconds=_QUARTER * quarter)
        local = at.replace(tzinfo=UTC).astimezone(zone) if fold is None else at.replace(tzinfo=zone, fold=fold)
        ahead = local.utcoffset()
        found.append(0 if ahead is None else int(ahead.total_seconds()))
    return np.array(found, dtype=np.int64)[place]


def parse_offset(zone: str) -> int:
    """Seconds by which a zone such as `+01:00`, `-0530`, `Z` or `UTC` is ahead of UTC."""
    if zone in ("Z", "UTC", "GMT"):
        return 0
    digits = zone[1:].replace(":", "").ljust(4, "0")
    return (1 if zone[0] == "+" else -1) * (int(digits[:2]) * 3600 + int(digits[2:]) * 60)


def offset_text(zone: timezone) -> str:
    """A fixed zone as dates have it: +01:00."""
    return str(zone).removeprefix("UTC") or "+00:00"


def zone_of(name: str) -> tzinfo:
    """A time zone by its name (Europe/Berlin, UTC) or its distance from UTC (+01:00)."""
    try:
        if re.fullmatch(r"(UTC)?[+-]\d\d:?\d\d", name):
            return timezone(timedelta(seconds=parse_offset(name.removeprefix("UTC"))))
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):  # ZoneInfoNotFoundError is a KeyError; a folder's name is an OSError
        raise ValueError(
            f"there is no time zone {name!r}; name one such as Europe/Berlin, America/New_York, UTC or +01:00"
        ) from None


def written(value: Any) -> str:
    """A datetime64 as people write it: no time of day at midnight, no seconds where they are zero."""
    return str(np.datetime_as_string(value, _unit(value))).replace("T", " ")


def _unit(values: Any) -> Any:
    """The coarsest unit that holds these moments."""
    units = ("D", "m", "s", "ms", "us", "ns")
    return next((unit for unit in units if np.all(values == values.astype(f"datetime64[{unit}]"))), "ns")


def in_zone(times: Times, zone: tzinfo, series: Iterable[Any], column: str = "time", utc: bool = False) -> Times:
    """The moments at which a zone's clocks showed some times. series: the rows of each, in the order of the table.

    Times that are moments already (written with an offset, or `utc`: counted since 1970) are shown in the zone. column:
    what messages call them.
    """
    if not times.dates:
        raise ValueError(
            f"column {column!r} holds numbers, which have no time zone; leave the time zone out, or name a column of "
            "dates"
        )
    if utc or times.zone is not None:
        return Times(times.values, zone)
    early, late = (offsets(times.values, zone, fold) for fold in (0, 1))
    skipped = np.flatnonzero((early < late) & ~times.missing)
    if len(skipped):
        raise ValueError(
            f"column {column!r}: {written(times.values[skipped[0]])} does not exist in {zone}, whose clocks skip it "
            "when summer time begins; if the times are of another zone, or of winter time all year, name that one, "
            "such as UTC or +01:00"
        )
    second, length = np.zeros(len(times), dtype=bool), np.maximum(early - late, 0)
    for rows in series if length.any() else ():
        try:
            second[rows] = _second(times.values[rows], length[rows])
        except ValueError as error:
            raise ValueError(
                f"column {column!r}: in the hour after {error}, which {zone} has twice when summer time ends, a time "
                "comes more than twice or rows are in no order; tell series apart by a key, or sort the table by time "
                "first"
            ) from None
    return Times(shifted(times.values, -np.where(second, late, early)), zone)


def _second(wall: Moments, length: Counts) -> Mask:
    """Which rows of a series are of the second of two hours that look the same: those that come again, or after a step
    back. length: seconds shown twice. An hour that cannot be told apart is refused with its beginning."""
    steps = np.diff(wall[~np.isnat(wall)]).astype(np.int64)
    if int((steps < 0).sum()) > int((steps > 0).sum()):  # newest first
        return _second(wall[::-1], length[::-1])[::-1]
    second, places = np.zeros(len(wall), dtype=bool), np.flatnonzero(length > 0)
    days = wall[places].astype("datetime64[D]")
    for day in np.unique(days):
        mine = places[days == day]
        rows = wall[mine]
        again = np.append(False, rows[1:] <= np.maximum.accumulate(rows)[:-1])
        again |= np.append(0, np.cumsum(rows[1:] < rows[:-1])) > 0
        if any((np.diff(part).astype(np.int64) <= 0).any() for part in (rows[again], rows[~again])):
            raise ValueError(written(rows.min()))
        second[mine] = again if again.any() else _late(wall, int(mine[0]), int(length[mine[0]]))
    return second


def summer_time_ends(times: Times, doubled: Indices) -> bool:
    """Whether times that come twice, in rows more often than daily, are those that the clocks of some zone show twice
    when summer time ends."""
    wall = times.values
    if times.zone is not None or not times.dates or (wall == wall.astype("datetime64[D]")).all():
        return False
    zones = map(ZoneInfo, sorted(available_timezones()))
    return any((offsets(wall[doubled], zone, 0) > offsets(wall[doubled], zone, 1)).all() for zone in zones)


def _late(wall: Moments, place: int, length: int) -> bool:
    """Whether rows passing through a doubled hour once, from `place` on, do so the second time: where only then they
    are as far from the row before as rows usually are. (Rows two hours apart; clocks that are changed by half an hour.)
    """
    if place == 0:
        return False
    steps = np.abs(np.diff(wall)) / np.timedelta64(1, "s")
    usual, here = float(np.median(steps)), float(steps[place - 1])
    return bool(here != usual and here + length == usual)
