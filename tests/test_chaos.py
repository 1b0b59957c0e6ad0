"""Chaotic systems: the trajectories solve their equations and diverge at the rate they claim."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from prophecy import chaos

QUICK = [s for s in chaos.SYSTEMS if s is not chaos.mackey_glass]


@pytest.mark.parametrize("system", QUICK, ids=lambda s: s.name)
def test_samples_lie_on_one_bounded_trajectory_whatever_the_rate(system):
    fine, coarse = system.sample(61, per_lyapunov=60, seed=4), system.sample(31, per_lyapunov=30, seed=4)
    assert fine.shape[0] == 61
    assert np.isfinite(fine).all()
    np.testing.assert_allclose(fine[::2], coarse, rtol=1e-3, atol=1e-3)


def test_seeds_give_different_trajectories_and_the_same_seed_the_same():
    one, two, again = (chaos.lorenz.sample(20, seed=s) for s in (0, 1, 0))
    np.testing.assert_array_equal(one, again)
    assert np.abs(one - two).max() > 1


def largest_exponent(system, span, renewals):
    """The mean rate at which a nudge of 1e-7 grows over `span` Lyapunov times, renewed again and again (Benettin)."""
    clock, step, size = 20.0 / system.exponent, span / system.exponent / renewals, 1e-7
    state = system.solve(np.array(system.start), np.array([clock]))[:, 0]
    variables = len(state)
    twin = state + size / np.sqrt(variables)

    def both(t, x):
        return np.concatenate([system.field(t, x[:variables]), system.field(t, x[variables:])])

    growth = 0.0
    for _ in range(renewals):
        start = np.concatenate([state, twin])
        end = solve_ivp(both, (clock, clock + step), start, "DOP853", rtol=1e-9, atol=1e-12).y[:, -1]
        clock += step
        state, gap = end[:variables], end[variables:] - end[:variables]
        distance = float(np.linalg.norm(gap))
        growth += float(np.log(distance / size))
        twin = state + gap * (size / distance)
    return growth / (renewals * step)


@pytest.mark.parametrize(("system", "tolerance"), [(chaos.lorenz, 0.08), (chaos.duffing, 0.2), (chaos.chua, 0.15)])
def test_nudges_grow_at_the_stated_exponent(system, tolerance):
    measured = largest_exponent(system, span=150.0, renewals=400)
    assert measured == pytest.approx(system.exponent, rel=tolerance)


def test_mackey_glass_solves_its_delay_equation():
    per_lyapunov = 1 / (chaos.mackey_glass.exponent * 0.1)
    x = chaos.mackey_glass.sample(400, per_lyapunov=per_lyapunov)[:, 0]
    now, past = np.arange(171, 398), np.arange(1, 228)
    slope = (x[now + 1] - x[now - 1]) / 0.2
    np.testing.assert_allclose(slope, 0.2 * x[past] / (1 + x[past] ** 10) - 0.1 * x[now], atol=2e-3)


def test_the_double_pendulum_conserves_its_energy():
    a, b, u, v = chaos.double_pendulum.sample(200, seed=2).T
    energy = u**2 + v**2 / 2 + u * v * np.cos(a - b) - 2 * np.cos(a) - np.cos(b)
    assert np.ptp(energy) < 1e-6


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="samples must be at least 1"):
        chaos.lorenz.sample(0)
    with pytest.raises(ValueError, match="per_lyapunov must be positive"):
        chaos.lorenz.sample(5, per_lyapunov=-1)
