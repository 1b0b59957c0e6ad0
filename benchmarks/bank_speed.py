"""Measure the cost of streams and forecasts beside an earlier commit's, on one core, in alternating rounds of one run.

    git worktree add ../numba dc59ceb && python -m venv ../numba/.venv     # the last commit that compiled at first use
    ../numba/.venv/bin/pip install "numba>=0.61" numpy scipy threadpoolctl platformdirs narwhals
    python -m benchmarks bank_speed

Times are those of the processor, so that other work on the machine counts little. Each round starts one process per
version; what is compiled at first use is compiled before anything is timed. Streams: microseconds a value, best of five
and of all rounds. Forecasts: median and 90 % quantile of the seconds that each of the same contexts takes at best.
"""

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np

from benchmarks.harness import Measurement, Options, Result, defaults, load, option
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
print(json.dumps({**streams, **forecasts}))
"""


def measured(python: Path, src: Path | None) -> Result:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", **({"PYTHONPATH": str(src)} if src else {})}
    command = [python, "-W", "ignore", "-c", MEASURE]
    if sys.platform == "linux":
        command = ["taskset", "-c", str(max(os.sched_getaffinity(0))), *map(str, command)]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    return dict(json.loads(done.stdout))


def compared(asked: Options) -> Result:
    versions = {"now": (Path(sys.executable), None), "earlier": (asked.earlier_python, asked.earlier.resolve())}
    best: dict[str, Result] = {name: {} for name in versions}
    for _ in range(asked.rounds):
        for name, version in versions.items():
            for case, took in measured(*version).items():
                best[name][case] = np.minimum(best[name].get(case, np.inf), took)
    streams = {name: {c: 1e6 * t for c, t in cases.items() if np.ndim(t) == 0} for name, cases in best.items()}
    seconds = {
        name: {c: {"median": np.median(t), "p90": np.quantile(t, 0.9)} for c, t in cases.items() if np.ndim(t)}
        for name, cases in best.items()
    }
    facts = {"version": __version__, "python": platform.python_version(), "machine": platform.machine()}
    shares = {case: np.median(took) / np.median(best["earlier"][case]) for case, took in best["now"].items()}
    facts |= {"load": load(), "rounds": asked.rounds}
    return {**facts, "microseconds_a_value": streams, "seconds_a_forecast": seconds, "share_of_earlier": shares}


EARLIER = option("--earlier", type=Path, required=True, help="src folder of an earlier checkout")
BENCHMARK = Measurement(__doc__, compared, (EARLIER, *defaults(earlier_python=Path(sys.executable), rounds=3)))
