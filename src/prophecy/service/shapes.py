"""What answers look like: the fields of each, and how they are filled. NaN is null, dates are ISO 8601."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from prophecy._arrays import Array

if TYPE_CHECKING:
    from prophecy._forecast import Forecast
    from prophecy.fleet import Answers, Brief, Event, Recent

FARTHEST = 9e12  # seconds from 1970 of a date at most, beyond the year 280 000: 64 bits of microseconds hold no more

FAN = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)  # quantiles: the middle half, four fifths and nine tenths

MEANING = {
    "row": "Row or line of the body, from 1.",
    "retry_after": "Seconds.",
    "point": "Predicted of this value before it came; of a series, of the next one; of a forecast, the path to use.",
    "mean": "Of the distribution at each step.",
    "next": "Predicted of the value after this one.",
    "score": "How surprising the value was: -log10 of the probability of an error at least as large.",
    "alarm": "A probability: 1 minus the share of ordinary values that look as unusual, with the stretch before them.",
    "event": "Number of the event it raised; of a series, of its last one; 0 for none.",
    "event_time": "When the last event was.",
    "status": "taken, late, missing or repeated",
    "cursor": "Number to go on after.",
    "boot": "Names this run of the service; cursors of another run mean nothing.",
    "notes": "What was assumed.",
    "kinds": "number, date, clock, text or empty",
    "skip": "Lines before the first row.",
    "derivative": "Units per second.",
    "dt": "Seconds between values.",
    "seasons": "Periods found, in values.",
    "kind": "What was rarest: error, change, value, level or noise.",
    "place": "Values of its series before it.",
    "fault": "Number of the event that began the disturbance it belongs to.",
    "missed": "First and last number no longer kept.",
    "set_aside": "Key and reason of series that could not be read.",
}
"""What a field means, wherever its name does not say so."""

_ROW = "value:number point:number lower:number upper:number"
_SERIES = f"key:text count:whole time:time {_ROW} score:number alarm:number event:whole event_time:time recent:Recent?"

SHAPES = {
    "Error": "error:text way_out:text row:whole? field:text? retry_after:number?",
    "Answer": f"key:text time:time {_ROW} next:number next_lower:number next_upper:number score:number alarm:number "
    "event:whole status:text",
    "Recent": f"time:time[] {_ROW.replace(':number', ':number[]')} score:number[] alarm:number[] event:whole[]",
    "Observed": "taken:whole late:whole missing:whole repeated:whole cursor:whole boot:text notes:text[]? "
    "rows:Answer[]? columns:lists?",
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

FIELDS = {shape: dict(field.split(":") for field in fields.split()) for shape, fields in SHAPES.items()}
COLUMNS = tuple(FIELDS["Answer"])  # columns of the answers to a batch, and of the live channel


def listed(values: Any) -> list[float | None]:
    """Numbers as a list, None for NaN and infinity.

    >>> listed(np.array([1.5, np.nan, -np.inf]))
    [1.5, None, None]
    """
    numbers = np.atleast_1d(values)
    found: list[float | None] = numbers.tolist()
    for place in np.flatnonzero(~np.isfinite(numbers)).tolist():
        found[place] = None
    return found


def number(value: float) -> float | None:
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
    rows = np.flatnonzero(np.broadcast_to(dated, times.shape))
    micros = np.full(len(rows), np.iinfo(np.int64).min)  # no date
    reached = np.abs(times[rows]) < FARTHEST
    micros[reached] = np.round(times[rows][reached] * 1e6)
    texts = np.datetime_as_string(micros.astype("datetime64[us]")).tolist() if len(rows) else []
    for place, text in zip(rows.tolist(), texts, strict=True):
        found[place] = None if text == "NaT" else text.removesuffix("000").removesuffix(".000") + "Z"
    return found


def shaped(shape: str, source: object, **given: Any) -> dict[str, Any]:
    """The fields of a shape: those given, and those that `source` has; lists where it has arrays."""
    found = {name: given.get(name, getattr(source, name, None)) for name in FIELDS[shape]}
    return {
        name: listed(value) if isinstance(value, np.ndarray) else number(value) if isinstance(value, float) else value
        for name, value in found.items()
        if name in given or hasattr(source, name)
    }


def lists_of(shape: str, rows: Answers | Recent) -> dict[str, list[Any]]:
    """Rows of a fleet as lists of equal length."""
    return shaped(shape, rows, time=stamps(rows.time, rows.dated))


def rows_of(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def series_of(row: Brief) -> dict[str, Any]:
    time, event_time = stamps(np.array([row.time, row.event_time]), row.dated)
    return shaped("Series", row, time=time, event_time=event_time)


def event_of(event: Event) -> dict[str, Any]:
    return shaped("Event", event, time=stamps(event.time, event.dated)[0])


def forecast_of(forecast: Forecast, key: str, times: Array, dated: bool) -> dict[str, Any]:
    """A forecast with its fan. times: when each step is due."""
    fan = {f"{q:g}": listed(forecast.quantile(q)) for q in FAN}
    about = {"key": key, "horizon": len(times), "time": stamps(times, dated), "words": forecast.explain()}
    return shaped("Forecasted", forecast, **about, quantiles=fan, notes=list(forecast.notes))


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
    return {"$ref": f"#/components/schemas/{shape}"}


def schemas() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for shape, kinds in FIELDS.items():
        properties = {
            name: _type(kind.rstrip("?")) | ({"description": MEANING[name]} if name in MEANING else {})
            for name, kind in kinds.items()
        }
        required = [name for name, kind in kinds.items() if not kind.endswith("?")]
        found[shape] = {"title": shape, "type": "object", "properties": properties, "required": required}
    return found
