"""Predictions h values ahead (`ahead.py`): features, normal equations, their solution, the mixture."""

import cython
from cython.cimports.libc.math import INFINITY, NAN, exp, fabs, isnan, sqrt
from cython.cimports.libc.string import memset
from cython.cimports.prophecy.streams.kernels import step
from cython.cimports.prophecy.streams.kernels.buffers import (
    calibration_of,
    given,
    numbers,
    records_of,
    table_of,
    where_of,
    wholes,
)
from cython.cimports.prophecy.streams.kernels.calibration import calibrate, half_width, surprise
from cython.cimports.prophecy.streams.kernels.unrolled import spacing
from cython.cimports.prophecy.streams.kernels.structs import (
    AHEAD_FEATURES,
    AHEAD_MEMBERS,
    AHEAD_READOUTS,
    AHEAD_SETS,
    AHEAD_SLOW,
    KEPT,
    LEVELS,
    NEWEST,
    RING,
    WIDEST,
    Record,
)


def _read(t, f, count, first, slow, unit, out):
    """Features after `count` values, relative to the newest; what lies before value `first` is not there."""
    newest, place = f.ring[(count - 1) % KEPT], 0
    first = max(first, count - KEPT)
    for i in range(AHEAD_FEATURES):
        out[i] = 0.0
    for i in range(f.lags):
        at = count - 1 - f.lag[i]
        if at >= first:
            out[place] = f.ring[at % KEPT] - newest
        place += 1
    for j in range(2):
        season = f.found[j]
        if season > 0:
            total, seen = 0.0, 0
            whole = (f.horizon + season - 1) // season
            for k in range(t.ahead.profile):
                at = count - 1 - ((whole + k) * season - f.horizon)
                if at >= first:
                    total += f.ring[at % KEPT]
                    seen += 1
            if seen:
                out[place] = total / seen - newest
        place += 1
    for j in range(AHEAD_SLOW):
        out[place] = slow[j] - newest
        place += 1
    out[place] = unit


def _follow(t, slow, value, count):
    """Slow means, plain means at first."""
    for j in range(AHEAD_SLOW):
        slow[j] += max(1.0 / count, t.ahead.slow[j]) * (value - slow[j])


def _learn(t, f, features, change):
    """One more equation: features times weights should be the change that came."""
    for q in range(AHEAD_SETS):
        for i in range(AHEAD_FEATURES):
            f.moment[q][i] = t.ahead.forgetting[q] * f.moment[q][i] + features[i] * change
            for j in range(i + 1):
                f.power[q][i][j] = t.ahead.forgetting[q] * f.power[q][i][j] + features[i] * features[j]


def _solve(power, moment, ridge, factor, weights):
    """(power + ridge diag(power)) weights = moment, by Cholesky; a feature that adds nothing but rounding gets none."""
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


def _mix(t, loss, usual, due):
    """The members' predictions, each by how its errors compare with the least."""
    best: cython.double = INFINITY
    for m in range(AHEAD_MEMBERS):
        behind = loss[m] + (t.ahead.handicap * usual if m > 0 else 0.0)
        if not isnan(due[m]) and behind < best:
            best = behind
    total, mixed = 0.0, 0.0
    for m in range(AHEAD_MEMBERS):
        if isnan(due[m]):
            continue
        behind = loss[m] + (t.ahead.handicap * usual if m > 0 else 0.0)
        share = exp((best - behind) / (t.ahead.sharpness * best)) if best > 0 else (1.0 if behind == best else 0.0)
        total += share
        mixed += share * due[m]
    return mixed / total


def _judge(t, f, value, place):
    """What the members, the mixture and the copy were off by."""
    f.sums[0] += fabs(value - f.last[place])
    f.sums[1] += fabs(value - f.mixed[place]) - fabs(value - f.last[place])
    for m in range(AHEAD_MEMBERS):
        if not isnan(f.due[place][m]):
            f.loss[m] = t.ahead.discount * f.loss[m] + fabs(value - f.due[place][m])


def _advance(t, f, records, rings, e, where, value, count, out):
    """Take in the value after `count` others; out: its mean, half width and score as they were `horizon` values before.
    Row `place` of features, last, due and mixed belongs to the prediction due when `place` comes round again."""
    factor: cython.double[AHEAD_FEATURES][AHEAD_FEATURES]
    place = count % f.horizon
    expected = f.mixed[place]
    out[0], out[1], out[2] = expected, NAN, NAN
    if not isnan(expected):
        f.sums[2] -= fabs(expected - f.last[place])
        out[1] = max(half_width(e, t, where), spacing(fabs(expected)))
        out[2] = surprise(e, t, value - expected)
        if not isnan(value):
            calibrate(e, t, value - expected, False)
            e.learned += 1
            e.last = value
            _judge(t, f, value, place)
            _learn(t, f, f.features[place], value - f.last[place])
            f.sums[4] += 1.0
    step.step(records, rings, t, value)
    if records.count == 0:
        return  # nothing but gaps so far
    newest = value
    if isnan(value):  # a gap is filled by what was expected here
        newest = f.ring[(count - 1) % KEPT] if isnan(expected) else expected
    elif count > 0 and records.count > 1:
        f.sums[3] += max(1.0 / count, t.ahead.slow[1]) * (fabs(value - f.ring[(count - 1) % KEPT]) - f.sums[3])
    f.ring[count % KEPT] = newest
    _follow(t, f.slow, newest, count + 1)
    _read(t, f, count + 1, 0, f.slow, f.sums[3], f.features[place])
    if count % t.ahead.solved_every == 0 and f.sums[4] > 2 * NEWEST:
        for m in range(AHEAD_READOUTS):
            _solve(f.power[m % AHEAD_SETS], f.moment[m % AHEAD_SETS], t.ahead.ridges[m], factor, f.weights[m])
    f.last[place] = newest
    f.due[place][0] = newest
    for m in range(AHEAD_READOUTS):
        change = 0.0
        for i in range(AHEAD_FEATURES):
            change += f.weights[m][i] * f.features[place][i]
        f.due[place][m + 1] = newest + change
    if f.horizon <= t.ahead.rolled:
        records[1] = records[0]
        for _ in range(f.horizon - 1):
            step.step(cython.address(records[1]), rings + RING, t, NAN)
        f.due[place][AHEAD_MEMBERS - 1] = step.expected(cython.address(records[1]), t)
    move = _mix(t, f.loss, f.sums[3], f.due[place]) - newest
    most = max(0.0, t.ahead.allowed * f.sums[0] - f.sums[1] - f.sums[2]) * t.ahead.share / max(f.horizon, t.ahead.share)
    move = min(max(move, -most), most)
    f.sums[2] += fabs(move)
    f.mixed[place] = newest + move


