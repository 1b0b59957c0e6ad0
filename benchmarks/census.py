"""Laws of systems from chemistry, biology, mechanics and circuits: found, missed, false; forecasts of transients.

Each system is integrated here, sampled as a laboratory would, and seen with noise (a share of each variable's standard
deviation over the context). coverage: share of the measured values to come that lie in the interval of level 0.9.

`census`: systems that no development list has. A law is **announced** where `equations()` is not None. It is **right**
where its derivative along the true path differs from the true one by at most 5 % (root mean square over rows and
variables, each in units of its own root mean square) and it has no term of time and no forcing that the system lacks;
otherwise **false**. A third of the systems, drawn by a seed, is the part "apart": looked at once, at the end.

`textbook`: growth, decay, relaxation. error: root mean square error of the point, in standard deviations seen.
"""

import time

import numpy as np

from benchmarks.forecast_dev import set_apart
from benchmarks.harness import Array, Benchmark, Options, Result, defaults, grouped, option
from benchmarks.systems import CENSUS, KNOWN, ONE, TEXTBOOK
from prophecy.forecasting import forecast
from prophecy.laws.equations import Equations

LEVEL, OFF = 0.9, 0.05
SEED = 29  # of the third that is set apart
ALL = CENSUS | ONE | KNOWN | TEXTBOOK


def parts() -> dict[str, list[str]]:
    """Names of the systems: to work on, set apart, of one variable, with known inputs, transients."""
    apart = set_apart(list(CENSUS), SEED)
    work = [name for name in CENSUS if name not in apart]
    kinds = {"one": list(ONE), "known": list(KNOWN), "textbook": list(TEXTBOOK)}
    return {"work": work, "apart": [name for name in CENSUS if name in apart], **kinds}


def off(law: Equations, path: Array, rates: Array, inputs: Array | None) -> float:
    """How far the law's derivative is from the true one along the path; inf where it has time or a forcing."""
    there = path if inputs is None else np.column_stack([path, inputs])
    if len(law.names) != there.shape[1]:
        return float("inf")
    found = law(there)[:, : path.shape[1]]
    size = np.sqrt(np.mean(rates**2, axis=0))
    return float(np.sqrt(np.mean(((found - rates) / size) ** 2)))


def one(job: tuple[str, float, int]) -> Result:
    name, noise, draw = job
    system = ALL[name]
    path, rates, inputs = system.integrated()
    shown, n = path[:, : system.shown], system.seen
    scale = shown[:n].std(axis=0)
    draws = np.random.default_rng([draw, *name.encode()])
    measured = shown + noise * scale * draws.standard_normal(shown.shape)
    began = time.process_time()
    answer = forecast(measured[:n, 0] if shown.shape[1] == 1 else measured[:n], system.ahead, LEVEL, known=inputs)
    law = answer.equations(dt=system.dt)
    seconds = time.process_time() - began
    ends = (answer.lower, answer.upper, answer.point)
    low, high, point = (np.asarray(each).reshape(-1, shown.shape[1]) for each in ends)
    distance = None if law is None else off(law, path[:n], rates[:n], None if inputs is None else inputs[:n])
    return {
        "system": name, "noise": noise, "draw": draw, "method": answer.method, "announced": law is not None,
        "off": distance if distance is None else round(min(distance, 9.0), 4),
        "coverage": ((low <= measured[n:]) & (measured[n:] <= high)).mean(axis=0).round(3).tolist(),
        "width": ((high - low) / scale).mean(axis=0).round(4).tolist(),
        "error": np.sqrt((((point - shown[n:]) / scale) ** 2).mean(axis=0)).round(4).tolist(),
        "seconds": round(seconds, 3), "law": [] if law is None else law.lines(),
    }  # fmt: skip


def counted(rows: list[Result]) -> Result:
    laws = [row for row in rows if row["announced"]]
    fine = sum(row["off"] <= OFF for row in laws)
    seconds = [row["seconds"] for row in rows]
    return {
        "runs": len(rows), "announced": len(laws), "right": fine, "false": len(laws) - fine,
        "false_share": round((len(laws) - fine) / max(len(laws), 1), 3), "right_share": round(fine / len(rows), 3),
        "coverage": round(float(np.mean([np.mean(row["coverage"]) for row in laws])), 3) if laws else None,
        "seconds_median": round(float(np.median(seconds)), 2),
        "seconds_p90": round(float(np.quantile(seconds, 0.9)), 2),
    }  # fmt: skip


def transients(rows: list[Result]) -> Result:
    systems = grouped(rows, "system").items()
    each = {name: float(np.mean([np.mean(row["coverage"]) for row in mine])) for name, mine in systems}
    means = {"coverage": list(each.values()), "laws": [row["announced"] for row in rows]}
    found: Result = {name: round(float(np.mean(values)), 3) for name, values in means.items()}
    for name, column in (("off_median", "error"), ("width_median", "width")):
        found[name] = round(float(np.median([np.mean(row[column]) for row in rows])), 4)
    return found | {"per_system": {name: round(share, 3) for name, share in each.items()}}


def summary(rows: list[Result], options: Options) -> Result:
    found: Result = {}
    for part, names in parts().items():
        noises = sorted(grouped([row for row in rows if row["system"] in names], "noise").items())
        if noises and part == "textbook":
            found |= {f"{noise:g}": transients(mine) for noise, mine in noises}
        elif noises:
            found[part] = counted([row for _, mine in noises for row in mine])
            found[part] |= {f"{noise:g}": counted(mine) for noise, mine in noises}
            found["systems"] = {name: counted(some) for name, some in grouped(rows, "system").items()}
    return {"level": LEVEL, "draws": options.draws, "noises": options.noises, "summary": found, "rows": rows}


def cases(options: Options) -> list[tuple[str, float, int]]:
    names = [name for part in options.part for name in parts()[part]]
    return [(name, noise, draw) for draw in range(options.draws) for name in names for noise in options.noises]


PART = option("--part", nargs="+", choices=[*parts()], default=["work", "apart", "one", "known"])
SEEN = defaults(noises=(0.001, 0.01, 0.03), draws=5)
BENCHMARK = Benchmark(__doc__, cases, one, summary, options=(PART, *SEEN))
