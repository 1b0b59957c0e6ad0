"""Setting a stream from what a file holds, every number checked first."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from prophecy import _checks
from prophecy.adaptive.clock import seconds
from prophecy.adaptive.record import LARGEST, MOST, RECORD, check
from prophecy.adaptive.stream import Stream
from prophecy.adaptive.timed import TimedBank


def restored(stream: Stream, meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    """Set a fresh stream; ValueError, TypeError or KeyError for anything no stream could have reached."""
    records = arrays["records"]
    count = _checks.order("count", meta["count"], least=0)
    if count > MOST:
        raise ValueError(f"count must be at most {MOST}, got {count}")
    stream.clock.dt = None if meta["step"] is None else _checks.positive("step", meta["step"])
    stream.clock.last = None if meta["last_time"] is None else float(seconds(meta["last_time"]))
    if stream.clock.last is not None and not np.isfinite(stream.clock.last):
        raise ValueError(f"last_time must be finite, got {stream.clock.last}")
    if meta["typical"] is not None:
        stream.timed = TimedBank(stream.series, _checks.positive("typical", meta["typical"]), stream.settings)
        stream.timed.restore(records, arrays)
    else:
        if records.dtype != RECORD:
            raise ValueError(f"records must have {RECORD.itemsize} bytes each and the fields of this version")
        check(records, stream.table)
        if not (records["hold"] == stream.hold).all():
            raise ValueError("hold must be what gaps says")
        stream.records = records.copy()
    _refill(stream, arrays["values"], arrays["times"])
    stream.count = count


def _refill(stream: Stream, values: NDArray[Any], times: NDArray[Any]) -> None:
    if values.dtype != np.float64 or times.dtype != np.float64 or times.ndim != 1:
        raise ValueError(f"values and times must be float64, got {values.dtype} and {times.dtype} {times.shape}")
    if values.shape != (stream.series, len(times)) or len(times) > stream.context.length:
        raise ValueError(f"values must be {(stream.series, len(times))}, context or fewer, got {values.shape}")
    if (np.abs(values) > LARGEST).any() or not np.isfinite(times).all() or (np.diff(times) < 0).any():
        raise ValueError("values must be at most 1e75 in size, and times finite and increasing")
    stream.context.extend(values, times)
