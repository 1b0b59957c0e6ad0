"""river's own checks, its evaluation, and its anomaly detection around the forecaster."""

from __future__ import annotations

import math

import numpy as np
import pytest

pytest.importorskip("river")

from river import anomaly, checks, evaluate, metrics, time_series

from prophecy import Prophecy
from prophecy.adapters.river import ProphecyForecaster


@pytest.mark.parametrize("check", list(checks.yield_checks(ProphecyForecaster())), ids=lambda check: check.__name__)
def test_river_finds_nothing_wrong(check):
    check(ProphecyForecaster())


def test_nothing_of_rivers_suite_is_skipped():
    assert ProphecyForecaster()._unit_test_skips() == set()
    checks.check_estimator(ProphecyForecaster())


def test_forecasts_are_prophecys():
    river, ours = ProphecyForecaster(context=100), Prophecy(context=100)
    for k in range(300):
        value = math.sin(k / 7) + 0.1 * math.cos(k * k)
        river.learn_one(value)
        ours.observe(value)
    assert river.forecast(1) == [ours.predict().point]
    assert river.forecast(5) == np.asarray(ours.forecast(5).point).tolist()


@pytest.mark.parametrize("seen", range(10))
def test_forecasts_have_their_length_however_little_was_seen(seen):
    model = ProphecyForecaster()
    for k in range(seen):
        model.learn_one(float(k))
    for horizon in (1, 2, 7):
        ahead = model.forecast(horizon)
        assert len(ahead) == horizon
        assert all(map(math.isfinite, ahead))


def test_gaps_and_exogenous_features_are_taken():
    model = ProphecyForecaster()
    for k in range(200):
        model.learn_one(None if k in (50, 51) else math.sin(k / 7), x={"weekday": k % 7})
    assert abs(model.forecast(1, xs=[{"weekday": 4}])[0] - math.sin(200 / 7)) < 1e-6


def test_evaluation_beats_copying_and_snarimax_on_a_noisy_wave():
    rng = np.random.default_rng(0)
    data = [({}, math.sin(k / 10) + 0.05 * rng.standard_normal()) for k in range(600)]
    scores = {}
    for name, model in (("ours", ProphecyForecaster()), ("snarimax", time_series.SNARIMAX(p=8, d=1, q=0))):
        # Forecasts beside the values they were for; `evaluate` itself pairs them one value late.
        pairs = [(y, ahead[0]) for _, y, ahead, _ in evaluate.iter_evaluate(data, model, metrics.MAE(), horizon=1)]
        scores[name] = float(np.mean([abs(y - ahead) for y, ahead in pairs]))
    values = np.array([y for _, y in data])
    scores["copy"] = float(np.abs(np.diff(values)).mean())
    assert scores["ours"] < scores["copy"]
    assert scores["ours"] < scores["snarimax"]


def test_anomaly_detection_sees_the_one_strange_value():
    rng = np.random.default_rng(1)
    values = np.sin(np.arange(500) / 10) + 0.02 * rng.standard_normal(500)
    values[400] += 1.0
    detector = anomaly.PredictiveAnomalyDetection(ProphecyForecaster(), horizon=1, n_std=6.0, warmup_period=100)
    scores = []
    for value in values:
        scores.append(detector.score_one({}, value))
        detector.learn_one({}, value)
    assert scores[400] == 1.0
    assert np.argmax(scores[150:]) == 250
