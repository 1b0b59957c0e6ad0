"""Which columns are predicted, which hold the times, which names the series: by content, noted where it is a choice."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prophecy.commands._dialect import JUDGED, MISSING, MOSTLY, number
from prophecy.frames import dates
from prophecy.frames.times import Times
from prophecy.frames.zones import zone_of

CLOCKS = (
    "time", "timestamp", "datetime", "date_time", "date time", "date", "when", "ds", "t", "ts", "epoch", "unix",
    "unixtime", "unix_ms", "datum", "zeit", "zeitstempel", "day", "week", "month", "quarter", "year", "jahr", "seconds",
    "hour", "step", "index",
)  # fmt: skip
"""Names under which increasing *numbers* are times; dates are found by what they are."""

UNIT = re.compile(
    r"(time|timestamp|t|ts|elapsed|elapsed[ _]time|zeit)[ _.]?(?:[\[(/] ?)?"
    r"(?:s|secs?|seconds?|sek|ms|millis|milliseconds?|us|µs|ns|min|mins|minutes?|h|hrs?|hours?|d|days?|y|yrs?|years?)[\])]?"
)
"""A name of time with its unit, as instruments write it (`t_ms`, `Time [s]`, `elapsed (min)`), in small letters."""

KEYS = ("unique_id",)
EPOCHS = (("s", 10**0), ("ms", 10**3), ("us", 10**6), ("ns", 10**9))
ERA = (631_152_000, 4_102_444_800)  # seconds: numbers between 1990 and 2100 are taken for epochs


@dataclass(frozen=True)
class TimeColumn:
    """How times are read and written. columns: one, or a date and a time of day.

    style: of text; unit: of an epoch; with neither the cells are dates by type, or numbers.
    """

    columns: tuple[str, ...]
    style: dates.Style | None = None
    unit: str | None = None
    whole: bool = False  # numbers without a fraction

    def read(self, batch: Any, first: int = 1) -> Times:
        """The times of an Arrow batch; `first` is the number of its first row, for messages."""
        columns = [batch.column(batch.schema.get_field_index(name)) for name in self.columns]
        if self.style is not None:
            cells = columns[0].cast("string").to_pylist()
            if len(columns) > 1:
                clocks = columns[1].cast("string").to_pylist()
                cells = [
                    None if not a or not b else f"{a.strip()} {b.strip()}" for a, b in zip(cells, clocks, strict=True)
                ]
            cells = [None if cell is None or cell.strip() in MISSING else cell for cell in cells]
            return dates.read(cells, self.style, " ".join(self.columns), first)
        return _typed(columns[0], self.unit, self.columns[0])

    def write(self, times: Times) -> dict[str, Any]:
        """Times as columns like those they were read from."""
        if self.style is not None:
            cells = self.style.write(times)
            if len(self.columns) == 1:
                return {self.columns[0]: cells}
            joint = [cell.partition(self.style.sep or " ") for cell in cells]
            return {self.columns[0]: [part[0] for part in joint], self.columns[1]: [part[2] for part in joint]}
        if self.unit is not None:
            ticks = times.values.astype(f"datetime64[{self.unit}]").astype(np.int64)
            if self.whole:
                return {self.columns[0]: ticks.tolist()}
            # Microseconds, as they were read: whole numbers of nanoseconds are not exact in float64.
            return {self.columns[0]: (times.values.astype("datetime64[us]").astype(np.int64) / 1e6).tolist()}
        if times.dates:
            return {self.columns[0]: _arrow_times(times)}
        return {self.columns[0]: times.values.astype(np.int64).tolist() if self.whole else times.values.tolist()}


@dataclass(frozen=True)
class Roles:
    """Columns to predict, the clock, the column that names the series, and what to print about the choice."""

    values: tuple[str, ...]
    clock: TimeColumn | None
    key: str | None
    notes: tuple[str, ...] = ()

    @property
    def time(self) -> str | None:
        return None if self.clock is None else " ".join(self.clock.columns)


@dataclass(frozen=True)
class Layout:
    """Columns of a table as found: names, kinds (number, date, clock, typed, text, empty), the first cells of each.

    decimal: the mark by which text is a number; None where cells have types, and text is none.
    """

    path: str
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    cells: tuple[Sequence[Any], ...]
    decimal: str | None = None

    def kind(self, name: str) -> str:
        return self.kinds[self.names.index(name)]

    def filled(self, name: str) -> list[Any]:
        return [cell for cell in self.cells[self.names.index(name)] if cell is not None and cell not in MISSING]

    def numbers(self, name: str) -> Any:
        """The first cells as numbers, where all of them are."""
        try:
            found = np.array([float(str(cell).replace(",", ".")) for cell in self.filled(name)])
        except (ValueError, OverflowError):
            return np.empty(0)
        return found if np.isfinite(found).all() else np.empty(0)

    def share(self, name: str) -> float:
        """The share of numbers among the cells that decided about a column's kind and are not missing."""
        cells = self._judged(name)
        return sum(map(self._is_number, cells.values())) / max(1, len(cells))

    def stray(self, name: str) -> str:
        """Why a column is none of numbers: its first cell that is no number, where it stands, how many are numbers."""
        cells = self._judged(name)
        row = next((row for row, cell in cells.items() if not self._is_number(cell)), None)
        if row is None:
            return ""
        many = sum(map(self._is_number, cells.values()))
        return (
            f"column {name!r} holds {str(cells[row])[:40]!r} in row {row} of the data; {many} of {len(cells)} cells "
            f"are numbers, {MOSTLY:.0%} are needed (leave the cell empty, or write NA, where a value is missing)"
        )

    def _judged(self, name: str) -> dict[int, Any]:
        """Cells that are not missing by the number of their row, from 1; of text as many as `_dialect` judges by."""
        cells = self.cells[self.names.index(name)]
        judged = cells if self.decimal is None else cells[:JUDGED]
        return {row: cell for row, cell in enumerate(judged, 1) if cell is not None and cell not in MISSING}

    def _is_number(self, cell: Any) -> bool:
        if isinstance(cell, str):
            return self.decimal is not None and number(cell, self.decimal) is not None
        return isinstance(cell, int | float) and not isinstance(cell, bool)


