"""Ordinary series: ours beside what forecasters use, on the same series in one run.

DATA is what benchmarks.ordinary_data builds. Rivals need statsforecast and flaircast, whose pandas is older than
ours: run this in their environment. Without them ours and the seasonal naive are run alone.

Per series sMAPE (%), MASE, coverage of 50, 80 and 95 % intervals, mean scaled interval score at 95 % (MSIS) and
seconds of CPU time; averaged over the series of a set. Rivals that need seconds each run on every n-th (`EVERY`) of a
set, and `ours_same` is ours on exactly those. The rivals alone are given the last `LONGEST` values, for their time.
"""

import json
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import DATA, Benchmark, Options, Result, defaults, grouped
from prophecy.evaluation import smape
from prophecy.forecasting import forecast
from prophecy.tables.backtesting import seasonal_naive

LEVELS = (50, 80, 95)
PROBABILITIES = (0.025, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975)
LONGEST = 1000
EVERY = {"AutoETS": (1, 10), "AutoTheta": (1, 10), "AutoARIMA": (20, 0)}
"""Of short sets, and of hourly ones; 0: not run, half a minute a series. Others run on every series."""

METRICS = ("smape", "mase", "msis", "coverage_50", "coverage_80", "coverage_95", "seconds")
OURS = "prophecy"
UNTOLD = f"{OURS}, season not given"


@dataclass(frozen=True)
class Case:
    """One series: context, what came after, samples in a season."""

    dataset: str
    context: Any
    future: Any
    season: int


def series(data: Path) -> Iterator[Case]:
    """M series split by season, and windows of ETT: horizon 48 over the last 20, 720 over the last 3, per column."""
    with np.load(data) as found:
        for group in ("m1", "m3", "m4_hourly", "m4_weekly"):
            if f"{group}/context" in found.files:
                yield from _series(group, {part: found[f"{group}/{part}"] for part in PARTS})
        for name in ("etth1", "etth2"):
            if name in found.files:
                yield from _windows(name, found[name])


PARTS = ("context", "context_lengths", "future", "horizons", "seasons")
KINDS = {1: "yearly", 4: "quarterly", 12: "monthly", 24: "hourly"}


def _series(group: str, parts: Result) -> Iterator[Case]:
    contexts, futures = (
        np.split(np.asarray(parts[values], dtype=np.float64), np.cumsum(parts[lengths])[:-1])
        for values, lengths in (("context", "context_lengths"), ("future", "horizons"))
    )
    for context, future, season in zip(contexts, futures, parts["seasons"].tolist(), strict=True):
        name = group.replace("_", " ") if group.startswith("m4") else f"{group} {KINDS.get(season, season)}"
        yield Case(name, context, future, season)


def _windows(name: str, table: Any) -> Iterator[Case]:
    for horizon, windows in ((48, 20), (720, 3)):
        for column in np.asarray(table, dtype=np.float64).T:
            for window in range(windows):
                end = len(column) - window * horizon
                yield Case(f"{name} {horizon}", column[: end - horizon], column[end - horizon : end], 24)


def ours(case: Case, season: bool = True) -> Any:
    made = forecast(case.context, len(case.future), 0.95, season=case.season if season else None)
    return made.quantile(PROBABILITIES)


def repetition(case: Case) -> Any:
    return seasonal_naive(case.context, len(case.future), 0.95, case.season).quantile(PROBABILITIES)


def statsforecast_model(name: str, case: Case) -> Any:
    from statsforecast import models

    model = getattr(models, name)(season_length=case.season)
    made = model.forecast(y=case.context[-LONGEST:], h=len(case.future), level=list(LEVELS))
    names = [*(f"lo-{level}" for level in reversed(LEVELS)), "mean", *(f"hi-{level}" for level in LEVELS)]
    return np.array([made[name] for name in names], dtype=np.float64)


def flair(case: Case) -> Any:
    from flaircast import forecast as samples

    names = {1: "W" if "weekly" in case.dataset else "Y", 4: "Q", 12: "M", 24: "H"}
    drawn = samples(case.context[-4 * LONGEST :], len(case.future), names[case.season], n_samples=400, seed=0)
    return np.quantile(np.asarray(drawn), PROBABILITIES, axis=0)


