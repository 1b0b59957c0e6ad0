"""scikit-learn's own suite but for the two checks no temporal transformer can pass, and no look into the future."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.linear_model import Ridge
from sklearn.model_selection import TimeSeriesSplit, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

from prophecy import Prophecy
from prophecy.adapters.sklearn import EXPECTED_FAILED_CHECKS, CausalFeatures


@parametrize_with_checks([CausalFeatures()], expected_failed_checks=lambda estimator: EXPECTED_FAILED_CHECKS)
def test_scikit_learn_finds_nothing_wrong(estimator, check):
    check(estimator)


def test_the_two_declared_failures_do_fail():
    failing = set()
    for estimator, check in estimator_checks_generator(CausalFeatures()):
        if check.func.__name__ in EXPECTED_FAILED_CHECKS:
            with pytest.raises(AssertionError):
                check(estimator)
            failing.add(check.func.__name__)
    assert failing == set(EXPECTED_FAILED_CHECKS)
    assert len(EXPECTED_FAILED_CHECKS) == 2


def walk(rows, columns=2):
    return np.random.default_rng(0).standard_normal((rows, columns)).cumsum(axis=0)


def test_rows_below_change_nothing_above():
    X = walk(120)
    changed = X.copy()
    changed[80:] *= -3
    features = CausalFeatures().fit(X)
    assert np.array_equal(features.transform(X)[:80], features.transform(changed)[:80])
    assert np.allclose(features.transform(X[:80]), features.transform(X)[:80], rtol=1e-12)


def test_features_are_prophecys():
    X = walk(60)
    made = CausalFeatures(dt=0.5).fit_transform(X)
    model = Prophecy(2, dt=0.5)
    for k, row in enumerate(X):
        model.observe(row)
        assert np.array_equal(made[k], np.concatenate([row, model.predict().point, model.derivative()]))


def test_names_shapes_and_gaps():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(walk(50), columns=["a", "b"])
    frame.iloc[20, 0] = np.nan
    features = CausalFeatures().fit(frame)
    assert features.get_feature_names_out().tolist() == ["a", "b", "a_next", "b_next", "a_derivative", "b_derivative"]
    assert np.isfinite(features.transform(frame)[:, 2:]).all()
    short = CausalFeatures(keep=False).set_output(transform="pandas").fit_transform(frame)
    assert short.columns.tolist() == ["a_next", "b_next", "a_derivative", "b_derivative"]


def test_a_pipeline_with_time_series_splits_gains_from_the_features():
    t = np.arange(400) / 10
    X = np.sin(t)[:, None] + 0.001 * np.random.default_rng(0).standard_normal((400, 1))
    target = np.cos(t)
    splits = TimeSeriesSplit(3)
    plain = cross_val_score(Ridge(1e-6), X, target, cv=splits).mean()
    ours = cross_val_score(make_pipeline(CausalFeatures(dt=0.1), Ridge(1e-6)), X, target, cv=splits).mean()
    assert ours > 0.95 > plain
