"""Laws of second order seen through one variable: x'' = f(x, x').

The rate of the variable is one more variable that is never seen, and whose own equation is known: x' = v.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from prophecy.laws import trajectory
from prophecy.laws.context import Context
from prophecy.laws.features import Units
from prophecy.laws.flows import Search
from prophecy.laws.settings import LawSettings
from prophecy.laws.trajectory import Decided
from prophecy.laws.weak_form import roughness, smoothed

Array = NDArray[np.float64]


def decide(context: Context, steps: int, laws: LawSettings) -> Decided | None:
    """The forecast of a law of second order that one trajectory of explains the single variable."""
    path = smoothed(context.values, roughness(context.values, context.observed))
    rate = np.gradient(path[:, 0])
    pace = float(rate.std())
    if not pace > 0:
        return None
    units = Units(np.append(context.units.centre, 0.0), np.append(context.units.scale, pace * context.units.scale[0]))
    turning = replace(context, values=np.column_stack([context.values, rate / pace]), units=units)
    if not trajectory.promising(turning, laws):
        return None
    seen = np.column_stack([context.observed, np.zeros(len(rate), dtype=np.bool_)])
    model = Search(turning.values, seen, units, laws=laws).of_second_order()
    if model is None:
        return None
    # Exact laws are followed from their samples: those of the rate are the states that were solved for.
    solved = turning.values.copy()
    solved[len(solved) - len(model.found.states) :, 1] = model.found.states[:, 1] - model.offset[1]
    decided = trajectory.decide(replace(turning, values=solved), model, steps, laws)
    if decided is None or decided.system is None:
        return None
    return replace(decided, system=replace(decided.system, second=True))
