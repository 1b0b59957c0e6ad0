"""Integrate the chaotic systems that forecasts are measured on, from their published equations.

    python -m benchmarks.chaos_data CHAOS.npz              # 43 systems, for forecast_dev.py
    python -m benchmarks.chaos_data FLOWS.npz --others     # all others, for its --others

Equations, parameters and Lyapunov exponents are those of the package dysts (`pip install dysts`); the integration is
ours: SciPy's DOP853 at tolerance 1e-10.

CHAOS.npz holds (5, 812, variables) under each system's name: five trajectories of 812 samples, 30 to a Lyapunov time,
each from the published start nudged by 5 % and followed for 20 Lyapunov times first. FLOWS.npz holds, under NAME/RATE,
one trajectory at 10, 30 and 100 samples per Lyapunov time: 1024 samples of context and ten Lyapunov times to predict,
of every system without delays that can be integrated in 90 seconds.
"""

import argparse
import sys
import time
import types
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from benchmarks.harness import Array

SAMPLES, TRAJECTORIES, PER_LYAPUNOV = 812, 5, 30
RATES, LONGEST, USUAL = (10, 30, 100), 1024, 512  # of the others: samples per Lyapunov time, samples of context
FINE = 300  # samples per Lyapunov time of which all rates are multiples
ALLOWED = 90.0  # seconds: a system that takes longer is left out
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


def flows() -> Any:
    """The package's systems. It imports parts of gluonts for functions that are not used here."""
    for name in ("gluonts", "gluonts.dataset", "gluonts.dataset.arrow", "gluonts.dataset.common"):
        module = sys.modules.setdefault(name, types.ModuleType(name))
        vars(module).update(dict.fromkeys(("ArrowWriter", "FileDataset", "ListDataset")) | vars(module))
    import dysts.flows

    return dysts.flows


def others() -> list[str]:
    """Systems without delays and with a known positive Lyapunov exponent that are not among `SYSTEMS`."""
    kinds = {name: kind for name, kind in sorted(vars(flows()).items()) if isinstance(kind, type)}
    return [
        name
        for name, kind in kinds.items()
        if not name.startswith("DynSys") and name not in SYSTEMS and "Delay" not in kind.__mro__[1].__name__
        if (getattr(kind(), "maximum_lyapunov_estimated", 0) or 0) > 0
    ]


def flow(model: Any, start: Array, times: Array, allowed: float = np.inf) -> Array:
    """What dysts shows of the states at `times` after the start: angles are wrapped by a system's own rule."""
    began = time.monotonic()

    def field(t: float, x: Array) -> Array:
        if time.monotonic() - began > allowed:
            raise ArithmeticError(f"{type(model).__name__} takes longer than {allowed:g} s")
        return np.asarray(model.rhs(x, t), dtype=np.float64)

    done = solve_ivp(field, (0.0, float(times[-1])), start, "DOP853", times, rtol=TOLERANCE, atol=TOLERANCE)
    if not (done.success and np.isfinite(done.y).all()):
        raise ArithmeticError(f"{type(model).__name__} could not be integrated: {done.message}")
    rule = getattr(model, "_postprocessing", None)
    return np.asarray(done.y.T if rule is None else np.stack(rule(*done.y), axis=-1), dtype=np.float64)


def trajectories(name: str) -> dict[str, Array]:
    model = getattr(flows(), name)()
    start = np.atleast_2d(np.asarray(model.ic, dtype=np.float64))[0]
    times = (20.0 + np.arange(SAMPLES) / PER_LYAPUNOV) / model.maximum_lyapunov_estimated
    draws = [np.random.default_rng([number, SYSTEMS.index(name)]) for number in range(TRAJECTORIES)]
    starts = [start * (1 + 0.05 * draw.standard_normal(len(start))) for draw in draws]
    return {name: np.stack([flow(model, nudged, times) for nudged in starts])}


def at_all_rates(name: str) -> dict[str, Array]:
    """Nothing where that cannot be integrated."""
    model = getattr(flows(), name)()
    places = {rate: FINE // rate * np.arange(LONGEST + 10 * rate) for rate in RATES}
    every = np.unique(np.concatenate(list(places.values())))
    start = np.atleast_1d(np.asarray(model.ic, dtype=np.float64))
    try:
        values = flow(model, start, (40.0 + every / FINE) / model.maximum_lyapunov_estimated, ALLOWED)
    except (ValueError, ArithmeticError) as error:
        print(error, flush=True)
        return {}
    found = {f"{name}/{rate}": values[np.searchsorted(every, at)] for rate, at in places.items()}
    return found if all((each[-USUAL:].std(axis=0) > 0).all() for each in found.values()) else {}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--others", action="store_true", help="the systems of forecast_dev.py --others")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # overflow in steps that the integrator rejects
    with ProcessPoolExecutor(options.jobs) as pool:
        made = list(pool.map(*((at_all_rates, others()) if options.others else (trajectories, SYSTEMS))))
    np.savez_compressed(options.out, **{name: values for some in made for name, values in some.items()})
