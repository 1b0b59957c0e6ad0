"""Fig. 1b and 1c: error of LegT and FouT against N = 1, 6, …, 96, on Filtered Noise and on White Signal."""

import itertools
from typing import Any

import numpy as np

from prophecy.evaluation import mean_absolute_error
from reproduction import baselines, paper, style
from reproduction.framework import Ask, Cell, Experiment, Line, Outcome, Result, Table, Unit, Verdict
from reproduction.rows import Json, Parts, Rows, held, means, number, ratio

ORDERS = tuple(range(1, 97, 5))
SHOWN = {"FouT": "FouT, right"}  # as a name
FIT = 0.1  # a saturated curve may not fall by more than this from N = 66 to 96
RISE = 0.002  # a rise smaller than this is no rise: N = 1 and copying differ by as much


class OrderSweep(Experiment):
    functions = 1000
    given = (("orders", "1, 6, …, 96 (FouT: the next odd number)"),)
    dataset: str
    parameters: tuple[float, ...]
    symbol: str
    easiest_first: tuple[float, ...]

    def units(self, ask: Ask) -> list[Unit]:
        return paper.function_units([(self.dataset, p) for p in self.parameters], self.size(ask), 50)

    def compute(self, ask: Ask, unit: Unit) -> Json:
        u = paper.unit_signal(ask, unit)
        values = {paper.label("copy", None): mean_absolute_error(u, baselines.copy(u)).tolist()}
        for method, order in itertools.product(paper.BASES, ORDERS):
            values[paper.label(method, order)] = mean_absolute_error(u, paper.predict(method, order, u)).tolist()
        return values

    def gather(self, ask: Ask, parts: Parts) -> Outcome:
        return Outcome(paper.models([(self.dataset, p) for p in self.parameters], parts, "mae"))

    caption = (
        "Mean absolute error against the number of states, mean ± std over {functions} functions. Dashed: copying the "
        "last value; note where each curve crosses it. Bands that would reach below a tenth of the mean are cut "
        "there, for the logarithmic axis."
    )
    alt = (
        "Error against the number of states on a log scale, one panel per parameter of the signal; LegT falls below "
        "copying, both FouT less so."
    )

    def draw(self, result: Result) -> Any:
        rows, dataset, parameters = result["rows"], self.dataset, self.parameters
        figure, axes = style.figure(1, len(parameters), height=4.0)
        for axis, parameter in zip(axes, parameters, strict=True):
            axis.set_yscale("log")
            group = [line for line in rows if line["parameter"] == parameter]
            copying = _copying(rows, parameter)
            axis.axhline(copying, color=style.COLOURS["copy"], linestyle="--", linewidth=1.4, label="copy")
            for method in ("FouT as printed", "FouT", "LegT"):
                lines = [line for line in group if line["method"] == method]
                orders, heights = [line["order"] for line in lines], [line["mean"] for line in lines]
                look = {"marker": style.MARKERS[method], "label": SHOWN.get(method, method)}
                style.band(axis, orders, heights, [line["std"] or 0.0 for line in lines], style.COLOURS[method], **look)
            axis.set(title=f"{dataset} {parameter:g}", xlabel="states N", xlim=(0, 97))
            style.plain_ticks(axis)
        axes[0].set_ylabel("mean absolute error")
        return style.legended(figure, axes[0], 4)

    def tables(self, result: Result) -> list[Table]:
        lines: list[Line] = []
        late = ORDERS.index(66)
        for parameter in self.parameters:
            copying = _copying(result["rows"], parameter)
            for method in paper.BASES:
                values = curve(result["rows"], method, parameter)
                best = int(np.argmin(values))
                first, least, last = (values[i] / copying for i in (0, best, -1))
                line: Line = [f"{self.symbol} = {parameter:g}", SHOWN.get(method, method), ratio(first)]
                line += [Cell(ratio(least), "good" if least < 1 - FIT else "bad"), str(ORDERS[best])]
                lines.append([*line, ratio(last), ratio(values[-1] / values[late])])
        header = ["signal", "method", "N = 1", "best N", "which is", "N = 96", "N = 96 / N = 66"]
        caption = (
            "Mean absolute error divided by that of copying. Green: at least 10 % better than copying at its best."
        )
        return [Table(caption, header, lines)]

    def verdicts(self, result: Result) -> list[Verdict]:
        curves = {(method, p): curve(result["rows"], method, p) for method in paper.BASES for p in self.parameters}
        on = self.dataset.rsplit(maxsplit=2)[0]
        return [
            _saturates(curves, self.parameters, self.symbol, on),
            _worsens_then_improves(curves, self.parameters, on),
            _starts_by_copying(result["rows"], self.parameters, self.symbol, on),
            _easier(curves, self.easiest_first, self.symbol),
        ]


