"""The compiled step against a slow one in plain NumPy (`slow_step.py`), written from its docstring alone.

The slow step starts from the same record each time, so differences do not add up.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from prophecy.streams.kernels.entry import Streams

from prophecy import signals
from prophecy.streams import Prophecy, rows
from prophecy.streams.limits import DIFFERENCE, ERROR, FLAGS, LEVEL, MOST, RING
from prophecy.streams.rows import fresh_times
from prophecy.streams.settings import DEFAULT
from prophecy.streams.table import between, table
from tests.slow_step import COUNT, SOLVED, Slow

TABLE = table(DEFAULT)
RNG = np.random.default_rng(0)
K = np.arange(1400)
SERIES = {
    "smooth": signals.white_signal(1.0, samples=1400)[0],
    "noisy": np.sin(K / 20) + 0.01 * RNG.normal(size=1400),
    "stochastic": signals.filtered_noise(0.1, samples=1400)[0],
    "walk": np.cumsum(RNG.normal(size=1400)),
    "steps": np.repeat(RNG.normal(size=28), 50),
    "constant, then noise": np.concatenate([np.full(400, 3.0), RNG.normal(size=1000)]),
    "outliers": RNG.normal(size=1400) + 1e4 * (K % 311 == 310),
    "shifts": RNG.normal(size=1400) + 1e3 * (K > 400) - 1e5 * (K > 800) + 1e3 * (K % 611 == 3),
    "shifts between gaps": np.where(K % 5 == 4, np.nan, RNG.normal(size=1400) + 1e3 * (K > 400) - 1e5 * (K > 801)),
    "decades": RNG.normal(size=1400) * 10.0 ** RNG.uniform(-12, 12, size=1400),
    "gaps": np.where(K % 97 < 5, np.nan, np.cumsum(RNG.normal(size=1400))),
    "most are missing": np.where(RNG.random(1400) < 0.9, np.nan, np.sin(K / 50)),
    "every other value": np.where(K % 2, np.nan, np.sin(K / 30)),
    "events": (RNG.random(1400) < 0.02) * 1.0,
    "rounded": np.round(2 * np.sin(K / 30) + RNG.normal(size=1400)),
    "clipped": np.clip(np.sin(K / 20) + 0.1 * RNG.normal(size=1400), -0.7, 0.7),
    "begins late": np.where(K < 20, np.nan, np.sin(K / 9)),
}
BESIDE = ("season_", "alarm", "slow", "stamp")
"""Fields of what runs beside the bank (seasons, alarms, timestamps), which has tests of its own."""

LINEAR = ("last", "mean", "lag", "feature", "alternation", "prediction")


def streams(records, rings):
    """Streams of these records, without timestamps."""
    return Streams(records, rings, *fresh_times(len(records), None), TABLE)


def taken(records, rings, value):
    """One value through the compiled step; nobody looks for seasons, so none are on."""
    records["season_check"] = MOST
    one, nothing = np.array([float(value)]), np.zeros((0, 4))
    streams(records, rings).take(np.zeros(1, np.int64), np.zeros(0), one, between(0.9), nothing, np.empty(1))


def forecast_of(records, rings):
    """The forecast of the next value."""
    return streams(records, rings).next_number(between(0.9))[0]


def difference(mine, other, size=0.0):
    """The largest difference relative to the largest number, or to the `size` of the terms it was computed from."""
    mine, other = np.asarray(mine, dtype=np.float64), np.asarray(other, dtype=np.float64)
    return np.max(np.abs(mine - other) / np.maximum(np.maximum(np.abs(other).max(initial=0.0), size), 1e-300))


def differences(after, slow, size):
    """What the record and the slow step differ by, field by field; `size` is that of the signal in the memory."""
    found = {}
    for field in rows.RECORD.names:
        apart = ("factor", "growth", "squared_bias", "readout", "prediction", "change", "shrink_ahead")
        if field not in apart and not field.startswith(BESIDE):
            found[field] = difference(getattr(after, field), getattr(slow, field), size if field in LINEAR else 0.0)
    found["squared_bias"] = difference(after.squared_bias, slow.squared_bias, np.abs(slow.bias).max() ** 2)
    sizes = np.full(len(slow.prediction), size)
    for s, (numbers, *_) in enumerate(SOLVED):
        weights, root = slow.terms[s]
        one, other = after.S[s] * after.growth[s], slow.S[s] * slow.growth[s]
        # Factors are square roots, free up to a rotation: what is compared is S Sᵀ.
        found[f"factor {s}"] = difference(one @ one.T, other @ other.T, root * np.linalg.norm(other))
        found[f"readout {s}"] = difference(after.readout[s], slow.readout[s], weights)
        sizes[COUNT + s] += weights * np.linalg.norm(slow.feature[numbers])
    found["prediction"] = difference(after.prediction, slow.prediction, sizes)
    shares = slow.weight / np.where(slow.scale > 0, slow.scale, 1.0)
    size = shares @ sizes / shares.sum()
    found["change"] = difference(after.change, slow.change, size)
    found["shrink_ahead"] = difference(after.shrink_ahead, slow.shrink_ahead, size)
    return found


@pytest.mark.parametrize("hold", [False, True])
@pytest.mark.parametrize("name", SERIES)
def test_the_step_is_the_one_of_the_documentation(name, hold):
    u = SERIES[name]
    records, rings = rows.fresh(1, TABLE, hold), rows.rings(1)
    worst: dict[str, float] = {}
    for k, value in enumerate(u):
        slow = Slow(records[0])
        taken(records, rings, value)
        if k % 3 and 200 < k < 1250:  # every step near the start and the end, a third of those between
            continue
        slow.step(float(value))
        size = np.nanmax(np.abs(u[max(0, k - 1024) : k + 1]), initial=0.0)
        for field, found in differences(Slow(records[0]), slow, size).items():
            worst[field] = max(worst.get(field, 0.0), found)
    assert max(worst.values()) < 1e-12, {field: found for field, found in worst.items() if found > 1e-13}


READ = ("noisy", "walk", "steps", "gaps", "every other value", "constant, then noise", "events", "rounded", "clipped")


@pytest.mark.parametrize("name", READ)
def test_reading_is_the_one_of_the_documentation(name):
    model = Prophecy()
    model._stream.records["season_check"] = 2**52  # seasons are not looked for
    for k, value in enumerate(SERIES[name]):
        slow = Slow(model._stream.records[0])
        if slow.learned and k % 7 == 0:
            for level in (0.2, 0.6, 0.9, 0.97, 0.999, 0.99999):
                ahead = model.predict(level)
                mean, half = slow.read(level)
                assert ahead.point == mean
                assert ahead.upper == pytest.approx(mean + half, rel=1e-12)
            for guess in (mean, mean + 0.3 * half, mean - half, mean + 4 * half, mean + 1e6):
                assert model.score(guess) == pytest.approx(slow.score(guess), rel=1e-9, abs=1e-9)
        model.observe(float(value))


def test_the_ring_holds_each_value_in_its_place_and_a_line_of_corrections_under_gaps():
    """Where the ring begins anew as well: the record has counted nearly as many values as it has places. Places of
    missing values are flagged."""
    values = np.where(K[:60] % 13 > 9, np.nan, np.cumsum(RNG.normal(size=60)))
    values[0] = 1.0
    records, rings = rows.fresh(1, TABLE, False), rows.rings(1)
    ahead, start = np.full(60, np.nan), RING - 25
    taken(records, rings, values[0])
    rings[0, 0], records["count"] = 0.0, start
    for k, value in enumerate(values[1:], 1):
        ahead[k] = forecast_of(records, rings)
        taken(records, rings, value)
    places = (start - 1 + np.arange(60)) % RING
    flags = records["season_filled"][0][places // FLAGS] >> (places % FLAGS) & 1
    np.testing.assert_array_equal(flags[1:], np.isnan(values[1:]))
    k = 1
    while k < 60:
        if not np.isnan(values[k]):
            assert rings[0, places[k]] == values[k]
            k += 1
            continue
        gap = int(np.argmin(np.isnan(values[k:])))
        if not gap:
            break  # the gap is still open
        slope = (values[k + gap] - ahead[k + gap]) / (gap + 1)
        expected = ahead[k : k + gap] + slope * np.arange(1, gap + 1)
        np.testing.assert_allclose(rings[0, places[k : k + gap]], expected, rtol=1e-9, atol=1e-9)
        k += gap
    assert not rings[0, 40 : start - 1].any()


def test_the_level_that_is_ranked_is_the_mean_of_the_last_20_values():
    records, rings = rows.fresh(1, TABLE, False), rows.rings(1)
    u = SERIES["walk"][:45]
    for k, value in enumerate(u):
        taken(records, rings, value)
        if k:
            level = records[0]["alarm_quantity"][LEVEL]
            assert level == pytest.approx(np.mean(u[max(k - 19, 0) : k + 1]), rel=1e-12)
            error = records[0]["alarm_quantity"][DIFFERENCE]
            assert error == abs(value - u[k - 1])


def test_the_error_after_a_gap_is_kept_by_its_length():
    records, rings = rows.fresh(1, TABLE, False), rows.rings(1)
    for value in SERIES["noisy"][:80]:
        taken(records, rings, value)
    for _ in range(4):
        taken(records, rings, np.nan)
    error = 0.3  # no more than the past allows
    taken(records, rings, forecast_of(records, rings) + error)
    assert records[0]["gap_error"].tolist()[:4] == pytest.approx([0.0, 0.0, error, 0.0])
    assert records[0]["gap_seen"].tolist()[:4] == [0, 0, 1, 0]


def test_reading_many_records_is_reading_each():
    records, rings = rows.fresh(3, TABLE, False), rows.rings(3)
    for series, name in enumerate(("noisy", "walk", "smooth")):
        for value in SERIES[name][:40]:
            taken(records[series : series + 1], rings[series : series + 1], value)
    out, nothing = np.empty((3, 3)), np.full(3, np.nan)
    streams(records, rings).ahead(np.arange(3), nothing, nothing, between(0.9), out)
    for series in range(3):
        one = slice(series, series + 1)
        mean, half = streams(records[one], rings[one]).next_number(between(0.9))
        assert out[series, :2].tolist() == [mean, half]
        assert mean == forecast_of(records[one], rings[one])
        assert half > 0.0


def test_an_error_across_a_gap_is_ranked_by_step_and_before_the_first_value_nothing_is_known():
    records, rings = rows.fresh(1, TABLE, False), rows.rings(1)
    mean, half = streams(records, rings).next_number(between(0.9))
    assert math.isnan(mean)
    assert math.isnan(half)
    for value in SERIES["noisy"][:60]:
        taken(records, rings, value)
    for _ in range(2):
        taken(records, rings, np.nan)
    value, ahead, last = 5.0, forecast_of(records, rings), float(records[0]["last"])
    taken(records, rings, value)
    found = records[0]["alarm_quantity"]
    assert found[ERROR] == pytest.approx(abs(value - ahead) / 3, rel=1e-12)
    assert found[DIFFERENCE] == pytest.approx(abs(value - last) / 3, rel=1e-12)
