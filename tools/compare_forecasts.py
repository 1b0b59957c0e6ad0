"""Whether two builds give the same forecasts, bit for bit: record both, then compare the files.

    python tools/compare_forecasts.py record OLD.npz [--data CHAOS.npz ORDINARY.npz] [--only TEXT]
    python tools/compare_forecasts.py compare OLD.npz NEW.npz

Series are made from formulas, `prophecy.chaos` and `prophecy.signals`, with and without noise, gaps and hidden
variables; `--data` adds those of files. Of every forecast the quantiles, the method, the notes and the CPU seconds are
kept. `compare` prints what differs, and how the seconds compare, and fails where a bit differs.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

Case = tuple[str, Any, dict[str, Any]]
NOISES = (0.0, 1e-4, 0.01, 0.05)
CONTEXT = 512


def noisy(series: Any, noise: float, seed: int) -> Any:
    scale = noise * np.nanstd(series, axis=0)
    return series + scale * np.random.default_rng(seed).standard_normal(series.shape) if noise else series.copy()


def chaotic() -> Iterator[Case]:
    from prophecy import chaos

    generator = np.random.default_rng(5)
    for k, system in enumerate(chaos.SYSTEMS):
        series = system.sample(CONTEXT)
        for noise in NOISES:
            yield f"chaos/{system.name}/{noise:g}", noisy(series, noise, k), {}
        for noise in (0.0, 0.01):
            yield f"single/{system.name}/{noise:g}", noisy(series[:, 0], noise, k), {}
        if series.shape[1] > 2:
            yield f"pair/{system.name}", noisy(series[:, :2], 0.001, k), {}
        if k < 4:
            holes = generator.random(series.shape) < 0.05
            yield f"gaps/{system.name}", np.where(holes, np.nan, noisy(series, 0.01, k)), {}
            yield f"short/{system.name}", series[:128], {}
            yield f"fine/{system.name}", system.sample(CONTEXT, 200.0, seed=3), {}


def forced() -> Iterator[Case]:
    def path(field: Any, x: Any, step: float) -> Any:
        """By forty steps of order 4 a sample: jumps of a field must not stop it."""
        states, h = [], step / 40
        for k in range(40 * (CONTEXT + 200)):
            if k % 40 == 0:
                states.append(x)
            one = np.array(field(k * h, x))
            two = np.array(field((k + 0.5) * h, x + h / 2 * one))
            three = np.array(field((k + 0.5) * h, x + h / 2 * two))
            x = x + h / 6 * (one + 2 * two + 2 * three + np.array(field((k + 1) * h, x + h * three)))
        return np.array(states[200:])

    fields = {
        "duffing": lambda t, x: [x[1], -0.2 * x[1] + x[0] - x[0] ** 3 + 0.3 * np.cos(1.2 * t)],
        "pendulum": lambda t, x: [x[1], -0.5 * x[1] - np.sin(x[0]) + 1.15 * np.cos(2 / 3 * t)],
        "pol": lambda t, x: [x[1], 5 * (1 - x[0] ** 2) * x[1] - x[0] + 5 * np.cos(2.466 * t)],
        "saturating": lambda t, x: [x[1], -x[0] + np.tanh(2 * x[0]) - 0.1 * x[1] + 0.5 * np.sin(t)],
        "dry": lambda t, x: [x[1], -x[0] - 0.1 * np.sign(x[1]) + 0.5 * np.sin(1.3 * t)],
    }
    for k, (name, field) in enumerate(fields.items()):
        series = path(field, np.array([0.5, 0.1]), 0.1)
        for noise in (0.0, 0.01):
            yield f"forced/{name}/{noise:g}", noisy(series, noise, k), {}
            yield f"forced/{name}-single/{noise:g}", noisy(series[:, 0], noise, k), {}


def maps() -> Iterator[Case]:
    from prophecy import signals

    def iterated(step: Any, start: tuple[float, ...]) -> Any:
        states = [np.array(start)]
        for _ in range(600):
            states.append(np.array(step(*states[-1])))
        return np.array(states[100:])

    series = {
        "henon": iterated(lambda x, y: (1 - 1.4 * x * x + y, 0.3 * x), (0.1, 0.1)),
        "standard": iterated(lambda p, q: (p + 0.9 * np.sin(q), (q + p + 0.9 * np.sin(q)) % (2 * np.pi)), (0.3, 1.0)),
        "ricker": iterated(lambda x: (x * np.exp(2.8 * (1 - x)),), (0.4,)),
        "tent": iterated(lambda x: (1.9 * min(x, 1 - x),), (0.31,)),
        "logistic": signals.logistic_map(1, 500)[0][:, None],
    }
    for k, (name, states) in enumerate(series.items()):
        for noise in (0.0, 0.01):
            yield f"map/{name}/{noise:g}", noisy(states, noise, k), {}
        yield f"map/{name}/single", states[:, 0], {}


def ordinary() -> Iterator[Case]:
    generator = np.random.default_rng(11)
    for k in range(14):
        n = (40, 61, 96, 150, 240, 400, 800)[k % 7]
        t, noise = np.arange(n), generator.standard_normal(n)
        steps = noise.cumsum()
        day = np.sin(2 * np.pi * t / 12) + 0.3 * np.cos(4 * np.pi * t / 12)
        week = np.array([0, 1, 2, 1.5, 1, -2, -3.0])[t % 7]
        made: dict[str, Any] = {
            "walk": steps,
            "drift": steps + 0.3 * t,
            "season": 3 * day + 0.3 * noise,
            "grown": np.exp(0.01 * t) * (2 + day) + 0.05 * noise,
            "week": 10 + week + 0.02 * t + 0.5 * noise,
            "two": week + 4 * np.sin(2 * np.pi * t / 28) + noise,
            "counts": generator.poisson(np.exp(1 + 0.4 * day)).astype(float),
            "rare": generator.poisson(0.2, n).astype(float),
            "level": 5 + (t > n // 2) * 4 + noise,
            "outliers": day + 0.1 * noise + 20 * (generator.random(n) < 0.02),
        }
        made["holes"] = np.where(generator.random(n) < 0.1, np.nan, made["week"])
        for name, series in made.items():
            yield f"ordinary/{name}/{n}-{k}", series, {}
    t = np.arange(200)
    week, noise = np.array([0, 1, 2, 1.5, 1, -2, -3.0])[t % 7], generator.standard_normal(200)
    yield "asked/season", week + noise, {"season": 7}
    yield "asked/seasons", week + np.sin(t / 5) + noise, {"season": [7, 31.4]}
    yield "asked/bounds", np.abs(noise.cumsum()), {"bounds": (0, 12)}
    yield "asked/average", np.column_stack([np.sin(t / 4), np.cos(t / 9)]), {"average": True}
    drive = np.random.default_rng(1).standard_normal((260, 1))
    yield "asked/known", 2 * drive[:200, 0] + week + 0.3 * noise, {"known": drive}
    yield "asked/pair", np.column_stack([noise.cumsum(), noise.cumsum() * 0.4 + week]), {}
    for size in (1e-200, 1e-8, 1e8, 1e120):
        yield f"size/{size:g}", size * (week + 0.2 * noise), {}
    for n in (1, 2, 3, 5, 8, 13, 20):
        yield f"tiny/{n}", week[:n] + 0.1 * noise[:n], {}
    yield "constant", np.full(50, 3.0), {}
    yield "line", 0.5 * t, {}
    yield "waves", np.sin(t / 3.3) + 0.4 * np.sin(t / 1.7 + 1), {}
    yield "damped", np.exp(-t / 60) * np.sin(t / 3), {}
    yield "noise", noise, {}


def smooth() -> Iterator[Case]:
    from prophecy import signals

    made = {name: getattr(signals, name)(2, 600) for name in ("sines", "legendre", "brownian", "root_polynomial")}
    made |= {"white": signals.white_signal(10.0, 2, 600), "pol": signals.van_der_pol(600)[None]}
    for name, rows in made.items():
        for k, series in enumerate(np.asarray(rows)):
            yield f"signal/{name}/{k}", series.ravel()[:600], {}


def from_file(path: Path) -> Iterator[Case]:
    data = np.load(path)
    for k, name in enumerate(data.files):
        if "/" not in name:
            for noise in (NOISES[k % 4], NOISES[(k + 2) % 4]):
                yield f"file/{name}/{noise:g}", noisy(data[name][0][:CONTEXT], noise, k), {}
            if k % 3 == 0:
                yield f"file/{name}/single", noisy(data[name][0][:CONTEXT, 0], 0.01 * (k % 2), k), {}
        elif name.endswith("/context"):
            ends = data[name.replace("context", "context_lengths")].cumsum()
            for i in range(0, len(ends), max(1, len(ends) // 25)):
                yield f"file/{name}/{i}", data[name][ends[i - 1] if i else 0 : ends[i]], {}


def cases(files: list[Path]) -> Iterator[Case]:
    """All kinds in turn, so that what is recorded first has all of them."""
    waiting = [ordinary(), chaotic(), forced(), maps(), smooth(), *(from_file(path) for path in files)]
    while waiting:
        for kind in list(waiting):
            case = next(kind, None)
            if case is None:
                waiting.remove(kind)
            else:
                yield case


def record(out: Path, files: list[Path], only: str) -> None:
    from prophecy.forecasting import forecast

    kept: dict[str, Any] = {}
    for count, (name, series, options) in enumerate(cases(files)):
        if only not in name:
            continue
        began = time.process_time()
        try:
            answer = forecast(series, 60, **options)
            grid: Any = np.asarray(answer.distribution.values)
            text = "\n".join([answer.method, *answer.notes])
        except (ValueError, ArithmeticError) as error:
            grid, text = np.zeros(0), f"{type(error).__name__}: {error}"
        seconds = time.process_time() - began
        kept |= {f"{name}:grid": grid, f"{name}:text": np.array(text), f"{name}:seconds": np.array(seconds)}
        print(f"{count} {name} {seconds:.2f} {text.splitlines()[0]}", flush=True)
        if count % 20 == 0:
            np.savez(out, **kept)
    np.savez(out, **kept)


def compare(first: Path, second: Path) -> int:
    old, new = np.load(first), np.load(second)
    names = [name.removesuffix(":grid") for name in old.files if name.endswith(":grid") and name in new.files]
    unlike = 0
    for name in names:
        a, b = old[f"{name}:grid"], new[f"{name}:grid"]
        text, other = str(old[f"{name}:text"]), str(new[f"{name}:text"])
        if a.shape != b.shape or not np.array_equal(a.view(np.uint64), b.view(np.uint64)) or text != other:
            unlike += 1
            apart = np.nanmax(np.abs(a - b)) / max(np.nanstd(a), 1e-300) if a.shape == b.shape and a.size else np.nan
            print(f"{name}: differs by {apart:.1e}; {text.splitlines()[0]} / {other.splitlines()[0]}")
    before, after = (np.array([float(file[f"{name}:seconds"]) for name in names]) for file in (old, new))
    print(f"{len(names)} forecasts, {unlike} differ; seconds {before.sum():.1f} and {after.sum():.1f}")
    for kind in sorted({name.split("/")[0] for name in names}):
        mine = np.array([name.split("/")[0] == kind for name in names])
        middles = [f"{np.median(s[mine]):.3f} (p90 {np.quantile(s[mine], 0.9):.3f})" for s in (before, after)]
        print(f"  {kind}: {mine.sum()}, median {middles[0]} and {middles[1]}")
    return int(unlike > 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=["record", "compare"])
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--data", type=Path, nargs="*", default=[])
    parser.add_argument("--only", default="")
    asked = parser.parse_args()
    if asked.task == "compare":
        sys.exit(compare(*asked.files))
    record(asked.files[0], asked.data, asked.only)
