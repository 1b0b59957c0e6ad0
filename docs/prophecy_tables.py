"""Put the measured tables of docs/record.md together: python docs/prophecy_tables.py [--check].

Reads benchmarks/results/bank_ideas.json (benchmarks/bank_ideas.py), and the size of the record.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from blocks import ROOT, results, write

from prophecy.streams.limits import RING
from prophecy.streams.rows import RECORD

SHOWN = 20  # numbers in the table


def typical(cell: dict[str, Any], streams: int) -> float:
    """The geometric mean of the errors' ratios over all streams but the one that moves most, which is named apart."""
    return float(np.exp((streams * np.log(cell["error"]) - np.log(cell["most_error"])) / (streams - 1)))


def counted(name: str, result: dict[str, Any]) -> int:
    """How many streams a number was tried on."""
    return sum(stream.startswith("12 ahead") == name.startswith("far.") for stream in result["streams"])


def moved(name: str, result: dict[str, Any]) -> float:
    """By how many per cent half or twice a number moves the error, on the mean over streams."""
    both = result["ideas"][name]
    streams = counted(name, result)
    return max(100.0 * abs(typical(both[factor], streams) - 1.0) for factor in ("0.5", "2") if factor in both)


def groups(result: dict[str, Any]) -> list[str]:
    """A row for each group: how many of its numbers matter how much."""
    lines = ["| group | numbers | move the error by 1 % | by 0.1 % | by less | move nothing |", "|---" * 6 + "|"]
    names: dict[str, list[str]] = {}
    for name in result["ideas"]:
        names.setdefault(name.split(".")[0] if "." in name else "the step", []).append(name)
    for group, members in names.items():
        by = [moved(name, result) for name in members]
        nothing = [still(result["ideas"][name]) for name in members]
        counts = [
            sum(x >= 1.0 for x in by),
            sum(0.1 <= x < 1.0 for x in by),
            sum(x < 0.1 and not s for x, s in zip(by, nothing, strict=True)),
            sum(nothing),
        ]
        lines.append(f"| {group} | {len(members)} | {' | '.join(map(str, counts))} |")
    return lines


def ideas() -> str:
    """Groups of numbers, then the numbers that half and twice of move the error most."""
    result = results("bank_ideas.json")
    head = ["| number | half: error | twice: error | the stream it moves most | rows changed |", "|---" * 5 + "|"]
    lines = []
    for name, both in sorted(result["ideas"].items(), key=lambda item: -moved(item[0], result))[:SHOWN]:
        streams = counted(name, result)
        half, twice = both.get("0.5"), both.get("2")
        cells = [cell for cell in (half, twice) if cell]
        extreme = max(cells, key=lambda cell: abs(float(np.log(cell["most_error"]))))
        shown = [f"{100 * (typical(cell, streams) - 1):+.2f} %" if cell else "—" for cell in (half, twice)]
        stream = f"{extreme['most']} ({extreme['most_error']:.3g})" if extreme["most_error"] != 1.0 else "none"
        lines.append(f"| `{name}` | {' | '.join(shown)} | {stream} | {max(c['changed'] for c in cells):.1%} |")
    return "\n".join([*groups(result), "", *head, *lines, "", quiet(result)])


def still(both: dict[str, Any]) -> bool:
    """Whether nothing that was looked at changes."""
    return not any(cell["changed"] or cell["slopes"] for cell in both.values())


def quiet(result: dict[str, Any]) -> str:
    """A sentence about the numbers that change nothing."""
    count = sum(map(still, result["ideas"].values()))
    return f"Of {len(result['ideas'])} numbers, half and twice change nothing of these streams for {count}."


def state() -> str:
    """Bytes of a stream."""
    size = RECORD.itemsize
    return (
        f"State: {size / 1e3:.1f} kB a series, so a million series need {size / 1e3:.0f} GB, plus a ring of "
        f"{RING} values ({8 * RING / 1e3:.1f} kB, taken as it fills), which seasons and `forecast` read, and 2.3 kB of "
        "clock and samples."
    )


if __name__ == "__main__":
    tables = {"ideas": ideas, "state": state}
    sys.exit(write(ROOT / "docs" / "record.md", "prophecy_tables.py", tables, sys.argv[1:]))
