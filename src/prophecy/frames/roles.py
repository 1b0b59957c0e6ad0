"""Which columns are predicted, which hold the times, which names the series: by content, noted where it is a choice."""

import itertools
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from prophecy.frames import dates
from prophecy.frames.columns import Hints, Layout
from prophecy.frames.grid import DAY
from prophecy.frames.numbers import MOSTLY
from prophecy.frames.source import TimeColumn
from prophecy.frames.times import PER_SECOND

DATED = frozenset({"date", "datetime", "datum", "ds", "timestamp", "fecha"})
TIMES = DATED | {"time", "zeit"}
"""Names under which text must be dates. Numbers of a plausible size are days as Excel counts them under the first."""

CLOCKS = TIMES | {
    "when", "at", "t", "ts", "epoch", "unix", "unixtime", "zeitstempel", "day", "week", "month", "quarter", "year",
    "jahr", "seconds", "hour", "step", "index",
}  # fmt: skip
"""Names under which numbers are times; dates are found by what they are."""

RISING = CLOCKS | {
    "elapsed", "sample", "samples", "n", "no", "nr", "min", "minute", "minutes", "sec", "frame", "tick", "row",
    "record", "recnum", "rec", "seq", "#",
}  # fmt: skip
UNITS = RISING | {
    "s", "secs", "second", "sek", "ms", "millis", "millisecond", "milliseconds", "us", "µs", "ns", "mins", "h", "hr",
    "hrs", "hours", "d", "days", "y", "yr", "yrs", "years",
}  # fmt: skip
"""What names of time may begin and go on with where their numbers seldom fall from row to row: `min` or `t_min` may be
a minimum."""

COUNTED = frozenset({"elapsed", "duration", "runtime", "uptime"})
"""What names begin with whose hours, minutes and seconds count from a start, and are no times of day."""

KEYS = ("unique_id", "key", "series", "series_id", "sensor", "sensor_id", "item_id", "id", "name")
"""Names under which text tells series apart, and whole numbers that come again do."""

PARTS = {
    "%Y": ("year", "yyyy", "yy", "yr", "jahr", "año", "année", "anno"), "%j": ("doy", "yday", "jday", "julian"),
    "%m": ("month", "mm", "mo", "mon", "monat", "mes"), "%d": ("day", "dd", "dy", "tag"),
    "%H": ("hour", "hh", "hr", "stunde"), "%M": ("minute", "mn", "mi", "min", "mm"),
}  # fmt: skip
"""Names of columns that hold the parts of a date, the coarsest first; the day of the year stands for month and day."""

USUAL = frozenset({*CLOCKS, *KEYS, "value", "y"})  # names that tell a line of names from a title or units
UNNAMED = "Unnamed: "  # what pandas calls columns without a name, with their number
MOST_KEYS = 8  # columns that are tried as keys, alone and together
SERIALS = (20_000, 80_000)  # days since 1899-12-30, as Excel counts them: 1954 to 2119
ERA = (631_152_000, 4_102_444_800)  # seconds: numbers between 1990 and 2100 are taken for epochs
SHOWN = 5  # names of further columns that a message shows
YEARS = (1600, 2200)  # names of columns between which whole numbers that rise by one are years
EVEN = 8  # rows from which numbers that rise by one and the same step are a clock, whatever they are called


