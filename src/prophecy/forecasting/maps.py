"""One-step maps solved from the context: from a short memory of all variables to the next increment.

A memory is a matrix: what it keeps of the last `length` samples of each variable is weights @ samples. Delays keep the
samples themselves; a Legendre (HiPPO) memory keeps their first projections. Readouts are linear in features of what is
kept: the kept values themselves, their monomials, or the kernel with every remembered state of the context.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh

from prophecy._arrays import Array, Indices, Mask
from prophecy.bases import legt
from prophecy.forecasting.series import Ahead
from prophecy.forecasting.settings import DEFAULT, Settings
from prophecy.laws.context import Rows
from prophecy.laws.damped import solve

#: Of the kernel matrix's unit diagonal: rounding at one end, pure noise at the other.
NUGGETS = (1e-12, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2, 1e-1, 1.0)


@dataclass(frozen=True, eq=False)
class Memory:
    """weights: (kept, length); column 0 belongs to the newest sample."""

    weights: Array

    @property
    def length(self) -> int:
        return int(self.weights.shape[1])

    def read(self, values: Array, ends: Indices) -> Array:
        """What is kept after each sample in `ends`: (ends, kept * variables), newest first."""
        window = values[ends[:, None] - np.arange(self.length)]
        return self.keep(window)

    def keep(self, window: Array) -> Array:
        """window: (points, length, variables), newest first."""
        return (self.weights @ window).reshape(len(window), -1)


def delays(count: int, spacing: int = 1) -> Memory:
    """`count` samples, `spacing` apart."""
    return Memory(np.eye((count - 1) * spacing + 1)[::spacing])


def legendre(order: int, length: int) -> Memory:
    """The newest sample and the first `order` LegT coefficients of the last `length` samples."""
    basis = legt(order=order, window=float(length))
    projections = basis.evaluate(np.arange(length) + 0.5).T / length
    return Memory(np.vstack([np.eye(1, length), projections]))


@dataclass(frozen=True, eq=False)
class FittedMap:
    """next = newest + readout(features(memory)); a range away from the values it was solved from it knows nothing."""

    memory: Memory
    readout: Callable[[Array], Array]
    low: Array
    high: Array

    @classmethod
    def within(cls, memory: Memory, readout: Callable[[Array], Array], values: Array) -> FittedMap:
        low, high = values.min(axis=0), values.max(axis=0)
        return cls(memory, readout, 2 * low - high, 2 * high - low)

    def predictive(self, values: Array, seen: Mask, origins: Indices, horizon: int) -> Ahead:
        window = values[origins[:, None] - 1 - np.arange(self.memory.length)]
        out = np.full((len(origins), horizon, values.shape[1]), np.nan)
        inside = np.arange(len(origins))
        for k in range(horizon):
            latest = window[:, 0] + self.readout(self.memory.keep(window))
            stays = ((latest >= self.low) & (latest <= self.high)).all(axis=1)
            inside, latest, window = inside[stays], latest[stays], window[stays]
            if not len(inside):
                break
            out[inside, k] = latest
            window = np.concatenate([latest[:, None], window[:, :-1]], axis=1)
        return out, None


def kernel(a: Array, b: Array, width: float) -> Array:
    """The inverse multiquadric: as smooth as a Gaussian, and it does not forget between distant points."""
    from scipy.spatial.distance import cdist

    return np.asarray(1.0 / np.sqrt(1.0 + cdist(a, b, "sqeuclidean") / width**2))


def fit_polynomial_map(
    memory: Memory, degree: int, ridge: float, values: Array, rows: Rows, settings: Settings = DEFAULT
) -> FittedMap | None:
    """Ridge regression of the increments on all monomials of the memory, by SVD; ridge relative to the largest."""
    from prophecy.laws import flow  # not needed for most series

    index = rows.remembering(memory.length)
    if len(index) < 4:
        return None
    kept = memory.read(values, index)
    terms = flow.polynomial_terms(kept.shape[1], degree)
    if terms.size > settings.determined * len(index):
        return None
    coefficients = solve(flow.features(terms, kept), values[index + 1] - values[index], ridge)
    return FittedMap.within(memory, lambda some: flow.features(terms, some) @ coefficients, values)


def fit_kernel_map(
    memory: Memory, values: Array, rows: Rows, settings: Settings = DEFAULT, quick: bool = False
) -> FittedMap | None:
    """Kernel regression of the increments; width and nugget by leave-one-out errors. quick: one width, and the latest
    states alone."""
    index, widths, tuned = rows.remembering(memory.length), settings.kernel_widths, settings.kernel_tuned
    if len(index) < 4:
        return None
    if quick:
        index, widths, tuned = index[-tuned:], widths[1:2], tuned // 2
    kept, rise = memory.read(values, index), values[index + 1] - values[index]
    _, nugget, width = min(_tuned(kept, rise, share, tuned) for share in widths)
    gram = kernel(kept, kept, width)
    gram[np.diag_indices_from(gram)] += nugget
    try:
        coefficients = cho_solve(cho_factor(gram, lower=True, overwrite_a=True, check_finite=False), rise)
    except np.linalg.LinAlgError:
        return None
    return FittedMap.within(memory, lambda some: kernel(some, kept, width) @ coefficients, values)


def left_open(values: Array, rows: Rows, settings: Settings = DEFAULT) -> float:
    """The share of its size that the rise after a sample has when all other samples are known: 0 where a sample
    determines the next one, as when all variables of a system are seen; 1 where it says nothing about it, or where
    there are too few samples."""
    if len(rows) < settings.least:
        return 1.0
    rise = values[rows.index + 1] - values[rows.index]
    error = _tuned(values[rows.index], rise, settings.kernel_widths[1], settings.kernel_tuned)[0]
    return error / max(float(np.sqrt(np.mean((rise - rise.mean(axis=0)) ** 2))), 1e-300)


def _tuned(kept: Array, rise: Array, share: float, count: int) -> tuple[float, float, float]:
    """Least leave-one-out error of a kernel `share` times as wide as the states are spread, its nugget, its width; from
    `count` of the states."""
    some = np.unique(np.linspace(0, len(kept) - 1, min(count, len(kept))).astype(np.intp))
    width = share * (float(np.sqrt(np.mean(np.var(kept, axis=0)) * kept.shape[1])) or 1.0)
    return *leave_one_out(kept[some], rise[some], width), width


def leave_one_out(kept: Array, rise: Array, width: float) -> tuple[float, float]:
    """The least leave-one-out error over the nuggets, and that nugget: error_i = alpha_i / inverse_ii."""
    eigenvalues, vectors = eigh(kernel(kept, kept, width), check_finite=False)
    projected = vectors.T @ rise
    best = np.inf, 1.0
    for nugget in NUGGETS:
        inverse = 1.0 / (np.maximum(eigenvalues, 0.0) + nugget)
        errors = (vectors @ (inverse[:, None] * projected)) / ((vectors**2) @ inverse)[:, None]
        best = min(best, (float(np.sqrt(np.mean(errors**2))), nugget))
    return best
