r"""Predictions h values ahead, for one series that arrives in pieces: readouts solved for exactly this distance.

A readout solved for h = 1 and rolled forward 24 times is wrong 24 times over. Here the change from the newest value to
the value h ahead is itself read out: linearly, from lags, from the values one and two seasons before the one predicted,
from the mean profile of up to 16 seasons and from slow means (least squares with a little ridge, with and without
forgetting, kept as normal equations and solved anew every few values). They are weighed, together with the copy of the
newest value and with the bank rolled forward, by discounted absolute errors.

**Never far behind copying.** Let C be the summed absolute errors of copying so far, E how much larger ours were, and P
the sum of |prediction - copy| over predictions not judged yet. An error can exceed that of the copy by at most
|prediction - copy|. Every prediction is moved towards the copy until E + P <= `allowed` C. Hence E <= `allowed` C at
every later time: the mean absolute error is never more than `allowed` above that of copying, on any series whatsoever.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prophecy import _checks, _files
from prophecy._periods import autocorrelation, less_line
from prophecy.streams.arguments import checked_level
from prophecy.streams.kernels import ahead
from prophecy.streams.limits import AHEAD_FEATURES, KEPT, NEWEST, WIDEST
from prophecy.streams.rows import CALIBRATION, fresh, rings
from prophecy.streams.settings import DEFAULT, Settings
from prophecy.streams.settings.ahead import AheadSettings
from prophecy.streams.table import between, table

Array = NDArray[np.float64]

FORMAT = 2  # of saved files

_SETS, _READOUTS = len(DEFAULT.ahead.forgetting), len(DEFAULT.ahead.ridges)
_MEMBERS = _READOUTS + 2  # the copy first, the bank last


class Ahead:
    """Predictions `horizon` values ahead with intervals of one level; where the series is cut changes nothing."""

    def __init__(self, horizon: int, level: float, settings: Settings = DEFAULT) -> None:
        self._level, self._all = level, settings
        self._table, self._where, self._settings = table(settings), between(level), settings.ahead
        self._records, self._rings = fresh(2, self._table), rings(2)
        self._errors = np.zeros(1, dtype=CALIBRATION)
        self._errors["quantile"] = self._table["normal"]
        self._horizon, self._seen, self._next = horizon, 0, settings.ahead.first
        self._seasons: tuple[int, ...] = ()
        self._lags = _lags(horizon, ())
        self._ring = np.zeros(KEPT)
        self._features, self._last = np.zeros((horizon, AHEAD_FEATURES)), np.full(horizon, np.nan)
        self._due, self._mixed = np.full((horizon, _MEMBERS), np.nan), np.full(horizon, np.nan)
        self._power, self._moment = np.zeros((_SETS, AHEAD_FEATURES, AHEAD_FEATURES)), np.zeros((_SETS, AHEAD_FEATURES))
        self._weights, self._loss = np.zeros((_READOUTS, AHEAD_FEATURES)), np.zeros(_MEMBERS)
        self._slow = np.zeros(len(settings.ahead.slow))
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
        _files.write_state(path, "Ahead", FORMAT, meta, **self.arrays())

    @classmethod
    def load(cls, path: _files.Place) -> Ahead:
        """A model that goes on where the saved one stood. Every number of the file is checked before it is used."""
        from prophecy.streams import restore

        meta, arrays = _files.read_state(path, "Ahead", FORMAT)
        try:
            horizon = _checks.whole("horizon", meta["horizon"], least=2)
            if arrays["last"].shape != (horizon,):  # before anything of its size is made
                raise ValueError(f"last must have {horizon} values, got shape {arrays['last'].shape}")
            model = cls(horizon, checked_level(meta["level"]), Settings.from_file(meta["settings"]))
            model._seen, model._next, model._seasons = restore.progress(meta, model._settings.first, KEPT)
            model._lags = _lags(horizon, model._seasons)
            restore.refill(model.arrays(), arrays, model._table)
        except (KeyError, AttributeError, ValueError, TypeError, IndexError, OverflowError) as error:
            raise ValueError(f"{_files.named(path)} is a damaged Ahead file: {error}") from error
        return model

    def _run(self, values: Array, out: Array) -> None:
        made, new = np.empty((len(values), 3)), np.ascontiguousarray(values)
        given = self._where, new, self._seen, self._lags, _pair(self._seasons)
        ahead.run(self.arrays(), self._table, *given, made)
        out[:] = made.T

    def _find_seasons(self) -> None:
        """Find the seasons of what is remembered; other ones than before have other features, solved from the ring."""
        first = max(0, self._seen - KEPT)
        found = seasons(self._ring[np.arange(first, self._seen) % KEPT], self._settings)
        if found == self._seasons:
            return
        self._seasons, self._lags = found, _lags(self._horizon, found)
        self._power[:], self._moment[:], self._weights[:] = 0.0, 0.0, 0.0
        ahead.again(self.arrays(), self._table, self._seen, self._lags, _pair(found))


def seasons(values: Array, settings: AheadSettings = DEFAULT.ahead) -> tuple[int, ...]:
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
    lags = list(range(1, NEWEST + 1))
    for season in found:
        whole = -(-horizon // season)
        for age in ((whole + k) * season - horizon + beside for k in (0, 1) for beside in (-1, 0, 1)):
            if age > NEWEST and age not in lags and len(lags) < WIDEST:
                lags.append(age)
    return np.array(lags, dtype=np.int64)
