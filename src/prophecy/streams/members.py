r"""The members of the bank: exact systems over a geometric range of windows, and readouts solved in context.

Everything is read relative to the newest value u. For a memory with (A, B) whose steady response to a constant 1 is
x₁ = (I - A)⁻¹ B, the relative state z = x - x₁ u obeys

    z = A @ (z - x₁ * (u[k] - u[k - 1]))

so the bank is driven by differences alone: an offset of 1e9 changes nothing, and rounding is relative to how much the
signal moves within the window instead of where it stands. A readout exact for constants needs no D beside it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import NDArray

from prophecy.bases import legt
from prophecy.discretize import bilinear
from prophecy.exact_readout import exact, noise_gain

Array = NDArray[np.float64]

LAGS = 32
"""Samples kept as they are. Short windows are read from them; LegT memories hold the longer ones."""

ORDER = 8
"""States of each LegT memory; the highest degree below, 7, needs as many as it (`exact`)."""

WINDOWS = (48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
LONG_DEGREES = (0, 1, 2, 3, 4, 5, 7)
"""Windows of the LegT memories in samples, two to an octave, and the degrees their readouts are exact for."""

SHORT_WINDOWS = (4, 6, 8, 12, 16, 24, 32)
SHORT_DEGREES = (0, 1, 2, 3, 5, 7)
"""The same for members that read the last samples themselves; no window is longer than `LAGS`."""

INTERPOLATING = range(9)
"""Degrees d of the shortest exact predictors, the polynomial through the last d + 1 samples."""

LEVELS = np.array([0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9995])
"""Levels of the tracked quantiles of the forecast's errors."""


class Member(NamedTuple):
    """A member: its window in samples, the degree it is exact for (None if solved in context), its noise gain."""

    name: str
    window: int
    degree: int | None
    gain: float


class Solved(NamedTuple):
    """A member whose readout is solved in context: its features, the degree it starts exact for (0 copies, 1 is the
    straight line). `Settings.solved_memory` has how fast each forgets."""

    name: str
    features: tuple[int, ...]
    start: int


# Features: LAGS values relative to the newest, the LegT memories, two alternations, the running mean.
MEMORY = LAGS + ORDER * len(WINDOWS)
FEATURES = MEMORY + 2 + 1
_ALTERNATIONS, _MEAN = (MEMORY, MEMORY + 1), MEMORY + 2


def _lags(count: int) -> tuple[int, ...]:
    return tuple(range(1, count + 1))


def _state(window: int, count: int) -> tuple[int, ...]:
    first = LAGS + ORDER * WINDOWS.index(window)
    return tuple(range(first, first + count))


SOLVED = (
    Solved(
        "4 lags, 2 alternations, memories of 48 and 256 samples",
        (*_lags(4), *_ALTERNATIONS, *_state(48, 4), *_state(256, 6)),
        1,
    ),
    Solved("15 lags, mean", (*_lags(15), _MEAN), 0),
    Solved("8 lags, mean", (*_lags(8), _MEAN), 0),
    Solved("2 lags, mean", (*_lags(2), _MEAN), 0),
)
"""The first reaches the innovation floor on Filtered Noise and is the best member on most signals in noise; the others
are autoregressions, for seasons up to 15 samples and for series of a few hundred and a few dozen values. A further
member is one more line here and its forgetting in `Settings.solved_memory`; the record's layout and the rest follow."""

# What follows from the lists above. Short members are ordered by window: old lags concern the last of them only.
SHORT = sorted(
    [(d + 1, d) for d in INTERPOLATING] + [(w, d) for w in SHORT_WINDOWS for d in SHORT_DEGREES if d + 1 < w]
)
SHORTS, LONGS = len(SHORT), len(LONG_DEGREES)
FIXED = SHORTS + LONGS * len(WINDOWS)
MEMBERS = FIXED + len(SOLVED)
ROW = 8
"""Rows of tables and factors are padded with zeros to a multiple of this many numbers, which vectorises."""


