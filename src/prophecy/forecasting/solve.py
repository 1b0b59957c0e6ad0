"""From a context to distributions: the laboratory's law where one is found, a mixture of candidates elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from prophecy.forecasting import seasons, tournament
from prophecy.forecasting.choice import Rolling
from prophecy.forecasting.intervals import dependence, half_widths, upper_quantiles
from prophecy.forecasting.maps import left_open
from prophecy.forecasting.mixture import Mixture, mixed
from prophecy.forecasting.plausible import completed, continued
from prophecy.forecasting.scorer import Part, roll, scored
from prophecy.forecasting.series import VALUES, Candidate, Series
from prophecy.forecasting.words import mixture_notes
from prophecy.laws.context import Context
from prophecy.laws.settings import Settings

if TYPE_CHECKING:
    from prophecy.laws.fitted import FittedFlow
    from prophecy.laws.search import Sought
    from prophecy.laws.to_equations import FoundSystem
    from prophecy.laws.trajectory import Decided

Array = NDArray[np.float64]

_ONE_PATH = "Far ahead nothing is known but what the series does in general: it goes on as it once did."


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


def solve(context: Context, steps: int, season: object, settings: Settings) -> Solution:
    """The laboratory alone where its law is exact or well ahead, otherwise the mixture it may have joined."""
    closest: tuple[FittedFlow, ...] = ()
    told: Decided | None = None
    if "ASSIMILATION" not in settings.without and "LABORATORY" not in settings.without:
        sought = _sought(context, steps, settings)
        told = sought.decided
        if told is not None and not (told.system is not None and told.system.second and told.exact):
            return followed(context, told, settings)
        apart = None if told is not None else _without_noise(context, steps, season, settings)
        if apart is not None:
            return apart
        closest = sought.closest
    columns, how = _columns(context, steps, season, settings), settings.laboratory
    share = left_open(context.values, context.rows, how) if context.values.shape[1] > 1 else np.inf
    law: tournament.Answer | None = None
    seasonal = all(seasons.strong(column.y, column.seasons, settings.ordinary) for column in columns)
    rolling = None
    if tournament.promising(context.values, share, settings, seasonal, context.pace if season is None else None):
        rolling = Rolling.of_all(context.known, steps, settings)
        law = tournament.answer(context, closest, rolling, steps, settings)
    lawful = law if law is not None and law.exact and bool(np.isfinite(law.paths[0]).all()) else None
    if told is not None and (lawful is None or lawful.best.score >= how.exact):
        return followed(context, told, settings)
    if told is not None and lawful is not None:  # waves: readouts follow them to rounding, which no integrator does
        return replace(_lawful(context, lawful, None, None, settings), system=told.system)
    known = context.known[-len(columns[0].y) :]
    origins = rolling if law is not None and len(known) == len(context.known) else None
    if origins is None:
        shortest = min((min(column.seasons, default=1) for column in columns), default=1)
        origins = Rolling.over(known, steps, shortest, settings.ordinary)
    parts = [roll(column, origins, settings.ordinary) for column in columns] if lawful is None else []
    # Rolling forecasts without any error (lines, waves, repetition) are the whole law, and where every sample
    # determines the next one all variables are seen: nothing is hidden.
    least = lawful.best.score if lawful is not None else _least(parts, columns)
    if share >= how.complete and least >= how.exact:
        decided = _hidden(context, steps, law is not None, settings)
        if decided is not None:
            return followed(context, decided, settings)
    further = rolling if law is not None and share < how.deterministic else None
    if lawful is not None:
        return _lawful(context, lawful, None, further, settings)
    return _mixed(context, columns, parts, origins, law, further, steps, settings)


def _mixed(
    context: Context,
    columns: list[Series],
    parts: list[list[Part]],
    rolling: Rolling,
    law: tournament.Answer | None,
    further: Rolling | None,
    steps: int,
    settings: Settings,
) -> Solution:
    """The mixture of candidates for each column, joined by the laboratory's; that one alone where it is well ahead.

    further: over the context, where a plausible path goes on from where nothing is known.
    """
    ordinary = settings.ordinary
    mixtures = [mixed(column, some, rolling, ordinary) for column, some in zip(columns, parts, strict=True)]
    if law is not None and (law.exact or law.best.score < settings.laboratory.lead * _scores(mixtures, context)):
        return _lawful(context, law, mixtures, further, settings)
    if law is not None and len(rolling.known) == len(context.known):
        for v, (column, some) in enumerate(zip(columns, parts, strict=True)):
            more = _of_law(law, v, column, rolling, context, settings)
            mixtures[v] = mixed(column, [*some, *more], rolling, ordinary)
    grids = [mixture.quantiles(ordinary) for mixture in mixtures]
    next_step = np.stack([dependence(mixture.errors, settings) for mixture in mixtures], axis=1)
    unknown = np.full((1, len(columns)), settings.dependence)
    last = np.repeat(next_step[-1:] if len(next_step) else unknown, steps, axis=0)
    next_step = np.concatenate([next_step, last])[: steps - 1]
    method, notes = mixture_notes(mixtures, columns, grids, settings)
    grid = np.stack(grids, axis=2)
    if further is not None:
        grid, names, said = _with_a_plausible_end(grid, context, mixtures, further, settings)
        method, notes = ", then ".join([method, *names]), (*notes, *said)
    point = np.stack([mixture.path for mixture in mixtures], axis=1) if further is None else None
    return Solution(grid, next_step, _between(mixtures, settings), method, notes, point=point)


def _sought(context: Context, steps: int, settings: Settings) -> Sought:
    from prophecy.laws import search  # not needed for most series

    try:
        return search.decide(context, steps, settings)
    except np.linalg.LinAlgError:  # a decomposition without an end: no law was found
        return search.Sought()


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
    decided = _sought(rest, steps, settings).decided
    if decided is None or decided.system is None:
        return None
    law, other = followed(rest, decided, settings), solve(context.only(noise), steps, season, settings)
    grid = np.empty((*law.quantiles.shape[:2], len(noise)))
    next_step, between, point = np.empty((steps - 1, len(noise))), np.eye(len(noise)), np.empty(grid.shape[1:])
    for one, there in ((law, ~noise), (other, noise)):
        grid[:, :, there], next_step[:, there] = one.quantiles, one.next_step
        between[np.ix_(there, there)] = one.between
        point[:, there] = one.quantiles[len(grid) // 2] if one.point is None else one.point
    note = f"{noise.sum()} of {len(noise)} variables are mostly noise and no part of the law: {other.method}."
    return replace(law, quantiles=grid, next_step=next_step, between=between, point=point, notes=(*law.notes, note))


def _hidden(context: Context, steps: int, promising: bool, settings: Settings) -> Decided | None:
    """A field with hidden variables, where there is one. promising: a glance found a law."""
    if not {"HIDDEN", "LABORATORY"}.isdisjoint(settings.without):
        return None
    from prophecy.laws import hidden_law

    return hidden_law.decide(context, steps, settings, promising)


def _columns(context: Context, steps: int, season: object, settings: Settings) -> list[Series]:
    """Each varying variable in its own units, the latest samples alone."""
    stride = context.stride
    given = None if season is None else np.atleast_1d(np.asarray(season, dtype=np.float64)) / stride
    most = 0.0 if given is None else float(given.max(initial=0.0))
    latest = max(settings.ordinary.longest, int(settings.ordinary.longest_seasons * min(most, len(context.full))))
    thinned = context.full[(len(context.full) - 1) % stride :: stride]
    found = []
    for v in np.nonzero(context.varying)[0]:
        y, seen = thinned[-latest:, v], context.seen[-latest:, v]
        found.append(Series(np.ascontiguousarray(y), seen, seasons.chosen(given, y, settings.ordinary), steps))
    return found


def _least(parts: list[list[Part]], columns: list[Series]) -> float:
    """Rolling errors of the best candidate of the worst column, in its standard deviations."""
    worst = 0.0
    for some, column in zip(parts, columns, strict=True):
        sizes = [float(np.nanmean(part.size)) for part in some if np.isfinite(part.size).any()]
        worst = max(worst, min(sizes, default=np.inf) / max(float(np.std(column.y)), 1e-300))
    return float(worst)


def _scores(mixtures: list[Mixture], context: Context) -> float:
    """The mixtures' rolling errors in standard deviations, as the laboratory counts its own."""
    sizes = [np.abs(mixture.errors) / scale for mixture, scale in zip(mixtures, context.units.scale, strict=False)]
    return float(np.mean([np.nanmean(size) if np.isfinite(size).any() else np.nan for size in sizes]))


