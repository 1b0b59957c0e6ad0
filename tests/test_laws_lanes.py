"""Points side by side: each has the numbers it would have alone, whatever its neighbours do."""

from __future__ import annotations

import numpy as np
import pytest
from prophecy.laws.kernels.entry import LANES

from prophecy.laws import flow
from prophecy.laws.flow import EIGHTH, EXPONENTIAL, FOURTH, MODULUS, RECIPROCAL, SIGN, SINE, TANH, Function, SparseField

FUNCTIONS = {
    "powers": [],
    "waves": [Function(SINE, (1.0, -0.3), 0.2), Function(TANH, (0.0, 2.0), 0.1)],
    "kinks": [Function(MODULUS, (1.0, 0.0), 0.2), Function(MODULUS, (1.0, 0.0), -0.3)],
    "switch": [Function(SIGN, (1.0, 0.4), 0.0)],
    "bent": [Function(EXPONENTIAL, (0.1, 0.0), 0.0, (-0.2, 0.1, 0.0, -0.3)), Function(RECIPROCAL, (0.0, 0.2), 3.0)],
}


def field_of(kind: str, seed: int = 0) -> SparseField:
    terms = flow.polynomial_terms(2, 2, FUNCTIONS[kind], 2)
    generator = np.random.default_rng(seed)
    mask = generator.random((terms.size, 2)) < 0.7
    return SparseField(terms, np.where(mask, 0.2 * generator.standard_normal(mask.shape), 0.0), mask)


@pytest.mark.parametrize("kind", FUNCTIONS)
@pytest.mark.parametrize("tableau", [FOURTH, EIGHTH])
@pytest.mark.parametrize("count", [1, 17, 2 * LANES + 3])
def test_steps_and_derivatives_of_a_point_do_not_depend_on_its_neighbours(kind, tableau, count):
    generator = np.random.default_rng(count)
    field, points = field_of(kind), generator.standard_normal((count, 2))
    substeps = generator.integers(1, 7, count)
    ends, tangent = field.tangents(tableau, points, substeps)
    there = field.steps(tableau, points, substeps)
    for k in range(0, count, 5):
        alone = field.tangents(tableau, points[k : k + 1], substeps[k : k + 1])
        assert np.array_equal(alone[0][0], ends[k], equal_nan=True)
        assert np.array_equal(alone[1][0], tangent[k], equal_nan=True)
        assert np.array_equal(field.steps(tableau, points[k : k + 1], substeps[k : k + 1])[0], there[k], equal_nan=True)


@pytest.mark.parametrize("kind", FUNCTIONS)
def test_a_point_that_leaves_for_infinity_takes_no_other_with_it(kind):
    field = field_of(kind)
    points = np.random.default_rng(0).standard_normal((20, 2))
    calm = field.steps(EIGHTH, points, 2)
    wild = points.copy()
    wild[::3] = [1e200, np.nan]
    there, (ends, tangent) = field.steps(EIGHTH, wild, 2), field.tangents(EIGHTH, wild, 2)
    others = np.arange(20) % 3 != 0
    assert np.isfinite(calm).all()
    assert np.array_equal(there[others], calm[others])
    assert np.array_equal(ends[others], calm[others])
    assert np.array_equal(tangent[others], field.tangents(EIGHTH, points, 2)[1][others])


@pytest.mark.parametrize("kind", FUNCTIONS)
@pytest.mark.parametrize("count", [1, LANES + 1])
def test_paths_with_fields_of_their_own_are_those_they_would_be_alone(kind, count):
    base = field_of(kind)
    generator = np.random.default_rng(1)
    fields = [base.moved(0.02 * generator.standard_normal(base.count)) for _ in range(count)]
    starts, kicks = generator.standard_normal((count, 2)), 1e-3 * generator.standard_normal((count, 12, 2))
    together = base.paths(starts, 12, 1e-8, 5.0, kicks, fields)
    for k in range(0, count, 4):
        alone = fields[k].paths(starts[k : k + 1], 12, 1e-8, 5.0, kicks[k : k + 1])
        assert np.array_equal(alone[0], together[k], equal_nan=True)


def test_no_points_and_no_horizon_are_answered_with_nothing():
    field = field_of("kinks")
    assert field.steps(EIGHTH, np.zeros((0, 2)), 3).shape == (0, 2)
    assert field.tangents(EIGHTH, np.zeros((0, 2)), 3)[1].shape == (0, 2, 2 + field.count)
    assert field.paths(np.zeros((3, 2)), 0, 1e-8, 5.0).shape == (3, 0, 2)


def test_a_path_whose_steps_shrink_without_end_is_lost_and_comes_to_an_end():
    """A field that noise led to: where an exponential grows, ever shorter steps are all good enough."""
    functions = [Function(EXPONENTIAL, (0.0, 0.677), 0.0), Function(EXPONENTIAL, (-12.5, -0.0), 0.713)]
    first = [-7.78, 4.05, 4.11, -0.565, -1.21, -0.869, 0.216, 0.0803, 0.0, 143.0, -16.0, -39.4]
    second = [0.273, -0.128, 0.0, 0.0166, 0.0197, 0.0, -0.0297, 0.000112, 0.0, -19.6, -0.0842, 5.52]
    field = SparseField.of(flow.polynomial_terms(2, 2, functions, 2), np.column_stack([first, second]))
    path = field.paths(np.array([[0.37, 3.5]]), 60, 1e-4, 33.0)[0]
    assert np.isfinite(path[0]).all()
    assert np.isnan(path[-1]).all()
