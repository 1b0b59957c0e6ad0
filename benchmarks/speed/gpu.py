"""The GPU cases: fused kernels over many series, beside a copy of the array, torch's FFT and a loop over time.

Outputs are poisoned with NaN before each check, compared with the float64 lifted engine on the whole array (itself
compared with the float64 step on a few series), and timed by `triton.testing.do_bench` (median, cache cleared in
between).
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
import triton
import triton.testing
from torch import Tensor

import prophecy
from benchmarks.speed.cpu import system_of
from benchmarks.speed.measure import Case, Entry, relative_error
from benchmarks.speed.peers import torch_fft, torch_loop
from prophecy.engines import torch_engine, triton_blocks, triton_engine
from prophecy.system import System

DEVICE = torch.device("cuda")


def clock(function: Callable[[], object], budget_ms: float = 60.0, which: str = "median") -> float:
    """Seconds: the median (or "min") of as many runs as fit the budget."""
    milliseconds: float = triton.testing.do_bench(function, warmup=15, rep=int(budget_ms), return_mode=which)
    return milliseconds * 1e-3


def data(series: int, samples: int, dtype: torch.dtype, seed: int = 0) -> Tensor:
    """Fresh white noise, each series at a scale of its own between 1e-3 and 1e3."""
    generator = torch.Generator(DEVICE).manual_seed(seed)
    u = torch.randn(series, samples, dtype=dtype, device=DEVICE, generator=generator)
    scale = 10 ** (6 * torch.rand(series, 1, dtype=dtype, device=DEVICE, generator=generator) - 3)
    return u.mul_(scale)


def errors(system: System, u: Tensor, y: Tensor) -> tuple[float, float]:
    """Relative error over everything after scaling each series to 1, and that of the worst series, against float64."""
    exact = system.astype(np.float64)
    total, worst = 0.0, 0.0
    rows = max(1, (1 << 27) // u.shape[1])
    triton_blocks.use_from(1 << 62)  # torch's own products, no kernel of ours
    for first in range(0, len(u), rows):
        some = slice(first, first + rows)
        expected, _ = torch_engine.predict(exact, u[some].double())
        gap = (y[some].double() - expected).norm(dim=1) / expected.norm(dim=1)
        gap = torch.nan_to_num(gap, nan=float("inf"), posinf=float("inf"))
        total, worst = total + float((gap**2).sum()), max(worst, float(gap.max()))
    triton_blocks.use_from()
    return (total / len(u)) ** 0.5, worst


def reference_is_right(order: int) -> float:
    """The float64 lifted torch engine against the plain float64 step, on three series: their relative difference."""
    system = system_of(order, np.float64)
    u = data(3, 3001, torch.float64, seed=7)
    expected, _ = prophecy.run(system, u.cpu().numpy(), engine="step")
    return relative_error(torch_engine.predict(system, u)[0].cpu().numpy(), expected)


class Size(NamedTuple):
    order: int
    series: int
    samples: int
    dtype: Any = np.float32
    tolerance: float = 5e-7


SIZES = {
    **{f"gpu-{order}": Size(order, 8192, 16384) for order in (16, 64, 32, 128)},
    "gpu-long": Size(64, 4, 1 << 24),
    "gpu-double": Size(64, 8192, 16384, np.float64, 1e-13),
}


def run(name: str, rounds: int, quick: bool) -> Case:
    size = SIZES[name]
    system = system_of(size.order, size.dtype)
    u = data(size.series, size.samples, torch.float32 if size.dtype == np.float32 else torch.float64)
    plan = triton_engine.plan_for(system, DEVICE)
    out = torch.full_like(u, float("nan"))
    triton_engine.predict(system, u, plan=plan, out=out)
    error, worst = errors(system, u, out)
    kind = str(np.dtype(size.dtype))
    settings = {"order": size.order, "series": size.series, "samples": size.samples, "dtype": kind}
    settings |= {"bytes": 2 * u.nbytes, "plan": plan._asdict(), "worst_series_error": worst}
    title = f"{name}: {size.series} × {size.samples}, N = {size.order}, {kind}"
    case = Case(name, title, settings, u.numel(), size.tolerance)
    case.entries.append(Entry("copy", "ceiling", clock(lambda: out.copy_(u))))
    took = clock(lambda: triton_engine.predict(system, u, plan=plan, out=out), 150.0)
    case.entries.append(Entry("fused Triton kernel", "ours", took, error))
    if size.series > 64:
        case.entries += peers(system, u)
    return case


def peers(system: System, u: Tensor) -> list[Entry]:
    """The torch engine, torch's FFT and a Python loop over time, each on as much as it needs to be at full speed."""
    part = u[: max(1, len(u) // 4)] if u.numel() > 1 << 26 else u
    share = part.numel() / u.numel()
    found = []
    contestants = {
        "torch engine": lambda: torch_engine.predict(system, part)[0],
        "torch FFT": torch_fft(system, part, rows=None),
    }
    for name, function in contestants.items():
        error, _ = errors(system, part[:64], function()[:64])
        found.append(Entry(name, "peer", clock(function, 30.0) / share, error, share))
    steps = 256
    walk = torch_loop(system, u, steps)
    walk()
    torch.cuda.synchronize()
    started = time.perf_counter()
    walk()
    torch.cuda.synchronize()
    part_of = steps / u.shape[1]
    found.append(Entry("torch loop over time", "peer", (time.perf_counter() - started) / part_of, None, part_of))
    return found


def scaling(rounds: int, quick: bool) -> list[dict[str, Any]]:
    rows = []
    points = [(2**k, 4096, 64) for k in range(18)] + [(8192, 2**k, 64) for k in range(6, 18)]
    points += [(4, 2**k, 64) for k in range(6, 27, 2)] + [(8192, 16384, n) for n in (8, 16, 24, 32, 48, 64, 96, 128)]
    for series, samples, order in points:
        system, u = system_of(order, np.float32), data(series, samples, torch.float32)
        out = torch.full_like(u, float("nan"))
        triton_engine.predict(system, u, out=out)
        error, _ = errors(system, u, out)
        row = {"series": series, "samples": samples, "order": order, "dtype": "float32", "error": error}
        if error <= 5e-7:
            row["seconds"] = clock(lambda s=system, v=u, o=out: triton_engine.predict(s, v, out=o), 25.0, "min")  # type: ignore[misc]
            row["copy"] = clock(lambda v=u, o=out: o.copy_(v), 10.0, "min")  # type: ignore[misc]
        rows.append(row)
    return rows


CASES: dict[str, Callable[[int, bool], Case]] = {name: partial(run, name) for name in SIZES}


def facts() -> dict[str, Any]:
    properties = torch.cuda.get_device_properties(DEVICE)
    device = {"device": properties.name, "multiprocessors": properties.multi_processor_count}
    versions = {"torch": torch.__version__, "triton": triton.__version__}
    return {**device, **versions, "reference_against_step": {str(n): reference_is_right(n) for n in (16, 64)}}
