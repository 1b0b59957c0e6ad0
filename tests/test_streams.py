"""Prophecy as people use it: streams, arrays, gaps, timestamps, files, odd input."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from prophecy import _files, signals
from prophecy.streams import Prophecy, rows
from prophecy.streams.prophecy import FORMAT


def numbers(forecast):
    return forecast.point, forecast.lower, forecast.upper


@pytest.fixture(scope="module")
def noisy():
    rng = np.random.default_rng(1)
    return signals.white_signal(2.0, 3, samples=900) + np.array([[0.0], [1e-3], [0.1]]) * rng.normal(size=(3, 900))


def test_streaming_and_whole_arrays_give_the_same_numbers(noisy):
    """To the last bit, one series or several."""
    together = Prophecy().predict_all(noisy)
    for u, y in zip(noisy, together, strict=True):
        np.testing.assert_array_equal(Prophecy().predict_all(u), y)
        model, one_by_one = Prophecy(), []
        for value in u:
            model.observe(float(value))
            one_by_one.append(model.predict().point)
        np.testing.assert_array_equal(one_by_one, y)


def test_channels_are_series_and_observing_an_array_is_observing_its_moments(noisy):
    whole, moment = Prophecy(channels=3), Prophecy(channels=3)
    whole.observe(noisy[:, :400].T)
    for values in noisy[:, :400].T:
        moment.observe(values)
    np.testing.assert_array_equal(whole.predict().point, moment.predict().point)
    assert whole.count == moment.count == 400
    assert whole.predict().point.shape == whole.derivative().shape == whole.score(noisy[:, 400]).shape == (3,)


def test_reading_changes_nothing(noisy):
    model, twin = Prophecy(), Prophecy()
    for value in noisy[1, :300]:
        model.observe(value)
        twin.observe(value)
        model.predict(0.5), model.derivative(), model.score(3.0), model.explain(), model.predict_all(noisy[0, :3])
    assert model.predict().point == twin.predict().point
    assert model.predict(0.99).upper == twin.predict(0.99).upper


def test_follow_says_what_predict_and_score_would_have_said(noisy):
    track, model = Prophecy().follow(noisy[1, :200], level=0.8), Prophecy()
    assert np.isnan([track.point[0], track.lower[0], track.upper[0]]).all()
    for k, value in enumerate(noisy[1, :200]):
        forecast = model.predict(0.8)
        assert track.score[k] == model.score(value)
        if k:
            assert (track.point[k], track.lower[k], track.upper[k]) == numbers(forecast)
        model.observe(value)


def test_follow_takes_time_first_as_observe_does(noisy):
    """Entry 10 of the defects: and what it says of a value was said before the value came."""
    track, twin = Prophecy(3).follow(noisy.T[:300]), Prophecy(3)
    twin.observe(noisy.T[:299])
    assert track.point.shape == (300, 3)
    np.testing.assert_array_equal(track.point[299], twin.predict().point)
    np.testing.assert_array_equal(track.score[299], twin.score(noisy[:, 299]))
    with pytest.raises(ValueError, match=r"value must be \(3,\) or \(time, 3\), got shape \(3, 300\)"):
        Prophecy(3).follow(noisy[:, :300])


@pytest.mark.parametrize(
    ("name", "u", "limit"),
    [
        ("constant", np.full(300, 3.7), 0.0),
        ("zero", np.zeros(300), 0.0),
        ("ramp", 2.5 * np.arange(300) + 1, 1e-13),
        ("parabola", np.arange(300.0) ** 2, 1e-8),
        ("alternation", (-1.0) ** np.arange(300), 1e-10),
        ("exponential", 1.1 ** np.arange(300), 1.1**300 * 1e-9),
        ("tone", np.sin(np.arange(300)), 1e-10),
        ("small on a huge offset", 1e9 + 1e-3 * np.sin(np.arange(300) / 50), 1e-6),
    ],
)
def test_what_follows_a_simple_rule_is_predicted_to_rounding(name, u, limit):
    error = np.abs(Prophecy().predict_all(u)[200:-1] - u[201:])
    assert error.max() <= limit


@pytest.mark.parametrize("exponent", [-40, 40])
def test_units_do_not_matter(noisy, exponent):
    """A power of two changes no digit, so it must come out as it went in: 1e-12 and 1e12 of the unit."""
    scale = 2.0**exponent
    plain, scaled = Prophecy().follow(noisy[1, :400]), Prophecy().follow(noisy[1, :400] * scale)
    np.testing.assert_array_equal(scaled.point, plain.point * scale)
    np.testing.assert_array_equal(scaled.upper[3:], plain.upper[3:] * scale)
    np.testing.assert_array_equal(scaled.score, plain.score)


def test_the_zero_of_the_scale_does_not_matter(noisy):
    u = np.round(noisy[2, :400] * 2**30) / 2**30
    shifted = Prophecy().predict_all(u + 2.0**20) - 2.0**20
    np.testing.assert_allclose(shifted, Prophecy().predict_all(u), atol=2e-10)


def test_before_and_after_the_first_values():
    model = Prophecy()
    assert model.explain().startswith("0 values seen")
    first = model.predict()
    assert np.isnan([*numbers(first), model.derivative()]).all()
    assert model.score(5.0) == 0.0
    model.observe(5.0)
    assert (*numbers(model.predict()), model.derivative()) == (5.0, -np.inf, np.inf, 0.0)
    model.observe(6.0)
    assert np.isfinite(model.predict().upper)


@pytest.mark.parametrize("gaps", ["predict", "hold"])
def test_a_gap_widens_the_interval_and_teaches_nothing(gaps):
    u = np.sin(np.arange(500) / 20.0) + 1e-3 * np.random.default_rng(0).normal(size=500)
    model = Prophecy(gaps=gaps)
    model.observe(u[:400])
    before, weights = model.predict(), model._stream.records["weight"].copy()
    widths = []
    for _ in range(5):
        model.observe(np.nan)
        widths.append(model.predict().upper - model.predict().point)
    assert np.all(np.diff([before.upper - before.point, *widths]) > 0)
    np.testing.assert_array_equal(model._stream.records["weight"], weights)
    wanted = u[405] if gaps == "predict" else u[399]
    assert model.predict().point == pytest.approx(wanted, abs=0.02)
    model.observe(u[405:])
    assert abs(model.predict().point - np.sin(25.0)) < 5e-3


def test_a_channel_may_be_missing_while_others_are_not(noisy):
    u = noisy.copy()
    u[1, 300:310] = np.nan
    u[2, :50] = np.nan
    together = Prophecy().predict_all(u)
    for row, y in zip(u, together, strict=True):
        np.testing.assert_array_equal(y, Prophecy().predict_all(row))
    assert np.isnan(together[2, :50]).all()
    assert np.isfinite(together[2, 50:]).all()


def test_refused_gaps_leave_the_model_as_it_was(noisy):
    model = Prophecy(gaps="raise")
    model.observe(noisy[1, :100])
    before = model.predict()
    with pytest.raises(ValueError, match="value is NaN at moment 2 of 3; drop it, or use gaps="):
        model.observe([0.1, 0.2, np.nan])
    assert (model.count, model.predict().point) == (100, before.point)


def test_timestamps_on_a_regular_grid_change_nothing_and_holes_in_it_are_gaps(noisy):
    u, plain = noisy[1, :300], Prophecy(dt=0.5)
    timed, holey, nans = Prophecy(), Prophecy(), Prophecy(dt=0.5)
    plain.observe(u)
    timed.observe(u, time=100.0 + 0.5 * np.arange(300))
    assert (timed.dt, timed.predict().point, timed.derivative()) == (0.5, plain.predict().point, plain.derivative())
    keep = (np.arange(300) % 50 != 7) & (np.arange(300) % 50 != 8)
    holey.observe(u[keep], time=0.5 * np.arange(300)[keep])
    nans.observe(np.where(keep, u, np.nan))
    assert holey.predict().point == nans.predict().point


def test_a_hole_right_at_the_start_does_not_make_a_grid_irregular(noisy):
    kept = np.ones(300, dtype=bool)
    kept[[1, 2, 40, 41]] = False
    model, plain = Prophecy(), Prophecy()
    model.observe(noisy[2, :300][kept], time=0.1 * np.arange(300)[kept])
    plain.observe(np.where(kept, noisy[2, :300], np.nan))
    assert model.dt == pytest.approx(0.1)
    assert numbers(model.predict()) == numbers(plain.predict())
    assert "It mixes 119 members" in model.explain()


def test_dates_are_seconds(noisy):
    days = np.datetime64("2024-02-27") + np.arange(200).astype("timedelta64[D]")
    models = [Prophecy() for _ in range(4)]
    models[0].observe(noisy[1, :200], time=86400.0 * np.arange(200))
    models[1].observe(noisy[1, :200], time=days)
    models[2].observe(noisy[1, :200], time=days.astype("datetime64[ns]"))
    models[3].observe(noisy[1, :200], time=days.astype("datetime64[us]").tolist())
    assert [m.dt for m in models] == [86400.0] * 4
    assert len({(numbers(m.predict()), m.derivative()) for m in models}) == 1
    ahead = [m.predict(time=days[-1] + np.timedelta64(3, "D")).point for m in models[1:]]
    assert ahead == [models[0].predict(time=86400.0 * 202).point] * 3
    with pytest.raises(TypeError, match="time must hold real numbers"):
        models[1].observe(1.0, time="2025-01-01")
    with pytest.raises(ValueError, match="time must be finite"):
        models[1].observe(1.0, time=np.datetime64("NaT"))


def test_a_moment_steps_ahead_is_predicted_as_across_a_gap_and_one_between_steps_lies_on_the_curve(noisy):
    t = 0.01 * np.arange(400)
    model, gap = Prophecy(), Prophecy()
    model.observe(noisy[1, :400], time=t)
    gap.observe(np.append(noisy[1, :400], [np.nan] * 4))
    assert numbers(model.predict(time=t[-1] + 0.05)) == numbers(gap.predict())
    smooth = Prophecy()
    smooth.observe(np.sin(t), time=t)
    for ahead, limit in ((0.002, 1e-9), (0.02, 1e-13), (0.034, 1e-9), (0.2, 1e-9)):
        forecast, truth = smooth.predict(time=t[-1] + ahead), np.sin(t[-1] + ahead)
        assert abs(forecast.point - truth) < limit
    between = smooth.predict(time=t[-1] + 0.005)
    assert between.lower < np.sin(t[-1] + 0.005) < between.upper
    assert smooth.score(between.point, time=t[-1] + 0.005) == 0.0


def test_irregular_times_are_taken_as_they_are():
    rng = np.random.default_rng(0)
    times = np.cumsum(rng.uniform(0.2, 1.8, 600))
    wave = lambda t: np.sin(t / 5.0)  # noqa: E731
    model = Prophecy()
    errors, slopes = [], []
    for k, time in enumerate(times):
        if k > 300:
            errors.append(model.predict(time=time).point - wave(time))
            slopes.append(model.derivative() - np.cos(times[k - 1] / 5.0) / 5.0)
        model.observe(wave(time), time=time)
    copy = np.sqrt(np.mean(np.diff(wave(times))[300:] ** 2))
    assert np.sqrt(np.mean(np.square(errors))) < copy / 200
    assert np.sqrt(np.mean(np.square(slopes))) < 0.01
    assert "seconds" in model.explain()


def test_irregular_noise_is_covered_by_its_intervals():
    rng = np.random.default_rng(3)
    times = np.cumsum(rng.exponential(1.0, 1500) + 0.1)
    u = np.sin(times / 30.0) + 0.05 * rng.normal(size=1500)
    model = Prophecy()
    inside = []
    for k, (value, time) in enumerate(zip(u, times, strict=True)):
        if k > 300:
            forecast = model.predict(time=time)
            inside.append(forecast.lower <= value <= forecast.upper)
        model.observe(value, time=time)
    assert 0.87 < np.mean(inside) < 0.93


@pytest.mark.parametrize("kind", ["regular", "irregular", "channels"])
def test_a_saved_model_goes_on_as_if_never_stopped(tmp_path, noisy, kind):
    channels = 3 if kind == "channels" else None
    data = noisy.T if channels else noisy[2]
    times = np.cumsum(np.random.default_rng(0).uniform(0.5, 1.5, 900)) if kind == "irregular" else None
    model = Prophecy(channels=channels, dt=0.1 if times is None else None)
    model.observe(data[:333], None if times is None else times[:333])
    model.save(tmp_path / "model.npz")
    loaded = Prophecy.load(tmp_path / "model.npz")
    for part in (model, loaded):
        part.observe(data[333:500], None if times is None else times[333:500])
    np.testing.assert_array_equal(loaded.predict().upper, model.predict().upper)
    np.testing.assert_array_equal(loaded.derivative(), model.derivative())
    assert (loaded.count, loaded.dt, loaded.explain()) == (model.count, model.dt, model.explain())
    np.testing.assert_array_equal(loaded._stream.regular_context(), model._stream.regular_context())


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_copies_and_pickles_go_their_own_way(noisy, duplicate):
    model = Prophecy()
    model.observe(noisy[2, :300])
    twin = duplicate(model)
    before = twin.predict()
    for value in noisy[2, 300:400].tolist():
        model.observe(value)
    assert (twin.count, twin.predict().point, twin.predict().upper) == (300, before.point, before.upper)
    for value in noisy[2, 300:400].tolist():
        twin.observe(value)
    assert twin.predict().point == model.predict().point


def test_other_files_are_refused(tmp_path, noisy):
    from prophecy import Predictor, legt, next_value

    (tmp_path / "text").write_text("not a model")
    with pytest.raises(ValueError, match="is not a saved Prophecy"):
        Prophecy.load(tmp_path / "text")
    Predictor(next_value(legt(3, 10.0), 1.0)).save(tmp_path / "p.npz")
    with pytest.raises(ValueError, match="holds a saved Predictor, not a Prophecy"):
        Prophecy.load(tmp_path / "p.npz")
    Prophecy().save(tmp_path / "m.npz")
    with np.load(tmp_path / "m.npz") as file:
        arrays = dict(file)
    arrays["records"] = np.zeros(1, dtype=[("last", "f8"), ("count", "i8")])
    np.savez(tmp_path / "bad.npz", **arrays)
    with pytest.raises(ValueError, match="damaged Prophecy file: records must have"):
        Prophecy.load(tmp_path / "bad.npz")


@pytest.mark.parametrize("change", [{"count": -5}, {"count": 1.5}, {"count": "a"}, {"count": 2**60}])
def test_a_header_that_cannot_be_is_refused(tmp_path, noisy, change):
    model = Prophecy()
    model.observe(noisy[1, :20])
    model.save(tmp_path / "model")
    meta, arrays = _files.read_state(tmp_path / "model", "Prophecy", FORMAT)
    _files.write_state(tmp_path / "bad", "Prophecy", FORMAT, meta | change, **arrays)
    with pytest.raises(ValueError, match="damaged Prophecy file"):
        Prophecy.load(tmp_path / "bad")


def test_forecast_continues_the_context():
    model = Prophecy()
    model.observe(np.sin(np.arange(400) / 7.0))
    ahead = model.forecast(30)
    np.testing.assert_allclose(ahead.point, np.sin(np.arange(400, 430) / 7.0), atol=1e-3)


def test_explain_names_what_is_in_use(noisy):
    model = Prophecy()
    model.observe(noisy[2])
    words = model.explain()
    assert "900 values seen" in words
    assert "a regression on the last" in words or "LegT memory" in words
    assert "copying the last value would be off by" in words


def test_explain_tells_errors_of_two_stretches_apart(noisy):
    """Where a signal stands still, errors of the forecast are those from before, and those of members are not."""
    model = Prophecy()
    model.observe(np.concatenate([noisy[0], np.full(2000, 1.0)]))
    words = model.explain()
    assert "Before it stood still, predictions were off by" in words
    assert "copying the last value now would be exact, to rounding." in words


def test_a_forecast_of_channels_is_not_described_as_steps(noisy):
    model = Prophecy(channels=3)
    model.observe(noisy[:3].T)
    said = repr(model.predict())
    assert "one value ahead in each of 3 channels" in said
    assert "at first" not in said
    assert "at first" in repr(model.forecast(4))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda m: m.observe("x"), TypeError, "value must hold real numbers"),
        (lambda m: m.observe(1j), TypeError, "value must be real"),
        (lambda m: m.observe(np.inf), ValueError, "value must be finite and at most 1e\\+75 in size, got inf"),
        (lambda m: m.observe(1e80), ValueError, "rescale the data"),
        (lambda m: m.observe([[1.0, 2.0]]), ValueError, r"value must be a number or \(time,\), got shape \(1, 2\)"),
        (lambda m: m.observe(1.0, time=5.0), ValueError, "time must be given from the first value on"),
        (lambda m: m.predict(level=1.0), ValueError, "level must lie strictly between 0 and 1, got 1.0"),
        (lambda m: m.predict(time=3.0), ValueError, "means nothing to a model without timestamps"),
        (lambda m: m.score([1.0, 2.0]), ValueError, "value must be one moment, got 2"),
        (lambda m: m.follow([[1.0]]), ValueError, r"u must be \(time,\), got shape \(1, 1\)"),
        (lambda m: m.predict_all([]), ValueError, "u must hold at least one sample"),
        (lambda m: m.explain(channel=1), ValueError, "channel must lie between 0 and 0, got 1"),
        (lambda m: Prophecy(channels=0), ValueError, "channels must be at least 1"),
        (lambda m: Prophecy(gaps="skip"), ValueError, "gaps must be one of 'predict', 'hold', 'raise', got 'skip'"),
        (lambda m: Prophecy(dt=-1), ValueError, "dt must be positive"),
    ],
)
def test_bad_input_is_named_and_changes_nothing(call, error, message):
    model = Prophecy()
    model.observe([1.0, 2.0, 4.0])
    before = model.predict()
    with pytest.raises(error, match=message):
        call(model)
    assert (model.count, model.predict().point, model.predict().upper) == (3, before.point, before.upper)


@pytest.mark.parametrize("times", [[0.0, 1.0, 1e40], [0.0, np.nan, 2.0], [0.0, np.inf, 2.0], [0.0, 1.0]])
def test_times_must_be_finite_and_one_for_each_value(times):
    model = Prophecy()
    with pytest.raises(ValueError, match="time must"):
        model.observe([1.0, 2.0, 3.0], time=times)
    assert model.count == 0


values = st.one_of(
    st.floats(-1e12, 1e12),
    st.floats(-1e75, 1e75),
    st.floats(-1e-12, 1e-12),
    st.sampled_from([0.0, 1.0, -1.0, 1e75, -1e75, 5e-324, 1e-160, np.nan]),
)


@given(u=st.lists(values, min_size=1, max_size=60), repeats=st.integers(1, 8), level=st.floats(0.01, 0.999))
@example(u=[0.0] * 20 + [1e75], repeats=2, level=0.9)
@example(u=[1e75, -1e75], repeats=8, level=0.9)
@settings(max_examples=120, deadline=None)
def test_nothing_but_numbers_comes_out_of_finite_input(u, repeats, level):
    data = np.tile(u, repeats)
    model = Prophecy()
    track = model.follow(data, level)
    known = ~np.isnan(data)
    began = np.cumsum(known) - known > 0
    assert np.array_equal(np.isfinite(track.point), began)
    assert np.all(track.lower[began] <= track.point[began])
    assert np.all(track.point[began] <= track.upper[began])
    assert np.all((track.score[known] >= 0.0) & (track.score[known] <= 15.0))
    assert np.isfinite(model.derivative()) == known.any()
    rows.check(model._stream.records, model._stream.table)
    assert isinstance(model.explain(), str)


@given(
    steps=st.lists(st.one_of(st.floats(1e-6, 1e6), st.floats(1e-25, 1e25)), min_size=3, max_size=60),
    seed=st.integers(0, 1000),
    scale=st.sampled_from([1e-12, 1.0, 1e12]),
)
@settings(max_examples=60, deadline=None)
def test_nothing_but_numbers_comes_out_of_any_times(steps, seed, scale):
    times = np.cumsum(steps)
    if not np.all(np.diff(times) > 0):
        return
    u = scale * np.random.default_rng(seed).normal(size=len(times))
    model = Prophecy()
    track = model.follow(u, time=times)
    assert np.isfinite(track.point[1:]).all()
    assert not np.isnan(track.score).any()
    assert np.isfinite(model.derivative())
