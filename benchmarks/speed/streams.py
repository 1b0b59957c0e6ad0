"""`Prophecy` on one stream beside river's forecasters and recursive least squares: time and accuracy in one run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.speed import peers
from benchmarks.speed.measure import Case, Entry, in_turns

Array = NDArray[Any]

SKIPPED = 200  # values at the start that are not scored: every model is still learning


def signals(samples: int, seed: int = 0) -> dict[str, list[float]]:
    """Streams that differ in kind, each divided by its standard deviation."""
    random = np.random.default_rng(seed)
    time = np.arange(samples)
    noise = random.standard_normal(samples)
    smooth = np.convolve(random.standard_normal(samples + 400), np.exp(-0.5 * np.linspace(-4, 4, 101) ** 2), "same")
    walk = np.zeros(samples)
    for k in range(2, samples):
        walk[k] = 1.6 * walk[k - 1] - 0.8 * walk[k - 2] + noise[k]
    made = {
        "smooth noise": smooth[200 : 200 + samples],
        "sine in noise": np.sin(0.05 * time) + 0.05 * noise,
        "autoregression": walk,
        "trend and season": 0.002 * time + np.sin(2 * np.pi * time / 24) + 0.1 * noise,
    }
    return {name: (signal / signal.std()).tolist() for name, signal in made.items()}


def _ours(values: list[float]) -> list[float]:
    from prophecy.streams import Prophecy

    model, outputs = Prophecy(), []
    for value in values:
        model.observe(value)
        outputs.append(float(model.predict().point))
    return outputs


def contestants() -> dict[str, Callable[[list[float]], list[float]]]:
    from river import linear_model, optim, preprocessing, time_series

    def snarimax(values: list[float]) -> list[float]:
        regressor = preprocessing.StandardScaler() | linear_model.LinearRegression(optimizer=optim.SGD(0.01))
        return peers.river_forecasts(time_series.SNARIMAX(p=8, d=0, q=0, regressor=regressor), values)

    return {
        "Prophecy": _ours,
        "river SNARIMAX(8)": snarimax,
        "river SNARIMAX(8), differenced": lambda v: peers.river_forecasts(time_series.SNARIMAX(p=8, d=1, q=0), v),
        "river HoltWinters": peers.holt_winters,
        "recursive least squares(8)": lambda v: peers.recursive_least_squares(v, lags=8),
    }


RIVER = ("river SNARIMAX(8)", "river SNARIMAX(8), differenced", "river HoltWinters")


def _score(predicted: list[float], values: list[float]) -> float:
    """Mean absolute error of the next value, in standard deviations of the signal."""
    gap = np.abs(np.array(predicted[:-1]) - np.array(values[1:]))[SKIPPED:]
    return float(gap.mean()) if np.isfinite(gap).all() else float("inf")


def case(rounds: int, quick: bool) -> Case:
    """All streams through all contestants. The "error" of a contestant is its mean score over the streams."""
    streams = signals(600 if quick else 3000)
    everyone = contestants()
    scores = {
        name: {kind: _score(run(values), values) for kind, values in streams.items()} for name, run in everyone.items()
    }
    longest = next(iter(streams.values()))
    took = in_turns({name: lambda run=run: run(longest) for name, run in everyone.items()}, rounds, warm=False)  # type: ignore[misc]
    best = min(np.mean(list(scores[name].values())) for name in RIVER)
    made = Case(
        "prophecy",
        "prophecy: one stream, observe + predict (error: mean absolute, in standard deviations)",
        {"samples": len(longest), "scores": scores},
        len(longest),
        tolerance=float(best),
        goals={"river SNARIMAX(8)": 1.0},
        note="checked by being more accurate than every river forecaster here",
    )
    for name, seconds in took.items():
        made.entries.append(
            Entry(name, "ours" if name == "Prophecy" else "peer", seconds, float(np.mean(list(scores[name].values()))))
        )
    return made
