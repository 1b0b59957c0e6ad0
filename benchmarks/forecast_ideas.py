"""How far each idea moves the forecasts: the method as it is, and with one idea at a time taken away by `Settings`.

    python -m benchmarks.forecast_ideas --ordinary ORDINARY.npz --chaos CHAOS.npz
        --out benchmarks/results/forecast_ideas.json

Ordinary series: every n-th of each set of benchmarks/ordinary.py (`--thin`), sMAPE, MASE, MSIS and coverage at 95 %.
Chaos: trajectory 0 of every n-th system of the file (see forecast_dev.py), without noise, with 1 % and with 5 %, valid
prediction time and sMAPE.
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
from numpy.typing import NDArray

from benchmarks import ordinary
from benchmarks.forecast_dev import CONTEXT, scores, warm
from prophecy.forecasting import forecast
from prophecy.laws.settings import DEFAULT, Settings

Array = NDArray[np.float64]


def without(*kinds: str) -> Settings:
    return replace(DEFAULT, without=frozenset(kinds))


def ordinary_settings(**changes: Any) -> Settings:
    return replace(DEFAULT, ordinary=replace(DEFAULT.ordinary, **changes))


def without_families(*families: str) -> Settings:
    return ordinary_settings(without=frozenset(families))


READOUTS = ("readout", "seasonal readout", "memory readout")
PROFILES = ("profile", "long profile", "growth")
OF_TIME = ("line", "constant", "waves", "approach")

ORDINARY: dict[str, Settings] = {
    "all ideas": DEFAULT,
    "smoothers alone": replace(
        without_families("theta", "autoregression", "rare", *READOUTS, *PROFILES, *OF_TIME),
        without=frozenset({"LABORATORY"}),
    ),
    "without smoothers": without_families("smoothers", "theta"),
    "without Theta": without_families("theta"),
    "without autoregressions": without_families("autoregression"),
    "without lines, waves and approaches": without_families(*OF_TIME),
    "without direct readouts": without_families(*READOUTS),
    "without mean profiles": without_families(*PROFILES),
    "without the laboratory": without("LABORATORY"),
    "weights from the prior alone": ordinary_settings(flatness=0.0),
    "likelihoods not flattened": ordinary_settings(flatness=1.0),
    "each lead by its own score alone": ordinary_settings(octave=0.0),
    "half as many origins": ordinary_settings(origins=DEFAULT.ordinary.origins // 2),
    "intervals not calibrated": ordinary_settings(expected_count=1e9, expected_factor=1.0),
}


def laws(**changes: Any) -> Settings:
    return replace(DEFAULT, laws=replace(DEFAULT.laws, **changes))


CHAOS: dict[str, Settings] = {
    "all ideas": DEFAULT,
    "without the laboratory": without("LABORATORY"),
    "without assimilation": without("ASSIMILATION"),
    "samples never taken as exact": laws(complete=2.0),
    "without functions beside powers": laws(functions=0),
    "without quotients of polynomials": laws(quotients=()),
    "no more than four kinks": laws(kinks=0),
    "long laws of powers not compared with functions": laws(short=np.inf),
    "terms that went do not come back": laws(returns=()),
    "beginning at 0.6 of the noise": laws(stages=(0.6, 0.12, 0.03, 0.01)),
    "first guesses not thinned": laws(many=1000),
    "laws not checked on held-back samples": replace(DEFAULT, law_behind=np.inf),
    "without kernel maps": without("KERNEL_MAPS"),
    "without polynomial maps": without("POLYNOMIAL_MAPS"),
    "without undamped waves": without("WAVES"),
    "without repetition": without("REPETITION"),
    "the laboratory does not join the mixture": replace(DEFAULT, laboratory=replace(DEFAULT.laboratory, joins=0)),
    "without hidden phases": replace(DEFAULT, hidden_phases=False),
    "without hidden forcing": without("FORCING"),
    "without drifting parameters": without("DRIFT_FIELDS"),
}
NOISE = {"chaos": 0.0, "chaos 1 %": 0.01, "chaos 5 %": 0.05}  # of each variable's standard deviation


def one_ordinary(job: tuple[str, ordinary.Case]) -> dict[str, float]:
    variant, case = job
    began = time.process_time()
    made = forecast(case.context, len(case.future), 0.95, season=case.season, settings=ORDINARY[variant])
    return ordinary.scores(case, made.quantile(ordinary.PROBABILITIES), time.process_time() - began)


def one_chaos(job: tuple[Settings, Array, Array, float]) -> dict[str, float]:
    """The noise is that of forecast_dev.py for trajectory 0."""
    settings, series, noise = job
    seen, truth = series[:CONTEXT], series[CONTEXT:]
    began = time.process_time()
    answer = forecast(seen + noise, len(truth), settings=settings)
    seconds = time.process_time() - began
    inside = (np.asarray(answer.lower) <= truth) & (truth <= np.asarray(answer.upper))
    return {**scores(np.asarray(answer.point), truth), "coverage": float(inside.mean()), "seconds": seconds}


def systems(data: Path, thin: int) -> Iterator[tuple[str, Array]]:
    with np.load(data) as found:
        for name in found.files[::thin]:
            yield name, found[name][0]


def noise_of(name: str, series: Array, share: float) -> Array:
    context = series[:CONTEXT]
    generator = np.random.default_rng([0, len(name)])
    return np.asarray(share * context.std(axis=0) * generator.standard_normal(context.shape))


def mean_row(variant: str, dataset: str, done: list[dict[str, float]]) -> dict[str, Any]:
    means = {metric: float(np.mean([row[metric] for row in done])) for metric in done[0]}
    return {"variant": variant, "set": dataset, "series": len(done), **means}


def chaos_rows(pool: ProcessPoolExecutor, cases: list[tuple[str, Array]]) -> Iterator[dict[str, Any]]:
    """All jobs at once, so that no process waits for the slowest of a variant."""
    wanted = [
        (variant, dataset, (settings, series, noise_of(name, series, share)))
        for dataset, share in NOISE.items()
        for variant, settings in CHAOS.items()
        for name, series in cases
    ]
    done: dict[tuple[str, str], list[dict[str, float]]] = {}
    for (variant, dataset, _), row in zip(wanted, pool.map(one_chaos, [job for _, _, job in wanted]), strict=True):
        done.setdefault((variant, dataset), []).append(row)
    for (variant, dataset), found in done.items():
        yield mean_row(variant, dataset, found)


def tables(rows: list[dict[str, Any]]) -> dict[str, str]:
    """The docs' tables: MASE (MSIS) per set for ordinary series, valid prediction times for chaos."""
    found = {(row["variant"], row["set"]): row for row in rows}
    sets = [s for s in dict.fromkeys(row["set"] for row in rows) if s not in NOISE]
    variants = dict.fromkeys(row["variant"] for row in rows if row["set"] in sets)
    cells = {v: [f"{found[v, s]['mase']:.3f} ({found[v, s]['msis']:.1f})" for s in sets] for v in variants}
    out = {"ideas": _table(sets, cells)} if sets else {}
    if any(s in NOISE for _, s in found):
        variants = dict.fromkeys(row["variant"] for row in rows if row["set"] in NOISE)
        cells = {v: [f"{found[v, s]['vpt']:.2f} ({found[v, s]['smape']:.1f})" for s in NOISE] for v in variants}
        for v in variants:
            cells[v].append(" / ".join(f"{found[v, s]['seconds']:.2f}" for s in NOISE))
        out["chaos-ideas"] = _table(["no noise", "1 %", "5 %", "s"], cells)
    return out


