"""Laws of systems from chemistry, biology, mechanics and circuits: found, missed, false.

    python -m benchmarks.census --jobs 16 --out benchmarks/results/census.json
    python -m benchmarks.census --part work --draws 1          # two thirds, to work on
    python -m benchmarks.census --part one --part known        # one variable; inputs given as `known=`

No development list has these systems. Each is integrated here, sampled as a laboratory would, and seen with noise (a
share of each variable's standard deviation over the context). A law is **announced** where `equations()` is not None.
It is **right** where its derivative along the true path differs from the true one by at most 5 % (root mean square over
rows and variables, each variable in units of its own root mean square) and it has no term of time and no forcing that
the system lacks; otherwise **false**. coverage: share of the measured values to come that lie in the interval of level
0.9, of announced laws. A third of the systems, drawn by a seed, is the part "apart": looked at once, at the end.
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
NOISES, DRAWS, LEVEL, OFF = (0.001, 0.01, 0.03), 5, 0.9, 0.05
SEED = 29  # of the third that is set apart


class System(NamedTuple):
    """field(state): its rates, of (t, state) where inputs are given. dt: time between samples. seen: samples of
    context; ahead: samples to predict. shown: how many variables are measured, None for all. inputs: functions of time
    that are given as `known=`."""

    field: Callable[..., list[Any]]
    start: tuple[float, ...]
    dt: float
    seen: int = 400
    ahead: int = 100
    shown: int | None = None
    inputs: Callable[[Any], Array] | None = None


def _chemostat(s: Any) -> list[Any]:
    growth = s[0] * s[1] / (1 + s[0])
    return [0.3 * (5 - s[0]) - growth / 0.6, growth - 0.3 * s[1]]


def _stirred_tank(s: Any) -> list[Any]:
    rate = 0.11 * (1 - s[0]) * np.exp(s[1])
    return [-s[0] + rate, -4 * s[1] + 14 * rate]


def _chlorine(s: Any) -> list[Any]:
    eaten = s[0] * s[1] / (1 + s[0] ** 2)
    return [10 - s[0] - 4 * eaten, 2 * (s[0] - eaten)]


def _tumour(s: Any) -> list[Any]:
    e, t = s
    return [0.12 + 1.13 * e * t / (2 + t) - 0.3 * e * t - 0.37 * e, 1.6 * t * (1 - 0.2 * t) - e * t]


def _plankton(s: Any) -> list[Any]:
    n, p, z = s
    grown, grazed = n * p / (0.5 + n), 0.8 * p * z
    return [0.3 * (2 - n) - grown, grown - grazed - 0.2 * p, 0.6 * grazed - 0.3 * z]


def _repressilator(s: Any) -> list[Any]:
    x, y, z = s
    return [6 / (1 + z**2) - x, 6 / (1 + x**2) - y, 6 / (1 + y**2) - z]


def _projectile(s: Any) -> list[Any]:
    speed = np.hypot(s[0], s[1])
    return [-0.02 * speed * s[0], -9.81 - 0.02 * speed * s[1]]


def _kuramoto(s: Any) -> list[Any]:
    a, b, c = s
    return [
        1.0 + 0.3 * (np.sin(b - a) + np.sin(c - a)),
        1.4 + 0.3 * (np.sin(a - b) + np.sin(c - b)),
        2.1 + 0.3 * (np.sin(a - c) + np.sin(b - c)),
    ]


def _diodes(s: Any) -> list[Any]:
    return [2 - s[0] - 0.05 * (np.exp(3 * s[0]) - 1) - 0.5 * (s[0] - s[1]), 0.5 * (s[0] - s[1])]


def _rigid_body(s: Any) -> list[Any]:
    a, b, c = s
    return [0.8 * b * c - 0.02 * a, -1.2 * a * c - 0.02 * b, 0.5 * a * b - 0.02 * c]


SYSTEMS: dict[str, System] = {
    # Chemistry
    "chemostat": System(_chemostat, (4.0, 0.1), 0.1),
    "dimers": System(lambda s: [-2 * s[0] ** 2 + 0.6 * s[1], s[0] ** 2 - 0.3 * s[1]], (2.0, 0.0), 0.02, 200, 60),
    "chlorine dioxide": System(_chlorine, (1.0, 2.0), 0.05),
    "stirred tank": System(_stirred_tank, (0.1, 0.2), 0.02, 300, 80),
    "cubic autocatalysis": System(
        lambda s: [0.04 * (1 - s[0]) - s[0] * s[1] ** 2, s[0] * s[1] ** 2 - 0.1 * s[1]], (0.4, 0.35), 0.5
    ),
    "Schnakenberg": System(lambda s: [0.1 - s[0] + s[0] ** 2 * s[1], 0.9 - s[0] ** 2 * s[1]], (0.3, 1.0), 0.1),
    "two reactants": System(
        lambda s: [-0.8 * s[0] * s[1], -0.8 * s[0] * s[1], 0.8 * s[0] * s[1] - 0.3 * s[2]], (1.5, 1.0, 0.0), 0.05, 200
    ),
    "reversible steps": System(
        lambda s: [-0.7 * s[0] + 0.2 * s[1], 0.7 * s[0] - 0.7 * s[1] + 0.1 * s[2], 0.5 * s[1] - 0.1 * s[2]],
        (1.0, 0.0, 0.2), 0.05, 200,
    ),
    "ozone": System(lambda s: [0.5 - s[0] * s[1] - 0.2 * s[0], 0.8 * s[0] - 0.5 * s[0] * s[1] - 0.1 * s[1]],
                    (0.1, 0.05), 0.1, 250),
    # Biology
    "SEIR": System(
        lambda s: [0.05 * (1 - s[0]) - 2 * s[0] * s[2], 2 * s[0] * s[2] - 0.7 * s[1], 0.7 * s[1] - 0.5 * s[2]],
        (0.9, 0.02, 0.02), 0.1,
    ),
    "virus": System(
        lambda s: [1 - 0.1 * s[0] - 0.5 * s[0] * s[2], 0.5 * s[0] * s[2] - 0.6 * s[1], 3 * s[1] - 2 * s[2]],
        (5.0, 0.1, 0.1), 0.1,
    ),
    "Leslie-Gower": System(
        lambda s: [s[0] * (1 - s[0] / 4) - 0.6 * s[0] * s[1], 0.3 * s[1] * (1 - s[1] / s[0])], (2.0, 0.4), 0.2
    ),
    "three in a chain": System(
        lambda s: [s[0] * (1.2 - 0.1 * s[0] - s[1]), s[1] * (s[0] - 0.5 - s[2]), s[2] * (0.8 * s[1] - 0.5)],
        (1.0, 0.6, 0.4), 0.1,
    ),
    "glucose and insulin": System(
        lambda s: [0.03 * (90 - s[0]) - s[1] * s[0], -0.025 * s[1] + 1.3e-5 * s[2], -0.15 * s[2]],
        (280.0, 0.0, 350.0), 1.0, 180, 40,
    ),
    "two compartments": System(
        lambda s: [-0.9 * s[0] + 0.25 * s[1], 0.5 * s[0] - 0.25 * s[1]], (10.0, 0.0), 0.05, 200, 60
    ),
    "tumour and immune cells": System(_tumour, (1.0, 0.5), 0.1),
    "plankton": System(_plankton, (1.5, 0.2, 0.1), 0.2),
    "repressilator": System(_repressilator, (0.5, 1.0, 3.0), 0.05, 300),
    "mutualists": System(
        lambda s: [s[0] * (1 - s[0] + 0.4 * s[1]), s[1] * (0.6 - s[1] + 0.5 * s[0])], (0.05, 0.4), 0.05, 200, 60
    ),
    # Mechanics
    "rolling ship": System(lambda s: [s[1], -s[0] + 0.6 * s[0] ** 3 - 0.1 * s[1]], (1.0, 0.0), 0.1, 300),
    "bead on a hoop": System(
        lambda s: [s[1], np.sin(s[0]) * (2 * np.cos(s[0]) - 1) - 0.2 * s[1]], (2.0, 0.5), 0.1, 300
    ),
    "spring with drag": System(lambda s: [s[1], -2 * s[0] - 0.3 * abs(s[1]) * s[1]], (2.0, 0.0), 0.08, 300),
    "spring with dry friction": System(
        lambda s: [s[1], -3 * s[0] - 0.25 * np.tanh(200 * s[1])], (3.0, 0.0), 0.05, 200, 30
    ),
    "projectile": System(_projectile, (30.0, 25.0), 0.02, 200, 60),
    "rigid body": System(_rigid_body, (1.0, 0.4, 1.5), 0.1),
    "phases": System(_kuramoto, (0.0, 1.0, 2.0), 0.1),
    "spring that hardens, two masses": System(
        lambda s: [s[1], -2 * s[0] - s[0] ** 3 + s[2] - 0.1 * s[1], s[3], s[0] - s[2] - 0.1 * s[3]],
        (1.2, 0.0, 0.0, 0.5), 0.1,
    ),
    # Circuits
    "series circuit": System(lambda s: [s[1], 4 - 2 * s[0] - 0.4 * s[1]], (0.0, 0.0), 0.06, 200),
    "tunnel diode": System(
        lambda s: [s[1] - (4 * s[0] - 5.5 * s[0] ** 2 + 2.2 * s[0] ** 3), 0.5 * (1.0 - s[0] - 0.2 * s[1])],
        (0.1, 0.5), 0.05,
    ),
    "diodes": System(_diodes, (0.0, 0.0), 0.04, 200, 60),
    "phase-locked loop": System(lambda s: [s[1], 0.4 - 1.2 * np.sin(s[0]) - 0.3 * s[1]], (0.0, 2.4), 0.1, 300),
    "motor and fan": System(
        lambda s: [12 - 2 * s[0] - 0.5 * s[1], 1.5 * s[0] - 0.1 * s[1] - 0.02 * s[1] ** 2], (0.0, 0.0), 0.05, 200, 60
    ),
    "two coupled loops": System(
        lambda s: [s[1], -s[0] - 0.1 * s[1] + 0.3 * s[2], s[3], 0.3 * s[0] - 1.5 * s[2] - 0.05 * s[3]],
        (1.0, 0.0, -0.5, 0.0), 0.15,
    ),
    "saturating coil": System(lambda s: [s[1], -s[0] - 0.5 * s[0] ** 3 - 0.12 * s[1]], (2.0, 0.0), 0.06, 300),
}  # fmt: skip

ONE: dict[str, System] = {
    "cooling": System(lambda s: [-0.02 * (s[0] - 20)], (80.0,), 1.0, 150, 50),
    "charging": System(lambda s: [(5 - s[0]) / 2], (0.0,), 0.05, 150, 50),
    "logistic": System(lambda s: [0.5 * s[0] * (1 - s[0] / 10)], (0.3,), 0.1, 150, 50),
    "Gompertz": System(lambda s: [0.4 * s[0] * np.log(10 / s[0])], (0.2,), 0.1, 150, 50),
    "draining tank": System(lambda s: [-0.12 * np.sqrt(np.maximum(s[0], 0.0))], (4.0,), 0.15, 150, 40),
    "fall with drag": System(lambda s: [9.81 - 0.1 * s[0] ** 2], (0.0,), 0.02, 150, 50),
    "decaying oscillation": System(lambda s: [s[1], -4 * s[0] - 0.3 * s[1]], (1.0, 0.0), 0.08, 200, 60, 1),
}


def _voltage(t: Any) -> Array:
    return np.asarray(6 + 4 * np.sign(np.sin(0.9 * t)) + 2 * np.sin(2.3 * t))[:, None]


def _power(t: Any) -> Array:
    return np.column_stack([2 + 2 * np.sign(np.sin(0.35 * t)), 10 + 5 * np.sin(0.26 * t)])


KNOWN: dict[str, System] = {
    "motor": System(
        lambda s, u: [u[0] - 2 * s[0] - 0.5 * s[1], 1.5 * s[0] - 0.3 * s[1]], (0.0, 0.0), 0.1, 400, 60, None, _voltage
    ),
    "thermal network": System(
        lambda s, u: [0.5 * u[0] - 0.3 * (s[0] - s[1]), 0.1 * (s[0] - s[1]) - 0.05 * (s[1] - u[1])],
        (12.0, 10.0), 0.25, 400, 60, None, _power,
    ),
}  # fmt: skip

ALL = SYSTEMS | ONE | KNOWN


def parts() -> dict[str, list[str]]:
    """Names of the systems: to work on, set apart, of one variable, with known inputs."""
    apart = set(np.random.default_rng(SEED).permutation(sorted(SYSTEMS))[: len(SYSTEMS) // 3].tolist())
    return {
        "work": [name for name in SYSTEMS if name not in apart],
        "apart": [name for name in SYSTEMS if name in apart],
        "one": list(ONE),
        "known": list(KNOWN),
    }


def integrated(system: System) -> tuple[Array, Array, Array | None]:
    """States (time, variables), their rates, and inputs; inputs are held from sample to sample."""
    times = np.arange(system.seen + system.ahead) * system.dt
    options: dict[str, Any] = {"rtol": 1e-10, "atol": 1e-12, "method": "LSODA"}
    if system.inputs is None:
        path = solve_ivp(lambda _, s: system.field(s), (0, times[-1]), system.start, t_eval=times, **options).y.T
        return path, np.array([system.field(s) for s in path]), None
    inputs, states = system.inputs(times), [np.array(system.start)]
    for u in inputs[:-1]:
        step = solve_ivp(lambda _, s, u=u: system.field(s, u), (0, system.dt), states[-1], **options)
        states.append(step.y[:, -1])
    path = np.array(states)
    return path, np.array([system.field(s, u) for s, u in zip(path, inputs, strict=True)]), inputs


def off(law: Any, system: System, path: Array, rates: Array, inputs: Array | None) -> float:
    """How far the law's derivative is from the true one along the path; inf where it has time or a forcing."""
    there = path if inputs is None else np.column_stack([path, inputs])
    if len(law.names) != there.shape[1]:
        return float("inf")
    found = law(there)[:, : path.shape[1]]
    size = np.sqrt(np.mean(rates**2, axis=0))
    return float(np.sqrt(np.mean(((found - rates) / size) ** 2)))


