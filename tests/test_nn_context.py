"""Readouts solved in context: each solver against the sum or the regression that defines it, written out."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from prophecy import legt, next_value  # noqa: E402
from prophecy.nn import RLS, Delta, GradientStep, Ridge, scan  # noqa: E402


def data(batch, time, features, outputs=1, seed=0):
    random = np.random.default_rng(seed)
    return tuple(torch.tensor(random.standard_normal((batch, time, n))) for n in (features, outputs))


def relative(a, b):
    return float((a - b).norm() / b.norm())


def defined(kind, phi, v, horizon, forgetting, rate=None, ridge=None, chunk=None):
    """The definitions, in NumPy, one step at a time, with no recursion where the definition has none."""
    phi, v = phi[0].numpy(), v[0].numpy()
    W, out = np.zeros((v.shape[1], phi.shape[1])), []
    for k in range(len(v)):
        pairs = [(phi[j], v[j + horizon], forgetting ** (k - j - horizon)) for j in range(k - horizon + 1)]
        if kind == "gradient":
            W = rate * sum((weight * np.outer(a, f) for f, a, weight in pairs), start=np.zeros_like(W))
        elif kind == "delta":
            W = forgetting * W
            if pairs:
                f, a, _ = pairs[-1]
                W = W + rate * np.outer(a - W @ f, f) / (f @ f)
        elif kind == "rls" or k % chunk == 0:
            fade = forgetting ** (k + 1) if kind == "rls" else 1.0
            moments = fade * ridge * np.eye(phi.shape[1])
            cross = np.zeros_like(W)
            for f, a, weight in pairs:
                moments, cross = moments + weight * np.outer(f, f), cross + weight * np.outer(a, f)
            W = np.linalg.solve(moments, cross.T).T
        out.append(W @ phi[k])
    return torch.tensor(np.array(out))[None]


SOLVERS = {
    "gradient": (GradientStep, {"rate": 0.3}),
    "delta": (Delta, {"rate": 0.7}),
    "rls": (RLS, {"ridge": 1e-3}),
    "ridge": (Ridge, {"ridge": 1e-2}),
}


@pytest.mark.parametrize("horizon", [1, 3])
@pytest.mark.parametrize("forgetting", [1.0, 0.97])
@pytest.mark.parametrize("chunk", [1, 7, 32])
@pytest.mark.parametrize("kind", SOLVERS)
def test_predictions_are_those_of_the_definition(kind, chunk, forgetting, horizon):
    make, parts = SOLVERS[kind]
    phi, v = data(1, 90, 4, 2)
    y, _ = make(forgetting=forgetting, horizon=horizon, chunk=chunk, **parts)(phi, v)
    expected = defined(kind, phi, v, horizon, forgetting, chunk=chunk, **parts)
    assert relative(y, expected) < 1e-10


@settings(deadline=None, max_examples=20)
@given(cut=st.integers(0, 60), chunk=st.sampled_from([1, 5, 16]), horizon=st.integers(1, 4))
@pytest.mark.parametrize("kind", SOLVERS)
def test_a_run_cut_anywhere_and_one_taken_step_by_step_are_the_whole_run(kind, cut, chunk, horizon):
    make, parts = SOLVERS[kind]
    solver = make(forgetting=0.98, horizon=horizon, chunk=chunk, **parts)
    phi, v = data(2, 60, 3, seed=1)
    whole, end = solver(phi, v)
    first, middle = solver(phi[:, :cut], v[:, :cut])
    second, last = solver(phi[:, cut:], v[:, cut:], middle)
    assert relative(torch.cat([first, second], 1), whole) < 1e-11
    assert relative(last.weights, end.weights) < 1e-10
    state, rows = solver.initial_state(2, 3, 1), []
    for k in range(60):
        y, state = solver.step(phi[:, k], v[:, k], state)
        rows.append(y)
    assert relative(torch.stack(rows, 1), whole) < 1e-11


@pytest.mark.parametrize("kind", SOLVERS)
def test_gradients_reach_features_values_and_every_part(kind):
    make, parts = SOLVERS[kind]
    solver = make(forgetting=0.95, chunk=4, train=("forgetting", *parts), **parts)
    phi, v = (a.requires_grad_() for a in data(1, 9, 2))
    names = [name for name, _ in solver.named_parameters()]

    def outputs(phi, v, *values):
        return torch.func.functional_call(solver, dict(zip(names, values, strict=True)), (phi, v))[0]

    inputs = (phi, v, *(p.detach().clone().requires_grad_() for p in solver.parameters()))
    assert torch.autograd.gradcheck(outputs, inputs)
    assert torch.autograd.gradgradcheck(outputs, inputs, fast_mode=True)
    assert len(names) == 1 + len(parts)


@pytest.mark.parametrize("kind", SOLVERS)
def test_a_later_value_changes_no_bit_before_it_can_be_known(kind):
    make, parts = SOLVERS[kind]
    solver = make(forgetting=0.9, chunk=8, **parts)
    phi, v = data(2, 40, 3)
    plain, _ = solver(phi, v)
    for k in (0, 7, 8, 23, 39):
        other_phi, other_v = phi.clone(), v.clone()
        other_phi[:, k], other_v[:, k] = 1e3, -1e5
        assert torch.equal(solver(other_phi, other_v)[0][:, :k], plain[:, :k])


def test_solvers_find_the_readout_of_a_sine_from_the_memory_and_rank_as_they_should():
    """LegT's state determines the next value of a sine linearly: least squares finds it, a gradient step does not."""
    system = next_value(legt(8, 60.0), dt=1.0)
    u = torch.sin(torch.arange(800.0, dtype=torch.float64) / 7)[None, :, None]
    states = scan(torch.tensor(np.array(system.A)), u * torch.tensor(np.array(system.B)))
    features = torch.cat([states, u], dim=2)
    errors = {}
    for kind, solver in {
        "gradient": GradientStep(rate=1e-3),
        "delta": Delta(rate=1.0),
        "rls": RLS(ridge=1e-9, forgetting=0.95),  # forgets how the sine began out of nothing
        "ridge": Ridge(ridge=1e-12, forgetting=0.95, chunk=1),
    }.items():
        y, _ = solver(features, u)
        errors[kind] = float((y[:, 400:-1] - u[:, 401:]).abs().mean())
    assert errors["ridge"] < 1e-6
    assert errors["rls"] < 1e-6
    assert errors["rls"] < errors["delta"] < errors["gradient"]


