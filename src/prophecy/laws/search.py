"""The laws of a context: what is looked for, cheapest and commonest first, and which of them is announced.

`decide` is what a forecast asks: one law that explains the whole context, with its forecast (`Decided`: a path, draws
around it, and a system where the law is announced), and the fields that came closest to one, which compete with other
candidates on the same terms. `inputs.decide` asks for a law with regressors that are known in advance, `hidden_law`
for one of variables that are not seen.

A law is announced where nothing shorter describes the samples as well (`FittedFlow.nats`, Rissanen's description
length: what it leaves of the samples, and each parameter with the choice of its term), and where it forecast rows that
it was solved without (`trajectory.decide`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from prophecy.laws import inputs, trajectory
from prophecy.laws.context import Context
from prophecy.laws.fitted import FittedFlow
from prophecy.laws.flows import Search
from prophecy.laws.problem import most_noise
from prophecy.laws.settings import DEFAULT, LawSettings, Settings
from prophecy.laws.trajectory import Decided
from prophecy.laws.weak_form import LEAST_NOISE, roughness

Mask = NDArray[np.bool_]
STRAIGHT = 1e-9  # standard deviations; a series whose second differences are below this is a straight line


@dataclass(frozen=True, eq=False)
class Sought:
    """The forecast of a law, if there is one, and the fields that came closest to one and may compete with others."""

    decided: Decided | None = None
    closest: tuple[FittedFlow, ...] = ()

    @property
    def announced(self) -> bool:
        return self.decided is not None and self.decided.system is not None


def decide(context: Context, steps: int, settings: Settings) -> Sought:
    """The law that one trajectory of explains the context.

    Angles that grow first, then powers through exact samples, which take a tenth of a second and need no other
    explanation; then a drive or a drift where what powers leave looks like one; then noise and functions.
    """
    angles = _angles(context, settings.laws)
    if angles.any():
        told = _followed(context, _search(context, settings).of_angles(angles), steps, settings)
        if told.announced:
            return told
    if not trajectory.promising(context, settings.laws):
        return _unpromising(context, steps, settings)
    search = _search(context, settings)
    model = search.exact_powers() or search.of_libraries()
    if model is None:
        driven = _driven(context, steps, settings)
        law = None if driven is None else driven.model
        exact = law is not None and law.exact and _short(law, context, settings)
        model = None if exact else search.others()
        if driven is not None and law is not None and not _briefer(model, law, context):
            return Sought(driven if _short(law, context, settings) else replace(driven, system=None))
    quotient = search.quotients() if model is None or not model.conclusive else None
    if quotient is not None and quotient.conclusive:
        model = quotient
    decided = trajectory.decide(context, model, steps, settings.laws)
    if decided is None and model is not None and model.conclusive and not model.exact:
        return Sought()  # it failed on rows held out: no candidate either
    return Sought(decided, tuple(each for each in (model, quotient) if each is not None))


def _followed(context: Context, model: FittedFlow | None, steps: int, settings: Settings) -> Sought:
    return Sought(trajectory.decide(context, model, steps, settings.laws))


def _angles(context: Context, laws: LawSettings) -> Mask:
    """(variables,): which may be angles in radians that grow: they go round at least twice, and mostly one way."""
    values = context.values * context.units.scale
    gone, moved = np.abs(values[-1] - values[0]), np.ptp(values, axis=0)
    none = len(values) < laws.shortest or not 2 <= values.shape[1] <= laws.most_variables
    return np.asarray((gone > 4 * np.pi) & (gone > 0.9 * moved) & (not none))


def _driven(context: Context, steps: int, settings: Settings) -> Decided | None:
    """A law with a drive that is not seen, or with a parameter that drifts."""
    decided = inputs.driven(context, steps, settings) if "FORCING" not in settings.without else None
    if decided is None and "DRIFT_FIELDS" not in settings.without:
        time = inputs.clock(context, settings)
        decided = None if time is None else time.decide(steps, settings)
    return decided


def _short(law: FittedFlow, context: Context, settings: Settings) -> bool:
    """Whether a law has so few terms that it imitates no other: a drive with many powers passes through any oscillation
    that repeats."""
    return bool(law.field.count <= settings.laws.short * context.values.shape[1])


def _briefer(law: FittedFlow | None, driven: FittedFlow, context: Context) -> bool:
    """Whether a law without time describes the variables that are seen in fewer nats than one with a drive."""
    seen = context.values.shape[1]
    return bool(law is not None and law.conclusive and law.nats(seen) <= driven.nats(seen))


def _unpromising(context: Context, steps: int, settings: Settings) -> Sought:
    """Laws that powers along the smoothed samples do not show: of several variables where slow moments alone determine
    a field; powers through exact samples of one variable, or of few samples; of one variable through noise."""
    values, laws = context.values, settings.laws
    if len(values) >= laws.shortest and 2 <= values.shape[1] <= laws.most_variables:
        told = _followed(context, _search(context, settings).from_slow_moments(), steps, settings)
        if told.decided is not None:
            return told
    rough = float(roughness(values, context.observed).max()) if len(values) >= settings.least else np.inf
    if np.abs(np.diff(values, 2, axis=0)).max(initial=0.0) < STRAIGHT:
        return Sought()  # a line obeys any law; readouts follow it to rounding
    if rough <= laws.clean and values.shape[1] <= laws.widest:
        told = _followed(context, _search(context, settings).exact_powers(), steps, settings)
        if told.decided is not None:
            return told
    return Sought(_of_one(context, steps, rough, settings) if values.shape[1] == 1 else None)


def _of_one(context: Context, steps: int, rough: float, settings: Settings) -> Decided | None:
    """The law of one variable through noise: of first order where it rises or falls all the time, as solutions of
    x' = f(x) do, else of second."""
    laws, x = settings.laws, context.values[context.known][:, 0]
    if rough > laws.noise:
        return None
    left = min(float(np.mean((x - isotonic_regression(x, increasing=up).x) ** 2)) for up in (True, False))
    if left < most_noise(np.array([rough]), len(x), laws)[0] ** 2:
        model = _search(context, settings).of_one_variable()
        told = _followed(context, model, steps, settings)
        return told.decided if told.announced and model is not None and _briefest(context, model) else None
    if len(context.values) >= laws.shortest and rough <= laws.noise_second:
        return inputs.of_second_order(context, steps, settings)
    return None


