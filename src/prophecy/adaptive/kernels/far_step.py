"""Compiled code of predictions h values ahead (`far.py`): features, normal equations, their solution, the mixture."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from prophecy._compiled import inner, kernel
from prophecy.adaptive import calibration, step

KEPT = 8192  # values kept: seasons up to 2 700 values, and what is solved anew when seasons are found
NEWEST = 6  # newest lags read
WIDEST = 26  # lags at most
SIZE = WIDEST + 2 + 2 + 1  # features: lags, two seasonal profiles, two slow means, one constant


@inner
def _read(
    t: Any, ring: Any, count: int, first: int, horizon: int, lags: Any, found: Any, slow: Any, unit: float, out: Any
) -> None:
    """Features after `count` values, relative to the newest; what lies before value `first` is not there."""
    newest, place = ring[(count - 1) % KEPT], 0
    first = max(first, count - KEPT)
    out[:] = 0.0
    for i in range(len(lags)):
        at = count - 1 - lags[i]
        if at >= first:
            out[place] = ring[at % KEPT] - newest
        place += 1
    for season in found:
        if season > 0:
            total, seen = 0.0, 0
            whole = -(-horizon // season)
            for k in range(t.far.profile):
                at = count - 1 - ((whole + k) * season - horizon)
                if at >= first:
                    total += ring[at % KEPT]
                    seen += 1
            if seen:
                out[place] = total / seen - newest
        place += 1
    for j in range(len(slow)):
        out[place] = slow[j] - newest
        place += 1
    out[place] = unit


@inner
def _follow(t: Any, slow: Any, value: float, count: int) -> None:
    """Slow means, plain means at first."""
    for j in range(len(slow)):
        slow[j] += max(1.0 / count, t.far.slow[j]) * (value - slow[j])


@inner
def _learn(t: Any, power: Any, moment: Any, features: Any, change: float) -> None:
    """One more equation: features times weights should be the change that came."""
    for q in range(len(power)):
        for i in range(SIZE):
            moment[q, i] = t.far.forgetting[q] * moment[q, i] + features[i] * change
            for j in range(i + 1):
                power[q, i, j] = t.far.forgetting[q] * power[q, i, j] + features[i] * features[j]


@inner
def _solve(power: Any, moment: Any, ridge: float, factor: Any, weights: Any) -> None:
    """(power + ridge diag(power)) weights = moment, by Cholesky; a feature that adds nothing but rounding gets none."""
    for i in range(SIZE):
        for j in range(i + 1):
            rest = power[i, j]
            if i == j:
                rest *= 1.0 + ridge
            for k in range(j):
                rest -= factor[i, k] * factor[j, k]
            if i > j:
                factor[i, j] = rest / factor[j, j]
            else:
                factor[i, i] = math.sqrt(rest) if rest > 1e-12 * power[i, i] + 1e-290 else 1e150
    for i in range(SIZE):
        rest = moment[i]
        for k in range(i):
            rest -= factor[i, k] * weights[k]
        weights[i] = rest / factor[i, i]
    for i in range(SIZE - 1, -1, -1):
        rest = weights[i]
        for k in range(i + 1, SIZE):
            rest -= factor[k, i] * weights[k]
        weights[i] = rest / factor[i, i]


@inner
def _mix(t: Any, loss: Any, usual: float, due: Any) -> float:
    """The members' predictions, each by how its errors compare with the least."""
    best = math.inf
    for m in range(len(loss)):
        behind = loss[m] + (t.far.handicap * usual if m > 0 else 0.0)
        if not math.isnan(due[m]) and behind < best:
            best = behind
    total, mixed = 0.0, 0.0
    for m in range(len(loss)):
        if math.isnan(due[m]):
            continue
        behind = loss[m] + (t.far.handicap * usual if m > 0 else 0.0)
        share = math.exp((best - behind) / (t.far.sharpness * best)) if best > 0 else (1.0 if behind == best else 0.0)
        total += share
        mixed += share * due[m]
    return mixed / total


