"""The layers: step, sequence and cut sequence agree for every memory and output; training keeps them stable."""

from __future__ import annotations

import copy
import functools
import io
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

import prophecy  # noqa: E402
from prophecy import (  # noqa: E402
    conventions,
    discretize,
    exact,
    foud,
    fourier_decay,
    fout,
    lagt,
    legs,
    legs_invariant,
    legt,
    next_value,
    run,
)
from prophecy.diagonal import s4d_inv, s4d_legs, s4d_lin  # noqa: E402
from prophecy.nn import Bidirectional, ContextSSM, DiagonalSSM, GatedBlock, ProphecySSM, Ridge, horizons, slope  # noqa: E402

TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-12}
LENGTHS = [1, 2, 31, 32, 33, 65, 1000]


def relative(a, b):
    return float(((a - b).norm() / b.norm()).detach())


def stepped(layer, u, state, **how):
    rows = []
    for k in range(u.shape[1]):
        y, state = layer.step(u[:, k], state, **how)
        rows.append(y)
    return torch.stack(rows, dim=1), state


def make(train=(), dtype=torch.float64, basis=legt, order=16, window=300.0, channels=3, **more):
    return ProphecySSM(channels, order, window, dt=1.0, basis=basis, train=train, dtype=dtype, **more)


def noise(*shape, dtype=torch.float64, seed=0):
    return torch.tensor(np.random.default_rng(seed).standard_normal(shape), dtype=dtype)


MEMORIES = {
    "LegT": lambda dtype: make("all", dtype, legt, 16),
    "LegT 65": lambda dtype: make((), dtype, legt, 65, window=9000.0),
    "FouT": lambda dtype: make("all", dtype, fout, 17),
    "LegS": lambda dtype: make("all", dtype, legs_invariant, 16),
    "LagT": lambda dtype: make("all", dtype, lagt, 16),
    "FouD": lambda dtype: make("memory", dtype, foud, 17),
    "Fourier, decaying": lambda dtype: make("memory", dtype, fourier_decay, 17),
    "windows of their own": lambda dtype: make("all", dtype, window=np.array([40.0, 500.0, 1e5]), order=6),
    "window trained": lambda dtype: make(("window", "C"), dtype, window=np.array([400.0, 500.0, 1e5])),
    "S4D-Lin": lambda dtype: DiagonalSSM(3, 16, (1e-3, 1e-1), s4d_lin, seed=0, dtype=dtype),
    "S4D-Inv": lambda dtype: DiagonalSSM(3, 16, 1e-2, s4d_inv, seed=0, dtype=dtype),
    "S4D-LegS": lambda dtype: DiagonalSSM(3, 16, (1e-3, 1e-1), s4d_legs, seed=0, dtype=dtype),
}
OUTPUTS = {
    "prediction": next_value,
    "exact": lambda basis, dt: exact(basis, dt, 3),
    "derivative": slope,
    "horizons": horizons(1, 4, 16, degree=2),
}


# --- step ≡ sequence ≡ cut sequence ---


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("memory", MEMORIES)
def test_sequence_states_and_steps_give_the_same_numbers_from_any_state(memory, dtype, length):
    layer = MEMORIES[memory](dtype)
    u, state = noise(2, length, 3, dtype=dtype), noise(2, 3, layer.order, dtype=dtype, seed=1)
    with torch.no_grad():
        for start in (layer.initial_state(2), state):
            y, final = layer.scan(u, start)
            y_step, final_step = stepped(layer, u, start)
            states = layer.states(u, start)
            assert relative(y, y_step) < TOLERANCE[dtype]
            # States are small differences of large histories where the window is long: a digit less.
            assert relative(final, final_step) < 10 * TOLERANCE[dtype]
            assert relative(states[:, -1], final_step) < 10 * TOLERANCE[dtype]
            assert relative(layer.read(states, u), y_step) < TOLERANCE[dtype]
            assert torch.equal(layer(u, start), y)


