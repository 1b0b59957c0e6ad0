"""How far each idea moves the forecasts: the method as it is, and with one idea at a time taken away by `Settings`.

    python -m benchmarks.forecast_ideas --ordinary ORDINARY.npz --chaos CHAOS.npz
        --out benchmarks/results/forecast_ideas.json

Ordinary series: every n-th of each set of benchmarks/ordinary.py (`--thin`), sMAPE, MASE, MSIS and coverage at 95 %.
Chaos: trajectory 0 of every n-th system of the file (see forecast_dev.py), without noise, with 1 % and with 5 %, valid
prediction time and sMAPE.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import ordinary
from benchmarks.forecast_dev import CONTEXT, scores, seed, warm
from benchmarks.harness import Benchmark, Options, option
from prophecy.forecasting import forecast
from prophecy.forecasting.settings import DEFAULT, Settings

NOISE = {"chaos": 0.0, "chaos 1 %": 0.01, "chaos 5 %": 0.05}  # of each variable's standard deviation
READOUTS = {"readout", "seasonal readout", "memory readout"}
PROFILES = {"profile", "long profile", "growth"}
OF_TIME = {"line", "constant", "waves", "approach"}

ORDINARY: dict[str, dict[str, Any]] = {
    "all ideas": {},
    "smoothers alone": {
        "ordinary.without": READOUTS | PROFILES | OF_TIME | {"theta", "autoregression", "rare"},
        "without": {"LABORATORY"},
    },
    "without smoothers": {"ordinary.without": {"smoothers", "theta"}},
    "without Theta": {"ordinary.without": {"theta"}},
    "without autoregressions": {"ordinary.without": {"autoregression"}},
    "without lines, waves and approaches": {"ordinary.without": OF_TIME},
    "without direct readouts": {"ordinary.without": READOUTS},
    "without mean profiles": {"ordinary.without": PROFILES},
    "without the laboratory": {"without": {"LABORATORY"}},
    "weights from the prior alone": {"ordinary.flatness": 0.0},
    "likelihoods not flattened": {"ordinary.flatness": 1.0},
    "each lead by its own score alone": {"ordinary.octave": 0.0},
    "half as many origins": {"ordinary.origins": DEFAULT.ordinary.origins // 2},
    "intervals not calibrated": {"ordinary.expected_count": 1e9, "ordinary.expected_factor": 1.0},
}
CHAOS: dict[str, dict[str, Any]] = {
    "all ideas": {},
    "without the laboratory": {"without": {"LABORATORY"}},
    "without assimilation": {"without": {"ASSIMILATION"}},
    "samples never taken as exact": {"laws.complete": 2.0},
    "without functions beside powers": {"laws.functions": 0},
    "without quotients of polynomials": {"laws.quotients": ()},
    "terms that went do not come back": {"laws.returns": ()},
    "laws not checked on held-back samples": {"law_behind": np.inf},
    "without kernel maps": {"without": {"KERNEL_MAPS"}},
    "without polynomial maps": {"without": {"POLYNOMIAL_MAPS"}},
    "without undamped waves": {"without": {"WAVES"}},
    "without repetition": {"without": {"REPETITION"}},
    "without hidden forcing": {"without": {"FORCING"}},
    "without drifting parameters": {"without": {"DRIFT_FIELDS"}},
}
"""Ideas, and the settings that take them away: a field, or one of a group of fields."""


def settings(changes: dict[str, Any]) -> Settings:
    found = DEFAULT
    for place, value in changes.items():
        value = frozenset(value) if isinstance(value, set) else value
        group, _, field = place.rpartition(".")
        found = replace(
            found, **({group: replace(getattr(found, group), **{field: value})} if group else {field: value})
        )
    return found


def cases(options: Options) -> Iterator[tuple[str, str, Any]]:
    sets: dict[str, list[ordinary.Case]] = {}
    for case in ordinary.series(options.ordinary) if options.ordinary else ():
        sets.setdefault(case.dataset, []).append(case)
    for idea in ORDINARY:
        for dataset, members in sets.items():
            yield from ((idea, dataset, case) for case in members[:: options.thin])
    if options.chaos:
        with np.load(options.chaos) as data:
            systems = [(name, data[name][0]) for name in data.files[:: options.chaos_thin]]
        yield from ((idea, dataset, system) for dataset in NOISE for idea in CHAOS for system in systems)


def one(job: tuple[str, str, Any]) -> dict[str, Any]:
    idea, dataset, case = job
    return {"variant": idea, "set": dataset} | (chaotic if dataset in NOISE else usual)(idea, dataset, case)


def usual(idea: str, _: str, case: ordinary.Case) -> dict[str, float]:
    began = time.process_time()
    made = forecast(case.context, len(case.future), 0.95, season=case.season, settings=settings(ORDINARY[idea]))
    return ordinary.scores(case, made.quantile(ordinary.PROBABILITIES), time.process_time() - began)


def chaotic(idea: str, dataset: str, case: tuple[str, Any]) -> dict[str, float]:
    """The noise is that of forecast_dev.py for trajectory 0."""
    name, series = case
    context, truth = series[:CONTEXT], series[CONTEXT:]
    noise = NOISE[dataset] * context.std(axis=0) * seed(0, name).standard_normal(context.shape)
    began = time.process_time()
    answer = forecast(context + noise, len(truth), settings=settings(CHAOS[idea]))
    seconds = time.process_time() - began
    inside = (np.asarray(answer.lower) <= truth) & (truth <= np.asarray(answer.upper))
    return {**scores(np.asarray(answer.point), truth), "coverage": float(inside.mean()), "seconds": seconds}


def summary(rows: list[dict[str, Any]], options: Options) -> dict[str, Any]:
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault((row.pop("variant"), row.pop("set")), []).append(row)
    means = [
        {"variant": idea, "set": dataset, "series": len(some)}
        | {metric: float(np.mean([row[metric] for row in some])) for metric in some[0]}
        for (idea, dataset), some in found.items()
    ]
    return {"thin": options.thin, "chaos_thin": options.chaos_thin, "rows": means}


BENCHMARK = Benchmark(
    __doc__, cases, one, summary, lambda row: f"{row['set']:14} {row['variant']}",
    (
        option("--ordinary", type=Path),
        option("--chaos", type=Path),
        option("--thin", type=int, default=10),
        option("--chaos-thin", type=int, default=4),
    ),
    warm,
)  # fmt: skip

if __name__ == "__main__":
    BENCHMARK.run()
