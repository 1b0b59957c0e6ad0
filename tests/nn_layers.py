"""What the tests of layers share: makers of layers and data, and a layer run step by step."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from prophecy import fout, legt, next_value  # noqa: E402
from prophecy.constructions import exact  # noqa: E402
from prophecy.diagonal import s4d_inv, s4d_legs, s4d_lin  # noqa: E402
from prophecy.fading import foud, fourier_decay, lagt, legs_invariant  # noqa: E402
from prophecy.nn import DiagonalSSM, ProphecySSM, following, horizons, slope  # noqa: E402

TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-12}
LENGTHS = [1, 2, 31, 32, 33, 65, 1000]


def relative(a, b):
    return float(((a - b).norm() / b.norm()).detach())


def stepped(layer, u, state, **how):
    rows = []
    for k in range(u.shape[1]):
        y, state = layer.step(u[:, k], state, **how)
        rows.append(y)
    return torch.stack(rows, dim=1), state


def learning(layer):
    return [p for p in layer.parameters() if p.requires_grad]


def make(train=(), dtype=torch.float64, basis=legt, order=16, window=300.0, channels=3, **more):
    return ProphecySSM(channels, order, window, dt=1.0, basis=basis, train=train, dtype=dtype, **more)


def noise(*shape, dtype=torch.float64, seed=0):
    return torch.tensor(np.random.default_rng(seed).standard_normal(shape), dtype=dtype)


MEMORIES = {
    "LegT": lambda dtype: make("all", dtype, legt, 16),
    "LegT 65": lambda dtype: make((), dtype, legt, 65, window=9000.0),
    "FouT": lambda dtype: make("all", dtype, fout, 17),
    "LegS": lambda dtype: make("all", dtype, legs_invariant, 16),
    "LagT": lambda dtype: make("all", dtype, lagt, 16),
    "FouD": lambda dtype: make("memory", dtype, foud, 17),
    "Fourier, decaying": lambda dtype: make("memory", dtype, fourier_decay, 17),
    "windows of their own": lambda dtype: make("all", dtype, window=np.array([40.0, 500.0, 1e5]), order=6),
    "window trained": lambda dtype: make(("window", "C"), dtype, window=np.array([400.0, 500.0, 1e5])),
    "S4D-Lin": lambda dtype: DiagonalSSM(3, 16, (1e-3, 1e-1), s4d_lin, seed=0, dtype=dtype),
    "S4D-Inv": lambda dtype: DiagonalSSM(3, 16, 1e-2, s4d_inv, seed=0, dtype=dtype),
    "S4D-LegS": lambda dtype: DiagonalSSM(3, 16, (1e-3, 1e-1), s4d_legs, seed=0, dtype=dtype),
}
OUTPUTS = {
    "prediction": following,
    "exact": lambda basis, dt: exact(basis, dt, 3),
    "the paper's": next_value,
    "derivative": slope,
    "horizons": horizons(1, 4, 16, degree=2),
}
