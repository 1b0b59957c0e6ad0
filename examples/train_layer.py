"""A small sequence model on a long-range task, from a constructed memory and from a random one.

The task is a delay line: say at every moment what the input was DELAY = 1 000 samples ago. The input is band-limited
noise, so nothing nearer helps. The model is a usual one: a linear layer in, two gated blocks, a linear layer out, Adam.
Only the start of its memories differs: constructed (LegT over windows from 100 to 3 000 samples), S4D-Lin with modes
over the same range of times, or a random stable memory. Losses are mean squared errors in units of the signal's
variance on sequences never seen before: 1 is no better than saying 0.

    python examples/train_layer.py --json benchmarks/results/delay.json --plot docs/images/delay.png
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from prophecy.nn import DiagonalSSM, GatedBlock, ProphecySSM, parameter_groups

STARTS = ("construction", "S4D-Lin", "random")
DELAY, LENGTH, BATCH, STEPS, SEEDS = 1000, 4096, 32, 600, 2
WIDTH, ORDER, RATE = 32, 64, 3e-3
WINDOWS = (100.0, 3000.0)
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def signals(batch: int, length: int, generator: torch.Generator) -> Tensor:
    """Sums of 24 sinusoids of random phase, none with a period below 200 samples; variance 1: (batch, length, 1)."""
    cycles = torch.rand(batch, 24, 1, generator=generator) / 200
    phases = torch.rand(batch, 24, 1, generator=generator)
    waves = torch.cos(2 * torch.pi * (cycles * torch.arange(length) + phases)).sum(1) / 12**0.5
    return waves.unsqueeze(-1).to(DEVICE)


def memory(start: str, seed: int) -> nn.Module:
    """One of the starts; all of it is trained."""
    if start == "S4D-Lin":
        return DiagonalSSM(WIDTH, ORDER, (2 / WINDOWS[1], 2 / WINDOWS[0]), seed=seed)
    layer = ProphecySSM(WIDTH, ORDER, np.geomspace(*WINDOWS, WIDTH), 1.0, train=("all", "window"))
    if start == "random":
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for part in (layer.rotation, layer.edges, layer.input, layer.C, layer.D):
                size = part.square().mean().sqrt()
                part.copy_(size * torch.randn(part.shape, generator=generator, dtype=part.dtype))
    return layer


class Model(nn.Module):
    def __init__(self, start: str, seed: int) -> None:
        super().__init__()
        self.enter = nn.Linear(1, WIDTH)
        self.blocks = nn.ModuleList([GatedBlock(WIDTH, memory(start, seed + k)) for k in range(2)])
        self.leave = nn.Linear(WIDTH, 1)

    def forward(self, u: Tensor) -> Tensor:
        x = self.enter(u)
        for block in self.blocks:
            x = block(x)
        made: Tensor = self.leave(x)
        return made


def train(start: str, seed: int, steps: int, length: int = LENGTH, delay: int = DELAY) -> tuple[list[float], float]:
    """The loss on unseen sequences at every tenth step, and the minutes it took."""
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(1000 + seed)
    model, unseen = Model(start, seed).to(DEVICE), signals(BATCH, length, generator)
    optimiser = torch.optim.Adam(parameter_groups(model, lr=RATE / 10), lr=RATE)
    begun, losses = time.perf_counter(), []
    for step in range(steps + 1):
        if step % 10 == 0:
            with torch.no_grad():
                losses.append(float((model(unseen)[:, 2 * delay :] - unseen[:, delay:-delay]).square().mean()))
        u = signals(BATCH, length, generator)
        loss = (model(u)[:, 2 * delay :] - u[:, delay:-delay]).square().mean()
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
    return losses, (time.perf_counter() - begun) / 60


def run(steps: int = STEPS, seeds: int = SEEDS, **sizes: int) -> dict[str, Any]:
    curves: dict[str, Any] = {start: [] for start in STARTS}
    minutes = dict.fromkeys(STARTS, 0.0)
    for start in STARTS:
        for seed in range(seeds):
            losses, took = train(start, seed, steps, **sizes)
            curves[start].append(losses)
            minutes[start] += took / seeds
            print(f"{start}, seed {seed}: {losses[0]:.3g} -> {losses[-1]:.3g} in {took:.2f} minutes", flush=True)
    name = torch.cuda.get_device_name() if DEVICE.type == "cuda" else "CPU"
    settings = {"delay": DELAY, "length": LENGTH, "batch": BATCH, "steps": steps, "order": ORDER, "width": WIDTH}
    settings |= {"rate": RATE, "device": name, "torch": torch.__version__} | sizes
    return {"experiment": "delay", "settings": settings, "minutes": minutes, "losses": curves}


def draw(result: dict[str, Any], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.4), layout="constrained")
    axis = figure.subplots()
    for place, start in enumerate(STARTS):
        table = np.array(result["losses"][start])
        label, colour = f"{start}, {result['minutes'][start]:.1f} minutes", f"C{place}"
        axis.plot(10 * np.arange(table.shape[1]), table.T, color=colour, alpha=0.35, linewidth=1.0)
        axis.plot(10 * np.arange(table.shape[1]), np.median(table, 0), color=colour, label=label)
    axis.set(yscale="log", xlabel="steps of Adam", ylabel="error, variance of the signal = 1")
    axis.set_title(f"The input {result['settings']['delay']} samples ago")
    axis.legend()
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="where the numbers go")
    parser.add_argument("--plot", type=Path, help="where the picture goes")
    parser.add_argument("--from", dest="made", type=Path, help="draw these numbers instead of training")
    given = parser.parse_args()
    result = json.loads(given.made.read_text()) if given.made else run()
    if given.json:
        given.json.write_text(json.dumps(result))
    if given.plot:
        draw(result, given.plot)


if __name__ == "__main__":
    main()
