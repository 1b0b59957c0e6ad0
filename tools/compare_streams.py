"""Whether two builds of the package give streams the same numbers to the last bit.

    python tools/compare_streams.py record FILE.npz    # with the one
    python tools/compare_streams.py compare FILE.npz   # with the other: names every stream that differs

Every stream is a signal, a way its values come (gaps, jitter, ticks, holes, irregular and late stamps, set clocks) and
a way they are taken in (one by one or in arrays, several channels, several steps ahead). What is kept are all forecasts
and, at the end, every byte of what the stream has learned. Two NaN are equal, whatever their payloads.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prophecy import Prophecy
from prophecy.streams.ahead import Ahead

Array = NDArray[np.float64]
Stream = dict[str, NDArray[Any]]


def signals(n: int, rng: np.random.Generator) -> dict[str, Array]:
    """Signals of n values."""
    k, noise = np.arange(n, dtype=float), rng.standard_normal(n)
    day, week = np.sin(2 * np.pi * k / 24), np.sin(2 * np.pi * k / 168)
    ar = np.zeros(n)
    for i in range(2, n):
        ar[i] = 1.6 * ar[i - 1] - 0.8 * ar[i - 2] + noise[i]
    heavy = rng.standard_t(2.5, n)
    return {
        "sine": np.sin(0.1 * k),
        "noisy sine": np.sin(0.05 * k) + 0.1 * noise,
        "white": noise,
        "walk": np.cumsum(noise),
        "resonance": ar,
        "heavy": np.cumsum(heavy),
        "days": 3 * day + week + 0.3 * noise,
        "days of pulses": (k % 24 < 2) * 5.0 + 0.05 * noise,
        "odd period": 2 * np.sin(2 * np.pi * k / 37.4) + np.cos(6 * np.pi * k / 37.4) + 0.2 * noise,
        "long season": 4 * np.sin(2 * np.pi * k / 720) + 0.5 * noise,
        "two tones": np.sin(2 * np.pi * k / 31) + np.sin(2 * np.pi * k / 44.7) + 0.1 * noise,
        "growing days": (1 + k / 500) * (2 + day) + 0.1 * noise,
        "ramp": 0.25 * k,
        "parabola": 1e-3 * k * k - k,
        "constant": np.full(n, 3.7),
        "steps": np.floor(k / 50) % 3 + 0.0,
        "stair": np.round(np.cumsum(0.3 * noise)),
        "ticks": np.round(5 * day + noise, 1),
        "counts": rng.poisson(2 + day).astype(float),
        "events": (rng.random(n) < 0.03) * rng.integers(1, 9, n).astype(float),
        "clipped": np.clip(2 * np.sin(0.07 * k) + 0.2 * noise, -1.0, 1.5),
        "stuck": np.where((k > n // 2) & (k < n // 2 + 90), 1.25, np.sin(0.1 * k) + 0.1 * noise),
        "spikes": np.sin(0.1 * k) + 0.1 * noise + 40 * (rng.random(n) < 0.005),
        "jump": np.sin(0.1 * k) + 0.05 * noise + 9 * (k > 0.6 * n),
        "louder": noise * np.where(k > 0.6 * n, 6.0, 1.0),
        "alternating": (-1.0) ** k + 0.01 * k + 0.01 * noise,
        "logistic": _logistic(n),
        "huge": 1e70 * np.sin(0.1 * k) + 1e68 * noise,
        "tiny": 1e-140 * (np.sin(0.1 * k) + 0.1 * noise),
        "offset": 1e9 + np.sin(0.1 * k) + 0.1 * noise,
        "extremes": np.where(rng.random(n) < 0.01, 1e75 * np.sign(noise), noise),
        "silence": np.where(k % 400 < 200, 0.0, np.sin(0.2 * k)),
    }


def _logistic(n: int) -> Array:
    x = np.empty(n)
    x[0] = 0.3
    for i in range(1, n):
        x[i] = 3.9 * x[i - 1] * (1 - x[i - 1])
    return x


def _gaps(u: Array, rng: np.random.Generator) -> tuple[Array, None]:
    return np.where(rng.random(len(u)) < 0.1, np.nan, u), None


def _bursts(u: Array, rng: np.random.Generator) -> tuple[Array, None]:
    u = u.copy()
    for start in rng.integers(0, len(u), 1 + len(u) // 300):
        u[start : start + int(2 ** rng.uniform(0, 7))] = np.nan
    return u, None


def _every(keep: float) -> Callable[[Array, np.random.Generator], tuple[Array, Array]]:
    def some(u: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        there = np.flatnonzero(rng.random(len(u)) < keep)
        return u[there], 60.0 * there

    return some


def _jitter(size: float, true: bool) -> Callable[[Array, np.random.Generator], tuple[Array, Array]]:
    def jittered(u: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        k = np.arange(len(u))
        at = k + np.clip(size * rng.standard_normal(len(u)), -0.45, 0.45)
        return (np.interp(at, k, u) if true else u), 10.0 * at

    return jittered


def _irregular(u: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    at = np.cumsum(rng.exponential(1.0, len(u)))
    return np.interp(at, np.arange(len(u)), u), at


def _irregular_with_gaps(u: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    values, at = _irregular(u, rng)
    at[len(at) // 2 :] += 37.0
    return np.where(rng.random(len(u)) < 0.05, np.nan, values), at


def _rounded(step: float) -> Callable[[Array, np.random.Generator], tuple[Array, Array]]:
    return lambda u, rng: (u, np.round(step * np.arange(len(u)) + 1e9))


def _late(u: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    order = np.arange(len(u))
    for i in rng.integers(0, len(u) - 6, len(u) // 40):
        order[i : i + 5] = rng.permutation(order[i : i + 5])
    keep = rng.random(len(u)) < 0.97
    return u[order][keep], 5.0 * order[keep].astype(float)


def _twice(u: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    return u, np.repeat(np.arange(len(u)), 2)[: len(u)].astype(float)


def _set_clock(by: float) -> Callable[[Array, np.random.Generator], tuple[Array, Array]]:
    def moved(u: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        at = 2.0 * np.arange(len(u))
        at[len(u) // 2 :] += by
        return u, at

    return moved


def _wild(u: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    at = 1.5 * np.arange(len(u))
    at[rng.integers(5, len(u), 4)] += 1e8
    return u, at


def _another_rate(u: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    half = len(u) // 2
    return u, np.cumsum(np.where(np.arange(len(u)) < half, 1.0, rng.choice([0.5, 3.0, 2.7])))


def _drifting(u: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    k = np.arange(len(u))
    return u, 1.00013 * k + 0.02 * rng.standard_normal(len(u)) + 0.4 * np.sin(k / 300)


def _becomes_irregular(u: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    third = len(u) // 3
    steps = np.ones(len(u))
    steps[third : 2 * third] = rng.exponential(1.0, third) + 0.01
    return u, np.cumsum(steps)


def _holes(u: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    steps = np.ones(len(u))
    where = rng.integers(3, len(u), 8)
    steps[where] = rng.integers(2, 3000, 8)
    return u, 30.0 * np.cumsum(steps)


WAYS: dict[str, Callable[[Array, np.random.Generator], tuple[Array, Array | None]]] = {
    "plain": lambda u, rng: (u, None),
    "gaps": _gaps,
    "bursts": _bursts,
    "grid": lambda u, rng: (u, 60.0 * np.arange(len(u))),
    "some of a grid": _every(0.8),
    "few of a grid": _every(0.2),
    "noise in stamps": _jitter(0.05, False),
    "much noise in stamps": _jitter(0.2, False),
    "jitter": _jitter(0.1, True),
    "much jitter": _jitter(0.2, True),
    "irregular": _irregular,
    "irregular with gaps": _irregular_with_gaps,
    "rounded": _rounded(1.333),
    "rounded to more": _rounded(0.7),
    "late": _late,
    "twice": _twice,
    "set back": _set_clock(-5000.0),
    "set forward": _set_clock(1e7),
    "wild": _wild,
    "another rate": _another_rate,
    "drifting": _drifting,
    "becomes irregular": _becomes_irregular,
    "holes": _holes,
}
LENGTHS = (12, 150, 700, 2600, 9100)


def learned(model: Prophecy) -> Stream:
    """Everything a model knows, and what it says of itself."""
    stream = model._stream
    kept = {name: np.array(getattr(stream, name)) for name in ("records", "rings", "clocks", "samples")}
    slope, shares = stream.slope()
    return {**kept, "slope": slope, "slope_shares": shares, "alarm": stream.alarm()}


def in_array(u: Array, times: Array | None, gaps: str = "predict", level: float = 0.9) -> Stream:
    """Half by `follow`, the rest by `observe`; then forecasts for several times."""
    model, half = Prophecy(gaps=gaps), len(u) // 2
    first = model.follow(u[:half], level, None if times is None else times[:half])
    model.observe(u[half:-5], None if times is None else times[half:-5])
    last = model.follow(u[-5:], 0.99, None if times is None else times[-5:])
    return {"first": np.array(first), "last": np.array(last), **learned(model), "next": _next(model, times, u)}


def _next(model: Prophecy, times: Array | None, u: Array) -> Array:
    rows = [_numbers(model.predict(level)) for level in (0.3, 0.9, 0.9995, 0.99999)]
    scale = np.nanstd(np.clip(u, -1e60, 1e60))
    if times is not None:
        newest = float(np.nanmax(times[-20:]))
        for ahead in (0.0, 0.3, 1.0, 2.0, 3.7, 40.0, 1e5):
            when = newest + ahead * model.dt
            rows.append(_numbers(model.predict(0.9, when)))
            rows.append((model.score(float(np.nanmean(u) + scale), when), 0.0, 0.0))
    rows.append((model.score(float(np.nanmean(u) + scale)), model.derivative(), model.alarm()))
    return np.array(rows)


def _numbers(forecast: Any) -> tuple[float, float, float]:
    return forecast.mean, forecast.lower, forecast.upper


def one_by_one(u: Array, times: Array | None) -> Stream:
    """Every value in a call of its own, predicted before it comes."""
    model, rows = Prophecy(dt=None), []
    for k, value in enumerate(u):
        rows.append(_numbers(model.predict(0.8 if k % 3 else 0.95)))
        model.observe(float(value), None if times is None else float(times[k]))
    return {"rows": np.array(rows), **learned(model)}


def channels(u: Array, times: Array | None) -> Stream:
    """Three channels whose values come together."""
    three = np.stack([u, u[::-1], np.roll(u, 7)], axis=1)
    model = Prophecy(3)
    track = model.follow(three, 0.9, times)
    return {"track": np.array(track), **learned(model), "next": np.array(_numbers(model.predict()))}


def far(u: Array, horizon: int) -> Stream:
    """Forecasts several values ahead."""
    model = Ahead(horizon, 0.9)
    track = np.concatenate([model.advance(part.copy()) for part in np.array_split(u, 3)], axis=1)
    return {"track": track, **{name: np.array(array) for name, array in model.arrays().items()}}


def streams() -> Iterator[tuple[str, Callable[[], Stream]]]:
    """Names, and what makes each."""
    for index, length in enumerate(LENGTHS):
        for s, (signal, u) in enumerate(signals(length, np.random.default_rng(index)).items()):
            for w, (way, change) in enumerate(WAYS.items()):
                if length > 2000 and (s + 3 * w) % 4:
                    continue
                name = f"{length} {signal}, {way}"
                values, times = change(u, np.random.default_rng(1000 * index + 30 * s + w))
                if len(values) < 11:
                    continue
                if (s + w) % 9 == 0 and length < 2000:
                    yield f"{name}, one by one", lambda u=values, at=times: one_by_one(u, at)
                elif (s + w) % 9 == 1:
                    yield f"{name}, channels", lambda u=values, at=times: channels(u, at)
                else:
                    gaps = "hold" if (s + w) % 9 == 2 else "predict"
                    yield f"{name}, {gaps}", lambda u=values, at=times, gaps=gaps: in_array(u, at, gaps)
            if 100 < length < 9000:
                horizon = (2, 3, 8, 24, 100)[s % 5]
                yield f"{length} {signal}, {horizon} ahead", lambda u=u, h=horizon: far(u, h)
                gone = _bursts(u, np.random.default_rng(s))[0]
                yield f"{length} {signal} with gaps, {horizon} ahead", lambda u=gone, h=horizon: far(u, h)


def same(ours: NDArray[Any], theirs: NDArray[Any]) -> bool:
    """Whether two arrays have the same bits, but for the payloads of NaN."""
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return False
    if ours.dtype.names:
        return all(same(ours[name], theirs[name]) for name in ours.dtype.names)
    if ours.dtype.kind != "f":
        return bool(np.array_equal(ours, theirs))
    a, b = np.ascontiguousarray(ours).view(np.uint64), np.ascontiguousarray(theirs).view(np.uint64)
    return bool(((a == b) | (np.isnan(ours) & np.isnan(theirs))).all())


def run() -> Iterator[tuple[str, Stream]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, make in streams():
            yield name, make()


def main(command: str, file: str, only: str = "") -> None:
    if command == "record":
        found = {f"{name}|{part}": array for name, stream in run() for part, array in stream.items()}
        np.savez_compressed(file, **found)
        print(f"{len({name.split('|')[0] for name in found})} streams in {file}")
        return
    kept, different, count = np.load(file), 0, 0
    for name, make in streams():
        if only not in name:
            continue
        count += 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            stream = make()
        wrong = [part for part, array in stream.items() if not same(array, kept[f"{name}|{part}"])]
        if wrong:
            different += 1
            print(f"{name}: {', '.join(wrong)}", flush=True)
    print(f"{different} of {count} streams differ")
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
