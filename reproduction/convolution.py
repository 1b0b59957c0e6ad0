"""Open question: a short convolution before the SSM, constructed and trained, on and off."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from prophecy import run
from prophecy.evaluation import mean_squared_error
from reproduction import paper, style, trained_runs
from reproduction.framework import Ask, Cell, Json, OpenQuestion, Outcome, Picture, Result, Table, Unit, Verdict
from reproduction.rows import number, row
from reproduction.trained_runs import GPU, SHORT, cell, datasets, stats

ORDER = 33
TAPS = (1, 2, 3, 4)
"""Values the constructed convolution extrapolates from; 1 repeats the last, 2 draws a line."""
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
        trained_runs.torch_for(self.name)
        return {"order": ORDER, "plan": asdict(_plan(ask))}

    def units(self, ask: Ask) -> list[Unit]:
        return [*paper.function_units(paper.CELLS, self.size(ask), 20), Unit("short run", {})]

    def compute(self, ask: Ask, unit: Unit) -> Json:
        if unit.name != "short run":
            u = paper.unit_signal(ask, unit)
            return {name: mean_squared_error(u, y).tolist() for name, y in constructed(u).items()}
        trained_runs.torch_for(self.name)
        from reproduction.trained import readouts

        with trained_runs.one_thread(self.name):
            chosen = [v for v in readouts.VARIANTS["radians"] if v.name in SHORT_VARIANTS]
            return readouts.train(_plan(ask), "radians", [0], ask.device, chosen)

    def gather(self, ask: Ask, parts: Mapping[str, Json]) -> Outcome:
        rows = []
        for dataset, parameter in paper.CELLS:
            found = paper.joined({k: v for k, v in parts.items() if k != "short run"}, dataset, parameter)
            for name, values in found.items():
                rows.append(row(dataset, parameter, name, ORDER, "mse", values))
        stored = trained_runs.committed("readouts-radians")
        runs = {SHORT: parts["short run"], **({GPU: stored} if stored is not None else {})}
        kept = ("plan", "variants", "history", "device", "versions", "seconds", "seeds", "taps", "note")
        return Outcome(rows, {"runs": {n: {k: r[k] for k in kept if k in r} for n, r in runs.items()}})

    def pictures(self, result: Result) -> list[Picture]:
        runs = result["details"]["runs"]
        name = GPU if GPU in runs else SHORT
        return [
            Picture(
                "convolution",
                "Left: mean squared error divided by that of Eq. (5) alone, on the signals of Table 1: taps that "
                "extrapolate alone (open) and with LegT on what they leave (filled). Right: mean absolute error with a "
                f"trained convolution over that without, {name}: {trained_runs.origin(runs[name])}; above 1 it hurts.",
                lambda: _draw(result),
                "Left, adding taps lowers the error by many orders of magnitude, with or without the SSM. Right, "
                "trained convolutions change the error by a factor of about 1 to 4, mostly upwards.",
            )
        ]

    def tables(self, result: Result) -> list[Table]:
        rows = result["rows"]
        names = list(dict.fromkeys(r["method"] for r in rows))
        first: list[list[Cell | str]] = []
        for dataset, parameter in dict.fromkeys((r["dataset"], r["parameter"]) for r in rows):
            found = {r["method"]: r["mean"] for r in rows if (r["dataset"], r["parameter"]) == (dataset, parameter)}
            least = min(found.values())
            first.append(
                [
                    f"{dataset} {parameter}",
                    *(Cell(number(found[n]), "best" if found[n] == least else "") for n in names),
                ]
            )
        second: list[list[Cell | str]] = []
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
        signals = list(dict.fromkeys((r["dataset"], r["parameter"]) for r in rows))
        mean = {(r["dataset"], r["parameter"], r["method"]): r["mean"] for r in rows}
        gains = {f"{d} {p}": mean[d, p, "Eq. (5)"] / mean[d, p, "2 taps + LegT"] for d, p in signals}
        alone = {f"{d} {p}": mean[d, p, "2 taps"] / mean[d, p, "2 taps + LegT"] for d, p in signals}
        runs = result["details"]["runs"]
        run = runs[GPU if GPU in runs else SHORT]
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
                True if helped == len(ratios) else (None if helped else False),
                f"With four trained taps the error is lower in {helped} of {len(ratios)} comparisons; it is "
                f"{number(min(ratios.values()))} to {number(max(ratios.values()))} times that without.",
            ),
        ]


def taps(count: int) -> paper.Array:
    """Weights of u[k], u[k-1], … that extrapolate the polynomial through `count` values by one sample.

    >>> taps(2), taps(3)
    (array([ 2., -1.]), array([ 3., -3.,  1.]))
    """
    return np.array([(-1.0) ** i * math.comb(count, i + 1) for i in range(count)])


def extrapolated(u: paper.Array, count: int) -> paper.Array:
    """y[:, k] predicts u[:, k + 1] by the polynomial through the last `count` values; the first is repeated before."""
    padded = np.concatenate([np.repeat(u[:, :1], count - 1, axis=1), u], axis=1)
    length = u.shape[1]
    return np.asarray(
        sum(w * padded[:, count - 1 - i : count - 1 - i + length] for i, w in enumerate(taps(count))), dtype=np.float64
    )


def constructed(u: paper.Array) -> dict[str, paper.Array]:
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


def _plan(ask: Ask) -> Any:
    from reproduction.trained import common

    if ask.full:
        return common.FULL
    steps, scored = trained_runs.shortened(ask, common.SHORT.steps, common.SHORT.functions)
    return replace(common.SHORT, steps=steps, functions=scored)


def _draw(result: Result) -> Any:
    rows, runs = result["rows"], result["details"]["runs"]
    run_ = runs[GPU if GPU in runs else SHORT]
    figure, (left, right) = style.figure(1, 2, height=4.2, gridspec_kw={"width_ratios": [1.5, 1]})
    signals = list(dict.fromkeys((r["dataset"], r["parameter"]) for r in rows))
    mean = {(r["dataset"], r["parameter"], r["method"]): r["mean"] for r in rows}
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
    figure.legend(*left.get_legend_handles_labels(), ncols=4, loc="outside upper center", fontsize=9)
    return figure