def _table(head: list[str], cells: dict[str, list[str]]) -> str:
    lines = [f"| | {' | '.join(head)} |", "|---" * (len(head) + 1) + "|"]
    return "\n".join([*lines, *(f"| {name} | {' | '.join(each)} |" for name, each in cells.items())])


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
    with ProcessPoolExecutor(options.jobs, initializer=warm) as pool:
        sets: dict[str, list[ordinary.Case]] = {}
        for case in ordinary.cases(options.ordinary) if options.ordinary else ():
            sets.setdefault(case.dataset, []).append(case)
        for variant in ORDINARY if sets else ():
            for dataset, members in sets.items():
                done = list(pool.map(one_ordinary, [(variant, case) for case in members[:: options.thin]]))
                rows.append(mean_row(variant, dataset, done))
            print(rows[-1], flush=True)
        cases = list(systems(options.chaos, options.chaos_thin)) if options.chaos else []
        for row in chaos_rows(pool, cases) if cases else ():
            rows.append(row)
            print({k: round(v, 3) if isinstance(v, float) else v for k, v in row.items()}, flush=True)
    if options.out:
        thin = {"thin": options.thin, "chaos_thin": options.chaos_thin}
        options.out.write_text(json.dumps({**thin, "rows": rows}, indent=1) + "\n")
    if options.docs:
        into_docs(options.docs, rows)


if __name__ == "__main__":
    main()
