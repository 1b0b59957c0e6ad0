"""Linear autoregression of all variables, its spectrum clipped to the unit circle so that no horizon is too long."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prophecy.forecasting.settings import DEFAULT, Settings
from prophecy.laws.context import Rows
from prophecy.laws.damped import Damped

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Complex = NDArray[np.complex128]


@dataclass(frozen=True, eq=False)
class FittedLinear:
    """x[k + spacing] = sum_i coefficients_i x[k - i spacing] + constant, and the modes of its companion matrix.

    Where all modes are stable the recurrence is stepped. Otherwise the forecast m spacings after a state is
    real(vectors @ (eigenvalues**m * amplitudes)) with the eigenvalues clipped. The samples between come from the states
    that end up to `spacing` - 1 samples earlier.
    """

    lags: int
    spacing: int
    coefficients: Array
    eigenvalues: Complex
    vectors: Complex
    stable: bool

    def rollout(self, values: Array, origins: Indices, horizon: int) -> Array:
        spacing, variables = self.spacing, values.shape[1]
        jumps = -(-horizon // spacing)
        ends = spaced_ends(origins, spacing)
        window = values[ends[..., None] - spacing * np.arange(self.lags)].reshape(ends.size, -1)
        states = np.column_stack([window, np.ones(len(window))])
        paths = self._stepped(states, jumps) if self.stable else self._modal(states, jumps)
        return interleaved(paths.reshape(len(origins), spacing, jumps, variables), horizon)

    def _stepped(self, states: Array, jumps: int) -> Array:
        variables = self.coefficients.shape[1]
        out = np.empty((len(states), jumps, variables))
        for k in range(jumps):
            latest = states @ self.coefficients
            states = np.column_stack([latest, states[:, : -1 - variables], states[:, -1]])
            out[:, k] = latest
        return out

    def _modal(self, states: Array, jumps: int) -> Array:
        variables = self.coefficients.shape[1]
        amplitudes = np.linalg.lstsq(self.vectors, states.T.astype(np.complex128), rcond=1e-14)[0]
        powers = self.eigenvalues[:, None] ** np.arange(1, jumps + 1)
        modes = np.einsum("vm,mh,mo->ohv", self.vectors[:variables], powers, amplitudes, optimize=True)
        return np.asarray(np.real(modes))


def spaced_ends(origins: Indices, spacing: int) -> Indices:
    """The last sample before each origin and those up to `spacing` - 1 earlier: (origins, spacing)."""
    return origins[:, None] - 1 - np.arange(spacing)


def interleaved(paths: Array, horizon: int) -> Array:
    """(origins, spacing, jumps, variables) from `spaced_ends`, `spacing` apart -> (origins, horizon, variables)."""
    merged = paths[:, ::-1].transpose(0, 2, 1, 3)
    return np.asarray(merged.reshape(len(paths), -1, paths.shape[3])[:, :horizon])


def fit_linear(
    lags: int, spacing: int, ridge: float, values: Array, rows: Rows, settings: Settings = DEFAULT
) -> FittedLinear | None:
    """Ridge regression of the increments over `spacing` on `lags` samples of every variable and a constant, by SVD."""
    index = rows.remembering(lags * spacing)
    index = index[index + spacing < len(values)]
    variables = values.shape[1]
    if len(index) < 4 or lags * variables + 1 > settings.determined * len(index):
        return None
    past = values[index[:, None] - spacing * np.arange(lags)].reshape(len(index), -1)
    features = np.column_stack([past, np.ones(len(index))])
    rise = values[index + spacing] - values[index]
    coefficients = Damped(features, rise, scaled=False)(ridge)
    coefficients[:variables] += np.eye(variables)
    # A trend is a double root at 1, where modes are ill-defined; a little growth is better than that.
    stable = bool(np.max(np.abs(np.linalg.eigvals(companion(coefficients)))) < 1 + settings.growth)
    return FittedLinear(lags, spacing, coefficients, *companion_modes(coefficients), stable)


def companion(coefficients: Array) -> Array:
    """The matrix that takes a state (newest sample first, a constant last) to the next.

    coefficients: (lags * variables + 1, variables), newest first, the constant's last.
    """
    size, variables = coefficients.shape
    matrix = np.zeros((size, size))
    matrix[:variables] = coefficients.T
    matrix[variables:-1, : size - 1 - variables] = np.eye(size - 1 - variables)
    matrix[-1, -1] = 1.0
    return matrix


def companion_modes(coefficients: Array) -> tuple[Complex, Complex]:
    """Eigenvalues, clipped to the unit circle, and eigenvectors of the companion matrix."""
    eigenvalues, vectors = np.linalg.eig(companion(coefficients))
    clipped = eigenvalues / np.maximum(np.abs(eigenvalues), 1.0)
    return clipped.astype(np.complex128), vectors.astype(np.complex128)