@inner
def _judge(t: Any, value: float, place: int, last: Any, due: Any, mixed: Any, loss: Any, sums: Any) -> None:
    """What the members, the mixture and the copy were off by."""
    sums[0] += abs(value - last[place])
    sums[1] += abs(value - mixed[place]) - abs(value - last[place])
    for m in range(len(loss)):
        if not math.isnan(due[place, m]):
            loss[m] = t.far.discount * loss[m] + abs(value - due[place, m])


@kernel
def run(
    records: Any, rings: Any, errors: Any, table: Any, where: Any, values: Any, seen: int, lags: Any, found: Any,
    ring: Any, features: Any, last: Any, due: Any, mixed: Any, power: Any, moment: Any, weights: Any, loss: Any,
    slow: Any, sums: Any, out: Any,
) -> None:  # fmt: skip
    """Row `place` of features, last, due and mixed belongs to the prediction due when `place` comes round again."""
    room, factor = np.empty(step.ROOM), np.zeros((SIZE, SIZE))
    t, e, horizon = table[0], errors[0], len(last)
    for k in range(len(values)):
        count, value = seen + k, values[k]
        place = count % horizon
        expected = mixed[place]
        out[0, k], out[1, k], out[2, k] = expected, math.nan, math.nan
        if not math.isnan(expected):
            sums[2] -= abs(expected - last[place])
            out[1, k] = max(calibration.half_width(e, t, where[0], where[1], where[2]), np.spacing(abs(expected)))
            out[2, k] = calibration.surprise(e, t, value - expected)
            if not math.isnan(value):
                calibration.calibrate(e, t, value - expected, False)
                e.learned += 1
                e.last = value
                _judge(t, value, place, last, due, mixed, loss, sums)
                _learn(t, power, moment, features[place], value - last[place])
                sums[4] += 1
        step.step(records[0], rings[0], t, value, room)
        if not records[0].count:
            continue  # nothing but gaps so far
        newest = value
        if math.isnan(value):  # a gap is filled by what was expected here
            newest = ring[(count - 1) % KEPT] if math.isnan(expected) else expected
        elif count > 0 and records[0].count > 1:
            sums[3] += max(1.0 / count, t.far.slow[1]) * (abs(value - ring[(count - 1) % KEPT]) - sums[3])
        ring[count % KEPT] = newest
        _follow(t, slow, newest, count + 1)
        _read(t, ring, count + 1, 0, horizon, lags, found, slow, sums[3], features[place])
        if count % t.far.solved_every == 0 and sums[4] > 2 * NEWEST:
            for m in range(len(weights)):
                _solve(power[m % len(power)], moment[m % len(power)], t.far.ridges[m], factor, weights[m])
        last[place] = newest
        due[place, 0] = newest
        for m in range(len(weights)):
            change = 0.0
            for i in range(SIZE):
                change += weights[m, i] * features[place, i]
            due[place, m + 1] = newest + change
        if horizon <= t.far.rolled:
            records[1] = records[0]
            for _ in range(horizon - 1):
                step.step(records[1], rings[1], t, math.nan, room)
            due[place, len(loss) - 1] = step.expected(records[1], t)
        move = _mix(t, loss, sums[3], due[place]) - newest
        most = max(0.0, t.far.allowed * sums[0] - sums[1] - sums[2]) * t.far.share / max(horizon, t.far.share)
        move = min(max(move, -most), most)
        sums[2] += abs(move)
        mixed[place] = newest + move


@kernel
def again(
    table: Any, seen: int, lags: Any, found: Any, ring: Any, features: Any, power: Any, moment: Any, unit: float
) -> None:
    """Normal equations and waiting features from the ring alone."""
    t, first, horizon = table[0], max(0, seen - KEPT), len(features)
    slow, now = np.zeros(len(t.far.slow)), np.zeros(SIZE)
    slow[:] = ring[first % KEPT]
    for count in range(first + 1, seen + 1):
        _follow(t, slow, ring[(count - 1) % KEPT], count - first)
        _read(t, ring, count, first, horizon, lags, found, slow, unit, now)
        if count - 1 + horizon < seen:
            _learn(t, power, moment, now, ring[(count - 1 + horizon) % KEPT] - ring[(count - 1) % KEPT])
        else:
            features[(count - 1) % horizon] = now
