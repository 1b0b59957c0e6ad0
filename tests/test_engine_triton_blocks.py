"""The fused kernels of the layers: on a GPU where there is one, else in Triton's interpreter, against torch's products.

As in test_engine_triton.py the checks run in a process of their own, this file called as a script.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import subprocess
import sys
from typing import Any

import pytest

# (order, length, time, series, channels, own memories): tails, sequences shorter than a block, ragged groups.
CASES = [
    (16, 32, 32, 5, 2, False),
    (5, 32, 100, 17, 3, True),
    (33, 32, 31, 3, 2, False),
    (64, 64, 200, 2, 2, True),
    (3, 16, 257, 40, 2, False),
]


def _usable() -> bool:
    """Triton with a GPU, or one whose interpreter knows today's NumPy (3.9 does, 3.6 does not)."""
    if any(importlib.util.find_spec(name) is None for name in ("torch", "triton")):
        return False
    import torch

    version = tuple(int(part) for part in importlib.metadata.version("triton").split(".")[:2])
    return torch.cuda.is_available() or version >= (3, 9)


def distance(a: Any, b: Any) -> float:
    return float((a.double() - b).norm() / b.norm().clamp_min(1e-300))


def errors(order: int, length: int, time: int, series: int, channels: int, own: bool, dtype: str) -> dict[str, float]:
    """Relative errors of outputs, states and gradients against `torch_lifted`'s own products, in float64."""
    import torch

    from prophecy.engines import torch_lifted, triton_blocks

    device, generator = "cuda" if torch.cuda.is_available() else "cpu", torch.Generator().manual_seed(order)

    def draw(*shape: int) -> Any:
        return torch.randn(*shape, generator=generator, dtype=torch.float64).to(device)

    memories = channels if own else 1
    A, B = draw(memories, order, order) * 0.5 / order**0.5, draw(memories, order)
    blocks = torch_lifted.lift(A, B, draw(channels, 1, order), draw(channels, 1), length)
    u, x = draw(channels, series, time), draw(channels, series, order)
    kind = getattr(torch, dtype)
    narrow = [part.to(kind) for part in (u, x, *blocks)]
    with torch.no_grad():
        expected = torch_lifted.forward(u, x, *blocks)
        found = triton_blocks.forward(*narrow)
        g, extra = draw(*expected[0].shape), draw(*expected[1].shape)
        made = {}
        for label, states in (("", None), (", states too", extra)):
            given = None if states is None else states.to(kind)
            back = torch_lifted._all_gradients(g, states, u, expected[1], blocks, True, True)
            mine = triton_blocks.backward(g.to(kind), given, narrow[0], found[1], *narrow[2:])
            few = triton_blocks.backward(g.to(kind), given, narrow[0], found[1], *narrow[2:], wanted=(True, False))
            whole = (*mine[:2], torch_lifted._diagonals(mine[2]), *mine[3:])
            names = ("u", "x", "kernel", "observe", "reach", "power")
            pairs = [*zip(names, whole, back, strict=True), ("u, few", few[0], back[0]), ("x, few", few[1], back[1])]
            made |= {f"to {name}{label}": distance(a, b) for name, a, b in pairs}
            assert few[4] is None
            assert torch.equal(few[2], mine[2])
        made |= {"y": distance(found[0], expected[0]), "before": distance(found[1], expected[1])}
    u[:, :, time // 2] = 1e30
    changed = triton_blocks.forward(u.to(kind), *narrow[1:])[0]
    made["changed before"] = float((changed != found[0])[:, :, : time // 2].sum())
    return made


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    if not _usable():
        pytest.skip("needs torch and triton")
    import torch

    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    if not torch.cuda.is_available():
        environment["TRITON_INTERPRET"] = "1"
    done = subprocess.run([sys.executable, __file__], capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_fused_blocks_and_their_adjoint_are_torchs_products(
    found: dict[str, Any], case: tuple[Any, ...], dtype: str
) -> None:
    made = found[f"{case} {dtype}"]
    tolerance = 2e-6 if dtype == "float32" else 1e-13
    assert made.pop("changed before") == 0, "a later value of 1e30 changed bits before it"
    assert len(made) == 18
    assert max(made.values()) < tolerance, made


def main() -> None:
    import torch

    from prophecy.engines import triton_blocks

    if not torch.cuda.is_available():
        triton_blocks.use_precision("ieee")  # the interpreter knows no other
    kinds = ("float32", "float64")
    print(json.dumps({f"{case} {dtype}": errors(*case, dtype) for case in CASES for dtype in kinds}))


if __name__ == "__main__":
    main()
