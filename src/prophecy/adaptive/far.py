r"""Predictions h values ahead, for one series that arrives in pieces: readouts solved for exactly this distance.

A readout solved for h = 1 and rolled forward 24 times is wrong 24 times over. Here the change from the newest value to
the value h ahead is itself read out: linearly, from lags, from the values one and two seasons before the one predicted,
from the mean profile of four seasons and from slow means (least squares with a little ridge, with and without
forgetting, kept as normal equations and solved anew every few values). They are weighed, together with the copy of the
newest value and with the bank rolled forward, by discounted absolute errors.

**Never far behind copying.** Let C be the summed absolute errors of copying so far, E how much larger ours were, and P
the sum of |prediction - copy| over predictions not judged yet. An error can exceed that of the copy by at most
|prediction - copy|. Every prediction is moved towards the copy until E + P <= `allowed` C. Hence E <= `allowed` C at
every later time: the mean absolute error is never more than `allowed` above that of copying, on any series whatsoever.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prophecy import _checks, _files
from prophecy._compiled import inner, kernel
from prophecy._periods import autocorrelation, less_line
from prophecy.adaptive import calibration, step
from prophecy.adaptive.arguments import checked_level
from prophecy.adaptive.fields import record_type
from prophecy.adaptive.members import between, table
from prophecy.adaptive.record import ERRORS, FIELDS, fresh, rings
from prophecy.adaptive.settings import DEFAULT, Settings
from prophecy.adaptive.settings.far import FarSettings

Array = NDArray[np.float64]

FORMAT = 1  # of saved files
RING = 8192  # values remembered: seasons up to 2 700 values, and what is solved anew when seasons are found
NEAR = 6  # newest lags read
WIDEST = 26  # lags at most
SIZE = WIDEST + 2 + 2 + 1  # features: lags, two seasonal profiles, two slow means, one constant

_CALIBRATION = record_type([(field.name, field.kind, field.shape) for field in FIELDS if field.name in ERRORS])
_SETS, _READOUTS = len(DEFAULT.far.forgetting), len(DEFAULT.far.ridges)
_MEMBERS = _READOUTS + 2  # the copy first, the bank last


class Far:
    """Predictions `horizon` values ahead with intervals of one level; where the series is cut changes nothing."""

    def __init__(self, horizon: int, level: float, settings: Settings = DEFAULT) -> None:
        self._level, self._all = level, settings
        self._table, self._where, self._settings = table(settings), between(level), settings.far
        self._records, self._rings = fresh(2, self._table), rings(2)
        self._errors = np.zeros(1, dtype=_CALIBRATION)
        self._errors["quantile"] = self._table["normal"]
        self._horizon, self._seen, self._next = horizon, 0, settings.far.first
        self._seasons: tuple[int, ...] = ()
        self._lags = _lags(horizon, ())
        self._ring = np.zeros(RING)
        self._features, self._last = np.zeros((horizon, SIZE)), np.full(horizon, np.nan)
        self._due, self._mixed = np.full((horizon, _MEMBERS), np.nan), np.full(horizon, np.nan)
        self._power, self._moment = np.zeros((_SETS, SIZE, SIZE)), np.zeros((_SETS, SIZE))
        self._weights, self._loss = np.zeros((_READOUTS, SIZE)), np.zeros(_MEMBERS)
        self._slow = np.zeros(len(settings.far.slow))
        self._sums = np.zeros(5)  # C, E, P, the usual step, and how many targets were learned

    def advance(self, values: Array) -> Array:
        """Take in values (time,); mean, half width and score of each, `horizon` values before it came: (3, time)."""
        out = np.empty((3, len(values)))
        done = 0
        while done < len(values):
            some = slice(done, min(len(values), done + self._next - self._seen))
            self._run(values[some], out[:, some])
            self._seen += some.stop - done
            done = some.stop
            if self._seen == self._next:
                self._find_seasons()
                self._next *= 2
        return out

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All it has learned, by name: the arrays themselves."""
        return {
            "records": self._records, "rings": self._rings, "errors": self._errors, "ring": self._ring,
            "features": self._features, "last": self._last, "due": self._due, "mixed": self._mixed,
            "power": self._power, "moment": self._moment, "weights": self._weights, "loss": self._loss,
            "slow": self._slow, "sums": self._sums,
        }  # fmt: skip

    def save(self, path: _files.Place) -> None:
        """Write everything to one file, atomically, or to a file open for bytes; no pickles."""
        meta = {
            "horizon": self._horizon,
            "level": self._level,
            "seen": self._seen,
            "next": self._next,
            "seasons": list(self._seasons),
            "settings": dataclasses.asdict(self._all),
        }
        _files.write_state(path, "Far", FORMAT, meta, **self.arrays())

    @classmethod
    def load(cls, path: _files.Place) -> Far:
        """A model that goes on where the saved one stood. Every number of the file is checked before it is used."""
        from prophecy.adaptive import restore

        meta, arrays = _files.read_state(path, "Far", FORMAT)
        try:
            horizon = _checks.whole("horizon", meta["horizon"], least=2)
            if arrays["last"].shape != (horizon,):  # before anything of its size is made
                raise ValueError(f"last must have {horizon} values, got shape {arrays['last'].shape}")
            model = cls(horizon, checked_level(meta["level"]), Settings.from_file(meta["settings"]))
            model._seen, model._next, model._seasons = restore.progress(meta, model._settings.first, RING)
            model._lags = _lags(horizon, model._seasons)
            restore.refill(model.arrays(), arrays, model._table)
        except (KeyError, AttributeError, ValueError, TypeError, IndexError, OverflowError) as error:
            raise ValueError(f"{_files.named(path)} is a damaged Far file: {error}") from error
        return model

    def _run(self, values: Array, out: Array) -> None:
        made = np.empty((3, len(values)))
        _run(
            self._records, self._rings, self._errors, self._table, self._where, values, self._seen, self._lags,
            _pair(self._seasons), self._ring, self._features, self._last, self._due, self._mixed, self._power,
            self._moment, self._weights, self._loss, self._slow, self._sums, made,
        )  # fmt: skip
        out[:] = made

    def _find_seasons(self) -> None:
        """Find the seasons of what is remembered; other ones than before have other features, solved from the ring."""
        first = max(0, self._seen - RING)
        found = seasons(self._ring[np.arange(first, self._seen) % RING], self._settings)
        if found == self._seasons:
            return
        self._seasons, self._lags = found, _lags(self._horizon, found)
        self._power[:], self._moment[:], self._weights[:] = 0.0, 0.0, 0.0
        _again(
            self._table, self._seen, self._lags, _pair(found), self._ring, self._features, self._power, self._moment,
            self._sums[3],
        )  # fmt: skip


