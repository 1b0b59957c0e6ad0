"""Dates in text: which moment a cell means, and which way a column is written.

A column has one *pattern* for its dates, in the words of `strptime` (`%d.%m.%Y`), found by content; times of day after
it are read however precise they are. Two patterns differ in day and month alone: where a column does not decide between
them it is refused, with both readings shown, unless only one of them gives evenly spaced rows.
"""

import re
from collections.abc import Callable, Sequence
from datetime import date, timedelta, timezone
from functools import lru_cache
from typing import Any

import numpy as np

from prophecy.frames.grid import infer
from prophecy.frames.numbers import MOSTLY
from prophecy.frames.times import Times, parse_offset

PATTERNS = (
    "%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%Y%m%d", "%d.%m.%Y", "%d.%m.%y", "%d. %b %Y",
    "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%d/%m/%y", "%m/%d/%y", "%d-%m-%y", "%m-%d-%y",
    "%d %b %Y", "%d-%b-%Y", "%d-%b-%y", "%d/%b/%Y", "%b %d, %Y", "%b %d %Y", "%a, %d %b %Y", "%a %d %b %Y",
    "%G-W%V-%u", "%G-W%V", "%GW%V", "%Y-%m", "%Y/%m", "%YM%m", "%m/%Y", "%b %Y", "%b-%Y", "%b-%y", "%b/%Y", "%b/%y",
    "%Y-Q%q", "%YQ%q", "%Y Q%q", "Q%q %Y", "%Y年%m月%d日", "%Y年%m月", "%Y년 %m월 %d일",
)  # fmt: skip
"""Dates with points are day first, as everywhere they are written so."""

ISO = PATTERNS[0]

_NAMES = (
    "january januar janvier enero gennaio janeiro januari", "february februar février febrero febbraio fevereiro",
    "march märz mars marzo março maart mrz mrt", "april avril abril aprile", "may mai mayo maggio maio mei",
    "june juni juin junio giugno junho", "july juli juillet julio luglio julho",
    "august août aout agosto augustus", "september septembre septiembre settembre setembro",
    "october oktober octobre octubre ottobre outubro", "november novembre noviembre novembro",
    "december dezember décembre diciembre dicembre dezembro",
)  # fmt: skip

_PIECES = {
    "Y": r"(?P<Y>[12]\d{3})", "y": r"(?P<y>\d{2})", "m": r"(?P<m>0?[1-9]|1[0-2])", "d": r"(?P<d>0?[1-9]|[12]\d|3[01])",
    "b": r"(?P<b>[^\W\d_]{3,10})\.?", "B": r"(?P<b>[^\W\d_]{3,10})", "G": r"(?P<G>[12]\d{3})",
    "V": r"(?P<V>0[1-9]|[1-4]\d|5[0-3])",
    "u": r"(?P<u>[1-7])", "q": r"(?P<q>[1-4])", "j": r"(?P<j>\d{1,3})",
    "a": r"[^\W\d_]{2,10}\.?", "A": r"[^\W\d_]{2,10}",
    "H": r"(?P<H>[01]?\d|2[0-4])", "I": r"(?P<I>0?[1-9]|1[0-2])", "M": r"(?P<M>[0-5]?\d)", "S": r"(?P<S>[0-5]?\d|60)",
    "f": r"(?P<f>\d{1,9})", "p": r"(?P<p>[AaPp]\.?[Mm]\.?)", "z": r"(?P<z>Z|[+-]\d{2}(?::?\d{2})?)", "%": "%",
}  # fmt: skip
_CLOCK = (
    r"(?:(?P<sep>[T ]|,? +)(?P<H>[01]?\d|2[0-4])(?P<colon>[:.hH])(?P<M>[0-5]\d)(?:[:.](?P<S>[0-5]\d|60)"
    r"(?:[.,](?P<f>\d{1,9}))?)?(?: ?(?P<p>[AaPp]\.?[Mm]\.?))?(?P<z> ?(?:Z|UTC|GMT|[+-]\d{2}(?::?\d{2})?))?)?"
)
TIME_OF_DAY = re.compile(r"\s*([01]?\d|2[0-4])[:.][0-5]\d([:.]([0-5]\d|60)([.,]\d{1,9})?)?( ?[AaPp]\.?[Mm]\.?)?\s*")
_ELAPSED = re.compile(r"(?:(\d+) days?,? )?(\d{1,4}):([0-5]\d)(?::([0-5]\d(?:\.\d{1,9})?))?")
_ISO = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)?")
_COMPACT = re.compile(r"(\d{8})T?(\d{2})(\d{2})(\d{2})?(Z|[+-]\d{2}:?\d{2})?")

