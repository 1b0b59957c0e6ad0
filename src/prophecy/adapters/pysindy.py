"""A differentiation method for PySINDy (extra `pysindy`)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from pysindy.differentiation.base import BaseDifferentiation

from prophecy.adapters.pynumdiff import prophecydiff


class ProphecyDifferentiation(BaseDifferentiation):  # type: ignore[misc]
    """Causal derivatives by `prophecy.Prophecy`: each from the rows up to its own, as they would come online.

    settle : int, default=0
        Rows at the start whose derivatives are NaN, which PySINDy leaves out: a causal method has few values there.

    Use it as `pysindy.SINDy(differentiation_method=ProphecyDifferentiation(settle=20))`.
    """

    def __init__(self, settle: int = 0) -> None:
        self.settle = settle
        super().__init__()

    def _differentiate(self, x: Any, t: Any = 1) -> NDArray[np.float64]:
        rows = np.asarray(x, dtype=np.float64)
        step = float(t) if np.ndim(t) == 0 else _even_step(np.asarray(t, dtype=np.float64))
        smooth, slope = prophecydiff(rows, step)
        slope[: self.settle] = np.nan
        self.smoothed_x_ = smooth
        return slope


def _even_step(t: NDArray[np.float64]) -> float:
    steps = np.diff(t)
    if len(steps) == 0 or not np.allclose(steps, steps[0], rtol=1e-3, atol=0):
        raise ValueError(
            f"t must rise in even steps, got {len(steps)} from {steps.min(initial=np.inf):g} to "
            f"{steps.max(initial=-np.inf):g}; resample the data first"
        )
    return float(steps.mean())
