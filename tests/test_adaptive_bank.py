"""The parts of the bank against independent computations: members, least squares, the mixture's guarantee, slopes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prophecy import legt, run, signals
from prophecy.adaptive import native
from prophecy.adaptive.bank import Bank
from prophecy.adaptive.members import LAGS, MEMORY, ORDER, SOLVED, WINDOWS, table
from prophecy.adaptive.mixing import SHARE, Mixture
from prophecy.adaptive.solved import SolvedReadouts
from prophecy.adaptive.timed import DEGREES, STEPS, TimedBank
from prophecy.exact import exact


def fed(u: np.ndarray) -> Bank:
    bank = Bank(1)
    for value in u:
        bank.observe(np.array([value]))
    return bank


@pytest.mark.parametrize("window", [48, 256, 1024])
@pytest.mark.parametrize("degree", [0, 3, 7])
def test_a_member_is_the_exact_system_run_by_the_engine(window, degree):
    u = signals.white_signal(2.0, samples=1500)[0]
    system = exact(legt(ORDER, float(window)), 1.0, degree)
    y, _ = run(system, u - u[0], engine="step")
    bank = fed(u)
    index = [m.name for m in bank.table.members].index(f"LegT memory of {window} samples, degree {degree}")
    assert bank.last[0] + bank.ahead[0, index] == pytest.approx(y[-1] + u[0], abs=1e-12)


def test_the_memories_hold_the_system_states_relative_to_the_newest_value():
    u = 1e3 + signals.white_signal(1.0, samples=700)[0]
    bank = fed(u)
    for i, window in enumerate(WINDOWS):
        system = exact(legt(ORDER, float(window)), 1.0, 1)
        steady = np.linalg.solve(np.eye(ORDER) - system.A, system.B)
        _, x = run(system, u - u[0], engine="step")
        here = bank.features[0, LAGS + i * ORDER : LAGS + (i + 1) * ORDER]
        np.testing.assert_allclose(here, x - steady * (u[-1] - u[0]), atol=1e-11)


@pytest.mark.parametrize("degree", [0, 1, 3, 5])
def test_members_and_slopes_are_exact_for_polynomials_up_to_their_degree(degree):
    k = np.arange(5000) / 1000.0
    u = (k - 4.5) ** degree
    bank = fed(u)
    ahead, slopes = u[-1] + bank.ahead[0], bank.features[0, :MEMORY] @ table().slopes.readout
    truth, slope = (k[-1] + 1e-3 - 4.5) ** degree, degree * (k[-1] - 4.5) ** max(degree - 1, 0) / 1000.0
    for member, got in zip(bank.table.members, ahead, strict=True):
        if member.degree is not None and member.degree >= degree:
            assert got == pytest.approx(truth, abs=1e-9 * np.abs(u).max()), member
    for index, got in zip(table().slopes.member, slopes, strict=True):
        if (bank.table.members[index].degree or 0) >= degree:
            assert got == pytest.approx(slope, abs=1e-9 * np.abs(u).max()), bank.table.members[index]


def test_noise_gains_are_the_variance_members_turn_noise_into():
    rng = np.random.default_rng(0)
    bank, squares = Bank(60), []
    for k in range(4500):
        noise = rng.normal(size=60)
        bank.observe(noise)
        if k > 2000 and k % 20 == 0:
            squares.append((noise[:, None] + bank.ahead[:, : len(bank.table.gain)]) ** 2)
    ratio = np.mean(squares, axis=(0, 1)) / bank.table.gain
    assert np.all(np.abs(ratio - 1.0) < 0.25)
    assert np.mean(ratio) == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize("compiled", [True, False])
def test_recursive_least_squares_is_least_squares(monkeypatch, compiled):
    """Each member's weights against one weighted solve over all it has learned from."""
    if not compiled:
        monkeypatch.setattr(native, "bind", lambda bank: None)
    u = signals.filtered_noise(0.05, samples=900, seed=3)[0]
    bank = Bank(1)
    seen: list[tuple[np.ndarray, float]] = []
    for value in u:
        if bank.count[0]:
            seen.append((bank.features[0, bank.solved.index], value - bank.last[0]))
        bank.observe(np.array([value]))
    for r, member in enumerate(SOLVED):
        width, first = len(member.features), int(bank.solved.longest[r])
        phi = np.array([f[r, :width] for f, _ in seen[first:]])
        target = np.array([d for _, d in seen[first:]])
        weight = np.sqrt(member.forgetting) ** np.arange(len(phi))[::-1]
        solution = np.linalg.lstsq(phi * weight[:, None], target * weight, rcond=None)[0]
        wanted = phi[-300:] @ solution
        assert np.std(wanted) > 1e-3
        np.testing.assert_allclose(phi[-300:] @ bank.solved.weights[0, r, :width], wanted, atol=2e-6)


