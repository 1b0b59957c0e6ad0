"""`report.html` from the results files: what the paper says, what comes out, and what to believe.

Nothing is computed here; every number is read from `results/<name>.json`. A `Report` may be written again and again
while pages are still being computed: only pages whose results have changed are drawn anew.
"""

import collections
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from prophecy import _files
from reproduction import page, registry, style, trained_runs
from reproduction.framework import Experiment, Picture, Result, Verdict
from reproduction.rows import MARGIN, agrees, distinct, mean_and_deviation, named, ratio
from reproduction.runner import Folder, code, read_json

TITLE = "HiPPO-Prophecy, reproduced"
ABOUT = (
    "“HiPPO-Prophecy: State-Space Models can Provably Learn Dynamical Systems in Context” (Arangath Joseph, Haefeli, "
    "Liniger, Gulcehre; 2024), computed again from the definitions"
)
BEYOND, QUESTIONS, FURTHER = 110, 150, 200
"""From these places on: what anyone would ask next, the paper's open questions, and what lies beyond."""
PARTS = (
    (0, "The paper"),
    (BEYOND, "Against the obvious"),
    (QUESTIONS, "Open questions"),
    (FURTHER, "Beyond the paper"),
)
LEADS = 3  # pictures at the top at most
TOP = ("table-signals", "baselines", "fig-training", "trained", "solvers")


class Drawn(NamedTuple):
    name: str
    svg: str
    caption: str
    alt: str


class Report:
    def __init__(self, out: str | Path) -> None:
        self._folder = Folder(Path(out))
        self._drawn: dict[str, tuple[str, list[Drawn]]] = {}
        self._codes: dict[str, str] = {}
        self._experiments = registry.experiments()

    def write(self, left: str = "") -> Path:
        """Draw what is new into `figures/`, write `report.html` and return its path. `left`: what is still to come."""
        found = [
            (experiment, stored)
            for name, experiment in self._experiments.items()
            if (stored := read_json(self._folder.result(name))) is not None
        ]
        for experiment, _ in found:
            if experiment.name not in self._codes:
                self._codes[experiment.name] = code(experiment)
        pages = [(e, stored) for e, stored in found if stored.get("code") == self._codes[e.name]]
        stale = [e.name for e, stored in found if stored.get("code") != self._codes[e.name]]
        if not pages:
            raise FileNotFoundError(f"no results in {str(self._folder.root)!r}; run `python -m reproduction` first")
        (self._folder.root / "figures").mkdir(exist_ok=True)
        pictures = {experiment.name: self._pictures(experiment, result) for experiment, result in pages}
        target = self._folder.root / "report.html"
        _files.write_atomic(target, _document(pages, pictures, stale, left).encode())
        return target.resolve()

    def _pictures(self, experiment: Experiment, result: Result) -> list[Drawn]:
        stamp = f"{result['key']} {result['seconds']}"
        before = self._drawn.get(experiment.name)
        if before is None or before[0] != stamp:
            made = [_drawn(picture, self._folder.root / "figures") for picture in experiment.pictures(result)]
            self._drawn[experiment.name] = stamp, made
        return self._drawn[experiment.name][1]


def write(out: str | Path) -> Path:
    return Report(out).write()


Pages = Sequence[tuple[Experiment, Result]]


