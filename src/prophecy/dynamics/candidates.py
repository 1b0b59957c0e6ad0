"""The list of candidates, cheap and robust ones first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from prophecy.dynamics.choice import Candidate, Model
from prophecy.dynamics.context import Context
from prophecy.dynamics.features import Family, Monomials, Units, monomial_count
from prophecy.dynamics.fields import FittedField, fit_field
from prophecy.dynamics.linear import fit_linear
from prophecy.dynamics.maps import Memory, delays, fit_kernel_map, legendre
from prophecy.dynamics.repeats import Copy, Mean, Repetition
from prophecy.dynamics.shooting import ShotField, fit_shot

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_MOST_PARAMETERS = 260
_SHOOTING = "polynomial field by shooting"
_HOPELESS = 0.3  # a field this far off after one step, in spreads, has nothing to do with the data


def _fixed(name: str, model: Model) -> Candidate:
    return Candidate(name, lambda values, rows, known: model)


def _linear(lags: int, ridge: float) -> Candidate:
    return Candidate(
        f"linear, {lags} lags, ridge {ridge:g}", lambda values, rows, known: fit_linear(lags, ridge, values, rows)
    )


def _kernel(name: str, memory: Memory) -> Candidate:
    return Candidate(f"kernel map, {name}", lambda values, rows, known: fit_kernel_map(memory, values, rows))


def _kernels(variables: int) -> list[Candidate]:
    """Few variables need a longer memory to tell the states of a system apart."""
    shapes = [(1, 1), (2, 1), (4, 1)] if variables > 2 else [(2, 1), (4, 1), (8, 1), (6, 3), (6, 8)]
    found = [_kernel(f"{count} delays {spacing} apart", delays(count, spacing)) for count, spacing in shapes]
    return found if variables > 2 else [*found, _kernel("Legendre memory of 32 samples", legendre(6, 32))]


def _field(family: Family) -> Candidate:
    def fit(values: Array, rows: Indices, known: Mapping[str, Model]) -> Model | None:
        hints = [
            np.asarray(m.theta)
            for m in known.values()
            if isinstance(m, FittedField) and (m.family.name == family.name or _nested(m.family, family))
        ]
        padded = [np.concatenate([h, np.zeros((family.size - len(h), h.shape[1]))]) for h in hints]
        return fit_field(family, values, rows, tuple(padded))

    return Candidate(family.name, fit)


def _shot(values: Array, rows: Indices, known: Mapping[str, Model]) -> Model | None:
    """Shooting with the smallest polynomial family that explains single steps nearly as well as any."""
    before = known.get(_SHOOTING)
    if isinstance(before, ShotField):
        return fit_shot(before.family, values, before)
    fields = [m for m in known.values() if isinstance(m, FittedField)]
    least = min((m.residual for m in fields), default=np.inf)
    near = [m for m in fields if m.residual <= 1.3 * least and m.residual < _HOPELESS]
    if not near:
        return None
    return fit_shot(min(near, key=lambda m: m.family.size).family, values, one_step=least)


def _nested(small: Family, large: Family) -> bool:
    plain = not small.functions and small.denominator is None
    return plain and small.numerator.size <= large.numerator.size


_FUNCTIONS = (np.sin, np.cos, np.tanh, np.abs)


FALLBACKS = ("copy", "mean", "repetition")


def tiers(context: Context) -> list[list[Candidate]]:
    units = context.units
    simple = [_fixed("copy of the last value", Copy()), _fixed("mean", Mean())]
    repeats = [_fixed(f"repetition, {w} samples", Repetition(w)) for w in (4, 12, 36)]
    linear = [_linear(lags, r) for lags in (2, 8, 24) for r in (1e-12, 1e-5)]
    polynomial = [_field(f) for f in _polynomials(units)]
    kernels = _kernels(len(units.scale))
    others = [_field(f) for f in _others(units)]
    shooting = [Candidate(_SHOOTING, _shot)]
    return [simple, repeats, linear, polynomial[:2], polynomial[2:3], shooting, polynomial[3:], others, kernels]


def _fits(family: Family) -> bool:
    return family.size * family.variables <= _MOST_PARAMETERS


def _polynomials(units: Units) -> Iterator[Family]:
    variables = len(units.scale)
    for degree in (1, 2, 3, 4):
        if degree <= 2 or monomial_count(variables, degree) * variables <= _MOST_PARAMETERS:
            yield Family(f"polynomial field of degree {degree}", units, Monomials(variables, degree))


def _others(units: Units) -> Iterator[Family]:
    variables = len(units.scale)
    for above, below in ((3, 1), (3, 2)):
        if (monomial_count(variables, above) + monomial_count(variables, below)) * variables <= _MOST_PARAMETERS:
            name = f"rational field of degrees {above} and {below}"
            yield Family(name, units, Monomials(variables, above), Monomials(variables, below))
    if (monomial_count(variables, 2) + len(_FUNCTIONS) * variables) * variables <= _MOST_PARAMETERS:
        name = "field of degree 2 with sin, cos, tanh and |x|"
        yield Family(name, units, Monomials(variables, 2), None, _FUNCTIONS)
