"""Columns of dates in text: which way a column is written, what its cells mean, and how the next ones are written.

A column has one *pattern* for its dates (`patterns`), found by content. Two of them differ in day and month alone;
where a column does not decide between them it is refused, with both readings shown, unless only one of them gives
evenly spaced rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, timedelta, timezone, tzinfo
from typing import Any

import numpy as np

from prophecy.frames.grid import infer
from prophecy.frames.patterns import PIECES, century, fields_of, fitting, is_date, is_time_of_day, matched, seconds_of
from prophecy.frames.times import Times

__all__ = ["Style", "given", "is_date", "is_time_of_day", "read", "style_of"]

JUDGED = 400  # cells looked at for the first that is a date
LONGEST = 64  # characters of a pattern: a date with nanoseconds and an offset has 35
STRAY = 0.1  # share of cells that may be no dates

Way = Callable[[str], str]  # names the option that says how dates are written

_ENGLISH = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


@dataclass(frozen=True)
class Style:
    """How a column writes its moments: the date's pattern and what of the time of day is shown, as in its last cell."""

    pattern: str
    whole: bool = False  # the pattern has the time of day in it (given by the user)
    sep: str = ""
    clock: str = ""  # "", "M", "S" or "f": how precise
    digits: int = 0  # of the fraction
    half_days: bool = False  # am and pm
    zone: str = ""
    padded: bool = True

    def write(self, times: Times) -> list[str]:
        """These moments as cells of the column."""
        shift = seconds_of(self.zone.strip()) if self.zone.strip() else None
        wall = times.wall() if shift is None else times.values + np.timedelta64(shift, "s")
        style = self if self.whole else self._enough_for(wall)
        return [style._cell(moment) for moment in wall]

    def _enough_for(self, wall: Any) -> Style:
        """More of the time of day than the column showed, where the moments need it."""
        clock = next((c for c, unit in (("", "D"), ("M", "m"), ("S", "s")) if _on(wall, unit)), "f")
        if "_MSf".find(clock or "_") <= "_MSf".find(self.clock or "_"):
            return self
        return replace(self, clock=clock, sep=self.sep or " ", digits=6 if clock == "f" else 0)

    def _cell(self, moment: Any) -> str:
        day = moment.astype("datetime64[D]")
        year, month = str(moment.astype("datetime64[Y]")), int(moment.astype("datetime64[M]").astype(int)) % 12 + 1
        of_month = int((day - moment.astype("datetime64[M]").astype("datetime64[D]")).astype(int)) + 1
        iso_year, week, weekday = day.item().isocalendar()
        second = int((moment.astype("datetime64[s]") - day.astype("datetime64[s]")).astype(int))
        fraction = int((moment.astype("datetime64[ns]") - moment.astype("datetime64[s]")).astype("m8[ns]").astype(int))
        hour = second // 3600
        two = "{:02d}" if self.padded else "{:d}"
        fields = {
            "Y": year, "y": year[-2:], "m": two.format(month), "d": two.format(of_month), "b": _ENGLISH[month - 1],
            "B": _ENGLISH[month - 1], "G": f"{iso_year}", "V": f"{week:02d}", "u": f"{weekday}",
            "q": f"{(month + 2) // 3}",
            "j": f"{int((day - day.astype('datetime64[Y]').astype('datetime64[D]')).astype(int)) + 1:03d}",
            "a": _DAYS[weekday - 1], "A": _DAYS[weekday - 1], "H": f"{hour:02d}", "I": f"{(hour + 11) % 12 + 1:02d}",
            "M": f"{second // 60 % 60:02d}", "S": f"{second % 60:02d}", "f": f"{fraction:09d}"[: self.digits or 6],
            "p": "AM" if hour < 12 else "PM", "z": self.zone.strip() or "", "%": "%",
        }  # fmt: skip
        date = re.sub("%(.)", lambda mark: fields[mark[1]], self.pattern)
        if self.whole:
            return date
        text = date
        if self.clock:
            text += self.sep + (fields["I"] if self.half_days else fields["H"]) + ":" + fields["M"]
            text += f":{fields['S']}" if self.clock in "Sf" else ""
            text += f".{fields['f']}" if self.clock == "f" else ""
            text += f" {fields['p']}" if self.half_days else ""
            text += self.zone
        return text


def _as_argument(pattern: str) -> str:
    return f"time_format={pattern!r}"


