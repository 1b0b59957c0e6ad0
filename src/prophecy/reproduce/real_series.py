"""Measured series that ship inside public Python packages, one step ahead, against the same baselines."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prophecy import baselines
from prophecy.adaptive import Prophecy
from prophecy.evaluation import mean_squared_error
from prophecy.reproduce.beyond import FAMILIES
from prophecy.reproduce.framework import (
    Ask,
    Cell,
    Experiment,
    Json,
    Outcome,
    Picture,
    Result,
    Table,
    Unit,
    Verdict,
    row,
)

Array = NDArray[np.float64]

OURS, COPY, LINE, CONTEXT, HINDSIGHT = "Prophecy", "copy", "line", "best in context", "best in hindsight"
METHODS = (COPY, LINE, CONTEXT, HINDSIGHT, OURS)


class Source(NamedTuple):
    """Where a series comes from: the package that must be installed, and how to read it."""

    package: str
    read: Callable[[], Any]


def _statsmodels(name: str, column: str) -> Callable[[], Any]:
    def read() -> Any:
        module = importlib.import_module(f"statsmodels.datasets.{name}")
        return module.load_pandas().data[column].interpolate().to_numpy()

    return read


def _elnino() -> Any:
    table = importlib.import_module("statsmodels.datasets.elnino").load_pandas().data
    return table.iloc[:, 1:].to_numpy().ravel()


def _co2_monthly() -> Any:
    table = importlib.import_module("statsmodels.datasets.co2").load_pandas().data
    return table["co2"].resample("MS").mean().interpolate().to_numpy()


def _sktime(name: str) -> Callable[[], Any]:
    return lambda: getattr(importlib.import_module("sktime.datasets"), f"load_{name}")().to_numpy()


def _water_flow() -> Any:
    return [flow for _, flow in importlib.import_module("river.datasets").WaterFlow()]


def _laser() -> Any:
    return np.ravel(importlib.import_module("reservoirpy.datasets").santafe_laser())


SERIES: dict[str, Source] = {
    "sunspots, yearly": Source("statsmodels", _statsmodels("sunspots", "SUNACTIVITY")),
    "CO2 at Mauna Loa, weekly": Source("statsmodels", _statsmodels("co2", "co2")),
    "CO2 at Mauna Loa, monthly": Source("statsmodels", _co2_monthly),
    "flow of the Nile, yearly": Source("statsmodels", _statsmodels("nile", "volume")),
    "El Niño sea temperature, monthly": Source("statsmodels", _elnino),
    "US GDP, quarterly": Source("statsmodels", _statsmodels("macrodata", "realgdp")),
    "US unemployment, quarterly": Source("statsmodels", _statsmodels("macrodata", "unemp")),
    "US inflation, quarterly": Source("statsmodels", _statsmodels("macrodata", "infl")),
    "airline passengers, monthly": Source("sktime", _sktime("airline")),
    "lynx furs, yearly": Source("sktime", _sktime("lynx")),
    "shampoo sales, monthly": Source("sktime", _sktime("shampoo_sales")),
    "water flow in a pipe, hourly": Source("river", _water_flow),
    "electrocardiogram": Source("pywt", lambda: importlib.import_module("pywt.data").ecg()),
    "Niño 3 sea temperature": Source("pywt", lambda: importlib.import_module("pywt.data").nino()[1]),
    "Santa Fe laser": Source("reservoirpy", _laser),
}

LOST = 1.05
"""A baseline that is better by more than this needs an explanation beside it."""


class RealSeries(Experiment):
    name = "real"
    title = "Beyond the paper: measured series"
    reference = "Data nobody generated"
    place = 220
    modules = ("adaptive", "reproduce/real_series", "reproduce/beyond")
    introduction = (
        "Series that ship inside public Python packages, taken as they are; missing weeks of CO2 are filled by "
        "straight lines, since the baselines cannot do without. Errors are over the second half, one step ahead, "
        "relative to the best of all baselines and their settings in hindsight: 16 autoregressions, 85 Savitzky–Golay "
        "fits, 10 local levels and 70 local trends. On a series of a hundred values, the best of 181 settings is best "
        "partly by luck, which is what the column of the same baselines with settings chosen in context shows."
    )

    def units(self, ask: Ask) -> list[Unit]:
        return [Unit(name, {"series": name}) for name, s in SERIES.items() if importlib.util.find_spec(s.package)]

    def compute(self, ask: Ask, unit: Unit) -> Json:
        u = np.asarray(SERIES[unit.arguments["series"]].read(), dtype=np.float64)
        value = {COPY: _error(u, baselines.copy(u)), LINE: _error(u, baselines.line(u))}
        for name, family in FAMILIES.items():
            members = family(u)
            value[f"{CONTEXT}: {name}"] = _error(u, baselines.in_context(u, members.values()))
            for setting, y in members.items():
                value[f"{HINDSIGHT}: {name}, {setting}"] = _error(u, y)
        value[OURS] = _error(u, Prophecy().predict_all(u))
        return {"errors": value, "length": len(u), "spread": float(np.std(u))}

    def gather(self, ask: Ask, parts: Mapping[str, Json]) -> Outcome:
        rows: list[dict[str, Json]] = []
        chosen: dict[str, dict[str, str]] = {}
        for name, part in parts.items():
            values = part["errors"]
            chosen[name] = {}
            for method in METHODS:
                options = [key for key in values if key == method or key.startswith(f"{method}: ")]
                best = min(options, key=lambda key: float(values[key]))
                chosen[name][method] = best.split(": ")[-1]
                rows.append(row(name, part["length"], method, None, "mse", values[best]))
        absent = [name for name in SERIES if name not in parts]
        return Outcome(rows, {"chosen": chosen, "absent": absent})

    def pictures(self, result: Result) -> list[Picture]:
        caption = (
            "Mean squared error one step ahead relative to the best baseline and setting in hindsight (the line at 1); "
            "further left is better."
        )
        return [Picture("real", caption, lambda: _draw(result["rows"]))]

    def tables(self, result: Result) -> list[Table]:
        lines: list[list[Cell | str]] = []
        for name, length, found in _cases(result["rows"]):
            unit = found[HINDSIGHT]
            honest = min(found[m] for m in (COPY, LINE, CONTEXT, OURS))
            cells = [Cell(f"{found[m] / unit:.2f}", "best" if found[m] == honest else "") for m in METHODS]
            best = result["details"]["chosen"][name][HINDSIGHT]
            lines.append([name, str(length), *cells, best, _explanation(name, length, found)])
        header = ["series", "values", *METHODS, "best setting", "where it beats us by more than 5 %"]
        caption = "MSE over that of the best in hindsight; marked: the best predictor that knows nothing in advance."
        tables = [Table(caption, header, lines)]
        if result["details"]["absent"]:
            missing = [[name, SERIES[name].package] for name in result["details"]["absent"]]
            tables.append(Table("Not run, because the package is not installed.", ["series", "package"], missing))
        return tables

    def verdicts(self, result: Result) -> list[Verdict]:
        cases = _cases(result["rows"])
        won = sum(found[OURS] <= found[CONTEXT] for _, _, found in cases)
        close = sum(found[OURS] <= LOST * found[HINDSIGHT] for _, _, found in cases)
        gain = float(np.exp(np.mean([np.log(found[OURS] / found[CONTEXT]) for _, _, found in cases])))
        return [
            Verdict(
                "On measured series Prophecy is better than every baseline that chooses its settings in context.",
                None if 0 < won < len(cases) else won == len(cases),
                f"It is on {won} of {len(cases)}; on (geometric) average its squared error is {gain:.2f} of theirs.",
            ),
            Verdict(
                "It matches the best baseline and setting in hindsight to 5 %.",
                None if 0 < close < len(cases) else close == len(cases),
                f"It does on {close} of {len(cases)} series; the table says why not on the others.",
            ),
        ]


def _error(u: Array, y: Array) -> float:
    return float(mean_squared_error(u, y))


def _cases(rows: list[dict[str, Any]]) -> list[tuple[str, int, dict[str, float]]]:
    names = dict.fromkeys((line["dataset"], line["parameter"]) for line in rows)
    return [(name, length, {r["method"]: r["mean"] for r in rows if r["dataset"] == name}) for name, length in names]


def _explanation(name: str, length: int, found: Mapping[str, float]) -> str:
    """Why a baseline is ahead: luck of the setting where choosing it in context loses as much, too few values else."""
    if found[OURS] <= LOST * found[HINDSIGHT]:
        return ""
    context = found[CONTEXT] / found[HINDSIGHT]
    if found[CONTEXT] >= found[OURS]:
        return f"hindsight: chosen in context, the best of them has {context:.2f}"
    return f"{length} values: too few to tell which member is best; chosen in context, the best has {context:.2f}"


def _draw(rows: list[dict[str, Any]]) -> Any:
    from prophecy.reproduce import style

    cases = sorted(_cases(rows), key=lambda case: -case[2][OURS] / case[2][HINDSIGHT])
    looks = {
        COPY: (style.COLOURS["copy"], "D", 6),
        CONTEXT: (style.COLOURS["autoregression"], "s", 7),
        OURS: (style.COLOURS["ours"], "*", 15),
    }
    figure, (axis,) = style.figure(1, 1, height=0.38 * len(cases) + 1.2)
    axis.axvline(1.0, color=style.COLOURS["Savitzky–Golay"], linewidth=1.6, label=HINDSIGHT)
    for name, (colour, marker, size) in looks.items():
        ratios = [found[name] / found[HINDSIGHT] for _, _, found in cases]
        axis.plot(ratios, range(len(cases)), linestyle="none", marker=marker, color=colour, markersize=size, label=name)
    axis.set(xscale="log", xlabel="MSE / best in hindsight")
    axis.set_xticks([0.1, 0.2, 0.5, 1, 2, 5, 10], ["0.1", "0.2", "0.5", "1", "2", "5", "10"])
    axis.minorticks_off()
    axis.set_yticks(range(len(cases)), [f"{name} ({length})" for name, length, _ in cases])
    axis.grid(axis="y", visible=False)
    figure.legend(*axis.get_legend_handles_labels(), ncols=4, loc="outside upper center")
    return figure


EXPERIMENT = RealSeries()
