"""Lines of results files, and numbers as the report prints them."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Json = Any
Rows = list[dict[str, Any]]
Parts = Mapping[str, Json]  # what the units of a page computed, by their names

MARGIN = 0.15
"""How far ours may lie from a paper value that comes without a standard deviation."""


def row(
    dataset: str,
    parameter: float | str | None,
    method: str,
    order: int | None,
    metric: str,
    values: Iterable[float] | float,
    paper: tuple[float, float | None] | None = None,
) -> dict[str, Json]:
    """One line of a results file; mean and population standard deviation over the functions."""
    sample = np.atleast_1d(np.asarray(list(values) if isinstance(values, Iterable) else values, dtype=np.float64))
    mean, std = float(sample.mean()), float(sample.std()) if sample.size > 1 else None
    if not math.isfinite(mean):
        raise ArithmeticError(f"{metric} of {method} (order {order}) on {dataset} {parameter} is {mean}")
    about = {"dataset": dataset, "parameter": parameter, "method": method, "order": order, "metric": metric}
    printed = (None, None) if paper is None else paper
    return about | {"mean": mean, "std": std, "paper_mean": printed[0], "paper_std": printed[1]}


def agrees(line: Mapping[str, Json]) -> bool | None:
    """Within the paper's mean ± std, or within 15 % where it gives none; None where the paper has no value."""
    if line["paper_mean"] is None:
        return None
    margin = line["paper_std"] if line["paper_std"] is not None else MARGIN * line["paper_mean"]
    return bool(abs(line["mean"] - line["paper_mean"]) <= margin)


def find(rows: Iterable[Mapping[str, Json]], **where: Json) -> Mapping[str, Json]:
    found = [line for line in rows if all(line[key] == value for key, value in where.items())]
    if len(found) != 1:
        raise LookupError(f"{len(found)} rows match {where}")
    return found[0]


def means(rows: Iterable[Mapping[str, Json]], *columns: str, **where: Json) -> dict[Any, float]:
    """Means by the value of a column, or by those of several, of the rows that have the values `where`."""
    kept = [line for line in rows if all(line[key] == value for key, value in where.items())]
    return {_key(line, columns): line["mean"] for line in kept}


def distinct(rows: Iterable[Mapping[str, Json]], *columns: str) -> list[Any]:
    return list(dict.fromkeys(_key(line, columns) for line in rows))


def _key(line: Mapping[str, Json], columns: tuple[str, ...]) -> Any:
    return line[columns[0]] if len(columns) == 1 else tuple(line[column] for column in columns)


def named(dataset: str, parameter: Json) -> str:
    return dataset if parameter is None else f"{dataset} {parameter}"


def held(done: int, total: int) -> bool | None:
    """The verdict on several cases: all of them, some (None: in part), or none."""
    return True if done == total else (None if done else False)


def best_of(values: Mapping[str, Json], method: str) -> str:
    """Of the keys `method` and `method: setting` the one whose mean is least: the choice in hindsight."""
    options = [key for key in values if key == method or key.startswith(f"{method}: ")]
    return min(options, key=lambda key: float(np.mean(values[key])))


def best_rows(
    dataset: str, parameter: Json, methods: Iterable[str], values: Mapping[str, Json], metric: str = "mse"
) -> tuple[Rows, dict[str, str]]:
    """A row for each method with the setting that is best in hindsight, and which settings these are."""
    best = {method: best_of(values, method) for method in methods}
    rows = [row(dataset, parameter, method, None, metric, values[key]) for method, key in best.items()]
    return rows, {method: key.split(": ")[-1].replace("|", ", N = ") for method, key in best.items()}


def chunks(total: int, size: int) -> list[tuple[int, int]]:
    """(first, count) of pieces of at most `size`: the full ones are the same whatever the total.

    >>> chunks(7, 3)
    [(0, 3), (3, 3), (6, 1)]
    """
    return [(first, min(size, total - first)) for first in range(0, total, size)]


def listed(values: Mapping[Any, float]) -> str:
    """Numbers and what they are of.

    >>> listed({"LegT": 4.23e-6, "FouT": 1.25})
    '4.2e-6 (LegT), 1.2 (FouT)'
    """
    return ", ".join(f"{number(value)} ({name})" for name, value in values.items())


def joined(parts: Parts, prefix: str) -> dict[str, list[float]]:
    """Values of all pieces that are called `prefix`, first+count, by whatever name the pieces gave them."""
    together: dict[str, list[float]] = {}
    for name, part in parts.items():
        if name.startswith(f"{prefix}, "):
            for key, values in part.items():
                together.setdefault(key, []).extend(values)
    return together


def number(value: float | None) -> str:
    """Two significant digits, in the paper's style.

    >>> number(4.23e-6), number(0.0), number(1.25), number(-31.4), number(None)
    ('4.2e-6', '0', '1.2', '-31', '–')
    """
    if value is None:
        return "–"
    if value == 0.0:
        return "0"
    if 0.01 <= abs(value) < 1000:
        return f"{value:.0f}" if abs(value) >= 10 else f"{value:.2g}"
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def ratio(value: float) -> str:
    """A factor: two decimals where it is near 1, so that 1.04 does not read as 1.

    >>> ratio(1.04), ratio(0.9), ratio(95.2), ratio(4e-4)
    ('1.04', '0.90', '95', '4.0e-4')
    """
    return f"{value:.2f}" if 0.095 <= abs(value) < 9.995 else number(value)


def mean_and_deviation(mean: float | None, std: float | None) -> str:
    """Mean ± std with one exponent, as the paper prints them.

    >>> [mean_and_deviation(*pair) for pair in ((2.1e-3, 2e-4), (3.5e-11, 4.2e-11), (9.97e-6, 3.4e-6), (2.5, 0.5))]
    ['(2.1 ± 0.2)e-3', '(3.5 ± 4.2)e-11', '(1.0 ± 0.3)e-5', '2.5 ± 0.5']
    """
    if mean is None or std is None or mean == 0.0:
        return number(mean)
    exponent = math.floor(math.log10(abs(mean)))
    if float(f"{abs(mean) / 10.0**exponent:.1f}") >= 10.0:  # 9.96 is printed as 10.0
        exponent += 1
    scale = 10.0**exponent
    both = f"{mean / scale:.1f} ± {std / scale:.1f}"
    return both if exponent == 0 else f"({both})e{exponent}"
