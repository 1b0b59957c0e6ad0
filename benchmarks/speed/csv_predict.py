"""`prophecy predict`, the whole bank, on a CSV of five million rows beside pandas merely parsing it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.speed.measure import Case, Entry, in_turns

ROWS = 5_000_000  # lines of some 17 bytes: far more than is held in memory at once
PARSER = "pandas.read_csv"
PARSE = "import sys, pandas; pandas.read_csv(sys.argv[1])"


class Cost(NamedTuple):
    """What a process took: the most memory it held, in megabytes."""

    peak: float


def write(path: Path, rows: int) -> None:
    """A clock and a signal of two waves in noise, in six decimals, as loggers write them."""
    import pyarrow as pa
    from pyarrow import csv

    time = np.arange(rows)
    noise = 0.01 * np.random.default_rng(0).standard_normal(rows)
    values = np.round(np.sin(time / 300) + 0.3 * np.sin(time / 47) + noise, 6)
    csv.write_csv(pa.table({"time": time, "value": values}), path)


def process(*arguments: str) -> Cost:
    """Run Python with these arguments to its end; anything but success is an error."""
    child = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert child.stderr is not None
    said = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.stderr.close()
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise RuntimeError(f"python {' '.join(arguments)} failed: {said.decode(errors='replace')}")
    return Cost(usage.ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3))


def accuracy(path: Path) -> float:
    """Mean absolute error of the written predictions relative to that of the better of copy and straight line."""
    import pandas as pd

    made = pd.read_parquet(path, columns=["value", "residual"])
    values = made["value"].to_numpy()
    line = np.abs(values[2:] - 2 * values[1:-1] + values[:-2]).mean()
    return float(made["residual"].abs().mean() / min(np.abs(np.diff(values)).mean(), line))


def case(rounds: int, quick: bool) -> Case:
    """Whole processes, start-up included, on a file the operating system has in memory."""
    rows = 300_000 if quick else ROWS
    with tempfile.TemporaryDirectory() as folder:
        data, out = Path(folder) / "data.csv", Path(folder) / "out.parquet"
        write(data, rows)
        ours = ("-m", "prophecy.cli", "predict", str(data))
        peaks: dict[str, float] = {}

        def run(name: str, *arguments: str) -> None:
            peaks[name] = process(*arguments).peak

        took = in_turns(
            {
                "prophecy predict": lambda: run("prophecy predict", *ours),
                "prophecy predict --out .parquet": lambda: run(
                    "prophecy predict --out .parquet", *ours, "--out", str(out)
                ),
                PARSER: lambda: run(PARSER, "-c", PARSE, str(data)),
            },
            rounds,
        )
        error = accuracy(out)
    made = Case(
        "csv",
        f"csv: {rows:,} rows predicted from a file (error: relative to the better of copy and line)",
        {"rows": rows, "peak_megabytes": peaks},
        rows,
        tolerance=1.0,
        goals={},
        note="; ".join(f"{name} held {peak:.0f} MB at most" for name, peak in peaks.items()),
    )
    for name, seconds in took.items():
        peer = name == PARSER
        made.entries.append(Entry(name, "peer" if peer else "ours", seconds, None if peer else error))
    return made
