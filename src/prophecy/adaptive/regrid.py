"""Filling the grid from samples at irregular times, and starting another grid where the stamps ask for one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from prophecy._compiled import inner, part
from prophecy.adaptive import clock, irregular, paths
from prophecy.adaptive.calibration import calibrate
from prophecy.adaptive.clock import RECENT
from prophecy.adaptive.gaps import note_gap
from prophecy.adaptive.record import RECORD, begin
from prophecy.adaptive.season_check import check_if_due
from prophecy.adaptive.step import step


@inner
def sample(stream: Any, t: Any, count: int, time: float, value: float, path: float, off: float, spares: Any) -> int:
    """Learn from a value at an irregular time, the `count`th; returns how many places of the grid it filled.

    path, off: the forecast path at `time` and how far the newest sample lies from it (`paths.between`).
    """
    r, c, s = stream[0][0], stream[2], stream[3]
    places = int(min(max(math.floor((time - c.grid) / c.dt + 1e-9), 0.0), t.clock.longest_hole))
    near = time - s.newest <= irregular.hole(c, t) * c.dt
    if math.isnan(value):
        if not near:
            _gap(stream, t, places, spares)
        return 0
    if r.count == 0:
        c.grid = time
        step(r, stream[1], t, value, spares[2])
        return 1
    _learn(stream, t, time, value, path, off)
    room = spares[3]
    x, y = room[4], room[5]
    x[0], y[0] = time, value
    found = irregular.nodes(c, s, t, count, x, y)
    irregular.judge(s, t, x, y, found, room)
    if near:
        _fill(stream, t, time, x, y, found, places, value - path, off, spares)
        return places
    _gap(stream, t, places, spares)
    return 0


@part
def _fill(
    stream: Any, t: Any, time: float, x: Any, y: Any, found: int, places: int, error: float, off: float, spares: Any
) -> None:
    """The next places of the grid, from the polynomial through the samples x, y, or from the forecast path, which is
    off by `off` at the newest sample and by `error` at `time`. Calibration stays that of samples: what is
    interpolated is smoother."""
    r, c, s = stream[0][0], stream[2], stream[3]
    room, trusted = (
        spares[3],
        irregular.by_forecast(s, t, s.carry.min()) and places < paths.ROOM[1] and c.grid <= s.newest,
    )
    scale, peak, last_peak = r.error_scale, r.error_peak, r.last_error_peak
    quantiles, tail, power = r.quantile.copy(), r.tail, irregular.degree(s, t)
    for place in range(1, places + 1):
        c.grid += c.dt
        if r.hold:
            at = s.known
        elif trusted:
            at = room[paths.PATH, place] + off + (error - off) * (c.grid - s.newest) / (time - s.newest)
        else:
            at = irregular.on_place(x, y, found, (c.grid - time) / c.dt, power, room)
        step(r, stream[1], t, at, spares[2])
        check_if_due(r, stream[1], t)
    r.error_scale, r.error_peak, r.last_error_peak = scale, peak, last_peak
    r.quantile[:] = quantiles
    r.tail = tail


@part
def _gap(stream: Any, t: Any, places: int, spares: Any) -> None:
    r, c = stream[0][0], stream[2]
    for _ in range(places):
        step(r, stream[1], t, math.nan, spares[2])
    c.grid += places * c.dt


@inner
def _learn(stream: Any, t: Any, time: float, value: float, path: float, off: float) -> None:
    """Learn from the error of the forecast for a sample."""
    r, c, s = stream[0][0], stream[2], stream[3]
    error = value - path - irregular.carried(s, t) * off
    wider = paths.widening(r, c, s, t, time)
    if time - s.newest > irregular.hole(c, t) * c.dt:
        note_gap(r, t, (time - s.newest) / c.dt, error)
    else:
        calibrate(r, t, error / wider, False)
        irregular.learn_carried(s, t, value - path, off)


@part
def start_over(stream: Any, t: Any, verdict: int, spares: Any) -> None:
    """Go on as `clock.check_grid` found: on the grid again from the newest sample on, or from the values kept on
    another grid, or interpolated to it. What was learned per step is void if the step has changed."""
    r, c, s = stream[0][0], stream[2], stream[3]
    if verdict == clock.TRUE:
        c.irregular = clock.JITTER
        return
    clock.begin_anew(c, t)
    if verdict == clock.AGAIN:
        if (c.last - c.grid) / c.dt > 0.5:
            step(r, stream[1], t, s.value[(c.count - 1) % RECENT], spares[2])
            check_if_due(r, stream[1], t)
        c.irregular, c.off, c.dt, c.grid = clock.ON_GRID, 0.0, c.found, c.last
        r.stamps = 0
        return
    void = abs(c.found / c.dt - 1.0) >= t.clock.changed
    c.dt, c.irregular = c.found, clock.ON_GRID if verdict == clock.ANOTHER else clock.RANDOM
    c.off, c.coarse, c.grid = 0.0, 0, c.start
    s.seen, r.stamps = 0, 0
    s.fit[:] = 0.0
    s.carry[:] = 0.0
    if void:
        renew(stream, t)
    if r.count > 0:
        return
    first = max(c.count - RECENT, 0)
    for k in range(first + 1, c.count):
        if c.recent[k % RECENT] - c.recent[(k - 1) % RECENT] > t.irregular.longest_replayed * c.dt:
            first = k
    if verdict == clock.ANOTHER:
        _replay_grid(stream, t, first, spares)
    else:
        _replay_samples(stream, t, first, spares)


@part
def _replay_grid(stream: Any, t: Any, first: int, spares: Any) -> None:
    r, ring, c, s = stream[0][0], stream[1], stream[2], stream[3]
    places, before = np.empty(c.count - first), 1.0
    for k in range(c.count - 1, first - 1, -1):
        steps = (c.recent[k % RECENT] - c.grid) / c.dt
        # Of rounded stamps the place before the next one's is taken if it is among theirs.
        even = abs(steps - before + 1.0) * c.dt <= clock.slack(c, t)
        before = before - 1.0 if even else math.floor(steps + 0.5)
        places[k - first] = before
    before = math.nan
    for k in range(first, c.count):
        place = places[k - first]
        if k + 1 < c.count and places[k + 1 - first] <= place:
            continue
        if not math.isnan(before):
            for _ in range(int(place - before) - 1):
                step(r, ring, t, math.nan, spares[2])
        step(r, ring, t, s.value[k % RECENT], spares[2])
        check_if_due(r, ring, t)
        before = place


@part
def _replay_samples(stream: Any, t: Any, first: int, spares: Any) -> None:
    r, c, s = stream[0][0], stream[2], stream[3]
    newest, known = s.newest, s.known
    s.newest = math.nan
    for k in range(first, c.count):
        time, value = c.recent[k % RECENT], s.value[k % RECENT]
        path, off = 0.0, 0.0
        if r.count > 0 and not math.isnan(value):
            path, off = paths.between(stream, t, time, spares)
        sample(stream, t, k, time, value, path, off, spares)
        if not math.isnan(value):
            s.newest, s.known = time, value
    s.newest, s.known = newest, known


@inner
def renew(stream: Any, t: Any) -> None:
    """A record that has seen nothing, as `record.fresh` makes it."""
    hold = stream[0][0].hold
    stream[0][0] = np.zeros(1, dtype=RECORD)[0]
    stream[0][0].hold = hold
    begin(stream[0][0], t)
    stream[1][:] = 0.0
