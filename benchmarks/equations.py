"""Equations found by `prophecy.forecast(...).equations()` and by PySINDy, from the same noisy samples in one run.

    python -m benchmarks.equations --out benchmarks/results/equations.json

Six systems, 0, 1, 5 and 10 % noise (of each variable's standard deviation), three draws of it. PySINDy gets the samples
with plain and with smoothed finite differences and in its weak form, each with sequentially thresholded least squares
over monomials up to degree 3 at seven thresholds; of these 21 models the one *closest to the truth* is counted, which
no user could choose. Ours has nothing to choose.

error: Euclidean distance of all coefficients from the true ones over the length of the true ones, each equation's
coefficients first divided by its largest, so that slow variables count. structure: exactly the true terms are there.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from benchmarks.forecast_dev import warm
from prophecy.forecasting import forecast

Array = NDArray[np.float64]
SAMPLES, NOISES, DRAWS = 1000, (0.0, 0.01, 0.05, 0.1), 3
THRESHOLDS = (0.005, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8)
DRIVE = 1.2

#: field, start, step, true coefficients of each equation by the variables multiplied
SYSTEMS: dict[str, tuple[Any, list[float], float, list[dict[str, float]]]] = {
    "Lorenz": (
        lambda t, x: [10 * (x[1] - x[0]), x[0] * (28 - x[2]) - x[1], x[0] * x[1] - 8 / 3 * x[2]],
        [1.0, 2.0, 20.0],
        0.02,
        [{"x": -10, "y": 10}, {"x": 28, "y": -1, "xz": -1}, {"xy": 1, "z": -8 / 3}],
    ),
    "Rössler": (
        lambda t, x: [-x[1] - x[2], x[0] + 0.2 * x[1], 0.2 + x[2] * (x[0] - 5.7)],
        [1.0, 1.0, 0.1],
        0.1,
        [{"y": -1, "z": -1}, {"x": 1, "y": 0.2}, {"": 0.2, "z": -5.7, "xz": 1}],
    ),
    "Van der Pol": (
        lambda t, x: [x[1], 1.5 * (1 - x[0] ** 2) * x[1] - x[0]],
        [1.0, 0.5],
        0.05,
        [{"y": 1}, {"x": -1, "y": 1.5, "xxy": -1.5}],
    ),
    "Lotka–Volterra": (
        lambda t, x: [1.1 * x[0] - 0.4 * x[0] * x[1], 0.1 * x[0] * x[1] - 0.4 * x[1]],
        [10.0, 5.0],
        0.05,
        [{"x": 1.1, "xy": -0.4}, {"xy": 0.1, "y": -0.4}],
    ),
    "forced Duffing": (
        lambda t, x: [x[1], x[0] - x[0] ** 3 - 0.3 * x[1] + 0.5 * np.cos(DRIVE * t)],
        [0.5, 0.1],
        0.1,
        [{"y": 1}, {"x": 1, "xxx": -1, "y": -0.3, "z": 0.5}],
    ),
    "Hindmarsh–Rose": (
        lambda t, x: [
            x[1] - x[0] ** 3 + 3 * x[0] ** 2 - x[2] + 3.2,
            1 - 5 * x[0] ** 2 - x[1],
            0.006 * (4 * (x[0] + 1.6) - x[2]),
        ],
        [-1.0, 0.0, 3.0],
        0.1,
        [
            {"": 3.2, "y": 1, "xxx": -1, "xx": 3, "z": -1},
            {"": 1, "xx": -5, "y": -1},
            {"": 0.0384, "x": 0.024, "z": -0.006},
        ],
    ),
}


def sampled(name: str) -> Array:
    field, start, step, _ = SYSTEMS[name]
    times = 50 + step * np.arange(SAMPLES)
    values = solve_ivp(field, (0, times[-1]), start, "DOP853", times, rtol=1e-10, atol=1e-10).y.T
    return np.column_stack([values, np.cos(DRIVE * times)]) if name == "forced Duffing" else values


def judged(found: list[dict[str, float]], truth: list[dict[str, float]]) -> dict[str, Any]:
    """Error and structure of the equations that have a true one."""
    total, length = 0.0, 0.0
    same = True
    for here, there in zip(found, truth, strict=False):
        largest = max(abs(value) for value in there.values())
        same = same and set(here) == set(there)
        for term in set(here) | set(there):
            total += ((here.get(term, 0.0) - there.get(term, 0.0)) / largest) ** 2
        length += sum((value / largest) ** 2 for value in there.values())
    return {"error": float(np.sqrt(total / length)), "structure": same}


def ours(values: Array, step: float) -> list[dict[str, float]] | None:
    equations = forecast(values, 1).equations(dt=step, names="xyz"[: values.shape[1]])
    if equations is None:
        return None
    letters = "xyzp"
    return [
        {"".join(letter * p for letter, p in zip(letters, t.powers, strict=False)): t.coefficient for t in each}
        for each in equations.terms
    ]


def sindy(values: Array, step: float, truth: list[dict[str, float]]) -> dict[str, Any]:
    """The best of 21 models of PySINDy, judged by the truth."""
    import pysindy

    variables = values.shape[1]
    library = pysindy.PolynomialLibrary(degree=3)
    letters = "xyz"[:variables]
    terms = ["".join(term) for p in range(4) for term in combinations_with_replacement(letters, p)]
    times = step * np.arange(len(values))
    best: dict[str, Any] = {"error": np.inf, "structure": False}
    for threshold in THRESHOLDS:
        optimizer = pysindy.STLSQ(threshold=threshold, alpha=1e-6)
        models = {
            "finite differences": pysindy.SINDy(
                optimizer=optimizer, feature_library=library, differentiation_method=pysindy.FiniteDifference()
            ),
            "smoothed differences": pysindy.SINDy(
                optimizer=optimizer, feature_library=library, differentiation_method=pysindy.SmoothedFiniteDifference()
            ),
            "weak form": pysindy.SINDy(
                optimizer=optimizer,
                feature_library=pysindy.WeakPDELibrary(
                    pysindy.PolynomialLibrary(degree=3), spatiotemporal_grid=times, K=200
                ),
            ),
        }
        for way, model in models.items():
            np.random.seed(0)  # the weak form draws its test functions from the global generator
            try:
                model.fit(values, t=step)
                matrix = np.asarray(model.coefficients())
            except Exception as error:  # a model of theirs that fails is one that is not chosen
                best.setdefault("failures", []).append(f"{way}, {threshold}: {type(error).__name__}")
                continue
            if matrix.shape[1] != len(terms):
                best.setdefault("failures", []).append(f"{way}: {matrix.shape[1]} terms")
                continue
            found = [{terms[p]: float(c) for p, c in enumerate(row) if c != 0} for row in matrix]
            score = judged(found, truth)
            if (not score["structure"], score["error"]) < (not best["structure"], best["error"]):
                best |= score | {"way": way, "threshold": threshold}
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    rows = []
    warnings.filterwarnings("ignore")
    warm()
    for name, (_, _, step, truth) in SYSTEMS.items():
        clean = sampled(name)
        for noise in NOISES:
            for draw in range(DRAWS if noise else 1):
                generator = np.random.default_rng([draw, 7])
                values = clean + noise * clean.std(axis=0) * generator.standard_normal(clean.shape)
                began = time.process_time()
                found = ours(values, step)
                seconds = time.process_time() - began
                mine = judged(found, truth) if found else {"error": 1.0, "structure": False, "none": True}
                row = {"system": name, "noise": noise, "draw": draw, "ours": mine, "seconds": seconds}
                row["pysindy"] = sindy(values, step, truth)
                rows.append(row)
                print(
                    f"{name:16} {noise:5.2f} ours {mine['error']:.1e} {mine['structure']!s:5} {seconds:.2f} s  "
                    f"PySINDy {row['pysindy']['error']:.1e} {row['pysindy']['structure']!s:5} "
                    f"{row['pysindy'].get('way')}, {row['pysindy'].get('threshold')}",
                    flush=True,
                )
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps({"samples": SAMPLES, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
