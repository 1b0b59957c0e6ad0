"""Fields that take every sample to the next up to rounding: where there is no noise, every sample is a state."""

from dataclasses import replace

import numpy as np
from scipy.ndimage import uniform_filter1d

from prophecy._arrays import Array, Counts, Mask
from prophecy.laws.assimilation import Assimilated
from prophecy.laws.damped import LEAST, Damped
from prophecy.laws.flow import EIGHTH, FOURTH
from prophecy.laws.problem import Steps, one_step
from prophecy.laws.select_terms import shortest, widened
from prophecy.laws.settings import LAWS, ExactSettings, LawSettings
from prophecy.laws.sparse import SparseField, eliminated
from prophecy.laws.weak_form import Budget, WeakForm, regression


def exactly(field: SparseField, x: Array, known: Mask, budget: Budget, laws: LawSettings = LAWS) -> Assimilated | None:
    """The member of a family that takes every sample to the next up to rounding, if one does.

    Least absolute errors on the way: where a few steps are too fast for the first guess, the others lead. known: the
    samples that were observed; steps to and from the others do not count.
    """
    shaped, steps, exact = len(field.terms.kinds) > 0, Steps.of(x, known), laws.exact
    if len(x) <= 8:
        return None
    rough = regression(field, x, nats=laws.spare * shaped)
    rough, rest = one_step(rough, steps, EIGHTH, 1, 12, robust=True, budget=budget)
    while 3 * exact.rounding < (coarse := _median(rest)) < laws.clean:
        substeps = rough.substeps(EIGHTH, steps.before, exact.share * coarse)
        rough, rest = one_step(rough, steps, EIGHTH, substeps, 12, robust=True, budget=budget)
        if _median(rest) > 0.5 * coarse:
            break
    left = _median(rest)
    found = step_by_step(rough, x, steps, budget, exact) if left < 3 * exact.rounding else None
    if found is None and (jumping := rough.jumping(x)) is not None:
        found = step_by_step(jumping, x, steps, budget, exact)
    if found is None and not shaped and not left < laws.clean:
        found = grown(field, x, known, laws)
    return found


def grown(field: SparseField, x: Array, known: Mask, laws: LawSettings) -> Assimilated | None:
    """The same from the slowest moments on: samples too far apart for the fast ones are still close enough there.

    The steps whose path two polynomials agree on best are solved for first; then, time and again, twice as many, those
    that the field so far misses least. Noise shows at once: no field explains even the first.
    """
    steps, count, budget = Steps.of(x, known), 2 * field.terms.size, Budget(laws.work_exact)
    if len(x) <= 8 or len(steps.before) < 2 * count:
        return None
    there = np.nonzero(known[:-1] & known[1:])[0]
    chosen = np.argsort(np.pad(WeakForm(x).error, 2, constant_values=np.inf)[there])[:count]
    rough = regression(field, x, steps=there[chosen] - 2)
    while budget.left > 0:
        few, share = Steps(*(np.ascontiguousarray(each[chosen]) for each in steps)), len(chosen) / len(steps.before)
        substeps = np.maximum(rough.substeps(EIGHTH, few.before, laws.exact.rounding), 2)
        own = Budget(budget.left / share)
        rough, rest = one_step(rough, few, EIGHTH, substeps, 12, robust=True, budget=own)
        budget.left = own.left * share
        if not _median(rest) < laws.growing:
            return None
        if share == 1:
            return step_by_step(rough, x, steps, budget, laws.exact)
        missed = np.nan_to_num(np.abs(steps.missed(rough, EIGHTH, 2)), nan=np.inf).max(axis=1)
        chosen = np.argsort(missed)[: 2 * len(chosen)]
    return None


def step_by_step(
    field: SparseField,
    values: Array,
    steps: Steps,
    budget: Budget | None = None,
    exact: ExactSettings = LAWS.exact,
) -> Assimilated | None:
    """The field that takes each value to the next up to rounding, terms that do nothing removed; None if it does not.

    Without noise every sample is a state, and the equations of single steps are all there is. A step that is repeated,
    such as one at rest, is one equation: a field needs twice as many of those as it has parameters.
    """
    first = exact.share * exact.rounding  # what steps are judged by is more than the integrator's own error
    for tolerance in (first, exact.integrated):
        substeps = field.substeps(EIGHTH, steps.before, tolerance, exact.most_substeps)
        rest = steps.missed(field, EIGHTH, substeps)
        if tolerance == first and _most(rest, exact) < exact.rounding:
            continue
        if tolerance == first:
            field, rest = one_step(field, steps, EIGHTH, substeps, 6, robust=True, budget=budget)
        while True:
            before = _most(rest, exact)
            substeps = np.maximum(substeps, field.substeps(EIGHTH, steps.before, tolerance, exact.most_substeps))
            field, rest = one_step(field, steps, EIGHTH, substeps, 12, far=max(exact.close, 3 * before), budget=budget)
            if _most(rest, exact) < exact.rounding or _most(rest, exact) > 0.5 * before:
                break
        if not _most(rest, exact) < exact.rounding:
            return None
    family = field
    field, rest = _thinned(field, steps, substeps, rest, exact)
    short, rest = _shortened(field, family, steps, substeps, rest, exact)
    last, rest = _weighed(short, steps, substeps, rest, exact)
    explained = (_typical(rest, exact) == rest).all(axis=1)
    different = np.unique(np.column_stack(steps)[explained], axis=0)
    if not 0 < 2 * last.count <= len(different) * rest.shape[1]:
        return None
    return replace(_taken(last, values, steps, substeps, rest, exact), chosen=short is not field)


