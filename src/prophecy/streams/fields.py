"""Fields of records: name, shape, limits, unit and meaning of each in one line; the dtype, the check and the table of
docs/record.md follow from it, and so does the C struct that compiled code works on (tools/structs.py, when the
package is built, where there is no NumPy)."""

from __future__ import annotations

from math import prod
from typing import NamedTuple

REAL, WHOLE = "f8", "i8"
"""Kinds of numbers."""


class Field(NamedTuple):
    """A field of a record: numbers between `low` and `high`. kind: `REAL` or `WHOLE`; missing: NaN is one of them."""

    name: str
    kind: str
    shape: tuple[int, ...]
    low: float
    high: float
    unit: str
    meaning: str
    missing: bool = False


def documented(fields: tuple[Field, ...]) -> str:
    """Fields as a table of docs/record.md, and the size of the record."""
    lines = ["| field | numbers | between | unit | meaning |", "|---|---|---|---|---|"]
    for field in fields:
        shape = " × ".join(map(str, field.shape)) or "1"
        numbers = f"{shape}{', whole' if field.kind == WHOLE else ''}"
        limits = f"{field.low:g} … {field.high:g}{' or NaN' if field.missing else ''}"
        lines.append(f"| `{field.name}` | {numbers} | {limits} | {field.unit} | {field.meaning} |")
    return "\n".join([*lines, "", f"{8 * sum(prod(field.shape) for field in fields)} bytes in all."])
