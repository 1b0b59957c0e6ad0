r"""Bases: how the past is remembered (Sec. 2, App. A).

A basis is a set of functions p_n over the ages `a = t - s` of past moments, and a pair (A, B) whose state

    x'(t) = A x(t) + B u(t)                                                   (Eq. 1)

holds the coefficients of the past in these functions, so that `u(t - a) ≈ Σ_n x_n(t) p_n(a)` (Eq. 2). Windows are
in seconds and explicit everywhere; nothing is scaled behind the caller's back. `conventions` has the other scalings,
`fading` the memories without a window.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.polynomial.legendre import legvander
from numpy.typing import ArrayLike
from scipy.linalg import expm

from prophecy import _checks
from prophecy._arrays import Array, Counts

Functions: TypeAlias = Callable[[Array], Array]


class _Memory(_checks.Frozen):
    """What a basis is whatever its window: matrices, and functions with values at the edges."""

    functions: Functions

    def __post_init__(self) -> None:
        order = _checks.whole("order of B", len(np.atleast_1d(self.B)))
        _checks.function("functions", self.functions, "lambda ages: np.ones((len(ages), 1))")
        self._freeze(A=(order, order), B=(order,), newest=(order,), oldest=(order,))

    def _evaluate(self, ages: ArrayLike, window: float, timescale: float, unit: float = 1.0) -> Array:
        array: Array = np.atleast_1d(_checks.real_array("ages", ages)).astype(np.float64)
        if array.ndim != 1:
            raise ValueError(f"ages must be a number or (ages,), got shape {array.shape}")
        # A few roundings beyond the edge, such as 3 · 0.1 for a window of 0.3, are the edge.
        slack = 4 * np.finfo(np.float64).eps * timescale
        inside = (array >= -slack) & (array <= window + slack) & (array < math.inf)
        if not inside.all():
            raise ValueError(f"ages must lie between 0 (now) and {window:g} seconds, got {array[~inside][0]:g}")
        table = np.asarray(self.functions(np.clip(array, 0.0, window) / unit), np.float64)
        if table.shape != (len(array), self.order):
            raise ValueError(f"functions must return shape (ages, order) = {len(array), self.order}, got {table.shape}")
        return table

    def _state(self, state: ArrayLike) -> Array:
        array = _checks.real_array("state", state).astype(np.float64)
        if array.ndim == 0 or array.shape[-1] != self.order:
            raise ValueError(f"state must have shape (..., {self.order}), got {array.shape}")
        return array


@dataclass(frozen=True, eq=False)
class Basis(_Memory):
    """A memory of the last `window` seconds, the same at all times.

    A (N, N) and B (N,) as in Eq. (1); `newest` = p(t, t) and `oldest` = p(t, t - window), both (N,);
    `functions` maps ages in seconds, (ages,), to the values of all N functions there, (ages, N).

    A memory that fades instead of ending has `window` = inf and names its unit of time, `timescale` seconds; 0, the
    default, stands for the window. A and B are those of timescale 1 divided by it. Its `oldest` is the functions' limit
    at infinite age where they have one, else zeros.
    """

    A: Array = field(repr=False)
    B: Array = field(repr=False)
    newest: Array = field(repr=False)
    oldest: Array = field(repr=False)
    window: float
    functions: Functions = field(repr=False)
    name: str = "basis"
    timescale: float = 0.0  # the window, unless given

    def __post_init__(self) -> None:
        if self.window == math.inf:
            object.__setattr__(self, "timescale", _checks.positive("timescale", self.timescale))
        else:
            object.__setattr__(self, "window", _checks.positive("window", self.window))
            object.__setattr__(self, "timescale", _checks.positive("timescale", self.timescale or self.window))
        super().__post_init__()

    def evaluate(self, ages: ArrayLike) -> Array:
        """The basis functions at these ages (0 is now, `window` the oldest edge): (ages, N)."""
        return self._evaluate(ages, self.window, self.timescale)

    def reconstruct(self, state: ArrayLike, ages: ArrayLike) -> Array:
        """The remembered signal `u(t - age)`: state (..., N) gives (..., ages) (Eq. 2).

        t is the time the state stands for: that of the newest sample for `discretize.foh` (`x + shift * u`), half a
        step later under `bilinear` and `zoh` (`discretize.lag`), so that age dt/2 is there the newest sample.
        """
        return self._state(state) @ self.evaluate(ages).T


@dataclass(frozen=True, eq=False)
class ScaledBasis(_Memory):
    """A memory of everything since time 0, stretched as time goes on (LegS): x'(t) = (-A x(t) + B u(t)) / t.

    It has no window: ages run from 0 to the time elapsed. `functions` takes ages as fractions of it.
    A: (N, N); B and the functions' values at the newest and the oldest age: (N,).
    """

    A: Array = field(repr=False)
    B: Array = field(repr=False)
    newest: Array = field(repr=False)
    oldest: Array = field(repr=False)
    functions: Functions = field(repr=False)
    name: str = "scaled basis"

    def evaluate(self, ages: ArrayLike, elapsed: float) -> Array:
        """The basis functions at these ages when `elapsed` seconds have passed since time 0: (ages, N)."""
        elapsed = _checks.positive("elapsed", elapsed)
        return self._evaluate(ages, elapsed, elapsed, unit=elapsed)

    def reconstruct(self, state: ArrayLike, ages: ArrayLike, elapsed: float) -> Array:
        """The remembered signal `u(t - age)`: state (..., N) gives (..., ages)."""
        return self._state(state) @ self.evaluate(ages, elapsed).T


def rescaled(basis: Basis, timescale: float) -> Basis:
    """The same memory with time in another unit, so that its window (or its timescale) is `timescale`."""
    ratio = basis.timescale / _checks.positive("timescale", timescale)
    functions = partial(_stretched, basis.functions, ratio)
    A, B, window = basis.A * ratio + 0.0, basis.B * ratio, basis.window / ratio  # + 0.0: no negative zeros
    return replace(basis, A=A, B=B, window=window, functions=functions, timescale=timescale)


def _stretched(functions: Functions, ratio: float, ages: Array) -> Array:
    return functions(ages * ratio)


def check_basis(basis: Basis, tolerance: float = 1e-6) -> None:
    """Check that A, B and the functions of a basis fit each other; raises a ValueError that says what does not.

    A past made of one of the functions, u(t - a) = p_m(a), is remembered as that function and must stay so while time
    goes on: p' = -(A + B newestᵀ)ᵀ p. That ties the scale of B, the sign of A and the order of states to the functions,
    which must be smooth at age 0 (`lagt(alpha > 0)` is not).

    >>> from dataclasses import replace
    >>> check_basis(legt(8, 2.0))
    >>> check_basis(replace(legt(8, 2.0), B=2 * legt(8, 2.0).B))
    Traceback (most recent call last):
    ValueError: A and B do not move the functions of LegT: what a step changes is off by 0.48 of it; ...
    """
    reach = basis.window if basis.window < math.inf else basis.timescale
    generator = basis.A + np.outer(basis.B, basis.newest)
    step = min(reach / 16, 0.5 / max(float(np.linalg.norm(generator, 1)), 1e-300))
    ages = np.linspace(0.0, reach - step, 9)
    here, there = basis.evaluate(ages), basis.evaluate(ages + step)
    edges = [("newest", basis.newest, here[0])]
    edges += [("oldest", basis.oldest, basis.evaluate(basis.window)[0])] if basis.window < math.inf else []
    for name, given, found in edges:
        if not np.abs(given - found).max() <= tolerance * np.abs(found).max():
            raise ValueError(f"{name} of {basis.name} must be the functions' values at that age, {found}, got {given}")
    moved = here @ expm(-generator * step)
    size = max(np.abs(there - here).max(), np.abs(moved - here).max(), 1e-9 * np.abs(here).max())
    gap = np.abs(there - moved).max() / size
    if not gap <= tolerance:
        raise ValueError(
            f"A and B do not move the functions of {basis.name}: what a step changes is off by {gap:.2g} of it; "
            "check the scale of B and the sign of A"
        )


def legt(order: int, window: float) -> Basis:
    r"""Translated Legendre memory of the last `window` seconds θ (App. A.1), in the orthonormal scaling.

    p_n(t, s) = √(2n+1) P_n(2 (s - t)/θ + 1), B_n = √(2n+1)/θ,
    A_nk = -√(2n+1) √(2k+1)/θ · {1 if k ≤ n, (-1)^(n-k) if k > n}.

    App. A.1 prints A in the LMU's scaling and with the opposite sign, beside p_n in this one; `conventions.to_lmu` has
    the consistent pair in that scaling.

    >>> legt(order=3, window=1.0).B.round(3)
    array([1.   , 1.732, 2.236])
    """
    order, window = _checks.whole("order", order), _checks.positive("window", window)
    n = np.arange(order)
    root = np.sqrt(2.0 * n + 1)
    sign = (-1.0) ** n
    upper = np.triu(np.outer(sign, sign), 1) + np.tril(np.ones((order, order)))
    return Basis(
        A=-np.outer(root, root) * upper / window,
        B=root / window,
        newest=root,
        oldest=root * sign,
        window=window,
        functions=partial(_legendre_ages, order, window),
        name="LegT",
    )


def legs(order: int) -> ScaledBasis:
    r"""Scaled Legendre memory of the whole past (App. A.2): x'(t) = (-A x(t) + B u(t)) / t.

    p_n(t, s) = √(2n+1) P_n(2s/t - 1), A_nk = √(2n+1) √(2k+1) if n > k, n + 1 if n = k, else 0, B_n = √(2n+1).

    >>> legs(order=3).A.round(3)
    array([[1.   , 0.   , 0.   ],
           [1.732, 2.   , 0.   ],
           [2.236, 3.873, 3.   ]])
    """
    order = _checks.whole("order", order)
    n = np.arange(order)
    root = np.sqrt(2.0 * n + 1)
    return ScaledBasis(
        A=np.tril(np.outer(root, root), -1) + np.diag(n + 1.0),
        B=root,
        newest=root,
        oldest=root * (-1.0) ** n,
        functions=partial(_legendre_ages, order, 1.0),
        name="LegS",
    )


def fout(order: int, window: float) -> Basis:
    r"""Truncated Fourier memory of the last `window` seconds θ (App. A.3), frequencies m = 1 … (order - 1)/2.

    p = [1, √2 cos(2πm a/θ), √2 sin(2πm a/θ), …] of the age a, A = rotation - 2 newest newestᵀ/θ, B = 2 newest/θ.

    The rotation turns pair m by 2πm/θ; App. A.3 can be read as twice that (`fout_as_printed`). It also prints the sines
    of 1 - a, which is their negative and does not fit the printed A; the proof in App. D has the sines of a, as here.

    >>> fout(order=3, window=1.0).B.round(3)
    array([2.   , 2.828, 0.   ])
    """
    frequencies = np.arange(1, fout_order(order) // 2 + 1)
    return _fourier(frequencies, window, constant=1.0, name="FouT")


def fout_as_printed(order: int, window: float) -> Basis:
    """FouT with App. A.3 read to the letter, which is what the paper's FouT numbers were made with.

    The rotation entries `2πn` take n as the *matrix index* 2, 4, 6, …, twice the frequency, and every basis function
    carries √2, the constant too: a memory of signals with period window/2, for the published numbers alone.

    >>> (fout_as_printed(3, 1.0).A - fout(3, 1.0).A).round(3)
    array([[ 0.   ,  0.   ,  0.   ],
           [ 0.   ,  0.   , -6.283],
           [ 0.   ,  6.283,  0.   ]])
    """
    frequencies = 2 * np.arange(1, fout_order(order) // 2 + 1)
    return _fourier(frequencies, window, constant=np.sqrt(2.0), name="FouT as printed")


def _fourier(frequencies: Counts, window: float, constant: float, name: str) -> Basis:
    order, window = 1 + 2 * len(frequencies), _checks.positive("window", window)
    edge = np.zeros(order)
    edge[0], edge[1::2] = 1.0, np.sqrt(2.0)
    rotation = np.zeros((order, order))
    cosine = np.arange(1, order, 2)
    rotation[cosine + 1, cosine] = 2 * np.pi * frequencies / window
    rotation[cosine, cosine + 1] = -2 * np.pi * frequencies / window
    values = edge.copy()
    values[0] = constant
    return Basis(
        A=rotation - 2 * np.outer(edge, edge) / window,
        B=2 * edge / window,
        newest=values,
        oldest=values,
        window=window,
        functions=partial(_fourier_ages, frequencies, window, constant),
        name=name,
    )


def _fourier_ages(frequencies: Counts, window: float, constant: float, ages: Array) -> Array:
    phase = 2 * np.pi * np.outer(ages / window, frequencies)
    table = np.empty((len(ages), 1 + 2 * len(frequencies)))
    table[:, 0] = constant
    table[:, 1::2], table[:, 2::2] = np.sqrt(2.0) * np.cos(phase), np.sqrt(2.0) * np.sin(phase)
    return table


def _legendre_ages(order: int, window: float, ages: Array) -> Array:
    return legendre(1 - 2 * ages / window, order)


def legendre(x: Array, order: int) -> Array:
    """Orthonormal Legendre polynomials √(2n+1) P_n(x) for n < order: x (points,) gives (points, order)."""
    return np.asarray(legvander(x, order - 1) * np.sqrt(2.0 * np.arange(order) + 1))


def fout_order(order: int) -> int:
    """A Fourier memory's order: odd, a constant and pairs."""
    order = _checks.whole("order", order)
    if order % 2 == 0:
        raise ValueError(f"order must be odd for FouT (a constant, then pairs), got {order}; use {order + 1}")
    return order
