"""What is known before any field is solved for: the noise, a smooth path, and coefficients from linear equations."""

from __future__ import annotations

from math import comb

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dct, idct
from scipy.linalg import qr

from prophecy.dynamics import flow
from prophecy.dynamics.flow import Tableau
from prophecy.dynamics.sparse import SparseField, eliminated
from prophecy.dynamics.starts import WEIGHTS, interpolate, solve

Array = NDArray[np.float64]

LEAST_NOISE = 1e-9  # standard deviations: below this, integrators and rounding are the noise
_MEDIAN = 0.6745  # the median of |z| for a standard normal z
_FAR = 3.0  # an error of three standard deviations is as bad as any


def roughness(values: Array) -> Array:
    """The noise of each variable, (variables,): the median size of high differences, which smooth signals lack.

    Differences of order p of white noise have its spread times sqrt(C(2p, p)); the least over the orders is an upper
    bound that is close where a period has more than about six samples.
    """
    return np.asarray(np.maximum(np.min(_differences(values), axis=0), LEAST_NOISE))


def _differences(values: Array) -> Array:
    """The spread of white noise with the median differences that the values have: (orders 2, 3, ..., variables)."""
    found = []
    for order in range(2, min(10, len(values) // 4) + 1):
        weights = np.array([(-1) ** j * comb(order, j) for j in range(order + 1)], dtype=np.float64)
        weights /= np.linalg.norm(weights)
        rest = sum(weight * values[j : len(values) - order + j] for j, weight in enumerate(weights))
        found.append(np.median(np.abs(rest), axis=0) / _MEDIAN)
    return np.array(found)


def smoothed(values: Array, noise: Array) -> Array:
    """Each variable smoothed by penalised third differences, by generalised cross-validation; unchanged where that
    takes away more than the noise.

    In the cosine basis the smoother is diagonal, so that every trade is tried at once.
    """
    line = np.linspace(values[0], values[-1], len(values))
    spectrum = dct(values - line, axis=0, norm="ortho")
    penalty = (2 - 2 * np.cos(np.pi * np.arange(len(values)) / len(values))) ** 3
    out = values.copy()
    for variable in range(values.shape[1]):
        power = spectrum[:, variable] ** 2
        gains = 1 / (1 + 10.0 ** np.linspace(-6, 8, 57)[:, None] * penalty)
        left = 1 - gains.mean(axis=1)
        best = int(np.argmin(((1 - gains) ** 2 @ power) / left**2))
        removed = np.sqrt(((1 - gains[best]) ** 2 @ power) / (len(values) * left[best]))
        if removed < 1.5 * noise[variable]:
            out[:, variable] = idct(gains[best] * spectrum[:, variable], norm="ortho") + line[:, variable]
    return out


def regression(field: SparseField, path: Array, ridge: float = 1e-6) -> SparseField:
    """Coefficients from x[k + 1] - x[k] = integral of the features along the path, these taken as cubic in between."""
    phi = flow.features(field.terms, path)
    inner, rise = integrated(phi), path[2:-1] - path[1:-2]
    theta = np.zeros(field.theta.shape)
    for i in range(field.terms.variables):
        columns = inner[:, field.mask[:, i]]
        norms = np.linalg.norm(columns, axis=0) + 1e-300
        u, s, vt = np.linalg.svd(columns / norms, full_matrices=False)
        gain = s / (s**2 + (ridge * s[0]) ** 2)
        theta[field.mask[:, i], i] = (vt.T @ (gain * (u.T @ rise[:, i]))) / norms
    return field.with_mask(field.mask, theta)


def interpolated(field: SparseField, values: Array, width: int) -> SparseField:
    """The regression with the path between samples taken from the polynomial through the `width` samples around."""
    rows = np.arange(len(values) - 1)
    path, _ = interpolate(values, rows, width)
    points = np.ascontiguousarray(path.reshape(len(path), -1).T)
    phi = flow.features(field.terms, points).reshape(len(rows), len(WEIGHTS), -1)
    system = np.einsum("rnp,n->rp", phi, WEIGHTS)
    theta = np.zeros(field.theta.shape)
    for i in range(field.terms.variables):
        theta[field.mask[:, i], i] = solve(system[:, field.mask[:, i]], np.diff(values[:, [i]], axis=0))[:, 0]
    return field.with_mask(field.mask, theta)


def thinned(field: SparseField, path: Array, kept: int = 20) -> SparseField:
    """The regression with at most `kept` terms in each equation: the others go in the order of how little they do."""
    phi = flow.features(field.terms, path)
    inner, rise = integrated(phi), path[2:-1] - path[1:-2]
    mask, theta = field.mask.copy(), field.theta.copy()
    for i in range(field.terms.variables):
        inside = np.nonzero(mask[:, i])[0]
        norms = np.linalg.norm(inner[:, inside], axis=0) + 1e-300
        u, s, vt = np.linalg.svd(inner[:, inside] / norms, full_matrices=False)
        s = np.maximum(s, 1e-6 * s[0])
        value, inverse = vt.T @ ((u.T @ rise[:, i]) / s), (vt.T / s**2) @ vt
        value, alive = eliminated(value, inverse, np.ones(len(inside), dtype=np.bool_), np.inf, len(inside) - kept)
        theta[inside, i], mask[inside, i] = value / norms, alive
    return field.with_mask(mask, theta)


def integrated(columns: Array) -> Array:
    """(time, ...) -> (time - 3, ...): integrals over the step from 1 to 2, 2 to 3, ... of the cubic through four."""
    return np.asarray((-columns[:-3] + 13 * columns[1:-2] + 13 * columns[2:-1] - columns[3:]) / 24)


def linear_field(field: SparseField, values: Array) -> SparseField | None:
    """The field, linear in the variables, whose flow is the best linear map from sample to sample.

    Where samples are so far apart that no interpolation helps, that map still has a logarithm.
    """
    variables = values.shape[1]
    matrix = np.eye(variables + 1)
    ones = np.column_stack([np.ones(len(values) - 1), values[:-1]])
    matrix[1:] = np.linalg.lstsq(ones, values[1:], rcond=None)[0].T
    eigenvalues, vectors = np.linalg.eig(matrix)
    if np.min(np.abs(eigenvalues)) < 1e-12 or np.linalg.cond(vectors) > 1e8:
        return None
    theta = np.zeros(field.theta.shape)
    generator = np.real(vectors @ np.diag(np.log(eigenvalues + 0j)) @ np.linalg.inv(vectors))[1:]
    theta[: variables + 1] = generator.T
    return field.with_mask(field.mask, theta)


def _cost(rest: Array) -> float:
    return float(np.sqrt(np.mean(np.clip(np.nan_to_num(rest, nan=_FAR), -_FAR, _FAR) ** 2)))


def one_step(
    field: SparseField, values: Array, tableau: Tableau, substeps: int, iterations: int = 8
) -> tuple[SparseField, Array]:
    """The field whose flow takes each value to the next, in least squares, and the errors it leaves, (time - 1, v)."""
    damping = 1e-6
    rest = values[1:] - field.steps(tableau, values[:-1], substeps)
    cost = _cost(rest)
    for _ in range(iterations):
        before = cost
        tangent = field.tangents(tableau, values[:-1], substeps)[1][:, :, field.terms.variables :]
        system, target = tangent.reshape(-1, tangent.shape[2]), rest.reshape(-1)
        sound = np.isfinite(system).all(axis=1) & (np.abs(target) < 10 * _FAR)
        system, target = np.where(sound[:, None], system, 0.0), np.where(sound, target, 0.0)
        norms = np.linalg.norm(system, axis=0) + 1e-300
        triangle = qr(np.column_stack([system / norms, target]), mode="r", check_finite=False)[0]
        triangle = triangle[: system.shape[1]]
        u, s, vt = np.linalg.svd(triangle[:, :-1])
        projected = u.T @ triangle[:, -1]
        for _ in range(4):
            gain = s / (s**2 + (max(damping, 1e-13) * s[0]) ** 2)
            trial = field.moved((vt.T @ (gain * projected)) / norms)
            there = values[1:] - trial.steps(tableau, values[:-1], substeps)
            cost_there = _cost(there)
            if cost_there < cost:
                field, rest, cost = trial, there, cost_there
                break
            damping = max(damping * 30, 1e-5)
        damping /= 10
        if not cost < 0.95 * before:
            break
    return field, rest
