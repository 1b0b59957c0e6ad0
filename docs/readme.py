"""Put the headline tables of README.md together from result files: python docs/readme.py [--check].

Reads, in benchmarks/results: accuracy.json (made by benchmarks/accuracy.py), forecast_dev.json
(benchmarks/forecast_dev.py), ordinary.json (benchmarks/ordinary.py), cpu.json (python -m benchmarks cpu) and gpu.json
(python -m benchmarks gpu).
"""

from __future__ import annotations

import re
import sys
from typing import Any

from blocks import ROOT, results, write
from speed import markdown

HEADLINE = ("batch-double", "stream-legt", "prophecy", "gpu-16", "gpu-64", "gpu-long", "gpu-double")

SIGNALS = {
    "White γ = 0.3": "White Signal, γ = 0.3",
    "White γ = 1": "White Signal, γ = 1",
    "White γ = 2": "White Signal, γ = 2",
    "Van der Pol": "Van der Pol",
    "Bernoulli": "Bernoulli",
    "Filtered α = 0.05": "Filtered Noise, α = 0.05",
    "Filtered α = 0.1": "Filtered Noise, α = 0.1",
    "Filtered α = 0.3": "Filtered Noise, α = 0.3",
}


SETS = {
    "m1 yearly": "M1 yearly",
    "m1 quarterly": "M1 quarterly",
    "m1 monthly": "M1 monthly",
    "m4 hourly": "M4 hourly, half",
    "etth1 48": "ETTh1, 48 hours",
    "etth1 720": "ETTh1, 720 hours",
}
RIVALS = ("seasonal naive", "Theta", "AutoETS", "AutoTheta", "FLAIR")


def ordinary() -> str:
    """MASE (and the interval score MSIS) per set; a rival on every n-th series shows ours on the same ones."""
    rows = results("ordinary.json")["rows"]
    found = {(row["set"], row["method"]): row for row in rows}
    lines = [
        f"| MASE (MSIS of the 95 % interval) | **`prophecy.forecast`** | {' | '.join(RIVALS)} |",
        "|---|---|" + "---|" * len(RIVALS),
    ]
    for key, name in SETS.items():
        ours = found[key, "prophecy"]
        cells = [f"**{ours['mase']:.2f}** ({ours['msis']:.1f})"]
        for rival in RIVALS:
            row = found.get((key, rival))
            cells.append("" if row is None else f"{row['mase']:.2f} ({row['msis']:.1f})" + _same(row))
        lines.append(f"| {name}, {ours['series']} forecasts | {' | '.join(cells)} |")
    return "\n".join(lines)


def _same(row: dict[str, Any]) -> str:
    if row["every"] == 1:
        return ""
    same = row["ours_same"]
    return f"; ours on the same {row['series']}: {same['mase']:.2f} ({same['msis']:.1f})"


def accuracy() -> str:
    """One-step MSE per signal: the paper's best, a line, the best baseline tuned in hindsight, ours, the floor."""
    rows = results("accuracy.json")["rows"]["beyond"]
    found: dict[tuple[str, float], dict[str, float]] = {}
    for row in rows:
        if row["metric"] == "mse":
            found.setdefault((row["dataset"], row["parameter"]), {})[row["method"]] = row["mean"]
    lines = [
        "| mean squared error of the next value | paper, best | straight line | best baseline, tuned in hindsight "
        "| `Prophecy()` | cannot be beaten |",
        "|---|---|---|---|---|---|",
    ]
    for (dataset, noise), errors in found.items():
        if noise and (dataset, noise) not in (("White γ = 1", 0.01), ("Van der Pol", 0.01)):
            continue
        name = SIGNALS[dataset] + (f" + noise σ = {noise:g}" if noise else "")
        floor = "rounding" if errors["floor"] < 1e-30 else _power(errors["floor"])
        cells = [_power(errors[m]) for m in ("paper", "line", "best in hindsight")]
        lines.append(f"| {name} | {' | '.join(cells)} | **{_power(errors['Prophecy'])}** | {floor} |")
    return "\n".join(lines)


def forecast() -> str:
    """Many steps ahead on chaotic systems: ours beside what a context offers without solving for anything."""
    summary = results("forecast_dev.json")["summary"]["all"]
    lines = [
        "| 300 steps from 512, 30 samples per Lyapunov time | valid prediction time in Lyapunov times: median (mean) "
        "| sMAPE: median |",
        "|---|---|---|",
    ]
    names = {"copy": "copy the last value", "repetition": "repeat the best match", "linear": "linear autoregression"}
    for key, name in {**names, "ours": "**`prophecy.forecast`**"}.items():
        s = summary[key]
        bold = "**" if key == "ours" else ""
        smape = f"{s['smape_median']:.2g}" if s["smape_median"] < 10 else f"{s['smape_median']:.0f}"
        lines.append(f"| {name} | {bold}{s['vpt_median']:.2g} ({s['vpt_mean']:.2g}){bold} | {bold}{smape}{bold} |")
    return "\n".join(lines)


def speed() -> str:
    """The cases most people ask about; docs/speed.md has all."""
    found = [results("cpu.json"), results("gpu.json")]
    chosen = [result | {"cases": [case for case in result["cases"] if case["case"] in HEADLINE]} for result in found]
    return markdown(chosen)


def _power(value: float) -> str:
    """1.2e-5 rather than 1.2e-05."""
    return re.sub(
        r"e([+-])0?", lambda m: "e" + m[1].replace("+", ""), f"{value:.2g}" if value >= 1e-2 else f"{value:.1e}"
    )


TABLES = {"accuracy": accuracy, "ordinary": ordinary, "forecast": forecast, "speed": speed}


if __name__ == "__main__":
    sys.exit(write(ROOT / "README.md", "readme.py", TABLES, sys.argv[1:]))
