"""The laboratory's candidates, cheap and robust ones first: all variables together, in standard deviations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from prophecy.dynamics.choice import Candidate, Model, Tier
from prophecy.dynamics.context import Context, Rows
from prophecy.dynamics.features import monomial_count
from prophecy.dynamics.linear import fit_linear
from prophecy.dynamics.maps import Memory, delays, fit_kernel_map, fit_polynomial_map, legendre
from prophecy.dynamics.repeats import Copy, Repetition
from prophecy.dynamics.settings import Settings
from prophecy.dynamics.undamped import fit_waves

if TYPE_CHECKING:
    from prophecy.dynamics.flows import FittedFlow

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_ALL = 1000  # finalists: none of a tier is left out


def _fixed(name: str, model: Model) -> Candidate:
    return Candidate(name, lambda values, rows, known: model)


def _linear(lags: int, spacing: int, ridge: float) -> Candidate:
    apart = f" {spacing} apart" if spacing > 1 else ""
    name = f"linear, {lags} lags{apart}, ridge {ridge:g}"
    return Candidate(name, lambda values, rows, known: fit_linear(lags, spacing, ridge, values, rows))


def _waves(pairs: int, spacing: int, ridge: float) -> Candidate:
    apart = f" {spacing} apart" if spacing > 1 else ""
    name = f"undamped waves, {pairs} pairs{apart}, ridge {ridge:g}"
    return Candidate(name, lambda values, rows, known: fit_waves(pairs, spacing, ridge, values, rows))


def _linears(pace: int, variables: int, autoregressions: bool, waves: bool) -> list[Candidate]:
    """Linear models of neighbouring samples, and of samples as far apart as the fastest period allows."""
    near = [_linear(lags, 1, ridge) for lags in (2, 4, 8, 24) for ridge in (1e-12, 1e-5)]
    if variables > 2:
        return [*(near if autoregressions else ()), *(_waves(pairs, pace, 1e-12) for pairs in (4, 12) if waves)]
    shapes = [(pairs, ridge) for pairs in (1, 2, 4, 8, 16, 32) for ridge in (1e-15, 1e-12, 1e-6)]
    apart = [_linear(lags, pace, 1e-10) for lags in (12, 24, 48)] if pace > 1 else []
    swinging = [_waves(pairs, pace, ridge) for pairs, ridge in shapes] if waves else []
    return [*near, *swinging, *apart] if autoregressions else swinging


def _polynomial_map(name: str, memory: Memory, degree: int, ridge: float) -> Candidate:
    name = f"polynomial map of degree {degree}, {name}, ridge {ridge:g}"
    return Candidate(name, lambda values, rows, known: fit_polynomial_map(memory, degree, ridge, values, rows))


def _polynomial_maps(variables: int, most: int) -> list[Candidate]:
    """Memory, degree and ridge of readouts with at most a few hundred features."""
    memories = {"1 delay": delays(1), "2 delays": delays(2), "4 delays": delays(4), "Legendre memory": legendre(3, 8)}
    found = []
    for name, memory in memories.items():
        kept = len(memory.weights) * variables
        degrees = [degree for degree in (2, 3, 4, 5) if monomial_count(kept, degree) <= most]
        found += [_polynomial_map(name, memory, degree, ridge) for degree in degrees[-1:] for ridge in (1e-10, 1e-5)]
    return found


def _kernel(name: str, memory: Memory) -> Candidate:
    return Candidate(f"kernel map, {name}", lambda values, rows, known: fit_kernel_map(memory, values, rows))


def _kernels(variables: int) -> list[Candidate]:
    """Few variables need a longer memory to tell the states of a system apart."""
    shapes = [(1, 1), (2, 1), (4, 1)] if variables > 2 else [(2, 1), (4, 1), (8, 1), (6, 3), (6, 8)]
    found = [_kernel(_delayed(count, spacing), delays(count, spacing)) for count, spacing in shapes]
    return found if variables > 2 else [*found, _kernel("Legendre memory of 32 samples", legendre(6, 32))]


def _delayed(count: int, spacing: int) -> str:
    return "1 delay" if count == 1 else f"{count} delays" + (f" {spacing} apart" if spacing > 1 else "")


def _flow(context: Context, whole: FittedFlow, settings: Settings) -> Candidate:
    """The family that the whole context led to, solved again from a part of it."""
    from prophecy.dynamics.flows import fit_part  # loads Numba

    def fit(values: Array, rows: Rows, known: Sequence[Model]) -> Model | None:
        return whole if len(values) == len(context.values) else fit_part(values, context.known, whole, settings.laws)

    return Candidate("field from single steps" if whole.exact else "field by assimilation", fit)


def tiers(context: Context, closest: Sequence[FittedFlow], settings: Settings) -> Iterator[Tier]:
    """Lists of candidates to try one after the other. closest: fields that came close to a law."""
    values = context.values
    off = settings.without
    yield Tier([_fixed("copy of the last value", Copy())])
    if "REPETITION" not in off:
        yield Tier([_fixed(f"repetition, {w} samples", Repetition(w)) for w in (4, 12, 30, 80)], finalists=_ALL)
    linears = _linears(context.pace, values.shape[1], "LINEAR" not in off, "WAVES" not in off)
    if linears:
        yield Tier(linears, finalists=_ALL)
    for field in closest:
        yield Tier([_flow(context, field, settings)])
    if "POLYNOMIAL_MAPS" not in off:
        yield Tier(_polynomial_maps(values.shape[1], settings.map_features))
    if "KERNEL_MAPS" not in off:
        yield Tier(_kernels(values.shape[1]))
