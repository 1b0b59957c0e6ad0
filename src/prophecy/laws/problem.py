"""Fields solved from samples: states, parameters and the noise level together, by one least-squares problem.

One step at a time, noise looks like dynamics: it enters every start. In `Problem` the state at every sample is an
unknown, close to what was observed up to the noise and close to where the flow takes the state before up to a model
error. `assimilate` tightens that error stage by stage, from three times the noise (any field will do) to far below it
(one trajectory of one field passes through the whole series), so that Gauss-Newton follows the solution from an easy
problem to the exact one. At every stage terms that are not worth their place are removed, by Bayes' information
criterion, and may come back. The stage with the highest evidence is kept: where no field of the family fits, that is
one with room for the model's error.

Without noise the states are the samples, the equations of single steps are all there is, and `one_step` solves those:
by order 8, and robustly, since a few steps may be too fast for a guess.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import qr

from prophecy._arrays import Array, Counts, Mask
from prophecy.laws.damped import LEAST, Damped, descend
from prophecy.laws.flow import FOURTH, RECIPROCAL, SparseField, Tableau
from prophecy.laws.kernels import entry
from prophecy.laws.select_terms import eliminated, exchanged, widened
from prophecy.laws.settings import BEYOND, LAWS, LawSettings
from prophecy.laws.weak_form import Budget, regression, roughness, smoothed

Point = tuple[SparseField, Array]  # a field, and the states at the samples or what it leaves of these


class Problem:
    """The nonlinear least-squares problem, and Gauss-Newton steps on it.

    values: (time, variables); seen: 1 where observed, 0 where not. budget: the work it may do.
    """

    def __init__(
        self, field: SparseField, values: Array, seen: Array, noise: Array, states: Array, laws: LawSettings = LAWS
    ) -> None:
        self.laws = laws
        self.field, self.values, self.seen, self.states, self.noise = field, values, seen, states, noise
        self.looseness, self.substeps = 1.0, np.ones(len(states) - 1, dtype=np.int64)
        self.budget = Budget()
        self.allow(field.mask)
        self._most, self._least = most_noise(noise, len(values), laws), least_noise(noise, laws)
        self._damping, self._cost = 1e-4, np.inf
        self._linear: tuple[object, ...] = ()
        self._sound = False

    def allow(self, mask: Mask) -> None:
        """Set the terms that equations may have. Each costs some nats because it was chosen among them."""
        self.allowed, terms = mask, mask.sum() / max(mask.any(axis=0).sum(), 1)
        self.choice = self.laws.choice * float(np.log(max(terms, 1.0)))

    def at(self, looseness: float) -> None:
        """Set the model error, as a share of the noise."""
        self.looseness = looseness
        most = self.laws.substeps if looseness <= self.laws.stages[2] else self.laws.substeps // 2
        tolerance = min(self.laws.converged, self.laws.below * looseness) * self.noise
        self.substeps = self.field.substeps(FOURTH, self.states[:-1], tolerance, most)
        self._cost = self._squares((self.field, self.states))

    def _squares(self, point: Point) -> float:
        """Sum of squares of all equations, in units of the noise."""
        field, states = point
        ends = field.steps(FOURTH, states[:-1], self.substeps)
        seen = self.seen / self.noise * (self.values - states)
        tight = (ends - states[1:]) * self._tightness
        total = float(np.sum(seen**2) + np.sum(tight**2))
        return total if np.isfinite(total) else np.inf

    @property
    def _tightness(self) -> Array:
        """(variables,): 1 / model error; inputs have no equation to keep."""
        return np.asarray(np.where(self.field.own, 1 / (self.looseness * self.noise), 0.0))

    def improve(self, iterations: int, enough: float = 1e-3) -> None:
        """Damped Gauss-Newton steps until the cost falls by less than the share `enough`."""
        (self.field, self.states), self._cost, self._damping = descend(
            (self.field, self.states), self._squares, self._moves, iterations, enough, self._damping
        )

    def _moves(self, point: Point) -> Callable[[float], Iterator[Point]] | None:
        self.field, self.states = point
        return self._moved if self.budget.left >= 0 and self.linearise() else None

    def linearise(self) -> bool:
        """Eliminate the states; whether everything stayed finite. Nothing is done where it was done before."""
        here = self.field, self.states, self.noise, self.looseness, self.substeps
        if not self._linear or any(a is not b for a, b in zip(here, self._linear, strict=True)):
            self._linear, self._sound = here, self._linearised()
        return self._sound

    def _linearised(self) -> bool:
        self.budget.left -= float(self.substeps.mean()) * (self.field.count + self.values.shape[1])
        ends, tangent = self.field.tangents(FOURTH, self.states[:-1], self.substeps)
        self.system = entry.eliminate(
            self.values - self.states, self.seen / self.noise, ends - self.states[1:], tangent, self._tightness,
            self.laws.first_state,
        )  # fmt: skip
        rest = self.system.rest
        if not np.isfinite(rest).all():
            return False
        count = rest.shape[1] - 1
        triangle = qr(rest, mode="r", check_finite=False)[0]
        self._triangle = np.asarray(triangle[:count, :count])
        self._solved = Damped(self._triangle, triangle[:count, count])
        return True

    def _moved(self, damping: float) -> Iterator[Point]:
        """Where the step of that damping leads, and a third of it."""
        change = self._solved(max(damping, LEAST))
        shift = entry.substitute(self.system.rows, change)
        for share in (1.0, 0.3):
            yield self.field.moved(share * change), self.states + share * shift

    def known(self, evidence: float = 0.0) -> Assimilated:
        """What the samples say, and leave open; parameters that nothing determines are held."""
        v, rows = self.values.shape[1], self.system.rows[-1]
        last, freedom = np.column_stack([rows[:, :v], rows[:, 2 * v : -1]]), self._solved.root(self.laws.held)
        return Assimilated(self.field, self.states, self.noise, self.looseness, freedom, last, evidence)

    def rescale(self) -> None:
        """The noise level at which the equations have the spread they should have.

        While the states may leave the flow, what they leave of a variable says nothing about that variable's noise:
        the shares of the variables are only looked at under a tight flow. Never far above the first estimate: what a
        field cannot explain is the field's fault, not noise.
        """
        own = self.field.own
        spare = self.seen[:, own].sum() - own.sum() - self.field.count  # equations less unknowns
        noise, observed = self.noise * np.sqrt(self._cost / max(spare, 1.0)), self.seen.any(axis=0) & own
        if self.looseness <= self.laws.stages[2]:
            left = self.seen * (self.values - self.states)
            ratio = np.sqrt((left**2).sum(axis=0) / np.maximum(self.seen.sum(axis=0), 1)) / self.noise
            noise = noise * np.where(observed, ratio / np.sqrt(np.mean(ratio[observed] ** 2)), 1.0)
        self.noise = np.clip(noise, self._least, self._most)
        self._cost = self._squares((self.field, self.states))

    def evidence(self) -> float:
        """Log marginal likelihood of the values under noise and model error, less what parameters cost: half log(n)
        each, and the choice of each term."""
        if not self.linearise():
            return -np.inf
        own = self.field.own
        tight = -np.log(self.looseness * self.noise)[own].sum() * (len(self.values) - 1)
        seen = -(np.log(self.noise) * self.seen)[:, own].sum()
        likelihood = -0.5 * self._cost + seen + tight - self.system.logarithm
        cost = 0.5 * self.field.count * np.log(self.seen[:, own].sum()) + self.choice * self.field.coefficients
        return float(likelihood - cost)

    def select(self, again: bool) -> None:
        """Remove terms that are not worth what they cost; then, if `again`, choose anew among all that are allowed, for
        as long as the evidence rises: each choice is the best near the solution before it."""
        evidence, anew = self.evidence(), False
        while self.budget.left >= 0:
            kept, mask = (self.field, self.states, self.noise, self._cost, self._damping), self.field.mask
            self.field = self.field.with_mask(self.allowed) if anew else self.field
            better = self._prune(anew) and bool((self.field.mask != mask).any())
            if better:
                self.improve(5, 1e-2)
                self.rescale()
                before, evidence = evidence, max(evidence, self.evidence())
                better = evidence > before
            if not better:
                self.field, self.states, self.noise, self._cost, self._damping = kept
            if not again or (anew and not better):
                return
            anew = True

    def _prune(self, anew: bool) -> bool:
        """Backward elimination in the quadratic approximation: terms whose loss costs less than log(n). Whether any
        went. anew: first take the Gauss-Newton step; then exchange terms for others that cost less.
        """
        count = self.field.coefficients
        if not self.linearise() or not count:
            return False
        value = self.field.vector + (self._solved(self.laws.held) if anew else 0.0)
        terms = np.arange(len(value)) < count
        limit = float(np.log(self.seen.sum())) + 2 * self.choice
        aim, triangle = self._triangle @ value, self._triangle
        choices = [eliminated(value, self._solved.root(), terms, limit, count)[::2]]
        if anew:
            whose = self.field.parameters[1][:count]
            own = [np.nonzero(whose == i)[0] for i in range(self.field.terms.variables)]
            choices.append(exchanged(triangle, aim, choices[0][1] | ~terms, own, limit))

        def cost(choice: tuple[Array, Mask]) -> float:
            return float(np.sum((aim - triangle @ choice[0]) ** 2) + limit * choice[1][:count].sum())

        value, alive = min(choices, key=cost)
        if alive[:count].all():
            return False
        self.field = self.field.only(alive, value)
        self._cost = self._squares((self.field, self.states))
        return True


def most_noise(noise: Array, rows: int, laws: LawSettings) -> Array:
    """The most noise a variable is taken to have, from its first estimate: an upper bound but for its own error, which
    few rows make large. A median of differences over ten rows counts one value in ten."""
    return noise * max(laws.coarser, 1 + 2.5 * float(np.sqrt(10 / rows)))


def least_noise(noise: Array, laws: LawSettings) -> float:
    """The least noise a variable is taken to have: with less, errors of integration would count for more than noise."""
    return max(laws.noiseless, laws.quiet * float(noise.max()))


class Steps(NamedTuple):
    """Samples and the ones after them, (steps, variables) each."""

    before: Array
    after: Array

    @classmethod
    def of(cls, values: Array, known: Mask | None = None) -> Steps:
        """All steps of (time, variables) between samples that are known."""
        both = slice(None) if known is None else known[:-1] & known[1:]
        return cls(values[:-1][both], values[1:][both])

    def missed(self, field: SparseField, tableau: Tableau, substeps: int | Counts) -> Array:
        """What the field's flow misses each step by; inputs, which jump, are missed by nothing."""
        return np.asarray(np.where(field.own, self.after - field.steps(tableau, self.before, substeps), 0.0))


