"""What a fleet takes in and gives back: rows as they are logged, answers, predictions, events, summaries."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from prophecy import _checks
from prophecy._arrays import Array, Counts, Mask
from prophecy._renamed import renamed
from prophecy.streams.arguments import seconds
from prophecy.streams.limits import LARGEST, LARGEST_TIME

ANSWER = ("point", "half", "score", "alarm", "next", "next_half")
"""The fields of a row that are answered, and that a replay has to give again."""

ROW = np.dtype(
    [("stream", "<i8"), *((name, "<f8") for name in ("time", "value", *ANSWER)), ("status", "u1"), ("dated", "u1")]
)
"""A row as it is logged, 74 bytes. stream: its number in the file; time: seconds, NaN for streams without timestamps;
value: NaN where missing; point, half: predicted before the value came, and half the interval's width; score, alarm: its
own; next, next_half: predicted after it; status: place in `STATUS`; dated: 1 where times were given as dates."""

RAW = np.dtype(f"V{ROW.itemsize}")  # the same as bytes alone, which NumPy picks by index twenty times as fast

STATUS = ("taken", "late", "missing", "repeated")
"""taken: the value was learned from; late: it came after a newer one and was passed over; missing: a gap was noted;
repeated: the same value came at the same time before, and was dropped."""

TAKEN, LATE, MISSING, REPEATED = range(4)

NO_TIMES, NUMBERS, DATES = range(3)  # kinds of times a stream may have


class Refused(ValueError):
    """A row that cannot be taken, so that nothing of its batch was. row: its place, from 0; field: key, time, value."""

    def __init__(self, row: int, field: str, message: str) -> None:
        super().__init__(f"row {row}: {field} {message}")
        self.row, self.field = row, field


def share(name: str, value: object) -> float:
    """A level or a rate: a number strictly between 0 and 1."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise TypeError(f"{name} must be a number, got {value!r}")
    if not 0.0 < value < 1.0:
        raise ValueError(f"{name} must lie strictly between 0 and 1, got {value}")
    return float(value)


def rows_of(values: ArrayLike, times: ArrayLike | None) -> NDArray[np.void]:
    """Rows of these values and times, (rows,) each, every number checked; `Refused` names the first that is wrong."""
    try:
        numbers = np.atleast_1d(_checks.real_array("values", values))
    except TypeError:
        row = _checks.first_text(values)
        if row is None:
            raise
        found = values[row]  # type: ignore[index]
        raise Refused(row, "value", f"must be a number, NaN where it is missing, got {found!r}") from None
    if numbers.ndim != 1:
        raise ValueError(f"values must be (rows,), got shape {numbers.shape}")
    rows = np.zeros(len(numbers), ROW)
    rows["value"], rows["time"] = numbers, np.nan
    _refuse(~is_value(rows["value"]), rows["value"], "value", f"at most {LARGEST:g} in size", "; rescale the data")
    if times is not None:
        moments = np.atleast_1d(seconds(times))
        if moments.shape != numbers.shape:
            raise ValueError(f"times must be one for each of {len(rows)} rows, got shape {np.shape(times)}")
        _refuse(~(np.abs(moments) <= LARGEST_TIME), moments, "time", f"finite, at most {LARGEST_TIME:g} in size")
        rows["time"], rows["dated"] = moments, np.asarray(times).dtype.kind in "MO"
    return rows


def is_value(values: Array) -> Mask:
    """Which numbers a stream takes in: those of at most 1e75 in size, and NaN."""
    return np.asarray((np.abs(values) <= LARGEST) | np.isnan(values))


def _refuse(bad: Mask, found: Array, field: str, must: str, way_out: str = "") -> None:
    if bad.any():
        row = int(np.argmax(bad))
        raise Refused(row, field, f"must be {must}, got {found[row]}{way_out}")


def are_rows(rows: NDArray[np.void], least: int = 1) -> bool:
    """Whether these are rows as a fleet logs them; least: the least number of a stream."""
    fine = is_value(rows["value"]) & ((np.abs(rows["time"]) <= LARGEST_TIME) | np.isnan(rows["time"]))
    fine &= (rows["status"] < len(STATUS)) & (rows["dated"] <= 1) & (rows["stream"] >= least)
    return bool(fine.all())


def stamps_of(rows: NDArray[np.void]) -> NDArray[np.int8]:
    dated = np.where(rows["dated"] != 0, DATES, NUMBERS)
    return np.where(np.isnan(rows["time"]), NO_TIMES, dated).astype(np.int8)