def _of_law(
    law: tournament.Answer, v: int, column: Series, rolling: Rolling, context: Context, settings: Settings
) -> list[Part]:
    """The laboratory's best candidates as parts of the mixture of one variable."""
    centre, scale = context.units.centre[v], context.units.scale[v]
    found = []
    for trial, path in zip(law.ranking, law.paths, strict=False):
        if np.isfinite(path).all():
            candidate = Candidate("map", trial.candidate.name, VALUES, lambda x, seen, steps: None)
            forecasts = trial.errors[:, :, v] * scale + column.y[rolling.ahead]
            location = path[:, v] * scale + centre
            found.append(scored(column, rolling, candidate, forecasts, None, location, None, settings.ordinary))
    return found


def _with_a_plausible_end(
    grid: Array, context: Context, mixtures: list[Mixture], rolling: Rolling, settings: Settings
) -> tuple[Array, list[str], tuple[str, ...]]:
    """(probabilities, steps, variables) with a plausible path from where the mixtures know nothing; what that is, and
    a note about it."""
    variables, middle = len(mixtures), len(grid) // 2
    centre, scale = context.units.centre[:variables], context.units.scale[:variables]
    scaled = (grid - centre) / scale
    errors = np.stack([mixture.errors for mixture in mixtures], axis=2) / scale
    found = continued(scaled[middle], errors, context.values, rolling, settings)
    if found is None:
        return grid, [], ()
    above, below = scaled[middle + 1 :] - scaled[middle], (scaled[middle] - scaled[:middle])[::-1]
    low, high = found.path - found.offsets(below), found.path + found.offsets(above)
    return np.concatenate([low[::-1], found.path[None], high]) * scale + centre, [found.name], (_ONE_PATH,)