@settings(deadline=None, max_examples=15)
@given(cut=st.integers(0, 301))
@pytest.mark.parametrize("output", OUTPUTS)
def test_a_sequence_cut_anywhere_gives_what_the_whole_gives(output, cut):
    layer, u = make(construct=OUTPUTS[output]), noise(2, 301, 3)
    whole, end = layer.scan(u)
    first, middle = layer.scan(u[:, :cut])
    second, last = layer.scan(u[:, cut:], middle)
    assert relative(torch.cat([first, second], 1), whole) < 1e-12
    assert relative(last, end) < 1e-12
    y, final = stepped(layer, u, layer.initial_state(2))
    assert relative(y, whole) < 1e-12
    assert relative(final, end) < 1e-12


@pytest.mark.parametrize("train", ["none", "readout", "all", ("C", "window"), "memory"])
def test_untrained_layer_is_the_construction(train):
    layer = make(train)
    u = noise(2, 500, 3)
    system = next_value(legt(16, 300.0), dt=1.0)
    expected, final = run(system, u.permute(0, 2, 1).reshape(6, 500).numpy(), engine="step")
    y, state = layer.scan(u)
    assert relative(y, torch.tensor(expected).reshape(2, 3, 500).permute(0, 2, 1)) < 1e-12
    assert relative(state, torch.tensor(final).reshape(2, 3, 16)) < 1e-12


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("train", ["none", "all"])
def test_every_output_is_that_of_its_system_in_each_channel(train, output):
    windows, construct = [200.0, 300.0, 500.0], OUTPUTS[output]
    layer, u = make(train, order=8, window=windows, construct=construct), noise(1, 400, 3)
    y = layer(u)
    for channel, window in enumerate(windows):
        systems = construct(legt(8, window), 1.0)
        for i, system in enumerate(systems if isinstance(systems, list) else [systems]):
            expected = torch.tensor(run(system, u[0, :, channel].numpy(), engine="step")[0])
            found = y[0, :, channel, i] if isinstance(systems, list) else y[0, :, channel]
            assert relative(found, expected) < 1e-11


def test_a_layer_around_any_system_is_that_system_and_its_memory_can_be_trained():
    system = exact(legt(6, 100.0), 1.0, 3, memory=discretize.zoh)
    u = noise(2, 300, 2)
    expected = torch.tensor(run(system, u.permute(0, 2, 1).reshape(4, 300).numpy(), engine="step")[0])
    for train in ("none", "readout", "all"):
        layer = ProphecySSM.from_system(system, channels=2, train=train, dtype=torch.float64)
        assert relative(layer(u), expected.reshape(2, 2, 300).permute(0, 2, 1)) < 1e-11
    two = ProphecySSM.from_system(
        [system, exact(legt(6, 100.0), 1.0, 3, 8, memory=discretize.zoh)], 2, dtype=torch.float64
    )
    assert two(u).shape == (2, 300, 2, 2)
    assert relative(two(u)[..., 0], layer(u)) < 1e-11


def test_diagonal_layer_is_s4d_by_its_definition():
    layer, u = DiagonalSSM(2, 8, (1e-2, 1e-1), s4d_inv, seed=3, dtype=torch.float64), noise(1, 200, 2)
    rates = -layer.log_decay.exp() + 1j * layer.frequency
    decay = (rates * layer.log_dt.exp()[:, None]).exp()
    gain, x, rows = (decay - 1) / rates, torch.zeros(2, 4, dtype=torch.complex128), []
    for now in u[0]:
        x = decay * x + gain * now[:, None]
        rows.append(2 * (torch.view_as_complex(layer.C) * x).sum(-1).real + layer.D[:, 0] * now)
    assert relative(layer(u)[0], torch.stack(rows)) < 1e-12


# --- irregular times, padding, both directions, gates ---


def test_steps_of_another_length_are_the_bilinear_rule_at_that_length():
    for train in ("none", "all"):
        layer, u = make(train, order=6, window=50.0), noise(4, 3)
        steps = torch.tensor([0.25, 1.0, 3.0, 10.0], dtype=torch.float64)
        state = noise(4, 3, 6, seed=2)
        _, found = layer.step(u, state, dt=steps)
        for row, step in enumerate(steps):
            pair = discretize.bilinear(legt(6, 50.0).A, legt(6, 50.0).B, float(step))
            expected = state[row] @ torch.tensor(pair.A).T + u[row][:, None] * torch.tensor(pair.B)
            assert relative(found[row], expected) < 1e-10
        own, plain = layer.step(u, state, dt=1.0), layer.step(u, state)
        assert relative(own[0], plain[0]) < 1e-11
        per_channel = layer.step(u, state, dt=steps[:, None].expand(4, 3))
        assert relative(per_channel[1], found) < 1e-14


