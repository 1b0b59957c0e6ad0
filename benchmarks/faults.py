"""Faults planted in four kinds of streams, and alarms where there are none.

Each fault begins at row 2 000 of 3 000. It counts as seen where the alarm passes 0.999 while the fault is new (`WITHIN`
rows); false alarms are counted in streams without a fault, from row 200 on.
"""

from collections import Counter

import numpy as np
from scipy.signal import lfilter

from benchmarks.harness import Array, Benchmark, Options, Result, defaults
from prophecy import Prophecy
from prophecy.anomalies import find_events

ROWS, AT, WARM, DRAWS, SURE = 3000, 2000, 200, 20, 0.999
KINDS = ("white noise", "AR(0.9)", "season", "walk")
WITHIN = {
    "spike, 6 sd": 3,
    "shift, 3 sd (walk: 6)": 100,
    "lost season": 200,
    "gain halved": 200,
    "variance × 3": 200,
    "frozen": 200,
    "drift, 0.005 sd a step": ROWS - AT,
}
"""Faults, and within how many rows each must be seen."""
NONE = "no fault"
K = np.arange(ROWS)
SEASON = 3.0 * np.sin(2 * np.pi * K / 24)


def stream(kind: str, seed: int) -> tuple[Array, float]:
    """A stream without a fault, and the deviation that faults are measured in: its own, of a walk that of its steps."""
    noise = np.random.default_rng((seed, KINDS.index(kind))).standard_normal(ROWS)
    if kind == "AR(0.9)":
        return np.asarray(lfilter([1.0], [1.0, -0.9], noise)), float(1.0 / np.sqrt(1.0 - 0.81))
    return {"white noise": noise, "season": SEASON + noise, "walk": np.cumsum(noise)}[kind], 1.0


def planted(kind: str, fault: str, seed: int) -> Array | None:
    """The stream with a fault from row `AT` on; None where it cannot have it."""
    u, deviation = stream(kind, seed)
    if fault.startswith("spike"):
        u[AT] += 6.0 * deviation
    elif fault.startswith("shift"):
        u[AT:] += (6.0 if kind == "walk" else 3.0) * deviation
    elif fault.startswith("drift"):
        u[AT:] += 0.005 * deviation * (K[AT:] - AT)
    elif fault == "frozen":
        u[AT : AT + 200] = u[AT]
    elif fault == "lost season":
        if kind != "season":
            return None
        u[AT:] -= SEASON[AT:]
    else:
        times = np.where(K >= AT, 0.5 if fault == "gain halved" else 3.0, 1.0)
        if kind == "walk":
            return np.cumsum(np.diff(u, prepend=0.0) * times)
        calm = SEASON if kind == "season" and fault != "gain halved" else 0.0
        u = calm + (u - calm) * times
    return u


def one(case: tuple[str, str, int]) -> Result:
    """How many of `draws` faults are seen, and the kinds of their first events; without a fault, rows that alarm."""
    kind, fault, draws = case
    if fault == NONE:
        alarms = [Prophecy().follow(stream(kind, 10_000 + seed)[0]).alarm[WARM:] for seed in range(draws)]
        return {"kind": kind, "fault": fault, "false": float(np.mean(np.concatenate(alarms) >= SURE))}
    seen, named = 0, Counter[str]()
    for u in (planted(kind, fault, seed) for seed in range(draws)):
        assert u is not None
        track = Prophecy().follow(u, level=0.999)
        end = AT + WITHIN[fault]
        seen += bool((track.alarm[AT:end] >= SURE).any())
        events = find_events(u, track, 1e-3)
        named.update([str(event.kind) for event in events if event.last >= AT and event.first < end][:1])
    return {"kind": kind, "fault": fault, "seen": seen, "named": dict(named.most_common())}


def cases(options: Options) -> list[tuple[str, str, int]]:
    pairs = [(kind, fault) for fault in WITHIN for kind in KINDS if planted(kind, fault, 0) is not None]
    return [(*pair, options.draws) for pair in [*pairs, *((kind, NONE) for kind in KINDS)]]


def summary(rows: list[Result], options: Options) -> Result:
    found: Result = {"draws": options.draws, "seen": {}, "named": {}, "false": {}}
    for row in rows:
        if row["fault"] == NONE:
            found["false"][row["kind"]] = row["false"]
            continue
        for what in ("seen", "named"):
            found[what].setdefault(row["fault"], {})[row["kind"]] = row[what]
    return found


BENCHMARK = Benchmark(__doc__, cases, one, summary, options=defaults(draws=DRAWS))