def one(job: tuple[str, float, int]) -> dict[str, Any]:
    name, noise, draw = job
    system = ALL[name]
    path, rates, inputs = integrated(system)
    shown = path[:, : system.shown]
    scale = shown[: system.seen].std(axis=0)
    generator = np.random.default_rng([draw, *name.encode()])
    measured = shown + noise * scale * generator.standard_normal(shown.shape)
    began = time.process_time()
    context = measured[: system.seen, 0] if shown.shape[1] == 1 else measured[: system.seen]
    answer = forecast(context, system.ahead, LEVEL, known=inputs)
    law = answer.equations(dt=system.dt)
    seconds = time.process_time() - began
    low, high, future = np.asarray(answer.lower), np.asarray(answer.upper), measured[system.seen :]
    inside = (low.reshape(future.shape) <= future) & (future <= high.reshape(future.shape))
    seen = slice(0, system.seen)
    distance = (
        None if law is None else off(law, system, path[seen], rates[seen], None if inputs is None else inputs[seen])
    )
    return {
        "system": name, "noise": noise, "draw": draw, "method": answer.method, "announced": law is not None,
        "off": distance if distance is None else round(min(distance, 9.0), 4),
        "coverage": round(float(inside.mean()), 3), "seconds": round(seconds, 2),
        "law": [] if law is None else law.lines(),
    }  # fmt: skip


