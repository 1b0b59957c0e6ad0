"""Inputs given as `known=`: the equations have them, and the forecast follows them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import expm

from prophecy.forecasting import forecast
from prophecy.forecasting.known import Known

Array = NDArray[np.float64]


def _held(state: Any, driven: Any, inputs: Array, dt: float, start: list[float]) -> Array:
    """x' = state @ x + driven @ u with u held from sample to sample."""
    a, b = np.asarray(state, dtype=np.float64), np.asarray(driven, dtype=np.float64)
    joint = np.zeros((len(a) + b.shape[1],) * 2)
    joint[: len(a), : len(a)], joint[: len(a), len(a) :] = a, b
    step = expm(dt * joint)
    path = [np.array(start)]
    for u in inputs[:-1]:
        path.append(step[: len(a), : len(a)] @ path[-1] + step[: len(a), len(a) :] @ u)
    return np.array(path)


MOTOR = np.array([[-2.0, -0.5], [1.5, -0.3]]), np.array([[1.0], [0.0]])
NETWORK = np.array([[-0.3, 0.3], [0.1, -0.15]]), np.array([[0.5, 0.0], [0.0, 0.05]])


def _motor() -> tuple[Array, Array]:
    times = 0.1 * np.arange(360)
    voltage = (6 + 4 * np.sign(np.sin(0.9 * times)) + 2 * np.sin(2.3 * times))[:, None]
    return _held(*MOTOR, voltage, 0.1, [0.0, 0.0]), voltage


def _network() -> tuple[Array, Array]:
    times = 0.25 * np.arange(360)
    inputs = np.column_stack([2 + 2 * np.sign(np.sin(0.35 * times)), 10 + 5 * np.sin(0.26 * times)])
    return _held(*NETWORK, inputs, 0.25, [12.0, 10.0]), inputs


@pytest.mark.parametrize("noise", [0.0, 0.001, 0.01])
@pytest.mark.parametrize(("made", "matrices", "dt"), [(_motor, MOTOR, 0.1), (_network, NETWORK, 0.25)])
def test_a_system_with_known_inputs_has_them_in_its_equations(
    made: Callable[[], tuple[Array, Array]], matrices: tuple[Array, Array], dt: float, noise: float
) -> None:
    path, inputs = made()
    values = path + noise * path.std(axis=0) * np.random.default_rng(0).standard_normal(path.shape)
    ahead = forecast(values[:300], 60, known=inputs)
    law = ahead.equations(dt=dt)
    assert law is not None
    assert law.names == ("x", "y", *(("u",) if inputs.shape[1] == 1 else ("u1", "u2")))
    there = np.column_stack([path, inputs])[:300]
    truth = path[:300] @ matrices[0].T + inputs[:300] @ matrices[1].T
    assert law(there).shape == truth.shape
    assert np.sqrt(np.mean((law(there) - truth) ** 2) / np.mean(truth**2)) < 0.01
    assert np.abs(ahead.point - path[300:]).max() < (1e-4 + 2 * noise) * path.std()
    assert len(law.lines()) == 2
    assert len(law.sympy()) == 2


def test_inputs_keep_the_names_that_were_given() -> None:
    path, inputs = _motor()
    law = forecast(path[:300], 60, known=Known(inputs, ("volts",))).equations(names=("i", "w"), dt=0.1)
    assert law is not None
    assert law.lines() == ["i' = -2 i - 0.5 w + volts", "w' = 1.5 i - 0.3 w"]


def test_an_input_that_does_nothing_is_in_no_equation() -> None:
    path, inputs = _motor()
    idle = np.random.default_rng(3).standard_normal(len(inputs))
    noisy = path + 0.01 * path.std(axis=0) * np.random.default_rng(1).standard_normal(path.shape)
    law = forecast(noisy[:300], 60, known=np.column_stack([inputs, idle])).equations(dt=0.1)
    assert law is not None
    assert "u1" in str(law)
    assert "u2" not in str(law)
