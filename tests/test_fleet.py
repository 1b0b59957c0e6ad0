"""`Fleet`: each key is predicted as by a `Prophecy` of its own, whatever the batches, the memory and the file."""

from __future__ import annotations

import math
import subprocess
import sys
import threading
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import prophecy
from prophecy import Prophecy
from prophecy.fleet import Fleet, Refused, Single
from prophecy.fleet.events import TOGETHER
from prophecy.fleet.slots import BYTES
from prophecy.fleet.states import unpack
from prophecy.streams.limits import WALKED

KEYS = ("pump", "fan", "ümlaut ☃", "a b\tc")


def signals(count, seed=0):
    rng = np.random.default_rng(seed)
    k = np.arange(count)
    noise = rng.standard_normal((len(KEYS), count))
    return {
        KEYS[0]: np.sin(k / 7) + 0.1 * noise[0],
        KEYS[1]: np.cumsum(noise[1]),
        KEYS[2]: np.round(20 + noise[2], 1),
        KEYS[3]: np.where(noise[3] > 1.5, np.nan, noise[3]),
    }


def mixed(count, seed=0):
    """Rows of all keys in a random order between keys: keys, times, values."""
    rng = np.random.default_rng(seed + 1)
    found = signals(count, seed)
    order = rng.permutation(np.repeat(np.arange(len(KEYS)), count))
    place = dict.fromkeys(KEYS, 0)
    keys, times, values = [], [], []
    for i in order.tolist():
        key = KEYS[i]
        keys.append(key)
        times.append(1e9 + 10.0 * place[key] * (1 + i))
        values.append(found[key][place[key]])
        place[key] += 1
    return keys, np.array(times), np.array(values)


def alone(keys, times, values, level=0.9):
    """The same rows through one `Prophecy` per key: mean, lower, upper, score, alarm, and what is said after each."""
    models, rows = {}, []
    for k, (key, value) in enumerate(zip(keys, values, strict=True)):
        model = models.setdefault(key, Prophecy())
        time = None if times is None else times[k : k + 1]
        track = model.follow(np.array([value]), level, time)
        ahead = model.predict(level)
        rows.append([*(float(part[0]) for part in track), ahead.point, ahead.lower, ahead.upper])
    return np.array(rows)


def answered(answers):
    parts = (answers.point, answers.lower, answers.upper, answers.score, answers.alarm)
    return np.column_stack([*parts, answers.next, answers.next_lower, answers.next_upper])


def in_batches(fleet, keys, times, values, sizes):
    rows, start = [], 0
    while start < len(keys):
        stop = start + next(sizes)
        part = slice(start, stop)
        rows.append(answered(fleet.observe(keys[part], values[part], time=None if times is None else times[part])))
        start = stop
    return np.concatenate(rows)


def sizes_of(seed):
    rng = np.random.default_rng(seed)
    while True:
        yield int(rng.integers(1, 90))


@pytest.fixture(params=["memory", "file"])
def path(request, tmp_path):
    return tmp_path / "fleet.state" if request.param == "file" else None


@pytest.mark.parametrize("timed", [True, False])
def test_every_answer_is_that_of_a_prophecy_per_key_to_the_last_bit(path, timed):
    keys, times, values = mixed(120)
    stamps = times if timed else None
    with Fleet(path, level=0.8) as fleet:
        made = in_batches(fleet, keys, stamps, values, sizes_of(0))
    np.testing.assert_array_equal(made, alone(keys, stamps, values, 0.8))


def test_streams_that_do_not_fit_in_memory_come_back_to_the_last_bit(path):
    keys, times, values = mixed(150)
    with Fleet(path, memory=2 * BYTES) as fleet:
        made = in_batches(fleet, keys, times, values, sizes_of(1))
        assert fleet.facts()["in memory"] <= 2
        assert len(fleet) == 4
    np.testing.assert_array_equal(made, alone(keys, times, values))


@settings(deadline=None, max_examples=12)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(-3, 6), st.floats(-1e6, 1e6)), min_size=1, max_size=60))
def test_odd_clocks_are_read_as_prophecy_reads_them(rows):
    keys, times, now = [], [], [0.0, 0.0, 0.0]
    for key, step, _ in rows:
        now[key] += step
        keys.append(str(key))
        times.append(now[key])
    values, times = np.array([value for *_, value in rows]), np.array(times)
    fleet = Fleet(memory=2 * BYTES)
    np.testing.assert_array_equal(in_batches(fleet, keys, times, values, sizes_of(2)), alone(keys, times, values))


