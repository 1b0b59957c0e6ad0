"""Open question: a short convolution before the SSM, constructed and trained, on and off."""

import math
from dataclasses import asdict
from typing import Any

import numpy as np

from prophecy import run
from prophecy.evaluation import mean_squared_error
from reproduction import paper, style, trained_runs
from reproduction.framework import Ask, Line, OpenQuestion, Outcome, Result, Table, Unit, Verdict, marked
from reproduction.rows import Array, Json, Parts, distinct, held, joined, means, named, number, row
from reproduction.trained_runs import GPU, SHORT, cell, datasets, stats

ORDER = 33
TAPS = (1, 2, 3, 4)  # values the constructed convolution extrapolates from; 1 repeats the last, 2 draws a line
PAIRS = {
    "I": "I, convolution",
    "I, rate 2e-5": "I, convolution, rate 2e-5",
    "III": "III, convolution",
    "copy start": "copy start, convolution",
}
"""Trained without and with a convolution of four taps."""
SHORT_VARIANTS = ("I", "I, convolution", "copy start", "copy start, convolution")


class Convolution(OpenQuestion):
    name = "convolution"
    title = "What does a short convolution before the SSM do?"
    reference = "Sec. 5; Mamba, H3"
    place = 154
    functions = 20
    torch = True
    given = (("order", ORDER),)
    data = (f"{trained_runs.FOLDER}/readouts-radians.json",)
    question = (
        "Mamba and its kin put a convolution over a few samples before the SSM. Trained Markov chains needed it more "
        "than the gate. Does it help to predict dynamical systems, constructed or trained?"
    )
    method = (
        "Constructed: T taps extrapolate the polynomial through the last T values; LegT with Eq. (5), N = 33, predicts "
        "what the taps leave over, and both are added. Without taps: Eq. (5). Taps alone: no SSM.",
        "One tap is copying, two a straight line; weights $(-1)^i$ binomial(T, i + 1), exact for degree T − 1.",
        "Trained: the runs of Fig. 1d with a convolution of four taps before the layer, started at the identity, "
        "its weights trained along with C and D (GPU, 8 000 steps, three seeds), against the same run without.",
        "Data: the six signals of Table 1 for the constructed, the authors' mixture and hold-outs for the trained.",
        "Measured: one-step errors over the second half, with and without.",
    )
    doubts = (
        "Everything before the readout is linear here, so a convolution adds no function the state cannot already "
        "hold; "
        "it can only help where the state is a poor record of the last few samples, as with LegT over a long window. A "
        "gain from taps over a memory with a short window, or behind a non-linearity, would change the picture."
    )

    def settings(self, ask: Ask) -> dict[str, Json]:
        return super().settings(ask) | {"plan": asdict(trained_runs.plan(ask))}

    def units(self, ask: Ask) -> list[Unit]:
        return [*paper.function_units(paper.CELLS, self.size(ask), 20), Unit("short run", {})]

    def compute(self, ask: Ask, unit: Unit) -> Json:
        if unit.name != "short run":
            u = paper.unit_signal(ask, unit)
            return {name: mean_squared_error(u, y).tolist() for name, y in constructed(u).items()}
        return trained_runs.readouts(ask, SHORT_VARIANTS)

    def gather(self, ask: Ask, parts: Parts) -> Outcome:
        rows = [
            row(*cell, name, ORDER, "mse", values)
            for cell in paper.CELLS
            for name, values in joined(parts, named(*cell)).items()
        ]
        runs = {SHORT: parts["short run"], GPU: trained_runs.committed("readouts-radians")}
        kept = ("plan", "variants", "history", "device", "versions", "seconds", "seeds", "taps", "note")
        return Outcome(rows, {"runs": {n: {k: r[k] for k in kept if k in r} for n, r in runs.items()}})

    caption = (
        "Left: mean squared error divided by that of Eq. (5) alone, on the signals of Table 1: taps that extrapolate "
        "alone (open) and with LegT on what they leave (filled). Right: mean absolute error with a trained "
        f"convolution over that without, {GPU}: {{told}}; above 1 it hurts."
    )
    alt = (
        "Left, adding taps lowers the error by many orders of magnitude, with or without the SSM. Right, trained "
        "convolutions change the error by a factor of about 1 to 4, mostly upwards."
    )

    def told(self, result: Result) -> str:
        return trained_runs.origin(result["details"]["runs"][GPU])

    def draw(self, result: Result) -> Any:
        rows, runs = result["rows"], result["details"]["runs"]
        run_ = runs[GPU]
        figure, (left, right) = style.figure(1, 2, height=4.2, gridspec_kw={"width_ratios": [1.5, 1]})
        signals, mean = paper.CELLS, means(rows, "dataset", "parameter", "method")
        left.axhline(1.0, color=style.COLOURS["LegT"], linewidth=1.4, label="Eq. (5)")
        for count, colour, shift in zip(TAPS[1:], style.SEQUENCE[1:], (-0.2, 0.0, 0.2), strict=False):
            for ending, face in (("", "white"), (" + LegT", colour)):
                heights = [mean[d, p, f"{count} taps{ending}"] / mean[d, p, "Eq. (5)"] for d, p in signals]
                options = {"color": colour, "markerfacecolor": face, "markersize": 7, "label": f"{count} taps{ending}"}
                left.plot(np.arange(len(signals)) + shift, heights, "o", **options)
        names = [f"{d.split()[0]}\n{p:g}" for d, p in signals]
        left.set_xticks(range(len(signals)), names, fontsize=9)
        left.set(yscale="log", ylabel="MSE / MSE of Eq. (5)", title="Constructed")
        right.axhline(1.0, color=style.MUTED, linewidth=1)
        sets = datasets(run_)
        for (without, with_taps), colour in zip(PAIRS.items(), style.SEQUENCE, strict=False):
            pairs = [(stats(run_, d, with_taps), stats(run_, d, without)) for d in sets]
            heights = [a[0] / b[0] if a and b else np.nan for a, b in pairs]
            right.plot(range(len(sets)), heights, "o", color=colour, markersize=8, label=without)
        right.set_xticks(range(len(sets)), [d.split(",")[0].replace(" ", "\n", 1) for d in sets], fontsize=9)
        right.set(yscale="log", ylabel="error with / without", title="Trained")
        style.plain_ticks(right)
        right.legend(fontsize=8, loc="best")
        return style.legended(figure, left, 4, fontsize=9)

    def tables(self, result: Result) -> list[Table]:
        rows = result["rows"]
        names = distinct(rows, "method")
        first = [
            [named(d, p), *marked([*means(rows, "method", dataset=d, parameter=p).values()])] for d, p in paper.CELLS
        ]
        second: list[Line] = []
        for label, trained in result["details"]["runs"].items():
            for without, with_taps in PAIRS.items():
                for variant in (without, with_taps):
                    found_ = [stats(trained, d, variant) for d in datasets(trained)]
                    if any(f is not None for f in found_):
                        second.append([label, variant, *(cell(f) for f in found_)])
        sets = datasets(result["details"]["runs"][SHORT])
        return [
            Table("Constructed: mean squared error over the second half.", ["signal", *names], first),
            Table("Trained: mean absolute error, mean (least … most) over seeds.", ["run", "trained", *sets], second),
        ]

    def verdicts(self, result: Result) -> list[Verdict]:
        rows = result["rows"]
        mean = means(rows, "dataset", "parameter", "method")
        gains = {named(d, p): mean[d, p, "Eq. (5)"] / mean[d, p, "2 taps + LegT"] for d, p in paper.CELLS}
        alone = {named(d, p): mean[d, p, "2 taps"] / mean[d, p, "2 taps + LegT"] for d, p in paper.CELLS}
        runs = result["details"]["runs"]
        run = runs[GPU]
        ratios = {
            (without, d): stats(run, d, with_taps)[0] / stats(run, d, without)[0]
            for without, with_taps in PAIRS.items()
            for d in datasets(run)
            if stats(run, d, without) is not None and stats(run, d, with_taps) is not None
        }
        helped = sum(value < 0.98 for value in ratios.values())
        return [
            Verdict(
                "A constructed convolution before the SSM helps one step ahead.",
                all(g > 1 for g in gains.values()),
                f"Two taps, a straight line, lower the error by a factor of {number(min(gains.values()))} to "
                f"{number(max(gains.values()))}.",
            ),
            Verdict(
                "With it, the SSM still adds something.",
                True if min(alone.values()) > 1.02 else (None if max(alone.values()) > 1.02 else False),
                f"The line alone has {number(min(alone.values()))} to {number(max(alone.values()))} times the error of "
                f"line and LegT together.",
            ),
            Verdict(
                "A trained convolution helps.",
                held(helped, len(ratios)),
                f"With four trained taps the error is lower in {helped} of {len(ratios)} comparisons; it is "
                f"{number(min(ratios.values()))} to {number(max(ratios.values()))} times that without.",
            ),
        ]