class Roles(NamedTuple):
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
        for names in (asked.key, [asked.time] if asked.time else [])
    )
    if asked.beside:
        keys, times = (() if {*names} - {*layout.names} else names for names in (keys, times))
    for what, names in (("", asked.columns), ("time ", times), ("key ", keys)):
        absent = [name for name in names if name not in layout.names]
        if absent:
            raise ValueError(f"{layout.path} has no {what}column {absent[0]!r}; it has {shown}")
    notes: list[str] = []
    keys = keys or _key(layout, {*asked.columns, *times})
    clock = None
    if moments is None and asked.time != "":
        clock = _clock(layout, times, [name for name in layout.names if name not in {*asked.columns, *keys}], notes)
    taken = {*keys, *(clock.columns if clock is not None else ())}
    kinds = ("number", "bool", "text") if asked.beside else ("number",)
    free = [name for name in layout.names if layout[name].kind in kinds and name not in taken]
    values = tuple(asked.columns) or _values(layout, free, keys, clock is not None, notes)
    others = [name for name in layout.names if name not in {*taken, *values}]
    if not asked.columns:
        if asked.header is None:
            spread_over_columns(layout.names, asked)
        if not values:
            nearest = max(
                (name for name in others if layout[name].texts), key=lambda name: len(layout[name].known), default=None
            )
            empty = f"all cells of {others[0]!r} are empty" if others else f"choose with {ways('column')}"
            advice = empty if nearest is None else layout[nearest].why_text()
            raise ValueError(f"{layout.path} has no column of numbers to predict; it has {shown}; {advice}")
        for why, unused in (("no numbers", ("text", "bool")), ("times of day without dates", ("clock",))):
            left = [name for name in others if layout[name].kind in unused]
            names = ", ".join(map(repr, left))
            notes += [f"column{'s' * (len(left) > 1)} {names} left out: {why}"] if left else []
            again = [name for name in left if 1 < len({*layout[name].texts}) <= len(layout[name].texts) / 2]
            if again and not keys and "text" in unused:
                notes.append(f"if {again[0]!r} tells series apart, {ways.keyed(again[0])}")
    for name in values:
        if name in taken:
            raise ValueError(
                f"column {name!r} cannot be both predicted and the time or the key; choose others with "
                f"{ways('column')}, {ways('time')} or {ways('key')}"
            )
        if layout[name].kind not in (*kinds, "bool"):
            raise ValueError(
                f"{layout.path}: column {name!r} does not hold numbers; columns that do: "
                f"{', '.join(map(repr, free)) or 'none'}; {layout[name].why_text()}"
            )
    if not keys and asked.duplicates != "mean":
        _refuse_keyed(layout, () if clock is None else clock.columns, values, moments)
    return Roles(values, clock, keys, tuple(notes))


def _values(layout: Layout, free: list[str], keys: tuple[str, ...], timed: bool, notes: list[str]) -> tuple[str, ...]:
    """Columns of numbers that are predicted: beside a key `value` alone, and none that count the rows."""
    # A column without a name is the row number pandas writes; it is predicted only where there is nothing else.
    values = [name for name in free if name and not name.startswith(UNNAMED)] or free
    lonely = "y" if keys and keys[0].lower() == "unique_id" else "value"
    alone = [name for name in values if name.lower() == lonely][:1] if keys else []
    if layout.asked.beside:
        return tuple(values)
    if alone and len(values) > 1:
        left = ", ".join(repr(name) for name in values if name != alone[0])
        notes.append(f"{alone[0]!r} alone is predicted, not {left}; {layout.ways('column')} chooses")
        return tuple(alone)
    counts = [name for name in values if timed and not layout.strict and _is_of(name, RISING)]
    counts = [name for name in counts if {*np.diff(layout[name].known).tolist()} == {1.0}]  # a logger's RECORD
    if counts and len(counts) < len(values):
        left = ", ".join(map(repr, counts))
        notes.append(f"{left} left out: it counts rows; {layout.ways('column', counts[0])} predicts it")
        values = [name for name in values if name not in counts]
    return tuple(values)


def _key(layout: Layout, taken: set[str]) -> tuple[str, ...]:
    """A column under a usual name of keys: of text, or of whole numbers that come again."""
    lower = {name.lower(): name for name in reversed(layout.names) if name not in taken}
    for usual in filter(lower.__contains__, KEYS):
        name = lower[usual]
        kind = layout[name].kind
        if kind == "text" or (kind == "empty" and usual in KEYS[:2]):
            return (name,)
        numbers = layout[name].known if kind == "number" and usual not in ("id", "name") else np.empty(0)
        if len(numbers) and _whole(numbers) and (usual == "key" or len(set(numbers.tolist())) < len(numbers)):
            return (name,)
    return ()


