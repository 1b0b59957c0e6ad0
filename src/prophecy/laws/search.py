"""One law for the whole context, or none: the order in which it is looked for, cheapest and commonest first."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from prophecy.laws import drift, forcing, second_order, trajectory
from prophecy.laws.context import Context
from prophecy.laws.fitted import FittedFlow
from prophecy.laws.flows import Search
from prophecy.laws.problem import most_noise
from prophecy.laws.settings import DEFAULT, LawSettings, Settings
from prophecy.laws.trajectory import Decided
from prophecy.laws.weak_form import LEAST_NOISE, roughness

Mask = NDArray[np.bool_]

_ONE_WAY = 0.9  # of its range: what an angle that grows has gone from its first value to its last
_OF_TIME = 1, 2, 3  # degrees of polynomials of time that a law of one variable is compared with
STRAIGHT = 1e-9  # standard deviations; a series whose second differences are below this is a straight line


@dataclass(frozen=True, eq=False)
class Sought:
    """The forecast of a law, if there is one, and the fields that came closest to one and may compete with others."""

    decided: Decided | None = None
    closest: tuple[FittedFlow, ...] = ()


def decide(context: Context, steps: int, settings: Settings) -> Sought:
    """The law that one trajectory of explains the context.

    Powers through exact samples first, which take a tenth of a second and need no other explanation; then a forcing or
    a drift where what powers leave looks like one; then noise and functions. A forcing or a drift must pay for itself:
    through noise it is taken where no law without it describes the samples more briefly, and announced if it is short.
    """
    angles = _angles(context, settings.laws)
    if angles.any():
        decided = trajectory.decide(context, _search(context, settings).of_angles(angles), steps, settings.laws)
        if decided is not None and decided.system is not None:
            return Sought(decided)
    if not trajectory.promising(context, settings.laws):
        return _unpromising(context, steps, settings)
    search = _search(context, settings)
    model = search.exact_powers()
    if model is None:
        driven = _driven(context, steps, settings)
        law = None if driven is None else driven.model
        if law is not None and law.exact and _short(law, context, settings):
            return Sought(driven)
        model = search.others()
        if driven is not None and law is not None and not _briefer(model, law, context):
            return Sought(driven if _short(law, context, settings) else replace(driven, system=None))
    quotient = search.quotients() if model is None or not model.conclusive else None
    if quotient is not None and quotient.conclusive:
        model = quotient
    decided = trajectory.decide(context, model, steps, settings.laws)
    if decided is None and model is not None and model.conclusive and not model.exact:
        return Sought()
    return Sought(decided, tuple(each for each in (model, quotient) if each is not None))


def _angles(context: Context, laws: LawSettings) -> Mask:
    """(variables,): which may be angles in radians that grow: they go round at least twice, and mostly one way."""
    values = context.values * context.units.scale
    gone, moved = np.abs(values[-1] - values[0]), np.ptp(values, axis=0)
    none = len(values) < laws.shortest or not 2 <= values.shape[1] <= laws.most_variables
    return np.asarray((gone > 4 * np.pi) & (gone > _ONE_WAY * moved) & (not none))


def _driven(context: Context, steps: int, settings: Settings) -> Decided | None:
    """A law with a forcing that is not seen, or with a parameter that drifts."""
    decided = forcing.decide(context, steps, settings) if "FORCING" not in settings.without else None
    if decided is None and "DRIFT_FIELDS" not in settings.without:
        decided = drift.decide(context, steps, settings)
    return decided


def _short(law: FittedFlow, context: Context, settings: Settings) -> bool:
    """Whether a law has so few terms that it imitates no other: a forcing with many powers passes through any
    oscillation that repeats."""
    return bool(law.field.count <= settings.laws.short * context.values.shape[1])


def _briefer(law: FittedFlow | None, driven: FittedFlow, context: Context) -> bool:
    """Whether a law without time describes the variables that are seen in fewer nats than one with a drive."""
    if law is None or not law.conclusive:
        return False
    seen = context.values.shape[1]
    return bool(law.nats(seen) <= driven.nats(seen))


def _unpromising(context: Context, steps: int, settings: Settings) -> Sought:
    """Powers through exact samples of one variable, or of few samples: growth and decay; of several variables, where
    slow moments alone determine a field; through noise, x' = f(x) of one variable that rises or falls all the time."""
    values, laws = context.values, settings.laws
    if len(values) >= laws.shortest and 2 <= values.shape[1] <= laws.most_variables:
        decided = trajectory.decide(context, _search(context, settings).from_slow_moments(), steps, laws)
        if decided is not None:
            return Sought(decided)
    rough = float(roughness(values, context.observed).max()) if len(values) >= settings.least else np.inf
    if np.abs(np.diff(values, 2, axis=0)).max(initial=0.0) < STRAIGHT:
        return Sought()  # a line obeys any law; readouts follow it to rounding
    if rough <= laws.clean and values.shape[1] <= laws.widest:
        decided = trajectory.decide(context, _search(context, settings).exact_powers(), steps, laws)
        if decided is not None:
            return Sought(decided)
    return Sought(_of_one(context, steps, rough, settings) if values.shape[1] == 1 else None)


