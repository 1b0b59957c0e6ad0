"""Streams by key: which are in memory, which are in the file, and how they go from one to the other."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prophecy.adaptive.prophecy import Prophecy
from prophecy.fleet.answers import ANSWER, LATE, ROW, Answers, Event, Refused
from prophecy.fleet.bank import BYTES, PARTS, Bank
from prophecy.fleet.store import Saved, Store, layout

Array = NDArray[np.float64]

PER_SAVE = 512
"""Rows of the log for each stream saved: a state is as many bytes as some thousand rows, and a row replayed costs some
4 µs against some 500 µs for a state written."""

KEPT_ROWS = 4096
"""Rows kept in the log at least, to be told again."""

KINDS = ("error", "change", "value", "level", "noise", "noise", "level")
"""What was rarest about a row that raised an event, in the order of `alarms.QUANTITIES`."""

CLOSE = 1e-9
"""Recorded and recomputed answers may differ by this share of mean and width: other processors round otherwise."""


class Streams:
    """Streams in slots of a `Bank` and in a `Store`; everything is checked before it comes here, one call at a time."""

    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        dt: float | None,
        level: float | None,
        rate: float,
        memory: int,
        create: bool,
    ) -> None:
        self._durable = path is not None
        self._rate, self._capacity = rate, max(1, memory // BYTES)
        self._store: Store | None = Store(path, create)
        try:
            self._agree("layout", layout(PARTS.values()), "")
            self._dt, self.level = self._agree("dt", dt, None), float(self._agree("level", level, 0.9))
            self._forget()
            self._recover()
        except BaseException:
            self._store.close()
            raise

    def _forget(self) -> None:
        """Nothing is in memory."""
        self._bank = Bank(self._capacity, self._dt, self.level)
        self._slots: dict[str, int] = {}
        self._held: list[Saved | None] = [None] * self._capacity
        self._free = list(range(self._capacity))[::-1]
        self._count = np.zeros(self._capacity, np.int64)
        self._touched = np.zeros(self._capacity, np.int64)
        self._ran = np.zeros(self._capacity, np.int64)
        self._last = np.zeros(self._capacity, ROW)
        self._dirty: dict[int, int] = {}  # slot: the first batch its saved state lacks, oldest first
        self._batch = self._open.last_batch()
        self._owed = 0.0

    @property
    def _open(self) -> Store:
        if self._store is None:
            raise ValueError("the fleet is closed; open it again")
        return self._store

    @property
    def closed(self) -> bool:
        return self._store is None

    def _agree(self, name: str, asked: Any, usual: Any) -> Any:
        """What a file was made with; a new one is made with what was asked for."""
        store = self._open
        known = store.fact(name)
        if known is None and not len(store):
            known = [usual if asked is None else asked]
            store.set_fact(name, known)
        if not isinstance(known, list) or len(known) != 1:
            raise ValueError(f"{store.name} is damaged: it does not say its {name}")
        if asked is not None and known[0] != asked:
            if name == "layout":
                raise ValueError(f"{store.name} was written by a version whose streams are laid out otherwise; use it")
            raise ValueError(f"{store.name} was made with {name}={known[0]}, and is opened with {name}={asked}")
        return known[0]

    def _recover(self) -> None:
        """Take in again what the log has and the saved states lack; the answers must be those recorded."""
        store = self._open
        seen: dict[int, int] = {}
        keys: dict[int, str] = {}
        for batch, rows, _ in store.batches():
            for stream in np.unique(rows["stream"]).tolist():
                if stream not in seen:
                    saved = store.key_and_seen(stream)
                    keys[stream], seen[stream] = saved or ("", store.last_batch())  # a stream that was removed
            news = np.array([seen[stream] < batch for stream in rows["stream"].tolist()], bool)
            if not news.any():
                continue
            again = rows[news].copy()
            names = [keys[stream] for stream in again["stream"].tolist()]
            self._batch = batch
            with store.transaction():
                self._take(names, not bool(np.isnan(again["time"]).all()), again)
            self._compare(batch, names, rows[news], again)
        self._batch = store.last_batch()

    def _compare(self, batch: int, keys: list[str], recorded: NDArray[np.void], again: NDArray[np.void]) -> None:
        scale = np.abs(recorded["mean"]) + np.abs(recorded["next"]) + recorded["half"]
        scale = np.where(np.isfinite(scale), scale, 1.0)
        for name in ANSWER:
            old, new = recorded[name], again[name]
            same = (old == new) | (np.isnan(old) & np.isnan(new))
            with np.errstate(invalid="ignore"):
                same |= np.abs(old - new) <= CLOSE * np.maximum(scale, np.abs(old))
            if not same.all():
                row = int(np.argmin(same))
                raise ValueError(
                    f"{self._open.name}: {name} of {keys[row]!r} was {old[row]} when batch {batch} was answered and is "
                    f"{new[row]} now: the file was changed, or written by another version"
                )

    # Observing.

    def observe(self, keys: list[str], timed: bool, rows: NDArray[np.void], note: bytes) -> NDArray[np.int64]:
        """Take in rows and write the answers into them; the numbers of the events they raised."""
        self._check_times(keys, timed)
        store = self._open
        self._batch += 1
        try:
            with store.transaction():
                self._take(keys, timed, rows)
                events = self._note_events(keys, rows)
                if self._durable:
                    store.append(self._batch, rows, note)
                    self._save_some(len(rows))
        except BaseException:
            if self._durable:
                self._forget()
                self._recover()
            raise
        return events

    def _check_times(self, keys: list[str], timed: bool) -> None:
        for key in dict.fromkeys(keys):
            last = self._last_row(key)
            if last is not None and timed == bool(np.isnan(last["time"])):
                wrong = "has come without until now" if timed else "is missing, and was given until now"
                raise Refused(keys.index(key), "time", f"{wrong} (key {key!r}); give times always or never")

    def _last_row(self, key: str) -> NDArray[np.void] | None:
        """The newest row of a stream; None before the first, and for unknown ones."""
        slot = self._slots.get(key)
        if slot is not None:
            return self._last[slot] if self._count[slot] else None
        saved = self._open.find(key)
        return None if saved is None or saved.last is None else saved.last[0]

    def _take(self, keys: list[str], timed: bool, rows: NDArray[np.void]) -> None:
        """Rows through their streams, as many streams at a time as there is room for."""
        unique = list(dict.fromkeys(keys))
        for start in range(0, len(unique), self._capacity):
            some = unique[start : start + self._capacity]
            self._hold(some)
            if len(some) == len(unique):
                which = np.array([self._slots[key] for key in keys], np.int64)
                self._run(which, timed, rows)
                continue
            chosen = set(some)
            part = np.array([k for k, key in enumerate(keys) if key in chosen], np.int64)
            which = np.array([self._slots[keys[k]] for k in part.tolist()], np.int64)
            taken = rows[part]
            self._run(which, timed, taken)
            rows[part] = taken

    def _run(self, which: NDArray[np.int64], timed: bool, rows: NDArray[np.void]) -> None:
        rows["stream"] = [self._saved(slot).id for slot in which.tolist()]
        self._bank.run(which, timed, rows)
        taken = rows["status"] != LATE
        np.add.at(self._count, which[taken], 1)
        self._touched[which] = self._ran[which] = self._batch
        self._last[which[taken]] = rows[taken]
        for slot in which.tolist():
            self._dirty.setdefault(slot, self._batch)

    def _saved(self, slot: int) -> Saved:
        saved = self._held[slot]
        assert saved is not None
        return saved

    def _note_events(self, keys: list[str], rows: NDArray[np.void]) -> NDArray[np.int64]:
        numbers = np.zeros(len(rows), np.int64)
        raised = (rows["score"] > -np.log10(self._rate / 2)) | (rows["alarm"] >= 1.0 - self._rate / 2)
        places = np.flatnonzero(raised)
        if len(places):
            numbers[places] = self._open.note_events(rows[places], [self._kind(keys[k]) for k in places.tolist()])
        return numbers

    def _kind(self, key: str) -> str:
        slot = self._slots.get(key)
        if slot is None:
            return ""
        return KINDS[int(np.argmin(self._bank.records(np.array([slot]))["alarm_tail"][0]))]

    # In and out of memory.

    def _hold(self, keys: list[str], new: bool = True) -> None:
        """Have these streams in memory; unknown ones are made, or are a KeyError. No more than there is room for."""
        missing = [key for key in keys if key not in self._slots]
        if not missing:
            return
        found = {key: self._open.find(key) for key in missing}
        if not new:
            for key, saved in found.items():
                if saved is None:
                    raise KeyError(f"no stream {key!r}")
        self._make_room(len(missing), keys)
        for key, saved in found.items():
            slot = self._free[-1]
            if saved is None:
                saved = Saved(self._open.add(key), key, 0, 0, None, None)
            if saved.state is None:
                self._bank.open(slot)
            else:
                try:
                    self._bank.restore(slot, saved.state)
                except (ValueError, TypeError, IndexError, OverflowError) as error:
                    raise ValueError(f"{self._open.name} is damaged: stream {key!r}: {error}") from error
            self._free.pop()
            self._held[slot], self._slots[key] = saved._replace(state=None), slot
            self._count[slot], self._touched[slot], self._ran[slot] = saved.taken, self._batch, 0
            if saved.last is not None:
                self._last[slot] = saved.last[0]

    def _make_room(self, wanted: int, staying: list[str]) -> None:
        """Put aside the streams unused for longest until so many slots are free."""
        short = wanted - len(self._free)
        if short <= 0:
            return
        stay = {self._slots[key] for key in staying if key in self._slots}
        may_go = np.array([slot for slot in self._slots.values() if slot not in stay], np.int64)
        leaving = may_go[np.argsort(self._touched[may_go], kind="stable")[:short]].tolist()
        self._save([slot for slot in leaving if slot in self._dirty])
        for slot in leaving:
            self._drop(slot)

    def _drop(self, slot: int) -> None:
        del self._slots[self._saved(slot).key]
        self._held[slot] = None
        self._dirty.pop(slot, None)
        self._free.append(slot)

    def _save(self, slots: list[int]) -> None:
        """Write the states of these slots."""
        # A stream that has rows in the batch of now, but later in it, does not include it yet.
        self._open.save(
            (
                self._batch - int(self._ran[slot] != self._batch),
                int(self._count[slot]),
                self._last[slot].tobytes(),
                self._bank.state(slot),
                self._saved(slot).id,
            )
            for slot in slots
        )
        for slot in slots:
            self._dirty.pop(slot, None)

    def _save_some(self, rows: int) -> None:
        """Save the streams whose states are oldest, a few after each batch, and forget the log before them."""
        self._owed += rows / PER_SAVE
        count = min(int(self._owed), len(self._dirty))
        self._owed -= int(self._owed)
        if count:
            self._save(list(self._dirty)[:count])
            self._trim()

    def _trim(self) -> None:
        oldest = min(next(iter(self._dirty.values()), self._batch + 1), self._batch + 1)
        self._open.trim(min(oldest, self._open.first_kept(KEPT_ROWS)))

    def checkpoint(self) -> None:
        if self._durable:
            with self._open.transaction():
                self._save(list(self._dirty))
                self._trim()

    def problems(self) -> list[str]:
        found = self._open.problems()
        for key in self.keys():
            try:
                self._slot(key)
            except ValueError as error:
                found.append(str(error))
        return found

    def vacuum(self) -> None:
        self.checkpoint()
        self._open.vacuum()

    def close(self) -> None:
        if self._store is None:
            return
        try:
            self.checkpoint()
        finally:
            self._store.close()
            self._store = None

    # Reading.

    def _slot(self, key: str) -> int:
        """The slot of a known stream, brought into memory."""
        if key not in self._slots:
            if not isinstance(key, str):
                raise KeyError(f"no stream {key!r}")
            with self._open.transaction():
                self._hold([key], new=False)
        return self._slots[key]

    def predict(self, keys: list[str], level: float) -> tuple[Array, Array]:
        self._open.name  # noqa: B018 (raises where the fleet is closed)
        mean, half = np.empty(len(keys)), np.empty(len(keys))
        for start in range(0, len(keys), self._capacity):
            some = slice(start, start + self._capacity)
            with self._open.transaction():
                self._hold(list(dict.fromkeys(keys[some])), new=False)
            mean[some], half[some] = self._bank.predict(np.array([self._slots[k] for k in keys[some]], np.int64), level)
        return mean, half

    def model(self, key: str) -> Prophecy:
        return self._bank.model(self._slot(key))

    def recent(self, key: str) -> NDArray[np.void]:
        return self._bank.recent(self._slot(key))

    def brief(self, key: str) -> tuple[int, NDArray[np.void] | None, int, float]:
        """Rows, the newest of them, number and time of the last event."""
        slot = self._slots.get(key)
        if slot is not None:
            count, last, stream = int(self._count[slot]), self._last[slot], self._saved(slot).id
            return (count, last if count else None, *self._open.last_event_of(stream))
        saved = self._open.find(key)
        if saved is None:
            raise KeyError(f"no stream {key!r}")
        return (saved.taken, None if saved.last is None else saved.last[0], *self._open.last_event_of(saved.id))

    def batches(self, after: int) -> Iterator[tuple[int, Answers, bytes]]:
        keys: dict[int, str | None] = {}
        for batch, rows, note in self._open.batches(after):
            for stream in set(rows["stream"].tolist()) - set(keys):
                keys[stream] = self._open.key_of(stream)
            known = np.array([keys[stream] is not None for stream in rows["stream"].tolist()], bool)
            rows = rows[known]
            names = [str(keys[stream]) for stream in rows["stream"].tolist()]
            yield batch, Answers(names, rows, np.zeros(len(rows), np.int64)), note

    def events(self, since: int, limit: int, key: str | None) -> list[Event]:
        stream = None
        if key is not None:
            if key not in self:
                raise KeyError(f"no stream {key!r}")
            slot = self._slots.get(key)
            saved = self._saved(slot) if slot is not None else self._open.find(key)
            assert saved is not None
            stream = saved.id
        return self._open.events(since, limit, stream)

    def last_event(self) -> int:
        return self._open.last_event()

    def remove(self, key: str) -> None:
        if key not in self:
            raise KeyError(f"no stream {key!r}")
        slot = self._slots.get(key)
        saved = self._saved(slot) if slot is not None else self._open.find(key)
        assert saved is not None
        with self._open.transaction():
            self._open.remove(saved.id)
        if slot is not None:
            self._drop(slot)

    def keys(self, search: str | None = None, offset: int = 0, limit: int = -1) -> list[str]:
        return self._open.keys(search, offset, limit)

    def matching(self, search: str | None) -> int:
        return self._open.matching(search)

    def __len__(self) -> int:
        return len(self._open)

    def __contains__(self, key: str) -> bool:
        return key in self._slots or self._open.find(key) is not None

    def facts(self) -> dict[str, Any]:
        return {
            "streams": len(self),
            "in memory": len(self._slots),
            "bytes per stream in memory": BYTES,
            "room for": self._capacity,
            **self._open.facts(),
        }
