"""The fused kernel: on a GPU where there is one, else in Triton's interpreter, always against the plain float64 step.

The interpreter must be asked for before triton is first imported, so these checks run in a process of their own: this
file, called as a script, prints the errors it finds as JSON.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest


def _usable() -> bool:
    """Triton with a GPU, or one whose interpreter knows today's NumPy (3.9 does, 3.6 does not)."""
    if any(importlib.util.find_spec(name) is None for name in ("torch", "triton")):
        return False
    import torch

    version = tuple(int(part) for part in importlib.metadata.version("triton").split(".")[:2])
    return torch.cuda.is_available() or version >= (3, 9)


HAVE = _usable()

# (kind, order, series, time, length, group, pieces); lengths and groups far smaller than a GPU would take, so that
# ragged edges, several blocks and several programs all happen in small data.
FORWARD = [
    (kind, order, series, time, length, 16, pieces)
    for kind in ("float32", "float64")
    for order, series, time, length, pieces in (
        (16, 20, 100, 16, None),
        (3, 1, 257, 16, 5),
        (33, 17, 70, 32, None),
        (16, 5, 15, 16, None),
        (7, 3, 1, 16, None),
        (10, 3, 400, 16, 7),
        (5, 2, 700, 16, 40),
    )
]
TOLERANCE = {"float32": 5e-7, "float64": 1e-13}


def _tools() -> tuple[Any, Any, Any]:
    import torch

    import prophecy
    from prophecy.engines import triton_engine

    return torch, prophecy, triton_engine


def _system(order: int, dtype: str) -> Any:
    _, prophecy, _ = _tools()
    return prophecy.next_value(prophecy.legt(order, window=4.0 * order**2 + 8), dt=1.0).astype(dtype)


def _device() -> str:
    torch, _, _ = _tools()
    return "cuda" if torch.cuda.is_available() else "cpu"


def _plan(dtype: str, length: int = 16, group: int = 16) -> Any:
    """Of the kernel for any GPU. Triton's interpreter multiplies in plain float32."""
    _, _, engine = _tools()
    kind = "double" if dtype == "float64" else "bf16x6" if _device() == "cuda" else "ieee"
    return engine.Plan(kind, length, group, 4, 2)


def _relative(found: Any, expected: Any) -> float:
    gap = float(np.linalg.norm(np.asarray(found, float) - expected) / max(np.linalg.norm(expected), 1e-300))
    return gap if np.isfinite(gap) else 1e30


def forward(
    dtype: str, order: int, series: int, time: int, length: int, group: int, pieces: int | None
) -> dict[str, float]:
    """Errors of predictions and final states against the float64 step, the output poisoned with NaN first."""
    torch, prophecy, engine = _tools()
    system, random = _system(order, dtype), np.random.default_rng(order + time)
    scale = 10.0 ** random.uniform(-8, 8, (series, 1))
    u, x = (
        (a * scale).astype(dtype)
        for a in (random.standard_normal((series, time)), random.standard_normal((series, order)))
    )
    expected, state = prophecy.run(system.astype("float64"), u.astype(float), engine="step", state=x.astype(float))
    out = torch.full((series, time), float("nan"), dtype=getattr(torch, dtype), device=_device())
    plan = _plan(dtype, length, group)
    y, final = engine.predict(
        system, torch.from_numpy(u).to(_device()), torch.from_numpy(x).to(_device()), plan=plan, pieces=pieces, out=out
    )
    worst = max(_relative(a, b) for a, b in zip(y.cpu().numpy(), expected, strict=True))
    return {"y": worst, "x": max(_relative(a, b) for a, b in zip(final.cpu().numpy(), state, strict=True))}


