"""Score `prophecy.forecasting.forecast` and simple baselines on a file of chaotic series.

    python -m benchmarks.forecast_dev chaos.npz --trajectories 0 2 4 --out benchmarks/results/forecast_dev.json

The file holds one array (trajectories, 812, variables) per system: 512 samples of context, 300 to predict, 30 samples
per Lyapunov time. `--noise` is added to the context alone, as a share of each variable's standard deviation; the
clean future is the truth. Intervals are for values as they are measured: `coverage` counts the clean future in them,
`coverage_measured` the future with noise of the same size. `--single` forecasts every variable on its own, `--pairs`
every two of them, `--missing` leaves out a share of the values of the context. A third of the systems, drawn by a
seeded generator, is reported apart as "held-out"; docs/forecasting.md says how far it was used.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import DATA, Benchmark, Options, option
from prophecy import chaos
from prophecy.evaluation import smape, valid_prediction_time
from prophecy.forecasting import forecast
from reproduction import forecast_cases

Array = NDArray[np.float64]
CONTEXT, PER_LYAPUNOV = 512, 30
SIMPLE = ("copy", "repetition", "linear")
CALLED = dict(zip((forecast_cases.OURS, *forecast_cases.BASELINES), ("ours", *SIMPLE), strict=True))


def scores(predicted: Array, truth: Array, per_lyapunov: int = PER_LYAPUNOV) -> dict[str, float]:
    return {
        "vpt": valid_prediction_time(truth, predicted, samples_per_time=per_lyapunov),
        "smape": float(smape(truth, predicted).mean()),
    }


def set_apart(names: Sequence[str], seed: int = 2027) -> set[str]:
    """A third of the systems, drawn anew for this seed."""
    return set(np.random.default_rng(seed).permutation(sorted(names))[: len(names) // 3].tolist())


def warm() -> None:
    """Compile or load everything once, so that no forecast's seconds have it in them."""
    series = chaos.lorenz.sample(CONTEXT)
    for noise in (0.0, 0.02):
        seen = series + noise * np.random.default_rng(0).standard_normal(series.shape)
        forecast(seen, 10)
        forecast(seen[:, 0], 10)


def judged(
    context: Array,
    truth: Array,
    noise: float,
    generator: np.random.Generator,
    per_lyapunov: int = PER_LYAPUNOV,
    missing: float = 0.0,
) -> dict[str, Any]:
    """Scores of every method from a context with noise and gaps, as on the report's page of forecasts.

    coverage: of the clean future; coverage_measured: of the future with noise of the same size.
    """
    found = forecast_cases.judged(context, truth, noise, generator, missing)
    row: dict[str, Any] = {"method": found.answer.method, "seconds": found.seconds}
    for kind, inside in (("coverage", found.inside), ("coverage_measured", found.inside_measured)):
        row |= {kind: float(inside.mean()), f"{kind}_tenths": [float(p.mean()) for p in np.array_split(inside, 10)]}
    paths = {CALLED[name]: path for name, path in found.paths.items()}
    paths["mean"] = np.tile(context.mean(axis=0), (len(truth), 1))
    return row | {kind: scores(path, truth, per_lyapunov) for kind, path in paths.items()}


def seed(trajectory: int, name: str) -> np.random.Generator:
    return np.random.default_rng([trajectory, len(name)])


def one(job: dict[str, Any]) -> dict[str, Any]:
    name, trajectory, series = job["system"], job["trajectory"], job["series"]
    draws = seed(trajectory, name)
    row = judged(series[:CONTEXT], series[CONTEXT:], job["noise"], draws, missing=job["missing"])
    return {"system": name, "trajectory": trajectory, **row}


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Medians and means over systems, and systems where a simple rule is better by a tenth."""
    systems = sorted({row["system"] for row in rows})

    def means(kind: str, metric: str) -> Array:
        return np.array([np.mean([r[kind][metric] for r in rows if r["system"] == name]) for name in systems])

    out: dict[str, Any] = {"forecasts": len(rows)}
    for kind in ("ours", "mean", *SIMPLE):
        out[kind] = {}
        for metric in ("vpt", "smape"):
            each = means(kind, metric)
            out[kind] |= {f"{metric}_median": float(np.median(each)), f"{metric}_mean": float(each.mean())}
    seconds = np.array([row["seconds"] for row in rows])
    about = {"median": np.median(seconds), "p90": np.quantile(seconds, 0.9), "max": seconds.max()}
    out["seconds"] = {name: float(each) for name, each in about.items()}
    for kind in ("coverage", "coverage_measured"):
        out[kind] = float(np.mean([row[kind] for row in rows]))
        out[f"{kind}_tenths"] = np.mean([row[f"{kind}_tenths"] for row in rows], axis=0).round(3).tolist()
    rivals = {kind: means(kind, "smape") for kind in SIMPLE}
    out["worse_than_a_baseline"] = {
        name: f"{ours:.1f} against {best:.1f} ({kind})"
        for i, (name, ours) in enumerate(zip(systems, means("ours", "smape"), strict=True))
        for best, kind in [min((rivals[kind][i], kind) for kind in SIMPLE)]
        if ours > 1.1 * best
    }
    return out


def cases(options: Options) -> list[dict[str, Any]]:
    with np.load(options.data) as file:
        data = {name: file[name] for name in file.files}
    held = set_apart(list(data))
    names = options.systems or [
        name for name in data if options.part == "all" or (name in held) == (options.part == "held-out")
    ]
    given = {"noise": options.noise, "missing": options.missing}
    return [
        {"system": name, "trajectory": t, "series": data[name][t][:, list(columns)], **given}
        for name in names
        for t in options.trajectories
        for columns in _chosen(range(data[name].shape[2]), options)
    ]


def _chosen(variables: range, options: Options) -> Iterable[Sequence[int]]:
    """The variables that are seen together."""
    return combinations(variables, 2 if options.pairs else 1) if options.pairs or options.single else [variables]


def line(row: dict[str, Any]) -> str:
    ours, least = row["ours"], min(row[kind]["smape"] for kind in SIMPLE)
    return (
        f"{row['system']:22} {row['trajectory']} vpt {ours['vpt']:5.1f} smape {ours['smape']:6.1f} (baseline "
        f"{least:5.1f}) cover {row['coverage']:.2f} {row['seconds']:.2f} s  {row['method']}"
    )


def result(rows: list[dict[str, Any]], options: Options) -> dict[str, Any]:
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
    ),
    warm,
)  # fmt: skip

if __name__ == "__main__":
    BENCHMARK.run()
