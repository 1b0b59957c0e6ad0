"""Every table again, beside what anyone in the field would try first, and the floor no causal predictor can pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from prophecy import baselines, signals
from prophecy.evaluation import mean_squared_error
from reproduction import paper, style
from reproduction.beyond import FAMILIES
from reproduction.framework import Ask, Cell, Experiment, Json, Outcome, Result, Table, Unit, Verdict
from reproduction.rows import by_method, number, row

EQUATIONS: dict[str, Callable[[], paper.Array]] = {
    "Bernoulli, RK45 defaults": lambda: signals.bernoulli(tolerance=signals.SCIPY_DEFAULTS),
    "Bernoulli, exact": signals.bernoulli,
    "Van der Pol, RK45 defaults": lambda: signals.van_der_pol(tolerance=signals.SCIPY_DEFAULTS),
    "Van der Pol, exact, u(0) = −0.999": lambda: signals.van_der_pol(end=10.0, initial=-0.999),
}
SIMPLE: dict[str, Callable[[paper.Array], paper.Array]] = {"copy": baselines.copy, "line": baselines.line}
HINDSIGHT = " in hindsight"
BEST, FLOOR = "best of the paper's models", "floor"
COLUMNS = (BEST, *SIMPLE, *FAMILIES, FLOOR)
CHOSEN = (BEST, "autoregression" + HINDSIGHT, "Savitzky–Golay" + HINDSIGHT)
PRINTED = {"Bernoulli, RK45 defaults": "Bernoulli", "Van der Pol, RK45 defaults": "Van der Pol"}
"""Signals whose best cell the paper prints under this name."""


class Baselines(Experiment):
    name = "baselines"
    title = "The honest baselines"
    reference = "Tables 1 and 2, with what was left out"
    place = 110
    functions = 100
    introduction = (
        "The paper compares its two constructions with each other and with nothing else. Here are the first things "
        "anyone would try. Autoregression, Savitzky–Golay and the two filters choose their settings in context, by "
        "their own past errors; “in hindsight” is the setting that turned out best, which no honest predictor knows. "
        "The floor is the variance of what is new in each sample of Filtered Noise; the other signals are determined "
        "by their past, so their floor is rounding."
    )

    def units(self, ask: Ask) -> list[Unit]:
        equations = [Unit(name, {"equation": name}) for name in EQUATIONS]
        return paper.function_units(paper.CELLS, self.size(ask), 10) + equations

    def compute(self, ask: Ask, unit: Unit) -> Json:
        if "equation" in unit.arguments:
            u = EQUATIONS[unit.arguments["equation"]]()[None]
        else:
            u = paper.unit_signal(ask, unit)
        value = {name: mean_squared_error(u, predict(u)).tolist() for name, predict in SIMPLE.items()}
        for method in paper.BASES:
            for order in paper.ORDERS:
                value[paper.label(method, order)] = mean_squared_error(u, paper.predict(method, order, u)).tolist()
        for name, family in FAMILIES.items():
            members = family(u)
            value[name] = mean_squared_error(u, baselines.in_context(u, members.values())).tolist()
            for setting, y in members.items():
                value[f"{name}: {setting}"] = mean_squared_error(u, y).tolist()
        if unit.arguments.get("dataset") == paper.FILTERED:
            oracle = baselines.filtered_noise_oracle(u, unit.arguments["parameter"])
            value["oracle"] = mean_squared_error(u, oracle).tolist()
        return value

    def gather(self, ask: Ask, parts: Mapping[str, Json]) -> Outcome:
        rows: list[dict[str, Json]] = []
        settings: dict[str, dict[str, str]] = {}
        for dataset, parameter in paper.CELLS:
            values = paper.joined(parts, dataset, parameter)
            rows += _rows(dataset, parameter, values, settings.setdefault(f"{dataset} {parameter}", {}))
            if dataset == paper.FILTERED:
                rows.append(row(dataset, parameter, "oracle", None, "mse", values["oracle"]))
                floor = baselines.innovation_floor(parameter)
                rows.append(row(dataset, parameter, FLOOR, None, "mse", floor))
        for name in EQUATIONS:
            rows += _rows(name, None, parts[name], settings.setdefault(name, {}))
        return Outcome(rows, {"hindsight": settings})

    caption = (
        "Mean squared error one step ahead; further down is better. Left: divided by that of copying. Right: "
        "Filtered Noise again, divided by the floor."
    )
    alt = "Error over copying per signal: the line and autoregression lie orders of magnitude below the construction."

    def draw(self, result: Result) -> Any:
        rows = result["rows"]
        styles = {
            BEST: (style.COLOURS["LegT"], "o", 9),
            "line": (style.COLOURS["line"], "_", 13),
            "autoregression": (style.COLOURS["autoregression"], "s", 7),
            "Savitzky–Golay": (style.COLOURS["Savitzky–Golay"], "^", 8),
            "local trend": (style.COLOURS["local trend"], "x", 7),
        }
        figure, (left, right) = style.figure(1, 2, height=5.0, gridspec_kw={"width_ratios": [2.6, 1]})
        left.axhline(1.0, color=style.COLOURS["copy"], linestyle="--", linewidth=1.4, label="copy")
        _points(left, rows, _signals(rows), "copy", styles)
        right.axhline(1.0, color=style.COLOURS["floor"], linewidth=1.6, label="floor")
        copying = {"copy": (style.COLOURS["copy"], "D", 6)}
        _points(right, rows, [s for s in _signals(rows) if s[0] == paper.FILTERED], FLOOR, {**styles, **copying})
        right.margins(x=0.25)
        right.set(ylim=(0.7, 600))
        left.set_ylabel("MSE / MSE of copying")
        right.set_ylabel("MSE / floor")
        handles = left.get_legend_handles_labels()
        floor = [line for line in right.get_lines() if line.get_label() == "floor"]
        figure.legend(handles[0] + floor, handles[1] + ["floor"], ncols=4, loc="outside upper center")
        return figure

    def tables(self, result: Result) -> list[Table]:
        lines: list[list[Cell | str]] = []
        for dataset, parameter in _signals(result["rows"]):
            found = by_method(result["rows"], dataset, parameter)
            honest = [found[name] for name in COLUMNS if name in found and name != FLOOR]
            line: list[Cell | str] = [dataset if parameter is None else f"{dataset} {parameter}"]
            line.append(Cell(number(best_printed(dataset, parameter)), "quiet"))
            for name in COLUMNS:
                value = found.get(name)
                line.append(Cell(number(value), "best" if value == min(honest) else ""))
            lines.append(line)
        header = ["signal", "paper, best printed cell", *COLUMNS]
        caption = (
            "MSE of the next value; marked: the best honest predictor. The floor is rounding where none is shown. The "
            "paper's best cell for Van der Pol is most likely a misprint."
        )
        return [Table(caption, header, lines), _chosen(result)]

    def headline(self, result: Result) -> str:
        found = [by_method(result["rows"], *signal) for signal in _signals(result["rows"])]
        won = sum(methods["line"] < methods[BEST] for methods in found)
        return (
            f"As a predictor, though, it loses to a straight line through two points on {won} of {len(found)} signals."
        )

    def verdicts(self, result: Result) -> list[Verdict]:
        gains, lost = {}, []
        for dataset, parameter in _signals(result["rows"]):
            found = by_method(result["rows"], dataset, parameter)
            name = dataset if parameter is None else f"{dataset} {parameter}"
            gains[name] = found[BEST] / found["line"]
            if gains[name] < 1:
                lost.append(name)
        low, high = min(gains, key=lambda n: gains[n]), max(gains, key=lambda n: gains[n])
        noise = [by_method(result["rows"], *cell) for cell in paper.CELLS if cell[0] == paper.FILTERED]
        oracle, regressed = ([found[name] / found[FLOOR] for found in noise] for name in ("oracle", "autoregression"))
        return [
            Verdict(
                "The construction is a competitive one-step predictor.",
                True if len(lost) == len(gains) else (None if lost else False),
                f"A straight line through the last two samples beats the best of LegT and FouT on "
                f"{len(gains) - len(lost)} of {len(gains)} signals, by a factor of {number(gains[low])} ({low}) to "
                f"{number(gains[high])} ({high}).",
            ),
            Verdict(
                "The floor for Filtered Noise is real, and context alone comes close to it.",
                all(abs(ratio - 1) < 0.05 for ratio in oracle),
                f"A predictor that knows the process has {', '.join(f'{r:.3f}' for r in oracle)} of it for α = 0.05, "
                f"0.1, 0.3; an autoregression fitted in context {', '.join(f'{r:.2f}' for r in regressed)}.",
            ),
        ]


def _rows(
    dataset: str, parameter: float | None, values: Mapping[str, list[float]], chosen: dict[str, str]
) -> list[dict[str, Json]]:
    """One row per column; the best of the paper's models and of each family are picked by their mean over functions."""
    rows = [row(dataset, parameter, name, None, "mse", values[name]) for name in (*SIMPLE, *FAMILIES)]
    models = [paper.label(m, n) for m in paper.BASES for n in paper.ORDERS]
    options = {BEST: models}
    for family in ("autoregression", "Savitzky–Golay"):
        options[family + HINDSIGHT] = [name for name in values if name.startswith(f"{family}: ")]
    for name, members in options.items():
        best = min(members, key=lambda member: float(np.mean(values[member])))
        chosen[name] = best.split(": ")[-1].replace("|", ", N = ")
        rows.append(row(dataset, parameter, name, None, "mse", values[best]))
    return rows


