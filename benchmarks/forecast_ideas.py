"""How far each idea moves the forecasts: the method as it is, and with one idea at a time taken away by `Settings`.

    python benchmarks/forecast_ideas.py --ordinary ORDINARY.npz --chaos CHAOS.npz
        --out benchmarks/results/forecast_ideas.json

Ordinary series: every n-th of each set of benchmarks/ordinary.py (`--thin`), sMAPE, MASE, MSIS and coverage at 95 %.
Chaos: trajectory 0 of every n-th system of the file (see forecast_dev.py), valid prediction time and sMAPE, all
variables together and every variable alone.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

import ordinary
from prophecy.dynamics import forecast
from prophecy.dynamics.settings import DEFAULT, Settings
from prophecy.evaluation import smape, valid_prediction_time


def without(*kinds: str) -> Settings:
    return replace(DEFAULT, without=frozenset(kinds))


READOUTS = ("READOUT", "SEASONAL_READOUT", "HIPPO_READOUT")
PROFILES = ("PROFILE", "LONG_PROFILE", "GROWTH")

ORDINARY: dict[str, Settings] = {
    "all ideas": DEFAULT,
    "smoothers alone": without("THETA", *READOUTS, *PROFILES, "COPY", "DRIFT", "LABORATORY"),
    "without smoothers of logarithms": without("LOG_SMOOTHERS"),
    "without smoothers": without("SMOOTHERS", "LOG_SMOOTHERS", "THETA"),
    "without Theta": without("THETA"),
    "without direct readouts": without(*READOUTS),
    "without HiPPO readouts": without("HIPPO_READOUT"),
    "without mean profiles": without(*PROFILES),
    "without the laboratory": without("LABORATORY"),
    "weights from the prior alone": replace(DEFAULT, mixing_power=0.0),
    "the best candidate alone": replace(DEFAULT, mixing_power=1e3, mixing_folds=0.0),
    "seasons unshrunk": replace(DEFAULT, season_shrinkage=0.0),
    "slopes that do not fade": replace(DEFAULT, slope_fade=0.0, log_damping=1e9),
    "without disagreement in the intervals": replace(DEFAULT, disagreement=0.0),
    "intervals of smoothers alone": replace(DEFAULT, scale_skill_folds=1e9, scale_folds=1e9),
}

CHAOS: dict[str, Settings] = {
    "all ideas": DEFAULT,
    "without the laboratory": without("LABORATORY"),
    "without assimilation": without("ASSIMILATION"),
    "without kernel maps": without("KERNEL_MAPS"),
    "without polynomial maps": without("POLYNOMIAL_MAPS"),
    "without undamped waves": without("WAVES"),
    "without rational fields": without("RATIONAL_FIELDS"),
    "without repetition": without("REPETITION"),
    "without hidden phases": replace(DEFAULT, hidden_phases=False),
    "without hidden forcing": without("FORCING"),
    "without drifting parameters": without("DRIFT_FIELDS"),
}

ALONE: dict[str, Settings] = {
    "all ideas": DEFAULT,
    "without hidden variables": without("HIDDEN"),
    "hidden variables, twice the starts": replace(DEFAULT, hidden_starts=8),
    "without kernel maps": without("KERNEL_MAPS"),
    "without polynomial maps": without("POLYNOMIAL_MAPS"),
    "without undamped waves": without("WAVES"),
    "without repetition": without("REPETITION"),
    "without fields": without("POLYNOMIAL_FIELDS", "RATIONAL_FIELDS"),
    "without linear autoregression": without("LINEAR"),
}


def one_ordinary(job: tuple[str, ordinary.Case]) -> dict[str, float]:
    variant, case = job
    began = time.process_time()
    made = forecast(case.context, len(case.future), 0.95, season=case.season, settings=ORDINARY[variant])
    return ordinary.scores(case, made.quantile(ordinary.PROBABILITIES), time.process_time() - began)


def one_chaos(job: tuple[Settings, Any, Any]) -> dict[str, float]:
    settings, seen, truth = job
    began = time.process_time()
    made = forecast(seen, len(truth), settings=settings)
    return {
        "vpt": float(valid_prediction_time(truth, made.mean.reshape(truth.shape), samples_per_time=30)),
        "smape": float(np.mean(smape(truth, made.mean.reshape(truth.shape)))),
        "coverage": float(
            np.mean((made.lower.reshape(truth.shape) <= truth) & (truth <= made.upper.reshape(truth.shape)))
        ),
        "seconds": time.process_time() - began,
    }


def systems(data: Path, thin: int) -> Iterator[tuple[Any, Any]]:
    with np.load(data) as found:
        for name in found.files[::thin]:
            yield found[name][0, :512], found[name][0, 512:]


def mean_row(variant: str, dataset: str, done: list[dict[str, float]]) -> dict[str, Any]:
    means = {metric: float(np.mean([row[metric] for row in done])) for metric in done[0]}
    return {"variant": variant, "set": dataset, "series": len(done), **means}


def tables(rows: list[dict[str, Any]]) -> dict[str, str]:
    """The docs' two tables: MASE (MSIS) per set for ordinary series, valid prediction time for chaos."""
    sets = list(dict.fromkeys(row["set"] for row in rows if row["set"] not in ("chaos", "alone")))
    found = {(row["variant"], row["set"]): row for row in rows}
    ideas = [f"| | {' | '.join(sets)} |", "|---" * (len(sets) + 1) + "|"]
    for variant in dict.fromkeys(row["variant"] for row in rows if row["set"] in sets):
        cells = [f"{found[variant, one]['mase']:.3f} ({found[variant, one]['msis']:.1f})" for one in sets]
        ideas.append(f"| {variant} | {' | '.join(cells)} |")
    return {"ideas": "\n".join(ideas), "chaos-ideas": _chaos(rows, "chaos"), "alone-ideas": _chaos(rows, "alone")}


