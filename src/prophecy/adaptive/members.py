r"""The members of the bank: exact systems over a geometric range of windows, and readouts solved in context.

Everything is read relative to the newest value u. For a memory with (A, B) whose steady response to a constant 1 is
x₁ = (I - A)⁻¹ B, the relative state z = x - x₁ u obeys

    z = A @ (z - x₁ * (u[k] - u[k - 1]))

so the bank is driven by differences alone: an offset of 1e9 changes nothing, and rounding is relative to how much the
signal moves within the window instead of where it stands. A readout exact for constants needs no D beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import NDArray

from prophecy.bases import legt
from prophecy.discretize import bilinear
from prophecy.exact import exact, noise_gain

Array = NDArray[np.float64]

LAGS = 32
"""Samples kept as they are. Short windows are read from them; LegT memories hold the longer ones."""

ORDER = 8
WINDOWS = (48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
LONG_DEGREES = (0, 1, 2, 3, 4, 5, 7)
SHORT_WINDOWS = (4, 6, 8, 12, 16, 24, 32)
SHORT_DEGREES = (0, 1, 2, 3, 5, 7)
INTERPOLATING = range(9)
"""Degrees d of the shortest exact predictors, the polynomial through the last d + 1 samples."""

ALTERNATING = np.array([0.9, 0.98])
"""Poles -ρ of the two filters that hold what alternates from sample to sample. The zero that sampling gives a smooth
stochastic process lies near -1, so its best predictor remembers alternations for long: 16 lags leave 5 %."""

SPREAD_FEATURES = 2 + 1 + 1
"""Behind lags and memories: two alternations, the running mean, and a zero that fills unused places."""


class Member(NamedTuple):
    """A member: its window in samples, the degree it is exact for (None if solved in context), its noise gain."""

    name: str
    window: int
    degree: int | None
    gain: float


@dataclass(frozen=True, eq=False)
class Slopes:
    """Derivative readouts, per sample, of the members of degree 1 and more.

    readout (features, slopes) of [lags | z]; member (slopes,): whose window and degree; gain (slopes,): noise gain;
    bias (slopes,): the leading error of the slope relative to that of the same member's prediction; left (slopes,): the
    noise variance left in the member's averaged errors.
    """

    readout: Array
    member: NDArray[np.intp]
    gain: Array
    bias: Array
    left: Array


@dataclass(frozen=True, eq=False)
class Table:
    """The constants of the bank.

    advance (features, memory + members): one product of [lags | z - x₁ du] gives the new memories and all predictions.
    steady (memory,): x₁ of all memories. gain (fixed,): noise gains. prior (members,): weights before anything is seen.
    """

    members: tuple[Member, ...]
    advance: Array
    steady: Array
    gain: Array
    prior: Array
    slopes: Slopes


class Solved(NamedTuple):
    """A member whose readout is solved in context: its features, forgetting, the degree it starts exact for, and how
    many samples an outlier leaves traces in its features."""

    name: str
    features: tuple[int, ...]
    forgetting: float
    start: int
    traces: int


MEMORY = LAGS + ORDER * len(WINDOWS)
FEATURES = MEMORY + SPREAD_FEATURES
_ALTERNATIONS, _MEAN, NOTHING = (MEMORY, MEMORY + 1), MEMORY + 2, MEMORY + 3


def _lags(count: int) -> tuple[int, ...]:
    return tuple(range(1, count + 1))


def _state(window: int, count: int) -> tuple[int, ...]:
    first = LAGS + ORDER * WINDOWS.index(window)
    return tuple(range(first, first + count))


SOLVED = (
    Solved(
        "4 lags, 2 alternations, memories of 48 and 256 samples",
        (*_lags(4), *_ALTERNATIONS, *_state(48, 4), *_state(256, 6)),
        0.999,
        1,
        512,
    ),
    Solved("15 lags, mean", (*_lags(15), _MEAN), 0.9995, 0, 17),
    Solved("8 lags, mean", (*_lags(8), _MEAN), 0.999, 0, 10),
    Solved("2 lags, mean", (*_lags(2), _MEAN), 0.998, 0, 4),
)
"""The first reaches the innovation floor on Filtered Noise and is the best member on most signals in noise; the others
are autoregressions, for seasons up to 15 samples and for series of a few hundred and a few dozen values."""


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


class _Readout(NamedTuple):
    """A member under construction: its weights on [lags | z] and the kernels they amount to."""

    member: Member
    ahead: Array
    slope: Array | None
    ratio: tuple[float, float, float]


@lru_cache(maxsize=1)
def table() -> Table:
    """Build the bank's constants: short members, long ones, and room for those solved in context."""
    kinds = [(d + 1, d) for d in INTERPOLATING]
    kinds += [(w, d) for w in SHORT_WINDOWS for d in SHORT_DEGREES if d + 1 < w]
    readouts = [_short(window, degree) for window, degree in kinds]
    memory = ORDER * len(WINDOWS)
    steady, blocks = np.zeros(memory), np.zeros((memory, memory))
    for i, window in enumerate(WINDOWS):
        here = slice(i * ORDER, (i + 1) * ORDER)
        pair = bilinear(legt(ORDER, float(window)).A, legt(ORDER, float(window)).B, 1.0)
        steady[here] = np.linalg.solve(np.eye(ORDER) - pair.A, pair.B)
        blocks[here, here] = pair.A.T
        taps = _taps(pair.A, pair.B)
        readouts += [_long(window, degree, LAGS + here.start, taps) for degree in LONG_DEGREES]
    members = [r.member for r in readouts] + [Member(s.name, 0, None, np.nan) for s in SOLVED]
    return Table(
        members=tuple(members),
        advance=_advance(blocks, np.stack([r.ahead for r in readouts], axis=1)),
        steady=steady,
        gain=np.array([r.member.gain for r in readouts]),
        prior=_prior(members),
        slopes=_slopes(readouts),
    )


