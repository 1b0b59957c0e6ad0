"""What an experiment is: settings, work in resumable pieces, rows, pictures and a verdict."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from typing import Any

from reproduction.rows import Json, Parts, Rows, agrees, mean_and_deviation, named, number, ratio

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
    rows: Rows
    details: dict[str, Json] = field(default_factory=dict)


@dataclass(frozen=True)
class Picture:
    """A figure: `draw()` returns a matplotlib Figure; `alt` is for those who cannot see it, by default the caption."""

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
    printed: str
    right: str
    evidence: str


@dataclass(frozen=True)
class Cell:
    """One entry of a table. `mark` is "", "good", "bad", "best" or "quiet"."""

    text: str
    mark: str = ""


Line = list[Cell | str]


@dataclass(frozen=True)
class Table:
    """A table of the report; plain strings are cells without a mark."""

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[Cell | str]]


def marked(values: Sequence[float], best: float | None = None, form: Callable[[float], str] = number) -> Line:
    """Cells of these values; the best one, the least if none is given, is marked."""
    least = min(values) if best is None else best
    return [Cell(form(value), "best" if value == least else "") for value in values]


class Experiment(ABC):
    """A figure or table of the paper, or a page beyond it. The package's docstring shows one.

    `early` pages are computed first; `data` are files beside this one that the page reads; `given` is what the
    numbers depend on besides seed, functions and code, shown in the report; `torch` pages need that package; `lead`
    names a picture that the report shows at its top; `caption` stands below the page's picture ({functions}: how
    many), and `alt` says what is to be seen there to somebody who cannot see it.
    """

    name: str
    title: str
    reference: str
    place: int
    functions: int = 0
    introduction: str = ""
    early: bool = False
    data: tuple[str, ...] = ()
    given: tuple[tuple[str, Json], ...] = ()
    lead: str = ""
    torch: bool = False
    caption: str = ""
    alt: str = ""
    question: str = ""
    method: tuple[str, ...] = ()
    doubts: str = ""

    def settings(self, ask: Ask) -> dict[str, Json]:
        """`given`, and what else of it depends on what was asked for; refused without torch where the page needs it."""
        if self.torch and not find_spec("torch"):
            way_out = "install it with: pip install 'hippo-prophecy[torch]'"
            raise ModuleNotFoundError(f"{self.name} needs torch; {way_out}")
        return dict(self.given)

    def size(self, ask: Ask) -> int:
        return self.functions if ask.functions is None or not self.functions else ask.functions

    @abstractmethod
    def units(self, ask: Ask) -> list[Unit]: ...

    @abstractmethod
    def compute(self, ask: Ask, unit: Unit) -> Json: ...

    @abstractmethod
    def gather(self, ask: Ask, parts: Parts) -> Outcome: ...

    def draw(self, result: Result) -> Any:
        raise NotImplementedError

    def pictures(self, result: Result) -> list[Picture]:
        """The picture `draw` makes; a page with several, or with words that depend on results, lists them itself."""
        if not self.caption:
            return []
        caption = self.caption.replace("{functions}", str(result.get("functions", "")))
        caption = caption.replace("{told}", self.told(result))
        return [Picture(self.name, caption, partial(self.draw, result), self.alt)]

    def told(self, result: Result) -> str:
        """What the caption says at {told}; on pages with trained runs, where these were made."""
        return "; ".join(f"{name}: {text}" for name, text in result["details"].get("origins", {}).items())

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


def comparison(rows: Iterable[Mapping[str, Json]], caption: str = "") -> Table:
    """paper | ours | ratio for every row; rows without a paper value show ours alone."""
    lines = []
    for line in rows:
        fits = agrees(line)
        factor = "–" if fits is None else ratio(line["mean"] / line["paper_mean"])
        mark = "quiet" if fits is None else "good" if fits else "bad"
        method = line["method"] if line["order"] is None else f"{line['method']}, N = {line['order']}"
        values = [mean_and_deviation(line[f"{whose}mean"], line[f"{whose}std"]) for whose in ("paper_", "")]
        lines.append([named(line["dataset"], line["parameter"]), method, *values, Cell(factor, mark)])
    return Table(caption, ["signal", "method", "paper", "ours", "ours / paper"], lines)
