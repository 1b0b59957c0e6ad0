"""Put the measured tables of docs/anomalies.md together: python docs/anomalies.py [--check].

Reads, in benchmarks/results: faults.json (benchmarks/faults.py) and nab.json (benchmarks/nab.py).
"""

from __future__ import annotations

import sys

from blocks import ROOT, lines, results, write


def faults() -> str:
    """Faults seen of those planted, and false alarms."""
    found = results("faults.json")
    kinds = list(found["false"])
    rows = [
        [fault, *(f"{seen[kind]} of {found['draws']}" if kind in seen else "–" for kind in kinds)]
        for fault, seen in found["seen"].items()
    ]
    rows.append(["no fault: share of rows", *(f"{found['false'][kind]:.1e}" for kind in kinds)])
    return lines(["", *kinds], rows)


def nab() -> str:
    """Scores by NAB's rule."""
    rows = [
        [
            name,
            f"{row['threshold from the other half']:.1f}",
            f"{row['ten random halves']['mean']:.1f} ± {row['ten random halves']['standard deviation']:.1f}",
            f"{row['best threshold for all']:.1f}",
        ]
        for name, row in results("nab.json").items()
        if isinstance(row, dict) and "best threshold for all" in row
    ]
    return lines(["", "threshold from the other half", "over ten random halves", "best threshold for all"], rows)


if __name__ == "__main__":
    sys.exit(write(ROOT / "docs" / "anomalies.md", "anomalies.py", {"faults": faults, "nab": nab}, sys.argv[1:]))
