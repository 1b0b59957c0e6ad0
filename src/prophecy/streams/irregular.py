"""Values at irregular times, brought to the grid of the typical interval so that every member of the bank takes part.

A place on the grid between two samples gets its value from the polynomial through the last samples. Its degree is odd,
1 to 13: the one that predicted each sample best from its neighbours lately, so that noise is joined by straight lines
and smooth signals come to the grid with next to all their digits. Where the bank's forecasts for samples have smaller
errors than that, the place gets the forecast plus what the two samples around it say the forecast is off by.
Holes of more than three typical intervals are gaps.
What is predicted for a moment between places lies on the path of the bank's forecasts, plus the part of the newest
sample's distance from that path that has turned out to persist: none, half or all of it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prophecy.streams.fields import REAL, WHOLE, Field, record_type, within
from prophecy.streams.limits import LARGEST, MOST, MOVED, RECENT, SQUARED

DEGREES = np.array([1, 3, 5, 7, 9, 11, 13])
NODES = int(DEGREES[-1]) + 1
"""Degrees of the polynomials, and the samples the longest goes through. Odd ones: a place lies between two samples."""

CARRIED = np.array([0.0, 0.5, 1.0])
"""Parts of the newest sample's distance from the forecast path that may persist."""

FIELDS = (
    Field(
        "value", REAL, (RECENT,), -LARGEST, LARGEST, "signal", "the last values as they came, beside their stamps", True
    ),
    Field("newest", REAL, (), -1e37, 1e37, "s", "when the last known value came", True),
    Field("known", REAL, (), -LARGEST, LARGEST, "signal", "that value"),
    Field("seen", WHOLE, (), 0, MOST, "samples", "samples that `fit` was judged by"),
    Field(
        "fit",
        REAL,
        (len(DEGREES),),
        0,
        SQUARED,
        "signal²",
        "errors of samples predicted from their neighbours, by degree",
    ),
    Field("carry", REAL, (len(CARRIED),), 0, SQUARED, "signal²", "errors of forecasts with each of `CARRIED`"),
    Field("doubts", WHOLE, (), 0, 2, "samples", "wild samples in a row until now, not yet confirmed"),
    Field("doubted", REAL, (2,), -MOVED, MOVED, "signal", "their errors"),
    Field("alarm", REAL, (), 0, 1, "1 - probability", "the alarm with the newest value", True),
)
"""All mean squared errors."""

SAMPLES = record_type(FIELDS)


def fresh_samples(count: int) -> NDArray[np.void]:
    """Samples of `count` streams that have seen nothing."""
    samples = np.zeros(count, dtype=SAMPLES)
    samples["newest"] = np.nan
    return samples


def check_samples(samples: NDArray[np.void], series: int) -> None:
    """Refuse samples no stream could have; ValueError."""
    if samples.dtype != SAMPLES or samples.shape != (series,):
        raise ValueError(f"samples must be {series} records of {SAMPLES.itemsize} bytes, got shape {samples.shape}")
    within(samples, FIELDS)