def style_of(cells: Sequence[str], name: str = "time", way_out: Way = _as_argument) -> tuple[Style, str | None]:
    """The style of a column's cells (a good many of them, without empty ones), and a note where it was not obvious."""
    begun = next((cell for cell in cells[:JUDGED] if fitting(cell)), cells[0])
    patterns, few = fitting(begun), STRAY * len(cells)
    for pattern in patterns[:]:
        wrong = [cell for cell in cells if matched(pattern, cell) is None]
        dated = next((cell for cell in wrong if fitting(cell)), None)
        if dated is not None or len(wrong) > few:
            patterns.remove(pattern)
            first_wrong = dated or wrong[0]
    if not patterns:
        raise ValueError(_unreadable(cells, name, way_out, first_wrong if fitting(begun) else None))
    cells = [cell for cell in cells if matched(patterns[0], cell) is not None]
    if len(patterns) == 1:
        return _styled(patterns[0], cells[-1]), None
    return _day_or_month(patterns, cells, name, way_out)


def _unreadable(cells: Sequence[str], name: str, way_out: Way, wrong: str | None) -> str:
    """Why cells are not dates of one pattern, and what to do. wrong: the first that is unlike the first cell, if that
    one is a date."""
    if wrong is not None and fitting(wrong):
        return f"column {name!r} writes dates in two ways, {cells[0]!r} and {wrong!r}; write all of them in one"
    if wrong is not None:
        return f"column {name!r} holds {wrong!r} and others among its dates; correct them, or leave the cells empty"
    if len(cells) > 1 and fitting(cells[1]):
        return (
            f"column {name!r} begins with {cells[0]!r}, which is not a date, and goes on with dates; remove that line "
            "(perhaps of units)"
        )
    return f"column {name!r} cannot be read as dates: {cells[0]!r}; say how with {way_out('%d.%m.%Y %H:%M')}"


def _day_or_month(patterns: list[str], cells: Sequence[str], name: str, way_out: Way) -> tuple[Style, str | None]:
    """Of two readings that both fit, the one whose rows are evenly spaced; refused where both or neither are."""
    even = []
    for pattern in patterns:
        times = read(cells, _styled(pattern, cells[-1]), name)
        values = np.unique(times.values)
        grid = infer(Times(values, times.zone)) if len(values) > 2 else None
        if grid is not None and len(values) > 0.5 * (grid.positions(Times(values, times.zone))[-1] + 1):
            even.append((pattern, grid))
    # Shown by a row in which they differ, where there is one.
    cell = next((c for c in cells if len({_readable(c, p) for p in patterns[:2]}) > 1), cells[0])
    one, two = (_readable(cell, pattern) for pattern in patterns[:2])
    if len(even) == 1:
        pattern, grid = even[0]
        meant = f"{cell!r} is {_readable(cell, pattern)}"
        note = f"{name!r} is read as {pattern} ({meant}), which makes its rows even: {grid.words()}"
        return _styled(pattern, cells[-1]), note
    raise ValueError(
        f"column {name!r}: {cell!r} is {one} ({patterns[0]}) or {two} ({patterns[1]}), and the column does not "
        f"tell; say which with {way_out(patterns[0])}"
    )


def _readable(cell: str, pattern: str) -> str:
    match = matched(pattern, cell)
    assert match is not None
    found = match.groupdict()
    year = found.get("Y") or f"{century(int(found['y']))}"
    return f"{int(found['d'])} {_ENGLISH[int(found['m']) - 1]} {year}"


def given(pattern: str, like: Sequence[str] = ()) -> Style:
    """The style of a pattern a user wrote in the words of `strptime`. One without a time of day is that of dates, and
    times of day after them are read and written as in the cell `like`.

    >>> given("%d.%m.%Y %H:%M").write(Times(np.array(["2024-02-01T10:30"], "M8[s]")))
    ['01.02.2024 10:30']
    """
    if len(pattern) > LONGEST:
        raise ValueError(f"time format {pattern[:20]!r} … has {len(pattern)} characters; use at most {LONGEST}")
    marks = re.findall("%(.)", pattern)
    unknown = sorted(set(marks) - set(PIECES))
    once = ["b" if mark == "B" else mark for mark in marks if mark not in "aA%"]
    twice = next((mark for mark in once if once.count(mark) > 1), None)
    if twice is not None:
        raise ValueError(f"time format {pattern!r} has %{twice} twice; name every part of a date once")
    if unknown or not re.search("%[YyGbBjmd]", pattern):
        what = f"%{unknown[0]}" if unknown else "no year, month or day"
        raise ValueError(f"time format {pattern!r} has {what}; use %Y %m %d %H %M %S %f %b %p %z %G %V %u %j")
    if like and not re.search("%[HIMSfp]", pattern) and matched(pattern, like[-1]) is not None:
        return _styled(pattern, like[-1])
    return Style(pattern, whole=True, digits=6, zone="")


