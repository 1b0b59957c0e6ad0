"""Open question: layers after the SSM. Products of a fixed state with a solved readout, against a trained MLP."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from reproduction import products, style, trained_runs
from reproduction.framework import Ask, Cell, Json, OpenQuestion, Outcome, Picture, Result, Table, Unit, Verdict
from reproduction.rows import number, row
from reproduction.trained_runs import GPU, SHORT

DEGREES = {1: "linear readout", 2: "products of two", 3: "products of three"}
COPY = "copying"
SAME = 0.05
"""Share by which a valid time has to be longer to count as longer; trajectories differ by more."""


class LayersAfter(OpenQuestion):
    name = "layers"
    title = "What do layers after the SSM add?"
    reference = "Sec. 5: fully connected layers and non-linearities"
    place = 152
    functions = products.TRAJECTORIES
    data = (f"{trained_runs.FOLDER}/perceptron.json",)
    question = (
        "The construction reads the state linearly. Dynamical systems are not linear. How much does a non-linear layer "
        "on top of the same fixed state add, one step ahead and many, and does it have to be trained?"
    )
    method = (
        "Six chaotic systems of three variables, 100 samples per Lyapunov time, 2 048 samples of context, no noise.",
        "A fixed LegT memory per variable with 1, 2 or 3 states over 2, 4 or 6 samples; z holds all states and values.",
        "Solved in context: the next change as a ridge readout of z, of products of two, of three entries of z.",
        "Trained: an MLP on z, two hidden layers of 64, on the same context, or beforehand on four other trajectories "
        "of the same system (Adam, 5 000 steps, three seeds, GPU).",
        "Measured: squared error one step ahead, and Lyapunov times until a forecast on its own output is half a "
        "standard deviation off (at most 5). Sizes and ridge were chosen on other trajectories.",
    )
    doubts = (
        "All six systems have right-hand sides that are polynomials or nearly so, which favours products. Systems with "
        "sharp thresholds, or observation noise, to which products of three are far more exposed, could turn the "
        "order; so could a longer training, or second-order methods for the MLP."
    )

    def settings(self, ask: Ask) -> dict[str, Json]:
        trained_runs.torch_for(self.name)
        return {"context": products.CONTEXT, "per Lyapunov time": products.PER_TIME, "ridge": products.RIDGE}

    def units(self, ask: Ask) -> list[Unit]:
        solved = [Unit(f"{name}", {"system": name}) for name in products.SYSTEMS]
        return [*solved, Unit("short run", {})]

    def compute(self, ask: Ask, unit: Unit) -> Json:
        if "system" in unit.arguments:
            seeds = range(products.FIRST + ask.seed, products.FIRST + ask.seed + self.size(ask))
            return solved_scores([products.case(unit.arguments["system"], seed) for seed in seeds])
        trained_runs.torch_for(self.name)
        from reproduction.trained import perceptron

        with trained_runs.one_thread(self.name):
            steps, _ = trained_runs.shortened(replace(ask, functions=None), perceptron.SHORT.steps, 1)
            return perceptron.train(replace(perceptron.SHORT, steps=steps), [0], ask.device, jobs=1)

    def gather(self, ask: Ask, parts: Mapping[str, Json]) -> Outcome:
        rows = []
        for name in products.SYSTEMS:
            for label, order, found in _by_label(parts[name]):
                rows.append(row(name, None, label, order, "mse", [f["mse"] for f in found]))
                rows.append(row(name, None, label, order, "lyapunov times", [f["vpt"] for f in found]))
        origins = {}
        for label, run in ((SHORT, parts["short run"]), (GPU, trained_runs.committed("perceptron"))):
            if run is None:
                continue
            origins[label] = trained_runs.origin(run)
            for name in products.SYSTEMS[: run["plan"]["systems"]]:
                for kind in ("in context", "beforehand"):
                    for order, _ in run["plan"]["memories"]:
                        found = [
                            c
                            for r in run["results"]
                            if (r["kind"], r["order"]) == (kind, order)
                            for c in r["cases"]
                            if c["system"] == name
                        ]
                        rows.append(row(name, None, f"MLP {kind}, {label}", order, "mse", [f["mse"] for f in found]))
                        rows.append(
                            row(name, None, f"MLP {kind}, {label}", order, "lyapunov times", [f["vpt"] for f in found])
                        )
        return Outcome(rows, {"origins": origins})

    def pictures(self, result: Result) -> list[Picture]:
        told = "; ".join(f"{name}: {text}" for name, text in result["details"]["origins"].items())
        return [
            Picture(
                "layers",
                "Left: mean squared error one step ahead, geometric mean over six systems, against the states per "
                "variable. Right: Lyapunov times until the forecast on its own output is lost, mean over systems. "
                f"{told}.",
                lambda: _draw(result["rows"]),
                "Two panels: products of two and three with a solved readout lie orders of magnitude below the linear "
                "readout and below the trained networks one step ahead, and last longer.",
            )
        ]

    def tables(self, result: Result) -> list[Table]:
        lines: list[list[Cell | str]] = []
        for label, order in _models(result["rows"]):
            lines.append(
                [
                    label,
                    str(order),
                    number(one_step(result["rows"], label, order)),
                    f"{many(result['rows'], label, order):.2f}",
                ]
            )
        header = ["readout", "states per variable", "one step: MSE, geometric mean", "Lyapunov times, mean"]
        return [Table("Over systems and trajectories; short runs cover two systems only.", header, lines)]

    def verdicts(self, result: Result) -> list[Verdict]:
        rows = result["rows"]
        one = {d: one_step(rows, DEGREES[d], 1) for d in DEGREES}
        far = {d: many(rows, DEGREES[d], 1) for d in DEGREES}
        large = one_step(rows, DEGREES[3], 3), many(rows, DEGREES[3], 3)
        made = [
            Verdict(
                "A non-linear layer after the SSM pays, without training.",
                one[3] < one[2] < one[1] and far[3] > far[1],
                f"One state per variable: the error one step ahead falls from {number(one[1])} (linear) to "
                f"{number(one[2])} and {number(one[3])} (products of two, three); forecasts last {far[1]:.2f}, "
                f"{far[2]:.2f} and {far[3]:.2f} Lyapunov times.",
            ),
            Verdict(
                "A larger memory of the same kind helps as well.",
                both(large[0] < one[3], large[1] > (1 + SAME) * far[3]),
                f"Products of three with three states per variable instead of one. One step ahead: "
                f"{number(large[0])} instead of {number(one[3])}. Many steps: {large[1]:.2f} instead of {far[3]:.2f} "
                f"Lyapunov times, where less than {100 * SAME:g} % more counts as no difference.",
            ),
        ]
        trained = [(label, order) for label, order in _models(rows) if label.startswith("MLP") and GPU in label]
        if trained:
            near = min(trained, key=lambda m: one_step(rows, *m))
            long = max(trained, key=lambda m: many(rows, *m))
            best, longest = one_step(rows, *near), many(rows, *long)
            made.append(
                Verdict(
                    "A trained MLP on the same state does better than solved products.",
                    both(best < min(one.values()), longest > max(far.values())),
                    f"One step ahead the best is {_called(near)}: {number(best)} and {many(rows, *near):.2f} Lyapunov "
                    f"times. Over many steps it is {_called(long)}: {number(one_step(rows, *long))} and "
                    f"{longest:.2f}. Products of three on one state per variable, solved in one go: "
                    f"{number(one[3])} and {far[3]:.2f}.",
                )
            )
        return made


def solved_scores(cases: list[products.Case]) -> list[dict[str, Any]]:
    """Scores of copying and of every degree and memory, for all cases."""
    made = []
    for order, window in products.MEMORIES:
        memories = products.Memories(order, window)
        rows = [memories.rows(case.context) for case in cases]
        for degree, label in DEGREES.items():
            weights = np.stack([products.solve(z, v, degree) for z, v in rows])

            def change(z: products.Array, weights: products.Array = weights, degree: int = degree) -> products.Array:
                return products.features(z, degree) @ weights

            found = products.scores(cases, memories, change)
            made.append({"label": label, "order": order, "cases": found})
    still = products.scores(
        cases, products.Memories(1, 2.0), lambda z: np.zeros((*z.shape[:2], cases[0].context.shape[1]))
    )
    return [*made, {"label": COPY, "order": 1, "cases": still}]


def _by_label(part: list[dict[str, Any]]) -> list[tuple[str, int, list[dict[str, Any]]]]:
    return [(entry["label"], entry["order"], entry["cases"]) for entry in part]


def both(near: bool, far: bool) -> bool | None:
    """A verdict on one step and on many: in part where only one of them holds."""
    return True if near and far else (None if near or far else False)


def _called(model: tuple[str, int]) -> str:
    return f"{model[0]}, with {model[1]} state{'s' if model[1] > 1 else ''} per variable"


def _models(rows: list[dict[str, Any]]) -> list[tuple[str, int]]:
    return list(dict.fromkeys((r["method"], r["order"]) for r in rows))


def one_step(rows: list[dict[str, Any]], label: str, order: int) -> float:
    """Geometric mean over systems of the mean squared error."""
    found = [r["mean"] for r in rows if (r["method"], r["order"], r["metric"]) == (label, order, "mse")]
    return float(np.exp(np.mean(np.log(found))))


def many(rows: list[dict[str, Any]], label: str, order: int) -> float:
    """Mean over systems of the valid prediction time."""
    wanted = (label, order, "lyapunov times")
    return float(np.mean([r["mean"] for r in rows if (r["method"], r["order"], r["metric"]) == wanted]))


def _draw(rows: list[dict[str, Any]]) -> Any:
    figure, axes = style.figure(1, 2, height=3.9)
    labels = [label for label in dict.fromkeys(label for label, _ in _models(rows)) if not label.endswith(SHORT)]
    colours = dict(
        zip(
            labels,
            (style.SEQUENCE[1], style.SEQUENCE[4], style.COLOURS["LegT"], "#9ca3af", "#cc79a7", "#009e73"),
            strict=False,
        )
    )
    for axis, score in zip(axes, (one_step, many), strict=True):
        for label in labels:
            orders = [order for name, order in _models(rows) if name == label]
            values = [score(rows, label, order) for order in orders]
            line = "--" if label.startswith("MLP") else ":" if label == COPY else "-"
            if label == COPY:
                axis.axhline(values[0], color=colours[label], linestyle=":", label=label)
            else:
                axis.plot(orders, values, line, marker="o", color=colours[label], label=label)
        axis.set(xlabel="states per variable")
        axis.set_xticks([order for order, _ in products.MEMORIES])
    axes[0].set(yscale="log", ylabel="MSE one step ahead", title="One step")
    axes[1].set(ylabel="Lyapunov times", title="Many steps")
    figure.legend(*axes[0].get_legend_handles_labels(), ncols=3, loc="outside upper center")
    return figure
