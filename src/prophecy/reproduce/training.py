r"""Construction against training (Fig. 1d): the SSM layer of Eq. (5), trained by gradient descent on whole sequences.

Settings of the paper, LegT with N = 32 and the whole sequence as window:
  I    start at the construction, train C and D
  II   the construction, untouched
  III  A and B of the construction, C and D from N(0, I), train C and D
  IV   start at the construction, train all four
The paper does not say in which coordinates IV trains the memory. Adam moves every entry by about the learning rate,
2e-3, while the discrete A differs from the identity by less than 1e-2: the first step makes it unstable. IV therefore
trains the continuous A and B (window 1), discretised anew at every step; "IV discrete" trains the discrete pair itself,
to show what becomes of it.

Runs with torch, numpy and scipy alone:  python -m prophecy.reproduce.training --device cuda --out training.json
"""

from __future__ import annotations

import argparse
import math
import os
import time as clock
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.fft import next_fast_len
from torch import Tensor

from prophecy import __version__, _files, legt, next_value, signals

SETTINGS = ("I", "II", "III", "IV", "IV discrete")
TRAINED = ("I", "III", "IV", "IV discrete")
EVALUATION_SEED = 1_000_000
FILTERED_TIME_CONSTANT = 0.1


@dataclass(frozen=True)
class Plan:
    """Everything a run depends on, the seeds aside."""

    order: int = 32
    samples: int = 10_000
    steps: int = 8_000
    batch: int = 128
    learning_rate: float = 2e-3
    functions: int = 128
    checks: int = 12

    @property
    def start(self) -> int:
        return self.samples // 2

    def check_steps(self) -> list[int]:
        """Steps at which the evaluation sets are scored: 0, then evenly in the logarithm, and the last."""
        spaced = np.geomspace(1, self.steps, self.checks).round().astype(int)
        return sorted({0, *(int(step) for step in spaced), self.steps})


FULL = Plan()
SHORT = Plan(steps=500, batch=24, functions=32, checks=8)


def impulse_responses(A: Tensor, B: Tensor, length: int) -> Tensor:
    """A^j B for j = 0 … length - 1, by doubling: (…, N, length). Fourteen products make 10 000 columns."""
    columns, power = B[..., None], A
    while columns.shape[-1] < length:
        columns = torch.cat([columns, power @ columns], dim=-1)
        power = power @ power
    return columns[..., :length]


def bilinear(A: Tensor, B: Tensor, dt: float) -> tuple[Tensor, Tensor]:
    """The discretisation of Sec. 3, differentiable and batched."""
    eye = torch.eye(A.shape[-1], dtype=A.dtype, device=A.device)
    both = torch.linalg.solve(eye - dt / 2 * A, torch.cat([eye + dt / 2 * A, dt * B[..., None]], dim=-1))
    return both[..., :-1], both[..., -1]


def spectrum(u: Tensor, start: int) -> Tensor:
    """Fourier transform of the inputs, padded so far that what wraps round falls before `start`."""
    transformed: Tensor = torch.fft.rfft(u, n=_length(u.shape[-1], start))
    return transformed


def convolve(u: Tensor, transformed: Tensor, kernel: Tensor, D: Tensor, start: int) -> Tensor:
    """Predictions y[k], k = start … time - 2, of u[k + 1]: (…, batch, time - 1 - start).

    kernel (…, time) is C A^j B; u (…, batch, time).
    """
    time = u.shape[-1]
    length = _length(time, start)
    product = transformed * torch.fft.rfft(kernel, n=length)[..., None, :]
    memory = torch.fft.irfft(product, n=length)[..., start : time - 1]
    ahead: Tensor = memory + D[..., None, None] * u[..., start : time - 1]
    return ahead


def _length(time: int, start: int) -> int:
    return int(next_fast_len(2 * time - 1 - start, real=True))


