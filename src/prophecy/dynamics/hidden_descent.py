"""Levenberg-Marquardt steps over hidden states and coefficients together, compiled from end to end.

A search tries dozens of starts with some steps each; called from Python, a step spends more time between its parts than
in them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prophecy._compiled import inner, kernel
from prophecy.dynamics.flow import Tableau, Terms, steps
from prophecy.dynamics.hidden_steps import along, reduce, right_side, substituted
from prophecy.dynamics.hidden_tangents import powers_tangents

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


class Tuning(NamedTuple):
    """How steps are damped; see `Settings.hidden_*`.

    relaxed, tightened: factors of the damping after a success and a failure; least: below it, squared equations lose
    their digits; stiffness: damping of scaled parameters relative to that of hidden states; accelerated: largest
    second-order correction that is trusted, as a share of the step; ahead: share of the step at which its curvature is
    measured; rejections: failures in a row that end a descent; lost: mean square defect of a field that leads nowhere.
    """

    relaxed: float
    tightened: float
    least: float
    stiffness: float
    accelerated: float
    ahead: float
    rejections: int
    lost: float


@inner
def _factored(matrix: Array) -> bool:
    """Cholesky's factor into the lower triangle, in place; whether the matrix is positive definite."""
    for i in range(len(matrix)):
        for j in range(i + 1):
            total = matrix[i, j]
            for m in range(j):
                total -= matrix[i, m] * matrix[j, m]
            if i == j:
                if not total > 0.0:
                    return False
                matrix[i, i] = np.sqrt(total)
            else:
                matrix[i, j] = total / matrix[j, j]
    return True


@inner
def _solved(factor: Array, right: Array) -> Array:
    """matrix \\ right from the factor of `_factored`."""
    out = right.copy()
    n = len(out)
    for i in range(n):
        for m in range(i):
            out[i] -= factor[i, m] * out[m]
        out[i] /= factor[i, i]
    for i in range(n - 1, -1, -1):
        for m in range(i + 1, n):
            out[i] -= factor[m, i] * out[m]
        out[i] /= factor[i, i]
    return out


@kernel
def monomials(terms: Terms, points: Array) -> Array:
    """Features of a field of powers at each of (points, variables): (points, terms)."""
    out = np.ones((len(points), len(terms.parents)))
    for k in range(len(points)):
        for p in range(1, out.shape[1]):
            out[k, p] = out[k, terms.parents[p]] * points[k, terms.factors[p]]
    return out


@kernel
def standardised(
    terms: Terms, theta: Array, states: Array, seen: int, points: Array, inverse: Array
) -> tuple[Array, Array]:
    """Coefficients and states with hidden variables uncorrelated with all others, of mean 0 and variance 1.

    points: (points, variables) at which the field is compared in old and new variables; inverse: the pseudo-inverse of
    its features there. Both as they are where a variable is an affine function of the others.
    """
    v = states.shape[1]
    means, root = np.zeros(v), np.zeros((v, v))
    for i in range(v):
        means[i] = states[:, i].mean()
    for i in range(v):
        for j in range(i + 1):
            root[i, j] = np.mean((states[:, i] - means[i]) * (states[:, j] - means[j]))
    least = 1e-14 * np.trace(root)
    for i in range(v):
        root[i, i] += least
    if not (np.isfinite(np.sum(root)) and _factored(root)):
        return theta, states
    matrix, centre = np.eye(v), np.zeros(v)
    for i in range(seen, v):  # rows of the inverse of the factor, which makes new variables from old ones
        row = np.zeros(v)
        row[i] = 1.0
        for j in range(i, -1, -1):
            for m in range(j + 1, i + 1):
                row[j] -= row[m] * root[m, j]
            row[j] /= root[j, j]
        matrix[i] = row
        centre[i] = np.sum(row * means)
    before = points + centre
    for k in range(len(points)):
        for i in range(seen, v):
            for j in range(i):
                before[k, i] -= matrix[i, j] * before[k, j]
            before[k, i] /= matrix[i, i]
    slopes = np.dot(np.dot(monomials(terms, before), theta), matrix.T)
    return np.dot(inverse, slopes), np.dot(states, matrix.T) - centre


