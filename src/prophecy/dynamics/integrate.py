"""Steps of an autonomous vector field, for many starting points at once, and how they depend on everything.

States are (variables, points) here: a column is a point, so a field is one matrix product.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import DOP853

Array = NDArray[np.float64]
Counts = NDArray[np.int64]
VectorField = Callable[[Array], Array]

# Dormand and Prince's eighth-order tableau: a field sampled coarsely needs order more than it needs substeps.
_A: Array = np.asarray(DOP853.A[:12, :12], dtype=np.float64)
_B: Array = np.asarray(DOP853.B, dtype=np.float64)
_E5: Array = np.asarray(DOP853.E5[:12], dtype=np.float64)
_E3: Array = np.asarray(DOP853.E3[:12], dtype=np.float64)
_QUARTERS = 4  # parts of a step at whose ends sensitivities are computed
# Boole's rule on the ends of the four quarters: exact to degree 5.
_BOOLE = np.array([7.0, 32.0, 12.0, 32.0, 7.0]) / 90.0
_NUDGE = 1e-6  # standard deviations: step of the differences that stand for derivatives by the start
_SHORTEST = 1 / 32  # of a sample: what still is too fast for that is not worth following


def step(field: VectorField, x: Array, substeps: int | Counts = 1) -> Array:
    """The state one sample later, by `substeps` steps of order 8, one number or one for each point."""
    if isinstance(substeps, np.ndarray):
        out = np.empty_like(x)
        for count in np.unique(substeps):
            here = substeps == count
            out[:, here] = step(field, x[:, here], int(count))
        return out
    for _ in range(substeps):
        x, _ = _stages(field, x, 1.0 / substeps)
    return x


def follow(field: VectorField, x: Array, steps: int, tolerance: float, bound: float) -> Array:
    """The next samples of the flow, (steps, variables, points), with as many substeps as the tolerance needs.

    Points beyond `bound` have left for good: they are not followed, and their values are NaN.
    """
    out = np.full((steps, *x.shape), np.nan)
    inside = np.arange(x.shape[1])
    h = 1.0
    for k in range(steps):
        x, h = _adaptive(field, x, h, tolerance)
        stays = (np.abs(x) <= bound).all(axis=0)
        if not stays.all():
            x, inside = x[:, stays], inside[stays]
        if not len(inside):
            break
        out[k][:, inside] = x
    return out


def _adaptive(field: VectorField, x: Array, h: float, tolerance: float) -> tuple[Array, float]:
    """One sample ahead by equal shares of what is left, near h; the h that the next one may start with."""
    left = 1.0
    while left > 1e-12:
        share = left / max(np.ceil(left / h - 1e-9), 1.0)
        y, slopes = _stages(field, x, share)
        error = _error(slopes) * share
        wish = share * min(4.0, 0.9 * (tolerance / max(error, 1e-300)) ** 0.125) if np.isfinite(error) else share / 4
        if error <= tolerance or share < 1.01 * _SHORTEST:
            x, left = y, left - share
            h = min(max(wish, _SHORTEST), 1.0)
        else:
            h = max(min(wish, share / 2), _SHORTEST)
    return x, h


def _error(slopes: Array) -> float:
    """The error of a step of unit length, from the tableau's two embedded formulas."""
    fifth, third = _E5 @ slopes, _E3 @ slopes
    return float(np.max(fifth**2 / np.sqrt(fifth**2 + 0.01 * third**2 + 1e-300)))


def _stages(field: VectorField, x: Array, h: float) -> tuple[Array, Array]:
    slopes = np.empty((12, x.size))
    slopes[0] = field(x).reshape(-1)
    for stage in range(1, 12):
        slopes[stage] = field(x + h * (_A[stage, :stage] @ slopes[:stage]).reshape(x.shape)).reshape(-1)
    return x + h * (_B @ slopes).reshape(x.shape), slopes


def _runge_kutta(field: VectorField, x: Array, h: float) -> Array:
    a = field(x)
    b = field(x + h / 2 * a)
    c = field(x + h / 2 * b)
    return x + h / 6 * (a + 2 * b + 2 * c + field(x + h * c))


def sensitivities(
    field: VectorField, gradients: VectorField, x: Array, substeps: int | Counts = 1
) -> tuple[Array, Array]:
    """First-order change of one step from x with its start and with the field's parameters.

    gradients(x): (variables or 1, parameters, points), the derivative of the field with each variable's parameters.
    Returns transition (points, variables, variables) and response (points, variables, variables, parameters), where
    response[:, i, j, p] is the change of variable i after the step with parameter p of variable j.

    Order 4 is plenty: the residual that they are used to reduce is computed with `step`.
    """
    if isinstance(substeps, np.ndarray):
        counts = np.unique(substeps)
        if len(counts) == 1:
            return sensitivities(field, gradients, x, int(counts[0]))
        order = np.argsort(substeps, kind="stable")
        parts = [sensitivities(field, gradients, x[:, substeps == count], int(count)) for count in counts]
        back = np.argsort(order)
        return np.concatenate([p[0] for p in parts])[back], np.concatenate([p[1] for p in parts])[back]
    transition, response, x = _sensitivities(field, gradients, x, 1.0 / substeps)
    for _ in range(substeps - 1):
        onward, more, x = _sensitivities(field, gradients, x, 1.0 / substeps)
        response = (onward @ response.reshape(*response.shape[:2], -1)).reshape(response.shape) + more
        transition = onward @ transition
    return transition, response


def _sensitivities(field: VectorField, gradients: VectorField, x: Array, span: float) -> tuple[Array, Array, Array]:
    variables, points = x.shape
    h = span / _QUARTERS
    path = [x]
    for _ in range(_QUARTERS):
        path.append(_runge_kutta(field, path[-1], h))
    nudged = np.repeat(np.stack(path[:-1], axis=1)[:, None], variables, axis=1)
    for variable in range(variables):
        nudged[variable, variable] += _NUDGE
    ends = _runge_kutta(field, nudged.reshape(variables, -1), h).reshape(nudged.shape)
    quarters = ((ends - np.stack(path[1:], axis=1)[:, None]) / _NUDGE).transpose(2, 3, 0, 1)
    onward = np.broadcast_to(np.eye(variables), (points, variables, variables))
    response: Array = np.zeros(())
    for node in range(_QUARTERS, -1, -1):
        gradient = gradients(path[node]).transpose(2, 0, 1)[:, None]
        response = response + span * _BOOLE[node] * onward[..., None] * gradient
        if node:
            onward = onward @ quarters[node - 1]
    return np.asarray(onward), response, path[-1]


def needed_substeps(field: VectorField, x: Array, tolerance: float = 1e-10, most: int = 16) -> Counts:
    """The fewest substeps, a power of two for each point, with which a step from there has converged."""
    substeps = np.ones(x.shape[1], dtype=np.int64)
    unsettled = np.arange(x.shape[1])
    count, coarse = 1, step(field, x)
    while len(unsettled) and count < most:
        fine = step(field, x[:, unsettled], 2 * count)
        rough = np.abs(fine - coarse).max(axis=0) > tolerance
        unsettled, coarse, count = unsettled[rough], fine[:, rough], 2 * count
        substeps[unsettled] = count
    return substeps
