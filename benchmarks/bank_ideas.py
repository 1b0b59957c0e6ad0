"""What each number of the bank does: half and twice of it, on streams of every kind.

`python -m benchmarks.bank_ideas [--only GROUP ...]` replaces one number of `streams.Settings` at a time and follows the
streams below: for each number and each of the two values the mean squared error over that with the usual number
(geometric mean over streams, and the stream that moves most), and the share of rows of which anything at all (forecast,
width, score, alarm) changed. A number of which nothing changes anything (`--factors 0.01 100` switches most guards off)
is deleted, with its code.
"""

from __future__ import annotations

import dataclasses
import warnings
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import Benchmark, Options, option
from benchmarks.streams import resonance
from prophecy import Prophecy, __version__
from prophecy.streams.ahead import Ahead
from prophecy.streams.settings import DEFAULT, Group, Settings, places

Array = NDArray[np.float64]
LENGTH = 4000
AFTER = 300
"""Values of each stream, and those it begins with that errors are not counted of."""
SLOPES = 200
"""Values between derivatives that are compared."""


def streams() -> dict[str, tuple[Array, Array | None]]:
    """Values and times (None: without) of made streams: seasons, noise, gaps, sensors, events, clocks."""
    rng = np.random.default_rng(0)
    k, z = np.arange(LENGTH), rng.standard_normal(LENGTH)
    smooth = lambda t: np.sin(t / 8) + 0.5 * np.sin(t / 3.1 + 1)  # noqa: E731
    day = np.sin(2 * np.pi * k / 48) + 0.5 * np.sin(4 * np.pi * k / 48 + 1)
    week = np.where((k // 48) % 7 >= 5, 0.4, 1.0)
    changing, variance = np.zeros(LENGTH), 1.0
    for i in range(2, LENGTH):
        variance = 0.05 + 0.9 * variance + 0.08 * changing[i - 1] ** 2
        changing[i] = np.sqrt(variance) * z[i]
    found: dict[str, tuple[Array, Array | None]] = {
        "tones": (smooth(k), None),
        "tones in noise": (smooth(k) + 0.1 * z, None),
        "white noise": (z, None),
        "random walk": (np.cumsum(z), None),
        "heavy tails": (rng.standard_t(2, LENGTH), None),
        "changing variance": (changing, None),
        "resonance": (resonance(z, 0.999, 0.3), None),
        "day": (np.sin(2 * np.pi * k / 24) + 0.5 * z, None),
        "day and week": (5 * day * week + 4 * week + 0.5 * z, None),
        "edges, 12.5": (np.sign(np.sin(2 * np.pi * (k + 0.3) / 12.5)) + 0.2 * z, None),
        "12 and 20": (np.sin(2 * np.pi * k / 12) + np.sin(2 * np.pi * k / 20 + 1) + 0.3 * z, None),
        "long pattern": (np.resize(rng.standard_normal(700), LENGTH) + 0.5 * z, None),
        "year of 900": (3 * np.sin(2 * np.pi * k / 900) + np.sin(2 * np.pi * k / 24) + z, None),
        "regimes": (np.where(k % 1000 < 500, z, 1e-4 * z), None),
        "rounded": (np.round(3 * day + 0.5 * z), None),
        "counts": (rng.poisson(3, LENGTH).astype(float), None),
        "rare events": ((rng.random(LENGTH) < 0.02) * rng.integers(1, 9, LENGTH) * 1.0, None),
        "clipped": (np.clip(0.3 * np.cumsum(z), -2, 2), None),
        "meter": (np.cumsum(rng.poisson(2, LENGTH)) * 1.0, None),
        "growth": (np.exp(k / 2000) * (1 + 0.01 * z), None),
        "counter": ((k * 7.0) % 1500, None),
    }
    # What single guards are for: a day that changes with the year, a counter that breaks, a sum that jumps.
    year = np.sin(2 * np.pi * k / 1000)
    found["year modulates day"] = np.sin(2 * np.pi * k / 48) * (1 + 0.5 * year) + year + 0.3 * z, None
    found["counter that breaks"] = 3.0 * k + 50.0 * (k >= 2000), None
    found["sum that jumps"] = np.cumsum(0.5 + z) + 5.0 * (k >= 3000), None
    found["growing noise"] = np.exp(k / 300) * (1 + 0.05 * z), None
    events = 3 * day + 0.3 * z
    events[1500:1700] = events[1500]
    events[[800, 2200]] += 20
    events[2600:] += 6
    events[3200:] += 3 * z[3200:]
    found["events"] = events, None
    found["a third missing"] = np.where(rng.random(LENGTH) < 0.3, np.nan, 3 * day + 0.3 * z), None
    holes = np.sin(k / 50) + 0.01 * z
    for start in range(400, LENGTH, 450):
        holes[start : start + int(rng.integers(3, 200))] = np.nan
    found["holes"] = holes, None
    found["nine in ten missing"] = np.where(rng.random(LENGTH) < 0.9, np.nan, np.sin(k / 50)), None
    for share in (0.1, 0.25):
        times = k + rng.uniform(-share, share, LENGTH)
        found[f"true jitter of {share:.0%}"] = smooth(times) + 0.05 * z, times
        found[f"true jitter of {share:.0%}, exact"] = smooth(times), times
        found[f"noise of {share:.0%} in stamps"] = smooth(k) + 0.05 * z, times
    times = k + rng.uniform(-0.1, 0.1, LENGTH)
    found["line, true jitter of 10%, exact"] = 0.3 * times + 5.0, times
    times = np.cumsum(np.where(k < 2000, 1.0, rng.uniform(0.2, 1.8, LENGTH)))
    found["grid, then irregular"] = smooth(times) + 0.05 * z, times
    times = np.cumsum(rng.uniform(0.1, 1.9, LENGTH))
    found["irregular"] = smooth(times / 2), times
    found["irregular, noise"] = smooth(times / 2) + 0.1 * z, times
    times = np.cumsum(rng.exponential(1.0, LENGTH))
    found["exponential intervals"] = smooth(times / 2) + 0.1 * z, times
    found["rounded stamps"] = smooth(k) + 0.05 * z, np.round(1.333 * k)
    found["missing stamps"] = smooth(k) + 0.05 * z, np.cumsum(rng.choice([1.0, 1.0, 1.0, 2.0, 5.0], LENGTH))
    times = np.where(k < 2000, 60.0 * k, 120.0 * k - 120_000.0)
    times[3000:] -= 9000.0
    found["clocks"] = smooth(k) + 0.05 * z, times + np.where(k == 2500, 1e8, 0.0)
    times = k + np.where(k > 1500, 0.002 * (k - 1500), 0.0) + rng.uniform(-0.05, 0.05, LENGTH)
    found["drifting clock"] = smooth(k) + 0.05 * z, times
    return found


def followed(job: tuple[str, Settings]) -> Array:
    """Mean, half width, score, alarm and (every 200 values) derivative of one stream, (5, time); the first three also
    of its values 12 ahead, for `ahead`."""
    name, settings = job
    warnings.simplefilter("ignore")  # rows that come late say so
    u, times = STREAMS[name.removeprefix(TWELVE)]
    if name.startswith(TWELVE):
        mean, half, score = Ahead(12, 0.9, settings).advance(u)
        return np.stack([mean, half, score, np.zeros(len(u)), np.zeros(len(u))])
    model, rows = Prophecy(settings=settings), np.zeros((5, len(u)))
    for first in range(0, len(u), SLOPES):
        some = slice(first, first + SLOPES)
        track = model.follow(u[some], time=None if times is None else times[some])
        rows[:4, some] = track.mean, track.upper - track.mean, track.score, track.alarm
        rows[4, first] = model.derivative()
    return rows


STREAMS = streams()
TWELVE = "12 ahead, "
AHEAD = [f"{TWELVE}{name}" for name in ("day and week", "random walk", "tones in noise", "a third missing")]


def replaced(group: Group, path: tuple[str, ...], factor: float) -> tuple[Group, Any]:
    """Settings with one number times `factor`, and that number. Numbers between a half and 1 are memories or shares: it
    is what they are below 1 that is multiplied."""
    name = path[0]
    if len(path) > 1:
        inside, value = replaced(getattr(group, name), path[1:], factor)
        return dataclasses.replace(group, **{name: inside}), value
    value = getattr(group, name)

    def scaled(one: float) -> float:
        return 1.0 - (1.0 - one) * factor if 0.5 < one < 1.0 else one * factor

    if isinstance(value, tuple):
        several = tuple(scaled(one) for one in value)
        return dataclasses.replace(group, **{name: several}), several
    new = round(scaled(value)) if isinstance(value, int) else scaled(value)
    return dataclasses.replace(group, **{name: new}), new


def compared(name: str, usual: Array, other: Array) -> dict[str, float]:
    """The ratio of mean squared errors, and the shares of rows and of slopes that changed."""
    u = STREAMS[name.removeprefix(TWELVE)][0]
    both = (np.arange(len(u)) >= AFTER) & np.isfinite(u) & np.isfinite(usual[0]) & np.isfinite(other[0])
    ratio = 1.0
    if both.any():
        floor = 1e-20 * float(np.mean(u[both] ** 2)) + 1e-300  # below are digits of rounding
        squared = [float(np.mean((one[0] - u)[both] ** 2)) for one in (other, usual)]
        ratio = (squared[0] + floor) / (squared[1] + floor)
    same = (usual == other) | (np.isnan(usual) & np.isnan(other))
    changed = {"changed": float(np.mean(~same[:4].all(axis=0))), "slopes": float(np.mean(~same[4, ::SLOPES]))}
    return {"error": ratio, **changed}


@cache
def usual(name: str) -> Array:
    return followed((name, DEFAULT))


Case = tuple[tuple[str, ...], float, str]


def cases(options: Options) -> list[Case]:
    """Numbers, factors and streams; what is 12 ahead is for the numbers of `ahead`, and for them alone."""
    chosen = [path for path in places(DEFAULT) if not options.only or {path[0], ".".join(path)} & set(options.only)]
    return [
        (path, factor, name)
        for path in chosen
        for factor in options.factors
        for name in (AHEAD if path[0] == "ahead" else STREAMS)
    ]


def one(case: Case) -> dict[str, Any] | None:
    """None where the number may not be so large."""
    path, factor, name = case
    try:
        settings, value = replaced(DEFAULT, path, factor)
    except ValueError:
        return None
    told = compared(name, usual(name), followed((name, settings)))
    return {"number": ".".join(path), "factor": f"{factor:g}", "value": value, "stream": name, **told}


def result(rows: list[dict[str, Any] | None], options: Options) -> dict[str, Any]:
    """By number and factor: the geometric mean of the errors, the stream that moves most, what changed on the mean."""
    several: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in filter(None, rows):
        several.setdefault((row["number"], row["factor"]), []).append(row)
    ideas: dict[str, dict[str, Any]] = {}
    for (number, factor), some in several.items():
        worst = max(some, key=lambda row: abs(np.log(row["error"])))
        ideas.setdefault(number, {})[factor] = {
            "value": some[0]["value"],
            "error": float(np.exp(np.mean(np.log([row["error"] for row in some])))),
            "most": worst["stream"],
            "most_error": worst["error"],
            **{key: float(np.mean([row[key] for row in some])) for key in ("changed", "slopes")},
        }
    return {"version": __version__, "streams": [*STREAMS, *AHEAD], "values": LENGTH, "ideas": ideas}


BENCHMARK = Benchmark(
    __doc__, cases, one, result, lambda row: f"{row['number']} {row['factor']} {row['stream']}" if row else "too large",
    (
        option("--only", nargs="*", default=[], help="groups, or single numbers such as alarms.slow"),
        option("--factors", type=float, nargs="+", default=(0.5, 2.0)),
    ),
)  # fmt: skip

if __name__ == "__main__":
    BENCHMARK.run()
