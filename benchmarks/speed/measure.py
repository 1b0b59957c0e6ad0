"""What all benchmarks share: timing in turns, errors against the float64 step, cases as plain dictionaries."""

import platform
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from prophecy import _machine

Array = NDArray[Any]


@dataclass
class Entry:
    """One contestant: kind "ours", "peer" or "ceiling"; seconds for the whole case; its relative error if it has one.

    `extrapolated`: the share of the samples that was really run, where a slow peer ran a part of them.
    """

    name: str
    kind: str
    seconds: float
    error: float | None = None
    extrapolated: float = 1.0


@dataclass
class Case:
    case: str
    title: str
    settings: dict[str, Any]
    samples: int
    tolerance: float
    entries: list[Entry] = field(default_factory=list)

    def enter(
        self,
        took: Mapping[str, float],
        ours: Mapping[str, float],
        ceilings: Sequence[str] = (),
        shares: Mapping[str, float] | None = None,
        checks: Mapping[str, float] | None = None,
    ) -> Self:
        """Add contestants by their seconds. ours, checks: errors of ours and of peers; shares: see `extrapolated`."""
        for name, seconds in took.items():
            kind = "ours" if name in ours else "ceiling" if name in ceilings else "peer"
            share, errors = (shares or {}).get(name, 1.0), {**(checks or {}), **ours}
            self.entries.append(Entry(name, kind, seconds / share, errors.get(name), share))
        return self

    def ours(self) -> Entry:
        return min((entry for entry in self.entries if entry.kind == "ours"), key=lambda entry: entry.seconds)

    def passed(self) -> bool:
        """Whether every one of our entries is within the tolerance; NaN is not."""
        return all(e.error is not None and e.error <= self.tolerance for e in self.entries if e.kind == "ours")

    def ratios(self) -> dict[str, float]:
        """Above 1: faster than that peer. For ceilings, the share of it that is reached."""
        ours = self.ours().seconds
        return {entry.name: entry.seconds / ours for entry in self.entries if entry.kind != "ours"}

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "passed": self.passed(), "ratios": self.ratios() if self.passed() else {}}


def in_turns(functions: Mapping[str, Callable[[], object]], rounds: int, warm: bool = True) -> dict[str, float]:
    """The best seconds of each over `rounds`, the contestants taking turns so that a busy moment meets them all."""
    best = dict.fromkeys(functions, float("inf"))
    if warm:
        for function in functions.values():
            function()
    for _ in range(rounds):
        for name, function in functions.items():
            start = time.perf_counter()
            function()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def relative_error(found: Array, expected: Array) -> float:
    """‖found - expected‖ / ‖expected‖; anything not finite counts as infinitely wrong."""
    if not np.isfinite(found).all():
        return float("inf")
    scale = float(np.linalg.norm(expected)) or 1.0
    return float(np.linalg.norm(found.astype(np.float64) - expected)) / scale


def machine() -> dict[str, Any]:
    import scipy

    versions = {"python": platform.python_version(), "numpy": np.__version__, "scipy": scipy.__version__}
    file = Path("/proc/cpuinfo")
    names = re.findall(r"(?m)^model name\s*: (.+)$", file.read_text()) if file.exists() else []
    processor = names[0] if names else platform.processor()
    return {"processor": processor, "cores": _machine.cores(), **versions, "system": platform.system()}


def seconds(value: float) -> str:
    """0.00000123 as `1.23 µs`."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value * 1e9:.3g} ns"


def describe(case: Case) -> str:
    """The case as lines of text: no speed when the check failed."""
    if not case.passed():
        wrong = "; ".join(f"{e.name}: error {e.error}" for e in case.entries if e.kind == "ours")
        return f"{case.title}\n  FAILED its check (tolerance {case.tolerance:g}); no speed is reported: {wrong}"
    lines, ratios = [case.title], case.ratios()
    for entry in sorted(case.entries, key=lambda e: e.seconds):
        rate = case.samples / entry.seconds
        error = "" if entry.error is None else f"  error {entry.error:.1e}"
        ratio = f"  ours is {ratios[entry.name]:.3g}×" if entry.name in ratios and entry.kind == "peer" else ""
        if entry.kind == "ceiling":
            ratio = f"  ours reaches {ratios[entry.name]:.3g} of it"
        part = f"  (from {entry.extrapolated:.2g} of the samples)" if entry.extrapolated < 1 else ""
        mark = {"ours": "*", "peer": " ", "ceiling": "‾"}[entry.kind]
        each = seconds(entry.seconds / case.samples)
        lines.append(f"  {mark} {entry.name:<34} {each:>9} a sample  {rate:9.3g}/s{error}{ratio}{part}")
    return "\n".join(lines)
