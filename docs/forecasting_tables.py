"""Put the measured tables of docs/forecasting.md together: python docs/forecasting_tables.py [--check].

Reads, in benchmarks/results: plain.json (benchmarks/plain.py) and ordinary.json (benchmarks/ordinary.py).
"""

from __future__ import annotations

import sys
from typing import Any

from blocks import ROOT, lines, results, write


def plain() -> str:
    """Kinds of plain series: errors over the rival's, what intervals hold, seconds."""
    rows = [
        [name, *(f"{row[key]:.2f}" for key in ("error", "holds", "first", "last")), f"{row['seconds']:.3f}"]
        for name, row in results("plain.json")["kinds"].items()
    ]
    return lines(["", "error over the rival's", "80 % holds", "first fifth", "last fifth", "s"], rows)


def ordinary() -> str:
    """Each set's methods below ours; beside a thinned rival, ours on the same series."""
    rows = []
    for row in results("ordinary.json")["rows"]:
        if "mase" in row:
            ours = row["method"] == "prophecy"
            name = f"**{row['set']}**, {row['method']}" if ours else f"– {row['method']}"
            rows.append([name, str(row["series"]), *_figures(row)])
            if row["every"] > 1 and "ours_same" in row:
                rows.append(["– – ours on the same", str(row["series"]), *_figures(row["ours_same"])])
    return lines(["set, method", "series", "sMAPE", "MASE", "MSIS", "50 %", "80 %", "95 %", "s"], rows)


def _figures(row: dict[str, Any]) -> list[str]:
    cover = [f"{row[f'coverage_{level}']:.3f}" for level in (50, 80, 95)]
    return [f"{row['smape']:.2f}", f"{row['mase']:.3f}", f"{row['msis']:.2f}", *cover, f"{row['seconds']:.3f}"]


if __name__ == "__main__":
    tables = {"plain": plain, "ordinary": ordinary}
    sys.exit(write(ROOT / "docs" / "forecasting.md", "forecasting_tables.py", tables, sys.argv[1:]))
