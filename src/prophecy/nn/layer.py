"""The layer: one state-space model per channel, constructed; any part of it can be trained."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from prophecy import _checks
from prophecy.bases import Basis, ScaledBasis, legs, legt
from prophecy.engines import torch_lifted
from prophecy.engines.torch_scan import scan, transformed
from prophecy.nn import memory
from prophecy.nn.base import Layer, Lifted, parameter_dtype
from prophecy.nn.readouts import Construct, following
from prophecy.system import System


class ProphecySSM(Layer):
    r"""One state-space model per channel over (batch, time, channels); untrained, y[:, k] predicts u[:, k + 1].

    channels: how many. Each has its own C and D; they share the memory, up to the scale of time.
    order, window, dt: of the memory; window and dt in the same unit of time. `window` may be one per channel, such as
        `np.geomspace(10, 1e5, channels)`.
    basis: a function of (order, window), such as `prophecy.legt`, `prophecy.fading.lagt` (window is its timescale).
    construct: what is read, and how the memory is discretised: a function (basis, dt) → `System`, or several of them,
        such as `nn.following`, `nn.slope`, `nn.horizons(1, 4, 16)`, or the paper's own `prophecy.next_value`. Several
        give outputs (batch, time, channels, readouts).
    train: parts that learn, by name: "C", "D", "rotation", "edges", "input", "window", or the groups "readout" (C, D),
        "memory" (rotation, edges, input), "all" (both); later `freeze` and `unfreeze`. Trained memories stay stable
        (see `nn.memory`). The parameter of a window is `log_tick`, the logarithm of dt/window. C and D are not
        recomputed when a memory or a window changes: train them too.

    By default the memory interpolates linearly between samples (`discretize.lines`), so its state is that of the newest
    sample whatever the step. The state has one number more than the order: the newest value. Uneven steps (`dt=`) use
    the layer's rule. With a hold that is exp(A dt), which forgets over gaps; `next_value`'s bilinear rule does not.

    Finite values change no bit of the outputs before them. A NaN at sample k reaches back to the start of its block,
    block · ⌊k/block⌋.

    >>> layer = ProphecySSM(channels=2, order=8, window=200.0, dt=1.0, dtype=torch.float64)
    >>> u = torch.sin(torch.arange(600.0, dtype=torch.float64) / 30)[None, :, None].expand(1, 600, 2)
    >>> bool((layer(u)[:, 300:-1] - u[:, 301:]).abs().max() < 1e-3)
    True
    """

    PARTS: ClassVar[dict[str, tuple[str, ...]]] = {
        **{name: (name,) for name in ("C", "D", "rotation", "edges", "input")},
        "window": ("log_tick",),
    }
    GROUPS: ClassVar = {
        "none": (),
        "readout": ("C", "D"),
        "memory": ("rotation", "edges", "input"),
        "all": ("C", "D", "rotation", "edges", "input"),
    }
    exact = ("rotation", "edges", "input", "log_tick", "gains")
    rotation: Tensor
    edges: Tensor
    gains: Tensor
    input: Tensor
    log_tick: Tensor
    rule: str  # how steps are made, a name of `memory.RULES`
    _formed: tuple[list[tuple[Tensor, int]], tuple[Tensor, Tensor]] | None = None
    _ties: tuple[Tensor, int, bool]  # log_tick, its version, and whether all of it was one number then

    def __init__(
        self,
        channels: int,
        order: int,
        window: ArrayLike,
        dt: float,
        basis: Callable[[int, float], Basis] = legt,
        train: str | Iterable[str] = (),
        *,
        construct: Construct = following,
        dtype: torch.dtype | None = None,
        device: torch.device | str | None = None,
    ) -> None:
        super().__init__()
        self.channels, self.dt = _checks.whole("channels", channels), _checks.positive("dt", dt)
        _checks.function("construct", construct, "prophecy.next_value")
        windows = np.array([_checks.positive("window", one) for one in np.asarray(window).ravel()])
        if np.ndim(window) and len(windows) != channels:
            raise ValueError(f"window must be a number or one per channel, {channels}, got {len(windows)} of them")
        windows = windows[:1] if (windows == windows[0]).all() else windows
        bases = [_basis(basis, order, float(one)) for one in windows]
        made = [_systems(construct, one, dt) for one in bases]
        systems, self.several = [row for row, _ in made], made[0][1]
        rule = memory.rule_of(bases, [row[0] for row in systems])
        self.rule = "lines" if rule == "foh" else rule
        self.order, self.name = bases[0].order, bases[0].name
        self.size = self.order + (self.rule == "lines")
        self.window: float | tuple[float, ...] = float(windows[0]) if len(windows) == 1 else tuple(map(float, windows))
        self.block = torch_lifted.block_length(self.order)
        ticks = dt / np.array([one.timescale for one in bases])
        units = [(one.A * one.timescale, one.B * one.timescale) for one in bases]
        close = partial(np.allclose, rtol=1e-12, atol=1e-14)
        if all(close(G, units[0][0]) and close(H, units[0][1]) for G, H in units):
            units = units[:1]  # one shape for all windows
        forms = [memory.Form.of(G, H) for G, H in units]
        reads = [[memory.readout(rule, one, s) for s in row] for one, row in zip(bases, systems, strict=True)]
        kind: dict[str, Any] = {"dtype": parameter_dtype(dtype), "device": device}
        exact: dict[str, Any] = {"dtype": torch.float64, "device": device}
        copies = channels if len(systems) == 1 else 1
        self._put("C", np.stack([[C for C, _ in row] for row in reads]).repeat(copies, 0), **kind)
        self._put("D", np.array([[D for _, D in row] for row in reads]).repeat(copies, 0), **kind)
        self._put("rotation", np.stack([form.rotation for form in forms]), **exact)
        self._put("edges", _padded([form.edges for form in forms]), **exact)
        self._put("input", np.stack([form.input for form in forms]), **exact)
        self._put("log_tick", np.log(ticks).repeat(copies), **exact)
        self.register_buffer("gains", torch.tensor(_padded([form.gains for form in forms]), **exact))
        self._tie()
        self._learn(self._named(train), True)

    def _learn(self, parts: Iterable[str], learn: bool) -> Layer:
        if learn and self.gains.numel() and {"rotation", "edges"} & set(parts):
            raise ValueError(
                f"this memory gains energy in these coordinates (A + Aᵀ has an eigenvalue "
                f"{2 * float(self.gains.square().sum(-2).max()):.3g}), so a trained one could not stay stable; use an "
                "orthonormal scaling, as prophecy.legt and prophecy.fout have"
            )
        return super()._learn(parts, learn)

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any) -> None:
        super()._load_from_state_dict(state_dict, prefix, *args)
        self._tie()

    def _tie(self) -> None:
        tick = self.log_tick
        self._ties = tick, tick._version, bool((tick == tick[0]).all())

    def _tied(self) -> bool:
        """Whether the memory is one for all channels: they have one window, which does not learn."""
        tick = self.log_tick
        if not torch.compiler.is_compiling() and (tick is not self._ties[0] or tick._version != self._ties[1]):
            if transformed():
                return False
            self._tie()
        return self._ties[2] and not tick.requires_grad

    # --- the memory ---

    def memory(self, scale: Tensor | float | None = None) -> tuple[Tensor, Tensor]:
        """A - I (1 or channels, size, size) and B (1 or channels, size) in float64; A, close to I, would round away.

        scale: length of the step in units of dt, a number or (batch, 1 or channels) for steps of their own, which come
        first in the shapes then.
        """
        tick = (self.log_tick[:1] if self._tied() else self.log_tick).exp()
        if scale is not None:
            tick = tick * self._steps(scale)
        lower = torch.tril(self.rotation, -1)
        G = lower - lower.mT - self.edges @ self.edges.mT + self.gains @ self.gains.mT
        return memory.discretised(self.rule, G, self.input, tick)

    def _memory(self, scale: Tensor | None) -> tuple[Tensor, Tensor]:
        """One that does not learn is formed once, and again when one of its tensors was changed or replaced."""
        parts = (self.rotation, self.edges, self.gains, self.input, self.log_tick)
        learns = any(part.requires_grad for part in parts)
        if scale is not None or learns or torch.compiler.is_compiling() or transformed():
            return super()._memory(scale)
        known = self._formed
        if known is None or any(a is not b or a._version != v for a, (b, v) in zip(parts, known[0], strict=True)):
            with torch.no_grad():
                self._formed = known = [(part, part._version) for part in parts], self.memory()
        return known[1]

    def _lifted(self) -> Lifted:
        (less, B), C, D, N, line = self._memory(None), self.C.double(), self.D.double(), self.order, None
        if self.size > N:
            line = start, end = less[..., :N, N], B[..., :N]
            D = D + (C @ end.unsqueeze(-1)).squeeze(-1)
            less = less[..., :N, :N]
            B = start + end + (less @ end.unsqueeze(-1)).squeeze(-1)
        A = less + torch.eye(N, dtype=less.dtype, device=less.device)
        return Lifted(torch_lifted.lift(A, B, C, D, self.block, before=line is not None), less, line)

    def _states(self, now: Tensor, x: Tensor, scale: Tensor | None) -> Tensor:
        less, B = self._memories(scale)
        A = less + torch.eye(self.size, dtype=less.dtype, device=less.device)
        return scan(A, now.mT.unsqueeze(-1) * B.to(now.dtype), x)

    def _step(self, now: Tensor, x: Tensor, scale: Tensor | None) -> Tensor:
        less, B = (part.to(now.dtype) for part in self._memory(scale))
        if less.ndim == 4:  # a step of each row's own
            return x + ((less @ x.unsqueeze(-1)).squeeze(-1) + now.unsqueeze(-1) * B)
        return torch_lifted.advance(less, B, x.transpose(0, 1), now.mT).transpose(0, 1)

    def _read(self, x: Tensor, u: Tensor) -> Tensor:
        x = x[..., : self.order]
        return (x.unsqueeze(-2) * self.C.to(x.dtype)).sum(-1) + self.D.to(x.dtype) * u.unsqueeze(-1)


def _padded(tables: list[Any]) -> Any:
    """(N, rank) of each channel side by side, the missing ranks zero."""
    rank = max(table.shape[1] for table in tables)
    return np.stack([np.pad(table, ((0, 0), (0, rank - table.shape[1]))) for table in tables])


def _basis(make: Any, order: int, window: float) -> Basis:
    made = make(order, window) if callable(make) and make is not legs else make
    if not isinstance(made, Basis) or made is make:
        found = type(made).__name__ if isinstance(made, ScaledBasis) else repr(make)
        raise TypeError(
            f"basis must be a function of (order, window), as prophecy.legt and prophecy.fout are, got {found}; "
            "prophecy.legs, LegS scaled by the time elapsed, has no window and changes with time: use "
            "prophecy.fading.legs_invariant for the one S4 runs"
        )
    return made


def _systems(construct: Construct, basis: Basis, dt: float) -> tuple[Sequence[System], bool]:
    """The systems of a layer, and whether they were given as several."""
    try:
        made = construct(basis, dt)
    except ValueError as error:
        hint = ", or leave construct at nn.following, which has no pole" if "discretize.backward" in str(error) else ""
        raise ValueError(f"window {basis.timescale:g}: {error}{hint}") from None
    if isinstance(made, System):
        return [made], False
    if not isinstance(made, Sequence) or not made or not all(isinstance(one, System) for one in made):
        raise TypeError(f"construct must give a System or a sequence of them, got {made!r}; LegS has no constant one")
    for i, one in enumerate(made):
        if not np.array_equal(one.A, made[0].A) or not np.array_equal(one.B, made[0].B):
            raise ValueError(
                f"the systems of one layer must share their memory, but system {i} has another A or B than system 0; "
                "construct them from the same basis and dt, or use a layer for each"
            )
    return made, True