def _again(t, f, seen, unit):
    """Normal equations and waiting features from the ring alone."""
    slow: cython.double[AHEAD_SLOW]
    now: cython.double[AHEAD_FEATURES]
    first = max(0, seen - KEPT)
    for j in range(AHEAD_SLOW):
        slow[j] = f.ring[first % KEPT]
    for count in range(first + 1, seen + 1):
        _follow(t, slow, f.ring[(count - 1) % KEPT], count - first)
        _read(t, f, count, first, slow, unit, now)
        if count - 1 + f.horizon < seen:
            _learn(t, f, now, f.ring[(count - 1 + f.horizon) % KEPT] - f.ring[(count - 1) % KEPT])
        else:
            for i in range(AHEAD_FEATURES):
                f.features[(count - 1) % f.horizon][i] = now[i]


def _copy_in(r, e):
    """The fields of `record.CALIBRATION` into a record."""
    r.count, r.gap, r.learned, r.last, r.tail = e.count, e.gap, e.learned, e.last, e.tail
    r.error_scale, r.error_peak, r.last_error_peak = e.error_scale, e.error_peak, e.last_error_peak
    for l in range(LEVELS):
        r.quantile[l] = e.quantile[l]


def _copy_out(e, r):
    """The same back."""
    e.count, e.gap, e.learned, e.last, e.tail = r.count, r.gap, r.learned, r.last, r.tail
    e.error_scale, e.error_peak, e.last_error_peak = r.error_scale, r.error_peak, r.last_error_peak
    for l in range(LEVELS):
        e.quantile[l] = r.quantile[l]


# What Python calls.


def _learned(arrays, lags, found):
    """The memory of the arrays of an `ahead.Ahead`, by name."""
    f: Learned
    horizon = len(arrays["last"])
    f.horizon, f.lags = horizon, len(lags)
    if f.lags > WIDEST:
        raise ValueError(f"lags must be at most {WIDEST}")
    f.lag, f.found = wholes(lags, "lags", f.lags), wholes(found, "found", 2)
    f.ring = numbers(arrays["ring"], "ring", KEPT)
    f.features = cython.cast(
        cython.pointer[Features], numbers(arrays["features"], "features", horizon * AHEAD_FEATURES)
    )
    f.last, f.mixed = numbers(arrays["last"], "last", horizon), numbers(arrays["mixed"], "mixed", horizon)
    f.due = cython.cast(cython.pointer[Due], numbers(arrays["due"], "due", horizon * AHEAD_MEMBERS))
    f.power = cython.cast(
        cython.pointer[Power], numbers(arrays["power"], "power", AHEAD_SETS * AHEAD_FEATURES * AHEAD_FEATURES)
    )
    f.moment = cython.cast(cython.pointer[Features], numbers(arrays["moment"], "moment", AHEAD_SETS * AHEAD_FEATURES))
    f.weights = cython.cast(
        cython.pointer[Features], numbers(arrays["weights"], "weights", AHEAD_READOUTS * AHEAD_FEATURES)
    )
    f.loss, f.slow = numbers(arrays["loss"], "loss", AHEAD_MEMBERS), numbers(arrays["slow"], "slow", AHEAD_SLOW)
    f.sums = numbers(arrays["sums"], "sums", 5)
    return f


def run(arrays, table, place, values, seen: cython.longlong, lags, found, out):
    """Take in `values` after `seen` others; out (time, 3) gets mean, half width and score of each. arrays: those of a
    `ahead.Ahead` by name; place: where the level lies (`table.between`)."""
    e: Record
    where = where_of(place)
    f, count = _learned(arrays, lags, found), cython.cast(cython.longlong, len(values))
    records = records_of(arrays["records"], 2)
    rings = numbers(arrays["rings"], "rings", 2 * RING)
    errors = calibration_of(arrays["errors"], 1)
    t = table_of(table)
    new, made = given(values, "values", count), numbers(out, "out", 3 * count)
    with cython.nogil:
        memset(cython.address(e), 0, cython.sizeof(e))
        _copy_in(cython.address(e), errors)
        for k in range(count):
            _advance(
                t, cython.address(f), records, rings, cython.address(e), cython.address(where), new[k], seen + k,
                made + 3 * k,
            )  # fmt: skip
        _copy_out(errors, cython.address(e))


def again(arrays, table, seen: cython.longlong, lags, found):
    """Normal equations and waiting features from the ring alone."""
    f = _learned(arrays, lags, found)
    t = table_of(table)
    with cython.nogil:
        _again(t, cython.address(f), seen, f.sums[3])
