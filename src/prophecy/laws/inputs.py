"""Inputs of a law: columns beside its variables that are given, or follow from time, or are a rate that is not seen.

A law with inputs is searched for like any other (`_followed`): the columns join the context, their terms join the law
where they are worth what they cost, and a law in which they do not act is none of theirs. There are four:

- `decide`: regressors given at every sample, held until the next (a motor's voltage), without equations of their own;
- `driven`: the cosine and sine of a forcing of unknown frequency. A system driven by a sinusoid is autonomous again
  with both; what an autonomous field leaves of the rises is a sinusoid times smooth functions of the state;
- `drifting`: time itself, for parameters that rise or fall steadily: terms times the clock are terms of the field;
- `of_second_order`: the rate of a single variable, x'' = f(x, x'), never seen, whose equation x' = v is known.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from prophecy._arrays import Array
from prophecy.laws import families, flow, trajectory
from prophecy.laws.context import Context, Units
from prophecy.laws.damped import solve
from prophecy.laws.flow import EIGHTH, Terms
from prophecy.laws.flows import Search
from prophecy.laws.noise_free import step_by_step
from prophecy.laws.problem import Steps
from prophecy.laws.settings import Settings
from prophecy.laws.trajectory import Decided, FittedFlow
from prophecy.laws.weak_form import WeakForm, roughness, smoothed

_TUNED = 3  # times that the frequency is tuned at most
_DRIFT = "Parameters of the field drift with time t, which is 0 at the first row; the forecast continues the drift."


def _joined(context: Context, columns: Array, centre: Any, scale: Any) -> Context:
    """The context with further columns, (time, count), in units of their own."""
    units = Units(np.append(context.units.centre, centre), np.append(context.units.scale, scale))
    return replace(context, values=np.column_stack([context.values, columns]), units=units)


def _followed(
    context: Context, model: FittedFlow | None, count: int, steps: int, *words: str, **label: Any
) -> Decided | None:
    """The forecast of a law whose last `count` variables are inputs; None where there is no law or no equation of
    the others has an input in it. words: method and note; label: what the law's equations are told (`FoundSystem`)."""
    if model is None or not model.conclusive:
        return None
    variables = model.field.terms.variables - count
    columns = flow.powers(model.field.terms)[:, variables : variables + count]
    if not model.field.there[columns.any(axis=1), :variables].any():
        return None
    decided = trajectory.decide(context, model, steps)
    if decided is None:
        return None
    system = None if decided.system is None else replace(decided.system, **label)
    return replace(decided, method=words[0], notes=(*decided.notes, *words[1:]), system=system)


def decide(context: Context, names: Sequence[str], values: Array, steps: int, settings: Settings) -> Decided | None:
    """The forecast of a law with inputs that are known in advance; None where none is announced. values: regressors
    over past and future, (time + steps, regressors), of which those that vary are used."""
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
    driven = _joined(context, inputs[:past], centre, scale)
    model = Search(driven.values, driven.observed, driven.units, laws=laws).with_inputs(inputs)
    label = tuple(name for name, varies in zip(names, there, strict=True) if varies)
    decided = _followed(driven, model, inputs.shape[1], steps, "field with inputs", inputs=label)
    return None if decided is None or decided.system is None else decided


def of_second_order(context: Context, steps: int, settings: Settings) -> Decided | None:
    """The forecast of a law of second order of the single variable; None where none is announced."""
    slope = np.gradient(smoothed(context.values, roughness(context.values, context.observed))[:, 0])
    pace, laws = float(slope.std()), settings.laws
    if not pace > 0:
        return None
    turning = _joined(context, slope / pace, 0.0, pace * context.units.scale[0])
    if not trajectory.promising(turning, laws):
        return None
    seen = np.column_stack([turning.observed[:, 0], np.zeros(len(slope), dtype=np.bool_)])
    search = Search(turning.values, seen, turning.units, laws=laws)
    model = search.of(families.of_second_order(search.units))
    decided = _followed(turning, model, 1, steps, "field by assimilation", second=True)
    return None if decided is None or decided.system is None else decided


def unseen(context: Context, steps: int, settings: Settings) -> Decided | None:
    """A law with a drive that is not seen, or else with a parameter that drifts, where there are enough samples of few
    enough variables for either to show."""
    values = context.values
    if not 2 <= values.shape[1] <= settings.input_variables or len(values) < settings.hidden.least:
        return None
    decided = driven(context, steps, settings) if "FORCING" not in settings.without else None
    if decided is None and "DRIFT_FIELDS" not in settings.without:
        decided = drifting(context, steps, settings)
    return decided


def drifting(context: Context, steps: int, settings: Settings) -> Decided | None:
    """The forecast of a law with time in it, where what a field without leaves is explained by its terms times a
    clock."""
    recent = context.values[-settings.laws.latest :]
    if roughness(recent, context.observed[-len(recent) :]).max() > settings.laws.resolved:
        return None
    if not min(unexplained(recent, degree, settings.input_left) for degree in (2, 3)) < settings.input_left:
        return None
    rows = np.arange(len(context.values), dtype=np.float64)
    timed = _joined(context, (rows - rows.mean()) / rows.std(), rows.mean(), rows.std())
    model = Search(timed.values, timed.known, timed.units, laws=settings.laws, clocked=True).best()
    return _followed(timed, model, 1, steps, "field with a drift", _DRIFT, clocked=True)


