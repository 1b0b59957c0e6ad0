"""Layers where they are trained: on a GPU where there is one (fused kernels), else on the CPU (torch's products).

The same claims on either: every size, rows that keep to themselves, half precision, activation checkpointing, graphs,
several processes.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

from torch.utils.checkpoint import checkpoint  # noqa: E402

from prophecy.nn import ProphecySSM, horizons  # noqa: E402

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def noise(*shape, dtype=torch.float32, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(DEVICE, dtype)


def relative(a, b):
    return float((a.double() - b.double()).norm() / b.double().norm().clamp_min(1e-300))


def layer_of(order=16, channels=3, train="readout", dtype=torch.float32, **kind):
    return ProphecySSM(channels, order, 4.0 * order**2 + 8, 1.0, train=train, dtype=dtype, device=DEVICE, **kind)


def both(layer, u, g):
    """Outputs, and gradients of u and of all that learns."""
    u = u.detach().requires_grad_()
    y = layer(u)
    return [y.detach(), *torch.autograd.grad(y, [u, *(p for p in layer.parameters() if p.requires_grad)], g)]


# (order, batch, time): tiny and odd ones, a single sample, orders from one to beyond the kernels' registers, more rows
# than a program takes.
SIZES = [(1, 300, 130), (2, 1, 1), (3, 90, 257), (16, 100, 64), (33, 97, 191), (64, 100, 129), (65, 90, 150),
         (128, 90, 140), (256, 2, 300)]  # fmt: skip


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_float32_outputs_and_gradients_are_those_of_float64(size):
    order, batch, time = size
    u, g = noise(batch, time, 3), noise(batch, time, 3, seed=1)
    found = both(layer_of(order), u, g)
    expected = both(layer_of(order, dtype=torch.float64), u.double(), g.double())
    errors = [relative(a, b) for a, b in zip(found, expected, strict=True)]
    # y, gradients of u, C, D. A memory of order 256 over 300 samples of white noise is nearly empty in its last states.
    assert max(errors) < (1e-6 if order <= 128 else 3e-6), errors


def test_the_gradient_of_a_readout_is_right_to_a_millionth_after_many_blocks():
    """States are carried over 64 blocks: a rounding that shrank them in each would be off by 1.6e-6 on a GPU."""
    batch, channels = (64, 8) if DEVICE.type == "cuda" else (4, 2)
    u, g = noise(batch, 4096, channels), noise(batch, 4096, channels, seed=1)
    found = both(layer_of(64, channels), u, g)
    expected = both(layer_of(64, channels, dtype=torch.float64), u.double(), g.double())
    assert max(relative(a, b) for a, b in zip(found, expected, strict=True)) < 1e-6


def test_a_nan_in_one_row_stays_in_that_row_and_block():
    layer, u = layer_of(16), noise(100, 200, 3)
    with torch.no_grad():
        y = layer(u)
        broken = u.clone()
        broken[7, 100, 1] = float("nan")
        other = layer(broken)
    same = torch.ones(y.shape, dtype=torch.bool, device=DEVICE)
    same[7, 100 // layer.block * layer.block :, 1] = False
    assert torch.equal(other[same], y[same])
    assert not other[7, 100:, 1].isfinite().any()


def test_bfloat16_goes_in_and_out_and_the_state_stays_float32():
    layer, u = layer_of(32, train="all"), noise(100, 300, 3)
    y, state = layer.scan(u.bfloat16())
    assert (y.dtype, state.dtype) == (torch.bfloat16, torch.float32)
    assert torch.equal(y, layer(u.bfloat16().float()).bfloat16())
    with torch.autocast(DEVICE.type, dtype=torch.bfloat16):
        assert torch.equal(layer(u), layer(u.float()))


def test_activation_checkpointing_changes_no_bit():
    layer, u, g = layer_of(20, train="all"), noise(100, 150, 3), noise(100, 150, 3, seed=1)
    plain = both(layer, u, g)
    kept = u.detach().requires_grad_()
    y = checkpoint(layer, kept, use_reentrant=False)
    grads = torch.autograd.grad(y, [kept, *(p for p in layer.parameters() if p.requires_grad)], g)
    assert all(torch.equal(a, b) for a, b in zip(plain, (y, *grads), strict=True))


def test_a_state_is_carried_with_its_gradient_from_one_part_of_a_sequence_to_the_next():
    layer, u = layer_of(16, train="all", dtype=torch.float64), noise(90, 200, 3, dtype=torch.float64)
    whole, _ = layer.scan(u)
    first, state = layer.scan(u[:, :77])
    rest, _ = layer.scan(u[:, 77:], state)
    assert relative(torch.cat([first, rest], 1), whole) < 1e-12
    learn = [p for p in layer.parameters() if p.requires_grad]
    parts = torch.autograd.grad((first.square().sum() + rest.square().sum()), learn)
    for a, b in zip(parts, torch.autograd.grad(whole.square().sum(), learn), strict=True):
        assert relative(a, b) < 1e-9


def test_several_horizons_are_as_many_layers():
    several = layer_of(16, construct=horizons(1, 5))
    u = noise(100, 130, 3)
    with torch.no_grad():
        for i, steps in enumerate((1, 5)):
            assert relative(several(u)[..., i], layer_of(16, construct=horizons(steps))(u)[..., 0]) < 1e-6


@pytest.mark.cuda
@pytest.mark.skipif(DEVICE.type != "cuda", reason="needs a CUDA device")
@pytest.mark.parametrize("train", ["readout", "all", ("C", "window")])
def test_a_training_step_is_captured_as_a_graph_with_the_same_bits(train):
    layer, u, g = layer_of(32, 8, train), noise(64, 300, 8), noise(64, 300, 8, seed=1)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            expected = both(layer, u, g)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = both(layer, u, g)
    for part in found:
        part.fill_(float("nan"))
    graph.replay()
    torch.cuda.synchronize()
    assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))


def test_two_processes_train_as_one(tmp_path):
    """DDP: gloo on the CPU; on one GPU both processes share it."""
    done = subprocess.run(
        [sys.executable, __file__, str(tmp_path / "meeting")], capture_output=True, text=True, timeout=300,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert float(done.stdout.splitlines()[-1]) < 1e-6


def _process(rank, meeting, out, both):
    torch.distributed.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=2)
    layer = layer_of(16, train="all")
    spread = torch.nn.parallel.DistributedDataParallel(layer)
    u = noise(200, 100, 3)
    spread(u[rank::2]).square().mean().backward()
    if rank == 0:
        torch.save([p.grad.cpu() for p in layer.parameters() if p.requires_grad], out)
    torch.distributed.barrier()
    both.wait()  # a process that leaves while the other still talks to it aborts that one
    os._exit(0)  # gloo's threads may outlive their group: taking it down aborts once in hundreds of runs


def main():
    meeting = sys.argv[1]
    both = torch.multiprocessing.get_context("spawn").Barrier(2)
    torch.multiprocessing.spawn(_process, (meeting, meeting + ".pt", both), nprocs=2)
    layer = layer_of(16, train="all")
    layer(noise(200, 100, 3)).square().mean().backward()
    alone = [p.grad.cpu() for p in layer.parameters() if p.requires_grad]
    print(max(relative(a, b) for a, b in zip(torch.load(meeting + ".pt"), alone, strict=True)))


if __name__ == "__main__":
    main()
