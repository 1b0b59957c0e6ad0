"""Missing values under noise: the law is found from what was seen, as if nothing had been filled in."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prophecy import chaos, forecast
from prophecy.laws.weak_form import roughness

STEP = 1 / (30 * chaos.lorenz.exponent)
LORENZ = "x' = 10 (y - x)", "y' = 28 x - y - x z", "z' = -2.6667 z + x y"


def lorenz(noise: float, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    truth = chaos.lorenz.sample(512, seed=seed)
    draw = np.random.default_rng(seed)
    return truth, truth + noise * truth.std(axis=0) * draw.standard_normal(truth.shape)


def with_holes(values: np.ndarray, share: float, cells: bool) -> np.ndarray:
    draw = np.random.default_rng(5)
    out = values.copy()
    out[draw.random(values.shape if cells else len(values)) < share] = np.nan
    return out


def terms(answer) -> list[set[tuple[int, ...]]]:
    return [{term.powers for term in each} for each in answer.terms]


@pytest.mark.parametrize("cells", [False, True], ids=["rows", "cells"])
@pytest.mark.parametrize("share", [0.1, 0.3, 0.5])
@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_the_law_is_found_with_a_tenth_to_half_of_the_samples_missing(noise, share, cells):
    _, seen = lorenz(noise)
    answer = forecast(with_holes(seen, share, cells), 1).equations(STEP, ("x", "y", "z"))
    assert answer is not None
    exact = forecast(chaos.lorenz.sample(512, seed=1), 1).equations(1.0)
    assert terms(answer) == terms(exact)
    if not noise:
        assert tuple(answer.lines()) == LORENZ


@pytest.mark.parametrize("length", [5, 21])
@pytest.mark.parametrize("variables", [(0,), (0, 1, 2)], ids=["one", "all"])
def test_a_long_gap_in_noisy_samples_does_not_hide_the_law(length, variables):
    """What the gap is filled with is far from the path, for as long as it lasts: that is no sign against the law."""
    _, seen = lorenz(0.01)
    for variable in variables:
        seen[50 : 50 + length, variable] = np.nan
    assert forecast(seen, 1).equations() is not None


@pytest.mark.parametrize(("start", "length"), [(50, 40), (250, 80)])
def test_an_outage_of_more_than_a_lyapunov_time_leaves_the_law_to_the_rows_after_it(start, length):
    truth, seen = lorenz(0.01)
    seen[start : start + length] = np.nan
    answer = forecast(seen, 30)
    assert terms(answer.equations()) == terms(forecast(truth, 1).equations())
    assert np.abs(answer.point - chaos.lorenz.sample(542, seed=1)[512:]).max() < 0.1 * truth.std()


def test_a_row_with_one_value_missing_still_counts_for_the_others():
    """Rows of which a third lacks one value each say more than the complete ones alone."""
    _, seen = lorenz(0.02)
    holes = seen.copy()
    holes[np.arange(512) % 3 == 0, 1] = np.nan
    rows = holes.copy()
    rows[np.isnan(holes).any(axis=1)] = np.nan
    errors = []
    for each in (holes, rows):
        answer = forecast(each, 1).equations(STEP)
        assert answer is not None
        errors.append(float(np.mean([term.error / abs(term.coefficient) for part in answer.terms for term in part])))
    assert errors[0] < 0.95 * errors[1]


@settings(max_examples=25, deadline=None)
@given(size=st.floats(1e-4, 0.3), share=st.floats(0.05, 0.5), seed=st.integers(0, 2**16), rows=st.booleans())
def test_the_noise_of_a_smooth_series_is_that_of_the_values_seen(size, share, seed, rows):
    """Lines across gaps have no high differences: taken for data they would make noise seem far too small."""
    draw = np.random.default_rng(seed)
    smooth = np.sin(np.arange(600)[:, None] / np.array([9.0, 14.0]))
    noisy = smooth + size * draw.standard_normal(smooth.shape)
    seen = np.repeat(draw.random((600, 1)) >= share, 2, axis=1) if rows else draw.random(noisy.shape) >= share
    times = np.arange(600)
    filled = np.column_stack([np.interp(times, times[s], c[s]) for c, s in zip(noisy.T, seen.T, strict=True)])
    found = roughness(filled, seen[:, 0] if rows else seen)
    assert (found > 0.5 * size).all()
    assert (found < 1.6 * size + 1e-3).all()


def test_nothing_missing_or_all_seen_is_the_same_noise():
    _, seen = lorenz(0.03)
    np.testing.assert_array_equal(roughness(seen), roughness(seen, np.ones(seen.shape, dtype=bool)))
    np.testing.assert_array_equal(roughness(seen), roughness(seen, np.ones(len(seen), dtype=bool)))
