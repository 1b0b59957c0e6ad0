"""Times and series as frames hold them: read out of columns and indices, and written back as they came."""

import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any, NamedTuple

import numpy as np

from prophecy._arrays import Array
from prophecy.frames import dates
from prophecy.frames.align import Aligned
from prophecy.frames.columns import NAMED, Layout, Stray, text_of
from prophecy.frames.grid import UNITS
from prophecy.frames.numbers import is_missing
from prophecy.frames.times import PER_SECOND, Times, offset_text, zone_of

DATES = (datetime, date, np.datetime64)  # types of cells that are dates
EXCEL_DAY = 25_569  # 1970-01-01 in days since 1899-12-30
_NO_TIME = np.iinfo(np.int64).min  # NumPy's NaT

_LIBRARIES = ("pandas", "polars", "pyarrow", "modin", "cudf", "narwhals")


def is_frame(data: object) -> bool:
    """Whether `data` is a frame or series of some library (decided without importing any)."""
    library = type(data).__module__.split(".")[0]
    return library in _LIBRARIES and hasattr(data, "__len__") and in_narwhals(data) is not None


def in_narwhals(data: Any) -> Any:
    """A narwhals frame or series of what it was given; None where narwhals has no such type."""
    import narwhals.stable.v2 as nw

    try:
        found = nw.from_native(data, allow_series=True)
    except TypeError:
        return None
    return found.collect() if isinstance(found, nw.LazyFrame) else found


class TimeColumn(NamedTuple):
    """How times are read and written. columns: one, a date and a time of day, or the parts of a date.

    pattern: of text; unit: of an epoch; with neither the cells are dates by type, or numbers.
    """

    columns: tuple[str, ...]
    pattern: str | None = None
    unit: str | None = None
    whole: bool = False  # numbers without a fraction
    serial: bool = False  # days as Excel counts them
    typed: bool = False  # cells are dates by their type
    elapsed: bool = False  # seconds, written as hours, minutes and seconds

    def read(self, layout: Layout) -> tuple[Times, list[str]]:
        """The times of all rows, and what is to be said of cells that are none."""
        if self.pattern is not None:
            return self._dates(layout)
        column = layout[self.columns[0]]
        if self.typed:
            return as_times(column.cells), []
        if self.unit is not None:
            # Whole numbers exactly, which float64 does not hold; others are seconds with a fraction, or no numbers.
            with suppress(ValueError):
                ticks = [_NO_TIME if is_missing(text) else int(text) for text in map(text_of, column.cells.to_list())]
                return Times(np.array(ticks, dtype=np.int64).astype(f"datetime64[{self.unit}]")), []
        numbers, said = column.numbers, column.said()
        if self.serial:  # written with six digits, a day is known to a tenth of a second
            return _since_1970(np.rint((numbers - EXCEL_DAY) * 86_400)), said
        return Times(numbers) if self.unit is None else _since_1970(numbers / PER_SECOND[self.unit]), said

    def _dates(self, layout: Layout) -> tuple[Times, list[str]]:
        """Dates in text, each read once however often it comes; the parts of a row's date together."""
        assert self.pattern is not None
        parts = [layout[name].cells.to_list() for name in self.columns]
        if len(parts) == 1 and (quick := dates.quick(parts[0], self.pattern)) is not None:
            return quick, []
        rows = list(zip(*parts, strict=True))
        numbers: dict[tuple[Any, ...], int] = {}
        codes = np.fromiter((numbers.setdefault(row, len(numbers)) for row in rows), np.int64)
        places = np.unique(codes, return_index=True)[1] + 1  # the row in which each comes first
        name, wrong = " ".join(self.columns), list[tuple[int, str]]()
        texts = [[text_of(cell) for cell in row] for row in numbers]
        cells = [None if any(map(is_missing, row)) else " ".join(row) for row in texts]
        times = dates.read(cells, self.pattern, name, places.tolist(), wrong)[codes]
        count = int(np.isin(places[codes], [row for row, _ in wrong]).sum()) if wrong else 0
        said = Stray(len(rows), count, wrong[:NAMED], "dates").said(name, layout.asked)
        if times.ahead is not None and layout.asked.time_zone is None:
            zones = (timezone(timedelta(seconds=seconds)) for seconds in np.unique(times.ahead).tolist())
            written, ways = ", ".join(map(offset_text, zones)), layout.ways
            zoned = f"; {ways('time_zone', 'Europe/Berlin')} follows a zone" if ways.option != "?" else ""
            said.append(f"{name!r} has several offsets ({written}), and rows to come keep the last of them{zoned}")
        return times, said

    def numbers(self, times: Times) -> Any:
        """Times as the numbers of the column."""
        numbers = times.values
        if self.unit is not None and self.whole:
            return numbers.astype(f"datetime64[{self.unit}]").astype(np.int64)
        if self.unit is not None:
            # Microseconds, as they were read: whole numbers of nanoseconds are not exact in float64.
            return numbers.astype("datetime64[us]").astype(np.int64) / 1e6
        if self.serial:
            numbers = numbers.astype("datetime64[s]").astype(np.int64) / 86_400 + EXCEL_DAY
        whole = self.whole and bool((numbers == np.rint(numbers)).all())
        return numbers.astype(np.int64) if whole else numbers