def test_irregular_steps_follow_a_slow_signal_better_than_pretending_they_are_even():
    layer = make(order=8, window=200.0, channels=1)
    random = np.random.default_rng(0)
    steps = torch.tensor(random.choice([0.5, 1.0, 2.0], 1500))
    times = steps.cumsum(0)
    u = torch.sin(times / 40)[:, None]
    rows = {}
    for kind in ("told", "pretending"):
        state, errors = layer.initial_state(1), []
        for k in range(1500):
            y, state = layer.step(u[k][None], state, **({"dt": float(steps[k])} if kind == "told" else {}))
            errors.append(float(y - torch.sin((times[k] + 1.0) / 40)))
        rows[kind] = np.abs(errors[600:]).mean()
    assert rows["told"] < rows["pretending"] / 3


def test_a_diagonal_memory_takes_steps_of_another_length_exactly():
    """Under a held input, two steps of half the length are one step."""
    layer, u = DiagonalSSM(3, 8, 0.05, seed=0, dtype=torch.float64), noise(2, 3)
    start = noise(2, 3, 8, seed=1)
    _, half = layer.step(u, start, dt=0.025)
    _, both = layer.step(u, half, dt=0.025)
    assert relative(both, layer.step(u, start)[1]) < 1e-13


@pytest.mark.parametrize("memory", ["LegT", "windows of their own", "S4D-Lin"])
def test_padded_rows_are_what_they_are_alone(memory):
    layer, u = MEMORIES[memory](torch.float64), noise(4, 70, 3)
    lengths, state = torch.tensor([70, 0, 33, 32]), noise(4, 3, layer.order, seed=1)
    y, final = layer.scan(u, state, lengths=lengths)
    poisoned = u.clone()
    for row, length in enumerate(lengths.tolist()):
        poisoned[row, length:] = 1e200
        alone, end = layer.scan(u[row : row + 1, :length], state[row : row + 1])
        assert torch.equal(y[row, length:], torch.zeros_like(y[row, length:]))
        assert relative(final[row : row + 1], end) < 1e-12
        if length:
            assert relative(y[row : row + 1, :length], alone) < 1e-12
    assert torch.equal(layer(poisoned, state, lengths=lengths), y)


def test_masked_samples_are_skipped_wherever_they_are():
    layer, u = make(), noise(3, 50, 3)
    mask = torch.tensor(np.random.default_rng(1).random((3, 50)) < 0.6)
    mask[2] = False
    y, final = layer.scan(u, mask=mask)
    for row in range(2):
        kept, end = layer.scan(u[row : row + 1, mask[row]])
        assert relative(y[row, mask[row]], kept[0]) < 1e-13
        assert relative(final[row], end[0]) < 1e-13
    assert not y[~mask].any()
    assert not final[2].any()
    whole = torch.ones(3, 50, dtype=torch.bool)
    assert relative(layer(u, mask=whole), layer(u)) < 1e-15


def test_both_directions_turn_padded_rows_within_their_length():
    layer = Bidirectional(make(), make("all"))
    u, lengths = noise(2, 40, 3), torch.tensor([40, 25])
    y = layer(u, lengths=lengths)
    alone = layer(u[1:, :25])
    assert y.shape == (2, 40, 6)
    assert relative(y[1:, :25], alone) < 1e-12
    assert relative(alone[..., 3:], layer.backwards(u[1:, :25].flip(1)).flip(1)) < 1e-15