JUDGED = 400  # cells that decide about a column: enough for a rare one, read in some milliseconds
LONGEST = 64  # characters of a pattern: a date with nanoseconds and an offset has 35

Way = Callable[[str], str]  # names the option that says how dates are written
Moment = tuple[int, int, int | None]  # seconds since 1970, nanoseconds, seconds ahead of UTC where it says so


def is_date(cell: str) -> bool:
    """Whether a cell reads as a date of some pattern."""
    return any(_moment(pattern, cell) is not None for pattern in PATTERNS)


def elapsed(cell: str) -> float | None:
    """Seconds since midnight, or since a start (`25:10:00`, `1 days 01:10:00`); None where a cell does not say them."""
    found = _ELAPSED.fullmatch(cell.strip())
    days, hours, minutes, seconds = ("0", *"000") if found is None else found.groups("0")
    return None if found is None else 86_400 * int(days) + 3600 * int(hours) + 60 * int(minutes) + float(seconds)


def as_elapsed(seconds: float) -> str:
    """Seconds as `elapsed` reads them.

    >>> as_elapsed(90061.5), elapsed("25:01:01.5")
    ('25:01:01.500000', 90061.5)
    """
    whole, rest = divmod(round(float(seconds) * 10**6), 10**6)
    return f"{whole // 3600:02d}:{whole // 60 % 60:02d}:{whole % 60:02d}" + (f".{rest:06d}" if rest else "")


def fits(cells: Sequence[str], pattern: str) -> bool:
    """Whether there are cells, the first of which are moments of a pattern that a user wrote."""
    pattern = given(pattern)
    return bool(cells) and all(_moment(pattern, cell) is not None for cell in cells[:20])


@lru_cache(maxsize=256)
def month_of(word: str) -> int | None:
    """The month that a word is the name of, or the first three letters or more of one; None where it is of no month,
    or of several."""
    found = {k for k, names in enumerate(_NAMES, 1) for name in names.split() if name.startswith(word.lower())}
    return found.pop() if len(found) == 1 and len(word) > 2 else None


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    """A pattern and, where it has none itself, a time of day."""
    parts = re.split("%(.)", pattern)
    text = "".join(_PIECES[part] if i % 2 else re.escape(part) for i, part in enumerate(parts))
    return re.compile(text if {*"HIMSfpz"} & {*parts[1::2]} else text + _CLOCK)


def _fields(pattern: str, cell: str) -> dict[str, Any] | None:
    """The parts of a cell by a pattern; None where it does not fit."""
    match = _compiled(pattern).fullmatch(cell.strip())
    if match is None and pattern == "%Y%m%d" and (compact := _COMPACT.fullmatch(cell.strip())):
        day, hour, minute, second, zone = compact.groups("")
        return _fields(pattern, f"{day} {hour}:{minute}:{second or '00'}{zone}")
    return None if match is None else match.groupdict()


def _moment(pattern: str, cell: str) -> Moment | None:
    """The moment a cell means; None where it does not fit the pattern, or there is no such day or hour."""
    found = _fields(pattern, cell)
    if found is None or (day := _day(found)) is None:
        return None
    hour, minute, second = (int(found.get(part) or 0) for part in "HMS")
    hour = int(found.get("I") or hour)
    half = (found.get("p") or "").lower()
    if half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half.startswith("p") else 0)
    if hour == 24 and (minute or second):
        return None
    zone = (found.get("z") or "").strip()
    nano = int((found.get("f") or "0").ljust(9, "0"))
    return ((day * 24 + hour) * 60 + minute) * 60 + second, nano, parse_offset(zone) if zone else None


