"""Autoregressions with an intercept, of orders 0 to `most`, mixed by Akaike's criterion: what reverts to a mean.

    x[t] = c + Σ φ_k x[t - k] + e,   solved by least squares

Errors h steps ahead have the variance s² Σ_{j<h} ψ_j², ψ the response to one e.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prophecy.forecasting.settings import Settings

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]

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

    def predictive(self, x: Array, seen: Mask, origins: Indices, steps: int) -> tuple[Array, Array | None]:
        orders, most = self.coefficients.shape
        past = (x[origins[:, None] - 1 - np.arange(most)] - self.centre)[:, None, :].repeat(orders, axis=1)
        response, squares = np.zeros((orders, most)), np.zeros((orders, steps))
        path = np.empty((steps, len(origins), orders))
        response[:, 0] = 1.0
        for h in range(steps):
            ahead = self.intercepts + np.einsum("iok,ok->io", past, self.coefficients)
            past = np.concatenate([ahead[:, :, None], past[:, :, :-1]], axis=2)
            path[h] = ahead
            squares[:, h] = response[:, 0] ** 2
            following = np.einsum("ok,ok->o", response, self.coefficients)
            response = np.concatenate([following[:, None], response[:, :-1]], axis=1)
        locations = np.einsum("hio,o->ih", path, self.weights)
        spread = np.einsum("hio,o->ih", (path - locations.T[:, :, None]) ** 2, self.weights)
        noise = self.weights @ (self.variances[:, None] * np.cumsum(squares, axis=1))
        return locations + self.centre, np.sqrt(noise + spread)


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
    coefficients, intercepts = np.zeros((most + 1, most)), np.zeros(most + 1)
    variances, merit = np.zeros(most + 1), np.zeros(most + 1)
    for p in range(most + 1):
        some = gram[: p + 1, : p + 1]
        c = np.linalg.solve(some + 1e-10 * np.diag(np.diag(some) + 1e-300), right[: p + 1])
        left = max(power - float(c @ right[: p + 1]), 1e-13 * power + 1e-300)
        k = p + 2
        merit[p] = n * np.log(left / n) + 2 * k * (1 + (k + 1) / max(n - k - 1, 0.5))
        coefficients[p, :p], intercepts[p] = c[1:], c[0]
        variances[p] = left / max(n - k, 1) * (1 + (p + 1) / n)
    weights = np.exp(-(merit - merit.min()) / 2)
    kept = weights > 1e-3 * weights.max()
    weights = weights[kept] / weights[kept].sum()
    stable = np.array([_stable(each) for each in coefficients[kept]])
    return FittedAutoregressions(centre, stable, intercepts[kept], variances[kept], weights)


def _stable(phi: Array) -> Array:
    """Coefficients with every root inside the unit circle."""
    radius = float(np.abs(np.roots(np.concatenate([[1.0], -phi]))).max(initial=0.0))
    return phi if radius < _UNIT else phi * (_UNIT / radius) ** np.arange(1, len(phi) + 1)
