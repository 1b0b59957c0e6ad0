"""Setting a stream from what a file holds, every number checked first."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from prophecy import _checks
from prophecy.adaptive.channels import Channels
from prophecy.adaptive.clock import CLOCK, check_clocks
from prophecy.adaptive.irregular import SAMPLES, check_samples
from prophecy.adaptive.limits import LARGEST, MOST
from prophecy.adaptive.record import RECORD, check


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
    stream.records = records.copy().view(RECORD)  # a view: fields are attributes where Numba does not compile
    stream.clocks, stream.samples = arrays["clocks"].copy().view(CLOCK), arrays["samples"].copy().view(SAMPLES)
    stream.count = count


def _refill_rings(stream: Channels, records: NDArray[Any], rings: NDArray[Any]) -> None:
    used = int(min(records["count"].max(), stream.rings.shape[1]))
    if rings.dtype != np.float64 or rings.shape != (stream.series, used):
        raise ValueError(f"rings must be float64 of shape {(stream.series, used)}, got {rings.dtype} {rings.shape}")
    if not (np.abs(rings) <= LARGEST).all():
        raise ValueError(f"rings must hold values of at most {LARGEST:g} in size")
    stream.rings[:, :used] = rings
