"""What noise leaves to be found: forecasts of those who know the law, from the same noisy samples as forecast_dev.py.

    python -m benchmarks.forecast_oracle chaos.npz --out benchmarks/results/forecast_oracle.json

The law of each system is the one that assimilation finds exactly without noise; systems where it finds none are left
out. *state*: parameters known too, only the trajectory is solved for; *parameters*: the terms are known, their
coefficients are not. Both are followed from the last state, as ours is. No estimate of terms can be expected to do
better, apart from luck.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from numpy.typing import NDArray

from benchmarks.forecast_dev import CONTEXT, scores
from prophecy.laws import search
from prophecy.laws.context import read
from prophecy.laws.problem import Problem
from prophecy.laws.settings import DEFAULT

Array = NDArray[np.float64]


def known(model: Any, values: Array, noise: float, fixed: bool, steps: int) -> Array:
    """The path that goes on from the trajectory of the known law through the values."""
    problem = Problem(model.field, values, np.ones_like(values), np.full(values.shape[1], noise), values.copy(), fixed)
    for looseness in DEFAULT.laws.stages[1:]:
        problem.at(looseness)
        problem.improve(8, 1e-3)
        problem.rescale()
    problem.improve(10, 1e-4)
    return problem.field.paths(problem.states[-1:], steps, 1e-3 * noise, 100.0)[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    rows = []
    with np.load(options.data) as data:
        series = {name: data[name][0] for name in data.files}
    for name, whole in series.items():
        clean, truth = whole[:CONTEXT], whole[CONTEXT:]
        context = read(clean, DEFAULT)
        variables = clean.shape[1]
        with np.errstate(all="ignore"):
            model = search.whole(context)
        if model is None or not model.exact or context.stride != 1 or context.values.shape[1] != variables:
            continue
        for noise in (0.01, 0.05):
            generator = np.random.default_rng([0, len(name)])
            noisy = clean + noise * clean.std(axis=0) * generator.standard_normal(clean.shape)
            values = (noisy - context.units.centre) / context.units.scale + model.offset
            row: dict[str, Any] = {"system": name, "noise": noise}
            for kind, fixed in (("state", True), ("parameters", False)):
                with np.errstate(all="ignore"):
                    path = known(model, values, noise, fixed, len(truth)) - model.offset
                row[kind] = scores(np.nan_to_num(path * context.units.scale + context.units.centre, nan=1e9), truth)
            rows.append(row)
            print(row, flush=True)
    summary: dict[str, Any] = {}
    for noise in (0.01, 0.05):
        for kind in ("state", "parameters"):
            vpt = [row[kind]["vpt"] for row in rows if row["noise"] == noise]
            summary[f"{kind}, noise {noise:g}"] = {
                "systems": len(vpt),
                "vpt_median": float(np.median(vpt)),
                "vpt_mean": float(np.mean(vpt)),
            }
    print(json.dumps(summary, indent=1))
    if options.out:
        options.out.write_text(json.dumps({"summary": summary, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
