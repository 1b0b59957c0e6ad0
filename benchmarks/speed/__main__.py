"""`python -m benchmarks.speed [CASE …]`: how fast this is here, beside peers and ceilings measured in the same run.

On a GPU nothing but torch and triton needs to be installed. No speed is printed for a case whose check fails.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from typing import Any

import prophecy
from benchmarks.harness import Command, Options, option
from benchmarks.speed import measure
from benchmarks.speed.measure import Case
from prophecy import _files


def cases(device: str) -> dict[str, Callable[[int, bool], Any]]:
    """The cases of a device, "cpu" or "cuda", and `scaling`: how time grows with series, samples and order."""
    if device == "cuda":
        from benchmarks.speed import gpu

        return {**gpu.CASES, "scaling": gpu.scaling}
    if device != "cpu":
        raise ValueError(f"device must be 'cpu' or 'cuda', got {device!r}")
    from benchmarks.speed import cpu, csv_predict, streams

    return {**cpu.CASES, "prophecy": streams.case, "csv": csv_predict.case, "scaling": cpu.scaling}


def chosen(wanted: Sequence[str], device: str) -> dict[str, Callable[[int, bool], Any]]:
    """The cases named; all but `scaling` where none is."""
    known = cases(device)
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise ValueError(f"unknown benchmark {unknown[0]!r}; on {device} there are: {', '.join(known)}")
    return {name: known[name] for name in wanted or [name for name in known if name != "scaling"]}


def run(asked: Options, work: dict[str, Callable[[int, bool], Any]]) -> dict[str, Any]:
    """Run these; each is told of as soon as it is measured. A file that exists keeps its other cases, each with the
    machine and version it ran on."""
    old = json.loads(asked.out.read_text()) if asked.out is not None and asked.out.exists() else None
    result: dict[str, Any] = {"experiment": f"speed-{'gpu' if asked.device == 'cuda' else asked.device}"}
    result |= {"version": prophecy.__version__, "cases": [], "scaling": []}
    if asked.device == "cuda":
        from benchmarks.speed import gpu

        result |= gpu.facts()
    result["machine"] = measure.machine()  # of the scaling points
    for make in work.values():
        found = make(asked.rounds, asked.quick)
        if isinstance(found, Case):
            result["cases"].append({**found.as_dict(), "machine": measure.machine(), "version": prophecy.__version__})
            print(measure.describe(found) + "\n", flush=True)
        else:
            result["scaling"] = found
            print(f"scaling: {len(found)} points measured\n", flush=True)
        if asked.out is not None:
            _files.write_json(asked.out, result if old is None else merged(old, result))
    return result


def merged(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """The old result with the new one's cases (and points, if it has any) in place of its own."""
    fresh = {case["case"]: case for case in new["cases"]}
    kept = [fresh.pop(case["case"], case) for case in old["cases"]]
    points = new if new["scaling"] else old
    return {**new, "cases": [*kept, *fresh.values()], "scaling": points["scaling"], "machine": points.get("machine")}


def main() -> int:
    options = (
        option("names", nargs="*", metavar="CASE", help="all but scaling if none"),
        option("--list", action="store_true", help="list the cases and stop"),
        option("--device", default="cpu", help="cpu or cuda"),
        option("--rounds", type=int, default=5, help="turns each contestant gets; the best counts"),
        option("--quick", action="store_true", help="small sizes: a check that it runs, not a measurement"),
    )
    asked = Command(__doc__).parsed(options)
    try:
        work = chosen(asked.names, asked.device)
    except ValueError as error:
        asked.refuse(str(error))
    if asked.list:
        print("\n".join(cases(asked.device)))
        return 0
    made = run(asked, work)
    return 0 if all(case["passed"] for case in made["cases"]) else 1


if __name__ == "__main__":
    sys.exit(main())
