"""`Fleet`: many keyed streams, each predicted as by a `Prophecy` of its own, kept in one file."""

from __future__ import annotations

import functools
import math
import os
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from prophecy import _checks
from prophecy._arrays import Counts
from prophecy._forecast import Forecast
from prophecy.fleet.answers import Answers, Brief, Event, Predictions, Recent, Refused, Summary, rows_of, share
from prophecy.fleet.check import LONGEST_KEY, are_keys
from prophecy.fleet.slots import BYTES
from prophecy.fleet.store import Aside, Saved
from prophecy.fleet.streams import LOG, Log, Streams
from prophecy.streams.arguments import step
from prophecy.streams.limits import MOST
from prophecy.streams.prophecy import Prophecy

P = ParamSpec("P")
T = TypeVar("T")

LARGEST_NOTE = 2**24  # bytes kept with a batch at most, on the caller's behalf
MEMORY = 2**30  # bytes of streams in memory by default
RATE = 1e-3  # share of ordinary rows that raise an event, as of `prophecy anomalies`


def _locked(method: Callable[Concatenate[Fleet, P], T]) -> Callable[Concatenate[Fleet, P], T]:

    @functools.wraps(method)
    def alone(self: Fleet, /, *args: P.args, **kwargs: P.kwargs) -> T:
        with self._lock:
            return method(self, *args, **kwargs)

    return alone


