"""`Fleet`: many keyed streams, each predicted as by a `Prophecy` of its own, kept in one file."""

from __future__ import annotations

import math
import os
import threading
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from prophecy import _checks
from prophecy._forecast import Forecast
from prophecy.fleet.answers import ROW, Answers, Brief, Event, Predictions, Recent, Refused, Summary
from prophecy.fleet.check import LONGEST_KEY
from prophecy.fleet.store import Aside
from prophecy.fleet.streams import LOG, Log, Streams
from prophecy.streams.limits import LARGEST, LARGEST_TIME
from prophecy.streams.prophecy import Prophecy
from prophecy.streams.times import seconds

Array = NDArray[np.float64]

LARGEST_NOTE = 2**24
"""Bytes kept with a batch at most, on the caller's behalf."""

MEMORY = 2**30
"""Bytes of streams in memory by default."""

RATE = 1e-3
"""Share of ordinary rows that raise an event, as of `prophecy anomalies`."""


class Fleet:
    """Many streams by key: values go in, predictions, alarms and forecasts come out.

    path: the file that keeps everything (SQLite), None for none. What `observe` has answered survives `kill -9` and
    power failure, and is never taken in twice.
    dt: the step in seconds of all streams; None finds each stream's own from its timestamps, or takes the file's.
    level: the intervals hold the next value with this probability; 0.9, or what the file was made with.
    memory: bytes of streams held in memory; those unused for longest are put aside in the file and come back when
    asked for.
    rate: the share of ordinary rows that raise an event.
    create: whether a file that is not there is made.
    log: how many rows the file's log keeps, and how often streams are saved (`prophecy.fleet.streams.Log`).

    Times of one key should rise. A value that is not after the newest of its key is late: it is not taken in, and its
    answer says so; four late ones in a row mean that the clock was set back, and the stream goes on from there
    (docs/scale.md). Keys are taken or left as they come. All methods may be called from any thread, but not from a
    process forked meanwhile.

    >>> fleet = Fleet()
    >>> for k in range(100):
    ...     answers = fleet.observe(["a", "b"], [np.sin(0.1 * k), 3.0], time=[k, k])
    >>> bool(abs(fleet.predict(["a"]).mean[0] - np.sin(10.0)) < 1e-6)
    True
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        dt: float | None = None,
        level: float | None = None,
        memory: int = MEMORY,
        rate: float = RATE,
        create: bool = True,
        log: Log = LOG,
    ) -> None:
        if level is not None and not 0.0 < level < 1.0:
            raise ValueError(f"level must lie strictly between 0 and 1, got {level}")
        if not 0.0 < rate < 1.0:
            raise ValueError(f"rate must lie strictly between 0 and 1, got {rate}")
        dt = None if dt is None else _checks.positive("dt", dt)
        self._lock = threading.RLock()
        self._streams = Streams(path, dt, level, float(rate), _checks.whole("memory", memory), create, log)
        self._level = float(self._streams.level)

    # Values in.

    def observe(
        self,
        keys: str | Sequence[str],
        values: ArrayLike,
        *old: ArrayLike,
        time: ArrayLike | None = None,
        note: bytes = b"",
    ) -> Answers:
        """Take in a batch of rows, in order; returns when they are on the disk.

        keys: one for each row, or one for all. values: (rows,) numbers, NaN where missing. time: (rows,) seconds or
        dates (datetime64, datetime), None for streams without timestamps. One bad row refuses the whole batch
        (`Refused`, naming it), and nothing has changed. note: bytes to keep with the batch while it is in the log
        (`batches`).
        """
        if old:
            (values,), time = old, values
            message = "observe(keys, times, values) is now observe(keys, values, time=times)"
            warnings.warn(message, DeprecationWarning, stacklevel=2)
        rows, names = self._rows(keys, values, time)
        if not isinstance(note, bytes) or len(note) > LARGEST_NOTE:
            raise TypeError(f"note must be bytes, at most {LARGEST_NOTE} of them, got {type(note).__name__}")
        with self._lock:
            return Answers(names, rows, self._streams.observe(names, time is not None, rows, note))

    def observe_some(self, keys: str | Sequence[str], values: ArrayLike, time: ArrayLike | None, steps: int) -> Answers:
        """`observe` for the first rows alone: as many as take `steps` steps of their streams at most, and one at least.

        keys, values, time: (rows,); the answers are as many as the rows taken. So a batch of any cost can be taken in
        by parts, with others in between."""
        rows, names = self._rows(keys, values, time)
        with self._lock:
            events = self._streams.observe(names, time is not None, rows, b"", _checks.whole("steps", steps))
        return Answers(names[: len(events)], rows[: len(events)], events)

    def check(self, keys: str | Sequence[str], values: ArrayLike, time: ArrayLike | None = None) -> None:
        """Whether `observe` would take these rows in, (rows,) of each; `Refused` if not. Nothing is changed."""
        rows, names = self._rows(keys, values, time)
        with self._lock:
            self._streams.check_times(names, rows)

    def _rows(
        self, keys: str | Sequence[str], values: ArrayLike, times: ArrayLike | None
    ) -> tuple[NDArray[np.void], list[str]]:
        """Rows and keys, every number checked, so that what follows cannot fail half-way."""
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
        names = [keys] * len(numbers) if isinstance(keys, str) else list(keys)
        if len(names) != len(numbers):
            raise ValueError(f"values must be one for each of {len(names)} keys, got {len(numbers)}")
        for row, key in enumerate(names):
            if type(key) is not str or not 0 < len(key) <= LONGEST_KEY:
                _refuse_key(row, key)
        _check_text(names)
        rows = np.zeros(len(numbers), ROW)
        rows["value"], rows["time"] = numbers, np.nan
        bad = ~(np.abs(rows["value"]) <= LARGEST) & ~np.isnan(rows["value"])
        if bad.any():
            row = int(np.argmax(bad))
            raise Refused(row, "value", f"must be at most {LARGEST:g} in size, got {numbers[row]}; rescale the data")
        if times is not None:
            moments = np.atleast_1d(seconds(times))
            if moments.shape != numbers.shape:
                raise ValueError(f"times must be one for each of {len(names)} rows, got shape {np.shape(times)}")
            bad = ~(np.abs(moments) <= LARGEST_TIME)
            if bad.any():
                row = int(np.argmax(bad))
                raise Refused(row, "time", f"must be finite, at most {LARGEST_TIME:g} in size, got {moments[row]}")
            rows["time"], rows["dated"] = moments, np.asarray(times).dtype.kind in "MO"
        return rows, [str(name) for name in names]

    # Answers out.

    def predict(self, keys: Sequence[str] | None = None, level: float | None = None) -> Predictions:
        """The next value of each key (all of them by default), with intervals. Changes nothing."""
        level = self._level if level is None else level
        if not 0.0 < level < 1.0:
            raise ValueError(f"level must lie strictly between 0 and 1, got {level}")
        with self._lock:
            names = self._streams.readable() if keys is None else list(keys)
            mean, half = self._streams.predict(names, level)
        return Predictions(names, mean, mean - half, mean + half, level)

    def alarms(self, since: int = 0, limit: int = 1000, key: str | None = None, *, first: bool = False) -> list[Event]:
        """Events after the one with number `since`, oldest first, at most `limit` of them. first: of every disturbance
        only the event that began it, which is the one to wake somebody up for."""
        since, limit = _checks.whole("since", since, 0), _checks.whole("limit", limit)
        with self._lock:
            return self._streams.events(since, limit, key, bool(first))

    @property
    def last_event(self) -> int:
        """The number of the newest event, 0 where there is none."""
        with self._lock:
            return self._streams.last_event()

    def forecast(self, key: str, horizon: int, level: float | None = None) -> Forecast:
        """The next `horizon` values of one stream; others may be observed meanwhile. See `Prophecy.forecast`."""
        return self.model(key).forecast(horizon, self._level if level is None else level)

    def explain(self, key: str) -> str:
        """Describe in sentences and numbers how one stream is predicted."""
        return self.model(key).explain()

    def derivative(self, key: str) -> float:
        """The derivative of one stream at its newest value, in units per second."""
        return float(self.model(key).derivative())

    def model(self, key: str) -> Prophecy:
        """A copy of one stream as a `Prophecy`, to do with as you please."""
        with self._lock:
            return self._streams.model(key)

    def recent(self, key: str, count: int = 256) -> Recent:
        """The last rows of one stream, oldest first; 256 are kept."""
        with self._lock:
            some = slice(-_checks.whole("count", count), None)
            rows, events = self._streams.recent(key)
        rows, events = rows[some].copy(), events[some]
        mean, half = rows["mean"], rows["half"]
        dated = bool(len(rows) and rows["dated"][-1])
        numbers = (rows["time"], rows["value"], mean, mean - half, mean + half, rows["score"], rows["alarm"])
        return Recent(key, *numbers, events, dated)

    def summary(
        self, keys: Sequence[str] | None = None, search: str | None = None, offset: int = 0, limit: int = 100
    ) -> Summary:
        """Streams in brief, in the order of their keys: those named, or those whose key contains `search` (in any
        case), from the `offset`-th on, at most `limit`."""
        offset, limit = _checks.whole("offset", offset, 0), _checks.whole("limit", limit, 0)
        with self._lock:
            if keys is not None:
                return Summary(tuple(self._brief(key) for key in keys), len(keys))
            some = self._streams.keys(search, offset, limit)
            return Summary(tuple(self._brief(key) for key in some), self._streams.matching(search))

    def _brief(self, key: str) -> Brief:
        count, last, event, when = self._streams.brief(key)
        if last is None:
            return Brief(key, 0, *(math.nan,) * 7, event, when, False)
        time, value, score, alarm = (float(last[name]) for name in ("time", "value", "score", "alarm"))
        mean, half = float(last["next"]), float(last["next_half"])
        dated = bool(last["dated"])
        return Brief(key, count, time, value, mean, mean - half, mean + half, score, alarm, event, when, dated)

    def batches(self, after: int = 0) -> Iterator[tuple[int, Answers, bytes]]:
        """Batches still in the log, by number: what was answered and noted then. At least the last 4096 rows are."""
        with self._lock:
            found = list(self._streams.batches(after))
        yield from found

    # Keys.

    def remove(self, key: str) -> None:
        """Forget a stream and its events."""
        with self._lock:
            self._streams.remove(key)

    def __len__(self) -> int:
        with self._lock:
            return len(self._streams)

    def __contains__(self, key: object) -> bool:
        with self._lock:
            return isinstance(key, str) and key in self._streams

    def __iter__(self) -> Iterator[str]:
        with self._lock:
            return iter(self._streams.keys())

    # Its file.

    def problems(self) -> list[str]:
        """Read everything there is: the file's structure, checksums, and every number of every stream. [] is well."""
        with self._lock:
            return self._streams.problems()

    def aside(self) -> list[Aside]:
        """Streams that could not be read and were set aside: why, and their rows that no state has. A key of which the
        stream was set aside begins anew with its next value."""
        with self._lock:
            return self._streams.aside()

    def discard(self, key: str) -> None:
        """Forget what was set aside under a key."""
        with self._lock:
            self._streams.discard(key)

    def vacuum(self) -> None:
        """Checkpoint, forget what the log need not have, and give unused room of the file back."""
        with self._lock:
            self._streams.vacuum()

    def checkpoint(self) -> None:
        """Write the state of every stream, so that opening has nothing to catch up with."""
        with self._lock:
            self._streams.checkpoint()

    def close(self, seconds: float = math.inf) -> None:
        """Checkpoint and let go of the file. Closing again does nothing. seconds: how long the checkpoint may take;
        streams that are not saved by then are caught up with when the file is opened again."""
        with self._lock:
            self._streams.close(seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return "<Fleet, closed>" if self._streams.closed else f"<Fleet of {len(self)} streams>"

    def _repr_html_(self) -> str:
        from prophecy.tables.notebook import MOST, of_streams

        if self._streams.closed:
            return of_streams(repr(self), (), 0)
        some = [row.key for row in self.summary(limit=MOST).rows]
        return of_streams(repr(self), [(key, self.recent(key).value.tolist()) for key in some], len(self))

    def facts(self) -> dict[str, Any]:
        """About the fleet as a whole: streams, those in memory, rows in the log, events, bytes of the file."""
        with self._lock:
            return self._streams.facts()


def _refuse_key(row: int, key: object) -> None:
    if isinstance(key, str) and 0 < len(key) <= LONGEST_KEY:
        return  # np.str_ and other kinds of str
    shown = repr(key) if len(repr(key)) < 80 else repr(key)[:77] + "…"
    raise Refused(row, "key", f"must be text of 1 to {LONGEST_KEY} characters, got {shown}")


def _check_text(keys: list[str]) -> None:
    """Keys must be text that a file can hold: no half characters, and no character of number 0."""
    joined = "".join(keys)
    try:
        joined.encode()
        fine = "\0" not in joined
    except UnicodeEncodeError:
        fine = False
    if fine:
        return
    for row, key in enumerate(keys):
        if "\0" in key or any("\ud800" <= character <= "\udfff" for character in key):
            raise Refused(row, "key", f"must be plain text, got {key!r}")
