"""Which columns are predicted, which hold the times, which names the series: by content, noted where it is a choice."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from prophecy.frames import dates
from prophecy.frames.clock import EPOCHS, TimeColumn
from prophecy.frames.columns import Hints, Layout
from prophecy.frames.numbers import MOSTLY

CLOCKS = (
    "time", "timestamp", "datetime", "date_time", "date time", "date", "when", "at", "ds", "t", "ts", "epoch", "unix",
    "unixtime", "unix_ms", "datum", "zeit", "zeitstempel", "day", "week", "month", "quarter", "year", "jahr", "seconds",
    "hour", "step", "index", "fecha",
)  # fmt: skip
"""Names under which increasing *numbers* are times; dates are found by what they are."""

TIMES = ("time", "timestamp", "datetime", "date", "ds", "zeit", "datum", "fecha")
"""Names under which text must be dates."""

RISING = (
    "elapsed", "sample", "samples", "n", "no", "nr", "min", "minute", "minutes", "sec", "frame",
    "tick", "row", "record", "recnum", "rec", "seq", "#",
)  # fmt: skip
"""Names under which numbers are times where they seldom fall from row to row: `min` may be a minimum."""

UNIT = re.compile(
    r"(time|timestamp|t|ts|elapsed|elapsed[ _]time|zeit)[ _.]?(?:[\[(/] ?)?"
    r"(?:s|secs?|seconds?|sek|ms|millis|milliseconds?|us|µs|ns|min|mins|minutes?|h|hrs?|hours?|d|days?|y|yrs?|years?)[\])]?"
)
"""A name of time with its unit, as instruments write it (`t_ms`, `Time [s]`, `elapsed (min)`), in small letters."""

KEYS = ("unique_id", "key", "series", "series_id", "sensor", "sensor_id", "item_id", "id", "name")
"""Names under which text tells series apart, and whole numbers that come again do."""

DATED = ("date", "datetime", "date_time", "date time", "datum", "ds", "timestamp")
"""Names under which numbers of days since 1899-12-30 are dates, as Excel counts them."""

MOST_KEYS = 8  # columns that are tried as keys, alone and together
JOINT = "/"  # between the parts of a key
USUAL = frozenset({*CLOCKS, *KEYS, "value", "y"})  # names that tell a line of names from a title or units
SERIALS = (20_000, 80_000)  # such days: 1954 to 2119
ERA = (631_152_000, 4_102_444_800)  # seconds: numbers between 1990 and 2100 are taken for epochs
EVEN = 8  # rows from which numbers that rise by one and the same step are a clock, whatever they are called
PARTS = {
    "%Y": ("year", "yyyy", "yy", "yr", "jahr", "año", "année", "anno"),
    "%m": ("month", "mm", "mo", "mon", "monat", "mes"), "%d": ("day", "dd", "dy", "tag"),
    "%H": ("hour", "hh", "hr", "stunde"), "%M": ("minute", "mn", "mi", "min", "mm"),
}  # fmt: skip
"""Names of columns that hold the parts of a date, the coarsest first."""

YEARS = (1600, 2200)  # names of columns between which whole numbers that rise by one are years


@dataclass(frozen=True)
class Roles:
    """Columns to predict, the clock, the columns that name the series, and what to print about the choice."""

    values: tuple[str, ...]
    clock: TimeColumn | None
    keys: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def key(self) -> str | None:
        """The column of keys, or what several are called together."""
        return " + ".join(self.keys) if self.keys else None

    @property
    def time(self) -> str | None:
        return None if self.clock is None else " ".join(self.clock.columns)


def resolve(layout: Layout, moments: Sequence[Any] | None = None) -> Roles:
    """Give every column its part, or say which ones there are. moments: times that are known beside the columns."""
    asked, ways = layout.asked, layout.ways
    shown = ", ".join(name or "(unnamed)" for name in layout.names[:50]) + (" …" if len(layout.names) > 50 else "")
    keys, times = (
        tuple(part for name in names for part in ([name] if name in layout.names else name.split(" + ")))
        for names in (asked.keys, [asked.time] if asked.time else [])
    )
    for what, names in (("", asked.columns), ("time ", times), ("key ", keys)):
        absent = [name for name in names if name not in layout.names]
        if absent:
            raise ValueError(f"{layout.path} has no {what}column {absent[0]!r}; it has {shown}")
    notes: list[str] = []
    keys = keys or _key(layout, {*asked.columns, *times})
    taken = {*asked.columns, *keys}
    clock = None if moments is not None or asked.time == "" else _clock(layout, times, taken, notes)
    taken = {*keys, *(clock.columns if clock is not None else ())}
    free = [name for name in layout.names if layout.kind(name) == "number" and name not in taken]
    values = tuple(asked.columns) or _values(layout, free, keys, clock is not None, notes)
    if asked.header is None and not asked.columns:
        spread_over_columns(values, asked)
    if not values:
        others = [name for name in layout.names if name not in taken and layout.filled(name)]
        nearest = max(others, key=lambda name: len(layout.numbers(name)), default=None)
        advice = f"choose with {ways('column')}" if nearest is None else layout.why_text(nearest)
        raise ValueError(f"{layout.path} has no column of numbers to predict; it has {shown}; {advice}")
    others = [n for n in layout.names if n not in {*taken, *values} and layout.kind(n) in ("text", "bool")]
    if others and not asked.columns:
        notes.append(f"column{'s' * (len(others) > 1)} {', '.join(map(repr, others))} left out: no numbers")
    for name in values:
        if name in taken:
            raise ValueError(
                f"column {name!r} cannot be both predicted and the time or the key; choose others with "
                f"{ways('column')}, {ways('time')} or {ways('key')}"
            )
        if layout.kind(name) not in ("number", "bool"):
            raise ValueError(
                f"{layout.path}: column {name!r} does not hold numbers; columns that do: "
                f"{', '.join(map(repr, free)) or 'none'}; {layout.why_text(name)}"
            )
    if not keys and asked.duplicates != "mean":
        _refuse_keyed(layout, clock, values, moments)
    return Roles(values, clock, keys, tuple(notes))


def _values(layout: Layout, free: list[str], keys: tuple[str, ...], timed: bool, notes: list[str]) -> tuple[str, ...]:
    """Columns of numbers that are predicted: beside a key `value` alone, and none that count the rows."""
    # A column without a name is the row number pandas writes; it is predicted only where there is nothing else.
    values = [name for name in free if name] or free
    lonely = "y" if keys and keys[0].lower() == "unique_id" else "value"
    alone = [name for name in values if name.lower() == lonely][:1] if keys else []
    if alone and len(values) > 1:
        left = ", ".join(repr(name) for name in values if name != alone[0])
        notes.append(f"{alone[0]!r} alone is predicted, not {left}; {layout.ways('column')} chooses")
        return tuple(alone)
    counts = [name for name in values if _counts(layout, name)] if timed and not layout.strict else []
    if counts and len(counts) < len(values):
        left = ", ".join(map(repr, counts))
        notes.append(f"{left} left out, for counting rows; {layout.ways('column', counts[0])} predicts it")
        values = [name for name in values if name not in counts]
    return tuple(values)


def _counts(layout: Layout, name: str) -> bool:
    """Whether numbers rise by one from row to row, under a name that says so (a logger's RECORD)."""
    numbers = layout.numbers(name) if name.strip().lower() in (*CLOCKS, *RISING) else np.empty(0)
    return len(numbers) > 1 and bool((np.diff(numbers) == 1).all())


def _key(layout: Layout, taken: set[str]) -> tuple[str, ...]:
    """A column under a usual name of keys: of text, or of whole numbers that come again."""
    lower = {name.lower(): name for name in reversed(layout.names) if name not in taken}
    for usual in KEYS:
        name = lower.get(usual)
        if name is None:
            continue
        if layout.kind(name) == "text" or (layout.kind(name) == "empty" and usual in KEYS[:2]):
            return (name,)
        counted = layout.kind(name) == "number" and usual not in ("id", "name")
        numbers = layout.numbers(name) if counted else np.empty(0)
        if len(numbers) and _whole(numbers) and (usual == "key" or len(set(numbers.tolist())) < len(numbers)):
            return (name,)
    return ()


def _refuse_keyed(
    layout: Layout, clock: TimeColumn | None, values: Sequence[str], moments: Sequence[Any] | None
) -> None:
    """Refuse a table of many series without a key: times come again with other numbers, and a column of text, or of a
    few whole numbers, tells their rows apart."""
    times = () if clock is None else clock.columns

    def rows(names: Sequence[str]) -> list[tuple[str, ...]]:
        return list(zip(*(map(str, layout.column(name)) for name in names), strict=True))

    moments = moments if clock is None else rows(times)
    numbers = rows(values)
    if not moments or len(numbers) != len(moments) or len(set(moments)) == len(set(zip(moments, numbers, strict=True))):
        return
    texts = [name for name in layout.names if layout.kind(name) == "text" and name not in times]
    codes = [name for name in layout.names if layout.kind(name) == "number" and name not in times]
    codes = [name for name in codes if name not in values or (len(values) > 1 and _is_code(layout.column(name)))]
    some = (*texts, *codes)[:MOST_KEYS]
    for names in itertools.chain.from_iterable(itertools.combinations(some, size) for size in (1, 2, 3)):
        cells = rows(names)
        if 1 < len(set(cells)) < len(cells) == len(set(zip(moments, cells, strict=True))):
            where = "" if clock is None else f" in {' '.join(times)!r}"
            together = f"{' and '.join(map(repr, names))} {'tells' if len(names) == 1 else 'together tell'}"
            raise ValueError(
                f"{layout.path} holds many series: times{where} repeat, and {together} their rows apart; "
                f"{layout.ways.keyed(*names)}, or average rows of one time with {layout.ways.mean}"
            )


def _is_code(cells: Sequence[Any]) -> bool:
    """Whether cells are a few whole numbers that come again."""
    kinds = {str(cell) for cell in cells}
    return len(kinds) <= len(cells) / 2 and all(kind.removesuffix(".0").isdigit() for kind in kinds)


def spread_over_columns(names: Sequence[str], asked: Hints) -> None:
    """Refuse a table whose columns are moments: years, or dates, with a row for each series."""
    dated = [name for name in names if dates.is_date(name) and not name.isdigit()]
    years = [int(name) for name in names if name.isdigit() and YEARS[0] <= int(name) <= YEARS[1]]
    rising = len(years) >= 3 and all(b - a == 1 for a, b in itertools.pairwise(years))
    if rising or len(dated) >= 3:
        first, last = (years[0], years[-1]) if rising else (dated[0], dated[-1])
        others = [name for name in names if name not in dated and not name.isdigit()]
        anyway = "" if asked.ways.option == "=" else f"; if they are names of series, {asked.ways('header')}"
        raise ValueError(
            f"its columns are times ({first} … {last}), one row a series; transpose it, so that every time is a row: "
            f"with pandas, table.melt({others!r}, var_name='time'), or table.set_index({others[:1]!r}).T{anyway}"
        )


def _clock(layout: Layout, times: Sequence[str], taken: set[str], notes: list[str]) -> TimeColumn | None:
    """The column of times: those that were named, dates, the parts of dates, numbers under a name of times, text that
    must be dates, and last of all numbers that rise evenly."""
    given, ways = layout.asked.time_format, layout.ways
    if times:
        return _joined(layout, times, notes) if len(times) > 1 else _named(layout, times[0], layout.names, notes)
    free = [name for name in layout.names if name not in taken]
    dated = [name for name in free if layout.kind(name) in ("date", "typed")]
    if given is not None:
        dates.given(given)
        dated = dated or [name for name in free if _fits(layout.texts(name), given)]
    if len(dated) > 1:
        if layout.strict:
            raise ValueError(f"several columns hold dates: {', '.join(map(repr, dated))}; name one with {ways('time')}")
        dated = [*(name for name in dated if name.lower() in CLOCKS), *dated]
        notes.append(f"several columns hold dates: {dated[0]!r} taken as the time, {ways('time')} chooses another")
    if dated:
        return _named(layout, dated[0], free, notes)
    parts = _parts(layout, free)
    if parts:
        return _joined(layout, tuple(parts.values()), notes)
    for name in free:
        clock = _numeric(layout, name, _names_time(layout, name), notes)
        if clock is not None:
            return clock
    unread = [name for name in free if name.lower() in TIMES and layout.kind(name) in ("text", "empty")]
    if unread:  # rows would be taken without times
        return _named(layout, unread[0], free, notes)
    if given is not None:
        raise ValueError(f"{layout.path}: no column fits {ways('time_format', given)}; name one with {ways('time')}")
    numbers = [name for name in free if layout.kind(name) == "number"]
    return None if layout.strict or len(numbers) < 2 or not numbers[0] else _even(layout, numbers[0], notes)


def _parts(layout: Layout, free: Sequence[str]) -> dict[str, str]:
    """Columns for the year, the month and so on, by the pattern of each; they end where one is missing."""
    found: dict[str, str] = {}
    left = [name for name in free if layout.kind(name) == "number"]
    for pattern, names in PARTS.items():
        name = next((name for name in left if name.lower() in names), None)
        if name is None:
            break
        found[pattern] = name
        left.remove(name)
    texts = [" ".join(row) for row in zip(*(layout.texts(name)[:20] for name in found.values()), strict=False)]
    return found if len(found) > 1 and _fits(texts, " ".join(found)) else {}


def _even(layout: Layout, name: str, notes: list[str]) -> TimeColumn | None:
    """The first of several columns where it counts: numbers that rise by one step from row to row hold no news."""
    numbers = layout.numbers(name)
    steps = np.diff(numbers)
    if len(numbers) < EVEN or not steps[0] > 0 or np.ptp(steps) > 1e-9 * np.abs(numbers).max():
        return None
    notes.append(f"{name!r} rises evenly and is taken as the time; {layout.ways('column', name)} predicts it")
    return TimeColumn((name,), whole=_whole(numbers))


def _named(layout: Layout, time: str, free: Sequence[str], notes: list[str]) -> TimeColumn:
    """The clock of a column that is one, joined with a column of times of day where it has none itself."""
    given, ways = layout.asked.time_format, layout.ways
    kind, texts = layout.kind(time), layout.texts(time)
    if kind == "clock":
        dated = [name for name in free if layout.kind(name) == "date"]
        if not dated:
            raise ValueError(
                f"column {time!r} has times of day without dates; name a column of dates with {ways('time')}"
            )
        return _joined(layout, (dated[0], time), notes)
    if kind == "typed":
        return TimeColumn((time,), typed=True)
    if given is not None:
        if texts and not _fits(texts, given):
            raise ValueError(f"{layout.path}: column {time!r}: {texts[0]!r} does not fit {ways('time_format', given)}")
        return TimeColumn((time,), dates.given(given, texts[-1:]))
    if kind == "date":
        of_day = [name for name in free if layout.kind(name) == "clock"]
        if of_day and not any(":" in cell for cell in texts[:100]):
            return _joined(layout, (time, of_day[0]), notes)
    elif (clock := _numeric(layout, time, True, notes)) is not None:
        return clock
    elif kind == "number" and len(layout.numbers(time)):
        return TimeColumn((time,), whole=_whole(layout.numbers(time)))
    if not texts:
        raise ValueError(f"{layout.path}: time column {time!r} is empty; name another with {ways('time')}")
    return TimeColumn((time,), _style(layout, time, texts, notes))


def _joined(layout: Layout, names: Sequence[str], notes: list[str]) -> TimeColumn:
    """A date and a time of day, or the parts of a date."""
    given = layout.asked.time_format or " ".join(_parts(layout, names))
    rows = ([str(cell) for cell in row] for row in zip(*map(layout.column, names), strict=True))
    cells = [" ".join(row) for row in rows if all(row)]
    style = dates.given(given, cells[-1:]) if given else _style(layout, " ".join(names), cells, notes)
    notes.append(f"columns {', '.join(map(repr, names[:-1]))} and {names[-1]!r} joined to one time")
    return TimeColumn(tuple(names), style)


def _style(layout: Layout, name: str, cells: list[str], notes: list[str]) -> dates.Style:
    style, note = dates.style_of(cells, name, lambda pattern: layout.ways("time_format", pattern))
    notes += [] if note is None else [note]
    return style


def _fits(cells: Sequence[str], given: str) -> bool:
    style = dates.given(given, cells[-1:])
    try:
        dates.read(cells[:20], style)
    except ValueError:
        return False
    return bool(cells)


def _numeric(layout: Layout, name: str, hinted: bool, notes: list[str]) -> TimeColumn | None:
    """Numbers that are times: epochs, dates without marks (20240131), or increasing ones under a name in `CLOCKS`."""
    numbers = layout.numbers(name) if layout.kind(name) == "number" else np.empty(0)
    if not len(numbers):
        return None
    steps, whole, (low, high) = np.diff(numbers), _whole(numbers), (numbers.min(), numbers.max())
    ordered = len(steps) > 0 and bool((steps > 0).all() or (steps < 0).all())
    if whole and (hinted or ordered) and low >= 19000101 and high <= 21001231:
        cells = layout.texts(name)
        if all(map(dates.is_date, cells[:100])):
            return TimeColumn((name,), _style(layout, name, cells, notes))
    for unit, scale in EPOCHS.items():
        if ERA[0] * scale <= low and high <= ERA[1] * scale and (hinted or ordered) and (whole or unit == "s"):
            notes.append(f"{name!r} read as time since 1970 in {'µs' if unit == 'us' else unit}")
            return TimeColumn((name,), unit=unit, whole=whole)
    if name.lower() in DATED and low >= SERIALS[0] and high <= SERIALS[1]:
        notes.append(f"{name!r} read as days since 1899-12-30, as Excel counts dates")
        return TimeColumn((name,), whole=whole, serial=True)
    # Beside further columns numbers may begin anew with every series of a file; in a frame they must rise.
    monotone = ordered if layout.strict else bool((steps >= 0).all() or (steps <= 0).all()) or len(layout.names) > 2
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