def _document(pages: Pages, pictures: dict[str, list[Drawn]], stale: Sequence[str], left: str) -> str:
    chosen = sorted((e for e, _ in pages if e.lead), key=_prominence)
    leads = [d for e in chosen for d in pictures[e.name] if d.name == e.lead][:LEADS]
    shown = {drawn.name for drawn in leads}
    sections = {
        name: [d._replace(svg=page.again(d.name, d.svg, d.alt)) if d.name in shown else d for d in drawn]
        for name, drawn in pictures.items()
    }
    cells = [line for _, result in pages for line in result["rows"] if line["paper_mean"] is not None]
    ordered = sorted(pages, key=lambda page: _prominence(page[0]))
    headlines = [text for e, result in ordered if (text := e.headline(result))]
    bounds = [*(first for first, _ in PARTS[1:]), 10**9]
    parts = [
        {"title": title, "pages": [_page(e, r, sections[e.name]) for e, r in pages if first <= e.place < last]}
        for (first, title), last in zip(PARTS, bounds, strict=True)
    ]
    return page.render(
        title=TITLE,
        state=f"Report in the making: {left}" if left else "Report",
        headline=" ".join([_about(pages), *headlines]),
        origin=_origin(pages, stale),
        leads=leads,
        facts=_facts(pages, cells),
        cells=_glance(cells) if cells else None,
        slips=[(slip, e.name) for e, result in pages for slip in e.slips(result)],
        parts=[part for part in parts if part["pages"]],
        colours=page.palette(d.svg for drawn in pictures.values() for d in drawn),
    )


def _about(pages: Pages) -> str:
    total = len(registry.experiments())
    if len(pages) == total:
        return f"Every figure and table of {ABOUT}."
    return f"In part, {len(pages)} of {total} pages: {ABOUT}."


def _prominence(experiment: Experiment) -> tuple[int, int]:
    """The order at the top of the report: the table, what anyone would try, training, what could be."""
    return TOP.index(experiment.name) if experiment.name in TOP else len(TOP), experiment.place


def _facts(pages: Pages, cells: Sequence[dict[str, Any]]) -> list[tuple[str, str]]:
    theirs = [v for e, result in pages if e.place < BEYOND for v in e.verdicts(result) if not v.ours]
    count = collections.Counter(verdict.mark for verdict in theirs)
    slips = sum(len(e.slips(result)) for e, result in pages)
    facts = []
    if cells:
        wide = sum(c["paper_std"] is not None and c["paper_std"] > c["paper_mean"] for c in cells)
        criterion = (
            f"table cells agree: our mean lies within the paper's mean ± std, or within {100 * MARGIN:g} % where it "
            "gives none" + (f". In {wide} of them that std exceeds the mean" if wide else "")
        )
        facts.append((f"{sum(bool(agrees(c)) for c in cells)} of {len(cells)}", criterion))
    if theirs:
        told = (
            f"of the paper's statements hold as printed, {count['condition']} with a condition we add, "
            f"{count['open']} in part; {count['bad']} do not hold"
        )
        facts.append((f"{count['good']} of {len(theirs)}", told))
    return [*facts, (str(slips), "slips found in the paper")]


def _page(experiment: Experiment, result: Result, pictures: Sequence[Drawn]) -> dict[str, Any]:
    verdicts: list[Verdict] = experiment.verdicts(result)
    marks = collections.Counter(verdict.mark for verdict in verdicts)
    return {
        **{name: getattr(experiment, name) for name in ("name", "title", "reference", "question", "method", "doubts")},
        "introduction": [text for text in experiment.introduction.split("\n\n") if text],
        "verdicts": verdicts,
        "tally": page.tally(marks),
        "pictures": pictures,
        "tables": [page.lines(table) for table in experiment.tables(result)],
        "provenance": _provenance(experiment, result),
    }


def _origin(pages: Pages, stale: Sequence[str]) -> list[str]:
    """Which command makes this report, on what it was made, in what time, and what is missing."""
    names = [experiment.name for experiment, _ in pages]
    seconds = sum(float(result["seconds"]) for _, result in pages)
    everything = len(names) == len(registry.experiments())
    small = [experiment for experiment, result in pages if _small(experiment, result)]
    asked, seeds = (sorted({result.get(name) for _, result in pages}, key=str) for name in ("asked", "seed"))
    version, device, machine = (
        ", ".join(sorted({str(result.get(name)) for _, result in pages})) for name in ("version", "device", "machine")
    )
    command = "python -m reproduction" + ("" if everything else " " + " ".join(names))
    command += f" --functions {asked[0]}" if len(asked) == 1 and asked[0] is not None else ""
    command += f" --seed {seeds[0]}" if len(seeds) == 1 and seeds[0] else ""
    lines = [
        f"Made by `{command}`"
        + (" (`make reproduce` calls it)" if command == "python -m reproduction" else "")
        + (", the pages with settings of their own" if len(seeds) > 1 or len(asked) > 1 else "")
        + f" with prophecy {version} on {device} ({machine}); {len(pages)} "
        f"page{'s' if len(pages) > 1 else ''}, {seconds / 60:.1f} minutes of work, summed over processes. Runs marked "
        "GPU were made once and are part of the repository.",
    ]
    if small:
        lines.append(
            f"A quick look, not the reproduction: {len(small)} of these {len(pages)} pages ran with fewer functions or "
            "shorter training than at full scale."
        )
    if stale:
        lines.append(f"Left out, made by other code: {', '.join(stale)}; run them again.")
    return lines


