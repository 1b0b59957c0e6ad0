"""Layers on a GPU, forward and backward.

64 × 4 096 × 512 channels, N = 64, float32: the layer with its fused kernels (in each precision, and as a CUDA graph),
the same without them, S4-style FFT convolution with autograd, and a loop over time; then the selective scan with its
readout (N = 16, as in Mamba's benchmark), against the same with all states and a loop. Outputs and gradients of some
channels are checked against float64 before anything is timed. Memory is the peak beyond inputs, outputs and parameters.
"""

import itertools
import platform
import timeit
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

import prophecy
from benchmarks.harness import Options, Parts, Result, defaults
from prophecy.engines import torch_lifted, triton_blocks
from prophecy.nn import ProphecySSM, scan, selective_scan, stepping

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
TOLERANCE = 1e-5  # relative RMS, outputs and gradients
STEPS = 128  # of the loop over time that are run; the rest is extrapolated


def clock(function: Callable[[], object], rounds: int = 10) -> float:
    """Seconds, the median of `rounds` runs one after another, as steps of training follow each other, after ten to warm
    up. On a GPU its own clock is read between them: it is not made to wait for Python."""
    if DEVICE.type != "cuda":
        return float(np.median(timeit.repeat(function, number=1, repeat=rounds + 2)[2:]))
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(rounds + 1)]
    for _ in range(10):
        function()
    torch.cuda.synchronize()
    marks[0].record()
    for mark in marks[1:]:
        function()
        mark.record()
    torch.cuda.synchronize()
    return float(np.median([a.elapsed_time(b) for a, b in itertools.pairwise(marks)])) / 1e3


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


def training(layer: Callable[[Tensor], Tensor], u: Tensor, g: Tensor, parameters: list[Tensor]) -> Callable[[], Any]:
    return lambda: torch.autograd.grad(layer(u), [u, *parameters], g)


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
        with torch.no_grad():
            less, B = layer.memory()
            powers = torch_lifted.impulse_responses(less + torch.eye(layer.size, device=DEVICE), B, time)
        self.register_buffer("powers", powers[:, : layer.order].to(torch.float32))
        self.C, self.D = torch.nn.Parameter(layer.C.detach().clone()), torch.nn.Parameter(layer.D.detach().clone())

    powers: Tensor

    def forward(self, u: Tensor) -> Tensor:
        kernel, length = (self.C @ self.powers)[:, 0], u.shape[1]
        spectrum = torch.fft.rfft(u, 2 * length, dim=1) * torch.fft.rfft(kernel, 2 * length, dim=1).T
        made: Tensor = torch.fft.irfft(spectrum, 2 * length, dim=1)[:, :length] + self.D[:, 0] * u
        return made


def looped(layer: ProphecySSM) -> Callable[[Tensor], Tensor]:
    def walk(u: Tensor) -> Tensor:
        state, rows = layer.initial_state(len(u)), []
        with stepping(layer):
            for k in range(u.shape[1]):
                y, state = layer.step(u[:, k], state)
                rows.append(y)
        return torch.stack(rows, dim=1)

    return walk


def precisions(both: Callable[[], Any], errors: Callable[[tuple[Tensor, ...]], float]) -> list[Result]:
    """Every way to multiply: the worst error of outputs and gradients, and the time of a training step."""
    found: list[Result] = []
    for name in triton_blocks.PRECISIONS:
        triton_blocks.use_precision(name)
        try:
            found.append({"precision": name, "error": errors(both()), "forward_backward": clock(both)})
        except Exception as refused:  # too much shared memory for this device, say
            found.append({"precision": name, "why": str(refused)[:120]})
    triton_blocks.use_precision()
    return found


