"""The series a first course begins with, each against the rival that knows what it is.

`error`: mean absolute error of `forecast(...).point` over that of the rival, both summed over 20 draws; against the
signal without its noise where there is one, else against what came. `holds`: the share of coming values inside the
interval of level 0.8, of all leads, of the first fifth and of the last. `seconds`: processor time of a forecast.
"""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import least_squares
from scipy.signal import lfilter

from benchmarks.harness import Array, Benchmark, Options, Result, defaults, grouped
from prophecy import forecast

Random = np.random.Generator
Rival = Callable[[Array, int], Array]
DRAWS, LEVEL = 20, 0.8


class Kind(NamedTuple):
    """make(rng): the whole series and its signal (None: what comes is the truth). rival(context, steps): its point."""

    make: Callable[[Random], tuple[Array, Array | None]]
    ahead: int
    rival: Rival
    season: int | None = None


def level(of: Callable[[Array], Any]) -> Rival:
    return lambda y, steps: np.full(steps, of(y))


mean, median, newest = level(np.mean), level(np.median), level(lambda y: y[-1])


def drift(y: Array, steps: int) -> Array:
    return y[-1] + (y[-1] - y[0]) / (len(y) - 1) * np.arange(1, steps + 1)


def line(y: Array, steps: int) -> Array:
    slope, level = np.polyfit(np.arange(len(y)), y, 1)
    return np.asarray(level + slope * (len(y) + np.arange(steps)))


def of_logarithms(rival: Rival) -> Rival:
    return lambda y, steps: np.exp(rival(np.log(y), steps))


def last_season(m: int) -> Rival:
    return lambda y, steps: y[len(y) - m + np.arange(steps) % m]


def mean_season(m: int) -> Rival:
    return lambda y, steps: y[len(y) % m :].reshape(-1, m).mean(axis=0)[np.arange(steps) % m]


def median_season(m: int, count: int) -> Rival:
    return lambda y, steps: np.median(y[-count * m :].reshape(count, m), axis=0)[np.arange(steps) % m]


def autoregression(y: Array, steps: int, most: int = 10) -> Array:
    """Least squares, its order by Akaike's criterion."""
    lags = np.lib.stride_tricks.sliding_window_view(y, most + 1)[:, ::-1]
    best, chosen = np.inf, np.zeros(1)
    for order in range(most + 1):
        table = np.column_stack([np.ones(len(lags)), lags[:, 1 : order + 1]])
        found = np.linalg.lstsq(table, lags[:, 0], rcond=None)[0]
        cost = len(lags) * np.log(np.mean((lags[:, 0] - table @ found) ** 2)) + 2 * (order + 2)
        best, chosen = min((best, chosen), (cost, found), key=lambda pair: pair[0])
    path = list(y)
    for _ in range(steps):
        path.append(chosen[0] + sum(c * path[-1 - k] for k, c in enumerate(chosen[1:])))
    return np.array(path[-steps:])


def smoothing(y: Array, steps: int) -> Array:
    """Simple exponential smoothing, its gain by least squares."""
    levels = [lfilter([g], [1, g - 1], y, zi=[(1 - g) * y[0]])[0] for g in np.linspace(0.02, 1, 50)]
    best = min(levels, key=lambda path: float(np.sum((y[1:] - path[:-1]) ** 2)))
    return np.full(steps, best[-1])


def sinusoids(count: int, slope: bool = False) -> Rival:
    """As many as there are, their frequencies by least squares from the highest peaks."""

    def ahead(y: Array, steps: int) -> Array:
        n, frequencies = len(y), np.zeros(0)

        def table(at: Array, frequencies: Array) -> Array:
            turns = 2 * np.pi * np.outer(at, frequencies)
            return np.column_stack([np.ones(len(at)), *([at] if slope else []), np.cos(turns), np.sin(turns)])

        def left(frequencies: Array) -> Array:
            x = table(np.arange(n), frequencies)
            return y - x @ np.linalg.lstsq(x, y, rcond=None)[0]

        for _ in range(count):
            power = np.abs(np.fft.rfft(left(frequencies), 8 * n))
            power[:4] = 0
            first = np.append(frequencies, np.argmax(power) / (8 * n))
            frequencies = least_squares(left, first, x_scale=1 / n, diff_step=1e-6).x
        x = table(np.arange(n), frequencies)
        found = np.linalg.lstsq(x, y, rcond=None)[0]
        return np.asarray(table(np.arange(n, n + steps), frequencies) @ found)

    return ahead


def approach(y: Array, steps: int) -> Array:
    """An exponential approach to a level, its time by least squares."""
    n, t = len(y), np.arange(len(y) + steps)
    tables = [np.column_stack([np.ones(len(t)), np.exp(-t / tau)]) for tau in np.geomspace(2, 4 * n, 60)]
    paths = [x @ np.linalg.lstsq(x[:n], y, rcond=None)[0] for x in tables]
    return np.asarray(min(paths, key=lambda path: float(np.sum((y - path[:n]) ** 2)))[n:])


