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

import time
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import DATA, Benchmark, Options, load, option
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


def seed(trajectory: int, name: str) -> np.random.Generator:
    return np.random.default_rng([trajectory, len(name)])


def one(job: dict[str, Any]) -> dict[str, Any]:
    """A row of one case; what took more than a second is done again for `--cost`, and the least counts."""
    name, trajectory, series = job["system"], job["trajectory"], job["series"]
    found = []
    while not found or (job["cost"] and len(found) < 2 and found[0]["seconds"] > 1):
        context, truth = series[:CONTEXT], series[CONTEXT:]
        found.append(judged(context, truth, job["noise"], seed(trajectory, name), missing=job["missing"]))
    row = min(found, key=lambda each: float(each["seconds"]))
    return {"system": name, "trajectory": trajectory, **({"noise": job["noise"]} if job["cost"] else {}), **row}


def costs(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """CPU seconds of a forecast of each system's first trajectory, one after the other in one process."""
    found: dict[str, Any] = {"systems": "all of the file", "settings": {}}
    for noise in COST_NOISES:
        mine = [{name: row[name] for name in ("system", "seconds", "method")} for row in rows if row["noise"] == noise]
        seconds = [row["seconds"] for row in mine]
        about = {"median": np.median(seconds), "p90": np.quantile(seconds, 0.9), "max": max(seconds)}
        found["settings"][f"{noise:g}"] = {"seconds": {name: float(each) for name, each in about.items()}, "rows": mine}
    return {**found, "load": load()}


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


def cases(options: Options) -> list[dict[str, Any]]:
    with np.load(options.data) as file:
        data = {name: file[name] for name in file.files}
    held = set_apart(list(data))
    names = options.systems or [
        name for name in data if options.part == "all" or options.cost or (name in held) == (options.part == "held-out")
    ]
    noises = COST_NOISES if options.cost else (options.noise,)
    given = {"missing": options.missing, "cost": options.cost}
    jobs = [
        {"system": name, "trajectory": t, "series": data[name][t], "noise": noise, **given}
        for noise in noises
        for name in names
        for t in options.trajectories
    ]
    if not (options.single or options.pairs):
        return jobs
    seen = 2 if options.pairs else 1
    return [
        job | {"series": job["series"][:, list(columns)]}
        for job in jobs
        for columns in combinations(range(job["series"].shape[1]), seen)
    ]


def line(row: dict[str, Any]) -> str:
    ours, least = row["ours"], min(row[k]["smape"] for k in ("copy", "repetition", "linear"))
    return (
        f"{row['system']:22} {row['trajectory']} vpt {ours['vpt']:5.1f} smape {ours['smape']:6.1f} (baseline "
        f"{least:5.1f}) cover {row['coverage']:.2f} {row['seconds']:.2f} s  {row['method']}"
    )


def result(rows: list[dict[str, Any]], options: Options) -> dict[str, Any]:
    if options.cost:
        return costs(rows)
    with np.load(options.data) as data:
        held = set_apart(data.files)
    parts = {"all": rows, "development": [r for r in rows if r["system"] not in held]}
    parts["held-out"] = [r for r in rows if r["system"] in held]
    asked = {name: getattr(options, name) for name in ("noise", "missing", "single", "pairs", "trajectories")}
    return {**asked, "rows": rows, "summary": {k: summary(v) for k, v in parts.items() if v}}


BENCHMARK = Benchmark(
    __doc__, cases, one, result, line,
    (
        DATA,
        option("--trajectories", type=int, nargs="+", default=[0]),
        option("--part", choices=["development", "held-out", "all"], default="development"),
        option("--systems", nargs="*"),
        option("--noise", type=float, default=0.0),
        option("--missing", type=float, default=0.0, help="share of the values that are left out"),
        option("--single", action="store_true", help="every variable on its own"),
        option("--pairs", action="store_true", help="every two variables, without the others"),
        option("--cost", action="store_true", help="CPU seconds alone, at three noise levels"),
    ),
    warm,
)  # fmt: skip

if __name__ == "__main__":
    BENCHMARK.run()
