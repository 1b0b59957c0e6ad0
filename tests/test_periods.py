"""What season finders share: a series less its line, and its autocorrelation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from prophecy._periods import autocorrelation, less_line

SERIES = arrays(np.float64, st.integers(3, 60), elements=st.floats(-1e3, 1e3, width=32))


@given(SERIES)
@settings(max_examples=100, deadline=None)
def test_a_series_less_its_line_is_what_least_squares_leave(x):
    rows = np.arange(len(x))
    wanted = x - np.polyval(np.polyfit(rows, x, 1), rows)
    np.testing.assert_allclose(less_line(x), wanted, atol=1e-9 * (1 + np.abs(x).max()))


@pytest.mark.parametrize("n", [20, 64, 101])
def test_autocorrelations_are_means_of_products_over_the_variance(n):
    x = less_line(np.cumsum(np.random.default_rng(n).standard_normal(n)))
    lags = n // 2
    wanted = [np.mean(x[lag:] * x[: n - lag]) / np.mean(x * x) for lag in range(lags)]
    np.testing.assert_allclose(autocorrelation(x, lags), wanted, atol=1e-12)


def test_a_series_that_does_not_move_has_no_autocorrelation():
    assert not autocorrelation(np.zeros(50), 20).any()
