"""One step for everything: values, arrays, channels, batches and threads agree to the last bit; and what gaps teach."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prophecy import Prophecy, signals
from prophecy.streams import channels, record, rows
from prophecy.streams.settings import DEFAULT

RNG = np.random.default_rng(0)
SERIES = {
    "smooth": signals.white_signal(1.0, samples=1000)[0],
    "noisy": signals.white_signal(1.0, samples=1000)[0] + 0.01 * RNG.normal(size=1000),
    "stochastic": signals.filtered_noise(0.1, samples=1000)[0],
    "walk": np.cumsum(RNG.normal(size=1000)),
    "steps": np.repeat(RNG.normal(size=20), 50),
    "constant, then noise": np.concatenate([np.full(400, 3.0), RNG.normal(size=600)]),
    "alternation": (-1.0) ** np.arange(1000),
    "decades": RNG.normal(size=1000) * 10.0 ** RNG.uniform(-12, 12, size=1000),
    "holes": np.where(RNG.random(1000) < 0.2, np.nan, np.cumsum(RNG.normal(size=1000))),
}
ALL = np.stack(list(SERIES.values()))


def test_record_clock_and_samples_are_documented_field_by_field_with_their_sizes():
    page = (Path(__file__).parent.parent / "docs" / "record.md").read_text()
    for each in (record.FIELDS, record.CLOCK_FIELDS, record.SAMPLE_FIELDS):
        assert all(f"| `{field.name}` |" in page for field in each)
        assert all(field.low <= field.high and field.unit and field.meaning for field in each)
    assert f"{rows.RECORD.itemsize / 1e3:.1f} kB a series" in page


def test_one_value_at_a_time_and_a_whole_array_and_many_series_agree_to_the_last_bit():
    together, moments = Prophecy().predict_all(ALL), Prophecy(len(ALL))
    at_a_moment = []
    for row in ALL.T:
        moments.observe(row)
        at_a_moment.append(moments.predict().point)
    np.testing.assert_array_equal(np.array(at_a_moment).T, together)
    for row, y in zip(ALL, together, strict=True):
        model, alone = Prophecy(), []
        for value in row:
            model.observe(float(value))
            alone.append(model.predict().point)
        np.testing.assert_array_equal(alone, y)


@given(cuts=st.lists(st.integers(0, 1000), max_size=6), series=st.sampled_from(sorted(SERIES)))
@settings(max_examples=25, deadline=None)
def test_pieces_of_any_length_make_the_whole(cuts, series):
    u, whole, pieces = SERIES[series], Prophecy(context=50), Prophecy(context=50)
    track = whole.follow(u)
    parts = [pieces.follow(part) for part in np.split(u, sorted(cuts)) if len(part)]
    for name in ("point", "lower", "upper", "score"):
        np.testing.assert_array_equal(np.concatenate([getattr(part, name) for part in parts]), getattr(track, name))
    np.testing.assert_array_equal(pieces._stream.regular_context(), whole._stream.regular_context())
    assert pieces._stream.records.tobytes() == whole._stream.records.tobytes()


@pytest.mark.parametrize("workers", [1, 2, 3, 7])
def test_any_number_of_threads_gives_the_same_records(workers):
    together = channels.Channels(len(ALL), None, False, 1, DEFAULT, workers)
    together.run(ALL.T, None)
    for s in reversed(range(len(ALL))):  # in another order, too, and on its own
        alone = channels.Channels(1, None, False, 1, DEFAULT)
        alone.run(ALL[s][:, None], None)
        for parts, part in zip(together.arrays().values(), alone.arrays().values(), strict=True):
            assert parts[s : s + 1].tobytes() == part.tobytes()


def test_a_sensor_that_sticks_for_long_leaves_intervals_as_they_were():
    rng = np.random.default_rng(1001)
    u = np.concatenate([rng.normal(size=500), np.zeros(60_000), rng.normal(size=800)])
    track = Prophecy().follow(u)
    held = (track.lower <= u) & (u <= track.upper)
    assert 0.86 < held[-700:].mean() < 0.94
    assert (track.score[-700:] > 2.0).mean() < 0.03


@pytest.mark.parametrize("gaps", ["predict", "hold"])
@pytest.mark.parametrize("by_time", [False, True])
def test_values_that_always_come_after_gaps_teach(gaps, by_time):
    """Entry 3 of the defects: every other value missing, or timestamps at every other step."""
    k = np.arange(6000)
    clean = np.sin(k / 50.0)
    model = Prophecy(dt=1.0 if by_time else None, gaps=gaps)
    if by_time:
        track = model.follow(clean[::2], time=k[::2].astype(float))
        seen = clean[::2]
    else:
        track = model.follow(np.where(k % 2, np.nan, clean))
        track = type(track)(*(part[::2] for part in track))
        seen = clean[::2]
    assert np.isfinite(track.upper[3:]).all()
    # "hold" was asked to take the last value for true in every gap, so it remembers a staircase.
    assert np.abs(track.point - seen)[500:].max() < (1e-9 if gaps == "predict" else 0.06)
    assert np.median(track.score[500:]) > 0.1


@pytest.mark.parametrize("every", [2, 3, 5])
def test_a_walk_seen_every_few_steps_is_predicted_as_well_as_it_can_be(every):
    walk = np.cumsum(np.random.default_rng(every).normal(size=12_000 * every // 2))
    u = np.where(np.arange(len(walk)) % every, np.nan, walk)
    track = Prophecy().follow(u)
    here = slice(1000 * every, None, every)
    error = (track.point - walk)[here]
    assert np.sqrt(np.mean(error**2)) == pytest.approx(np.sqrt(every), rel=0.06)
    assert np.mean((track.lower <= walk)[here] & (walk <= track.upper)[here]) == pytest.approx(0.9, abs=0.015)
    assert np.mean(track.score[here] > 1.0) == pytest.approx(0.1, abs=0.015)


def test_a_gap_leaves_a_line_behind():
    u = np.cumsum(np.random.default_rng(5).normal(size=700))
    model = Prophecy()
    model.observe(u[:600])
    model.observe([np.nan] * 9)
    model.observe(u[609])
    # What stood in for the missing values was a path of predictions; corrected, it ends at the value that came.
    lag = model._stream.records["lag"][0]
    assert lag[0] == u[609]
    assert np.abs(np.diff(lag[:11])).max() < 2 * (abs(u[609] - u[599]) / 10 + 1)


@given(st.lists(st.integers(0, 12), min_size=40, max_size=80), st.integers(0, 100))
@settings(max_examples=30, deadline=None)
def test_a_corrected_gap_is_the_memory_of_the_line(gaps, seed):
    """The memories after a gap are those of a stream that was given the corrected values themselves."""
    rng = np.random.default_rng(seed)
    model, twin = Prophecy(), Prophecy()
    for length in gaps:
        value = float(rng.normal())
        records = model._stream.records
        path = [model.predict().point]
        rolled = Prophecy()
        rolled._stream.records, rolled._stream.rings = records.copy(), model._stream.rings.copy()
        for _ in range(length):
            rolled.observe(np.nan)
            path.append(rolled.predict().point)
        model.observe([np.nan] * length + [value])
        if model.count == length + 1:  # before the first value there is no path
            twin.observe(value)
            continue
        slope = (value - path[-1]) / (length + 1)
        twin.observe([said + slope * (i + 1) for i, said in enumerate(path[:-1])] + [value])
        mine, its = model._stream.records[0], twin._stream.records[0]
        for name in ("lag", "alternation"):
            np.testing.assert_allclose(mine[name], its[name], rtol=0, atol=1e-11)
        np.testing.assert_allclose(mine["feature"][:114], its["feature"][:114], rtol=0, atol=1e-11)


@pytest.mark.parametrize("before", [[5.0], [5.0] * 2, [20.0] * 1000, [0.0] * 50, [1e9 + 0.1] * 300, [3.7] * 5000])
@pytest.mark.parametrize("jump", [0.1, 1.0, 1e6])
def test_the_first_change_after_a_constant_scores_by_how_long_it_was_constant(before, jump):
    """Entry 6 of the defects: it was 1e197, or infinite."""
    model = Prophecy()
    model.observe(before)
    assert model.score(before[0]) == 0.0
    assert model.score(before[0] + jump) == pytest.approx(np.log10(len(before)), abs=1e-9)
    model.observe(before[0] + jump)
    assert 0.0 <= model.score(before[0] + 2 * jump) <= 15.0


def test_scores_end_at_15():
    u = np.sin(np.arange(500) / 10) + 1e-3 * np.random.default_rng(0).normal(size=500)
    model = Prophecy()
    model.observe(u)
    assert model.score(1e75) == 15.0
    assert 0.0 <= model.score(model.predict().point) < 1e-3


def test_nothing_known_is_nan():
    """Entry 8 of the defects."""
    model = Prophecy()
    track = model.follow([np.nan, np.nan, 2.0, 2.5])
    assert np.isnan(track.point[:3]).all()
    assert track.point[3] == 2.0
    channels = Prophecy(2)
    channels.observe([[1.0, np.nan], [2.0, np.nan]])
    ahead = channels.predict()
    assert np.isfinite(ahead.point[0])
    assert np.isnan([ahead.point[1], ahead.lower[1], ahead.upper[1], channels.derivative()[1]]).all()


def test_a_context_too_short_for_forecasts_is_called_so():
    """Entry 9 of the defects: it advised to observe longer, which cannot help."""
    model = Prophecy(context=1)
    model.observe(np.arange(100.0))
    with pytest.raises(ValueError, match=r"this model keeps 1; make it with context="):
        model.forecast(3)
