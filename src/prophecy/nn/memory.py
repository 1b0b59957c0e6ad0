r"""How a layer keeps its memory: fixed numbers, or parameters that stay stable whatever an optimiser does to them.

A dense memory over one step is the bilinear step of a generator, (I - τ G/2) x = (I + τ G/2) x + τ H u, with τ the step
in units of the window. Trained, the generator is kept as G = W - Wᵀ - E Eᵀ, the form every window has: a rotation W,
and losses through the edges E. It cannot gain energy, for any W, E and τ = exp(log τ) > 0, and neither can its step.

All of it is formed in float64, whatever the dtype of the parameters.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from prophecy.system import System

Array = NDArray[np.float64]

READOUT = ("C", "D")
MEMORY = ("rotation", "edges", "input")
PARTS = (*READOUT, *MEMORY, "window")
GROUPS = {"none": (), "readout": READOUT, "memory": MEMORY, "all": (*READOUT, *MEMORY)}


def trained(train: str | Iterable[str]) -> frozenset[str]:
    """Names of parts from names of parts and groups."""
    names = [train] if isinstance(train, str) else list(train)
    unknown = [name for name in names if name not in PARTS and name not in GROUPS]
    if unknown:
        known = ", ".join(map(repr, (*GROUPS, *PARTS)))
        raise ValueError(f"train must be one of, or several of, {known}; got {unknown[0]!r}")
    return frozenset(part for name in names for part in GROUPS.get(name, (name,)))


def generator(system: System) -> tuple[Array, Array]:
    """G (N, N) and H (N,) per step, such that the bilinear rule with τ = 1 gives the system's A and B back."""
    plus = np.eye(system.order) + system.A
    if np.linalg.cond(plus) > 1e12:
        raise ValueError("the memory turns half a circle in a step (A has an eigenvalue -1) and is no bilinear step")
    G: Array = 2 * np.linalg.solve(plus.T, (system.A - np.eye(system.order)).T).T.astype(np.float64)
    return G, system.B - G @ system.B / 2


def rotation_and_edges(G: Array) -> tuple[Array, Array]:
    """G = W - Wᵀ - E Eᵀ, W strictly lower triangular, E (N, rank): energy leaves only through the edges."""
    losses, directions = np.linalg.eigh(-(G + G.T) / 2)
    scale = np.abs(losses).max()
    if losses.min() < -1e-9 * scale:
        raise ValueError(
            f"this memory gains energy in these coordinates (A + Aᵀ has an eigenvalue {-2 * losses.min():.3g}), so a "
            "trained one could not stay stable; use an orthonormal scaling, as prophecy.legt and prophecy.fout have"
        )
    lossy = losses > 1e-9 * scale
    return np.tril(G - G.T, -1) / 2, directions[:, lossy] * np.sqrt(losses[lossy])


def assemble(rotation: Tensor, edges: Tensor) -> Tensor:
    """The generator (1 or channels, N, N) in float64."""
    lower = torch.tril(rotation.double(), -1)
    return lower - lower.mT - edges.double() @ edges.double().mT


def bilinear(G: Tensor, H: Tensor, tick: Tensor) -> tuple[Tensor, Tensor]:
    """A - I (…, N, N) and B (…, N) of a step of `tick` (…): A - I = τ (I - τG/2)⁻¹ G keeps the digits that A rounds."""
    half = G * (tick[..., None, None] / 2)
    eye = torch.eye(G.shape[-1], dtype=G.dtype, device=G.device)
    right = torch.cat([2 * half, (tick[..., None] * H).unsqueeze(-1)], dim=-1)
    solved = torch.linalg.solve(eye - half, right)
    return solved[..., :-1], solved[..., -1]


def unwind(less: Tensor, B: Tensor) -> tuple[Tensor, Tensor]:
    """`generator` in torch, from A - I (…, N, N) and B (…, N): for steps of other lengths than a fixed memory's."""
    eye = torch.eye(less.shape[-1], dtype=less.dtype, device=less.device)
    G = 2 * torch.linalg.solve((2 * eye + less).mT, less.mT).mT
    return G, B - (G @ B.unsqueeze(-1)).squeeze(-1) / 2
