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
    """Modes of the companion matrix: the forecast k steps ahead is real(shapes @ (eigenvalues**k * amplitudes))."""

    lags: int
    eigenvalues: Complex
    vectors: Complex
    residual: float
    conclusive: bool = False

    def rollout(self, values: Array, origins: Indices, horizon: int) -> Array:
        window = values[origins[:, None] - 1 - np.arange(self.lags)].reshape(len(origins), -1)
        states = np.column_stack([window, np.ones(len(origins))])
        amplitudes = np.linalg.lstsq(self.vectors, states.T.astype(np.complex128), rcond=1e-14)[0]
        powers = self.eigenvalues[:, None] ** np.arange(1, horizon + 1)
        shapes = self.vectors[: values.shape[1]]
        return np.real(np.einsum("vm,mh,mo->ohv", shapes, powers, amplitudes, optimize=True))


def fit_linear(lags: int, ridge: float, values: Array, rows: Rows) -> FittedLinear | None:
    """Ridge regression of the increments on `lags` samples of every variable and a constant, by SVD."""
    index = rows.remembering(lags)
    variables = values.shape[1]
    if len(index) < 4 or lags * variables + 1 > 0.8 * len(index):
        return None
    features = np.column_stack([values[index[:, None] - np.arange(lags)].reshape(len(index), -1), np.ones(len(index))])
    rise = values[index + 1] - values[index]
    u, s, vt = np.linalg.svd(features, full_matrices=False)
    coefficients = vt.T @ ((s / (s**2 + (ridge * s[0]) ** 2))[:, None] * (u.T @ rise))
    residual = float(np.sqrt(np.mean((features @ coefficients - rise) ** 2)))
    size = lags * variables + 1
    companion = np.zeros((size, size))
    companion[:variables] = coefficients.T
    companion[:variables, :variables] += np.eye(variables)
    companion[variables:-1, : size - 1 - variables] = np.eye(size - 1 - variables)
    companion[-1, -1] = 1.0
    eigenvalues, vectors = np.linalg.eig(companion)
    clipped = eigenvalues / np.maximum(np.abs(eigenvalues), 1.0)
    return FittedLinear(lags, clipped.astype(np.complex128), vectors.astype(np.complex128), residual)
