"""Layers in any precision, as graphs and as files."""

from __future__ import annotations

import copy
import functools
import io

import pytest

torch = pytest.importorskip("torch")

from prophecy import discretize, next_value  # noqa: E402
from prophecy.fading import lagt  # noqa: E402
from prophecy.nn import DiagonalSSM, ProphecySSM, stepping  # noqa: E402
from tests.nn_layers import MEMORIES, make, noise, relative, stepped  # noqa: E402

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
    assert layer.C.dtype == layer.D.dtype == torch.float32


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
            x = state
            with stepping(layer):
                for k in range(200):
                    _, x = layer.step(u[:, k].to(dtype), x)
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
            assert state.shape == (shape[0], 3, layer.size)
            y.sum().backward()
            assert u.grad.shape == shape
        y, state = layer.step(torch.zeros(0, 3, dtype=torch.float64), layer.initial_state(0))
        assert y.shape == (0, 3)


def test_double_makes_a_double_layer_with_every_digit_of_its_memory():
    layer, fresh = make("readout", torch.float32).double(), make("readout", torch.float64)
    assert torch.equal(layer.rotation, fresh.rotation)
    assert torch.equal(layer.memory()[0], fresh.memory()[0])
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


def test_the_scale_of_a_memory_has_two_axes():
    with pytest.raises(ValueError, match=r"scale must be a number, \(batch, 1\) or \(batch, channels=3\), got \(4,\)"):
        make().memory(torch.ones(4))
