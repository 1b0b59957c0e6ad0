"""Forecasts of textbook systems that are no attractors: transients, growth, decay, relaxation, through noise.

    python -m benchmarks.textbook --jobs 16 --out benchmarks/results/textbook.json

A law that fits such a series through noise may lead elsewhere after it, which chaotic series, that visit everything
again and again, hardly show. Each system is integrated here, sampled as it usually is, seen with noise (a share of each
variable's standard deviation over the context), and its coming values as they are measured are counted in the
intervals of level 0.9: per variable, draw, system. Which laws were announced is beside it, and whether their
coefficients predict: `off` is the root mean square error of the mean, in standard deviations of the context.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.forecast_dev import warm
from benchmarks.harness import Benchmark, Options, option
from benchmarks.systems import TEXTBOOK, seen

NOISES, DRAWS, LEVEL = (0.01, 0.03, 0.1), 3, 0.9


def one(job: tuple[str, float, int]) -> dict[str, Any]:
    name, noise, draw = job
    system = TEXTBOOK[name]
    path, _, _ = system.integrated("DOP853", 1e-11, 1e-13)
    found = seen(system, path, None, noise, [draw, *name.encode()], LEVEL)
    low, high, mean = (np.asarray(each) for each in (found.answer.lower, found.answer.upper, found.answer.point))
    return {
        "system": name, "noise": noise, "draw": draw, "method": found.answer.method, "law": found.law is not None,
        "coverage": found.inside.mean(axis=0).round(3).tolist(),
        "width": ((high - low) / found.scale).mean(axis=0).round(4).tolist(),
        "off": np.sqrt((((mean - found.truth) / found.scale) ** 2).mean(axis=0)).round(4).tolist(),
        "seconds": round(found.seconds, 3),
    }  # fmt: skip


def summary(rows: list[dict[str, Any]], options: Options) -> dict[str, Any]:
    """Per noise: coverage over all, of the worst variable of each system, and the share of systems below 0.6."""
    found: dict[str, Any] = {}
    for noise in sorted({row["noise"] for row in rows}):
        some = [row for row in rows if row["noise"] == noise]
        per_system = {
            name: float(np.mean([np.mean(row["coverage"]) for row in some if row["system"] == name]))
            for name in dict.fromkeys(row["system"] for row in some)
        }
        worst = [min(row["coverage"]) for row in some]
        found[f"{noise:g}"] = {
            "coverage": round(float(np.mean(list(per_system.values()))), 3),
            "systems_below_0.6": sorted(name for name, share in per_system.items() if share < 0.6),
            "forecasts_with_a_variable_below_0.6": round(float(np.mean(np.array(worst) < 0.6)), 3),
            "laws": round(float(np.mean([row["law"] for row in some])), 3),
            "off_median": round(float(np.median([np.mean(row["off"]) for row in some])), 4),
            "width_median": round(float(np.median([np.mean(row["width"]) for row in some])), 4),
            "per_system": {name: round(share, 3) for name, share in per_system.items()},
        }
    return {"level": LEVEL, "draws": options.draws, "summary": found, "rows": rows}


def cases(options: Options) -> list[tuple[str, float, int]]:
    names = options.systems or list(TEXTBOOK)
    return [(name, noise, draw) for noise in options.noises for name in names for draw in range(options.draws)]


def line(row: dict[str, Any]) -> str:
    return (
        f"{row['system']:20} {row['noise']:4g} {row['draw']} {'law' if row['law'] else '   '} cover {row['coverage']}"
        f" off {row['off']} width {row['width']} {row['seconds']} s {row['method']}"
    )


BENCHMARK = Benchmark(
    __doc__, cases, one, summary, line,
    (
        option("--systems", nargs="*"),
        option("--noises", type=float, nargs="*", default=NOISES),
        option("--draws", type=int, default=DRAWS),
    ),
    warm,
)  # fmt: skip

if __name__ == "__main__":
    BENCHMARK.run()
