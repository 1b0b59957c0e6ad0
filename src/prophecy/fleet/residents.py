"""Which streams are in memory: how they come from the file, and how those unused for longest go back there."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from prophecy.fleet.answers import unknown
from prophecy.fleet.slots import BYTES, Damaged, Slots
from prophecy.fleet.store import Saved, Store


class Residents:
    """Streams of a store in slots. `batch` is the number of the batch that is being taken in."""

    def __init__(self, store: Store, memory: int, dt: float | None, level: float) -> None:
        self._store, self.capacity = store, max(1, memory // BYTES)
        self.slots = Slots(self.capacity, dt, level)
        self.slot_of: dict[str, int] = {}
        self.dirty: dict[int, int] = {}  # slot: the first batch that its saved state lacks, oldest first
        self.batch = store.last_batch()
        self.ids = np.zeros(self.capacity, np.int64)
        self._keys: list[str] = [""] * self.capacity
        self._free = list(range(self.capacity))[::-1]
        self._touched, self._ran = np.zeros(self.capacity, np.int64), np.zeros(self.capacity, np.int64)

    def which(self, keys: list[str]) -> NDArray[np.int64]:
        """The slots of these keys; -1 for those not in memory."""
        get = self.slot_of.get
        return np.array([get(key, -1) for key in keys], np.int64)

    def run(self, which: NDArray[np.int64], timed: bool, rows: NDArray[np.void]) -> NDArray[np.int64]:
        """Rows of this batch through their slots; answers are written into them. Returns what `Slots.run` does."""
        rows["stream"] = self.ids[which]
        noted = self.slots.run(which, timed, rows)
        self._touched[which] = self._ran[which] = self.batch
        for slot in np.unique(which).tolist():
            self.dirty.setdefault(slot, self.batch)
        return noted

    def hold(self, keys: Iterable[str], new: bool = True) -> None:
        """Have these streams in memory, no more than there is room for; unknown ones are made, or are a KeyError."""
        missing = [key for key in keys if key not in self.slot_of]
        if not missing:
            return
        found = [self._store.find(key) for key in missing]
        if not new:
            for key, saved in zip(missing, found, strict=True):
                if saved is None:
                    raise unknown(key)
        self._make_room(len(missing), keys)
        places = self._free[-len(missing) :][::-1]
        self._restore(missing, found, places)
        del self._free[-len(missing) :]
        for key, saved, slot in zip(missing, found, places, strict=True):
            self.ids[slot] = self._store.add(key) if saved is None else saved.id
            self._keys[slot], self.slot_of[key] = key, slot
        self._touched[places], self._ran[places] = self.batch, 0

    def _restore(self, keys: list[str], found: list[Saved | None], places: list[int]) -> None:
        grown = [(slot, saved.state) for saved, slot in zip(found, places, strict=True) if saved and saved.state]
        try:
            self.slots.restore_many([slot for slot, _ in grown], [state for _, state in grown])
        except Damaged as error:
            key = keys[places.index(error.slot)]
            raise ValueError(f"{self._store.name} is damaged: stream {key!r}: {error}") from error
        self.slots.open([slot for saved, slot in zip(found, places, strict=True) if saved is None or not saved.state])

    def _make_room(self, wanted: int, staying: Iterable[str]) -> None:
        """Put aside the streams unused for longest until so many slots are free."""
        short = wanted - len(self._free)
        if short <= 0:
            return
        may_go = np.ones(self.capacity, bool)
        may_go[self._free] = False
        may_go[[self.slot_of[key] for key in staying if key in self.slot_of]] = False
        slots = np.flatnonzero(may_go)
        leaving = slots[np.argsort(self._touched[slots], kind="stable")[:short]].tolist()
        self.save([slot for slot in leaving if slot in self.dirty])
        for slot in leaving:
            self.drop(slot)

    def drop(self, slot: int) -> None:
        """Forget a stream here, as it is."""
        del self.slot_of[self._keys[slot]]
        self.dirty.pop(slot, None)
        self._free.append(slot)

    def save(self, slots: list[int]) -> None:
        """Write the states of these slots."""
        # A stream that has rows in the batch of now, but later in it, does not include it yet.
        seen = (self.batch - (self._ran[slots] != self.batch)).tolist()
        self._store.save(
            (batch, self.slots.count(slot), self.slots.last(slot), self.slots.state(slot), int(self.ids[slot]))
            for batch, slot in zip(seen, slots, strict=True)
        )
        for slot in slots:
            self.dirty.pop(slot, None)