class Content(NamedTuple):
    """What a reader finds in a file. batches: given the roles, Arrow batches whose value columns are float64."""

    layout: Layout
    batches: Callable[[Roles], Iterator[Any]]
    notes: list[str]


def resolve(
    layout: Layout, columns: Sequence[str], time: str | None, key: str | None, time_format: str | None = None
) -> Roles:
    """Give every column its part, or say which ones there are."""
    shown = ", ".join(name or "(unnamed)" for name in layout.names)
    for what, name in [("", column) for column in columns] + [("time ", time), ("key ", key)]:
        if name is not None and name not in layout.names and not (what == "time " and " + " in name):
            raise ValueError(f"{layout.path} has no {what}column {name!r}; it has {shown}")
    lower = {name.lower(): name for name in reversed(layout.names)}
    key = key or next((lower[k] for k in KEYS if k in lower and lower[k] not in columns), None)
    notes: list[str] = []
    clock = _clock(layout, {*columns, key}, time, time_format, notes)
    taken = {key, *(clock.columns if clock is not None else ())}
    free = [name for name in layout.names if layout.kind(name) == "number" and name not in taken]
    # A column without a name is the row number pandas writes; it is predicted only where there is nothing else.
    values = tuple(columns) or tuple(name for name in free if name) or tuple(free)
    if not values:
        others = [name for name in layout.names if name not in taken and layout.filled(name)]
        advice = layout.stray(max(others, key=layout.share)) if others else "choose with --column"
        raise ValueError(f"{layout.path} has no column of numbers to predict; it has {shown}; {advice}")
    for name in values:
        if name in taken:
            raise ValueError(
                f"column {name!r} cannot be both predicted and the time or the key; choose others with "
                "--column, --time or --key"
            )
        if layout.kind(name) != "number":
            having = ", ".join(repr(n) for n in layout.names if layout.kind(n) == "number" and n not in taken)
            raise ValueError(
                f"{layout.path}: column {name!r} does not hold numbers; columns that do: {having or 'none'}; "
                + (layout.stray(name) or "all its cells are empty")
            )
    return Roles(values, clock, key, tuple(notes))