class Layers(torch.nn.Module):
    """All settings and seeds side by side; their losses share nothing, so neither do their gradients."""

    def __init__(self, plan: Plan, seeds: Sequence[int], device: torch.device) -> None:
        super().__init__()
        self.plan, self.seeds = plan, tuple(seeds)
        basis = legt(plan.order, window=1.0)
        system = next_value(basis, dt=1.0 / plan.samples)
        count = len(self.seeds)

        def repeat(value: NDArray[Any] | float) -> Tensor:
            tensor = torch.tensor(value, dtype=torch.float64, device=device)
            return tensor.expand(count, *tensor.shape).clone()

        A, B = repeat(system.A), repeat(system.B)
        self.register_buffer("fixed", impulse_responses(A[0], B[0], plan.samples))
        self.C = torch.nn.ParameterDict({_key(name): repeat(system.C) for name in TRAINED})
        self.D = torch.nn.ParameterDict({_key(name): repeat(system.D) for name in TRAINED})
        draws = [np.random.default_rng(seed).normal(size=plan.order + 1) for seed in self.seeds]
        gaussian = torch.tensor(np.stack(draws), dtype=torch.float64, device=device)
        self.C["III"], self.D["III"] = gaussian[:, :-1].clone(), gaussian[:, -1].clone()
        self.register_buffer("constructed_C", repeat(system.C))
        self.register_buffer("constructed_D", repeat(system.D))
        self.continuous_A = torch.nn.Parameter(repeat(basis.A))
        self.continuous_B = torch.nn.Parameter(repeat(basis.B))
        self.discrete_A = torch.nn.Parameter(A)
        self.discrete_B = torch.nn.Parameter(B)

    def readouts(self, settings: Sequence[str]) -> tuple[Tensor, Tensor]:
        """Kernels (setting, seed, time) and D (setting, seed)."""
        kernels: list[Tensor] = []
        feedthrough: list[Tensor] = []
        for name in settings:
            C = torch.as_tensor(self.constructed_C if name == "II" else self.C[_key(name)])
            D = torch.as_tensor(self.constructed_D if name == "II" else self.D[_key(name)])
            kernels.append(torch.einsum("sn,snt->st", C, self._columns(name).expand(len(self.seeds), -1, -1)))
            feedthrough.append(D)
        return torch.stack(kernels), torch.stack(feedthrough)

    def _columns(self, name: str) -> Tensor:
        if name == "IV":
            pair = bilinear(self.continuous_A, self.continuous_B, 1.0 / self.plan.samples)
            return impulse_responses(*pair, self.plan.samples)
        if name == "IV discrete":
            return impulse_responses(self.discrete_A, self.discrete_B, self.plan.samples)
        return torch.as_tensor(self.fixed)

    def errors(self, u: Tensor, settings: Sequence[str]) -> Tensor:
        """y[k] - u[k + 1] for k ≥ start: (setting, seed, batch, time - 1 - start); u is (seed, batch, time)."""
        kernels, D = self.readouts(settings)
        ahead = convolve(u, spectrum(u, self.plan.start), kernels, D, self.plan.start)
        return ahead - u[..., self.plan.start + 1 :]


def _key(name: str) -> str:
    return name.replace(" ", "_")


