"""Known-in-advance regressors of a table, row by row beside a series and beyond its end."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prophecy.forecasting.known import Known
from prophecy.frames.cells import holds_dates, is_frame
from prophecy.frames.collect import as_frame
from prophecy.frames.source import Source, read, reads_as_dates, split
from prophecy.frames.table import open_table
from prophecy.frames.times import Times

Array = NDArray[np.float64]

WORDS = 30  # of a column of text that become regressors


def known_for(known: Any, source: Source, horizon: int) -> Known | None:
    """(rows + horizon, regressors) for a series: by time where both have times, else row by row."""
    if known is None:
        return None
    if callable(known):  # known(source, horizon), for callers that have their own tables
        made: Known = known(source, horizon)
        return made
    if isinstance(known, str | os.PathLike):
        known = as_frame(open_table(os.fspath(known)))
    if not is_frame(known):
        return row_by_row(known, source, horizon)
    found = _of_key(encoded(known, source), source)
    if source.series.times is None or found.series.times is None:
        return row_by_row(found.series.values, source, horizon, found.names)
    return Known(beside(found.series.times, found.series.values, source, horizon), found.names)


def row_by_row(known: Any, source: Source, horizon: int, names: tuple[str, ...] = ()) -> Known:
    """Regressors without times: a row for each row of the series and for each to come."""
    rows, values = len(source.series.values) + horizon, np.asarray(known, dtype=np.float64)
    values = values[:, None] if values.ndim == 1 else values
    if values.ndim != 2 or len(values) != rows:
        missing = f" ({source.series.filled} missing times among them)" if source.series.filled else ""
        raise ValueError(
            f"known must have a row for each of the {rows - horizon} rows{missing} and the {horizon} to come, "
            f"got shape {values.shape}"
        )
    return Known(values, names or tuple(f"regressor {i + 1}" for i in range(values.shape[1])))


def beside(times: Times, values: Array, source: Source, horizon: int) -> Array:
    """Regressors at the times of a series and of the `horizon` rows after it; NaN where a past one is missing."""
    assert source.series.times is not None
    past, ahead = source.series.times.values, source.series.after(horizon)
    if horizon and ahead is None:
        raise ValueError(
            f"the series has {len(past)} row and so no step: which rows of known lie ahead is not known; "
            "give at least two rows, or leave known out"
        )
    wanted = np.concatenate([past, ahead.values.astype(past.dtype)]) if ahead is not None else past
    kind = "datetime64[ns]" if source.series.times.dates else "float64"
    if source.series.times.dates != times.dates:
        of_series, of_known = ("dates" if one.dates else "numbers" for one in (source.series.times, times))
        raise ValueError(
            f"the times of the series are {of_series} and those of known {of_known}; give both dates, or both numbers"
        )
    wanted, there = wanted.astype(kind), times.values.astype(kind)
    place = np.clip(np.searchsorted(there, wanted), 0, len(there) - 1)
    absent = (there[place] != wanted) | ~np.isfinite(values[place]).any(axis=1)
    if ahead is not None and absent[len(past) :].any():
        first = ahead.text(int(np.flatnonzero(absent[len(past) :])[0]))
        raise ValueError(
            f"known has no row for {first}, which is forecast; it must reach over the horizon of {horizon}"
        )
    found = values[place]
    found[absent] = np.nan
    return np.asarray(found)


def encoded(known: Any, source: Source) -> Any:
    """A frame of regressors in which columns of text are one column of 0 and 1 for each word but the first, such as
    `sky = rain`, and columns of true and false are 1 and 0."""
    import narwhals.stable.v2 as nw

    frame = nw.from_native(known, allow_series=True)
    if isinstance(frame, nw.Series):
        return known
    taken = {*source.kind.key, source.kind.time}
    for name in frame.columns:
        column = frame[name]
        if column.dtype == nw.Boolean:
            frame = frame.with_columns(column.cast(nw.Float64))
        if name in taken or holds_dates(column) or reads_as_dates(column):
            continue
        if column.dtype not in (nw.String, nw.Categorical, nw.Enum, nw.Object):
            continue
        cells = [None if cell is None or cell != cell else str(cell) for cell in column.to_list()]
        words = sorted({cell for cell in cells if cell is not None})
        if len(words) > WORDS:
            raise ValueError(
                f"known has {len(words)} different words in {name!r}, and at most {WORDS} are taken as regressors; "
                "leave the column out, or write it as numbers"
            )
        made = [
            nw.new_series(
                f"{name} = {word}",
                [math.nan if cell is None else float(cell == word) for cell in cells],
                nw.Float64,
                backend=frame.implementation,
            )
            for word in words[1:]
        ]
        frame = frame.drop(name).with_columns(*made)
    return frame.to_native()


def _of_key(known: Any, source: Source) -> Source:
    """The rows of a frame of regressors that belong to a series: all, or those with its key."""
    keys, time = source.kind.key, None if source.kind.as_index else source.kind.time
    import narwhals.stable.v2 as nw

    columns = (
        nw.from_native(known, allow_series=True).to_frame().columns
        if not hasattr(known, "columns")
        else list(known.columns)
    )
    time = time if time in columns else None
    if not keys or not all(name in columns for name in keys):
        return read(known, time)
    parts = split(known, keys if len(keys) > 1 else keys[0], time)
    if source.key not in parts:
        raise ValueError(
            f"known has no rows for {', '.join(keys)} = {source.key!r}; add them, or leave that series out"
        )
    return parts[source.key]
