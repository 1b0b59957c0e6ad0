"""Vector fields that are linear (or one division away from linear) in their parameters.

f_i(x) = sum_p theta_pi phi_p(x), or with a denominator f_i(x) = sum_p theta_pi phi_p(x) / (1 + sum_q theta_qi psi_q(x))
with phi and psi the monomials up to some degree in all variables and, if asked for, functions of single variables.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import comb

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Monomials:
    """All monomials of (variables, points) up to a degree, each the product of a smaller one and a variable."""

    def __init__(self, variables: int, degree: int) -> None:
        powers = [list(combinations_with_replacement(range(variables), p)) for p in range(degree + 1)]
        place = {term: index for index, term in enumerate(term for level in powers for term in level)}
        self.size = len(place)
        self._levels = [
            (np.array([place[term[:-1]] for term in level]), np.array([term[-1] for term in level]))
            for level in powers[1:]
        ]

    def __call__(self, x: Array) -> Array:
        out = np.empty((self.size, x.shape[1]))
        out[0] = 1.0
        filled = 1
        for parents, factors in self._levels:
            np.multiply(out.take(parents, 0), x.take(factors, 0), out=out[filled : filled + len(parents)])
            filled += len(parents)
        return out


def monomial_count(variables: int, degree: int) -> int:
    return comb(variables + degree, degree)


@dataclass(frozen=True)
class Units:
    """Where the scaled variables came from: raw = scale * x + centre, per variable."""

    centre: Array
    scale: Array

    def raw(self, x: Array) -> Array:
        return x * self.scale[:, None] + self.centre[:, None]


@dataclass(frozen=True, eq=False)
class Family:
    """A family of vector fields, polynomial or rational; parameters theta are (size, variables)."""

    name: str
    units: Units
    numerator: Monomials
    denominator: Monomials | None = None

    @property
    def variables(self) -> int:
        return len(self.units.scale)

    @property
    def upper(self) -> int:
        """How many parameters of one variable stand in the numerator."""
        return self.numerator.size

    @property
    def size(self) -> int:
        return self.upper + (self.denominator.size - 1 if self.denominator else 0)

    def features(self, x: Array) -> Array:
        """phi(x): (upper, points)."""
        return self.numerator(x)

    def divisors(self, x: Array) -> Array:
        """psi(x): (size - upper, points)."""
        return self.denominator(x)[1:] if self.denominator else np.empty((0, x.shape[1]))

    def field(self, theta: Array) -> Callable[[Array], Array]:
        """x -> f(x), both (variables, points)."""
        above, below = theta[: self.upper].T, theta[self.upper :].T
        if self.denominator is None:
            return lambda x: above @ self.features(x)
        return lambda x: (above @ self.features(x)) / (1.0 + below @ self.divisors(x))

    def gradients(self, theta: Array) -> Callable[[Array], Array]:
        """x -> derivative of f with theta: (variables, size, points), or (1, ...) if all variables share it."""
        if self.denominator is None:
            return lambda x: self.features(x)[None]
        above, below = theta[: self.upper].T, theta[self.upper :].T

        def rational(x: Array) -> Array:
            phi, psi = self.features(x), self.divisors(x)
            under = 1.0 + below @ psi
            value = (above @ phi) / under
            return np.concatenate([phi[None] / under[:, None], -(value / under)[:, None] * psi[None]], axis=1)

        return rational
