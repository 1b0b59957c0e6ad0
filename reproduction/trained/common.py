"""What all trained runs share: plans, data, devices, impulse responses and the shape of a results file."""

import math
import platform
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.fft import next_fast_len
from torch import Tensor

from prophecy import __version__, signals
from prophecy.engines.torch_lifted import impulse_responses

Array = NDArray[np.float64]

EVALUATION_SEED = 1_000_000
FILTERED_TIME_CONSTANT = 0.1
READINGS = {"radians": 1.0, "cycles": 2.0 * math.pi}
"""Radians per unit of the sines' frequency: as in the authors' code, and as the paper's text may be read."""


@dataclass(frozen=True)
class TrainingPlan:
    """What a run of Fig. 1d depends on, the seeds aside. The defaults are the paper's; see docs/reproduction.md."""

    order: int = 32
    samples: int = 10_000
    steps: int = 8_000
    batch: int = 128
    pool: int = 1_000
    learning_rate: float = 2e-3
    functions: int = 128
    checks: int = 24

    @property
    def start(self) -> int:
        """The first sample whose successor is a target."""
        return self.samples // 2

    def check_steps(self, count: int | None = None) -> list[int]:
        """Steps at which something is recorded, `checks` if not told: 0, then evenly in the logarithm, and the last."""
        spaced = np.geomspace(1, max(self.steps, 1), count or self.checks).round().astype(int)
        return sorted({0, *(int(step) for step in spaced), self.steps})


FULL = TrainingPlan()
SHORT = TrainingPlan(steps=120, batch=12, pool=24, functions=12, checks=6)
"""What `python -m reproduction` trains now, on a CPU."""
TINY = TrainingPlan(order=8, samples=400, steps=6, batch=4, pool=9, functions=3, checks=3)
"""What tests train."""


def training_pool(plan: TrainingPlan, reading: str, seed: int) -> Array:
    """The functions of one seed: (pool, samples). Seeds share none with each other or with the evaluation sets."""
    return signals.mixed(plan.pool, plan.samples, seed=100_000 * seed, unit=READINGS[reading])


def evaluation_sets(plan: TrainingPlan, reading: str) -> dict[str, Array]:
    """The paper's four: held-out mixture, lines, Filtered Noise, and its own Van der Pol run."""
    count, samples = plan.functions, plan.samples
    return {
        "mixed, held out": signals.mixed(count, samples, seed=EVALUATION_SEED, unit=READINGS[reading]),
        "linear": signals.linear(count, samples, seed=EVALUATION_SEED),
        "Filtered Noise": signals.filtered_noise(FILTERED_TIME_CONSTANT, count, samples, seed=EVALUATION_SEED),
        "Van der Pol": signals.van_der_pol(samples, tolerance=signals.SCIPY_DEFAULTS)[None],
    }


class Batches:
    """Which functions each step uses: every pass goes once through the pool, in an order drawn anew."""

    def __init__(self, plan: TrainingPlan, seed: int) -> None:
        self._plan, self._draw = plan, np.random.default_rng((seed, 7))
        self._left: NDArray[np.intp] = np.empty(0, dtype=np.intp)

    def next(self) -> NDArray[np.intp]:
        """Indices of the next batch; the last of a pass is shorter where the pool is no multiple of the batch."""
        if not self._left.size:
            self._left = self._draw.permutation(self._plan.pool)
        batch, self._left = self._left[: self._plan.batch], self._left[self._plan.batch :]
        return batch


def random_memory(order: int, seed: int, radius: float = 0.99) -> tuple[Array, Array]:
    """Ā with Gaussian entries scaled to spectral radius 0.99 (a memory of some hundred samples), B̄ ~ N(0, I/N)."""
    draw = np.random.default_rng((seed, 11))
    A = draw.normal(size=(order, order))
    return A * (radius / np.abs(np.linalg.eigvals(A)).max()), draw.normal(size=order) / math.sqrt(order)


def padded(time: int, start: int) -> int:
    """Length of a Fourier transform in which what wraps round falls before `start`."""
    return int(next_fast_len(2 * time - 1 - start, real=True))


def spectrum(u: Tensor, start: int) -> Tensor:
    """Fourier transform of the inputs, padded so far that what wraps round falls before `start`."""
    transformed: Tensor = torch.fft.rfft(u, n=padded(u.shape[-1], start))
    return transformed


def convolve(u: Tensor, transformed: Tensor, kernel: Tensor, D: Tensor, start: int) -> Tensor:
    """Predictions y[k], k = start … time - 2, of u[k + 1]: (…, batch, time - 1 - start).

    kernel (…, time) is C A^j B; u (…, batch, time).
    """
    time = u.shape[-1]
    length = padded(time, start)
    product = transformed * torch.fft.rfft(kernel, n=length)[..., None, :]
    memory = torch.fft.irfft(product, n=length)[..., start : time - 1]
    ahead: Tensor = memory + D[..., None, None] * u[..., start : time - 1]
    return ahead


def features(A: Tensor, B: Tensor, u: Tensor, start: int, piece: int = 50) -> Tensor:
    """[x after u[k]; u[k]] for k = start … time - 2: (batch, time - 1 - start, N + 1). A readout [C, D] acts on it."""
    time, columns = u.shape[-1], impulse_responses(A, B, u.shape[-1])
    length = padded(time, start)
    response = torch.fft.rfft(columns, n=length)
    made = u.new_empty(len(u), time - 1 - start, A.shape[-1] + 1)
    for first in range(0, len(u), piece):
        part = u[first : first + piece]
        states = torch.fft.irfft(torch.fft.rfft(part, n=length)[:, None, :] * response, n=length)
        made[first : first + piece, :, :-1] = states[..., start : time - 1].transpose(1, 2)
    made[..., -1] = u[:, start : time - 1]
    return made


def torch_device(name: str) -> torch.device:
    if name == "cuda" and not torch.cuda.is_available():
        raise ValueError("device 'cuda' is not available to torch here; use --device cpu")
    return torch.device(name)


def origin(device: torch.device, began: float, seeds: Sequence[int]) -> dict[str, Any]:
    threads = torch.get_num_threads()
    processor = f"CPU, {threads} thread{'s' if threads > 1 else ''}"
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else processor
    versions = {"prophecy": __version__, "python": platform.python_version()}
    versions |= {"torch": torch.__version__, "numpy": np.__version__}
    return {"device": name, "versions": versions, "seconds": time.perf_counter() - began, "seeds": list(seeds)}


def scores(dataset: str, variant: str, seeds: Sequence[int], errors: Sequence[Tensor] | Tensor) -> list[dict[str, Any]]:
    """Mean absolute errors of a variant, one for each seed."""
    means = [finite(float(error.abs().mean())) for error in errors]
    about = {"dataset": dataset, "variant": variant}
    return [{**about, "seed": seed, "mae": mean} for seed, mean in zip(seeds, means, strict=True)]


def finite(value: float) -> float | None:
    """JSON has no NaN: a diverged number is None."""
    return float(value) if math.isfinite(value) else None
