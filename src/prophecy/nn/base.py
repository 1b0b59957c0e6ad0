"""What all layers share: whole sequences in blocks, single steps, states, padding, dtypes, files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from prophecy import _checks
from prophecy.engines import torch_lifted
from prophecy.nn.padding import packed, unpacked


class Layer(nn.Module):
    """One state-space model per channel over (batch, time, channels).

    A subclass gives five methods, its memory (`memory`, `_lifted`, `_states`, `_step`) and its outputs (`_read`); this
    class runs them. Memories are formed in float64 and states kept in float32 or float64: `.to(torch.bfloat16)`,
    `.half()` and autocast change what goes in and out, not the recurrence. Integers are promoted. What
    `get_extra_state` names travels in the `state_dict` and is compared when one is loaded.
    """

    C: Tensor
    D: Tensor
    channels: int
    order: int  # states of a channel
    block: int  # samples of a block; a NaN at sample k reaches back to block · ⌊k/block⌋ and no further
    several: bool  # whether outputs have an axis of readouts
    dt: Any
    window: Any
    name: str
    trained: frozenset[str]
    exact: tuple[str, ...] = ()  # buffers that stay float64

    # --- what a subclass gives ---

    def memory(self, scale: Tensor | float | None = None) -> tuple[Tensor, Tensor]:
        raise NotImplementedError

    def _lifted(self) -> tuple[torch_lifted.Blocks, Tensor, Tensor]:
        """The block matrices, A - I and B, real, in float64."""
        raise NotImplementedError

    def _states(self, now: Tensor, x: Tensor, scale: Tensor | None) -> Tensor:
        """(batch, channels, time, N) of now (batch, time, channels) from x (batch, channels, N); scale as `_spans`."""
        raise NotImplementedError

    def _step(self, now: Tensor, x: Tensor, scale: Tensor | None, memory: Any) -> Tensor:
        """The next state."""
        raise NotImplementedError

    def _read(self, x: Tensor, u: Tensor) -> Tensor:
        """Outputs (..., channels, readouts) of states (..., channels, N) that have seen u (..., channels)."""
        raise NotImplementedError

    def _put(self, name: str, value: Any, learn: bool, kind: dict[str, Any]) -> None:
        tensor = torch.tensor(np.asarray(value), **kind)
        if learn:
            self.register_parameter(name, nn.Parameter(tensor))
        else:
            self.register_buffer(name, tensor)

    # --- running it ---

    def initial_state(self, batch: int) -> Tensor:
        """A past in which nothing happened: zeros (batch, channels, N)."""
        shape = (_checks.whole("batch", batch, least=0), self.channels, self.order)
        return torch.zeros(shape, dtype=self._work(), device=self.C.device)

    def forward(
        self,
        u: Tensor,
        state: Tensor | None = None,
        *,
        lengths: Tensor | None = None,
        mask: Tensor | None = None,
        dt: Tensor | None = None,
    ) -> Tensor:
        """Outputs (batch, time, channels), or (..., readouts) where there are several, in the dtype of u.

        lengths: (batch,), how many samples of each row count. mask: (batch, time), True where a sample does; the others
        are skipped, as if they had never been, and their dt with them. Outputs are 0 where no sample counts.
        dt: the time since the value before, as in `step`, for values at uneven times: (time,), (batch, time) or (batch,
        time, channels). Every step then has a memory of its own, N² numbers a value where it is dense.
        """
        return self._run(u, state, lengths, mask, dt, final=False)[0]

    def scan(
        self,
        u: Tensor,
        state: Tensor | None = None,
        *,
        lengths: Tensor | None = None,
        mask: Tensor | None = None,
        dt: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """As `forward`, and the state after the last value that counts, (batch, channels, N), to go on from."""
        y, final = self._run(u, state, lengths, mask, dt, final=True)
        assert final is not None, "asked for"
        return y, final

    def states(self, u: Tensor, state: Tensor | None = None, *, dt: Tensor | None = None) -> Tensor:
        """The state after every value, (batch, time, channels, N), differentiable; memory beyond it stays like it."""
        now = self._sequence(u)
        with torch.autocast(u.device.type, enabled=False):
            scale = None if dt is None else self._spans(dt, *u.shape[:2])
            made = self._states(now, self._state(state, u.shape[0]), scale)
        return made.transpose(1, 2).to(self._out(u))

    def step(
        self, u: Tensor, state: Tensor, dt: Tensor | float | None = None, *, memory: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, Tensor]:
        """One moment: u (batch, channels) and a state give the output (batch, channels[, readouts]) and the next state.

        dt: the time since the value before, where it is not the layer's: in the unit of its dt, or, where a
        `DiagonalSSM` has a range of them, in steps of each channel; a number, (batch,) or (batch, channels). The
        readout stays the one made for the layer's own step.
        memory: what `memory()` or `memory(scale)` gave, so that a trained one is not formed again at every step.
        """
        check_tensor(u)
        if u.ndim != 2 or u.shape[1] != self.channels:
            raise ValueError(f"u must have shape (batch, channels={self.channels}), got {tuple(u.shape)}")
        if dt is not None and memory is not None:
            raise ValueError("give dt or memory, not both: memory(scale) forms one for steps of their own")
        if memory is not None:
            self._fits(memory, u.shape[0])
        now, x = self._cast(u), self._state(state, u.shape[0])
        with torch.autocast(u.device.type, enabled=False):
            x = self._step(now, x, None if dt is None else self._scale(dt, u.shape[0]), memory)
            y = self._read(x, now)
        return (y if self.several else y.squeeze(-1)).to(self._out(u)), x

    def read(self, x: Tensor, u: Tensor) -> Tensor:
        """Outputs (..., channels[, readouts]) of states (..., channels, N) that have seen u (..., channels)."""
        y = self._read(x, u)
        return y if self.several else y.squeeze(-1)

    def _run(
        self,
        u: Tensor,
        state: Tensor | None,
        lengths: Tensor | None,
        mask: Tensor | None,
        dt: Tensor | None,
        final: bool,
    ) -> tuple[Tensor, Tensor | None]:
        now, lengths, where = packed(self._sequence(u), lengths, mask)
        if dt is not None:
            return self._uneven(u, now, self._state(state, u.shape[0]), lengths, where, self._spans(dt, *u.shape[:2]))
        with torch.autocast(u.device.type, enabled=False):
            blocks, less, B = self._lifted()
            rows = now.permute(2, 0, 1)
            y, before = torch_lifted.run(blocks.to(now.dtype), rows, self._state(state, u.shape[0]).transpose(0, 1))
            end = None
            if final:
                less, B = less.to(now.dtype), B.to(now.dtype)
                end = torch_lifted.finish(less, B, rows, before, self.block, lengths).transpose(0, 1)
            out = unpacked(y.permute(1, 2, 0, 3), lengths, where)
        return (out if self.several else out.squeeze(-1)).to(self._out(u)), end

    def _uneven(
        self, u: Tensor, now: Tensor, x: Tensor, lengths: Tensor | None, where: Tensor | None, scale: Tensor
    ) -> tuple[Tensor, Tensor]:
        """`_run` with steps of their own: all states by a scan over memories that change, then the readout."""
        if where is not None:
            scale = scale.gather(1, where[..., None].expand_as(scale))
        with torch.autocast(u.device.type, enabled=False):
            states = torch.cat([x.unsqueeze(2), self._states(now, x, scale)], dim=2)
            out = unpacked(self._read(states[:, :, 1:].transpose(1, 2), now), lengths, where)
            last = torch.full(u.shape[:1], u.shape[1], device=u.device) if lengths is None else lengths
            end = states.gather(2, last[:, None, None, None].expand(-1, *states.shape[1:2], 1, states.shape[3]))
        return (out if self.several else out.squeeze(-1)).to(self._out(u)), end.squeeze(2)

    # --- arguments ---

    def _sequence(self, u: Tensor) -> Tensor:
        check_tensor(u)
        if u.ndim != 3 or u.shape[2] != self.channels:
            raise ValueError(f"u must have shape (batch, time, channels={self.channels}), got {tuple(u.shape)}")
        return self._cast(u)

    def _work(self) -> torch.dtype:
        return torch.float64 if self.C.dtype == torch.float64 else torch.float32

    def _out(self, u: Tensor) -> torch.dtype:
        return u.dtype if u.is_floating_point() else self._work()

    def _cast(self, u: Tensor) -> Tensor:
        if u.is_complex():
            raise TypeError(f"u must be real, got {u.dtype}; give real and imaginary parts channels of their own")
        if u.dtype == torch.float64 and self._work() != torch.float64:
            raise TypeError(f"u is float64 but the layer is {self.C.dtype}; use u.float() or layer.double()")
        return u.to(self._work())

    def _state(self, state: Tensor | None, batch: int) -> Tensor:
        expected = (batch, self.channels, self.order)
        if state is None:
            return torch.zeros(expected, dtype=self._work(), device=self.C.device)
        if tuple(state.shape) != expected:
            raise ValueError(f"state must have shape (batch, channels, order) = {expected}, got {tuple(state.shape)}")
        return state.to(self._work())

    def _relative(self, dt: Tensor | float) -> Tensor:
        """Steps in units of the layer's own, which must be positive."""
        own = self.dt if isinstance(self.dt, float) else 1.0
        given = torch.as_tensor(dt, dtype=torch.float64, device=self.C.device) / own
        if not torch.compiler.is_compiling() and not bool(((given > 0) & given.isfinite()).all()):
            raise ValueError(f"dt must be positive and finite, got {dt}: the time since the value before")
        return given

    def _spans(self, dt: Tensor, batch: int, time: int) -> Tensor:
        """Steps of a whole sequence in units of the layer's own: (batch, time, 1) or (batch, time, channels)."""
        given = self._relative(dt)
        known = {(time,): (1, time, 1), (batch, time): (batch, time, 1)}
        shape = known.get(tuple(given.shape), tuple(given.shape))
        if len(shape) != 3 or shape[:2] not in {(1, time), (batch, time)} or shape[2] not in {1, self.channels}:
            raise ValueError(
                f"dt must be (time,), (batch, time) or (batch, time, channels) = {(batch, time, self.channels)}, got "
                f"{tuple(given.shape)}"
            )
        return given.reshape(shape).expand(batch, time, shape[2])

    def _scale(self, dt: Tensor | float, batch: int) -> Tensor:
        """Steps in units of the layer's own: (batch, 1) or (batch, channels)."""
        given = self._relative(dt)
        given = given[:, None] if given.ndim == 1 else given
        if given.ndim and tuple(given.shape) not in {(batch, 1), (batch, self.channels)}:
            raise ValueError(
                f"dt must be a number, (batch,) or (batch, channels) = {(batch, self.channels)}, got "
                f"{tuple(torch.as_tensor(dt).shape)}"
            )
        return given.expand(batch, 1) if given.ndim == 0 else given

    def _fits(self, memory: tuple[Tensor, Tensor], batch: int) -> None:
        leading = tuple(memory[1].shape[:-1])
        if leading not in {(1,), (self.channels,), (batch, 1), (batch, self.channels)}:
            raise ValueError(
                f"memory must be for {self.channels} channels, and for {batch} rows where its steps are their own; got "
                f"one of shape {tuple(memory[1].shape)}; form it by memory(scale), scale a number or "
                f"{(batch, self.channels)}"
            )

    def _steps(self, scale: Tensor | float) -> Tensor:
        """The scale of `memory`: a number, or two axes, so that (batch,) is not taken for channels."""
        given = torch.as_tensor(scale, dtype=torch.float64, device=self.C.device)
        if given.ndim not in (0, 2) or (given.ndim == 2 and given.shape[1] not in (1, self.channels)):
            raise ValueError(
                f"scale must be a number, (batch, 1) or (batch, channels={self.channels}), got {tuple(given.shape)}"
            )
        return given

    # --- repr, dtypes, files ---

    def extra_repr(self) -> str:
        window = f"{self.window:g}" if isinstance(self.window, float) else f"{min(self.window):g}…{max(self.window):g}"
        dt = f"{self.dt:g}" if isinstance(self.dt, float) else f"{self.dt[0]:g}…{self.dt[1]:g}"
        train = ", ".join(sorted(self.trained)) or "nothing"
        return f"channels={self.channels}, order={self.order}, window={window}, dt={dt}, {self.name}, trains {train}"

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Layer:
        """Half precision stops here: parameters stay float32 or wider, the memory's buffers float64."""
        exact = [self._buffers[name] for name in self.exact if name in self._buffers]

        def kept(tensor: Tensor) -> Tensor:
            made = fn(tensor)
            if not tensor.is_floating_point():
                return made
            if any(tensor is own for own in exact):
                return made if made.dtype == torch.float64 else tensor.to(made.device)
            return made if made.dtype in (torch.float32, torch.float64) else tensor.to(made.device, torch.float32)

        super()._apply(kept, recurse)  # type: ignore[no-untyped-call]
        return self

    def get_extra_state(self) -> dict[str, Any]:
        return {"window": self.window, "dt": self.dt, "memory": self.name}

    def set_extra_state(self, state: dict[str, Any]) -> None:
        check_extra("layer", self.get_extra_state(), state)

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any) -> None:
        check_before_loading(self, state_dict, prefix)
        super()._load_from_state_dict(state_dict, prefix, *args)


def check_tensor(u: object) -> None:
    if not isinstance(u, Tensor):
        raise TypeError(f"u must be a torch.Tensor, got {type(u).__name__}; use torch.as_tensor(u)")


def check_before_loading(module: nn.Module, state_dict: dict[str, Any], prefix: str) -> None:
    """`set_extra_state` comes after the tensors were copied: ask it first, so that a refused load changes nothing."""
    extra = state_dict.get(prefix + "_extra_state")
    if extra is not None:
        module.set_extra_state(extra)


def check_extra(what: str, own: dict[str, Any], state: dict[str, Any]) -> None:
    for name, mine in own.items():
        if state.get(name) != mine:
            raise ValueError(
                f"the checkpoint is of a {what} with {name} = {state.get(name)}, this one has {mine}; make the "
                f"{what} with {name} = {state.get(name)}" + (", or load C and D alone" if what == "layer" else "")
            )


def parameter_dtype(dtype: torch.dtype | None) -> torch.dtype:
    """Parameters of a layer made in half precision are float32."""
    chosen = dtype or torch.get_default_dtype()
    return chosen if chosen in (torch.float32, torch.float64) else torch.float32
