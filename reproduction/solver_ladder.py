"""Open question: which in-context solver. One LegT state read by four rules, and by the paper's fixed readout."""

import itertools
from typing import Any

import numpy as np

from prophecy import legt, next_value
from reproduction import paper, style, trained_runs
from reproduction.framework import Ask, Line, OpenQuestion, Outcome, Result, Table, Unit, Verdict
from reproduction.rows import Array, Json, Parts, held, listed, means, named, number, row

ORDER, SAMPLES = 32, 4096
DATASETS = ((paper.WHITE, 1.0), (paper.WHITE, 2.0), (paper.FILTERED, 0.1))
SIGNALS = tuple(named(*dataset) for dataset in DATASETS)
RATES = {"gradient step": tuple(10.0**p for p in range(-6, 1)), "delta rule": (0.01, 0.03, 0.1, 0.3, 1.0)}
"""Tried for the two rules that have a rate; the best in hindsight counts, which is a favour to them."""
FORGETTING = (0.9, 0.99)
"""What is kept per sample by the exact ridge; again the best in hindsight. Keeping all is recursive least squares."""
RIDGE = 1e-10
"""Added to the diagonal of the normal equations, in squared units of the features: only to make them invertible."""
COPY, FIXED = "copying", "Eq. (5), fixed"
BEST = "exact ridge, forgetting"
RULES = (COPY, FIXED, "gradient step", "delta rule", "recursive least squares", BEST)
# Samples: bins of the curves, even in their logarithm; tables have the errors of the second half, as the paper.
EDGES = tuple(int(x) for x in np.unique(np.geomspace(32, SAMPLES - 1, 22).round()))
LATE = slice(SAMPLES // 2, SAMPLES - 1)


class Solvers(OpenQuestion):
    name = "solvers"
    title = "Which solver in context?"
    reference = "Sec. 5; linear attention, DeltaNet, MesaNet"
    place = 150
    functions = 10
    torch = True
    given = (("order", ORDER), ("samples", SAMPLES), ("ridge", RIDGE))
    lead = "solvers"
    question = (
        "An SSM's state holds the past. Layers that learn in context read it by one gradient step, by the delta rule, "
        "by recursive least squares or by an exact ridge solution. What does each step up that ladder buy, and where "
        "does the paper's fixed readout stand on it?"
    )
    method = (
        "LegT with N = 32, the whole sequence of 4 096 samples as window: 33 features, the state and the newest value.",
        "Every rule predicts the next change, so that weights of zero are copying; nothing is trained beforehand.",
        "The rules are `GradientStep`, `Delta`, `RLS` (keeping all) and `Ridge` (forgetting) of `prophecy.nn`.",
        "Rates of learning and forgetting: the best of a grid in hindsight. Ridge: 1e-10, in the features' own units.",
        "Measured: squared error against the samples seen, and multiply-adds per value.",
    )
    doubts = (
        "Noise would level the ladder: with an observation noise of σ no rule gets below σ², and the ridge would have "
        "to grow. A rule of lower order that keeps pace after whitening the features, or on signals that never repeat "
        "a shape, would show that the conditioning of LegT's features, not the rule, decides here."
    )

    def units(self, ask: Ask) -> list[Unit]:
        return paper.function_units(DATASETS, self.size(ask), 10)

    def compute(self, ask: Ask, unit: Unit) -> Json:
        u = paper.unit_signal(ask, unit)[:, :SAMPLES]
        with trained_runs.one_thread():
            errors = ladder(u)
        return {
            name: {
                "late": np.mean(e[:, LATE] ** 2, axis=1).tolist(),
                "curve": [(e[:, low:high] ** 2).mean(axis=1).tolist() for low, high in itertools.pairwise(EDGES)],
            }
            for name, e in errors.items()
        }

    def gather(self, ask: Ask, parts: Parts) -> Outcome:
        rows, curves, chosen = [], {}, {}
        for signal, rule in itertools.product(DATASETS, RULES):
            pieces = [part for name, part in parts.items() if name.startswith(f"{named(*signal)}, ")]
            late = {n: [v for p in pieces for v in p[n]["late"]] for n in pieces[0]}
            options = [n for n in late if n == rule or n.startswith(f"{rule}, rate ")]
            best = min(options, key=lambda n: float(np.mean(late[n])))
            rows.append(row(*signal, rule, ORDER, "mse", late[best]))
            chosen[f"{named(*signal)}|{rule}"] = best.removeprefix(rule).removeprefix(", ")
            stacked = np.concatenate([np.array(p[best]["curve"]) for p in pieces], axis=1)
            curves[f"{named(*signal)}|{rule}"] = stacked.mean(axis=1).tolist()
        return Outcome(rows, {"curves": curves, "chosen": chosen, "operations": operations()})

    caption = (
        "The solver ladder. Three panels: mean squared error of the next value after k samples. Right: error "
        "over the second half against multiply-adds per value, White Signal γ = 2 (filled) and Filtered Noise "
        "(open). The memory itself costs the same for all and is not counted."
    )
    alt = (
        "Error against context length for six rules on three signals; exact solutions fall by orders of "
        "magnitude on smooth signals, the gradient step stays near copying."
    )

    def draw(self, result: Result) -> Any:
        details, mean = result["details"], _means(result)
        figure, axes = style.figure(1, 4, height=3.9)
        colours = dict(zip(RULES, (style.COLOURS["copy"], style.COLOURS["LegT"], *style.SEQUENCE[1:]), strict=False))
        centres = np.sqrt(np.array(EDGES[:-1]) * np.array(EDGES[1:]))
        for axis, signal in zip(axes, SIGNALS, strict=False):
            for rule in RULES:
                line = "--" if rule in (COPY, FIXED) else "-"
                axis.plot(centres, details["curves"][f"{signal}|{rule}"], line, color=colours[rule], label=rule)
            axis.set(xscale="log", yscale="log", xlabel="samples seen")
            axis.set_title(signal.replace("White Signal", "White").replace("Filtered Noise", "Filtered"), fontsize=10)
        axes[0].set_ylabel("mean squared error")
        for rule, colour in colours.items():
            for signal, face in ((SIGNALS[1], colour), (SIGNALS[2], "white")):
                look = {"color": colour, "markerfacecolor": face, "markersize": 7}
                axes[3].plot(details["operations"][rule], mean[signal, rule], "o", **look)
        axes[3].set(xscale="log", yscale="log", xlabel="multiply-adds per value")
        axes[3].set_title("Price", fontsize=10)
        return style.legended(figure, axes[0], 3)

    def tables(self, result: Result) -> list[Table]:
        mean, details = _means(result), result["details"]
        lines: list[Line] = []
        for rule in RULES:
            cells = [number(mean[signal, rule]) for signal in SIGNALS]
            rates = {details["chosen"][f"{signal}|{rule}"] for signal in SIGNALS} - {""}
            lines.append([rule, number(details["operations"][rule]), *cells, ", ".join(sorted(rates)) or "–"])
        header = ["rule", "multiply-adds per value", *SIGNALS, "rate of learning or forgetting, best in hindsight"]
        return [Table("Mean squared error over the second half.", header, lines)]

    def verdicts(self, result: Result) -> list[Verdict]:
        mean = _means(result)
        gains = {s: mean[s, FIXED] / mean[s, BEST] for s in SIGNALS}
        least = {s: mean[s, FIXED] / mean[s, "recursive least squares"] for s in SIGNALS}
        weak = {s: mean[s, "gradient step"] / mean[s, COPY] for s in SIGNALS}
        delta = {s: mean[s, "delta rule"] / mean[s, BEST] for s in SIGNALS}
        return [
            Verdict(
                "Solving in context beats the paper's fixed readout of the same state.",
                all(g > 1 for g in gains.values()),
                f"The fixed readout has {listed(least)} times the error of recursive least squares, which keeps all, "
                f"and {listed(gains)} times that of the exact ridge that forgets.",
            ),
            Verdict(
                "One gradient step is enough.",
                all(w < 0.5 for w in weak.values()),
                f"With the best rate in hindsight its error is {listed(weak)} times that of copying.",
            ),
            Verdict(
                "The delta rule, at less than a hundredth of the operations, comes within a factor of ten of the best.",
                held(sum(d < 10 for d in delta.values()), len(delta)),
                f"Its error is {listed(delta)} times that of the exact ridge.",
            ),
        ]

    def headline(self, result: Result) -> str:
        mean, signal = _means(result), SIGNALS[1]
        return (
            "Solved anew at every sample, by a ridge that forgets, with nothing but the context, it gains a factor of "
            f"{number(mean[signal, FIXED] / mean[signal, BEST])} ({signal})."
        )


def _means(result: Result) -> dict[tuple[str, str], float]:
    return {(named(d, p), m): v for (d, p, m), v in means(result["rows"], "dataset", "parameter", "method").items()}


def ladder(u: Array) -> dict[str, Array]:
    """Errors y[k] - u[k + 1], (series, time - 1), of every rule and rate."""
    import torch

    from prophecy import nn

    system = next_value(legt(ORDER, 1.0), 1.0 / u.shape[1])
    inputs = torch.tensor(u)
    states = nn.scan(torch.tensor(system.A), inputs[..., None] * torch.tensor(system.B))
    features = torch.cat([states, inputs[..., None]], dim=-1)
    change = torch.diff(inputs, dim=1, prepend=inputs[:, :1])[..., None]
    fixed = features @ torch.tensor(np.append(system.C, system.D - 1.0))
    said = {COPY: torch.zeros_like(inputs), FIXED: fixed}
    with torch.no_grad():
        for rate in RATES["gradient step"]:
            said[f"gradient step, rate {rate:g}"] = nn.GradientStep(rate)(features, change)[0][..., 0]
        for rate in RATES["delta rule"]:
            said[f"delta rule, rate {rate:g}"] = nn.Delta(rate)(features, change)[0][..., 0]
        said["recursive least squares"] = nn.RLS(ridge=RIDGE)(features, change)[0][..., 0]
        for fade in FORGETTING:
            solver = nn.Ridge(RIDGE, fade, chunk=1)
            said[f"exact ridge, forgetting, rate {1 - fade:g}"] = solver(features, change)[0][..., 0]
    return {name: (y[:, :-1] - change[:, 1:, 0]).numpy() for name, y in said.items()}


def operations() -> dict[str, float]:
    """Multiply-adds per value of each rule, the memory aside."""
    width = ORDER + 1
    from prophecy import nn

    return {
        COPY: 0.5,
        FIXED: float(width),
        "gradient step": nn.GradientStep().operations(width),
        "delta rule": nn.Delta().operations(width),
        "recursive least squares": nn.RLS().operations(width),
        "exact ridge, forgetting": nn.Ridge(chunk=1).operations(width),
    }
