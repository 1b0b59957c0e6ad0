"""Which streams are in memory: how they come from the file, and how those unused for longest go back there."""

from collections.abc import Iterable
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from prophecy._arrays import Counts
from prophecy.fleet.answers import same_input
from prophecy.fleet.slots import BYTES, Slots
from prophecy.fleet.store import Saved, Store
from prophecy.streams.limits import MOST


class Residents:
    """Streams of a store in slots. `batch` is the number of the batch that is being taken in."""

    def __init__(self, store: Store, memory: int, dt: float | None, level: float) -> None:
        self._store, self.capacity = store, max(1, memory // BYTES)
        try:
            self.slots = Slots(self.capacity, dt, level)
        except MemoryError:
            raise ValueError(f"memory must be what the machine can give, got {memory} bytes; ask for less") from None
        self.slot_of: dict[str, int] = {}
        self.batch = store.last_batch()
        self._keys, self._taken = [""] * self.capacity, np.zeros(self.capacity, bool)
        # Of each slot: the number of its stream, the last batch that used it, the first its state lacks (0: none).
        self.ids, self._used, self._lacks = np.zeros((3, self.capacity), np.int64)

    def which(self, keys: list[str]) -> Counts:
        """The slots of these keys; -1 for those not in memory."""
        return np.fromiter(map(self.slot_of.get, keys, repeat(-1)), np.int64, len(keys))

    def run(self, which: Counts, timed: bool, rows: NDArray[np.void], steps: int = MOST) -> Counts:
        """Rows of this batch through their slots; answers are written into them. Returns what `Slots.run` does."""
        rows["stream"] = self.ids[which]
        noted = self.slots.run(which, timed, rows, steps)
        which = which[: noted.shape[1]]
        self._used[which] = self.batch
        self._lacks[which[self._lacks[which] == 0]] = self.batch
        return noted

    def unsaved(self) -> Counts:
        """Slots whose saved states lack something, those that have lacked it for longest first."""
        slots = np.flatnonzero(self._lacks)
        return slots[np.argsort(self._lacks[slots], kind="stable")]

    def complete(self) -> int:
        """The last batch that all saved states have."""
        return int(self._lacks.min(initial=self.batch + 1, where=self._lacks > 0)) - 1

    def hold(self, keys: Iterable[str], new: bool = True) -> set[str]:
        """Have these streams in memory, no more than there is room for. Unknown ones are made, or are what is returned.

        A stream that cannot be read is set aside, and is unknown then.
        """
        missing = [key for key in keys if key not in self.slot_of]
        if not missing:
            return set()
        self._make_room(len(missing), keys)
        places = dict(zip(missing, np.flatnonzero(~self._taken)[: len(missing)].tolist(), strict=True))
        found = {key: saved for key in missing if (saved := self._store.find(key)) is not None}
        bad = self._restore({places[key]: saved for key, saved in found.items()})
        if bad:
            self._store.set_aside(bad)
            found = {key: saved for key, saved in found.items() if saved.id not in bad}
        lost = [key for key in missing if key not in found]
        if new and lost:
            made = zip(lost, self._store.add(lost), strict=True)
            found |= {key: Saved(stream, 0, None, None) for key, stream in made}
            lost = []
        self.slots.open([places[key] for key, saved in found.items() if not saved.state])
        for key, saved in found.items():
            slot = places[key]
            self.ids[slot], self._used[slot], self._lacks[slot] = saved.id, self.batch, 0
            self._keys[slot], self._taken[slot] = key, True
            self.slot_of[key] = slot  # last: an interrupt before leaves a slot that is nobody's, and is used again
        return set(lost)

    def _restore(self, found: dict[int, Saved]) -> dict[int, str]:
        """Set slots to what the file has; numbers of the streams that cannot be read, and why."""
        grown = {slot: saved for slot, saved in found.items() if saved.state}
        bad = self.slots.restore_many(list(grown), [saved.state or b"" for saved in grown.values()])
        for slot in grown.keys() - bad.keys():
            saved, count = grown[slot], self.slots.count(slot)
            if count != saved.taken or not same_input(self.slots.last(slot), saved.last or b""):
                bad[slot] = f"its state has {count} rows and another newest one than the {saved.taken} of its row"
        return {found[slot].id: reason for slot, reason in bad.items()}

    def _make_room(self, wanted: int, staying: Iterable[str]) -> None:
        """Put aside the streams unused for longest until so many slots are free."""
        may_go = self._taken.copy()
        short = wanted - np.count_nonzero(~may_go)
        if short <= 0:
            return
        may_go[[self.slot_of[key] for key in staying if key in self.slot_of]] = False
        slots = np.flatnonzero(may_go)
        leaving = slots[np.argsort(self._used[slots], kind="stable")[:short]]
        self.save(leaving[self._lacks[leaving] > 0])
        for slot in leaving.tolist():
            self.drop(slot)

    def drop(self, slot: int) -> None:
        """Forget a stream here, as it is."""
        if self.slot_of.get(self._keys[slot]) == slot:
            del self.slot_of[self._keys[slot]]
        self._lacks[slot], self._taken[slot] = 0, False

    def save(self, slots: Counts) -> None:
        """Write the states of these slots; the last batch that used one is the last in its state."""
        self._store.save(
            (int(self._used[slot]), self.slots.count(slot), self.slots.last(slot), self.slots.state(slot), stream)
            for slot, stream in zip(slots.tolist(), self.ids[slots].tolist(), strict=True)
        )
        self._lacks[slots] = 0
