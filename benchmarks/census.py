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

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.forecast_dev import set_apart, warm
from benchmarks.harness import Benchmark, Options, option
from benchmarks.systems import CENSUS, KNOWN, ONE, seen

Array = NDArray[np.float64]
NOISES, DRAWS, LEVEL, OFF = (0.001, 0.01, 0.03), 5, 0.9, 0.05
SEED = 29  # of the third that is set apart
ALL = CENSUS | ONE | KNOWN


def parts() -> dict[str, list[str]]:
    """Names of the systems: to work on, set apart, of one variable, with known inputs."""
    apart = set_apart(list(CENSUS), SEED)
    return {
        "work": [name for name in CENSUS if name not in apart],
        "apart": [name for name in CENSUS if name in apart],
        "one": list(ONE),
        "known": list(KNOWN),
    }


def off(law: Any, path: Array, rates: Array, inputs: Array | None) -> float:
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
    path, rates, inputs = system.integrated("LSODA", 1e-10, 1e-12)
    found = seen(system, path, inputs, noise, [draw, *name.encode()], LEVEL)
    distance = None
    if found.law is not None:
        past = slice(0, system.seen)
        distance = off(found.law, path[past], rates[past], None if inputs is None else inputs[past])
    return {
        "system": name, "noise": noise, "draw": draw, "method": found.answer.method, "announced": found.law is not None,
        "off": distance if distance is None else round(min(distance, 9.0), 4),
        "coverage": round(float(found.inside.mean()), 3), "seconds": round(found.seconds, 2),
        "law": [] if found.law is None else found.law.lines(),
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


def summary(rows: list[dict[str, Any]], options: Options) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for part, names in parts().items():
        if some := [row for row in rows if row["system"] in names]:
            noises = {f"{n:g}": [row for row in some if row["noise"] == n] for n in sorted({r["noise"] for r in some})}
            found[part] = counted(some) | {noise: counted(mine) for noise, mine in noises.items()}
    systems = {name: [row for row in rows if row["system"] == name] for name in ALL}
    found["systems"] = {name: counted(some) for name, some in systems.items() if some}
    return {"level": LEVEL, "draws": options.draws, "noises": options.noises, "summary": found, "rows": rows}


def cases(options: Options) -> list[tuple[str, float, int]]:
    names = options.systems or [n for part in options.part or parts() for n in parts()[part]]
    return [(name, noise, draw) for draw in range(options.draws) for name in names for noise in options.noises]


def line(row: dict[str, Any]) -> str:
    verdict = "right" if right(row) else "FALSE" if row["announced"] else "  -  "
    return (
        f"{row['system'][:24]:24} {row['noise']:5g} {row['draw']} {verdict} off {row['off']} cover {row['coverage']}"
        f" {row['seconds']} s {row['method']} | {'; '.join(row['law'])}"
    )


BENCHMARK = Benchmark(
    __doc__, cases, one, summary, line,
    (
        option("--part", action="append", choices=["work", "apart", "one", "known"]),
        option("--systems", nargs="*"),
        option("--noises", type=float, nargs="*", default=NOISES),
        option("--draws", type=int, default=DRAWS),
    ),
    warm,
)  # fmt: skip

if __name__ == "__main__":
    BENCHMARK.run()
