r"""How a layer keeps its memory: numbers that stay stable whatever an optimiser does to them, and a rule for its steps.

The memory is a generator in units of its window, s' = G s + H u, kept as G = W - Wᵀ - E Eᵀ, the form every window has:
a rotation W, and losses through the edges E. It cannot gain energy, for any W, E and step τ = exp(log τ) > 0 of it, and
neither can a step by exp(τ G), (I - τ G/2)⁻¹ (I + τ G/2) or (I - τ G)⁻¹. (A memory that does gain energy in its
coordinates, such as the LMU's, has `gains` F as well, G = … + F Fᵀ, and is not trained.)

All of it is formed in float64, which these parameters have in every layer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from prophecy import discretize
from prophecy._arrays import Array
from prophecy.bases import Basis
from prophecy.engines.torch_scan import transformed
from prophecy.system import System

RULES = {rule.__name__: rule for rule in (
    discretize.lines, discretize.foh, discretize.zoh, discretize.bilinear, discretize.backward, discretize.euler,
)}  # fmt: skip
SQUARINGS = 16  # of the exponential where its size is not looked at: enough for norms up to 2¹³


class Form(NamedTuple):
    """G = rotation - rotationᵀ - edges edgesᵀ + gains gainsᵀ, (N, N) and twice (N, rank), and its input H (N,)."""

    rotation: Array
    edges: Array
    gains: Array
    input: Array

    @classmethod
    def of(cls, G: Array, H: Array) -> Form:
        losses, directions = np.linalg.eigh(-(G + G.T) / 2)
        noise = 1e-13 * np.abs(losses).max()
        lossy, gaining = losses > noise, losses < -noise
        edges, gains = (directions[:, some] * np.sqrt(np.abs(losses[some])) for some in (lossy, gaining))
        return cls(np.tril(G - G.T, -1) / 2, edges, gains, H)


def rule_of(bases: Sequence[Basis], systems: Sequence[System]) -> str:
    """The rule of `discretize` by which A and B of all systems follow from their bases."""
    for name, rule in RULES.items():
        with np.errstate(all="ignore"):  # of rules that cannot take so fast a memory, and are not this one
            pairs = [rule(basis.A, basis.B, system.dt) for basis, system in zip(bases, systems, strict=True)]
        if all(
            _same(pair.A, system.A) and _same(pair.B, system.B) for pair, system in zip(pairs, systems, strict=True)
        ):
            return name
    raise ValueError(
        f"construct must discretise the basis by one rule of prophecy.discretize ({', '.join(RULES)}), and A and B of "
        f"its {systems[0]} follow from none; for other matrices use prophecy.nn.scan"
    )


def _same(made: Array, given: Array) -> bool:
    return made.shape == given.shape and bool(np.abs(made - given).max() <= 1e-12 * np.abs(given).max())


def readout(rule: str, basis: Basis, system: System) -> tuple[Array, float]:
    """C (N,) and D of the state that a layer keeps under this rule, which for lines stands at the newest sample."""
    C, D, N = system.C, system.D, basis.order
    if rule == "foh":
        D = D - float(C @ discretize.foh(basis.A, basis.B, system.dt).shift)
    return C[:N], D + float(C[N:].sum())


def discretised(rule: str, G: Tensor, H: Tensor, tick: Tensor) -> tuple[Tensor, Tensor]:
    """A - I (…, N, N) and B (…, N) of a step of `tick` (…); A - I keeps the digits that A rounds.

    `lines` looks back to the value before, which is its state number N: [s, u] = A [s, u] + B u[k], one larger.
    """
    M, h = G * tick[..., None, None], (H * tick[..., None]).unsqueeze(-1)
    N = M.shape[-1]
    eye = torch.eye(N, dtype=G.dtype, device=G.device)
    if rule == "euler":
        return M, h.squeeze(-1)
    if rule in ("bilinear", "backward"):
        left, right = eye - (M / 2 if rule == "bilinear" else M), torch.cat([M.expand(*h.shape[:-1], N), h], dim=-1)
        # Without asking the device how it went, which would stop it: what is solved here is not singular.
        solved = torch.linalg.solve_ex(left, right.expand(*left.shape[:-1], N + 1)).result
        return solved[..., :-1], solved[..., -1]
    columns = torch.cat([M.expand(*h.shape[:-1], N), h, torch.zeros_like(h)], dim=-1)
    ramp = torch.zeros(*columns.shape[:-2], 2, N + 2, dtype=G.dtype, device=G.device)
    ramp[..., 0, N + 1] = 1.0
    grown = expm1(torch.cat([columns, ramp], dim=-2))
    less, held, end = grown[..., :N, :N], grown[..., :N, N], grown[..., :N, N + 1]
    if rule == "zoh":
        return less, held
    last = torch.zeros_like(grown[..., :1, : N + 1])
    last[..., 0, N] = -1.0
    wide = torch.cat([torch.cat([less, (held - end).unsqueeze(-1)], dim=-1), last], dim=-2)
    return wide, torch.cat([end, torch.ones_like(end[..., :1])], dim=-1)


def expm1(M: Tensor) -> Tensor:
    """exp(M) - I, by products alone (a captured CUDA graph has no solver): eight terms of a 2⁻ᵏ of it, squared k times.

    exp(2X) - I = 2E + E² with E = exp(X) - I, which keeps the digits that I + E rounds.
    """
    times = SQUARINGS
    if M.device.type == "cpu" and not torch.compiler.is_compiling() and not transformed() and M.numel():
        size = float(M.detach().abs().sum(-2).max())
        times = int(np.clip(np.ceil(np.log2(size)) + 5, 0, 60)) if 0 < size < np.inf else 0
    X = M * 2.0**-times
    grown = X / 8
    for term in range(7, 0, -1):
        grown = (X + X @ grown) / term
    for _ in range(times):
        grown = 2 * grown + grown @ grown
    return grown
