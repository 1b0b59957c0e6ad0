"""What all layers share: whole sequences in blocks, single steps, states, padding, what is trained, dtypes, files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn

from prophecy import _checks
from prophecy.engines import torch_lifted
from prophecy.engines.torch_scan import check_tensors
from prophecy.nn.padding import packed, unpacked

Counts: TypeAlias = Tensor | Sequence[Any] | None
Steps: TypeAlias = Counts | float


class Lifted(NamedTuple):
    """Block matrices, and A - I of the recurrence they carry, all real; `line`: how it differs from the state.

    line: None where the state [x] is what is carried. Where a memory looks back to the value before, the state is
    [s, u] and v = A s + start u is carried: line = (start, end), s = v + end u[k].
    """

    blocks: torch_lifted.Blocks
    less: Tensor
    line: tuple[Tensor, Tensor] | None = None

    def to(self, dtype: torch.dtype) -> Lifted:
        line = None if self.line is None else (self.line[0].to(dtype), self.line[1].to(dtype))
        return Lifted(self.blocks.to(dtype), self.less.to(dtype), line)

    def run(self, rows: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        """Outputs (channels, series, time, R) of rows (channels, series, time) from x, and what `end` asks for."""
        start = x
        if self.line is not None:
            start = torch_lifted.advance(self.less, self.line[0], x[..., :-1], x[..., -1])
        return torch_lifted.run(self.blocks, rows, start)

    def end(self, rows: Tensor, x: Tensor, before: Tensor, seen: Tensor | None) -> Tensor:
        """The state (channels, series, size) after all samples, or after the first `seen` (series,) of each series."""
        if self.line is None or rows.shape[2] == 0:
            return x if rows.shape[2] == 0 else torch_lifted.finish(self.blocks, self.less, rows, before, seen)
        seen = torch.full(rows.shape[1:2], rows.shape[2], device=rows.device) if seen is None else seen
        earlier = (seen - 1).clamp_min(0)
        v = torch_lifted.finish(self.blocks, self.less, rows, before, earlier)
        last = rows.gather(2, earlier[None, :, None].expand(len(rows), -1, 1))
        made = torch.cat([v + last * self.line[1].unsqueeze(-2), last], dim=-1)
        return torch.where((seen > 0)[:, None], made, x)


class Compared(nn.Module):
    """What `get_extra_state` names travels in the `state_dict` and is compared before one is loaded.

    PyTorch's own `set_extra_state` comes after the tensors were copied; here a refused load changes nothing.
    """

    def set_extra_state(self, state: dict[str, Any]) -> None:
        for name, mine in self.get_extra_state().items():
            if state.get(name) != mine:
                raise ValueError(
                    f"the checkpoint is of a {type(self).__name__} with {name} = {state.get(name)}, this one has "
                    f"{mine}; make it with {name} = {state.get(name)}, or load single tensors"
                )

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any) -> None:
        if (extra := state_dict.get(prefix + "_extra_state")) is not None:
            self.set_extra_state(extra)
        super()._load_from_state_dict(state_dict, prefix, *args)


class Layer(Compared):
    """One state-space model per channel over (batch, time, channels).

    A subclass gives five methods, its memory (`memory`, `_lifted`, `_states`, `_step`) and its outputs (`_read`); this
    class runs them. Memories are formed in float64 and states kept in float32 or float64: `.to(torch.bfloat16)`,
    `.half()` and autocast change inputs and outputs, not the recurrence. Integers are promoted. The `state_dict` does
    not depend on what is trained: every part is a parameter, and `freeze` and `unfreeze` choose what is trained.
    """

    PARTS: ClassVar[dict[str, tuple[str, ...]]]  # the parameters of each part that can be trained
    GROUPS: ClassVar[dict[str, tuple[str, ...]]]  # names for several parts
    C: Tensor
    D: Tensor
    channels: int
    order: int  # states of a channel's memory
    size: int  # numbers of its state: the order, and one more where it looks back to the value before
    block: int  # samples of a block; a NaN at sample k reaches back to block · ⌊k/block⌋ and no further
    several: bool  # whether outputs have an axis of readouts
    dt: Any
    window: Any
    name: str
    exact: tuple[str, ...] = ()  # parameters and buffers that stay float64
    _kept: tuple[Tensor, Tensor] | None = None

    # --- what a subclass gives ---

    def memory(self, scale: Tensor | float | None = None) -> tuple[Tensor, Tensor]:
        raise NotImplementedError

    def _lifted(self) -> Lifted:
        """In float64."""
        raise NotImplementedError

    def _states(self, now: Tensor, x: Tensor, scale: Tensor | None) -> Tensor:
        """(batch, channels, time, size) of now (batch, time, channels) from x (batch, channels, size)."""
        raise NotImplementedError

    def _step(self, now: Tensor, x: Tensor, scale: Tensor | None) -> Tensor:
        """The next state."""
        raise NotImplementedError

    def _read(self, x: Tensor, u: Tensor) -> Tensor:
        """Outputs (..., channels, readouts) of states (..., channels, size) that have seen u (..., channels)."""
        raise NotImplementedError

    def _put(self, name: str, value: Any, **kind: Any) -> None:
        self.register_parameter(name, nn.Parameter(torch.tensor(np.asarray(value), **kind), requires_grad=False))

    def _memory(self, scale: Tensor | None) -> tuple[Tensor, Tensor]:
        return self._kept if self._kept is not None and scale is None else self.memory(scale)

    def _memories(self, scale: Tensor | None) -> tuple[Tensor, Tensor]:
        """Those of a sequence, with an axis of time after that of channels, and before it one of the batch."""
        if scale is None:
            one, other = self._memory(None)
            return one.unsqueeze(1), other.unsqueeze(1)
        made = (torch.unflatten(part, 0, scale.shape[:2]).transpose(1, 2) for part in self.memory(scale.flatten(0, 1)))
        return next(made), next(made)

    # --- what is trained ---

    @property
    def trained(self) -> frozenset[str]:
        """The names of the parts that learn."""
        learn = {name for name, part in self.named_parameters(recurse=False) if part.requires_grad}
        return frozenset(part for part, names in self.PARTS.items() if learn.issuperset(names))

    def freeze(self, *parts: str) -> Layer:
        """Stop training these parts, all if none is named; `unfreeze` is the opposite. Returns the layer.

        An optimiser keeps the parameters it was given: make it, or `nn.parameter_groups`, after this.
        """
        return self._learn(self._named(parts) if parts else self.PARTS, False)

    def unfreeze(self, *parts: str) -> Layer:
        """Train these parts, all if none is named. Returns the layer."""
        return self._learn(self._named(parts) if parts else self.PARTS, True)

    def _learn(self, parts: Iterable[str], learn: bool) -> Layer:
        for part in parts:
            for name in self.PARTS[part]:
                getattr(self, name).requires_grad_(learn)
        return self

    def _named(self, train: str | Iterable[str]) -> list[str]:
        """Names of parts from names of parts and groups."""
        names = [train] if isinstance(train, str) else list(train)
        unknown = [name for name in names if name not in self.PARTS and name not in self.GROUPS]
        if unknown:
            known = ", ".join(map(repr, (*self.GROUPS, *self.PARTS)))
            raise ValueError(f"train must be one of, or several of, {known}; got {unknown[0]!r}")
        return [part for name in names for part in self.GROUPS.get(name, (name,))]

    # --- running it ---

    def initial_state(self, batch: int) -> Tensor:
        """The state before the first value: zeros, (batch, channels, size)."""
        return self._state(None, _checks.whole("batch", batch, least=0))

    def forward(
        self, u: Tensor, state: Tensor | None = None, *, lengths: Counts = None, mask: Counts = None, dt: Steps = None
    ) -> Tensor:
        """Outputs (batch, time, channels), or (..., readouts) where there are several, in the dtype of u.

        lengths: (batch,), the number of valid samples at the start of each row. mask: (batch, time), True for valid
            samples. Other samples, and their dt, are skipped as if they were not there; their outputs are 0.
        dt: for values at uneven times, the time since the previous value, as in `step`: a number, (time,), (batch,
            time) or (batch, time, channels). Every step then has its own A and B: N² numbers a value if A is dense.
            Outputs still predict u one step of the layer's own dt ahead.
        """
        return self._run(u, state, (lengths, mask), dt, final=False)[0]

    def scan(
        self, u: Tensor, state: Tensor | None = None, *, lengths: Counts = None, mask: Counts = None, dt: Steps = None
    ) -> tuple[Tensor, Tensor]:
        """Like `forward`, with the state after the last valid sample, (batch, channels, size), to continue from."""
        y, final = self._run(u, state, (lengths, mask), dt, final=True)
        assert final is not None, "asked for"
        return y, final

    def states(self, u: Tensor, state: Tensor | None = None, *, dt: Steps = None) -> Tensor:
        """The memory's state after every value, (batch, time, channels, N), differentiable."""
        return self._trace(u, state, dt)[..., : self.order].to(self._out(u))

    def _trace(self, u: Tensor, state: Tensor | None, dt: Steps = None) -> Tensor:
        now = self._sequence(u)
        with torch.autocast(u.device.type, enabled=False):
            scale = None if dt is None else self._spans(dt, *u.shape[:2])
            return self._states(now, self._state(state, u.shape[0]), scale).transpose(1, 2)

    def step(self, u: Tensor, state: Tensor, dt: Steps = None) -> tuple[Tensor, Tensor]:
        """One moment: u (batch, channels) and a state give the output (batch, channels[, readouts]) and the next state.

        dt: the time since the previous value, if it is not the layer's dt: a number, (batch,) or (batch, channels), in
            the unit of the layer's dt; in steps of each channel where a `DiagonalSSM` has a range of dt.
        A and B are computed at every call; inside `nn.stepping(model)` only once.
        """
        check_tensors(u=u)
        if u.ndim != 2 or u.shape[1] != self.channels:
            raise ValueError(f"u must have shape (batch, channels={self.channels}), got {tuple(u.shape)}")
        now, x = self._cast(u), self._state(state, u.shape[0])
        with torch.autocast(u.device.type, enabled=False):
            x = self._step(now, x, None if dt is None else self._spans(dt, len(u)))
            return self._given(self._read(x, now), u), x

    def read(self, x: Tensor, u: Tensor) -> Tensor:
        """Outputs (..., channels[, readouts]) of states (..., channels, N) that have seen u (..., channels)."""
        return self._given(self._read(x, u), u)

    def _run(
        self, u: Tensor, state: Tensor | None, padding: tuple[Counts, Counts], dt: Steps, final: bool
    ) -> tuple[Tensor, Tensor | None]:
        now, seen, where = packed(self._sequence(u), *padding)
        x = self._state(state, u.shape[0])
        with torch.autocast(u.device.type, enabled=False):
            if dt is None:
                lifted, rows, x = self._lifted().to(now.dtype), now.permute(2, 0, 1), x.transpose(0, 1)
                y, before = lifted.run(rows, x)
                y = y.permute(1, 2, 0, 3)
                end = lifted.end(rows, x, before, seen).transpose(0, 1) if final else None
            else:  # all states by a scan over memories that change, then the readout
                scale = self._spans(dt, *u.shape[:2])
                scale = scale if where is None else scale.gather(1, where[..., None].expand_as(scale))
                states = torch.cat([x.unsqueeze(2), self._states(now, x, scale)], dim=2)
                y = self._read(states[:, :, 1:].transpose(1, 2), now)
                last = torch.full(u.shape[:1], u.shape[1], device=u.device) if seen is None else seen
                end = states.gather(2, last[:, None, None, None].expand(-1, self.channels, 1, self.size)).squeeze(2)
            return self._given(unpacked(y, seen, where), u), end

    def _given(self, y: Tensor, u: Tensor) -> Tensor:
        """Outputs as they are handed out: in the dtype of u, without the axis of a single readout."""
        return (y if self.several else y.squeeze(-1)).to(self._out(u))

    # --- arguments ---

    def _sequence(self, u: Tensor) -> Tensor:
        check_tensors(u=u)
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
        check_tensors(state=state)
        expected = (batch, self.channels, self.size)
        if state is None:
            return torch.zeros(expected, dtype=self._work(), device=self.C.device)
        if tuple(state.shape) != expected:
            raise ValueError(f"state must have shape (batch, channels, size) = {expected}, got {tuple(state.shape)}")
        return state.to(self._work())

    def _spans(self, dt: Steps, *leading: int) -> Tensor:
        """Steps in units of the layer's own, (*leading, 1) or (*leading, channels); leading is (batch[, time])."""
        own = self.dt if isinstance(self.dt, float) else 1.0
        given = torch.as_tensor(dt, dtype=torch.float64, device=self.C.device) / own
        if not torch.compiler.is_compiling() and not bool(((given > 0) & given.isfinite()).all()):
            raise ValueError(f"dt must be positive and finite, got {dt}: the time since the previous value")
        wide = given if given.ndim > len(leading) else given.unsqueeze(-1)
        sizes = (*leading, self.channels)
        if wide.ndim > len(sizes) or any(a not in (1, b) for a, b in zip(wide.shape[::-1], sizes[::-1], strict=False)):
            kinds = "(time,), (batch, time) or (batch, time, channels)"
            kinds = kinds if len(leading) == 2 else "(batch,) or (batch, channels)"
            raise ValueError(f"dt must be a number, {kinds} = {sizes}, got {tuple(given.shape)}")
        return wide.expand(*leading, wide.shape[-1])

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
        exact = [part for name in self.exact for part in (getattr(self, name), getattr(self, name).grad)]

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


