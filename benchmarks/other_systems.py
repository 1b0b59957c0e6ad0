"""Forecasts of systems outside the development file, at other sampling rates, noise levels and lengths of context.

    python -m benchmarks.other_systems --make FLOWS.npz     # integrate them (needs dysts)
    python -m benchmarks.other_systems FLOWS.npz --part all --jobs 16 --out benchmarks/results/forecast_other.json
    python -m benchmarks.other_systems FLOWS.npz --part apart --single --out SINGLE.json

Every flow of the package `dysts` that is not in the development file of `forecast_dev.py`, has no delays and can be
integrated in 90 seconds (its equations and parameters, our integration), seen as the package shows it: 10, 30 and 100
samples per Lyapunov time, ten Lyapunov times to predict. Noise is added to the context alone, as a share of each
variable's standard deviation; scores are those of `forecast_dev.py`. FLOWS.npz holds an array under NAME/RATE whose
first 1024 samples are the context, or their last 512 or 256: the future is the same for all three.

A third of the systems, drawn by a seed, is the part "apart"; docs/laws.md says how far it was used.
"""

from __future__ import annotations

import sys
import time
import types
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from benchmarks import chaos_data
from benchmarks.forecast_dev import judged, set_apart, summary, warm
from benchmarks.harness import Benchmark, Options, option

Array = NDArray[np.float64]
RATES, NOISES = (10, 30, 100), (0.0, 0.003, 0.01, 0.03, 0.1)  # samples per Lyapunov time, standard deviations
LONGEST, USUAL = 1024, 512  # samples of context
# Samples per Lyapunov time, noise, samples of context
SETTINGS = (
    *((30, noise, USUAL) for noise in NOISES),
    *((rate, noise, USUAL) for rate in (10, 100) for noise in (0.0, 0.01, 0.1)),
    *((30, noise, length) for length in (256, LONGEST) for noise in (0.0, 0.01)),
)
SEED = 2031  # of the third that is set apart
TRANSIENT = 40.0  # Lyapunov times before the first sample
ALLOWED = 90.0  # seconds: an integration that takes longer is listed as failed


def catalogue() -> Any:
    """The package's equations. It imports parts that need further packages, for functions that are not used here."""
    for name, attributes in (
        ("gluonts.dataset.arrow", ("ArrowWriter",)),
        ("gluonts.dataset.common", ("FileDataset", "ListDataset")),
        ("gluonts.dataset", ()),
        ("gluonts", ()),
    ):
        if name not in sys.modules:
            module = types.ModuleType(name)
            for attribute in attributes:
                setattr(module, attribute, None)
            sys.modules[name] = module
    import dysts.flows

    return dysts.flows


def candidates() -> list[str]:
    """Flows without delays and with a known positive Lyapunov exponent that are not in the development file."""
    found = []
    for name, kind in sorted(vars(catalogue()).items()):
        if not isinstance(kind, type) or name.startswith("DynSys") or name in chaos_data.SYSTEMS:
            continue
        if "Delay" not in kind.__mro__[1].__name__ and (getattr(kind(), "maximum_lyapunov_estimated", 0) or 0) > 0:
            found.append(name)
    return found


