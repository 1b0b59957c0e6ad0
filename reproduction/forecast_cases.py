"""The work behind the page `forecast`: forecasts of chaotic systems and White Signals."""

from __future__ import annotations

import functools
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prophecy import chaos, signals
from prophecy.evaluation import smape, valid_prediction_time
from prophecy.forecasting import forecast
from prophecy.forecasting.linear import fit_linear
from prophecy.forecasting.repeats import Copy, Repetition
from prophecy.forecasting.series import Model
from prophecy.laws.context import Rows

Array = NDArray[np.float64]

CONTEXT, LYAPUNOV_TIMES, BINS = 512, 10, 20  # samples seen; predicted; parts of the horizon with a coverage each
SYSTEMS = {system.name: system for system in chaos.SYSTEMS}
BASELINES = ("copy", "repetition", "linear autoregression")
OURS = "forecast"


@functools.lru_cache(maxsize=4)
def sampled(system: str, samples: int, rate: int, seed: int = 0) -> Array:
    """A trajectory; integrating it takes longer than forecasting it, and several cases see the same."""
    return SYSTEMS[system].sample(samples, rate, seed=seed)


def baselines_ahead(context: Array, horizon: int) -> dict[str, Array]:
    """Copying, repeating what followed the best match of 30 samples, and a linear autoregression of order 12."""
    centre, scale = context.mean(axis=0), context.std(axis=0)
    scaled = (context - centre) / np.where(scale > 0, scale, 1.0)
    models: dict[str, Model | None] = {"copy": Copy(), "repetition": Repetition(30)}
    models["linear autoregression"] = fit_linear(12, 1, 1e-8, scaled, _all_rows(scaled))
    end = np.array([len(scaled)])
    return {n: m.rollout(scaled, end, horizon)[0] * scale + centre for n, m in models.items() if m is not None}


def _all_rows(values: Array) -> Rows:
    index = np.arange(len(values) - 1)
    return Rows(index, index + 1)


def chaos_case(system: str, rate: int, noise: float, seed: int, missing: float = 0.0) -> dict[str, Any]:
    """One trajectory: scores of ours and the baselines against the clean future, coverage along the horizon of values
    measured with the same noise, which is what intervals are for. missing: the share of values that are left out, drawn
    at random; baselines have straight lines there."""
    horizon = LYAPUNOV_TIMES * rate
    series = sampled(system, CONTEXT + horizon, rate, seed)
    clean, truth = series[:CONTEXT], series[CONTEXT:]
    generator, size = np.random.default_rng(seed), noise * clean.std(axis=0)
    seen = clean + size * generator.standard_normal(clean.shape)
    measured = truth + size * generator.standard_normal(truth.shape)
    holes = generator.random(seen.shape) < missing
    began = time.process_time()
    answer = forecast(np.where(holes, np.nan, seen), horizon)
    seconds = time.process_time() - began
    paths = {OURS: np.asarray(answer.point), **baselines_ahead(_bridged(seen, holes), horizon)}
    inside = (np.asarray(answer.lower) <= measured) & (measured <= np.asarray(answer.upper))
    every = max(1, rate // 15)
    return {
        "vpt": {name: valid_prediction_time(truth, path, samples_per_time=rate) for name, path in paths.items()},
        "smape": {name: float(np.mean(smape(truth, path))) for name, path in paths.items()},
        "coverage": [float(part.mean()) for part in np.array_split(inside.mean(axis=1), BINS)],
        "seconds": seconds,
        "method": answer.method,
        "curve": {
            "past": clean[-3 * rate :: every, 0].tolist(),
            "truth": truth[::every, 0].tolist(),
            "mean": np.asarray(answer.point)[::every, 0].tolist(),
            **{part: np.asarray(getattr(answer, part))[::every, 0].tolist() for part in ("lower", "upper")},
        },
    }


def _bridged(values: Array, holes: NDArray[np.bool_]) -> Array:
    times = np.arange(len(values))
    return np.column_stack([np.interp(times, times[~h], v[~h]) for v, h in zip(values.T, holes.T, strict=True)])


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