def _refuse_keyed(layout: Layout, times: Sequence[str], values: Sequence[str], moments: Sequence[Any] | None) -> None:
    """Refuse a table of many series without a key: times come again in rows that differ, and a column of text, or of a
    few whole numbers, tells them apart."""

    def rows(names: Sequence[str]) -> list[tuple[str, ...]]:
        return list(zip(*(map(str, layout[name].first) for name in names), strict=True))

    def is_code(name: str) -> bool:
        kinds = {str(cell) for cell in layout[name].first}
        return 2 * len(kinds) <= len(whole) and all(kind.removesuffix(".0").isdigit() for kind in kinds)

    moments = rows(times) if times else moments
    if not moments or len(set(moments)) == len(moments):
        return
    whole = rows(layout.names)
    if len(set(moments)) == len(set(zip(moments, whole, strict=True))):  # exact duplicates alone
        return
    texts, codes = (
        [name for name in layout.names if layout[name].kind == kind and name not in times]
        for kind in ("text", "number")
    )
    codes = [name for name in codes if name not in values or (len(values) > 1 and is_code(name))]
    some = (*texts, *codes)[:MOST_KEYS]
    for names in itertools.chain.from_iterable(itertools.combinations(some, size) for size in (1, 2, 3)):
        cells = rows(names)
        if 1 < len(set(cells)) < len(cells) == len(set(zip(moments, cells, strict=True))):
            where = f" in {' '.join(times)!r}" if times else ""
            together = f"{' and '.join(map(repr, names))} {'tells' if len(names) == 1 else 'together tell'}"
            raise ValueError(
                f"{layout.path} holds many series: times{where} repeat, and {together} their rows apart; "
                f"{layout.ways.keyed(*names)}, or {layout.ways.mean}"
            )


def spread_over_columns(names: Sequence[str], asked: Hints) -> None:
    """Refuse a table whose columns are moments, years, months or dates, with a row for each series or year."""
    dated = [name for name in names if dates.is_date(name) and not name.isdigit()]
    years = {name: int(name) for name in names if name.isdecimal()}
    years = years if all(YEARS[0] <= year <= YEARS[1] for year in years.values()) else {}  # 0, 1, 2 … are numbers
    months = {name: month for name in names if (month := dates.month_of(name)) is not None}
    rising = (list(some) for some in (years, months) if all(b - a == 1 for a, b in itertools.pairwise(some.values())))
    across = next((some for some in (*rising, dated) if len(some) >= 3), [])
    if across:
        others = [name for name in names if name not in across]
        others = others if len(others) <= SHOWN else [*others[:SHOWN], "…"]
        called = "month" if across[0] in months else "time"
        anyway = "" if asked.ways.option == "=" else f"; if they are names of series, {asked.ways('header')}"
        raise ValueError(
            f"its columns are times ({across[0]} … {across[-1]}), one row a series; transpose it, so that every time "
            f"is a row: with pandas, table.melt({others!r}, var_name={called!r}), or "
            f"table.set_index({others[:1]!r}).T{anyway}"
        )


def _clock(layout: Layout, times: Sequence[str], free: Sequence[str], notes: list[str]) -> TimeColumn | None:
    """The column of times: those that were named, dates, the parts of dates, numbers under a name of times, text that
    must be dates, and last of all numbers that rise evenly."""
    given, ways = layout.asked.time_format, layout.ways
    if times:
        return _joined(layout, times, notes) if len(times) > 1 else _named(layout, times[0], layout.names, notes)
    dated = [name for name in free if layout[name].kind in ("date", "typed")]
    if given is not None:
        dates.given(given)
        dated = dated or [name for name in free if dates.fits(layout[name].texts, given)]
    if len(dated) > 1:
        if layout.strict:
            raise ValueError(f"several columns hold dates: {', '.join(map(repr, dated))}; name one with {ways('time')}")
        dated = sorted(dated, key=lambda name: not _is_of(name, CLOCKS))
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
    unread = [name for name in free if _is_of(name, TIMES) and layout[name].kind in ("text", "empty")]
    if unread:  # rows would be taken without times
        return _named(layout, unread[0], free, notes)
    if given is not None:
        raise ValueError(f"{layout.path}: no column fits {ways('time_format', given)}; name one with {ways('time')}")
    numbers = [name for name in free if layout[name].kind == "number"]
    return None if layout.strict or len(numbers) < 2 or not numbers[0] else _even(layout, numbers[0], notes)


