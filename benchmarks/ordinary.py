"""Ordinary series: ours beside what forecasters use, on the same series in one run.

    python -m benchmarks.ordinary DATA [--out benchmarks/results/ordinary.json] [--docs docs/forecasting.md]

DATA is what benchmarks.ordinary_data builds. Rivals need statsforecast and flaircast, whose pandas is older than
ours: run this in their environment. Without them ours and the seasonal naive are run alone.

Per series sMAPE (%), MASE, coverage of 50, 80 and 95 % intervals, mean scaled interval score at 95 % (MSIS) and
seconds of CPU time; averaged over the series of a set. Ours runs on every series. Rivals that need seconds each run on
every n-th (`EVERY`, counted within the set), and `ours_same` is ours on exactly those series, so that each comparison
is on the same ones. Contexts longer than `LONGEST` values are cut to their latest for the rivals alone, which would
take minutes otherwise.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from prophecy.evaluation import smape
from prophecy.forecasting import forecast

LEVELS = (50, 80, 95)
PROBABILITIES = (0.025, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975)
LONGEST = 1000
SLOW, SLOWEST = ("AutoETS", "AutoTheta"), ("AutoARIMA",)
EVERY = {"short": {"fast": 1, "slow": 1, "slowest": 20}, "hourly": {"fast": 1, "slow": 10, "slowest": 0}}
EVERY["ett"] = {"fast": 1, "slow": 10, "slowest": 0}  # 0: not run, half a minute a series
OURS = "prophecy"
UNTOLD = f"{OURS}, season not given"


@dataclass(frozen=True)
class Case:
    """One series: context, what came after, samples in a season."""

    dataset: str
    context: Any
    future: Any
    season: int


def cases(data: Path) -> Iterator[Case]:
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


def _series(group: str, parts: dict[str, Any]) -> Iterator[Case]:
    ends, futures = np.cumsum(parts["context_lengths"]), np.cumsum(parts["horizons"])
    for end, length, last, horizon, season in zip(
        ends, parts["context_lengths"], futures, parts["horizons"], parts["seasons"], strict=True
    ):
        name = group.replace("_", " ") if group.startswith("m4") else f"{group} {KINDS.get(int(season), season)}"
        context = np.asarray(parts["context"][end - length : end], dtype=np.float64)
        yield Case(name, context, np.asarray(parts["future"][last - horizon : last], dtype=np.float64), int(season))


def _windows(name: str, table: Any) -> Iterator[Case]:
    for horizon, windows in ((48, 20), (720, 3)):
        for column in np.asarray(table, dtype=np.float64).T:
            for window in range(windows):
                end = len(column) - window * horizon
                yield Case(f"{name} {horizon}", column[: end - horizon], column[end - horizon : end], 24)


def ours(case: Case, season: bool = True) -> Any:
    made = forecast(case.context, len(case.future), 0.95, season=case.season if season else None)
    return made.quantile(PROBABILITIES)


def seasonal_naive(case: Case) -> Any:
    """The last season again; normal intervals from its errors inside the context, growing with the seasons ahead."""
    m = case.season if len(case.context) > case.season else 1
    ahead = np.arange(len(case.future))
    path = case.context[len(case.context) - m + ahead % m]
    scale = np.std(case.context[m:] - case.context[:-m]) * np.sqrt(1 + ahead // m)
    scores = np.array([-1.959964, -1.281552, -0.67449, 0.0, 0.67449, 1.281552, 1.959964])
    return path + scores[:, None] * scale


def statsforecast_model(name: str, case: Case) -> Any:
    from statsforecast import models

    options = {"season_length": case.season}
    made = getattr(models, name)(**options).forecast(
        y=np.asarray(case.context[-LONGEST:], dtype=np.float64), h=len(case.future), level=list(LEVELS)
    )
    lower = [made[f"lo-{level}"] for level in reversed(LEVELS)]
    upper = [made[f"hi-{level}"] for level in LEVELS]
    return np.array([*lower, made["mean"], *upper], dtype=np.float64)


def flair(case: Case) -> Any:
    from flaircast import forecast as samples

    names = {1: "W" if "weekly" in case.dataset else "Y", 4: "Q", 12: "M", 24: "H"}
    drawn = samples(case.context[-4 * LONGEST :], len(case.future), names[case.season], n_samples=400, seed=0)
    return np.quantile(np.asarray(drawn), PROBABILITIES, axis=0)


def methods() -> dict[str, Callable[[Case], Any]]:
    found: dict[str, Callable[[Case], Any]] = {
        OURS: ours,
        UNTOLD: partial(ours, season=False),
        "seasonal naive": seasonal_naive,
    }
    try:
        import statsforecast  # noqa: F401

        for name in ("Theta", "AutoETS", "AutoARIMA", "AutoTheta"):
            found[name] = partial(statsforecast_model, name)
    except ImportError:
        pass
    try:
        import flaircast  # noqa: F401

        found["FLAIR"] = flair
    except ImportError:
        pass
    return found


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


def one(job: tuple[str, Case]) -> dict[str, float] | None:
    """None where the method could not forecast the series."""
    name, case = job
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            quantiles = np.asarray(methods()[name](case), dtype=np.float64)
        except Exception as error:  # a rival's failure is counted, not hidden
            print(f"{name} on {case.dataset}: {error}"[:200], flush=True)
            return None
    if not np.isfinite(quantiles).all():
        return None
    return scores(case, quantiles, time.process_time() - began)


def every(name: str, dataset: str) -> int:
    kind = "ett" if dataset.startswith("ett") else "hourly" if "hourly" in dataset else "short"
    speed = "slowest" if name in SLOWEST else "slow" if name in SLOW else "fast"
    return EVERY[kind][speed]


def run(options: argparse.Namespace) -> list[dict[str, Any]]:
    """A row per set and method, written as they come; rows of sets that are not run stay as they are in the file."""
    sets: dict[str, list[Case]] = {}
    for case in cases(options.data):
        if not options.sets or case.dataset in options.sets:
            sets.setdefault(case.dataset, []).append(case)
    thin, rows = options.thin, _kept(options.out, list(sets))
    with ProcessPoolExecutor(options.jobs) as pool:
        for dataset, members in sets.items():
            members = members[::thin]
            mine: list[dict[str, float] | None] = []
            for name in methods():
                if options.rivals and name not in (OURS, UNTOLD):
                    continue
                step = every(name, dataset)
                if step == 0:
                    continue
                done = list(pool.map(one, [(name, case) for case in members[::step]], chunksize=2))
                mine = done if name == OURS else mine
                row = _row(dataset, name, step * thin, done, mine[::step])
                rows.append(row)
                print(_line(row), flush=True)
                result = {"data": options.data.name, "thin": thin, "numpy": np.__version__, "rows": rows}
                options.out.write_text(json.dumps(result, indent=1) + "\n")
            if options.rivals:
                rows += _rivals(options.rivals, dataset, mine)
                options.out.write_text(json.dumps({**result, "rows": rows}, indent=1) + "\n")
    return rows


def _rivals(path: Path, dataset: str, mine: list[dict[str, float] | None]) -> list[dict[str, Any]]:
    """Rows of rivals from an earlier run, beside ours of this one on the same series."""
    found = []
    for row in json.loads(path.read_text())["rows"]:
        if row["set"] == dataset and row["method"] not in (OURS, UNTOLD):
            same = [one for one in mine[:: row["every"]] if one is not None]
            ours = {metric: float(np.mean([one[metric] for one in same])) for metric in METRICS}
            found.append({**row, "ours_same": ours})
    return found


def _kept(path: Path, anew: list[str]) -> list[dict[str, Any]]:
    """Rows of an earlier run on other sets."""
    if not path.exists():
        return []
    return [row for row in json.loads(path.read_text())["rows"] if row["set"] not in anew]


METRICS = ("smape", "mase", "msis", "coverage_50", "coverage_80", "coverage_95", "seconds")


def _row(dataset: str, name: str, step: int, done: list[Any], mine: list[Any]) -> dict[str, Any]:
    both = [(a, b) for a, b in zip(done, mine, strict=True) if a is not None and b is not None]
    row: dict[str, Any] = {"set": dataset, "method": name, "every": step, "series": len(both)}
    row["failed"] = sum(a is None for a in done)
    if both:
        row |= {metric: float(np.mean([a[metric] for a, _ in both])) for metric in METRICS}
        row["seconds_median"] = float(np.median([a["seconds"] for a, _ in both]))
        row["ours_same"] = {metric: float(np.mean([b[metric] for _, b in both])) for metric in METRICS}
    return row


def _line(row: dict[str, Any]) -> str:
    cells = " ".join(f"{metric} {row.get(metric, float('nan')):.3f}" for metric in METRICS)
    return f"{row['set']:14} {row['method']:26} {row['series']:5d} {cells}"


def table(rows: list[dict[str, Any]]) -> str:
    """The docs' table: each set's methods below ours; beside a thinned rival, ours on the same series."""
    lines = [
        "| set, method | series | sMAPE | MASE | MSIS | 50 % | 80 % | 95 % | s |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        if "mase" not in row:
            continue
        name = f"**{row['set']}**, {row['method']}" if row["method"] == OURS else f"– {row['method']}"
        lines.append(_cells(name, row["series"], row))
        if row["every"] > 1 and "ours_same" in row:
            lines.append(_cells("– – ours on the same", row["series"], row["ours_same"]))
    return "\n".join(lines)


def _cells(name: str, series: int, row: dict[str, Any]) -> str:
    figures = [f"{row['smape']:.2f}", f"{row['mase']:.3f}", f"{row['msis']:.2f}"]
    figures += [f"{row[f'coverage_{level}']:.3f}" for level in LEVELS] + [f"{row['seconds']:.3f}"]
    return f"| {name} | {series} | {' | '.join(figures)} |"


BEGIN, END = "<!-- ordinary:begin -->", "<!-- ordinary:end -->"


def into_docs(page: Path, rows: list[dict[str, Any]]) -> None:
    """Replace what stands between the two marks of a page."""
    text = page.read_text()
    before, rest = text.split(BEGIN)
    page.write_text(f"{before}{BEGIN}\n{table(rows)}\n{END}{rest.split(END)[1]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "ordinary.json")
    parser.add_argument("--docs", type=Path, help="page with the two marks to write the table into")
    parser.add_argument("--rivals", type=Path, help="a result file whose rows of rivals stand in for running them")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--thin", type=int, default=1, help="every n-th series of each set, for a quick look")
    parser.add_argument("--sets", nargs="*", help="sets to run, such as 'm1 yearly'; all by default")
    options = parser.parse_args()
    rows = run(options)
    if options.docs:
        into_docs(options.docs, rows)


if __name__ == "__main__":
    main()
