"""Arguments of `Prophecy`, checked before anything is changed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from prophecy import _checks
from prophecy.streams.limits import LARGEST
from prophecy.streams.times import seconds

Array = NDArray[np.float64]


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
    return np.where(gone, np.nan, array).astype(np.float64, casting="unsafe") if _numbers(array[~gone]) else value


def _numbers(values: Any) -> bool:
    return all(isinstance(value, int | float | np.number) and not isinstance(value, bool) for value in values)


def one_moment(time: ArrayLike | None) -> float | None:
    if time is None:
        return None
    moment = seconds(time)
    if moment.shape != ():
        raise ValueError(f"time must be one moment, got shape {moment.shape}")
    return float(moment)


def checked_level(level: float) -> float:
    if type(level) is float and 0.0 < level < 1.0:
        return level
    if isinstance(level, bool) or not isinstance(level, int | float | np.number):
        raise TypeError(f"level must be a number strictly between 0 and 1, such as 0.9, got {level!r}")
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must lie strictly between 0 and 1, got {level}")
    return float(level)