def one_step(
    field: SparseField,
    steps: Steps,
    tableau: Tableau,
    substeps: int | Counts,
    iterations: int = 8,
    robust: bool = False,
    far: float = BEYOND,
    budget: Budget | None = None,
) -> tuple[SparseField, Array]:
    """The field whose flow takes each value to the next, in least squares, and the errors it leaves, (steps, v).

    robust: least roots of absolute errors instead, so that a few steps that are far off do not pull at the others.
    far: an error, in standard deviations, that is as bad as any; steps ten times as far off are left out.
    budget: the work it may do.
    """
    budget = budget or Budget()

    def cost(point: Point) -> float:
        size = np.minimum(np.nan_to_num(np.abs(point[1]), nan=far), far)
        return float(np.mean(np.sqrt(size))) if robust else float(np.sqrt(np.mean(size**2)))

    def linearise(point: Point) -> Callable[[float], Iterator[Point]] | None:
        here, rest = point
        budget.left -= float(np.mean(substeps)) * len(tableau.weights) / 4 * (here.count + rest.shape[1])
        if budget.left < 0 or not here.count:
            return None
        tangent = here.tangents(tableau, steps.before, substeps)[1][:, :, here.terms.variables :]
        system, target = tangent.reshape(-1, tangent.shape[2]), rest.reshape(-1)
        sound = np.isfinite(system).all(axis=1) & (np.abs(target) < 10 * far)
        weight = np.where(sound, _weights(target) if robust else 1.0, 0.0)
        system = np.where(sound[:, None], system, 0.0) * weight[:, None]
        solved = Damped(system, np.where(sound, target, 0.0) * weight, long=True)

        def moved(damping: float) -> Iterator[Point]:
            trial = here.moved(solved(max(damping, LEAST)))
            yield trial, steps.missed(trial, tableau, substeps)

        return moved

    # Shapes of functions make narrow valleys.
    enough = 0.0 if field.count > field.coefficients else 0.05
    start = field, steps.missed(field, tableau, substeps)
    return descend(start, cost, linearise, iterations, enough, 1e-6)[0]