@inner
def _moved(theta: Array, states: Array, seen: int, change: Array, shift: Array, size: float) -> tuple[Array, Array]:
    there, onward = theta.copy(), states.copy()
    terms = len(theta)
    for c in range(len(change)):
        there[c % terms, c // terms] += size * change[c]
    for k in range(len(states)):
        for i in range(shift.shape[1]):
            onward[k, seen + i] += size * shift[k, i]
    return there, onward


@inner
def _defects(terms: Terms, theta: Array, tableau: Tableau, states: Array, substeps: Indices) -> Array:
    return np.asarray(steps(terms, theta, tableau, states[:-1], substeps) - states[1:])


@kernel
def descend(
    terms: Terms,
    theta: Array,
    tableau: Tableau,
    states: Array,
    substeps: Indices,
    seen: int,
    damping: float,
    most: int,
    enough: float,
    least_gain: float,
    tuning: Tuning,
) -> tuple[Array, Array, float, float, bool]:
    """At most `most` steps from (theta, states), until the misfit is below `enough` or falls by less than a share.

    All coefficients are free. Returns coefficients, states, damping, the misfit (root mean square distance between the
    flow's ends and the next states) and whether going on may help.
    """
    misfit, onward = np.inf, True
    for _ in range(most):
        ends, tangent = powers_tangents(terms, theta, tableau, states[:-1], substeps)
        defects = ends - states[1:]
        cost = np.sum(defects * defects)
        misfit = np.sqrt(cost / defects.size)
        if not (cost < tuning.lost * len(defects) and np.isfinite(np.sum(tangent))):
            return theta, states, damping, np.inf, False
        better = cost
        for _ in range(tuning.rejections):
            reduced = reduce(tangent, seen, damping)
            count = theta.size
            norms, matrix = np.empty(count), np.empty((count, count))
            for a in range(count):
                norms[a] = np.sqrt(max(reduced.matrix[a, a], 1e-300))
            for a in range(count):
                for b in range(count):
                    matrix[a, b] = reduced.matrix[a, b] / (norms[a] * norms[b])
                matrix[a, a] += (tuning.stiffness * damping) ** 2 + 1e-14
            if not _factored(matrix):
                damping *= tuning.tightened
                continue
            states_right, right = right_side(tangent, defects, seen, reduced)
            change = _solved(matrix, right / norms) / norms
            shift = substituted(reduced, states_right, change)
            near, close = _moved(theta, states, seen, change, shift, tuning.ahead)
            bent = _defects(terms, near, tableau, close, substeps) - defects
            bend = 2 / tuning.ahead * (bent / tuning.ahead - along(tangent, shift, change, seen))
            if np.isfinite(np.sum(bend)):
                states_right, right = right_side(tangent, bend, seen, reduced)
                further = _solved(matrix, right / norms) / norms
                more = substituted(reduced, states_right, further)
                if np.sum(more * more) < tuning.accelerated**2 * np.sum(shift * shift):
                    step, walk = change + 0.5 * further, shift + 0.5 * more
                    near, close = _moved(theta, states, seen, step, walk, 1.0)
                    better = np.sum(_defects(terms, near, tableau, close, substeps) ** 2)
            if not better < cost:
                near, close = _moved(theta, states, seen, change, shift, 1.0)
                better = np.sum(_defects(terms, near, tableau, close, substeps) ** 2)
            if better < cost:
                theta, states = near, close
                damping = max(damping / tuning.relaxed, tuning.least)
                break
            damping *= tuning.tightened
        after = np.sqrt(better / defects.size) if better < cost else misfit
        onward = after >= enough and after < (1 - least_gain) * misfit
        misfit = after
        if not onward:
            break
    return theta, states, damping, misfit, onward
