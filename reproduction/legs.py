"""LegS (Prop. 3): the same signals, with the pole of the paper's rule shown and handled."""

import itertools
from typing import Any

import numpy as np

from prophecy import legs, next_value, run
from prophecy.evaluation import mean_squared_error
from reproduction import paper, style
from reproduction.framework import Ask, Cell, Experiment, Line, Outcome, Result, Slip, Table, Unit, Verdict
from reproduction.rows import Array, Json, Parts, find, joined, mean_and_deviation, means, named, number, ratio

SHOWN = (paper.WHITE, 1.0)
GRID = np.unique(np.concatenate([np.geomspace(1, paper.SAMPLES - 2, 400).round().astype(int), np.arange(500, 2300, 2)]))
HANDLED, PRINTED, EULER = "LegS", "LegS, as printed", "LegS, Euler until N²"
NEAR_POLE = 0.03  # wider than where the package repeats the last value: there the bare slope is read from the state


class LegS(Experiment):
    name = "legs"
    title = "LegS, and the pole of its rule"
    reference = "Prop. 3, App. B.2"
    place = 100
    functions = 100
    given = (("orders", list(paper.ORDERS)),)
    introduction = (
        "LegS remembers everything since time 0, ever more coarsely. The paper gives its construction but no numbers. "
        "Its trapezoid rule divides by 1 − N²/(2k), which is zero at sample k = N²/2. Two ways round this are shown: "
        "forward Euler until k = N², and repeating the last value where the divisor is nearly zero, which is what the "
        "package does. The rule is good on both sides of its pole, so the second is by far the better."
    )

    def units(self, ask: Ask) -> list[Unit]:
        return paper.function_units(paper.CELLS, self.size(ask), 100)

    def compute(self, ask: Ask, unit: Unit) -> Json:
        u = paper.unit_signal(ask, unit)
        shown = (unit.arguments["dataset"], unit.arguments["parameter"]) == SHOWN
        value: dict[str, Any] = {}
        for order in paper.ORDERS:
            ahead = predictions(order, u, everything=shown)
            value[paper.label(HANDLED, order)] = mean_squared_error(u, ahead[HANDLED]).tolist()
            value[paper.label("LegT", order)] = mean_squared_error(u, paper.predict("LegT", order, u)).tolist()
            for name, y in ahead.items() if shown else ():
                value[f"curve {name} {order}"] = np.abs(y[:, GRID] - u[:, GRID + 1]).tolist()
        return value

    def gather(self, ask: Ask, parts: Parts) -> Outcome:
        own = joined(parts, named(*SHOWN)).items()
        curves = {k.removeprefix("curve "): np.mean(v, axis=0).tolist() for k, v in own if k.startswith("curve ")}
        details = {"k": GRID.tolist(), "curves": curves, "constant": constant()}
        return Outcome(paper.models(paper.CELLS, parts), details)

    caption = (
        "Mean absolute error after k samples of White Signal γ = 1, over {functions} functions. "
        "Dashed line: the pole k = N²/2 of the paper's rule; dotted: k = N²."
    )
    alt = "Error against samples seen for N = 33 and 65: the printed rule peaks at k = N²/2, the package's does not."

    def draw(self, result: Result) -> Any:
        details = result["details"]
        looks = {
            EULER: ("forward Euler until k = N²", style.COLOURS["FouT as printed"], 1.4),
            HANDLED: ("repeating the last value near the pole", style.COLOURS["LegS"], 3.0),
            PRINTED: ("as printed", style.INK, 1.0),
        }
        figure, axes = style.figure(1, 2, height=4.0, sharey=True)
        for axis, order in zip(axes, paper.ORDERS, strict=True):
            axis.set(xscale="log", yscale="log", title=f"N = {order}", xlabel="samples seen k", xlim=(1, paper.SAMPLES))
            for name, (label, colour, width) in looks.items():
                curve = details["curves"][f"{name} {order}"]
                axis.plot(details["k"], curve, color=colour, linewidth=width, label=label)
            axis.axvline(order**2 / 2, color=style.MUTED, linestyle="--", linewidth=1, zorder=0)
            axis.axvline(order**2, color=style.MUTED, linestyle=":", linewidth=1, zorder=0)
        axes[0].set_ylabel("mean absolute error")
        return style.legended(figure, axes[0], 3)

    def tables(self, result: Result) -> list[Table]:
        lines: list[Line] = []
        for (dataset, parameter), order in itertools.product(paper.CELLS, paper.ORDERS):
            where = {"dataset": dataset, "parameter": parameter, "order": order}
            cells = [find(result["rows"], method=m, **where) for m in (HANDLED, "LegT")]
            texts = [mean_and_deviation(cell["mean"], cell["std"]) for cell in cells]
            factor = Cell(ratio(cells[0]["mean"] / cells[1]["mean"]), "quiet")
            lines.append([named(dataset, parameter), str(order), *texts, factor])
        return [Table("MSE over the second half.", ["signal", "N", "LegS", "LegT", "LegS / LegT"], lines)]

    def verdicts(self, result: Result) -> list[Verdict]:
        both = [means(result["rows"], "dataset", "parameter", "order", method=m) for m in (HANDLED, "LegT")]
        ratios = [both[0][key] / both[1][key] for key in both[0]]
        return [
            Verdict(
                "The construction works for LegS too (Prop. 3).",
                all(factor < 10 for factor in ratios),
                f"Over the second half its MSE is {number(min(ratios))} to {number(max(ratios))} times that of LegT; "
                f"it is smaller in {sum(factor < 1 for factor in ratios)} of {len(ratios)} cells.",
                condition="the pole of its rule at k = N²/2 is stepped over, and C carries the minus sign.",
            )
        ]

    def slips(self, result: Result) -> list[Slip]:
        details = result["details"]
        near = np.abs(np.array(details["k"]) - 65**2 / 2) < 20
        worst = {n: float(np.array(details["curves"][f"{n} 65"])[near].max()) for n in (PRINTED, HANDLED, EULER)}
        plus, minus = details["constant"]
        return [
            Slip(
                "The bilinear rule for C and D “works for all HiPPO LegT, LegS and FouT” (App. C.1).",
                "It has a pole at D·Δt = 2: at N²Δt/θ = 2 for LegT, and for LegS always, at sample k = N²/2.",
                f"LegS, N = 65, White Signal γ = 1: largest mean error near k = 2112 is {number(worst[PRINTED])} as "
                f"printed, {number(worst[HANDLED])} when the last value is repeated near the pole, and "
                f"{number(worst[EULER])} with forward Euler.",
            ),
            Slip(
                "Prop. 3 has $C_j = ∑_k A_{kj} p_k(t, t) / t$ for LegS.",
                "The state obeys $ẋ = (-A x + B u)/t$, so C carries a minus sign, which the proof leaves out.",
                f"The slope of the constant 1 per sample, after 1 000 samples, N = 33, comes out as {number(plus)} as "
                f"printed and as {number(minus)} with the minus sign.",
            ),
        ]


