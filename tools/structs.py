"""C structs of the records that kernels work on, and their sizes: writes `streams/kernels/structs.pxd`.

    python tools/structs.py          # write it
    python tools/structs.py --check  # say whether it is current (a test does)

The dtypes and the constants of the Python modules are the one table; the file is committed, so that building needs
neither NumPy nor the package. At import the package compares sizes and offsets with those the compiler chose.
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


def sizes() -> dict[str, int]:
    """Whole numbers: sizes of arrays and codes."""
    from prophecy.streams import irregular, limits, members, seasonal
    from prophecy.streams.members import padded
    from prophecy.streams.settings import DEFAULT

    own = {name: value for name, value in vars(limits).items() if name.isupper() and isinstance(value, int)}
    del own["MOST"]  # no C int
    counts = {"LEVELS": members.LEVELS, "SOLVED": members.SOLVED, "WINDOWS": members.WINDOWS}
    return {
        **own,
        **{name: getattr(members, name) for name in ("LAGS", "ORDER", "MEMORY", "FEATURES", "SHORTS", "LONGS")},
        **{name: getattr(members, name) for name in ("FIXED", "MEMBERS", "WIDTH", "FACTORS")},
        **{name: len(some) for name, some in counts.items()},
        "SHORT_ROW": padded(members.SHORTS),
        "LONG_ROW": padded(members.ORDER + members.LONGS),
        "MEMBERS_ROW": padded(members.MEMBERS),
        "OUTER": int(np.searchsorted(members.LEVELS, 0.98)),
        "NINETY": int(np.searchsorted(members.LEVELS, 0.9)),
        "PARABOLA": members.SHORT.index((3, 2)),
        **{f"SEASON_{name}": getattr(seasonal, name) for name in ("LAGS", "FEATURES", "MEMBERS", "SOLVED")},
        "SEASON_ROW": seasonal.LONGEST_ROW,
        "DEGREE_COUNT": len(irregular.DEGREES),
        "CARRIED_COUNT": len(irregular.CARRIED),
        "NODES": irregular.NODES,
        "FAR_SETS": len(DEFAULT.far.forgetting),
        "FAR_READOUTS": len(DEFAULT.far.ridges),
        "FAR_MEMBERS": len(DEFAULT.far.ridges) + 2,  # the copy first, the bank last
        "FAR_SLOW": len(DEFAULT.far.slow),
    }


def constants() -> dict[str, Any]:
    """Other numbers, and arrays of them."""
    from prophecy.streams import irregular, limits, members, seasonal

    return {
        **{name: value for name, value in vars(limits).items() if name.isupper() and isinstance(value, float)},
        "RARE": 1.0 - members.LEVELS,
        "DEGREES": irregular.DEGREES,
        "CARRIED": irregular.CARRIED,
        "SEASON_WIDTHS": seasonal.WIDTHS,
        "SEASON_STRIDES": seasonal.STRIDES,
        "SEASON_STARTS": seasonal.STARTS,
        "SEASON_INDEX": seasonal.INDEX,
    }


def defined(numbers: dict[str, Any]) -> str:
    """Constants of C, written out so that the compiler knows them."""
    text, names = [], []
    for name, value in numbers.items():
        array = np.asarray(value)
        kind, shape = ("double" if array.dtype.kind == "f" else "long long"), "".join(f"[{n}]" for n in array.shape)
        literal = str(array.tolist()).replace("[", "{").replace("]", "}")
        text.append(f"    static const {kind} PROPHECY_{name}{shape} = {literal};")
        names.append(f'    const {kind} {name} "PROPHECY_{name}"{shape}')
    return "\n".join(["cdef extern from *:", '    """', *text, '    """', *names])


def laid_out(kinds: dict[str, np.dtype[Any]]) -> str:
    """A function that says how the compiler laid the records out: bytes of each, and where each field begins."""
    from prophecy.streams.fields import offsets

    lines = ["cdef inline dict layouts():", *(f"    cdef {name} {name.lower()}" for name in kinds), "    return {"]
    for name, dtype in kinds.items():
        its = name.lower()
        starts = (f"            <char*> &{its}.{field} - <char*> &{its}," for field in offsets(dtype))
        lines += [f'        "{name}": [', f"            sizeof({name}),", *starts, "        ],"]
    return "\n".join([*lines, "    }"])


def text() -> str:
    from prophecy.streams.clock import CLOCK
    from prophecy.streams.irregular import SAMPLES
    from prophecy.streams.record import CALIBRATION, RECORD
    from prophecy.streams.table import TABLE

    kinds = {"Record": RECORD, "Calibration": CALIBRATION, "Clock": CLOCK, "Samples": SAMPLES, "Table": TABLE}
    whole = "\n".join(["cdef enum:", *(f"    {name} = {value}" for name, value in sizes().items())])
    head = "# Made by tools/structs.py from the dtypes of the records and the sizes beside them; do not edit."
    structs = (declared(name, dtype) for name, dtype in kinds.items())
    return "\n\n".join([head, whole, defined(constants()), *structs, laid_out(kinds)]) + "\n"


FILE = Path(__file__).parents[1] / "src/prophecy/streams/kernels/structs.pxd"

if __name__ == "__main__":
    if "--check" in sys.argv[1:]:
        sys.exit(0 if FILE.read_text() == text() else f"{FILE.name} is not current: run python tools/structs.py")
    if FILE.read_text() != text():  # what is older than it is built again
        FILE.write_text(text())
