r"""Irregular times: memories that advance by the true interval, with readouts that stay exact (docs/prophecy.md).

A LegT memory over an interval δ, the new value held, moves its relative state by z = Φ (z - x₁ du), Φ = exp(A δ).
Beside the data the memory carries its own response to the powers of time, and the covariance it gives to white noise:

    mᵢ = Φ (Σ_l (i over l) (-δ)^(i-l) m_l + x₁ (-δ)^i),     P = Φ P Φᵀ + Γ Γᵀ,  Γ = (I - Φ) x₁

so the readout that is exact for polynomials at these very times, with the least noise, is solved anew at every value.
Nothing else changes: members are windows and degrees, and the mixture and its calibration are those of `step`.
"""

from __future__ import annotations

from functools import lru_cache
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm

from prophecy._compiled import kernel
from prophecy.adaptive import step
from prophecy.adaptive.members import LEVELS, between, padded, table
from prophecy.adaptive.record import ERRORS, FIELDS, Field, Records, within
from prophecy.adaptive.settings import Settings
from prophecy.bases import legt

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

ORDER = 8
STEPS = (4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0)
DEGREES = (0, 1, 2, 3, 4, 5)
LONGEST = 64.0
"""Intervals beyond this many windows leave a memory empty either way, and polynomials are not read further out."""

RIDGE = 1e-13
"""Added to the noise covariance, relative to its trace: its smallest eigenvalues are rounding."""

SOFT = 1e-16
"""Conditions a memory cannot meet, since it is much shorter than an interval and holds one value, are given up."""

MEMBERS = 1 + len(STEPS) * len(DEGREES)
_MEMBERWISE = ("prediction", "weight", "scale", "peak", "last_peak")
TIMED_FIELDS: tuple[Field, ...] = tuple(
    field._replace(shape=(MEMBERS,) if field.name in _MEMBERWISE else field.shape)
    for field in FIELDS
    if field.name in ERRORS + _MEMBERWISE
)
TIMED = np.dtype([(field.name, field.kind, field.shape) for field in TIMED_FIELDS])
ARRAYS = ("states", "powers", "noise", "gamma", "curve", "seen")


@lru_cache(maxsize=16)
def timed_table(settings: Settings) -> NDArray[np.void]:
    """The constants that mixture and calibration need, for the members of this bank."""
    plain = table(settings)
    names = [name for name in plain.dtype.names or () if plain.dtype[name].shape in ((), (len(LEVELS),))]
    kinds: list[Any] = [(name, plain.dtype[name].base, plain.dtype[name].shape) for name in names]
    made = np.zeros(1, dtype=[*kinds, ("prior", np.float64, (MEMBERS,))])
    for name in names:
        made[name] = plain[name]
    prior = 1.0 / (np.concatenate([[0], np.tile(DEGREES, len(STEPS))]) + 1)
    made["prior"] = prior / prior.sum()
    made.flags.writeable = False
    return made


