"""Curves of one variable, drawn by splines, and the functions that they are read as."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prophecy.laws import flow
from prophecy.laws.families import functions_of
from prophecy.laws.features import Units
from prophecy.laws.flow import MODULUS, SIGN, Function
from prophecy.laws.settings import FunctionSettings
from prophecy.laws.weak_form import Rises, movable

Array = NDArray[np.float64]


class Curve(NamedTuple):
    """Of variable `of`, times those in `times`; columns: the integrals of its splines, (steps, splines)."""

    of: int
    times: tuple[int, ...]
    columns: Array

    @property
    def monomial(self) -> tuple[int, ...]:
        """The variables in the power of degree 3 that the curve may be."""
        return (*[self.of] * (3 - len(self.times)), *self.times)

    def column(self, rises: Rises, function: Function | None) -> Array:
        """The integral of that power, or of a function in the place of the curve, (steps, 1)."""
        if function is None:
            return rises.integrated(np.prod(rises.path[:, list(self.monomial)], axis=1)[:, None])
        factor = np.prod(rises.path[:, list(self.times)], axis=1)[:, None]
        return rises.integrated(_at(function, rises.path)[:, None] * factor)


def added(columns: Array, known: Array, determined: float) -> Array:
    """An orthonormal basis of what columns add to the known ones."""
    size = np.linalg.norm(columns, axis=0).max() + 1e-300
    u, s, _ = np.linalg.svd(columns - known @ (known.T @ columns), full_matrices=False)
    return np.asarray(u[:, s > determined * size])


def joined(known: Array, further: Sequence[Array], determined: float) -> Array:
    """The basis with that of further columns, (steps, count) each."""
    for each in further:
        known = np.column_stack([known, added(each, known, determined)])
    return known


def unexplained(known: Array, rise: Array) -> Array:
    rest = rise - known @ (known.T @ rise)
    return np.asarray(rest - known @ (known.T @ rest))


class Reader:
    """Which functions of one variable do as well as a curve of splines."""

    def __init__(
        self,
        rises: Rises,
        curve: Curve,
        known: Array,
        left: Array,
        enough: float,
        units: Units,
        shapes: FunctionSettings,
    ) -> None:
        self._shapes = shapes
        self._rises, self._curve, self._known, self._rest, self._enough = rises, curve, known, left, enough
        self.singles: list[Function] = []
        self._factor = np.prod(rises.path[:, list(curve.times)], axis=1)[:, None]
        self._dictionary = list(functions_of(rises.path, units, curve.of, shapes))
        terms = flow.polynomial_terms(rises.path.shape[1], 0, self._dictionary, 1)
        self._table = rises.integrated(flow.features(terms, rises.path)[:, 1:] * self._factor)

    def functions(self, offered: Sequence[Function]) -> Sequence[Function | None]:
        """As few as do as well, all of one kind; None for the monomial. Else those that come closest.

        offered: what other equations have of the variable, taken as it is if it does as well.
        """
        plain = [(self._cost(each), each) for each in (*offered, None)]
        if min(plain, key=lambda item: item[0])[0] < self._enough:
            return [min(plain, key=lambda item: item[0])[1]]
        kinds = sorted({(f.kind, bool(f.bends)) for f in self._dictionary})
        trials = sorted((self._further(kind, []) for kind in kinds), key=lambda trial: trial[0])
        self.singles = [functions[0] for _, functions in trials]
        near = [trial for j, trial in enumerate(trials) if j == 0 or trial[1][0].kind == MODULUS]
        for _ in range(self._shapes.together - 1):  # several of one kind: broken lines, and whatever came closest alone
            if trials[0][0] < self._enough:
                break
            near = [
                self._further((fs[0].kind, bool(fs[0].bends)), fs)
                for c, fs in near
                if c < self._shapes.rivals * trials[0][0]
            ]
            trials = sorted([*trials, *near], key=lambda trial: trial[0])
        return trials[0][1]

    def _cost(self, function: Function | None) -> float:
        rest = unexplained(
            added(self._curve.column(self._rises, function), self._known, self._shapes.determined), self._rest
        )
        return float(rest @ rest)

    def _further(self, kind: tuple[int, bool], before: list[Function]) -> tuple[float, list[Function]]:
        """One more function of a kind, all of them moved, and the square sum that they leave, with a handicap for what
        can be moved."""
        known, rest = self._beside(before)
        own = [c for c, f in enumerate(self._dictionary) if (f.kind, bool(f.bends)) == kind]
        fresh = self._table[:, own] - known @ (known.T @ self._table[:, own])
        size = np.einsum("kc,kc->c", fresh, fresh)
        sound = size > 1e-18 * np.einsum("kc,kc->c", self._table[:, own], self._table[:, own])
        gain = np.where(sound, (rest @ fresh) ** 2 / np.where(sound, size, 1.0), 0.0)
        starts = [self._dictionary[own[c]] for c in np.argsort(-gain)[: 1 if before else self._shapes.starts]]
        moved = [self._rises.moved(each, self._factor, known, rest) for each in starts]
        found, cost = min(moved, key=lambda item: item[1])
        functions = [*before, found]
        for j in [*range(len(functions))] * (self._shapes.rounds if before else 0):
            known, rest = self._beside([*functions[:j], *functions[j + 1 :]])
            functions[j], cost = self._rises.moved(functions[j], self._factor, known, rest)
        if kind[0] == SIGN and not before:
            cost = min(cost, self._cost(found))  # it was moved as its mean over a sample; as a jump it may leave less
        return cost * self._shapes.movable ** sum(len(movable(each)) for each in functions), functions

    def _beside(self, functions: list[Function]) -> tuple[Array, Array]:
        """What is known with these functions, and what is left then."""
        known = joined(
            self._known, [self._curve.column(self._rises, each) for each in functions], self._shapes.determined
        )
        return known, unexplained(known, self._rest)


def _at(function: Function, path: Array) -> Array:
    return np.asarray(flow.features(flow.polynomial_terms(path.shape[1], 0, [function], 1), path)[:, 1])
