"""Signals of the tests about timestamps, and the error they are judged by."""

import numpy as np

RNG = np.random.default_rng(8)
K = np.arange(1200)
WAVE = np.sin(K / 9.0) + 0.05 * RNG.standard_normal(1200)


def error(track, u, after=400):
    """Mean absolute error of the means said before each value, from row `after` on."""
    return float(np.nanmean(np.abs(track.point[after:] - u[after:])))


def two_tones(k):
    """Between 6 and 14, with seasons of 50 and 23.7 samples."""
    return 10 + 3 * np.sin(2 * np.pi * k / 50) + np.sin(2 * np.pi * k / 23.7 + 1)
