"""Table 1: MSE on White Signal and Filtered Noise, LegT and FouT, N = 33 and 65."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from prophecy.evaluation import mean_squared_error
from prophecy.reproduce import paper
from prophecy.reproduce.framework import (
    Ask,
    Experiment,
    Json,
    Outcome,
    Picture,
    Result,
    Slip,
    Unit,
    Verdict,
    agrees,
    find,
    number,
    row,
)

DATASETS = {paper.WHITE: (0.3, 1.0, 2.0), paper.FILTERED: (0.05, 0.1, 0.3)}


class TableSignals(Experiment):
    name = "table-signals"
    title = "White Signal and Filtered Noise"
    reference = "Table 1"
    place = 60
    functions = 100
    modules = ("reproduce/paper",)
    introduction = (
        "Mean squared error of the next value over the second half of 10 000 samples, the window being the whole "
        "sequence. FouT comes twice: with every frequency doubled, which is how the paper prints the matrix and made "
        "its table, and with the right frequencies 1, 2, 3, …"
    )

    def units(self, ask: Ask) -> list[Unit]:
        return paper.function_units(DATASETS, self.size(ask), 25)

    def compute(self, ask: Ask, unit: Unit) -> Json:
        u = paper.unit_signal(ask, unit)
        return {
            paper.label(method, order): mean_squared_error(u, paper.predict(method, order, u)).tolist()
            for order in paper.ORDERS
            for method in paper.BASES
        }

    def gather(self, ask: Ask, parts: Mapping[str, Json]) -> Outcome:
        rows = []
        for dataset, parameters in DATASETS.items():
            for parameter in parameters:
                values = paper.joined(parts, dataset, parameter)
                for order in paper.ORDERS:
                    for method in paper.BASES:
                        known = paper.published(dataset, parameter, method, order)
                        sample = values[paper.label(method, order)]
                        rows.append(row(dataset, parameter, method, order, "mse", sample, known))
        return Outcome(rows)

    def pictures(self, result: Result) -> list[Picture]:
        from prophecy.reproduce.draw import paper_against_ours

        return [
            Picture(
                "table-signals",
                "Every cell of Table 1: the paper's mean ± standard deviation (grey) and ours (coloured), in the same "
                "units.",
                lambda: paper_against_ours(result["rows"]),
            )
        ]

    def verdicts(self, result: Result) -> list[Verdict]:
        cells = [line for line in result["rows"] if line["paper_mean"] is not None]
        good = [line for line in cells if agrees(line)]
        worst = max(cells, key=lambda line: abs(line["mean"] / line["paper_mean"] - 1))
        ratio = worst["mean"] / worst["paper_mean"]
        first = Verdict(
            "The published table can be reproduced.",
            len(good) == len(cells),
            f"{len(good)} of {len(cells)} cells lie within the paper's own mean ± std over {result['functions']} "
            f"functions; the farthest is {worst['method']} N = {worst['order']} on {worst['dataset']} "
            f"{worst['parameter']}, {number(ratio)} times the paper's mean.",
        )
        smoother = [
            find(result["rows"], dataset=d, parameter=p, method=m, order=n)["mean"]
            for m in ("LegT", "FouT as printed")
            for n in paper.ORDERS
            for d, ps in ((paper.WHITE, (0.3, 1.0, 2.0)), (paper.FILTERED, (0.3, 0.1, 0.05)))
            for p in ps
        ]
        steps = [b / a for a, b in itertools.pairwise(smoother)]
        inside = [step for index, step in enumerate(steps) if index % 3 != 2]
        second = Verdict(
            "Larger α and smaller γ are easier (App. E.1).",
            all(step > 1 for step in inside),
            f"Error grows at each of the {len(inside)} steps towards rougher signals, by a factor of "
            f"{number(min(inside))} at the least."
            if all(step > 1 for step in inside)
            else f"One step towards a rougher signal changes the error by a factor of {number(min(inside))}.",
        )
        return [first, second]

    def slips(self, result: Result) -> list[Slip]:
        rows = result["rows"]
        where = {"dataset": paper.WHITE, "parameter": 1.0, "order": 33}
        wrong, right = find(rows, method="FouT as printed", **where), find(rows, method="FouT", **where)
        return [
            Slip(
                "App. A.3 writes the FouT rotation as 2πn with n the matrix index (2, 4, 6, …).",
                "n is the frequency m = 1, 2, 3, …; read as the index, every frequency is doubled.",
                f"White Signal γ = 1, N = 33: {number(wrong['mean'])} with the printed reading, which is the published "
                f"{number(wrong['paper_mean'])}, and {number(right['mean'])} with the right frequencies.",
            )
        ]


EXPERIMENT = TableSignals()