def _clock(
    layout: Layout, taken: set[str | None], time: str | None, given: str | None, notes: list[str]
) -> TimeColumn | None:
    if time is not None:
        return _named(layout, time, given, notes)
    free = [name for name in layout.names if name not in taken]
    dated = [name for name in free if layout.kind(name) in ("date", "typed")]
    if given is not None and not dated:
        dated = [name for name in free if _fits(layout, name, given)]
    if len(dated) > 1:
        hinted = [name for name in dated if name.lower() in CLOCKS]
        dated = [*hinted, *dated][:1]
        notes.append(f"several columns hold dates: {dated[0]!r} taken as the time, --time chooses another")
    if dated:
        return _named(layout, dated[0], given, notes, free)
    for name in free:
        clock = _numeric(layout, name, _names_time(layout, name), notes)
        if clock is not None:
            return clock
    return None


def _named(
    layout: Layout, time: str, given: str | None, notes: list[str], free: Sequence[str] | None = None
) -> TimeColumn:
    """The clock of a column that is one, joined with a column of times of day where it has none itself."""
    if " + " in time and time not in layout.names:
        parts = tuple(time.split(" + "))
        absent = [part for part in parts if part not in layout.names]
        if absent or len(parts) != 2:
            raise ValueError(
                f"{layout.path} has no column {absent[0]!r}; it has {', '.join(layout.names)}"
                if absent
                else f"--time joins two columns, got {len(parts)}: {time!r}; name a date and a time of day"
            )
        return _joined(layout, parts[0], parts[1], given, notes)
    kind = layout.kind(time)
    others = [name for name in (layout.names if free is None else free) if name != time]
    if kind == "clock":
        dated = [name for name in others if layout.kind(name) == "date"]
        if not dated:
            raise ValueError(f"column {time!r} has times of day without dates; name a column of dates with --time")
        return _joined(layout, dated[0], time, given, notes)
    if kind == "typed":
        return TimeColumn((time,))
    if given is not None:
        _check(layout, time, given)
        return TimeColumn((time,), dates.given(given))
    if kind == "date":
        of_day = [name for name in others if layout.kind(name) == "clock"]
        if of_day and not any(":" in str(cell) for cell in layout.filled(time)[:100]):
            return _joined(layout, time, of_day[0], given, notes)
        return TimeColumn((time,), _style(layout, time, [str(cell) for cell in layout.filled(time)], notes))
    clock = _numeric(layout, time, True, notes)
    if clock is not None:
        return clock
    if kind == "number" and len(layout.numbers(time)):
        return TimeColumn((time,), whole=_whole(layout.numbers(time)))
    cells = [str(cell) for cell in layout.filled(time)]
    if not cells:
        raise ValueError(f"{layout.path}: time column {time!r} is empty; name another with --time")
    return TimeColumn((time,), _style(layout, time, cells, notes))


def _joined(layout: Layout, day: str, clock: str, given: str | None, notes: list[str]) -> TimeColumn:
    cells = [
        f"{a} {b}"
        for a, b in zip(*(layout.cells[layout.names.index(name)] for name in (day, clock)), strict=True)
        if a and b
    ]
    style = dates.given(given) if given is not None else _style(layout, f"{day} {clock}", cells, notes)
    notes.append(f"columns {day!r} and {clock!r} joined to one time")
    return TimeColumn((day, clock), style)


def _style(layout: Layout, name: str, cells: list[str], notes: list[str]) -> dates.Style:
    style, note = dates.style_of(cells, name, "--time-format ")
    if note is not None:
        notes.append(note)
    return style


def _fits(layout: Layout, name: str, given: str) -> bool:
    cells = [str(cell) for cell in layout.filled(name)[:20]]
    try:
        dates.read(cells, dates.given(given))
    except ValueError:
        return False
    return bool(cells)


def _check(layout: Layout, name: str, given: str) -> None:
    dates.given(given)
    cells = [str(cell) for cell in layout.filled(name)[:1]]
    if cells and not _fits(layout, name, given):
        raise ValueError(f"{layout.path}: column {name!r}: {cells[0]!r} does not fit --time-format {given!r}")


