"""What each number of the bank does: half and twice of it, on streams of every kind.

`python -m benchmarks.bank_ideas [--every N] [--only GROUP ...]` replaces one number of `streams.Settings` at a time,
follows the streams below and writes benchmarks/results/bank_ideas.json: for each number and each of the two values the
mean squared error over that with the usual number (geometric mean over streams, and the stream that moves most), how
much wider intervals of level 0.9 are (median), the share of values outside of them, the share of rows with an alarm of
0.99 and the share of rows of which anything at all changed; for those of periods also how many of 60 random
shapes are named right. `--text` writes the tables of docs/prophecy.md from the
file. A number of which both values change nothing is also tried at a hundredth and a hundred times, which
switches most guards off: where that changes nothing either it is deleted, with its code.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prophecy import Prophecy, __version__, _files
from prophecy.streams.far import Far
from prophecy.streams.settings import DEFAULT, Group, Settings, places

Array = NDArray[np.float64]
RESULTS = Path(__file__).parent / "results" / "bank_ideas.json"
DOCUMENT = Path(__file__).parent.parent / "docs" / "prophecy.md"
SHOWN = 20  # numbers in the table of the page
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
    resonance, changing, variance = z.copy(), np.zeros(LENGTH), 1.0
    for i in range(2, LENGTH):
        resonance[i] += 2 * 0.999 * np.cos(0.3) * resonance[i - 1] - 0.999**2 * resonance[i - 2]
        variance = 0.05 + 0.9 * variance + 0.08 * changing[i - 1] ** 2
        changing[i] = np.sqrt(variance) * z[i]
    found: dict[str, tuple[Array, Array | None]] = {
        "tones": (smooth(k), None),
        "tones in noise": (smooth(k) + 0.1 * z, None),
        "white noise": (z, None),
        "random walk": (np.cumsum(z), None),
        "heavy tails": (rng.standard_t(2, LENGTH), None),
        "changing variance": (changing, None),
        "resonance": (resonance, None),
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


def shapes(count: int = 60) -> dict[str, tuple[Array, tuple[float, ...]]]:
    """Streams and their periods: random shapes of one season, two seasons, and noise and resonances without any."""
    rng, k = np.random.default_rng(3), np.arange(4352)
    found: dict[str, tuple[Array, tuple[float, ...]]] = {}

    def shape(period: float) -> Array:
        tones = [
            rng.uniform(0.2, 1) * np.sin(2 * np.pi * h * k / period + rng.uniform(0, 2 * np.pi))
            for h in range(1, int(rng.integers(1, 7)) + 1)
            if h < period / 2
        ]
        return np.asarray(np.sum(tones, axis=0) / np.std(np.sum(tones, axis=0)))

    for i in range(count):
        noise = rng.choice([0.2, 0.5, 1.0]) * rng.standard_normal(len(k))
        period = float(np.exp(rng.uniform(np.log(5), np.log(600))))
        period = float(round(period)) if i % 2 else period
        if i % 5 < 2:
            found[f"season {i}"] = shape(period) + noise, (period,)
        elif i % 5 < 4:
            short = float(round(np.exp(rng.uniform(np.log(6), np.log(100)))))
            long = short * float(rng.integers(3, 9)) if i % 2 else short * float(rng.uniform(1.3, 8))
            mixed = shape(short) * np.where(rng.random() < 0.5, 1.0, 1 + 0.5 * shape(long)) + shape(long) + 0.5 * noise
            gone = rng.random(len(k)) < (0.2 if i % 3 == 0 else 0.0)
            found[f"two seasons {i}"] = np.where(gone, np.nan, mixed), (short, long)
        else:
            radius = rng.choice([0.98, 0.999, 0.9995])
            ring = rng.standard_normal(len(k))
            for j in range(2, len(k)):
                ring[j] += 2 * radius * np.cos(0.3) * ring[j - 1] - radius**2 * ring[j - 2]
            found[f"resonance {i}"] = ring, ()
    return found


SHAPES = shapes()


def named(job: tuple[str, Settings]) -> tuple[float, ...]:
    """The periods found in one of the shapes."""
    model = Prophecy(settings=job[1])
    model.observe(SHAPES[job[0]][0])
    return model.seasons()


def right(name: str, found: tuple[float, ...]) -> bool:
    """Whether these are its periods, to half a per cent."""
    wanted = sorted(SHAPES[name][1])
    pairs = zip(wanted, sorted(found), strict=False)
    return len(wanted) == len(found) and all(abs(a - b) < 0.005 * a for a, b in pairs)


def followed(job: tuple[str, Settings]) -> Array:
    """Mean, half width, score, alarm and (every 200 values) derivative of one stream, (5, time); the first three also
    of its values 12 ahead, for `far`."""
    name, settings = job
    warnings.simplefilter("ignore")  # rows that come late say so
    ahead = name.removeprefix("12 ahead, ")
    u, times = STREAMS[ahead]
    if ahead != name:
        mean, half, score = Far(12, 0.9, settings).advance(u)
        return np.stack([mean, half, score, np.zeros(len(u)), np.zeros(len(u))])
    model, rows = Prophecy(settings=settings), np.zeros((5, len(u)))
    for first in range(0, len(u), SLOPES):
        some = slice(first, first + SLOPES)
        track = model.follow(u[some], time=None if times is None else times[some])
        rows[:4, some] = track.mean, track.upper - track.mean, track.score, track.alarm
        rows[4, first] = model.derivative()
    return rows


STREAMS = streams()
AHEAD = [f"12 ahead, {name}" for name in ("day and week", "random walk", "tones in noise", "a third missing")]


def replaced(group: Group, path: tuple[str, ...], factor: float) -> tuple[Group, Any]:
    """Settings with one number times `factor`, and that number. Numbers just below 1 are memories or shares: it is what
    they are below 1 that is multiplied. Limits bind."""
    name = path[0]
    if len(path) > 1:
        inside, value = replaced(getattr(group, name), path[1:], factor)
        return dataclasses.replace(group, **{name: inside}), value
    value = getattr(group, name)
    least, most = group.LIMITS.get(name, (0.0, np.inf))

    def scaled(one: float) -> float:
        other = 1.0 - (1.0 - one) * factor if 0.9 <= one < 1.0 else one * factor
        return min(max(other, least), most)

    if isinstance(value, tuple):
        several = tuple(scaled(one) for one in value)
        if name in ("prior", "first", "shrink_prior"):  # shares: the first one more or less, the others what is left
            first = min(value[0] * factor, 0.5 * (1.0 + value[0]))
            several = (first, *(one * (1.0 - first) / (1.0 - value[0]) for one in value[1:]))
        return dataclasses.replace(group, **{name: several}), several
    new = round(scaled(value)) if isinstance(value, int) else scaled(value)
    return dataclasses.replace(group, **{name: new}), new


def compared(name: str, usual: Array, other: Array) -> dict[str, float]:
    u = STREAMS[name.removeprefix("12 ahead, ")][0]
    inside = np.arange(len(u)) >= AFTER
    both = inside & np.isfinite(u) & np.isfinite(usual[0]) & np.isfinite(other[0])
    ratio = 1.0
    if both.any():
        floor = 1e-20 * float(np.mean(u[both] ** 2)) + 1e-300  # below are digits of rounding
        squared = [float(np.mean((one[0] - u)[both] ** 2)) for one in (other, usual)]
        ratio = (squared[0] + floor) / (squared[1] + floor)
    same = (usual == other) | (np.isnan(usual) & np.isnan(other))
    wide = both & (usual[1] > 0)
    return {
        "error": ratio,
        "width": float(np.median(other[1][wide] / usual[1][wide])) if wide.any() else 1.0,
        "outside": float(np.mean(np.abs(other[0] - u)[both] > other[1][both])) if both.any() else 0.0,
        "alarms": float(np.nanmean(other[3] >= 0.99)),
        "changed": float(np.mean(~same[:4].all(axis=0))),
        "slopes": float(np.mean(~same[4, ::SLOPES])),
    }


def summary(rows: dict[str, dict[str, float]]) -> dict[str, Any]:
    logs = {name: np.log(row["error"]) for name, row in rows.items()}
    worst = max(logs, key=lambda name: abs(logs[name]))
    return {
        "error": float(np.exp(np.mean(list(logs.values())))),
        "most": worst,
        "most_error": rows[worst]["error"],
        "width": float(np.median([row["width"] for row in rows.values()])),
        "outside": float(np.mean([row["outside"] for row in rows.values()])),
        "alarms": float(np.mean([row["alarms"] for row in rows.values()])),
        "changed": float(np.mean([row["changed"] for row in rows.values()])),
        "slopes": float(np.mean([row["slopes"] for row in rows.values()])),
        "streams_changed": int(sum(row["changed"] > 0 for row in rows.values())),
    }


def _periods(pool: ProcessPoolExecutor, jobs: list[Any]) -> dict[tuple[str, str], dict[str, Any]]:
    """Of the shapes, how many are named right with each of the settings, and of how many the periods are others."""
    usual = dict(zip(SHAPES, pool.map(named, [(name, DEFAULT) for name in SHAPES]), strict=True))
    asked = [(job, name) for job in jobs for name in SHAPES]
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for (job, name), periods in zip(asked, pool.map(named, [(n, j[4]) for j, n in asked], chunksize=4), strict=True):
        key = ".".join(job[0]), f"{job[1]:g}"
        row = found.setdefault(key, {"shapes": len(SHAPES), "named_usually": 0, "named": 0, "periods_changed": 0})
        row["named_usually"] += right(name, usual[name])
        row["named"] += right(name, periods)
        row["periods_changed"] += periods != usual[name]
    return found


def still(both: dict[str, Any]) -> bool:
    """Whether neither half nor twice of a number changes anything that was looked at."""
    return not any(cell["changed"] or cell["slopes"] or cell.get("periods_changed") for cell in both.values())


def measured(every: int, only: list[str]) -> dict[str, Any]:
    names = [name for i, name in enumerate([*STREAMS, *AHEAD]) if i % every == 0 or name.startswith("12 ahead")]
    chosen = [path for path in places(DEFAULT) if not only or path[0] in only or ".".join(path) in only]
    for name in (names[0], AHEAD[0]):
        followed((name, DEFAULT))  # compiled once, before there are workers
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        usual = dict(zip(names, pool.map(followed, [(name, DEFAULT) for name in names]), strict=True))
        ideas = ablated(pool, chosen, (0.5, 2.0), usual)
        # What moves nothing is switched off, or nearly.
        quiet = [path for path in chosen if still(ideas[".".join(path)])]
        for name, both in ablated(pool, quiet, (0.01, 100.0), usual).items():
            ideas[name] |= both
    same = {name: compared(name, usual[name], usual[name]) for name in names if not name.startswith("12 ahead")}
    return {"version": __version__, "streams": names, "values": LENGTH, "usual": summary(same), "ideas": ideas}


def ablated(
    pool: ProcessPoolExecutor, chosen: list[tuple[str, ...]], factors: tuple[float, ...], usual: dict[str, Array]
) -> dict[str, Any]:
    """For each number and factor, what changes."""
    jobs: list[tuple[tuple[str, ...], float, Any, str, Settings]] = []
    for path in chosen:
        for factor in factors:
            try:
                settings, value = replaced(DEFAULT, path, factor)
            except ValueError:
                continue  # a number that may not be so large
            mine = [name for name in usual if name.startswith("12 ahead") == (path[0] == "far")]
            jobs += [(path, factor, value, name, settings) for name in mine]
    tracks = pool.map(followed, [(job[3], job[4]) for job in jobs], chunksize=4)
    rows: dict[str, dict[str, Any]] = {}
    for (path, factor, value, name, _), track in zip(jobs, tracks, strict=True):
        cell = rows.setdefault(".".join(path), {}).setdefault(f"{factor:g}", {"value": value, "rows": {}})
        cell["rows"][name] = compared(name, usual[name], track)
    first = next(iter(usual))
    periods = _periods(pool, [job for job in jobs if job[0][0] == "periods" and job[3] == first])
    return {
        name: {
            factor: {"value": cell["value"], **summary(cell["rows"]), **periods.get((name, factor), {})}
            for factor, cell in both.items()
        }
        for name, both in rows.items()
    }


def typical(cell: dict[str, Any], streams: int) -> float:
    """The geometric mean of the errors' ratios over all streams but the one that moves most, which is named apart."""
    return float(np.exp((streams * np.log(cell["error"]) - np.log(cell["most_error"])) / (streams - 1)))