def _parts(layout: Layout, free: Sequence[str]) -> dict[str, str]:
    """Columns for the year, the month and so on, by the pattern of each; they end where one is missing."""
    words = [name for name in free if layout[name].kind == "text" and all(map(dates.month_of, layout[name].texts))]
    left = [name for name in free if layout[name].kind == "number" or name in words]
    by_day = any(name.lower() in PARTS["%j"] for name in left)
    found: dict[str, str] = {}
    for pattern, names in PARTS.items():
        if pattern in (("%m", "%d") if by_day else ("%j",)):
            continue
        name = next((name for name in left if name.lower() in names), None)
        if name is None:
            break
        found["%b" if name in words else pattern] = name
        left.remove(name)
    texts = [" ".join(row) for row in zip(*(layout[name].texts[:20] for name in found.values()), strict=False)]
    return found if len(found) > 1 and dates.fits(texts, " ".join(found)) else {}


def _even(layout: Layout, name: str, notes: list[str]) -> TimeColumn | None:
    """The first of several columns where it counts: numbers that rise by one step from row to row hold no news."""
    numbers = layout[name].known
    steps = np.diff(numbers)
    if len(numbers) < EVEN or not steps[0] > 0 or np.ptp(steps) > 1e-9 * np.abs(numbers).max():
        return None
    notes.append(f"{name!r} rises evenly and is taken as the time; {layout.ways('column', name)} predicts it")
    return TimeColumn((name,), whole=_whole(numbers))


def _named(layout: Layout, time: str, free: Sequence[str], notes: list[str]) -> TimeColumn:
    """The clock of a column that is one, joined with a column of times of day where it has none itself."""
    given, ways = layout.asked.time_format, layout.ways
    kind = layout[time].kind
    if kind == "clock":
        dated = [name for name in free if layout[name].kind == "date"]
        if dated:
            return _joined(layout, (dated[0], time), notes)
        if (clock := _elapsed(layout, time, notes)) is not None:
            return clock
        raise ValueError(
            f"column {time!r} has times of day without dates; name a column of dates with {ways('time')}, or none"
        )
    if kind == "typed":
        return TimeColumn((time,), typed=True)
    texts = layout[time].texts
    if given is not None:
        if texts and not dates.fits(texts, given):
            raise ValueError(f"{layout.path}: column {time!r}: {texts[0]!r} does not fit {ways('time_format', given)}")
        return TimeColumn((time,), dates.given(given))
    if kind == "date":
        of_day = [name for name in free if layout[name].kind == "clock"]
        if of_day and not any(":" in cell for cell in texts[:100]):
            return _joined(layout, (time, of_day[0]), notes)
    elif (clock := _numeric(layout, time, True, notes)) is not None:
        return clock
    elif kind == "number" and len(layout[time].known):
        return TimeColumn((time,), whole=_whole(layout[time].known))
    if not texts:
        raise ValueError(f"{layout.path}: time column {time!r} is empty; name another with {ways('time')}")
    return TimeColumn((time,), _pattern(layout, time, texts, notes))


def _joined(layout: Layout, names: Sequence[str], notes: list[str]) -> TimeColumn:
    """A date and a time of day, or the parts of a date."""
    given = layout.asked.time_format or " ".join(_parts(layout, names))
    rows = ([str(cell) for cell in row] for row in zip(*(layout[name].first for name in names), strict=True))
    cells = [" ".join(row) for row in rows if all(row)]
    pattern = dates.given(given) if given else _pattern(layout, " ".join(names), cells, notes)
    notes.append(f"columns {', '.join(map(repr, names[:-1]))} and {names[-1]!r} joined to one time")
    return TimeColumn(tuple(names), pattern)


