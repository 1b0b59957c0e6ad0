"""The report's pages about Prophecy: what they compare, and that they would say so if it failed."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from prophecy import signals
from prophecy.streams import Prophecy
from reproduction import beyond, causal_derivatives, measured, real_series, regimes
from reproduction.framework import Ask, Unit
from reproduction.rows import row


def rows(ours: dict[tuple[str, float], float]) -> list[dict]:
    made = []
    for case in beyond._cases():
        for method in beyond.METHODS:
            value = ours.get(case, 0.9 * beyond.limit(*case)) if method == beyond.OURS else beyond.limit(*case)
            made.append(row(*case, method, None, "mse", value))
        made.append(row(*case, beyond.FLOOR, None, "mse", beyond.floor(*case)))
        made.append(row(*case, beyond.OURS, None, "coverage", 0.9))
    return made


def test_an_error_above_its_limit_or_a_baseline_far_ahead_does_not_hold():
    def holds(ours):
        return [verdict.holds for verdict in beyond.Beyond().verdicts({"rows": rows(ours)})]

    case = ("White γ = 2", 1e-3)
    assert holds({}) == [True, True, True, True]
    assert holds({case: 1.25e-6}) == [True, False, True, True]
    assert holds({case: 2e-6}) == [True, False, False, True]


def test_a_piece_of_the_page_compares_the_same_values_for_everyone():
    unit = Unit("", {"signal": "White γ = 1", "noise": 0.01, "first": 3, "count": 1})
    value = beyond.Beyond().compute(Ask(), unit)
    u = beyond.series(**unit.arguments, seed=0)
    assert u.shape == (1, signals.SAMPLES)
    np.testing.assert_array_equal(u, beyond.series("White γ = 1", 0.01, 0, 5, seed=0)[3:4])
    assert np.std(u - signals.white_signal(1.0, 1, seed=3)) == pytest.approx(0.01, rel=0.03)
    assert value["copy"][0] == pytest.approx(np.mean(np.diff(u)[0, 5000:] ** 2), rel=1e-3)
    best = min(value[key][0] for key in value if key.startswith(beyond.HINDSIGHT))
    assert value[beyond.OURS][0] < 1.05 * best
    assert 0.88 < value["coverage"][0] < 0.92


@pytest.mark.parametrize("change", regimes.CHANGES)
def test_signals_change_where_they_say(change):
    u, where, smooth = regimes.changed(change, 2, 0)
    rough = [np.abs(np.diff(u[:, part], 4, axis=1)).max() for part in (slice(0, where), slice(where, None))]
    assert (rough[1] < 1e-6) == smooth
    assert (rough[0] < 1e-6) == change.startswith("smooth")


def test_every_member_is_of_one_kind():
    counts = np.bincount(regimes._kinds(), minlength=len(regimes.KINDS))
    assert counts.tolist() == [9, 36, 35, 35, 7]  # the last: four readouts, and three of seasons


@pytest.mark.parametrize("signal", causal_derivatives.SIGNALS)
def test_the_true_derivative_is_the_derivative(signal):
    u, slope, dt = causal_derivatives.clean_and_slope(signal, 1, 0)
    middle = (u[0, 2:] - u[0, :-2]) / (2 * dt)
    np.testing.assert_allclose(slope[0, 1:-1][10:-10], middle[10:-10], atol=2e-4 * np.abs(slope).max())


def test_the_kalman_filter_follows_constant_acceleration_and_has_the_textbook_gain():
    time = np.arange(4000) * 0.01
    u = 0.5 * 3.0 * time**2
    for name, velocity in causal_derivatives.constant_acceleration(u, 0.01).items():
        if float(name.split("= ")[1]) >= 1e-10:
            assert velocity[-1] == pytest.approx(3.0 * time[-1], rel=1e-6), name
    noise = np.random.default_rng(0).normal(size=(1, 3000))
    steady = [np.var(v[0, 1500:]) for v in causal_derivatives.constant_acceleration(noise, 1.0).values()]
    assert np.all(np.diff(steady[4:]) > 0)


def test_choosing_the_filter_in_context_lies_between_the_best_and_the_worst():
    u = np.sin(np.arange(3000) / 100.0)[None] + 0.05 * np.random.default_rng(1).normal(size=(1, 3000))
    truth = np.cos(np.arange(3000) / 100.0) / 100.0
    errors = [np.mean((v[0] - truth)[1500:] ** 2) for v in causal_derivatives.constant_acceleration(u, 1.0).values()]
    chosen = np.mean((causal_derivatives.filters_in_context(u, 1.0)[0] - truth)[1500:] ** 2)
    assert min(errors) * 0.9 <= chosen <= 10 * min(errors)


@pytest.mark.parametrize("name", measured.SERIES)
def test_measured_series_are_there_whole_and_finite(name):
    source = measured.SERIES[name]
    if not importlib.util.find_spec(source.package):
        pytest.skip(f"{source.package} is not installed")
    u = np.asarray(source.read(), dtype=float)
    assert u.ndim == 1
    assert len(u) >= 36
    assert np.isfinite(u).all()


def test_a_lost_series_is_explained_by_its_nearest_member_and_its_worst_values():
    rng = np.random.default_rng(1002)
    u = rng.normal(size=200)
    u[150] += 50.0
    ours, best = np.zeros(200), np.zeros(200)
    ours[[109, 119]] = 3.0 + np.abs(u[[110, 120]])
    ours[149] = -10.0
    why = real_series.compared(u, ours, best)
    assert why["worst"] == [111, 121, 151]
    assert why["without"] == pytest.approx(1.0)
    assert why["errors"] == 99
    assert why["member"] in Prophecy().members
    found = {real_series.OURS: 1.2, real_series.HINDSIGHT: 1.0}
    why |= {"near": 0, "nearest": 1.1, "member": "m", "standard errors": 1.26}
    columns = ["1.20", "1.10", "m (0 of 122)", "1.09", "1.00", "111, 121, 151", "1.3"]
    assert real_series.explanation(found, why) == columns
    assert real_series.explanation(found | {real_series.OURS: 1.04}, why) == []
