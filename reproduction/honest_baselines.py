"""Every table again, beside what anyone in the field would try first, and the floor no causal predictor can pass."""

import itertools
from collections.abc import Callable, Mapping
from typing import Any

from prophecy import signals
from prophecy.evaluation import mean_squared_error
from reproduction import baselines, paper, style
from reproduction.baselines import FAMILIES
from reproduction.framework import Ask, Cell, Experiment, Line, Outcome, Result, Table, Unit, Verdict
from reproduction.rows import Array, Json, Parts, Rows, best_rows, distinct, held, joined, means, named, number, row

EQUATIONS: dict[str, Callable[[], Array]] = {
    "Bernoulli, RK45 defaults": lambda: signals.bernoulli(tolerance=signals.SCIPY_DEFAULTS),
    "Bernoulli, exact": signals.bernoulli,
    "Van der Pol, RK45 defaults": lambda: signals.van_der_pol(tolerance=signals.SCIPY_DEFAULTS),
    "Van der Pol, exact, u(0) = −0.999": lambda: signals.van_der_pol(end=10.0, initial=-0.999),
}
SIMPLE: dict[str, Callable[[Array], Array]] = {"copy": baselines.copy, "line": baselines.line}
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
        equation = unit.arguments.get("equation")
        u = EQUATIONS[equation]()[None] if equation else paper.unit_signal(ask, unit)
        value = {name: mean_squared_error(u, predict(u)).tolist() for name, predict in SIMPLE.items()}
        for method, order in itertools.product(paper.BASES, paper.ORDERS):
            key = f"{BEST}: {paper.label(method, order)}"
            value[key] = mean_squared_error(u, paper.predict(method, order, u)).tolist()
        for name, setting, y in baselines.everyone(u):
            value[f"{name}{HINDSIGHT}: {setting}" if setting else name] = mean_squared_error(u, y).tolist()
        if unit.arguments.get("dataset") == paper.FILTERED:
            oracle = baselines.filtered_noise_oracle(u, unit.arguments["parameter"])
            value["oracle"] = mean_squared_error(u, oracle).tolist()
        return value

    def gather(self, ask: Ask, parts: Parts) -> Outcome:
        rows: Rows = []
        settings: dict[str, dict[str, str]] = {}
        for dataset, parameter in (*paper.CELLS, *((name, None) for name in EQUATIONS)):
            signal = named(dataset, parameter)
            values = parts[signal] if parameter is None else joined(parts, signal)
            rows += [row(dataset, parameter, name, None, "mse", values[name]) for name in (*SIMPLE, *FAMILIES)]
            best, settings[signal] = best_rows(dataset, parameter, CHOSEN, values)
            rows += best
            if parameter is not None and dataset == paper.FILTERED:
                rows.append(row(dataset, parameter, "oracle", None, "mse", values["oracle"]))
                rows.append(row(dataset, parameter, FLOOR, None, "mse", baselines.innovation_floor(parameter)))
        return Outcome(rows, {"hindsight": settings})

    caption = (
        "Mean squared error one step ahead; further down is better. Left: divided by that of copying. Right: "
        "Filtered Noise again, divided by the floor."
    )
    alt = "Error over copying per signal: the line and autoregression lie orders of magnitude below the construction."

    def draw(self, result: Result) -> Any:
        styles = {
            BEST: (style.COLOURS["LegT"], "o", 9),
            "line": (style.COLOURS["line"], "_", 13),
            "autoregression": (style.COLOURS["autoregression"], "s", 7),
            "Savitzky–Golay": (style.COLOURS["Savitzky–Golay"], "^", 8),
            "local trend": (style.COLOURS["local trend"], "x", 7),
        }
        figure, (left, right) = style.figure(1, 2, height=5.0, gridspec_kw={"width_ratios": [2.6, 1]})
        left.axhline(1.0, color=style.COLOURS["copy"], linestyle="--", linewidth=1.4, label="copy")
        found = _signals(result["rows"])
        _points(left, found, "copy", styles)
        right.axhline(1.0, color=style.COLOURS["floor"], linewidth=1.6, label="floor")
        copying = {"copy": (style.COLOURS["copy"], "D", 6)}
        noise = {signal: methods for signal, methods in found.items() if signal[0] == paper.FILTERED}
        _points(right, noise, FLOOR, {**styles, **copying})
        right.margins(x=0.25)
        right.set(ylim=(0.7, 600))
        left.set_ylabel("MSE / MSE of copying")
        right.set_ylabel("MSE / floor")
        handles = left.get_legend_handles_labels()
        floor = [line for line in right.get_lines() if line.get_label() == "floor"]
        figure.legend(handles[0] + floor, handles[1] + ["floor"], ncols=4, loc="outside upper center")
        return figure

    def tables(self, result: Result) -> list[Table]:
        lines: list[Line] = []
        for signal, found in _signals(result["rows"]).items():
            honest = min(found[name] for name in COLUMNS if name != FLOOR)
            cells = [Cell(number(found.get(name)), "best" if found.get(name) == honest else "") for name in COLUMNS]
            lines.append([named(*signal), Cell(number(best_printed(*signal)), "quiet"), *cells])
        header = ["signal", "paper, best printed cell", *COLUMNS]
        caption = (
            "MSE of the next value; marked: the best honest predictor. The floor is rounding where none is shown. The "
            "paper's best cell for Van der Pol is most likely a misprint."
        )
        return [Table(caption, header, lines), _chosen(result)]

    def headline(self, result: Result) -> str:
        found = _signals(result["rows"]).values()
        won = sum(methods["line"] < methods[BEST] for methods in found)
        return (
            f"As a predictor, though, it loses to a straight line through two points on {won} of {len(found)} signals."
        )

    def verdicts(self, result: Result) -> list[Verdict]:
        signals = _signals(result["rows"])
        gains = {named(*signal): found[BEST] / found["line"] for signal, found in signals.items()}
        lost = [name for name, gain in gains.items() if gain < 1]
        low, high = min(gains, key=lambda n: gains[n]), max(gains, key=lambda n: gains[n])
        noise = [found for signal, found in signals.items() if signal[0] == paper.FILTERED]
        oracle, regressed = ([found[name] / found[FLOOR] for found in noise] for name in ("oracle", "autoregression"))
        return [
            Verdict(
                "The construction is a competitive one-step predictor.",
                held(len(lost), len(gains)),
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


Signals = dict[tuple[str, float | None], dict[str, float]]


def _signals(rows: Rows) -> Signals:
    return {(d, p): means(rows, "method", dataset=d, parameter=p) for d, p in distinct(rows, "dataset", "parameter")}


def best_printed(dataset: str, parameter: float | None) -> float | None:
    if parameter is not None:
        return min(mean for mean, _ in paper.TABLE_SIGNALS[dataset, parameter])
    cells = paper.TABLE_ODES.get(PRINTED.get(dataset, ""))
    return None if cells is None else min(cells)


def _chosen(result: Result) -> Table:
    lines = [
        [named(*signal), *(f"{chosen[method]}: {number(found[method])}" for method in CHOSEN)]
        for signal, found in _signals(result["rows"]).items()
        for chosen in [result["details"]["hindsight"][named(*signal)]]
    ]
    return Table("What turned out best, and its MSE.", ["signal", *CHOSEN], lines)


def _points(axis: Any, shown: Signals, unit: str, styles: Mapping[str, tuple[str, str, int]]) -> None:
    axis.set_yscale("log")
    for name, (colour, marker, size) in styles.items():
        values = [methods[name] / methods[unit] for methods in shown.values()]
        options = {"markersize": size, "markeredgewidth": 2, "label": name}
        axis.plot(range(len(shown)), values, linestyle="none", marker=marker, color=colour, **options)
    axis.set_xticks(range(len(shown)), [_short(*signal) for signal in shown], fontsize=8)
    axis.grid(axis="x", visible=False)


SHORTER = {
    ", u(0) = −0.999": "", ", ": "\n", "RK45 defaults": "RK45", "Van der Pol": "VdP",
    "White Signal γ =": "White\nγ =", "Filtered Noise α =": "Filtered\nα =",
}  # fmt: skip


def _short(dataset: str, parameter: float | None) -> str:
    for long, short in SHORTER.items():
        dataset = dataset.replace(long, short)
    return dataset if parameter is None else f"{dataset} {parameter:g}"
