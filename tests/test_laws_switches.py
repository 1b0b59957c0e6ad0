"""Kinks and switches: steps across them are as exact as others, and fields that have them are found."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import prophecy
from prophecy.laws import flow
from prophecy.laws.flow import EIGHTH, FOURTH, MODULUS, SIGN, TANH, Function, SparseField


def _exact(field, event, start, times):
    """Samples at `times` of x' = field(x, side), side = sign(event(x)), each side integrated up to the switch."""
    x, now, out = np.array(start, dtype=float), 0.0, [np.array(start, dtype=float)]
    side = np.sign(event(x))
    for time in times[1:]:
        while now < time:

            def crossed(_, y, s=side):
                return event(y) * s

            crossed.__dict__.update(terminal=True, direction=-1)
            part = solve_ivp(
                lambda _, y, s=side: field(y, s), (now, time), x, "DOP853", events=crossed, rtol=1e-11, atol=1e-12
            )
            now, x = float(part.t[-1]), part.y[:, -1]
            if part.status == 1:  # a moment off the switch, or it would be found there again
                side = -side
                now, x = now + 1e-9, x + 1e-9 * field(x, side)
        out.append(x)
    return np.array(out)


def _switching(kind: int) -> SparseField:
    """Two variables, all products of the function with the variables."""
    terms = flow.polynomial_terms(2, 2, [Function(kind, (1.0, 0.3), 0.1)], 2)
    theta = 0.3 * np.random.default_rng(3).standard_normal((terms.size, 2))
    theta[0] = [0.5, -0.4]
    return SparseField.of(terms, theta)


def _turning(kind: int) -> SparseField:
    """x' = y, y' = -x + 0.5 f - 0.3 f y: it turns, and crosses the switch twice a turn."""
    terms = flow.polynomial_terms(2, 1, [Function(kind, (1.0, 0.3), 0.1)], 2)
    theta = np.zeros((terms.size, 2))
    theta[2, 0], theta[1, 1], theta[3, 1], theta[5, 1] = 1.0, -1.0, 0.5, -0.3
    return SparseField.of(terms, theta)


def _sides(field: SparseField, kind: int):
    """The field with NumPy, and what it switches by."""
    powers = flow.powers(field.terms)

    def event(x):
        return x[0] + 0.3 * x[1] + 0.1

    def slope(x, side):
        value = side * event(x) if kind == MODULUS else side
        return np.prod(np.array([*x, value]) ** powers, axis=1) @ field.theta

    return slope, event


@pytest.mark.parametrize("kind", [MODULUS, SIGN])
@pytest.mark.parametrize("tableau", [FOURTH, EIGHTH])
def test_steps_across_a_switch_are_those_of_an_outside_integrator(kind, tableau):
    field = _switching(kind)
    slope, event = _sides(field, kind)
    points = np.random.default_rng(0).uniform(-0.6, 0.6, (40, 2))
    there = field.steps(tableau, points, 32 if tableau is FOURTH else 8)
    truth = np.array([_exact(slope, event, x, [0.0, 1.0])[-1] for x in points])
    across = np.array([event(a) * event(b) < 0 for a, b in zip(points, truth, strict=True)])
    assert across.sum() > 3
    assert np.abs(there - truth).max() < (
        1e-3 if tableau is FOURTH and kind == MODULUS else 1e-6 if tableau is FOURTH else 1e-9
    )


@pytest.mark.parametrize("kind", [MODULUS, SIGN])
def test_derivatives_across_a_switch_are_those_of_the_step(kind):
    field = _switching(kind)
    _, event = _sides(field, kind)
    points = np.random.default_rng(1).uniform(-0.6, 0.6, (40, 2))
    ends, tangent = field.tangents(EIGHTH, points, 2)
    assert np.allclose(ends, field.steps(EIGHTH, points, 2), rtol=0, atol=1e-13)
    assert sum(event(a) * event(b) < 0 for a, b in zip(points, ends, strict=True)) > 3
    nudge = 1e-6
    for c in range(2 + field.count):
        both = []
        for by in (nudge, -nudge):
            if c < 2:
                both.append(field.steps(EIGHTH, points + by * np.eye(2)[c], 2))
            else:
                both.append(field.moved(by * np.eye(field.count)[c - 2]).steps(EIGHTH, points, 2))
        assert np.allclose((both[0] - both[1]) / (2 * nudge), tangent[:, :, c], atol=1e-5), c