def test_late_rows_say_so_and_change_nothing():
    fleet, twin = Fleet(), Fleet()
    for one in (fleet, twin):
        one.observe("a", np.sin(np.arange(50.0)), time=np.arange(50.0))
    answers = fleet.observe(["a", "b"], [9.0, math.nan], time=[30.0, 30.0])
    assert answers.status == ["late", "missing"]
    assert repr(answers) == "Answers to 2 rows (0 taken, 1 late, 1 missing, 0 repeated)"
    assert np.isnan(answers.score[0])
    assert fleet.predict(["a"]).point == twin.predict(["a"]).point
    assert fleet.observe("a", [0.1], time=[50.0]).status == ["taken"]
    assert len(fleet.recent("a").value) == 51
    late = fleet.observe("a", [99.0], time=[7.0])
    assert late.status == ["late"]
    row = fleet.summary(["a"]).rows[0]
    assert (row.count, row.time, row.value) == (51, 50.0, 0.1)


def test_four_late_rows_in_a_row_mean_a_clock_set_back():
    fleet = Fleet()
    fleet.observe("a", np.sin(np.arange(50.0)), time=np.arange(1000.0, 1050.0))
    assert fleet.observe("a", np.zeros(4), time=np.arange(4.0)).status == ["late", "late", "late", "taken"]
    assert fleet.observe("a", [0.0], time=[4.0]).status == ["taken"]