def test_rls_stays_positive_over_a_hundred_thousand_steps_of_nearly_constant_features():
    phi = torch.ones(1, 100_000, 2) + 1e-6 * torch.randn(1, 100_000, 2, generator=torch.Generator().manual_seed(0))
    y, state = RLS(forgetting=0.999, ridge=1e-4)(phi, phi[..., :1])
    assert torch.isfinite(y).all()
    assert float((y[:, 5000:] - 1).abs().max()) < 1e-3
    assert torch.linalg.eigvalsh(state.moments @ state.moments.mT).min() > 0


def test_operations_are_counted_per_value_and_ranked():
    gradient, delta, rls, exact = (solver.operations(32) for solver in (GradientStep(), Delta(), RLS(), Ridge(chunk=1)))
    assert gradient == 2 * 32
    assert gradient < delta < rls < exact
    assert Ridge(chunk=16).operations(32) < exact


def test_mistakes_are_named():
    with pytest.raises(ValueError, match=r"forgetting must lie in \(0, 1\], got 1.5"):
        RLS(forgetting=1.5)
    with pytest.raises(ValueError, match=r"train must name parts of forgetting, ridge, got \['rate'"):
        RLS(train="rate")
    with pytest.raises(ValueError, match="start below it"):
        RLS(train="forgetting")
    with pytest.raises(ValueError, match="must agree in batch and time"):
        Delta()(torch.zeros(1, 3, 2), torch.zeros(1, 4, 1))
