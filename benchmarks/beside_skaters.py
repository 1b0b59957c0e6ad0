"""The part of `streams.py` that runs beside the package `skaters`: mean squared errors and times of both."""

from __future__ import annotations

import os
import time
from concurrent.futures import ProcessPoolExecutor
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

import prophecy
from prophecy import signals
from reproduction.measured import SERIES

Array = NDArray[np.float64]


def skaters() -> dict[str, Any]:
    """Mean squared error and time a value, one step ahead: second half of each series, and second half of its first
    300 values."""
    together = {**_signals(), **_measured()}
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(together, pool.map(_both, together.values()), strict=True))


def _both(u: Array) -> dict[str, float]:
    from skaters import laplace

    predict = laplace(1)
    state, means = None, []
    begin = time.perf_counter()
    for value in u.tolist():
        dists, state = predict(value, state)
        means.append(dists[0].mean)
    theirs = (time.perf_counter() - begin) / len(u)
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        ours = prophecy.Prophecy().follow(u).mean
        times.append((time.perf_counter() - begin) / len(u))
    row = _errors("prophecy", ours, u) | _errors("skaters", np.concatenate([[np.nan], means[:-1]]), u)
    return row | {"microseconds, prophecy": 1e6 * min(times), "microseconds, skaters": 1e6 * theirs}


def _errors(who: str, mean: Array, u: Array) -> dict[str, float]:
    row = {who: _second_half(mean, u)}
    return row | {f"{who}, first 300": _second_half(mean[:300], u[:300])} if len(u) > 300 else row


def _second_half(mean: Array, u: Array) -> float:
    return float(np.mean((mean - u)[len(u) // 2 :] ** 2))


def _signals(n: int = 800) -> dict[str, Array]:
    rng = np.random.default_rng(2)
    t = np.arange(n)
    made = {"tones": np.sin(t / 8) + 0.5 * np.sin(t / 3.1 + 1)}
    made["tones with noise"] = made["tones"] + 0.1 * rng.standard_normal(n)
    made["filtered noise 0.05"] = np.asarray(signals.filtered_noise(0.05, samples=n, seed=1)).ravel()
    made["random walk"] = np.cumsum(rng.standard_normal(n))
    return made


def _measured() -> dict[str, Array]:
    """The measured series of the report whose packages are installed."""
    here = {name: source for name, source in SERIES.items() if find_spec(source.package)}
    return {name: np.asarray(source.read(), dtype=np.float64) for name, source in here.items()}
