"""Forecasts as frames of the kind that came in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from prophecy._forecast import Failure, Forecast
from prophecy.frames.build import Kind, build, native_times, time_series
from prophecy.frames.source import Source

if TYPE_CHECKING:
    from prophecy.tables.forecasting import Forecasts


def to_frame(made: Forecast, quantiles: Sequence[float] = ()) -> Any:
    """mean, lower, upper and quantiles (columns q0.1 …), a row for each time; several variables make a long frame."""
    source = source_of(made)
    parts = _parts(made, quantiles)
    times = source.series.after(len(np.atleast_1d(made.point)))
    variables = 1 if np.ndim(made.point) < 2 else np.shape(made.point)[1]
    columns: dict[str, Any] = {}
    index = None
    if times is not None:
        repeated = times[np.repeat(np.arange(len(times)), variables)]
        if source.kind.as_index:
            index = native_times(repeated, source.kind)
        else:
            kind = _with_library(source.kind)
            columns[kind.time or "time"] = time_series(repeated, kind)
    else:
        columns["step"] = np.repeat(np.arange(1, len(np.atleast_1d(made.point)) + 1), variables)
    if np.ndim(made.point) == 2:
        columns["variable"] = list(source.names) * len(np.asarray(made.point))
    return build(
        columns | {name: np.asarray(part, dtype=np.float64).reshape(-1) for name, part in parts.items()},
        source.kind,
        index,
    )


def track_frame(track: Any) -> Any:
    """value, mean, lower, upper and score of every row; several channels make a long frame with a column `channel`."""
    source = track.source
    rows, width = source.series.values.shape
    columns: dict[str, Any] = {}
    index = None
    if source.series.times is not None:
        times = source.series.times[np.repeat(np.arange(rows), width)]
        if source.kind.as_index:
            index = native_times(times, source.kind)
        else:
            kind = _with_library(source.kind)
            columns[kind.time or "time"] = time_series(times, kind)
    if width > 1:
        columns["channel"] = list(source.names) * rows
    parts = {"value": source.series.values, **track._asdict()}
    columns |= {name: np.asarray(part, dtype=np.float64).reshape(-1) for name, part in parts.items()}
    return build(columns, source.kind, index)


def long_frame(many: Forecasts, quantiles: Sequence[float] = ()) -> Any:
    """All forecasts below each other, failures left out."""
    good = [(key, made) for key, made in many.items() if isinstance(made, Forecast)]
    if not good:
        reasons = "; ".join(str(found) for found in list(many.failures.values())[:3])
        raise ValueError(f"no series could be forecast: {reasons}")
    kind = source_of(good[0][1]).kind
    kind = _with_library(
        Kind(kind.backend, kind.time or ("time" if kind.as_index else None), False, kind.dtype, kind.period, kind.key)
    )
    names = kind.key or ("series",)
    frames = [_long_columns(key, made, names, kind, quantiles) for key, made in good]
    return build({name: _joined([frame[name] for frame in frames]) for name in frames[0]}, kind)


def _long_columns(
    key: Any, made: Forecast, names: tuple[str, ...], kind: Kind, quantiles: Sequence[float]
) -> dict[str, Any]:
    source, mean = source_of(made), np.asarray(made.point)
    steps, variables = len(mean), 1 if mean.ndim == 1 else mean.shape[1]
    cells = key if len(names) > 1 else (key,)
    columns: dict[str, Any] = {name: [cell] * (steps * variables) for name, cell in zip(names, cells, strict=True)}
    if mean.ndim == 2:
        columns["variable"] = list(source.names) * steps
    times = source.series.after(steps)
    if times is not None:
        columns[kind.time or "time"] = time_series(times[np.repeat(np.arange(steps), variables)], kind)
    elif source.series.times is None:
        columns["step"] = np.repeat(np.arange(1, steps + 1), variables)
    else:  # a single row has no step to go on by
        column = time_series(source.series.times[-1:], kind)
        columns[kind.time or "time"] = _nothing(column, steps * variables)
    return columns | {
        name: np.asarray(part, dtype=np.float64).reshape(-1) for name, part in _parts(made, quantiles).items()
    }


def _nothing(column: Any, count: int) -> Any:
    """`count` missing cells of a column's type."""
    import narwhals.stable.v2 as nw

    return nw.new_series(column.name, [None] * count, column.dtype, backend=column.implementation)


def _joined(parts: list[Any]) -> Any:
    import narwhals.stable.v2 as nw

    if isinstance(parts[0], nw.Series):
        return nw.concat([part.to_frame() for part in parts])[parts[0].name]
    return [cell for part in parts for cell in part] if isinstance(parts[0], list) else np.concatenate(parts)


def _parts(made: Forecast, quantiles: Sequence[float]) -> dict[str, Any]:
    parts = {"point": made.point, "lower": made.lower, "upper": made.upper}
    return parts | {f"q{q:g}": made.quantile(float(q)) for q in quantiles}


def _with_library(kind: Kind) -> Kind:
    if kind.backend is not None:
        return kind
    from prophecy.frames.build import any_library

    return Kind(any_library(), kind.time, kind.as_index, kind.dtype, kind.period, kind.key)


def source_of(made: Forecast) -> Source:
    if isinstance(made.source, Source):
        return made.source
    from prophecy.frames.align import Aligned

    names = tuple(made.names or ()) or ("value",)
    values = np.empty((0, 1 if np.ndim(made.point) < 2 else np.shape(made.point)[1]))
    if len(names) != values.shape[1]:
        names = tuple(f"value{i}" for i in range(values.shape[1]))
    return Source(Aligned(values), names, np.ndim(made.point) < 2)


__all__ = ["Failure", "long_frame", "to_frame"]
