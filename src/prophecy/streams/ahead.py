r"""Predictions h values ahead, for one series that arrives in pieces: readouts solved for exactly this distance.

A readout solved for h = 1 and rolled forward 24 times is wrong 24 times over. Here the members that are solved in
context, and the seasonal ones, learn the change from the newest value to the value h ahead itself, from the features
that the bank has. They are mixed as in the bank, together with the copy of the newest value and with the bank rolled
forward. The seasons are those that the bank has found.

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
from prophecy.streams.arguments import checked_level
from prophecy.streams.kernels import entry
from prophecy.streams.limits import LARGEST
from prophecy.streams.members import AHEAD_MEMBERS
from prophecy.streams.rows import AHEAD, RECORDS, STATES, WAITING, WAITINGS, check, fresh, rings
from prophecy.streams.settings import DEFAULT, Settings
from prophecy.streams.table import between, table

Array = NDArray[np.float64]

FORMAT = 7  # of saved files
LIMITED = ((RECORDS, "records"), (STATES, "state"), (WAITINGS, "waiting"))
"""Arrays whose numbers have limits."""


class Ahead:
    """Predictions `horizon` values ahead with intervals of one level; where the series is cut changes nothing.

    records: the bank, a copy of it to roll forward, and what predicts h ahead; rings: those of the first two;
    state and waiting: `record.AHEAD_FIELDS` and, for each prediction not judged yet, `record.WAITING_FIELDS`.
    """

    def __init__(self, horizon: int, level: float, settings: Settings = DEFAULT) -> None:
        self._level, self._settings = level, settings
        self._table, self._where = table(settings), between(level)
        records, waiting = fresh(3, self._table), np.zeros(horizon, dtype=WAITING)
        records["weight"][2] = 1.0 / AHEAD_MEMBERS
        waiting["mixed"] = np.nan
        self._arrays: dict[str, NDArray[Any]] = {
            "records": records,
            "rings": rings(2),
            "state": np.zeros(1, dtype=AHEAD),
            "waiting": waiting,
        }

    def advance(self, values: Array) -> Array:
        """Take in values (time,); mean, half width and score of each, `horizon` values before it came: (3, time)."""
        made = np.empty((len(values), 3))
        entry.run_ahead(*self._arrays.values(), self._table, self._where, np.ascontiguousarray(values), made)
        return np.ascontiguousarray(made.T)

    @property
    def seasons(self) -> tuple[int, ...]:
        """The seasons whose lags are read, in values: none, one or two."""
        return tuple(round(float(period)) for period in self._arrays["records"]["season_periods"][0] if period)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All it has learned, by name: the arrays themselves."""
        return self._arrays

    def save(self, path: _files.Place) -> None:
        """Write everything to one file, atomically, or to a file open for bytes; no pickles."""
        for limits, name in LIMITED:
            limits.settle(self._arrays[name])
        horizon = len(self._arrays["waiting"])
        meta = {"horizon": horizon, "level": self._level, "settings": dataclasses.asdict(self._settings)}
        _files.write_state(path, "Ahead", FORMAT, meta, **self._arrays)

    @classmethod
    def load(cls, path: _files.Place) -> Ahead:
        """A model that goes on where the saved one stood. Every number of the file is checked before it is used."""
        meta, arrays = _files.read_state(path, "Ahead", FORMAT)
        try:
            horizon = _checks.whole("horizon", meta["horizon"], least=2)
            if arrays["waiting"].shape != (horizon,):  # before anything of its size is made
                raise ValueError(f"waiting must have {horizon} rows, got shape {arrays['waiting'].shape}")
            model = cls(horizon, checked_level(meta["level"]), Settings.from_file(meta["settings"]))
            model._restore(arrays)
        except (KeyError, AttributeError, ValueError, TypeError, IndexError, OverflowError) as error:
            raise ValueError(f"{_files.named(path)} is a damaged Ahead file: {error}") from error
        return model

    def _restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Set a fresh model to the arrays of a file, checked."""
        if self._arrays.keys() != arrays.keys():
            raise ValueError(f"it must hold {', '.join(self._arrays)}, and holds {', '.join(arrays)}")
        for name, mine in self._arrays.items():
            theirs = arrays[name]
            if (theirs.dtype, theirs.shape) != (mine.dtype, mine.shape):
                raise ValueError(f"{name} must be {mine.dtype} {mine.shape}, got {theirs.dtype} {theirs.shape}")
        check(arrays["records"][:2], self._table)
        if not np.array_equal(*arrays["records"]["season_periods"][::2]):
            raise ValueError("season_periods must be the same of the bank and of the members that predict ahead")
        for limits, name in LIMITED:
            limits.check(arrays[name])
        if not (np.abs(arrays["rings"]) <= LARGEST).all():
            raise ValueError(f"rings must hold values of at most {LARGEST:g} in size")
        for name, mine in self._arrays.items():
            mine[...] = arrays[name]
