"""Table 1: MSE on White Signal and Filtered Noise, LegT and FouT, N = 33 and 65."""

import itertools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from prophecy import next_value, run
from prophecy.bases import fout_as_printed
from prophecy.evaluation import mean_squared_error
from prophecy.system import System
from reproduction import paper, style
from reproduction.framework import Ask, Experiment, Outcome, Result, Slip, Unit, Verdict
from reproduction.rows import Json, Parts, Rows, agrees, find, held, joined, means, named, number


class TableSignals(Experiment):
    name = "table-signals"
    title = "White Signal and Filtered Noise"
    reference = "Table 1"
    place = 60
    early = True
    lead = "table-signals"
    functions = 100
    introduction = (
        "Mean squared error of the next value over the second half of 10 000 samples, the window being the whole "
        "sequence. FouT comes twice: with every frequency doubled, which is how the paper prints the matrix and made "
        "its table, and with the right frequencies 1, 2, 3, …"
    )

    def units(self, ask: Ask) -> list[Unit]:
        return paper.function_units(paper.CELLS, self.size(ask), 25)

    def compute(self, ask: Ask, unit: Unit) -> Json:
        u = paper.unit_signal(ask, unit)
        value = {
            paper.label(m, n): mean_squared_error(u, paper.predict(m, n, u)).tolist()
            for n, m in itertools.product(paper.ORDERS, paper.BASES)
        }
        y, _ = run(_constant_one(), u, engine="lifted")
        return {**value, "constant": mean_squared_error(u, y).tolist()}

    def gather(self, ask: Ask, parts: Parts) -> Outcome:
        found = [joined(parts, named(*cell)) for cell in paper.CELLS]
        constant = [float(np.mean(v["constant"]) / np.mean(v[paper.label("FouT as printed", 33)])) for v in found]
        return Outcome(
            paper.models(paper.CELLS, parts, printed=True), {"constant": constant, "printed LegT": printed_legt(33)}
        )

    caption = (
        "Every cell of Table 1: the paper's mean ± standard deviation (grey) and ours (coloured), in the same "
        "units. Whiskers that would reach below a tenth of the mean are cut there, for the logarithmic axis."
    )
    alt = "Six panels of dots with whiskers: the paper's mean and ours lie together in every cell."

    def draw(self, result: Result) -> Any:
        figure, axes = style.figure(2, 3, height=2.9)
        for axis, cell in zip(axes, paper.CELLS, strict=True):
            _panel(axis, [line for line in result["rows"] if (line["dataset"], line["parameter"]) == cell])
            axis.set_title(named(*cell))
        for axis in axes[::3]:
            axis.set_ylabel("MSE")
        return figure

    def verdicts(self, result: Result) -> list[Verdict]:
        cells = [line for line in result["rows"] if line["paper_mean"] is not None]
        good = [line for line in cells if agrees(line)]
        worst = max(cells, key=lambda line: abs(line["mean"] / line["paper_mean"] - 1))
        ratio = worst["mean"] / worst["paper_mean"]
        first = Verdict(
            "Table 1 can be reproduced.",
            len(good) == len(cells),
            f"{len(good)} of {len(cells)} cells lie within the paper's own mean ± std over {result['functions']} "
            f"functions; the farthest is {worst['method']} N = {worst['order']} on {worst['dataset']} "
            f"{worst['parameter']}, {number(ratio)} times the paper's mean.",
            ours=True,
        )
        mean = means(result["rows"], "dataset", "parameter", "method", "order")
        inside = [
            mean[d, rough, m, n] / mean[d, smooth, m, n]
            for m, n in itertools.product(("LegT", "FouT as printed"), paper.ORDERS)
            for d, ps in ((paper.WHITE, (0.3, 1.0, 2.0)), (paper.FILTERED, (0.3, 0.1, 0.05)))
            for smooth, rough in itertools.pairwise(ps)
        ]
        second = Verdict(
            "Larger α and smaller γ are easier (App. E.1).",
            all(step > 1 for step in inside),
            f"Error grows at each of the {len(inside)} steps towards rougher signals, by a factor of "
            f"{number(min(inside))} at the least."
            if all(step > 1 for step in inside)
            else f"One step towards a rougher signal changes the error by a factor of {number(min(inside))}.",
        )
        return [first, second, _bold(result["rows"])]

    def headline(self, result: Result) -> str:
        cells = [line for line in result["rows"] if line["paper_mean"] is not None]
        good = sum(bool(agrees(cell)) for cell in cells)
        return f"The construction is sound, and {good} of the {len(cells)} cells of Table 1 come out."

    def slips(self, result: Result) -> list[Slip]:
        rows = result["rows"]
        where = {"dataset": paper.WHITE, "parameter": 1.0, "order": 33}
        wrong, right = find(rows, method="FouT as printed", **where), find(rows, method="FouT", **where)
        growth, feedthrough = result["details"]["printed LegT"]
        constant = result["details"]["constant"]
        return [
            Slip(
                "App. A.1 prints LegT's A with a plus sign and the scaling $2n+1$, beside $p_n(t, t) = √(2n+1)$.",
                "A has a minus sign, and both belong to one scaling: with this p, $A_{nk} = -√(2n+1) √(2k+1) / θ$ "
                "for $k ≤ n$, times $(-1)^{n-k}$ for $k > n$; or the printed form with "
                "$p_n(t, t) = (-1)^n$.",
                f"N = 33, θ = 1: the printed A has an eigenvalue with real part {number(growth)}, so its state "
                f"explodes, and the printed pair gives D = {number(feedthrough)} in place of N² = {33**2}.",
            ),
            Slip(
                "App. A.3: every FouT basis function carries √2, the constant too.",
                "The constant is 1; the printed A and B agree with that.",
                f"Next to no effect: the MSE at N = 33 changes by {number(100 * max(abs(r - 1) for r in constant))} % "
                f"at most.",
            ),
            Slip(
                "App. A.3 writes the FouT rotation as 2πn with n the matrix index (2, 4, 6, …).",
                "n is the frequency m = 1, 2, 3, …; read as the index, every frequency is doubled.",
                f"White Signal γ = 1, N = 33: {number(wrong['mean'])} with the printed reading, which is the published "
                f"{number(wrong['paper_mean'])}, and {number(right['mean'])} with the right frequencies.",
            ),
        ]


