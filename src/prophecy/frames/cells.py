"""Times out of what frames hold them in: columns of dates, indices, periods, lists of datetimes, numbers."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import numpy as np

from prophecy.frames.times import Times
from prophecy.frames.zones import zone_of

DATES = (datetime, date, np.datetime64)
"""Types of cells that are dates."""

_LIBRARIES = ("pandas", "polars", "pyarrow", "modin", "cudf", "narwhals")


def is_frame(data: object) -> bool:
    """Whether `data` is a frame or series of some library (decided without importing any)."""
    return (
        type(data).__module__.split(".")[0] in _LIBRARIES and hasattr(data, "__len__") and in_narwhals(data) is not None
    )


def in_narwhals(data: Any) -> Any:
    """A narwhals frame or series of what it was given; None where narwhals has no such type."""
    import narwhals.stable.v2 as nw

    try:
        found = nw.from_native(data, allow_series=True)
    except TypeError:
        return None
    return found.collect() if isinstance(found, nw.LazyFrame) else found


def is_clock(index: Any) -> bool:
    """Whether pandas' index holds times: dates, periods, or increasing numbers that are not mere row numbers."""
    if type(index).__name__ in ("DatetimeIndex", "PeriodIndex"):
        return True
    if len(index) and all(isinstance(cell, str) for cell in index):
        from prophecy.frames.patterns import is_date

        return all(is_date(cell) for cell in index)
    return (
        type(index).__name__ == "Index"
        and getattr(index.dtype, "kind", "O") in "iuf"
        and bool(index.is_monotonic_increasing or index.is_monotonic_decreasing)
        and bool(index.is_unique)
    )


def holds_moments(index: Any) -> bool:
    """Whether pandas' index holds dates rather than numbers."""
    return getattr(index.dtype, "kind", "O") not in "iufb"


def has_periods(index: Any) -> bool:
    return type(index).__name__ == "PeriodIndex"


def index_times(index: Any) -> Times:
    if has_periods(index):
        return Times(np.asarray(index.to_timestamp().values))
    zone = getattr(index, "tz", None)
    if len(index) and isinstance(index[0], str):
        return _listed(list(index))
    if zone is not None:
        return Times(np.asarray(index.tz_convert("UTC").tz_localize(None).values), zone)
    return Times(np.asarray(index.values))


def as_times(cells: Any) -> Times:
    """A column or array of times: dates with or without zones, numbers, or text that reads as dates."""
    import narwhals.stable.v2 as nw

    if type(cells).__module__.startswith("pandas") and type(cells).__name__.endswith("Index"):
        return index_times(cells)
    column = cells if isinstance(cells, nw.Series) else in_narwhals(cells) if is_frame(cells) else None
    if isinstance(column, nw.Series):
        dtype: Any = column.dtype
        if dtype == nw.Datetime and dtype.time_zone is not None:
            utc = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
            return Times(utc.to_numpy(), zone_of(dtype.time_zone))
        if dtype == nw.Date:
            return Times(column.cast(nw.Datetime("us")).to_numpy())
        if dtype == nw.Datetime or dtype.is_numeric():
            return Times(column.to_numpy())
        cells = column.to_list()
    array = cells if isinstance(cells, np.ndarray) else np.array(list(cells), dtype=object)
    if array.dtype.kind in "Miuf":
        return Times(array)
    return _listed(array.tolist())


def holds_dates(column: Any) -> bool:
    """Whether a narwhals column is one of dates; so is one without a type whose cells are (what databases give)."""
    import narwhals.stable.v2 as nw

    if column.dtype != nw.Object:
        return column.dtype in (nw.Date, nw.Datetime)
    known = [cell for cell in column.to_list() if cell is not None and cell == cell]
    return bool(known) and all(isinstance(cell, DATES) for cell in known)


def _listed(cells: list[Any]) -> Times:
    from prophecy.frames import dates

    known = [cell for cell in cells if cell is not None and cell == cell]
    if not known:
        raise ValueError("time holds no times at all, missing ones alone; leave it out, or name another column")
    if all(isinstance(cell, str) for cell in known):
        style, _ = dates.style_of([cell for cell in known if cell.strip()][:10_000])
        return dates.read([cell if isinstance(cell, str) else None for cell in cells], style)
    if all(isinstance(cell, DATES) for cell in known):
        return _of_datetimes(cells)
    if all(isinstance(cell, int | float | np.number) for cell in known):
        return Times(np.array([np.nan if cell is None else float(cell) for cell in cells]))
    raise TypeError(f"time must hold dates, numbers or text that reads as dates, got {known[0]!r}")


def _of_datetimes(cells: list[Any]) -> Times:
    zones = [cell.tzinfo for cell in cells if isinstance(cell, datetime) and cell.tzinfo is not None]
    naive: list[Any] = []
    for cell in cells:
        if isinstance(cell, datetime) and cell.tzinfo is not None:
            cell = cell.astimezone(UTC).replace(tzinfo=None)
        naive.append(np.datetime64("NaT") if cell is None or cell != cell else np.datetime64(cell))
    return Times(np.array(naive, dtype="datetime64[us]"), zones[-1] if zones else None)
