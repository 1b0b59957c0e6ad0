"""One stream in plain bytes, for engines that keep state by key themselves: `step_bytes`."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from prophecy.adaptive.limits import LARGEST
from prophecy.adaptive.times import LARGEST_TIME, seconds
from prophecy.fleet.answers import ROW, STATUS
from prophecy.fleet.slots import Slots, stamps_of


class Answer(NamedTuple):
    """The answer to one value. mean, lower, upper: predicted before it came; score and alarm: with it; status:
    taken, late or missing; next, next_lower, next_upper: predicted after it."""

    mean: float
    lower: float
    upper: float
    score: float
    alarm: float
    status: str
    next: float
    next_lower: float
    next_upper: float


class Single:
    """One stream that is observed value by value and is bytes whenever you like."""

    def __init__(self, state: bytes | None = None, *, dt: float | None = None, level: float = 0.9) -> None:
        """state: of a stream to go on with; every number in it is checked, and a ValueError names what is wrong."""
        if not 0.0 < level < 1.0:
            raise ValueError(f"level must lie strictly between 0 and 1, got {level}")
        self._slots, self._slot = Slots(1, dt, level), np.zeros(1, np.int64)
        if state:
            self._slots.restore(0, bytes(state))
        else:
            self._slots.open([0])

    def observe(self, value: float, time: ArrayLike | None = None) -> Answer:
        """Take in the next value, NaN where it is missing; time: one moment, in seconds or a date, always or never."""
        row = np.zeros(1, ROW)
        number = float(value)
        if not (abs(number) <= LARGEST or math.isnan(number)):
            raise ValueError(f"value must be at most {LARGEST:g} in size, got {number}; rescale the data")
        moment = math.nan if time is None else float(seconds(time))
        if time is not None and not abs(moment) <= LARGEST_TIME:
            raise ValueError(f"time must be finite, at most {LARGEST_TIME:g} in size, got {moment}")
        row["value"], row["time"] = number, moment
        row["dated"] = time is not None and np.asarray(time).dtype.kind in "MO"
        if self._slots.stamps[0] not in (-1, stamps_of(row)[0]):
            raise ValueError("time must be of one kind from the first value on: never, numbers, or dates")
        self._slots.run(self._slot, time is not None, row)
        mean, half, score, alarm, ahead, reach = (
            float(row[name][0]) for name in ("mean", "half", "score", "alarm", "next", "next_half")
        )
        status = STATUS[int(row["status"][0])]
        return Answer(mean, mean - half, mean + half, score, alarm, status, ahead, ahead - reach, ahead + reach)

    def state(self) -> bytes:
        """The stream's state: 16 bytes a value for its first 64 values, then 43 to 92 kB."""
        return self._slots.state(0)


def step_bytes(
    state: bytes | None, value: float, time: ArrayLike | None = None, *, dt: float | None = None, level: float = 0.9
) -> tuple[bytes, Answer]:
    """One value of one stream: the state before it (None or b"" for a new stream) gives the state after it, and the
    answer. time: one moment, in seconds or a date.

    A pure function of bytes, for any engine that keeps state by key; the numbers are those of `Prophecy`.

    >>> state = None
    >>> for k in range(50):
    ...     state, answer = step_bytes(state, np.sin(0.1 * k), k)
    >>> bool(abs(answer.next - np.sin(5.0)) < 1e-3)
    True
    """
    single = Single(state, dt=dt, level=level)
    answer = single.observe(value, time)
    return single.state(), answer


__all__ = ["Answer", "Single", "step_bytes"]
