"""Put the tables of docs/dynamics.md together from result files: python docs/dynamics_tables.py (--check: is it?).

Reads, in benchmarks/results: forecast_dev*.json (made by benchmarks/forecast_all.sh), forecast_other.json
(benchmarks/other_systems.py), forecast_oracle.json (benchmarks/forecast_oracle.py) and equations.json
(benchmarks/equations.py).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results"

SETTINGS = {
    "no noise, three trajectories": "forecast_dev.json",
    "0.01 % noise": "forecast_dev_little.json",
    "1 % noise": "forecast_dev_noise1.json",
    "5 % noise": "forecast_dev_noise5.json",
    "1 % noise, three values in ten missing": "forecast_dev_gaps.json",
    "one variable alone, no noise": "forecast_dev_single.json",
    "one variable alone, 1 % noise": "forecast_dev_single_noise1.json",
}
HEAD = (
    "| | systems | valid prediction time, median (mean) | sMAPE | repetition | coverage of the clean future "
    "| coverage of values as measured (least and most of ten tenths) | CPU seconds, median (90th percentile) |",
    "|---|---|---|---|---|---|---|---|",
)


def _read(name: str) -> Any:
    return json.loads((RESULTS / name).read_text())


def _row(label: str, count: int, part: dict[str, Any]) -> str:
    ours, rival, seconds = part["ours"], part["repetition"], part["seconds"]
    tenths = part["coverage_measured_tenths"]
    return (
        f"| {label} | {count} | {ours['vpt_median']:.2f} ({ours['vpt_mean']:.2f}) | {ours['smape_median']:.1f} "
        f"({ours['smape_mean']:.1f}) | {rival['vpt_median']:.2f} ({rival['vpt_mean']:.2f}) | {part['coverage']:.2f} "
        f"| {part['coverage_measured']:.2f} ({min(tenths):.2f}–{max(tenths):.2f}) "
        f"| {seconds['median']:.2f} ({seconds['p90']:.1f}) |"
    )


def forecasts() -> Iterator[str]:
    yield from HEAD
    for label, name in SETTINGS.items():
        result = _read(name)
        count = len({row["system"] for row in result["rows"]})
        yield _row(label, count, result["summary"]["all"])
        yield _row("– a third drawn by seed", count // 3, result["summary"]["held-out"])


def others() -> Iterator[str]:
    result = _read("forecast_other.json")
    yield from HEAD
    for label, part in result["summary"].items():
        yield _row(label, part["forecasts"], part)
        apart = result.get("summary_apart", {}).get(label)
        if apart is not None:
            yield _row("– the third set apart", apart["forecasts"], apart)


def oracle() -> Iterator[str]:
    yield "| known beforehand | systems | valid prediction time, median (mean) |"
    yield "|---|---|---|"
    words = {"state": "terms and parameters", "parameters": "terms"}
    result = _read("forecast_oracle.json")
    for noise, name in ((0.01, "forecast_dev_noise1.json"), (0.05, "forecast_dev_noise5.json")):
        same = {row["system"] for row in result["rows"] if row["noise"] == noise}
        vpt = [row["ours"]["vpt"] for row in _read(name)["rows"] if row["system"] in same]
        yield f"| nothing (ours), {noise:.0%} noise | {len(vpt)} | {np.median(vpt):.2f} ({np.mean(vpt):.2f}) |"
    for label, part in result["summary"].items():
        kind, noise = label.split(", noise ")
        yield (
            f"| {words[kind]}, {float(noise):.0%} noise | {part['systems']} | {part['vpt_median']:.2f} "
            f"({part['vpt_mean']:.2f}) |"
        )


def equations() -> Iterator[str]:
    yield "| | noise | ours: error | terms right | PySINDy, best of 21: error | terms right |"
    yield "|---|---|---|---|---|---|"
    rows, before = _read("equations.json")["rows"], ""
    for name, noise in dict.fromkeys((row["system"], row["noise"]) for row in rows):
        here = [row for row in rows if (row["system"], row["noise"]) == (name, noise)]
        cells = []
        for who in ("ours", "pysindy"):
            right = sum(row[who]["structure"] for row in here)
            cells.append(f"{np.median([row[who]['error'] for row in here]):.1e} | {right} of {len(here)}")
        yield f"| {name if name != before else ''} | {noise:.0%} | {cells[0]} | {cells[1]} |"
        before = name


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail where the page is not what files say")
    options = parser.parse_args()
    page = ROOT / "docs" / "dynamics.md"
    text = page.read_text()
    for mark, lines in (("forecasts", forecasts), ("others", others), ("oracle", oracle), ("equations", equations)):
        before, rest = text.split(f"<!-- {mark}:begin -->")
        _, after = rest.split(f"<!-- {mark}:end -->")
        text = before + f"<!-- {mark}:begin -->\n" + "\n".join(lines()) + f"\n<!-- {mark}:end -->" + after
    if not options.check:
        page.write_text(text)
    elif page.read_text() != text:
        sys.exit("docs/dynamics.md is not what the result files say: python docs/dynamics_tables.py writes it")


if __name__ == "__main__":
    main()