def _day(found: dict[str, Any]) -> int | None:
    """The day of a cell's parts, counted from 1970; None where there is none. Years of two digits lie between 1969 and
    2068, as `strptime` has it."""
    short = int(found.get("y") or 70)
    year = int(found.get("Y") or short + (1900 if short >= 69 else 2000))
    month = 3 * int(found["q"]) - 2 if found.get("q") else int(found.get("m") or 1)
    month = month_of(found["b"]) or 0 if found.get("b") else month
    try:
        if found.get("G"):
            day = date.fromisocalendar(int(found["G"]), int(found["V"] or 1), int(found.get("u") or 1))
        else:
            day = date(year, month, int(found.get("d") or 1))
    except ValueError:
        return None
    return day.toordinal() - date(1970, 1, 1).toordinal() + int(found.get("j") or 1) - 1


def pattern_of(
    cells: Sequence[str], name: str = "time", way_out: Way = lambda pattern: f"time_format={pattern!r}"
) -> tuple[str, str | None]:
    """The pattern of a column's cells (a good many, none of them empty), and a note where it was not obvious."""
    cells = list(dict.fromkeys(cells))
    if quick(cells, ISO) is not None:
        return ISO, None
    begun = next((cell for cell in cells[:JUDGED] if is_date(cell)), cells[0])
    patterns, first_wrong = [], None
    for pattern in (pattern for pattern in PATTERNS if _moment(pattern, begun) is not None):
        wrong = [cell for cell in cells if _moment(pattern, cell) is None]
        dated = next((cell for cell in wrong if is_date(cell)), None)
        if dated is None and len(wrong) <= (1 - MOSTLY) * len(cells) + 1e-9:
            patterns.append(pattern)
        else:
            first_wrong = dated or wrong[0]
    if not patterns:
        raise ValueError(_unreadable(cells, name, way_out, first_wrong))
    if len(patterns) == 1:
        return patterns[0], None
    cells = [cell for cell in cells if _moment(patterns[0], cell) is not None]
    return _day_or_month(patterns, cells, name, way_out)


def _unreadable(cells: Sequence[str], name: str, way_out: Way, wrong: str | None) -> str:
    """Why cells are not dates of one pattern, and what to do. wrong: the first that is unlike the first date."""
    if wrong is not None and is_date(wrong):
        return f"column {name!r} writes dates in two ways, {cells[0]!r} and {wrong!r}; write all of them in one"
    if wrong is not None:
        return f"column {name!r} holds {wrong!r} and others among its dates; correct them, or leave the cells empty"
    said = way_out(_with_rest(cells[0]) or "%d.%m.%Y %H:%M")
    return f"column {name!r} cannot be read as dates: {cells[0]!r}; say how with {said}"


def _with_rest(cell: str) -> str | None:
    """The pattern of a cell that begins with a date and goes on with words: `%Y-%m-%d %H:%M CET`."""
    words = cell.split()
    for size in range(len(words) - 1, 0, -1):
        start, rest = " ".join(words[:size]), " ".join(words[size:])
        pattern = next((pattern for pattern in PATTERNS if _moment(pattern, start) is not None), None)
        if pattern is not None:
            clock = {0: "", 1: " %H:%M"}.get(start.count(":"), " %H:%M:%S")
            return f"{pattern}{clock} {rest}"
    return None


def _day_or_month(patterns: list[str], cells: Sequence[str], name: str, way_out: Way) -> tuple[str, str | None]:
    """Of two readings that both fit, the one whose rows are evenly spaced; refused where both or neither are."""
    even = []
    for pattern in patterns:
        times = read(cells, pattern, name)
        times = Times(np.unique(times.values), times.zone)
        grid = infer(times) if len(times) > 2 else None
        if grid is not None and len(times) > 0.5 * (grid.positions(times)[-1] + 1):
            even.append((pattern, grid))
    # Shown by a row in which they differ, where there is one.
    cell = next((c for c in cells if len({_readable(c, p) for p in patterns[:2]}) > 1), cells[0])
    if len(even) == 1:
        pattern, grid = even[0]
        meant = f"{cell!r} is {_readable(cell, pattern)}"
        note = f"{name!r} is read as {pattern} ({meant}), which makes its rows even: {grid.words()}"
        return pattern, note
    one, two = (_readable(cell, pattern) for pattern in patterns[:2])
    raise ValueError(
        f"column {name!r}: {cell!r} is {one} ({patterns[0]}) or {two} ({patterns[1]}), and the column does not "
        f"decide it; say which with {way_out(patterns[0])}"
    )


