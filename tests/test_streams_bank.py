"""The parts of the bank against independent computations: members, least squares, the mixture's guarantee, slopes."""

from __future__ import annotations

import numpy as np
import pytest
from prophecy.streams.kernels.entry import Streams

from prophecy import Prophecy, legt, run, signals
from prophecy.exact_readout import exact
from prophecy.streams import readouts, rows
from prophecy.streams.limits import BOUND
from prophecy.streams.members import AWAKE, BANK, FIXED, LAGS, ORDER, SOLVED, WINDOWS
from prophecy.streams.rows import fresh_times
from prophecy.streams.settings import DEFAULT, Settings
from prophecy.streams.table import between, table

TABLE = table(DEFAULT)
MEMBERS = readouts.members()
SHARE = DEFAULT.share


ROWS: dict[int, Streams] = {}


def feed(records: np.ndarray, table: np.ndarray, values: np.ndarray) -> None:
    """`take` values (time, series) with rows that stay with the records, kept so that no other gets their id."""
    n = len(records)
    parts = (records, rows.rings(n), *fresh_times(n, None), table)
    streams = ROWS.setdefault(id(records), Streams(*parts))
    which, passed = np.tile(np.arange(n), len(values)), np.empty(values.size)
    streams.take(which, np.zeros(0), values.ravel(), between(0.9), np.zeros((0, 4)), passed)


def fed(u: np.ndarray) -> np.ndarray:
    """Records that have seen u, (time,) or (time, series)."""
    values = u.reshape(len(u), -1)
    records = rows.fresh(values.shape[1], TABLE)
    feed(records, TABLE, values)
    return records


@pytest.mark.parametrize("window", [48, 256, 1024])
@pytest.mark.parametrize("degree", [0, 3, 7])
def test_a_member_is_the_exact_system_run_by_the_engine(window, degree):
    u = signals.white_signal(2.0, samples=1500)[0]
    system = exact(legt(ORDER, float(window)), 1.0, degree)
    y, _ = run(system, u - u[0], engine="step")
    r = fed(u)[0]
    index = [m.name for m in MEMBERS].index(f"LegT memory of {window} samples, degree {degree}")
    assert r["last"] + r["prediction"][index] == pytest.approx(y[-1] + u[0], abs=1e-12)


def test_the_memories_hold_the_system_states_relative_to_the_newest_value():
    u = 1e3 + signals.white_signal(1.0, samples=700)[0]
    r = fed(u)[0]
    for i, window in enumerate(WINDOWS):
        system = exact(legt(ORDER, float(window)), 1.0, 1)
        steady = np.linalg.solve(np.eye(ORDER) - system.A, system.B)
        _, x = run(system, u - u[0], engine="step")
        here = r["feature"][LAGS + i * ORDER : LAGS + (i + 1) * ORDER]
        np.testing.assert_allclose(here, x - steady * (u[-1] - u[0]), atol=1e-11)


@pytest.mark.parametrize("degree", [0, 1, 3, 5])
def test_members_and_slopes_are_exact_for_polynomials_up_to_their_degree(degree):
    k = np.arange(5000) / 1000.0
    u = (k - 4.5) ** degree
    r, t = fed(u)[0], TABLE[0]
    truth, slope = (k[-1] + 1e-3 - 4.5) ** degree, degree * (k[-1] - 4.5) ** max(degree - 1, 0) / 1000.0
    slopes = [r["feature"][:LAGS] @ t["short_slope"]]
    for w in range(len(WINDOWS)):
        slopes.append(r["feature"][LAGS + w * ORDER : LAGS + (w + 1) * ORDER] @ t["long_slope"][w])
    for i, (member, found) in enumerate(zip(MEMBERS[:FIXED], np.concatenate(slopes), strict=True)):
        if member.degree >= degree:
            assert r["last"] + r["prediction"][i] == pytest.approx(truth, abs=1e-9 * np.abs(u).max()), member
        if member.degree >= max(degree, 1):
            assert found == pytest.approx(slope, abs=1e-9 * np.abs(u).max()), member


def test_noise_gains_are_the_variance_members_turn_noise_into():
    rng = np.random.default_rng(0)
    records, squares = fed(rng.normal(size=(2000, 60))), []
    for _ in range(125):
        noise = rng.normal(size=(20, 60))
        feed(records, TABLE, noise)
        squares.append((noise[-1][:, None] + records["prediction"][:, :FIXED]) ** 2)
    ratio = np.mean(squares, axis=(0, 1)) / TABLE[0]["gain"]
    assert np.all(np.abs(ratio - 1.0) < 0.25)
    assert np.mean(ratio) == pytest.approx(1.0, abs=0.05)


