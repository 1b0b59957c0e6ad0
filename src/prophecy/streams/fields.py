"""Fields of records: name, shape, limits, unit and meaning of each in one line; the dtype, the check and the table of
docs/prophecy.md follow from it, and so does the C struct that compiled code works on (tools/structs.py)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

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


def record_type(fields: Any) -> Any:
    """The dtype of these fields (`Field`, or what NumPy takes)."""
    return np.dtype([(each.name, each.kind, each.shape) if isinstance(each, Field) else each for each in fields])


def offsets(dtype: np.dtype[Any], start: int = 0) -> dict[str, int]:
    """Where each field begins, in bytes; those of a record in a record are `group.field`."""
    found: dict[str, int] = {}
    for name in dtype.names or ():
        kind, at = dtype.fields[name][:2]  # type: ignore[index]
        inner = offsets(kind, start + at) if kind.names else {}
        found |= {f"{name}.{each}": place for each, place in inner.items()} if inner else {name: start + at}
    return found


def within(records: NDArray[np.void], fields: tuple[Field, ...]) -> None:
    """Refuse fields outside their limits, and NaN where it means nothing; ValueError."""
    for field in fields:
        values = records[field.name]
        fine = (values >= field.low) & (values <= field.high)
        if field.missing:
            fine |= np.isnan(values)
        require(records, field.name, fine, f"must lie between {field.low:g} and {field.high:g}")


def require(records: NDArray[np.void], name: str, fine: Any, rule: str) -> None:
    """Refuse records of which a field is not `fine`, naming stream, field, rule and value; ValueError."""
    if fine.all():
        return
    place = tuple(int(i) for i in np.argwhere(~fine)[0])
    value = records[name][place] if len(place) >= records[name].ndim else records[name][place].sum()
    where = f"{name}{list(place[1:]) if len(place) > 1 else ''} of stream {place[0]}"
    raise ValueError(f"{where} {rule}, got {value}")


def documented(fields: tuple[Field, ...]) -> str:
    """Fields as a table of docs/prophecy.md, and the size of the record."""
    lines = ["| field | numbers | between | unit | meaning |", "|---|---|---|---|---|"]
    for field in fields:
        shape = " × ".join(map(str, field.shape)) or "1"
        numbers = f"{shape}{', whole' if field.kind == WHOLE else ''}"
        limits = f"{field.low:g} … {field.high:g}{' or NaN' if field.missing else ''}"
        lines.append(f"| `{field.name}` | {numbers} | {limits} | {field.unit} | {field.meaning} |")
    return "\n".join([*lines, "", f"{record_type(fields).itemsize} bytes in all."])
