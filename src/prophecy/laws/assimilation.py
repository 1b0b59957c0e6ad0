"""Fields solved from noisy samples: states, parameters and the noise level together.

One step at a time, noise looks like dynamics: it enters every start. Here the state at every sample is an unknown,
close to what was observed up to the noise and close to where the flow takes the state before up to a model error. That
error is tightened stage by stage, from three times the noise (any field will do) to far below it (one trajectory of one
field passes through the whole series), so that Gauss-Newton follows the solution from an easy problem to the exact one.
At every stage terms that are not worth their place are removed, by Bayes' information criterion, and may come back. The
stage with the highest evidence is kept: where no field of the family fits, that is one with room for the model's error.
"""

from dataclasses import dataclass

import numpy as np

from prophecy._arrays import Array
from prophecy.laws.flow import FOURTH, RECIPROCAL
from prophecy.laws.problem import Problem, Steps, least_noise, one_step
from prophecy.laws.select_terms import widened
from prophecy.laws.settings import LAWS, LawSettings
from prophecy.laws.sparse import SparseField
from prophecy.laws.weak_form import LEAST_NOISE, Budget, regression, roughness, smoothed


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
    if not seen[:, visible].all():
        noise = np.maximum(noise, laws.bridged)
    noise = np.where(field.own, np.maximum(noise, laws.noiseless), 0.0)  # inputs are known as they are
    states = np.where(field.own, smoothed(values, noise), values)
    field, noise = _start(field, values, states, noise, laws)
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
        falling = falling + 1 if not fall < laws.hopeless else 0
        if falling == 2 or not fall < 2 * laws.hopeless or problem.budget.left < 0:
            break
        if -fall > laws.rising:
            problem.budget.left += laws.work_more
        if np.isfinite(evidence) and (best is None or evidence > best.evidence):
            best = known(problem, evidence)
    return best


def known(problem: Problem, evidence: float) -> Assimilated:
    """What the problem has come to."""
    v, rows = problem.values.shape[1], problem.system.rows[-1]
    return Assimilated(
        problem.field, problem.states, problem.noise, problem.looseness, problem.freedom(),
        np.column_stack([rows[:, :v], rows[:, 2 * v : -1]]), evidence,
    )  # fmt: skip


def _start(
    field: SparseField, values: Array, states: Array, noise: Array, laws: LawSettings
) -> tuple[SparseField, Array]:
    """Coefficients from the smooth path; where their flow misses by far, from single steps. And the noise."""
    thin = laws.thin if field.coefficients > laws.kept else 0.0
    start = regression(field, states, float(noise.max()), nats=thin, most=laws.kept)
    rest = (values[1:] - start.steps(FOURTH, states[:-1], 2))[:, start.own]
    if np.median(np.abs(rest)) < 3 * np.median(noise[start.own]) and noise.max() < 0.1:
        return start, noise
    start, rest = one_step(start, Steps.of(values), FOURTH, 2)
    return start, np.maximum(np.minimum(noise, np.median(np.abs(rest), axis=0) / 0.6745), LEAST_NOISE)
