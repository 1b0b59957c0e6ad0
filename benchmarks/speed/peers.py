"""The peers: how the same predictions are computed elsewhere, as well as we can make it run."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import fft, signal

from benchmarks.speed.measure import Array
from prophecy import _machine
from prophecy.engines import lifting
from prophecy.system import ScaledSystem, System


def plain_steps(system: System | ScaledSystem, values: list[float]) -> list[float]:
    """The textbook loop over one stream: two NumPy lines per value, and for LegS the matrices of each step."""
    x, outputs = np.zeros(system.order), []
    for count, value in enumerate(values, 1):
        A, B, C, D = system.at(count)
        x = A @ x + B * value
        outputs.append(float(C @ x + D * value))
    return outputs


def scipy_fft(system: System, u: Array, rows: int = 64) -> Callable[[], Array]:
    """Causal convolution with the whole kernel by SciPy's FFT on all cores, in groups of rows that suit the caches."""
    time, cores = u.shape[1], _machine.cores()
    padded = fft.next_fast_len(2 * time - 1, real=True)
    kernel = fft.rfft(lifting.lift(system, time).kernel, padded)
    y = np.empty_like(u)

    def convolve() -> Array:
        for first in range(0, len(u), rows):
            some = slice(first, first + rows)
            spectrum = fft.rfft(u[some], padded, axis=1, workers=cores)
            spectrum *= kernel
            y[some] = fft.irfft(spectrum, padded, axis=1, overwrite_x=True, workers=cores)[:, :time]
        return y

    return convolve


def scipy_dlsim(system: System, u: Array) -> Callable[[], Array]:
    """`scipy.signal.dlsim` of one series. It reads y before the step, so C and D are carried one step on."""
    A, B, C, D = system.A, system.B[:, None], system.C[None, :], system.D
    shifted = (A, B, C @ A, np.atleast_2d(C @ B + D), 1.0)
    return lambda: np.asarray(signal.dlsim(shifted, u[:, None])[1][:, 0])


def torch_loop(system: System, u: Any, steps: int | None = None) -> Callable[[], Any]:
    """A Python loop over time in torch with all series together, as the paper's authors step their models.

    u (series, time): an array, or a tensor on any device, which the answer is then too. steps: the first so many alone.
    """
    import torch

    data = torch.as_tensor(u)
    A, B, C = (torch.from_numpy(np.array(m)).to(data.device, data.dtype) for m in (system.A, system.B, system.C))

    def walk() -> Any:
        x = torch.zeros(len(data), system.order, dtype=data.dtype, device=data.device)
        outputs = []
        for k in range(data.shape[1] if steps is None else steps):
            now = data[:, k]
            x = x @ A.T + now[:, None] * B
            outputs.append(x @ C + system.D * now)
        made = torch.stack(outputs, dim=1)
        return made if isinstance(u, torch.Tensor) else made.numpy()

    return walk


def torch_fft(system: System, u: Any, rows: int | None = 64) -> Callable[[], Any]:
    """The same convolution by torch.fft, in groups of rows (None: all at once), on the device of u."""
    import torch

    data = torch.as_tensor(u)
    time = data.shape[1]
    padded = fft.next_fast_len(2 * time - 1, real=True)
    kernel = torch.from_numpy(np.array(lifting.lift(system.astype(np.float64), time).kernel))
    spectrum, y = torch.fft.rfft(kernel.to(data.device, data.dtype), padded), torch.empty_like(data)
    group = len(data) if rows is None else rows

    def convolve() -> Any:
        for first in range(0, len(data), group):
            some = slice(first, first + group)
            y[some] = torch.fft.irfft(torch.fft.rfft(data[some], padded) * spectrum, padded)[:, :time]
        return y if isinstance(u, torch.Tensor) else y.numpy()

    return convolve


def river_forecasts(model: Any, values: list[float]) -> list[float]:
    outputs = []
    for k, value in enumerate(values):
        model.learn_one(value)
        # HoltWinters cannot forecast before its second value.
        outputs.append(model.forecast(horizon=1)[0] if k > 2 else value)
    return outputs


def holt_winters(values: list[float]) -> list[float]:
    from river import time_series

    return river_forecasts(time_series.HoltWinters(alpha=0.3, beta=0.1), values)


def least_squares(u: Array, lags: Sequence[int], forgetting: float = 0.9995, prior: float = 1e4) -> Array:
    """Recursive least squares on these lags, relative to the newest value; y[k] predicts u[k + 1]."""
    scale = float(np.std(u)) or 1.0
    x, back = u / scale, np.array(lags)
    weights, covariance = np.zeros(len(lags)), prior * np.eye(len(lags))
    out, longest = u.copy(), int(back.max())
    for k in range(longest + 1, len(u)):
        phi = x[k - 1 - back] - x[k - 1]
        gain = covariance @ phi
        gain /= forgetting + phi @ gain
        weights = weights + gain * (x[k] - x[k - 1] - weights @ phi)
        covariance = (covariance - np.outer(gain, phi @ covariance)) / forgetting
        covariance = 0.5 * (covariance + covariance.T)
        if k > longest + 1.5 * len(lags):
            out[k] = u[k] + scale * float(weights @ (x[k - back] - x[k]))
    return out
