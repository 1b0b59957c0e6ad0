"""A kernel field under the flow against the kernel maps of the tournament, on systems that no family of fields fits.

    python -m benchmarks.kernel_field chaos.npz --out benchmarks/results/kernel_field.json

Two ways to such a field f(x) = sum_c k(x, c) a_c, with samples as centres and width and nugget by leave-one-out errors:
from the integral form of the equations along the interpolated path, and from the increments themselves. Both are then
corrected by what their flow (order 4) misses each step by, as long as that falls. Through noise the samples are
smoothed first. Contexts of 512 samples (170 where the file is thinned to 10 per Lyapunov time), Lyapunov times until
the sMAPE passes 30 %; CPU seconds of solving and following.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, eigh

from prophecy import chaos
from prophecy.evaluation import valid_prediction_time
from prophecy.forecasting.maps import delays, fit_kernel_map, kernel, leave_one_out
from prophecy.laws.context import Rows
from prophecy.laws.settings import LABORATORY
from prophecy.laws.starts import WEIGHTS, interpolate
from prophecy.laws.weak_form import smoothed

Array = NDArray[np.float64]
Solve = Callable[[Array], Array]
SYSTEMS = (
    "SprottA", "NoseHoover", "SwingingAtwood", "TurchinHanski", "WindmiReduced", "GlycolyticOscillation", "MultiChua",
)  # fmt: skip
OWN = ("food_chain", "double_pendulum", "chua")
WIDTHS, ROUNDS, FAR = (0.7, 2.5, 8.0), 8, 10.0


def stepped(x: Array, centres: Array, width: float, weights: Array) -> Array:
    """One sample later, by the classical method of order 4."""

    def slope(at: Array) -> Array:
        return np.asarray(kernel(at, centres, width) @ weights)

    first = slope(x)
    second = slope(x + first / 2)
    third = slope(x + second / 2)
    return np.asarray(x + (first + 2 * second + 2 * third + slope(x + third)) / 6)


def by_integrals(x: Array, width: float) -> tuple[float, Solve]:
    """Leave-one-out error of the rises, and coefficients from rises."""
    path, rise = interpolate(x, np.arange(len(x) - 1), 8)[0], np.diff(x, axis=0)
    nodes = kernel(np.ascontiguousarray(path.reshape(len(path), -1).T), x, width)
    system = np.einsum("rnc,n->rc", nodes.reshape(len(rise), len(WEIGHTS), -1), WEIGHTS)
    values, vectors = eigh(kernel(x, x, width))
    root = vectors / np.sqrt(np.maximum(values, 1e-14 * values[-1]))
    u, s, vt = np.linalg.svd(system @ root, full_matrices=False)
    found = []
    for nugget in LABORATORY.nuggets:
        share = s**2 / (s**2 + nugget)
        left = (rise - u @ (share[:, None] * (u.T @ rise))) / (1 - (u**2) @ share)[:, None]
        found.append((float(np.sqrt(np.mean(left**2))), float(nugget)))
    left_out, nugget = min(found)
    return left_out, lambda target: np.asarray(root @ (vt.T @ ((s / (s**2 + nugget))[:, None] * (u.T @ target))))


def by_increments(x: Array, width: float) -> tuple[float, Solve]:
    rise, centres = np.diff(x, axis=0), x[:-1]
    left_out, nugget = leave_one_out(centres, rise, width)
    factor = cho_factor(kernel(centres, centres, width) + nugget * np.eye(len(centres)))
    return left_out, lambda target: np.asarray(cho_solve(factor, target))


def field_path(x: Array, steps: int, start: Callable[[Array, float], tuple[float, Solve]]) -> Array:
    spread, rise = float(np.sqrt(np.mean(np.var(x, axis=0)) * x.shape[1])), np.diff(x, axis=0)
    tried = [(*start(x, factor * spread), factor * spread) for factor in WIDTHS]
    _, solve, width = min(tried, key=lambda each: each[0])
    centres = x if start is by_integrals else x[:-1]
    target, least, weights = rise, np.inf, solve(rise)
    for _ in range(ROUNDS):
        trial = solve(target)
        missed = np.nan_to_num(rise - (stepped(x[:-1], centres, width, trial) - x[:-1]), nan=FAR)
        if not float(np.sqrt(np.mean(missed**2))) < least:
            break
        least, weights, target = float(np.sqrt(np.mean(missed**2))), trial, target + missed
    here, out = x[-1:], []
    for _ in range(steps):
        here = np.clip(stepped(here, centres, width, weights), -FAR, FAR)
        out.append(here[0])
    return np.array(out)


def compared(series: Array, context: int, per_lyapunov: int, noise: float) -> dict[str, list[float]]:
    past, truth = series[:context], series[context : context + 10 * per_lyapunov]
    past = past + noise * past.std(axis=0) * np.random.default_rng(0).standard_normal(past.shape)
    centre, scale = past.mean(axis=0), past.std(axis=0)
    values = (past - centre) / scale
    index = np.arange(len(values) - 1)
    smooth = smoothed(values, np.full(values.shape[1], noise)) if noise else values

    def by_map(count: int) -> Array:
        found = fit_kernel_map(delays(count), values, Rows(index, index + 1))
        assert found is not None
        return found.rollout(values, np.array([len(values)]), len(truth))[0]

    makers: dict[str, Callable[[], Array]] = {
        f"kernel map, {count} delays": lambda count=count: by_map(count) for count in (1, 2, 4)
    }
    makers["kernel field from integrals"] = lambda: field_path(smooth, len(truth), by_integrals)
    makers["kernel field from increments"] = lambda: field_path(smooth, len(truth), by_increments)
    found = {}
    for name, make in makers.items():
        began = time.process_time()
        path = np.nan_to_num(make() * scale + centre, nan=1e9)
        seconds = time.process_time() - began
        found[name] = [valid_prediction_time(truth, path, samples_per_time=per_lyapunov), round(seconds, 3)]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    data, rows = np.load(options.data), list[dict[str, Any]]()
    for noise in (0.0, 0.01):
        for name in SYSTEMS:
            for trajectory in (0, 2):
                for thin, per in ((1, 30), (3, 10)):
                    found = compared(data[name][trajectory][::thin], 512 // thin, per, noise)
                    rows.append({"system": name, "per_lyapunov": per, "noise": noise, "found": found})
        for name in OWN:
            for per in (10, 30, 100):
                series = getattr(chaos, name).sample(512 + 10 * per, per)
                rows.append({"system": name, "per_lyapunov": per, "noise": noise})
                rows[-1]["found"] = compared(series, 512, per, noise)
    kinds, summary = list(rows[0]["found"]), list[dict[str, Any]]()
    for per in (10, 30, 100):
        for noise in (0.0, 0.01):
            some = [row["found"] for row in rows if row["per_lyapunov"] == per and row["noise"] == noise]
            entry: dict[str, Any] = {"per_lyapunov": per, "noise": noise, "contexts": len(some)}
            for kind in kinds:
                times, seconds = np.array([each[kind] for each in some]).T
                entry[kind] = {
                    "vpt_median": float(np.median(times)),
                    "vpt_mean": float(times.mean()),
                    "seconds": float(np.median(seconds)),
                }
            summary.append(entry)
            print(per, noise, {k: (round(entry[k]["vpt_median"], 2), round(entry[k]["vpt_mean"], 2)) for k in kinds})
    if options.out:
        options.out.write_text(json.dumps({"summary": summary, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