def unexplained(values: Array, degree: int = 2, told: float = 0.0) -> float:
    """The share of what a field of that degree leaves that is still left when its terms may change with time; all of it
    where less than the share `told` of the clock is no function of the state, as on the way to rest."""
    columns, rise = trajectory.rises(values, None, flow.polynomial_terms(values.shape[1], degree))
    base = np.linalg.qr(columns)[0]
    rest = rise - base @ (base.T @ rise)
    clock = np.linspace(-1.0, 1.0, len(rise))
    if np.sum((clock - base @ (base.T @ clock)) ** 2) < told * np.sum(clock**2):
        return 1.0
    more = clock[:, None] * columns
    more -= base @ (base.T @ more)
    after = rest - more @ np.linalg.lstsq(more, rest, rcond=1e-10)[0]
    return float(np.sum(after**2) / np.sum(rest**2))


def driven(context: Context, steps: int, settings: Settings) -> Decided | None:
    """The forecast of a law with a forcing that is not among the variables. The field without it is taken to be of
    degree 3, or to have sines and cosines of the variables in their own units."""
    values, laws = context.values[-settings.laws.latest :], settings.laws
    noise = roughness(values, context.observed[-len(values) :])
    path = smoothed(values, noise) if laws.clean < noise.max() < laws.resolved else values
    forms = [flow.polynomial_terms(values.shape[1], *each) for each in ((3, ()), (1, families.waves(context.units)))]
    found = [strongest(path, settings.forcing_periods, terms) for terms in forms]
    frequency, left = min(found, key=lambda each: each[1])
    if not left < settings.input_left:
        return None
    ready = _phases(context, frequency)
    model = Search(ready.values, ready.known, ready.units, phases=1, laws=laws).best()
    error = 0.0
    if model is not None and not model.exact:
        error = min(Remainder(values, terms).error(frequency) for terms in forms)
    elif model is not None and model.conclusive:
        ready, frequency, model = _tuned(context, ready, frequency, model)
    period = 2 * np.pi / frequency * context.stride
    note = f"A hidden forcing has a period of {period:.6g} samples."
    return _followed(ready, model, 2, steps, "field with hidden forcing", note, drive=(frequency, error))


def _phases(context: Context, frequency: float) -> Context:
    """The context with the two phases of that many radians a sample; the last sample is at 0."""
    turn = frequency * (np.arange(len(context.values)) - (len(context.values) - 1))
    # In the data's units the two are a cosine and a sine.
    return _joined(context, np.sqrt(2) * np.column_stack([np.cos(turn), np.sin(turn)]), [0.0] * 2, [np.sqrt(0.5)] * 2)


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
        if found is None or not found.residual < model.found.residual:
            break
        ready, frequency = trial, frequency + change
        model = replace(model, found=found, end=end)
    return ready, frequency, model


class Remainder:
    """What a field with given terms leaves of the rises of (time, variables), and what a sinusoid beside it explains.

    Integrals of sinusoids over a step are differences of sinusoids.
    """

    def __init__(self, values: Array, terms: Terms) -> None:
        form = WeakForm(values, np.inf)
        self.rise, self._base = form.rise, np.linalg.qr(form.integrated(flow.features(terms, values)))[0]
        self.rest = self.rise - self._base @ (self._base.T @ self.rise)

    def left(self, frequency: float) -> float:
        """The share of the variance that is left beside a sinusoid of so many radians a sample."""
        turn = frequency * np.arange(len(self.rest) + 1)
        wave = np.diff(np.column_stack([np.sin(turn), np.cos(turn)]), axis=0)
        along = np.linalg.qr(wave - self._base @ (self._base.T @ wave))[0]
        return float(1 - np.sum((along.T @ self.rest) ** 2) / np.sum(self.rest**2))

    def error(self, frequency: float) -> float:
        """Standard error of a frequency, from the curvature of the likelihood. The phases of a field are taken as
        known, and what it says about their pace is the rounding of these."""
        step, here = np.pi / len(self.rest) / 8, self.left(frequency)
        bend = (self.left(frequency + step) + self.left(frequency - step) - 2 * here) / step**2
        return float(np.sqrt(2 * here / (self.rest.size * max(bend, 1e-300))))


def strongest(values: Array, periods: float, terms: Terms) -> tuple[float, float]:
    """Radians a sample of the sinusoid that explains most of what a field leaves, and the share that is left then.

    The frequency is near the highest peak of the spectrum of what the field leaves, or, where the response has settled
    to the period of the forcing and hides it, of the later rises. periods: that it has at least in the series.
    """
    beside = Remainder(values, terms)
    steps, peaks = len(beside.rest), []
    for columns in (beside.rest, beside.rise[len(beside.rise) // 2 :]):
        flat = (columns - columns.mean(axis=0)) * np.hanning(len(columns))[:, None]
        power = np.sum(np.abs(np.fft.rfft(flat, 8 * steps, axis=0)) ** 2, axis=1)
        grid = 2 * np.pi * np.arange(len(power)) / (8 * steps)
        peaks.append(float(grid[np.argmax(np.where(grid < 2 * np.pi * periods / steps, 0.0, power))]))
    apart = np.pi / steps / 4  # an eighth of a turn over the whole series
    near = np.unique(np.add.outer(peaks, np.arange(-2, 3) * apart))
    best = float(near[np.argmin([beside.left(each) for each in near])])
    fine = minimize_scalar(beside.left, bounds=(best - apart, best + apart), method="bounded", options={"xatol": 1e-12})
    return float(fine.x), float(fine.fun)
