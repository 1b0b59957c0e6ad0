"""Forecasts of systems outside the development file, at other sampling rates, noise levels and lengths of context.

    python -m benchmarks.chaos_data FLOWS.npz --others
    python -m benchmarks.other_systems FLOWS.npz --part all --jobs 16 --out benchmarks/results/forecast_other.json

Noise is added to the context alone, as a share of each variable's standard deviation; scores are those of
`forecast_dev.py`. The context are the first 1024 samples, or their last 512 or 256: the future is the same for all
three. A third of the systems, drawn by a seed, is the part "apart"; docs/laws.md says how far it was used.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.chaos_data import LONGEST, USUAL
from benchmarks.forecast_dev import SIMPLE, judged, set_apart, summary, warm
from benchmarks.harness import DATA, Benchmark, Options, option

Array = NDArray[np.float64]
NOISES = (0.0, 0.003, 0.01, 0.03, 0.1)  # standard deviations
# Samples per Lyapunov time, noise, samples of context
SETTINGS = (
    *((30, noise, USUAL) for noise in NOISES),
    *((rate, noise, USUAL) for rate in (10, 100) for noise in (0.0, 0.01, 0.1)),
    *((30, noise, length) for length in (256, LONGEST) for noise in (0.0, 0.01)),
)
SEED = 2031  # of the third that is set apart
KEPT = ("system", "per_lyapunov", "noise", "context", "method", "seconds", "coverage", "coverage_measured")
"""What the result file has of a forecast, beside its scores."""


def one(job: tuple[str, Array, int, float, int]) -> dict[str, Any]:
    name, whole, rate, noise, length = job
    warnings.filterwarnings("ignore")
    row: dict[str, Any] = {"system": name, "per_lyapunov": rate, "noise": noise, "context": length}
    generator = np.random.default_rng([SEED, *name.encode()])
    try:
        return row | judged(whole[LONGEST - length : LONGEST], whole[LONGEST:], noise, generator, rate)
    except Exception as error:  # a forecast that raises is a finding: it is listed
        return row | {"raised": repr(error)}


def label(rate: int, noise: float, length: int) -> str:
    return f"{rate} samples per Lyapunov time, noise {noise:g}" + (f", {length} samples" if length != USUAL else "")


def systems(options: Options) -> tuple[list[str], set[str]]:
    """Those of the file, and of these the ones set apart."""
    with np.load(options.data) as file:
        names = sorted({key.split("/")[0] for key in file.files})
    return names, set_apart(names, SEED)


def cases(options: Options) -> list[tuple[str, Array, int, float, int]]:
    names, apart = systems(options)
    chosen = [name for name in names if options.part == "all" or (name in apart) == (options.part == "apart")]
    with np.load(options.data) as file:
        return [(name, file[f"{name}/{setting[0]}"], *setting) for setting in SETTINGS for name in chosen]


def result(rows: list[dict[str, Any]], options: Options) -> dict[str, Any]:
    _, apart = systems(options)
    raised, good = [row for row in rows if "raised" in row], [row for row in rows if "raised" not in row]
    found: dict[str, Any] = {"seed": SEED, "apart": sorted(apart & {row["system"] for row in rows}), "raised": raised}
    for part, some in (("summary", good), ("summary_apart", [row for row in good if row["system"] in apart])):
        settings = {s: [r for r in some if (r["per_lyapunov"], r["noise"], r["context"]) == s] for s in SETTINGS}
        found[part] = {label(*s): summary(mine) for s, mine in settings.items() if mine}
    kept = [{name: row[name] for name in (*KEPT, "ours", "repetition", "linear")} for row in good]
    return {**found, "rows": [_rounded(row) for row in kept]}


def line(row: dict[str, Any]) -> str:
    start = f"{row['system']:22} {row['per_lyapunov']:3} {row['noise']:5g} {row['context']:4}"
    if "raised" in row:
        return f"{start} RAISED {row['raised']}"
    return (
        f"{start} vpt {row['ours']['vpt']:5.2f} smape {row['ours']['smape']:6.1f} (baseline "
        f"{min(row[kind]['smape'] for kind in SIMPLE):5.1f}) cover {row['coverage_measured']:.2f} "
        f"{row['seconds']:.2f} s  {row['method']}"
    )


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(each) for name, each in value.items()}
    return float(f"{value:.4g}") if isinstance(value, float) else value


BENCHMARK = Benchmark(
    __doc__, cases, one, result, line,
    (DATA, option("--part", choices=["development", "apart", "all"], default="development")), warm,
)  # fmt: skip

if __name__ == "__main__":
    BENCHMARK.run()
