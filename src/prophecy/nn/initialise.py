r"""The construction in the parameters of other people's layers: dense and diagonal (S4D)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, TypeAlias

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


class Fit(NamedTuple):
    """How well a diagonal layer holds a construction, computed from the numbers written.

    kernel: relative RMS error of the kernel over two windows. prediction: RMS error of the next value of sinusoids of
    amplitude 1 (up to min(8, N/8) cycles per window); construction: what the dense construction itself has there.
    """

    kernel: float
    prediction: float
    construction: float


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
) -> Fit:
    r"""Put the construction into the parameters of a diagonal layer (S4D), in place, and say how well it fits.

    The layer's kernel is 2 Re Σ_m C_m (e^(λ_m dt) - 1)/λ_m e^(λ_m k dt) with λ = -exp(log_A_real) + i A_imag and
    dt = exp(log_dt). log_dt (channels,); log_A_real and A_imag (channels, modes); C (channels, modes), complex, or
    (channels, modes, 2), real; D (channels,) or None. A memory of order N fills (N + 1)//2 modes; others get C = 0.

    λ are the eigenvalues of A. The weights are *not* taken from its eigenvectors: for LegT their condition number grows
    like 10^(N/2) and every digit is gone at order 32. They are fitted by least squares to the kernel itself. Where
    rounding them to the parameters' dtype would spoil the predictions, large weights are made to cost what their
    rounding costs, and the responses to slow signals count beside the kernel (float32 from order 32 on). A fit whose
    predictions are more than WORSE times the construction's is refused and nothing is written.
    """
    if not isinstance(basis, Basis):
        raise TypeError(f"basis must be a Basis, got {type(basis).__name__}; use prophecy.legt or prophecy.fout")
    modes = _diagonal_modes(log_dt, log_A_real, A_imag, C)
    system = next_value(basis, dt, rule=rule, memory=discretize.zoh)
    _need_skip(D, system.D)
    narrow = torch.empty(0, dtype=log_A_real.dtype).numpy().dtype
    rates = _rates(basis, modes)
    rounded = [np.asarray(part, narrow).astype(np.float64) for part in (np.log(-rates.real), rates.imag, math.log(dt))]
    column, skip, fit = _fit(system, basis, -np.exp(rounded[0]) + 1j * rounded[1], math.exp(rounded[2]), narrow)
    spare = modes - len(rates)
    rates = np.concatenate([rates, np.full(spare, -1.0 / basis.timescale)])
    weights = torch.as_tensor(np.concatenate([column, np.zeros(spare)]))
    with torch.no_grad():
        log_dt.fill_(math.log(dt))
        log_A_real.copy_(torch.as_tensor(np.log(-rates.real)))
        A_imag.copy_(torch.as_tensor(rates.imag.copy()))
        C.copy_(weights if C.is_complex() else torch.view_as_real(weights))
        if D is not None:
            D.fill_(skip)
    return fit


def _fit(system: System, basis: Basis, rates: Array, dt: float, narrow: Any) -> tuple[Array, float, Fit]:
    """Weights, skip and their quality: the least distorted fit that predicts as the construction does, else the best.

    One QR decomposition of the kernel's equations serves all candidates.
    """
    kernel, ages = _kernel(system, basis.timescale)
    scale = np.linalg.norm(kernel)
    table = 2 * _real(_responses(rates, ages, dt)) / scale
    Q, R = np.linalg.qr(table)
    right = Q.T @ kernel / scale
    omega = 2 * np.pi * dt / basis.timescale * np.linspace(0, min(8.0, basis.order / 8), 65)
    truth, wanted = _dense_response(system, omega), np.exp(1j * omega)
    slow = _slow_responses(rates, dt, omega)
    own = float(np.sqrt(np.mean(np.abs(truth - wanted) ** 2)))
    sizes, best = np.finfo(narrow).eps * np.linalg.norm(table, axis=0), None
    for weigh, ridge in CANDIDATES:
        rows = np.concatenate([R, weigh * slow.real, weigh * slow.imag, np.diag(ridge * sizes)])
        answer = truth - system.D
        sides = np.concatenate([right, weigh * answer.real, weigh * answer.imag, np.zeros(len(sizes))])
        both = np.linalg.lstsq(rows, sides, rcond=1e-15)[0].astype(narrow).astype(np.float64)
        made = slow @ both
        skip = float(narrow.type(1 - made[0].real)) if weigh else float(narrow.type(system.D))  # constants are held
        prediction = float(np.sqrt(np.mean(np.abs(made + skip - wanted) ** 2)))
        missed = float(np.linalg.norm(table @ both - kernel / scale))
        if best is None or prediction < best[2].prediction:
            best = both, skip, Fit(missed, prediction, own)
        if prediction <= CLOSE * own:
            break
    assert best is not None
    both, skip, fit = best
    if fit.prediction > WORSE * max(own, 1e-12):
        raise ValueError(
            f"{basis.name} of order {basis.order} over {basis.timescale / dt:.4g} samples cannot be held by a diagonal "
            f"layer in {narrow}: its predictions would err by {fit.prediction:.2g}, the construction's by {own:.2g} "
            "(relative to the signal); use float64 parameters, a smaller order, or prophecy.fout"
        )
    return both[: len(rates)] + 1j * both[len(rates) :], skip, fit


def _dense_response(system: System, omega: Array) -> Array:
    """The system's answer to exp(iωk), per exp(iωk): C (1 - A/z)⁻¹ B + D."""
    eye = np.eye(system.order)
    solved = [np.linalg.solve(eye - system.A / z, system.B.astype(complex)) for z in np.exp(1j * omega)]
    return np.asarray(np.array(solved) @ system.C + system.D)


def _slow_responses(rates: Array, dt: float, omega: Array) -> Array:
    """The answer of the diagonal layer without D, linear in [Re C, Im C]: (frequencies, 2 · modes)."""
    z = np.exp(1j * omega)[:, None]
    one, other = (np.expm1(r * dt) / r / (1 - np.exp(r * dt) / z) for r in (rates, rates.conj()))
    return np.concatenate([one + other, 1j * (one - other)], axis=1)


def _real(table: Array) -> Array:
    return np.concatenate([table.real, -table.imag], axis=1)


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


def _responses(rates: Array, ages: Array, dt: float) -> Array:
    return np.asarray(np.exp(np.outer(ages, rates)) * (np.expm1(rates * dt) / rates))


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
