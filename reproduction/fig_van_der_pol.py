"""Fig. 1a: the paper's Van der Pol variant and the absolute errors of LegT and FouT along it, N = 65."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import spearmanr

from prophecy import signals
from prophecy.evaluation import mean_absolute_error
from reproduction import paper, style
from reproduction.framework import Ask, Experiment, Outcome, Result, Slip, Unit, Verdict
from reproduction.rows import Json, Parts, held, listed, means, row

ORDER, END, SHOWN = 65, 20.0, 10  # N; seconds; every tenth sample is drawn
SOLVERS = {"RK45 defaults": signals.SCIPY_DEFAULTS, "closed form": None}


class FigVanDerPol(Experiment):
    name = "fig-van-der-pol"
    title = "Van der Pol: where the error lives"
    reference = "Fig. 1a"
    place = 10
    given = (("order", ORDER),)
    introduction = (
        "$\\dot{u} = 7 (1 - u^2) \\sin t$ from $u(0) = 0.5$. Left, as the paper solved it; right, the exact solution, "
        "which looks "
        "nothing like it: the paper's square wave is the solver's error at the top of the first cycle, grown large."
    )

    def units(self, ask: Ask) -> list[Unit]:
        return [Unit(solver) for solver in SOLVERS]

    def compute(self, ask: Ask, unit: Unit) -> Json:
        u = signals.van_der_pol(end=END, tolerance=SOLVERS[unit.name])
        curvature = np.abs(np.gradient(np.gradient(u)))[1:]
        value: dict[str, Any] = {"truth": u[1::SHOWN].tolist(), "mae": {}, "rank": {}, "errors": {}}
        for method in paper.BASES:
            y = paper.predict(method, ORDER, u)
            errors = np.abs(y[:-1] - u[1:])
            half = len(u) // 2
            value["errors"][method] = errors[::SHOWN].tolist()
            value["mae"][method] = float(mean_absolute_error(u, y))
            value["rank"][method] = float(spearmanr(errors[half:], curvature[half:]).statistic)
        return value

    def gather(self, ask: Ask, parts: Parts) -> Outcome:
        rows = []
        for solver, part in parts.items():
            for method in paper.BASES:
                rows.append(row("Van der Pol", solver, method, ORDER, "mae", part["mae"][method]))
                rows.append(row("Van der Pol", solver, method, ORDER, "rank correlation", part["rank"][method]))
        curves = {solver: {"truth": part["truth"], "errors": part["errors"]} for solver, part in parts.items()}
        return Outcome(rows, {"curves": curves})

    caption = (
        "Top: the solution. Bottom: absolute error of the next value. Grey: the context before T/2, which is "
        "not scored."
    )
    alt = "Left, a square wave and its errors; right, the exact solution near 1, and its errors."

    def draw(self, result: Result) -> Any:
        curves = result["details"]["curves"]
        figure, axes = style.figure(2, 2, height=2.8, sharex=True, sharey="row")
        for column, solver in enumerate(SOLVERS):
            lines = curves[solver]
            times = np.linspace(0, END, len(lines["truth"]))
            top, bottom = axes[column], axes[2 + column]
            top.plot(times, lines["truth"], color=style.COLOURS["truth"])
            top.set(title=f"{solver}{' (as in the paper)' if column == 0 else ' (exact)'}", ylim=(-1.15, 1.15))
            bottom.set_yscale("log")
            for method in ("FouT as printed", "FouT", "LegT"):
                bottom.plot(times, lines["errors"][method], color=style.COLOURS[method], linewidth=1.1, label=method)
            for axis in (top, bottom):
                axis.axvspan(0, END / 2, color=style.GRID, alpha=0.5, linewidth=0)
            bottom.set(xlabel="t", xlim=(0, END), ylim=(1e-8, 1e-1))
        axes[0].set_ylabel("u(t)")
        axes[2].set_ylabel("absolute error")
        return style.legended(figure, axes[2], 3, "lower center")

    def verdicts(self, result: Result) -> list[Verdict]:
        ranks = means(result["rows"], "parameter", "method", metric="rank correlation")
        listed = "; ".join(
            f"{solver}: " + ", ".join(f"{ranks[solver, m]:.2f} ({m})" for m in paper.BASES) for solver in SOLVERS
        )
        return [
            Verdict(
                "Both LegT and FouT have lower error where the curvature is lower (Sec. 4).",
                held(sum(value > 0.2 for value in ranks.values()), len(ranks)),
                f"Rank correlation of the absolute error with |u''| over the second half: {listed}.",
            )
        ]

    def slips(self, result: Result) -> list[Slip]:
        found = means(result["rows"], "method", metric="mae", parameter="RK45 defaults")
        return [
            Slip(
                "App. E.1.2: “we use μ = 7 and N = 17”; Sec. 4 and the captions of Fig. 1 and 3 have N = 65 for the "
                "same oscillator, Table 2 has 33 and 65.",
                "One of them is a slip; the figure is drawn here with N = 65.",
                f"N = {ORDER} gives a mean absolute error of {listed(found)} on the paper's run.",
            )
        ]