def seasons(values: Array, settings: FarSettings = DEFAULT.far) -> tuple[int, ...]:
    """The shortest strong period of a stretch and, where it repeats better still, a longer one; in values.

    >>> seasons(np.sin(2 * np.pi * np.arange(400) / 24))
    (24,)
    """
    flat = less_line(values)
    if not float(flat @ flat) > 1e-20 * len(values) * float(np.max(np.abs(values), initial=0.0)) ** 2:
        return ()
    alike = autocorrelation(flat, len(values) // 3 + 2)
    dip = np.minimum.accumulate(alike)
    peak = np.flatnonzero((alike[1:-1] > alike[:-2]) & (alike[1:-1] >= alike[2:])) + 1
    peak = peak[(peak >= 4) & (alike[peak] > settings.alike) & (alike[peak] - dip[peak] > settings.stands_out)]
    if not len(peak):
        return ()
    best = int(peak[np.argmax(alike[peak])])
    first = int(peak[alike[peak] >= settings.nearly * alike[best]][0])
    near = peak[np.abs(peak - first) <= max(1, first // 10)]
    first = int(near[np.argmax(alike[near])])
    longer = best > settings.longer * first and alike[best] > alike[first] + settings.better
    return (first, best) if longer else (first,)


def _pair(found: tuple[int, ...]) -> NDArray[np.int64]:
    """Two seasons, 0 where there is none: compiled code wants one shape."""
    return np.array([*found, 0, 0][:2], dtype=np.int64)


def _lags(horizon: int, found: tuple[int, ...]) -> NDArray[np.int64]:
    """Ages of the values read: the newest, and those one and two seasons before the one predicted, and beside them."""
    lags = list(range(1, NEAR + 1))
    for season in found:
        whole = -(-horizon // season)
        for age in ((whole + k) * season - horizon + beside for k in (0, 1) for beside in (-1, 0, 1)):
            if age > NEAR and age not in lags and len(lags) < WIDEST:
                lags.append(age)
    return np.array(lags, dtype=np.int64)


@inner
def _read(
    t: Any, ring: Any, count: int, first: int, horizon: int, lags: Any, found: Any, slow: Any, unit: float, out: Any
) -> None:
    """Features after `count` values, relative to the newest; what lies before value `first` is not there."""
    newest, place = ring[(count - 1) % RING], 0
    first = max(first, count - RING)
    out[:] = 0.0
    for i in range(len(lags)):
        at = count - 1 - lags[i]
        if at >= first:
            out[place] = ring[at % RING] - newest
        place += 1
    for season in found:
        if season > 0:
            total, seen = 0.0, 0
            whole = -(-horizon // season)
            for k in range(t.far.profile):
                at = count - 1 - ((whole + k) * season - horizon)
                if at >= first:
                    total += ring[at % RING]
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
def _run(
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
            newest = ring[(count - 1) % RING] if math.isnan(expected) else expected
        elif count > 0 and records[0].count > 1:
            sums[3] += max(1.0 / count, t.far.slow[1]) * (abs(value - ring[(count - 1) % RING]) - sums[3])
        ring[count % RING] = newest
        _follow(t, slow, newest, count + 1)
        _read(t, ring, count + 1, 0, horizon, lags, found, slow, sums[3], features[place])
        if count % t.far.solved_every == 0 and sums[4] > 2 * NEAR:
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
def _again(
    table: Any, seen: int, lags: Any, found: Any, ring: Any, features: Any, power: Any, moment: Any, unit: float
) -> None:
    """Normal equations and waiting features from the ring alone."""
    t, first, horizon = table[0], max(0, seen - RING), len(features)
    slow, now = np.zeros(len(t.far.slow)), np.zeros(SIZE)
    slow[:] = ring[first % RING]
    for count in range(first + 1, seen + 1):
        _follow(t, slow, ring[(count - 1) % RING], count - first)
        _read(t, ring, count, first, horizon, lags, found, slow, unit, now)
        if count - 1 + horizon < seen:
            _learn(t, power, moment, now, ring[(count - 1 + horizon) % RING] - ring[(count - 1) % RING])
        else:
            features[(count - 1) % horizon] = now
