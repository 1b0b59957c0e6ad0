"""Whether a law that passes through noisy samples forecasts rows that it was solved without.

Through noise several fields pass through the same samples and lead elsewhere after them, and the spread of a field's
parameters says nothing about those that it might have been instead. So the law is solved again without the last part of
the context, its terms chosen anew among all of its family, and has to forecast that part: where it is further off than
the noise and its own spread say, its spread is that much too small, and where it is so twice, or by far, it is no law.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prophecy.laws.assimilation import Assimilated
from prophecy.laws.fitted import FittedFlow
from prophecy.laws.problem import Problem
from prophecy.laws.sparse import SparseField
from prophecy.laws.weak_form import Budget

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


class HeldOut(NamedTuple):
    """wider: how many times as wide as the law says its spread has to be. astray: whether it is not the law; lost: nor
    worth following. rows: the most that were held back."""

    wider: float
    astray: bool
    lost: bool
    rows: int


def held_out(model: FittedFlow, values: Array, known: Mask, seen: int, steps: int) -> HeldOut:
    """How a law solved from early parts of (time, variables) did on the rest. seen: variables that were measured."""
    laws, length = model.laws, len(model.found.states)
    values, known = values[-length:], known[-length:]
    allowed = _family(model, seen, float(known.sum() * values.shape[1]))
    ratios = []
    for share in laws.held_back:
        rows = int(share * length)
        part = _without_the_last(model, values, known, rows, allowed)
        ratios.append(np.inf if part is None else _ratio(part, values, known, length - rows, min(rows, steps), seen))
    second, most = np.maximum(np.sort(ratios)[-2:], 1.0)
    wider = np.sqrt(second * most) if second > laws.astray else most
    astray = second > laws.astray or most > laws.astray_once
    rows = int(max(laws.held_back) * length)
    return HeldOut(float(min(wider, laws.follows)), bool(astray), bool(second > laws.follows), rows)


def _family(model: FittedFlow, seen: int, samples: float) -> Mask:
    """Terms that may come in: all, unless some variable is a function of time, or the samples are few, or one variable
    is all there is: over a part of its range its functions are nearly sums of each other."""
    whole, variables = SparseField.of(model.field.terms), model.field.terms.variables
    many = whole.coefficients > min(model.laws.most_parameters, samples / 3)
    return model.field.mask if many or variables > seen or variables == 1 else whole.mask


def _without_the_last(model: FittedFlow, values: Array, known: Mask, rows: int, allowed: Mask) -> FittedFlow | None:
    """The law from all but the last `rows`, beginning where the whole context led to."""
    laws, found, early = model.laws, model.found, len(values) - rows
    x = values[:early] + model.offset
    observed = np.repeat(known[:early, None], x.shape[1], axis=1).astype(np.float64)
    if model.seen is not None:
        observed = observed * model.seen[:early]
    problem = Problem(found.field, x, observed, found.noise, found.states[:early], laws=laws)
    problem.choice = laws.choice * float(np.log(allowed.sum() / x.shape[1]))
    problem.budget = Budget(laws.work)
    problem.at(found.looseness)
    problem.improve(6, 1e-2)
    problem.select(allowed, True)
    problem.improve(4)
    if not np.isfinite(problem.evidence()):
        return None
    v, last = x.shape[1], problem.system.rows[-1]
    again = Assimilated(
        problem.field, problem.states, found.noise, found.looseness, problem.freedom(),
        np.column_stack([last[:, :v], last[:, 2 * v : -1]]), 0.0,
    )  # fmt: skip
    part = FittedFlow(again, again.field, model.offset, model.residual, False, True, x, laws)
    return replace(part, inputs=model.inputs)


def _ratio(part: FittedFlow, values: Array, known: Mask, early: int, steps: int, seen: int) -> float:
    """Root mean square of what `part` misses the next samples by, beyond their noise, over that of its draws, of the
    variable with the largest; while draws are close to each other, and as far as noise leaves no doubt."""
    laws, noise = part.laws, part.found.noise[:seen]
    path = part.rollout(values[:early], np.array([early]), steps)[0][:, :seen]
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
