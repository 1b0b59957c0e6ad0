"""Series that one trajectory of one field explains: whether there may be one, what it forecasts, whether it is a law.

Measurements of a system with few variables and a short equation need no tournament of models: when a single trajectory
of a sparse field passes through the whole context and leaves nothing but noise, that field is the answer, and what the
context leaves open about its parameters and its last state is the uncertainty.

Several fields pass through the same samples, through noise or as powers in the place of roots, and lead elsewhere after
them. So the law is solved again without the last part of the context, through noise with its terms chosen anew among
all of its family, and has to forecast that part (`held_out`): where it is further off than the noise and its own spread
say, its spread is that much too small, and where it is so twice, or by far, it is no law.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from prophecy._arrays import Array, Mask
from prophecy.laws import flow
from prophecy.laws.context import Context
from prophecy.laws.families import waves
from prophecy.laws.flow import NO_KICKS, SparseField, Terms
from prophecy.laws.noise_free import solved_again
from prophecy.laws.problem import Assimilated, Problem
from prophecy.laws.settings import BEYOND, LAWS, LawSettings
from prophecy.laws.to_equations import FoundSystem
from prophecy.laws.weak_form import LEAST_NOISE, Budget, WeakForm, roughness, smoothed

_CHOSEN = "Along the context some terms are combinations of others; the shortest equations that hold were chosen."


@dataclass(frozen=True, eq=False)
class FittedFlow:
    """A field and where the series is on its flow. The field's variables are values + offset, in standard deviations.

    exact: the samples are taken as they are. end: the series it was found in, up to its end; seen: 1 for each of the
    latest of its values that was observed, None where all were. inputs: (time, inputs), from the first row of the
    series on and as far ahead as they are known.
    """

    found: Assimilated
    offset: Array
    exact: bool
    conclusive: bool
    end: Array
    laws: LawSettings = LAWS
    seen: Array | None = None
    inputs: Array | None = None

    @property
    def field(self) -> SparseField:
        return self.found.field

    @property
    def short(self) -> bool:
        """Whether it is a law of few terms: a law of powers with more may be an imitation of functions."""
        return self.conclusive and self.field.count <= self.laws.short * self.field.terms.variables

    @property
    def _tolerance(self) -> float:
        laws = self.laws
        if self.exact:
            return max(laws.exact.least, laws.integrated_exact * self.found.residual)
        return laws.integrated_noisy * self.found.residual

    def nats(self, variables: int) -> float:
        """Length of a description of the first `variables` by this law: what it leaves of them, and each parameter
        with the choice of its term among all of the family."""
        left = self.end[-len(self.found.states) :, :variables] - self.found.states[:, :variables]
        there = np.ones_like(left) if self.seen is None else self.seen[:, :variables]
        return nats(left, there, self.field.count * (0.5 * np.log(there.sum()) + np.log(self.field.terms.size)))

    def doubt(self, variables: int) -> float:
        """How little the samples determine the first `variables` rates: by how much those under drawn parameters differ
        along the path, as a share of their size, root mean square."""
        fields = self.field, *self.found.draws(self.laws.draws // 4, 0)[0]
        rates, *drawn = [(flow.features(f.terms, self.found.states) @ f.theta)[:, :variables] for f in fields]
        size, away = np.mean(rates**2, axis=0), np.mean((np.stack(drawn) - rates) ** 2, axis=(0, 1))
        return float(np.sqrt(np.mean(away[size > 0] / size[size > 0])))

    def path(self, steps: int) -> Array:
        """The flow from the last state: (steps, variables)."""
        there = self.field.paths(self.found.states[-1:], steps, self._tolerance, self._bound, self._jumps(steps))[0]
        return np.asarray(there - self.offset)

    def _jumps(self, steps: int) -> Array:
        """By how much the inputs change at each sample to come: (1, steps, variables)."""
        if self.inputs is None:
            return NO_KICKS
        at = len(self.end) + np.arange(steps)
        out = np.zeros((1, steps, self.field.terms.variables))
        out[..., ~self.field.own] = self.inputs[at] - self.inputs[at - 1]
        return out

    @property
    def _bound(self) -> float:
        """Standard deviations beyond which a path is lost: an exact law may grow, of one variable without end."""
        if self.exact and self.conclusive:
            return np.inf if self.field.terms.variables == 1 else self.laws.growth
        return BEYOND + float(np.abs(self.offset).max())

    def ensemble(self, steps: int, count: int, seed: int, wider: float = 1.0) -> Array:
        """Paths from the end of the series, (count, steps, variables), under drawn parameters, last states and errors
        of the field at every step, all of them `wider` times as large as they are known to be."""
        fields, states = self.found.draws(count, seed, wider)
        kicks = np.random.default_rng(seed + 1).standard_normal((count, steps, states.shape[1])) * (
            wider * self.found.missed * self.field.own
        )
        if self.inputs is not None:
            kicks = kicks + self._jumps(steps)
        loose = 10 * self._tolerance  # draws are kicked by more at every step
        return self.field.paths(states, steps, loose, self._bound, kicks, fields) - self.offset


def nats(left: Array, there: Array, price: float) -> float:
    """Length of a description that leaves (rows, variables) of the samples, where these are there, and whose parameters
    cost `price`."""
    count = there.sum(axis=0)
    noise = np.log(np.maximum((left**2 * there).sum(axis=0) / count, LEAST_NOISE**2))
    return float(0.5 * (count * noise).sum() + price)


@dataclass(frozen=True, eq=False)
class Decided:
    """path (steps, variables) and draws (count, steps, variables), in the units of `Context.values`; what made them.

    system: the law, where it is announced as one. foretold: whether it forecast the rows that it was solved without.
    """

    path: Array
    draws: Array
    model: FittedFlow | None
    method: str
    notes: tuple[str, ...]
    system: FoundSystem | None
    foretold: bool = True

    @property
    def exact(self) -> bool:
        """Whether the law was solved from samples without noise."""
        return self.model is not None and self.model.exact


def rises(values: Array, observed: Mask | None, terms: Terms) -> tuple[Array, Array]:
    """The weak form along the smoothed samples: integrals of terms, (rows, terms), and rises, (rows, variables), over
    four samples, so that noise averages out."""
    noise = roughness(values, observed)
    form = WeakForm(smoothed(values, noise), float(noise.max()))
    sums = [np.cumsum(each, axis=0) for each in (form.integrated(flow.features(terms, form.path)), form.rise)]
    return sums[0][4:] - sums[0][:-4], sums[1][4:] - sums[1][:-4]


def promising(context: Context, laws: LawSettings = LAWS) -> bool:
    """Whether powers of degree 2 explain some of the rises of every variable, or, with sines of the variables,
    coefficients solved from every other block do so in the blocks between."""
    values = context.values[-laws.latest :]
    if not 2 <= values.shape[1] <= laws.widest or len(values) < laws.shortest:
        return False
    sines = waves(context.units)
    terms = flow.polynomial_terms(values.shape[1], 2, sines)
    system, rise = rises(values, context.observed[-laws.latest :], terms)
    odd, whole = np.arange(len(rise)) // 32 % 2 == 1, np.ones(len(rise), dtype=np.bool_)

    def explained(columns: Array, solved: Mask, tried: Mask) -> float:
        """The share of the rises that coefficients explain, least of all variables."""
        rest = rise[tried] - columns[tried] @ np.linalg.lstsq(columns[solved], rise[solved], rcond=1e-10)[0]
        total = ((rise[tried] - rise[tried].mean(axis=0)) ** 2).sum(axis=0)
        return float(np.min(1 - (rest**2).sum(axis=0) / np.maximum(total, 1e-300)))

    between = min(explained(system, ~part, part) for part in (odd, ~odd))
    return max(explained(system[:, : -len(sines)], whole, whole), between) > laws.explained


def decide(context: Context, model: FittedFlow | None, steps: int, wider: float = 1.0) -> Decided | None:
    """The forecast of a model that leaves nothing but little noise; None where another may do better.

    A field that needs errors of its own beside the noise is followed where it forecast the rows that it was solved
    without as well as it says, and is not announced. The draws have the noise in them that values to come will have
    too; the path is without. wider: by how much draws are farther from it than the samples say, beside what rows held
    back say.
    """
    if model is None or model.found.noise.max() > (laws := model.laws).noise:
        return None
    if not model.conclusive and (model.exact or model.found.looseness > laws.stages[1]):
        return None
    path = model.path(steps)
    seen, noise = int(context.varying.sum()), model.found.noise
    test = held_out(model, context.values, context.known, seen, steps)
    if test.lost or (test.wider > 1 and not model.conclusive):
        return None
    draws = model.ensemble(steps, laws.draws, 0, wider * test.wider)
    stay = np.isfinite(draws).all(axis=(1, 2))
    if stay.mean() < laws.staying:
        return None
    draws = draws[stay]
    path = path if np.isfinite(path).all() else draws[0]
    draws = draws + noise * np.random.default_rng(1).standard_normal(draws.shape)
    left = "exactly" if model.exact else f"up to noise of {model.found.residual:.2g} standard deviations"
    note, system = f"field with {model.field.count} parameters passes through the", None
    why = _doubt(model, test, seen)
    if why is not None and model.exact and np.std(draws[..., :seen], axis=0).max() > laws.foretold_close:
        return None  # it says nothing any more
    if why is None:
        columns = tuple(np.nonzero(context.varying)[0].tolist())
        system = FoundSystem(model, context.units, context.stride, columns)
        notes = (f"One trajectory of a {note} whole context, {left}.", *([_CHOSEN] if model.found.chosen else []))
    else:
        notes = (f"A {note} context {left}. It is not announced as the law: {why}.",)
    return Decided(path, draws, model, "field by assimilation", notes, system, not test.astray)


def _doubt(model: FittedFlow, test: HeldOut, seen: int) -> str | None:
    """Why a field that explains the context is not announced as its law; None where it is."""
    laws, variables = model.laws, len(model.offset)
    if not model.conclusive:
        return "it has errors of its own besides the noise"
    if test.astray:
        return f"fitted without the last {test.rows} rows, it does not predict them, so its interval is wider"
    # Through noise, too, every variable may act on each.
    if model.field.count > (laws.announced if model.exact else max(laws.short, variables)) * variables:
        return "so many parameters may also imitate another law"
    if (open_ := model.doubt(seen)) > laws.doubt:
        return f"its coefficients are undetermined by {open_:.0%}"
    return None


class HeldOut(NamedTuple):
    """wider: how many times as wide as the law says its spread has to be. astray: whether it is not the law; lost: nor,
    through noise, worth following. rows: the most that were held back."""

    wider: float
    astray: bool
    lost: bool
    rows: int


def held_out(model: FittedFlow, values: Array, known: Mask, seen: int, steps: int) -> HeldOut:
    """How a law solved from early parts of (time, variables) did on the rest. seen: variables that were measured."""
    laws, length = model.laws, len(model.found.states)
    values, known = values[-length:], known[-length:]
    whole, variables = SparseField.of(model.field.terms), model.field.terms.variables
    # Terms that may come in: all, unless some variable is a function of time, or the samples are few, or one variable
    # is all there is: over a part of its range its functions are nearly sums of each other.
    many = whole.coefficients > min(laws.most_parameters, known.sum() * variables / 3)
    allowed = model.field.mask if many or variables > seen or variables == 1 else whole.mask
    ratios, counts = [], [int(share * length) for share in laws.held_back]
    for rows in counts:
        part = _without_the_last(model, values, known, rows, allowed)
        ratios.append(np.inf if part is None else _ratio(part, values, known, length - rows, min(rows, steps), seen))
    second, most = np.maximum(np.sort(ratios)[-2:], 1.0)
    # Single steps tell more of exact samples: what is left, integrators make, and it grows along a path.
    astray = second > (laws.follows if model.exact else laws.astray)
    wider = min(np.sqrt(second * most) if astray else most, max(second, laws.follows))
    return HeldOut(float(wider), bool(astray), bool(second > laws.follows and not model.exact), max(counts))


def _without_the_last(model: FittedFlow, values: Array, known: Mask, rows: int, allowed: Mask) -> FittedFlow | None:
    """The law from all but the last `rows`, beginning where the whole context led to."""
    laws, found, early = model.laws, model.found, len(values) - rows
    x = values[:early] + model.offset
    if model.exact:
        return replace(model, found=solved_again(found, x, known[:early], laws.exact), end=x, seen=None)
    observed = np.repeat(known[:early, None], x.shape[1], axis=1).astype(np.float64)
    if model.seen is not None:
        observed = observed * model.seen[:early]
    problem = Problem(found.field, x, observed, found.noise, found.states[:early], laws)
    problem.budget = Budget(laws.work)
    problem.allow(allowed)
    problem.at(found.looseness)
    problem.improve(6, 1e-2)
    problem.select(again=True)
    problem.improve(4)
    if not np.isfinite(problem.evidence()):
        return None
    again = replace(problem.known(), noise=found.noise)
    return replace(model, found=again, end=x, seen=None)


def _ratio(part: FittedFlow, values: Array, known: Mask, early: int, steps: int, seen: int) -> float:
    """Root mean square of what `part` misses the next samples by, beyond their noise, over that of its draws, of the
    variable with the largest; while draws are close to each other, and as far as noise leaves no doubt."""
    laws, noise = part.laws, np.maximum(part.found.noise[:seen], part.laws.exact.negligible)
    path = part.path(steps)[:, :seen]
    draws = part.ensemble(steps, laws.draws // 2, 0)[:, :, :seen]
    draws = draws[np.isfinite(draws).all(axis=(1, 2))]
    if len(draws) < laws.staying * laws.draws // 2 or not np.isfinite(path).all():
        return np.inf
    spread = np.mean((draws - path) ** 2, axis=0)
    close = np.sqrt(spread.mean(axis=1)) < laws.foretold_close
    there = known[early : early + steps] & np.logical_and.accumulate(close)
    if there.sum() < 8:
        return 1.0
    missed = np.mean((values[early : early + steps, :seen] - path)[there] ** 2, axis=0)
    doubt = 3 * np.sqrt(2 / there.sum())  # three standard errors of a mean square
    beyond = np.maximum(missed - noise**2 * (1 + doubt), 0.0)
    return float(np.sqrt(np.max(beyond / spread[there].mean(axis=0))))
