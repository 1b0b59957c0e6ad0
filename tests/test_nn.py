"""The torch layer: convolution and step agree, training keeps it stable, other layers get the same predictor."""

from __future__ import annotations

import copy
import importlib.util
import io
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from prophecy import conventions, derivative, discretize, fout, legs, legt, next_value, run  # noqa: E402
from prophecy.nn import ProphecySSM, init_dense_, init_s4d_  # noqa: E402

TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-10}
LENGTHS = [1, 2, 63, 64, 65, 1000]


def relative(a, b):
    return float(((a - b).norm() / b.norm()).detach())


def stepped(layer, u, state):
    rows = []
    for k in range(u.shape[1]):
        y, state = layer.step(u[:, k], state)
        rows.append(y)
    return torch.stack(rows, dim=1), state


def make(train="none", dtype=torch.float64, basis=legt, order=16, window=300.0, channels=3):
    return ProphecySSM(channels, order, window, dt=1.0, basis=basis, train=train, dtype=dtype)


def noise(*shape, dtype=torch.float64, seed=0):
    return torch.tensor(np.random.default_rng(seed).standard_normal(shape), dtype=dtype)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("basis", "order"), [(legt, 16), (fout, 17), (legt, 65)])
def test_convolution_and_step_give_the_same_numbers_from_any_state(basis, order, dtype, length):
    layer = make("all", dtype, basis, order, window=order * order / 0.5)
    u, state = noise(2, length, 3, dtype=dtype), noise(2, 3, order, dtype=dtype, seed=1)
    with torch.no_grad():
        for start in (layer.initial_state(2), state):
            y, final = layer.scan(u, start)
            y_step, final_step = stepped(layer, u, start)
            assert relative(y, y_step) < TOLERANCE[dtype]
            assert relative(final, final_step) < TOLERANCE[dtype]


@pytest.mark.parametrize("train", ["none", "readout", "all"])
def test_untrained_layer_is_the_construction(train):
    layer = make(train)
    u = noise(2, 500, 3)
    system = next_value(legt(16, 300.0), dt=1.0)
    expected, final = run(system, u.permute(0, 2, 1).reshape(6, 500).numpy(), engine="step")
    y, state = layer.scan(u)
    assert relative(y, torch.tensor(expected).reshape(2, 3, 500).permute(0, 2, 1)) < 1e-12
    assert relative(state, torch.tensor(final).reshape(2, 3, 16)) < 1e-12
    assert torch.equal(layer(u), y)


def test_a_sequence_cut_in_two_gives_what_the_whole_gives():
    layer, u = make(), noise(2, 301, 3)
    whole, end = layer.scan(u)
    first, middle = layer.scan(u[:, :97])
    second, last = layer.scan(u[:, 97:], middle)
    assert relative(torch.cat([first, second], 1), whole) < 1e-12
    assert relative(last, end) < 1e-12
    assert relative(layer(u[:, 97:], middle), second) < 1e-15


@pytest.mark.parametrize(
    ("train", "names"),
    [("none", set()), ("readout", {"C", "D"}), ("all", {"C", "D", "rotation", "edges", "input"})],
)
def test_train_says_what_learns(train, names):
    layer = make(train)
    assert {name for name, _ in layer.named_parameters()} == names
    if names:
        layer(noise(1, 50, 3)).square().sum().backward()
        assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in layer.parameters())


def test_memory_stays_stable_whatever_is_done_to_its_parameters():
    layer = make("all")
    torch.manual_seed(0)
    for scale in (1e-3, 1.0, 1e3):
        with torch.no_grad():
            for parameter in layer.parameters():
                parameter.normal_().mul_(scale)
        assert torch.linalg.matrix_norm(layer.memory()[0].detach(), 2) <= 1 + 1e-9
        assert torch.isfinite(layer(noise(1, 4000, 3))).all()


