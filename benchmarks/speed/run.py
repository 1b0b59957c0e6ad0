"""How fast this is here, beside peers and ceilings measured in the same run.

On a GPU nothing but torch and triton needs to be installed. No speed is printed for a case whose check fails.
`scaling`, how time grows with series, samples and order, is run where it is named.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import prophecy
from benchmarks.harness import Options, Parts, Result, defaults, option
from benchmarks.speed import measure
from benchmarks.speed.measure import Case


def parts(asked: Options) -> dict[str, Callable[[], Any]]:
    if asked.device == "cuda":
        from benchmarks.speed import gpu as here
    else:
        from benchmarks.speed import cpu as here  # type: ignore[no-redef]
    known: dict[str, Callable[[int, bool], Any]] = {**here.CASES, **({"scaling": here.scaling} if asked.parts else {})}
    return {name: partial(case, asked.rounds, asked.quick) for name, case in known.items()}


def facts(asked: Options) -> Result:
    found = {"experiment": f"speed-{asked.device.replace('cuda', 'gpu')}", "version": prophecy.__version__}
    if asked.device == "cuda":
        from benchmarks.speed import gpu

        found |= gpu.facts()
    return found


def put(result: Result, name: str, found: Any, asked: Options) -> None:
    """Each case with the machine and version it ran on, in the place of an earlier one."""
    if not isinstance(found, Case):
        result |= {"scaling": found, "machine": measure.machine()}
        return
    told = {**found.as_dict(), "machine": measure.machine(), "version": prophecy.__version__}
    cases = {case["case"]: case for case in result.get("cases", ())} | {found.case: told}
    result["cases"] = list(cases.values())


def show(name: str, found: Any) -> str:
    return measure.describe(found) + "\n" if isinstance(found, Case) else f"scaling: {len(found)} points measured\n"


def failed(result: Result) -> bool:
    return not all(case["passed"] for case in result.get("cases", ()))


DEVICE = option("--device", choices=("cpu", "cuda"), default="cpu")
BENCHMARK = Parts(__doc__, parts, (DEVICE, *defaults(rounds=5, quick=False)), facts, put, show, failed)
