r"""The same memories in the scalings other people have on disk.

Three things differ between code bases: the unit of time, the scaling of the states, and signs.

| convention | LegT | FouT | LegS |
|---|---|---|---|
| here | orthonormal states, time in seconds | the same | x' = (-A x + B u)/t |
| `s4` (state-spaces/s4) | window 2: A, B halved | window 2, a dead state after the constant | A with its minus sign |
| `hippo` (hippo-code) | window 1 | – | A with its minus sign |
| `lmu` (LMU, Nengo) | states (-1)^n x_n √(2n+1), window 1 | – | – |

`to_…` gives a basis in the other scaling. It is a `Basis` like any other, so constructions, engines and reconstruction
work on it, and it remembers the same signal: running it at the step `dt · its window / the original window` gives the
same reconstruction. `from_…` takes arrays as found on disk, checks that they are what they should be, and gives the
basis in seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from prophecy import _checks
from prophecy.bases import Array, Basis, Functions, ScaledBasis, fout, legs, legt

Pair: TypeAlias = tuple[NDArray[Any], NDArray[Any]]

SAME = 1e-6  # arrays on disk may be float32, within 6e-8 of what they stand for


def rescaled(basis: Basis, window: float) -> Basis:
    """The same memory with time in another unit, so that it spans `window`."""
    window = _checks.positive("window", window)
    ratio = basis.window / window
    return Basis(
        A=basis.A * ratio,
        B=basis.B * ratio,
        newest=basis.newest,
        oldest=basis.oldest,
        window=window,
        functions=partial(_stretched, basis.functions, ratio),
        name=basis.name,
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
    return Basis(
        A=T @ basis.A @ inverse,
        B=T @ basis.B,
        newest=basis.newest @ inverse,
        oldest=basis.oldest @ inverse,
        window=basis.window,
        functions=partial(_after, basis.functions, inverse),
        name=f"{basis.name}, states transformed",
    )


def to_lmu(basis: Basis) -> Basis:
    """LegT as the Legendre Memory Unit scales it: B_n = (2n+1)(-1)^n, A_nk = (2n+1) {-1 if n < k, else (-1)^(n-k+1)}.

    These are the formulas of App. A.1 with the sign put right; their functions are (-1)^n P_n, so p_n(t, t) = (-1)^n.
    """
    _need(basis, legt, "to_lmu")
    n = np.arange(basis.order)
    return replace(transformed(rescaled(basis, 1.0), np.diag((-1.0) ** n * np.sqrt(2.0 * n + 1))), name="LegT (LMU)")


def from_lmu(A: ArrayLike, B: ArrayLike, window: float) -> Basis:
    """LegT over `window` seconds from the LMU's A and B, which span one unit of time."""
    return _recognise("LMU", A, B, window, {"LegT": lambda order: to_lmu(legt(order, 1.0))}, {"LegT": legt})


def to_s4(basis: Basis | ScaledBasis) -> Basis | Pair:
    """The basis as S4's `transition` makes it: window 2 for LegT and FouT; for LegS the pair (-A, B).

    S4 keeps a state for the sine of frequency 0, which is always 0, right after the constant: FouT grows by one.
    """
    if isinstance(basis, ScaledBasis):
        return -basis.A, basis.B
    if isinstance(basis, Basis) and basis.order % 2 and _is(basis, fout):
        return _with_dead_state(rescaled(basis, 2.0))
    _need(basis, legt, "to_s4")
    return rescaled(basis, 2.0)


def from_s4(A: ArrayLike, B: ArrayLike, window: float | None = None) -> Basis | ScaledBasis:
    """LegT or FouT over `window` seconds (told apart by A itself), or, without a window, LegS, from S4's A and B."""
    if window is None:
        return _scaled("S4", A, B, own_window=2)
    made = {
        "LegT": lambda order: legt(order, 2.0),
        "FouT": lambda order: _with_dead_state(fout(order - 1, 2.0)),
    }
    return _recognise("S4", A, B, window, made, {"LegT": legt, "FouT": lambda order, theta: fout(order - 1, theta)})


def to_hippo(basis: Basis | ScaledBasis) -> Basis | Pair:
    """The basis as hippo-code's `transition` makes it: LegT over window 1; for LegS the pair (-A, B)."""
    if isinstance(basis, ScaledBasis):
        return -basis.A, basis.B
    _need(basis, legt, "to_hippo")
    return rescaled(basis, 1.0)


def from_hippo(A: ArrayLike, B: ArrayLike, window: float | None = None) -> Basis | ScaledBasis:
    """LegT over `window` seconds, or, without a window, LegS, from hippo-code's A and B."""
    if window is None:
        return _scaled("hippo", A, B, own_window=1)
    return _recognise("hippo", A, B, window, {"LegT": lambda order: legt(order, 1.0)}, {"LegT": legt})


def _with_dead_state(basis: Basis) -> Basis:
    widen = np.delete(np.eye(basis.order + 1), 1, axis=0)  # (N, N + 1): states in, a zero after the first
    return Basis(
        A=widen.T @ basis.A @ widen,
        B=basis.B @ widen,
        newest=basis.newest @ widen,
        oldest=basis.oldest @ widen,
        window=basis.window,
        functions=partial(_after, basis.functions, widen),
        name="FouT (S4)",
    )


def _pair(A: ArrayLike, B: ArrayLike) -> Pair:
    """A and B as found on disk: B may be a column, and numbers may be float32."""
    column = _checks.real_array("B", B)
    column = column[:, 0] if column.ndim == 2 and column.shape[1] == 1 else column
    order = len(np.atleast_1d(column))
    return _checks.shaped("A", A, (order, order)), _checks.shaped("B", column, (order,))


def _recognise(
    convention: str,
    A: ArrayLike,
    B: ArrayLike,
    window: float,
    made: dict[str, Callable[[int], Basis]],
    ours: dict[str, Callable[[int, float], Basis]],
) -> Basis:
    order, window, distances = len(_pair(A, B)[1]), _checks.positive("window", window), {}
    for name, make in made.items():
        if name == "FouT" and order % 2:
            continue
        reference = make(order)
        distances[name] = _distance(A, B, (reference.A, reference.B))
        if distances[name] < SAME:
            return ours[name](order, window)
    nearest = ", ".join(f"{name} by {gap:.2g}" for name, gap in distances.items())
    raise ValueError(
        f"A and B of order {order} are not a {convention} memory with a window: they miss {nearest} of an "
        "entry; check the convention, undo any time scaling, and leave window out for LegS"
    )


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
            f"entry; for LegT or FouT give window in seconds ({convention}'s own unit is window={own_window})"
        )
    return basis


def _is(basis: Basis, family: Callable[[int, float], Basis]) -> bool:
    """Whether this is the family's own memory, judged by its matrices: names can be given to anything."""
    own = family(basis.order, basis.window)
    return _distance(basis.A * basis.window, basis.B * basis.window, (own.A * own.window, own.B * own.window)) < SAME


def _need(basis: object, family: Callable[[int, float], Basis], what: str) -> None:
    if not isinstance(basis, Basis) or not _is(basis, family):
        found = repr(basis.name) if isinstance(basis, Basis | ScaledBasis) else repr(basis)
        raise TypeError(f"{what} knows {family.__name__} bases in this project's scaling, got {found}; see its table")
