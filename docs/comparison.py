"""Put the tables of docs/comparison.md together from result files: python docs/comparison.py [--check].

Reads, in benchmarks/results: accuracy.json, cpu.json, ordinary.json, equations.json, streams.json (part
skaters) and training.json.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from blocks import ROOT, lines, power, results, write

NOISY = (("White γ = 1", 0.01), ("Van der Pol", 0.01))


def accuracy() -> str:
    """One-step MSE per signal: the paper's best, a line, the best baseline tuned in hindsight, ours, the floor."""
    found: dict[tuple[str, float], dict[str, float]] = {}
    for row in results("accuracy.json")["rows"]["beyond"]:
        if row["metric"] == "mse" and (not row["parameter"] or (row["dataset"], row["parameter"]) in NOISY):
            found.setdefault((row["dataset"], row["parameter"]), {})[row["method"]] = row["mean"]
    rows = []
    for (dataset, noise), errors in found.items():
        floor = "rounding" if errors["floor"] < 1e-30 else power(errors["floor"])
        cells = [power(errors[method]) for method in ("paper", "line", "best in hindsight")]
        name = dataset + (f" + noise σ = {noise:g}" if noise else "")
        rows.append([name, *cells, f"**{power(errors['Prophecy'])}**", floor])
    head = ["squared error of the next value", "paper, best", "straight line", "best baseline, tuned in hindsight"]
    return lines([*head, "`Prophecy()`", "lower bound"], rows)


def river() -> str:
    """Mean absolute error of the next value in standard deviations of the signal, and time a value."""
    case = next(case for case in results("cpu.json")["cases"] if case["case"] == "prophecy")
    scores, seconds = case["settings"]["scores"], {entry["name"]: entry["seconds"] for entry in case["entries"]}
    signals = list(scores["Prophecy"])
    rows = [
        [name, *(f"{score[signal]:.2g}" for signal in signals), f"{1e6 * seconds[name] / case['samples']:.2g} µs"]
        for name, score in scores.items()
    ]
    return lines(["error of the next value", *signals, "a value"], rows)


def skaters() -> str:
    """Mean squared error beside skaters' `laplace`, one step ahead, second half of each series."""
    found = results("streams.json")["skaters"]
    ratios = {name: entry["prophecy"] / entry["skaters"] for name, entry in found.items()}
    order = sorted(ratios, key=ratios.__getitem__)
    young = {name: entry for name, entry in found.items() if "prophecy, first 300" in entry}
    early = [entry["prophecy, first 300"] / entry["skaters, first 300"] for entry in young.values()]
    ahead, soon = sum(ratio < 1 for ratio in ratios.values()), sum(ratio < 1 for ratio in early)
    times = [entry[f"microseconds, {who}"] for who in ("prophecy", "skaters") for entry in found.values()]
    ours, theirs = np.median(times[: len(found)]), np.median(times[len(found) :])
    rows = [
        ["series on which the error is smaller", str(ahead), str(len(found) - ahead)],
        ["median ratio of mean squared errors", f"{np.median(list(ratios.values())):.2f}", "1"],
        [f"smaller over the first 300 values, of {len(early)} longer series", str(soon), str(len(early) - soon)],
        [f"best for us: {order[0]}", f"{ratios[order[0]]:.2g}", "1"],
        [f"worst for us: {order[-1]}", f"{ratios[order[-1]]:.3g}", "1"],
        ["median time a value", f"{ours:.2g} µs", f"{theirs / 1e3:.2g} ms"],
    ]
    return lines([f"{len(found)} series", "`Prophecy().follow`", "`skaters.laplace`"], rows)


def statsforecast() -> str:
    """MASE and CPU seconds a series; a rival on every n-th series is beside ours on the same ones."""
    found: dict[str, dict[str, Any]] = {}
    for row in results("ordinary.json")["rows"]:
        found.setdefault(row["set"], {})[row["method"]] = row
    rivals = ("AutoETS", "AutoTheta", "AutoARIMA")
    rows = []
    for name, methods in found.items():
        ours = methods["prophecy"]
        cells = [f"{ours['mase']:.2f}, {ours['seconds']:.2g} s"]
        for rival in rivals:
            row = methods.get(rival)
            same = "" if row is None or row["every"] == 1 else f" (ours on the same {row['ours_same']['mase']:.2f})"
            cells.append("not run" if row is None else f"{row['mase']:.2f}, {row['seconds']:.2g} s{same}")
        rows.append([name, *cells])
    return lines(["MASE, CPU time a series", "`prophecy.forecast`", *rivals], rows)


def pysindy() -> str:
    """Relative errors of all coefficients, medians over systems and draws; how often the terms are the true ones."""
    rows = []
    found = results("equations.json")["rows"]
    for noise in sorted({row["noise"] for row in found}):
        some = [row for row in found if row["noise"] == noise]
        cells = []
        for who in ("ours", "pysindy"):
            errors = [row[who]["error"] for row in some if row[who]["error"] is not None]
            exact = sum(bool(row[who]["structure"]) for row in some)
            cells.append(f"{np.median(errors):.1e}; {exact} of {len(some)}")
        rows.append([f"{100 * noise:g} % noise", *cells])
    return lines(["median error of coefficients; exactly the true terms", "`equations()`", "PySINDy, best of 21"], rows)


def layers() -> str:
    """Median error after training, by start, in units of what copying errs by."""
    found = results("training.json")
    starts = list(next(iter(found["scores"].values()))["one layer"])
    rows = []
    for task, models in found["scores"].items():
        for model, scores in models.items():
            rows.append(
                [f"{task}, {model}", *(f"{np.median([score[-1] for score in scores[start]]):.2g}" for start in starts)]
            )
        line, ours = (np.median(found["untrained"][task][name]) for name in ("straight line", "Prophecy"))
        rows.append([f"{task}, nothing trained", f"`Prophecy` {ours:.2g}, straight line {line:.2g}", *[""] * 3])
    return lines(["error after training, start:", *starts], rows)


TABLES: dict[str, Callable[[], str]] = {
    "accuracy": accuracy,
    "river": river,
    "skaters": skaters,
    "statsforecast": statsforecast,
    "pysindy": pysindy,
    "layers": layers,
}


if __name__ == "__main__":
    sys.exit(write(ROOT / "docs" / "comparison.md", "comparison.py", TABLES, sys.argv[1:]))
