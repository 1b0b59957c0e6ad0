"""Known-in-advance regressors of a table, row by row beside a series and beyond its end."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from prophecy.frames.collect import collected, is_table
from prophecy.frames.columns import NOTHING, Hints
from prophecy.frames.names import as_text
from prophecy.frames.source import Source
from prophecy.frames.table import Table
from prophecy.frames.times import Times, joined

if TYPE_CHECKING:
    from prophecy.forecasting.known import Known


class Regressors:
    """What is known in advance, for any series: a table (or the name of a file), read once, or numbers row by row.

    asked: how it is written; which columns are its times and keys, the series say.
    """

    def __init__(self, known: Any, asked: Hints = NOTHING) -> None:
        self._known, self._asked = known, replace(asked, beside=True)
        self._read: dict[Any, tuple[Table, dict[str, Source]]] = {}  # by what series say of their times and keys

    def __call__(self, source: Source, horizon: int) -> Known | None:
        """(rows + horizon, regressors) for a series: by time where both have times, else row by row."""
        if self._known is None:
            return None
        if not is_table(self._known):
            return _row_by_row(self._known, source, horizon)
        _, by_name = self.table(source)
        mine = by_name.get("", by_name.get(as_text(source.key)))
        if mine is None:
            which = f"{', '.join(source.kind.key)} = {source.key!r}"
            raise ValueError(f"known has no rows for {which}; add them, or leave that series out")
        own, times = source.series.times, mine.series.times
        # An index of numbers beside dates counts rows.
        if own is None or times is None or (mine.kind.as_index and own.dates and not times.dates):
            return _row_by_row(mine.series.values, source, horizon, mine.names)
        return _by_time(mine, times, source, own, horizon)

    def table(self, source: Source) -> tuple[Table, dict[str, Source]]:
        """The table they are in, by the time and keys of a series where it has such columns; and its rows by key, ""
        alone without one."""
        kind = source.kind
        # Without times, numbers such as hours are regressors; an index is found as one.
        time = "" if source.series.times is None else None if kind.as_index else kind.time
        if (kind.key, time) not in self._read:
            found = collected(self._known, replace(self._asked, key=kind.key, time=time))
            self._read[kind.key, time] = found.table, {as_text(key): part for key, part in found.sources.items()}
        return self._read[kind.key, time]


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
    return Known(values, names)


def _by_time(known: Source, times: Times, source: Source, own: Times, horizon: int) -> Known:
    """Regressors at the times of a series and of the `horizon` rows after it; NaN where a past one is missing."""
    from prophecy.forecasting.known import Known

    if own.dates != times.dates:
        of_series, of_known = ("dates" if one.dates else "numbers" for one in (own, times))
        raise ValueError(
            f"the times of the series are {of_series} and those of known {of_known}; give both dates, or both numbers"
        )
    ahead, values = source.series.after(horizon), known.series.values
    moments = own if ahead is None else joined([own, ahead])
    wanted, there = (part.values.astype("datetime64[ns]" if own.dates else "float64") for part in (moments, times))
    place = np.clip(np.searchsorted(there, wanted), 0, len(there) - 1)
    absent = (there[place] != wanted) | ~np.isfinite(values[place]).any(axis=1)
    late = np.flatnonzero(absent[len(own) :])
    if len(late):
        raise ValueError(
            f"known has no row for {moments.text(len(own) + int(late[0]))}, which is forecast; it must reach over the "
            f"horizon of {horizon}"
        )
    return Known(np.where(absent[:, None], np.nan, values[place]), known.names)
