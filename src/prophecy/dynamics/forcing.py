"""Periodic forcing that is not among the variables: its frequency from what a field without it leaves unexplained.

A system driven by a sinusoid is autonomous again with two more variables, the sinusoid and its quarter-period partner,
both functions of time alone. What an autonomous field leaves of the rises is then a sinusoid times smooth functions of
the state: a line in its spectrum. The frequency is refined until the pair explains the most; both go on for ever.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from prophecy.dynamics import flow, trajectory
from prophecy.dynamics.context import Context
from prophecy.dynamics.features import Units
from prophecy.dynamics.flows import fit_flow
from prophecy.dynamics.settings import Settings
from prophecy.dynamics.starts import WEIGHTS, interpolate
from prophecy.dynamics.trajectory import Decided

Array = NDArray[np.float64]


def forced(context: Context, settings: Settings) -> Context | None:
    """The context with the phase of a hidden sinusoidal forcing as two more variables; None where there is none."""
    values = context.values
    if not 2 <= values.shape[1] <= settings.forcing_variables or len(values) < settings.forcing_least:
        return None
    frequency, left = strongest(values[-settings.forcing_most :], settings.forcing_periods, settings.forcing_worth)
    if not left < settings.forcing_left:
        return None
    times = np.arange(len(values)) - (len(values) - 1)
    pair = np.sqrt(2) * np.column_stack([np.cos(frequency * times), np.sin(frequency * times)])
    units = Units(np.append(context.units.centre, [0.0, 0.0]), np.append(context.units.scale, [1.0, 1.0]))
    return replace(context, values=np.column_stack([values, pair]), units=units)


def decide(context: Context, steps: int, settings: Settings) -> Decided | None:
    """The forecast of a field with hidden sinusoidal forcing that one trajectory of explains the context."""
    driven = forced(context, settings)
    if driven is None:
        return None
    model = fit_flow(driven.values, driven.known, driven.units, phases=1, laws=settings.laws)
    decided = trajectory.decide(driven, model, steps, settings.laws)
    if decided is None:
        return None
    recent = context.values[-settings.forcing_most :]
    frequency = strongest(recent, settings.forcing_periods, settings.forcing_worth)[0]
    period = 2 * np.pi / frequency * context.stride
    note = f"A forcing that is not among the variables has a period of {period:.6g} samples."
    return replace(decided, method="field with hidden forcing", notes=(*decided.notes, note))


def strongest(values: Array, periods: float, worth: float) -> tuple[float, float]:
    """Radians a sample of the sinusoid that explains most of what a field of degree 3 leaves, and what is left then.

    Integrals of sinusoids over a step are differences of sinusoids. The second number is a share of the variance:
    of the rises that the field leaves, with the sinusoid against without. periods: that it has at least in the series;
    worth: the share above which its frequency is not refined.
    """
    columns, rise = power_integrals(values, 3)
    times = np.arange(len(values), dtype=np.float64)
    base = np.linalg.qr(columns)[0]
    rest = rise - base @ (base.T @ rise)
    power = np.sum(np.abs(np.fft.rfft(rest * np.hanning(len(rest))[:, None], 8 * len(rest), axis=0)) ** 2, axis=1)
    grid = 2 * np.pi * np.arange(len(power)) / (8 * len(rest))
    slow = grid < 4 * np.pi / len(rest) * periods / 2
    peak = float(grid[np.argmax(np.where(slow, 0.0, power))])

    def left(frequency: float) -> float:
        wave = np.diff(np.column_stack([np.sin(frequency * times), np.cos(frequency * times)]), axis=0)
        wave -= base @ (base.T @ wave)
        after = rest - wave @ np.linalg.lstsq(wave, rest, rcond=None)[0]
        return float(np.sum(after**2) / np.sum(rest**2))

    first = left(peak)
    if first > worth:
        return peak, first
    around = np.pi / len(rest)
    best = minimize_scalar(left, bounds=(peak - around, peak + around), method="bounded", options={"xatol": 1e-12})
    return float(best.x), float(best.fun)


def power_integrals(values: Array, degree: int) -> tuple[Array, Array]:
    """Integrals of all powers of the variables over each step, (time - 1, powers), and rises, (time - 1, variables).

    The path between samples is the polynomial through the eight around.
    """
    rows = np.arange(len(values) - 1)
    path = interpolate(values, rows, min(8, len(values) - 1))[0]
    points = np.ascontiguousarray(path.reshape(len(path), -1).T)
    features = flow.features(flow.polynomial_terms(values.shape[1], degree), points)
    return np.einsum("rnp,n->rp", features.reshape(len(rows), len(WEIGHTS), -1), WEIGHTS), np.diff(values, axis=0)