def _weights(rest: Array) -> Array:
    """Under which least squares minimises the sum of square roots of absolute errors: most of them small, a few not."""
    size = np.nan_to_num(np.abs(rest), nan=np.inf)
    return np.asarray(np.maximum(size, np.median(size) + 1e-12) ** -0.75)


@dataclass(frozen=True, eq=False)
class Assimilated:
    """A field, the states it passed through, and what is known about both.

    noise: (variables,), in standard deviations of the series. looseness: model error / noise.
    freedom: (parameters, parameters), a square root of the covariance of the parameters.
    last: (variables, variables + parameters), the triangular equations of the last state given the parameters.
    evidence: log marginal likelihood less the penalty of the information criterion.
    stray: (variables,), root mean square of what single steps are missed by where samples are taken as they are, the
    few included that are far off (across a kink, through a spike), which `noise` is without. chosen: terms are
    combinations of others along the samples, and the fewest were taken.
    """

    field: SparseField
    states: Array
    noise: Array
    looseness: float
    freedom: Array
    last: Array
    evidence: float
    stray: Array | None = None
    chosen: bool = False

    @property
    def residual(self) -> float:
        """What it leaves of the series, root mean square over the variables."""
        return float(np.sqrt(np.mean(self.noise**2)))

    @property
    def missed(self) -> Array:
        """By how much the field misses the next state, (variables,), in standard deviations of the series."""
        return self.noise * self.looseness if self.stray is None else self.stray

    def draws(self, count: int, seed: int, wider: float = 1.0) -> tuple[list[SparseField], Array]:
        """Fields and last states, (count, variables), from what the series leaves open, `wider` times as far away."""
        generator = np.random.default_rng(seed)
        v = self.states.shape[1]
        change = wider * self.freedom @ generator.standard_normal((len(self.freedom), count))
        right = wider * generator.standard_normal((v, count)) - self.last[:, v:] @ change
        states = self.states[-1] + np.linalg.lstsq(self.last[:, :v], right, rcond=1e-12)[0].T
        return [self.field.moved(each) for each in change.T], states


