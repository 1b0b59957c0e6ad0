"""Forecasts as frames of the kind that came in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from prophecy._forecast import Forecast
from prophecy.frames.align import Aligned
from prophecy.frames.source import Source, build, time_series
from prophecy.frames.times import Times, joined

if TYPE_CHECKING:
    from prophecy.tables.forecasting import Forecasts


def to_frame(made: Forecast, quantiles: Sequence[float] = ()) -> Any:
    """point, lower, upper and quantiles (columns q0.1 …), a row for each time; several variables make a long frame."""
    source, steps = source_of(made), len(np.atleast_1d(made.point))
    times = source.series.after(steps)
    columns = _long(_parts(made, quantiles), source, "variable")
    if times is None:
        columns = {"step": np.repeat(np.arange(1, steps + 1), len(source.names)), **columns}
    return build(columns, source.kind, _repeated(times, source))


def track_frame(track: Any) -> Any:
    """value, mean, lower, upper, score and alarm of every row; several channels make a long frame."""
    source = track.source
    columns = _long({"value": source.series.values, **track._asdict()}, source, "channel")
    return build(columns, source.kind, _repeated(source.series.times, source))


def long_frame(many: Forecasts, quantiles: Sequence[float] = ()) -> Any:
    """All forecasts below each other, failures left out."""
    good = {key: made for key, made in many.items() if isinstance(made, Forecast)}
    if not good:
        reasons = "; ".join(str(found) for found in list(many.failures.values())[:3])
        raise ValueError(f"no series could be forecast: {reasons}")
    kind = source_of(next(iter(good.values()))).kind
    kind = replace(kind, time=kind.time or ("time" if kind.as_index else None), as_index=False)
    names, times, parts = kind.key or ("series",), [], []
    for key, made in good.items():
        source, steps = source_of(made), len(np.asarray(made.point))
        rows = steps * len(source.names)
        cells = key if len(names) > 1 else (key,)
        parts.append({name: [cell] * rows for name, cell in zip(names, cells, strict=True)})
        ahead, own = source.series.after(steps), source.series.times
        if own is None:
            parts[-1]["step"] = np.repeat(np.arange(1, steps + 1), len(source.names)).tolist()
        else:  # a single row has no step to go on by
            nothing = Times(np.full(steps, np.datetime64("NaT", "s") if own.dates else np.nan), own.zone)
            times.append(_repeated(nothing if ahead is None else ahead, source))
        parts[-1] |= _long(_parts(made, quantiles), source, "variable")
    columns = {name: [cell for part in parts for cell in part[name]] for name in parts[0]}
    if times:
        clock = {kind.time or "time": time_series(joined(times), kind)}
        before = {name: columns.pop(name) for name in (*names, "variable") if name in columns}
        columns = {**before, **clock, **columns}
    return build(columns, kind)


def _long(parts: Mapping[str, Any], source: Source, label: str) -> dict[str, Any]:
    """(rows, variables) each, row by row; the names of several variables in a column before them."""
    made = {name: np.asarray(part, dtype=np.float64).reshape(-1) for name, part in parts.items()}
    width = len(source.names)
    several = {} if width == 1 else {label: list(source.names) * (len(made[min(made)]) // width)}
    return {**several, **made}


def _repeated(times: Times | None, source: Source) -> Any:
    return None if times is None else times[np.repeat(np.arange(len(times)), len(source.names))]


def _parts(made: Forecast, quantiles: Sequence[float]) -> dict[str, Any]:
    parts = {"point": made.point, "lower": made.lower, "upper": made.upper}
    return parts | {f"q{q:g}": made.quantile(float(q)) for q in quantiles}


def source_of(made: Forecast) -> Source:
    """Where a forecast came from; of one made from an array, its names alone."""
    if isinstance(made.source, Source):
        return made.source
    single = np.ndim(made.point) < 2
    width = 1 if single else np.shape(made.point)[1]
    names = tuple(made.names or ()) or ("value",)
    names = names if len(names) == width else tuple(f"value{i}" for i in range(width))
    return Source(Aligned(np.empty((0, width))), names, single)
