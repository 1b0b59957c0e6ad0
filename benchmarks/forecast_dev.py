"""Score `prophecy.forecasting.forecast` and simple baselines on a file of chaotic series, made by chaos_data.py.

CHAOS.npz: 512 samples of context, 300 to predict, 30 samples per Lyapunov time. `--single` forecasts every variable on
its own, `--missing` leaves out a share of the values of the context. `--others` takes FLOWS.npz, the systems outside
it, at several sampling rates, noise levels and lengths of context (`SETTINGS`): the first 1024 samples, or their last
512 or 256, so that the future is the same for all three.

Noise is added to the context alone, as a share of each variable's standard deviation; the clean future is the truth.
Intervals are for values as they are measured: `coverage` counts the clean future in them, `coverage_measured` the
future with noise of the same size. A third of the systems, drawn by a seeded generator, is reported apart as "held-out"
or "apart"; docs/forecasting.md and docs/laws.md say how far it was used.
"""

import warnings
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

from benchmarks.chaos_data import LONGEST, USUAL
from benchmarks.harness import DATA, Array, Benchmark, Options, Result, defaults, grouped, option
from prophecy.evaluation import smape, valid_prediction_time
from reproduction import forecast_cases

CONTEXT, RATE = 512, 30
SIMPLE = ("copy", "repetition", "linear")
KINDS = ("ours", "mean", *SIMPLE)
CALLED = dict(zip((forecast_cases.OURS, *forecast_cases.BASELINES), ("ours", *SIMPLE), strict=True))
# Of the others: samples per Lyapunov time, noise in standard deviations, samples of context
SETTINGS = (
    *((30, noise, USUAL) for noise in (0.0, 0.003, 0.01, 0.03, 0.1)),
    *((rate, noise, USUAL) for rate in (10, 100) for noise in (0.0, 0.01, 0.1)),
    *((30, noise, length) for length in (256, LONGEST) for noise in (0.0, 0.01)),
)
SEED = 2031  # of the third of the others that is set apart
KEPT = (
    "system", "per_lyapunov", "noise", "context", "method", "seconds", "coverage", "coverage_measured", "ours",
    "repetition", "linear",
)  # of a forecast of the others  # fmt: skip


def scores(predicted: Array, truth: Array, rate: int = RATE) -> dict[str, float]:
    valid = valid_prediction_time(truth, predicted, samples_per_time=rate)
    return {"vpt": valid, "smape": float(smape(truth, predicted).mean())}


