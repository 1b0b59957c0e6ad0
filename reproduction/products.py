"""Fixed LegT memories, products of their states, and a readout solved in context: the work behind the page `layers`.

Each variable of a chaotic system has a LegT memory of its own; z holds all states and the newest sample. Features are
z or all products of up to `degree` entries of it; the readout that predicts the next change is the ridge solution
over the context. Predictions further ahead feed the memories with the model's own output.
"""

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prophecy import chaos, discretize, legt

Array = NDArray[np.float64]

SYSTEMS = ("Lorenz", "Rössler", "Thomas", "Halvorsen", "Chua", "food chain")
"""Those of `prophecy.chaos` that show three variables."""
CONTEXT, PER_TIME, HORIZON = 2048, 100, 500
"""Samples seen, samples per Lyapunov time, samples predicted: five Lyapunov times."""
FIRST, TRAJECTORIES = 10, 3
"""Seed of the first trajectory and how many of each system; the sizes below were chosen on seeds 0 and 1."""
MEMORIES = ((1, 2.0), (2, 4.0), (3, 6.0))  # states per variable and window in samples
RIDGE = 1e-8  # relative to the features' mean squares: what the closed loop needs; one step alone would like 1e-12
LOST = 0.5  # a forecast is lost when its root mean squared error over variables passes this many standard deviations
LARGEST = 10.0  # values beyond this many standard deviations end a forecast: it is lost


@dataclass(frozen=True, eq=False)
class Case:
    """One trajectory, (time, variables), in standard deviations of its context about its mean."""

    system: str
    seed: int
    context: Array
    future: Array


def case(name: str, seed: int) -> Case:
    system = next(s for s in chaos.SYSTEMS if s.name == name)
    series = system.sample(CONTEXT + HORIZON, PER_TIME, seed=seed)
    seen = series[:CONTEXT]
    scaled = (series - seen.mean(axis=0)) / seen.std(axis=0)
    return Case(name, seed, scaled[:CONTEXT], scaled[CONTEXT:])


class Memories:
    """LegT of `order` states over `window` samples for each variable; (…, variables) in, z (…, size) out."""

    def __init__(self, order: int, window: float) -> None:
        basis = legt(order, window)
        self.A, self.B, _ = discretize.bilinear(basis.A, basis.B, 1.0)
        self.order, self.window = order, window

    def settled(self, u: Array) -> Array:
        """States, (…, order, variables), that have seen u for ever."""
        still = np.linalg.solve(np.eye(self.order) - self.A, self.B)
        return np.asarray(still[:, None] * u[..., None, :], dtype=np.float64)

    def step(self, x: Array, u: Array) -> Array:
        return np.asarray(self.A @ x + self.B[:, None] * u[..., None, :], dtype=np.float64)

    def read(self, x: Array, u: Array) -> Array:
        return np.concatenate([x.reshape(*x.shape[:-2], -1), u], axis=-1)

    def over(self, u: Array) -> Array:
        x, found = self.settled(u[0]), []
        for value in u:
            x = self.step(x, value)
            found.append(self.read(x, value))
        return np.array(found)

    def last(self, u: Array) -> Array:
        x = self.settled(u[0])
        for value in u:
            x = self.step(x, value)
        return x

    @property
    def start(self) -> int:
        """Samples after which the window is full twice over."""
        return math.ceil(2 * self.window)

    def rows(self, u: Array) -> tuple[Array, Array]:
        """z and the changes that follow, once the window is full."""
        z = self.over(u)[self.start : -1]
        return z, np.diff(u, axis=0)[self.start :]


def features(z: Array, degree: int) -> Array:
    """1, and all products of one to `degree` entries of z: (…, count).

    >>> features(np.array([2.0, 3.0]), 2)
    array([1., 2., 3., 4., 6., 9.])
    """
    made = [np.ones((*z.shape[:-1], 1)), z]
    for size in range(2, degree + 1):
        chosen = _choices(z.shape[-1], size)
        product = z[..., chosen[0]]
        for index in chosen[1:]:
            product = product * z[..., index]
        made.append(product)
    return np.concatenate(made, axis=-1)


@functools.cache
def _choices(entries: int, size: int) -> tuple[NDArray[np.intp], ...]:
    """Indices of all products of `size` entries, one array per factor."""
    found = np.array(list(itertools.combinations_with_replacement(range(entries), size)), dtype=np.intp)
    return tuple(found.T)


def solve(z: Array, changes: Array, degree: int) -> Array:
    """The ridge readout, (features, variables), by QR of the scaled features."""
    rows = features(z, degree)
    size = np.sqrt(np.mean(rows**2, axis=0))
    count = rows.shape[1]
    stacked = np.concatenate([rows / size, math.sqrt(RIDGE * len(rows)) * np.eye(count)])
    targets = np.concatenate([changes, np.zeros((count, changes.shape[1]))])
    return np.asarray(np.linalg.lstsq(stacked, targets, rcond=None)[0] / size[:, None], dtype=np.float64)


def scores(cases: Sequence[Case], memories: Memories, change: Callable[[Array], Array]) -> list[dict[str, Any]]:
    """One-step MSE and valid prediction time of all cases side by side.

    `change` maps z, (cases, rows, size), to the predicted changes, (cases, rows, variables); case i uses model i.
    """
    whole = np.stack([np.concatenate([c.context, c.future]) for c in cases])
    z = np.stack([memories.over(u)[CONTEXT - 1 : -1] for u in whole])
    said = whole[:, CONTEXT - 1 : -1] + change(z)
    one = np.mean((said - whole[:, CONTEXT:]) ** 2, axis=(1, 2))
    x, u = np.stack([memories.last(c.context) for c in cases]), whole[:, CONTEXT - 1]
    path = np.empty_like(said)
    for k in range(HORIZON):
        u = np.clip(np.nan_to_num(u + change(memories.read(x, u)[:, None])[:, 0], nan=LARGEST), -LARGEST, LARGEST)
        x = memories.step(x, u)
        path[:, k] = u
    error = np.sqrt(np.mean((path - whole[:, CONTEXT:]) ** 2, axis=2))
    lost = np.where((error > LOST).any(axis=1), (error > LOST).argmax(axis=1), HORIZON) / PER_TIME
    return [{"mse": float(m), "vpt": float(v)} for m, v in zip(one, lost, strict=True)]
