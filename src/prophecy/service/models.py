"""Shapes of the answers, for the API's description (answers themselves are made from plain lists, which is faster)."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

Time = float | str | None
Number = float | None


class Error(BaseModel):
    """Why a request was refused. Nothing has changed."""

    error: str
    way_out: str
    row: int | None = Field(None, description="Row or line of the body, from 1.")
    field: str | None = None
    retry_after: float | None = Field(None, description="Seconds.")


class Answer(BaseModel):
    """One value with its predictions: mean, lower, upper made before it came, next… after it."""

    key: str
    time: Time
    value: Number
    mean: Number
    lower: Number
    upper: Number
    next: Number
    next_lower: Number
    next_upper: Number
    score: Number = Field(description="-log10 of the probability of an error at least as large.")
    alarm: Number = Field(description="0, or one minus the share of ordinary values reported like this one.")
    event: int = Field(description="Number of the alarm it raised, 0 for none.")
    status: str = Field(description="taken, late or missing")


class Observed(BaseModel):
    """The batch is on disk (with --db)."""

    taken: int
    late: int
    missing: int
    cursor: int = Field(description="Live number of the last value.")
    boot: str = Field(description="Names this run of the service; cursors of another run mean nothing.")
    notes: list[str] | None = Field(None, description="What was assumed when a table was read.")
    rows: list[Answer] | None = None
    columns: dict[str, list[Any]] | None = None


class Columns(BaseModel):
    """A table by its first rows; `error` where key, time and values must be named."""

    names: list[str]
    kinds: list[str] = Field(description="number, date, clock, text or empty")
    rows: list[list[str]]
    key: str | None = None
    time: str | None = None
    time_format: str | None = None
    values: list[str] = []
    newest_first: bool = False
    sep: str
    encoding: str
    decimal: str | None = None
    skip: int = Field(description="Lines before the first row.")
    notes: list[str]
    error: str | None = None
    way_out: str | None = None


class Series(BaseModel):
    """One series in the list; mean, lower, upper are of the next value."""

    key: str
    count: int
    time: Time
    value: Number
    mean: Number
    lower: Number
    upper: Number
    score: Number
    alarm: Number
    event: int = Field(description="Number of its last alarm, 0 without one.")
    last_alarm: Time
    recent: dict[str, list[Any]] | None = None


class Listed(BaseModel):
    """A page of the list of series."""

    total: int
    offset: int
    series: list[Series]


class Whole(Series):
    """Everything about a series."""

    derivative: Number = Field(description="Units per second.")
    dt: Number = Field(description="Seconds between values.")
    seasons: list[float] = Field(description="Periods found, in values.")
    words: str
    cursor: int
    boot: str


class Forecasted(BaseModel):
    """A forecast with its fan of quantiles."""

    key: str
    horizon: int
    level: float
    time: list[Time]
    point: list[Number] = Field(description="The path to use where one number is wanted.")
    mean: list[Number] = Field(description="The expected value at each step.")
    lower: list[Number]
    upper: list[Number]
    quantiles: dict[str, list[Number]]
    method: str
    notes: list[str]
    words: str


class Alarm(BaseModel):
    """One alarm."""

    number: int
    key: str
    time: Time
    value: Number
    score: Number
    alarm: Number
    kind: str | None
    place: int = Field(description="Values of its series before it.")
    fault: int = Field(description="Number of the alarm that began the disturbance it belongs to.")


class Alarms(BaseModel):
    """Alarms after a cursor."""

    alarms: list[Alarm]
    cursor: int
    last: int


class Values(BaseModel):
    """Values after a cursor, as the live channel sends them."""

    columns: dict[str, list[Any]]
    cursor: int
    boot: str
    missed: list[int] | None = Field(description="First and last number no longer kept.")


class Health(BaseModel):
    """The service answers."""

    status: Literal["ok"]
    version: str
    series: int | None = Field(None, description="Left out where a token is needed and was not sent.")
    set_aside: list[dict[str, str]] | None = Field(
        None, description="Key and reason of series that could not be read; left out likewise."
    )
