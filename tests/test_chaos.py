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


def largest_exponent(system, starts, span, renewals):
    """The mean rate at which nudges of 1e-7 grow over `span` Lyapunov times, renewed again and again (Benettin).

    starts: (paths, variables). All paths are integrated together, each beside its twin.
    """
    clock, step, size = 20.0 / system.exponent, span / system.exponent / renewals, 1e-7
    paths, variables = starts.shape

    def field(t, x):
        return np.ravel(system.field(t, x.reshape(variables, -1)))

    def after(x, begin, end):
        return solve_ivp(field, (begin, end), x.ravel(), "DOP853", rtol=1e-9, atol=1e-12).y[:, -1].reshape(x.shape)

    state = after(starts.T, 0.0, clock)
    twin, growth = state + size / np.sqrt(variables), np.zeros(paths)
    for _ in range(renewals):
        end = after(np.hstack([state, twin]), clock, clock + step)
        clock += step
        state, gap = end[:, :paths], end[:, paths:] - end[:, :paths]
        distance = np.linalg.norm(gap, axis=0)
        growth += np.log(distance / size)
        twin = state + gap * (size / distance)
    return growth.mean() / (renewals * step)


# One path of 150 Lyapunov times strays by 2 % (Lorenz), 4 % (Chua), 17 % (Duffing) of the mean of a dozen; which path
# it is, rounding decides.
@pytest.mark.parametrize(("system", "tolerance"), [(chaos.lorenz, 0.05), (chaos.duffing, 0.2), (chaos.chua, 0.15)])
def test_nudges_grow_at_the_stated_exponent(system, tolerance):
    nudges = np.random.default_rng(0).standard_normal((12, len(system.start)))
    starts = np.array(system.start) * (1 + 0.05 * nudges)
    assert largest_exponent(system, starts, span=150.0, renewals=100) == pytest.approx(system.exponent, rel=tolerance)


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
