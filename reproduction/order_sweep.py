"""Fig. 1b and 1c: error of LegT and FouT against N = 1, 6, …, 96, on Filtered Noise and on White Signal."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from prophecy import baselines
from prophecy.evaluation import mean_absolute_error
from reproduction import paper, style
from reproduction.framework import Ask, Cell, Experiment, Json, Outcome, Picture, Result, Table, Unit, Verdict
from reproduction.rows import number, ratio, row

ORDERS = tuple(range(1, 97, 5))
FIT = 0.1
"""A saturated curve may not fall by more than this from N = 66 to 96."""
RISE = 0.002
"""A rise smaller than this is no rise: N = 1 and copying differ by as much."""


class OrderSweep(Experiment):
    """Mean absolute error of LegT and FouT (twice) for N = 1, 6, …, 96, with copying for comparison."""

    functions = 1000
    dataset: str
    parameters: tuple[float, ...]
    symbol: str
    easiest_first: tuple[float, ...]

    def settings(self, ask: Ask) -> dict[str, Json]:
        return {"orders": "1, 6, …, 96 (FouT: the next odd number)"}

    def units(self, ask: Ask) -> list[Unit]:
        return paper.function_units([(self.dataset, p) for p in self.parameters], self.size(ask), 50)

    def compute(self, ask: Ask, unit: Unit) -> Json:
        u = paper.unit_signal(ask, unit)
        values = {"copy|0": mean_absolute_error(u, baselines.copy(u)).tolist()}
        for method in paper.BASES:
            for order in ORDERS:
                values[paper.label(method, order)] = mean_absolute_error(u, paper.predict(method, order, u)).tolist()
        return values

    def gather(self, ask: Ask, parts: Mapping[str, Json]) -> Outcome:
        rows = []
        for parameter in self.parameters:
            values = paper.joined(parts, self.dataset, parameter)
            rows.append(row(self.dataset, parameter, "copy", None, "mae", values["copy|0"]))
            for method in paper.BASES:
                for order in ORDERS:
                    sample = values[paper.label(method, order)]
                    rows.append(row(self.dataset, parameter, method, order, "mae", sample))
        return Outcome(rows)

    def pictures(self, result: Result) -> list[Picture]:
        return [
            Picture(
                self.name,
                f"Mean absolute error against the number of states, mean ± std over {result['functions']} functions. "
                "Dashed: copying the last value; note where each curve crosses it. Bands that would reach below a "
                "tenth of the mean are cut there, for the logarithmic axis.",
                lambda: _draw(result["rows"], self.dataset, self.parameters),
                f"Error against the number of states on a log scale, one panel per parameter of {self.dataset[:-4]}; "
                "LegT falls below copying, both FouT less so.",
            )
        ]

    def tables(self, result: Result) -> list[Table]:
        lines: list[list[Cell | str]] = []
        late = ORDERS.index(66)
        for parameter in self.parameters:
            copying = _copying(result["rows"], parameter)
            for method in paper.BASES:
                values = curve(result["rows"], method, parameter)
                best = int(np.argmin(values))
                factors = (values[0] / copying, values[best] / copying, values[-1] / copying)
                lines.append(
                    [
                        f"{self.symbol} = {parameter:g}",
                        {"FouT": "FouT, right"}.get(method, method),
                        ratio(factors[0]),
                        Cell(ratio(factors[1]), "good" if factors[1] < 1 - FIT else "bad"),
                        str(ORDERS[best]),
                        ratio(factors[2]),
                        ratio(values[-1] / values[late]),
                    ]
                )
        header = ["signal", "method", "N = 1", "best N", "which is", "N = 96", "N = 96 / N = 66"]
        caption = (
            "Mean absolute error divided by that of copying. Green: at least 10 % better than copying at its best."
        )
        return [Table(caption, header, lines)]

    def verdicts(self, result: Result) -> list[Verdict]:
        curves = {
            (method, parameter): curve(result["rows"], method, parameter)
            for method in paper.BASES
            for parameter in self.parameters
        }
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


def _copying(rows: list[dict[str, Any]], parameter: float) -> float:
    return float(next(line["mean"] for line in rows if line["method"] == "copy" and line["parameter"] == parameter))


def curve(rows: list[dict[str, Any]], method: str, parameter: float) -> list[float]:
    """Mean error at every order."""
    found = {line["order"]: line["mean"] for line in rows if (line["method"], line["parameter"]) == (method, parameter)}
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
        True if len(done) == len(parameters) else (None if done else False),
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
        True if count == len(fourier) else (None if count else False),
        f"{count} of {len(fourier)} FouT curves rise by more than {100 * RISE:g} % before they fall; the most is "
        f"{100 * (most - 1):.1f} %. With the settings that reproduce the tables FouT starts as a copy and improves at "
        f"once, as printed to {', '.join(map(ratio, falls))} of it. The page fout-search tries other settings.",
    )


def _starts_by_copying(rows: list[dict[str, Any]], parameters: tuple[float, ...], symbol: str, on: str) -> Verdict:
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


def _draw(rows: list[dict[str, Any]], dataset: str, parameters: tuple[float, ...]) -> Any:
    figure, axes = style.figure(1, len(parameters), height=4.0)
    for axis, parameter in zip(axes, parameters, strict=True):
        axis.set_yscale("log")
        group = [line for line in rows if line["parameter"] == parameter]
        copying = _copying(rows, parameter)
        axis.axhline(copying, color=style.COLOURS["copy"], linestyle="--", linewidth=1.4, label="copy")
        for method in ("FouT as printed", "FouT", "LegT"):
            lines = [line for line in group if line["method"] == method]
            style.band(
                axis,
                [line["order"] for line in lines],
                [line["mean"] for line in lines],
                [line["std"] or 0.0 for line in lines],
                style.COLOURS[method],
                marker=style.MARKERS[method],
                label={"FouT": "FouT, right"}.get(method, method),
            )
        axis.set(title=f"{dataset} {parameter:g}", xlabel="states N", xlim=(0, 97))
        style.plain_ticks(axis)
    axes[0].set_ylabel("mean absolute error")
    figure.legend(*axes[0].get_legend_handles_labels(), ncols=4, loc="outside upper center")
    return figure