def _short(window: int, degree: int) -> _Readout:
    ahead = least_squares(window, degree, 1.0)
    slope = least_squares(window, degree, 0.0, 1) if degree else None
    member = Member(f"last {window} samples, degree {degree}", window, degree, float(ahead @ ahead))
    return _Readout(
        member, _padded(ahead, 0), None if slope is None else _padded(slope, 0), _slips(member, ahead, slope)
    )


def _long(window: int, degree: int, first: int, taps: Array) -> _Readout:
    """A LegT readout. `taps` (ages, order) is the memory's response to an impulse, from which its kernels follow."""
    system = exact(legt(ORDER, float(window)), 1.0, degree)
    ahead = taps @ system.C
    ahead[0] += system.D
    slope = None
    if system.derivative is not None:
        slope = taps @ system.derivative.C
        slope[0] += system.derivative.D
    member = Member(f"LegT memory of {window} samples, degree {degree}", window, degree, noise_gain(system))
    readout = None if system.derivative is None else _padded(system.derivative.C, first)
    return _Readout(member, _padded(system.C, first), readout, _slips(member, ahead, slope))


def _padded(weights: Array, first: int) -> Array:
    column = np.zeros(MEMORY)
    column[first : first + len(weights)] = weights
    return column


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


def _slopes(readouts: list[_Readout]) -> Slopes:
    have = [i for i, r in enumerate(readouts) if r.slope is not None]
    return Slopes(
        readout=np.stack([r.slope for r in readouts if r.slope is not None], axis=1),
        member=np.array(have, dtype=np.intp),
        gain=np.array([readouts[i].ratio[0] for i in have]),
        bias=np.array([readouts[i].ratio[1] for i in have]),
        left=np.array([readouts[i].ratio[2] for i in have]),
    )


def _advance(blocks: Array, forward: Array) -> Array:
    """[lags | z - x₁ du] → [new z | predictions of the fixed members | zeros for those solved in context]."""
    memory, fixed = len(blocks), forward.shape[1]
    joint = np.zeros((MEMORY, memory + fixed + len(SOLVED)))
    joint[LAGS:, :memory] = blocks
    joint[:LAGS, memory : memory + fixed] = forward[:LAGS]
    joint[LAGS:, memory : memory + fixed] = blocks @ forward[LAGS:]
    return joint


def _prior(members: list[Member]) -> Array:
    """Simple members first: 1/(degree + 1), and 4 for each one solved in context, of which there are few."""
    weights = np.array([4.0 if m.degree is None else 1.0 / (m.degree + 1) for m in members])
    return np.asarray(weights / weights.sum(), dtype=np.float64)
