"""The speed table, made from result files: `python -m prophecy.benchmarks.table [--results FOLDER] [DOCUMENT …]`.

Prints the table, or puts it between the marks MARKS of the documents it is given.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from prophecy import _files
from prophecy.benchmarks.measure import seconds as pretty

FOLDER = Path("benchmarks/results")
MARKS = ("<!-- speed table: python -m prophecy.benchmarks.table -->", "<!-- /speed table -->")
CEILINGS = ("copy", "matrix product")


def rows(result: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    """(case, our speed, against peers, against ceilings) of every case that passed its check."""
    made = []
    for case in result["cases"]:
        if not case.get("passed"):
            continue
        ours = min((e for e in case["entries"] if e["kind"] == "ours"), key=lambda e: e["seconds"])
        each = ours["seconds"] / case["samples"]
        speed = f"{pretty(each)} a value" if each > 2e-7 else f"{_rate(1 / each)} samples/s"
        peers = [(ratio, name) for name, ratio in case["ratios"].items() if name not in (*CEILINGS, "torch engine")]
        against = ", ".join(f"{_times(ratio)} {name}" for ratio, name in sorted(peers))
        shares = [f"{ratio:.2f} of {_THE[name]}" for name, ratio in case["ratios"].items() if _told(case, name)]
        made.append((_title(case), speed, against, ", ".join(shares)))
    return made


_THE = {"copy": "copying the array", "matrix product": "the matrix product"}


def _told(case: dict[str, Any], ceiling: str) -> bool:
    """A copy is no ceiling worth naming where arithmetic rules: on the CPU the matrix product is."""
    return ceiling == "matrix product" or (ceiling == "copy" and "matrix product" not in case["ratios"])


def _title(case: dict[str, Any]) -> str:
    s = case["settings"]
    if "series" in s:
        where = "H200" if case["case"].startswith("gpu") else _cpu(case)
        what = "LegS, " if case["case"].startswith("legs") else ""
        size = f"{s['series']:,} × {s['samples']:,}".replace(",", " ")
        return f"{where}: {what}{size}, N = {s['order']}, {s['dtype']}"
    if case["case"] == "csv":
        return f"{_cpu(case)}: `prophecy predict`, a CSV of {case['samples']:,} rows".replace(",", " ").replace(
            "  ", ", "
        )
    if case["case"] == "prophecy":
        return f"{_cpu(case)}: `Prophecy`, one stream"
    return f"{_cpu(case)}: `Predictor`, one stream, {_family(case['case'])}, N = {s['order']}"


def _cpu(case: dict[str, Any]) -> str:
    """ "2 cores, AMD EPYC": cases of one file may come from different machines."""
    machine = case.get("machine")
    if not machine:
        return "CPU"
    name = machine["processor"].replace("(R)", "").replace(" Processor", "").strip()
    return f"{machine['cores']} cores, {name}"


def _family(name: str) -> str:
    return {"legt": "LegT", "fout": "FouT", "legs": "LegS"}[name.rsplit("-", 1)[-1]]


def _rate(value: float) -> str:
    return f"{value / 1e9:.3g} billion" if value >= 1e9 else f"{value / 1e6:.3g} million"


def _times(ratio: float) -> str:
    return (
        f"{round(ratio, -2):,.0f} ×".replace(",", " ")
        if ratio >= 1000
        else f"{ratio:.0f} ×"
        if ratio >= 20
        else f"{ratio:.2g} ×"
    )


def markdown(results: list[dict[str, Any]]) -> str:
    lines = ["| case | speed | times as fast as | reaches |", "|---|---|---|---|"]
    for result in results:
        lines += [f"| {' | '.join(row)} |" for row in rows(result)]
    return "\n".join(lines)


def load(folder: Path) -> list[dict[str, Any]]:
    found = [json.loads((folder / name).read_text()) for name in ("cpu.json", "gpu.json") if (folder / name).exists()]
    if not found:
        raise FileNotFoundError(f"no cpu.json or gpu.json in {str(folder)!r}; make them with: prophecy bench --json")
    return found


def insert(document: Path, table: str) -> None:
    """Put the table between the document's marks."""
    text = document.read_text()
    begin, end = MARKS
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
        raise ValueError(f"{str(document)!r} must hold {begin!r} and after it {end!r}, once each")
    before, after = text[: text.index(begin) + len(begin)], text[text.index(end) :]
    _files.write_atomic(document, f"{before}\n{table}\n{after}".encode())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("documents", nargs="*", type=Path)
    parser.add_argument("--results", type=Path, default=FOLDER)
    arguments = parser.parse_args()
    table = markdown(load(arguments.results))
    if not arguments.documents:
        print(table)
    for document in arguments.documents:
        insert(document, table)


if __name__ == "__main__":
    main()