def logistic(y: Array, steps: int) -> Array:
    t = np.arange(len(y) + steps)

    def curve(p: Array) -> Array:
        return np.asarray(np.exp(p[0]) / (1 + np.exp(-np.exp(p[1]) * (t - p[2]))))

    starts = [(np.log(y.max() * k), np.log(0.1), c * len(y)) for k in (1.2, 2, 4, 10) for c in (0.5, 1, 2)]
    fits = [least_squares(lambda p: curve(p)[: len(y)] - y, start, max_nfev=300) for start in starts]
    return curve(min(fits, key=lambda fit: fit.cost).x)[len(y) :]


def autoregressive(n: int, *weights: float, level: float = 0.0) -> Callable[[Random], tuple[Array, None]]:
    filtered = [1, *(-w for w in weights)]
    return lambda rng: (level + lfilter([1], filtered, rng.standard_normal(n + 200))[200:], None)


def noisy(n: int, signal: Callable[[Array, Random], Array], noise: float) -> Callable[[Random], tuple[Array, Array]]:
    def make(rng: Random) -> tuple[Array, Array]:
        clean = signal(np.arange(n, dtype=np.float64), rng)
        return clean + noise * rng.standard_normal(n), clean

    return make


def of_noise(n: int, made: Callable[[Array], Array]) -> Callable[[Random], tuple[Array, None]]:
    return lambda rng: (made(rng.standard_normal(n)), None)


def sine(t: Array, rng: Random) -> Array:
    return np.sin(2 * np.pi * t / rng.uniform(15, 40) + rng.uniform(0, 6))


def two_sines(t: Array, rng: Random) -> Array:
    return sine(t, rng) + 0.7 * np.sin(2 * np.pi * t / rng.uniform(7, 12))


def long_season(t: Array, rng: Random) -> Array:
    turn = t / 900 % 1
    return 5 * np.sin(2 * np.pi * turn) + 3 * np.sin(6 * np.pi * turn + rng.uniform(0, 6)) + 2 * (turn < 0.1)


def week(t: Array, rng: Random) -> Array:
    return np.asarray(rng.normal(0, 3, 7)[t.astype(int) % 7])


def growing(n: int, signal: Callable[[Array], Array], noise: float) -> Callable[[Random], tuple[Array, Array]]:
    clean = signal(np.arange(float(n)))
    return lambda rng: (clean * np.exp(noise * rng.standard_normal(n)), clean)


def weekly(t: Array, _: Random) -> Array:
    return 50 + 10 * np.sin(2 * np.pi * t / 7)


def outliers(rng: Random) -> tuple[Array, Array]:
    y, clean = noisy(428, weekly, 1.0)(rng)
    y[rng.choice(np.arange(20, 390), 6, replace=False)] += rng.choice([-1, 1], 6) * rng.uniform(100, 400, 6)
    return y, clean


def sentinels(rng: Random) -> tuple[Array, Array]:
    y, clean = noisy(984, lambda t, _: 20 + 5 * np.sin(2 * np.pi * t / 24), 1.0)(rng)
    y[rng.choice(960, 20, replace=False)] = -9999.0
    return y, clean


def wild(rng: Random) -> tuple[Array, None]:
    y = autoregressive(170, 0.5, level=10.0)(rng)[0]
    y[149] += 20
    return y, None


def wild_week(rng: Random) -> tuple[Array, Array]:
    y, clean = noisy(228, weekly, 1.0)(rng)
    y[199] += 80
    return y, clean