def _of_one(context: Context, steps: int, rough: float, settings: Settings) -> Decided | None:
    """The law of one variable through noise: of first order where it rises or falls all the time, else of second."""
    laws = settings.laws
    if rough <= laws.noise and _monotone(context, rough, laws):
        model = _search(context, settings).of_one_variable()
        decided = trajectory.decide(context, model, steps, laws)
        told = decided is not None and decided.system is not None and model is not None and _briefest(context, model)
        return decided if told else None
    if len(context.values) >= laws.shortest and rough <= laws.noise_second:
        return second_order.decide(context, steps, laws)
    return None


def _monotone(context: Context, rough: float, laws: LawSettings) -> bool:
    """Whether the single variable rises all the time or falls, up to noise: solutions of x' = f(x) do."""
    x = context.values[context.known][:, 0]
    left = min(float(np.mean((x - isotonic_regression(x, increasing=up).x) ** 2)) for up in (True, False))
    return bool(left < most_noise(np.array([rough]), len(x), laws)[0] ** 2)


def _briefest(context: Context, law: FittedFlow) -> bool:
    """Whether the law of one variable describes the samples in fewer nats than a walk with a drift does, and than any
    polynomial of time up to degree 3, of the values or of their logarithms (noise that grows with them); rates that do
    not depend on the state are a line, and no law."""
    x = context.values[context.known][:, 0]
    times, price = np.linspace(-1.0, 1.0, len(x)), 0.5 * float(np.log(len(x)))
    rests = [(np.diff(x) - np.diff(x).mean(), 2)]
    rests += [(x - np.polyval(np.polyfit(times, x, degree), times), degree + 1) for degree in _OF_TIME]
    least, size = LEAST_NOISE**2, x + context.units.centre[0] / context.units.scale[0]
    rivals = [0.5 * len(x) * float(np.log(max(np.mean(rest**2), least))) + price * count for rest, count in rests]
    for degree in _OF_TIME if (size > 0).all() else ():
        rest = np.log(size) - np.polyval(np.polyfit(times, np.log(size), degree), times)
        spread = 0.5 * len(x) * float(np.log(max(np.mean(rest**2), least)))
        rivals.append(spread + float(np.log(size).sum()) + price * (degree + 1))
    return bool(law.field.mask[1:].any() and law.nats(1) + price < min(rivals))


def whole(context: Context, settings: Settings = DEFAULT) -> FittedFlow | None:
    """The field fitted to the whole context, without hidden forcing or drift, where a glance is promising."""
    if not trajectory.promising(context, settings.laws):
        return None
    search = _search(context, settings)
    return search.exact_powers() or search.others()


def _search(context: Context, settings: Settings) -> Search:
    phases = context.values.shape[1] - int(context.varying.sum())
    return Search(context.values, context.observed, context.units, phases, settings.laws)
