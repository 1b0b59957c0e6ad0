"""Runs cases by name and gathers them into one result, the same for the command line and the committed files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import prophecy
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
    result["machine"] = measure.machine()
    for name in cases:
        if name == "scaling":
            from prophecy.benchmarks.scaling import scaling

            result["scaling"] = scaling(rounds, quick)
            told(f"scaling: {len(result['scaling'])} points measured")
            continue
        case = CASES[name](rounds, quick) if device == "cpu" else _on_gpu(name)
        result["cases"].append(case.as_dict())
        told(measure.describe(case))
    return result


def _on_gpu(name: str) -> Case:
    from prophecy.benchmarks import gpu

    return gpu.CASES[name](False, [])