def mixed_batch(count: int, samples: int, generator: torch.Generator) -> Tensor:
    """The distribution of `signals.mixed`, drawn on the generator's device: (count, samples)."""
    device = generator.device

    def uniform(*shape: int) -> Tensor:
        return torch.rand(shape, generator=generator, device=device, dtype=torch.float64)

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator, device=device, dtype=torch.float64)

    each = -(-count // 3)
    times = torch.arange(samples, device=device, dtype=torch.float64) / samples
    angle = 2 * math.pi * (50.0 * uniform(each, 5, 1) * times + uniform(each, 5, 1))
    waves = (normal(each, 5, 1) * torch.sin(angle)).sum(dim=1) / math.sqrt(5)
    whites = _white(0.3 + 1.2 * uniform(each, 1), normal(2, each, 16), samples)
    weights, x = normal(each, 16) / 4.0, torch.linspace(-1, 1, samples, device=device, dtype=torch.float64)
    polynomials = [torch.ones_like(x), x]
    for n in range(1, 15):
        polynomials.append(((2 * n + 1) * x * polynomials[n] - n * polynomials[n - 1]) / (n + 1))
    return torch.stack([waves, whites, weights @ torch.stack(polynomials)], dim=1).reshape(-1, samples)[:count]


def _white(cutoff: Tensor, draws: Tensor, samples: int, half: int = 5_000, rms: float = 0.5) -> Tensor:
    """White Signals of period 10 s at 1 kHz (`signals.white_signal`) with a cut-off of at most 1.5 Hz each."""
    index = torch.arange(16, device=draws.device, dtype=torch.float64)
    kept = (index / 10.0 <= cutoff) & (index > 0)
    number = kept.sum(dim=1, keepdim=True) + 1
    scale = rms * math.sqrt(0.5) * math.sqrt(2 * half) / torch.sqrt((number - 1) / half)
    wave = torch.fft.irfft(torch.complex(draws[1], draws[0]) * kept * scale, n=2 * half)
    first = wave.abs().argmin(dim=1, keepdim=True)
    rolled: Tensor = wave.gather(1, (first + torch.arange(samples, device=draws.device)) % (2 * half))
    return rolled


def evaluation_sets(plan: Plan) -> dict[str, NDArray[np.float64]]:
    """The paper's four: Filtered Noise, held-out mixed, lines, and its own Van der Pol run."""
    count, samples = plan.functions, plan.samples
    return {
        "Filtered Noise": signals.filtered_noise(FILTERED_TIME_CONSTANT, count, samples, seed=EVALUATION_SEED),
        "mixed, held out": signals.mixed(count, samples, seed=EVALUATION_SEED),
        "linear": signals.linear(count, samples, seed=EVALUATION_SEED),
        "Van der Pol": signals.van_der_pol(samples, tolerance=signals.SCIPY_DEFAULTS)[None],
    }


def evaluate(layers: Layers, sets: dict[str, Tensor]) -> list[dict[str, Any]]:
    """Mean absolute and mean squared error of every setting and seed on every set; None where a model has diverged."""
    scores = []
    with torch.no_grad():
        for dataset, u in sets.items():
            for name in SETTINGS:
                errors = layers.errors(u.expand(len(layers.seeds), -1, -1), [name])[0]
                for seed, error in zip(layers.seeds, errors, strict=True):
                    mae, mse = float(error.abs().mean()), float(error.square().mean())
                    finite = math.isfinite(mae) and math.isfinite(mse)
                    scores.append(
                        {
                            "dataset": dataset,
                            "setting": name,
                            "seed": seed,
                            "mae": mae if finite else None,
                            "mse": mse if finite else None,
                        }
                    )
    return scores


def train(
    plan: Plan,
    seeds: Sequence[int] = (0, 1, 2),
    device: str = "cpu",
    progress: Callable[[int, dict[str, Any]], None] = lambda step, result: None,
) -> dict[str, Any]:
    """Train every setting for every seed; `progress` is called after each scored step with the results so far."""
    where = torch_device(device)
    began = clock.perf_counter()
    layers = Layers(plan, seeds, where)
    sets = {name: torch.tensor(u, device=where) for name, u in evaluation_sets(plan).items()}
    generators = [torch.Generator(device=where).manual_seed(seed) for seed in seeds]
    optimiser = torch.optim.Adam(layers.parameters(), lr=plan.learning_rate)
    checks = plan.check_steps()
    result: dict[str, Any] = {
        "plan": asdict(plan),
        "seeds": list(seeds),
        "device": _device_name(where),
        "version": __version__,
        "torch": torch.__version__,
        "history": [],
        "diverged": {},
        "seconds": 0.0,
        "steps_done": 0,
    }
    for step in range(plan.steps + 1):
        if step in checks:
            result["history"].append({"step": step, "scores": evaluate(layers, sets)})
            result["seconds"], result["steps_done"] = clock.perf_counter() - began, step
            progress(step, result)
        if step == plan.steps:
            break
        u = torch.stack([mixed_batch(plan.batch, plan.samples, generator) for generator in generators])
        losses = layers.errors(u, TRAINED).abs().mean(dim=(-1, -2))
        optimiser.zero_grad(set_to_none=True)
        torch.autograd.backward(losses.sum())
        optimiser.step()
        if step % 50 == 0 or step in checks:
            _note_divergence(result["diverged"], losses, seeds, step)
    return result


def _note_divergence(diverged: dict[str, int], losses: Tensor, seeds: Sequence[int], step: int) -> None:
    for name, row in zip(TRAINED, losses.detach().cpu(), strict=True):
        for seed, loss in zip(seeds, row, strict=True):
            if not math.isfinite(float(loss)):
                diverged.setdefault(f"{name}, seed {seed}", step)


def torch_device(name: str) -> torch.device:
    """The named device; a clear refusal if it is not there."""
    if name == "cuda" and not torch.cuda.is_available():
        raise ValueError("device 'cuda' is not available to torch here; use --device cpu")
    return torch.device(name)


def _device_name(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else f"cpu, {torch.get_num_threads()} threads"


def main(arguments: Sequence[str] | None = None) -> None:
    """Write one results file, rewritten whole after every scored step."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--out", type=Path, required=True, help="results file to write")
    parser.add_argument("--steps", type=int, default=FULL.steps)
    parser.add_argument("--batch", type=int, default=FULL.batch)
    parser.add_argument("--functions", type=int, default=FULL.functions)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    given = parser.parse_args(arguments)
    plan = Plan(steps=given.steps, batch=given.batch, functions=given.functions)
    os.makedirs(given.out.parent, exist_ok=True)

    def progress(step: int, result: dict[str, Any]) -> None:
        _files.write_json(given.out, result)
        print(f"step {step} of {plan.steps}, {result['seconds']:.1f} s", flush=True)

    result = train(plan, given.seeds, given.device, progress)
    _files.write_json(given.out, result)
    print(f"wrote {given.out} after {result['seconds']:.1f} s on {result['device']}")


if __name__ == "__main__":
    main()
