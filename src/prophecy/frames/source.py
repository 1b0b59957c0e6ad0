"""Series out of arrays and frames of any library: which columns, which times, which keys (out again: `build`).

Frames are read through narwhals, which imports none of the frame libraries; neither does this module.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prophecy.frames.align import Aligned, align
from prophecy.frames.build import Kind, any_library, native_times
from prophecy.frames.cells import (
    as_times,
    has_periods,
    holds_dates,
    holds_moments,
    in_narwhals,
    index_times,
    is_clock,
    is_frame,
)
from prophecy.frames.patterns import is_date
from prophecy.frames.roles import Hints, spread_over_columns, telling
from prophecy.frames.times import Times

Array = NDArray[np.float64]
Key = Any  # a cell of the key column, or a tuple of cells where there are several

NOTHING = Hints()
DUPLICATES = ("refuse", "mean")


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
        read_as: tuple[str, ...] = ()
        if self.series.facts:
            rows = len(self.series.values) - self.series.filled
            read_as = (f"{rows:,} rows, {', '.join(self.series.facts)}.",)
        return (*read_as, *self.remarks)

    def future(self, horizon: int) -> Any:
        """The times of the next `horizon` rows, as the frame's own library holds them; None without times."""
        ahead = self.series.after(horizon)
        return None if ahead is None else native_times(ahead, self.kind)

    def past(self) -> Any:
        """The times of the rows."""
        return None if self.series.times is None else native_times(self.series.times, self.kind)


def read(
    data: Any,
    time: Any = None,
    columns: str | Sequence[str] | None = None,
    duplicates: str = "refuse",
) -> Source:
    """One series (of one or several variables) out of an array, a list, or a frame.

    time: the name of the column of times, or an array of times beside the data; by default a frame's index of dates, or
    its only column of dates. columns: which are variables; all numbers by default.
    """
    if duplicates not in DUPLICATES:
        raise ValueError(f"duplicates must be one of {', '.join(map(repr, DUPLICATES))}, got {duplicates!r}")
    if is_file(data):
        return _of_file(data, time, columns, duplicates)
    if not is_frame(data):
        return _from_array(data, time, duplicates)
    keys = unstacked(data)[1]
    if keys:
        raise ValueError(
            f"data holds many series: its index has {', '.join(map(repr, keys))} beside the times; forecast each with "
            "forecast_many(data, horizon), or choose one with data.loc[…]"
        )
    frame, found, kind = _opened(data, time)
    names, single, remarks = _variables(data, frame, kind, columns)
    if found is not None and duplicates == "refuse":
        _refuse_keyed(frame, found, names, kind)
    return _source(frame, found, kind, names, single, remarks, duplicates)


def split(
    data: Any,
    key: str | Sequence[str] | None,
    time: Any = None,
    columns: str | Sequence[str] | None = None,
    duplicates: str = "refuse",
) -> dict[Key, Source]:
    """The series of a long frame, one for every value of `key` (a column, or several), in the order they begin.

    key: None takes the outer levels of a MultiIndex; without one every column is a series of its own.
    """
    if is_file(data):
        sources = _sources(data, key, time, columns, duplicates)
        return by_column(sources[""]) if list(sources) == [""] else sources
    if not is_frame(data):
        raise TypeError(f"key={key!r} names a column, so data must be a frame, got {type(data).__name__}")
    data, found = unstacked(data)
    keys = found if key is None else (key,) if isinstance(key, str) else tuple(key)
    if not keys:
        return by_column(read(data, time, columns, duplicates))
    frame, times, kind = _opened(data, time, keys)
    for name in keys:
        _column(frame, name, "key")
    names, single, remarks = _variables(data, frame, kind, columns)
    cells = [frame[name].to_list() for name in keys]
    places: dict[Key, list[int]] = {}
    for row, cell in enumerate(cells[0] if len(keys) == 1 else zip(*cells, strict=True)):
        places.setdefault(cell, []).append(row)
    values = _numbers(frame, names)
    made = {}
    for cell, rows in places.items():
        try:
            series = align(values[rows], None if times is None else times[rows], duplicates == "mean")
        except ValueError as error:
            raise ValueError(f"{', '.join(keys)} = {cell!r}: {error}") from None
        made[cell] = Source(series, names, single, kind, cell, remarks)
    return made


