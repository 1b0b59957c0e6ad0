"""Where Gauss-Newton starts: parameters from linear equations.

In its integral form, x(k + 1) - x(k) = sum_p theta_p int phi_p(x(s)) ds, the equation is linear in theta once the path
between samples is known; a polynomial through the samples around them is a good first guess.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prophecy.dynamics.features import Family

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_NODES, WEIGHTS = np.polynomial.legendre.leggauss(5)  # exact for products of order 9
_NODES, WEIGHTS = (_NODES + 1) / 2, WEIGHTS / 2
_WIDTHS = (8, 4)  # samples a path is interpolated through: order 8, and 4 where derivatives of order 8 are wild
_DEFECTIVE = 1e8  # condition of eigenvectors above which a logarithm has no correct digit


@dataclass(frozen=True, eq=False)
class Paths:
    """The increments of the transitions in `rows`, and guesses of the path and slope in between for each width."""

    rise: Array
    guesses: list[tuple[Array, Array]]
    linear: Array | None

    @classmethod
    def through(cls, values: Array, rows: Indices) -> Paths:
        guesses = [interpolate(values, rows, width) for width in _WIDTHS if width < len(values)]
        return cls(values[rows + 1] - values[rows], guesses, _logarithm(values, rows))


def starts(family: Family, paths: Paths) -> list[Array]:
    """Parameters worth starting from, (size, variables) each."""
    found = []
    for path, slope in paths.guesses:
        phi = integrals(family, path)
        if family.denominator is None:
            found.append(solve(phi, paths.rise))
            continue
        psi = family.divisors(path.reshape(len(path), -1)).reshape(-1, len(paths.rise), len(WEIGHTS))
        systems = [np.column_stack([phi, -((psi * each) @ WEIGHTS).T]) for each in slope]
        for damping in (1e-12, 1e-6, 1e-3):
            columns = [solve(system, paths.rise[:, [i]], damping) for i, system in enumerate(systems)]
            found.append(np.concatenate(columns, axis=1))
    if paths.linear is not None:
        theta = np.zeros((family.size, len(paths.linear)))
        theta[: len(paths.linear) + 1] = paths.linear.T
        found.append(theta)
    return found


def _logarithm(values: Array, rows: Indices) -> Array | None:
    """Where samples are so far apart that no interpolation helps, the linear map still has a logarithm: (v, 1 + v)."""
    variables = values.shape[1]
    matrix = np.eye(variables + 1)
    matrix[1:] = solve(np.column_stack([np.ones(len(rows)), values[rows]]), values[rows + 1]).T
    if not np.all(np.isfinite(matrix)):
        return None
    eigenvalues, vectors = np.linalg.eig(matrix)
    if np.min(np.abs(eigenvalues)) < 1e-12 or np.linalg.cond(vectors) > _DEFECTIVE:
        return None
    return np.asarray(np.real(vectors @ np.diag(np.log(eigenvalues + 0j)) @ np.linalg.inv(vectors))[1:])


def solve(system: Array, target: Array, damping: float = 1e-13) -> Array:
    """Least squares by SVD, columns brought to one length, damped relative to the largest singular value."""
    norms = np.linalg.norm(system, axis=0)
    norms = np.where(norms > 0, norms, 1.0)
    u, s, vt = np.linalg.svd(system / norms, full_matrices=False)
    gain = s / (s**2 + (damping * s[0]) ** 2)
    return np.asarray((vt.T @ (gain[:, None] * (u.T @ target))) / norms[:, None])


def integrals(family: Family, path: Array) -> Array:
    """The features integrated along each step of path (variables, rows, nodes): (rows, upper)."""
    points = path.reshape(len(path), -1)
    return np.asarray((family.features(points).reshape(family.upper, -1, len(WEIGHTS)) @ WEIGHTS).T)


def interpolate(values: Array, rows: Indices, width: int) -> tuple[Array, Array]:
    """Values and slopes between samples k and k + 1, by the polynomial through the `width` samples around them.

    Both (variables, rows, nodes).
    """
    first = np.clip(rows - width // 2 + 1, 0, len(values) - width)
    path = np.empty((values.shape[1], len(rows), len(_NODES)))
    slope = np.empty_like(path)
    for offset in np.unique(first - rows):
        here = np.nonzero(first - rows == offset)[0]
        stencil = values[first[here][:, None] + np.arange(width)]
        centre = offset + (width - 1) / 2
        vander = np.polynomial.legendre.legvander((np.arange(offset, offset + width) - centre) * 2 / width, width - 1)
        to_series = np.linalg.inv(vander)
        at = (_NODES - centre) * 2 / width
        weights = np.polynomial.legendre.legvander(at, width - 1) @ to_series
        series_slopes = np.polynomial.legendre.legder(np.eye(width), axis=0) * 2 / width
        slopes = np.polynomial.legendre.legvander(at, width - 2) @ series_slopes @ to_series
        path[:, here] = np.einsum("nw,hwv->vhn", weights, stencil)
        slope[:, here] = np.einsum("nw,hwv->vhn", slopes, stencil)
    return path, slope
