"""The FFT engine: convolution with the system's kernel, in long blocks that carry the state (see `lifting`).

# x has seen u[k] when y[k] is read; y[k] predicts u[k + 1].
x = A @ x + B * u[k]
y[k] = C @ x + D * u[k]
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray
from scipy import fft

from prophecy.engines.lifting import is_stable, lift
from prophecy.system import System

Array = NDArray[Any]

LENGTH = 8192  # samples per block: long enough for the FFT to pay, short enough that O and R stay a few megabytes
WORK = 8 << 20  # bytes of spectra at a time


def run(system: System, u: Array, x: Array, y: Array) -> None:
    """Predictions into y and final states into x, in place."""
    time = u.shape[1]
    for start in range(0, time, LENGTH):
        columns = slice(start, min(time, start + LENGTH))
        _block(system, u[:, columns], x, y[:, columns])


def _block(system: System, u: Array, x: Array, y: Array) -> None:
    series, length = u.shape
    if not is_stable(system):
        raise ValueError(
            "engine 'fft' needs a stable system: a kernel that grows drowns in its own rounding; use 'step'"
        )
    lifted = lift(system, length)
    padded = fft.next_fast_len(2 * length - 1, real=True)
    kernel = fft.rfft(lifted.kernel, padded)
    group = max(1, WORK // (padded * system.dtype.itemsize * 2))
    for first in range(0, series, group):
        rows = slice(first, min(series, first + group))
        now = u[rows].astype(system.dtype)
        spectrum = fft.rfft(now, padded, axis=1)
        spectrum *= kernel
        y[rows] = fft.irfft(spectrum, padded, axis=1)[:, :length]
        y[rows] += x[rows] @ lifted.observe.T
        x[rows] = x[rows] @ lifted.power.T + now @ lifted.reach.T
