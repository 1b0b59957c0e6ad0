"""The one judge: forecasts from the same origins for all candidates, scored by the density they gave to what came.

    weight(lead) = prior · exp(flatness · Σ_g score_g / (1 / n_g + |log2 lead/g| / octave)),  g = 1, 2, 4, … ≤ √2 lead

score_g is the mean logarithm of the density that a candidate gave to what came about g steps ahead: Student's, around
its location, as wide as it expected, in units of the values whatever scale it works on. A candidate that expects
nothing of its errors is as wide as they were, which costs a nat at every g. n_g is how many forecasts of that lead do
not overlap. Scores drift from octave to octave like a walk, so that any number of shorter forecasts are worth a few
of the lead in question; longer ones are worth none, so that the first steps do not depend on how far one asks.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Self

import numpy as np

from prophecy._arrays import Array, Indices, Mask
from prophecy.forecasting.candidates import candidates
from prophecy.forecasting.rare import resting
from prophecy.forecasting.series import Ahead, Candidate, Series
from prophecy.forecasting.settings import Settings
from prophecy.laws.context import Units

_LOST, _REACH = 1e3, 30.0  # ranges of the context, and on a candidate's own scale: a path that leads farther is lost
_APART = np.sqrt(2.0)  # standard deviations: how far two unrelated moments of a series are from each other
MEAN_SIZE = np.sqrt(np.pi / 2)  # a normal distribution's standard deviation over its mean absolute value


@dataclass(frozen=True, eq=False)
class Rolling:
    """Where the early part ends, from where the rest is forecast, and how many steps ahead. known: samples observed.

    Forecasts start after observed samples and are compared with observed samples: a bridge over a gap knows its end.
    """

    early: int
    origins: Indices
    steps: int
    known: Mask

    @classmethod
    def over(cls, known: Mask, steps: int, season: int, settings: Settings) -> Self:
        """The rest is half of a short context and less of a long one, the more where it holds a season. season: samples
        of the shortest one; the early part holds enough of it for a profile where it can."""
        length, seen = len(known), np.nonzero(known)[0]
        root, share = settings.rolled[0] * np.sqrt(len(seen)), settings.rolled[1] * len(seen)
        rest = min(max(root, share if share >= season else 0.0), len(seen) / 2)
        early = max(4, int(seen[max(int(len(seen) - rest), 1) - 1]) + 1) if len(seen) > 1 else length
        needed = int(settings.season_cycles * season) + 2  # what a profile takes
        early = min(max(early, needed if needed <= length - 2 else 0), length - 1)
        if not known[early:].any():
            return cls.over(np.ones(length, dtype=np.bool_), steps, season, settings)
        last = max(early, length - max(1, len(seen) // 20))
        spread = np.linspace(
            early, last, min(round(settings.origins * np.sqrt(last - early + 1)), last - early + 1)
        ).astype(np.intp)
        after_seen = np.maximum.accumulate(np.where(known, np.arange(1, length + 1), 0))
        origins = np.unique(np.maximum(after_seen[spread - 1], early))
        wait = seen[np.minimum(np.searchsorted(seen, origins), len(seen) - 1)] - origins
        nearest = int(np.median(wait[wait >= 0])) + 1
        return cls(early, origins, max(nearest, min(max(steps, settings.leads), max(1, length - early))), known)

    @property
    def ahead(self) -> Indices:
        """(origins, steps): the times that are forecast; those after the end are the last one."""
        return np.asarray(np.minimum(self.origins[:, None] + np.arange(self.steps), len(self.known) - 1))

    def compared(self, seen: Mask) -> Mask:
        """(origins, steps): where there is a value to compare with."""
        inside = self.origins[:, None] + np.arange(self.steps) < len(seen)
        return np.asarray(inside & seen[self.ahead])

    def independent(self, compared: Mask) -> Array:
        """(steps,): how many forecasts of each lead do not overlap."""
        span = (len(self.known) - self.early) / np.arange(1, self.steps + 1)
        return np.asarray(np.maximum(np.minimum(span, compared.sum(axis=0)), 1.0))


@dataclass(frozen=True, eq=False)
class Part:
    """A candidate rolled over the context, on its own scale.

    forecasts: (origins, steps), NaN where it could not be rolled. expected: the standard deviations it expected then,
    or None. size: (steps,), of its errors, NaN where nothing was compared. score: (steps,), the mean log density of
    what came, but for a constant. ahead(): location and deviation, (horizon,), from the end of the context, solved from
    all of it; None where it is lost. joint: a candidate of all variables together.
    """

    candidate: Candidate
    forecasts: Array
    expected: Array | None
    ahead: Callable[[], Ahead | None]
    joint: bool = False
    size: Array = field(default_factory=partial(np.zeros, 0))
    score: Array = field(default_factory=partial(np.zeros, 0))


def roll(series: Series, rolling: Rolling, settings: Settings) -> list[Part]:
    """Every candidate of one variable fitted to the early part and rolled over the rest."""
    found, steps = [], max(series.horizon, rolling.steps)
    for candidate in candidates(series, settings):
        x = candidate.scale.of(series.y)
        rolled = _predictive(candidate, x, series.seen, rolling.early, rolling.origins, steps, rolling.steps)
        if rolled is not None:
            found.append(Part(candidate, *rolled, cache(partial(_ahead, candidate, series, x, steps))))
    return scored(series, rolling, found, settings)


def _predictive(
    candidate: Candidate, x: Array, seen: Mask, known: int, origins: Indices, horizon: int, steps: int
) -> Ahead | None:
    """What a candidate that is solved from the first `known` values says of `steps` values after each origin; None
    where these are too few, or functions alike on them."""
    try:
        fitted = candidate.fit(x[:known], seen[:known], horizon)
        return None if fitted is None else fitted.predictive(x, seen, origins, steps)
    except np.linalg.LinAlgError:
        return None


def _ahead(candidate: Candidate, series: Series, x: Array, steps: int) -> Ahead | None:
    """Solved from the whole context; None where it is too short for it, or leads far away."""
    made = _predictive(candidate, x, series.seen, len(x), np.array([len(x)]), steps, series.horizon)
    if made is None:
        return None
    location, deviation = made[0][0], None if made[1] is None else made[1][0]
    far = np.abs(candidate.scale.back(location) - series.y[-1])
    near = (np.abs(location - x[-1]) <= _REACH * np.ptp(x)).all() and (far < _LOST * np.ptp(series.y)).all()
    return (location, deviation) if near else None


def roll_jointly(
    tried: Iterable[Candidate], values: Array, units: Units, columns: list[Series], rolling: Rolling, settings: Settings
) -> list[list[Part]]:
    """Every candidate of all variables, as a part for each column: fitted to the early part and rolled over the rest. A
    forecast that is lost is as far off as unrelated moments are. values: (time, variables), those of the columns in
    standard deviations; units: what these are."""
    found: list[list[Part]] = [[] for _ in columns]
    known, horizon, end = rolling.known, columns[0].horizon, np.array([len(values)])
    for candidate in tried:
        if candidate.family in settings.without:
            continue
        rolled = _predictive(candidate, values, known, rolling.early, rolling.origins, horizon, rolling.steps)
        if rolled is None:
            continue
        paths = np.where(np.isfinite(rolled[0]), rolled[0], values[rolling.ahead] + _APART)
        once = cache(partial(_predictive, candidate, values, known, len(values), end, horizon, horizon))
        for v in range(len(columns)):
            centre, scale = units.centre[v], units.scale[v]
            ahead = cache(partial(_of_column, once, v, centre, scale))
            found[v].append(Part(candidate, paths[:, :, v] * scale + centre, None, ahead, joint=True))
    return [scored(column, rolling, each, settings) for column, each in zip(columns, found, strict=True)]


def _of_column(once: Callable[[], Ahead | None], v: int, centre: float, scale: float) -> Ahead | None:
    made = once()
    return None if made is None or not np.isfinite(made[0][0, 0]).all() else (made[0][0, :, v] * scale + centre, None)


def scored(series: Series, rolling: Rolling, rolled: list[Part], settings: Settings) -> list[Part]:
    """Parts with their scores, all in one: arrays are (candidates, origins, steps)."""
    if not rolled:
        return []
    compared, here = rolling.compared(series.seen), series.y[rolling.ahead]
    scales = {each.candidate.scale for each in rolled}
    target, slope = {scale: scale.of(here) for scale in scales}, {scale: scale.log_slope(here) for scale in scales}
    errors = np.stack([each.forecasts - target[each.candidate.scale] for each in rolled])
    errors = np.where(compared & np.isfinite(errors), errors, np.nan)
    rare, rounding = resting(series, settings) is not None, settings.rounding * (float(np.std(series.y)) or 1.0)
    size = nearby(errors, squares=rolled[0].joint or rare)
    if rare:  # where many values are the same, no density has a say: means are judged, by squares
        off = np.stack([each.candidate.scale.back(each.forecasts) - here for each in rolled])
        score = -np.log(nearby(np.where(np.isfinite(errors), off, np.nan), squares=True) + rounding)
    else:
        own = [np.broadcast_to(own if each.expected is None else each.expected, here.shape)
               for each, own in zip(rolled, size, strict=True)]  # fmt: skip
        usual, nu = np.stack(own), settings.tails
        there = np.isfinite(errors) & np.isfinite(usual)
        unit = np.exp(np.where(there, np.stack([slope[each.candidate.scale] for each in rolled]), 0.0))
        width = usual / unit + rounding
        density = -(nu + 1) / 2 * np.log1p((errors / unit / width) ** 2 / nu) - np.log(width)
        count = there.sum(axis=1)
        score = np.where(count > 0, np.where(there, density, 0.0).sum(axis=1) / np.maximum(count, 1), np.nan)
        untold = np.array([each.expected is None for each in rolled])
        score[untold] -= 1 / rolling.independent(compared)
    return [replace(each, size=size[k], score=score[k]) for k, each in enumerate(rolled)]


def nearby(errors: Array, squares: bool = False) -> Array:
    """(…, steps): the size of errors (…, origins, steps) at each step and those within a quarter of its distance, NaN
    where there are none: their mean absolute value, which a wild one moves little, or the root of their mean square."""
    there, power, first = np.isfinite(errors), 2 if squares else 1, np.zeros((*errors.shape[:-2], 1))
    total = np.where(there, np.abs(errors) ** power, 0.0).sum(axis=-2).cumsum(axis=-1)
    total, count = (np.concatenate([first, each], axis=-1) for each in (total, there.sum(axis=-2).cumsum(axis=-1)))
    steps = np.arange(errors.shape[-1])
    reach = np.ceil((steps + 1) / 4).astype(np.intp)
    low, high = np.maximum(steps - reach, 0), np.minimum(steps + reach + 1, len(steps))
    number = count[..., high] - count[..., low]
    mean = np.where(number > 0, (total[..., high] - total[..., low]) / np.maximum(number, 1), np.nan)
    return np.asarray(np.sqrt(mean) if squares else MEAN_SIZE * mean)


def bands(steps: int) -> list[tuple[int, int, int]]:
    """Leads 1, 2, 4, … up to `steps`, and the half-open range of steps that counts for each."""
    leads = [2**k for k in range(int(np.log2(steps)) + 1)]
    return [(lead, int(np.ceil(lead / np.sqrt(2))) - 1, max(int(lead * np.sqrt(2)), 1)) for lead in leads]


def informs(counts: Array, leads: Indices, at: Indices, settings: Settings) -> Array:
    """(at, leads): how many forecasts those at `leads`, so many as `counts`, are worth at others, as far or farther."""
    octaves = np.log2(at[:, None] / leads)
    return np.where(octaves > -0.5, counts / (1 + counts * np.abs(octaves) / settings.octave), 0.0)


def weights(parts: list[Part], rolling: Rolling, independent: Array, settings: Settings) -> Array:
    """(parts, steps): how much each counts at each lead; columns add up to 1."""
    prior = np.array([settings.prior(part.candidate) for part in parts])
    score, around = np.stack([part.score for part in parts]), bands(rolling.steps)
    leads, scores = np.array([lead for lead, *_ in around]), np.zeros((len(parts), len(around)))
    for j, (_, low, high) in enumerate(around):
        there = np.isfinite(score[:, low:high])
        mean = np.where(there, score[:, low:high], 0.0).sum(axis=1) / np.maximum(there.sum(axis=1), 1)
        scores[:, j] = np.where(there.any(axis=1), mean - mean.max(), 0.0)
    says = informs(independent[leads - 1], leads, np.arange(1, rolling.steps + 1), settings)
    evidence = settings.flatness * scores @ says.T
    found = prior[:, None] * np.exp(evidence - evidence.max(axis=0))
    found = np.where(found < settings.least_weight * found.max(axis=0), 0.0, found)
    return np.asarray(found / found.sum(axis=0))