def counted(name: str, result: dict[str, Any]) -> int:
    """How many streams a number was tried on."""
    return sum(stream.startswith("12 ahead") == name.startswith("far.") for stream in result["streams"])


def moved(name: str, result: dict[str, Any]) -> float:
    """By how many per cent half or twice a number moves the error, on the mean over streams."""
    both = result["ideas"][name]
    streams = counted(name, result)
    return max(100.0 * abs(typical(both[factor], streams) - 1.0) for factor in ("0.5", "2") if factor in both)


def groups(result: dict[str, Any]) -> list[str]:
    """A row for each group: how many of its numbers matter how much."""
    lines = ["| group | numbers | move the error by 1 % | by 0.1 % | by less | move nothing |", "|---" * 6 + "|"]
    names: dict[str, list[str]] = {}
    for name in result["ideas"]:
        names.setdefault(name.split(".")[0] if "." in name else "the step", []).append(name)
    for group, members in names.items():
        by = [moved(name, result) for name in members]
        nothing = [still(result["ideas"][name]) for name in members]
        counts = [
            sum(x >= 1.0 for x in by),
            sum(0.1 <= x < 1.0 for x in by),
            sum(x < 0.1 and not s for x, s in zip(by, nothing, strict=True)),
            sum(nothing),
        ]
        lines.append(f"| {group} | {len(members)} | {' | '.join(map(str, counts))} |")
    return lines


