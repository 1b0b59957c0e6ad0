"""A series less its straight line, and its autocorrelation (streams have one of their own that bears gaps)."""

import numpy as np

from prophecy._arrays import Array


def less_line(x: Array) -> Array:
    """x (time,) less its mean and its straight line, by least squares."""
    times = np.linspace(-1, 1, len(x))
    return np.asarray(x - x.mean() - times * float(x @ times) / float(times @ times))


def autocorrelation(x: Array, lags: int) -> Array:
    """The autocorrelation of x (time,), whose mean is 0, at lags 0 … lags - 1: unbiased by the falling number of pairs,
    1 at lag 0, and all 0 where x is."""
    size = 1 << int(np.ceil(np.log2(2 * len(x))))
    spectrum = np.abs(np.fft.rfft(x, size)) ** 2
    products = np.fft.irfft(spectrum, size)[:lags]
    pairs = len(x) - np.arange(lags)
    return np.asarray(products / pairs / max(float(products[0]) / len(x), 1e-300))
