"""Measure the bank's step beside an earlier commit's, on one core, in alternating rounds of one run.

    python -m benchmarks.bank_speed --earlier PATH/TO/EARLIER/src [--alone PATH] [--rounds N] [--rows N]

Each PATH is the `src` folder of a checkout: `--earlier` the C step of the first version, `--alone` a commit before
seasons and alarms joined the step. Where a checkout needs other packages, `--earlier-python` has them; the last commit
with Numba, for example:

    git worktree add ../numba dc59ceb && python -m venv ../numba/.venv
    ../numba/.venv/bin/pip install "numba>=0.61" numpy scipy threadpoolctl platformdirs narwhals
    python -m benchmarks.bank_speed --earlier ../numba/src --earlier-python ../numba/.venv/bin/python --rows 0

Times are those of the processor, so that other work on the machine counts little.
Each round starts one process per version and times, best of five within it: whole arrays, `observe` and `predict` one
by one, and 256 series at once; then a file of `--rows` rows goes through `prophecy predict`, with the peak of its
memory and its error.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness import Options, load, option, single
from prophecy import __version__

SAMPLES = 50_000

MEASURE = """
import json, time
import numpy as np
from prophecy import Prophecy
n = {samples}
noise = np.random.default_rng(0).normal(size=n)
u = np.sin(np.arange(n) / 20) + 0.01 * noise
batch = u[: n // 64] + 0.01 * np.random.default_rng(1).normal(size=(256, n // 64))
some = u[: n // 5].tolist()
grid, irregular = np.arange(n) * 60.0, np.cumsum(np.random.default_rng(2).exponential(60.0, n))
def best(work, per, times=5):
    found = []
    for _ in range(times):
        start = time.process_time()
        work()
        found.append((time.process_time() - start) / per * 1e6)
    return min(found)
def one_by_one():
    model = Prophecy()
    for value in some:
        model.observe(value)
        model.predict()
Prophecy().observe(u[:100]), one_by_one()
print(json.dumps({{
    "array, observe": best(lambda: Prophecy(context=1).observe(u), n),
    "array, times on a grid": best(lambda: Prophecy(context=1).observe(u, time=grid), n),
    "array, irregular times": best(lambda: Prophecy(context=1).observe(u, time=irregular), n),
    "array, predict_all": best(lambda: Prophecy().predict_all(u), n),
    "256 series, predict_all": best(lambda: Prophecy().predict_all(batch), batch.size),
    "one by one, observe + predict": best(one_by_one, len(some)),
}}))
"""


def environment(src: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(src), "OMP_NUM_THREADS": "1"}


def on_one_core() -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


class Version(NamedTuple):
    """A checkout: its src folder, and the Python that has what it needs."""

    src: Path
    python: Path


def python(version: Version, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Python with these arguments and the package of a checkout, on one core; anything but success is an error."""
    command = [version.python, *arguments]
    done = subprocess.run(command, env=environment(version.src), preexec_fn=on_one_core, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done


def measured(version: Version) -> dict[str, float]:
    return dict(json.loads(python(version, "-c", MEASURE.format(samples=SAMPLES)).stdout))


def file_case(version: Version, data: Path, out: Path, *options: str) -> dict[str, float]:
    """Seconds, peak megabytes and relative error of `prophecy predict` over a file, as a process of its own."""
    from benchmarks.speed.csv_predict import accuracy

    code = "import sys, time, resource; start = time.perf_counter()\n"
    code += "from prophecy import cli\ntry: cli.main()\nexcept SystemExit as stop: assert not stop.code\n"
    code += "print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)"
    seconds, peak = python(version, "-c", code, "predict", str(data), "--out", str(out), *options).stderr.split()[-2:]
    return {"seconds": float(seconds), "peak_megabytes": float(peak) / 1e3, "relative_error": accuracy(out)}


def files(versions: dict[str, Version], rows: int) -> dict[str, Any]:
    from benchmarks.speed.csv_predict import write

    with tempfile.TemporaryDirectory() as folder:
        data, out = Path(folder) / "data.csv", Path(folder) / "out.parquet"
        write(data, rows)
        options = {"now": (), "earlier": ("--model", "quick")}
        return {name: file_case(version, data, out, *options[name]) for name, version in versions.items()}


def compared(asked: Options) -> dict[str, Any]:
    here = Path(sys.executable)
    versions = {"now": Version(Path(__file__).parent.parent / "src", here)}
    versions["earlier"] = Version(asked.earlier, asked.earlier_python or here)
    timed = versions | ({"alone": Version(asked.alone, here)} if asked.alone else {})
    found: dict[str, dict[str, float]] = {name: {} for name in timed}
    for _ in range(asked.rounds):
        for name, version in timed.items():
            for case, microseconds in measured(version).items():
                found[name][case] = min(found[name].get(case, np.inf), microseconds)
    ratios = {
        name: {case: found["earlier"][case] / took for case, took in cases.items()} for name, cases in found.items()
    }
    about = {"version": __version__, "python": platform.python_version(), "machine": platform.machine(), "load": load()}
    return {
        **about,
        "rounds": asked.rounds,
        "microseconds_a_value": found,
        "times_as_fast_as_earlier": ratios,
        "file": {"rows": asked.rows, **files(versions, asked.rows)} if asked.rows else None,
    }


if __name__ == "__main__":
    single(
        __doc__,
        compared,
        option("--earlier", type=Path, required=True, help="src folder of an earlier checkout"),
        option("--earlier-python", type=Path, help="the Python that checkout runs on, where it is not this one"),
        option("--alone", type=Path),
        option("--rounds", type=int, default=5),
        option("--rows", type=int, default=5_000_000, help="of the file; 0 for none"),
    )
