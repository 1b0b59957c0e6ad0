"""Series out of whatever holds them: files, frames, arrays; the newest rows of every key, on their calendar."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from prophecy.frames.align import align
from prophecy.frames.columns import Hints
from prophecy.frames.numbers import plain_numbers
from prophecy.frames.source import Key, Source, any_library, as_times, is_frame
from prophecy.frames.table import Table, open_frame, open_table


class Collected(NamedTuple):
    """Every series of a table by key ("" without one), variables side by side."""

    table: Table
    sources: dict[Key, Any]


def collect(table: Table, context: int = 10**9, keep: bool = False) -> Collected:
    """The series of a table, the newest `context` rows of each. keep: what is wrong with one stands in its place."""
    roles, ways, single = table.roles, table.layout.ways, len(table.roles.values) == 1
    remarks = tuple(f"{note[:1].upper()}{note[1:]}." for note in table.notes)
    sources: dict[Key, Source | ValueError] = {}
    for key, rows in table.split().items():
        times = None if table.times is None else table.times[rows]
        try:
            series = align(table.values[rows], times, table.layout.asked.duplicates == "mean", ways)
        except ValueError as error:
            sources[key] = wrong = refused(table, key, error)
            if not keep or not roles.keys:
                raise wrong from None
            continue
        if len(series.values) > context:
            cut = None if series.times is None else series.times[-context:]
            series = replace(series, values=series.values[-context:], times=cut)
        sources[key] = Source(series, roles.values, single, table.kind, key if roles.keys else None, remarks)
    return Collected(table, sources)


def refused(table: Table, key: Key, error: ValueError) -> ValueError:
    """What is wrong with a series, with its file and key."""
    keys = table.roles.keys
    which = f"{', '.join(keys)} = {key!r}: " if keys else ""
    texts = [name for name in table.layout.names if table.layout[name].kind == "text" and name not in keys]
    advice = f" (for example {table.layout.ways('key', texts[0])})" if texts and "key" in str(error) else ""
    return ValueError(f"{table.layout.path}: {which}{error}{advice}")


def read_table(data: Any, **said: Any) -> Collected:
    """A file or frame as a table of series, to be given to `forecast` and the like in its place.

    said: what is not to be found by content (`prophecy.frames.columns.Hints`): key, columns, time, time_format,
    time_zone, decimal, header, missing, skip, sheet, sep, duplicates.
    """
    return collected(data, Hints(**said))


def is_table(data: Any) -> bool:
    """Whether data has columns with names: the name of a file, one that was read, a frame, or columns in a dict."""
    return isinstance(data, str | os.PathLike | Collected) or _is_columns(data) or is_frame(data)


def _is_columns(data: Any) -> bool:
    """Whether a dict holds the columns of one table; with dates or lengths of their own its items are series."""
    if not isinstance(data, Mapping):
        return False
    dated = any(
        type(getattr(item, "index", None)).__name__ in ("DatetimeIndex", "PeriodIndex") for item in data.values()
    )
    return not dated and len({len(item) if hasattr(item, "__len__") else -1 for item in data.values()}) <= 1


def collected(data: Any, asked: Hints, time: Any = None, keep: bool = False) -> Collected:
    """The series of anything with columns. time: times beside a frame, in place of a column; keep: as of `collect`."""
    if isinstance(data, Collected):
        return data
    if isinstance(time, str):
        asked, time = replace(asked, time=time), None
    if isinstance(data, str | os.PathLike):
        return collect(open_table(os.fspath(data), asked), keep=keep)
    if isinstance(data, Mapping):
        import narwhals.stable.v2 as nw

        backend: Any = any_library()
        data = nw.from_dict({str(name): np.asarray(column) for name, column in data.items()}, backend=backend)
    return collect(open_frame(data, asked, time), keep=keep)


def read(data: Any, time: Any = None, columns: str | Sequence[str] | None = None, duplicates: str = "refuse") -> Source:
    """One series (of one or several variables) out of an array, a list, a file or a frame.

    time: the name of the column of times, or an array of times beside the data; by default a frame's index of dates, or
    its only column of dates. columns: which are variables; all numbers by default.
    """
    asked = Hints(columns or (), duplicates=duplicates)
    if not is_table(data):
        if isinstance(data, Mapping):
            raise ValueError(
                f"data is a dict of {len(data)} series, with dates or lengths of their own; forecast each with "
                "forecast_many(data, horizon)"
            )
        return _from_array(data, time, duplicates)
    found = collected(data, asked, time)
    if len(found.sources) > 1:
        keys = ", ".join(found.table.roles.keys)
        raise ValueError(
            f"{found.table.layout.path} holds {len(found.sources)} series, by {keys}; forecast each with "
            "forecast_many(data, horizon)"
        )
    source: Source = next(iter(found.sources.values()))
    return source


def split(
    data: Any,
    key: str | Sequence[str] | None,
    time: Any = None,
    columns: str | Sequence[str] | None = None,
    duplicates: str = "refuse",
    keep: bool = False,
) -> dict[Key, Any]:
    """The series of a long table, one for every value of `key` (a column, or several), in the order they begin.

    key: None takes the outer levels of a MultiIndex, or a column of a usual name; without one every column is a series
    of its own. keep: what is wrong with a series stands in its place, instead of being raised.
    """
    if not is_table(data):
        raise TypeError(f"key={key!r} names a column, so data must be a frame, got {type(data).__name__}")
    found = collected(data, Hints(columns or (), key=key or (), duplicates=duplicates), time, keep)
    return found.sources if found.table.roles.keys else found.sources[""].by_column()


def _from_array(data: Any, time: Any, duplicates: str) -> Source:
    if isinstance(data, bytes) or not (hasattr(data, "__len__") and hasattr(data, "__getitem__")):
        raise TypeError(f"data must be an array, a list or a frame, got {type(data).__name__}")
    if isinstance(data, np.ma.MaskedArray):
        raise TypeError("data is a masked array; use data.filled(np.nan): missing values are NaN")
    try:
        values = np.asarray(data)
    except ValueError:
        raise ValueError(
            "data must be rectangular, got sequences of different lengths; forecast_many takes a list"
        ) from None
    if values.size == 0:
        raise ValueError("data is empty; a forecast needs some values")
    if values.dtype == object:
        values = np.array([[np.nan if cell is None else cell for cell in np.atleast_1d(row)] for row in values])
        values = values[:, 0] if np.ndim(data[0]) == 0 else values
    if values.dtype.kind == "U" and values.ndim:
        cell = next((str(cell) for cell in values.flat if plain_numbers([str(cell)]) is None), None)
        if cell is not None:
            raise TypeError(f"data holds text that is no number, such as {cell!r:.80}; None and NaN are missing values")
        raise TypeError(f"data holds text, such as {values.flat[0]!s:.80}; turn it into numbers: np.array(data, float)")
    if values.dtype.kind not in "iufb" or values.ndim not in (1, 2):
        raise TypeError(
            f"data must hold real numbers, (time,) or (time, variables), got {values.dtype} of shape {values.shape}"
        )
    if isinstance(time, str):
        raise TypeError(
            f"time={time!r} names a column, so data must be a frame; give the times themselves beside an array"
        )
    times = None if time is None else as_times(time)
    if times is not None and len(times) != len(values):
        raise ValueError(f"time has {len(times)} moments for {len(values)} rows; give one for each")
    rows = values.astype(np.float64).reshape(len(values), -1)
    names = ("value",) if values.ndim == 1 else tuple(f"value{i}" for i in range(rows.shape[1]))
    return Source(align(rows, times, duplicates == "mean"), names, values.ndim == 1)
