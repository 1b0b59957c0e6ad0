"""A reading of Fig. 1b and 1c under which FouT first worsens as N grows, then improves? One change at a time."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from prophecy import derivative, discretize, next_value, run
from prophecy.bases import Basis
from prophecy.constructions import series_derivative
from prophecy.evaluation import mean_absolute_error, mean_squared_error
from prophecy.system import Continuous, System
from reproduction import paper, style
from reproduction.framework import Ask, Cell, Experiment, Line, Outcome, Result, Table, Unit, Verdict
from reproduction.order_sweep import ORDERS, RISE
from reproduction.rows import Array, Json, Parts, ratio, row

SIGNALS = ((paper.WHITE, 1.0), (paper.WHITE, 5.0), (paper.FILTERED, 0.05), (paper.FILTERED, 0.3))
READINGS = ("FouT as printed", "FouT")


@dataclass(frozen=True)
class Reading:
    """How the experiment might have been made; the defaults are what reproduces the tables."""

    window: int = paper.SAMPLES
    samples: int = paper.SAMPLES
    states: str = "odd"
    construction: str = "Prop. 1"
    rule: str = "trapezoid"
    memory: str = "bilinear"
    settled: bool = False
    whole: bool = False
    squared: bool = False


VARIANTS = {
    "as in the tables": Reading(),
    "squared error": Reading(squared=True),
    "error over all samples": Reading(whole=True),
    "state starts settled": Reading(settled=True),
    "1 000 samples": Reading(samples=1000, window=1000),
    "window of 1 000 samples": Reading(window=1000),
    "window of 100 samples": Reading(window=100),
    "even N, a cosine unpaired": Reading(states="even"),
    "N counts frequencies": Reading(states="pairs"),
    "zero-order hold": Reading(memory="zoh"),
    "forward Euler": Reading(rule="euler"),
    "C, D discretised twice": Reading(rule="twice"),
    "Prop. 2": Reading(construction="Prop. 2"),
    "Prop. 2, window of 1 000": Reading(construction="Prop. 2", window=1000),
    "authors' code: Prop. 2, n = 1, 2, 3": Reading(construction="frequency"),
    "Prop. 2 with k = 2, 4, 6, as its proof ends": Reading(construction="index"),
}


class FoutSearch(Experiment):
    name = "fout-search"
    title = "A search for FouT's bump"
    reference = "Fig. 1b and 1c, other readings"
    place = 115
    functions = 10
    introduction = (
        "The paper reports that FouT first worsens as N grows and then improves, having copied at low N. With the "
        "settings that reproduce its tables it does not. The paper leaves settings of Fig. 1b and 1c open, so here "
        "each is changed in turn, for both readings of the FouT matrix. A curve counts if it rises above its value at "
        f"N = 1 by more than {100 * RISE:g} % before its minimum and the minimum lies as far below that value."
    )

    def settings(self, ask: Ask) -> dict[str, Json]:
        return {"orders": "1, 6, …, 96", "readings": len(VARIANTS) * len(READINGS)}

    def units(self, ask: Ask) -> list[Unit]:
        return [Unit(name, {"variant": name, "count": self.size(ask)}) for name in VARIANTS]

    def compute(self, ask: Ask, unit: Unit) -> Json:
        reading = VARIANTS[unit.arguments["variant"]]
        inputs = {
            f"{dataset} {parameter}": paper.signal(dataset, parameter, unit.arguments["count"], ask.seed)
            for dataset, parameter in SIGNALS
        }
        value: dict[str, list[float | None]] = {}
        for method in READINGS:
            for order in ORDERS:
                system = _system(reading, method, order)
                for name, u in inputs.items():
                    error = None if system is None else _error(reading, system, u[:, : reading.samples])
                    value.setdefault(f"{method}|{name}", []).append(error)
        return value

    def gather(self, ask: Ask, parts: Parts) -> Outcome:
        rows = []
        for variant, part in parts.items():
            for dataset, parameter in SIGNALS:
                for method in READINGS:
                    rise, peak, fall = bump(part[f"{method}|{dataset} {parameter}"])
                    name = f"{method}, {variant}"
                    rows.append(row(dataset, parameter, name, peak, "highest before the minimum / N = 1", rise))
                    rows.append(row(dataset, parameter, name, None, "minimum / N = 1", fall))
        return Outcome(rows, {"curves": dict(parts)})

    caption = (
        "Error divided by that of N = 1, against N. Full lines: FouT as printed; dashed: with the right "
        "frequencies. {functions} functions per curve. A curve ends where the trapezoid rule is "
        "refused at its pole; orders at which an error exceeds twice that of N = 1 leave the picture."
    )
    alt = "Sixteen small panels of error against N; no curve rises first and then falls below its start."

    def draw(self, result: Result) -> Any:
        curves = result["details"]["curves"]
        columns = 4
        count = -(-len(curves) // columns)
        figure, axes = style.figure(count, columns, height=2.1, sharex=True, sharey=True)
        for axis, (variant, part) in zip(axes, curves.items(), strict=False):
            axis.axhline(1.0, color=style.COLOURS["copy"], linewidth=1.2)
            for name, colour in zip(_names(), style.SEQUENCE, strict=False):
                for method, dashes in zip(READINGS, ("-", "--"), strict=True):
                    curve = part[f"{method}|{name}"]
                    values = [np.nan if v is None else v / curve[0] for v in curve]
                    label = name if dashes == "-" else None
                    axis.plot(ORDERS, values, color=colour, linestyle=dashes, linewidth=1.3, label=label)
            axis.set(ylim=(0, 2), xlim=(0, 97))
            axis.set_title(variant, fontsize=9.5)
        for axis in axes[len(curves) :]:
            axis.set_visible(False)
        for axis in axes[len(curves) - columns : len(curves)]:
            axis.tick_params(labelbottom=True)
        figure.supxlabel("states N", fontsize=11)
        figure.supylabel("error / error of N = 1", fontsize=11)
        return style.legended(figure, axes[0], 4)

    def tables(self, result: Result) -> list[Table]:
        lines: list[Line] = []
        for variant, part in result["details"]["curves"].items():
            for method in READINGS:
                line: Line = [variant, {"FouT": "FouT, right"}.get(method, method)]
                for name in _names():
                    rise, peak, fall = bump(part[f"{method}|{name}"])
                    above = f"+{100 * (rise - 1):.1f} % (N = {peak}), " if rise > 1 else ""
                    line.append(Cell(f"{above}× {ratio(fall)}", "best" if _counts(part[f"{method}|{name}"]) else ""))
                lines.append(line)
        caption = (
            "How far each curve rises above its value at N = 1 before its minimum (if it does), and the minimum "
            "divided by the value at N = 1. Marked: worsens, then improves."
        )
        return [Table(caption, ["reading", "matrix", *_names()], lines)]

    def verdicts(self, result: Result) -> list[Verdict]:
        curves = result["details"]["curves"]
        found = {
            (variant, method): [n for n in _names() if _counts(part[f"{method}|{n}"])]
            for variant, part in curves.items()
            for method in READINGS
        }
        everywhere = [key for key, signals in found.items() if len(signals) == len(_names())]
        somewhere = sum(len(signals) for signals in found.values())
        total = len(found) * len(_names())
        named = {variant for (variant, _), signals in found.items() if signals}
        pairs = [f"{method}|{name}" for method in READINGS for name in _names()]
        humps = sorted(variant for variant, part in curves.items() if any(hump(part[pair]) for pair in pairs))
        rises = f"Some rise and come down again without ever passing N = 1, with: {', '.join(humps)}."
        return [
            Verdict(
                "FouT first worsens as N grows, then improves (Sec. 4), under some other reading of the settings.",
                True if everywhere else (None if somewhere else False),
                f"{len(everywhere)} of {len(found)} readings show it on all {len(_names())} signals; {somewhere} of "
                f"{total} curves do{', with: ' if named else ''}{', '.join(sorted(named))}. "
                + (rises if humps else "None rises at all and comes down again, whether it passes N = 1 or not."),
            )
        ]


def _names() -> list[str]:
    return [f"{dataset} {parameter}" for dataset, parameter in SIGNALS]


def _counts(curve: list[float | None]) -> bool:
    rise, _, fall = bump(curve)
    return rise > 1 + RISE and fall < 1 - RISE


def bump(curve: list[float | None]) -> tuple[float, int, float]:
    """Highest value up to the minimum, its N, and the minimum, both divided by the first value; None is skipped.

    >>> bump([2.0, 3.0, None, 1.0, 4.0])
    (1.5, 6, 0.5)
    """
    values = np.array([np.inf if value is None else value for value in curve]) / (curve[0] or np.nan)
    lowest = int(values.argmin())
    before = np.where(np.isfinite(values), values, -np.inf)[: lowest + 1]
    peak = int(before.argmax())
    return float(before[peak]), ORDERS[peak], float(values[lowest])


def hump(curve: list[float | None]) -> bool:
    """Whether a curve rises above its first value and comes down again later, however little.

    >>> hump([1.0, 1.5, 1.4]), hump([1.0, 0.5, 2.0]), hump([1.0, None, 0.9, 0.8])
    (True, False, False)
    """
    values = np.array([value for value in curve if value is not None]) / (curve[0] or np.nan)
    peak = int(values.argmax())
    return bool(values[peak] > 1 + RISE and values[peak:].min() < values[peak] * (1 - RISE) and not _counts(curve))


def _system(reading: Reading, method: str, order: int) -> System | None:
    count = 2 * order + 1 if reading.states == "pairs" else order + 1 - order % 2
    basis = paper.BASES[method](count, 1.0)
    if reading.states == "even" and order % 2 == 0:
        basis = _shortened(basis, order)
    construction = CONSTRUCTIONS[reading.construction]
    memory = {"bilinear": discretize.bilinear, "zoh": discretize.zoh}[reading.memory]
    try:
        return next_value(basis, 1.0 / reading.window, reading.rule, construction=construction, memory=memory)
    except ValueError:
        return None


def _counted(step: int) -> Callable[[Basis], Continuous]:
    """Prop. 2 with C = -2√2 π n, n = step, 2 step, 3 step, … over the sines, whatever frequencies the memory has."""

    def made(basis: Basis) -> Continuous:
        plain = series_derivative(basis)
        C = np.zeros(basis.order)
        sine = np.arange(2, basis.order, 2)
        C[sine] = -2.0 * np.sqrt(2.0) * np.pi * step * (sine // 2) / basis.window
        return replace(plain, C=C)

    return made


CONSTRUCTIONS: dict[str, Callable[[Basis], Continuous]] = {
    "Prop. 1": derivative,
    "Prop. 2": series_derivative,
    "frequency": _counted(1),
    "index": _counted(2),
}


def _error(reading: Reading, system: System, u: Array) -> float | None:
    start = u[:, :1] * np.linalg.solve(np.eye(system.order) - system.A, system.B) if reading.settled else None
    y, _ = run(system, u, engine="lifted", state=start)
    score = mean_squared_error if reading.squared else mean_absolute_error
    value = float(np.mean(score(u, y, start=0 if reading.whole else None)))
    return value if np.isfinite(value) else None


def _shortened(basis: Basis, order: int) -> Basis:
    """The first `order` functions of a basis: an even number of FouT's leaves a cosine without its sine."""
    whole = basis.functions
    kept = {name: getattr(basis, name)[:order] for name in ("B", "newest", "oldest")}
    return replace(basis, A=basis.A[:order, :order], functions=lambda ages: whole(ages)[:, :order], **kept)
