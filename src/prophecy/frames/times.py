"""Moments in time: dates with or without a time zone, or plain numbers, as one array."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

import numpy as np
from numpy.typing import NDArray

Moments = NDArray[Any]  # datetime64 of some unit, or float64

_EPOCH = datetime(1970, 1, 1)
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


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

    def wall(self) -> Moments:
        """What a clock on the wall showed: datetime64 in the zone's own time."""
        if self.zone is None or not self.dates:
            return self.values
        unit = np.datetime_data(self.values.dtype)[0]
        return np.asarray(
            self.values + np.array(_offsets(self.values, self.zone), "timedelta64[s]").astype(f"m8[{unit}]")
        )

    def from_wall(self, wall: Moments) -> Moments:
        """The moments (UTC) at which the zone's clocks show `wall`; a time that is skipped in spring is an hour later,
        of two that are the same in autumn it is the first."""
        if self.zone is None:
            return wall
        shown = wall.astype("datetime64[s]").astype(np.int64).tolist()
        zone, offsets = self.zone, []
        for second in shown:
            local = (_EPOCH + timedelta(seconds=second)).replace(tzinfo=zone)
            offsets.append(second - int(local.astimezone(UTC).replace(tzinfo=None).__sub__(_EPOCH).total_seconds()))
        return np.asarray(wall - np.array(offsets, "timedelta64[s]").astype(wall.dtype.str.replace("M8", "m8")))

    def text(self, place: int) -> str:
        """One moment for a message: a date without a time of day where it has none."""
        value = self.wall()[place]
        if not self.dates:
            return f"{float(value):.15g}"
        return written(value)


def joined(parts: Sequence[Times]) -> Times:
    """Times one after the other, in the finest unit of any of them and the zone of the last."""
    units = {np.datetime_data(part.values.dtype)[0] for part in parts if part.dates}
    finest = next((unit for unit in ("ns", "us", "ms", "s") if unit in units), None)
    values = [part.values if finest is None else part.values.astype(f"datetime64[{finest}]") for part in parts]
    return Times(np.concatenate(values), parts[-1].zone)


def _offsets(values: Moments, zone: tzinfo) -> list[int]:
    """Seconds by which the zone's clocks were ahead of UTC. Asked once per hour that occurs: offsets change on them."""
    hours = values.astype("datetime64[h]").astype(np.int64)
    unique, place = np.unique(hours, return_inverse=True)
    found = []
    for hour in unique.tolist():
        offset = (_EPOCH + timedelta(hours=hour)).replace(tzinfo=UTC).astimezone(zone).utcoffset()
        found.append(0 if offset is None else int(offset.total_seconds()))
    return [int(offset) for offset in np.array(found, dtype=np.int64)[place]]


def written(value: Any) -> str:
    """A datetime64 as people write it: no time of day at midnight, no seconds where they are zero."""
    day = value.astype("datetime64[D]")
    if value == day:
        return str(day)
    for unit in ("m", "s", "ms", "us", "ns"):
        if value == value.astype(f"datetime64[{unit}]"):
            return str(value.astype(f"datetime64[{unit}]")).replace("T", " ")
    return str(value)