def edges() -> dict[str, bool]:
    """Strided and empty inputs, zeros, tiny and huge values."""
    torch, prophecy, engine = _tools()
    system, device = _system(8, "float32"), _device()
    plan = _plan("float32")
    u = torch.from_numpy(np.random.default_rng(1).standard_normal((6, 210)).astype(np.float32)).to(device)
    plain, _ = engine.predict(system, u[::2, ::3].contiguous(), plan=plan)
    strided, _ = engine.predict(system, u[::2, ::3], plan=plan)
    turned, _ = engine.predict(system, u.T.contiguous().T, plan=plan)
    straight, _ = engine.predict(system, u, plan=plan)
    found = {"strided": bool(torch.equal(plain, strided)), "transposed": bool(torch.equal(turned, straight))}
    for name, empty in (("no series", u[:0]), ("no samples", u[:, :0])):
        y, state = engine.predict(system, empty, plan=plan)
        found[name] = y.shape == empty.shape and state.shape == (len(empty), 8) and not state.any().item()
    zero, state = engine.predict(system, torch.zeros_like(u), plan=plan)
    found["zeros"] = not zero.any().item() and not state.any().item()
    for power in (-30, 18):
        scaled, _ = engine.predict(system, u * 10.0**power, plan=plan)
        expected, _ = prophecy.run(
            system.astype("float64"), (u * 10.0**power).cpu().numpy().astype(float), engine="step"
        )
        found[f"1e{power}"] = _relative(scaled.cpu().numpy(), expected) < 5e-7
    return found


