"""Known-in-advance regressors of a table, row by row beside a series and beyond its end."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from prophecy.frames.collect import collected
from prophecy.frames.columns import Hints, kind_of
from prophecy.frames.roles import JOINT
from prophecy.frames.source import Key, Source, in_narwhals, is_frame
from prophecy.frames.table import rows_of
from prophecy.frames.times import Times

if TYPE_CHECKING:
    from prophecy.forecasting.known import Known

Array = NDArray[np.float64]

WORDS = 30  # of a column of text that become regressors
NOTHING = Hints()


class Regressors:
    """What is known in advance, for any series: a table (or the name of a file), read once, or numbers row by row.

    asked: how it is written; which columns are its times and keys, the series say.
    """

    def __init__(self, known: Any, asked: Hints = NOTHING) -> None:
        self.notes, self._asked = list[str](), asked
        if isinstance(known, str | os.PathLike):
            known, self.notes = rows_of(os.fspath(known), asked)
        self.known = known
        self._read: dict[Any, dict[Key, Source]] = {}  # by what the series say of their times and keys

    def __call__(self, source: Source, horizon: int) -> Known | None:
        """(rows + horizon, regressors) for a series: by time where both have times, else row by row."""
        known, kind = self.known, source.kind
        if known is None:
            return None
        if not is_frame(known) and not isinstance(known, Mapping):
            return _row_by_row(known, source, horizon)
        alike = (kind.key, kind.time, kind.as_index, source.series.times is None)
        if alike not in self._read:
            self._read[alike] = self._by_key(encoded(known, source), source)
        parts = self._read[alike]
        found = parts.get(None, parts.get(source.key))
        if found is None:
            raise ValueError(
                f"known has no rows for {', '.join(kind.key)} = {source.key!r}; add them, or leave that series out"
            )
        if source.series.times is None or found.series.times is None:
            return _row_by_row(found.series.values, source, horizon, found.names)
        from prophecy.forecasting.known import Known

        return Known(beside(found.series.times, found.series.values, source, horizon), found.names)

    def _by_key(self, known: Any, source: Source) -> dict[Key, Source]:
        """The rows of a frame of regressors for each key of a series' table; under None where they are for all."""
        keys, time = source.kind.key, source.kind.time
        names = list(known) if isinstance(known, Mapping) else getattr(in_narwhals(known), "columns", [])
        if source.series.times is None:
            time = ""  # numbers such as hours are regressors then
        elif source.kind.as_index or time not in names:
            time = None
        keys = keys if set(keys) <= set(names) else ()
        found = collected(known, replace(self._asked, key=keys, time=time)).sources
        if not keys:
            return {None: found[""]}
        return found | {JOINT.join(map(str, key)): part for key, part in found.items() if isinstance(key, tuple)}


def _row_by_row(known: Any, source: Source, horizon: int, names: tuple[str, ...] = ()) -> Known:
    """Regressors without times: a row for each row of the series and for each to come."""
    from prophecy.forecasting.known import Known

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
    own = source.series.times
    assert own is not None
    past, ahead = own.values, source.series.after(horizon)
    if horizon and ahead is None:
        raise ValueError(
            f"the series has {len(past)} row and so no step: which rows of known lie ahead is not known; "
            "give at least two rows, or leave known out"
        )
    if own.dates != times.dates:
        of_series, of_known = ("dates" if one.dates else "numbers" for one in (own, times))
        raise ValueError(
            f"the times of the series are {of_series} and those of known {of_known}; give both dates, or both numbers"
        )
    kind = "datetime64[ns]" if own.dates else "float64"
    wanted = past if ahead is None else np.concatenate([past, ahead.values.astype(past.dtype)])
    wanted, there = wanted.astype(kind), times.values.astype(kind)
    place = np.clip(np.searchsorted(there, wanted), 0, len(there) - 1)
    absent = (there[place] != wanted) | ~np.isfinite(values[place]).any(axis=1)
    if ahead is not None and absent[len(past) :].any():
        first = ahead.text(int(np.flatnonzero(absent[len(past) :])[0]))
        raise ValueError(
            f"known has no row for {first}, which is forecast; it must reach over the horizon of {horizon}"
        )
    return np.where(absent[:, None], np.nan, values[place])


def encoded(known: Any, source: Source) -> Any:
    """A frame of regressors in which columns of text are one column of 0 and 1 for each word but the first, such as
    `sky = rain`, and columns of true and false are 1 and 0."""
    import narwhals.stable.v2 as nw

    frame = in_narwhals(known) if is_frame(known) else None
    if frame is None or isinstance(frame, nw.Series):
        return known
    for name in frame.columns:
        column = frame[name]
        if column.dtype == nw.Boolean:
            frame = frame.with_columns(column.cast(nw.Float64))
        textual = column.dtype in (nw.String, nw.Categorical, nw.Enum, nw.Object)
        if not textual or name in {*source.kind.key, source.kind.time}:
            continue
        cells = [None if cell is None or cell != cell else cell for cell in column.to_list()]
        if kind_of(cells, NOTHING) in ("date", "typed", "clock", "number"):
            continue
        words = sorted({str(cell) for cell in cells if cell is not None})
        if len(words) > WORDS:
            raise ValueError(
                f"known has {len(words)} different words in {name!r}, and at most {WORDS} are taken as regressors; "
                "leave the column out, or write it as numbers"
            )
        for word in words[1:]:
            flags = [math.nan if cell is None else float(str(cell) == word) for cell in cells]
            made = nw.new_series(f"{name} = {word}", flags, nw.Float64, backend=frame.implementation)
            frame = frame.with_columns(made)
        frame = frame.drop(name)
    return frame.to_native()
