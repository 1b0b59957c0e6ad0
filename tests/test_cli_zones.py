"""Local times: the hour that comes twice in autumn, the one that spring leaves out, and rows of one time."""

from __future__ import annotations

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytest.importorskip("typer")

from prophecy.frames.times import Times, in_zone, zone_of  # noqa: E402

BERLIN = "Europe/Berlin"
WAVE = np.sin(np.arange(400) / 9)


def hours(start: str, count: int, zone: str = BERLIN, freq: str = "h"):
    """Evenly spaced moments of a zone, as pandas computes them."""
    return pd.date_range(start, periods=count, freq=freq, tz=zone)


def local_csv(path, moments, values=None, **more):
    """A file of what the clocks on the wall showed, without a word about the zone."""
    frame = pd.DataFrame({"time": moments.tz_localize(None), "v": WAVE[: len(moments)] if values is None else values})
    frame.assign(**more).to_csv(path, index=False)
    return frame


def read(wall, zone=BERLIN, groups=None) -> pd.DatetimeIndex:
    times = in_zone(Times(np.asarray(wall, "M8[s]")), zone_of(zone), groups or [slice(None)])
    return pd.DatetimeIndex(times.values).tz_localize("UTC")


@pytest.mark.parametrize("freq", ["h", "15min", "7min", "1s"])
@pytest.mark.parametrize(
    ("zone", "start"),
    [
        (BERLIN, "2024-10-27 00:00"),
        ("America/New_York", "2024-11-03 00:00"),
        ("Australia/Lord_Howe", "2024-04-07 00:00"),  # half an hour
        ("America/Santiago", "2024-04-06 22:00"),  # at midnight: the doubled hour is before it
    ],
)
def test_local_times_are_the_moments_pandas_made_them_of(zone, start, freq):
    moments = hours(start, 11_000 if freq == "1s" else 400, zone, freq)
    assert read(moments.tz_localize(None), zone).equals(moments.tz_convert("UTC").as_unit("s"))
    assert read(moments.tz_localize(None)[::-1], zone).equals(moments.tz_convert("UTC").as_unit("s")[::-1])


def test_rows_sorted_by_what_the_clock_showed_are_told_apart_in_pairs():
    moments = hours("2024-10-27 00:00", 20, freq="30min")
    wall = np.sort(moments.tz_localize(None).to_numpy(), kind="stable")
    assert read(wall).sort_values().equals(moments.tz_convert("UTC").as_unit("s"))


def test_the_doubled_hour_of_each_key_is_read_for_itself():
    moments = hours("2024-10-26 20:00", 60, freq="10min")
    wall = np.repeat(moments.tz_localize(None).to_numpy().astype("M8[s]"), 2)
    rows = np.arange(len(wall))
    made = read(wall, groups=[rows[::2], rows[1::2]])
    assert (made == np.repeat(moments.tz_convert("UTC").as_unit("s"), 2)).all()


def test_rows_without_a_time_stay_so_and_change_nothing_else():
    moments = hours("2024-10-27 00:00", 9, freq="30min")
    wall = np.repeat(moments.tz_localize(None).to_numpy().astype("M8[s]"), 3)
    wall[1::3] = wall[2::3] = np.datetime64("NaT")
    made = read(wall)
    assert made[::3].equals(moments.tz_convert("UTC").as_unit("s"))
    assert made[1::3].isna().all()


def test_a_time_that_spring_skips_is_refused_with_a_way_out():
    with pytest.raises(ValueError, match=r"2024-03-31 02:30 does not exist in Europe/Berlin.*summer time begins.*UTC"):
        read(["2024-03-31T01:30", "2024-03-31T02:30", "2024-03-31T03:30"])
    assert len(read(["2024-03-31T01:30", "2024-03-31T02:30"], "+01:00")) == 2


def test_a_time_that_comes_three_times_is_refused():
    wall = ["2024-10-27T01:00", *["2024-10-27T02:00", "2024-10-27T02:30"] * 3, "2024-10-27T03:00"]
    with pytest.raises(ValueError, match=r"2024-10-27 02:00.*more than twice"):
        read(wall)


@pytest.mark.parametrize("name", ["Europe/Berlinn", "+25:00", "+1", "Europe", "", "../etc/passwd"])
def test_an_unknown_zone_is_named_with_examples(name):
    with pytest.raises(ValueError, match=r"no time zone .*; name one such as Europe/Berlin"):
        zone_of(name)


