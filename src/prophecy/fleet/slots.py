"""Streams in memory: slots, each of which holds one stream, run through many at a time and saved by number.

A slot is one row of the arrays that compiled code works on (`kernels.entry`), and the last rows with their answers. A
stream that has seen few values is saved as these values: taking them in again costs less than reading, checking and
writing its whole state, and takes 16 bytes each instead of 43 kB and more.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prophecy import _machine
from prophecy.fleet.answers import (
    ANSWER,
    DATES,
    LATE,
    MISSING,
    NO_TIMES,
    RAW,
    ROW,
    TAKEN,
    are_rows,
    is_value,
    stamps_of,
)
from prophecy.streams.kernels.entry import Streams
from prophecy.streams.limits import EARNED, LARGEST, LARGEST_TIME, MOST, QUARTER, RING, WALKED
from prophecy.streams.limits import PARTS as PARTS_TRIED
from prophecy.streams.limits import RECENT as STAMPS
from prophecy.streams.prophecy import Prophecy, of_rows
from prophecy.streams.rows import (
    CLOCK,
    RECORD,
    SAMPLES,
    check,
    check_clocks,
    check_samples,
    fresh,
    fresh_clocks,
    fresh_samples,
    settle,
)
from prophecy.streams.settings import DEFAULT
from prophecy.streams.table import between, table

Array = NDArray[np.float64]

RECENT = 256
"""Rows of each stream kept to be shown, with their answers: as many as a page's chart has room for."""

YOUNG = 64
"""Rows up to which a stream is saved as its values: 3 µs each to take in again (195 µs for 64), against 250 µs to
write, read and check a whole state, which takes 43 kB instead of 1 kB (benchmarks/results/fleet.json, "states")."""

WORTH_THREADS = 2000
"""Rows from which on threads share the work: some 5 ms, against 0.1 ms to hand it over."""

REPLAYED = WALKED / (8 * QUARTER)
"""Steps a value counts as on average for starting another grid from the stamps kept, which every 32nd may do; an
eighth of what that may take, since values earn their steps."""

BYTES = RECORD.itemsize + 8 * RING + CLOCK.itemsize + SAMPLES.itemsize + RECENT * ROW.itemsize
"""Memory of a stream that has seen thousands of values; of a young one about half is touched."""

PARTS = {
    "counts": np.dtype("<i8"),
    "time": np.dtype("<f8"),
    "value": np.dtype("<f8"),
    "record": RECORD,
    "ring": np.dtype("<f8"),
    "clock": CLOCK,
    "samples": SAMPLES,
    "recent": ROW,
}
"""What a state consists of. counts: rows taken in, whether any came late, whether times are dates. A young stream has
its times and values, a grown one all the rest."""

MAGIC = b"PRO2"
LARGEST_STATE = 2**20
"""Bytes of a state at most; a real one has up to 92 kB."""

State = dict[str, NDArray[Any]]
_EMPTY: NDArray[Any] = np.zeros(0)


