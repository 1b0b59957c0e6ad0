r"""Lifting: a system over a block of L samples is one matrix (used by the lifted, FFT and torch engines).

    [y; x'] = [[K, O], [R, A^L]] [u; x]

K (L, L) is lower-triangular Toeplitz with first column `kernel`: kernel[0] = C B + D, kernel[j] = C A^j B. O (L, N) has
rows C A^(i+1), R (N, L) has columns A^(L-1-j) B. Powers are formed by doubling, in float64 whatever the system's dtype,
so L costs O(log L) products and no more rounding than L steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import toeplitz

from prophecy.system import System

Array = NDArray[Any]
Kept = TypeVar("Kept")


class Lifted(NamedTuple):
    """kernel (L,), observe = O (L, N), reach = R (N, L), power = A^L (N, N), in the system's dtype."""

    kernel: Array
    observe: Array
    reach: Array
    power: Array


KEPT = 24 << 20
"""Bytes of lifted matrices kept per system and kind: two full blocks of the FFT engine at order 64 (8.4 MB each), so
that a whole block and the odd rest of a run stay at hand, while a stream of runs of ever new lengths stays bounded."""

# What has been lifted lives as long as its system, the most recently made up to KEPT bytes.
_lifted: WeakKeyDictionary[System, dict[int, Lifted]] = WeakKeyDictionary()
_blocks: WeakKeyDictionary[System, dict[int, Array]] = WeakKeyDictionary()
_stable: WeakKeyDictionary[System, bool] = WeakKeyDictionary()


def is_stable(system: System) -> bool:
    """Whether no mode grows (beyond what 10⁷ steps of rounding would hide)."""
    if system not in _stable:
        _stable[system] = bool(np.abs(np.linalg.eigvals(system.A.astype(np.float64))).max() < 1 + 1e-7)
    return _stable[system]


def lift(system: System, length: int) -> Lifted:
    """The block matrices of a system for blocks of `length` samples."""
    known = _lifted.setdefault(system, {})
    found = known.get(length)
    if found is None:
        found = _lift(system, length)
        _keep(known, length, found, lambda lifted: sum(part.nbytes for part in lifted))
    return found


def _lift(system: System, length: int) -> Lifted:
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


def block_matrix(system: System, length: int) -> Array:
    """[[K, O], [R, A^L]]ᵀ (L + N, L + N): rows [u, x] times it are rows [y, x']."""
    known = _blocks.setdefault(system, {})
    found = known.get(length)
    if found is None:
        lifted = lift(system, length)
        K = toeplitz(lifted.kernel, np.zeros(length, system.dtype))
        found = _readonly(np.block([[K, lifted.observe], [lifted.reach, lifted.power]]).T.copy(), system.dtype)
        _keep(known, length, found, lambda block: block.nbytes)
    return found


def _keep(known: dict[int, Kept], length: int, made: Kept, size: Callable[[Kept], int]) -> None:
    """Keep what was made for this length, and let go of the oldest until KEPT bytes hold the rest.

    Threads may make the same length twice; each keeps a usable copy, and a vanished key is no error.
    """
    known[length] = made
    total = sum(size(one) for one in list(known.values()))
    for oldest in list(known):
        if total <= KEPT or oldest == length:
            break
        gone = known.pop(oldest, None)
        total -= size(gone) if gone is not None else 0


def _readonly(array: Array, dtype: np.dtype[Any]) -> Array:
    made = array.astype(dtype)
    made.setflags(write=False)
    return made
