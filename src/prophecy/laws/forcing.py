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

from prophecy.laws import flow, trajectory
from prophecy.laws.context import Context
from prophecy.laws.damped import solve
from prophecy.laws.features import Units
from prophecy.laws.fitted import FittedFlow
from prophecy.laws.flow import EIGHTH, SINE, Function, Terms
from prophecy.laws.flows import fit_flow
from prophecy.laws.noise_free import step_by_step
from prophecy.laws.problem import Steps
from prophecy.laws.settings import Settings
from prophecy.laws.trajectory import Decided
from prophecy.laws.weak_form import WEIGHTS, interpolate, roughness, smoothed

Array = NDArray[np.float64]

_TUNED = 3  # times that the frequency is tuned at most
_AROUND = np.arange(-2, 3)  # half a turn over the whole series on the whole, around a peak


def forced(context: Context, settings: Settings) -> tuple[Context, float] | None:
    """The context with the phase of a hidden sinusoidal forcing as two more variables, and its radians a sample; None
    where there is none.

    The field without it is taken to be of degree 3, or to have sines and cosines of the variables in their own units.
    """
    values = context.values
    if not 2 <= values.shape[1] <= settings.forcing_variables or len(values) < settings.forcing_least:
        return None
    recent = _smooth(values[-settings.forcing_most :], context.observed[-settings.forcing_most :], settings)
    frequency, left = strongest(recent, settings.forcing_periods, settings.forcing_worth)
    if not left < settings.forcing_left:
        waves = sines(context.units, values.shape[1])
        frequency, left = strongest(recent, settings.forcing_periods, settings.forcing_worth, waves)
    if not left < settings.forcing_left:
        return None
    return _joined(context, frequency), frequency


def _joined(context: Context, frequency: float) -> Context:
    """The context with the two phases of that many radians a sample; the last sample is at 0."""
    times = np.arange(len(context.values)) - (len(context.values) - 1)
    pair = np.sqrt(2) * np.column_stack([np.cos(frequency * times), np.sin(frequency * times)])
    one = np.sqrt(0.5)  # in the data's units the two are a cosine and a sine
    units = Units(np.append(context.units.centre, [0.0, 0.0]), np.append(context.units.scale, [one, one]))
    return replace(context, values=np.column_stack([context.values, pair]), units=units)


def _smooth(values: Array, seen: NDArray[np.bool_], settings: Settings) -> Array:
    """Without the noise, where there is some that can be told from the series."""
    noise = roughness(values, seen)
    return smoothed(values, noise) if settings.laws.clean < noise.max() < settings.laws.resolved else values


def sines(units: Units, variables: int) -> Terms:
    """Constant, variables, and sines and cosines of these in their own units."""
    waves = [
        Function(SINE, tuple(row), float(units.centre[i]) + turn)
        for i, row in enumerate(np.diag(units.scale[:variables]))
        for turn in (0.0, np.pi / 2)
    ]
    return flow.polynomial_terms(variables, 1, waves)


def decide(context: Context, steps: int, settings: Settings) -> Decided | None:
    """The forecast of a field with hidden sinusoidal forcing that one trajectory of explains the context."""
    found = forced(context, settings)
    if found is None:
        return None
    driven, frequency = found
    model = fit_flow(driven.values, driven.known, driven.units, phases=1, laws=settings.laws)
    if model is not None and model.exact and model.conclusive:
        driven, frequency, model = _tuned(context, driven, frequency, model)
    if model is None or not _acts(model):
        return None
    decided = trajectory.decide(driven, model, steps, settings.laws)
    if decided is None:
        return None
    period = 2 * np.pi / frequency * context.stride
    note = f"A forcing that is not among the variables has a period of {period:.6g} samples."
    system = decided.system
    if system is not None:
        off = 0.0 if decided.model is not None and decided.model.exact else _unsure(context, frequency, settings)
        system = replace(system, drive=(frequency, off))
    return replace(decided, method="field with hidden forcing", notes=(*decided.notes, note), system=system)


def _unsure(context: Context, frequency: float, settings: Settings) -> float:
    """Standard error of the frequency of a forcing, radians a sample: by least squares on the rises of noisy samples,
    beside a field of degree 3 and one of sines, the smaller of the two. Phases in the field are taken as known, and
    what it says about their pace is the rounding of these."""
    values = context.values[-settings.forcing_most :]
    times = np.arange(len(values), dtype=np.float64) - len(values) / 2
    found = []
    for terms in (flow.polynomial_terms(values.shape[1], 3), sines(context.units, values.shape[1])):
        columns, rise = integrals(values, terms)
        waves = [np.sin(frequency * times), np.cos(frequency * times)]
        base = np.linalg.qr(np.column_stack([columns, np.diff(np.column_stack(waves), axis=0)]))[0]
        sine, cosine = np.linalg.lstsq(np.column_stack([columns, np.diff(np.column_stack(waves), axis=0)]), rise)[0][
            -2:
        ]
        rest = rise - base @ (base.T @ rise)
        slope = np.diff(times[:, None] * (np.outer(waves[1], sine) - np.outer(waves[0], cosine)), axis=0)
        slope -= base @ (base.T @ slope)
        weight = 1 / np.mean(rest**2, axis=0)
        found.append(float(1 / np.sqrt(np.sum(weight * np.sum(slope**2, axis=0)))))
    return min(found)