def set_apart(names: Sequence[str], seed: int = 2027) -> set[str]:
    return set(np.random.default_rng(seed).permutation(sorted(names))[: len(names) // 3].tolist())


def seed(trajectory: int, name: str) -> np.random.Generator:
    return np.random.default_rng([trajectory, len(name)])


def one(job: Result) -> Result:
    row, context, truth = job["about"], job["context"], job["truth"]
    try:
        with warnings.catch_warnings(action="ignore"):
            found = forecast_cases.judged(context, truth, job["noise"], job["draws"], job["missing"])
    except Exception as error:  # of the others, a forecast that raises is a finding: it is listed
        if "per_lyapunov" not in row:
            raise
        return {**row, "raised": repr(error)}
    row |= {"method": found.answer.method, "seconds": found.seconds}
    for kind, inside in (("coverage", found.inside), ("coverage_measured", found.inside_measured)):
        row |= {kind: float(inside.mean()), f"{kind}_tenths": [float(p.mean()) for p in np.array_split(inside, 10)]}
    paths = {CALLED[name]: path for name, path in found.paths.items()}
    paths["mean"] = np.tile(context.mean(axis=0), (len(truth), 1))
    return {**row, **{kind: scores(path, truth, job["rate"]) for kind, path in paths.items()}}


def summary(rows: list[Result]) -> Result:
    """Medians and means over systems of the means over a system's forecasts."""
    out: Result = {"forecasts": len(rows), **{kind: {} for kind in KINDS}}
    systems = sorted(grouped(rows, "system").items())
    for metric in ("smape", "vpt"):
        each = {kind: np.array([np.mean([row[kind][metric] for row in mine]) for _, mine in systems]) for kind in KINDS}
        for kind, found in each.items():
            out[kind] |= {f"{metric}_median": float(np.median(found)), f"{metric}_mean": float(found.mean())}
        if metric == "smape":
            worse = each["ours"] > 1.1 * np.min([each[kind] for kind in SIMPLE], axis=0)
            out["worse_than_a_baseline"] = [name for (name, _), lost in zip(systems, worse, strict=True) if lost]
    seconds = np.array([row["seconds"] for row in rows])
    out["seconds"] = {"median": np.median(seconds), "p90": np.quantile(seconds, 0.9), "max": seconds.max()}
    for kind in ("coverage", "coverage_measured"):
        out[kind] = float(np.mean([row[kind] for row in rows]))
        out[f"{kind}_tenths"] = np.mean([row[f"{kind}_tenths"] for row in rows], axis=0).round(3).tolist()
    return out


def systems(options: Options) -> tuple[list[str], set[str]]:
    """The names of the file, and those of them that are set apart."""
    with np.load(options.data) as file:
        names = list(dict.fromkeys(key.split("/")[0] for key in file.files))
    return names, set_apart(names, SEED) if options.others else set_apart(names)


def cases(options: Options) -> Iterator[Result]:
    names, apart = systems(options)
    chosen = [name for name in names if options.part == "all" or (name in apart) == (options.part == "held-out")]
    with np.load(options.data) as file:
        if options.others:
            for (rate, noise, length), name in product(SETTINGS, chosen):
                about = {"system": name, "per_lyapunov": rate, "noise": noise, "context": length}
                draws, values = np.random.default_rng([SEED, *name.encode()]), file[f"{name}/{rate}"]
                past = {"context": values[LONGEST - length : LONGEST], "truth": values[LONGEST:]}
                yield {"about": about, **past, "noise": noise, "missing": 0.0, "draws": draws, "rate": rate}
            return
        given = {"noise": options.noise, "missing": options.missing, "rate": RATE}
        for name, t in product(chosen, options.trajectories):
            values = file[name][t]
            for each in np.split(values, values.shape[1], axis=1) if options.single else [values]:
                past = {"context": each[:CONTEXT], "truth": each[CONTEXT:], "draws": seed(t, name)}
                yield {"about": {"system": name, "trajectory": t}, **past, **given}


def result(rows: list[Result], options: Options) -> Result:
    _, apart = systems(options)
    if options.others:
        return of_others(rows, apart)
    parts = {"all": rows, "development": [r for r in rows if r["system"] not in apart]}
    parts["held-out"] = [r for r in rows if r["system"] in apart]
    asked = {name: getattr(options, name) for name in ("noise", "missing", "single", "trajectories")}
    return {**asked, "rows": rows, "summary": {k: summary(v) for k, v in parts.items() if v}}


def of_others(rows: list[Result], apart: set[str]) -> Result:
    raised, good = [row for row in rows if "raised" in row], [row for row in rows if "raised" not in row]
    found: Result = {"seed": SEED, "apart": sorted(apart & {row["system"] for row in rows}), "raised": raised}
    for part, some in (("summary", good), ("summary_apart", [row for row in good if row["system"] in apart])):
        found[part] = {}
        for (rate, noise, length), mine in grouped(some, "per_lyapunov", "noise", "context").items():
            more = f", {length} samples" if length != USUAL else ""
            found[part][f"{rate} samples per Lyapunov time, noise {noise:g}{more}"] = summary(mine)
    return {**found, "rows": [_rounded({name: row[name] for name in KEPT}) for row in good]}


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(each) for name, each in value.items()}
    return float(f"{value:.4g}") if isinstance(value, float) else value


PART = option("--part", choices=["development", "held-out", "all"], default="development")
SEEN = defaults(trajectories=(0,), noise=0.0, missing=0.0, single=False, others=False)
BENCHMARK = Benchmark(__doc__, cases, one, result, options=(DATA, PART, *SEEN))
