"""Cells as numbers; those that are not like the others are counted, named, and taken as missing up to a share."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prophecy.frames.names import count
from prophecy.frames.numbers import MOSTLY, NumberStyle, is_missing, number, two_ways

if TYPE_CHECKING:
    from prophecy.frames.columns import Hints

Array = NDArray[np.float64]

NAMED = 3  # stray cells of a column that are shown
OFTEN = 3  # times that a number comes before it may be a code
EARLY = 5_000  # rows after which too many stray cells end the reading


class End(NamedTuple):
    """The least number of some, how often it comes, and the next one."""

    first: float = math.inf
    times: int = 0
    second: float = math.inf

    def joined(self, numbers: Array) -> End:
        """With further numbers."""
        least = float(numbers.min())
        times = int(np.count_nonzero(numbers == least))
        above = float(np.min(numbers, where=numbers > least, initial=math.inf))
        if least == self.first:
            return End(least, self.times + times, min(self.second, above))
        if least < self.first:
            return End(least, times, min(self.first, above))
        return End(self.first, self.times, min(self.second, least))


class Column:
    """What was met in one column: filled cells, stray ones (the first few with their rows), least and largest."""

    def __init__(self) -> None:
        self.filled = self.stray = 0
        self.shown: list[tuple[int, str]] = []
        self.low, self.high = End(), End()

    def code(self) -> tuple[float, int] | None:
        """A number that comes again and again, further from all others than these are from each other; how often."""
        for end, far, sign in ((self.low, -self.high.first, 1.0), (self.high, -self.low.first, -1.0)):
            rest = far - end.second  # of the others
            if end.times >= OFTEN and rest > 0 and end.second - end.first > rest:
                return sign * end.first, end.times
        return None


class Stray:
    """What was passed over while a table was read. notes: filled when it has been read."""

    def __init__(self, asked: Hints) -> None:
        self._asked = asked
        self.styles: Mapping[str, NumberStyle] = {}  # how columns of text write numbers
        self._columns: dict[str, Column] = {}
        self._ragged, self._shown = 0, ""
        self.rows = 0  # read so far
        self.notes: list[str] = []

    def ragged(self, row: Any) -> str:
        """Arrow's row with another number of cells than the others: passed over."""
        self._ragged += 1
        if not self._shown:
            cells = f"{row.actual_columns} cells instead of {row.expected_columns}"
            self._shown = f"row {row.number} of the file, {cells}: {row.text[:80]!r}"
        return "skip"

    def done(self, rows: int) -> None:
        """A further piece has been read."""
        self.rows += rows
        if self.rows > EARLY:
            self._check()

    def read(self, name: str, cells: Any, before: int | None = None) -> Array:
        """Cells (a list, or a column of numbers or text) as numbers, NaN where they are missing or stray.

        before: rows of the data before them.
        """
        values = _quick(cells, self.styles.get(name, NumberStyle()))
        mine = self._columns.setdefault(name, Column())
        if values is None:
            before = self.rows if before is None else before
            values = self._one_by_one(name, cells if isinstance(cells, list) else cells.to_list(), before)
        else:
            mine.filled += int(np.count_nonzero(~np.isnan(values)))
        codes = self._asked.codes
        values = np.where(np.isin(values, codes), np.nan, values) if codes else values
        known = values[np.isfinite(values)]
        if len(known):
            mine.low, mine.high = mine.low.joined(known), mine.high.joined(-known)
        return values

    def _one_by_one(self, name: str, cells: list[Any], before: int) -> Array:
        style, absent, mine = self.styles.get(name, NumberStyle()), self._asked.absent, self._columns[name]
        values = np.full(len(cells), np.nan)
        for place, cell in enumerate(cells):
            if cell is None or (isinstance(cell, str) and is_missing(cell, absent)):
                continue
            mine.filled += 1
            value = style.read(cell) if isinstance(cell, str) else _number(cell)
            if value is not None:
                values[place] = value
                continue
            other = "," if style.decimal == "." else "."
            if isinstance(cell, str) and not self._asked.decimal and number(cell, other) is not None:
                point, comma = (cell, "1,5") if other == "." else ("1.5", cell)
                raise ValueError(two_ways(name, point, comma, self._asked.ways("decimal", other)))
            mine.stray += 1
            if len(mine.shown) < NAMED:
                mine.shown.append((before + place + 1, str(cell)[:40]))
        return values

    def missing_times(self, name: str, shown: list[tuple[int, str]], count: int, filled: int) -> None:
        """Cells of the time column that are no times, some of them shown; their rows are left out."""
        mine = self._columns.setdefault(name, Column())
        mine.filled, mine.stray = mine.filled + filled, mine.stray + count
        mine.shown += shown[:NAMED]

    def _check(self) -> None:
        for name, mine in self._columns.items():
            if mine.stray > (1 - MOSTLY) * mine.filled + 1e-9:
                row, cell = mine.shown[0]
                raise ValueError(
                    f"column {name!r}: {mine.stray:,} of {mine.filled:,} cells are not like the others, the first is "
                    f"{cell!r} in row {row} of the data; at most {1 - MOSTLY:.0%} are taken as missing; correct them, "
                    f"or name cells without a value with {self._asked.ways('missing', cell)}"
                )
        if self._ragged > (1 - MOSTLY) * (self.rows + self._ragged) + 1e-9:
            raise ValueError(
                f"{self._ragged:,} of {self.rows + self._ragged:,} rows have another number of cells than the others, "
                f"the first in {self._shown}; quote cells that hold the separator, or name the separator with "
                f"{self._asked.ways('sep', ';')}"
            )

    def finish(self) -> None:
        """Say what was passed over; refuse where it was too much."""
        self._check()
        for name, mine in self._columns.items():
            if mine.stray:
                shown = ", ".join(f"{cell!r} (row {row})" for row, cell in mine.shown[:NAMED])
                more = f" and {mine.stray - NAMED:,} more" if mine.stray > NAMED else ""
                self.notes.append(f"{count(mine.stray, 'cell')} of {name!r} taken as missing: {shown}{more}")
        for name, mine in self._columns.items():
            if (found := mine.code()) is not None:
                code = f"{found[0]:.15g}"
                said = f"{code} comes {found[1]:,} times in {name!r}, far from all other values; if it means 'no value'"
                self.notes.append(f"{said}, {self._asked.ways('missing', code)}")
        if self._ragged:
            self.notes.append(f"{count(self._ragged, 'row')} with another number of cells left out ({self._shown})")


def is_text(column: Any) -> bool:
    """Whether a narwhals column holds text, or objects of any kind."""
    import narwhals.stable.v2 as nw

    return not (column.dtype.is_numeric() or column.dtype == nw.Boolean)


def _quick(cells: Any, style: NumberStyle) -> Array | None:
    """A whole column at once: one of numbers, or Arrow's text of plain numbers; None where it must be cell by cell."""
    if isinstance(cells, list):
        return None
    import narwhals.stable.v2 as nw

    if not is_text(cells):
        return np.asarray(cells.cast(nw.Float64).to_numpy(), dtype=np.float64)
    if not cells.implementation.is_pyarrow() or not style.plain:
        return None
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        text = pc.utf8_trim_whitespace(cells.to_native())
        found = pc.if_else(pc.equal(text, ""), None, text).cast(pa.float64())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # some cell is no plain number
        return None
    values = np.asarray(found.to_numpy(), dtype=np.float64)
    return None if np.isinf(values).any() else values


def _number(cell: Any) -> float | None:
    return float(cell) if isinstance(cell, int | float | np.number) and not isinstance(cell, bool) else None