def is_file(data: Any) -> bool:
    """Whether data names a file, or is one that was read (`collect.read_table`)."""
    return isinstance(data, str | os.PathLike) or hasattr(data, "sources")


def _sources(data: Any, key: Any, time: Any, columns: Any, duplicates: str) -> dict[Key, Source]:
    """The series of a file by key, "" without one."""
    from prophecy.frames.collect import read_table

    if not hasattr(data, "sources"):
        if key is not None and not isinstance(key, str):
            raise ValueError(f"the key of a file is one column, got {key!r}; read it into a frame for several")
        data = read_table(data, key=key, time=time, columns=columns, duplicates=duplicates)
    remarks = tuple(f"{note[:1].upper()}{note[1:]}." for note in data.table.notes)
    return {
        one: replace(source, single=len(source.names) == 1, remarks=remarks) for one, source in data.sources.items()
    }


def _of_file(data: Any, time: Any, columns: Any, duplicates: str) -> Source:
    sources = _sources(data, None, time, columns, duplicates)
    if list(sources) != [""]:
        raise ValueError(
            f"the file holds {len(sources)} series, by {', '.join(next(iter(sources.values())).kind.key)}; forecast "
            "each with forecast_many(data, horizon)"
        )
    return sources[""]


def by_column(source: Source) -> dict[Key, Source]:
    """Every variable of a source as a series of its own."""
    made: dict[Key, Source] = {}
    for i, name in enumerate(source.names):
        series = replace(source.series, values=source.series.values[:, i : i + 1])
        made[name] = Source(series, (name,), True, source.kind, name, source.remarks)
    return made


def unstacked(data: Any) -> tuple[Any, tuple[str, ...]]:
    """A pandas frame whose index has several levels as one with columns in their place, and the levels that are keys:
    all but that of the times. Other frames as they are."""
    index = getattr(data, "index", None)
    if type(index).__name__ != "MultiIndex" or index is None:
        return data, ()
    names = [str(name) if name is not None else f"level_{i}" for i, name in enumerate(index.names)]
    frame = data.to_frame(data.name if data.name is not None else "value") if data.ndim == 1 else data
    dated = [i for i, level in enumerate(index.levels) if is_clock(level) and holds_moments(level)]
    time = dated[0] if dated else len(names) - 1
    return frame.reset_index(names=names), tuple(name for i, name in enumerate(names) if i != time)


def _source(
    frame: Any,
    times: Times | None,
    kind: Kind,
    names: tuple[str, ...],
    single: bool,
    remarks: tuple[str, ...],
    duplicates: str,
) -> Source:
    return Source(align(_numbers(frame, names), times, duplicates == "mean"), names, single, kind, None, remarks)


def _refuse_keyed(frame: Any, times: Times, names: tuple[str, ...], kind: Kind) -> None:
    """Refuse a long frame without a key: times repeat, and a column tells their rows apart."""
    if len(np.unique(times.values)) == len(times):
        return
    others = {name: frame[name].to_list() for name in frame.columns if name != kind.time and not _float(frame[name])}
    apart = telling(times.values.tolist(), _numbers(frame, names).tolist(), others, names)
    if apart is not None:
        raise ValueError(
            f"data holds many series: times repeat, and {apart!r} tells their rows apart; forecast each with "
            f"forecast_many(data, horizon, key={apart!r}), or average rows of one time with duplicates='mean'"
        )


def _float(column: Any) -> bool:
    return bool(column.dtype.is_float())


def _from_array(data: Any, time: Any, duplicates: str) -> Source:
    if isinstance(data, Mapping):  # columns by name: as good as a frame
        import narwhals.stable.v2 as nw

        backend: Any = any_library()
        columns = {str(name): np.asarray(column) for name, column in data.items()}
        return read(nw.from_dict(columns, backend=backend).to_native(), time, None, duplicates)
    if isinstance(data, str | bytes) or not hasattr(data, "__len__"):
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
    single = values.ndim == 1
    rows = values.astype(np.float64).reshape(len(values), -1)
    names = ("value",) if single else tuple(f"value{i}" for i in range(rows.shape[1]))
    return Source(align(rows, times, duplicates == "mean"), names, single)


