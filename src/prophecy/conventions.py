r"""The same memories in the scalings other people have on disk.

Three things differ between code bases: the unit of time, the scaling of the states, and signs.

| memory here | `s4` (state-spaces/s4) | `hippox` | `hippo` (hippo-code) | `lmu` (LMU, Nengo) |
|---|---|---|---|---|
| `legt` | `legt`, window 2 | the same | `legt`, window 1 | states (-1)^n x_n √(2n+1), window 1 |
| `fout` | `fourier`, window 2, or `fourier2`, window 1; a dead state after the constant | the same | – | – |
| `legs_invariant` | `legs` (S4 runs it without the 1/t) | the same | – | – |
| `legs` (over the time elapsed) | – | – | `legs`, A with its minus sign | – |
| `lagt(tilt=0)` | `lagt` | the same | `lagt` | – |
| `lagt(tilt=β)` | `glagt`, α = 0, states √β x_n | the same | `glagt` | – |
| `foud` | `fourier_diag`, states x/√2 but the constant's | `diagonal`, states x | – | – |
| `fourier_decay` | `fourier_decay`, period 2 | the same | – | – |

`to_…` gives a basis in the other scaling. It is a `Basis` like any other, so constructions, engines and reconstruction
work on it, and it remembers the same signal: running it at the step `dt · its timescale / the original timescale` gives
the same reconstruction. `from_…` takes arrays as found on disk, checks that they are what they should be, and gives the
basis in seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from prophecy import _checks
from prophecy.bases import Array, Basis, Functions, ScaledBasis, fout, legs, legt
from prophecy.discretize import zoh
from prophecy.fading import foud, fourier_decay, lagt, legs_invariant

Pair: TypeAlias = tuple[NDArray[Any], NDArray[Any]]

SAME = 1e-6  # arrays on disk may be float32, within 6e-8 of what they stand for


class Measure(NamedTuple):
    """One row of the table: our function of (order, timescale), and what takes its bases to the other scaling.

    extra: states the other has more. ours may look at the basis or arrays it is to match: (order, timescale, corner),
    corner being A[0, 0] in units of the timescale, which tells Laguerre's tilt.
    """

    name: str
    ours: Callable[[int, float, float], Basis]
    theirs: Callable[[Basis], Basis]
    extra: int = 0


def rescaled(basis: Basis, timescale: float) -> Basis:
    """The same memory with time in another unit, so that its window (or its timescale) is `timescale`."""
    timescale = _checks.positive("window", timescale)
    ratio = basis.timescale / timescale
    return replace(
        basis,
        A=basis.A * ratio,
        B=basis.B * ratio,
        window=basis.window / ratio,
        functions=partial(_stretched, basis.functions, ratio),
        timescale=timescale,
    )


def _stretched(functions: Functions, ratio: float, ages: Array) -> Array:
    return functions(ages * ratio)


def _after(functions: Functions, matrix: NDArray[Any], ages: Array) -> Array:
    return np.asarray(functions(ages) @ matrix, np.float64)


def transformed(basis: Basis, T: ArrayLike) -> Basis:
    """The same memory with states T x instead of x, T (N, N) invertible: what it remembers does not change.

    A becomes T A T⁻¹, B becomes T B, and the basis functions p T⁻¹, so that p·x stays what it was.
    """
    T = _checks.shaped("T", T, (basis.order, basis.order))
    if not np.linalg.cond(T) < 1 / np.finfo(np.float64).eps:
        raise ValueError(f"T must be invertible, got one of condition number {np.linalg.cond(T):.2g}")
    inverse = np.linalg.inv(T)
    return replace(
        basis,
        A=T @ basis.A @ inverse,
        B=T @ basis.B,
        newest=basis.newest @ inverse,
        oldest=basis.oldest @ inverse,
        functions=partial(_after, basis.functions, inverse),
        name=f"{basis.name}, states transformed",
    )


def to_lmu(basis: Basis) -> Basis:
    """LegT as the Legendre Memory Unit scales it: B_n = (2n+1)(-1)^n, A_nk = (2n+1) {-1 if n < k, else (-1)^(n-k+1)}.

    These are the formulas of App. A.1 with the sign put right; their functions are (-1)^n P_n, so p_n(t, t) = (-1)^n.
    """
    return _convert("to_lmu", LMU, basis)


def from_lmu(A: ArrayLike, B: ArrayLike, window: float, dt: float | None = None) -> Basis:
    """LegT over `window` seconds from the LMU's A (N, N) and B (N,), which span one unit of time.

    dt: the step in seconds of matrices that are discretised already, by zero-order hold, as keras-lmu keeps them
        (it stores the transposes of A and B).
    """
    return _recognise("LMU", LMU, A, B, window, dt)


def to_s4(basis: Basis | ScaledBasis, double: bool = False) -> Basis:
    """The basis as S4's `transition` makes it; `double` gives FouT as `fourier2`, over window 1, instead of `fourier`.

    S4 keeps a state for the sine of frequency 0, which is always 0, right after the constant: Fourier memories grow by
    one. LegS is the one S4 runs, `legs_invariant`: without the 1/t of `legs`.
    """
    if isinstance(basis, ScaledBasis):
        raise TypeError("S4 runs LegS without the 1/t; use prophecy.fading.legs_invariant(order, timescale)")
    return _convert("to_s4", S4, basis, double)


def from_s4(A: ArrayLike, B: ArrayLike, window: float) -> Basis:
    """The memory of S4's A (N, N) and B (N,), recognised by A, with `window` seconds for its window, or its timescale.

    S4's own units: 2 for LegT, FouT and fourier_decay; 1 for the others.
    """
    return _recognise("S4", S4, A, B, window)


def to_hippox(basis: Basis, double: bool = False) -> Basis:
    """The basis as hippox makes it: as S4 does, but for FouD, whose states it leaves as they are here."""
    return _convert("to_hippox", HIPPOX, basis, double)


def from_hippox(A: ArrayLike, B: ArrayLike, window: float) -> Basis:
    """The memory of hippox's A (N, N) and B (N,) over `window` seconds (its LMU form: `from_lmu`)."""
    return _recognise("hippox", HIPPOX, A, B, window)


