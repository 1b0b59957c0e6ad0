"""What is known before any field is solved for: the noise, a smooth path, and coefficients from linear equations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dct, idct

from prophecy.laws import flow
from prophecy.laws.damped import LEAST, Damped, solve
from prophecy.laws.flow import Tableau
from prophecy.laws.settings import LAWS, ExactSettings
from prophecy.laws.sparse import SparseField, eliminated
from prophecy.laws.starts import WEIGHTS, interpolate

Array = NDArray[np.float64]
Counts = NDArray[np.int64]

LEAST_NOISE = 1e-9  # standard deviations: below this, integrators and rounding are the noise
_MEDIAN = 0.6745  # the median of |z| for a standard normal z
_ENOUGH = 16  # differences whose median says how large noise is, to about a quarter
_HELD = 1e-9  # singular values below this share of the largest belong to directions that nothing determines


@dataclass
class Budget:
    """Derivatives that may still be computed, per sample: work is bounded by a count, so that answers do not depend on
    the clock."""

    left: float = np.inf


def roughness(values: Array, seen: NDArray[np.bool_] | None = None) -> Array:
    """The noise of each variable, (variables,): the median size of high differences, which smooth signals lack.

    Differences of order p of white noise have its standard deviation times sqrt(C(2p, p)); the least over the orders is
    an upper bound that is close where a period has more than about six samples.
    seen: which values, or rows, were observed. What gaps are filled with is smooth and says nothing about noise.
    """
    if seen is None or seen.all():
        return np.asarray(np.maximum(np.min(_differences(values), axis=0), LEAST_NOISE))
    there = np.broadcast_to(seen if seen.ndim == 2 else seen[:, None], values.shape)
    return np.array([_of_seen(column, each) for column, each in zip(values.T, there.T, strict=True)])


def _of_seen(column: Array, seen: NDArray[np.bool_]) -> float:
    """The same of one variable, from samples in a row that were all observed; of all where such rows are too few."""
    found = []
    for order, rest in _high_differences(column):
        inside = np.all([seen[j : len(seen) - order + j] for j in range(order + 1)], axis=0)
        if inside.sum() >= _ENOUGH:
            found.append(float(np.median(np.abs(rest[inside])) / _MEDIAN))
    return max(min(found), LEAST_NOISE) if found else float(roughness(column[:, None])[0])


def _differences(values: Array) -> Array:
    """Standard deviation of the white noise whose differences are as large, in the median: (orders 2 …, variables)."""
    return np.array([np.median(np.abs(rest), axis=0) / _MEDIAN for _, rest in _high_differences(values)])


def _high_differences(values: Array) -> Iterator[tuple[int, Array]]:
    """Orders from 2 on, and differences of (time, …) of that order that keep the size of white noise."""
    for order in range(2, min(10, len(values) // 4) + 1):
        weights = np.array([(-1) ** j * comb(order, j) for j in range(order + 1)], dtype=np.float64)
        weights /= np.linalg.norm(weights)
        yield order, sum((w * values[j : len(values) - order + j] for j, w in enumerate(weights)), np.zeros(1))


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
        theta[field.mask[:, i], i] = solve(inner[:, field.mask[:, i]], rise[:, i], ridge)
    return field.with_mask(field.mask, theta)


def interpolated(
    field: SparseField,
    values: Array,
    width: int,
    nats: float = 0.0,
    rows: NDArray[np.intp] | None = None,
    damping: float = LEAST,
) -> SparseField:
    """The regression with the path between samples taken from the polynomial through the `width` samples around.

    Each step counts by how well its path is known, so that where samples are too far apart for the fastest moments the
    slow ones determine the law. Terms worth less than `nats` are left out. rows: the steps it is solved from, all where
    None.
    """
    rows = np.arange(len(values) - 1) if rows is None else rows
    path, _ = interpolate(values, rows, width)
    points = np.ascontiguousarray(path.reshape(len(path), -1).T)
    phi = flow.features(field.terms, points).reshape(len(rows), len(WEIGHTS), -1)
    system, rise = np.einsum("rnp,n->rp", phi, WEIGHTS), np.diff(values, axis=0)[rows]
    error = unsure(values, width)[rows]
    weight = 1 / np.maximum(error, np.quantile(error, 0.1) + 1e-12)
    system, rise = weight[:, None] * system, weight[:, None] * rise
    if nats:
        return _selected(field, system, rise, len(field.theta), nats)
    theta = np.zeros(field.theta.shape)
    for i in range(field.terms.variables):
        theta[field.mask[:, i], i] = solve(system[:, field.mask[:, i]], rise[:, [i]], damping)[:, 0]
    return field.with_mask(field.mask, theta)


def unsure(values: Array, width: int = 8) -> Array:
    """How far polynomials through `width` samples and through half as many are apart in each step, (time - 1,)."""
    rows = np.arange(len(values) - 1)
    apart = interpolate(values, rows, width)[0] - interpolate(values, rows, width // 2)[0]
    return np.asarray(np.abs(apart).max(axis=(0, 2)))


def thinned(field: SparseField, path: Array, most: int, nats: float) -> SparseField:
    """The regression along a smooth path with at most `most` terms in each equation, none worth less than `nats`.

    The errors of neighbouring steps are alike, so that what seems to be worth some nats may be worth nothing, and terms
    that assimilation wants back can come back.
    """
    phi = flow.features(field.terms, path)
    return _selected(field, integrated(phi), path[2:-1] - path[1:-2], most, nats)


def _selected(field: SparseField, system: Array, rise: Array, most: int, nats: float) -> SparseField:
    """Backward elimination in the linear equations system @ theta = rise, each variable on its own."""
    mask, theta = field.mask.copy(), field.theta.copy()
    for i in range(field.terms.variables):
        inside = np.nonzero(mask[:, i])[0]
        norms = np.linalg.norm(system[:, inside], axis=0) + 1e-300
        u, s, vt = np.linalg.svd(system[:, inside] / norms, full_matrices=False)
        s = np.maximum(s, _HELD * s[0])
        value = vt.T @ ((u.T @ rise[:, i]) / s)
        left = rise[:, i] - (system[:, inside] / norms) @ value
        spread = float(left @ left) / max(1, len(left) - len(inside)) + 1e-300
        inverse = (vt.T / s**2) @ vt * spread
        alive = np.ones(len(inside), dtype=np.bool_)
        value, alive = eliminated(value, inverse, alive, np.inf, len(inside) - most)
        value, alive = eliminated(value, _without(inverse, alive), alive, 2 * nats, len(inside))
        theta[inside, i], mask[inside, i] = value / norms, alive
    return field.with_mask(mask, theta)


def _without(inverse: Array, alive: NDArray[np.bool_]) -> Array:
    """The covariance of what is alive when the rest is held at zero."""
    gone = np.nonzero(~alive)[0]
    if not len(gone):
        return inverse
    across = inverse[:, gone]
    return np.asarray(inverse - across @ np.linalg.pinv(inverse[np.ix_(gone, gone)]) @ across.T)


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
    matrix[1:][field.own] = np.linalg.lstsq(ones, values[1:], rcond=None)[0].T[field.own]
    eigenvalues, vectors = np.linalg.eig(matrix)
    if np.min(np.abs(eigenvalues)) < 1e-12 or np.linalg.cond(vectors) > 1e8:
        return None
    theta = np.zeros(field.theta.shape)
    generator = np.real(vectors @ np.diag(np.log(eigenvalues + 0j)) @ np.linalg.inv(vectors))[1:]
    theta[: variables + 1] = generator.T
    return field.with_mask(field.mask, theta)


class Steps(NamedTuple):
    """Samples and the ones after them, (steps, variables) each."""

    before: Array
    after: Array

    @classmethod
    def of(cls, values: Array, known: NDArray[np.bool_] | None = None) -> Steps:
        """All steps of (time, variables) between samples that are known."""
        if known is None or known.all():
            return cls(values[:-1], values[1:])
        both = known[:-1] & known[1:]
        return cls(values[:-1][both], values[1:][both])

    def missed(self, field: SparseField, tableau: Tableau, substeps: int | Counts) -> Array:
        """What the field's flow misses each step by; inputs, which jump, are missed by nothing."""
        return np.asarray(np.where(field.own, self.after - field.steps(tableau, self.before, substeps), 0.0))


