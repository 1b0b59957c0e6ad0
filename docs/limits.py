"""Put the numbers of docs/limits.md together from result files: python docs/limits.py [--check].

Reads, in benchmarks/results: forecast_dev*.json, ordinary.json, terms.json and streams.json.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from blocks import ROOT, lines, power, results, write


def numbers() -> str:
    """What the sentences of the page rest on, in their order."""
    rows = [*_chaos(), *_streams(), *_seconds(), *_sums()]
    return lines(["what", "measured", "file"], [[what, found, f"`{file}`"] for what, found, file in rows])


Row = tuple[str, str, str]


def _chaos() -> list[Row]:
    asked = (("1 % noise", "noise1"), ("5 % noise", "noise5"), ("one variable seen", "single"))
    return [
        (
            f"median Lyapunov times that a chaotic system is followed, {what}",
            f"{results(f'forecast_dev_{file}.json')['summary']['all']['ours']['vpt_median']:.1f}",
            f"forecast_dev_{file}.json",
        )
        for what, file in asked
    ]


def _streams() -> list[Row]:
    found = results("streams.json")
    mistaken = found["seasons"]["found where there is none, of 100"]["resonance, memory of 2000"]
    tones = found["irregular"]["two tones, noise 0"]
    uneven = " and ".join(power(tones[f"intervals ± {share}%"]) for share in (50, 90))
    return [
        ("strong resonances taken for a season, memory of 2 000 samples", f"{mistaken} of 100", "streams.json"),
        (
            "error on two tones without noise: on a grid; intervals ± 50 % and ± 90 %",
            f"{power(tones['on the grid'])}; {uneven}",
            "streams.json",
        ),
    ]


def _seconds() -> list[Row]:
    """Time of one forecast, on one core."""
    months = next(
        row["seconds"]
        for row in results("ordinary.json")["rows"]
        if (row["set"], row["method"]) == ("m1 monthly", "prophecy")
    )
    found = [("a monthly series (M1)", f"{1e3 * months:.0f} ms", "ordinary.json")]
    for what, file in (("a chaotic system, 1 % noise", "noise1"), ("one variable of it, no noise", "single")):
        rows: list[dict[str, Any]] = results(f"forecast_dev_{file}.json")["rows"]
        took = [row["seconds"] for row in rows]
        cell = f"{np.median(took):.2f} s; {np.quantile(took, 0.9):.1f} s"
        found.append((f"{what}: median; slowest tenth", cell, f"forecast_dev_{file}.json"))
    return [(f"time of a forecast on one core, {what}", cell, file) for what, cell, file in found]


def _sums() -> list[Row]:
    """Systems whose variables have a constant sum."""
    found = [row for row in results("terms.json")["summary"] if (row["kind"], row["choice"]) == ("constant sums", 1.0)]
    return [
        (
            f"variables with a constant sum, {100 * row['noise']:g} % noise: right terms; no law",
            f"{row['right']} of {row['runs']}; {row['runs'] - row['laws']}",
            "terms.json",
        )
        for row in found
    ]


if __name__ == "__main__":
    sys.exit(write(ROOT / "docs" / "limits.md", "limits.py", {"numbers": numbers}, sys.argv[1:]))