def right(row: dict[str, Any]) -> bool:
    return bool(row["announced"] and row["off"] <= OFF)


def counted(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Announced, right and false laws, coverage of announced ones, and seconds."""
    laws = [row for row in rows if row["announced"]]
    fine = sum(map(right, rows))
    seconds = [row["seconds"] for row in rows]
    return {
        "runs": len(rows), "announced": len(laws), "right": fine, "false": len(laws) - fine,
        "false_share": round((len(laws) - fine) / max(len(laws), 1), 3), "right_share": round(fine / len(rows), 3),
        "coverage": round(float(np.mean([row["coverage"] for row in laws])), 3) if laws else None,
        "seconds_median": round(float(np.median(seconds)), 2),
        "seconds_p90": round(float(np.quantile(seconds, 0.9)), 2),
    }  # fmt: skip


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    named = {part: [row for row in rows if row["system"] in names] for part, names in parts().items()}
    found: dict[str, Any] = {}
    for part, some in named.items():
        if some:
            noises = sorted({row["noise"] for row in some})
            found[part] = counted(some) | {
                f"{n:g}": counted([row for row in some if row["noise"] == n]) for n in noises
            }
    systems = {name: [row for row in rows if row["system"] == name] for name in ALL}
    found["systems"] = {name: counted(some) for name, some in systems.items() if some}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", action="append", choices=["work", "apart", "one", "known"])
    parser.add_argument("--systems", nargs="*")
    parser.add_argument("--noises", type=float, nargs="*", default=NOISES)
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    names = options.systems or [n for part in options.part or parts() for n in parts()[part]]
    jobs = [(name, noise, draw) for draw in range(options.draws) for name in names for noise in options.noises]
    rows = []
    with ProcessPoolExecutor(options.jobs, initializer=warm) as pool:
        for row in pool.map(one, jobs):
            rows.append(row)
            verdict = "right" if right(row) else "FALSE" if row["announced"] else "  -  "
            print(
                f"{row['system'][:24]:24} {row['noise']:5g} {row['draw']} {verdict} off {row['off']} cover"
                f" {row['coverage']} {row['seconds']} s {row['method']} | {'; '.join(row['law'])}",
                flush=True,
            )
    result = {"level": LEVEL, "draws": options.draws, "noises": options.noises, "summary": summary(rows), "rows": rows}
    print(json.dumps({k: v for k, v in result["summary"].items() if k != "systems"}, indent=1))
    if options.out:
        options.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