def _numeric(layout: Layout, name: str, hinted: bool, notes: list[str]) -> TimeColumn | None:
    """Numbers that are times: epochs, dates without marks (20240131), or increasing ones under a name in `CLOCKS`."""
    if layout.kind(name) != "number":
        return None
    numbers = layout.numbers(name)
    if not len(numbers):
        return None
    steps = np.diff(numbers)
    ordered = len(steps) > 0 and bool((steps > 0).all() or (steps < 0).all())
    whole = _whole(numbers)
    if whole and (hinted or ordered) and bool(((numbers >= 19000101) & (numbers <= 21001231)).all()):
        cells = [str(cell) for cell in layout.filled(name)]
        if all(map(dates.is_date, cells[:100])):
            return TimeColumn((name,), _style(layout, name, cells, notes))
    for unit, scale in EPOCHS:
        inside = (numbers >= ERA[0] * scale) & (numbers <= ERA[1] * scale)
        if bool(inside.all()) and (hinted or ordered) and (whole or unit == "s"):
            notes.append(f"{name!r} read as time since 1970 in {'µs' if unit == 'us' else unit}")
            return TimeColumn((name,), unit=unit, whole=whole)
    monotone = bool((steps >= 0).all() or (steps <= 0).all()) or len(layout.names) > 2
    return TimeColumn((name,), whole=whole) if hinted and monotone else None


def _names_time(layout: Layout, name: str) -> bool:
    """Whether a column's name says that its numbers are times.

    T is a temperature, and t_min may be one: a name with a unit counts where numbers seldom fall from row to row, as
    times do that begin anew with every series.
    """
    if name.lower() in CLOCKS:
        return name != "T"
    steps = np.diff(layout.numbers(name)) if UNIT.fullmatch(name.strip().lower()) else np.empty(0)
    return len(steps) > 0 and float(np.mean(steps >= 0)) >= MOSTLY and bool((steps > 0).any())


def _whole(numbers: Any) -> bool:
    return bool((numbers == np.rint(numbers)).all())


def _typed(column: Any, unit: str | None, name: str) -> Times:
    """Numbers, epochs and Arrow's own dates as times."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_timestamp(kind):
        values = column.cast(pa.timestamp(kind.unit)).to_numpy(zero_copy_only=False)
        return Times(values, None if kind.tz is None else zone_of(kind.tz))
    if pa.types.is_date(kind):
        return Times(column.cast(pa.timestamp("s")).to_numpy(zero_copy_only=False))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        column = pc.replace_substring(pc.utf8_trim_whitespace(column), ",", ".")
        column = pc.if_else(pc.is_in(column, value_set=pa.array(MISSING)), None, column)
    if unit is None:
        return Times(np.asarray(_cast(column, pa.float64(), name).to_numpy(zero_copy_only=False), dtype=np.float64))
    try:
        ticks = column.cast(pa.int64())
    except pa.ArrowInvalid:  # seconds with a fraction
        seconds = np.asarray(_cast(column, pa.float64(), name).to_numpy(zero_copy_only=False), dtype=np.float64)
        gone = ~np.isfinite(seconds)
        values = np.rint(np.where(gone, 0, seconds) * 1e6).astype("datetime64[us]")
        values[gone] = np.datetime64("NaT")
        return Times(values)
    return Times(ticks.cast(pa.timestamp(unit)).to_numpy(zero_copy_only=False))


def _cast(column: Any, kind: Any, name: str) -> Any:
    import pyarrow as pa

    try:
        return column.cast(kind, safe=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise ValueError(f"time column {name!r} cannot be read as numbers or dates: {error}") from None


def keys_of(batch: Any, key: str | None) -> Iterator[tuple[str, NDArray[np.int64] | slice]]:
    """Each key in a batch and its rows in order; without a key column, one key "" with all rows."""
    if key is None:
        yield "", slice(None)
        return
    encoded = batch.column(batch.schema.get_field_index(key)).dictionary_encode()
    codes = np.asarray(encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False), dtype=np.int64)
    names = ["" if name is None else str(name) for name in encoded.dictionary.to_pylist()]
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=np.iinfo(np.int64).min))
    for start, rows in zip(starts, np.split(order, starts[1:]), strict=True):
        code = codes[order[start]]
        yield (names[code] if code >= 0 else "(no key)"), rows


def _arrow_times(times: Times) -> Any:
    import pyarrow as pa

    unit = np.datetime_data(times.values.dtype)[0]
    return pa.array(times.values, pa.timestamp(unit, tz=None if times.zone is None else str(times.zone)))
