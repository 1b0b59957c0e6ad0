"""Layers on a GPU, forward and backward: `python -m benchmarks.layers --out layers-gpu.json [--small]`.

64 × 4 096 × 512 channels, N = 64, float32: the layer with its fused kernels, the same without them, S4-style FFT
convolution with autograd, and a loop over time; then a scan whose A changes with time (N = 16, as in Mamba's
benchmark), against the loop. Every contestant is checked before it is timed: outputs and gradients of some channels
against the same layer in float64. Memory is the peak beyond inputs, outputs and parameters.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

import prophecy
from prophecy.engines import torch_lifted, triton_blocks
from prophecy.engines.triton_blocks import BlockPlan
from prophecy.nn import ProphecySSM, scan

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
TOLERANCE = 1e-5  # relative RMS, outputs and gradients
STEPS = 128  # of the loop over time that are run; the rest is extrapolated


def clock(function: Callable[[], object], rounds: int = 10) -> float:
    """Seconds, the median of `rounds` runs after two to warm up."""
    times = []
    for k in range(rounds + 2):
        _wait()
        start = time.perf_counter()
        function()
        _wait()
        if k >= 2:
            times.append(time.perf_counter() - start)
    return float(np.median(times))


def _wait() -> None:
    if DEVICE.type == "cuda":
        torch.cuda.synchronize()


def peak(function: Callable[[], object]) -> int:
    """Bytes allocated at most while it ran, beyond what was there before."""
    if DEVICE.type != "cuda":
        return 0
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    function()
    torch.cuda.synchronize()
    return int(torch.cuda.max_memory_allocated() - before)


def make(channels: int, order: int, train: str, windows: bool) -> ProphecySSM:
    window = np.geomspace(4.0 * order**2, 400.0 * order**2, channels) if windows else 4.0 * order**2
    return ProphecySSM(channels, order, window, 1.0, train=train, dtype=torch.float32, device=DEVICE)


def training(layer: Callable[[Tensor], Tensor], u: Tensor, g: Tensor, parameters: list[Tensor]) -> Callable[[], Any]:
    """One forward and one backward pass, gradients to u and to the parameters."""

    def both() -> Any:
        return torch.autograd.grad(layer(u), [u, *parameters], g)

    return both


def error_of(layer: ProphecySSM, u: Tensor, g: Tensor, y: Tensor, grads: tuple[Tensor, ...]) -> float:
    """The worst relative error of outputs, of u's gradient and of C's, over four channels, against float64."""
    some = torch.linspace(0, layer.channels - 1, 4).long().tolist()
    window = [layer.window[c] for c in some] if isinstance(layer.window, tuple) else layer.window
    twin = ProphecySSM(4, layer.order, window, 1.0, train="readout", dtype=torch.float64, device=DEVICE)
    part = u.detach()[..., some].double().requires_grad_()
    expected = twin(part)
    wanted = torch.autograd.grad(expected, [part, twin.C], g[..., some].double())
    found = (y[..., some], grads[0][..., some], grads[1][some])
    pairs = zip(found, (expected, *wanted), strict=True)
    return max(float((a.double() - b).norm().detach() / b.norm().detach()) for a, b in pairs)


class FFT(torch.nn.Module):
    """The peer: C A^k B over the whole length, its powers formed beforehand, and one causal convolution by FFT (S4)."""

    def __init__(self, layer: ProphecySSM, time: int) -> None:
        super().__init__()
        less, B = layer.memory()
        powers = torch_lifted.impulse_responses(less + torch.eye(layer.order, device=DEVICE), B, time)
        self.register_buffer("powers", powers.to(torch.float32))
        self.C, self.D = torch.nn.Parameter(layer.C.detach().clone()), torch.nn.Parameter(layer.D.detach().clone())

    powers: Tensor

    def forward(self, u: Tensor) -> Tensor:
        kernel, length = (self.C @ self.powers)[:, 0], u.shape[1]
        spectrum = torch.fft.rfft(u, 2 * length, dim=1) * torch.fft.rfft(kernel, 2 * length, dim=1).T
        made: Tensor = torch.fft.irfft(spectrum, 2 * length, dim=1)[:, :length] + self.D[:, 0] * u
        return made


def looped(layer: ProphecySSM) -> Callable[[Tensor], Tensor]:
    """The peer: `step` in a Python loop over time."""

    def walk(u: Tensor) -> Tensor:
        memory, state, rows = layer.memory(), layer.initial_state(len(u)), []
        for k in range(u.shape[1]):
            y, state = layer.step(u[:, k], state, memory=memory)
            rows.append(y)
        return torch.stack(rows, dim=1)

    return walk


def tune(layer: ProphecySSM, u: Tensor, rounds: int = 3) -> list[dict[str, Any]]:
    """Plans of the fused kernels, fastest first, forward and adjoint together; the best of earlier runs stands in
    `triton_blocks.PLANS`."""
    less, B = layer.memory()
    A = less + torch.eye(layer.order, dtype=less.dtype, device=less.device)
    blocks = torch_lifted.lift(A, B, layer.C.double(), layer.D.double(), layer.block).to(torch.float32)
    rows = u.detach().permute(2, 0, 1).contiguous()
    x = torch.zeros(layer.channels, len(u), layer.order, device=DEVICE)
    reference, _ = torch_lifted.forward(rows[:1], x[:1], *(part[:1] for part in blocks))
    found: list[dict[str, Any]] = []
    for group, warps, stages, precision in [
        (32, 4, 2, "tf32x3"), (64, 8, 2, "tf32x3"), (64, 4, 1, "tf32x3"), (64, 8, 1, "ieee"),
    ]:  # fmt: skip
        plan = BlockPlan(group, warps, stages, precision)
        try:
            y, _ = triton_blocks.forward(rows, x, *blocks, plan=plan)
            error = float((y[:1] - reference).norm() / reference.norm())

            def both(plan: BlockPlan = plan, y: Tensor = y) -> None:
                triton_blocks.forward(rows, x, *blocks, plan=plan)
                triton_blocks.backward(y, None, *blocks, plan=plan)

            took = clock(both, rounds)
        except Exception as refused:  # too much shared memory for this device, say
            found.append({"plan": plan._asdict(), "why": str(refused)[:120]})
            continue
        found.append({"plan": plan._asdict(), "seconds": took, "error": error})
    return sorted(found, key=lambda row: row.get("seconds", math.inf))


def layer_case(batch: int, length: int, channels: int, order: int, train: str, windows: bool) -> dict[str, Any]:
    """One layer against its peers."""
    torch.manual_seed(0)
    layer = make(channels, order, train, windows)
    u = torch.randn(batch, length, channels, device=DEVICE, requires_grad=True)
    g = torch.randn(batch, length, channels, device=DEVICE)
    what = "own windows" if windows else "one window"
    case: dict[str, Any] = {
        "case": f"{batch} x {length} x {channels}, N = {order}, train={train}, {what}",
        "samples": u.numel(), "bytes_u": u.nbytes, "rows": [],
    }  # fmt: skip
    if DEVICE.type == "cuda" and not windows:
        case["plans"] = tune(layer, u)
    contestants: list[tuple[str, Any, list[Tensor]]] = [("fused", layer, list(layer.parameters()))]
    contestants += [("torch products", layer, list(layer.parameters()))]
    if not windows:
        fft = FFT(layer, length)
        contestants += [("torch FFT", fft, [fft.C, fft.D])]
    for name, run, parameters in contestants:
        triton_blocks.use_from(*(() if name == "fused" else (1 << 62,)))
        ordered = sorted(parameters, key=lambda p: p is not getattr(run, "C", None))  # C first
        both = training(run, u, g, ordered)
        with torch.no_grad():
            y = run(u)
        grads = both()
        error = error_of(layer, u, g, y, grads)
        del y, grads
        row: dict[str, Any] = {"name": name, "error": error}
        if error < TOLERANCE:
            row["forward"] = clock(lambda run=run: run(u.detach()))  # type: ignore[misc]
            row["forward_backward"] = clock(both)
            row["peak_bytes"] = peak(both)
        case["rows"].append(row)
        print(case["case"], row, flush=True)
    triton_blocks.use_from()
    steps = min(STEPS, length)
    part, back = u.detach()[:, :steps].clone().requires_grad_(), g[:, :steps]
    walk = training(looped(layer), part, back, list(layer.parameters()))
    took = clock(walk, 3) * length / steps
    case["rows"].append({"name": "loop over time", "forward_backward": took, "run_share": steps / length,
                         "peak_bytes": int(peak(walk) * length / steps)})  # fmt: skip
    print(case["rows"][-1], flush=True)
    return case


def selective_case(batch: int, length: int, width: int, order: int) -> dict[str, Any]:
    """x[k] = a[k] x[k - 1] + b[k] with a of every channel and moment its own: forward and backward, against a loop."""
    torch.manual_seed(1)
    a = torch.rand(batch, length, width * order, device=DEVICE).requires_grad_()
    b = torch.randn(batch, length, width * order, device=DEVICE, requires_grad=True)
    g = torch.randn_like(b)

    def loop(a: Tensor, b: Tensor) -> Tensor:
        x, rows = torch.zeros_like(b[:, 0]), []
        for k in range(b.shape[1]):
            x = a[:, k] * x + b[:, k]
            rows.append(x)
        return torch.stack(rows, dim=1)

    with torch.no_grad():
        some = slice(0, 64)
        expected = loop(a[..., some].double(), b[..., some].double())
        error = float((scan(a, b, diagonal=True)[..., some] - expected).norm() / expected.norm())
    ours = clock(lambda: torch.autograd.grad(scan(a, b, diagonal=True), [a, b], g), 5)
    forward = clock(lambda: scan(a.detach(), b.detach(), diagonal=True), 5)
    steps = min(STEPS, length)
    cut = [t.detach()[:, :steps].clone().requires_grad_() for t in (a, b)]
    slow = clock(lambda: torch.autograd.grad(loop(*cut), cut, g[:, :steps]), 3) * length / steps
    return {
        "case": f"selective scan, {batch} x {length} x {width}, N = {order}", "samples": a.numel(), "error": error,
        "forward": forward, "forward_backward": ours, "loop_forward_backward": slow, "loop_run_share": steps / length,
        "peak_bytes": peak(lambda: torch.autograd.grad(scan(a, b, diagonal=True), [a, b], g)),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--small", action="store_true", help="sizes for a CPU, to see that everything runs")
    small = parser.parse_args().small
    result: dict[str, Any] = {
        "experiment": "layers-gpu",
        "device": torch.cuda.get_device_name() if DEVICE.type == "cuda" else platform.processor(),
        "torch": torch.__version__, "python": platform.python_version(), "version": prophecy.__version__,
        "tolerance": TOLERANCE, "cases": [],
    }  # fmt: skip
    out, size = parser.parse_args().out, (4, 256, 8) if small else (64, 4096, 512)
    cases: list[Callable[[], dict[str, Any]]] = [
        lambda: layer_case(*size, 64, "readout", False),
        lambda: layer_case(*size, 64, "all", True),
        lambda: layer_case(*size, 16, "readout", False),
        lambda: selective_case(2, 256, 8, 16) if small else selective_case(8, 4096, 1024, 16),
    ]
    for case in cases:
        try:
            result["cases"].append(case())
        except Exception as error:  # one broken case must not cost the others their device time
            result["cases"].append({"failed": f"{type(error).__name__}: {error}"[:500]})
            print("failed:", error, flush=True)
        if DEVICE.type == "cuda":
            torch.cuda.empty_cache()
        out.write_text(json.dumps(result, indent=1))
    print(json.dumps(result["cases"][-1]), flush=True)


if __name__ == "__main__":
    main()
