r"""The construction in the parameters of other people's layers: dense and diagonal (S4D)."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from prophecy import _checks, discretize
from prophecy.bases import Basis
from prophecy.constructions import next_value
from prophecy.engines.lifting import lift
from prophecy.system import Continuous, System

Array: TypeAlias = NDArray[Any]

AGES = 16384  # kernel samples the diagonal weights are fitted to; longer kernels are sampled at a stride


def init_dense_(
    A: Tensor, B: Tensor, C: Tensor, D: Tensor | None, system: System | Continuous, *, reads: str = "after"
) -> None:
    """Put a system into the dense parameters of another layer, in place.

    A (..., N, N); B (..., N) or (..., N, 1); C (..., N) or (..., 1, N); D any shape, or None for a layer without one.
    Leading axes (heads, channels) get copies.
    system: from `next_value` for a layer with discrete matrices, from `derivative` for one that discretises by itself.
    reads: "after" for layers whose output sees the state after this step's input, as here; "before" for
        x[k + 1] = A x[k] + B u[k], y[k] = C x[k] + D u[k]. Then C becomes C A and D becomes D + C B: the same
        predictions.
    """
    C_, D_ = system.C, system.D
    if _checks.choice("reads", reads, ("after", "before")) == "before":
        if isinstance(system, Continuous):
            raise ValueError("reads='before' is for discrete systems; a Continuous one has no steps, use reads='after'")
        C_, D_ = C_ @ system.A, D_ + float(C_ @ system.B)
    _need_skip(D, D_)
    N = system.order
    made = (
        (A, _fitting("A", A, system.A, (N, N))),
        (B, _fitting("B", B, system.B, (N,), (N, 1))),
        (C, _fitting("C", C, C_, (N,), (1, N))),
    )
    with torch.no_grad():
        for tensor, value in made:
            tensor.copy_(torch.as_tensor(value.copy()).expand_as(tensor))
        if D is not None:
            D.fill_(D_)


def init_s4d_(
    log_dt: Tensor,
    log_A_real: Tensor,
    A_imag: Tensor,
    C: Tensor,
    D: Tensor | None,
    basis: Basis,
    dt: float,
    *,
    rule: str = "trapezoid",
) -> float:
    r"""Put the construction into the parameters of a diagonal layer (S4D), in place, and say how well it fits.

    The layer's kernel is 2 Re Σ_m C_m (e^(λ_m dt) - 1)/λ_m e^(λ_m k dt) with λ = -exp(log_A_real) + i A_imag and
    dt = exp(log_dt). log_dt (channels,); log_A_real and A_imag (channels, modes); C (channels, modes), complex, or
    (channels, modes, 2), real; D (channels,) or None. A memory of order N fills (N + 1)//2 modes; others get C = 0.

    λ are the eigenvalues of A. The weights are *not* taken from its eigenvectors: for LegT their condition number grows
    like 10^(N/2) and every digit is gone at order 32. They are fitted to the kernel itself by least squares.

    Returns the relative RMS error of the kernel over two windows, computed from the numbers written.
    """
    if not isinstance(basis, Basis):
        raise TypeError(f"basis must be a Basis, got {type(basis).__name__}; use prophecy.legt or prophecy.fout")
    modes = _diagonal_modes(log_dt, log_A_real, A_imag, C)
    system = next_value(basis, dt, rule=rule, memory=discretize.zoh)
    _need_skip(D, system.D)
    kernel, ages = _kernel(system, basis.window)
    rates = _rates(basis, modes)
    weights = _fit(rates, ages, dt, kernel)
    spare = modes - len(rates)
    rates = np.concatenate([rates, np.full(spare, -1.0 / basis.window)])
    column = torch.as_tensor(np.concatenate([weights, np.zeros(spare)]))
    with torch.no_grad():
        log_dt.fill_(math.log(dt))
        log_A_real.copy_(torch.as_tensor(np.log(-rates.real)))
        A_imag.copy_(torch.as_tensor(rates.imag.copy()))
        C.copy_(column if C.is_complex() else torch.view_as_real(column))
        if D is not None:
            D.fill_(system.D)
    made = _written(log_dt, log_A_real, A_imag, C, ages / dt)
    return float(np.linalg.norm(made - kernel) / np.linalg.norm(kernel))


def _kernel(system: System, window: float) -> tuple[Array, Array]:
    """C A^k B over two windows, without D, and the ages k dt it is given at."""
    length = max(4 * system.order, math.ceil(2 * window / system.dt))
    stride = math.ceil(length / AGES)
    leap = System(np.linalg.matrix_power(system.A, stride), system.B, system.C, 0.0)
    kernel = lift(leap, length // stride).kernel
    return kernel, np.arange(len(kernel)) * (stride * system.dt)


def _rates(basis: Basis, modes: int) -> Array:
    """The eigenvalues of A in the upper half-plane, slowest first."""
    rates = np.linalg.eigvals(basis.A).astype(complex)
    rates = rates[rates.imag >= 0]
    if (rates.real >= 0).any():
        raise ValueError(f"basis {basis.name} has a mode that does not decay, {rates[np.argmax(rates.real)]:.3g}")
    needed = (basis.order + 1) // 2
    if modes < needed:
        raise ValueError(
            f"C has {modes} modes, order {basis.order} needs {needed}; use an order of at most {2 * modes}"
        )
    # Rounding can split a pair of fast LegT modes into two real ones, one too many: the fit does without the fastest.
    return rates[np.argsort(-rates.real)][:modes]


def _fit(rates: Array, ages: Array, dt: float, kernel: Array) -> Array:
    table = _responses(rates, ages, dt)
    both, *_ = np.linalg.lstsq(np.concatenate([table.real, -table.imag], axis=1), kernel, rcond=1e-13)
    return np.asarray(both[: len(rates)] + 1j * both[len(rates) :]) / 2


def _responses(rates: Array, ages: Array, dt: float) -> Array:
    return np.asarray(np.exp(np.outer(ages, rates)) * (np.expm1(rates * dt) / rates))


def _written(log_dt: Tensor, log_A_real: Tensor, A_imag: Tensor, C: Tensor, steps: Array) -> Array:
    """The kernel of the first channel as the layer will compute it, from the rounded numbers, `steps` steps back."""
    dt = math.exp(float(log_dt[0]))
    rates = -np.exp(log_A_real[0].detach().double().cpu().numpy()) + 1j * A_imag[0].detach().double().cpu().numpy()
    column = C[0].detach().cpu().numpy()
    weights = column if C.is_complex() else column[:, 0] + 1j * column[:, 1]
    return np.asarray(2 * (_responses(rates, steps * dt, dt) @ weights).real)


def _diagonal_modes(log_dt: Tensor, log_A_real: Tensor, A_imag: Tensor, C: Tensor) -> int:
    if log_A_real.ndim != 2:
        raise ValueError(f"log_A_real must have shape (channels, modes), got {tuple(log_A_real.shape)}")
    channels, modes = log_A_real.shape
    full = (channels, modes) if C.is_complex() else (channels, modes, 2)
    for name, tensor, shape in (("log_dt", log_dt, (channels,)), ("A_imag", A_imag, (channels, modes)), ("C", C, full)):
        if tuple(tensor.shape) != shape:
            raise ValueError(
                f"{name} must have shape {shape} beside log_A_real {(channels, modes)}, got {tuple(tensor.shape)}"
            )
    return modes


def _need_skip(D: Tensor | None, value: float) -> None:
    if D is None and value != 0:
        raise ValueError(f"D is None but the construction needs D = {value:.6g}; pass the layer's skip connection")


def _fitting(name: str, tensor: Tensor, value: Array, *shapes: tuple[int, ...]) -> Array:
    for shape in shapes:
        if tuple(tensor.shape[-len(shape) :]) == shape:
            return value.reshape(shape)
    wanted = " or ".join(f"(..., {', '.join(map(str, shape))})" for shape in shapes)
    raise ValueError(f"{name} must have shape {wanted}, got {tuple(tensor.shape)}")
