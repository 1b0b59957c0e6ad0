"""Readouts of the members: exact ones of least noise, their slopes, noise gains and leading errors, and the prior."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.polynomial import legendre

from prophecy._arrays import Array
from prophecy.bases import legt
from prophecy.discretize import bilinear
from prophecy.exact_readout import exact, noise_gain
from prophecy.streams.members import BANK, LAGS, LONG_DEGREES, ORDER, SHORT, SOLVED, WINDOWS

_NOTHING = np.zeros(0)


class Member(NamedTuple):
    """A member: its window in samples, the degree it is exact for (None if solved in context), its noise gain.

    Of a constructed one, weights on its lags or on its memory: for the next change, and for the slope (none of degree
    0); noise gain of the slope, its leading error over that of the prediction, and the noise left in averaged errors.
    """

    name: str
    window: int = 0
    degree: int | None = None
    gain: float = np.nan
    ahead: Array = _NOTHING
    slope: Array = _NOTHING
    slope_gain: float = 0.0
    slope_bias: float = 0.0
    slope_left: float = 0.0


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


def smoothing(window: int) -> Array:
    """Weights (lags,) of exponential smoothing, newest first, whose mean age is that of the last `window` samples: of
    all weights exact for a constant these follow a level that wanders best."""
    weights = (1.0 - 2.0 / (window + 1)) ** np.arange(LAGS if window > 1 else 1)
    return np.asarray(weights / weights.sum(), dtype=np.float64)


@lru_cache(maxsize=1)
def members() -> tuple[Member, ...]:
    """All members, in the order of the record's arrays: short ones, long ones window by window, solved ones."""
    short = [_short(window, degree) for window, degree in SHORT]
    long = [_long(window, degree) for window in WINDOWS for degree in LONG_DEGREES]
    return (*short, *long, *(Member(f"a regression on {solved.name}") for solved in SOLVED))


def _short(window: int, degree: int) -> Member:
    ahead = least_squares(window, degree, 1.0) if degree else smoothing(window)
    slope = least_squares(window, degree, 0.0, 1) if degree else _NOTHING
    name = (
        f"last {window} samples, degree {degree}" if degree or window == 1 else f"exponential smoothing over {window}"
    )
    slips = _slips(window, degree, ahead, slope)
    return Member(name, window, degree, float(ahead @ ahead), ahead, slope, *slips)


def _long(window: int, degree: int) -> Member:
    """A LegT readout."""
    system = exact(legt(ORDER, float(window)), 1.0, degree)
    taps, inner = _taps(window), system.derivative
    ahead, slope = taps @ system.C, _NOTHING
    ahead[0] += system.D
    if inner is not None:
        slope = taps @ inner.C
        slope[0] += inner.D
    name, slips = f"LegT memory of {window} samples, degree {degree}", _slips(window, degree, ahead, slope)
    return Member(name, window, degree, noise_gain(system), system.C, _NOTHING if inner is None else inner.C, *slips)


@lru_cache(maxsize=1)
def _taps(window: int) -> Array:
    """The response of a LegT memory to an impulse, (ages, order), from which kernels follow."""
    pair = bilinear(legt(ORDER, float(window)).A, legt(ORDER, float(window)).B, 1.0)
    states, x = [], pair.B
    while np.abs(x).max() > 1e-18:
        states.append(x)
        x = pair.A @ x
    return np.array(states)


def _slips(window: int, degree: int, ahead: Array, slope: Array) -> tuple[float, float, float]:
    """Noise gain of the slope, its leading error over that of the prediction, and the noise left in averaged errors.

    Both are exact up to the degree; on the next power of time each errs by a known amount, whatever the signal is.
    """
    if not len(slope):
        return 0.0, 0.0, 0.0
    ages = -np.arange(max(len(ahead), len(slope))) / window
    missed = (1.0 / window) ** (degree + 1) - ahead @ ages[: len(ahead)] ** (degree + 1)
    slipped = slope @ ages[: len(slope)] ** (degree + 1)
    error, rate = np.concatenate([[1.0], -ahead]), averaging(window)
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
