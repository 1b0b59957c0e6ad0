r"""The signals of the paper's experiments, each from its definition, vectorised and seeded.

Random signals have shape (functions, samples). Function `i` of a call with seed `s` depends on `s + i` alone, so that
experiments can be cut into pieces and resumed. The differential equations come from their closed form, accurate to
rounding, and from SciPy's `solve_ivp`: the paper's tables were made with its default of rtol = 1e-3 and show its error.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.integrate import solve_ivp
from scipy.signal import lfilter

from prophecy import _checks
from prophecy._arrays import Array, Reals

SAMPLES, DT = 10_000, 1e-3  # the paper's length of a signal, and its step in seconds


class Tolerance(NamedTuple):
    """How `solve_ivp` integrates an equation."""

    rtol: float
    atol: float
    method: str = "RK45"


SCIPY_DEFAULTS = Tolerance(rtol=1e-3, atol=1e-6)


def alpha_filter(time_constant: float, dt: float = DT) -> tuple[float, float, float]:
    """Lead, lag and pole of `1 / (tau s + 1)^2` under zero-order hold, as the Filtered Noise process uses it:
    y[k] = lead w[k] + lag w[k-1] + 2 pole y[k-1] - pole^2 y[k-2].

    >>> lead, lag, pole = alpha_filter(0.1)
    >>> round((lead + lag) / (1 - pole) ** 2, 12)  # unit gain for constants
    1.0
    """
    ratio = _checks.positive("dt", dt) / _checks.positive("time_constant", time_constant)
    pole = math.exp(-ratio)
    # expm1 keeps the two coefficients, both of size ratio^2 / 2, at full relative precision.
    rise = -math.expm1(-ratio)
    return rise - ratio * pole, pole * (ratio - rise), pole


def white_signal(
    cutoff: float,
    functions: int = 1,
    samples: int = SAMPLES,
    *,
    seed: int = 0,
    dt: float = DT,
    period: float = 10.0,
    rms: float = 0.5,
    start: float | None = 0.0,
) -> Array:
    """Band-limited white noise of the given period with no power above `cutoff` Hz: (functions, samples).

    `start` rolls each function so that it begins at the sample nearest that value (the paper uses 0); None leaves it
    where it is. Row `i` is what the public reference generator gives for seed `seed + i`.
    """
    _checks.whole("functions", functions)
    _checks.whole("samples", samples)
    _checks.positive("dt", dt)
    _checks.positive("period", period)
    if not 1.0 / period <= cutoff <= 0.5 / dt:
        raise ValueError(
            f"cutoff must lie between 1/period = {1.0 / period:g} and 0.5/dt = {0.5 / dt:g} Hz, got {cutoff}; "
            "use a longer period for lower frequencies or a smaller dt for higher ones"
        )
    half = math.ceil(period / dt / 2.0)
    kept = int(np.count_nonzero(np.fft.rfftfreq(2 * half, d=dt) <= cutoff))
    scale = math.sqrt(2.0 * half) / math.sqrt(1.0 - (half + 1 - kept) / half)
    spectrum = np.zeros((functions, half + 1), dtype=np.complex128)
    for row in range(functions):
        draws = np.random.RandomState(seed + row).normal(0.0, rms * math.sqrt(0.5), size=(2, half + 1))
        spectrum[row, :kept] = draws[1, :kept] + 1j * draws[0, :kept]
    spectrum[:, 0] = 0.0
    spectrum[:, -1] = spectrum[:, -1].real
    wave = np.fft.irfft(spectrum * scale, n=2 * half, axis=-1)
    first = np.ones(functions, dtype=np.intp) if start is None else np.argmin(np.abs(start - wave), axis=-1)
    index = (first[:, None] + np.arange(samples)) % (2 * half)
    return np.take_along_axis(wave, index, axis=-1)


def filtered_noise(
    time_constant: float, functions: int = 1, samples: int = SAMPLES, *, seed: int = 0, dt: float = DT
) -> Array:
    """White Gaussian noise of density 1 through an Alpha filter, from rest, of variance `1 / (4 time_constant)` in the
    end: (functions, samples)."""
    _checks.whole("functions", functions)
    _checks.whole("samples", samples)
    lead, lag, pole = alpha_filter(time_constant, dt)
    noise = np.stack([np.random.RandomState(seed + row).normal(size=samples) for row in range(functions)])
    filtered = lfilter([lead, lag], [1.0, -2.0 * pole, pole * pole], noise / math.sqrt(dt), axis=-1)
    return np.asarray(filtered, dtype=np.float64)


def van_der_pol(
    samples: int = SAMPLES, *, end: float = 20.0, initial: float = 0.5, tolerance: Tolerance | None = None
) -> Array:
    r"""The paper's one-variable Van der Pol equation u' = 7 (1 - u^2) sin t over [0, end]: (samples,).

    Without a tolerance, from its closed form u(t) = tanh(7 (1 - cos t) + artanh u(0)), which never leaves [u(0), 1).
    A solver does: at the top of a cycle 1 - u is 4.6e-13, below its error, and what comes back may pass -1. The square
    wave between -1 and 1 that the paper shows from u(0) = 0.5 is such an artefact of SciPy's default tolerance.
    """
    times = _times(samples, end)
    if not abs(initial) < 1.0:
        raise ValueError(f"initial must lie strictly between -1 and 1, where the closed form holds, got {initial}")
    if tolerance is not None:
        return _integrate(lambda t, u: 7.0 * (1.0 - u * u) * math.sin(t), initial, times, tolerance)
    return np.asarray(np.tanh(7.0 * (1.0 - np.cos(times)) + math.atanh(initial)), dtype=np.float64)


def bernoulli(
    samples: int = SAMPLES, *, end: float = 10.0, initial: float = 0.1, tolerance: Tolerance | None = None
) -> Array:
    r"""The paper's Bernoulli equation u' = sin(t) sqrt(u) - cos(5t) u over [0, end]: (samples,).

    Without a tolerance, from v = sqrt(u), which is linear: (e^{sin(5t)/10} v)' = e^{sin(5t)/10} sin(t) / 2, integrated
    by Gauss-Legendre quadrature between neighbouring samples.
    """
    times = _times(samples, end)
    if not initial > 0.0:
        raise ValueError(f"initial must be positive, got {initial}; the equation has a square root of u")
    if tolerance is not None:
        return _integrate(_bernoulli_slope, initial, times, tolerance)
    pieces = max(1, math.ceil(float(times[-1] - times[0]) / max(times.size - 1, 1) / 0.05))
    knots = np.linspace(times[0], times[-1], pieces * (times.size - 1) + 1) if times.size > 1 else times
    nodes, weights = np.polynomial.legendre.leggauss(8)
    middle, half = (knots[1:] + knots[:-1]) / 2.0, (knots[1:] - knots[:-1]) / 2.0
    points = middle[:, None] + half[:, None] * nodes
    areas = half * ((np.exp(np.sin(5.0 * points) / 10.0) * np.sin(points) / 2.0) @ weights)
    total = math.sqrt(initial) + np.concatenate([[0.0], np.cumsum(areas)])[::pieces]
    root = np.asarray(np.exp(-np.sin(5.0 * times) / 10.0) * total, dtype=np.float64)
    if np.any(root <= 0.0):
        raise ValueError(f"the solution from initial = {initial} reaches 0 before end = {end}, where it is not unique")
    return root * root


def _bernoulli_slope(t: float, u: float) -> float:
    # A trial step of the solver may land below 0, where the equation says nothing: NaN makes it take a shorter one.
    return math.sin(t) * math.sqrt(u) - math.cos(5.0 * t) * u if u >= 0.0 else math.nan


def _integrate(slope: Callable[[float, float], float], initial: float, times: Array, tolerance: Tolerance) -> Array:
    span, (rtol, atol, method) = (float(times[0]), float(times[-1])), tolerance
    solution = solve_ivp(lambda t, u: [slope(t, float(u[0]))], span, [initial], method, times, rtol=rtol, atol=atol)
    if not solution.success:
        raise ArithmeticError(f"solve_ivp stopped early with tolerance {tolerance}: {solution.message}")
    return np.asarray(solution.y[0], dtype=np.float64)


def sines(functions: int = 1, samples: int = SAMPLES, *, seed: int = 0, unit: float = 1.0) -> Array:
    """Sums of 20 sines sin(ω x), x over [0, 1], divided by their largest value: (functions, samples).

    Coefficients are uniform in (-1, 1) and ω in (0.1, 50) times `unit` radians. The paper's text says "frequencies
    between 0 and 50"; its code has radians, at most 8 cycles. `unit` = 2π reads them as cycles.
    """

    def draw(random: np.random.Generator, x: Array) -> Array:
        size, frequency = random.uniform(-1.0, 1.0, 20), random.uniform(0.1, 50.0, 20)
        return np.asarray(size @ np.sin(unit * frequency[:, None] * x))

    rows = _drawn(functions, samples, seed, draw)
    largest = rows.max(axis=1, keepdims=True)
    # All start at 0, so the largest value is 0 only where a function stays below it: then its size is what is left.
    return np.asarray(rows / np.where(largest > 0.0, largest, _size(rows)), dtype=np.float64)


def legendre(functions: int = 1, samples: int = SAMPLES, *, seed: int = 0) -> Array:
    """Sums of the first 15 Legendre polynomials on [0, 1], largest absolute value 1: (functions, samples).

    Coefficients are uniform in (-1, 1). The authors' code evaluates them on [0, 1], half of where they are orthogonal.
    """
    legval = np.polynomial.legendre.legval
    rows = _drawn(functions, samples, seed, lambda random, x: legval(x, random.uniform(-1.0, 1.0, 15)))
    return np.asarray(rows / _size(rows), dtype=np.float64)


def linear(functions: int = 1, samples: int = SAMPLES, *, seed: int = 0) -> Array:
    """Lines over [0, 1] with offset and slope uniform in (-10, 10): (functions, samples)."""
    draws = _drawn(functions, samples, seed, lambda random, x: random.uniform(-10.0, 10.0, 2))
    return np.asarray(draws[:, :1] + draws[:, 1:] * np.linspace(0.0, 1.0, samples), dtype=np.float64)


def mixed(functions: int = 3, samples: int = SAMPLES, *, seed: int = 0, unit: float = 1.0) -> Array:
    """The training mixture: a third each of sines, White Signals and Legendre polynomials, interleaved.

    White Signals have cut-offs uniform in (0.3, 1.5) Hz, 3 to 15 cycles per sequence, and start nearest a value uniform
    in (-1, 1). Row `i` is of kind `(seed + i) mod 3`, so any leading piece is balanced to within one function.
    """
    _checks.whole("functions", functions)
    _checks.whole("samples", samples)

    def one(inner: int) -> Array:
        if inner % 3 == 1:
            cutoff, start = np.random.default_rng((inner, 1)).uniform((0.3, -1.0), (1.5, 1.0))
            return white_signal(float(cutoff), 1, samples, seed=inner, start=float(start))
        return legendre(1, samples, seed=inner) if inner % 3 else sines(1, samples, seed=inner, unit=unit)

    return np.concatenate([one(seed + row) for row in range(functions)])


def single_sine(functions: int = 1, samples: int = SAMPLES, *, seed: int = 0) -> Array:
    """sin(ω x + φ), x over [0, 1], with ω uniform in (0, 600) radians and a random phase: (functions, samples)."""
    draws = _drawn(functions, samples, seed, lambda random, x: random.uniform(0.0, (600.0, 2.0 * np.pi)))
    return np.asarray(np.sin(draws[:, :1] * np.linspace(0.0, 1.0, samples) + draws[:, 1:]), dtype=np.float64)


def brownian(functions: int = 1, samples: int = SAMPLES, *, seed: int = 0, drift: float = 0.0) -> Array:
    """Brownian motion over [0, 1] from 0: variance 1 and mean `drift` at the end, (functions, samples)."""
    steps = _drawn(functions, samples, seed, lambda random, x: random.normal(size=samples))
    steps = drift / samples + steps / math.sqrt(samples)
    steps[:, 0] = 0.0
    return np.asarray(np.cumsum(steps, axis=1), dtype=np.float64)


def geometric_brownian(functions: int = 1, samples: int = SAMPLES, *, seed: int = 0) -> Array:
    """exp of a Brownian motion, of mean 1 throughout, from 1: (functions, samples)."""
    return np.exp(brownian(functions, samples, seed=seed, drift=-0.5))


def root_polynomial(functions: int = 1, samples: int = SAMPLES, *, seed: int = 0) -> Array:
    """∏ (x - r_i) on [0, 1] with ten roots uniform in (0, 1), largest absolute value 1: (functions, samples)."""
    roots = _drawn(functions, samples, seed, lambda random, x: random.uniform(0.0, 1.0, 10))
    rows = np.prod(np.linspace(0.0, 1.0, samples) - roots[:, :, None], axis=1)
    return np.asarray(rows / _size(rows), dtype=np.float64)


def logistic_map(functions: int = 1, samples: int = SAMPLES, *, seed: int = 0) -> Array:
    """u[k + 1] = 3.9 u[k] (1 - u[k]), chaotic, from a start uniform in (0, 1): (functions, samples)."""
    rows = np.tile(_drawn(functions, samples, seed, lambda random, x: random.uniform(size=1)), samples)
    for k in range(1, samples):
        rows[:, k] = 3.9 * rows[:, k - 1] * (1.0 - rows[:, k - 1])
    return rows


def _drawn(functions: int, samples: int, seed: int, draw: Callable[[np.random.Generator, Array], Reals]) -> Array:
    """What each function is drawn as, from a generator of its own and the points x of [0, 1]: (functions, …)."""
    _checks.whole("functions", functions)
    x = np.linspace(0.0, 1.0, _checks.whole("samples", samples))
    return np.stack([draw(np.random.default_rng(seed + row), x) for row in range(functions)])


def _size(rows: Array) -> Array:
    """The largest absolute value of each row, (rows, 1); never 0."""
    return np.asarray(np.maximum(np.abs(rows).max(axis=1, keepdims=True), 1e-300))


def _times(samples: int, end: float) -> Array:
    return np.linspace(0.0, _checks.positive("end", end), _checks.whole("samples", samples))
