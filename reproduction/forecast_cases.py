"""The work behind the page `forecast`: chaotic systems, White Signals, variables alone, equations, long free runs."""

import functools
import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prophecy import chaos, signals
from prophecy.evaluation import histogram_distance, smape, spectral_distance, spectrum, valid_prediction_time
from prophecy.forecasting import forecast
from prophecy.forecasting.maps import delays, fit_polynomial_map
from prophecy.forecasting.repeats import Repetition
from prophecy.forecasting.series import Fitted
from prophecy.laws.context import Rows as Index
from reproduction.rows import Array

CONTEXT, LYAPUNOV_TIMES, BINS = 512, 10, 20  # samples seen; predicted; parts of the horizon with a coverage each
RATE, FREE, STRETCH = 30, 10_000, 1000  # samples per Lyapunov time, of a free run, of the parts of its spectrum
SYSTEMS = {system.name: system for system in chaos.SYSTEMS}
BASELINES = ("copy", "repetition", "linear autoregression")
OURS = "forecast"
NAMES = "xyzwuv"


@functools.lru_cache(maxsize=4)
def sampled(system: str, samples: int, rate: int = RATE, seed: int = 0) -> Array:
    """A trajectory; integrating it takes longer than forecasting it, and several cases see the same."""
    return SYSTEMS[system].sample(samples, rate, seed=seed)


def baselines_ahead(context: Array, horizon: int) -> dict[str, Array]:
    """Copying, repeating what followed the best match of 30 samples, and a linear autoregression of order 12."""
    centre, scale = context.mean(axis=0), context.std(axis=0)
    scaled = (context - centre) / np.where(scale > 0, scale, 1.0)
    index = np.arange(len(scaled) - 1)
    models: dict[str, Fitted | None] = {"repetition": Repetition(30)}
    models["linear autoregression"] = fit_polynomial_map(delays(12), 1, 1e-8, scaled, Index(index, index + 1))
    paths = {"copy": np.repeat(scaled[-1:], horizon, axis=0)}
    seen, end = np.ones(len(scaled), dtype=np.bool_), index[-1:] + 2
    paths |= {n: m.predictive(scaled, seen, end, horizon)[0][0] for n, m in models.items() if m is not None}
    return {n: np.nan_to_num(path) * scale + centre for n, path in paths.items()}  # what is lost says the mean


class Judged(NamedTuple):
    """A forecast, its CPU seconds, paths of ours and the baselines, and which values came inside its interval.

    inside: of the clean future; inside_measured: of the future with the noise of the context.
    """

    answer: Any
    seconds: float
    paths: dict[str, Array]
    inside: NDArray[np.bool_]
    inside_measured: NDArray[np.bool_]


def judged(clean: Array, truth: Array, noise: float, generator: np.random.Generator, missing: float = 0.0) -> Judged:
    """noise: in standard deviations of each variable. missing: a share of values; baselines have lines there."""
    size = noise * clean.std(axis=0)
    seen = clean + size * generator.standard_normal(clean.shape)
    measured = truth + size * generator.standard_normal(truth.shape)
    holes = generator.random(seen.shape) < missing
    began = time.process_time()
    answer = forecast(np.where(holes, np.nan, seen), len(truth))
    seconds = time.process_time() - began
    times = np.arange(len(seen))
    bridged = [np.interp(times, times[~h], v[~h]) for v, h in zip(seen.T, holes.T, strict=True)]
    paths = {OURS: np.asarray(answer.point), **baselines_ahead(np.column_stack(bridged), len(truth))}
    low, high = np.asarray(answer.lower), np.asarray(answer.upper)
    return Judged(answer, seconds, paths, *((low <= values) & (values <= high) for values in (truth, measured)))


