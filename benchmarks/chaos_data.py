"""Integrate the chaotic systems that benchmarks/forecast_dev.py runs on, from their published equations.

    python -m benchmarks.chaos_data CHAOS.npz [--systems NAME ...] [--compare OTHER.npz] [--report FILE.json]

The equations, parameters and Lyapunov exponents are those of the package dysts (`pip install dysts`); the integration
is ours: SciPy's DOP853 at tolerance 1e-10. Per system, five trajectories of 812 samples, 30 to a Lyapunov time, each
from the published start nudged by 5 % and followed for 20 Lyapunov times first. CHAOS.npz holds an array
(5, 812, variables) under each system's name.

The development of `forecast` used a file made by others from the same package. `--compare` holds such a file to the
equations: how far the flow from each of its samples ends from the next one, as a share of the step (0 where the file
was made from these equations), and how far its standard deviations are from ours.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from prophecy import _files

Array = NDArray[np.float64]

SAMPLES, TRAJECTORIES, PER_LYAPUNOV = 812, 5, 30
TRANSIENT = 20.0  # Lyapunov times before the first sample: a nudge of 5 % has found the attractor
TOLERANCE = 1e-10  # relative and absolute error of a step of the integrator

# fmt: off
SYSTEMS = (
    "HyperLu", "HyperQi", "HyperRossler", "HyperWang", "HyperXu", "IsothermalChemical", "ItikBanksTumor",
    "JerkCircuit", "KawczynskiStrizhak", "Laser", "LiuChen", "Lorenz", "Lorenz84", "Lorenz96", "LorenzStenflo",
    "LuChen", "MooreSpiegel", "MultiChua", "NewtonLiepnik", "NoseHoover", "NuclearQuadrupole", "PanXuZhou",
    "PehlivanWei", "RabinovichFabrikant", "RayleighBenard", "RikitakeDynamo", "Rossler", "Rucklidge", "SaltonSea",
    "ShimizuMorioka", "SprottA", "SprottC", "SprottF", "SprottJ", "SprottMore", "SprottTorus", "SwingingAtwood",
    "Thomas", "TurchinHanski", "VallisElNino", "WindmiReduced", "YuWang", "GlycolyticOscillation",
)
# fmt: on


def system(name: str) -> Any:
    """A system of dysts: `rhs(state, time)`, `ic`, `maximum_lyapunov_estimated`."""
    from dysts import flows

    return getattr(flows, name)()


def flow(model: Any, start: Array, times: Array) -> Array:
    """States at `times` (the first of them the start's): (times, variables)."""

    def field(t: float, x: Array) -> Array:
        return np.asarray(model.rhs(x, t), dtype=np.float64)

    span = (float(times[0]), float(times[-1]))
    done = solve_ivp(field, span, start, "DOP853", times, rtol=TOLERANCE, atol=TOLERANCE)
    if not done.success:
        raise ArithmeticError(f"{type(model).__name__} could not be integrated: {done.message}")
    return np.asarray(done.y.T, dtype=np.float64)


def seen(model: Any, states: Array) -> Array:
    """What dysts shows of the states: angles that grow without bound are wrapped by a system's own rule."""
    rule = getattr(model, "_postprocessing", None)
    return states if rule is None else np.stack(rule(*states.T), axis=-1)


def trajectory(name: str, number: int) -> Array:
    """(SAMPLES, variables); `number` draws the start."""
    model = system(name)
    unit = 1.0 / model.maximum_lyapunov_estimated
    generator = np.random.default_rng([number, SYSTEMS.index(name)])
    start = np.atleast_2d(np.asarray(model.ic, dtype=np.float64))[0]
    nudged = start * (1 + 0.05 * generator.standard_normal(len(start)))
    times = TRANSIENT * unit + unit / PER_LYAPUNOV * np.arange(SAMPLES)
    return seen(model, flow(model, nudged, np.concatenate([[0.0], times]))[1:])


def misfit(name: str, series: Array) -> float:
    """How far the flow from each sample (every eighth) ends from the next one, as a share of the step: the median.

    `series` (samples, variables). dysts spreads n samples over n steps' time, ends included, so its step is longer
    than the nominal one by n / (n - 1); both are tried.
    """
    model = system(name)
    if getattr(model, "_postprocessing", None) is not None or model.nonautonomous:
        return float("nan")  # a sample alone does not say the state, or the time
    best = np.inf
    for steps in (SAMPLES, SAMPLES / (SAMPLES - 1) * SAMPLES):
        step = steps / SAMPLES / (PER_LYAPUNOV * model.maximum_lyapunov_estimated)
        ends = np.array([flow(model, x, np.array([0.0, step]))[-1] for x in series[:-1:8]])
        moved = np.linalg.norm(series[1::8] - series[:-1:8], axis=1)[: len(ends)]
        best = min(best, float(np.median(np.linalg.norm(ends - series[1::8][: len(ends)], axis=1) / moved)))
    return best


def compare(name: str, ours: Array, theirs: Array) -> dict[str, Any]:
    ratios = theirs.std(axis=(0, 1)) / ours.std(axis=(0, 1))
    return {"misfit": misfit(name, theirs[0]), "standard_deviations": ratios.tolist(), "ours": misfit(name, ours[0])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--systems", nargs="*", default=list(SYSTEMS), choices=SYSTEMS, metavar="NAME")
    parser.add_argument("--compare", type=Path, help="another such file, held to the equations")
    parser.add_argument("--report", type=Path, help="where the comparison is written")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # overflow in steps that the integrator rejects
    made = {name: np.stack([trajectory(name, k) for k in range(TRAJECTORIES)]) for name in options.systems}
    np.savez_compressed(options.out, **made)
    if options.compare is None:
        return
    other = np.load(options.compare)
    rows = {name: compare(name, ours, other[name]) for name, ours in made.items() if name in other}
    for name, row in rows.items():
        print(f"{name:24s} {row['misfit']:.1e} {np.round(row['standard_deviations'], 2)}")
    if options.report:
        plain = {
            name: {**row, "misfit": _number(row["misfit"]), "ours": _number(row["ours"])} for name, row in rows.items()
        }
        _files.write_json(options.report, {"made_by": "benchmarks/chaos_data.py", "systems": plain})


def _number(value: float) -> float | None:
    return value if np.isfinite(value) else None


if __name__ == "__main__":
    main()
