"""The layer: one state-space model per channel, constructed, trained where one wishes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from prophecy import _checks, discretize
from prophecy.bases import Basis, legs, legt
from prophecy.constructions import next_value
from prophecy.engines import torch_lifted
from prophecy.engines.torch_scan import scan
from prophecy.nn import memory
from prophecy.nn.base import Layer, parameter_dtype
from prophecy.nn.readouts import Construct
from prophecy.system import System


class ProphecySSM(Layer):
    r"""One state-space model per channel over (batch, time, channels); untrained, y[:, k] predicts u[:, k + 1] (Eq. 5).

    channels: how many. Each has its own C and D; A and B are shared where the windows are.
    order, window, dt: of the memory, the last two in the same unit of time. `window` may be one per channel
        (`np.geomspace(10, 1e5, channels)`, say).
    basis: a function of (order, window), such as `prophecy.legt`, `prophecy.fading.lagt` (window is its timescale).
    construct: what is read: a function (basis, dt) → `System`, or several of them, such as `prophecy.next_value`,
        `nn.slope`, `nn.horizons(1, 4, 16)`. Several give outputs (batch, time, channels, readouts).
    train: parts that are parameters, by name: "C", "D", "rotation", "edges", "input", "window", or the groups
        "readout" (C, D), "memory" (rotation, edges, input), "all" (both). The rest are buffers. Trained memories stay
        stable (see `nn.memory`); a trained window, `log_tick`, is the logarithm of dt/window. C and D are not made anew
        when a memory or a window moves: train them too, or they go on reading the window they were made for.

    Precision, files and padding are those of `Layer`. Finite values change no bit of the outputs before them; a NaN at
    sample k reaches back to the start of its block, block · ⌊k/block⌋.

    >>> layer = ProphecySSM(channels=2, order=8, window=200.0, dt=1.0, dtype=torch.float64)
    >>> u = torch.sin(torch.arange(600.0, dtype=torch.float64) / 30)[None, :, None].expand(1, 600, 2)
    >>> bool((layer(u)[:, 300:-1] - u[:, 301:]).abs().max() < 1e-3)
    True
    """

    exact = ("less", "B", *memory.MEMORY, "log_tick")
    less: Tensor  # A - I
    B: Tensor
    rotation: Tensor
    edges: Tensor
    input: Tensor
    log_tick: Tensor

    def __init__(
        self,
        channels: int,
        order: int,
        window: ArrayLike,
        dt: float,
        basis: Callable[[int, float], Basis] = legt,
        train: str | Iterable[str] = (),
        *,
        construct: Construct = next_value,
        dtype: torch.dtype | None = None,
        device: torch.device | str | None = None,
    ) -> None:
        channels, dt = _checks.whole("channels", channels), _checks.positive("dt", dt)
        windows = _windows(window, channels)
        made = [_basis(basis, order, float(one)) for one in windows]
        systems = [_systems(construct, one, dt) for one in made]
        ticks = dt / np.array([one.timescale for one in made])
        bilinear = all(
            np.array_equal(discretize.bilinear(b.A, b.B, dt).A, s[0].A) for b, s in zip(made, systems, strict=True)
        )
        unit = [(b.A * b.timescale, b.B * b.timescale) for b in made[:1]] if bilinear else None
        self._build(channels, systems, ticks, unit, train, made[0].name, dt, windows, dtype, device)

    @classmethod
    def from_system(
        cls,
        system: System | Sequence[System],
        channels: int,
        train: str | Iterable[str] = (),
        *,
        dtype: torch.dtype | None = None,
        device: torch.device | str | None = None,
    ) -> ProphecySSM:
        """A layer around any `System`, or several readouts of one memory; its window is counted as one step."""
        layer = cls.__new__(cls)
        systems = [_several(system)]
        dt = systems[0][0].dt
        layer._build(
            _checks.whole("channels", channels),
            systems,
            np.ones(1),
            None,
            train,
            "system",
            dt,
            np.array([dt]),
            dtype,
            device,
        )
        return layer

    def _build(
        self,
        channels: int,
        systems: list[list[System]],
        ticks: Any,
        unit: list[tuple[Any, Any]] | None,
        train: str | Iterable[str],
        name: str,
        dt: float,
        windows: Any,
        dtype: torch.dtype | None,
        device: torch.device | str | None,
    ) -> None:
        Layer.__init__(self)
        parts = memory.trained(train)
        first = systems[0][0]
        self.channels, self.order, self.dt, self.name = channels, first.order, dt, name
        self.window: float | tuple[float, ...] = float(windows[0]) if len(windows) == 1 else tuple(map(float, windows))
        self.trained, self.block = parts, torch_lifted.block_length(first.order)
        self.several = len(systems[0]) > 1 or getattr(systems[0], "several", False)
        kind: dict[str, Any] = {"dtype": parameter_dtype(dtype), "device": device}
        exact: dict[str, Any] = {"dtype": torch.float64, "device": device}
        copies = channels if len(systems) == 1 else 1
        C = np.stack([[s.C for s in row] for row in systems]).repeat(copies, 0)
        D = np.stack([[s.D for s in row] for row in systems]).repeat(copies, 0)
        self._put("C", C, "C" in parts, kind)
        self._put("D", D, "D" in parts, kind)
        if parts <= set(memory.READOUT):
            self._put("less", np.stack([row[0].A - np.eye(self.order) for row in systems]), False, exact)
            self._put("B", np.stack([row[0].B for row in systems]), False, exact)
            return
        if unit is None:
            made = [memory.generator(row[0]) for row in systems]
            unit = [(G / tick, H / tick) for (G, H), tick in zip(made, ticks, strict=True)]
        forms = [memory.rotation_and_edges(G) for G, _ in unit]
        rank = max(edges.shape[1] for _, edges in forms)
        for part, values in (
            ("rotation", [rotation for rotation, _ in forms]),
            ("edges", [np.pad(edges, ((0, 0), (0, rank - edges.shape[1]))) for _, edges in forms]),
            ("input", [H for _, H in unit]),
            ("log_tick", np.log(ticks)),
        ):
            learn = ("window" if part == "log_tick" else part) in parts
            if part == "log_tick" and learn:
                values = np.log(ticks).repeat(channels if len(ticks) == 1 else 1)
            self._put(part, np.stack(values), learn, (kind) if learn else exact)

    # --- the memory ---

    def memory(self, scale: Tensor | float | None = None) -> tuple[Tensor, Tensor]:
        """A - I (1 or channels, N, N) and B (1 or channels, N) in float64; A itself is close to I and would round away.

        scale: length of the step in units of dt, a number or (batch, 1 or channels) for steps of their own, which come
        first in the shapes then.
        """
        if "less" in self._buffers:
            if scale is None:
                return self.less, self.B
            G, H, tick = *memory.unwind(self.less, self.B), torch.ones_like(self.B[:, 0])
        else:
            G, H = memory.assemble(self.rotation, self.edges), self.input.double()
            tick = self.log_tick.double().exp()
        if scale is not None:
            tick = tick * self._steps(scale)
        return memory.bilinear(G, H, tick)

    def _lifted(self) -> tuple[torch_lifted.Blocks, Tensor, Tensor]:
        less, B = self.memory()
        A = less + torch.eye(self.order, dtype=less.dtype, device=less.device)
        return torch_lifted.lift(A, B, self.C.double(), self.D.double(), self.block), less, B

    def _states(self, now: Tensor, x: Tensor, scale: Tensor | None) -> Tensor:
        if scale is None:
            less, B = (part.unsqueeze(1) for part in self.memory())
        else:
            made = self.memory(scale.flatten(0, 1))
            less, B = (part.reshape(*scale.shape[:2], *part.shape[1:]).transpose(1, 2) for part in made)
        A = less + torch.eye(self.order, dtype=less.dtype, device=less.device)
        return scan(A, now.mT.unsqueeze(-1) * B.to(now.dtype), x)

    def _step(self, now: Tensor, x: Tensor, scale: Tensor | None, memory: Any) -> Tensor:
        less, B = (part.to(now.dtype) for part in (self.memory(scale) if memory is None else memory))
        if less.ndim == 4:  # a step of each row's own
            return x + ((less @ x.unsqueeze(-1)).squeeze(-1) + now.unsqueeze(-1) * B)
        return torch_lifted.advance(less, B, x.transpose(0, 1), now.mT).transpose(0, 1)

    def _read(self, x: Tensor, u: Tensor) -> Tensor:
        return (x.unsqueeze(-2) * self.C.to(x.dtype)).sum(-1) + self.D.to(x.dtype) * u.unsqueeze(-1)


def _windows(window: ArrayLike, channels: int) -> Any:
    if np.ndim(window) == 0:
        return np.array([_checks.positive("window", window)])
    values = np.array([_checks.positive("window", one) for one in np.asarray(window).ravel()])
    if values.shape != (channels,):
        raise ValueError(f"window must be a number or one per channel, {channels}, got {len(values)} of them")
    return values[:1] if (values == values[0]).all() else values


def _basis(make: Callable[[int, float], Basis], order: int, window: float) -> Basis:
    if isinstance(make, Basis):
        raise TypeError("basis must be a function of (order, window), such as prophecy.legt, got a Basis")
    if cast(Any, make) is legs:
        raise TypeError(
            "basis=prophecy.legs is LegS scaled by the time elapsed, which has no window and changes with time; use "
            "prophecy.fading.legs_invariant for the one S4 runs"
        )
    if not callable(make):
        raise TypeError(
            f"basis must make a memory from (order, window), as prophecy.legt and prophecy.fout do, got {make!r}"
        )
    made = make(order, window)
    if not isinstance(made, Basis):
        raise TypeError(
            f"basis must give a Basis, got {type(made).__name__}; LegS scaled by the time elapsed changes with time, "
            "use prophecy.fading.legs_invariant for the one S4 runs"
        )
    return made


def _systems(construct: Construct, basis: Basis, dt: float) -> list[System]:
    try:
        made = construct(basis, dt)
    except ValueError as error:
        hint = ""
        if "memory=prophecy.discretize.backward" in str(error):
            hint = ", here construct=functools.partial(prophecy.next_value, memory=prophecy.discretize.backward)"
        raise ValueError(f"window {basis.timescale:g}: {error}{hint}") from None
    return _several(made)


class _Several(list[System]):
    several = True


def _several(made: System | Sequence[System]) -> list[System]:
    if isinstance(made, System):
        return [made]
    if not isinstance(made, Sequence) or not made or not all(isinstance(one, System) for one in made):
        raise TypeError(f"construct must give a System or a sequence of them, got {made!r}; LegS has no constant one")
    for i, one in enumerate(made):
        if not np.array_equal(one.A, made[0].A) or not np.array_equal(one.B, made[0].B):
            raise ValueError(
                f"the systems of one layer must share their memory, but system {i} (order {one.order}) has another A "
                f"or B than system 0 (order {made[0].order}); construct them from the same basis and dt, or use a "
                "layer for each"
            )
    return _Several(made)