def chaos_case(
    system: str, rate: int, noise: float, seed: int, missing: float = 0.0, only: int | None = None, bins: int = BINS
) -> dict[str, Any]:
    """One trajectory: scores of ours and the baselines against the clean future, and coverage along the horizon of
    values measured with the same noise, which is what intervals are for. only: one variable, without the others."""
    series = sampled(system, CONTEXT + LYAPUNOV_TIMES * rate, rate, seed)
    series = series if only is None else series[:, [only]]
    clean, truth = series[:CONTEXT], series[CONTEXT:]
    found = judged(clean, truth, noise, np.random.default_rng(seed), missing)
    every, ends = max(1, rate // 15), {"mean": "point", "lower": "lower", "upper": "upper"}
    return {
        "vpt": {name: valid_prediction_time(truth, path, samples_per_time=rate) for name, path in found.paths.items()},
        "smape": {name: float(np.mean(smape(truth, path))) for name, path in found.paths.items()},
        "coverage": [float(part.mean()) for part in np.array_split(found.inside_measured.mean(axis=1), bins)],
        "seconds": found.seconds,
        "method": found.answer.method,
        "curve": {
            "past": clean[-3 * rate :: every, 0].tolist(),
            "truth": truth[::every, 0].tolist(),
            **{name: np.asarray(getattr(found.answer, part))[::every, 0].tolist() for name, part in ends.items()},
        },
    }


def alone_case(system: str, seed: int) -> dict[str, Any]:
    """Every variable forecast without the others: valid times, the best baseline's, coverage in tenths, methods."""
    variables = range(sampled(system, CONTEXT + LYAPUNOV_TIMES * RATE, RATE, seed).shape[1])
    found = [chaos_case(system, RATE, 0.0, seed, only=variable, bins=10) for variable in variables]
    return {
        "vpt": [each["vpt"][OURS] for each in found],
        "baseline": [max(each["vpt"][name] for name in BASELINES if name in each["vpt"]) for each in found],
        "coverage": [each["coverage"] for each in found],
        "methods": [each["method"] for each in found],
        "curve": found[0]["curve"],
    }


def white_case(cutoff: float, seed: int) -> dict[str, Any]:
    """Rolling origins on one White Signal: periods of the highest frequency until the error passes 0.3 deviations."""
    period = int(1000 / cutoff)
    series = signals.white_signal(cutoff, samples=10_000, seed=seed)[0]
    found: dict[str, list[float]] = {}
    for origin in range(7000, 9000, 500):
        truth = series[origin : origin + 2 * period][: len(series) - origin]
        seen = series[:origin]
        paths = {OURS: np.asarray(forecast(seen, len(truth)).point)}
        paths |= {n: p[:, 0] for n, p in baselines_ahead(seen[:, None], len(truth)).items()}
        for name, path in paths.items():
            lost = np.flatnonzero(np.abs(path - truth) > 0.3 * series.std())
            found.setdefault(name, []).append(float(lost[0] if lost.size else len(truth)) / period)
    return found


def equations_case(system: str, noise: float) -> dict[str, Any]:
    """The equations that a forecast says it found, a line for each variable; None where it found a map or a kernel."""
    series = sampled(system, CONTEXT)
    seen = series + noise * series.std(axis=0) * np.random.default_rng(0).standard_normal(series.shape)
    made, count = forecast(seen, RATE), series.shape[1]
    names = tuple(NAMES[:count] if count <= len(NAMES) else [f"x{i}" for i in range(count)])
    found = made.equations(dt=1 / (RATE * SYSTEMS[system].exponent), names=names)
    return {"lines": None if found is None else found.lines(), "method": made.method}


def climate_case(system: str) -> dict[str, Any]:
    """A free run of 10 000 steps beside as many true ones from another start: distances and spectra."""
    made = forecast(sampled(system, CONTEXT), FREE)
    free = np.asarray(made.point).reshape(FREE, -1)
    truth, other = (SYSTEMS[system].sample(FREE, RATE, seed=seed) for seed in (1, 2))
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
