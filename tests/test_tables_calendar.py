"""Calendars: which grid rows lie on, what is missing on it, and what comes next; pandas' own calendar is the oracle."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prophecy.frames import dates
from prophecy.frames.align import align
from prophecy.frames.grid import Even, Months, Weekdays, infer
from prophecy.frames.source import as_times
from prophecy.frames.times import Times

pd = pytest.importorskip("pandas")

FREQUENCIES = [
    "7min",
    "30min",
    "h",
    "6h",
    "D",
    "2D",
    "W-WED",
    "B",
    "MS",
    "ME",
    "QS",
    "QE",
    "YS",
    "YE",
    "BME",
    "BMS",
    "12s",
    "250ms",
]


def grid_of(index):
    return infer(as_times(index)), as_times(index)


@pytest.mark.parametrize("frequency", FREQUENCIES)
@pytest.mark.parametrize("start", ["2023-11-07", "2024-02-29 00:00"])
def test_the_next_rows_are_those_pandas_would_say(frequency, start):
    index = pd.date_range(start, periods=70, freq=frequency)
    grid, times = grid_of(index[:50])
    assert np.array_equal(grid.after(times, 20).values, index[50:].values.astype(times.values.dtype))
    assert np.array_equal(grid.positions(as_times(index)), np.arange(70))


@settings(max_examples=150)
@given(st.sampled_from(FREQUENCIES), st.randoms(use_true_random=False), st.integers(30, 80))
def test_rows_in_any_order_with_some_missing_come_back_on_their_grid(frequency, random, size):
    index = pd.date_range("2021-03-01", periods=size, freq=frequency)
    missing = set(random.sample(range(1, size - 1), size // 8))
    if frequency == "B":  # every weekday must be seen, and the grid stays that of business days
        missing = {k for k in missing if k > 7}
    rows = [k for k in range(size) if k not in missing]
    random.shuffle(rows)
    made = align(np.array(rows, float)[:, None], as_times(index[rows]))
    expected = np.where(np.isin(np.arange(size), list(missing)), np.nan, np.arange(size))
    assert np.array_equal(made.values[:, 0], expected, equal_nan=True)
    assert np.array_equal(made.times.values, index.values.astype(made.times.values.dtype))
    assert made.filled == len(missing)


def test_days_are_days_and_hours_are_hours_when_clocks_change():
    zone = ZoneInfo("Europe/Berlin")
    days = pd.date_range("2024-03-25", periods=12, freq="D", tz=zone)
    grid, times = grid_of(days[:5])
    assert pd.DatetimeIndex(grid.after(times, 7).values, tz="UTC").tz_convert(zone).equals(days[5:].as_unit("us"))
    hours = pd.date_range("2024-10-26", periods=60, freq="h", tz=zone)
    grid, times = grid_of(hours[:40])
    assert pd.DatetimeIndex(grid.after(times, 20).values, tz="UTC").tz_convert(zone).equals(hours[40:].as_unit("us"))
    assert grid.words() == "every hour"


def test_weeks_with_closed_days_are_found_when_they_repeat():
    shop = pd.bdate_range("2024-01-01", periods=60, freq="C", weekmask="Mon Tue Wed Thu Fri Sat")
    grid, times = grid_of(shop[:30])
    assert isinstance(grid.rule, Weekdays)
    assert np.array_equal(grid.after(times, 30).values, shop[30:].values.astype(times.values.dtype))
    assert grid.words() == "every Mon, Tue, Wed, Thu, Fri, Sat"
    fresh = pd.to_datetime(["2024-01-01", "2024-01-02", "2024-01-04", "2024-01-05"])
    assert isinstance(grid_of(fresh)[0].rule, Even)


def test_seasons_are_those_of_the_calendar():
    def seasons(frequency, rows=5000):
        return grid_of(pd.date_range("2020-01-06", periods=60, freq=frequency))[0].seasons(rows)

    assert seasons("h") == (24, 168)
    assert seasons("30min") == (48, 336)
    assert seasons("D") == (7, 365)
    assert seasons("D", 300) == (7,)
    assert seasons("B") == (5,)
    assert seasons("W") == (52,)
    assert seasons("ME") == (12,)
    assert seasons("QS") == (4,)
    assert seasons("YS") == ()
    assert infer(Times(np.arange(50.0))).seasons(1000) == ()


def test_jitter_is_taken_as_on_the_grid_and_noise_is_not():
    rng = np.random.default_rng(0)
    even = np.arange(200) * 60_000
    jittered = Times((even + rng.integers(-2000, 2000, 200)).astype("M8[ms]"))
    made = align(np.arange(200.0)[:, None], jittered)
    assert made.regular
    assert len(made.values) == 200
    assert "off the grid" in made.facts[-1]
    assert made.grid.words() == "every minute"
    wild = Times(np.cumsum(rng.integers(1_000, 100_000, 200)).astype("M8[ms]"))
    made = align(np.arange(200.0)[:, None], wild)
    assert not made.regular
    assert len(made.values) == 200
    assert "uneven" in made.facts[-1]
    assert len(made.after(3)) == 3


def test_a_clock_that_was_not_set_does_not_fill_half_a_century():
    seconds = np.concatenate([np.arange(50), 1_700_000_000 + np.arange(60)])
    made = align(seconds[:, None] * 1.0, Times(seconds.astype("M8[s]")))
    assert len(made.values) == 60
    assert "50 rows before a hole" in " ".join(made.facts)


def test_doubled_times_are_refused_with_their_values_or_averaged():
    times = Times(np.array(["2024-01-01", "2024-01-02", "2024-01-02", "2024-01-03"], "M8[D]"))
    values = np.array([[1.0], [2.0], [4.0], [3.0]])
    with pytest.raises(ValueError, match=r"2024-01-02 comes twice, with 2 and 4; .* duplicates='mean'"):
        align(values, times)
    made = align(values, times, mean=True)
    assert made.values[:, 0].tolist() == [1.0, 3.0, 3.0]
    assert "1 time with several rows averaged" in made.facts


def test_rows_without_a_time_are_left_out_and_counted():
    made = align(np.arange(4.0)[:, None], Times(np.array(["2024-01-01", "NaT", "2024-01-02", "2024-01-03"], "M8[D]")))
    assert made.values[:, 0].tolist() == [0.0, 2.0, 3.0]
    assert "1 row without a time left out" in made.facts
    with pytest.raises(ValueError, match="no row has a time"):
        align(np.ones((1, 1)), Times(np.array(["NaT"], "M8[s]")))


WRITTEN = [
    ("%Y-%m-%d", "D"), ("%Y-%m-%dT%H:%M:%SZ", "7h"), ("%Y-%m-%d %H:%M", "30min"), ("%d.%m.%Y", "D"),
    ("%d.%m.%Y %H:%M", "h"),
    ("%Y%m%d", "D"), ("%d %b %Y", "D"), ("%b %d, %Y", "D"), ("%G-W%V", "W-MON"), ("%Y-%m", "MS"), ("%m/%Y", "MS"),
    ("%b %Y", "MS"),
    ("%Y/%m/%d %H:%M:%S", "11s"), ("%d-%b-%Y", "D"), ("%d/%m/%Y", "D"), ("%m/%d/%Y", "D"), ("%m/%d/%y %I:%M %p", "5h"),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "frequency"), WRITTEN)
def test_columns_are_read_and_go_on_however_they_are_written(pattern, frequency):
    index = pd.date_range("2024-01-01", periods=60, freq=frequency)
    cells = list(index.strftime(pattern))
    found, _ = dates.pattern_of(cells[:50])
    times = dates.read(cells[:50], found)
    assert np.array_equal(times.values, index[:50].values.astype(times.values.dtype))
    ahead = infer(times).after(times, 10)
    assert np.array_equal(ahead.values, index[50:].values.astype(ahead.values.dtype))
    again = dates.read(ahead.texts(), dates.pattern_of(ahead.texts())[0])
    assert np.array_equal(again.values, ahead.values)
    assert (again.zone is None) == (times.zone is None)


@settings(max_examples=200)
@given(
    st.datetimes(), st.sampled_from(["%Y-%m-%d %H:%M:%S.%f", "%d.%m.%Y %H:%M:%S", "%j %Y %H%M", "%y%m%d", "%B %d %Y"])
)
def test_a_given_format_reads_what_python_writes(moment, pattern):
    from datetime import datetime

    moment = moment.replace(year=1970 + moment.year % 98)
    cell = moment.strftime(pattern)
    (read,) = dates.read([cell], dates.given(pattern)).values
    assert read == np.datetime64(datetime.strptime(cell, pattern))


def test_day_and_month_are_told_apart_or_refused_never_guessed():
    pattern, note = dates.pattern_of(["01/02/2024", "31/01/2024"])
    assert (pattern, note) == ("%d/%m/%Y", None)
    hours = [f"02/01/2024 {h:02d}:00" for h in range(24)] + [f"03/01/2024 {h:02d}:00" for h in range(24)]
    pattern, note = dates.pattern_of(hours)
    assert pattern == "%d/%m/%Y"
    assert "'02/01/2024 00:00' is 2 Jan 2024" in note
    assert "every hour" in note
    with pytest.raises(ValueError, match=r"is 1 Feb 2024 \(%d/%m/%Y\) or 2 Jan 2024 \(%m/%d/%Y\).*time_format="):
        dates.pattern_of(["01/02/2024", "02/02/2024", "03/02/2024"])
    assert dates.pattern_of(["01.02.2024", "02.02.2024"])[0] == "%d.%m.%Y"


@pytest.mark.parametrize(
    "cell", ["2024-13-01", "2023-02-29", "29/02/2023", "2024-W54", "noon", "", "12:30", "2024", "1.5"]
)
def test_what_is_no_date_is_none(cell):
    assert not dates.is_date(cell)
    with pytest.raises(ValueError, match="cannot be read as dates"):
        dates.pattern_of([cell])


def test_a_stray_cell_is_named_with_its_row():
    pattern, _ = dates.pattern_of(["2024-01-01", "2024-01-02"])
    with pytest.raises(ValueError, match=r"column 'day', row 12: 'oops' is not a date"):
        dates.read(["2024-01-01"] * 11 + ["oops"], pattern, "day")
    with pytest.raises(ValueError, match="%Q"):
        dates.given("%Y-%Q")


def test_hour_24_is_midnight_and_offsets_are_utc():
    pattern, _ = dates.pattern_of(["01.01.2024 24:00", "02.01.2024 01:00"])
    assert str(dates.read(["01.01.2024 24:00"], pattern).values[0]) == "2024-01-02T00:00:00"
    pattern, _ = dates.pattern_of(["2024-05-01T00:00+02:00"])
    times = dates.read(["2024-05-01T00:00+02:00", None], pattern)
    assert str(times.values[0]) == "2024-04-30T22:00:00"
    assert np.isnat(times.values[1])
    assert times.texts() == ["2024-05-01 00:00+02:00", None]


def test_month_days_that_are_missing_in_short_months_stay_the_last():
    grid = infer(Times(np.array(["2024-01-30", "2024-02-29", "2024-03-30"], "M8[D]")))
    assert grid.rule == Months(1, 30)
    grid = infer(Times(np.array(["2023-12-31", "2024-01-31", "2024-02-29"], "M8[D]")))
    assert grid.rule == Months(1, 31)
