"""Is the construction worth anything as an initialisation? Three tasks, two models, four starts, three seeds.

Tasks: band-limited noise, the first variable of the Lorenz system, and the weekly CO2 record of Mauna Loa (it comes
with statsmodels). Models: one layer, and a network of two gated blocks. Starts: the construction; the same memory with
C = 0, D = 1, which copies; the same memory with random C; S4D-Lin. Each predicts the next value and is trained on the
first part, judged on the rest, in root mean square error relative to copying the last value: 1 is no better than that.
As lines, untrained: the straight line through the last two values, and `Prophecy`.

    python -m benchmarks.training --out benchmarks/results/training.json
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import prophecy
from benchmarks.harness import Benchmark, Options, option
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
        error = np.sqrt(np.mean((np.asarray(predictions)[:, self.cut - 1 : -1] - actual) ** 2))
        return float(error / np.sqrt(np.mean((self.values[:, self.cut - 1 : -1] - actual) ** 2)))


def tasks(seed: int, co2: Any) -> list[Task]:
    white = signals.white_signal(1.0, 16, 1200, seed=seed, dt=1e-2, period=12.0)
    lorenz = np.stack([chaos.lorenz.sample(1200, per_lyapunov=100, seed=10 * seed + k)[:, 0] for k in range(8)])
    return [
        Task("band-limited noise", white, 300.0, 300, 800),
        Task("Lorenz", lorenz, 300.0, 300, 800),
        Task("CO2, weekly", co2[None], 300.0, 300, int(0.6 * len(co2))),
    ]


def mauna_loa() -> Any:
    """CO2 in ppm, gaps filled by straight lines."""
    from statsmodels.datasets import co2

    return co2.load_pandas().data["co2"].interpolate().to_numpy()


def memory(start: str, channels: int, window: float, seed: int) -> nn.Module:
    """A layer of `channels` with one of the four starts, everything trained."""
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
        self.blocks = nn.ModuleList([GatedBlock(WIDTH, memory(start, WIDTH, window, seed + k)) for k in range(2)])
        self.leave = nn.Linear(WIDTH, 1)

    def forward(self, u: Tensor) -> Tensor:
        x = self.enter(u)
        for block in self.blocks:
            x = block(x)
        made: Tensor = u + self.leave(x)
        return made


MODELS: dict[str, Callable[[str, float, int], nn.Module]] = {
    "one layer": lambda start, window, seed: memory(start, 1, window, seed),
    "two gated blocks": Network,
}


def train(model: nn.Module, task: Task, steps: int) -> list[float]:
    """The score before training and after each step."""
    model.to(DEVICE)
    optimiser = torch.optim.Adam(model.parameters(), lr=RATE)
    scores = []
    for step in range(steps + 1):
        with torch.set_grad_enabled(step < steps):
            y = model(task.u)
        scores.append(task.score(y.detach().cpu().numpy()[..., 0]))
        if step < steps:
            optimiser.zero_grad()
            known = slice(task.warm, task.cut)
            (y[:, known][:, :-1] - task.u[:, known][:, 1:]).square().mean().backward()
            optimiser.step()
    return scores


def untrained(task: Task) -> dict[str, float]:
    line = 2 * task.values - np.roll(task.values, 1, axis=1)
    return {"straight line": task.score(line), "Prophecy": task.score(prophecy.Prophecy().predict_all(task.values))}


def unit(job: tuple[int, Task, str, str, int]) -> dict[str, Any]:
    """Scores before and after training: (seed, task, model, start, steps)."""
    seed, task, kind, start, steps = job
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    scores = train(MODELS[kind](start, task.window, seed), task, steps)
    row = {"seed": seed, "task": task.name, "model": kind, "start": start, "scores": [scores[0], scores[-1]]}
    first = (kind, start) == (next(iter(MODELS)), STARTS[0])
    return row | ({"untrained": untrained(task)} if first else {})


def cases(options: Options) -> list[tuple[int, Task, str, str, int]]:
    record = np.load(options.co2) if options.co2 else mauna_loa()
    return units([tasks(seed, record) for seed in range(SEEDS)])


def units(made: list[list[Task]], steps: int = STEPS) -> list[tuple[int, Task, str, str, int]]:
    """Every start of both models on every task; made: the tasks of every seed."""
    seeds = enumerate(made)
    return [(k, task, kind, start, steps) for k, some in seeds for task in some for kind in MODELS for start in STARTS]


def result(rows: list[dict[str, Any]], steps: int = STEPS) -> dict[str, Any]:
    """Scores by task, model and start, [before, after] of each seed, and the untrained lines by task."""
    scores: dict[str, Any] = {}
    lines: dict[str, Any] = {}
    for row in rows:
        of_task = scores.setdefault(row["task"], {}).setdefault(row["model"], {})
        of_task.setdefault(row["start"], []).append(row["scores"])
        for name, value in row.get("untrained", {}).items():
            lines.setdefault(row["task"], {}).setdefault(name, []).append(value)
    seeds = len({row["seed"] for row in rows})
    settings = {"steps": steps, "seeds": seeds, "rate": RATE, "order": ORDER, "width": WIDTH, "device": str(DEVICE)}
    settings |= {"torch": torch.__version__, "python": platform.python_version()}
    return {"experiment": "training", "settings": settings, "untrained": lines, "scores": scores}


BENCHMARK = Benchmark(
    __doc__, cases, unit, lambda rows, _: result(rows),
    lambda row: f"seed {row['seed']}, {row['task']}, {row['model']}, {row['start']}: {row['scores']}",
    (option("--co2", type=Path, help="the CO2 record as .npy, where statsmodels is not installed"),),
    spawn=True,
)  # fmt: skip

if __name__ == "__main__":
    BENCHMARK.run()
