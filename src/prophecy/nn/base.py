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
from prophecy.nn.padding import packed, unpacked

Counts: TypeAlias = Tensor | Sequence[Any]


class Lifted(NamedTuple):
    """Block matrices, and A - I and B of the recurrence they carry, all real; `line`: how it differs from the state.

    line: None where the state [x] is what is carried. Where a memory looks back to the value before, the state is
    [s, u] and v = A s + start u is carried: line = (start, end), s = v + end u[k].
    """

    blocks: torch_lifted.Blocks
    less: Tensor
    B: Tensor
    line: tuple[Tensor, Tensor] | None = None


class Layer(nn.Module):
    """One state-space model per channel over (batch, time, channels).

    A subclass gives five methods, its memory (`memory`, `_lifted`, `_states`, `_step`) and its outputs (`_read`); this
    class runs them. Memories are formed in float64 and states kept in float32 or float64: `.to(torch.bfloat16)`,
    `.half()` and autocast change what goes in and out, not the recurrence. Integers are promoted. What
    `get_extra_state` names travels in the `state_dict` and is compared when one is loaded. The `state_dict` does not
    depend on what is trained: every part is a parameter, and `freeze` and `unfreeze` say which learn.
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

    # --- what is trained ---

    @property
    def trained(self) -> frozenset[str]:
        """The names of the parts that learn."""
        return frozenset(
            part for part, names in self.PARTS.items() if all(getattr(self, name).requires_grad for name in names)
        )

    def freeze(self, *parts: str) -> Layer:
        """These parts (all, if none is named) do not learn from now on; `unfreeze` is the opposite. Returns the layer.

        Optimisers take what they are given: make them, or `nn.parameter_groups`, after this.
        """
        return self._learn(parts, False)

    def unfreeze(self, *parts: str) -> Layer:
        """These parts (all, if none is named) learn from now on. Returns the layer."""
        return self._learn(parts, True)

    def _learn(self, parts: Iterable[str], learn: bool) -> Layer:
        for part in self._named(parts) or self.PARTS:
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
        """A past in which nothing happened: zeros (batch, channels, size)."""
        shape = (_checks.whole("batch", batch, least=0), self.channels, self.size)
        return torch.zeros(shape, dtype=self._work(), device=self.C.device)

    def forward(
        self,
        u: Tensor,
        state: Tensor | None = None,
        *,
        lengths: Counts | None = None,
        mask: Counts | None = None,
        dt: Counts | None = None,
    ) -> Tensor:
        """Outputs (batch, time, channels), or (..., readouts) where there are several, in the dtype of u.

        lengths: (batch,), how many samples of each row count. mask: (batch, time), True where a sample does; the others
        are skipped, as if they had never been, and their dt with them. Outputs are 0 where no sample counts.
        dt: the time since the value before, as in `step`, for values at uneven times: (time,), (batch, time) or (batch,
        time, channels). Every step then has a memory of its own, N² numbers a value where it is dense. Outputs predict
        what they always do, u one step of the layer's own dt ahead.
        """
        return self._run(u, state, lengths, mask, dt, final=False)[0]

    def scan(
        self,
        u: Tensor,
        state: Tensor | None = None,
        *,
        lengths: Counts | None = None,
        mask: Counts | None = None,
        dt: Counts | None = None,
    ) -> tuple[Tensor, Tensor]:
        """As `forward`, and the state after the last value that counts, (batch, channels, size), to go on from."""
        y, final = self._run(u, state, lengths, mask, dt, final=True)
        assert final is not None, "asked for"
        return y, final

    def states(self, u: Tensor, state: Tensor | None = None, *, dt: Counts | None = None) -> Tensor:
        """The memory after every value, (batch, time, channels, N), differentiable; it takes no more memory itself."""
        return self._trace(u, state, dt)[..., : self.order].to(self._out(u))

    def _trace(self, u: Tensor, state: Tensor | None, dt: Counts | None = None) -> Tensor:
        now = self._sequence(u)
        with torch.autocast(u.device.type, enabled=False):
            scale = None if dt is None else self._spans(dt, *u.shape[:2])
            return self._states(now, self._state(state, u.shape[0]), scale).transpose(1, 2)

    def step(self, u: Tensor, state: Tensor, dt: Counts | float | None = None) -> tuple[Tensor, Tensor]:
        """One moment: u (batch, channels) and a state give the output (batch, channels[, readouts]) and the next state.

        dt: the time since the value before, where it is not the layer's: in the unit of its dt, or, where a
        `DiagonalSSM` has a range of them, in steps of each channel; a number, (batch,) or (batch, channels).
        The memory is formed at every call; inside `nn.stepping(model)` only once.
        """
        check_tensor(u)
        if u.ndim != 2 or u.shape[1] != self.channels:
            raise ValueError(f"u must have shape (batch, channels={self.channels}), got {tuple(u.shape)}")
        now, x = self._cast(u), self._state(state, u.shape[0])
        with torch.autocast(u.device.type, enabled=False):
            x = self._step(now, x, None if dt is None else self._scale(dt, u.shape[0]))
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
        lengths: Counts | None,
        mask: Counts | None,
        dt: Counts | None,
        final: bool,
    ) -> tuple[Tensor, Tensor | None]:
        now, seen, where = packed(self._sequence(u), lengths, mask)
        if dt is not None:
            return self._uneven(u, now, self._state(state, u.shape[0]), seen, where, self._spans(dt, *u.shape[:2]))
        with torch.autocast(u.device.type, enabled=False):
            blocks, less, B, line = self._lifted()
            rows, x = now.permute(2, 0, 1), self._state(state, u.shape[0]).transpose(0, 1)
            less, B = less.to(now.dtype), B.to(now.dtype)
            start = x
            if line is not None:
                line = (line[0].to(now.dtype), line[1].to(now.dtype))
                start = torch_lifted.advance(less, line[0], x[..., :-1], x[..., -1])
            y, before = torch_lifted.run(blocks.to(now.dtype), rows, start)
            end = _final(less, B, line, rows, x, before, self.block, seen).transpose(0, 1) if final else None
            out = unpacked(y.permute(1, 2, 0, 3), seen, where)
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
        expected = (batch, self.channels, self.size)
        if state is None:
            return torch.zeros(expected, dtype=self._work(), device=self.C.device)
        if tuple(state.shape) != expected:
            raise ValueError(f"state must have shape (batch, channels, size) = {expected}, got {tuple(state.shape)}")
        return state.to(self._work())

    def _relative(self, dt: Counts | float) -> Tensor:
        """Steps in units of the layer's own, which must be positive."""
        own = self.dt if isinstance(self.dt, float) else 1.0
        given = torch.as_tensor(dt, dtype=torch.float64, device=self.C.device) / own
        if not torch.compiler.is_compiling() and not bool(((given > 0) & given.isfinite()).all()):
            raise ValueError(f"dt must be positive and finite, got {dt}: the time since the value before")
        return given

    def _spans(self, dt: Counts, batch: int, time: int) -> Tensor:
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

    def _scale(self, dt: Counts | float, batch: int) -> Tensor:
        """Steps in units of the layer's own: (batch, 1) or (batch, channels)."""
        given = self._relative(dt)
        given = given[:, None] if given.ndim == 1 else given
        if given.ndim and tuple(given.shape) not in {(batch, 1), (batch, self.channels)}:
            raise ValueError(
                f"dt must be a number, (batch,) or (batch, channels) = {(batch, self.channels)}, got "
                f"{tuple(torch.as_tensor(dt).shape)}"
            )
        return given.expand(batch, 1) if given.ndim == 0 else given

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

    def set_extra_state(self, state: dict[str, Any]) -> None:
        check_extra("layer", self.get_extra_state(), state)

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any) -> None:
        check_before_loading(self, state_dict, prefix)
        super()._load_from_state_dict(state_dict, prefix, *args)