def text(result: dict[str, Any], most: int | None = None) -> str:
    """The tables of docs/prophecy.md: groups, then the numbers that half and twice of move the error most."""
    head = ["| number | half: error | twice: error | the stream it moves most | rows changed |", "|---" * 5 + "|"]
    lines = []
    for name, both in sorted(result["ideas"].items(), key=lambda item: -moved(item[0], result))[:most]:
        streams = counted(name, result)
        half, twice = both.get("0.5"), both.get("2")
        cells = [cell for cell in (half, twice) if cell]
        extreme = max(cells, key=lambda cell: abs(float(np.log(cell["most_error"]))))
        shown = [f"{100 * (typical(cell, streams) - 1):+.2f} %" if cell else "—" for cell in (half, twice)]
        stream = f"{extreme['most']} ({extreme['most_error']:.3g})" if extreme["most_error"] != 1.0 else "none"
        lines.append(f"| `{name}` | {' | '.join(shown)} | {stream} | {max(c['changed'] for c in cells):.1%} |")
    return "\n".join([*groups(result), "", *head, *lines, "", quiet(result)])


def quiet(result: dict[str, Any]) -> str:
    """A sentence about the numbers of which half and twice change nothing."""
    still_so = [name for name, both in result["ideas"].items() if not _moves(both, ("0.5", "2"))]
    never = [f"`{name}`" for name in still_so if not _moves(result["ideas"][name], ("0.01", "100"))]
    rest = f"; for {', '.join(never)} these change nothing either" if never else ""
    return (
        f"Of {len(result['ideas'])} numbers, half and twice change nothing of these streams for {len(still_so)}; for "
        f"{len(still_so) - len(never)} of them a hundredth or a hundred times does{rest}."
    )


def _moves(both: dict[str, Any], factors: tuple[str, ...]) -> bool:
    return not still({factor: both[factor] for factor in factors if factor in both})


def insert(result: dict[str, Any]) -> None:
    page = DOCUMENT.read_text()
    begin, end = "<!-- ideas -->", "<!-- end of ideas -->"
    before, after = page[: page.index(begin) + len(begin)], page[page.index(end) :]
    _files.write_atomic(DOCUMENT, f"{before}\n{text(result, SHOWN)}\n{after}".encode())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=1, help="take every so manieth stream")
    parser.add_argument("--only", nargs="*", default=[], help="groups, or single numbers such as alarms.window")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--text", action="store_true")
    asked = parser.parse_args()
    if asked.text:
        insert(json.loads(asked.out.read_text()))
        return
    _files.write_json(asked.out, measured(asked.every, asked.only))
    print(text(json.loads(asked.out.read_text())))


if __name__ == "__main__":
    main()
