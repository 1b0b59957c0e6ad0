"""What users ask of streaming estimators: fit(y[:n]) then update(y[n:]) is fit(y), wherever the cut."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prophecy import Prophecy

LENGTH = 80
SERIES = st.tuples(st.integers(0, 2**31), st.booleans(), st.lists(st.integers(1, LENGTH - 1), min_size=1, max_size=4))


def drawn(seed: int, gaps: bool) -> np.ndarray:
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(LENGTH).cumsum() * 10 ** rng.uniform(-6, 6) + rng.normal() * 100
    if gaps:
        values[rng.random(LENGTH) < 0.1] = np.nan
        values[0] = 1.0
    return values


def pieces(values, cuts):
    return list(np.split(values, sorted(set(cuts))))


@settings(max_examples=40)
@given(SERIES)
def test_prophecy_in_pieces_is_prophecy_at_once(case):
    seed, gaps, cuts = case
    values = drawn(seed, gaps)
    whole, parts, singly = Prophecy(), Prophecy(), Prophecy()
    whole.observe(values)
    for part in pieces(values, cuts):
        parts.observe(part)
    for value in values:
        singly.observe(float(value))
    for other in (parts, singly):
        for level in (0.5, 0.9):
            one, two = whole.predict(level), other.predict(level)
            assert (one.point, one.lower, one.upper) == (two.point, two.lower, two.upper)
        assert whole.score(0.5) == other.score(0.5)
        assert np.array_equal(whole.forecast(3).point, other.forecast(3).point)


@settings(max_examples=15)
@given(SERIES)
def test_the_river_forecaster_learns_the_same_in_any_order_of_calls(case):
    pytest.importorskip("river")
    from prophecy.adapters.river import ProphecyForecaster

    seed, _, cuts = case
    values = drawn(seed, False)
    whole, parts = ProphecyForecaster(), ProphecyForecaster()
    for value in values:
        whole.learn_one(float(value))
    for part in pieces(values, cuts):
        for value in part:
            parts.learn_one(float(value))
        parts.forecast(2)  # looking changes nothing
    reference = Prophecy()
    reference.observe(values)
    assert whole.forecast(1) == parts.forecast(1) == [reference.predict().point]
    assert whole.forecast(3) == parts.forecast(3)


@settings(max_examples=10)
@given(SERIES, st.booleans())
def test_the_sktime_forecaster_updated_is_the_one_fitted_at_once(case, exogenous):
    pytest.importorskip("sktime")
    pd = pytest.importorskip("pandas")
    from prophecy.adapters.sktime import ProphecyForecaster

    seed, _, cuts = case
    series = pd.Series(drawn(seed, False), index=pd.period_range("2000-01", periods=LENGTH, freq="M"))
    index = pd.period_range("2000-01", periods=LENGTH + 3, freq="M")
    X = pd.DataFrame({"x": np.sin(np.arange(LENGTH + 3.0))}, index=index) if exogenous else None

    def of(rows):
        return None if X is None else X.loc[rows]

    first, *rest = (series.iloc[part] for part in pieces(np.arange(LENGTH), cuts))
    whole = ProphecyForecaster().fit(series, X=of(series.index))
    parts = ProphecyForecaster().fit(first, X=of(first.index))
    for part in rest:
        parts.update(part, X=of(part.index))
    ahead = [1, 2, 3]
    pd.testing.assert_series_equal(
        whole.predict(ahead, X=of(index[LENGTH:])), parts.predict(ahead, X=of(index[LENGTH:]))
    )
    pd.testing.assert_frame_equal(
        whole.predict_interval(ahead, X=of(index[LENGTH:])), parts.predict_interval(ahead, X=of(index[LENGTH:]))
    )
