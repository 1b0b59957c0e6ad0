"""The laboratory's candidates, cheap and robust ones first: all variables together, in standard deviations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from prophecy.forecasting.choice import Candidate, Model, Tier
from prophecy.forecasting.linear import fit_linear
from prophecy.forecasting.maps import Memory, delays, fit_kernel_map, fit_polynomial_map, legendre
from prophecy.forecasting.repeats import Copy, Repetition
from prophecy.forecasting.waves import fit_waves
from prophecy.laws.context import Context, Rows
from prophecy.laws.features import monomial_count
from prophecy.laws.settings import LaboratorySettings, Settings

if TYPE_CHECKING:
    from prophecy.laws.fitted import FittedFlow

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_ALL = 1000  # finalists: none of a tier is left out


def _fixed(name: str, model: Model) -> Candidate:
    return Candidate(name, lambda values, rows, known: model)


def _linear(lags: int, spacing: int, ridge: float, how: LaboratorySettings) -> Candidate:
    apart = f" {spacing} apart" if spacing > 1 else ""
    name = f"linear, {lags} lags{apart}, ridge {ridge:g}"
    return Candidate(name, lambda values, rows, known: fit_linear(lags, spacing, ridge, values, rows, how))


def _waves(pairs: int, spacing: int, ridge: float) -> Candidate:
    apart = f" {spacing} apart" if spacing > 1 else ""
    name = f"undamped waves, {pairs} pairs{apart}, ridge {ridge:g}"
    return Candidate(name, lambda values, rows, known: fit_waves(pairs, spacing, ridge, values, rows))


def _linears(pace: int, variables: int, autoregressions: bool, waves: bool, how: LaboratorySettings) -> list[Candidate]:
    """Linear models of neighbouring samples, and of samples as far apart as the fastest period allows."""
    near = [_linear(lags, 1, ridge, how) for lags in how.linear_lags for ridge in how.linear_ridges]
    if variables > 2:
        shared = [_waves(pairs, pace, how.wave_ridge_several) for pairs in how.wave_pairs_several if waves]
        return [*near, *shared] if autoregressions else shared
    shapes = [(pairs, ridge) for pairs in how.wave_pairs for ridge in how.wave_ridges]
    apart = [_linear(lags, pace, how.spaced_ridge, how) for lags in how.spaced_lags] if pace > 1 else []
    swinging = [_waves(pairs, pace, ridge) for pairs, ridge in shapes] if waves else []
    return [*near, *swinging, *apart] if autoregressions else swinging


def _polynomial_map(name: str, memory: Memory, degree: int, ridge: float, how: LaboratorySettings) -> Candidate:
    name = f"polynomial map of degree {degree}, {name}, ridge {ridge:g}"
    return Candidate(name, lambda values, rows, known: fit_polynomial_map(memory, degree, ridge, values, rows, how))


def _polynomial_maps(variables: int, how: LaboratorySettings) -> list[Candidate]:
    """Memory, degree and ridge of readouts with at most a few hundred features."""
    memories = {_delayed(count, 1): delays(count) for count in how.map_delays}
    memories["Legendre memory"] = legendre(*how.map_legendre)
    found = []
    for name, memory in memories.items():
        kept = len(memory.weights) * variables
        degrees = [degree for degree in how.map_degrees if monomial_count(kept, degree) <= how.map_features]
        found += [
            _polynomial_map(name, memory, degree, ridge, how) for degree in degrees[-1:] for ridge in how.map_ridges
        ]
    return found


def _kernel(name: str, memory: Memory, how: LaboratorySettings) -> Candidate:
    return Candidate(f"kernel map, {name}", lambda values, rows, known: fit_kernel_map(memory, values, rows, how))


def _kernels(variables: int, how: LaboratorySettings) -> list[Candidate]:
    """Few variables need a longer memory to distinguish the states of a system."""
    shapes = how.kernel_delays_several if variables > 2 else how.kernel_delays
    found = [_kernel(_delayed(count, spacing), delays(count, spacing), how) for count, spacing in shapes]
    if variables > 2:
        return found
    order, length = how.kernel_legendre
    return [*found, _kernel(f"Legendre memory of {length} samples", legendre(order, length), how)]


def _delayed(count: int, spacing: int) -> str:
    return "1 delay" if count == 1 else f"{count} delays" + (f" {spacing} apart" if spacing > 1 else "")


def _flow(context: Context, whole: FittedFlow, settings: Settings) -> Candidate:
    """The family that the whole context led to, solved again from a part of it."""
    from prophecy.laws.flows import fit_part

    def fit(values: Array, rows: Rows, known: Sequence[Model]) -> Model | None:
        return whole if len(values) == len(context.values) else fit_part(values, context.observed, whole, settings.laws)

    return Candidate("field from single steps" if whole.exact else "field by assimilation", fit)


def tiers(context: Context, closest: Sequence[FittedFlow], settings: Settings) -> Iterator[Tier]:
    """Lists of candidates to try one after the other. closest: fields that came close to a law."""
    values = context.values
    off, how = settings.without, settings.laboratory
    yield Tier([_fixed("copy of the last value", Copy())])
    if "REPETITION" not in off:
        alike = [(w, Repetition(w, how.repetition_searched)) for w in how.repetition_windows]
        yield Tier([_fixed(f"repetition, {w} samples", model) for w, model in alike], finalists=_ALL)
    linears = _linears(context.pace, values.shape[1], "LINEAR" not in off, "WAVES" not in off, how)
    if linears:
        yield Tier(linears, finalists=_ALL)
    for field in closest:
        yield Tier([_flow(context, field, settings)])
    if "POLYNOMIAL_MAPS" not in off:
        yield Tier(_polynomial_maps(values.shape[1], how))
    if "KERNEL_MAPS" not in off:
        yield Tier(_kernels(values.shape[1], how))