def test_a_gated_block_mixes_channels_and_steps_like_its_sequence():
    torch.manual_seed(0)
    block = GatedBlock(5, make("readout", channels=4))
    u = noise(2, 45, 5)
    y, final = block.scan(u)
    y_step, final_step = stepped(block, u, block.initial_state(2))
    assert relative(y, y_step) < 1e-12
    assert relative(final, final_step) < 1e-12
    assert torch.equal(block(u), y)
    only = u.clone()
    only[:, :, 0] += 1.0
    assert ((block(only) - y).abs().amax((0, 1)) > 1e-6).all()
    block(u).square().sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in block.parameters())


@pytest.mark.parametrize("base", ["none", "copy", "construction"])
@pytest.mark.parametrize("horizon", [1, 3])
def test_a_context_layer_cut_anywhere_goes_on_and_steps_like_its_sequence(base, horizon):
    construct = next_value if horizon == 1 else lambda basis, dt: exact(basis, dt, 2, horizon)
    layer = ContextSSM(
        make(order=4, window=60.0, construct=construct), Ridge(1e-3, 0.99, horizon=horizon, chunk=4), base=base
    )
    u = noise(2, 61, 3).cumsum(1)
    whole, _ = layer.scan(u)
    first, middle = layer.scan(u[:, :23])
    second, _ = layer.scan(u[:, 23:], middle)
    assert relative(torch.cat([first, second], 1), whole) < 1e-9
    y, _ = stepped(layer, u, layer.initial_state(2))
    assert relative(y, whole) < 1e-9
    other = u.clone()
    other[:, 40:] += 1e6
    assert torch.equal(layer(other)[:, :40], whole[:, :40])


def test_a_context_layer_corrects_the_construction_on_a_sine():
    memory = make(order=8, window=60.0, channels=1)
    u = torch.sin(torch.arange(900.0, dtype=torch.float64) / 7)[None, :, None]
    plain = (memory(u)[:, 400:-1] - u[:, 401:]).abs().mean()
    solved = ContextSSM(memory, prophecy.nn.RLS(0.98, 1e-6), base="construction")
    assert (solved(u)[:, 400:-1] - u[:, 401:]).abs().mean() < plain / 100


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
    assert {name for name, _ in layer.named_parameters()} == names
    if names:
        layer(noise(1, 50, 3)).square().sum().backward()
        assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in layer.parameters())


@pytest.mark.parametrize("window", [300.0, [30.0, 300.0, 1e5]], ids=["one window", "three windows"])
def test_memory_stays_stable_whatever_is_done_to_its_parameters(window):
    layer = make(("all", "window"), window=window, order=5)
    torch.manual_seed(0)
    for scale in (1e-3, 1.0, 1e2):
        with torch.no_grad():
            for parameter in layer.parameters():
                parameter.normal_().mul_(scale if parameter is not layer.log_tick else 1.0)
        A = layer.memory()[0].detach() + torch.eye(5)
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
    u, state = noise(1, 9, 2).requires_grad_(), noise(1, 2, layer.order, seed=1).requires_grad_()
    names = [name for name, _ in layer.named_parameters()]

    class All(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = layer

        def forward(self, u, state):
            return (*self.layer.scan(u, state), self.layer.states(u, state))

    def outputs(u, state, *values):
        named = {f"layer.{name}": value for name, value in zip(names, values, strict=True)}
        return torch.func.functional_call(All(), named, (u, state))

    inputs = (u, state, *(p.detach().clone().requires_grad_() for p in layer.parameters()))
    assert torch.autograd.gradcheck(outputs, inputs)
    assert torch.autograd.gradgradcheck(outputs, inputs, fast_mode=True)


@pytest.mark.parametrize("train", ["all", ("C", "D", "window")])
def test_a_few_training_steps_lower_the_error(train):
    layer, u = make(train, torch.float32), noise(4, 200, 3, dtype=torch.float32).cumsum(1)
    optimiser = torch.optim.Adam(layer.parameters(), lr=3e-3)
    losses = []
    for _ in range(30):
        loss = (layer(u)[:, :-1] - u[:, 1:]).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.9 * losses[0]


def test_a_trained_memory_is_formed_once_for_many_steps(monkeypatch):
    layer, u, state = make("all"), noise(2, 3), make("all").initial_state(2)
    solves, solve = [], torch.linalg.solve
    monkeypatch.setattr(torch.linalg, "solve", lambda *a, **k: solves.append(1) or solve(*a, **k))
    memory = layer.memory()
    for _ in range(5):
        y, state = layer.step(u, state, memory=memory)
    assert len(solves) == 1
    assert relative(y, stepped(layer, u[:, None].expand(2, 5, 3), layer.initial_state(2))[0][:, -1]) < 1e-14


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


# --- precision, kinds of input, memory ---


@pytest.mark.parametrize("train", ["none", "readout", "all"])
@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16])
def test_half_precision_keeps_the_recurrence_stable_over_a_long_window(half, train):
    layer = ProphecySSM(1, 64, 5000.0, 1.0, train=train, dtype=torch.float32)
    u = torch.sin(torch.arange(60_000) / 300)[None, :, None]
    with torch.no_grad():
        plain = layer(u)
        narrow = layer.to(half)(u.to(half))
    assert narrow.dtype == half
    assert float((narrow.float() - plain).abs().max()) < 0.05
    assert {p.dtype for p in layer.parameters()} <= {torch.float32}


