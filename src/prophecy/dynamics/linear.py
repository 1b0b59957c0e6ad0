"""Linear autoregression of all variables, its spectrum clipped to the unit circle so that no horizon is too long."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prophecy.dynamics.context import Rows

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Complex = NDArray[np.complex128]


@dataclass(frozen=True, eq=False)
class FittedLinear:
    """Modes of the companion matrix of x[k + spacing] = sum_i coefficients_i x[k - i spacing] + constant.

    A forecast m spacings after a state is real(vectors @ (eigenvalues**m * amplitudes)); the samples between come from
    the states that end up to `spacing` - 1 samples earlier.
    """

    lags: int
    spacing: int
    eigenvalues: Complex
    vectors: Complex
    residual: float
    conclusive: bool = False

    def rollout(self, values: Array, origins: Indices, horizon: int) -> Array:
        spacing, variables = self.spacing, values.shape[1]
        jumps = -(-horizon // spacing)
        ends = spaced_ends(origins, spacing)
        window = values[ends[..., None] - spacing * np.arange(self.lags)].reshape(ends.size, -1)
        states = np.column_stack([window, np.ones(len(window))])
        amplitudes = np.linalg.lstsq(self.vectors, states.T.astype(np.complex128), rcond=1e-14)[0]
        powers = self.eigenvalues[:, None] ** np.arange(1, jumps + 1)
        paths = np.real(np.einsum("vm,mh,mo->ohv", self.vectors[:variables], powers, amplitudes, optimize=True))
        return interleaved(paths.reshape(len(origins), spacing, jumps, variables), horizon)


def spaced_ends(origins: Indices, spacing: int) -> Indices:
    """The last sample before each origin and those up to `spacing` - 1 earlier: (origins, spacing)."""
    return origins[:, None] - 1 - np.arange(spacing)


def interleaved(paths: Array, horizon: int) -> Array:
    """(origins, spacing, jumps, variables) from `spaced_ends`, `spacing` apart -> (origins, horizon, variables)."""
    merged = paths[:, ::-1].transpose(0, 2, 1, 3)
    return np.asarray(merged.reshape(len(paths), -1, paths.shape[3])[:, :horizon])


def fit_linear(lags: int, spacing: int, ridge: float, values: Array, rows: Rows) -> FittedLinear | None:
    """Ridge regression of the increments over `spacing` on `lags` samples of every variable and a constant, by SVD."""
    index = rows.remembering(lags * spacing)
    index = index[index + spacing < len(values)]
    variables = values.shape[1]
    if len(index) < 4 or lags * variables + 1 > 0.8 * len(index):
        return None
    past = values[index[:, None] - spacing * np.arange(lags)].reshape(len(index), -1)
    features = np.column_stack([past, np.ones(len(index))])
    rise = values[index + spacing] - values[index]
    u, s, vt = np.linalg.svd(features, full_matrices=False)
    coefficients = vt.T @ ((s / (s**2 + (ridge * s[0]) ** 2))[:, None] * (u.T @ rise))
    residual = float(np.sqrt(np.mean((features @ coefficients - rise) ** 2)))
    coefficients[:variables] += np.eye(variables)
    return FittedLinear(lags, spacing, *companion_modes(coefficients), residual)


def companion_modes(coefficients: Array) -> tuple[Complex, Complex]:
    """Eigenvalues, clipped to the unit circle, and eigenvectors of the recurrence whose state ends with a constant.

    coefficients: (lags * variables + 1, variables), newest first, the constant's last.
    """
    size, variables = coefficients.shape
    companion = np.zeros((size, size))
    companion[:variables] = coefficients.T
    companion[variables:-1, : size - 1 - variables] = np.eye(size - 1 - variables)
    companion[-1, -1] = 1.0
    eigenvalues, vectors = np.linalg.eig(companion)
    clipped = eigenvalues / np.maximum(np.abs(eigenvalues), 1.0)
    return clipped.astype(np.complex128), vectors.astype(np.complex128)
