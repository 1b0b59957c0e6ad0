"""One cell of text as a date: the patterns there are, whether a cell fits one, and which moment it means.

A pattern is written in the words of `strptime` (`%d.%m.%Y`); times of day after it are read however precise they are.
"""

from __future__ import annotations

import re
from functools import lru_cache

import numpy as np

PATTERNS = (
    "%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%Y%m%d", "%d.%m.%Y", "%d.%m.%y", "%d. %b %Y",
    "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%d/%m/%y", "%m/%d/%y", "%d-%m-%y", "%m-%d-%y",
    "%d %b %Y", "%d-%b-%Y", "%d-%b-%y", "%d/%b/%Y", "%b %d, %Y", "%b %d %Y", "%a, %d %b %Y", "%a %d %b %Y",
    "%G-W%V-%u", "%G-W%V", "%GW%V", "%Y-%m", "%Y/%m", "%YM%m", "%m/%Y", "%b %Y", "%b-%Y", "%b-%y",
    "%Y-Q%q", "%YQ%q", "%Y Q%q", "Q%q %Y",
)  # fmt: skip
"""Dates with points are day first, as everywhere they are written so."""

_NAMES = (
    "jan january januar", "feb february februar", "mar march mär märz mrz", "apr april", "may mai", "jun june juni",
    "jul july juli", "aug august", "sep sept september", "oct october okt oktober", "nov november",
    "dec december dez dezember",
)  # fmt: skip
_MONTHS = {name: number for number, names in enumerate(_NAMES, start=1) for name in names.split()}

PIECES = {
    "Y": r"(?P<Y>[12]\d{3})", "y": r"(?P<y>\d{2})", "m": r"(?P<m>0?[1-9]|1[0-2])", "d": r"(?P<d>0?[1-9]|[12]\d|3[01])",
    "b": r"(?P<b>[^\W\d_]{3,9})\.?", "B": r"(?P<b>[^\W\d_]{3,9})", "G": r"(?P<G>[12]\d{3})",
    "V": r"(?P<V>0[1-9]|[1-4]\d|5[0-3])",
    "u": r"(?P<u>[1-7])", "q": r"(?P<q>[1-4])", "j": r"(?P<j>\d{3})", "a": r"[^\W\d_]{2,10}\.?", "A": r"[^\W\d_]{2,10}",
    "H": r"(?P<H>[01]?\d|2[0-4])", "I": r"(?P<I>0?[1-9]|1[0-2])", "M": r"(?P<M>[0-5]\d)", "S": r"(?P<S>[0-5]\d|60)",
    "f": r"(?P<f>\d{1,9})", "p": r"(?P<p>[AaPp]\.?[Mm]\.?)", "z": r"(?P<z>Z|[+-]\d{2}(?::?\d{2})?)", "%": "%",
}  # fmt: skip
_CLOCK = (
    r"(?:(?P<sep>[T ]|,? +)(?P<H>[01]?\d|2[0-4])(?P<colon>[:.hH])(?P<M>[0-5]\d)(?:[:.](?P<S>[0-5]\d|60)"
    r"(?:[.,](?P<f>\d{1,9}))?)?(?: ?(?P<p>[AaPp]\.?[Mm]\.?))?(?P<z> ?(?:Z|UTC|GMT|[+-]\d{2}(?::?\d{2})?))?)?"
)
_OF_DAY = re.compile(r"\s*([01]?\d|2[0-4]):([0-5]\d)(:([0-5]\d|60)([.,]\d{1,9})?)?( ?[AaPp]\.?[Mm]\.?)?\s*")
_COMPACT = re.compile(r"(\d{8})T?(\d{2})(\d{2})(\d{2})?")


def is_date(cell: str) -> bool:
    """Whether a cell reads as a date of some pattern."""
    return bool(fitting(cell))


def is_time_of_day(cell: str) -> bool:
    """Whether a cell is a time without a date, such as 14:30."""
    return _OF_DAY.fullmatch(cell) is not None


@lru_cache(maxsize=256)
def _compiled(pattern: str, whole: bool) -> re.Pattern[str]:
    parts = re.split("%(.)", pattern)
    text = "".join(PIECES[part] if i % 2 else re.escape(part) for i, part in enumerate(parts))
    return re.compile(text if whole else text + _CLOCK)


def matched(pattern: str, cell: str, whole: bool = False) -> re.Match[str] | None:
    """A cell read by a pattern, None where it does not fit. whole: the pattern has the time of day in it."""
    found = _compiled(pattern, whole).fullmatch(cell.strip())
    if found is None and pattern == "%Y%m%d" and not whole:
        compact = _COMPACT.fullmatch(cell.strip())
        if compact is not None:
            return matched(pattern, f"{compact[1]} {compact[2]}:{compact[3]}:{compact[4] or '00'}")
    return found if found is None or fields_of(found) is not None else None


def fitting(cell: str) -> list[str]:
    """The patterns by which a cell is a date."""
    return [pattern for pattern in PATTERNS if matched(pattern, cell) is not None]


def fields_of(match: re.Match[str]) -> tuple[int, ...] | None:
    """(days since 1970, hour, minute, second, nanosecond, 1, 0, 0), or None where there is no such day."""
    found = match.groupdict()
    days = _day_number(found)
    if days is None:
        return None
    hour = int(found.get("H") or 0)
    if found.get("I"):
        hour = int(found["I"])
    half = (found.get("p") or "").lower()
    if half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half.startswith("p") else 0)
    minute, second = int(found.get("M") or 0), int(found.get("S") or 0)
    if hour == 24 and (minute or second):
        return None
    return days, hour, minute, second, int((found.get("f") or "0").ljust(9, "0")), 1, 0, 0


def _day_number(found: dict[str, str | None]) -> int | None:
    if found.get("G"):
        first = np.datetime64(f"{found['G']}-01-04", "D").astype(int)  # always in week 1
        monday = first - (first + 3) % 7
        return int(monday + 7 * (int(found["V"] or 1) - 1) + int(found.get("u") or 1) - 1)
    year = int(found.get("Y") or 0) or century(int(found.get("y") or 70))
    if found.get("j"):
        return int(np.datetime64(f"{year:04d}-01-01", "D").astype(int)) + int(found["j"] or 1) - 1
    month = int(found.get("m") or 1)
    if found.get("b"):
        name = (found["b"] or "").lower()
        if name not in _MONTHS:
            return None
        month = _MONTHS[name]
    if found.get("q"):
        month = 3 * int(found["q"] or 1) - 2
    return _days_from(year, month, int(found.get("d") or 1))


@lru_cache(maxsize=4096)
def _days_from(year: int, month: int, day: int) -> int | None:
    start = np.datetime64(f"{year:04d}-{month:02d}", "M")
    days = int((start + 1).astype("datetime64[D]").astype(int)) - int(start.astype("datetime64[D]").astype(int))
    return int(start.astype("datetime64[D]").astype(int)) + day - 1 if day <= days else None


def century(year: int) -> int:
    """Years of two digits lie between 1969 and 2068, as `strptime` has it."""
    return year + (1900 if year >= 69 else 2000)


def seconds_of(zone: str) -> int:
    """Seconds by which a zone such as `+01:00`, `-0530`, `Z` or `UTC` is ahead of UTC."""
    if zone in ("Z", "UTC", "GMT"):
        return 0
    digits = zone[1:].replace(":", "").ljust(4, "0")
    return (1 if zone[0] == "+" else -1) * (int(digits[:2]) * 3600 + int(digits[2:]) * 60)
