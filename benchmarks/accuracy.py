"""Measure how accurate Prophecy is, and say where it misses what was asked of it.

Runs the report's pages beyond, derivatives and real, writes benchmarks/results/accuracy.json (method, signal, noise,
with floors and baselines) and prints the comparison. `python benchmarks/accuracy.py [--functions N] [--jobs N]`.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import tempfile
from pathlib import Path

import numpy as np
import scipy

from prophecy import __version__, _files
from prophecy.reproduce import beyond, causal_derivatives, real_series, runner
from prophecy.reproduce.framework import Ask

RESULTS = Path(__file__).parent / "results" / "accuracy.json"
PAGES = (beyond.EXPERIMENT, causal_derivatives.EXPERIMENT, real_series.EXPERIMENT)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--functions", type=int, default=None, help="functions per signal; each page's full scale by default"
    )
    parser.add_argument("--jobs", type=int, default=1)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        ask = Ask(functions=asked.functions)
        files = runner.reproduce([page.name for page in PAGES], ask, folder, jobs=asked.jobs)
        results = {path.stem: json.loads(path.read_text()) for path in files}
    verdicts = [verdict for page in PAGES for verdict in page.verdicts(results[page.name])]
    missed = beyond.missed(results["beyond"]["rows"])
    _files.write_json(
        RESULTS,
        {
            "version": __version__,
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "machine": platform.machine(),
            "python": platform.python_version(),
            "functions": {name: result["functions"] for name, result in results.items()},
            "seconds": {name: round(result["seconds"], 1) for name, result in results.items()},
            "verdicts": [{"statement": v.statement, "holds": v.holds, "evidence": v.evidence} for v in verdicts],
            "missed": missed,
            "rows": {name: result["rows"] for name, result in results.items()},
        },
    )
    for page in PAGES:
        for table in page.tables(results[page.name]):
            _print(table)
    for verdict in verdicts:
        print(
            {True: "holds   ", False: "does not", None: "partly  "}[verdict.holds], verdict.statement, verdict.evidence
        )
    print("missed:", ", ".join(missed) if missed else "nothing")
    return 0


def _print(table: beyond.Table) -> None:
    cells = [[cell if isinstance(cell, str) else cell.text for cell in line] for line in (table.header, *table.rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(cells[0]))]
    print(f"\n{table.caption}")
    for line in cells:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
    print()


if __name__ == "__main__":
    sys.exit(main())