def _bold(rows: Rows) -> Verdict:
    """Which cell of each line is the best one, and whether the right frequencies would change that."""
    same, changed = 0, []
    for dataset, parameter in paper.CELLS:
        line = [r for r in rows if (r["dataset"], r["parameter"]) == (dataset, parameter)]
        cells = [r for r in line if r["paper_mean"] is not None]
        best = min(cells, key=lambda r: r["mean"])
        same += best is min(cells, key=lambda r: r["paper_mean"])
        if min(line, key=lambda r: r["mean"])["method"] == "FouT":
            changed.append(f"{dataset} {parameter}")
    total = len(paper.CELLS)
    return Verdict(
        "LegT with N = 65 is the best of each line of Table 1, but FouT on Filtered Noise with α = 0.05 and 0.1.",
        held(same, total),
        f"The same cell is best in {same} of {total} lines. With the right frequencies FouT is best in {len(changed)}"
        + (f": {', '.join(changed)}." if changed else "."),
    )


def _constant_one() -> System:
    """FouT as printed, N = 33, but with the constant basis function at 1 instead of √2."""
    basis = fout_as_printed(33, 1.0)
    newest = basis.newest.copy()
    newest[0] = 1.0
    return next_value(replace(basis, newest=newest), 1.0 / paper.SAMPLES)


def printed_legt(order: int) -> list[float]:
    """Largest real part of the eigenvalues of A as App. A.1 prints it, and D = Σ B_k p_k(t, t), for window 1."""
    n = np.arange(order)
    sign = (-1.0) ** (n[:, None] - n[None, :])
    A = (2 * n[:, None] + 1) * np.where(n[:, None] >= n[None, :], sign, 1.0)
    D = float(np.sum((2 * n + 1) * (-1.0) ** n * np.sqrt(2 * n + 1)))
    return [float(np.linalg.eigvals(A).real.max()), D]


def _panel(axis: Any, group: list[Mapping[str, Any]]) -> None:
    axis.set_yscale("log")
    names = []
    for place, line in enumerate(group):
        method = line["method"]
        looks = {"paper_": ("o", style.COLOURS["paper"], -0.14)}
        looks[""] = style.MARKERS[method], style.COLOURS[method], 0.14
        for whose, (marker, colour, shift) in looks.items():
            mean, std = line[f"{whose}mean"], line[f"{whose}std"] or 0.0
            if mean is not None:
                whiskers = [[min(std, mean * 0.9)], [std]]
                axis.errorbar(place + shift, mean, yerr=whiskers, fmt=marker, color=colour, capsize=3)
        short = {"LegT": "LegT", "FouT as printed": "FouT\nprinted", "FouT": "FouT\nright"}[method]
        names.append(f"{short}\n{line['order']}")
    axis.set_xticks(range(len(group)), names, fontsize=8)
    axis.grid(axis="x", visible=False)
