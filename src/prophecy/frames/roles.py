"""Which columns are predicted, which hold the times, which names the series: by content, noted where it is a choice."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prophecy.frames import dates
from prophecy.frames.align import FRAMES, WaysOut
from prophecy.frames.numbers import JUDGED, MOSTLY, NumberStyle, is_missing, number
from prophecy.frames.stray import Stray
from prophecy.frames.times import Times
from prophecy.frames.zones import zone_of

CLOCKS = (
    "time", "timestamp", "datetime", "date_time", "date time", "date", "when", "at", "ds", "t", "ts", "epoch", "unix",
    "unixtime", "unix_ms", "datum", "zeit", "zeitstempel", "day", "week", "month", "quarter", "year", "jahr", "seconds",
    "hour", "step", "index",
)  # fmt: skip
"""Names under which increasing *numbers* are times; dates are found by what they are."""

TIMES = ("time", "timestamp", "datetime", "date", "ds", "zeit", "datum")
"""Names under which text must be dates."""

RISING = (
    "elapsed", "sample", "samples", "n", "no", "nr", "min", "minute", "minutes", "sec", "frame",
    "tick", "row",
)  # fmt: skip
"""Names under which numbers are times where they seldom fall from row to row: `min` may be a minimum."""

UNIT = re.compile(
    r"(time|timestamp|t|ts|elapsed|elapsed[ _]time|zeit)[ _.]?(?:[\[(/] ?)?"
    r"(?:s|secs?|seconds?|sek|ms|millis|milliseconds?|us|µs|ns|min|mins|minutes?|h|hrs?|hours?|d|days?|y|yrs?|years?)[\])]?"
)
"""A name of time with its unit, as instruments write it (`t_ms`, `Time [s]`, `elapsed (min)`), in small letters."""

KEYS = ("unique_id", "key", "series", "series_id", "sensor", "sensor_id", "item_id", "id", "name")
"""Names under which text tells series apart, and whole numbers that come again do."""

VALUES = ("value", "y")
"""Beside a key the column `value` is predicted alone, and `y` beside `unique_id`."""

DATED = ("date", "datetime", "date_time", "date time", "datum", "ds", "timestamp")
"""Names under which numbers of days since 1899-12-30 are dates, as Excel counts them."""

SERIALS = (20_000, 80_000)  # such days: 1954 to 2119
EXCEL_DAY = 25_569  # that of 1970-01-01
EPOCHS = (("s", 10**0), ("ms", 10**3), ("us", 10**6), ("ns", 10**9))
ERA = (631_152_000, 4_102_444_800)  # seconds: numbers between 1990 and 2100 are taken for epochs
EVEN = 8  # rows from which numbers that rise by one and the same step are a clock, whatever they are called
YEARS = (1600, 2200)  # names of columns between which whole numbers that rise by one are years


@dataclass(frozen=True)
class Hints:
    """What a user said about a table: its columns, how dates and numbers are written, what to skip.

    missing: further cells that mean "no value". skip: lines at the top. sheet: of an Excel file. sep: what stands
    between cells. ways: how messages name these options.
    """

    columns: Sequence[str] = ()
    time: str | None = None
    key: str | None = None
    time_format: str | None = None
    decimal: str | None = None
    header: bool | None = None
    time_zone: str | None = None
    missing: tuple[str, ...] = ()
    skip: int | None = None
    sheet: str | None = None
    sep: str | None = None
    duplicates: str = "refuse"
    ways: WaysOut = field(default=FRAMES, repr=False)

    @property
    def absent(self) -> frozenset[str]:
        """`missing` in small letters."""
        return frozenset(cell.strip().lower() for cell in self.missing)

    @property
    def codes(self) -> list[float]:
        """Those of `missing` that are numbers, such as -9999."""
        return [value for cell in self.missing if (value := number(cell, ".")) is not None]


@dataclass(frozen=True)
class TimeColumn:
    """How times are read and written. columns: one, or a date and a time of day.

    style: of text; unit: of an epoch; with neither the cells are dates by type, or numbers.
    """

    columns: tuple[str, ...]
    style: dates.Style | None = None
    unit: str | None = None
    whole: bool = False  # numbers without a fraction
    serial: bool = False  # days as Excel counts them
    typed: bool = False  # cells are dates by their type

    def read(self, batch: Any, first: int, stray: Stray) -> Times:
        """The times of an Arrow batch; `first` is the number of its first row, for messages."""
        columns = [batch.column(batch.schema.get_field_index(name)) for name in self.columns]
        if self.style is not None:
            cells = columns[0].cast("string").to_pylist()
            if len(columns) > 1:
                clocks = columns[1].cast("string").to_pylist()
                cells = [
                    None if not a or not b else f"{a.strip()} {b.strip()}" for a, b in zip(cells, clocks, strict=True)
                ]
            cells = [None if cell is None or is_missing(cell) else cell for cell in cells]
            wrong: list[tuple[int, str]] = []
            found = dates.read(cells, self.style, " ".join(self.columns), first, wrong)
            if wrong:
                stray.missing_times(" ".join(self.columns), wrong, len(cells))
            return found
        if self.serial:
            days = _floats(columns[0], self.columns[0], first, stray) - EXCEL_DAY
            return _of_seconds(
                np.rint(days * 86_400), "s"
            )  # written with six digits, a day is known to a tenth of a second
        return _typed(columns[0], self.unit, self.columns[0], first, stray)

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
        if self.serial:
            days = times.values.astype("datetime64[s]").astype(np.int64) / 86_400 + EXCEL_DAY
            return {self.columns[0]: days.astype(np.int64).tolist() if self.whole else days.tolist()}
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
    """Columns of a table as found: names, kinds (number, date, clock, typed, text, bool, empty), first cells of each.

    styles: how columns of text write their numbers; none where cells have types, and text is no number.
    """

    path: str
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    cells: tuple[Sequence[Any], ...]
    styles: Mapping[str, NumberStyle] | None
    asked: Hints

    @property
    def ways(self) -> WaysOut:
        return self.asked.ways

    def kind(self, name: str) -> str:
        return self.kinds[self.names.index(name)]

    def absent(self, cell: Any) -> bool:
        return cell is None or (isinstance(cell, str) and is_missing(cell, self.asked.absent))

    def filled(self, name: str) -> list[Any]:
        return [cell for cell in self.cells[self.names.index(name)] if not self.absent(cell)]

    def numbers(self, name: str) -> Any:
        """The first cells as numbers, those that are none left out."""
        style = (self.styles or {}).get(name, NumberStyle())
        found = [style.read(cell) if isinstance(cell, str) else float(cell) for cell in self.filled(name)]
        numbers = np.array([value for value in found if value is not None])
        return numbers if np.isfinite(numbers).all() else np.empty(0)

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
        """Cells that are not missing by the number of their row, from 1; of text as many as are judged by."""
        cells = self.cells[self.names.index(name)]
        judged = cells if self.styles is None else cells[:JUDGED]
        return {row: cell for row, cell in enumerate(judged, 1) if not self.absent(cell)}

    def _is_number(self, cell: Any) -> bool:
        if isinstance(cell, str):
            return self.styles is not None and any(number(cell, mark) is not None for mark in ".,")
        return isinstance(cell, int | float) and not isinstance(cell, bool)


class Content(NamedTuple):
    """What a reader finds in a file. batches: given the roles, Arrow batches whose value columns are float64."""

    layout: Layout
    batches: Callable[[Roles], Iterator[Any]]
    notes: list[str]
    stray: Stray


def resolve(layout: Layout) -> Roles:
    """Give every column its part, or say which ones there are."""
    asked, ways = layout.asked, layout.ways
    columns, time, key = asked.columns, asked.time, asked.key
    shown = ", ".join(name or "(unnamed)" for name in layout.names[:50]) + (" …" if len(layout.names) > 50 else "")
    for what, name in [("", column) for column in columns] + [("time ", time), ("key ", key)]:
        if name is not None and name not in layout.names and not (what == "time " and " + " in name):
            raise ValueError(f"{layout.path} has no {what}column {name!r}; it has {shown}")
    notes: list[str] = []
    key = key or _key(layout, {*columns, time})
    clock = _clock(layout, {*columns, key}, time, asked.time_format, notes)
    taken = {key, *(clock.columns if clock is not None else ())}
    free = [name for name in layout.names if layout.kind(name) == "number" and name not in taken]
    # A column without a name is the row number pandas writes; it is predicted only where there is nothing else.
    values = tuple(columns) or tuple(name for name in free if name) or tuple(free)
    alone = [name for name in values if name.lower() == ("y" if (key or "").lower() == "unique_id" else "value")]
    if key is not None and not columns and alone and len(values) > 1:
        left = ", ".join(repr(name) for name in values if name != alone[0])
        notes.append(f"{alone[0]!r} alone is predicted, not {left}; {ways('column')} chooses")
        values = tuple(alone[:1])
    if not values:
        others = [name for name in layout.names if name not in taken and layout.filled(name)]
        advice = layout.stray(max(others, key=layout.share)) if others else f"choose with {ways('column')}"
        raise ValueError(f"{layout.path} has no column of numbers to predict; it has {shown}; {advice}")
    others = [n for n in layout.names if n not in {*taken, *values} and layout.kind(n) in ("text", "bool")]
    if others and not columns:
        notes.append(f"column{'s' * (len(others) > 1)} {', '.join(map(repr, others))} left out: no numbers")
    for name in values:
        if name in taken:
            raise ValueError(
                f"column {name!r} cannot be both predicted and the time or the key; choose others with "
                f"{ways('column')}, {ways('time')} or {ways('key')}"
            )
        if layout.kind(name) != "number":
            having = ", ".join(repr(n) for n in layout.names if layout.kind(n) == "number" and n not in taken)
            raise ValueError(
                f"{layout.path}: column {name!r} does not hold numbers; columns that do: {having or 'none'}; "
                + (layout.stray(name) or "all its cells are empty")
            )
    if key is None and clock is not None and asked.duplicates != "mean":
        _refuse_keyed(layout, clock, values)
    return Roles(values, clock, key, tuple(notes))


def _key(layout: Layout, taken: set[str | None]) -> str | None:
    """A column under a usual name of keys: of text, or of whole numbers that come again."""
    lower = {name.lower(): name for name in reversed(layout.names) if name not in taken}
    for usual in KEYS:
        name = lower.get(usual)
        if name is None:
            continue
        if layout.kind(name) == "text" or (layout.kind(name) == "empty" and usual in KEYS[:2]):
            return name
        counted = layout.kind(name) == "number" and usual not in ("id", "name")
        numbers = layout.numbers(name) if counted else np.empty(0)
        if len(numbers) and _whole(numbers) and (usual == "key" or len(set(numbers.tolist())) < len(numbers)):
            return name
    return None


def _refuse_keyed(layout: Layout, clock: TimeColumn, values: Sequence[str]) -> None:
    """Refuse a table of many series without a key: times repeat, and a column of names tells their rows apart."""
    moments = list(zip(*(layout.cells[layout.names.index(name)] for name in clock.columns), strict=True))
    numbers = list(zip(*(layout.cells[layout.names.index(name)] for name in values), strict=True))
    names = [name for name in layout.names if layout.kind(name) == "text" or (layout.kind(name) == "number")]
    columns = {name: layout.cells[layout.names.index(name)] for name in names if name not in clock.columns}
    found = telling(moments, numbers, columns, values)
    if found is not None:
        when = " ".join(clock.columns)
        raise ValueError(
            f"{layout.path} holds many series: times in {when!r} repeat, and {found!r} tells their rows apart; "
            f"{layout.ways.keyed(found)}, or average rows of one time with {layout.ways.mean}"
        )


def telling(
    moments: Sequence[Any], numbers: Sequence[Any], columns: Mapping[str, Sequence[Any]], values: Sequence[str] = ()
) -> str | None:
    """The column that tells rows of one time apart, where times come again with other numbers: of text, or of a few
    whole numbers. None where there is none, or nothing to tell apart."""
    rows = len(moments)
    if not rows or len(set(moments)) == len(set(zip(moments, map(str, numbers), strict=True))):
        return None
    for name, cells in columns.items():
        kinds = {str(cell) for cell in cells}
        if name in values and (len(kinds) > rows / 2 or not all(_is_code(cell) for cell in kinds)):
            continue
        if 1 < len(kinds) < rows and len(set(zip(moments, map(str, cells), strict=True))) == rows:
            return name
    return None


def _is_code(cell: str) -> bool:
    return cell.removesuffix(".0").isdigit()


def spread_over_columns(names: Sequence[str], asked: Hints) -> None:
    """Refuse a table whose columns are moments: years, or dates, with a row for each series."""
    dated = [name for name in names if dates.is_date(name) and not name.isdigit()]
    years = [int(name) for name in names if name.isdigit() and YEARS[0] <= int(name) <= YEARS[1]]
    rising = len(years) >= 3 and all(b - a == 1 for a, b in itertools.pairwise(years))
    if rising or len(dated) >= 3:
        first, last = (years[0], years[-1]) if rising else (dated[0], dated[-1])
        raise ValueError(
            f"its columns are times ({first} … {last}), one row a series; transpose it, so that every time is a row: "
            "with pandas, table.melt(id_vars=…, var_name='time'), or table.set_index(…).T"
            + (
                ""
                if asked.ways.option == "="
                else f"; {asked.ways('header')} takes them as names of series all the same"
            )
        )


def _clock(
    layout: Layout, taken: set[str | None], time: str | None, given: str | None, notes: list[str]
) -> TimeColumn | None:
    if time is not None:
        return _named(layout, time, given, notes)
    free = [name for name in layout.names if name not in taken]
    dated = [name for name in free if layout.kind(name) in ("date", "typed")]
    if given is not None:
        dates.given(given)
    if given is not None and not dated:
        dated = [name for name in free if _fits(layout, name, given)]
    if len(dated) > 1:
        hinted = [name for name in dated if name.lower() in CLOCKS]
        dated = [*hinted, *dated][:1]
        chooses = f"{layout.ways('time')} chooses another"
        notes.append(f"several columns hold dates: {dated[0]!r} taken as the time, {chooses}")
    if dated:
        return _named(layout, dated[0], given, notes, free)
    for name in free:
        clock = _numeric(layout, name, _names_time(layout, name), notes)
        if clock is not None:
            return clock
    unread = [name for name in free if name.lower() in TIMES and layout.kind(name) in ("text", "empty")]
    if unread:  # rows would be taken without times
        return _named(layout, unread[0], given, notes, free)
    if given is not None:
        raise ValueError(
            f"{layout.path}: no column fits {layout.ways('time_format', given)}; name one with {layout.ways('time')}"
        )
    return _even(layout, [name for name in free if layout.kind(name) == "number"], notes)


def _even(layout: Layout, free: Sequence[str], notes: list[str]) -> TimeColumn | None:
    """The first of several columns where it counts: numbers that rise by one step from row to row hold no news."""
    if len(free) < 2 or not free[0]:
        return None
    numbers = layout.numbers(free[0])
    steps = np.diff(numbers)
    if len(numbers) < EVEN or not steps[0] > 0 or np.ptp(steps) > 1e-9 * np.abs(numbers).max():
        return None
    notes.append(f"{free[0]!r} rises evenly and is taken as the time; {layout.ways('column', free[0])} predicts it")
    return TimeColumn((free[0],), whole=_whole(numbers))


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
                else f"{layout.ways('time')} joins two columns, got {len(parts)}: {time!r}; name a date and a time"
            )
        return _joined(layout, parts[0], parts[1], given, notes)
    kind = layout.kind(time)
    others = [name for name in (layout.names if free is None else free) if name != time]
    if kind == "clock":
        dated = [name for name in others if layout.kind(name) == "date"]
        if not dated:
            raise ValueError(
                f"column {time!r} has times of day without dates; name a column of dates with {layout.ways('time')}"
            )
        return _joined(layout, dated[0], time, given, notes)
    if kind == "typed":
        return TimeColumn((time,), typed=True)
    if given is not None:
        _check(layout, time, given)
        return TimeColumn((time,), _given(layout, given, time))
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
        raise ValueError(f"{layout.path}: time column {time!r} is empty; name another with {layout.ways('time')}")
    return TimeColumn((time,), _style(layout, time, cells, notes))


def _joined(layout: Layout, day: str, clock: str, given: str | None, notes: list[str]) -> TimeColumn:
    cells = [
        f"{a} {b}"
        for a, b in zip(*(layout.cells[layout.names.index(name)] for name in (day, clock)), strict=True)
        if a and b
    ]
    style = dates.given(given, cells[-1:]) if given is not None else _style(layout, f"{day} {clock}", cells, notes)
    notes.append(f"columns {day!r} and {clock!r} joined to one time")
    return TimeColumn((day, clock), style)


def _style(layout: Layout, name: str, cells: list[str], notes: list[str]) -> dates.Style:
    style, note = dates.style_of(cells, name, lambda pattern: layout.ways("time_format", pattern))
    if note is not None:
        notes.append(note)
    return style


def _given(layout: Layout, given: str, name: str) -> dates.Style:
    return dates.given(given, [str(cell) for cell in layout.filled(name)[-1:]])


def _fits(layout: Layout, name: str, given: str) -> bool:
    cells = [str(cell) for cell in layout.filled(name)[:20]]
    try:
        dates.read(cells, dates.given(given, cells[-1:]))
    except ValueError:
        return False
    return bool(cells)


def _check(layout: Layout, name: str, given: str) -> None:
    dates.given(given)
    cells = [str(cell) for cell in layout.filled(name)[:1]]
    if cells and not _fits(layout, name, given):
        raise ValueError(
            f"{layout.path}: column {name!r}: {cells[0]!r} does not fit {layout.ways('time_format', given)}"
        )


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
    if name.lower() in DATED and bool(((numbers >= SERIALS[0]) & (numbers <= SERIALS[1])).all()):
        notes.append(f"{name!r} read as days since 1899-12-30, as Excel counts dates")
        return TimeColumn((name,), whole=whole, serial=True)
    monotone = bool((steps >= 0).all() or (steps <= 0).all()) or len(layout.names) > 2
    return TimeColumn((name,), whole=whole) if hinted and monotone else None


def _names_time(layout: Layout, name: str) -> bool:
    """Whether a column's name says that its numbers are times.

    T is a temperature, and t_min may be one: a name with a unit counts where numbers seldom fall from row to row, as
    times do that begin anew with every series.
    """
    if name.lower() in CLOCKS:
        return name != "T"
    said = name.strip().lower()
    steps = np.diff(layout.numbers(name)) if UNIT.fullmatch(said) or said in RISING else np.empty(0)
    return len(steps) > 0 and float(np.mean(steps >= 0)) >= MOSTLY and bool((steps > 0).any())


def _whole(numbers: Any) -> bool:
    return bool((numbers == np.rint(numbers)).all())


def _typed(column: Any, unit: str | None, name: str, first: int, stray: Stray) -> Times:
    """Numbers, epochs and Arrow's own dates as times."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_timestamp(kind):
        values = column.cast(pa.timestamp(kind.unit)).to_numpy(zero_copy_only=False)
        return Times(values, None if kind.tz is None else zone_of(kind.tz))
    if pa.types.is_date(kind):
        return Times(column.cast(pa.timestamp("s")).to_numpy(zero_copy_only=False))
    if unit is None or pa.types.is_floating(kind):
        return _of_seconds(_floats(column, name, first, stray), unit)
    try:
        text = pc.if_else(pc.equal(pc.utf8_trim_whitespace(column), ""), None, column) if _is_text(kind) else column
        return Times(text.cast(pa.int64()).cast(pa.timestamp(unit)).to_numpy(zero_copy_only=False))
    except pa.ArrowInvalid:  # seconds with a fraction, or a cell that is no number
        return _of_seconds(_floats(column, name, first, stray), unit)


def _of_seconds(numbers: Any, unit: str | None) -> Times:
    """Numbers as times: of an epoch to the microsecond, as float64 holds them."""
    if unit is None:
        return Times(numbers)
    gone = ~np.isfinite(numbers)
    values = np.rint(np.where(gone, 0, numbers) * (1e6 / dict(EPOCHS)[unit])).astype("datetime64[us]")
    values[gone] = np.datetime64("NaT")
    return Times(values)


def _floats(column: Any, name: str, first: int, stray: Stray) -> Any:
    import pyarrow as pa

    if _is_text(column.type):
        return stray.read(name, column.to_pylist(), first - 1)
    try:
        found = column.cast(pa.float64(), safe=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise ValueError(f"time column {name!r} cannot be read as numbers or dates: {error}") from None
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.float64)


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


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
