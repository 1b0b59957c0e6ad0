"""Train the constructed layer beside randomly initialised twins on a real series, and draw both.

The series is the weekly CO2 record of Mauna Loa (1958-2001), which comes with statsmodels. Layers predict next week's
value; they are trained on the first 60 % and judged on the rest. Takes about ten seconds on one core.

    python examples/train_layer.py training.png
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import torch

from prophecy.nn import ProphecySSM
from prophecy.reproduce import style

ORDER, WINDOW, EPOCHS, TWINS, SPLIT = 4, 104.0, 300, 5, 0.6


def series() -> torch.Tensor:
    """CO2 in ppm, gaps filled by straight lines, relative to its first year: (1, weeks, 1)."""
    from statsmodels.datasets import co2

    weekly = co2.load_pandas().data["co2"].interpolate()
    values = weekly.to_numpy() - weekly.iloc[:52].mean()
    return torch.tensor(values / 10, dtype=torch.float32)[None, :, None]


def constructed() -> ProphecySSM:
    return ProphecySSM(channels=1, order=ORDER, window=WINDOW, dt=1.0, train="all")


def twin(seed: int) -> ProphecySSM:
    """The same layer with every parameter drawn at random, at the scale the construction has."""
    generator, layer = torch.Generator().manual_seed(seed), constructed()
    with torch.no_grad():
        for parameter in layer.parameters():
            scale = parameter.square().mean().sqrt()
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * scale)
    return layer


def train(layer: ProphecySSM, u: torch.Tensor) -> np.ndarray:
    """Root mean square error on the unseen part, in ppm, before and after each epoch."""
    cut = int(SPLIT * u.shape[1])
    optimiser = torch.optim.Adam(layer.parameters(), lr=3e-3)
    errors = []
    for epoch in range(EPOCHS + 1):
        y = layer(u)
        squares = (y[:, :-1] - u[:, 1:]).square()
        errors.append(10 * float(squares[:, cut:].detach().mean().sqrt()))
        if epoch < EPOCHS:
            optimiser.zero_grad()
            squares[:, 52:cut].mean().backward()
            optimiser.step()
    return np.array(errors)


def main(path: Path) -> dict[str, np.ndarray]:
    u = series()
    ours = train(constructed(), u)
    twins = np.stack([train(twin(seed), u) for seed in range(TWINS)])
    cut = int(SPLIT * u.shape[1])
    copy = 10 * float((u[:, cut + 1 :] - u[:, cut:-1]).square().mean().sqrt())
    with style.use():
        figure, (axis,) = style.figure(height=4.2)
        axis.plot(twins.T, color=style.COLOURS["copy"], linewidth=1.0, label=["random twins", *["_"] * (TWINS - 1)])
        axis.plot(ours, color=style.COLOURS["LegT"], linewidth=2.2, label="constructed, then trained")
        axis.axhline(copy, color=style.COLOURS["line"], linestyle=":", linewidth=1.2, label="last week's value")
        axis.set(yscale="log", xlabel="epochs of training", ylabel="RMS error on unseen weeks, ppm")
        axis.set_title("CO2 at Mauna Loa: the construction starts where training would take random weights")
        axis.legend(loc="upper right")
        figure.savefig(path)
    print(f"RMS error in ppm: constructed {ours[0]:.3f}, trained {ours[-1]:.3f}; ", end="")
    print(f"random {np.median(twins[:, 0]):.3f}, trained {np.median(twins[:, -1]):.3f}; last value {copy:.3f}")
    return {"constructed": ours, "random": twins, "copy": np.array(copy)}


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "training.png"))
