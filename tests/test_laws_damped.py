"""The one damped least-squares solve against the normal equations it stands for."""

from __future__ import annotations

import numpy as np
import pytest

from prophecy.laws import damped
from prophecy.laws.damped import LEAST, Damped, solve
from prophecy.laws.select_terms import exchanged


@pytest.mark.parametrize("sides", [(), (1,), (3,)])
@pytest.mark.parametrize(("scaled", "long"), [(True, False), (False, False), (True, True)])
def test_a_damped_solution_solves_the_damped_normal_equations(sides, scaled, long):
    rng = np.random.default_rng(0)
    system, target = rng.standard_normal((40, 5)) * [1e-3, 1, 1e3, 2, 5], rng.standard_normal((40, *sides))
    norms = np.linalg.norm(system, axis=0) if scaled else np.ones(5)
    columns = system / norms
    solved = Damped(system, target, scaled, long)
    for damping in (LEAST, 1e-3, 0.3):
        ridge = (damping * np.linalg.norm(columns, 2)) ** 2
        normal = np.linalg.solve(columns.T @ columns + ridge * np.eye(5), columns.T @ target)
        expected = normal / norms.reshape(-1, *[1] * len(sides))
        np.testing.assert_allclose(solved(damping), expected, rtol=1e-6 if not scaled else 1e-10)


def test_a_column_of_zeros_has_no_part_and_spoils_nothing():
    rng = np.random.default_rng(1)
    system, target = rng.standard_normal((20, 3)), rng.standard_normal(20)
    system[:, 1] = 0.0
    found = solve(system, target)
    assert found[1] == 0.0
    np.testing.assert_allclose(found[[0, 2]], np.linalg.lstsq(system[:, [0, 2]], target, rcond=None)[0], rtol=1e-12)


def test_units_of_the_unknowns_do_not_change_what_is_damped():
    rng = np.random.default_rng(2)
    system, target, units = rng.standard_normal((30, 4)), rng.standard_normal(30), np.array([1e-8, 1.0, 1e3, 1e9])
    np.testing.assert_allclose(solve(system * units, target, 0.1) * units, solve(system, target, 0.1), rtol=1e-12)


def test_the_root_is_that_of_the_inverse_and_holds_what_nothing_determines():
    system = np.random.default_rng(5).standard_normal((30, 4)) * [1.0, 1e-3, 1e4, 2.0]
    root = Damped(system, np.zeros(30)).root()
    assert np.allclose(root @ root.T @ (system.T @ system), np.eye(4))
    doubled = np.column_stack([system, system[:, 0]])  # a direction that nothing determines
    held = Damped(doubled, np.zeros(30)).root(1e-7)
    assert np.abs(held).max() < 10 * np.abs(root).max()
    known = doubled @ held
    assert np.allclose(np.linalg.svd(known, compute_uv=False)[:4], 1.0)


def test_a_matrix_that_the_fast_driver_gives_up_on_is_decomposed_by_the_slow_one(monkeypatch):
    def gives_up(*rest, **named):
        raise np.linalg.LinAlgError("SVD did not converge")

    matrix = np.random.default_rng(3).standard_normal((12, 4))
    expected = np.linalg.svd(matrix, compute_uv=False)
    monkeypatch.setattr(np.linalg, "svd", gives_up)
    u, s, vt = damped.svd(matrix)
    np.testing.assert_allclose(s, expected, rtol=1e-12)
    np.testing.assert_allclose((u * s) @ vt, matrix, atol=1e-12)


@pytest.mark.parametrize("long", [False, True])
def test_numbers_that_are_not_finite_have_no_solution_and_raise_nothing(long):
    system, target = np.random.default_rng(4).standard_normal((20, 3)), np.ones(20)
    system[3, 1] = np.nan
    assert np.isnan(Damped(system, target, long=long)(1e-3)).all()


@pytest.mark.parametrize("seed", [71, 72, 73])
def test_exchanging_terms_that_hardly_differ_comes_to_an_end(seed):
    """Three directions seen through several columns that differ by far less."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(4, 12))
    base = rng.standard_normal((60, 3))
    system = base @ rng.standard_normal((3, count)) + 10.0 ** rng.uniform(-9, -3) * rng.standard_normal((60, count))
    target = base @ rng.standard_normal(3) * 10.0 ** rng.uniform(0, 6) + rng.standard_normal(60)
    x, there = exchanged(system, target, np.ones(count, dtype=np.bool_), [np.arange(count)], 5.0)
    assert np.isfinite(x).all()
    assert there.any()
    assert (x[~there] == 0).all()
