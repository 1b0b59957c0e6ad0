"""How accurate Prophecy is one step ahead: the report's pages beyond, derivatives and real, as one result file."""

import json
import platform
import tempfile
from pathlib import Path

import numpy as np
import scipy

from benchmarks.harness import Measurement, Options, Result, defaults
from prophecy import __version__
from reproduction import beyond, causal_derivatives, real_series, runner
from reproduction.framework import Ask

PAGES = (beyond.Beyond(), causal_derivatives.Derivatives(), real_series.RealSeries())


def measured(asked: Options) -> Result:
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


BENCHMARK = Measurement(__doc__, measured, defaults(functions=int, jobs=1))
