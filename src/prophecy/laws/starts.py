"""Paths between samples, along which the integral form of an equation is solved.

x(k + 1) - x(k) = sum_p theta_p int phi_p(x(s)) ds is linear in theta once the path between samples is known; a
polynomial through the samples around them is a good first guess.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_NODES, WEIGHTS = np.polynomial.legendre.leggauss(5)  # exact for products of order 9
_NODES, WEIGHTS = (_NODES + 1) / 2, WEIGHTS / 2


def interpolate(values: Array, rows: Indices, width: int) -> tuple[Array, Array]:
    """Values and slopes between samples k and k + 1, by the polynomial through the `width` samples around them.

    Both (variables, rows, nodes).
    """
    first = np.clip(rows - width // 2 + 1, 0, len(values) - width)
    path = np.empty((values.shape[1], len(rows), len(_NODES)))
    slope = np.empty_like(path)
    for offset in np.unique(first - rows):
        here = np.nonzero(first - rows == offset)[0]
        stencil = values[first[here][:, None] + np.arange(width)]
        centre = offset + (width - 1) / 2
        vander = np.polynomial.legendre.legvander((np.arange(offset, offset + width) - centre) * 2 / width, width - 1)
        to_series = np.linalg.inv(vander)
        at = (_NODES - centre) * 2 / width
        weights = np.polynomial.legendre.legvander(at, width - 1) @ to_series
        series_slopes = np.polynomial.legendre.legder(np.eye(width), axis=0) * 2 / width
        slopes = np.polynomial.legendre.legvander(at, width - 2) @ series_slopes @ to_series
        path[:, here] = np.einsum("nw,hwv->vhn", weights, stencil)
        slope[:, here] = np.einsum("nw,hwv->vhn", slopes, stencil)
    return path, slope
