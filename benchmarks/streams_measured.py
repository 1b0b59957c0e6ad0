"""The parts of `streams.py` that run on measured series: beside the package `skaters`, and errors."""

from __future__ import annotations

import os
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import prophecy

Array = NDArray[np.float64]


def skaters(series: dict[str, Array]) -> dict[str, Any]:
    """Mean squared error and time a value beside the package `skaters`, one step ahead: second half of each series, and
    second half of its first 300 values."""
    together = {**_signals(), **series}
    prophecy.Prophecy().follow(np.zeros(8))  # compiled once, before there are workers
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(together, pool.map(_beside_skaters, together.values()), strict=True))


def _beside_skaters(u: Array) -> dict[str, float]:
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


def ours_beside_skaters(series: dict[str, Array], before: dict[str, Any]) -> dict[str, Any]:
    """What `skaters` found, with our errors computed anew: theirs do not change with our code, and take ten minutes.
    Times stay those of the run in which both were measured."""
    together = {**_signals(), **series}
    return {name: row | _errors("prophecy", prophecy.Prophecy().follow(together[name]).mean, together[name])
            for name, row in before.items()}  # fmt: skip


def _second_half(mean: Array, u: Array) -> float:
    return float(np.mean((mean - u)[len(u) // 2 :] ** 2))


def _signals(n: int = 800) -> dict[str, Array]:
    from prophecy import signals

    rng = np.random.default_rng(2)
    t = np.arange(n)
    made = {"tones": np.sin(t / 8) + 0.5 * np.sin(t / 3.1 + 1)}
    made["tones with noise"] = made["tones"] + 0.1 * rng.standard_normal(n)
    made["filtered noise 0.05"] = np.asarray(signals.filtered_noise(0.05, samples=n, seed=1)).ravel()
    made["random walk"] = np.cumsum(rng.standard_normal(n))
    return made


def measured_series(kept: Path | None) -> dict[str, Array]:
    """The measured series of the report, from the packages they ship in; `kept`: a file for machines without these,
    written where there is none, else read."""
    from importlib.util import find_spec

    from reproduction.measured import SERIES

    if kept is not None and kept.exists():
        with np.load(kept) as file:
            return dict(file)
    found = {}
    for name, source in SERIES.items():
        if find_spec(source.package):
            found[name] = np.asarray(source.read(), dtype=np.float64)
    if kept is not None:
        np.savez(kept, **found)
    return found


def measured(series: dict[str, Array]) -> dict[str, float]:
    """Mean squared error over the second half of every measured series of the report."""
    out = {}
    for name, u in series.items():
        y, half = prophecy.Prophecy().predict_all(u), len(u) // 2
        out[name] = float(np.mean((y[half - 1 : -1] - u[half:]) ** 2))
    return out