@pytest.mark.parametrize("order", [64, 128, 256])
@pytest.mark.parametrize("window", [1e3, 1e5])
def test_float32_and_bfloat16_are_stable_at_large_orders_and_long_windows(order, window):
    """States of a unit input stay bounded by it: energy enters with u² / window and leaves through the edges."""
    backward = functools.partial(next_value, memory=discretize.backward)
    u = torch.sign(noise(1, 12_000, 1, dtype=torch.float32))
    for dtype in (torch.float32, torch.bfloat16):
        layer = ProphecySSM(1, order, window, 1.0, train="all", construct=backward, dtype=torch.float32).to(dtype)
        wide = ProphecySSM(1, order, window, 1.0, train="all", construct=backward, dtype=torch.float64)
        with torch.no_grad():
            _, state = layer.scan(u.to(dtype))
            _, expected = wide.scan(u.double())
            assert torch.isfinite(state).all()
            assert float(state.square().sum()) < 1.5  # Σ x² is the mean of the remembered u², 1 here
            assert relative(state.double(), expected) < 1e-3
            memory, x = layer.memory(), state
            for k in range(200):
                _, x = layer.step(u[:, k].to(dtype), x, memory=memory)
            assert float(x.square().sum()) < 1.5


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


def test_integers_are_promoted_in_sequence_and_step():
    layer = ProphecySSM(1, 4, 100.0, 1.0)
    whole = torch.arange(300)[None, :, None]
    y = layer(whole)
    assert y.dtype == torch.float32
    assert torch.equal(y, layer(whole.float()))
    assert float(y[0, -1, 0]) != round(float(y[0, -1, 0]))
    now, _ = layer.step(whole[:, 0] + 7, layer.initial_state(1))
    assert torch.equal(now, layer.step(whole[:, 0].float() + 7, layer.initial_state(1))[0])


def test_empty_batches_and_empty_sequences_pass_through():
    for layer in (make("all"), DiagonalSSM(3, 8, 0.1, dtype=torch.float64)):
        for shape in ((0, 20, 3), (2, 0, 3)):
            u = torch.zeros(shape, dtype=torch.float64, requires_grad=True)
            y, state = layer.scan(u)
            assert y.shape == shape
            assert state.shape == (shape[0], 3, layer.order)
            y.sum().backward()
            assert u.grad.shape == shape
        y, state = layer.step(torch.zeros(0, 3, dtype=torch.float64), layer.initial_state(0))
        assert y.shape == (0, 3)


def test_double_makes_a_double_layer_with_every_digit_of_its_memory():
    layer, fresh = make("readout", torch.float32).double(), make("readout", torch.float64)
    assert torch.equal(layer.less, fresh.less)
    u = noise(1, 100, 3)
    with torch.no_grad():
        assert relative(layer(u), stepped(layer, u, layer.initial_state(1))[0]) < 1e-12
    assert layer(u).dtype == torch.float64


class Largest(torch.utils._python_dispatch.TorchDispatchMode):
    """The largest tensor any operator makes, by bytes, operators inside ours included."""

    def __init__(self):
        super().__init__()
        self.bytes = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        for tensor in out if isinstance(out, tuple | list) else [out]:
            if isinstance(tensor, torch.Tensor):
                self.bytes = max(self.bytes, tensor.numel() * tensor.element_size())
        return out


