"""Moments in time: dates with or without a time zone, or plain numbers, as one array."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

Moments = NDArray[Any]  # datetime64 of some unit, or float64

_EPOCH = datetime(1970, 1, 1)
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_QUARTER = 900  # seconds: every zone's clocks are changed at a full quarter of an hour


@dataclass(frozen=True, eq=False)
class Times:
    """When rows happened.

    values: datetime64 (in UTC where there is a zone, as written where there is none), or float64 numbers of any unit.
    zone: the time zone of the rows, in which days, weeks and months are counted; None without one.
    """

    values: Moments
    zone: tzinfo | None = None

    def __post_init__(self) -> None:
        values = np.asarray(self.values)
        if values.dtype.kind == "M" and np.datetime_data(values.dtype) not in [(unit, 1) for unit in _PER_SECOND]:
            values = values.astype("datetime64[s]")  # days, months and years as they are
        elif values.dtype.kind != "M":
            values = values.astype(np.float64)
        object.__setattr__(self, "values", values)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: Any) -> Times:
        return Times(self.values[rows], self.zone)

    @property
    def dates(self) -> bool:
        """Whether these are dates rather than numbers."""
        return bool(self.values.dtype.kind == "M")

    @property
    def missing(self) -> NDArray[np.bool_]:
        return np.asarray(np.isnat(self.values) if self.dates else ~np.isfinite(self.values))

    @property
    def per_second(self) -> int:
        """Ticks of the underlying integers in a second (dates only)."""
        return _PER_SECOND[np.datetime_data(self.values.dtype)[0]]

    @property
    def ticks(self) -> NDArray[Any]:
        """Whole numbers of the unit of dates since 1970, or the numbers themselves."""
        return self.values.astype(np.int64) if self.dates else self.values

    def wall(self) -> Moments:
        """What a clock on the wall showed: datetime64 in the zone's own time."""
        if self.zone is None or not self.dates:
            return self.values
        return shifted(self.values, offsets(self.values, self.zone))

    def from_wall(self, wall: Moments) -> Moments:
        """The moments (UTC) at which the zone's clocks show `wall`; a time that is skipped in spring is an hour later,
        of two that are the same in autumn it is the first."""
        return wall if self.zone is None else shifted(wall, -offsets(wall, self.zone, fold=0))

    def text(self, place: int) -> str:
        """One moment for a message: a date without a time of day where it has none."""
        value = self.wall()[place]
        return written(value) if self.dates else f"{float(value):.15g}"


def joined(parts: Sequence[Times]) -> Times:
    """Times one after the other, in the finest unit of any of them and the zone of the last."""
    units = {np.datetime_data(part.values.dtype)[0] for part in parts if part.dates}
    finest = next((unit for unit in ("ns", "us", "ms", "s") if unit in units), None)
    values = [part.values if finest is None else part.values.astype(f"datetime64[{finest}]") for part in parts]
    return Times(np.concatenate(values), parts[-1].zone)


def shifted(moments: Moments, seconds: NDArray[np.int64]) -> Moments:
    """Moments some seconds later."""
    return np.asarray(moments + seconds.astype("m8[s]").astype(f"m8[{np.datetime_data(moments.dtype)[0]}]"))


def offsets(moments: Moments, zone: tzinfo, fold: int | None = None) -> NDArray[np.int64]:
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


def zone_of(name: str) -> tzinfo:
    """A time zone by its name (Europe/Berlin, UTC) or its distance from UTC (+01:00)."""
    try:
        if re.fullmatch(r"[+-]\d\d:?\d\d", name):
            return timezone(timedelta(seconds=parse_offset(name)))
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):  # ZoneInfoNotFoundError is a KeyError; a folder's name is an OSError
        raise ValueError(
            f"there is no time zone {name!r}; name one such as Europe/Berlin, America/New_York, UTC or +01:00"
        ) from None


def written(value: Any) -> str:
    """A datetime64 as people write it: no time of day at midnight, no seconds where they are zero."""
    units = ("D", "m", "s", "ms", "us", "ns")
    unit = next((unit for unit in units if value == value.astype(f"datetime64[{unit}]")), "ns")
    return str(value.astype(f"datetime64[{unit}]")).replace("T", " ")
