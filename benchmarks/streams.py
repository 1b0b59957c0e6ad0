"""Streams as they come, measured: `python -m benchmarks.streams [part ...]`.

Each part replaces its own entry in the result file. `etth1` and `jitter` need `--data ORDINARY.npz`, made by
benchmarks.ordinary_data from the public ETTh1.csv; `--held-out` looks at the part of ETTh1 that nothing was chosen on.
`skaters` needs that package and those the measured series ship in.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

import prophecy
from benchmarks.beside_skaters import skaters
from benchmarks.harness import Options, Parts, option

Array = NDArray[np.float64]
AFTER = 1500


def least_squares(u: Array, lags: list[int], forgetting: float = 0.9995, prior: float = 1e4) -> Array:
    """The rival: recursive least squares on these lags, relative to the newest value; y[k] predicts u[k + 1]."""
    scale = float(np.std(u)) or 1.0
    x, back = u / scale, np.array(lags)
    weights, covariance = np.zeros(len(lags)), prior * np.eye(len(lags))
    out, longest = u.copy(), int(back.max())
    for k in range(longest + 1, len(u)):
        phi = x[k - 1 - back] - x[k - 1]
        gain = covariance @ phi
        gain /= forgetting + phi @ gain
        weights = weights + gain * (x[k] - x[k - 1] - weights @ phi)
        covariance = (covariance - np.outer(gain, phi @ covariance)) / forgetting
        covariance = 0.5 * (covariance + covariance.T)
        if k > longest + 1.5 * len(lags):
            out[k] = u[k] + scale * float(weights @ (x[k - back] - x[k]))
    return out


def around(newest: int, periods: tuple[int, ...], seasons: int) -> list[int]:
    """Lags 1 … newest, and those at and beside 1 … `seasons` times each period before the value predicted."""
    found = set(range(1, newest + 1))
    for period in periods:
        for season in range(1, seasons + 1):
            found |= {season * period - 1 + beside for beside in (-1, 0, 1)}
    return sorted(found)


def relative(y: Array, u: Array, after: int = AFTER) -> float:
    """Mean absolute error one step ahead over that of copying the last value."""
    return float(np.mean(np.abs(y[after - 1 : -1] - u[after:])) / np.mean(np.abs(np.diff(u[after - 1 :]))))


def etth1(data: Path, held_out: bool) -> dict[str, Any]:
    table = np.load(data)["etth1"].T.astype(np.float64)
    span = slice(8000, 16000) if held_out else slice(0, 8000)
    columns = np.ascontiguousarray(table[:, span])
    rivals: dict[str, Callable[[Array], Array]] = {
        "prophecy": lambda u: prophecy.Prophecy().predict_all(u),
        "least squares, lags 1-4 and around a day and a week": lambda u: least_squares(u, around(4, (24, 168), 1)),
        "least squares, lags 1-6 and around one and two": lambda u: least_squares(u, around(6, (24, 168), 2)),
    }
    rows = {name: [relative(method(u), u) for u in columns] for name, method in rivals.items()}
    return {name: {"columns": row, "mean": float(np.mean(row)), "worst": max(row)} for name, row in rows.items()}


def jitter(data: Path) -> dict[str, Any]:
    """Errors with jittered stamps over those without, of both kinds, and what timestamps cost."""
    rng = np.random.default_rng(3)
    n = 8000
    columns = np.load(data)["etth1"].T[:, :n].astype(np.float64)
    steps = np.arange(n)
    noise = 0.05 * rng.standard_normal(n)
    smooth = lambda t: np.sin(t / 8) + 0.5 * np.sin(t / 3.1 + 1)  # noqa: E731
    plain = [_error(prophecy.Prophecy().follow(u), u) for u in columns]
    still = _error(prophecy.Prophecy().follow(smooth(steps) + noise), smooth(steps) + noise)
    out: dict[str, Any] = {}
    for share in (0.02, 0.1, 0.25):
        offset = rng.uniform(-share, share, n)
        noisy = [_error(prophecy.Prophecy().follow(u, time=(steps + offset) * 3600.0), u) for u in columns]
        taken = smooth(steps + offset) + noise
        out[f"± {share:.0%}"] = {
            "noisy stamps, ETTh1": float(np.mean(np.array(noisy) / np.array(plain))),
            "true times, smooth signal with noise": _error(
                prophecy.Prophecy().follow(taken, time=steps + offset), taken
            )
            / still,
        }
    u = columns[0]
    costs = {"without": None, "on the grid": steps * 60.0, "± 10 %": (steps + rng.uniform(-0.1, 0.1, n)) * 60.0}
    costs["± 40 %"] = steps + rng.uniform(-0.4, 0.4, n)
    costs["intervals ± 90 %"] = np.cumsum(rng.uniform(0.1, 1.9, n))
    costs["exponential intervals"] = np.cumsum(rng.exponential(1.0, n))
    seconds = {name: min(_seconds(u, times) for _ in range(7)) for name, times in costs.items()}
    out["microseconds a value"] = {name: 1e6 * took / n for name, took in seconds.items()}
    out["cost of stamps"] = {name: took / seconds["without"] for name, took in seconds.items()}
    return out


def _error(track: Any, u: Array, after: int = AFTER) -> float:
    return float(np.nanmean(np.abs(track.mean[after:] - u[after:])))


def _seconds(u: Array, times: Array | None) -> float:
    model = prophecy.Prophecy()
    begin = time.perf_counter()
    model.observe(u, time=times)
    return time.perf_counter() - begin


def irregular() -> dict[str, Any]:
    """Errors at irregular times over those of the same signal on its grid."""
    rng = np.random.default_rng(0)
    n, after = 3000, 1000
    signals = {f"smooth process, correlation over {ell} intervals": _process(rng, ell) for ell in (10.0, 5.0, 2.0)}
    signals["two tones"] = lambda t: np.sin(t / 8) + 0.5 * np.sin(t / 3.1 + 1)
    out: dict[str, Any] = {}
    for name, signal in signals.items():
        for size in (0.0, 0.1):
            still = signal(np.arange(n)) + size * rng.standard_normal(n)
            grid = _error(prophecy.Prophecy().follow(still), still, after)
            row: dict[str, float] = {"on the grid": grid}
            for share in (0.5, 0.9):
                times = np.cumsum(rng.uniform(1 - share, 1 + share, n))
                u = signal(times) + size * rng.standard_normal(n)
                error = _error(prophecy.Prophecy().follow(u, time=times), u, after)
                row[f"intervals ± {share:.0%}"] = error
                row[f"intervals ± {share:.0%}, ratio"] = error / grid
                row[f"intervals ± {share:.0%}, copying"] = float(np.mean(np.abs(np.diff(u[after - 1 :]))))
                row[f"intervals ± {share:.0%}, polynomials at true times"] = _at_true_times(times, u, after)
            out[f"{name}, noise {size:g}"] = row
    return out


def _at_true_times(times: Array, u: Array, after: int) -> float:
    """Mean error of the polynomial through the last samples at their times, of the degree (0 to 9) best lately."""
    errors, lately = [], np.zeros(10)
    for k in range(10, len(u)):
        said = np.empty(10)
        x, y = times[k - 1 - np.arange(10)] - times[k], u[k - 1 - np.arange(10)].copy()
        for i in range(10):
            for j in range(i - 1, -1, -1):
                y[j] = y[j + 1] - (y[j] - y[j + 1]) * x[i] / (x[j] - x[i])
            said[i] = y[0]
        if k >= after:
            errors.append(abs(said[int(np.argmin(lately))] - u[k]))
        lately += ((said - u[k]) ** 2 - lately) * 0.03
    return float(np.mean(errors))


def _process(rng: np.random.Generator, length: float) -> Callable[[Array], Array]:
    speed, phase = rng.standard_t(5, 200) / length, rng.uniform(0, 2 * np.pi, 200)
    return lambda t: np.asarray(np.sqrt(0.01) * np.cos(np.outer(t, speed) + phase).sum(axis=1))


def resonance(noise: Array, radius: float, frequency: float) -> Array:
    """What a pole of this radius and frequency, in radians a sample, makes of noise."""
    return np.asarray(lfilter([1.0], [1.0, -2 * radius * np.cos(frequency), radius**2], noise))


def seasons() -> dict[str, Any]:
    """Periods found after 1024, 2048 and 4096 values, and how often there are none and some are found all the same."""
    rng = np.random.default_rng(7)
    k = np.arange(4352)
    noise = rng.standard_normal(len(k))
    day = np.sin(2 * np.pi * k / 48) + 0.5 * np.sin(4 * np.pi * k / 48 + 1)
    week = np.where((k // 48) % 7 >= 5, 0.4, 1.0)
    streams = {
        "4": np.resize([1.0, 3.0, 2.0, 0.0], len(k)) + 0.5 * noise,
        "12.5": np.sign(np.sin(2 * np.pi * (k + 0.3) / 12.5)) + 0.2 * noise,
        "24": np.sin(2 * np.pi * k / 24) + 0.5 * noise,
        "50.27": np.sin(2 * np.pi * k / 50.27) + 0.3 * noise,
        "48 and 336": 5 * day * week + 4 * week + 0.5 * noise,
        "365.25": 3 * np.sin(2 * np.pi * k / 365.25) + np.sin(4 * np.pi * k / 365.25) + noise,
        "2048": np.resize(rng.standard_normal(2048), len(k)) + 0.5 * noise,
    }
    rate = 50 + 40 * np.sin(2 * np.pi * k / 288) + 20 * ((k // 288) % 7 < 5)  # requests in five minutes
    streams["288, other weekends"] = np.random.default_rng(8).poisson(rate).astype(np.float64)
    found = {name: {str(n): _seasons(u[:n]) for n in (1228, 2763, 4352)} for name, u in streams.items()}
    radii = {"resonance": 0.98, "resonance, memory of 1000": 0.999, "resonance, memory of 2000": 0.9995}
    falsely = dict.fromkeys(["white noise", "random walk", *radii], 0)
    for _ in range(100):
        x = rng.standard_normal(4352)
        streams = {"white noise": x, "random walk": np.cumsum(x)}
        streams |= {name: resonance(x, radius, 0.3) for name, radius in radii.items()}
        for name, u in streams.items():
            falsely[name] += bool(_seasons(u))
    return {"found": found, "found where there is none, of 100": falsely, "named right, of 100": _named(rng, 100)}


def _named(rng: np.random.Generator, count: int) -> dict[str, int]:
    """Of random shapes of random periods (5 to 600 samples, half of them no whole number, up to six harmonics, noise of
    0.2 to 1 standard deviations) and of two such seasons in noise of 0.3: how many are named to half a per cent."""
    k, right = np.arange(4352), {"one season": 0, "two seasons": 0}

    def shape(period: float, sizes: Array) -> Array:
        phases = rng.uniform(0, 2 * np.pi, len(sizes))
        tones = [
            size * np.sin(2 * np.pi * (h + 1) * k / period + phase)
            for h, (size, phase) in enumerate(zip(sizes, phases, strict=True))
            if h + 1 < period / 2
        ]
        total = np.sum(tones, axis=0)
        return np.asarray(total / np.std(total))

    for _ in range(count):
        period = float(np.exp(rng.uniform(np.log(5), np.log(600))))
        period = float(round(period)) if rng.random() < 0.5 else period
        one = shape(period, np.append(1.0, rng.uniform(0, 1, rng.integers(0, 6))))
        noise = rng.standard_normal(len(k))
        right["one season"] += _close((period,), _seasons(one + rng.choice([0.2, 0.5, 1.0]) * noise))
        short = float(round(np.exp(rng.uniform(np.log(6), np.log(100)))))
        whole = rng.random() < 0.5
        long = (
            short * rng.integers(3, 9) if whole else float(np.exp(rng.uniform(np.log(1.3 * short), np.log(8 * short))))
        )
        day, week = (shape(p, np.append(1.0, rng.uniform(0, 0.5, 2))) for p in (short, long))
        both = day + rng.uniform(0.5, 1.5) * week + 0.3 * noise
        right["two seasons"] += _close((short, long), _seasons(both))
    return right


def _close(wanted: tuple[float, ...], got: list[float]) -> bool:
    pairs = zip(sorted(wanted), sorted(got), strict=False)
    return len(wanted) == len(got) and all(abs(a - b) < 0.005 * a for a, b in pairs)


def _seasons(u: Array) -> list[float]:
    model = prophecy.Prophecy()
    model.observe(u)
    return [round(float(period), 3) for period in model.seasons()]


def ordinary(rng: np.random.Generator, n: int) -> dict[str, Array]:
    """Streams in which nothing happens."""
    x, k = rng.standard_normal(n), np.arange(n)
    auto, changing, variance = lfilter([1.0], [1.0, -0.95], x), np.zeros(n), 1.0
    for i in range(1, n):
        variance = 0.05 + 0.9 * variance + 0.08 * changing[i - 1] ** 2
        changing[i] = np.sqrt(variance) * x[i]
    return {
        "white": x,
        "heavy tails (Student, 3)": rng.standard_t(3, n),
        "counts (Poisson, 3)": rng.poisson(3, n).astype(float),
        "autoregressive": auto,
        "resonance": resonance(x, 0.98, 0.2),
        "random walk": np.cumsum(x),
        "day of 288": 5 * np.sin(2 * np.pi * k / 288) + x,
        "changing variance (GARCH)": changing,
        "rounded": np.round(0.5 * auto),
        "positive (log-normal)": np.exp(0.3 * auto / np.std(auto)),
    }


def alarms() -> dict[str, Any]:
    """The share of rows with an alarm of at least 1 - rate, on ordinary streams."""
    return _each(_alarms_of, list(ordinary(np.random.default_rng(0), 10)))


def _alarms_of(name: str) -> dict[str, float]:
    tracks = [
        prophecy.Prophecy().follow(ordinary(np.random.default_rng(seed), 50_000)[name]).alarm for seed in (21, 22)
    ]
    alarm = np.concatenate(tracks)
    return {f"{rate:g}": float(np.mean(alarm >= 1 - rate)) for rate in (1e-2, 1e-3, 1e-4)}


def levels() -> dict[str, Any]:
    """The share of 10^6 values outside intervals of each level."""
    kinds = ordinary(np.random.default_rng(0), 10)
    return _each(_levels_of, [name for name in kinds if name not in ("counts (Poisson, 3)", "rounded")])


def _levels_of(name: str) -> dict[str, float]:
    u = ordinary(np.random.default_rng(5), 1_000_000)[name]
    row = {}
    for level in (0.5, 0.9, 0.99, 0.999):
        track = prophecy.Prophecy(context=1).follow(u, level=level)
        row[f"{level:g}"] = float(np.mean(~((track.lower <= u) & (u <= track.upper))[1000:]))
    return row


def _each(work: Callable[[str], dict[str, float]], names: list[str]) -> dict[str, Any]:
    """`work` on every name, in as many processes as there are cores."""
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(names, pool.map(work, names), strict=True))


ON_ETTH1 = ("etth1", "jitter")


def parts(options: Options) -> dict[str, Callable[[], Any]]:
    found: dict[str, Callable[[], Any]] = {
        "irregular": irregular, "seasons": seasons, "alarms": alarms, "levels": levels, "skaters": skaters,
        "etth1": partial(etth1, options.data, options.held_out), "jitter": partial(jitter, options.data),
    }  # fmt: skip
    if {*ON_ETTH1} & {*(options.parts or found)} and not (options.data and options.data.is_file()):
        made_by = "python -m benchmarks.ordinary_data ORDINARY.npz --etth1 ETTh1.csv"
        options.refuse(f"etth1 and jitter need --data ORDINARY.npz, a file, got {options.data}; {made_by} makes it")
    return found


def label(part: str, options: Options) -> str:
    return f"{part}, held out" if part == "etth1" and options.held_out else part


BENCHMARK = Parts(
    __doc__, parts,
    (
        option("--data", type=Path, metavar="ORDINARY.npz", help="what ordinary_data.py made"),
        option("--held-out", action="store_true"),
    ),
    label=label,
)  # fmt: skip

if __name__ == "__main__":
    BENCHMARK.run()
