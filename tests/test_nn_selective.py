"""The selective scan: its products, its kernels in Triton's interpreter, gradients, mistakes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from prophecy.nn import selective_scan  # noqa: E402
from tests.test_engine_triton_blocks import _usable, distance  # noqa: E402


def draw(batch: int, time: int, width: int, order: int, dtype: Any) -> list[Any]:
    generator = torch.Generator().manual_seed(time)

    def normal(*shape: int) -> Any:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    parts = [normal(batch, time, width), normal(batch, time, width).abs() / 2, -normal(width, order).abs()]
    parts += [normal(batch, time, order), normal(batch, time, order), normal(batch, width, order)]
    return [part.to(dtype).requires_grad_() for part in parts]


def stepped(u: Any, dt: Any, A: Any, B: Any, C: Any, x: Any) -> Any:
    rows = []
    for k in range(u.shape[1]):
        x = torch.exp(dt[:, k, :, None] * A) * x + (dt[:, k] * u[:, k]).unsqueeze(-1) * B[:, k, None]
        rows.append((x * C[:, k, None]).sum(-1))
    return torch.stack(rows, 1), x


CASES = [(2, 1, 3, 1), (1, 70, 20, 5), (2, 33, 17, 16)]


def errors(size: tuple[int, ...]) -> float:
    """The worst of outputs, state and gradients in float32 against the steps in float64."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    wide = draw(*size, dtype=torch.float64)
    narrow = [part.detach().to(device, torch.float32).requires_grad_() for part in wide]
    expected, found = stepped(*wide), selective_scan(*narrow)
    g = [torch.randn_like(part) for part in expected]
    wanted = torch.autograd.grad(expected, wide, g)
    made = torch.autograd.grad(found, narrow, [part.to(device, torch.float32) for part in g])
    return max(
        distance(a.detach().cpu(), b.detach()) for a, b in zip((*found, *made), (*expected, *wanted), strict=True)
    )


@pytest.mark.parametrize("size", CASES, ids=str)
def test_outputs_state_and_gradients_are_those_of_the_steps(size):
    assert errors(size) < 3e-6


def test_the_kernels_are_the_products():
    if not _usable():
        pytest.skip("needs torch and triton")
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    if not torch.cuda.is_available():
        environment["TRITON_INTERPRET"] = "1"
    done = subprocess.run(
        [sys.executable, "-m", "tests.test_nn_selective"],
        cwd=Path(__file__).parent.parent,
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert float(done.stdout.splitlines()[-1]) < 3e-6


def test_second_gradients_and_torch_func_see_through_it():
    parts = draw(1, 5, 2, 2, torch.float64)
    assert torch.autograd.gradgradcheck(lambda *a: selective_scan(*a)[0], parts, fast_mode=True)
    made = torch.func.grad(lambda u: selective_scan(u, *parts[1:])[0].sum())(parts[0])
    assert distance(made, torch.autograd.grad(selective_scan(*parts)[0].sum(), parts[0])[0]) < 1e-12


def test_mistakes_are_named():
    u, dt, A, B, C, x = draw(2, 6, 3, 4, torch.float32)
    with pytest.raises(ValueError, match=r"u and dt must be \(batch, time, width\), got"):
        selective_scan(u, dt[:, 1:], A, B, C)
    with pytest.raises(ValueError, match=r"B must be \(batch, time, N\) = \(2, 6, 4\), got"):
        selective_scan(u, dt, A, B[..., :2], C)
    with pytest.raises(ValueError, match=r"state must be \(batch, width, N\)"):
        selective_scan(u, dt, A, B, C, x[:, :2])


def main() -> None:
    print(max(errors(size) for size in CASES))


@pytest.mark.parametrize("kernel", ["forward", "backward"])
def test_the_kernels_compile_for_a_gpu_that_is_not_there(kernel: str) -> None:
    """The interpreter takes what the compiler may refuse. 48 kB is what any GPU's program may share."""
    if not _usable() or os.environ.get("TRITON_INTERPRET") == "1":
        pytest.skip("needs triton's compiler")
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from prophecy.engines import _triton_selective

    function, sizes = getattr(_triton_selective, kernel), {"STEPS": 16, "CHANNELS": 16, "ORDER": 16}
    kinds = {"time": "i32", "width": "i32", "batches": "i32", **dict.fromkeys(sizes, "constexpr")}
    source = ASTSource(function, {name: kinds.get(name, "*fp32") for name in function.arg_names}, sizes)
    made = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 4})
    assert made.metadata.shared <= 48 << 10


if __name__ == "__main__":
    main()