def season_of_logarithms(y: Array, steps: int) -> Array:
    growth = (np.log(y[-12:]).mean() - np.log(y[:12]).mean()) / (len(y) - 12)
    return last_season(12)(y, steps) * np.exp(12 * growth * (1 + np.arange(steps) // 12))


KINDS: dict[str, Kind] = {
    **{f"AR(1), {w}": Kind(autoregressive(400, w, level=10), 40, autoregression) for w in (0.5, 0.7, 0.9)},
    "AR(2), a cycle": Kind(autoregressive(400, 1.5, -0.75), 40, autoregression),
    "MA(1)": Kind(of_noise(321, lambda e: e[1:] + 0.8 * e[:-1]), 20, autoregression),
    "white noise": Kind(of_noise(220, lambda e: 5 + e), 20, mean),
    "noise of logarithms": Kind(of_noise(220, lambda e: np.exp(1 + 0.8 * e)), 20, median),
    "walk": Kind(of_noise(330, np.cumsum), 30, newest),
    "walk with drift": Kind(of_noise(330, lambda e: np.cumsum(0.3 + e)), 30, drift),
    "growing walk": Kind(of_noise(220, lambda e: np.exp(np.cumsum(0.02 + 0.05 * e))), 20, of_logarithms(drift)),
    "local level": Kind(
        lambda rng: (np.cumsum(0.3 * rng.standard_normal(220)) + rng.standard_normal(220), None), 20, smoothing
    ),
    "level shift": Kind(
        of_noise(220, lambda e: e + 8 * (np.arange(220) >= 150)), 20, lambda y, steps: mean(y[150:], steps)
    ),
    "line, 45 values": Kind(noisy(60, lambda t, _: 3 + 0.5 * t, 2.0), 15, line),
    "line, 10 values": Kind(noisy(14, lambda t, _: 10 + t, 1.0), 4, line),
    "exponential": Kind(growing(100, lambda t: 5 * np.exp(0.03 * t), 0.05), 20, of_logarithms(line)),
    "exponential approach": Kind(noisy(110, lambda t, _: 20 + 60 * np.exp(-0.04 * t), 1.0), 30, approach),
    "early logistic": Kind(noisy(90, lambda t, _: 100 / (1 + np.exp(-0.1 * (t - 60))), 0.5), 30, logistic),
    "sine": Kind(noisy(360, sine, 0.3), 60, sinusoids(1)),
    "sine, little noise": Kind(noisy(560, sine, 0.01), 60, sinusoids(1)),
    "sine and line": Kind(noisy(288, lambda t, rng: 0.02 * t + sine(t, rng), 0.3), 48, sinusoids(1, slope=True)),
    "two sines": Kind(noisy(460, two_sines, 0.3), 60, sinusoids(2)),
    "season of 900": Kind(noisy(4950, long_season, 1.0), 450, last_season(900)),
    "week": Kind(noisy(238, week, 1.0), 28, mean_season(7)),
    "months": Kind(noisy(120, lambda t, _: 20 + 0.1 * t + 5 * np.sin(t * np.pi / 6), 1.0), 24, last_season(12), 12),
    "growing season": Kind(
        growing(144, lambda t: (100 + t) * (1 + 0.2 * np.sin(2 * np.pi * t / 12)), 0.03), 24, season_of_logarithms, 12
    ),
    "six outliers": Kind(outliers, 28, median_season(7, 8)),
    "-9999 for missing": Kind(sentinels, 24, median_season(24, 20)),
    "the last value is wild, AR": Kind(wild, 20, lambda y, steps: autoregression(y[:-1], steps + 1)[1:]),
    "the last value is wild, week": Kind(wild_week, 28, median_season(7, 8)),
    "demand, mostly none": Kind(
        lambda rng: ((rng.random(230) < 0.27) * rng.geometric(0.4, 230) * 1.0, None), 30, median
    ),
    "counts": Kind(lambda rng: (rng.poisson(4, 220) * 1.0, None), 20, median),
}


def one(job: tuple[str, int]) -> Result:
    kind = KINDS[job[0]]
    series, clean = kind.make(np.random.default_rng(1000 + job[1]))
    context, came = series[: -kind.ahead], series[-kind.ahead :]
    truth = came if clean is None else clean[-kind.ahead :]
    began = time.process_time()
    found = forecast(context, kind.ahead, level=LEVEL, season=kind.season)
    spent = time.process_time() - began
    ours, theirs = (np.abs(np.asarray(path) - truth).mean() for path in (found.point, kind.rival(context, kind.ahead)))
    held = (np.asarray(found.lower) <= came) & (came <= np.asarray(found.upper))
    return {"kind": job[0], "ours": ours, "theirs": theirs, "held": held.tolist(), "seconds": spent}


def row(parts: list[Result]) -> dict[str, float]:
    held = np.mean([part["held"] for part in parts], axis=0)
    fifth = max(1, len(held) // 5)
    error = sum(part["ours"] for part in parts) / sum(part["theirs"] for part in parts)
    shares = {"holds": held.mean(), "first": held[:fifth].mean(), "last": held[-fifth:].mean()}
    found = {name: round(float(value), 3) for name, value in {"error": error, **shares}.items()}
    return found | {"seconds": round(float(np.median([part["seconds"] for part in parts])), 4)}


def cases(options: Options) -> list[tuple[str, int]]:
    return [(name, draw) for name in options.only for draw in range(options.draws)]


def summary(parts: list[Result], options: Options) -> Result:
    found = {name: row(some) for name, some in grouped(parts, "kind").items()}
    return {"draws": options.draws, "level": LEVEL, "kinds": found}


BENCHMARK = Benchmark(__doc__, cases, one, summary, options=defaults(draws=DRAWS, only=tuple(KINDS)))