def test_gradients_are_those_of_finite_differences():
    layer = ProphecySSM(1, 3, 20.0, dt=1.0, train="all", dtype=torch.float64)
    u, state = noise(1, 9, 1).requires_grad_(), noise(1, 1, 3, seed=1).requires_grad_()
    names = [name for name, _ in layer.named_parameters()]

    def outputs(u, state, *values):
        return torch.func.functional_call(layer, dict(zip(names, values, strict=True)), (u, state))

    assert torch.autograd.gradcheck(
        outputs, (u, state, *(p.detach().clone().requires_grad_() for p in layer.parameters()))
    )


def test_a_few_training_steps_lower_the_error():
    layer, u = make("all", torch.float32), noise(4, 200, 3, dtype=torch.float32).cumsum(1)
    optimiser = torch.optim.Adam(layer.parameters(), lr=3e-3)
    losses = []
    for _ in range(30):
        loss = (layer(u)[:, :-1] - u[:, 1:]).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.9 * losses[0]


def test_state_dict_and_pickle_and_deepcopy_carry_everything():
    layer = make("all")
    with torch.no_grad():
        layer.rotation.add_(0.01)
        layer.C.mul_(1.1)
    u, twin, file = noise(1, 64, 3), make("all"), io.BytesIO()
    twin.load_state_dict(layer.state_dict())
    torch.save(layer.state_dict(), file)
    file.seek(0)
    again = make("all")
    again.load_state_dict(torch.load(file, weights_only=True))
    for other in (twin, again, copy.deepcopy(layer)):
        assert torch.equal(other(u), layer(u))
    assert set(make("none").state_dict()) == {"A", "B", "C", "D"}


@pytest.mark.parametrize("train", ["none", "all"])
def test_compiled_layer_equals_the_plain_one_without_graph_breaks(train):
    layer, u = make(train, torch.float32), noise(2, 100, 3, dtype=torch.float32)
    fast = torch.compile(layer, backend="aot_eager", fullgraph=True)
    assert relative(fast(u), layer(u)) < 1e-6
    step = torch.compile(layer.step, backend="aot_eager", fullgraph=True)
    start = layer.initial_state(2)
    assert relative(step(u[:, 0], start)[0], layer.step(u[:, 0], start)[0]) < 1e-6


@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16])
def test_autocast_does_not_reach_into_the_recurrence(half):
    layer, u = make("all", torch.float32), noise(2, 400, 3, dtype=torch.float32)
    plain = layer(u)
    with torch.autocast("cpu", dtype=half):
        assert torch.equal(layer(u), plain)
        narrow = layer(u.to(half))
        y, state = layer.step(u[:, 0].to(half), layer.initial_state(2))
    assert narrow.dtype == y.dtype == half
    assert state.dtype == torch.float32
    assert relative(narrow.float(), plain) < 2e-2
    narrow.float().sum().backward()
    assert torch.isfinite(layer.rotation.grad).all()


def test_double_makes_a_double_layer():
    layer = make("all", torch.float32).double()
    u = noise(1, 100, 3)
    with torch.no_grad():
        assert relative(layer(u), stepped(layer, u, layer.initial_state(1))[0]) < 1e-10
    assert layer(u).dtype == torch.float64


class Dense(torch.nn.Module):
    """A plain layer of the kind people write, one head per row; reads its state before or after the input arrives."""

    def __init__(self, heads, order, reads, column=False):
        super().__init__()
        self.A = torch.nn.Parameter(torch.zeros(heads, order, order, dtype=torch.float64))
        self.B = torch.nn.Parameter(torch.zeros((heads, order, 1) if column else (heads, order), dtype=torch.float64))
        self.C = torch.nn.Parameter(torch.zeros((heads, 1, order) if column else (heads, order), dtype=torch.float64))
        self.D = torch.nn.Parameter(torch.zeros(heads, dtype=torch.float64))
        self.reads = reads

    def forward(self, u):
        B, C = self.B.reshape(self.B.shape[:2]), self.C.reshape(self.B.shape[:2])
        x, rows = torch.zeros_like(B), []
        for now in u:
            before, x = x, torch.einsum("hij,hj->hi", self.A, x) + B * now
            rows.append((C * (x if self.reads == "after" else before)).sum(-1) + self.D * now)
        return torch.stack(rows)


