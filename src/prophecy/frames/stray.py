"""Cells and rows that are not like the others: counted, named, and taken as missing up to a share."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prophecy.frames.numbers import MOSTLY, NumberStyle, is_missing, number, two_ways

if TYPE_CHECKING:
    from prophecy.frames.roles import Hints, Roles

Array = NDArray[np.float64]

DATED = datetime | date
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
        count = int(np.count_nonzero(numbers == least))
        above = float(np.min(numbers, where=numbers > least, initial=math.inf))
        if least == self.first:
            return End(least, self.times + count, min(self.second, above))
        if least < self.first:
            return End(least, count, min(self.first, above))
        return End(self.first, self.times, min(self.second, least))


class Stray:
    """What was passed over while a table was read. notes: filled when it has been read."""

    def __init__(self, asked: Hints, styles: Mapping[str, NumberStyle] | None = None) -> None:
        self._asked, self._styles = asked, styles or {}
        self._cells: dict[str, list[tuple[int, str]]] = {}
        self._counts: dict[str, int] = {}
        self._filled: dict[str, int] = {}
        self._rows, self._ragged = 0, 0
        self._ends: dict[str, tuple[End, End]] = {}
        self._shown = ""
        self.notes: list[str] = []

    def ragged(self, row: Any) -> str:
        """Arrow's row with another number of cells than the others: passed over."""
        self._ragged += 1
        if not self._shown:
            cells = f"{row.actual_columns} cells instead of {row.expected_columns}"
            self._shown = f"row {row.number} of the file, {cells}: {row.text[:80]!r}"
        return "skip"

    def numbers(self, batch: Any, roles: Roles) -> Any:
        """A batch of text with the value columns as numbers."""
        import pyarrow as pa

        columns = []
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            if name in roles.values:
                column = pa.array(self._column(name, column), pa.float64(), from_pandas=True)
            columns.append(column)
        self._rows += batch.num_rows
        if self._rows > EARLY:
            self._check()
        return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)

    def _column(self, name: str, column: Any) -> Array:
        import pyarrow as pa
        import pyarrow.compute as pc

        style = self._styles.get(name, NumberStyle())
        if style.plain:
            text = pc.utf8_trim_whitespace(column)
            try:
                found = pc.if_else(pc.equal(text, ""), None, text).cast(pa.float64())
                values = np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.float64)
                if not np.isinf(values).any():
                    self._filled[name] = self._filled.get(name, 0) + len(values) - found.null_count
                    return self._without(name, values)
            except pa.ArrowInvalid:
                pass  # some cell is no plain number: one by one
        return self.read(name, column.to_pylist(), self._rows)

    def read(self, name: str, cells: Sequence[Any], before: int) -> Array:
        """Cells as numbers, NaN where they are missing or stray. before: rows of the data before them."""
        style, absent = self._styles.get(name, NumberStyle()), self._asked.absent
        values = np.full(len(cells), np.nan)
        for place, cell in enumerate(cells):
            if cell is None or (isinstance(cell, str) and is_missing(cell, absent)):
                continue
            self._filled[name] = self._filled.get(name, 0) + 1
            value = style.read(cell) if isinstance(cell, str) else _number(cell)
            if value is not None:
                values[place] = value
                continue
            other = "," if style.decimal == "." else "."
            if isinstance(cell, str) and not self._asked.decimal and number(cell, other) is not None:
                point, comma = (cell, "1,5") if other == "." else ("1.5", cell)
                raise ValueError(two_ways(name, point, comma, self._asked.ways("decimal", other)))
            self._counts[name] = self._counts.get(name, 0) + 1
            some = self._cells.setdefault(name, [])
            if len(some) < NAMED:
                some.append((before + place + 1, str(cell)[:40]))
        return self._without(name, values)

    def coded(self, name: str, column: Any) -> Any:
        """A column of numbers without those that were said to mean "no value"."""
        import pyarrow as pa

        values = np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)
        return pa.array(self._without(name, values), pa.float64(), from_pandas=True)

    def moments(self, name: str, cells: Sequence[Any], before: int) -> list[Any]:
        """Dates of a sheet, None in place of cells that are none (a line of totals)."""
        wrong = [
            (before + k + 1, str(cell)[:40])
            for k, cell in enumerate(cells)
            if cell is not None and not isinstance(cell, DATED)
        ]
        if wrong:
            self.missing_times(name, wrong, len(cells))
        return [cell if isinstance(cell, DATED) else None for cell in cells]

    def missing_times(self, name: str, cells: Sequence[tuple[int, str]], filled: int) -> None:
        """Cells of the time column that are no times; their rows are left out."""
        self._filled[name] = self._filled.get(name, 0) + filled
        self._counts[name] = self._counts.get(name, 0) + len(cells)
        self._cells.setdefault(name, []).extend(cells[:NAMED])

    def _without(self, name: str, values: Array) -> Array:
        """Numbers that were said to mean "no value" as NaN; of the others the least and the largest are kept."""
        codes = self._asked.codes
        values = np.where(np.isin(values, codes), np.nan, values) if len(codes) else values
        known = values[np.isfinite(values)]
        if len(known):
            low, high = self._ends.get(name, (End(), End()))
            self._ends[name] = low.joined(known), high.joined(-known)
        return values

    def _code(self, name: str) -> tuple[float, int] | None:
        """A number that comes again and again, further from all others than these are from each other; how often."""
        low, high = self._ends[name]
        for end, far, sign in ((low, -high.first, 1.0), (high, -low.first, -1.0)):
            rest = far - end.second  # of the others
            if end.times >= OFTEN and rest > 0 and end.second - end.first > rest:
                return sign * end.first, end.times
        return None

    def _check(self) -> None:
        for name, count in self._counts.items():
            if count > (1 - MOSTLY) * self._filled[name] + 1e-9:
                row, cell = self._cells[name][0]
                raise ValueError(
                    f"column {name!r}: {count:,} of {self._filled[name]:,} cells are not like the others, the first is "
                    f"{cell!r} in row {row} of the data; at most {1 - MOSTLY:.0%} are taken as missing; correct them, "
                    f"or name cells without a value with {self._asked.ways('missing', cell)}"
                )
        if self._ragged > (1 - MOSTLY) * (self._rows + self._ragged) + 1e-9:
            raise ValueError(
                f"{self._ragged:,} of {self._rows + self._ragged:,} rows have another number of cells than the others, "
                f"the first in {self._shown}; quote cells that hold the separator, or name the separator with "
                f"{self._asked.ways('sep', ';')}"
            )

    def finish(self) -> None:
        """Say what was passed over; refuse where it was too much."""
        self._check()
        for name, count in self._counts.items():
            shown = ", ".join(f"{cell!r} (row {row})" for row, cell in self._cells[name][:NAMED])
            more = f" and {count - NAMED:,} more" if count > NAMED else ""
            self.notes.append(f"{count:,} cell{'' if count == 1 else 's'} of {name!r} taken as missing: {shown}{more}")
        for name in self._ends:
            if (found := self._code(name)) is not None:
                code, times = f"{found[0]:.15g}", f"{found[1]:,} times"
                said = f"{code} comes {times} in {name!r}, far from all other values; if it means 'no value', "
                self.notes.append(said + self._asked.ways("missing", code))
        if self._ragged:
            rows = f"{self._ragged:,} row{'' if self._ragged == 1 else 's'}"
            self.notes.append(f"{rows} with another number of cells left out ({self._shown})")


def _number(cell: Any) -> float | None:
    return float(cell) if isinstance(cell, int | float | np.number) and not isinstance(cell, bool) else None