def _small(experiment: Experiment, result: Result) -> bool:
    """Whether fewer functions were used, or training was cut down, because `--functions` asked for it."""
    if not experiment.functions:
        return "plan" in result["settings"] and (result.get("asked") or trained_runs.WHOLE) < trained_runs.WHOLE
    return bool(result["functions"] < experiment.functions)


def _options(experiment: Experiment, result: Result) -> str:
    shown = result["functions"] if experiment.functions else result.get("asked")
    changed = _small(experiment, result) or result["functions"] != experiment.functions
    return (f" --functions {shown}" if changed else "") + (f" --seed {result['seed']}" if result["seed"] else "")


def _glance(cells: Sequence[dict[str, Any]]) -> dict[str, Any]:
    columns, rows = distinct(cells, "method", "order"), distinct(cells, "dataset", "parameter")
    found = {(line["dataset"], line["parameter"], line["method"], line["order"]): line for line in cells}
    grid = []
    for dataset, parameter in rows:
        entries = [_entry(found.get((dataset, parameter, method, order))) for method, order in columns]
        grid.append((named(dataset, parameter), entries))
    return {"columns": [f"{m}, N = {n}" if n is not None else m for m, n in columns], "rows": grid}


def _entry(line: dict[str, Any] | None) -> dict[str, str] | None:
    if line is None:
        return None
    small, mark = f"{ratio(line['mean'] / line['paper_mean'])} × the paper's", "good" if agrees(line) else "bad"
    return {"text": mean_and_deviation(line["mean"], line["std"]), "small": small, "mark": mark}


def _provenance(experiment: Experiment, result: Result) -> str:
    facts: dict[str, Any] = {"seed": result["seed"], "device": result["device"]}
    if experiment.functions:
        full = "" if not _small(experiment, result) else f" (of {experiment.functions} at full scale)"
        facts = {"functions per data set": f"{result['functions']}{full}", **facts}
    facts.update(result["settings"])
    listed = "; ".join(f"{name} {_plain(value)}" for name, value in facts.items())
    command = f"python -m reproduction {experiment.name}{_options(experiment, result)}"
    return f"`{command}`: {listed}; {result['seconds']:.1f} s of work."


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return "(" + ", ".join(f"{name.replace('_', ' ')} {_plain(item)}" for name, item in value.items()) + ")"
    if isinstance(value, list):
        return ", ".join(map(_plain, value))
    return str(value)


def _drawn(picture: Picture, figures: Path) -> Drawn:
    """Draw once; keep SVG and PNG files for talks and return the SVG for the page."""
    with style.use():
        figure = picture.draw()
        buffer, pixels = io.BytesIO(), io.BytesIO()
        # The layout is found once, not once per format; without an engine nothing is drawn to find it again.
        figure.draw_without_rendering()
        figure.set_layout_engine(None)
        figure.savefig(buffer, format="svg", metadata={"Date": None})
        figure.savefig(pixels, format="png")
    _files.write_atomic(figures / f"{picture.name}.svg", buffer.getvalue())
    _files.write_atomic(figures / f"{picture.name}.png", pixels.getvalue())
    alt = picture.alt or picture.caption
    return Drawn(picture.name, page.inline(buffer.getvalue().decode(), picture.name, alt), picture.caption, alt)