@pytest.mark.parametrize("reads", ["after", "before"])
@pytest.mark.parametrize("column", [False, True])
def test_dense_layers_of_either_convention_get_the_same_predictions(reads, column):
    system, u = next_value(legt(6, 100.0), dt=1.0), noise(120)
    layer = Dense(4, 6, reads, column)
    init_dense_(layer.A, layer.B, layer.C, layer.D, system, reads=reads)
    expected = torch.tensor(run(system, u.numpy(), engine="step")[0])
    assert relative(layer(u).detach(), expected[:, None].expand(-1, 4)) < 1e-12


def test_dense_layers_that_discretise_by_themselves_get_the_continuous_system():
    rate = derivative(legt(6, 100.0))
    A, B, C, D = torch.empty(6, 6), torch.empty(6), torch.empty(6), torch.empty(1)
    init_dense_(A, B, C, D, rate)
    assert np.allclose(A.numpy(), rate.A, rtol=1e-6)
    assert np.allclose(C.numpy(), rate.C, rtol=1e-6)
    with pytest.raises(ValueError, match="reads='before'"):
        init_dense_(A, B, C, D, rate, reads="before")
    with pytest.raises(ValueError, match="D is None"):
        init_dense_(A, B, C, None, rate)
    with pytest.raises(ValueError, match=r"B must have shape \(\.\.\., 6\)"):
        init_dense_(A, torch.empty(5), C, D, rate)


def diagonal(channels, modes, dtype, packed):
    shape, complex_dtype = (channels, modes), torch.complex128 if dtype == torch.float64 else torch.complex64
    C = torch.full((*shape, 2), torch.nan, dtype=dtype) if packed else torch.full(shape, torch.nan, dtype=complex_dtype)
    nan = [torch.full(s, torch.nan, dtype=dtype) for s in ((channels,), shape, shape)]
    return [*nan, C, torch.full((channels,), torch.nan, dtype=dtype)]


def diagonal_outputs(u, log_dt, log_A_real, A_imag, C, D):
    """S4D from its definition, by stepping its diagonal recurrence under zero-order hold."""
    rates = -log_A_real.double().exp() + 1j * A_imag.double()
    dt = log_dt.double().exp()[:, None]
    weights = C.to(torch.complex128) if C.is_complex() else torch.view_as_complex(C.double())
    decay, gain = (rates * dt).exp(), ((rates * dt).exp() - 1) / rates
    x, rows = torch.zeros_like(rates), []
    for now in u.double():
        x = decay * x + gain * now
        rows.append(2 * (weights * x).sum(-1).real + D.double() * now)
    return torch.stack(rows)