def test_solved_readouts_survive_long_stretches_without_excitation():
    """Constants, then one direction only: the factor stays bounded, and learning goes on afterwards."""
    solved = SolvedReadouts(1)
    features = np.zeros((1, MEMORY + 4))
    for k in range(12_000):
        features[0, 1] = (-1.0) ** k if k > 5000 else 0.0
        solved.predict(features)
        solved.learn(np.array([0.5 * features[0, 1]]), np.ones((1, 4)))
    assert np.isfinite(solved.factor).all()
    assert np.isfinite(solved.weights).all()
    assert solved.predict(features)[0] == pytest.approx(0.5 * features[0, 1] * np.ones(len(SOLVED)), abs=1e-6)
    rng = np.random.default_rng(0)
    for _ in range(3000):
        features[0, 1:3] = rng.normal(size=2)
        solved.predict(features)
        solved.learn(features[0, 1:2] - features[0, 2:3], np.ones((1, 4)))
    # What was learned before still counts for 0.999^3000 = 5 %, half a unit of it wrong.
    assert solved.weights[0, 0, :2] == pytest.approx([1.0, -1.0], abs=0.03)


def log_losses(errors: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Log-loss of the mixture and of every member over errors (time, members), and the weights before each step."""
    members = errors.shape[1]
    prior = np.arange(1, members + 1) / np.sum(np.arange(1, members + 1))
    mixture = Mixture(1, prior)
    mixed, own = 0.0, []
    mixture.learn(errors[:1].copy(), np.zeros(1))
    mixture.weights[:] = prior
    for row in errors[1:]:
        density = mixture.densities(row[None])[0]
        mixed -= float(np.log(mixture.weights[0] @ density))
        own.append(-np.log(density))
        mixture.learn(row[None].copy(), np.zeros(1))
    return mixed, np.array(own), prior


@given(
    seed=st.integers(0, 10_000),
    members=st.integers(2, 12),
    decades=st.floats(0, 30),
    kind=st.sampled_from(["normal", "cauchy", "switch", "zero"]),
)
@settings(max_examples=60, deadline=None)
def test_regret_against_every_member_is_bounded_whatever_the_data(seed, members, decades, kind):
    rng = np.random.default_rng(seed)
    errors = rng.standard_cauchy((300, members)) if kind == "cauchy" else rng.normal(size=(300, members))
    errors *= 10.0 ** rng.uniform(-decades, 0, size=members)
    if kind == "switch":
        errors[150:] = errors[150:, ::-1]
    if kind == "zero":
        errors[rng.random(300) < 0.5] = 0.0
    mixed, own, prior = log_losses(errors)
    steps = len(own)
    for i, loss in enumerate(own.sum(axis=0)):
        assert mixed <= loss + np.log(1 / prior[i]) + (steps - 1) * np.log(1 / (1 - SHARE)) + 1e-6
    change = steps // 2
    first, second = own[:change].sum(axis=0).argmin(), own[change:].sum(axis=0).argmin()
    both = own[:change, first].sum() + own[change:, second].sum()
    bound = np.log(1 / prior[first]) + np.log(1 / (SHARE * prior[second])) + (steps - 1) * np.log(1 / (1 - SHARE))
    assert mixed <= both + bound + 1e-6


def test_the_bank_at_work_keeps_the_guarantee_through_a_change_of_regime():
    rng = np.random.default_rng(6)
    u = np.concatenate([signals.white_signal(2.0, samples=600)[0], np.cumsum(rng.normal(size=600))])
    bank = fed(u[:3])
    start = bank.mixture.weights[0].copy()
    mixed, own = 0.0, np.zeros(len(start))
    for value in u[3:]:
        density = bank.mixture.densities(value - bank.last[:, None] - bank.ahead)[0]
        mixed -= np.log(bank.mixture.weights[0] @ density)
        own -= np.log(density)
        bank.observe(np.array([value]))
    assert np.all(mixed <= own + np.log(1 / start) + (len(u) - 4) * np.log(1 / (1 - SHARE)))
    assert mixed < own.min() - 1000  # no single member serves both halves


def test_the_forecast_is_as_good_as_the_best_member_to_five_percent():
    rng = np.random.default_rng(2)
    u = np.stack(
        [
            signals.white_signal(1.0, samples=3000)[0],
            signals.filtered_noise(0.1, samples=3000)[0],
            signals.white_signal(1.0, samples=3000)[0] + 0.01 * rng.normal(size=3000),
            np.cumsum(rng.normal(size=3000)),
        ]
    )
    bank = Bank(len(u))
    members, ours = 0.0, 0.0
    for k in range(u.shape[1] - 1):
        bank.observe(u[:, k])
        if k >= 1500:
            step = u[:, k + 1] - u[:, k]
            members = members + (step[:, None] - bank.ahead) ** 2
            ours = ours + (step - bank.step) ** 2
    assert np.all(ours <= 1.05 * np.min(members, axis=1))


@pytest.mark.parametrize("degree", DEGREES)
@pytest.mark.parametrize("spread", [0.0, 0.5, 2.0])
def test_members_at_irregular_times_are_exact_for_polynomials(degree, spread):
    """Whatever the intervals are, while a window holds enough values to tell."""
    rng = np.random.default_rng(degree)
    times = np.cumsum(np.exp(spread * rng.normal(size=400)))
    u = (times / times[-1]) ** degree
    bank = TimedBank(1, 1.0)
    for k, (value, time) in enumerate(zip(u, times, strict=True)):
        if k > 40:
            after = time - times[k - 1]
            error = np.abs(value - bank.last[0] - bank.ahead(after)[0, 1:]).reshape(len(STEPS), len(DEGREES))
            held = np.array([np.sum(times[:k] > times[k - 1] - 0.7 * steps) for steps in STEPS])
            # Extrapolating beyond a window magnifies rounding by the power of the distance.
            worst = error[:, DEGREES.index(degree) :].max(axis=1) / (1.0 + after / np.array(STEPS)) ** 5
            filled = (held > 12) & (np.array(STEPS) < time - times[0])
            assert worst[filled].max(initial=0.0) < 1e-8
        bank.observe(np.array([value]), time - times[k - 1] if k else 0.0, np.ones(1, dtype=bool))


def test_at_regular_times_the_timed_memories_have_the_noise_of_exact_systems():
    from prophecy.discretize import zoh
    from prophecy.exact import noise_gain

    rng = np.random.default_rng(4)
    bank = TimedBank(3000, 1.0)
    for k in range(260):
        noise = rng.normal(size=3000)
        bank.observe(noise, 1.0 if k else 0.0, np.ones(3000, dtype=bool))
    got = np.var(noise[:, None] + bank.ahead(1.0)[:, 1:], axis=0).reshape(len(STEPS), len(DEGREES))
    for i, steps in enumerate(STEPS[2:5], start=2):
        for j, degree in enumerate(DEGREES):
            wanted = noise_gain(exact(legt(8, steps), 1.0, degree, memory=zoh))
            assert got[i, j] == pytest.approx(wanted, rel=0.15)