@pytest.mark.parametrize("state", [False, True])
def test_no_tensor_of_a_forward_grows_with_order_times_time_in_float64(state):
    """533 MB once, for 128 channels and 4096 samples with a state; the states of the block starts are what is left."""
    channels, time, order = 32, 4096, 64
    layer = ProphecySSM(channels, order, 20_000.0, 1.0, train="readout", dtype=torch.float32)
    u = noise(1, time, channels, dtype=torch.float32)
    with torch.no_grad(), Largest() as largest:
        layer(u, layer.initial_state(1) if state else None)
    # Matrices of the blocks in float64 (channels · L · N) and a copy or two of u, whichever is larger.
    assert largest.bytes <= 2 * max(8 * channels * layer.block * (order + layer.block), 4 * channels * time)
    assert largest.bytes < 8 * order * time * channels / 8


# --- graphs and files ---


@pytest.mark.parametrize("name", ["LegT", "windows of their own", "S4D-Lin"])
def test_one_captured_graph_serves_every_length_and_batch(name):
    from torch._dynamo.testing import CompileCounterWithBackend

    torch._dynamo.reset()
    layer, counted = MEMORIES[name](torch.float32), CompileCounterWithBackend("aot_eager")
    fast = torch.compile(layer, dynamic=True, fullgraph=True, backend=counted)
    for length in (100, 33, 500, 64, 7, 31, 95, 210, 129, 1000, 12, 77):
        u = noise(2 + length % 3, length, 3, dtype=torch.float32)
        y = fast(u)
        assert relative(y, layer(u)) < 1e-6
        y.square().sum().backward()
    assert counted.frame_count <= 2


def test_compiled_scan_with_lengths_and_compiled_step_are_the_plain_ones():
    layer, u = make("all", torch.float32), noise(3, 100, 3, dtype=torch.float32)
    scan = torch.compile(layer.scan, backend="aot_eager", fullgraph=True, dynamic=True)
    lengths = torch.tensor([100, 5, 64])
    for found, expected in zip(scan(u, lengths=lengths), layer.scan(u, lengths=lengths), strict=True):
        assert relative(found, expected) < 1e-6
    for found, expected in zip(scan(u), layer.scan(u), strict=True):
        assert relative(found, expected) < 1e-6
    step = torch.compile(layer.step, backend="aot_eager", fullgraph=True)
    start = layer.initial_state(3)
    assert relative(step(u[:, 0], start)[0], layer.step(u[:, 0], start)[0]) < 1e-6


@pytest.mark.parametrize("name", ["LegT", "window trained", "S4D-Lin"])
def test_export_with_dynamic_time_and_batch_gives_the_same_numbers(name, tmp_path):
    layer = MEMORIES[name](torch.float32)
    sizes = {0: torch.export.Dim("batch"), 1: torch.export.Dim("time")}
    program = torch.export.export(layer, (noise(2, 50, 3, dtype=torch.float32),), dynamic_shapes=(sizes,))
    torch.export.save(program, tmp_path / "layer.pt2")
    again = torch.export.load(tmp_path / "layer.pt2").module()
    for batch, length in ((2, 50), (3, 17), (5, 401)):
        u = noise(batch, length, 3, dtype=torch.float32)
        assert relative(again(u), layer(u)) < 1e-6


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


@pytest.mark.parametrize(
    ("other", "says"),
    [
        (lambda: make("all", window=500.0), r"window = 300\.0, this one has 500\.0"),
        (lambda: ProphecySSM(3, 16, 300.0, 0.5, train="all", dtype=torch.float64), r"dt = 1\.0, this one has 0\.5"),
        (lambda: make("all", basis=lagt), "memory = LegT, this one has LagT"),
    ],
)
def test_a_checkpoint_of_another_window_or_step_is_refused(other, says):
    with pytest.raises(ValueError, match=says):
        other().load_state_dict(make("all").state_dict())