def _since_1970(seconds: Any) -> Times:
    """Seconds as times to the microsecond, as float64 holds them."""
    gone = ~np.isfinite(seconds)
    values = np.rint(np.where(gone, 0, seconds) * 1e6).astype("datetime64[us]")
    values[gone] = np.datetime64("NaT")
    return Times(values)


def as_times(cells: Any) -> Times:
    """A column, index or array of times: dates with or without zones, numbers, or text that reads as dates."""
    if type(cells).__module__.startswith("pandas") and type(cells).__name__.endswith("Index"):
        cells = (cells.to_timestamp() if type(cells).__name__ == "PeriodIndex" else cells).to_series()
    column = in_narwhals(cells) if is_frame(cells) else cells if hasattr(cells, "to_native") else None
    if column is not None:
        import narwhals.stable.v2 as nw

        kind = column.dtype
        if kind == nw.Datetime and kind.time_zone is not None:
            utc = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
            return Times(utc.to_numpy(), zone_of(kind.time_zone))
        if kind == nw.Date:
            return Times(column.cast(nw.Datetime("us")).to_numpy())
        if kind == nw.Datetime or kind.is_numeric():
            return Times(column.to_numpy())
        cells = column.to_list()
    array = cells if isinstance(cells, np.ndarray) else np.array(list(cells), dtype=object)
    return Times(array) if array.dtype.kind in "Miuf" else _listed(array.tolist())


def is_dated(index: Any) -> bool:
    """Whether pandas' index holds dates: by its type, or as text."""
    if type(index).__name__ in ("DatetimeIndex", "PeriodIndex"):
        return True
    return len(index) > 0 and all(isinstance(cell, str) and dates.is_date(cell) for cell in index)


def is_numbered(index: Any) -> bool:
    """Whether pandas' index counts, up or down."""
    return (
        type(index).__name__ in ("RangeIndex", "Index")
        and getattr(index.dtype, "kind", "O") in "iuf"
        and bool(index.is_monotonic_increasing or index.is_monotonic_decreasing)
        and bool(index.is_unique)
    )