def same_input(one: bytes, other: bytes) -> bool:
    """Whether two rows are one that came once: the same time and value, whatever was answered. b"": no row."""
    rows = [np.frombuffer(row, ROW)[["time", "value", "dated"]].tolist() for row in (one, other)]
    return repr(rows[0]) == repr(rows[1])


class _Column:
    """A field of rows as an attribute; with a sign, the end of the interval around it."""

    def __init__(self, name: str, half: str = "half", sign: int = 0) -> None:
        self._name, self._half, self._sign = name, half, sign

    def __get__(self, owner: Rows, kind: type | None = None) -> Array:
        middle = owner.rows[self._name]
        return np.asarray(middle + self._sign * owner.rows[self._half]) if self._sign else middle


class _Renamed:
    @property
    def mean(self) -> Any:
        """`point`, as it was called in version 0.2."""
        return renamed(self, "mean", "point")


class Rows(_Renamed):
    """Rows with their columns as arrays (rows,)."""

    def __init__(self, rows: NDArray[np.void]) -> None:
        self.rows = rows

    time, value, score, alarm = (_Column(name) for name in ("time", "value", "score", "alarm"))
    point, lower, upper = (_Column("point", "half", sign) for sign in (0, -1, 1))
    next, next_lower, next_upper = (_Column("next", "next_half", sign) for sign in (0, -1, 1))

    def __len__(self) -> int:
        return len(self.rows)

    def first(self, **columns: str) -> dict[str, float]:
        """Numbers of the first row by name, each of the column named."""
        return {name: float(getattr(self, column)[0]) for name, column in columns.items()}


@dataclass(frozen=True)
class Answers(Rows):
    """Answers to a batch, arrays (rows,) aligned with its rows. point, lower, upper: what was predicted of each value
    before it came; score and alarm: its own (NaN for rows that were late or repeated); next, next_lower, next_upper:
    what is predicted to follow it; event: the number of the event the row raised, 0 for none."""

    key: list[str]
    rows: NDArray[np.void]
    event: Counts

    def __repr__(self) -> str:
        counts = ", ".join(f"{self.status.count(name)} {name}" for name in STATUS)
        return f"Answers to {len(self)} row{'' if len(self) == 1 else 's'} ({counts})"

    @property
    def dated(self) -> Mask:
        return np.asarray(self.rows["dated"] != 0)

    @cached_property
    def status(self) -> list[str]:
        return [STATUS[code] for code in self.rows["status"].tolist()]


@dataclass(frozen=True)
class Recent(Rows):
    """The last rows of one stream, oldest first; arrays (rows,). Rows that were late or repeated are not among them.
    event: the number of the event a row raised, 0 for none."""

    key: str
    rows: NDArray[np.void]
    event: Counts

    @property
    def dated(self) -> bool:
        return bool(len(self.rows) and self.rows["dated"][-1])


@dataclass(frozen=True)
class Predictions(_Renamed):
    """The next value of each key: arrays (keys,) aligned with `key`. NaN before a stream's first value."""

    key: list[str]
    point: Array
    lower: Array
    upper: Array
    level: float


@dataclass(frozen=True)
class Event:
    """A row that was unusual for its stream. number: 1, 2, … over all streams, in the order they came; alarm: 1 - the
    share of ordinary rows that are as unusual, be it by the value alone or by the recent stretch; kind: the quantity
    that was rarest (error, change, value, level, noise); place: rows of its stream before it; fault: the number of the
    event that began the disturbance it belongs to, its own if it did."""

    number: int
    key: str
    time: float
    value: float
    score: float
    alarm: float
    kind: str
    dated: bool
    place: int
    fault: int


@dataclass(frozen=True)
class Brief:
    """A stream in brief: how many rows came, the newest of them, what is predicted next, its last event (0: none)."""

    key: str
    count: int
    time: float
    value: float
    point: float
    lower: float
    upper: float
    score: float
    alarm: float
    event: int
    event_time: float
    dated: bool

    @classmethod
    def of(cls, key: str, count: int, last: bytes, event: int, event_time: float) -> Brief:
        """last: the newest row, b"" before the first."""
        rows = np.frombuffer(last, ROW) if last else np.array([(0, *[np.nan] * 8, 0, 0)], ROW)
        made = Rows(rows).first(time="time", value="value", point="next", lower="next_lower", upper="next_upper")
        made |= Rows(rows).first(score="score", alarm="alarm")
        return cls(key=key, count=count, event=event, event_time=event_time, dated=bool(rows["dated"][0]), **made)


@dataclass(frozen=True)
class Summary:
    """Some of the streams, by key; total: how many match."""

    rows: tuple[Brief, ...]
    total: int
