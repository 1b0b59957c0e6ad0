"""A differentiation function shaped like PyNumDiff's; it needs no extra."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from prophecy import _checks
from prophecy._arrays import Array
from prophecy.adapters import causal


def prophecydiff(x: ArrayLike, dt: float) -> tuple[Array, Array]:
    """Smoothed signal and derivative, causally: sample k of both depends on samples 0 … k of `x` and nothing else.

    x: (time,) or (time, variables). There are no parameters: how far to look back is decided from the data so far.
    The smoothed signal is halfway between each sample and the prediction of it made before it came (a NaN is replaced
    by the prediction). For PySINDy: `model.fit(x, t=dt, x_dot=prophecydiff(x, dt)[1])`.

    >>> t = np.arange(500) * 0.01
    >>> x_hat, dxdt_hat = prophecydiff(np.sin(t), dt=0.01)
    >>> bool(np.abs(dxdt_hat - np.cos(t))[100:].max() < 1e-6)
    True
    """
    data = _checks.series("x", x, "(time, variables)").astype(np.float64)
    rows = data if data.ndim == 2 else data[:, None]
    following, slope = causal(rows, dt)
    expected = np.concatenate([rows[:1], following[:-1]])
    smooth = np.where(np.isnan(rows), expected, (rows + expected) / 2)
    return smooth.reshape(data.shape), slope.reshape(data.shape)
