"""Wrong and lost terms of equations found through noise, with and without the price of choosing among many.

Systems of the given files (`forecast_dev.py` says what is in them), 512 samples each, whose equations without noise
are powers: their terms are the truth. Beside them three whose variables have constant sums (an epidemic,
a chain of reactions, an enzyme), 200 samples, with the terms of the book. Each is seen with noise (a share of each
variable's standard deviation), drawn anew each time; counted are the runs that found a law, those with exactly the true
terms, and terms that are wrong or lost. choice: `Settings.laws.choice`, 1 as delivered.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.integrate import solve_ivp

from benchmarks.forecast_dev import CONTEXT, seed
from benchmarks.harness import Array, Benchmark, Options, Result, grouped, option
from benchmarks.systems import Equations, polynomial
from prophecy.forecasting import forecast
from prophecy.forecasting.settings import DEFAULT, Settings

Structure = list[list[list[int]]]
NOISES, CHOICES, DRAWS, MORE_DRAWS = (0.01, 0.05, 0.1), (0.0, 1.0), 2, 12

CONSERVED: dict[str, tuple[list[float], float, Equations]] = {
    "epidemic": ([999_900, 100, 0], 0.5, [{"xy": -4e-7}, {"xy": 4e-7, "y": -0.1}, {"y": 0.1}]),
    "chain of reactions": ([1, 0, 0], 0.2, [{"x": -0.3}, {"x": 0.3, "y": -0.1}, {"y": 0.1}]),
    "enzyme": (
        [2, 1, 0, 0], 0.05, [{"z": 0.5, "xy": -2}, {"z": 1.5, "xy": -2}, {"xy": 2, "z": -1.5}, {"z": 1}],
    ),
}  # fmt: skip
"""Start, step, and the coefficients of each equation by the variables multiplied."""


def terms(values: Array, settings: Settings = DEFAULT) -> Structure | None:
    """The powers of each term of each equation; None where no law of powers was found."""
    found = forecast(values, 1, settings=settings).equations()
    if found is None or found.functions or len(found.names) != values.shape[1]:
        return None
    return [[list(term.powers) for term in each] for each in found.terms]


def one(job: tuple[str, str, Array, Structure | None, int]) -> list[Result]:
    """All noises, draws and choices of one system; [] where its truth is not of powers."""
    kind, name, values, truth, draws = job
    truth = truth if truth is not None else terms(values)
    rows: list[Result] = []
    for noise in NOISES if truth is not None else ():
        for draw in range(draws):
            seen = values + noise * values.std(axis=0) * seed(draw, name).standard_normal(values.shape)
            for choice in CHOICES:
                found = terms(seen, replace(DEFAULT, laws=replace(DEFAULT.laws, choice=choice)))
                row = {"kind": kind, "system": name, "noise": noise, "draw": draw, "choice": choice}
                rows.append(row | {"law": found is not None} | (_compared(found, truth) if found and truth else {}))
    return rows


def _compared(found: Structure, truth: Structure) -> dict[str, int]:
    pairs = [({*map(tuple, a)}, {*map(tuple, b)}) for a, b in zip(found, truth, strict=True)]
    return {"wrong": sum(len(a - b) for a, b in pairs), "lost": sum(len(b - a) for a, b in pairs)}


def cases(options: Options) -> Iterator[tuple[str, str, Array, Structure | None, int]]:
    for name, (start, step, equations) in CONSERVED.items():
        rates, times, letters = polynomial(equations), step * np.arange(200), "xyzw"[: len(start)]
        values = solve_ivp(lambda t, x: rates(*x), (0, times[-1]), start, "DOP853", times, rtol=1e-11, atol=1e-13).y.T  # noqa: B023
        truth = [[[term.count(letter) for letter in letters] for term in each] for each in equations]
        yield "constant sums", name, values, truth, MORE_DRAWS
    for file in options.files:
        with np.load(file) as data:
            for name in data.files:
                values = data[name]
                yield file.stem, name, (values[0] if values.ndim == 3 else values)[:CONTEXT], None, DRAWS


def summary(many: list[list[Result]], options: Options) -> Result:
    rows, found = [row for some in many for row in some], list[Result]()
    for key, own in sorted(grouped(rows, "kind", "noise", "choice").items()):
        laws = [row for row in own if row["law"]]
        counts = {"runs": len(own), "laws": len(laws), "right": sum(not row["wrong"] + row["lost"] for row in laws)}
        counts |= {f"runs_with_{kind}": sum(row[kind] > 0 for row in laws) for kind in ("wrong", "lost")}
        found.append(dict(zip(("kind", "noise", "choice"), key, strict=True)) | counts)
    return {"summary": found, "rows": rows}


BENCHMARK = Benchmark(__doc__, cases, one, summary, options=(option("files", type=Path, nargs="*"),))
