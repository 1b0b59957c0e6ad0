"""Which streams are in memory: how they come from the file, and how those unused for longest go back there."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from prophecy.fleet.answers import same_input
from prophecy.fleet.slots import BYTES, Slots
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

    def hold(self, keys: Iterable[str], new: bool = True) -> set[str]:
        """Have these streams in memory, no more than there is room for. Unknown ones are made, or are what is returned.

        A stream that cannot be read is set aside, and is unknown then.
        """
        missing = [key for key in keys if key not in self.slot_of]
        if not missing:
            return set()
        self._make_room(len(missing), keys)
        found = {key: self._store.find(key) for key in missing}
        places = dict(zip(missing, self._free[::-1], strict=False))
        bad = self._restore({places[key]: saved for key, saved in found.items() if saved is not None})
        if bad:
            self._store.set_aside(bad)
            found = {key: None if saved is None or saved.id in bad else saved for key, saved in found.items()}
        lost = [key for key, saved in found.items() if saved is None]
        if new:
            for key, stream in zip(lost, self._store.add(lost), strict=True):
                found[key] = Saved(stream, key, 0, 0, None, None)
        begun = {key: saved for key, saved in found.items() if saved is not None}
        self.slots.open([places[key] for key, saved in begun.items() if not saved.state])
        for key, saved in begun.items():
            slot = places[key]
            self.ids[slot], self._keys[slot], self.slot_of[key] = saved.id, key, slot
            self._touched[slot], self._ran[slot] = self.batch, 0
        del self._free[-len(missing) :]
        if new:
            return set()
        self._free += [places[key] for key in lost]
        return set(lost)

    def _restore(self, found: dict[int, Saved]) -> dict[int, str]:
        """Set slots to what the file has; numbers of the streams that cannot be read, and why."""
        grown = {slot: saved for slot, saved in found.items() if saved.state}
        bad = self.slots.restore_many(list(grown), [saved.state or b"" for saved in grown.values()])
        for slot in grown.keys() - bad.keys():
            saved, count = grown[slot], self.slots.count(slot)
            newest = self.slots.recent(slot)[-1] if count else None
            if count != saved.taken or not same_input(newest, saved.last):
                bad[slot] = f"its state has {count} rows and another newest one than the {saved.taken} of its row"
        return {found[slot].id: reason for slot, reason in bad.items()}

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
        # What was not run since it was restored is not saved, so this is the last batch that it has rows in.
        seen = self._ran[slots].tolist()
        self._store.save(
            (batch, self.slots.count(slot), self.slots.last(slot), self.slots.state(slot), int(self.ids[slot]))
            for batch, slot in zip(seen, slots, strict=True)
        )
        for slot in slots:
            self.dirty.pop(slot, None)
