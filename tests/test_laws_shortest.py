"""Of all equations that hold along the samples, the shortest."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

import prophecy
from prophecy.laws.select_terms import exchanged, fewest, relations


def _sampled(field, start, step, samples):
    times = step * np.arange(samples)
    return solve_ivp(lambda t, x: field(*x), (0, times[-1]), start, "DOP853", times, rtol=1e-11, atol=1e-13).y.T


def _epidemic(s, i, r):
    return [-4e-7 * s * i, 4e-7 * s * i - 0.1 * i, 0.1 * i]


def _chain(a, b, c):
    return [-0.3 * a, 0.3 * a - 0.1 * b, 0.1 * b]


def _enzyme(s, e, c, p):
    return [-2 * e * s + 0.5 * c, -2 * e * s + 1.5 * c, 2 * e * s - 1.5 * c, c]


def _lorenz(x, y, z):
    return [10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z]


def _rossler(x, y, z):
    return [-y - z, x + 0.2 * y, 0.2 + z * (x - 5.7)]


def _masses(x1, v1, x2, v2):
    return [v1, -4 * x1 + x2 - 0.05 * v1, v2, 2 * x1 - 2 * x2 - 0.05 * v2]


def _switch(u, v):
    return [4 / (1 + v**2) - u, 4 / (1 + u**2) - v]


def _hunt(prey, pred):
    return [prey * (1 - prey / 6) - prey * pred / (1 + prey), -0.3 * pred + 0.6 * prey * pred / (1 + prey)]


def _products(equations):
    """Which products each equation has, without the variables inside of functions."""
    return [{equations._product(term).split(" /")[0] for term in terms} for terms in equations.terms]


def _noisy(values, share, seed):
    spread = np.nanstd(values, axis=0)
    return values + share * spread * np.random.default_rng(seed).standard_normal(values.shape)


#: field, start, step, samples, names, lines without noise
CONSERVED = {
    "epidemic": (
        _epidemic, [999_900, 100, 0], 0.5, 200, "SIR",
        ["S' = -4.0000e-7 S I", "I' = -0.1 I + 4.0000e-7 S I", "R' = 0.1 I", "S + I + R = 1.0000e6 in every row"],
    ),
    "chain of reactions": (
        _chain, [1, 0, 0], 0.2, 200, "ABC",
        ["A' = -0.3 A", "B' = 0.3 A - 0.1 B", "C' = 0.1 B", "A + B + C = 1 in every row"],
    ),
    "enzyme": (
        _enzyme, [2, 1, 0, 0], 0.05, 200, "SECP",
        ["S' = 0.5 C - 2 S E", "E' = 1.5 C - 2 S E", "C' = -1.5 C + 2 S E", "P' = C",
         "E + C = 1 in every row", "P = 1 - S + E in every row"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CONSERVED)
def test_conserved_sums_do_not_disguise_the_law(name):
    field, start, step, samples, names, lines = CONSERVED[name]
    found = prophecy.forecast(_sampled(field, start, step, samples), 5).equations(dt=step, names=tuple(names))
    assert found.lines() == lines


@pytest.mark.parametrize("name", CONSERVED)
@pytest.mark.parametrize("seed", [0, 1, 7])
def test_nor_do_they_through_noise(name, seed):
    field, start, step, samples, names, _ = CONSERVED[name]
    values = _noisy(_sampled(field, start, step, samples), 0.01, seed)
    found = prophecy.forecast(values, 5).equations(dt=step, names=tuple(names))
    exact = prophecy.forecast(_sampled(field, start, step, samples), 5).equations(dt=step, names=tuple(names))
    assert _products(found) == _products(exact)


@pytest.mark.parametrize(
    ("field", "copied", "lines"),
    [
        (_lorenz, lambda x: x, ["x' = 10 (y - x)", "y' = 28 x - y - x z", "z' = -2.6667 z + x y",
                                 "w' = 10 (y - w)", "w = x in every row"]),
        (_rossler, lambda x: 1.8 * x + 32, ["x' = -(y + z)", "y' = x + 0.2 y", "z' = 0.2 - 5.7 z + x z",
                                             "w' = -1.8 (y + z)", "w = 32 + 1.8 x in every row"]),
    ],
)  # fmt: skip
def test_a_column_that_is_there_twice_or_in_another_unit_is_named(field, copied, lines):
    step = 0.03 if field is _lorenz else 0.15
    values = _sampled(field, [1, 2, 0.2], step, 700)[200:]
    values = np.column_stack([values, copied(values[:, 0])])
    ahead = prophecy.forecast(values, 5)
    assert ahead.equations(dt=step, names=tuple("xyzw")).lines() == lines
    assert any("combinations of others" in note for note in ahead.notes)
    alone = prophecy.forecast(values[:, :3], 5)
    assert not any("combinations of others" in note for note in alone.notes)


def test_modes_that_decay_equally_bring_no_products():
    values = _sampled(_masses, [1, 0, 0.3, 0], 0.1, 500)
    values[np.random.default_rng(0).random(len(values)) < 0.1] = np.nan
    names = ("x1", "v1", "x2", "v2")
    found = prophecy.forecast(values, 5).equations(dt=0.1, names=names)
    assert _products(found) == [{"v1"}, {"x1", "v1", "x2"}, {"v2"}, {"x1", "x2", "v2"}]
    noisy = prophecy.forecast(_noisy(values, 0.01, 3), 5).equations(dt=0.1, names=names)
    assert noisy is not None  # what bridges of missing values are off by is not held against it
    assert _products(noisy) == _products(found)


def test_a_fraction_without_a_number_before_it_has_a_numerator():
    path = _sampled(lambda x, y: [1 / (1 + y**2) - 0.3 * x, 0.6 * x - 0.4 * y], [0.1, 2], 0.1, 300)
    found = prophecy.forecast(path, 5).equations(dt=0.1, names=("x", "y"))
    assert found.lines() == ["x' = -0.3 x + 1 /(y^2 + 1)", "y' = 0.6 x - 0.4 y"]


def test_quotients_are_cancelled():
    found = prophecy.forecast(_sampled(_switch, [0.1, 0.2], 0.05, 200), 5).equations(dt=0.05, names=("u", "v"))
    assert found.lines() == ["u' = -u + 4 /(v^2 + 1)", "v' = -v + 4 /(u^2 + 1)"]
    found = prophecy.forecast(_sampled(_hunt, [1, 1.5], 0.25, 500), 5).equations(dt=0.25, names=("prey", "pred"))
    assert found.lines()[0] == "prey' = prey - 0.16667 prey^2 - prey pred /(prey + 1)"
    noisy = _noisy(_sampled(_hunt, [1, 1.5], 0.25, 500), 0.01, 0)
    found = prophecy.forecast(noisy, 5).equations(dt=0.25, names=("prey", "pred"))
    assert _products(found)[0] == {"prey", "prey^2", "prey pred"}


@pytest.mark.parametrize("share", [0.01, 0.03])
def test_no_term_joins_because_there_were_many_to_choose_from(share):
    values = _noisy(_sampled(_rossler, [1, 2, 0.2], 0.15, 500), share, 0)
    found = prophecy.forecast(values, 5).equations(dt=0.15, names=tuple("xyz"))
    assert _products(found) == [{"y", "z"}, {"x", "y"}, {"", "z", "x z"}]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(3, 9), st.integers(0, 3), st.integers(1, 3))
def test_the_fewest_columns_are_no_more_than_made_the_target(seed, free, dependent, count):
    generator = np.random.default_rng(seed)
    columns = generator.standard_normal((40, free))
    columns = np.column_stack([columns, columns @ generator.standard_normal((free, dependent))])
    columns = columns[:, generator.permutation(columns.shape[1])] * 10.0 ** generator.uniform(-3, 3, columns.shape[1])
    made = generator.choice(columns.shape[1], count, replace=False)
    target = columns[:, made] @ (generator.uniform(0.5, 2, count) / np.linalg.norm(columns[:, made], axis=0))
    found = fewest(columns, target, 1e-9, columns.shape[1], tuple)
    assert 1 <= len(found) <= count
    rest = target - columns[:, found] @ np.linalg.lstsq(columns[:, found], target, rcond=None)[0]
    assert np.linalg.norm(rest) < 2e-9


def test_columns_that_make_no_target_are_none():
    columns = np.eye(6)[:, :3]
    assert fewest(columns, np.eye(6)[5], 1e-3, 3, tuple) == []
    assert fewest(columns, np.zeros(6), 1e-3, 3, tuple) == []


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(4, 8))
def test_exchanging_terms_never_costs_more(seed, terms):
    generator = np.random.default_rng(seed)
    system = generator.standard_normal((30, 2 * terms)) @ np.diag(10.0 ** generator.uniform(-1, 1, 2 * terms))
    system[:, 0] = system[:, 1:4].sum(axis=1)  # one that stands for three
    target = generator.standard_normal(30) * 3 + system[:, 0]
    equations = [np.arange(terms), np.arange(terms, 2 * terms)]
    chosen = generator.random(2 * terms) < 0.6
    chosen[1:4] = True

    def cost(there):
        return (
            np.linalg.norm(target - system[:, there] @ np.linalg.lstsq(system[:, there], target, rcond=None)[0]) ** 2
            + 2.0 * there.sum()
        )

    x, there = exchanged(system, target, chosen, equations, 2.0)
    assert cost(there) <= cost(chosen) + 1e-6
    assert (x[~there] == 0).all()
    np.testing.assert_allclose(
        target - system @ x,
        target - system[:, there] @ np.linalg.lstsq(system[:, there], target, rcond=None)[0],
        atol=1e-6,
    )


def test_relations_name_the_fewest_others():
    generator = np.random.default_rng(0)
    a, b, c = generator.standard_normal((3, 50))
    found = relations(np.column_stack([a, b, 2 * a - 3, c, a + b + c]))
    assert [(which, [j for j, _ in others]) for which, others, _ in found] == [(2, [0]), (4, [0, 1, 3])]
    assert found[0][1][0][1] == pytest.approx(2)
    assert found[0][2] == pytest.approx(-3)
    assert relations(np.column_stack([a, b, c])) == []
    assert relations(np.column_stack([a, b, a + 1e-4 * c])) == []
