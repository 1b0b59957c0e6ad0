"""App. C: discretising C and D once or twice, and the readout before it is approximated."""

import itertools
from dataclasses import replace
from typing import Any

import numpy as np

from prophecy import run
from prophecy.evaluation import mean_squared_error
from reproduction import paper, style
from reproduction.framework import Ask, Cell, Experiment, Line, Outcome, Result, Table, Unit, Verdict
from reproduction.rows import Array, Json, Parts, Rows, held, mean_and_deviation, means, number

RULES = {
    "trapezoid": "once (the paper)",
    "both": "once, both states",
    "twice": "twice",
    "euler": "forward Euler",
}
OTHERS = {"both": "Mean of both states", "twice": "C, D discretised twice", "euler": "Forward Euler"}


class Discretisation(Experiment):
    name = "discretisation"
    title = "Discretising once or twice"
    reference = "Sec. 3 (2), App. C.1 and C.2"
    place = 90
    functions = 100
    introduction = (
        "The readout of the derivative has to be discretised to predict the next value; a general recipe for "
        "state-space models would discretise it a second time. The paper says that once works better. Its trapezoid "
        "rule reads the mean of two states, $(x_k + x_{k+1})/2$, which it then approximates by $x_{k+1}$; the "
        "unapproximated readout is shown beside, and forward Euler."
    )

    def units(self, ask: Ask) -> list[Unit]:
        return paper.function_units(paper.CELLS, self.size(ask), 25)

    def compute(self, ask: Ask, unit: Unit) -> Json:
        u = paper.unit_signal(ask, unit)
        return {
            paper.label(f"{method}, {rule}", order): mean_squared_error(u, predict(method, order, u, rule)).tolist()
            for method, order, rule in itertools.product(paper.BASES, paper.ORDERS, RULES)
        }

    def gather(self, ask: Ask, parts: Parts) -> Outcome:
        return Outcome(paper.models(paper.CELLS, parts))

    caption = (
        "MSE divided by that of the paper's rule, for every signal and both orders. Above 1: worse than the paper's."
    )
    alt = "Three panels of points around 1: the mean of both states is close to 1, twice is often far above for LegT."

    def draw(self, result: Result) -> Any:
        values = ratios(result["rows"])
        figure, axes = style.figure(1, 3, height=4.0, sharey=True)
        signals = list(dict.fromkeys(key[2] for key in values))
        for axis, rule in zip(axes, OTHERS, strict=True):
            axis.set_yscale("log")
            axis.axhline(1.0, color=style.MUTED, linewidth=1.2)
            for shift, method in zip((-0.22, 0.0, 0.22), paper.BASES, strict=True):
                for order, face in zip(paper.ORDERS, ("white", style.COLOURS[method]), strict=True):
                    heights = [values[rule, method, signal, order] for signal in signals]
                    look: dict[str, Any] = {"marker": style.MARKERS[method], "color": style.COLOURS[method]}
                    look |= {"markerfacecolor": face, "linestyle": "none", "markersize": 6.5}
                    look["label"] = f"{method}, N = {order}"
                    axis.plot(np.arange(len(signals)) + shift, heights, **look)
            names = [
                signal.replace("White Signal γ =", "White\nγ").replace("Filtered Noise α =", "Filtered\nα")
                for signal in signals
            ]
            axis.set_xticks(range(len(signals)), names, fontsize=7.5)
            axis.set_title(OTHERS[rule])
        axes[0].set_ylabel("MSE / MSE of the paper's rule")
        return style.legended(figure, axes[0], 3)

    def tables(self, result: Result) -> list[Table]:
        lines: list[Line] = []
        found = {(r["dataset"], r["parameter"], r["method"], r["order"]): r for r in result["rows"]}
        for (dataset, parameter), method, order in itertools.product(paper.CELLS, ("LegT", "FouT"), paper.ORDERS):
            cells = [found[dataset, parameter, f"{method}, {rule}", order] for rule in RULES]
            best = min(cell["mean"] for cell in cells)
            texts = [Cell(mean_and_deviation(c["mean"], c["std"]), "best" if c["mean"] == best else "") for c in cells]
            lines.append([f"{dataset} {parameter}", f"{method}, N = {order}", *texts])
        return [Table("MSE; the best of each line is marked.", ["signal", "method", *RULES.values()], lines)]

    def verdicts(self, result: Result) -> list[Verdict]:
        twice = {key: value for key, value in ratios(result["rows"]).items() if key[0] == "twice"}
        worse = [value for value in twice.values() if value > 1]
        both = {key: value for key, value in ratios(result["rows"]).items() if key[0] == "both"}
        legendre = [value for key, value in twice.items() if key[1] == "LegT"]
        return [
            Verdict(
                "Discretising C and D only once works better than twice (App. C.2).",
                held(len(worse), len(twice)),
                f"Twice is worse in {len(worse)} of {len(twice)} comparisons (the table's lines, and FouT as printed "
                f"beside them): error times {number(min(twice.values()))} to {number(max(twice.values()))}, for LegT "
                f"{number(min(legendre))} to {number(max(legendre))}.",
            ),
            Verdict(
                "Replacing (x_k + x_{k+1})/2 by x_{k+1} is harmless for small Δt (Sec. 3, App. C.1).",
                True if max(both.values()) < 1.1 and min(both.values()) > 0.9 else None,
                f"Without the approximation the error is {number(min(both.values()))} to "
                f"{number(max(both.values()))} times as large; it is smaller in "
                f"{sum(value < 1 for value in both.values())} of {len(both)} comparisons.",
            ),
        ]


def predict(method: str, order: int, u: Array, rule: str) -> Array:
    """One-step predictions; the rule "both" reads (x_k + x_{k+1})/2, as the trapezoid rule has it."""
    if rule != "both":
        return paper.predict(method, order, u, rule)
    system = paper.system(method, order)
    # x_k = A⁻¹ (x_{k+1} - B u_k) turns the mean of both states into a readout of the newer one.
    before = np.linalg.solve(system.A.T, system.C)
    C, D = (system.C + before) / 2.0, float(system.D - before @ system.B / 2.0)
    y, _ = run(replace(system, C=C, D=D), u, engine="lifted")
    return np.asarray(y, dtype=np.float64)


def ratios(rows: Rows) -> dict[tuple[str, str, str, int], float]:
    found = means(rows, "dataset", "parameter", "method", "order")
    return {
        (rule, method, f"{d} {p}", n): found[d, p, f"{method}, {rule}", n] / found[d, p, f"{method}, trapezoid", n]
        for rule, method, (d, p), n in itertools.product(OTHERS, paper.BASES, paper.CELLS, paper.ORDERS)
    }
