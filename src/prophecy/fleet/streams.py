"""Streams by key, in memory and in the file: how batches are taken in, logged, and recovered after a crash."""

import contextlib
import math
import os
import time
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prophecy._arrays import Counts
from prophecy.fleet.answers import ANSWER, ROW, Refused, stamps_of
from prophecy.fleet.events import KINDS
from prophecy.fleet.residents import Residents
from prophecy.fleet.states import LAYOUT
from prophecy.fleet.store import Store


class Log(NamedTuple):
    """How often the log of a file is shortened, and how far."""

    per_save: int = 512  # rows for each stream saved: a row replayed costs 4 µs, a state written 250 µs
    kept_rows: int = 4096  # rows kept at least, to be read again by `Fleet.batches`


LOG = Log()

ERROR_HALF_WIDTHS = 3.0  # beyond which a value is an error: 4.9 deviations of normal errors at a level of 0.9
RESTORED = 80  # steps that a stream brought into memory counts as: 250 µs against 3 µs (results/fleet.json, "states")
SAVED_AT_ONCE = 256  # streams saved in one transaction when a fleet is closed: some 20 MB, a tenth of a second

SETTLED = 64
"""Rows of a stream before its first event. Of the first 8 rows of random walks 4 % have a score above 3.3 (one in
2 000), of rows 32 to 64 0.25 %, of later ones 0.05 %, which is what such a score means."""

CLOSE = 1e-9  # share of point and width that answers may differ by when recomputed: other processors round otherwise


