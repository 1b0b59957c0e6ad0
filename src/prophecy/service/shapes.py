"""What answers look like: plain lists and objects that JSON can hold, and the description of each for the API's page.

NaN and infinity are null, dates are ISO 8601.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from prophecy._forecast import Forecast
    from prophecy.fleet import Answers, Brief, Event, Recent

ROW = ("value", "mean", "lower", "upper", "score", "alarm")
"""Numbers of one row: what came, what was predicted of it, how surprising it was, how unusual the stretch is."""

COLUMNS = ("key", "time", *ROW[:4], "next", "next_lower", "next_upper", *ROW[4:], "event", "status")
"""Columns of the answers to a batch, and of the live channel."""

FARTHEST = 9e12
"""Seconds from 1970 of a date at most, beyond the year 280 000: 64 bits of microseconds hold no more."""

FAN = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)
"""Quantiles of a forecast's fan: the middle half, four fifths and nine tenths."""


def dumped(content: Any) -> bytes:
    """JSON as short as it gets; a NaN that slipped through is an error here rather than in the reader."""
    return json.dumps(content, allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode()


def listed(values: Any) -> list[float | None]:
    """Numbers as a list, None for NaN and infinity.

    >>> listed(np.array([1.5, np.nan, -np.inf]))
    [1.5, None, None]
    """
    numbers = np.atleast_1d(np.asarray(values, dtype=np.float64))
    found: list[float | None] = numbers.tolist()
    for place in np.flatnonzero(~np.isfinite(numbers)).tolist():
        found[place] = None
    return found


def number(value: float) -> float | None:
    """One number, None for NaN and infinity."""
    return float(value) if np.isfinite(value) else None


def stamps(times: Any, dated: Any) -> list[float | str | None]:
    """Times as they were sent: seconds as numbers, dates as ISO 8601 in UTC, each as precise as it needs to be.

    One moment is always written in one way, so that texts can be compared. None for what no date of NumPy reaches.

    >>> stamps(np.array([0.0, 1.5]), np.array([True, False]))
    ['1970-01-01T00:00:00Z', 1.5]
    >>> stamps(np.array([1e13, np.nan]), True)
    [None, None]
    """
    times = np.atleast_1d(times)
    found: list[float | str | None] = list(listed(times))
    dates, reached = np.broadcast_to(dated, times.shape), np.abs(times) < FARTHEST
    for place in np.flatnonzero(dates & ~reached).tolist():
        found[place] = None
    rows = np.flatnonzero(dates & reached)
    if len(rows):
        micros = np.round(times[rows] * 1e6).astype(np.int64)
        digits = np.where(micros % 10**6 == 0, 0, np.where(micros % 1000 == 0, 1, 2))
        for count, unit in enumerate(("s", "ms", "us")):
            those = digits == count
            moments = micros[those].astype("datetime64[us]").astype(f"datetime64[{unit}]")
            for place, text in zip(rows[those].tolist(), np.datetime_as_string(moments).tolist(), strict=True):
                found[place] = text + "Z"
    return found


def columns_of(answers: Answers) -> dict[str, list[Any]]:
    """Answers to a batch as lists of equal length."""
    known = {"key": list(answers.key), "time": stamps(answers.time, answers.dated), "event": answers.event.tolist()}
    known["status"] = list(answers.status)
    return {name: known[name] if name in known else listed(getattr(answers, name)) for name in COLUMNS}


def rows_of(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """Columns as a list of objects."""
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def recent_of(recent: Recent) -> dict[str, list[Any]]:
    """The last values of a series, oldest first, with the prediction of each made before it came."""
    numbers = {name: listed(getattr(recent, name)) for name in ROW}
    return {"time": stamps(recent.time, recent.dated), **numbers, "event": recent.event.tolist()}


def series_of(row: Brief) -> dict[str, Any]:
    """One series as the list of series shows it."""
    time, event_time = stamps(np.array([row.time, row.event_time]), row.dated)
    numbers = {name: number(getattr(row, name)) for name in ROW}
    return {"key": row.key, "count": row.count, "time": time, **numbers, "event": row.event, "event_time": event_time}


def event_of(event: Event) -> dict[str, Any]:
    """An event with its number, which is a cursor."""
    numbers = {name: number(getattr(event, name)) for name in ("value", "score", "alarm")}
    where = {"number": event.number, "key": event.key, "time": stamps(event.time, event.dated)[0]}
    return {**where, **numbers, "kind": event.kind, "place": event.place, "fault": event.fault}


def forecast_of(forecast: Forecast, key: str, times: NDArray[np.float64], dated: bool) -> dict[str, Any]:
    """A forecast with its fan. times: when each step is due."""
    fan = np.asarray(forecast.quantile(FAN), dtype=np.float64).reshape(len(FAN), -1)
    return {
        "key": key,
        "horizon": len(times),
        "level": forecast.level,
        "time": stamps(times, dated),
        **{name: listed(getattr(forecast, name)) for name in ("point", "mean", "lower", "upper")},
        "quantiles": {f"{q:g}": listed(row) for q, row in zip(FAN, fan, strict=True)},
        "method": forecast.method,
        "notes": list(forecast.notes),
        "words": forecast.explain(),
    }


# The description.

MEANING = {
    "row": "Row or line of the body, from 1.",
    "retry_after": "Seconds.",
    "mean": "Predicted of this value before it came; of a series, of the next one; of a forecast, at each step.",
    "next": "Predicted of the value after this one.",
    "score": "How surprising the value was: -log10 of the probability of an error at least as large.",
    "alarm": "A probability: 1 minus the share of ordinary values that look as unusual, with the stretch before them.",
    "event": "Number of the event it raised; of a series, of its last one; 0 for none.",
    "event_time": "When the last event was.",
    "status": "taken, late or missing",
    "cursor": "Number to go on after.",
    "boot": "Names this run of the service; cursors of another run mean nothing.",
    "notes": "What was assumed.",
    "kinds": "number, date, clock, text or empty",
    "skip": "Lines before the first row.",
    "derivative": "Units per second.",
    "dt": "Seconds between values.",
    "seasons": "Periods found, in values.",
    "point": "The path to use where one number is wanted.",
    "kind": "What was rarest: error, change, value, level or noise.",
    "place": "Values of its series before it.",
    "fault": "Number of the event that began the disturbance it belongs to.",
    "missed": "First and last number no longer kept.",
    "set_aside": "Key and reason of series that could not be read.",
}
"""What a field means, wherever its name does not say so."""

_ROW = "value:number mean:number lower:number upper:number"
_SERIES = f"key:text count:whole time:time {_ROW} score:number alarm:number event:whole event_time:time recent:lists?"

SHAPES = {
    "Error": "error:text way_out:text row:whole? field:text? retry_after:number?",
    "Answer": f"key:text time:time {_ROW} next:number next_lower:number next_upper:number score:number alarm:number "
    "event:whole status:text",
    "Observed": "taken:whole late:whole missing:whole cursor:whole boot:text notes:text[]? rows:Answer[]? "
    "columns:lists?",
    "Columns": "names:text[] kinds:text[] rows:text[][] key:text? time:text? time_format:text? values:text[]? "
    "newest_first:flag? sep:text encoding:text decimal:text? skip:whole notes:text[] error:text? way_out:text?",
    "Series": _SERIES,
    "Listed": "total:whole offset:whole series:Series[]",
    "Whole": f"{_SERIES} derivative:number dt:number seasons:number[] words:text cursor:whole boot:text",
    "Forecasted": "key:text horizon:whole level:number time:time[] point:number[] mean:number[] lower:number[] "
    "upper:number[] quantiles:lists method:text notes:text[] words:text",
    "Event": "number:whole key:text time:time value:number score:number alarm:number kind:text place:whole fault:whole",
    "Events": "events:Event[] cursor:whole last:whole",
    "Values": "columns:lists cursor:whole boot:text missed:whole[]?",
    "Health": "status:text version:text series:whole? set_aside:lists?",
}
"""Fields of every answer with their types; a question mark stands after what may be left out or null."""

_TYPES: dict[str, dict[str, Any]] = {
    "text": {"type": "string"},
    "whole": {"type": "integer"},
    "flag": {"type": "boolean"},
    "lists": {"type": "object"},
    "number": {"anyOf": [{"type": "number"}, {"type": "null"}]},
    "time": {"anyOf": [{"type": "number"}, {"type": "string"}, {"type": "null"}]},
}


def _type(kind: str) -> dict[str, Any]:
    if kind.endswith("[]"):
        return {"type": "array", "items": _type(kind[:-2])}
    return _TYPES.get(kind) or reference(kind)


def reference(shape: str) -> dict[str, Any]:
    """Where the description of a shape stands."""
    return {"$ref": f"#/components/schemas/{shape}"}


def schemas() -> dict[str, Any]:
    """All shapes as JSON Schema."""
    found: dict[str, Any] = {}
    for shape, fields in SHAPES.items():
        kinds = dict(field.split(":") for field in fields.split())
        properties = {
            name: _type(kind.rstrip("?")) | ({"description": MEANING[name]} if name in MEANING else {})
            for name, kind in kinds.items()
        }
        required = [name for name, kind in kinds.items() if not kind.endswith("?")]
        found[shape] = {"title": shape, "type": "object", "properties": properties, "required": required}
    return found
