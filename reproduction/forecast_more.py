"""Further work behind the page `forecast`: one variable alone, the equations found, the statistics of the long run."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from prophecy.evaluation import histogram_distance, spectral_distance, spectrum, valid_prediction_time
from prophecy.forecasting import forecast
from reproduction.forecast_cases import CONTEXT, LYAPUNOV_TIMES, SYSTEMS, baselines_ahead, sampled

Array = NDArray[np.float64]

# Samples: per Lyapunov time, of a free run, and of the parts a spectrum is averaged over.
RATE, FREE, STRETCH = 30, 10_000, 1000
NAMES = "xyzwuv"


def alone_case(system: str, seed: int) -> dict[str, Any]:
    """Every variable forecast without the others: valid times, the best baseline's, coverage in tenths, methods."""
    horizon = LYAPUNOV_TIMES * RATE
    series = sampled(system, CONTEXT + horizon, RATE, seed)
    found: dict[str, Any] = {"vpt": [], "baseline": [], "coverage": [], "methods": [], "curve": None}
    for column in series.T:
        truth = column[CONTEXT:, None]
        made = forecast(column[:CONTEXT], horizon)
        mean, lower, upper = (np.asarray(each) for each in (made.point, made.lower, made.upper))
        paths = baselines_ahead(column[:CONTEXT, None], horizon)
        found["vpt"].append(valid_prediction_time(truth, mean[:, None], samples_per_time=RATE))
        found["baseline"].append(max(valid_prediction_time(truth, p, samples_per_time=RATE) for p in paths.values()))
        inside = (lower <= truth[:, 0]) & (truth[:, 0] <= upper)
        found["coverage"].append([float(part.mean()) for part in np.array_split(inside, 10)])
        found["methods"].append(made.method)
        if found["curve"] is None:
            found["curve"] = {
                "past": column[CONTEXT - 3 * RATE : CONTEXT : 2].tolist(),
                **{n: each[::2].tolist() for n, each in (("truth", truth[:, 0]), ("mean", mean))},
                **{n: each[::2].tolist() for n, each in (("lower", lower), ("upper", upper))},
            }
    return found


def equations_case(system: str, noise: float) -> dict[str, Any]:
    """The equations that a forecast says it found, a line for each variable; None where it found a map or a kernel."""
    chosen = SYSTEMS[system]
    series = sampled(system, CONTEXT, RATE)
    seen = series + noise * series.std(axis=0) * np.random.default_rng(0).standard_normal(series.shape)
    made = forecast(seen, RATE)
    names = NAMES if series.shape[1] <= len(NAMES) else [f"x{i}" for i in range(series.shape[1])]
    found = made.equations(dt=1 / (RATE * chosen.exponent), names=tuple(names[: series.shape[1]]))
    return {"lines": None if found is None else found.lines(), "method": made.method}


def climate_case(system: str) -> dict[str, Any]:
    """A free run of 10 000 steps beside as many true ones from another start: distances and spectra."""
    chosen = SYSTEMS[system]
    made = forecast(sampled(system, CONTEXT, RATE), FREE)
    free = np.asarray(made.point).reshape(FREE, -1)
    truth, other = (chosen.sample(FREE, RATE, seed=seed) for seed in (1, 2))
    stretches = [each.reshape(-1, STRETCH, each.shape[1]) for each in (free, truth, other)]
    shares = [spectrum(each)[0] for each in stretches[:2]] if np.isfinite(free).all() else None
    places = np.unique(np.geomspace(1, STRETCH // 2, 120).astype(int)) - 1
    return {
        "spectrum": spectral_distance(stretches[0], stretches[1]),
        "spectrum_floor": spectral_distance(stretches[2], stretches[1]),
        "histogram": histogram_distance(free, truth),
        "histogram_floor": histogram_distance(other, truth),
        "method": made.method,
        "periods": ((places + 1) * RATE / STRETCH).tolist(),
        "free": None if shares is None else shares[0][places].tolist(),
        "truth": None if shares is None else shares[1][places].tolist(),
    }
