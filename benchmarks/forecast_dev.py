"""Score `prophecy.forecasting.forecast` and simple baselines on a file of chaotic series.

    python -m benchmarks.forecast_dev chaos.npz --trajectories 0 2 4 --out benchmarks/results/forecast_dev.json

The file holds one array (trajectories, 812, variables) per system: 512 samples of context, 300 to predict, 30 samples
per Lyapunov time. `--noise` is added to the context alone, as a share of each variable's standard deviation; the
clean future is the truth. Intervals are for values as they are measured: `coverage` counts the clean future in them,
`coverage_measured` the future with noise of the same size. `--single` forecasts every variable on its own, `--pairs`
every two of them, `--missing` leaves out a share of the values of the context. `--cost` measures CPU seconds instead,
in one process, at three noise levels. A third of the systems, drawn by a seeded generator, is reported apart as
"held-out"; docs/forecasting.md says how far it was used.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from numpy.typing import NDArray

from prophecy import chaos
from prophecy.evaluation import smape, valid_prediction_time
from prophecy.forecasting import forecast
from prophecy.forecasting.linear import fit_linear
from prophecy.forecasting.repeats import Copy, Repetition
from prophecy.laws.context import Rows

Array = NDArray[np.float64]
CONTEXT, PER_LYAPUNOV = 512, 30
COST_NOISES = (0.0, 0.01, 0.05)  # standard deviations


def scores(predicted: Array, truth: Array, per_lyapunov: int = PER_LYAPUNOV) -> dict[str, float]:
    return {
        "vpt": valid_prediction_time(truth, predicted, samples_per_time=per_lyapunov),
        "smape": float(smape(truth, predicted).mean()),
    }


def baselines(context: Array, horizon: int) -> dict[str, Array]:
    centre, scale = context.mean(axis=0), context.std(axis=0)
    scaled = (context - centre) / scale
    origin = np.array([len(scaled)])
    index = np.arange(len(scaled) - 1)
    rows = Rows(index, index + 1)
    models: dict[str, Any] = {"copy": Copy(), "repetition": Repetition(30)}
    models["linear"] = fit_linear(12, 1, 1e-8, scaled, rows)
    paths = {name: model.rollout(scaled, origin, horizon)[0] * scale + centre for name, model in models.items()}
    return {**paths, "mean": np.tile(centre, (horizon, 1))}


def set_apart(names: Sequence[str], seed: int = 2027) -> set[str]:
    """A third of the systems, drawn anew for this seed."""
    return set(np.random.default_rng(seed).permutation(sorted(names))[: len(names) // 3].tolist())


def warm() -> None:
    """Compile or load everything once, so that no forecast's seconds have it in them."""
    series = chaos.lorenz.sample(CONTEXT)
    for noise in (0.0, 0.02):
        forecast(series + noise * np.random.default_rng(0).standard_normal(series.shape), 10)
    for noise in (0.0, 0.02):
        forecast(series[:, 0] + noise * np.random.default_rng(0).standard_normal(len(series)), 10)


def judged(
    context: Array,
    truth: Array,
    noise: float,
    generator: np.random.Generator,
    per_lyapunov: int = PER_LYAPUNOV,
    missing: float = 0.0,
) -> dict[str, Any]:
    """Forecast from a context with noise (a share of each variable's standard deviation) and score every method.

    coverage: of the clean future; coverage_measured: of the future with noise of the same size. missing: the share of
    the values of the context that are left out, drawn at random; rivals have lines across these gaps.
    """
    scale = noise * context.std(axis=0)
    context = context + scale * generator.standard_normal(context.shape)
    measured = truth + scale * generator.standard_normal(truth.shape)
    holes = generator.random(context.shape) < missing
    began = time.process_time()
    answer = forecast(np.where(holes, np.nan, context), len(truth))
    row: dict[str, Any] = {"method": answer.method, "seconds": time.process_time() - began}
    low, high = np.asarray(answer.lower), np.asarray(answer.upper)
    for kind, values in (("coverage", truth), ("coverage_measured", measured)):
        inside = (low <= values) & (values <= high)
        row |= {kind: float(inside.mean()), f"{kind}_tenths": [float(p.mean()) for p in np.array_split(inside, 10)]}
    paths = {"ours": np.asarray(answer.point), **baselines(_bridged(context, holes), len(truth))}
    return row | {kind: scores(path, truth, per_lyapunov) for kind, path in paths.items()}


def _bridged(context: Array, holes: NDArray[np.bool_]) -> Array:
    times = np.arange(len(context))
    columns = [np.interp(times, times[~h], c[~h]) for c, h in zip(context.T, holes.T, strict=True)]
    return np.column_stack(columns)


def one(job: tuple[str, int, Array, float], missing: float = 0.0) -> dict[str, Any]:
    name, trajectory, series, noise = job
    generator = np.random.default_rng([trajectory, len(name)])
    row = judged(series[:CONTEXT], series[CONTEXT:], noise, generator, missing=missing)
    return {"system": name, "trajectory": trajectory, **row}


