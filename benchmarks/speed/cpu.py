"""The CPU cases: batches by the lifted engine and the LegS scan, single streams by `Predictor` and `Prophecy`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import prophecy
from benchmarks.speed import peers
from benchmarks.speed.measure import Case, Entry, in_turns, relative_error
from prophecy.engines import lifted, step
from prophecy.system import System

Array = NDArray[Any]


def system_of(order: int, dtype: Any = np.float64) -> System:
    """LegT with a window of 4 N² samples: far from the rule's pole, near enough that the state matters as much as u."""
    return prophecy.next_value(prophecy.legt(order, window=4.0 * order**2), dt=1.0).astype(dtype)


def _noise(*shape: int, dtype: Any = np.float64, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def product_seconds(operations: float, dtype: Any, rounds: int = 3) -> float:
    """The ceiling: how long a large square matrix product takes for so many operations, on all cores."""
    size = 2048
    left, right = _noise(size, size, dtype=dtype), _noise(size, size, dtype=dtype, seed=1)
    took = in_turns({"product": lambda: left @ right}, rounds)["product"]
    return took * operations / (2.0 * size**3)


def batch(name: str, dtype: Any, tolerance: float, goals: dict[str, float], rounds: int, quick: bool) -> Case:
    """Many series at once: 1 000 × 10 240 samples, N = 64."""
    series, samples, order = (200, 2048, 64) if quick else (1000, 10240, 64)
    system, u = system_of(order, dtype), _noise(series, samples, dtype=dtype)
    y = np.full_like(u, np.nan)
    prophecy.run(system, u, engine="lifted", out=y)
    expected, _ = prophecy.run(system.astype(np.float64), u[::97].astype(np.float64), engine="step")
    error = relative_error(y[::97], expected) if np.isfinite(y).all() else float("inf")
    setting = lifted.default(system)
    L = setting.length
    operations = series * samples * (1.5 * L + 4 * order + 2 * order**2 / L)
    title = f"{name}: {series} × {samples}, N = {order}, {np.dtype(dtype)}"
    settings = {"order": order, "series": series, "samples": samples, "dtype": str(np.dtype(dtype))}
    settings |= {"operations": operations, "block": L, "group": setting.group}
    case = Case(name, title, settings, u.size, tolerance, goals=goals)

    part, small = u[:, :64].copy(), u[:, :256]
    one = u[0, :1000].astype(np.float64)
    state, few = np.zeros((series, order), dtype), np.empty_like(part)
    contestants: dict[str, Callable[[], object]] = {
        "lifted": lambda: prophecy.run(system, u, engine="lifted", out=y),
        "copy": lambda: np.copyto(y, u),
        "step, all series together": lambda: step.run(system, part, state, few),
        "SciPy FFT": peers.scipy_fft(system, u),
        "torch FFT": peers.torch_fft(system, u),
        "torch loop over time": peers.torch_loop(system, part),
        "scipy.signal.dlsim": peers.scipy_dlsim(system.astype(np.float64), one),
    }
    took = in_turns(contestants, rounds)
    shares = {"step, all series together": part.size / u.size, "torch loop over time": part.size / u.size,
              "scipy.signal.dlsim": one.size / u.size}  # fmt: skip
    checks = {"SciPy FFT": peers.scipy_fft(system, small)(), "torch FFT": peers.torch_fft(system, small)(),
              "torch loop over time": peers.torch_loop(system, part)()}  # fmt: skip
    for other, seconds in took.items():
        kind = {"lifted": "ours", "copy": "ceiling"}.get(other, "peer")
        share = shares.get(other, 1.0)
        found = error if kind == "ours" else None
        if other in checks:
            found = relative_error(checks[other][::97], expected[:, : checks[other].shape[1]])
        case.entries.append(Entry(other, kind, seconds / share, found, share))
    case.entries.append(Entry("matrix product", "ceiling", product_seconds(operations, dtype, rounds)))
    return case


def legs_batch(rounds: int, quick: bool) -> Case:
    """LegS over many series: its scan, O(N) per step and series, beside a step with the matrices at hand."""
    series, samples, order = 256, 512 if quick else 2048, 64
    system = prophecy.next_value(prophecy.legs(order), dt=1.0)
    u = _noise(series, samples)
    y = np.full_like(u, np.nan)
    prophecy.run(system, u, engine="scan", out=y)
    expected, _ = prophecy.run(system, u[:3, :300], engine="step")
    error = relative_error(y[:3, :300], expected)
    part = u[:, :32].copy()
    title = f"legs-batch: {series} × {samples}, N = {order}, float64"
    settings = {"order": order, "series": series, "samples": samples, "dtype": "float64"}
    case = Case("legs-batch", title, settings, u.size, 1e-10, goals={})
    constant = system_of(order)
    took = in_turns(
        {
            "LegS scan": lambda: prophecy.run(system, u, engine="scan", out=y),
            "LegS step (makes its matrices)": lambda: prophecy.run(system, part, engine="step"),
            "a LegT step of that order": lambda: prophecy.run(constant, part, engine="step"),
        },
        rounds,
    )
    for name, seconds in took.items():
        share = 1.0 if name == "LegS scan" else part.size / u.size
        case.entries.append(
            Entry(name, "peer" if share < 1 else "ours", seconds / share, error if share == 1 else None, share)
        )
    return case


def stream(name: str, model: Any, goals: dict[str, float], rounds: int, quick: bool) -> Case:
    """One stream through `Predictor`: observe and predict for every value."""
    system = prophecy.next_value(model, dt=1.0)
    values = _noise(2000 if quick else 20000).tolist()

    def ours() -> list[float]:
        predictor = prophecy.Predictor(system)
        outputs = []
        for value in values:
            predictor.observe(value)
            outputs.append(predictor.predict())
        return outputs

    short = 1000
    expected, _ = prophecy.run(system, np.array(values[:short]), engine="step")
    error = relative_error(np.array(ours()[:short]), expected)
    order = model.order
    title, settings = f"{name}: one stream, N = {order}, observe + predict", {"order": order, "dtype": "float64"}
    case = Case(name, title, settings, len(values), 1e-11, goals=goals)
    constant = isinstance(system, System)
    part = values if constant else values[:200]
    plain = "plain NumPy step" if constant else "plain NumPy step (makes LegS's matrices)"
    took = in_turns(
        {
            "Predictor": ours,
            plain: lambda: peers.plain_steps(system, part),
            "river HoltWinters": lambda: peers.holt_winters(values),
        },
        rounds,
    )
    for other, seconds in took.items():
        mine, share = other == "Predictor", len(part) / len(values) if other == plain else 1.0
        case.entries.append(Entry(other, "ours" if mine else "peer", seconds / share, error if mine else None, share))
    return case


# (series, samples, order): each in turn from small to large, the others as in the middle of the first two.
POINTS = (
    [(2**k, 4096, 64) for k in range(12)]
    + [(64, 2**k, 64) for k in range(6, 18)]
    + [(256, 4096, order) for order in (8, 16, 32, 64, 128, 256)]
)


def scaling(rounds: int, quick: bool) -> list[dict[str, Any]]:
    """How time grows with series, samples and order, one at a time, each point checked.

    Rows {series, samples, order, dtype, error, seconds, "SciPy FFT", "copy"}."""
    rows = []
    for series, samples, order in POINTS[:: 7 if quick else 1]:
        system = system_of(order)
        u = np.random.default_rng(0).standard_normal((series, samples))
        y = np.full_like(u, np.nan)
        prophecy.run(system, u, engine="lifted", out=y)
        expected, _ = prophecy.run(system, u[:2, :600], engine="step")
        error = relative_error(y[:2, :600], expected) if np.isfinite(y).all() else float("inf")
        row: dict[str, Any] = {"series": series, "samples": samples, "order": order, "dtype": "float64"}
        if error <= 1e-12:
            took = in_turns(
                {
                    "seconds": lambda s=system, v=u, o=y: prophecy.run(s, v, engine="lifted", out=o),  # type: ignore[misc]
                    "SciPy FFT": peers.scipy_fft(system, u),
                    "copy": lambda v=u, o=y: np.copyto(o, v),  # type: ignore[misc]
                },
                rounds,
            )
            row |= {"error": error, **took}
        rows.append(row)
    return rows


_GOALS = {"step, all series together": 20, "SciPy FFT": 2.2, "matrix product": 0.6}
_STREAM_GOALS = {"plain NumPy step": 3.0, "river HoltWinters": 1.0}
CASES: dict[str, Callable[[int, bool], Case]] = {
    "batch-double": partial(batch, "batch-double", np.float64, 1e-12, _GOALS),
    "batch-single": partial(batch, "batch-single", np.float32, 1e-5, {}),
    "legs-batch": legs_batch,
    "stream-legt": partial(stream, "stream-legt", prophecy.legt(64, window=16384.0), _STREAM_GOALS),
    "stream-fout": partial(stream, "stream-fout", prophecy.fout(65, window=16900.0), {}),
    "stream-legs": partial(stream, "stream-legs", prophecy.legs(64), {}),
}
