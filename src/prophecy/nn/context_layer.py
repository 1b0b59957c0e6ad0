"""A HiPPO memory whose readout is solved in context."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from prophecy import _checks
from prophecy.engines.torch_scan import check_tensors
from prophecy.nn.base import Layer
from prophecy.nn.context import ContextState, Solver


class ContextSSMState(NamedTuple):
    """The memory's state (batch, channels, size) and the solver's."""

    memory: Tensor
    solver: ContextState


class ContextSSM(nn.Module):
    r"""y[:, k] predicts u[:, k + horizon], read from a memory's state by weights solved from u[:, : k + 1] itself.

    memory: a `ProphecySSM` or `DiagonalSSM`. Each channel is solved for on its own, from the features [x, u, 1].
    solver: `GradientStep`, `Delta`, `RLS` or `Ridge`; its horizon is the layer's.
    base: what the solved readout is added to: "none"; "copy", the newest value, so that nothing learnt means copying;
        "construction", the memory's own output, which it then corrects (a prediction of the same horizon).

    >>> from prophecy.nn import ProphecySSM, RLS
    >>> layer = ContextSSM(ProphecySSM(1, 8, 60.0, 1.0, dtype=torch.float64), RLS(0.95, 1e-6))
    >>> u = torch.sin(torch.arange(400.0, dtype=torch.float64) / 7)[None, :, None]
    >>> bool((layer(u)[:, 200:-1] - u[:, 201:]).abs().max() < 1e-4)
    True
    """

    BASES = ("none", "copy", "construction")

    def __init__(self, memory: Layer, solver: Solver, *, base: str = "copy") -> None:
        super().__init__()
        _checks.choice("base", base, self.BASES)
        for name, given, kind in (("memory", memory, Layer), ("solver", solver, Solver)):
            if not isinstance(given, kind):
                example = "ProphecySSM(…)" if kind is Layer else "RLS()"
                raise TypeError(f"{name} must be a {kind.__name__}, such as {example}, got {given!r}")
        if memory.several and base == "construction":
            raise ValueError("base='construction' needs a memory with one readout, the prediction that is corrected")
        self.memory, self.solver, self.base = memory, solver, base

    def initial_state(self, batch: int) -> ContextSSMState:
        memory = self.memory
        solver = self.solver.initial_state(batch * memory.channels, memory.order + 2, 1, memory.C)
        return ContextSSMState(memory.initial_state(batch), solver)

    def forward(self, u: Tensor) -> Tensor:
        """Predictions like u (batch, time, channels), in its dtype; integers are promoted to the memory's."""
        return self.scan(u)[0]

    def scan(self, u: Tensor, state: ContextSSMState | None = None) -> tuple[Tensor, ContextSSMState]:
        """Predictions like u (batch, time, channels), and the state after the last value."""
        check_tensors(u=u)
        out, u = self.memory._out(u), self.memory._cast(u)  # states and features in the memory's own precision
        state = self.initial_state(len(u)) if state is None else state
        trace = self.memory._trace(u, state.memory)  # (batch, time, channels, size)
        end, time = trace[:, -1] if u.shape[1] else state.memory, u.shape[1]
        now = u.unsqueeze(-1)
        features = torch.cat([trace[..., : self.memory.order], now, torch.ones_like(now)], dim=-1)
        # A pair's value is what the base of `horizon` steps before missed; the earliest of them are read from the
        # features still waiting.
        waiting = torch.unflatten(state.solver.waiting, 0, (len(u), self.memory.channels)).transpose(1, 2)
        base = self._base(torch.cat([waiting.to(features.dtype), features], dim=1))
        values = (u - base[:, :time]).transpose(1, 2).flatten(0, 1).unsqueeze(-1)
        y, solver = self.solver(features.transpose(1, 2).flatten(0, 1), values, state.solver)
        y = torch.unflatten(y.squeeze(-1), 0, (len(u), self.memory.channels)).transpose(1, 2)
        return (base[:, base.shape[1] - time :] + y).to(out), ContextSSMState(end, solver)

    def step(self, u: Tensor, state: ContextSSMState) -> tuple[Tensor, ContextSSMState]:
        """One moment, u (batch, channels)."""
        y, state = self.scan(u.unsqueeze(1), state)
        return y[:, 0], state

    def _base(self, features: Tensor) -> Tensor:
        """(batch, time, channels) of features (batch, time, channels, F)."""
        x, u = features[..., : self.memory.order], features[..., self.memory.order]
        if self.base == "construction":
            return self.memory.read(x, u)
        return u if self.base == "copy" else torch.zeros_like(u)
