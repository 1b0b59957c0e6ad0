"""What real streams do to gaps, alarms, seasons and clocks: counters, holes without end, patterns of missing values."""

from __future__ import annotations

import numpy as np
import pytest

from prophecy import Prophecy
from prophecy.anomalies import Events

K = np.arange(6000)


@pytest.mark.parametrize("seed", [3, 4, 5, 6, 9, 11])
@pytest.mark.parametrize("noise", [0.0, 1e-3])
def test_a_sine_of_which_nine_in_ten_values_are_missing_stays_within_reach(seed, noise):
    rng = np.random.default_rng(seed)
    truth = np.sin(K / 50)
    values = truth + noise * rng.normal(size=len(K))
    values[rng.random(len(K)) < 0.9] = np.nan
    error = np.abs(truth - Prophecy().follow(values).point)[500:]
    assert error.max() < 4.0
    assert error.mean() < 0.1


def test_a_line_and_a_parabola_are_continued_across_long_gaps():
    for u in (3.0 * K[:1200], 0.01 * K[:1200] ** 2.0):
        values = u.copy()
        values[1000:1100] = np.nan
        mean = Prophecy().follow(values).point
        assert np.abs(mean - u)[500:].max() < 1e-6 * np.ptp(u)


EXACT = {
    "counter": K * 1.0,
    "thirds": 0.37 * K,
    "square": K**2.0,
    "stairs": np.floor(K / 10.0),
    "growth": np.exp(0.003 * K[:4000]),
    "sine": np.sin(K / 20),
    "constant": np.full(3000, 3.0),
}


@pytest.mark.parametrize("name", EXACT)
def test_a_stream_that_is_predicted_exactly_is_ordinary(name):
    alarm = Prophecy().follow(EXACT[name]).alarm
    assert (alarm[50:] > 0.99).sum() == 0


def test_a_counter_that_wraps_or_jumps_alarms_where_it_does_and_nowhere_else():
    wrapped = Prophecy().follow((37.0 * K) % 65536).alarm[50:]
    assert set(np.flatnonzero(wrapped > 0.99) + 50) <= {1772, 3543, 5314}
    breaks = 3.0 * K[:2100] + 50.0 * (K[:2100] >= 2000)
    assert np.flatnonzero(Prophecy().follow(breaks).alarm >= 0.99).tolist() == [2000]
    jumped = np.flatnonzero(Prophecy().follow(np.where(K < 4000, K * 1.0, K + 500.0)).alarm > 0.99)
    assert 4000 in jumped
    assert len(jumped[jumped > 50]) <= 3


@pytest.mark.parametrize("name", EXACT)
def test_the_first_rows_of_an_exact_stream_are_ordinary_too(name):
    assert Prophecy().follow(EXACT[name]).alarm[:50].max() < 0.99


def test_an_alarm_is_no_surer_than_the_number_of_values_it_is_ranked_among_allows():
    for seed in range(20):
        u = np.random.default_rng(seed).standard_normal(80)
        u[30:33] = 50.0
        alarm = Prophecy().follow(u).alarm
        assert (alarm <= 1 - 10 ** (-np.arange(80) / 25.0)).all()


def autoregressive(shocks, pole):
    out, now = np.empty(len(shocks)), 0.0
    for k, shock in enumerate(shocks):
        out[k] = now = pole * now + shock
    return out