def methods() -> dict[str, Callable[[Case], Any]]:
    found: dict[str, Callable[[Case], Any]] = {OURS: ours, UNTOLD: partial(ours, season=False)}
    found["seasonal naive"] = repetition
    if find_spec("statsforecast"):
        found |= {name: partial(statsforecast_model, name) for name in ("Theta", "AutoETS", "AutoARIMA", "AutoTheta")}
    return found | ({"FLAIR": flair} if find_spec("flaircast") else {})


def scores(case: Case, quantiles: Any, seconds: float) -> dict[str, float]:
    """One series' row. The scale of MASE and MSIS is the mean seasonal difference inside the context."""
    truth, middle = case.future, quantiles[3]
    m = case.season if len(case.context) > case.season else 1
    scale = float(np.mean(np.abs(case.context[m:] - case.context[:-m]))) or 1.0
    low, high = quantiles[0], quantiles[6]
    beyond = 40.0 * (np.maximum(low - truth, 0) + np.maximum(truth - high, 0))
    inside = {
        f"coverage_{level}": float(np.mean((quantiles[k] <= truth) & (truth <= quantiles[6 - k])))
        for k, level in ((0, 95), (1, 80), (2, 50))
    }
    return {
        "smape": float(np.mean(smape(truth, middle))),
        "mase": float(np.mean(np.abs(middle - truth)) / scale),
        "msis": float(np.mean(high - low + beyond) / scale),
        "seconds": seconds,
        **inside,
    }


def one(job: tuple[str, int, Case]) -> Result:
    name, step, case = job
    row: Result = {"set": case.dataset, "method": name, "every": step, "failed": True}
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            quantiles = np.asarray(methods()[name](case), dtype=np.float64)
        except Exception as error:  # a rival's failure is counted, not hidden
            return row | {"why": f"{error}"[:200]}
    if not np.isfinite(quantiles).all():
        return row
    return row | {"failed": False} | scores(case, quantiles, time.process_time() - began)


def every(name: str, dataset: str) -> int:
    return EVERY.get(name, (1, 1))["hourly" in dataset or dataset.startswith("ett")]


def cases(options: Options) -> Iterator[tuple[str, int, Case]]:
    sets: dict[str, list[Case]] = {}
    for case in series(options.data):
        sets.setdefault(case.dataset, []).append(case)
    for dataset, members in sets.items():
        for name in methods():
            step = every(name, dataset)
            if step and (name in (OURS, UNTOLD) or not options.rivals):
                yield from ((name, step, case) for case in members[:: options.thin][::step])


def summary(rows: list[Result], options: Options) -> Result:
    """A row per set and method; rivals of `--rivals` keep their rows of an earlier run."""
    found: list[Result] = []
    for dataset, some in grouped(rows, "set").items():
        ways = grouped(some, "method")
        mine = ways.get(OURS, [])
        for name, done in ways.items():
            found.append(_row(dataset, name, done, mine[:: done[0]["every"]], options.thin))
        for row in json.loads(options.rivals.read_text())["rows"] if options.rivals else ():
            if row["set"] == dataset and row["method"] not in (OURS, UNTOLD):
                same = [one for one in mine[:: row["every"]] if not one["failed"]]
                found.append({**row, "ours_same": _means(same)})
    for row in found:
        cells = " ".join(f"{metric} {row.get(metric, float('nan')):.3f}" for metric in METRICS)
        print(f"{row['set']:14} {row['method']:26} {row['series']:5d} {cells}")
    return {"data": options.data.name, "thin": options.thin, "numpy": np.__version__, "rows": found}


def _row(dataset: str, name: str, done: list[Any], mine: list[Any], thin: int) -> Result:
    both = [(a, b) for a, b in zip(done, mine, strict=True) if not (a["failed"] or b["failed"])]
    row: Result = {"set": dataset, "method": name, "every": done[0]["every"] * thin, "series": len(both)}
    row["failed"] = sum(a["failed"] for a in done)
    if both:
        row |= _means([a for a, _ in both])
        row["seconds_median"] = float(np.median([a["seconds"] for a, _ in both]))
        row["ours_same"] = _means([b for _, b in both])
    return row


def _means(rows: list[Result]) -> dict[str, float]:
    return {metric: float(np.mean([row[metric] for row in rows])) for metric in METRICS}


BENCHMARK = Benchmark(__doc__, cases, one, summary, options=(DATA, *defaults(rivals=Path, thin=1)))