def integrated(name: str) -> dict[int, Array] | None:
    """For each rate (1024 + ten Lyapunov times, variables); None where that cannot be integrated."""
    model = getattr(catalogue(), name)()
    unit = 1.0 / float(model.maximum_lyapunov_estimated)
    fine = 300  # samples per Lyapunov time of which all rates are multiples
    places = {rate: fine // rate * np.arange(LONGEST + 10 * rate) for rate in RATES}
    every = np.unique(np.concatenate(list(places.values())))
    times = TRANSIENT * unit + every * unit / fine
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
    values = chaos_data.seen(model, done.y.T)
    if not (done.success and len(values) == len(every) and np.isfinite(values).all()):
        return None
    found = {rate: np.ascontiguousarray(values[np.searchsorted(every, at)]) for rate, at in places.items()}
    return found if all((each[-USUAL:].std(axis=0) > 0).all() for each in found.values()) else None


def make(path: Path, jobs: int) -> None:
    names, kept = candidates(), {}
    with ProcessPoolExecutor(jobs) as pool:
        for name, found in zip(names, pool.map(integrated, names), strict=True):
            print(name, "failed" if found is None else found[RATES[0]].shape, flush=True)
            kept |= {f"{name}/{rate}": values for rate, values in (found or {}).items()}
    np.savez_compressed(path, **kept)


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


def data(options: Options) -> dict[str, Array]:
    if options.make:
        make(options.make, options.jobs)
        raise SystemExit(0)
    if options.flows is None:
        options.refuse("a file of flows is needed; --make FILE writes one")
    with np.load(options.flows) as file:
        return {key: file[key] for key in file.files}


def cases(options: Options) -> list[tuple[str, Array, int, float, int]]:
    flows = data(options)
    names = sorted({key.split("/")[0] for key in flows})
    apart = set_apart(names, SEED)
    names = [name for name in names if options.part == "all" or (name in apart) == (options.part == "apart")]
    names = options.systems or names[:: options.every]
    settings = [SETTINGS[k] for k in options.settings] if options.settings else SETTINGS
    jobs = [(name, flows[f"{name}/{s[0]}"], *s) for s in settings for name in names]
    if options.single:
        jobs = [(job[0], job[1][:, [v]], *job[2:]) for job in jobs for v in range(job[1].shape[1])]
    return jobs


def result(rows: list[dict[str, Any]], options: Options) -> dict[str, Any]:
    apart = set_apart(sorted({key.split("/")[0] for key in data(options)}), SEED)
    raised, good = [row for row in rows if "raised" in row], [row for row in rows if "raised" not in row]
    found: dict[str, Any] = {"seed": SEED, "apart": sorted(apart & {row["system"] for row in rows}), "raised": raised}
    for part, some in (("summary", good), ("summary_apart", [row for row in good if row["system"] in apart])):
        settings = {s: [r for r in some if (r["per_lyapunov"], r["noise"], r["context"]) == s] for s in SETTINGS}
        found[part] = {label(*s): summary(mine) for s, mine in settings.items() if mine}
    return {**found, "rows": [_kept(row) for row in good]}


def line(row: dict[str, Any]) -> str:
    start = f"{row['system']:22} {row['per_lyapunov']:3} {row['noise']:5g} {row['context']:4}"
    if "raised" in row:
        return f"{start} RAISED {row['raised']}"
    least = min(row[kind]["smape"] for kind in ("copy", "repetition", "linear"))
    return (
        f"{start} vpt {row['ours']['vpt']:5.2f} smape {row['ours']['smape']:6.1f} (baseline {least:5.1f})"
        f" cover {row['coverage_measured']:.2f} {row['seconds']:.2f} s  {row['method']}"
    )


def _kept(row: dict[str, Any]) -> dict[str, Any]:
    """What the result file has of a forecast."""
    names = ("system", "per_lyapunov", "noise", "context", "method", "seconds", "coverage", "coverage_measured")
    kept = {name: row[name] for name in names}
    kept |= {kind: row[kind] for kind in ("ours", "repetition", "linear")}
    return {name: _rounded(value) for name, value in kept.items()}


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(each) for name, each in value.items()}
    return float(f"{value:.4g}") if isinstance(value, float) else value


BENCHMARK = Benchmark(
    __doc__, cases, one, result, line,
    (
        option("flows", type=Path, nargs="?", help="a file that --make has written"),
        option("--make", type=Path),
        option("--part", choices=["development", "apart", "all"], default="development"),
        option("--systems", nargs="*"),
        option("--every", type=int, default=1, help="every so many systems only"),
        option("--settings", type=int, nargs="*", help="numbers of the settings, all if none"),
        option("--single", action="store_true", help="every variable on its own"),
    ),
    warm,
)  # fmt: skip

if __name__ == "__main__":
    BENCHMARK.run()
