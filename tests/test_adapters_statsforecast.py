"""The statsforecast model, in an environment of its own: `make statsforecast` (statsforecast needs pandas < 3)."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("statsforecast")

import pandas as pd
from statsforecast import StatsForecast
from statsforecast.models import Naive, SeasonalNaive
from statsforecast.utils import ConformalIntervals, generate_series

from prophecy import Prophecy
from prophecy.adapters.statsforecast import ProphecyModel
from prophecy.forecasting import forecast

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def panel():
    rng = np.random.default_rng(0)
    rows = []
    for name, period in (("a", 7), ("b", 12), ("c", 30)):
        values = 10 + np.sin(2 * np.pi * np.arange(120) / period) + 0.02 * rng.standard_normal(120)
        rows.append(pd.DataFrame({"unique_id": name, "ds": pd.date_range("2020", periods=120), "y": values}))
    return pd.concat(rows, ignore_index=True)


def test_forecast_is_ours_for_every_series_with_intervals_around_it(panel):
    made = StatsForecast(models=[ProphecyModel()], freq="D").forecast(df=panel, h=14, level=[80, 95])
    assert len(made) == 3 * 14
    for name, values in panel.groupby("unique_id")["y"]:
        rows = made[made["unique_id"] == name]
        assert np.allclose(rows["Prophecy"], forecast(values.to_numpy(), 14).point)
    assert (made["Prophecy-lo-95"] <= made["Prophecy-lo-80"]).all()
    assert (made["Prophecy-lo-80"] <= made["Prophecy"]).all()
    assert (made["Prophecy"] <= made["Prophecy-hi-80"]).all()
    assert (made["Prophecy-hi-80"] <= made["Prophecy-hi-95"]).all()


def test_fit_then_predict_is_forecast(panel):
    sf = StatsForecast(models=[ProphecyModel()], freq="D")
    sf.fit(panel)
    pd.testing.assert_frame_equal(sf.predict(h=5, level=[90]), sf.forecast(df=panel, h=5, level=[90]))


def test_fitted_values_are_one_step_predictions(panel):
    sf = StatsForecast(models=[ProphecyModel()], freq="D")
    sf.forecast(df=panel, h=3, fitted=True, level=[90])
    inside = sf.forecast_fitted_values()
    values = panel[panel["unique_id"] == "a"]["y"].to_numpy()
    rows = inside[inside["unique_id"] == "a"]
    assert np.allclose(rows["Prophecy"][1:], Prophecy().predict_all(values)[:-1])
    covered = (rows["Prophecy-lo-90"] <= rows["y"]) & (rows["y"] <= rows["Prophecy-hi-90"])
    assert covered[20:].mean() > 0.75


def test_cross_validation_beats_the_naive_methods(panel):
    sf = StatsForecast(models=[ProphecyModel(), Naive(), SeasonalNaive(season_length=7)], freq="D")
    made = sf.cross_validation(df=panel, h=7, n_windows=3, step_size=7)
    errors = {name: (made[name] - made["y"]).abs().mean() for name in ("Prophecy", "Naive", "SeasonalNaive")}
    assert len(made) == 3 * 3 * 7
    assert errors["Prophecy"] < 0.5 * min(errors["Naive"], errors["SeasonalNaive"])


def test_conformal_intervals_take_the_place_of_our_own(panel):
    model = ProphecyModel(prediction_intervals=ConformalIntervals(h=7, n_windows=3), alias="conformal")
    sf = StatsForecast(models=[model, ProphecyModel()], freq="D")
    made = sf.forecast(df=panel, h=7, level=[90])
    assert (made["conformal"] == made["Prophecy"]).all()
    assert (made["conformal-lo-90"] <= made["conformal"]).all()
    assert not np.allclose(made["conformal-hi-90"], made["Prophecy-hi-90"])
    sf.fit(panel)
    assert np.allclose(sf.predict(h=7, level=[90])["conformal-hi-90"], made["conformal-hi-90"])


def test_short_and_constant_series_and_many_processes(panel):
    series = generate_series(n_series=6, min_length=8, max_length=20, seed=1)
    one = StatsForecast(models=[ProphecyModel()], freq="D").forecast(df=series, h=4)
    two = StatsForecast(models=[ProphecyModel()], freq="D", n_jobs=2).forecast(df=series, h=4)
    assert np.isfinite(one["Prophecy"]).all()
    pd.testing.assert_frame_equal(one, two)
    flat = pd.DataFrame({"unique_id": "f", "ds": pd.date_range("2020", periods=30), "y": 5.0})
    assert np.allclose(StatsForecast(models=[ProphecyModel()], freq="D").forecast(df=flat, h=4)["Prophecy"], 5.0)


def test_the_tutorials_block_runs_and_prints_what_the_page_says(capsys):
    page = (Path(__file__).parent.parent / "docs" / "tutorial-forecasting.md").read_text()
    (found,) = re.findall(r"```python\n(# needs statsforecast\n.*?)```\n```text\n(.*?)```", page, re.DOTALL)
    exec(found[0], {})
    assert capsys.readouterr().out == found[1]
