"""The CPU cases: batches by the lifted engine and the LegS scan, single streams by `Predictor` and `Prophecy`."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.signal import lfilter

import prophecy
from benchmarks.speed import peers
from benchmarks.speed.measure import Array, Case, in_turns, relative_error
from prophecy.engines import lifting, step
from prophecy.system import System

SKIPPED = 200  # values at the start of a stream that are not scored: every model is still learning


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


def batch(name: str, dtype: Any, tolerance: float, rounds: int, quick: bool) -> Case:
    series, samples, order = (200, 2048, 64) if quick else (1000, 10240, 64)
    system, u = system_of(order, dtype), _noise(series, samples, dtype=dtype)
    y = np.full_like(u, np.nan)
    prophecy.run(system, u, engine="lifted", out=y)
    expected, _ = prophecy.run(system.astype(np.float64), u[::97].astype(np.float64), engine="step")
    error = relative_error(y[::97], expected) if np.isfinite(y).all() else float("inf")
    L = lifting.block_length(system)
    operations = series * samples * (1.5 * L + 4 * order + 2 * order**2 / L)
    title = f"{name}: {series} × {samples}, N = {order}, {np.dtype(dtype)}"
    settings = {"order": order, "series": series, "samples": samples, "dtype": str(np.dtype(dtype))}
    settings |= {"operations": operations, "block": L, "group": lifting.GROUP}
    case = Case(name, title, settings, u.size, tolerance)

    part, small = u[:, :64].copy(), u[:, :256]
    one = u[0, :1000].astype(np.float64)
    state, few = np.zeros((series, order), dtype), np.empty_like(part)
    took = in_turns(
        {
            "lifted": lambda: prophecy.run(system, u, engine="lifted", out=y),
            "copy": lambda: np.copyto(y, u),
            "step, all series together": lambda: step.run(system, part, state, few),
            "SciPy FFT": peers.scipy_fft(system, u),
            "torch FFT": peers.torch_fft(system, u),
            "torch loop over time": peers.torch_loop(system, part),
            "scipy.signal.dlsim": peers.scipy_dlsim(system.astype(np.float64), one),
        },
        rounds,
    )
    took["matrix product"] = product_seconds(operations, dtype, rounds)
    shares = dict.fromkeys(("step, all series together", "torch loop over time"), part.size / u.size)
    made = {"SciPy FFT": peers.scipy_fft(system, small)(), "torch FFT": peers.torch_fft(system, small)(),
            "torch loop over time": peers.torch_loop(system, part)()}  # fmt: skip
    checks = {name: relative_error(y[::97], expected[:, : y.shape[1]]) for name, y in made.items()}
    shares["scipy.signal.dlsim"] = one.size / u.size
    return case.enter(took, {"lifted": error}, ("copy", "matrix product"), shares, checks)


def legs_batch(rounds: int, quick: bool) -> Case:
    """LegS over many series: its scan, O(N) per step and series, beside a step with the matrices at hand."""
    series, samples, order = 256, 512 if quick else 2048, 64
    system, constant = prophecy.next_value(prophecy.legs(order), dt=1.0), system_of(order)
    u = _noise(series, samples)
    y, part = np.full_like(u, np.nan), u[:, :32].copy()
    prophecy.run(system, u, engine="scan", out=y)
    expected, _ = prophecy.run(system, u[:3, :300], engine="step")
    error = relative_error(y[:3, :300], expected)
    title = f"legs-batch: {series} × {samples}, N = {order}, float64"
    settings = {"order": order, "series": series, "samples": samples, "dtype": "float64"}
    case = Case("legs-batch", title, settings, u.size, 1e-10)
    ours, slow = "LegS scan", ("LegS step (makes its matrices)", "a LegT step of that order")
    took = in_turns(
        {
            ours: lambda: prophecy.run(system, u, engine="scan", out=y),
            slow[0]: lambda: prophecy.run(system, part, engine="step"),
            slow[1]: lambda: prophecy.run(constant, part, engine="step"),
        },
        rounds,
    )
    return case.enter(took, {ours: error}, shares=dict.fromkeys(slow, part.size / u.size))


def stream(name: str, model: Any, rounds: int, quick: bool) -> Case:
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
    case = Case(name, title, settings, len(values), 1e-11)
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
    return case.enter(took, {"Predictor": error}, shares={plain: len(part) / len(values)})


def signals(samples: int, seed: int = 0) -> dict[str, list[float]]:
    random = np.random.default_rng(seed)
    time = np.arange(samples)
    noise = random.standard_normal(samples)
    smooth = np.convolve(random.standard_normal(samples + 400), np.exp(-0.5 * np.linspace(-4, 4, 101) ** 2), "same")
    made = {
        "smooth noise": smooth[200 : 200 + samples],
        "sine in noise": np.sin(0.05 * time) + 0.05 * noise,
        "autoregression": lfilter([1.0], [1.0, -1.6, 0.8], noise),
        "trend and season": 0.002 * time + np.sin(2 * np.pi * time / 24) + 0.1 * noise,
    }
    return {name: (signal / signal.std()).tolist() for name, signal in made.items()}


def _ours(values: list[float]) -> list[float]:
    model, outputs = prophecy.Prophecy(), []
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
        "recursive least squares(8)": lambda v: peers.least_squares(np.array(v), range(1, 9)).tolist(),
    }


def _score(predicted: list[float], values: list[float]) -> float:
    """Mean absolute error of the next value, in standard deviations of the signal."""
    gap = np.abs(np.array(predicted[:-1]) - np.array(values[1:]))[SKIPPED:]
    return float(gap.mean()) if np.isfinite(gap).all() else float("inf")


def streams(rounds: int, quick: bool) -> Case:
    """All streams through all contestants. The "error" of a contestant is its mean score over the streams; ours must be
    more accurate than every river forecaster here."""
    values = signals(600 if quick else 3000)
    everyone, longest = contestants(), next(iter(values.values()))
    scores = {name: {kind: _score(run(u), u) for kind, u in values.items()} for name, run in everyone.items()}
    took = in_turns({name: lambda run=run: run(longest) for name, run in everyone.items()}, rounds, warm=False)  # type: ignore[misc]
    title = "prophecy: one stream, observe + predict (error: mean absolute, in standard deviations)"
    settings = {"samples": len(longest), "scores": scores}
    errors = {name: float(np.mean(list(score.values()))) for name, score in scores.items()}
    rivals = [error for name, error in errors.items() if name.startswith("river")]
    made = Case("prophecy", title, settings, len(longest), min(rivals))
    return made.enter(took, {"Prophecy": errors["Prophecy"]}, checks=errors)


# (series, samples, order): each in turn from small to large, the others as in the middle of the first two.
POINTS = (
    [(2**k, 4096, 64) for k in range(12)]
    + [(64, 2**k, 64) for k in range(6, 18)]
    + [(256, 4096, order) for order in (8, 16, 32, 64, 128, 256)]
)


def scaling(rounds: int, quick: bool) -> list[dict[str, Any]]:
    rows = []
    for series, samples, order in POINTS[:: 7 if quick else 1]:
        system, u = system_of(order), _noise(series, samples)
        y = np.full_like(u, np.nan)
        prophecy.run(system, u, engine="lifted", out=y)
        expected, _ = prophecy.run(system, u[:2, :600], engine="step")
        error = relative_error(y[:2, :600], expected) if np.isfinite(y).all() else float("inf")
        row: dict[str, Any] = {"series": series, "samples": samples, "order": order, "dtype": "float64"}
        if error <= 1e-12:
            contestants = {
                "seconds": partial(prophecy.run, system, u, engine="lifted", out=y),
                "SciPy FFT": peers.scipy_fft(system, u),
                "copy": partial(np.copyto, y, u),
            }
            row |= {"error": error, **in_turns(contestants, rounds)}
        rows.append(row)
    return rows


CASES: dict[str, Callable[[int, bool], Case]] = {
    "batch-double": partial(batch, "batch-double", np.float64, 1e-12),
    "batch-single": partial(batch, "batch-single", np.float32, 1e-5),
    "legs-batch": legs_batch,
    "stream-legt": partial(stream, "stream-legt", prophecy.legt(64, window=16384.0)),
    "stream-fout": partial(stream, "stream-fout", prophecy.fout(65, window=16900.0)),
    "stream-legs": partial(stream, "stream-legs", prophecy.legs(64)),
    "prophecy": streams,
}