def solved_features(r: np.void, s: int) -> np.ndarray:
    return r["feature"][TABLE[0]["index"][s, : len(SOLVED[s].features)].astype(int)].copy()


def test_recursive_least_squares_is_least_squares():
    """Each member's weights against one weighted solve over all it has learned from."""
    u = signals.filtered_noise(0.05, samples=900, seed=3)[0]
    records = rows.fresh(1, TABLE)
    seen: list[tuple[list[np.ndarray], float]] = []
    for value in u:
        r = records[0]
        if r["count"]:
            seen.append(([solved_features(r, s) for s in range(len(SOLVED))], value - r["last"]))
        feed(records, TABLE, np.array([[value]]))
    for s, forgetting in enumerate(DEFAULT.solved_memory[:AWAKE]):
        first = int(TABLE[0]["longest"][s])
        phi = np.array([f[s] for f, _ in seen[first:]])
        target = np.array([d for _, d in seen[first:]])
        weight = np.sqrt(forgetting) ** np.arange(len(phi))[::-1]
        solution = np.linalg.lstsq(phi * weight[:, None], target * weight, rcond=None)[0]
        wanted = phi[-300:] @ solution
        assert np.std(wanted) > 1e-3
        np.testing.assert_allclose(phi[-300:] @ records[0]["readout"][s, : phi.shape[1]], wanted, atol=2e-6)


def test_a_factor_beyond_its_bound_is_brought_down_in_the_directions_that_have_grown_alone():
    records = fed(np.where(np.arange(40_000) % 2, 1.0, -1.0))
    rows.check(records, TABLE)
    for s, forgetting in enumerate(DEFAULT.solved_memory[:AWAKE]):
        place, stride, used = (int(TABLE[0][name][s]) for name in ("place", "stride", "used"))
        factor = records[0]["factor"][place : place + used * stride].reshape(used, stride) * records[0]["growth"][s]
        assert np.sum(factor**2) * records[0]["power"][s] < 10 * BOUND
        phi = solved_features(records[0], s)
        # The one direction that is excited has the variance it would have had alone: 1/Σ λ^age φ² = (1 - λ)/|φ|².
        alone = (1.0 - forgetting) / (phi @ phi)
        excited = phi / np.linalg.norm(phi)
        assert np.sum((factor.T @ excited) ** 2) == pytest.approx(alone, rel=0.02)


def test_the_bank_at_work_keeps_the_guarantee_through_a_change_of_regime():
    rng = np.random.default_rng(6)
    u = np.concatenate([signals.white_signal(2.0, samples=600)[0], np.cumsum(rng.normal(size=600))])
    records = fed(u[:3])
    start = records[0]["weight"][:BANK].copy()
    mixed, own = 0.0, np.zeros(len(start))
    for value in u[3:]:
        r = records[0]
        scale, missed = r["scale"][:BANK], value - r["last"] - r["prediction"][:BANK]
        density = np.sqrt(scale) / (scale + missed**2) / np.pi
        mixed -= np.log(r["weight"][:BANK] @ density)
        own -= np.log(density)
        feed(records, TABLE, np.array([[value]]))
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
        ],
        axis=1,
    )
    records = fed(u[:1500])
    errors, ours = 0.0, 0.0
    for k in range(1499, len(u) - 1):
        if k >= 1500:
            feed(records, TABLE, u[k : k + 1])
        change = u[k + 1] - u[k]
        errors = errors + (change[:, None] - records["prediction"]) ** 2
        ours = ours + (change - records["change"]) ** 2
    assert np.all(ours <= 1.05 * np.min(errors, axis=1))


def test_other_settings_are_taken_and_kept(tmp_path):
    u = np.cumsum(np.random.default_rng(3).normal(size=600))
    slow = Prophecy(settings=Settings(discount=0.999, share=0.001))
    usual = Prophecy()
    slow.observe(u)
    usual.observe(u)
    assert slow.predict().point != usual.predict().point
    slow.save(tmp_path / "slow")
    loaded = Prophecy.load(tmp_path / "slow")
    for model in (slow, loaded):
        model.observe(u[::-1].copy())
    assert loaded.predict().upper == slow.predict().upper
    for wrong in ({"discount": 1.5}, {"share": 0.0}, {"block": -1}, {"doubtful": 1.0}, {"rate": float("nan")}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            Settings(**wrong)
    with pytest.raises(TypeError, match="block must be a whole number"):
        Settings(block=1.5)
