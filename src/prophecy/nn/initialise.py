r"""Constructions written into the parameters of other libraries' layers: dense and diagonal (S4D)."""

import math
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from prophecy import _checks, discretize
from prophecy._arrays import Reals
from prophecy.bases import Basis
from prophecy.constructions import next_value
from prophecy.engines.lifting import lift
from prophecy.system import Continuous, System

CLOSE = 1.1  # a fit whose predictions err by this many times the construction's is taken without looking further
WORSE = 3.0  # one that errs by more than this many times is refused
# How much slow responses count against the kernel, and what rounding a weight costs, least distortion first. Measured
# in float32: LegT 64 over 5 000 samples needs (100, 1e4) and then predicts as float64 does; LegT 16 needs nothing.
CANDIDATES = [(0.0, 0.0), (0.0, 1.0), (1.0, 1.0), (1.0, 100.0), (10.0, 100.0), (10.0, 1e3), (100.0, 1e3), (100.0, 1e4),
              (1e3, 1e4), (1e3, 1e5), (1e4, 1e5), (1e4, 1e6)]  # fmt: skip
AGES = 16384  # kernel samples the diagonal weights are fitted to; longer kernels are sampled at a stride


def init_dense_(
    A: Tensor, B: Tensor, C: Tensor, D: Tensor | None, system: System | Continuous, *, reads: str = "after"
) -> None:
    """Write a system into the dense parameters of another layer, in place.

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


class Fit(NamedTuple):
    """How well a diagonal layer holds a construction, computed from the numbers written as the layer computes.

    kernel: relative RMS error of the kernel over two windows. prediction: RMS error of the next value of sinusoids of
    amplitude 1 (up to min(8, N/8) cycles per window); construction: what the dense construction itself has there;
    copying: what repeating the last value has.
    """

    kernel: float
    prediction: float
    construction: float
    copying: float


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
    input: Tensor | None = None,
    wide: bool = False,
) -> Fit:
    r"""Write the construction into the parameters of a diagonal layer (S4D), in place, and return how well it fits.

    The layer's kernel is 2 Re Σ_m C_m (e^(λ_m dt) - 1)/λ_m e^(λ_m k dt) with λ = -exp(log_A_real) + i A_imag and
    dt = exp(log_dt). log_dt (channels,); log_A_real and A_imag (channels, modes); C (channels, modes), complex, or
    (channels, modes, 2), real; D (channels,) or None. A memory needs one mode for each conjugate pair of eigenvalues,
    and one for each real eigenvalue; other modes get C = 0.
    input: B of a layer that has one, shaped like C: it becomes 1.
    wide: the layer computes its kernel in float64, with expm1, whatever the dtype of its parameters (`DiagonalSSM`
        does; use its `construct_`). Otherwise the layer is assumed to compute as S4D does, in its parameters' dtype.

    λ are the eigenvalues of A. The weights are fitted to the kernel by least squares, because the eigenvectors of LegT
    have a condition number of 10^(N/2). Where rounding would spoil the predictions, large weights are penalised by
    their rounding, and the responses to slow signals are fitted too. Every fit is judged by the kernel as the layer
    itself computes it. If the error of its predictions exceeds that of copying, or WORSE times the construction's, it
    is refused and nothing is written.
    """
    if not isinstance(basis, Basis):
        raise TypeError(f"basis must be a Basis, got {type(basis).__name__}; use prophecy.legt or prophecy.fout")
    if log_A_real.ndim != 2:
        raise ValueError(f"log_A_real must have shape (channels, modes), got {tuple(log_A_real.shape)}")
    channels, modes = log_A_real.shape
    both = [("C", C)] + ([] if input is None else [("input", input)])
    shapes = [(name, one, (channels, modes) if one.is_complex() else (channels, modes, 2)) for name, one in both]
    for name, tensor, shape in (("log_dt", log_dt, (channels,)), ("A_imag", A_imag, (channels, modes)), *shapes):
        if tuple(tensor.shape) != shape:
            raise ValueError(
                f"{name} must have shape {shape} beside log_A_real {(channels, modes)}, got {tuple(tensor.shape)}"
            )
    system = next_value(basis, dt, rule=rule, memory=discretize.zoh)
    _need_skip(D, system.D)
    rates = _rates(basis, modes)
    narrow = [torch.as_tensor(np.array(part)).to(log_A_real.dtype)
              for part in (np.log(-rates.real), rates.imag, math.log(dt))]  # fmt: skip
    column, skip, fit = _fit(system, basis, narrow, wide)
    spare = modes - len(rates)
    rates = np.concatenate([rates, np.full(spare, -1.0 / basis.timescale)])
    weights = torch.as_tensor(np.concatenate([column, np.zeros(spare)]))
    with torch.no_grad():
        log_dt.fill_(math.log(dt))
        log_A_real.copy_(torch.as_tensor(np.log(-rates.real)))
        A_imag.copy_(torch.as_tensor(rates.imag.copy()))
        C.copy_(weights if C.is_complex() else torch.view_as_real(weights))
        if input is not None:
            ones = torch.ones_like(weights)
            input.copy_(ones if input.is_complex() else torch.view_as_real(ones))
        if D is not None:
            D.fill_(skip)
    return fit


def _fit(system: System, basis: Basis, parts: list[Tensor], wide: bool) -> tuple[Reals, float, Fit]:
    """Weights, skip and their quality: the least distorted fit that predicts as the construction does, else the best.

    parts: log_A_real, A_imag and log_dt as they will be written. One QR decomposition of the kernel's equations serves
    all candidates, and one pass over the layer's powers judges them.
    """
    narrow = parts[0].numpy().dtype
    real, imaginary, step = (part.double().numpy() for part in parts)
    rates, dt = -np.exp(real) + 1j * imaginary, float(np.exp(step))
    kernel, ages = _kernel(system, basis.timescale)
    scale = np.linalg.norm(kernel)
    modes = np.exp(np.outer(ages, rates)) * (np.expm1(rates * dt) / rates)
    table = 2 / scale * np.concatenate([modes.real, -modes.imag], axis=1)
    Q, R = np.linalg.qr(table)
    right = Q.T @ kernel / scale
    omega = 2 * np.pi * dt / basis.timescale * np.linspace(0, min(8.0, basis.order / 8), 65)
    wanted = np.exp(1j * omega)  # of the answers to exp(iωk), per exp(iωk); the system's are C (1 - A/z)⁻¹ B + D
    solved = [np.linalg.solve(np.eye(system.order) - system.A / z, system.B.astype(complex)) for z in wanted]
    truth = np.array(solved) @ system.C + system.D
    slow, answer = _slow_responses(rates, dt, omega), truth - system.D
    rounding = 1.0 if wide else 1 + 1 / np.abs(rates * dt)  # e^z - 1 keeps that many digits less
    sizes = np.finfo(narrow).eps * np.linalg.norm(table, axis=0) * np.tile(rounding, 1 if wide else 2)
    columns = []
    for weigh, ridge in CANDIDATES:
        rows = np.concatenate([R, weigh * slow.real, weigh * slow.imag, np.diag(ridge * sizes)])
        sides = np.concatenate([right, weigh * answer.real, weigh * answer.imag, np.zeros(len(sizes))])
        columns.append(np.linalg.lstsq(rows, sides, rcond=1e-15)[0].astype(narrow).astype(np.float64))
    weights = np.array(columns)[:, : len(rates)] + 1j * np.array(columns)[:, len(rates) :]
    stride = round(ages[1] / system.dt) if len(ages) > 1 else 1
    made, kernels = _judged(parts, torch.as_tensor(weights), wide, omega, len(ages) * stride, stride)
    held = np.array([weigh > 0 for weigh, _ in CANDIDATES])  # constants are, exactly
    skips = np.where(held, 1 - made[:, 0].real, system.D).astype(narrow).astype(np.float64)
    errors = np.sqrt(np.mean(np.abs(made + skips[:, None] - wanted) ** 2, axis=1))
    own, copying = (float(np.sqrt(np.mean(np.abs(one - wanted) ** 2))) for one in (truth, np.ones_like(wanted)))
    close = np.flatnonzero(errors <= CLOSE * own)
    best = int(close[0]) if len(close) else int(np.argmin(errors))
    fit = Fit(float(np.linalg.norm(kernels[best] - kernel) / scale), float(errors[best]), own, copying)
    if not fit.prediction <= min(WORSE * max(own, 1e-12), copying):
        raise ValueError(
            f"{basis.name} of order {basis.order} over {basis.timescale / dt:.4g} samples cannot be held by a diagonal "
            f"layer in {narrow} with {len(rates)} modes: its predictions would err by {fit.prediction:.2g}, the "
            f"construction's by {own:.2g}, copying's by {copying:.2g} (relative to the signal); use float64 "
            "parameters, more modes, a smaller order, or prophecy.fout"
        )
    return weights[best], float(skips[best]), fit


def _judged(
    parts: list[Tensor], weights: Tensor, wide: bool, omega: Reals, length: int, stride: int
) -> tuple[Reals, Reals]:
    """Responses to exp(iωk) (candidates, frequencies), and every `stride`-th kernel value, of the kernels that a layer
    computes from these parameters and weights (candidates, modes)."""
    real, imaginary, step = (part.double() for part in parts) if wide else parts
    A = torch.complex(-real.exp(), imaginary)
    z = A * step.exp()
    weights = weights.to(A.dtype) * ((torch.expm1(z) if wide else z.exp() - 1) / A)
    found, kernels = np.zeros((len(weights), len(omega)), complex), []
    for first in range(0, length, 1 << 16):
        ages = torch.arange(first, min(length, first + (1 << 16)), dtype=real.dtype)
        exponents = z[:, None] * ages
        powers = torch.where(exponents.real > -60, exponents.exp(), 0.0)  # smaller ones change no digit and take long
        kernel = 2 * (weights @ powers).real.double().numpy()
        found += kernel @ np.exp(-1j * np.outer(ages.double().numpy(), omega))
        kernels.append(kernel[:, -first % stride :: stride])
    return found, np.concatenate(kernels, axis=1)


def _slow_responses(rates: Reals, dt: float, omega: Reals) -> Reals:
    """The answer of the diagonal layer without D, linear in [Re C, Im C]: (frequencies, 2 · modes)."""
    z = np.exp(1j * omega)[:, None]
    one, other = (np.expm1(r * dt) / r / (1 - np.exp(r * dt) / z) for r in (rates, rates.conj()))
    return np.concatenate([one + other, 1j * (one - other)], axis=1)


def _kernel(system: System, window: float) -> tuple[Reals, Reals]:
    """C A^k B over two windows, without D, and the ages k dt it is given at."""
    length = max(4 * system.order, math.ceil(2 * window / system.dt))
    stride = math.ceil(length / AGES)
    leap = System(np.linalg.matrix_power(system.A, stride), system.B, system.C, 0.0)
    kernel = lift(leap, length // stride).kernel
    return kernel, np.arange(len(kernel)) * (stride * system.dt)


def _rates(basis: Basis, modes: int) -> Reals:
    """The eigenvalues of A in the upper half-plane, slowest first."""
    rates = np.linalg.eigvals(basis.A).astype(complex)
    rates = rates[rates.imag >= 0]
    if (rates.real >= 0).any():
        raise ValueError(f"basis {basis.name} has a mode that does not decay, {rates[np.argmax(rates.real)]:.3g}")
    needed = (basis.order + 1) // 2
    if modes < needed:
        raise ValueError(
            f"C has {modes} modes, order {basis.order} needs {needed} and more for real eigenvalues; use an order of "
            f"at most {2 * modes}"
        )
    # Rounding can split a pair of fast LegT modes into two real ones, one too many: the fit does without the fastest.
    return rates[np.argsort(-rates.real)][:modes]


def _need_skip(D: Tensor | None, value: float) -> None:
    if D is None and value != 0:
        raise ValueError(f"D is None but the construction needs D = {value:.6g}; pass the layer's skip connection")


def _fitting(name: str, tensor: Tensor, value: Reals, *shapes: tuple[int, ...]) -> Reals:
    for shape in shapes:
        if tuple(tensor.shape[-len(shape) :]) == shape:
            return value.reshape(shape)
    wanted = " or ".join(f"(..., {', '.join(map(str, shape))})" for shape in shapes)
    raise ValueError(f"{name} must have shape {wanted}, got {tuple(tensor.shape)}")
