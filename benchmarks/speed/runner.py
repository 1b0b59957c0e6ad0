"""Runs cases by name and gathers them into one result, the same for the command line and the committed files."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import prophecy
from benchmarks.speed import cpu, csv_predict, measure, streams
from benchmarks.speed.measure import Case
from prophecy import _files

CASES: dict[str, Callable[[int, bool], Case]] = {**cpu.CASES, "prophecy": streams.case, "csv": csv_predict.case}


def names(device: str) -> tuple[str, ...]:
    """The cases of a device, "cpu" or "cuda", and `scaling`: how time grows with series, samples and order."""
    if device == "cpu":
        return (*CASES, "scaling")
    if device != "cuda":
        raise ValueError(f"device must be 'cpu' or 'cuda', got {device!r}")
    from benchmarks.speed import gpu

    return (*gpu.CASES, "scaling")


def chosen(wanted: Sequence[str], device: str) -> tuple[str, ...]:
    """The cases named; all but `scaling` where none is."""
    known = names(device)
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise ValueError(f"unknown benchmark {unknown[0]!r}; on {device} there are: {', '.join(known)}")
    return tuple(wanted) or tuple(name for name in known if name != "scaling")


def run(
    wanted: Sequence[str],
    device: str,
    rounds: int,
    quick: bool,
    report: Callable[[str], None],
    out: Path | None = None,
    tune: bool = False,
) -> dict[str, Any]:
    """Run these cases; `report` gets the text of each as soon as it is measured, and `out` all so far.

    A file that exists keeps its other cases, each with the machine and version it ran on. tune: the GPU's plans are
    searched.
    """
    cases = chosen(wanted, device)
    old = json.loads(out.read_text()) if out is not None and out.exists() else None
    result: dict[str, Any] = {
        "experiment": f"speed-{'gpu' if device == 'cuda' else device}",
        "version": prophecy.__version__,
        "cases": [],
        "scaling": [],
    }
    if device == "cuda":
        from benchmarks.speed import gpu

        result |= gpu.facts()
    result["machine"] = measure.machine()  # of the scaling points
    for name in cases:
        if name == "scaling":
            result["scaling"] = _scaling(device, rounds, quick)
            report(f"scaling: {len(result['scaling'])} points measured")
        else:
            case = CASES[name](rounds, quick) if device == "cpu" else gpu.CASES[name](tune)
            made = {"machine": measure.machine(), "version": prophecy.__version__}
            result["cases"].append(case.as_dict() | made)
            report(measure.describe(case))
        if out is not None:
            _files.write_json(out, result if old is None else merged(old, result))
    return result


def _scaling(device: str, rounds: int, quick: bool) -> list[dict[str, Any]]:
    if device == "cpu":
        from benchmarks.speed.scaling import scaling

        return scaling(rounds, quick)
    from benchmarks.speed import gpu

    return gpu.scaling()


def merged(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """The old result with the new one's cases (and points, if it has any) in place of its own."""
    fresh = {case["case"]: case for case in new["cases"]}
    kept = [fresh.pop(case["case"], case) for case in old["cases"]]
    points = new if new["scaling"] else old
    return {**new, "cases": [*kept, *fresh.values()], "scaling": points["scaling"], "machine": points.get("machine")}
