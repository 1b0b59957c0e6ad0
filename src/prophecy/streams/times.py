"""Times as seconds, whatever they were given as."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta

import numpy as np
from numpy.typing import ArrayLike, NDArray

from prophecy import _checks
from prophecy.streams.limits import LARGEST_TIME

Array = NDArray[np.float64]


def step(dt: object) -> float:
    """A step in seconds: a number as it is, or a timedelta (numpy's or Python's)."""
    if isinstance(dt, np.timedelta64):
        if np.isnat(dt):
            raise ValueError("dt must be positive and finite, got NaT; give the step in seconds or as a timedelta")
        return _checks.positive("dt", float(dt / np.timedelta64(1, "ns")) / 1e9)
    if isinstance(dt, timedelta):
        return _checks.positive("dt", dt.total_seconds())
    return _checks.positive("dt", dt)


def _moment(moment: date) -> datetime:
    """A date is its first moment; without a time zone it is in UTC."""
    if not isinstance(moment, datetime):
        moment = datetime.combine(moment, time())
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def seconds(time: ArrayLike) -> Array:
    """Times as seconds: numbers as they are, dates as seconds since 1970 (without a time zone in UTC, without a time
    at midnight)."""
    array = np.asarray(time)
    if array.dtype.kind == "M":
        # Seconds and parts of them apart: nanoseconds since 1970 fit 64 bits from 1678 to 2262 only.
        whole = array.astype("datetime64[s]")
        since = whole.astype(np.int64) + (array - whole).astype("timedelta64[ns]").astype(np.int64) / 1e9
        return np.asarray(np.where(np.isnat(array), np.nan, since), dtype=np.float64)
    if array.dtype == object and array.size and all(isinstance(moment, date) for moment in array.flat):
        moments = [_moment(moment) for moment in array.flat]
        return np.array([moment.timestamp() for moment in moments]).reshape(array.shape)
    if array.dtype.kind in "US":
        raise TypeError(
            f"time must hold real numbers or dates, got text such as {str(array.flat[0]) if array.size else ''!r}; "
            'turn it into dates first, for instance with np.array(time, "datetime64[s]")'
        )
    return np.asarray(_checks.real_array("time", time), dtype=np.float64)


def checked(stamped: bool, time: ArrayLike | None, moments: int, count: int) -> Array | None:
    """`time` as (moments,) finite seconds; None where none are given."""
    if time is None:
        return None
    times = np.atleast_1d(seconds(time))
    if times.shape != (moments,):
        raise ValueError(f"time must be one number per moment, {moments} of them, got shape {np.shape(time)}")
    if count and not stamped:
        raise ValueError("time must be given from the first value on or not at all; call reset first")
    bad = ~(np.abs(times) <= LARGEST_TIME)
    if np.isnan(times).any():
        first = int(np.argmax(np.isnan(times)))
        raise ValueError(
            f"time must be finite, and is missing at moment {first} of {moments}; drop moments without one"
        )
    if bad.any():
        raise ValueError(
            f"time must be finite and at most {LARGEST_TIME:g} in size, got {times[int(np.argmax(bad))]}; rescale it"
        )
    return times