def replayed(both: Callable[[], Any]) -> float:
    """Seconds of a training step captured as a CUDA graph: without what Python takes to launch it."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            both()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kept = both()
    took = clock(graph.replay)
    del kept
    return took


def layer_case(batch: int, length: int, channels: int, order: int, train: str, windows: bool) -> Result:
    torch.manual_seed(0)
    window = np.geomspace(4.0 * order**2, 400.0 * order**2, channels) if windows else 4.0 * order**2
    layer = ProphecySSM(channels, order, window, 1.0, train=train, dtype=torch.float32, device=DEVICE)
    u = torch.randn(batch, length, channels, device=DEVICE, requires_grad=True)
    g = torch.randn(batch, length, channels, device=DEVICE)
    what = "own windows" if windows else "one window"
    case: Result = {
        "case": f"{batch} x {length} x {channels}, N = {order}, train={train}, {what}",
        "samples": u.numel(), "bytes_u": u.nbytes, "rows": [],
    }  # fmt: skip
    learn = [p for p in layer.parameters() if p.requires_grad]
    contestants: list[tuple[str, Any, list[Tensor]]] = [("fused", layer, learn), ("torch products", layer, learn)]
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
        del grads
        row: Result = {"name": name, "error": error}
        if name == "fused" and DEVICE.type == "cuda" and not windows:
            case["precisions"] = precisions(both, lambda grads, y=y: error_of(layer, u, g, y, grads))  # type: ignore[misc]
            row["replayed"] = replayed(both)
        del y
        if error < TOLERANCE:
            row["forward"] = clock(lambda run=run: run(u.detach()))  # type: ignore[misc]
            row["forward_backward"] = clock(both)
            row["peak_bytes"] = peak(both)
        case["rows"].append(row)
    triton_blocks.use_from()
    steps = min(STEPS, length)
    part, back = u.detach()[:, :steps].clone().requires_grad_(), g[:, :steps]
    walk = training(looped(layer), part, back, learn)
    took = clock(walk, 3) * length / steps
    case["rows"].append({"name": "loop over time", "forward_backward": took, "run_share": steps / length,
                         "peak_bytes": int(peak(walk) * length / steps)})  # fmt: skip
    return case


def selective_case(batch: int, length: int, width: int, order: int) -> Result:
    """Mamba's recurrence with its readout, every step, B and C its own: one kernel each way, all states, and a loop."""
    torch.manual_seed(1)
    u, g = (torch.randn(batch, length, width, device=DEVICE) for _ in range(2))
    dt, A = torch.rand(batch, length, width, device=DEVICE) * 0.2, -3 * torch.rand(width, order, device=DEVICE)
    B, C = (torch.randn(batch, length, order, device=DEVICE) for _ in range(2))
    given = [part.requires_grad_() for part in (u, dt, A, B, C)]

    def states(u: Tensor, dt: Tensor, A: Tensor, B: Tensor, C: Tensor) -> Tensor:
        decay, added = torch.exp(dt.unsqueeze(-1) * A), (dt * u).unsqueeze(-1) * B.unsqueeze(2)
        x = scan(decay.flatten(2), added.flatten(2), diagonal=True).unflatten(2, A.shape)
        return (x * C.unsqueeze(2)).sum(-1)

    def loop(u: Tensor, dt: Tensor, A: Tensor, B: Tensor, C: Tensor) -> Tensor:
        x, rows = u.new_zeros(len(u), *A.shape), []
        for k in range(u.shape[1]):
            x = torch.exp(dt[:, k, :, None] * A) * x + (dt[:, k] * u[:, k]).unsqueeze(-1) * B[:, k, None]
            rows.append((x * C[:, k, None]).sum(-1))
        return torch.stack(rows, dim=1)

    few = [u[:, :, :4], dt[:, :, :4], A[:4], B, C]
    exact = [part.detach().double().requires_grad_() for part in few]
    narrow = [part.detach().contiguous().requires_grad_() for part in few]
    wanted = torch.autograd.grad(loop(*exact)[:, :64].square().sum(), exact)
    case: Result = {
        "case": f"selective scan, {batch} x {length} x {width}, N = {order}", "samples": u.numel(), "rows": [],
    }  # fmt: skip
    for name, run in (("fused", lambda *a: selective_scan(*a)[0]), ("all states", states)):
        grads = torch.autograd.grad(run(*narrow)[:, :64].square().sum(), narrow)
        error = max(float((a - b).norm() / b.norm()) for a, b in zip(grads, wanted, strict=True))
        both = lambda run=run: torch.autograd.grad(run(*given), given, g)  # noqa: E731
        with torch.no_grad():
            forward = clock(lambda run=run: run(*given), 5)  # type: ignore[misc]
        row = {"name": name, "error": error, "forward": forward, "forward_backward": clock(both)}
        case["rows"].append(row | {"peak_bytes": peak(both)})
    steps = min(STEPS, length)
    cut = [part.detach()[:, :steps].clone().requires_grad_() if part.ndim == 3 else part for part in given]
    slow = clock(lambda: torch.autograd.grad(loop(*cut), cut, g[:, :steps]), 3) * length / steps
    case["rows"].append({"name": "loop over time", "forward_backward": slow, "run_share": steps / length})
    return case


def parts(options: Options) -> dict[str, Callable[[], Any]]:
    size = (4, 256, 8) if options.small else (64, 4096, 512)
    scanned = (2, 256, 8, 16) if options.small else (8, 4096, 1024, 16)
    return {
        "readout, 64": partial(case_of, layer_case, *size, 64, "readout", False),
        "all, 64": partial(case_of, layer_case, *size, 64, "all", True),
        "readout, 16": partial(case_of, layer_case, *size, 16, "readout", False),
        "selective": partial(case_of, selective_case, *scanned),
    }


def case_of(case: Callable[..., Result], *size: Any) -> Result:
    try:
        return case(*size)
    except Exception as error:  # one broken case must not cost the others their device time
        return {"failed": f"{type(error).__name__}: {error}"[:500]}
    finally:
        if DEVICE.type == "cuda":
            torch.cuda.empty_cache()


def facts(options: Options) -> Result:
    device = torch.cuda.get_device_name() if DEVICE.type == "cuda" else platform.processor()
    versions = {"torch": torch.__version__, "python": platform.python_version(), "version": prophecy.__version__}
    return {"experiment": "layers-gpu", "device": device, **versions, "tolerance": TOLERANCE}


def put(result: Result, part: str, found: Result, options: Options) -> None:
    cases = {case.get("part", ""): case for case in result.get("cases", ())} | {part: {"part": part, **found}}
    result["cases"] = [cases[name] for name in parts(options) if name in cases]


BENCHMARK = Parts(__doc__, parts, defaults(small=False), facts, put)
