"""Parameters that drift slowly: time itself as one more variable of the field.

A system one of whose parameters rises or falls steadily is autonomous again with a clock among its variables: its terms
times the clock are terms of the field. Whether there is a drift is asked of the rises: how much of what a field without
a clock leaves do products with the clock explain?
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from prophecy.dynamics import trajectory
from prophecy.dynamics.context import Context
from prophecy.dynamics.features import Units
from prophecy.dynamics.flows import fit_flow
from prophecy.dynamics.forcing import power_integrals
from prophecy.dynamics.settings import Settings
from prophecy.dynamics.trajectory import Decided

Array = NDArray[np.float64]


def decide(context: Context, steps: int, settings: Settings) -> Decided | None:
    """The forecast of a field with a clock that one trajectory of explains the context; the drift goes on."""
    values = context.values
    if not 2 <= values.shape[1] <= settings.forcing_variables or len(values) < settings.forcing_least:
        return None
    if not unexplained(values[-settings.forcing_most :]) < settings.drift_left:
        return None
    clock = np.linspace(-1.0, 1.0, len(values)) * np.sqrt(3)
    units = Units(np.append(context.units.centre, 0.0), np.append(context.units.scale, 1.0))
    timed = replace(context, values=np.column_stack([values, clock]), units=units)
    decided = trajectory.decide(timed, fit_flow(timed.values, timed.known, timed.units, laws=settings.laws), steps)
    if decided is None:
        return None
    note = "Parameters of the field drift with time; the forecast lets them go on."
    return replace(decided, method="field with a drift", notes=(*decided.notes, note))


def unexplained(values: Array) -> float:
    """The share of what a field of degree 2 leaves that is still left when its terms may change with time."""
    columns, rise = power_integrals(values, 2)
    clock = np.linspace(-1.0, 1.0, len(rise))[:, None]
    base = np.linalg.qr(columns)[0]
    rest = rise - base @ (base.T @ rise)
    more = clock * columns
    more -= base @ (base.T @ more)
    after = rest - more @ np.linalg.lstsq(more, rest, rcond=1e-10)[0]
    return float(np.sum(after**2) / np.sum(rest**2))
