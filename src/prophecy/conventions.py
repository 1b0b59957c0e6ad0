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

`to_…` gives a basis in the other scaling, which remembers the same signal: run at the step `dt · its timescale / the
original timescale` it gives the same reconstruction. `from_…` takes arrays as found on disk, checks that they are what
they should be, and gives the basis in seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from prophecy import _checks
from prophecy._arrays import Array
from prophecy.bases import Basis, Functions, ScaledBasis, fout, legs, legt
from prophecy.bases import rescaled as rescaled
from prophecy.discretize import zoh
from prophecy.fading import foud, fourier_decay, lagt, legs_invariant

Pair: TypeAlias = tuple[NDArray[Any], NDArray[Any]]

SAME = 1e-6  # arrays on disk may be float32, within 6e-8 of what they stand for


class Row(NamedTuple):
    """One row of the table: our function of (order, timescale), and how its bases become theirs."""

    name: str
    make: Callable[[int, float], Basis]
    unit: float = 1.0  # their window, or their timescale
    change: Callable[[Basis], Basis] | None = None  # of the states, once time is in that unit
    extra: int = 0  # states they have more

    def theirs(self, basis: Basis) -> Basis:
        made = rescaled(basis, self.unit)
        return made if self.change is None else self.change(made)


Table: TypeAlias = Callable[[float], tuple[Row, ...]]  # of Laguerre's tilt


def _after(functions: Functions, matrix: NDArray[Any], ages: Array) -> Array:
    return np.asarray(functions(ages) @ matrix, np.float64)


def transformed(basis: Basis, T: ArrayLike) -> Basis:
    """The same memory with states T x instead of x, T (N, N) invertible: what it remembers does not change.

    A becomes T A T⁻¹, B becomes T B, and the basis functions p T⁻¹, so that p·x stays what it was.
    """
    T = _checks.shaped("T", T, (basis.order, basis.order))
    if not np.linalg.cond(T) < 1 / np.finfo(np.float64).eps:
        raise ValueError(f"T must be invertible, got one of condition number {np.linalg.cond(T):.2g}")
    return _mapped(basis, T, np.linalg.inv(T), f"{basis.name}, states transformed")


def _mapped(basis: Basis, T: NDArray[Any], back: NDArray[Any], name: str) -> Basis:
    """States T x, T (M, N), from which `back` (N, M) gives x."""
    A, B, functions = T @ basis.A @ back, T @ basis.B, partial(_after, basis.functions, back)
    newest, oldest = basis.newest @ back, basis.oldest @ back
    return replace(basis, A=A, B=B, newest=newest, oldest=oldest, functions=functions, name=name)


def to_lmu(basis: Basis) -> Basis:
    """LegT as the Legendre Memory Unit scales it: B_n = (2n+1)(-1)^n, A_nk = (2n+1) {-1 if n < k, else (-1)^(n-k+1)}.

    These are the formulas of App. A.1 with the sign put right; their functions are (-1)^n P_n, so p_n(t, t) = (-1)^n.
    """
    return _convert("to_lmu", _lmu, basis)


def from_lmu(A: ArrayLike, B: ArrayLike, window: float, dt: float | None = None) -> Basis:
    """LegT over `window` seconds from the LMU's A (N, N) and B (N,), which span one unit of time.

    dt: the step in seconds of matrices that are discretised already, by zero-order hold, as keras-lmu keeps them
        (it stores the transposes of A and B).
    """
    return _recognise("LMU", _lmu, A, B, window, dt)


def to_s4(basis: Basis | ScaledBasis, double: bool = False) -> Basis:
    """The basis as S4's `transition` makes it; `double` gives FouT as `fourier2`, over window 1, instead of `fourier`.

    S4 keeps a state for the sine of frequency 0, which is always 0, right after the constant: Fourier memories grow by
    one. LegS is the one S4 runs, `legs_invariant`: without the 1/t of `legs`.
    """
    if isinstance(basis, ScaledBasis):
        raise TypeError("S4 runs LegS without the 1/t; use prophecy.fading.legs_invariant(order, timescale)")
    return _convert("to_s4", _s4, basis, double)


def from_s4(A: ArrayLike, B: ArrayLike, window: float) -> Basis:
    """The memory of S4's A (N, N) and B (N,), recognised by A, with `window` seconds for its window, or its timescale.

    S4's own units: 2 for LegT, FouT and fourier_decay; 1 for the others.
    """
    return _recognise("S4", _s4, A, B, window)


def to_hippox(basis: Basis, double: bool = False) -> Basis:
    """The basis as hippox makes it: as S4 does, but for FouD, whose states it leaves as they are here."""
    return _convert("to_hippox", partial(_s4, fourier=1.0), basis, double)


def from_hippox(A: ArrayLike, B: ArrayLike, window: float) -> Basis:
    """The memory of hippox's A (N, N) and B (N,) over `window` seconds (its LMU form: `from_lmu`)."""
    return _recognise("hippox", partial(_s4, fourier=1.0), A, B, window)


def to_hippo(basis: Basis | ScaledBasis) -> Basis | Pair:
    """The basis as hippo-code's `transition` makes it: LegT over window 1, LagT; for LegS the pair (-A, B)."""
    if isinstance(basis, ScaledBasis):
        return -basis.A, basis.B
    return _convert("to_hippo", _hippo, basis)


