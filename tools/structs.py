"""C structs of the records that kernels work on, and their sizes: writes `structs.pxd`, and what it was made from.

    python tools/structs.py structs.pxd structs.pxd.dep

meson calls it when the package is built, with plain Python: the lists it reads (`streams/record.py` and the sizes
beside it) need neither NumPy nor the package. `rows` makes dtypes of the same lists; kernels refuse arrays of another
size.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).parents[1] / "src"
TYPES = {"f8": "double", "i8": "long long", "u8": "unsigned long long"}

# The folders as packages, without what their __init__.py imports.
sys.dont_write_bytecode = True
for package in ("prophecy", "prophecy.streams"):
    sys.modules[package] = ModuleType(package)
    sys.modules[package].__path__ = [str(ROOT.joinpath(*package.split(".")))]

from prophecy.streams import limits, members  # noqa: E402
from prophecy.streams.record import LAYOUTS  # noqa: E402


def declared(name: str, layout: list[Any]) -> str:
    """The struct of a layout, after those of the records inside it."""
    before, lines = [], [f"cdef struct {name}:"]
    for field, kind, *shape in layout:
        if isinstance(kind, list):
            inner = "".join(word.capitalize() for word in field.split("_")) + "Settings"
            before.append(declared(inner, kind))
            lines.append(f"    {inner} {field}")
        else:
            lines.append(f"    {TYPES[kind]} {field}{''.join(f'[{n}]' for n in shape[0])}")
    return "\n\n".join([*before, "\n".join(lines)])


def sizes() -> dict[str, int]:
    """Whole numbers: sizes of arrays and codes."""
    own = {name: value for name, value in vars(limits).items() if name.isupper() and isinstance(value, int)}
    del own["MOST"]  # no C int, but a constant
    counts = {"LEVELS": members.LEVELS, "SOLVED": members.SOLVED, "WINDOWS": members.WINDOWS}
    return {
        **own,
        **{name: getattr(members, name) for name in ("LAGS", "ORDER", "MEMORY", "FEATURES", "SHORTS", "LONGS")},
        **{name: getattr(members, name) for name in ("FIXED", "BANK", "MEMBERS", "AHEAD_MEMBERS")},
        **{name: getattr(members, name) for name in ("WIDTH", "FACTORS", "AWAKE", "AROUND")},
        **{name: len(some) for name, some in counts.items()},
        "SHORT_ROW": members.padded(members.SHORTS),
        "LONG_ROW": members.padded(members.ORDER + members.LONGS),
        "MEMBERS_ROW": members.padded(members.MEMBERS),
        "OUTER": members.OUTER,
        "NINETY": members.LEVELS.index(0.9),
        "PARABOLA": members.SHORT.index((3, 2)),
    }


def constants() -> dict[str, Any]:
    """Other numbers, and arrays of them."""
    return {
        **{name: value for name, value in vars(limits).items() if name.isupper() and isinstance(value, float)},
        "MOST": limits.MOST,
        "RARE": [1.0 - level for level in members.LEVELS],
        "NORMAL": members.NORMAL,
        "LIGHTEST": members.LIGHTEST,
    }


def defined(numbers: dict[str, Any]) -> str:
    """Constants of C, written out so that the compiler knows them."""
    text, names = [], []
    for name, value in numbers.items():
        shape, first = "", value
        while isinstance(first, list | tuple):
            shape, first = f"{shape}[{len(first)}]", first[0]
        kind = "double" if isinstance(first, float) else "long long"
        literal = repr(value).translate(str.maketrans("[(])", "{{}}"))
        text.append(f"    static const {kind} PROPHECY_{name}{shape} = {literal};")
        names.append(f'    const {kind} {name} "PROPHECY_{name}"{shape}')
    return "\n".join(["cdef extern from *:", '    """', *text, '    """', *names])


def text() -> str:
    whole = "\n".join(["cdef enum:", *(f"    {name} = {value}" for name, value in sizes().items())])
    structs = (declared(name, layout) for name, layout in LAYOUTS.items())
    return "\n\n".join([whole, defined(constants()), *structs]) + "\n"


if __name__ == "__main__":
    made, its_sources = sys.argv[1:]
    Path(made).write_text(text(), encoding="utf-8")
    files = (getattr(module, "__file__", None) for name, module in sys.modules.items() if name.startswith("prophecy."))
    Path(its_sources).write_text(f"{made}: {' '.join(file for file in files if file)}\n", encoding="utf-8")
