"""Inputs of a law: columns beside its variables that are given, or follow from time, or are a rate that is not seen.

A law with inputs is searched for like any other (`Input.decide`): the columns join the context, their terms join the
law where they are worth what they cost, and a law in which they do not act is none of theirs. There are four:

- `known`: regressors given at every sample, held until the next (a motor's voltage), without equations of their own;
- `drive`: the cosine and sine of a forcing of unknown frequency. A system driven by a sinusoid is autonomous again with
  both; what an autonomous field leaves of the rises is a sinusoid times smooth functions of the state;
- `clock`: time itself, for parameters that rise or fall steadily: terms times the clock are terms of the field;
- `rate`: the rate of a single variable, x'' = f(x, x'), never seen, whose equation x' = v is known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from prophecy.laws import flow, trajectory
from prophecy.laws.context import Context
from prophecy.laws.damped import solve
from prophecy.laws.features import Units
from prophecy.laws.fitted import FittedFlow
from prophecy.laws.flow import EIGHTH, SINE, Function, Terms
from prophecy.laws.flows import Search, fit_flow
from prophecy.laws.noise_free import step_by_step
from prophecy.laws.problem import Steps
from prophecy.laws.settings import LawSettings, Settings
from prophecy.laws.trajectory import Decided
from prophecy.laws.weak_form import WEIGHTS, integrated, interpolate, roughness, smoothed

Array = NDArray[np.float64]

_APART = 4  # steps over which rises are compared with a clock
_TUNED = 3  # times that the frequency is tuned at most


@dataclass(frozen=True, eq=False)
class Input:
    """context: with the input's columns after the variables. solve: the law with them, from that context.

    label: what the law's equations are told of them (fields of `FoundSystem`).
    """

    context: Context
    solve: Callable[[Context, LawSettings], FittedFlow | None]
    variables: int
    label: dict[str, Any]
    method: str = ""
    note: str = ""

    def decide(self, steps: int, settings: Settings) -> Decided | None:
        """The forecast of a law with the input that one trajectory of explains the context; None where there is none
        or the input is in none of its equations."""
        model = self.solve(self.context, settings.laws)
        return None if model is None or not self.acts(model) else self.followed(model, steps, settings)

    def acts(self, model: FittedFlow) -> bool:
        """Whether a term of the variables' equations has an input in it; that of a rate is known."""
        columns = flow.powers(model.field.terms)[:, self.variables : model.field.terms.variables]
        return bool(model.field.there[columns.any(axis=1), : self.variables].any())

    def followed(self, model: FittedFlow, steps: int, settings: Settings) -> Decided | None:
        decided = trajectory.decide(self.context, model, steps, settings.laws)
        if decided is None:
            return None
        system = None if decided.system is None else replace(decided.system, **self.label)
        notes = (*decided.notes, self.note) if self.note else decided.notes
        return replace(decided, method=self.method or decided.method, notes=notes, system=system)


def _joined(context: Context, columns: Array, centre: Any, scale: Any) -> Context:
    """The context with further columns, (time, count), in units of their own."""
    units = Units(np.append(context.units.centre, centre), np.append(context.units.scale, scale))
    return replace(context, values=np.column_stack([context.values, columns]), units=units)


def _may_have(context: Context, settings: Settings) -> bool:
    """Whether there are enough samples of few enough variables for a drive or a drift to show."""
    values = context.values
    return 2 <= values.shape[1] <= settings.forcing_variables and len(values) >= settings.forcing_least


def known(context: Context, names: Sequence[str], values: Array, steps: int, settings: Settings) -> Input | None:
    """Regressors over past and future, (time + steps, regressors), as inputs: those that vary."""
    past, laws, variables = len(context.values), settings.laws, context.values.shape[1]
    whole = past == len(values) - steps and laws.shortest <= past <= laws.latest and context.varying.all()
    if not whole or variables > context.varying.sum() or not np.isfinite(values).all():
        return None
    there = np.ptp(values[:past], axis=0) > 0
    if not there.any() or variables + there.sum() > laws.most_variables:
        return None
    if roughness(context.values, context.observed).max() > laws.noise:
        return None
    centre, scale = values[:past, there].mean(axis=0), values[:past, there].std(axis=0)
    inputs = (values[:, there] - centre) / scale
    # A switch that throws the variables between a few states passes through them by many fields.
    if len(np.unique(np.column_stack([context.values, inputs[:past]]).round(9), axis=0)) < laws.shortest:
        return None
    label = {"inputs": tuple(name for name, varies in zip(names, there, strict=True) if varies)}

    def solved(driven: Context, laws: LawSettings) -> FittedFlow | None:
        return Search(driven.values, driven.observed, driven.units, laws=laws).with_inputs(inputs)

    return Input(_joined(context, inputs[:past], centre, scale), solved, variables, label, "field with inputs")


