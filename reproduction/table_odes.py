"""Table 2 and its figures: the Bernoulli equation and the paper's Van der Pol variant."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from prophecy import signals
from prophecy.evaluation import mean_squared_error
from reproduction import paper, style
from reproduction.framework import Ask, Experiment, Outcome, Result, Slip, Unit, Verdict
from reproduction.rows import Json, Parts, Rows, agrees, find, means, number, ratio, row

SOLVERS = {"RK45 defaults": signals.SCIPY_DEFAULTS, "closed form": None}
EQUATIONS = {"Bernoulli": signals.bernoulli, "Van der Pol": signals.van_der_pol}
SHIFT, SHOWN = 0.1, 10  # by how much the truth is drawn higher, as in the paper; every tenth sample


class TableOdes(Experiment):
    name = "table-odes"
    title = "Differential equations from physics"
    reference = "Table 2 and Fig. 3"
    place = 70
    early = True
    introduction = (
        "The paper integrated both equations with SciPy's default tolerance; its numbers include that solver's error. "
        "Both equations have closed forms, so the accurate rows are exact to rounding. For Van der Pol the two are "
        "different signals: the solver's square wave does not solve the equation."
    )

    def units(self, ask: Ask) -> list[Unit]:
        return [Unit(f"{e}, {s}", {"equation": e, "solver": s}) for e in EQUATIONS for s in SOLVERS]

    def compute(self, ask: Ask, unit: Unit) -> Json:
        u = EQUATIONS[unit.arguments["equation"]](tolerance=SOLVERS[unit.arguments["solver"]])
        ahead = {(m, n): paper.predict(m, n, u) for n in paper.ORDERS for m in paper.BASES}
        return {
            "mse": {paper.label(*key): float(mean_squared_error(u, y)) for key, y in ahead.items()},
            "truth": u[::SHOWN].tolist(),
            "shown": {m: y[::SHOWN].tolist() for (m, n), y in ahead.items() if n == 65},
        }

    def gather(self, ask: Ask, parts: Parts) -> Outcome:
        rows, curves = [], {}
        for equation, solver in itertools.product(EQUATIONS, SOLVERS):
            part = parts[f"{equation}, {solver}"]
            curves[f"{equation}, {solver}"] = {"truth": part["truth"], **part["shown"]}
            for order, method in itertools.product(paper.ORDERS, paper.BASES):
                known = paper.published(equation, None, method, order) if solver == "RK45 defaults" else None
                rows.append(row(equation, solver, method, order, "mse", part["mse"][paper.label(method, order)], known))
        return Outcome(rows, {"curves": curves})

    caption = (
        "Solutions (shifted up by 0.1, as in the paper) and predictions with N = 65. Left: as the paper solved "
        "them. Right: the exact solutions."
    )
    alt = (
        "Four panels of solutions with predictions on top; for Van der Pol the solver's square wave and the "
        "exact solution differ."
    )

    def draw(self, result: Result) -> Any:
        curves = result["details"]["curves"]
        figure, axes = style.figure(2, 2, height=3.0)
        ends = {"Bernoulli": 10.0, "Van der Pol": 20.0}
        for axis, (equation, solver) in zip(axes, itertools.product(EQUATIONS, SOLVERS), strict=True):
            lines = curves[f"{equation}, {solver}"]
            times = np.linspace(0.0, ends[equation], len(lines["truth"]))
            axis.plot(times, np.array(lines["truth"]) + SHIFT, color=style.COLOURS["truth"], label="truth + 0.1")
            for method, dashes in (("FouT as printed", "-"), ("FouT", (0, (6, 6))), ("LegT", (0, (2, 4)))):
                axis.plot(times, lines[method], color=style.COLOURS[method], linestyle=dashes, label=method)
            axis.set(title=f"{equation}, {solver}", xlabel="t", ylabel="u(t)", xlim=(0, ends[equation]))
        return style.legended(figure, axes[0], 4)

    def verdicts(self, result: Result) -> list[Verdict]:
        cells = [line for line in result["rows"] if line["paper_mean"] is not None]
        good = [line for line in cells if agrees(line)]
        off = [line for line in cells if not agrees(line)]
        names = ", ".join(f"{x['dataset']} {x['method']} {x['order']}" for x in off)
        explained = [(x["dataset"], x["method"], x["order"]) for x in off] == [("Van der Pol", "LegT", 65)]
        first = Verdict(
            "Table 2 can be reproduced.",
            True if not off else (None if explained else False),
            f"{len(good)} of {len(cells)} cells lie within 15 %"
            + (
                f"; the exception, {names}, is most likely a misprint (see what the paper got wrong)."
                if explained
                else f"; off: {names}."
            ),
            ours=True,
        )
        mean = means(result["rows"], "method", "order", dataset="Bernoulli", parameter="RK45 defaults")
        gaps = {order: mean["FouT as printed", order] / mean["LegT", order] for order in paper.ORDERS}
        second = Verdict(
            "On Bernoulli, LegT beats FouT by at least one order of magnitude (App. E.1.2).",
            min(gaps.values()) >= 10,
            f"FouT's error is {number(gaps[33])} times LegT's at N = 33 and {number(gaps[65])} times at N = 65.",
        )
        return [first, second, *_comparisons(result["rows"])]

    def slips(self, result: Result) -> list[Slip]:
        rows, curves = result["rows"], result["details"]["curves"]
        cell = find(rows, dataset="Van der Pol", parameter="RK45 defaults", method="LegT", order=65)
        lowest = {solver: min(curves[f"Van der Pol, {solver}"]["truth"]) for solver in SOLVERS}
        return [
            Slip(
                "Table 2: LegT, N = 65 on Van der Pol has MSE 4.4e-8.",
                f"We measure {number(cell['mean'])} with the settings that reproduce the other seven cells.",
                f"{number(cell['mean'] / cell['paper_mean'])} times the printed value: 4.4e-6 with the exponent "
                f"misprinted is the likeliest reading; we cannot know.",
            ),
            Slip(
                "App. E.1.2: the solution of the Van der Pol variant “is very similar to a square wave”.",
                "From u(0) = 0.5 the solution is tanh(7(1 − cos t) + artanh 0.5), which never falls below 0.5. The "
                f"square wave is an artefact of solve_ivp's default tolerance: 1 − u falls to {number(closest())}, far "
                "below the solver's error.",
                f"Smallest value: {lowest['closed form']:.3f} for the exact solution, {lowest['RK45 defaults']:.3f} "
                f"for the solver's. Fig. 1a, Fig. 3 and the Van der Pol column of Table 2 show the solver's output, "
                f"not a solution.",
            ),
        ]


def closest(stiffness: float = 7.0, initial: float = 0.5) -> float:
    """The smallest 1 - u of the exact Van der Pol solution: 1 - tanh a = 2/(e^2a + 1), a = 2 · 7 + artanh 0.5."""
    return float(2.0 / (np.exp(2.0 * (2.0 * stiffness + np.arctanh(initial))) + 1.0))


def _comparisons(rows: Rows) -> list[Verdict]:
    """App. E.1.2 on Van der Pol, as the paper solved it and exactly."""
    smooth, wild = (means(rows, "parameter", "method", "order", dataset=name) for name in EQUATIONS)
    solved, exact = SOLVERS
    gap = {(s, n): wild[s, "FouT as printed", n] / wild[s, "LegT", n] for s in SOLVERS for n in paper.ORDERS}
    easier = {
        s: [wild[key] / smooth[key] for key in wild if key[:2] in ((s, "LegT"), (s, "FouT as printed"))]
        for s in SOLVERS
    }
    return [
        Verdict(
            "On Van der Pol, LegT and FouT perform comparably at N = 33, and LegT outperforms FouT at N = 65 (App. "
            "E.1.2).",
            1 / 2 < gap[solved, 33] < 2 < gap[solved, 65] or (None if 1 < gap[solved, 65] < 2 else False),
            f"FouT's error is {ratio(gap[solved, 33])} and {ratio(gap[solved, 65])} times LegT's: better, not by the "
            f"two orders of magnitude that the misprint suggests. On the exact solution it is "
            f"{ratio(gap[exact, 33])} and {ratio(gap[exact, 65])} times.",
        ),
        Verdict(
            "Both do better on Bernoulli than on Van der Pol, by at least one order of magnitude (App. E.1.2).",
            min(easier[solved]) >= 10,
            f"Error on Van der Pol / error on Bernoulli: at least {number(min(easier[solved]))} as the paper solved "
            f"them; on the exact solutions at least {ratio(min(easier[exact]))}.",
        ),
    ]
