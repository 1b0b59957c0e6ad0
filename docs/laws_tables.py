"""Put the tables of docs/laws.md together from result files: python docs/laws_tables.py (--check: is it?).

Reads, in benchmarks/results: census.json, equations.json, forecast_dev*.json,
forecast_other.json and textbook.json.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import blocks
import numpy as np

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
        result = blocks.results(name)
        count = len({row["system"] for row in result["rows"]})
        yield _row(label, count, result["summary"]["all"])
        yield _row("– a third drawn by seed", count // 3, result["summary"]["held-out"])


def others() -> Iterator[str]:
    result = blocks.results("forecast_other.json")
    yield from HEAD
    for label, part in result["summary"].items():
        yield _row(label, part["forecasts"], part)


def equations() -> Iterator[str]:
    rows = blocks.results("equations.json")["rows"]
    noises = sorted({row["noise"] for row in rows})
    yield f"| | {' | '.join(f'{noise * 100:.0f} % noise' for noise in noises)} |"
    yield "|---" * (1 + len(noises)) + "|"
    for name in dict.fromkeys(row["system"] for row in rows):
        cells = []
        for noise in noises:
            here = [row for row in rows if (row["system"], row["noise"]) == (name, noise)]
            both = [
                f"{np.median([row[who]['error'] for row in here]):.1e} ({sum(row[who]['structure'] for row in here)})"
                for who in ("ours", "pysindy")
            ]
            cells.append("<br>".join(both))
        yield f"| {name} | {' | '.join(cells)} |"


PARTS = {
    "work": "worked on",
    "apart": "set apart",
    "one": "one variable (seven textbook systems)",
    "known": "inputs as `known=` (a motor, a thermal network)",
}


def census() -> Iterator[str]:
    yield "| systems | noise | runs | announced | right | false | coverage of 90 % | CPU seconds, median (p90) |"
    yield "|---|---|---|---|---|---|---|---|"
    summary = blocks.results("census.json")["summary"]
    for part, words in PARTS.items():
        for noise, counts in summary[part].items():
            if isinstance(counts, dict):
                yield (
                    f"| {words} | {float(noise):.1%} | {counts['runs']} | {counts['announced']} | {counts['right']} "
                    f"| {counts['false']} | {counts['coverage']:.2f} "
                    f"| {counts['seconds_median']:.2f} ({counts['seconds_p90']:.1f}) |"
                )
                words = ""


def textbook() -> Iterator[str]:
    yield "| noise | coverage of 90 % | least of 14 systems | laws announced | error of the point, median |"
    yield "|---|---|---|---|---|"
    for noise, part in blocks.results("textbook.json")["summary"].items():
        least = min(part["per_system"], key=part["per_system"].get)
        yield (
            f"| {float(noise):.0%} | {part['coverage']:.2f} | {part['per_system'][least]:.2f} ({least}) "
            f"| {part['laws']:.0%} | {part['off_median']:.2g} |"
        )


def main(arguments: list[str]) -> str | int:
    tables = {each.__name__: each for each in (forecasts, others, equations, census, textbook)}
    joined = {name: partial(_joined, lines) for name, lines in tables.items()}
    return blocks.write(blocks.ROOT / "docs" / "laws.md", "laws_tables.py", joined, arguments)


def _joined(lines: Callable[[], Iterator[str]]) -> str:
    return "\n".join(lines())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