# Measured: 5e-13, 7e-13, 2e-6, 2e-12 in float64; in float32 the weights' cancellation costs LegT 64 most of its digits.
@pytest.mark.parametrize(
    ("basis", "error"),
    [(legt(8, 100.0), 1e-11), (legt(17, 300.0), 1e-11), (legt(64, 5000.0), 1e-4), (fout(65, 5000.0), 1e-10)],
    ids=["LegT 8", "LegT 17", "LegT 64", "FouT 65"],
)
@pytest.mark.parametrize("packed", [False, True])
def test_diagonal_layers_get_the_kernel_and_are_told_the_error(basis, error, packed):
    parameters = diagonal(2, basis.order // 2 + 3, torch.float64, packed)
    reported = init_s4d_(*parameters, basis, dt=1.0)
    assert reported < error
    u = noise(400)
    system = next_value(basis, dt=1.0, memory=discretize.zoh)
    expected = torch.tensor(run(system, u.numpy(), engine="step")[0])[:, None].expand(-1, 2)
    assert relative(diagonal_outputs(u, *parameters), expected) < max(10 * reported, 1e-11)


def test_diagonal_error_in_float32_is_that_of_the_numbers_written():
    for basis, error in ((fout(33, 1000.0), 1e-4), (legt(12, 300.0), 1e-4)):
        reported = init_s4d_(*diagonal(1, 17, torch.float32, packed=True), basis, dt=1.0)
        assert 1e-9 < reported < error


def test_a_kernel_longer_than_the_fit_is_sampled_at_a_stride():
    assert init_s4d_(*diagonal(1, 9, torch.float64, packed=False), fout(17, 50.0), dt=1e-3) < 1e-9


def test_diagonal_shapes_and_capacity_are_checked_before_anything_is_written():
    parameters = diagonal(2, 4, torch.float64, packed=False)
    with pytest.raises(ValueError, match="C has 4 modes, order 16 needs 8"):
        init_s4d_(*parameters, legt(16, 300.0), dt=1.0)
    with pytest.raises(ValueError, match=r"A_imag must have shape \(2, 4\)"):
        init_s4d_(*parameters[:2], torch.empty(2, 5), *parameters[3:], legt(8, 300.0), dt=1.0)
    with pytest.raises(TypeError, match="ScaledBasis"):
        init_s4d_(*parameters, legs(8), dt=1.0)
    with pytest.raises(ValueError, match="D is None"):
        init_s4d_(*parameters[:4], None, legt(8, 300.0), dt=1.0)
    assert all(torch.isnan(p).all() for p in parameters)


def test_mistakes_are_named():
    layer = make("none", torch.float32)
    with pytest.raises(TypeError, match=r"basis must make a memory .* as prophecy.legt .* got 'legt'"):
        ProphecySSM(1, 8, 1.0, 0.1, basis="legt")
    with pytest.raises(ValueError, match=r"u must have shape \(batch, time >= 1, channels=3\), got \(2, 5\)"):
        layer(torch.zeros(2, 5))
    with pytest.raises(ValueError, match=r"u must have shape \(batch, channels=3\)"):
        layer.step(torch.zeros(2, 4), layer.initial_state(2))
    with pytest.raises(ValueError, match=r"state must have shape .* = \(2, 3, 16\), got \(1, 3, 16\)"):
        layer.step(torch.zeros(2, 3), layer.initial_state(1))
    with pytest.raises(TypeError, match=r"u\.float\(\) or layer\.double\(\)"):
        layer(torch.zeros(2, 5, 3, dtype=torch.float64))
    with pytest.raises(ValueError, match="train must be one of 'none', 'readout', 'all'"):
        make("some")
    with pytest.raises(TypeError, match="LegS changes with time"):
        ProphecySSM(1, 8, 1.0, 0.1, basis=lambda order, window: legs(order))
    with pytest.raises(ValueError, match="gains energy"):
        ProphecySSM(1, 8, 1.0, 1e-3, basis=lambda order, window: conventions.to_lmu(legt(order, window)), train="all")


def test_representation_says_what_the_layer_is():
    assert "channels=3, order=16, window=300, dt=1, basis=LegT, train=all" in repr(make("all"))


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_on_a_gpu_convolution_and_step_agree_compiled_and_under_autocast(dtype):
    layer = make("all", dtype, order=32, window=2000.0).cuda()
    u = noise(2, 2000, 3, dtype=dtype).cuda()
    with torch.no_grad():
        y, final = layer.scan(u)
        y_step, final_step = stepped(layer, u, layer.initial_state(2))
        assert relative(y, y_step) < TOLERANCE[dtype]
        assert relative(final, final_step) < TOLERANCE[dtype]
        assert relative(torch.compile(layer)(u), y) < 1e-6
        with torch.autocast("cuda", dtype=torch.float16):
            assert torch.equal(layer(u), y)
    on_cpu = make("all", dtype, order=32, window=2000.0)
    assert relative(y.cpu(), on_cpu(u.cpu())) < TOLERANCE[dtype]


def test_the_example_trains_and_the_construction_starts_ahead(tmp_path, monkeypatch):
    pytest.importorskip("statsmodels")
    pytest.importorskip("matplotlib")
    where = Path(__file__).parent.parent / "examples" / "train_layer.py"
    spec = importlib.util.spec_from_file_location("train_layer", where)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    monkeypatch.setattr(example, "EPOCHS", 20)
    monkeypatch.setattr(example, "TWINS", 2)
    errors = example.main(tmp_path / "training.png")
    assert errors["constructed"][-1] < errors["constructed"][0] < errors["random"].min()
    assert (tmp_path / "training.png").stat().st_size > 10_000
