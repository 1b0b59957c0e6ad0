"""One stream in plain bytes, for engines that keep state by key themselves: `step_bytes`."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from prophecy._arrays import Array, Mask
from prophecy.fleet.answers import STATUS, Rows, is_value, rows_of, share, stamps_of
from prophecy.fleet.slots import Slots
from prophecy.streams.arguments import step
from prophecy.streams.limits import LARGEST_TIME


class Answer(NamedTuple):
    """The answer to one value, as in `Answers`."""

    point: float
    lower: float
    upper: float
    score: float
    alarm: float
    status: str
    next: float
    next_lower: float
    next_upper: float


NUMBERS = tuple(name for name in Answer._fields if name != "status")


class Single:
    """One stream that is observed value by value and is bytes whenever you like."""

    def __init__(self, state: bytes | None = None, *, dt: float | None = None, level: float = 0.9) -> None:
        """state: of a stream to go on with; every number in it is checked, and a ValueError names what is wrong."""
        self._slots = Slots(1, None if dt is None else step(dt), share("level", level))
        self._slots.open([0])
        if state and (bad := self._slots.restore_many([0], [bytes(state)])):
            raise ValueError(bad[0])

    def observe(self, value: float, time: ArrayLike | None = None) -> Answer:
        """Take in the next value, NaN where it is missing; time: one moment, in seconds or a date, always or never."""
        row = Rows(self.follow([float(value)], None if time is None else np.atleast_1d(np.asarray(time))))
        return Answer(status=STATUS[row.rows["status"][0]], **row.first(**{name: name for name in NUMBERS}))

    def follow(self, values: ArrayLike, times: ArrayLike | None = None) -> NDArray[np.void]:
        """Take in values one after the other, with their times or without; the rows (`answers.ROW`) with the answers.
        All are of shape (rows,). Where one of them cannot be taken, none is (`Refused`, a ValueError)."""
        rows = rows_of(values, times)
        if len(rows) and self._slots.stamps[0] not in (-1, stamps_of(rows)[0]):
            raise ValueError("time must be of one kind from the first value on: never, numbers, or dates")
        self._slots.run(np.zeros(len(rows), np.int64), times is not None, rows)
        return rows

    @staticmethod
    def accepts(values: Array, times: Array | None) -> Mask:
        """Which of these numbers can be taken in, (rows,): of at most 1e75 in size or missing, at finite times."""
        return is_value(values) if times is None else is_value(values) & (np.abs(times) <= LARGEST_TIME)

    def state(self) -> bytes:
        """The stream's state: 16 bytes a value for its first 64 values, then 40 to 90 kB."""
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
