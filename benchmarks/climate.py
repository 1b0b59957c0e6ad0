"""The long run: do 10 000 free steps stay on the attractor, with its spectrum and its histogram?

    python -m benchmarks.climate chaos.npz --out benchmarks/results/climate.json

The file is that of forecast_dev.py: (trajectories, 812, variables) per system. The first 512 samples of trajectory 0
are the context; `Forecast.point` over 10 000 steps is the free run. Truth: all trajectories (4 060 samples). Spectra
are averages of the periodograms of stretches of 812 samples, smoothed over neighbouring frequencies; the Hellinger
distance is sqrt(1 - sum sqrt(p q)), averaged over variables: 0 for equal spectra, 1 for disjoint ones. The
histogram distance is the same for the joint distribution of the first three variables in ten bins each, between the 1 %
and 99 % quantiles of the truth. Beside both stands what its samples give: trajectories 1, 3 against 0, 2, 4.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.forecast_dev import CONTEXT, seed
from benchmarks.harness import DATA, Benchmark, Options, option
from prophecy.evaluation import histogram_distance, spectral_distance
from prophecy.forecasting import forecast

Array = NDArray[np.float64]
STEPS, STRETCH = 10_000, 812


def one(job: tuple[str, Array, float]) -> dict[str, Any]:
    name, series, noise = job
    context = series[0, :CONTEXT]
    context = context + noise * context.std(axis=0) * seed(0, name).standard_normal(context.shape)
    began = time.process_time()
    made = forecast(context, STEPS)
    seconds = time.process_time() - began
    free = np.asarray(made.point)
    stretches = free[: len(free) // STRETCH * STRETCH].reshape(-1, STRETCH, free.shape[1])
    return {
        "system": name,
        "method": made.method,
        "seconds": seconds,
        "spectrum": spectral_distance(stretches, series),
        "histogram": histogram_distance(free, np.concatenate(list(series))),
        "spectrum_floor": spectral_distance(series[1::2], series[::2]),
        "histogram_floor": histogram_distance(np.concatenate(list(series[1::2])), np.concatenate(list(series[::2]))),
        "spread": float(np.mean(free[-1000:].std(axis=0) / series.std(axis=(0, 1)))),
    }


def cases(options: Options) -> list[tuple[str, Array, float]]:
    with np.load(options.data) as data:
        return [(name, data[name], options.noise) for name in data.files]


def summary(rows: list[dict[str, Any]], options: Options) -> dict[str, Any]:
    keys = ("spectrum", "spectrum_floor", "histogram", "histogram_floor", "seconds")
    over = {k: {"median": float(np.median([r[k] for r in rows])), "worst": max(r[k] for r in rows)} for k in keys}
    return {"noise": options.noise, "steps": STEPS, "rows": rows, "summary": over}


BENCHMARK = Benchmark(
    __doc__, cases, one, summary,
    lambda row: " ".join(f"{v:.3f}" if isinstance(v, float) else str(v) for v in row.values()),
    (DATA, option("--noise", type=float, default=0.0)),
)  # fmt: skip

if __name__ == "__main__":
    BENCHMARK.run()
