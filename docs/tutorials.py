"""Put the tables of docs/tutorial-sensors.md and docs/training.md together: python docs/tutorials.py [--check].

Reads, in benchmarks/results: causal_derivatives.json, delay.json and training.json.
"""

from __future__ import annotations

import sys

import numpy as np
from blocks import ROOT, lines, results, write  # and what lies beside the package

from examples.causal_derivatives import table


def derivatives() -> str:
    """Errors of rivals tuned in hindsight on every row; below, over all rows, also with the best single setting."""
    return table(results("causal_derivatives.json")["rows"])


def delay() -> str:
    """Errors while training, medians over seeds."""
    found = results("delay.json")
    rows = []
    for start, curves in found["losses"].items():
        curve = np.median(curves, axis=0)
        cells = [f"{curve[place]:.2g}" for place in (0, 10, 30, -1)]
        rows.append([start, *cells, f"{found['minutes'][start]:.2f}"])
    return lines(["start of the memories", "untrained", "100 steps", "300 steps", "600 steps", "minutes"], rows)


def training() -> str:
    """Errors before and after training, medians over seeds, beside what is not trained."""
    found = results("training.json")
    rows = []
    for task, models in found["scores"].items():
        beside = " / ".join(f"{np.median(values):.2g}" for values in found["untrained"][task].values())
        for model, starts in models.items():
            cells = [" → ".join(f"{np.median(np.array(c)[:, k]):.2g}" for k in (0, -1)) for c in starts.values()]
            rows.append([f"{task}, {model}", *cells, beside])
    starts = list(next(iter(next(iter(found["scores"].values())).values())))
    return lines(["task, model", *starts, "straight line / `Prophecy`"], rows)


def main(arguments: list[str]) -> str | int:
    pages = {"tutorial-sensors.md": {"derivatives": derivatives}, "training.md": {"delay": delay, "training": training}}
    said = [write(ROOT / "docs" / page, "tutorials.py", tables, arguments) for page, tables in pages.items()]
    return next((words for words in said if words), 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
