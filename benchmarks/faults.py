"""Faults planted in four kinds of streams, and alarms where there are none: `python -m benchmarks faults`.

Each fault begins at row 2 000 of 3 000. It counts as seen where the alarm passes 0.999 while the fault is new (`WITHIN`
rows); false alarms are counted in streams without a fault, from row 200 on.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

from benchmarks.harness import option, single
from prophecy import Prophecy
from prophecy.anomalies import find_events

Array = NDArray[np.float64]
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
    later = K >= AT
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
        times = np.where(later, 0.5 if fault == "gain halved" else 3.0, 1.0)
        if kind == "walk":
            return np.cumsum(np.diff(u, prepend=0.0) * times)
        calm = SEASON if kind == "season" and fault != "gain halved" else 0.0
        u = calm + (u - calm) * times
    return u


def measured(draws: int = DRAWS) -> dict[str, Any]:
    """How many of `draws` faults are seen, the kinds of their first events, and how many rows alarm for nothing."""
    found: dict[str, Any] = {"draws": draws, "seen": {}, "named": {}, "false": {}}
    for fault, within in WITHIN.items():
        for kind in KINDS:
            seen, named = 0, Counter[str]()
            series = [planted(kind, fault, seed) for seed in range(draws)]
            for u in series:
                if u is None:
                    continue
                track, before = Prophecy().follow(u, level=0.999), Prophecy()
                before.observe(u[:AT])
                seen += bool((track.alarm[AT : AT + within] >= SURE).any())
                events = find_events(u, track, 1e-3, before.seasons())
                named.update(str(e.kind) for e in [e for e in events if e.last >= AT and e.first < AT + within][:1])
            if series[0] is not None:
                found["seen"].setdefault(fault, {})[kind] = seen
                found["named"].setdefault(fault, {})[kind] = dict(named.most_common())
        print(fault, found["seen"][fault], flush=True)
    for kind in KINDS:
        alarms = [Prophecy().follow(stream(kind, 10_000 + seed)[0]).alarm[WARM:] for seed in range(draws)]
        found["false"][kind] = float(np.mean(np.concatenate(alarms) >= SURE))
    print("false", found["false"])
    return found


if __name__ == "__main__":
    single(__doc__, lambda options: measured(options.draws), option("--draws", type=int, default=DRAWS))
