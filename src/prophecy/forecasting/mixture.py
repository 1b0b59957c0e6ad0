"""The forecast: candidates mixed by their weights, and as wide as the mixture's own rolling errors were."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from prophecy._forecast import PROBABILITIES
from prophecy.forecasting.rare import rare_quantiles
from prophecy.forecasting.scorer import Part, Rolling, nearby, weights
from prophecy.forecasting.series import VALUES, Series
from prophecy.forecasting.settings import Settings

Array = NDArray[np.float64]

_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Mixture:
    """parts: candidates with a weight, (parts, horizon). path: (horizon,), their mean. errors: (origins, steps), of its
    rolling forecasts. deviation: (horizon,), of the errors to come; freedom: of their Student's distribution."""

    series: Series
    parts: list[Part]
    weights: Array
    path: Array
    errors: Array
    deviation: Array
    freedom: float

    def weight(self, family: str) -> float:
        """What all parts of a family contribute, over all steps."""
        return float(sum(w.mean() for w, part in self._pairs() if part.candidate.family == family))

    def shares(self) -> list[tuple[float, str]]:
        """Who contributed how much over all steps, the largest first."""
        found = sorted(((float(w.mean()), part.candidate.label) for w, part in self._pairs()), key=lambda pair: -pair[0])
        return [pair for pair in found if pair[0] > 0]

    def quantiles(self, settings: Settings) -> Array:
        """(probabilities, horizon). Below the path of a positive series steps are taken in logarithms, above it as far
        as candidates on other scales than the values count."""
        if self.weight("rare") >= settings.rare_least:
            return rare_quantiles(self.series, self.path, settings)
        at = np.asarray(stdtrit(self.freedom, PROBABILITIES))[:, None] * self.deviation
        if not self.series.positive:
            return np.asarray(self.path + at)
        level = np.maximum(self.path, _TINY)
        relative = level * np.exp(np.clip(at / level, -50.0, 50.0))
        share = sum((w for w, part in self._pairs() if part.candidate.scale is not VALUES), np.zeros(len(level)))
        return np.asarray(np.where(at < 0, relative, (1 - share) * (self.path + at) + share * relative))

    def _pairs(self) -> list[tuple[Array, Part]]:
        return list(zip(self.weights, self.parts, strict=True))


def mixed(series: Series, parts: list[Part], rolling: Rolling, settings: Settings) -> Mixture:
    """The mixture of these parts."""
    horizon, compared = series.horizon, rolling.compared(series.seen)
    independent = rolling.independent(compared)
    rolled = weights(parts, rolling, independent, settings)
    ahead, count = _extended(rolled, horizon), _extended(independent, horizon)
    used = [k for k in range(len(parts)) if ahead[k].any() or rolled[k].any()]
    parts, rolled, ahead = [parts[k] for k in used], rolled[used], ahead[used]
    paths = np.stack([part.path for part in parts])
    path = (ahead * paths).sum(axis=0)
    forecasts = np.stack([part.candidate.scale.back(part.forecasts) for part in parts])
    share = np.where(np.isfinite(forecasts), rolled[:, None, :], 0.0)
    total = share.sum(axis=0)
    mean = (share * np.where(np.isfinite(forecasts), forecasts, 0.0)).sum(axis=0) / np.maximum(total, _TINY)
    errors = np.where(compared & (total > 0), mean - series.y[rolling.ahead], np.nan)
    expected = _expected(parts, ahead, paths, path, count, horizon)
    own = nearby(errors)
    # Beyond the last lead that could be rolled, errors grow as the candidates expect.
    own = np.concatenate([own, own[-1] * expected[len(own) :] / max(float(expected[len(own) - 1]), _TINY)])[:horizon] if len(own) < horizon else own[:horizon]
    known = np.isfinite(own) & (own > 0)
    prior = settings.expected_count
    merged = (count * np.log(np.where(known, own, 1.0)) + prior * np.log(np.maximum(settings.expected_factor * expected, _TINY))) / (count + prior)
    deviation = np.where(known, np.exp(merged), settings.expected_factor * expected)
    freedom = min(settings.tail_least + float(independent.max()) / settings.tail_forecasts, settings.tail_most)
    return Mixture(series, parts, ahead, path, errors, deviation, freedom)


def _extended(x: Array, horizon: int) -> Array:
    """The last axis made as long as the horizon, by its last entry."""
    more = horizon - x.shape[-1]
    return x[..., :horizon] if more <= 0 else np.concatenate([x, np.repeat(x[..., -1:], more, axis=-1)], axis=-1)


def _expected(parts: list[Part], shares: Array, paths: Array, path: Array, count: Array, horizon: int) -> Array:
    """(horizon,): what the parts and their disagreement make expect of the errors, in units of the values."""
    within, total = np.zeros(horizon), np.zeros(horizon)
    for part, share, here in zip(parts, shares, paths, strict=True):
        rolled = _extended(part.size, horizon)
        if part.deviation is None:
            size = rolled
        elif part.expected is None:
            size = part.deviation
        else:
            claimed = nearby(np.where(np.isfinite(part.forecasts), np.broadcast_to(part.expected, part.forecasts.shape), np.nan))
            ratio = _extended(part.size / np.maximum(claimed, _TINY) * np.sqrt(np.pi / 2), horizon)
            ratio = np.where(np.isfinite(ratio) & (ratio > 0), ratio, 1.0)
            size = part.deviation * ratio ** (count / (count + 4.0))
        size = size * np.exp(-part.candidate.scale.log_slope(np.maximum(np.abs(here), _TINY)))
        there = np.isfinite(size)
        within += np.where(there, share * size**2, 0.0)
        total += np.where(there, share, 0.0)
    between = (shares * (paths - path) ** 2).sum(axis=0)
    return np.asarray(np.sqrt(np.where(total > 0, within / np.maximum(total, _TINY), 0.0) + between))