def decide(context: Context, names: Sequence[str], values: Array, steps: int, settings: Settings) -> Decided | None:
    """The forecast of a law with inputs that are known in advance; None where none is announced. values: regressors
    over past and future, (time + steps, regressors)."""
    found = known(context, names, values, steps, settings)
    decided = None if found is None else found.decide(steps, settings)
    return None if decided is None or decided.system is None else decided


def rate(context: Context) -> Input | None:
    """The rate of the single variable along its smooth path, None where it does not change."""
    path = smoothed(context.values, roughness(context.values, context.observed))
    slope = np.gradient(path[:, 0])
    pace = float(slope.std())
    if not pace > 0:
        return None
    turning = _joined(context, slope / pace, 0.0, pace * context.units.scale[0])
    return Input(turning, _second_order, 1, {"second": True})


def _second_order(turning: Context, laws: LawSettings) -> FittedFlow | None:
    if not trajectory.promising(turning, laws):
        return None
    seen = np.column_stack([turning.observed[:, 0], np.zeros(len(turning.values), dtype=np.bool_)])
    return Search(turning.values, seen, turning.units, laws=laws).of_second_order()


def of_second_order(context: Context, steps: int, settings: Settings) -> Decided | None:
    """The forecast of a law of second order of the single variable; None where none is announced."""
    found = rate(context)
    model = None if found is None else found.solve(found.context, settings.laws)
    if found is None or model is None:
        return None
    # Exact laws are followed from their samples: those of the rate are the states that were solved for.
    solved = found.context.values.copy()
    solved[len(solved) - len(model.found.states) :, 1] = model.found.states[:, 1] - model.offset[1]
    decided = replace(found, context=replace(found.context, values=solved)).followed(model, steps, settings)
    return None if decided is None or decided.system is None else decided


def clock(context: Context, settings: Settings) -> Input | None:
    """Time, where what a field without it leaves is explained by its terms times a clock."""
    latest = slice(-settings.laws.latest, None)
    if not _may_have(context, settings):
        return None
    recent, seen = context.values[latest], context.observed[latest]
    if roughness(recent, seen).max() > settings.laws.resolved:
        return None
    if not min(unexplained(recent, degree) for degree in (2, 3)) < settings.drift_left:
        return None
    rows = np.arange(len(context.values), dtype=np.float64)
    timed = _joined(context, (rows - rows.mean()) / rows.std(), rows.mean(), rows.std())

    def solved(timed: Context, laws: LawSettings) -> FittedFlow | None:
        return fit_flow(timed.values, timed.known, timed.units, laws=laws, clocked=True)

    note = "Parameters of the field drift with time t, which is 0 at the first row; the forecast lets them go on."
    return Input(timed, solved, context.values.shape[1], {"clocked": True}, "field with a drift", note)


def unexplained(values: Array, degree: int = 2) -> float:
    """The share of what a field of that degree leaves that is still left when its terms may change with time.

    Along the smooth path and over four steps at a time, so that noise averages out.
    """
    path = smoothed(values, roughness(values))
    columns = integrated(flow.features(flow.polynomial_terms(values.shape[1], degree), path))
    sums = [np.cumsum(each, axis=0) for each in (columns, path[2:-1] - path[1:-2])]
    columns, rise = (each[_APART:] - each[:-_APART] for each in sums)
    base = np.linalg.qr(columns)[0]
    rest = rise - base @ (base.T @ rise)
    more = np.linspace(-1.0, 1.0, len(rise))[:, None] * columns
    more -= base @ (base.T @ more)
    after = rest - more @ np.linalg.lstsq(more, rest, rcond=1e-10)[0]
    return float(np.sum(after**2) / np.sum(rest**2))


def _phases(context: Context, frequency: float) -> Context:
    """The context with the two phases of that many radians a sample; the last sample is at 0."""
    turn = frequency * (np.arange(len(context.values)) - (len(context.values) - 1))
    # In the data's units the two are a cosine and a sine.
    return _joined(context, np.sqrt(2) * np.column_stack([np.cos(turn), np.sin(turn)]), [0.0] * 2, [np.sqrt(0.5)] * 2)


def drive(context: Context, settings: Settings) -> float | None:
    """Radians a sample of a forcing that is not among the variables, None where there is none.

    The field without it is taken to be of degree 3, or to have sines and cosines of the variables in their own units.
    """
    if not _may_have(context, settings):
        return None
    recent, seen = context.values[-settings.laws.latest :], context.observed[-settings.laws.latest :]
    noise = roughness(recent, seen)
    if settings.laws.clean < noise.max() < settings.laws.resolved:
        recent = smoothed(recent, noise)
    for terms in _without_drive(context):
        frequency, left = strongest(recent, settings.forcing_periods, terms)
        if left < settings.forcing_left:
            return frequency
    return None


def _without_drive(context: Context) -> tuple[Terms, Terms]:
    """Powers of degree 3; and constant, variables, and sines and cosines of these in their own units."""
    variables, units = context.values.shape[1], context.units
    waves = [
        Function(SINE, tuple(row), float(units.centre[i]) + turn)
        for i, row in enumerate(np.diag(units.scale[:variables]))
        for turn in (0.0, np.pi / 2)
    ]
    return flow.polynomial_terms(variables, 3), flow.polynomial_terms(variables, 1, waves)


