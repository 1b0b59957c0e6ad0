"""The construction in other people's layers: dense parameters of either convention, and diagonal ones (S4D)."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from prophecy import derivative, discretize, fout, legs, legt, next_value, run  # noqa: E402
from prophecy.diagonal import s4d_legs  # noqa: E402
from prophecy.fading import lagt, legs_invariant  # noqa: E402
from prophecy.nn import DiagonalSSM, init_dense_, init_s4d_  # noqa: E402


def relative(a, b):
    return float(((a - b).norm() / b.norm()).detach())


def noise(*shape, dtype=torch.float64, seed=0):
    return torch.tensor(np.random.default_rng(seed).standard_normal(shape), dtype=dtype)


class Dense(torch.nn.Module):
    """A plain layer of the kind people write, one head per row; reads its state before or after the input arrives."""

    def __init__(self, heads, order, reads, column=False):
        super().__init__()
        self.A = torch.nn.Parameter(torch.zeros(heads, order, order, dtype=torch.float64))
        self.B = torch.nn.Parameter(torch.zeros((heads, order, 1) if column else (heads, order), dtype=torch.float64))
        self.C = torch.nn.Parameter(torch.zeros((heads, 1, order) if column else (heads, order), dtype=torch.float64))
        self.D = torch.nn.Parameter(torch.zeros(heads, dtype=torch.float64))
        self.reads = reads

    def forward(self, u):
        B, C = self.B.reshape(self.B.shape[:2]), self.C.reshape(self.B.shape[:2])
        x, rows = torch.zeros_like(B), []
        for now in u:
            before, x = x, torch.einsum("hij,hj->hi", self.A, x) + B * now
            rows.append((C * (x if self.reads == "after" else before)).sum(-1) + self.D * now)
        return torch.stack(rows)


@pytest.mark.parametrize("reads", ["after", "before"])
@pytest.mark.parametrize("column", [False, True])
def test_dense_layers_of_either_convention_get_the_same_predictions(reads, column):
    system, u = next_value(legt(6, 100.0), dt=1.0), noise(120)
    layer = Dense(4, 6, reads, column)
    init_dense_(layer.A, layer.B, layer.C, layer.D, system, reads=reads)
    expected = torch.tensor(run(system, u.numpy(), engine="step")[0])
    assert relative(layer(u).detach(), expected[:, None].expand(-1, 4)) < 1e-12


def test_dense_layers_that_discretise_by_themselves_get_the_continuous_system():
    rate = derivative(legt(6, 100.0))
    A, B, C, D = torch.empty(6, 6), torch.empty(6), torch.empty(6), torch.empty(1)
    init_dense_(A, B, C, D, rate)
    assert np.allclose(A.numpy(), rate.A, rtol=1e-6)
    assert np.allclose(C.numpy(), rate.C, rtol=1e-6)
    with pytest.raises(ValueError, match="reads='before'"):
        init_dense_(A, B, C, D, rate, reads="before")
    with pytest.raises(ValueError, match="D is None"):
        init_dense_(A, B, C, None, rate)
    with pytest.raises(ValueError, match=r"B must have shape \(\.\.\., 6\)"):
        init_dense_(A, torch.empty(5), C, D, rate)


def diagonal(channels, modes, dtype, packed):
    shape, complex_dtype = (channels, modes), torch.complex128 if dtype == torch.float64 else torch.complex64
    C = torch.full((*shape, 2), torch.nan, dtype=dtype) if packed else torch.full(shape, torch.nan, dtype=complex_dtype)
    nan = [torch.full(s, torch.nan, dtype=dtype) for s in ((channels,), shape, shape)]
    return [*nan, C, torch.full((channels,), torch.nan, dtype=dtype)]


def diagonal_outputs(u, log_dt, log_A_real, A_imag, C, D):
    """S4D from its definition, in the precision of its parameters: the kernel it makes, convolved with u in float64."""
    rates = -log_A_real.exp() + 1j * A_imag
    dt = log_dt.exp()[:, None]
    weights = C if C.is_complex() else torch.view_as_complex(C)
    gain = ((rates * dt).exp() - 1) / rates
    kernel = 2 * ((weights * gain).unsqueeze(-1) * (rates * dt)[..., None].mul(torch.arange(len(u))).exp()).sum(1).real
    spectrum = torch.fft.rfft(kernel.double(), 2 * len(u)) * torch.fft.rfft(u.double(), 2 * len(u))
    return torch.fft.irfft(spectrum, 2 * len(u))[:, : len(u)].mT + D.double() * u.double()[:, None]


# Measured: 5e-13, 7e-13, 2e-6, 2e-12 in float64; in float32 the weights' cancellation costs LegT 64 most of its digits.
@pytest.mark.parametrize(
    ("basis", "error"),
    [(legt(8, 100.0), 1e-11), (legt(17, 300.0), 1e-11), (legt(64, 5000.0), 1e-4), (fout(65, 5000.0), 1e-10)],
    ids=["LegT 8", "LegT 17", "LegT 64", "FouT 65"],
)
@pytest.mark.parametrize("packed", [False, True])
def test_diagonal_layers_get_the_kernel_and_are_told_the_error(basis, error, packed):
    parameters = diagonal(2, basis.order // 2 + 3, torch.float64, packed)
    reported = init_s4d_(*parameters, basis, dt=1.0).kernel
    assert reported < error
    u = noise(400)
    system = next_value(basis, dt=1.0, memory=discretize.zoh)
    expected = torch.tensor(run(system, u.numpy(), engine="step")[0])[:, None].expand(-1, 2)
    assert relative(diagonal_outputs(u, *parameters), expected) < max(10 * reported, 1e-11)


def sinusoid_error(parameters, window, cycles, samples):
    """RMS error of the next value of sinusoids, after the start is forgotten, run through the layer's definition."""
    errors = []
    for count in cycles:
        phase = 2 * np.pi * count * np.arange(samples) / window
        u = torch.tensor(np.cos(phase))
        y = diagonal_outputs(u, *parameters)[:, 0].numpy()
        errors.append(np.mean((y[samples // 2 : -1] - np.cos(phase)[samples // 2 + 1 :]) ** 2) * 2)
    return float(np.sqrt(np.mean(errors)))


@pytest.mark.parametrize("basis", [legt(32, 2000.0), legt(64, 5000.0), fout(33, 1000.0), legt(12, 300.0)], ids=str)
def test_in_float32_predictions_err_at_most_three_times_as_float64s_and_the_error_is_reported(basis):
    found = init_s4d_(*(narrow := diagonal(1, 33, torch.float32, packed=True)), basis, dt=1.0)
    exact = init_s4d_(*diagonal(1, 33, torch.float64, packed=True), basis, dt=1.0)
    assert found.prediction < 3 * exact.prediction
    assert found.construction == pytest.approx(exact.construction)
    cycles = np.linspace(0, min(8, basis.order / 8), 4)[1:]
    measured = sinusoid_error([p.detach() for p in narrow], basis.window, cycles, int(6 * basis.window))
    assert measured < 3 * found.prediction + 1e-7


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("basis", [lagt(8, 100.0), legs_invariant(32, 300.0)], ids=str)
def test_a_fit_that_is_worse_than_copying_is_refused(basis, dtype):
    with pytest.raises(ValueError, match=r"its predictions would err by 0\.0.*copying's by 0\.0"):
        init_s4d_(*diagonal(1, basis.order, dtype, packed=True), basis, dt=1.0)


def test_a_real_spectrum_needs_a_mode_for_each_eigenvalue():
    basis = legs_invariant(8, 300.0)
    with pytest.raises(ValueError, match="with 4 modes"):
        init_s4d_(*diagonal(1, 4, torch.float64, packed=True), basis, dt=1.0)
    assert init_s4d_(*diagonal(1, 8, torch.float64, packed=True), basis, dt=1.0).kernel < 1e-9


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_diagonal_layer_gets_all_it_needs_for_a_construction(dtype):
    layer = DiagonalSSM(2, 64, (1e-3, 1e-1), s4d_legs, dtype=dtype)
    fit = layer.construct_(legt(16, 400.0))
    u = torch.sin(torch.arange(3000, dtype=dtype) / 60)[None, :, None].expand(1, -1, 2)
    errors = (layer(u)[0, 1500:-1] - u[0, 1501:]).abs().max()
    assert errors < 5 * fit.construction
    assert layer.dt == 1.0


def test_parameters_that_learn_are_written_without_a_warning(recwarn):
    parameters = [torch.nn.Parameter(p) for p in diagonal(2, 8, torch.float32, packed=True)]
    init_s4d_(*parameters, legt(12, 300.0), dt=1.0)
    assert not recwarn.list
    assert all(p.requires_grad for p in parameters)


def test_what_float32_cannot_hold_is_refused_and_nothing_is_written():
    parameters = diagonal(1, 64, torch.float32, packed=True)
    with pytest.raises(ValueError, match=r"cannot be held by a diagonal layer in float32.* use float64 parameters"):
        init_s4d_(*parameters, legt(64, 100_000.0), dt=1.0)
    assert all(torch.isnan(p).all() for p in parameters)


def test_a_kernel_longer_than_the_fit_is_sampled_at_a_stride():
    assert init_s4d_(*diagonal(1, 9, torch.float64, packed=False), fout(17, 50.0), dt=1e-3).kernel < 1e-9


def test_diagonal_shapes_and_capacity_are_checked_before_anything_is_written():
    parameters = diagonal(2, 4, torch.float64, packed=False)
    with pytest.raises(ValueError, match="C has 4 modes, order 16 needs 8"):
        init_s4d_(*parameters, legt(16, 300.0), dt=1.0)
    with pytest.raises(ValueError, match=r"A_imag must have shape \(2, 4\)"):
        init_s4d_(*parameters[:2], torch.empty(2, 5), *parameters[3:], legt(8, 300.0), dt=1.0)
    with pytest.raises(TypeError, match="ScaledBasis"):
        init_s4d_(*parameters, legs(8), dt=1.0)
    with pytest.raises(ValueError, match="D is None"):
        init_s4d_(*parameters[:4], None, legt(8, 300.0), dt=1.0)
    assert all(torch.isnan(p).all() for p in parameters)
