"""Flows: methods of integration, fields as tables, and the compiled functions that follow them (`kernels/flow.py`)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import DOP853

from prophecy.laws.kernels.flow import paths, steps
from prophecy.laws.kernels.lanes import features
from prophecy.laws.terms import (
    EXPONENTIAL,
    LOGARITHM,
    MODULUS,
    RATE,
    RECIPROCAL,
    ROOT,
    SHIFT,
    SIGN,
    SINE,
    TANH,
    Function,
    Terms,
    polynomial_terms,
    powers,
)

__all__ = [
    "EIGHTH",
    "EXPONENTIAL",
    "FOURTH",
    "LOGARITHM",
    "MODULUS",
    "NO_KICKS",
    "RATE",
    "RECIPROCAL",
    "ROOT",
    "SHIFT",
    "SIGN",
    "SINE",
    "TANH",
    "Function",
    "Shapes",
    "Tableau",
    "Terms",
    "features",
    "paths",
    "polynomial_terms",
    "powers",
    "steps",
]

Array = NDArray[np.float64]


class Tableau(NamedTuple):
    """An explicit Runge-Kutta method: stages from earlier slopes, the weights of the slopes, and those of the two
    estimates of what a step misses by (empty where there are none)."""

    stages: Array
    weights: Array
    fifth: Array
    third: Array


#: Order 4 for noisy samples, order 8 (Dormand and Prince) for exact ones.
FOURTH = Tableau(
    np.array([[0, 0, 0, 0], [0.5, 0, 0, 0], [0, 0.5, 0, 0], [0, 0, 1.0, 0]]),
    np.array([1, 2, 2, 1]) / 6,
    np.zeros(0),
    np.zeros(0),
)
EIGHTH = Tableau(
    *(np.array(a, dtype=np.float64) for a in (DOP853.A[:12, :12], DOP853.B, DOP853.E5[:12], DOP853.E3[:12]))
)

#: For `paths` that follow the flow exactly.
NO_KICKS = np.zeros((0, 0, 0))


class Shapes(NamedTuple):
    """What functions are taken of, for each of several paths: the arrays of `Terms` with one axis more, the first."""

    rates: Array
    shifts: Array
    bends: Array
