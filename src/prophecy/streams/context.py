"""The last values of a stream as `forecast` takes them: one for each step of its grid, from its ring."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from prophecy.streams.limits import FLAGS, RING

Array = NDArray[np.float64]


def from_ring(record: Any, ring: Array, length: int) -> Array:
    """The newest `length` values at most, oldest first; NaN where one is missing.

    record: one `RECORD`; ring: its ring. Values whose stamps missed the grid, or came at irregular times, are as they
    were brought to it.
    """
    count = min(int(record["count"]), RING, length)
    places = (int(record["count"]) - count + np.arange(count)) % RING
    missing = record["season_filled"][places // FLAGS] >> (places % FLAGS) & 1
    return np.where(missing == 1, np.nan, ring[places])


def joined(records: NDArray[np.void], rings: Array, length: int) -> Array:
    """The contexts of series whose values come together, (series, time); NaN before the first value of one."""
    rows = [from_ring(record, ring, length) for record, ring in zip(records, rings, strict=True)]
    out = np.full((len(rows), max(map(len, rows))), np.nan)
    for row, values in zip(out, rows, strict=True):
        row[len(row) - len(values) :] = values
    return out