class FigOrderFiltered(OrderSweep):
    name = "fig-order-filtered"
    title = "Error against the order: Filtered Noise"
    reference = "Fig. 1b"
    place = 20
    dataset = paper.FILTERED
    parameters = (0.05, 0.1, 0.3)
    easiest_first = (0.3, 0.1, 0.05)
    symbol = "α"


class FigOrderWhite(OrderSweep):
    name = "fig-order-white"
    title = "Error against the order: White Signal"
    reference = "Fig. 1c"
    place = 30
    dataset = paper.WHITE
    parameters = easiest_first = (1.0, 2.0, 5.0)
    symbol = "γ"


def _copying(rows: Rows, parameter: float) -> float:
    return means(rows, "parameter", method="copy")[parameter]


def curve(rows: Rows, method: str, parameter: float) -> list[float]:
    found = means(rows, "order", method=method, parameter=parameter)
    return [found[order] for order in ORDERS]


def _saturates(
    curves: dict[tuple[str, float], list[float]], parameters: tuple[float, ...], symbol: str, on: str
) -> Verdict:
    late = ORDERS.index(66)
    done, told = [], []
    for p in parameters:
        values = curves["LegT", p]
        best = int(np.argmin(values))
        gain, change = values[best] / values[0], values[-1] / values[late]
        if gain >= 1 - FIT:
            told.append(f"{symbol} = {p:g}: no gain, no N is more than {100 * FIT:g} % better than N = 1")
        elif change <= 1 - FIT:
            told.append(f"{symbol} = {p:g}: still falling at N = 66, to {ratio(change)} of that by N = 96")
        else:
            done.append(p)
            told.append(
                f"{symbol} = {p:g}: yes, {number(gain)} of the error of N = 1 at its best (N = {ORDERS[best]}), then "
                f"× {ratio(change)} from N = 66 to 96"
            )
    return Verdict(
        f"On {on}, LegT gains from a larger state up to a certain N, after which there is minimal to no further "
        "benefit (Sec. 4).",
        held(len(done), len(parameters)),
        "; ".join(told) + ".",
    )


def first_rise(values: list[float]) -> tuple[float, int, float]:
    """How far a curve rises above its first value before its minimum, where, and how far it falls after that."""
    array = np.array(values)
    peak = int(array[: int(array.argmin()) + 1].argmax())
    return float(array[peak] / array[0]), ORDERS[peak], float(array.min() / array[peak])


def _worsens_then_improves(
    curves: dict[tuple[str, float], list[float]], parameters: tuple[float, ...], on: str
) -> Verdict:
    rises = {(m, p): first_rise(curves[m, p])[0] for m in paper.BASES for p in parameters}
    fourier = [key for key in rises if key[0] != "LegT"]
    count = sum(rises[key] > 1 + RISE for key in fourier)
    most = max(rises[key] for key in fourier)
    falls = [min(curves["FouT as printed", p]) / curves["FouT as printed", p][0] for p in parameters]
    return Verdict(
        f"On {on}, FouT first worsens as N grows, then improves (Sec. 4).",
        held(count, len(fourier)),
        f"{count} of {len(fourier)} FouT curves rise by more than {100 * RISE:g} % before they fall; the most is "
        f"{100 * (most - 1):.1f} %. With the settings that reproduce the tables FouT starts as a copy and improves at "
        f"once, as printed to {', '.join(map(ratio, falls))} of it. The page fout-search tries other settings.",
    )


def _starts_by_copying(rows: Rows, parameters: tuple[float, ...], symbol: str, on: str) -> Verdict:
    ratios = [curve(rows, "FouT as printed", p)[0] / _copying(rows, p) for p in parameters]
    listed = ", ".join(f"{value:.3f} ({symbol} = {p:g})" for value, p in zip(ratios, parameters, strict=True))
    return Verdict(
        f"On {on}, FouT essentially copies its input for low N (Sec. 4).",
        all(abs(value - 1) < 0.05 for value in ratios),
        f"At N = 1 its error divided by that of copying is {listed}.",
    )


def _easier(curves: dict[tuple[str, float], list[float]], easiest_first: tuple[float, ...], symbol: str) -> Verdict:
    pairs = list(itertools.pairwise(easiest_first))
    factors = [
        curves[method, rough][index] / curves[method, smooth][index]
        for method in paper.BASES
        for smooth, rough in pairs
        for index in range(len(ORDERS))
    ]
    return Verdict(
        f"Less high-frequency content is easier: {symbol} = " + ", ".join(f"{p:g}" for p in easiest_first) + " in "
        "order.",
        all(factor > 1 for factor in factors),
        f"{sum(factor > 1 for factor in factors)} of {len(factors)} comparisons between neighbours (every method and "
        f"N) agree; the closest differ by a factor of {ratio(min(factors))}.",
    )
