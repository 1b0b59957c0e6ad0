"""The forecast: candidates mixed by their weights, and as wide as the mixture's own rolling errors were."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from prophecy._arrays import Array
from prophecy._forecast import PROBABILITIES
from prophecy.forecasting.calibration import standard_quantiles
from prophecy.forecasting.rare import rare_quantiles, resting
from prophecy.forecasting.scorer import Part, Rolling, weights
from prophecy.forecasting.series import VALUES, Ahead, Candidate, Series
from prophecy.forecasting.settings import Settings

_TINY = 1e-300  # keeps divisions defined; nothing measured is so small
_UPPER = PROBABILITIES[len(PROBABILITIES) // 2 + 1 :]
_ONE = int(np.searchsorted(_UPPER, 0.84))  # the probability up to one standard deviation, nearly
_SMALL = 1e-6  # deviations: a level as good as zero


@dataclass(frozen=True, eq=False)
class Mixture:
    """parts: candidates with a weight, (parts, horizon). path: (horizon,), their mean. errors: (origins, steps), of its
    rolling forecasts. widths: (upper probabilities, horizon), how far the quantiles are from the path."""

    series: Series
    parts: list[Part]
    weights: Array
    path: Array
    errors: Array
    widths: Array

    def weight(self, among: Callable[[Candidate], bool]) -> float:
        """What all candidates of a kind contribute, over all steps."""
        return float(sum(w.mean() for w, part in self._pairs() if among(part.candidate)))

    def rare(self, settings: Settings) -> bool:
        """Whether most values are none: quantiles are those of the values then, and not of errors around a path."""
        return self.weight(lambda candidate: candidate.family == "rare") >= settings.rare_least

    def shares(self) -> list[tuple[float, str]]:
        """Who contributed how much over all steps, the largest first."""
        found = [(float(w.mean()), part.candidate.label) for w, part in self._pairs()]
        return sorted((pair for pair in found if pair[0] > _SMALL), key=lambda pair: -pair[0])

    def quantiles(self, settings: Settings) -> Array:
        """(probabilities, horizon). Steps are logarithmic as far as such candidates count; to a floor, all are."""
        rest = resting(self.series, settings)
        if rest is not None and self.rare(settings):
            return rare_quantiles(self.series, rest, self.path, settings)
        sign, away = self.series.sign, self.widths
        if not sign:
            return np.asarray(self.path + np.concatenate([-away[::-1], np.zeros((1, len(self.path))), away]))
        path, usual = sign * self.path, away[_ONE] / ndtri(_UPPER[_ONE])
        size = np.maximum(path, _SMALL * usual + _TINY)
        # A log-normal distribution of this mean and deviation has this deviation of its logarithm. Away from zero the
        # tails are heavier than its own by as much as errors have shown: as powers of it they would have no mean.
        own = np.sqrt(np.log1p((usual / size) ** 2))
        factor = np.exp(away / np.maximum(usual, _TINY) * own)
        share = sum((w for w, part in self._pairs() if part.candidate.scale is not VALUES), np.zeros(len(path)))
        score = ndtri(_UPPER)[:, None]
        heavier = away / np.maximum(usual * score, _TINY)
        above = path + (1 - share) * away + share * size * np.expm1(score * own) * heavier
        share = share if sign < 0 or settings.negative else np.ones_like(share)
        below = path - (1 - share) * away - share * size * (1 - 1 / factor)
        return np.asarray(np.concatenate([below[::-1], path[None], above])[::sign] * sign)

    def _pairs(self) -> list[tuple[Array, Part]]:
        return list(zip(self.weights, self.parts, strict=True))


def mixed(series: Series, parts: list[Part], rolling: Rolling, settings: Settings) -> Mixture:
    """The mixture of these parts; those without weight are not solved again."""
    horizon, compared = series.horizon, rolling.compared(series.seen)
    independent = rolling.independent(compared)
    parts, shares, made = _solved_again(parts, rolling, independent, settings)
    ahead = _extended(shares, horizon)
    paths = np.stack([part.candidate.scale.back(at) for part, (at, _) in zip(parts, made, strict=True)])
    wide = np.stack([_deviation(part, at, own, independent) for part, (at, own) in zip(parts, made, strict=True)])
    path, deviation, own = _pooled(paths, wide, ahead)
    then = np.stack([part.candidate.scale.back(part.forecasts) for part in parts])
    usual = np.stack([_deviation(part, part.forecasts, part.expected, independent) for part in parts])
    mean, expected, _ = _pooled(then, usual, shares[:, None])
    errors = np.where(compared, mean - series.y[rolling.ahead], np.nan)
    at = standard_quantiles(errors, expected, rolling, independent, horizon, settings)
    # Errors grow with the lead; those of values with one sign may go with the season too.
    shape = own / np.maximum(np.fmax.accumulate(own), _TINY) if series.sign else np.ones(horizon)
    widths = shape * np.array([np.fmax.accumulate(each * deviation / np.maximum(shape, _TINY)) for each in at])
    widths += settings.interval_rounding * float(np.std(series.y))
    return Mixture(series, parts, ahead, path, errors, widths)


def _solved_again(
    parts: list[Part], rolling: Rolling, independent: Array, settings: Settings
) -> tuple[list[Part], Array, list[Ahead]]:
    """Parts with a weight, their weights (parts, steps), and what they say of the time ahead. One part at least goes on
    to the end: others may be lost on the way."""
    while True:
        shares = weights(parts, rolling, independent, settings)
        order = sorted(range(len(parts)), key=lambda k: -float(shares[k].mean()))
        best = next(k for k in order if (one := parts[k].ahead()) is not None and np.isfinite(one[0]).all())
        shares[best] = np.maximum(shares[best], _SMALL)
        shares /= shares.sum(axis=0)
        used = [k for k in range(len(parts)) if shares[k].any()]
        made = [one for k in used if (one := parts[k].ahead()) is not None]
        if len(made) == len(used):
            return [parts[k] for k in used], shares[used], made
        parts = [part for k, part in enumerate(parts) if k not in used or part.ahead() is not None]


def _pooled(locations: Array, deviations: Array, shares: Array) -> tuple[Array, Array, Array]:
    """Mean and standard deviation of a mixture, and the deviation its parts expect themselves; parts that are missing
    somewhere are left out there."""
    there = np.isfinite(locations)
    shares = np.where(there, shares, 0.0)
    total = shares.sum(axis=0)
    shares = shares / np.where(total > 0, total, np.nan)
    mean = (shares * np.where(there, locations, 0.0)).sum(axis=0)
    known = np.isfinite(deviations) & (shares > 0)
    some = np.where(known, shares, 0.0)
    within = (some * np.where(known, deviations, 0.0) ** 2).sum(axis=0) / np.maximum(some.sum(axis=0), _TINY)
    between = (shares * np.where(there, locations - mean, 0.0) ** 2).sum(axis=0)
    return mean, np.sqrt(within + between), np.sqrt(within)


def _deviation(part: Part, at: Array, own: Array | None, independent: Array) -> Array:
    """What a part expects of its errors at these locations, in units of the values. A part that expects nothing itself
    (own: None) has the size of its rolling errors."""
    scale = part.candidate.scale
    size = _extended(np.fmax.accumulate(part.size), at.shape[-1]) if own is None else own
    if part.joint:  # errors of iterated maps multiply: a few forecasts say little of how large they are
        size = size * (1 + 2 / np.sqrt(_extended(independent, at.shape[-1])))
    return np.asarray(size * np.exp(-scale.log_slope(scale.back(at))))


def _extended(x: Array, length: int) -> Array:
    """The last axis made so long, by its last entry."""
    more = length - x.shape[-1]
    return x[..., :length] if more <= 0 else np.concatenate([x, np.repeat(x[..., -1:], more, axis=-1)], axis=-1)
