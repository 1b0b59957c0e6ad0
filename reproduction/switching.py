"""Data with regime switches and outliers, and a constructed gate for them: what a gate has to do, without training.

The memory is LegT with the readout that is exact for polynomials (`prophecy.exact`). After each value the gate decides
by the in-context residual e = u - û, measured in running median residuals s:

    outlier   |e| > LIMIT s         the memory is given û instead of u
    switch    PATIENCE times in a row, with one sign: the memory forgets; its state becomes that of the last PATIENCE
              values, the first of them continued into the past, as if nothing had come before

Both are state resets and input gates of the kind Mamba and Griffin have; their thresholds are constructed, not learned.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prophecy import legt
from prophecy.constructions import exact
from prophecy.system import System

Array = NDArray[np.float64]

LENGTH, QUIET = 512, 64  # samples per sequence, and how many of them pass before a switch may come
SWITCHES = 1 / 150  # probability of a switch per sample
OUTLIER = 5.0  # standard deviation of what an outlier adds; the signal's is about 1.4
ORDER, WINDOW, DEGREE = 16, 24, 2
"""States, window in samples and degree of the memory, chosen on seeds the report does not use."""
LIMIT, PATIENCE = 5.0, 3
"""A residual is a jump beyond this many median residuals; so many in a row, of one sign, are a switch."""
START, ADAPT = 16, 0.05  # samples before the gate acts; step of the running median
RATES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2)  # shares of outliers at which models are scored
SINCE = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)  # samples since the last switch at which they are scored apart
SEED = 5_000  # of the sequences they are scored on; training and the constants above used others
NOISE = 0.05  # standard deviation of the noise on every sample


@dataclass(frozen=True)
class Sequences:
    clean: Array
    seen: Array
    since: NDArray[np.int64]


def sequences(count: int, rate: float | None, seed: int, length: int = LENGTH) -> Sequences:
    """Three sines and a level, drawn anew at every switch; a share `rate` (None: drawn, to 20 %) are outliers."""
    draw = np.random.default_rng((seed, 21))
    switch = draw.uniform(size=(count, length)) < SWITCHES
    switch[:, :QUIET] = False
    regime = np.cumsum(switch, axis=1)
    most = int(regime.max()) + 1
    period = np.exp(draw.uniform(math.log(50.0), math.log(400.0), (count, most, 3)))
    phase, size = draw.uniform(0.0, 2.0 * np.pi, (count, most, 3)), draw.normal(size=(count, most, 3)) / math.sqrt(3)
    level = draw.normal(size=(count, most))
    row, time = np.arange(count)[:, None], np.arange(length)
    angle = 2.0 * np.pi * time[None, :, None] / period[row, regime] + phase[row, regime]
    clean = level[row, regime] + (size[row, regime] * np.sin(angle)).sum(axis=-1)
    share = draw.uniform(0.0, 0.2, (count, 1)) if rate is None else np.full((count, 1), rate)
    hit = draw.uniform(size=(count, length)) < share
    seen = clean + draw.normal(0.0, NOISE, clean.shape) + hit * draw.normal(0.0, OUTLIER, clean.shape)
    begun = np.maximum.accumulate(np.where(switch, time, -1), axis=1)
    return Sequences(clean, seen, np.where(begun >= 0, time - begun, length))


def memory(order: int = ORDER, window: float = WINDOW, degree: int = DEGREE) -> System:
    """LegT over a short window with the readout that is exact for polynomials."""
    return exact(legt(order, float(window)), 1.0, degree)


def predict(u: Array, *, clip: bool = True, forget: bool = True, system: System | None = None) -> Array:
    """y[:, k] predicts u[:, k + 1] from what was seen up to k; with neither part of the gate, Eq. (5) itself."""
    system = memory() if system is None else system
    constant = _constant(system)
    count, length = u.shape
    x = u[:, :1] * constant
    last, scale = u[:, 0].copy(), np.zeros(count)
    streak, y = np.zeros(count, dtype=np.int64), np.empty_like(u)
    for k in range(length):
        value = u[:, k].copy()
        if k:
            error = value - last
            far = (np.abs(error) > LIMIT * scale) & (k >= START)
            side = np.sign(error).astype(np.int64)
            streak = np.where(far, np.where(side == np.sign(streak), streak + side, side), 0)
            value = np.where(far, last, value) if clip else value
            scale = _scale(scale, np.abs(error), k)
        x = x @ system.A.T + value[:, None] * system.B
        gone = np.abs(streak) >= PATIENCE
        if forget and gone.any():
            x[gone] = _restarted(u[gone, k - PATIENCE + 1 : k + 1], constant, system)
            value, streak = np.where(gone, u[:, k], value), np.where(gone, 0, streak)
        last = x @ system.C + system.D * value
        y[:, k] = last
    return y


def running_median(u: Array, samples: int = 5) -> Array:
    """y[:, k] is the median of the last `samples` values, the first of a sequence continued into the past."""
    padded = np.concatenate([np.repeat(u[:, :1], samples - 1, axis=1), u], axis=1)
    windows = np.lib.stride_tricks.sliding_window_view(padded, samples, axis=1)
    return np.asarray(np.median(windows, axis=-1), dtype=np.float64)


def _scale(scale: Array, size: Array, k: int) -> Array:
    """A running median of the residuals' sizes: up or down by a few per cent, whatever the size of the next one."""
    if k < START:
        return np.asarray(scale + (size - scale) / k, dtype=np.float64)
    return np.asarray(scale * np.where(size > scale, 1.0 + ADAPT, 1.0 - ADAPT), dtype=np.float64)


def _constant(system: System) -> Array:
    """The state that has always seen 1: (I - A)⁻¹ B."""
    return np.asarray(np.linalg.solve(np.eye(system.order) - system.A, system.B), dtype=np.float64)


def _restarted(recent: Array, constant: Array, system: System) -> Array:
    """The state of a memory that saw the first of these values for ever, then the rest."""
    x = recent[:, :1] * constant
    for value in recent[:, 1:].T:
        x = x @ system.A.T + value[:, None] * system.B
    return np.asarray(x, dtype=np.float64)


def mse(y: Array, data: Sequences, start: int = QUIET) -> float:
    """Mean squared error against the clean next value, targets that are themselves a switch left out."""
    error = (y[:, :-1] - data.clean[:, 1:])[:, start:] ** 2
    return float(error[(data.since[:, 1:] > 0)[:, start:]].mean())


def scores(
    predict: Callable[[Array], Array], count: int, rates: Sequence[float], since: Sequence[int], seed: int
) -> dict[str, Any]:
    """MSE against the clean next value by outlier rate, and by samples since the last switch for each rate."""
    made: dict[str, Any] = {"rates": list(rates), "mse": [], "since": list(since), "mse since": []}
    for rate in rates:
        data = sequences(count, rate, seed)
        said = predict(data.seen)
        error, age = (said[:, :-1] - data.clean[:, 1:]) ** 2, data.since[:, 1:]
        made["mse"].append(mse(said, data))
        ages = itertools.pairwise([*since, since[-1] + 16])
        some = [error[(age >= low) & (age < high)] for low, high in ages]
        made["mse since"].append([float(own.mean()) if own.size else None for own in some])
    return made
