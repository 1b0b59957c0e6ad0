r"""An MLP on the states of fixed LegT memories, trained to predict the next change of chaotic systems.

Twice: on the context of each trajectory alone, which is what the solved readouts see too; and beforehand, on further
trajectories of the same system, which they do not. All networks of a run are trained side by side as one batch.
"""

import itertools
import multiprocessing
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from prophecy import _machine
from reproduction import products
from reproduction.trained import common


@dataclass(frozen=True)
class PerceptronPlan:
    """Two hidden layers of `hidden` units; `further` trajectories of each system are seen beforehand."""

    hidden: int = 64
    steps: int = 5_000
    learning_rate: float = 3e-3
    trajectories: int = products.TRAJECTORIES
    further: int = 4
    systems: int = len(products.SYSTEMS)
    memories: tuple[tuple[int, float], ...] = products.MEMORIES[::2]


# On a GPU; by `python -m reproduction` on a CPU; in tests.
FULL = PerceptronPlan()
SHORT = PerceptronPlan(steps=300, trajectories=1, further=1, systems=2, memories=products.MEMORIES[:1])
TINY = PerceptronPlan(hidden=4, steps=2, trajectories=1, further=1, systems=1, memories=products.MEMORIES[:1])


class Perceptrons(nn.Module):
    """(models, rows, inputs) to (models, rows, outputs): independent networks side by side, starting at 0."""

    def __init__(self, models: int, inputs: int, hidden: int, outputs: int, seeds: Sequence[int]) -> None:
        super().__init__()
        draws = [torch.Generator().manual_seed(seed) for seed in seeds]
        each, sizes = models // len(seeds), (inputs, hidden, hidden, outputs)
        self.weights, self.biases = nn.ParameterList(), nn.ParameterList()
        for i, (a, b) in enumerate(itertools.pairwise(sizes)):
            scale = 0.0 if i == 2 else a**-0.5
            parts = [scale * torch.randn(each, a, b, generator=draw, dtype=torch.float64) for draw in draws]
            self.weights.append(nn.Parameter(torch.cat(parts)))
            self.biases.append(nn.Parameter(torch.zeros(models, 1, b, dtype=torch.float64)))

    def forward(self, z: Tensor) -> Tensor:
        h = z
        for i, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            h = torch.baddbmm(bias, h, weight)
            h = torch.tanh(h) if i < 2 else h
        return h


def train(
    plan: PerceptronPlan, seeds: Sequence[int] = (0, 1, 2), device: str = "cpu", jobs: int | None = None
) -> dict[str, Any]:
    where, began = common.torch_device(device), time.perf_counter()
    systems = products.SYSTEMS[: plan.systems]
    own = [(name, products.FIRST + i) for name in systems for i in range(plan.trajectories)]
    others = [(name, 1_000 + i) for name in systems for i in range(plan.further)]
    made = _sampled(own + others, jobs)
    cases, further = made[: len(own)], made[len(own) :]
    results = []
    for order, window in plan.memories:
        memories = products.Memories(order, window)
        inside = [memories.rows(c.context) for c in cases]
        before = [_joined([memories.rows(f.context) for f in further if f.system == c.system]) for c in cases]
        for kind, data in (("in context", inside), ("beforehand", before)):
            model, scale = _trained(plan, data, seeds, where)
            for s, scored in zip(seeds, _scores(model, scale, cases, memories, len(seeds)), strict=True):
                named = [{"system": c.system, "trajectory": c.seed, **x} for c, x in zip(cases, scored, strict=True)]
                results.append({"kind": kind, "order": order, "window": window, "seed": s, "cases": named})
    return {"plan": asdict(plan), "results": results, **common.origin(where, began, seeds)}


def _sampled(wanted: Sequence[tuple[str, int]], jobs: int | None) -> list[products.Case]:
    names, seeds = zip(*wanted, strict=True)
    workers = min(len(wanted), _machine.cores()) if jobs is None else jobs
    if workers == 1:
        return [products.case(name, seed) for name, seed in wanted]
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        return list(pool.map(products.case, names, seeds))


def _joined(parts: Sequence[tuple[common.Array, common.Array]]) -> tuple[common.Array, common.Array]:
    return np.concatenate([z for z, _ in parts]), np.concatenate([v for _, v in parts])


def _trained(
    plan: PerceptronPlan, data: Sequence[tuple[common.Array, common.Array]], seeds: Sequence[int], device: torch.device
) -> tuple[Perceptrons, Tensor]:
    """Networks of all seeds and cases, and the size of the changes, in which they answer: (models, 1, variables)."""
    repeated = list(data) * len(seeds)
    z, changes = (torch.tensor(np.stack(part), device=device) for part in zip(*repeated, strict=True))
    scale = changes.std(dim=1, keepdim=True)
    model = Perceptrons(len(z), z.shape[-1], plan.hidden, changes.shape[-1], seeds).to(device)
    optimiser = torch.optim.Adam(model.parameters(), lr=plan.learning_rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, max(plan.steps, 1))
    for _ in range(plan.steps):
        optimiser.zero_grad(set_to_none=True)
        torch.autograd.backward((model(z) - changes / scale).square().mean(dim=(1, 2)).sum())
        optimiser.step()
        schedule.step()
    return model, scale


def _scores(
    model: Perceptrons, scale: Tensor, cases: Sequence[products.Case], memories: products.Memories, count: int
) -> list[list[dict[str, Any]]]:
    def change(z: common.Array) -> common.Array:
        with torch.no_grad():
            said = model(torch.tensor(z, device=scale.device)) * scale
        return np.asarray(said.cpu().numpy(), dtype=np.float64)

    scored = products.scores(list(cases) * count, memories, change)
    return [scored[i * len(cases) : (i + 1) * len(cases)] for i in range(count)]
