"""One-step maps solved from the context: from a short memory of all variables to the next increment.

A memory is a matrix: what it keeps of the last `length` samples of each variable is weights @ samples. Delays keep the
samples themselves; a Legendre (HiPPO) memory keeps their first projections. Readouts are linear in features of what is
kept: the kept values themselves, their monomials, or the kernel with every remembered state of the context.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, cholesky, eigh, solve_triangular

from prophecy.bases import legt
from prophecy.laws.context import Rows
from prophecy.laws.damped import solve
from prophecy.laws.features import Monomials
from prophecy.laws.settings import BEYOND, LABORATORY, LaboratorySettings

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


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
    """next = newest + readout(features(memory)); residual is the leave-one-out or one-step error on the context."""

    memory: Memory
    readout: Monomial | Kernel
    residual: float
    conclusive: bool = False
    whole_past: bool = False

    def rollout(self, values: Array, origins: Indices, horizon: int) -> Array:
        window = values[origins[:, None] - 1 - np.arange(self.memory.length)]
        out = np.full((len(origins), horizon, values.shape[1]), np.nan)
        inside = np.arange(len(origins))
        for k in range(horizon):
            latest = window[:, 0] + self.readout(self.memory.keep(window))
            stays = (np.abs(latest) <= BEYOND).all(axis=1)
            inside, latest, window = inside[stays], latest[stays], window[stays]
            if not len(inside):
                break
            out[inside, k] = latest
            window = np.concatenate([latest[:, None], window[:, :-1]], axis=1)
        return out

    def unfamiliar(self, values: Array, origin: int, like: FittedMap | None = None) -> Array:
        """(len(values) - origin,): how little the context says about the step to each sample from `origin` on, as a
        kernel knows it: the posterior standard deviation there; ones where the readout is no kernel.

        like: the map whose width and nugget are taken, so that what two maps say can be compared.
        """
        readout = self.readout if like is None else like.readout
        if not isinstance(self.readout, Kernel) or not isinstance(readout, Kernel):
            return np.ones(len(values) - origin)
        if like is not None:
            readout = Kernel.through(self.readout.centres, self.readout.coefficients, readout.width, readout.nugget)
        return readout.doubt(self.memory.read(values, np.arange(origin - 1, len(values) - 1)))


@dataclass(frozen=True, eq=False)
class Monomial:
    monomials: Monomials
    coefficients: Array

    def __call__(self, kept: Array) -> Array:
        return self.monomials(kept.T).T @ self.coefficients


@dataclass(frozen=True, eq=False)
class Kernel:
    """The inverse multiquadric: as smooth as a Gaussian, and it does not forget between distant points."""

    centres: Array
    width: float
    coefficients: Array
    nugget: float
    factor: Array  # lower Cholesky factor of the kernel between the centres, nugget included

    @classmethod
    def through(cls, centres: Array, rise: Array, width: float, nugget: float) -> Kernel:
        """The readout that passes through `rise` at the centres but for the nugget. LinAlgError: none does."""
        gram = kernel(centres, centres, width)
        gram[np.diag_indices_from(gram)] += nugget
        factor = cholesky(gram, lower=True, overwrite_a=True, check_finite=False)
        return cls(centres, width, cho_solve((factor, True), rise), nugget, factor)

    def __call__(self, kept: Array) -> Array:
        return kernel(kept, self.centres, self.width) @ self.coefficients

    def doubt(self, kept: Array) -> Array:
        """(points,): the standard deviation of a Gaussian process with this kernel there; 1 far from all centres."""
        known = solve_triangular(self.factor, kernel(self.centres, kept, self.width), lower=True, check_finite=False)
        rounding = self.nugget + 100 * np.finfo(np.float64).eps
        return np.asarray(np.sqrt(np.maximum(1 - np.sum(known**2, axis=0), 0.0) + rounding))


def kernel(a: Array, b: Array, width: float) -> Array:
    from scipy.spatial.distance import cdist

    return np.asarray(1.0 / np.sqrt(1.0 + cdist(a, b, "sqeuclidean") / width**2))


def fit_polynomial_map(
    memory: Memory, degree: int, ridge: float, values: Array, rows: Rows, how: LaboratorySettings = LABORATORY
) -> FittedMap | None:
    """Ridge regression of the increments on all monomials of the memory, by SVD; ridge relative to the largest."""
    index = rows.remembering(memory.length)
    if len(index) < 4:
        return None
    kept = memory.read(values, index)
    monomials = Monomials(kept.shape[1], degree)
    if monomials.size > how.determined * len(index):
        return None
    features, rise = monomials(kept.T).T, values[index + 1] - values[index]
    coefficients = solve(features, rise, ridge)
    residual = float(np.sqrt(np.mean((features @ coefficients - rise) ** 2)))
    return FittedMap(memory, Monomial(monomials, coefficients), residual)


def fit_kernel_map(memory: Memory, values: Array, rows: Rows, how: LaboratorySettings = LABORATORY) -> FittedMap | None:
    """Kernel regression of the increments; width and nugget by leave-one-out errors, which are known in closed form."""
    index = rows.remembering(memory.length)
    if len(index) < 4:
        return None
    kept, rise = memory.read(values, index), values[index + 1] - values[index]
    residual, nugget, width = min(_tuned(kept, rise, share, how) for share in how.kernel_widths)
    try:
        return FittedMap(memory, Kernel.through(kept, rise, width, nugget), residual)
    except np.linalg.LinAlgError:
        return None


def left_open(values: Array, rows: Rows, how: LaboratorySettings = LABORATORY) -> float:
    """The share of its size that the rise after a sample has when all other samples are known: 0 where a sample
    determines the next one, as when all variables of a system are seen; 1 where it says nothing about it, or where
    there are too few samples."""
    if len(rows) < how.least:
        return 1.0
    rise = values[rows.index + 1] - values[rows.index]
    error = _tuned(values[rows.index], rise, how.complete_width, how)[0]
    return error / max(float(np.sqrt(np.mean((rise - rise.mean(axis=0)) ** 2))), 1e-300)


def off_ahead(values: Array, pace: int, how: LaboratorySettings = LABORATORY) -> float:
    """By how much, in standard deviations, a kernel over delays a pace apart misses the sample three paces ahead when
    all others are known; inf where there are too few samples. Noise counts, but hardly grows from step to step."""
    memory, ahead = delays(how.seasonal_delays, pace), 3 * pace
    index = np.arange(memory.length - 1, len(values) - ahead)
    if len(index) < how.least:
        return np.inf
    rise = values[index + ahead] - values[index]
    return _tuned(memory.read(values, index), rise, how.complete_width, how)[0] / max(float(values.std()), 1e-300)


def _tuned(kept: Array, rise: Array, share: float, how: LaboratorySettings) -> tuple[float, float, float]:
    """Least leave-one-out error of a kernel `share` times as wide as the states are spread, its nugget, its width."""
    some = np.unique(np.linspace(0, len(kept) - 1, min(how.kernel_tuned, len(kept))).astype(np.intp))
    width = share * (float(np.sqrt(np.mean(np.var(kept, axis=0)) * kept.shape[1])) or 1.0)
    return *leave_one_out(kept[some], rise[some], width, how.nuggets), width


def leave_one_out(
    kept: Array, rise: Array, width: float, nuggets: tuple[float, ...] = LABORATORY.nuggets
) -> tuple[float, float]:
    """The least leave-one-out error over the nuggets, and that nugget: error_i = alpha_i / inverse_ii."""
    eigenvalues, vectors = eigh(kernel(kept, kept, width), check_finite=False)
    projected = vectors.T @ rise
    best = np.inf, 1.0
    for nugget in nuggets:
        inverse = 1.0 / (np.maximum(eigenvalues, 0.0) + nugget)
        errors = (vectors @ (inverse[:, None] * projected)) / ((vectors**2) @ inverse)[:, None]
        best = min(best, (float(np.sqrt(np.mean(errors**2))), nugget))
    return best