def test_numbers_have_no_zone_and_moments_are_only_shown_in_it():
    with pytest.raises(ValueError, match="holds numbers, which have no time zone"):
        in_zone(Times(np.arange(3.0)), zone_of(BERLIN), [slice(None)], "t")
    moments = hours("2024-10-27 00:00", 6).tz_convert("UTC").tz_localize(None).to_numpy()
    made = in_zone(Times(moments), zone_of(BERLIN), [slice(None)], utc=True)
    assert (made.values == moments).all()
    assert str(made.wall()[0])[:13] == "2024-10-27T00"


@pytest.mark.parametrize("command", ["forecast", "predict", "anomalies", "backtest"])
def test_a_file_of_local_times_over_the_end_of_summer_time(prophecy, tmp_path, command):
    local_csv(tmp_path / "x.csv", hours("2024-10-20 00:00", 300))
    horizon = ["--horizon", 5] if command in ("forecast", "backtest") else []
    code, _, err = prophecy(command, tmp_path / "x.csv", *horizon)
    assert code == 1
    assert "2024-10-27 02:00 comes twice" in err
    assert "if not, average rows of one time with --duplicates mean" in err
    assert "summer time ends" in err
    assert "--time-zone, such as Europe/Berlin" in err
    code, _, err = prophecy(command, tmp_path / "x.csv", *horizon, "--time-zone", BERLIN)
    assert (code, err) == (0, f"prophecy {command}: x.csv: 300 rows, every hour\n")


def test_other_doubled_times_are_not_blamed_on_summer_time(prophecy, tmp_path):
    frame = local_csv(tmp_path / "x.csv", hours("2024-10-20 00:00", 100))
    pd.concat([frame, frame[50:51].assign(v=99.0)]).to_csv(tmp_path / "x.csv", index=False)
    _, _, err = prophecy("predict", tmp_path / "x.csv")
    assert "comes twice" in err
    assert "summer" not in err


def test_a_forecast_over_the_end_of_summer_time_goes_on_hour_by_hour(prophecy, tmp_path):
    moments = hours("2024-10-20 00:00", 180)
    local_csv(tmp_path / "x.csv", moments[:168])
    prophecy("forecast", tmp_path / "x.csv", "-H", 12, "--time-zone", BERLIN, "--out", tmp_path / "o.csv")
    made = pd.to_datetime(pd.read_csv(tmp_path / "o.csv")["time"])
    assert made.tolist() == moments[168:].tz_localize(None).tolist()
    assert made.duplicated().sum() == 1


def test_a_zone_that_is_none_or_a_file_without_times_is_refused(prophecy, tmp_path):
    local_csv(tmp_path / "x.csv", hours("2024-10-20 00:00", 50))
    code, _, err = prophecy("predict", tmp_path / "x.csv", "--time-zone", "Mars/Base")
    assert code == 1
    assert "there is no time zone 'Mars/Base'" in err
    pd.DataFrame({"v": WAVE}).to_csv(tmp_path / "v.csv", index=False)
    code, _, err = prophecy("anomalies", tmp_path / "v.csv", "--time-zone", BERLIN)
    assert code == 1
    assert "--time-zone needs times; name their column with --time" in err


def test_rows_of_one_time_are_averaged_and_each_gets_its_own_residual(prophecy, tmp_path):
    frame = pd.DataFrame({"time": pd.date_range("2024-01-01", periods=400, freq="h"), "v": WAVE})
    frame.to_csv(tmp_path / "single.csv", index=False)
    prophecy("predict", tmp_path / "single.csv", "--out", tmp_path / "single.parquet")
    expected = pd.read_parquet(tmp_path / "single.parquet")
    off = np.where(np.arange(400) % 3 == 0, 0.25, 0.0)
    twice = pd.concat([frame.assign(v=frame["v"] - off), frame.assign(v=frame["v"] + off)[::3]]).sort_values("time")
    twice.to_csv(tmp_path / "twice.csv", index=False)
    arguments = ("--duplicates", "mean", "--out", tmp_path / "twice.parquet")
    code, _, err = prophecy("predict", tmp_path / "twice.csv", *arguments)
    assert code == 0
    assert "134 times with several rows averaged" in err
    made = pd.read_parquet(tmp_path / "twice.parquet").merge(expected, on="time", suffixes=("", "_single"))
    assert len(made) == len(twice)
    assert np.allclose(made["point"], made["point_single"], rtol=1e-9, atol=1e-12, equal_nan=True)
    assert np.allclose(made["residual"], made["v"] - made["point"], equal_nan=True)
    code, _, err = prophecy("anomalies", tmp_path / "twice.csv", "--duplicates", "mean")
    assert code == 0
    assert "averaged" in err
