"""`report.html` from the results files: what the paper says, what comes out, and what to believe.

Nothing is computed here; every number is read from `results/<name>.json`.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from prophecy import _files
from prophecy.reproduce import page, registry, style
from prophecy.reproduce.framework import Experiment, Picture, Result, agrees, ratio, spread
from prophecy.reproduce.runner import Folder, code, read_json

TITLE = "HiPPO-Prophecy, reproduced"
Pages = Sequence[tuple[Experiment, Result]]
BEYOND = 110
"""Pages from this place on ask what the paper did not."""


def write(out: str | Path) -> Path:
    """Draw the figures into `figures/`, write `report.html` in the folder `out`, and return its path."""
    folder = Folder(Path(out))
    found = [
        (experiment, stored)
        for name, experiment in registry.experiments().items()
        if (stored := read_json(folder.result(name))) is not None
    ]
    pages = [(experiment, stored) for experiment, stored in found if stored.get("code") == code(experiment)]
    stale = [experiment.name for experiment, stored in found if stored.get("code") != code(experiment)]
    if not pages:
        raise FileNotFoundError(f"no results in {str(folder.root)!r}; run `prophecy reproduce` first")
    figures = folder.root / "figures"
    figures.mkdir(exist_ok=True)
    body = _summary(pages, stale)
    for experiment, result in pages:
        body += _section(experiment, result, figures)
    links: list[tuple[str, str] | None] = [("summary", "Summary"), ("slips", "What the paper got wrong"), None]
    links += [(experiment.name, experiment.title) for experiment, _ in pages]
    target = folder.root / "report.html"
    _files.write_atomic(target, page.document(TITLE, links, body).encode())
    return target.resolve()


def _summary(pages: Pages, stale: Sequence[str]) -> str:
    cells = [line for _, result in pages for line in result["rows"] if line["paper_mean"] is not None]
    good = [line for line in cells if agrees(line)]
    verdicts = [(verdict, experiment) for experiment, result in pages for verdict in experiment.verdicts(result)]
    own = [(verdict, experiment.name) for verdict, experiment in verdicts if experiment.place >= BEYOND]
    theirs = [(verdict, experiment.name) for verdict, experiment in verdicts if experiment.place < BEYOND]
    slips = [(slip, experiment.name) for experiment, result in pages for slip in experiment.slips(result)]
    count = {mark: sum(verdict.holds is mark for verdict, _ in theirs) for mark in (True, None, False)}
    facts = []
    if cells:
        facts.append((f"{len(good)} of {len(cells)}", "table cells agree with the paper"))
    if theirs:
        told = f"of the paper's statements hold as printed; {count[None]} in part, {count[False]} not"
        facts.append((f"{count[True]} of {len(theirs)}", told))
    facts.append((str(len(slips)), "slips found in the paper"))
    text = (
        '<section id="summary"><header class="top"><span class="kicker">Report</span>'
        f"<h1>{TITLE}</h1>"
        + page.paragraph(
            "Every figure and table of “HiPPO-Prophecy: State-Space Models can Provably Learn Dynamical Systems in "
            "Context” (Arangath Joseph, Haefeli, Liniger, Gulcehre; 2024), computed again from the definitions, with "
            "what holds, what does not, and what anyone would ask next.",
            "lead",
        )
        + "".join(page.paragraph(line, "meta") for line in _origin(pages, stale))
        + "</header>"
        + page.numbers(facts)
    )
    if cells:
        text += "<h3>All cells at a glance</h3>" + page.paragraph(
            "Ours, and ours divided by the paper's mean. Green: within the paper's own mean ± standard deviation, or "
            "within 15 % where it gives none."
        )
        text += _glance(cells)
    if theirs:
        text += "<h3>The paper's statements</h3>" + page.claims(theirs)
    if own:
        text += "<h3>What anyone would ask next</h3>" + page.claims(own)
    text += '</section><section id="slips"><h2>What the paper got wrong</h2>'
    text += page.paragraph("The construction is sound. These are the places where the text and the mathematics part.")
    return text + page.slips(slips) + "</section>"


def _origin(pages: Pages, stale: Sequence[str]) -> list[str]:
    """Which command makes this report, on what it was made, in what time, and what is missing."""
    names = [experiment.name for experiment, _ in pages]
    seconds = sum(float(result["seconds"]) for _, result in pages)
    everything = len(names) == len(registry.experiments())
    small = [experiment for experiment, result in pages if _small(experiment, result)]
    counts = {result["functions"] for experiment, result in pages if experiment.functions}
    seeds = {result["seed"] for _, result in pages}
    command = "prophecy reproduce" + ("" if everything else " " + " ".join(names))
    command += f" --functions {min(counts)}" if small and len(counts) == 1 else ""
    command += f" --seed {min(seeds)}" if len(seeds) == 1 and seeds != {0} else ""
    versions = ", ".join(sorted({str(result["version"]) for _, result in pages}))
    devices = ", ".join(sorted({str(result["device"]) for _, result in pages}))
    machines = "; ".join(sorted({str(result["machine"]) for _, result in pages if "machine" in result}))
    lines = [
        f"Made by `{command}`"
        + (" (`make reproduce` calls it)" if command == "prophecy reproduce" else "")
        + (", the pages with settings of their own" if len(seeds) > 1 or (small and len(counts) > 1) else "")
        + ".",
        f"prophecy {versions} on {devices}{f' ({machines})' if machines else ''}; {len(pages)} "
        f"experiment{'s' if len(pages) > 1 else ''}, {seconds / 60:.1f} minutes of work, summed over processes.",
    ]
    if small:
        lines.append(f"A quick look: {len(small)} of these experiments ran with fewer functions than the paper's.")
    if stale:
        lines.append(f"Left out, made by other code: {', '.join(stale)}; run them again.")
    return lines


def _small(experiment: Experiment, result: Result) -> bool:
    return bool(experiment.functions and result["functions"] < experiment.functions)


def _options(experiment: Experiment, result: Result) -> str:
    """The options that differ from the command's defaults."""
    functions = f" --functions {result['functions']}" if result["functions"] != experiment.functions else ""
    return functions + (f" --seed {result['seed']}" if result["seed"] else "")


