"""PySINDy and PyNumDiff: causal derivatives in the shapes those libraries use."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from examples import causal_derivatives as example
from prophecy import Prophecy
from prophecy.adapters.pynumdiff import prophecydiff

DT = 0.01
TIME = np.arange(1000) * DT


def rms(error):
    return float(np.sqrt(np.mean(np.square(error))))


def test_derivatives_use_the_past_alone():
    x = np.sin(TIME) + 0.01 * np.random.default_rng(0).standard_normal(1000)
    changed = x.copy()
    changed[600:] = 7.0
    for whole, cut in zip(prophecydiff(x, DT), prophecydiff(changed, DT), strict=True):
        assert np.array_equal(whole[:600], cut[:600])


def test_the_derivative_is_prophecys_for_one_variable_and_for_many():
    x = np.stack([np.sin(TIME[:200]), np.exp(-TIME[:200])], axis=1)
    smooth, slope = prophecydiff(x, DT)
    assert smooth.shape == slope.shape == x.shape
    model = Prophecy(dt=DT)
    for k, value in enumerate(x[:, 0]):
        model.observe(value)
        assert np.isclose(slope[k, 0], model.derivative(), rtol=1e-9, atol=1e-12)
    single, single_slope = prophecydiff(x[:, 1], DT)
    assert np.allclose(single_slope, slope[:, 1], rtol=1e-9, atol=1e-12)
    assert single.shape == (200,)


def test_smoothing_takes_noise_away():
    rng = np.random.default_rng(1)
    clean = np.sin(TIME)
    smooth, _ = prophecydiff(clean + 0.1 * rng.standard_normal(1000), DT)
    assert rms(smooth[200:] - clean[200:]) < 0.75 * 0.1


def test_gaps_are_bridged_and_mistakes_named():
    x = np.sin(TIME[:300])
    x[[150, 151]] = np.nan
    smooth, slope = prophecydiff(x, DT)
    assert rms(slope[155:] - np.cos(TIME[155:300])) < 1e-3
    assert np.isfinite(smooth).all()
    with pytest.raises(ValueError, match="dt must be positive"):
        prophecydiff(x, 0.0)
    with pytest.raises(ValueError, match="x must hold at least one sample"):
        prophecydiff([], DT)


ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def results():
    pytest.importorskip("pynumdiff")
    return json.loads((ROOT / "benchmarks" / "results" / "causal_derivatives.json").read_text())["rows"]


@pytest.mark.filterwarnings("ignore")
def test_our_errors_on_pynumdiffs_signals_are_those_in_the_results_or_smaller(results):
    now = []
    for noise in example.NOISE:
        for _, x, slope in example.signals(noise):
            places = range(example.START, len(x), 20)
            now.append(rms(prophecydiff(x, example.DT)[1][places] - slope[places]))
    then = np.array([row["ours"] for row in results])
    assert np.exp(np.mean(np.log(now / then))) < 1.05


def test_online_it_beats_every_method_of_pynumdiff_that_has_one_setting_for_all_its_signals(results):
    ours = np.array([row["ours"] for row in results])
    for rival in example.rivals():
        errors = np.array([row[rival] for row in results])
        assert min(np.exp(np.mean(np.log(errors / ours[:, None]), axis=0))) > 1.9, rival


@pytest.mark.filterwarnings("ignore")
def test_what_rivals_are_given_is_the_past_alone():
    pytest.importorskip("pynumdiff")
    _, x, _ = next(example.signals(0.01))
    changed = x.copy()
    changed[300:] = 5.0
    for method in (settings[0] for settings in example.rivals().values()):
        assert np.array_equal(
            example.online(method, x, range(250, 300, 25)), example.online(method, changed, range(250, 300, 25))
        )


def test_pysindy_identifies_a_system_from_causal_derivatives():
    pysindy = pytest.importorskip("pysindy")
    from scipy.integrate import solve_ivp

    t = np.arange(0, 8, 0.01)
    flow = solve_ivp(
        lambda _, x: [-0.1 * x[0] + 2 * x[1], -2 * x[0] - 0.1 * x[1]], (0, 8), [2, 0], t_eval=t, rtol=1e-10, atol=1e-12
    )
    model = pysindy.SINDy(
        feature_library=pysindy.PolynomialLibrary(degree=2),
        optimizer=pysindy.STLSQ(threshold=0.05),
    )
    model.fit(flow.y.T[50:], t=0.01, x_dot=prophecydiff(flow.y.T, 0.01)[1][50:])  # few values precede the first
    coefficients = model.coefficients()
    expected = np.zeros_like(coefficients)
    expected[:, 1:3] = [[-0.1, 2.0], [-2.0, -0.1]]
    assert np.abs(coefficients - expected).max() < 1e-3


def test_a_shape_that_is_refused_is_named_beside_those_that_are_taken():
    with pytest.raises(ValueError, match=r"x must be \(time,\) or \(time, variables\), got shape \(2, 3, 4\)"):
        prophecydiff(np.zeros((2, 3, 4)), DT)
