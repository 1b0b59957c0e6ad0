"""Write the fields of a record and the size of a stream into docs/record.md: python docs/prophecy_tables.py [--check].

The numbers that steer a stream say what half and twice of them does where they stand, in `streams/settings.py`.
"""

from __future__ import annotations

import sys
from math import prod

from blocks import ROOT, lines, write

from prophecy.streams.limits import RING
from prophecy.streams.record import CLOCK_FIELDS, FIELDS, SAMPLE_FIELDS, WHOLE, Field
from prophecy.streams.rows import CLOCK, RECORD, SAMPLES


def fields() -> str:
    """The fields of record, clock and samples."""
    return "\n\n".join(map(documented, (FIELDS, CLOCK_FIELDS, SAMPLE_FIELDS)))


def documented(some: tuple[Field, ...]) -> str:
    """Fields as a table, and how many bytes they take."""
    rows = []
    for field in some:
        shape = " × ".join(map(str, field.shape)) or "1"
        numbers = f"{shape}{', whole' if field.kind == WHOLE else ''}"
        limits = f"{field.low:g} … {field.high:g}{' or NaN' if field.missing else ''}"
        rows.append([f"`{field.name}`", numbers, limits, field.unit, field.meaning])
    size = 8 * sum(prod(field.shape) for field in some)
    return f"{lines(['field', 'numbers', 'between', 'unit', 'meaning'], rows)}\n\n{size} bytes in all."


def state() -> str:
    """Bytes of a stream."""
    size = RECORD.itemsize
    return (
        f"State: {size / 1e3:.1f} kB a series, so a million series need {size / 1e3:.0f} GB, plus a ring of "
        f"{RING} values ({8 * RING / 1e3:.1f} kB, taken as it fills), which seasons and `forecast` read, and "
        f"{(CLOCK.itemsize + SAMPLES.itemsize) / 1e3:.1f} kB of clock and samples."
    )


if __name__ == "__main__":
    tables = {"fields": fields, "state": state}
    sys.exit(write(ROOT / "docs" / "record.md", "prophecy_tables.py", tables, sys.argv[1:]))
