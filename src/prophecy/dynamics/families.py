"""Which functions a field has besides powers: found by what a polynomial leaves unexplained.

Along a (smoothed) path the integral form of the equations is linear in the coefficients. What the powers leave of each
equation is compared with a dictionary of functions of single variables and of sums and differences of two: waves,
steps, kinks, exponentials, poles. The function that explains most of an equation joins, and the rest is looked at
again.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from prophecy.dynamics import flow
from prophecy.dynamics.features import Units
from prophecy.dynamics.flow import EXPONENTIAL, MODULUS, RECIPROCAL, SINE, TANH, Function, Terms
from prophecy.dynamics.guesses import integrated

Array = NDArray[np.float64]

_TRIED = 40  # functions whose products with the variables are tried too
_PAIR = 3.0  # a function of two variables must leave this much less than one of a single variable
_MOST = 4  # functions in one field
_NATS = 15.0  # what a function must add to the log likelihood beyond its penalty
_SHARE = 0.8  # of what the powers leave of an equation, a function must leave less than this
_WAVES = np.geomspace(1.5, 60.0, 48)  # radians over the range of the variable
_SLOPES = (4.0, 12.0, 40.0, 150.0)
_PLACES = np.linspace(0.1, 0.9, 17)
_GROWTHS = tuple(sign * 2.0**p for sign in (-1, 1) for p in range(1, 7))  # exponents over the range
_POLES = (-1.0, -0.3, -0.1, -0.03, 1.03, 1.1, 1.3, 2.0)  # places, in ranges from the lower end


def propose(path: Array, units: Units, degree: int = 2) -> list[Function]:
    """Functions that explain what monomials up to `degree` leave of the rises along path (time, variables)."""
    variables = path.shape[1]
    rise = path[2:-1] - path[1:-2]
    found: list[Function] = []
    dictionary = list(_dictionary(path, units))
    table = _table(path, dictionary)
    for _ in range(_MOST):
        terms = flow.polynomial_terms(variables, degree, found, 2)
        known = _orthonormal(integrated(flow.features(terms, path)))
        left = rise - known @ (known.T @ rise)
        best = _best(table, known, left, path, dictionary)
        best = [f for f in dict.fromkeys(best) if not any(_alike(f, g) for g in found)]
        if not best:
            break
        found += best
    return found[:_MOST]


def _dictionary(path: Array, units: Units) -> Iterator[Function]:
    """Every function that is tried; natural ones (rate 1 in raw units) first, so that they win among equals."""
    variables = path.shape[1]
    for rates, shift in _directions(units, variables):
        along = path @ rates + shift
        low, span = float(along.min()), float(np.ptp(along))
        if not span > 0:
            continue
        yield Function(SINE, tuple(rates), shift)
        yield Function(SINE, tuple(rates), shift + np.pi / 2)
        if np.count_nonzero(rates) == 1:
            yield Function(TANH, tuple(rates), shift)
            yield Function(MODULUS, tuple(rates), shift)
            if np.abs(along).max() < 50:
                yield Function(EXPONENTIAL, tuple(rates), shift)
                yield Function(EXPONENTIAL, tuple(-rates), -shift)
        unit = rates / span
        origin = (shift - low) / span  # the lower end of the range is at 0, the upper one at 1
        for wave in _WAVES:
            yield Function(SINE, tuple(wave * unit), wave * origin)
            yield Function(SINE, tuple(wave * unit), wave * origin + np.pi / 2)
        for place in _PLACES:
            yield Function(MODULUS, tuple(unit), origin - place)
        for slope in _SLOPES:
            for place in _PLACES[::2]:
                yield Function(TANH, tuple(slope * unit), slope * (origin - place))
        for growth in _GROWTHS:
            yield Function(EXPONENTIAL, tuple(growth * unit), growth * (origin - (growth > 0)))
        for pole in _POLES:
            yield Function(RECIPROCAL, tuple(unit), origin - pole)


def _directions(units: Units, variables: int) -> Iterator[tuple[Array, float]]:
    """Raw variables, then raw sums and differences of two: weights and shift in scaled units."""
    for i in range(variables):
        rates = np.zeros(variables)
        rates[i] = units.scale[i]
        yield rates, float(units.centre[i])
    for i in range(variables):
        for j in range(i):
            for sign in (1.0, -1.0):
                rates = np.zeros(variables)
                rates[i], rates[j] = units.scale[i], sign * units.scale[j]
                yield rates, float(units.centre[i] + sign * units.centre[j])


def _table(path: Array, dictionary: list[Function]) -> Array:
    """Integrals of every function over every step: (time - 3, functions)."""
    terms = flow.polynomial_terms(path.shape[1], 0, dictionary, 1)
    return integrated(flow.features(terms, path)[:, 1:])


def _orthonormal(columns: Array) -> Array:
    norms = np.linalg.norm(columns, axis=0)
    u, s, _ = np.linalg.svd(columns / np.where(norms > 0, norms, 1.0), full_matrices=False)
    return np.asarray(u[:, s > 1e-10 * s[0]])


def _best(table: Array, known: Array, left: Array, path: Array, dictionary: list[Function]) -> list[Function]:
    """For each equation the function that explains most of what is left, alone or times the variables, if enough."""
    chosen = []
    count = len(left)
    for i in range(left.shape[1]):
        total = float(left[:, i] @ left[:, i])
        if not total > 0:
            continue
        fresh = table - known @ (known.T @ table)
        size = np.einsum("kc,kc->c", fresh, fresh)
        sound = size > 1e-18 * np.einsum("kc,kc->c", table, table)
        gain = np.where(sound, (left[:, i] @ fresh) ** 2 / np.where(sound, size, 1.0), 0.0)
        poles = [c for c, f in enumerate(dictionary) if f.kind == RECIPROCAL and np.count_nonzero(f.rates) == 1]
        first = np.unique([*np.argsort(-gain)[:_TRIED], *poles])
        scores = np.array([_with_products(path, dictionary[c], known, left[:, i]) for c in first])
        pairs = np.array([np.count_nonzero(dictionary[c].rates) > 1 for c in first])
        best = int(np.argmin(np.where(pairs, _PAIR * scores, scores)))
        share = scores[best] / total
        if share < _SHARE and -0.5 * count * np.log(max(share, 1e-300)) > _NATS:
            chosen.append(dictionary[first[best]])
    return chosen


def _with_products(path: Array, function: Function, known: Array, left: Array) -> float:
    """The square sum left when the function and its products with the variables join."""
    terms = flow.polynomial_terms(path.shape[1], 1, [function], 2)
    added = integrated(flow.features(terms, path)[:, path.shape[1] + 1 :])
    added = added - known @ (known.T @ added)
    added = _orthonormal(added)
    rest = left - added @ (added.T @ left)
    return float(rest @ rest)


def _alike(a: Function, b: Function) -> bool:
    """The same kind along the same direction with nearly the same rate: one of them can become the other."""
    if a.kind != b.kind:
        return False
    x, y = np.array(a.rates), np.array(b.rates)
    near = np.linalg.norm(x - y) < 0.15 * np.linalg.norm(x)
    return bool(near and (a.kind == SINE or abs(a.shift - b.shift) < 0.3))


def with_functions(variables: int, degree: int, functions: list[Function]) -> Terms:
    """Monomials up to `degree`, and every function alone and times each variable."""
    return flow.polynomial_terms(variables, degree, functions, 2)