def from_hippo(A: ArrayLike, B: ArrayLike, window: float | None = None) -> Basis | ScaledBasis:
    """LegT or LagT over `window` seconds, without a window LegS over the time elapsed, from hippo-code's A
    (N, N) and B (N,)."""
    if window is None:
        matrix, column = _pair(A, B)
        basis = legs(len(column))
        gap = _distance(matrix, column, -basis.A, basis.B)
        if gap > SAME:
            raise ValueError(
                f"without a window A and B must be hippo-code's LegS, and they miss it by {gap:.2g} of an entry; for "
                "LegT or LagT give window in seconds (hippo-code's own unit is window=1)"
            )
        return basis
    return _recognise("hippo", _hippo, A, B, window)


def _lmu(tilt: float) -> tuple[Row, ...]:
    return (Row("LegT", legt, change=_signs_and_scales),)


def _hippo(tilt: float) -> tuple[Row, ...]:
    """Generalised Laguerre states times √β have the norm of the weighted signal."""
    return (
        Row("LegT", legt),
        Row("LagT", partial(lagt, tilt=0.0)),
        Row("GLagT", partial(lagt, tilt=tilt), change=partial(_scaled, rest=np.sqrt(tilt or 1.0))),
    )


def _s4(tilt: float, fourier: float = np.sqrt(0.5)) -> tuple[Row, ...]:
    """S4's FouD has no √2 on the frequencies, hippox's has."""
    return (
        Row("LegT", legt, 2.0),
        Row("FouT", fout, 2.0, _with_dead_state, 1),
        Row("fourier2", fout, 1.0, _with_dead_state, 1),
        Row("LegS", legs_invariant),
        *_hippo(tilt)[1:],
        Row("FouD", foud, 1.0, lambda basis: _with_dead_state(_scaled(basis, fourier, 1.0), rate=-0.5), 1),
        Row("decay", fourier_decay, 2.0, _with_dead_state, 1),
    )


def _signs_and_scales(basis: Basis) -> Basis:
    n = np.arange(basis.order)
    return replace(transformed(basis, np.diag((-1.0) ** n * np.sqrt(2.0 * n + 1))), name="LegT (LMU)")


def _scaled(basis: Basis, rest: float, first: float | None = None) -> Basis:
    """States times a number, the first of them times another."""
    return transformed(basis, np.diag([rest if first is None else first] + [rest] * (basis.order - 1)))


def _with_dead_state(basis: Basis, rate: float = 0.0) -> Basis:
    narrow = np.delete(np.eye(basis.order + 1), 1, axis=0)  # (N, N + 1): all states but the one after the first
    made = _mapped(basis, narrow.T, narrow, f"{basis.name} (S4)")
    dead = np.zeros_like(made.A)
    dead[1, 1] = rate / basis.timescale
    return replace(made, A=made.A + dead)


def _tilt(A: NDArray[Any]) -> float:
    """β of a Laguerre memory of timescale 1, by A[0, 0] = -(1 + β)/2."""
    return float(np.clip(-2 * A[0, 0] - 1, 0, 1))


def _convert(what: str, table: Table, basis: object, double: bool = False) -> Basis:
    """By the first row whose memory it is, checking A and B rather than `basis.name`, which users may set."""
    own = rescaled(basis, 1.0) if isinstance(basis, Basis) else None
    rows = [row for row in table(_tilt(own.A) if own else 0.0) if not double or row.name == "fourier2"]
    for row in rows:
        if own is None or (row.extra and own.order % 2 == 0):
            continue
        wanted = row.make(own.order, 1.0)
        if _distance(own.A, own.B, wanted.A, wanted.B) < SAME and np.isclose(own.window, wanted.window):
            return row.theirs(own)
    raise TypeError(
        f"{what} knows {', '.join(row.name for row in rows)} in this project's scaling, got "
        f"{getattr(basis, 'name', basis)!r}; see the table of prophecy.conventions"
    )


def _recognise(
    convention: str, table: Table, A: ArrayLike, B: ArrayLike, window: float, dt: float | None = None
) -> Basis:
    matrix, column = _pair(A, B)
    order, window, distances = len(column), _checks.positive("window", window), {}
    for row in table(_tilt(matrix)):
        if (row.extra and order % 2) or order <= row.extra:
            continue
        reference = row.theirs(row.make(order - row.extra, 1.0))
        wanted = (reference.A, reference.B) if dt is None else zoh(reference.A, reference.B, dt / window)[:2]
        distances[row.name] = _distance(matrix, column, *wanted)
        if distances[row.name] < SAME:
            return row.make(order - row.extra, window)
    name, gap = min(distances.items(), key=lambda item: item[1])
    raise ValueError(
        f"A and B of order {order} are not a {convention} memory: they miss {name}, the nearest, by {gap:.2g} of 1; "
        "check the convention, undo any time scaling or transposition, and leave window out for hippo-code's LegS"
    )


def _pair(A: ArrayLike, B: ArrayLike) -> Pair:
    """A and B as found on disk: B may be a column, and numbers may be float32."""
    column = _checks.real_array("B", B)
    column = column[:, 0] if column.ndim == 2 and column.shape[1] == 1 else column
    order = len(np.atleast_1d(column))
    return _checks.shaped("A", A, (order, order)), _checks.shaped("B", column, (order,))


def _distance(A: Array, B: Array, wanted_A: Array, wanted_B: Array) -> float:
    """The largest difference of an entry, against that entry or 1."""
    gaps = [np.abs(a - b) / np.maximum(np.abs(b), 1) for a, b in ((A, wanted_A), (B, wanted_B))]
    return float(max(gap.max() for gap in gaps))
