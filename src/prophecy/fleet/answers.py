"""What a fleet takes in and gives back: rows as they are logged, answers, predictions, events, summaries."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

ROW = np.dtype(
    [
        ("stream", "<i8"),
        ("time", "<f8"),
        ("value", "<f8"),
        ("mean", "<f8"),
        ("half", "<f8"),
        ("score", "<f8"),
        ("alarm", "<f8"),
        ("next", "<f8"),
        ("next_half", "<f8"),
        ("status", "u1"),
        ("dated", "u1"),
    ]
)
"""A row as it is logged, 74 bytes. stream: its number in the file; time: seconds, NaN for streams without timestamps;
value: NaN where missing; mean, half: predicted before the value came, and half the interval's width; score, alarm: with
it; next, next_half: predicted after it; status: place in `STATUS`; dated: 1 where times were given as dates."""

ANSWER = ("mean", "half", "score", "alarm", "next", "next_half")
"""The fields a replay has to give again."""

STATUS = ("taken", "late", "missing")
"""taken: the value was learned from; late: it came after a newer one and was passed over; missing: a gap was noted."""

TAKEN, LATE, MISSING = range(3)


def same_input(one: NDArray[np.void] | None, other: NDArray[np.void] | None) -> bool:
    """Whether two rows are one that came once: the same time and value, whatever was answered."""
    if one is None or other is None:
        return one is other
    return all(one[name].tobytes() == other[name].tobytes() for name in ("time", "value", "dated"))


class Refused(ValueError):
    """A row that cannot be taken, so that nothing of its batch was. row: its place, from 0; field: key, time, value."""

    def __init__(self, row: int, field: str, message: str) -> None:
        super().__init__(f"row {row}: {field} {message}")
        self.row, self.field = row, field


@dataclass(frozen=True)
class Answers:
    """Answers to a batch, arrays (rows,) aligned with its rows.

    mean, lower, upper: what was predicted of each value before it came; score and alarm: with it (NaN for rows that
    were late); next, next_lower, next_upper: what is predicted to follow it; event: the number of the event the row
    raised, 0 for none.
    """

    key: list[str]
    rows: NDArray[np.void]
    event: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        counts = ", ".join(f"{self.status.count(name)} {name}" for name in STATUS)
        return f"Answers to {len(self)} row{'' if len(self) == 1 else 's'} ({counts})"

    @property
    def time(self) -> Array:
        return self.rows["time"]

    @property
    def value(self) -> Array:
        return self.rows["value"]

    @property
    def mean(self) -> Array:
        return self.rows["mean"]

    @property
    def lower(self) -> Array:
        return np.asarray(self.rows["mean"] - self.rows["half"], dtype=np.float64)

    @property
    def upper(self) -> Array:
        return np.asarray(self.rows["mean"] + self.rows["half"], dtype=np.float64)

    @property
    def score(self) -> Array:
        return self.rows["score"]

    @property
    def alarm(self) -> Array:
        return self.rows["alarm"]

    @property
    def next(self) -> Array:
        return self.rows["next"]

    @property
    def next_lower(self) -> Array:
        return np.asarray(self.rows["next"] - self.rows["next_half"], dtype=np.float64)

    @property
    def next_upper(self) -> Array:
        return np.asarray(self.rows["next"] + self.rows["next_half"], dtype=np.float64)

    @property
    def dated(self) -> NDArray[np.bool_]:
        return np.asarray(self.rows["dated"] != 0)

    @cached_property
    def status(self) -> list[str]:
        return [STATUS[code] for code in self.rows["status"].tolist()]


@dataclass(frozen=True)
class Predictions:
    """The next value of each key: arrays (keys,) aligned with `key`. NaN before a stream's first value."""

    key: list[str]
    mean: Array
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
class Recent:
    """The last rows of one stream, oldest first; arrays (rows,). Rows that came late are not among them. event:
    the number of the event a row raised, 0 for none."""

    key: str
    time: Array
    value: Array
    mean: Array
    lower: Array
    upper: Array
    score: Array
    alarm: Array
    event: NDArray[np.int64]
    dated: bool


@dataclass(frozen=True)
class Brief:
    """A stream in brief: how many rows came, the newest of them, what is predicted next, its last event (0: none)."""

    key: str
    count: int
    time: float
    value: float
    mean: float
    lower: float
    upper: float
    score: float
    alarm: float
    event: int
    event_time: float
    dated: bool


@dataclass(frozen=True)
class Summary:
    """Some of the streams, by key; total: how many match."""

    rows: tuple[Brief, ...]
    total: int