class Fleet:
    """Many streams by key: values go in, predictions, alarms and forecasts come out.

    path: the file that keeps everything (SQLite), None for none. What `observe` has answered survives `kill -9` and
    power failure, and is never counted twice.
    dt: the step in seconds of all streams; None finds each stream's own from its timestamps, or takes the file's.
    level: the intervals hold the next value with this probability; 0.9, or what the file was made with.
    memory: bytes of streams held in memory; those unused for longest are put aside in the file and come back when
    asked for.
    rate: the share of ordinary rows that raise an event.
    create: whether a file that is not there is made.
    log: how many rows the file's log keeps, and how often streams are saved (`prophecy.fleet.streams.Log`).

    Times of one key should rise. A value that is not after the newest of its key is late: it is left out, and its
    answer says so; four late ones in a row mean that the clock was set back, and the stream continues from there.
    One that came before, with the same value at the same time, is dropped without effect (docs/scale.md). Keys
    are taken or left as they come. All methods may be called from any thread, but not from a process forked meanwhile.

    >>> fleet = Fleet()
    >>> for k in range(100):
    ...     answers = fleet.observe(["a", "b"], [np.sin(0.1 * k), 3.0], time=[k, k])
    >>> bool(abs(fleet.predict(["a"]).point[0] - np.sin(10.0)) < 1e-6)
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
        rate, level = share("rate", rate), None if level is None else share("level", level)
        dt = None if dt is None else step(dt)
        self._lock = threading.RLock()
        self._streams = Streams(path, dt, level, rate, _checks.whole("memory", memory), create, log)
        self._level = float(self._streams.level)

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
        rows, names = _keyed(keys, values, time)
        if not isinstance(note, bytes) or len(note) > LARGEST_NOTE:
            raise TypeError(f"note must be bytes, at most {LARGEST_NOTE} of them, got {type(note).__name__}")
        with self._lock:
            return Answers(names, rows, self._streams.observe(names, time is not None, rows, note))

    def observe_some(self, keys: str | Sequence[str], values: ArrayLike, time: ArrayLike | None, steps: int) -> Answers:
        """`observe` for the first of the values (rows,) alone: until they have taken `steps` steps of their streams,
        one at least. The answers are as many as the rows taken."""
        rows, names = _keyed(keys, values, time)
        with self._lock:
            events = self._streams.observe(names, time is not None, rows, b"", _checks.whole("steps", steps))
        return Answers(names[: len(events)], rows[: len(events)], events)

    def check(self, keys: str | Sequence[str], values: ArrayLike, time: ArrayLike | None = None) -> None:
        """Whether `observe` would take these rows in, (rows,) of each; `Refused` if not. Nothing is changed."""
        rows, names = _keyed(keys, values, time)
        with self._lock:
            self._streams.check_times(names, rows)

    @_locked
    def predict(self, keys: Sequence[str] | None = None, level: float | None = None) -> Predictions:
        """The next value of each key (all of them by default), with intervals. Changes nothing."""
        level = self._level if level is None else share("level", level)
        names, held = self._streams.readable() if keys is None else list(keys), self._streams.held
        point, half = np.empty(len(names)), np.empty(len(names))
        for start in range(0, len(names), held.capacity):
            some = slice(start, start + held.capacity)
            point[some], half[some] = held.slots.predict(self._slots(names[some]), level)
        return Predictions(names, point, point - half, point + half, level)

    @_locked
    def events(self, since: int = 0, limit: int = 1000, key: str | None = None, *, first: bool = False) -> list[Event]:
        """Events after the one with number `since`, oldest first, at most `limit` of them. first: of every disturbance
        only the event that began it, which is the one to wake somebody up for."""
        since, limit = (min(_checks.whole(*asked), MOST) for asked in (("since", since, 0), ("limit", limit)))
        return self._streams.store.events.after(since, limit, None if key is None else self._found(key).id, bool(first))

    def alarms(self, since: int = 0, limit: int = 1000, key: str | None = None, *, first: bool = False) -> list[Event]:
        """`events`, as it was called in version 0.2."""
        warnings.warn("Fleet.alarms is now Fleet.events", DeprecationWarning, stacklevel=2)
        return self.events(since, limit, key, first=first)

    @property
    def last_event(self) -> int:
        """The number of the newest event, 0 where there is none."""
        with self._lock:
            return self._streams.store.events.last()

    def forecast(self, key: str, horizon: int, level: float | None = None) -> Forecast:
        """The next `horizon` values of one stream; others may be observed meanwhile. See `Prophecy.forecast`."""
        return self.model(key).forecast(horizon, self._level if level is None else level)

    def explain(self, key: str) -> str:
        """Describe in sentences and numbers how one stream is predicted."""
        return self.model(key).explain()

    @_locked
    def model(self, key: str) -> Prophecy:
        """A copy of one stream as a `Prophecy`, to do with as you please."""
        return self._streams.held.slots.model(int(self._slots([key])[0]))

    @_locked
    def recent(self, key: str, count: int = 256) -> Recent:
        """The last rows of one stream, oldest first; 256 are kept."""
        some, slot = slice(-_checks.whole("count", count), None), int(self._slots([key])[0])
        held = self._streams.held
        rows, end = held.slots.recent(slot), held.slots.count(slot)
        events, first = np.zeros(len(rows), np.int64), end - len(rows)
        for place, number in self._streams.store.events.places_of(int(held.ids[slot]), first, end):
            events[place - first] = number
        return Recent(key, rows[some].copy(), events[some])

    @_locked
    def summary(
        self, keys: Sequence[str] | None = None, search: str | None = None, offset: int = 0, limit: int = 100
    ) -> Summary:
        """Streams in brief, in the order of their keys: those named, or those whose key contains `search` (in any
        case), from the `offset`-th on, at most `limit`."""
        offset, limit = (min(_checks.whole(*asked, 0), MOST) for asked in (("offset", offset), ("limit", limit)))
        if keys is not None:
            return Summary(tuple(self._brief(key) for key in keys), len(keys))
        store = self._streams.store
        some = store.keys(search, offset, limit)
        return Summary(tuple(self._brief(key) for key in some), store.matching(search))

    def _brief(self, key: str) -> Brief:
        held = self._streams.held
        if key in held.slot_of:
            slot = held.slot_of[key]
            stream, count, last = int(held.ids[slot]), held.slots.count(slot), held.slots.last(slot)
        else:
            saved = self._found(key)
            stream, count, last = saved.id, saved.taken, saved.last or b""
        return Brief.of(key, count, last, *self._streams.store.events.last_of(stream))

    def batches(self, after: int = 0) -> Iterator[tuple[int, Answers, bytes]]:
        """Batches still in the log, by number: what was answered and noted then. At least the last 4096 rows are."""
        with self._lock:
            store, found = self._streams.store, []
            for batch, rows, note in store.batches(after):
                known = {stream: store.key_and_seen(stream) for stream in set(rows["stream"].tolist())}
                rows = rows[[known[stream] is not None for stream in rows["stream"].tolist()]]  # others were removed
                names = [one[0] for one in map(known.get, rows["stream"].tolist()) if one is not None]
                found.append((batch, Answers(names, rows, np.zeros(len(rows), np.int64)), note))
        yield from found

    def _slots(self, keys: Sequence[str]) -> Counts:
        """The slots of known streams, brought into memory."""
        held, names = self._streams.held, list(keys)
        unknown = [] if are_keys(names) else [key for key in names if not are_keys([key])]
        if not unknown and any(key not in held.slot_of for key in names):
            with self._streams.transaction():
                unknown = list(held.hold(dict.fromkeys(names), new=False))
        for key in unknown:
            raise self._unknown(key)
        return held.which(names)

    def _found(self, key: str) -> Saved:
        saved = self._streams.store.find(key) if are_keys([key]) else None
        if saved is None:
            raise self._unknown(key)
        return saved

    def _unknown(self, key: object) -> KeyError:
        """For a key under which nothing was observed, or whose stream was set aside."""
        for one in self.aside():
            if one.key == key:
                return KeyError(f"stream {key!r} could not be read and was set aside: {one.reason}")
        return KeyError(f"no stream {key!r}; observe a value of it first, or iterate over the fleet for its keys")

    @_locked
    def remove(self, key: str) -> None:
        """Forget a stream and its events."""
        stream, held = self._found(key).id, self._streams.held
        with self._streams.transaction():
            self._streams.store.remove(stream)
            if key in held.slot_of:
                held.drop(held.slot_of[key])

    @_locked
    def __len__(self) -> int:
        return len(self._streams.store)

    @_locked
    def __contains__(self, key: object) -> bool:
        return are_keys([key]) and not self.unknown([str(key)])

    @_locked
    def unknown(self, keys: Iterable[str]) -> set[str]:
        """Those of these keys that have no stream."""
        absent = {key for key in keys if key not in self._streams.held.slot_of}
        return absent - self._streams.store.last_rows(absent).keys()

    @_locked
    def __iter__(self) -> Iterator[str]:
        return iter(self._streams.store.keys())

    @_locked
    def problems(self) -> list[str]:
        """Read everything there is: the file's structure, checksums, and every number of every stream. [] is well."""
        found, _ = self._streams.store.problems(), self._streams.readable()
        way_out = "its next value starts it afresh; --discard forgets what was kept"
        return found + [
            f"stream {one.key!r} was set aside with {len(one.rows)} rows: {one.reason}; {way_out}"
            for one in self.aside()
        ]

    @_locked
    def aside(self) -> list[Aside]:
        """Streams that could not be read and were set aside: why, and their rows that no state has. A key whose
        stream was set aside starts afresh with its next value."""
        return self._streams.store.aside()

    @_locked
    def discard(self, key: str) -> None:
        """Forget what was set aside under a key."""
        found = [one.id for one in self.aside() if one.key == key]
        if not found:
            raise KeyError(f"nothing was set aside under {key!r}")
        with self._streams.transaction():
            for stream in found:
                self._streams.store.remove(stream)

    @_locked
    def vacuum(self) -> None:
        """Checkpoint, forget what the log need not have, and give unused room of the file back."""
        self._streams.checkpoint()
        self._streams.store.vacuum()

    @_locked
    def checkpoint(self) -> None:
        """Write the state of every stream, so that opening has nothing to catch up with."""
        self._streams.checkpoint()

    @_locked
    def close(self, seconds: float = math.inf) -> None:
        """Checkpoint and let go of the file. Closing again does nothing. seconds: how long the checkpoint may take;
        streams that are not saved by then are caught up with when the file is opened again."""
        self._streams.close(seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return "<Fleet, closed>" if self._streams.closed else f"<Fleet of {len(self)} streams>"

    def _repr_html_(self) -> str:
        from prophecy.tables.pictures import LISTED, of_streams

        if self._streams.closed:
            return of_streams(repr(self), (), 0)
        some = [row.key for row in self.summary(limit=LISTED).rows]
        return of_streams(repr(self), [(key, self.recent(key).value.tolist()) for key in some], len(self))

    @_locked
    def facts(self) -> dict[str, Any]:
        """About the fleet as a whole: streams, those in memory, rows in the log, events, bytes of the file."""
        held = self._streams.held
        return {
            "streams": len(self),
            "in memory": len(held.slot_of),
            "bytes per stream in memory": BYTES,
            "room for": held.capacity,
            **self._streams.store.facts(),
        }


def _keyed(keys: str | Sequence[str], values: ArrayLike, times: ArrayLike | None) -> tuple[NDArray[np.void], list[str]]:
    """Rows and keys, everything checked, so that what follows cannot fail half-way."""
    rows = rows_of(values, times)
    names = [keys] * len(rows) if isinstance(keys, str) else list(keys)
    if len(names) != len(rows):
        raise ValueError(f"values must be one for each of {len(names)} keys, got {len(rows)}")
    plain = are_keys(names)
    for row, key in () if plain else enumerate(names):
        if not (isinstance(key, str) and are_keys([str(key)])):
            shown = repr(key) if len(repr(key)) < 80 else repr(key)[:77] + "…"
            raise Refused(row, "key", f"must be plain text of 1 to {LONGEST_KEY} characters, got {shown}")
    return rows, names if plain else list(map(str, names))
