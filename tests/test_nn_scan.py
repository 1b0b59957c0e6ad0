"""The scan is the recurrence: every kind of A, any length, gradients, causality in floating point, captured graphs."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from prophecy.nn import scan  # noqa: E402

N = 3
LEADS = {"constant": (), "per series": (2, 1), "varying": ("T",), "varying per series": (2, "T")}


def make(time, diagonal, lead, dtype=torch.float64, seed=0):
    generator = torch.Generator().manual_seed(seed)
    shape = [time if size == "T" else size for size in lead] + [N] * (1 if diagonal else 2)
    A = 0.4 * torch.randn(*shape, dtype=dtype, generator=generator)
    b = torch.randn(2, time, N, dtype=dtype, generator=generator)
    return A, b, torch.randn(2, N, dtype=dtype, generator=generator)


def walked(A, b, x, diagonal):
    axis, rows = (-2, 1) if diagonal else (-3, 2)
    states = []
    for k in range(b.shape[-2]):
        now = A if A.ndim == rows else A.select(axis, k if A.shape[axis] > 1 else 0)
        x = (now * x if diagonal else (now @ x.unsqueeze(-1)).squeeze(-1)) + b[..., k, :]
        states.append(x)
    return torch.stack(states, dim=-2)


@pytest.mark.parametrize("time", [1, 2, 15, 16, 17, 256, 257, 4099])
@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
@pytest.mark.parametrize("diagonal", [True, False])
@pytest.mark.parametrize("lead", LEADS.values(), ids=LEADS)
def test_the_states_are_those_of_the_loop(lead, diagonal, dtype, time):
    A, b, x = make(time, diagonal, lead, dtype)
    expected = walked(A, b, x, diagonal)
    found = scan(A, b, x, diagonal=diagonal)
    assert found.shape == b.shape
    assert float((found - expected).norm() / expected.norm()) < 1e-13


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
@pytest.mark.parametrize("diagonal", [True, False])
@pytest.mark.parametrize("lead", LEADS.values(), ids=LEADS)
def test_first_and_second_gradients_are_finite_differences(lead, diagonal, dtype):
    inputs = tuple(t.requires_grad_() for t in make(11, diagonal, lead, dtype))

    def outputs(A, b, x):
        return scan(A, b, x, diagonal=diagonal, chunk=3)

    assert torch.autograd.gradcheck(outputs, inputs, fast_mode=True)
    assert torch.autograd.gradgradcheck(outputs, inputs, fast_mode=True)


@settings(deadline=None, max_examples=40)
@given(
    k=st.integers(0, 99),
    value=st.sampled_from([1e308, -1e308, 1e-308, 0.0, float("nan"), float("inf")]),
    diagonal=st.booleans(),
    lead=st.sampled_from(list(LEADS.values())),
)
def test_a_later_value_changes_no_bit_of_what_came_before(k, value, diagonal, lead):
    A, b, x = make(100, diagonal, lead)
    plain = scan(A, b, x, diagonal=diagonal)
    b[:, k] = value
    assert torch.equal(scan(A, b, x, diagonal=diagonal)[:, :k], plain[:, :k])


@settings(deadline=None, max_examples=30)
@given(cut=st.integers(0, 200), diagonal=st.booleans(), lead=st.sampled_from(list(LEADS.values())))
def test_a_scan_cut_anywhere_goes_on_as_one(cut, diagonal, lead):
    A, b, x = make(200, diagonal, lead)
    whole = scan(A, b, x, diagonal=diagonal)
    axis = -2 if diagonal else -3
    varies = A.ndim >= -axis and A.shape[axis] > 1
    first_A, second_A = (A.narrow(axis, 0, cut), A.narrow(axis, cut, 200 - cut)) if varies else (A, A)
    first = scan(first_A, b[:, :cut], x, diagonal=diagonal)
    second = scan(second_A, b[:, cut:], torch.cat([x[:, None], first], 1)[:, -1], diagonal=diagonal)
    assert torch.allclose(torch.cat([first, second], 1), whole, rtol=1e-12, atol=1e-12)


def test_empty_batches_and_empty_sequences_pass_through():
    for shape in ((0, 5, N), (2, 0, N)):
        b = torch.zeros(shape, requires_grad=True)
        states = scan(torch.ones(N), b, diagonal=True)
        assert states.shape == shape
        states.sum().backward()
        assert b.grad.shape == shape


def test_integers_and_mixed_widths_are_promoted():
    states = scan(torch.tensor([0.5]), torch.tensor([[1], [0], [4]]), diagonal=True)
    assert states.dtype == torch.float32
    assert states.flatten().tolist() == [1.0, 0.5, 4.25]
    assert scan(torch.ones(N, dtype=torch.complex64), torch.ones(2, N), diagonal=True).dtype == torch.complex64


@pytest.mark.parametrize("diagonal", [True, False])
def test_an_a_wider_than_b_runs_in_its_own_precision_and_keeps_the_states_in_that_of_b(diagonal):
    """0.99999 rounded to float32 is off by 1e-8: over 10⁵ steps 1e-3 of the state, which nothing else explains."""
    A = torch.tensor([0.99999, 0.9999, 0.999], dtype=torch.float64)
    A = A if diagonal else torch.diag(A)
    b = torch.ones(1, 20_000, N)
    expected = scan(A, b.double(), diagonal=diagonal)
    found = scan(A, b, diagonal=diagonal)
    assert found.dtype == torch.float32
    assert float((found / expected - 1).abs().max()) < 2e-7
    assert float((scan(A.float(), b, diagonal=diagonal) / expected - 1).abs().max()) > 1e-5
    A.requires_grad_()
    scan(A, b, diagonal=diagonal).square().mean().backward()
    narrow, A.grad = A.grad, None
    scan(A, b.double(), diagonal=diagonal).square().mean().backward()
    assert float((narrow / A.grad - 1).nan_to_num().abs().max()) < 1e-4


def test_one_captured_graph_serves_every_length_and_exports_with_dynamic_time():
    from torch._dynamo.testing import CompileCounter

    counted = CompileCounter()
    fast = torch.compile(lambda A, b: scan(A, b, diagonal=True), dynamic=True, fullgraph=True, backend=counted)
    for time in (300, 7, 17, 4000, 2, 33, 65, 9, 10, 11, 12):
        A, b, _ = make(time, True, ("T",))
        assert torch.equal(fast(A, b), scan(A, b, diagonal=True))
    assert counted.frame_count == 1

    class Layer(torch.nn.Module):
        def forward(self, A, b):
            return scan(A, b)

    A, b, _ = make(20, False, ())
    time = torch.export.Dim("time", min=2)
    program = torch.export.export(Layer(), (A, b), dynamic_shapes={"A": None, "b": {1: time}}).module()
    for length in (3, 100, 1001):
        b = make(length, False, ())[1]
        assert torch.equal(program(A, b), scan(A, b))


def test_memory_for_the_gradient_is_the_states_and_not_the_steps_between():
    saved = []
    A, b, x = (t.requires_grad_() for t in make(2048, True, ("T",)))
    with torch.autograd.graph.saved_tensors_hooks(lambda t: saved.append(t.numel()) or t, lambda t: t):
        scan(A, b, x, diagonal=True)
    assert sum(saved) <= A.numel() + b.numel() + x.numel()


def test_mistakes_are_named():
    b = torch.zeros(2, 5, N)
    with pytest.raises(ValueError, match=r"b must have shape \(\.\.\., time, N\), got \(3,\)"):
        scan(torch.ones(N), torch.zeros(N), diagonal=True)
    with pytest.raises(ValueError, match=r"A must end in \(\.\.\., N, N\) with N = 3 as in b, got \(3,\)"):
        scan(torch.ones(N), b)
    with pytest.raises(ValueError, match="one value of time or as many as b, 5"):
        scan(torch.ones(4, N), b, diagonal=True)
    with pytest.raises(ValueError, match="state must end in N = 3"):
        scan(torch.ones(N), b, torch.zeros(2, 4), diagonal=True)
