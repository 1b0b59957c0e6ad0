"""Put the tables of README.md together from result files: python docs/readme.py [--check].

Reads, in benchmarks/results: accuracy.json, forecast_dev.json, ordinary.json, cpu.json and
first_answer.json, each made by `python -m benchmarks NAME`.
"""

from __future__ import annotations

import sys
from typing import Any

from blocks import ROOT, lines, power, results, write


def headline() -> str:
    """Six rows: ours and the best rival, the better one in bold."""
    head = ["smaller is better, unless said", "prophecy", "best rival", "which"]
    rows = [_next_value(), _chaos(), *_ordinary(), _speed()]
    return lines(head, [_row(*row) for row in rows])


def _row(what: str, ours: str, theirs: str, name: str, wins: bool) -> list[str]:
    return [what, f"**{ours}**" if wins else ours, theirs if wins else f"**{theirs}**", name]


Row = tuple[str, str, str, str, bool]


def _next_value() -> Row:
    rows = results("accuracy.json")["rows"]["beyond"]
    error = {
        row["method"]: row["mean"]
        for row in rows
        if (row["metric"], row["dataset"], row["parameter"]) == ("mse", "Van der Pol", 0)
    }
    ours, best = error["Prophecy"], error["best in hindsight"]
    what = "next value of a smooth oscillator, squared error"
    return what, power(ours), power(best), "autoregression tuned in hindsight", ours <= best


def _chaos() -> Row:
    found = results("forecast_dev.json")["summary"]["all"]
    names = {"copy": "last value", "repetition": "best match repeated", "linear": "linear autoregression"}
    ours, best = found["ours"]["vpt_median"], max(names, key=lambda name: found[name]["vpt_median"])
    theirs = found[best]["vpt_median"]
    what = "43 chaotic systems, Lyapunov times until wrong (10 were asked; larger is better)"
    return what, f"{ours:.2g}", f"{theirs:.2g}", names[best], ours >= theirs


def _ordinary() -> list[Row]:
    """Rivals that ran on every series; ours of the latest run."""
    ours = {row["set"]: row for row in results("ordinary.json")["rows"] if row["method"] == "prophecy"}
    rivals = [r for r in results("ordinary.json")["rows"] if r["every"] == 1 and not r["method"].startswith("prophecy")]
    asked = (
        ("m1 monthly", "mase", "617 monthly series (M1), MASE"),
        ("m4 hourly", "mase", "207 hourly series (M4), MASE"),
        ("etth1 48", "msis", "transformer load (ETTh1), 48 hours, score of the 95 % interval"),
    )
    made = []
    for key, score, what in asked:
        best = min((row for row in rivals if row["set"] == key), key=lambda row: row[score])
        mine: Any = ours[key][score]
        made.append((what, f"{mine:.2f}", f"{best[score]:.2f}", best["method"], mine <= best[score]))
    return made


def _speed() -> Row:
    (case,) = (case for case in results("cpu.json")["cases"] if case["case"] == "prophecy")
    took = {entry["name"]: entry["seconds"] / case["samples"] * 1e6 for entry in case["entries"]}
    ours = took.pop("Prophecy")
    name = min(took, key=lambda key: took[key])
    return "time a value in a stream", f"{ours:.1f} µs", f"{took[name]:.1f} µs", name, ours <= took[name]


def first() -> str:
    """What a newcomer waits for."""
    found = results("first_answer.json")
    python, file = (
        found["seconds"][name]["processor"]["least"] for name in ("the README's Python", "prophecy forecast --plot")
    )
    return (
        f"These lines take {python:.1f} s of processor time in a fresh process, imports included; the forecast of the "
        f"file above {file:.1f} s, with its picture."
    )


TABLES = {"first": first, "headline": headline}


if __name__ == "__main__":
    sys.exit(write(ROOT / "README.md", "readme.py", TABLES, sys.argv[1:]))