def _between(mixtures: list[Mixture], settings: Settings) -> Array:
    """The correlation of the variables' errors over all rolling forecasts, drawn towards none where these are few."""
    if len(mixtures) == 1:
        return np.eye(1)
    errors = np.stack([mixture.errors[:, :1].ravel() for mixture in mixtures])
    errors = errors[:, np.isfinite(errors).all(axis=0)]
    count = errors.shape[1]
    if count < 3:
        return np.eye(len(mixtures))
    found = np.nan_to_num(np.corrcoef(errors), nan=0.0)
    shrunk = found * count / (count + len(mixtures) + settings.between_pairs)
    np.fill_diagonal(shrunk, 1.0)
    return np.asarray(shrunk)


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


def _lawful(
    context: Context,
    law: tournament.Answer,
    mixtures: list[Mixture] | None,
    rolling: Rolling | None,
    settings: Settings,
) -> Solution:
    """Follow the laboratory's best path, and the mixture's from where that is lost.

    rolling: over the context, where a plausible path goes on from where nothing is known.
    """
    variables = int(context.varying.sum())
    centre, scale = context.units.centre, context.units.scale
    path, names = law.paths[0], [law.best.candidate.name]
    lost = not np.isfinite(path).all()
    further = completed(path, context.values, rolling, settings) if lost and rolling is not None else None
    if further is not None:
        path = further.path
    elif mixtures is not None and lost:
        other = (np.stack([m.path for m in mixtures], axis=1) - centre[:variables]) / scale[:variables]
        other = np.column_stack([other, np.zeros((len(other), path.shape[1] - variables))])
        path, names = np.where(np.isfinite(path), path, other), [*names, "a mixture of smoothers and readouts"]
    twins = np.concatenate([path[None], law.twins[1:]])
    half = half_widths(law.best.errors, twins, context.values, settings, law.novel)
    if further is not None:
        half, names = further.offsets(half), [*names, further.name]
    path, half = path[:, :variables], half[:, :, :variables]
    if rolling is not None and not law.exact and further is None:
        further = continued(path, law.best.errors, context.values, rolling, settings)
        if further is not None:
            path, half, names = further.path, further.offsets(half), [*names, further.name]
    grid = np.concatenate([(path - half)[::-1], path[None], path + half])
    next_step = np.full((len(path) - 1, variables), settings.dependence_law)
    off = f"Rolling forecasts inside the context were off by {law.best.score:.2g} standard deviations on average."
    together = f"{variables} variables were solved together." if variables > 1 else ""
    return Solution(
        grid * scale[:variables] + centre[:variables], next_step, np.eye(variables),
        ", then ".join(names), tuple(note for note in (off, together, _ONE_PATH if further else "") if note),
    )  # fmt: skip