def _signals(rows: list[dict[str, Any]]) -> list[tuple[str, float | None]]:
    return list(dict.fromkeys((line["dataset"], line["parameter"]) for line in rows))


def best_printed(dataset: str, parameter: float | None) -> float | None:
    """The smallest MSE the paper prints for a signal, None where it prints nothing."""
    if parameter is not None:
        return min(mean for mean, _ in paper.TABLE_SIGNALS[dataset, parameter])
    cells = paper.TABLE_ODES.get(PRINTED.get(dataset, ""))
    return None if cells is None else min(cells)


def _chosen(result: Result) -> Table:
    lines = []
    for (dataset, parameter), chosen in zip(
        _signals(result["rows"]), result["details"]["hindsight"].values(), strict=True
    ):
        found = by_method(result["rows"], dataset, parameter)
        name = dataset if parameter is None else f"{dataset} {parameter}"
        lines.append([name, *(f"{chosen[method]}: {number(found[method])}" for method in CHOSEN)])
    return Table("What turned out best, and its MSE.", ["signal", *CHOSEN], lines)


def _points(
    axis: Any,
    rows: list[dict[str, Any]],
    shown: list[tuple[str, float | None]],
    unit: str,
    styles: Mapping[str, tuple[str, str, int]],
) -> None:
    axis.set_yscale("log")
    for name, (colour, marker, size) in styles.items():
        found = [by_method(rows, dataset, parameter) for dataset, parameter in shown]
        values = [methods[name] / methods[unit] for methods in found]
        options = {"markersize": size, "markeredgewidth": 2, "label": name}
        axis.plot(range(len(shown)), values, linestyle="none", marker=marker, color=colour, **options)
    axis.set_xticks(range(len(shown)), [_short(dataset, parameter) for dataset, parameter in shown], fontsize=8)
    axis.grid(axis="x", visible=False)


def _short(dataset: str, parameter: float | None) -> str:
    if parameter is None:
        return (
            dataset.replace(", u(0) = −0.999", "")
            .replace(", ", "\n")
            .replace("RK45 defaults", "RK45")
            .replace("Van der Pol", "VdP")
        )
    return (
        dataset.replace("White Signal γ =", "White\nγ =").replace("Filtered Noise α =", "Filtered\nα =")
        + f" {parameter:g}"
    )
