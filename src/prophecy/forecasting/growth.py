"""Growth that saturates, solved anew from the values up to every origin.

    x(t) = c + k / (1 + exp(-r (t - m))) + noise,   variance s² + j' (J'J / s² + P)⁻¹ j

Early it is an exponential, late an approach to a level. Time is in lengths of the context, x in standard deviations of
the early part. Before any value is known log k, log r and m are normal around `_USUAL`, as sure as `_SURE`, which is on
the diagonal of P. The unknowns are where the posterior is highest: the best of a grid, then refined by Levenberg and
Marquardt's steps. J are the slopes of the curve by c, log k, log r and m, j those ahead.
"""

from dataclasses import dataclass

import numpy as np

from prophecy._arrays import Array, Indices, Mask
from prophecy.forecasting.series import Ahead, Fitted

_UNKNOWN = 4  # c, k, log r, m
_RATES, _MIDDLES = (grid.ravel() for grid in np.meshgrid(np.geomspace(1.5, 24, 7), np.linspace(-0.5, 2, 21)))
_USUAL = np.array([0.0, 0.0, np.log(6.0), 0.75])  # a curve as high as the values, that turns late in the context
_SURE = np.array([0.0, 0.1, 1.0, 1.0])  # of c nothing is known, of k within a factor of twenty
_ROWS = 256  # means of so many blocks stand for longer contexts
_STEPS = 6  # of Levenberg and Marquardt, from the best of the grid


@dataclass(frozen=True)
class Saturation:
    """Nothing is fitted beforehand: all follows the values up to each origin."""

    def predictive(self, x: Array, seen: Mask, origins: Indices, steps: int) -> Ahead:
        end = int(origins.max())
        block = -(-end // _ROWS)
        starts = np.arange(end % block, end, block)
        count = np.add.reduceat(seen[:end].astype(np.float64), starts)
        y = np.add.reduceat(np.where(seen, x, 0.0)[:end], starts) / np.maximum(count, 1.0)
        early = x[: origins.min()][seen[: origins.min()]]
        centre, scale = float(early.mean()), float(early.std()) or 1.0
        y, times = (y - centre) / scale, (starts + (block - 1) / 2) / end
        weight = count * (starts + block <= origins[:, None])
        unknowns, left = _solved(times, y, weight)
        noise = np.maximum(left / np.maximum((weight > 0).sum(axis=1) - _UNKNOWN - 2, 1), 1e-12)
        precision = _gram(_curve(unknowns, times)[1], weight) / noise[:, None, None] + np.diag(_SURE)
        ahead, slopes = _curve(unknowns, (origins[:, None] + np.arange(steps)) / end)
        doubt = np.sum((slopes @ np.linalg.inv(precision)) * slopes, axis=2)
        return ahead * scale + centre, np.sqrt(noise[:, None] + doubt) * scale


def saturation(x: Array, seen: Mask, steps: int) -> Fitted | None:
    """None where fewer than two values an unknown are there."""
    return Saturation() if seen.sum() >= 2 * _UNKNOWN else None


def _curve(unknowns: Array, times: Array) -> tuple[Array, Array]:
    """(origins, times): the curve of each origin's c, k, log r, m; and its slopes, (origins, times, 4)."""
    c, k, rate, middle = (each[:, None] for each in unknowns.T)
    since = np.exp(rate) * (times - middle)
    share = 1 / (1 + np.exp(-since))
    grown, steep = k * share, k * share * (1 - share)
    return c + grown, np.stack([np.ones_like(share), grown, steep * since, -steep * np.exp(rate)], axis=2)


def _gram(slopes: Array, weight: Array) -> Array:
    return np.asarray((slopes * weight[:, :, None]).transpose(0, 2, 1) @ slopes)


def _unlikely(unknowns: Array) -> Array:
    """How far (…, 4) c, k, log r, m are from what is usual, k by its logarithm."""
    off = unknowns - _USUAL
    off[..., 1] = np.log(np.abs(unknowns[..., 1]) + 1e-12) - _USUAL[1]
    return np.asarray(off)


def _best_of_grid(times: Array, y: Array, weight: Array) -> tuple[Array, Array]:
    """(origins, 4): c, k, log r and m of the likeliest (r, m) of the grid; (origins,) the squares that they leave."""
    share = 1 / (1 + np.exp(-_RATES[:, None] * (times - _MIDDLES[:, None])))
    total, of_share, of_y = weight.sum(axis=1)[:, None], weight @ share.T, (weight @ y)[:, None]
    both = weight @ (share * y).T - of_share * of_y / total
    power = weight @ (share**2).T - of_share**2 / total
    k = both / np.where(power > 1e-9 * total, power, np.inf)
    left = np.maximum((weight @ y**2)[:, None] - of_y**2 / total - k * both, 1e-12 * total)
    every = np.stack([(of_y - k * of_share) / total, k, *np.broadcast_arrays(np.log(_RATES), _MIDDLES, k)[:2]], axis=2)
    loss = (weight > 0).sum(axis=1)[:, None] * np.log(left) + _unlikely(every) ** 2 @ _SURE
    best = np.arange(len(k)), np.argmin(loss, axis=1)
    return every[best], left[best]


def _solved(times: Array, y: Array, weight: Array) -> tuple[Array, Array]:
    """The likeliest unknowns of each origin, (origins, 4), and the squares that they leave, (origins,)."""
    best, left = _best_of_grid(times, y, weight)
    noise = left[:, None] / np.maximum((weight > 0).sum(axis=1), 1)[:, None]
    damping = np.full(noise.shape, 1e-3)
    path, slopes = _curve(best, times)
    for _ in range(_STEPS):
        gram = _gram(slopes, weight)
        size = np.diagonal(gram, axis1=1, axis2=2)
        ridge = damping * size + 1e-12 * size.max(axis=1, keepdims=True) + noise * _SURE
        target = ((weight * (y - path))[:, None] @ slopes)[:, 0] - noise * _SURE * _unlikely(best)
        step = np.linalg.solve(gram + ridge[:, :, None] * np.eye(_UNKNOWN), target[:, :, None])[:, :, 0]
        step[:, 1:] = np.clip(step[:, 1:], -0.5, 0.5)
        tried = best + step
        tried[:, 1] = best[:, 1] * np.exp(step[:, 1])
        new_path, new_slopes = _curve(tried, times)
        loss, new_loss = (
            np.sum(weight * (y - some) ** 2, axis=1) + noise[:, 0] * (_unlikely(each) ** 2 @ _SURE)
            for some, each in ((path, best), (new_path, tried))
        )
        better = (new_loss < loss)[:, None]
        damping *= np.where(better, 0.2, 5.0)
        best, path = np.where(better, tried, best), np.where(better, new_path, path)
        slopes = np.where(better[:, :, None], new_slopes, slopes)
    return best, np.sum(weight * (y - path) ** 2, axis=1)
