"""How wide a mixture is: the posterior of the scale and the tails of its own rolling errors.

    error / expected deviation = k · Student(ν),    (k, ν) on a grid,    p(k, ν | errors) ∝ prior(k) · likelihood

Before any error is known, log k is normal around what so short a context makes likely, as sure as `expected_count`
forecasts would make it. Errors at other leads count less by the octave, as they do for weights. Quantiles are those of
the posterior mixture of Student's distributions: few errors have wide tails, many show how wide theirs are.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, stdtr

from prophecy._forecast import PROBABILITIES
from prophecy.forecasting.scorer import Rolling, bands
from prophecy.forecasting.settings import Settings

Array = NDArray[np.float64]

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
    z = np.where(there, errors, np.nan) / np.where(there, expected, 1.0)
    leads, evidence = [], []
    for lead, low, high in bands(rolling.steps):
        some = z[:, low:high][there[:, low:high]]
        if len(some):
            leads.append(lead)
            evidence.append(independent[lead - 1] * _likelihood(some))
    at = 2 ** np.arange(int(np.log2(horizon)) + 1)
    likely = np.log1p(settings.expected_excess / np.sqrt(len(rolling.known)))
    prior = -settings.expected_count * (np.log(_SCALES) - likely) ** 2
    total = np.repeat(prior[:, None], len(_FREEDOMS), axis=1) + np.zeros((len(at), 1, 1))
    if leads:
        apart = np.abs(np.log2(at[:, None] / np.array(leads)))
        total = total + np.tensordot(settings.octave**apart, np.array(evidence), 1)
    posterior = np.exp(total - total.max(axis=(1, 2), keepdims=True)).reshape(len(at), -1)
    cumulative = (posterior / posterior.sum(axis=1, keepdims=True)) @ _cumulative()
    found = np.array([np.interp(_UPPER, each, _AT) for each in cumulative])
    steps = np.log2(np.arange(1, horizon + 1))
    return np.array([np.interp(steps, np.log2(at), each) for each in found.T])


def _likelihood(z: Array) -> Array:
    """(scales, freedoms): the mean log density of z."""
    squares = (z / _SCALES[:, None]) ** 2
    found = [
        gammaln((nu + 1) / 2) - gammaln(nu / 2) - np.log(nu) / 2 - (nu + 1) / 2 * np.log1p(squares / nu).mean(axis=1)
        for nu in _FREEDOMS
    ]
    return np.asarray(np.stack(found, axis=1) - np.log(_SCALES)[:, None])
