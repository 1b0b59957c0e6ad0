"""Streams in memory: slots, each of which holds one stream, run through and saved by number."""

from __future__ import annotations

import copy

import numpy as np
from numpy.typing import NDArray

from prophecy.adaptive.clock import CLOCK
from prophecy.adaptive.irregular import KEPT, SAMPLES
from prophecy.adaptive.prophecy import Prophecy
from prophecy.adaptive.record import RECORD
from prophecy.adaptive.restore import restored
from prophecy.adaptive.settings import DEFAULT
from prophecy.adaptive.stream import Stream
from prophecy.fleet.answers import LATE, MISSING, ROW, TAKEN
from prophecy.fleet.pack import pack, unpack

Array = NDArray[np.float64]

RECENT = 256
"""Rows of each stream kept to be shown, with their answers."""

CONTEXT = 2048
"""Values of each stream kept for `forecast`, as many as `Prophecy` keeps."""

BYTES = RECORD.itemsize + 8 * 4352 + 16 * CONTEXT + RECENT * ROW.itemsize
"""Memory of a stream that has seen thousands of values."""

PARTS = {
    "counts": np.dtype("<i8"),
    "record": RECORD,
    "ring": np.dtype("<f8"),
    "clock": CLOCK,
    "samples": SAMPLES,
    "sample_times": np.dtype("<f8"),
    "values": np.dtype("<f8"),
    "times": np.dtype("<f8"),
    "recent": ROW,
}
"""What a state consists of; counts: values taken in, and samples at irregular times."""


class Bank:
    """Room for `capacity` streams."""

    def __init__(self, capacity: int, dt: float | None, level: float) -> None:
        self._dt, self._level = dt, level
        self._streams: list[Stream | None] = [None] * capacity
        self._recent = [np.zeros(0, ROW) for _ in range(capacity)]

    def open(self, slot: int) -> None:
        """A stream that has seen nothing."""
        self._streams[slot], self._recent[slot] = Stream(1, self._dt, False, CONTEXT, DEFAULT), np.zeros(0, ROW)

    def run(self, slots: NDArray[np.int64], timed: bool, rows: NDArray[np.void]) -> None:
        """Take in rows, each into its slot, in order, and write the answers into them."""
        for k, slot in enumerate(slots.tolist()):
            stream, row = self._stream(slot), rows[k : k + 1]
            before = stream.count
            value, time = row["value"].copy(), row["time"].copy()
            mean, half, score, alarm = stream.run(value[:, None], time if timed else None, self._level)
            row["mean"], row["half"], row["score"], row["alarm"] = mean[0], half[0], score[0], alarm[0]
            row["next"], row["next_half"] = stream.only_mean_and_half(self._level)
            row["status"] = LATE if stream.count == before else MISSING if np.isnan(value[0]) else TAKEN
            if stream.count > before:
                self._recent[slot] = np.concatenate([self._recent[slot][1 - RECENT :], row])

    def _stream(self, slot: int) -> Stream:
        stream = self._streams[slot]
        assert stream is not None
        return stream

    def records(self, slots: NDArray[np.int64]) -> NDArray[np.void]:
        """The records of these slots."""
        return np.concatenate([self._stream(slot).records for slot in slots.tolist()] or [np.zeros(0, RECORD)])

    def recent(self, slot: int) -> NDArray[np.void]:
        """The last rows of a stream that were not late, oldest first."""
        return self._recent[slot]

    def predict(self, slots: NDArray[np.int64], level: float) -> tuple[Array, Array]:
        """Mean and half width of the next value of each."""
        made = [self._stream(slot).only_mean_and_half(level) for slot in slots.tolist()]
        return np.array([mean for mean, _ in made]), np.array([half for _, half in made])

    def model(self, slot: int) -> Prophecy:
        """A copy of a stream as a `Prophecy`."""
        model = Prophecy(dt=self._dt, context=CONTEXT)
        model._stream = copy.deepcopy(self._stream(slot))
        return model

    def state(self, slot: int) -> bytes:
        stream = self._stream(slot)
        used = int(min(stream.records["count"][0], stream.rings.shape[1]))
        return pack(
            {
                "counts": np.array([stream.count, stream.irregular.seen]),
                "record": stream.records,
                "ring": stream.rings[0, :used],
                "clock": stream.clock,
                "samples": stream.irregular.samples,
                "sample_times": stream.irregular.times,
                "values": stream.context.values(),
                "times": stream.context.times(),
                "recent": self._recent[slot],
            }
        )

    def restore(self, slot: int, data: bytes) -> None:
        """Set a slot from a state, every number of which is checked; ValueError."""
        found = unpack(data, PARTS)
        if len(found["counts"]) != 2 or len(found["sample_times"]) != KEPT or len(found["recent"]) > RECENT:
            raise ValueError("the state of a stream has parts of the wrong size")
        stream = Stream(1, self._dt, False, CONTEXT, DEFAULT)
        arrays = {
            "records": found["record"],
            "rings": found["ring"][None],
            "clock": found["clock"],
            "samples": found["samples"],
            "sample_times": found["sample_times"],
            "values": found["values"][None],
            "times": found["times"],
        }
        restored(stream, {"count": int(found["counts"][0]), "sampled": int(found["counts"][1])}, arrays)
        self._streams[slot], self._recent[slot] = stream, found["recent"]
