"""Forecasts of textbook systems that are no attractors: transients, growth, decay, relaxation, through noise.

    python -m benchmarks.textbook --jobs 16 --out benchmarks/results/textbook.json

A law that fits such a series through noise may lead elsewhere after it, which chaotic series, that visit everything
again and again, hardly show. Each system is integrated here, sampled as it usually is, seen with noise (a share of each
variable's standard deviation over the context), and its coming values as they are measured are counted in the
intervals of level 0.9: per variable, draw, system. Which laws were announced is beside it, and whether their
coefficients predict: `off` is the root mean square error of the mean, in standard deviations of the context.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from benchmarks.forecast_dev import warm
from prophecy.forecasting import forecast

Array = NDArray[np.float64]
NOISES, DRAWS, LEVEL = (0.01, 0.03, 0.1), 3, 0.9


class System(NamedTuple):
    """field(state): its rates. dt: time between samples. seen: samples of context; ahead: samples to predict."""

    field: Callable[[Any], list[float]]
    start: tuple[float, ...]
    dt: float
    seen: int
    ahead: int


def _brusselator(s: Any) -> list[float]:
    x, y = s
    return [1 + x * x * y - 4 * x, 3 * x - x * x * y]


def _fitzhugh(s: Any) -> list[float]:
    v, w = s
    return [v - v**3 / 3 - w + 0.5, 0.08 * (v + 0.7 - 0.8 * w)]


def _goodwin(s: Any) -> list[float]:
    x, y, z = s
    return [1 / (1 + z**10) - 0.1 * x, x - 0.1 * y, 0.1 * y - 0.1 * z]


def _enzyme(s: Any) -> list[float]:
    a, b = s
    return [-1.2 * a / (0.5 + a), 1.2 * a / (0.5 + a) - 0.4 * b]


def _holling3(s: Any) -> list[float]:
    n, p = s
    eaten = n * n / (0.3 + n * n) * p
    return [n * (1 - n / 3) - eaten, 0.7 * eaten - 0.3 * p]


SYSTEMS: dict[str, System] = {
    "toggle": System(lambda s: [4 / (1 + s[1] ** 2) - s[0], 4 / (1 + s[0] ** 2) - s[1]], (0.1, 0.2), 0.05, 200, 60),
    "SIR": System(
        lambda s: [-0.4 * s[0] * s[1], 0.4 * s[0] * s[1] - 0.1 * s[1], 0.1 * s[1]], (0.99, 0.01, 0.0), 0.25, 200, 100
    ),
    "damped pendulum": System(lambda s: [s[1], -np.sin(s[0]) - 0.1 * s[1]], (2.5, 0.0), 0.1, 300, 200),
    "Michaelis-Menten": System(_enzyme, (3.0, 0.0), 0.04, 150, 60),
    "FitzHugh-Nagumo": System(_fitzhugh, (-1.0, 1.0), 0.4, 300, 200),
    "Brusselator": System(_brusselator, (1.0, 1.0), 0.1, 300, 200),
    "Goodwin": System(_goodwin, (0.1, 0.2, 2.5), 1.0, 300, 150),
    "glycolysis": System(
        lambda s: [-s[0] + 0.08 * s[1] + s[0] ** 2 * s[1], 0.6 - 0.08 * s[1] - s[0] ** 2 * s[1]],
        (0.5, 0.5), 0.1, 300, 200,
    ),
    "competing species": System(
        lambda s: [s[0] * (1 - s[0] - 0.5 * s[1]), s[1] * (0.8 - s[1] - 0.6 * s[0])], (0.02, 0.05), 0.1, 100, 60
    ),
    "Rosenzweig-MacArthur": System(
        lambda s: [s[0] * (1 - s[0] / 5) - s[0] * s[1] / (1 + s[0]), 0.8 * s[0] * s[1] / (1 + s[0]) - 0.4 * s[1]],
        (1.0, 1.0), 0.2, 300, 150,
    ),
    "Holling III": System(_holling3, (1.0, 0.5), 0.2, 200, 100),
    "damped Duffing": System(lambda s: [s[1], s[0] - s[0] ** 3 - 0.15 * s[1]], (2.0, 1.0), 0.1, 300, 200),
    "two masses": System(
        lambda s: [s[1], -4 * s[0] + s[2] - 0.05 * s[1], s[3], 2 * s[0] - 2 * s[2] - 0.05 * s[3]],
        (1.0, 0.0, 0.3, 0.0), 0.1, 300, 200,
    ),
    "tank cascade": System(
        lambda s: [0.5 - 0.4 * np.sqrt(max(s[0], 0.0)), 0.4 * np.sqrt(max(s[0], 0.0)) - 0.3 * np.sqrt(max(s[1], 0.0))],
        (0.2, 2.5), 0.1, 200, 100,
    ),
}  # fmt: skip


def integrated(system: System) -> Array:
    times = np.arange(system.seen + system.ahead) * system.dt
    path = solve_ivp(
        lambda _, s: system.field(s),
        (0, times[-1]),
        system.start,
        t_eval=times,
        rtol=1e-11,
        atol=1e-13,
        method="DOP853",
    )
    return np.asarray(path.y.T)


def one(job: tuple[str, float, int]) -> dict[str, Any]:
    name, noise, draw = job
    system = SYSTEMS[name]
    series = integrated(system)
    scale = series[: system.seen].std(axis=0)
    generator = np.random.default_rng([draw, *name.encode()])
    measured = series + noise * scale * generator.standard_normal(series.shape)
    began = time.process_time()
    answer = forecast(measured[: system.seen], system.ahead, LEVEL)
    seconds = time.process_time() - began
    truth, future = series[system.seen :], measured[system.seen :]
    low, high, mean = (np.asarray(each) for each in (answer.lower, answer.upper, answer.point))
    inside = ((low <= future) & (future <= high)).mean(axis=0)
    return {
        "system": name, "noise": noise, "draw": draw, "method": answer.method, "law": answer.equations() is not None,
        "coverage": inside.round(3).tolist(), "width": ((high - low) / scale).mean(axis=0).round(4).tolist(),
        "off": np.sqrt((((mean - truth) / scale) ** 2).mean(axis=0)).round(4).tolist(), "seconds": round(seconds, 3),
    }  # fmt: skip


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
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
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--systems", nargs="*")
    parser.add_argument("--noises", type=float, nargs="*", default=NOISES)
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    names = options.systems or list(SYSTEMS)
    jobs = [(name, noise, draw) for noise in options.noises for name in names for draw in range(options.draws)]
    rows = []
    with ProcessPoolExecutor(options.jobs, initializer=warm) as pool:
        for row in pool.map(one, jobs):
            rows.append(row)
            print(
                f"{row['system']:20} {row['noise']:4g} {row['draw']} {'law' if row['law'] else '   '}"
                f" cover {row['coverage']} off {row['off']} width {row['width']} {row['seconds']} s {row['method']}",
                flush=True,
            )
    result = {"level": LEVEL, "draws": options.draws, "summary": summary(rows), "rows": rows}
    print(json.dumps(result["summary"], indent=1))
    if options.out:
        options.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
