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

import argparse
import json
import os
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from numpy.typing import NDArray

from prophecy.evaluation import histogram_distance, spectral_distance
from prophecy.forecasting import forecast

Array = NDArray[np.float64]
CONTEXT, STEPS, STRETCH = 512, 10_000, 812


def one(job: tuple[str, Array, float]) -> dict[str, Any]:
    name, series, noise = job
    context = series[0, :CONTEXT]
    generator = np.random.default_rng([0, len(name)])
    context = context + noise * context.std(axis=0) * generator.standard_normal(context.shape)
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--noise", type=float, default=0.0)
    parser.add_argument("--thin", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    with np.load(options.data) as data:
        jobs = [(name, data[name], options.noise) for name in data.files[:: options.thin]]
    rows = []
    with ProcessPoolExecutor(options.jobs) as pool:
        for row in pool.map(one, jobs):
            rows.append(row)
            print(" ".join(f"{v:.3f}" if isinstance(v, float) else str(v) for v in row.values()), flush=True)
    keys = ("spectrum", "spectrum_floor", "histogram", "histogram_floor", "seconds")
    summary = {
        key: {"median": float(np.median([r[key] for r in rows])), "worst": max(r[key] for r in rows)} for key in keys
    }
    print(json.dumps(summary, indent=1))
    if options.out:
        result = {"noise": options.noise, "steps": STEPS, "rows": rows, "summary": summary}
        options.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
