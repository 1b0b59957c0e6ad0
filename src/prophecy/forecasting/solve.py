"""From a context to distributions: a law where one explains it, elsewhere the mixture of all candidates.

columns    = each variable on its own, with its seasons
parts      = every candidate, rolled from the same origins            `scorer.py`, the only judge
further    = costly candidates, where their scouts have most of the weight at some lead
forecast   = the mixture by prior · exp(score), calibrated            `mixture.py`
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from prophecy._arrays import Array
from prophecy.forecasting import seasons, systems
from prophecy.forecasting.calibration import between, dependence, upper_quantiles
from prophecy.forecasting.known import Known, chosen, known_note
from prophecy.forecasting.maps import left_open
from prophecy.forecasting.mixture import Mixture, mixed
from prophecy.forecasting.scorer import Part, Rolling, roll, roll_jointly, weights
from prophecy.forecasting.series import Series
from prophecy.forecasting.settings import Settings
from prophecy.forecasting.words import mixture_notes
from prophecy.laws.context import Context

if TYPE_CHECKING:
    from prophecy.laws.to_equations import FoundSystem
    from prophecy.laws.trajectory import Decided


@dataclass(frozen=True, eq=False)
class Solution:
    """quantiles: (probabilities, steps, varying variables), in the units of the context, at its thinned samples.

    next_step: (steps - 1, variables), correlation of consecutive errors; between: of the variables' errors.
    """

    quantiles: Array
    next_step: Array
    between: Array
    method: str
    notes: tuple[str, ...]
    system: FoundSystem | None = None  # the field behind the path, for its equations
    point: Array | None = None  # (steps, varying variables): the trajectory of a law; the median elsewhere


def solve(context: Context, steps: int, season: object, settings: Settings, beside: Known | None = None) -> Solution:
    """The law that explains the context, or the mixture of all candidates. Readouts follow an exact law of waves to
    rounding, which no integrator does: it gives the equations of their mixture."""
    law = _law(context, steps, settings)
    if law is not None and not (law.exact and law.system is not None and law.system.second):
        return followed(context, law, settings)
    apart = None if law is not None else _without_noise(context, steps, season, settings)
    if apart is not None:
        return apart
    columns = _columns(context, steps, season, settings)
    effects = [chosen(each, beside.values[-len(each.y) - steps :], settings) for each in columns] if beside else []
    columns = [effect.without(each) for effect, each in zip(effects, columns, strict=False)] or columns
    known = context.known[-len(columns[0].y) :]
    shortest = min((min(column.seasons, default=1) for column in columns), default=1)
    rolling = Rolling.over(known, steps, shortest, settings)
    values = np.ascontiguousarray(context.values[-len(known) :])
    parts = [roll(column, rolling, settings) for column in columns]
    scouts: list[list[Part]] = [[] for _ in columns]
    if len(known) >= settings.least and not any(effect.size.any() for effect in effects):
        scouts = roll_jointly(systems.scouts(context, settings), values, context.units, columns, rolling, settings)
    further = any(
        _leads([*some, *more], column, rolling, settings)
        for some, more, column in zip(parts, scouts, columns, strict=True)
    )
    decided = _hidden(context, parts, columns, steps, further, settings) if law is None else None
    if decided is not None:
        return followed(context, decided, settings)
    if further:
        others = systems.others(context, settings) if law is None else ()
        joint = roll_jointly(others, values, context.units, columns, rolling, settings)
        parts = [[*one, *scout, *more] for one, scout, more in zip(parts, scouts, joint, strict=True)]
    mixtures = [mixed(column, some, rolling, settings) for column, some in zip(columns, parts, strict=True)]
    solution = _together(columns, mixtures, settings)
    if beside is not None:
        grid = np.stack([effect.back(solution.quantiles[:, :, v]) for v, effect in enumerate(effects)], axis=2)
        solution = replace(solution, quantiles=grid, notes=(*solution.notes, known_note(beside, effects)))
    if law is None:
        return solution
    rounding = settings.interval_rounding * context.units.scale[0]
    closer = all(np.nanmax(np.abs(mixture.errors), initial=0.0) < rounding for mixture in mixtures)
    return replace(solution, system=law.system) if closer else followed(context, law, settings)


def _together(columns: list[Series], mixtures: list[Mixture], settings: Settings) -> Solution:
    """The mixtures of all columns."""
    steps = columns[0].horizon
    grids = [mixture.quantiles(settings) for mixture in mixtures]
    next_step = np.stack([dependence(mixture.errors, steps, settings) for mixture in mixtures], axis=1)
    method, notes = mixture_notes(mixtures, columns, grids, settings)
    first = np.stack([mixture.errors[:, 0] for mixture in mixtures])
    return Solution(np.stack(grids, axis=2), next_step, between(first, settings), method, notes)


def _leads(parts: list[Part], column: Series, rolling: Rolling, settings: Settings) -> bool:
    """Whether a candidate of all variables together is well ahead of all others at some lead."""
    shares = weights(parts, rolling, rolling.independent(rolling.compared(column.seen)), settings)
    joint = np.array([part.joint for part in parts])
    ahead = shares[joint].max(axis=0, initial=0.0) > settings.scouted * shares[~joint].max(axis=0)
    return bool(ahead.any())


def _law(context: Context, steps: int, settings: Settings) -> Decided | None:
    from prophecy.laws import search  # not needed for most series

    if "ASSIMILATION" in settings.without:
        return None
    try:
        return search.decide(context, steps, settings)
    except np.linalg.LinAlgError:  # a decomposition without an end: no law was found
        return None


def _without_noise(context: Context, steps: int, season: object, settings: Settings) -> Solution | None:
    """A law of the columns that are not mostly noise, and those on their own: one that has nothing to do with the
    others does not cost these their law."""
    from prophecy.laws.weak_form import roughness

    if context.values.shape[1] < 2 or len(context.values) < settings.laws.shortest:
        return None
    noise = roughness(context.values, context.observed) > settings.laws.noise
    if len(noise) != int(context.varying.sum()) or not 0 < noise.sum() < len(noise):
        return None
    rest = context.only(~noise)
    decided = _law(rest, steps, settings)
    if decided is None or decided.system is None:
        return None
    law, other = followed(rest, decided, settings), solve(context.only(noise), steps, season, settings)
    grid = np.empty((*law.quantiles.shape[:2], len(noise)))
    next_step, between, point = np.empty((steps - 1, len(noise))), np.eye(len(noise)), np.empty(grid.shape[1:])
    for one, there in ((law, ~noise), (other, noise)):
        grid[:, :, there], next_step[:, there] = one.quantiles, one.next_step
        between[np.ix_(there, there)] = one.between
        point[:, there] = one.quantiles[len(grid) // 2] if one.point is None else one.point
    note = f"Variables that are mostly noise and no part of the law: {noise.sum()} of {len(noise)}, by {other.method}."
    return replace(law, quantiles=grid, next_step=next_step, between=between, point=point, notes=(*law.notes, note))


def _hidden(
    context: Context, parts: list[list[Part]], columns: list[Series], steps: int, further: bool, settings: Settings
) -> Decided | None:
    """A field with hidden variables, where samples do not determine the next ones and no candidate is exact. further:
    whether a scout leads; other series are ordinary unless they have no noise."""
    from prophecy.laws.weak_form import roughness

    if "HIDDEN" in settings.without or len(context.values) < settings.least:
        return None
    if not further and roughness(context.values, context.observed).max() > settings.laws.clean:
        return None
    exact = all(
        min((float(np.nanmean(part.size)) for part in some if np.isfinite(part.size).any()), default=np.inf)
        < 1e-6 * np.std(column.y)
        for some, column in zip(parts, columns, strict=True)
    )
    complete = len(columns) > 1 and left_open(context.values, context.rows, settings) < settings.complete
    if exact or complete:
        return None
    from prophecy.laws import hidden_law

    return hidden_law.decide(context, steps, settings, further)


def _columns(context: Context, steps: int, season: object, settings: Settings) -> list[Series]:
    """Each varying variable in its own units, the latest samples alone."""
    stride = context.stride
    given = None if season is None else np.atleast_1d(np.asarray(season, dtype=np.float64)) / stride
    thinned = context.full[(len(context.full) - 1) % stride :: stride]
    varying = np.nonzero(context.varying)[0]
    periods = [seasons.chosen(given, thinned[:, v], settings) for v in varying]
    longest = max((max(some, default=0) for some in (*periods, () if given is None else given)), default=0)
    latest = max(settings.longest, int(settings.longest_seasons * min(longest, len(context.full))))
    found = []
    for v, some in zip(varying, periods, strict=True):
        y, seen = np.ascontiguousarray(thinned[-latest:, v]), context.seen[-latest:, v]
        found.append(Series(y, seen, some, steps))
    return found


def followed(context: Context, decided: Decided, settings: Settings) -> Solution:
    """One trajectory explains the context and is the point; its draws are the distribution, whose intervals hold it."""
    variables, steps = int(context.varying.sum()), len(decided.path)
    centre, scale = context.units.centre[:variables], context.units.scale[:variables]
    mean = decided.draws.mean(axis=0)
    half = upper_quantiles(np.abs(decided.draws - mean), len(decided.draws))
    half = half + settings.interval_rounding * (1 + np.abs(mean))
    below, above = np.minimum(mean - half, decided.path), np.maximum(mean + half, decided.path)
    grid = np.concatenate([below[::-1], mean[None], above])[:, :, :variables] * scale + centre
    next_step = np.full((steps - 1, variables), settings.dependence_law)
    point = decided.path[:, :variables] * scale + centre
    return Solution(grid, next_step, np.eye(variables), decided.method, decided.notes, decided.system, point)