@pytest.mark.parametrize("kind", ["even", "with gaps", "jitter", "irregular"])
def test_rows_that_came_before_are_dropped_and_said(tmp_path, kind):
    """The same file once more, and again with news: only these are taken, and the stream is as if sent once."""
    rng = np.random.default_rng(3)
    count = 100 if kind == "irregular" else 3000
    time = 60.0 * np.arange(count) + {"jitter": 3.0}.get(kind, 0.0) * rng.random(count)
    time = np.cumsum(rng.exponential(60.0, count)) if kind == "irregular" else time
    values = np.sin(np.arange(count) / 9) + 0.1 * rng.standard_normal(count)
    values[count // 3 : count // 2] = np.nan if kind == "with gaps" else values[count // 3 : count // 2]
    more, news = np.append(time, time[-1] + [60.0, 120.0]), np.append(values, [0.5, 0.6])
    with Fleet(tmp_path / "s") as fleet, Fleet() as twin:
        twin.observe("a", news, time=more)
        fleet.observe("a", values, time=time)
        assert {*fleet.observe("a", values, time=time).status} == {"repeated"}
        assert fleet.observe("a", news, time=more).status == ["repeated"] * count + ["taken"] * 2
        for _ in range(5):
            assert fleet.observe("a", [0.6], time=more[-1:]).status == ["repeated"]  # and not a clock that was set
        assert fleet.predict(["a"]).point == twin.predict(["a"]).point
        assert fleet.summary(["a"]).rows[0].count == count + 2
    with Fleet(tmp_path / "s") as fleet:
        assert not fleet.problems()
        assert fleet.observe("a", [0.6], time=more[-1:]).status == ["repeated"]


def test_another_value_at_a_time_that_came_before_is_late(tmp_path):
    fleet = Fleet()
    fleet.observe("a", np.sin(np.arange(500.0)), time=np.arange(500.0))
    again = np.sin(np.arange(500.0)[[200, 300, 400, 450]]) + 1e-9
    assert fleet.observe("a", again, time=[200.0, 300.0, 400.0, 450.0]).status == ["late", "late", "late", "taken"]


@pytest.mark.parametrize(
    ("keys", "times", "values", "row", "field"),
    [
        (["a", ""], [60.0, 60.0], [1.0, 2.0], 1, "key"),
        (["a", 7], [60.0, 60.0], [1.0, 2.0], 1, "key"),
        (["a", "x" * 513], [60.0, 60.0], [1.0, 2.0], 1, "key"),
        (["a", "\ud800"], [60.0, 60.0], [1.0, 2.0], 1, "key"),
        (["a", "b\0c"], [60.0, 60.0], [1.0, 2.0], 1, "key"),
        (["a", "b"], [60.0, math.nan], [1.0, 2.0], 1, "time"),
        (["a", "b"], [60.0, 1e31], [1.0, 2.0], 1, "time"),
        (["a", "b"], [60.0, 60.0], [1.0, math.inf], 1, "value"),
        (["a", "b"], [60.0, 60.0], [1.0, 1e80], 1, "value"),
        (["a", "b"], [60.0, 60.0], [1.0, "x"], 1, "value"),
        (["a", "b"], [60.0, 60.0], [None, 1.0], 0, "value"),
        (["b", "a"], None, [1.0, 2.0], 1, "time"),
        (["a", "untimed"], [60.0, 60.0], [1.0, 2.0], 1, "time"),
        (["b", "a"], np.array(["2026-01-01", "2026-01-01"], "datetime64[s]"), [1.0, 2.0], 1, "time"),
    ],
)
def test_one_bad_row_refuses_the_batch_and_names_itself(path, keys, times, values, row, field):
    with Fleet(path) as fleet:
        fleet.observe("a", np.sin(np.arange(50.0)), time=np.arange(50.0))
        fleet.observe("untimed", [1.0, 2.0])
        before = (fleet.summary(), list(fleet), fleet.facts())
        with pytest.raises(Refused) as refused:
            fleet.observe(keys, values, time=times)
        assert (refused.value.row, refused.value.field) == (row, field)
        assert str(before) == str((fleet.summary(), list(fleet), fleet.facts()))


def test_arguments_of_the_wrong_shape_are_named():
    fleet = Fleet()
    with pytest.raises(ValueError, match="values must be one for each of 1 keys"):
        fleet.observe(["a"], [1.0, 2.0])
    with pytest.raises(ValueError, match="times must be one for each"):
        fleet.observe(["a", "b"], [1.0, 2.0], time=[1.0])
    with pytest.raises(TypeError, match="values"):
        fleet.observe(["a"], np.array(["x"]))
    with pytest.raises(ValueError, match="level"):
        fleet.predict(level=1.5)
    with pytest.raises(ValueError, match="rate"):
        Fleet(rate=0)
    for call in (fleet.forecast, fleet.recent):
        with pytest.raises(KeyError, match="nobody"):
            call("nobody", 3)
    for told in (fleet.explain, fleet.model, fleet.remove):
        with pytest.raises(KeyError, match="nobody"):
            told("nobody")
    with pytest.raises(KeyError, match="nobody"):
        fleet.predict(["nobody"])
    assert len(fleet) == 0


def test_an_empty_batch_is_answered_with_nothing(path):
    with Fleet(path) as fleet:
        assert len(fleet.observe([], [], time=[])) == 0


def test_an_outlier_raises_a_numbered_event_once(path):
    rng = np.random.default_rng(3)
    values = rng.standard_normal(600)
    values[500] = 30.0
    with Fleet(path, rate=1e-4) as fleet:
        answers = fleet.observe("a", values)
        events = fleet.events()
        hit = [event for event in events if event.value == 30.0]
        assert len(hit) == 1
        assert hit[0].score > 4
        assert all(event.alarm >= 1 - 1e-4 / 2 for event in events)
        assert answers.event[500] == hit[0].number
        assert [event.number for event in events] == [n for n in answers.event if n]
        assert fleet.last_event == events[-1].number
        assert fleet.events(since=fleet.last_event) == []
        assert fleet.events(key="a", limit=1) == events[:1]
        assert fleet.summary().rows[0].event == fleet.last_event


@pytest.mark.parametrize("walk", [False, True])
def test_ordinary_streams_raise_events_at_the_stated_rate_and_young_ones_none(walk):
    rng = np.random.default_rng(8)
    values = rng.standard_normal((200, 300))
    values = values.cumsum(axis=0) if walk else values
    fleet = Fleet(rate=2e-3)
    keys = [str(k) for k in range(300)]
    events = np.stack([fleet.observe(keys, row).event for row in values])
    assert not events[:64].any()
    assert (events[64:] > 0).mean() < 2 * 2e-3
    assert fleet.last_event == np.count_nonzero(events)


def test_forecast_derivative_and_words_are_those_of_prophecy():
    values = np.sin(np.arange(200) / 5)
    model, fleet = Prophecy(), Fleet()
    model.observe(values, np.arange(200.0) / 10)
    fleet.observe("a", values, time=np.arange(200.0) / 10)
    np.testing.assert_array_equal(fleet.forecast("a", 5).point, model.forecast(5).point)
    assert fleet.model("a").derivative() == model.derivative()
    assert fleet.explain("a") == model.explain()


def test_dates_are_remembered_as_dates():
    fleet = Fleet()
    dates = np.datetime64("2026-01-01T00:00") + np.arange(20) * np.timedelta64(60, "s")
    assert fleet.observe("a", np.arange(20.0), time=dates).dated.all()
    fleet.observe("b", np.arange(3.0), time=np.arange(3.0))
    assert [row.dated for row in fleet.summary().rows] == [True, False]
    assert fleet.recent("a").time[-1] == dates[-1].astype("datetime64[s]").astype(int)


@pytest.mark.parametrize("year", ["0001", "1600", "1969", "2026", "9999"])
def test_dates_of_any_year_are_the_seconds_since_1970(year):
    date = np.array([f"{year}-03-01T12:34:56.789"], "datetime64[ms]")
    exact = date.astype("datetime64[ms]").astype(np.int64) / 1e3
    assert Fleet().observe("a", [1.0], time=date).time == pytest.approx(exact, rel=1e-15)


def test_keys_are_searched_paged_removed_and_begin_afresh(path):
    with Fleet(path) as fleet:
        fleet.observe([f"Room {k:03d}" for k in range(30)], np.arange(30.0))
        page = fleet.summary(search="room 01", offset=2, limit=3)
        assert ([row.key for row in page.rows], page.total) == (["Room 012", "Room 013", "Room 014"], 10)
        assert "Room 003" in fleet
        fleet.remove("Room 003")
        assert "Room 003" not in fleet
        assert len(list(fleet)) == 29
        fleet.observe("Room 003", [5.0])
        assert fleet.summary(["Room 003"]).rows[0].count == 1


def test_keys_are_found_in_any_case_and_script():
    fleet = Fleet()
    fleet.observe(["ÀB", "straße", "x"], [1.0, 2.0, 3.0])
    for search, found in (("àb", "ÀB"), ("STRASSE", "straße")):
        page = fleet.summary(search=search)
        assert ([row.key for row in page.rows], page.total) == ([found], 1)


def test_threads_may_observe_and_ask_at_once():
    fleet, seen, errors = Fleet(memory=3 * BYTES), {}, []

    def work(name):
        try:
            values = np.random.default_rng(len(name)).standard_normal(200)
            seen[name] = (values, np.concatenate([fleet.observe(name, [v]).next for v in values]))
            fleet.summary(), fleet.events(), fleet.recent(name)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=("k" * k,)) for k in range(1, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    for values, said in seen.values():
        model = Prophecy()
        for value, mean in zip(values.tolist(), said, strict=True):
            model.observe(value)
            assert model.predict().point == mean


def test_a_closed_fleet_says_so(path):
    fleet = Fleet(path)
    fleet.close()
    fleet.close()
    assert "closed" in repr(fleet)
    with pytest.raises(ValueError, match="closed"):
        fleet.observe("a", [1.0])


def test_importing_prophecy_does_not_load_the_fleet():
    code = (
        "import sys, prophecy; assert 'prophecy.fleet' not in sys.modules and 'sqlite3' not in sys.modules; "
        "prophecy.Fleet; assert 'prophecy.fleet' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert "Fleet" in prophecy.__all__
    with pytest.raises(AttributeError, match="no attribute 'Flet'"):
        prophecy.Flet  # noqa: B018


@pytest.mark.parametrize("digits", [None, 1, 0])
@pytest.mark.parametrize("size", [1, 7, 405, 600])
def test_a_lone_spike_is_an_error_in_whatever_batches_it_comes(digits, size):
    values = np.sin(np.arange(600) * 2 * np.pi / 37)
    values = values if digits is None else np.round(values, digits)
    values[400] = 100.0
    fleet = Fleet()
    for start in range(0, 600, size):
        fleet.observe("a", values[start : start + size])
    assert [event.kind for event in fleet.events() if event.value == 100.0] == ["error"]


def test_events_of_a_stretch_have_the_kind_of_their_own_row_or_none():
    rng = np.random.default_rng(3)
    values = np.concatenate(
        [np.round(rng.standard_normal((6, 500)), 1), rng.choice([0.5, 6.0, 0.0], (6, 1)) + np.zeros((6, 300))], axis=1
    )
    keys = [f"k{n}" for n in range(6)]
    together, single = Fleet(), Fleet()
    for key, row in zip(keys, values, strict=True):
        together.observe(key, row)
        for value in row:
            single.observe(key, [value])
    own = [(event.key, event.value, event.kind) for event in single.events()]
    assert {kind for _, _, kind in own} - {"error"}
    for (key, value, kind), event in zip(own, together.events(), strict=True):
        assert (event.key, event.value) == (key, value)
        assert event.kind == kind


@pytest.mark.parametrize("size", [7, 900])
def test_of_every_disturbance_one_event_is_the_first(path, size):
    rng = np.random.default_rng(4)
    values = rng.standard_normal((900, 2))
    values[300:] += 12.0
    values[700], values[735] = 90.0, -900.0  # two spikes of one disturbance
    with Fleet(path, rate=1e-4) as fleet:
        for start in range(0, 900, size):
            some = values[start : start + size]
            fleet.observe(["pump", "fan"] * len(some), some.ravel())
        events, first = fleet.events(), fleet.events(first=True)
    for key in ("pump", "fan"):
        own = [event for event in events if event.key == key]
        begun = [event for event in own if event.fault == event.number]
        assert [event for event in first if event.key == key] == begun
        assert [event.place for event in begun if event.place in (300, 700)] == [300, 700]
        assert [event.fault for event in own if event.place == 735] == [e.number for e in own if e.place == 700]
        for last, event in pairwise(own):
            assert (event.fault == last.fault) == (event.place - last.place <= TOGETHER)
    assert [event.number for event in first] == sorted({event.fault for event in events})


@pytest.mark.parametrize("timed", [False, True])
def test_recent_rows_carry_the_events_they_raised_through_eviction_and_reopening(tmp_path, timed):
    rng = np.random.default_rng(8)
    values = rng.standard_normal((3, 420))
    values[:, [130, 300, 419]] = 80.0
    keys, raised = ["a", "b", "c"], {key: [] for key in "abc"}
    path = tmp_path / "plant.db"
    for start in range(0, 420, 60):
        with Fleet(path, memory=2 * BYTES) as fleet:
            for k in range(start, start + 60, 20):
                for key, row in zip(keys, values, strict=True):
                    times = np.arange(k, k + 20, dtype=float) if timed else None
                    raised[key] += fleet.observe(key, row[k : k + 20], time=times).event.tolist()
                if timed:
                    fleet.observe("a", [7.0], time=[k - 1.0])  # late, so not among them
            for key in keys:
                assert fleet.recent(key).event.tolist() == raised[key][-256:]
                assert fleet.recent(key, 10).event.tolist() == raised[key][-10:]
    with Fleet(path) as fleet:
        numbers = {event.number: event.value for event in fleet.events(key="b")}
        assert [event.place for event in fleet.events(key="b")] == np.flatnonzero(raised["b"]).tolist()
        recent = fleet.recent("b")
        assert np.count_nonzero(recent.event) >= 2
        for number, value in zip(recent.event.tolist(), recent.value.tolist(), strict=True):
            assert number == 0 or numbers[number] == value


@pytest.mark.parametrize("lengths", [(59.3, 60.0, 0.001), (3.7e6, 0.9, 5.3e-6)])
@pytest.mark.parametrize("begun", [0, 5, 200])
@pytest.mark.parametrize("steps", [1, 2**12])
def test_rows_that_pass_many_places_are_taken_until_a_transaction_has_had_its_steps(lengths, begun, steps):
    """118 of 120 such rows went into one transaction, which took seconds. A clock walks through as many steps of holes
    as it may in one row, and only the last row of a transaction may do so."""
    rng = np.random.default_rng(begun)
    times = np.cumsum(np.concatenate([np.full(begun, 60.0), rng.choice(lengths, 60)]))
    fleet, whole, done = Fleet(), Fleet(), 0
    told = whole.observe("a", np.sin(times), time=times).rows
    said, walked = [], 0
    while done < len(times):
        said.append(fleet.observe_some("a", np.sin(times[done:]), times[done:], steps).rows)
        done += len(said[-1])
        before, walked = walked, int(fleet._streams.held.slots._clocks["walked"][0])
        assert len(said[-1]) <= steps
        assert walked - before <= steps // 3 + WALKED
    np.testing.assert_array_equal(np.concatenate(said)["next"], told["next"])


def test_ordinary_rows_are_taken_by_thousands_and_streams_put_aside_count_as_well():
    fleet = Fleet(memory=100 * BYTES)
    names = [f"k{k}" for k in range(100)]
    for k in range(3):
        fleet.observe(names, np.arange(100.0), time=np.full(100, float(k)))
    jitter = np.random.default_rng(0).uniform(-0.1, 0.1, 5000)
    assert (
        len(fleet.observe_some(names * 50, np.zeros(5000), 3.0 + np.repeat(np.arange(50.0), 100) + jitter, 2**14))
        == 5000
    )
    others = [f"j{k}" for k in range(400)]
    assert len(fleet.observe_some(others, np.zeros(400), np.zeros(400), 2**14)) == 100  # what there is room for
    assert len(fleet.observe_some(names, np.zeros(100), np.full(100, 53.0), 800)) == 10


def test_rows_are_checked_without_being_taken():
    fleet = Fleet()
    fleet.observe("a", [1.0], time=[1.0])
    fleet.check("a", [2.0], [2.0])
    with pytest.raises(Refused, match="row 1: value must be at most"):
        fleet.check("a", [2.0, 1e99], [2.0, 3.0])
    with pytest.raises(Refused, match="give one kind always"):
        fleet.check("a", [2.0])
    assert fleet.recent("a").value.tolist() == [1.0]


def wild(seed):
    """Times and values of a stream that nobody should send and everybody may: subnormal, alternating, huge, equal."""
    rng = np.random.default_rng(seed)
    rows, low = int(rng.integers(20, 200)), 5e-324
    steps = (
        10.0 ** rng.uniform(-300, 28, rows),
        rng.choice(10.0 ** rng.uniform(-12, 12, 3), rows),
        np.abs(rng.standard_cauchy(rows)) * 10.0 ** rng.uniform(-20, 20),
        rng.choice([-1, 1], rows) * 10.0 ** rng.uniform(-6, 9, rows),
        rng.choice([0.0, low, 1e-310, 1.0], rows),
    )[seed % 5]
    times = np.clip(np.cumsum(steps), -1e30, 1e30) if seed % 4 else rng.choice([-1e30, 1e30, 0.0, 1.0, low], rows)
    values = (
        rng.choice([-1e75, 1e75], rows),
        rng.choice([-1, 1], rows) * 10.0 ** rng.uniform(-323, 75, rows),
        np.where(np.arange(rows) % 2, 1e75, -1e75),
        rng.choice([low, -low, 0.0, 1e-310], rows),
        np.cumsum(rng.standard_normal(rows)) * 10.0 ** rng.uniform(-300, 70),
        np.where(rng.random(rows) < 0.1, 1e75, rng.standard_normal(rows)),
    )[seed % 6]
    return times, np.where(rng.random(rows) < rng.choice([0.0, 0.1, 0.9]), np.nan, values)


@pytest.mark.parametrize("part", range(6))
def test_each_state_after_each_value_loads_and_answers_alike(part):
    """Two equal stamps at the beginning led to a state that no file could hold; extreme values and times to states that
    were written otherwise than they were (DEFECTS R 4)."""
    for seed in range(10 * part, 10 * part + 10):
        times, values = wild(seed)
        stream, told = None, Single().follow(values, times)
        for k in range(len(values)):
            loaded = Single(stream)
            (row,) = loaded.follow(values[k : k + 1], times[k : k + 1])
            for name in row.dtype.names:
                np.testing.assert_array_equal(row[name], told[name][k], err_msg=f"seed {seed}, row {k}, {name}")
            stream = loaded.state()
        assert not np.isinf(told["next"]).any()


@pytest.mark.parametrize("period", [7, 12, 24])
def test_a_state_loads_and_answers_alike_right_after_its_season_went_to_sleep(period):
    """Its members had learned under the prior of those awake, and the file was refused until the next value."""
    rng, k = np.random.default_rng(period), np.arange(2000)
    values = np.where(k < 400, 3.0 * np.sin(2 * np.pi * k / period), 0.0) + rng.standard_normal(2000) / 3
    stream, twin, before, slept = Single(), None, 0, 0
    for value in values.tolist():
        answer = stream.observe(value)
        assert twin is None or twin.observe(value) == answer
        found = unpack(stream.state())
        awake = int(found["record"]["season_on"][0]) if "record" in found else 0
        twin = Single(stream.state()) if awake < before else None
        before, slept = awake, slept + (awake < before)
    assert slept


@pytest.mark.parametrize("first", [(1.0, 1.0), (5.0, 5.0, 5.0, 6.0), (3.0, 2.0), (0.0, 0.0, 1e30)])
def test_a_stream_whose_first_stamps_are_equal_or_late_comes_back(tmp_path, first):
    path = tmp_path / "s"
    with Fleet(path) as fleet:
        fleet.observe("a", np.arange(len(first), dtype=float), time=first)
        said = fleet.predict(["a"]).point
    with Fleet(path) as fleet:
        assert not fleet.problems()
        np.testing.assert_array_equal(fleet.predict(["a"]).point, said)


@pytest.mark.parametrize("seed", range(12))
def test_a_stream_at_the_largest_times_and_steps_answers_alike_after_loading(seed):
    """Steps were fitted to stamps that had been moved apart, beyond what a file may hold, and were cut off there."""
    rng = np.random.default_rng(seed)
    count, dt = 300, [1e30, 9e29, 1e29, None][seed % 4]
    step = rng.choice([1e28, 1e29, 3e29]) * np.repeat(10.0 ** rng.choice([-9, 0, 1], 6), count // 6)
    time = np.clip(-1e30 + np.cumsum(step * rng.choice([1.0, -5.0, 0.001], count, p=[0.8, 0.1, 0.1])), -1e30, 1e30)
    values = rng.standard_normal(count)
    kept, loaded = Single(dt=dt), Single(dt=dt)
    for k in range(count):
        assert repr(kept.observe(values[k], time[k])) == repr(loaded.observe(values[k], time[k]))
        if k % 20 == 19:
            loaded = Single(loaded.state(), dt=dt)


def test_a_step_that_no_file_may_hold_is_refused_before_one_is_made(tmp_path):
    for make in (lambda: Fleet(tmp_path / "s", dt=1e40), lambda: Single(dt=1e40), lambda: Prophecy(dt=1e40)):
        with pytest.raises(ValueError, match=r"dt must be at most 1e\+30, got 1e\+40; use another unit"):
            make()
    assert not (tmp_path / "s").exists()


def test_keys_without_a_stream_are_told_at_once(tmp_path):
    with Fleet(tmp_path / "s", memory=2 * BYTES) as fleet:
        fleet.observe(["a", "b", 'c"\\', "ü\u2028"], np.zeros(4), time=np.ones(4))
        assert fleet.unknown(["a", "b", 'c"\\', "ü\u2028", "u", "A", "a" * 512, "d"]) == {"u", "A", "a" * 512, "d"}
        with pytest.raises(Refused, match=r"is missing and was a number until now \(key 'a'\)"):
            fleet.check(["x", "ü\u2028", "a"][::2], [1.0, 2.0])


def test_questions_no_stream_can_answer_are_refused_in_words(tmp_path):
    fleet = Fleet()
    fleet.observe("a", [1.0, 2.0])
    assert fleet.events(since=2**70) == []
    assert fleet.summary(offset=2**70).rows == ()
    assert len(fleet.observe_some([], [], None, 5)) == 0
    assert "\ud800" not in fleet
    assert fleet.summary(search="\ud800").total == 0
    for ask in (fleet.recent, fleet.remove, fleet.model, lambda key: fleet.events(key=key)):
        with pytest.raises(KeyError, match="no stream"):
            ask("\ud800")
    for dt in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(ValueError, match="dt must"):
            Single(dt=dt)
    for level in ("0.9", True, None, 1j):
        with pytest.raises(TypeError, match="level must be a number"):
            Single(level=level)
    with pytest.raises(ValueError, match="memory must be what the machine can give"):
        Fleet(memory=2**60)
    assert len(Fleet(rate=5e-324).observe("a", np.arange(100.0))) == 100
    for name in ("/dev/null", "x" * 300, "x" * 252, "a\0b"):
        with pytest.raises(ValueError, match=r"ordinary file|cannot be opened|cannot be written|null"):
            Fleet(tmp_path / name)