def costs(data: Any) -> dict[str, Any]:
    """CPU seconds of a forecast of each system's first trajectory, one after the other in this process.

    What took more than a second is done again, and the least counts: the first may have compiled or loaded something.
    """
    warm()
    found: dict[str, Any] = {"systems": "all of the file", "settings": {}}
    for noise in COST_NOISES:
        rows = [_again((name, 0, data[name][0], noise)) for name in data.files]
        seconds = [row["seconds"] for row in rows]
        about = {"median": np.median(seconds), "p90": np.quantile(seconds, 0.9), "max": max(seconds)}
        kept = [{name: row[name] for name in ("system", "seconds", "method")} for row in rows]
        found["settings"][f"{noise:g}"] = {"seconds": {name: float(each) for name, each in about.items()}, "rows": kept}
        print(noise, found["settings"][f"{noise:g}"]["seconds"], flush=True)
    return {**found, "load": os.getloadavg()[0]}


def _again(job: tuple[str, int, Array, float]) -> dict[str, Any]:
    row = one(job)
    return row if row["seconds"] < 1 else min(row, one(job), key=lambda each: float(each["seconds"]))


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    out: dict[str, Any] = {"forecasts": len(rows)}
    systems = sorted({row["system"] for row in rows})
    for kind in ("ours", "copy", "mean", "repetition", "linear"):
        vpt, smape = (
            np.array([np.mean([r[kind][metric] for r in rows if r["system"] == name]) for name in systems])
            for metric in ("vpt", "smape")
        )
        out[kind] = {
            "vpt_median": float(np.median(vpt)),
            "vpt_mean": float(vpt.mean()),
            "smape_median": float(np.median(smape)),
            "smape_mean": float(smape.mean()),
        }
    seconds = np.array([row["seconds"] for row in rows])
    out["seconds"] = {"median": float(np.median(seconds)), "p90": float(np.quantile(seconds, 0.9))}
    out["seconds"]["max"] = float(seconds.max())
    out["coverage"] = float(np.mean([row["coverage"] for row in rows]))
    out["coverage_measured"] = float(np.mean([row["coverage_measured"] for row in rows]))
    for kind in ("coverage_tenths", "coverage_measured_tenths"):
        out[kind] = np.mean([row[kind] for row in rows], axis=0).round(3).tolist()
    worse = {}
    for system in sorted({row["system"] for row in rows}):
        mine = [row for row in rows if row["system"] == system]
        ours = np.mean([row["ours"]["smape"] for row in mine])
        best = {k: float(np.mean([row[k]["smape"] for row in mine])) for k in ("copy", "repetition", "linear")}
        least = min(best, key=lambda k: best[k])
        if ours > 1.1 * best[least]:
            worse[system] = f"{ours:.1f} against {best[least]:.1f} ({least})"
    out["worse_than_a_baseline"] = worse
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--trajectories", type=int, nargs="+", default=[0])
    parser.add_argument("--part", choices=["development", "held-out", "all"], default="development")
    parser.add_argument("--systems", nargs="*")
    parser.add_argument("--noise", type=float, default=0.0)
    parser.add_argument("--missing", type=float, default=0.0, help="share of the values that are left out")
    parser.add_argument("--single", action="store_true", help="every variable on its own")
    parser.add_argument("--pairs", action="store_true", help="every two variables, without the others")
    parser.add_argument("--cost", action="store_true", help="CPU seconds alone, in one process")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    data = np.load(options.data)
    if options.cost:
        measured = costs(data)
        if options.out:
            options.out.write_text(json.dumps(measured, indent=1) + "\n")
        return
    names = options.systems or list(data.files)
    held = set_apart(data.files)
    if options.part != "all" and not options.systems:
        names = [name for name in names if (name in held) == (options.part == "held-out")]
    jobs = [(name, t, data[name][t], options.noise) for name in names for t in options.trajectories]
    if options.single or options.pairs:
        seen = 2 if options.pairs else 1
        jobs = [
            (name, t, series[:, columns], noise)
            for name, t, series, noise in jobs
            for columns in map(list, combinations(range(series.shape[1]), seen))
        ]
    rows = []
    with ProcessPoolExecutor(options.jobs, initializer=warm) as pool:
        for row in pool.map(partial(one, missing=options.missing), jobs):
            rows.append(row)
            o, least = row["ours"], min(row[k]["smape"] for k in ("copy", "repetition", "linear"))
            print(
                f"{row['system']:22} {row['trajectory']} vpt {o['vpt']:5.1f} smape {o['smape']:6.1f} (baseline "
                f"{least:5.1f}) cover {row['coverage']:.2f} {row['seconds']:.2f} s  {row['method']}",
                flush=True,
            )
    parts = {"all": rows, "development": [r for r in rows if r["system"] not in held]}
    parts["held-out"] = [r for r in rows if r["system"] in held]
    result = {
        "noise": options.noise,
        "missing": options.missing,
        "single": options.single,
        "pairs": options.pairs,
        "trajectories": options.trajectories,
        "rows": rows,
        "summary": {k: summary(v) for k, v in parts.items() if v},
    }
    print(json.dumps(result["summary"], indent=1))
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