def _readable(cell: str, pattern: str) -> str:
    moment = _moment(pattern, cell)
    day = date(1970, 1, 1) + timedelta(seconds=moment[0] if moment else 0)
    return f"{day.day} {day:%b %Y}"


def given(pattern: str) -> str:
    """A pattern that a user wrote in the words of `strptime`, checked; after one of dates alone times of day are read.

    >>> read(["01.02.2024 10:30"], given("%d.%m.%Y")).text(0)
    '2024-02-01 10:30'
    """
    if len(pattern) > LONGEST:
        raise ValueError(f"time format {pattern[:20]!r} … has {len(pattern)} characters; use at most {LONGEST}")
    marks = re.findall("%(.)", pattern)
    unknown = sorted(set(marks) - set(_PIECES))
    once = ["b" if mark == "B" else mark for mark in marks if mark not in "aA%"]
    twice = next((mark for mark in once if once.count(mark) > 1), None)
    if twice is not None:
        raise ValueError(f"time format {pattern!r} has %{twice} twice; name every part of a date once")
    if unknown or not re.search("%[YyGbBjmd]", pattern):
        what = f"%{unknown[0]}" if unknown else "no year, month or day"
        raise ValueError(f"time format {pattern!r} has {what}; use %Y %m %d %H %M %S %f %b %p %z %G %V %u %j")
    return pattern


def read(
    cells: Sequence[str | None],
    pattern: str,
    name: str = "time",
    rows: Sequence[int] | None = None,
    stray: list[tuple[int, str]] | None = None,
) -> Times:
    """Cells as moments, in the coarsest unit that holds them and the zone of the last offset; None and empty cells are
    NaT. rows: their numbers, for messages.

    stray: takes rows and cells that are no dates, which are then NaT; without it they are refused.
    """
    if (times := quick(cells, pattern)) is not None:
        return times
    seconds, nano = np.zeros(len(cells), np.int64), np.zeros(len(cells), np.int64)
    there, ahead, zoned = np.zeros(len(cells), bool), np.zeros(len(cells), np.int64), False
    for k, (row, cell) in enumerate(zip(rows or range(1, len(cells) + 1), cells, strict=True)):
        if cell is None or not cell.strip():
            continue
        moment = _moment(pattern, cell)
        if moment is not None:
            there[k], seconds[k], nano[k] = True, moment[0] - (moment[2] or 0), moment[1]
            ahead[k], zoned = moment[2] or 0, zoned or moment[2] is not None
        elif stray is None or is_date(cell):
            wrong = f"{cell!r} is not a date like the others ({pattern})"
            raise ValueError(f"column {name!r}, row {row}: {wrong}; correct it, or leave the cell empty")
        else:
            stray.append((row, cell[:40]))
    unit, per = ("s", 1) if not nano.any() else ("us", 10**6) if not (nano % 1000).any() else ("ns", 10**9)
    values = (seconds * per + nano // (10**9 // per)).astype(f"datetime64[{unit}]")
    values[~there] = np.datetime64("NaT")
    if not zoned:
        return Times(values)
    ahead[~there] = ahead[there][-1]
    zone = timezone(timedelta(seconds=int(ahead[-1])))
    return Times(values, zone, ahead if np.ptp(ahead) else None)


def quick(cells: Sequence[str | None], pattern: str) -> Times | None:
    """ISO dates without a zone by NumPy's own parser, which is thirty times as fast; None where it does not do."""
    if pattern != ISO or not len(cells) or not all(cell and _ISO.fullmatch(cell) for cell in cells):
        return None
    try:
        return Times(np.array(cells, dtype="datetime64"))
    except ValueError:
        return None
