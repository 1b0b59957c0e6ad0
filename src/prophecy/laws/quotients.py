"""Quotients of polynomials: fields with a denominator for every equation that asks for one.

x' q(x) = p(x) with q = 1 + ... is linear in the coefficients of both in the weak form. Whether an equation
has a denominator is asked of what a polynomial alone leaves of it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from prophecy.laws import flow
from prophecy.laws.context import monomial_count
from prophecy.laws.damped import solve
from prophecy.laws.flow import RECIPROCAL, Function
from prophecy.laws.settings import LawSettings
from prophecy.laws.sparse import SparseField
from prophecy.laws.weak_form import WeakForm

Array = NDArray[np.float64]

_SLOPE = {j: np.sign(j) * w / 60 for w, size in ((45, 1), (-9, 2), (1, 3)) for j in (-size, size)}  # by seven samples


def quotients(values: Array, laws: LawSettings) -> Iterator[SparseField]:
    """Fields with denominators of degree 1, then 2, shapes of the denominators filled in, coefficients not."""
    variables = values.shape[1]
    for degree in laws.quotients:
        count = variables * (monomial_count(variables, laws.shapes.numerators) + monomial_count(variables, degree))
        if len(values) > 16 and count <= min(laws.most_parameters, values.size / 3):
            functions = _denominators(values, degree, laws)
            if any(each is not None for each in functions):
                yield _field(variables, functions, laws.shapes.numerators)


def _denominators(values: Array, degree: int, laws: LawSettings) -> list[Function | None]:
    """For each variable 1 / q of its equation, None where a polynomial alone leaves as little."""
    variables, inside = values.shape[1], len(values) - 6
    slopes = sum(w * values[3 + j : 3 + j + inside] for j, w in _SLOPE.items())
    form = WeakForm(np.ascontiguousarray(values[3:-3]))
    above, below = (
        flow.features(flow.polynomial_terms(variables, d), form.path) for d in (laws.shapes.numerators, degree)
    )
    phi, rise = form.integrated(above), form.rise
    alone = rise - phi @ solve(phi, rise)
    found: list[Function | None] = []
    for i in range(variables):
        columns = -form.integrated(below[:, 1:] * slopes[:, [i]])
        found.append(_denominator(phi, columns, rise[:, i], alone[:, i], below, variables, laws))
    return found


def _denominator(
    phi: Array, columns: Array, rise: Array, alone: Array, below: Array, variables: int, laws: LawSettings
) -> Function | None:
    for damping in laws.shapes.dampings:
        system = np.column_stack([phi, columns])
        solved = solve(system, rise[:, None], damping)[:, 0]
        left = rise - system @ solved
        nats = 0.5 * len(rise) * np.log((alone @ alone + 1e-300) / (left @ left + 1e-300))
        if not nats > laws.spare * columns.shape[1]:
            break
        shape = solved[phi.shape[1] :]
        under = 1 + below[:, 1:] @ shape
        if np.abs(under).min() > laws.shapes.pole_free * np.abs(under).max() and (under > 0).all() == (under > 0).any():
            return _function(shape, variables)
    return None


def _function(shape: Array, variables: int) -> Function:
    """1 / (1 + shape @ monomials without the constant): linear ones, then products in the order of the table."""
    bends = np.zeros((variables, variables))
    if len(shape) > variables:
        bends[np.triu_indices(variables)] = shape[variables:]
    return Function(RECIPROCAL, tuple(shape[:variables]), 1.0, tuple(bends.reshape(-1)))


def _field(variables: int, functions: list[Function | None], degree: int) -> SparseField:
    """Numerators of that degree, each over its own denominator if there is one."""
    there = [each for each in functions if each is not None]
    field = SparseField.of(flow.polynomial_terms(variables, degree, there, degree + 1))
    shares, mask = flow.powers(field.terms)[:, variables:], np.zeros_like(field.mask)
    place = 0
    for i, each in enumerate(functions):
        mask[:, i] = shares[:, place] == 1 if each is not None else shares.sum(axis=1) == 0
        place += each is not None
    return field.with_mask(mask)
