"""Series as they came, and frames of the kind that came in: times as an index, periods or a column."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prophecy.frames.align import Aligned
from prophecy.frames.clock import TimeColumn
from prophecy.frames.times import Times

Array = NDArray[np.float64]
Key = Any  # a cell of the key column, or a tuple of cells where there are several


@dataclass(frozen=True, eq=False)
class Kind:
    """What kind of frame came in, so that the same kind goes out.

    backend: narwhals' name of the library; None for arrays. time: the column (or index) of times. as_index: the times
    are pandas' index. dtype: of the times, a narwhals type; period: pandas' frequency where the index has periods.
    key: columns that tell series apart. clock: how the column of times is read and written.
    """

    backend: Any = None
    time: str | None = None
    as_index: bool = False
    dtype: Any = None
    period: Any = None
    key: tuple[str, ...] = ()
    clock: TimeColumn | None = None


@dataclass(frozen=True, eq=False)
class Source:
    """One series as it came: its rows on the calendar, the names of its variables, the kind of frame.

    single: it was one column, so that answers are (horizon,) and not (horizon, 1).
    """

    series: Aligned
    names: tuple[str, ...]
    single: bool
    kind: Kind = field(default_factory=Kind)
    key: Key = None
    remarks: tuple[str, ...] = ()

    @property
    def values(self) -> Array:
        """(time,) or (time, variables)."""
        return self.series.values[:, 0] if self.single else self.series.values

    def notes(self) -> tuple[str, ...]:
        """What was read and assumed, as sentences."""
        rows = len(self.series.values) - self.series.filled
        read_as = (f"{rows:,} rows, {', '.join(self.series.facts)}.",) if self.series.facts else ()
        return (*read_as, *self.remarks)

    def future(self, horizon: int) -> Any:
        """The times of the next `horizon` rows, as the frame's own library holds them; None without times."""
        ahead = self.series.after(horizon)
        return None if ahead is None else native_times(ahead, self.kind)

    def past(self) -> Any:
        """The times of the rows."""
        return None if self.series.times is None else native_times(self.series.times, self.kind)

    def by_column(self) -> dict[str, Source]:
        """Every variable as a series of its own."""
        parts = {name: self.series.values[:, i : i + 1] for i, name in enumerate(self.names)}
        return {
            name: replace(self, series=replace(self.series, values=part), names=(name,), single=True, key=name)
            for name, part in parts.items()
        }


def native_times(times: Times, kind: Kind) -> Any:
    """Moments as an index (pandas with one), a series (frames with a column) or an array (no frame)."""
    if kind.backend is None:
        return times.values
    if not kind.as_index:
        return time_series(times, kind).to_native()
    pandas = sys.modules["pandas"]
    if not times.dates:
        return pandas.Index(_whole(times.values), name=kind.time)
    index = pandas.DatetimeIndex(times.values, name=kind.time)
    if kind.period is not None:
        return index.to_period(kind.period)
    return index if times.zone is None else index.tz_localize("UTC").tz_convert(times.zone)


def time_series(times: Times, kind: Kind) -> Any:
    """Moments as a narwhals series of the kind's library and type."""
    import narwhals.stable.v2 as nw

    name, backend, values = kind.time or "time", kind.backend or any_library(), times.values
    clock, numeric = kind.clock, kind.dtype is not None and kind.dtype.is_numeric()
    if not times.dates:
        whole = kind.dtype is None or kind.dtype.is_integer()
        return nw.new_series(name, _whole(values) if whole else values, backend=backend)
    if numeric and clock is not None and clock.style is None:
        return nw.new_series(name, clock.numbers(times), backend=backend)
    if kind.dtype == nw.String or (kind.dtype == nw.Object and clock is not None and clock.style is not None):
        days = bool((values == values.astype("datetime64[D]")).all())
        texts = np.datetime_as_string(values, "D" if days else "auto").tolist()
        return nw.new_series(name, [text.replace("T", " ") for text in texts], nw.String, backend=backend)
    unit = np.datetime_data(values.dtype)[0]
    series = nw.new_series(name, values.astype("M8[us]") if unit == "s" else values, backend=backend)
    if times.zone is not None:
        series = series.dt.replace_time_zone("UTC").dt.convert_time_zone(str(times.zone))
    return series.cast(kind.dtype) if kind.dtype in (nw.Date, nw.Datetime) else series


def _whole(values: Any) -> Any:
    """Numbers as whole ones where all of them are."""
    return values.astype(np.int64) if bool((values == np.rint(values)).all()) else values


def build(columns: Mapping[str, Any], kind: Kind, times: Times | None = None) -> Any:
    """A frame of the kind that came in; where nothing but an array did, of a library that is there.

    times: of the rows, which become pandas' index or the first column, as they came.
    """
    import narwhals.stable.v2 as nw

    backend: Any = kind.backend or any_library()
    if times is not None and not kind.as_index:
        columns = {kind.time or "time": time_series(times, kind), **columns}
    series = [
        values if isinstance(values, nw.Series) else nw.new_series(name, values, backend=backend)
        for name, values in columns.items()
    ]
    # Joined side by side: `nw.from_dict` drops the time zone of a pandas column and leaves the hours of UTC.
    frame = nw.concat([column.to_frame() for column in series], how="horizontal").to_native()
    if times is not None and kind.as_index:
        frame.index = native_times(times, kind)
    return frame


def any_library() -> Any:
    """A library that makes frames: one already loaded, or else one that is installed."""
    import importlib.util

    names = ("pandas", "polars", "pyarrow")
    for name in (*(name for name in names if name in sys.modules), *names):
        if importlib.util.find_spec(name) is not None:
            return name
    raise ModuleNotFoundError("frames need pandas, Polars or pyarrow; install one of them", name="pandas")
