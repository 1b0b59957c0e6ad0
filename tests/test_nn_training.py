"""Training layers: what learns, gradients, stability; and no bit before a value depends on it."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from prophecy.fading import lagt  # noqa: E402
from prophecy.nn import DiagonalSSM, GatedBlock, horizons, parameter_groups, scan, stepping  # noqa: E402
from tests.nn_layers import MEMORIES, learning, make, noise, relative  # noqa: E402

# --- training ---


@pytest.mark.parametrize(
    ("train", "names"),
    [
        ("none", set()),
        ((), set()),
        ("readout", {"C", "D"}),
        ("all", {"C", "D", "rotation", "edges", "input"}),
        ("memory", {"rotation", "edges", "input"}),
        (("C", "window"), {"C", "log_tick"}),
        (("rotation",), {"rotation"}),
    ],
)
def test_train_names_what_learns(train, names):
    layer = make(train)
    assert {name for name, p in layer.named_parameters() if p.requires_grad} == names
    if names:
        layer(noise(1, 50, 3)).square().sum().backward()
        assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in learning(layer))


@pytest.mark.parametrize("window", [300.0, [30.0, 300.0, 1e5]], ids=["one window", "three windows"])
def test_memory_stays_stable_whatever_is_done_to_its_parameters(window):
    layer = make(("all", "window"), window=window, order=5)
    torch.manual_seed(0)
    for scale in (1e-3, 1.0, 1e2):
        with torch.no_grad():
            for parameter in layer.parameters():
                parameter.normal_().mul_(scale if parameter is not layer.log_tick else 1.0)
        A = layer.memory()[0].detach()[:, :5, :5] + torch.eye(5)
        assert torch.linalg.matrix_norm(A, 2).max() <= 1 + 1e-9
        assert torch.isfinite(layer(noise(1, 4000, 3))).all()
    diagonal = DiagonalSSM(2, 8, 0.1, dtype=torch.float64)
    with torch.no_grad():
        for parameter in diagonal.parameters():
            parameter.normal_().mul_(3)
    assert (diagonal.memory()[0] + 1).abs().max() <= 1
    assert torch.isfinite(diagonal(noise(1, 4000, 2))).all()


GRADIENTS = {
    "all and window": lambda: make(("all", "window"), order=3, window=[20.0, 50.0], channels=2),
    "several readouts": lambda: make("all", order=3, window=40.0, channels=2, construct=horizons(1, 2, degree=1)),
    "LagT": lambda: make("all", basis=lagt, order=2, window=20.0, channels=2),
    "S4D": lambda: DiagonalSSM(2, 4, (0.1, 0.3), seed=0, dtype=torch.float64),
}


@pytest.mark.parametrize("kind", GRADIENTS)
def test_first_and_second_gradients_are_those_of_finite_differences(kind):
    layer = GRADIENTS[kind]()
    layer.block = 4  # several blocks and a tail in nine samples
    u, state = noise(1, 9, 2).requires_grad_(), noise(1, 2, layer.size, seed=1).requires_grad_()
    names = [name for name, p in layer.named_parameters() if p.requires_grad]

    class All(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = layer

        def forward(self, u, state):
            return (*self.layer.scan(u, state), self.layer.states(u, state))

    def outputs(u, state, *values):
        named = {f"layer.{name}": value for name, value in zip(names, values, strict=True)}
        return torch.func.functional_call(All(), named, (u, state))

    inputs = (u, state, *(p.detach().clone().requires_grad_() for p in learning(layer)))
    assert torch.autograd.gradcheck(outputs, inputs)
    assert torch.autograd.gradgradcheck(outputs, inputs, fast_mode=True)


@pytest.mark.parametrize("train", ["all", ("C", "D", "window")])
def test_a_few_training_steps_lower_the_error(train):
    layer, u = make(train, torch.float32), noise(4, 200, 3, dtype=torch.float32).cumsum(1)
    optimiser = torch.optim.Adam(layer.parameters(), lr=3e-3)
    losses = []
    for _ in range(40):
        loss = (layer(u)[:, :-1] - u[:, 1:]).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.9 * losses[0]


def test_inside_stepping_the_memories_of_a_stack_are_formed_once(monkeypatch):
    stack = torch.nn.ModuleList(
        [GatedBlock(3, make("all")), GatedBlock(3, DiagonalSSM(3, 8, 0.1, dtype=torch.float64))]
    )
    u, formed = noise(2, 5, 3), []
    for block in stack:
        memory = block.memory.memory
        monkeypatch.setattr(block.memory, "memory", lambda *a, m=memory: formed.append(1) or m(*a))
    plain, states = u, [block.initial_state(2) for block in stack]
    for block in stack:
        plain, _ = block.scan(plain)
    formed.clear()
    with stepping(stack):
        for k in range(5):
            y = u[:, k]
            for i, block in enumerate(stack):
                y, states[i] = block.step(y, states[i])
            assert relative(y, plain[:, k]) < 1e-12
    assert len(formed) == 2
    with torch.no_grad():
        stack[0].memory.rotation.mul_(2)
    assert relative(stack[0].step(u[:, 0], states[0])[0], stack[0].scan(u[:, :1], states[0])[0][:, 0]) < 1e-12


TRAINED = ["none", "readout", "all", ("C", "window"), ("rotation",)]


@pytest.mark.parametrize("window", [300.0, [30.0, 300.0, 1e5]], ids=["one window", "three windows"])
def test_a_checkpoint_does_not_depend_on_what_is_trained(window):
    u = noise(1, 70, 3)
    for one in TRAINED:
        layer = make(one, window=window)
        with torch.no_grad():
            for parameter in layer.parameters():
                parameter.mul_(1 + 0.01 * torch.rand(parameter.shape))
        for other in TRAINED:
            twin = make(other, window=window)
            twin.load_state_dict(layer.state_dict())
            assert relative(twin(u), layer.freeze()(u)) < 1e-13


def test_windows_that_are_set_by_hand_are_those_the_layer_runs():
    layer, u, windows = make(), noise(1, 70, 3), [30.0, 300.0, 1e5]
    layer(u)
    with torch.no_grad():
        layer.log_tick.copy_(-torch.tensor(windows, dtype=torch.float64).log())
    apart, ticks = make(window=windows), layer.log_tick.detach().clone()
    assert relative(layer.states(u), apart.states(u)) < 1e-12
    swapped = torch.func.functional_call(make(), {"log_tick": ticks}, u)
    assert relative(swapped, layer(u)) < 1e-12
    with torch.no_grad():
        layer.log_tick.fill_(layer.log_tick[0])
    assert layer.memory()[0].shape[0] == 1


def test_what_learns_can_be_changed_and_has_groups_of_its_own():
    layer = make("readout")
    assert layer.trained == {"C", "D"}
    assert layer.unfreeze("memory", "window").trained == {"C", "D", "rotation", "edges", "input", "window"}
    layer(noise(1, 60, 3)).square().sum().backward()
    assert (layer.log_tick.grad != 0).all()
    others, memory = parameter_groups(GatedBlock(3, layer), lr=1e-4)
    assert len(memory["params"]) == 4
    assert (memory["lr"], memory["weight_decay"]) == (1e-4, 0.0)
    assert len(others["params"]) == 2 + 6
    torch.optim.AdamW([others, memory], lr=1e-2).step()
    assert layer.freeze().trained == set()
    assert layer.unfreeze("none").trained == set()
    assert layer.requires_grad_(True).trained == {"C", "D", "rotation", "edges", "input", "window"}
    with pytest.raises(ValueError, match="train must be one of"):
        layer.freeze("A")
    diagonal = DiagonalSSM(2, 8, 0.1).freeze("rates", "dt")
    assert diagonal.trained == {"C", "D", "input"}


# --- torch.func ---


@pytest.mark.parametrize("length", [20, 100])
@pytest.mark.parametrize("name", ["LegT", "S4D-Lin"])
def test_gradients_by_torch_func_are_those_of_autograd_for_all_rows_and_for_each(name, length):
    layer, u = MEMORIES[name](torch.float64), noise(4, length, 3)
    parameters = {key: value.detach() for key, value in layer.named_parameters() if value.requires_grad}

    def loss(values, rows):
        return torch.func.functional_call(layer, values, (rows,)).square().mean()

    made = torch.func.grad(loss)(parameters, u)
    expected = torch.autograd.grad(layer(u).square().mean(), learning(layer))
    for (key, found), wanted in zip(made.items(), expected, strict=True):
        assert relative(found, wanted) < 1e-9, key
    each = torch.func.vmap(torch.func.grad(lambda values, row: loss(values, row[None])), (None, 0))(parameters, u)
    for key, found in each.items():
        assert relative(found.mean(0), made[key]) < 1e-9, key
    assert relative(torch.func.vmap(lambda row: layer(row[None])[0])(u), layer(u)) < 1e-12


@pytest.mark.parametrize("shape", [(5,), (1, 5), (17, 5), (3, 17, 5)])
def test_a_scan_inside_vmap_is_the_scan(shape):
    b = noise(3, 17, 5)
    A, state = 0.9 * torch.tanh(noise(*shape)), noise(3, 5)
    axis = 0 if len(shape) == 3 else None
    made = torch.func.vmap(lambda a, row, x: scan(a, row, x, diagonal=True), (axis, 0, 0))(A, b, state)
    assert relative(made, scan(A, b, state, diagonal=True)) < 1e-12
    dense = 0.3 * noise(*shape, 5)
    made = torch.func.vmap(lambda a, row, x: scan(a, row, x), (axis, 0, 0))(dense, b, state)
    assert relative(made, scan(dense, b, state)) < 1e-12


# --- causality in floating point ---

CAUSAL = {name: MEMORIES[name] for name in ("LegT", "FouT", "windows of their own", "S4D-Lin")}


@settings(deadline=None, max_examples=25)
@given(
    k=st.integers(0, 129),
    value=st.floats(allow_nan=False, allow_infinity=False, width=32),
    dtype=st.sampled_from([torch.float32, torch.float64]),
)
@pytest.mark.parametrize("name", CAUSAL)
def test_any_finite_value_changes_no_bit_before_it(name, k, value, dtype):
    layer, u = CAUSAL[name](dtype), noise(2, 130, 3, dtype=dtype)
    with torch.no_grad():
        y, states = layer(u), layer.states(u)
        u[:, k] = value
        assert torch.equal(layer(u)[:, :k], y[:, :k])
        assert torch.equal(layer.states(u)[:, :k], states[:, :k])


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize("k", [0, 31, 32, 900])
def test_a_nan_reaches_back_to_the_start_of_its_block_and_no_further(k, bad):
    layer, u = make(), noise(1, 1000, 3)
    assert layer.block == 32
    y = layer(u)
    u[:, k] = bad
    start = k // 32 * 32
    assert torch.equal(layer(u)[:, :start], y[:, :start])
    assert not torch.isfinite(layer(u)[:, k:]).any()
    assert torch.equal(layer.states(u)[:, :k], layer.states(torch.nan_to_num(u, 0.0, 0.0))[:, :k])
