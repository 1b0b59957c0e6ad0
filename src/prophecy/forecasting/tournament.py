"""Laboratory series, with little noise and a law behind them: fields, maps, waves, repetition of all variables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from prophecy.forecasting.choice import Model, Rolling, Trial, trials
from prophecy.forecasting.maps import FittedMap, off_ahead
from prophecy.forecasting.systems import tiers
from prophecy.laws.context import Context
from prophecy.laws.settings import Settings

if TYPE_CHECKING:
    from prophecy.laws.fitted import FittedFlow

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Answer:
    """The best candidates, their paths (steps, variables), NaN from where they are lost, and twins of the first path.

    exact: the first explains the context so well that nothing else need be tried. novel: (steps,), how many times as
    large as rolling errors say those of the first path may be, because it goes where the series has not been.
    """

    ranking: list[Trial]
    paths: list[Array]
    twins: Array
    exact: bool
    novel: Array

    @property
    def best(self) -> Trial:
        return self.ranking[0]


def promising(
    values: Array, left_open: float, settings: Settings, seasonal: bool = False, pace: int | None = None
) -> bool:
    """Whether a quick look finds a law: steps that a few lags or the nearest neighbour explain for the most part.

    left_open: what samples leave open of the next ones (`maps.left_open`): where that is little, several variables are
    a system. seasonal: a strong season explains the series already; three turns of a chaotic oscillator are one too;
    a kernel of delays, `pace` samples apart, tells (None: the season was given, and is believed). Ordinary series fail:
    a random walk's steps cannot be predicted (share 1), those of noise by half. The look takes a millisecond, that of a
    kernel ten, the candidates it spares a hundred.
    """
    if len(values) < settings.laboratory.least or "LABORATORY" in settings.without:
        return False
    if left_open < settings.laboratory.deterministic:
        return True
    most = settings.laboratory.glance_several if values.shape[1] > 1 else settings.laboratory.glance
    recent, lags = values[-settings.laboratory.glanced :], settings.laboratory.glance_lags
    if seasonal:
        if pace and off_ahead(recent, pace, settings.laboratory) < settings.laboratory.seasonal_ahead:
            return True
        most = settings.laboratory.glance_seasonal
    rise = np.diff(recent[lags - 1 :], axis=0)
    size = np.sqrt(np.mean((rise - rise.mean(axis=0)) ** 2, axis=0)) + 1e-300
    states = np.stack([recent[lags - 1 - k : len(recent) - 1 - k] for k in range(lags)], axis=1)
    features = np.column_stack([states.reshape(len(rise), -1), np.ones(len(rise))])
    if len(rise) > 1.5 * features.shape[1]:
        left = rise - features @ np.linalg.lstsq(features, rise, rcond=1e-10)[0]
        share = np.sqrt(np.sum(left**2, axis=0) / (len(rise) - features.shape[1])) / size
        if float(np.mean(share)) < most:
            return True
    from scipy.spatial import cKDTree

    for delays in (2, lags):  # two distinguish the states of most systems, and leave more neighbours
        near = states[:, :delays].reshape(len(rise), -1)
        neighbour = cKDTree(near).query(near, k=2)[1][:, 1]
        share = np.sqrt(np.mean((rise - rise[neighbour]) ** 2, axis=0)) / size
        if float(np.mean(share)) < most:
            return True
    return False


def answer(
    context: Context, closest: tuple[FittedFlow, ...], rolling: Rolling, steps: int, settings: Settings
) -> Answer:
    """Rank the candidates by rolling forecasts, solve the best again from everything, follow them."""
    values = context.values
    ranking = trials(tiers(context, closest, settings), values, context.rows, rolling, settings)
    known = [trial.model for trial in ranking]
    best = ranking[0]
    model = _final(best, context, known)
    exact = best.model.conclusive or best.score < settings.laboratory.good_enough
    twins = _followed(model, values, _nudges(best.errors, values.shape[1], settings), steps, settings)
    paths = [_within_reach(twins[:1], model, values, settings)[0]]
    twins = _within_reach(twins, model, values, settings)
    for trial in ranking[1 : 1 if exact else settings.laboratory.joins]:
        other = _final(trial, context, known)
        path = other.rollout(values, np.array([len(values)]), steps)
        paths.append(_within_reach(path, other, values, settings)[0])
    return Answer(ranking, paths, twins, exact, _novel(best.model, model, values, paths[0], rolling.early))


def _novel(early: Model, whole: Model, values: Array, path: Array, origin: int) -> Array:
    """(steps,), 1 or more and never falling: how much less than at any moment of its rolling forecasts, which the map
    solved from the early part made, the context says about the steps of the path."""
    if not isinstance(early, FittedMap) or not isinstance(whole, FittedMap):
        return np.ones(len(path))
    try:
        usual = float(early.unfamiliar(values, origin, whole).max())
    except np.linalg.LinAlgError:
        return np.ones(len(path))
    there = whole.unfamiliar(np.concatenate([values, np.nan_to_num(path)]), len(values))
    there = np.where(np.isfinite(path).all(axis=1), there, 0.0)
    return np.maximum.accumulate(np.maximum(there / usual, 1.0))


def _final(trial: Trial, context: Context, known: list[Model]) -> Model:
    """The candidate solved again from the whole context."""
    return trial.candidate.fit(context.values, context.rows, known) or trial.model


def _nudges(errors: Array, variables: int, settings: Settings) -> Array:
    """(twins + 1, variables): nothing, then as much as first steps are off."""
    first = errors[:, int(np.argmax(~np.isnan(errors[:, :, 0]).all(axis=0)))]
    size = np.sqrt(np.nanmean(np.where(np.isinf(first), 1.0, first) ** 2, axis=0))
    drawn = np.random.default_rng(0).standard_normal((settings.laboratory.twins, variables)) * size
    return np.concatenate([np.zeros((1, variables)), drawn])


def _followed(model: Model, values: Array, nudges: Array, steps: int, settings: Settings) -> Array:
    """(nudges, steps, variables): paths after the context whose last sample is moved by each of `nudges`."""
    if model.whole_past:
        paths = []
        for nudge in nudges:
            twin = values.copy()
            twin[-1] += nudge
            paths.append(model.rollout(twin, np.array([len(values)]), steps)[0])
        return np.stack(paths)
    tail = values[-settings.laboratory.twin_past :]
    copies = np.repeat(tail[None], len(nudges) - 1, axis=0)
    copies[:, -1] += nudges[1:]
    joined = np.concatenate([values, copies.reshape(-1, values.shape[1])])
    return model.rollout(joined, len(values) + len(tail) * np.arange(len(nudges)), steps)


def _within_reach(paths: Array, model: Model, values: Array, settings: Settings) -> Array:
    """Paths, NaN from where they are a range away from the context: a law that was not found exactly is lost there."""
    lost = ~np.isfinite(paths).all(axis=2)
    if model.residual >= settings.laboratory.exact:
        low, high = values.min(axis=0), values.max(axis=0)
        lost |= ~((paths >= 2 * low - high) & (paths <= 2 * high - low)).all(axis=2)
    return np.where(np.logical_or.accumulate(lost, axis=1)[..., None], np.nan, paths)
