"""Times out of the columns that hold them: dates by type, text, epochs, numbers, and the indices of pandas."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prophecy.frames import dates
from prophecy.frames.numbers import is_missing
from prophecy.frames.stray import Stray, is_text
from prophecy.frames.times import Times, zone_of

DATES = (datetime, date, np.datetime64)
"""Types of cells that are dates."""

EPOCHS = {"s": 10**0, "ms": 10**3, "us": 10**6, "ns": 10**9}
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


@dataclass(frozen=True)
class TimeColumn:
    """How times are read and written. columns: one, a date and a time of day, or the parts of a date.

    style: of text; unit: of an epoch; with neither the cells are dates by type, or numbers.
    """

    columns: tuple[str, ...]
    style: dates.Style | None = None
    unit: str | None = None
    whole: bool = False  # numbers without a fraction
    serial: bool = False  # days as Excel counts them
    typed: bool = False  # cells are dates by their type

    def read(self, piece: Any, first: int, stray: Stray) -> Times:
        """The times of a piece of a table; `first` is the number of its first row, for messages."""
        name, columns = " ".join(self.columns), [piece[column] for column in self.columns]
        if self.style is not None:
            return self._dates(list(zip(*(column.to_list() for column in columns), strict=True)), first, stray)
        (column,) = columns
        if self.typed:
            return as_times(column)
        if self.unit is not None and (ticks := _ticks(column.to_list())) is not None:
            return Times(ticks.astype(f"datetime64[{self.unit}]"))
        numbers = stray.read(name, column.to_list() if is_text(column) else column, first - 1)
        if self.serial:  # written with six digits, a day is known to a tenth of a second
            return _since_1970(np.rint((numbers - EXCEL_DAY) * 86_400))
        return Times(numbers) if self.unit is None else _since_1970(numbers / EPOCHS[self.unit])

    def _dates(self, rows: list[tuple[Any, ...]], first: int, stray: Stray) -> Times:
        """Dates in text, each read once however often it comes; the parts of a row's date together."""
        assert self.style is not None
        codes, found, places = distinct(rows)
        name, cells = " ".join(self.columns), [_text(row) for row in found]
        wrong: list[tuple[int, str]] = []
        times = dates.read(cells, self.style, name, (first + places).tolist(), wrong)[codes]
        if wrong:
            stray.missing_times(
                name, wrong, int(np.isin(places[codes] + first, [row for row, _ in wrong]).sum()), len(rows)
            )
        return times

    def write(self, times: Times) -> dict[str, Any]:
        """Times as columns like those they were read from."""
        name, cells = self.columns[0], []
        if self.style is not None:
            cells = self.style.write(times)
            if len(self.columns) == 1:
                return {name: cells}
            parts = [cell.split(" ", len(self.columns) - 1) for cell in cells]
            return dict(zip(self.columns, map(list, zip(*parts, strict=True)), strict=True))
        if self.typed:
            import pyarrow as pa

            unit, zone = np.datetime_data(times.values.dtype)[0], None if times.zone is None else str(times.zone)
            return {name: pa.array(times.values, pa.timestamp(unit, tz=zone))}
        return {name: self.numbers(times).tolist()}

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
        return numbers.astype(np.int64) if self.whole else numbers


def distinct(cells: Iterable[Any]) -> tuple[NDArray[np.int64], list[Any], NDArray[np.int64]]:
    """The number of each cell among those that differ; these; and where each of them comes first."""
    numbers: dict[Any, int] = {}
    codes = np.fromiter((numbers.setdefault(cell, len(numbers)) for cell in cells), np.int64)
    return codes, list(numbers), np.unique(codes, return_index=True)[1]


def _text(cells: tuple[Any, ...]) -> str | None:
    """The parts of a date as text; None where one is missing."""
    texts = ["" if cell is None else str(cell).strip() for cell in cells]
    return None if any(map(is_missing, texts)) else " ".join(texts)


def _ticks(cells: list[Any]) -> Any:
    """Whole numbers exactly, which float64 does not hold; None where one of them is no whole number."""
    if any(isinstance(cell, float) and cell == cell for cell in cells):
        return None
    there = (None if cell is None or cell != cell or is_missing(str(cell)) else cell for cell in cells)
    try:
        return np.array([_NO_TIME if cell is None else int(cell) for cell in there], dtype=np.int64)
    except ValueError:  # seconds with a fraction, or a cell that is no number
        return None


def _since_1970(seconds: Any) -> Times:
    """Seconds as times to the microsecond, as float64 holds them."""
    gone = ~np.isfinite(seconds)
    values = np.rint(np.where(gone, 0, seconds) * 1e6).astype("datetime64[us]")
    values[gone] = np.datetime64("NaT")
    return Times(values)


def as_times(cells: Any) -> Times:
    """A column, index or array of times: dates with or without zones, numbers, or text that reads as dates."""
    if type(cells).__module__.startswith("pandas") and type(cells).__name__.endswith("Index"):
        return _of_index(cells)
    column = in_narwhals(cells) if is_frame(cells) else None
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


def _of_index(index: Any) -> Times:
    if type(index).__name__ == "PeriodIndex":
        return Times(np.asarray(index.to_timestamp().values))
    if len(index) and isinstance(index[0], str):
        return _listed(list(index))
    zone = getattr(index, "tz", None)
    return Times(np.asarray((index if zone is None else index.tz_convert("UTC").tz_localize(None)).values), zone)


def is_clock(index: Any) -> bool:
    """Whether pandas' index holds times: dates, periods, or increasing numbers that are not mere row numbers."""
    if type(index).__name__ in ("DatetimeIndex", "PeriodIndex"):
        return True
    if len(index) and all(isinstance(cell, str) for cell in index):
        return all(dates.is_date(cell) for cell in index)
    return (
        type(index).__name__ == "Index"
        and getattr(index.dtype, "kind", "O") in "iuf"
        and bool(index.is_monotonic_increasing or index.is_monotonic_decreasing)
        and bool(index.is_unique)
    )


def _listed(cells: list[Any]) -> Times:
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