def padded(count: int) -> int:
    return -(-count // ROW) * ROW


WIDTH = padded(max(len(member.features) for member in SOLVED))
STRIDES = [padded(len(member.features)) for member in SOLVED]
PLACES = [sum(len(m.features) * padded(len(m.features)) for m in SOLVED[:r]) for r in range(len(SOLVED))]
FACTORS = sum(len(m.features) * padded(len(m.features)) for m in SOLVED)
"""Numbers in all factors of the solved members: row by row, one member after the other."""


def least_squares(window: int, degree: int, horizon: float, derivative: int = 0) -> Array:
    """Weights (window,) on the last samples, newest first, exact for polynomials up to `degree`, of least noise.

    The `exact` construction for a memory that keeps the samples themselves: least squares over the window.
    """
    step = 2.0 / max(window - 1, 1)
    basis = legendre.legvander(1.0 - step * np.arange(window), degree)
    slopes = legendre.legder(np.eye(degree + 1), derivative) * step**derivative
    targets = np.asarray(legendre.legval(1.0 + step * horizon, slopes)).reshape(degree + 1)
    q, r = np.linalg.qr(basis)
    return np.asarray(q @ np.linalg.solve(r.T, targets), dtype=np.float64)


class Readout(NamedTuple):
    """A member under construction: weights on its lags or on its memory, for the next change and for the slope."""

    member: Member
    ahead: Array
    slope: Array | None
    gain: float = np.nan
    bias: float = np.nan
    left: float = np.nan


@lru_cache(maxsize=1)
def readouts() -> tuple[tuple[Readout, ...], tuple[tuple[Readout, ...], ...]]:
    """Short members, and long ones window by window."""
    long = []
    for window in WINDOWS:
        pair = bilinear(legt(ORDER, float(window)).A, legt(ORDER, float(window)).B, 1.0)
        taps = _taps(pair.A, pair.B)
        long.append(tuple(_long(window, degree, taps) for degree in LONG_DEGREES))
    return tuple(_short(window, degree) for window, degree in SHORT), tuple(long)


@lru_cache(maxsize=1)
def members() -> tuple[Member, ...]:
    """All members, in the order of the record's arrays."""
    short, long = readouts()
    fixed = [readout.member for readout in (*short, *(r for window in long for r in window))]
    return (*fixed, *(Member(s.name, 0, None, np.nan) for s in SOLVED))


def _short(window: int, degree: int) -> Readout:
    ahead = least_squares(window, degree, 1.0)
    slope = least_squares(window, degree, 0.0, 1) if degree else None
    member = Member(f"last {window} samples, degree {degree}", window, degree, float(ahead @ ahead))
    return Readout(member, ahead, slope, *_slips(member, ahead, slope))


def _long(window: int, degree: int, taps: Array) -> Readout:
    """A LegT readout. `taps` (ages, order) is the memory's response to an impulse, from which its kernels follow."""
    system = exact(legt(ORDER, float(window)), 1.0, degree)
    ahead = taps @ system.C
    ahead[0] += system.D
    slope = None
    if system.derivative is not None:
        slope = taps @ system.derivative.C
        slope[0] += system.derivative.D
    member = Member(f"LegT memory of {window} samples, degree {degree}", window, degree, noise_gain(system))
    readout = None if system.derivative is None else system.derivative.C
    return Readout(member, system.C, readout, *_slips(member, ahead, slope))


def _taps(A: Array, B: Array) -> Array:
    states, x = [], B
    while np.abs(x).max() > 1e-18:
        states.append(x)
        x = A @ x
    return np.array(states)


def _slips(member: Member, ahead: Array, slope: Array | None) -> tuple[float, float, float]:
    """Noise gain of the slope, its leading error over that of the prediction, and the noise left in averaged errors.

    Both are exact up to the degree; on the next power of time each errs by a known amount, whatever the signal is.
    """
    if slope is None or member.degree is None:
        return np.nan, np.nan, np.nan
    power = member.degree + 1
    ages = -np.arange(max(len(ahead), len(slope))) / member.window
    missed = (1.0 / member.window) ** power - ahead @ ages[: len(ahead)] ** power
    slipped = slope @ ages[: len(slope)] ** power
    error = np.concatenate([[1.0], -ahead])
    rate = averaging(member.window)
    average = rate * (1.0 - rate) ** np.arange(int(30.0 / rate))
    size = 2 ** int(np.ceil(np.log2(len(error) + len(average))))
    spectrum = np.abs(np.fft.rfft(error, size) * np.fft.rfft(average, size)) ** 2
    left = (2.0 * spectrum.sum() - spectrum[0] - spectrum[-1]) / size
    return float(slope @ slope), float(abs(slipped / missed)), float(left)


def averaging(window: int) -> float:
    """Rate of the exponential average of a member's errors, over an eighth of its window."""
    return min(1.0, 8.0 / window)


def prior(everyone: tuple[Member, ...], solved: float) -> Array:
    """Simple members first: 1/(degree + 1), and `solved` for each one solved in context, of which there are few."""
    weights = np.array([solved if m.degree is None else 1.0 / (m.degree + 1) for m in everyone])
    return np.asarray(weights / weights.sum(), dtype=np.float64)
