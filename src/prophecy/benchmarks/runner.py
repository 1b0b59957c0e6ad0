"""Runs cases by name and gathers them into one result, the same for the command line and the committed files.

`python -m prophecy.benchmarks.runner --out FILE [NAME …]` does what `prophecy bench --json` does, without the command
line's extras. A file that exists keeps its other cases, each with the machine it ran on.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import prophecy
from prophecy import _files
from prophecy.benchmarks import adaptive, cpu, csv_predict, measure
from prophecy.benchmarks.measure import Case

CASES: dict[str, Callable[[int, bool], Case]] = {**cpu.CASES, "prophecy": adaptive.case, "csv": csv_predict.case}


def names(device: str) -> tuple[str, ...]:
    """The cases of a device: "cpu" or "cuda"."""
    if device == "cpu":
        return (*CASES, "scaling")
    if device != "cuda":
        raise ValueError(f"device must be 'cpu' or 'cuda', got {device!r}")
    from prophecy.benchmarks import gpu

    return tuple(gpu.CASES)


def chosen(wanted: Sequence[str], device: str) -> tuple[str, ...]:
    known = names(device)
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise ValueError(f"unknown benchmark {unknown[0]!r}; on {device} there are: {', '.join(known)}")
    return tuple(wanted) or tuple(name for name in known if name != "scaling")


def run(wanted: Sequence[str], device: str, rounds: int, quick: bool, told: Callable[[str], None]) -> dict[str, Any]:
    """Run these cases; `told` gets each one's text as soon as it is there."""
    cases = chosen(wanted, device)
    result: dict[str, Any] = {
        "experiment": f"speed-{device}",
        "version": prophecy.__version__,
        "cases": [],
        "scaling": [],
    }
    result["machine"] = measure.machine()  # of the scaling points
    for name in cases:
        if name == "scaling":
            from prophecy.benchmarks.scaling import scaling

            result["scaling"] = scaling(rounds, quick)
            told(f"scaling: {len(result['scaling'])} points measured")
            continue
        case = CASES[name](rounds, quick) if device == "cpu" else _on_gpu(name)
        result["cases"].append(case.as_dict() | {"machine": measure.machine()})
        told(measure.describe(case))
    return result


def _on_gpu(name: str) -> Case:
    from prophecy.benchmarks import gpu

    return gpu.CASES[name](False, [])


def merged(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """The old result with the new one's cases (and points, if it has any) in place of its own."""
    fresh = {case["case"]: case for case in new["cases"]}
    kept = [fresh.pop(case["case"], case) for case in old["cases"]]
    points = new if new["scaling"] else old
    return {**new, "cases": [*kept, *fresh.values()], "scaling": points["scaling"], "machine": points["machine"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    result = run(arguments.names, "cpu", arguments.rounds, quick=False, told=lambda text: print(text, flush=True))
    if arguments.out.exists():
        result = merged(json.loads(arguments.out.read_text()), result)
    _files.write_json(arguments.out, result)


if __name__ == "__main__":
    main()