def driven(context: Context, steps: int, settings: Settings) -> Decided | None:
    """The forecast of a law with hidden sinusoidal forcing that one trajectory of explains the context."""
    frequency = drive(context, settings)
    if frequency is None:
        return None
    ready = _phases(context, frequency)
    model = fit_flow(ready.values, ready.known, ready.units, phases=1, laws=settings.laws)
    if model is not None and model.exact and model.conclusive:
        ready, frequency, model = _tuned(context, ready, frequency, model)
    off = 0.0 if model is None or model.exact else _unsure(context, frequency, settings)
    period = 2 * np.pi / frequency * context.stride
    note = f"A forcing that is not among the variables has a period of {period:.6g} samples."
    variables, label = context.values.shape[1], {"drive": (frequency, off)}
    with_it = Input(ready, lambda *_: model, variables, label, "field with hidden forcing", note)
    return with_it.decide(steps, settings)


def _unsure(context: Context, frequency: float, settings: Settings) -> float:
    """Standard error of the frequency of a forcing, radians a sample: by least squares on the rises of noisy samples,
    beside a field of degree 3 and one of sines, the smaller of the two. Phases in the field are taken as known, and
    what it says about their pace is the rounding of these."""
    values = context.values[-settings.laws.latest :]
    times = np.arange(len(values), dtype=np.float64) - len(values) / 2
    found = []
    for terms in _without_drive(context):
        columns, rise = integrals(values, terms)
        waves = np.column_stack([np.sin(frequency * times), np.cos(frequency * times)])
        system = np.column_stack([columns, np.diff(waves, axis=0)])
        base, (sine, cosine) = np.linalg.qr(system)[0], np.linalg.lstsq(system, rise)[0][-2:]
        rest = rise - base @ (base.T @ rise)
        slope = np.diff(times[:, None] * (np.outer(waves[:, 1], sine) - np.outer(waves[:, 0], cosine)), axis=0)
        slope -= base @ (base.T @ slope)
        found.append(float(1 / np.sqrt(np.sum(np.sum(slope**2, axis=0) / np.mean(rest**2, axis=0)))))
    return min(found)


def _tuned(context: Context, ready: Context, frequency: float, model: FittedFlow) -> tuple[Context, float, FittedFlow]:
    """The same with the frequency that exact steps ask for: the spectrum knows it less well than they do, and phases
    that are a little off at the far end of the context make the coefficients wrong, and the forecast."""
    laws, known = model.laws, ready.known
    both = np.nonzero(known[:-1] & known[1:])[0]
    for _ in range(_TUNED):
        x, seen = ready.values + model.offset, ready.values.shape[1] - 2
        substeps = model.field.substeps(EIGHTH, x[both], laws.exact.integrated, laws.exact.most_substeps)
        ends, tangent = model.field.tangents(EIGHTH, x[both], substeps)
        later = tangent[:, :seen, seen] * -x[both, -1, None] + tangent[:, :seen, seen + 1] * x[both, -2, None]
        later *= (both - (len(x) - 1))[:, None]
        own = model.field.parameters[1] < seen  # turns of the phases follow from the frequency
        columns = np.concatenate([tangent[:, :seen, seen + 2 :][:, :, own], later[:, :, None]], axis=2)
        rest = (x[both + 1] - ends)[:, :seen]
        change = float(solve(columns.reshape(-1, columns.shape[2]), rest.reshape(-1))[-1])
        trial = _phases(context, frequency + change)
        end = trial.values + model.offset
        latest = end[-laws.latest :]
        found = step_by_step(model.field, latest, Steps.of(latest, known[-len(latest) :]), exact=laws.exact)
        residual = np.inf if found is None else float(np.sqrt(np.mean(found.noise**2)))
        if found is None or not residual < model.residual:
            break
        ready, frequency = trial, frequency + change
        model = replace(model, found=found, field=found.field, residual=residual, end=end)
    return ready, frequency, model


def strongest(values: Array, periods: float, terms: Terms | None = None) -> tuple[float, float]:
    """Radians a sample of the sinusoid that explains most of what a field leaves, and what is left then.

    The field has the given terms, all of degree 3 where None. Integrals of sinusoids over a step are differences of
    sinusoids. The frequency is near the highest peak of the spectrum of what the field leaves, or, where the response
    has settled to the period of the forcing and hides it, of the later rises. The second number is a share of the
    variance: of the rises that the field leaves, with the sinusoid against without. periods: that it has at least in
    the series.
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

    apart = np.pi / len(rest) / 4  # an eighth of a turn over the whole series
    peaks = [_peak(each, periods, len(rest)) for each in (rest, rise[len(rise) // 2 :])]
    near = np.unique(np.add.outer(peaks, np.arange(-2, 3) * apart))
    best = float(near[np.argmin([left(frequency) for frequency in near])])
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
