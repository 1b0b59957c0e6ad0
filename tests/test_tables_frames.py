"""Frames in, frames of the same kind out: forecasts, many series, backtests and pictures of tables with dates."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pytest

import prophecy
from prophecy import evaluation, forecasting
from prophecy._forecast import Failure, Forecast
from prophecy.frames.collect import read
from prophecy.tables.regressors import Regressors

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

RNG = np.random.default_rng(0)
HOURS = pd.date_range("2024-03-20", periods=240, freq="h", tz="Europe/Berlin")
DAY = 10 + np.sin(np.arange(240) * 2 * np.pi / 24) + 0.05 * RNG.standard_normal(240)


ONES = pd.DataFrame({"a": [1.0] * 9})


def frame(library, **columns):
    made = pd.DataFrame(columns)
    return {"pandas": made, "polars": pl.from_pandas(made), "arrow": pa.Table.from_pandas(made)}[library]


def column(made, name):
    return np.asarray(made[name].to_numpy() if hasattr(made[name], "to_numpy") else made[name])


@pytest.mark.parametrize("library", ["pandas", "polars", "arrow"])
def test_a_frame_with_a_time_column_gives_a_frame_of_its_kind_with_future_times(library):
    data = frame(library, when=HOURS, load=DAY)
    ahead = prophecy.forecast(data, 30, time="when")
    made = ahead.to_frame(quantiles=(0.1, 0.9))
    assert type(made) is type(data)
    names = made.column_names if library == "arrow" else list(made.columns)
    assert names == ["when", "point", "lower", "upper", "q0.1", "q0.9"]
    expected = pd.date_range(HOURS[-1], periods=31, freq="h")[1:]
    got = pd.DatetimeIndex(made["when"].to_pandas() if library != "pandas" else made["when"])
    assert str(got.tz) == "Europe/Berlin", "the zone of a column comes back with it"
    assert (got == expected).all()
    if library != "arrow":
        assert made["when"].dtype == data["when"].dtype
    plain = forecasting.forecast(DAY, 30, season=(24,))
    assert np.array_equal(column(made, "point"), plain.point)
    assert np.array_equal(column(made, "q0.1"), plain.quantile(0.1))


@pytest.mark.parametrize("library", ["pandas", "polars", "arrow"])
def test_the_only_column_of_text_that_reads_as_dates_is_the_time(library):
    text = [f"{moment:%d.%m.%Y %H:%M}" for moment in HOURS.tz_convert("UTC")]
    data = frame(library, room=["hall"] * 240, when=text, load=DAY)
    made = prophecy.forecast(data, 3).to_frame()
    named = prophecy.forecast(data, 3, time="when").to_frame()
    assert column(made, "when").tolist() == column(named, "when").tolist()
    assert np.array_equal(column(made, "point"), column(named, "point"))
    with pytest.raises(ValueError, match="several columns hold dates: 'when', 'seen'; name one with time="):
        prophecy.forecast(frame(library, when=text, seen=text, load=DAY), 3)


def test_long_frames_keep_the_zone_of_their_column():
    data = frame("pandas", room=["hall", "roof"] * 120, when=HOURS.repeat(2)[:240], load=DAY)
    made = prophecy.forecast_many(data, 2, key="room", time="when").to_frame()
    assert made["when"].dtype == data["when"].dtype
    assert made["when"].iloc[0] == data["when"].iloc[-1] + pd.Timedelta("1h")


def test_an_index_of_dates_stays_an_index():
    series = pd.Series(DAY, index=HOURS, name="load")
    ahead = prophecy.forecast(series, 5)
    made = ahead.to_frame()
    assert made.index.tz == HOURS.tz
    assert made.index[0] == HOURS[-1] + pd.Timedelta("1h")
    assert ahead.index.equals(made.index)
    periods = pd.Series(np.arange(30.0), index=pd.period_range("2020-01", periods=30, freq="M"))
    assert list(prophecy.forecast(periods, 2).to_frame().index.astype(str)) == ["2022-07", "2022-08"]
    years = pd.Series(np.sin(np.arange(40)), index=range(1980, 2020))
    assert prophecy.forecast(years, 2).to_frame().index.tolist() == [2020, 2021]


def test_rows_chosen_from_a_frame_keep_its_column_of_dates():
    """Their index has gaps, and is no clock for that."""
    table = pd.DataFrame({"day": pd.date_range("2024-01-01", periods=60), "v": DAY[:60]})
    assert prophecy.forecast(table[table.index >= 10], 2).index.tolist() == [*pd.date_range("2024-03-01", periods=2)]


@pytest.mark.parametrize("library", ["pandas", "polars", "arrow"])
def test_sorting_gaps_and_averages_are_said(library):
    rows = np.delete(RNG.permutation(240), [10, 20, 30])
    rows = np.array([k for k in rows if k not in (50, 60, 70)] + [0, 239])  # the ends are there
    rows = np.unique(rows)[RNG.permutation(len(np.unique(rows)))]
    data = frame(library, when=HOURS[rows], load=DAY[rows])
    ahead = prophecy.forecast(data, 4, time="when")
    missing = 240 - len(rows)
    assert f"{len(rows)} rows, every hour, sorted, {missing} missing times filled as gaps." in ahead.notes
    holes = np.full(240, np.nan)
    holes[rows] = DAY[rows]
    assert np.array_equal(ahead.point, forecasting.forecast(holes, 4, season=(24,)).point)
    twice = frame(library, when=HOURS.append(HOURS[:2]), load=np.append(DAY, [99.0, 98.0]))
    with pytest.raises(ValueError, match=r"2024-03-20 comes twice, with .* and 99 .*1 further time"):
        prophecy.forecast(twice, 4, time="when")
    assert any(
        "2 times with several rows averaged" in note
        for note in prophecy.forecast(twice, 4, time="when", duplicates="mean").notes
    )


def test_a_date_column_is_found_by_its_type_and_text_dates_are_read():
    data = pl.DataFrame(
        {"day": pd.date_range("2024-01-01", periods=40).to_numpy(), "sold": np.arange(40.0), "note": ["x"] * 40}
    )
    ahead = prophecy.forecast(data, 2)
    assert ahead.to_frame()["day"].to_list()[0] == pd.Timestamp("2024-02-10")
    assert "Column 'note' left out: no numbers." in ahead.notes
    texts = pd.DataFrame({"day": pd.date_range("2024-01-01", periods=40).strftime("%d.%m.%Y"), "sold": np.arange(40.0)})
    assert prophecy.forecast(texts, 2, time="day").to_frame()["day"].tolist() == ["2024-02-10", "2024-02-11"]
    dates = pl.DataFrame(
        {"day": pl.date_range(pl.date(2024, 1, 31), pl.date(2026, 1, 31), "1mo", eager=True), "sold": np.arange(25.0)}
    )
    assert prophecy.forecast(dates, 1).to_frame()["day"].dtype == pl.Date


@pytest.mark.parametrize("library", ["pandas", "polars", "arrow"])
def test_long_frames_are_forecast_by_key_in_any_row_order(library):
    days = pd.date_range("2024-01-01", periods=60)
    a, b = np.sin(np.arange(60) / 3), np.cos(np.arange(60) / 4) + 5
    rows = RNG.permutation(120)
    data = (
        pd.DataFrame({"shop": ["a"] * 60 + ["b"] * 60, "day": [*days, *days], "sold": [*a, *b]})
        .iloc[rows]
        .reset_index(drop=True)
    )
    data = {"pandas": data, "polars": pl.from_pandas(data), "arrow": pa.Table.from_pandas(data)}[library]
    many = prophecy.forecast_many(data, 3, key="shop", time="day")
    assert set(many) == {"a", "b"}
    assert np.array_equal(many["b"].point, forecasting.forecast(b, 3, season=(7,)).point)
    made = many.to_frame()
    assert type(made) is type(data)
    assert len(made) == 6
    assert sorted(set(column(made, "shop").tolist())) == ["a", "b"]
    again = prophecy.forecast_many(data, 3, key="shop", time="day", jobs=2)
    assert np.array_equal(again["a"].point, many["a"].point)
    with pytest.raises(KeyError, match="no series 'c'"):
        many["c"]


def test_every_column_of_a_wide_frame_is_a_series_for_forecast_many():
    data = pd.DataFrame({"a": DAY, "b": np.full(240, np.nan), "c": DAY[::-1]}, index=HOURS)
    many = prophecy.forecast_many(data, 3, jobs=1)
    assert isinstance(many["b"], Failure)
    assert list(many.failures) == ["b"]
    assert np.array_equal(many["a"].point, prophecy.forecast(data[["a"]], 3).point)
    made = many.to_frame()
    assert made.columns.tolist() == ["series", "time", "point", "lower", "upper"]
    assert made["series"].tolist() == ["a"] * 3 + ["c"] * 3
    listed = prophecy.forecast_many([DAY, "no series", pd.Series(DAY, index=HOURS)], 3, jobs=1)
    assert isinstance(listed[1], Failure)
    assert listed[2].index[0] == HOURS[-1] + pd.Timedelta("1h")


def test_a_table_of_many_series_is_refused_by_forecast_and_split_by_forecast_many():
    days = pd.date_range("2024-01-01", periods=30)
    parts = {"a": np.arange(30.0), "b": 100 - np.arange(30.0)}
    long = pd.concat([pd.DataFrame({"shop": shop, "day": days, "sold": sold}) for shop, sold in parts.items()])
    stacked = long.set_index(["shop", "day"])
    for data in (stacked, stacked["sold"], stacked.swaplevel()):
        with pytest.raises(ValueError, match=r"2 series, by shop; .* forecast_many"):
            prophecy.forecast(data, 3)
        made = prophecy.forecast_many(data, 3, jobs=1)
        assert list(made) == ["a", "b"]
        assert made["b"].index[0] == pd.Timestamp("2024-01-31")
    keyed = prophecy.forecast_many(long, 3, key="shop", jobs=1)
    np.testing.assert_array_equal(made["b"].point, keyed["b"].point)
    assert len(prophecy.backtest(stacked, 3, folds=1, jobs=1).scores) == 8


def test_answers_have_short_words_and_small_pictures():
    ahead = prophecy.forecast(pd.Series(DAY, index=HOURS, name="<load>"), 12)
    many = prophecy.forecast_many({"a": DAY, "b": DAY[::-1]}["a"].reshape(1, -1), 3, jobs=1)
    model = prophecy.Prophecy()
    track = model.follow(DAY)
    fleet = prophecy.Fleet()
    fleet.observe(["<k>"] * len(DAY), DAY)
    for one in (ahead, many, track, fleet):
        assert len(repr(one)) < 200
        page = one._repr_html_()
        assert page.count("<svg") == 1
        assert "<load>" not in page
        assert "<k>" not in page
    assert "inside the interval" in track.explain()
    assert many.explain().startswith("0: ")
    fleet.close()
    assert fleet._repr_html_()


@pytest.mark.parametrize("name", ["x.png", "x.svg", "x.html"])
def test_a_plot_with_a_path_is_saved(tmp_path, name):
    ahead = prophecy.forecast(pd.Series(DAY, index=HOURS), 12)
    assert ahead.plot(tmp_path / name) is None
    assert (tmp_path / name).stat().st_size > 5_000
    prophecy.Prophecy().follow(DAY).plot(str(tmp_path / name))
    with pytest.raises(ValueError, match=r"must end in .png, .svg, .html, got 'x.pdf'"):
        ahead.plot(tmp_path / "x.pdf")
    with pytest.warns(DeprecationWarning, match="interactive=True"):
        ahead.plot(True)


def test_old_orders_of_arguments_warn_and_work():
    with pytest.warns(DeprecationWarning, match=r"observe\(keys, values, time=times\)"):
        old = prophecy.Fleet().observe(["a", "a"], [0.0, 1.0], [5.0, 6.0])
    assert old.value.tolist() == [5.0, 6.0]
    assert old.time.tolist() == [0.0, 1.0]


def test_several_variables_make_a_long_frame():
    data = pd.DataFrame(
        {"x": np.sin(np.arange(100) / 5), "y": np.cos(np.arange(100) / 5)}, index=pd.date_range("2024", periods=100)
    )
    ahead = prophecy.forecast(data, 2)
    made = ahead.to_frame()
    assert made["variable"].tolist() == ["x", "y", "x", "y"]
    assert np.array_equal(made["point"].to_numpy().reshape(2, 2), ahead.point)
    assert ahead.names == ("x", "y")


def test_arrays_and_lists_work_as_before_and_can_carry_times():
    wave = np.sin(np.arange(100) / 5)
    assert np.array_equal(prophecy.forecast(wave, 3).point, forecasting.forecast(wave, 3).point)
    assert np.array_equal(prophecy.forecast(wave.tolist(), 3).point, prophecy.forecast(wave, 3).point)
    assert prophecy.forecast(wave, 3).index is None
    times = np.arange("2024-01-01", "2024-04-10", dtype="M8[D]")
    ahead = prophecy.forecast(wave, 2, time=times)
    assert ahead.index.astype("M8[D]").tolist() == [
        np.datetime64("2024-04-10").item(),
        np.datetime64("2024-04-11").item(),
    ]
    assert prophecy.forecast([1.0, None, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0], 1).point.shape == (1,)
    assert prophecy.forecast([5.0, 5.0, 5.0], 2).point.tolist() == [5.0, 5.0]


@pytest.mark.parametrize(
    ("call", "kind", "says"),
    [
        (lambda: prophecy.forecast(pd.DataFrame({"a": ["x"] * 9}), 2), ValueError, "no column of numbers"),
        (lambda: prophecy.forecast(ONES, 2, time="t"), ValueError, "no time column 't'; it has a"),
        (lambda: prophecy.forecast_many(ONES, 2, key="t"), ValueError, "no key column 't'"),
        (lambda: prophecy.backtest(ONES, 2, season="week"), ValueError, "season must be a number of samples.*'week'"),
        (lambda: prophecy.backtest(ONES, 2, season=0.5), ValueError, "season must be a number of samples from 1 on"),
        (lambda: prophecy.forecast_many(np.ones(9), 2, key="t"), TypeError, "data must be a frame"),
        (lambda: prophecy.forecast(np.ones(9), 2, time="t"), TypeError, "names a column"),
        (lambda: prophecy.forecast(np.ones(9), 2, time=[1.0, 2.0]), ValueError, "2 moments for 9 rows"),
        (lambda: prophecy.forecast(pd.DataFrame({"a": []}), 2), ValueError, "no rows"),
        (lambda: prophecy.forecast("file.csv", 2), FileNotFoundError, "file.csv"),
        (lambda: prophecy.forecast(None, 2), TypeError, "got NoneType"),
        (lambda: prophecy.forecast([], 2), ValueError, "data is empty"),
        (lambda: prophecy.forecast([5.0], 2), ValueError, "1 value cannot be forecast from; give at least 2"),
        (lambda: prophecy.forecast(ONES, 2, duplicates="sum"), ValueError, "'refuse', 'mean'"),
        (lambda: prophecy.forecast(ONES, 2, columns="b"), ValueError, "no column 'b'; it has a"),
    ],
)  # fmt: skip
def test_mistakes_are_named_with_the_way_out(call, kind, says):
    with pytest.raises(kind, match=says):
        call()


def test_neither_pandas_nor_polars_nor_plotly_is_imported_for_an_array():
    code = (
        "import sys, numpy as np, prophecy; prophecy.forecast(np.sin(np.arange(50) / 3), 3);"
        "print(*[m for m in ('pandas', 'polars', 'plotly', 'matplotlib', 'pyarrow', 'narwhals') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == ""
    code = (
        "import sys, polars as pl, prophecy; prophecy.forecast(pl.Series([1.0] * 30), 3).to_frame();"
        "print('pandas' in sys.modules)"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
        == "False"
    )


# --- backtests ------------------------------------------------------------------------------------------------------


def test_a_backtest_scores_what_the_same_forecasts_would_have_scored():
    series = pd.Series(DAY, index=HOURS, name="load")
    result = prophecy.backtest(series, 24, folds=3)
    truth = DAY[-24:]
    ours = forecasting.forecast(DAY[:-24], 24, season=(24, 168) if len(DAY) - 24 >= 336 else (24,))
    last = next(score for score in result.scores if score.model == "prophecy" and score.fold == 2)
    assert np.isclose(last.mae, np.abs(truth - ours.point).mean())
    assert np.isclose(last.rmse, np.sqrt(np.mean((truth - ours.point) ** 2)))
    assert np.isclose(last.mase, np.abs(truth - ours.point).mean() / np.abs(DAY[24:-24] - DAY[:-48]).mean())
    assert np.isclose(last.coverage, np.mean((ours.lower <= truth) & (truth <= ours.upper)))
    naive = next(score for score in result.scores if score.model == "seasonal naive" and score.fold == 2)
    assert np.isclose(naive.mae, np.abs(truth - DAY[-48:-24]).mean())
    assert last.cutoff == "2024-03-28 23:00"
    frame = result.to_frame()
    assert len(frame) == 4 * 3
    assert result.models == ["prophecy", "seasonal naive", "drift", "mean"]
    overall = result.overall()["prophecy"]
    mine = frame[frame["model"] == "prophecy"]
    assert np.isclose(overall["mae"], mine["mae"].mean())
    assert np.isclose(overall["rmse"], np.sqrt((mine["rmse"] ** 2).mean()))
    lines = result.table().splitlines()
    assert repr(result) == result.table()
    assert len(lines) == 5
    assert lines[1].startswith("prophecy")


def test_folds_see_nothing_of_what_they_forecast():
    values = np.sin(np.arange(200) / 7)
    result = prophecy.backtest(
        values, 10, folds=4, step=5, against=lambda context, horizon: np.full(horizon, len(context))
    )
    assert [score.cutoff for score in result.scores if score.model == "<lambda>"] == ["175", "180", "185", "190"]
    changed = values.copy()
    changed[190:] = 100.0
    first = [s.mae for s in result.scores if s.model == "prophecy"][:2]
    again = prophecy.backtest(changed, 10, folds=4, step=5, against=())
    assert [s.mae for s in again.scores][:2] == first


def test_any_model_can_stand_beside_ours():
    from sktime.forecasting.naive import NaiveForecaster

    class Stats:
        alias = "ten"

        def fit(self, y):
            return self

        def forecast(self, y, h, level):
            assert level == [90]
            return {"mean": np.full(h, 10.0), "lo-90": np.full(h, 9.0), "hi-90": np.full(h, 11.0)}

    def broken(context, horizon):
        raise RuntimeError("out of order")

    against = {
        "week": NaiveForecaster(sp=24),
        "stats": Stats(),
        "broken": broken,
        "three": lambda c, h: (c[-1] + 0 * np.arange(h),) * 3,
    }
    result = prophecy.backtest(pd.Series(DAY, index=HOURS), 24, folds=2, against=against)
    overall = result.overall()
    naive = prophecy.backtest(pd.Series(DAY, index=HOURS), 24, folds=2).overall()["seasonal naive"]
    assert np.isclose(overall["week"]["mae"], naive["mae"])
    assert np.isclose(overall["stats"]["width"], 2.0)
    assert np.isnan(overall["broken"]["mae"])
    assert "out of order" in next(s.error for s in result.scores if s.model == "broken")
    assert np.isnan(overall["three"]["coverage"])
    assert np.isclose(overall["three"]["crps"], overall["three"]["mae"])  # a certain value's CRPS is its absolute error
    with pytest.raises(ValueError, match="'seasonal naive', 'drift', 'mean'"):
        prophecy.backtest(DAY, 3, against="magic")
    with pytest.raises(ValueError, match=r"20 rows are too few for 9 folds of 4 rows; use folds=4"):
        prophecy.backtest(DAY[:20], 4, folds=9)


def test_backtests_of_long_frames_count_every_series():
    data = pl.DataFrame({"who": ["a"] * 60 + ["b"] * 60, "v": np.concatenate([DAY[:60], 2 * DAY[60:120]])})
    result = prophecy.backtest(data, 5, folds=2, key="who")
    made = result.to_frame()
    assert isinstance(made, pl.DataFrame)
    assert made.height == 4 * 2 * 2
    assert set(made["series"]) == {"a", "b"}


def test_scores_agree_with_their_definitions():
    rng = np.random.default_rng(3)
    truth = rng.standard_normal(2000)
    q = np.arange(0.005, 1, 0.01)
    from scipy.special import ndtri

    quantiles = np.repeat(ndtri(q)[:, None], 2000, axis=1)
    # The CRPS of a standard normal forecast is known in closed form.
    from scipy.stats import norm

    exact = truth * (2 * norm.cdf(truth) - 1) + 2 * norm.pdf(truth) - 1 / np.sqrt(np.pi)
    assert np.allclose(evaluation.crps(truth, quantiles, q), exact, atol=5e-3)
    assert evaluation.mase([1.0, np.nan], [2.0, 0.0], [0.0, 1.0, 3.0]) == 1 / 1.5
    assert np.isnan(evaluation.naive_scale([1.0]))


# --- pictures -------------------------------------------------------------------------------------------------------


def test_pictures_show_past_mean_and_fan_with_dates():
    from matplotlib.dates import num2date

    series = pd.Series(DAY, index=HOURS, name="load $/h and $x^2$")
    ahead = prophecy.forecast(series, 12)
    for dark in (False, True):
        figure = ahead.plot(dark=dark)
        figure.canvas.draw()
        (axis,) = figure.axes
        observed, mean = axis.lines[:2]
        assert np.array_equal(mean.get_ydata()[1:], ahead.point)
        assert mean.get_ydata()[0] == observed.get_ydata()[-1]
        assert num2date(axis.get_xlim()[1]).date().isoformat() == "2024-03-30"
        assert len(axis.collections) == 2
        assert axis.get_title(loc="left") == r"load \$/h and \$x^2\$"
    plotly = ahead.plot(interactive=True)
    assert len(plotly.data) == 6
    assert plotly.layout.annotations[0].text == "load &#36;/h and &#36;x^2&#36;"
    result = prophecy.backtest(series, 12, folds=2)
    assert len(result.plot().axes) == 2
    drawn = {trace.name: list(trace.y) for trace in result.plot(interactive=True).data if trace.mode == "markers"}
    assert drawn == {model: [score.mae for score in result.first(model)] for model in result.models}
    many = prophecy.forecast_many(pd.DataFrame({"a": DAY, "b": DAY}, index=HOURS), 3, jobs=1)
    assert len(many.plot().axes) == 2
    assert isinstance(many["a"], Forecast)


def test_every_kind_of_event_has_a_shape():
    from prophecy.anomalies import Kind
    from prophecy.tables.pictures import SHAPES

    assert set(SHAPES) == {kind.value for kind in Kind}


def test_names_are_data_in_pages(tmp_path):
    from prophecy.frames.names import for_html, printable
    from prophecy.tables.forecasting import source_of
    from prophecy.tables.pictures import Picture, of_forecast, save

    name = "</script><script>alert(1)</script><b>[/red] $x$ \x1b[31m"
    ahead = prophecy.forecast(pd.Series(DAY, index=HOURS, name=name), 3)
    save(Picture(name, of_forecast(ahead, source_of(ahead)), [name], [[name]]), tmp_path / "p.html")
    page = (tmp_path / "p.html").read_text()
    assert "<script>alert" not in page
    assert "\x1b" not in page
    assert for_html(name) in page
    assert page.count("<script") == page.count("</script>") == 2
    assert "http://" not in page.split("<script>")[0]
    assert printable("a\tb\x1b[0m\u202e") == "a\\tb\\x1b[0m\\u202e"


# --- tracks ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("library", ["pandas", "polars", "arrow"])
def test_following_a_frame_is_following_its_rows_in_order_with_gaps(library):
    rows = np.delete(RNG.permutation(240), [3, 4])
    rows = np.array([0, 239, *[k for k in rows if k not in (0, 239)]])
    track = prophecy.Prophecy().follow(frame(library, when=HOURS[rows], load=DAY[rows]), time="when")
    values = np.full(240, np.nan)
    values[rows] = DAY[rows]
    plain = prophecy.Prophecy().follow(values)
    assert np.array_equal(track.point, plain.point, equal_nan=True)
    made = track.to_frame()
    assert type(made) is type(frame(library, v=[1.0]))
    assert np.array_equal(column(made, "score"), plain.score, equal_nan=True)
    assert np.array_equal(column(made, "value"), values, equal_nan=True)


def test_tracks_keep_the_index_and_draw_themselves():
    data = pd.DataFrame({"a": DAY, "b": 2 * DAY}, index=HOURS)
    track = prophecy.Prophecy(2).follow(data)
    assert track.index.equals(HOURS.as_unit(track.index.unit))
    made = track.to_frame()
    assert made["channel"].tolist()[:3] == ["a", "b", "a"]
    assert made.index[2] == HOURS[1]
    figure = track.plot()
    assert len(figure.axes) == 2
    assert np.array_equal(figure.axes[0].lines[0].get_ydata(), track.point[:, 0], equal_nan=True)
    assert len(track.plot(interactive=True).data) == 8
    assert len(prophecy.Prophecy().follow(DAY).plot().axes) == 1
    uneven = pd.Series(
        np.sin(np.sort(RNG.uniform(0, 50, 300))), index=pd.to_datetime(np.sort(RNG.uniform(0, 50, 300)), unit="s")
    )
    assert np.isfinite(prophecy.Prophecy().follow(uneven).point[5:]).all()


def test_failures_in_a_list_have_their_own_places():
    made = prophecy.forecast_many([DAY, np.full(5, np.nan), ["a", "b"], [], DAY[:9], [np.nan] * 30], 3, jobs=1)
    assert list(made) == [0, 1, 2, 3, 4, 5]
    assert [k for k, one in made.items() if isinstance(one, Failure)] == [1, 2, 3, 5]
    assert all(one.index == k for k, one in made.failures.items())


def test_dates_in_a_text_index_and_columns_in_a_dict_are_tables_too():
    days = pd.date_range("2024-01-01", periods=40)
    texts = pd.Series(np.arange(40.0), index=days.strftime("%Y-%m-%d"))
    assert prophecy.forecast(texts, 1).to_frame().index[0] == pd.Timestamp("2024-02-10")
    table = {"day": days.to_numpy(), "sold": np.arange(40.0)}
    assert prophecy.forecast(table, 1, time="day").names == ("sold",)


@pytest.mark.parametrize("shape", [(1, 400), (3, 100), (7, 65), (8, 65)])
def test_a_transposed_table_is_refused_however_few_rows_it_has(shape):
    values = RNG.standard_normal(shape)
    with pytest.raises(ValueError, match=rf"got {shape[1]}; is it \(variables, time\)\?"):
        prophecy.forecast(values, 5)
    with pytest.raises(ValueError, match=rf"got {shape[1]}; is it \(variables, time\)\?"):
        prophecy.forecast(pd.DataFrame(values).rename(columns=str), 5)


def test_many_short_series_are_forecast_however_many_there_are():
    values = RNG.standard_normal((3, 100))
    alone = prophecy.forecast_many(values.T, 2, jobs=1)
    wide = prophecy.forecast_many(pd.DataFrame(values).rename(columns=str), 2, jobs=1)
    long = pd.DataFrame({"key": np.repeat(np.arange(100), 3), "value": values.T.ravel()})
    keyed = prophecy.forecast_many(long, 2, key="key")
    assert len(alone) == len(wide) == len(keyed) == 100
    for one, other, third in zip(alone.values(), wide.values(), keyed.values(), strict=True):
        np.testing.assert_array_equal(one.point, np.ravel(other.point))
        np.testing.assert_array_equal(one.point, np.ravel(third.point))
    assert prophecy.forecast(values[:, :64], 2).point.shape == (2, 64)


def test_times_that_are_objects_of_python_are_dates():
    """Cells of date, datetime and datetime64, with offsets of their own or missing: a column that has no type."""
    days = [date(2024, 1, 1) + timedelta(days=k) for k in range(30)]
    values = np.arange(30.0)
    wanted = np.datetime64("2024-01-31") + np.arange(3)
    for cells in (days, [datetime(day.year, day.month, day.day) for day in days], [np.datetime64(day) for day in days]):
        index = prophecy.forecast(pd.DataFrame({"t": pd.Series(cells, dtype=object), "v": values}), 3).index
        np.testing.assert_array_equal(np.asarray(index, dtype="datetime64[D]"), wanted)
    east = timezone(timedelta(hours=2))
    aware = [datetime(2024, 1, 1, 12, tzinfo=east) + timedelta(hours=k) for k in range(30)]
    mixed = [time if k % 2 else time.astimezone(UTC) for k, time in enumerate(aware)]
    index = prophecy.forecast(pd.DataFrame({"t": pd.Series(mixed, dtype=object), "v": values}), 3).index
    assert [time.timestamp() for time in index] == [aware[-1].timestamp() + 3600 * k for k in (1, 2, 3)]
    holes = pd.Series([*days[:-1], None], dtype=object)
    typed = prophecy.forecast(pd.DataFrame({"t": pd.to_datetime(holes), "v": values}), 3)
    untyped = prophecy.forecast(pd.DataFrame({"t": holes, "v": values}), 3)
    assert [*untyped.index] == [*typed.index]
    assert untyped.notes == typed.notes


@pytest.mark.parametrize("as_frame", [False, True])
def test_regressors_without_times_belong_to_the_rows_in_order(as_frame):
    price = RNG.choice([1.0, 2.0], size=130)
    sold = 50 - 10 * price + 0.1 * RNG.standard_normal(130)
    known = pd.DataFrame({"price": price}) if as_frame else price
    ahead = prophecy.forecast(sold[:120], 10, known=known)
    np.testing.assert_allclose(ahead.point, sold[120:], atol=1.0)
    assert ("price" if as_frame else "regressor 1") in ahead.explain()
    with pytest.raises(
        ValueError, match="known must have a row for each of the 120 rows and the 10 to come, got shape"
    ):
        prophecy.forecast(sold[:120], 10, known=price[:120])


def test_a_key_with_one_dated_row_is_a_failure_of_its_own():
    table = pd.DataFrame(
        {"k": ["a"] * 20 + ["b"], "t": [*pd.date_range("2024-01-01", periods=20), pd.Timestamp("2024-01-20")]}
    )
    made = prophecy.forecast_many(table.assign(v=np.arange(21.0)), 3, key="k")
    assert str(made["b"].error) == "1 value cannot be forecast from; give at least 2"
    assert made.to_frame().t.tolist() == [*pd.date_range("2024-01-21", periods=3)]
    known = pd.DataFrame({"t": pd.date_range("2024-01-01", periods=30), "price": np.arange(30.0)})
    beside = prophecy.forecast_many(table.assign(v=np.arange(21.0)), 3, key="k", known=known)
    assert list(beside.failures) == ["b"]


def test_a_dict_of_series_has_their_dates_and_lengths():
    days = pd.Series(np.sin(np.arange(40.0)), index=pd.date_range("2024-01-01", periods=40))
    made = prophecy.forecast_many({"north": days, "south": days[:30], "none": []}, 3, jobs=1)
    assert list(made) == ["north", "south", "none"]
    assert made["south"].index[0] == pd.Timestamp("2024-01-31")
    assert isinstance(made["none"], prophecy.Failure)
    columns = {"day": days.index, "a": days.to_numpy(), "b": days.to_numpy()}
    assert prophecy.forecast_many(columns, 3, jobs=1)["a"].index[0] == pd.Timestamp("2024-02-10")
    with pytest.raises(ValueError, match=r"dict of 2 series.*forecast_many"):
        prophecy.forecast({"a": days, "b": days[:9]}, 3)


@pytest.mark.parametrize(
    ("data", "call", "says"),
    [
        ([1.0, 2.0, 3.0], prophecy.forecast_many, r"one series; use forecast\(data, horizon\)"),
        (np.arange(9.0), prophecy.forecast_many, r"one series; use forecast\(data, horizon\)"),
        ({1.0, 2.0, 3.0}, prophecy.forecast, "an array, a list or a frame, got set"),
        (["1.5", "2"], prophecy.forecast, r"text, such as 1.5; turn it into numbers"),
    ],
)
def test_what_is_no_series_is_refused_with_what_would_be(data, call, says):
    with pytest.raises(TypeError, match=says):
        call(data, 2)


@pytest.mark.parametrize(("step", "unit"), [(0.1, 0.1), ("15min", 15.0), ("h", 1.0), ("2D", 2.0), (None, 1.0)])
def test_equations_count_time_as_the_rows_do(step: float | str | None, unit: float) -> None:
    rows = np.arange(300)
    cooling = 20 + 60 * np.exp(-0.02 * rows) + 0.01 * np.random.default_rng(0).standard_normal(300)
    time = step and (step * rows if isinstance(step, float) else pd.date_range("2024", periods=300, freq=step))
    law = prophecy.forecast(cooling, 1, time=time).equations()
    assert law(np.array([50.0])) == pytest.approx(-0.02 * 30 / unit, rel=0.01)


@pytest.mark.parametrize(("data", "said"), [([1, 2, "x"], "'x'"), (["1", "2"], "np.array"), (["5", "a,b"], "'a,b'")])
def test_text_among_numbers_is_named(data: list[object], said: str) -> None:
    with pytest.raises(TypeError, match=said):
        prophecy.forecast(data, 3)


@pytest.mark.parametrize("name", [None, "day"])
def test_an_index_keeps_its_name_or_has_none(name: str | None) -> None:
    days = pd.date_range("2024", periods=30, freq="D", name=name)
    ahead = prophecy.forecast(pd.Series(np.arange(30.0), days), 3)
    assert ahead.index.name == ahead.to_frame().index.name == name


@pytest.mark.parametrize("names", [[0, 1], [("v", "a"), ("v", "b")]])
def test_names_of_columns_that_are_no_text_are_written_as_text(names):
    table = pd.DataFrame(RNG.standard_normal((30, 2)), columns=names)
    made = prophecy.forecast_many(table, 2)
    assert [*made] == (["0", "1"] if names == [0, 1] else ["v/a", "v/b"])


def test_a_numbered_index_of_regressors_counts_rows_beside_dates():
    dated = pd.Series(np.arange(30.0), index=pd.date_range("2024-01-01", periods=30))
    known = pd.DataFrame({"open": [k % 7 > 0 for k in range(35)]})
    assert Regressors(known)(read(dated), 5).values.shape == (35, 1)
