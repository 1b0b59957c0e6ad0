"""What noise leaves to be found: forecasts of those who know the law, from the same noisy samples as forecast_dev.py.

The law of each system is the one that assimilation finds exactly without noise; systems where it finds none are left
out. *state*: parameters known too, only the trajectory is solved for; *parameters*: the terms are known, their
coefficients are not. Both are followed from the last state, as ours is.
"""

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from benchmarks.forecast_dev import CONTEXT, scores, seed
from benchmarks.harness import DATA, Array, Benchmark, Options, Result, grouped
from prophecy.forecasting.context import read
from prophecy.forecasting.settings import DEFAULT
from prophecy.laws.flows import Search
from prophecy.laws.problem import Problem

NOISES, KINDS = (0.01, 0.05), {"state": True, "parameters": False}


def known(model: Any, values: Array, noise: float, fixed: bool, steps: int) -> Array:
    """The path that goes on from the trajectory of the known law through the values."""
    field = model.field
    if fixed:
        field = replace(field, mask=np.zeros_like(field.mask), given=field.there)
    problem = Problem(field, values, np.ones_like(values), np.full(values.shape[1], noise), values.copy())
    for looseness in DEFAULT.laws.stages[1:]:
        problem.at(looseness)
        problem.improve(8, 1e-3)
        problem.rescale()
    problem.improve(10, 1e-4)
    return problem.field.paths(problem.states[-1:], steps, 1e-3 * noise, 100.0)[0]


def one(job: tuple[str, Array]) -> list[Result]:
    """Rows of both noises; none where no exact law is found without noise."""
    name, whole = job
    clean, truth = whole[:CONTEXT], whole[CONTEXT:]
    context = read(clean, DEFAULT)
    with np.errstate(all="ignore"):
        model = Search(context.values, context.observed, context.units).best()
    if model is None or not model.exact or context.stride != 1 or context.values.shape[1] != clean.shape[1]:
        return []
    rows = []
    for noise in NOISES:
        noisy = clean + noise * clean.std(axis=0) * seed(0, name).standard_normal(clean.shape)
        values = (noisy - context.units.centre) / context.units.scale + model.offset
        row: Result = {"system": name, "noise": noise}
        for kind, fixed in KINDS.items():
            with np.errstate(all="ignore"):
                path = known(model, values, noise, fixed, len(truth)) - model.offset
            row[kind] = scores(np.nan_to_num(path * context.units.scale + context.units.centre, nan=1e9), truth)
        rows.append(row)
    return rows


def cases(options: Options) -> list[tuple[str, Array]]:
    with np.load(options.data) as data:
        return [(name, data[name][0]) for name in data.files]


def summary(many: list[list[Result]], options: Options) -> Result:
    rows, found = [row for some in many for row in some], {}
    for (noise, some), kind in product(grouped(rows, "noise").items(), KINDS):
        vpt = [row[kind]["vpt"] for row in some]
        means = {"vpt_median": float(np.median(vpt)), "vpt_mean": float(np.mean(vpt))}
        found[f"{kind}, noise {noise:g}"] = {"systems": len(vpt), **means}
    return {"summary": found, "rows": rows}


BENCHMARK = Benchmark(__doc__, cases, one, summary, options=(DATA,))
