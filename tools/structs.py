"""C structs of the records that kernels work on, made from their NumPy dtypes: writes `adaptive/kernels/structs.pxd`.

    python tools/structs.py          # write it
    python tools/structs.py --check  # say whether it is current (a test does)

The dtypes are the one table; the file is committed, so that building needs neither NumPy nor the package. At import the
package compares sizes and offsets with those the compiler chose.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

TYPES = {"f8": "double", "i8": "long long", "u8": "unsigned long long"}


def declared(name: str, dtype: np.dtype[Any]) -> str:
    """The struct of a dtype, after those of the records inside it."""
    before, lines = [], [f"cdef struct {name}:"]
    for field, (kind, _) in ((f, dtype.fields[f]) for f in dtype.names):
        base, shape = kind.subdtype or (kind, ())
        if base.names:
            inner = "".join(word.capitalize() for word in field.split("_")) + "Settings"
            before.append(declared(inner, base))
            lines.append(f"    {inner} {field}")
        else:
            lines.append(f"    {TYPES[base.str[1:]]} {field}{''.join(f'[{n}]' for n in shape)}")
    return "\n\n".join([*before, "\n".join(lines)])


def text() -> str:
    from prophecy.adaptive.clock import CLOCK
    from prophecy.adaptive.irregular import SAMPLES
    from prophecy.adaptive.record import RECORD
    from prophecy.adaptive.table import TABLE

    kinds = {"Record": RECORD, "Clock": CLOCK, "Samples": SAMPLES, "Table": TABLE}
    parts = ["# Made by tools/structs.py from the dtypes of the records; do not edit."]
    return "\n\n".join([*parts, *(declared(name, dtype) for name, dtype in kinds.items())]) + "\n"


FILE = Path(__file__).parents[1] / "src/prophecy/adaptive/kernels/structs.pxd"

if __name__ == "__main__":
    if "--check" in sys.argv[1:]:
        sys.exit(0 if FILE.read_text() == text() else f"{FILE.name} is not current: run python tools/structs.py")
    FILE.write_text(text())
