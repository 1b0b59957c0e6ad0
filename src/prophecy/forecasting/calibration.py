"""How wide a mixture is: the posterior of the scale and the tails of its own rolling errors.

    error = (1 + lead / origin) · expected deviation · k · Student(ν),    p(k, ν | errors) ∝ prior(k) · likelihood

(k, ν) lie on a grid. Errors grow by lead / origin more than expected: over the time ahead something may change that the
values so far, as many as the origin, did not show. Before any error is known, log k is normal around 0, as sure as
`expected_count` forecasts would make it. Errors at other leads count less by the octave, as they do for weights. What
is expected was itself estimated: the true deviation over it is spread like √(ν / χ²) of ν = (n - 1) / √lead degrees of
freedom, between the n errors of noise in n values and the n / lead of a walk. Quantiles are the mixture's.
"""

from functools import cache

import numpy as np
from scipy.special import gammaln, ndtri, stdtr

from prophecy._arrays import Array
from prophecy._forecast import PROBABILITIES
from prophecy.forecasting.scorer import Rolling, bands, informs, nearby
from prophecy.forecasting.settings import DEFAULT, Settings

_SCALES = np.geomspace(1 / 16, 16, 41)  # k: 15 % apart, closer than any errors tell
_FREEDOMS = np.array([2.5, 4.0, 8.0, 40.0])  # ν: from barely a variance to normal
_AT = 0.05 * np.sinh(np.linspace(0, 10, 161))  # deviations, dense where most errors are, out to 550
_UPPER = PROBABILITIES[len(PROBABILITIES) // 2 + 1 :]


@cache
def _cumulative() -> Array:
    """(scales · freedoms, at): the distribution functions of k · Student(ν) at `_AT`."""
    table = stdtr(_FREEDOMS[:, None], _AT / _SCALES[:, None, None])
    return np.asarray(table.reshape(-1, len(_AT)))


def standard_quantiles(
    errors: Array, expected: Array, rolling: Rolling, independent: Array, horizon: int, settings: Settings
) -> Array:
    """(upper probabilities, horizon): quantiles of errors in units of the deviation that is expected of them."""
    there = np.isfinite(errors) & (expected > 0)
    grown = expected * (1 + np.arange(1, rolling.steps + 1) / rolling.origins[:, None])
    z = np.where(there, errors, np.nan) / np.where(there, grown, 1.0)
    leads, evidence = [], []
    for lead, low, high in bands(rolling.steps):
        some = z[:, low:high][there[:, low:high]]
        if len(some):
            leads.append(lead)
            evidence.append(_likelihood(some))
    at = 2 ** np.arange(int(np.log2(horizon)) + 1)
    prior = -settings.expected_count * np.log(_SCALES) ** 2
    total = np.tile(prior[:, None], (len(at), 1, len(_FREEDOMS)))
    if leads:
        counts = independent[np.array(leads) - 1]
        total = total + np.tensordot(informs(counts, np.array(leads), at, settings), np.array(evidence), 1)
    posterior = np.exp(total - total.max(axis=(1, 2), keepdims=True))
    freedoms = np.maximum((rolling.known.sum() - 1) / np.sqrt(at), 1.0)
    posterior = (_estimated(freedoms) @ posterior).reshape(len(at), -1)
    cumulative = (posterior / posterior.sum(axis=1, keepdims=True)) @ _cumulative()
    found = np.array([np.interp(_UPPER, each, _AT) for each in cumulative])
    steps = np.arange(1, horizon + 1)
    grows = 1 + steps / len(rolling.known)
    return np.array([grows * np.interp(np.log2(steps), np.log2(at), each) for each in found.T])


def _estimated(freedoms: Array) -> Array:
    """(freedoms, scales, scales): the probability of each true k, where so many told what was expected."""
    apart = np.log(_SCALES)[:, None] - np.log(_SCALES)
    density = np.exp(-freedoms[:, None, None] * (apart + np.expm1(-2 * apart) / 2))
    return np.asarray(density / density.sum(axis=1, keepdims=True))


def _likelihood(z: Array) -> Array:
    """(scales, freedoms): the mean log density of z, each shared between its two neighbours of `_AT`."""
    place = np.minimum(np.interp(np.abs(z), _AT, np.arange(len(_AT))), len(_AT) - 1.001)
    low = place.astype(np.intp)
    share = np.bincount(low, 1 - place + low, len(_AT)) + np.bincount(low + 1, place - low, len(_AT))
    return np.asarray(np.tensordot(share / len(z), _log_densities(), 1))


@cache
def _log_densities() -> Array:
    """(at, scales, freedoms): of k · Student(ν) at `_AT`."""
    nu, unit = _FREEDOMS, gammaln((_FREEDOMS + 1) / 2) - gammaln(_FREEDOMS / 2) - np.log(_FREEDOMS) / 2
    squares = (_AT[:, None, None] / _SCALES[:, None]) ** 2
    return np.asarray(unit - (nu + 1) / 2 * np.log1p(squares / nu) - np.log(_SCALES)[:, None])


def dependence(errors: Array, steps: int, settings: Settings = DEFAULT) -> Array:
    """(steps - 1,): the correlation of consecutive errors of rolling forecasts, each step with those around it; the
    last one that was rolled counts for all further ones."""
    scale = nearby(errors, squares=True)
    scores = errors / np.where(scale > 0, scale, 1.0)
    products = scores[:, 1:] * scores[:, :-1]
    there = np.isfinite(products)
    if not there.any():
        return np.full(steps - 1, settings.dependence)
    total = np.where(there, products, 0.0).sum(axis=0)
    squares = np.where(there, (scores[:, 1:] ** 2 + scores[:, :-1] ** 2) / 2, 0.0).sum(axis=0)
    pooled = float(total.sum()) / max(float(squares.sum()), 1e-300)
    share = there.sum(axis=0) / (there.sum(axis=0) + settings.dependence_pairs)
    found = np.clip(share * total / np.maximum(squares, 1e-300) + (1 - share) * pooled, -0.99, 0.999)
    return np.concatenate([found, np.repeat(found[-1:], steps)])[: steps - 1]


def between(errors: Array, settings: Settings = DEFAULT) -> Array:
    """The correlation of the variables' errors, (variables, forecasts), drawn towards none where these are few."""
    variables = len(errors)
    errors = errors[:, np.isfinite(errors).all(axis=0)]
    count = errors.shape[1]
    if variables == 1 or count < 3:
        return np.eye(variables)
    shrunk = np.nan_to_num(np.corrcoef(errors), nan=0.0) * count / (count + variables + settings.dependence_pairs / 2)
    np.fill_diagonal(shrunk, 1.0)
    return np.asarray(shrunk)


def upper_quantiles(sample: Array, independent: float) -> Array:
    """At each level the quantile that `independent` draws need so that a new one stays below it so often; beyond the
    largest error in proportion to a normal distribution's."""
    shares = (2 * _UPPER - 1) * (1 + 1 / independent)
    found = np.quantile(sample, np.minimum(shares, 1.0), axis=0, method="higher")
    inside = max(int(np.sum(shares <= 1.0)), 1)
    beyond = ndtri(_UPPER[inside - 1 :]) / ndtri(_UPPER[inside - 1])
    beyond = beyond.reshape(-1, *[1] * (found.ndim - 1))
    found[inside - 1 :] = np.maximum(found[inside - 1 :], found[inside - 1] * beyond)
    return np.asarray(found)