def assimilate(
    field: SparseField,
    values: Array,
    seen: Array,
    budget: Budget | None = None,
    laws: LawSettings = LAWS,
) -> Assimilated | None:
    """States, parameters and noise of (time, variables) under the family of `field`. budget: the work it may do."""
    family = field
    noise, visible = roughness(values, seen > 0), np.asarray(seen.any(axis=0))
    noise = np.where(visible, noise, noise[visible].max())  # of what is never seen nothing else is known
    noise = np.where(field.own, np.maximum(noise, laws.noiseless), 0.0)  # inputs are known as they are
    states = np.where(field.own, smoothed(values, noise), values)
    thin = laws.thin if field.coefficients > laws.kept else 0.0
    field = regression(field, states, float(noise.max()), nats=thin, most=laws.kept)
    noise = np.maximum(noise, least_noise(noise, laws))
    problem = Problem(field, values, seen, noise, states, laws)
    problem.budget = budget or Budget()
    problem.allow(family.mask)
    best, falling = None, 0
    few = family.coefficients <= laws.most_parameters
    for looseness in laws.stages:
        if looseness == laws.one_trajectory and RECIPROCAL in field.terms.kinds:
            problem.field, wide = widened(problem.field, problem.field.with_mask(family.mask))
            problem.allow(wide.mask)
        problem.at(looseness)
        problem.improve(6, 1e-2)
        problem.rescale()
        if looseness < laws.stages[0]:
            problem.select(again=few or looseness == laws.stages[1])
        problem.improve(4)
        problem.rescale()
        evidence = problem.evidence()
        fall = best.evidence - evidence if best is not None else 0.0
        if -fall > laws.rising:
            problem.budget.left += laws.work_more
        falling = falling + 1 if not fall < laws.hopeless else 0
        if falling == 2 or not fall < 2 * laws.hopeless or problem.budget.left < 0:
            break
        if np.isfinite(evidence) and (best is None or evidence > best.evidence):
            best = problem.known(evidence)
    return best
