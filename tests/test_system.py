"""Systems are values: nothing about one changes once it is made, and two are the same only if they are one."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, fields
from typing import Any

import numpy as np
import pytest

from prophecy import legs, legt, next_value
from prophecy.constructions import derivative
from prophecy.system import Continuous, ScaledContinuous, ScaledSystem, System

MADE: dict[type, Callable[[], Any]] = {
    Continuous: lambda: derivative(legt(3, 2.0)),
    ScaledContinuous: lambda: derivative(legs(3)),
    System: lambda: next_value(legt(3, 2.0), 0.1),
    ScaledSystem: lambda: next_value(legs(3), 0.1),
}


@pytest.mark.parametrize("kind", MADE)
def test_no_field_of_a_system_can_be_set_and_no_matrix_written_to(kind):
    system = MADE[kind]()
    assert type(system) is kind
    for one in fields(system):
        with pytest.raises(FrozenInstanceError):
            setattr(system, one.name, getattr(system, one.name))
    for name in "ABC":
        with pytest.raises(ValueError, match="read-only"):
            getattr(system, name)[0] = 0.0


@pytest.mark.parametrize("kind", MADE)
def test_systems_are_compared_by_identity_and_so_can_be_keys(kind):
    one, other = MADE[kind](), MADE[kind]()
    assert one == one
    assert one != other
    assert {one: 1, other: 2}[one] == 1


@pytest.mark.parametrize("kind", [System, ScaledSystem])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_pickled_system_is_the_same_checked_and_frozen_again(kind, dtype):
    system = MADE[kind]().astype(dtype)
    again = pickle.loads(pickle.dumps(system))
    assert type(again) is kind
    assert again.dtype == system.dtype == dtype
    for name in "ABC":
        np.testing.assert_array_equal(getattr(again, name), getattr(system, name))
        assert not getattr(again, name).flags.writeable
    assert (again.D, again.dt) == (system.D, system.dt)


def test_the_derivative_of_a_scaled_system_is_its_slope_in_units_per_second():
    system = MADE[ScaledSystem]()
    C, D = system.derivative(50)
    np.testing.assert_allclose(C, system.slope(50).C / 0.1, rtol=1e-14)
    np.testing.assert_allclose(D, system.slope(50).D / 0.1, rtol=1e-14)


def test_a_system_is_shown_in_a_line_without_its_matrices():
    assert repr(MADE[System]()) == "System(order=3, dt=0.1, dtype=float64)"
    assert repr(MADE[ScaledSystem]()) == "ScaledSystem(order=3, dt=0.1, memory=bilinear, dtype=float64)"


def test_a_scaled_system_is_corrected_and_of_unit_step_unless_said_otherwise():
    made = derivative(legs(3))
    plain = ScaledSystem(made.A, made.B, made.C, made.D)
    assert (plain.corrected, plain.dt, System(made.A, made.B, made.C, made.D).dt) == (True, 1.0, 1.0)
    gain = 1 - 0.5 * made.D / 100
    np.testing.assert_allclose(plain.slope(100).C, made.C / (100 * gain), rtol=1e-14)


@pytest.mark.parametrize("basis", [legt(3, 2.0), legs(3)], ids=["LegT", "LegS"])
def test_a_pickled_basis_is_the_same_and_frozen_again(basis):
    again = pickle.loads(pickle.dumps(basis))
    assert type(again) is type(basis)
    assert again.name == basis.name
    for name in ("A", "B", "newest"):
        np.testing.assert_array_equal(getattr(again, name), getattr(basis, name))
        assert not getattr(again, name).flags.writeable
