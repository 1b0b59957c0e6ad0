r"""Lifting: a system over a block of L samples is one matrix, by which all engines but the step and the scan multiply.

    [y; x'] = [[K, O], [R, A^L]] [u; x]        # in the time convention of `engines.step`

K (L, L) is lower-triangular Toeplitz with first column `kernel`: kernel[0] = C B + D, kernel[j] = C A^j B. O (L, N) has
rows C A^(i+1), R (N, L) has columns A^(L-1-j) B. Powers are formed by doubling, in float64 whatever the system's dtype,
so L costs O(log L) products and no more rounding than L steps.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import toeplitz

from prophecy.system import System

Array = NDArray[Any]
Made = TypeVar("Made")
P = ParamSpec("P")


class Lifted(NamedTuple):
    """kernel (L,), observe = O (L, N), reach = R (N, L), power = A^L (N, N), in the system's dtype."""

    kernel: Array
    observe: Array
    reach: Array
    power: Array


KEPT = 16  # things kept of a system: what runs of several lengths and a stream need

_made: WeakKeyDictionary[Any, dict[Any, Any]] = WeakKeyDictionary()


def once(make: Callable[P, Made]) -> Callable[P, Made]:
    """What a function makes of a system and other arguments, the most recent ones; it lives as long as the system.

    Threads may make the same twice; each has a usable copy, and a vanished key is no error.
    """

    @wraps(make)
    def found(*system: P.args, **more: P.kwargs) -> Made:
        known, key = _made.setdefault(system[0], {}), (make, *system[1:])
        made: Made | None = known.get(key)
        if made is None:
            made = known[key] = make(*system, **more)
            for oldest in list(known)[:-KEPT]:
                known.pop(oldest, None)
        return made

    return found


@once
def is_stable(system: System) -> bool:
    """Whether no mode grows (beyond what 10⁷ steps of rounding would hide)."""
    return bool(np.abs(np.linalg.eigvals(system.A.astype(np.float64))).max() < 1 + 1e-7)


@once
def lift(system: System, length: int) -> Lifted:
    """The block matrices of a system for blocks of `length` samples."""
    A, B, C = (matrix.astype(np.float64) for matrix in (system.A, system.B, system.C))
    reach, observe, power, done = B[:, None], (C @ A)[None, :], A, 1  # reach[:, j] = A^j B for now
    while done < length:
        take = min(done, length - done)
        reach = np.concatenate([reach, power @ reach[:, :take]], axis=1)
        observe = np.concatenate([observe, observe[:take] @ power], axis=0)
        power, done = (power @ power if done * 2 <= length else power), done + take
    kernel = C @ reach
    kernel[0] += system.D
    final = np.linalg.matrix_power(A, length)
    parts = (kernel, observe, np.ascontiguousarray(reach[:, ::-1]), final)
    return Lifted(*(_readonly(part, system.dtype) for part in parts))


@once
def block_matrix(system: System, length: int) -> Array:
    """[[K, O], [R, A^L]]ᵀ (L + N, L + N): rows [u, x] times it are rows [y, x']."""
    lifted = lift(system, length)
    K = toeplitz(lifted.kernel, np.zeros(length, system.dtype))
    return _readonly(np.block([[K, lifted.observe], [lifted.reach, lifted.power]]).T.copy(), system.dtype)


def _readonly(array: Array, dtype: np.dtype[Any]) -> Array:
    made = array.astype(dtype)
    made.setflags(write=False)
    return made
