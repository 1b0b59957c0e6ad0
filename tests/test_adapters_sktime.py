"""sktime's own suite, without exclusions, and an update that costs what is new."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("sktime")

import pandas as pd
from sktime.utils.estimator_checks import parametrize_with_checks

from prophecy import Prophecy
from prophecy.adapters.sktime import ProphecyForecaster


@parametrize_with_checks(ProphecyForecaster)
def test_sktime_finds_nothing_wrong(obj, test_name):
    from sktime.utils.estimator_checks import check_estimator

    check_estimator(obj, tests_to_run=test_name, raise_exceptions=True, verbose=False)


def wave(count):
    return pd.Series(np.sin(np.arange(count) / 5) + 10, index=pd.period_range("2000-01", periods=count, freq="M"))


def test_updating_is_observing_only_what_is_new():
    y = wave(300)
    whole = ProphecyForecaster(context=100).fit(y)
    grown = ProphecyForecaster(context=100).fit(y[:200])
    seen = []
    observe = grown.model_.observe
    grown.model_.observe = lambda values: (seen.append(len(values)), observe(values))
    for start in range(200, 300, 10):
        grown.update(y[start - 5 : start + 10], update_params=False)
    assert seen == [10] * 10
    assert grown.model_.count == 300
    pd.testing.assert_series_equal(grown.predict(fh=[1, 5, 20]), whole.predict(fh=[1, 5, 20]))


def test_predictions_are_prophecys_and_stand_at_the_right_time():
    y = wave(200)
    model = Prophecy()
    model.observe(y.to_numpy())
    forecaster = ProphecyForecaster().fit(y)
    got = forecaster.predict(fh=[1, 12])
    assert [str(period) for period in got.index] == ["2016-09", "2017-08"]
    assert np.allclose(got, np.asarray(model.forecast(12).point)[[0, 11]])
    assert np.allclose(forecaster.predict(fh=[1]), model.predict().point)
    interval = forecaster.predict_interval(fh=[12], coverage=[0.5, 0.9])
    inner, outer = interval.iloc[0].to_numpy().reshape(2, 2)
    assert outer[0] <= inner[0] <= got.iloc[1] <= inner[1] <= outer[1]


def test_gaps_are_bridged():
    y = wave(200)
    y.iloc[[50, 51, 120]] = np.nan
    assert abs(ProphecyForecaster().fit(y).predict(fh=[1]).iloc[0] - (np.sin(200 / 5) + 10)) < 1e-6


def test_x_is_what_is_known_in_advance():
    rng = np.random.default_rng(0)
    index = pd.period_range("2010-01", periods=130, freq="M")
    price = pd.DataFrame({"price": (rng.random(130) < 0.3).astype(float)}, index=index)
    sales = pd.Series(50 + 20 * price["price"].to_numpy() + rng.standard_normal(130), index=index)
    fitted = ProphecyForecaster().fit(sales[:120], X=price[:120])
    ahead = list(range(1, 11))
    with_x = fitted.predict(ahead, X=price[120:])
    without = ProphecyForecaster().fit(sales[:120]).predict(ahead)
    assert np.abs(with_x - sales[120:]).mean() < 0.4 * np.abs(without - sales[120:]).mean()