def constant(order: int = 33, count: int = 1000) -> list[float]:
    """Size of the slope of the constant 1 after `count` samples: with C as printed, and with its minus sign."""
    system = next_value(legs(order), dt=1.0)
    _, state = run(system, np.ones(count), engine="scan")
    return [abs(float(-system.C @ state.x) + system.D) / count, abs(float(system.C @ state.x) + system.D) / count]


def predictions(order: int, u: Array, everything: bool) -> dict[str, Array]:
    """The package's predictions and, if asked for, those as printed and with forward Euler until k = N²."""
    system = next_value(legs(order), dt=1.0)
    handled, _ = run(system, u, engine="scan")
    if not everything:
        return {HANDLED: handled}
    counts = np.arange(1, u.shape[-1] + 1)
    # An even order would put a sample on the pole itself and divide by zero; the orders here are odd.
    gain = 1 - order**2 / (2 * counts)
    slope = (handled - u) * gain
    near = np.flatnonzero(np.abs(gain) < NEAR_POLE)
    _, state = run(system, u[:, : near[0]], engine="scan")
    for k in near:
        _, state = run(system, u[:, k : k + 1], engine="scan", state=state)
        slope[:, k] = (state.x @ system.C + system.D * u[:, k]) / counts[k]
    printed = u + slope / gain
    return {HANDLED: handled, PRINTED: printed, EULER: np.where(counts <= order**2, u + slope, printed)}