def _taken(
    field: SparseField, values: Array, steps: Steps, substeps: Counts, rest: Array, exact: ExactSettings
) -> Assimilated:
    """A field whose states are the samples; what it leaves says how well its parameters are known."""
    typical = _typical(rest, exact)
    noise = np.maximum(np.sqrt(np.mean(typical**2, axis=0)), exact.least)
    freedom = _freedom(field, steps, substeps) * float(np.sqrt(np.mean(typical**2)))
    evidence = -float(np.log(noise).sum()) * len(rest) - 0.5 * field.count * np.log(values.size)
    last = np.column_stack([np.diag(1 / noise), np.zeros((len(noise), field.count))])
    stray = np.sqrt(np.mean(np.minimum(np.nan_to_num(np.abs(rest), nan=1.0), 1.0) ** 2, axis=0))
    return Assimilated(field, values, noise, 0.0, freedom, last, evidence, np.maximum(stray, noise))


def _thinned(
    field: SparseField, steps: Steps, substeps: Counts, rest: Array, exact: ExactSettings
) -> tuple[SparseField, Array]:
    """The field without the terms that do nothing, the doubtful ones last, and what it leaves."""
    for sure in (25 * exact.sure, 25 * exact.sure, exact.sure, exact.sure):
        if not field.count:
            break
        level = float(np.sqrt(np.mean(_typical(rest, exact) ** 2)))
        freedom = _freedom(field, steps, substeps) * level
        terms = np.arange(field.count) < field.coefficients
        value, _, alive = eliminated(field.vector, freedom, terms, sure * np.log(rest.size), field.coefficients)
        if (alive == terms).all():
            continue
        trial, there = one_step(field.only(alive, value), steps, EIGHTH, substeps, 3, far=exact.close)
        if np.sqrt(np.mean(_typical(there, exact) ** 2)) < max(1.5 * level, exact.negligible):
            field, rest = trial, there
    return field, rest


def _shortened(
    field: SparseField, family: SparseField, steps: Steps, substeps: Counts, rest: Array, exact: ExactSettings
) -> tuple[SparseField, Array]:
    """The field with the fewest terms where its family's are combinations of each other along the samples.

    Functions may have to move to where fewer terms suffice: there fewer are tried that come close at first.
    """
    level = float(np.sqrt(np.mean(_typical(rest, exact) ** 2)))
    enough = max(1.5 * level, exact.negligible)
    found, wide = widened(field, family)
    for share in (exact.moved, 1.0) if len(wide.terms.kinds) else (1.0,):
        trial = shortest(found, wide, steps.before, share * max(3 * level, exact.negligible))
        if trial is None:
            continue
        trial, there = one_step(trial, steps, EIGHTH, substeps, 6, far=exact.close)
        if np.sqrt(np.mean(_typical(there, exact) ** 2)) < enough:
            return _thinned(trial, steps, substeps, there, exact)
    return field, rest


def _weighed(
    field: SparseField, steps: Steps, substeps: Counts, rest: Array, exact: ExactSettings
) -> tuple[SparseField, Array]:
    """The field once more, each step counted by what steps around it are missed by: whoever integrated the series was
    more accurate where little happened."""
    if not field.count or len(rest) < 4 * exact.around:
        return field, rest
    typical = _typical(rest, exact)
    around = uniform_filter1d(typical**2, exact.around, axis=0, mode="nearest")
    least = np.maximum(exact.least, 1e-3 * np.sqrt(np.mean(typical**2, axis=0)))
    weight = np.where(typical == rest, 1 / np.sqrt(np.maximum(around, least**2)), 0.0)
    tangent = field.tangents(FOURTH, steps.before, np.maximum(2, substeps))[1][:, :, field.terms.variables :]
    system = np.where(weight[..., None] > 0, weight[..., None] * tangent, 0.0).reshape(-1, field.count)
    target = np.where(weight > 0, weight * rest, 0.0).reshape(-1)
    trial = field.moved(Damped(system, target, long=True)(LEAST))
    there = steps.missed(trial, EIGHTH, substeps)
    better = np.mean(_typical(there, exact) ** 2) < 1.5**2 * np.mean(typical**2)
    return (trial, there) if better else (field, rest)


def _median(rest: Array) -> float:
    return float(np.median(np.nan_to_num(np.abs(rest), nan=np.inf)))


def _most(rest: Array, exact: ExactSettings) -> float:
    """What all but a few of the steps miss by less than."""
    return float(np.quantile(np.nan_to_num(np.abs(rest), nan=1.0), exact.most_steps))


def _typical(rest: Array, exact: ExactSettings) -> Array:
    """Errors without the few of steps that no fixed number of substeps follows."""
    return np.asarray(np.where(np.abs(rest) < 10 * _most(rest, exact), rest, 0.0))


def _freedom(field: SparseField, steps: Steps, substeps: Counts) -> Array:
    """A square root of the covariance of the parameters when each step has an error of unit size."""
    tangent = field.tangents(FOURTH, steps.before, np.maximum(2, substeps))[1][:, :, field.terms.variables :]
    system = tangent.reshape(tangent.shape[0] * tangent.shape[1], tangent.shape[2])
    system = np.where(np.asarray(np.isfinite(system).all(axis=1))[:, None], system, 0.0)  # steps that leave say nothing
    return Damped(system, np.zeros(len(system)), long=True).root()
