"""The paper's table of White Signal and Filtered Noise comes out of the core, cell by cell."""

from __future__ import annotations

import numpy as np
import pytest

from prophecy import fout, legt, next_value, run, signals
from prophecy.bases import fout_as_printed

# MSE, mean and std over functions, as the paper prints them: LegT 33, FouT 33, LegT 65, FouT 65.
WHITE = {
    0.3: [(3.5e-11, 4.2e-11), (6.8e-8, 5.8e-8), (1.2e-11, 1.4e-11), (6.9e-8, 5.8e-8)],
    1.0: [(2.9e-7, 2.8e-7), (2.1e-6, 1.2e-6), (2.0e-10, 2.5e-10), (2.1e-6, 1.2e-6)],
    2.0: [(1.2e-5, 0.6e-5), (8.6e-6, 3.7e-6), (6.3e-7, 5.4e-7), (8.7e-6, 3.8e-6)],
}
FILTERED = {
    0.05: [(2.1e-3, 0.2e-3), (1.7e-3, 0.1e-3), (2.8e-3, 0.3e-3), (1.5e-3, 0.1e-3)],
    0.1: [(2.4e-4, 0.3e-4), (1.9e-4, 0.2e-4), (2.6e-4, 0.3e-4), (1.8e-4, 0.2e-4)],
    0.3: [(5.0e-6, 1.0e-6), (6.4e-6, 1.5e-6), (4.1e-6, 0.6e-6), (6.2e-6, 1.5e-6)],
}
# The corrected FouT, N = 33 and 65, which the paper does not print: measured over the same 40 functions.
CORRECTED = {("white", 1.0): (8.8e-7, 9.2e-7), ("filtered", 0.1): (1.9e-4, 1.4e-4)}


def mse(make: object, order: int, u: np.ndarray) -> float:
    y, _ = run(next_value(make(order, 10.0), 1e-3), u, "lifted")  # type: ignore[operator]
    half = u.shape[1] // 2
    return float(np.mean((y[:, half - 1 : -1] - u[:, half:]) ** 2))


@pytest.mark.parametrize(
    ("process", "parameter", "cells"),
    [("white", g, c) for g, c in WHITE.items()] + [("filtered", a, c) for a, c in FILTERED.items()],
)
def test_every_cell_lies_within_the_papers_spread(
    process: str, parameter: float, cells: list[tuple[float, float]]
) -> None:
    make = signals.white_signal if process == "white" else signals.filtered_noise
    u = make(parameter, 40)
    found = [mse(basis, order, u) for order in (33, 65) for basis in (legt, fout_as_printed)]
    for ours, (mean, std) in zip(found, cells, strict=True):
        # The paper rounds mean and spread to a tenth of their power of ten; both roundings belong to the spread.
        rounding = 0.1 * 10.0 ** np.floor(np.log10(mean))
        assert abs(ours - mean) <= std + rounding, (found, cells)
    if (process, parameter) in CORRECTED:
        right = [mse(fout, order, u) for order in (33, 65)]
        np.testing.assert_allclose(right, CORRECTED[process, parameter], rtol=0.15)
