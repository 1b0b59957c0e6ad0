"""The layers: step, sequence and cut sequence agree for every memory and output; times, padding, gates."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

torch = pytest.importorskip("torch")

import prophecy  # noqa: E402
from prophecy import discretize, fout, legt, next_value, run  # noqa: E402
from prophecy.constructions import exact  # noqa: E402
from prophecy.diagonal import s4d_inv  # noqa: E402
from prophecy.nn import Bidirectional, ContextSSM, DiagonalSSM, GatedBlock, ProphecySSM, Ridge, following  # noqa: E402
from tests.nn_layers import LENGTHS, MEMORIES, OUTPUTS, TOLERANCE, learning, make, noise, relative, stepped  # noqa: E402

# --- step ≡ sequence ≡ cut sequence ---


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("memory", MEMORIES)
def test_sequence_states_and_steps_give_the_same_numbers_from_any_state(memory, dtype, length):
    layer = MEMORIES[memory](dtype)
    u, state = noise(2, length, 3, dtype=dtype), noise(2, 3, layer.size, dtype=dtype, seed=1)
    with torch.no_grad():
        for start in (layer.initial_state(2), state):
            y, final = layer.scan(u, start)
            y_step, final_step = stepped(layer, u, start)
            states = layer.states(u, start)
            assert relative(y, y_step) < TOLERANCE[dtype]
            # States are small differences of large histories where the window is long: a digit less.
            assert relative(final, final_step) < 10 * TOLERANCE[dtype]
            assert relative(states[:, -1], final_step[..., : layer.order]) < 10 * TOLERANCE[dtype]
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
    u = noise(2, 500, 3)
    for construct, memory in ((following, discretize.foh), (next_value, discretize.bilinear)):
        layer = make(train, construct=construct)
        system = next_value(legt(16, 300.0), dt=1.0, memory=memory)
        expected, final = run(system, u.permute(0, 2, 1).reshape(6, 500).numpy(), engine="step")
        y, state = layer.scan(u)
        assert relative(y, torch.tensor(expected).reshape(2, 3, 500).permute(0, 2, 1)) < 1e-12
        shift = torch.tensor(memory(legt(16, 300.0).A, legt(16, 300.0).B, 1.0).shift)
        stands = torch.tensor(final).reshape(2, 3, 16) + u[:, -1, :, None] * shift
        assert relative(state[..., :16], stands) < 1e-12


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


def test_a_construction_whose_memory_follows_no_rule_is_refused_with_a_way_out():
    system = exact(legt(6, 100.0), 1.0, 3, memory=discretize.zoh)
    with pytest.raises(ValueError, match=r"one rule of prophecy.discretize .*bilinear.* use prophecy.nn.scan"):
        ProphecySSM(2, 6, 200.0, 1.0, construct=lambda basis, dt: system)


@pytest.mark.parametrize("train", ["none", "memory"])
def test_channels_whose_windows_differ_in_shape_have_a_memory_each(train):
    def basis(order, window):
        return prophecy.fading.lagt(order, window, tilt=1.0 if window < 100 else 0.0)

    layer, u = make(train, basis=basis, order=6, window=[50.0, 500.0], channels=2), noise(1, 300, 2)
    states = layer.states(u)
    for channel, window in enumerate((50.0, 500.0)):
        alone = make(basis=basis, order=6, window=window, channels=1)
        assert relative(states[:, :, channel], alone.states(u[..., channel : channel + 1])[:, :, 0]) < 1e-12


@pytest.mark.parametrize("order", [4, 16, 33])
@pytest.mark.parametrize("window", [(0.1, 10.0), (1.0, 100.0), (1.3, 1000.0), (6.0, 1e5)])
def test_no_grid_of_windows_meets_a_pole(order, window):
    least, most = window[0] * order, window[1] * order  # samples for each state: a tenth is enough
    layer = make(order=order, window=np.geomspace(least, most, 24), channels=24)
    assert float(layer.D.abs().max()) < 3 * order**2 / least + 8
    ramp = torch.arange(40 * max(least, order), dtype=torch.float64)[None, :, None].expand(1, -1, 24)
    assert float((layer(ramp)[:, -1, 0] - ramp[:, -1, 0] - 1).abs().max()) < 1e-6


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


@pytest.mark.parametrize("rule", [discretize.zoh, discretize.bilinear, discretize.backward, discretize.euler])
@pytest.mark.parametrize("train", ["none", "all"])
def test_steps_of_another_length_follow_the_rule_of_the_layer(rule, train):
    layer = make(train, order=6, window=50.0, construct=functools.partial(next_value, memory=rule))
    steps, u, state = torch.tensor([0.25, 1.0, 2.0, 5.0], dtype=torch.float64), noise(4, 3), noise(4, 3, 6, seed=2)
    _, found = layer.step(u, state, dt=steps)
    for row, step in enumerate(steps):
        pair = rule(legt(6, 50.0).A, legt(6, 50.0).B, float(step))
        expected = state[row] @ torch.tensor(pair.A).T + u[row][:, None] * torch.tensor(pair.B)
        assert relative(found[row], expected) < 1e-10
        less, B = layer.memory(float(step))
        assert relative(B[0], torch.tensor(pair.B)) < 1e-10
        assert relative(less[0] + torch.eye(6), torch.tensor(pair.A)) < 1e-10
    own, plain = layer.step(u, state, dt=1.0), layer.step(u, state)
    assert relative(own[0], plain[0]) < 1e-11
    per_channel = layer.step(u, state, dt=steps[:, None].expand(4, 3))
    assert relative(per_channel[1], found) < 1e-14


@pytest.mark.parametrize("basis", [legt, fout, prophecy.fading.lagt, prophecy.fading.legs_invariant])
def test_at_uneven_times_the_memory_is_the_solution_of_its_equation_for_straight_lines(basis):
    made = basis(7, 20.0)
    layer, random = make("all", basis=basis, order=7, window=20.0, channels=1), np.random.default_rng(4)
    dt, u = random.uniform(0.1, 6.0, 12), random.standard_normal(12)
    times = np.concatenate([[0.0], dt.cumsum()])
    line = np.concatenate([[0.0], u])
    out = solve_ivp(
        lambda t, x: made.A @ x + made.B * np.interp(t, times, line), (0, times[-1]), np.zeros(7), t_eval=times[1:],
        rtol=1e-9, atol=1e-11, max_step=0.05,
    )  # fmt: skip
    states = layer.states(torch.tensor(u)[None, :, None], dt=torch.tensor(dt))[0, :, 0]
    np.testing.assert_allclose(states.detach(), out.y.T, atol=1e-7)


def test_a_gap_is_forgotten_and_jittered_times_are_followed():
    layer = make(order=16, window=200.0, channels=1)
    state = noise(1, 1, 17)
    state[..., -1] = 0.0
    assert layer.step(noise(1, 1) * 0, state, dt=1000.0)[1].norm() < 1e-12 * state.norm()
    steps = torch.tensor(np.random.default_rng(0).uniform(0.5, 1.5, 2000))
    times = steps.cumsum(0)
    u = torch.sin(times / 30)[None, :, None]
    wanted = torch.sin((times + 1.0) / 30)
    errors, copying = ((y[0, :, 0] - wanted)[800:].abs().max() for y in (layer(u, dt=steps), u))
    assert errors < 1e-3
    assert copying > 3e-2


@pytest.mark.parametrize("memory", ["LegT", "windows of their own", "S4D-Lin"])
@pytest.mark.parametrize("shape", ["time", "batch", "channels"])
def test_a_sequence_at_uneven_times_is_its_steps_one_by_one(memory, shape):
    layer, u = MEMORIES[memory](torch.float64), noise(2, 37, 3)
    own = layer.dt if isinstance(layer.dt, float) else 1.0
    size = {"time": (37,), "batch": (2, 37), "channels": (2, 37, 3)}[shape]
    dt = own * torch.tensor(np.random.default_rng(3).uniform(0.2, 3.0, size))
    whole = dt if shape == "channels" else dt.expand(2, 37)[..., None].expand(2, 37, 3)
    state = start = noise(2, 3, layer.size, seed=1)
    rows = []
    for k in range(37):
        y, state = layer.step(u[:, k], state, dt=whole[:, k])
        rows.append(y)
    y, final = layer.scan(u, start, dt=dt)
    assert relative(y, torch.stack(rows, 1)) < 1e-11
    assert relative(final, state) < 1e-11
    assert relative(layer.states(u, start, dt=dt)[:, -1], state[..., : layer.order]) < 1e-11
    assert relative(layer(u, start, dt=dt), y) == 0.0
    assert relative(layer(u, start, dt=dt.tolist()), y) == 0.0
    first, between = layer.scan(u[:, :20], start, dt=whole[:, :20])
    rest, last = layer.scan(u[:, 20:], between, dt=whole[:, 20:])
    assert relative(torch.cat([first, rest], 1), y) < 1e-11
    assert relative(last, final) < 1e-11


def test_even_times_are_no_times_and_padding_takes_none():
    layer, u = make("all", order=6, window=50.0), noise(3, 40, 3)
    steps = torch.full((3, 40), layer.dt, dtype=torch.float64)
    assert relative(layer(u, dt=steps), layer(u)) < 1e-11
    lengths, mask = torch.tensor([40, 0, 17]), torch.rand(3, 40, generator=torch.Generator().manual_seed(0)) < 0.6
    for padding in ({"lengths": lengths}, {"mask": mask}):
        wild = torch.where(mask if "mask" in padding else torch.arange(40) < lengths[:, None], steps, 1e3)
        (y, final), (plain, end) = layer.scan(u, dt=wild, **padding), layer.scan(u, **padding)
        assert relative(y, plain) < 1e-11
        assert relative(final, end) < 1e-11


def test_uneven_times_are_differentiable_and_their_mistakes_are_named():
    layer, u = make(order=4, window=20.0), noise(2, 6, 3)
    dt = torch.full((2, 6), 1.3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda steps: layer(u, dt=steps), (dt,), atol=1e-7)
    assert torch.equal(layer(u, dt=1.3), layer(u, dt=dt.detach()))  # one number for all
    with pytest.raises(ValueError, match=r"\(time,\), \(batch, time\) or .* = \(2, 6, 3\), got \(6, 2\)"):
        layer(u, dt=torch.ones(6, 2))
    with pytest.raises(ValueError, match="positive and finite"):
        layer(u, dt=torch.zeros(6))


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
    lengths, state = torch.tensor([70, 0, 33, 32]), noise(4, 3, layer.size, seed=1)
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
    assert torch.equal(layer(u, state, lengths=lengths.tolist()), y)


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
    assert torch.equal(layer(u, mask=mask.tolist()), y)
    assert not final[2].any()
    whole = torch.ones(3, 50, dtype=torch.bool)
    assert relative(layer(u, mask=whole), layer(u)) < 1e-15


def test_both_directions_turn_padded_rows_within_their_length():
    layer = Bidirectional(make(), make("all"))
    u, lengths = noise(2, 40, 3), torch.tensor([40, 25])
    y = layer(u, lengths=lengths)
    alone = layer(u[1:, :25])
    assert y.shape == (2, 40, 6)
    assert torch.equal(layer(u, lengths=[40, 25]), y)
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
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in learning(block))


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
