"""Readouts of the members: exact ones of least noise, their slopes, noise gains and leading errors, and the prior."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.polynomial import legendre

from prophecy._arrays import Array
from prophecy.bases import legt
from prophecy.discretize import bilinear
from prophecy.exact_readout import exact, noise_gain
from prophecy.streams.members import BANK, LONG_DEGREES, ORDER, SEASONAL, SHORT, SOLVED, WINDOWS


class Member(NamedTuple):
    """A member: its window in samples, the degree it is exact for (None if solved in context), its noise gain."""

    name: str
    window: int
    degree: int | None
    gain: float


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
    return (*fixed, *(Member(name, 0, None, np.nan) for name in (*(s.name for s in SOLVED), *SEASONAL)))


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


def prior(solved: float, bank: float) -> Array:
    """Simple members first: 1/(degree + 1), and `solved` for each one solved in context, of which there are few. Two
    rows: while the seasonal members sleep, and while they are awake and all others have `bank` together."""
    weights = np.array([solved if m.degree is None else 1.0 / (m.degree + 1) for m in members()])
    asleep, awake = weights.copy(), np.ones(len(weights))
    asleep[BANK:] = 0.0
    awake[:BANK] = weights[:BANK] / weights[:BANK].sum() * bank
    awake[BANK:] = (1.0 - bank) / (len(weights) - BANK)
    return np.stack([asleep / asleep.sum(), awake])