def read(
    cells: Sequence[str | None],
    style: Style,
    name: str = "time",
    first: int = 1,
    stray: list[tuple[int, str]] | None = None,
) -> Times:
    """Cells as moments; None and empty cells are NaT. `first` is the number of the first row, for messages.

    stray: takes rows and cells that are no dates, which are then NaT; without it they are refused.
    """
    quick = _numpy(cells, style)
    if quick is not None:
        return quick
    rows: list[tuple[int, ...]] = []
    offsets: list[int | None] = []
    for row, cell in enumerate(cells):
        if cell is None or not cell.strip():
            rows.append((0,) * 8)
            offsets.append(None)
            continue
        match = matched(style.pattern, cell, style.whole)
        fields = None if match is None else fields_of(match)
        if fields is None and stray is not None and not fitting(cell):
            stray.append((first + row, cell[:40]))
            rows.append((0,) * 8)
            offsets.append(None)
            continue
        if fields is None:
            raise ValueError(
                f"column {name!r}, row {first + row}: {cell!r} is not a date like the others ({style.pattern})"
            )
        zone = match.groupdict().get("z") if match is not None else None
        offsets.append(None if zone is None else seconds_of(zone.strip()))
        rows.append(fields)
    return _assembled(np.array(rows, dtype=np.int64).reshape(-1, 8), offsets)


def _assembled(rows: Any, offsets: list[int | None]) -> Times:
    """Fields (days since 1970, hour, minute, second, nanosecond, there, …) as moments of the coarsest fitting unit."""
    days, hour, minute, second, nano, there = rows[:, :6].T
    seconds = ((days * 24 + hour) * 60 + minute) * 60 + second
    zones = {offset for offset in offsets if offset is not None}
    if zones:
        seconds = seconds - np.array([offset or 0 for offset in offsets], dtype=np.int64)
    if not nano.any():
        values = seconds.astype("datetime64[s]")
    elif not (nano % 1000).any():
        values = (seconds * 10**6 + nano // 1000).astype("datetime64[us]")
    else:
        values = (seconds * 10**9 + nano).astype("datetime64[ns]")
    values[there == 0] = np.datetime64("NaT")
    zone: tzinfo | None = None
    if zones:
        last = [offset for offset in offsets if offset is not None][-1]
        zone = UTC if last == 0 else timezone(timedelta(seconds=last))
    return Times(values, zone)


def _styled(pattern: str, like: str) -> Style:
    match = matched(pattern, like)
    assert match is not None
    found = match.groupdict()
    clock = "" if not found.get("H") else "f" if found.get("f") else "S" if found.get("S") else "M"
    padded = not any(re.search(r"(?<!\d)\d(?!\d)", found.get(part) or "") for part in ("d", "m"))
    return Style(
        pattern,
        False,
        found.get("sep") or "",
        clock,
        len(found.get("f") or ""),
        bool(found.get("p")),
        found.get("z") or "",
        padded,
    )


def _numpy(cells: Sequence[str | None], style: Style) -> Times | None:
    """ISO dates without a zone by NumPy's own parser, which is thirty times as fast; None where it does not do."""
    if style.whole or style.pattern != "%Y-%m-%d" or style.zone or style.half_days or not len(cells) or not cells[0]:
        return None
    length = len(cells[0])
    if length < 10 or any(cell is None or len(cell) != length or cell[-1] == "Z" or "+" in cell for cell in cells):
        return None
    try:
        values = np.array(cells, dtype="datetime64")
    except ValueError:
        return None
    if np.datetime_data(values.dtype)[0] in ("D", "h", "m", "s"):
        return Times(values.astype("datetime64[s]"))
    return Times(values.astype("datetime64[us]")) if length <= 26 else Times(values.astype("datetime64[ns]"))


def _on(wall: Any, unit: str) -> bool:
    return bool((wall == wall.astype(f"datetime64[{unit}]")).all())