class TimedBank:
    """Everything known about a number of series whose values come at the same, irregular times.

    typical: the usual interval in seconds, which the windows are multiples of. The members' predictions are polynomials
    in the time ahead: `curve` (powers, series, members) of the time over the window. The first member is the copy, then
    come the degrees of each window.
    """

    def __init__(self, series: int, typical: float, settings: Settings) -> None:
        self.series, self.typical = series, typical
        self.table = timed_table(settings)
        self.records: Records = np.zeros(series, dtype=TIMED)
        self.records["weight"], self.records["quantile"] = self.table["prior"], self.table["normal"]
        self.windows = typical * np.array(STEPS)
        basis = legt(ORDER, 1.0)
        self._A = basis.A
        self._steady = -np.linalg.solve(basis.A, basis.B)
        self.states = np.zeros((len(STEPS), series, ORDER))
        self.powers = np.zeros((len(STEPS), ORDER, len(DEGREES) - 1))
        # The first value stands for all the past before it.
        self.noise = np.tile(np.outer(self._steady, self._steady), (len(STEPS), 1, 1))
        self.gamma = np.zeros((len(STEPS), ORDER))
        self.curve = np.zeros((len(DEGREES), series, MEMBERS))
        self.seen = np.zeros(1, dtype=np.int64)
        self._spans = np.concatenate([[typical], np.repeat(self.windows, len(DEGREES))])
        self._sloped = np.concatenate([[0], np.tile(DEGREES, len(STEPS))]) > 0

    def ahead(self, after: float) -> Array:
        """The members' predictions `after` seconds from the last value, relative to it: (series, members)."""
        time = np.minimum(after / self._spans, LONGEST)
        return np.asarray(sum(self.curve[i] * time**i for i in range(len(DEGREES))), dtype=np.float64)

    def change(self, after: float) -> Array:
        """The forecast `after` seconds from the last value, relative to it: (series,)."""
        self.records["prediction"] = self.ahead(after)
        out = np.empty(self.series)
        combine(self.records, out)
        return out

    def forecast(self, after: float | None, hold: bool = False) -> tuple[Array, Array]:
        """The value `after` seconds from the last (a typical interval by default), and how much wider its interval."""
        after = self.typical if after is None else after
        gap = self.records["gap"]
        mean = self.records["last"] + np.where((gap > 0) & hold, 0.0, self.change(after))
        wider = self.stretch(after) * (1.0 + gap)
        return np.where(self.records["count"] > 0, mean, np.nan), wider

    def half_width(self, level: float) -> Array:
        """Half the width of an interval one typical interval ahead."""
        out = np.empty(self.series)
        half_widths(self.records, self.table, between(level), out)
        return out

    def score(self, errors: Array) -> Array:
        """Scores of errors relative to one typical interval ahead."""
        out = np.empty(self.series)
        judge(self.records, self.table, errors, out)
        return out

    def slope(self) -> Array:
        """The derivative at the last value, from the members in proportion to their share: (series,)."""
        shares = self.records["weight"] / np.where(self.records["scale"] > 0.0, self.records["scale"], 1.0)
        shares = shares * self._sloped
        total = shares.sum(axis=1)
        mixed = np.einsum("sm,sm->s", shares, self.curve[1] / self._spans)
        return np.where(total > 0.0, mixed / np.where(total > 0.0, total, 1.0), 0.0)

    def stretch(self, after: float) -> float:
        """How much wider an interval is `after` seconds ahead than one typical interval ahead."""
        return max(1.0, after / self.typical)

    def observe(self, values: Array, after: float, known: Flags, hold: bool = False) -> None:
        """Take in values (series,) that came `after` seconds after the last; predictions stand in where not `known`."""
        records = self.records
        began = records["count"] > 0
        change = self.change(after)
        fill = records["last"] + (0.0 if hold else change)
        filled = np.where(known, values, np.where(began, fill, 0.0))
        learns = known & began & (records["gap"] == 0)
        learn(records, self.table, filled, change, learns, 1.0 / self.stretch(after))
        last = np.where(began, records["last"], filled)
        if self.seen[0]:
            self._advance(filled - last, after)
        self.seen += 1
        records["last"] = filled
        records["count"] += began | known
        records["gap"] = np.where(known, 0, records["gap"] + began)
        self._solve()

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that is not in the records, for a file."""
        return {name: getattr(self, name) for name in ARRAYS}

    def restore(self, records: Records, arrays: dict[str, NDArray[Any]]) -> None:
        """Set what a file held, refusing what cannot be."""
        if records.dtype != TIMED or records.shape != (self.series,):
            raise ValueError(f"records must be {self.series} of {TIMED.itemsize} bytes, got {records.shape}")
        within(records, TIMED_FIELDS)
        for name in ARRAYS:
            mine, array = getattr(self, name), arrays[name]
            if array.shape != mine.shape or array.dtype != mine.dtype:
                raise ValueError(f"{name} must be {mine.dtype} {mine.shape}, got {array.dtype} {array.shape}")
            if not (np.abs(array) <= 1e90).all():
                raise ValueError(f"{name} must hold numbers up to 1e90, got {np.abs(array).max()}")
            setattr(self, name, array.copy())
        self.records = records.copy()

    def _advance(self, difference: Array, after: float) -> None:
        delta = np.minimum(after / self.windows, LONGEST)
        phi = expm(self._A * delta[:, None, None])
        gamma = self._steady - phi @ self._steady
        self.states = (self.states - difference[None, :, None] * self._steady) @ phi.transpose(0, 2, 1)
        moved = np.zeros_like(self.powers)
        for i in range(1, len(DEGREES)):
            for l in range(1, i + 1):
                moved[:, :, i - 1] += comb(i, l) * (-delta[:, None]) ** (i - l) * self.powers[:, :, l - 1]
            moved[:, :, i - 1] += (-delta[:, None]) ** i * self._steady
        self.powers = phi @ moved
        self.noise = phi @ self.noise @ phi.transpose(0, 2, 1) + gamma[:, :, None] * gamma[:, None, :]
        self.gamma = gamma

    def _solve(self) -> None:
        """Readouts C of least noise with C mᵢ = (time ahead)^i, as polynomials in the time ahead."""
        if self.seen[0] < 2:
            return
        lead = self.gamma - self._steady
        noise = self.noise - self._steady[:, None] * self.gamma[:, None, :]
        noise = noise - self.gamma[:, :, None] * self._steady + np.outer(self._steady, self._steady)
        noise += RIDGE * (1e-3 + np.trace(noise, axis1=1, axis2=2))[:, None, None] * np.eye(ORDER)
        self.curve[:] = 0.0
        best = min(int(self.seen[0]) - 1, DEGREES[-1])
        for degree in DEGREES:
            used = min(degree, best)
            size = ORDER + used
            system = np.zeros((len(STEPS), size, size))
            system[:, :ORDER, :ORDER] = noise
            system[:, :ORDER, ORDER:] = self.powers[:, :, :used]
            system[:, ORDER:, :ORDER] = system[:, :ORDER, ORDER:].transpose(0, 2, 1)
            system[:, range(ORDER, size), range(ORDER, size)] = -SOFT
            right = np.zeros((len(STEPS), size, 1 + used))
            right[:, :ORDER, 0] = -lead
            right[:, range(ORDER, size), range(1, 1 + used)] = 1.0
            readout = np.linalg.solve(system, right)[:, :ORDER]
            read = self.states @ readout
            for i in range(1 + used):
                self.curve[i][:, 1 + DEGREES.index(degree) :: len(DEGREES)] = read[:, :, i].T


_ROOM = (2, padded(MEMBERS))


@kernel
def learn(records: Any, table: Any, values: Any, change: Any, learns: Any, part: float) -> None:
    room = np.empty(_ROOM)
    for s in range(len(records)):
        if learns[s]:
            r = records[s]
            difference = values[s] - r.last
            step.calibrate(r, table[0], (difference - change[s]) * part)
            step.weigh(r, table[0], difference, part, values[s], room[0])
            r.learned += 1


@kernel
def combine(records: Any, out: Any) -> None:
    room = np.empty(_ROOM)
    for s in range(len(records)):
        out[s] = step.combine(records[s], room[0], room[1])


@kernel
def half_widths(records: Any, table: Any, where: Any, out: Any) -> None:
    for s in range(len(records)):
        out[s] = step.half_width(records[s], table[0], where[0], where[1], where[2])


@kernel
def judge(records: Any, table: Any, errors: Any, out: Any) -> None:
    for s in range(len(records)):
        out[s] = step.surprise(records[s], table[0], errors[s])