def test_a_refused_checkpoint_leaves_the_layer_as_it_was():
    layer, other = make("all"), make("all", window=500.0)
    before = {name: value.clone() for name, value in layer.named_parameters()}
    with pytest.raises(ValueError, match="this one has"):
        layer.load_state_dict(other.state_dict())
    assert all(torch.equal(value, before[name]) for name, value in layer.named_parameters())


@pytest.mark.parametrize("name", ["LegT", "windows of their own", "S4D-Lin"])
def test_a_memory_formed_for_steps_of_each_rows_own_is_stepped_as_dt_is(name):
    layer, u = MEMORIES[name](torch.float64), noise(4, 1, 3)[:, 0]
    own = layer.dt if isinstance(layer.dt, float) else 1.0
    state = layer.initial_state(4) + 1
    for scale in (torch.tensor([[0.5], [1.0], [2.0], [3.0]]), torch.rand(4, 3) + 0.5):
        y, x = layer.step(u, state, memory=layer.memory(scale))
        expected, end = layer.step(u, state, dt=scale.double() * own)
        assert y.shape == (4, 3)
        assert relative(y, expected) < 1e-12
        assert relative(x, end) < 1e-12
    with pytest.raises(ValueError, match=r"scale must be a number, \(batch, 1\) or \(batch, channels=3\), got \(4,\)"):
        layer.memory(torch.ones(4))
    with pytest.raises(ValueError, match="memory must be for 3 channels, and for 4 rows"):
        layer.step(u, state, memory=layer.memory(torch.ones(5, 3)))


# --- mistakes ---


@pytest.mark.parametrize("dt", [-1.0, 0.0, float("nan"), float("inf"), torch.tensor([1.0, -2.0])])
def test_a_step_that_is_no_time_is_refused(dt):
    layer = make("none")
    with pytest.raises(ValueError, match="dt must be positive and finite, got"):
        layer.step(noise(2, 1, 3)[:, 0], layer.initial_state(2), dt=dt)


def test_blocks_and_memories_say_what_they_take():
    with pytest.raises(TypeError, match="got ContextSSM; put a ContextSSM"):
        GatedBlock(4, ContextSSM(make(), Ridge()))
    with pytest.raises(TypeError, match="got Bidirectional"):
        GatedBlock(4, Bidirectional(make(), make()))
    with pytest.raises(ValueError, match="memory must have one readout"):
        GatedBlock(4, make(construct=horizons(1, 4)))
    with pytest.raises(TypeError, match=r"basis=prophecy\.legs .* use prophecy\.legs_invariant"):
        make(basis=legs)
    with pytest.raises(TypeError, match=r"u must be a torch\.Tensor, got ndarray"):
        make()(np.zeros((1, 5, 3)))
    with pytest.raises(TypeError, match="spectrum must be a function, got 's4d_lin'"):
        DiagonalSSM(1, 8, 0.1, spectrum="s4d_lin")
    assert DiagonalSSM(1, 8, 0.1, spectrum=functools.partial(s4d_lin)).name == "s4d_lin()"


