"""How accurate Prophecy is one step ahead: the report's pages beyond, derivatives and real, as one result file.

    python -m benchmarks.accuracy [--functions N] [--jobs N]

Rows have method, signal and noise, with lower bounds and baselines; verdicts say what holds.
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
    with tempfile.TemporaryDirectory() as folder:
        runner.reproduce([page.name for page in PAGES], Ask(functions=asked.functions), folder, jobs=asked.jobs)
        results = {page.name: json.loads(Path(folder, f"{page.name}.json").read_text()) for page in PAGES}
    verdicts = [verdict for page in PAGES for verdict in page.verdicts(results[page.name])]
    versions = {"version": __version__, "numpy": np.__version__, "scipy": scipy.__version__}
    return {
        **versions,
        "python": platform.python_version(),
        "functions": {name: result["functions"] for name, result in results.items()},
        "verdicts": [{"statement": v.statement, "holds": v.holds, "evidence": v.evidence} for v in verdicts],
        "rows": {name: result["rows"] for name, result in results.items()},
    }


if __name__ == "__main__":
    functions = option("--functions", type=int, help="functions per signal; each page's full scale by default")
    single(__doc__, measured, functions, option("--jobs", type=int, default=1))