def to_hippo(basis: Basis | ScaledBasis) -> Basis | Pair:
    """The basis as hippo-code's `transition` makes it: LegT over window 1, LagT; for LegS the pair (-A, B)."""
    if isinstance(basis, ScaledBasis):
        return -basis.A, basis.B
    return _convert("to_hippo", HIPPO, basis)


def from_hippo(A: ArrayLike, B: ArrayLike, window: float | None = None) -> Basis | ScaledBasis:
    """LegT or LagT over `window` seconds, without a window LegS over the time elapsed, from hippo-code's A
    (N, N) and B (N,)."""
    if window is None:
        return _scaled("hippo", A, B, own_window=1)
    return _recognise("hippo", HIPPO, A, B, window)


def _signs_and_scales(basis: Basis) -> Basis:
    n = np.arange(basis.order)
    return replace(transformed(rescaled(basis, 1.0), np.diag((-1.0) ** n * np.sqrt(2.0 * n + 1))), name="LegT (LMU)")


def _normalised(basis: Basis) -> Basis:
    """Generalised Laguerre states times √β: hippo-code's states have the norm of the weighted signal."""
    tilt = _tilt(basis.A[0, 0] * basis.timescale)
    return transformed(rescaled(basis, 1.0), np.eye(basis.order) * np.sqrt(tilt or 1.0))


def _tilt(corner: float) -> float:
    return float(np.clip(-2 * corner - 1, 0, 1))


def _diagonal_fourier(basis: Basis) -> Basis:
    """FouD with B = [1, 0, 1, 0, …]: S4 has no √2 on the frequencies."""
    scales = np.full(basis.order, np.sqrt(0.5))
    scales[0] = 1.0
    return _with_dead_state(transformed(rescaled(basis, 1.0), np.diag(scales)), rate=-0.5)


def _with_dead_state(basis: Basis, rate: float = 0.0) -> Basis:
    widen = np.delete(np.eye(basis.order + 1), 1, axis=0)  # (N, N + 1): states in, a zero after the first
    A = widen.T @ basis.A @ widen
    A[1, 1] = rate / basis.timescale
    return replace(
        basis,
        A=A,
        B=basis.B @ widen,
        newest=basis.newest @ widen,
        oldest=basis.oldest @ widen,
        functions=partial(_after, basis.functions, widen),
        name=f"{basis.name} (S4)",
    )


