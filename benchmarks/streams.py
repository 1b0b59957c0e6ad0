"""Streams as they come, measured.

Each part replaces its own entry in the result file. `etth1` and `jitter` need `--data ORDINARY.npz`, made by
benchmarks.ordinary_data from the public ETTh1.csv; `--held-out` looks at the part of ETTh1 that nothing was chosen on.
`skaters` needs that package and those the measured series ship in.
"""

import os
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from scipy.signal import lfilter

from benchmarks.harness import Array, Options, Parts, Result, defaults
from benchmarks.speed.measure import in_turns
from benchmarks.speed.peers import least_squares
from prophecy import Prophecy, signals
from reproduction.measured import SERIES

AFTER = 1500


def error(u: Array, times: Array | None = None, after: int = AFTER) -> float:
    return float(np.nanmean(np.abs(Prophecy().follow(u, time=times).point[after:] - u[after:])))


def each(work: Callable[[Any], Any], cases: Result) -> Result:
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(cases, pool.map(work, cases.values()), strict=True))


def around(newest: int, periods: tuple[int, ...], seasons: int) -> list[int]:
    """Lags 1 … newest, and those at and beside 1 … `seasons` times each period before the value predicted."""
    beside = {s * period - 1 + near for period in periods for s in range(1, seasons + 1) for near in (-1, 0, 1)}
    return sorted({*range(1, newest + 1)} | beside)


def relative(y: Array, u: Array, after: int = AFTER) -> float:
    return float(np.mean(np.abs(y[after - 1 : -1] - u[after:])) / np.mean(np.abs(np.diff(u[after - 1 :]))))


def etth1(data: Path, held_out: bool) -> Result:
    span = slice(8000, 16000) if held_out else slice(0, 8000)
    columns = np.ascontiguousarray(np.load(data)["etth1"].T[:, span], dtype=np.float64)
    rivals: dict[str, Callable[[Array], Array]] = {
        "prophecy": lambda u: Prophecy().predict_all(u),
        "least squares, lags 1-4 and around a day and a week": lambda u: least_squares(u, around(4, (24, 168), 1)),
        "least squares, lags 1-6 and around one and two": lambda u: least_squares(u, around(6, (24, 168), 2)),
    }
    rows = {name: [relative(method(u), u) for u in columns] for name, method in rivals.items()}
    return {name: {"columns": row, "mean": float(np.mean(row)), "worst": max(row)} for name, row in rows.items()}


def tones(t: Array) -> Array:
    return np.sin(t / 8) + 0.5 * np.sin(t / 3.1 + 1)


def jitter(data: Path) -> Result:
    rng, n = np.random.default_rng(3), 8000
    columns, steps = np.load(data)["etth1"].T[:, :n].astype(np.float64), np.arange(n)
    noise = 0.05 * rng.standard_normal(n)
    plain, still = np.array([error(u) for u in columns]), error(tones(steps) + noise)
    out: Result = {}
    for share in (0.02, 0.1, 0.25):
        times = steps + rng.uniform(-share, share, n)
        noisy = np.array([error(u, times * 3600.0) for u in columns])
        out[f"± {share:.0%}"] = {
            "noisy stamps, ETTh1": float(np.mean(noisy / plain)),
            "true times, smooth signal with noise": error(tones(times) + noise, times) / still,
        }
    costs = {"without": None, "on the grid": steps * 60.0, "± 10 %": (steps + rng.uniform(-0.1, 0.1, n)) * 60.0}
    costs["± 40 %"] = steps + rng.uniform(-0.4, 0.4, n)
    costs["intervals ± 90 %"] = np.cumsum(rng.uniform(0.1, 1.9, n))
    costs["exponential intervals"] = np.cumsum(rng.exponential(1.0, n))
    contestants = {name: partial(lambda at: Prophecy().observe(columns[0], time=at), at) for name, at in costs.items()}
    seconds = in_turns(contestants, 7)
    out["microseconds a value"] = {name: 1e6 * took / n for name, took in seconds.items()}
    out["cost of stamps"] = {name: took / seconds["without"] for name, took in seconds.items()}
    return out


def irregular() -> Result:
    rng = np.random.default_rng(0)
    n, after = 3000, 1000
    kinds = {f"smooth process, correlation over {ell} intervals": _process(rng, ell) for ell in (10.0, 5.0, 2.0)}
    kinds["two tones"] = tones
    out: Result = {}
    for name, signal in kinds.items():
        for size in (0.0, 0.1):
            grid = error(signal(np.arange(n)) + size * rng.standard_normal(n), None, after)
            row: dict[str, float] = {"on the grid": grid}
            for share in (0.5, 0.9):
                times, label = np.cumsum(rng.uniform(1 - share, 1 + share, n)), f"intervals ± {share:.0%}"
                u = signal(times) + size * rng.standard_normal(n)
                row[label] = error(u, times, after)
                row[f"{label}, ratio"] = row[label] / grid
                row[f"{label}, copying"] = float(np.mean(np.abs(np.diff(u[after - 1 :]))))
                row[f"{label}, polynomials at true times"] = _at_true_times(times, u, after)
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


