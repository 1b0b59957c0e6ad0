"""Readouts solved in context: each solver against the sum or the regression that defines it, written out."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from prophecy import legt, next_value  # noqa: E402
from prophecy.nn import RLS, ContextSSM, Delta, GradientStep, ProphecySSM, Ridge, scan  # noqa: E402


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


# --- ordinary data: any scale, silence, gaps, integers, half precision ---


def context(solver, base="copy", **kind):
    return ContextSSM(ProphecySSM(1, 8, 60.0, 1.0, **kind), solver, base=base)


WAVE = torch.sin(torch.arange(600.0, dtype=torch.float64) / 7)[None, :, None]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("solver", [RLS, Ridge])
@pytest.mark.parametrize(("level", "size"), [(101325.0, 100.0), (0.0, 1e4), (0.0, 1e5), (1e9, 1.0), (0.0, 1e-9)])
def test_no_scale_makes_a_solver_raise(level, size, solver, dtype):
    assert torch.isfinite(context(solver(), dtype=dtype)((level + size * WAVE).to(dtype))).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("solver", [RLS, Ridge])
@pytest.mark.parametrize(("level", "size"), [(101325.0, 100.0), (0.0, 1e4), (0.0, 1e5)])
def test_a_sine_of_ordinary_size_on_an_ordinary_level_is_predicted(level, size, solver, dtype):
    u = (level + size * WAVE).to(dtype)
    y = context(solver(forgetting=0.95), dtype=dtype)(u)  # forgets how the level began out of nothing
    copying = (u[:, 300:-1] - u[:, 301:]).abs().mean()
    assert (y[:, 300:-1] - u[:, 301:]).abs().mean() < 0.05 * copying


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e4, 1e6])
def test_rls_in_float64_predicts_a_sine_of_any_size(size):
    u = size * WAVE
    assert float((context(RLS(0.95), dtype=torch.float64)(u)[:, 300:-1] - u[:, 301:]).abs().max()) < 1e-3 * size


@pytest.mark.parametrize("solver", [RLS(), RLS(0.9), Ridge(), Ridge(forgetting=0.9)])
def test_a_long_silence_is_forgotten_when_a_sine_begins(solver):
    u = torch.cat([torch.zeros(1, 20_000, 1, dtype=torch.float64), WAVE], dim=1)
    y = context(solver, dtype=torch.float64)(u)
    assert torch.isfinite(y).all()
    assert float((y[:, -100:-1] - u[:, -99:]).abs().max()) < 0.05


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
@pytest.mark.parametrize("kind", SOLVERS)
def test_a_bad_value_stays_in_its_row_of_the_batch(kind, bad):
    make, parts = SOLVERS[kind]
    phi, v = data(3, 80, 4)
    clean, _ = make(**parts)(phi, v)
    phi[1, 40, 2] = bad
    y, _ = make(**parts)(phi, v)
    assert torch.equal(y[[0, 2]], clean[[0, 2]])
    assert torch.equal(y[1, :32], clean[1, :32])
    assert not torch.isfinite(y[1, -1]).any()


def test_integers_are_predicted_as_their_floats_are_in_sequence_and_step():
    layer, u = context(RLS(0.95)), (100 * WAVE).round().to(torch.int64)
    y = layer(u)
    assert y.dtype == torch.float32
    assert torch.equal(y, layer(u.float()))
    assert layer.step(u[:, 0], layer.initial_state(1))[0].dtype == torch.float32


def test_bfloat16_in_and_out_leaves_the_state_in_the_memorys_precision():
    layer, u = context(RLS(0.95)), WAVE.bfloat16()
    y, state = layer.scan(u)
    assert y.dtype == torch.bfloat16
    assert state.memory.dtype == torch.float32
    assert torch.equal(state.memory, layer.scan(u.float())[1].memory)
    assert torch.equal(y, layer(u.float()).bfloat16())


@pytest.mark.parametrize("solver", [RLS, Ridge, Delta, GradientStep])
def test_an_empty_batch_passes_through_a_context_layer(solver):
    assert context(solver())(torch.zeros(0, 50, 1)).shape == (0, 50, 1)


def test_a_refused_checkpoint_changes_nothing_and_the_horizon_counts():
    layer, other = context(RLS(0.9, horizon=1)), context(RLS(0.5, horizon=2))
    before = {name: value.clone() for name, value in layer.solver.named_parameters()}
    assert before
    with pytest.raises(ValueError, match="with horizon = 2, this one has 1"):
        layer.solver.load_state_dict(other.solver.state_dict())
    assert all(torch.equal(value, before[name]) for name, value in layer.solver.named_parameters())
    layer.load_state_dict(context(RLS(0.5)).state_dict())
    assert float(layer.solver.part("forgetting")) == pytest.approx(0.5)


def test_a_rate_beyond_two_and_numpy_input_are_refused():
    with pytest.raises(ValueError, match="rate must be at most 2, got 5"):
        Delta(5.0)
    with pytest.raises(TypeError, match=r"u must be a torch\.Tensor, got ndarray; use torch\.as_tensor"):
        context(RLS())(np.zeros((1, 5, 1)))