def _briefest(context: Context, law: FittedFlow) -> bool:
    """Whether the law of one variable describes the samples in fewer nats than a walk with a drift does, and than any
    polynomial of time up to degree 3, of the values or of their logarithms (noise that grows with them); rates that do
    not depend on the state are a line, and no law."""
    x = context.values[context.known][:, 0]
    times, price = np.linspace(-1.0, 1.0, len(x)), 0.5 * float(np.log(len(x)))
    size = x + context.units.centre[0] / context.units.scale[0]

    def nats(rest: NDArray[np.float64], parameters: int) -> float:
        return 0.5 * len(x) * float(np.log(max(float(np.mean(rest**2)), LEAST_NOISE**2))) + price * parameters

    def of_time(values: NDArray[np.float64], degree: int) -> float:
        return nats(values - np.polyval(np.polyfit(times, values, degree), times), degree + 1)

    rivals = [nats(np.diff(x) - np.diff(x).mean(), 2), *(of_time(x, degree) for degree in (1, 2, 3))]
    if (size > 0).all():
        rivals += [of_time(np.log(size), degree) + float(np.log(size).sum()) for degree in (1, 2, 3)]
    return bool(law.field.mask[1:].any() and law.nats(1) + price < min(rivals))


def whole(context: Context, settings: Settings = DEFAULT) -> FittedFlow | None:
    """The field fitted to the whole context, without a drive or a drift, where a glance is promising."""
    if not trajectory.promising(context, settings.laws):
        return None
    search = _search(context, settings)
    return search.exact_powers() or search.others()


def _search(context: Context, settings: Settings) -> Search:
    phases = context.values.shape[1] - int(context.varying.sum())
    return Search(context.values, context.observed, context.units, phases, settings.laws)