_LEGT = Measure("LegT", lambda n, unit, _: legt(n, unit), partial(rescaled, timescale=1.0))
_LAGT = (
    Measure("LagT", lambda n, unit, _: lagt(n, unit, 0.0), partial(rescaled, timescale=1.0)),
    Measure("GLagT", lambda n, unit, corner: lagt(n, unit, _tilt(corner)), _normalised),
)
LMU = (_LEGT._replace(theirs=_signs_and_scales),)
HIPPO = (_LEGT, *_LAGT)
_FOURIER2 = Measure(
    "fourier2", lambda n, unit, _: fout(n, unit), lambda basis: _with_dead_state(rescaled(basis, 1.0)), 1
)
_FOUD = Measure("FouD", lambda n, unit, _: foud(n, unit), _diagonal_fourier, 1)
S4 = (
    _LEGT._replace(theirs=partial(rescaled, timescale=2.0)),
    Measure("FouT", lambda n, unit, _: fout(n, unit), lambda basis: _with_dead_state(rescaled(basis, 2.0)), 1),
    _FOURIER2,
    Measure("LegS", lambda n, unit, _: legs_invariant(n, unit), partial(rescaled, timescale=1.0)),
    *_LAGT,
    _FOUD,
    Measure(
        "decay", lambda n, unit, _: fourier_decay(n, unit), lambda basis: _with_dead_state(rescaled(basis, 2.0)), 1
    ),
)
HIPPOX = tuple(
    row._replace(theirs=lambda basis: _with_dead_state(rescaled(basis, 1.0), rate=-0.5)) if row is _FOUD else row
    for row in S4
)


def _convert(what: str, table: tuple[Measure, ...], basis: object, double: bool = False) -> Basis:
    """By the first row whose memory it is, checking A and B rather than `basis.name`, which users may set."""
    rows = (_FOURIER2,) if double else table
    if isinstance(basis, Basis):
        corner = float(basis.A[0, 0] * basis.timescale)
        for row in rows:
            if row.extra and basis.order % 2 == 0:
                continue
            own = row.ours(basis.order, basis.timescale, corner)
            gap = _distance(basis.A * basis.timescale, basis.B * basis.timescale, _unit(own))
            if gap < SAME and own.window == basis.window:
                return row.theirs(basis)
    names = ", ".join(dict.fromkeys(row.name for row in rows))
    found = repr(basis.name) if isinstance(basis, Basis | ScaledBasis) else repr(basis)
    raise TypeError(
        f"{what} knows {names} in this project's scaling, got {found}; see the table of prophecy.conventions"
    )


def _recognise(
    convention: str, table: tuple[Measure, ...], A: ArrayLike, B: ArrayLike, window: float, dt: float | None = None
) -> Basis:
    matrix, column = _pair(A, B)
    order, window, distances = len(column), _checks.positive("window", window), {}
    for row in table:
        if (row.extra and order % 2) or order <= row.extra:
            continue
        reference = row.theirs(row.ours(order - row.extra, 1.0, float(matrix[0, 0])))
        wanted = (reference.A, reference.B) if dt is None else zoh(reference.A, reference.B, dt / window)[:2]
        distances[row.name] = _distance(A, B, wanted)
        if distances[row.name] < SAME:
            return row.ours(order - row.extra, window, float(matrix[0, 0]))
    name, gap = min(distances.items(), key=lambda item: item[1])
    raise ValueError(
        f"A and B of order {order} are not a {convention} memory: they miss {name}, the nearest, by {gap:.2g} of 1; "
        "check the convention, undo any time scaling or transposition, and leave window out for hippo-code's LegS"
    )


def _unit(basis: Basis) -> Pair:
    return basis.A * basis.timescale, basis.B * basis.timescale


def _pair(A: ArrayLike, B: ArrayLike) -> Pair:
    """A and B as found on disk: B may be a column, and numbers may be float32."""
    column = _checks.real_array("B", B)
    column = column[:, 0] if column.ndim == 2 and column.shape[1] == 1 else column
    order = len(np.atleast_1d(column))
    return _checks.shaped("A", A, (order, order)), _checks.shaped("B", column, (order,))


def _distance(A: ArrayLike, B: ArrayLike, reference: Pair) -> float:
    """The largest difference of an entry, against that entry or 1."""
    matrix, column = _pair(A, B)
    gaps = (
        (found - wanted) / np.maximum(np.abs(wanted), 1)
        for found, wanted in zip((matrix, column), reference, strict=True)
    )
    return float(max(np.abs(gap).max() for gap in gaps))


def _scaled(convention: str, A: ArrayLike, B: ArrayLike, own_window: int) -> ScaledBasis:
    basis = legs(len(_pair(A, B)[1]))
    gap = _distance(A, B, (-basis.A, basis.B))
    if gap > SAME:
        raise ValueError(
            f"without a window A and B must be {convention}'s LegS, and they miss it by {gap:.2g} of an "
            f"entry; for LegT or LagT give window in seconds ({convention}'s own unit is window={own_window})"
        )
    return basis