def _chaos(rows: list[dict[str, Any]], dataset: str) -> str:
    lines = ["| | valid prediction time | sMAPE | coverage at 90 % | s |", "|---|---|---|---|---|"]
    for row in rows:
        if row["set"] == dataset:
            figures = f"{row['vpt']:.2f} | {row['smape']:.1f} | {row['coverage']:.2f} | {row['seconds']:.2f}"
            lines.append(f"| {row['variant'].replace('|', '&#124;')} | {figures} |")
    return "\n".join(lines)


def into_docs(page: Path, rows: list[dict[str, Any]]) -> None:
    """Replace what stands between the marks of a page."""
    text = page.read_text()
    for name, table in tables(rows).items():
        begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
        before, rest = text.split(begin)
        text = f"{before}{begin}\n{table}\n{end}{rest.split(end)[1]}"
    page.write_text(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ordinary", type=Path)
    parser.add_argument("--chaos", type=Path)
    parser.add_argument("--thin", type=int, default=10)
    parser.add_argument("--chaos-thin", type=int, default=4)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--docs", type=Path, help="page with the marks to write the tables into")
    options = parser.parse_args()
    rows = []
    with ProcessPoolExecutor(options.jobs) as pool:
        sets: dict[str, list[ordinary.Case]] = {}
        for case in ordinary.cases(options.ordinary) if options.ordinary else ():
            sets.setdefault(case.dataset, []).append(case)
        for variant in ORDINARY if sets else ():
            for dataset, members in sets.items():
                done = list(pool.map(one_ordinary, [(variant, case) for case in members[:: options.thin]]))
                rows.append(mean_row(variant, dataset, done))
            print(rows[-1], flush=True)
        cases = list(systems(options.chaos, options.chaos_thin)) if options.chaos else []
        single = [(seen[:, [v]], truth[:, [v]]) for seen, truth in cases for v in range(seen.shape[1])]
        for dataset, variants, members in (("chaos", CHAOS, cases), ("alone", ALONE, single)):
            for variant, settings in variants.items() if cases else ():
                done = list(pool.map(one_chaos, [(settings, *case) for case in members]))
                rows.append(mean_row(variant, dataset, done))
                print(rows[-1], flush=True)
    if options.out:
        thin = {"thin": options.thin, "chaos_thin": options.chaos_thin}
        options.out.write_text(json.dumps({**thin, "rows": rows}, indent=1) + "\n")
    if options.docs:
        into_docs(options.docs, rows)


if __name__ == "__main__":
    main()
