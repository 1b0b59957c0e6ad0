"""What the experiments share: the paper's signals and models, and the values its tables print."""

from collections.abc import Callable, Iterable

import numpy as np

from prophecy import fout, legt, next_value, run, signals
from prophecy.bases import Basis, fout_as_printed
from prophecy.system import System
from reproduction.framework import Ask, Unit
from reproduction.rows import Array, Parts, Rows, chunks, joined, named, row

BASES: dict[str, Callable[[int, float], Basis]] = {"LegT": legt, "FouT as printed": fout_as_printed, "FouT": fout}
"""FouT comes twice: with the paper's frequencies 2, 4, 6, … (its tables were made so) and with the right 1, 2, 3, …"""

ORDERS = (33, 65)  # of the tables
SAMPLES = signals.SAMPLES
WHITE, FILTERED = "White Signal γ =", "Filtered Noise α ="

# Table 1: (dataset, parameter) -> [LegT 33, FouT 33, LegT 65, FouT 65], each mean and std of the MSE.
TABLE_SIGNALS: dict[tuple[str, float], list[tuple[float, float]]] = {
    (WHITE, 0.3): [(3.5e-11, 4.2e-11), (6.8e-8, 5.8e-8), (1.2e-11, 1.4e-11), (6.9e-8, 5.8e-8)],
    (WHITE, 1.0): [(2.9e-7, 2.8e-7), (2.1e-6, 1.2e-6), (2.0e-10, 2.5e-10), (2.1e-6, 1.2e-6)],
    (WHITE, 2.0): [(1.2e-5, 0.6e-5), (8.6e-6, 3.7e-6), (6.3e-7, 5.4e-7), (8.7e-6, 3.8e-6)],
    (FILTERED, 0.05): [(2.1e-3, 0.2e-3), (1.7e-3, 0.1e-3), (2.8e-3, 0.3e-3), (1.5e-3, 0.1e-3)],
    (FILTERED, 0.1): [(2.4e-4, 0.3e-4), (1.9e-4, 0.2e-4), (2.6e-4, 0.3e-4), (1.8e-4, 0.2e-4)],
    (FILTERED, 0.3): [(5.0e-6, 1.0e-6), (6.4e-6, 1.5e-6), (4.1e-6, 0.6e-6), (6.2e-6, 1.5e-6)],
}

CELLS = tuple(TABLE_SIGNALS)  # the random signals of Table 1: (dataset, parameter)

# Table 2: equation -> [LegT 33, FouT 33, LegT 65, FouT 65], one MSE each.
TABLE_ODES: dict[str, list[float]] = {
    "Bernoulli": [1.8e-8, 3.0e-7, 1.7e-10, 3.0e-7],
    "Van der Pol": [6.4e-6, 6.6e-6, 4.4e-8, 6.6e-6],
}

_COLUMNS = (("LegT", 33), ("FouT as printed", 33), ("LegT", 65), ("FouT as printed", 65))


def published(
    dataset: str, parameter: float | None, method: str, order: int | None
) -> tuple[float, float | None] | None:
    if (method, order) not in _COLUMNS:
        return None
    column = _COLUMNS.index((method, order))
    if parameter is None:
        return (TABLE_ODES[dataset][column], None) if dataset in TABLE_ODES else None
    cells = TABLE_SIGNALS.get((dataset, parameter))
    return cells[column] if cells else None


def signal(dataset: str, parameter: float, count: int, seed: int) -> Array:
    process = signals.white_signal if dataset == WHITE else signals.filtered_noise
    return process(parameter, count, SAMPLES, seed=seed)


def system(method: str, order: int, rule: str = "trapezoid") -> System:
    """The paper's model: the whole sequence is the window. FouT takes odd orders, so an even one is raised by 1."""
    odd = order + 1 - order % 2
    basis = BASES[method](order if method == "LegT" else odd, 1.0)
    return next_value(basis, 1.0 / SAMPLES, rule)


def predict(method: str, order: int, u: Array, rule: str = "trapezoid") -> Array:
    y, _ = run(system(method, order, rule), u, engine="lifted")
    return np.asarray(y, dtype=np.float64)


def function_units(cells: Iterable[tuple[str, float]], total: int, size: int) -> list[Unit]:
    return [
        Unit(
            f"{dataset} {parameter}, {first}+{count}",
            {"dataset": dataset, "parameter": parameter, "first": first, "count": count},
        )
        for dataset, parameter in cells
        for first, count in chunks(total, size)
    ]


def unit_signal(ask: Ask, unit: Unit) -> Array:
    a = unit.arguments
    return signal(a["dataset"], a["parameter"], a["count"], ask.seed + a["first"])


def label(method: str, order: int | None) -> str:
    return f"{method}|{order or ''}"


def models(cells: Iterable[tuple[str, float]], parts: Parts, metric: str = "mse", printed: bool = False) -> Rows:
    """A row for each data set and model whose values the pieces have; `printed`: beside what the paper prints."""
    rows = []
    for dataset, parameter in cells:
        for key, values in joined(parts, named(dataset, parameter)).items():
            method, bar, n = key.partition("|")
            order = int(n) if n else None
            if bar:
                known = published(dataset, parameter, method, order) if printed else None
                rows.append(row(dataset, parameter, method, order, metric, values, known))
    return rows