RESTLESS = {
    "white": lambda x: x,
    "autoregressive": lambda x: autoregressive(x, 0.8),
    "walk": np.cumsum,
    "rounded": lambda x: np.round(autoregressive(x, 0.8)),
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", RESTLESS)
def test_a_sensor_that_sticks_is_reported_once_and_called_a_flat_line(name, seed):
    u = RESTLESS[name](np.random.default_rng(seed).standard_normal(len(K)))
    u[4000:] = u[3999]
    alarm = Prophecy().follow(u).alarm
    surely = np.flatnonzero(alarm >= 0.9995)
    assert len(surely[surely >= 4012]) == 1
    assert 4012 <= surely[-1] <= 4030
    assert (alarm[4031:] > 0.99).sum() == 0
    event = events(u)[-1]
    assert (event.kind, event.last) == ("flat line", len(K) - 1)
    assert event.first in (3998, 3999)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("factor", [0.2, 5.0])
@pytest.mark.parametrize("name", ["white", "autoregressive", "walk"])
def test_noise_that_falls_to_a_fifth_or_grows_fivefold_is_reported(name, factor, seed):
    shocks = np.random.default_rng(seed).standard_normal(len(K))
    u = RESTLESS[name](shocks * np.where(K < 4000, 1.0, factor))
    alarm = Prophecy().follow(u).alarm
    assert alarm[4000:4080].max() >= 0.9995
    if factor < 1:
        assert (alarm[4000:] >= 0.9995).sum() == 1
        found = around(events(u), 4040, 60)
        assert [event.kind for event in found] == ["change of noise"]
        assert found[0].sentence.startswith("Less noise")


def test_a_sensor_that_is_normally_constant_stays_calm():
    u = np.full(len(K), 20.0)
    u[::1000] = 20.1
    nights = np.maximum(np.sin(2 * np.pi * K / 288), 0) * (1 + 0.2 * np.random.default_rng(0).standard_normal(len(K)))
    assert Prophecy().follow(np.full(len(K), 20.0)).alarm.max() < 0.9
    assert (Prophecy().follow(u).alarm > 0.999).sum() == 0
    # The first night is news, the twentieth is not.
    assert (Prophecy().follow(nights).alarm[600:] > 0.9995).sum() <= 1


@pytest.mark.parametrize("share", [0.05, 0.01, 0.002])
def test_the_score_of_an_event_says_how_rare_it_is(share):
    """Ordinary zeros had scores of 56, ones that come in a hundred values 15."""
    rare, of_events = -np.log10(share), []
    for seed in range(8):
        u = (np.random.default_rng(seed).random(20_000) < share) * 1.0
        track = Prophecy().follow(u)
        score = track.score[2000:]
        of_events.append(score[u[2000:] == 1])
        assert of_events[-1].max() < rare + 0.5
        assert score.max() < rare + 0.7
        # After a change of 1 no change of more is expected.
        assert np.abs(track.point[300:]).max() <= 2.0
    # Of 40 events in a stream the median is uncertain by some 0.2.
    assert np.median(np.concatenate(of_events)) > rare - 0.8


CAPPED = {
    "clipped": lambda r: np.clip(autoregressive(r.standard_normal(20_000), 0.8), -2, 2),
    "clipped, slow": lambda r: np.clip(autoregressive(r.standard_normal(20_000), 0.95), -2, 2),
    "counts": lambda r: r.poisson(3, 20_000) * 1.0,
    "rain": lambda r: np.where(r.random(20_000) < 0.1, r.gamma(1, 2, 20_000), 0.0),
    "telegraph": lambda r: np.cumsum(r.random(20_000) < 0.02) % 2 * 1.0,
}


@pytest.mark.parametrize("name", CAPPED)
def test_scores_of_values_that_repeat_are_not_rarer_than_they_come(name):
    """A clipped sensor scored 25, rain 300; nothing may be surer than 20 000 values can tell."""
    u = CAPPED[name](np.random.default_rng(1))
    track = Prophecy().follow(u)
    score = track.score[2000:]
    for least in (1.0, 2.0, 3.0):
        assert np.mean(score >= least) <= 1.3 * 10.0**-least
    assert score.max() < 6.0
    error, copied = track.point[2000:] - u[2000:], np.diff(u)[1999:]
    assert np.mean(error**2) < 1.18 * np.mean(copied**2)  # a telegraph is 7 % (root mean square) worse than copying
    assert track.point[2000:].min() >= u.min() - 1e-9 or name in ("counts", "rain")


def test_a_stream_at_rest_for_thousands_of_values_never_predicts_nan():
    """Scales below 1e-300 overflowed when a season was taken up after a long rest."""
    rng = np.random.default_rng(40)
    rng.random(8000)
    assert np.isfinite(Prophecy().follow((rng.random(8000) < 0.002) * 1.0).point[1:]).all()


@pytest.mark.parametrize(("period", "least"), [(6, 0.25), (12, 0.1), (24, 0.1)])
def test_the_derivative_of_a_signal_that_turns_within_a_few_samples_beats_a_difference(period, least):
    """Errors of 0.89 and 0.56 of the slope at 6 and 12 samples a period; the difference of two values has 0.5, 0.29."""
    k = np.arange(2400)
    u = 3 * np.sin(2 * np.pi * k / period) + 0.1 * np.random.default_rng(21).standard_normal(2400)
    truth = 3 * 2 * np.pi / period * np.cos(2 * np.pi * k / period)
    model, error = Prophecy(dt=1.0), []
    model.observe(u[:2000])
    for value, slope in zip(u[2000:].tolist(), truth[2000:], strict=True):
        model.observe(value)
        error.append(model.derivative() - slope)
    size = np.sqrt(np.mean(truth**2))
    assert np.sqrt(np.mean(np.square(error))) < least * size
    assert np.sqrt(np.mean((np.diff(u)[1999:] - truth[2000:]) ** 2)) > 0.25 * size


@pytest.mark.parametrize(("noise", "spikes", "least"), [(0.1, False, 0.1), (0.5, False, 0.5), (0.5, True, 0.5)])
def test_the_derivative_of_a_season_in_noise_is_that_of_the_season(noise, spikes, least):
    """Windows long enough for the noise saw no slope: the error was 0.19, 0.96 and 1.1 of the slope's own size."""
    k = np.arange(2400)
    u = 3 * np.sin(2 * np.pi * k / 48) + noise * np.random.default_rng(0).standard_normal(2400)
    if spikes:
        u[2050::100] += 17.0
    truth = 3 * 2 * np.pi / 48 * np.cos(2 * np.pi * k / 48)
    model, error = Prophecy(dt=1.0), []
    model.observe(u[:2000])
    for value, slope in zip(u[2000:].tolist(), truth[2000:], strict=True):
        model.observe(value)
        error.append(model.derivative() - slope)
    assert np.sqrt(np.mean(np.square(error)) / np.mean(truth**2)) < least


def sparse(u, keep):
    return np.where(keep, u, np.nan)


@pytest.mark.parametrize("every", [2, 3])
def test_the_pattern_of_missing_values_is_no_season_but_seasons_are_found_through_it(every):
    rng = np.random.default_rng(every)
    walk = np.cumsum(rng.normal(size=len(K)))
    red = np.convolve(rng.normal(size=len(K) + 99), 0.95 ** np.arange(100), "valid")
    for u in (walk, red):
        model = Prophecy()
        model.follow(sparse(u, K % every == 0))
        assert model.seasons() == ()
    for period, u in ((24, 3 * np.sin(2 * np.pi * K / 24) + rng.normal(size=len(K))), (314.16, np.sin(K / 50))):
        model = Prophecy()
        model.follow(sparse(u, K % every == 0))
        assert model.seasons()[0] == pytest.approx(period, rel=0.005)


def test_a_season_is_found_where_a_third_is_missing_at_random():
    rng = np.random.default_rng(0)
    model = Prophecy()
    model.follow(sparse(3 * np.sin(2 * np.pi * K / 24) + rng.normal(size=len(K)), rng.random(len(K)) > 0.33))
    assert model.seasons() == (24.0,)


@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_a_multiple_of_a_season_is_not_another_season(noise):
    model = Prophecy()
    model.follow((K % 33.7) / 33.7 + noise * np.random.default_rng(1).normal(size=len(K)))
    (period,) = model.seasons()
    assert period == pytest.approx(33.7, rel=0.005)


def test_the_live_alarm_of_a_missing_value_is_nan_as_in_follow():
    rng = np.random.default_rng(2)
    u = rng.normal(size=400)
    u[rng.random(400) < 0.1] = np.nan
    live, alarms = Prophecy(), []
    for value in u.tolist():
        live.observe(value)
        alarms.append(live.alarm())
    assert np.array_equal(alarms, Prophecy().follow(u).alarm, equal_nan=True)
    two = Prophecy(2)
    two.observe([[1.0, 2.0], [2.0, np.nan]])
    assert np.array_equal(two.alarm(), [0.0, np.nan], equal_nan=True)


def test_before_the_first_value_a_time_changes_nothing():
    model = Prophecy()
    assert model.score(1.0, time=10.0) == 0.0
    assert np.isnan(model.predict(time=10.0).point)
    model.observe(1.0, time=10.0)
    model.observe(2.0, time=11.0)
    assert model.count == 2


def test_times_and_levels_that_cannot_be_used_are_refused_in_words():
    model = Prophecy()
    with pytest.raises(
        TypeError, match=r"time must hold real numbers or dates, got text such as '2024-01-01'.*datetime64\[s\]"
    ):
        model.observe([1.0, 2.0], time=["2024-01-01", "2024-01-02"])
    with pytest.raises(ValueError, match="is missing at moment 1 of 2"):
        model.observe([1.0, 2.0], time=[0.0, np.nan])
    with pytest.raises(ValueError, match="is missing at moment 0 of 1"):
        model.observe(1.0, time=np.datetime64("NaT"))
    for level in ("a", None, True):
        with pytest.raises(TypeError, match="level must be a number strictly between 0 and 1"):
            model.predict(level)
    for channel in ("a", 1.5):
        with pytest.raises(TypeError, match="channel must be a whole number"):
            model.explain(channel)
    assert model.count == 0


@pytest.mark.parametrize("name", ["counter", "constant"])
def test_an_exact_forecast_is_called_exact_and_no_ratio_is_made_of_rounding(name):
    model = Prophecy()
    model.follow(EXACT[name])
    said = model.explain()
    assert "predictions are exact, to rounding" in said
    assert "e+" not in said


# Events.

DAY = 10 + 3 * np.sin(2 * np.pi * np.arange(4000) / 24) + 0.3 * np.random.default_rng(7).normal(size=4000)


def events(u, rate=1e-3):
    model, found = Prophecy(), Events()
    for first in range(0, len(u), 700):
        piece = u[first : first + 700]
        track = model.follow(piece, 1 - rate)
        flags = (track.score > -np.log10(rate / 2)) | (track.alarm >= 1 - rate / 2)
        parts = (piece, piece - track.point, track.lower, track.upper, track.score, track.alarm)
        found.add(np.nan_to_num(np.column_stack(parts)), first, flags)
    return found.finish()


def around(found, row, within=30):
    return [event for event in found if event.first - within <= row <= event.last + within]


def test_the_reset_of_a_counter_is_one_event_in_words_of_its_own():
    """It was two shifts, the second 31 rows later: "the level moves by -3220 … and stays there"."""
    u = np.cumsum(np.random.default_rng(4).poisson(3, 2000)).astype(float)
    u[1200:] -= u[1200]
    (event,) = around(events(u), 1200, 100)
    assert (event.kind, event.first) == ("shift", 1200)
    jump = f"drops by {u[1199]:.4g} in one row (+2.7 is usual), from {u[1199]:.6g} to 0"
    assert event.sentence == f"A rising value {jump}, and goes on rising."


def test_events_have_a_beginning_and_an_end_and_the_return_of_a_season_is_no_spike():
    rng = np.random.default_rng(2)
    k = np.arange(3000)
    u = 20 + 3 * np.sin(2 * np.pi * k / 144) + 0.15 * rng.normal(size=3000)
    u[2100:2250] += 1.2 * rng.normal(size=150)
    u[2500:2700] = np.mean(u[2300:2500]) + 0.15 * rng.normal(size=200)
    found = [(event.kind, event.first, event.last) for event in events(np.round(u, 2))]
    assert [kind for kind, *_ in found] == ["change of noise", "lost season"]
    for (_, first, last), (begin, end) in zip(found, ((2100, 2249), (2500, 2700)), strict=True):
        assert abs(first - begin) <= 5
        assert abs(last - end) <= 10


@pytest.mark.parametrize("seed", range(6))
def test_nothing_happens_in_the_first_dozens_of_rows(seed):
    """An event at row 3 began a third of all streams."""
    rng = np.random.default_rng(seed)
    for u in (rng.normal(size=300), np.cumsum(rng.normal(size=300)), np.round(DAY[:300] + rng.normal(size=300), 2)):
        assert all(event.first >= 50 for event in events(u))


@pytest.mark.parametrize("long", [200, 450])
def test_a_flat_line_of_any_length_is_called_so_with_its_rows(long):
    u = DAY.copy()
    u[2500 : 2500 + long] = u[2499]
    kinds = [(e.kind, e.first, e.last) for e in events(u) if e.last >= 2490 and e.first <= 2510 + long]
    flat = [k for k in kinds if k[0] == "flat line"]
    assert len(flat) == 1, kinds
    assert abs(flat[0][1] - 2499) <= 1
    assert 2498 + long <= flat[0][2] <= 2520 + long
    assert all(k[0] != "spike" for k in kinds), kinds


def test_a_flat_line_to_the_end_says_so():
    u = DAY.copy()
    u[3500:] = u[3499]
    (event,) = around(events(u), 3510)
    assert (event.kind, event.first, event.last) == ("flat line", 3499, 3999)
    assert event.sentence == f"501 rows are exactly {u[3499]:.6g}, from row 3499 and still at the end."


@pytest.mark.parametrize("left", [0.0, 0.1])
def test_a_season_that_ends_or_shrinks_is_a_lost_season(left):
    k = np.arange(4000)
    u = np.where(
        k < 3000, DAY, 10 + left * 3 * np.sin(2 * np.pi * k / 24) + (DAY - 10 - 3 * np.sin(2 * np.pi * k / 24))
    )
    assert next(e.kind for e in around(events(u), 3005)) == "lost season"


def test_a_bump_that_goes_away_is_a_spike_and_one_that_stays_a_shift():
    bump, shift = DAY.copy(), DAY.copy()
    bump[2000:2011] += 8
    shift[2000:] += 8
    assert {e.kind for e in around(events(bump), 2005)} == {"spike"}
    assert around(events(shift), 2000)[0].kind == "shift"


@pytest.mark.parametrize("size", [4.0, -4.0])
def test_a_step_of_ten_deviations_is_a_shift_where_days_differ_over_the_week(size):
    k = np.arange(5000)
    u = 20 + 4 * np.sin(2 * np.pi * k / 96) + 1.5 * np.sin(2 * np.pi * k / 672)
    u = np.round(u + 0.4 * np.random.default_rng(11).standard_normal(len(k)), 1)
    spike, shift = u.copy(), u.copy()
    spike[4400] += size
    shift[4400:] += size
    assert [event.kind for event in around(events(spike), 4400)] == ["spike"]
    (found,) = around(events(shift), 4400)
    assert found.kind == "shift"
    assert f"moves by {'-' if size < 0 else ''}" in found.sentence


def test_no_row_inside_its_interval_is_called_a_spike():
    for u in (0.37 * K[:3000], np.random.default_rng(3).normal(size=4000)):
        for event in events(u, 1e-2):
            assert (
                event.kind != "spike" or event.last - event.first >= 3 or not event.lower <= event.value <= event.upper
            )


def csv(tmp_path, times, values):
    path = tmp_path / "local.csv"
    rows = zip(times, values, strict=True)
    path.write_text("time,load\n" + "".join(f"{time},{value:.3f}\n" for time, value in rows))
    return path


@pytest.mark.parametrize("minutes", [60, 10])
def test_the_hour_that_comes_twice_when_summer_time_ends_is_named(prophecy, tmp_path, minutes):
    """And with the zone, or with offsets, no hour is doubled or missing."""
    from datetime import UTC, datetime, timedelta
    from zoneinfo import ZoneInfo

    start, count = datetime(2024, 10, 20, tzinfo=UTC), 14 * 24 * 60 // minutes
    local = [(start + timedelta(minutes=minutes * k)).astimezone(ZoneInfo("Europe/Berlin")) for k in range(count)]
    values = 10 + 3 * np.sin(2 * np.pi * np.arange(count) * minutes / 1440)
    file = csv(tmp_path, [f"{moment:%Y-%m-%d %H:%M}" for moment in local], values)
    code, _, err = prophecy("anomalies", file)
    assert code == 1
    assert "2024-10-27 02:00 comes twice" in err
    assert "summer time ends" in err
    for ways in (["--time-zone", "Europe/Berlin"], []):
        if not ways:
            file = csv(tmp_path, [moment.isoformat() for moment in local], values)
        code, _, err = prophecy("anomalies", file, *ways)
        assert code == 0, err
        assert "missing" not in err


def test_a_sensor_that_sticks_while_every_seventh_value_is_missing_is_a_flat_line_and_a_jump_after_a_spike_a_shift(
    prophecy, tmp_path
):
    """The run of equal values ended at every missing one; a jump by 17 standard deviations was hidden by a spike of 27
    a thousand rows before."""
    rng, k = np.random.default_rng(8), np.arange(4000)
    u = 20 + 4 * np.sin(2 * np.pi * k / 96) + 0.3 * rng.standard_normal(4000)
    u[1500] += 8
    u[2000:2100] = u[1999]
    u[2500:] += 5
    rows = [f"{10 * i + rng.uniform(-2, 2):.3f},{'' if i % 7 == 3 else round(u[i], 1)}" for i in range(4000)]
    (tmp_path / "j.csv").write_text("seconds,value\n" + "\n".join(rows) + "\n")
    _, text, _ = prophecy("anomalies", tmp_path / "j.csv", "--time", "seconds")
    assert "flat line" in text
    assert "1999 to 2099" in text
    assert "2500" in text
    assert "shift" in text


def test_a_change_of_noise_lasts_as_long_as_the_noise(prophecy, tmp_path):
    rng = np.random.default_rng(9)
    u = 5 + 0.2 * rng.standard_normal(3000)
    u[2000:2200] += 1.2 * rng.standard_normal(200)
    (tmp_path / "n.csv").write_text("value\n" + "\n".join(f"{value:.3f}" for value in u) + "\n")
    _, text, _ = prophecy("anomalies", tmp_path / "n.csv")
    line = next(line for line in text.splitlines() if "change of noise" in line)
    first, last = (int(word) for word in line[: line.index("change")].replace("to", "").split()[-3:-1])
    assert abs(first - 2000) <= 20
    assert abs(last - 2199) <= 25