def test_mistakes_are_named():
    layer = make("none", torch.float32)
    with pytest.raises(TypeError, match=r"basis must make a memory .* as prophecy\.legt .* got 'legt'"):
        ProphecySSM(1, 8, 1.0, 0.1, basis="legt")
    with pytest.raises(ValueError, match=r"u must have shape \(batch, time, channels=3\), got \(2, 5\)"):
        layer(torch.zeros(2, 5))
    with pytest.raises(ValueError, match=r"u must have shape \(batch, channels=3\)"):
        layer.step(torch.zeros(2, 4), layer.initial_state(2))
    with pytest.raises(ValueError, match=r"state must have shape .* = \(2, 3, 16\), got \(1, 3, 16\)"):
        layer.step(torch.zeros(2, 3), layer.initial_state(1))
    with pytest.raises(TypeError, match=r"u\.float\(\) or layer\.double\(\)"):
        layer(torch.zeros(2, 5, 3, dtype=torch.float64))
    with pytest.raises(TypeError, match=r"u must be real, got torch\.complex64"):
        layer(torch.zeros(2, 5, 3, dtype=torch.complex64))
    with pytest.raises(ValueError, match=r"train must be one of, or several of, 'none', 'readout'.*; got 'some'"):
        make("some")
    with pytest.raises(TypeError, match=r"LegS scaled by the time elapsed .* use prophecy\.legs_invariant"):
        ProphecySSM(1, 8, 1.0, 0.1, basis=lambda order, window: legs(order))
    with pytest.raises(ValueError, match="gains energy"):
        ProphecySSM(1, 8, 1.0, 1e-3, basis=lambda order, window: conventions.to_lmu(legt(order, window)), train="all")
    with pytest.raises(ValueError, match="window must be a number or one per channel, 3, got 2"):
        make(window=[100.0, 200.0])
    with pytest.raises(ValueError, match=r"lengths must lie between 0 and 5, got \[7, 1"):
        layer(torch.zeros(2, 5, 3), lengths=torch.tensor([7, 1]))
    with pytest.raises(ValueError, match=r"mask must be bool of shape \(2, 5\)"):
        layer(torch.zeros(2, 5, 3), mask=torch.ones(2, 4))
    with pytest.raises(ValueError, match=r"dt must be a number, \(batch,\) or \(batch, channels\) = \(2, 3\)"):
        layer.step(torch.zeros(2, 3), layer.initial_state(2), dt=torch.ones(3))


def test_the_pole_is_refused_with_a_way_out_that_the_layer_has():
    with pytest.raises(
        ValueError, match=r"window 200: .* pole .* here construct=functools\.partial\(prophecy\.next_value"
    ):
        make(order=20, window=200.0)
    way_out = functools.partial(prophecy.next_value, memory=prophecy.discretize.backward)
    layer = make(order=20, window=200.0, construct=way_out)
    u = torch.arange(900.0, dtype=torch.float64)[None, :, None].expand(1, 900, 3)
    assert float((layer(u)[:, 600:-1] - u[:, 601:]).abs().max()) < 1e-6


def test_representation_says_what_the_layer_is():
    assert "channels=3, order=16, window=300, dt=1, LegT, trains C, D, edges, input, rotation" in repr(make("all"))
    assert "window=10…1000, dt=1, LegT, trains nothing" in repr(make(order=2, window=[10.0, 1000.0, 100.0]))


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", ["LegT", "windows of their own", "S4D-Lin"])
def test_on_a_gpu_sequence_and_step_agree_compiled_and_under_autocast(name, dtype):
    layer, on_cpu = MEMORIES[name](dtype).cuda(), MEMORIES[name](dtype)
    u = noise(200, 1000, 3, dtype=dtype).cuda()
    with torch.no_grad():
        y, final = layer.scan(u)
        y_step, final_step = stepped(layer, u, layer.initial_state(200))
        assert relative(y, y_step) < TOLERANCE[dtype]
        assert relative(final, final_step) < 10 * TOLERANCE[dtype]
        assert relative(torch.compile(layer)(u), y) < 1e-6
        with torch.autocast("cuda", dtype=torch.float16):
            assert torch.equal(layer(u), y)
    assert relative(y.cpu(), on_cpu(u.cpu())) < TOLERANCE[dtype]


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("train", ["readout", "all"])
def test_on_a_gpu_gradients_are_those_of_float64_and_no_bit_before_a_value_changes(train):
    layer, wide = make(train, torch.float32, order=32).cuda(), make(train, torch.float64, order=32)
    u = noise(120, 1003, 3, dtype=torch.float32)
    g = noise(120, 1003, 3, dtype=torch.float32, seed=1)
    moved, plain = u.cuda().requires_grad_(), u.double().requires_grad_()
    found = torch.autograd.grad(layer(moved), [moved, *layer.parameters()], g.cuda())
    expected = torch.autograd.grad(wide(plain), [plain, *wide.parameters()], g.double())
    for a, b in zip(found, expected, strict=True):
        assert relative(a.cpu().double(), b) < 1e-4  # gradients of a memory sum 10⁵ terms that cancel
    with torch.no_grad():
        y = layer(moved)
        for k in (5, 31, 500, 1002):
            other = moved.clone()
            other[:, k] = -1e37
            assert torch.equal(layer(other)[:, :k], y[:, :k])
