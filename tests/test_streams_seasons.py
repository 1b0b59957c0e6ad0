"""Seasons: found where they are, not where they are not, and used; the same numbers however a stream is cut."""

import numpy as np
import pytest

from benchmarks import streams
from benchmarks.speed.peers import least_squares
from prophecy import Prophecy
from prophecy.streams.rows import RECORD, check, rings
from prophecy.streams.settings import DEFAULT
from prophecy.streams.table import table
from reproduction.measured import generated

RNG = np.random.default_rng(3)
N = 4352
K = np.arange(N)
NOISE = RNG.standard_normal(N)

TABLE = table(DEFAULT)


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
def test_a_long_smooth_season_is_found(period):
    k, noise = np.arange(20_000), np.random.default_rng(1).standard_normal(20_000)
    u = 3 * np.sin(2 * np.pi * k / period) + 5 * (k % period < 100) + 0.5 * noise
    assert found(u) == (pytest.approx(period, rel=0.003),)


def test_the_day_and_the_week_of_five_minute_data_are_found_together():
    k, noise = np.arange(20_000), np.random.default_rng(2).standard_normal(20_000)
    u = 2 * np.sin(2 * np.pi * k / 288) + 3 * (k % 2016 > 1440) + 0.5 * noise
    assert found(u) == (pytest.approx(288, rel=0.005), pytest.approx(2016, rel=0.005))
    week = np.where((k // 288) % 7 >= 5, 0.4, 1.0)
    assert found(week * (5 + 3 * np.sin(2 * np.pi * k / 288)) + 0.5 * noise) == (288.0, 2016.0)


def test_a_day_that_changes_with_the_year_is_a_season():
    k, year = K[:4000], np.sin(2 * np.pi * K[:4000] / 1000)
    assert found(np.sin(2 * np.pi * k / 48) * (1 + 0.5 * year) + year + 0.3 * NOISE[:4000])[0] == 48.0


def test_short_seasons_leave_no_long_ones():
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


def test_seasonal_members_beat_least_squares_on_the_right_lags():
    u, periods = generated(5, 6000)["rides, 48 a day"]
    rival = streams.relative(least_squares(u, streams.around(6, periods, 2)), u, 3000)
    assert streams.relative(Prophecy().predict_all(u), u, 3000) < 0.95 * rival


def test_a_stream_without_seasons_is_predicted_by_the_bank_alone_to_the_last_bit():
    u = np.cumsum(RNG.standard_normal(3000))
    model = Prophecy()
    model.observe(u)
    record = model._stream.records[0]
    assert not record["season_on"]
    shares = model.shares()
    told = shares @ model.member_predictions()
    assert record["last"] + record["shrink_ahead"][0] == pytest.approx(told, abs=1e-12)
    between = sorted([float(record["last"]), told])
    assert between[0] <= model.predict().point <= between[1]


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
    np.testing.assert_array_equal(scaled.point, plain.point * 2.0**40)
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
        np.testing.assert_array_equal(both.point[:, 1], track.point)
        assert pair.predict().point[1] == whole.predict().point
        return
    else:
        model.observe(u[:1000])
        model.save(tmp_path / "m")
        model = Prophecy.load(tmp_path / "m")
        model.observe(u[1000:])
    assert (model.predict().point, model.predict().upper) == (whole.predict().point, whole.predict().upper)
    assert model.seasons() == whole.seasons()


def test_the_ring_and_the_record_have_the_size_that_is_stated():
    assert rings(1).nbytes == 34816
    assert RECORD.itemsize <= 35 * 1024


def test_a_record_with_forged_seasons_is_refused():
    model = Prophecy()
    model.observe(np.sin(2 * np.pi * K[:1300] / 24) + 0.3 * NOISE[:1300])
    for field, value in (("season_periods", 1e9), ("weight", -1.0), ("factor", np.nan), ("alarm_size", 99)):
        records = model._stream.records.copy()
        records[field] = value
        with pytest.raises(ValueError, match=field):
            check(records, model._stream.table)


def sine(period, n=N):
    return np.sin(2 * np.pi * np.arange(n) / period)


@pytest.mark.parametrize("period", [24, 48, 7])
def test_a_plain_sine_in_much_noise_is_named_by_its_own_period(period):
    """24 was named 48, 48 was named 96, and 7 had a second season of 14."""
    for seed in range(3):
        noise = np.random.default_rng(seed).standard_normal(9900)
        assert found(1.4 * sine(period, 9900) + noise) == (period,)


@pytest.mark.parametrize("period", [30.4375, 365.25, 12.5])
def test_a_shape_of_no_whole_number_of_samples_has_one_season(period):
    """A month of days was named 61 and 274, a year 365 and 1097."""
    k = np.arange(N)
    shape = sine(period) + 0.7 * np.cos(4 * np.pi * k / period) + 0.5 * np.sin(6 * np.pi * k / period + 1)
    assert found(shape + 0.5 * NOISE) == (pytest.approx(period, rel=1e-3),)


@pytest.mark.parametrize(
    ("one", "other"), [(12, 20), (23.7, 50), (7, 30.44), (24, 25), (24, 168), (144, 1008)], ids=str
)
def test_two_seasons_are_found_whether_or_not_one_is_a_multiple_of_the_other(one, other):
    """50 and 23.7 were named 48.3 and 400, 12 and 20 were named 24 and 60, 144 and 1008 were named 144 and 2016."""
    u = sine(one) + sine(other) + 0.1 * NOISE
    assert found(u) == (pytest.approx(one, rel=2e-3), pytest.approx(other, rel=2e-3))


@pytest.mark.parametrize("kind", ["rare events", "on and off", "steps"])
def test_streams_of_events_have_no_seasons(kind):
    """Rare events had one in 4 of 12 streams."""
    for seed in range(6):
        rng, n = np.random.default_rng(seed), 6000
        streams = {
            "rare events": (rng.random(n) < 0.01) * rng.poisson(5, n).astype(float),
            "on and off": np.cumsum(rng.random(n) < 0.01) % 2.0,
            "steps": np.round(2 * np.cumsum(rng.standard_normal(n))) / 2,
        }
        assert found(streams[kind]) == ()


def resonance(radius, turn, seed, n=N):
    x = np.random.default_rng(seed).standard_normal(n)
    for k in range(2, n):
        x[k] += 2 * radius * np.cos(turn) * x[k - 1] - radius**2 * x[k - 2]
    return x


@pytest.mark.parametrize("radius", [0.999, 0.9995])
@pytest.mark.parametrize("turn", [0.3, 0.1])
def test_resonances_that_keep_their_phase_for_a_thousand_samples_are_no_seasons(radius, turn):
    """7 or 8 of 12 passed for seasons."""
    assert sum(found(resonance(radius, turn, seed)) != () for seed in range(12)) <= 2


def shapes(name, seed):
    k, noise = np.arange(N), np.random.default_rng(seed).standard_normal(N)
    return {
        "harmonics 1, 2, 5 of 24": sine(24) + 0.5 * sine(12) + 0.4 * sine(4.8) + 0.2 * noise,
        "harmonics 1, 2, 5 of 12": sine(12) + 0.5 * sine(6) + 0.4 * sine(2.4) + 0.2 * noise,
        "pulses of 33.3": 1.0 * ((k + seed) % 33.3 < 3.33) + 0.05 * noise,
        "pulses of 24": 1.0 * ((k + seed) % 24 < 2.4) + 0.05 * noise,
        "sines of 48 and 336": sine(48) + sine(336) + 0.2 * noise,
        "sines of 96 and 672": sine(96) + sine(672) + 0.2 * noise,
        "sines of 24 and 365.25": sine(24) + sine(365.25) + 0.2 * noise,
    }[name]


@pytest.mark.parametrize(
    ("name", "periods"),
    [
        ("harmonics 1, 2, 5 of 24", (24,)),
        ("harmonics 1, 2, 5 of 12", (12,)),
        ("pulses of 33.3", (33.3,)),
        ("pulses of 24", (24,)),
        ("sines of 48 and 336", (48, 336)),
        ("sines of 96 and 672", (96, 672)),
        ("sines of 24 and 365.25", (24, 365.25)),
    ],
)
def test_harmonics_are_named_by_what_they_are_harmonics_of(name, periods):
    """24 was named (9.6, 24), 12 (6, 12), pulses of 33.3 (11.1, 16.65), 48 and 336 (336,)."""
    for seed in range(3):
        assert found(shapes(name, seed)) == tuple(pytest.approx(period, rel=3e-3) for period in periods)


@pytest.mark.parametrize("kind", ["exponential", "exponential and noise", "counter"])
def test_growth_has_no_seasons(kind):
    for seed in range(6):
        rng, k = np.random.default_rng(seed), np.arange(N)
        grown = {
            "exponential": np.exp(k / 300) * (1 + 0.05 * rng.standard_normal(N)),
            "exponential and noise": np.exp(k / 1000) + rng.standard_normal(N),
            "counter": np.cumsum(rng.poisson(7, N)).astype(float),
        }
        assert found(grown[kind]) == ()


@pytest.mark.parametrize(("period", "noise"), [(96, 0.1), (96, 0.5), (365, 0.1)])
@pytest.mark.parametrize("seed", [0, 3])
def test_a_sine_is_not_named_by_a_fifth_of_its_period(period, noise, seed):
    """38 phases of 19.2 samples hold the 96 values of a day so well that the fifth was taken for the season."""
    k = np.arange(3000)
    model = Prophecy()
    model.follow(np.sin(2 * np.pi * k / period + seed) + noise * np.random.default_rng(seed).normal(size=3000))
    np.testing.assert_allclose(model.seasons(), [period], rtol=4e-3)
