"""What an experiment is: settings, work in resumable pieces, rows, pictures and a verdict."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Json = Any
Result = dict[str, Any]

MARGIN = 0.15
"""How far ours may lie from a paper value that comes without a standard deviation."""


@dataclass(frozen=True)
class Ask:
    """What the command line asked for. `functions` None means each experiment's full scale."""

    functions: int | None = None
    seed: int = 0
    device: str = "cpu"
    full: bool = False


@dataclass(frozen=True)
class Unit:
    """One piece of work: `compute` depends on its arguments and on the settings, and on nothing else."""

    name: str
    arguments: dict[str, Json] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """Rows of the results file, and whatever else the pictures need."""

    rows: list[dict[str, Json]]
    details: dict[str, Json] = field(default_factory=dict)


@dataclass(frozen=True)
class Picture:
    """A figure that can be drawn from the results: `draw()` returns a matplotlib Figure.

    `alt` says what is to be seen to somebody who cannot see it; without it the caption has to do.
    """

    name: str
    caption: str
    draw: Callable[[], Any]
    alt: str = ""


@dataclass(frozen=True)
class Verdict:
    """A statement, whether it holds (None: in part), and the sentence with the number that says so.

    `condition` is what has to be added to the statement as printed for it to hold; such verdicts are counted apart.
    `ours` marks a statement on one of the paper's pages that the paper does not make; it is not counted as the paper's.
    """

    statement: str
    holds: bool | None
    evidence: str
    condition: str = ""
    ours: bool = False

    @property
    def mark(self) -> str:
        """ "good", "condition", "open" or "bad"."""
        if self.holds and self.condition:
            return "condition"
        return {True: "good", None: "open", False: "bad"}[self.holds]


@dataclass(frozen=True)
class Slip:
    """Something the paper got wrong."""

    printed: str
    right: str
    evidence: str


@dataclass(frozen=True)
class Cell:
    """One entry of a table. `mark` is "", "good", "bad", "best" or "quiet"."""

    text: str
    mark: str = ""


@dataclass(frozen=True)
class Table:
    """A table of the report; plain strings are cells without a mark."""

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[Cell | str]]


class Experiment(ABC):
    """A figure or table of the paper, or a page beyond it. See the package's docstring for how to add one.

    `early` pages are computed first; `data` are files of the package the page reads; `lead` names a picture that the
    report shows at its top.
    """

    name: str
    title: str
    reference: str
    place: int
    functions: int = 0
    introduction: str = ""
    early: bool = False
    data: tuple[str, ...] = ()
    lead: str = ""

    def settings(self, ask: Ask) -> dict[str, Json]:
        """What the numbers depend on besides seed, functions and code; shown in the report."""
        return {}

    def size(self, ask: Ask) -> int:
        """Functions per data set in this run."""
        return self.functions if ask.functions is None or not self.functions else ask.functions

    @abstractmethod
    def units(self, ask: Ask) -> list[Unit]: ...

    @abstractmethod
    def compute(self, ask: Ask, unit: Unit) -> Json: ...

    @abstractmethod
    def gather(self, ask: Ask, parts: Mapping[str, Json]) -> Outcome: ...

    def pictures(self, result: Result) -> list[Picture]:
        return []

    def tables(self, result: Result) -> list[Table]:
        return [comparison(result["rows"])] if any(r["paper_mean"] is not None for r in result["rows"]) else []

    def verdicts(self, result: Result) -> list[Verdict]:
        return []

    def slips(self, result: Result) -> list[Slip]:
        return []

    def headline(self, result: Result) -> str:
        """One sentence for the top of the report, or nothing."""
        return ""


class OpenQuestion(Experiment):
    """A question the paper's conclusion leaves open: what is asked, how it is answered, what would change our mind."""

    question: str
    method: tuple[str, ...]
    doubts: str


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
    return {
        "dataset": dataset,
        "parameter": parameter,
        "method": method,
        "order": order,
        "metric": metric,
        "mean": mean,
        "std": std,
        "paper_mean": None if paper is None else paper[0],
        "paper_std": None if paper is None else paper[1],
    }


def agrees(line: Mapping[str, Json]) -> bool | None:
    """Within the paper's mean ± std, or within 15 % where it gives none; None where the paper has no value."""
    if line["paper_mean"] is None:
        return None
    margin = line["paper_std"] if line["paper_std"] is not None else MARGIN * line["paper_mean"]
    return bool(abs(line["mean"] - line["paper_mean"]) <= margin)


def find(rows: Iterable[Mapping[str, Json]], **where: Json) -> Mapping[str, Json]:
    """The one row with these values."""
    found = [line for line in rows if all(line[key] == value for key, value in where.items())]
    if len(found) != 1:
        raise LookupError(f"{len(found)} rows match {where}")
    return found[0]


def chunks(total: int, size: int) -> list[tuple[int, int]]:
    """(first, count) of pieces of at most `size`: the full ones are the same whatever the total.

    >>> chunks(7, 3)
    [(0, 3), (3, 3), (6, 1)]
    """
    return [(first, min(size, total - first)) for first in range(0, total, size)]


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


def comparison(rows: Iterable[Mapping[str, Json]], caption: str = "") -> Table:
    """paper | ours | ratio for every row; rows without a paper value show ours alone."""
    lines = []
    for line in rows:
        fits = agrees(line)
        factor = "–" if fits is None else ratio(line["mean"] / line["paper_mean"])
        mark = "quiet" if fits is None else "good" if fits else "bad"
        name = line["dataset"] if line["parameter"] is None else f"{line['dataset']} {line['parameter']}"
        method = line["method"] if line["order"] is None else f"{line['method']}, N = {line['order']}"
        lines.append(
            [
                name,
                method,
                mean_and_deviation(line["paper_mean"], line["paper_std"]),
                mean_and_deviation(line["mean"], line["std"]),
                Cell(factor, mark),
            ]
        )
    return Table(caption, ["signal", "method", "paper", "ours", "ours / paper"], lines)
