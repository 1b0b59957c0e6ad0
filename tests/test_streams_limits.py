"""One table of limits (`streams.limits`, `streams.record`) holds for what is loaded and for what a step leaves.

Numbers of a state are forged, anything within the limits of their fields; what loads must go on through whatever values
and times, with finite answers, and every state after that must load again and answer alike.
"""

from __future__ import annotations

import functools
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prophecy.fleet import Single
from prophecy.fleet.states import RECENT, pack, unpack
from prophecy.streams.limits import FACTOR, LARGEST, LARGEST_TIME, MOST, RING, WALKED
from prophecy.streams.record import CLOCK_FIELDS, FIELDS, SAMPLE_FIELDS

PARTS = {"record": FIELDS, "clock": CLOCK_FIELDS, "samples": SAMPLE_FIELDS}
EVERY = [(part, field) for part, fields in PARTS.items() for field in fields]
WILD = (LARGEST, -LARGEST, 5e-324, np.nan, np.nan, 1e-150, -1.0, 3.0, 3.0)
JUMPS = (1.0, 0.4, 40.0, 1.0, 300.0, -7.0, 1e25, 1.0, 1e-9)


@functools.cache
def state(kind):
    """Without times, at irregular ones, and at regular ones with a season that is known."""
    n = 700 if kind == "season" else 300
    rng, stream = np.random.default_rng(1), Single()
    times = {"none": None, "irregular": np.cumsum(rng.exponential(1.0, n)), "season": np.arange(n) * 1.0}[kind]
    stream.follow(np.sin(2 * np.pi * np.arange(n) / 24) + 0.1 * rng.standard_normal(n), times)
    return stream.state()


def forged(kind, changes):
    """A state with changed numbers, each put within the limits of its field; None if it does not load."""
    parts = unpack(state(kind))
    for part, field, place, number in changes:
        some = parts[part][field.name].reshape(-1)
        where = slice(None) if place is None else place % some.size
        with np.errstate(invalid="ignore"):
            some[where] = np.clip(number, field.low, field.high).astype(some.dtype)
    record = parts["record"]
    record["feature"][:, : record["lag"].shape[1]] = record["lag"] - record["last"][:, None]
    parts["ring"] = np.resize(parts["ring"], int(min(record["count"][0], RING)))
    try:
        return Single(pack(parts))
    except ValueError:
        return None


def goes_on(stream, kind, values=WILD, jumps=JUMPS):
    now, again = 700.0, Single(stream.state())
    for value, jump in zip(values, jumps, strict=True):
        now = float(np.clip(now + jump, -LARGEST_TIME, LARGEST_TIME))
        said, alike = (one.observe(value, None if kind == "none" else now) for one in (stream, again))
        assert repr(said) == repr(alike)
        if said.status == "taken":
            assert np.isfinite([said.point, said.score, said.next]).all()
        again = Single(stream.state())


@pytest.mark.parametrize("kind", ["none", "irregular", "season"])
@pytest.mark.parametrize("end", ["low", "high"])
def test_a_field_at_its_limit_leads_to_no_state_that_does_not_load(kind, end):
    """Counters went beyond 2^53, predictions beyond 1e80, readouts beyond 1e200: of 4 000 forged states 67 led to one
    that was refused."""
    loaded = 0
    for part, field in EVERY:
        for place in (None, -1) if field.shape else (None,):
            stream = forged(kind, [(part, field, place, getattr(field, end))])
            if stream is not None:
                loaded += 1
                goes_on(stream, kind)
    assert loaded > len(EVERY)


EXTREME = st.one_of(
    st.floats(-LARGEST, LARGEST), st.sampled_from([np.nan, LARGEST, -LARGEST, 0.0]), st.floats(-10.0, 10.0)
)
ANY = st.one_of(
    st.sampled_from([-np.inf, np.inf, 0.0, 1.0]),
    st.floats(allow_nan=False),
    st.floats(-300.0, 200.0).map(lambda e: 10.0**e),
)
CHANGE = st.tuples(st.sampled_from(EVERY), st.none() | st.integers(0, 2000), ANY).map(lambda one: (*one[0], *one[1:]))
STEP = st.tuples(EXTREME, st.sampled_from(JUMPS) | st.floats(-LARGEST_TIME, LARGEST_TIME))


@settings(max_examples=150)
@given(
    kind=st.sampled_from(["none", "irregular", "season"]),
    changes=st.lists(CHANGE, min_size=1, max_size=4),
    steps=st.lists(STEP, min_size=1, max_size=12),
)
def test_whatever_is_forged_within_the_limits_and_loads_goes_on_and_loads_again(kind, changes, steps):
    stream = forged(kind, changes)
    if stream is not None:
        goes_on(stream, kind, *zip(*steps, strict=True))


def test_counters_stay_at_the_largest():
    for name in ("count", "known", "learned", "alarm_seen", "season_seen", "gap_seen", "alarm_records"):
        field = next(field for field in FIELDS if field.name == name)
        some = [field, *(one for one in FIELDS if one.name in ("count", "known", "alarm_weight"))]
        stream = forged("season", [("record", one, None, MOST) for one in some])
        for k in range(40):
            stream.observe(np.sin(k), 700.0 + k)
        assert unpack(stream.state())["record"][name].max() == MOST, name
    parts = unpack(state("none"))
    head, recent = parts["head"].copy(), np.resize(parts["recent"], RECENT)
    head["rows"] = MOST
    stream = Single(pack({**parts, "head": head, "recent": recent}))
    stream.observe(1.0)
    assert unpack(Single(stream.state()).state())["head"]["rows"] == MOST


@pytest.mark.parametrize(
    ("name", "place", "number", "says"),
    [
        ("same", None, 400, "same of stream 0 must be at most learned"),
        ("doubts", None, 1, "doubts of stream 0 must be at most gap"),
        ("season_on", None, 0, r"weight\[119\] of stream 0 must be .* 0 while a member sleeps"),
        ("alarm_middle", 0, 9.0, r"alarm_middle\[0, 0\] of stream 0 must not fall"),
        ("alarm_weight", 0, 0.0, r"alarm_weight\[0, 0\] of stream 0 must be 1 or more"),
        ("factor", slice(2), FACTOR, "factor of stream 0 must have a size of at most 1e+108"),
    ],
)
def test_what_no_stream_reaches_and_a_step_could_not_hold_is_refused_by_name(name, place, number, says):
    parts = unpack(state("none"))
    parts["record"][name].reshape(-1)[slice(None) if place is None else place] = number
    with pytest.raises(ValueError, match=says.replace("+", r"\+")):
        Single(pack(parts))


def test_a_value_after_any_number_of_missing_ones_costs_no_more_than_after_a_walked_hole():
    """What stood in for missing values is mended step by step: for 2^53 of them that was for ever."""
    gap = [field for field in FIELDS if field.name in ("count", "gap", "crossed")]
    stream = forged("none", [("record", field, None, field.high) for field in gap])
    stream.observe(1.0)
    assert unpack(stream.state())["record"]["gap"] == 0
    stream, began = Single(), time.perf_counter()
    stream.follow(np.append(0.1 * np.arange(100.0), np.full(10 * WALKED, np.nan)))
    walked, began = time.perf_counter() - began, time.perf_counter()
    stream.observe(1.0)
    assert time.perf_counter() - began < 0.1 * walked
