"""What an experiment is: settings, work in resumable pieces, rows, pictures and a verdict."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from reproduction.rows import agrees, mean_and_deviation, ratio

Json = Any
Result = dict[str, Any]


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

    `early` pages are computed first; `data` are files beside this one that the page reads; `lead` names a picture that
    the report shows at its top; `caption` stands below the page's picture ({functions}: how many), and `alt` says what
    is to be seen there to somebody who cannot see it.
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
    caption: str = ""
    alt: str = ""

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

    def draw(self, result: Result) -> Any:
        """The page's picture, as a figure of matplotlib's."""
        raise NotImplementedError

    def pictures(self, result: Result) -> list[Picture]:
        """The picture `draw` makes; a page with several, or with words that depend on results, lists them itself."""
        if not self.caption:
            return []
        caption = self.caption.replace("{functions}", str(result["functions"]))
        return [Picture(self.name, caption, partial(self.draw, result), self.alt)]

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
