"""Error against the order N (Fig. 1b and 1c): what the two pages share."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from prophecy import baselines
from prophecy.evaluation import mean_absolute_error
from prophecy.reproduce import paper
from prophecy.reproduce.framework import Ask, Experiment, Json, Outcome, Picture, Result, Unit, Verdict, number, row

ORDERS = tuple(range(1, 97, 5))
FIT = 0.1
"""A saturated curve may not fall by more than this from N = 66 to 96."""
RISE = 0.002
"""A rise smaller than this is no rise: N = 1 and copying differ by as much."""


class OrderSweep(Experiment):
    """Mean absolute error of LegT and FouT (twice) for N = 1, 6, …, 96, with copying for comparison."""

    functions = 1000
    modules = ("reproduce/paper", "reproduce/order_sweep")
    dataset: str
    parameters: tuple[float, ...]
    symbol: str
    easiest_first: tuple[float, ...]

    def settings(self, ask: Ask) -> dict[str, Json]:
        return {"orders": "1, 6, …, 96 (FouT: the next odd number)"}

    def units(self, ask: Ask) -> list[Unit]:
        return paper.function_units({self.dataset: self.parameters}, self.size(ask), 50)

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
                "Dashed: copying the last value. Note where each curve crosses it.",
                lambda: _draw(result["rows"], self.dataset, self.parameters),
            )
        ]

    def verdicts(self, result: Result) -> list[Verdict]:
        curves = {
            (method, parameter): curve(result["rows"], method, parameter)
            for method in paper.BASES
            for parameter in self.parameters
        }
        return [
            _saturates(curves, self.parameters, self.symbol),
            _worsens_then_improves(curves, self.parameters, self.symbol),
            _starts_by_copying(result["rows"], self.parameters, self.symbol),
            _easier(curves, self.easiest_first, self.symbol),
        ]


def curve(rows: list[dict[str, Any]], method: str, parameter: float) -> list[float]:
    """Mean error at every order."""
    found = {line["order"]: line["mean"] for line in rows if (line["method"], line["parameter"]) == (method, parameter)}
    return [found[order] for order in ORDERS]


def _saturates(curves: dict[tuple[str, float], list[float]], parameters: tuple[float, ...], symbol: str) -> Verdict:
    late = ORDERS.index(66)
    change = {p: curves["LegT", p][-1] / curves["LegT", p][late] for p in parameters}
    best = {p: int(np.argmin(curves["LegT", p])) for p in parameters}
    gain = {p: curves["LegT", p][best[p]] / curves["LegT", p][0] for p in parameters}
    done = [p for p in parameters if change[p] > 1 - FIT and gain[p] < 1 - FIT]
    listed = "; ".join(
        f"{symbol} = {p:g}: {number(gain[p])} times the error of N = 1 at its best (N = {ORDERS[best[p]]}), and "
        f"× {number(change[p])} from N = 66 to 96"
        for p in parameters
    )
    return Verdict(
        "LegT gains from a larger state up to a certain N, after which there is minimal to no further benefit (Sec. "
        "4).",
        True if len(done) == len(parameters) else (None if done else False),
        listed
        + ". Where the first number is near 1, LegT cannot follow the signal at any N tried; where the second is "
        "below 1, it had not reached its plateau at N = 66.",
    )


def first_rise(values: list[float]) -> tuple[float, int, float]:
    """How far a curve rises above its first value before its minimum, where, and how far it falls after that."""
    array = np.array(values)
    peak = int(array[: int(array.argmin()) + 1].argmax())
    return float(array[peak] / array[0]), ORDERS[peak], float(array.min() / array[peak])


def _worsens_then_improves(
    curves: dict[tuple[str, float], list[float]], parameters: tuple[float, ...], symbol: str
) -> Verdict:
    rises = {(m, p): first_rise(curves[m, p]) for m in paper.BASES for p in parameters}
    fourier = [key for key in rises if key[0] != "LegT"]
    count = sum(rises[key][0] > 1 + RISE for key in fourier)
    most = max(rises[key][0] for key in fourier)
    falls = ", ".join(
        f"{number(min(curves['FouT as printed', p]) / curves['FouT as printed', p][0])}" for p in parameters
    )
    legendre = ", ".join(f"{100 * (rises['LegT', p][0] - 1):.1f} % ({symbol} = {p:g})" for p in parameters)
    return Verdict(
        "FouT first worsens as N grows, then improves (Sec. 4).",
        True if count == len(fourier) else (None if count else False),
        f"{count} of {len(fourier)} FouT curves rise by more than {100 * RISE:g} % before they fall (at most "
        f"{100 * (most - 1):.1f} %): with the settings that reproduce the tables FouT starts as a copy and improves at "
        f"once, to {falls} of it as printed. The curve that rises before it falls, if any, is LegT's: by {legendre}.",
    )


def _starts_by_copying(rows: list[dict[str, Any]], parameters: tuple[float, ...], symbol: str) -> Verdict:
    ratios = []
    for p in parameters:
        copying = next(r["mean"] for r in rows if r["method"] == "copy" and r["parameter"] == p)
        ratios.append(curve(rows, "FouT as printed", p)[0] / copying)
    close = all(abs(ratio - 1) < 0.05 for ratio in ratios)
    listed = ", ".join(f"{ratio:.3f} ({symbol} = {p:g})" for ratio, p in zip(ratios, parameters, strict=True))
    return Verdict(
        "For low N, FouT essentially copies its input (Sec. 4).",
        close,
        f"At N = 1 its error divided by that of copying is {listed}.",
    )


def _easier(curves: dict[tuple[str, float], list[float]], easiest_first: tuple[float, ...], symbol: str) -> Verdict:
    pairs = list(itertools.pairwise(easiest_first))
    ratios = [
        curves[method, rough][index] / curves[method, smooth][index]
        for method in paper.BASES
        for smooth, rough in pairs
        for index in range(len(ORDERS))
    ]
    return Verdict(
        f"Less high-frequency content is easier: {symbol} = " + ", ".join(f"{p:g}" for p in easiest_first) + " in "
        "order.",
        all(ratio > 1 for ratio in ratios),
        f"{sum(ratio > 1 for ratio in ratios)} of {len(ratios)} comparisons between neighbours (every method and N) "
        f"agree; the closest differ by a factor of {number(min(ratios))}.",
    )


def _draw(rows: list[dict[str, Any]], dataset: str, parameters: tuple[float, ...]) -> Any:
    from prophecy.reproduce import style

    # White Signals differ by what LegT makes of them, which one scale shows; Filtered Noise mostly by its size.
    figure, axes = style.figure(1, len(parameters), height=4.0, sharey=dataset == paper.WHITE)
    for axis, parameter in zip(axes, parameters, strict=True):
        axis.set_yscale("log")
        group = [line for line in rows if line["parameter"] == parameter]
        copying = next(line["mean"] for line in group if line["method"] == "copy")
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
    axes[0].set_ylabel("mean absolute error")
    figure.legend(*axes[0].get_legend_handles_labels(), ncols=4, loc="outside upper center")
    return figure