def _acts(model: FittedFlow) -> bool:
    """Whether the phases are in some equation of the variables that are seen: else nothing drives them."""
    phases = flow.powers(model.field.terms)[:, model.field.terms.variables - 2 : model.field.terms.variables]
    return bool(model.field.mask[phases.any(axis=1), : model.field.terms.variables - 2].any())


def _tuned(context: Context, driven: Context, frequency: float, model: FittedFlow) -> tuple[Context, float, FittedFlow]:
    """The same with the frequency that exact steps ask for: the spectrum knows it less well than they do, and phases
    that are a little off at the far end of the context make the coefficients wrong, and the forecast."""
    for _ in range(_TUNED):
        x, known = driven.values + model.offset, driven.known
        both = np.nonzero(known[:-1] & known[1:])[0]
        seen = x.shape[1] - 2
        substeps = model.field.substeps(EIGHTH, x[both], model.laws.exact.integrated, model.laws.exact.most_substeps)
        ends, tangent = model.field.tangents(EIGHTH, x[both], substeps)
        rest = (x[both + 1] - ends)[:, :seen]
        later = tangent[:, :seen, seen] * -x[both, -1, None] + tangent[:, :seen, seen + 1] * x[both, -2, None]
        later *= (both - (len(x) - 1))[:, None]
        own = model.field.parameters[1] < seen  # turns of the phases follow from the frequency
        columns = np.concatenate([tangent[:, :seen, seen + 2 :][:, :, own], later[:, :, None]], axis=2)
        change = float(solve(columns.reshape(-1, columns.shape[2]), rest.reshape(-1))[-1])
        trial = _joined(context, frequency + change)
        end = trial.values + model.offset
        latest = end[-model.laws.latest :]
        found = step_by_step(model.field, latest, Steps.of(latest, known[-len(latest) :]), exact=model.laws.exact)
        residual = np.inf if found is None else float(np.sqrt(np.mean(found.noise**2)))
        if found is None or not residual < model.residual:
            break
        driven, frequency = trial, frequency + change
        model = replace(model, found=found, field=found.field, residual=residual, end=end)
    return driven, frequency, model


def strongest(values: Array, periods: float, worth: float, terms: Terms | None = None) -> tuple[float, float]:
    """Radians a sample of the sinusoid that explains most of what a field leaves, and what is left then.

    The field has the given terms, all of degree 3 where None. Integrals of sinusoids over a step are differences of
    sinusoids. The frequency is near the highest peak of the spectrum of what the field leaves, or, where the response
    has settled to the period of the forcing and hides it, of the later rises. The second number is a share of the
    variance: of the rises that the field leaves, with the sinusoid against without. periods: that it has at least in
    the series; worth: the share above which its frequency is not refined.
    """
    columns, rise = integrals(values, terms or flow.polynomial_terms(values.shape[1], 3))
    times = np.arange(len(values), dtype=np.float64)
    base = np.linalg.qr(columns)[0]
    rest = rise - base @ (base.T @ rise)
    total = float(np.sum(rest**2))

    def left(frequency: float) -> float:
        wave = np.diff(np.column_stack([np.sin(frequency * times), np.cos(frequency * times)]), axis=0)
        wave -= base @ (base.T @ wave)
        along = np.linalg.qr(wave)[0]
        return float(1 - np.sum((along.T @ rest) ** 2) / total)

    apart = np.pi / len(rest) / 4
    peaks = [_peak(each, periods, len(rest)) for each in (rest, rise[len(rise) // 2 :])]
    near = np.unique(np.add.outer(peaks, _AROUND * apart))
    shares = [left(frequency) for frequency in near]
    best, first = float(near[np.argmin(shares)]), min(shares)
    if first > worth:
        return best, first
    fine = minimize_scalar(left, bounds=(best - apart, best + apart), method="bounded", options={"xatol": 1e-12})
    return float(fine.x), float(fine.fun)


def _peak(columns: Array, periods: float, steps: int) -> float:
    """Radians a sample of the highest peak in the spectrum of all columns together, with so many periods in `steps`."""
    flat = (columns - columns.mean(axis=0)) * np.hanning(len(columns))[:, None]
    power = np.sum(np.abs(np.fft.rfft(flat, 8 * steps, axis=0)) ** 2, axis=1)
    grid = 2 * np.pi * np.arange(len(power)) / (8 * steps)
    return float(grid[np.argmax(np.where(grid < 2 * np.pi * periods / steps, 0.0, power))])


def integrals(values: Array, terms: Terms) -> tuple[Array, Array]:
    """Integrals of all terms over each step, (time - 1, terms), and rises, (time - 1, variables).

    The path between samples is the polynomial through the eight around.
    """
    rows = np.arange(len(values) - 1)
    path = interpolate(values, rows, min(8, len(values) - 1))[0]
    points = np.ascontiguousarray(path.reshape(len(path), -1).T)
    features = flow.features(terms, points).reshape(len(rows), len(WEIGHTS), -1)
    return np.einsum("rnp,n->rp", features, WEIGHTS), np.diff(values, axis=0)
