"""`forecast`: the one call that does it all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from prophecy import _checks
from prophecy._forecast import Failure, Forecast
from prophecy.dynamics.batch import ONE_THREAD, in_order
from prophecy.dynamics.candidates import FALLBACKS, tiers
from prophecy.dynamics.choice import Model, Rolling, Trial, best_team, score, trials
from prophecy.dynamics.context import Context, read
from prophecy.dynamics.intervals import half_widths
from prophecy.dynamics.settings import DEFAULT, Settings

Array = NDArray[np.float64]

_TWINS = 6
_EXACT = 1e-6  # a residual, in spreads, that only the true equations leave
_TAIL = 1024


def forecast(
    values: ArrayLike,
    horizon: int,
    level: float = 0.9,
    *,
    season: float | Sequence[float] | None = None,
    bounds: tuple[float | None, float | None] | None = None,
    known: ArrayLike | None = None,
    average: bool = False,
    settings: Settings = DEFAULT,
) -> Forecast:
    """Predict the next `horizon` samples of (time,) or (time, variables) from the context alone.

    The mean follows the candidate whose rolling forecasts inside the context were best; the interval holds each value
    with probability `level`. Missing values are NaN. See docs/forecasting.md.

    >>> wave = np.sin(np.arange(200) / 5)
    >>> ahead = forecast(wave, horizon=50)
    >>> bool(np.abs(ahead.mean - np.sin(np.arange(200, 250) / 5)).max() < 1e-6)
    True
    """
    horizon = _checks.order("horizon", horizon)
    level = _level(level)
    ready = read(values)
    with ONE_THREAD, np.errstate(all="ignore"):
        mean, half, method, notes = _forecast(ready, ready.overdue + horizon, level)
    mean, half = mean[ready.overdue :], half[ready.overdue :]
    lower = np.clip(mean - half, ready.floor, ready.ceiling)
    upper = np.clip(mean + half, ready.floor, ready.ceiling)
    mean = np.clip(mean, ready.floor, ready.ceiling)
    if np.ndim(values) == 1:
        mean, lower, upper = mean[:, 0], lower[:, 0], upper[:, 0]
    return Forecast(mean, lower, upper, level, method, (*notes, *ready.notes))


def forecast_many(
    contexts: Sequence[ArrayLike] | NDArray[np.floating[Any]],
    horizon: int,
    level: float = 0.9,
    *,
    season: float | Sequence[float] | None = None,
    bounds: tuple[float | None, float | None] | None = None,
    known: ArrayLike | None = None,
    average: bool = False,
    settings: Settings = DEFAULT,
    jobs: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Forecast | Failure]:
    """`forecast` for every context of a batch: (series, time), (series, time, variables) or a list of either.

    A context that cannot be forecast has a `Failure` in its place. jobs: how many processes share the work; None takes
    one per core this process may use, 1 stays in this process. progress(done, total) is called after each.
    """
    horizon, level = _checks.order("horizon", horizon), _level(level)
    options: dict[str, Any] = {
        "season": season,
        "bounds": bounds,
        "known": known,
        "average": average,
        "settings": settings,
    }
    one = partial(forecast, horizon=horizon, level=level, **options)
    return in_order(one, contexts, jobs, progress)


def _level(level: float) -> float:
    number = _checks.positive("level", level)
    if number >= 1:
        raise ValueError(f"level must be between 0 and 1, got {level}; 0.9 asks for nine values in ten")
    return number


def _forecast(context: Context, horizon: int, level: float) -> tuple[Array, Array, str, tuple[str, ...]]:
    """Mean and half widths of the interval in raw units, (horizon, variables), the method and notes."""
    steps = -(-horizon // context.stride)
    shape = horizon, len(context.varying)
    mean, half = np.tile(context.full[-1], (horizon, 1)), np.zeros(shape)
    method, notes = "constant", tuple[str, ...]()
    if context.varying.any():
        scaled, widths, method, notes = _predict(context, steps, level)
        scaled, widths = _between(context, scaled, horizon), _stretched(context, widths, horizon)
        seen = slice(0, int(context.varying.sum()))
        mean[:, context.varying] = (scaled * context.units.scale + context.units.centre)[:, seen]
        half[:, context.varying] = (widths * context.units.scale)[:, seen]
    return mean, half, method, notes


def _predict(context: Context, steps: int, level: float) -> tuple[Array, Array, str, tuple[str, ...]]:
    """The mean path of the best team, in spreads, half widths, the method and notes."""
    from prophecy.dynamics import trajectory  # loads Numba

    values = context.values
    model = trajectory.whole(context)
    decided = trajectory.decide(context, model, steps)
    if decided is not None:
        tails = np.quantile(np.abs(decided.draws - decided.path), level, axis=0)
        return decided.path, tails, decided.method, decided.notes
    rolling = Rolling.over(context.known, steps)
    ranking = trials(tiers(context, rolling.early, model), values, context.rows, rolling)
    known = {trial.candidate.name: trial.model for trial in ranking}
    team = best_team(ranking)
    errors = np.mean([trial.errors for trial in team], axis=0)
    twins = _twins(values, errors)
    paths, method = np.full((_TWINS + 1, steps, values.shape[1]), np.nan), ""
    for members in (team, *([trial] for trial in ranking if trial not in team)):
        models = [_final(trial, context, rolling, known) for trial in members]
        found = _mean([_within_reach(model.rollout(*twins, steps), model, values) for model in models])
        paths = np.where(np.isfinite(paths), paths, found)
        method += (", then " if method else "") + " and ".join(trial.candidate.name for trial in members)
        if np.isfinite(paths[0]).all() or models[0].residual < _EXACT:
            break
    paths = np.stack([_held(path, values[-1]) for path in paths])
    return paths[0], half_widths(errors, paths, values, level), method, _notes(score(errors), team[0], ranking)


def _mean(paths: list[Array]) -> Array:
    """Over those that are still there."""
    there = [np.isfinite(path) for path in paths]
    total = np.sum([np.where(here, path, 0.0) for path, here in zip(paths, there, strict=True)], axis=0)
    return np.asarray(total / np.sum(there, axis=0))


def _within_reach(paths: Array, model: Model, values: Array) -> Array:
    """Paths, NaN from where they leave the envelope: a field that was not found exactly has lost its way there."""
    if model.residual < _EXACT:
        return paths
    low, high = values.min(axis=0), values.max(axis=0)
    outside = ~((paths >= 2 * low - high) & (paths <= 2 * high - low)).all(axis=2)
    return np.where(np.logical_or.accumulate(outside, axis=1)[..., None], np.nan, paths)


def _held(path: Array, now: Array) -> Array:
    """A path that left the surroundings of the context stays where it was last seen."""
    there = np.isfinite(path).all(axis=1)
    steps = int(np.argmin(there)) if not there.all() else len(path)
    last = path[steps - 1] if steps else now
    return np.concatenate([path[:steps], np.tile(last, (len(path) - steps, 1))])


def _final(trial: Trial, context: Context, rolling: Rolling, known: dict[str, Model]) -> Model:
    """The candidate solved again from the whole context, unless that made it worse than the early part did."""
    model = trial.candidate.fit(context.values, context.rows, known)
    if model is None or model.residual > max(2 * trial.model.residual, _EXACT):
        return trial.model
    if model is trial.model or trial.model.conclusive:
        return model
    return model if score(rolling.errors(model, context.values)) <= trial.score else trial.model


def _twins(values: Array, errors: Array) -> tuple[Array, NDArray[np.intp]]:
    """The context and copies of its end whose last sample is off by as much as first steps are; where each ends.

    Copies are as long as the longest memory needs.
    """
    first = errors[:, int(np.argmax(~np.isnan(errors[:, :, 0]).all(axis=0)))]
    size = np.sqrt(np.nanmean(np.where(np.isinf(first), 1.0, first) ** 2, axis=0))
    nudges = np.random.default_rng(0).standard_normal((_TWINS, values.shape[1])) * size
    tail = values[-_TAIL:]
    copies = np.repeat(tail[None], _TWINS, axis=0)
    copies[:, -1] += nudges
    joined = np.concatenate([values, copies.reshape(-1, values.shape[1])])
    return joined, len(values) + len(tail) * np.arange(_TWINS + 1)


def _notes(off: float, trial: Trial, ranking: list[Trial]) -> tuple[str, ...]:
    score = f"Rolling forecasts inside the context were off by {off:.2g} spreads on average"
    simple = [other for other in ranking if other.candidate.name.startswith(FALLBACKS)]
    if trial in simple:
        return (f"{score}; nothing that was solved from the context did better.",)
    return (f"{score}; {simple[0].candidate.name} by {simple[0].score:.2g}.",) if simple else (f"{score}.",)


def _between(context: Context, coarse: Array, horizon: int) -> Array:
    """Values at every sample from those at every `stride`-th, by polynomials through eight of them."""
    if context.stride == 1:
        return coarse[:horizon]
    joined = np.concatenate([context.values[-4:], coarse])
    at = 3 + np.arange(1, horizon + 1) / context.stride
    first = np.clip(np.floor(at).astype(np.intp) - 3, 0, max(len(joined) - 8, 0))
    width = min(8, len(joined))
    out = np.zeros((horizon, coarse.shape[1]))
    for j in range(width):
        others = [m for m in range(width) if m != j]
        weight = np.prod([(at - first - m) / (j - m) for m in others], axis=0)
        out += weight[:, None] * joined[first + j]
    return out


def _stretched(context: Context, widths: Array, horizon: int) -> Array:
    coarse = np.arange(1, len(widths) + 1) * context.stride
    fine = np.arange(1, horizon + 1)
    return np.stack([np.interp(fine, coarse, column) for column in widths.T], axis=1)