def _glance(cells: Sequence[dict[str, Any]]) -> str:
    columns = list(dict.fromkeys((line["method"], line["order"]) for line in cells))
    rows = list(dict.fromkeys((line["dataset"], line["parameter"]) for line in cells))
    grid = []
    for dataset, parameter in rows:
        entries: list[tuple[str, str, bool] | None] = []
        for method, order in columns:
            found = [
                line
                for line in cells
                if (line["dataset"], line["parameter"], line["method"], line["order"])
                == (dataset, parameter, method, order)
            ]
            entries.append(_entry(found[0]) if found else None)
        grid.append((f"{dataset} {parameter}" if parameter is not None else dataset, entries))
    return page.glance([f"{m}, N = {n}" if n is not None else m for m, n in columns], grid)


def _entry(line: dict[str, Any]) -> tuple[str, str, bool]:
    small = f"{ratio(line['mean'] / line['paper_mean'])} × the paper's"
    return spread(line["mean"], line["std"]), small, bool(agrees(line))


def _section(experiment: Experiment, result: Result, figures: Path) -> str:
    text = f'<section id="{experiment.name}"><span class="kicker">{escape(experiment.reference)}</span>'
    text += f"<h2>{escape(experiment.title)}</h2>"
    if experiment.introduction:
        text += page.paragraph(experiment.introduction)
    text += page.claims((verdict, None) for verdict in experiment.verdicts(result))
    for drawn in experiment.pictures(result):
        text += page.picture(_svg(drawn, figures), drawn.caption)
    for table in experiment.tables(result):
        text += page.table(table)
    return text + _provenance(experiment, result) + "</section>\n"


def _provenance(experiment: Experiment, result: Result) -> str:
    facts: dict[str, Any] = {"seed": result["seed"], "device": result["device"]}
    if experiment.functions:
        full = "" if not _small(experiment, result) else f" (of {experiment.functions} at full scale)"
        facts = {"functions per data set": f"{result['functions']}{full}", **facts}
    facts.update(result["settings"])
    listed = "; ".join(f"{name} {_plain(value)}" for name, value in facts.items())
    command = f"prophecy reproduce {experiment.name}{_options(experiment, result) if experiment.functions else ''}"
    return page.paragraph(f"`{command}`: {listed}; {result['seconds']:.1f} s of work.", "meta")


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return "(" + ", ".join(f"{name.replace('_', ' ')} {_plain(item)}" for name, item in value.items()) + ")"
    if isinstance(value, list):
        return ", ".join(map(_plain, value))
    return str(value)


def _svg(drawn: Picture, figures: Path) -> str:
    """Draw once; keep SVG and PNG files for talks and return the SVG for the page."""
    with style.use():
        figure = drawn.draw()
        buffer, pixels = io.BytesIO(), io.BytesIO()
        # The layout is found once, not once per format.
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
        figure.savefig(buffer, format="svg", metadata={"Date": None})
        figure.savefig(pixels, format="png")
    _files.write_atomic(figures / f"{drawn.name}.svg", buffer.getvalue())
    _files.write_atomic(figures / f"{drawn.name}.png", pixels.getvalue())
    text = buffer.getvalue().decode()
    text = text[text.index("<svg") :]
    # The page scales the figure: a viewBox without a fixed size does. Ids are made unique, since all share one page.
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
    prefix = re.sub(r"\W", "-", drawn.name)
    text = re.sub(r'id="([^"]+)"', rf'id="{prefix}-\1"', text)
    text = re.sub(r'(xlink:href|href)="#([^"]+)"', rf'\1="#{prefix}-\2"', text)
    return re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", text)
