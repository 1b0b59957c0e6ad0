"""Setting a stream from what a file holds, every number checked first."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from prophecy import _checks
from prophecy.adaptive.clock import check_clock
from prophecy.adaptive.irregular import check_samples
from prophecy.adaptive.record import LARGEST, MOST, RECORD, check
from prophecy.adaptive.stream import Stream


def restored(stream: Stream, meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    """Set a fresh stream; ValueError, TypeError or KeyError for anything no stream could have reached."""
    records = arrays["records"]
    counts = [_checks.order(name, meta[name], least=0) for name in ("count", "sampled")]
    if max(counts) > MOST:
        raise ValueError(f"counts must be at most {MOST}, got {counts}")
    if records.dtype != RECORD:
        raise ValueError(f"records must have {RECORD.itemsize} bytes each and the fields of this version")
    check(records, stream.table)
    if not (records["hold"] == stream.hold).all():
        raise ValueError("hold must be what gaps says")
    check_clock(arrays["clock"])
    check_samples(arrays["samples"], arrays["sample_times"], stream.series)
    _refill_rings(stream, records, arrays["rings"])
    stream.records = records.copy()
    stream.clock = arrays["clock"].copy()
    stream.irregular.samples, stream.irregular.times = arrays["samples"].copy(), arrays["sample_times"].copy()
    stream.irregular.seen = counts[1]
    _refill(stream, arrays["values"], arrays["times"])
    stream.count = counts[0]


def _refill_rings(stream: Stream, records: NDArray[Any], rings: NDArray[Any]) -> None:
    used = int(min(records["count"].max(), stream.rings.shape[1]))
    if rings.dtype != np.float64 or rings.shape != (stream.series, used):
        raise ValueError(f"rings must be float64 of shape {(stream.series, used)}, got {rings.dtype} {rings.shape}")
    if not (np.abs(rings) <= LARGEST).all():
        raise ValueError(f"rings must hold values of at most {LARGEST:g} in size")
    stream.rings[:, :used] = rings


def _refill(stream: Stream, values: NDArray[Any], times: NDArray[Any]) -> None:
    if values.dtype != np.float64 or times.dtype != np.float64 or times.ndim != 1:
        raise ValueError(f"values and times must be float64, got {values.dtype} and {times.dtype} {times.shape}")
    if values.shape != (stream.series, len(times)) or len(times) > stream.context.length:
        raise ValueError(f"values must be {(stream.series, len(times))}, context or fewer, got {values.shape}")
    if (np.abs(values) > LARGEST).any() or not np.isfinite(times).all() or (np.diff(times) < 0).any():
        raise ValueError("values must be at most 1e75 in size, and times finite and increasing")
    stream.context.extend(values, times)
