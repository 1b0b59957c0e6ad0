"""Sums of waves that neither grow nor fade: linear recurrences that read the same forwards and backwards.

x[k] + x[k - 2p] = sum_j c_j (x[k - j] + x[k - 2p + j]) + constant, j = 1 ... p, has its roots in pairs r, 1 / r: waves
sit exactly on the unit circle. Half the unknowns of an autoregression, none of its decay: the many-step instability of
one-step predictors does not arise. All variables share the c_j, that is, the frequencies; each has its own constant.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prophecy._arrays import Array, Indices, Mask
from prophecy.forecasting.series import Ahead
from prophecy.laws.context import Rows
from prophecy.laws.damped import Damped

Complex = NDArray[np.complex128]


@dataclass(frozen=True, eq=False)
class FittedWaves:
    """Modes of the scalar recurrence; constants: one per variable, the last entry of its states."""

    lags: int
    spacing: int
    constants: Array
    eigenvalues: Complex
    vectors: Complex

    def predictive(self, values: Array, seen: Mask, origins: Indices, horizon: int) -> Ahead:
        variables = values.shape[1]
        jumps = -(-horizon // self.spacing)
        ends = origins[:, None] - 1 - np.arange(self.spacing)  # samples between the jumps follow from earlier ends
        window = values[ends[..., None] - self.spacing * np.arange(self.lags)]
        states = window.transpose(0, 1, 3, 2).reshape(-1, self.lags)
        states = np.column_stack([states, np.tile(self.constants, ends.size)])
        amplitudes = np.linalg.lstsq(self.vectors, states.T.astype(np.complex128), rcond=1e-15)[0]
        powers = self.eigenvalues[:, None] ** np.arange(1, jumps + 1)
        paths = np.real(np.einsum("m,mh,mo->oh", self.vectors[0], powers, amplitudes, optimize=True))
        paths = paths.reshape(len(origins), self.spacing, variables, jumps)[:, ::-1].transpose(0, 3, 1, 2)
        return paths.reshape(len(origins), -1, variables)[:, :horizon], None


def fit_waves(pairs: int, spacing: int, ridge: float, values: Array, rows: Rows) -> FittedWaves | None:
    """Least squares for the shared coefficients over all variables, by SVD, ridge relative to the largest."""
    lags, variables = 2 * pairs, values.shape[1]
    index = rows.remembering((lags - 1) * spacing + 1)
    index = index[index + spacing < len(values)]
    if len(index) * variables < 2 * (pairs + variables):
        return None
    back = values[index[:, None] + spacing - spacing * np.arange(lags + 1)]
    folded = [back[:, j] + back[:, lags - j] for j in range(1, pairs)] + [back[:, pairs]]
    shared = np.stack(folded, axis=2).transpose(1, 0, 2).reshape(-1, pairs)
    own = np.repeat(np.eye(variables), len(index), axis=0)
    system, target = np.column_stack([shared, own]), (back[:, 0] + back[:, lags]).T.reshape(-1)
    solution = Damped(system, target, scaled=False)(ridge)
    coefficients = np.zeros(lags + 1)
    coefficients[: pairs - 1] = solution[: pairs - 1]
    coefficients[lags - pairs : lags - 1] += solution[: pairs - 1][::-1]
    coefficients[pairs - 1] += solution[pairs - 1]
    coefficients[lags - 1 :] += [-1.0, 1.0]
    # The matrix that takes a state (newest sample first, the constant last) to the next; roots onto the unit circle.
    matrix = np.eye(lags + 1, k=-1)
    matrix[0], matrix[-1] = coefficients, np.eye(1, lags + 1, lags)
    eigenvalues, vectors = np.linalg.eig(matrix.astype(np.complex128))
    return FittedWaves(lags, spacing, solution[pairs:], eigenvalues / np.maximum(np.abs(eigenvalues), 1.0), vectors)
