"""Predictions several values ahead, for one series that arrives in pieces: the bank rolled forward as across a gap.

The intervals have a calibration of their own, from the errors made this far ahead.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prophecy._compiled import kernel
from prophecy.adaptive import step
from prophecy.adaptive.members import between, table
from prophecy.adaptive.record import ERRORS, FIELDS, fresh
from prophecy.adaptive.settings import DEFAULT

Array = NDArray[np.float64]

_CALIBRATION = np.dtype([(field.name, field.kind, field.shape) for field in FIELDS if field.name in ERRORS])


class Far:
    """Predictions `horizon` values ahead with intervals of one level; where the series is cut changes nothing."""

    def __init__(self, horizon: int, level: float) -> None:
        self._table, self._where = table(DEFAULT), between(level)
        self._records = fresh(2, self._table)
        self._errors = np.zeros(1, dtype=_CALIBRATION)
        self._errors["quantile"] = self._table["normal"]
        self._due = np.full(horizon, np.nan)
        self._seen = 0

    def advance(self, values: Array) -> Array:
        """Take in values (time,); mean, half width and score of each, `horizon` values before it came: (3, time)."""
        out = np.empty((3, len(values)))
        _run(self._records, self._errors, self._table, values, self._due, self._seen, self._where, out)
        self._seen += len(values)
        return out


@kernel
def _run(records: Any, errors: Any, table: Any, values: Any, due: Any, seen: int, where: Any, out: Any) -> None:
    """records[0] sees the values, records[1] is its copy rolled forward; `due` holds the predictions not yet judged."""
    room = np.empty(step.ROOM)
    t, e = table[0], errors[0]
    for k in range(len(values)):
        place = (seen + k) % len(due)
        mean, value = due[place], values[k]
        out[0, k], out[1, k], out[2, k] = mean, math.nan, math.nan
        if not math.isnan(mean):
            out[1, k] = max(step.half_width(e, t, where[0], where[1], where[2]), np.spacing(abs(mean)))
            out[2, k] = step.surprise(e, t, value - mean)
            if not math.isnan(value):
                step.calibrate(e, t, value - mean)
                e.learned += 1
                e.last = value
        step.step(records[0], t, value, room)
        records[1] = records[0]
        for _ in range(len(due) - 1):
            step.step(records[1], t, math.nan, room)
        due[place] = step.expected(records[1]) if records[1].count else math.nan