def _cost(rest: Array, robust: bool, far: float) -> float:
    size = np.minimum(np.nan_to_num(np.abs(rest), nan=far), far)
    return float(np.mean(np.sqrt(size))) if robust else float(np.sqrt(np.mean(size**2)))


def one_step(
    field: SparseField,
    steps: Steps,
    tableau: Tableau,
    substeps: int | Counts,
    iterations: int = 8,
    robust: bool = False,
    far: float | None = None,
    budget: Budget | None = None,
    exact: ExactSettings = LAWS.exact,
) -> tuple[SparseField, Array]:
    """The field whose flow takes each value to the next, in least squares, and the errors it leaves, (steps, v).

    robust: least roots of absolute errors instead, so that a few steps that are far off do not pull at the others.
    far: an error, in standard deviations, that is as bad as any, `exact.far` where None; steps ten times as far off are
    left out.
    budget: the work it may do.
    """
    damping, far = 1e-6, exact.far if far is None else far
    rest = steps.missed(field, tableau, substeps)
    cost = _cost(rest, robust, far)
    first, shaped = cost, field.count > field.coefficients  # shapes of functions make narrow valleys
    budget = budget or Budget()
    for iteration in range(iterations if field.count else 0):
        budget.left -= float(np.mean(substeps)) * len(tableau.weights) / 4 * (field.count + rest.shape[1])
        if budget.left < 0:
            break
        late = robust and iteration == exact.patience and np.median(np.abs(rest)) > exact.close
        if late and cost > exact.progress * first:
            break
        before = cost
        tangent = field.tangents(tableau, steps.before, substeps)[1][:, :, field.terms.variables :]
        system, target = tangent.reshape(-1, tangent.shape[2]), rest.reshape(-1)
        sound = np.isfinite(system).all(axis=1) & (np.abs(target) < 10 * far)
        weight = np.where(sound, _weights(target) if robust else 1.0, 0.0)
        system = np.where(sound[:, None], system, 0.0) * weight[:, None]
        target = np.where(sound, target, 0.0) * weight
        change, taken = Damped(system, target, long=True), False
        for _ in range(4):
            trial = field.moved(change(max(damping, LEAST)))
            there = steps.missed(trial, tableau, substeps)
            cost_there = _cost(there, robust, far)
            if cost_there < cost:
                field, rest, cost, taken = trial, there, cost_there, True
                break
            damping = max(damping * 30, 1e-5)
        damping /= 10 if cost < 0.95 * before else 1000
        if not taken or (cost > 0.95 * before and (not shaped or damping < exact.undamped)):
            break
    return field, rest


def _weights(rest: Array) -> Array:
    """Under which least squares minimises the sum of square roots of absolute errors: most of them small, a few not."""
    size = np.nan_to_num(np.abs(rest), nan=np.inf)
    return np.asarray(np.maximum(size, np.median(size) + 1e-12) ** -0.75)
