"""Measured series that ship inside public Python packages, and generated ones of everyday kinds: where each comes from,
and whether it was seen before."""

import importlib
from collections.abc import Callable
from importlib import resources
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Source(NamedTuple):
    """Where a series comes from: the package that must be installed, how to read it, and whether it was held out."""

    package: str
    read: Callable[[], Any]
    held_out: bool = False


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


def _laser() -> Any:
    return np.ravel(importlib.import_module("reservoirpy.datasets").santafe_laser())


def _table(name: str, column: int) -> Callable[[], Any]:
    def read() -> Any:
        with (resources.files("sktime") / "datasets" / "data" / name / f"{name}.csv").open() as file:
            return np.genfromtxt(file, delimiter=",", skip_header=1)[:, column]

    return read


def _segments(name: str) -> Callable[[], Any]:
    return lambda: getattr(importlib.import_module("sktime.datasets"), f"load_{name}_segmentation")()[0].to_numpy()


def _river(name: str) -> Callable[[], Any]:
    return lambda: [value for _, value in getattr(importlib.import_module("river.datasets"), name)()]


def generated(seed: int, n: int) -> dict[str, tuple[NDArray[np.float64], tuple[int, ...]]]:
    """Streams of everyday kinds, `n` values each, with the periods they were made with: rides with holidays, load that
    walks, counts, a rota whose period is no whole number, a long pattern, and a walk without any season."""
    rng = np.random.default_rng(seed)
    k = np.arange(n)
    hour, day = (k % 48) / 48, (k // 48) % 7
    work = 1 - 0.75 * np.exp(-(((hour - 0.2) / 0.08) ** 2)) + 0.35 * np.exp(-(((hour - 0.8) / 0.07) ** 2))
    rest = 1 - 0.6 * np.exp(-(((hour - 0.25) / 0.08) ** 2)) + 0.2 * np.exp(-(((hour - 0.95) / 0.1) ** 2))
    rides = 15000 * np.where(day < 5, work, rest)
    for holiday in (60, 90, 150):
        rides[holiday * 48 : (holiday + 1) * 48] *= 0.6
    slow = np.zeros(n)
    shocks = rng.standard_normal(n)
    for i in range(1, n):
        slow[i] = 0.8 * slow[i - 1] + shocks[i]
    load = 30 + 8 * np.sin(2 * np.pi * k / 24) + 3 * np.sin(4 * np.pi * k / 24 + 1) + np.cumsum(0.3 * shocks)
    return {
        "rides, 48 a day": (np.round(rides * (1 + 0.03 * slow)), (48, 336)),
        "noisy rides": (np.round(rides * (1 + 0.1 * slow)), (48, 336)),
        "load, hourly, walking": (load, (24, 168)),
        "counts, 24 a day": (rng.poisson(3 + 2.5 * np.sin(2 * np.pi * k / 24)).astype(float), (24, 168)),
        "rota of 33.3 samples": (3 * np.sign(np.sin(2 * np.pi * k / 33.3)) + 0.3 * shocks, (33, 100)),
        "pattern of 1000 samples": (np.resize(np.cumsum(rng.standard_normal(1000)), n) + 0.3 * shocks, (1000, 2000)),
        "no season: walk": (np.cumsum(shocks), (24, 168)),
    }


def _made(name: str) -> Callable[[], Any]:
    return lambda: generated(17, 4032)[name][0]


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
    "water flow in a pipe, hourly": Source("river", _river("WaterFlow")),
    "electrocardiogram": Source("pywt", lambda: importlib.import_module("pywt.data").ecg()),
    "Niño 3 sea temperature": Source("pywt", lambda: importlib.import_module("pywt.data").nino()[1]),
    "Santa Fe laser": Source("reservoirpy", _laser),
    "electrical equipment, monthly": Source(
        "statsmodels", _statsmodels("elec_equip", "STS.M.I7.W.TOVT.NS0016.4.000"), True
    ),
    "German interest, quarterly": Source("statsmodels", _statsmodels("interest_inflation", "R"), True),
    "German inflation, quarterly": Source("statsmodels", _statsmodels("interest_inflation", "Dp"), True),
    "prescriptions, monthly": Source("sktime", _sktime("PBS_dataset"), True),
    "solar power, half-hourly": Source("sktime", _table("solar", 1), True),
    "power of household devices": Source("sktime", _segments("electric_devices"), True),
    "motion of a hand": Source("sktime", _segments("gun_point"), True),
    "electrocardiogram, MIT–BIH": Source("sktime", _table("mitdb", 0), True),
    "UK road casualties, monthly": Source("sktime", _table("seatbelts", 1), True),
    "presidential approval, daily": Source("river", _river("TrumpApproval"), True),
    "returns of ten US stocks, daily": Source("river", _river("SP500Stocks"), True),
    "generated: rides with holidays, half-hourly": Source("numpy", _made("rides, 48 a day"), True),
    "generated: load that walks, hourly": Source("numpy", _made("load, hourly, walking"), True),
    "generated: counts, hourly": Source("numpy", _made("counts, 24 a day"), True),
    "generated: rota of 33.3 samples": Source("numpy", _made("rota of 33.3 samples"), True),
    "generated: pattern of 1000 samples": Source("numpy", _made("pattern of 1000 samples"), True),
}
"""The held-out ones were first run when the members of the bank were settled. Since then two numbers were chosen with
all of them in view, beside 200 series of M1: the weight seasons begin with, and how far changes are believed. The
generated streams have other seeds than those that development saw."""
