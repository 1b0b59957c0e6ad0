"""Known-in-advance regressors of a table, row by row beside a series and beyond its end."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from prophecy.frames.source import Source, is_frame, read, split

Array = NDArray[np.float64]


def known_for(known: Any, source: Source, horizon: int) -> Array | None:
    """(rows + horizon, regressors) for a series: by time where both have times, else row by row."""
    if known is None:
        return None
    rows = len(source.series.values) + horizon
    if not is_frame(known):
        values = np.asarray(known, dtype=np.float64)
        values = values[:, None] if values.ndim == 1 else values
        if values.ndim != 2 or len(values) != rows:
            missing = f" ({source.series.filled} missing times among them)" if source.series.filled else ""
            raise ValueError(
                f"known must have a row for each of the {rows - horizon} rows{missing} and the {horizon} to come, "
                f"got shape {values.shape}"
            )
        return values
    found = _of_key(known, source)
    if source.series.times is None or found.series.times is None:
        return known_for(found.series.values, source, horizon)
    ahead = source.series.after(horizon)
    assert ahead is not None
    wanted = np.concatenate([source.series.times.values, ahead.values]).astype(
        "M8[ns]" if source.series.times.dates else float
    )
    there = found.series.times.values.astype(wanted.dtype)
    place = np.clip(np.searchsorted(there, wanted), 0, len(there) - 1)
    absent = there[place] != wanted
    if absent[len(source.series.values) :].any():
        first = int(np.flatnonzero(absent[len(source.series.values) :])[0])
        raise ValueError(
            f"known has no row for {ahead.text(first)}, which is forecast; it must reach over the horizon of {horizon}"
        )
    values = found.series.values[place]
    values[absent] = np.nan
    return values


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
        raise ValueError(f"known has no rows for {', '.join(keys)} = {source.key!r}")
    return parts[source.key]
