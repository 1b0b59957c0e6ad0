"""Arguments of `Prophecy`, checked before anything is changed."""

from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from prophecy import _checks
from prophecy._arrays import Array
from prophecy.streams.limits import LARGEST, LARGEST_TIME


def as_moments(value: ArrayLike, channels: int | None, refuse_gaps: bool) -> Array:
    """`value` as (time, channels), fully checked, so that what follows cannot fail half-way.

    channels: None for numbers; refuse_gaps: whether a missing value is an error.
    """
    array = _checks.real_array("value", without_none(value))
    width = channels or 1
    single = 0 if channels is None else 1
    if array.ndim not in (single, single + 1) or (channels is not None and array.shape[-1] != width):
        shapes = "a number or (time,)" if channels is None else f"({width},) or (time, {width})"
        raise ValueError(f"value must be {shapes}, got shape {array.shape}")
    found = array.reshape(-1, width).astype(np.float64)
    gone = np.isnan(found)
    if refuse_gaps and gone.any():
        first = int(np.argwhere(gone)[0][0])
        raise ValueError(f"value is NaN at moment {first} of {len(found)}; drop it, or use gaps='predict' or 'hold'")
    size = np.max(np.abs(found), where=~gone, initial=0.0)
    if not size <= LARGEST:
        moment = int(np.argwhere(~gone & ~(np.abs(found) <= LARGEST))[0][0])
        raise ValueError(
            f"value must be finite and at most {LARGEST:g} in size, got {size:g} (moment {moment} of {len(found)}); "
            "put NaN where a value is missing, or rescale the data"
        )
    return found


def without_none(value: Any) -> Any:
    """`value` with NaN where it is None, which is how lists say that something is missing."""
    if value is None:
        return np.nan
    if not isinstance(value, list | tuple) and not (isinstance(value, np.ndarray) and value.dtype == object):
        return value
    array = np.asarray(value, dtype=object)
    gone = np.array([one is None for one in array.flat], dtype=np.bool_).reshape(array.shape)
    if not gone.any():
        return value
    numbers = all(isinstance(one, int | float | np.number) and not isinstance(one, bool) for one in array[~gone])
    return np.where(gone, np.nan, array).astype(np.float64, casting="unsafe") if numbers else value


def checked_level(level: float) -> float:
    if type(level) is not float and (isinstance(level, bool) or not isinstance(level, int | float | np.number)):
        raise TypeError(f"level must be a number strictly between 0 and 1, such as 0.9, got {level!r}")
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must lie strictly between 0 and 1, got {level}")
    return float(level)


# Times as seconds, whatever they were given as.


def step(dt: object) -> float:
    """A step in seconds: a number as it is, or a timedelta (numpy's or Python's). No longer than times may be."""
    if isinstance(dt, np.timedelta64):
        if np.isnat(dt):
            raise ValueError("dt must be positive and finite, got NaT; give the step in seconds or as a timedelta")
        dt = float(dt / np.timedelta64(1, "ns")) / 1e9
    seconds = _checks.positive("dt", dt.total_seconds() if isinstance(dt, timedelta) else dt)
    if seconds > LARGEST_TIME:
        raise ValueError(f"dt must be at most {LARGEST_TIME:g}, got {seconds:g}; use another unit")
    return seconds


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


def checked_times(stamped: bool, time: ArrayLike | None, moments: int, count: int) -> Array | None:
    """`time` as (moments,) finite seconds; None where none are given."""
    if time is None:
        return None
    times = np.atleast_1d(seconds(time))
    if times.shape != (moments,):
        raise ValueError(f"time must be one number per moment, {moments} of them, got shape {np.shape(time)}")
    if count and not stamped:
        raise ValueError(
            "time means nothing to a model without timestamps: time must be given from the first value on or not at "
            "all; call reset first"
        )
    if not (np.abs(times) <= LARGEST_TIME).all():
        first = int(np.argmin(np.abs(times) <= LARGEST_TIME))
        wrong = f"got {times[first]}; rescale it"
        if np.isnan(times[first]):
            wrong = f"and is missing at moment {first} of {moments}; drop moments without one"
        raise ValueError(f"time must be finite and at most {LARGEST_TIME:g} in size, {wrong}")
    return times
