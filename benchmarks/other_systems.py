"""Forecasts of systems that were never looked at, at other sampling rates and noise levels: run once, at the end.

    python benchmarks/other_systems.py --out benchmarks/results/forecast_other.json

The systems are those of the package `dysts` that are not in the development file (its equations and parameters, our
integration): a third of them, drawn by a seed, autonomous, of three to six variables. 512 samples of context, ten
Lyapunov times to predict, at 20 samples per Lyapunov time and at 50; without noise, with 2 % and with 10 %, on the
context alone. Scores are those of `forecast_dev.py`. A system whose integration fails is listed, not left out silently.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import types
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from forecast_dev import CONTEXT, baselines, scores, summary, warm
from prophecy.dynamics import forecast

Array = NDArray[np.float64]
SETTINGS = ((20, 0.0), (50, 0.02), (20, 0.1))  # samples per Lyapunov time, noise in standard deviations
SEED, SHARE = 41, 3
ALLOWED = 60.0  # seconds: an integration that takes longer is listed as failed


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


def drawn(seen: set[str]) -> list[str]:
    """A third of the autonomous flows with three to six variables that are not among `seen`."""
    flows = catalogue()
    names = []
    for name in sorted(vars(flows)):
        kind = getattr(flows, name)
        if not isinstance(kind, type) or name.startswith("DynSys") or name in seen or "Delay" in name:
            continue
        try:
            system = kind()
            regular = (
                3 <= len(np.atleast_1d(system.ic)) <= 6 and not system.nonautonomous and not system.unbounded_indices
            )
            if regular and (system.maximum_lyapunov_estimated or 0) > 0:
                names.append(name)
        except (AttributeError, KeyError, TypeError):
            continue
    return sorted(np.random.default_rng(SEED).permutation(names)[: len(names) // SHARE].tolist())


def series(name: str, per_lyapunov: int) -> Array | None:
    """(512 + ten Lyapunov times, variables), after twenty Lyapunov times; None where that cannot be integrated."""
    system = getattr(catalogue(), name)()
    exponent = float(system.maximum_lyapunov_estimated)
    times = 20 / exponent + np.arange(CONTEXT + 10 * per_lyapunov) / (per_lyapunov * exponent)
    began = time.monotonic()

    def field(t: float, x: Array) -> Any:
        if time.monotonic() - began > ALLOWED:
            raise TimeoutError
        return system.rhs(x, t)

    try:
        start = np.atleast_1d(np.asarray(system.ic, dtype=np.float64))
        done = solve_ivp(
            field, (0, times[-1]), start, "DOP853", times, rtol=1e-9, atol=1e-9 * (np.abs(start).max() + 1e-3)
        )
    except (TimeoutError, ValueError, FloatingPointError):
        return None
    values = done.y.T
    sound = (
        done.success and values.shape[0] == len(times) and np.isfinite(values).all() and (values.std(axis=0) > 0).all()
    )
    return np.ascontiguousarray(values) if sound else None


def one(job: tuple[str, int, float]) -> dict[str, Any]:
    name, per_lyapunov, noise = job
    whole = series(name, per_lyapunov)
    if whole is None:
        return {"system": name, "per_lyapunov": per_lyapunov, "noise": noise, "failed": True}
    context, truth = whole[:CONTEXT], whole[CONTEXT:]
    generator = np.random.default_rng([SEED, len(name)])
    context = context + noise * context.std(axis=0) * generator.standard_normal(context.shape)
    measured = truth + noise * whole[:CONTEXT].std(axis=0) * generator.standard_normal(truth.shape)
    began = time.process_time()
    answer = forecast(context, len(truth))
    seconds = time.process_time() - began
    low, high = np.asarray(answer.lower), np.asarray(answer.upper)
    inside, held = (low <= truth) & (truth <= high), (low <= measured) & (measured <= high)
    row: dict[str, Any] = {"system": name, "per_lyapunov": per_lyapunov, "noise": noise, "method": answer.method}
    row |= {"seconds": seconds, "coverage": float(inside.mean()), "coverage_measured": float(held.mean())}
    row |= {"coverage_tenths": [float(p.mean()) for p in np.array_split(inside, 10)]}
    row |= {"coverage_measured_tenths": [float(p.mean()) for p in np.array_split(held, 10)]}
    paths = {"ours": np.asarray(answer.mean), **baselines(context, len(truth))}
    row |= {kind: scores(path, truth, per_lyapunov) for kind, path in paths.items()}
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seen", type=Path, required=True, help="the development file, whose systems are left out")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    with np.load(options.seen) as data:
        names = drawn(set(data.files))
    print(len(names), "systems:", ", ".join(names), flush=True)
    jobs = [(name, rate, noise) for rate, noise in SETTINGS for name in names]
    warm()
    rows = []
    with ProcessPoolExecutor(options.jobs) as pool:
        for row in pool.map(one, jobs):
            rows.append(row)
            ours = row.get("ours", {})
            print(
                f"{row['system']:22} {row['per_lyapunov']} {row['noise']} {ours} {row.get('method', 'failed')}",
                flush=True,
            )
    good = [row for row in rows if not row.get("failed")]
    parts = {
        f"{rate} samples per Lyapunov time, noise {noise:g}": summary(
            [r for r in good if (r["per_lyapunov"], r["noise"]) == (rate, noise)]
        )
        for rate, noise in SETTINGS
    }
    failed = sorted({row["system"] for row in rows if row.get("failed")})
    result = {"seed": SEED, "systems": names, "failed": failed, "summary": parts, "rows": good}
    print(json.dumps({"failed": failed, "summary": parts}, indent=1))
    if options.out:
        options.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