@contextmanager
def stepping(module: nn.Module) -> Iterator[None]:
    """Compute A and B of all layers in `module` once, and keep them inside the block: for `step` in a loop.

    Changes of parameters inside the block have no effect; gradients work.

    >>> from prophecy.nn import ProphecySSM
    >>> layer = ProphecySSM(channels=1, order=4, window=50.0, dt=1.0)
    >>> with stepping(layer):
    ...     y, state = layer.step(torch.ones(2, 1), layer.initial_state(2))
    """
    layers = [one for one in module.modules() if isinstance(one, Layer)]
    try:
        for layer in layers:
            layer._kept = layer.memory()
        yield
    finally:
        for layer in layers:
            layer._kept = None


def parameter_groups(module: nn.Module, **memory: Any) -> list[dict[str, Any]]:
    """The trained parameters of `module` for an optimiser, in two groups: ordinary ones, and those of memories.

    memory: options of the second group, such as lr=1e-3. Its weight decay is 0 unless given, because decay would move
    windows and rates.

    >>> from prophecy.nn import ProphecySSM
    >>> layer = ProphecySSM(channels=1, order=4, window=50.0, dt=1.0, train=("C", "window"))
    >>> [len(group["params"]) for group in parameter_groups(layer, lr=1e-3)]
    [1, 1]
    """
    layers = [one for one in module.modules() if isinstance(one, Layer)]
    inside = {id(p) for one in layers for name, p in one.named_parameters(recurse=False) if name not in ("C", "D")}
    learn = [p for p in module.parameters() if p.requires_grad]
    usual, own = ([p for p in learn if (id(p) in inside) == memories] for memories in (False, True))
    return [{"params": usual}, {"params": own, "weight_decay": 0.0, **memory}]


def parameter_dtype(dtype: torch.dtype | None) -> torch.dtype:
    """Parameters of a layer made in half precision are float32."""
    chosen = dtype or torch.get_default_dtype()
    return chosen if chosen in (torch.float32, torch.float64) else torch.float32
