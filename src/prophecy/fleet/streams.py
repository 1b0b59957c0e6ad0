"""Streams by key, in memory and in the file: how batches are taken in, logged, and recovered after a crash."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prophecy.fleet.answers import ANSWER, ROW, Refused, stamps_of
from prophecy.fleet.events import KINDS
from prophecy.fleet.residents import Residents
from prophecy.fleet.slots import PARTS
from prophecy.fleet.store import Store, layout


@dataclass(frozen=True)
class Log:
    """How often the log of a file is shortened, how far, and how long one turn of a costly batch is."""

    per_save: int = 512
    """Rows of the log for each stream saved: a state is as many bytes as some thousand rows, and a row replayed costs
    some 4 µs against some 250 µs for a state written."""

    kept_rows: int = 4096
    """Rows kept at least, to be read again by `Fleet.batches`."""

    turn: float = 0.05
    """Seconds after which a transaction of `Fleet.observe_some` takes no further rows."""


LOG = Log()

ERROR_HALF_WIDTHS = 3.0
"""Half widths from its prediction beyond which a value is an error, whatever the stretch around it is. At a level of
0.9 and with normal errors these are 4.9 standard deviations: one value in a million."""

RESTORED = 80.0
"""Steps that a stream brought into memory counts as: 250 µs against 3 µs (benchmarks/results/fleet.json, "states")."""

PIECE = 512
"""Rows of a turn looked at for a further piece."""

SAVED_AT_ONCE = 256
"""Streams saved in one transaction when a fleet is closed: some 20 MB, a tenth of a second."""

SETTLED = 64
"""Rows of a stream before its first event. Of the first 8 rows of random walks 4 % have a score above 3.3 (one in
2 000), of rows 32 to 64 0.25 %, of later ones 0.05 %, which is what such a score means."""

CLOSE = 1e-9
"""Recorded and recomputed answers may differ by this share of mean and width: other processors round otherwise."""


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
        self._log, self._stale = log, False
        self._durable, self._rate, self._memory, self._process = path is not None, rate, memory, os.getpid()
        made = {"layout": layout(PARTS.values()), "dt": dt, "level": 0.9 if level is None else float(level)}
        self._store: Store | None = Store(path, create, made)
        try:
            self._agree("layout", made["layout"])
            self._dt, self.level = self._agree("dt", dt), self._agree("level", level)
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
            self._stale = False
            self._recover()
        return self._store

    @property
    def held(self) -> Residents:
        """The streams in memory, likewise."""
        _ = self.store
        return self._residents

    @property
    def closed(self) -> bool:
        return self._store is None

    def _agree(self, name: str, asked: Any) -> Any:
        """What a file was made with, which must be what is asked for, if anything is."""
        store = self.store
        known = store.fact(name)
        if asked is not None and known != asked:
            if name == "layout":
                raise ValueError(f"{store.name} was written by a version whose streams are laid out otherwise; use it")
            raise ValueError(f"{store.name} was made with {name}={known}, and is opened with {name}={asked}")
        return known

    # After a crash.

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
            with store.transaction():
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
        names, lost = list(keys), set()
        for start in range(0, len(names), self.held.capacity):
            lost |= self.held.hold(names[start : start + self.held.capacity], new=False)
        return lost

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
                    f"{self.store.name}: {name} of {keys[row]!r} was {old[row]} when batch {batch} was answered and is "
                    f"{new[row]} now: the file was changed, or written by another version"
                )

    # Observing.

    def observe(
        self, keys: list[str], timed: bool, rows: NDArray[np.void], note: bytes, steps: int | None = None
    ) -> NDArray[np.int64]:
        """Take in rows and write the answers into them; the numbers of the events they raised. steps: take in the rows
        of one turn alone."""
        store, held = self.store, self.held
        which = self.check_times(keys, rows)
        held.batch += 1
        try:
            with store.transaction():
                taken = self._take(keys, which, timed, rows) if steps is None else self._turn(keys, timed, rows, steps)
                before, rarest = taken
                keys, rows = keys[: len(before)], rows[: len(before)]
                events = self._note_events(rows, before, rarest)
                if self._durable:
                    store.append(held.batch, rows, note)
                    self._save_some(len(rows))
        except BaseException:
            self._stale = self._durable  # and not recovered here: whoever interrupted it may not want to wait
            raise
        return events

    def _turn(self, keys: list[str], timed: bool, rows: NDArray[np.void], steps: int) -> NDArray[np.int64]:
        """The first rows: those that may take so many steps, and further such pieces while `Log.turn` lasts. So a turn
        ends in time even where a piece takes all that it may, which hardly one does."""
        end, noted, done = time.monotonic() + self._log.turn, [], 0
        while done < len(rows) and (not done or time.monotonic() < end):
            some = slice(done, done + PIECE if done else None)
            which = self._affordable(keys[some], rows[some], steps)
            noted.append(self.held.run(which, timed, rows[done : done + len(which)]))
            done += len(which)
        return np.concatenate(noted, axis=1) if noted else np.zeros((2, 0), np.int64)

    def _affordable(self, keys: list[str], rows: NDArray[np.void], steps: int) -> NDArray[np.int64]:
        """The slots of the first rows, as many as take so many steps at most and have room in memory, one at least;
        a stream that is brought there counts as well."""

        def count(costs: NDArray[np.float64]) -> int:
            return max(1, int(np.searchsorted(np.cumsum(costs), steps, "right")))

        held, costs = self.held, np.ones(len(keys))
        first = dict(zip(keys[::-1], range(len(keys))[::-1], strict=True))
        costs[[row for key, row in first.items() if key not in held.slot_of]] = RESTORED
        costs[sorted(first.values())[held.capacity :]] = steps
        keys = keys[: count(costs)]
        held.hold(dict.fromkeys(keys))
        which = held.which(keys)
        return which[: count(held.slots.costs(which, rows[: len(which)]))]

    def check_times(self, keys: list[str], rows: NDArray[np.void]) -> NDArray[np.int64]:
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
        wrong = (known >= 0) & (known != given)
        if wrong.any():
            row = int(np.argmax(wrong))
            names = ("missing", "a number", "a date")
            had, has = names[known[row]], names[given[row]]
            raise Refused(row, "time", f"is {has} and was {had} until now (key {keys[row]!r}); give one kind always")
        return which

    def _take(
        self, keys: list[str], which: NDArray[np.int64], timed: bool, rows: NDArray[np.void]
    ) -> NDArray[np.int64]:
        """Rows through their streams, as many streams at a time as there is room for; returns what `Slots.run` does.
        which: the slots of those in memory, -1 for others."""
        held = self.held
        if (which >= 0).all():
            return held.run(which, timed, rows)
        unique, noted = list(dict.fromkeys(keys)), np.zeros((2, len(rows)), np.int64)
        for start in range(0, len(unique), held.capacity):
            some = dict.fromkeys(unique[start : start + held.capacity])
            held.hold(some)
            which = held.which(keys)
            part = np.flatnonzero(which >= 0 if len(some) == len(unique) else [key in some for key in keys])
            taken = rows[part]
            noted[:, part] = held.run(which[part], timed, taken)
            rows[part] = taken
        return noted

    def _note_events(
        self, rows: NDArray[np.void], before: NDArray[np.int64], rarest: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Events for rows rarer than the rate, half of which is for single values and half for recent stretches."""
        numbers = np.zeros(len(rows), np.int64)
        by_score = rows["score"] > -np.log10(self._rate / 2)
        rare = by_score | (rows["alarm"] >= 1.0 - self._rate / 2)
        places = np.flatnonzero(rare & (before >= SETTLED))
        if len(places):
            by_score |= np.abs(rows["value"] - rows["mean"]) > ERROR_HALF_WIDTHS * rows["half"]
            kinds = [KINDS[0 if by_score[at] else rarest[at]] for at in places.tolist()]
            numbers[places] = self.store.events.note(rows[places], before[places].tolist(), kinds)
        return numbers

    def _save_some(self, rows: int) -> None:
        """Save the streams whose states are oldest, a few after each batch, and forget the log before them."""
        self._owed += rows / self._log.per_save
        count, self._owed = int(self._owed), self._owed % 1.0
        if count:
            self._save(count)

    def _save(self, count: int) -> None:
        self.held.save(self.held.unsaved()[:count])
        self.store.trim(min(self.held.complete() + 1, self.store.first_kept(self._log.kept_rows)))

    # Care.

    def checkpoint(self, seconds: float = math.inf) -> None:
        end = time.monotonic() + seconds
        while self._durable and len(self.held.unsaved()) and time.monotonic() < end:
            with self.store.transaction():
                self._save(SAVED_AT_ONCE)

    def readable(self) -> list[str]:
        """All keys, after reading all streams, so that those that cannot be read are set aside."""
        with self.store.transaction():
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
