"""Nothing wild is believed before it is confirmed: spikes leave forecasts as they were, steps are followed."""

from __future__ import annotations

import numpy as np
import pytest

from prophecy import Prophecy
from prophecy.anomalies import find_events

N = 1200
K = np.arange(N)
SIZES = (1e6, 1e4, 500.0, -9999.0)
PLACES = (613, 655, 704, 756, 809, 851, 903, 957, 1001, 1058)


def streams(seed):
    """Streams of about 50 ± 10, and what they are around."""
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal(N)
    season = 50.0 + 8.0 * np.sin(2 * np.pi * K / 50)
    return {
        "noise": (50.0 + 5.0 * noise, 5.0),
        "season": (season + noise, 1.0),
        "trend": (50.0 + 0.05 * K + 2.0 * noise, 2.0),
        "counts": (rng.poisson(50, N) * 1.0, 7.1),
        "ticks": (np.round(2.0 * (season + noise)) / 2.0, 1.0),
        "walk": (50.0 + np.cumsum(0.5 * noise), 0.5),
    }


NAMES = tuple(streams(0))


def events(u):
    return find_events(u, Prophecy().follow(u, level=0.9999), 1e-4)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("places", [PLACES[:1], PLACES], ids=["one", "ten"])
@pytest.mark.parametrize("name", NAMES)
def test_after_spikes_of_any_size_all_is_as_it_would_have_been(name, places, size):
    for seed in range(3):
        u, deviation = streams(seed)[name]
        wild = u.copy()
        wild[list(places)] = size
        without, after = Prophecy().follow(u), Prophecy().follow(wild)
        half = 0.5 * (without.upper - without.lower)
        apart = np.abs(after.point - without.point) / half
        wider = (after.upper - after.lower) / (without.upper - without.lower)
        rest = np.ones(N, bool)
        for place in places:
            rest[place : place + 4] = False
        later = rest & (places[0] <= K)
        assert apart[later].max() < 1.0
        assert wider[later].min() > 0.5
        assert wider[later].max() < 2.5
        error = np.abs(after.point - u)[later].mean()
        assert error < 1.05 * np.abs(without.point - u)[later].mean() + 0.02 * deviation


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", NAMES)
def test_one_spike_is_one_event_named_a_spike(name, size):
    for seed in range(3):
        u, _ = streams(seed)[name]
        before = events(u)
        u[PLACES[0]] = size
        found = [event for event in events(u) if event.first >= PLACES[0]]
        assert [(event.kind, event.first, event.last) for event in found[:1]] == [("spike", PLACES[0], PLACES[0])]
        assert len(found) <= 1 + len([event for event in before if event.first > PLACES[0]])


@pytest.mark.parametrize("size", [-1e6, 400.0, 1e4, 1e9])
@pytest.mark.parametrize("name", NAMES)
def test_a_step_of_any_size_is_followed_within_a_few_values_and_named_a_shift(name, size):
    for seed in range(3):
        u, _ = streams(seed)[name]
        without = Prophecy().follow(u)
        u[PLACES[0] :] += size
        track = Prophecy().follow(u)
        half = 0.5 * (without.upper - without.lower)
        error = np.abs(track.point - u)[PLACES[0] + 4 :]
        assert error[:20].max() < 3 * half[PLACES[0] :].max()
        assert error.mean() < 1.5 * np.abs(without.point - streams(seed)[name][0])[PLACES[0] + 4 :].mean()
        found = [event for event in events(u) if event.first >= PLACES[0]]
        assert [(event.kind, event.first) for event in found[:1]] == [("shift", PLACES[0])]


def test_sentinels_that_come_again_and_again_are_named():
    rng = np.random.default_rng(5)
    u = 20.0 + 8.0 * np.sin(2 * np.pi * np.arange(960) / 96) + rng.standard_normal(960)
    places = np.sort(rng.choice(np.arange(200, 960, 8), 20, replace=False))
    u[places] = -9999.0
    found = events(u)
    assert {event.kind for event in found} == {"spike"}
    assert sum(1 for event in found for row in places if event.first <= row <= event.last) == 20
    assert found[-1].sentence.endswith("events have been -9999: it may stand for a missing value.")


def test_noise_that_grows_a_hundredfold_is_followed():
    u = 50.0 + np.random.default_rng(2).standard_normal(N) * np.where(K < 600, 1.0, 100.0)
    track = Prophecy().follow(u)
    inside = (u >= track.lower) & (u <= track.upper)
    assert inside[640:].mean() > 0.85


def test_what_is_wild_again_and_again_becomes_usual():
    """A value of every forty-eighth row is a season, not thirty outliers."""
    rng = np.random.default_rng(3)
    k = np.arange(4000)
    u = rng.standard_normal(4000) + 30.0 * (k % 48 == 7)
    error = np.abs(Prophecy().follow(u).point - u)[2000:]
    assert error[k[2000:] % 48 == 7].mean() < 3.0


@pytest.mark.parametrize("place", [12, 25, 600])
def test_a_spike_at_irregular_times_or_in_a_young_stream_is_not_believed_either(place):
    rng = np.random.default_rng(place)
    u = 50.0 + 5.0 * rng.standard_normal(N)
    wild = u.copy()
    wild[place] = 1e6
    for time in (None, np.cumsum(rng.exponential(1.0, N))):
        if time is not None and place < 100:
            continue  # times are taken as irregular once that is known
        track, without = Prophecy().follow(wild, time=time), Prophecy().follow(u, time=time)
        assert track.alarm[place] >= (0.999 if place > 200 else 0.0)
        assert np.abs(track.point - without.point)[place + 4 :].max() < 10.0
        width, usual = track.upper - track.lower, without.upper - without.lower
        # Across a long pause intervals are wide with or without the spike.
        widest = max(3 * np.nanmedian(usual), 1.01 * usual[place + 4 :].max())
        assert width[place + 4 :].max() < widest


@pytest.mark.parametrize("deviation", [0.02, 0.2])
def test_jumps_that_come_now_and_then_become_usual_however_large_they_are(deviation):
    """A switch between 0 and 10: quantiles that stopped at a hundred deviations kept every jump surprising."""
    rng = np.random.default_rng(50)
    u = 10.0 * (np.cumsum(rng.random(5000) < 0.02) % 2) + rng.normal(0, deviation, 5000)
    score = Prophecy().follow(u, level=0.999).score
    assert np.mean(score[2500:] > -np.log10(1e-3 / 2)) <= 2e-3
