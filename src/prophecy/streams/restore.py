"""Setting a stream from what a file holds, every number checked first."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from prophecy import _checks
from prophecy.streams.channels import Channels
from prophecy.streams.limits import LARGEST, MOST
from prophecy.streams.rows import RECORD, RECORDS, STATES, WAITINGS, check, check_clocks, check_samples


def restored(stream: Channels, meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    """Set a fresh stream; ValueError, TypeError or KeyError for anything no stream could have reached."""
    records = arrays["records"]
    count = _checks.whole("count", meta["count"], least=0)
    if count > MOST:
        raise ValueError(f"count must be at most {MOST}, got {count}")
    if records.dtype != RECORD:
        raise ValueError(f"records must have {RECORD.itemsize} bytes each and the fields of this version")
    check(records, stream.table)
    if not (records["hold"] == stream.hold).all():
        raise ValueError(f"hold must be {int(stream.hold)} in every record, as gaps says, got {records['hold']}")
    check_clocks(arrays["clocks"], stream.series, stream.settings)
    check_samples(arrays["samples"], stream.series)
    _refill_rings(stream, records, arrays["rings"])
    stream.put(records.copy(), stream.rings, arrays["clocks"].copy(), arrays["samples"].copy(), count)


def _refill_rings(stream: Channels, records: NDArray[Any], rings: NDArray[Any]) -> None:
    used = int(min(records["count"].max(), stream.rings.shape[1]))
    if rings.dtype != np.float64 or rings.shape != (stream.series, used):
        raise ValueError(f"rings must be float64 of shape {(stream.series, used)}, got {rings.dtype} {rings.shape}")
    if not (np.abs(rings) <= LARGEST).all():
        raise ValueError(f"rings must hold values of at most {LARGEST:g} in size")
    stream.rings[:, :used] = rings


def restored_ahead(own: dict[str, NDArray[Any]], arrays: dict[str, NDArray[Any]], table: NDArray[np.void]) -> None:
    """Set the arrays of a fresh `Ahead` to those of a file."""
    if own.keys() != arrays.keys():
        raise ValueError(f"it must hold {', '.join(own)}, and holds {', '.join(arrays)}")
    for name, mine in own.items():
        theirs = arrays[name]
        if (theirs.dtype, theirs.shape) != (mine.dtype, mine.shape):
            raise ValueError(f"{name} must be {mine.dtype} {mine.shape}, got {theirs.dtype} {theirs.shape}")
    check(arrays["records"][:2], table)
    for limits, name in ((RECORDS, "records"), (STATES, "state"), (WAITINGS, "waiting")):
        limits.check(arrays[name])
    if not (np.abs(arrays["rings"]) <= LARGEST).all():
        raise ValueError(f"rings must hold values of at most {LARGEST:g} in size")
    for name, mine in own.items():
        mine[...] = arrays[name]
