r"""A selective SSM in the manner of Mamba, trained on regime switches and outliers: the rival of the constructed gate.

    h = SiLU(convolution of four samples)             channels
    Δ = softplus(W_Δ h + b), B = W_B h, C = W_C h     chosen by the input, which is the gate
    x = exp(Δ A) x + Δ B h,   y = u + w · ((C x + D h) SiLU(W_z h))

The states are made by `prophecy.nn.scan`. The model is trained on the clean next value, which no constructed model is
told, and starts at copying the last value.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from prophecy.nn import scan
from reproduction import switching
from reproduction.trained import common


@dataclass(frozen=True)
class SelectivePlan:
    """`sizes` are (channels, states per channel)."""

    sizes: tuple[tuple[int, int], ...] = ((4, 4), (16, 16))
    steps: int = 3_000
    batch: int = 64
    pool: int = 8_192
    learning_rate: float = 3e-3
    sequences: int = 400
    checks: int = 10


# On a GPU; by `python -m reproduction` on a CPU; in tests.
FULL = SelectivePlan()
SHORT = SelectivePlan(sizes=((4, 4),), steps=100, batch=16, pool=256, sequences=100, checks=4)
TINY = SelectivePlan(sizes=((2, 2),), steps=3, batch=2, pool=4, sequences=8, checks=2)


class SelectiveSSM(nn.Module):
    """(batch, time) to predictions of the next value, (batch, time)."""

    def __init__(self, channels: int, states: int, taps: int = 4) -> None:
        super().__init__()
        self.states, self.taps = states, taps
        self.embed = nn.Linear(taps, channels)
        self.step, self.gate = nn.Linear(channels, channels), nn.Linear(channels, channels)
        self.into, self.out = nn.Linear(channels, states, bias=False), nn.Linear(channels, states, bias=False)
        self.decay = nn.Parameter(torch.log(torch.arange(1.0, states + 1)).repeat(channels, 1))
        self.skip, self.read = nn.Parameter(torch.ones(channels)), nn.Linear(channels, 1)
        with torch.no_grad():
            # Steps between 1/1000 and 1/10, as in Mamba; softplus⁻¹ of them is the bias.
            steps = torch.exp(torch.empty(channels).uniform_(math.log(1e-3), math.log(1e-1)))
            self.step.bias.copy_(torch.log(torch.expm1(steps)))
            self.read.weight.zero_()
            self.read.bias.zero_()

    def forward(self, u: Tensor) -> Tensor:
        past = torch.stack(
            [torch.cat([u[:, :1].expand(-1, i), u], dim=1)[:, : u.shape[1]] for i in range(self.taps)], -1
        )
        h = nn.functional.silu(self.embed(past))
        step = nn.functional.softplus(self.step(h))
        kept = torch.exp(-step[..., None] * torch.exp(self.decay))
        added = (step * h)[..., None] * self.into(h)[..., None, :]
        x = scan(kept.flatten(2), added.flatten(2), diagonal=True).reshape(added.shape)
        y = (x * self.out(h)[..., None, :]).sum(dim=-1) + self.skip * h
        said: Tensor = u + self.read(y * nn.functional.silu(self.gate(h)))[..., 0]
        return said


def train(plan: SelectivePlan, seeds: Sequence[int] = (0, 1, 2), device: str = "cpu") -> dict[str, Any]:
    where, began = common.torch_device(device), time.perf_counter()
    data = switching.sequences(plan.pool, None, seed=1)
    pool = [torch.tensor(x, dtype=torch.float32, device=where) for x in (data.seen, data.clean)]
    kept = torch.tensor(data.since > 0, device=where)[:, 1:]
    models = []
    for channels, states in plan.sizes:
        for seed in seeds:
            losses, model = _trained(plan, channels, states, seed, pool[0], pool[1], kept)
            made = {"channels": channels, "states": states, "seed": seed, "losses": losses}
            size = sum(p.numel() for p in model.parameters())
            models.append({**made, "parameters": size, **scores(model, plan, where)})
    return {"plan": asdict(plan), "models": models, **common.origin(where, began, seeds)}


def _trained(
    plan: SelectivePlan, channels: int, states: int, seed: int, seen: Tensor, clean: Tensor, kept: Tensor
) -> tuple[list[dict[str, float]], SelectiveSSM]:
    torch.manual_seed(seed)
    model = SelectiveSSM(channels, states).to(seen.device)
    optimiser = torch.optim.AdamW(model.parameters(), lr=plan.learning_rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, max(plan.steps, 1))
    draw = torch.Generator().manual_seed(seed)
    checks = {int(x) for x in np.linspace(0, plan.steps - 1, plan.checks)}
    losses = []
    for step in range(plan.steps):
        index = torch.randint(plan.pool, (plan.batch,), generator=draw).to(seen.device)
        error = (model(seen[index])[:, :-1] - clean[index][:, 1:])[kept[index]]
        loss = error.square().mean()
        optimiser.zero_grad(set_to_none=True)
        torch.autograd.backward(loss)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        if step in checks:
            losses.append({"step": step, "mse": float(loss.detach())})
    return losses, model


def scores(model: SelectiveSSM, plan: SelectivePlan, device: torch.device) -> dict[str, Any]:
    def predict(u: common.Array) -> common.Array:
        with torch.no_grad():
            said = model(torch.tensor(u, dtype=torch.float32, device=device))
        return np.asarray(said.cpu().numpy(), dtype=np.float64)

    return switching.scores(predict, plan.sequences, switching.RATES, switching.SINCE, switching.SEED)