def taps(count: int) -> Array:
    """Weights of u[k], u[k-1], … that extrapolate the polynomial through `count` values by one sample.

    >>> taps(2), taps(3)
    (array([ 2., -1.]), array([ 3., -3.,  1.]))
    """
    return np.array([(-1.0) ** i * math.comb(count, i + 1) for i in range(count)])


def extrapolated(u: Array, count: int) -> Array:
    """y[:, k] predicts u[:, k + 1] by the polynomial through the last `count` values; the first is repeated before."""
    padded = np.concatenate([np.repeat(u[:, :1], count - 1, axis=1), u], axis=1)
    length = u.shape[1]
    return np.asarray(
        sum(w * padded[:, count - 1 - i : count - 1 - i + length] for i, w in enumerate(taps(count))), dtype=np.float64
    )


def constructed(u: Array) -> dict[str, Array]:
    """Predictions of Eq. (5), of the taps alone, and of the taps with LegT on what they leave over."""
    system = paper.system("LegT", ORDER)
    found = {"Eq. (5)": run(system, u, engine="lifted")[0]}
    for count in TAPS[1:]:
        ahead = extrapolated(u, count)
        left = np.concatenate([np.zeros((len(u), 1)), u[:, 1:] - ahead[:, :-1]], axis=1)
        rest, _ = run(system, left, engine="lifted")
        found[f"{count} taps"] = ahead
        found[f"{count} taps + LegT"] = ahead + rest
    return found