@pytest.mark.parametrize("kind", [MODULUS, SIGN])
def test_paths_across_switches_are_those_of_an_outside_integrator(kind):
    field = _turning(kind)
    slope, event = _sides(field, kind)
    start = np.array([0.3, -0.2])
    path = field.paths(start[None], 12, 1e-11, 1e3)[0]
    truth = _exact(slope, event, start, np.arange(13.0))[1:]
    assert np.allclose(path, truth, rtol=0, atol=1e-8)


def test_where_both_sides_lead_back_to_the_switch_the_path_stays_there():
    """x' = -sign(x): a path that reaches zero slides on it. The number of switches is bounded."""
    terms = flow.polynomial_terms(1, 0, [Function(SIGN, (1.0,), 0.0)])
    field = SparseField.of(terms, np.array([[0.0], [-1.0]]))
    path = field.paths(np.array([[2.5]]), 10, 1e-9, 1e3)[0, :, 0]
    assert np.allclose(path[:2], [1.5, 0.5], atol=1e-12)
    assert (np.abs(path[2:]) <= 1.0).all()


def _relay(x, side):
    """An oscillator pushed by a relay that switches with its velocity: chaotic with the third variable."""
    return np.array([x[1], -x[0] - side * x[1], x[1] ** 2 - np.exp(-(x[0] ** 2))])


def _double_scroll(x, _):
    """Chua's circuit with seven pieces, after its multi-scroll form."""
    m, c = (-0.14285714, 0.28571429, -0.57142857, 0.28571429), (0.0, 1.0, 2.15, 3.6)
    diode = m[-1] * x[0] + sum(
        0.5 * (m[i - 1] - m[i]) * (abs(x[0] + c[i]) - abs(x[0] - c[i])) for i in range(1, len(m))
    )
    return np.array([9 * (x[1] - diode), x[0] - x[1] + x[2], -14.286 * x[1]])


def test_a_field_that_switches_with_the_sign_of_a_variable_is_found_and_followed():
    times = np.arange(812) * 0.2
    series = _exact(_relay, lambda x: x[2], [0.0, 1.0, 0.3], times)
    ahead = prophecy.forecast(series[:512], 200)
    equations = ahead.equations(dt=0.2, names="xyz")
    assert equations is not None
    assert "sign" in {each.function for each in equations.functions}
    error = np.abs(np.asarray(ahead.point) - series[512:712]) / series.std(axis=0)
    assert error[:60].max() < 0.01


def test_a_piecewise_linear_circuit_with_several_kinks_is_found():
    times = np.arange(812) * 0.1
    series = solve_ivp(
        lambda _, x: _double_scroll(x, 0), (0, times[-1]), [0.1, 0.0, 0.0], "DOP853", times, rtol=1e-10, atol=1e-10,
        max_step=0.01,
    ).y.T  # fmt: skip
    ahead = prophecy.forecast(series[:512], 100)
    equations = ahead.equations(dt=0.1, names="xyz")
    assert equations is not None
    assert {each.function for each in equations.functions} == {"abs"}
    error = np.abs(np.asarray(ahead.point) - series[512:612]) / series.std(axis=0)
    assert error[:30].max() < 0.05


@pytest.mark.parametrize(("share", "seed"), [(0.0, 0), (0.01, 0), (0.01, 1)])
def test_a_relay_is_a_sign_and_not_a_steep_tanh(share, seed):
    def relay(x, side):
        return np.array([x[1], -x[0] - 0.2 * x[1] + 0.5 * side])

    values = _exact(relay, lambda x: x[1], [2.0, 0.1], 0.1 * np.arange(600))
    noise = share * values.std(axis=0) * np.random.default_rng(seed).standard_normal(values.shape)
    ahead = prophecy.forecast((values + noise)[:500], 100)
    found = ahead.equations(dt=0.1, names=("x", "v"))
    assert [function.function for function in found.functions] == ["sign"]
    assert [{found._product(term) for term in terms} for terms in found.terms] == [{"v"}, {"x", "v", "sign(v)"}]
    assert found.terms[1][-1].coefficient == pytest.approx(0.5, rel=1e-6 if not share else 0.03)
    width = np.mean(ahead.upper - ahead.lower, axis=0) / values.std(axis=0)
    assert (width < max(6 * share, 1e-6)).all()  # 3.3 noises at level 0.9


def test_a_tanh_that_samples_resolve_stays_one():
    path = np.column_stack([np.sin(0.1 * np.arange(300)), np.cos(0.1 * np.arange(300))])
    for slope, kind in ((20.0, TANH), (200.0, SIGN)):
        field = SparseField.of(flow.polynomial_terms(2, 1, [Function(TANH, (slope, 0.0), 0.1)]))
        jumping = field.jumping(path)
        assert (field if jumping is None else jumping).terms.kinds.tolist() == [kind]
