"""Predictions h values ahead (`streams/ahead.py`): features, normal equations, their solution, the mixture."""

import cython
from cython.cimports.libc.math import INFINITY, NAN, exp, fabs, isnan, sqrt
from cython.cimports.libc.string import memcpy, memset
from cython.cimports.prophecy.streams.kernels import calibration, step
from cython.cimports.prophecy.streams.kernels.buffers import (
    ahead_of,
    given,
    numbers,
    records_of,
    table_of,
    waiting_of,
    where_of,
)
from cython.cimports.prophecy.streams.kernels.seasonal import check_if_due
from cython.cimports.prophecy.streams.kernels.unrolled import spacing
from cython.cimports.prophecy.streams.kernels.whole import nearest


def _choose_lags(f):
    """Ages of the values read: the newest, and those one and two seasons before the one predicted, and beside them."""
    for i in range(NEWEST):
        f.lag[i] = i + 1
    f.lags = NEWEST
    for j in range(2):
        season = f.a.period[j]
        if season > 0:
            whole = (f.horizon + season - 1) // season
            for k in range(6):
                _add_lag(f, (whole + k // 3) * season - f.horizon + k % 3 - 1)


def _add_lag(f, age):
    for i in range(f.lags):
        if f.lag[i] == age:
            return
    if age > NEWEST and f.lags < WIDEST:
        f.lag[f.lags] = age
        f.lags += 1


def _read(t, f, count, first, slow, out):
    """Features after `count` values, relative to the newest; what lies before value `first` is not there."""
    a = f.a
    newest, place = a.ring[(count - 1) % KEPT], WIDEST
    first = max(first, count - KEPT)
    for i in range(AHEAD_FEATURES):
        out[i] = 0.0
    for i in range(f.lags):
        at = count - 1 - f.lag[i]
        if at >= first:
            out[i] = a.ring[at % KEPT] - newest
    for j in range(2):
        season = a.period[j]
        if season > 0:
            total, seen = 0.0, 0
            whole = (f.horizon + season - 1) // season
            for k in range(t.seasonal.averaged):
                at = count - 1 - ((whole + k) * season - f.horizon)
                if at >= first:
                    total += a.ring[at % KEPT]
                    seen += 1
            if seen:
                out[place + j] = total / seen - newest
    for j in range(AHEAD_SLOW):
        out[place + 2 + j] = slow[j] - newest
    out[place + 2 + AHEAD_SLOW] = a.usual


def _follow(t, slow, value, count):
    """Slow means, plain means at first."""
    for j in range(AHEAD_SLOW):
        slow[j] += max(1.0 / count, t.ahead.slow[j]) * (value - slow[j])


def _learn(t, a, features, change):
    """One more equation: features times weights should be the change that came."""
    for q in range(AHEAD_SETS):
        kept = t.ahead.forgetting if q else 1.0
        for i in range(AHEAD_FEATURES):
            a.moment[q][i] = kept * a.moment[q][i] + features[i] * change
            for j in range(i + 1):
                a.power[q][i][j] = kept * a.power[q][i][j] + features[i] * features[j]


def _solve(power, moment, ridge, weights):
    """(power + ridge diag(power)) weights = moment, by Cholesky; a feature that adds nothing but rounding gets none."""
    factor: cython.double[AHEAD_FEATURES][AHEAD_FEATURES]
    for i in range(AHEAD_FEATURES):
        for j in range(i + 1):
            rest = power[i][j]
            if i == j:
                rest *= 1.0 + ridge
            for k in range(j):
                rest -= factor[i][k] * factor[j][k]
            if i > j:
                factor[i][j] = rest / factor[j][j]
            else:
                factor[i][i] = sqrt(rest) if rest > 1e-12 * power[i][i] + 1e-290 else 1e150
    for i in range(AHEAD_FEATURES):
        rest = moment[i]
        for k in range(i):
            rest -= factor[i][k] * weights[k]
        weights[i] = rest / factor[i][i]
    for i in range(AHEAD_FEATURES - 1, -1, -1):
        rest = weights[i]
        for k in range(i + 1, AHEAD_FEATURES):
            rest -= factor[k][i] * weights[k]
        weights[i] = rest / factor[i][i]


def _mix(t, a, due):
    """The members' predictions, each by how its errors compare with the least."""
    best: cython.double = INFINITY
    for m in range(AHEAD_MEMBERS):
        behind = a.loss[m] + (t.ahead.handicap * a.usual if m > 0 else 0.0)
        if not isnan(due[m]) and behind < best:
            best = behind
    total, mixed = 0.0, 0.0
    for m in range(AHEAD_MEMBERS):
        if isnan(due[m]):
            continue
        behind = a.loss[m] + (t.ahead.handicap * a.usual if m > 0 else 0.0)
        share = exp((best - behind) / (t.ahead.sharpness * best)) if best > 0 else (1.0 if behind == best else 0.0)
        total += share
        mixed += share * due[m]
    return mixed / total


def _judge(t, f, row, value, where, out):
    """Hold a prediction to the value it was made for: out gets mean, half width and score, and everybody learns."""
    a, errors, expected = f.a, f.records + 2, row.mixed
    out[0], out[1], out[2] = expected, NAN, NAN
    if isnan(expected):
        return
    a.pending -= fabs(expected - row.last)
    out[1] = max(calibration.half_width(errors, t, where), spacing(fabs(expected)))
    out[2] = calibration.surprise(errors, t, value - expected)
    if isnan(value):
        return
    calibration.calibrate(errors, t, value - expected, False)
    errors.learned += 1
    errors.last = value
    a.copied += fabs(value - row.last)
    a.excess += fabs(value - expected) - fabs(value - row.last)
    for m in range(AHEAD_MEMBERS):
        if not isnan(row.due[m]):
            a.loss[m] = t.ahead.discount * a.loss[m] + fabs(value - row.due[m])
    _learn(t, a, row.features, value - row.last)
    a.learned += 1


def _predict(t, f, row, newest):
    """The value `horizon` after the newest: as each member says, mixed, and moved towards the copy as far as it must be
    (`streams/ahead.py`)."""
    a = f.a
    row.last = row.due[0] = newest
    for m in range(AHEAD_READOUTS):
        change = 0.0
        for i in range(AHEAD_FEATURES):
            change += a.weights[m][i] * row.features[i]
        row.due[m + 1] = newest + change
    if f.horizon <= t.ahead.rolled:
        q = f.records + 1
        q[0] = f.records[0]
        if q.season_on:
            memcpy(f.rings + RING, f.rings, RING * cython.sizeof(cython.double))
        for _ in range(f.horizon - 1):
            step.walk(q, f.rings + RING, t)
        row.due[AHEAD_MEMBERS - 1] = step.expected(q, t)
    most = max(0.0, t.ahead.allowed * a.copied - a.excess - a.pending) * t.ahead.share / max(f.horizon, t.ahead.share)
    move = min(max(_mix(t, a, row.due) - newest, -most), most)
    a.pending += fabs(move)
    row.mixed = newest + move


def _advance(t, f, where, value, out):
    """Take in the next value; out: its mean, half width and score as they were `horizon` values before. A row of
    `waiting` belongs to the prediction due when its place comes round again."""
    a = f.a
    count = a.seen
    row = f.rows + count % f.horizon
    expected = row.mixed
    _judge(t, f, row, value, where, out)
    step.step(f.records, f.rings, t, value)
    check_if_due(f.records, f.rings, t)
    a.seen += 1
    if f.records.count == 0:
        return  # nothing but gaps so far
    newest = value
    if isnan(value):  # a gap is filled by what was expected here
        newest = a.ring[(count - 1) % KEPT] if isnan(expected) else expected
    elif count > 0 and f.records.count > 1:
        a.usual += max(1.0 / count, t.ahead.slow[1]) * (fabs(value - a.ring[(count - 1) % KEPT]) - a.usual)
    a.ring[count % KEPT] = newest
    _follow(t, a.slow, newest, count + 1)
    _follow_seasons(t, f)
    _read(t, f, count + 1, 0, a.slow, row.features)
    if count % t.ahead.solved_every == 0 and a.learned > 2 * NEWEST:
        for m in range(AHEAD_READOUTS):
            _solve(a.power[m % AHEAD_SETS], a.moment[m % AHEAD_SETS], t.ahead.ridges[m // AHEAD_SETS], a.weights[m])
    _predict(t, f, row, newest)


def _follow_seasons(t, f):
    """The seasons of the bank are those whose lags are read; other ones than before have other features, whose normal
    equations come from the ring alone."""
    slow: cython.double[AHEAD_SLOW]
    now: cython.double[AHEAD_FEATURES]
    a, r = f.a, f.records
    if a.period[0] == nearest(r.season_periods[0]) and a.period[1] == nearest(r.season_periods[1]):
        return
    a.period[0], a.period[1] = nearest(r.season_periods[0]), nearest(r.season_periods[1])
    _choose_lags(f)
    memset(a.power, 0, cython.sizeof(a.power))
    memset(a.moment, 0, cython.sizeof(a.moment))
    memset(a.weights, 0, cython.sizeof(a.weights))
    first: cython.longlong = max(a.seen - KEPT, 0)
    for j in range(AHEAD_SLOW):
        slow[j] = a.ring[first % KEPT]
    for count in range(first + 1, a.seen + 1):
        _follow(t, slow, a.ring[(count - 1) % KEPT], count - first)
        _read(t, f, count, first, slow, now)
        if count - 1 + f.horizon < a.seen:
            _learn(t, a, now, a.ring[(count - 1 + f.horizon) % KEPT] - a.ring[(count - 1) % KEPT])
        else:
            memcpy(f.rows[(count - 1) % f.horizon].features, now, cython.sizeof(now))


def run(records, rings, state, waiting, table, place, values, out):
    """Take in `values`; out (time, 3) gets mean, half width and score of each. The first four are the arrays of an
    `ahead.Ahead`; place: where the level lies (`table.between`)."""
    f: Model
    f.horizon = len(waiting)
    f.records, f.rings = records_of(records, 3), numbers(rings, "rings", 2 * RING)
    f.a, f.rows = ahead_of(state), waiting_of(waiting, f.horizon)
    where, t = where_of(place), table_of(table)
    count = cython.cast(cython.longlong, len(values))
    new, made = given(values, "values", count), numbers(out, "out", 3 * count)
    with cython.nogil:
        _choose_lags(cython.address(f))
        for k in range(count):
            _advance(t, cython.address(f), cython.address(where), new[k], made + 3 * k)
