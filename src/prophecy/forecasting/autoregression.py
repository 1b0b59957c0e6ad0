"""Autoregressions with an intercept, of orders 0 to `most`, mixed by Akaike's criterion: what reverts to a mean.

    x[t] = c + Σ φ_k x[t - k] + e,   solved by least squares

Errors h steps ahead have the variance s² Σ_{j<h} ψ_j², ψ the response to one e.
"""

from dataclasses import dataclass

import numpy as np

from prophecy._arrays import Array, Indices, Mask
from prophecy.forecasting.series import Ahead
from prophecy.forecasting.settings import Settings

_LEAST = 1e-3  # of the largest weight: orders with less are left out
_UNIT = 0.9999  # largest modulus of a root: what was solved from noise may not explode


@dataclass(frozen=True, eq=False)
class FittedAutoregressions:
    """centre: of the values. One row of coefficients (orders, most) and one intercept, noise variance and weight per
    order."""

    centre: float
    coefficients: Array
    intercepts: Array
    variances: Array
    weights: Array

    def predictive(self, x: Array, seen: Mask, origins: Indices, steps: int) -> Ahead:
        orders, most = self.coefficients.shape
        past = np.column_stack([x[origins[:, None] - 1 - np.arange(most)] - self.centre, np.ones(len(origins))])
        step = np.concatenate([companions(self.coefficients), np.zeros((orders, most, 1))], axis=2)
        step = np.concatenate([step, np.eye(1, most + 1, most)[None].repeat(orders, axis=0)], axis=1)
        step[:, 0, most] = self.intercepts
        rows = _first_rows(step, steps)
        path = rows @ past.T
        response = np.concatenate([np.ones((orders, 1)), rows[:, :-1, 0]], axis=1)
        locations = np.tensordot(self.weights, path, 1)
        spread = np.tensordot(self.weights, (path - locations) ** 2, 1)
        noise = self.weights @ (self.variances[:, None] * np.cumsum(response**2, axis=1))
        return locations.T + self.centre, np.sqrt(noise + spread.T)


def companions(coefficients: Array) -> Array:
    """(orders, lags, lags): what takes the latest values, newest first, one step ahead."""
    orders, most = coefficients.shape
    return np.concatenate([coefficients[:, None], np.eye(most - 1, most)[None].repeat(orders, axis=0)], axis=1)


def _first_rows(step: Array, steps: int) -> Array:
    """(orders, steps, size): the first rows of the powers 1 … steps of matrices (orders, size, size)."""
    rows, power = step[:, :1], step
    while rows.shape[1] < steps:
        rows, power = np.concatenate([rows, rows @ power], axis=1), power @ power
    return rows[:, :steps]


def fit_autoregressions(x: Array, seen: Mask, settings: Settings) -> FittedAutoregressions | None:
    """None where fewer than five values a coefficient are there."""
    x, seen = x[-settings.longest :], seen[-settings.longest :]
    most = min(settings.autoregression_most, (len(x) - 2) // 5)
    if most < 1:
        return None
    centre = float(x[seen].mean())
    z = x - centre
    lagged = np.column_stack([z[most - 1 - k : len(z) - 1 - k] for k in range(most)])
    used = np.convolve(~seen, np.ones(most + 1), "valid") == 0
    if used.sum() < 3 * most + 3:
        used[:] = True
    lagged, target = lagged[used], z[most:][used]
    n = len(target)
    rows = np.column_stack([np.ones(n), lagged])
    gram, right, power = rows.T @ rows, rows.T @ target, float(target @ target)
    # Nested orders in one solve: rows and columns beyond an order's own are those of the unit matrix.
    order = np.arange(most + 1)
    own = np.tri(most + 1, dtype=np.bool_)
    both = own[:, :, None] & own[:, None, :]
    size = 1e-10 * np.diag(np.diag(gram) + 1e-300)
    c = np.linalg.solve(np.where(both, gram + size, np.eye(most + 1)), np.where(own, right, 0.0)[:, :, None])[:, :, 0]
    left, k = np.maximum(power - c @ right, 1e-13 * power + 1e-300), order + 2
    merit = n * np.log(left / n) + 2 * k * (1 + (k + 1) / np.maximum(n - k - 1, 0.5))
    variances = left / np.maximum(n - k, 1) * (1 + (order + 1) / n)
    weights = np.exp(-(merit - merit.min()) / 2)
    kept = weights > _LEAST
    weights = weights[kept] / weights[kept].sum()
    return FittedAutoregressions(centre, _stable(c[kept, 1:]), c[kept, 0], variances[kept], weights)


def _stable(phi: Array) -> Array:
    """Coefficients (orders, lags) with every root inside the unit circle."""
    radius = np.abs(np.linalg.eigvals(companions(phi))).max(axis=1)
    shrunk = np.minimum(_UNIT / np.maximum(radius, _UNIT), 1.0)
    return np.asarray(phi * shrunk[:, None] ** np.arange(1, phi.shape[1] + 1))
