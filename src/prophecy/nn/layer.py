"""The layer: one constructed state-space model per channel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from prophecy import _checks
from prophecy.bases import Array, Basis, legt
from prophecy.constructions import next_value

TRAIN = ("none", "readout", "all")


class ProphecySSM(nn.Module):
    r"""One state-space model per channel over (batch, time, channels); untrained, y[:, k] predicts u[:, k + 1] (Eq. 5).

    channels: how many; they share A and B and have each their own C and D.
    order, window, dt: of the memory, the last two in the same unit of time.
    basis: a function of (order, window), such as `prophecy.legt` or `prophecy.fout`.
    train: "none" (all buffers), "readout" (C and D are parameters) or "all".
    rule: how the next value is read, as in `prophecy.next_value`.

    With train="all" the memory is kept as θ x' = (W - Wᵀ - E Eᵀ) x + B u, the form every window has: a rotation W, and
    losses through the window's edges E. It stays stable whatever the optimiser does to W and E, and so does its
    bilinear step.

    >>> layer = ProphecySSM(channels=2, order=8, window=200.0, dt=1.0, dtype=torch.float64)
    >>> u = torch.sin(torch.arange(600.0, dtype=torch.float64) / 30)[None, :, None].expand(1, 600, 2)
    >>> bool((layer(u)[:, 300:-1] - u[:, 301:]).abs().max() < 1e-3)
    True
    """

    A: Tensor
    B: Tensor
    C: Tensor
    D: Tensor
    rotation: Tensor
    edges: Tensor
    input: Tensor

    def __init__(
        self,
        channels: int,
        order: int,
        window: float,
        dt: float,
        basis: Callable[[int, float], Basis] = legt,
        train: str = "none",
        *,
        rule: str = "trapezoid",
        dtype: torch.dtype | None = None,
        device: torch.device | str | None = None,
    ) -> None:
        super().__init__()
        self.channels = _checks.order("channels", channels)
        self.train_mode = _checks.choice("train", train, TRAIN)
        self.dt = _checks.positive("dt", dt)
        self.basis = _window_basis(basis, order, window)
        self.order = self.basis.order
        system = next_value(self.basis, self.dt, rule=rule)
        kind = {"dtype": dtype or torch.get_default_dtype(), "device": device}
        self._put("C", np.tile(system.C, (self.channels, 1)), train != "none", kind)
        self._put("D", np.full(self.channels, system.D), train != "none", kind)
        if train == "all":
            # In units of the window, so that one learning rate serves windows of seconds and of years.
            rotation, edges = _rotation_and_edges(self.basis)
            self._put("rotation", rotation * self.basis.window, True, kind)
            self._put("edges", edges * self.basis.window**0.5, True, kind)
            self._put("input", self.basis.B * self.basis.window, True, kind)
        else:
            self._put("A", system.A, False, kind)
            self._put("B", system.B, False, kind)

    def _put(self, name: str, value: Array, learn: bool, kind: Mapping[str, Any]) -> None:
        tensor = torch.tensor(value, **kind)
        if learn:
            self.register_parameter(name, nn.Parameter(tensor))
        else:
            self.register_buffer(name, tensor)

    def extra_repr(self) -> str:
        return (
            f"channels={self.channels}, order={self.order}, window={self.basis.window:g}, dt={self.dt:g}, "
            f"basis={self.basis.name}, train={self.train_mode}"
        )

    def memory(self) -> tuple[Tensor, Tensor]:
        """The discrete A (N, N) and B (N,) in the dtype `step` works in.

        The convolution takes the powers of these rounded numbers, in float64: powers of the unrounded ones drift away
        from what steps do, by 1e-5 in a thousand.
        """
        if self.train_mode != "all":
            return self.A.to(self._work()), self.B.to(self._work())
        rotation, edges, tick = self.rotation.double(), self.edges.double(), self.dt / self.basis.window
        half = (rotation - rotation.T - edges @ edges.T) * (tick / 2)
        eye = torch.eye(self.order, dtype=half.dtype, device=half.device)
        right = torch.cat([eye + half, tick * self.input.double()[:, None]], dim=1)
        solved = torch.linalg.solve(eye - half, right).to(self._work())
        return solved[:, :-1], solved[:, -1]

    def initial_state(self, batch: int) -> Tensor:
        """A past in which nothing happened: zeros (batch, channels, N)."""
        shape = (_checks.order("batch", batch), self.channels, self.order)
        return torch.zeros(shape, dtype=self._work(), device=self.C.device)

    def forward(self, u: Tensor, state: Tensor | None = None) -> Tensor:
        """Predictions for whole sequences, (batch, time, channels), in the dtype of u."""
        now = self._sequence(u)
        with torch.autocast(u.device.type, enabled=False):
            A, B = (matrix.double() for matrix in self.memory())
            return self._outputs(now, A, krylov(A, B, u.shape[1]), state).to(u.dtype)

    def scan(self, u: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """As `forward`, and the state after the last value, (batch, channels, N), from which `step` or `scan` go on."""
        now = self._sequence(u)
        with torch.autocast(u.device.type, enabled=False):
            A, B = (matrix.double() for matrix in self.memory())
            reach = krylov(A, B, u.shape[1])
            y = self._outputs(now, A, reach, state)
            final = torch.einsum("btc,nt->bcn", now, reach.flip(1).to(now.dtype))
            if state is not None:
                power = torch.linalg.matrix_power(A, u.shape[1])
                final = final + self._state(state, len(u)) @ power.T.to(now.dtype)
        return y.to(u.dtype), final

    def step(self, u: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """One moment: u (batch, channels) and a state give the prediction (batch, channels) and the next state."""
        if u.ndim != 2 or u.shape[1] != self.channels:
            raise ValueError(f"u must have shape (batch, channels={self.channels}), got {tuple(u.shape)}")
        now, state = self._cast(u), self._state(state, len(u))
        with torch.autocast(u.device.type, enabled=False):
            A, B = self.memory()
            state = state @ A.T + now[..., None] * B
            y = (state * self.C.to(now.dtype)).sum(-1) + self.D.to(now.dtype) * now
        return y.to(u.dtype), state

    def _outputs(self, u: Tensor, A: Tensor, reach: Tensor, state: Tensor | None) -> Tensor:
        length = u.shape[1]
        kernel = (self.C.double() @ reach).to(u.dtype)
        size = 1 << (2 * length - 1).bit_length()
        spectrum = torch.fft.rfft(u, size, dim=1) * torch.fft.rfft(kernel, size, dim=1).T
        y: Tensor = torch.fft.irfft(spectrum, size, dim=1)[:, :length] + self.D.to(u.dtype) * u
        if state is None:
            return y
        observe = krylov(A.T, (self.C.double() @ A).T, length).to(u.dtype)
        return y + torch.einsum("nct,bcn->btc", observe, self._state(state, len(u)))

    def _sequence(self, u: Tensor) -> Tensor:
        if u.ndim != 3 or u.shape[2] != self.channels or u.shape[1] == 0:
            raise ValueError(f"u must have shape (batch, time >= 1, channels={self.channels}), got {tuple(u.shape)}")
        return self._cast(u)

    def _work(self) -> torch.dtype:
        return torch.float64 if self.C.dtype == torch.float64 else torch.float32

    def _cast(self, u: Tensor) -> Tensor:
        work = self._work()
        if u.dtype == torch.float64 and work != torch.float64:
            raise TypeError(f"u is float64 but the layer is {self.C.dtype}; use u.float() or layer.double()")
        return u.to(work)

    def _state(self, state: Tensor, batch: int) -> Tensor:
        expected = (batch, self.channels, self.order)
        if tuple(state.shape) != expected:
            raise ValueError(f"state must have shape (batch, channels, order) = {expected}, got {tuple(state.shape)}")
        return state.to(self._work())


def krylov(A: Tensor, B: Tensor, length: int) -> Tensor:
    """B, A B, A² B, … side by side along a new last axis, by doubling: B (N, …) gives (N, …, length)."""
    columns, power = B[..., None], A
    while columns.shape[-1] < length:
        columns = torch.cat([columns, torch.tensordot(power, columns, dims=1)], dim=-1)
        power = power @ power
    return columns[..., :length]


def _window_basis(make: Callable[[int, float], Basis], order: int, window: float) -> Basis:
    if isinstance(make, Basis):
        raise TypeError("basis must be a function of (order, window), such as prophecy.legt, got a Basis")
    if not callable(make):
        raise TypeError(
            f"basis must make a memory from (order, window), as prophecy.legt and prophecy.fout do, got {make!r}"
        )
    made = make(order, window)
    if not isinstance(made, Basis):
        raise TypeError(
            f"basis must give a Basis with a window, got {type(made).__name__}; LegS changes with time and has no "
            "convolution, use prophecy.legt or prophecy.fout"
        )
    return made


def _rotation_and_edges(basis: Basis) -> tuple[Array, Array]:
    """A = W - Wᵀ - E Eᵀ, W strictly lower triangular, E (N, rank): energy leaves only through the window's edges."""
    losses, directions = np.linalg.eigh(-(basis.A + basis.A.T) / 2)
    scale = np.abs(losses).max()
    if losses.min() < -1e-9 * scale:
        raise ValueError(
            f"basis {basis.name} gains energy in these coordinates (A + Aᵀ has an eigenvalue {-2 * losses.min():.3g}), "
            "so train='all' could not stay stable; use the orthonormal scaling of prophecy.legt or prophecy.fout"
        )
    lossy = losses > 1e-9 * scale
    return np.tril(basis.A - basis.A.T, -1) / 2, directions[:, lossy] * np.sqrt(losses[lossy])
