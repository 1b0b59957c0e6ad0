"""The laws of a context: what is looked for, cheapest and commonest first, and which of them is announced.

`decide` is what a forecast asks: one law that explains the whole context, with its forecast (`Decided`: a path, draws
around it, and a system where the law is announced). `inputs.decide` asks for a law with regressors that are known in
advance, `hidden_law` for one of variables that are not seen.

A law is announced where nothing shorter describes the samples as well (`FittedFlow.nats`, Rissanen's description
length: what it leaves of the samples, and each parameter with the choice of its term), and where it forecast rows that
it was solved without (`trajectory.decide`).
"""

from dataclasses import replace

import numpy as np
from scipy.optimize import isotonic_regression

from prophecy._arrays import Array
from prophecy.laws import families, inputs, trajectory
from prophecy.laws.context import Context
from prophecy.laws.flows import Search
from prophecy.laws.problem import most_noise
from prophecy.laws.settings import Settings
from prophecy.laws.trajectory import Decided, FittedFlow, nats
from prophecy.laws.weak_form import roughness

STRAIGHT = 1e-9  # standard deviations; a series whose second differences are below this is a straight line


def decide(context: Context, steps: int, settings: Settings) -> Decided | None:
    """The law that one trajectory of explains the context.

    Angles that grow first; then, where powers along the smoothed samples show no law, those that do not show there: of
    several variables at slow moments, of powers through exact samples, of one variable. Elsewhere powers through exact
    samples, which take a tenth of a second and need no other explanation; then a drive or a drift where what powers
    leave looks like one; then noise and functions.
    """
    values, laws = context.values, settings.laws
    if len(values) < settings.least:
        return None
    rough, phases = float(roughness(values, context.observed).max()), values.shape[1] - int(context.varying.sum())
    search = Search(values, context.observed, context.units, phases, laws)
    several = len(values) >= laws.shortest and 2 <= values.shape[1] <= laws.most_variables
    grown, moved = (np.abs(values[-1] - values[0]), np.ptp(values, axis=0)) * context.units.scale[None]
    angles = (grown > 4 * np.pi) & (grown > 0.9 * moved)  # radians: round at least twice, and mostly one way
    if several and angles.any():
        decided = trajectory.decide(context, search.of(families.of_angles(search.units, angles)), steps)
        if decided is not None and decided.system is not None:
            return decided
    if trajectory.promising(context, laws):
        return _promising(context, search, steps, settings)
    decided, straight = None, np.abs(np.diff(values, 2, axis=0)).max(initial=0.0) < STRAIGHT
    if several or (rough <= laws.clean and values.shape[1] <= laws.widest and not straight):
        decided = trajectory.decide(context, search.exact_powers(), steps)
    if straight:
        return decided  # a line obeys any law; readouts follow it to rounding
    if decided is None and rough <= laws.noise and values.shape[1] == 1:
        decided = _of_one(context, search, steps, rough, settings)
    return decided


def _promising(context: Context, search: Search, steps: int, settings: Settings) -> Decided | None:
    seen, laws = context.values.shape[1], settings.laws
    model = search.exact_powers() or search.of_libraries()
    driven = inputs.unseen(context, steps, settings) if model is None else None
    if driven is not None and driven.model is not None:
        # A drive with many powers passes through any oscillation that repeats.
        short = driven.model.field.count <= laws.short * seen
        model = None if short and driven.exact else search.others()
        if model is None or not model.conclusive or model.nats(seen) > driven.model.nats(seen):
            return driven if short else replace(driven, system=None)
    elif model is None:
        model = search.others()
    done = model is not None and model.conclusive and (model.short or not model.exact)
    quotient = None if done else search.quotients()
    if quotient is not None and (model is None or not model.conclusive or model.field.count > quotient.field.count):
        model = quotient
    return trajectory.decide(context, model, steps)


def _of_one(context: Context, search: Search, steps: int, rough: float, settings: Settings) -> Decided | None:
    """The law of one variable through noise: of first order where it rises or falls all the time, as solutions of
    x' = f(x) do, else of second."""
    laws, x = settings.laws, context.values[context.known][:, 0]
    left = min(float(np.mean((x - isotonic_regression(x, increasing=up).x) ** 2)) for up in (True, False))
    if left < most_noise(np.array([rough]), len(x), laws)[0] ** 2:
        positive = bool(x.min() * context.units.scale[0] + context.units.centre[0] > 0)
        found = search.of(families.of_one_variable(search.units, positive)), search.quotients()
        there = [each for each in found if each is not None]
        model = min(there, key=lambda each: (not each.conclusive, each.nats(1)), default=None)
        decided = trajectory.decide(context, model, steps)
        if decided is None or decided.system is None or model is None:
            return None
        return decided if _briefest(context, model) else None
    if len(context.values) >= laws.shortest and rough <= laws.noise_second:
        return inputs.of_second_order(context, steps, settings)
    return None


def _briefest(context: Context, law: FittedFlow) -> bool:
    """Whether the law of one variable describes the samples in fewer nats than a walk with a drift does, and than any
    polynomial of time up to degree 3, of the values or of their logarithms (noise that grows with them); rates that do
    not depend on the state are a line, and no law."""
    x = context.values[context.known]
    times, one = np.linspace(-1.0, 1.0, len(x)), np.ones_like(x)
    size = x + context.units.centre[:1] / context.units.scale[:1]
    price = 0.5 * float(np.log(len(x)))

    def of_time(values: Array, degree: int) -> float:
        rest = values[:, 0] - np.polyval(np.polyfit(times, values[:, 0], degree), times)
        return nats(rest[:, None], one, price * (degree + 1))

    walk = np.diff(x, axis=0)
    rivals = [nats(walk - walk.mean(), one[1:], 2 * price), *(of_time(x, degree) for degree in (1, 2, 3))]
    if (size > 0).all():
        rivals += [of_time(np.log(size), degree) + float(np.log(size).sum()) for degree in (1, 2, 3)]
    return bool(law.field.mask[1:].any() and law.nats(1) + price < min(rivals))