class Streams:
    """Everything is checked before it comes here, and comes one call at a time."""

    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        dt: float | None,
        level: float | None,
        rate: float,
        memory: int,
        create: bool,
        log: Log = LOG,
    ) -> None:
        self._log, self._stale, self._rate, self._memory = log, False, rate, memory
        self._durable, self._process = path is not None, os.getpid()
        self._store: Store | None = Store(path, create, layout=LAYOUT, dt=dt, level=0.9 if level is None else level)
        try:
            if self.store.fact("layout") != LAYOUT:
                raise ValueError(
                    f"{self.store.name} was written by a version whose streams are laid out otherwise; use it"
                )
            self._dt, self.level = self.store.fact("dt"), self.store.fact("level")
            for name, asked, made in (("dt", dt, self._dt), ("level", level, self.level)):
                if asked not in (None, made):
                    raise ValueError(
                        f"{self.store.name} was made with {name}={made}, and is opened with {name}={asked}"
                    )
            self._recover()
        except BaseException:
            self._store.close()
            raise

    @property
    def store(self) -> Store:
        """The open file, as it is after the last batch that was taken."""
        if self._store is None:
            raise ValueError("the fleet is closed; open it again")
        if os.getpid() != self._process:
            # SQLite's locks do not pass to a child: what it acknowledged would be overwritten by its parent.
            raise ValueError("the fleet was opened by another process, before a fork; open it in the one that uses it")
        if self._stale:
            try:
                self._stale = False
                self._recover()
            except BaseException:
                self._stale = True
                raise
        return self._store

    @property
    def held(self) -> Residents:
        """The streams in memory, likewise."""
        _ = self.store
        return self._residents

    @property
    def closed(self) -> bool:
        return self._store is None

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Everything in the block or nothing, in the file and in memory: where it fails, memory is recovered from the
        file when it is next asked for, and not here: whoever interrupted it may not want to wait."""
        try:
            with self.store.transaction():
                yield
        except BaseException:
            self._stale = self._durable
            raise

    def _recover(self) -> None:
        """Forget what is in memory, and take in again what the log has and the saved states lack; the answers must be
        those recorded."""
        store = self.store
        self._residents = Residents(store, self._memory, self._dt, self.level)
        self._owed = 0.0
        last = store.last_batch()
        seen: dict[int, int] = {}
        keys: dict[int, str] = {}
        for batch, rows, _ in store.batches():
            for stream in set(rows["stream"].tolist()) - seen.keys():
                keys[stream], seen[stream] = store.key_and_seen(stream) or ("", last)  # removed, if not there
            news = np.array([seen[stream] < batch for stream in rows["stream"].tolist()], bool)
            if not news.any():
                continue
            self.held.batch = batch
            with self.transaction():
                lost = self.unreadable({keys[stream] for stream in rows["stream"][news].tolist()})
                news &= [keys[stream] not in lost for stream in rows["stream"].tolist()]
                seen |= {stream: last for stream, key in keys.items() if key in lost}
                again = rows[news].copy()
                names = [keys[stream] for stream in again["stream"].tolist()]
                self._take(names, self.held.which(names), not bool(np.isnan(again["time"]).all()), again)
            self._compare(batch, names, rows[news], again)
        self.held.batch = last

    def unreadable(self, keys: Iterable[str]) -> set[str]:
        """Those of these keys whose streams cannot be read; they are set aside."""
        names, room = list(keys), self.held.capacity
        parts = (names[start : start + room] for start in range(0, len(names), room))
        return {key for some in parts for key in self.held.hold(some, new=False)}

    def _compare(self, batch: int, keys: list[str], recorded: NDArray[np.void], again: NDArray[np.void]) -> None:
        scale = np.abs(recorded["point"]) + np.abs(recorded["next"]) + recorded["half"]
        scale = np.where(np.isfinite(scale), scale, 1.0)
        for name in ANSWER:
            old, new = recorded[name], again[name]
            same = (old == new) | (np.isnan(old) & np.isnan(new))
            with np.errstate(invalid="ignore"):
                same |= np.abs(old - new) <= CLOSE * np.maximum(scale, np.abs(old))
            for row in np.flatnonzero(~same):
                raise ValueError(
                    f"{self.store.name}: {name} of {keys[row]!r} was {old[row]} when batch {batch} was answered and is "
                    f"{new[row]} now: the file was changed, or written by another version"
                )

    def observe(
        self, keys: list[str], timed: bool, rows: NDArray[np.void], note: bytes, steps: int | None = None
    ) -> Counts:
        """Take in rows and write the answers into them; the numbers of the events they raised. steps: take in the rows
        of one turn alone."""
        store, held = self.store, self.held
        which = self.check_times(keys, rows)
        held.batch += 1
        with self.transaction():
            taken = self._take(keys, which, timed, rows) if steps is None else self._turn(keys, timed, rows, steps)
            rows = rows[: taken.shape[1]]
            events = self._note_events(rows, *taken)
            if self._durable:
                store.append(held.batch, rows, note)
                # The streams whose states are oldest are saved, a few after each batch.
                self._owed += len(rows) / self._log.per_save
                if self._owed >= 1.0:
                    self._save(int(self._owed))
                    self._owed %= 1.0
        return events

    def _turn(self, keys: list[str], timed: bool, rows: NDArray[np.void], steps: int) -> Counts:
        """The first rows: until they have taken so many steps. Streams that are brought into memory count as well, and
        there has to be room for all."""
        held, names = self.held, list(dict.fromkeys(keys))
        absent = [key for key in names if key not in held.slot_of]
        staying = {*names[: held.capacity]}.difference(absent[max(1, steps // RESTORED) :])
        keys = keys[: next((row for row, key in enumerate(keys) if key not in staying), None)]
        held.hold(dict.fromkeys(keys))
        return held.run(held.which(keys), timed, rows[: len(keys)], steps)

    def check_times(self, keys: list[str], rows: NDArray[np.void]) -> Counts:
        """Refuse rows whose times are of another kind than those of their stream: none, numbers or dates. Returns the
        slots of those in memory, -1 for others."""
        which, given = self.held.which(keys), stamps_of(rows)
        known = np.where(which < 0, -1, self.held.slots.stamps[which])
        absent = np.flatnonzero(which < 0).tolist()
        lasts = self.store.last_rows({keys[row] for row in absent}) if absent else {}
        begun = {key: last for key, last in lasts.items() if last}
        kinds = dict(zip(begun, stamps_of(np.frombuffer(b"".join(begun.values()), ROW)).tolist(), strict=True))
        for row in absent:
            known[row] = kinds.setdefault(keys[row], int(given[row]))
        for row in np.flatnonzero((known >= 0) & (known != given)).tolist():
            names = ("missing", "a number", "a date")
            had, has = names[known[row]], names[given[row]]
            raise Refused(row, "time", f"is {has} and was {had} until now (key {keys[row]!r}); give one kind always")
        return which

    def _take(self, keys: list[str], which: Counts, timed: bool, rows: NDArray[np.void]) -> Counts:
        """Rows through their streams, as many streams at a time as there is room for; returns what `Slots.run` does.
        which: the slots of those in memory, -1 for others."""
        held = self.held
        if (which >= 0).all():
            return held.run(which, timed, rows)
        unique, noted = list(dict.fromkeys(keys)), np.zeros((2, len(rows)), np.int64)
        for start in range(0, len(unique), held.capacity):
            some = dict.fromkeys(unique[start : start + held.capacity])
            held.hold(some)
            part = np.flatnonzero([key in some for key in keys])
            taken = rows[part]
            noted[:, part] = held.run(held.which(keys)[part], timed, taken)
            rows[part] = taken
        return noted

    def _note_events(self, rows: NDArray[np.void], before: Counts, rarest: Counts) -> Counts:
        """Events for rows rarer than the rate, half of which is for single values and half for recent stretches."""
        numbers = np.zeros(len(rows), np.int64)
        by_score = rows["score"] > math.log10(2.0) - math.log10(self._rate)
        rare = by_score | (rows["alarm"] >= 1.0 - self._rate / 2)
        places = np.flatnonzero(rare & (before >= SETTLED))
        if len(places):
            by_score |= np.abs(rows["value"] - rows["point"]) > ERROR_HALF_WIDTHS * rows["half"]
            kinds = [KINDS[0 if by_score[at] else rarest[at]] for at in places.tolist()]
            numbers[places] = self.store.events.note(rows[places], before[places].tolist(), kinds)
        return numbers

    def _save(self, count: int) -> None:
        """Save so many streams, those whose states are oldest, and forget the log before them."""
        self.held.save(self.held.unsaved()[:count])
        self.store.trim(min(self.held.complete() + 1, self.store.first_kept(self._log.kept_rows)))

    def checkpoint(self, seconds: float = math.inf) -> None:
        end = time.monotonic() + seconds
        while self._durable and len(self.held.unsaved()) and time.monotonic() < end:
            with self.transaction():
                self._save(SAVED_AT_ONCE)

    def readable(self) -> list[str]:
        """All keys, after reading all streams, so that those that cannot be read are set aside."""
        with self.transaction():
            self.unreadable(self.store.keys())
        return self.store.keys()

    def close(self, seconds: float) -> None:
        if self._store is None or os.getpid() != self._process:
            return
        try:
            if not self._stale:
                self.checkpoint(seconds)
        finally:
            self._residents.slots.close()
            self._store.close()
            self._store = None