def _opened(data: Any, time: Any, keys: tuple[str, ...] = ()) -> tuple[Any, Times | None, Kind]:
    """A narwhals frame, the times of its rows, and its kind."""
    import narwhals.stable.v2 as nw

    frame = in_narwhals(data)
    if isinstance(frame, nw.Series):
        frame = (frame if frame.name else frame.alias("value")).to_frame()
    if not len(frame):
        raise ValueError("the frame has no rows; a forecast needs some")
    backend = frame.implementation
    names = [name for name in frame.columns if isinstance(name, str)]
    if len(names) < len(frame.columns):
        spread_over_columns([str(name) for name in frame.columns], NOTHING)
    if len(names) < len(frame.columns):
        raise TypeError(
            f"column names must be text, got {next(n for n in frame.columns if n not in names)!r}; rename them"
        )
    if isinstance(time, str):
        column = _column(frame, time, "time")
        return frame, as_times(column), Kind(backend, time, False, column.dtype, None, keys)
    if time is not None:
        found = as_times(time)
        if len(found) != len(frame):
            raise ValueError(f"time has {len(found)} moments for {len(frame)} rows; give one for each")
        return frame, found, Kind(backend, "time", False, None, None, keys)
    index = nw.maybe_get_index(frame)
    if index is not None and is_clock(index):
        return (
            frame,
            index_times(index),
            Kind(backend, index.name, True, None, getattr(index, "freq", None) if has_periods(index) else None, keys),
        )
    dated = [name for name in names if holds_dates(frame[name])]
    dated = dated or [name for name in names if name not in keys and reads_as_dates(frame[name])]
    if len(dated) > 1:
        raise ValueError(f"several columns hold dates: {', '.join(map(repr, dated))}; name one with time=")
    if dated:
        return frame, as_times(frame[dated[0]]), Kind(backend, dated[0], False, frame[dated[0]].dtype, None, keys)
    if index is not None and not keys and len(index) > 1 and type(index).__name__ == "RangeIndex":
        return (
            frame,
            Times(np.asarray(index, dtype=np.float64)),
            Kind(backend, index.name, True, nw.Int64(), None, keys),
        )
    return frame, None, Kind(backend, None, False, None, None, keys)


def reads_as_dates(column: Any) -> bool:
    """Whether a column holds text, and all of it that is there reads as dates."""
    import narwhals.stable.v2 as nw

    if column.dtype not in (nw.String, nw.Object):
        return False
    cells = [cell for cell in column.to_list() if cell is not None and cell == cell]
    return bool(cells) and all(isinstance(cell, str) and is_date(cell) for cell in cells)


def _column(frame: Any, name: str, what: str) -> Any:
    if name not in frame.columns:
        raise ValueError(f"there is no {what} column {name!r}; the frame has {', '.join(map(str, frame.columns))}")
    return frame[name]


def _variables(
    data: Any, frame: Any, kind: Kind, columns: str | Sequence[str] | None
) -> tuple[tuple[str, ...], bool, tuple[str, ...]]:
    """The columns to forecast, whether the answer has one column, and a note on the others."""
    asked = (columns,) if isinstance(columns, str) else tuple(columns) if columns is not None else None
    taken = {*kind.key, *([] if kind.as_index or kind.time is None else [kind.time])}
    if asked is not None:
        for name in asked:
            if not (_column(frame, name, "value").dtype.is_numeric() or _boolean(frame[name])):
                raise ValueError(f"column {name!r} does not hold numbers but {frame[name].dtype}; convert it first")
        return asked, len(asked) == 1, ()
    rest = [name for name in frame.columns if name not in taken]
    spread_over_columns([name for name in rest if frame[name].dtype.is_numeric()], NOTHING)
    names = tuple(name for name in rest if frame[name].dtype.is_numeric())
    if not names:
        raise ValueError(f"no column of numbers to forecast; the frame has {', '.join(frame.columns)}")
    left = [name for name in rest if name not in names]
    notes = (
        (f"{'Column' if len(left) == 1 else 'Columns'} {', '.join(map(repr, left))} left out: no numbers.",)
        if left
        else ()
    )
    return names, len(names) == 1, notes


def _boolean(column: Any) -> bool:
    import narwhals.stable.v2 as nw

    return bool(column.dtype == nw.Boolean)


def _numbers(frame: Any, names: tuple[str, ...]) -> Array:
    import narwhals.stable.v2 as nw

    columns = [frame[name].cast(nw.Float64).to_numpy() for name in names]
    return np.stack([np.asarray(column, dtype=np.float64) for column in columns], axis=1)