def pieces() -> dict[str, bool]:
    """A fused run may be cut anywhere and resumed, and the number of pieces does not change the result."""
    torch, _, engine = _tools()
    system, device = _system(6, "float64"), _device()
    plan = _plan("float64")
    u = torch.from_numpy(np.random.default_rng(2).standard_normal((3, 330))).to(device)
    whole, end = engine.predict(system, u, plan=plan, pieces=1)
    found = {}
    for count in (2, 3, 8, 20):
        y, final = engine.predict(system, u, plan=plan, pieces=count)
        found[f"{count} pieces"] = bool(
            torch.allclose(y, whole, rtol=1e-11, atol=1e-12) and torch.allclose(final, end, rtol=1e-10)
        )
    one, state = engine.predict(system, u[:, :77], plan=plan)
    two, final = engine.predict(system, u[:, 77:], state, plan=plan)
    found["resumed"] = bool(torch.allclose(torch.cat([one, two], 1), whole, rtol=1e-11, atol=1e-12))
    return found


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    if not HAVE:
        pytest.skip("needs torch and triton")
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    import torch

    if not torch.cuda.is_available():
        environment["TRITON_INTERPRET"] = "1"
    done = subprocess.run([sys.executable, __file__], capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


@pytest.mark.parametrize("case", FORWARD, ids=lambda case: "-".join(map(str, case)))
def test_the_fused_kernel_is_the_step_for_every_series(found: dict[str, Any], case: tuple[Any, ...]) -> None:
    errors = found["forward"][repr(case)]
    assert errors["y"] < TOLERANCE[case[0]]
    # A state is a small difference of large histories where a window is long: its error is that of its largest part.
    assert errors["x"] < 40 * TOLERANCE[case[0]]


def test_strides_emptiness_zeros_and_extreme_scales_are_handled(found: dict[str, Any]) -> None:
    assert len(found["edges"]) == 7
    assert all(found["edges"].values()), found["edges"]


def test_pieces_and_resumed_runs_agree(found: dict[str, Any]) -> None:
    assert all(found["pieces"].values()), found["pieces"]


@pytest.mark.skipif(not HAVE, reason="needs torch and triton")
def test_orders_beyond_the_registers_are_refused_with_a_way_out() -> None:
    _, _, engine = _tools()
    with pytest.raises(ValueError, match="orders up to 128, got 129; use the torch engine"):
        engine.padded_order(129)
    assert [engine.padded_order(n) for n in (1, 16, 17, 33, 65, 128)] == [16, 16, 32, 64, 128, 128]


@pytest.mark.skipif(not HAVE, reason="needs torch and triton")
@pytest.mark.parametrize(
    ("series", "blocks"), [(1, 1000), (4, 262144), (100, 1313), (8192, 256), (8192, 99999), (3, 2), (1, 7)]
)
def test_pieces_fill_the_chip_and_leave_little_over(series: int, blocks: int) -> None:
    _, _, engine = _tools()
    count = engine.pieces_for(series, blocks, 64, 132)
    assert 1 <= count <= blocks
    assert blocks - count * (blocks // count) < max(8, count // 8)
    if series * 2 >= 132 * 64 or blocks < engine.CUTTING:
        assert count == 1


@pytest.mark.cuda
@pytest.mark.parametrize("order", [1, 3, 16, 20, 64, 65, 128])
@pytest.mark.parametrize("time", [31, 64, 1000])
def test_the_hopper_kernel_is_the_step(order: int, time: int) -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available() or torch.cuda.get_device_capability()[0] != 9:
        pytest.skip("needs a Hopper GPU")
    _, prophecy, engine = _tools()
    system = _system(order, "float32")
    scale = 10.0 ** torch.linspace(-8, 8, 150, device="cuda")[:, None]
    u = torch.randn(150, time, device="cuda", generator=torch.Generator("cuda").manual_seed(order)) * scale
    sizes = scale.cpu().numpy()
    expected, end = prophecy.run(system.astype("float64"), u.cpu().numpy().astype(float), engine="step")
    for count in (1, 3):
        y = torch.full_like(u, float("nan"))
        plan = engine.PLANS["hopper", engine.padded_order(order)]
        _, state = engine.predict(system, u, plan=plan, pieces=count, out=y)
        assert max(_relative(a, b) for a, b in zip(y.cpu().numpy(), expected, strict=True)) < 5e-7
        # Of one size, all rows together: a state of one number may end near zero, where its own size says nothing.
        assert _relative(state.cpu().numpy() / sizes, end / sizes) < 2e-6


def main() -> None:
    result = {
        "forward": {repr(case): forward(*case) for case in FORWARD},
        "edges": edges(),
        "pieces": pieces(),
    }
    print(json.dumps(result))


def _halves(values: Any) -> tuple[Any, Any]:
    high = values.astype(np.float16)
    return high.astype(np.float32), (values - high).astype(np.float16).astype(np.float32)


def _by_halves(system: Any, u: Any, lows: bool = True) -> Any:
    """The arithmetic of the Hopper kernel in NumPy: scaled float16 halves, three products for each, float32 sums."""
    torch, _, engine = _tools()
    plan = engine.PLANS["hopper", engine.padded_order(system.order)]
    packed, low, y_down, x_down = engine._matrices(system, plan, torch.device("cpu"))
    L, N = plan.length, engine.padded_order(system.order)
    sizes = np.cumsum([L * L, N * L, L * N])
    K, O, R, P = (
        [part.reshape(-1, columns) for part in pair]
        for *pair, columns in zip(
            *(np.split(m.numpy().astype(np.float32), sizes) for m in (packed, low)), (L, L, N, N), strict=True
        )
    )
    x, made = np.zeros((len(u), N), np.float32), []
    for now in np.split(u, range(L, u.shape[1], L), axis=1):
        big = np.maximum(np.abs(now).max(1), np.abs(x).max(1))[:, None]
        up = np.where(big > 0, 2.0 ** (14 - np.frexp(big)[1]), 1.0).astype(np.float32)
        (us, ul), (xs, xl) = _halves(now * up), _halves(x * up)
        ul, xl = (ul, xl) if lows else (0 * ul, 0 * xl)
        made.append((ul @ K[0] + xl @ O[0] + us @ K[1] + xs @ O[1] + xs @ O[0] + us @ K[0]) * np.float32(y_down) / up)
        x = x + (ul @ R[0] + xl @ P[0] + us @ R[1] + xs @ P[1] + xs @ P[0] + us @ R[0]) * np.float32(x_down) / up
    return np.concatenate(made, axis=1)


@pytest.mark.skipif(not HAVE, reason="needs torch and triton")
@pytest.mark.parametrize("order", [5, 16, 64, 128])
def test_two_scaled_float16_halves_are_within_1e_6_of_the_float64_step_at_any_scale(order: int) -> None:
    """Measured: 7e-8 at order 5, 1.2e-7 at 128; 2e-4 without the low halves of samples and states."""
    import prophecy

    system = _system(order, "float32")
    u = np.random.default_rng(order).standard_normal((6, 1024)) * 10.0 ** np.array([[-30], [-9], [-3], [0], [7], [15]])
    u = u.astype(np.float32)
    expected, _ = prophecy.run(system.astype("float64"), u.astype(float), engine="step")
    off = np.linalg.norm(_by_halves(system, u) - expected, axis=1) / np.linalg.norm(expected, axis=1)
    without = np.linalg.norm(_by_halves(system, u, lows=False) - expected, axis=1) / np.linalg.norm(expected, axis=1)
    assert off.max() < 1e-6
    assert without.min() > 1e-5


if __name__ == "__main__":
    main()
