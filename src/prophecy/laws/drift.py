"""Parameters that drift slowly: time itself as one more variable of the field.

A system one of whose parameters rises or falls steadily is autonomous again with a clock among its variables: its terms
times the clock are terms of the field. Whether there is a drift is asked of the rises: how much of what a field without
a clock leaves do products with the clock explain?
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from prophecy.laws import trajectory
from prophecy.laws.context import Context
from prophecy.laws.features import Units
from prophecy.laws.fitted import FittedFlow
from prophecy.laws.flow import features, polynomial_terms, powers
from prophecy.laws.flows import fit_flow
from prophecy.laws.settings import Settings
from prophecy.laws.trajectory import Decided
from prophecy.laws.weak_form import integrated, roughness, smoothed

Array = NDArray[np.float64]

_APART = 4  # steps


def decide(context: Context, steps: int, settings: Settings) -> Decided | None:
    """The forecast of a field with a clock that one trajectory of explains the context; the drift goes on."""
    values = context.values
    if not 2 <= values.shape[1] <= settings.forcing_variables or len(values) < settings.forcing_least:
        return None
    recent = values[-settings.forcing_most :]
    if roughness(recent, context.observed[-settings.forcing_most :]).max() > settings.laws.resolved:
        return None
    if not min(unexplained(recent, degree) for degree in (2, 3)) < settings.drift_left:
        return None
    rows = np.arange(len(values), dtype=np.float64)
    centre, scale = rows.mean(), rows.std()
    clock = (rows - centre) / scale
    units = Units(np.append(context.units.centre, centre), np.append(context.units.scale, scale))
    timed = replace(context, values=np.column_stack([values, clock]), units=units)
    model = fit_flow(timed.values, timed.known, timed.units, laws=settings.laws, clocked=True)
    decided = trajectory.decide(timed, model, steps, settings.laws)
    if decided is None or model is None or not _drifts(model):
        return None
    note = "Parameters of the field drift with time t, which is 0 at the first row; the forecast lets them go on."
    system = None if decided.system is None else replace(decided.system, clocked=True)
    return replace(decided, method="field with a drift", notes=(*decided.notes, note), system=system)


def _drifts(model: FittedFlow) -> bool:
    """Whether some term of the field has the clock in it."""
    timed = powers(model.field.terms)[:, model.field.terms.variables - 1] > 0
    return bool((timed & model.field.mask.any(axis=1)).any())


def unexplained(values: Array, degree: int = 2) -> float:
    """The share of what a field of that degree leaves that is still left when its terms may change with time.

    Along the smooth path and over four steps at a time, so that noise averages out.
    """
    path = smoothed(values, roughness(values))
    columns = integrated(features(polynomial_terms(values.shape[1], degree), path))
    sums = [np.cumsum(each, axis=0) for each in (columns, path[2:-1] - path[1:-2])]
    columns, rise = (each[_APART:] - each[:-_APART] for each in sums)
    clock = np.linspace(-1.0, 1.0, len(rise))[:, None]
    base = np.linalg.qr(columns)[0]
    rest = rise - base @ (base.T @ rise)
    more = clock * columns
    more -= base @ (base.T @ more)
    after = rest - more @ np.linalg.lstsq(more, rest, rcond=1e-10)[0]
    return float(np.sum(after**2) / np.sum(rest**2))
