"""Measure the cost of streams and forecasts beside an earlier commit's, on one core, in alternating rounds of one run.

    git worktree add ../numba dc59ceb && python -m venv ../numba/.venv     # the last commit that compiled at first use
    ../numba/.venv/bin/pip install "numba>=0.61" numpy scipy threadpoolctl platformdirs narwhals
    python -m benchmarks.bank_speed --earlier ../numba/src --earlier-python ../numba/.venv/bin/python

Times are those of the processor, so that other work on the machine counts little. Each round starts one process per
version; what is compiled at first use is compiled before anything is timed. Streams: microseconds a value, best of five
and of all rounds. Forecasts: median and 90 % quantile of the seconds that each of the same contexts takes at best.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Options, load, option, single
from prophecy import __version__

MEASURE = """
import json, time
import numpy as np
import prophecy
from prophecy import Prophecy, chaos
n, draw = 50_000, np.random.default_rng(0)
u = np.sin(np.arange(n) / 20) + 0.01 * draw.standard_normal(n)
batch = u[: n // 64] + 0.01 * draw.standard_normal((256, n // 64))
some = u[: n // 5].tolist()
grid, irregular = np.arange(n) * 60.0, np.cumsum(draw.exponential(60.0, n))
def took(work, times=5):
    found = []
    for _ in range(times):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)
def one_by_one():
    model = Prophecy()
    for value in some:
        model.observe(value)
        model.predict()
one_by_one()
streams = {
    "array, observe": took(lambda: Prophecy(context=1).observe(u)) / n,
    "array, times on a grid": took(lambda: Prophecy(context=1).observe(u, time=grid)) / n,
    "array, irregular times": took(lambda: Prophecy(context=1).observe(u, time=irregular)) / n,
    "array, predict_all": took(lambda: Prophecy().predict_all(u)) / n,
    "256 series, predict_all": took(lambda: Prophecy().predict_all(batch)) / batch.size,
    "one by one, observe + predict": took(one_by_one) / len(some),
}
months = np.arange(120)
ordinary = [
    100 + slope * months + size * np.sin(2 * np.pi * months / 12) + np.cumsum(walk * draw.standard_normal(120))
    + draw.standard_normal(120)
    for slope in (0.0, 0.5) for size in (0.0, 8.0) for walk in (0.0, 1.0) for _ in range(3)
]
systems = (chaos.lorenz, chaos.rossler, chaos.thomas, chaos.halvorsen, chaos.chua, chaos.food_chain)
clean = [system.sample(512, 30, seed=seed) for system in systems for seed in (1, 2)]
def noisy(x, share):
    return x + share * x.std(axis=0) * draw.standard_normal(x.shape)
contexts = {
    "ordinary, 120 months": (ordinary, 12),
    "chaos, no noise": (clean, 300),
    "chaos, 1 % noise": ([noisy(x, 0.01) for x in clean], 300),
    "chaos, 5 % noise": ([noisy(x, 0.05) for x in clean], 300),
}
forecasts = {}
for name, (series, horizon) in contexts.items():
    for x in series[:2]:
        prophecy.forecast(x, horizon)
    forecasts[name] = [took(lambda x=x, horizon=horizon: prophecy.forecast(x, horizon), 2) for x in series]
print(json.dumps([streams, forecasts]))
"""


def measured(python: Path, src: Path | None) -> tuple[dict[str, float], dict[str, list[float]]]:
    """Seconds a value of streams, and of each forecast, in a process of its own on one core."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", **({"PYTHONPATH": str(src)} if src else {})}
    command = [python, "-W", "ignore", "-c", MEASURE]
    if sys.platform == "linux":
        command = ["taskset", "-c", str(max(os.sched_getaffinity(0))), *map(str, command)]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    streams, forecasts = json.loads(done.stdout)
    return streams, forecasts


def compared(asked: Options) -> dict[str, Any]:
    versions = {"now": (Path(sys.executable), None), "earlier": (asked.earlier_python, asked.earlier.resolve())}
    streams: dict[str, dict[str, float]] = {name: {} for name in versions}
    forecasts: dict[str, dict[str, list[float]]] = {name: {} for name in versions}
    for _ in range(asked.rounds):
        for name, version in versions.items():
            values, seconds = measured(*version)
            for case, took in values.items():
                streams[name][case] = min(streams[name].get(case, np.inf), took * 1e6)
            for case, times in seconds.items():
                forecasts[name][case] = np.minimum(forecasts[name].get(case, np.inf), times).tolist()
    return {
        "version": __version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "load": load(),
        "rounds": asked.rounds,
        "microseconds_a_value": streams,
        "seconds_a_forecast": {
            name: {case: {"median": np.median(t), "p90": np.quantile(t, 0.9)} for case, t in cases.items()}
            for name, cases in forecasts.items()
        },
        "share_of_earlier": {
            **{case: took / streams["earlier"][case] for case, took in streams["now"].items()},
            **{case: np.median(t) / np.median(forecasts["earlier"][case]) for case, t in forecasts["now"].items()},
        },
    }


if __name__ == "__main__":
    single(
        __doc__,
        compared,
        option("--earlier", type=Path, required=True, help="src folder of an earlier checkout"),
        option("--earlier-python", type=Path, default=Path(sys.executable), help="the Python that checkout runs on"),
        option("--rounds", type=int, default=3),
    )
