"""Measure how accurate Prophecy is, and say where it misses what was asked of it.

Runs the report's pages beyond, derivatives and real, writes benchmarks/results/accuracy.json (method, signal, noise,
with floors and baselines) and prints the comparison. `python -m benchmarks.accuracy [--functions N] [--jobs N]`.

Pages may be computed on several machines: `--only beyond --folder F` leaves the page's results in F and writes nothing
else; a run with `--folder F` reads the pages that lie there and computes the others.
"""

from __future__ import annotations

import json
import platform
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from benchmarks.harness import Options, option, single
from prophecy import __version__
from reproduction import beyond, causal_derivatives, real_series, runner
from reproduction.framework import Ask

PAGES = (beyond.Beyond(), causal_derivatives.Derivatives(), real_series.RealSeries())


def measured(asked: Options) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as made:
        folder = asked.folder or Path(made)
        names = asked.only or [page.name for page in PAGES if not (folder / f"{page.name}.json").exists()]
        if names:
            runner.reproduce(names, Ask(functions=asked.functions), folder, jobs=asked.jobs)
        if asked.only:
            raise SystemExit(0)
        results = {page.name: json.loads((folder / f"{page.name}.json").read_text()) for page in PAGES}
    verdicts = [verdict for page in PAGES for verdict in page.verdicts(results[page.name])]
    missed = beyond.missed(results["beyond"]["rows"])
    for page in PAGES:
        for table in page.tables(results[page.name]):
            _print(table)
    for verdict in verdicts:
        print(
            {True: "holds   ", False: "does not", None: "partly  "}[verdict.holds], verdict.statement, verdict.evidence
        )
    print("missed:", ", ".join(missed) if missed else "nothing")
    return {
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
    }


def _print(table: beyond.Table) -> None:
    cells = [[cell if isinstance(cell, str) else cell.text for cell in line] for line in (table.header, *table.rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(cells[0]))]
    print(f"\n{table.caption}")
    for line in cells:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
    print()


if __name__ == "__main__":
    single(
        __doc__,
        measured,
        option("--functions", type=int, help="functions per signal; each page's full scale by default"),
        option("--jobs", type=int, default=1),
        option("--only", nargs="*", default=[], help="compute these pages alone, into --folder"),
        option("--folder", type=Path),
    )
