"""Is the construction worth anything as an initialisation? Three tasks, two models, four starts, three seeds.

Tasks: band-limited noise, the first variable of the Lorenz system, and the weekly CO2 record of Mauna Loa (it comes
with statsmodels). Models: one layer, and a network of two gated blocks. Starts: the construction; the same memory with
C = 0, D = 1, which copies; the same memory with random C; S4D-Lin. Each predicts the next value and is trained on the
first part, judged on the rest, in root mean square error relative to copying the last value: 1 is no better than that.
As lines, untrained: the straight line through the last two values, and `Prophecy`.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import prophecy
from benchmarks.harness import Benchmark, Options, Result, defaults
from prophecy import chaos, signals
from prophecy.nn import DiagonalSSM, GatedBlock, ProphecySSM

STEPS, SEEDS, RATE, ORDER, WIDTH = 400, 3, 1e-3, 16, 16
STARTS = ("construction", "copying", "random C", "S4D-Lin")
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Task:
    """values (series, time); the loss is over [warm, cut), the score over [cut, end), in units of copying's error."""

    def __init__(self, name: str, values: Any, window: float, warm: int, cut: int) -> None:
        centred = values - values[:, :warm].mean(axis=1, keepdims=True)
        self.name, self.window, self.warm, self.cut = name, window, warm, cut
        self.values = np.asarray(centred / centred[:, :cut].std(), np.float64)
        self.u = torch.tensor(self.values[..., None], dtype=torch.float32, device=DEVICE)

    def score(self, predictions: Any) -> float:
        """predictions[:, k] of values[:, k + 1], against copying."""
        actual = self.values[:, self.cut :]
        ours, copy = (np.asarray(each)[:, self.cut - 1 : -1] for each in (predictions, self.values))
        return float(np.sqrt(np.mean((ours - actual) ** 2) / np.mean((copy - actual) ** 2)))


def tasks(seed: int, co2: Any) -> list[Task]:
    white = signals.white_signal(1.0, 16, 1200, seed=seed, dt=1e-2, period=12.0)
    lorenz = np.stack([chaos.lorenz.sample(1200, per_lyapunov=100, seed=10 * seed + k)[:, 0] for k in range(8)])
    return [
        Task("band-limited noise", white, 300.0, 300, 800),
        Task("Lorenz", lorenz, 300.0, 300, 800),
        Task("CO2, weekly", co2[None], 300.0, 300, int(0.6 * len(co2))),
    ]


def mauna_loa() -> Any:
    from statsmodels.datasets import co2

    return co2.load_pandas().data["co2"].interpolate().to_numpy()


def memory(start: str, channels: int, window: float, seed: int) -> nn.Module:
    if start == "S4D-Lin":
        return DiagonalSSM(channels, ORDER, 2 / window, seed=seed)  # its slowest mode lasts a window
    layer = ProphecySSM(channels, ORDER, window, 1.0, train="all", construct=prophecy.next_value)
    with torch.no_grad():
        if start != "construction":
            scale = layer.C.square().mean().sqrt()
            layer.C.copy_(0.0 * layer.C if start == "copying" else scale * torch.randn(layer.C.shape))
            layer.D.fill_(1.0)
    return layer


class Network(nn.Module):
    """Two gated blocks of WIDTH channels; what comes out is added to the newest value."""

    def __init__(self, start: str, window: float, seed: int) -> None:
        super().__init__()
        self.enter = nn.Linear(1, WIDTH)
        self.blocks = nn.Sequential(*[GatedBlock(WIDTH, memory(start, WIDTH, window, seed + k)) for k in range(2)])
        self.leave = nn.Linear(WIDTH, 1)

    def forward(self, u: Tensor) -> Tensor:
        made: Tensor = u + self.leave(self.blocks(self.enter(u)))
        return made


MODELS: dict[str, Callable[[str, float, int], nn.Module]] = {
    "one layer": lambda start, window, seed: memory(start, 1, window, seed),
    "two gated blocks": Network,
}


def train(model: nn.Module, task: Task, steps: int = STEPS) -> list[float]:
    model.to(DEVICE)
    optimiser = torch.optim.Adam(model.parameters(), lr=RATE)
    known, scores = slice(task.warm, task.cut), []
    for step in range(steps + 1):
        with torch.set_grad_enabled(step < steps):
            y = model(task.u)
        if step in (0, steps):
            scores.append(task.score(y.detach().cpu().numpy()[..., 0]))
        if step < steps:
            optimiser.zero_grad()
            (y[:, known][:, :-1] - task.u[:, known][:, 1:]).square().mean().backward()
            optimiser.step()
    return scores


def unit(job: tuple[int, Task, str, str]) -> Result:
    """Scores before and after training: (seed, task, model, start); those of the lines with a task's first."""
    seed, task, kind, start = job
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    scores = train(MODELS[kind](start, task.window, seed), task)
    row = {"seed": seed, "task": task.name, "model": kind, "start": start, "scores": scores}
    if (kind, start) == (next(iter(MODELS)), STARTS[0]):
        line = 2 * task.values - np.roll(task.values, 1, axis=1)
        ours = prophecy.Prophecy().predict_all(task.values)
        row["untrained"] = {"straight line": task.score(line), "Prophecy": task.score(ours)}
    return row


def cases(options: Options) -> list[tuple[int, Task, str, str]]:
    record = np.load(options.co2) if options.co2 else mauna_loa()
    made = [(seed, task) for seed in range(SEEDS) for task in tasks(seed, record)]
    return [(seed, task, kind, start) for seed, task in made for kind in MODELS for start in STARTS]


def result(rows: list[Result], options: Options) -> Result:
    scores: Result = {}
    lines: Result = {}
    for row in rows:
        of_task = scores.setdefault(row["task"], {}).setdefault(row["model"], {})
        of_task.setdefault(row["start"], []).append(row["scores"])
        for name, value in row.get("untrained", {}).items():
            lines.setdefault(row["task"], {}).setdefault(name, []).append(value)
    seeds = len({row["seed"] for row in rows})
    settings = {"steps": STEPS, "seeds": seeds, "rate": RATE, "order": ORDER, "width": WIDTH, "device": str(DEVICE)}
    settings["torch"] = torch.__version__
    return {"experiment": "training", "settings": settings, "untrained": lines, "scores": scores}


BENCHMARK = Benchmark(__doc__, cases, unit, result, options=defaults(co2=Path), spawn=True)