def seasons() -> Result:
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
        harmonics, phases = np.arange(1, len(sizes) + 1), rng.uniform(0, 2 * np.pi, len(sizes))
        waves = np.sin(2 * np.pi * np.outer(k, harmonics) / period + phases)
        total = waves @ np.where(harmonics < period / 2, sizes, 0.0)
        return np.asarray(total / np.std(total))

    def drawn(low: float, high: float) -> float:
        return float(np.exp(rng.uniform(np.log(low), np.log(high))))

    for _ in range(count):
        period = drawn(5, 600)
        period = float(round(period)) if rng.random() < 0.5 else period
        one = shape(period, np.append(1.0, rng.uniform(0, 1, rng.integers(0, 6))))
        noise = rng.standard_normal(len(k))
        right["one season"] += _close((period,), _seasons(one + rng.choice([0.2, 0.5, 1.0]) * noise))
        short = float(round(drawn(6, 100)))
        long = short * rng.integers(3, 9) if rng.random() < 0.5 else drawn(1.3 * short, 8 * short)
        day, week = (shape(p, np.append(1.0, rng.uniform(0, 0.5, 2))) for p in (short, long))
        both = day + rng.uniform(0.5, 1.5) * week + 0.3 * noise
        right["two seasons"] += _close((short, long), _seasons(both))
    return right


def _close(wanted: tuple[float, ...], got: list[float]) -> bool:
    pairs = zip(sorted(wanted), sorted(got), strict=False)
    return len(wanted) == len(got) and all(abs(a - b) < 0.005 * a for a, b in pairs)


def _seasons(u: Array) -> list[float]:
    model = Prophecy()
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


KINDS = {name: name for name in ordinary(np.random.default_rng(0), 10)}


def alarms(name: str) -> dict[str, float]:
    """The share of rows of an ordinary stream with an alarm of at least 1 - rate."""
    streams = [ordinary(np.random.default_rng(seed), 50_000)[name] for seed in (21, 22)]
    alarm = np.concatenate([Prophecy().follow(u).alarm for u in streams])
    return {f"{rate:g}": float(np.mean(alarm >= 1 - rate)) for rate in (1e-2, 1e-3, 1e-4)}


def levels(name: str) -> dict[str, float]:
    """The share of 10^6 values of an ordinary stream outside intervals of each level."""
    u = ordinary(np.random.default_rng(5), 1_000_000)[name]
    tracks = {level: Prophecy(context=1).follow(u, level=level) for level in (0.5, 0.9, 0.99, 0.999)}
    return {f"{p:g}": float(np.mean(~((t.lower <= u) & (u <= t.upper))[1000:])) for p, t in tracks.items()}


def skaters(u: Array) -> dict[str, float]:
    """Mean squared errors one step ahead over the second half, and over that of the first 300 values; microseconds."""
    from skaters import laplace

    predict, state, means = laplace(1), None, [np.nan]
    begin = time.perf_counter()
    for value in u.tolist():
        dists, state = predict(value, state)
        means.append(dists[0].mean)
    row = {"microseconds, skaters": 1e6 * (time.perf_counter() - begin) / len(u)}
    ours = Prophecy().follow(u).point
    row["microseconds, prophecy"] = 1e6 * in_turns({"": lambda: Prophecy().follow(u)}, 5)[""] / len(u)
    for who, mean in (("prophecy", ours), ("skaters", np.array(means[:-1]))):
        for label, n in ((who, len(u)), (f"{who}, first 300", 300)):
            if n <= len(u) and (label == who or len(u) > 300):
                row[label] = float(np.mean((mean[:n] - u[:n])[n // 2 :] ** 2))
    return row


def compared(n: int = 800) -> dict[str, Array]:
    """Signals, and the measured series of the report whose packages are installed."""
    rng, t = np.random.default_rng(2), np.arange(n)
    made = {"tones": tones(t), "tones with noise": tones(t) + 0.1 * rng.standard_normal(n)}
    made["filtered noise 0.05"] = np.asarray(signals.filtered_noise(0.05, samples=n, seed=1)).ravel()
    made["random walk"] = np.cumsum(rng.standard_normal(n))
    here = {name: source for name, source in SERIES.items() if find_spec(source.package)}
    return made | {name: np.asarray(source.read(), dtype=np.float64) for name, source in here.items()}


def parts(options: Options) -> dict[str, Callable[[], Any]]:
    whole = {name: name for name in KINDS if name not in ("counts (Poisson, 3)", "rounded")}
    found: dict[str, Callable[[], Any]] = {
        "irregular": irregular, "seasons": seasons, "alarms": partial(each, alarms, KINDS),
        "levels": partial(each, levels, whole), "skaters": lambda: each(skaters, compared()),
        "etth1": partial(etth1, options.data, options.held_out), "jitter": partial(jitter, options.data),
    }  # fmt: skip
    if {"etth1", "jitter"} & {*(options.parts or found)} and not (options.data and options.data.is_file()):
        made_by = "python -m benchmarks.ordinary_data ORDINARY.npz --etth1 ETTh1.csv"
        options.refuse(f"etth1 and jitter need --data ORDINARY.npz, a file, got {options.data}; {made_by} makes it")
    return found


def put(result: Result, part: str, found: Any, options: Options) -> None:
    result[f"{part}, held out" if part == "etth1" and options.held_out else part] = found


BENCHMARK = Parts(__doc__, parts, defaults(data=Path, held_out=False), put=put)
