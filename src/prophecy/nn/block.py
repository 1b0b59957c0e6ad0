"""Layers around a memory: a gated block that mixes channels, and running in both directions of time."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from prophecy.nn.base import Counts
from prophecy.nn.padding import counted


class GatedBlock(nn.Module):
    r"""x + out(memory(value) · silu(gate)), with value and gate linear in the normalised x: (batch, time, width).

    memory: a layer of `inner` channels, such as a `ProphecySSM`, that takes (batch, time, inner) and returns the same.
    width: of the block's input and output. `step` and `scan` run the memory's own.

    >>> from prophecy.nn import ProphecySSM
    >>> block = GatedBlock(4, ProphecySSM(channels=8, order=16, window=400.0, dt=1.0, train="readout"))
    >>> block(torch.zeros(2, 50, 4)).shape
    torch.Size([2, 50, 4])
    """

    def __init__(self, width: int, memory: Any, *, dropout: float = 0.0) -> None:
        super().__init__()
        if not hasattr(memory, "channels") or not hasattr(memory, "C"):
            raise TypeError(
                f"memory must be a ProphecySSM, a DiagonalSSM or like them (channels, C, scan, step), got "
                f"{type(memory).__name__}; put a ContextSSM or a Bidirectional beside blocks, not into them"
            )
        if getattr(memory, "several", False):
            raise ValueError("memory must have one readout, got several (nn.horizons, say): the block gates one output")
        inner: int = memory.channels
        like = {"dtype": memory.C.real.dtype, "device": memory.C.device}
        self.norm = nn.LayerNorm(width, **like)
        self.enter = nn.Linear(width, 2 * inner, **like)
        self.memory = memory
        self.leave = nn.Linear(inner, width, **like)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, state: Tensor | None = None, **padding: Counts) -> Tensor:
        """Like x, (batch, time, width). state, padding: as in the memory's `forward` (lengths, mask, dt)."""
        return self._around(x, lambda value: (self.memory(value, state, **padding), None))[0]

    def scan(self, x: Tensor, state: Tensor | None = None, **padding: Counts) -> tuple[Tensor, Tensor]:
        """As `forward`, and the memory's state after the last value, (batch, channels, size)."""
        return self._around(x, lambda value: self.memory.scan(value, state, **padding))

    def step(self, x: Tensor, state: Tensor, **how: Any) -> tuple[Tensor, Tensor]:
        """One moment, x (batch, width)."""
        return self._around(x, lambda value: self.memory.step(value, state, **how))

    def initial_state(self, batch: int) -> Tensor:
        """The memory's initial state, (batch, channels, size)."""
        return self.memory.initial_state(batch)  # type: ignore[no-any-return]

    def _around(self, x: Tensor, run: Callable[[Tensor], tuple[Tensor, Any]]) -> tuple[Tensor, Any]:
        value, gate = self.enter(self.norm(x)).chunk(2, dim=-1)
        y, state = run(value)
        return x + self.dropout(self.leave(y * nn.functional.silu(gate))), state


class Bidirectional(nn.Module):
    """Two layers, one run backwards in time, with their outputs concatenated: (batch, time, 2 · channels).

    A padded row is reversed within its own length, so that padding stays at the end.
    """

    def __init__(self, forwards: nn.Module, backwards: nn.Module) -> None:
        super().__init__()
        self.forwards, self.backwards = forwards, backwards

    def forward(self, u: Tensor, *, lengths: Counts = None) -> Tensor:
        """(batch, time, 2 · channels) of u (batch, time, channels); lengths (batch,): valid samples of each row."""
        if lengths is None:
            back = self.backwards(u.flip(1)).flip(1)
            return torch.cat([self.forwards(u), back], dim=-1)
        lengths = torch.as_tensor(lengths, device=u.device)
        place = torch.arange(u.shape[1], device=u.device).expand(u.shape[:2])
        there = torch.where(counted(lengths, u.shape[1]), lengths[:, None] - 1 - place, place).unsqueeze(-1)
        back = self.backwards(u.gather(1, there.expand_as(u)), lengths=lengths)
        return torch.cat([self.forwards(u, lengths=lengths), back.gather(1, there.expand_as(back))], dim=-1)
