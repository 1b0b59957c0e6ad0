"""Laws with inputs that are known in advance: a motor's voltage, a heater's power.

An input is one more variable that is given at every sample, held until the next, and has no equation of its own. Its
terms join a law like all others: where they are worth what they cost.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from prophecy.forecasting.known import Known
from prophecy.laws import trajectory
from prophecy.laws.context import Context
from prophecy.laws.features import Units
from prophecy.laws.flow import powers
from prophecy.laws.flows import Search
from prophecy.laws.settings import Settings
from prophecy.laws.trajectory import Decided
from prophecy.laws.weak_form import roughness

Array = NDArray[np.float64]


def decide(context: Context, known: Known, steps: int, settings: Settings) -> Decided | None:
    """The forecast of a law with inputs that one trajectory of explains the context; None where none is announced, or
    no input acts. known: over past and future."""
    values, laws = context.values, settings.laws
    whole = len(values) == len(known.values) - steps and len(values) <= laws.latest and context.varying.all()
    if not whole or len(values) < laws.shortest or not np.isfinite(known.values).all():
        return None
    past = known.values[: len(values)]
    there = np.ptp(past, axis=0) > 0
    variables, count = values.shape[1], int(there.sum())
    if not count or variables + count > laws.most_variables or variables > int(context.varying.sum()):
        return None
    if roughness(values, context.observed).max() > laws.noise:
        return None
    centre, scale = past[:, there].mean(axis=0), past[:, there].std(axis=0)
    inputs = (known.values[:, there] - centre) / scale
    units = Units(np.append(context.units.centre, centre), np.append(context.units.scale, scale))
    driven = replace(context, values=np.column_stack([values, inputs[: len(values)]]), units=units)
    model = Search(driven.values, driven.observed, units, laws=laws).with_inputs(inputs)
    decided = trajectory.decide(driven, model, steps, laws)
    if model is None or decided is None or decided.system is None:
        return None
    acting = powers(model.field.terms)[:, ~model.field.own].any(axis=1)
    if not model.field.mask[acting].any():
        return None
    names = tuple(name for name, varies in zip(known.plain, there, strict=True) if varies)
    return replace(decided, method="field with inputs", system=replace(decided.system, inputs=names))
