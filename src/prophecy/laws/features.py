"""Monomials of several variables at once, and the units that scaled variables came from."""

from __future__ import annotations

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
