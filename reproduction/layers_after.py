"""Open question: layers after the SSM. Products of a fixed state with a solved readout, against a trained MLP."""

import itertools
from dataclasses import replace
from typing import Any

import numpy as np

from reproduction import products, style, trained_runs
from reproduction.framework import Ask, OpenQuestion, Outcome, Result, Table, Unit, Verdict
from reproduction.rows import Json, Parts, Rows, distinct, held, means, number, row
from reproduction.trained_runs import GPU, SHORT

DEGREES = {1: "linear readout", 2: "products of two", 3: "products of three"}
COPY = "copying"
SAME = 0.05  # share by which a valid time has to be longer to count as longer; trajectories differ by more


class LayersAfter(OpenQuestion):
    name = "layers"
    title = "What do layers after the SSM add?"
    reference = "Sec. 5: fully connected layers and non-linearities"
    place = 152
    functions = products.TRAJECTORIES
    torch = True
    given = (("context", products.CONTEXT), ("per Lyapunov time", products.PER_TIME), ("ridge", products.RIDGE))
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

    def units(self, ask: Ask) -> list[Unit]:
        solved = [Unit(f"{name}", {"system": name}) for name in products.SYSTEMS]
        return [*solved, Unit("short run", {})]

    def compute(self, ask: Ask, unit: Unit) -> Json:
        if "system" in unit.arguments:
            seeds = range(products.FIRST + ask.seed, products.FIRST + ask.seed + self.size(ask))
            return solved_scores([products.case(unit.arguments["system"], seed) for seed in seeds])
        from reproduction.trained import perceptron

        with trained_runs.one_thread():
            steps, _ = trained_runs.shortened(replace(ask, functions=None), perceptron.SHORT.steps, 1)
            return perceptron.train(replace(perceptron.SHORT, steps=steps), [0], ask.device, jobs=1)

    def gather(self, ask: Ask, parts: Parts) -> Outcome:
        rows = []
        for name in products.SYSTEMS:
            for entry in parts[name]:
                rows += _scored(name, entry["label"], entry["order"], entry["cases"])
        runs = {SHORT: parts["short run"], GPU: trained_runs.committed("perceptron")}
        for label, run in runs.items():
            plan, kinds = run["plan"], ("in context", "beforehand")
            for name, kind, (order, _) in itertools.product(
                products.SYSTEMS[: plan["systems"]], kinds, plan["memories"]
            ):
                own = [r["cases"] for r in run["results"] if (r["kind"], r["order"]) == (kind, order)]
                found = [case for cases in own for case in cases if case["system"] == name]
                rows += _scored(name, f"MLP {kind}, {label}", order, found)
        return Outcome(rows, {"origins": {label: trained_runs.origin(run) for label, run in runs.items()}})

    caption = (
        "Left: mean squared error one step ahead, geometric mean over six systems, against the states per variable. "
        "Right: Lyapunov times until the forecast on its own output is lost, mean over systems. {told}."
    )
    alt = (
        "Two panels: products of two and three with a solved readout lie orders of magnitude below the linear readout "
        "and below the trained networks one step ahead, and last longer."
    )

    def draw(self, result: Result) -> Any:
        rows = result["rows"]
        figure, axes = style.figure(1, 2, height=3.9)
        labels = [label for label in distinct(rows, "method") if not label.endswith(SHORT)]
        shades = (style.SEQUENCE[1], style.SEQUENCE[4], style.COLOURS["LegT"], "#9ca3af", "#cc79a7", "#009e73")
        colours = dict(zip(labels, shades, strict=False))
        for axis, score in zip(axes, (one_step, many), strict=True):
            for label in labels:
                orders = [order for name, order in distinct(rows, "method", "order") if name == label]
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
        return style.legended(figure, axes[0], 3)

    def tables(self, result: Result) -> list[Table]:
        rows = result["rows"]
        lines = [
            [label, str(n), number(one_step(rows, label, n)), f"{many(rows, label, n):.2f}"]
            for label, n in distinct(rows, "method", "order")
        ]
        header = ["readout", "states per variable", "one step: MSE, geometric mean", "Lyapunov times, mean"]
        return [Table("Over systems and trajectories; short runs cover two systems only.", header, lines)]

    def verdicts(self, result: Result) -> list[Verdict]:
        rows = result["rows"]
        one = {d: one_step(rows, DEGREES[d], 1) for d in DEGREES}
        far = {d: many(rows, DEGREES[d], 1) for d in DEGREES}
        large = one_step(rows, DEGREES[3], 3), many(rows, DEGREES[3], 3)
        trained = [m for m in distinct(rows, "method", "order") if m[0].startswith("MLP") and GPU in m[0]]
        near = min(trained, key=lambda m: one_step(rows, *m))
        long = max(trained, key=lambda m: many(rows, *m))
        best, longest = one_step(rows, *near), many(rows, *long)
        return [
            Verdict(
                "A non-linear layer after the SSM pays, without training.",
                one[3] < one[2] < one[1] and far[3] > far[1],
                f"One state per variable: the error one step ahead falls from {number(one[1])} (linear) to "
                f"{number(one[2])} and {number(one[3])} (products of two, three); forecasts last {far[1]:.2f}, "
                f"{far[2]:.2f} and {far[3]:.2f} Lyapunov times.",
            ),
            Verdict(
                "A larger memory of the same kind helps as well.",
                held((large[0] < one[3]) + (large[1] > (1 + SAME) * far[3]), 2),
                f"Products of three with three states per variable instead of one. One step ahead: "
                f"{number(large[0])} instead of {number(one[3])}. Many steps: {large[1]:.2f} instead of {far[3]:.2f} "
                f"Lyapunov times, where less than {100 * SAME:g} % more counts as no difference.",
            ),
            Verdict(
                "A trained MLP on the same state does better than solved products.",
                held((best < min(one.values())) + (longest > max(far.values())), 2),
                f"One step ahead the best is {_called(near)}: {number(best)} and {many(rows, *near):.2f} Lyapunov "
                f"times. Over many steps it is {_called(long)}: {number(one_step(rows, *long))} and "
                f"{longest:.2f}. Products of three on one state per variable, solved in one go: "
                f"{number(one[3])} and {far[3]:.2f}.",
            ),
        ]


def solved_scores(cases: list[products.Case]) -> Rows:
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
    variables = cases[0].context.shape[1]
    still = products.scores(cases, products.Memories(1, 2.0), lambda z: np.zeros((*z.shape[:2], variables)))
    return [*made, {"label": COPY, "order": 1, "cases": still}]


def _scored(system: str, label: str, order: int, cases: Rows) -> Rows:
    metrics = {"mse": "mse", "vpt": "lyapunov times"}
    return [row(system, None, label, order, metrics[key], [case[key] for case in cases]) for key in metrics]


def _called(model: tuple[str, int]) -> str:
    return f"{model[0]}, with {model[1]} state{'s' if model[1] > 1 else ''} per variable"


def one_step(rows: Rows, label: str, order: int) -> float:
    found = means(rows, "dataset", method=label, order=order, metric="mse")
    return float(np.exp(np.mean(np.log([*found.values()]))))


def many(rows: Rows, label: str, order: int) -> float:
    return float(np.mean([*means(rows, "dataset", method=label, order=order, metric="lyapunov times").values()]))
