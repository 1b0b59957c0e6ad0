"""Frames of the kind that came in, with their times as they were: index, periods or a column."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from prophecy.frames.times import Times


@dataclass(frozen=True, eq=False)
class Kind:
    """What kind of frame came in, so that the same kind goes out.

    backend: narwhals' name of the library; None for arrays. time: the column (or index) of times. as_index: the times
    are pandas' index. dtype: of the times, a narwhals type; period: pandas' frequency where the index has periods.
    key: columns that tell series apart.
    """

    backend: Any = None
    time: str | None = None
    as_index: bool = False
    dtype: Any = None
    period: Any = None
    key: tuple[str, ...] = ()


def native_times(times: Times, kind: Kind) -> Any:
    """Moments as an index (pandas with one), a series (frames with a column) or an array (no frame)."""
    if kind.backend is None:
        return times.values
    if kind.as_index:
        return _pandas_index(times, kind)
    return time_series(times, kind).to_native()


def _pandas_index(times: Times, kind: Kind) -> Any:
    pandas = sys.modules["pandas"]
    if not times.dates:
        whole = bool((times.values == np.rint(times.values)).all())
        return pandas.Index(times.values.astype(np.int64) if whole else times.values, name=kind.time)
    index = pandas.DatetimeIndex(times.values, name=kind.time)
    if kind.period is not None:
        return index.to_period(kind.period)
    return index if times.zone is None else index.tz_localize("UTC").tz_convert(times.zone)


def time_series(times: Times, kind: Kind) -> Any:
    import narwhals.stable.v2 as nw

    name = kind.time or "time"
    if not times.dates:
        whole = bool((times.values == np.rint(times.values)).all())
        series = nw.new_series(name, times.values, nw.Float64, backend=kind.backend)
        return series.cast(nw.Int64) if whole and (kind.dtype is None or kind.dtype.is_integer()) else series
    if kind.dtype == nw.String:
        texts = np.datetime_as_string(times.values, "D" if _midnights(times.values) else "auto").tolist()
        return nw.new_series(name, [text.replace("T", " ") for text in texts], nw.String, backend=kind.backend)
    unit = np.datetime_data(times.values.dtype)[0]
    series = nw.new_series(name, times.values.astype("M8[us]") if unit == "s" else times.values, backend=kind.backend)
    if times.zone is not None:
        series = series.dt.replace_time_zone("UTC").dt.convert_time_zone(str(times.zone))
    if kind.dtype == nw.Date:
        return series.cast(nw.Date)
    if kind.dtype == nw.Datetime:
        return series.cast(kind.dtype)
    return series


def _midnights(values: Any) -> bool:
    return bool((values == values.astype("datetime64[D]")).all())


def build(columns: dict[str, Any], kind: Kind, index: Any = None) -> Any:
    """A frame of the kind that came in; where nothing but an array did, of a library that is there.

    index: pandas' index for it.
    """
    import narwhals.stable.v2 as nw

    backend: Any = kind.backend or any_library()
    series = [
        values if isinstance(values, nw.Series) else nw.new_series(name, values, backend=backend)
        for name, values in columns.items()
    ]
    # Joined side by side: `nw.from_dict` drops the time zone of a pandas column and leaves the hours of UTC.
    frame = nw.concat([column.to_frame() for column in series], how="horizontal").to_native()
    if index is not None:
        frame.index = index
    return frame


def any_library() -> str:
    """A library that makes frames: one already loaded, or else one that is installed."""
    import importlib.util

    for name in ("pandas", "polars", "pyarrow"):
        if name in sys.modules:
            return name
    for name in ("pandas", "polars", "pyarrow"):
        if importlib.util.find_spec(name) is not None:
            return name
    raise ModuleNotFoundError("frames need pandas, Polars or pyarrow; install one of them", name="pandas")