def _listed(cells: list[Any]) -> Times:
    known = [cell for cell in cells if cell is not None and cell == cell]
    if not known:
        raise ValueError("time holds no times at all, missing ones alone; leave it out, or name another column")
    if all(isinstance(cell, str) for cell in known):
        pattern, _ = dates.pattern_of([cell for cell in known if cell.strip()][:10_000])
        return dates.read([cell if isinstance(cell, str) else None for cell in cells], pattern)
    if all(isinstance(cell, int | float | np.number) for cell in known):
        return Times(np.array([np.nan if cell is None else float(cell) for cell in cells]))
    if not all(isinstance(cell, DATES) for cell in known):
        raise TypeError(f"time must hold dates, numbers or text that reads as dates, got {known[0]!r}")
    zones = [cell.tzinfo for cell in known if isinstance(cell, datetime) and cell.tzinfo is not None]
    naive: list[Any] = []
    for cell in cells:
        if isinstance(cell, datetime) and cell.tzinfo is not None:
            cell = cell.astimezone(UTC).replace(tzinfo=None)
        naive.append(np.datetime64("NaT") if cell is None or cell != cell else np.datetime64(cell))
    return Times(np.array(naive, dtype="datetime64[us]"), zones[-1] if zones else None)


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

    def spacing(self) -> tuple[float, str]:
        """Time from row to row and its unit, by least squares: single distances vary with jitter and months."""
        times = self.series.times
        if times is None or len(times.values) < 2:
            return 1.0, "row"
        since = (times.values - times.values[0]) / (np.timedelta64(1, "s") if times.dates else 1.0)
        rows = np.arange(len(since)) - (len(since) - 1) / 2
        apart = float(rows @ since / (rows @ rows))
        if not times.dates:
            return apart, f"unit of {self.kind.time or 'time'}"
        length, unit, _ = next((each for each in UNITS[1:5] if each[0] <= apart), UNITS[4])  # days to seconds
        return apart / length, unit

    def by_column(self) -> "dict[str, Source]":
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
    series = time_series(times, kind).to_native()
    if not kind.as_index:
        return series
    index = sys.modules["pandas"].Index(series).rename(kind.time)
    return index if kind.period is None else index.to_period(kind.period)


def time_series(times: Times, kind: Kind) -> Any:
    """Moments as a narwhals series of the kind's library, as its clock reads them: text, numbers, or dates by type."""
    import narwhals.stable.v2 as nw

    name, backend, clock = kind.time or "time", kind.backend or any_library(), kind.clock or TimeColumn((), whole=True)
    if times.dates and clock.pattern is not None:
        return nw.new_series(name, times.texts(), nw.String, backend=backend)
    if clock.elapsed:
        typed = kind.dtype == nw.Duration
        cells = np.rint(times.values * 1e6).astype("m8[us]") if typed else list(map(dates.as_elapsed, times.values))
        return nw.new_series(name, cells, backend=backend)
    if not times.dates or clock.unit is not None or clock.serial:
        series = nw.new_series(name, clock.numbers(times), backend=backend)
        return series.cast(kind.dtype) if kind.dtype is not None and kind.dtype.is_float() else series
    coarse = np.datetime_data(times.values.dtype)[0] == "s"
    series = nw.new_series(name, times.values.astype("M8[us]") if coarse else times.values, backend=backend)
    if times.zone is not None:
        zone = str(times.zone).removeprefix("UTC") or "UTC"  # timezone(timedelta(hours=1)) is called UTC+01:00
        series = series.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
    return series.cast(kind.dtype) if kind.dtype in (nw.Date, nw.Datetime) else series


def build(columns: Mapping[str, Any], kind: Kind, index: Times | None = None) -> Any:
    """A frame of the kind that came in; where nothing but an array did, of a library that is there."""
    import narwhals.stable.v2 as nw

    backend: Any = kind.backend or any_library()
    series = [
        values if isinstance(values, nw.Series) else nw.new_series(name, values, backend=backend)
        for name, values in columns.items()
    ]
    # Joined side by side: `nw.from_dict` drops the time zone of a pandas column and leaves the hours of UTC.
    frame = nw.concat([column.to_frame() for column in series], how="horizontal").to_native()
    if index is not None:
        frame.index = native_times(index, kind)
    return frame


def any_library() -> Any:
    """A library that makes frames: one already loaded, or else one that is installed."""
    import importlib.util

    names = ("pandas", "polars", "pyarrow")
    for name in (*(name for name in names if name in sys.modules), *names):
        if importlib.util.find_spec(name) is not None:
            return name
    raise ModuleNotFoundError("frames need pandas, Polars or pyarrow; install one of them", name="pandas")