def _final(
    less: Tensor,
    B: Tensor,
    line: tuple[Tensor, Tensor] | None,
    rows: Tensor,
    x: Tensor,
    before: Tensor,
    block: int,
    seen: Tensor | None,
) -> Tensor:
    """The state (channels, series, size) after all samples, or after the first `seen` (series,) of each series."""
    time = rows.shape[-1]
    if line is None or time == 0:
        return x if time == 0 else torch_lifted.finish(less, B, rows, before, block, seen)
    if seen is None:
        v = torch_lifted.finish(less, B, rows[..., :-1], before[:, :, : (time - 1) // block + 2], block)
        last = rows[..., -1:]
    else:
        v = torch_lifted.finish(less, B, rows, before, block, (seen - 1).clamp_min(0))
        last = rows.gather(2, (seen - 1).clamp_min(0)[None, :, None].expand(len(rows), -1, 1))
    end = torch.cat([v + last * line[1].unsqueeze(-2), last], dim=-1)
    return end if seen is None else torch.where((seen > 0)[:, None], end, x)


@contextmanager
def stepping(module: nn.Module) -> Iterator[None]:
    """Memories of all layers in `module` are formed once, now, and kept until the end: for `step` in a loop.

    Changes of their parameters inside are not seen; gradients are, where they are on.

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
    """What learns in `module` for an optimiser: parameters as usual, then those of memories with options of their own.

    memory: such as lr=1e-3; weight decay is 0 for them unless given, because it would move windows and rates.

    >>> from prophecy.nn import ProphecySSM
    >>> layer = ProphecySSM(channels=1, order=4, window=50.0, dt=1.0, train=("C", "window"))
    >>> [len(group["params"]) for group in parameter_groups(layer, lr=1e-3)]
    [1, 1]
    """
    layers = [one for one in module.modules() if isinstance(one, Layer)]
    inside = {
        id(p)
        for layer in layers
        for part, names in layer.PARTS.items()
        if part not in ("C", "D")
        for p in (getattr(layer, name) for name in names)
    }
    learn = [p for p in module.parameters() if p.requires_grad]
    return [
        {"params": [p for p in learn if id(p) not in inside]},
        {"params": [p for p in learn if id(p) in inside], "weight_decay": 0.0, **memory},
    ]


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
