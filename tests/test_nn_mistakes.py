"""Mistakes with layers are named; the GPU gives the same numbers."""

from __future__ import annotations

import functools
import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import prophecy  # noqa: E402
from prophecy import (  # noqa: E402
    conventions,
    legs,
    legt,
)
from prophecy.diagonal import s4d_lin  # noqa: E402
from prophecy.nn import Bidirectional, ContextSSM, DiagonalSSM, GatedBlock, ProphecySSM, Ridge, horizons  # noqa: E402
from tests.nn_layers import MEMORIES, TOLERANCE, learning, make, noise, relative, stepped  # noqa: E402

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
    with pytest.raises(TypeError, match=r"basis must be .* prophecy\.legs, .* use prophecy\.fading\.legs_invariant"):
        make(basis=legs)
    with pytest.raises(TypeError, match=r"u must be a torch\.Tensor, got ndarray"):
        make()(np.zeros((1, 5, 3)))
    with pytest.raises(TypeError, match=r"spectrum must be a function, such as .*, got 's4d_lin'"):
        DiagonalSSM(1, 8, 0.1, spectrum="s4d_lin")
    assert DiagonalSSM(1, 8, 0.1, spectrum=functools.partial(s4d_lin)).name == "s4d_lin()"


def test_mistakes_are_named():
    layer = make("none", torch.float32)
    with pytest.raises(TypeError, match=r"basis must be a function .* as prophecy\.legt .* got 'legt'"):
        ProphecySSM(1, 8, 1.0, 0.1, basis="legt")
    with pytest.raises(ValueError, match=r"u must have shape \(batch, time, channels=3\), got \(2, 5\)"):
        layer(torch.zeros(2, 5))
    with pytest.raises(ValueError, match=r"u must have shape \(batch, channels=3\)"):
        layer.step(torch.zeros(2, 4), layer.initial_state(2))
    with pytest.raises(ValueError, match=r"state must have shape .* = \(2, 3, 17\), got \(1, 3, 17\)"):
        layer.step(torch.zeros(2, 3), layer.initial_state(1))
    with pytest.raises(TypeError, match=r"u\.float\(\) or layer\.double\(\)"):
        layer(torch.zeros(2, 5, 3, dtype=torch.float64))
    with pytest.raises(TypeError, match=r"u must be real, got torch\.complex64"):
        layer(torch.zeros(2, 5, 3, dtype=torch.complex64))
    with pytest.raises(ValueError, match=r"train must be one of, or several of, 'none', 'readout'.*; got 'some'"):
        make("some")
    with pytest.raises(TypeError, match=r"got ScaledBasis; .* use prophecy\.fading\.legs_invariant"):
        ProphecySSM(1, 8, 1.0, 0.1, basis=lambda order, window: legs(order))
    with pytest.raises(ValueError, match="gains energy"):
        ProphecySSM(1, 8, 1.0, 1e-3, basis=lambda order, window: conventions.to_lmu(legt(order, window)), train="all")
    with pytest.raises(ValueError, match="window must be a number or one per channel, 3, got 2"):
        make(window=[100.0, 200.0])
    with pytest.raises(ValueError, match=r"lengths must lie between 0 and 5, got \[7, 1"):
        layer(torch.zeros(2, 5, 3), lengths=torch.tensor([7, 1]))
    with pytest.raises(ValueError, match=r"lengths must be whole numbers \(2,\), got torch\.bool"):
        layer(torch.zeros(2, 5, 3), lengths=[True, False])
    with pytest.raises(ValueError, match=r"mask must be bool of shape \(2, 5\)"):
        layer(torch.zeros(2, 5, 3), mask=torch.ones(2, 4))
    with pytest.raises(ValueError, match=r"dt must be a number, \(batch,\) or \(batch, channels\) = \(2, 3\)"):
        layer.step(torch.zeros(2, 3), layer.initial_state(2), dt=torch.ones(3))


def test_the_pole_is_refused_with_a_way_out_that_the_layer_has():
    with pytest.raises(
        ValueError, match=r"window 200: .* pole .* or leave construct at nn\.following, which has no pole"
    ):
        make(order=20, window=200.0, construct=prophecy.next_value)
    way_out = functools.partial(prophecy.next_value, memory=prophecy.discretize.backward)
    u = torch.arange(900.0, dtype=torch.float64)[None, :, None].expand(1, 900, 3)
    for layer in (make(order=20, window=200.0, construct=way_out), make(order=20, window=200.0)):
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
    found = torch.autograd.grad(layer(moved), [moved, *learning(layer)], g.cuda())
    expected = torch.autograd.grad(wide(plain), [plain, *learning(wide)], g.double())
    for a, b in zip(found, expected, strict=True):
        assert relative(a.cpu().double(), b) < 1e-4  # gradients of a memory sum 10⁵ terms that cancel
    with torch.no_grad():
        y = layer(moved)
        for k in (5, 31, 500, 1002):
            other = moved.clone()
            other[:, k] = -1e37
            assert torch.equal(layer(other)[:, :k], y[:, :k])


def test_without_torch_the_extra_to_install_is_named():
    code = "import sys; sys.modules['torch'] = None\nfrom prophecy import nn"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "prophecy.nn needs 'torch'; install it with: pip install 'hippo-prophecy[torch]'" in done.stderr


@pytest.mark.parametrize(("call", "message"), [
    (lambda layer, u: layer(u, np.zeros((1, 2, 9))), r"state must be a torch.Tensor, got ndarray; use torch.as_tensor"),
    (lambda layer, u: prophecy.nn.scan(np.ones(2), np.ones((3, 2))), "A must be a torch.Tensor, got ndarray"),
    (lambda layer, u: prophecy.nn.selective_scan(1, u, u, u, u), "u must be a torch.Tensor, got int"),
    (lambda layer, u: Ridge()(np.zeros((1, 3, 2)), u), "features must be a torch.Tensor"),
    (lambda layer, u: ContextSSM(3, Ridge()), r"memory must be a Layer, such as ProphecySSM\(…\), got 3"),
    (lambda layer, u: ContextSSM(layer, Ridge), r"solver must be a Solver, such as RLS\(\), got <class"),
    (lambda layer, u: ProphecySSM(1, 8, 50.0, 1.0, construct="next"), "construct must be a function, such as"),
    (lambda layer, u: horizons("far")(legt(8, 50.0), 1.0), "horizon must be a finite number of steps, got far"),
])  # fmt: skip
def test_things_of_the_wrong_kind_are_named_with_the_right_one(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call(ProphecySSM(2, 8, 50.0, 1.0), torch.zeros(1, 10, 2))
