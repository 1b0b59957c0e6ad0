"""The authors' further signals: single sines, random-root polynomials, Brownian motions, the logistic map."""

from collections.abc import Callable
from typing import Any

import numpy as np

from prophecy import signals
from prophecy.evaluation import mean_squared_error
from reproduction import baselines, paper, style
from reproduction.framework import Ask, Experiment, Outcome, Result, Table, Unit, Verdict, marked
from reproduction.rows import Array, Json, Parts, means, number, row

SIGNALS: dict[str, Callable[..., Array]] = {
    "single sine, up to 600 rad": signals.single_sine,
    "sums of 20 sines": signals.sines,
    "Legendre sums": signals.legendre,
    "random-root polynomial": signals.root_polynomial,
    "lines": signals.linear,
    "Brownian motion": signals.brownian,
    "geometric Brownian motion": signals.geometric_brownian,
    "logistic map, rate 3.9": signals.logistic_map,
}
COPY, LINE = "copying", "line through two"
METHODS = ("LegT", "FouT as printed", "FouT")
ORDER = 65  # the larger of the tables' two


class FurtherSignals(Experiment):
    name = "further-signals"
    title = "The authors' further signals"
    reference = "In the authors' code, not in the paper"
    place = 75
    functions = 50
    given = (("order", ORDER),)
    introduction = (
        "The authors' published code also draws single sines of up to 600 radians, polynomials with random roots, "
        "Brownian and geometric Brownian motion and the logistic map. Their settings are not all known; ours: ten "
        "roots uniform in (0, 1), divided by the largest absolute value; motions of variance 1 at the end; rate 3.9. "
        "All sequences have 10 000 samples, the window is the whole of them, N = 65 as in the tables."
    )

    def units(self, ask: Ask) -> list[Unit]:
        return [Unit(name, {"signal": name}) for name in SIGNALS]

    def compute(self, ask: Ask, unit: Unit) -> Json:
        u = SIGNALS[unit.arguments["signal"]](self.size(ask), seed=ask.seed)
        value = {method: mean_squared_error(u, paper.predict(method, ORDER, u)).tolist() for method in METHODS}
        value[COPY] = mean_squared_error(u, baselines.copy(u)).tolist()
        value[LINE] = mean_squared_error(u, baselines.line(u)).tolist()
        value["shown"] = u[0, ::20].tolist()
        return value

    def gather(self, ask: Ask, parts: Parts) -> Outcome:
        rows = [
            row(name, None, method, ORDER if method in METHODS else None, "mse", parts[name][method])
            for name in SIGNALS
            for method in (*METHODS, COPY, LINE)
        ]
        return Outcome(rows, {"shown": {name: parts[name]["shown"] for name in SIGNALS}})

    caption = "One function of each kind, and below it the mean squared error of the next value over that of copying."
    alt = (
        "Eight small curves, and points of the error over copying: far below 1 on smooth signals, at or above "
        "1 on Brownian motion and the logistic map."
    )

    def draw(self, result: Result) -> Any:
        figure, axes = style.figure(2, len(SIGNALS) // 2 * 2, height=2.1, gridspec_kw={"height_ratios": [0.7, 1]})
        columns, found = len(SIGNALS), means(result["rows"], "dataset", "method")
        for place, name in enumerate(SIGNALS):
            top, bottom = axes[place], axes[columns + place]
            shown = result["details"]["shown"][name]
            top.plot(np.linspace(0, 1, len(shown)), shown, color=style.INK, linewidth=0.8)
            top.set_title(name.replace(", ", "\n").replace(" ", "\n", 1), fontsize=8)
            top.set_xticks([])
            top.set_yticks([])
            heights = [found[name, m] / found[name, COPY] for m in (*METHODS, LINE)]
            colours = [*(style.COLOURS[m] for m in METHODS), style.COLOURS["line"]]
            bottom.axhline(1.0, color=style.COLOURS["copy"], linewidth=1, linestyle="--")
            for i, (height, colour) in enumerate(zip(heights, colours, strict=True)):
                bottom.plot(i, max(height, 1e-12), "o", color=colour, markersize=6, label=(*METHODS, LINE)[i])
            bottom.set(yscale="log", ylim=(5e-13, 1e3), xlim=(-0.7, 3.7))
            bottom.set_xticks([])
            if place:
                bottom.set_yticklabels([])
        axes[columns].set_ylabel("MSE / copying")
        return style.legended(figure, axes[columns], 4, "lower center")

    def tables(self, result: Result) -> list[Table]:
        lines = [[name, *marked([*means(result["rows"], "method", dataset=name).values()])] for name in SIGNALS]
        return [Table("Mean squared error over the second half.", ["signal", *METHODS, COPY, LINE], lines)]

    def verdicts(self, result: Result) -> list[Verdict]:
        found = means(result["rows"], "dataset", "method")
        over = {name: found[name, "LegT"] / found[name, COPY] for name in SIGNALS if found[name, COPY]}
        bad = [name for name, value in over.items() if value >= 1]
        return [
            Verdict(
                "The construction predicts the next state of “any dynamical system” (abstract).",
                None if bad else True,
                f"LegT beats copying on {len(over) - len(bad)} of {len(over)} kinds. Not on "
                + ", ".join(f"{name} ({number(over[name])} times its error)" for name in bad)
                + ": the next value there is chance, no smooth function of time, or too fast for N = 65.",
            )
        ]
