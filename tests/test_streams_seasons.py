"""Seasons: found where they are, not where they are not, and used; the same numbers however a stream is cut."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from prophecy import Prophecy
from prophecy.adaptive import seasonal, seasons
from prophecy.adaptive.record import RECORD, check, rings

RNG = np.random.default_rng(3)
N = 4352
K = np.arange(N)
NOISE = RNG.standard_normal(N)


def benchmark(name):
    """A script of the benchmark folder, as a module."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).parents[1] / "benchmarks" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def found(u):
    model = Prophecy()
    model.observe(u)
    return model.seasons()


@pytest.mark.parametrize(
    ("period", "u"),
    [
        (4, np.resize([1.0, 3.0, 2.0, 0.0], N) + 0.5 * NOISE),
        (24, np.sin(2 * np.pi * K / 24) + 0.5 * NOISE),
        (50.27, np.sin(2 * np.pi * K / 50.27) + 0.3 * NOISE),
        (300, 10.0 * ((K // 100) % 3 == 0) + NOISE),
        (2048, np.resize(np.random.default_rng(0).standard_normal(2048), N) + 0.5 * NOISE),
    ],
)
def test_a_season_of_4_to_2048_samples_is_found(period, u):
    assert found(u)[0] == pytest.approx(period, rel=0.005)


def test_a_day_and_a_week_are_found_together_and_named_in_hours_and_days():
    week = np.where((K // 48) % 7 >= 5, 0.4, 1.0)
    u = 5 * week * (np.sin(2 * np.pi * K / 48) + 0.5 * np.sin(4 * np.pi * K / 48 + 1)) + 4 * week + 0.5 * NOISE
    model = Prophecy()
    model.observe(u, time=1800.0 * K)
    assert model.seasons() == (48.0, 336.0)
    assert "48 samples (1 day) and 336 samples (7 days)" in model.explain()


@pytest.mark.parametrize(
    ("period", "shape"),
    [(12.5, "square"), (33.3, "square"), (7.77, "square"), (17.31, "saw"), (33.7, "saw"), (12.5, "sine"), (25, "sine")],
)
def test_a_period_that_is_no_whole_number_is_named_and_not_its_multiple(period, shape):
    phase = 2 * np.pi * (K + 0.3) / period
    wave = {"square": np.sign(np.sin(phase)), "saw": (K % period) / 5, "sine": np.sin(phase)}[shape]
    assert found(wave + 0.2 * NOISE) == (pytest.approx(period, rel=5e-4),)


@pytest.mark.parametrize("period", [1440, 2000])
def test_a_long_smooth_season_is_found_among_means(period):
    k, noise = np.arange(20_000), np.random.default_rng(1).standard_normal(20_000)
    u = 3 * np.sin(2 * np.pi * k / period) + 5 * (k % period < 100) + 0.5 * noise
    assert found(u) == (pytest.approx(period, rel=0.003),)


def test_the_day_and_the_week_of_five_minute_data_are_found_together():
    k, noise = np.arange(20_000), np.random.default_rng(2).standard_normal(20_000)
    u = 2 * np.sin(2 * np.pi * k / 288) + 3 * (k % 2016 > 1440) + 0.5 * noise
    assert found(u) == (pytest.approx(288, rel=0.005), pytest.approx(2016, rel=0.005))
    week = np.where((k // 288) % 7 >= 5, 0.4, 1.0)
    assert found(week * (5 + 3 * np.sin(2 * np.pi * k / 288)) + 0.5 * noise) == (288.0, 2016.0)


def test_short_seasons_leave_no_long_ones_among_the_means_of_32_values():
    k, noise = np.arange(20_000), np.random.default_rng(4).standard_normal(20_000)
    for period in (12.5, 24, 50.27, 300):
        assert found(np.sin(2 * np.pi * k / period) + 0.3 * noise) == (pytest.approx(period, rel=0.002),)


@pytest.mark.parametrize(("kind", "most"), [("white", 0), ("walk", 0), ("resonance", 1)])
def test_noise_has_no_seasons(kind, most):
    """A narrow resonance (a hundred of its periods wide) may pass for one now and then."""
    falsely = 0
    for seed in range(10):
        x = np.random.default_rng(seed).standard_normal(2763)
        if kind == "walk":
            x = np.cumsum(x)
        if kind == "resonance":
            for k in range(2, len(x)):
                x[k] += 1.96 * np.cos(0.3) * x[k - 1] - 0.9604 * x[k - 2]
        falsely += found(x) != ()
    assert falsely <= most


def test_the_transform_is_a_fourier_transform_and_the_autocorrelations_are_those_of_their_definition():
    a, b = RNG.standard_normal(300), RNG.standard_normal(300)
    re, im = np.append(a, np.zeros(212)), np.append(b, np.zeros(212))
    seasons.transform(re, im, 512)
    np.testing.assert_allclose(re + 1j * im, np.fft.fft(np.append(a + 1j * b, np.zeros(212))), atol=1e-11)
    of_a, of_b = np.zeros(101), np.zeros(101)
    seasons.autocorrelations(a, b, 100, of_a, of_b)
    for x, r in ((a, of_a), (b, of_b)):
        direct = [np.mean(x[lag:] * x[: len(x) - lag]) / np.mean(x * x) for lag in range(101)]
        np.testing.assert_allclose(r, direct, atol=1e-12)


def test_seasonal_members_beat_least_squares_on_the_right_lags():
    streams = benchmark("streams")
    u, periods = streams.generated(5, 6000)["rides, 48 a day"]
    rival = streams.relative(streams.least_squares(u, streams.around(6, periods, 2)), u, 3000)
    assert streams.relative(Prophecy().predict_all(u), u, 3000) < 0.95 * rival


def test_a_seasonal_readout_is_regularised_least_squares_on_its_features():
    """The square-root recursion, run on its own, against the normal equations solved directly."""
    record = np.zeros(1, dtype=RECORD)
    rng = np.random.default_rng(1)
    m, n = 2, int(seasonal.WIDTHS[2])
    columns = seasonal.INDEX[m, :n]
    truth, rows, targets = rng.standard_normal(n), [], []
    for _ in range(40):  # Huber's rule begins after 2 * FEATURES values: up to there it is plain least squares
        phi = rng.standard_normal(seasonal.FEATURES)
        record["season_features"][0] = phi
        target = float(phi[columns] @ truth + 0.1 * rng.standard_normal())
        seasonal.solve(record[0], m, target, 1.0)
        rows.append(phi[columns])
        targets.append(target)
    age = seasonal.FORGETTING[m] ** np.arange(len(rows))[::-1]
    power = float(rows[0] @ rows[0])
    x = np.array(rows)
    prior = np.eye(n) * (power / seasonal.START) * seasonal.FORGETTING[m] ** len(rows)
    wanted = np.linalg.solve(x.T @ (age[:, None] * x) + prior, x.T @ (age * np.array(targets)))
    np.testing.assert_allclose(record["season_weights"][0, m, :n], wanted, rtol=1e-6, atol=1e-8)


def test_a_stream_without_seasons_is_predicted_by_the_bank_alone_to_the_last_bit():
    u = np.cumsum(RNG.standard_normal(3000))
    model = Prophecy()
    model.observe(u)
    record = model._stream.records[0]
    assert not record["season_on"]
    shares = model.shares()
    assert model.predict().mean == pytest.approx(shares @ model.member_predictions(), abs=1e-12)


def test_a_changed_season_is_noticed():
    u = np.concatenate([np.sin(2 * np.pi * K / 24), np.sin(2 * np.pi * K[:4200] / 60)])
    u = u + 0.3 * np.random.default_rng(5).standard_normal(len(u))
    model = Prophecy()
    model.observe(u[:N])
    assert model.seasons() == (24.0,)
    model.observe(u[N:])
    assert model.seasons()[0] == pytest.approx(60.0, abs=0.5)


def test_scale_and_offset_change_nothing_of_seasons():
    u = np.sin(2 * np.pi * K[:3000] / 24) ** 3 + 0.2 * NOISE[:3000]
    plain, scaled = Prophecy().follow(u), Prophecy().follow(u * 2.0**40)
    np.testing.assert_array_equal(scaled.mean, plain.mean * 2.0**40)
    np.testing.assert_allclose(scaled.alarm, plain.alarm, rtol=1e-12)  # it takes logarithms of errors


@pytest.mark.parametrize("pattern", ["one by one", "pieces", "channels", "saved"])
def test_seasons_do_not_depend_on_how_values_arrive(pattern, tmp_path):
    u = np.sin(2 * np.pi * K[:1300] / 24) + 0.3 * NOISE[:1300]
    u[700:720] = np.nan
    whole = Prophecy()
    track = whole.follow(u)
    assert whole._stream.records["season_on"][0]
    model = Prophecy()
    if pattern == "one by one":
        for value in u.tolist():
            model.observe(value)
    elif pattern == "pieces":
        for part in np.split(u, [1, 30, 33, 500, 701, 1229]):
            model.observe(part)
    elif pattern == "channels":
        other = np.cumsum(NOISE[:1300])
        other[:40] = np.nan
        pair = Prophecy(channels=2)
        both = pair.follow(np.column_stack([other, u]))
        np.testing.assert_array_equal(both.mean[:, 1], track.mean)
        assert pair.predict().mean[1] == whole.predict().mean
        return
    else:
        model.observe(u[:1000])
        model.save(tmp_path / "m")
        model = Prophecy.load(tmp_path / "m")
        model.observe(u[1000:])
    assert (model.predict().mean, model.predict().upper) == (whole.predict().mean, whole.predict().upper)
    assert model.seasons() == whole.seasons()


def test_the_ring_and_the_record_have_the_size_that_is_stated():
    assert rings(1).nbytes == 34816
    assert RECORD.itemsize <= 34 * 1024


def test_a_record_with_forged_seasons_is_refused():
    model = Prophecy()
    model.observe(np.sin(2 * np.pi * K[:1300] / 24) + 0.3 * NOISE[:1300])
    for field, value in (("season_periods", 1e9), ("season_mix", -1.0), ("season_factor", np.nan), ("alarm_size", 99)):
        records = model._stream.records.copy()
        records[field] = value
        with pytest.raises(ValueError, match=field):
            check(records, model._stream.table)