def _pattern(layout: Layout, name: str, cells: list[str], notes: list[str]) -> str:
    pattern, note = dates.pattern_of(cells, name, lambda pattern: layout.ways("time_format", pattern))
    notes += [] if note is None else [note]
    return pattern


def _numeric(layout: Layout, name: str, hinted: bool, notes: list[str]) -> TimeColumn | None:
    """Numbers that are times: epochs, dates without marks (20240131), or increasing ones under a name of time."""
    numbers = layout[name].known if layout[name].kind == "number" else np.empty(0)
    if not len(numbers):
        return _elapsed(layout, name, notes)
    steps, whole, (low, high) = np.diff(numbers), _whole(numbers), (numbers.min(), numbers.max())
    ordered = len(steps) > 0 and bool((steps > 0).all() or (steps < 0).all())
    if whole and (hinted or ordered) and low >= 19000101 and high <= 21001231:
        cells = layout[name].texts
        if all(map(dates.is_date, cells[:100])):
            return TimeColumn((name,), _pattern(layout, name, cells, notes))
    for unit, scale in PER_SECOND.items():
        if ERA[0] * scale <= low and high <= ERA[1] * scale and (hinted or ordered) and (whole or unit == "s"):
            notes.append(f"{name!r} read as time since 1970 in {'µs' if unit == 'us' else unit}")
            return TimeColumn((name,), unit=unit, whole=whole)
    if _is_of(name, TIMES) and {*_words(name)} & DATED and low >= SERIALS[0] and high <= SERIALS[1]:
        notes.append(f"{name!r} read as days since 1899-12-30, as Excel counts dates")
        return TimeColumn((name,), whole=whole, serial=True)
    # Beside further columns numbers may begin anew with every series of a file; in a frame they must not fall.
    even = bool((steps >= 0).all() or (steps <= 0).all())
    monotone = ordered or (even and _is_of(name, CLOCKS)) if layout.strict else even or len(layout.names) > 2
    return TimeColumn((name,), whole=whole) if hinted and monotone else None


def _elapsed(layout: Layout, name: str, notes: list[str]) -> TimeColumn | None:
    """Hours, minutes and seconds since a start, by the column's name or where there are more than a day has; they fall
    seldom from row to row: where a series begins anew."""
    seconds = layout[name].known if layout[name].kind == "clock" else np.empty(0)
    counted = {*_words(name)[:1]} & COUNTED or seconds.max(initial=0) > DAY
    if not counted or (np.diff(seconds) >= 0).sum() < MOSTLY * (len(seconds) - 1):
        return None
    notes.append(f"{name!r} read as hours, minutes and seconds since a start")
    return TimeColumn((name,), elapsed=True)


def _words(name: str) -> list[str]:
    """The words of a name, in small letters; T, a temperature, is none of time."""
    return re.findall(r"[^\W\d_]+|\d+|#", name.lower()) if name != "T" else ["T"]


def _is_of(name: str, words: frozenset[str]) -> bool:
    return bool(found := {*_words(name)}) and found <= words


def is_time_name(name: str) -> bool:
    """Whether numbers under a name are times whatever they are: `t`, `time [s]`, but not `min`."""
    return _is_of(name, UNITS) and _words(name)[0] in CLOCKS


def _names_time(layout: Layout, name: str) -> bool:
    """Whether a column's name says that its numbers are times, which seldom fall from row to row where it says so by a
    unit or in a word of several meanings."""
    if not _is_of(name, UNITS) or _words(name)[0] not in RISING:
        return False
    steps = np.diff(layout[name].known)
    return _is_of(name, CLOCKS) or bool((steps >= 0).sum() >= MOSTLY * len(steps) and (steps > 0).any())


def _whole(numbers: Any) -> bool:
    return bool((numbers == np.rint(numbers)).all())