class Slots:
    """Room for `capacity` streams; memory is used as slots are first written to."""

    def __init__(self, capacity: int, dt: float | None, level: float, threads: int | None = None) -> None:
        self._dt, self._level, self._where = dt, level, between(level)
        self._table = table(DEFAULT)
        self._fresh = fresh(1, self._table), fresh_clocks(1, dt), fresh_samples(1)
        self._records, self._rings = np.zeros(capacity, RECORD), np.zeros((capacity, RING))
        self._clocks, self._samples = np.zeros(capacity, CLOCK), np.zeros(capacity, SAMPLES)
        self._streams = Streams(self._records, self._rings, self._clocks, self._samples, self._table)
        self._recent, self._rows = np.zeros((capacity, RECENT), RAW), np.zeros(capacity, np.int64)
        self._late = np.zeros(capacity, bool)
        self.stamps = np.full(capacity, -1, np.int8)
        """What times the stream of a slot has: `NO_TIMES`, `NUMBERS` or `DATES`; -1 before its first row."""
        self._threads = threads or _machine.cores()
        self._pool: ThreadPoolExecutor | None = None

    def open(self, slots: Sequence[int]) -> None:
        """Streams that have seen nothing."""
        for slot, used in zip(slots, self._records["count"][slots].tolist(), strict=True):
            self._rings[slot, : min(used, RING)] = 0.0
        self._records[slots], self._clocks[slots], self._samples[slots] = self._fresh
        self._rows[slots], self._late[slots], self.stamps[slots] = 0, False, -1

    # Running.

    def run(self, slots: NDArray[np.int64], timed: bool, rows: NDArray[np.void]) -> NDArray[np.int64]:
        """Take in rows, each into its slot, in order, and write the answers into them.

        Returns (2, rows): how many rows its stream had before each, 0 for those that were late; and which rank of the
        alarm (`alarm_tail`) was the smallest with it.
        """
        order = np.argsort(slots, kind="stable")
        which, mine = slots[order], rows.view(RAW)[order].view(ROW)
        values, out, passed = mine["value"].copy(), np.empty((len(rows), 7)), np.empty(len(rows))
        times = mine["time"].copy() if timed else _EMPTY

        def some(part: slice) -> None:
            when = times[part] if timed else _EMPTY
            self._streams.take(which[part], when, values[part], self._where, out[part], passed[part])

        self._share(some, which)
        for place, name in enumerate(ANSWER):
            mine[name] = out[:, place]
        late = passed == 0.0
        mine["status"] = np.where(late, LATE, np.where(np.isnan(values), MISSING, TAKEN))
        self._late[which[late]], self.stamps[which] = True, stamps_of(mine)
        noted = np.zeros((2, len(rows)), np.int64)
        taken = ~late if late.any() else slice(None)
        noted[0, order[taken]] = self._remember(which[taken], mine.view(RAW)[taken])
        noted[1, order] = out[:, 6]
        rows.view(RAW)[order] = mine.view(RAW)
        return noted

    def costs(self, slots: NDArray[np.int64], rows: NDArray[np.void]) -> Array:
        """How many steps each row may take at most: one, and where it passes places of its clock's grid, that many on
        the finest grid that the clock could find by then, each of them forecast, passed and looked at."""
        order = np.argsort(slots, kind="stable")
        which, times = slots[order], rows["time"][order]
        first = np.diff(which, prepend=-1) != 0
        fresh = first & (self._clocks["count"][which] == 0)
        before = np.where(first, self._clocks["last"][which], np.roll(times, 1))
        passed = np.where(fresh | ~(times > before), 0.0, times - before)
        place, starts = np.cumsum(first) - 1, np.flatnonzero(first)
        clocks = self._clocks[which[starts]]
        step = np.where(clocks["dt"] > 0.0, clocks["dt"], np.inf)
        finest = np.minimum(step, np.minimum.reduceat(np.where(passed > 0.0, passed, np.inf), starts))
        longest = np.maximum.reduceat(passed, starts)
        odd = (longest > 1.5 * finest) | (clocks["odd"] == 1)
        recent = np.where(np.arange(STAMPS) < clocks["count"][odd, None], clocks["recent"][odd], np.inf)
        with np.errstate(invalid="ignore"):
            between = np.diff(np.sort(recent, axis=1), axis=1)
        finest[odd] = np.minimum(finest[odd], np.where(between > 0.0, between, np.inf).min(axis=1, initial=np.inf))
        # A clock walks through `WALKED` steps of holes, less those of late, and then through what values earn; those of
        # the stamps it has kept too, where it finds a finer grid.
        nth, allowed = np.arange(len(rows)) - starts[place] + 1, np.maximum(WALKED - clocks["walked"], 0.0)
        wanted = np.minimum(passed * (PARTS_TRIED / finest[place]), WALKED)
        wanted[starts[finest < step / 1.5]] = WALKED
        total = np.cumsum(wanted)
        total = np.minimum(total - (total - wanted)[starts][place], allowed[place] + EARNED * nth)
        places = np.where(first, total, np.diff(total, prepend=0.0))
        found, passing = np.empty(len(rows)), (longest > 1.5 * finest)[place]
        found[order] = np.where(passing, 1.0 + 3.0 * places + REPLAYED, 1.0)
        return found

    def _share(self, some: Any, which: NDArray[np.int64]) -> None:
        """some(part) for all rows, in threads that each have streams of their own."""
        if len(which) < WORTH_THREADS or self._threads == 1:
            some(slice(0, len(which)))
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._threads)
        even = [len(which) * k // self._threads for k in range(1, self._threads)]
        cuts = [0, *(int(np.searchsorted(which, which[cut])) for cut in even), len(which)]
        for job in [self._pool.submit(some, slice(a, b)) for a, b in pairwise(cuts) if b > a]:
            job.result()

    def _remember(self, which: NDArray[np.int64], rows: NDArray[np.void]) -> NDArray[np.int64]:
        """Keep the last rows (`RAW`) of each slot; how many there were before each. which: in rising order."""
        starts = np.flatnonzero(np.diff(which, prepend=-1))
        lengths = np.diff(np.append(starts, len(which)))
        nth = np.arange(len(which)) - np.repeat(starts, lengths)
        before = self._rows[which] + nth
        kept = np.repeat(lengths, lengths) - nth <= RECENT  # later rows of the same batch would overwrite the others
        self._recent[which[kept], before[kept] % RECENT] = rows[kept]
        self._rows[which[starts]] += lengths
        return np.asarray(before)

    # Reading.

    def count(self, slot: int) -> int:
        """Rows a stream has taken in, those that were late not among them."""
        return int(self._rows[slot])

    def last(self, slot: int) -> bytes:
        """The newest row as bytes; none before the first."""
        count = int(self._rows[slot])
        return self._recent[slot, (count - 1) % RECENT].tobytes() if count else b""

    def recent(self, slot: int) -> NDArray[np.void]:
        """The last rows of a stream that were not late, oldest first."""
        count = int(self._rows[slot])
        return np.asarray(self._recent[slot, np.arange(max(0, count - RECENT), count) % RECENT].view(ROW))

    def predict(self, slots: NDArray[np.int64], level: float) -> tuple[Array, Array]:
        """Mean and half width of the next value of each."""
        out, nothing = np.empty((len(slots), 3)), np.full(len(slots), np.nan)
        self._streams.ahead(slots, nothing, nothing, between(level), out)
        return out[:, 0], out[:, 1]

    def model(self, slot: int) -> Prophecy:
        """A copy of a stream as a `Prophecy`."""
        one = slice(slot, slot + 1)
        rows = (self._records[one], self._rings[one], self._clocks[one], self._samples[one])
        return of_rows(*(part.copy() for part in rows), dt=self._dt, count=int(self._rows[slot]))

    # States.

    def state(self, slot: int) -> bytes:
        """The state of a stream: its values while it is young and they came in order, then all of it."""
        count, times = int(self._rows[slot]), self.stamps[slot]
        state: State = dict.fromkeys(PARTS, _EMPTY)
        state["counts"] = np.array([count, self._late[slot], times == DATES], "<i8")
        if self._is_young(slot):
            rows = self._recent[slot, :count].view(ROW)
            state |= {"value": rows["value"], "time": _EMPTY if times == NO_TIMES else rows["time"]}
        else:
            one, used = slice(slot, slot + 1), min(self._records["count"][slot], RING)
            settle(self._records[one], self._clocks[one], self._samples[one])
            state |= {"record": self._records[one], "clock": self._clocks[one], "samples": self._samples[one]}
            state |= {"ring": self._rings[slot, :used], "recent": self.recent(slot)}
        return pack(state)

    def _is_young(self, slot: int) -> bool:
        """Whether taking in the rows again is cheap and gives the same: few of them, in order, on a grid with few
        places passed over, each of which costs as much as a row."""
        young = 0 < self._rows[slot] <= YOUNG and self._records["count"][slot] <= 2 * YOUNG
        return bool(young and not self._late[slot] and self._clocks["irregular"][slot] == 0)

    def restore(self, slot: int, data: bytes) -> None:
        """Set a slot from a state, every number of which is checked; ValueError."""
        for reason in self.restore_many([slot], [data]).values():
            raise ValueError(reason)

    def restore_many(self, slots: Sequence[int], states: Sequence[bytes]) -> dict[int, str]:
        """Set slots from states; the slots of those that no stream could have reached, and why."""
        bad: dict[int, str] = {}
        grown: list[tuple[int, State]] = []
        young: dict[bool, list[tuple[int, State]]] = {True: [], False: []}
        for slot, data in zip(slots, states, strict=True):
            try:
                found = _state(data)
            except ValueError as error:
                bad[slot] = str(error)
                continue
            (grown if len(found["record"]) else young[len(found["time"]) > 0]).append((slot, found))
        if grown:
            bad |= self._put(grown)
        for timed, some in young.items():
            if some:
                self._take_again(some, timed)
        return bad

    def _take_again(self, some: list[tuple[int, State]], timed: bool) -> None:
        """The values of young streams."""
        slots, states = [slot for slot, _ in some], [found for _, found in some]
        lengths = [len(found["value"]) for found in states]
        rows = np.zeros(sum(lengths), ROW)
        rows["time"] = np.concatenate([found["time"] for found in states]) if timed else np.nan
        rows["value"] = np.concatenate([found["value"] for found in states])
        rows["dated"] = np.repeat([found["counts"][2] for found in states], lengths)
        self.open(slots)
        self.run(np.repeat(slots, lengths), timed, rows)

    def _put(self, grown: list[tuple[int, State]]) -> dict[int, str]:
        """States of grown streams, all checked at once; one by one if that fails. Those that are wrong, and why."""
        try:
            self._check([found for _, found in grown])
        except ValueError as error:
            if len(grown) == 1:
                return {grown[0][0]: str(error)}
            bad: dict[int, str] = {}
            for one in grown:
                bad |= self._put([one])
            return bad
        self.open([slot for slot, _ in grown])
        for slot, found in grown:
            self._rings[slot, : len(found["ring"])] = found["ring"]
            self._records[slot], self._clocks[slot] = found["record"][0], found["clock"][0]
            self._samples[slot] = found["samples"][0]
            self._rows[slot], self._late[slot] = found["counts"][:2]
            rows, count = found["recent"], int(found["counts"][0])
            self._recent[slot, np.arange(count - len(rows), count) % RECENT] = rows.view(RAW)
            self.stamps[slot] = stamps_of(rows)[-1] if count else -1
        return {}

    def _check(self, many: list[State]) -> None:
        check(np.concatenate([found["record"] for found in many]), self._table)
        check_clocks(np.concatenate([found["clock"] for found in many]), len(many))
        check_samples(np.concatenate([found["samples"] for found in many]), len(many))

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None


def _state(data: bytes) -> State:
    """The parts of a state, each of its size and within its limits; ValueError. Record, clock and samples of a grown
    stream are left to those who know them."""
    found = unpack(data, PARTS)
    sizes = {name: len(part) for name, part in found.items()}
    count, late, dated = found["counts"].tolist() if sizes["counts"] == 3 else (-1, 0, 0)
    if not 0 <= count <= MOST or late not in (0, 1) or dated not in (0, 1):
        raise ValueError("the state of a stream contradicts itself about how many rows it has")
    if sizes["record"]:
        used = int(min(max(int(found["record"]["count"][0]), 0), RING))
        wanted = {"record": 1, "clock": 1, "samples": 1, "ring": used, "recent": min(count, RECENT)}
    else:
        wanted = {"value": count, "time": sizes["time"] and count}
    for name, size in sizes.items():
        if size != wanted.get(name, 3 if name == "counts" else 0):
            raise ValueError(f"{name} of a stream's state has {size} entries instead of {wanted.get(name, 0)}")
    if not sizes["record"]:
        if not 0 < count <= YOUNG or late or dated > sizes["time"]:
            raise ValueError("the state of a stream holds neither its values nor the rest")
        if not (is_value(found["value"]).all() and (np.abs(found["time"]) <= LARGEST_TIME).all()):
            raise ValueError(f"values of a stream must be at most {LARGEST:g} in size, and times finite")
    elif not are_rows(found["recent"], least=0):
        raise ValueError("the state of a stream has rows that no fleet takes in")
    elif not (np.abs(found["ring"]) <= LARGEST).all():
        raise ValueError(f"ring must hold {used} values of at most {LARGEST:g} in size")
    return found


_NOTHING: dict[str, NDArray[Any]] = {}  # parts without entries


def pack(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """The arrays one after the other: magic, lengths in bytes, their bytes, and the checksum of all before it."""
    parts = [array.tobytes() if len(array) else b"" for array in arrays.values()]
    data = b"".join([MAGIC, struct.pack(f"<{len(parts)}I", *map(len, parts)), *parts])
    return data + struct.pack("<I", zlib.crc32(data))


def unpack(data: bytes, dtypes: Mapping[str, np.dtype[Any]]) -> dict[str, NDArray[Any]]:
    """What `pack` packed, as flat arrays of these types; ValueError for anything else."""
    head = len(MAGIC) + 4 * len(dtypes)
    if not head + 4 <= len(data) <= LARGEST_STATE or data[:4] != MAGIC:
        raise ValueError(f"{len(data)} bytes are not the state of a stream")
    if struct.unpack("<I", data[-4:])[0] != zlib.crc32(data[:-4]):
        raise ValueError("the state of a stream does not have its checksum")
    lengths = struct.unpack(f"<{len(dtypes)}I", data[4:head])
    if head + sum(lengths) + 4 != len(data):
        raise ValueError("the state of a stream is not as long as its header states")
    found, start = {}, head
    for (name, dtype), length in zip(dtypes.items(), lengths, strict=True):
        if not length:  # most parts of a young stream, and an array of records is slow to make
            found[name] = _NOTHING[name] if name in _NOTHING else _NOTHING.setdefault(name, np.zeros(0, dtype))
            continue
        if length % dtype.itemsize:
            raise ValueError(f"{name} of a stream's state has {length} bytes, no whole number of {dtype}")
        found[name] = np.frombuffer(data, dtype, length // dtype.itemsize, start).copy()
        start += length
    return found
