"""Files whose columns have types, in pieces: Parquet and .npy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from prophecy.commands._objects import LOOKED, object_kind
from prophecy.commands._open import Opened
from prophecy.commands._roles import Content, Layout, Roles

ROWS = 1 << 18  # rows per piece: 2 MB of each column


def read_parquet(opened: Opened) -> Content:
    """Columns of any type; numbers as float64."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    try:
        file = parquet.ParquetFile(opened.raw if opened.size and not opened.packed else opened.whole())
    except (pa.ArrowInvalid, OSError) as error:
        raise ValueError(f"is not a Parquet file: {error}") from None
    schema = file.schema_arrow
    head = next(file.iter_batches(LOOKED), None)
    if head is None or not head.num_rows:
        raise ValueError("the table has no rows")
    cells = tuple(_sample(head.column(i), field_.type) for i, field_ in enumerate(schema))
    kinds = tuple(_arrow_kind(field_.type, column) for field_, column in zip(schema, cells, strict=True))
    layout = Layout(opened.path, tuple(schema.names), kinds, cells)

    def batches(roles: Roles) -> Iterator[Any]:
        for batch in file.iter_batches(ROWS):
            columns = [
                column.cast(pa.float64(), safe=False) if name in roles.values else column
                for name, column in zip(batch.schema.names, batch.columns, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(columns, names=batch.schema.names)

    return Content(layout, batches, [])


def _sample(column: Any, kind: Any) -> list[Any]:
    import pyarrow as pa

    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return []
    return list(column.to_pylist())


def _arrow_kind(kind: Any, cells: Sequence[Any]) -> str:
    import pyarrow as pa

    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return "typed"
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "number"
    return object_kind(cells) if pa.types.is_string(kind) or pa.types.is_large_string(kind) else "text"


def read_npy(opened: Opened) -> Content:
    """(time,) or (time, series): a column is a series, as in any table."""
    import pyarrow as pa

    try:
        if opened.size and not opened.packed:
            data = np.load(opened.path, mmap_mode="r", allow_pickle=False)
        else:
            data = np.load(opened.whole(), allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ValueError(f"is not an .npy file of numbers: {error}") from None
    if data.ndim not in (1, 2) or data.dtype.kind not in "iuf" or data.size == 0:
        raise ValueError(f"must hold real numbers, (time,) or (time, series), got {data.dtype} {data.shape}")
    names = ("value",) if data.ndim == 1 else tuple(f"value{i}" for i in range(data.shape[1]))
    layout = Layout(opened.path, names, ("number",) * len(names), ((),) * len(names))

    def batches(roles: Roles) -> Iterator[Any]:
        rows = max(1, ROWS // len(names))
        for start in range(0, len(data), rows):
            part = np.asarray(data[start : start + rows], dtype=np.float64).reshape(-1, len(names))
            yield pa.RecordBatch.from_arrays(
                [pa.array(part[:, i], from_pandas=True) for i in range(len(names))], list(names)
            )

    return Content(layout, batches, [])
