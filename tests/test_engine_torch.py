"""The torch engine: the step's numbers on any device, gradients by autograd against finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import prophecy

torch = pytest.importorskip("torch")

from prophecy.engines import torch_engine, torch_lifted  # noqa: E402
from prophecy.engines.torch_scan import scan  # noqa: E402


def _system(order: int, dtype: str = "float64") -> prophecy.System:
    return prophecy.next_value(prophecy.legt(order, window=4.0 * order**2 + 8), dt=1.0).astype(dtype)


def _error(found: np.ndarray, expected: np.ndarray) -> float:
    return float(np.linalg.norm(found - expected) / max(np.linalg.norm(expected), 1e-300))


def _data(series: int, time: int, order: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    return random.standard_normal((series, time)), random.standard_normal((series, order))


@pytest.mark.parametrize("order", [1, 2, 16, 33, 64])
@pytest.mark.parametrize("time", [1, 2, 63, 64, 65, 1000, 2500])
def test_torch_blocks_are_the_step_from_any_state(order: int, time: int) -> None:
    system = _system(order)
    u, x = _data(3, time, order)
    expected, state = prophecy.run(system, u, engine="step", state=x)
    y, final = torch_engine.predict(system, torch.from_numpy(u), torch.from_numpy(x))
    assert _error(y.numpy(), expected) < 1e-12
    assert _error(final.numpy(), state) < 1e-11


def test_float32_keeps_float32_accuracy_even_if_tf32_was_allowed() -> None:
    system = _system(32, "float32")
    u, _ = _data(5, 3000, 32)
    expected, _ = prophecy.run(system.astype(np.float64), u.astype(np.float32).astype(np.float64), engine="step")
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    try:
        y, _ = torch_engine.predict(system, torch.from_numpy(u.astype(np.float32)))
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision(before)
    assert _error(y.numpy().astype(float), expected) < 5e-7


@given(st.integers(1, 300), st.integers(0, 300), st.sampled_from([1, 7, 32, 50]))
def test_a_run_split_anywhere_and_resumed_is_one_run(first: int, second: int, length: int) -> None:
    system = _system(9)
    u = torch.from_numpy(_data(2, first + second, 9)[0])
    whole, end = torch_engine.predict(system, u, length=length)
    one, state = torch_engine.predict(system, u[:, :first], length=length)
    two, final = torch_engine.predict(system, u[:, first:], state, length=length)
    assert _error(torch.cat([one, two], 1).numpy(), whole.numpy()) < 1e-12
    assert _error(final.numpy(), end.numpy()) < 1e-11


@given(st.integers(1, 400), st.sampled_from([2, 3, 16]))
def test_states_between_blocks_are_the_recurrence_whatever_the_chunk(blocks: int, chunk: int) -> None:
    random = np.random.default_rng(blocks)
    power = torch.from_numpy(0.4 * random.standard_normal((3, 3)))
    added, x = (torch.from_numpy(random.standard_normal(shape)) for shape in ((2, blocks, 3), (2, 3)))
    after = scan(power, added, x, chunk=chunk)
    for block in range(blocks):
        x = x @ power.T + added[:, block]
        assert torch.allclose(after[:, block], x, rtol=1e-11, atol=1e-11)


def test_strided_and_empty_inputs_are_taken_as_they_are() -> None:
    system = _system(5)
    u = torch.from_numpy(_data(4, 260, 5)[0])
    expected, _ = torch_engine.predict(system, u[::2, ::3].contiguous())
    assert torch.allclose(torch_engine.predict(system, u[::2, ::3])[0], expected, rtol=1e-13)
    assert torch.allclose(torch_engine.predict(system, u.T.contiguous().T)[0], torch_engine.predict(system, u)[0])
    for empty in (u[:0], u[:, :0]):
        y, state = torch_engine.predict(system, empty)
        assert y.shape == empty.shape
        assert state.shape == (len(empty), 5)
        assert not state.any()


def test_gradients_of_blocks_to_signal_matrices_and_state_are_finite_differences() -> None:
    def simulate(u, A, B, C, D, x):  # type: ignore[no-untyped-def]
        blocks = torch_lifted.lift(A[None], B[None], C[None, None], D[None, None], 5)
        y, before = torch_lifted.run(blocks, u[None], x[None])
        return y, torch_lifted.finish(blocks, A[None] - torch.eye(3, dtype=A.dtype), u[None], before)

    system = _system(3)
    u, x = (torch.from_numpy(a).requires_grad_() for a in _data(2, 23, 3))
    matrices = [torch.tensor(np.asarray(m), dtype=torch.float64, requires_grad=True)
                for m in (system.A, system.B, system.C, system.D)]  # fmt: skip
    assert torch.autograd.gradcheck(simulate, (u, *matrices, x))


def test_the_numpy_engine_form_fills_its_outputs() -> None:
    system = _system(16)
    u, x = _data(3, 777, 16)
    expected, state = prophecy.run(system, u, engine="step", state=x)
    y = np.full_like(u, np.nan)
    torch_engine.run(system, u, x, y)
    assert _error(y, expected) < 1e-12
    assert _error(x, state) < 1e-11


def test_wrong_tensors_are_named() -> None:
    system = _system(4)
    with pytest.raises(TypeError, match=r"u is torch\.float32 but the system is torch\.float64"):
        torch_engine.predict(system, torch.zeros(2, 3))
    with pytest.raises(ValueError, match=r"u must be a tensor \(series, time\)"):
        torch_engine.predict(system, torch.zeros(3, dtype=torch.float64))
    with pytest.raises(ValueError, match="state must be"):
        torch_engine.predict(system, torch.zeros(2, 3, dtype=torch.float64), torch.zeros(1, 4, dtype=torch.float64))


def test_run_takes_the_torch_engine_by_name_and_auto_leaves_it_alone() -> None:
    system = _system(16)
    u, x = _data(3, 500, 16)
    expected, state = prophecy.run(system, u, engine="step", state=x)
    y, final = prophecy.run(system, u, engine="torch", state=x)
    assert _error(y, expected) < 1e-12
    assert _error(final, state) < 1e-11
    assert prophecy.engines.usual(system) == "lifted"


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_the_triton_engine_says_that_it_needs_a_gpu() -> None:
    pytest.importorskip("triton")
    with pytest.raises(RuntimeError, match=r"needs a CUDA device .* use engine='torch' or 'lifted'"):
        prophecy.run(_system(4), np.ones(10), engine="triton")
