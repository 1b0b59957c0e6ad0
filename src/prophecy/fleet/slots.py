"""Streams in memory: slots, each of which holds one stream, run through many at a time and saved by number.

A slot is one row of the arrays that compiled code works on (`kernels.entry`), and the last rows with their answers.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prophecy import _machine
from prophecy._arrays import Array, Counts
from prophecy.fleet.answers import ANSWER, DATES, LATE, MISSING, NO_TIMES, RAW, REPEATED, ROW, TAKEN, stamps_of
from prophecy.fleet.states import HEAD, MAGIC, RECENT, YOUNG, State, pack, unpack
from prophecy.streams import rows as arrays
from prophecy.streams.kernels import entry
from prophecy.streams.limits import MOST, RING
from prophecy.streams.prophecy import Prophecy, of_rows
from prophecy.streams.rows import CLOCK, RECORD, SAMPLES
from prophecy.streams.settings import DEFAULT
from prophecy.streams.table import between, table

WORTH_THREADS = 2000  # rows from which on threads share the work: some 5 ms, against 0.1 ms to hand it over

BYTES = RECORD.itemsize + 8 * RING + CLOCK.itemsize + SAMPLES.itemsize + RECENT * ROW.itemsize  # a stream in memory
_EMPTY: NDArray[Any] = np.zeros(0)


class Slots:
    """Room for `capacity` streams; memory is used as slots are first written to."""

    def __init__(self, capacity: int, dt: float | None, level: float, threads: int | None = None) -> None:
        self._dt, self._level, self._where = dt, level, between(level)
        self._table = table(DEFAULT)
        self._fresh = arrays.fresh(1, self._table), *arrays.fresh_times(1, dt)
        self._records, self._rings = np.zeros(capacity, RECORD), np.zeros((capacity, RING))
        self._clocks, self._samples = np.zeros(capacity, CLOCK), np.zeros(capacity, SAMPLES)
        self._streams = entry.Streams(self._records, self._rings, self._clocks, self._samples, self._table)
        self._recent, self._rows = np.zeros((capacity, RECENT), RAW), np.zeros(capacity, np.int64)
        self._late = np.zeros(capacity, bool)
        self.stamps = np.full(capacity, -1, np.int8)
        """What times the stream of a slot has: `NO_TIMES`, `NUMBERS` or `DATES`; -1 before its first row."""
        self._threads = threads or _machine.cores()
        self._pool: ThreadPoolExecutor | None = None

    def open(self, slots: Sequence[int]) -> None:
        for slot, used in zip(slots, self._records["count"][slots].tolist(), strict=True):
            self._rings[slot, : min(used, RING)] = 0.0
        self._records[slots], self._clocks[slots], self._samples[slots] = self._fresh
        self._rows[slots], self._late[slots], self.stamps[slots] = 0, False, -1

    def run(self, slots: Counts, timed: bool, rows: NDArray[np.void], steps: int = MOST) -> Counts:
        """Take in rows, each into its slot, in order, and write the answers into them; the first ones alone, until
        they have taken so many steps.

        Returns (2, rows taken): how many rows its stream had before each, 0 for those that were dropped; and which rank
        of the alarm (`alarm_tail`) was the smallest there.
        """
        order = np.argsort(slots, kind="stable") if steps == MOST else np.arange(len(slots))
        which, mine = slots[order], rows.view(RAW)[order].view(ROW)
        values, out, passed = mine["value"].copy(), np.empty((len(rows), 7)), np.empty(len(rows))
        times = mine["time"].copy() if timed else _EMPTY

        def some(part: slice) -> int:
            when = times[part] if timed else _EMPTY
            rows = which[part], when, values[part], self._where, out[part], passed[part]
            return int(self._streams.take(*rows, steps, drop=True))

        count = some(slice(None)) if steps < MOST else self._share(some, which)
        order, which, mine = order[:count], which[:count], mine[:count]
        values, out, passed = values[:count], out[:count], passed[:count]
        for place, name in enumerate(ANSWER):
            mine[name] = out[:, place]
        late, dropped = passed == 0.0, passed <= 0.0
        status = np.where(np.isnan(values), MISSING, TAKEN)
        mine["status"] = np.where(dropped, np.where(late, LATE, REPEATED), status) if dropped.any() else status
        self._late[which[late]], self.stamps[which] = True, stamps_of(mine)
        noted = np.zeros((2, count), np.int64)
        taken = ~dropped if dropped.any() else slice(None)
        noted[0, order[taken]] = self._remember(which[taken], mine.view(RAW)[taken])
        noted[1, order] = out[:, 6]
        rows.view(RAW)[order] = mine.view(RAW)
        return noted

    def _share(self, some: Callable[[slice], int], which: Counts) -> int:
        """some(part) for all rows, in threads that each have streams of their own; how many rows they took."""
        if len(which) < WORTH_THREADS or self._threads == 1:
            return some(slice(None))
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._threads)
        even = [len(which) * k // self._threads for k in range(1, self._threads)]
        cuts = [0, *(int(np.searchsorted(which, which[cut])) for cut in even), len(which)]
        return sum([*self._pool.map(some, [slice(a, b) for a, b in pairwise(cuts) if b > a])])

    def _remember(self, which: Counts, rows: NDArray[np.void]) -> Counts:
        """Keep the last rows (`RAW`) of each slot; how many there were before each."""
        order = np.argsort(which, kind="stable")
        which, rows = which[order], rows[order]
        starts = np.flatnonzero(np.diff(which, prepend=-1))
        lengths = np.diff(np.append(starts, len(which)))
        nth = np.arange(len(which)) - np.repeat(starts, lengths)
        before = self._rows[which] + nth
        kept = np.repeat(lengths, lengths) - nth <= RECENT  # later rows of the same batch would overwrite the others
        self._recent[which[kept], before[kept] % RECENT] = rows[kept]
        self._rows[which[starts]] = np.minimum(self._rows[which[starts]] + lengths, MOST)
        return before[np.argsort(order)]

    def count(self, slot: int) -> int:
        """Rows a stream has taken in, those that were late not among them."""
        return int(self._rows[slot])

    def last(self, slot: int) -> bytes:
        """The newest row as bytes; none before the first."""
        return self._recent[slot, (self.count(slot) - 1) % RECENT].tobytes() if self.count(slot) else b""

    def recent(self, slot: int) -> NDArray[np.void]:
        """The last rows of a stream that were taken, oldest first."""
        end = self.count(slot)
        return np.asarray(self._recent[slot, np.arange(max(0, end - RECENT), end) % RECENT].view(ROW))

    def predict(self, slots: Counts, level: float) -> tuple[Array, Array]:
        """Mean and half width of the next value of each."""
        out, nothing = np.empty((len(slots), 3)), np.full(len(slots), np.nan)
        self._streams.ahead(slots, nothing, nothing, between(level), out)
        return out[:, 0], out[:, 1]

    def model(self, slot: int) -> Prophecy:
        rows = (part[slot : slot + 1].copy() for part in (self._records, self._rings, self._clocks, self._samples))
        return of_rows(*rows, dt=self._dt, count=self.count(slot))

    def state(self, slot: int) -> bytes:
        """The state of a stream: its values while it is young and they came in order, then all of it."""
        count, timed, late = int(self._rows[slot]), self.stamps[slot] > NO_TIMES, bool(self._late[slot])
        # Taking in the rows again is cheap where they are few and passed over few places of the grid.
        few = 0 < count <= YOUNG and self._records["count"][slot] <= 2 * YOUNG
        young = few and not late and self._clocks["irregular"][slot] == 0
        made: State = {"head": np.array([(MAGIC, count, late, timed, self.stamps[slot] == DATES, not young)], HEAD)}
        if young:
            rows = self._recent[slot, :count].view(ROW)
            return pack(made | {"value": rows["value"], "time": rows["time"] if timed else _EMPTY})
        one, used = slice(slot, slot + 1), min(self._records["count"][slot], RING)
        made |= {"record": self._records[one], "clock": self._clocks[one], "samples": self._samples[one]}
        return pack(made | {"ring": self._rings[slot, :used], "recent": self.recent(slot)})

    def restore_many(self, slots: Sequence[int], states: Sequence[bytes]) -> dict[int, str]:
        """Set slots from states; the slots of those that no stream could have reached, and why."""
        bad: dict[int, str] = {}
        kinds: dict[tuple[bool, bool], dict[int, State]] = {}  # young with times and without, and grown
        for slot, data in zip(slots, states, strict=True):
            try:
                found = unpack(data)
                kinds.setdefault(("record" in found, len(found.get("time", ())) > 0), {})[slot] = found
            except ValueError as error:
                bad[slot] = str(error)
        for (grown, timed), some in kinds.items():
            if grown:
                bad |= self._put(some)
            else:
                self._take_again(some, timed)
        return bad

    def _take_again(self, some: dict[int, State], timed: bool) -> None:
        lengths = [len(found["value"]) for found in some.values()]
        rows = np.zeros(sum(lengths), ROW)
        rows["time"] = np.concatenate([found["time"] for found in some.values()]) if timed else np.nan
        rows["value"] = np.concatenate([found["value"] for found in some.values()])
        rows["dated"] = np.repeat([found["head"]["dated"][0] for found in some.values()], lengths)
        self.open([*some])
        self.run(np.repeat([*some], lengths), timed, rows)

    def _put(self, grown: dict[int, State]) -> dict[int, str]:
        """States of grown streams, all checked at once; one by one if that fails. Those that are wrong, and why."""
        many = [np.concatenate([found[name] for found in grown.values()]) for name in ("record", "clock", "samples")]
        try:
            arrays.check(many[0], self._table)
            arrays.check_times(many[1], many[2], len(grown))
        except ValueError as error:
            if len(grown) == 1:
                return dict.fromkeys(grown, str(error))
            return {bad: why for slot, found in grown.items() for bad, why in self._put({slot: found}).items()}
        slots = [*grown]
        self.open(slots)
        self._records[slots], self._clocks[slots], self._samples[slots] = many
        for slot, found in grown.items():
            self._rings[slot, : len(found["ring"])] = found["ring"]
            rows, count = found["recent"], int(found["head"]["rows"][0])
            self._rows[slot], self._late[slot] = count, found["head"]["late"][0]
            self._recent[slot, np.arange(count - len(rows), count) % RECENT] = rows.view(RAW)
            self.stamps[slot] = stamps_of(rows)[-1] if count else -1
        return {}

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None
