"""The shortest of all equations that hold along the samples.

Where something is conserved, or one variable is a function of others, terms of a field are combinations of each other
along the whole series: the coefficients that explain it are then not one point but a plane, and least squares, or
removing terms one after the other, end anywhere on it. All of its points make the same forecast; people want the one
with the fewest terms.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.linalg import qr

from prophecy._arrays import Array, Indices, Mask
from prophecy.laws import flow
from prophecy.laws.damped import solve
from prophecy.laws.flow import RECIPROCAL, SINE, SparseField

_KEPT = 200  # sets of terms that are followed from each size to the next: all pairs of 20 terms
_WORK = 80_000  # sets times the square of the columns: fewer sets are followed where there are many columns
_FEW = 30  # the same through noise
_MANY = 12  # terms of an equation that others are not looked for in place of: it is no law
_SAME = 1e-6  # standard deviations: a variable that others determine that well in every row is a sum of them
_TURNS = 0.0, np.pi / 2  # phases of a plain sine and cosine
_ALONE = 1e-10  # of a column: what those of a set leave of it must be more, or it is one of them


def eliminated(
    value: Array, root: Array, alive: Mask, limit: float, most: int, enough: int | None = None
) -> tuple[Array, Array, Mask]:
    """Backward elimination under a quadratic cost: the minimiser and a square root of its covariance, (entries, any),
    without the weak terms; the others follow as far as they are correlated with these.

    The term whose removal costs least goes first, as long as that is at most `limit`, and at most `most` of them go.
    alive: the entries that may go; as long as more than `enough` of them are left they go whatever that costs.
    """
    removable, enough = alive.copy(), len(value) if enough is None else enough
    for _ in range(most):
        variance = np.einsum("pr,pr->p", root, root)
        loss = np.where(removable, value**2 / np.maximum(variance, 1e-300), np.inf)
        weakest = int(np.argmin(loss))
        if not loss[weakest] <= limit and removable.sum() <= enough:
            break
        share = root @ root[weakest] / max(variance[weakest], 1e-300)
        value, root = value - share * value[weakest], root - np.outer(share, root[weakest])
        removable[weakest], value[weakest] = False, 0.0
    return value, root, removable


def shortest(field: SparseField, family: SparseField, points: Array, left: float) -> SparseField | None:
    """The field with the fewest terms of the family that is the same at the points, up to `left`; None where it has no
    fewer.

    left: root mean square, standard deviations a sample.
    """
    phi = flow.features(family.terms, points)
    target = phi @ field.theta
    rows = float(np.sqrt(len(points)))
    phi, target = phi / rows, target / rows
    sound = np.asarray(np.isfinite(phi).all(axis=0))
    powers = flow.powers(family.terms)
    mask, theta = field.mask.copy(), field.theta.copy()
    few = 2 if len(family.terms.kinds) else 0  # sines of some phase are always combinations of plain ones
    for i in np.nonzero(mask.sum(axis=0) > few)[0]:
        inside = np.nonzero(family.mask[:, i] & sound)[0]

        def rank(chosen: list[int], own: int = int(i), terms: Indices = inside) -> tuple[Any, ...]:
            degree = powers[terms[chosen]].sum(axis=1)
            return int(degree.sum()), int(degree.max()), -int((powers[terms[chosen], own] > 0).sum()), chosen

        chosen = inside[fewest(phi[:, inside], target[:, i], left, int(mask[:, i].sum()), rank)]
        if len(chosen):
            mask[:, i], theta[:, i] = False, 0.0
            mask[chosen, i] = True
            theta[chosen, i] = solve(phi[:, chosen], target[:, i])
    return None if np.array_equal(mask, field.mask) else field.with_mask(mask, theta)


def widened(field: SparseField, family: SparseField) -> tuple[SparseField, SparseField]:
    """Field and family in a wider table, in which equations that have functions may have any term: every pole times all
    products of two variables, and beside a sine of some phase the plain sine and cosine; as they are where there are
    neither. u / (1 + v^2) + u v^2 / (1 + v^2) is u."""
    terms, v = family.terms, family.terms.variables
    plain = (terms.kinds == SINE) & ~terms.bends.any(axis=(1, 2))
    if RECIPROCAL not in terms.kinds and not plain.any():
        return field, family
    before = flow.powers(terms)
    degree = int(before[before[:, v:].sum(axis=1) == 0].sum(axis=1).max())
    reach = int(before[before[:, v:].sum(axis=1) > 0, :v].sum(axis=1).max()) + 1
    functions = terms.functions
    functions += [f._replace(shift=turn) for f, sine in zip(functions, plain, strict=True) if sine for turn in _TURNS]
    if RECIPROCAL in terms.kinds:
        degree, reach = max(degree, 2), max(reach, 3)
    more = flow.polynomial_terms(v, degree, functions, reach)
    places = {tuple(row): place for place, row in enumerate(flow.powers(more).tolist())}
    none = [0] * (len(functions) - len(terms.kinds))
    place = np.array([places[(*row, *none)] for row in before.tolist()])
    found = []
    for each in (family, field):
        theta, mask = np.zeros((more.size, v)), np.zeros((more.size, v), dtype=np.bool_)
        theta[place], mask[place] = each.theta, each.mask
        found.append(SparseField(more, theta, mask, each.shaped))
    shaped = np.asarray(flow.powers(more)[:, v:].any(axis=1))
    found[0].mask[:, (found[0].mask & shaped[:, None]).any(axis=0)] = True
    return found[1], found[0]


def relations(values: Array) -> list[tuple[int, list[tuple[int, float]], float]]:
    """Variables of (time, variables) that are a constant and multiples of earlier ones in every row: which, the others
    with their factors, and the constant. Up to a millionth of its standard deviation; the fewest others are named."""
    spread = np.where(values.std(axis=0) > 0, values.std(axis=0), 1.0)
    scaled = (values - values.mean(axis=0)) / spread / np.sqrt(len(values))
    found: list[tuple[int, list[tuple[int, float]], float]] = []
    free: list[int] = []
    for i in range(values.shape[1]):
        chosen = [free[j] for j in fewest(scaled[:, free], scaled[:, i], _SAME, len(free), tuple)]
        if not chosen:
            free.append(i)
            continue
        factors = solve(scaled[:, chosen], scaled[:, i]) * spread[i] / spread[chosen]
        constant = float(values[:, i].mean() - values[:, chosen].mean(axis=0) @ factors)
        size = float(np.abs(values[:, i]).max())
        found.append(
            (i, list(zip(chosen, factors.tolist(), strict=True)), constant if abs(constant) > _SAME * size else 0.0)
        )
    return found


def fewest(
    columns: Array, target: Array, left: float, most: int, rank: Callable[[list[int]], tuple[Any, ...]]
) -> list[int]:
    """The columns of a sum that leaves less than `left` (a length) of the target: the fewest, `most` at most.

    Among equally few the first by `rank`; [] where none are found. Sets grow by one column at a time, the best of
    each size being followed, so that all sets of two are tried and larger ones are found through their better parts.
    """
    if np.linalg.norm(target) <= left:
        return []
    kept = int(np.clip(_WORK / max(columns.shape[1], 1) ** 2, _FEW, _KEPT))
    for sets, rest in _growing(columns, target, most, kept):
        if (rest <= left).any():
            return min((sorted(each) for each in sets[rest <= left].tolist()), key=rank)
    return []


def exchanged(system: Array, target: Array, chosen: Mask, equations: list[Indices], limit: float) -> tuple[Array, Mask]:
    """Other terms for one equation after the other where these are cheaper in least squares, system @ x = target: x
    and which of its entries are there.

    chosen: those that are there so far; equations: for each the entries that may be, of which no more are taken than
    there were; limit: what every term costs. Where terms are nearly combinations of each other, those that joined one
    by one need not be the fewest. Equations of one term or of very many stay as they are.
    """
    chosen = chosen.copy()
    for own in equations:
        count = int(chosen[own].sum())
        if not 1 < count <= _MANY:
            continue
        held = chosen.copy()
        held[own] = False
        base = np.linalg.qr(system[:, held])[0]
        columns, rest = (each - base @ (base.T @ each) for each in (system[:, own], target))
        costs = [(left[0] ** 2 + limit * sets.shape[1], sets[0]) for sets, left in _growing(columns, rest, count, _FEW)]
        best = min(costs, key=lambda each: each[0], default=(np.inf, np.zeros(0, dtype=np.intp)))[1]
        chosen[own] = False
        chosen[own[best]] = True
    x = np.zeros(len(chosen))
    x[chosen] = solve(system[:, chosen], target)
    return x, chosen


def _growing(columns: Array, target: Array, most: int, kept: int) -> Iterator[tuple[Indices, Array]]:
    """Sets of one column, of two and so on, at most `kept` of each size, and the lengths that they leave of the target;
    those that leave least come first."""
    size = np.linalg.norm(columns, axis=0)
    system = np.column_stack([columns / np.where(size > 0, size, 1.0), target])
    rest = qr(system, mode="r", check_finite=False)[0][: system.shape[1]][None]
    sets = np.zeros((1, 0), dtype=np.intp)
    for _ in range(min(most, columns.shape[1])):
        sets, rest = _grown(sets, rest, kept)
        if not len(sets):
            return
        yield sets, np.linalg.norm(rest[:, :, -1], axis=1)


def _grown(sets: Indices, rest: Array, kept: int) -> tuple[Indices, Array]:
    """Sets with one more column, those that leave least of the target (the last column), and what each leaves of all.

    sets: (sets, columns); rest: (sets, rows, columns + 1).
    """
    count = rest.shape[2] - 1
    alone = np.linalg.norm(rest[:, :, :count], axis=1)
    free = alone > _ALONE
    np.put_along_axis(free, sets, False, axis=1)
    unit = rest[:, :, :count] / np.where(free, alone, 1.0)[:, None, :]
    share = np.einsum("srp,sr->sp", unit, rest[:, :, count])
    left = np.where(free, np.einsum("sr,sr->s", rest[:, :, count], rest[:, :, count])[:, None] - share**2, np.inf)
    order = np.argsort(left, axis=None, kind="stable")
    grown, where, seen = list[tuple[int, ...]](), list[tuple[int, int]](), set[tuple[int, ...]]()
    for place in order.tolist():
        one, column = divmod(place, count)
        key = tuple(sorted((*sets[one].tolist(), column)))
        if not free[one, column] or len(grown) == kept:
            break
        if key not in seen:
            seen.add(key)
            grown.append(key)
            where.append((one, column))
    if not grown:
        return np.zeros((0, sets.shape[1] + 1), dtype=np.intp), rest[:0]
    ones, chosen = np.array(where).T
    direction, there = unit[ones, :, chosen], rest[ones]
    for _ in range(2):  # once more for what rounding left
        there = there - direction[:, :, None] * np.einsum("sr,srp->sp", direction, there)[:, None, :]
    return np.array(grown, dtype=np.intp), there
