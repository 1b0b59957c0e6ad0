"""Which kinds of right-hand sides are found: every flow of the package `dysts`, without noise and with 1 %.

    python -m benchmarks.survey --make FLOWS.npz            # integrate them (needs dysts)
    python -m benchmarks.survey FLOWS.npz --jobs 2 --out benchmarks/results/survey.json

One trajectory of each flow that is not in the development file of `forecast_dev.py`, has no delays and can be
integrated within 40 seconds: 512 samples of context, 300 to predict, 30 per Lyapunov time, seen as the package shows
them (angles through sines). `law` says whether a field was found (`Forecast.equations()` is not None), with how many
terms, and which functions it has. The systems were looked at one by one while families were chosen: this is a list of
what is covered, not a test of how well it would do elsewhere.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from benchmarks import chaos_data
from benchmarks.forecast_dev import CONTEXT, PER_LYAPUNOV, baselines, scores, warm
from prophecy.forecasting import forecast

Array = NDArray[np.float64]
NOISES = (0.0, 0.01)
ALLOWED = 40.0  # seconds for an integration


def integrated(name: str) -> Array | None:
    """(812, variables) of a flow after 20 Lyapunov times; None where that fails."""
    from other_systems import catalogue

    model = getattr(catalogue(), name)()
    unit = 1.0 / model.maximum_lyapunov_estimated
    times = np.concatenate([[0.0], 20 * unit + unit / PER_LYAPUNOV * np.arange(812)])
    began = time.monotonic()

    def field(t: float, x: Array) -> Array:
        if time.monotonic() - began > ALLOWED:
            raise TimeoutError
        return np.asarray(model.rhs(x, t), dtype=np.float64)

    try:
        start = np.atleast_1d(np.asarray(model.ic, dtype=np.float64))
        done = solve_ivp(field, (0, times[-1]), start, "DOP853", times, rtol=1e-10, atol=1e-10)
    except (TimeoutError, ValueError, FloatingPointError):
        return None
    values = chaos_data.seen(model, done.y.T[1:])
    sound = done.success and len(values) == 812 and np.isfinite(values).all() and (values.std(axis=0) > 0).all()
    return np.ascontiguousarray(values) if sound else None


def make(path: Path) -> None:
    """Integrate every flow without delays that is not in the development file."""
    from other_systems import catalogue

    flows, kept = catalogue(), {}
    for name, kind in sorted(vars(flows).items()):
        if not isinstance(kind, type) or name.startswith("DynSys") or name in chaos_data.SYSTEMS:
            continue
        if "Delay" in kind.__mro__[1].__name__ or not (getattr(kind(), "maximum_lyapunov_estimated", 0) or 0) > 0:
            continue
        values = integrated(name)
        print(name, "failed" if values is None else values.shape, flush=True)
        if values is not None:
            kept[name] = values
    np.savez_compressed(path, **kept)


def one(job: tuple[str, Array, float]) -> dict[str, Any]:
    name, whole, noise = job
    context, truth = whole[:CONTEXT], whole[CONTEXT:]
    generator = np.random.default_rng([0, len(name)])
    context = context + noise * context.std(axis=0) * generator.standard_normal(context.shape)
    began = time.process_time()
    answer = forecast(context, len(truth))
    row: dict[str, Any] = {"system": name, "variables": whole.shape[1], "noise": noise, "method": answer.method}
    row["seconds"] = time.process_time() - began
    equations = answer.equations()
    row["law"] = equations is not None
    if equations is not None:
        row["terms"] = sum(len(each) for each in equations.terms)
        row["functions"] = sorted(each.function for each in equations.functions)
    paths = {"ours": np.asarray(answer.point), **baselines(context, len(truth))}
    return row | {kind: scores(path, truth) for kind, path in paths.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("flows", type=Path, nargs="?", help="a file that --make has written")
    parser.add_argument("--make", type=Path)
    parser.add_argument("--every", type=int, default=1, help="every so many systems only")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    if options.make:
        make(options.make)
        return
    with np.load(options.flows) as data:
        jobs = [(name, data[name], noise) for noise in NOISES for name in data.files[:: options.every]]
    warm()
    rows = []
    with ProcessPoolExecutor(options.jobs) as pool:
        for row in pool.map(one, jobs):
            rows.append(row)
            print(
                f"{row['system']:24} {row['noise']} {row['ours']['vpt']:5.2f} {row['law']} {row['method']}", flush=True
            )
    summary = {}
    for noise in NOISES:
        own = [row for row in rows if row["noise"] == noise]
        times, seconds = [row["ours"]["vpt"] for row in own], [row["seconds"] for row in own]
        summary[f"{noise:g}"] = {
            "systems": len(own),
            "laws": sum(row["law"] for row in own),
            "vpt_median": float(np.median(times)),
            "vpt_mean": float(np.mean(times)),
            "seconds_median": float(np.median(seconds)),
            "seconds_p90": float(np.quantile(seconds, 0.9)),
        }
    print(json.dumps(summary, indent=1))
    if options.out:
        options.out.write_text(json.dumps({"summary": summary, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
