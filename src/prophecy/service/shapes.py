"""What answers look like: plain lists and objects that JSON can hold. NaN and infinity are null, dates are ISO 8601."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from prophecy._forecast import Forecast
    from prophecy.fleet import Answers, Brief, Event, Recent

NUMBERS = ("value", "mean", "lower", "upper", "next", "next_lower", "next_upper", "score", "alarm")
FAN = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)
"""Quantiles of a forecast's fan: the middle half, four fifths and nine tenths."""


def dumped(content: Any) -> bytes:
    """JSON as short as it gets; a NaN that slipped through is an error here rather than in the reader."""
    return json.dumps(content, allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode()


def listed(values: NDArray[np.float64]) -> list[float | None]:
    """Numbers as a list, None for NaN and infinity.

    >>> listed(np.array([1.5, np.nan, -np.inf]))
    [1.5, None, None]
    """
    found: list[float | None] = values.tolist()
    for place in np.flatnonzero(~np.isfinite(values)).tolist():
        found[place] = None
    return found


def number(value: float) -> float | None:
    """One number, None for NaN and infinity."""
    return float(value) if np.isfinite(value) else None


def stamps(times: NDArray[np.float64], dated: Any) -> list[float | str | None]:
    """Times as they were sent: seconds as numbers, dates as ISO 8601 in UTC, each as precise as it needs to be.

    One moment is always written in one way, so that texts can be compared.

    >>> stamps(np.array([0.0, 1.5]), np.array([True, False]))
    ['1970-01-01T00:00:00Z', 1.5]
    """
    found: list[float | str | None] = list(listed(times))
    rows = np.flatnonzero(np.broadcast_to(dated, times.shape) & np.isfinite(times))
    if len(rows):
        micros = np.round(times[rows] * 1e6).astype(np.int64)
        digits = np.where(micros % 10**6 == 0, 0, np.where(micros % 1000 == 0, 1, 2))
        for count, unit in enumerate(("s", "ms", "us")):
            those = digits == count
            written = np.datetime_as_string(
                micros[those].astype("datetime64[us]").astype(f"datetime64[{unit}]")
            ).tolist()
            for place, text in zip(rows[those].tolist(), written, strict=True):
                found[place] = text + "Z"
    return found


def columns_of(answers: Answers) -> dict[str, list[Any]]:
    """Answers of a batch as lists of equal length."""
    columns: dict[str, list[Any]] = {"key": list(answers.key), "time": stamps(answers.time, answers.dated)}
    for name in NUMBERS:
        columns[name] = listed(np.asarray(getattr(answers, name), dtype=np.float64))
    columns["event"] = answers.event.tolist()
    columns["status"] = list(answers.status)
    return columns


def rows_of(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """Columns as a list of objects."""
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def recent_of(recent: Recent) -> dict[str, list[Any]]:
    """The last values of a series, oldest first, with the prediction of each made before it came."""
    columns: dict[str, list[Any]] = {"time": stamps(np.asarray(recent.time), recent.dated)}
    for name in ("value", "mean", "lower", "upper", "score", "alarm"):
        columns[name] = listed(np.asarray(getattr(recent, name), dtype=np.float64))
    columns["event"] = recent.event.tolist()
    return columns


def row_of(row: Brief) -> dict[str, Any]:
    """One series as the list of series shows it."""
    found: dict[str, Any] = {"key": row.key, "count": int(row.count)}
    found["time"], found["last_alarm"] = (
        stamps(np.array([moment]), row.dated)[0] for moment in (row.time, row.event_time)
    )
    for name in ("value", "mean", "lower", "upper", "score", "alarm"):
        found[name] = number(getattr(row, name))
    return {**found, "event": int(row.event)}


def event_of(event: Event) -> dict[str, Any]:
    """An alarm with its number, which is a cursor."""
    found = {"number": int(event.number), "key": event.key, "time": stamps(np.array([event.time]), event.dated)[0]}
    for name in ("value", "score", "alarm"):
        found[name] = number(getattr(event, name))
    return {**found, "kind": event.kind or None, "place": int(event.place), "fault": int(event.fault)}


def forecast_of(forecast: Forecast, key: str, times: NDArray[np.float64], dated: bool) -> dict[str, Any]:
    """A forecast with its fan. times: when each step is due."""
    point = np.atleast_1d(np.asarray(forecast.point, dtype=np.float64))
    fan = np.asarray(forecast.quantile(FAN), dtype=np.float64).reshape(len(FAN), -1)
    return {
        "key": key,
        "horizon": len(point),
        "level": forecast.level,
        "time": stamps(times, dated),
        "point": listed(point),
        "mean": listed(np.atleast_1d(np.asarray(forecast.mean, dtype=np.float64))),
        "lower": listed(np.atleast_1d(np.asarray(forecast.lower, dtype=np.float64))),
        "upper": listed(np.atleast_1d(np.asarray(forecast.upper, dtype=np.float64))),
        "quantiles": {f"{q:g}": listed(row) for q, row in zip(FAN, fan, strict=True)},
        "method": forecast.method,
        "notes": list(forecast.notes),
        "words": forecast.explain(),
    }
